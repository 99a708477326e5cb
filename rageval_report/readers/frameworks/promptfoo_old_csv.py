"""promptfoo's CSV before 0.104: the tests' variables, and one cell per provider with all results.

A cell is "[PASS] (1.51, tone: 0.80)", the answer and the grader's reason, in one text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rageval_report.files.source import Source
from rageval_report.files.strict_json import load_json
from rageval_report.readers.base import CellsByColumn, ScoreFile, distinct_names
from rageval_report.readers.delimited_rows import cell_text, rows
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.frameworks.promptfoo_csv import (
    described_metrics,
    parse_csv,
    pipeline_names,
    provider_and_prompt,
    with_question,
)
from rageval_report.readers.record_columns import frame_of

_NUMBER = r"-?(?:\d+(?:\.\d+)?|Infinity)|NaN"
# Since 0.28 the scores end the line, and may have names; before, the answer follows after a blank.
_CELL = re.compile(
    rf"\[(?P<status>PASS|FAIL|ERROR)\] \((?P<score>{_NUMBER})"
    r"(?:(?:, (?P<named>[^\n]*))?\)(?:\n+|$)|\) )(?P<text>.*)",
    re.DOTALL,
)
_NAMED = re.compile(rf"(?P<name>.+?): (?P<score>{_NUMBER})(?:, |$)")
_REASON = re.compile(r"(?:^|\n\n)(?:(?:Pass|Fail) )?Reason: (?P<reason>.*)\Z", re.DOTALL)
_RULE = "\n---"  # between what failed and the answer
_PASSED_AS = {"PASS": 1.0, "FAIL": 0.0}
_NO_REASON = "ended in an error; promptfoo's CSV does not say which"


def is_old_promptfoo_csv(source: Source) -> bool:
    """Whether a cell of the first row of a CSV file holds the results of a provider."""
    if not source.is_text or source.starts_like_json or b"] (" not in source.head:
        return False
    every = rows(source.utf8, ",")
    next(every, None)
    first = next(every, None)
    return first is not None and any(_CELL.match(cell_text(cell)) for cell in first.cells)


class _OutputCell(NamedTuple):
    """What the cell of a provider says about one test."""

    scores: Mapping[str, object]
    answer: str | None
    reason: str | None
    error: str | None


def read_old_promptfoo_csv(source: Source) -> list[ScoreFile]:
    """Read promptfoo's older CSV: a `ScoreFile` for each provider.

    The score, the named scores and whether the test passed are metrics. A cell of a provider that
    ended in an error has a score of 0 in the file; it is unscored here.

    Raises
    ------
    ReaderError
        If a cell of a provider holds something else: the file and the line.
    """
    header, table, lines = parse_csv(source)
    if not table:
        raise source.error("the file has column names, but no rows")
    places = [place for place, cell in enumerate(table[0]) if _CELL.match(cell)]
    keys = [_key(header[place]) for place in places]
    shared = _shared_columns(header, table, places)
    names = distinct_names(pipeline_names(keys))
    return [
        _score_file(name, shared, _read_cells(source, [row[place] for row in table], lines))
        for name, place in zip(names, places, strict=True)
    ]


def _key(title: str) -> tuple[str, str]:
    """The provider and the prompt in a column's title: JSON in some versions, text in others."""
    try:
        prompt = load_json(title)
    except (ValueError, RecursionError):
        prompt = None
    if isinstance(prompt, dict) and isinstance(prompt.get("provider"), str):
        texts = (prompt.get(key) for key in ("label", "display", "raw"))
        return prompt["provider"], next((text for text in texts if isinstance(text, str)), "")
    return provider_and_prompt(title)


def _shared_columns(
    header: Sequence[str], table: Sequence[Sequence[str]], places: Sequence[int]
) -> CellsByColumn:
    """The variables of the tests, with a question among them."""
    others = [place for place in range(len(header)) if place not in places]
    names = distinct_names(header[place] for place in others)
    tests = [
        with_question(dict(zip(names, (row[place] for place in others), strict=True)), None)
        for row in table
    ]
    return {name: [test.get(name) for test in tests] for name in tests[0]}


# -- one provider


def _read_cells(source: Source, cells: Sequence[str], lines: Sequence[int]) -> list[_OutputCell]:
    matches = []
    for cell, line in zip(cells, lines, strict=True):
        match = _CELL.match(cell)
        if match is None and cell.strip():
            raise source.error(
                f'expected "[PASS] (score)" in the cell of a provider; got {cell[:40]!r}', line
            )
        matches.append(match)
    # A version that writes reasons leaves them out only where nothing was graded.
    has_reasons = any(match and _REASON.search(match["text"]) for match in matches)
    return [_read_match(match, has_reasons=has_reasons) for match in matches]


def _read_match(match: re.Match[str] | None, *, has_reasons: bool) -> _OutputCell:
    if match is None:
        return _OutputCell({}, None, None, None)
    text, reason = match["text"].strip("\n"), None
    ending = _REASON.search(text)
    if ending is not None:
        text, reason = text[: ending.start()].strip("\n"), ending["reason"].strip() or None
    failure, rule, answer = text.partition(_RULE)
    answer = answer.lstrip("\n")
    is_error = match["status"] == "ERROR" or (
        match["status"] == "FAIL"
        and ending is None
        and bool(rule)
        and (has_reasons or not answer.strip())
    )
    named = _NAMED.finditer(match["named"] or "")
    scores = {
        "score": match["score"],
        "passed": _PASSED_AS.get(match["status"]),
        **{part["name"]: part["score"] for part in named},
    }
    if is_error:
        return _OutputCell(scores, None, None, failure.strip() or _NO_REASON)
    is_split = match["status"] == "FAIL" and bool(rule)
    own_reason = reason or (failure.strip() if is_split else None)
    return _OutputCell(scores, answer if is_split else text, own_reason, None)


def _score_file(name: str, shared: CellsByColumn, cells: Sequence[_OutputCell]) -> ScoreFile:
    errors = [cell.error for cell in cells]
    judged = judgement_columns(map(_judgements, cells), errors)
    details = rename_clashes(shared, {*judged.columns, "answer", "reason", "error"}, "vars")
    own: CellsByColumn = {
        "answer": [cell.answer for cell in cells],
        "reason": [cell.reason for cell in cells],
    }
    if any(errors):
        own["error"] = errors
    details |= rename_clashes(own, {*judged.columns, *details}, "promptfoo")
    return ScoreFile(
        frame_of(details | judged.columns),
        name,
        metrics=described_metrics(judged.metrics),
        metric_columns=judged.metrics,
        notes=(*_notes(errors), *judged.notes),
    )


def _judgements(cell: _OutputCell) -> dict[str, Judgement]:
    return {
        name: Judgement() if cell.error else Judgement(score) for name, score in cell.scores.items()
    }


def _notes(errors: Iterable[str | None]) -> Iterable[str]:
    yield "promptfoo's CSV rounds scores to two places; its JSON has them in full"
    every = list(errors)
    n_errors = sum(error is not None for error in every)
    if n_errors:
        yield f"{n_errors} of {len(every)} rows ended in an error and are unscored"
