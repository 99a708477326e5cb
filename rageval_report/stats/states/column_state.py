"""The values of a column in a form that is small and that is added part by part.

Few values are kept as they are. More values are counts of multiples of 1/D if they are on such a
lattice, which loses nothing but their order; else they are kept up to some hundred thousand, and
beyond that they are sums of powers with a histogram. Where a later value does not fit the lattice,
the counts become values or sums again, so no part is read twice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rageval_report.stats.means.score_bins import CountedScores
from rageval_report.stats.states.counted_steps import CountedSteps, Scores
from rageval_report.stats.states.power_sums import PowerSums
from rageval_report.types import FloatArray

# So few values keep their order: then every method that memory has can be applied.
FEW_VALUES = 2**12
# More values than this are not kept unless they are on a lattice.
MOST_VALUES = 2**17


@dataclass(frozen=True, slots=True, eq=False)
class ColumnState:
    """The finite values of a column: kept, counted, or summed up. One of the three is not None.

    Parameters
    ----------
    order : int
        The highest power that is summed up.
    values : ndarray, optional
        The values themselves, in the order in which parts were added.
    steps : CountedSteps, optional
        Counts of multiples of 1/D.
    sums : PowerSums, optional
        Sums of powers and a histogram.

    Examples
    --------
    >>> state = ColumnState.of(np.array([0.5, 0.1]), 2) + ColumnState.of(np.array([0.3]), 2)
    >>> state.n, state.values
    (3, array([0.5, 0.1, 0.3]))
    """

    order: int
    values: Scores | None = None
    steps: CountedSteps | None = None
    sums: PowerSums | None = None

    @classmethod
    def of(cls, values: Scores, order: int) -> ColumnState:
        """The state of finite values."""
        if values.size <= FEW_VALUES:
            return cls(order, values=values)
        steps = CountedSteps.of(values)
        if steps is not None:
            return cls(order, steps=steps)
        if values.size <= MOST_VALUES:
            return cls(order, values=values)
        return cls(order, sums=PowerSums.of(values, order, has_bins=True))

    def __add__(self, other: ColumnState) -> ColumnState:
        """The state of the values of both."""
        if self.values is not None and other.values is not None:
            return ColumnState.of(np.concatenate((self.values, other.values)), self.order)
        if self.sums is None and other.sums is None:
            steps = _add_steps(self, other)
            if steps is not None:
                return ColumnState(self.order, steps=steps)
            if self.n + other.n <= MOST_VALUES:
                values = np.concatenate((self.listed(), other.listed()))
                return ColumnState(self.order, values=values)
        if not self.n or not other.n:
            return self if self.n else other
        return ColumnState(self.order, sums=self.summed() + other.summed())

    @property
    def n(self) -> int:
        """The number of values."""
        if self.values is not None:
            return int(self.values.size)
        part = self.steps or self.sums
        return part.n if part else 0

    @property
    def nbytes(self) -> int:
        """The memory of the arrays, in bytes."""
        arrays: list[Scores] = [] if self.values is None else [self.values]
        if self.sums is not None:
            arrays += [self.sums.sums, self.sums.far]
        counts = [each.counts for each in (self.steps, self.sums and self.sums.bins) if each]
        return sum(array.nbytes for array in arrays) + sum(each.nbytes for each in counts)

    def listed(self) -> FloatArray:
        """The values one by one, in ascending order if only their counts are known."""
        if self.values is not None:
            return self.values.astype(np.float64, copy=False)
        if self.steps is None:
            raise ValueError("values that were summed up cannot be listed")
        return np.repeat(self.steps.distinct, self.steps.multiplicities)

    def counted(self) -> CountedScores:
        """Numbers with counts: the values themselves, or where they were summed up, their bins."""
        if self.values is not None:
            return CountedScores(self.listed(), np.ones(self.n))
        if self.steps is not None:
            steps = self.steps
            return CountedScores(steps.distinct, steps.multiplicities.astype(np.float64))
        return _count_summed(self.summed())

    def summed(self) -> PowerSums:
        """The sums of the values, of which there is at least one."""
        if self.sums is not None:
            return self.sums
        if self.values is not None:
            return PowerSums.of(self.values, self.order, has_bins=True)
        counted = self.counted()
        counts = counted.counts.astype(np.int64)
        return PowerSums.of_counts(counted.scores, counts, self.order, has_bins=True)


def _add_steps(first: ColumnState, second: ColumnState) -> CountedSteps | None:
    """The counts of both; None if they are not on one lattice."""
    counts = []
    for each in (first, second):
        steps = each.steps
        if steps is None and each.values is not None:
            steps = CountedSteps.of(each.values)
        if steps is None:
            return None
        counts.append(steps)
    return counts[0] + counts[1]


def _count_summed(sums: PowerSums) -> CountedScores:
    """The middles of the bins, moved so that the mean is right, and the far values."""
    bins = sums.bins
    if bins is None:
        raise ValueError("these sums have no histogram")
    is_used = bins.counts > 0
    counts = bins.counts[is_used].astype(np.float64)
    near = np.clip(bins.centres[is_used], sums.low, sums.high)
    missing = sums.total - float(sums.far.sum()) - float((near * counts).sum())
    near = np.clip(near + missing / counts.sum(), sums.low, sums.high)
    return CountedScores(
        np.concatenate((near, sums.far)),
        np.concatenate((counts, np.ones(sums.far.size))),
        is_exact=False,
    )
