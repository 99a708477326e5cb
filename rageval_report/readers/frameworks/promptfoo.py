"""The output of ``promptfoo eval --output``: JSON, JSON Lines or CSV, with several providers."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import pandas as pd

from rageval_report.files.source import Source
from rageval_report.files.strict_json import load_json
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile, distinct_names
from rageval_report.readers.cell_values import number_or_none, parse_objects
from rageval_report.readers.delimited import cell_text, line_ends, rows
from rageval_report.readers.frameworks.format import (
    SURE,
    at,
    first_fields,
    groups_of,
    read_rows,
    without,
)
from rageval_report.readers.frameworks.rows import (
    Judgement,
    JudgementColumns,
    drop_empty,
    judgement_columns,
    last_line,
    rename_clashes,
    score_file,
)
from rageval_report.readers.json_shapes import check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of
from rageval_report.scores.metric import Override
from rageval_report.scores.table import id_column_of, question_text
from rageval_report.types import JsonObject

_FIELDS = frozenset(("provider", "vars", "success"))
_PASSED: dict[str, Any] = {
    "kind": "binary",
    "description": "Whether all assertions held.",
    "source": "promptfoo",
}
_PASSED_AS = {"PASS": 1.0, "FAIL": 0.0}
_NO_REASON = "ended in an error; promptfoo's CSV does not say which"
_ROUNDED = "promptfoo's CSV rounds scores to two places; its JSON has them in full"


def _recognise(source: Source) -> float:
    if not source.starts_like_json:
        return SURE if _is_csv(source) or _is_old_csv(source) else 0.0
    listed = _summary(source.document_or_none()).get("results")
    if is_records(listed):
        return SURE if all(row.keys() >= _FIELDS for row in listed) else 0.0
    return SURE if first_fields(source) >= {*_FIELDS, "score"} else 0.0


def _read_promptfoo(source: Source) -> list[ScoreFile]:
    """Read a promptfoo output: a pipeline for each provider, or each prompt if it has several."""
    if _is_csv(source):
        return _read_csv(source)
    if _is_old_csv(source):
        return _read_old_csv(source)
    summary = _summary(source.document_or_none())
    listed = check_records(summary.get("results"), "results")
    if not listed and source.starts_like_json and first_fields(source) >= _FIELDS:
        listed = read_rows(source)
    if not listed:
        _ = source.document  # the error if the file is broken or not text
        raise source.error("expected a promptfoo output: results.results, a list of objects")
    groups: dict[tuple[str, str], list[JsonObject]] = {}
    for row in listed:
        groups.setdefault((_provider(row), _prompt(row)), []).append(row)
    places = _places(summary)
    keys = sorted(groups, key=lambda key: places.get(key[0], len(places)))
    names = distinct_names(_pipeline_names(keys))
    return [
        _read_results(name, sorted(groups[key], key=_test_number))
        for name, key in zip(names, keys, strict=True)
    ]


# -- pipelines


def _pipeline_names(keys: Sequence[tuple[str, str]]) -> list[str]:
    """The providers' names, with the number of the prompt if a provider has several."""
    prompts = groups_of(keys, lambda key: key[0])
    return [
        key[0]
        if len(prompts[key[0]]) == 1
        else f"{key[0]} (prompt {prompts[key[0]].index(key) + 1})"
        for key in keys
    ]


def _with_question(variables: Mapping[str, Any], rendered: object = None) -> Mapping[str, Any]:
    """The test's variables, with a question made of them if none is named like one."""
    names = pd.DataFrame(columns=list(variables))
    if id_column_of(variables) is not None or question_text(names) is not None:
        return variables
    question = json.dumps(variables, ensure_ascii=False) if variables else rendered
    return {"question": question, **variables}


def _pipeline(
    name: str,
    variables: CellsByColumn,
    own: CellsByColumn,
    judged: JudgementColumns,
    errors: Sequence[object],
    notes: Sequence[str] = (),
) -> ScoreFile:
    """A pipeline: the tests' variables, and the answers, reasons and errors of its provider."""
    own = {key: own[key] for key in own if key in ("answer", "reason") or any(own[key])}
    details = rename_clashes(variables, {*own, *judged.columns}, "vars")
    n_errors = sum(error is not None for error in errors)
    n = f"{n_errors} of {len(errors)}"
    of_errors = [f"{n} rows ended in an error and are unscored"] if n_errors else []
    return score_file(
        name,
        judged,
        details | rename_clashes(own, {*judged.columns, *details}, "promptfoo"),
        metrics=_described(judged.metrics),
        notes=(*notes, *of_errors),
    )


