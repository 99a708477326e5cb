"""Azure AI Evaluation: the results of `evaluate`, and the run folders of Azure's RAG samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.files.strict_json import load_json
from rageval_report.readers.base import CellsByColumn, Reader, ScoreFile
from rageval_report.readers.cell_values import (
    json_text,
    none_if_nan,
    number_or_none,
    text_or_none,
)
from rageval_report.readers.frameworks.json_rows import first_fields, read_rows
from rageval_report.readers.frameworks.judgements import (
    Judgement,
    drop_empty,
    judgement_columns,
    rename_clashes,
)
from rageval_report.readers.record_columns import columns_of, frame_of
from rageval_report.readers.run_folders import AZURE_RESULTS
from rageval_report.scores.cells import plain_number
from rageval_report.scores.metric import Override, normalise_name
from rageval_report.types import JsonObject

_ROWS = "rows"
_INPUTS, _OUTPUTS = "inputs.", "outputs."
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
_ON_GRADES: Override = {"kind": "real", "bounds": (1.0, 5.0)}
_ON_SEVERITIES: Override = {"kind": "real", "bounds": (0.0, 7.0), "greater_is_better": False}
_NOT_APPLICABLE = frozenset(("not_applicable", "not applicable", "skipped"))
_NO_REASON = "Azure's evaluator gave no score; the file does not say why"
_SECONDS = 1000.0  # latency, in milliseconds

# The files of a run folder, and those beside them that hold its settings.
_GENERIC_STEMS = frozenset(name.partition(".")[0] for name in AZURE_RESULTS)
_PARAMETERS, _TIMESTAMP = "evaluate_parameters.json", "evaluation_timestamp"
_MOST_BYTES = 1 << 20


def _recognise(source: Source) -> float:
    names = first_fields(source, _ROWS)
    is_of_evaluate = any(name.startswith(_INPUTS) for name in names) and any(
        name.startswith(_OUTPUTS) and "." in name.removeprefix(_OUTPUTS) for name in names
    )
    return 0.95 if is_of_evaluate or _is_of_sample(names) else 0.0


def _is_of_sample(names: Iterable[str]) -> bool:
    """Whether these are the fields of a row of the RAG samples' eval_results.jsonl."""
    fields = set(names)
    has_scores = any(name.startswith(_GPT) for name in fields) or any(
        {f"{name}_result", f"{name}_threshold"} <= fields for name in fields
    )
    return {"question", "truth", "answer", "context"} <= fields and (
        has_scores or bool({"any_citation", "citations_matched", "citation_match"} & fields)
    )


def read_azure(source: Source) -> list[ScoreFile]:
    """Read the result of Azure's ``evaluate``, or the ``eval_results.jsonl`` of a run folder.

    One pipeline; a file with the usual name of results is named after its folder. Grades of judges
    go from 1 to 5, severities from 0 to 7. The result, the threshold and the repeated
    ``gpt_`` columns of a score are not metrics. A score that is missing has failed, unless Azure
    skipped it; if the target failed (latency -1), none of the row's scores counts.

    Raises
    ------
    ReaderError
        If the file is broken, or contains no score.
    """
    rows = read_rows(source, _ROWS)
    groups = [_split_row(row) for row in rows]
    fields = list(dict.fromkeys(key for group in groups for key in group.outputs))
    scores = _score_fields(fields, [group.outputs for group in groups])
    names = _metric_names(scores)
    judged = judgement_columns(
        {names[field]: _judgement(group, field) for field in scores} for group in groups
    )
    latency = drop_empty({"latency_ms": [_milliseconds(group.inputs) for group in groups]})
    measures = {name: cells for name, cells in latency.items() if name not in judged.columns}
    metrics = (*judged.metrics, *measures)
    if not metrics:
        raise source.error(f"none of {named(fields)} is a score")
    others = [_other_outputs(group.outputs, scores) for group in groups]
    details = drop_empty(columns_of(group.inputs for group in groups))
    details |= rename_clashes(drop_empty(columns_of(others), ()), details, "outputs")
    if any(group.error for group in groups):
        details["error"] = [group.error for group in groups]
    details.pop("latency", None)
    details = rename_clashes(details, {*judged.columns, *measures}, "inputs")
    overrides = _overrides(judged.columns, judged.metrics)
    config, created = _settings(source)
    return [
        ScoreFile(
            frame_of({**details, **judged.columns, **measures}),
            _name(source),
            metrics=overrides,
            metric_columns=metrics,
            notes=(*judged.notes, *_notes(overrides, scores, groups)),
            config=config,
            created=created,
        )
    ]


# -- rows


# The name of the evaluator, and of one of its outputs.
_Field = tuple[str, str]


class _Row(NamedTuple):
    """The inputs and texts of a row by our names, its outputs by evaluator, and its error."""

    inputs: dict[str, Any]
    outputs: dict[_Field, Any]
    error: str | None


