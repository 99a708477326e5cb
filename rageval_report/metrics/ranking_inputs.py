"""A run and its judgments, joined in whatever form each is: mapping, frame, rows or file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from operator import contains
from typing import Any, Literal, TypeGuard, get_args

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.files.inputs import is_file_input, open_input
from rageval_report.metrics.joining import (
    ADVICE_ON_REPEATS,
    RUNS,
    IdRows,
    Joined,
    NumberTable,
    Ties,
    from_frame,
    join_rows,
    join_tables,
    refuse_ties,
)
from rageval_report.metrics.retrieval import Hits
from rageval_report.metrics.trec_files import read_trec_qrels, read_trec_run
from rageval_report.scores.frames import to_pandas

DuplicateDocs = Literal["error", "best", "keep"]
DUPLICATE_DOCS: tuple[DuplicateDocs, ...] = get_args(DuplicateDocs)

_RUN, _QRELS = "the run", "qrels"
# Frames are recognised by the protocols they offer, so that neither polars nor pyarrow is imported.
_FRAMES = ("__arrow_c_stream__", "__dataframe__", "__narwhals_dataframe__")


@dataclass(frozen=True)
class JoinRules:
    """How a run is joined with its judgments; see `score_table_of_rankings`."""

    ties: Ties
    relevance_level: float
    drop_self: bool = False
    duplicates: DuplicateDocs = "error"


@dataclass(frozen=True, eq=False)
class JoinedInputs:
    """A run joined with its judgments, and how many documents were left out of the run before."""

    joined: Joined
    n_self: int = 0
    n_repeats: int = 0


def join_inputs(run: object, qrels: object, rules: JoinRules) -> JoinedInputs:
    """A run joined with its judgments."""
    left: IdRows | Mapping[Any, Any]
    left = run if isinstance(run, Mapping) else rows_of(run, is_run=True)
    right = qrels if isinstance(qrels, Mapping) else rows_of(qrels, is_run=False)
    keeps_all = rules.duplicates == "error" and not rules.drop_self
    if keeps_all and _has_bytes(left) and _has_bytes(right):
        joined = join_rows(left, right, ties=rules.ties, relevance_level=rules.relevance_level)
        if joined is not None:
            return JoinedInputs(joined)
    # Bytes need no decoding where both sides have them.
    as_texts = rules.drop_self or not (_has_bytes(left) and _has_bytes(right))
    judged = (
        right.by_query(as_texts=as_texts)
        if isinstance(right, IdRows)
        else plain_table(right, _grade_of_listed, _QRELS)
    )
    n_self = n_repeats = 0
    n_tied = None
    # Repeats go first: a document with the id of its query is then counted once.
    if isinstance(left, IdRows) and rules.duplicates != "error" and left.is_repeat().any():
        left, n_tied = _ranked_lists(left, rules)
    if isinstance(left, IdRows):
        retrieved: NumberTable = left.by_query(as_texts=as_texts)
    else:
        _refuse_sets(left)
        if rules.duplicates != "error":
            left, n_repeats = _credit_lists_once(left, rules.duplicates)
        retrieved = plain_table(left, _score_of_place, _RUN)
    if rules.drop_self:
        retrieved, n_self = _table_without_self(retrieved)
    ties: Ties = rules.ties if n_tied is None else "input"
    joined = join_tables(retrieved, judged, ties=ties, relevance_level=rules.relevance_level)
    if n_tied is not None:
        counts = n_tied.reindex(joined.query_ids, fill_value=0).to_numpy(np.int64)
        joined = replace(joined, n_tied=counts)
        if rules.ties == "error":
            refuse_ties(joined.query_ids, counts)
    return JoinedInputs(joined, n_self, n_repeats)


def hits_of(
    retrieved: Sequence[Iterable[str]],
    relevant: Sequence[Mapping[str, float] | Iterable[str]],
    *,
    relevance_level: float = 1,
    query_ids: Sequence[str] | None = None,
    duplicates: DuplicateDocs = "error",
) -> Hits:
    """The hit table of lists of ids, the best first: the view "rankings" of records."""
    if len(retrieved) != len(relevant):
        raise DataError(
            "retrieved and relevant must have one list for each query; "
            f"got {len(retrieved)} and {len(relevant)} lists"
        )
    if not len(retrieved):
        raise DataError("retrieved must have at least one query; got none")
    names = [str(name) for name in (range(len(retrieved)) if query_ids is None else query_ids)]
    if duplicates != "error":
        retrieved = [credit_once(docs, duplicates) for docs in retrieved]
    run = dict(zip(names, retrieved, strict=True))
    qrels = dict(zip(names, relevant, strict=True))
    joined = join_tables(
        plain_table(run, _score_of_place, RUNS[1]),
        plain_table(qrels, _grade_of_listed, "the relevant documents"),
        ties="input",  # the lists are in their order already
        relevance_level=check_level(relevance_level),
    )
    return joined.hits


def check_level(level: float) -> float:
    """The lowest relevant grade, which must be above 0: documents without a judgment have 0."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not level > 0:
        raise DataError(f"relevance_level must be a number > 0; got {level!r}")
    return float(level)


