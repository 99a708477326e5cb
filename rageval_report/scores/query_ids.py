"""Finds the query ids of a table and converts them to texts; and the usual names of columns.

Ids are taken from a column or an index of ids, else they are made from the text of the question.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, did_you_mean, named
from rageval_report.scores.metric import WORDS, normalise_name

QUERY_ID = "query_id"

# The names that frameworks give to columns of texts; such a column is never a metric.
QUESTION, ANSWER, REFERENCE, CONTEXTS, REASON = (
    tuple(WORDS["columns"][key].split())
    for key in ("question", "answer", "reference", "contexts", "reason")
)
TEXTS = frozenset((*QUESTION, *ANSWER, *REFERENCE, *CONTEXTS, *REASON))
_ID_NAMES = WORDS["columns"]["id"].split()
SURE_ID_NAMES = frozenset(WORDS["columns"]["sure_id"].split())

# The last word of a column that numbers the repeated rows of a query.
_COUNTER = re.compile(
    r"(^|_)(epoch|iteration|repeat|repetition|run|trial|attempt|sample_no|replicate)"
    r"(_(no|nr|number|idx|index|id))?$"
)

_CLUSTERS = frozenset(WORDS["columns"]["cluster"].split())
_SHORT_CLUSTERS = {"doc": "document", "source_doc": "source_document"}
_OF_KEYS = re.compile(r"_(id|no|nr|number|name|key|uuid|hash)$")

# The cells that show whether a column named as questions holds counts of them.
_SAMPLE = 100

# Every integer up to this one can be represented exactly as a float.
_MOST_EXACT = 2.0**53


def is_counter_name(column: str) -> bool:
    """Whether a name is usual for a column that numbers the repeated rows of a query.

    Examples
    --------
    >>> [is_counter_name(name) for name in ("epoch", "trial_no", "recall")]
    [True, True, False]
    """
    return bool(_COUNTER.search(normalise_name(column)))


def cluster_noun(column: str) -> str | None:
    """What the values of a column are, if its name is usual for clusters of queries.

    Examples
    --------
    >>> [cluster_noun(name) for name in ("document", "Conversation ID", "source_doc", "topic")]
    ['documents', 'conversations', 'source documents', None]
    """
    stem = _OF_KEYS.sub("", normalise_name(column))
    stem = _SHORT_CLUSTERS.get(stem, stem)
    return f"{stem.replace('_', ' ')}s" if stem in _CLUSTERS else None


def all_different(ids: pd.Index) -> bool:
    """Whether no id occurs twice."""
    # An index would keep a table of all its ids once it is asked.
    try:
        return bool(pd.Series(ids.array, dtype=ids.dtype).is_unique)
    except TypeError:  # lists as ids, which are refused later, are compared as texts
        return bool(ids.map(str).is_unique)


class RepeatedIdsError(DataError):
    """Several rows have the same query id; the remedy says what to do."""

    def __init__(self, ids: list[str], remedy: str):
        self.ids, self.remedy = ids, remedy
        super().__init__(
            f"query ids must be unique; these appear more than once: {named(ids)}. {remedy}"
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.ids, self.remedy)


class NoScoresError(DataError):
    """A table has no column of ids, or none of scores: it is probably another kind of file."""


# -- columns by their names


def question_text(frame: pd.DataFrame) -> str | None:
    """The column that holds the text of the question, if there is one; counts are no texts."""
    column = first_named(frame.columns, QUESTION)
    if column is None or not frame.columns.is_unique:
        return column
    cells = frame[column].iloc[:_SAMPLE].dropna()
    are_numbers = pd.api.types.is_numeric_dtype(cells.dtype)
    are_counts = are_numbers or all(str(cell).strip().isdigit() for cell in cells.tolist())
    return None if are_counts and len(cells) else column


def id_column_of(columns: Iterable[str]) -> str | None:
    """The column that holds the query ids, judged by its name; None if there is none.

    Examples
    --------
    >>> id_column_of(["question", "Sample ID", "recall"])
    'Sample ID'
    """
    return first_named(columns, _ID_NAMES)


def first_named(columns: Iterable[str], names: Iterable[str]) -> str | None:
    """The column that has the first of these names that occurs, in any spelling."""
    return next(iter(all_named(columns, names)), None)


def all_named(columns: Iterable[str], names: Iterable[str]) -> list[str]:
    """The columns that have one of these names, in any spelling, in the order of the names.

    Examples
    --------
    >>> all_named(["Response", "answer", "recall"], ("answer", "response"))
    ['answer', 'Response']
    """
    # Of columns that have one name in different spellings it is the first.
    by_name = {normalise_name(str(column)): column for column in reversed(list(columns))}
    return [by_name[name] for name in names if name in by_name]


def column_of_ids(columns: Iterable[str], query_id: str) -> str | None:
    """The column that the caller names as that of the ids, exactly or in another spelling."""
    every = list(columns)
    return query_id if query_id in every else first_named(every, (normalise_name(query_id),))


# -- the ids of rows


class _RowIds(NamedTuple):
    """The ids of rows, the column that they came from or were made of, and notes."""

    ids: pd.Series
    column: str | None = None
    notes: tuple[str, ...] = ()
    question: str | None = None


def query_ids(frame: pd.DataFrame, query_id: str) -> tuple[pd.Series, str | None, tuple[str, ...]]:
    """The ids of records as texts, the column that they came from, and notes on guesses.

    Rows that repeat a question are records of their own, with "#2", "#3" at the end of their ids.

    Raises
    ------
    DataError
        If there are none (`NoScoresError`), one is missing or blank, or they are neither texts nor
        integers.
    """
    ids, column, notes, question = _find_ids(frame, query_id)
    if question is None or ids.is_unique or _are_numbered(frame, ids):
        return ids, column, notes
    n_before = ids.groupby(ids).cumcount()
    note = (
        f"{_count_repeats(frame[question], ids)}; each such row counts as a query of its own, with "
        '"#2", "#3" at the end of its id'
    )
    numbered = ids.where(n_before == 0, ids + "#" + (n_before + 1).astype(str))
    return numbered, column, (*notes, note)


def unit_ids(
    frame: pd.DataFrame, query_id: str
) -> tuple[pd.Series, str | None, tuple[str, ...], bool]:
    """The ids of scored queries, the column that they came from, notes, and if rows repeat them.

    Rows of one question are repeats of one query, unless each belongs to another document; rows
    with an id are, if a column such as "epoch" numbers them.
    """
    ids, column, notes, question = _find_ids(frame, query_id)
    are_repeats = not all_different(pd.Index(ids)) and _are_numbered(frame, ids)
    if question is None or are_repeats or ids.is_unique:
        return ids, column, notes, are_repeats
    for label in filter(cluster_noun, map(str, frame.columns)):
        if _tells_apart(ids, frame[label]):
            pairs = zip(frame[question], frame[label], strict=True)
            note = (
                f"queries are matched by the texts in {question!r} and {label!r}, because "
                "questions repeat"
            )
            texts = (f"{text}\n{of}" for text, of in pairs)
            return pd.Series(list(map(_id_of_text, texts))), None, (note,), False
    note = f"{_count_repeats(frame[question], ids)}, and are repeats of one query"
    return ids, column, (*notes, note), True


def _find_ids(frame: pd.DataFrame, query_id: str) -> _RowIds:
    column = column_of_ids(frame.columns, query_id)
    if column is not None:
        return _ids_of(frame[column], column)
    if query_id != QUERY_ID:
        raise DataError(
            f"query_id: no column is named {query_id!r}; columns: {named(frame.columns, 12)}"
        )
    index = frame.index
    if normalise_name(str(index.name)) in _ID_NAMES:
        return _ids_of(index)
    column = id_column_of(frame.columns)
    if column is not None:
        return _ids_of(frame[column], column, f"query ids are taken from column {column!r}")
    if index.name is not None or not pd.api.types.is_integer_dtype(index.dtype):
        return _ids_of(index)
    question = question_text(frame)
    if question is not None:
        note = f"queries are matched by the text in {question!r}"
        return _RowIds(_ids_of_questions(frame[question]), None, (note,), question)
    # A RangeIndex only numbers the rows: as ids it would pair any two tables by position.
    if not isinstance(index, pd.RangeIndex):
        return _ids_of(index, None, "query ids are the numbers of the index")
    raise NoScoresError(
        "no column holds query ids: expected a column 'query_id' (or pass its name: "
        "query_id=...), an index of ids, or a column of questions; columns: "
        f"{named(frame.columns, 12)}"
    )


def _count_repeats(questions: pd.Series, ids: pd.Series) -> str:
    repeated = questions[ids.duplicated().to_numpy()]
    examples = named([str(text)[:40] for text in repeated.drop_duplicates()])
    return f"{len(repeated)} rows repeat a question ({examples})"


def _are_numbered(frame: pd.DataFrame, ids: pd.Series) -> bool:
    """Whether a column of whole numbers numbers the rows of each id."""
    counters = (frame[label] for label in map(str, frame.columns) if is_counter_name(label))
    return any(
        _tells_apart(ids, cells)
        for cells in counters
        if cells.astype(str).str.fullmatch(r"\d+(\.0)?").all()
    )


def _tells_apart(ids: pd.Series, cells: pd.Series) -> bool:
    """Whether the cells of a column differ in all rows of each id."""
    # As lists, because rows that were chosen or sorted keep their numbers in the index.
    pairs = pd.DataFrame({"id": ids.tolist(), "cell": cells.astype(str).tolist()})
    return not pairs.duplicated().any()


# -- ids as texts


def _ids_of(cells: pd.Series | pd.Index, column: str | None = None, *notes: str) -> _RowIds:
    """The ids in a column or an index, as texts."""
    if isinstance(cells, pd.Index):
        if cells.nlevels > 1:
            raise DataError(
                f"expected one id per query; the index has {cells.nlevels} levels. Make columns of "
                "them with reset_index(), and name the one that holds the ids: query_id=..."
            )
        cells = cells.to_series()
    _check_no_row(cells.isna(), "have none")
    texts = _convert_ids(cells)
    _check_no_row((texts == "") | texts.str.isspace(), "have a blank one")
    composed = texts if "".join(texts).isascii() else texts.map(_composed)
    changed = texts[(composed != texts).to_numpy()].tolist()
    # A table with both forms of a text means two queries by them.
    if not changed or composed.nunique() < texts.nunique():
        return _RowIds(texts, column, notes)
    note = (
        f"{len(changed)} query ids are converted to Unicode normal form C, so that ids that look "
        f"the same are the same: {named(changed)}"
    )
    return _RowIds(composed, column, (*notes, note))


def _composed(text: str) -> str:
    """A text in its Unicode normal form C: keyboards and file systems write accents in two ways."""
    return unicodedata.normalize("NFC", text)


def _check_no_row(is_wrong: pd.Series, problem: str) -> None:
    rows = np.flatnonzero(is_wrong.to_numpy(dtype=bool))
    if rows.size:
        raise DataError(
            f"every row needs a query id; rows {named(rows.tolist())}, counted from 0, {problem}"
        )


def _convert_ids(column: pd.Series) -> pd.Series:
    if pd.api.types.is_float_dtype(column.dtype):
        # Integers as texts; an empty cell, dropped since, made pandas read them as floats.
        column = column.astype("float64")  # a half float cannot be compared with the limit
        whole = (column == column.round()) & (column.abs() <= _MOST_EXACT)
        if not whole.all():
            wrong = named(column[~whole].tolist())
            raise DataError(f"query ids must be texts or integers; got {wrong}")
        return column.astype("int64").astype(str)
    kind = pd.api.types.infer_dtype(column, skipna=False)
    # An id may be a list among texts ("mixed"), among integers ("mixed-integer") or dates.
    is_plain = kind in ("string", "integer", "floating", "boolean")
    if kind == "bytes" or not (is_plain or all(map(pd.api.types.is_hashable, column.tolist()))):
        raise DataError(f"query ids must be texts or integers; got {column.iloc[0]!r}")
    try:
        texts = column.astype(str)
    except UnicodeError as exc:  # half characters, or bytes that are not UTF-8
        shown = getattr(exc, "object", b"")
        raise DataError(f"query ids must be valid texts; got {shown!r}: {exc}") from exc
    return texts


def _ids_of_questions(questions: pd.Series) -> pd.Series:
    """One stable id per question."""
    # Bytes, which Parquet may hold, would be decoded, and may be of any encoding.
    if pd.api.types.infer_dtype(questions, skipna=True) in ("bytes", "mixed"):
        questions = questions.map(lambda cell: str(cell) if isinstance(cell, bytes) else cell)
    missing = questions.isna() | (questions.astype(str).str.strip() == "")
    rows = np.flatnonzero(missing.to_numpy(dtype=bool))
    if rows.size:
        raise DataError(
            f"there are no query ids, and rows {named(rows.tolist())}, counted from 0, have no "
            "question to derive them from"
        )
    return pd.Series([_id_of_text(str(text)) for text in questions])


def _id_of_text(text: str) -> str:
    plain = plain_text(text).encode("utf-8", "surrogatepass")
    # From the text alone, so that a question has the same id in every file and every run.
    return "q-" + blake2b(plain, digest_size=8).hexdigest()


def plain_text(text: str) -> str:
    r"""A text in its Unicode normal form NFKC, with single spaces and no blanks at the ends.

    Examples
    --------
    >>> plain_text("  Who\u00a0wrote\n it? ")
    'Who wrote it?'
    """
    return " ".join(unicodedata.normalize("NFKC", text).split())


def check_known_ids(ids: Iterable[str], known: Collection[str]) -> list[str]:
    """The ids that a user named, each once, after a check that all of them are there."""
    texts = map(str, ids)
    wanted = list(dict.fromkeys(text if text in known else _composed(text) for text in texts))
    unknown = [query_id for query_id in wanted if query_id not in known]
    if unknown:
        raise DataError(
            f"query_ids: no query has the id {named(unknown)}.{did_you_mean(unknown[0], known)}"
        )
    return wanted
