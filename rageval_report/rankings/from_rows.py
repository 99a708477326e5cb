"""Runs and judgments as rows of query, document and number: frames and files.

Ids stay in the bytes in which the frame or the file stores them. Only the ids of queries, and of
documents that share their score, become Python objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, ReaderError, named
from rageval_report.rankings import order
from rageval_report.rankings.hits import hit_table
from rageval_report.rankings.id_columns import (
    Ids,
    block_starts,
    codes_of,
    id_columns,
    texts,
)
from rageval_report.rankings.joined import Joined, Ties, refuse_strangers, refuse_ties
from rageval_report.rankings.row_pairs import RowLists, lists_of, pairs_of
from rageval_report.rankings.tied_rows import TiedRows, n_tied_rows_ahead
from rageval_report.scores.query_ids import first_named
from rageval_report.types import FloatArray, IntArray

NumberKind = Literal["score", "relevance"]

# Ours first, then the names of PyTerrier (qid, docno), ranx (q_id) and BEIR (corpus-id).
_QUERY_NAMES = ("query_id", "qid", "q_id", "query", "topic")
_DOC_NAMES = ("doc_id", "docno", "docid", "corpus_id", "document_id", "doc", "pid", "passage_id")
_VALUE_NAMES: dict[NumberKind, tuple[str, ...]] = {
    "score": ("score", "sim", "similarity"),
    "relevance": ("relevance", "rel", "label", "grade", "score", "judgment"),
}


@dataclass(frozen=True, eq=False)
class IdRows:
    """A run, or judgments, one row per document.

    Parameters
    ----------
    query, doc : ndarray of shape (n,)
        Ids: texts of pandas, or fixed-width bytes in UTF-8.
    value : ndarray of shape (n,)
        Scores or grades; no NaN.
    what : str
        The name of the rows in messages.
    path : str, optional
        The file that they were read from.
    line : ndarray of shape (n,), optional
        The line of each row, from 1.
    """

    query: Ids
    doc: Ids
    value: FloatArray
    what: str
    path: str | None = None
    line: IntArray | None = None

    def document(self, row: int) -> str:
        """The document of a row."""
        id_ = self.doc[row]
        return id_.decode() if isinstance(id_, bytes) else str(id_)

    def error(self, row: int, message: str) -> DataError:
        """The error that names the file and line of a row (or its number) and its ids."""
        ids = f"query {_shown(self.query[row])}, document {_shown(self.doc[row])}"
        if self.line is None:
            return DataError(f"{self.what}, row {row} counted from 0 ({ids}): {message}")
        return ReaderError(f"{ids}: {message}", self.path, int(self.line[row]))


def _shown(id_: str | bytes) -> str:
    # The quotes of repr show blanks at the ends of an id, a usual cause of ids that do not match.
    return repr(id_.decode() if isinstance(id_, bytes) else id_)


# -- forms of input


def from_table(table: Mapping[str, Mapping[str, Any]], what: str, number: NumberKind) -> IdRows:
    """The rows of a mapping of query to mapping of document to number."""
    lengths = [len(docs) for docs in table.values()]
    values = list(chain.from_iterable(docs.values() for docs in table.values()))
    # Each query id becomes a text once, not once per document.
    query = pd.array(list(table), dtype="str").repeat(lengths)
    doc = pd.array(list(chain.from_iterable(table.values())), dtype="str")
    return _check_numbers(query, doc, pd.Series(values, dtype=object), what, number)


def from_frame(frame: object, what: str, number: NumberKind) -> IdRows:
    """The rows of a tidy frame.

    Parameters
    ----------
    frame : DataFrame
        With columns of query ids, document ids and numbers, under any of their usual names.
    what : str
        The name of the frame in messages.
    number : {"score", "relevance"}
        What the numbers are.

    Raises
    ------
    DataError
        If a column or an id is missing, or a number is not a number.
    """
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"{what} must be a mapping, a DataFrame or the path of a file; "
            f"got {type(frame).__name__}"
        )
    query = _ids_of(_column(frame, _QUERY_NAMES, what), what)
    doc = _ids_of(_column(frame, _DOC_NAMES, what), what)
    return _check_numbers(query, doc, _column(frame, _VALUE_NAMES[number], what), what, number)


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
            f"every row of {what} needs an id in {column.name!r}; row {missing[0]}, counted from "
            "0, has none"
        )
    # Floats are refused because an integer column with a gap reads as 1.0, which matches no "1".
    kind = pd.api.types.infer_dtype(column, skipna=False)
    if kind not in ("string", "integer", "categorical"):
        raise DataError(
            f"{column.name!r} of {what} must contain texts or integers; got {kind} values such as "
            f"{column.tolist()[0]!r}"
        )
    return column.astype("str").array


def _check_numbers(query: Ids, doc: Ids, value: pd.Series, what: str, number: NumberKind) -> IdRows:
    numbers = pd.to_numeric(value, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    rows = IdRows(query, doc, numbers, what)
    # An infinite score still ranks first or last; an infinite grade would make every gain
    # meaningless.
    wrong = np.flatnonzero(np.isnan(numbers) if number == "score" else ~np.isfinite(numbers))
    if wrong.size:
        raise rows.error(
            int(wrong[0]), f"the {number} must be a number; got {value.iloc[int(wrong[0])]!r}"
        )
    return rows


# -- the join


def join_rows(run: IdRows, qrels: IdRows, *, ties: Ties, relevance_level: float) -> Joined:
    """A run joined with its judgments.

    Parameters
    ----------
    run, qrels : IdRows
        The retrieved and the judged documents.
    ties : {"docid", "input", "error"}
        Which of equal scores goes first.
    relevance_level : float
        The lowest relevant grade.

    Raises
    ------
    DataError
        If a document appears twice for a query.
    """
    judged, retrieved, names = _lists(qrels.query, run.query)
    # Codes follow the order of appearance, the judgments first, so judged queries come first.
    n_judged_queries = int(np.count_nonzero(judged.lengths))
    query_ids, unjudged = names[:n_judged_queries], names[n_judged_queries:]
    n_retrieved = retrieved.lengths[:n_judged_queries]
    missing = [query_ids[code] for code in np.flatnonzero(n_retrieved == 0)]
    refuse_strangers(query_ids, missing, unjudged)

    run_ids, judged_ids = id_columns(run.doc, qrels.doc)
    pairs = pairs_of(retrieved, run_ids, judged, judged_ids)
    # Only now are the rows to name looked for, because that makes a text of every id.
    if pairs.crowded.size:
        _refuse_twice(qrels)
        _refuse_twice(run, '; duplicates="best" or duplicates="keep" counts it once')
    value, grade = run.value[retrieved.order], qrels.value[judged.order]
    ordered = order.from_the_best(value, retrieved.lengths)
    n_tied = order.n_tied(ordered, retrieved.lengths)[:n_judged_queries]
    if ties == "error":
        refuse_ties(query_ids, n_tied)
    rank, tied = order.n_better_at(ordered, value, retrieved.lengths, pairs.query, pairs.run)
    if tied.any():
        documents = TiedRows(retrieved, run_ids, pairs.run[tied], by_id=ties == "docid")
        rank[tied] += n_tied_rows_ahead(value, ordered, pairs.query[tied], rank[tied], documents)
    # From here on only judged documents are needed; the millions of other rows are let go.
    hits = hit_table(
        query=pairs.query,
        rank=rank,
        grade=grade[pairs.judged],
        judged_query=np.repeat(np.arange(n_judged_queries), judged.lengths[:n_judged_queries]),
        judged_grade=grade,
        n_retrieved=n_retrieved,
        relevance_level=relevance_level,
    )
    return Joined(query_ids, hits, n_tied, missing, unjudged)


def _lists(judged: Ids, retrieved: Ids) -> tuple[RowLists, RowLists, list[str]]:
    """The rows of each query, and the queries; only the first id of each block is read."""
    # Rows of a query mostly stand together, so there are few blocks and few texts to hash.
    starts = block_starts(judged), block_starts(retrieved)
    codes, names = codes_of(judged[starts[0]], retrieved[starts[1]])
    n = len(starts[0])
    return (
        lists_of(codes[:n], starts[0], len(judged), len(names)),
        lists_of(codes[n:], starts[1], len(retrieved), len(names)),
        names,
    )


def _refuse_twice(rows: IdRows, advice: str = "") -> None:
    """Raise an error if a document appears twice for a query; it names the first one repeated."""
    ids = pd.DataFrame({"query": texts(rows.query), "doc": texts(rows.doc)}, dtype=object)
    repeats = np.flatnonzero(ids.duplicated())
    if not repeats.size:
        return
    second = int(repeats[0])
    first = int(np.flatnonzero((ids == ids.iloc[second]).all(axis=1))[0])
    where = f"row {first}" if rows.line is None else f"line {rows.line[first]}"
    raise rows.error(
        second, f"appears twice, first in {where}; name each document once per query{advice}"
    )
