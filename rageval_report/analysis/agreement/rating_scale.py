"""The scale on which judge and people are compared: categories, steps, or numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from rageval_report.analysis.agreement.ratings import Ratings
from rageval_report.errors import DataError, check_choice, named
from rageval_report.scores import Correct, Metric, normalise_name
from rageval_report.types import FloatArray

ScaleKind = Literal["binary", "nominal", "ordinal", "continuous"]
ScaleArgument = Literal["auto", ScaleKind]
KINDS: tuple[ScaleKind, ...] = get_args(ScaleKind)

# At most this many different values are steps of a scale, if each is used often enough.
_MOST_STEPS = 10
# Ratings that were converted from another scale carry rounding.
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class RatingScale:
    """The categories of ratings, or that they are plain numbers.

    Parameters
    ----------
    kind : {"binary", "nominal", "ordinal", "continuous"}
        0 and 1; names; steps; any number.
    categories : ndarray
        In order; empty if the scale is continuous.
    threshold : float, optional
        The judge's scores from here on count as 1, if the judge gives numbers.
    bins_labels : bool
        Whether the threshold applies to people's labels too.
    """

    kind: ScaleKind
    categories: FloatArray
    threshold: float | None = None
    bins_labels: bool = False

    def judge_categories(self, scores: FloatArray) -> FloatArray:
        """The category of each of the judge's scores; NaN if there is none."""
        if self.threshold is not None:
            return _apply_threshold(scores, self.threshold)
        return _nearest(scores, self.categories) if self.categories.size else scores

    def label_categories(self, labels: FloatArray) -> FloatArray:
        """The category of each label."""
        if self.threshold is not None and self.bins_labels:
            return _apply_threshold(labels, self.threshold)
        return _nearest(labels, self.categories) if self.categories.size else labels

    def agreed_labels(self, table: FloatArray) -> FloatArray:
        """The common label of the raters of each query; NaN if they have none.

        The most frequent category, the median of steps, or the mean of numbers. Raters who are
        evenly split have no common label.
        """
        if table.shape[1] == 1:
            return self.label_categories(table[:, 0])
        rated = np.column_stack([self.label_categories(column) for column in table.T])
        if self.kind == "continuous":
            return _middle(rated, np.mean)
        if self.kind == "ordinal":
            medians = _middle(rated, np.median)
            return np.where(np.isin(medians, self.categories), medians, np.nan)
        return _most_frequent(rated, self.categories)


def _apply_threshold(values: FloatArray, threshold: float) -> FloatArray:
    return np.where(np.isnan(values), np.nan, (values >= threshold - _CLOSE).astype(np.float64))


def _nearest(values: FloatArray, categories: FloatArray) -> FloatArray:
    distances = np.abs(values[:, np.newaxis] - categories)
    return np.where(np.isnan(values), np.nan, categories[np.argmin(distances, axis=1)])


def _middle(rated: FloatArray, middle: Callable[..., FloatArray]) -> FloatArray:
    """The mean or the median of each row's labels; rows with equally many labels at once."""
    result = np.full(len(rated), np.nan)
    ordered, n_labels = np.sort(rated, axis=1), (~np.isnan(rated)).sum(axis=1)  # NaN go last
    for n in np.unique(n_labels[n_labels > 0]):
        rows = n_labels == n
        result[rows] = middle(ordered[rows, :n], axis=1)
    return result


def _most_frequent(rated: FloatArray, categories: FloatArray) -> FloatArray:
    counts = np.column_stack([(rated == category).sum(axis=1) for category in categories])
    most = counts.max(axis=1)
    is_unique = (counts == most[:, np.newaxis]).sum(axis=1) == 1
    return np.where(is_unique & (most > 0), categories[counts.argmax(axis=1)], np.nan)


