"""The queries that changed between two runs, as a result that can be printed and written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pandas as pd

from rageval_report.analysis.compare import Comparison
from rageval_report.analysis.pairing import Pairing
from rageval_report.results import Result
from rageval_report.scores import Metric, normalise_name
from rageval_report.scores.query_ids import ANSWER, QUESTION, REASON


def changed_queries(
    comparison: Comparison,
    metric: str,
    *,
    better: bool,
    k: int | None = None,
    path: Path | None = None,
) -> dict[str, Result]:
    """The queries on which each candidate is better, or worse, than the baseline.

    Parameters
    ----------
    comparison : Comparison
        The comparison on that one metric.
    metric : str
        The metric, by any of its names.
    better : bool
        Whether to list improvements; else regressions.
    k : int, optional
        Of scans, the most queries that a table has.
    path : Path, optional
        Of scans, a Parquet file for all of them; for one candidate.

    Returns
    -------
    dict of str to Result
        By the name of the candidate; the largest change first, as in `Comparison.regressions`.
    """
    if path is not None and len(comparison.pairings) > 1:
        raise click.UsageError(f"-o {path} holds the list of one candidate; name one.")
    rows_of = comparison.improvements if better else comparison.regressions
    of_scans: dict[str, Any] = {} if k is None else {"k": k, "path": path}
    return {
        pairing.candidate.name: _changed(
            pairing, rows_of(metric, pairing.candidate.name, **of_scans), better=better
        )
        for pairing in comparison.pairings
    }


def _changed(pairing: Pairing, rows: pd.DataFrame, *, better: bool) -> Result:
    [(metric, _)] = pairing.metrics
    n_changed, n_common = int(rows.attrs.get("n", len(rows))), pairing.n_common
    baseline, candidate = pairing.baseline.name, pairing.candidate.name
    direction = "better" if better else "worse"
    order = "the largest change first"
    if len(rows) < n_changed:
        order = f"the {len(rows)} with the largest change are listed"
    return Result(
        f"Queries on which {candidate} is {direction} than {baseline} on {metric.title}",
        rows,
        {"metric": metric.name, "baseline": baseline, "candidate": candidate},
        (
            f"{candidate} is {direction} on {n_changed} of {n_common} common queries; {order}",
            *pairing.notes(),
        ),
        headline=(
            *rows.columns[:3],
            *_text_columns(list(rows.columns), (baseline, candidate), metric),
        ),
    )


def _text_columns(columns: list[str], pipelines: tuple[str, str], metric: Metric) -> list[str]:
    """The columns of the question, both answers, and both reasons for this metric's score."""
    reasons = [f"{stem}_{word}" for stem in (metric.name, metric.known_as) for word in REASON]
    wanted = dict.fromkeys((*QUESTION, *ANSWER, *reasons, *REASON))
    bare_names = {column: _without_pipeline(column, pipelines) for column in columns}
    return [column for name in wanted for column in columns if bare_names[column] == name]


def _without_pipeline(column: str, pipelines: tuple[str, str]) -> str:
    for name in pipelines:
        if column.startswith(f"{name}_"):
            return normalise_name(column.removeprefix(f"{name}_"))
    return normalise_name(column)
