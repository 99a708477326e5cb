"""Two pipelines on the same queries: the test, the interval, and whether one query undoes it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats import PAIRED_INTERVALS, TESTS
from rageval_report.stats._entries import PairedTest
from rageval_report.stats.base import (
    Alternative,
    Interval,
    PairedResult,
    check_alternative,
    check_level,
    check_probability,
    check_resamples,
    check_seed,
)
from rageval_report.stats.pairs.independent_pairs import independent_pairs
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.sign_flips.inversion import limits_that_agree


def paired_test(
    baseline: npt.ArrayLike,
    candidate: npt.ArrayLike,
    *,
    test: str = "auto",
    alternative: Alternative = "two-sided",
    n_resamples: int = 9999,
    seed: int = 0,
    clusters: npt.ArrayLike | None = None,
) -> PairedResult:
    """Test whether the mean paired difference, candidate minus baseline, is zero.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score per query, both sides in the same order. Queries with NaN on a side are left out.
    test : str
        A member of ``TESTS``. "auto" takes McNemar's mid-p test for scores of 0 and 1, the exact
        sign-flip test otherwise, with mid-p if the differences are whole multiples of a step.
    alternative : {"two-sided", "less", "greater"}
        "greater": the candidate's mean is the larger one.
    n_resamples, seed : int
        Used only by the tests that draw: "sign-flip-mc" and "bootstrap".
    clusters : array-like of shape (n_queries,), optional
        The cluster of each query, if some are not independent. The result is then of clusters:
        ``n``, ``wins``, ``ties`` and ``losses`` count them.

    Returns
    -------
    PairedResult
        With p = 1 if no query differs, and if there is only one query: then no test is made, and
        the statistic is NaN. What the statistic is says ``TESTS[test].statistic``.

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
    _check_test_options(test, alternative, n_resamples, seed)
    pairs = independent_pairs(baseline, candidate, clusters)
    return run_test(pairs, test=test, alternative=alternative, n_resamples=n_resamples, seed=seed)


def run_test(
    pairs: PairedScores,
    *,
    test: str = "auto",
    alternative: Alternative = "two-sided",
    n_resamples: int = 9999,
    seed: int = 0,
) -> PairedResult:
    """`paired_test` of pairs that are complete, so that what is known of them is not made again.

    Examples
    --------
    >>> run_test(PairedScores.of([0, 0, 0, 1, 0, 0], [1, 1, 1, 0, 1, 1])).pvalue
    0.125
    """
    resamples, start = _check_test_options(test, alternative, n_resamples, seed)
    if pairs.unit > 1.0:
        in_units = run_test(
            pairs.in_units,
            test=test,
            alternative=alternative,
            n_resamples=n_resamples,
            seed=seed,
        )
        return _result_times(in_units, pairs.unit)
    if test == "auto":
        test = _default_test(pairs)
    wins, losses = pairs.n_positive, pairs.n_negative
    # One pair has two patterns of signs, both as extreme as the one observed.
    if pairs.n == 1:
        statistic, pvalue = math.nan, 1.0
    elif wins == losses == 0:
        statistic, pvalue = 0.0, 1.0
    else:
        statistic, pvalue = TESTS[test](
            pairs, alternative=alternative, n_resamples=resamples, seed=start
        )
    ties = pairs.n - wins - losses
    return PairedResult(pairs.mean, statistic, pvalue, test, pairs.n, wins, ties, losses)


def _result_times(result: PairedResult, unit: float) -> PairedResult:
    """The result of scores that are this many times as large."""
    entry = TESTS.get(result.test)
    is_mean = isinstance(entry, PairedTest) and entry.statistic == "mean difference"
    statistic = result.statistic * unit if is_mean else result.statistic
    return replace(result, difference=result.difference * unit, statistic=statistic)


def smallest_pvalue(pairs: PairedScores, test: str) -> float:
    """The smallest p-value that a test can have on pairs of which as many differ.

    Examples
    --------
    >>> smallest_pvalue(PairedScores.of([0] * 9, [1] * 5 + [0] * 4), "mcnemar-midp")
    0.03125
    """
    if not pairs.n_changed:
        return 1.0
    entry = TESTS.get(test)
    if not isinstance(entry, PairedTest) or entry.smallest is None:
        return 0.0
    return entry.smallest(pairs.n_changed)


