"""On which scale judge and people are laid beside each other: categories, steps, or numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from rageval_report.analysis.agreement.ratings import Ratings
from rageval_report.errors import DataError, UnknownNameError, named
from rageval_report.scores import Correct, Metric, normalise_name
from rageval_report.types import FloatArray

ScaleKind = Literal["binary", "nominal", "ordinal", "continuous"]
KINDS: tuple[ScaleKind, ...] = ("binary", "nominal", "ordinal", "continuous")

# So many different values at most are steps of a scale, if each is used often enough.
_MOST_STEPS = 10
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class RatingScale:
    """How ratings are told apart.

    Parameters
    ----------
    kind : {"binary", "nominal", "ordinal", "continuous"}
        0 and 1; names; steps; any number.
    categories : ndarray
        In order; empty where the scale is continuous.
    threshold : float, optional
        Judge's scores from here on count as 1, where the judge is no judge of yes and no.
    bins_labels : bool
        Whether people's labels are cut there, too.
    """

    kind: ScaleKind
    categories: FloatArray
    threshold: float | None = None
    bins_labels: bool = False

    def judged(self, scores: FloatArray) -> FloatArray:
        """The category of each of the judge's scores; NaN where there is none."""
        if self.threshold is not None:
            return _cut(scores, self.threshold)
        return _nearest(scores, self.categories) if self.categories.size else scores

    def labelled(self, labels: FloatArray) -> FloatArray:
        """The category of each label."""
        if self.threshold is not None and self.bins_labels:
            return _cut(labels, self.threshold)
        return _nearest(labels, self.categories) if self.categories.size else labels

    def agreed(self, table: FloatArray) -> FloatArray:
        """What the raters of each query say together, as a category; NaN where they say nothing.

        The most frequent category; the median of steps. Raters who are evenly split say nothing.
        """
        if table.shape[1] == 1:
            return self.labelled(table[:, 0])
        rated = np.column_stack([self.labelled(column) for column in table.T])
        if self.kind == "continuous":
            return _middle(rated, np.mean)
        if self.kind == "ordinal":
            medians = _middle(rated, np.median)
            return np.where(np.isin(medians, self.categories), medians, np.nan)
        return _most_frequent(rated, self.categories)


def _cut(values: FloatArray, threshold: float) -> FloatArray:
    return np.where(np.isnan(values), np.nan, (values >= threshold - _CLOSE).astype(np.float64))


def _nearest(values: FloatArray, categories: FloatArray) -> FloatArray:
    apart = np.abs(values[:, np.newaxis] - categories)
    return np.where(np.isnan(values), np.nan, categories[np.argmin(apart, axis=1)])


def _middle(rated: FloatArray, middle: Callable[..., FloatArray]) -> FloatArray:
    """The mean or the median of each row's labels; rows of as many labels at once."""
    found = np.full(len(rated), np.nan)
    ordered, n_labels = np.sort(rated, axis=1), (~np.isnan(rated)).sum(axis=1)  # NaN go last
    for n in np.unique(n_labels[n_labels > 0]):
        rows = n_labels == n
        found[rows] = middle(ordered[rows, :n], axis=1)
    return found


def _most_frequent(rated: FloatArray, categories: FloatArray) -> FloatArray:
    counts = np.column_stack([(rated == one).sum(axis=1) for one in categories])
    most = counts.max(axis=1)
    alone = (counts == most[:, np.newaxis]).sum(axis=1) == 1
    return np.where(alone & (most > 0), categories[counts.argmax(axis=1)], np.nan)


