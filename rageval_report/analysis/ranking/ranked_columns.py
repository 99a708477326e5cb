"""What a ranking needs of the scores of one metric, in memory or in files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Protocol, TypedDict

import numpy as np

from rageval_report.analysis.arguments import interval_of_mean
from rageval_report.analysis.pairing import MissingTreatment
from rageval_report.analysis.report import interval_of_clusters
from rageval_report.scores import Metric
from rageval_report.stats.base import Interval
from rageval_report.stats.columns import Column
from rageval_report.stats.many_pairs import (
    AllPairs,
    FriedmanResult,
    count_alone_best,
    friedman_test,
    pairs_of_columns,
    rounding_tie,
    run_all_tests,
)
from rageval_report.stats.pairs import Pairs
from rageval_report.stats.units import (
    QUERIES,
    ClusteredStandardError,
    Units,
    clustered_standard_error,
)
from rageval_report.types import FloatArray, IntArray


class Drawing(TypedDict):
    """What a method that draws at random needs."""

    n_resamples: int
    seed: int


class RankedColumns(ABC):
    """The scores of one metric on the queries that every pipeline scored: one column a pipeline."""

    @property
    @abstractmethod
    def columns(self) -> list[Column]:
        """The scores of each pipeline."""

    @property
    @abstractmethod
    def pairs(self) -> list[Pairs]:
        """All pairs by independent unit, in the order of `AllPairs`."""

    @property
    @abstractmethod
    def are_clusters(self) -> bool:
        """Whether queries belong together."""

    @abstractmethod
    def error(self, place: int) -> ClusteredStandardError | None:
        """The standard error of the mean of a column by clusters; None if nothing is scored."""

    @abstractmethod
    def alone_best(self, *, greater_is_better: bool) -> IntArray:
        """On how many queries each column is better than all others."""

    @abstractmethod
    def friedman(self, *, greater_is_better: bool) -> FriedmanResult:
        """Friedman's test, on the sums of the units."""

    @property
    def n(self) -> int:
        """The number of these queries."""
        return self.columns[0].n if self.columns else 0

    @property
    def n_units(self) -> int:
        """The number of their independent units."""
        return self.pairs[0].n if self.pairs else 0

    @cached_property
    def means(self) -> FloatArray:
        """The mean of each column."""
        return np.array([column.mean for column in self.columns])

    @property
    def tie(self) -> float:
        """The largest difference between two scores that is only rounding."""
        return rounding_tie(max(max(-each.minimum, each.maximum) for each in self.columns))

    def mean_intervals(
        self, metric: Metric, confidence_level: float, drawing: Drawing
    ) -> Sequence[Interval]:
        """The interval of the mean of each column."""
        if not self.are_clusters:
            return [
                interval_of_mean(metric, column, confidence_level=confidence_level, **drawing)
                for column in self.columns
            ]
        return [
            replace(
                interval_of_clusters(
                    metric, column.minimum, self.error(place), confidence_level=confidence_level
                ),
                estimate=column.mean,
            )
            for place, column in enumerate(self.columns)
        ]

    def pair(self, first: int, second: int) -> Pairs:
        """Two columns, by independent unit."""
        return self.pairs[list(combinations(range(len(self.columns)), 2)).index((first, second))]

    def test_pairs(self, test: str, margin: float, drawing: Drawing) -> AllPairs:
        """The tests of all pairs, against a margin if it is above 0; not corrected."""
        return run_all_tests(self.pairs, test=test, margin=margin, **drawing)


@dataclass(frozen=True, eq=False)
class MatrixColumns(RankedColumns):
    """Columns in memory.

    Parameters
    ----------
    scores : ndarray of shape (n_queries, n_pipelines)
        Without NaN.
    units : Units
        The independent units of the queries.

    Examples
    --------
    >>> columns = MatrixColumns(np.array([[0.5, 1.0], [0.0, 1.0], [1.0, 1.0]]))
    >>> columns.means, columns.alone_best(greater_is_better=True)
    (array([0.5, 1. ]), array([0, 2]))
    """

    scores: FloatArray
    units: Units = QUERIES

    @property
    def n(self) -> int:
        """The number of queries."""
        return len(self.scores)

    @property
    def n_units(self) -> int:
        """The number of independent units."""
        return self.units.count(len(self.scores))

    @cached_property
    def columns(self) -> list[Column]:
        """The scores of each pipeline."""
        return [Column.of(column) for column in self.scores.T]

    @cached_property
    def pairs(self) -> list[Pairs]:
        """All pairs by independent unit, in the order of `AllPairs`."""
        units = self.units if self.units.are_clusters else None
        places = combinations(self.scores.T, 2)
        return [Pairs.of(first, second, units) for first, second in places]

    @property
    def are_clusters(self) -> bool:
        """Whether queries belong together."""
        return self.units.are_clusters

    def error(self, place: int) -> ClusteredStandardError | None:
        """The standard error of the mean of a column by clusters."""
        return clustered_standard_error(self.scores[:, place], np.asarray(self.units.codes))

    def alone_best(self, *, greater_is_better: bool) -> IntArray:
        """On how many queries each column is better than all others."""
        return count_alone_best(self.scores, greater_is_better=greater_is_better)

    def pair(self, first: int, second: int) -> Pairs:
        """Two columns, by independent unit."""
        units = self.units if self.units.are_clusters else None
        return Pairs.of(self.scores[:, first], self.scores[:, second], units)

    def test_pairs(self, test: str, margin: float, drawing: Drawing) -> AllPairs:
        """The tests of all pairs."""
        pairs = pairs_of_columns(self.scores, units=self.units)
        return run_all_tests(pairs, test=test, margin=margin, **drawing)

    def friedman(self, *, greater_is_better: bool) -> FriedmanResult:
        """Friedman's test."""
        # Ranks within clusters, if there are any: their sums are independent.
        return friedman_test(self.units.sums(self.scores), greater_is_better=greater_is_better)


class RankedBlock(Protocol):
    """The scores of one metric: `rageval_report.analysis.ranking.lineup.ScoreBlock` in memory."""

    @property
    def metric(self) -> Metric:
        """The metric as the first pipeline knows it."""

    @property
    def names(self) -> tuple[str, ...]:
        """The pipelines that have any score."""

    @property
    def unscored(self) -> IntArray:
        """The number of common queries that each of these pipelines did not score."""

    @property
    def empty(self) -> tuple[str, ...]:
        """The pipelines without any score."""

    @property
    def n_not_applicable(self) -> int:
        """The number of common queries to which the metric applies in no pipeline."""

    @property
    def units(self) -> Units:
        """What is independent."""

    @property
    def columns(self) -> RankedColumns:
        """The queries that every pipeline scored."""


class RankedLineup(Protocol):
    """Pipelines side by side: `rageval_report.analysis.ranking.lineup.Lineup` in memory."""

    @property
    def names(self) -> tuple[str, ...]:
        """The pipelines."""

    @property
    def n_queries(self) -> int:
        """The number of queries that all have."""

    @property
    def metrics(self) -> Mapping[str, tuple[Metric, ...]]:
        """The metrics that all have, by the first one's name, as each pipeline knows them."""

    @property
    def missing(self) -> MissingTreatment:
        """The treatment of an unscored query."""

    def extreme_means(self, metric: Metric, pipeline: str) -> tuple[float, float]:
        """The mean of all common queries if missing scores were as low, or high, as they can be."""


def is_rankable(block: RankedBlock) -> bool:
    """Whether there are two pipelines to rank, and a query that both scored."""
    return len(block.names) > 1 and block.columns.n > 0
