"""Evaluation services of clouds: Azure AI, Amazon Bedrock and Vertex AI."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import CellsByColumn, ScoreFile, distinct_names
from rageval_report.readers.cell_values import (
    json_text,
    none_if_nan,
    number_or_none,
    parse_columns,
    text_or_none,
)
from rageval_report.readers.frameworks.format import (
    SURE,
    Format,
    at,
    described,
    document_beside,
    first_fields,
    groups_of,
    list_at,
    part,
    read_rows,
    reader_of,
    reader_of_frames,
    run_name,
    snake,
    snake_keys,
    without,
)
from rageval_report.readers.frameworks.rows import (
    ON_GRADES,
    Judgement,
    are_grades,
    content_text,
    drop_empty,
    judge,
    judgement_columns,
    overrides_of,
    rename_clashes,
    score_file,
    time_in,
    times,
)
from rageval_report.readers.json_shapes import ShapeError, check_object, check_records, is_records
from rageval_report.readers.record_columns import columns_of, rows_of
from rageval_report.readers.run_folders import AZURE_RESULTS
from rageval_report.scores.cells import plain_number
from rageval_report.scores.metric import Override, normalise_name
from rageval_report.types import JsonObject

# -- Azure

_INPUTS, _OUTPUTS = "inputs.", "outputs."
_GPT = "gpt_"  # the old names of the judges' scores, beside which the new ones are repeated
_WORDS = described("azure")
_OUR_NAMES = described("azure", "texts")
_ON_SEVERITIES: Override = {"kind": "real", "bounds": (0.0, 7.0), "greater_is_better": False}
_NO_REASON = "Azure's evaluator gave no score; the file does not say why"

# The name of the evaluator, and of one of its outputs.
_Field = tuple[str, str]


class _Row(NamedTuple):
    """The inputs and texts of a row by our names, its outputs by evaluator, and its error."""

    inputs: dict[str, Any]
    outputs: dict[_Field, Any]
    error: str | None


def _is_azure(source: Source) -> float:
    names = first_fields(source, "rows")
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
    counted = {"any_citation", "citations_matched", "citation_match"} & set(names)
    return {"question", "truth", "answer", "context"} <= set(names) and bool(has_scores or counted)


def _read_azure(source: Source) -> list[ScoreFile]:
    """Read the result of Azure's ``evaluate``, or the ``eval_results.jsonl`` of a run folder."""
    rows = list(map(_split_row, read_rows(source, "rows")))
    fields = list(dict.fromkeys(key for row in rows for key in row.outputs))
    scores = _score_fields(fields, [row.outputs for row in rows])
    if not scores:
        raise source.error(f"none of {named(map('.'.join, fields))} is a score")
    names = _metric_names(scores)
    judged = judgement_columns(
        {names[field]: _judgement(row, field) for field in scores} for row in rows
    )
    overrides = overrides_of(_scale, judged)
    # The outputs that are neither scores nor their reasons, under names with their evaluator.
    used = {*scores, *((evaluator, f"{field}_reason") for evaluator, field in scores)}
    others = columns_of(
        {".".join(filter(None, key)): cell for key, cell in row.outputs.items() if key not in used}
        for row in rows
    )
    details = drop_empty(columns_of(without(row.inputs, ["latency"]) for row in rows))
    details |= rename_clashes(drop_empty(others, ()), details, "outputs")
    details |= drop_empty({"error": [row.error for row in rows]})
    latency = [times(row.inputs.get("latency")) for row in rows]
    name = run_name(source, *AZURE_RESULTS)
    is_run = name != source.stem
    config = part({"": document_beside(source, "evaluate_parameters.json") if is_run else {}}, "")
    return [
        score_file(
            name,
            judged,
            details,
            measures={"latency_ms": [None if (time or 0) < 0 else time for time in latency]},
            origin="inputs",
            metrics=overrides,
            notes=_notes(overrides, scores, rows),
            config=config,
            created=time_in(number_or_none(config.get("evaluation_timestamp"))),
        )
    ]


