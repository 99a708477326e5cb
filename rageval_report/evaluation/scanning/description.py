"""What the columns of a scanned table are: decided by its first rows and by witnesses of the rest.

The first rows are read by the readers of files and described as a table in memory is, so roles,
metrics, the rule for a correct answer and all notes are the same. Witnesses are rows with the
extreme scores and one score of each kind; with them every rule about values decides as if it had
seen all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

import pandas as pd

from rageval_report.errors import ReaderError, named
from rageval_report.readers import ScoreFile, read
from rageval_report.scale.facts import MetricFacts, TableFacts
from rageval_report.scale.opening import OpenedTable
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import TableShape
from rageval_report.scale.unique_ids import REMEDY_OF_SCANS
from rageval_report.scores import Correct, Metric, normalise_name
from rageval_report.scores.query_ids import RepeatedIdsError, RowsWithoutIdError
from rageval_report.scores.roles.column_role import Role, Roles
from rageval_report.scores.table import MetricsArgument


class HeadEvaluation(Protocol):
    """What a scan uses of the evaluation of the first rows."""

    @property
    def name(self) -> str:
        """The name of the pipeline."""

    @property
    def scores(self) -> pd.DataFrame:
        """The scores of the first rows."""

    @property
    def details(self) -> pd.DataFrame:
        """Their details."""

    @property
    def metrics(self) -> dict[str, Metric]:
        """The description of each metric."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Guesses and corrections that were made."""

    @property
    def roles(self) -> pd.DataFrame:
        """What each column was taken for."""

    @property
    def config(self) -> dict[str, Any]:
        """The configuration of the pipeline."""

    @property
    def created(self) -> datetime | None:
        """The time of the run."""

    @property
    def correct_rule(self) -> Correct | None:
        """The rule for a correct answer."""


# Makes the evaluation of a file that a reader has read.
Construct = Callable[..., HeadEvaluation]


@dataclass(frozen=True)
class ScanOptions:
    """How a scanned table is read; see `RAGPipelineEvaluation.scan`."""

    name: str | None
    query_id: str | None = None
    metrics: MetricsArgument = None
    correct: Correct | None = None
    roles: Roles | None = None
    strict: bool = False
    allow: str | Iterable[str] = ()


@dataclass(frozen=True, eq=False)
class DescribedScan:
    """A table beyond memory with what its columns are.

    Parameters
    ----------
    opened : OpenedTable
        The files.
    options : ScanOptions
        What the caller states.
    construct : callable
        Makes the evaluation of a file that a reader has read.
    head : HeadEvaluation
        The evaluation of the first rows and of the witnesses.
    table : ScanTable
        The pieces, and how they become scores.
    witnesses : sequence of dict
        The rows of the head that are not the first ones, as cells by column.
    """

    opened: OpenedTable
    options: ScanOptions
    construct: Construct
    head: HeadEvaluation
    table: ScanTable
    witnesses: Sequence[Mapping[str, object]] = ()

    @property
    def metrics(self) -> dict[str, Metric]:
        """The description of each metric."""
        return self.head.metrics

    def with_facts(self, facts: TableFacts) -> DescribedScan:
        """The same table, described by the facts about all rows.

        Its scores are moved to the bounds of their metric if some lie slightly outside.

        Raises
        ------
        ReaderError
            If a score lies outside its bounds.
        """
        rows = _witness_rows(self.opened, self.table.shape, facts)
        head = self.head  # as a rule the first rows of a small table are all of them
        if rows != list(self.witnesses):
            head = _evaluate_head(self.opened, self.options, self.construct, rows)
        bounds = {
            metric.name: metric.bounds
            for metric in head.metrics.values()
            # A comparison reads only some of the metrics.
            if metric.bounds is not None
            and metric.name in facts.metrics
            and _is_outside(facts.metrics[metric.name], metric.bounds)
        }
        table = replace(self.table, shape=replace(self.table.shape, bounds=bounds))
        return replace(self, head=head, table=table, witnesses=rows)

    def collect(self) -> HeadEvaluation:
        """The evaluation of all rows, in memory."""
        whole = replace(self.opened, head=self.opened.all_rows())
        return _evaluate_head(whole, self.options, self.construct, [])


def describe_scan(opened: OpenedTable, options: ScanOptions, construct: Construct) -> DescribedScan:
    """Decide by the first rows what the columns of a table are.

    Parameters
    ----------
    opened : OpenedTable
        The files.
    options : ScanOptions
        What the caller states.
    construct : callable
        ``RAGPipelineEvaluation.from_score_file``.

    Raises
    ------
    ReaderError
        If the first rows are not a table with one row per query.
    """
    head = _evaluate_head(opened, options, construct, [])
    table = ScanTable(head.name, opened.pieces, _shape(opened, options, head))
    return DescribedScan(opened, options, construct, head, table)


