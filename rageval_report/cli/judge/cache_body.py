"""cache status and cache clear: the answers of judges that are kept on disk."""

from __future__ import annotations

import click
import pandas as pd

from rageval_report.cli.judge.cache import ClearArguments, StatusArguments
from rageval_report.cli.output import Output
from rageval_report.judges import Cache, default_cache
from rageval_report.judges.ledger import MICROS_PER_USD, Ledger, ledger_path
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
        spent = Ledger(path=ledger_path(path)).earlier / MICROS_PER_USD
        notes.append(
            f"{ledger_path(path)}: runs with this cache have spent {spent:.4g} USD at most"
        )
    output.write({"cache": Result("Answers of judges", frame, {}, tuple(notes))})


def clear(options: ClearArguments) -> None:
    """Delete the answers of one judge, or of all."""
    path = options.cache_path or default_cache()
    n = 0
    if path.exists():
        with Cache(path) as cache:
            n = cache.clear(options.judge)
    click.echo(f"forgot {n} answers of {path}")
