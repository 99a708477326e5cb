"""Haystack's reports of evaluation runs: one run or two runs in a table, and dumped results."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.files.source import Source
from rageval_report.readers.base import ScoreFile, distinct_names, id_columns, in_dialect
from rageval_report.readers.cell_values import parse_list_columns
from rageval_report.readers.frameworks.format import described, reader_of
from rageval_report.readers.frameworks.haystack_pairs import (
    INPUTS,
    Reading,
    RunPair,
    own_name,
    pair_of_runs,
    pairs_of,
    read_header,
)
from rageval_report.readers.frameworks.rows import mark_blank_scores
from rageval_report.readers.json_shapes import ShapeError, check_object, is_records
from rageval_report.readers.record_columns import frame_of, score_columns
from rageval_report.readers.table_files import header_of, read_table
from rageval_report.scores.catalogue.dialects import DialectName
from rageval_report.types import JsonObject

_WORDS = described("haystack")


def _recognise(source: Source) -> float:
    document = source.document_or_none()
    if _runs(document) or _is_results(document):
        return 0.95
    header = header_of(source)
    if _is_aggregated(header):
        return 0.95
    pairs = pairs_of(header)
    names = {*header, *(name for pair in pairs for name in pair.suffixes)}
    if not names & {"questions", "question", "query"}:
        return 0.0
    # One plural may occur in anybody's table; two, or one beside a pair of runs, only in
    # Haystack's.
    if len(names & _WORDS["plurals"]) > (0 if pairs else 1):
        return 0.95
    return 0.95 if _has_tutorial_names(names) else 0.0


def _has_tutorial_names(names: AbstractSet[str]) -> bool:
    """Whether the inputs have the names of Haystack's tutorials, which resemble those of Ragas."""
    # Ragas calls the answer of the pipeline "answer", Haystack's tutorials the right one.
    if {"question", "answer", "predicted_answer"} <= names:
        return True
    is_of_ragas = bool(names & _WORDS["of_ragas"])
    return (
        {"question", "contexts"} <= names and bool(names & _WORDS["evaluators"]) and not is_of_ragas
    )


def _is_aggregated(header: Sequence[str]) -> bool:
    """Whether it is a table of means; a column of row numbers may come first."""
    return set(header) >= {"metrics", "score"} and len(header) <= 3


def read_haystack(
    source: Source,
    *,
    columns: Iterable[str] | None = None,
    query_id: str | None = None,
    runs: str | Iterable[str] | None = None,
    dialect: DialectName | None = None,
) -> list[ScoreFile]:
    """Read a report of Haystack, or ``EvaluationRunResult`` objects dumped as JSON.

    A ``comparative_detailed_report`` is two pipelines, whose names are `runs`, or the prefixes of
    their columns. Unless an input holds ids, the text of the question identifies the query. A
    score that is NaN or blank has failed. In the dialect "haystack" metrics are described as its
    evaluators do.

    Examples
    --------
    >>> report = b'{"questions": ["Who?"], "predicted_answers": ["He."], "sas": [0.5]}'
    >>> [run] = read_haystack(Source(report))
    >>> list(run.frame)
    ['questions', 'predicted_answers', 'sas']
    """
    files = _read_reports(source, columns, query_id, _check_runs(runs))
    return [in_dialect(file, dialect, "haystack") for file in files]


def _read_reports(
    source: Source,
    columns: Iterable[str] | None,
    query_id: str | None,
    run_names: tuple[str, ...],
) -> list[ScoreFile]:
    document = source.document_or_none()
    dumped = _runs(document)
    if dumped:
        names = distinct_names(str(run.get("run_name") or source.stem) for run in dumped)
        return [_read_run(name, run, query_id) for name, run in zip(names, dumped, strict=True)]
    if _is_results(document):
        raise source.error(
            "these are results of Haystack's evaluators without the inputs, so the queries of the "
            "scores are unknown; write the result of EvaluationRunResult.detailed_report() instead"
        )
    header = header_of(source)
    if _is_aggregated(header):
        raise source.error(
            "this is Haystack's aggregated report, with one mean per metric; expected one row per "
            "query. Write the result of detailed_report() instead"
        )
    reading = _pair(header, run_names)
    table = read_table(source, columns=columns, query_id=query_id)
    pair = _present(reading.pair, table.frame)
    if pair is not None:
        return _split_runs(table, pair, query_id)
    name = run_names[0] if run_names else table.pipeline
    one_run = replace(table, pipeline=name, notes=(*table.notes, *reading.notes))
    return [_finish_run(one_run, table.frame, query_id)]


# -- results dumped as JSON


def _runs(document: object) -> list[JsonObject]:
    """The dumped runs: one, or a list of them."""
    runs: list[Any] = document if isinstance(document, list) else [document]
    are_runs = is_records(runs) and all(
        isinstance(run.get("inputs"), dict) and _is_results(run.get("results")) for run in runs
    )
    return runs if are_runs else []


def _is_results(document: object) -> bool:
    """Whether these are the results of evaluators, by metric."""
    return (
        isinstance(document, dict)
        and bool(document)
        and all(
            isinstance(result, dict) and "individual_scores" in result
            for result in document.values()
        )
    )


