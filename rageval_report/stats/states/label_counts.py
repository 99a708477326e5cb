"""How many rows each label of a column has: a state that is added, and bounded in size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rageval_report.stats.states.keyed_sums import merge_keyed
from rageval_report.types import BoolArray, IntArray, WordArray

# 16 bytes each. A sample of so many labels gives their number to 0.1 %.
_MOST_LABELS = 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class LabelCounts:
    """The number of rows of each label; of very many labels a sample.

    A label is in the sample of level k if the first k bits of its hash are 0: so one sample does
    not depend on how the rows were divided, and its labels have all their rows.

    Parameters
    ----------
    n : int
        The number of rows that have a label.
    keys : ndarray of uint64
        A hash of each label, in ascending order.
    counts : ndarray of int
        The number of its rows.
    level : int
        0 if all labels are known.

    Examples
    --------
    >>> first = LabelCounts.of(np.array([7, 5, 7], dtype=np.uint64), np.array([1, 1, 1]))
    >>> both = first + LabelCounts.of(np.array([5, 6], dtype=np.uint64), np.array([2, 1]))
    >>> both.n, both.n_labels, both.n_shared
    (6, 3, 5)
    """

    n: int
    keys: WordArray
    counts: IntArray
    level: int = 0

    @classmethod
    def of(cls, keys: WordArray, counts: IntArray) -> LabelCounts:
        """The counts of some labels.

        Parameters
        ----------
        keys : ndarray of uint64
            A hash of each label, in any order and perhaps several times.
        counts : ndarray of int
            A number of its rows.
        """
        distinct, places = np.unique(keys, return_inverse=True)
        totals = np.zeros(distinct.size, dtype=np.int64)
        np.add.at(totals, places, counts)
        return cls(int(totals.sum()), distinct, totals)._within_bounds()

    def __add__(self, other: LabelCounts) -> LabelCounts:
        """The counts of both parts."""
        level = max(self.level, other.level)
        ours, theirs = self._at_level(level), other._at_level(level)
        keys, (counts,) = merge_keyed(ours.keys, (ours.counts,), theirs.keys, (theirs.counts,))
        return LabelCounts(self.n + other.n, keys, counts, level)._within_bounds()

    def _within_bounds(self) -> LabelCounts:
        counts = self
        while counts.keys.size > _MOST_LABELS:
            counts = counts._at_level(counts.level + 1)
        return counts

    def _at_level(self, level: int) -> LabelCounts:
        if level == self.level:
            return self
        is_kept: BoolArray = self.keys < np.uint64(1 << (64 - level))
        return LabelCounts(self.n, self.keys[is_kept], self.counts[is_kept], level)

    @property
    def n_labels(self) -> int:
        """The number of labels; an estimate beyond level 0."""
        return int(self.keys.size) << self.level

    @property
    def n_shared(self) -> int:
        """The number of rows that share their label with another one; likewise."""
        return int(self.counts[self.counts > 1].sum()) << self.level
