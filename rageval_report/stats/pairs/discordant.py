"""Pairs of right and wrong answers: the two discordant counts, and tosses of a fair coin.

Of pairs of 0 and 1 only the discordant ones, which exactly one side gets right, distinguish the
sides; if neither side is better, each of them is a toss of a fair coin.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import scipy

from rageval_report.errors import DataError
from rageval_report.types import FloatArray

# Scores that are looked at before all others are.
_FIRST = 64


@dataclass(frozen=True, slots=True)
class DiscordantPairs:
    """The counts of a paired two-by-two table.

    Parameters
    ----------
    n : int
        All pairs.
    wins, losses : int
        Pairs that only the candidate, only the baseline gets right.
    both : int
        Pairs that both get right.
    """

    n: int
    wins: int
    losses: int
    both: int

    @property
    def discordant(self) -> int:
        """Pairs that exactly one side gets right."""
        return self.wins + self.losses

    @property
    def difference(self) -> float:
        """The difference of the two shares of right answers."""
        return (self.wins - self.losses) / self.n


def is_binary(baseline: FloatArray, candidate: FloatArray) -> bool:
    """Whether every score of both sides is 0 or 1.

    Examples
    --------
    >>> is_binary(np.array([0.0, 1.0]), np.array([1.0, 1.0]))
    True
    """
    return _all_binary(baseline) and _all_binary(candidate)


def _all_binary(values: FloatArray) -> bool:
    # Other scores show one that is neither among the first: then the rest need not be read.
    return all(
        bool(((part == 0.0) | (part == 1.0)).all()) for part in (values[:_FIRST], values[_FIRST:])
    )


def count_discordant(baseline: FloatArray, candidate: FloatArray, method: str) -> DiscordantPairs:
    """The counts of the paired two-by-two table, for a method that needs scores of 0 and 1.

    Raises
    ------
    DataError
        If a score is neither 0 nor 1; the message names the method.

    Examples
    --------
    >>> count_discordant(np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 1.0]), "mcnemar")
    DiscordantPairs(n=3, wins=1, losses=0, both=1)
    """
    for name, side in (("baseline", baseline), ("candidate", candidate)):
        if not _all_binary(side):
            other = side[(side != 0.0) & (side != 1.0)]
            raise DataError(
                f"{method!r} needs scores of 0 and 1 on both sides; the {name} also has "
                f"{float(other[0])}. Choose a method for any scores, e.g. 'sign-flip' or 't'."
            )
    both = int(np.count_nonzero(baseline * candidate))
    right_before, right_after = int(baseline.sum()), int(candidate.sum())
    return DiscordantPairs(baseline.size, right_after - both, right_before - both, both)


def binomial_cdf(successes: npt.ArrayLike, trials: npt.ArrayLike, share: float = 0.5) -> FloatArray:
    """The probability of at most this number of successes; by default of a fair coin.

    Examples
    --------
    >>> binomial_cdf([-1, 0, 1, 3], 3)
    array([0.   , 0.125, 0.5  , 1.   ])
    """
    # The regularised incomplete beta function gives the sum of the tail with all its digits, also
    # where the tail is 1e-30; it is defined only inside the range, so the ends are set by hand.
    k, m = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    within = (k >= 0) & (k < m)
    inside = scipy.special.betainc(
        np.where(within, m - k, 1.0), np.where(within, k + 1.0, 1.0), 1.0 - share
    )
    return np.where(within, inside, np.where(k < 0, 0.0, 1.0))


def coin_pvalue(wins: int, losses: int, alternative: str) -> float:
    """The exact p-value of these wins and losses if both were equally likely."""
    tosses = wins + losses
    fewer = {"greater": losses, "less": wins, "two-sided": min(wins, losses)}[alternative]
    tail = float(binomial_cdf(fewer, tosses))
    return min(1.0, 2.0 * tail) if alternative == "two-sided" else tail


def coin_midp(wins: npt.ArrayLike, losses: npt.ArrayLike) -> FloatArray:
    """The one-sided mid-p of these wins: the outcome itself counts half."""
    lost = np.asarray(losses, float)
    tosses = lost + np.asarray(wins, float)
    at_most, fewer = binomial_cdf(np.stack((lost, lost - 1.0)), tosses)
    return np.asarray(0.5 * (at_most + fewer))


@lru_cache(maxsize=4096)
def table_midp(wins: int, losses: int) -> float:
    """`coin_midp` of one table: a test and the interval that agrees with it need the same.

    Examples
    --------
    >>> table_midp(1, 1)
    0.5
    """
    return float(coin_midp(wins, losses))
