"""Sums of several metrics of several pipelines under random signs that belong to the queries.

The flipped sum of a difference is the difference of two flipped sums, so each pipeline has one
column, and not each pair of pipelines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rageval_report.stats.all_pairs import adjust_flipped_columns, pair_scales
from rageval_report.stats.states.flipped_sums import FlippedSums
from rageval_report.types import FloatArray, WordArray


@dataclass(frozen=True, eq=False)
class FlippedBlocks:
    """The sums of the columns of blocks, as they are and under random signs.

    Parameters
    ----------
    sums : FlippedSums
        The columns of all blocks, each less the mean of its query.
    products : tuple of ndarray of shape (k, k)
        For each block the sums of the products of its columns.

    Examples
    --------
    >>> scores = np.array([[0.25, 0.5], [0.5, 0.75], [0.0, 0.25]])
    >>> prints = np.array([11, 12, 13], dtype=np.uint64)
    >>> both = FlippedBlocks.of([scores[:1]], prints[:1], n_resamples=99, seed=0)
    >>> both += FlippedBlocks.of([scores[1:]], prints[1:], n_resamples=99, seed=0)
    >>> whole = FlippedBlocks.of([scores], prints, n_resamples=99, seed=0)
    >>> np.array_equal(both.sums.flipped, whole.sums.flipped)
    True
    """

    sums: FlippedSums
    products: tuple[FloatArray, ...]

    @classmethod
    def of(
        cls, blocks: Sequence[FloatArray], prints: WordArray, *, n_resamples: int, seed: int
    ) -> FlippedBlocks:
        """The sums of some queries.

        Parameters
        ----------
        blocks : sequence of ndarray of shape (n_queries, k)
            One block per metric, one column per pipeline; a row with a NaN is left out.
        prints : ndarray of uint64
            A hash of each id.
        n_resamples, seed : int
            The number of patterns of signs, and their seed.
        """
        # Centring by query changes no difference, and the sums lose fewer digits. What is left out
        # is 0, which no flip of its sign changes.
        centred = [np.nan_to_num(block - block.mean(axis=1, keepdims=True)) for block in blocks]
        return cls(
            FlippedSums.of(np.hstack(centred), prints, n_resamples=n_resamples, seed=seed),
            tuple(block.T @ block for block in centred),
        )

    def __add__(self, other: FlippedBlocks) -> FlippedBlocks:
        """The sums of both parts."""
        return FlippedBlocks(
            self.sums + other.sums,
            tuple(a + b for a, b in zip(self.products, other.products, strict=True)),
        )

    def adjust(self, places: Sequence[int], half_ties: Sequence[bool]) -> list[FloatArray]:
        """Step-down adjusted p-values of all pairs of some blocks, as `shared_flips`.

        Parameters
        ----------
        places : sequence of int
            The blocks.
        half_ties : sequence of bool
            For each pair of each of them whether patterns that tie with the observed one count
            half.
        """
        ends = np.cumsum([0, *(len(block) for block in self.products)])
        columns = np.concatenate([np.arange(ends[place], ends[place + 1]) for place in places])
        # Sums instead of means: the statistic is their ratio, and the number of queries cancels.
        return adjust_flipped_columns(
            self.sums.totals[columns],
            self.sums.flipped[columns].T,
            [pair_scales(self.products[place]) for place in places],
            [len(self.products[place]) for place in places],
            half_ties,
        )
