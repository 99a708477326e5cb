"""Query ids: where they stand in a table, and as which texts they are taken."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from hashlib import blake2b

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.scores.metric import normalised
from rageval_report.scores.texts import QUESTION

QUERY_ID = "query_id"

_ID_NAMES = ("query_id", "queryid", "qid", "question_id", "sample_id", "example_id", "id", "_id")

# Every whole number up to this one is a float.
_MOST_EXACT = 2.0**53


def question_text(frame: pd.DataFrame) -> str | None:
    """The column that holds the question's text, if there is one.

    Examples
    --------
    >>> question_text(pd.DataFrame(columns=["recall", "User Input"]))
    'User Input'
    """
    return first_named(frame.columns, QUESTION)


def id_column_of(columns: Iterable[str]) -> str | None:
    """The column that holds the query ids, by its name; None where no name says so.

    Examples
    --------
    >>> id_column_of(["question", "Sample ID", "recall"])
    'Sample ID'
    """
    return first_named(columns, _ID_NAMES)


def first_named(columns: Iterable[str], names: Iterable[str]) -> str | None:
    """The first column that has one of the names, by any spelling; the names in order.

    Examples
    --------
    >>> first_named(["Response", "answer"], ("answer", "response"))
    'answer'
    """
    by_name = {normalised(str(column)): column for column in reversed(list(columns))}
    return next((by_name[name] for name in names if name in by_name), None)


def query_ids(frame: pd.DataFrame, query_id: str) -> tuple[pd.Series, str | None, tuple[str, ...]]:
    """The ids as text, the column they came from, and what was guessed.

    Raises
    ------
    DataError
        If there are none, one is missing or blank, or they are neither texts nor whole numbers.
    """
    column = query_id if query_id in frame else first_named(frame.columns, (normalised(query_id),))
    if column is not None:
        return _as_text(frame[column]), column, ()
    if query_id != QUERY_ID:
        raise DataError(f"no column is named {query_id!r}; columns: {named(frame.columns, 12)}")
    if normalised(str(frame.index.name)) in _ID_NAMES:
        return _ids_of_index(frame.index), None, ()
    column = id_column_of(frame.columns)
    if column is not None:
        return _as_text(frame[column]), column, (f"query ids are taken from column {column!r}",)
    if frame.index.name is not None or not pd.api.types.is_integer_dtype(frame.index.dtype):
        return _ids_of_index(frame.index), None, ()
    column = question_text(frame)
    if column is not None:
        note = f"query ids are derived from the text of column {column!r}"
        return _ids_of_questions(frame[column]), None, (note,)
    if not isinstance(frame.index, pd.RangeIndex):
        return _ids_of_index(frame.index), None, ("query ids are the numbers of the index",)
    raise DataError(
        "no column of query ids: expected 'query_id' (or query_id=... naming one), an index of "
        f"ids, or a column of questions; columns: {named(frame.columns, 12)}"
    )


def _ids_of_index(index: pd.Index) -> pd.Series:
    if index.nlevels > 1:
        raise DataError(
            f"expected one id a query; the index has {index.nlevels} levels. Make columns of them "
            "with reset_index(), and name the one that holds the ids: query_id=..."
        )
    return _as_text(index.to_series())


def _as_text(column: pd.Series) -> pd.Series:
    _refuse_rows(column.isna(), "have none")
    text = _text_of(column)
    _refuse_rows((text == "") | text.str.isspace(), "have a blank one")
    return text


def _refuse_rows(wrong: pd.Series, what: str) -> None:
    rows = np.flatnonzero(wrong.to_numpy(dtype=bool))
    if rows.size:
        raise DataError(
            f"every row needs a query id; rows {named(rows.tolist())}, counted from 0, {what}"
        )


def _text_of(column: pd.Series) -> pd.Series:
    if pd.api.types.is_float_dtype(column.dtype):
        return _text_of_floats(column)
    kind = pd.api.types.infer_dtype(column, skipna=False)
    if kind == "bytes" or (kind == "mixed" and not column.map(pd.api.types.is_hashable).all()):
        raise DataError(f"query ids must be texts or whole numbers; got {column.iloc[0]!r}")
    text = _valid_text(column)
    if kind != "string" and text.nunique() < column.nunique():
        twice = sorted(set(text[text.duplicated()]))
        raise DataError(
            f"query ids of different types that read alike, as 1 and '1': {named(twice)}; "
            "make them all texts"
        )
    return text


def _valid_text(column: pd.Series) -> pd.Series:
    try:
        return column.astype(str)
    except UnicodeEncodeError as exc:
        raise DataError(f"query ids must be valid texts; got {exc.object!r}: {exc.reason}") from exc


def _text_of_floats(column: pd.Series) -> pd.Series:
    """Whole numbers that an empty cell, since dropped, has turned into floats."""
    whole = (column == column.round()) & (column.abs() <= _MOST_EXACT)
    if not whole.all():
        raise DataError(
            f"query ids must be texts or whole numbers; got {named(column[~whole].tolist())}"
        )
    return column.astype("int64").astype(str)


def _ids_of_questions(questions: pd.Series) -> pd.Series:
    """A stable id a question: equal texts get a visible "#2", "#3", ..."""
    missing = questions.isna() | (questions.astype(str).str.strip() == "")
    rows = np.flatnonzero(missing.to_numpy(dtype=bool))
    if rows.size:
        raise DataError(
            f"there are no query ids, and rows {named(rows.tolist())}, counted from 0, have no "
            "question to derive them from"
        )
    ids = pd.Series([_id_of_question(str(text)) for text in questions])
    seen = ids.groupby(ids).cumcount()
    return ids.where(seen == 0, ids + "#" + (seen + 1).astype(str))


def _id_of_question(text: str) -> str:
    plain = plain_text(text).encode("utf-8", "surrogatepass")
    return "q-" + blake2b(plain, digest_size=8).hexdigest()


def plain_text(text: str) -> str:
    r"""A text in which blanks and Unicode forms make no difference.

    Examples
    --------
    >>> plain_text("  Who\u00a0wrote\n it? ")
    'Who wrote it?'
    """
    return " ".join(unicodedata.normalize("NFKC", text).split())
