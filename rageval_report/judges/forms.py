"""The forms of answers: a JSON schema for servers that enforce one, and the same in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rageval_report.judges.chats.base import JsonSchema
from rageval_report.judges.parsing.grades import GradeScale

_TEXT: JsonSchema = {"type": "string"}
_TRUTH: JsonSchema = {"type": "boolean"}
_ONLY = "Answer with one JSON object and nothing else: "


@dataclass(frozen=True)
class AnswerForm:
    """The form in which a judge has to answer.

    Parameters
    ----------
    schema : mapping
        The JSON schema, in the subset that all providers support: every property is required, and
        no other is allowed.
    instruction : str
        The same in words, for the prompt.
    """

    schema: JsonSchema
    instruction: str


def _object(**properties: JsonSchema) -> JsonSchema:
    return {
        "type": "object",
        "properties": properties,
        # OpenAI's strict schemas must require every property and allow no other.
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: JsonSchema) -> JsonSchema:
    return {"type": "array", "items": items}


def _grade(scale: GradeScale) -> AnswerForm:
    grade: JsonSchema = {"type": "number"}
    number = "a number"
    if scale.whole:
        grade, number = {"type": "integer", "enum": scale.grades}, "a whole number"
    instruction = (
        f'{_ONLY}{{"reasoning": "one or two sentences", "score": {number} from {scale.low:g} '
        f"(worst) to {scale.high:g} (best)}}"
    )
    # The reasoning comes first, so that the model writes it before it decides.
    return AnswerForm(_object(reasoning=_TEXT, score=grade), instruction)


def _yes_no(scale: GradeScale) -> AnswerForm:  # noqa: ARG001  (the signature of all forms)
    instruction = f'{_ONLY}{{"reasoning": "one or two sentences", "verdict": true or false}}'
    return AnswerForm(_object(reasoning=_TEXT, verdict=_TRUTH), instruction)


def _verdicts(scale: GradeScale) -> AnswerForm:  # noqa: ARG001
    item = _object(number={"type": "integer"}, reasoning=_TEXT, verdict=_TRUTH)
    instruction = (
        f'{_ONLY}{{"verdicts": [{{"number": 1, "reasoning": "a short sentence", "verdict": true or '
        "false}, ...]}, one for each number in brackets, in order"
    )
    return AnswerForm(_object(verdicts=_list(item)), instruction)


def _extraction(scale: GradeScale) -> AnswerForm:  # noqa: ARG001
    instruction = f'{_ONLY}{{"claims": ["...", ...]}}; an empty list where there is no claim'
    return AnswerForm(_object(claims=_list(_TEXT)), instruction)


def _preference(scale: GradeScale) -> AnswerForm:  # noqa: ARG001
    better: JsonSchema = {"type": "string", "enum": ["1", "2", "tie"]}
    instruction = f'{_ONLY}{{"reasoning": "one or two sentences", "better": "1", "2" or "tie"}}'
    return AnswerForm(_object(reasoning=_TEXT, better=better), instruction)


# By kind of rubric; "extraction" is the first request of the kind "claims". The instructions are
# part of every prompt, so that a change of their words makes all cached replies useless.
FORMS: dict[str, Callable[[GradeScale], AnswerForm]] = {
    "grade": _grade,
    "yes_no": _yes_no,
    "claims": _verdicts,
    "contexts": _verdicts,
    "extraction": _extraction,
    "preference": _preference,
}
