"""The output of ``promptfoo eval --output``: JSON, JSON Lines or CSV, with several providers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import pandas as pd

from rageval_report.files.source import Source
from rageval_report.files.strict_json import load_json
from rageval_report.readers.base import ScoreFile, distinct_names
from rageval_report.readers.cell_values import json_text, number_or_none, parse_objects
from rageval_report.readers.delimited import is_cut, rows
from rageval_report.readers.frameworks.format import (
    SURE,
    Format,
    at,
    first_fields,
    groups_of,
    read_rows,
    reader_of,
    without,
)
from rageval_report.readers.frameworks.rows import Judgement, last_line
from rageval_report.readers.json_shapes import check_object, check_records, is_records
from rageval_report.scores.metric import Override
from rageval_report.scores.table import id_column_of, question_text
from rageval_report.types import JsonObject

_FIELDS = frozenset(("provider", "vars", "success"))
_PASSED_AS = {"PASS": 1.0, "FAIL": 0.0}
_NO_REASON = "ended in an error; promptfoo's CSV does not say which"
_ROUNDED = "promptfoo's CSV rounds scores to two places; its JSON has them in full"
_TOKENS = {"prompt": "prompt_tokens", "completion": "completion_tokens", "total": "total_tokens"}
_SUMS = {"score", "passed", "latency_ms", "cost_usd", *_TOKENS.values()}


def _recognise(source: Source) -> float:
    if not source.starts_like_json:
        return SURE if _is_csv(source) or _is_old_csv(source) else 0.0
    listed = _summary(source.document_or_none()).get("results")
    if is_records(listed):
        return SURE if all(row.keys() >= _FIELDS for row in listed) else 0.0
    return SURE if first_fields(source) >= {*_FIELDS, "score"} else 0.0


def _read_promptfoo(source: Source) -> list[ScoreFile]:
    """Read a promptfoo output: a pipeline for each provider, or each prompt if it has several."""
    if _is_csv(source) or _is_old_csv(source):
        return _read_csv(source)
    summary = _summary(source.document_or_none())
    listed = check_records(summary.get("results"), "results")
    if not listed and source.starts_like_json and first_fields(source) >= _FIELDS:
        listed = read_rows(source)
    if not listed:
        _ = source.document  # the error if the file is broken or not text
        raise source.error("expected a promptfoo output: results.results, a list of objects")
    groups: dict[tuple[str, str], list[JsonObject]] = {}
    for row in listed:
        # The template of the prompt is its key, as the rendered text differs by row.
        prompt = str(at(row, "promptIdx|prompt.label"))
        groups.setdefault((_provider(row), prompt), []).append(row)
    places = _places(summary)
    keys = sorted(groups, key=lambda key: places.get(key[0], len(places)))
    # Rows are in the order of their end; sorting is stable, so unnumbered rows stay.
    ordered = [
        sorted(groups[key], key=lambda row: n if isinstance(n := row.get("testIdx"), int) else 0)
        for key in keys
    ]
    return [
        _pipeline(name, _graded_rows(own))
        for name, own in zip(_pipeline_names(keys), ordered, strict=True)
    ]


# -- pipelines


def _pipeline_names(keys: Sequence[tuple[str, str]]) -> list[str]:
    """The providers' names, with the number of the prompt if a provider has several."""
    prompts = groups_of(keys, lambda key: key[0])
    numbers = {key: f" (prompt {prompts[key[0]].index(key) + 1})" for key in keys}
    names = (key[0] + (numbers[key] if len(prompts[key[0]]) > 1 else "") for key in keys)
    return distinct_names(names)


def _with_question(variables: Mapping[str, Any], rendered: object = None) -> Mapping[str, Any]:
    """The test's variables, with a question made of them if none is named like one."""
    names = pd.DataFrame(columns=list(variables))
    if id_column_of(variables) is not None or question_text(names) is not None:
        return variables
    question = json.dumps(variables, ensure_ascii=False) if variables else rendered
    return {"question": question, **variables}


