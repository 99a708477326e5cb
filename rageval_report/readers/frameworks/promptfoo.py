"""The output of ``promptfoo eval --output``: JSON, JSON Lines or CSV, with several providers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile, distinct_names
from rageval_report.readers.cell_values import number_or_none
from rageval_report.readers.frameworks.json_rows import first_fields, read_rows
from rageval_report.readers.frameworks.judgements import rename_clashes
from rageval_report.readers.frameworks.promptfoo_csv import (
    described_metrics,
    is_promptfoo_csv,
    pipeline_names,
    read_promptfoo_csv,
    with_question,
)
from rageval_report.readers.frameworks.promptfoo_old_csv import (
    is_old_promptfoo_csv,
    read_old_promptfoo_csv,
)
from rageval_report.readers.json_shapes import check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.scores.states import FAILED, MISSING, SCORED, state_columns
from rageval_report.types import JsonObject

_ERROR = 2  # failureReason: 0 none, 1 an assertion, 2 an error

# A row's own measures, and their names in this library.
_MEASURES = {"score": "score", "success": "passed", "latencyMs": "latency_ms", "cost": "cost_usd"}
_TOKENS = {
    "prompt": "prompt_tokens",
    "completion": "completion_tokens",
    "total": "total_tokens",
}
_PASSED_REASON = "Assertion passed"  # says no more than the score does
_FIELDS = frozenset(("provider", "vars", "success"))


def _recognise(source: Source) -> float:
    if not source.starts_like_json:
        is_csv = is_promptfoo_csv(source) or is_old_promptfoo_csv(source)
        return 0.95 if is_csv else 0.0
    rows = _summary(source.document_or_none()).get("results")
    if isinstance(rows, list) and is_records(rows):
        return 0.95 if all(set(row) >= _FIELDS for row in rows) else 0.0
    return 0.95 if first_fields(source) >= {*_FIELDS, "score"} else 0.0


def _summary(document: object) -> JsonObject:
    """The part of the document that holds the results, in any version."""
    outer = document if isinstance(document, dict) else {}
    # A whole file nests {"results": {"results": [...]}}; some outputs hold the inner object alone.
    inner = outer.get("results")
    return inner if isinstance(inner, dict) else outer


def read_promptfoo(source: Source) -> list[ScoreFile]:
    """Read a promptfoo output: a `ScoreFile` for each provider.

    The file is JSON of version 2 or 3, JSON Lines of its results, or CSV. A provider with several
    prompts is several pipelines. Rows that ended in an error are unscored, with the error in the
    column ``error``: promptfoo itself gives them a score of 0. A metric whose grader failed is
    unscored as well, with the reason.

    Raises
    ------
    ReaderError
        If the file is not a promptfoo output.
    """
    if is_promptfoo_csv(source):
        return read_promptfoo_csv(source)
    if is_old_promptfoo_csv(source):
        return read_old_promptfoo_csv(source)
    summary = _summary(source.document_or_none())
    rows = check_records(summary.get("results"), "results") or _lines(source)
    if not rows:
        raise source.error("expected a promptfoo output: results.results, a list of objects")
    groups = _in_order_of_prompts(_by_pipeline(rows), summary)
    names = distinct_names(pipeline_names(list(groups)))
    return [_score_file(name, group) for name, group in zip(names, groups.values(), strict=True)]


def _lines(source: Source) -> list[JsonObject]:
    """The results of JSON Lines, or of a list."""
    if source.starts_like_json and first_fields(source) >= _FIELDS:
        return read_rows(source)
    source.document  # noqa: B018  raises the error if the file is broken or not text
    return []


# -- pipelines


def _by_pipeline(rows: list[JsonObject]) -> dict[tuple[str, str], list[JsonObject]]:
    """The rows of each provider and prompt, in the order of the tests if they are numbered."""
    groups: dict[tuple[str, str], list[JsonObject]] = {}
    for row in rows:
        groups.setdefault((_provider(row), _prompt(row)), []).append(row)
    return {key: sorted(group, key=_test_number) for key, group in groups.items()}


def _in_order_of_prompts(
    groups: dict[tuple[str, str], list[JsonObject]], summary: JsonObject
) -> dict[tuple[str, str], list[JsonObject]]:
    """The pipelines in the order of the file's list; the rows are in the order of their end."""
    table = check_object(summary.get("table"), "results.table")
    head = check_object(table.get("head"), "results.table.head") or summary
    listed = [
        str(prompt.get("provider")) for prompt in check_records(head.get("prompts"), "prompts")
    ]
    # Reversed, so that the first place of a provider with several prompts counts.
    places = {provider: place for place, provider in reversed(list(enumerate(listed)))}
    return dict(sorted(groups.items(), key=lambda item: places.get(item[0][0], len(listed))))


def _test_number(row: JsonObject) -> float:
    number = row.get("testIdx")
    return number if isinstance(number, int) else 0  # sorting is stable: unnumbered rows stay


def _provider(row: JsonObject) -> str:
    provider = row.get("provider")
    if isinstance(provider, dict):
        return str(provider.get("label") or provider.get("id"))
    return str(provider)


def _prompt(row: JsonObject) -> str:
    """The key of a provider's prompt: the template, as the rendered text differs by row."""
    prompt = row.get("prompt")
    label = prompt.get("label") if isinstance(prompt, dict) else None
    return str(label if row.get("promptIdx") is None else row["promptIdx"])


