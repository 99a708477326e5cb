"""Runs and judgments in every form they come in, matched: mappings, frames, files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from operator import contains
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.rankings.from_dicts import (
    OtherIdsError,
    Table,
    holds_dicts,
    joined_dicts,
    plain_table,
)
from rageval_report.rankings.from_rows import Rows, from_frame, from_table, joined_rows
from rageval_report.rankings.joined import Joined, Ties
from rageval_report.rankings.trec.files import joined_files, read_trec_qrels, read_trec_run
from rageval_report.scores.frames import to_pandas

Duplicates = Literal["error", "best"]
DUPLICATES: tuple[Duplicates, ...] = ("error", "best")

_RUN, _QRELS = "the run", "qrels"
_LISTED = (dict, list, tuple)
_FRAMES = ("__arrow_c_stream__", "__dataframe__", "__narwhals_dataframe__")


@dataclass(frozen=True)
class Rules:
    """How a run is matched with its judgments.

    Parameters
    ----------
    ties : {"docid", "input", "error"}
        Which of equal scores goes first.
    relevance_level : float
        The lowest relevant grade.
    drop_self : bool
        Whether a retrieved document that bears its query's id is left out.
    duplicates : {"error", "best"}
        Whether a document that was retrieved twice for a query is refused, or counts where it
        ranks best.
    """

    ties: Ties
    relevance_level: float
    drop_self: bool = False
    duplicates: Duplicates = "error"

    @property
    def keep_all(self) -> bool:
        """Whether nothing that was retrieved is left out."""
        return not self.drop_self and self.duplicates == "error"


@dataclass(frozen=True, eq=False)
class Matched:
    """A run matched with its judgments, and what was left out of the run before.

    Parameters
    ----------
    joined : Joined
        What is scored.
    n_self : int
        How many documents were left out that bear their query's id.
    n_repeats : int
        How many repeats of a document were left out.
    """

    joined: Joined
    n_self: int = 0
    n_repeats: int = 0


def matched(run: Any, qrels: Any, rules: Rules) -> Matched:
    """A run and its judgments, matched.

    Parameters
    ----------
    run, qrels : mapping, frame or path
        As `rageval_report.rankings.score_tables.score_table_of_rankings` takes them.
    rules : Rules
        How they are matched.
    """
    options: dict[str, Any] = {"ties": rules.ties, "relevance_level": rules.relevance_level}
    if rules.keep_all and all(isinstance(one, dict) and holds_dicts(one) for one in (run, qrels)):
        try:  # each dict is walked through once
            return Matched(joined_dicts(run, qrels, **options))
        except OtherIdsError:
            pass
    if isinstance(run, Mapping):
        table, n_self, n_repeats = _table_left(run, rules)
        if isinstance(qrels, Mapping):
            joined = joined_dicts(table, _table_of_qrels(qrels), **options)
        else:
            rows = from_table(table, _RUN, "score")
            joined = joined_rows(rows, _rows_of_qrels(qrels), **options)
        return Matched(joined, n_self, n_repeats)
    if _is_path(run) and _is_path(qrels) and rules.keep_all:
        return Matched(joined_files(run, qrels, **options))
    rows, n_self, n_repeats = _rows_left(run, rules)
    return Matched(joined_rows(rows, _rows_of_qrels(qrels), **options), n_self, n_repeats)


def _is_path(given: Any) -> bool:
    return isinstance(given, str | Path)


def ranks_as_scores(place: int) -> float:
    """The score of a document that stands at a place, from 0, of a list."""
    return -float(place)


def grade_of_listed(_: int) -> float:
    """The grade of a document that is listed as relevant."""
    return 1.0


def _table_of_run(run: Mapping[Any, Any]) -> Table:
    if not {set, frozenset}.isdisjoint(map(type, run.values())):
        unordered = [query for query, docs in run.items() if isinstance(docs, set | frozenset)]
        raise DataError(
            "the run must give each query its documents in order, or with scores; a set has no "
            f"order: {named(unordered)}"
        )
    return _table(run, ranks_as_scores, _RUN)


def _table_of_qrels(qrels: Mapping[Any, Any]) -> Table:
    return _table(qrels, grade_of_listed, _QRELS)


def _table(table: Mapping[Any, Any], value: Callable[[int], float], what: str) -> Table:
    _refuse_missing_ids(table, what)
    try:
        return plain_table(table, value, what)
    except TypeError as exc:
        raise DataError(
            f"{what} must give each query its documents, as a mapping of ids to numbers or as ids "
            f"alone; {exc}"
        ) from exc


def _refuse_missing_ids(table: Mapping[Any, Any], what: str) -> None:
    listed = table
    if not set(map(type, table.values())) <= set(_LISTED):
        listed = {query: docs for query, docs in table.items() if isinstance(docs, _LISTED)}
    if any(map(contains, listed.values(), repeat(None))):
        without = [query for query, docs in listed.items() if None in docs]
        raise DataError(f"{what} holds a document without an id (None): {named(without)}")


def _rows_of_qrels(qrels: Any) -> Rows:
    if _is_path(qrels):
        return read_trec_qrels(qrels)
    if isinstance(qrels, Mapping):
        return from_table(_table_of_qrels(qrels), _QRELS, "relevance")
    return from_frame(_checked_frame(qrels, _QRELS), _QRELS, "relevance")


def _checked_frame(table: Any, what: str) -> Any:
    """A frame of any library as pandas'; what is no frame stays, and is refused later."""
    if not any(hasattr(table, protocol) for protocol in _FRAMES):
        return table
    frame = to_pandas(table)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()].unique()
        raise DataError(f"columns of {what} must differ; there twice: {named(twice)}")
    if frame.empty:
        raise DataError(f"{what} has no rows: expected a document a row")
    return frame