def _split_row(row: JsonObject) -> _Row:
    inputs: dict[str, Any] = {}
    outputs: dict[_Field, Any] = {}
    for key, value in row.items():
        cell = _cell(value)
        if key.startswith(_INPUTS):
            _add_input(inputs, key.removeprefix(_INPUTS), none_if_nan(value))
        elif key.startswith(_OUTPUTS):
            evaluator, dot, field = key.removeprefix(_OUTPUTS).partition(".")
            if dot:
                outputs[evaluator, field] = cell
            else:  # an output of the target, such as its answer
                _add_input(inputs, evaluator, none_if_nan(value))
        elif key in _TEXTS or (isinstance(cell, str | list | dict) and not _is_beside(key, row)):
            _add_input(inputs, key, none_if_nan(value))
        elif key in _COUNTS or key == "latency":
            inputs[key] = cell
        else:
            outputs["", key] = cell
    return _Row(inputs, outputs, _target_error(inputs))


def _cell(value: object) -> object:
    """The value; None for NaN, which a table of text has as a word; a number for its text."""
    if not isinstance(value, str):
        return none_if_nan(value)
    number = plain_number(value)
    return value if number is None else none_if_nan(number)


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


def _target_error(inputs: Mapping[str, Any]) -> str | None:
    """The error of the target, which the samples write as its answer, with a latency of -1."""
    if number_or_none(inputs.get("latency")) != -1.0:
        return None
    return f"the target failed: {text_or_none(inputs.get('answer')) or 'no message'}"


def _milliseconds(inputs: Mapping[str, Any]) -> float | None:
    seconds = number_or_none(inputs.get("latency"))
    return None if seconds is None or seconds < 0 else seconds * _SECONDS


# -- scores


def _score_fields(fields: Sequence[_Field], rows: Sequence[Mapping[_Field, Any]]) -> list[_Field]:
    """The fields that are scores: numbers and verdicts that do not belong to another score."""
    present = set(fields)
    scores = []
    for evaluator, field in fields:
        cells = [row.get((evaluator, field)) for row in rows]
        has_numbers = any(isinstance(cell, int | float) for cell in cells)
        # If every row failed, only the companions show that this was a score.
        is_empty = all(cell is None for cell in cells)
        is_known = (evaluator, f"{field}_threshold") in present
        is_score = (has_numbers or (is_empty and is_known)) and field not in _COUNTS
        if is_score and not _repeats_another(evaluator, field, present, rows):
            scores.append((evaluator, field))
    return scores


def _repeats_another(
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
    is_scored_elsewhere = (evaluator, f"{base}_score") in present
    return bool(companions) or is_scored_elsewhere or not is_verdict


def _other_outputs(outputs: Mapping[_Field, Any], scores: Sequence[_Field]) -> dict[str, Any]:
    """The outputs that are neither scores nor their reasons, under names with their evaluator."""
    used = {*scores, *((evaluator, f"{field}_reason") for evaluator, field in scores)}
    return {
        ".".join(filter(None, field)): cell for field, cell in outputs.items() if field not in used
    }


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
    outputs, (evaluator, field) = row.outputs, key
    base = _plain_name(field)

    def companion(ending: str) -> object:
        names = (f"{name}_{ending}" for name in dict.fromkeys((field, base)))
        return next(
            (outputs[evaluator, name] for name in names if (evaluator, name) in outputs), None
        )

    reason = text_or_none(companion("reason"))
    states = {str(companion(ending)).lower() for ending in ("status", "result")}
    if states & _NOT_APPLICABLE:
        return Judgement("n/a", reason)
    score = outputs.get(key)
    return (
        Judgement(None, reason or _NO_REASON, True) if score is None else Judgement(score, reason)
    )


def _overrides(columns: CellsByColumn, metrics: Iterable[str]) -> dict[str, Override]:
    """The scales of grades and severities, unless a score lies outside them."""
    scales: dict[str, Override] = {}
    for name in metrics:
        plain = normalise_name(name.rpartition(".")[2])
        scores = [score for score in columns[name] if score == score]
        if plain in _SEVERITIES and _within(scores, 0.0, 7.0):
            scales[name] = _ON_SEVERITIES
        elif _within(scores, 1.0, 5.0) and (
            plain in _GRADED or (plain in _PERHAPS_GRADED and any(score > 1 for score in scores))
        ):
            scales[name] = _ON_GRADES
    return scales


def _within(scores: Iterable[float], low: float, high: float) -> bool:
    return all(low <= score <= high for score in scores)


# -- the file


def _name(source: Source) -> str:
    """The name of the file, or of its folder if all results have the file's name."""
    if source.stem in _GENERIC_STEMS and source.folder is not None:
        return source.folder.absolute().name or source.stem
    return source.stem


def _settings(source: Source) -> tuple[JsonObject, datetime | None]:
    """The settings that a run folder keeps beside the results, and its time."""
    folder = source.folder
    if folder is None or source.stem not in _GENERIC_STEMS:
        return {}, None
    parameters = _read_settings(folder / _PARAMETERS)
    seconds = number_or_none(parameters.get(_TIMESTAMP))
    try:
        created = None if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        created = None
    return parameters, created


def _read_settings(path: Path) -> JsonObject:
    """The settings; none if the file cannot be read, because the scores do not need them."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return {}
        settings = load_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _notes(
    overrides: Mapping[str, Override],
    scores: Iterable[_Field],
    rows: Sequence[_Row],
) -> Iterable[str]:
    grades = [name for name, override in overrides.items() if override is _ON_GRADES]
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
    read_azure,
    ("encoding",),
    example="eval_results.jsonl",
)
