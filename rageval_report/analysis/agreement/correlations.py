"""Correlations of two continuous ratings: Pearson, Spearman, Kendall, each with an interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import scipy

from rageval_report.stats.base import Interval
from rageval_report.types import FloatArray

# Nearer to 1 than this, Fisher's transformation is infinite.
_ALL = 1.0 - 1e-12


CorrelationKind = Literal["pearson", "spearman", "kendall"]


@dataclass(frozen=True, slots=True)
class _Correlation:
    """A correlation, and the variance of its inverse hyperbolic tangent."""

    estimate: Callable[[FloatArray, FloatArray], float]
    variance: Callable[[float, int], float]
    fewest: int


def correlation(
    judge: FloatArray,
    people: FloatArray,
    kind: CorrelationKind = "pearson",
    *,
    confidence_level: float = 0.95,
) -> Interval:
    """A correlation with its large-sample interval.

    Parameters
    ----------
    judge, people : ndarray of shape (n,)
        Complete pairs.
    kind : {"pearson", "spearman", "kendall"}
        The correlation of the values, of their ranks, or of the order of pairs (tau-b).
    confidence_level : float
        The level of the interval.

    Returns
    -------
    Interval
        NaN if a side is constant; the interval needs at least 4 pairs, for Kendall 5.

    Notes
    -----
    Fisher's z. Its variance is 1/(n - 3) for Pearson, (1 + r²/2)/(n - 3) for Spearman, and
    0.437/(n - 4) for Kendall.

    References
    ----------
    .. [1] Fisher (1921). On the "probable error" of a coefficient of correlation deduced from a
       small sample.
    .. [2] Bonett & Wright (2000). Sample size requirements for estimating Pearson, Kendall and
       Spearman correlations.

    Examples
    --------
    >>> people = np.array([0.1, 0.4, 0.5, 0.8, 0.9, 1.0])
    >>> round(correlation(people**2, people, "spearman").estimate, 3)
    1.0
    >>> round(correlation(people**2, people).estimate, 3)
    0.975
    """
    formulas, n = _CORRELATIONS[kind], judge.size
    nan, method = math.nan, f"fisher-z {kind}"
    if n < 2 or not (np.ptp(judge) and np.ptp(people)):
        note = "one query" if n < 2 else "a side is constant: the correlation is undefined"
        return Interval(nan, nan, nan, nan, method, confidence_level, (note,))
    estimate = formulas.estimate(judge, people)
    if n < formulas.fewest or abs(estimate) >= _ALL:
        note = (
            f"{n} queries: no interval"
            if n < formulas.fewest
            else "all queries lie on a line: no interval"
        )
        return Interval(estimate, nan, nan, nan, method, confidence_level, (note,))
    error = math.sqrt(formulas.variance(estimate, n))
    reach = float(scipy.special.ndtri(0.5 + confidence_level / 2.0)) * error
    low, high = (math.tanh(math.atanh(estimate) + side) for side in (-reach, reach))
    # Back from Fisher's z to the correlation by the derivative of tanh.
    return Interval(estimate, low, high, error * (1.0 - estimate**2), method, confidence_level)


def _pearson(a: FloatArray, b: FloatArray) -> float:
    first, second = map(_standardised, (a, b))
    return min(max(float((first * second).sum()), -1.0), 1.0)


def _standardised(values: FloatArray) -> FloatArray:
    """The same numbers with mean 0 and a sum of squares of 1; also of huge and tiny ones."""
    scaled = values / np.abs(values).max()
    centred = scaled - scaled.mean()
    return np.asarray(centred / math.sqrt(float((centred * centred).sum())))


def _spearman(a: FloatArray, b: FloatArray) -> float:
    return _pearson(_ranks(a), _ranks(b))


def _ranks(values: FloatArray) -> FloatArray:
    return np.asarray(pd.Series(values).rank(), dtype=np.float64)


# scipy.stats has tau-b as well, but importing it takes 0.6 s, more than everything done here.
def _kendall(a: FloatArray, b: FloatArray) -> float:
    """Tau-b: pairs in the same order minus pairs in the opposite one, over those without ties."""
    # Among equal values of a sorted by b, so that ties of a add no inversion (Knight 1966).
    order = np.lexsort((b, a))
    first, second = a[order], b[order]
    n_pairs = first.size * (first.size - 1) // 2
    tied_a, tied_b = _count_ties(first), _count_ties(second)
    tied_both = _count_joint_ties(first, second)
    discordant = _count_inversions(second)
    difference = n_pairs - tied_a - tied_b + tied_both - 2 * discordant
    return difference / math.sqrt(n_pairs - tied_a) / math.sqrt(n_pairs - tied_b)


def _count_ties(values: FloatArray) -> int:
    counts = np.unique(values, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())


def _count_joint_ties(a: FloatArray, b: FloatArray) -> int:
    counts = np.unique(np.column_stack([a, b]), axis=0, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())


def _count_inversions(values: FloatArray) -> int:
    """The pairs of which the later is smaller, by a merge sort that merges all runs at once."""
    codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
    n_inversions, width, n = 0, 1, codes.size
    places = np.arange(n)
    while width < n:
        run = places // width
        # In each double run sorted by value, count the left-half members after each right one.
        order = np.lexsort((run, codes, run // 2))
        is_left = run[order] % 2 == 0
        double = (run // 2)[order]
        lefts_so_far = np.cumsum(is_left)
        at_end = np.searchsorted(double, double, side="right") - 1
        n_inversions += int((lefts_so_far[at_end] - lefts_so_far)[~is_left].sum())
        width *= 2
    return n_inversions


_CORRELATIONS: dict[CorrelationKind, _Correlation] = {
    # With fewer pairs n - 3, or n - 4, would not be above zero.
    "pearson": _Correlation(_pearson, lambda _, n: 1.0 / (n - 3), 4),
    "spearman": _Correlation(_spearman, lambda r, n: (1.0 + r**2 / 2.0) / (n - 3), 4),
    "kendall": _Correlation(_kendall, lambda _, n: 0.437 / (n - 4), 5),
}