def _score_file(name: str, rows: list[JsonObject]) -> ScoreFile:
    failures = [_failures(row) for row in rows]
    failed_metrics = {metric for failed in failures for metric in failed}
    scores = {
        metric: cells
        for metric, cells in columns_of(_scores(row) for row in rows).items()
        if metric in failed_metrics or any(cell is not None for cell in cells)
    }
    columns = scores | _state_columns(rows, scores, failures)
    own = rename_clashes(columns_of(_details(row) for row in rows), columns, "promptfoo")
    variables = columns_of(_variables(row) for row in rows)
    details = rename_clashes(variables, {*own, *columns}, "vars") | own
    n_errors = sum(map(_is_error, rows))
    note = f"{n_errors} of {len(rows)} rows ended in an error and are unscored"
    return ScoreFile(
        frame_of(details | columns),
        name,
        metrics=described_metrics(scores),
        metric_columns=tuple(scores),
        notes=(note,) if n_errors else (),
    )


def _state_columns(
    rows: list[JsonObject], scores: CellsByColumn, failures: list[dict[str, str]]
) -> CellsByColumn:
    """The columns of states and reasons: which graders failed, and their explanations."""
    explanations = [_reasons(row) for row in rows]
    columns: CellsByColumn = {}
    for name, cells in scores.items():
        reasons = [
            failed.get(name) or texts.get(name)
            for failed, texts in zip(failures, explanations, strict=True)
        ]
        states = [
            FAILED if name in failed or _is_error(row) else MISSING if cell is None else SCORED
            for row, cell, failed in zip(rows, cells, failures, strict=True)
        ]
        has_failed = any(name in failed for failed in failures)
        columns |= state_columns(name, states if has_failed else [SCORED] * len(states), reasons)
    return columns


# -- one row


def _is_error(row: JsonObject) -> bool:
    """Whether there was no answer to grade; old versions then leave out the grading."""
    reason = row.get("failureReason")
    if reason is None:
        # A failed assertion fills `error` too, but has a grading.
        return bool(row.get("error")) and not row.get("gradingResult")
    return bool(reason == _ERROR)


def _variables(row: JsonObject) -> JsonObject:
    """The test's variables, with a question made of them if none is named like one."""
    variables = check_object(row.get("vars"), "vars")
    prompt = row.get("prompt")
    rendered = prompt.get("raw") if isinstance(prompt, dict) else prompt
    return with_question(variables, rendered)


def _details(row: JsonObject) -> dict[str, Any]:
    """The answer, and the reason that promptfoo gives."""
    details = {"answer": _response(row).get("output"), "reason": _grading_result(row).get("reason")}
    if _is_error(row) or _failed_graders(row):
        details["error"] = row.get("error") or "; ".join(_failed_graders(row).values())
    return details


def _reasons(row: JsonObject) -> dict[str, str]:
    """The reason of each metric, from the parts of the grading that are about one metric."""
    reasons: dict[str, str] = {}
    for part in _components(_grading_result(row)):
        metric = check_object(part.get("assertion"), "assertion").get("metric")
        names: list[Any] = list(_named_scores(part)) or [metric]
        reason = part.get("reason")
        is_single = len(names) == 1 and isinstance(names[0], str)
        if is_single and isinstance(reason, str) and reason not in ("", _PASSED_REASON):
            reasons.setdefault(names[0], reason)
    return reasons


def _scores(row: JsonObject) -> dict[str, float | None]:
    """The metrics of a row; all are unscored if the row ended in an error."""
    scores = {
        ours: number_or_none(row.get(theirs), with_booleans=True)
        for theirs, ours in _MEASURES.items()
    }
    usage = check_object(_response(row).get("tokenUsage"), "response.tokenUsage")
    for theirs, ours in _TOKENS.items():
        # Providers that do not count their tokens write 0.
        scores[ours] = number_or_none(usage.get(theirs)) or None
    for part in (row, *_components(_grading_result(row))):
        for name, value in _named_scores(part).items():
            scores.setdefault(name, number_or_none(value, with_booleans=True))
    # promptfoo (0.121.20) gives an errored row the score 0, which would count as a bad answer.
    if _is_error(row):
        return dict.fromkeys(scores)
    failed = _failures(row)
    names = dict.fromkeys([*scores, *failed])
    return {name: None if name in failed else scores[name] for name in names}


def _response(row: JsonObject) -> JsonObject:
    response = row.get("response")
    return {"output": response} if isinstance(response, str) else check_object(response, "response")


def _grading_result(row: JsonObject) -> JsonObject:
    return check_object(row.get("gradingResult"), "gradingResult")


def _components(grading: JsonObject) -> Iterator[JsonObject]:
    """A grading and all its component gradings."""
    yield grading
    for part in check_records(grading.get("componentResults"), "componentResults"):
        yield from _components(part)


def _named_scores(grading: JsonObject) -> JsonObject:
    """The scores by name; Python assertions of older versions write the key in snake case."""
    scores = grading.get("namedScores") or grading.get("named_scores")
    return check_object(scores, "namedScores")


def _failed_graders(row: JsonObject) -> dict[str, str]:
    """The metrics whose grader failed, which promptfoo counts as 0, and their reasons."""
    failed = {}
    for part in _components(_grading_result(row)):
        if check_object(part.get("metadata"), "metadata").get("graderError"):
            assertion = check_object(part.get("assertion"), "assertion")
            name = assertion.get("metric") or assertion.get("type") or "score"
            failed[str(name)] = str(part.get("reason") or "the grader failed")
    return failed


def _failures(row: JsonObject) -> dict[str, str]:
    """The metrics without a score because a grader failed, among them the score of the row."""
    failed = _failed_graders(row)
    whole = "; ".join(dict.fromkeys(failed.values()))
    return {**failed, "score": whole, "passed": whole} if failed else {}


PROMPTFOO = Reader(
    "promptfoo",
    "promptfoo's output as JSON (versions 2 and 3), JSON Lines or CSV: one pipeline per provider",
    _recognise,
    read_promptfoo,
    ("encoding",),
    example="output.json",
)
