"""Azure AI Evaluation: the results of `evaluate`, and the run folders of Azure's RAG samples."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.cell_values import (
    json_text,
    none_if_nan,
    number_or_none,
    text_or_none,
)
from rageval_report.readers.frameworks.format import (
    SURE,
    document_beside,
    first_fields,
    read_rows,
    run_name,
    without,
)
from rageval_report.readers.frameworks.rows import (
    ON_GRADES,
    Judgement,
    are_grades,
    drop_empty,
    judge,
    judgement_columns,
    milliseconds,
    overrides_of,
    rename_clashes,
    score_file,
    time_in,
)
from rageval_report.readers.record_columns import columns_of
from rageval_report.readers.run_folders import AZURE_RESULTS
from rageval_report.scores.cells import plain_number
from rageval_report.scores.metric import Override, normalise_name
from rageval_report.types import JsonObject

_ROWS, _INPUTS, _OUTPUTS = "rows", "inputs.", "outputs."
_GPT = "gpt_"  # the old names of the judges' scores, beside which the new ones are repeated
# What Azure writes beside a score named X, as X_<ending>; "_score" repeats X.
_BESIDE = (
    *("reason", "result", "threshold", "passed", "status", "properties", "details", "label"),
    *("higher_is_better", "explanation", "prompt_tokens", "completion_tokens", "total_tokens"),
    *("finish_reason", "model", "sample_input", "sample_output", "score"),
)
_TEXTS = {
    **dict.fromkeys(("query", "question"), "question"),
    **dict.fromkeys(("response", "answer"), "answer"),
    **dict.fromkeys(("ground_truth", "truth"), "reference"),
    "context": "contexts",
}
# Columns of numbers that the samples compute and that do not score an answer.
_COUNTS = frozenset(("answer_length", "line_number", "evaluation_per_turn"))
_GRADED = frozenset(
    "groundedness relevance coherence fluency similarity retrieval response_completeness "
    "intent_resolution".split()
)
# These have been grades from 1 to 5 in some versions and verdicts in others.
_PERHAPS_GRADED = frozenset(("task_adherence", "tool_call_accuracy"))
_SEVERITIES = frozenset(("violence", "sexual", "self_harm", "hate_unfairness", "hate_fairness"))
_ON_SEVERITIES: Override = {"kind": "real", "bounds": (0.0, 7.0), "greater_is_better": False}
_NOT_APPLICABLE = frozenset(("not_applicable", "not applicable", "skipped"))
_NO_REASON = "Azure's evaluator gave no score; the file does not say why"
_PARAMETERS, _TIMESTAMP = "evaluate_parameters.json", "evaluation_timestamp"

# The name of the evaluator, and of one of its outputs.
_Field = tuple[str, str]


class _Row(NamedTuple):
    """The inputs and texts of a row by our names, its outputs by evaluator, and its error."""

    inputs: dict[str, Any]
    outputs: dict[_Field, Any]
    error: str | None


def _recognise(source: Source) -> float:
    names = first_fields(source, _ROWS)
    is_of_evaluate = any(name.startswith(_INPUTS) for name in names) and any(
        name.startswith(_OUTPUTS) and "." in name.removeprefix(_OUTPUTS) for name in names
    )
    return SURE if is_of_evaluate or _is_of_sample(names) else 0.0


def _is_of_sample(names: Collection[str]) -> bool:
    """Whether these are the fields of a row of the RAG samples' eval_results.jsonl."""
    has_scores = any(
        name.startswith(_GPT) or {f"{name}_result", f"{name}_threshold"} <= set(names)
        for name in names
    )
    counted = {"any_citation", "citations_matched", "citation_match"}
    is_sample = {"question", "truth", "answer", "context"} <= set(names)
    return is_sample and (has_scores or bool(counted & set(names)))


