"""Records that come a table at a time become an evaluation: scores whole, texts only begun.

A hundred thousand answers with their contexts are gigabytes; their scores are megabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import pandas as pd

from rageval_report._registry import load
from rageval_report.errors import DataError
from rageval_report.metrics.views import Tools
from rageval_report.scores.states import STATE, states_of
from rageval_report.scoring.compute import ScoredRecords, score_records
from rageval_report.scoring.records import WithJudged, checked_metrics, checked_tools, with_judged

if TYPE_CHECKING:
    from rageval_report.judges import Judged, Rubric

Blocks = Callable[[], Iterable[pd.DataFrame]]

_LONGEST = 200  # characters of a text that stay beside the scores
_REFERENCE = "reference"
_LEFT_OUT = frozenset(
    (
        *("negative_reference", "relevant", "relevant_texts", "relevant_spans"),
        *("relevant_sections", "retrieved", "retrieved_scores", "retrieved_spans", "contexts"),
        *("citations", "cited_sections"),
    )
)


def score_blocks(
    blocks: Blocks,
    metrics: str | Rubric | Iterable[str | Rubric],
    *,
    name: str = "pipeline",
    tools: Tools | None = None,
    chat: object | None = None,
    judging: Mapping[str, Any] | None = None,
    notes: tuple[str, ...] = (),
    config: Mapping[str, Any] | None = None,
    created: datetime | date | str | None = None,
) -> WithJudged:
    """As `score_and_judge` of scoring.records, holding the texts of one table at a time.

    Parameters
    ----------
    blocks : callable
        Gives the tables, as ``finished.blocks`` of a run does, from the first on each time it is
        called. All have the same columns.
    metrics, name, tools, chat, judging, config, created
        As there. Where the records lack a field that a metric needs, it is not applicable.
    notes : tuple of str
        What the reports tell beside.

    Returns
    -------
    WithJudged
        All scores. Of the records `shortened` stays in the details.

    Raises
    ------
    DataError
        If there are no records, or as `score_and_judge`.

    Examples
    --------
    >>> from rageval_report.records import record_table
    >>> rows = [{"query_id": n, "answer": n * 999, "reference": "a" * 999} for n in "ab"]
    >>> found = score_blocks(lambda: [record_table([row]) for row in rows], "exact_match")
    >>> found.evaluation.scores["exact_match"].tolist()
    [1.0, 0.0]
    >>> found.evaluation.details["answer"].str.len().tolist()
    [200, 200]
    """
    tools = checked_tools(tools)
    computed, rubrics = checked_metrics(metrics, chat)
    scored = _scored(blocks(), computed, tools) if computed else None
    judged: Judged | None = None
    if rubrics:
        judge = load("rageval_report.judges.judging:judge_blocks")
        judged = judge(blocks, rubrics, chat, kept=shortened, **dict(judging or {}))
    told = (*notes, f"texts are cut at {_LONGEST} characters here, and lists of them left out")
    return with_judged(name, scored, judged, notes=told, config=config, created=created)


def shortened(records: pd.DataFrame) -> pd.DataFrame:
    """The records without what is long: texts are cut, lists and objects left out.

    Of several references the first stays.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` gives them.

    Examples
    --------
    >>> from rageval_report.records import record_table
    >>> rows = [{"query_id": "q", "answer": "A" * 500, "contexts": ["c" * 9999], "level": 3}]
    >>> short = shortened(record_table(rows))
    >>> short.columns.tolist(), len(short["answer"].iloc[0])
    (['answer', 'level'], 200)
    """
    kept = {column: cells for column, cells in records.items() if column not in _LEFT_OUT}
    for column, cells in kept.items():
        if cells.dtype == object or isinstance(cells.dtype, pd.StringDtype):
            cut = _first if column == _REFERENCE else _short
            kept[column] = pd.Series([cut(cell) for cell in cells], cells.index, dtype=object)
    return pd.DataFrame(kept, index=records.index)


def _short(cell: Any) -> Any:
    if isinstance(cell, str):
        return cell if len(cell) <= _LONGEST else f"{cell[: _LONGEST - 1]}…"
    return None if isinstance(cell, list | tuple | Mapping) else cell


def _first(cell: Any) -> Any:
    return _short(cell[0]) if isinstance(cell, list) and cell else _short(cell)


def _scored(blocks: Iterable[pd.DataFrame], metrics: list[str], tools: Tools) -> ScoredRecords:
    parts = []
    for table in blocks:
        found = score_records(table, metrics, tools=tools, lacking="unscored")
        short = shortened(found.records)
        parts.append(ScoredRecords(found.scores, short, found.states, found.metrics))
    if not parts:
        raise DataError("expected one row a query; there is none")
    scores, records = (
        _stacked([getattr(one, of) for one in parts]) for of in ("scores", "records")
    )
    states = _whole_states(_stacked([part.states for part in parts]), scores)
    return ScoredRecords(scores, records, states, parts[0].metrics)


def _stacked(tables: list[pd.DataFrame]) -> pd.DataFrame:
    """One under the other; pandas makes another kind of the ids in passing."""
    whole = pd.concat(tables)
    return whole.set_axis(whole.index.astype(object))


def _whole_states(states: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """What a table does not say of a metric, because nothing but scores are missing there."""
    filled = states.astype(object).where(states.notna(), None)
    for name in [one for one in scores if f"{one}{STATE}" in filled]:
        column = f"{name}{STATE}"
        usual = pd.Series(states_of(scores[name]), index=scores.index)
        filled[column] = filled[column].where(filled[column].notna(), usual)
    return filled
