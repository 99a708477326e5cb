"""Tests and intervals of a paired difference of any scores: sign flips, t, ranks, resampling.

Each test takes `Pairs` and an alternative ("two-sided", "less", or "greater": the candidate's mean
is the larger one), and returns the statistic and the p-value. Each interval takes `Pairs` and a
confidence level. Both are about the differences of independent units.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy.special import stdtr

from rageval_report.stats.base import Alternative, Interval
from rageval_report.stats.binary import coin_pvalue
from rageval_report.stats.bootstrap import bootstrap_interval, bootstrap_means
from rageval_report.stats.bootstrap import student_t as student_t_interval
from rageval_report.stats.columns import Column, merge_ties
from rageval_report.stats.sign_flips import sign_flip_interval, sign_flip_pvalue
from rageval_report.stats.units import mean_error
from rageval_report.types import FloatArray

if TYPE_CHECKING:
    from rageval_report.stats.pairs import Pairs

ZeroMethod: TypeAlias = Literal["wilcox", "pratt", "zsplit"]

# Resampled means this close to the observed one, relative to the mean magnitude, are ties. Sums of
# doubles in another order differ by about 1e-13; without a tolerance ties would be lost at random.
RESAMPLING_TOLERANCE = 1e-9
# Random signs in memory at a time: 16 MiB.
_BLOCK = 2**21


# -- the sign-flip test


def sign_flip(
    pairs: Pairs, *, alternative: Alternative, midp: bool = False, **_options: object
) -> tuple[float, float]:
    """The exact sign-flip test; patterns that tie with the observed one count in full, or half."""
    return pairs.mean, sign_flip_pvalue(pairs.units, alternative=alternative, midp=midp)


def inverted_sign_flip(pairs: Pairs, *, confidence_level: float, **_options: object) -> Interval:
    """The mean differences that the default sign-flip test does not reject."""
    return sign_flip_interval(pairs.units, confidence_level=confidence_level)


def sign_flip_mc(
    pairs: Pairs, *, alternative: Alternative, n_resamples: int, seed: int
) -> tuple[float, float]:
    """Sign-flip test by Monte Carlo: the observed mean among means of randomly flipped differences.

    The p-value is (b + 1) / (n_resamples + 1) if b sign patterns are at least as extreme as the
    observed one; a mean that equals the observed one up to rounding is as extreme.

    References
    ----------
    .. [1] Phipson, Smyth (2010). Permutation p-values should never be zero. Statistical
           Applications in Genetics and Molecular Biology 9:39.
    """
    sizes, gains, losses = signed_sizes(pairs.units, pairs.tolerance)
    counts = (gains + losses).astype(np.int64)
    rng = np.random.default_rng(seed)
    rows, means = max(1, _BLOCK // sizes.size), np.empty(n_resamples)
    for start in range(0, n_resamples, rows):
        part = means[start : start + rows]
        part[:] = (2.0 * rng.binomial(counts, 0.5, (part.size, sizes.size)) - counts) @ sizes
    # The law is symmetric: mirrored draws make exchanging the sides exchange the alternatives.
    means *= (-1.0 if alternative == "less" else 1.0) / pairs.n
    return pairs.mean, _resampling_pvalue(pairs, means, alternative)


# -- the t test


def student_t(pairs: Pairs, *, alternative: Alternative, **_options: object) -> tuple[float, float]:
    """Paired t test: the mean difference over its standard error, on n - 1 degrees of freedom.

    Of clusters the standard error is that of CR2, with Bell and McCaffrey's degrees of freedom. If
    all differences are equal the t statistic is infinite, which would make p = 0 from two queries;
    the exact sign-flip p-value, 2^(1 - n), stands in.
    """
    mean, n = pairs.mean, pairs.n
    if pairs.std == 0.0:
        wins = n if mean > 0 else 0
        return math.copysign(math.inf, mean), coin_pvalue(wins, n - wins, alternative)
    error, degrees = mean_error(pairs.units)
    t = mean / error
    tail = {"two-sided": -abs(t), "less": t, "greater": -t}[alternative]
    one_sided = float(stdtr(degrees, tail))
    return t, 2.0 * one_sided if alternative == "two-sided" else one_sided


def t_interval(pairs: Pairs, *, confidence_level: float, **_options: object) -> Interval:
    """The t interval of the mean difference, of clusters with CR2's standard error."""
    return student_t_interval(pairs.units, confidence_level)


# -- signs and ranks


