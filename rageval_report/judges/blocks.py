"""Records that come a table at a time are judged so: no more texts are held than a table has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pandas as pd

from rageval_report.judges.applying import _is_nothing, check_fields, gap_notes
from rageval_report.judges.how import How
from rageval_report.judges.judging import (
    Judged,
    _check_repeats,
    _found,
    _judged,
    as_rows,
    rubrics_of,
)
from rageval_report.judges.procedures import Verdict
from rageval_report.judges.rubric import Rubric
from rageval_report.records.cells import is_missing
from rageval_report.scores.states import ERROR

Blocks = Callable[[], Iterable[pd.DataFrame]]


def judge_blocks(
    blocks: Blocks,
    judges: str | Rubric | Iterable[str | Rubric],
    chat: object,
    *,
    kept: Callable[[pd.DataFrame], pd.DataFrame],
    n_repeats: int = 1,
    generator: str | None = None,
    **how: Any,
) -> Judged:
    """As `judge`, for records that come a table at a time.

    Parameters
    ----------
    blocks : callable
        Gives the tables, as `rageval_report.records.record_table` does, from the first on; it is
        called twice.
    judges, chat, n_repeats, generator, **how
        As for `judge`. One budget, one cache and one pace hold for all tables.
    kept : callable
        What of a table stays in the result's records.

    Examples
    --------
    >>> from rageval_report.judges import ScriptedChat
    >>> from rageval_report.records import record_table
    >>> rows = [{"query_id": n, "question": "Where is Oslo?", "answer": "There."} for n in "ab"]
    >>> chat = ScriptedChat(['{"reasoning": "Vague.", "score": 1}'] * 2)
    >>> tables = [record_table([row]) for row in rows]
    >>> judged = judge_blocks(
    ...     lambda: tables, "answer_relevancy", chat, kept=lambda table: table[["question"]]
    ... )
    >>> judged.scores["answer_relevancy"].tolist(), list(judged.records)
    ([0.0, 0.0], ['question'])
    """
    rubrics = rubrics_of(judges)
    _check_repeats(n_repeats)
    manner = How(**how)
    gaps = manner.say(_gaps(blocks(), rubrics))
    found: dict[str, list[list[Verdict]]] = {rubric.name: [] for rubric in rubrics}
    tables = []
    with manner.opened(chat) as asking:
        for table in blocks():
            done = _found(as_rows(table), rubrics, n_repeats, manner, asking)
            for name, verdicts in done.items():
                found[name] += verdicts
            tables.append(kept(table))
    whole = pd.concat(tables)
    whole = whole.set_axis(whole.index.astype(object))  # pandas makes another kind of the ids
    return _judged(whole, rubrics, found, asking, n_repeats, generator, gaps)


def _gaps(blocks: Iterable[pd.DataFrame], rubrics: list[Rubric]) -> tuple[str, ...]:
    """What all records together lack, of each only whether it holds what the rubrics need."""
    needs = list(dict.fromkeys(one for rubric in rubrics for one in rubric.needs))
    seen: dict[tuple[Any, ...], dict[str, Any]] = {}
    rows = []
    for table in blocks:
        for row in as_rows(table):
            bare = _bare(row, needs)
            rows.append(seen.setdefault(tuple(bare.items()), bare))
    whole = pd.DataFrame(rows, columns=[*needs, ERROR], dtype=object)
    for rubric in rubrics:
        check_fields(rubric, whole)
    return gap_notes(rubrics, rows)


def _bare(row: dict[str, Any], needs: list[str]) -> dict[str, Any]:
    """Of each field a mark: whether it is missing, empty, or there."""
    error = row.get(ERROR)
    failed = isinstance(error, str) and bool(error.strip())
    return {**{one: _mark(one, row.get(one)) for one in needs}, ERROR: "x" if failed else None}


def _mark(field: str, value: Any) -> Any:
    if is_missing(value):
        return None
    return () if _is_nothing(field, value) else "x"
