"""The queries that changed between two runs, as a result that can be printed and written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
import pandas as pd

from rageval_report.analysis.comparing.comparison import Comparison
from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.results import Result
from rageval_report.scores import Metric, normalise_name
from rageval_report.scores.texts import ANSWER, QUESTION, REASON

if TYPE_CHECKING:
    from rageval_report.evaluation.scanning.scanned_comparison import ScannedComparison
    from rageval_report.evaluation.scanning.scanned_pair import ScannedPair


def changed_queries(comparison: Comparison, metric: str, *, better: bool) -> dict[str, Result]:
    """The queries on which each candidate is better, or worse, than the baseline.

    Parameters
    ----------
    comparison : Comparison
        The comparison on that one metric.
    metric : str
        The metric, by any of its names.
    better : bool
        Whether to list improvements; else regressions.

    Returns
    -------
    dict of str to Result
        By the name of the candidate; the largest change first, as in `Comparison.regressions`.
    """
    rows_of = comparison.improvements if better else comparison.regressions
    results = {}
    for pairing in comparison.pairings:
        rows = rows_of(metric, pairing.candidate.name)
        [(baseline_metric, _)] = pairing.metrics
        n = int(pairing.alignment.ids.size)
        results[pairing.candidate.name] = _changed(
            pairing, rows, baseline_metric, better=better, n_changed=len(rows), n_common=n
        )
    return results


def changed_queries_of_scans(
    comparison: ScannedComparison, metric: str, *, better: bool, k: int, path: Path | None = None
) -> dict[str, Result]:
    """The same of scans, whose files are read once more.

    Parameters
    ----------
    comparison, metric, better
        As in `changed_queries`.
    k : int
        The most queries that a table has.
    path : Path, optional
        A Parquet file for all of them; for one candidate.
    """
    if path is not None and len(comparison.pairs) > 1:
        raise click.UsageError(f"-o {path} holds the list of one candidate; name one.")
    rows_of = comparison.improvements if better else comparison.regressions
    results = {}
    for pair in comparison.pairs:
        rows = rows_of(metric, pair.candidate.name, k=k, path=path)
        [(baseline_metric, _)] = pair.metrics
        n_changed, n_common = int(rows.attrs["n"]), pair.common.n_common
        results[pair.candidate.name] = _changed(
            pair, rows, baseline_metric, better=better, n_changed=n_changed, n_common=n_common
        )
    return results


def _changed(
    pairing: Pairing | ScannedPair,
    rows: pd.DataFrame,
    metric: Metric,
    *,
    better: bool,
    n_changed: int,
    n_common: int,
) -> Result:
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