def scale_of(
    ratings: Ratings,
    metric: Metric,
    *,
    scale: ScaleArgument = "auto",
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
        The judged metric.
    scale : {"auto", "binary", "nominal", "ordinal", "continuous"}
        "auto" looks at the values.
    threshold : float, optional
        Ratings from here on count as 1.
    categories : iterable of float, optional
        All possible ratings, in order; those that occur if omitted.
    correct : see `rageval_report.scores.correctness`, optional
        If it has a threshold for the metric, the default of `threshold`.

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
    >>> scale = scale_of(ratings_of(run, tone, {"a": 0, "b": 1}), tone)
    >>> scale.kind, scale.threshold
    ('binary', 0.5)
    """
    check_choice("scale", scale, ("auto", *KINDS))
    if threshold is not None and not math.isfinite(threshold):
        raise DataError(f"threshold must be a finite number; got {threshold}")
    if categories is not None:
        return _scale_of_categories(ratings, scale, list(categories))
    kind = scale if scale != "auto" else _guess_kind(ratings, metric, threshold)
    if kind == "binary":
        return _binary_scale(ratings, metric, threshold, correct)
    if threshold is not None:
        raise DataError(f'threshold makes ratings binary, but scale is "{kind}"; omit one of them')
    if kind == "continuous":
        return RatingScale("continuous", np.array([]))
    return RatingScale(
        "nominal" if kind == "nominal" else "ordinal", _occurring_categories(ratings)
    )


def scale_of_judges(ratings: Ratings, metric: Metric) -> RatingScale:
    """The scale of several judges of one metric, none of whom decides it.

    Parameters
    ----------
    ratings : Ratings
        The scores of the first judge, and those of the others as its table.
    metric : Metric
        The judged metric: unlike people, judges who happen to use only the ends of a scale do not
        turn it into yes and no.
    """
    if metric.kind == "binary" and _is_binary(ratings.judge) and _is_binary(ratings.table):
        return RatingScale("binary", np.array([0.0, 1.0]))
    levels = _occurring_categories(ratings)
    is_steps = metric.kind == "ordinal" or 1 < levels.size <= min(_MOST_STEPS, ratings.n)
    if is_steps and levels.size <= _MOST_STEPS:
        return RatingScale("ordinal", levels)
    return RatingScale("continuous", np.array([]))


def _scale_of_categories(
    ratings: Ratings, scale: ScaleArgument, categories: list[float]
) -> RatingScale:
    known = np.array(categories, dtype=np.float64)
    if known.size < 2 or np.unique(known).size < known.size:
        raise DataError(f"categories must be two or more different numbers; got {categories}")
    if scale == "continuous":
        raise DataError("a continuous scale has no categories; omit them")
    kind: ScaleKind = "nominal" if scale == "nominal" else "ordinal"
    others = _values_outside(ratings.table, known)
    # The judge's scores are moved to the nearest step; names have no order, so none is nearest.
    if kind == "nominal":
        others = np.union1d(others, _values_outside(ratings.judge, known))
    if others.size:
        raise DataError(
            f"categories {named(categories, 12)} do not include {named(others.tolist())}"
        )
    is_binary = set(categories) == {0.0, 1.0}
    return RatingScale("binary" if is_binary and scale != "nominal" else kind, known)


def _values_outside(values: FloatArray, known: FloatArray) -> FloatArray:
    """The values that are not among the known ones."""
    distinct: FloatArray = np.unique(values[~np.isnan(values)])
    distances = np.abs(distinct[:, np.newaxis] - known).min(axis=1)
    others: FloatArray = distinct[distances > _CLOSE]
    return others


def _occurring_categories(ratings: Ratings) -> FloatArray:
    """The categories that occur; values that differ only by rounding are one."""
    values = np.concatenate([ratings.judge, ratings.table.ravel()])
    levels: FloatArray = np.unique(values[~np.isnan(values)])
    categories: FloatArray = levels[np.concatenate([[True], np.diff(levels) > _CLOSE])]
    return categories


def _guess_kind(ratings: Ratings, metric: Metric, threshold: float | None) -> ScaleKind:
    # People decide: numbers of the judge can be cut at a threshold, but yes and no cannot be
    # refined.
    if threshold is not None or _is_binary(ratings.table):
        return "binary"
    levels = _occurring_categories(ratings).size
    # More different values than queries are measurements, not steps.
    are_steps = levels <= min(_MOST_STEPS, ratings.n) or metric.kind == "ordinal"
    return "ordinal" if levels <= _MOST_STEPS and are_steps else "continuous"


def _is_binary(values: FloatArray) -> bool:
    known = values[~np.isnan(values)]
    return bool(np.isin(known, (0.0, 1.0)).all())


def _binary_scale(
    ratings: Ratings, metric: Metric, threshold: float | None, correct: Correct | None
) -> RatingScale:
    two = np.array([0.0, 1.0])
    bins_labels = not _is_binary(ratings.table)
    if threshold is None and not bins_labels and _is_binary(ratings.judge):
        return RatingScale("binary", two)
    cut = threshold if threshold is not None else _default_threshold(metric, correct)
    return RatingScale("binary", two, cut, bins_labels)


def _default_threshold(metric: Metric, correct: Correct | None) -> float:
    """The threshold of the rule for a correct answer; else the middle of the bounds."""
    rules = {correct[0]: correct[1]} if isinstance(correct, tuple) else correct
    if isinstance(rules, Mapping):
        thresholds = {normalise_name(name): float(value) for name, value in rules.items()}
        if metric.name in thresholds:
            return thresholds[metric.name]
    if metric.bounds is None:
        raise DataError(
            f"threshold is required: people say yes or no, and {metric.name!r} is a number without "
            "bounds"
        )
    return sum(metric.bounds) / 2.0
