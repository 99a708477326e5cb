"""A run and its judgments, joined in whatever form each is: mapping, frame or file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from operator import contains
from pathlib import Path
from typing import Any, Literal, TypeGuard

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.rankings.from_dicts import (
    NumberTable,
    OtherIdsError,
    holds_dicts,
    join_dicts,
    plain_table,
)
from rageval_report.rankings.from_rows import IdRows, from_frame, from_table, join_rows
from rageval_report.rankings.joined import Joined, Ties
from rageval_report.rankings.trec.files import join_files, read_trec_qrels, read_trec_run
from rageval_report.scores.frames import to_pandas
from rageval_report.types import BoolArray

DuplicateDocs = Literal["error", "best"]
DUPLICATE_DOCS: tuple[DuplicateDocs, ...] = ("error", "best")

_RUN, _QRELS = "the run", "qrels"
_LISTED = (dict, list, tuple)
# Frames are recognised by the protocols they offer, so that neither polars nor pyarrow is imported.
_FRAMES = ("__arrow_c_stream__", "__dataframe__", "__narwhals_dataframe__")


@dataclass(frozen=True)
class JoinRules:
    """How a run is joined with its judgments.

    Parameters
    ----------
    ties : {"docid", "input", "error"}
        Which of equal scores goes first.
    relevance_level : float
        The lowest relevant grade.
    drop_self : bool
        Whether to leave out a retrieved document whose id is that of its query.
    duplicates : {"error", "best"}
        What to do with a document that was retrieved twice for a query: raise an error, or count
        it once at its best rank.
    """

    ties: Ties
    relevance_level: float
    drop_self: bool = False
    duplicates: DuplicateDocs = "error"

    @property
    def keep_all(self) -> bool:
        """Whether every retrieved document is kept."""
        return not self.drop_self and self.duplicates == "error"


@dataclass(frozen=True, eq=False)
class JoinedInputs:
    """A run joined with its judgments, and what was left out of the run before.

    Parameters
    ----------
    joined : Joined
        The run and its judgments.
    n_self : int
        How many documents were left out because their id is that of their query.
    n_repeats : int
        How many repeats of a document were left out.
    """

    joined: Joined
    n_self: int = 0
    n_repeats: int = 0


def join_inputs(run: object, qrels: object, rules: JoinRules) -> JoinedInputs:
    """A run joined with its judgments.

    Parameters
    ----------
    run, qrels : mapping, frame, path, or IdRows
        As `rageval_report.rankings.score_tables.score_table_of_rankings` takes them, or rows that
        were read from a file.
    rules : JoinRules
        How they are joined.
    """
    ties, level = rules.ties, rules.relevance_level
    if rules.keep_all and _are_dicts_of_dicts(run) and _are_dicts_of_dicts(qrels):
        try:  # nothing is copied: each dict is read once
            return JoinedInputs(join_dicts(run, qrels, ties=ties, relevance_level=level))
        except OtherIdsError:
            pass
    if isinstance(run, Mapping):
        table, n_self, n_repeats = _filter_table(run, rules)
        if isinstance(qrels, Mapping):
            judged = _table_of_qrels(qrels)
            joined = join_dicts(table, judged, ties=ties, relevance_level=level)
        else:
            rows = from_table(table, _RUN, "score")
            joined = join_rows(rows, _rows_of_qrels(qrels), ties=ties, relevance_level=level)
        return JoinedInputs(joined, n_self, n_repeats)
    if _is_path(run) and _is_path(qrels) and rules.keep_all:
        # Two files are read in parts, without ever holding all rows; dropping documents needs whole
        # columns.
        return JoinedInputs(join_files(run, qrels, ties=ties, relevance_level=level))
    rows, n_self, n_repeats = _filter_rows(run, rules)
    joined = join_rows(rows, _rows_of_qrels(qrels), ties=ties, relevance_level=level)
    return JoinedInputs(joined, n_self, n_repeats)


def _are_dicts_of_dicts(table: object) -> TypeGuard[dict[str, dict[str, Any]]]:
    return isinstance(table, dict) and holds_dicts(table)


def _is_path(source: object) -> TypeGuard[str | Path]:
    return isinstance(source, str | Path)


def score_of_place(place: int) -> float:
    """The score of a document of a list without scores, from its position (from 0)."""
    # Negated, so that the first of the list has the highest score.
    return -float(place)


def grade_of_listed(_: int) -> float:
    """The grade of a document that is listed as relevant, without a grade."""
    return 1.0


def _table_of_run(run: Mapping[Any, Any]) -> NumberTable:
    # The order of a set changes with each process, so its ranks would be random.
    if not {set, frozenset}.isdisjoint(map(type, run.values())):
        unordered = [query for query, docs in run.items() if isinstance(docs, set | frozenset)]
        raise DataError(
            "the run must give each query its documents in order, or with scores; sets have no "
            f"order: {named(unordered)}"
        )
    return _number_table(run, score_of_place, _RUN)


def _table_of_qrels(qrels: Mapping[Any, Any]) -> NumberTable:
    return _number_table(qrels, grade_of_listed, _QRELS)


def _number_table(
    table: Mapping[Any, Any], value: Callable[[int], float], what: str
) -> NumberTable:
    _refuse_missing_ids(table, what)
    try:
        return plain_table(table, value, what)
    except TypeError as exc:
        raise DataError(
            f"{what} must give each query its documents, as a mapping of ids to numbers or a list "
            f"of ids; {exc}"
        ) from exc


def _refuse_missing_ids(table: Mapping[Any, Any], what: str) -> None:
    listed = table
    # Only the common containers are searched: `in` on an array would compare its elements.
    if not set(map(type, table.values())) <= set(_LISTED):
        listed = {query: docs for query, docs in table.items() if isinstance(docs, _LISTED)}
    if any(map(contains, listed.values(), repeat(None))):
        without = [query for query, docs in listed.items() if None in docs]
        raise DataError(f"{what} has a document without an id (None): {named(without)}")


def _rows_of_run(run: object) -> IdRows:
    if isinstance(run, IdRows):
        return run
    return read_trec_run(run) if _is_path(run) else from_frame(_to_pandas(run, _RUN), _RUN, "score")


def _rows_of_qrels(qrels: object) -> IdRows:
    if isinstance(qrels, IdRows):
        return qrels
    if _is_path(qrels):
        return read_trec_qrels(qrels)
    if isinstance(qrels, Mapping):
        return from_table(_table_of_qrels(qrels), _QRELS, "relevance")
    return from_frame(_to_pandas(qrels, _QRELS), _QRELS, "relevance")


def _to_pandas(table: object, what: str) -> object:
    """A frame of any library as a pandas frame; anything else as it is, and refused later."""
    if not any(hasattr(table, protocol) for protocol in _FRAMES):
        return table
    frame = to_pandas(table)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()].unique()
        raise DataError(f"the columns of {what} must differ; these appear twice: {named(twice)}")
    if frame.empty:
        raise DataError(f"{what} has no rows; expected one row per document")
    return frame


# -- what is left out on request


def _filter_table(run: Mapping[Any, Any], rules: JoinRules) -> tuple[NumberTable, int, int]:
    """The run, and how many documents with their query's id and how many repeats were left out."""
    n_self = n_repeats = 0
    # Repeats go first: a document with the id of its query is then counted once.
    if rules.duplicates == "best":
        run, n_repeats = _lists_without_repeats(run)
    table = _table_of_run(run)
    if rules.drop_self:
        table, n_self = _table_without_self(table)
    return table, n_self, n_repeats


