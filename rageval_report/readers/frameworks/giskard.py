"""Giskard's RAG evaluation toolkit (RAGET): the report of an evaluation, or its saved folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import none_if_nan, parse_rows, text_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    document_beside,
    lines_beside,
    part,
    run_name,
    without,
)
from rageval_report.readers.frameworks.rows import (
    Judgement,
    drop_empty,
    judge,
    judgement_columns,
    score_file,
)
from rageval_report.readers.json_shapes import ShapeError, is_records
from rageval_report.readers.record_columns import columns_of
from rageval_report.readers.run_folders import METRICS_RESULTS
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import Override
from rageval_report.scores.query_ids import id_column_of
from rageval_report.types import JsonObject

_CORRECT, _REASON = "correctness", "correctness_reason"
_TESTSET, _ANSWERS = "testset.jsonl", "agent_answer.json"
_TEXTS = {"question": "question", "reference_answer": "reference", "agent_answer": "answer"}
_SAMPLE = frozenset(("reference_context", "conversation_history", "metadata"))
_BINARY: Override = {
    "kind": "binary",
    "bounds": (0.0, 1.0),
    "description": "Whether the answer agrees with the reference answer, by Giskard's judge.",
    "source": "Giskard",
}
_RAGAS = "RAGAS "
_NO_DOCUMENTS = "Giskard writes 0 for this metric if the answer came without documents"


def _recognise(source: Source) -> float:
    names = frozenset(header_of(source))
    is_report = names >= {*_TEXTS, _CORRECT} and bool(names & _SAMPLE)
    return SURE if is_report or _results_in(source.document_or_none()) else 0.0


def _results_in(document: object) -> JsonObject:
    """The scores by question of a saved report; none if the document is something else."""
    if not isinstance(document, dict) or not document:
        return {}
    first = next(iter(document.values()))
    are_results = (
        isinstance(first, dict)
        and first.keys() >= {_CORRECT, _REASON}
        and isinstance(first[_CORRECT], bool | None)
    )
    return document if are_results else {}


def _read_giskard(source: Source) -> list[ScoreFile]:
    """Read ``metrics_results.json`` of a saved report, or the frame of a report in a table."""
    results = _results_in(source.document_or_none())
    if results:
        return [_read_results(source, results)]
    table = read_table(source)
    if not {_CORRECT, "question"} <= set(map(str, table.frame)):
        raise source.error(
            "expected metrics_results.json of a saved report, or a table with the columns "
            "question, agent_answer and correctness"
        )
    rows = parse_rows(table.frame)
    key = id_column_of(rows[0]) if rows else None
    ids = [row.pop(key) for row in rows] if key is not None else None
    return [_score_file(source, ids, rows, rows, table.notes)]


def _read_results(source: Source, document: JsonObject) -> ScoreFile:
    wrong = [key for key, row in document.items() if not isinstance(row, dict)]
    if wrong:
        raise ShapeError(f"the scores of the question {wrong[0]!r} must be an object")
    questions = lines_beside(source, _TESTSET)
    samples = {str(question.get("id")): dict(question) for question in questions}
    notes = []
    if not set(document) & set(samples):
        samples = {}
    else:
        answers = document_beside(source, _ANSWERS)
        listed = answers if isinstance(answers, list) else []
        # The answers have no ids: they stand in the order of the questions.
        if is_records(listed) and len(listed) == len(questions):
            for question, answer in zip(questions, listed, strict=True):
                answered = {
                    "agent_answer": answer.get("message"),
                    "contexts": answer.get("documents"),
                }
                samples[str(question.get("id"))] |= answered
        else:
            n = f"{len(listed)} answers to {len(questions)} questions"
            notes.append(f"{_ANSWERS} holds {n} and is not used")
    texts = [samples.get(key, {}) for key in document]
    rows = [
        row if sample.get("contexts") else _without_placeholders(row)
        for row, sample in zip(document.values(), texts, strict=True)
    ]
    return _score_file(source, list(document), rows, texts, notes)


def _without_placeholders(row: JsonObject) -> JsonObject:
    """The scores, without the whole 0 that Giskard writes if a metric of Ragas cannot run."""
    # A computed score is a float, and written 0.0.
    return {
        name: None if name.startswith(_RAGAS) and type(value) is int and value == 0 else value
        for name, value in row.items()
    }


def _score_file(
    source: Source,
    ids: list[object] | None,
    rows: Sequence[JsonObject],
    samples: Sequence[JsonObject],
    notes: Iterable[str],
) -> ScoreFile:
    names = _metric_names(rows)
    judged = judgement_columns({name: _judgement(row, name) for name in names} for row in rows)
    used = {*names, _REASON, "id", "metadata", *_TEXTS}
    details = columns_of(
        {
            **{ours: sample.get(theirs) for theirs, ours in _TEXTS.items()},
            **without(sample, used),
            **part(sample, "metadata"),
        }
        for sample in samples
    )
    return score_file(
        run_name(source, METRICS_RESULTS),
        judged,
        drop_empty(details),
        ids=ids,
        origin="metadata",
        metrics={_CORRECT: _BINARY},
        notes=(*notes, *_placeholder_notes(judged.columns, rows)),
        is_one_pipeline=True,
        averages=False,
        empty=f"none of {named(names)} is a score",
    )


def _metric_names(rows: Iterable[JsonObject]) -> list[str]:
    """Correctness, and the other columns of numbers."""
    texts = {*_TEXTS, *_SAMPLE, _REASON, "id", "contexts"}
    names: dict[str, None] = {_CORRECT: None}
    for row in rows:
        for name, value in row.items():
            if name not in texts and (isinstance(value, int | float) or name.startswith(_RAGAS)):
                names[str(name)] = None
    return list(names)


def _judgement(row: Mapping[str, Any], name: str) -> Judgement:
    default = _NO_DOCUMENTS if name.startswith(_RAGAS) and name in row else "Giskard wrote no score"
    return judge(none_if_nan(row.get(name)), text_or_none(row.get(f"{name}_reason")), default)


def _placeholder_notes(columns: Mapping[str, Any], rows: Iterable[JsonObject]) -> Iterator[str]:
    unscored = [
        name
        for name in columns
        if name.startswith(_RAGAS) and _NO_DOCUMENTS in columns.get(f"{name}_reason", ())
    ]
    if unscored:
        yield f"a 0 of {named(unscored)} without documents is not a score and counts as failed"
    zeros = [
        name
        for name in columns
        if name.startswith(_RAGAS) and name not in unscored and 0.0 in columns[name]
    ]
    if zeros and any("agent_answer" in row for row in rows):
        yield (
            f"a 0 of {named(zeros)} may mean that the answer came without documents; a table does "
            f"not show it, {METRICS_RESULTS} of the saved report does"
        )


GISKARD = Reader(
    "giskard",
    "Giskard RAGET: metrics_results.json of a saved report, or report.to_pandas() as a table",
    _recognise,
    _read_giskard,
    ("encoding",),
    example=METRICS_RESULTS,
)
