"""The capital of a bettor who doubts a mean, score by score."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rageval_report.stats.sequential.bets import Bets
from rageval_report.types import FloatArray

# The logarithm of what is still to be won is never taken to be smaller than this. With less, a
# bettor near the goal could be overtaken by one who doubts a higher mean, and the means that are
# excluded would have gaps; see `Bettor`.
_LEAST_TO_WIN = 0.5


@dataclass(frozen=True, eq=False)
class Bettor:
    """Bets on scores, with stakes that are fixed before each of them.

    Parameters
    ----------
    scores : ndarray of shape (..., n)
        Between 0 and 1; the last axis is time, the others are streams of their own.
    stakes : ndarray of shape (n_rows, ..., n)
        Above 0; the capital is shared evenly among the rows.
    largest_loss : float
        The largest share of the capital that one score may cost; larger stakes are cut.
    goal : float, optional
        The capital that each row, which starts with 1, has to reach. A stake is then multiplied by
        ``sqrt(log(goal / capital) / log(goal))``. If omitted, stakes do not depend on the capital.

    Notes
    -----
    The capital never falls with a smaller mean m, so that all means up to a limit are excluded.
    Without a goal this is plain. With one, let k be the logarithm of the capital, g that of the
    goal, and s the stake, proportional to the root of max(g - k, 1/2), or cut to c / m. A score x
    adds log(1 + s (x - m)). For a given k this falls with m. It remains to see that the sum never
    falls with k. Where s is cut or g - k <= 1/2, s does not depend on k. Elsewhere the derivative
    of the sum is 1 - u / (1 + u) / (2 (g - k)) with u = s (x - m): it is above 1 for negative u,
    and for others above 0 because u / (1 + u) < 1 < 2 (g - k).

    Examples
    --------
    >>> bettor = Bettor(np.array([1.0, 1.0, 0.0]), np.ones((1, 3)), largest_loss=0.95)
    >>> np.exp(bettor.log_capital_above(0.5)).round(4)  # 1.5, 1.5 * 1.5, 1.5 * 1.5 * 0.5
    array([1.5  , 2.25 , 1.125])
    >>> np.exp(bettor.mirrored().log_capital_above(0.5)).round(4)
    array([0.5  , 0.25 , 0.375])
    """

    scores: FloatArray
    stakes: FloatArray
    largest_loss: float
    goal: float | None = None

    @classmethod
    def of(cls, scores: FloatArray, bets: Bets, alpha: float) -> Bettor:
        """A bettor with the stakes of a rule."""
        return cls(scores, bets.stakes(scores, alpha), bets.largest_loss, bets.goal(alpha))

    def mirrored(self) -> Bettor:
        """The bettor who expects scores below a mean: 1 - score above 1 - mean."""
        return Bettor(1.0 - self.scores, self.stakes, self.largest_loss, self.goal)

    def log_capital_above(self, mean: FloatArray | float) -> FloatArray:
        """The logarithm of the capital after each score, if scores above a mean are expected.

        It never falls with a smaller `mean`, so that all means up to a limit are excluded.

        Parameters
        ----------
        mean : float or ndarray
            The mean that is doubted, between 0 and 1. An array has time as its last axis, of length
            1 or n; axes before those of the scores are several means.
        """
        doubted = np.asarray(mean, dtype=np.float64)
        distances = self.scores - doubted
        with np.errstate(divide="ignore", over="ignore"):  # below 0 there is nothing to lose
            most = np.broadcast_to(self.largest_loss / doubted, distances.shape)
        n_more = distances.ndim - self.scores.ndim
        stakes = self.stakes.reshape(len(self.stakes), *(1,) * n_more, *self.scores.shape)
        if self.goal is None:
            growth = np.log1p(np.minimum(stakes, most) * distances)
            return _log_of_mean(np.cumsum(growth, axis=-1))
        return _log_of_mean(_recalculated(stakes, distances, most, math.log(self.goal)))


def _recalculated(
    stakes: FloatArray, distances: FloatArray, most: FloatArray, log_goal: float
) -> FloatArray:
    """The logarithm of the capital of each row, whose stakes depend on what is still to be won.

    Parameters
    ----------
    stakes : ndarray of shape (n_rows, ..., n)
        The stakes of a capital of 1.
    distances, most : ndarray of shape (..., n)
        Of the scores from the mean, and the largest stakes.
    log_goal : float
        The logarithm of the goal, above 0.
    """
    # Time comes first, so that each step works on a block of memory. The steps are many and small:
    # they reuse one array.
    stakes, distances, most = (
        np.ascontiguousarray(np.moveaxis(each, -1, 0)) for each in (stakes, distances, most)
    )
    stakes = stakes / math.sqrt(log_goal)
    paths = np.empty((len(distances), stakes.shape[1], *distances.shape[1:]))
    latest, step = np.zeros((2, *paths.shape[1:]))
    for path, stake, distance, largest in zip(paths, stakes, distances, most, strict=True):
        np.subtract(log_goal, latest, out=step)
        np.maximum(step, _LEAST_TO_WIN, out=step)
        np.sqrt(step, out=step)
        np.multiply(step, stake, out=step)
        np.minimum(step, largest, out=step)
        np.multiply(step, distance, out=step)
        np.log1p(step, out=step)
        np.add(latest, step, out=latest)
        path[...] = latest
    return np.moveaxis(paths, 0, -1)


def _log_of_mean(log_capitals: FloatArray) -> FloatArray:
    """The logarithm of the mean of the capitals in the rows."""
    largest: FloatArray = log_capitals.max(axis=0)
    mixed: FloatArray = largest + np.log(np.exp(log_capitals - largest).mean(axis=0))
    return mixed
