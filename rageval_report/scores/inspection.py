"""`inspect`: how a file is read, what each of its columns is taken for, and what is doubted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Unpack

import pandas as pd

from rageval_report.errors import DataError, named
from rageval_report.evaluation import RAGPipelineEvaluation, rule_of_rows
from rageval_report.metrics.ranking_scores import DuplicateDocs
from rageval_report.readers import FileReading, divide_pipelines, marks_of
from rageval_report.readers.base import Reader, ReaderOptions, ScoreFile
from rageval_report.readers.shared_scales import share_scales
from rageval_report.readers.table_files import ScoreInput
from rageval_report.results import Result
from rageval_report.scores import normalise_name
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
    doubtful: Sequence[str] = ()
    try:
        pipelines = divide_pipelines(reading.files, reading.source, query_id, roles, totals)
    except DataError as exc:
        doubts.append(str(exc.__cause__ or exc))  # the title names the file
        doubtful = exc.__cause__.columns if isinstance(exc.__cause__, PipelineDoubtError) else ()
        # If it is doubtful which pipelines there are, the rows stay together.
        pipelines = [replace(file, is_one_pipeline=True) for file in reading.files]
    try:
        pipelines = share_scales(pipelines, reading.source, query_id, roles, metrics)
    except DataError as exc:
        doubts.append(str(exc.__cause__ or exc))
    runs: list[RAGPipelineEvaluation] = []
    for file in pipelines:
        try:
            run = RAGPipelineEvaluation.from_score_file(
                *(None, file, path),
                query_id=query_id,
                metrics=metrics,
                duplicates=rule_of_rows(duplicates),
                totals=totals,
                strict=strict,
                roles=roles,
            )
            runs.append(run)
        except DataError as exc:
            doubts.append(f"reading stops at pipeline {file.pipeline!r}: {exc}")
    columns = _roles_of(reading, runs, doubtful)
    doubts = list(dict.fromkeys(doubts))
    notes = [_format_note(reading, is_stated=reader is not None), *_notes(columns, pipelines, runs)]
    settings = {
        "reader": reading.reader,
        "rows": sum(len(file.frame) for file in pipelines),
        "pipelines": len(pipelines),
    }
    rows = [_row_of(role, reading.files[0].frame, runs) for role in columns]
    return Inspection(
        f"{reading.source.name}: how it is read",
        pd.DataFrame(rows, columns=None if rows else list(_HEADLINE)),
        settings,
        (*(f"doubt: {doubt}" for doubt in doubts), *notes),
        headline=_HEADLINE,
        doubts=tuple(doubts),
        pipelines=tuple(file.pipeline for file in pipelines),
    )


def _roles_of(
    reading: FileReading, runs: Sequence[RAGPipelineEvaluation], doubtful: Sequence[str]
) -> list[ColumnRole]:
    """The role of each column of the file, as the first pipeline has it."""
    decided = [ColumnRole(*row) for run in runs[:1] for row in run.roles.to_numpy()]
    by_column = {role.column: role for role in decided}
    labels = [*(str(column) for file in reading.files[:1] for column in file.frame), *by_column]
    for column in doubtful:
        why = "it may name pipelines; the first doubt says what to type"
        by_column[column] = ColumnRole(column, "pipeline", "doubtful", why)
    why = "not in this pipeline" if runs else "not decided, because reading stops before"
    return [
        by_column.get(label, ColumnRole(label, "detail", "doubtful", why))
        for label in dict.fromkeys(labels)
    ]


def _row_of(
    role: ColumnRole, frame: pd.DataFrame, runs: Sequence[RAGPipelineEvaluation]
) -> dict[str, object]:
    """The row of a column in the table, with what is known about it if it is a metric."""
    name = normalise_name(role.column)
    metric = runs[0].metrics.get(name) if role.role == "metric" and runs else None
    facts: tuple[object, ...] = (None,) * len(_METRIC_COLUMNS)
    if metric is not None:
        low, high = metric.bounds or (None, None)
        better = "higher" if metric.greater_is_better else "lower"
        bounds = "no bounds" if low is None else f"{low:g} to {high:g}"
        n_scored = sum(int(run.scores[name].count()) for run in runs if name in run.scores)
        facts = (f"{bounds}, {better}", metric.title, metric.kind, better)
        facts = (*facts, low, high, n_scored, metric.in_family)
    cells = frame[role.column].iloc[:_N_EXAMPLES].tolist() if role.column in frame else []
    return {
        "column": role.column,
        "role": role.role,
        "confidence": role.confidence,
        "why": role.why,
        **dict(zip(_METRIC_COLUMNS, facts, strict=True)),
        "examples": " | ".join(map(_cut, cells)),
    }


def _cut(cell: object) -> str:
    """A cell, cut if it is long; a blank one is shown as such."""
    if cell is None or cell != cell:  # NaN differs from itself
        return "(blank)"
    text = " ".join(str(cell).split())
    return text if len(text) <= _LONGEST_CELL else f"{text[: _LONGEST_CELL - 3]}..."


# -- the notes


def _notes(
    columns: Iterable[ColumnRole],
    files: Sequence[ScoreFile],
    runs: Sequence[RAGPipelineEvaluation],
) -> Iterator[str]:
    if len(files) == 1:
        scored = f", {runs[0].n_queries} queries" if runs else ""
        yield f"{len(files[0].frame)} rows of one pipeline, {files[0].pipeline!r}{scored}"
    else:
        counts = ", ".join(f"{file.pipeline!r} ({len(file.frame)})" for file in files[:5])
        more = f" and {len(files) - 5} more" if len(files) > 5 else ""
        n_rows = sum(len(file.frame) for file in files)
        yield f"{n_rows} rows of {len(files)} pipelines: {counts}{more}"
    yield count_roles(columns)
    metrics = list(runs[0].metrics.values()) if runs else []
    outside = [metric.name for metric in metrics if not metric.in_family]
    if outside and len(outside) < len(metrics):
        yield (
            f"{named(outside)} would not count when p-values are corrected for several tests; "
            "name all metrics to count them: metrics=[...]"
        )
    yield from dict.fromkeys(note for run in runs for note in run.notes)
    for run in runs[1:]:
        differing = sorted({*runs[0].metrics} ^ {*run.metrics})
        if differing:
            yield (
                f"pipelines {runs[0].name!r} and {run.name!r} differ in their metrics: "
                f"{named(differing)}"
            )


def _format_note(reading: FileReading, *, is_stated: bool) -> str:
    what = f"read as {reading.reader} ({reading.sentence})"
    if is_stated:
        return f"{what}, because reader= says so"
    if reading.why:
        return f"{what}: {reading.why}"
    marks = marks_of(reading.source)
    own = marks.pop(reading.reader, 1.0)
    nearest = sorted(marks.items(), key=lambda item: -item[1])[:3]
    others = ", ".join(f"{name} {mark:.2f}" for name, mark in nearest if mark >= _NEAR)
    next_best = f"; the next: {others}" if others else ""
    return f"{what}: the best match, {own:.2f}{next_best}"
