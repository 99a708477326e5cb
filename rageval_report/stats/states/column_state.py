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
from rageval_report.stats.states.power_sums import ORDER_OF_SPREAD, PowerSums
from rageval_report.types import FloatArray

# So few values keep their order: then every method that memory has can be applied.
FEW_VALUES = 2**12
# More values than this are not kept unless they are on a lattice.
MOST_VALUES = 2**17


@dataclass(frozen=True, slots=True)
class ColumnRules:
    """What is kept of a column.

    Parameters
    ----------
    order : int
        The highest power that is summed up.
    few_values : int
        So many values are kept in their order.
    most_values : int
        So many values are kept if they are on no lattice.
    has_bins : bool
        Whether sums come with a histogram.
    any_step : bool
        Whether a lattice may have any step, as that of differences has.
    """

    order: int
    few_values: int
    most_values: int
    has_bins: bool
    any_step: bool = False


SCORES = ColumnRules(ORDER_OF_SPREAD, FEW_VALUES, MOST_VALUES, has_bins=True)
SIDE_OF_PAIRS = ColumnRules(ORDER_OF_SPREAD, 0, 0, has_bins=False)
DIFFERENCES = ColumnRules(ORDER_OF_SPREAD, 0, MOST_VALUES, has_bins=True, any_step=True)


@dataclass(frozen=True, slots=True, eq=False)
class ColumnState:
    """The finite values of a column: kept, counted, or summed up. One of the three is not None.

    Parameters
    ----------
    rules : ColumnRules
        What is kept.
    values : ndarray, optional
        The values themselves, in the order in which parts were added.
    steps : CountedSteps, optional
        Counts of multiples of 1/D.
    sums : PowerSums, optional
        Sums of powers and a histogram.

    Examples
    --------
    >>> state = ColumnState.of(np.array([0.5, 0.1])) + ColumnState.of(np.array([0.3]))
    >>> state.n, state.values
    (3, array([0.5, 0.1, 0.3]))
    """

    rules: ColumnRules
    values: Scores | None = None
    steps: CountedSteps | None = None
    sums: PowerSums | None = None

    @classmethod
    def of(cls, values: Scores, rules: ColumnRules = SCORES) -> ColumnState:
        """The state of finite values."""
        if values.size <= rules.few_values:
            return cls(rules, values=values)
        steps = CountedSteps.of(values)
        return cls.off_lattice(values, rules) if steps is None else cls(rules, steps=steps)

    @classmethod
    def off_lattice(cls, values: Scores, rules: ColumnRules) -> ColumnState:
        """The state of finite values that are on no lattice."""
        if values.size <= rules.most_values:
            return cls(rules, values=values)
        return cls(rules, sums=PowerSums.of(values, rules.order, has_bins=rules.has_bins))

    def __add__(self, other: ColumnState) -> ColumnState:
        """The state of the values of both."""
        if not self.n or not other.n:
            return self if self.n else other
        if self.values is not None and other.values is not None:
            return ColumnState.of(np.concatenate((self.values, other.values)), self.rules)
        if self.sums is None and other.sums is None:
            steps = _add_steps(self, other)
            if steps is not None:
                return ColumnState(self.rules, steps=steps)
            if self.n + other.n <= self.rules.most_values:
                values = np.concatenate((self.listed(), other.listed()))
                return ColumnState(self.rules, values=values)
        return ColumnState(self.rules, sums=self.summed() + other.summed())

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
        if self.values is not None:
            return self.values.nbytes
        if self.steps is not None:
            return self.steps.counts.nbytes
        return self.summed().nbytes

    @property
    def total(self) -> float:
        """The sum of the values."""
        if self.steps is not None:
            return self.steps.total()
        return self.summed().total if self.n else 0.0

    def listed(self) -> FloatArray:
        """The values one by one, in ascending order if only their counts are known."""
        if self.values is not None:
            return self.values.astype(np.float64, copy=False)
        return self.counted().listed("this method")

    def counted(self) -> CountedScores:
        """Numbers with counts: the values themselves, or where they were summed up, their bins."""
        if self.values is not None:
            return CountedScores(self.values.astype(np.float64, copy=False), np.ones(self.n))
        if self.steps is not None:
            steps = self.steps
            return CountedScores(steps.distinct, steps.multiplicities.astype(np.float64))
        return _count_summed(self.summed())

    def summed(self) -> PowerSums:
        """The sums of the values, of which there is at least one."""
        order, has_bins = self.rules.order, self.rules.has_bins
        if self.sums is not None:
            return self.sums
        if self.values is not None:
            return PowerSums.of(self.values, order, has_bins=has_bins)
        counted = self.counted()
        counts = counted.counts.astype(np.int64)
        return PowerSums.of_counts(counted.scores, counts, order, has_bins=has_bins)


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
    return counts[0].plus(counts[1], any_step=first.rules.any_step)


def _count_summed(sums: PowerSums) -> CountedScores:
    """The mean of each bin, and the far values."""
    bins = sums.bins
    if bins is None:
        raise ValueError("these sums have no histogram")
    counts = bins.counts[bins.counts > 0].astype(np.float64)
    return CountedScores(
        np.concatenate((np.clip(bins.means, sums.low, sums.high), sums.far)),
        np.concatenate((counts, np.ones(sums.far.size))),
        is_exact=False,
    )
