"""Two pipelines' scores of the same queries, with what several statistics need of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats.base import Alternative, paired_differences, paired_values
from rageval_report.stats.magnitudes import unit_of
from rageval_report.stats.pairs.discordant import DiscordantPairs, count_discordant, is_binary
from rageval_report.stats.pairs.spread import rounding_tolerance, standard_deviation
from rageval_report.stats.sign_flips.lattice import lattice_step
from rageval_report.types import FloatArray


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

    Examples
    --------
    >>> pairs = PairedScores.of([1, 2, float("nan"), 4], [2, 2, 3, 3])
    >>> pairs.n, pairs.differences, pairs.step
    (3, array([ 1.,  0., -1.]), 1.0)
    """

    baseline: FloatArray
    candidate: FloatArray
    sizes: FloatArray | None = None

    @classmethod
    def of(cls, baseline: npt.ArrayLike, candidate: npt.ArrayLike) -> Self:
        """The pairs in which both scores are present.

        Raises
        ------
        DataError
            If no query has a score on both sides, the sides differ in length, or a score is
            infinite.
        """
        pairs = cls(*paired_values(baseline, candidate))
        if not pairs.n:
            raise DataError(
                "no query has a score on both sides; check that both pipelines scored the same "
                "queries"
            )
        return pairs

    def swapped(self) -> Self:
        """The same pairs with the sides exchanged."""
        return type(self)(self.candidate, self.baseline, self.sizes)

    @cached_property
    def unit(self) -> float:
        """The power of two by which very large scores are divided before they are squared.

        1.0 as a rule, and for small scores: differences below 1e-12 are rounding.
        """
        return max(1.0, unit_of(self.baseline, self.candidate))

    @cached_property
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

    @cached_property
    def differences(self) -> FloatArray:
        """Candidate minus baseline, with rounding noise set to exactly zero."""
        return paired_differences(self.baseline, self.candidate)

    @cached_property
    def is_binary(self) -> bool:
        """Whether every score of both sides is 0 or 1; sums over clusters are not such scores."""
        return self.sizes is None and is_binary(self.baseline, self.candidate)

    @cached_property
    def weights(self) -> FloatArray | None:
        """How much of a shift of every query each pair takes; None if all take the shift itself.

        One on average: a cluster of more queries than the others is moved farther.
        """
        if self.sizes is None or (self.sizes == self.sizes[0]).all():
            return None
        return np.asarray(self.sizes / self.sizes.mean())

    @cached_property
    def values(self) -> FloatArray:
        """The differences, made to vary around the mean difference as if all pairs weighed alike.

        The same as `differences` without weights. With them a shift of every query shifts each
        value by as much, and the values of a constant shift are equal.
        """
        if self.weights is None:
            return self.differences
        mean = float(self.differences.mean())
        values = self.differences - mean * (self.weights - 1.0)
        # What is left of equal differences is rounding.
        return np.where(np.abs(values - mean) <= self.tolerance, mean, values)

    @cached_property
    def standard_deviation(self) -> float:
        """The standard deviation of `values`: 0 if only rounding separates them, NaN for one."""
        return standard_deviation(self.values, self.tolerance)

    @cached_property
    def step(self) -> float | None:
        """The step of which all differences are multiples; None if they are not on a lattice."""
        if self.sizes is None:
            return lattice_step(self.differences)
        # The sums themselves lie on the lattice of the scores, on which rounding is least.
        scale = 1.0 / float(self.sizes.mean())
        step = lattice_step(self.differences / scale)
        return None if step is None else step * scale

    @cached_property
    def tolerance(self) -> float:
        """The difference up to which two scores of this size count as equal."""
        return rounding_tolerance(self.baseline, self.candidate)

    @cached_property
    def sign_flip_pvalues(self) -> dict[tuple[Alternative, bool], float]:
        """The p-values of sign-flip tests, by alternative and whether ties count half.

        A test and the interval that must agree with it need the same one; empty at first.
        """
        return {}

    def count_discordant(self, method: str) -> DiscordantPairs:
        """The counts of the paired two-by-two table, for a method that needs scores of 0 and 1.

        Raises
        ------
        DataError
            If a score is neither 0 nor 1, or the pairs are clusters; the message names the method.
        """
        if self.sizes is not None:
            raise DataError(
                f"{method!r} needs independent queries, and these are clustered. Choose a method "
                "for clusters, e.g. 'sign-flip' or 't'."
            )
        return count_discordant(self.baseline, self.candidate, method)
