"""The queries that one difference of one metric needs, and the power of those there are."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from rageval_report.analysis.planning.assumptions import Assumptions
from rageval_report.errors import DataError
from rageval_report.stats.planning import mcnemar_power
from rageval_report.stats.queries_needed import (
    binary_queries_needed,
    non_inferiority_queries_needed,
    queries_needed,
    sign_flip_power,
)


@dataclass(frozen=True)
class Needs:
    """A difference to show, with the runs and judges of each query.

    Parameters
    ----------
    known : Assumptions
        What is known or assumed of the metric.
    difference : float
        The difference, above 0.
    repeats, judges : int
        Runs of each query and judges of each answer.
    alpha, power : float
        The level of the test, and the probability with which the difference should be shown.
    """

    known: Assumptions
    difference: float
    repeats: int
    judges: int
    alpha: float
    power: float

    @property
    def sd_difference(self) -> float:
        """The standard deviation of a query's difference."""
        return self.known.sd_of_differences(self.repeats, self.judges)

    def queries(self, correlation: float | None = None) -> float:
        """The queries that show the difference; NaN if none or more than ten million do.

        Parameters
        ----------
        correlation : float, optional
            Another correlation than the assumed one.
        """
        known = self.known if correlation is None else self.known.with_correlation(correlation)
        if known.is_binary:
            shares = known.discordant(self.difference)
            if shares is None:
                return math.nan
            return _or_nan(lambda: binary_queries_needed(*shares, self.power, alpha=self.alpha))
        sd = known.sd_of_differences(self.repeats, self.judges)
        return _or_nan(lambda: queries_needed(self.difference / sd, self.power, alpha=self.alpha))

    def queries_of_a_gate(self) -> float:
        """The queries with which equal pipelines pass a gate with this margin.

        A gate has a test of its own, one-sided and without correction for other metrics.
        """
        return _or_nan(
            lambda: non_inferiority_queries_needed(self.difference / self.sd_difference, self.power)
        )

    def power_now(self) -> float:
        """The probability that the queries of the set show the difference; NaN without a set."""
        n = self.known.n
        if n is None:
            return math.nan
        if n < 2:
            return 0.0
        if not self.known.is_binary:
            return sign_flip_power(self.difference / self.sd_difference, n, alpha=self.alpha)
        shares = self.known.discordant(self.difference)
        return math.nan if shares is None else mcnemar_power(*shares, n, alpha=self.alpha)


def _or_nan(count: Callable[[], int]) -> float:
    try:
        return count()
    except DataError:
        return math.nan
