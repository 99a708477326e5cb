"""The scores of one metric of two runs: a state that any part of the pairs has, and that is added.

Few pairs are kept as they are. Of more pairs each side is counts of multiples of 1/D, or sums, and
so are the differences: every number of a comparison follows from these three.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.sign_flips.lattice import everyday_denominator
from rageval_report.stats.states.column_state import (
    DIFFERENCES,
    FEW_VALUES,
    SIDE_OF_PAIRS,
    ColumnState,
)
from rageval_report.stats.states.counted_steps import (
    BLOCK,
    NO_STEPS,
    CountedSteps,
    Scores,
    StepRuler,
)
from rageval_report.stats.states.metric_state import present_scores
from rageval_report.stats.states.paired_steps import count_paired_steps
from rageval_report.stats.states.state_pairs import PairSummary, StatePairs
from rageval_report.types import FloatArray

# So many differences show that a step does not fit.
_SAMPLE = 64


@dataclass(frozen=True, slots=True, eq=False)
class LoneScores:
    """The scores of queries that only one side scored, and the queries that neither scored.

    Parameters
    ----------
    baseline, candidate : ColumnState
        The scores of the queries that only the baseline, only the candidate scored.
    n_neither : int
        The number of queries without a score.
    """

    baseline: ColumnState
    candidate: ColumnState
    n_neither: int = 0

    @classmethod
    def of(cls, baseline: Scores, candidate: Scores) -> LoneScores:
        """The scores of queries that only one side scored.

        Examples
        --------
        >>> nan = float("nan")
        >>> lone = LoneScores.of(np.array([0.5, nan, nan]), np.array([nan, 1.0, nan]))
        >>> lone.baseline.n, lone.candidate.total, lone.n_neither
        (1, 1.0, 1)
        """
        no_before, no_after = np.isnan(baseline), np.isnan(candidate)
        return cls(
            ColumnState.of(baseline[no_after & ~no_before], SIDE_OF_PAIRS),
            ColumnState.of(candidate[no_before & ~no_after], SIDE_OF_PAIRS),
            int(np.count_nonzero(no_before & no_after)),
        )

    @property
    def n_no_baseline(self) -> int:
        """The number of queries that the baseline did not score."""
        return self.candidate.n + self.n_neither

    @property
    def n_no_candidate(self) -> int:
        """The number of queries that the candidate did not score."""
        return self.baseline.n + self.n_neither

    def __add__(self, other: LoneScores) -> LoneScores:
        """Those of both."""
        return LoneScores(
            self.baseline + other.baseline,
            self.candidate + other.candidate,
            self.n_neither + other.n_neither,
        )

    @property
    def n(self) -> int:
        """The number of queries that are left out of a comparison."""
        return self.baseline.n + self.candidate.n + self.n_neither


_NO_SCORES = ColumnState.of(np.zeros(0), SIDE_OF_PAIRS)
NO_LONE_SCORES = LoneScores(_NO_SCORES, _NO_SCORES)


@dataclass(frozen=True, slots=True, eq=False)
class PairState:
    """What a comparison shows of one metric of two runs, from any part of their common queries.

    Parameters
    ----------
    rows : (ndarray, ndarray), optional
        The scores of both sides, as long as they are few.
    summary : PairSummary, optional
        What is known of more pairs; None if there are `rows`.
    lone : LoneScores
        What only one side scored.

    Examples
    --------
    >>> first = PairState.of(np.array([0.0, 1.0]), np.array([1.0, np.nan]))
    >>> state = first + PairState.of(np.array([1.0]), np.array([1.0]))
    >>> state.n, state.n_dropped, state.pairs().mean
    (2, 1, 0.5)
    """

    rows: tuple[Scores, Scores] | None
    summary: PairSummary | None
    lone: LoneScores = NO_LONE_SCORES

    @classmethod
    def of(cls, baseline: npt.ArrayLike, candidate: npt.ArrayLike) -> PairState:
        """The state of a part of the common queries.

        Parameters
        ----------
        baseline, candidate : array-like of shape (n,)
            One score per query, both sides in the same order, in double or single precision; NaN is
            unscored.

        Raises
        ------
        DataError
            If the sides differ in length, or a score is infinite.
        """
        before, after = np.asarray(baseline), np.asarray(candidate)
        if before.shape != after.shape:
            raise DataError(
                "expected two arrays of equal length, one score per query in the same order; got "
                f"shapes {before.shape} and {after.shape}"
            )
        sides = present_scores(before), present_scores(after)
        lone = NO_LONE_SCORES
        if sides[0].size < before.size or sides[1].size < after.size:
            sides, lone = _split_complete(before, after)
        if sides[0].size <= FEW_VALUES:
            return cls(sides, None, lone)
        return cls(None, summarise_pairs(*sides), lone)

    def __add__(self, other: PairState) -> PairState:
        """The state of both parts."""
        lone = self.lone + other.lone
        if self.rows is not None and other.rows is not None:
            sides = [np.concatenate(parts) for parts in zip(self.rows, other.rows, strict=True)]
            if sides[0].size <= FEW_VALUES:
                return PairState((sides[0], sides[1]), None, lone)
            return PairState(None, summarise_pairs(*sides), lone)
        if not self.n or not other.n:
            full = self if self.n else other
            return PairState(full.rows, full.summary, lone)
        # A few differences are near multiples of some step by chance; many are not.
        known = self.summary or other.summary
        may_be_noisy = known is None or known.differences.steps is not None
        first, second = (each.summarised(may_be_noisy=may_be_noisy) for each in (self, other))
        return PairState(None, first + second, lone)

    @property
    def n(self) -> int:
        """The number of queries that both sides scored."""
        if self.rows is not None:
            return int(self.rows[0].size)
        return self.summarised().differences.n

    @property
    def n_dropped(self) -> int:
        """The number of queries that one side or both did not score."""
        return self.lone.n

    @property
    def nbytes(self) -> int:
        """The memory of the arrays, in bytes."""
        known = self.summary.nbytes if self.summary else 0
        known += sum(side.nbytes for side in self.rows) if self.rows else 0
        return known + self.lone.baseline.nbytes + self.lone.candidate.nbytes

    def pairs(self) -> PairedScores:
        """The complete pairs, as every test, interval and effect size takes them."""
        if self.rows is not None:
            before, after = (side.astype(np.float64, copy=False) for side in self.rows)
            return PairedScores(before, after)
        return StatePairs(self.summarised())

    def summarised(self, *, may_be_noisy: bool = True) -> PairSummary:
        """Counts or sums of the pairs, of which there is at least one.

        Parameters
        ----------
        may_be_noisy : bool
            As in `summarise_pairs`.
        """
        if self.summary is not None:
            return self.summary
        if self.rows is None:
            raise ValueError("a state has rows or a summary")
        return summarise_pairs(*self.rows, may_be_noisy=may_be_noisy)


def summarise_pairs(
    baseline: Scores, candidate: Scores, *, may_be_noisy: bool = True
) -> PairSummary:
    """What is known of complete pairs, of which there is at least one.

    Parameters
    ----------
    baseline, candidate : ndarray
        The scores of both sides.
    may_be_noisy : bool
        Whether differences that are multiples of a step but for a little noise are taken for such
        multiples.

    Examples
    --------
    >>> summarise_pairs(np.array([0.5, 0.25]), np.array([1.0, 0.25])).differences.steps.counts
    array([1, 1])
    """
    rulers = StepRuler.fitting(baseline), StepRuler.fitting(candidate)
    first, second = (next(each, None) for each in rulers)
    counted = None
    if first is not None and second is not None:
        chained = chain((first,), rulers[0]), chain((second,), rulers[1])
        counted = count_paired_steps(baseline, candidate, chained)
    if counted is not None:
        before, after, differences = counted
        return summary_of_steps(
            (ColumnState(SIDE_OF_PAIRS, steps=before), ColumnState(SIDE_OF_PAIRS, steps=after)),
            ColumnState(DIFFERENCES, steps=differences),
        )
    sides = _state_of_side(baseline, first), _state_of_side(candidate, second)
    values = _differences(baseline, candidate)
    state = _state_of_differences(values, sides[0].steps, sides[1].steps, may_be_noisy=may_be_noisy)
    if state.steps is not None:
        summary = summary_of_steps(sides, state)
        is_exact = all(side.steps is not None for side in sides)
    else:
        summary = _summary_of_values(sides, state, values)
        is_exact = False
    if is_exact or summary.n_other_bits == values.size:
        return summary
    return replace(summary, n_other_bits=int(np.count_nonzero(baseline != candidate)))


def _state_of_side(scores: Scores, ruler: StepRuler | None) -> ColumnState:
    """The scores of one side: sums if no ruler fits some of them."""
    if ruler is None:
        return ColumnState.off_lattice(scores, SIDE_OF_PAIRS)
    return ColumnState.of(scores, SIDE_OF_PAIRS)


def summary_of_steps(sides: tuple[ColumnState, ColumnState], state: ColumnState) -> PairSummary:
    """What is known of pairs whose differences are counts.

    Parameters
    ----------
    sides : (ColumnState, ColumnState)
        The scores of either side.
    state : ColumnState
        The differences, in steps.

    Examples
    --------
    >>> steps = CountedSteps.of(np.array([0.5, -0.5, 0.5]))
    >>> side = ColumnState.of(np.zeros(3), SIDE_OF_PAIRS)
    >>> summary_of_steps((side, side), ColumnState(DIFFERENCES, steps=steps)).n_positive
    2
    """
    steps = state.steps or NO_STEPS
    counts, zero = steps.counts, -steps.lowest
    n_negative = int(counts[: max(zero, 0)].sum())
    n_zero = int(counts[zero]) if 0 <= zero < counts.size else 0
    n_positive = steps.n - n_negative - n_zero
    ends = int(counts[0]), int(counts[-1])
    return PairSummary(*sides, state, n_positive, n_negative, n_positive + n_negative, *ends)


def _summary_of_values(
    sides: tuple[ColumnState, ColumnState], state: ColumnState, differences: FloatArray
) -> PairSummary:
    """Pairs whose differences are on no lattice."""
    n_positive = n_negative = n_lowest = n_highest = 0
    low, high = np.inf, -np.inf
    for start in range(0, differences.size, BLOCK):
        block = differences[start : start + BLOCK]
        n_positive += int(np.count_nonzero(block > 0))
        n_negative += int(np.count_nonzero(block < 0))
        least, largest = block.min(), block.max()
        # Few blocks have the least or the largest difference of all.
        if least <= low:
            n_lowest = (least == low) * n_lowest + int(np.count_nonzero(block == least))
            low = least
        if largest >= high:
            n_highest = (largest == high) * n_highest + int(np.count_nonzero(block == largest))
            high = largest
    n_moved = n_positive + n_negative
    return PairSummary(*sides, state, n_positive, n_negative, n_moved, n_lowest, n_highest)


def _split_complete(before: Scores, after: Scores) -> tuple[tuple[Scores, Scores], LoneScores]:
    """The complete pairs, and the scores of the others."""
    complete = ~(np.isnan(before) | np.isnan(after))
    return (before[complete], after[complete]), LoneScores.of(before, after)


def _differences(baseline: Scores, candidate: Scores) -> FloatArray:
    """Candidate minus baseline in double precision, without rounding noise.

    As `paired_differences`, in fewer passes: hardly any part has a difference near 0.
    """
    differences = np.empty(baseline.size)
    ends = (float(end) for side in (baseline, candidate) for end in (side.min(), side.max()))
    noise = TIE_TOLERANCE * max(1.0, *map(abs, ends))
    magnitudes = np.empty(min(baseline.size, BLOCK))
    for start in range(0, baseline.size, BLOCK):
        block = differences[start : start + BLOCK]
        after, before = (side[start : start + BLOCK] for side in (candidate, baseline))
        np.subtract(after, before, out=block, dtype=np.float64)
        is_noise = np.abs(block, out=magnitudes[: block.size]) <= noise
        if is_noise.any():
            block[is_noise] = 0.0
    return differences


def _state_of_differences(
    differences: FloatArray,
    before: CountedSteps | None,
    after: CountedSteps | None,
    *,
    may_be_noisy: bool,
) -> ColumnState:
    """Counts if both sides are on lattices, or the differences look as if they were; else sums."""
    if before is not None and after is not None:
        denominator = math.lcm(before.denominator, after.denominator)
    else:
        # As in memory: scores that were computed in different ways have a little noise.
        denominator = _everyday_denominator(differences) if may_be_noisy else 0
    steps = CountedSteps.of_multiples(differences, denominator) if denominator else None
    if steps is None:
        return ColumnState.off_lattice(differences, DIFFERENCES)
    return ColumnState(DIFFERENCES, steps=steps)


def _everyday_denominator(differences: FloatArray) -> int:
    """D if all differences are multiples of a usual step 1/D, up to noise; else 0."""
    # What does not fit the largest and some of the others does not fit all.
    largest = max(float(differences.max()), -float(differences.min()))
    some = np.append(np.abs(differences[:: 1 + differences.size // _SAMPLE]), largest)
    if everyday_denominator(some) is None:
        return 0
    return round(everyday_denominator(np.abs(differences)) or 0)
