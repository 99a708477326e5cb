"""Amazon Bedrock evaluations: the output of jobs that evaluate RAG systems or models."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile
from rageval_report.readers.cell_values import text_or_none
from rageval_report.readers.frameworks.format import (
    SURE,
    Format,
    at,
    first_fields,
    groups_of,
    read_rows,
    snake,
)
from rageval_report.readers.frameworks.rows import Judgement, judge
from rageval_report.readers.json_shapes import check_object, check_records, is_records
from rageval_report.types import JsonObject

_TURNS, _AUTOMATED, _BUILTIN = "conversationTurns", "automatedEvaluationResult", "Builtin."
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


def _recognise(source: Source) -> float:
    names = first_fields(source)
    return SURE if _TURNS in names or {_AUTOMATED, "inputRecord"} <= names else 0.0


def _read_bedrock(source: Source) -> list[ScoreFile]:
    """Read the output of an evaluation job: one pipeline per knowledge base and model."""
    turns = [
        turn for number, row in enumerate(read_rows(source), 1) for turn in _turns(row, number)
    ]
    if not any(turn["scores"] for turn in turns):
        raise source.error(
            "this looks like the prompts of a Bedrock evaluation, without results: read the file "
            "that the job wrote to its output location"
        )
    groups = groups_of(turns, lambda turn: turn["pipeline"] or source.stem)
    return [_PROMPTS.score_file(name, group) for name, group in groups.items()]


def _turns(row: JsonObject, number: int) -> Iterator[JsonObject]:
    """The prompts of a record: the pipeline that answered, the results and the texts of each."""
    if _TURNS not in row:
        inputs = check_object(row.get("inputRecord"), f"inputRecord of record {number}")
        result = check_object(row.get(_AUTOMATED), f"{_AUTOMATED} of record {number}")
        responses = row.get("modelResponses")
        response = responses[0] if is_records(responses) else {}
        yield {
            "pipeline": _name(response.get("modelIdentifier")),
            "scores": _scores(check_records(result.get("scores"), f"scores of record {number}")),
            "question": _text(inputs.get("prompt")),
            "answer": _text(response.get("response")),
            "reference": inputs.get("referenceResponse"),
            "category": inputs.get("category"),
        }
        return
    for position, turn in enumerate(check_records(row[_TURNS], f"{_TURNS} of record {number}"), 1):
        place = f"turn {position} of record {number}"
        output = check_object(turn.get("output"), f"output of {place}")
        inputs = check_object(turn.get("inputRecord", turn), f"inputRecord of {place}")
        yield {
            "pipeline": _name(output.get("knowledgeBaseIdentifier"), output.get("modelIdentifier")),
            "scores": _scores(check_records(turn.get("results"), f"results of {place}")),
            "question": _text(inputs.get("prompt")),
            "answer": _text(at(output, "text|response")),
            "reference": _texts(inputs.get("referenceResponses")),
            "reference_contexts": _texts(inputs.get("referenceContexts")),
            "contexts": _passages(output.get("retrievedPassages")),
            "conversation": number,
            "turn": position,
        }


def _name(*identifiers: object) -> str | None:
    """The identifiers in one name; of a resource's name (ARN), the part that differs."""
    texts = [text_or_none(identifier) for identifier in identifiers]
    return ", ".join(text.rpartition("/")[2] or text for text in texts if text) or None


def _scores(results: Iterable[JsonObject]) -> dict[str, Judgement]:
    """The judgements under Bedrock's names, in snake case without ``Builtin.``."""
    judgements = {}
    for result in results:
        name, details = result.get("metricName"), result.get("evaluatorDetails")
        if isinstance(name, str):
            listed = details if is_records(details) else []
            texts = [text_or_none(detail.get("explanation")) for detail in listed]
            reason = "; ".join(text for text in texts if text) or None
            own = snake(name.removeprefix(_BUILTIN)) if name.startswith(_BUILTIN) else name
            judgements[own] = judge(result.get("result"), reason, "Bedrock gave no result")
    return judgements


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


def _override(metric: str, scores: Sequence[float]) -> dict[str, Any]:
    override: dict[str, Any] = {}
    if metric in _LOWER:
        override["greater_is_better"] = False
    if metric in _JUDGED and all(0 <= score <= 1 for score in scores):
        override |= {"kind": "proportion", "bounds": (0.0, 1.0)}
    if metric in _RETRIEVAL:
        override["group"] = "retrieval"
    return override


def _with_conversations(
    turns: Sequence[JsonObject],
) -> tuple[Sequence[JsonObject], tuple[str, ...]]:
    """The turns; without the numbers of conversations, if each has one turn."""
    several = {turn["conversation"] for turn in turns if turn.get("turn", 1) > 1}
    if not several:
        return [{**turn, "conversation": None, "turn": None} for turn in turns], ()
    return turns, (
        f"{len(several)} conversations have several turns; each turn is a query, and turns "
        'of a conversation are not independent: compare with clusters="conversation"',
    )


_PROMPTS = Format(
    "bedrock",
    "Amazon Bedrock: the output of evaluation jobs of RAG systems and models, JSON Lines",
    "output.jsonl",
    select=_with_conversations,
    judge=lambda turns: [turn["scores"] for turn in turns],
    metrics=_override,
    texts={"question": "question"},
    others="record",
    own=("scores", "pipeline"),
    is_one_pipeline=True,
)
BEDROCK = _PROMPTS.reader(_recognise, _read_bedrock)
