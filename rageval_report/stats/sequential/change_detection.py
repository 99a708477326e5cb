"""Evidence that a mean has got worse at some time, in a stream of scores without an end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rageval_report.errors import check_choice
from rageval_report.stats.base import check_probability
from rageval_report.stats.exact_sums import ExactSum
from rageval_report.stats.sequential.bets import SizeBets
from rageval_report.stats.sequential.evalues import to_evalues
from rageval_report.stats.sequential.unit_scores import UnitScores
from rageval_report.types import FloatArray, IndexArray

_SIDES = ("greater", "less")

# The largest share of the capital that one score may cost. The stakes here are fixed for a batch,
# so that they do not get smaller after a loss.
_LARGEST_LOSS = 0.95

# Of scores between 0 and 1. A reference whose scores are all equal would make the stakes infinite.
_LARGEST_VARIANCE, _SMALLEST_VARIANCE = 0.25, 1e-4


@dataclass(frozen=True, eq=False)
class ChangeEvidence:
    """The evidence after each batch that the mean has crossed a limit since some batch.

    Parameters
    ----------
    evalues : ndarray of shape (n_batches,)
        The evidence; at least 1 / alpha is enough, at any batch of the whole life.
    starts : ndarray of shape (n_batches,)
        The batch, from 0, since which the mean has most likely been beyond the limit.
    """

    evalues: FloatArray
    starts: IndexArray


def change_evalues(
    batches: Sequence[npt.ArrayLike],
    limit: float,
    *,
    bounds: tuple[float, float],
    alternative: str = "less",
    variance: float | None = None,
    alpha: float = 0.05,
) -> ChangeEvidence:
    """The evidence that the mean of a stream has been beyond a limit since some batch.

    At each batch a new bettor begins, who doubts that the mean is within the limit from there on;
    the k-th begins with the part 1 / (k (k + 1)) of the capital, so that all of them together, for
    ever, have 1. A change after a long good time therefore costs a few more scores, and is not
    hidden by what was won or lost before.

    Parameters
    ----------
    batches : sequence of array-like
        The scores of each batch; NaN is left out.
    limit : float
        The mean that is still good.
    bounds : tuple of float
        The range that the scores can have.
    alternative : {"less", "greater"}
        The side of the limit that is bad.
    variance : float, optional
        The variance that the scores had before the first batch, which decides the stakes; the
        largest possible one if omitted.
    alpha : float
        The error rate for which the stakes are chosen; the e-values are valid for every other one.

    Returns
    -------
    ChangeEvidence

    Raises
    ------
    DataError
        If a score lies outside the bounds.

    References
    ----------
    .. [1] Shin, Ramdas, Rinaldo (2024). E-detectors: a nonparametric framework for sequential
           change detection. The New England Journal of Statistics in Data Science 2:229-260.
    .. [2] Shiryaev (1963), for the mixture over the time of the change.

    Examples
    --------
    >>> good, bad = [1.0, 0.9] * 25, [0.6, 0.7] * 25
    >>> evidence = change_evalues([good, good, bad, bad], 0.9, bounds=(0, 1))
    >>> evidence.evalues[:3].round(1), int(evidence.starts[-1])
    (array([7.0000e-01, 5.0000e-01, 3.7455e+03]), 2)
    """
    bets = ChangeBets(limit, bounds, alternative, variance, alpha)
    return combine_growth([bets.growth(batch) for batch in batches])


@dataclass(frozen=True)
class ChangeBets:
    """How much is staked on each score; the stakes are the same for all batches.

    Parameters
    ----------
    limit, bounds, alternative, variance, alpha
        As in `change_evalues`.
    """

    limit: float
    bounds: tuple[float, float]
    alternative: str = "less"
    variance: float | None = None
    alpha: float = 0.05

    def __post_init__(self) -> None:
        check_choice("alternative", self.alternative, _SIDES)
        check_probability("alpha", self.alpha)

    def growth(self, scores: npt.ArrayLike) -> CapitalGrowth:
        """How much the capital grows on some scores, all of a batch or a part of it.

        Parameters
        ----------
        scores : array-like
            NaN is left out.

        Raises
        ------
        DataError
            If a score lies outside the bounds.

        Examples
        --------
        >>> bets = ChangeBets(0.5, (0, 1))
        >>> whole = bets.growth([0.2, 0.4, 0.9])
        >>> whole == bets.growth([0.2]) + bets.growth([0.4, 0.9])
        True
        """
        units = UnitScores.of(scores, self.bounds)
        tested = min(1.0, max(0.0, units.to_unit(self.limit)))
        values = units.values
        if self.alternative == "less":
            values, tested = 1.0 - values, 1.0 - tested
        most = _LARGEST_LOSS / tested if tested > 0.0 else math.inf
        stakes = np.minimum(self._stakes(units.high - units.low), most)
        logarithms = np.log1p(stakes[:, np.newaxis] * (values - tested))
        return CapitalGrowth(tuple(map(ExactSum.of, logarithms)))

    def _stakes(self, width: float) -> FloatArray:
        sizes = np.array(SizeBets.hedged().sizes)
        spread = _LARGEST_VARIANCE
        if self.variance is not None:
            spread = self.variance / width**2
            spread = min(_LARGEST_VARIANCE, max(_SMALLEST_VARIANCE, spread))
        stakes: FloatArray = np.sqrt(2.0 * math.log(2.0 / self.alpha) / (sizes * spread))
        return stakes


@dataclass(frozen=True)
class CapitalGrowth:
    """The logarithm by which scores multiply the capital of each row of stakes.

    It is the same for any division and any order of the scores.

    Parameters
    ----------
    rows : tuple of ExactSum
        The sum of the logarithms of all scores, by row.
    """

    rows: tuple[ExactSum, ...]

    def __add__(self, other: CapitalGrowth) -> CapitalGrowth:
        """The growth on the scores of both."""
        return CapitalGrowth(tuple(a + b for a, b in zip(self.rows, other.rows, strict=True)))


def combine_growth(batches: Sequence[CapitalGrowth]) -> ChangeEvidence:
    """The mean capital of the bettors of all starts, weighted, and the start that has most of it.

    Parameters
    ----------
    batches : sequence of CapitalGrowth
        The growth on each batch, in the order of time.
    """
    if not batches:
        return ChangeEvidence(np.zeros(0), np.zeros(0, np.intp))
    growth = np.array([[row.sum for row in batch.rows] for batch in batches])
    n_batches, n_rows = growth.shape
    total = np.vstack((np.zeros(n_rows), np.cumsum(growth, axis=0)))
    number = np.arange(1.0, n_batches + 1)
    log_weights = -np.log(number * (number + 1)) - math.log(n_rows)
    evalues, starts = np.empty(n_batches), np.empty(n_batches, dtype=np.intp)
    for batch in range(n_batches):
        began = slice(0, batch + 1)
        logs = log_weights[began, np.newaxis] + total[batch + 1] - total[began]
        by_start = np.logaddexp.reduce(logs, axis=1)
        starts[batch] = int(by_start.argmax())
        # The bettors that have not begun yet still have their part.
        rest = -math.log(batch + 2.0)
        evalues[batch] = np.logaddexp(np.logaddexp.reduce(by_start), rest)
    return ChangeEvidence(to_evalues(evalues), starts)
