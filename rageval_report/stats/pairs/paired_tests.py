"""The tests of a paired difference that are options: t, Wilcoxon, sign, McNemar, Monte Carlo.

Each is a member of ``TESTS``: complete pairs in, the statistic and the p-value out. The sign-flip
tests that need no random numbers have a file of their own.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import stdtr

from rageval_report._registry import load
from rageval_report.stats.base import paired_differences
from rageval_report.stats.pairs.discordant import coin_midp, coin_pvalue, discordant_pairs
from rageval_report.stats.pairs.spread import rounding, standard_deviation, tie_magnitudes
from rageval_report.stats.resampling import bootstrap_means, sign_flip_means
from rageval_report.types import FloatArray

# Resampled means this close to the observed one, relative to the mean magnitude, are ties.
RESAMPLING_TOLERANCE = 1e-9


def student_t(
    baseline: FloatArray, candidate: FloatArray, *, alternative: str, **_options: object
) -> tuple[float, float]:
    """Paired t test: the mean difference over its standard error, on n - 1 degrees of freedom.

    Without differences p is 1. If all differences are equal the t statistic is infinite, which
    would make p = 0 from two queries; the exact sign-flip p-value, 2^(1 - n), stands in.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the two sides, pair by pair.
    alternative : {"two-sided", "less", "greater"}
        "greater": the candidate's mean is the larger one.

    Returns
    -------
    statistic, pvalue : float

    Examples
    --------
    >>> before = np.array([0.2, 0.4, 0.5, 0.7])
    >>> t, p = student_t(before, before + np.array([0.1, 0.2, 0.0, 0.1]), alternative="two-sided")
    >>> round(t, 3), round(p, 3)
    (2.449, 0.092)
    """
    differences = paired_differences(baseline, candidate)
    if not differences.any():
        return 0.0, 1.0
    mean, n = float(differences.mean()), differences.size
    deviation = standard_deviation(differences, rounding(baseline, candidate))
    if n == 1 or deviation == 0.0:
        wins = n if mean > 0 else 0
        return math.copysign(math.inf, mean), coin_pvalue(wins, n - wins, alternative)
    t = mean / (deviation / math.sqrt(n))
    tail = {"two-sided": -abs(t), "less": t, "greater": -t}[alternative]
    one_sided = float(stdtr(n - 1, tail))
    return t, 2.0 * one_sided if alternative == "two-sided" else one_sided


def wilcoxon(
    baseline: FloatArray, candidate: FloatArray, *, alternative: str, **_options: object
) -> tuple[float, float]:
    """Wilcoxon signed-rank test; pairs without a difference are left out (Wilcoxon, 1945).

    It tests whether the differences are symmetric about zero, not whether their mean is zero: with
    lopsided differences it rejects a true mean difference of zero far too often. The computation is
    SciPy's; magnitudes that differ by rounding only are tied first.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the two sides, pair by pair.
    alternative : {"two-sided", "less", "greater"}
        "greater": the differences, candidate minus baseline, tend to be positive.

    Returns
    -------
    statistic, pvalue : float
        The rank sum of the positive differences; if two-sided the smaller sum of the two signs.

    Examples
    --------
    >>> before, after = np.zeros(6), np.array([0.3, 0.2, -0.1, 0.4, 0.5, 0.6])
    >>> wilcoxon(before, after, alternative="two-sided")
    (1.0, 0.0625)
    """
    return _signed_rank(baseline, candidate, "wilcox", alternative)


def wilcoxon_pratt(
    baseline: FloatArray, candidate: FloatArray, *, alternative: str, **_options: object
) -> tuple[float, float]:
    """Wilcoxon signed-rank test; ties of the sides are ranked, then left out (Pratt, 1959).

    Parameters and result are those of `wilcoxon`. Many zeros amplify what asymmetry there is.

    Examples
    --------
    >>> before, after = np.zeros(6), np.array([0.3, 0.2, 0.0, 0.4, 0.5, 0.6])
    >>> wilcoxon_pratt(before, after, alternative="greater")
    (20.0, 0.03125)
    """
    return _signed_rank(baseline, candidate, "pratt", alternative)


def wilcoxon_zsplit(
    baseline: FloatArray, candidate: FloatArray, *, alternative: str, **_options: object
) -> tuple[float, float]:
    """Wilcoxon signed-rank test; the ranks of pairs without a difference go half to each sign.

    Parameters and result are those of `wilcoxon`.

    Examples
    --------
    >>> before, after = np.zeros(6), np.array([0.3, 0.2, 0.0, 0.4, 0.5, 0.6])
    >>> statistic, pvalue = wilcoxon_zsplit(before, after, alternative="greater")
    >>> statistic
    20.5
    """
    return _signed_rank(baseline, candidate, "zsplit", alternative)


def _signed_rank(
    baseline: FloatArray, candidate: FloatArray, zeros: str, alternative: str
) -> tuple[float, float]:
    differences = paired_differences(baseline, candidate)
    if not differences.any():
        return 0.0, 1.0
    tied = tie_magnitudes(differences, rounding(baseline, candidate))
    # By name, because scipy.stats takes longer to import than all other tests take to run.
    signed_rank = load("scipy.stats:wilcoxon")
    result = signed_rank(tied, zero_method=zeros, alternative=alternative)
    return float(result.statistic), float(result.pvalue)


def sign(
    baseline: FloatArray, candidate: FloatArray, *, alternative: str, **_options: object
) -> tuple[float, float]:
    """Exact sign test: wins against losses, ties left out.

    It tests whether a win is as likely as a loss, which is not whether the means are equal.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the two sides, pair by pair.
    alternative : {"two-sided", "less", "greater"}
        "greater": wins are more likely than losses.

    Returns
    -------
    statistic, pvalue : float
        The number of wins, and the binomial p-value.

    Examples
    --------
    >>> sign(np.zeros(6), np.array([0.1, 0.2, 0.1, 0.4, 0.0, 0.3]), alternative="two-sided")
    (5.0, 0.0625)
    """
    differences = paired_differences(baseline, candidate)
    wins = int(np.count_nonzero(differences > 0))
    losses = int(np.count_nonzero(differences < 0))
    return float(wins), coin_pvalue(wins, losses, alternative)


def mcnemar(
    baseline: FloatArray, candidate: FloatArray, *, alternative: str, **_options: object
) -> tuple[float, float]:
    """Exact McNemar test of paired 0 and 1: the sign test of the discordant pairs.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        Scores of 0 and 1.
    alternative : {"two-sided", "less", "greater"}
        "greater": the candidate is right more often.

    Returns
    -------
    statistic, pvalue : float
        The number of pairs that only the candidate gets right, and the binomial p-value.

    Raises
    ------
    DataError
        If a score is neither 0 nor 1.

    Examples
    --------
    >>> before, after = np.array([0.0] * 5 + [1.0]), np.array([1.0] * 5 + [0.0])
    >>> mcnemar(before, after, alternative="two-sided")
    (5.0, 0.21875)
    """
    pairs = discordant_pairs(baseline, candidate, "mcnemar")
    return float(pairs.wins), coin_pvalue(pairs.wins, pairs.losses, alternative)


def mcnemar_midp(
    baseline: FloatArray, candidate: FloatArray, *, alternative: str, **_options: object
) -> tuple[float, float]:
    """McNemar test with the mid-p: the observed table counts half.

    The default for metrics of 0 and 1. Its size stays at or below the nominal one in nearly all
    cases, with more power than the exact test. Without discordant pairs p is 1.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        Scores of 0 and 1.
    alternative : {"two-sided", "less", "greater"}
        "greater": the candidate is right more often.

    Returns
    -------
    statistic, pvalue : float
        The number of pairs that only the candidate gets right, and the mid-p.

    Raises
    ------
    DataError
        If a score is neither 0 nor 1.

    References
    ----------
    .. [1] Fagerland, Lydersen, Laake (2013). The McNemar test for binary matched-pairs data: mid-p
           and asymptotic are better than exact conditional. BMC Medical Research Methodology 13:91.

    Examples
    --------
    >>> before, after = np.array([0.0] * 5 + [1.0]), np.array([1.0] * 5 + [0.0])
    >>> mcnemar_midp(before, after, alternative="two-sided")
    (5.0, 0.125)
    """
    pairs = discordant_pairs(baseline, candidate, "mcnemar-midp")
    wins, losses = pairs.wins, pairs.losses
    if not pairs.discordant:
        return 0.0, 1.0
    if alternative == "two-sided":
        return float(wins), min(1.0, 2.0 * float(coin_midp(max(wins, losses), min(wins, losses))))
    won, lost = (wins, losses) if alternative == "greater" else (losses, wins)
    return float(wins), float(coin_midp(won, lost))


def sign_flip_mc(
    baseline: FloatArray,
    candidate: FloatArray,
    *,
    alternative: str,
    n_resamples: int,
    seed: int,
) -> tuple[float, float]:
    """Sign-flip test by Monte Carlo: the observed mean among means of randomly flipped differences.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the two sides, pair by pair.
    alternative : {"two-sided", "less", "greater"}
        "greater": the candidate's mean is the larger one.
    n_resamples : int
        Random sign patterns.
    seed : int
        Of ``numpy.random.default_rng``.

    Returns
    -------
    statistic, pvalue : float
        The mean difference, and (b + 1) / (n_resamples + 1) with b patterns at least as extreme; a
        mean that equals the observed one but for rounding is as extreme.

    References
    ----------
    .. [1] Phipson, Smyth (2010). Permutation p-values should never be zero. Statistical
           Applications in Genetics and Molecular Biology 9:39.

    Examples
    --------
    >>> before, after = np.zeros(8), np.arange(1.0, 9.0) / 10
    >>> _, p = sign_flip_mc(before, after, alternative="two-sided", n_resamples=9999, seed=0)
    >>> abs(p - 2 / 2**8) < 0.004
    True
    """
    differences = paired_differences(baseline, candidate)
    resampled = sign_flip_means(differences, n_resamples=n_resamples, seed=seed)
    return float(differences.mean()), _resampling_pvalue(differences, resampled, alternative)


def bootstrap(
    baseline: FloatArray,
    candidate: FloatArray,
    *,
    alternative: str,
    n_resamples: int,
    seed: int,
) -> tuple[float, float]:
    """Paired bootstrap test: the observed mean among means resampled from shifted differences.

    The differences are shifted to a mean of zero, the null hypothesis, and queries are drawn with
    replacement. With a few dozen queries it rejects a true null somewhat too often.

    Parameters
    ----------
    baseline, candidate : ndarray of shape (n,)
        The scores of the two sides, pair by pair.
    alternative : {"two-sided", "less", "greater"}
        "greater": the candidate's mean is the larger one.
    n_resamples : int
        Resampled sets of queries.
    seed : int
        Of ``numpy.random.default_rng``.

    Returns
    -------
    statistic, pvalue : float
        The mean difference, and (b + 1) / (n_resamples + 1) with b means at least as extreme.

    References
    ----------
    .. [1] Efron, Tibshirani (1993). An Introduction to the Bootstrap, section 16.4.

    Examples
    --------
    >>> before, after = np.zeros(40), np.tile([0.3, -0.1, 0.0, 0.2], 10)
    >>> _, p = bootstrap(before, after, alternative="two-sided", n_resamples=999, seed=0)
    >>> p
    0.001
    """
    differences = paired_differences(baseline, candidate)
    mean = float(differences.mean())
    resampled = bootstrap_means(differences - mean, n_resamples=n_resamples, seed=seed)
    return mean, _resampling_pvalue(differences, resampled, alternative)


def _resampling_pvalue(differences: FloatArray, resampled: FloatArray, alternative: str) -> float:
    """The share of means at least as extreme as the observed one, which counts as one of them."""
    observed = float(differences.mean())
    margin = RESAMPLING_TOLERANCE * float(np.abs(differences).mean())
    if alternative == "two-sided":
        extreme = np.abs(resampled) >= abs(observed) - margin
    elif alternative == "greater":
        extreme = resampled >= observed - margin
    else:
        extreme = resampled <= observed + margin
    return (int(np.count_nonzero(extreme)) + 1) / (resampled.size + 1)
