"""Amazon Bedrock evaluations: the output of jobs that evaluate RAG systems or models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import text_or_none
from rageval_report.readers.frameworks.json_rows import first_fields, read_rows
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.json_shapes import check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.types import JsonObject

_TURNS, _AUTOMATED = "conversationTurns", "automatedEvaluationResult"
_BUILTIN = "Builtin."
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# The metrics that Bedrock's judges give from 0 to 1.
_RETRIEVAL = ("context_relevance", "context_coverage")
_JUDGED = frozenset(
    (
        *_RETRIEVAL,
        *("correctness", "completeness", "helpfulness", "logical_coherence", "faithfulness"),
        *("citation_precision", "citation_coverage", "coherence", "relevance", "readability"),
        *("following_instructions", "professional_style_and_tone"),
        *("harmfulness", "stereotyping", "refusal"),
    )
)
# Robustness is how much the answers change if the prompts are perturbed.
_LOWER = frozenset(("harmfulness", "stereotyping", "refusal", "robustness", "toxicity"))
_NO_RESULT = "Bedrock gave no result"
_DATA_SET = (
    "this looks like the prompts of a Bedrock evaluation, without results: read the file that the "
    "job wrote to its output location"
)


def _recognise(source: Source) -> float:
    names = first_fields(source)
    return 0.95 if _TURNS in names or {_AUTOMATED, "inputRecord"} <= names else 0.0


def read_bedrock(source: Source) -> list[ScoreFile]:
    """Read the output of an evaluation job of Amazon Bedrock: JSON Lines.

    A query is a turn of a conversation, or a record. The metrics are Bedrock's, without
    ``Builtin.`` and in snake case. One pipeline per knowledge base and model; the name of the file
    where the records name neither. A result that is null has failed.

    Raises
    ------
    ReaderError
        If the file is broken, or has no results.
    ShapeError
        If a record has another shape than Bedrock writes.
    """
    turns = [
        turn for number, row in enumerate(read_rows(source), 1) for turn in _turns(row, number)
    ]
    if not any(turn.judgements for turn in turns):
        raise source.error(_DATA_SET)
    pipelines: dict[str, list[_Turn]] = {}
    for turn in turns:
        pipelines.setdefault(turn.pipeline or source.stem, []).append(turn)
    return [_score_file(name, group) for name, group in pipelines.items()]


# -- records


class _Turn(NamedTuple):
    """A prompt: the pipeline that answered it, its results and its texts."""

    pipeline: str | None
    judgements: dict[str, Judgement]
    details: dict[str, Any]


def _turns(row: JsonObject, number: int) -> Iterator[_Turn]:
    if _TURNS not in row:
        yield _record(row, number)
        return
    turns = check_records(row[_TURNS], f"{_TURNS} of record {number}")
    for position, turn in enumerate(turns, 1):
        place = f"turn {position} of record {number}"
        output = check_object(turn.get("output"), f"output of {place}")
        inputs = check_object(turn.get("inputRecord", turn), f"inputRecord of {place}")
        results = check_records(turn.get("results"), f"results of {place}")
        yield _Turn(
            _join(output.get("knowledgeBaseIdentifier"), output.get("modelIdentifier")),
            _judgements(results),
            {
                "question": _text(inputs.get("prompt")),
                "answer": _text(output.get("text", output.get("response"))),
                "reference": _texts(inputs.get("referenceResponses")),
                "reference_contexts": _texts(inputs.get("referenceContexts")),
                "contexts": _passages(output.get("retrievedPassages")),
                "conversation": number,
                "turn": position,
            },
        )


def _record(row: JsonObject, number: int) -> _Turn:
    """A record of a job that evaluates a model."""
    inputs = check_object(row.get("inputRecord"), f"inputRecord of record {number}")
    result = check_object(row.get(_AUTOMATED), f"{_AUTOMATED} of record {number}")
    scores = check_records(result.get("scores"), f"scores of record {number}")
    responses = row.get("modelResponses")
    response = responses[0] if is_records(responses) else {}
    details = {
        "question": _text(inputs.get("prompt")),
        "answer": _text(response.get("response")),
        "reference": inputs.get("referenceResponse"),
        "category": inputs.get("category"),
    }
    return _Turn(_join(response.get("modelIdentifier")), _judgements(scores), details)


def _join(*identifiers: object) -> str | None:
    """The identifiers in one name; of a resource's name (ARN), the part that differs."""
    texts = [text_or_none(identifier) for identifier in identifiers]
    return ", ".join(text.rpartition("/")[2] or text for text in texts if text) or None


