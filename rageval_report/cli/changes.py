"""The queries that changed between two runs, as a result that can be shown and written."""

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
        Of that one metric.
    metric : str
        By any of its names.
    better : bool
        Which side of the change.

    Returns
    -------
    dict of str to Result
        By the candidate's name; the largest change first, as `Comparison.regressions` has it.
    """
    changed = comparison.improvements if better else comparison.regressions
    found = {}
    for pairing in comparison.pairings:
        candidate = pairing.candidate.name
        rows = changed(metric, candidate)
        [(ours, _)] = pairing.metrics
        way = "better" if better else "worse"
        n = int(pairing.alignment.ids.size)
        found[candidate] = Result(
            f"Queries on which {candidate} is {way} than {pairing.baseline.name} on {ours.title}",
            rows,
            {"metric": ours.name, "baseline": pairing.baseline.name, "candidate": candidate},
            (
                f"{candidate} is {way} on {len(rows)} of {n} common queries; the largest change "
                "first",
                *pairing.notes(),
            ),
            headline=(*rows.columns[:3], *_texts(list(rows.columns), pairing, ours)),
        )
    return found


def _texts(columns: list[str], pairing: Pairing, metric: Metric) -> list[str]:
    """The question, both answers, and both reasons for this metric's score."""
    names = (pairing.baseline.name, pairing.candidate.name)
    reasons = [f"{stem}_{word}" for stem in (metric.name, metric.known_as) for word in REASON]
    wanted = dict.fromkeys((*QUESTION, *ANSWER, *reasons, *REASON))
    bare = {column: _without_prefix(column, names) for column in columns}
    return [column for name in wanted for column in columns if bare[column] == name]


def _without_prefix(column: str, names: tuple[str, str]) -> str:
    for name in names:
        if column.startswith(f"{name}_"):
            return normalise_name(column.removeprefix(f"{name}_"))
    return normalise_name(column)
