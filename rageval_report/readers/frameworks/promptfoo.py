"""What ``promptfoo eval --output results.json`` writes: one file, several providers."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pandas as pd

from rageval_report.files.source import Source
from rageval_report.readers._columns import columns_of, frame_of
from rageval_report.readers._shapes import is_records, mapping, records
from rageval_report.readers.base import Reader, ScoreFile, distinct
from rageval_report.scores.table import id_column_of, question_text

_ERROR = 2  # failureReason: 0 none, 1 an assertion, 2 an error

# A row's own measures, and under which names they are known here.
_MEASURES = {"score": "score", "success": "passed", "latencyMs": "latency_ms", "cost": "cost_usd"}
_TOKENS = {
    "prompt": "prompt_tokens",
    "completion": "completion_tokens",
    "total": "total_tokens",
}
_PASSED = {"kind": "binary", "description": "Whether all assertions held.", "source": "promptfoo"}

Json = Mapping[str, Any]
Columns = dict[str, list[Any]]


def _recognise(source: Source) -> float:
    rows = _summary(source.document_or_none()).get("results")
    if not isinstance(rows, list) or not is_records(rows):
        return 0.0
    return 0.95 if all({"provider", "vars", "success"} <= set(row) for row in rows) else 0.0


def _summary(document: object) -> Json:
    """The part of the file that holds the results, in whichever version."""
    found = document if isinstance(document, dict) else {}
    inner = found.get("results")
    return inner if isinstance(inner, dict) else found


def read_promptfoo(source: Source) -> list[ScoreFile]:
    """Read a promptfoo output file, versions 2 and 3: a `ScoreFile` for each provider.

    A provider with several prompts is several pipelines. Rows that ended in an error are unscored,
    with the error in the column ``error``: promptfoo itself gives them a score of 0.

    Parameters
    ----------
    source : Source
        The file.

    Raises
    ------
    ReaderError
        If it is no promptfoo output.
    """
    summary = _summary(source.document)
    rows = records(summary.get("results"), "results")
    if not rows:
        raise source.error("expected a promptfoo output: results.results, a list of objects")
    groups = _in_order_of_prompts(_by_pipeline(rows), summary)
    names = distinct(_pipeline_names(list(groups)))
    return [_score_file(name, group) for name, group in zip(names, groups.values(), strict=True)]


# -- pipelines


def _by_pipeline(rows: list[Json]) -> dict[tuple[str, str], list[Json]]:
    """The rows of each provider and prompt, in the order of the tests where they are numbered."""
    groups: dict[tuple[str, str], list[Json]] = {}
    for row in rows:
        groups.setdefault((_provider(row), _prompt(row)), []).append(row)
    return {key: sorted(group, key=_test_number) for key, group in groups.items()}


def _in_order_of_prompts(
    groups: dict[tuple[str, str], list[Json]], summary: Json
) -> dict[tuple[str, str], list[Json]]:
    """The pipelines as the file lists them; the rows stand in the order in which they ended."""
    table = mapping(summary.get("table"), "results.table")
    head = mapping(table.get("head"), "results.table.head") or summary
    listed = [str(prompt.get("provider")) for prompt in records(head.get("prompts"), "prompts")]
    places = {provider: place for place, provider in reversed(list(enumerate(listed)))}
    return dict(sorted(groups.items(), key=lambda item: places.get(item[0][0], len(listed))))


def _test_number(row: Json) -> float:
    number = row.get("testIdx")
    return number if isinstance(number, int) else 0  # sorting is stable: unnumbered rows stay


def _provider(row: Json) -> str:
    provider = row.get("provider")
    if isinstance(provider, dict):
        return str(provider.get("label") or provider.get("id"))
    return str(provider)


def _prompt(row: Json) -> str:
    """What tells a provider's prompts apart: the template, as the rendered text differs by row."""
    prompt = row.get("prompt")
    label = prompt.get("label") if isinstance(prompt, dict) else None
    return str(label if row.get("promptIdx") is None else row["promptIdx"])


def _pipeline_names(keys: list[tuple[str, str]]) -> list[str]:
    prompts = {key: [prompt for provider, prompt in keys if provider == key[0]] for key in keys}
    return [
        key[0] if len(prompts[key]) == 1 else f"{key[0]} (prompt {prompts[key].index(key[1]) + 1})"
        for key in keys
    ]


