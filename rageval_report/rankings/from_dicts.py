"""Runs and judgments as dicts: judged documents are looked up, no text is sorted.

Ids are compared only if a judged document shares its score with another.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice, repeat
from operator import attrgetter, contains, methodcaller
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_report.errors import DataError, named
from rageval_report.rankings import order
from rageval_report.rankings.hits import concatenate_hits, hit_table
from rageval_report.rankings.joined import Joined, Ties, refuse_strangers, refuse_ties
from rageval_report.types import FloatArray, IntArray

# Numbers by document by query.
NumberTable = Mapping[str, Mapping[str, Any]]

# The names of runs in messages, as opposed to those of judgments, which may not repeat.
_RUNS = ("the run", "the retrieved documents")
_WAY_OUT = '; duplicates="best" or duplicates="keep" counts it once'

_NAN = float("nan")
_NOTHING: Mapping[str, Any] = {}

# Queries read at a time: their dicts stay in the processor's cache.
_AT_A_TIME = 64

# Queries ranked at a time: the columns of their numbers stay in the cache and reuse its memory.
_PART = 512

_VALUES: Callable[[Any], Iterable[Any]] = methodcaller("values")
_GET: Callable[[Any], Callable[[Any, float], Any]] = attrgetter("get")


class NotPlainError(DataError):
    """Tables in a form that `plain_table` has to change: ids that are not texts, or lists."""


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
    if _holds_dicts(table) and not _hold_other_ids(table.values()):
        # The usual table is used as it is, because a run may be large.
        return table
    plain = {
        query: docs if isinstance(docs, Mapping) else _number_list(docs, value, query, what)
        for query, docs in table.items()
    }
    if all(isinstance(query, str) for query in plain) and not _hold_other_ids(plain.values()):
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


def _hold_other_ids(tables: Iterable[Mapping[Any, Any]]) -> bool:
    """Whether a table's first id is not a text: to check all would take a fifth of the time."""
    kinds = set(map(type, map(next, map(iter, tables), repeat(""))))
    return not all(issubclass(kind, str) for kind in kinds)


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
    parts = [
        _rank_part(query_ids, runs, judged, ties == "docid", relevance_level)
        for query_ids, runs, judged in _parts_of(run, qrels)
    ]
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


def _parts_of(
    run: NumberTable, qrels: NumberTable
) -> Iterator[tuple[list[str], list[Mapping[str, Any]], list[Mapping[str, Any]]]]:
    """Some judged queries at a time, with their retrieved and their judged documents.

    To touch all dicts at once, even to count them, would cost as much as to rank them: each is
    then far away in memory again when it is read.
    """
    queries, tables = iter(qrels), iter(qrels.values())
    while query_ids := list(islice(queries, _PART)):
        # Queries are matched by id, never by position: ranx pairs plain dicts by position and gives
        # wrong scores without a word.
        runs = list(map(run.get, query_ids, repeat(_NOTHING)))
        yield query_ids, runs, list(islice(tables, _PART))


def _rank_part(
    query_ids: list[str],
    runs: list[Mapping[str, Any]],
    judged: list[Mapping[str, Any]],
    by_id: bool,
    relevance_level: float,
) -> Joined:
    """Some queries; their numbers stay in the processor's cache meanwhile."""
    _refuse_other_forms(query_ids, [*runs, *judged])
    retrieved, n_judged = _lengths(runs), _lengths(judged)
    scores, grades, judged_score = _columns(query_ids, runs, judged, retrieved, n_judged)
    judged_query = np.repeat(np.arange(len(query_ids)), n_judged)
    place = np.flatnonzero(judged_score == judged_score)  # NaN: the document was not retrieved
    query = judged_query[place]
    ordered = order.from_the_best(scores, retrieved)
    rank, tied = order.n_better(ordered, retrieved, query, judged_score[place])
    if tied.any():
        rank[tied] += _n_equal_ahead(
            (runs, retrieved, scores),
            (judged, n_judged, place[tied]),
            query[tied],
            rank[tied],
            by_id=by_id,
        )
    hits = hit_table(
        query=query,
        rank=rank,
        grade=grades[place],
        judged_query=judged_query,
        judged_grade=grades,
        n_retrieved=retrieved,
        relevance_level=relevance_level,
    )
    # By identity: an empty dict in the run is a query that retrieved nothing, not a missing one.
    empty = np.flatnonzero(retrieved == 0).tolist()
    missing = [query_ids[code] for code in empty if runs[code] is _NOTHING]
    return Joined(query_ids, hits, order.n_tied(ordered, retrieved), missing, [])


def _lengths(tables: Sequence[Mapping[str, Any]]) -> IntArray:
    return np.fromiter(map(len, tables), np.int64, len(tables))


