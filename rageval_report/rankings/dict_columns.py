"""The columns of runs and judgments that are dicts: scores, grades, and scores of judged documents.

What is read first in a dict decides how long the rest takes: the order of the steps was measured.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress, repeat
from operator import attrgetter, contains, methodcaller
from typing import Any

import numpy as np

from rageval_report.errors import DataError
from rageval_report.rankings.order import Objects
from rageval_report.types import BoolArray, FloatArray, IntArray

# Numbers by document, query after query.
Tables = list[Mapping[str, Any]]

_NAN = float("nan")

# Queries read at a time: their dicts stay in the processor's cache.
_AT_A_TIME = 64

# Up to so many retrieved documents per judged one, all ids of a run are touched before documents
# are looked up. With 100 retrieved that saves a sixth of the reading at 50 judged, and costs a
# seventh at 5; the limit lies between.
_FEW_RETRIEVED = 6

_VALUES: Callable[[Any], Iterable[Any]] = methodcaller("values")
_GET: Callable[[Any], Callable[[Any, float], Any]] = attrgetter("get")


class NotPlainError(DataError):
    """Tables in a form that is not read here: ids that are not texts, or lists."""


@dataclass(frozen=True, eq=False)
class Columns:
    """The numbers of some queries.

    Parameters
    ----------
    n_retrieved, n_judged : ndarray of shape (n_queries,)
        How many documents each query has in the run and in the judgments.
    scores : ndarray
        The scores of the run, query after query.
    grades : ndarray
        The grades of the judgments, query after query.
    judged_score : ndarray
        The score of each judged document; NaN if it was not retrieved.
    """

    n_retrieved: IntArray
    n_judged: IntArray
    scores: FloatArray
    grades: FloatArray
    judged_score: FloatArray


def read_columns(query_ids: Sequence[str], runs: Tables, judged: Tables) -> Columns:
    """The columns of some queries.

    Parameters
    ----------
    query_ids : sequence of str
        The queries, for messages.
    runs, judged : list of mappings of str to number
        The retrieved and the judged documents of each query.

    Raises
    ------
    NotPlainError
        If ids are not texts.
    DataError
        If a score or grade is not a number.
    """
    columns = _empty_columns(runs, judged)
    touch_ids = len(columns.scores) <= _FEW_RETRIEVED * len(columns.grades)
    rows, judgments = slice(0), slice(0)
    try:
        # Few queries at a time, because a dict that was just read is still in the cache when
        # documents are looked up in it.
        for first in range(0, len(runs), _AT_A_TIME):
            queries = slice(first, first + _AT_A_TIME)
            mine, theirs = runs[queries], judged[queries]
            rows = slice(rows.stop, rows.stop + int(columns.n_retrieved[queries].sum()))
            judgments = slice(judgments.stop, judgments.stop + int(columns.n_judged[queries].sum()))
            if touch_ids:
                # Each id holds its hash, which a dict compares with that of the id it looks for.
                # One by one they would be waited for; in a row they arrive ahead.
                list(map(list, mine))
            columns.scores[rows] = _numbers(map(_VALUES, mine), rows)
            # After the scores, which are read faster from dicts that nothing has touched.
            _refuse_other_ids([*mine, *theirs])
            columns.grades[judgments] = _numbers(map(_VALUES, theirs), judgments)
            looked_up = map(map, map(_GET, mine), theirs, repeat(repeat(_NAN)))
            columns.judged_score[judgments] = _numbers(looked_up, judgments)
    except (TypeError, ValueError, OverflowError):
        _refuse_non_numbers(query_ids, runs, judged)
        raise
    if np.isnan(columns.scores).any() or not np.isfinite(columns.grades).all():
        _refuse_non_numbers(query_ids, runs, judged)
    return columns


def _empty_columns(runs: Tables, judged: Tables) -> Columns:
    lengths = [np.fromiter(map(len, tables), np.int64, len(tables)) for tables in (runs, judged)]
    n_rows, n_judgments = (int(each.sum()) for each in lengths)
    numbers = np.empty(n_rows), np.empty(n_judgments), np.empty(n_judgments)
    return Columns(lengths[0], lengths[1], *numbers)


def ids_at(tables: Tables, is_wanted: BoolArray) -> Objects:
    """The ids in some places, in order.

    Parameters
    ----------
    tables : list of mappings of str to number
        Some queries.
    is_wanted : ndarray of shape (n,)
        Which of their ids, query after query.
    """
    # Each id is read, but only those wanted are kept: to keep all takes twice as long.
    wanted = compress(chain.from_iterable(tables), is_wanted.tobytes())
    return np.fromiter(wanted, np.object_, np.count_nonzero(is_wanted))


def _refuse_other_ids(tables: Tables) -> None:
    if hold_other_ids(tables) or any(map(contains, tables, repeat(None))):
        raise NotPlainError("document ids must all be texts")


def hold_other_ids(tables: Iterable[Mapping[Any, Any]]) -> bool:
    """Whether a table's first id is not a text: to check all would take a fifth of the time."""
    kinds = set(map(type, map(next, map(iter, tables), repeat(""))))
    return not all(issubclass(kind, str) for kind in kinds)


def _numbers(lists: Iterable[Iterable[Any]], rows: slice) -> FloatArray:
    numbers: list[Any] = []
    # A list is extended by a whole dict at a time; to chain dicts costs a call per number.
    deque(map(numbers.extend, lists), maxlen=0)
    try:  # twice as fast as fromiter
        return np.frombuffer(struct.pack(f"{rows.stop - rows.start}d", *numbers))
    except struct.error:  # not Python numbers, but perhaps texts of numbers
        return np.fromiter(numbers, np.float64, rows.stop - rows.start)


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