def _score_file(name: str, rows: list[Json]) -> ScoreFile:
    scores = columns_of(_scores(row) for row in rows)
    scores = {
        name: cells for name, cells in scores.items() if any(one is not None for one in cells)
    }
    own = _renamed(columns_of(_details(row) for row in rows), scores, "promptfoo")
    variables = columns_of(_variables(row) for row in rows)
    details = _renamed(variables, {*own, *scores}, "vars") | own
    n_errors = sum(map(_is_error, rows))
    note = f"{n_errors} of {len(rows)} rows ended in an error and are unscored"
    return ScoreFile(
        frame_of(details | scores),
        name,
        metrics={"passed": _PASSED} if "passed" in scores else {},
        metric_columns=tuple(scores),
        notes=(note,) if n_errors else (),
    )


def _renamed(columns: Columns, taken: Iterable[str], origin: str) -> Columns:
    """The columns under names that are not taken."""
    return {f"{origin}.{name}" if name in taken else name: cells for name, cells in columns.items()}


# -- one row


def _is_error(row: Json) -> bool:
    """Whether there was no answer to grade; old versions tell it by what they leave out."""
    reason = row.get("failureReason")
    if reason is None:
        return bool(row.get("error")) and not row.get("gradingResult")
    return bool(reason == _ERROR)


def _variables(row: Json) -> Json:
    """The test's variables, with a question that tells tests apart where none is named like one."""
    variables = mapping(row.get("vars"), "vars")
    names = pd.DataFrame(columns=list(variables))
    if id_column_of(variables) is not None or question_text(names) is not None:
        return variables
    prompt = row.get("prompt")
    rendered = prompt.get("raw") if isinstance(prompt, dict) else prompt
    told = json.dumps(variables, ensure_ascii=False) if variables else rendered
    return {"question": told, **variables}


def _details(row: Json) -> dict[str, Any]:
    """The answer, and the reasons that promptfoo gives."""
    response, grading = _response(row), _grading(row)
    found = {"answer": response.get("output"), "reason": grading.get("reason")}
    for part in _components(grading):
        names = list(_named_scores(part))
        if len(names) == 1 and part.get("reason"):
            found.setdefault(f"{names[0]}_reason", part["reason"])
    if _is_error(row) or _failed_judges(row):
        found["error"] = row.get("error") or "; ".join(_failed_judges(row).values())
    return found


def _scores(row: Json) -> dict[str, float | None]:
    """The row's metrics; all unscored where the row ended in an error."""
    found = {ours: _number(row.get(theirs)) for theirs, ours in _MEASURES.items()}
    usage = mapping(_response(row).get("tokenUsage"), "response.tokenUsage")
    for theirs, ours in _TOKENS.items():
        found[ours] = _number(usage.get(theirs)) or None  # providers that do not count write 0
    for part in (row, *_components(_grading(row))):
        for name, value in _named_scores(part).items():
            found.setdefault(name, _number(value))
    if _is_error(row):
        return dict.fromkeys(found)
    failed = _failed_judges(row)
    unscored = {*failed, "score", "passed"} if failed else set()
    return {name: None if name in unscored else value for name, value in found.items()}


def _response(row: Json) -> Json:
    response = row.get("response")
    return {"output": response} if isinstance(response, str) else mapping(response, "response")


def _grading(row: Json) -> Json:
    return mapping(row.get("gradingResult"), "gradingResult")


def _components(grading: Json) -> Iterator[Json]:
    """A grading and all the gradings that it is made of."""
    yield grading
    for part in records(grading.get("componentResults"), "componentResults"):
        yield from _components(part)


def _named_scores(grading: Json) -> Json:
    """Python assertions of older versions write them in snake case."""
    found = grading.get("namedScores") or grading.get("named_scores")
    return mapping(found, "namedScores")


def _failed_judges(row: Json) -> dict[str, str]:
    """The metrics whose grader failed, which promptfoo counts as 0, and the reason."""
    failed = {}
    for part in _components(_grading(row)):
        if mapping(part.get("metadata"), "metadata").get("graderError"):
            assertion = mapping(part.get("assertion"), "assertion")
            name = assertion.get("metric") or assertion.get("type") or "score"
            failed[str(name)] = str(part.get("reason") or "the grader failed")
    return failed


def _number(value: object) -> float | None:
    if isinstance(value, int | float) and not math.isnan(value):
        return float(value)
    return None


PROMPTFOO = Reader(
    "promptfoo",
    "promptfoo's output.json, versions 2 and 3: one pipeline a provider",
    _recognise,
    read_promptfoo,
    ("encoding",),
)
