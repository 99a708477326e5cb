"""People's labels, however they come, laid beside the judge's scores by query id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report.errors import AlignmentError, DataError, UnknownNameError, named
from rageval_report.scores import Metric, Scored, resolver
from rageval_report.scores.cells import read_cells
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.table import id_column_of
from rageval_report.types import FloatArray

BoolArray = npt.NDArray[np.bool_]

# Anything that has labels by query id: an evaluation, a Series, a frame of raters, a dict.
People = Any
Labels = str | Iterable[str] | None
Bounds = tuple[float, float]

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
        The judge's scores; NaN where it gave none.
    table : ndarray of shape (n_queries, n_raters)
        People's labels; NaN where there is none.
    raters : tuple of str
        Who gave the columns of the table.
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
        """One label a query: the mean over its raters; NaN where nobody rated it."""
        there = ~np.isnan(self.table)
        n = there.sum(axis=1)
        total = np.where(there, self.table, 0.0).sum(axis=1)
        return np.where(n > 0, total / np.maximum(n, 1), np.nan)

    @property
    def judged(self) -> BoolArray:
        """Whether the judge scored each query."""
        return ~np.isnan(self.judge)

    @property
    def labelled(self) -> BoolArray:
        """Whether anybody rated each query."""
        return np.asarray(~np.isnan(self.table).all(axis=1))

    @property
    def both(self) -> BoolArray:
        """Whether a query has a score and a label."""
        return self.judged & self.labelled

    @property
    def n(self) -> int:
        """How many queries have both."""
        return int(self.both.sum())


def ratings_of(
    evaluation: Scored,
    metric: Metric,
    people: People,
    label: Labels = None,
    label_bounds: Bounds | None = None,
) -> Ratings:
    """The judge's scores beside people's labels.

    Parameters
    ----------
    evaluation : Scored
        Holds the judge's scores.
    metric : Metric
        Which of its metrics the judge gave.
    people : RAGPipelineEvaluation, Series, DataFrame, or mapping
        People's labels: another evaluation and `label`; a Series or dict by query id; a frame of
        several raters, a column each, by query id.
    label : str or iterable of str, optional
        The columns of `people` that hold labels.
    label_bounds : (float, float), optional
        The scale of the labels, where it is not that of the metric: they are moved to the metric's.

    Raises
    ------
    DataError
        If labels are no numbers, lie outside the metric's bounds, or an id comes twice.
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
        numbers = _rescaled(numbers, metric, label_bounds)
    ids = evaluation.scores.index
    rated = numbers.index[numbers.notna().any(axis=1)]
    found = Ratings(
        ids,
        evaluation.scores[metric.name].to_numpy(dtype=np.float64),
        numbers.reindex(ids).to_numpy(dtype=np.float64),
        tuple(map(str, numbers.columns)),
        rated[~rated.isin(ids)],
    )
    _check_overlap(found, evaluation, metric, rated)
    _check_bounds(found, metric)
    return found


# -- the forms in which labels come


def _label_frame(people: People, metric: Metric, label: Labels) -> pd.DataFrame:
    """The cells of the labels, a column a rater, by query id."""
    names = [label] if isinstance(label, str) else None if label is None else list(label)
    if hasattr(people, "scores") and hasattr(people, "details"):
        return _of_evaluation(cast("Scored", people), metric, names)
    if isinstance(people, pd.Series):
        return people.to_frame(str(people.name or "people"))
    if isinstance(people, Mapping) and not any(map(_is_column, people.values())):
        return pd.Series(dict(people), dtype=object).to_frame("people")
    return _of_frame(to_pandas(people), names)


def _is_column(value: object) -> bool:
    return isinstance(value, list | tuple | np.ndarray | pd.Series)