def _read_azure(source: Source) -> list[ScoreFile]:
    """Read the result of Azure's ``evaluate``, or the ``eval_results.jsonl`` of a run folder."""
    rows = list(map(_split_row, read_rows(source, _ROWS)))
    fields = list(dict.fromkeys(key for row in rows for key in row.outputs))
    scores = _score_fields(fields, [row.outputs for row in rows])
    names = _metric_names(scores)
    judged = judgement_columns(
        {names[field]: _judgement(row, field) for field in scores} for row in rows
    )
    overrides = overrides_of(_scale, judged)
    # The outputs that are neither scores nor their reasons, under names with their evaluator.
    used = {*scores, *((evaluator, f"{field}_reason") for evaluator, field in scores)}
    others = columns_of(
        {
            ".".join(filter(None, field)): cell
            for field, cell in row.outputs.items()
            if field not in used
        }
        for row in rows
    )
    details = drop_empty(columns_of(row.inputs for row in rows))
    details |= rename_clashes(drop_empty(others, ()), details, "outputs")
    details |= drop_empty({"error": [row.error for row in rows]})
    latency = [milliseconds(row.inputs.get("latency")) for row in rows]
    is_run = run_name(source, *AZURE_RESULTS) != source.stem
    beside = document_beside(source, _PARAMETERS) if is_run else None
    config = beside if isinstance(beside, dict) else {}
    file = score_file(
        run_name(source, *AZURE_RESULTS),
        judged,
        without(details, ["latency"]),
        measures={"latency_ms": [None if time is None or time < 0 else time for time in latency]},
        origin="inputs",
        metrics=overrides,
        notes=_notes(overrides, scores, rows),
        config=config,
        created=time_in(number_or_none(config.get(_TIMESTAMP))),
    )
    if not file.metric_columns:
        raise source.error(f"none of {named(fields)} is a score")
    return [file]


# -- rows


def _split_row(row: JsonObject) -> _Row:
    inputs: dict[str, Any] = {}
    outputs: dict[_Field, Any] = {}
    for key, value in row.items():
        cell = _cell(value)
        evaluator, dot, field = key.removeprefix(_OUTPUTS).partition(".")
        if key.startswith(_INPUTS):
            _add_input(inputs, key.removeprefix(_INPUTS), none_if_nan(value))
        elif key.startswith(_OUTPUTS) and dot:
            outputs[evaluator, field] = cell
        elif key.startswith(_OUTPUTS):  # an output of the target, such as its answer
            _add_input(inputs, evaluator, none_if_nan(value))
        elif key in _TEXTS or (isinstance(cell, str | list | dict) and not _is_beside(key, row)):
            _add_input(inputs, key, none_if_nan(value))
        elif key in _COUNTS or key == "latency":
            inputs[key] = cell
        else:
            outputs["", key] = cell
    # The samples write an error of the target as its answer, with a latency of -1.
    if number_or_none(inputs.get("latency")) != -1.0:
        return _Row(inputs, outputs, None)
    message = text_or_none(inputs.get("answer")) or "no message"
    return _Row(inputs, outputs, f"the target failed: {message}")


def _cell(value: object) -> object:
    """The value; None for NaN, which a table of text has as a word; a number for its text."""
    number = plain_number(value) if isinstance(value, str) else None
    return none_if_nan(value if number is None else number)


def _add_input(inputs: dict[str, Any], name: str, cell: object) -> None:
    usual = _TEXTS.get(name, name)
    # Questions identify rows, so they must be texts.
    inputs[name if usual in inputs else usual] = json_text(cell) if usual == "question" else cell


def _is_beside(key: str, row: Mapping[str, Any]) -> bool:
    """Whether a field belongs to a score: ``X_reason`` beside ``X``."""
    base = _base(key)
    return base is not None and (base in row or f"{_GPT}{base}" in row)


def _base(field: str) -> str | None:
    """X of the field X_<ending>; None if it has no such ending."""
    ending = next((end for end in _BESIDE if field.endswith(f"_{end}")), None)
    return field.removesuffix(f"_{ending}") if ending else None


# -- scores