def _filter_rows(run: object, rules: JoinRules) -> tuple[IdRows, int, int]:
    """As `_filter_table`, for a frame or a file."""
    rows = _rows_of_run(run)
    n_self = n_repeats = 0
    if rules.duplicates == "best":
        rows, n_repeats = _without(rows, _is_repeat(rows))
    if rules.drop_self:
        rows, n_self = _without(rows, np.asarray(rows.query == rows.doc, dtype=bool))
    return rows, n_self, n_repeats


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


def _lists_without_repeats(run: Mapping[Any, Any]) -> tuple[Mapping[Any, Any], int]:
    """The run with each id once in its lists, and how many repeats were left out."""
    distinct = {
        query: list(dict.fromkeys(docs)) if _is_sequence(docs) else docs
        for query, docs in run.items()
    }
    return distinct, sum(
        len(docs) - len(distinct[query]) for query, docs in run.items() if _is_sequence(docs)
    )


def _is_sequence(docs: object) -> bool:
    return isinstance(docs, list | tuple | np.ndarray)


def _is_repeat(run: IdRows) -> BoolArray:
    """Which rows have a document that another row of the same query ranks higher."""
    # Stable: of repeats with equal scores the first row stays, as with a list of ids.
    best_first = np.argsort(-run.value, kind="stable")
    ids = pd.DataFrame({"query": run.query[best_first], "doc": run.doc[best_first]})
    repeats: BoolArray = np.zeros(len(run.value), dtype=bool)
    repeats[best_first] = ids.duplicated().to_numpy()
    return repeats


def _without(run: IdRows, dropped: BoolArray) -> tuple[IdRows, int]:
    remaining = ~dropped
    rows = replace(
        run,
        query=run.query[remaining],
        doc=run.doc[remaining],
        value=run.value[remaining],
        line=None if run.line is None else run.line[remaining],
    )
    return rows, int(dropped.sum())
