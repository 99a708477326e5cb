"""promptfoo's CSV: the tests' variables, then for each provider a block of the same columns."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

import pandas as pd

from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile, distinct_names
from rageval_report.readers.cell_values import parse_objects
from rageval_report.readers.delimited_rows import cell_text, line_ends, rows
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.record_columns import frame_of
from rageval_report.scores.metric import Override
from rageval_report.scores.table import id_column_of, question_text

# The columns after the output of each provider. Newer versions write one column per metric between
# the last of them and the grader's reason.
_BLOCK = ("Status", "Score", "Named Scores")
_METRIC, _REASON, _COMMENT, _DESCRIPTION = "Metric: ", "Grader Reason", "Comment", "Description"
_PROVIDER = re.compile(r"\[(?P<provider>.*?)\] (?P<prompt>.*)", re.DOTALL)
_PASSED_AS = {"PASS": 1.0, "FAIL": 0.0}
_ERROR = "ERROR"
_NO_REASON = "ended in an error; promptfoo's CSV does not say which"

# promptfoo puts an apostrophe before cells that a spreadsheet would read as a formula.
_ESCAPED = re.compile(r"'(?=[\s\u200b\u200c\u200d]*[=@+-])")

# The reasons of promptfoo's graders without a verdict; the CSV then has a score of 0.
_NO_VERDICT = re.compile(r"Could not extract JSON|No output|.*API error", re.DOTALL)
PASSED: dict[str, Any] = {
    "kind": "binary",
    "description": "Whether all assertions held.",
    "source": "promptfoo",
}
# What promptfoo counts and sums up beside the metrics of a test.
_SUMS = frozenset(("score", "passed"))
_SPENT = frozenset(("latency_ms", "cost_usd", "prompt_tokens", "completion_tokens", "total_tokens"))


def described_metrics(columns: Collection[str]) -> dict[str, Override]:
    """What is known of promptfoo's own columns: its sums stay out of corrections beside metrics.

    Parameters
    ----------
    columns : collection of str
        The metrics of the file, ``score`` and ``passed`` among them.

    Examples
    --------
    >>> described_metrics(["score", "recall"])
    {'score': {'in_family': False}}
    >>> described_metrics(["score", "latency_ms"])
    {}
    """
    is_beside_metrics = any(name not in _SUMS | _SPENT for name in columns)
    outside: dict[str, Any] = {"in_family": False} if is_beside_metrics else {}
    described: dict[str, Override] = {"passed": {**PASSED, **outside}}
    if outside:
        described["score"] = outside
    return {name: change for name, change in described.items() if name in columns}


class _ProviderColumns(NamedTuple):
    """The positions of a provider's columns: of its output, of its scores by name, and the end."""

    output: int
    places: dict[str, int]
    stop: int


def is_promptfoo_csv(source: Source) -> bool:
    """Whether the first line of a file is the header of promptfoo's CSV."""
    if not source.is_text or source.starts_like_json:
        return False
    sample = source.sample
    header = next(rows(sample, ","), None)
    if header is not None and header.stop == len(sample):  # prompts in the header may be long
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


def read_promptfoo_csv(source: Source) -> list[ScoreFile]:
    """Read promptfoo's CSV: a `ScoreFile` for each provider.

    The CSV rounds scores to two places. It writes 0 if a grader failed; if the grader's reason says
    so, the score of the row is unscored here.

    Raises
    ------
    ReaderError
        If a row has another number of cells than the header: the file and the line.
    """
    header, table, _ = parse_csv(source)
    blocks = _blocks(header)
    if not table:
        raise source.error("the file has column names, but no rows")
    columns = [list(cells) for cells in zip(*table, strict=True)]
    keys = [provider_and_prompt(header[block.output]) for block in blocks]
    names = distinct_names(pipeline_names(keys))
    shared = _shared_columns(header, columns, blocks)
    return [
        _score_file(name, shared, {key: columns[at] for key, at in block.places.items()},
                    columns[block.output])
        for name, block in zip(names, blocks, strict=True)
    ]  # fmt: skip


class CsvRows(NamedTuple):
    """The header of a CSV file, its other rows, and the line on which each of them begins."""

    header: list[str]
    rows: list[list[str]]
    lines: list[int]


def parse_csv(source: Source) -> CsvRows:
    """The rows of promptfoo's CSV, without the apostrophes before what looks like a formula.

    Raises
    ------
    ReaderError
        If a row has another number of cells than the header: the file and the line.
    """
    ends = line_ends(source.utf8, ",")
    every = rows(source.utf8, ",", ends=ends)
    header = [cell_text(cell) for row in islice(every, 1) for cell in row.cells]
    table, lines = [], []
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
    return CsvRows(header, table, lines)


def provider_and_prompt(title: str) -> tuple[str, str]:
    """The provider and the prompt in the title "[provider] prompt"; the title twice if it has none.

    Examples
    --------
    >>> provider_and_prompt("[openai:gpt] Answer: {{question}}")
    ('openai:gpt', 'Answer: {{question}}')
    """
    match = _PROVIDER.fullmatch(title)
    return (match["provider"], match["prompt"]) if match else (title, title)


