"""cache status and cache clear: the answers of judges that are kept on disk."""

from __future__ import annotations

from pathlib import Path

import click
import pandas as pd

from rageval_report.cli.judge.cache import ClearArguments, StatusArguments
from rageval_report.cli.output import Output
from rageval_report.errors import DataError
from rageval_report.judges import Cache, default_cache
from rageval_report.judges.ledger import ledger_path, spent_by_runs
from rageval_report.results import Result


def status(options: StatusArguments) -> None:
    """Write the number of answers by judge and model."""
    output = Output.of(options)
    path = options.cache_path or default_cache()
    rows: list[tuple[str, str, int]] = []
    n_bytes = 0
    if path.exists():
        with Cache(path) as cache:
            state = cache.status()
        rows = [(judge, model, n) for (judge, model), n in state.by_judge.items()]
        n_bytes = state.n_bytes
    frame = pd.DataFrame(rows, columns=["judge", "model", "n_answers"])
    notes = [f"{path}: {sum(n for *_, n in rows)} answers, {n_bytes:,} bytes"]
    if ledger_path(path).exists():
        notes.append(_spending_note(ledger_path(path)))
    output.write({"cache": Result("Answers of judges", frame, {}, tuple(notes))})


def _spending_note(path: Path) -> str:
    try:
        spent = spent_by_runs(path)
    except DataError as exc:
        return f"{exc}: what runs with this cache have spent is not known"
    return f"{path}: runs with this cache have spent {spent:.4g} USD at most"


def clear(options: ClearArguments) -> None:
    """Delete the answers of one judge, or of all."""
    path = options.cache_path or default_cache()
    n = 0
    if path.exists():
        with Cache(path) as cache:
            n = cache.clear(options.judge)
    click.echo(f"forgot {n} answers of {path}")
