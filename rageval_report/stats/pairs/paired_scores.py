"""Two pipelines' scores of the same queries, with what several statistics need of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats.base import Alternative, paired_values, without_noise
from rageval_report.stats.magnitudes import unit_of
from rageval_report.stats.means.moments import (
    Moments,
    mean_off_steps,
    moments_of_steps,
    moments_off_steps,
)
from rageval_report.stats.means.score_bins import CountedScores
from rageval_report.stats.pairs.discordant import DiscordantPairs, count_discordant, is_binary
from rageval_report.stats.pairs.spread import (
    standard_deviation,
    tie_magnitudes,
    tolerance_of,
)
from rageval_report.stats.sign_flips.large_samples import LargeSample
from rageval_report.stats.sign_flips.lattice import (
    MOST_STEPS,
    LatticeCounts,
    count_lattice,
    count_lattices,
    lattice_of_counts,
    lattice_step,
)
from rageval_report.stats.sign_flips.sign_tail import MOST_AT_ONCE
from rageval_report.stats.states.counted_steps import (
    CountedSteps,
    StepRuler,
    count_columns,
    count_multiples_of,
    count_rows,
    ends_of_rows,
    mean_difference,
)
from rageval_report.stats.states.power_sums import PowerSums
from rageval_report.stats.threads import lock_free_property
from rageval_report.types import FloatArray, IntArray

SideRulers: TypeAlias = tuple[StepRuler | None, StepRuler | None]
NO_RULERS: SideRulers = (None, None)
# Numbers in a matrix of several samples: three such matrices stay in the second-level cache.
_MOST_NUMBERS = 2**15


@dataclass(frozen=True, eq=False)
class PairedScores:
    """Complete pairs of scores: what each paired test, interval and effect size takes.

    What is derived from the scores is computed on first use and kept, because a comparison asks a
    test, an interval and several effect sizes about the same pairs.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        One finite score per query, both sides in the same order.
    sizes : ndarray of shape (n,), optional
        The number of queries behind each pair, if the pairs are clusters of queries, as
        `rageval_report.stats.units.Units.collapse` makes them; one each if omitted.
    rulers : (StepRuler, StepRuler), optional
        For each side what fits the column of which its scores are a part.

    Examples
    --------
    >>> pairs = PairedScores.of([1, 2, float("nan"), 4], [2, 2, 3, 3])
    >>> pairs.n, pairs.differences, pairs.step
    (3, array([ 1.,  0., -1.]), 1.0)
    >>> pairs.n_positive, pairs.n_negative, pairs.n_changed, pairs.mean, pairs.ends
    (1, 1, 2, 0.0, (-1.0, 1.0))
    >>> pairs.unit, pairs.in_units is pairs, pairs.are_equal_bits, pairs.is_binary, pairs.weights
    (1.0, True, False, False, None)
    >>> pairs.largest, pairs.side_ends, pairs.side_means
    (4.0, ((1.0, 4.0), (2.0, 3.0)), (2.3333333333333335, 2.3333333333333335))
    >>> pairs.values, pairs.standard_deviation, pairs.moments.maximum, pairs.counted.counts
    (array([ 1.,  0., -1.]), 1.0, 1.0, array([1., 1., 1.]))
    >>> [steps.denominator for steps in pairs.side_steps], [m.mean for m in pairs.side_moments]
    ([1, 1], [2.3333333333333335, 2.3333333333333335])
    >>> pairs.lattice.values, pairs.sums, pairs.tolerance < 1e-9
    (array([-1.,  0.,  1.]), None, True)
    >>> pairs.sign_flip_pvalues, pairs.sign_flip_limits
    ({}, {})
    """

    baseline: FloatArray
    candidate: FloatArray
    sizes: FloatArray | None = None
    rulers: SideRulers = NO_RULERS

    @classmethod
    def of(cls, baseline: npt.ArrayLike, candidate: npt.ArrayLike) -> Self:
        """The pairs in which both scores are present.

        Raises
        ------
        DataError
            If no query has a score on both sides, the sides differ in length, or a score is
            infinite.

        Examples
        --------
        >>> PairedScores.of([0.5, 1.0, float("nan")], [1.0, 1.0, 0.5]).n
        2
        """
        pairs = cls(*paired_values(baseline, candidate))
        if not pairs.n:
            raise DataError(
                "no query has a score on both sides; check that both pipelines scored the same "
                "queries"
            )
        return pairs

    @classmethod
    def of_columns(
        cls,
        baseline: FloatArray,
        candidate: FloatArray,
        side_steps: tuple[CountedSteps | None, CountedSteps | None],
        moved: FloatArray | None = None,
    ) -> Self:
        """Complete pairs whose `side_steps` are known, as each column of a table is in many pairs.

        Parameters
        ----------
        baseline, candidate : ndarray
            The scores of both sides.
        side_steps : (CountedSteps or None, CountedSteps or None)
            What `side_steps` gives.
        moved : ndarray, optional
            Candidate minus baseline; its rounding noise is set to zero in place.

        Examples
        --------
        >>> columns = np.array([0.5, 1.0]), np.array([1.0, 1.0])
        >>> PairedScores.of_columns(*columns, tuple(map(CountedSteps.of, columns))).mean
        0.25
        """
        pairs = cls(baseline, candidate)
        pairs.__dict__["side_steps"] = side_steps
        if moved is not None:
            pairs.__dict__["differences"] = without_noise(moved, pairs.largest)
        return pairs

    @classmethod
    def of_clusters(cls, sums: FloatArray, sizes: FloatArray) -> Self:
        """One pair per cluster, from the sums of the differences of its queries.

        Parameters
        ----------
        sums : ndarray of shape (n_clusters,)
            The sum of the differences of each cluster.
        sizes : ndarray of float64
            The number of its queries.

        Examples
        --------
        >>> PairedScores.of_clusters(np.array([0.5, 0.25]), np.array([2.0, 1.0])).mean
        0.25
        """
        scaled = sums * (sizes.size / sizes.sum()) if sizes.size else sums
        return cls(np.zeros_like(scaled), scaled, sizes)

    def swapped(self) -> Self:
        """The same pairs with the sides exchanged.

        Examples
        --------
        >>> PairedScores.of([0.5, 1.0], [1.0, 1.0]).swapped().mean
        -0.25
        """
        return type(self)(self.candidate, self.baseline, self.sizes)

    @lock_free_property
    def unit(self) -> float:
        """The power of two by which very large scores are divided before they are squared.

        1.0 as a rule, and for small scores: differences below 1e-12 are rounding.
        """
        return max(1.0, unit_of(self.largest))

    @property
    def largest(self) -> float:
        """The largest magnitude of a score; 0 without scores."""
        return max((max(high, -low) for low, high in self.side_ends), default=0.0)

    @lock_free_property
    def side_ends(self) -> tuple[tuple[float, float], ...]:
        """The least and the largest score of either side; nothing without scores."""
        sides = self.baseline, self.candidate
        return tuple((float(side.min()), float(side.max())) for side in sides if side.size)

    @lock_free_property
    def in_units(self) -> Self:
        """The same pairs divided by `unit`."""
        if self.unit == 1.0:
            return self
        sides = self.baseline / self.unit, self.candidate / self.unit
        return type(self)(*sides, self.sizes)

    @property
    def n(self) -> int:
        """The number of pairs."""
        return int(self.baseline.size)

    @lock_free_property
    def differences(self) -> FloatArray:
        """Candidate minus baseline, with rounding noise set to exactly zero."""
        return without_noise(self.candidate - self.baseline, self.largest)

    @lock_free_property
    def n_positive(self) -> int:
        """The number of pairs in which the candidate's score is larger."""
        return int(np.count_nonzero(self.differences > 0))

    @lock_free_property
    def n_negative(self) -> int:
        """The number of pairs in which the candidate's score is smaller."""
        return int(np.count_nonzero(self.differences < 0))

    @property
    def n_changed(self) -> int:
        """The number of pairs whose scores differ."""
        return self.n_positive + self.n_negative

    @lock_free_property
    def side_steps(self) -> tuple[CountedSteps | None, CountedSteps | None]:
        """The scores of each side as counts of multiples of 1/D; None if they are no such ones."""
        before, after = self.rulers
        return CountedSteps.of(self.baseline, before), CountedSteps.of(self.candidate, after)

    @lock_free_property
    def side_moments(self) -> tuple[Moments, Moments]:
        """Number, mean, spread and extremes of each side."""
        sides = zip((self.baseline, self.candidate), self.side_steps, strict=True)
        before, after = (
            moments_off_steps(side) if steps is None else moments_of_steps(steps)
            for side, steps in sides
        )
        return before, after

    @lock_free_property
    def side_means(self) -> tuple[float, float]:
        """The mean of each side, without the other `side_moments`; NaN without scores."""
        if not self.n:
            return math.nan, math.nan
        sides = zip((self.baseline, self.candidate), self.side_steps, self.side_ends, strict=True)
        before, after = (
            mean_off_steps(side, ends) if steps is None else steps.mean
            for side, steps, ends in sides
        )
        return before, after

    @property
    def are_equal_bits(self) -> bool:
        """Whether both sides have the same scores to the last bit."""
        return np.array_equal(self.baseline, self.candidate)

    @lock_free_property
    def mean(self) -> float:
        """The mean difference.

        If both sides are on a lattice it is rounded only once, so no order of the rows moves it.
        """
        if self.sizes is None:
            before, after = self.side_steps
            if before is not None and after is not None:
                return mean_difference(before, after)
        return float(self.differences.mean())

    @lock_free_property
    def is_binary(self) -> bool:
        """Whether every score of both sides is 0 or 1; sums over clusters are not such scores."""
        return self.sizes is None and is_binary(self.baseline, self.candidate)

    @lock_free_property
    def weights(self) -> FloatArray | None:
        """How much of a shift of every query each pair takes; None if all take the shift itself.

        One on average: a cluster of more queries than the others is moved farther.
        """
        if self.sizes is None or (self.sizes == self.sizes[0]).all():
            return None
        return np.asarray(self.sizes / self.sizes.mean())

    @lock_free_property
    def values(self) -> FloatArray:
        """The differences, made to vary around the mean difference as if all pairs weighed alike.

        The same as `differences` without weights. With them a shift of every query shifts each
        value by as much, and the values of a constant shift are equal.
        """
        if self.weights is None:
            return self.differences
        # Rounded only once, so that no order of the clusters moves a value.
        mean = math.fsum(self.differences.tolist()) / self.n
        values = self.differences - mean * (self.weights - 1.0)
        # What is left of equal differences is rounding.
        return np.where(np.abs(values - mean) <= self.tolerance, mean, values)

    @lock_free_property
    def standard_deviation(self) -> float:
        """The standard deviation of `values`: 0 if only rounding separates them, NaN for one."""
        if self.lattice is not None and self.lattice.counts.size > 1:
            return self.lattice.standard_deviation
        return standard_deviation(self.values, self.tolerance)

    @property
    def counted(self) -> FloatArray | CountedScores:
        """The differences, or on a lattice how often each of them occurs."""
        if self.lattice is None:
            return self.differences
        counts = self.lattice.multiplicities.astype(np.float64)
        return CountedScores(self.lattice.values, counts)

    @property
    def moments(self) -> Moments:
        """Number, mean, spread and extremes of `values`."""
        low, high = self.ends
        return Moments(self.n, self.mean, self.standard_deviation, low, high, is_binary=False)

    @lock_free_property
    def ends(self) -> tuple[float, float]:
        """The least and the largest of `values`."""
        return float(self.values.min()), float(self.values.max())

    @lock_free_property
    def lattice(self) -> LatticeCounts | None:
        """The differences as counts of multiples of a step.

        None if they are not on a lattice, or are those of clusters.
        """
        if self.sizes is not None:
            return None
        before, after = self.side_steps
        if before is not None and after is not None:
            denominator = math.lcm(before.denominator, after.denominator)
            steps = CountedSteps.of_multiples(self.differences, denominator)
            if steps is not None:
                return lattice_of_steps(steps)
        return count_lattice(self.differences)

    @property
    def sums(self) -> PowerSums | None:
        """The differences as sums of powers, where they are no longer known one by one; None."""
        return None

    @lock_free_property
    def step(self) -> float | None:
        """The step of which all differences are multiples; None if they are not on a lattice."""
        if self.sizes is None:
            return None if self.lattice is None else self.lattice.step
        # The sums themselves lie on the lattice of the scores, on which rounding is least.
        scale = 1.0 / float(self.sizes.mean())
        step = lattice_step(self.differences / scale)
        return None if step is None else step * scale

    @lock_free_property
    def large_sample(self) -> LargeSample | None:
        """Many differences as sums of powers, for the sign-flip test; None of few or of clusters.

        None also where a test needs the differences one by one, as some dominate the others.

        Examples
        --------
        >>> few = PairedScores(np.array([0.25, 0.5]), np.array([0.5, 0.25]))
        >>> print(few.large_sample)
        None
        """
        if self.n <= MOST_AT_ONCE or self.sizes is not None or self.unit != 1.0:
            return None
        if self.lattice is not None:
            counts = self.lattice.multiplicities.astype(np.float64)
            return LargeSample.of(self.lattice.values, counts, self.lattice.step)
        if self.sums is not None:
            return LargeSample.of_sums(self.sums)
        return LargeSample.of(self.differences, None, None)

    @lock_free_property
    def tolerance(self) -> float:
        """The difference up to which two scores of this size count as equal."""
        return tolerance_of(self.largest)

    @lock_free_property
    def sign_flip_pvalues(self) -> dict[tuple[Alternative, bool], float]:
        """The p-values of sign-flip tests, by alternative and whether ties count half.

        A test and the interval that must agree with it need the same one; empty at first.
        """
        return {}

    @lock_free_property
    def sign_flip_limits(self) -> dict[float, tuple[float, float]]:
        """The limits of the inverted sign-flip test by confidence level, if they are known.

        `rageval_report.stats.sign_flips.together` computes those of many samples at once.
        """
        return {}

    def tied_differences(self) -> FloatArray:
        """The differences in some order; magnitudes are equal if only rounding separates them.

        Examples
        --------
        >>> PairedScores.of([0.3, 0.5], [0.1 + 0.2 + 0.1, 0.4]).tied_differences()
        array([-0.1,  0.1])
        """
        if self.lattice is not None:
            return np.repeat(self.lattice.values, self.lattice.multiplicities)
        return tie_magnitudes(self.differences, self.tolerance)

    def stressed(self, *, is_loss: bool) -> PairedScores:
        """The same pairs and one more, whose difference is as large as the largest of them.

        Examples
        --------
        >>> PairedScores.of([0.5, 0.5], [0.75, 0.5]).stressed(is_loss=True).differences
        array([ 0.25,  0.  , -0.25])
        """
        before, after = self.baseline, self.candidate
        worst = int(np.abs(after - before).argmax())
        extra = sorted((before[worst], after[worst]), reverse=is_loss)
        sizes = None if self.sizes is None else np.append(self.sizes, self.sizes[worst])
        return PairedScores(np.append(before, extra[0]), np.append(after, extra[1]), sizes)

    def losses_of(self, size: float, *, either_sign: bool = False) -> tuple[int, float]:
        """The number of pairs that lose at least as much, and the mean difference of the others.

        Of clusters, those that lose as much on average. The mean is 0 if there are no others. With
        `either_sign` every difference counts as a loss of its size.

        Examples
        --------
        >>> PairedScores.of([0.5, 0.5, 1.0], [0.75, 0.5, 0.0]).losses_of(1.0)
        (1, 0.125)
        """
        if self.weights is None and not either_sign and self.n:
            low, _ = self.ends
            if low > -size + self.tolerance:
                return 0, self.mean
        weights = 1.0 if self.weights is None else self.weights
        differences = -np.abs(self.differences) if either_sign else self.differences
        is_loss = differences <= (-size + self.tolerance) * weights
        n_losses = int(np.count_nonzero(is_loss))
        if n_losses == self.n:
            return n_losses, 0.0
        others = differences[~is_loss] if n_losses else differences
        weight = others.size if self.weights is None else self.weights[~is_loss].sum()
        return n_losses, float(others.sum() / weight)

    def count_discordant(self, method: str) -> DiscordantPairs:
        """The counts of the paired two-by-two table, for a method that needs scores of 0 and 1.

        Raises
        ------
        DataError
            If a score is neither 0 nor 1, or the pairs are clusters; the message names the method.

        Examples
        --------
        >>> counts = PairedScores.of([0, 0, 1, 1], [1, 1, 0, 1]).count_discordant("mcnemar")
        >>> counts.discordant, counts.difference
        (3, 0.25)
        """
        if self.sizes is not None:
            raise DataError(
                f"{method!r} needs independent queries, and these are clustered. Choose a method "
                "for clusters, e.g. 'sign-flip' or 't'."
            )
        return count_discordant(self.baseline, self.candidate, method)