def pipeline_names(keys: Sequence[tuple[str, str]]) -> list[str]:
    """The providers' names, with the number of the prompt if a provider has several.

    Examples
    --------
    >>> pipeline_names([("gpt", "short"), ("gpt", "long"), ("llama", "short")])
    ['gpt (prompt 1)', 'gpt (prompt 2)', 'llama']
    """
    prompts = {key: [prompt for provider, prompt in keys if provider == key[0]] for key in keys}
    return [
        key[0] if len(prompts[key]) == 1 else f"{key[0]} (prompt {prompts[key].index(key[1]) + 1})"
        for key in keys
    ]


# -- the columns that all providers share


def _shared_columns(
    header: Sequence[str], columns: Sequence[list[str]], blocks: Sequence[_ProviderColumns]
) -> CellsByColumn:
    """The description, the variables with a question among them, and the last columns."""
    before, after = range(blocks[0].output), range(blocks[-1].stop, len(header))
    places = [*before, *after]
    names = distinct_names(header[place] for place in places)
    shared = {name: columns[place] for name, place in zip(names, places, strict=True)}
    variable_names = [name for name in shared if name != _DESCRIPTION]
    questions = with_question(dict.fromkeys(variable_names), None)
    if "question" in questions and "question" not in variable_names:
        variables = [header[place] for place in before if header[place] != _DESCRIPTION]
        cells = [
            json.dumps({name: shared[name][row] for name in variables}, ensure_ascii=False)
            for row in range(len(columns[0]))
        ]
        return {"question": cells, **shared}
    return shared


def with_question(variables: Mapping[str, Any], rendered: object) -> Mapping[str, Any]:
    """The test's variables, with a question made of them if none is named like one.

    Examples
    --------
    >>> with_question({"topic": "x"}, "About x"), with_question({"query": "x"}, "About x")
    ({'question': '{"topic": "x"}', 'topic': 'x'}, {'query': 'x'})
    """
    names = pd.DataFrame(columns=list(variables))
    if id_column_of(variables) is not None or question_text(names) is not None:
        return variables
    question = json.dumps(variables, ensure_ascii=False) if variables else rendered
    return {"question": question, **variables}


# -- one provider


def _score_file(
    name: str, shared: CellsByColumn, block: Mapping[str, list[str]], outputs: list[str]
) -> ScoreFile:
    statuses = block["Status"]
    errors = [
        _error(status, reason) for status, reason in zip(statuses, block[_REASON], strict=True)
    ]
    judged = judgement_columns(_judgements(block), errors)
    details = {**rename_clashes(shared, {*judged.columns, "answer", "reason", "error"}, "vars")}
    own: CellsByColumn = {
        "answer": [
            None if error else output for error, output in zip(errors, outputs, strict=True)
        ],
        "reason": [cell or None for cell in block[_REASON]],
    }
    if any(block[_COMMENT]):
        own["comment"] = [cell or None for cell in block[_COMMENT]]
    if any(errors):
        own["error"] = errors
    details |= rename_clashes(own, {*judged.columns, *details}, "promptfoo")
    n_errors = sum(error is not None for error in errors)
    notes = [f"{n_errors} of {len(errors)} rows ended in an error and are unscored"]
    rounded = "promptfoo's CSV rounds scores to two places; its JSON has them in full"
    return ScoreFile(
        frame_of(details | judged.columns),
        name,
        metrics=described_metrics(judged.metrics),
        metric_columns=judged.metrics,
        notes=(rounded, *(notes if n_errors else []), *judged.notes),
    )


def _error(status: str, reason: str) -> str | None:
    return (reason or _NO_REASON) if status == _ERROR else None


def _judgements(block: Mapping[str, list[str]]) -> list[dict[str, Judgement]]:
    metrics = [name for name in block if name.startswith(_METRIC)]
    nested = parse_objects(block["Named Scores"])
    judgements = []
    for row, status in enumerate(block["Status"]):
        fields = {key: cells[row] for key, cells in block.items()}
        scores: dict[str, object] = dict(nested[row]) if isinstance(nested[row], dict) else {}
        scores |= {
            name.removeprefix(_METRIC): fields[name] for name in metrics
            if fields[name] and name.removeprefix(_METRIC) not in scores
        }  # fmt: skip
        scores = {
            "score": fields["Score"] or None,
            "passed": _PASSED_AS.get(status),
            **scores,
        }
        judgements.append(_judge_row(scores, status, fields[_REASON]))
    return judgements


def _judge_row(scores: Mapping[str, object], status: str, reason: str) -> dict[str, Judgement]:
    if status == _ERROR:
        return {name: Judgement() for name in scores}
    if status != "FAIL" or not _NO_VERDICT.match(reason):
        return {name: Judgement(score) for name, score in scores.items()}
    # The CSV does not say which grader failed; a single 0 must be the one.
    zeros = [
        name for name in scores if name not in ("score", "passed") and scores[name] in (0, "0.00")
    ]
    failed = {"score", "passed", *(zeros if len(zeros) == 1 else [])}
    return {
        name: Judgement(None, reason, is_failed=True) if name in failed else Judgement(score)
        for name, score in scores.items()
    }