def _pipeline(name: str, results: Sequence[JsonObject], notes: Iterable[str] = ()) -> ScoreFile:
    """A pipeline of rows with variables (`vars`), judgements, an answer and reasons (`own`)."""
    names = {metric for row in results for metric in row["scores"]}
    # promptfoo's own sums stay out of corrections beside metrics.
    outside = {"in_family": False} if names - _SUMS else {}
    has_repeats = len({json_text(row["vars"]) for row in results}) < len(results)
    passed: Override = {
        "kind": "proportion" if has_repeats else "binary",
        "description": "Whether all assertions held.",
        "source": "promptfoo",
        **outside,
    }
    n_errors = sum(row["error"] is not None for row in results)
    n = f"{n_errors} of {len(results)}"
    of_errors = [f"{n} rows ended in an error and are unscored"] if n_errors else []
    metrics = {"passed": passed, "score": {**outside}}
    return _FORMAT.score_file(name, results, (*notes, *of_errors), metrics=metrics)


_FORMAT = Format.of("promptfoo")


# -- JSON


def _summary(document: object) -> JsonObject:
    """The part of the document that holds the results, in any version."""
    outer = document if isinstance(document, dict) else {}
    # A whole file nests {"results": {"results": [...]}}; some outputs hold the inner object alone.
    inner = outer.get("results")
    return inner if isinstance(inner, dict) else outer


def _places(summary: JsonObject) -> dict[str, int]:
    """The place of each provider in the file's list; the rows are in the order of their end."""
    listed = check_records(at(summary, "table.head.prompts|prompts"), "prompts")
    providers = dict.fromkeys(str(prompt.get("provider")) for prompt in listed)
    return {provider: place for place, provider in enumerate(providers)}


def _provider(row: JsonObject) -> str:
    provider = row.get("provider")
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id")
    return str(provider)


def _graded_rows(results: Sequence[JsonObject]) -> list[dict[str, Any]]:
    """The results with their variables, judgements, answers and reasons."""
    graded: list[dict[str, Any]] = []
    for row in results:
        prompt = row.get("prompt")
        rendered = prompt.get("raw") if isinstance(prompt, dict) else prompt
        error = (row.get("error") or "the row ended in an error") if _is_error(row) else None
        own = {
            "answer": _response(row).get("output"),
            "reason": _grading(row).get("reason"),
            "error": error or "; ".join(_failed_graders(row).values()) or None,
        }
        variables = _with_question(check_object(row.get("vars"), "vars"), rendered)
        judged = _judgements(row)
        graded.append({"vars": variables, "own": own, "error": last_line(error), "scores": judged})
    # Where a grader failed elsewhere, an error of the row fails the metrics of that grader too.
    broken = {key for row in graded for key, each in row["scores"].items() if each.is_failed}
    for row in graded:
        if row["error"] is not None:
            row["scores"] |= dict.fromkeys(broken, Judgement(None, row["error"], is_failed=True))
    return graded


def _is_error(row: JsonObject) -> bool:
    """Whether there was no answer to grade; old versions then leave out the grading."""
    reason = row.get("failureReason")
    if reason is None:
        # A failed assertion fills `error` too, but has a grading.
        return bool(row.get("error")) and not row.get("gradingResult")
    return bool(reason == 2)  # 0 is none, 1 an assertion


def _response(row: JsonObject) -> JsonObject:
    response = row.get("response")
    return {"output": response} if isinstance(response, str) else check_object(response, "response")


def _grading(row: JsonObject) -> JsonObject:
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


