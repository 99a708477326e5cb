"""Sums of paired differences by cluster: a state of any part of the queries that is added."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.units import pairs_of_clusters
from rageval_report.types import FloatArray, IntArray, WordArray


@dataclass(frozen=True, slots=True, eq=False)
class ClusterSums:
    """The differences of the queries of each cluster, summed up.

    Parameters
    ----------
    keys : ndarray of uint64
        A hash of the label of each cluster, in ascending order: so the order of the clusters does
        not depend on how the queries were divided.
    sums : ndarray of shape (n_clusters,)
        The sum of the differences.
    sizes : ndarray of int
        The number of queries.

    Examples
    --------
    >>> keys = np.array([7, 5, 7], dtype=np.uint64)
    >>> first = ClusterSums.of(keys, np.array([0.5, 0.25, 0.25]))
    >>> both = first + ClusterSums.of(keys[:1], np.array([1.0]))
    >>> both.sums, both.sizes
    (array([0.25, 1.75]), array([1, 3]))
    """

    keys: WordArray
    sums: FloatArray
    sizes: IntArray

    @classmethod
    def of(cls, keys: WordArray, differences: FloatArray) -> ClusterSums:
        """The sums of some queries.

        Parameters
        ----------
        keys : ndarray of uint64
            A hash of the label of each query's cluster.
        differences : ndarray
            Candidate minus baseline.
        """
        return _added(keys, differences, np.ones(keys.size, dtype=np.int64))

    def __add__(self, other: ClusterSums) -> ClusterSums:
        """The sums of both parts."""
        if not self.keys.size or not other.keys.size:
            return self if self.keys.size else other
        return _added(
            np.concatenate((self.keys, other.keys)),
            np.concatenate((self.sums, other.sums)),
            np.concatenate((self.sizes, other.sizes)),
        )

    @property
    def are_single(self) -> bool:
        """Whether no two of these queries belong together."""
        return bool(self.sizes.max(initial=1) == 1)

    def pairs(self) -> PairedScores:
        """One pair per cluster, as `Units.collapse` makes them."""
        return pairs_of_clusters(self.sums, self.sizes.astype(np.float64))


def _added(keys: WordArray, sums: FloatArray, sizes: IntArray) -> ClusterSums:
    distinct, places = np.unique(keys, return_inverse=True)
    totals, counts = np.zeros(distinct.size), np.zeros(distinct.size, dtype=np.int64)
    # In the order of the rows, as in memory.
    np.add.at(totals, places, sums)
    np.add.at(counts, places, sizes)
    return ClusterSums(distinct, totals, counts)
