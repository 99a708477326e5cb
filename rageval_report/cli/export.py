"""The commands that turn files into other files, and that say which files are known."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rageval_report._registry import load
from rageval_report.cli.group import examples
from rageval_report.cli.notes import note
from rageval_report.cli.options import loading_options, metric_option, output_options, quiet_option
from rageval_report.cli.output import Output, check_free
from rageval_report.cli.sources import Loading
from rageval_report.errors import DataError
from rageval_report.files.writing import write_atomically

if TYPE_CHECKING:
    from rageval_report import RAGPipelineEvaluation

_HERE = "rageval_report.scores"


def _rows(suffix: str) -> Callable[[RAGPipelineEvaluation], str]:
    def text(run: RAGPipelineEvaluation) -> str:
        scores_text = load(f"{_HERE}.write:scores_text")
        return str(
            scores_text(run, suffix, config=run.config, notes=run.notes, created=run.created)
        )

    return text


def _review(run: RAGPipelineEvaluation) -> str:
    return str(load(f"{_HERE}.write:csv_text")(load(f"{_HERE}.review_sheets:review_sheet")(run)))


def _review_page(run: RAGPipelineEvaluation) -> str:
    return str(load(f"{_HERE}.review_sheets:review_markdown")(run))


def _table(run: RAGPipelineEvaluation) -> str:
    rows = load(f"{_HERE}.write:score_rows")(run)
    table = load("rageval_report:Result")(f"Scores of {run.name}", rows, {}, run.notes)
    return str(table.to_markdown())


# What can be written, by name; Parquet is no text, and needs a file.
EXPORTS: dict[str, Callable[[RAGPipelineEvaluation], str]] = {
    "csv": _rows(".csv"),
    "tsv": _rows(".tsv"),
    "jsonl": _rows(".jsonl"),
    "json": _rows(".json"),
    "markdown": _table,
    "review": _review,
    "review-markdown": _review_page,
}
_PARQUET = "parquet"
_BY_SUFFIX = {".md": "markdown"}


@click.command(
    epilog=examples(
        "rageval-report export promptfoo.json::gpt-4o -o gpt-4o.json",
        "rageval-report export run.csv --to review -o sheet.csv",
        "rageval-report export results.parquet --to csv > scores.csv",
    )
)
@click.argument("file", metavar="FILE")
@click.option(
    "--to",
    "kind",
    type=click.Choice([*EXPORTS, _PARQUET]),
    help="What to write; by the suffix of -o where not given, else csv. json is a run file, review "
    "a sheet with blank columns for a reviewer.",
)
@click.option("-o", "--output", "path", type=click.Path(path_type=Path), metavar="FILE")
@click.option("--force", is_flag=True, help="Replace FILE where there is one.")
@metric_option
@quiet_option
@loading_options
def export(
    file: str,
    kind: str | None,
    path: Path | None,
    force: bool,
    metrics: tuple[str, ...],
    loading: Loading,
    quiet: bool,
) -> None:
    """Write the scores of one pipeline as another kind of file, or as a sheet for reviewers."""
    del quiet  # `note` asks the context
    if path is not None:
        check_free(path, force=force)
    chosen = kind or _kind_of(path)
    [run] = loading.load_all([file], metrics)
    for told in run.notes:
        note(told)
    if chosen == _PARQUET:
        _save(run, path)
        return
    text = EXPORTS[chosen](run)
    if path is None:
        click.echo(text, nl=False)
    else:
        write_atomically(path, text)
        note(f"wrote {path}")


def _save(run: RAGPipelineEvaluation, path: Path | None) -> None:
    if path is None or path.suffix.lower() != f".{_PARQUET}":
        raise DataError("Parquet is no text; name a file for it: -o scores.parquet")
    run.save(path)  # whether it may be replaced was asked before
    note(f"wrote {path}")


def _kind_of(path: Path | None) -> str:
    if path is None:
        return "csv"
    suffix = path.suffix.lower()
    kind = _BY_SUFFIX.get(suffix, suffix.removeprefix("."))
    if kind not in (*EXPORTS, _PARQUET):
        raise DataError(
            f"{path}: its name does not say what to write; choose with --to, one of "
            f"{', '.join((*EXPORTS, _PARQUET))}"
        )
    return kind


@click.command(
    epilog=examples("rageval-report formats", "rageval-report formats --format markdown")
)
@output_options
def formats(output: Output) -> None:
    """List every kind of file of scores that is read, and what such a file is called."""
    readers = load("rageval_report.readers:READERS")
    found = [readers[name] for name in readers]
    rows = {
        "reader": [one.name for one in found],
        "reads": [one.sentence for one in found],
        "example": [one.example for one in found],
        "options": [", ".join(one.options) for one in found],
        "verdict": [f"{one.name}: {one.sentence}" for one in found],
    }
    shown = ("reader", "example", "options")
    frame = load("pandas:DataFrame")(rows)
    table = load("rageval_report:Result")
    output.write({"formats": table("Files of scores that are read", frame, {}, headline=shown)})
