"""`inspect`: how a file is read, what each of its columns is taken for, and what is doubted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

import pandas as pd

from rageval_report.errors import DataError
from rageval_report.evaluation import (
    OF_READING,
    OF_TABLES,
    RAGPipelineEvaluation,
    rule_of_rows,
)
from rageval_report.readers import FileReading, divide_pipelines
from rageval_report.readers.base import Reader, ScoreFile
from rageval_report.readers.table_files import ScoreInput
from rageval_report.results import Result
from rageval_report.scores import normalise_name
from rageval_report.scores.pipelines import PipelineDoubtError
from rageval_report.scores.roles import ColumnRole, check_roles, count_roles
from rageval_report.scores.states import is_missing
from rageval_report.sources.base import FilesArgument
from rageval_report.sources.reading import read_undivided

if TYPE_CHECKING:
    from rageval_report.evaluation import LoadKeywords

_METRIC_COLUMNS = ("scale", "metric", "kind", "better", "low", "high", "n_scored", "in_family")

# The example rows, and the characters of a cell that are shown.
_N_EXAMPLES, _LONGEST_CELL = 3, 24

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
    files: FilesArgument = "auto",
    **options: Unpack[LoadKeywords],
) -> Inspection:
    r"""Show how a file of scores is read, without any statistics.

    Parameters
    ----------
    path : str, PathLike, bytes, open file, frame, mapping, or iterable of dicts
        As for `rageval_report.read_scores`.
    reader, files, **options
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
    passed: dict[str, Any] = dict(options)
    own = {name: passed.pop(name) for name in (*OF_READING, *OF_TABLES) if name in passed}
    keywords = {name: own[name] for name in OF_READING if name in own and name != "roles"}
    reading = read_undivided(path, files=files, reader=reader, **keywords, **passed)
    query_id, roles = own.get("query_id"), own.get("roles")
    totals = own.get("totals", "auto")
    own["duplicates"] = rule_of_rows(own.get("duplicates", "error"))
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
    runs: list[RAGPipelineEvaluation] = []
    for file in pipelines:
        try:
            runs.append(RAGPipelineEvaluation.from_score_file(None, file, path, **own))
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
    decided = (ColumnRole(*row) for run in runs[:1] for row in run.roles.to_numpy())
    by_column = {role.column: role for role in decided}
    why = "it may name pipelines; the first doubt says what to type"
    by_column |= {name: ColumnRole(name, "pipeline", "doubtful", why) for name in doubtful}
    why = "not in this pipeline" if runs else "not decided, because reading stops before"
    columns = dict.fromkeys((*map(str, reading.files[0].frame), *by_column))
    return [by_column.get(name, ColumnRole(name, "detail", "doubtful", why)) for name in columns]


def _row_of(
    role: ColumnRole, frame: pd.DataFrame, runs: Sequence[RAGPipelineEvaluation]
) -> dict[str, object]:
    """The row of a column in the table, with what is known about it if it is a metric."""
    name = normalise_name(role.column)
    metric = runs[0].metrics.get(name) if role.role == "metric" and runs else None
    facts: dict[str, object] = dict.fromkeys(_METRIC_COLUMNS)
    if metric is not None:
        low, high = metric.bounds or (None, None)
        better = "higher" if metric.greater_is_better else "lower"
        bounds = "no bounds" if low is None else f"{low:g} to {high:g}"
        facts = {
            "scale": f"{bounds}, {better}",
            "metric": metric.title,
            "kind": metric.kind,
            "better": better,
            "low": low,
            "high": high,
            "n_scored": sum(int(run.scores[name].count()) for run in runs if name in run.scores),
            "in_family": metric.in_family,
        }
    cells = frame[role.column].iloc[:_N_EXAMPLES].tolist() if role.column in frame else []
    examples = [_shorten("(blank)" if is_missing(cell) else str(cell)) for cell in cells]
    return {**asdict(role), **facts, "examples": " | ".join(examples)}


def _shorten(text: str) -> str:
    """A cell on one line, cut if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_CELL else f"{line[: _LONGEST_CELL - 3]}..."


def _notes(
    columns: Iterable[ColumnRole],
    files: Sequence[ScoreFile],
    runs: Sequence[RAGPipelineEvaluation],
) -> Iterator[str]:
    counts = [f"{file.pipeline!r} ({len(file.frame)})" for file in files]
    more = f" and {len(counts) - 5} more" if len(counts) > 5 else ""
    n_rows = sum(len(file.frame) for file in files)
    whose = "one pipeline" if len(files) == 1 else f"{len(files)} pipelines"
    yield f"{n_rows} rows of {whose}: {', '.join(counts[:5])}{more}"
    yield count_roles(columns)
    yield from dict.fromkeys(note for run in runs for note in run.notes)


def _format_note(reading: FileReading, *, is_stated: bool) -> str:
    why = "reader= says so" if is_stated else reading.why or "the best match"
    return f"read as {reading.reader} ({reading.sentence}): {why}"
