"""Statistics that may be looked at while the scores still come in.

A p-value or an interval of a fixed number of queries is valid for one look. What is here is valid
at every look, or at a planned few:

- `mean_evalues` and `mean_sequence`: bounded scores, by betting. Valid at every look, whatever the
  distribution of the scores. Two pipelines are compared by their differences, query by query; of
  scores from 0 to 1 these have the bounds (-1, 1).
- `asymptotic_evalues` and `asymptotic_sequence`: scores without bounds, such as latencies. Valid
  for many queries.
- `adjust_evalues`: several metrics at once (e-Holm).
- `ChangeBets` and `combine_growth`: whether the mean of a stream has got worse at some time.
- `look_levels`: levels for a planned few looks with a test of your own (alpha spending).

A betting test of "the mean is m" starts with a capital of 1 and stakes a part of it on each score:
the capital is multiplied by ``1 + stake * (score - m)`` where scores above m are expected. A stake
may depend on the scores before its own, never on its own. Whatever the stakes, the expected capital
stays 1 if the mean is m, so that it ever reaches 1 / alpha with a probability of at most alpha
(Ville 1939). This capital is the e-value; the stakes decide only how soon a mean that is not m is
noticed. A mean is excluded as soon as a bettor who doubts it has won enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from rageval_report.errors import DataError, check_choice
from rageval_report.stats import base
from rageval_report.stats.base import Alternative, Bounds, Interval
from rageval_report.stats.columns import Column
from rageval_report.types import BoolArray, FloatArray, IndexArray

# A plan is a mixture of stakes for the planned effect, 1.5 and 2.25 times the effect: effects are
# often larger than planned, and the stakes for the planned one alone are then slow.
_MULTIPLES = np.array([1.0, 1.5, 2.25])
# The numbers of queries of an evaluation of which nothing is known.
_USUAL_SIZES = (25.0, 100.0, 400.0, 1600.0)
# The variance that is assumed before the first score, and the number of scores it counts for. The
# largest possible variance, 1/4, makes the first stakes so small that 5 % more queries are needed;
# 1/36 loses early stakes. With a weight of 1, a few equal scores at the start make the stakes so
# large that a rare loss is a disaster: with 5 % whole losses, the interval of 100 queries is 1.65
# times as wide as one for a single look; with 5 it is 1.5 times.
_PLANNED_VARIANCE, _PLANNED_WEIGHT = 1 / 16, 5.0
# The stakes grow while the planned number of queries comes near. The last tenth of them has the
# stakes of its beginning, so that the capital is not lost there for all later looks.
_LEAST_LEFT = 0.1
# The logarithm of what is still to be won is never taken to be smaller than this. With less, a
# bettor near the goal could be overtaken by one who doubts a higher mean, and the means that are
# excluded would have gaps; see `log_capital`.
_LEAST_TO_WIN = 0.5
# Larger e-values are cut to this, so that sums of them stay finite.
_LARGEST_EVALUE = 1e300
# A limit is searched among many means at once, again and again between two neighbours: six times 64
# parts are 36 halvings of the interval from 0 to 1. The outer neighbour is the limit.
_PARTS, _ROUNDS = 64, 6
# Scores may leave their bounds by this share of the range: that is rounding.
_ROUNDING = 1e-9
# The asymptotic interval is valid only for many scores: with a first look at 100 lognormal scores
# (sigma 1) all limits contained the mean in 91 % of the streams, at 20 in 86 %, at 400 in 95 %.
FIRST_LOOK = 100
# Nodes of the integral over the statistic of a look. With 128 the boundaries of ten looks differ
# from those with 512 by less than 1e-10.
_NODES = 128
# No look rejects beyond this many standard errors: a level of 1e-57.
_FARTHEST = 16.0
# The largest share of the capital that one score of a batch may cost. The stakes are fixed for a
# batch, so that they do not get smaller after a loss.
_LARGEST_LOSS_OF_BATCH = 0.95
# Of scores between 0 and 1. A reference whose scores are all equal would make the stakes infinite.
_LARGEST_VARIANCE, _SMALLEST_VARIANCE = 0.25, 1e-4


# -- stakes


@dataclass(frozen=True, slots=True)
class SizeBets:
    """Stakes for the narrowest interval after a planned number of queries, or a mixture of several.

    The stake is ``sqrt(2 * log(goal / capital) / (left * variance))``: what is still to be won, the
    queries that are left of the planned number, and the variance of the scores so far. When the
    planned number has come, the next plan is twice as large.

    Parameters
    ----------
    sizes : tuple of float
        Numbers of queries. A single one gives the narrowest interval at this number.

    Raises
    ------
    DataError
        If there is no number, or one is not above 0.

    References
    ----------
    .. [1] Voracek, Orabona (2025). STaR-SizeBets: Sequential target-recalculating bets for tighter
           confidence intervals. arXiv 2505.22422.

    Examples
    --------
    >>> SizeBets((100,)).stakes(np.array([0.4, 0.6]), 0.05).round(2)
    array([[1.09, 1.18]])
    >>> SizeBets().describe(), SizeBets.up_to(200).sizes
    ('hedged over 25, 100, 400 and 1600 queries', (200.0, 88.88888888888889, 39.50617283950617))
    """

    sizes: tuple[float, ...] = _USUAL_SIZES

    # The largest share of the capital that one score may cost. A stake that could lose all of it
    # would end the test, because nothing would be left to bet with. Scores of little variance need
    # large stakes: with a plan of 100 queries and 1.5 times the planned effect they need 0.58 of
    # the queries if a twentieth of the capital is kept, and 0.56 if a hundredth is kept.
    largest_loss = 0.99

    def __post_init__(self) -> None:
        if not self.sizes:
            raise DataError("sizes must have at least one number of queries; got none")
        for size in self.sizes:
            base.check_positive("sizes", size)

    @classmethod
    def up_to(cls, n: float) -> Self:
        """Stakes for at most `n` queries: for effects that `n` just show, and for larger ones."""
        return cls(tuple(float(n) / multiple**2 for multiple in _MULTIPLES.tolist()))

    @classmethod
    def for_effect(cls, effect: float) -> Self:
        """Stakes for a mean that lies at least this share of the range from the tested one."""
        share = base.check_positive("effect", effect) ** 2 / _PLANNED_VARIANCE
        return cls.up_to(2.0 * math.log(cls(tuple(_MULTIPLES)).goal(0.05)) / share)

    def stakes(self, scores: FloatArray, alpha: float) -> FloatArray:
        """The stakes of a capital of 1, of shape (n_sizes, ..., n), for an error rate."""
        place = np.arange(scores.shape[-1])
        sizes = np.array(self.sizes)[:, np.newaxis]
        plan = sizes * 2.0 ** np.ceil(np.log2(np.maximum((place + 1) / sizes, 1.0)))
        left = np.maximum(plan - place, _LEAST_LEFT * plan)
        left = left.reshape(len(left), *(1,) * (scores.ndim - 1), -1)
        spread = left * _earlier_variances(scores)
        return np.asarray(np.sqrt(2.0 * math.log(self.goal(alpha)) / spread))

    def goal(self, alpha: float) -> float:
        """What a size needs for a mixture of 2 / alpha if the others have lost all."""
        return 2.0 * len(self.sizes) / alpha

    def describe(self) -> str:
        """The rule in a few words, for settings and signatures."""
        *others, last = (f"{size:.0f}" for size in self.sizes)
        start = f"hedged over {', '.join(others)} and " if others else ""
        return f"{start}{last} queries"


def _earlier_variances(scores: FloatArray) -> FloatArray:
    """The variance of the scores before each one."""
    count = _PLANNED_WEIGHT + np.arange(1, scores.shape[-1] + 1)
    means = (0.5 * _PLANNED_WEIGHT + np.cumsum(scores, axis=-1)) / count
    squares = np.cumsum((scores - means) ** 2, axis=-1)
    variances = (_PLANNED_VARIANCE * _PLANNED_WEIGHT + squares) / count
    first = np.full_like(scores[..., :1], _PLANNED_VARIANCE)
    return np.concatenate((first, variances[..., :-1]), axis=-1)


# -- capital


def log_capital(
    scores: FloatArray, mean: FloatArray | float, bets: SizeBets, alpha: float
) -> FloatArray:
    """The logarithm of the capital after each score, if scores above a mean are expected."""
    doubted = np.asarray(mean, dtype=np.float64)
    distances = scores - doubted
    with np.errstate(divide="ignore", over="ignore"):  # below 0 there is nothing to lose
        most = np.broadcast_to(bets.largest_loss / doubted, distances.shape)
    stakes = bets.stakes(scores, alpha)
    stakes = stakes.reshape(len(stakes), *(1,) * (distances.ndim - scores.ndim), *scores.shape)
    paths = _recalculated(stakes, distances, most, math.log(bets.goal(alpha)))
    largest = paths.max(axis=0)
    return np.asarray(largest + np.log(np.exp(paths - largest).mean(axis=0)))


def _recalculated(
    stakes: FloatArray, distances: FloatArray, most: FloatArray, log_goal: float
) -> FloatArray:
    """The logarithm of the capital of each row, whose stakes depend on what is still to be won."""
    # Time comes first, so that each step works on a block of memory.
    stakes, distances, most = (
        np.ascontiguousarray(np.moveaxis(each, -1, 0)) for each in (stakes, distances, most)
    )
    paths, latest = [], np.zeros((stakes.shape[1], *distances.shape[1:]))
    for staked, distance, limit in zip(stakes, distances, most, strict=True):
        left = np.sqrt(np.maximum(log_goal - latest, _LEAST_TO_WIN) / log_goal)
        latest = latest + np.log1p(np.minimum(left * staked, limit) * distance)
        paths.append(latest)
    return np.moveaxis(np.array(paths).reshape(-1, *latest.shape), 0, -1)


def to_unit(values: FloatArray, bounds: Bounds) -> FloatArray:
    """Finite scores on the scale from 0 to 1."""
    low, high = map(float, bounds)
    width = high - low
    if not 0.0 < width < math.inf:
        raise DataError(
            f"bounds must be two finite numbers, the lower one first; got {bounds}. For scores "
            "without bounds use asymptotic_sequence"
        )
    slack = _ROUNDING * width
    outside = values[(values < low - slack) | (values > high + slack)]
    if outside.size:
        raise DataError(
            f"scores must lie within the bounds {low:g} to {high:g}; got {float(outside[0])}"
        )
    return np.asarray((np.clip(values, low, high) - low) / width)


# -- e-values


def mean_evalues(
    values: npt.ArrayLike,
    mean: float,
    *,
    bounds: Bounds,
    alternative: Alternative = "two-sided",
    bets: SizeBets | None = None,
    alpha: float = 0.05,
) -> FloatArray:
    """The e-value against a mean after each score; it may be looked at whenever you like.

    Reject the mean as soon as the e-value is at least 1 / alpha. If the mean is true, this ever
    happens with a probability of at most alpha.

    Parameters
    ----------
    values : array-like of shape (n,)
        Scores, or paired differences, in the order in which they came; NaN is left out. The order
        must not depend on the scores: ask the queries in a random order.
    mean : float
        The hypothesis, on the scale of the scores. For "not worse by the margin" it is minus the
        margin, with the alternative "greater".
    bounds : tuple of float
        The range that the scores can have.
    alternative : {"two-sided", "greater", "less"}
        "greater": the hypothesis is that the mean is `mean` or less.
    bets : SizeBets, optional
        The stakes, chosen before the first score; ``SizeBets()`` if nothing was planned.
    alpha : float
        The error rate for which the stakes are chosen; the e-values are valid for every other one.

    Returns
    -------
    ndarray of shape (n,)
        One e-value per score that is present; two-sided, half of the larger one of both sides.

    Raises
    ------
    DataError
        If the mean or a score lies outside the bounds.

    References
    ----------
    .. [1] Waudby-Smith, Ramdas (2024). Estimating means of bounded random variables by betting.
           Journal of the Royal Statistical Society B 86:1-27.

    Examples
    --------
    >>> evalues = mean_evalues([1, 1, 0, 1, 1, 1, 1, 1, 1, 1], 0.3, bounds=(0, 1))
    >>> evalues[[0, 4, 9]].round(1), int((evalues >= 20).argmax()) + 1
    (array([ 0.9,  3.2, 34. ]), 9)
    >>> differences = np.full(40, 0.9) - np.full(40, 0.5)
    >>> int((mean_evalues(differences, 0.0, bounds=(-1, 1)) >= 20).argmax()) + 1
    15
    """
    base.check_alternative(alternative)
    base.check_probability("alpha", alpha)
    scores = to_unit(base.finite_values(values), bounds)
    low, high = bounds
    if not low <= mean <= high:
        raise DataError(f"mean must lie within the bounds {low:g} to {high:g}; got {mean:g}")
    tested = (mean - low) / (high - low)
    above, below = (scores, tested), (1.0 - scores, 1.0 - tested)
    sides = {"greater": [above], "less": [below]}.get(alternative, [above, below])
    logarithms = [log_capital(*side, bets or SizeBets(), alpha) for side in sides]
    return to_evalues(np.max(logarithms, axis=0) - math.log(len(sides)))


def to_evalues(logarithms: FloatArray) -> FloatArray:
    """E-values from their logarithms, at most 1e300."""
    return np.exp(np.minimum(logarithms, math.log(_LARGEST_EVALUE)))


def adjust_evalues(evalues: npt.ArrayLike) -> FloatArray:
    """Adjust the e-values of a family for their number, by Holm's steps (e-Holm).

    An adjusted e-value is the smallest mean of a subset of the family that contains it. Whatever
    the dependence, the probability of a single false rejection stays below alpha, also if one looks
    at every query.

    Parameters
    ----------
    evalues : array-like of shape (n_tests,) or (n_tests, n_looks)
        E-values at the same look, one column per look if there are several; NaN is no test: it
        stays NaN and does not count.

    Returns
    -------
    ndarray
        In the shape of `evalues`. Reject where it is at least 1 / alpha, at any look.

    Raises
    ------
    DataError
        If an e-value is negative.

    References
    ----------
    .. [1] Vovk, Wang (2021). E-values: calibration, combination and applications. Annals of
           Statistics 49:1736-1754, algorithm 1.

    Examples
    --------
    >>> adjust_evalues([60.0, 30.0, 3.0])  # (60 + 30 + 3) / 3, (30 + 3) / 2, 3
    array([31. , 16.5,  3. ])
    """
    family = np.array(evalues, dtype=np.float64)
    if (family < 0.0).any():
        raise DataError(f"e-values must be numbers >= 0, or NaN; got {float(np.nanmin(family))}")
    # A test that was not made goes to the end of the ascending order, where it changes nothing.
    tests = np.minimum(np.where(np.isnan(family), _LARGEST_EVALUE, family), _LARGEST_EVALUE)
    adjusted = tests.copy()
    # The worst subset for a test holds, besides it, the smallest ones of the family.
    sums = np.cumsum(np.sort(tests, axis=0), axis=0)[:-1]
    for size, sum_of_others in enumerate(sums, start=2):
        adjusted = np.minimum(adjusted, (tests + sum_of_others) / size)
    return np.where(np.isnan(family), np.nan, adjusted)


# -- confidence sequences


def mean_sequence(
    values: npt.ArrayLike,
    *,
    bounds: Bounds,
    bets: SizeBets | None = None,
    confidence_level: float = 0.95,
) -> Interval:
    """The interval of a mean of bounded scores, which may be looked at after every score.

    Parameters
    ----------
    values : array-like of shape (n,)
        Scores, or paired differences, in the order in which they came; NaN is left out. The order
        must not depend on the scores: ask the queries in a random order.
    bounds : tuple of float
        The range that the scores can have.
    bets : SizeBets, optional
        The stakes, chosen before the first score; ``SizeBets()`` if nothing was planned.
    confidence_level : float
        The probability that the limits contain the mean at all looks together.

    Returns
    -------
    Interval
        Its limits are what no look so far has excluded; they never move apart again. It excludes a
        mean exactly if its two-sided `mean_evalues`, with the same stakes, have reached 1 / alpha.

    Raises
    ------
    DataError
        If a score lies outside the bounds.

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
    alpha = 1.0 - base.check_level(confidence_level)
    rule = bets or SizeBets()
    scores = to_unit(base.finite_values(values), bounds)
    low, high = _lowest_mean(scores, rule, alpha), 1.0 - _lowest_mean(1.0 - scores, rule, alpha)
    notes: tuple[str, ...] = ()
    if low > high:
        notes = ("the looks contradict each other: do the scores change with time?",)
    if not scores.size:
        notes = ("no score yet",)
    start, width = float(bounds[0]), float(bounds[1]) - float(bounds[0])
    mean = start + width * (float(scores.mean()) if scores.size else math.nan)
    method, limits = f"betting, {rule.describe()}", (start + width * low, start + width * high)
    return Interval(mean, *limits, math.nan, method, confidence_level, notes)


