"""How two continuous ratings go together: Pearson, Spearman, Kendall, each with an interval."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import special

from rageval_report.stats.base import Interval
from rageval_report.types import FloatArray

# Nearer to 1 than this, the transformed correlation has no end.
_ALL = 1.0 - 1e-12


@dataclass(frozen=True, slots=True)
class _Way:
    """A correlation, and the variance of its inverse hyperbolic tangent."""

    estimate: Callable[[FloatArray, FloatArray], float]
    variance: Callable[[float, int], float]
    fewest: int


def correlation(
    judge: FloatArray, people: FloatArray, kind: str = "pearson", *, confidence_level: float = 0.95
) -> Interval:
    """A correlation with its large-sample interval.

    Parameters
    ----------
    judge, people : ndarray of shape (n,)
        Complete pairs.
    kind : {"pearson", "spearman", "kendall"}
        Of the values, of their ranks, or of the order of pairs (tau-b).
    confidence_level : float
        Of the interval.

    Returns
    -------
    Interval
        NaN where a side is constant; the interval needs a few pairs.

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
    way, n = _WAYS[kind], judge.size
    nan, method = math.nan, f"fisher-z {kind}"
    if n < 2 or not (np.ptp(judge) and np.ptp(people)):
        note = "one query" if n < 2 else "a side is constant: it goes together with nothing"
        return Interval(nan, nan, nan, nan, method, confidence_level, (note,))
    estimate = way.estimate(judge, people)
    if n < way.fewest or abs(estimate) >= _ALL:
        note = f"{n} queries: no interval" if n < way.fewest else "no query departs from the line"
        return Interval(estimate, nan, nan, nan, method, confidence_level, (note,))
    error = math.sqrt(way.variance(estimate, n))
    reach = float(special.ndtri(0.5 + confidence_level / 2.0)) * error
    low, high = (math.tanh(math.atanh(estimate) + side) for side in (-reach, reach))
    return Interval(estimate, low, high, error * (1.0 - estimate**2), method, confidence_level)


def _pearson(a: FloatArray, b: FloatArray) -> float:
    return float(np.clip(np.corrcoef(a, b)[0, 1], -1.0, 1.0))


def _spearman(a: FloatArray, b: FloatArray) -> float:
    return _pearson(_ranks(a), _ranks(b))


def _ranks(values: FloatArray) -> FloatArray:
    return np.asarray(pd.Series(values).rank(), dtype=np.float64)


def _kendall(a: FloatArray, b: FloatArray) -> float:
    """Tau-b: pairs in the same order less pairs in the other, over those without ties."""
    order = np.lexsort((b, a))
    first, second = a[order], b[order]
    every = first.size * (first.size - 1) // 2
    tied_a, tied_b = _tied(first), _tied(np.sort(second))
    tied_both = _tied_pairs(first, second)
    discordant = _inversions(second)
    difference = every - tied_a - tied_b + tied_both - 2 * discordant
    return difference / math.sqrt(every - tied_a) / math.sqrt(every - tied_b)


def _tied(ordered: FloatArray) -> int:
    counts = np.unique(ordered, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())


def _tied_pairs(a: FloatArray, b: FloatArray) -> int:
    counts = np.unique(np.column_stack([a, b]), axis=0, return_counts=True)[1].astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())


def _inversions(values: FloatArray) -> int:
    """Pairs of which the later is smaller, by merging ever longer runs, all runs at once."""
    codes = np.unique(values, return_inverse=True)[1].astype(np.int64)
    found, width, n = 0, 1, codes.size
    places = np.arange(n)
    while width < n:
        run = places // width
        # In each double run sorted by value, how many of the left half come after a right one.
        order = np.lexsort((run, codes, run // 2))
        is_left = run[order] % 2 == 0
        double = (run // 2)[order]
        lefts_so_far = np.cumsum(is_left)
        at_end = np.searchsorted(double, double, side="right") - 1
        found += int((lefts_so_far[at_end] - lefts_so_far)[~is_left].sum())
        width *= 2
    return found


_WAYS: dict[str, _Way] = {
    "pearson": _Way(_pearson, lambda _, n: 1.0 / (n - 3), 4),
    "spearman": _Way(_spearman, lambda r, n: (1.0 + r**2 / 2.0) / (n - 3), 4),
    "kendall": _Way(_kendall, lambda _, n: 0.437 / (n - 4), 5),
}