def _is_outside(facts: MetricFacts, bounds: tuple[float, float]) -> bool:
    values = [witness.value for witness in facts.witnesses.values()]
    return bool(values) and (min(values) < bounds[0] or max(values) > bounds[1])


def _evaluate_head(
    opened: OpenedTable,
    options: ScanOptions,
    construct: Construct,
    rows: Sequence[Mapping[str, object]],
) -> HeadEvaluation:
    place = opened.files.name
    roles: dict[str, Role] = dict.fromkeys(opened.partition_columns, "detail")
    roles |= dict(options.roles or {})
    try:
        files = read(
            opened.head_file(rows),
            query_id=options.query_id,
            metrics=options.metrics,
            roles=roles,
            totals="keep",
        )
    except ReaderError as exc:
        raise ReaderError(exc.message, path=place) from exc
    try:
        return construct(
            options.name,
            _only_pipeline(files, place),
            place,
            query_id=options.query_id,
            metrics=options.metrics,
            correct=options.correct,
            totals="keep",
            strict=options.strict,
            roles=roles,
            allow=options.allow,
        )
    except ReaderError as exc:
        raise _error_of_scan(exc, opened) from exc


def _error_of_scan(error: ReaderError, opened: OpenedTable) -> ReaderError:
    """The error for first rows that a table in memory refuses, with the file and what to do."""
    cause = error.__cause__
    if isinstance(cause, RepeatedIdsError):
        return ReaderError(RepeatedIdsError(cause.ids, REMEDY_OF_SCANS).args[0], error.path)
    if isinstance(cause, RowsWithoutIdError):
        path, row = opened.place_of_row(cause.rows[0])
        return ReaderError(
            f"every row needs a query id; row {row} of this file is the first of those that "
            f"{cause.problem}, counted from 0",
            path,
        )
    return error


def _only_pipeline(files: list[ScoreFile], place: str) -> ScoreFile:
    if len(files) != 1:
        pipelines = named(file.pipeline for file in files)
        raise ReaderError(
            f"a scan reads the scores of one pipeline, one row per query; this table holds "
            f"{len(files)} ({pipelines}). Write one table of each, or load it with read_scores",
            path=place,
        )
    # The rows of the sample are not the rows of a query that is counted.
    return replace(files[0], totals="keep")


def _shape(opened: OpenedTable, options: ScanOptions, head: HeadEvaluation) -> TableShape:
    roles = head.roles
    by_role: Mapping[str, str] = dict(zip(roles["column"], roles["role"], strict=True))
    metric_columns = {
        normalise_name(column): column for column, role in by_role.items() if role == "metric"
    }
    lost = [name for name in head.metrics if metric_columns.get(name) not in opened.columns]
    if lost:
        raise ReaderError(
            f"a scan needs a column for each metric; {named(lost)} were made of other columns. "
            "Load the table, or write the scores with save",
            path=opened.files.name,
        )
    others = [column for column, role in by_role.items() if role not in ("metric", "id")]
    return TableShape(
        _id_column(opened, options, by_role),
        {name: metric_columns[name] for name in head.metrics},
        {},
        dict(zip(others, map(str, head.details.columns), strict=False)),
    )


def _id_column(opened: OpenedTable, options: ScanOptions, by_role: Mapping[str, str]) -> str:
    named_ids = [column for column, role in by_role.items() if role == "id"]
    # An index of pandas is a column of the file, and has no role.
    candidates = [*named_ids, options.query_id or "query_id"]
    for column in candidates:
        if column in opened.columns:
            return column
    rest = [column for column in opened.columns if column not in by_role]
    if len(rest) == 1:
        return rest[0]
    raise ReaderError(
        "a scan needs a column of query ids, such as 'query_id'; pass its name: query_id=... "
        f"Columns: {named(opened.columns, 12)}",
        path=opened.files.name,
    )


# -- witnesses


def _witness_rows(
    opened: OpenedTable, shape: TableShape, facts: TableFacts
) -> list[dict[str, object]]:
    """The witnesses that the first rows do not have, one row per query."""
    known = set(map(str, opened.head.column(shape.id_column).to_pylist()))
    rows: dict[str, dict[str, object]] = {}
    for name, metric_facts in facts.metrics.items():
        for witness in dict.fromkeys(metric_facts.witnesses.values()):
            if witness.query_id not in known:
                row = rows.setdefault(witness.query_id, {shape.id_column: witness.query_id})
                row[shape.metric_columns[name]] = witness.value
    return list(rows.values())
