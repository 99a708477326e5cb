"""What more queries would show, planned from paired differences that were measured.

The same laws as in `rageval_report.stats.queries_needed`, so that the smallest difference that n
queries show and the number of queries that a difference needs never contradict each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import scipy

from rageval_report.errors import DataError
from rageval_report.stats import TESTS
from rageval_report.stats._entries import PairedTest
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.planning import (
    mcnemar_power,
    minimum_detectable_difference,
    power,
    required_n,
)
from rageval_report.stats.queries_needed import (
    queries_needed,
    sign_flip_power,
    smallest_number,
)
from rageval_report.stats.root_search import bracketed_root
from rageval_report.stats.units import FEWEST_UNITS

# The probability with which a difference should be shown.
USUAL_POWER = 0.8
# From so many expected discordant pairs on, Connor's formula has the power of McNemar's mid-p test
# to 0.03 (against the exact sum, for shares of 0.02 to 1 and levels of 0.05 to 0.00025).
_MANY_DISCORDANT = 100.0
# In standard deviations; no score is farther away.
_LARGEST_EFFECT = 1e6


@dataclass(frozen=True)
class PilotDifferences:
    """How much paired differences vary, as measured, and the test that will be made of them.

    Parameters
    ----------
    sd : float
        The standard deviation of the differences of the units; 0 or NaN if nothing can be planned.
    changed : float
        The share of queries that one side alone gets right, for McNemar's tests; NaN for others.
    smallest : callable, optional
        The smallest p-value of the test on a number of units; any, if omitted.

    Examples
    --------
    >>> pilot = PilotDifferences(0.25)
    >>> round(pilot.detectable(40), 3), pilot.queries(0.05), pilot.queries(0.05, alpha=0.05 / 10)
    (0.114, 199, 337)
    """

    sd: float
    changed: float = math.nan
    smallest: Callable[[int], float] | None = None

    @classmethod
    def of(cls, pairs: PairedScores, test: str) -> PilotDifferences:
        """The pilot of complete pairs of independent units.

        Parameters
        ----------
        pairs : PairedScores
            The pairs.
        test : str
            A member of ``TESTS``.

        Examples
        --------
        >>> PilotDifferences.of(PairedScores.of([0, 0, 1, 1], [1, 0, 0, 1]), "mcnemar-midp").changed
        0.5
        """
        entry = TESTS.get(test)
        smallest = entry.smallest if isinstance(entry, PairedTest) else None
        is_mcnemar = pairs.is_binary and test.startswith("mcnemar")
        changed = pairs.n_changed / pairs.n if is_mcnemar else math.nan
        return cls(pairs.standard_deviation, changed, smallest)

    @property
    def is_usable(self) -> bool:
        """Whether the differences vary, so that something can be planned."""
        return math.isfinite(self.sd) and self.sd > 0.0

    def power(self, difference: float, n: int, *, alpha: float = 0.05) -> float:
        """The probability that n units show a difference.

        Parameters
        ----------
        difference : float
            The true mean difference, above 0.
        n : int
            The number of units, at least 2.
        alpha : float
            The level of significance; after a correction, the level that it leaves to one test.

        References
        ----------
        .. [1] Connor (1987). Sample size for testing differences in proportions for the paired-
               sample design. Biometrics 43:207-211.
        """
        if not math.isnan(self.changed):
            share = min(difference, 1.0)
            return _share_power(max(self.changed, share), share, n, alpha)
        effect = difference / self.sd
        if self.smallest is None:
            return power(effect, n, alpha=alpha)
        return sign_flip_power(effect, n, alpha=alpha, midp=self._is_midp)

    def queries(self, difference: float, *, alpha: float = 0.05) -> float:
        """The units with which a difference is shown in 80 of 100 cases.

        Returns
        -------
        float
            At least 6; NaN if more than ten million are needed.
        """
        try:
            return self._queries(difference, alpha)
        except DataError:
            return math.nan

    def detectable(self, n: int, *, alpha: float = 0.05) -> float:
        """The difference that n units show in 80 of 100 cases.

        Returns
        -------
        float
            Infinite if the test has no p-value as small as `alpha`, or no share of right answers
            can differ so much; NaN if the differences do not vary.
        """
        if not self.is_usable:
            return math.nan
        if not math.isnan(self.changed):
            return _detectable_share(self.changed, n, alpha)
        if self.smallest is None:
            return minimum_detectable_difference(self.sd, n, alpha=alpha)
        return _detectable_effect(n, alpha, self._is_midp) * self.sd

    def _queries(self, difference: float, alpha: float) -> int:
        if not math.isnan(self.changed):
            return smallest_number(
                *(lambda n: self.power(difference, n, alpha=alpha), USUAL_POWER),
                near=_connor_number(max(self.changed, difference), difference, alpha),
            )
        effect = difference / self.sd
        if self.smallest is None:
            return max(FEWEST_UNITS, required_n(effect, USUAL_POWER, alpha=alpha))
        return queries_needed(effect, USUAL_POWER, alpha=alpha, midp=self._is_midp)

    @property
    def _is_midp(self) -> bool:
        """Whether the observed signs count half: six equal signs then have less than 2 / 2**6."""
        return self.smallest is not None and self.smallest(FEWEST_UNITS) < 2.0 ** (1 - FEWEST_UNITS)


def _share_power(changed: float, difference: float, n: int, alpha: float) -> float:
    if n * changed < _MANY_DISCORDANT:
        p01 = (changed + difference) / 2.0
        return mcnemar_power(max(changed - p01, 0.0), p01, n, alpha=alpha)
    spread = math.sqrt(max(changed - difference**2, 1e-12))
    quantile = float(scipy.special.ndtri(1.0 - alpha / 2.0))
    shift = difference * math.sqrt(n) - quantile * math.sqrt(changed)
    return float(scipy.special.ndtr(shift / spread))


def _connor_number(changed: float, difference: float, alpha: float) -> int:
    """The queries that McNemar's test needs by Connor's formula; the fewest where it is too rough.

    With half as many queries the formula gives a power below 0.7, whatever the level. So the sum
    that counts where few pairs are discordant stays below the usual power.
    """
    critical, reached = map(float, scipy.special.ndtri([1.0 - alpha / 2.0, USUAL_POWER]))
    spread = math.sqrt(max(changed - difference**2, 1e-12))
    number = ((critical * math.sqrt(changed) + reached * spread) / max(difference, 1e-9)) ** 2
    return math.ceil(number) if number * changed >= 2 * _MANY_DISCORDANT else FEWEST_UNITS


# Tables of many pairs ask for the same few numbers of units and levels.
@lru_cache(maxsize=1024)
def _detectable_effect(n: int, alpha: float, midp: bool) -> float:
    """The mean difference in standard deviations that the sign-flip test shows."""

    def missing(effect: float) -> float:
        return sign_flip_power(effect, n, alpha=alpha, midp=midp) - USUAL_POWER

    return _root(missing, _LARGEST_EFFECT)


@lru_cache(maxsize=1024)
def _detectable_share(changed: float, n: int, alpha: float) -> float:
    """The difference of two shares that McNemar's mid-p test shows."""

    def missing(difference: float) -> float:
        return _share_power(max(changed, difference), difference, n, alpha) - USUAL_POWER

    return _root(missing, 1.0)


def _root(missing: Callable[[float], float], largest: float) -> float:
    """Where the power is no longer missing; infinite if it is up to the largest effect."""
    high = min(0.01, largest)
    while missing(high) < 0.0:
        if high >= largest:
            return math.inf
        high = min(2.0 * high, largest)
    return bracketed_root(missing, 0.0, high, tolerance=1e-9, relative=1e-9)