def rows_of(source: object, *, is_run: bool) -> IdRows:
    """The rows of a run or of judgments: a frame, a path, the contents of a file, or rows."""
    if isinstance(source, IdRows):
        return source
    what = _RUN if is_run else _QRELS
    if is_file_input(source):
        opened = open_input(source, "run" if is_run else "qrels")
        return (read_trec_run if is_run else read_trec_qrels)(opened)
    if any(hasattr(source, protocol) for protocol in _FRAMES):
        source = to_pandas(source)
        if not source.columns.is_unique:
            twice = source.columns[source.columns.duplicated()].unique()
            raise DataError(
                f"the columns of {what} must differ; these appear twice: {named(twice)}"
            )
        if source.empty:
            raise DataError(f"{what} has no rows; expected one row per document")
    return from_frame(source, what, "score" if is_run else "relevance")


def _has_bytes(rows: object) -> TypeGuard[IdRows]:
    return isinstance(rows, IdRows) and rows.has_bytes


def _score_of_place(place: int) -> float:
    # Negated, so that the first of the list has the highest score.
    return -float(place)


def _grade_of_listed(_: int) -> float:
    return 1.0


# -- mappings


def plain_table(table: Mapping[Any, Any], value: Callable[[int], float], what: str) -> NumberTable:
    """Documents and numbers by query, with all ids as texts; a list gives numbers by place."""
    listed = {query: docs for query, docs in table.items() if isinstance(docs, dict | list | tuple)}
    if any(map(contains, listed.values(), repeat(None))):
        without = [query for query, docs in listed.items() if None in docs]
        raise DataError(f"{what} has a document without an id (None): {named(without)}")
    try:
        plain = {
            query: docs if isinstance(docs, Mapping) else _number_list(docs, value, query, what)
            for query, docs in table.items()
        }
    except TypeError as exc:
        raise DataError(
            f"{what} must give each query its documents, as a mapping of ids to numbers or a list "
            f"of ids; {exc}"
        ) from exc
    # To check every id would take a fifth of the time; ids of one table are of one kind.
    firsts = map(next, map(iter, plain.values()), repeat(""))
    if all(isinstance(query, str) for query in plain) and all(isinstance(d, str) for d in firsts):
        return plain
    by_text = {query: _by_text(docs, f"document ids of query {query!r} in {what}")
               for query, docs in plain.items()}  # fmt: skip
    return _by_text(by_text, f"query ids of {what}")


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
            f"{ADVICE_ON_REPEATS if what in RUNS else ''}"
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


def _refuse_sets(run: Mapping[Any, Any]) -> None:
    # The order of a set changes with each process, so its ranks would be random.
    unordered = [query for query, docs in run.items() if isinstance(docs, set | frozenset)]
    if unordered:
        raise DataError(
            "the run must give each query its documents in order, or with scores; sets have no "
            f"order: {named(unordered)}"
        )


# -- what is left out on request


def _table_without_self(run: NumberTable) -> tuple[NumberTable, int]:
    queries = [query for query, docs in run.items() if query in docs]
    # A new dict, because the caller's must not change; BEIR's own evaluation deletes from its
    # input.
    others = dict(run)
    for query in queries:
        others[query] = {doc: score for doc, score in run[query].items() if doc != query}
        if not others[query]:  # as in a frame, where a query without rows is missing
            del others[query]
    return others, len(queries)


def _credit_lists_once(
    run: Mapping[Any, Any], duplicates: DuplicateDocs
) -> tuple[Mapping[Any, Any], int]:
    """The run with each id once in its lists, and how many repeats there were."""
    lists = {query: docs for query, docs in run.items()
             if isinstance(docs, list | tuple | np.ndarray)}  # fmt: skip
    credited = {query: credit_once(docs, duplicates) for query, docs in lists.items()}
    return {**run, **credited}, sum(len(docs) - len(set(docs)) for docs in lists.values())


def credit_once(docs: Iterable[Any], duplicates: DuplicateDocs) -> list[Any]:
    """The ids of a ranking, each once: "keep" names the repeats anew, so that the ranks stay."""
    ranked = list(docs)
    if duplicates == "best":
        return list(dict.fromkeys(ranked))
    if duplicates == "keep" and len(set(ranked)) < len(ranked):
        seen: set[Any] = set()
        for place, doc in enumerate(ranked):
            if doc in seen:
                ranked[place] = _repeat_name(doc, place)
            seen.add(doc)
    return ranked


def _repeat_name(doc: object, place: int) -> str:
    # No document has such an id: texts of tables and files hold no control characters.
    return f"{doc}\x01repeat {place}"


def _ranked_lists(rows: IdRows, rules: JoinRules) -> tuple[dict[str, list[str]], pd.Series]:
    """The documents of each query in the order of their ranks, and how many have equal scores."""
    table = pd.DataFrame({"query": rows.query, "doc": rows.documents(), "value": rows.value})
    by_id = ["doc"] if rules.ties == "docid" else []
    table = table.sort_values(["value", *by_id], ascending=False, kind="stable")
    once = table if rules.duplicates == "keep" else table.drop_duplicates(["query", "doc"])
    is_tied = once.duplicated(["query", "value"], keep=False)
    lists = table.groupby("query", sort=False)["doc"].agg(list).to_dict()
    in_order = {query: lists[query] for query in dict.fromkeys(rows.query)}
    return in_order, is_tied.groupby(once["query"]).sum()