def _judgements(row: JsonObject) -> dict[str, Judgement]:
    """The score, whether the test passed, what it took, and the scores that gradings name."""
    failed, reasons = _failed_graders(row), _reasons(row)
    scores: dict[str, Any] = {"score": row.get("score"), "passed": row.get("success")}
    scores |= _measures(row)
    for part in (row, *_components(_grading(row))):
        scores |= without(_named_scores(part), scores)
    if failed:  # then the sums are not those of all graders
        failed |= dict.fromkeys(("score", "passed"), "; ".join(dict.fromkeys(failed.values())))
    judgements = {}
    for name in dict.fromkeys([*scores, *failed]):
        number = number_or_none(scores.get(name), with_booleans=True)
        # promptfoo (0.121.20) gives an errored row the score 0, which would count as a bad answer.
        score = None if _is_error(row) or name in failed else number
        judgements[name] = Judgement(score, failed.get(name) or reasons.get(name), name in failed)
    return judgements


def _failed_graders(row: JsonObject) -> dict[str, str]:
    """The metrics whose grader failed, which promptfoo counts as 0, and their reasons."""
    failed = {}
    for part in _components(_grading(row)):
        if check_object(part.get("metadata"), "metadata").get("graderError"):
            assertion = check_object(part.get("assertion"), "assertion")
            name = assertion.get("metric") or assertion.get("type") or "score"
            failed[str(name)] = str(part.get("reason") or "the grader failed")
    return failed


def _reasons(row: JsonObject) -> dict[str, str]:
    """The reason of each metric, from the parts of the grading that are about one metric."""
    reasons: dict[str, str] = {}
    for part in _components(_grading(row)):
        metric = check_object(part.get("assertion"), "assertion").get("metric")
        names: list[Any] = list(_named_scores(part)) or [metric]
        reason = part.get("reason")
        is_single = len(names) == 1 and isinstance(names[0], str)
        # "Assertion passed" says no more than the score does.
        if is_single and isinstance(reason, str) and reason not in ("", "Assertion passed"):
            reasons.setdefault(names[0], reason)
    return reasons


def _measures(row: JsonObject) -> dict[str, float]:
    usage = check_object(_response(row).get("tokenUsage"), "response.tokenUsage")
    measures = {
        "latency_ms": number_or_none(row.get("latencyMs")),
        "cost_usd": number_or_none(row.get("cost")),
        # Providers that do not count their tokens write 0.
        **{ours: number_or_none(usage.get(theirs)) or None for theirs, ours in _TOKENS.items()},
    }
    return {name: number for name, number in measures.items() if number is not None}


# -- CSV: the tests' variables, then for each provider a block of the same columns

# The columns after the output of each provider. Newer versions write one column per metric between
# the last of them and the grader's reason.
_BLOCK = ("Status", "Score", "Named Scores")
_METRIC, _REASON, _COMMENT, _DESCRIPTION = "Metric: ", "Grader Reason", "Comment", "Description"
_TITLE = re.compile(r"\[(?P<provider>.*?)\] (?P<prompt>.*)", re.DOTALL)
# promptfoo puts an apostrophe before cells that a spreadsheet would read as a formula.
_ESCAPED = re.compile(r"'(?=[\s\u200b\u200c\u200d]*[=@+-])")
# The reasons of promptfoo's graders without a verdict; the CSV then has a score of 0.
_NO_VERDICT = re.compile(r"Could not extract JSON|No output|.*API error", re.DOTALL)


class _Block(NamedTuple):
    """The positions of a provider's columns: of its output, of its scores by name, and the end."""

    output: int
    places: dict[str, int]
    stop: int


class _GradedCell(NamedTuple):
    """What the CSV says about a provider in one test."""

    scores: Mapping[str, object] = {}
    answer: str | None = None
    reason: str | None = None
    error: str | None = None
    comment: str | None = None
    failed: frozenset[str] = frozenset()


def _is_csv(source: Source) -> bool:
    """Whether the first line of a file is the header of promptfoo's CSV."""
    if not source.is_text or source.starts_like_json:
        return False
    header = next(rows(source.text, ","), None)
    return header is not None and bool(_blocks(header.cells))


