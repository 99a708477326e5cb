"""Runs and judgments as dicts: judged documents are looked up, no text is sorted.

Ids are compared only if a judged document shares its score with another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice, repeat
from operator import contains
from typing import Any

import numpy as np

from rageval_report.errors import DataError, named
from rageval_report.rankings import order
from rageval_report.rankings.dict_columns import (
    Columns,
    NotPlainError,
    Tables,
    hold_other_ids,
    ids_at,
    read_columns,
)
from rageval_report.rankings.hits import concatenate_hits, hit_table
from rageval_report.rankings.joined import Joined, Ties, refuse_strangers, refuse_ties
from rageval_report.types import BoolArray, FloatArray, IntArray

# Numbers by document by query.
NumberTable = Mapping[str, Mapping[str, Any]]

# The names of runs in messages, as opposed to those of judgments, which may not repeat.
_RUNS = ("the run", "the retrieved documents")
_WAY_OUT = '; duplicates="best" or duplicates="keep" counts it once'

_NOTHING: Mapping[str, Any] = {}

# Queries ranked at a time: the columns of their numbers stay in the cache and reuse its memory.
_PART = 512


def plain_table(table: Mapping[Any, Any], value: Callable[[int], float], what: str) -> NumberTable:
    """Documents and numbers by query, with all ids as texts.

    Parameters
    ----------
    table : mapping of query id to mapping of document id to number, or to document ids
        The ids are texts or integers.
    value : callable
        Gives a document of a list its number, from its position in the list (from 0).
    what : str
        The name of the table in messages.
    """
    if _holds_dicts(table) and not hold_other_ids(table.values()):
        # The usual table is used as it is, because a run may be large.
        return table
    plain = {
        query: docs if isinstance(docs, Mapping) else _number_list(docs, value, query, what)
        for query, docs in table.items()
    }
    if all(isinstance(query, str) for query in plain) and not hold_other_ids(plain.values()):
        return plain
    return _by_text(
        {query: _by_text(docs, f"document ids of query {query!r} in {what}")
         for query, docs in plain.items()},
        f"query ids of {what}",
    )  # fmt: skip


def _holds_dicts(table: Mapping[Any, Any]) -> bool:
    """Whether all keys are texts and all values dicts; the content of these is not checked."""
    # A set of types is built in C, much faster than asking each value in a loop.
    return set(map(type, table)) <= {str} and set(map(type, table.values())) <= {dict}


def _number_list(
    docs: object, value: Callable[[int], float], query: object, what: str
) -> Mapping[Any, Any]:
    if isinstance(docs, str | bytes) or not isinstance(docs, Iterable):
        raise DataError(
            f"{what} must give each query its documents, as a mapping to numbers or a list of ids; "
            f"got {docs!r} for query {query!r}"
        )
    ids = list(docs)
    # A dict keeps one of two equal ids, so a shorter dict shows a repeat.
    numbered = {doc: value(place) for place, doc in enumerate(ids)}
    if len(numbered) < len(ids):
        twice = sorted({str(doc) for doc in ids if ids.count(doc) > 1})
        raise DataError(
            f"{what} must name each document once; twice in query {query!r}: {named(twice)}"
            f"{_WAY_OUT if what in _RUNS else ''}"
        )
    return numbered


def _by_text(table: Mapping[Any, Any], what: str) -> dict[str, Any]:
    texts = {_id_text(key, what): value for key, value in table.items()}
    # 1 and "1" become one text; keeping either would silently lose documents.
    if len(texts) < len(table):
        raise DataError(f"{what} are the same as texts, such as 1 and '1'; make them all texts")
    return texts


def _id_text(key: object, what: str) -> str:
    if isinstance(key, str):
        return key
    # Floats are refused: as a text 1.0 matches no "1", and the scores would be 0 without a word.
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return str(key)
    raise DataError(f"{what} must be texts or integers; got {key!r}")


def join_dicts(
    run: NumberTable, qrels: NumberTable, *, ties: Ties, relevance_level: float
) -> Joined:
    """A run joined with its judgments.

    Parameters
    ----------
    run, qrels : mapping of str to mapping of str to number
        As `plain_table` returns them; whatever else they hold is refused.
    ties : {"docid", "input", "error"}
        Which of equal scores goes first.
    relevance_level : float
        The lowest relevant grade.

    Raises
    ------
    NotPlainError
        If ids are not texts, or the documents of a query are not a mapping.
    """
    # This ends at the first query in common, so it hardly ever takes time.
    if not any(map(contains, repeat(run), qrels)):
        for table in (run, qrels):
            _refuse_other_forms(list(table), list(table.values()))
        refuse_strangers(list(qrels), list(qrels), list(run))
    parts = _rank_parts(run, qrels, by_id=ties == "docid", relevance_level=relevance_level)
    query_ids = list(chain.from_iterable(part.query_ids for part in parts))
    missing = list(chain.from_iterable(part.missing for part in parts))
    unjudged: list[str] = []
    # Only a run with more queries than were found can have unjudged ones, so most runs skip this
    # walk.
    if len(run) > len(query_ids) - len(missing):
        unjudged = [query for query in run if query not in qrels]
        _refuse_other_forms(unjudged, [run[query] for query in unjudged])
    n_tied = np.concatenate([part.n_tied for part in parts])
    if ties == "error":
        refuse_ties(query_ids, n_tied)
    hits = concatenate_hits([part.hits for part in parts])
    return Joined(query_ids, hits, n_tied, missing, unjudged)


def _rank_parts(
    run: NumberTable, qrels: NumberTable, *, by_id: bool, relevance_level: float
) -> list[Joined]:
    """Some queries at a time."""
    parts = []
    many_tied = False
    for query_ids, runs, judged in _parts_of(run, qrels):
        _refuse_other_forms(query_ids, [*runs, *judged])
        columns = read_columns(query_ids, runs, judged)
        scores = _sorted_scores(columns, with_rows=many_tied)
        part, many_tied = _rank_part(
            query_ids, runs, judged, columns, scores, by_id=by_id, relevance_level=relevance_level
        )
        parts.append(part)
    return parts


def _parts_of(run: NumberTable, qrels: NumberTable) -> Iterator[tuple[list[str], Tables, Tables]]:
    """Some judged queries at a time, with their retrieved and their judged documents.

    To touch all dicts at once, even to count them, would take long: each would be out of the
    processor's cache again when it is read.
    """
    queries, tables = iter(qrels), iter(qrels.values())
    while query_ids := list(islice(queries, _PART)):
        # Queries are matched by id, never by position: ranx pairs plain dicts by position and gives
        # wrong scores without a word.
        runs = list(map(run.get, query_ids, repeat(_NOTHING)))
        yield query_ids, runs, list(islice(tables, _PART))


def _refuse_other_forms(query_ids: list[str], tables: list[Mapping[str, Any]]) -> None:
    kinds = set(map(type, query_ids)), set(map(type, tables))
    if not all(issubclass(kind, str) for kind in kinds[0]):
        raise NotPlainError("query ids must all be texts")
    if not all(issubclass(kind, Mapping) for kind in kinds[1]):
        raise NotPlainError("the documents of each query must be a mapping")


def _rank_part(
    query_ids: list[str],
    runs: Tables,
    judged: Tables,
    columns: Columns,
    scores: tuple[FloatArray, IntArray | None],
    *,
    by_id: bool,
    relevance_level: float,
) -> tuple[Joined, bool]:
    """Some queries, and whether ids have to be compared in most of them."""
    ordered, row_at = scores
    retrieved = columns.n_retrieved
    judged_query = np.repeat(np.arange(len(query_ids)), columns.n_judged)
    # NaN: the document was not retrieved
    place = np.flatnonzero(columns.judged_score == columns.judged_score)
    query = judged_query[place]
    rank, is_tied = order.n_better(ordered, retrieved, query, columns.judged_score[place])
    tied = np.flatnonzero(is_tied)
    queries = order.queries_in_question(query[tied], len(runs))
    if tied.size:
        if row_at is None:
            row_at = order.rows_from_the_best(columns.scores, retrieved, queries)
        first = order.starts_of(retrieved)[query[tied]] + rank[tied]
        low, high = order.equals_of(ordered, retrieved, first)
        is_equal = _flags(len(ordered), row_at[order.spread(low, high - low)])
        documents = _DocumentsOfDicts(
            _ids_at(runs, retrieved, queries, is_equal),
            np.cumsum(is_equal, dtype=np.int64) - 1,
            _ids_at(judged, columns.n_judged, queries, _flags(len(columns.grades), place[tied])),
            by_id,
        )
        rank[tied] += order.n_equal_ahead(row_at, low, high, documents, by_id=by_id)
    hits = hit_table(
        query=query,
        rank=rank,
        grade=columns.grades[place],
        judged_query=judged_query,
        judged_grade=columns.grades,
        n_retrieved=retrieved,
        relevance_level=relevance_level,
    )
    # By identity: an empty dict in the run is a query that retrieved nothing, not a missing one.
    empty = np.flatnonzero(retrieved == 0).tolist()
    missing = [query_ids[code] for code in empty if runs[code] is _NOTHING]
    part = Joined(query_ids, hits, order.n_tied(ordered, retrieved), missing, [])
    return part, len(queries) == len(runs)


def _sorted_scores(columns: Columns, *, with_rows: bool) -> tuple[FloatArray, IntArray | None]:
    """The scores as of `order.from_the_best`, with their rows if these will be needed."""
    if with_rows:
        return order.with_rows_from_the_best(columns.scores, columns.n_retrieved)
    return order.from_the_best(columns.scores, columns.n_retrieved), None


@dataclass(frozen=True, eq=False)
class _DocumentsOfDicts:
    """The documents of some queries, as `rageval_report.rankings.order.RankedDocuments`.

    Parameters
    ----------
    run : ndarray of objects
        The ids of the rows whose scores are equal to those of documents in question.
    number : ndarray of int
        The places of these rows in `run`.
    in_question : ndarray of objects
        The ids of the documents in question.
    by_id : bool
        Whether of equal scores the later id goes first; otherwise the order of the rows decides.
    """

    run: order.Objects
    number: IntArray
    in_question: order.Objects
    by_id: bool

    def go_ahead(self, rows: IntArray, numbers: IntArray) -> BoolArray:
        """Whether documents of the run go ahead of others of equal score, pair by pair."""
        ids, others = self.ids(rows), self.in_question[numbers]
        if self.by_id:
            return np.asarray(ids > others, dtype=bool)
        # A document in question is one of its group: where the ids are equal is its own row.
        own = np.flatnonzero(ids == others)
        own_row = np.empty(len(self.in_question), np.int64)
        own_row[numbers[own]] = rows[own]
        return rows < own_row[numbers]

    def ids(self, rows: IntArray) -> order.Objects:
        """The ids of documents of the run."""
        return self.run[self.number[rows]]

    def ids_in_question(self, numbers: IntArray) -> order.Objects:
        """The ids of documents in question."""
        return self.in_question[numbers]


def _ids_at(
    tables: Tables, lengths: IntArray, queries: IntArray, is_wanted: BoolArray
) -> order.Objects:
    """The ids of some rows, in order.

    Parameters
    ----------
    tables : list of mappings of str to number
        All queries.
    lengths : ndarray of shape (n_queries,)
        The rows of each query.
    queries : ndarray
        The queries of the rows, and perhaps others; ids of the rest are not read.
    is_wanted : ndarray of shape (n_rows,)
        Which rows of all.
    """
    rows = order.rows_of(queries, order.starts_of(lengths), lengths)
    return ids_at([tables[query] for query in queries.tolist()], is_wanted[rows])


def _flags(n: int, places: IntArray) -> BoolArray:
    flags = np.zeros(n, dtype=bool)
    flags[places] = True
    return flags
