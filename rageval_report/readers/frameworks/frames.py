"""Toolkits that score RAG answers and return frames: Ragas, Evidently, Giskard, LlamaIndex."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile, id_columns
from rageval_report.readers.cell_values import (
    json_text,
    none_if_nan,
    parse_list,
    parse_list_columns,
    parse_literal,
    parse_rows,
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
    lines_beside,
    nested,
    part,
    read_rows,
    reader_of,
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
    mark_blank_scores,
    overrides_of,
    score_file,
)
from rageval_report.readers.json_shapes import ShapeError, is_records
from rageval_report.readers.record_columns import columns_of, score_columns
from rageval_report.readers.run_folders import METRICS_RESULTS
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.cells import read_cells
from rageval_report.scores.metric import Override, normalise_name
from rageval_report.scores.query_ids import id_column_of, question_text
from rageval_report.scores.states import REASON
from rageval_report.types import JsonObject

# -- Ragas

_RAGAS = described("ragas")
_SAMPLE = _RAGAS["sample"] | _RAGAS["old_sample"]
_TESTSET = {"question", "contexts", "ground_truth", "evolution_type"}
# The text that Python writes for a metric's result, if an experiment stores the object itself.
_RESULT_OPENS = "MetricResult(value="
_RESULT = re.compile(
    r"""MetricResult\(value=(?P<value>.*?)(?:,\s reason=(?P<reason>'.*'|".*"))?\)""",
    re.DOTALL | re.VERBOSE,
)


def _is_ragas(source: Source) -> float:
    header = frozenset(header_of(source))
    if ("user_input" in header and len(header & _RAGAS["sample"]) > 1) or header >= _TESTSET:
        return SURE
    if {"question", "answer", "contexts"} <= header and header & _RAGAS["old_metrics"]:
        return 0.92  # names that other tools use too, so this is less sure
    is_of_results = header and source.is_text and _RESULT_OPENS.encode() in source.head
    return SURE if is_of_results else 0.0


def read_ragas(
    source: Source, *, columns: Iterable[str] | None = None, query_id: str | None = None
) -> list[ScoreFile]:
    r"""Read a frame of Ragas from any kind of table.

    The text of the question identifies the query. A blank score has failed: Ragas writes it
    without a reason if a metric raised an error or could not use its judge's answer.

    Examples
    --------
    >>> [run] = read_ragas(Source(b'user_input,response,sas\nWho?,He.,0.5\nWhen?,Now.,\n'))
    >>> list(run.frame), run.frame["sas_state"].tolist()
    (['user_input', 'response', 'sas', 'sas_state'], ['scored', 'failed'])
    """
    table = read_table(source, columns=columns, query_id=query_id)
    # Ragas writes lists into CSV as Python's repr, arrays (0.1) as NumPy's.
    frame, of_lists = parse_list_columns(table.frame.rename(columns=str), sorted(_RAGAS["lists"]))
    ids = id_columns(map(str, frame), query_id)
    others = [name for name in map(str, frame) if name not in (*_SAMPLE, *ids)]
    if set(frame) >= _TESTSET and all(name.startswith("Unnamed: ") for name in others):
        raise source.error(
            "this is the test set that Ragas generates: a gold set without scores. Ask a pipeline "
            "its questions and score the answers; read_records(path) reads it"
        )
    frame, of_talks = _with_last_questions(frame)
    frame, of_results = _with_results(frame)
    frame, n_failed = mark_blank_scores(frame, {*_SAMPLE, *ids})
    of_failures = [
        f"{n} blank scores of {metric!r}: evaluation failed, not in the mean. Ragas leaves a blank "
        "if a metric raised an error or could not use its judge's answer, and gives no reason"
        for metric, n in n_failed.items()
    ]
    notes = (*table.notes, *of_lists, *of_talks, *of_results, *of_failures)
    return [replace(table, frame=frame, notes=notes)]


def _with_last_questions(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The frame with the last message of the user as the question, and the conversation apart."""
    column = question_text(frame)
    if column is None or pd.api.types.is_numeric_dtype(frame[column].dtype):
        return frame, []
    cells = frame[column].tolist()
    talks = [_messages(cell) for cell in cells]
    if not any(talks):
        return frame, []
    questions = [
        _last_message(talk) if talk else cell for talk, cell in zip(talks, cells, strict=True)
    ]
    columns = {
        name: pd.Series(texts, index=frame.index, dtype=object)
        for name, texts in {column: questions, "conversation": talks}.items()
    }
    note = "the question of a conversation is the last message of the user"
    return frame.assign(**columns), [note]


