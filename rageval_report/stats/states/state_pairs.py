"""Paired differences that are known by counts or sums, for the functions that serve memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rageval_report.errors import DataError
from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.means.moments import Moments
from rageval_report.stats.means.score_bins import MOST_LISTED, CountedScores
from rageval_report.stats.pairs.discordant import DiscordantPairs
from rageval_report.stats.pairs.paired_scores import PairedScores, lattice_of_steps
from rageval_report.stats.sign_flips.lattice import LatticeCounts
from rageval_report.stats.states.column_state import DIFFERENCES, ColumnState
from rageval_report.stats.states.counted_steps import CountedSteps, mean_difference
from rageval_report.stats.states.moments_of_state import moments_of_state
from rageval_report.stats.states.power_sums import ORDER_OF_SIGNS, PowerSums
from rageval_report.stats.threads import lock_free_property
from rageval_report.types import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class PairSummary:
    """What is known of many complete pairs.

    Parameters
    ----------
    baseline, candidate : ColumnState
        The scores of each side.
    differences : ColumnState
        Candidate minus baseline.
    n_positive, n_negative : int
        The number of pairs in which the candidate's score is larger, smaller.
    n_other_bits : int
        The number of pairs whose scores are not equal to the last bit.
    n_lowest, n_highest : int
        The number of pairs with the least, with the largest difference.
    """

    baseline: ColumnState
    candidate: ColumnState
    differences: ColumnState
    n_positive: int
    n_negative: int
    n_other_bits: int
    n_lowest: int
    n_highest: int

    def __add__(self, other: PairSummary) -> PairSummary:
        """What is known of both."""
        (low, high), (other_low, other_high) = self.ends, other.ends
        return PairSummary(
            self.baseline + other.baseline,
            self.candidate + other.candidate,
            self.differences + other.differences,
            self.n_positive + other.n_positive,
            self.n_negative + other.n_negative,
            self.n_other_bits + other.n_other_bits,
            (low <= other_low) * self.n_lowest + (other_low <= low) * other.n_lowest,
            (high >= other_high) * self.n_highest + (other_high >= high) * other.n_highest,
        )

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest difference."""
        state = self.differences
        if state.values is not None:
            return float(state.values.min()), float(state.values.max())
        part = state.steps or state.summed()
        return part.minimum, part.maximum

    @property
    def nbytes(self) -> int:
        """The memory of the arrays, in bytes."""
        return self.baseline.nbytes + self.candidate.nbytes + self.differences.nbytes


