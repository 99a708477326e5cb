"""What an analysis of one pipeline asks of its table: columns with counts, also by group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from rageval_report.analysis import arguments
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores import Metric, Scored
from rageval_report.stats.columns import Column
from rageval_report.stats.units import (
    QUERIES,
    ClusteredStandardError,
    Units,
    clustered_standard_error,
)
from rageval_report.types import IntArray

NO_GROUP = "(none)"
_FIRST_LABELS = 1000


@dataclass(frozen=True, eq=False)
class PipelineTable:
    """The scores of a pipeline in memory; of a scan `CountedTable` has the same, counted."""

    sample: Scored
    units: Units = QUERIES

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.sample.scores)

    @property
    def settings(self) -> dict[str, object]:
        """What read the scores, for the signature of a result."""
        return {}

    def notes(self, metrics: Iterable[Metric]) -> tuple[str, ...]:
        """What a reader must know of the columns of some metrics."""
        del metrics
        return ()

    def column(self, metric: Metric) -> Column:
        """The scores of a metric."""
        return Column.of(arguments.scores_of(self.sample, metric))

    def error(self, metric: Metric) -> ClusteredStandardError | None:
        """The standard error of a mean by clusters; None without them, or if nothing is scored."""
        scores = arguments.scores_of(self.sample, metric)
        if self.units.codes is None or np.isnan(scores).all():
            return None
        return clustered_standard_error(scores, self.units.codes)

    def unit_means(self, metric: Metric) -> Column:
        """The mean score of each independent unit."""
        return Column.of(self.units.means(arguments.scores_of(self.sample, metric)))

    def groups(self, by: str) -> Mapping[str, PipelineTable]:
        """The tables of groups, the largest first."""
        return {
            label: PipelineTable(_subset(self.sample, rows), self.units.select(rows))
            for label, rows in rows_of_groups(group_labels(self.sample, by)).items()
        }


def table_of(evaluation: Any, clusters: arguments.Clusters | None = None) -> PipelineTable:
    """The table of an evaluation, of a scan, or of a group of either."""
    if isinstance(evaluation, PipelineTable):
        return evaluation
    if arguments.is_scan(evaluation):
        table: PipelineTable = evaluation.counted_table(clusters)
        return table
    return PipelineTable(evaluation, arguments.resolve_units(evaluation, clusters))


def _subset(evaluation: Scored, rows: Any) -> arguments.EvaluationSubset:
    return arguments.EvaluationSubset(
        evaluation.name,
        evaluation.scores.iloc[rows],
        evaluation.details.iloc[rows],
        dict(evaluation.metrics),
        getattr(evaluation, "config", None) or {},
    )


def group_labels(evaluation: Scored, by: str) -> pd.Series:
    """The group of each query as text; "(none)" for an empty cell."""
    if by not in evaluation.details:
        raise UnknownNameError("detail column", by, map(str, evaluation.details.columns))
    column = evaluation.details[by]
    # Texts are their own labels, and a million of them take a quarter of a second to map.
    texts = column if isinstance(column.dtype, pd.StringDtype) else column.map(str)
    labels = texts.where(column.notna(), NO_GROUP).astype(str)
    # As a rule the first labels show that some are equal, and the others need not be read.
    is_repeated = labels.iloc[:_FIRST_LABELS].duplicated().any() or labels.duplicated().any()
    if len(labels) > 1 and not is_repeated:
        raise no_groups(by, labels.iloc[0])
    return labels


def no_groups(by: str, first: str) -> DataError:
    """The error that every query is a group of its own."""
    return DataError(
        f"every query has its own value of {by!r}, so there are no groups to compare; "
        f"the first is {first[:40]!r}"
    )


def order_of_groups(sizes: Mapping[str, int]) -> list[str]:
    """The groups in the order of a table: the largest first, equal ones by name."""
    return sorted(sizes, key=lambda label: (-sizes[label], label))


def rows_of_groups(labels: pd.Series) -> dict[str, IntArray]:
    """The rows of each group in their order, the largest group first."""
    codes, groups = pd.factorize(labels)
    ends = np.cumsum(np.bincount(codes, minlength=len(groups)))
    parts = np.split(np.argsort(codes, kind="stable"), ends[:-1])
    rows = dict(zip(map(str, groups), parts, strict=True))
    return {label: rows[label] for label in order_of_groups({k: len(v) for k, v in rows.items()})}
