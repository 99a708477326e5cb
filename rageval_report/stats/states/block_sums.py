"""Sums by cluster of the scores of several runs, and of the differences of each pair of runs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from rageval_report.stats.base import paired_differences
from rageval_report.stats.states.cluster_sums import ClusterSums
from rageval_report.stats.states.keyed_sums import merge_keyed
from rageval_report.stats.sums import sums_by_group
from rageval_report.types import FloatArray, IntArray, WordArray


@dataclass(frozen=True, slots=True, eq=False)
class BlockSums:
    """The scores of several runs by cluster, from any part of the queries that all of them scored.

    All runs have the same queries, so their clusters and the sizes of these are kept once.

    Parameters
    ----------
    keys : ndarray of uint64
        A hash of the label of each cluster, in ascending order.
    sizes : ndarray of int
        The number of queries of each cluster.
    columns : tuple of ndarray
        For each run the sums of its scores, less `centre`.
    differences : tuple of ndarray
        The sums of the differences of each pair of runs, in the order (0, 1), (0, 2), ..., (1, 2),
        ...; they are kept beside `columns` because rounding noise is removed query by query.
    centre : float
        What was subtracted from each score; see `ClusterSums.error`.

    Examples
    --------
    >>> keys = np.array([7, 5, 7], dtype=np.uint64)
    >>> rows = np.array([[0.5, 1.0], [0.25, 0.25], [0.25, 1.0]])
    >>> both = BlockSums.of(keys[:2], rows[:2]) + BlockSums.of(keys[2:], rows[2:])
    >>> both.sizes, both.column(0).sums, next(iter(both.pairs())).sums
    (array([1, 2]), array([0.25, 0.75]), array([0.  , 1.25]))
    """

    keys: WordArray
    sizes: IntArray
    columns: tuple[FloatArray, ...]
    differences: tuple[FloatArray, ...]
    centre: float = 0.0

    @classmethod
    def of(cls, keys: WordArray, rows: FloatArray, centre: float = 0.0) -> BlockSums:
        """The sums of some queries.

        Parameters
        ----------
        keys : ndarray of uint64
            A hash of the label of each query's cluster.
        rows : ndarray of shape (n, n_runs)
            The scores, without NaN.
        centre : float
            What is subtracted from each score, the same for all parts.
        """
        distinct, places = np.unique(keys, return_inverse=True)
        columns = np.asfortranarray(rows).T
        return cls(
            distinct,
            np.bincount(places, minlength=distinct.size),
            tuple(sums_by_group(column - centre, places, distinct.size) for column in columns),
            tuple(
                sums_by_group(paired_differences(first, second), places, distinct.size)
                for first, second in combinations(columns, 2)
            ),
            centre,
        )

    def __add__(self, other: BlockSums) -> BlockSums:
        """The sums of both parts."""
        keys, (sizes, *sums) = merge_keyed(
            *(self.keys, (self.sizes, *self.columns, *self.differences)),
            *(other.keys, (other.sizes, *other.columns, *other.differences)),
        )
        n_runs = len(self.columns)
        return BlockSums(keys, sizes, tuple(sums[:n_runs]), tuple(sums[n_runs:]), self.centre)

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(self.keys.size)

    def column(self, place: int) -> ClusterSums:
        """The sums of one run, less `centre`."""
        return ClusterSums(self.keys, self.columns[place], self.sizes)

    def pairs(self) -> list[ClusterSums]:
        """The sums of the differences of each pair of runs."""
        return [ClusterSums(self.keys, sums, self.sizes) for sums in self.differences]

    def rows(self) -> FloatArray:
        """The sum of the scores of each cluster, one column per run, as `Units.sums` gives it."""
        return np.column_stack(self.columns) + (self.sizes * self.centre)[:, None]

    def products(self) -> FloatArray:
        """The sums of the products of the columns, each less the mean of its cluster.

        Examples
        --------
        >>> keys = np.array([1, 1, 2], dtype=np.uint64)
        >>> BlockSums.of(keys, np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 1.0]])).products()
        array([[ 1., -1.],
               [-1.,  1.]])
        """
        sums = np.column_stack(self.columns)
        centred = sums - sums.mean(axis=1, keepdims=True)
        return np.asarray(centred.T @ centred)