def _read_run(name: str, run: JsonObject, query_id: str | None) -> ScoreFile:
    inputs = {key: _check_list(cells, f"inputs.{key}") for key, cells in run["inputs"].items()}
    results = check_object(run["results"], "results")
    scores = {
        metric: _check_list(
            check_object(result, metric).get("individual_scores"), f"{metric}.individual_scores"
        )
        for metric, result in results.items()
    }
    lengths = {len(cells) for cells in (*inputs.values(), *scores.values())}
    if len(lengths) != 1 or lengths == {0}:
        raise ShapeError(
            f"the inputs and individual_scores of {name!r} must be lists of equal length, one "
            f"entry per query; got lengths {named(sorted(lengths))}"
        )
    columns = {(f"inputs.{key}" if key in scores else key): cells for key, cells in inputs.items()}
    for metric, cells in scores.items():
        columns |= score_columns(metric, cells)
        details = check_object(results[metric], metric).get("results")
        if isinstance(details, list) and len(details) == len(cells):
            columns[f"{metric}_details"] = details
    table = ScoreFile(frame_of(columns, query_id), name, metric_columns=tuple(scores))
    return _finish_run(table, table.frame, query_id)


def _check_list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ShapeError(f"{what} must be a list, one entry per query")
    return value


# -- two runs in one table


def _pair(header: Sequence[str], runs: tuple[str, ...]) -> Reading:
    """The two runs of a table: those that the caller names, else those that its columns show."""
    if not runs:
        return read_header(header)
    return Reading(pair_of_runs(header, *runs) if len(runs) == 2 else None)


def _check_runs(runs: str | Iterable[str] | None) -> tuple[str, ...]:
    names = () if runs is None else tuple(runs.split(",") if isinstance(runs, str) else runs)
    names = tuple(name.strip() for name in names)
    if len(names) > 2 or len(set(names)) < len(names) or not all(names):
        raise DataError(
            "runs must be the names of the two runs of a comparative report, such as 'bm25,hyde', "
            f"or one name if all columns are of one run; got {runs!r}"
        )
    return names


def _present(pair: RunPair | None, frame: pd.DataFrame) -> RunPair | None:
    """The pair with the columns that were read; the option `columns` may have left some out."""
    if pair is None:
        return None
    present = set(map(str, frame))
    runs = pair.first, pair.second
    suffixes = [name for name in pair.suffixes if all(f"{run}_{name}" in present for run in runs)]
    return pair._replace(suffixes=tuple(suffixes)) if suffixes else None


def _split_runs(table: ScoreFile, pair: RunPair, query_id: str | None) -> list[ScoreFile]:
    """Two pipelines: each has the shared columns and its own."""
    theirs = set(pair.columns())
    shared = [name for name in map(str, table.frame) if name not in theirs]
    note = (
        f"two runs, by the prefixes of their columns: {pair.first!r} and {pair.second!r}; Haystack "
        f"pairs their rows by position. If all columns are of one run, pass runs={table.pipeline!r}"
    )
    runs = []
    for run in (pair.first, pair.second):
        # Haystack keeps the inputs of the first run only; the answers of the second were others.
        answers = (
            [name for name in shared if name in _WORDS["answers"]] if run == pair.second else []
        )
        own = {f"{run}_{suffix}": own_name(suffix, pair, shared) for suffix in pair.suffixes}
        common = [name for name in shared if name not in answers]
        frame = table.frame[[*common, *own]].rename(columns=own)
        of_answers = [_answers_note(answers, pair)] if answers else []
        part = replace(table, pipeline=run, notes=(*table.notes, note, *of_answers))
        runs.append(_finish_run(part, frame, query_id))
    return runs


def _answers_note(answers: Sequence[str], pair: RunPair) -> str:
    return (
        f"{named(answers)} is of {pair.first!r} only; to have the answers of {pair.second!r}, "
        f"write the report with keep_columns={list(answers)}"
    )


# -- one run


def _finish_run(table: ScoreFile, frame: pd.DataFrame, query_id: str | None) -> ScoreFile:
    """The run with its lists parsed, and its failed scores marked."""
    if not len(frame):
        raise ShapeError("the file has column names, but no rows")
    frame, of_references = _rename_reference(frame)
    frame, of_lists = parse_list_columns(frame, sorted(_WORDS["lists"]))
    frame, n_failed = mark_blank_scores(frame, {*INPUTS, *id_columns(map(str, frame), query_id)})
    of_failures = [
        f"{n} scores of {metric!r} are NaN or blank: Haystack's evaluator failed there"
        for metric, n in n_failed.items()
    ]
    return replace(
        table, frame=frame, notes=(*table.notes, *of_references, *of_lists, *of_failures)
    )


def _rename_reference(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """The frame with the right answers under a name that no answer of a pipeline has."""
    if not {"answer", "predicted_answer"} <= set(frame) or "reference" in frame:
        return frame, []
    note = "'answer' beside 'predicted_answer' is the right answer; it is called 'reference'"
    return frame.rename(columns={"answer": "reference"}), [note]


HAYSTACK = reader_of(
    "haystack", _recognise, read_haystack, "columns", "dialect", "query_id", "runs"
)
