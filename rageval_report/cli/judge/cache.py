"""The commands that look after what judges answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rageval_report._registry import load
from rageval_report.cli.group import examples
from rageval_report.cli.options import output_options
from rageval_report.cli.output import Output

_JUDGES = "rageval_report.judges"

_cache_option = click.option(
    "--cache",
    "cache_path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The cache; else RAGEVAL_CACHE, else your folder of caches.",
)


@click.group(
    epilog=examples("rageval-report cache status", "rageval-report cache clear --judge coherence")
)
def cache() -> None:
    """Look after the answers of judges that are kept on disk."""


@cache.command()
@_cache_option
@output_options
def status(cache_path: Path | None, output: Output) -> int:
    """Say what is kept: a row a judge and model."""
    where = _cache_at(cache_path)
    rows: list[dict[str, Any]] = []
    n_bytes = 0
    if where.exists():
        with load(f"{_JUDGES}:Cache")(where) as opened:
            told = opened.status()
        counted = told.by_judge.items()
        rows = [{"judge": name, "model": model, "n_answers": n} for (name, model), n in counted]
        n_bytes = told.n_bytes
    frame = load("pandas:DataFrame")(rows, columns=["judge", "model", "n_answers"])
    notes = (f"{where}: {sum(row['n_answers'] for row in rows)} answers, {n_bytes:,} bytes",)
    output.write({"cache": load("rageval_report:Result")("Answers of judges", frame, {}, notes)})
    return 0


@cache.command()
@_cache_option
@click.option("--judge", "name", metavar="NAME", help="Forget the answers of this one only.")
def clear(cache_path: Path | None, name: str | None) -> int:
    """Forget what is kept."""
    where = _cache_at(cache_path)
    n = 0
    if where.exists():
        with load(f"{_JUDGES}:Cache")(where) as opened:
            n = opened.clear(name)
    click.echo(f"forgot {n} answers of {where}")
    return 0


def _cache_at(path: Path | None) -> Path:
    return path or Path(load(f"{_JUDGES}:default_cache")())