def _lowest_mean(scores: FloatArray, bets: SizeBets, alpha: float) -> float:
    """The limit below which every mean was excluded at some look: capital falls with the mean."""

    def are_excluded(means: FloatArray) -> BoolArray:
        capital = log_capital(scores, means[:, np.newaxis], bets, alpha)
        return np.asarray(capital.max(axis=-1, initial=-math.inf) >= math.log(2.0 / alpha))

    excluded, kept = 0.0, 1.0
    if not are_excluded(np.zeros(1)):
        return 0.0
    for _ in range(_ROUNDS):
        means = np.linspace(excluded, kept, _PARTS + 1)
        # The first mean that is not excluded ends the search, whatever rounding does above it.
        last = int(np.argmin(np.append(are_excluded(means[1:-1]), False)))
        excluded, kept = float(means[last]), float(means[last + 1])
    return excluded


# -- scores without bounds


def asymptotic_sequence(
    values: npt.ArrayLike,
    *,
    planned_n: int = 400,
    first_look: int = FIRST_LOOK,
    confidence_level: float = 0.95,
) -> Interval:
    """The interval of a mean of scores without bounds, which may be looked at after every score.

    It is what the t interval is for one look: valid for many scores of finite variance, too narrow
    for a few with a long tail. Bounded scores have `mean_sequence`, which needs no such trust.

    Parameters
    ----------
    values : array-like of shape (n,)
        Scores, or paired differences, in the order in which they came; NaN is left out.
    planned_n : int
        The number of scores at which the interval is to be narrowest.
    first_look : int
        The number of scores from which on limits are given.
    confidence_level : float
        The probability that the limits contain the mean at all looks together.

    Returns
    -------
    Interval
        With infinite limits before the first look.

    References
    ----------
    .. [1] Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas (2024). Time-uniform central limit theory
           and asymptotic confidence sequences. Annals of Statistics 52:2613-2640, theorem 2.2.

    Examples
    --------
    >>> interval = asymptotic_sequence([1.2, 0.8, 1.9, 0.7] * 50)
    >>> round(interval.estimate, 3), round(interval.low, 3), round(interval.high, 3)
    (1.15, 1.049, 1.252)
    """
    alpha = 1.0 - base.check_level(confidence_level)
    scores, method = base.finite_values(values), f"asymptotic, {planned_n} queries"
    means, spreads, costs, unit = _running_evidence(scores, alpha, planned_n)
    estimate = float(means[-1]) * unit if scores.size else math.nan
    low, high, notes = -math.inf, math.inf, list[str]()
    if scores.size < base.check_integer("first_look", first_look, 2):
        notes.append(f"no limits before {first_look} scores")
    else:
        reach = np.sqrt(spreads * (costs - math.log(alpha)))
        low = float((means - reach)[first_look - 1 :].max()) * unit
        high = float((means + reach)[first_look - 1 :].min()) * unit
    return Interval(estimate, low, high, math.nan, method, confidence_level, tuple(notes))