def _blocks(header: Sequence[str]) -> list[_Block]:
    blocks = []
    for place in range(1, len(header) - len(_BLOCK)):
        if tuple(header[place : place + len(_BLOCK)]) != _BLOCK:
            continue
        stop = place + len(_BLOCK)
        while stop < len(header) and header[stop].startswith(_METRIC):
            stop += 1
        if tuple(header[stop : stop + 2]) == (_REASON, _COMMENT):
            places = {header[column]: column for column in range(place, stop + 2)}
            blocks.append(_Block(place - 1, places, stop + 2))
    return blocks


def _read_csv(source: Source) -> list[ScoreFile]:
    """Read promptfoo's CSV; a row that ended in an error has a score of 0 in the file."""
    header, table, lines = _parse_csv(source)
    blocks = _blocks(header) or [
        _Block(place, {}, place + 1) for place, cell in enumerate(table[0]) if _CELL.match(cell)
    ]
    inside = {place for block in blocks for place in range(block.output, block.stop)}
    others = [place for place in range(len(header)) if place not in inside]
    labels = distinct_names(header[place] for place in others)
    tests = []
    for row in table:
        cells = dict(zip(labels, (row[place] for place in others), strict=True))
        tests.append({**_with_question(without(cells, [_DESCRIPTION])), **cells})
    names = _pipeline_names([_provider_and_prompt(header[block.output]) for block in blocks])
    files = []
    for name, block in zip(names, blocks, strict=True):
        if block.places:
            outputs = [_output(row, block) for row in table]
        else:
            outputs = _old_outputs(source, [row[block.output] for row in table], lines)
        results = [_result(*each) for each in zip(tests, outputs, strict=True)]
        metrics = dict.fromkeys(metric for row in results for metric in row["scores"])
        for result in results:
            if result["error"]:
                result["scores"] = dict.fromkeys(metrics, Judgement(None, result["error"], True))
        files.append(_pipeline(name, results, [_ROUNDED]))
    return files


def _result(test: Mapping[str, Any], output: _GradedCell) -> dict[str, Any]:
    judged = {
        name: Judgement(
            None if is_failed else score, output.reason if is_failed else None, is_failed
        )
        for name, score in output.scores.items()
        for is_failed in [name in output.failed]
    }
    own = {each: getattr(output, each) for each in ("answer", "reason", "comment", "error")}
    return {"vars": test, "own": own, "error": output.error, "scores": judged}


def _parse_csv(source: Source) -> tuple[list[str], list[list[str]], list[int]]:
    """The header, the other rows without apostrophes before formulas, and the lines of these."""
    first, *others = rows(source.text, ",")
    header, table = first.cells, []
    for row in others:
        if row is others[-1] and is_cut(row, ","):
            raise source.error("a quote in this row is never closed; is the file cut?", row.line)
        if len(row.cells) != len(header):
            message = f"expected {len(header)} fields, as in the header; found {len(row.cells)}"
            raise source.error(message, row.line)
        table.append([text[1:] if _ESCAPED.match(text) else text for text in row.cells])
    if not table:
        raise source.error("the file has column names, but no rows")
    return header, table, [row.line for row in others]


def _provider_and_prompt(title: str) -> tuple[str, str]:
    """The provider and the prompt in the title "[provider] prompt", or in a title of JSON."""
    try:
        prompt = load_json(title)
    except (ValueError, RecursionError):
        prompt = None
    if isinstance(prompt, dict) and isinstance(prompt.get("provider"), str):
        texts = (prompt.get(key) for key in ("label", "display", "raw"))
        return prompt["provider"], next((text for text in texts if isinstance(text, str)), "")
    match = _TITLE.fullmatch(title)
    return (match["provider"], match["prompt"]) if match else (title, title)


