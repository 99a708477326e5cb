"""A run joined with its judgments: the rank of each judged document, from which metrics follow.

Judged documents are looked up in the run, and a rank is the number of documents that score more.
Ids are compared only among the documents that share the score of a judged one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rageval_report.errors import AlignmentError, DataError, ReaderError, named
from rageval_report.metrics.retrieval import Hits
from rageval_report.scores.query_ids import first_named
from rageval_report.types import BoolArray, FloatArray, IntArray

Ties = Literal["docid", "input", "error"]
TIES: tuple[Ties, ...] = ("docid", "input", "error")

# The numbers of the documents of each query.
NumberTable = Mapping[str, Mapping[Any, Any]]

Tables = list[Mapping[Any, Any]]

_NAN = float("nan")
_NOTHING: Mapping[str, Any] = {}
# Three ids of each side are enough to see how two ways of writing ids differ.
_MOST_NAMED = 3

NumberKind = Literal["score", "relevance"]
Objects = NDArray[np.object_]

# Ours first, then the names of PyTerrier (qid, docno), ranx (q_id) and BEIR (corpus-id).
_QUERY_NAMES = ("query_id", "qid", "q_id", "query", "topic")
_DOC_NAMES = ("doc_id", "docno", "docid", "corpus_id", "document_id", "doc", "pid", "passage_id")
_VALUE_NAMES: dict[NumberKind, tuple[str, ...]] = {
    "score": ("score", "sim", "similarity"),
    "relevance": ("relevance", "rel", "label", "grade", "score", "judgment"),
}


@dataclass(frozen=True, eq=False)
class IdRows:
    """A run, or judgments, one row per document; `value` has scores or grades, and no NaN."""

    query: Objects
    doc: Objects
    value: FloatArray
    what: str
    path: str | None = None
    line: IntArray | None = None

    def document(self, row: int) -> str:
        """The document of a row."""
        return str(self.doc[row])

    def error(self, row: int, message: str) -> DataError:
        """The error that names the file and line of a row (or its number) and its ids."""
        # The quotes of repr show blanks at the ends of an id, a usual cause of ids that do not
        # match.
        ids = f"query {self.query[row]!r}, document {self.document(row)!r}"
        if self.line is None:
            return DataError(f"{self.what}, row {row} counted from 0 ({ids}): {message}")
        return ReaderError(f"{ids}: {message}", self.path, int(self.line[row]))

    def is_repeat(self) -> BoolArray:
        """Which rows have a document that an earlier row of the same query has."""
        return pd.DataFrame({"query": self.query, "doc": self.doc}).duplicated().to_numpy()

    def by_query(self) -> dict[str, dict[str, float]]:
        """The numbers of the documents of each query, which must be distinct."""
        docs, values = self.doc.tolist(), self.value.tolist()
        is_first = np.ones(len(docs), dtype=bool)
        is_first[1:] = self.query[1:] != self.query[:-1]
        starts = np.flatnonzero(is_first).tolist()
        table: dict[str, dict[str, float]] = {}
        for start, stop in zip(starts, [*starts[1:], len(docs)], strict=False):
            rows = dict(zip(docs[start:stop], values[start:stop], strict=True))
            known = table.setdefault(self.query[start], rows)
            if known is not rows:
                known.update(rows)
        if sum(map(len, table.values())) < len(docs):
            self._refuse_repeat()
        return table

    def _refuse_repeat(self) -> None:
        second = int(np.flatnonzero(self.is_repeat())[0])
        is_same = (self.query == self.query[second]) & (self.doc == self.doc[second])
        first = int(np.flatnonzero(is_same)[0])
        where = f"row {first}" if self.line is None else f"line {self.line[first]}"
        advice = ADVICE_ON_REPEATS if self.what in RUNS else ""
        raise self.error(
            second, f"appears twice, first in {where}; name each document once per query{advice}"
        )


# The names of runs in messages, as opposed to those of judgments, which may not repeat.
RUNS = ("the run", "the retrieved documents", "a TREC run", "a BEIR run")
ADVICE_ON_REPEATS = '; duplicates="best" or duplicates="keep" counts it once'


def from_frame(frame: object, what: str, number: NumberKind) -> IdRows:
    """The rows of a tidy frame, whose columns have any of their usual names."""
    if not isinstance(frame, pd.DataFrame):
        raise DataError(
            f"{what} must be a mapping, a DataFrame or the path of a file; "
            f"got {type(frame).__name__}"
        )
    query = _ids_of(_column(frame, _QUERY_NAMES, what), what)
    doc = _ids_of(_column(frame, _DOC_NAMES, what), what)
    value = _column(frame, _VALUE_NAMES[number], what)
    numbers = pd.to_numeric(value, errors="coerce").to_numpy(np.float64, na_value=np.nan)
    rows = IdRows(query, doc, numbers, what)
    # An infinite score still ranks first or last; an infinite grade would make every gain
    # meaningless.
    wrong = np.flatnonzero(np.isnan(numbers) if number == "score" else ~np.isfinite(numbers))
    if wrong.size:
        row = int(wrong[0])
        raise rows.error(row, f"the {number} must be a number; got {value.iloc[row]!r}")
    return rows


def _column(frame: pd.DataFrame, names: tuple[str, ...], what: str) -> pd.Series:
    column = first_named(frame.columns, names)
    if column is None:
        raise DataError(
            f"{what} needs a column {names[0]!r} (or {', '.join(names[1:4])}); "
            f"columns: {named(frame.columns, 12)}"
        )
    return frame[column]


def _ids_of(column: pd.Series, what: str) -> Objects:
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
    return column.astype("str").to_numpy(dtype=object)


@dataclass(frozen=True, eq=False)
class Joined:
    """A run joined with its judgments, query by query in the order of the judgments."""

    query_ids: list[str]
    hits: Hits
    n_tied: IntArray
    missing: list[str]
    unjudged: list[str]
    run: NumberTable
    qrels: NumberTable
    n_self: int = 0  # documents that were left out before
    n_repeats: int = 0
    match_note: str = ""


def join_tables(
    run: NumberTable, qrels: NumberTable, *, ties: Ties, relevance_level: float
) -> Joined:
    """A run joined with its judgments; a document that is not text or number is an error."""
    query_ids, judged = list(qrels), list(qrels.values())
    # Queries are matched by id: ranx pairs plain dicts by position and gives wrong scores.
    runs = [run.get(query, _NOTHING) for query in query_ids]
    missing = [query for query, docs in zip(query_ids, runs, strict=True) if docs is _NOTHING]
    unjudged: list[str] = []
    if len(run) > len(query_ids) - len(missing):
        unjudged = [query for query in run if query not in qrels]
    _refuse_strangers(query_ids, missing, unjudged)
    try:
        scores, grades, judged_scores = _read_numbers(runs, judged)
    except (TypeError, ValueError, OverflowError):
        _refuse_non_numbers(query_ids, runs, judged)
        raise
    if np.isnan(scores).any() or not np.isfinite(grades).all():
        _refuse_non_numbers(query_ids, runs, judged)
    n_retrieved, n_judged = (np.array([len(docs) for docs in tables]) for tables in (runs, judged))
    rank, tied = _ranks(scores, n_retrieved, judged_scores, n_judged)
    try:
        judged_ends = np.cumsum(n_judged)
        for query in tied:
            last = int(judged_ends[query])
            rank[last - int(n_judged[query]) : last] = _rank_among_equals(
                runs[query], judged[query], by_id=ties == "docid"
            )
    except TypeError as exc:
        raise DataError(f"document ids must all be texts; {exc}") from exc
    rank[np.isnan(judged_scores)] = -1
    n_tied = _count_tied(scores, n_retrieved)
    if ties == "error":
        refuse_ties(query_ids, n_tied)
    judged_query = np.repeat(np.arange(len(query_ids)), n_judged)
    rows = np.flatnonzero(rank >= 0)
    # One key instead of two sorts twice as fast.
    rows = rows[np.argsort(judged_query[rows] * (rank.max(initial=0) + 1) + rank[rows])]
    of_hits = judged_query[rows], rank[rows], grades[rows]
    hits = Hits(*of_hits, judged_query, grades, n_retrieved, float(relevance_level))
    return Joined(query_ids, hits, n_tied, missing, unjudged, run, qrels)


def _ranks(
    scores: FloatArray, n_retrieved: IntArray, judged_scores: FloatArray, n_judged: IntArray
) -> tuple[IntArray, list[int]]:
    """The rank of each judged document by its score, and the queries in which one is tied.

    Sorts the scores of each query where they stand.
    """
    n_not_above = np.zeros(len(judged_scores), np.int64)
    ends, judged_ends = np.cumsum(n_retrieved), np.cumsum(n_judged)
    start = first = 0
    for end, last in zip(ends.tolist(), judged_ends.tolist(), strict=True):
        ordered = scores[start:end]
        ordered.sort()
        n_not_above[first:last] = ordered.searchsorted(judged_scores[first:last], "right")
        start, first = end, last
    query = np.repeat(np.arange(len(ends)), n_judged)
    rank = n_retrieved[query] - n_not_above
    # In ascending order, the score before the one of the document itself.
    place = ends[query] - rank - 2
    is_tied = (judged_scores == judged_scores) & (n_not_above > 1)
    is_tied[is_tied] = scores[place[is_tied]] == judged_scores[is_tied]
    return rank, np.unique(query[is_tied]).tolist()


def _read_numbers(runs: Tables, judged: Tables) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The scores of the run, the grades, and the score of each judged document or NaN."""
    pairs = zip(runs, judged, strict=True)
    judged_scores = (map(docs.get, judgments, repeat(_NAN)) for docs, judgments in pairs)
    return (
        _floats(docs.values() for docs in runs),
        _floats(docs.values() for docs in judged),
        _floats(judged_scores),
    )


