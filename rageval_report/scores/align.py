"""Brings the scores of several runs together: rows by query id, and metrics on one scale.

Rows are never paired by position, and scores on different scales are never compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from rageval_report.errors import DataError
from rageval_report.scores.column_scale import ScoreRange
from rageval_report.scores.extremes import extremes_of
from rageval_report.scores.metric import KINDS, Metric
from rageval_report.scores.metric_scales import LEAST_TOP, UNIT, bounds_option


@dataclass(frozen=True, eq=False)
class Alignment:
    """The rows of two tables that belong to the same queries.

    Parameters
    ----------
    ids : Index
        The common query ids, in the order of the baseline.
    baseline_rows, candidate_rows : ndarray of int, or None
        The row of each common query in either table; None if all rows are common and in the same
        order, so that nothing needs to be moved.
    only_baseline, only_candidate : Index
        The ids that occur in one table only.
    """

    ids: pd.Index
    baseline_rows: np.ndarray | None
    candidate_rows: np.ndarray | None
    only_baseline: pd.Index
    only_candidate: pd.Index

    def baseline(self, column: pd.Series) -> np.ndarray:
        """The values of the baseline for the common queries."""
        values, rows = column.to_numpy(), self.baseline_rows
        return values if rows is None else values.take(rows)

    def candidate(self, column: pd.Series) -> np.ndarray:
        """The values of the candidate for the common queries, in the order of the baseline."""
        values, rows = column.to_numpy(), self.candidate_rows
        return values if rows is None else values.take(rows)


def align(baseline: pd.Index, candidate: pd.Index) -> Alignment:
    """Pair two indexes of unique ids.

    Examples
    --------
    >>> pair = align(pd.Index(["a", "b", "c"]), pd.Index(["c", "a", "x"]))
    >>> list(pair.ids), list(pair.only_baseline), list(pair.only_candidate)
    (['a', 'c'], ['b'], ['x'])
    """
    # Two runs over one set mostly have the same ids in the same order: then nothing is looked up or
    # copied.
    if baseline.equals(candidate):
        return Alignment(baseline, None, None, baseline[:0], candidate[:0])
    rows = candidate.get_indexer(baseline)
    common = rows >= 0
    candidate_rows = rows[common]
    only_candidate = np.ones(len(candidate), dtype=bool)
    only_candidate[candidate_rows] = False
    return Alignment(
        baseline[common],
        np.flatnonzero(common),
        candidate_rows,
        baseline[~common],
        candidate[only_candidate],
    )


# -- metrics on one scale


def check_scales(
    runs: Sequence[str],
    scores: Sequence[pd.DataFrame],
    shared: Iterable[tuple[Metric, ...]],
) -> None:
    """Refuse to compare runs whose scores of a metric are on different scales.

    Parameters
    ----------
    runs : sequence of str
        The names of the runs.
    scores : sequence of DataFrame
        The scores of each.
    shared : iterable of tuple of Metric
        The metrics that all have, as each run knows them.

    Raises
    ------
    DataError
        If the bounds of a metric differ, or those of one run are not known and most of its scores
        are at least 2 where those of another are shares of 1.

    Examples
    --------
    >>> marks = Metric("groundedness", kind="ordinal", bounds=(1, 5))
    >>> scores = pd.DataFrame({"groundedness": [4.0, 5.0]})
    >>> check_scales(("a", "b"), (scores, scores), [(marks, marks)])
    """
    for metrics in shared:
        places = places_on_two_scales(metrics, scores)
        if places is None:
            continue
        name = metrics[0].name
        scales = [
            f"{range_text(metrics[place], scores[place])} in {runs[place]!r}" for place in places
        ]
        raise DataError(
            f"metric {name!r} has scores {scales[0]} and {scales[1]}, which cannot be "
            f"compared. If both are on one scale, say so when loading: {bounds_option(metrics[0])}"
        )


def places_on_two_scales(
    metrics: tuple[Metric, ...], scores: Sequence[pd.DataFrame]
) -> list[int] | None:
    """The first two runs with a metric on different scales; None if all are on one.

    Parameters
    ----------
    metrics : tuple of Metric
        The metric as each run knows it.
    scores : sequence of DataFrame
        The scores of each run.

    Examples
    --------
    >>> shares = Metric("overlap", kind="proportion", bounds=(0.0, 1.0))
    >>> larger = Metric("overlap", kind="real")
    >>> frames = [pd.DataFrame({"overlap": [top / 2, top]}) for top in (1.0, 1.0, 80.0)]
    >>> places_on_two_scales((shares, shares, larger), frames)
    [0, 2]
    """
    known = [place for place, metric in enumerate(metrics) if metric.bounds is not None]
    for place in known:
        if metrics[place].bounds != metrics[known[0]].bounds:
            return [known[0], place]
    # Of an unknown metric the bounds are only guessed: counts may well be 0 and 1 in one of the
    # runs, but shares in one and larger numbers in the other are two scales.
    shares = [
        place
        for place in known
        if metrics[place].bounds == UNIT and metrics[place].kind == "proportion"
    ]
    for place, metric in enumerate(metrics) if shares else ():
        if metric.bounds is None and scores[place][metric.name].median() >= LEAST_TOP:
            return sorted((shares[0], place))
    return None


def range_text(metric: Metric, scores: pd.DataFrame) -> str:
    """The bounds of a metric, or else the least and the largest score.

    Examples
    --------
    >>> range_text(Metric("latency_ms"), pd.DataFrame({"latency_ms": [0.5, 80.0]}))
    'from 0.5 to 80'
    """
    low, high = metric.bounds or (scores[metric.name].min(), scores[metric.name].max())
    return f"from {low:g} to {high:g}"


def agree_on_scale(
    metrics: tuple[Metric, ...], scores: Sequence[pd.DataFrame]
) -> tuple[Metric, ...]:
    """A metric as several runs know it, with the same kind and bounds.

    Those of a metric that is not in the catalogue are guessed from the scores of one run, such as 0
    and 1; another run with a score of 0.4 is of another kind, and one with -0.1 has no bounds. The
    widest kind holds for all, and bounds do if no run has scores beyond them.

    Parameters
    ----------
    metrics : tuple of Metric
        The metric as each run knows it; bounds of two runs that are known are the same.
    scores : sequence of DataFrame
        The scores of each run.

    Examples
    --------
    >>> ours, theirs = Metric("overlap", bounds=(0.0, 1.0)), Metric("overlap")
    >>> frames = tuple(pd.DataFrame({"overlap": [low, 1.0]}) for low in (0.5, -0.1))
    >>> [metric.bounds for metric in agree_on_scale((ours, theirs), frames)]
    [None, None]
    >>> [metric.bounds for metric in agree_on_scale((ours, theirs), (frames[0], frames[0]))]
    [(0.0, 1.0), (0.0, 1.0)]
    """
    first = metrics[0]
    if all(each.kind == first.kind and each.bounds == first.bounds for each in metrics):
        return metrics
    kind = max((metric.kind for metric in metrics), key=KINDS.index)
    bounds = next((metric.bounds for metric in metrics if metric.bounds is not None), None)
    for metric, frame in zip(metrics, scores, strict=True):
        if (
            bounds is not None
            and metric.bounds is None
            and not is_within(bounds, frame[metric.name])
        ):
            bounds = None
    return tuple(replace(metric, kind=kind, bounds=bounds) for metric in metrics)


def is_within(bounds: ScoreRange, scores: pd.Series) -> bool:
    """Whether all scores that are known lie within the bounds.

    Examples
    --------
    >>> [is_within((0.0, 1.0), pd.Series([0.5, last])) for last in (float("nan"), 2.0)]
    [True, False]
    """
    low, high = extremes_of(scores.to_numpy(dtype=np.float64))
    return not (low < bounds[0] or high > bounds[1])
