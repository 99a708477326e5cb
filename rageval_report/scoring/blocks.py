"""Records that arrive one table at a time become an evaluation with all scores and cut texts.

A hundred thousand answers with their contexts are gigabytes; their scores are megabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

import pandas as pd

from rageval_report import judges
from rageval_report.errors import DataError
from rageval_report.metrics.views import Tools
from rageval_report.records.id_changes import (
    MatchIds,
    match_record_ids,
    note_of_changes,
    parse_changes,
)
from rageval_report.records.levels import Level, LevelChoice
from rageval_report.records.table import concatenate_rows
from rageval_report.scores.guard import notes_with_doubts
from rageval_report.scores.states import ERROR, STATE, states_of
from rageval_report.scoring.applicability import RetrievalFacts
from rageval_report.scoring.compute import ScoredRecords, score_records
from rageval_report.scoring.guard import doubts_about_records, needed_fields
from rageval_report.scoring.records import JudgedEvaluation, check_metrics, check_tools, join_scores

if TYPE_CHECKING:
    from rageval_report.judges import Judged, JudgeOptions, Rubric

Blocks = Callable[[], Iterable[pd.DataFrame]]

# The guard looks at so many records of a large run, and at these of their fields.
_MOST_GUARDED = 5000
_GUARDED = frozenset(
    (
        *("relevant", "relevant_sections", "retrieved", "retrieved_sections", "answer"),
        *("answerable", ERROR),
    )
)
_LONGEST = 200  # the number of characters of a text that are kept beside the scores
_REFERENCE = "reference"
_OMITTED = frozenset(
    (
        *("negative_reference", "relevant", "relevant_texts", "relevant_spans"),
        *("relevant_sections", "retrieved", "retrieved_scores", "retrieved_spans"),
        *("retrieved_sections", "contexts", "citations", "cited_sections"),
    )
)


def score_blocks(
    blocks: Blocks,
    metrics: str | Rubric | Iterable[str | Rubric],
    *,
    name: str = "pipeline",
    tools: Tools | None = None,
    chat: object | None = None,
    judging: JudgeOptions | None = None,
    notes: tuple[str, ...] = (),
    config: Mapping[str, Any] | None = None,
    created: datetime | date | str | None = None,
    match_ids: MatchIds = (),
    strict: bool = False,
    allow: str | Iterable[str] = (),
) -> JudgedEvaluation:
    """Score and judge with the texts of one table in memory at a time.

    Parameters
    ----------
    blocks : callable
        Returns the tables, all with the same columns, from the first one each time it is called.
    metrics, name, tools, chat, judging, config, created, match_ids, strict, allow
        As for `score_and_judge`. If the records lack a field that a metric needs, the metric is not
        applicable.
    notes : tuple of str
        Further notes for the reports.

    Returns
    -------
    JudgedEvaluation
        All scores. The details hold the records as `shorten_records` returns them.

    Raises
    ------
    DataError
        If there are no records, or for the reasons of `score_and_judge`.

    Examples
    --------
    >>> from rageval_report.records import record_table
    >>> rows = [{"query_id": n, "answer": n * 999, "reference": "a" * 999} for n in "ab"]
    >>> result = score_blocks(lambda: [record_table([row]) for row in rows], "exact_match")
    >>> result.evaluation.scores["exact_match"].tolist()
    [1.0, 0.0]
    >>> result.evaluation.details["answer"].str.len().tolist()
    [200, 200]
    """
    tools = check_tools(tools)
    computed, rubrics = check_metrics(metrics, chat, tools.dialect)
    if match_ids:
        blocks, match_note = _matched_blocks(blocks, match_ids)
        notes = (match_note, *notes)
    needed = needed_fields(computed, rubrics, tools.dialect)
    doubts = doubts_about_records(_first_records(blocks()), needed, tools)
    notes_with_doubts(notes, doubts, strict=strict, allow=allow)
    scored = _score_tables(blocks, computed, tools) if computed else None
    judged: Judged | None = None
    if rubrics:
        judged = judges.judge_blocks(
            *(blocks, rubrics, chat), kept=shorten_records, **(judging or {})
        )
    cut_note = f"texts are cut at {_LONGEST} characters here, and lists of texts are left out"
    return join_scores(
        *(name, scored, judged),
        rules=tools.dialect,
        notes=(*notes, cut_note),
        config=config,
        created=created,
        match_ids=match_ids,
        doubts=doubts,
        strict=strict,
        allow=allow,
    )


def _matched_blocks(blocks: Blocks, match_ids: MatchIds) -> tuple[Blocks, str]:
    changes = parse_changes(match_ids)

    def matched() -> Iterator[pd.DataFrame]:
        for block in blocks():
            yield match_record_ids(block, match_ids)[0]

    return matched, note_of_changes(changes, 0)


def _first_records(tables: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """The fields that the guard looks at, of the first records: they show what all are like."""
    parts: list[pd.DataFrame] = []
    for table in tables:
        records = table[[column for column in table if column in _GUARDED]]
        parts.append(records)
        if sum(map(len, parts)) >= _MOST_GUARDED:
            break
    return concatenate_rows(parts) if parts else pd.DataFrame()


def shorten_records(records: pd.DataFrame) -> pd.DataFrame:
    """The records with texts cut, and without lists and objects.

    The first of several references is kept.

    Parameters
    ----------
    records : DataFrame
        As `rageval_report.records.record_table` returns them.

    Examples
    --------
    >>> from rageval_report.records import record_table
    >>> rows = [{"query_id": "q", "answer": "A" * 500, "contexts": ["c" * 9999], "level": 3}]
    >>> short = shorten_records(record_table(rows))
    >>> short.columns.tolist(), len(short["answer"].iloc[0])
    (['answer', 'level'], 200)
    """
    columns = {column: cells for column, cells in records.items() if column not in _OMITTED}
    for column, cells in columns.items():
        if cells.dtype == object or isinstance(cells.dtype, pd.StringDtype):
            cut = _cut_reference if column == _REFERENCE else _cut_cell
            columns[column] = pd.Series([cut(cell) for cell in cells], cells.index, dtype=object)
    return pd.DataFrame(columns, index=records.index)


def _cut_cell(cell: object) -> object:
    if isinstance(cell, str):
        return cell if len(cell) <= _LONGEST else f"{cell[: _LONGEST - 1]}…"
    return None if isinstance(cell, list | tuple | Mapping) else cell


def _cut_reference(cell: object) -> object:
    return _cut_cell(cell[0]) if isinstance(cell, list) and cell else _cut_cell(cell)


def _score_tables(blocks: Blocks, metrics: list[str], tools: Tools) -> ScoredRecords:
    """The scores of all tables, at the level of ids that all of them together have."""
    parts = _score_each(blocks, metrics, tools)
    if not parts:
        raise DataError("blocks must hold one row per query; there is none")
    facts = sum((part.facts for part in parts), RetrievalFacts())
    choices = facts.choices(tools)
    # One table alone may suggest another level than all together; then the tables are scored again.
    if any(_levels(part.facts.choices(tools)).items() - _levels(choices).items() for part in parts):
        parts = _score_each(blocks, metrics, tools, choices)
        facts = sum((part.facts for part in parts), RetrievalFacts())
    scores = concatenate_rows([part.scores for part in parts])
    records = concatenate_rows([part.records for part in parts])
    states = _complete_states(concatenate_rows([part.states for part in parts]), scores)
    return ScoredRecords(scores, records, states, parts[0].metrics, facts, tools)


def _score_each(
    blocks: Blocks,
    metrics: list[str],
    tools: Tools,
    choices: Mapping[str, LevelChoice] | None = None,
) -> list[ScoredRecords]:
    parts = []
    for table in blocks():
        # "unscored": one table of many may lack a field that the others have.
        part = score_records(table, metrics, tools=tools, lacking="unscored", choices=choices)
        parts.append(replace(part, records=shorten_records(part.records)))
    return parts


def _levels(choices: Mapping[str, LevelChoice]) -> dict[str, Level]:
    """The levels that were chosen; a table with one id per passage has the same ids at each."""
    return {view: choice.level for view, choice in choices.items() if choice.level is not None}


def _complete_states(states: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """The states of all tables; a table without a column of states has scored or missing there."""
    complete = states.astype(object).where(states.notna(), None)
    for name in [metric for metric in scores if f"{metric}{STATE}" in complete]:
        column = f"{name}{STATE}"
        default = pd.Series(states_of(scores[name]), index=scores.index)
        complete[column] = complete[column].where(complete[column].notna(), default)
    return complete
