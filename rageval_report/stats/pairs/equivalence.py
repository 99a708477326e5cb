"""Saying "no difference": a test that the difference is smaller than a margin one cares about."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats._checks import check_positive, check_probability
from rageval_report.stats.base import paired_differences, paired_values
from rageval_report.stats.pairs.discordant import discordant_pairs, is_binary
from rageval_report.stats.pairs.paired_intervals import bonett_price_centre
from rageval_report.stats.pairs.spread import rounding, standard_deviation
from rageval_report.types import FloatArray

CLAIMS = ("equivalence", "non-inferior")


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
        The interval of the difference at level 1 - 2 alpha, which lies within the margin where the
        claim is shown; NaN for one query.
    margin : float
        The largest difference that does not matter.
    alternative : str
        The claim: "equivalence" or "non-inferior".
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
    alternative: str
    difference: float
    n: int


@dataclass(frozen=True, slots=True)
class _Legs:
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
    alternative: str = "equivalence",
) -> EquivalenceResult:
    """Test whether two pipelines differ by less than a margin: two one-sided tests.

    Scores of 0 and 1 use the standard error of Bonett and Price, all others the paired t test. If
    all differences are equal the exact sign-flip p-value, 2^(-n), stands in for a p of zero.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score a query, both sides in the same order. Queries with NaN on a side are left out.
    margin : float
        The largest difference that does not matter, above 0, in the unit of the scores.
    alpha : float
        The level of significance.
    alternative : {"equivalence", "non-inferior"}
        "non-inferior": the candidate is not worse by the margin or more, where larger scores are
        better; where smaller ones are, exchange the sides.

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
    if alternative not in CLAIMS:
        raise UnknownNameError("claim of equivalence", alternative, CLAIMS)
    check_positive("margin", margin)
    check_probability("alpha", alpha)
    before, after = paired_values(baseline, candidate)
    if not before.size:
        raise DataError("no query has a score on both sides: nothing can be called equivalent")
    differences = paired_differences(before, after)
    if differences.size == 1:
        legs = _Legs(1.0, 1.0, math.nan, math.nan)
    elif is_binary(before, after):
        legs = _legs_of_shares(before, after, margin, alpha)
    else:
        legs = _legs_of_means(differences, rounding(before, after), margin, alpha)
    pvalue = legs.below if alternative == "non-inferior" else max(legs.below, legs.above)
    return EquivalenceResult(
        pvalue,
        pvalue <= alpha,
        legs.low,
        legs.high,
        float(margin),
        alternative,
        float(differences.mean()),
        differences.size,
    )


def _legs_of_shares(before: FloatArray, after: FloatArray, margin: float, alpha: float) -> _Legs:
    centre, standard_error = bonett_price_centre(discordant_pairs(before, after, "equivalence"))
    reach = float(ndtri(1 - alpha)) * standard_error
    return _Legs(
        float(ndtr(-(centre + margin) / standard_error)),
        float(ndtr((centre - margin) / standard_error)),
        max(-1.0, centre - reach),
        min(1.0, centre + reach),
    )


def _legs_of_means(differences: FloatArray, tolerance: float, margin: float, alpha: float) -> _Legs:
    n, mean = differences.size, float(differences.mean())
    deviation = standard_deviation(differences, tolerance)
    if deviation == 0.0:
        same_side = 0.5**n
        below, above = (same_side if inside else 1.0 for inside in (-margin < mean, mean < margin))
        return _Legs(below, above, mean, mean)
    standard_error = deviation / math.sqrt(n)
    reach = float(stdtrit(n - 1, 1 - alpha)) * standard_error
    return _Legs(
        float(stdtr(n - 1, -(mean + margin) / standard_error)),
        float(stdtr(n - 1, (mean - margin) / standard_error)),
        mean - reach,
        mean + reach,
    )
