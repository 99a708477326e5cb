"""The queries that changed between two runs, as a result that can be printed and written."""

from __future__ import annotations

from rageval_report.analysis.comparing.comparison import Comparison
from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.results import Result
from rageval_report.scores import Metric, normalise_name
from rageval_report.scores.texts import ANSWER, QUESTION, REASON


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
    direction = "better" if better else "worse"
    results = {}
    for pairing in comparison.pairings:
        candidate = pairing.candidate.name
        rows = rows_of(metric, candidate)
        [(baseline_metric, _)] = pairing.metrics
        n = int(pairing.alignment.ids.size)
        results[candidate] = Result(
            f"Queries on which {candidate} is {direction} than {pairing.baseline.name} on "
            f"{baseline_metric.title}",
            rows,
            {
                "metric": baseline_metric.name,
                "baseline": pairing.baseline.name,
                "candidate": candidate,
            },
            (
                f"{candidate} is {direction} on {len(rows)} of {n} common queries; the largest "
                "change first",
                *pairing.notes(),
            ),
            headline=(
                *rows.columns[:3],
                *_text_columns(list(rows.columns), pairing, baseline_metric),
            ),
        )
    return results


def _text_columns(columns: list[str], pairing: Pairing, metric: Metric) -> list[str]:
    """The columns of the question, both answers, and both reasons for this metric's score."""
    pipelines = (pairing.baseline.name, pairing.candidate.name)
    reasons = [f"{stem}_{word}" for stem in (metric.name, metric.known_as) for word in REASON]
    wanted = dict.fromkeys((*QUESTION, *ANSWER, *reasons, *REASON))
    bare_names = {column: _without_pipeline(column, pipelines) for column in columns}
    return [column for name in wanted for column in columns if bare_names[column] == name]


def _without_pipeline(column: str, pipelines: tuple[str, str]) -> str:
    for name in pipelines:
        if column.startswith(f"{name}_"):
            return normalise_name(column.removeprefix(f"{name}_"))
    return normalise_name(column)