def _described(names: Collection[str]) -> dict[str, Override]:
    """What is known of promptfoo's own sums, which stay out of corrections beside metrics."""
    outside = {"in_family": False} if {*names} - {"score", "passed", *_SPENT} else {}
    described: dict[str, Override] = {"passed": {**_PASSED, **outside}}
    return described | ({"score": {**outside}} if outside else {})


# -- JSON

_ERROR = 2  # failureReason: 0 none, 1 an assertion, 2 an error
_PASSED_REASON = "Assertion passed"  # says no more than the score does
_TOKENS = {
    "prompt": "prompt_tokens",
    "completion": "completion_tokens",
    "total": "total_tokens",
}


_SPENT = ("latency_ms", "cost_usd", *_TOKENS.values())


def _summary(document: object) -> JsonObject:
    """The part of the document that holds the results, in any version."""
    outer = document if isinstance(document, dict) else {}
    # A whole file nests {"results": {"results": [...]}}; some outputs hold the inner object alone.
    inner = outer.get("results")
    return inner if isinstance(inner, dict) else outer


def _places(summary: JsonObject) -> dict[str, int]:
    """The place of each provider in the file's list; the rows are in the order of their end."""
    table = check_object(summary.get("table"), "results.table")
    head = check_object(table.get("head"), "results.table.head") or summary
    listed = check_records(head.get("prompts"), "prompts")
    providers = dict.fromkeys(str(prompt.get("provider")) for prompt in listed)
    return {provider: place for place, provider in enumerate(providers)}


def _test_number(row: JsonObject) -> float:
    number = row.get("testIdx")
    return number if isinstance(number, int) else 0  # sorting is stable: unnumbered rows stay


def _provider(row: JsonObject) -> str:
    provider = row.get("provider")
    if isinstance(provider, dict):
        provider = provider.get("label") or provider.get("id")
    return str(provider)


def _prompt(row: JsonObject) -> str:
    """The key of a provider's prompt: the template, as the rendered text differs by row."""
    return str(at(row, "promptIdx|prompt.label"))


def _read_results(name: str, results: Sequence[JsonObject]) -> ScoreFile:
    variables = columns_of(
        _with_question(check_object(row.get("vars"), "vars"), _rendered(row)) for row in results
    )
    own = columns_of(
        {
            "answer": _response(row).get("output"),
            "reason": _grading(row).get("reason"),
            "error": _error_of(row) or "; ".join(_failed_graders(row).values()) or None,
        }
        for row in results
    )
    spent = drop_empty(columns_of(map(_measures, results)), ())
    rows_of_scores = [
        _judgements(row, {key: cells[place] for key, cells in spent.items()})
        for place, row in enumerate(results)
    ]
    errors = [last_line(_error_of(row)) for row in results]
    # Where a grader failed elsewhere, an error of the row fails the metrics of that grader too.
    broken = {key for row in rows_of_scores for key, each in row.items() if each.is_failed}
    for row_scores, error in zip(rows_of_scores, errors, strict=True):
        if error is not None:
            row_scores |= dict.fromkeys(broken, Judgement(None, error, is_failed=True))
    return _pipeline(name, variables, own, judgement_columns(rows_of_scores), errors)


def _rendered(row: JsonObject) -> object:
    prompt = row.get("prompt")
    return prompt.get("raw") if isinstance(prompt, dict) else prompt


def _is_error(row: JsonObject) -> bool:
    """Whether there was no answer to grade; old versions then leave out the grading."""
    reason = row.get("failureReason")
    if reason is None:
        # A failed assertion fills `error` too, but has a grading.
        return bool(row.get("error")) and not row.get("gradingResult")
    return bool(reason == _ERROR)


def _error_of(row: JsonObject) -> object:
    if _is_error(row):
        return row.get("error") or "the row ended in an error"
    return None


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


def _judgements(row: JsonObject, spent: Mapping[str, object]) -> dict[str, Judgement]:
    """The score, whether the test passed, what it took, and the scores that gradings name."""
    failed, reasons = _failed_graders(row), _reasons(row)
    scores: dict[str, Any] = {"score": row.get("score"), "passed": row.get("success"), **spent}
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
        if is_single and isinstance(reason, str) and reason not in ("", _PASSED_REASON):
            reasons.setdefault(names[0], reason)
    return reasons