def _split_row(row: JsonObject) -> _Row:
    inputs: dict[str, Any] = {}
    outputs: dict[_Field, Any] = {}
    for key, value in row.items():
        cell = _cell(value)
        evaluator, dot, field = key.removeprefix(_OUTPUTS).partition(".")
        is_text = isinstance(cell, str | list | dict) and not _is_beside(key, row)
        if key.startswith(_INPUTS):
            _add_input(inputs, key.removeprefix(_INPUTS), value)
        elif key.startswith(_OUTPUTS) and dot:
            outputs[evaluator, field] = cell
        elif key.startswith(_OUTPUTS):  # an output of the target, such as its answer
            _add_input(inputs, evaluator, value)
        elif key in _OUR_NAMES or is_text:
            _add_input(inputs, key, value)
        elif key in _WORDS["counts"] or key == "latency":
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


def _add_input(inputs: dict[str, Any], name: str, value: object) -> None:
    usual, cell = _OUR_NAMES.get(name, name), none_if_nan(value)
    # Questions identify rows, so they must be texts.
    inputs[name if usual in inputs else usual] = json_text(cell) if usual == "question" else cell


def _is_beside(key: str, row: Mapping[str, Any]) -> bool:
    """Whether a field belongs to a score: ``X_reason`` beside ``X``."""
    base = _base(key)
    return base is not None and (base in row or f"{_GPT}{base}" in row)


def _base(field: str) -> str | None:
    """X of the field X_<ending>; None if it has no such ending."""
    endings = (end for end in _WORDS["beside"] if field.endswith(f"_{end}"))
    ending = max(endings, key=len, default=None)
    return field.removesuffix(f"_{ending}") if ending else None


def _score_fields(fields: Sequence[_Field], rows: Sequence[Mapping[_Field, Any]]) -> list[_Field]:
    """The fields that are scores: numbers and verdicts that do not belong to another score."""
    scores = []
    for evaluator, field in fields:
        cells = [row.get((evaluator, field)) for row in rows]
        has_numbers = any(isinstance(cell, int | float) for cell in cells)
        # If every row failed, only the companions show that this was a score.
        is_lost = not any(cell is not None for cell in cells)
        is_score = has_numbers or (is_lost and (evaluator, f"{field}_threshold") in fields)
        is_own = is_score and field not in _WORDS["counts"]
        if is_own and not _repeats(evaluator, field, set(fields), rows):
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
    return severity if severity in _WORDS["severities"] else name.removesuffix("_label")


def _judgement(row: _Row, key: _Field) -> Judgement:
    if row.error is not None:  # the judges read the message of an error
        return Judgement(None, row.error, is_failed=True)
    evaluator, field = key
    reason, status, result = (
        row.outputs.get(
            (evaluator, f"{field}_{ending}"),
            row.outputs.get((evaluator, f"{_plain_name(field)}_{ending}")),
        )
        for ending in ("reason", "status", "result")
    )
    if {str(status).lower(), str(result).lower()} & _WORDS["not_applicable"]:
        return Judgement("n/a", text_or_none(reason))
    return judge(row.outputs.get(key), text_or_none(reason), _NO_REASON)


def _scale(name: str, scores: Sequence[float]) -> Override | None:
    """The scale of grades and severities, unless a score lies outside it."""
    plain = normalise_name(name.rpartition(".")[2])
    if plain in _WORDS["severities"] and all(0 <= score <= 7 for score in scores):
        return _ON_SEVERITIES
    if plain in _WORDS["graded"] and (not scores or are_grades(scores, all_one=True)):
        return ON_GRADES
    return ON_GRADES if plain in _WORDS["perhaps_graded"] and are_grades(scores) else None


