"""The queries, or clusters, that a difference of a metric needs, and the power of those there are.

The units that are counted are queries, or clusters of them if the assumptions have clusters.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from rageval_report.analysis.planning.assumptions import Assumptions
from rageval_report.errors import DataError
from rageval_report.stats.clusters_needed import (
    ClusterVariance,
    cluster_power,
    clusters_needed,
    clusters_needed_of_non_inferiority,
)
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

    def units(self, correlation: float | None = None) -> float:
        """The units that show the difference; NaN if none or more than ten million do.

        Parameters
        ----------
        correlation : float, optional
            Another correlation than the assumed one.
        """
        known = self.known if correlation is None else self.known.with_correlation(correlation)
        if known.clusters is not None:
            clusters = self._in_clusters(known, known.clusters)
            if clusters is None:
                return math.nan
            return _or_nan(
                lambda: clusters_needed(self.difference, clusters, self.power, alpha=self.alpha)
            )
        if known.is_binary:
            shares = known.discordant(self.difference)
            if shares is None:
                return math.nan
            return _or_nan(lambda: binary_queries_needed(*shares, self.power, alpha=self.alpha))
        sd = known.sd_of_differences(self.repeats, self.judges)
        return _or_nan(lambda: queries_needed(self.difference / sd, self.power, alpha=self.alpha))

    def units_of_a_gate(self) -> float:
        """The units with which equal pipelines pass a gate with this margin.

        A gate has a test of its own, one-sided and without correction for other metrics.
        """
        if self.known.clusters is not None:
            clusters = self.known.in_clusters(self.known.clusters, self.sd_difference**2)
            return _or_nan(
                lambda: clusters_needed_of_non_inferiority(self.difference, clusters, self.power)
            )
        return _or_nan(
            lambda: non_inferiority_queries_needed(self.difference / self.sd_difference, self.power)
        )

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
        if self.known.clusters is not None:
            clusters = self._in_clusters(self.known, self.known.clusters)
            if clusters is None:
                return math.nan
            return cluster_power(self.difference, clusters, n, alpha=self.alpha)
        if not self.known.is_binary:
            return sign_flip_power(self.difference / self.sd_difference, n, alpha=self.alpha)
        shares = self.known.discordant(self.difference)
        return math.nan if shares is None else mcnemar_power(*shares, n, alpha=self.alpha)

    def _in_clusters(self, known: Assumptions, clusters: ClusterVariance) -> ClusterVariance | None:
        """How the differences vary in clusters; None if the mean can neither rise nor fall."""
        variance = known.sd_of_differences(self.repeats, self.judges) ** 2
        if known.is_binary:
            shares = known.discordant(self.difference)
            if shares is None:
                return None
            # Of scores of 0 and 1 the variance follows from the shares that change.
            variance = sum(shares) - self.difference**2
        return known.in_clusters(clusters, variance) if variance > 0.0 else None


def _or_nan(count: Callable[[], int]) -> float:
    try:
        return count()
    except DataError:
        return math.nan
