"""Scores that are multiples of 1/D, as counts: nothing is lost, and counts are added.

Shares of right answers, ratings, hits and decimals of up to four digits are such scores. Each is
checked to be the float that is nearest to k/D, in double or in single precision, so that the counts
give every score back. What is computed from counts does not depend on the order of the scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_report.stats.threads import lock_free_property
from rageval_report.types import BoolArray, FloatArray, IndexArray, IntArray

Scores = npt.NDArray[np.floating[Any]]

# Shares of up to twelve, two and three of them combined (60, 840), reciprocal ranks to ten (2520 is
# the least common multiple of 1 to 10), decimals of two, three and four digits.
STEPS_PER_ONE = (*range(1, 13), 60, 100, 840, 1000, 2520, 10_000)
_DENOMINATORS = np.array(STEPS_PER_ONE, dtype=np.float64)
# As many counts at most: one megabyte. Whole numbers from 1 to a million are no lattice that pays.
MOST_COUNTS = 2**17
# A first look at so many scores leaves out the steps that do not fit.
_SAMPLE = 64
# Before it, so few show at little cost that most scores off all lattices are off them.
_FIRST_LOOK = 6
_SINGLE_ROUNDING = 2.0**-23
BLOCK = 2**14  # numbers of which a few arrays stay in the second-level cache
# Quotients of smaller numbers by the usual steps are equal or far apart.
_MOST_CERTAIN = 2**31
# Every whole number below this is a double.
_LARGEST_STEP = 2**53
# Sums of products of integers below this are exact.
_LARGEST_INTEGER = 2**62


@dataclass(frozen=True, eq=False)
class CountedSteps:
    """How often each multiple of 1/D occurs among scores.

    Parameters
    ----------
    denominator : int
        D, as small as the scores allow.
    lowest : int
        The least multiple that occurs, in steps.
    counts : ndarray of int
        The counts from the least multiple to the largest.
    is_single : bool
        Whether the scores are the nearest floats in single precision, and other numbers in double
        precision.

    Examples
    --------
    >>> steps = CountedSteps.of(np.array([0.5, 1.0, 0.75, 0.5]))
    >>> steps.denominator, steps.lowest, steps.counts
    (4, 2, array([2, 1, 1]))
    >>> CountedSteps.of(np.array([0.123456789])) is None
    True
    """

    denominator: int
    lowest: int
    counts: IntArray
    is_single: bool = False

    @classmethod
    def of(cls, values: Scores, ruler: StepRuler | None = None) -> CountedSteps | None:
        """The counts of finite scores; None if they are not multiples of one of the usual steps.

        Parameters
        ----------
        values : ndarray
            The scores.
        ruler : StepRuler, optional
            What fits more scores, of which these are a part: it is tried first.

        Examples
        --------
        >>> scores = np.array([0.5, 1.0, 0.75, 0.5])
        >>> CountedSteps.of(scores[:2], next(StepRuler.fitting(scores))).denominator
        2
        """
        if not values.size:
            return NO_STEPS
        counts = None if ruler is None or not ruler.is_certain else ruler.count(values)
        if ruler is not None and counts is not None:
            return ruler.in_coarsest_steps(counts)
        whole = _count_whole_numbers(values)
        if whole is not None:
            return whole
        for ruler in StepRuler.fitting(values):
            counts = ruler.count(values)
            if counts is not None:
                return ruler.in_coarsest_steps(counts)
        return None

    def plus(self, other: CountedSteps, *, any_step: bool = False) -> CountedSteps | None:
        """The counts of both; None if no usual step fits both, or they lie too far apart.

        Parameters
        ----------
        other : CountedSteps
            More counts.
        any_step : bool
            Whether a step may be any, as that of differences is.

        Examples
        --------
        >>> thirds = CountedSteps.of(np.array([1 / 3]))
        >>> thirds.plus(CountedSteps.of(np.array([0.25]))).denominator
        12
        """
        if not other.counts.size or not self.counts.size:
            return self if not other.counts.size else other
        denominator = math.lcm(self.denominator, other.denominator)
        if not any_step and not _is_usual(denominator):
            return None
        is_single = self.is_single or other.is_single
        if self.is_single != other.is_single:
            double = other if self.is_single else self
            if not _fits_single(double.multiples, double.denominator):
                return None
        strides = [denominator // each.denominator for each in (self, other)]
        firsts = [each.lowest * stride for each, stride in zip((self, other), strides, strict=True)]
        sizes = [
            (each.counts.size - 1) * stride + 1
            for each, stride in zip((self, other), strides, strict=True)
        ]
        lowest = min(firsts)
        highest = max(first + size for first, size in zip(firsts, sizes, strict=True))
        if highest - lowest > MOST_COUNTS:
            return None
        counts = np.zeros(highest - lowest, dtype=np.int64)
        for each, first, stride, size in zip((self, other), firsts, strides, sizes, strict=True):
            counts[first - lowest :][:size:stride] += each.counts
        return CountedSteps(denominator, lowest, counts, is_single)

    @classmethod
    def of_multiples(cls, values: FloatArray, denominator: int) -> CountedSteps | None:
        """The counts of numbers that are known to be multiples of 1/D, up to rounding.

        None if they lie too far apart.

        Examples
        --------
        >>> CountedSteps.of_multiples(np.array([0.1 + 0.2, 0.1]), 10).multiples
        array([1, 3])
        """
        if not values.size:
            return NO_STEPS
        low, high = float(values.min()), float(values.max())
        if (high - low) * denominator >= MOST_COUNTS or abs(low) * denominator >= _LARGEST_STEP:
            return None
        lowest = round(low * denominator)
        counts = np.zeros(round(high * denominator) - lowest + 1, dtype=np.int64)
        for start in range(0, values.size, BLOCK):
            steps = values[start : start + BLOCK] * float(denominator)
            np.rint(steps, out=steps)
            steps -= lowest
            counts += np.bincount(steps.astype(np.intp), minlength=counts.size)
        return in_coarsest_steps(denominator, lowest, counts, is_single=False)

    def negated(self) -> CountedSteps:
        """The counts of the same numbers with their signs reversed."""
        lowest = -(self.lowest + self.counts.size - 1)
        return CountedSteps(self.denominator, lowest, self.counts[::-1], self.is_single)

    @lock_free_property
    def n(self) -> int:
        """The number of scores."""
        return int(self.counts.sum())

    @property
    def multiples(self) -> IntArray:
        """The multiples that occur, in steps and in ascending order."""
        return np.asarray(np.flatnonzero(self.counts) + self.lowest, dtype=np.int64)

    @property
    def distinct(self) -> FloatArray:
        """The scores that occur, in ascending order."""
        return _numbers(self.multiples, self.denominator, self.is_single)

    @property
    def multiplicities(self) -> IntArray:
        """How often each of the scores that occur does."""
        return self.counts[self.counts > 0]

    @property
    def minimum(self) -> float:
        """The smallest score; NaN without scores."""
        return self._number(self.lowest)

    @property
    def maximum(self) -> float:
        """The largest score; NaN without scores."""
        return self._number(self.lowest + self.counts.size - 1)

    @property
    def is_binary(self) -> bool:
        """Whether there are scores, and each is 0 or 1."""
        return self.n > 0 and self.denominator == 1 and {self.minimum, self.maximum} <= {0.0, 1.0}

    @property
    def mean(self) -> float:
        """The mean of the scores, rounded once; NaN without scores."""
        n = self.n
        if not n:
            return math.nan
        if self.is_single:
            return self.total() / n
        return self.sum_of_steps() / (self.denominator * n)

    def total(self) -> float:
        """The sum of the scores, rounded once."""
        if self.is_single:
            return math.fsum((self.distinct * self.multiplicities).tolist())
        return self.sum_of_steps() / self.denominator

    @property
    def standard_deviation(self) -> float:
        """The standard deviation with denominator n - 1, rounded once; NaN for one score."""
        n = self.n
        if n < 2:
            return math.nan
        if self.is_single:
            squares = np.square(self.distinct - self.mean) * self.multiplicities
            return math.sqrt(math.fsum(squares.tolist()) / (n - 1))
        first, second = (self._sum_of_places(power) for power in (1, 2))
        return math.sqrt((n * second - first**2) / (n * (n - 1) * self.denominator**2))

    def at_ranks(self, ranks: npt.NDArray[np.integer[Any]]) -> FloatArray:
        """The scores at these places of the sorted scores, counted from 0.

        Examples
        --------
        >>> CountedSteps.of(np.array([0.5, 1.0, 0.75, 0.5])).at_ranks(np.array([1, 2]))
        array([0.5 , 0.75])
        """
        places = np.searchsorted(np.cumsum(self.counts), ranks, side="right")
        return _numbers(places + self.lowest, self.denominator, self.is_single)

    def _number(self, multiple: int) -> float:
        if not self.counts.size:
            return math.nan
        number = multiple / self.denominator
        return float(np.float32(number)) if self.is_single else number

    def sum_of_steps(self) -> int:
        """The sum of the scores, in steps."""
        return self.lowest * self.n + self._sum_of_places(1)

    def _sum_of_places(self, power: int) -> int:
        """The sum of a power of the steps above the least multiple: a whole number of any size."""
        places = np.arange(self.counts.size, dtype=np.int64) ** power
        if int(places[-1]) * self.n < _LARGEST_INTEGER:
            return int((places * self.counts).sum())
        return sum(map(int.__mul__, places.tolist(), self.counts.tolist()))


NO_STEPS = CountedSteps(1, 0, np.zeros(0, dtype=np.int64))


def mean_difference(baseline: CountedSteps, candidate: CountedSteps) -> float:
    """The mean of as many scores less the mean of others, rounded only once in double precision.

    Examples
    --------
    >>> tenths = [CountedSteps.of(np.array(scores)) for scores in ([0.1, 0.2], [0.3, 0.3])]
    >>> mean_difference(*tenths)
    0.15
    """
    if baseline.is_single or candidate.is_single:
        return (candidate.total() - baseline.total()) / baseline.n
    gained = candidate.sum_of_steps() * baseline.denominator
    lost = baseline.sum_of_steps() * candidate.denominator
    return (gained - lost) / (baseline.denominator * candidate.denominator * baseline.n)


def _is_usual(denominator: int) -> bool:
    """Whether a step is a multiple of one of the usual steps."""
    return any(usual % denominator == 0 for usual in STEPS_PER_ONE)


def _fits_single(multiples: IntArray, denominator: int) -> bool:
    """Whether single and double precision have the same numbers for these multiples."""
    numbers = multiples / denominator
    return bool((numbers.astype(np.float32) == numbers).all())


def _numbers(multiples: IntArray, denominator: int, is_single: bool) -> FloatArray:
    numbers = multiples / denominator
    if is_single:
        return numbers.astype(np.float32).astype(np.float64)
    return np.asarray(numbers, dtype=np.float64)


def _count_whole_numbers(values: Scores) -> CountedSteps | None:
    """The counts of whole numbers; None if they are not, or have to be counted block by block.

    Their step of 1 is the first that `StepRuler` would try, after several looks at them.
    """
    if values.dtype != np.float64 or values.size > BLOCK or not float(values[-1]).is_integer():
        return None
    low, high = float(values.min()), float(values.max())
    if not (high - low < MOST_COUNTS and max(-low, high) < _LARGEST_STEP):
        return None
    places = values.astype(np.intp)
    if not (places == values).all():
        return None
    lowest = int(low)
    return in_coarsest_steps(1, lowest, np.bincount(places - lowest), is_single=False)


def _some_step_fits(scores: Scores) -> BoolArray:
    """Whether a usual step may fit all scores of each row, up to single precision."""
    wide = scores.astype(np.float64)[..., np.newaxis]
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = np.rint(wide * _DENOMINATORS) / _DENOMINATORS
        fits = np.abs(numbers - wide) <= _SINGLE_ROUNDING * np.abs(wide)
    return np.asarray(fits.all(axis=-2).any(axis=-1))


def columns_may_have_steps(columns: Sequence[Scores]) -> list[bool]:
    """Whether some usual step may fit each column of finite scores; False is certain.

    The first look that `CountedSteps.of` takes, at all columns at once.

    Examples
    --------
    >>> columns_may_have_steps([np.array([0.5, 1.0]), np.array([0.1234567, 0.5, 0.25])])
    [True, False]
    """
    # Zero is a multiple of any step, and stands for what a shorter column does not have.
    glances = np.zeros((len(columns), _FIRST_LOOK))
    for glance, column in zip(glances, columns, strict=True):
        some = column[:: 1 + column.size // _SAMPLE][:_FIRST_LOOK]
        glance[: some.size] = some
    fits: list[bool] = _some_step_fits(glances).tolist()
    return fits


def steps_may_fit(scores: Scores, parts: Sequence[slice]) -> list[bool]:
    """Whether some usual step may fit each part of a column; False is certain.

    The first look that `CountedSteps.of` takes, at all parts at once.

    Parameters
    ----------
    scores : ndarray
        A column of finite scores.
    parts : sequence of slice
        Parts of it, each of at least one score.

    Examples
    --------
    >>> steps_may_fit(np.array([0.5, 1.0, 0.1234567, 0.7654321]), [slice(0, 2), slice(2, 4)])
    [True, False]
    """
    starts = np.array([part.start for part in parts], dtype=np.intp)
    sizes = np.array([part.stop for part in parts], dtype=np.intp) - starts
    # Of a shorter part its last score is looked at more than once.
    strides = (1 + sizes // _SAMPLE)[:, np.newaxis]
    places = np.minimum(strides * np.arange(_FIRST_LOOK), (sizes - 1)[:, np.newaxis])
    fits: list[bool] = _some_step_fits(scores[starts[:, np.newaxis] + places]).tolist()
    return fits


def _fitting_steps(sample: Scores, ends: FloatArray) -> Iterator[tuple[int, bool]]:
    """The usual steps that fit some of the scores: in double, then in single precision."""
    if not np.isfinite(ends).all():
        return
    scores = np.append(sample, ends).astype(np.float64)[:, np.newaxis]
    low, high = ends.min(), ends.max()
    with np.errstate(over="ignore", invalid="ignore"):
        is_narrow = ((high - low) * _DENOMINATORS < MOST_COUNTS) & (
            max(-low, high) * _DENOMINATORS < _LARGEST_STEP
        )
        numbers = np.rint(scores * _DENOMINATORS) / _DENOMINATORS
        is_single = sample.dtype == np.float32 or bool((scores.astype(np.float32) == scores).all())
        fits_single = np.zeros_like(is_narrow)
        if is_single:
            fits_single = (numbers.astype(np.float32) == scores).all(axis=0) & is_narrow
    if sample.dtype != np.float32:
        for place in np.flatnonzero((numbers == scores).all(axis=0) & is_narrow).tolist():
            yield STEPS_PER_ONE[place], False
    for place in np.flatnonzero(fits_single).tolist():
        yield STEPS_PER_ONE[place], True


def in_coarsest_steps(
    denominator: int, lowest: int, counts: IntArray, is_single: bool
) -> CountedSteps:
    """Counts of multiples of 1/D, the first of which occurs, with D as small as they allow."""
    multiples = np.flatnonzero(counts) + lowest
    divisor = math.gcd(denominator, int(np.gcd.reduce(multiples)))
    is_single = is_single and not _fits_single(multiples, denominator)
    return CountedSteps(denominator // divisor, lowest // divisor, counts[::divisor], is_single)


@dataclass(frozen=True, slots=True, eq=False)
class StepRuler:
    """The multiples of 1/D between two scores, on which other scores are looked up.

    Parameters
    ----------
    denominator : int
        D, one of the usual ones.
    lowest : int
        The least multiple, in steps.
    size : int
        The number of multiples from the least to the largest.
    is_single : bool
        As in `CountedSteps`.

    Examples
    --------
    >>> ruler = next(StepRuler.fitting(np.array([0.5, 1.0, 0.75, 0.5])))
    >>> ruler.denominator, ruler.lowest, ruler.count(np.array([0.5, 1.0]))
    (4, 2, array([1, 0, 1]))
    """

    denominator: int
    lowest: int
    size: int
    is_single: bool

    @classmethod
    def fitting(cls, values: Scores) -> Iterator[StepRuler]:
        """Rulers that fit some of at least one finite score, the coarsest first."""
        sample = values[:: 1 + values.size // _SAMPLE]
        # A glance at so few before the ends, for which all scores are read.
        if not _some_step_fits(sample[:_FIRST_LOOK]):
            return
        ends = np.array([values.min(), values.max()], dtype=np.float64)
        for denominator, is_single in _fitting_steps(sample, ends):
            lowest, highest = (round(float(end) * denominator) for end in ends)
            yield cls(denominator, lowest, highest - lowest + 1, is_single)

    def place(self, block: Scores, places: IndexArray, steps: FloatArray) -> bool:
        """Write the place of each score among the multiples.

        Parameters
        ----------
        block : ndarray
            Scores between the ends of the ruler.
        places : ndarray of int
            The places are written here, counted from 0.
        steps : ndarray
            Overwritten.

        Returns
        -------
        bool
            False if a score is not the nearest float to a multiple.
        """
        if self.denominator == 1:
            np.rint(block, out=steps, dtype=np.float64)
        else:
            np.multiply(block, float(self.denominator), out=steps, dtype=np.float64)
            np.rint(steps, out=steps)
        if self.lowest:
            steps -= self.lowest
        places[:] = steps
        if self.lowest:
            steps += self.lowest
        if self.denominator != 1:
            steps /= self.denominator
        numbers = steps.astype(np.float32) if self.is_single else steps
        return bool((numbers == block).all())

    def count(self, values: Scores) -> IntArray | None:
        """How often each multiple occurs; None if a score is not one of them."""
        counts = np.zeros(self.size, dtype=np.int64)
        steps = np.empty(min(values.size, BLOCK))
        places = np.empty(steps.size, dtype=np.intp)
        for start in range(0, values.size, BLOCK):
            block = values[start : start + BLOCK]
            place = places[: block.size]
            if not self.place(block, place, steps[: block.size]):
                return None
            add_counts(counts, place)
        return counts

    @property
    def is_certain(self) -> bool:
        """Whether no coarser step has the same doubles: not for numbers so large that some meet."""
        return not self.is_single and abs(self.lowest) + self.size < _MOST_CERTAIN

    def in_coarsest_steps(self, counts: IntArray) -> CountedSteps:
        """Counts of these multiples, at least one of which occurs, with D as small as can be."""
        occupied = np.flatnonzero(counts)
        first, last = int(occupied[0]), int(occupied[-1])
        counts = counts[first : last + 1]
        return in_coarsest_steps(self.denominator, self.lowest + first, counts, self.is_single)


def add_counts(counts: IntArray, places: IndexArray) -> None:
    """Count the places, in an array that has counts already."""
    if counts.size < places.size // 8:
        counts += np.bincount(places, minlength=counts.size)
    else:
        # A bincount would make another array as large for every block.
        np.add.at(counts, places, 1)