def paired_interval(
    baseline: npt.ArrayLike,
    candidate: npt.ArrayLike,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
    clusters: npt.ArrayLike | None = None,
) -> Interval:
    """Interval of the mean paired difference, candidate minus baseline.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score per query, both sides in the same order. Queries with NaN on a side are left out.
    method : str
        A member of ``PAIRED_INTERVALS``. "auto" takes Bonett and Price's interval for scores of 0
        and 1, and otherwise inverts the sign-flip test.
    confidence_level : float
        Between 0 and 1.
    n_resamples, seed : int
        Used only by the methods that draw.
    clusters : array-like of shape (n_queries,), optional
        The cluster of each query, if some are not independent.

    Returns
    -------
    Interval
        Limits are NaN, with a note, if there is only one query. If no query differs, a note says
        so: scores of 0 and 1 keep an interval with a width, the interval of other scores has none.

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
    _check_interval_options(method, confidence_level, n_resamples, seed)
    return find_interval(
        independent_pairs(baseline, candidate, clusters),
        method=method,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
    )


def find_interval(
    pairs: PairedScores,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Interval:
    """`paired_interval` of pairs that are complete, so that what is known is not made again.

    Examples
    --------
    >>> find_interval(PairedScores.of([0] * 20, [1] * 6 + [0] * 14)).method
    'bonett-price'
    """
    level, resamples, start = _check_interval_options(method, confidence_level, n_resamples, seed)
    is_default = method == "auto"
    if is_default:
        method = "bonett-price" if pairs.is_binary else "sign-flip"
    # With one pair there is no spread to build on, and no sign-flip test rejects anything.
    if pairs.n == 1:
        estimate = pairs.mean
        notes = ("one query in common: no interval",)
        return Interval(estimate, math.nan, math.nan, math.nan, method, level, notes)
    interval = PAIRED_INTERVALS[method](
        pairs.in_units, confidence_level=level, n_resamples=resamples, seed=start
    ).times(pairs.unit)
    if pairs.n_changed:
        return _agree_with_test(interval, pairs) if is_default else interval
    return replace(interval, notes=(_note_of_identical(interval, pairs.n),))


def _agree_with_test(interval: Interval, pairs: PairedScores) -> Interval:
    """The default interval, which never contradicts the default test.

    The inverted sign-flip test cannot. Bonett and Price's interval disagrees with McNemar's mid-p
    in at most 0.7 % of tables; there its nearer limit is moved to the other side of zero.
    """
    if not pairs.is_binary:
        return interval
    rejected = run_test(pairs).pvalue <= round(1.0 - interval.confidence_level, 12)
    limits = (interval.low, interval.high, interval.estimate)
    low, high, notes = limits_that_agree(*limits, rejected=rejected)
    return replace(interval, low=low, high=high, notes=interval.notes + notes)


def interval_of_test(test: str) -> str:
    """The interval that belongs to a test: a member of ``PAIRED_INTERVALS``, or "auto".

    Raises
    ------
    DataError
        If the entry of the test names no interval: no other test's interval stands in for it.

    Examples
    --------
    >>> interval_of_test("t"), interval_of_test("auto")
    ('t', 'auto')
    """
    if test == "auto":
        return "auto"
    entry = TESTS[test]
    interval = entry.interval if isinstance(entry, PairedTest) else None
    if interval is None:
        raise DataError(
            f"the test {test!r} has no interval of its own; choose one with interval=, "
            f'or name it in the entry: TESTS.add({test!r}, PairedTest(function, interval="t"))'
        )
    return interval


def fragile(
    baseline: npt.ArrayLike,
    candidate: npt.ArrayLike,
    *,
    test: str = "auto",
    alpha: float = 0.05,
    n_resamples: int = 9999,
    seed: int = 0,
    clusters: npt.ArrayLike | None = None,
) -> bool:
    """Whether one more query, going against the result, would undo a significant difference.

    The query with the largest difference is entered once more, turned against the observed sign,
    and the test is made again. It sees only losses that occurred: where rare large losses are not
    among the queries, a result may be wrong without being fragile.

    Parameters
    ----------
    baseline, candidate, test, n_resamples, seed, clusters
        As in `paired_test`; the test is two-sided. With clusters, one more cluster is entered.
    alpha : float
        The level of significance.

    Returns
    -------
    bool
        False as well if the difference is not significant in the first place.

    Examples
    --------
    >>> from rageval_report.stats.pairs.paired import fragile
    >>> fragile([0] * 6, [1] * 6), fragile([0] * 20, [1] * 20)
    (True, False)
    """
    pairs = independent_pairs(baseline, candidate, clusters)
    return is_fragile(pairs, test=test, alpha=alpha, n_resamples=n_resamples, seed=seed)


def is_fragile(
    pairs: PairedScores,
    *,
    test: str = "auto",
    alpha: float = 0.05,
    n_resamples: int = 9999,
    seed: int = 0,
) -> bool:
    """`fragile` of pairs that are complete, so that what is known of them is not made again.

    If the pairs are clusters, one more cluster is entered.

    Examples
    --------
    >>> is_fragile(PairedScores.of([0] * 6, [1] * 6))
    True
    """
    check_probability("alpha", alpha)
    result = run_test(pairs, test=test, n_resamples=n_resamples, seed=seed)
    if result.pvalue > alpha:
        return False
    # As large as the largest difference seen, because half of the range or all of it is not defined
    # for metrics without bounds.
    stressed_pairs = pairs.stressed(is_loss=result.difference > 0)
    # The test stays the one that "auto" took, so that the extra unit alone makes the difference.
    stressed = run_test(stressed_pairs, test=result.test, n_resamples=n_resamples, seed=seed)
    return stressed.pvalue > alpha


def _check_test_options(
    test: str, alternative: str, n_resamples: int, seed: int
) -> tuple[int, int]:
    """Check the options before the data, so that a misspelt name is reported first."""
    check_alternative(alternative)
    if test != "auto":
        # The look-up raises the error that lists the known names.
        TESTS[test]
    return check_resamples(n_resamples), check_seed(seed)


def _check_interval_options(
    method: str, confidence_level: float, n_resamples: int, seed: int
) -> tuple[float, int, int]:
    if method != "auto":
        PAIRED_INTERVALS[method]
    return check_level(confidence_level), check_resamples(n_resamples), check_seed(seed)


# Not the tests of ranks and signs: with lopsided differences of mean zero Wilcoxon's and the sign
# test rejected in 19 to 100 % of simulated samples of 500 queries, the sign-flip test in about 5 %.
def _default_test(pairs: PairedScores) -> str:
    if pairs.is_binary:
        return "mcnemar-midp"
    return "sign-flip" if pairs.step is None else "sign-flip-midp"


def _note_of_identical(interval: Interval, n: int) -> str:
    """What the interval of scores that never differ is: 0/1 scores have one, others have none."""
    if interval.high > interval.low:
        return f"identical on all {n} pairs; the interval covers differences that so few may miss"
    return f"identical on all {n} pairs: without spread the interval has no width"