class StatePairs(PairedScores):
    """Complete pairs of which only counts or sums are known.

    What `PairedScores` computes from the scores is here computed from the counts, by the same
    functions. Methods that need the scores themselves get the differences while they are known, and
    raise `DataError` otherwise.

    Parameters
    ----------
    summary : PairSummary
        What is known.
    """

    def __init__(self, summary: PairSummary):
        object.__setattr__(self, "summary", summary)

    summary: PairSummary

    @property
    def baseline(self) -> FloatArray:
        """Raises `DataError`: the scores of a side are not known one by one."""
        raise _not_in_memory()

    @property
    def candidate(self) -> FloatArray:
        """Raises `DataError`: the scores of a side are not known one by one."""
        raise _not_in_memory()

    @property
    def n(self) -> int:
        """The number of pairs."""
        return self.summary.differences.n

    @property
    def unit(self) -> float:
        """1.0: very large scores have no state."""
        return 1.0

    @property
    def in_units(self) -> StatePairs:
        """The same pairs."""
        return self

    def swapped(self) -> StatePairs:
        """The same pairs with the sides exchanged."""
        known = self.summary
        return StatePairs(
            PairSummary(
                known.candidate,
                known.baseline,
                _negated(known.differences),
                known.n_negative,
                known.n_positive,
                known.n_other_bits,
                known.n_highest,
                known.n_lowest,
            )
        )

    @lock_free_property
    def differences(self) -> FloatArray:
        """The differences one by one, in ascending order if only their counts are known."""
        return self.summary.differences.listed()

    @property
    def n_positive(self) -> int:
        """The number of pairs in which the candidate's score is larger."""
        return self.summary.n_positive

    @property
    def n_negative(self) -> int:
        """The number of pairs in which the candidate's score is smaller."""
        return self.summary.n_negative

    @property
    def side_steps(self) -> tuple[CountedSteps | None, CountedSteps | None]:
        """The scores of each side as counts of multiples of 1/D; None if they are no such ones."""
        return self.summary.baseline.steps, self.summary.candidate.steps

    @lock_free_property
    def side_moments(self) -> tuple[Moments, Moments]:
        """Number, mean, spread and extremes of each side."""
        return moments_of_state(self.summary.baseline), moments_of_state(self.summary.candidate)

    @property
    def are_equal_bits(self) -> bool:
        """Whether both sides have the same scores to the last bit."""
        return self.summary.n_other_bits == 0

    @lock_free_property
    def side_means(self) -> tuple[float, float]:
        """The mean of each side."""
        sides = self.summary.baseline, self.summary.candidate
        before, after = (
            moments_of_state(side).mean if side.steps is None else side.steps.mean for side in sides
        )
        return before, after

    @lock_free_property
    def side_ends(self) -> tuple[tuple[float, float], ...]:
        """The least and the largest score of either side."""
        if None not in self.side_steps:
            known = [steps for steps in self.side_steps if steps is not None]
            return tuple((steps.minimum, steps.maximum) for steps in known)
        return tuple((side.minimum, side.maximum) for side in self.side_moments)

    @lock_free_property
    def is_binary(self) -> bool:
        """Whether every score of both sides is 0 or 1."""
        before, after = self.side_steps
        if before is not None and after is not None:
            return before.is_binary and after.is_binary
        return all(side.is_binary for side in self.side_moments)

    @lock_free_property
    def tolerance(self) -> float:
        """The difference up to which two scores of this size count as equal."""
        return TIE_TOLERANCE * max(1.0, self.largest)

    @lock_free_property
    def mean(self) -> float:
        """The mean difference."""
        before, after = self.side_steps
        if before is not None and after is not None:
            return mean_difference(before, after)
        known = self.summary
        if known.differences.steps is not None:
            # The steps are rounded; what the sides add up to is not.
            return (known.candidate.total - known.baseline.total) / self.n
        return moments_of_state(known.differences).mean

    @lock_free_property
    def ends(self) -> tuple[float, float]:
        """The least and the largest difference."""
        return self.summary.ends

    @lock_free_property
    def standard_deviation(self) -> float:
        """The standard deviation: 0 if only rounding separates the differences, NaN for one."""
        low, high = self.ends
        if self.n > 1 and high - low <= 2.0 * self.tolerance:
            return 0.0
        if self.lattice is not None:
            return self.lattice.standard_deviation
        return moments_of_state(self.summary.differences).std

    @lock_free_property
    def lattice(self) -> LatticeCounts | None:
        """The differences as counts of multiples of a step; None if they are not on a lattice."""
        differences = self.summary.differences
        if differences.steps is not None:
            return lattice_of_steps(differences.steps)
        return None if differences.values is None else super().lattice

    @lock_free_property
    def sums(self) -> PowerSums | None:
        """The differences as sums of powers, where neither counts nor values are of use."""
        is_needed = self.lattice is None and self.summary.differences.values is None
        return self.summary.differences.summed().raised(ORDER_OF_SIGNS) if is_needed else None

    @property
    def counted(self) -> FloatArray | CountedScores:
        """The differences, or numbers with counts."""
        if self.lattice is not None or self.summary.differences.values is not None:
            return super().counted
        return self.summary.differences.counted()

    def tied_differences(self) -> FloatArray:
        """The differences in some order; magnitudes are equal if only rounding separates them."""
        if self.lattice is not None and self.n > MOST_LISTED:
            raise _not_in_memory()
        return super().tied_differences()

    def stressed(self, *, is_loss: bool) -> StatePairs:
        """The same pairs and one more, whose difference is as large as the largest of them."""
        known = self.summary
        low, high = self.ends
        extra = math.copysign(max(-low, high), -1.0 if is_loss else 1.0)
        one_more = np.array([extra])
        steps = known.differences.steps
        state = ColumnState.off_lattice(one_more, DIFFERENCES)
        if steps is not None:
            counted = CountedSteps.of_multiples(one_more, steps.denominator)
            state = ColumnState(DIFFERENCES, steps=counted)
        return StatePairs(
            replace(
                known,
                differences=known.differences + state,
                n_positive=known.n_positive + (not is_loss),
                n_negative=known.n_negative + is_loss,
            )
        )

    def losses_of(self, size: float, *, either_sign: bool = False) -> tuple[int, float]:
        """The number of pairs that lose at least as much, and the mean difference of the others."""
        if self.lattice is None and self.summary.differences.values is not None:
            return super().losses_of(size, either_sign=either_sign)
        limit, (low, high) = -size + self.tolerance, self.ends
        if low > limit and not either_sign:
            return 0, self.mean
        counted = self.counted
        if not isinstance(counted, CountedScores):
            raise _not_in_memory()
        scores = -np.abs(counted.scores) if either_sign else counted.scores
        is_loss = scores <= limit
        n_losses = round(float(counted.counts[is_loss].sum()))
        if not counted.is_exact and limit <= max(low, -high) + self.tolerance:
            # Bins do not say how many differences are as large as the largest one.
            n_losses = (low <= limit) * self.summary.n_lowest
            n_losses += (either_sign and -high <= limit) * self.summary.n_highest
        if n_losses == self.n:
            return n_losses, 0.0
        total = float((scores * counted.counts)[~is_loss].sum())
        return n_losses, total / (self.n - n_losses)

    def count_discordant(self, method: str) -> DiscordantPairs:
        """The counts of the paired two-by-two table, for a method that needs scores of 0 and 1."""
        if not self.is_binary:
            for name, side in zip(("baseline", "candidate"), self.side_moments, strict=True):
                if side.is_binary:
                    continue
                raise DataError(
                    f"{method!r} needs scores of 0 and 1 on both sides; the {name} has scores from "
                    f"{side.minimum:g} to {side.maximum:g}. Choose a method for any scores, e.g. "
                    "'sign-flip' or 't'."
                )
        sides = self.summary.baseline, self.summary.candidate
        right_before, right_after = (
            round(mean * side.n) for mean, side in zip(self.side_means, sides, strict=True)
        )
        # One more pair of `stressed` is discordant, and is not among the sides.
        wins, losses = self.n_positive, self.n_negative
        both = max(right_before - losses, right_after - wins)
        return DiscordantPairs(self.n, wins, losses, both)


def _not_in_memory() -> DataError:
    return DataError(
        "this method needs every score in memory, and of this scan only counts and sums are known; "
        "choose another one, or bring the scores into memory with .collect()"
    )


def _negated(state: ColumnState) -> ColumnState:
    """The same values with their signs reversed."""
    if state.values is not None:
        return replace(state, values=-state.values)
    if state.steps is not None:
        return replace(state, steps=state.steps.negated())
    return replace(state, sums=state.summed().negated())
