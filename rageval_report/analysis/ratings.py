"""People's labels beside a judge's scores by query id, and the scale on which both are compared."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, cast, get_args

import numpy as np
import pandas as pd

from rageval_report.errors import AlignmentError, DataError, UnknownNameError, check_choice, named
from rageval_report.scores import Correct, Metric, Scored, normalise_name, resolver
from rageval_report.scores.cells import read_cells
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.table import id_column_of
from rageval_report.types import BoolArray, FloatArray

# Labels by query id: an evaluation, a Series, a frame of raters (of any library), a dict.
People = Scored | pd.Series | pd.DataFrame | Mapping[str, object] | object
LabelColumns = str | Iterable[str] | None
ScaleKind = Literal["binary", "nominal", "ordinal", "continuous"]
ScaleArgument = Literal["auto", ScaleKind]

_GUARD = "'"  # a sheet for reviewers puts it before an id that a spreadsheet takes for a formula
_MOST_STEPS = 10  # at most this many different values are steps of a scale
CLOSE = 1e-9  # ratings that were converted from another scale carry rounding
_BINARY = np.array([0.0, 1.0])
_NUMBERS = np.array([])


@dataclass(frozen=True, eq=False)
class Ratings:
    """The judge's scores and people's labels of the same queries, NaN where there is none."""

    ids: pd.Index
    judge: FloatArray
    table: FloatArray
    raters: tuple[str, ...]
    strangers: pd.Index

    @property
    def labels(self) -> FloatArray:
        """One label per query: the mean over its raters; NaN if nobody rated it."""
        n = (~np.isnan(self.table)).sum(axis=1)
        return np.where(n > 0, np.nansum(self.table, axis=1) / np.maximum(n, 1), np.nan)

    @property
    def is_judged(self) -> BoolArray:
        """Whether the judge scored each query."""
        return ~np.isnan(self.judge)

    @property
    def is_labelled(self) -> BoolArray:
        """Whether anybody rated each query."""
        return np.asarray(~np.isnan(self.table).all(axis=1))

    @property
    def both(self) -> BoolArray:
        """Whether a query has a score and a label."""
        return self.is_judged & self.is_labelled

    @property
    def unlabelled(self) -> BoolArray:
        """Whether a query has a score and no label."""
        return self.is_judged & ~self.is_labelled

    @property
    def n(self) -> int:
        """The number of queries that have both."""
        return int(self.both.sum())


def ratings_of(
    evaluation: Scored,
    metric: Metric,
    people: People,
    label: LabelColumns = None,
    label_bounds: tuple[float, float] | None = None,
) -> Ratings:
    """The judge's scores beside people's labels; the parameters are those of `calibrate`."""
    ids = evaluation.scores.index
    frame = _label_frame(people, metric, label)
    index = _ids(frame.index, ids)
    numbers = pd.DataFrame({n: _numbers(frame[n].set_axis(index)) for n in frame}, index=index)
    if label_bounds is not None:
        numbers = _rescale(numbers, metric, label_bounds)
    rated = numbers.index[numbers.notna().any(axis=1)]
    ratings = Ratings(
        ids,
        evaluation.scores[metric.name].to_numpy(dtype=np.float64),
        numbers.reindex(ids).to_numpy(dtype=np.float64),
        tuple(map(str, numbers.columns)),
        rated[~rated.isin(ids)],
    )
    _check(ratings, evaluation, metric, rated)
    return ratings


def _label_frame(people: People, metric: Metric, label: LabelColumns) -> pd.DataFrame:
    """The labels as cells, one column per rater, by query id."""
    names = [label] if isinstance(label, str) else None if label is None else list(label)
    if hasattr(people, "scores") and hasattr(people, "details"):
        run, columns = cast("Scored", people), {}
        for name in names or [_default_label(run, metric)]:
            if name in run.details:
                columns[name] = run.details[name]
            else:
                known = resolver(run.metrics)(name)
                columns[known] = run.scores[known]
        return pd.DataFrame(columns, index=run.scores.index)
    if isinstance(people, pd.Series):
        return people.to_frame(str(people.name or "people"))
    columns_of_dict = (list, tuple, np.ndarray, pd.Series)
    if isinstance(people, Mapping) and not any(
        isinstance(value, columns_of_dict) for value in people.values()
    ):
        return pd.Series(dict(people), dtype=object).to_frame("people")
    frame = to_pandas(people)
    id_column = id_column_of(map(str, frame.columns))
    frame = frame if id_column is None else frame.set_index(id_column)
    for name in names or ():
        if name not in frame:
            raise UnknownNameError("column of labels", name, map(str, frame.columns))
    if not frame.shape[1]:
        raise DataError("the frame of people's labels has no column besides the ids")
    return frame[names] if names else frame


def _default_label(people: Scored, metric: Metric) -> str:
    """The metric of the same name, or of the same meaning, or the only one."""
    known = people.metrics.values()
    same_name = [theirs.name for theirs in known if theirs.name == metric.name]
    same_meaning = [theirs.name for theirs in known if theirs.known_as == metric.known_as]
    for names in (same_name, same_meaning, [*people.metrics]):
        if len(names) == 1:
            return names[0]
    raise DataError(
        f"label must name the column of people's labels, because none is named {metric.name!r}; "
        f"columns: {', '.join(people.metrics)}"
    )


def _numbers(cells: pd.Series) -> FloatArray:
    """Labels as numbers; yes and no, pass and fail, "4/5" are understood; a blank is none."""
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return cells.to_numpy(dtype=np.float64, na_value=np.nan)
    read = read_cells(cells.tolist())
    if read.unread:
        first = cells.iloc[list(read.unread[:3])]
        shown = ", ".join(f"{str(cell)[:40]!r} at {str(name)!r}" for name, cell in first.items())
        raise DataError(
            f"labels must be numbers, yes or no, or left empty; {cells.name!r} has "
            f"{len(read.unread)} that are none of these: {shown}. If it is not a column of labels, "
            "name the right one with label="
        )
    return read.numbers


def _rescale(
    numbers: pd.DataFrame, metric: Metric, label_bounds: tuple[float, float]
) -> pd.DataFrame:
    low, high = map(float, label_bounds)
    if metric.bounds is None:
        raise DataError(
            f"{metric.name!r} has no bounds to which labels could be converted; give them: "
            f"metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}"
        )
    if not low < high:
        raise DataError(f"label_bounds must be two numbers, the lower first; got {label_bounds}")
    to_low, to_high = metric.bounds
    return to_low + (numbers - low) * ((to_high - to_low) / (high - low))


def _ids(index: pd.Index, known: pd.Index) -> pd.Index:
    """The ids as texts; without the guard of a review sheet if the evaluation has none."""
    if index.nlevels > 1:
        raise DataError(
            f"expected one query id per row of labels; got {index.nlevels} index levels"
        )
    known_ids, ids = set(known), []
    for text in map(str, index):
        short = text.removeprefix(_GUARD)
        # The unchanged id is tried first: it may begin with an apostrophe itself.
        ids.append(short if short in known_ids and text not in known_ids else text)
    result = pd.Index(ids, name="query_id")
    if not result.is_unique:
        twice = result[result.duplicated()].unique().tolist()
        raise DataError(
            f"query ids of labels must be unique; seen more than once: {named(twice)}. Put several "
            "raters side by side, one column each"
        )
    return result


def _check(ratings: Ratings, evaluation: Scored, metric: Metric, rated: pd.Index) -> None:
    """Refuse labels that meet no score, or that do not fit the metric's bounds."""
    if not len(rated):
        raise DataError(f"there are no labels: {', '.join(ratings.raters)} has only empty cells")
    if len(rated) == len(ratings.strangers):
        raise AlignmentError(
            f"no labelled query is in {evaluation.name!r}; ids of the labels: {named(rated, 3)}, "
            f"of the evaluation: {named(ratings.ids, 3)}"
        )
    if not ratings.n:
        raise AlignmentError(
            f"no query has both a score of {metric.name!r} and a label: "
            f"{int(ratings.is_judged.sum())} are scored, {int(ratings.is_labelled.sum())} labelled"
        )
    least, most = float(np.nanmin(ratings.table)), float(np.nanmax(ratings.table))
    if math.isinf(least) or math.isinf(most):
        raise DataError("labels must be finite numbers, or left empty; some are infinite")
    low, high = metric.bounds or (least, most)
    rounding = CLOSE * max(abs(low), abs(high), 1.0)
    if least < low - rounding or most > high + rounding:
        raise DataError(
            f"people's labels lie between {least:g} and {most:g}, {metric.name!r} "
            f"between {low:g} and {high:g}. If people used another scale, give its ends with "
            "label_bounds="
        )