def _measures(row: JsonObject) -> dict[str, float | None]:
    usage = check_object(_response(row).get("tokenUsage"), "response.tokenUsage")
    measures = {
        "latency_ms": number_or_none(row.get("latencyMs")),
        "cost_usd": number_or_none(row.get("cost")),
        # Providers that do not count their tokens write 0.
        **{ours: number_or_none(usage.get(theirs)) or None for theirs, ours in _TOKENS.items()},
    }
    return dict.fromkeys(measures) if _is_error(row) else measures


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


class _ProviderColumns(NamedTuple):
    """The positions of a provider's columns: of its output, of its scores by name, and the end."""

    output: int
    places: dict[str, int]
    stop: int


def _is_csv(source: Source) -> bool:
    """Whether the first line of a file is the header of promptfoo's CSV."""
    if not source.is_text or source.starts_like_json:
        return False
    header = next(rows(source.sample, ","), None)
    if header is not None and header.stop == len(source.sample):  # prompts in it may be long
        header = next(rows(source.utf8, ","))
    return header is not None and bool(_blocks([cell_text(cell) for cell in header.cells]))


def _blocks(header: Sequence[str]) -> list[_ProviderColumns]:
    blocks = []
    for place in range(1, len(header) - len(_BLOCK)):
        if tuple(header[place : place + len(_BLOCK)]) != _BLOCK:
            continue
        stop = place + len(_BLOCK)
        while stop < len(header) and header[stop].startswith(_METRIC):
            stop += 1
        if tuple(header[stop : stop + 2]) == (_REASON, _COMMENT):
            places = {header[column]: column for column in range(place, stop + 2)}
            blocks.append(_ProviderColumns(place - 1, places, stop + 2))
    return blocks


class _CsvTable(NamedTuple):
    """The header of a CSV file, its other rows, and the line on which each of them begins."""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]


def _parse_csv(source: Source) -> _CsvTable:
    """The rows of promptfoo's CSV, without the apostrophes before what looks like a formula."""
    every = rows(source.utf8, ",", ends=line_ends(source.utf8, ","))
    header = [cell_text(cell) for row in islice(every, 1) for cell in row.cells]
    table: list[list[str]] = []
    lines = []
    for row in every:
        line = source.line_of(row.offset)
        lines.append(line)
        if not row.is_closed:
            raise source.error("a quote in this row is never closed; is the file cut?", line)
        if len(row.cells) != len(header):
            message = f"expected {len(header)} fields, as in the header; found {len(row.cells)}"
            raise source.error(message, line)
        table.append([_ESCAPED.sub("", cell_text(cell), count=1) if cell.lstrip(b'"')[:1] == b"'"
                      else cell_text(cell) for cell in row.cells])  # fmt: skip
    if not table:
        raise source.error("the file has column names, but no rows")
    return _CsvTable(header, table, lines)


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


def _read_csv(source: Source) -> list[ScoreFile]:
    """Read promptfoo's CSV, which writes 0 if a grader failed: then the row is unscored here."""
    header, table, _ = _parse_csv(source)
    blocks = _blocks(header)
    columns = [list(cells) for cells in zip(*table, strict=True)]
    keys = [_provider_and_prompt(header[block.output]) for block in blocks]
    before, after = range(blocks[0].output), range(blocks[-1].stop, len(header))
    places = [*before, *after]
    labels = distinct_names(header[place] for place in places)
    shared = {label: columns[place] for label, place in zip(labels, places, strict=True)}
    variables = [labels[place] for place in before if header[place] != _DESCRIPTION]
    others = [label for label in shared if label != _DESCRIPTION]
    if "question" in {*_with_question(dict.fromkeys(others))} - {*others}:
        tests = [{key: shared[key][row] for key in variables} for row in range(len(table))]
        shared = {"question": [json.dumps(each, ensure_ascii=False) for each in tests], **shared}
    files = []
    for name, block in zip(distinct_names(_pipeline_names(keys)), blocks, strict=True):
        cells = {key: columns[place] for key, place in block.places.items()}
        reasons = cells[_REASON]
        errors = [
            (reason or _NO_REASON) if status == "ERROR" else None
            for status, reason in zip(cells["Status"], reasons, strict=True)
        ]
        outputs = zip(columns[block.output], errors, strict=True)
        own: CellsByColumn = {
            "answer": [None if error else output for output, error in outputs],
            "reason": [reason or None for reason in reasons],
            "comment": [cell or None for cell in cells[_COMMENT]],
            "error": errors,
        }
        judged = judgement_columns(_csv_judgements(cells), errors)
        files.append(_pipeline(name, shared, own, judged, errors, [_ROUNDED]))
    return files


