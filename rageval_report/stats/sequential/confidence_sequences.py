"""Intervals of a mean that hold at every look at once, by betting."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats.base import check_integer, check_level
from rageval_report.stats.sequential.bets import Bets, SizeBets
from rageval_report.stats.sequential.capital import Bettor
from rageval_report.stats.sequential.unit_scores import UnitScores
from rageval_report.stats.sequential.without_replacement import FixedSet
from rageval_report.types import FloatArray

# A limit is searched among many means at once, again and again between two neighbours: six times 64
# parts are 36 halvings of the interval from 0 to 1. The outer neighbour is the limit.
_PARTS, _ROUNDS = 64, 6

# The logarithm of the capital after each score, of a bettor who doubts means: one row for each.
_LogCapital: TypeAlias = Callable[[Bettor, FloatArray], FloatArray]


@dataclass(frozen=True, slots=True)
class ConfidenceSequence:
    """The interval of a mean after the latest score, valid together with all earlier ones.

    Parameters
    ----------
    estimate : float
        The mean of the scores so far; NaN without a score.
    low, high : float
        The limits: what no look so far has excluded. They never move apart again.
    n : int
        The number of scores, or of complete pairs.
    method : str
        How the limits were found, and the stakes, e.g. "betting, hedged".
    confidence_level : float
        The probability that the limits of all looks contain the mean.
    notes : tuple of str
        What a reader must know.

    Examples
    --------
    >>> sequence = mean_sequence([1.0, 0.5, 1.0, 1.0], bounds=(0, 1))
    >>> sequence.n, sequence.estimate, round(float(sequence.low), 2)
    (4, 0.875, 0.0)
    """

    estimate: float
    low: float
    high: float
    n: int
    method: str
    confidence_level: float = 0.95
    notes: tuple[str, ...] = ()


def mean_sequence(
    values: npt.ArrayLike,
    *,
    bounds: tuple[float, float],
    bets: Bets | None = None,
    confidence_level: float = 0.95,
    set_size: int | None = None,
) -> ConfidenceSequence:
    """The interval of a mean of bounded scores, which may be looked at after every score.

    Parameters
    ----------
    values : array-like of shape (n,)
        Scores in the order in which they came; NaN is left out. The order must not depend on the
        scores: ask the queries in a random order.
    bounds : tuple of float
        The range that the scores can have.
    bets : SizeBets, EffectBets or PlugInBets, optional
        The stakes, chosen before the first score; `SizeBets.hedged` if nothing was planned.
    confidence_level : float
        The probability that the limits contain the mean at all looks together.
    set_size : int, optional
        The number of scores in a fixed set, from which these were drawn without replacement. The
        interval is then one of the mean of this set and of nothing else: it says nothing of other
        queries. If omitted, it is one of the mean of all queries of this kind.

    Returns
    -------
    ConfidenceSequence

    Raises
    ------
    DataError
        If a score lies outside the bounds, or there are more scores than the set has.

    Notes
    -----
    A mean is excluded from the first look on at which a bettor who doubts it has 2 / alpha times
    the initial capital, on either side.

    References
    ----------
    .. [1] Waudby-Smith, Ramdas (2024). Estimating means of bounded random variables by betting.
           Journal of the Royal Statistical Society B 86:1-27.

    Examples
    --------
    >>> interval = mean_sequence([1, 1, 0, 1, 1, 1, 0, 1] * 10, bounds=(0, 1))
    >>> interval.estimate, round(interval.low, 3), round(interval.high, 3)
    (0.75, 0.6, 0.876)
    """
    scores = UnitScores.of(values, bounds)
    return _sequence(scores, bets or SizeBets.hedged(), confidence_level, set_size)


def paired_sequence(
    baseline: npt.ArrayLike,
    candidate: npt.ArrayLike,
    *,
    bounds: tuple[float, float],
    bets: Bets | None = None,
    confidence_level: float = 0.95,
    set_size: int | None = None,
) -> ConfidenceSequence:
    """The interval of a mean paired difference, which may be looked at after every query.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n,)
        One score per query, both sides in the order in which the queries were asked. Queries with
        NaN on a side are left out.
    bounds : tuple of float
        The range that the scores of each side can have.
    bets, confidence_level, set_size
        As for `mean_sequence`.

    Returns
    -------
    ConfidenceSequence
        It excludes 0 exactly if `paired_evalues` with the same stakes have reached 1 / alpha.

    Examples
    --------
    >>> interval = paired_sequence([0.5, 0.7] * 40, [0.8, 0.6] * 40, bounds=(0, 1))
    >>> round(interval.estimate, 3), round(interval.low, 3), round(interval.high, 3)
    (0.1, 0.027, 0.169)
    """
    scores = UnitScores.of_pairs(baseline, candidate, bounds)
    return _sequence(scores, bets or SizeBets.hedged(), confidence_level, set_size)


def _sequence(
    scores: UnitScores, bets: Bets, confidence_level: float, set_size: int | None
) -> ConfidenceSequence:
    alpha = 1.0 - check_level(confidence_level)
    values = scores.values
    method = f"betting, {bets.describe()}"
    if not values.size:
        return ConfidenceSequence(
            math.nan, scores.low, scores.high, 0, method, confidence_level, ("no score yet",)
        )
    bettor = Bettor.of(values, bets, alpha)
    notes: tuple[str, ...] = ()
    if set_size is None:
        low, high = _limits(bettor, alpha, Bettor.log_capital_above)
    else:
        whole = FixedSet(_check_set(set_size, values.size))
        low, high = _limits(bettor, alpha, whole.log_capital_above)
        least, most = whole.possible_means(values)
        low, high = max(low, least), min(high, most)
        notes = (f"of the mean of these {set_size} queries only",)
    if low > high:
        notes = (*notes, "the looks contradict each other: do the scores change with time?")
    return ConfidenceSequence(
        scores.to_scale(float(values.mean())),
        scores.to_scale(low),
        scores.to_scale(high),
        values.size,
        method,
        confidence_level,
        notes,
    )


def _limits(bettor: Bettor, alpha: float, log_capital: _LogCapital) -> tuple[float, float]:
    """The means that neither a bettor on higher scores nor one on lower scores has excluded."""
    low = _lowest_mean(bettor, alpha, log_capital)
    return low, 1.0 - _lowest_mean(bettor.mirrored(), alpha, log_capital)


def _lowest_mean(bettor: Bettor, alpha: float, log_capital: _LogCapital) -> float:
    """The limit below which every mean was excluded at some look: capital falls with the mean."""
    enough = math.log(2.0 / alpha)
    if log_capital(bettor, np.zeros((1, 1))).max() < enough:
        return 0.0
    excluded, kept = 0.0, 1.0
    for _ in range(_ROUNDS):
        means = np.linspace(excluded, kept, _PARTS + 1)
        is_excluded = log_capital(bettor, means[1:-1, np.newaxis]).max(axis=-1) >= enough
        # The first mean that is not excluded ends the search, whatever rounding does above it.
        last = int(np.argmin(np.append(is_excluded, False)))
        excluded, kept = float(means[last]), float(means[last + 1])
    return excluded


def _check_set(set_size: int, n: int) -> int:
    size = check_integer("set_size", set_size, 1)
    if n > size:
        raise DataError(f"set_size must be at least the number of scores, {n}; got {size}")
    return size
