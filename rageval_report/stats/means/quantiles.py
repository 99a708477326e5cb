"""Quantiles with intervals from order statistics."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy

from rageval_report.errors import DataError
from rageval_report.stats.base import Interval, check_level, finite_values
from rageval_report.types import FloatArray, IndexArray

_METHOD = "order-statistics"
# A probability that misses the level only by rounding does not miss it.
_ROUNDING = 1.0 + 1e-12


def quantile_interval(
    values: npt.ArrayLike, quantile: float, *, confidence_level: float = 0.95
) -> Interval:
    """A quantile of the scores with limits that are scores themselves.

    Nothing is assumed about the distribution: the limits are order statistics, whose ranks follow
    from the binomial distribution (with ties the coverage can only be larger).

    Parameters
    ----------
    values : array-like of shape (n,)
        The scores; NaN is unscored and is left out.
    quantile : float
        Which quantile, between 0 and 1, e.g. 0.95.
    confidence_level : float
        The nominal coverage; the rest is divided equally between both sides.

    Returns
    -------
    Interval
        The estimate interpolates linearly; a limit that no order statistic gives is NaN, and a
        note says how many scores it would take. There is no standard error.

    Raises
    ------
    DataError
        If the quantile or the level does not lie between 0 and 1, or a score is infinite.

    References
    ----------
    .. [1] Conover (1999). Practical nonparametric statistics, 3rd ed., section 3.2. Wiley.

    Examples
    --------
    >>> latency = [120, 80, 95, 400, 101, 99, 130, 88, 92, 110]
    >>> interval = quantile_interval(latency, 0.5)
    >>> interval.estimate, interval.low, interval.high
    (100.0, 88.0, 130.0)
    """
    ordered = np.sort(finite_values(values))
    return quantile_interval_by_rank(
        ordered.size, quantile, ordered.__getitem__, confidence_level=confidence_level
    )


def quantile_interval_by_rank(
    n: int,
    quantile: float,
    at_ranks: Callable[[IndexArray], FloatArray],
    *,
    confidence_level: float = 0.95,
) -> Interval:
    """`quantile_interval` of n scores, of which those at some ranks are looked up.

    Parameters
    ----------
    n : int
        The number of scores.
    quantile, confidence_level
        As in `quantile_interval`.
    at_ranks : callable
        Gives the scores at places of the sorted scores, counted from 0.

    Examples
    --------
    >>> ordered = np.array([80, 88, 92, 95, 99, 101, 110, 120, 130, 400.0])
    >>> interval = quantile_interval_by_rank(10, 0.5, ordered.__getitem__)
    >>> interval.estimate, interval.low, interval.high
    (100.0, 88.0, 130.0)
    """
    level = check_level(confidence_level)
    share = _check_quantile(quantile)
    if not n:
        nothing = ("nothing scored",)
        return Interval(math.nan, math.nan, math.nan, math.nan, _METHOD, level, nothing)
    lower, upper = _ranks(n, share, (1.0 - level) / 2.0)
    position = share * (n - 1)
    below = min(math.floor(position), max(n - 2, 0))
    neighbours = at_ranks(np.array([below, min(below + 1, n - 1)], dtype=np.intp))
    return Interval(
        # NumPy's own interpolation, to the last bit.
        estimate=float(np.quantile(neighbours, position - below)),
        low=_order_statistic(n, lower, at_ranks),
        high=_order_statistic(n, upper, at_ranks),
        standard_error=math.nan,
        method=_METHOD,
        confidence_level=level,
        notes=_notes_of_missing_limits(n, lower, upper, share, (1.0 - level) / 2.0),
    )


def quantile_ranks(n: int, quantile: float, *, confidence_level: float = 0.95) -> IndexArray:
    """The places of the scores that `quantile_interval_by_rank` looks up, counted from 0.

    Examples
    --------
    >>> quantile_ranks(10, 0.5)
    array([1, 4, 5, 8])
    """
    ranks: list[int] = []

    def look_up(places: IndexArray) -> FloatArray:
        ranks.extend(places.tolist())
        return np.zeros(len(places))

    quantile_interval_by_rank(n, quantile, look_up, confidence_level=confidence_level)
    return np.unique(np.array(ranks, dtype=np.intp))


def _check_quantile(quantile: float) -> float:
    if not 0.0 < quantile < 1.0:
        hint = f"; did you mean {quantile / 100}?" if 1 < quantile < 100 else ""
        raise DataError(f"quantile must lie between 0 and 1, e.g. 0.95; got {quantile}{hint}")
    return float(quantile)


def _ranks(n: int, share: float, tail: float) -> tuple[int, int]:
    """The ranks, from 1, of the limits: 0 and n + 1 where there is none.

    The lower is the largest rank l with P(Bin(n, share) < l) <= tail, the upper the smallest rank
    u with P(Bin(n, share) >= u) <= tail.
    """
    allowed = tail * _ROUNDING
    lower = bisect_right(range(n), allowed, key=lambda k: float(scipy.special.bdtr(k, n, share)))
    # Negated, because this tail falls with the rank and a bisection needs increasing keys.
    upper = bisect_left(range(n), -allowed, key=lambda k: -float(scipy.special.bdtrc(k, n, share)))
    return lower, upper + 1


def _order_statistic(n: int, rank: int, at_ranks: Callable[[IndexArray], FloatArray]) -> float:
    if not 1 <= rank <= n:
        return math.nan
    return float(at_ranks(np.array([rank - 1], dtype=np.intp))[0])


def _notes_of_missing_limits(
    n: int, lower: int, upper: int, share: float, tail: float
) -> tuple[str, ...]:
    """A note for each limit that the scores are too few to give."""
    notes = []
    if lower < 1:
        notes.append(_too_few("lower", n, _scores_needed(1.0 - share, tail), share))
    if upper > n:
        notes.append(_too_few("upper", n, _scores_needed(share, tail), share))
    return tuple(notes)


def _scores_needed(beyond: float, tail: float) -> int:
    """The number of scores that lie all on one side with a probability of at most `tail`."""
    return math.ceil(math.log(tail * _ROUNDING) / math.log(beyond))


def _too_few(side: str, n: int, needed: int, share: float) -> str:
    scores = "score gives" if n == 1 else "scores give"
    return f"{n} {scores} no {side} limit of the {share:g} quantile; at least {needed} are needed"
