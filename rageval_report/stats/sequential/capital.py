"""The capital of a bettor who doubts a mean, score by score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rageval_report.stats.sequential.bets import Bets
from rageval_report.types import FloatArray


@dataclass(frozen=True, eq=False)
class Bettor:
    """Bets on scores, with stakes that are fixed before each of them.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Between 0 and 1.
    stakes : ndarray of shape (n_rows, n)
        Above 0; the capital is shared evenly among the rows.
    largest_loss : float
        The largest share of the capital that one score may cost; larger stakes are cut.

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

    @classmethod
    def of(cls, scores: FloatArray, bets: Bets, alpha: float) -> Bettor:
        """A bettor with the stakes of a rule."""
        return cls(scores, bets.stakes(scores, alpha), bets.largest_loss)

    def mirrored(self) -> Bettor:
        """The bettor who expects scores below a mean: 1 - score above 1 - mean."""
        return Bettor(1.0 - self.scores, self.stakes, self.largest_loss)

    def log_capital_above(self, mean: FloatArray | float) -> FloatArray:
        """The logarithm of the capital after each score, if scores above a mean are expected.

        It never falls with a smaller `mean`, so that all means up to a limit are excluded.

        Parameters
        ----------
        mean : float or ndarray of shape (n,)
            The mean that is doubted, between 0 and 1; an array if it changes from score to score.
        """
        distance = np.asarray(mean, dtype=np.float64)
        with np.errstate(divide="ignore", over="ignore"):  # below 0 there is nothing to lose
            most = self.largest_loss / distance
        growth = np.log1p(np.minimum(self.stakes, most) * (self.scores - distance))
        return _log_of_mean(np.cumsum(growth, axis=1))


def _log_of_mean(log_capitals: FloatArray) -> FloatArray:
    """The logarithm of the mean of the capitals in the rows."""
    largest: FloatArray = log_capitals.max(axis=0)
    mixed: FloatArray = largest + np.log(np.exp(log_capitals - largest).mean(axis=0))
    return mixed