def _notes(
    overrides: Mapping[str, Override], scores: Sequence[_Field], rows: Sequence[_Row]
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


AZURE = reader_of("azure", _is_azure, _read_azure)


# -- Bedrock

_TURNS, _AUTOMATED, _BUILTIN = "conversationTurns", "automatedEvaluationResult", "Builtin."
_NAMES = described("bedrock")


def _is_bedrock(source: Source) -> float:
    names = first_fields(source)
    return SURE if _TURNS in names or {_AUTOMATED, "inputRecord"} <= names else 0.0


def _read_bedrock(source: Source) -> list[ScoreFile]:
    """Read the output of an evaluation job: one pipeline per knowledge base and model."""
    turns = [
        turn for number, row in enumerate(read_rows(source), 1) for turn in _turns(row, number)
    ]
    if not any(turn["scores"] for turn in turns):
        raise source.error(
            "this looks like the prompts of a Bedrock evaluation, without results: read the file "
            "that the job wrote to its output location"
        )
    groups = groups_of(turns, lambda turn: turn["pipeline"] or source.stem)
    return [_bedrock_file(name, group) for name, group in groups.items()]


def _bedrock_file(name: str, turns: Sequence[JsonObject]) -> ScoreFile:
    several = {turn["conversation"] for turn in turns if turn.get("turn", 1) > 1}
    if not several:  # then the numbers of conversations say nothing
        return _PROMPTS.score_file(
            name, [without(turn, ["conversation", "turn"]) for turn in turns]
        )
    note = (
        f"{len(several)} conversations have several turns; each turn is a query, and turns "
        'of a conversation are not independent: compare with clusters="conversation"'
    )
    return _PROMPTS.score_file(name, turns, [note])


def _turns(row: JsonObject, number: int) -> Iterator[JsonObject]:
    """The prompts of a record: the pipeline that answered, the results and the texts of each."""
    if _TURNS not in row:
        inputs = check_object(row.get("inputRecord"), f"inputRecord of record {number}")
        result = check_object(row.get(_AUTOMATED), f"{_AUTOMATED} of record {number}")
        responses = row.get("modelResponses")
        response = responses[0] if is_records(responses) else {}
        yield {
            "pipeline": _resource(response.get("modelIdentifier")),
            "scores": _results(check_records(result.get("scores"), f"scores of record {number}")),
            "question": _text(inputs.get("prompt")),
            "answer": _text(response.get("response")),
            "reference": inputs.get("referenceResponse"),
            "category": inputs.get("category"),
        }
        return
    for position, turn in enumerate(check_records(row[_TURNS], f"{_TURNS} of record {number}"), 1):
        place = f"turn {position} of record {number}"
        output = check_object(turn.get("output"), f"output of {place}")
        inputs = check_object(turn.get("inputRecord", turn), f"inputRecord of {place}")
        yield {
            "pipeline": _resource(
                output.get("knowledgeBaseIdentifier"), output.get("modelIdentifier")
            ),
            "scores": _results(check_records(turn.get("results"), f"results of {place}")),
            "question": _text(inputs.get("prompt")),
            "answer": _text(at(output, "text|response")),
            "reference": _texts(inputs.get("referenceResponses")),
            "reference_contexts": _texts(inputs.get("referenceContexts")),
            "contexts": _passages(output.get("retrievedPassages")),
            "conversation": number,
            "turn": position,
        }


def _resource(*identifiers: object) -> str | None:
    """The identifiers in one name; of a resource's name (ARN), the part that differs."""
    texts = [text_or_none(identifier) for identifier in identifiers]
    return ", ".join(text.rpartition("/")[2] or text for text in texts if text) or None


def _results(results: Sequence[JsonObject]) -> dict[str, JsonObject]:
    """The results under Bedrock's names, in snake case without ``Builtin.``."""
    scores: dict[str, JsonObject] = {}
    for result in results:
        name, details = result.get("metricName"), result.get("evaluatorDetails")
        if isinstance(name, str):
            listed = details if is_records(details) else []
            texts = [text_or_none(detail.get("explanation")) for detail in listed]
            own = snake(name.removeprefix(_BUILTIN)) if name.startswith(_BUILTIN) else name
            reason = "; ".join(text for text in texts if text)
            scores[own] = {"score": result.get("result"), "reason": reason}
    return scores


def _text(value: object) -> str | None:
    """The text of a prompt or an answer, which may be an object with a list of contents."""
    if isinstance(value, dict):
        value = value.get("content", value.get("text"))
    if is_records(value):
        value = "\n".join(str(item.get("text", "")) for item in value)
    return text_or_none(value)


def _texts(value: object) -> list[str] | str | None:
    texts = [text for item in value if (text := _text(item))] if is_records(value) else []
    return texts[0] if len(texts) == 1 else texts or None


def _passages(value: object) -> list[str] | None:
    """The texts of the retrieved passages."""
    listed = value.get("retrievalResults", value) if isinstance(value, dict) else value
    if not is_records(listed):
        return None
    return [text for passage in listed if (text := _text(passage.get("content", passage)))]


def _scale_of_bedrock(metric: str, scores: Sequence[float]) -> dict[str, Any]:
    override: dict[str, Any] = {}
    if metric in _NAMES["lower"]:
        override["greater_is_better"] = False
    if metric in _NAMES["judged"] and all(0 <= score <= 1 for score in scores):
        override |= {"kind": "proportion", "bounds": (0.0, 1.0)}
    return override | ({"group": "retrieval"} if metric in _NAMES["retrieval"] else {})


_PROMPTS = Format.of("bedrock", metrics=_scale_of_bedrock)
BEDROCK = reader_of("bedrock", _is_bedrock, _read_bedrock)


# -- Vertex AI: metrics tables

_SCORE, _EXPLANATION, _CHOICE = "/score", "/explanation", "/pairwise_choice"
_TEXTS = {"prompt": "question", "response": "answer", "context": "contexts"}


def _is_vertex(names: frozenset[str]) -> float:
    has_score = any(name.endswith((_SCORE, _CHOICE)) for name in names)
    # MLflow's tables have names like these, but a version or a justification beside them.
    is_of_mlflow = any("/v" in name or name.endswith("/justification") for name in names)
    texts = {"prompt", "response", "reference", "baseline_model_response", "instruction"}
    has_explanation = any(name.endswith(_EXPLANATION) for name in names)
    is_vertex = has_explanation or len(names & texts) > 1
    return SURE if has_score and is_vertex and not is_of_mlflow else 0.0


def _read_vertex(source: Source, frame: pd.DataFrame) -> list[ScoreFile]:
    """Read a metrics_table of Vertex AI: ``<metric>/score`` and ``<metric>/explanation``."""
    cells = parse_columns(frame)
    metrics = [name.removesuffix(_SCORE) for name in cells if name.endswith(_SCORE)]
    if not metrics:
        choices = [name for name in cells if name.endswith(_CHOICE)]
        raise source.error(
            f"{named(choices)} are choices between two models, and no column is a score; expected "
            "a column <metric>/score"
        )
    rows = rows_of(cells)
    judged = judgement_columns({name: _table_cell(row, name) for name in metrics} for row in rows)
    explained = {name.removesuffix(_EXPLANATION) for name in cells if name.endswith(_EXPLANATION)}
    scales = overrides_of(
        lambda _, scores: ON_GRADES if are_grades(scores, whole=True) else None,
        judged._replace(metrics=tuple(name for name in judged.metrics if name in explained)),
    )
    notes = [f"read as grades from 1 to 5: {named(scales)}"] if scales else []
    n_failed = sum(map(_has_failed, rows))
    if n_failed:
        notes.append(f"the model failed in {n_failed} rows, whose scores do not count")
    used = {f"{metric}{end}" for metric in metrics for end in (_SCORE, _EXPLANATION)}
    details: CellsByColumn = {}
    for name, column in without(cells, used).items():
        ours = name if _TEXTS.get(name, name) in cells else _TEXTS.get(name, name)
        # Questions identify rows, so they must be texts.
        details[ours] = list(map(json_text, column)) if ours == "question" else column
    details = drop_empty(details)
    return [score_file(source.stem, judged, details, origin="data", metrics=scales, notes=notes)]


def _has_failed(row: JsonObject) -> bool:
    """Whether the model failed after all retries, which is written in place of its answer."""
    return bool(row.get("response") == "Error")


def _table_cell(row: JsonObject, metric: str) -> Judgement:
    if _has_failed(row):
        return Judgement(None, "the model gave no answer", is_failed=True)
    return judge(row[metric + _SCORE], text_or_none(row.get(metric + _EXPLANATION)))


VERTEX = reader_of_frames("vertex", _is_vertex, _read_vertex)


# -- Vertex AI: results of the newer client


def _is_vertex_results(source: Source) -> float:
    cases = at(source.document_or_none(), "eval_case_results|evalCaseResults")
    is_result = is_records(cases) and "response_candidate_results" in snake_keys(cases[0])
    return 0.96 if is_result else 0.0


def _read_vertex_results(source: Source) -> list[ScoreFile]:
    """Read an ``EvaluationResult`` of the client of Vertex AI: one pipeline per candidate."""
    document = _in_snake_case(check_object(source.document, "the result"), depth=5)
    cases = check_records(document.get("eval_case_results"), "eval_case_results")
    n_candidates = max((len(_candidates(case)) for case in cases), default=0)
    if not n_candidates:
        raise ShapeError("no case has results of a candidate, so the file holds no scores")
    datasets = [
        each if isinstance(each, dict) else {} for each in list_at(document, "evaluation_dataset")
    ]
    created = time_in(at(document, "metadata.creation_timestamp"))
    names = _candidate_names(source.stem, document, datasets, n_candidates)
    return [
        _VERTEX_RESULTS.score_file(name, _rows_of(cases, datasets, place), created=created)
        for place, name in enumerate(distinct_names(names))
    ]


def _in_snake_case(value: Any, depth: int) -> Any:
    """The value with the keys of its objects in snake case, down to a depth."""
    if isinstance(value, dict) and depth:
        return {key: _in_snake_case(item, depth - 1) for key, item in snake_keys(value).items()}
    are_items = isinstance(value, list) and depth
    return [_in_snake_case(item, depth) for item in value] if are_items else value


def _candidates(case: JsonObject) -> list[JsonObject]:
    return check_records(case.get("response_candidate_results"), "response_candidate_results")


def _candidate_names(
    stem: str, document: JsonObject, datasets: Sequence[JsonObject], n_candidates: int
) -> list[str]:
    """The names of the candidates in the metadata, or in their data sets; else the file's."""
    listed = list_at(document, "metadata.candidate_names")
    if len(listed) != n_candidates:
        listed = [dataset.get("candidate_name") for dataset in datasets]
    texts = [text for name in listed if (text := text_or_none(name))]
    if len(texts) == len(listed) == n_candidates:
        return texts
    return [stem] if n_candidates == 1 else [f"{stem} {n + 1}" for n in range(n_candidates)]


def _rows_of(
    cases: Sequence[JsonObject], datasets: Sequence[JsonObject], place: int
) -> list[JsonObject]:
    """The results of the candidate at a place, with the rows of its data set."""
    # Candidates have a data set each, or share one whose cases have several responses.
    dataset = datasets[place] if place < len(datasets) else next(iter(datasets), {})
    table, listed = dataset.get("eval_dataset_df"), list_at(dataset, "eval_cases")
    texts = (
        [{_TEXTS.get(key, key): cell for key, cell in row.items()} for row in table]
        if is_records(table)
        else [_texts_of_case(case, place if len(datasets) == 1 else 0) for case in listed]
    )
    rows: list[JsonObject] = []
    for case in cases:
        index = case.get("eval_case_index")
        has_texts = isinstance(index, int) and 0 <= index < len(texts)
        details = dict(texts[index or 0]) if has_texts else {}
        query_id = details.pop("eval_case_id", None)
        results = _result_at(case, place).get("metric_results")
        rows.append({"scores": results, "details": details, "query_id": query_id, "index": index})
    has_questions = all(row["details"].get("question") is not None for row in rows)
    if has_questions or all(row["query_id"] is not None for row in rows):
        return rows
    return [{**row, "query_id": f"case {row['index']}"} for row in rows]


def _result_at(case: JsonObject, place: int) -> JsonObject:
    """The result of the candidate at a place; empty if the case has none."""
    indices = (
        (result.get("response_index"), position, result)
        for position, result in enumerate(_candidates(case))
    )
    fitting = (each for index, n, each in indices if (n if index is None else index) == place)
    return next(fitting, {})


def _texts_of_case(case: object, place: int) -> JsonObject:
    responses = list_at(case, "responses")
    return {
        "question": _message(at(case, "prompt")),
        "answer": _message(at(responses[place], "response")) if place < len(responses) else None,
        "reference": _message(at(case, "reference.response")),
        "eval_case_id": at(case, "eval_case_id"),
    }


def _message(message: object) -> str | None:
    """The text of a message, which is a list of parts."""
    return content_text(list_at(message, "parts") if isinstance(message, dict) else message)


_VERTEX_RESULTS = Format.of("vertex_results")
VERTEX_RESULTS = reader_of("vertex_results", _is_vertex_results, _read_vertex_results)
