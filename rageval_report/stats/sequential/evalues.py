"""E-values: the evidence against a mean after each score, and a family of them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats.base import Alternative, check_alternative, check_probability
from rageval_report.stats.sequential.bets import Bets, SizeBets
from rageval_report.stats.sequential.capital import Bettor
from rageval_report.stats.sequential.unit_scores import UnitScores
from rageval_report.types import FloatArray

# Larger e-values are cut to this, so that sums of them stay finite.
_LARGEST = 1e300


def mean_evalues(
    values: npt.ArrayLike,
    mean: float,
    *,
    bounds: tuple[float, float],
    alternative: Alternative = "two-sided",
    bets: Bets | None = None,
    alpha: float = 0.05,
) -> FloatArray:
    """The e-value against a mean after each score; it may be looked at whenever you like.

    Reject the mean as soon as the e-value is at least 1 / alpha. If the mean is true, this ever
    happens with a probability of at most alpha.

    Parameters
    ----------
    values : array-like of shape (n,)
        Scores in the order in which they came; NaN is left out. The order must not depend on the
        scores: ask the queries in a random order.
    mean : float
        The hypothesis, on the scale of the scores.
    bounds : tuple of float
        The range that the scores can have.
    alternative : {"two-sided", "greater", "less"}
        "greater": the hypothesis is that the mean is `mean` or less.
    bets : SizeBets, EffectBets or PlugInBets, optional
        The stakes, chosen before the first score; `SizeBets.hedged` if nothing was planned.
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
    """
    check_alternative(alternative)
    check_probability("alpha", alpha)
    scores = UnitScores.of(values, bounds)
    return to_evalues(log_evalues(scores, mean, alternative, bets or SizeBets.hedged(), alpha))


def paired_evalues(
    baseline: npt.ArrayLike,
    candidate: npt.ArrayLike,
    *,
    bounds: tuple[float, float],
    difference: float = 0.0,
    alternative: Alternative = "two-sided",
    bets: Bets | None = None,
    alpha: float = 0.05,
) -> FloatArray:
    """The e-value against a mean paired difference after each query.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n,)
        One score per query, both sides in the order in which the queries were asked. Queries with
        NaN on a side are left out.
    bounds : tuple of float
        The range that the scores of each side can have.
    difference : float
        The hypothesis. For "not worse by the margin" it is minus the margin, with the alternative
        "greater".
    alternative, bets, alpha
        As for `mean_evalues`.

    Returns
    -------
    ndarray
        One e-value per complete pair.

    Examples
    --------
    >>> evalues = paired_evalues([0.5] * 40, [0.9] * 40, bounds=(0, 1))
    >>> int((evalues >= 20).argmax()) + 1  # the first look at which it is certain enough
    15
    """
    check_alternative(alternative)
    check_probability("alpha", alpha)
    scores = UnitScores.of_pairs(baseline, candidate, bounds)
    return to_evalues(
        log_evalues(scores, difference, alternative, bets or SizeBets.hedged(), alpha)
    )


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
    tests = np.minimum(np.where(np.isnan(family), _LARGEST, family), _LARGEST)
    sizes = np.arange(1, len(tests) + 1).reshape(-1, *[1] * (tests.ndim - 1))
    # The worst subset for a test holds, besides it, the smallest ones of the family.
    smallest = np.cumsum(np.sort(tests, axis=0), axis=0)
    smallest = np.concatenate((np.zeros_like(smallest[:1]), smallest[:-1]))
    adjusted = tests.copy()
    for size, sum_of_others in zip(sizes, smallest, strict=True):
        adjusted = np.minimum(adjusted, (tests + sum_of_others) / size)
    return np.where(np.isnan(family), np.nan, adjusted)


def log_evalues(
    scores: UnitScores, mean: float, alternative: Alternative, bets: Bets, alpha: float
) -> FloatArray:
    """The logarithms of `mean_evalues`, of scores that are checked.

    Raises
    ------
    DataError
        If the mean lies outside the bounds.
    """
    tested = scores.to_unit(mean)
    if not 0.0 <= tested <= 1.0:
        raise DataError(
            f"the mean to test must lie within the bounds {scores.low:g} to {scores.high:g}; "
            f"got {mean:g}"
        )
    above = Bettor.of(scores.values, bets, alpha)
    below = above.mirrored()
    if alternative == "greater":
        return above.log_capital_above(tested)
    if alternative == "less":
        return below.log_capital_above(1.0 - tested)
    larger = np.maximum(above.log_capital_above(tested), below.log_capital_above(1.0 - tested))
    return larger - math.log(2.0)


def to_evalues(logarithms: FloatArray) -> FloatArray:
    """E-values from their logarithms, at most 1e300.

    Examples
    --------
    >>> to_evalues(np.array([0.0, 1e4]))
    array([1.e+000, 1.e+300])
    """
    return np.exp(np.minimum(logarithms, math.log(_LARGEST)))