def scale_of(
    ratings: Ratings,
    metric: Metric,
    *,
    scale: str = "auto",
    threshold: float | None = None,
    categories: Iterable[float] | None = None,
    correct: Correct | None = None,
) -> RatingScale:
    """The scale on which judge and people can be compared.

    Parameters
    ----------
    ratings : Ratings
        Scores and labels.
    metric : Metric
        What is known of the judged metric.
    scale : {"auto", "binary", "nominal", "ordinal", "continuous"}
        "auto" looks at the values.
    threshold : float, optional
        From which score on a rating counts as 1.
    categories : iterable of float, optional
        All that could be given, in order; those that occur where not given.
    correct : see `rageval_report.scores.correctness`, optional
        Where it has a threshold for the metric, the default of `threshold`.

    Raises
    ------
    DataError
        If ratings do not fit the scale.
    UnknownNameError
        If there is no such scale.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> from rageval_report.analysis.agreement.ratings import ratings_of
    >>> run = RAGPipelineEvaluation("rag", {"query_id": ["a", "b", "c"], "tone": [0.2, 0.9, 0.7]})
    >>> tone = run.metrics["tone"]
    >>> found = scale_of(ratings_of(run, tone, {"a": 0, "b": 1}), tone)
    >>> found.kind, found.threshold
    ('binary', 0.5)
    """
    if scale not in ("auto", *KINDS):
        raise UnknownNameError("scale", scale, ["auto", *KINDS])
    if threshold is not None and not math.isfinite(threshold):
        raise DataError(f"a threshold must be a finite number; got {threshold}")
    if categories is not None:
        return _of_categories(ratings, scale, list(categories))
    kind = scale if scale != "auto" else _kind(ratings, metric, threshold)
    if kind == "binary":
        return _of_two(ratings, metric, threshold, correct)
    if threshold is not None:
        raise DataError(f"a threshold makes ratings binary; the scale asked for is {kind}")
    if kind == "continuous":
        return RatingScale("continuous", np.array([]))
    return RatingScale("nominal" if kind == "nominal" else "ordinal", _seen(ratings))


def _of_categories(ratings: Ratings, scale: str, told: list[float]) -> RatingScale:
    known = np.array(told, dtype=np.float64)
    if known.size < 2 or np.unique(known).size < known.size:
        raise DataError(f"expected two different categories or more; got {told}")
    if scale == "continuous":
        raise DataError("a continuous scale has no categories; leave them out")
    kind: ScaleKind = "nominal" if scale == "nominal" else "ordinal"
    strange = _strange(ratings.table, known)
    if kind == "nominal":
        strange = np.union1d(strange, _strange(ratings.judge, known))
    if strange.size:
        raise DataError(f"not among the categories {named(told, 12)}: {named(strange.tolist())}")
    two = set(told) == {0.0, 1.0}
    return RatingScale("binary" if two and scale != "nominal" else kind, known)


def _strange(values: FloatArray, known: FloatArray) -> FloatArray:
    every: FloatArray = np.unique(values[~np.isnan(values)])
    strange: FloatArray = every[np.abs(every[:, np.newaxis] - known).min(axis=1) > _CLOSE]
    return strange


def _seen(ratings: Ratings) -> FloatArray:
    """The categories that occur; what differs by rounding is one."""
    every = np.concatenate([ratings.judge, ratings.table.ravel()])
    levels = np.unique(every[~np.isnan(every)])
    seen: FloatArray = levels[np.concatenate([[True], np.diff(levels) > _CLOSE])]
    return seen


def _kind(ratings: Ratings, metric: Metric, threshold: float | None) -> ScaleKind:
    if threshold is not None or _is_binary(ratings.table):
        return "binary"
    levels = _seen(ratings).size
    often = levels <= min(_MOST_STEPS, ratings.n) or metric.kind == "ordinal"
    return "ordinal" if levels <= _MOST_STEPS and often else "continuous"


def _is_binary(values: FloatArray) -> bool:
    every = values[~np.isnan(values)]
    return bool(np.isin(every, (0.0, 1.0)).all())


def _of_two(
    ratings: Ratings, metric: Metric, threshold: float | None, correct: Correct | None
) -> RatingScale:
    two = np.array([0.0, 1.0])
    bins_labels = not _is_binary(ratings.table)
    if threshold is None and not bins_labels and _is_binary(ratings.judge):
        return RatingScale("binary", two)
    cut = threshold if threshold is not None else _default_threshold(metric, correct)
    return RatingScale("binary", two, cut, bins_labels)


def _default_threshold(metric: Metric, correct: Correct | None) -> float:
    """Where a correct answer begins, as far as somebody said; else the middle of the bounds."""
    rules = {correct[0]: correct[1]} if isinstance(correct, tuple) else correct
    if isinstance(rules, Mapping):
        told = {normalise_name(name): float(one) for name, one in rules.items()}
        if metric.name in told:
            return told[metric.name]
    if metric.bounds is None:
        raise DataError(
            f"people say yes or no, {metric.name!r} is a number without bounds: give the threshold "
            "from which on the judge means yes"
        )
    return sum(metric.bounds) / 2.0