def keep_steps(samples: Sequence[PairedScores]) -> None:
    """Look for the steps of many samples at once, and keep what is known of them.

    Most of the time that a short sample takes is spent on calls of NumPy; ten samples of one length
    need about as many as one.

    Parameters
    ----------
    samples : sequence of PairedScores
        Each keeps its `side_steps`, and its `lattice` where that takes less time together.

    Examples
    --------
    >>> pairs = PairedScores.of(np.zeros(60), np.sin(np.arange(60.0)) + 0.2)
    >>> keep_steps([pairs])
    >>> pairs.side_steps[1] is None, pairs.step is None
    (True, True)
    """
    unknown = [
        pairs
        for pairs in samples
        if type(pairs) is PairedScores and pairs.n and pairs.sizes is None
    ]
    for group in _of_one_length([pairs for pairs in unknown if "side_steps" not in vars(pairs)]):
        if len(group) > 1:
            _keep_sides(group)
    _keep_lone_steps([pairs for pairs in unknown if "side_steps" not in vars(pairs)])
    _keep_lattices([pairs for pairs in unknown if "lattice" not in vars(pairs)])


def _of_one_length(samples: Sequence[PairedScores]) -> Iterator[list[PairedScores]]:
    """Samples of as many pairs each, no more of them than a small matrix holds."""
    alike: dict[int, list[PairedScores]] = {}
    for pairs in samples:
        alike.setdefault(pairs.n, []).append(pairs)
    for n, group in alike.items():
        most = max(1, _MOST_NUMBERS // n)
        for start in range(0, len(group), most):
            yield group[start : start + most]


def _rows_of(columns: Sequence[FloatArray]) -> FloatArray:
    """Columns of one length as the rows of a matrix."""
    if len(columns) == 1:
        return columns[0][np.newaxis]
    return np.concatenate(columns).reshape(len(columns), -1)


def _keep_sides(samples: Sequence[PairedScores]) -> None:
    """Keep what is known of both sides, and the differences, of samples of as many pairs each."""
    size = len(samples)
    sides = _rows_of([*(each.baseline for each in samples), *(each.candidate for each in samples)])
    ends = ends_of_rows(sides)
    largest = np.abs(ends).max(axis=1)
    moved = without_noise(
        sides[size:] - sides[:size], np.maximum(largest[:size], largest[size:])[:, np.newaxis]
    )
    known, far = (list(map(_as_pair, each.tolist())) for each in (ends, ends_of_rows(moved)))
    steps = count_rows(sides, ends)
    for place, pairs in enumerate(samples):
        vars(pairs)["side_ends"] = known[place], known[size + place]
        vars(pairs)["side_steps"] = steps[place], steps[size + place]
        vars(pairs)["differences"], vars(pairs)["ends"] = moved[place], far[place]


def _as_pair(ends: list[float]) -> tuple[float, float]:
    low, high = ends
    return low, high


def _keep_lone_steps(samples: Sequence[PairedScores]) -> None:
    """Keep the `side_steps` of samples of which no two have as many pairs."""
    some = [pairs for pairs in samples if pairs.rulers == NO_RULERS]
    steps = iter(count_columns([side for each in some for side in (each.baseline, each.candidate)]))
    for pairs in some:
        vars(pairs)["side_steps"] = next(steps), next(steps)


def _keep_lattices(samples: Sequence[PairedScores]) -> None:
    """Keep the `lattice` of samples that are off all lattices, or of which others are as long."""
    on_steps = [pairs for pairs in samples if None not in pairs.side_steps]
    for group in _of_one_length(on_steps):
        if len(group) > 1:
            _keep_counted_lattices(group)
    scattered = [pairs for pairs in samples if None in pairs.side_steps]
    tops = [max(pairs.ends[1], -pairs.ends[0]) for pairs in scattered]
    lattices = count_lattices([pairs.differences for pairs in scattered], tops)
    for pairs, lattice in zip(scattered, lattices, strict=True):
        vars(pairs)["lattice"] = lattice


def _keep_counted_lattices(samples: Sequence[PairedScores]) -> None:
    """Keep the `lattice` of samples of as many pairs each, both sides of which are on steps."""
    denominators = [
        math.lcm(*(steps.denominator for steps in pairs.side_steps if steps is not None))
        for pairs in samples
    ]
    rows = _rows_of([pairs.differences for pairs in samples])
    counted = count_multiples_of(rows, denominators, np.array([each.ends for each in samples]))
    for pairs, denominator, each in zip(samples, denominators, counted, strict=True):
        if each is not None:
            vars(pairs)["lattice"] = _lattice_on(denominator, *each)


def lattice_of_steps(steps: CountedSteps) -> LatticeCounts | None:
    """The lattice of differences in its largest step; None if that is too fine for sums to tie.

    Examples
    --------
    >>> lattice_of_steps(CountedSteps.of(np.array([0.2, 0.4, 0.4]))).step
    0.2
    """
    return _lattice_on(steps.denominator, steps.lowest, steps.counts)


def _lattice_on(denominator: int, lowest: int, counts: IntArray) -> LatticeCounts | None:
    """The lattice of multiples of 1/D in its largest step; None if that is too fine."""
    lattice = lattice_of_counts(lowest, counts, 1.0, float(denominator))
    if lattice is None:
        return None
    highest = lattice.lowest + lattice.counts.size - 1
    return lattice if max(-lattice.lowest, highest) <= MOST_STEPS else None