def _output(row: Sequence[str], block: _Block) -> _GradedCell:
    cells = {key: row[place] for key, place in block.places.items() if row[place]}
    [nested] = parse_objects([cells.get("Named Scores")])
    named = dict(nested) if isinstance(nested, dict) else {}
    for key, cell in cells.items():
        if key.startswith(_METRIC):
            named.setdefault(key.removeprefix(_METRIC), cell)
    status, reason = cells.get("Status", ""), cells.get(_REASON)
    sums = {"score": cells.get("Score"), "passed": _PASSED_AS.get(status)}
    failed: set[str] = set()
    if status == "FAIL" and _NO_VERDICT.match(reason or ""):
        # The CSV does not say which grader failed; a single 0 must be the one.
        zeros = [key for key in named.keys() - sums.keys() if named[key] in (0, "0.00")]
        failed = {*sums, *(zeros if len(zeros) == 1 else [])}
    error = (reason or _NO_REASON) if status == "ERROR" else None
    answer = None if error else row[block.output]
    scores = {**sums, **named}
    return _GradedCell(scores, answer, reason, error, cells.get(_COMMENT), frozenset(failed))


# -- CSV before 0.104: one cell per provider with all results, such as
# "[PASS] (1.51, tone: 0.80)", the answer and the grader's reason

_NUMBER = r"-?(?:\d+(?:\.\d+)?|Infinity)|NaN"
# Since 0.28 the scores end the line, and may have names; before, the answer follows after a blank.
_CELL = re.compile(
    rf"\[(?P<status>PASS|FAIL|ERROR)\] \((?P<score>{_NUMBER})"
    r"(?:(?:, (?P<named>[^\n]*))?\)(?:\n+|$)|\) )(?P<text>.*)",
    re.DOTALL,
)
_NAMED = re.compile(rf"(?P<name>.+?): (?P<score>{_NUMBER})(?:, |$)")
_OLD_REASON = re.compile(r"(?:^|\n\n)(?:(?:Pass|Fail) )?Reason: (?P<reason>.*)\Z", re.DOTALL)
_RULE = "\n---"  # between what failed and the answer


def _is_old_csv(source: Source) -> bool:
    """Whether a cell of the first row of a CSV file holds the results of a provider."""
    if not source.is_text or source.starts_like_json or b"] (" not in source.head:
        return False
    first = next(islice(rows(source.text, ","), 1, None), None)
    return first is not None and any(map(_CELL.match, first.cells))


def _old_outputs(source: Source, cells: Sequence[str], lines: Sequence[int]) -> list[_GradedCell]:
    matches = list(map(_CELL.match, cells))
    for match, cell, line in zip(matches, cells, lines, strict=True):
        if match is None and cell.strip():
            message = f'expected "[PASS] (score)" in the cell of a provider; got {cell[:40]!r}'
            raise source.error(message, line)
    # A version that writes reasons leaves them out only where nothing was graded.
    has_reasons = any(match and _OLD_REASON.search(match["text"]) for match in matches)
    return [_GradedCell() if each is None else _old_output(each, has_reasons) for each in matches]


def _old_output(match: re.Match[str], has_reasons: bool) -> _GradedCell:
    text, reason = match["text"].strip("\n"), None
    ending = _OLD_REASON.search(text)
    if ending is not None:
        text, reason = text[: ending.start()].strip("\n"), ending["reason"].strip() or None
    failure, rule, answer = text.partition(_RULE)
    failure, answer = failure.strip(), answer.lstrip("\n")
    is_split = match["status"] == "FAIL" and bool(rule)
    scores = {
        "score": match["score"],
        "passed": _PASSED_AS.get(match["status"]),
        **{part["name"]: part["score"] for part in _NAMED.finditer(match["named"] or "")},
    }
    is_ungraded = is_split and ending is None and (has_reasons or not answer.strip())
    if match["status"] == "ERROR" or is_ungraded:
        return _GradedCell(scores, error=failure or _NO_REASON)
    if is_split:
        return _GradedCell(scores, answer, reason or failure or None)
    return _GradedCell(scores, text, reason)


PROMPTFOO = reader_of("promptfoo", _recognise, _read_promptfoo)