def _of_evaluation(people: Scored, metric: Metric, names: list[str] | None) -> pd.DataFrame:
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
    alike = [one.name for one in people.metrics.values() if one.known_as == metric.known_as]
    if metric.name in people.metrics or len(alike) == 1:
        return metric.name if metric.name in people.metrics else alike[0]
    if len(people.metrics) == 1:
        return next(iter(people.metrics))
    raise DataError(
        "name the column that holds people's labels (label), as none is named "
        f"{metric.name!r}: {', '.join(people.metrics)}"
    )


def _of_frame(frame: pd.DataFrame, names: list[str] | None) -> pd.DataFrame:
    column = id_column_of(map(str, frame.columns))
    if column is not None:
        frame = frame.set_index(column)
    for name in names or ():
        if name not in frame:
            raise UnknownNameError("column of labels", name, map(str, frame.columns))
    chosen = frame[names] if names else frame
    if not chosen.shape[1]:
        raise DataError("the frame of people's labels has no column but the ids")
    return chosen


def _numbers(cells: pd.Series) -> FloatArray:
    """Labels as numbers: yes and no, pass and fail, "4/5" are understood; blanks are no label."""
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
            f"{len(read.unread)} that are none of these: {shown}. If it holds no labels, name the "
            "column that does (label)"
        )
    return read.numbers


def _rescaled(numbers: pd.DataFrame, metric: Metric, label_bounds: Bounds) -> pd.DataFrame:
    low, high = map(float, label_bounds)
    if metric.bounds is None:
        raise DataError(
            f"{metric.name!r} has no bounds to which labels could be moved; give them: "
            f"metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}"
        )
    if not low < high:
        raise DataError(f"label_bounds must be two numbers, the lower first; got {label_bounds}")
    to_low, to_high = metric.bounds
    return to_low + (numbers - low) * ((to_high - to_low) / (high - low))


# -- checks


def _ids(index: pd.Index, known: pd.Index) -> pd.Index:
    """The ids as texts; without the guard of a reviewers' sheet where the evaluation has none."""
    if index.nlevels > 1:
        raise DataError(f"expected one query id a row of labels; got {index.nlevels} levels")
    texts = [str(one) for one in index]
    bare = [text.removeprefix(_GUARD) for text in texts]
    ours = set(known)
    told = [
        short if short in ours and text not in ours else text
        for text, short in zip(texts, bare, strict=True)
    ]
    return pd.Index(told, name="query_id")


def _check_ids(index: pd.Index) -> None:
    if not index.is_unique:
        twice = index[index.duplicated()].unique().tolist()
        raise DataError(
            f"query ids of labels must be unique; seen more than once: {named(twice)}. Several "
            "raters stand side by side, a column each"
        )


def _check_overlap(found: Ratings, evaluation: Scored, metric: Metric, rated: pd.Index) -> None:
    if not len(rated):
        raise DataError(f"nobody has rated anything: {', '.join(found.raters)} is empty")
    if not len(rated) - len(found.strangers):
        raise AlignmentError(
            f"no labelled query is in {evaluation.name!r}; ids of the labels: {named(rated, 3)}, "
            f"of the evaluation: {named(found.ids, 3)}"
        )
    if not found.n:
        raise AlignmentError(
            f"no query has both a score of {metric.name!r} and a label: "
            f"{int(found.judged.sum())} are scored, {int(found.labelled.sum())} labelled"
        )


def _check_bounds(found: Ratings, metric: Metric) -> None:
    every = found.table[~np.isnan(found.table)]
    if np.isinf(every).any():
        raise DataError("labels must be finite numbers, or left empty; some are infinite")
    low, high = metric.bounds or (-np.inf, np.inf)
    room = 1e-9 * max(abs(low), abs(high), 1.0) if metric.bounds else 0.0
    if every.min() < low - room or every.max() > high + room:
        raise DataError(
            f"people's labels lie between {every.min():g} and {every.max():g}, {metric.name!r} "
            f"between {low:g} and {high:g}. If people used another scale, give its ends (label "
            "bounds)"
        )
