"""Giskard's RAG evaluation toolkit (RAGET): the report of an evaluation, or its saved folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import json_text, none_if_nan, parse_rows, text_or_none
from rageval_report.readers.frameworks.files_beside import (
    document_beside,
    lines_beside,
    run_name,
)
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.json_shapes import ShapeError, is_records
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.readers.run_folders import METRICS_RESULTS
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.metric import Override
from rageval_report.scores.query_ids import QUERY_ID, id_column_of
from rageval_report.types import JsonObject

_CORRECT, _REASON = "correctness", "correctness_reason"
_TESTSET, _ANSWERS = "testset.jsonl", "agent_answer.json"
_QUESTION = {
    "question": "question",
    "reference_answer": "reference",
    "agent_answer": "answer",
}
_SAMPLE = frozenset(("reference_context", "conversation_history", "metadata"))
_BINARY: Override = {
    "kind": "binary",
    "bounds": (0.0, 1.0),
    "description": "Whether the answer agrees with the reference answer, by Giskard's judge.",
    "source": "Giskard",
}
_RAGAS = "RAGAS "
_NO_VALUE = "Giskard wrote no score"
_NO_DOCUMENTS = "Giskard writes 0 for this metric if the answer came without documents"


def _recognise(source: Source) -> float:
    if _are_results(source.document_or_none()):
        return 0.95
    names = frozenset(header_of(source))
    is_report = names >= {*_QUESTION, _CORRECT} and bool(names & _SAMPLE)
    return 0.95 if is_report else 0.0


def _are_results(document: object) -> bool:
    """Whether this is metrics_results.json: the scores of each question by its id."""
    if not isinstance(document, dict) or not document:
        return False
    first = next(iter(document.values()))
    return (
        isinstance(first, dict)
        and first.keys() >= {_CORRECT, _REASON}
        and isinstance(first[_CORRECT], bool | None)
    )


def read_giskard(source: Source) -> list[ScoreFile]:
    """Read ``metrics_results.json`` of a saved report, or the frame of a report in a table.

    ``correctness`` is whether the answer was right; other metrics, such as those of Ragas, keep
    their names. The saved report has its texts in ``testset.jsonl`` and ``agent_answer.json``,
    which are read if they lie beside it. The type of question is the column ``question_type``, from
    which Giskard computes its scores of components. A score that is null or NaN has failed.

    Raises
    ------
    ReaderError
        If the file is broken, or is not a report.
    ShapeError
        If the scores of a question are not an object.
    """
    document = source.document_or_none()
    if _are_results(document):
        return [_read_results(source, document)]
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


# -- a saved report


def _read_results(source: Source, document: JsonObject) -> ScoreFile:
    wrong = [key for key, row in document.items() if not isinstance(row, dict)]
    if wrong:
        raise ShapeError(f"the scores of the question {wrong[0]!r} must be an object")
    samples, notes = _samples_beside(source, document)
    rows = [_without_placeholders(row, samples.get(key, {})) for key, row in document.items()]
    texts = [samples.get(key, {}) for key in document]
    return _score_file(source, list(document), rows, texts, notes)


def _samples_beside(
    source: Source, document: JsonObject
) -> tuple[Mapping[str, JsonObject], tuple[str, ...]]:
    """The questions and answers by id, from the files of the same folder."""
    questions = lines_beside(source, _TESTSET)
    samples: dict[str, dict[str, Any]] = {
        str(question.get("id")): dict(question) for question in questions
    }
    if not set(document) & set(samples):
        return {}, ()
    answers = document_beside(source, _ANSWERS)
    # The answers have no ids: they stand in the order of the questions.
    if is_records(answers) and len(answers) == len(questions):
        for question, answer in zip(questions, answers, strict=True):
            sample = samples[str(question.get("id"))]
            sample["agent_answer"] = answer.get("message")
            sample["contexts"] = answer.get("documents")
        return samples, ()
    n_answers = len(answers) if isinstance(answers, list) else 0
    note = f"{_ANSWERS} holds {n_answers} answers to {len(questions)} questions and is not used"
    return samples, (note,)


def _without_placeholders(row: JsonObject, sample: Mapping[str, Any]) -> JsonObject:
    """The scores, without the whole 0 that Giskard writes if a metric of Ragas cannot run."""
    if sample.get("contexts"):
        return row
    return {
        name: None
        # A computed score is a float, and written 0.0.
        if name.startswith(_RAGAS) and type(value) is int and value == 0
        else value
        for name, value in row.items()
    }


# -- scores


def _score_file(
    source: Source,
    ids: list[object] | None,
    rows: Sequence[JsonObject],
    samples: Sequence[JsonObject],
    notes: Iterable[str],
) -> ScoreFile:
    names = _metric_names(rows)
    judged = judgement_columns({name: _judgement(row, name) for name in names} for row in rows)
    if not judged.metrics:
        raise source.error(f"none of {named(names)} is a score")
    used = {*names, _REASON, "id"}
    details = drop_empty(columns_of(_details(sample, used) for sample in samples))
    frame = frame_of(
        {
            **({} if ids is None else {QUERY_ID: [json_text(query_id) for query_id in ids]}),
            **rename_clashes(details, judged.columns, "metadata"),
            **judged.columns,
        }
    )
    return ScoreFile(
        frame,
        run_name(source, METRICS_RESULTS),
        metrics={_CORRECT: _BINARY} if _CORRECT in judged.metrics else {},
        metric_columns=judged.metrics,
        notes=(*notes, *judged.notes, *_placeholder_notes(judged.columns, judged.metrics, rows)),
        is_one_pipeline=True,
        totals="keep",
    )


def _metric_names(rows: Iterable[JsonObject]) -> list[str]:
    """Correctness, and the other columns of numbers."""
    texts = {*_QUESTION, *_SAMPLE, _REASON, "id", "contexts"}
    names: dict[str, None] = {_CORRECT: None}
    for row in rows:
        for name, value in row.items():
            if name not in texts and (isinstance(value, int | float) or name.startswith(_RAGAS)):
                names[str(name)] = None
    return list(names)


def _judgement(row: Mapping[str, Any], name: str) -> Judgement:
    reason = text_or_none(row.get(f"{name}_reason"))
    value = none_if_nan(row.get(name))
    if value is not None:
        return Judgement(value, reason)
    default = _NO_DOCUMENTS if name.startswith(_RAGAS) and name in row else _NO_VALUE
    return Judgement(None, reason or default, is_failed=True)


def _details(sample: Mapping[str, Any], used: Iterable[str]) -> dict[str, Any]:
    metadata = sample.get("metadata")
    fields = metadata if isinstance(metadata, dict) else {}
    others = {
        name: value
        for name, value in sample.items()
        if name not in _QUESTION and name not in {*used, "metadata"}
    }
    texts = {ours: sample.get(theirs) for theirs, ours in _QUESTION.items()}
    return {**texts, **others, **{str(name): value for name, value in fields.items()}}


def _placeholder_notes(
    columns: Mapping[str, Any], metrics: Iterable[str], rows: Iterable[JsonObject]
) -> Iterator[str]:
    of_ragas = [name for name in metrics if name.startswith(_RAGAS)]
    unscored = [name for name in of_ragas if _NO_DOCUMENTS in columns.get(f"{name}_reason", ())]
    if unscored:
        yield f"a 0 of {named(unscored)} without documents is not a score and counts as failed"
    zeros = [name for name in of_ragas if name not in unscored and 0.0 in columns[name]]
    if zeros and any("agent_answer" in row for row in rows):
        yield (
            f"a 0 of {named(zeros)} may mean that the answer came without documents; a table does "
            f"not show it, {METRICS_RESULTS} of the saved report does"
        )


GISKARD = Reader(
    "giskard",
    "Giskard RAGET: metrics_results.json of a saved report, or report.to_pandas() as a table",
    _recognise,
    read_giskard,
    ("encoding",),
    example=METRICS_RESULTS,
)
