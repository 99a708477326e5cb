"""The columns of a ranking of scans whose queries come in clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Protocol

from rageval_report.analysis.cluster_means import ClusteredMean
from rageval_report.analysis.ranking.ranked_columns import Drawing, RankedColumns, RankedPair
from rageval_report.scores import Metric
from rageval_report.stats.all_pairs import AllPairs, beyond_margin, run_all_tests
from rageval_report.stats.base import Interval
from rageval_report.stats.means.moments import Moments
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.ranks import FriedmanResult, friedman_test
from rageval_report.stats.states.block_sums import BlockSums
from rageval_report.types import FloatArray, IntArray


class DescribedColumns(RankedColumns, Protocol):
    """Columns whose moments are known, query by query."""

    @property
    def moments_of_each(self) -> Sequence[Moments]:
        """The moments of each column."""


@dataclass(frozen=True, eq=False)
class ClusteredColumns:
    """Columns of which the sums by cluster are known; a `RankedColumns`.

    Parameters
    ----------
    by_query : DescribedColumns
        The same columns, each query a unit of its own.
    clusters : BlockSums
        The sums.
    """

    by_query: DescribedColumns
    clusters: BlockSums

    @property
    def n(self) -> int:
        """The number of queries."""
        return self.by_query.n

    @property
    def n_units(self) -> int:
        """The number of clusters."""
        return self.clusters.n_clusters

    @property
    def n_in_memory(self) -> int:
        """None of the scores is."""
        return 0

    @property
    def means(self) -> FloatArray:
        """The mean of each column, over queries."""
        return self.by_query.means

    @property
    def tie(self) -> float:
        """The largest difference between two scores that is only rounding."""
        return self.by_query.tie

    @cached_property
    def _pairs(self) -> dict[tuple[int, int], tuple[PairedScores, PairedScores]]:
        """The pairs of each two columns, query by query and cluster by cluster."""
        places = combinations(range(len(self.clusters.columns)), 2)
        pairs = {}
        for place, sums in zip(places, self.clusters.pairs(), strict=True):
            by_query = self.by_query.pair(*place).by_unit
            pairs[place] = by_query, by_query if sums.are_single else sums.pairs()
        return pairs

    def alone_best(self, *, greater_is_better: bool) -> IntArray:
        """On how many queries each column is better than all others."""
        return self.by_query.alone_best(greater_is_better=greater_is_better)

    def mean_intervals(
        self, metric: Metric, confidence_level: float, drawing: Drawing
    ) -> Sequence[Interval]:
        """The interval of the mean of each column, from whole clusters."""
        del drawing  # nothing is drawn
        return [
            ClusteredMean(
                metric, known, self.clusters.column(place), self.clusters.centre
            ).interval(confidence_level=confidence_level)
            for place, known in enumerate(self.by_query.moments_of_each)
        ]

    def pair(self, first: int, second: int) -> RankedPair:
        """Two columns."""
        before, after = self.means[[first, second]].tolist()
        return RankedPair(before, after, self._pairs[first, second][1])

    def test_pairs(self, test: str, margin: float, drawing: Drawing) -> AllPairs:
        """The tests of all pairs."""
        scores, by_unit = map(list, zip(*self._pairs.values(), strict=True))
        pairs = run_all_tests(scores, by_unit, test=test, **drawing)
        return beyond_margin(by_unit, pairs, margin, test=test, **drawing) if margin else pairs

    def friedman(self, *, greater_is_better: bool) -> FriedmanResult:
        """Friedman's test, on the ranks within clusters: their sums are independent."""
        return friedman_test(self.clusters.rows(), greater_is_better=greater_is_better)
