"""A run and its judgments, joined in whatever form each is: mapping, frame or file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import repeat
from operator import contains
from pathlib import Path
from typing import Any, Literal, TypeGuard, get_args

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.files.inputs import Contents, is_file_input, open_input
from rageval_report.rankings.dict_columns import NotPlainError
from rageval_report.rankings.from_dicts import NumberTable, join_dicts, plain_table
from rageval_report.rankings.from_rows import IdRows, from_frame, from_table, join_rows
from rageval_report.rankings.id_columns import texts
from rageval_report.rankings.joined import Joined, Ties, refuse_ties
from rageval_report.rankings.trec.files import join_files, read_trec_qrels, read_trec_run
from rageval_report.scores.frames import to_pandas
from rageval_report.types import BoolArray

DuplicateDocs = Literal["error", "best", "keep"]
DUPLICATE_DOCS: tuple[DuplicateDocs, ...] = get_args(DuplicateDocs)

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
    duplicates : {"error", "best", "keep"}
        What to do with a document that was retrieved twice for a query: raise an error; count it
        once, at its best rank, and close up the ranks below its repeats; or count it once and keep
        the ranks of the repeats, which are then not relevant.
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
        How many repeats of a document were left out, or kept as not relevant.
    """

    joined: Joined
    n_self: int = 0
    n_repeats: int = 0


def join_inputs(run: object, qrels: object, rules: JoinRules) -> JoinedInputs:
    """A run joined with its judgments.

    Parameters
    ----------
    run, qrels : mapping, frame, path, bytes, open file, or IdRows
        As `rageval_report.rankings.score_tables.score_table_of_rankings` takes them, or rows that
        were read from a file.
    rules : JoinRules
        How they are joined.
    """
    ties, level = rules.ties, rules.relevance_level
    run, qrels = _opened(run, "run"), _opened(qrels, "qrels")
    if rules.keep_all and isinstance(run, dict) and isinstance(qrels, dict):
        try:  # nothing is copied: each dict is read once
            return JoinedInputs(join_dicts(run, qrels, ties=ties, relevance_level=level))
        except NotPlainError:
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
    if _is_file(run) and _is_file(qrels) and rules.keep_all:
        # Two files are read in parts, without ever holding all rows; dropping documents needs whole
        # columns.
        return JoinedInputs(join_files(run, qrels, ties=ties, relevance_level=level))
    rows, n_self, n_repeats = _filter_rows(run, rules)
    if rules.duplicates == "keep" and n_repeats:
        joined = _join_ranked(rows, _rows_of_qrels(qrels), rules)
    else:
        joined = join_rows(rows, _rows_of_qrels(qrels), ties=ties, relevance_level=level)
    return JoinedInputs(joined, n_self, n_repeats)


def _is_file(source: object) -> TypeGuard[Path | Contents]:
    return isinstance(source, Path | Contents)


def _opened(source: object, parameter: str) -> object:
    """A path or the contents of a file, opened once; anything else as it is."""
    return open_input(source, parameter) if is_file_input(source) else source


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
    return read_trec_run(run) if _is_file(run) else from_frame(_to_pandas(run, _RUN), _RUN, "score")


def _rows_of_qrels(qrels: object) -> IdRows:
    if isinstance(qrels, IdRows):
        return qrels
    if _is_file(qrels):
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
    if rules.duplicates != "error":
        run, n_repeats = _credit_lists_once(run, rules.duplicates)
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
    if rules.duplicates == "keep":
        n_repeats = int(_is_repeat(rows).sum())
    return rows, n_self, n_repeats


def _join_ranked(rows: IdRows, qrels: IdRows, rules: JoinRules) -> Joined:
    """The rows joined with their judgments, repeats at their ranks and not relevant."""
    query, doc = (pd.Series(texts(ids), dtype=object) for ids in (rows.query, rows.doc))
    repeats = _is_repeat(rows)
    keys: list[Any] = [-rows.value, pd.factorize(query)[0]]
    if rules.ties == "docid":
        keys = [repeats, -doc.rank(method="dense").to_numpy(), *keys]
    ordered = np.lexsort(keys)  # stable: with ties="input" the order of the rows decides
    place = np.empty(len(ordered))
    place[ordered] = np.arange(len(ordered))
    names = [
        _repeat_name(name, row) if is_repeat else name
        for row, (name, is_repeat) in enumerate(zip(doc, repeats.tolist(), strict=True))
    ]
    # A new name would change the order of equal scores, so the order is computed before, and handed
    # over as scores without ties.
    ranked = replace(
        rows,
        query=pd.array(query.tolist(), dtype="str"),
        doc=pd.array(names, dtype="str"),
        value=-place,
    )
    joined = join_rows(ranked, qrels, ties=rules.ties, relevance_level=rules.relevance_level)
    is_tied = pd.DataFrame({"query": query, "value": rows.value}).duplicated(keep=False)
    counts = is_tied.groupby(query).sum()
    n_tied = counts.reindex(joined.query_ids, fill_value=0).to_numpy(np.int64)
    if rules.ties == "error":
        refuse_ties(joined.query_ids, n_tied)
    return replace(joined, n_tied=n_tied)


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
    lists = {query: docs for query, docs in run.items() if _is_sequence(docs)}
    credited = {query: credit_once(docs, duplicates) for query, docs in lists.items()}
    return {**run, **credited}, sum(len(docs) - len(set(docs)) for docs in lists.values())


def credit_once(docs: Iterable[Any], duplicates: DuplicateDocs) -> list[Any]:
    """The ids of a ranking, each of them once.

    Parameters
    ----------
    docs : iterable of ids
        The retrieved documents, the best first.
    duplicates : {"best", "keep", "error"}
        "best" leaves repeats out; "keep" puts a name that is no document in their place, so that
        the ranks stay; "error" changes nothing, and the repeats are refused later.

    Examples
    --------
    >>> credit_once(["a", "a", "b"], "best"), len(credit_once(["a", "a", "b"], "keep"))
    (['a', 'b'], 3)
    """
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
    # No document has such an id: texts of tables and files hold no control characters. Not NUL,
    # where pandas 2 ends a text when it hashes texts.
    return f"{doc}\x01repeat {place}"


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