def _messages(cell: object) -> list[Any] | None:
    messages = parse_list(cell)
    are_messages = is_records(messages) and all("content" in item for item in messages)
    return messages if isinstance(messages, list) and are_messages else None


def _last_message(talk: list[Any]) -> str:
    by_user = [item for item in talk if item.get("type", item.get("role")) in ("human", "user")]
    return str((by_user or talk)[-1]["content"])


def _with_results(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The frame with the scores and reasons of results that are written as Python objects."""
    parsed: dict[str, list[Any]] = {}
    names = []
    for name in map(str, frame):
        cells = frame[name].tolist()
        if not any(isinstance(cell, str) and cell.startswith(_RESULT_OPENS) for cell in cells):
            continue
        values, reasons = map(list, zip(*map(_result, cells), strict=True))
        are_labels = len(read_cells(values).unread) == len(cells)
        own = {name: values} if are_labels else score_columns(name, values, reasons)
        parsed |= {key: own[key] for key in own if key == name or key not in frame}
        names.append(name)
    columns = {name: pd.Series(cells, index=frame.index) for name, cells in parsed.items()}
    notes = [f"parsed from the text of results of metrics: {named(names, 12)}"] if names else []
    return frame.assign(**columns), notes


def _result(cell: object) -> tuple[Any, str | None]:
    match = _RESULT.fullmatch(cell.strip()) if isinstance(cell, str) else None
    if match is None:
        return cell, None
    reason = match["reason"]
    return match["value"], None if reason is None else str(parse_literal(reason))


RAGAS = reader_of("ragas", _is_ragas, read_ragas, "columns", "query_id")


# -- Evidently

# The name of a test's column, and the direction that it implies.
_TEST = re.compile(
    r"(?P<column>.+?):? (?P<condition>(?:greater than|greater or equal to|less than|"
    r"less or equal to|not equals|equals|not in list|in list) .*)"
)
_DIRECTIONS: dict[str, Override] = {"greater": "higher", "less": "lower"}
_REASONING = " reasoning"


class _RowTest(NamedTuple):
    """A column of verdicts: its name, the tested column, and the condition for passing."""

    name: str
    column: str
    condition: str


def _is_evidently(source: Source) -> float:
    is_ours = _is_report(source.document_or_none()) or _tests_in(header_of(source))
    return SURE if is_ours else 0.0


def _is_report(document: object) -> bool:
    metrics = at(document, "metrics")
    return is_records(metrics) and all(
        metric.keys() >= {"id", "metric_name", "value"} for metric in metrics
    )


def _tests_in(names: Iterable[str]) -> list[_RowTest]:
    present = list(names)
    matches = ((name, _TEST.fullmatch(name)) for name in present)
    return [
        _RowTest(name, match["column"], match["condition"])
        for name, match in matches
        if match and match["column"] in present
    ]


def _read_evidently(source: Source) -> list[ScoreFile]:
    """Read the frame of an Evidently data set with tests: one pipeline, named after the file."""
    if _is_report(source.document_or_none()):
        raise source.error(
            "this is an Evidently report, which contains aggregates only; save the rows of its "
            "data set: dataset.as_dataframe().to_csv(...)"
        )
    table = read_table(source)
    frame, tests = table.frame.rename(columns=str), _tests_in(map(str, table.frame))
    summaries = _summaries(frame, tests)
    judged = {test.column for test in tests}
    judged |= {
        name.removesuffix(_REASONING) for name in map(str, frame) if name.endswith(_REASONING)
    }
    reasons = {name: _reasons(frame, name, tests) for name in frame if name in judged}
    used = {*(test.name for test in tests), *(f"{name}{_REASONING}" for name in reasons)}
    added: dict[str, list[str | None]] = {
        name: [f"{cell} of tests" for cell in frame[name].tolist()] for name in summaries
    }
    added |= {f"{name}{REASON}": cells for name, cells in reasons.items()}
    kept = frame.drop(columns=[name for name in frame if name in used])
    kept = kept.assign(**{name: pd.Series(cells, dtype=object) for name, cells in added.items()})
    notes = [f"{test.column}: threshold {test.condition!r} stored in the file" for test in tests]
    if summaries:
        listed = named(summaries)
        notes.append(f"{listed} summarises tests and counts a missing score as failed: a detail")
    directions = _directions(frame, tests)
    return [ScoreFile(kept, source.stem, metrics=directions, notes=(*table.notes, *notes))]


def _reasons(frame: pd.DataFrame, name: str, tests: Sequence[_RowTest]) -> list[str | None]:
    """The explanation of the judge and the tests that passed; without a score, no tests."""
    reasoning = f"{name}{_REASONING}"
    explanations = frame[reasoning].tolist() if reasoning in frame else [None] * len(frame)
    own = [(test, frame[test.name].tolist()) for test in tests if test.column == name]
    words = {"True": "passed", "False": "failed"}
    reasons = []
    for row, score in enumerate(frame[name].tolist()):
        parts = [text_or_none(explanations[row])]
        if none_if_nan(score) is not None:
            # Evidently (0.7.23) writes False for the test of a missing score, which is not a failed
            # test.
            verdicts = ((words.get(str(cells[row]), "no verdict"), test) for test, cells in own)
            parts += [f"{verdict}: {test.condition}" for verdict, test in verdicts]
        reasons.append("; ".join(part for part in parts if part) or None)
    return reasons


def _summaries(frame: pd.DataFrame, tests: Sequence[_RowTest]) -> list[str]:
    """The columns that summarise the tests, and so count a missing score as a failure."""
    names = [test.name for test in tests]
    if not names or not all(pd.api.types.is_bool_dtype(frame[name].dtype) for name in names):
        return []
    passed = frame[names]
    share = passed.mean(axis=1)
    sums = (share, passed.sum(axis=1), share == 1, share > 0)
    others = [str(name) for name in frame if name not in names and "summary" in str(name).lower()]
    return [name for name in others if any(_is_same(frame[name], cells) for cells in sums)]


def _is_same(cells: pd.Series, other: pd.Series) -> bool:
    is_numeric = pd.api.types.is_numeric_dtype(cells.dtype)
    pairs = zip(cells.tolist(), other.tolist(), strict=True)
    return is_numeric and all(math.isclose(left, right) for left, right in pairs)


def _directions(frame: pd.DataFrame, tests: Sequence[_RowTest]) -> dict[str, Override]:
    """The directions that the limits of a column of numbers imply, if all of them agree."""
    words: dict[str, set[str]] = {}
    for test in tests:
        if pd.api.types.is_numeric_dtype(frame[test.column].dtype):
            words.setdefault(test.column, set()).add(test.condition.split(" ", 1)[0])
    return {
        name: _DIRECTIONS[next(iter(own))]
        for name, own in words.items()
        if len(own) == 1 and own <= _DIRECTIONS.keys()
    }


EVIDENTLY = reader_of("evidently", _is_evidently, _read_evidently)


# -- Giskard's RAGET

_CORRECT = "correctness"
_QUESTIONS, _ANSWERS = "testset.jsonl", "agent_answer.json"
_SAMPLE_OF_GISKARD = frozenset(("reference_context", "conversation_history", "metadata"))
_OF_RAGAS = "RAGAS "
_NO_DOCUMENTS = "Giskard writes 0 for this metric if the answer came without documents"
_GISKARD = Format.of("giskard")
_AGREES: Override = {
    "kind": "binary",
    "bounds": (0.0, 1.0),
    "description": "Whether the answer agrees with the reference answer, by Giskard's judge.",
    "source": "Giskard",
}


def _is_giskard(source: Source) -> float:
    names = frozenset(header_of(source))
    is_report = names >= {*_GISKARD.texts.values(), _CORRECT} and names & _SAMPLE_OF_GISKARD
    return SURE if is_report or _results_in(source.document_or_none()) else 0.0


def _results_in(document: object) -> JsonObject:
    """The scores by question of a saved report; none if the document is something else."""
    first = next(iter(document.values()), None) if isinstance(document, dict) else None
    are_results = (
        isinstance(first, dict)
        and first.keys() >= {_CORRECT, f"{_CORRECT}_reason"}
        and isinstance(first[_CORRECT], bool | None)
    )
    return document if isinstance(document, dict) and are_results else {}


def _read_giskard(source: Source) -> list[ScoreFile]:
    """Read ``metrics_results.json`` of a saved report, or the frame of a report in a table."""
    results = _results_in(source.document_or_none())
    if results:
        return [_read_saved_report(source, results)]
    table = read_table(source)
    if not {_CORRECT, "question"} <= set(map(str, table.frame)):
        raise source.error(
            "expected metrics_results.json of a saved report, or a table with the columns "
            "question, agent_answer and correctness"
        )
    rows = parse_rows(table.frame)
    key = id_column_of(rows[0]) if rows else None
    ids = [row.pop(key) for row in rows] if key is not None else None
    zeros = [
        name for name in rows[0] if name.startswith(_OF_RAGAS) and any(r[name] == 0 for r in rows)
    ]
    doubt = (
        f"a 0 of {named(zeros)} may mean that the answer came without documents; a table does "
        f"not show it, {METRICS_RESULTS} of the saved report does"
    )
    return [_report_file(source, ids, rows, rows, (*table.notes, *([doubt] if zeros else [])))]


def _read_saved_report(source: Source, document: JsonObject) -> ScoreFile:
    wrong = [key for key, row in document.items() if not isinstance(row, dict)]
    if wrong:
        raise ShapeError(f"the scores of the question {wrong[0]!r} must be an object")
    questions, answers = lines_beside(source, _QUESTIONS), document_beside(source, _ANSWERS)
    samples = {str(question.get("id")): dict(question) for question in questions}
    notes = []
    # The answers have no ids: they stand in the order of the questions.
    if is_records(answers) and len(answers) == len(questions):
        for question, answer in zip(questions, answers, strict=True):
            own = {"agent_answer": answer.get("message"), "contexts": answer.get("documents")}
            samples[str(question.get("id"))] |= own
    elif samples.keys() & document.keys():
        notes.append(f"{_ANSWERS} has not one answer to each question, and is not used")
    texts = [samples.get(key, {}) for key in document]
    rows = [
        row if sample.get("contexts") else _without_placeholders(row)
        for row, sample in zip(document.values(), texts, strict=True)
    ]
    return _report_file(source, list(document), rows, texts, notes)


def _without_placeholders(row: JsonObject) -> JsonObject:
    """The scores, without the whole 0 that Giskard writes if a metric of Ragas cannot run."""
    # A computed score is a float, and written 0.0.
    return {
        name: None if name.startswith(_OF_RAGAS) and type(value) is int and value == 0 else value
        for name, value in row.items()
    }


def _report_file(
    source: Source,
    ids: list[object] | None,
    rows: Sequence[JsonObject],
    samples: Sequence[JsonObject],
    notes: Iterable[str],
) -> ScoreFile:
    texts = {*_GISKARD.texts.values(), *_SAMPLE_OF_GISKARD, f"{_CORRECT}_reason", "id", "contexts"}
    names = {
        str(name): None
        for row in rows
        for name, value in {_CORRECT: None, **row}.items()
        if name == _CORRECT
        or (name not in texts and (isinstance(value, int | float) or name.startswith(_OF_RAGAS)))
    }
    details = columns_of(
        {
            **{ours: sample.get(theirs) for ours, theirs in _GISKARD.texts.items()},
            **without(
                sample, {*names, *_GISKARD.texts.values(), f"{_CORRECT}_reason", "metadata", "id"}
            ),
            **part(sample, "metadata"),
        }
        for sample in samples
    )
    scores = [{name: _score_of_giskard(row, name) for name in names} for row in rows]
    unscored = {name for row in scores for name in row if row[name].reason == _NO_DOCUMENTS}
    note = f"a 0 of {named(sorted(unscored))} without documents is not a score and counts as failed"
    return score_file(
        run_name(source, METRICS_RESULTS),
        scores,
        drop_empty(details),
        ids=ids,
        origin="metadata",
        metrics={_CORRECT: _AGREES},
        notes=(*notes, *([note] if unscored else [])),
        is_one_pipeline=True,
        averages=False,
    )


def _score_of_giskard(row: Mapping[str, Any], name: str) -> Judgement:
    is_of_ragas = name.startswith(_OF_RAGAS) and name in row
    default = _NO_DOCUMENTS if is_of_ragas else "Giskard wrote no score"
    return judge(none_if_nan(row.get(name)), text_or_none(row.get(f"{name}_reason")), default)


GISKARD = reader_of("giskard", _is_giskard, _read_giskard)


# -- LlamaIndex: results of evaluators of answers

_FRAME = frozenset(("rag", "query", "scores", "feedbacks"))
_OF_RESULT = frozenset(("query", "response", "passing", "feedback", "score"))
_PASSING: Override = {"kind": "binary", "description": "Whether the evaluator passed the answer."}
_TEXTS = {"query": "question", "response": "answer", "contexts": "contexts"}
_USED = {*_TEXTS, "score", "feedback", "passing", "invalid_result", "invalid_reason"}
_RENAMED = {"answer": "response", "scores": "score", "feedbacks": "feedback"}


def _is_llama_index(source: Source) -> float:
    document, names = source.document_or_none(), frozenset(header_of(source))
    is_list = _grouped(document, _OF_RESULT.issubset) or _is_retrieval(source)
    return SURE if is_list or names >= _FRAME or names >= _OF_RESULT else 0.0


def _is_retrieval(source: Source) -> bool:
    document = source.document_or_none()
    return bool(_grouped(document, _are_retrieved)) or _are_retrieved(first_fields(source))


def _are_retrieved(names: Iterable[str]) -> bool:
    keys = set(names)
    has_metrics = any(name.partition(".")[0] == "metric_dict" for name in keys)
    return has_metrics and {"query", "expected_ids", "retrieved_ids"} <= keys


def _grouped(
    document: object, fits: Callable[[Iterable[str]], bool]
) -> dict[str, list[JsonObject]]:
    """The results by evaluator or retriever, as runners group them; none for another document."""
    if not isinstance(document, dict):
        return {}
    is_grouped = all(is_records(rows) and all(map(fits, rows)) for rows in document.values())
    return document if is_grouped else {}


def _read_llama_index(source: Source) -> list[ScoreFile]:
    """Read LlamaIndex's results."""
    document = source.document_or_none()
    if _is_retrieval(source):
        groups = _grouped(document, _are_retrieved) or {source.stem: read_rows(source)}
        return [_read_retrieved(name, rows) for name, rows in groups.items()]
    grouped = _grouped(document, _OF_RESULT.issubset)
    if grouped:
        return [_read_evaluators(source.stem, grouped)]
    table = read_table(source)
    names, rows = set(map(str, table.frame)), parse_rows(table.frame)
    if names >= _OF_RESULT:
        pipelines = {source.stem: rows}
    elif names >= _FRAME:
        pipelines = groups_of(rows, lambda row: json_text(row["rag"]) or source.stem)
    else:
        raise source.error(
            "expected the columns rag, query, scores and feedbacks, or results with query, "
            "response, passing, feedback and score"
        )
    files = [_read_evaluators(name, {"score": own}) for name, own in pipelines.items()]
    return [replace(file, notes=(*table.notes, *file.notes)) for file in files]


def _read_evaluators(pipeline: str, grouped: Mapping[str, Sequence[JsonObject]]) -> ScoreFile:
    """The results of all evaluators, joined by their questions."""
    judgements: dict[tuple[str | None, int], dict[str, Judgement]] = {}
    details: dict[tuple[str | None, int], dict[str, Any]] = {}
    passing = set()
    for name, results in grouped.items():
        own = [{_RENAMED.get(key, key): cell for key, cell in row.items()} for row in results]
        has_scores = any(result.get("score") is not None for result in own)
        if not has_scores:  # some evaluators set only `passing`
            passing.add(name)
        seen: Counter[str | None] = Counter()
        for result in own:
            question = json_text(result.get("query"))
            # By question and its count, because results have no id and a question may occur twice.
            key = question, seen[question]
            seen[question] += 1
            score = result.get("score" if has_scores else "passing")
            judgements.setdefault(key, {})[name] = _judgement(result, score)
            row = details.setdefault(key, {"question": question})
            for theirs, ours in _TEXTS.items():  # the first evaluator's texts stay
                if row.get(ours) is None:
                    row[ours] = result.get(theirs)
            prefix = "" if name == "score" else f"{name}."
            row[f"{prefix}passing"] = result.get("passing")
            others = without(result, {*_USED, "rag"})
            row |= {f"{prefix}{label}": value for label, value in others.items()}
    judged = judgement_columns(judgements.values())
    overrides = overrides_of(lambda name, scores: _scale(name, scores, passing), judged)
    notes = [
        f"{name!r} is read as LlamaIndex's grades from 1 to 5"
        if override is ON_GRADES
        else f"{name!r} has no scores: the score is whether it passed"
        for name, override in overrides.items()
    ]
    if set(grouped) == {"score"}:
        notes.append("the file does not name its metric; it is called 'score'")
    columns = drop_empty(columns_of(details.values()))
    return score_file(pipeline, judged, columns, origin="result", metrics=overrides, notes=notes)


def _scale(name: str, scores: list[float], passing: set[str]) -> Override | None:
    """The grades from 1 to 5 that LlamaIndex's correctness evaluator gives, or verdicts."""
    if normalise_name(name) == "correctness" and are_grades(scores):
        return ON_GRADES
    return _PASSING if name in passing else None


def _judgement(result: JsonObject, score: object) -> Judgement:
    feedback = text_or_none(result.get("feedback"))
    # LlamaIndex marks a judge's unreadable answer so, and its frames then have a blank score.
    if result.get("invalid_result") is True:
        return Judgement(None, text_or_none(result.get("invalid_reason")) or feedback, True)
    return Judgement(score, feedback)


# -- LlamaIndex: results of retrievers


def _read_retrieved(name: str, rows: Sequence[JsonObject]) -> ScoreFile:
    if not all(map(_are_retrieved, rows)):
        raise ShapeError("each result must have query, expected_ids, retrieved_ids and metric_dict")
    return _RETRIEVED.score_file(name, [nested(row, ["metric_dict"], 2) for row in rows])


_RETRIEVED = Format.of("llama_index")
LLAMA_INDEX = reader_of("llama_index", _is_llama_index, _read_llama_index)
