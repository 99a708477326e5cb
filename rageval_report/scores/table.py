"""The table of scores, checked once: ids that are unique, numbers that are finite or NaN."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal, Protocol

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.scores.columns import Columns, classified, numbers_of, resolver
from rageval_report.scores.frames import to_pandas
from rageval_report.scores.metric import (
    Metric,
    Override,
    inferred,
    is_binary,
    normalised,
    overridden,
)
from rageval_report.scores.texts import QUESTION

QUERY_ID = "query_id"

# A score this far outside its bounds is rounding, and is moved to the bound.
_ROUNDING = 1e-9
_ID_NAMES = ("query_id", "queryid", "qid", "question_id", "sample_id", "example_id", "id", "_id")

Duplicates = Literal["error", "mean"]
MetricsArgument = Iterable[str] | Mapping[str, Override] | None


class Scored(Protocol):
    """What the reading half asks of a pipeline's evaluation."""

    @property
    def name(self) -> str:
        """The pipeline's name."""

    @property
    def scores(self) -> pd.DataFrame:
        """A row a query, a float64 column a metric, NaN where unscored."""

    @property
    def details(self) -> pd.DataFrame:
        """Everything else that is known of the queries, on the same index."""

    @property
    def metrics(self) -> Mapping[str, Metric]:
        """What is known of each metric, in the order of the columns."""


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """The checked table: what `RAGPipelineEvaluation` holds.

    Parameters
    ----------
    data : DataFrame
        The rows as they were given.
    scores : DataFrame
        Index ``query_id``, one float64 column a metric.
    details : DataFrame
        The same index, all other columns.
    metrics : dict of str to Metric
        In the order of the columns of `scores`.
    notes : tuple of str
        What was guessed or mended.
    """

    data: pd.DataFrame
    scores: pd.DataFrame
    details: pd.DataFrame
    metrics: dict[str, Metric]
    notes: tuple[str, ...] = ()

    def noting(self, *notes: str) -> ScoreTable:
        """The same table with more notes."""
        return replace(self, notes=(*notes, *self.notes))


def score_table(
    data: object,
    *,
    query_id: str = QUERY_ID,
    metrics: MetricsArgument = None,
    duplicates: Duplicates = "error",
) -> ScoreTable:
    """Check the rows and part them into scores and details.

    Parameters
    ----------
    data : frame, dict of lists, or list of dicts
        One row a query.
    query_id : str
        The column of ids; other usual names are looked for, then an index, then a question's text.
    metrics : iterable of str, or mapping of str to Metric, dict, "higher" or "lower", optional
        An iterable names the columns that are metrics; a mapping says what is known of some.
    duplicates : {"error", "mean"}
        What to do where a query has several rows: raise, or take the mean of its scores.

    Raises
    ------
    DataError
        If ids are missing or twice there, no column is a metric, a metric holds text, a score is
        infinite or outside its metric's bounds.

    Examples
    --------
    >>> table = score_table({"query_id": ["a", "b"], "recall": [1, 0.5], "question": ["?", "??"]})
    >>> list(table.scores), list(table.details)
    (['recall'], ['question'])
    """
    frame = to_pandas(data)
    if not len(frame):
        raise DataError("expected one row a query; the table is empty")
    ids, id_column, notes = _ids(frame, query_id)
    columns = classified(frame, ids, id_column=id_column, wanted=_wanted(metrics))
    block = _score_block(columns, len(frame))
    known, kind_notes = _known_metrics(columns, block, metrics)
    _check_scores(block, known, ids)
    index = pd.Index(ids, name=QUERY_ID)
    scores = pd.DataFrame(block, index=index, columns=list(known), copy=False)
    details = frame[columns.details].set_axis(index, axis=0)
    table = ScoreTable(frame, scores, details, known, (*notes, *columns.notes, *kind_notes))
    if duplicates == "mean":
        return _with_means_of_repeats(table)
    _check_unique(index)
    return table


def question_text(frame: pd.DataFrame) -> str | None:
    """The column that holds the question's text, if there is one."""
    return _first_present(frame, QUESTION)


def id_column_of(columns: Iterable[str]) -> str | None:
    """The column that holds the query ids, by its name; None where no name says so.

    Examples
    --------
    >>> id_column_of(["question", "Sample ID", "recall"])
    'Sample ID'
    """
    return _first_named(columns, _ID_NAMES)


def _first_present(frame: pd.DataFrame, names: Iterable[str]) -> str | None:
    return _first_named(frame.columns, names)


def _first_named(columns: Iterable[str], names: Iterable[str]) -> str | None:
    by_name = {normalised(str(column)): column for column in reversed(list(columns))}
    return next((by_name[name] for name in names if name in by_name), None)


# -- ids


def _ids(frame: pd.DataFrame, query_id: str) -> tuple[pd.Series, str | None, tuple[str, ...]]:
    """The ids as text, the column they came from, and what was guessed."""
    column = _first_present(frame, (normalised(query_id),))
    if column is not None:
        return _as_text(frame[column]), column, ()
    if query_id != QUERY_ID:
        raise DataError(f"no column is named {query_id!r}; columns: {named(frame.columns, 12)}")
    if frame.index.name is not None or not isinstance(frame.index, pd.RangeIndex):
        return _as_text(frame.index.to_series()), None, ()
    column = _first_present(frame, _ID_NAMES)
    if column is not None:
        return _as_text(frame[column]), column, (f"query ids are taken from column {column!r}",)
    column = question_text(frame)
    if column is not None:
        note = f"query ids are derived from the text of column {column!r}"
        return _ids_of_questions(frame[column]), None, (note,)
    raise DataError(
        "no column of query ids: expected 'query_id' (or query_id=... naming one), an index of "
        f"ids, or a column of questions; columns: {named(frame.columns, 12)}"
    )


