"""The queries, or clusters, that a difference of a metric needs, and the power of those there are.

The units that are counted are queries, or clusters of them if the assumptions have clusters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rageval_report.analysis.planning.assumptions import Assumptions
from rageval_report.stats.planning import PlannedTest, binary_queries_needed, mcnemar_power


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

    def units(self, correlation: float | None = None) -> float:
        """The units that show the difference; NaN if none or more than ten million do.

        Parameters
        ----------
        correlation : float, optional
            Another correlation than the assumed one.
        """
        known = self.known if correlation is None else self.known.with_correlation(correlation)
        if known.clusters is not None or not known.is_binary:
            test = self._test(known)
            if test is None:
                return math.nan
            return test.needed(self.difference, self.power, alpha=self.alpha)
        shares = known.discordant(self.difference)
        if shares is None or shares[0] == shares[1]:
            return math.nan
        return binary_queries_needed(*shares, self.power, alpha=self.alpha)

    def units_of_a_gate(self) -> float:
        """The units with which equal pipelines pass a gate with this margin.

        A gate has a test of its own, one-sided and without correction for other metrics.
        """
        known, variance = self.known, self.sd_difference**2
        test = PlannedTest(self.sd_difference)
        if known.clusters is not None:
            test = known.planned_clusters(known.clusters, variance)
        return test.needed_for_margin(self.difference, self.power)

    @property
    def units_now(self) -> float:
        """The units of the set; NaN without a set."""
        known = self.known
        if known.n is None:
            return math.nan
        return known.n if known.clusters is None else max(1, round(known.n / known.clusters.size))

    def power_now(self) -> float:
        """The probability that the units of the set show the difference; NaN without a set."""
        if self.known.n is None:
            return math.nan
        n = int(self.units_now)
        if n < 2:
            return 0.0
        if self.known.clusters is not None or not self.known.is_binary:
            test = self._test(self.known)
            return math.nan if test is None else test.power(self.difference, n, alpha=self.alpha)
        shares = self.known.discordant(self.difference)
        return math.nan if shares is None else mcnemar_power(*shares, n, alpha=self.alpha)

    def _test(self, known: Assumptions) -> PlannedTest | None:
        """The test of the differences; None if the mean can neither rise nor fall so much."""
        variance = known.sd_of_differences(self.repeats, self.judges) ** 2
        if known.clusters is None:
            return PlannedTest(math.sqrt(variance))
        if known.is_binary:
            shares = known.discordant(self.difference)
            if shares is None:
                return None
            # Of scores of 0 and 1 the variance follows from the shares that change.
            variance = sum(shares) - self.difference**2
        return known.planned_clusters(known.clusters, variance) if variance > 0.0 else None
