"""`inspect`: how a file is read, what each of its columns is taken for, and what is doubted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.evaluation import RAGPipelineEvaluation, rule_of_rows
from rageval_report.metrics.ranking_scores import DuplicateDocs
from rageval_report.readers import FileReading, divide_pipelines, marks_of
from rageval_report.readers.base import Reader, ReaderOptions, ScoreFile
from rageval_report.readers.shared_scales import share_scales
from rageval_report.readers.table_inputs import ScoreInput
from rageval_report.results import Result
from rageval_report.scores import Metric, normalise_name
from rageval_report.scores.pipelines import PipelineDoubtError
from rageval_report.scores.query_rows import Totals
from rageval_report.scores.roles import ColumnRole, Roles, check_roles, count_roles
from rageval_report.scores.table import Duplicates, MetricsArgument
from rageval_report.sources.base import FilesArgument
from rageval_report.sources.reading import read_undivided

_METRIC_COLUMNS = ("scale", "metric", "kind", "better", "low", "high", "n_scored", "in_family")

# The example rows, and the characters of a cell that are shown.
_N_EXAMPLES, _LONGEST_CELL = 3, 24
# Formats that another reader nearly recognises as well are worth a sentence.
_NEAR = 0.5

_HEADLINE = ("column", "role", "confidence", "why", "scale", "examples")


@dataclass(frozen=True, eq=False, repr=False)
class Inspection(Result):
    """How a file is read: one row per column, with its role, the reason, and examples."""

    doubts: tuple[str, ...] = ()
    pipelines: tuple[str, ...] = ()


def inspect(
    path: ScoreInput,
    *,
    reader: str | Reader | None = None,
    query_id: str | None = None,
    metrics: MetricsArgument = None,
    duplicates: Duplicates | DuplicateDocs = "error",
    strict: bool = False,
    totals: Totals = "auto",
    roles: Roles | None = None,
    files: FilesArgument = "auto",
    **options: Unpack[ReaderOptions],
) -> Inspection:
    r"""Show how a file of scores is read, without any statistics.

    Parameters
    ----------
    path : str, PathLike, bytes, open file, frame, mapping, or iterable of dicts
        As for `rageval_report.read_scores`.
    reader, query_id, metrics, duplicates, strict, totals, roles, files, **options
        As for `rageval_report.read_scores`: what it would decide with them is shown.

    Returns
    -------
    Inspection
        One row per column: ``column``, ``role`` ("id", "pipeline", "metric", "detail", "state",
        "reason", "weight"), ``confidence``, ``why``; for metrics ``scale`` (the bounds and the
        direction in words), ``metric`` (the title), ``kind``, ``better`` ("higher" or "lower"),
        ``low``, ``high``, ``n_scored`` and ``in_family``
        (whether it counts in the correction of p-values); ``examples``, the cells of the first
        rows. The notes hold the format and why it was recognised, the rows and pipelines, and what
        was changed; doubts come first. A file that can be recognised but not read has a doubt that
        says where reading stops.

    Examples
    --------
    >>> table = b"qid,model,recall,n_found\nq1,a,0.5,3\nq1,b,1,4\nq2,a,0,3\nq2,b,1,2\n"
    >>> inspection = inspect(table)
    >>> inspection.pipelines
    ('a', 'b')
    >>> inspection.frame[["column", "role"]].values.tolist()
    [['qid', 'id'], ['model', 'pipeline'], ['recall', 'metric'], ['n_found', 'detail']]
    """
    reading = read_undivided(
        path,
        files=files,
        reader=reader,
        query_id=query_id,
        metrics=metrics,
        duplicates=duplicates,
        totals=totals,
        **options,
    )
    check_roles(roles, dict.fromkeys(str(c) for file in reading.files for c in file.frame))
    doubts: list[str] = []
    doubtful: list[str] = []
    evaluations: dict[str, RAGPipelineEvaluation] = {}
    pipelines = _divide(reading, query_id, roles, totals, doubts, doubtful)
    try:
        pipelines = share_scales(pipelines, reading.source, query_id, roles, metrics)
    except DataError as exc:
        doubts.append(str(exc.__cause__ or exc))
    for file in pipelines:
        try:
            evaluations[file.pipeline] = RAGPipelineEvaluation.from_score_file(
                *(None, file, path),
                query_id=query_id,
                metrics=metrics,
                duplicates=rule_of_rows(duplicates),
                totals=totals,
                strict=strict,
                roles=roles,
            )
        except DataError as exc:
            doubts.append(f"reading stops at pipeline {file.pipeline!r}: {exc}")
    columns = _roles_of(reading, evaluations, doubtful)
    doubts = list(dict.fromkeys(doubts))
    notes = _notes(reading, reader, columns, pipelines, evaluations)
    settings = {
        "reader": reading.reader,
        "rows": sum(len(file.frame) for file in pipelines),
        "pipelines": len(pipelines),
    }
    return Inspection(
        f"{reading.source.name}: how it is read",
        _frame_of(reading, columns, evaluations),
        settings,
        (*(f"doubt: {doubt}" for doubt in doubts), *notes),
        headline=_HEADLINE,
        doubts=tuple(doubts),
        pipelines=tuple(file.pipeline for file in pipelines),
    )


def _divide(
    reading: FileReading,
    query_id: str | None,
    roles: Roles | None,
    totals: Totals,
    doubts: list[str],
    doubtful: list[str],
) -> list[ScoreFile]:
    """The pipelines of the file; if it is doubtful which there are, the rows stay together."""
    try:
        return divide_pipelines(reading.files, reading.source, query_id, roles, totals)
    except DataError as exc:
        doubts.append(str(exc.__cause__ or exc))  # the title names the file
        if isinstance(exc.__cause__, PipelineDoubtError):
            doubtful += exc.__cause__.columns
        return [replace(file, is_one_pipeline=True) for file in reading.files]


# -- the table of columns


def _roles_of(
    reading: FileReading, evaluations: Mapping[str, RAGPipelineEvaluation], doubtful: Sequence[str]
) -> list[ColumnRole]:
    """The role of each column of the file, as the first pipeline has it."""
    first = next(iter(evaluations.values()), None)
    decided = [] if first is None else [ColumnRole(*row) for row in first.roles.to_numpy()]
    by_column = {role.column: role for role in decided}
    labels = dict.fromkeys(
        [*(str(column) for file in reading.files[:1] for column in file.frame), *by_column]
    )
    for column in doubtful:
        why = "it may name pipelines; the first doubt says what to type"
        by_column[column] = ColumnRole(column, "pipeline", "doubtful", why)
    why = "not decided, because reading stops before" if first is None else "not in this pipeline"
    return [by_column.get(label, ColumnRole(label, "detail", "doubtful", why)) for label in labels]


def _frame_of(
    reading: FileReading,
    columns: Iterable[ColumnRole],
    evaluations: Mapping[str, RAGPipelineEvaluation],
) -> pd.DataFrame:
    first = next(iter(evaluations.values()), None)
    rows = []
    for role in columns:
        metric = None
        if role.role == "metric" and first is not None:
            metric = first.metrics.get(normalise_name(role.column))
        rows.append(
            {
                "column": role.column,
                "role": role.role,
                "confidence": role.confidence,
                "why": role.why,
                **_metric_columns(metric, evaluations.values()),
                "examples": _examples(reading.files[0].frame, role.column),
            }
        )
    return pd.DataFrame(rows, columns=None if rows else list(_HEADLINE))


def _metric_columns(
    metric: Metric | None, evaluations: Iterable[RAGPipelineEvaluation]
) -> dict[str, object]:
    n_scored = sum(
        int(run.scores[metric.name].notna().sum())
        for run in evaluations
        if metric is not None and metric.name in run.scores
    )
    if metric is None:
        return dict.fromkeys(_METRIC_COLUMNS, None)
    low, high = metric.bounds or (None, None)
    better = "higher" if metric.greater_is_better else "lower"
    bounds = "no bounds" if low is None else f"{low:g} to {high:g}"
    values = (f"{bounds}, {better}", metric.title, metric.kind, better, low, high, n_scored)
    return dict(zip(_METRIC_COLUMNS, (*values, metric.in_family), strict=True))


def _examples(frame: pd.DataFrame, label: str) -> str:
    """The cells of the first rows, cut; a blank one is shown as such."""
    if label not in frame:
        return ""
    cells = frame[label]
    return " | ".join(_cut(cell) for cell in cells.iloc[:_N_EXAMPLES].tolist())


def _cut(cell: object) -> str:
    if cell is None or cell != cell:  # NaN differs from itself
        return "(blank)"
    text = " ".join(str(cell).split())
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 3]}..."


# -- the notes


def _notes(
    reading: FileReading,
    reader: str | Reader | None,
    columns: Iterable[ColumnRole],
    files: Sequence[ScoreFile],
    evaluations: Mapping[str, RAGPipelineEvaluation],
) -> Iterator[str]:
    yield _format_note(reading, reader)
    queries = ", ".join(f"{run.n_queries}" for run in list(evaluations.values())[:5])
    if len(files) == 1:
        scored = f", {queries} queries" if queries else ""
        yield f"{len(files[0].frame)} rows of one pipeline, {files[0].pipeline!r}{scored}"
    else:
        counts = ", ".join(f"{file.pipeline!r} ({len(file.frame)})" for file in files[:5])
        more = f" and {len(files) - 5} more" if len(files) > 5 else ""
        n_rows = sum(len(file.frame) for file in files)
        yield f"{n_rows} rows of {len(files)} pipelines: {counts}{more}"
    yield count_roles(columns)
    first = next(iter(evaluations.values()), None)
    if first is not None:
        outside = [metric.name for metric in first.metrics.values() if not metric.in_family]
        if outside and len(outside) < len(first.metrics):
            yield (
                f"{named(outside)} would not count when p-values are corrected for several tests; "
                "name all metrics to count them: metrics=[...]"
            )
    yield from dict.fromkeys(note for run in evaluations.values() for note in run.notes)
    yield from _other_columns(evaluations)


def _format_note(reading: FileReading, reader: str | Reader | None) -> str:
    what = f"read as {reading.reader} ({reading.sentence})"
    if reader is not None:
        return f"{what}, because reader= says so"
    if reading.why:
        return f"{what}: {reading.why}"
    marks = marks_of(reading.source)
    own = marks.pop(reading.reader, 1.0)
    near = {name: mark for name, mark in marks.items() if mark >= _NEAR}
    others = ", ".join(
        f"{name} {mark:.2f}" for name, mark in sorted(near.items(), key=lambda item: -item[1])[:3]
    )
    next_best = f"; the next: {others}" if others else ""
    return f"{what}: its mark is the highest, {own:.2f} of 1{next_best}"


def _other_columns(evaluations: Mapping[str, RAGPipelineEvaluation]) -> Iterator[str]:
    """Pipelines that have other metrics than the first."""
    runs = list(evaluations.values())
    for run in runs[1:]:
        differing = sorted({*runs[0].metrics} ^ {*run.metrics})
        if differing:
            yield (
                f"pipelines {runs[0].name!r} and {run.name!r} differ in their metrics: "
                f"{named(differing)}"
            )