def _as_text(column: pd.Series) -> pd.Series:
    missing = column.isna().to_numpy()
    if missing.any():
        rows = np.flatnonzero(missing)
        raise DataError(f"every row needs a query id; rows {named(rows.tolist())} have none")
    text = _text_of(column)
    blank = (text.str.strip() == "").to_numpy()
    if blank.any():
        rows = np.flatnonzero(blank)
        raise DataError(f"every row needs a query id; rows {named(rows.tolist())} have a blank one")
    return text


def _text_of(column: pd.Series) -> pd.Series:
    if pd.api.types.is_float_dtype(column.dtype):
        whole = column == column.round()
        if not whole.all():
            raise DataError(
                f"query ids must be texts or whole numbers; got {named(column[~whole].tolist())}"
            )
        return column.astype("int64").astype(str)
    if pd.api.types.infer_dtype(column, skipna=False) == "string":
        return column
    text = column.astype(str)
    if text.nunique() < column.nunique():
        twice = sorted(set(text[text.duplicated()]))
        raise DataError(
            f"query ids of different types that read alike, as 1 and '1': {named(twice)}; "
            "make them all texts"
        )
    return text


def _ids_of_questions(questions: pd.Series) -> pd.Series:
    """A stable id a question: equal texts get a visible "#2", "#3", ..."""
    missing = questions.isna().to_numpy()
    if missing.any():
        rows = np.flatnonzero(missing)
        raise DataError(f"no query ids, and rows {named(rows.tolist())} have no question either")
    ids = pd.Series([_id_of_question(str(text)) for text in questions])
    seen = ids.groupby(ids).cumcount()
    return ids.where(seen == 0, ids + "#" + (seen + 1).astype(str))


def _id_of_question(text: str) -> str:
    plain = " ".join(unicodedata.normalize("NFKC", text).split())
    return "q-" + blake2b(plain.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()


def _check_unique(index: pd.Index) -> None:
    if index.has_duplicates:
        twice = index[index.duplicated()].unique().tolist()
        raise DataError(
            f"query ids must be unique; seen more than once: {named(twice)}. Repeated runs of "
            'one pipeline are averaged with duplicates="mean".'
        )


def _with_means_of_repeats(table: ScoreTable) -> ScoreTable:
    rows = len(table.scores)
    scores = table.scores.groupby(level=0, sort=False).mean()
    details = table.details[~table.details.index.duplicated()]
    if len(scores) == rows:
        return table
    note = f"{rows} rows of {len(scores)} queries: each query's score is the mean of its rows"
    return replace(table, scores=scores, details=details, notes=(*table.notes, note))


# -- metrics and scores


def _wanted(metrics: MetricsArgument) -> list[str] | None:
    """The columns that the caller says are metrics; None leaves it to the data."""
    if metrics is None or isinstance(metrics, Mapping):
        return None
    return [metrics] if isinstance(metrics, str) else list(metrics)


def _score_block(columns: Columns, n_queries: int) -> np.ndarray:
    """All scores in one column-major block: the only copy of the numbers that is made."""
    block = np.empty((n_queries, len(columns.sources)), dtype=np.float64, order="F")
    for position, cells in enumerate(columns.sources.values()):
        block[:, position] = numbers_of(cells)
    return block


def _known_metrics(
    columns: Columns, block: np.ndarray, metrics: MetricsArgument
) -> tuple[dict[str, Metric], list[str]]:
    """What is known of each metric: by the catalogue, else by its values; then by the caller."""
    known, notes = {}, []
    for position, (name, metric) in enumerate(columns.known.items()):
        known[name] = metric or inferred(name, block[:, position])
        if metric is None and not known[name].greater_is_better:
            notes.append(f"{name!r} is not a known metric; by its name, lower is taken as better")
    if isinstance(metrics, Mapping):
        resolve = resolver(known)
        for name, change in metrics.items():
            known[resolve(name)] = overridden(known[resolve(name)], change)
    for position, (name, metric) in enumerate(known.items()):
        if metric.kind == "binary" and not is_binary(block[:, position]):
            known[name] = replace(metric, kind="proportion")
    return known, notes


def _check_scores(block: np.ndarray, metrics: dict[str, Metric], ids: pd.Series) -> None:
    for position, metric in enumerate(metrics.values()):
        column = block[:, position]
        _check_finite(column, metric, ids)
        _check_bounds(column, metric, ids)


def _places(wrong: np.ndarray, column: np.ndarray, ids: pd.Series) -> str:
    rows = np.flatnonzero(wrong)
    shown = ", ".join(f"{column[row]:g} at {ids.iloc[row]!r}" for row in rows[:5])
    return shown if len(rows) <= 5 else f"{shown} and {len(rows) - 5} more"


def _check_finite(column: np.ndarray, metric: Metric, ids: pd.Series) -> None:
    wrong = np.isinf(column)
    if wrong.any():
        raise DataError(
            f"scores must be finite, or NaN where unscored; {metric.name!r} has "
            f"{_places(wrong, column, ids)}"
        )


def _check_bounds(column: np.ndarray, metric: Metric, ids: pd.Series) -> None:
    if metric.bounds is None:
        return
    low, high = metric.bounds
    wrong = (column < low - _ROUNDING) | (column > high + _ROUNDING)
    if wrong.any():
        raise DataError(
            f"{metric.name!r} must lie between {low:g} and {high:g}; got "
            f"{_places(wrong, column, ids)}. If its scale is another, say so: "
            f"metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}"
        )
    np.clip(column, low, high, out=column)


def detail(details: pd.DataFrame, *names: str) -> Any:
    """The first of the named detail columns that is there, or None."""
    column = _first_present(details, names)
    return None if column is None else details[column]
