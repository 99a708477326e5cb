"""Ragas's frames: ``EvaluationResult.to_pandas()`` of 0.1 and later, and files of experiments."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile, id_columns
from rageval_report.readers.cell_values import parse_list, parse_list_columns, parse_literal
from rageval_report.readers.frameworks.format import SURE
from rageval_report.readers.frameworks.rows import mark_blank_scores
from rageval_report.readers.record_columns import score_columns
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.cells import read_cells
from rageval_report.scores.query_ids import question_text

# Columns of samples, not of scores; the newer names, then those of 0.1.
_SAMPLE = frozenset(
    "user_input retrieved_contexts reference_contexts retrieved_context_ids reference_context_ids "
    "response multi_responses reference rubrics rubric persona_name query_style query_length "
    "reference_tool_calls reference_topics synthesizer_name".split()
)
_OLD_SAMPLE = frozenset(
    "question contexts answer ground_truth ground_truths episode_done evolution_type "
    "metadata".split()
)
_OLD_METRICS = frozenset(
    "faithfulness answer_relevancy context_precision context_recall context_relevancy "
    "context_entity_recall context_utilization answer_similarity answer_correctness harmfulness "
    "maliciousness".split()
)
_LISTS = (
    "contexts retrieved_contexts ground_truths reference_contexts retrieved_context_ids "
    "reference_context_ids multi_responses reference_tool_calls reference_topics".split()
)

# The text that Python writes for a metric's result, if an experiment stores the object itself.
_RESULT_OPENS = "MetricResult(value="
_RESULT = re.compile(
    r"""MetricResult\(value=(?P<value>.*?)(?:,\s reason=(?P<reason>'.*'|".*"))?\)""",
    re.DOTALL | re.VERBOSE,
)


def _recognise(source: Source) -> float:
    header = frozenset(header_of(source))
    if "user_input" in header and len(header & _SAMPLE) > 1:
        return SURE
    if {"question", "answer", "contexts"} <= header and header & _OLD_METRICS:
        return 0.92  # names that other tools use too, so this is less sure
    is_of_results = header and source.is_text and _RESULT_OPENS.encode() in source.head
    return SURE if is_of_results else 0.0


def read_ragas(
    source: Source, *, columns: Iterable[str] | None = None, query_id: str | None = None
) -> list[ScoreFile]:
    r"""Read a frame of Ragas from any kind of table.

    The text of the question identifies the query. A blank score has failed: Ragas writes it
    without a reason if a metric raised an error or could not use its judge's answer.

    Examples
    --------
    >>> [run] = read_ragas(Source(b'user_input,response,sas\nWho?,He.,0.5\nWhen?,Now.,\n'))
    >>> list(run.frame), run.frame["sas_state"].tolist()
    (['user_input', 'response', 'sas', 'sas_state'], ['scored', 'failed'])
    """
    table = read_table(source, columns=columns, query_id=query_id)
    # Ragas writes lists into CSV as Python's repr, arrays (0.1) as NumPy's.
    frame, of_lists = parse_list_columns(table.frame.rename(columns=str), _LISTS)
    frame, of_talks = _with_last_questions(frame)
    frame, of_results = _with_results(frame)
    ids = id_columns(map(str, frame), query_id)
    frame, n_failed = mark_blank_scores(frame, {*_SAMPLE, *_OLD_SAMPLE, *ids})
    of_failures = [
        f"{n} blank scores of {metric!r} count as failed: Ragas leaves a blank if a metric raised "
        "an error or could not use its judge's answer, and gives no reason"
        for metric, n in n_failed.items()
    ]
    notes = (*table.notes, *of_lists, *of_talks, *of_results, *of_failures)
    return [replace(table, frame=frame, notes=notes)]


def _with_last_questions(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The frame with the last message of the user as the question, and the conversation apart."""
    column = question_text(frame)
    if column is None or pd.api.types.is_numeric_dtype(frame[column].dtype):
        return frame, []
    cells = frame[column].tolist()
    talks = [_messages(cell) for cell in cells]
    if not any(talks):
        return frame, []
    questions = [
        _last_message(talk) if talk else cell for talk, cell in zip(talks, cells, strict=True)
    ]
    columns = {
        name: pd.Series(texts, index=frame.index, dtype=object)
        for name, texts in {column: questions, "conversation": talks}.items()
    }
    return frame.assign(**columns), [
        "the question of a conversation is the last message of the user"
    ]


def _messages(cell: object) -> list[Any] | None:
    messages = parse_list(cell)
    are_messages = isinstance(messages, list) and all(
        isinstance(item, dict) and "content" in item for item in messages
    )
    return messages if isinstance(messages, list) and messages and are_messages else None


def _last_message(talk: list[Any]) -> str:
    by_user = [item for item in talk if item.get("type", item.get("role")) in ("human", "user")]
    return str((by_user or talk)[-1]["content"])


def _with_results(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The frame with the scores and reasons of results that are written as Python objects."""
    parsed: dict[str, list[Any]] = {}
    names = []
    for name in map(str, frame):
        cells = frame[name].tolist()
        if not any(isinstance(cell, str) and cell.startswith(_RESULT_OPENS) for cell in cells):
            continue
        values, reasons = map(list, zip(*map(_result, cells), strict=True))
        are_labels = len(read_cells(values).unread) == len(cells)
        own = {name: values} if are_labels else score_columns(name, values, reasons)
        parsed |= {key: own[key] for key in own if key == name or key not in frame}
        names.append(name)
    columns = {name: pd.Series(cells, index=frame.index) for name, cells in parsed.items()}
    notes = [f"parsed from the text of results of metrics: {named(names, 12)}"] if names else []
    return frame.assign(**columns), notes


def _result(cell: object) -> tuple[Any, str | None]:
    match = _RESULT.fullmatch(cell.strip()) if isinstance(cell, str) else None
    if match is None:
        return cell, None
    reason = match["reason"]
    return match["value"], None if reason is None else str(parse_literal(reason))


RAGAS = Reader(
    "ragas",
    "Ragas's frame of an evaluation, of 0.1 and later, or an experiment's, in any kind of table",
    _recognise,
    read_ragas,
    ("columns", "encoding", "query_id"),
    example="ragas.csv",
)
