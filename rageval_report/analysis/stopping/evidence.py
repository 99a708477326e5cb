"""Claims about a mean, and the evidence for them after each query."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rageval_report.stats.base import TIE_TOLERANCE, Alternative, Interval
from rageval_report.stats.pairs import paired_interval
from rageval_report.stats.sequential import (
    SizeBets,
    asymptotic_evalues,
    asymptotic_sequence,
    mean_evalues,
    mean_sequence,
)
from rageval_report.stats.sign_flips import sign_flip_pvalue
from rageval_report.types import BoolArray, FloatArray

# The first looks of O'Brien and Fleming have levels that no interval needs to show.
_SMALLEST_LEVEL = 1e-9


@dataclass(frozen=True, eq=False)
class MeanClaim:
    """A statement about a mean that the scores can show.

    Parameters
    ----------
    values : ndarray of shape (n_queries,)
        Scores, or paired differences, in the order in which the queries were asked; NaN where
        unscored.
    bounds : tuple of float, optional
        The smallest and the largest possible value; None if there is none.
    limit : float
        What the mean must differ from.
    alternative : {"greater", "less", "two-sided"}
        The side on which the mean must lie.
    n_planned : int
        The number of queries that can be asked.
    share : float
        The part of alpha that the claim may use: 1/2 for one side of a two-sided statement.
    effect : float, optional
        The distance from the limit that is expected, in the unit of the values.
    """

    values: FloatArray
    bounds: tuple[float, float] | None
    limit: float
    alternative: Alternative
    n_planned: int
    share: float = 1.0
    effect: float | None = None

    @property
    def is_scored(self) -> BoolArray:
        """A mask of the queries that have a value."""
        return ~np.isnan(self.values)

    @property
    def n(self) -> int:
        """The number of queries that have a value."""
        return int(self.is_scored.sum())

    def bets(self) -> SizeBets:
        """The stakes: for the expected effect, or for the number of queries that can be asked."""
        if self.effect is None or self.bounds is None:
            return SizeBets.up_to(self.n_planned)
        return SizeBets.for_effect(self.effect / (self.bounds[1] - self.bounds[0]))

    def evalues(self, alpha: float) -> FloatArray:
        """The e-value after each query, times the share; enough at 1 / alpha.

        A query without a value leaves it as it was. Values without bounds have asymptotic e-values,
        which are 0 before the first look and two-sided in themselves, so that no share is taken.

        Parameters
        ----------
        alpha : float
            The error rate of the evaluation.
        """
        if self.bounds is None:
            scored = asymptotic_evalues(
                self.values,
                self.limit,
                alternative=self.alternative,
                planned_n=self.n_planned,
                alpha=alpha,
            )
        else:
            scored = self.share * mean_evalues(
                self.values,
                self.limit,
                bounds=self.bounds,
                alternative=self.alternative,
                bets=self.bets(),
                alpha=self._two_sided(alpha),
            )
        latest: FloatArray = np.concatenate(([0.0], scored))[np.cumsum(self.is_scored)]
        return latest

    def sequence(self, alpha: float) -> Interval:
        """The interval whose limit passes `limit` as soon as the e-value is enough.

        Parameters
        ----------
        alpha : float
            The error rate of the evaluation.
        """
        level = 1.0 - self._two_sided(alpha)
        if self.bounds is None:
            return asymptotic_sequence(
                self.values, planned_n=self.n_planned, confidence_level=level
            )
        return mean_sequence(
            self.values, bounds=self.bounds, bets=self.bets(), confidence_level=level
        )

    def _two_sided(self, alpha: float) -> float:
        """The error rate of an interval with two limits, one of which is what the claim needs."""
        if self.bounds is None or self.alternative == "two-sided":
            return alpha
        return min(0.5, 2.0 * self.share * alpha)

    def pvalue(self, n_queries: int) -> float:
        """The p-value of the sign-flip test that the mean is the limit; 1 without a value.

        Parameters
        ----------
        n_queries : int
            The number of queries, from the first one asked, that are looked at.
        """
        scored = self.values[:n_queries]
        moved = scored[~np.isnan(scored)] - self.limit
        # A value that equals the limit up to rounding carries no information.
        moved[np.abs(moved) <= TIE_TOLERANCE * max(1.0, abs(self.limit))] = 0.0
        return sign_flip_pvalue(moved, alternative=self.alternative) if moved.size else 1.0

    def interval_at_look(self, level: float) -> Interval:
        """The inversion of the sign-flip test at the level of a look.

        Parameters
        ----------
        level : float
            The largest p-value that shows the claim at this look.
        """
        scored = self.values[self.is_scored]
        two_sided = level if self.alternative == "two-sided" else 2.0 * level
        confidence_level = 1.0 - min(0.5, max(two_sided, _SMALLEST_LEVEL))
        if not scored.size:
            nothing = (math.nan, math.nan, math.nan, math.nan)
            return Interval(*nothing, "sign-flip", confidence_level)
        return paired_interval(
            np.zeros_like(scored), scored, method="sign-flip", confidence_level=confidence_level
        )
