"""People's labels, in any of several forms, beside the judge's scores by query id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd

from rageval_report.errors import AlignmentError, DataError, UnknownNameError, named
from rageval_report.scores import Metric, Scored, resolver
from rageval_report.scores.cells import read_cells
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.table import id_column_of
from rageval_report.types import BoolArray, FloatArray

# Labels by query id: an evaluation, a Series, a frame of raters (of any library), a dict.
People = Scored | pd.Series | pd.DataFrame | Mapping[str, object] | object
LabelColumns = str | Iterable[str] | None

# A sheet for reviewers puts this before an id that a spreadsheet would take for a formula.
_GUARD = "'"


@dataclass(frozen=True, eq=False)
class Ratings:
    """The judge's scores and people's labels of the same queries.

    Parameters
    ----------
    ids : Index
        The queries of the evaluation.
    judge : ndarray of shape (n_queries,)
        The judge's scores; NaN if it gave none.
    table : ndarray of shape (n_queries, n_raters)
        People's labels; NaN if there is none.
    raters : tuple of str
        The raters, who gave the columns of the table.
    strangers : Index
        Labelled queries that the evaluation does not have.
    """

    ids: pd.Index
    judge: FloatArray
    table: FloatArray
    raters: tuple[str, ...]
    strangers: pd.Index

    @property
    def labels(self) -> FloatArray:
        """One label per query: the mean over its raters; NaN if nobody rated it."""
        is_rated = ~np.isnan(self.table)
        n = is_rated.sum(axis=1)
        total = np.where(is_rated, self.table, 0.0).sum(axis=1)
        return np.where(n > 0, total / np.maximum(n, 1), np.nan)

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
    """The judge's scores beside people's labels.

    Parameters
    ----------
    evaluation : Scored
        Holds the judge's scores.
    metric : Metric
        The metric that the judge gave.
    people : RAGPipelineEvaluation, Series, DataFrame, or mapping
        People's labels: another evaluation and `label`; a Series or dict by query id; a frame of
        several raters, one column each, by query id.
    label : str or iterable of str, optional
        The columns of `people` that hold labels.
    label_bounds : (float, float), optional
        The scale of the labels, if it is not that of the metric; they are converted to it.

    Raises
    ------
    DataError
        If labels are not numbers, lie outside the metric's bounds, or an id appears twice.
    AlignmentError
        If no query has both a score and a label.

    Examples
    --------
    >>> from rageval_report import RAGPipelineEvaluation
    >>> judged = RAGPipelineEvaluation("rag", {"query_id": ["a", "b"], "tone": [1, 0]})
    >>> ratings_of(judged, judged.metrics["tone"], {"b": "no", "x": "yes"}).labels
    array([nan,  0.])
    """
    frame = _label_frame(people, metric, label)
    frame = frame.set_axis(_ids(frame.index, evaluation.scores.index), axis=0)
    _check_ids(frame.index)
    numbers = pd.DataFrame({name: _numbers(frame[name]) for name in frame}, index=frame.index)
    if label_bounds is not None:
        numbers = _rescale(numbers, metric, label_bounds)
    ids = evaluation.scores.index
    rated = numbers.index[numbers.notna().any(axis=1)]
    ratings = Ratings(
        ids,
        evaluation.scores[metric.name].to_numpy(dtype=np.float64),
        numbers.reindex(ids).to_numpy(dtype=np.float64),
        tuple(map(str, numbers.columns)),
        rated[~rated.isin(ids)],
    )
    _check_overlap(ratings, evaluation, metric, rated)
    _check_bounds(ratings, metric)
    return ratings


# -- the forms of labels


def _label_frame(people: People, metric: Metric, label: LabelColumns) -> pd.DataFrame:
    """The labels as cells, one column per rater, by query id."""
    names = [label] if isinstance(label, str) else None if label is None else list(label)
    if hasattr(people, "scores") and hasattr(people, "details"):
        return _frame_of_evaluation(cast("Scored", people), metric, names)
    if isinstance(people, pd.Series):
        return people.to_frame(str(people.name or "people"))
    if isinstance(people, Mapping) and not any(map(_is_column, people.values())):
        return pd.Series(dict(people), dtype=object).to_frame("people")
    return _frame_of_raters(to_pandas(people), names)


def _is_column(value: object) -> bool:
    return isinstance(value, list | tuple | np.ndarray | pd.Series)


def _frame_of_evaluation(people: Scored, metric: Metric, names: list[str] | None) -> pd.DataFrame:
    chosen = names or [_default_label(people, metric)]
    columns = {}
    for name in chosen:
        if name in people.details:
            columns[name] = people.details[name]
        else:
            column = resolver(people.metrics)(name)
            columns[column] = people.scores[column]
    return pd.DataFrame(columns, index=people.scores.index)


def _default_label(people: Scored, metric: Metric) -> str:
    """The metric of the same name, or of the same meaning, or the only one."""
    if metric.name in people.metrics:
        return metric.name
    same = [theirs.name for theirs in people.metrics.values() if theirs.known_as == metric.known_as]
    if len(same) == 1:
        return same[0]
    if len(people.metrics) == 1:
        return next(iter(people.metrics))
    raise DataError(
        f"label must name the column of people's labels, because none is named {metric.name!r}; "
        f"columns: {', '.join(people.metrics)}"
    )


def _frame_of_raters(frame: pd.DataFrame, names: list[str] | None) -> pd.DataFrame:
    column = id_column_of(map(str, frame.columns))
    if column is not None:
        frame = frame.set_index(column)
    for name in names or ():
        if name not in frame:
            raise UnknownNameError("column of labels", name, map(str, frame.columns))
    chosen = frame[names] if names else frame
    if not chosen.shape[1]:
        raise DataError("the frame of people's labels has no column besides the ids")
    return chosen


def _numbers(cells: pd.Series) -> FloatArray:
    """Labels as numbers; yes and no, pass and fail, "4/5" are understood; a blank is none."""
    if pd.api.types.is_numeric_dtype(cells.dtype):
        return cells.to_numpy(dtype=np.float64, na_value=np.nan)
    read = read_cells(cells.tolist())
    if read.unread:
        shown = ", ".join(
            f"{str(cells.iloc[place])[:40]!r} at {str(cells.index[place])!r}"
            for place in read.unread[:3]
        )
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


# -- checks


def _ids(index: pd.Index, known: pd.Index) -> pd.Index:
    """The ids as texts; without the guard of a review sheet if the evaluation has none."""
    if index.nlevels > 1:
        raise DataError(
            f"expected one query id per row of labels; got {index.nlevels} index levels"
        )
    texts = [str(query_id) for query_id in index]
    unguarded = [text.removeprefix(_GUARD) for text in texts]
    known_ids = set(known)
    ids = [
        # The unchanged id is tried first: it may begin with an apostrophe itself.
        short if short in known_ids and text not in known_ids else text
        for text, short in zip(texts, unguarded, strict=True)
    ]
    return pd.Index(ids, name="query_id")


def _check_ids(index: pd.Index) -> None:
    if not index.is_unique:
        twice = index[index.duplicated()].unique().tolist()
        raise DataError(
            f"query ids of labels must be unique; seen more than once: {named(twice)}. Put several "
            "raters side by side, one column each"
        )


def _check_overlap(ratings: Ratings, evaluation: Scored, metric: Metric, rated: pd.Index) -> None:
    if not len(rated):
        raise DataError(f"there are no labels: {', '.join(ratings.raters)} has only empty cells")
    if not len(rated) - len(ratings.strangers):
        raise AlignmentError(
            f"no labelled query is in {evaluation.name!r}; ids of the labels: {named(rated, 3)}, "
            f"of the evaluation: {named(ratings.ids, 3)}"
        )
    if not ratings.n:
        raise AlignmentError(
            f"no query has both a score of {metric.name!r} and a label: "
            f"{int(ratings.is_judged.sum())} are scored, {int(ratings.is_labelled.sum())} labelled"
        )


def _check_bounds(ratings: Ratings, metric: Metric) -> None:
    labels = ratings.table[~np.isnan(ratings.table)]
    if np.isinf(labels).any():
        raise DataError("labels must be finite numbers, or left empty; some are infinite")
    low, high = metric.bounds or (-np.inf, np.inf)
    rounding = 1e-9 * max(abs(low), abs(high), 1.0) if metric.bounds else 0.0
    if labels.min() < low - rounding or labels.max() > high + rounding:
        raise DataError(
            f"people's labels lie between {labels.min():g} and {labels.max():g}, {metric.name!r} "
            f"between {low:g} and {high:g}. If people used another scale, give its ends with "
            "label_bounds="
        )