def _judgements(results: Iterable[JsonObject]) -> dict[str, Judgement]:
    judgements = {}
    for result in results:
        name = result.get("metricName")
        if not isinstance(name, str):
            continue
        reason = _explanation(result.get("evaluatorDetails"))
        value = result.get("result")
        is_failed = value is None
        judgements[_metric(name)] = Judgement(
            value, (reason or _NO_RESULT) if is_failed else reason, is_failed
        )
    return judgements


def _metric(name: str) -> str:
    """Bedrock's ``Builtin.LogicalCoherence`` is logical_coherence; other names stay."""
    if not name.startswith(_BUILTIN):
        return name
    return _WORD.sub("_", name.removeprefix(_BUILTIN)).lower()


def _explanation(details: object) -> str | None:
    texts = (
        [text_or_none(detail.get("explanation")) for detail in details or []]
        if (is_records(details))
        else []
    )
    return "; ".join(text for text in texts if text) or None


# -- texts


def _text(value: object) -> str | None:
    """The text of a prompt or an answer, which may be an object with a list of contents."""
    if isinstance(value, dict):
        value = value.get("content", value.get("text"))
    if is_records(value):
        value = "\n".join(str(part.get("text", "")) for part in value)
    return text_or_none(value)


def _texts(value: object) -> list[str] | str | None:
    texts = [text for part in value if (text := _text(part))] if is_records(value) else []
    return texts[0] if len(texts) == 1 else texts or None


def _passages(value: object) -> list[str] | None:
    """The texts of the retrieved passages."""
    listed = value.get("retrievalResults", value) if isinstance(value, dict) else value
    if not is_records(listed):
        return None
    return [text for passage in listed if (text := _text(passage.get("content", passage)))]


# -- a pipeline


def _score_file(name: str, turns: Sequence[_Turn]) -> ScoreFile:
    judged = judgement_columns(turn.judgements for turn in turns)
    details = drop_empty(columns_of(turn.details for turn in turns))
    if not _conversations(turns):
        details = {key: details[key] for key in details if key not in ("conversation", "turn")}
    metrics = {
        metric: override
        for metric in judged.metrics
        if (override := _override(metric, judged.columns[metric]))
    }
    return ScoreFile(
        frame_of({**rename_clashes(details, judged.columns, "record"), **judged.columns}),
        name,
        metrics=metrics,
        metric_columns=judged.metrics,
        notes=(*judged.notes, *_notes(turns)),
        is_one_pipeline=True,
        totals="keep",
    )


def _override(metric: str, scores: Iterable[float]) -> dict[str, Any]:
    override: dict[str, Any] = {}
    if metric in _LOWER:
        override["greater_is_better"] = False
    present = [score for score in scores if score == score]
    if metric in _JUDGED and all(0 <= score <= 1 for score in present):
        override |= {"kind": "proportion", "bounds": (0.0, 1.0)}
    if metric in _RETRIEVAL:
        override["group"] = "retrieval"
    return override


def _conversations(turns: Sequence[_Turn]) -> list[int]:
    """The conversations with several turns."""
    return sorted(
        {turn.details["conversation"] for turn in turns if turn.details.get("turn", 1) > 1}
    )


def _notes(turns: Sequence[_Turn]) -> Iterator[str]:
    n_conversations = len(_conversations(turns))
    if n_conversations:
        yield (
            f"{n_conversations} conversations have several turns; each turn is a query, and turns "
            'of a conversation are not independent: compare with clusters="conversation"'
        )


BEDROCK = Reader(
    "bedrock",
    "Amazon Bedrock: the output of evaluation jobs of RAG systems and models, JSON Lines",
    _recognise,
    read_bedrock,
    ("encoding",),
    example="output.jsonl",
)