def _floats(numbers: Iterable[Iterable[Any]]) -> FloatArray:
    return np.fromiter(chain.from_iterable(numbers), np.float64)


def _rank_among_equals(
    docs: Mapping[Any, Any], judgments: Iterable[Any], *, by_id: bool
) -> list[int]:
    """The rank of each judged document of a query in which one has the score of another."""
    # Descending by code point, as strcmp of trec_eval orders the bytes of UTF-8; sorting is stable.
    order = sorted(docs, reverse=True) if by_id else list(docs)
    # Texts of numbers must not be compared as texts.
    are_plain = set(map(type, docs.values())) <= {float, int}
    order.sort(key=docs.__getitem__ if are_plain else lambda doc: float(docs[doc]), reverse=True)
    place = dict(zip(order, range(len(order)), strict=True))
    return [place.get(doc, -1) for doc in judgments]


def _count_tied(ordered: FloatArray, lengths: IntArray) -> IntArray:
    """How many of the sorted scores of each query have an equal in it."""
    query = np.repeat(np.arange(len(lengths)), lengths)
    equals_next = (ordered[1:] == ordered[:-1]) & (query[1:] == query[:-1])
    is_tied = np.zeros(len(ordered), dtype=bool)
    is_tied[1:] |= equals_next
    is_tied[:-1] |= equals_next
    return np.bincount(query[is_tied], minlength=len(lengths))


def _refuse_strangers(judged: list[str], missing: list[str], unjudged: list[str]) -> None:
    if not judged:
        raise DataError("qrels must have at least one judged query; got none")
    # All zeros would look like a bad pipeline, while the cause is almost always ids that are
    # written differently.
    if len(missing) == len(judged):
        raise AlignmentError(
            "the run and the judgments have no query in common; "
            f"queries of the run: {named(unjudged, _MOST_NAMED) or 'none'}; "
            f"judged queries: {named(judged, _MOST_NAMED)}"
        )


def refuse_ties(query_ids: list[str], n_tied: IntArray) -> None:
    """Raise an error if documents of a query have equal scores."""
    tied = [query_ids[code] for code in n_tied.nonzero()[0]]
    if tied:
        raise DataError(
            f"documents have equal scores in {len(tied)} queries: {named(tied)}; "
            'ties="docid" orders them as trec_eval does, ties="input" by their order in the run'
        )


def _refuse_non_numbers(query_ids: Sequence[str], runs: Tables, judged: Tables) -> None:
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