def asymptotic_evalues(
    values: npt.ArrayLike,
    mean: float,
    *,
    alternative: Alternative = "two-sided",
    planned_n: int = 400,
    first_look: int = FIRST_LOOK,
    alpha: float = 0.05,
) -> FloatArray:
    """The e-value against a mean of scores without bounds after each score."""
    base.check_alternative(alternative)
    base.check_probability("alpha", alpha)
    scores = base.finite_values(values)
    means, spreads, costs, unit = _running_evidence(scores, alpha, planned_n)
    away = means - mean / unit
    # Scores without any spread have shown nothing yet about the spread that others may have.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gains = np.where(spreads > 0.0, away**2 / spreads, 0.0)
    is_seen = np.arange(1, scores.size + 1) >= base.check_integer("first_look", first_look, 2)
    if alternative != "two-sided":
        is_seen &= away > 0.0 if alternative == "greater" else away < 0.0
    return np.where(is_seen, to_evalues(gains - costs), 0.0)


def _running_evidence(
    scores: FloatArray, alpha: float, planned_n: int
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Means, spreads and costs after each score, and the unit of the first two, a power of two."""
    planned = base.check_integer("planned_n", planned_n, 1)
    # The width of the mixture that is best for the planned number, equation 24 of the paper.
    precision = (-2.0 * math.log(alpha) + math.log(1.0 - 2.0 * math.log(alpha))) / planned
    count = np.arange(1, scores.size + 1, dtype=np.float64)
    growth = count * precision + 1.0
    # Squares of very large scores are no doubles, and far from zero they would lose digits.
    unit = math.ldexp(1.0, math.frexp(float(np.abs(scores).max(initial=0.0)))[1] - 1)
    first = scores[:1] / unit
    moved = scores / unit - first
    means = np.cumsum(moved) / count
    variances = np.maximum(np.cumsum(moved**2) / count - means**2, 0.0)
    spreads = 2.0 * growth * variances / (precision * count**2)
    return means + first, spreads, np.log(growth) / 2.0, unit


# -- alpha spending


def look_levels(shares: Sequence[float], *, alpha: float = 0.05) -> FloatArray:
    """The level of each look: a two-sided p-value at most this large stops the evaluation.

    The error rate is spent bit by bit, almost all of it late, by Lan and DeMets' function for
    boundaries like those of O'Brien and Fleming. The level of each look follows from what is spent,
    because the looks share their queries.

    Parameters
    ----------
    shares : sequence of float
        For each look the share of the planned queries that was asked, ascending, at most 1.
    alpha : float
        The probability that any look rejects a true null hypothesis. For a one-sided test at the
        rate a, take half of the levels for alpha = 2 a.

    Returns
    -------
    ndarray of shape (n_looks,)

    Raises
    ------
    DataError
        If the shares do not ascend from above 0 to at most 1.

    References
    ----------
    .. [1] Lan, DeMets (1983). Discrete sequential boundaries for clinical trials. Biometrika
           70:659-663.
    .. [2] Armitage, McPherson, Rowe (1969). Repeated significance tests on accumulating data.
           Journal of the Royal Statistical Society A 132:235-244.

    Examples
    --------
    >>> look_levels([0.5, 1.0]).round(4)
    array([0.0031, 0.049 ])
    """
    base.check_probability("alpha", alpha)
    information = np.asarray(shares, dtype=np.float64)
    steps = np.diff(information, prepend=0.0)
    if not information.size or (steps <= 0.0).any() or not information[-1] <= 1.0 + 1e-12:
        raise DataError(f"shares must ascend from above 0 to at most 1; got {list(shares)}")
    # Half on each side, as in the paper: 2 - 2 Phi(z / sqrt(t)) of a one-sided test at alpha / 2.
    spent = 4.0 * ndtr(ndtri(alpha / 4.0) / np.sqrt(np.minimum(1.0, information)))
    increments = np.diff(spent, prepend=0.0)
    boundaries = _boundaries(tuple(information.tolist()), tuple(increments.tolist()))
    return np.asarray(2.0 * ndtr(-np.array(boundaries)))


@lru_cache(maxsize=1_024)  # each metric asks at each look
def _boundaries(information: tuple[float, ...], increments: tuple[float, ...]) -> tuple[float, ...]:
    """The boundary of each look in standard errors, by integrating over the looks before it."""
    from scipy.optimize import brentq

    def excess(boundary: float, due: float) -> float:
        """How much more than its part of alpha a look spends with this boundary, on both sides."""
        return 2.0 * float(ndtr((nodes - boundary * scale) / step) @ density) - due

    boundaries = []
    nodes, density = np.zeros(1), np.ones(1)  # before the first look the sum is 0
    earlier = 0.0
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    for share, increment in zip(information, increments, strict=True):
        step, scale = math.sqrt(share - earlier), math.sqrt(share)
        # If the farthest boundary still spends too much, there is nothing to spend.
        boundary = _FARTHEST
        if excess(_FARTHEST, increment) < 0.0:
            boundary = float(brentq(excess, 0.0, _FARTHEST, args=(increment,)))
        boundaries.append(boundary)
        inside = boundary * scale * points
        kernel = np.exp(-(((inside[:, np.newaxis] - nodes) / step) ** 2) / 2.0)
        arrived = kernel @ density / (step * math.sqrt(2.0 * math.pi))
        nodes, density = inside, arrived * weights * boundary * scale
        earlier = share
    return tuple(boundaries)


# -- evidence that a mean has got worse at some time, in a stream without an end


@dataclass(frozen=True, eq=False)
class ChangeEvidence:
    """The evidence after each batch that the mean has crossed a limit since some batch."""

    evalues: FloatArray
    starts: IndexArray


@dataclass(frozen=True)
class ChangeBets:
    """How much is staked on each score; the stakes are the same for all batches."""

    limit: float
    bounds: tuple[float, float]
    alternative: str = "less"
    variance: float | None = None
    alpha: float = 0.05

    def __post_init__(self) -> None:
        check_choice("alternative", self.alternative, ("greater", "less"))
        base.check_probability("alpha", self.alpha)

    def growth(self, scores: npt.ArrayLike | Column) -> FloatArray:
        """The logarithm by which a batch multiplies the capital of each row of stakes."""
        column = Column.of(scores)
        values = to_unit(column.values, self.bounds)
        low, width = self.bounds[0], self.bounds[1] - self.bounds[0]
        tested = min(1.0, max(0.0, (self.limit - low) / width))
        if self.alternative == "less":
            values, tested = 1.0 - values, 1.0 - tested
        most = _LARGEST_LOSS_OF_BATCH / tested if tested > 0.0 else math.inf
        known = math.inf if self.variance is None else self.variance / width**2
        spread = min(_LARGEST_VARIANCE, max(_SMALLEST_VARIANCE, known)) * np.array(SizeBets().sizes)
        stakes = np.minimum(np.sqrt(2.0 * math.log(2.0 / self.alpha) / spread), most)
        logarithms = np.log1p(stakes[:, np.newaxis] * (values - tested))
        return np.array([math.fsum(row) for row in (logarithms * column.counts).tolist()])


def combine_growth(batches: Sequence[FloatArray]) -> ChangeEvidence:
    """The mean capital of the bettors of all starts, weighted, and the start that has most of it.

    At each batch a new bettor begins, who doubts that the mean is within the limit from there on;
    the k-th begins with the part 1 / (k (k + 1)) of the capital, so that all of them together, for
    ever, have 1. A change after a long good time therefore costs a few more scores, and is not
    hidden by what was won or lost before.

    Parameters
    ----------
    batches : sequence of ndarray
        The `ChangeBets.growth` of each batch, in the order of time.

    References
    ----------
    .. [1] Shin, Ramdas, Rinaldo (2024). E-detectors: a nonparametric framework for sequential
           change detection. The New England Journal of Statistics in Data Science 2:229-260.
    .. [2] Shiryaev (1963), for the mixture over the time of the change.

    Examples
    --------
    >>> good, bad = [1.0, 0.9] * 25, [0.6, 0.7] * 25
    >>> bets = ChangeBets(0.9, (0, 1))
    >>> evidence = combine_growth([bets.growth(batch) for batch in (good, good, bad, bad)])
    >>> evidence.evalues[:3].round(1), int(evidence.starts[-1])
    (array([7.0000e-01, 5.0000e-01, 3.7455e+03]), 2)
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
