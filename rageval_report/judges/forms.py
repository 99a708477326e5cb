"""The forms of answers: a JSON schema for servers that keep one, and the same in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rageval_report.judges.parsing.grades import Scale

Schema = Mapping[str, Any]

_TEXT: Schema = {"type": "string"}
_TRUTH: Schema = {"type": "boolean"}
_ONLY = "Answer with one JSON object and nothing else: "


@dataclass(frozen=True)
class Form:
    """How an answer is to be given.

    Parameters
    ----------
    schema : mapping
        As JSON schema, within what all providers keep: every property required, none beside.
    told : str
        The same in words.
    """

    schema: Schema
    told: str


def _object(**properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _grade(scale: Scale) -> Form:
    mark: Schema = {"type": "integer", "enum": scale.marks} if scale.whole else {"type": "number"}
    kind = "a whole number" if scale.whole else "a number"
    told = (
        f'{_ONLY}{{"reasoning": "one or two sentences", "score": {kind} from {scale.low:g} '
        f"(worst) to {scale.high:g} (best)}}"
    )
    return Form(_object(reasoning=_TEXT, score=mark), told)


def _yes_no(scale: Scale) -> Form:  # noqa: ARG001  (as all forms)
    told = f'{_ONLY}{{"reasoning": "one or two sentences", "verdict": true or false}}'
    return Form(_object(reasoning=_TEXT, verdict=_TRUTH), told)


def _verdicts(scale: Scale) -> Form:  # noqa: ARG001
    item = _object(number={"type": "integer"}, reasoning=_TEXT, verdict=_TRUTH)
    told = (
        f'{_ONLY}{{"verdicts": [{{"number": 1, "reasoning": "a short sentence", "verdict": true or '
        "false}, ...]}, one for each number in brackets, in order"
    )
    return Form(_object(verdicts=_list(item)), told)


def _extraction(scale: Scale) -> Form:  # noqa: ARG001
    told = f'{_ONLY}{{"claims": ["...", ...]}}; an empty list where there is no claim'
    return Form(_object(claims=_list(_TEXT)), told)


def _preference(scale: Scale) -> Form:  # noqa: ARG001
    better: Schema = {"type": "string", "enum": ["1", "2", "tie"]}
    told = f'{_ONLY}{{"reasoning": "one or two sentences", "better": "1", "2" or "tie"}}'
    return Form(_object(reasoning=_TEXT, better=better), told)


FORMS: dict[str, Callable[[Scale], Form]] = {
    "grade": _grade,
    "yes_no": _yes_no,
    "claims": _verdicts,
    "contexts": _verdicts,
    "extraction": _extraction,
    "preference": _preference,
}