# -- the scale


@dataclass(frozen=True, eq=False)
class RatingScale:
    """The categories of ratings, in order; or none, as they are plain numbers."""

    kind: ScaleKind
    categories: FloatArray
    threshold: float | None = None
    bins_labels: bool = False

    def judge_categories(self, scores: FloatArray) -> FloatArray:
        """The category of each of the judge's scores; NaN if there is none."""
        return self._categories_of(scores, self.threshold)

    def label_categories(self, labels: FloatArray) -> FloatArray:
        """The category of each label."""
        return self._categories_of(labels, self.threshold if self.bins_labels else None)

    def _categories_of(self, values: FloatArray, threshold: float | None) -> FloatArray:
        if threshold is not None:
            return np.where(np.isnan(values), np.nan, (values >= threshold - CLOSE).astype(float))
        if not self.categories.size:
            return values
        nearest = np.abs(values[:, np.newaxis] - self.categories).argmin(axis=1)
        return np.where(np.isnan(values), np.nan, self.categories[nearest])

    def agreed_labels(self, table: FloatArray) -> FloatArray:
        """The common label of the raters of each query; NaN if they have none."""
        rated = np.column_stack([self.label_categories(column) for column in table.T])
        if table.shape[1] == 1:
            return rated[:, 0]
        if self.kind in ("continuous", "ordinal"):
            middle = np.mean if self.kind == "continuous" else np.median
            agreed = np.full(len(rated), np.nan)
            ordered, n_labels = np.sort(rated, axis=1), (~np.isnan(rated)).sum(axis=1)
            for n in np.unique(n_labels[n_labels > 0]):  # NaN go last
                agreed[n_labels == n] = middle(ordered[n_labels == n, :n], axis=1)
            is_common = self.kind == "continuous" or np.isin(agreed, self.categories)
            return np.where(is_common, agreed, np.nan)
        counts = np.column_stack([(rated == category).sum(axis=1) for category in self.categories])
        most = counts.max(axis=1)
        is_unique = (counts == most[:, np.newaxis]).sum(axis=1) == 1
        return np.where(is_unique & (most > 0), self.categories[counts.argmax(axis=1)], np.nan)


