"""The best that bets can do: a bettor who knows the distribution, and the number of queries.

A bettor who doubts the mean m of scores between -1 and 1 multiplies a capital by 1 + s (x - m),
with a stake s between 0 and 1 / (1 + m). The largest probability of reaching a goal by the n-th
score follows from the one for n - 1 scores, for every capital, by trying all stakes (dynamic
programming). No rule for stakes that are fixed before each score is better, whatever it knows or
guesses. For the hypothesis that each score has a mean of at most m given the earlier ones, no other
test is better either: whatever it rejects can be bought by such bets (superhedging duality).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

# The grid of log capitals below the goal, the stakes that are tried, and the points that stand for
# a continuous distribution. With twice as many of each the results change by 0.01 at most.
_CAPITALS, _STAKES, _POINTS = 500, 25, 60
# A capital so much smaller than the first one, in logarithms, is taken to be lost.
_LOST = 5.0


@dataclass(frozen=True, eq=False)
class Law:
    """A distribution on a few points between -1 and 1.

    Parameters
    ----------
    points, probabilities : ndarray of shape (n_points,)
        The points, ascending.
    """

    points: np.ndarray
    probabilities: np.ndarray

    @classmethod
    def of(cls, sample: np.ndarray) -> Law:
        """The law of a large sample; a continuous one as the means of equal parts."""
        points, counts = np.unique(sample.round(9), return_counts=True)
        if points.size <= _POINTS:
            return cls(points, counts / sample.size)
        parts = np.array_split(np.sort(sample), _POINTS)
        return cls(np.array([part.mean() for part in parts]), np.full(_POINTS, 1 / _POINTS))

    @property
    def mean(self) -> float:
        return float(self.points @ self.probabilities)

    @property
    def deviation(self) -> float:
        return math.sqrt(float((self.points - self.mean) ** 2 @ self.probabilities))

    def mirrored(self) -> Law:
        return Law(-self.points[::-1], self.probabilities[::-1])


def chances(law: Law, mean: float, alpha: float) -> Iterator[float]:
    """The largest probability of reaching 1 / alpha by the first, second, third ... score."""
    log_capital = np.linspace(math.log(alpha) - _LOST, 0.0, _CAPITALS)
    chance = (log_capital >= 0.0).astype(float)
    stakes = np.linspace(0.0, 1.0, _STAKES)[:, np.newaxis] / (1.0 + mean)
    growth = np.log(np.maximum(1.0 + stakes * (law.points - mean), 1e-300))
    after = (log_capital[:, np.newaxis, np.newaxis] + growth).ravel()
    after[after > -1e-12] = 0.0
    while True:
        later = np.interp(after, log_capital, chance, left=0.0)
        by_stake = later.reshape(-1, *growth.shape) @ law.probabilities
        chance = by_stake.max(axis=1)
        chance[-1] = 1.0  # at the goal
        yield float(np.interp(math.log(alpha), log_capital, chance))


def least_queries(law: Law, alpha: float, most: int) -> float:
    """The smallest number of queries after which the mean 0 is rejected with probability 1/2."""
    for n, chance in zip(range(1, most + 1), chances(law, 0.0, alpha), strict=False):
        if chance >= 0.5:
            return n
    return math.inf


def least_width(law: Law, n: int, alpha: float) -> float:
    """The width of the means that are not rejected with probability 1/2 by the n-th query.

    It is divided by the one of an interval for one look, 2 * 1.96 standard errors.
    """
    sides = [_least_distance(each, n, alpha / 2.0) for each in (law, law.mirrored())]
    return sum(sides) / (2.0 * 1.96 * law.deviation / math.sqrt(n))


def _least_distance(law: Law, n: int, alpha: float) -> float:
    unit = law.deviation / math.sqrt(n)
    near, far = unit, min(8.0 * unit, 0.98 * (1.0 + law.mean))
    for _ in range(9):
        middle = (near + far) / 2.0
        chance = next(c for i, c in enumerate(chances(law, law.mean - middle, alpha), 1) if i == n)
        near, far = (near, middle) if chance >= 0.5 else (middle, far)
    return far