def _csv_judgements(block: Mapping[str, list[str]]) -> Iterator[dict[str, Judgement]]:
    nested = parse_objects(block["Named Scores"])
    for row, status in enumerate(block["Status"]):
        scores: dict[str, object] = dict(nested[row]) if isinstance(nested[row], dict) else {}
        columns = {key: cells[row] for key, cells in block.items() if cells[row]}
        for key, cell in columns.items():
            if key.startswith(_METRIC):
                scores.setdefault(key.removeprefix(_METRIC), cell)
        sums = {"score": columns.get("Score"), "passed": _PASSED_AS.get(status)}
        scores, reason = {**sums, **scores}, block[_REASON][row]
        failed: set[str] = set()
        if status == "FAIL" and _NO_VERDICT.match(reason):
            # The CSV does not say which grader failed; a single 0 must be the one.
            zeros = [key for key in scores.keys() - sums.keys() if scores[key] in (0, "0.00")]
            failed = {*sums, *(zeros if len(zeros) == 1 else [])}
        yield {
            name: Judgement(None, reason, is_failed=True)
            if name in failed
            else Judgement(None if status == "ERROR" else score)
            for name, score in scores.items()
        }


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
    first = next(islice(rows(source.utf8, ","), 1, None), None)
    return first is not None and any(_CELL.match(cell_text(cell)) for cell in first.cells)


class _OutputCell(NamedTuple):
    """What the cell of a provider says about one test."""

    scores: Mapping[str, object] = {}
    answer: str | None = None
    reason: str | None = None
    error: str | None = None


def _read_old_csv(source: Source) -> list[ScoreFile]:
    """Read promptfoo's older CSV; a cell that ended in an error has a score of 0 in the file."""
    header, table, lines = _parse_csv(source)
    places = [place for place, cell in enumerate(table[0]) if _CELL.match(cell)]
    names = distinct_names(_pipeline_names([_provider_and_prompt(header[p]) for p in places]))
    others = [place for place in range(len(header)) if place not in places]
    labels = distinct_names(header[place] for place in others)
    tests = [dict(zip(labels, (row[place] for place in others), strict=True)) for row in table]
    variables = columns_of(map(_with_question, tests))
    files = []
    for name, place in zip(names, places, strict=True):
        cells = _read_cells(source, [row[place] for row in table], lines)
        own: CellsByColumn = {
            "answer": [cell.answer for cell in cells],
            "reason": [cell.reason for cell in cells],
            "error": [cell.error for cell in cells],
        }
        judgements = (
            {key: Judgement(None if cell.error else score) for key, score in cell.scores.items()}
            for cell in cells
        )
        judged = judgement_columns(judgements, own["error"])
        files.append(_pipeline(name, variables, own, judged, own["error"], [_ROUNDED]))
    return files


def _read_cells(source: Source, cells: Sequence[str], lines: Sequence[int]) -> list[_OutputCell]:
    matches = []
    for cell, line in zip(cells, lines, strict=True):
        match = _CELL.match(cell)
        if match is None and cell.strip():
            message = f'expected "[PASS] (score)" in the cell of a provider; got {cell[:40]!r}'
            raise source.error(message, line)
        matches.append(match)
    # A version that writes reasons leaves them out only where nothing was graded.
    has_reasons = any(match and _OLD_REASON.search(match["text"]) for match in matches)
    return [_OutputCell() if each is None else _output_cell(each, has_reasons) for each in matches]


def _output_cell(match: re.Match[str], has_reasons: bool) -> _OutputCell:
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
        return _OutputCell(scores, None, None, failure or _NO_REASON)
    if is_split:
        return _OutputCell(scores, answer, reason or failure or None)
    return _OutputCell(scores, text, reason)


PROMPTFOO = Reader(
    "promptfoo",
    "promptfoo's output as JSON (versions 2 and 3), JSON Lines or CSV: one pipeline per provider",
    _recognise,
    _read_promptfoo,
    ("encoding",),
    example="output.json",
)
