"""Runs and judgments as rows of query, document and number: frames and files.

Ids become codes, query and document together one key, and the judged keys are looked up among the
retrieved ones. Ids stay bytes where a file gave them, and are not decoded but for messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rageval_report.errors import DataError, ReaderError, named
from rageval_report.metrics import _order
from rageval_report.metrics._joined import Joined, Ties, refuse_strangers, refuse_ties
from rageval_report.metrics.hits import Codes, Floats, hit_table
from rageval_report.scores.query_ids import first_named

Ids = Any  # fixed-width bytes of NumPy, or pandas' texts

_QUERY_NAMES = ("query_id", "qid", "q_id", "query", "topic")
_DOC_NAMES = ("doc_id", "docno", "docid", "corpus_id", "document_id", "doc", "pid", "passage_id")
_VALUE_NAMES = {
    "score": ("score", "sim", "similarity"),
    "relevance": ("relevance", "rel", "label", "grade", "score", "judgment"),
}
_WORD = 8
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Rows:
    """A run, or judgments, a document a row.

    Parameters
    ----------
    query, doc : ndarray of shape (n,)
        Ids: pandas' texts, or fixed-width bytes in UTF-8.
    value : ndarray of shape (n,)
        Scores or grades; no NaN.
    what : str
        What the rows are, for messages.
    path : str, optional
        The file that they come from.
    line : ndarray of shape (n,), optional
        The line of each row, from 1.
    """

    query: Ids
    doc: Ids
    value: Floats
    what: str
    path: str | None = None
    line: Codes | None = None

    def error(self, row: int, message: str) -> DataError:
        """The error that names the file and line of a row, or its number, and its ids."""
        ids = f"query {_shown(self.query[row])}, document {_shown(self.doc[row])}"
        if self.line is None:
            return DataError(f"{self.what}, row {row} counted from 0 ({ids}): {message}")
        return ReaderError(f"{ids}: {message}", self.path, int(self.line[row]))


def _shown(one: str | bytes) -> str:
    return repr(one.decode() if isinstance(one, bytes) else one)


# -- forms of input


def from_table(table: Mapping[str, Mapping[str, Any]], what: str, number: str) -> Rows:
    """The rows of a mapping of query to mapping of document to number."""
    lengths = [len(docs) for docs in table.values()]
    values = list(chain.from_iterable(docs.values() for docs in table.values()))
    query = pd.array(list(table), dtype="str").repeat(lengths)
    doc = pd.array(list(chain.from_iterable(table.values())), dtype="str")
    return _checked(query, doc, pd.Series(values, dtype=object), what, number)


def from_frame(frame: Any, what: str, number: str) -> Rows:
    """The rows of a tidy frame.

    Parameters
    ----------
    frame : DataFrame
        With columns of query ids, document ids and numbers, by any of their usual names.
    what : str
        What it is, for messages.
    number : {"score", "relevance"}
        What the numbers are.

    Raises
    ------
    DataError
        If a column is missing, an id is missing, or a number is none.
    """
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"{what} must be a mapping, a DataFrame or the path of a file; got {type(frame)}"
        )
    query = _ids_of(_column(frame, _QUERY_NAMES, what), what)
    doc = _ids_of(_column(frame, _DOC_NAMES, what), what)
    return _checked(query, doc, _column(frame, _VALUE_NAMES[number], what), what, number)


def _column(frame: pd.DataFrame, names: tuple[str, ...], what: str) -> pd.Series:
    column = first_named(frame.columns, names)
    if column is None:
        raise DataError(
            f"{what} needs a column {names[0]!r} (or {', '.join(names[1:4])}); "
            f"columns: {named(frame.columns, 12)}"
        )
    return frame[column]


def _ids_of(column: pd.Series, what: str) -> Ids:
    missing = np.flatnonzero(column.isna().to_numpy())
    if missing.size:
        raise DataError(
            f"every row of {what} needs an id in {column.name!r}; row {missing[0]}, counted from 0,"
            " has none"
        )
    kind = pd.api.types.infer_dtype(column, skipna=False)
    if kind not in ("string", "integer", "categorical"):
        raise DataError(
            f"{column.name!r} of {what} must be texts or whole numbers; it holds {kind} values, as "
            f"{column.tolist()[0]!r}"
        )
    return column.astype("str").array


def _checked(query: Ids, doc: Ids, value: pd.Series, what: str, number: str) -> Rows:
    numbers = pd.to_numeric(value, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    rows = Rows(query, doc, numbers, what)
    wrong = np.flatnonzero(np.isnan(numbers) if number == "score" else ~np.isfinite(numbers))
    if wrong.size:
        raise rows.error(
            int(wrong[0]), f"the {number} must be a number; got {value.iloc[int(wrong[0])]!r}"
        )
    return rows


# -- the join


def joined_rows(run: Rows, qrels: Rows, *, ties: Ties, relevance_level: float) -> Joined:
    """A run and its judgments, matched.

    Parameters
    ----------
    run, qrels : Rows
        What was retrieved, and what was judged.
    ties : {"docid", "input", "error"}
        Which of equal scores goes first.
    relevance_level : float
        The lowest relevant grade.

    Raises
    ------
    DataError
        If a document stands twice for a query.
    """
    codes, names = _coded(qrels.query, run.query)
    judged_query, run_query = codes[: len(qrels.query)], codes[len(qrels.query) :]
    n_judged_queries = int(judged_query.max(initial=-1)) + 1  # codes count in order of appearance
    query_ids, n_run = (
        _texts(names[:n_judged_queries]),
        np.bincount(run_query, minlength=len(names)),
    )
    missing = [query_ids[code] for code in np.flatnonzero(n_run[:n_judged_queries] == 0)]
    refuse_strangers(query_ids, missing, unjudged := _texts(names[n_judged_queries:]))

    doc_codes, documents = _coded(qrels.doc, run.doc)
    judged_key = judged_query * len(documents) + doc_codes[: len(qrels.doc)]
    run_key = run_query * len(documents) + doc_codes[len(qrels.doc) :]
    index = pd.Index(run_key)
    _refuse_twice(pd.Index(judged_key), qrels)
    _refuse_twice(index, run)

    rows, lengths = _grouped(run_query, n_run)
    ordered = _order.from_the_best(run.value[rows], lengths)
    n_tied = _order.n_tied(ordered, lengths)[:n_judged_queries]
    if ties == "error":
        refuse_ties(query_ids, n_tied)
    row = index.get_indexer(pd.Index(judged_key))
    found = row >= 0
    row, query = row[found], judged_query[found]
    rank, tied = _order.n_better(ordered, lengths, query, run.value[row])
    if tied.any():
        rank[tied] = _ranks_of_tied(run, run_query, row[tied], by_id=ties == "docid")
    by_query = np.argsort(judged_query, kind="stable")
    hits = hit_table(
        query=query,
        rank=rank,
        grade=qrels.value[found],
        judged_query=judged_query[by_query],
        judged_grade=qrels.value[by_query],
        n_retrieved=n_run[:n_judged_queries],
        relevance_level=relevance_level,
    )
    return Joined(query_ids, hits, n_tied, missing, unjudged)


def _grouped(query: Codes, counts: Codes) -> tuple[Codes | slice, Codes]:
    """The rows so ordered that those of a query stand together, and how many there are of each."""
    if (query[1:] >= query[:-1]).all():
        return slice(None), counts
    return np.argsort(query, kind="stable"), counts


def _refuse_twice(keys: pd.Index, rows: Rows) -> None:
    if keys.is_unique:
        return
    second = int(np.flatnonzero(keys.duplicated())[0])
    first = int(np.flatnonzero(keys == keys[second])[0])
    where = f"row {first}" if rows.line is None else f"line {rows.line[first]}"
    raise rows.error(second, f"stands twice, first in {where}; a document counts once a query")


def _ranks_of_tied(run: Rows, run_query: Codes, wanted: Codes, *, by_id: bool) -> Codes:
    """The ranks of rows of the run that share their score with another of the query."""
    touched = np.zeros(int(run_query.max()) + 1, dtype=bool)
    touched[run_query[wanted]] = True
    rows = np.flatnonzero(touched[run_query])
    rows = rows[np.lexsort((-run.value[rows], run_query[rows]))]
    query, value = run_query[rows], run.value[rows]
    if by_id:
        _put_later_ids_first(rows, run.doc, query, value)
    ranks = np.empty(len(run_query), np.int64)
    ranks[rows] = np.arange(len(rows)) - _order.starts_of(np.bincount(query))[query]
    return ranks[wanted]


def _put_later_ids_first(rows: Codes, doc: Ids, query: Codes, value: Floats) -> None:
    """Reorder, in place, rows of one query and score, which stand together, by id descending."""
    same = (query[1:] == query[:-1]) & (value[1:] == value[:-1])
    tied = np.zeros(len(rows), dtype=bool)
    tied[1:] |= same
    tied[:-1] |= same
    places = np.flatnonzero(tied)
    group = np.concatenate([[0], np.cumsum(~same)])[places]
    words = _words(_encoded(doc[rows[places]]))
    keys = [~words[:, column].byteswap() for column in reversed(range(words.shape[1]))]
    rows[places] = rows[places][np.lexsort([*keys, group])]


def _encoded(ids: Any) -> Ids:
    """Ids as bytes, which sort as their code points do."""
    if _are_bytes(ids):
        return np.asarray(ids)
    return np.array([one.encode("utf-8", "surrogatepass") for one in ids.tolist()], dtype=bytes)


# -- ids as codes


def _coded(first: Ids, second: Ids) -> tuple[Codes, Ids]:
    """The codes of two columns of ids, in order of appearance, and the id of each code."""
    if _are_bytes(first) and _are_bytes(second):
        return _coded_bytes(np.concatenate([first, second]))
    codes, names = pd.factorize(pd.concat([_series(first), _series(second)], ignore_index=True))
    return codes.astype(np.int64, copy=False), names


def _are_bytes(ids: Any) -> bool:
    return isinstance(ids, np.ndarray) and ids.dtype.kind == "S"


def _series(ids: Ids) -> pd.Series:
    return pd.Series(_texts(ids) if _are_bytes(ids) else ids, dtype="str")


def _texts(ids: Any) -> list[str]:
    listed = ids.tolist()
    return [one.decode() for one in listed] if _are_bytes(ids) else listed


def _words(ids: Ids) -> NDArray[np.uint64]:
    """Bytes, eight at a time."""
    width = -(-max(ids.dtype.itemsize, 1) // _WORD) * _WORD
    padded = np.ascontiguousarray(ids.astype(f"S{width}", copy=False))
    return padded.view(np.uint64).reshape(len(ids), -1)


def _coded_bytes(ids: Ids) -> tuple[Codes, Ids]:
    """Codes by a hash of eight bytes at a time; what it takes for equal is then compared."""
    words = _words(ids)
    mixed = np.zeros(len(ids), np.uint64)
    for column in range(words.shape[1]):
        mixed = (mixed ^ words[:, column]) * _MIX
        mixed ^= mixed >> np.uint64(29)
    codes, hashes = pd.factorize(mixed)
    codes = codes.astype(np.int64, copy=False)
    first = np.empty(len(hashes), np.int64)
    first[codes[::-1]] = np.arange(len(ids))[::-1]
    if (words == words[first[codes]]).all():
        return codes, ids[first]
    codes, names = pd.factorize(ids.astype(object))  # two ids of one hash
    return codes.astype(np.int64, copy=False), names.astype(ids.dtype)