def _columns(
    query_ids: list[str],
    runs: list[Mapping[str, Any]],
    judged: list[Mapping[str, Any]],
    retrieved: IntArray,
    n_judged: IntArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """All scores, all grades, and the score of each judged document, or NaN.

    Few queries are read at a time, because a dict that was just read is still in the processor's
    cache when documents are looked up in it.
    """
    ends = [np.cumsum(lengths).tolist() for lengths in (retrieved, n_judged)]
    scores, grades, judged_score = (np.empty(end[-1]) for end in (ends[0], ends[1], ends[1]))
    n_rows = n_judgments = 0
    try:
        for first in range(0, len(runs), _AT_A_TIME):
            last = min(first + _AT_A_TIME, len(runs))
            mine, theirs = runs[first:last], judged[first:last]
            _refuse_other_ids([*mine, *theirs])
            rows = slice(n_rows, n_rows := ends[0][last - 1])
            judgments = slice(n_judgments, n_judgments := ends[1][last - 1])
            scores[rows] = _numbers(map(_VALUES, mine), rows)
            grades[judgments] = _numbers(map(_VALUES, theirs), judgments)
            looked_up = map(map, map(_GET, mine), theirs, repeat(repeat(_NAN)))
            judged_score[judgments] = _numbers(looked_up, judgments)
    except (TypeError, ValueError, OverflowError):
        _refuse_non_numbers(query_ids, runs, judged)
        raise
    if np.isnan(scores).any() or not np.isfinite(grades).all():
        _refuse_non_numbers(query_ids, runs, judged)
    return scores, grades, judged_score


def _refuse_other_forms(query_ids: list[str], tables: list[Mapping[str, Any]]) -> None:
    kinds = set(map(type, query_ids)), set(map(type, tables))
    if not all(issubclass(kind, str) for kind in kinds[0]):
        raise NotPlainError("query ids must all be texts")
    if not all(issubclass(kind, Mapping) for kind in kinds[1]):
        raise NotPlainError("the documents of each query must be a mapping")


def _refuse_other_ids(tables: list[Mapping[str, Any]]) -> None:
    if _hold_other_ids(tables) or any(map(contains, tables, repeat(None))):
        raise NotPlainError("document ids must all be texts")


def _numbers(lists: Iterable[Iterable[Any]], rows: slice) -> FloatArray:
    numbers = tuple(chain.from_iterable(lists))
    try:  # twice as fast as fromiter
        return np.frombuffer(struct.pack(f"{rows.stop - rows.start}d", *numbers))
    except struct.error:  # not Python numbers, but perhaps texts of numbers
        return np.fromiter(numbers, np.float64, rows.stop - rows.start)


def _refuse_non_numbers(
    query_ids: list[str], runs: list[Mapping[str, Any]], judged: list[Mapping[str, Any]]
) -> None:
    """Raise an error that names the first score or grade that is not a number, if there is one."""
    for query, run, grades in zip(query_ids, runs, judged, strict=True):
        for what, docs, most in (("score", run, np.inf), ("grade", grades, np.finfo(float).max)):
            for doc, value in docs.items():
                if not _is_number(value, most):
                    raise DataError(
                        f"the {what} of document {doc!r} for query {query!r} must be a number; "
                        f"got {value!r}"
                    )


def _is_number(value: object, most: float) -> bool:
    try:
        return abs(float(value)) <= most  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False


def _n_equal_ahead(
    run: tuple[list[Mapping[str, Any]], IntArray, FloatArray],
    qrels: tuple[list[Mapping[str, Any]], IntArray, IntArray],
    query: IntArray,
    rank: IntArray,
    *,
    by_id: bool,
) -> IntArray:
    """How many documents of equal score go ahead of each one; ids of other queries are not read.

    Parameters
    ----------
    run : (list, ndarray, ndarray)
        The tables of all queries, their lengths, and all scores.
    qrels : (list, ndarray, ndarray)
        The tables of all queries, their lengths, and the places of the documents in question among
        all judgments.
    query, rank : ndarray of shape (n,)
        Their queries, and how many documents score more.
    by_id : bool
        Whether of equal scores the later id goes first; otherwise the order of the run decides.
    """
    runs, retrieved, scores = run
    judged, n_judged, place = qrels
    codes, tied_query = order.distinct_queries(query, len(runs))
    rows = order.spread(order.starts_of(retrieved)[codes], retrieved[codes])
    skipped = order.starts_of(n_judged)[codes] - order.starts_of(n_judged[codes])
    return order.n_equal_ahead(
        scores[rows],
        retrieved[codes],
        tied_query,
        rank,
        _ids([judged[code] for code in codes.tolist()])[place - skipped[tied_query]],
        _ids([runs[code] for code in codes.tolist()]).__getitem__,
        by_id=by_id,
    )


def _ids(tables: list[Mapping[str, Any]]) -> NDArray[np.object_]:
    """The ids of queries, one after the other."""
    return np.fromiter(chain.from_iterable(tables), np.object_, sum(map(len, tables)))
