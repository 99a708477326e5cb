"""Scores that are multiples of 1/D, as counts: nothing is lost, and counts are added.

Shares of right answers, ratings, hits and decimals of up to four digits are such scores. Each is
checked to be the float that is nearest to k/D, in double or in single precision, so that the counts
give every score back. What is computed from counts does not depend on the order of the scores.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
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
        return _count_by_rulers(values, StepRuler.fitting(values))

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


def _sample_of(rows: Scores) -> Scores:
    """Some scores of a column, or of each row of many columns."""
    return rows[..., :: 1 + rows.shape[-1] // _SAMPLE]


def _some_step_fits(scores: Scores) -> BoolArray:
    """Whether a usual step may fit all scores of each row, up to single precision."""
    wide = scores.astype(np.float64)
    misfits = _nearest_multiples(wide)
    with np.errstate(over="ignore", invalid="ignore"):
        misfits -= wide[..., np.newaxis]
        np.abs(misfits, out=misfits)
        fits = misfits <= (_SINGLE_ROUNDING * np.abs(wide))[..., np.newaxis]
    return np.asarray(fits.all(axis=-2).any(axis=-1))


def count_columns(columns: Sequence[Scores]) -> list[CountedSteps | None]:
    """`CountedSteps.of` of many columns of any lengths, after one glance at all of them.

    Most scores off all lattices show it at a glance, which takes as long for one column as for ten.

    Parameters
    ----------
    columns : sequence of ndarray
        Finite scores, at least one per column.

    Examples
    --------
    >>> counted = count_columns([np.array([0.5, 1.0]), np.array([2.0]), np.array([0.1234567])])
    >>> [None if steps is None else steps.denominator for steps in counted]
    [2, 1, None]
    """
    # Zero is a multiple of any step, and stands for what a shorter column does not have.
    glances = np.zeros((len(columns), _FIRST_LOOK))
    for glance, column in zip(glances, columns, strict=True):
        some = _sample_of(column)[:_FIRST_LOOK]
        glance[: some.size] = some
    may_fit = _some_step_fits(glances).tolist()
    return [
        CountedSteps.of(column) if may else None
        for column, may in zip(columns, may_fit, strict=True)
    ]


def count_rows(rows: Scores, ends: FloatArray | None = None) -> list[CountedSteps | None]:
    """`CountedSteps.of` of many columns of one length, as the rows of a matrix.

    Most of the time that a short column takes is spent on calls of NumPy, of which many columns
    need as many together as each of them alone.

    Parameters
    ----------
    rows : ndarray of shape (n_columns, n)
        Finite scores, at least one per column.
    ends : ndarray of shape (n_columns, 2), optional
        What `ends_of_rows` gives, if it is known.

    Examples
    --------
    >>> counted = count_rows(np.array([[0.5, 1.0], [2.0, 3.0], [0.1234567, 0.0]]))
    >>> [None if steps is None else steps.denominator for steps in counted]
    [2, 1, None]
    """
    if rows.shape[1] > BLOCK:  # block by block, so that all arrays stay in the cache
        return [_count_by_rulers(row, StepRuler.fitting(row)) for row in rows]
    counted: list[CountedSteps | None] = [None] * len(rows)
    glances = _sample_of(rows)[:, :_FIRST_LOOK]
    is_whole = (np.rint(glances) == glances).all(axis=1)
    # Whole numbers are multiples of all usual steps.
    may_fit = is_whole if is_whole.all() else _some_step_fits(glances)
    if not may_fit.any():
        return counted
    if ends is None:
        ends = ends_of_rows(rows)
    # Larger ones are not counted, or not all integers are doubles.
    is_whole &= _are_narrow(ends, _DENOMINATORS[:1])[:, 0]
    whole, others = np.flatnonzero(is_whole), np.flatnonzero(may_fit & ~is_whole)
    for place, steps in zip(whole.tolist(), _count_whole(rows, whole, ends), strict=True):
        counted[place] = steps
    for place, steps in zip(others.tolist(), _count_fractions(rows, others, ends), strict=True):
        counted[place] = steps
    return counted


def _count_whole(rows: Scores, chosen: IntArray, ends: FloatArray) -> list[CountedSteps | None]:
    """`CountedSteps.of` of the chosen rows, in a sample of which all scores are whole numbers."""
    if not chosen.size:
        return []
    # No copy is made of all rows: memory that is not in the cache yet costs more than the work.
    some = rows if chosen.size == len(rows) else rows[chosen]
    integers = some.astype(np.int64)
    is_whole = (integers == some).all(axis=1).tolist()
    lows, highs = ends[chosen].T.astype(np.int64).tolist()
    counts = _count_integers(integers, lows, highs)
    return [
        CountedSteps(1, low, each) if whole else _count_by_rulers(row, StepRuler.fitting(row))
        for row, whole, low, each in zip(some, is_whole, lows, counts, strict=True)
    ]


def _count_integers(rows: IntArray, lows: Sequence[int], highs: Sequence[int]) -> list[IntArray]:
    """How often each integer between two ends occurs in each row; the rows are changed."""
    sizes = [high - low + 1 for low, high in zip(lows, highs, strict=True)]
    stops = list(itertools.accumulate(sizes))
    # Each row is counted in a part of the table of its own.
    moves = [stop - size - low for stop, size, low in zip(stops, sizes, lows, strict=True)]
    rows += np.array(moves, dtype=np.int64)[:, np.newaxis]
    table = np.bincount(rows.ravel(), minlength=stops[-1])
    return [table[stop - size : stop] for stop, size in zip(stops, sizes, strict=True)]


def ends_of_rows(rows: Scores) -> FloatArray:
    """The least and the largest score of each row.

    Examples
    --------
    >>> ends_of_rows(np.array([[0.5, 1.0], [2.0, 0.0]]))
    array([[0.5, 1. ],
           [0. , 2. ]])
    """
    ends = np.empty((len(rows), 2))
    ends[:, 0], ends[:, 1] = rows.min(axis=1), rows.max(axis=1)
    return ends


def _count_fractions(rows: Scores, chosen: IntArray, ends: FloatArray) -> list[CountedSteps | None]:
    """`CountedSteps.of` of the chosen rows."""
    if not chosen.size:
        return []
    some = rows if chosen.size == len(rows) else rows[chosen]
    tried = _rulers_of_rows(some, ends[chosen])
    counted: list[CountedSteps | None] = [None] * len(some)
    first = {place: ruler for place, rulers in enumerate(tried) if (ruler := next(rulers, None))}
    if not first:
        return counted
    fitting = some if len(first) == len(some) else some[list(first)]
    counts = _count_on(fitting, list(first.values()))
    for (place, ruler), each in zip(first.items(), counts, strict=True):
        if each is None:  # a score that is not in the sample is not on these steps
            counted[place] = _count_by_rulers(some[place], tried[place])
        else:
            counted[place] = in_coarsest_steps(
                ruler.denominator, ruler.lowest, each, ruler.is_single
            )
    return counted


def _count_on(rows: Scores, rulers: Sequence[StepRuler]) -> list[IntArray | None]:
    """`StepRuler.count` of each row on a ruler of its own."""
    denominators = np.array([[float(ruler.denominator)] for ruler in rulers])
    steps = np.multiply(rows, denominators, dtype=np.float64)
    integers = np.rint(steps, out=steps).astype(np.int64)
    numbers = np.divide(steps, denominators, out=steps)
    is_single = [ruler.is_single for ruler in rulers]
    if any(is_single):
        numbers[is_single] = numbers[is_single].astype(np.float32)
    fits = (numbers == rows).all(axis=1).tolist()
    lows = [ruler.lowest for ruler in rulers]
    highs = [ruler.lowest + ruler.size - 1 for ruler in rulers]
    counts = _count_integers(integers, lows, highs)
    return [each if fit else None for each, fit in zip(counts, fits, strict=True)]


def _count_by_rulers(values: Scores, rulers: Iterable[StepRuler]) -> CountedSteps | None:
    """The counts on the first of some rulers that fits; None if none does."""
    for ruler in rulers:
        counts = ruler.count(values)
        if counts is not None:
            return ruler.in_coarsest_steps(counts)
    return None


def count_multiples_of(
    rows: FloatArray, denominators: Sequence[int], ends: FloatArray | None = None
) -> list[tuple[int, IntArray] | None]:
    """How often each multiple of 1/D occurs in rows of such multiples, up to rounding.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n)
        At least one number per row.
    denominators : sequence of int
        The D of each row.
    ends : ndarray of shape (n_rows, 2), optional
        What `ends_of_rows` gives, if it is known.

    Returns
    -------
    list
        For each row its least multiple, in steps, and the counts from that on; None if its
        multiples lie too far apart, or from zero.

    Examples
    --------
    >>> count_multiples_of(np.array([[0.1 + 0.2, 0.1], [1e9, 0.0]]), [10, 1])
    [(1, array([1, 0, 1])), None]
    """
    counted: list[tuple[int, IntArray] | None] = [None] * len(rows)
    steps_per_one = np.array(denominators, dtype=np.float64)[:, np.newaxis]
    if ends is None:
        ends = ends_of_rows(rows)
    with np.errstate(over="ignore"):
        is_narrow = (ends[:, 1] - ends[:, 0]) * steps_per_one[:, 0] < MOST_COUNTS
        is_narrow &= np.abs(ends[:, 0]) * steps_per_one[:, 0] < _LARGEST_STEP
    places = np.flatnonzero(is_narrow).tolist()
    if not places:
        return counted
    if len(places) < len(rows):
        rows, steps_per_one, ends = rows[places], steps_per_one[places], ends[places]
    lows, highs = np.rint(ends * steps_per_one).T.astype(np.int64).tolist()
    block = max(1, BLOCK // len(rows))
    counts: list[IntArray] = []
    for start in range(0, rows.shape[1], block):
        steps = rows[:, start : start + block] * steps_per_one
        some = _count_integers(np.rint(steps, out=steps).astype(np.int64), lows, highs)
        counts = list(map(np.add, counts, some)) if counts else some
    for place, low, each in zip(places, lows, counts, strict=True):
        counted[place] = low, each
    return counted


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


def _are_narrow(ends: FloatArray, denominators: FloatArray) -> BoolArray:
    """Whether the multiples of each step between the ends of each row can be counted."""
    low, high = ends[:, :1], ends[:, 1:]
    with np.errstate(over="ignore", invalid="ignore"):
        is_narrow = (high - low) * denominators < MOST_COUNTS
        is_narrow &= np.maximum(-low, high) * denominators < _LARGEST_STEP
    return np.asarray(is_narrow)


def _rulers_of_rows(rows: Scores, ends: FloatArray) -> list[Iterator[StepRuler]]:
    """For each row the rulers that fit some of its scores: in double, then in single precision."""
    if not len(rows):
        return []
    scores = np.concatenate((_sample_of(rows), ends), axis=1, dtype=np.float64)
    if rows.dtype == np.float32:
        fits = np.zeros((len(rows), _DENOMINATORS.size), dtype=bool)
    else:
        fits = _are_narrow(ends, _DENOMINATORS)
        fits &= (_nearest_multiples(scores) == scores[..., np.newaxis]).all(axis=1)
    return [_rulers_of_row(*each) for each in zip(scores, ends, fits, strict=True)]


def _rulers_of_row(scores: FloatArray, ends: FloatArray, fits: BoolArray) -> Iterator[StepRuler]:
    """The rulers of the steps that fit in double precision, which are known, and in single."""
    for place in np.flatnonzero(fits).tolist():
        yield StepRuler.between(ends, STEPS_PER_ONE[place], is_single=False)
    is_narrow = _are_narrow(ends[np.newaxis], _DENOMINATORS)[0]
    if not is_narrow.any():
        return
    singles = scores.astype(np.float32)
    if (singles == scores).all():
        numbers = _nearest_multiples(scores).astype(np.float32)
        fits = (numbers == singles[:, np.newaxis]).all(axis=0) & is_narrow
        for place in np.flatnonzero(fits).tolist():
            yield StepRuler.between(ends, STEPS_PER_ONE[place], is_single=True)


def _nearest_multiples(scores: FloatArray) -> FloatArray:
    """The multiple of each usual step that is nearest to each score, as one more axis."""
    with np.errstate(over="ignore", invalid="ignore"):
        numbers = scores[..., np.newaxis] * _DENOMINATORS
        np.rint(numbers, out=numbers)
        numbers /= _DENOMINATORS
    return np.asarray(numbers)


def in_coarsest_steps(
    denominator: int, lowest: int, counts: IntArray, is_single: bool
) -> CountedSteps:
    """Counts of multiples of 1/D, the first of which occurs, with D as small as they allow."""
    if denominator == 1 and not is_single:
        return CountedSteps(1, lowest, counts)
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
        # A glance at so few before the ends, for which all scores are read.
        if _some_step_fits(_sample_of(values)[:_FIRST_LOOK]):
            rows = values[np.newaxis]
            yield from _rulers_of_rows(rows, ends_of_rows(rows))[0]

    @classmethod
    def between(cls, ends: FloatArray, denominator: int, *, is_single: bool) -> StepRuler:
        """The multiples of 1/D from the least to the largest score.

        Examples
        --------
        >>> StepRuler.between(np.array([0.5, 1.5]), 2, is_single=False).size
        3
        """
        lowest, highest = (round(end * denominator) for end in ends.tolist())
        return cls(denominator, lowest, highest - lowest + 1, is_single)

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
