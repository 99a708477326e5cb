"""Evidence that a mean has got worse at some time, in a stream of scores without an end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rageval_report.errors import check_choice
from rageval_report.stats.base import check_probability
from rageval_report.stats.columns import Column
from rageval_report.stats.sequential import SizeBets, to_evalues, to_unit
from rageval_report.types import FloatArray, IndexArray

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
    batches: Sequence[npt.ArrayLike | Column], limit: float, **options: Any
) -> ChangeEvidence:
    """The evidence that the mean of a stream has been beyond a limit since some batch.

    At each batch a new bettor begins, who doubts that the mean is within the limit from there on;
    the k-th begins with the part 1 / (k (k + 1)) of the capital, so that all of them together, for
    ever, have 1. A change after a long good time therefore costs a few more scores, and is not
    hidden by what was won or lost before.

    Parameters
    ----------
    batches : sequence of array-like or Column
        The scores of each batch, in any order; NaN is left out.
    limit : float
        The mean that is still good.
    **options
        The bounds of the scores, and what else `ChangeBets` takes.

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
    bets = ChangeBets(limit, **options)
    return combine_growth([bets.growth(batch) for batch in batches])


@dataclass(frozen=True)
class ChangeBets:
    """How much is staked on each score; the stakes are the same for all batches.

    Parameters
    ----------
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
    """

    limit: float
    bounds: tuple[float, float]
    alternative: str = "less"
    variance: float | None = None
    alpha: float = 0.05

    def __post_init__(self) -> None:
        check_choice("alternative", self.alternative, ("greater", "less"))
        check_probability("alpha", self.alpha)

    def growth(self, scores: npt.ArrayLike | Column) -> FloatArray:
        """The logarithm by which a batch multiplies the capital of each row of stakes.

        Parameters
        ----------
        scores : array-like or Column
            NaN is left out. The growth is the same for any order of the scores, and that of two
            parts of a batch adds up.

        Raises
        ------
        DataError
            If a score lies outside the bounds.

        Examples
        --------
        >>> ChangeBets(0.5, (0, 1)).growth([0.2, 0.4, 0.9]).round(3)
        array([-0.185, -0.041, -0.01 , -0.002])
        """
        column = Column.of(scores)
        values = to_unit(column.values, self.bounds)
        low, width = self.bounds[0], self.bounds[1] - self.bounds[0]
        tested = min(1.0, max(0.0, (self.limit - low) / width))
        if self.alternative == "less":
            values, tested = 1.0 - values, 1.0 - tested
        most = _LARGEST_LOSS / tested if tested > 0.0 else math.inf
        stakes = np.minimum(self._stakes(width), most)
        logarithms = np.log1p(stakes[:, np.newaxis] * (values - tested))
        return np.array([math.fsum(row) for row in (logarithms * column.counts).tolist()])

    def _stakes(self, width: float) -> FloatArray:
        known = math.inf if self.variance is None else self.variance / width**2
        spread = min(_LARGEST_VARIANCE, max(_SMALLEST_VARIANCE, known))
        sizes = np.array(SizeBets().sizes)
        return np.asarray(np.sqrt(2.0 * math.log(2.0 / self.alpha) / (sizes * spread)))


def combine_growth(batches: Sequence[FloatArray]) -> ChangeEvidence:
    """The mean capital of the bettors of all starts, weighted, and the start that has most of it.

    Parameters
    ----------
    batches : sequence of ndarray
        The `ChangeBets.growth` of each batch, in the order of time.
    """
    if not batches:
        return ChangeEvidence(np.zeros(0), np.zeros(0, np.intp))
    growth = np.array(batches)
    number = np.arange(1.0, len(growth) + 1)
    # Of each start and row of stakes; it grows from the start on.
    capital = np.zeros_like(growth) - np.log(number * (number + 1) * growth.shape[1])[:, np.newaxis]
    evalues, starts = [], []
    for batch, gain in enumerate(growth):
        capital[: batch + 1] += gain
        by_start = np.logaddexp.reduce(capital[: batch + 1], axis=1)
        starts.append(int(by_start.argmax()))
        # The bettors that have not begun yet still have their part.
        evalues.append(np.logaddexp.reduce(np.append(by_start, -math.log(batch + 2.0))))
    return ChangeEvidence(to_evalues(np.array(evalues)), np.array(starts))
