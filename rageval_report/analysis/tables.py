"""What an analysis of one pipeline asks of its table: columns with counts, also by group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
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

T = TypeVar("T", bound=np.generic)


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
    def are_clusters(self) -> bool:
        """Whether queries belong together."""
        return self.units.are_clusters

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
            for label, rows in GroupedRows.of(group_labels(self.sample, by))
        }

    def shared_clusters(self, by: str) -> tuple[int, int]:
        """The number of clusters with queries in several groups, and of all clusters."""
        return count_shared(self.units, group_labels(self.sample, by))


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


def count_shared(units: Units, labels: pd.Series) -> tuple[int, int]:
    """The number of clusters with queries in several groups, and of all; none without clusters."""
    if units.codes is None:
        return 0, 0
    groups = labels.groupby(units.codes).nunique()
    return int((groups > 1).sum()), len(groups)


def group_labels(evaluation: Scored, by: str) -> pd.Series:
    """The group of each query as text; "(none)" for an empty cell."""
    if by not in evaluation.details:
        raise UnknownNameError("detail column", by, map(str, evaluation.details.columns))
    labels = text_labels(evaluation, by)
    # As a rule the first labels show that some are equal, and the others need not be read.
    is_repeated = labels.iloc[:_FIRST_LABELS].duplicated().any() or labels.duplicated().any()
    if len(labels) > 1 and not is_repeated:
        raise no_groups(by, labels.iloc[0])
    return labels


def text_labels(evaluation: Scored, by: str) -> pd.Series:
    """A column of the details as the labels of groups."""
    column = evaluation.details[by]
    # Texts are their own labels, and a million of them take a quarter of a second to map.
    texts = column if isinstance(column.dtype, pd.StringDtype) else column.map(str)
    return texts.where(column.notna(), NO_GROUP).astype(str)


def no_groups(by: str, first: str) -> DataError:
    """The error that every query is a group of its own."""
    return DataError(
        f"every query has its own value of {by!r}, so there are no groups to compare; "
        f"the first is {first[:40]!r}"
    )


def order_of_groups(sizes: Mapping[str, int]) -> list[str]:
    """The groups in the order of a table: the largest first, equal ones by name."""
    return sorted(sizes, key=lambda label: (-sizes[label], label))


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """Rows sorted by group, the largest group first; within a group they keep their order."""

    labels: tuple[str, ...]
    rows: IntArray
    ends: IntArray
    codes: npt.NDArray[np.integer[Any]]

    @classmethod
    def of(cls, labels: pd.Series) -> GroupedRows:
        """The rows of a column of labels."""
        codes, groups = pd.factorize(labels)
        sizes = np.bincount(codes, minlength=len(groups))
        by_label = dict(zip(map(str, groups), sizes.tolist(), strict=True))
        places = {label: place for place, label in enumerate(by_label)}
        ordered = [places[label] for label in order_of_groups(by_label)]
        largest_first = np.array(ordered, dtype=np.intp)
        ranks = np.empty_like(largest_first)
        ranks[largest_first] = np.arange(largest_first.size)
        # Small numbers are sorted by their digits, in a sixth of the time.
        small = ranks.astype(np.min_scalar_type(ranks.size))[codes]
        rows = np.argsort(small, kind="stable")
        names = tuple(str(groups[place]) for place in largest_first.tolist())
        return cls(names, rows, np.cumsum(sizes[largest_first]), small)

    def __iter__(self) -> Iterator[tuple[str, IntArray]]:
        """Each group and its rows."""
        return zip(self.labels, np.split(self.rows, self.ends[:-1]), strict=False)

    @property
    def parts(self) -> list[slice]:
        """Where each group lies among the sorted rows."""
        ends = self.ends.tolist()
        return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]

    @cached_property
    def places(self) -> IntArray:
        """For each row its place among the sorted ones."""
        places = np.empty_like(self.rows)
        places[self.rows] = np.arange(self.rows.size)
        return places

    def sort(self, column: npt.NDArray[T]) -> npt.NDArray[T]:
        """One number per row, sorted as the rows are."""
        # Row by row, each to its group: to read the rows group by group would go through all of
        # the column for each of them, past the cache.
        ordered = np.empty_like(column)
        ordered[self.places] = column
        return ordered