def scale_of(
    ratings: Ratings,
    metric: Metric,
    *,
    scale: ScaleArgument = "auto",
    threshold: float | None = None,
    categories: Iterable[float] | None = None,
    correct: Correct | None = None,
) -> RatingScale:
    """The scale on which judge and people can be compared; the parameters are `calibrate`'s."""
    check_choice("scale", scale, get_args(ScaleArgument))
    if threshold is not None and not math.isfinite(threshold):
        raise DataError(f"threshold must be a finite number; got {threshold}")
    if categories is not None:
        return _scale_of_categories(ratings, scale, list(categories))
    levels, kind, are_binary = _levels(ratings), scale, _is_binary(ratings.table)
    if kind == "auto":
        # People decide: numbers of the judge can be cut at a threshold, but yes and no cannot be
        # refined. More different values than queries are measurements, not steps.
        most = _MOST_STEPS if metric.kind == "ordinal" else min(_MOST_STEPS, ratings.n)
        kind = "ordinal" if levels.size <= most else "continuous"
        if threshold is not None or are_binary:
            kind = "binary"
    if kind == "binary":
        if threshold is None and not (are_binary and _is_binary(ratings.judge)):
            threshold = _default_threshold(metric, correct)
        return RatingScale("binary", _BINARY, threshold, bins_labels=not are_binary)
    if threshold is not None:
        raise DataError(f'threshold makes ratings binary, but scale is "{kind}"; omit one of them')
    return RatingScale(kind, _NUMBERS if kind == "continuous" else levels)


def scale_of_judges(ratings: Ratings, metric: Metric) -> RatingScale:
    """The scale of several judges of one metric, the others being the table of the first."""
    if metric.kind == "binary" and _is_binary(ratings.judge) and _is_binary(ratings.table):
        return RatingScale("binary", _BINARY)
    levels = _levels(ratings)
    is_steps = metric.kind == "ordinal" or 1 < levels.size <= ratings.n
    if is_steps and levels.size <= _MOST_STEPS:
        return RatingScale("ordinal", levels)
    return RatingScale("continuous", _NUMBERS)


def _scale_of_categories(
    ratings: Ratings, scale: ScaleArgument, categories: list[float]
) -> RatingScale:
    known = np.array(categories, dtype=np.float64)
    if known.size < 2 or np.unique(known).size < known.size:
        raise DataError(f"categories must be two or more different numbers; got {categories}")
    if scale == "continuous":
        raise DataError("a continuous scale has no categories; omit them")
    # The judge's scores are moved to the nearest step; names have no order, so none is nearest.
    rated = [ratings.table.ravel(), *([ratings.judge] if scale == "nominal" else [])]
    distinct = np.unique(np.concatenate(rated))
    distinct = distinct[~np.isnan(distinct)]
    others = distinct[np.abs(distinct[:, np.newaxis] - known).min(axis=1) > CLOSE]
    if others.size:
        raise DataError(
            f"categories {named(categories, 12)} do not include {named(others.tolist())}"
        )
    if scale == "nominal":
        return RatingScale("nominal", known)
    return RatingScale("binary" if set(categories) == {0.0, 1.0} else "ordinal", known)


def _levels(ratings: Ratings) -> FloatArray:
    """The ratings that occur; values that differ only by rounding are one."""
    values = np.concatenate([ratings.judge, ratings.table.ravel()])
    levels: FloatArray = np.unique(values[~np.isnan(values)])
    return np.asarray(levels[np.diff(levels, prepend=-math.inf) > CLOSE])


def _is_binary(values: FloatArray) -> bool:
    return bool(np.isin(values[~np.isnan(values)], _BINARY).all())


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
