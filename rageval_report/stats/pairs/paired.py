"""Two pipelines on the same queries: the test, the interval, and whether one query undoes it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats import PAIRED_INTERVALS, TESTS
from rageval_report.stats._checks import check_alternative, check_probability
from rageval_report.stats.base import (
    Interval,
    PairedResult,
    check_level,
    check_resamples,
    check_seed,
    paired_differences,
    paired_values,
)
from rageval_report.stats.pairs.discordant import is_binary
from rageval_report.stats.sign_flips.lattice import is_lattice
from rageval_report.types import FloatArray


def paired_test(
    baseline: npt.ArrayLike,
    candidate: npt.ArrayLike,
    *,
    test: str = "auto",
    alternative: str = "two-sided",
    n_resamples: int = 9999,
    seed: int = 0,
) -> PairedResult:
    """Test whether the mean paired difference, candidate minus baseline, is zero.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score a query, both sides in the same order. Queries with NaN on a side are left out.
    test : str
        A member of ``TESTS``. "auto" takes McNemar's mid-p test for scores of 0 and 1, the exact
        sign-flip test otherwise, with mid-p if the differences are whole multiples of a step.
    alternative : {"two-sided", "less", "greater"}
        "greater": the candidate's mean is the larger one.
    n_resamples, seed : int
        Used only by the tests that draw: "sign-flip-mc" and "bootstrap".

    Returns
    -------
    PairedResult
        With p = 1 if no query differs, and if there is only one query: then no test is made, and
        the statistic is NaN.

    Raises
    ------
    UnknownNameError
        If there is no such test or alternative.
    DataError
        If no query has a score on both sides, or the scores do not suit the test.

    Examples
    --------
    >>> from rageval_report.stats import paired_test
    >>> result = paired_test([0, 0, 0, 1, 0, 0], [1, 1, 1, 0, 1, 1])
    >>> result.test, result.pvalue, (result.wins, result.ties, result.losses)
    ('mcnemar-midp', 0.125, (5, 0, 1))
    >>> paired_test([0.31, 0.22, 0.17], [0.31, 0.22, 0.17]).pvalue
    1.0
    """
    check_alternative(alternative)
    resamples, start = check_resamples(n_resamples), check_seed(seed)
    member = None if test == "auto" else TESTS[test]  # an unknown test is said before bad data is
    before, after = _pairs(baseline, candidate)
    differences = paired_differences(before, after)
    if member is None:
        test = _test_for(before, after, differences)
        member = TESTS[test]
    wins, losses = int(np.count_nonzero(differences > 0)), int(np.count_nonzero(differences < 0))
    if differences.size == 1:
        statistic, pvalue = math.nan, 1.0
    elif wins == losses == 0:
        statistic, pvalue = 0.0, 1.0
    else:
        statistic, pvalue = member(
            before, after, alternative=alternative, n_resamples=resamples, seed=start
        )
    ties = differences.size - wins - losses
    mean = float(differences.mean())
    return PairedResult(mean, statistic, pvalue, test, differences.size, wins, ties, losses)


def paired_interval(
    baseline: npt.ArrayLike,
    candidate: npt.ArrayLike,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Interval:
    """Interval of the mean paired difference, candidate minus baseline.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score a query, both sides in the same order. Queries with NaN on a side are left out.
    method : str
        A member of ``PAIRED_INTERVALS``. "auto" takes Bonett and Price's interval for scores of 0
        and 1, and otherwise inverts the sign-flip test.
    confidence_level : float
        Between 0 and 1.
    n_resamples, seed : int
        Used only by the methods that draw.

    Returns
    -------
    Interval
        Limits are NaN, with a note, if there is only one query. Where no query differs a note says
        so: shares keep an interval with a width, that of other scores has none.

    Raises
    ------
    UnknownNameError
        If there is no such method.
    DataError
        If no query has a score on both sides, or the scores do not suit the method.

    Examples
    --------
    >>> from rageval_report.stats import paired_interval
    >>> interval = paired_interval([0] * 20, [1] * 6 + [0] * 14)
    >>> interval.method, round(interval.low, 3), round(interval.high, 3)
    ('bonett-price', 0.048, 0.497)
    """
    level = check_level(confidence_level)
    resamples, start = check_resamples(n_resamples), check_seed(seed)
    member = None if method == "auto" else PAIRED_INTERVALS[method]
    before, after = _pairs(baseline, candidate)
    if member is None:
        method = "bonett-price" if is_binary(before, after) else "sign-flip"
        member = PAIRED_INTERVALS[method]
    if before.size == 1:
        estimate = float(after[0] - before[0])
        notes = ("one query in common: no interval",)
        return Interval(estimate, math.nan, math.nan, math.nan, method, level, notes)
    found = member(before, after, confidence_level=level, n_resamples=resamples, seed=start)
    if paired_differences(before, after).any():
        return found
    return replace(found, notes=(_identical(found, before.size),))


def _identical(found: Interval, n: int) -> str:
    """What the interval of scores that never differ is: 0/1 scores have one, others have none."""
    if found.high > found.low:
        return f"identical on all {n} pairs; the interval holds what so few may have missed"
    return f"identical on all {n} pairs: no spread to make an interval of, so it has no width"


def fragile(
    baseline: npt.ArrayLike,
    candidate: npt.ArrayLike,
    *,
    test: str = "auto",
    alpha: float = 0.05,
    n_resamples: int = 9999,
    seed: int = 0,
) -> bool:
    """Whether one more query, going against the result, would undo a significant difference.

    The query with the largest difference seen is entered once more, turned against the observed
    sign, and the test is made again. With lopsided differences a result that is significant and not
    fragile can be trusted down to ten queries, where significance alone cannot.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score a query, both sides in the same order.
    test : str
        A member of ``TESTS``, or "auto" as in `paired_test`; two-sided.
    alpha : float
        The level of significance.
    n_resamples, seed : int
        Used only by the tests that draw.

    Returns
    -------
    bool
        False as well where nothing is significant in the first place.

    Examples
    --------
    >>> from rageval_report.stats.pairs.paired import fragile
    >>> fragile([0] * 6, [1] * 6), fragile([0] * 20, [1] * 20)
    (True, False)
    """
    check_probability("alpha", alpha)
    before, after = _pairs(baseline, candidate)
    result = paired_test(before, after, test=test, n_resamples=n_resamples, seed=seed)
    if result.pvalue > alpha:
        return False
    worst = int(np.abs(after - before).argmax())
    pair = sorted((before[worst], after[worst]), reverse=result.difference > 0)
    before, after = np.append(before, pair[0]), np.append(after, pair[1])
    stressed = paired_test(before, after, test=result.test, n_resamples=n_resamples, seed=seed)
    return stressed.pvalue > alpha


def _pairs(baseline: npt.ArrayLike, candidate: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    before, after = paired_values(baseline, candidate)
    if not before.size:
        raise DataError(
            "no query has a score on both sides; check that both pipelines scored the same queries"
        )
    return before, after


def _test_for(before: FloatArray, after: FloatArray, differences: FloatArray) -> str:
    if is_binary(before, after):
        return "mcnemar-midp"
    return "sign-flip-midp" if is_lattice(differences) else "sign-flip"