def sign(pairs: Pairs, *, alternative: Alternative, **_options: object) -> tuple[float, float]:
    """Exact sign test: wins against losses, ties left out; the statistic is the number of wins.

    It tests whether a win is as likely as a loss, which is not whether the means are equal.
    """
    return float(pairs.wins), coin_pvalue(pairs.wins, pairs.losses, alternative)


def signed_rank(
    pairs: Pairs, *, alternative: Alternative, zeros: ZeroMethod = "wilcox", **_options: object
) -> tuple[float, float]:
    """Wilcoxon's signed-rank test by SciPy, after magnitudes that only rounding separates are tied.

    It tests whether the differences are symmetric about zero, not whether their mean is zero: with
    lopsided differences it rejects a true mean difference of zero far too often. The statistic is
    the rank sum of the positive differences; if two-sided, the smaller rank sum of the two signs.

    Pairs without a difference are left out ("wilcox"), ranked first and then left out ("pratt"), or
    their ranks go half to each sign ("zsplit"). Pratt's many zeros amplify any asymmetry: with 70 %
    of ties and a true mean difference of zero it rejected at 5 % in 40 % of simulated data sets of
    30 queries, and in 86 % of 100 queries.
    """
    from scipy import stats

    sizes, gains, losses = signed_sizes(pairs.units, pairs.tolerance)
    values, counts = np.append(-sizes[::-1], sizes), np.append(losses[::-1], gains)
    tied = replace(pairs.units, values=values, counts=counts).listed("a Wilcoxon test")
    result = stats.wilcoxon(tied, zero_method=zeros, alternative=alternative)
    return float(result.statistic), float(result.pvalue)


def signed_sizes(column: Column, tolerance: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The distinct magnitudes, and how often each occurs as a gain, and as a loss or without sign.

    Magnitudes that only rounding separates are one.

    Examples
    --------
    >>> signed_sizes(Column.of([0.5, 0.2, 0.1 - 0.3, 0.0]), 1e-12)
    (array([0. , 0.2, 0.5]), array([0., 1., 1.]), array([1., 1., 0.]))
    """
    order = np.argsort(np.abs(column.values), kind="stable")
    sizes, counts = np.abs(column.values)[order], column.counts[order]
    distinct, totals = merge_ties(sizes, counts, tolerance)
    places = np.searchsorted(distinct + tolerance, sizes)
    gains = np.bincount(places, np.where(column.values[order] > 0.0, counts, 0.0), distinct.size)
    return distinct, gains.astype(np.float64), totals - gains


# -- the bootstrap


def bootstrap(
    pairs: Pairs, *, alternative: Alternative, n_resamples: int, seed: int
) -> tuple[float, float]:
    """Paired bootstrap test: the observed mean among means resampled from shifted differences.

    The differences are shifted to a mean of zero, the null hypothesis, and queries are drawn with
    replacement; the p-value counts as in `sign_flip_mc`. With a few dozen queries it rejects a true
    null hypothesis somewhat too often.

    References
    ----------
    .. [1] Efron, Tibshirani (1993). An Introduction to the Bootstrap, section 16.4.
    """
    column = _even_units(pairs)
    means = bootstrap_means(column, n_resamples=n_resamples, seed=seed) - column.mean
    return pairs.mean, _resampling_pvalue(pairs, means, alternative)


def bootstrapped(method: str, pairs: Pairs, **options: Any) -> Interval:
    """The bootstrap interval of the mean difference, of a method of `bootstrap_interval`."""
    return bootstrap_interval(_even_units(pairs), method, **options)


def _even_units(pairs: Pairs) -> Column:
    """The units' differences, made to vary around the mean as if all units were of one size."""
    column = pairs.units
    if column.weights is None:
        return column
    values = column.values - column.mean * (column.weights - 1.0)
    order = np.argsort(values)
    return replace(column, values=values[order], counts=column.counts[order], weights=None)


def _resampling_pvalue(pairs: Pairs, means: FloatArray, alternative: Alternative) -> float:
    """The share of means at least as extreme as the observed one, which counts as one of them."""
    counts, values = pairs.units.counts, pairs.units.values
    margin = RESAMPLING_TOLERANCE * float(counts @ (np.abs(values) / pairs.n))
    if alternative == "two-sided":
        n_extreme = np.count_nonzero(np.abs(means) >= abs(pairs.mean) - margin)
    elif alternative == "greater":
        n_extreme = np.count_nonzero(means >= pairs.mean - margin)
    else:
        n_extreme = np.count_nonzero(means <= pairs.mean + margin)
    return (int(n_extreme) + 1) / (means.size + 1)