def _score_fields(fields: Sequence[_Field], rows: Sequence[Mapping[_Field, Any]]) -> list[_Field]:
    """The fields that are scores: numbers and verdicts that do not belong to another score."""
    scores = []
    for evaluator, field in fields:
        cells = [row.get((evaluator, field)) for row in rows]
        has_numbers = any(isinstance(cell, int | float) for cell in cells)
        # If every row failed, only the companions show that this was a score.
        is_lost = not any(cell is not None for cell in cells)
        is_score = has_numbers or (is_lost and (evaluator, f"{field}_threshold") in fields)
        if is_score and field not in _COUNTS and not _repeats(evaluator, field, set(fields), rows):
            scores.append((evaluator, field))
    return scores


def _repeats(
    evaluator: str, field: str, present: set[_Field], rows: Sequence[Mapping[_Field, Any]]
) -> bool:
    """Whether a field is a companion of a score, or the score under a second name."""
    if field.startswith(_GPT) and (evaluator, field.removeprefix(_GPT)) in present:
        return True
    base = _base(field)
    if base is None:
        return False
    companions = {(evaluator, base), (evaluator, f"{_GPT}{base}")} & present
    has_number = any(
        isinstance(row.get(companion), int | float) for row in rows for companion in companions
    )
    if field.endswith("_score"):  # severities have a word as X and the number as X_score
        return has_number
    # A verdict without a number ("groundedness_pro_label") is the score itself.
    is_verdict = field.endswith("_label") and not has_number
    return bool(companions) or (evaluator, f"{base}_score") in present or not is_verdict


def _metric_names(scores: Sequence[_Field]) -> dict[_Field, str]:
    """The names of the metrics; the evaluator's stands in front if two have an output of a name."""
    plain = {field: _plain_name(field[1]) for field in scores}
    taken = list(plain.values())
    return {
        field: f"{field[0]}.{name}" if field[0] and taken.count(name) > 1 else name
        for field, name in plain.items()
    }


def _plain_name(field: str) -> str:
    name = field.removeprefix(_GPT)
    severity = name.removesuffix("_score")
    return severity if severity in _SEVERITIES else name.removesuffix("_label")


def _judgement(row: _Row, key: _Field) -> Judgement:
    if row.error is not None:  # the judges read the message of an error
        return Judgement(None, row.error, is_failed=True)
    evaluator, field = key
    beside = {
        ending: row.outputs.get(
            (evaluator, f"{field}_{ending}"),
            row.outputs.get((evaluator, f"{_plain_name(field)}_{ending}")),
        )
        for ending in ("reason", "status", "result")
    }
    reason = text_or_none(beside["reason"])
    if {str(beside["status"]).lower(), str(beside["result"]).lower()} & _NOT_APPLICABLE:
        return Judgement("n/a", reason)
    return judge(row.outputs.get(key), reason, _NO_REASON)


def _scale(name: str, scores: Sequence[float]) -> Override | None:
    """The scale of grades and severities, unless a score lies outside it."""
    plain = normalise_name(name.rpartition(".")[2])
    if plain in _SEVERITIES and all(0 <= score <= 7 for score in scores):
        return _ON_SEVERITIES
    if plain in _GRADED and (not scores or are_grades(scores, all_one=True)):
        return ON_GRADES
    return ON_GRADES if plain in _PERHAPS_GRADED and are_grades(scores) else None


def _notes(
    overrides: Mapping[str, Override], scores: Iterable[_Field], rows: Sequence[_Row]
) -> Iterator[str]:
    grades = [name for name, override in overrides.items() if override is ON_GRADES]
    if grades:
        yield f"read as Azure's grades from 1 to 5: {named(grades)}"
    severities = [name for name in overrides if name not in grades]
    if severities:
        yield f"read as Azure's severities from 0 to 7, lower is better: {named(severities)}"
    old = [field for _, field in scores if field.startswith(_GPT)]
    if old:
        yield f"the prefix {_GPT!r} is left out of the names of {named(old)}"
    n_failed = sum(row.error is not None for row in rows)
    if n_failed:
        yield f"the target failed in {n_failed} of {len(rows)} rows, whose scores do not count"


AZURE = Reader(
    "azure",
    "Azure AI Evaluation: results of evaluate() as JSON, eval_results.jsonl of a run folder",
    _recognise,
    _read_azure,
    ("encoding",),
    example="eval_results.jsonl",
)
