"""Runs and judgments as dicts: every judged document is looked up, no text is sorted or hashed.

Only where a judged document shares its score with another are the ids of that query sorted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat
from operator import attrgetter, methodcaller
from typing import Any

import numpy as np

from rageval_report.errors import DataError, named
from rageval_report.metrics import _order
from rageval_report.metrics._joined import Joined, Ties, refuse_strangers, refuse_ties
from rageval_report.metrics.hits import Codes, Floats, hit_table

Table = Mapping[str, Mapping[str, Any]]

_NAN = float("nan")
_VALUES: Callable[[Any], Iterable[Any]] = methodcaller("values")
_GET: Callable[[Any], Callable[[Any, float], Any]] = attrgetter("get")


def plain_table(table: Mapping[Any, Any], value: Callable[[int], float], what: str) -> Table:
    """Documents and numbers by query, both by their ids as texts.

    Parameters
    ----------
    table : mapping of query id to mapping of document id to number, or to document ids
        Texts or whole numbers as ids.
    value : callable
        The number of a document that stands at a place, from 0, of a list of ids.
    what : str
        What the table is, for an error.
    """
    plain = {
        query: docs if isinstance(docs, Mapping) else _listed(docs, value, query, what)
        for query, docs in table.items()
    }
    if all(isinstance(query, str) for query in plain) and all(map(_holds_texts, plain.values())):
        return plain
    return _by_text(
        {query: _by_text(docs, f"document ids of query {query!r} in {what}")
         for query, docs in plain.items()},
        f"query ids of {what}",
    )  # fmt: skip


def _holds_texts(docs: Mapping[Any, Any]) -> bool:
    """Whether ids are texts, judged by the first: to ask all would take a fifth of the time."""
    return isinstance(next(iter(docs), ""), str)


def _listed(
    docs: object, value: Callable[[int], float], query: object, what: str
) -> Mapping[Any, Any]:
    if isinstance(docs, str | bytes) or not isinstance(docs, Iterable):
        raise DataError(
            f"{what} must give each query its documents, as a mapping to numbers or as ids; "
            f"got {docs!r} for query {query!r}"
        )
    ids = list(docs)
    numbered = {doc: value(place) for place, doc in enumerate(ids)}
    if len(numbered) < len(ids):
        twice = sorted({str(doc) for doc in ids if ids.count(doc) > 1})
        raise DataError(f"{what} names documents of query {query!r} twice: {named(twice)}")
    return numbered


def _by_text(table: Mapping[Any, Any], what: str) -> dict[str, Any]:
    texts = {_id_text(key, what): value for key, value in table.items()}
    if len(texts) < len(table):
        raise DataError(f"{what} of different types read alike, as 1 and '1'; make them all texts")
    return texts


def _id_text(key: object, what: str) -> str:
    if isinstance(key, str):
        return key
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return str(key)
    raise DataError(f"{what} must be texts or whole numbers; got {key!r}")


def joined_dicts(run: Table, qrels: Table, *, ties: Ties, relevance_level: float) -> Joined:
    """A run and its judgments, matched.

    Parameters
    ----------
    run, qrels : mapping of str to mapping of str to number
        As `plain_table` makes them.
    ties : {"docid", "input", "error"}
        Which of equal scores goes first.
    relevance_level : float
        The lowest relevant grade.
    """
    query_ids = list(qrels)
    missing = [query for query in query_ids if query not in run]
    unjudged = [query for query in run if query not in qrels]
    refuse_strangers(query_ids, missing, unjudged)
    return _joined_lists(
        query_ids,
        [run.get(query, {}) for query in query_ids],
        list(qrels.values()),
        (missing, unjudged),
        ties,
        relevance_level,
    )


def _joined_lists(
    query_ids: list[str],
    runs: list[Mapping[str, Any]],
    judged: list[Mapping[str, Any]],
    strangers: tuple[list[str], list[str]],
    ties: Ties,
    relevance_level: float,
) -> Joined:
    retrieved, n_judged = _lengths(runs), _lengths(judged)
    scores, grades, found = _columns(query_ids, runs, judged, retrieved, n_judged)
    judged_query = np.repeat(np.arange(len(query_ids)), n_judged)
    place = np.flatnonzero(found == found)  # NaN: the judged document was not retrieved
    query, found = judged_query[place], found[place]
    ordered = _order.from_the_best(scores, retrieved)
    n_tied = _order.n_tied(ordered, retrieved)
    if ties == "error":
        refuse_ties(query_ids, n_tied)
    rank, tied = _order.n_better(ordered, retrieved, query, found)
    if tied.any():
        places = place[tied] - _order.starts_of(n_judged)[query[tied]]
        rank[tied] += _before_in_ties(runs, judged, query[tied], places, by_id=ties == "docid")
    hits = hit_table(
        query=query,
        rank=rank,
        grade=grades[place],
        judged_query=judged_query,
        judged_grade=grades,
        n_retrieved=retrieved,
        relevance_level=relevance_level,
    )
    return Joined(query_ids, hits, n_tied, *strangers)


def _lengths(tables: Sequence[Mapping[str, Any]]) -> Codes:
    return np.fromiter(map(len, tables), np.int64, len(tables))


def _columns(
    query_ids: list[str],
    runs: list[Mapping[str, Any]],
    judged: list[Mapping[str, Any]],
    retrieved: Codes,
    n_judged: Codes,
) -> tuple[Floats, Floats, Floats]:
    """All scores, all grades, and of each judged document the score or NaN.

    They are read in one go, query by query, because a dict that was just walked through is still
    in the processor's cache when documents are looked up in it.
    """
    looked_up = map(map, map(_GET, runs), judged, repeat(repeat(_NAN)))
    parts = zip(map(_VALUES, runs), map(_VALUES, judged), looked_up, strict=True)
    numbers = chain.from_iterable(chain.from_iterable(parts))
    lengths = np.column_stack([retrieved, n_judged, n_judged]).ravel()
    try:
        values = np.fromiter(numbers, np.float64, int(lengths.sum()))
    except (TypeError, ValueError):
        values = np.array([_NAN])
        _name_what_is_no_number(query_ids, runs, judged)
    kind = np.repeat(np.tile(np.arange(3, dtype=np.int8), len(runs)), lengths)
    scores, grades, found = (values[kind == code] for code in range(3))
    if np.isnan(scores).any() or not np.isfinite(grades).all():
        _name_what_is_no_number(query_ids, runs, judged)
    return scores, grades, found


def _name_what_is_no_number(
    query_ids: list[str], runs: list[Mapping[str, Any]], judged: list[Mapping[str, Any]]
) -> None:
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
    except (TypeError, ValueError):
        return False


def _before_in_ties(
    runs: list[Mapping[str, Any]],
    judged: list[Mapping[str, Any]],
    query: Codes,
    place: Codes,
    *,
    by_id: bool,
) -> list[int]:
    """How many documents of the same score go before each judged one; rows are sorted by query.

    Parameters
    ----------
    query, place : ndarray
        The query of each, and its place among the query's judgments.
    by_id : bool
        Whether of equal scores the later id goes first; else the order of the run holds.
    """
    before: list[int] = []
    queries, first = np.unique(query, return_index=True)
    for code, places in zip(queries.tolist(), np.split(place, first[1:]), strict=True):
        documents = list(judged[code])
        wanted = [documents[one] for one in places.tolist()]
        before += _before_in_groups(runs[code], wanted, by_id=by_id)
    return before


def _before_in_groups(run: Mapping[str, Any], wanted: list[str], *, by_id: bool) -> list[int]:
    groups: dict[float, list[str]] = {}
    for doc, score in zip(run, map(float, run.values()), strict=True):
        groups.setdefault(score, []).append(doc)
    mine = [groups[float(run[doc])] for doc in wanted]
    if not by_id:
        return [group.index(doc) for doc, group in zip(wanted, mine, strict=True)]
    try:
        for group in {id(group): group for group in mine}.values():
            group.sort()
    except TypeError as exc:
        raise DataError(f"document ids must all be texts; {exc}") from exc
    return [len(g) - bisect_right(g, doc) for doc, g in zip(wanted, mine, strict=True)]
