"""Saying "no difference": a test that the difference is smaller than a margin that matters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from rageval_report.errors import check_choice
from rageval_report.stats.base import check_positive, check_probability
from rageval_report.stats.pairs.paired_intervals import bonett_price_centre
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.pairs.spread import standard_deviation
from rageval_report.stats.sign_flips.inversion import pvalue_of_shift, sign_flip

Claim: TypeAlias = Literal["equivalence", "non-inferior"]
CLAIMS: tuple[Claim, ...] = get_args(Claim)


@dataclass(frozen=True, slots=True)
class EquivalenceResult:
    """A test that a difference lies within a margin.

    Parameters
    ----------
    pvalue : float
        Small if the difference lies within the margin.
    equivalent : bool
        Whether the claim is shown: p at most alpha.
    low, high : float
        The interval of the difference at level 1 - 2 alpha, which lies within the margin if the
        claim is shown; NaN for one query.
    margin : float
        The largest difference that does not matter.
    alternative : {"equivalence", "non-inferior"}
        The claim, as in `equivalence_test`.
    difference : float
        The mean difference, candidate minus baseline.
    n : int
        Pairs in which both scores are present.
    """

    pvalue: float
    equivalent: bool
    low: float
    high: float
    margin: float
    alternative: Claim
    difference: float
    n: int


@dataclass(frozen=True, slots=True)
class _OneSidedTests:
    """The p-values of "not far below" and of "not far above", and the interval."""

    below: float
    above: float
    low: float
    high: float


def equivalence_test(
    baseline: npt.ArrayLike,
    candidate: npt.ArrayLike,
    margin: float,
    *,
    alpha: float = 0.05,
    alternative: Claim = "equivalence",
) -> EquivalenceResult:
    """Test whether two pipelines differ by less than a margin: two one-sided tests.

    Scores of 0 and 1 use the standard error of Bonett and Price, all others the paired t test. If
    all differences are equal the exact sign-flip p-value, 2^(-n), stands in for a p of zero.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score per query, both sides in the same order. Queries with NaN on a side are left out.
    margin : float
        The largest difference that does not matter, above 0, in the unit of the scores.
    alpha : float
        The level of significance.
    alternative : {"equivalence", "non-inferior"}
        "non-inferior": the candidate is not worse by the margin or more, if larger scores are
        better; if smaller ones are, exchange the sides.

    Returns
    -------
    EquivalenceResult

    Raises
    ------
    DataError
        If no query has a score on both sides, or the margin is not above 0.
    UnknownNameError
        If the alternative is neither of the two.

    References
    ----------
    .. [1] Schuirmann (1987). A comparison of the two one-sided tests procedure and the power
           approach for assessing the equivalence of average bioavailability. Journal of
           Pharmacokinetics and Biopharmaceutics 15:657-680.

    Examples
    --------
    >>> from rageval_report.stats import equivalence_test
    >>> result = equivalence_test([0.5, 0.6, 0.7, 0.8], [0.51, 0.59, 0.71, 0.8], margin=0.05)
    >>> result.equivalent, round(result.low, 4), round(result.high, 4)
    (True, -0.0088, 0.0138)
    """
    check_choice("alternative", alternative, CLAIMS)
    pairs = PairedScores.of(baseline, candidate)
    return run_equivalence(pairs, margin, alpha=alpha, alternative=alternative)


def run_equivalence(
    pairs: PairedScores, margin: float, *, alpha: float = 0.05, alternative: Claim = "equivalence"
) -> EquivalenceResult:
    """`equivalence_test` of pairs that are complete, and may be clusters.

    Clusters are tested by the sign-flip test, after the margin has been subtracted from every
    query, and the interval is its inversion.

    Examples
    --------
    >>> run_equivalence(PairedScores.of([0] * 20, [0.1, -0.1] * 10), 0.1).equivalent
    True
    """
    check_positive("margin", margin)
    check_probability("alpha", alpha)
    if pairs.n == 1:
        tests = _OneSidedTests(1.0, 1.0, math.nan, math.nan)
    elif pairs.sizes is not None:
        tests = _flip_at_margin(pairs, margin, alpha)
    elif pairs.is_binary:
        tests = _test_shares(pairs, margin, alpha)
    else:
        tests = _test_means(pairs, margin, alpha)
    # Both one-sided tests must reject, so the larger of the two p-values decides.
    pvalue = tests.below if alternative == "non-inferior" else max(tests.below, tests.above)
    return EquivalenceResult(
        pvalue,
        pvalue <= alpha,
        tests.low,
        tests.high,
        float(margin),
        alternative,
        float(pairs.differences.mean()),
        pairs.n,
    )


def _test_shares(pairs: PairedScores, margin: float, alpha: float) -> _OneSidedTests:
    centre, standard_error = bonett_price_centre(pairs.count_discordant("equivalence"))
    # A one-sided quantile: the interval at level 1 - 2 alpha lies within the margin exactly if both
    # tests reject at alpha.
    reach = float(ndtri(1 - alpha)) * standard_error
    return _OneSidedTests(
        float(ndtr(-(centre + margin) / standard_error)),
        float(ndtr((centre - margin) / standard_error)),
        max(-1.0, centre - reach),
        min(1.0, centre + reach),
    )


def _flip_at_margin(pairs: PairedScores, margin: float, alpha: float) -> _OneSidedTests:
    interval = sign_flip(pairs, confidence_level=1 - 2 * alpha)
    return _OneSidedTests(
        pvalue_of_shift(pairs, -margin, "greater"),
        pvalue_of_shift(pairs, margin, "less"),
        interval.low,
        interval.high,
    )


def _test_means(pairs: PairedScores, margin: float, alpha: float) -> _OneSidedTests:
    n, mean = pairs.n, float(pairs.differences.mean())
    deviation = standard_deviation(pairs.differences, pairs.tolerance)
    if deviation == 0.0:  # the t statistic would be infinite; only one sign pattern is as extreme
        same_side = 0.5**n
        below, above = (same_side if inside else 1.0 for inside in (-margin < mean, mean < margin))
        return _OneSidedTests(below, above, mean, mean)
    standard_error = deviation / math.sqrt(n)
    reach = float(stdtrit(n - 1, 1 - alpha)) * standard_error
    return _OneSidedTests(
        float(stdtr(n - 1, -(mean + margin) / standard_error)),
        float(stdtr(n - 1, (mean - margin) / standard_error)),
        mean - reach,
        mean + reach,
    )
