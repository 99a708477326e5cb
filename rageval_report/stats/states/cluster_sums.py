"""Sums of scores, or of paired differences, by cluster: a state that is added."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from rageval_report.stats.clusters import ClusteredStandardError, error_of_deviations
from rageval_report.stats.magnitudes import unit_of
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.states.keyed_sums import merge_keyed
from rageval_report.stats.sums import sums_by_group
from rageval_report.types import FloatArray, IntArray, WordArray


@dataclass(frozen=True, slots=True, eq=False)
class ClusterSums:
    """The scores, or the differences, of the queries of each cluster, summed up.

    Parameters
    ----------
    keys : ndarray of uint64
        A hash of the label of each cluster, in ascending order: so the order of the clusters does
        not depend on how the queries were divided.
    sums : ndarray of shape (n_clusters,)
        The sum of the scores.
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
    def of(cls, keys: WordArray, scores: FloatArray) -> ClusterSums:
        """The sums of some queries.

        Parameters
        ----------
        keys : ndarray of uint64
            A hash of the label of each query's cluster.
        scores : ndarray
            The scores, or candidate minus baseline; none is NaN.
        """
        distinct, places = np.unique(keys, return_inverse=True)
        return cls.at_places(distinct, places, scores)

    @classmethod
    def at_places(cls, keys: WordArray, places: IntArray, scores: FloatArray) -> ClusterSums:
        """The sums of some queries whose clusters are sorted already, once for many metrics.

        Parameters
        ----------
        keys : ndarray of uint64
            Different keys in ascending order; those without a query are left out.
        places : ndarray of int
            The place of each query's cluster among them.
        scores : ndarray
            As in `of`.
        """
        sums, sizes = (
            sums_by_group(scores, places, keys.size),
            np.bincount(places, minlength=keys.size),
        )
        is_present = sizes > 0
        if is_present.all():
            return cls(keys, sums, sizes)
        return cls(keys[is_present], sums[is_present], sizes[is_present])

    def __add__(self, other: ClusterSums) -> ClusterSums:
        """The sums of both parts."""
        keys, (sums, sizes) = merge_keyed(
            self.keys, (self.sums, self.sizes), other.keys, (other.sums, other.sizes)
        )
        return ClusterSums(keys, sums, sizes)

    def times(self, score: float) -> ClusterSums:
        """The sums of as many queries that all have this score."""
        return ClusterSums(self.keys, self.sizes.astype(np.float64) * score, self.sizes)

    def error(
        self, mean: float, deviation: float, *, centre: float = 0.0
    ) -> ClusteredStandardError:
        """The standard error of the mean of the scores, as `clustered_standard_error` gives it.

        Parameters
        ----------
        mean, deviation : float
            The mean and the standard deviation of all scores.
        centre : float
            What was subtracted from each score before it was summed up. A centre near the mean
            keeps the digits of scores that are large beside their spread.

        Examples
        --------
        >>> keys = np.array([1, 1, 2, 2, 3, 3], dtype=np.uint64)
        >>> sums = ClusterSums.of(keys, np.array([1.0, 1, 0, 0, 1, 0]))
        >>> round(sums.error(0.5, 0.5477).standard_error, 4)
        0.2887
        """
        sizes = self.sizes.astype(np.float64)
        deviations = self.sums - sizes * (mean - centre)
        unit = max(1.0, unit_of(deviations))
        error = error_of_deviations(deviations / unit, sizes, mean, deviation / unit)
        return replace(error, standard_error=error.standard_error * unit)

    @property
    def are_single(self) -> bool:
        """Whether no two of these queries belong together."""
        return bool(self.sizes.max(initial=1) == 1)

    def pairs(self) -> PairedScores:
        """One pair per cluster, as `Units.collapse` makes them."""
        return PairedScores.of_clusters(self.sums, self.sizes.astype(np.float64))