# -- what is left out on request


def _table_left(run: Mapping[Any, Any], rules: Rules) -> tuple[Table, int, int]:
    """The run, how many documents that bear their query's id it lost, and how many repeats."""
    n_self = n_repeats = 0
    if rules.duplicates == "best":
        run, n_repeats = _lists_without_repeats(run)
    table = _table_of_run(run)
    if rules.drop_self:
        table, n_self = _table_without_self(table)
    return table, n_self, n_repeats


def _rows_left(run: Any, rules: Rules) -> tuple[Rows, int, int]:
    """The run, how many documents that bear their query's id it lost, and how many repeats."""
    if _is_path(run):
        rows = read_trec_run(run)
    else:
        rows = from_frame(_checked_frame(run, _RUN), _RUN, "score")
    n_self = n_repeats = 0
    if rules.duplicates == "best":
        rows, n_repeats = _without(rows, _is_repeat(rows))
    if rules.drop_self:
        rows, n_self = _without(rows, np.asarray(rows.query == rows.doc, dtype=bool))
    return rows, n_self, n_repeats


def _table_without_self(run: Table) -> tuple[Table, int]:
    bearing = [query for query, docs in run.items() if query in docs]
    kept = dict(run)
    for query in bearing:
        kept[query] = {doc: score for doc, score in run[query].items() if doc != query}
        if not kept[query]:  # as in a frame, where a query without rows is not there
            del kept[query]
    return kept, len(bearing)


def _lists_without_repeats(run: Mapping[Any, Any]) -> tuple[Mapping[Any, Any], int]:
    """The same run, in whose lists each id stands once; a mapping has no repeats."""
    kept = {query: _once(docs) for query, docs in run.items()}
    return kept, sum(
        len(docs) - len(kept[query]) for query, docs in run.items() if _is_sequence(docs)
    )


def _once(docs: Any) -> Any:
    return list(dict.fromkeys(docs)) if _is_sequence(docs) else docs


def _is_sequence(docs: Any) -> bool:
    return isinstance(docs, list | tuple | np.ndarray)


def _is_repeat(run: Rows) -> np.ndarray:
    """Which rows name a document of their query that another row ranks higher."""
    best_first = np.argsort(-run.value, kind="stable")
    ids = pd.DataFrame({"query": run.query[best_first], "doc": run.doc[best_first]})
    repeats = np.zeros(len(run.value), dtype=bool)
    repeats[best_first] = ids.duplicated().to_numpy()
    return repeats


def _without(run: Rows, dropped: np.ndarray) -> tuple[Rows, int]:
    kept = ~dropped
    rows = replace(
        run,
        query=run.query[kept],
        doc=run.doc[kept],
        value=run.value[kept],
        line=None if run.line is None else run.line[kept],
    )
    return rows, int(dropped.sum())
