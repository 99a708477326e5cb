"""The exact sign-flip test of the mean paired difference, computed without random numbers.

If the two pipelines are exchangeable within each query, each difference could as well have had the
other sign, so all patterns of signs are equally likely. The p-value is the share of patterns whose
mean is at least as far out as the one observed (Fisher 1935; Pitman 1937). Large samples make it a
test of a zero mean even without symmetry (Romano 1990). A query without a difference carries no
information about the sign and does not count.

"sign-flip" counts all patterns that tie with the observed one, "sign-flip-midp" half of them. On a
lattice (ratings, shares of a few) ties are many and the exact test rejects too rarely; mid-p is the
better choice there (on 30 symmetric ratings it rejects 5.1 % of true null hypotheses at a level of
5 %, the exact test 3.7 %). Elsewhere almost nothing ties. The rule for "auto" is `is_lattice`:
mid-p if all differences are whole multiples of a step and two of them have the same size (or sums
must tie for another reason); all ties in full otherwise. ``docs/coverage.md`` has the power and the
false alarms of this rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rageval_report.stats.base import Alternative, check_alternative, finite_values
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.sign_flips.large_samples import LargeSample, large_tails
from rageval_report.stats.sign_flips.lattice import (
    LatticeCounts,
    count_multiples,
    is_lattice,
    lattice_step,
)
from rageval_report.stats.sign_flips.meet_in_the_middle import SAME_SUM
from rageval_report.stats.sign_flips.sign_sums import Tail
from rageval_report.stats.sign_flips.sign_tail import (
    MOST_AT_ONCE,
    lattice_tail,
    scattered_tail,
    summed_tail,
)
from rageval_report.stats.sign_flips.summed_signs import SummedSigns
from rageval_report.stats.states.power_sums import PowerSums
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import FloatArray

__all__ = ["is_lattice", "sign_flip", "sign_flip_midp", "sign_flip_pvalue"]

# A p-value is never zero: the observed pattern is one of those counted. Below this, 2**-n is no
# longer a normal double.
_SMALLEST = float(np.finfo(np.float64).tiny)


def sign_flip(
    pairs: PairedScores, *, alternative: Alternative, **_options: object
) -> tuple[float, float]:
    """The exact sign-flip test; patterns that tie with the observed one count in full.

    The statistic is the mean difference, candidate minus baseline.

    Examples
    --------
    >>> mean, pvalue = sign_flip(PairedScores.of([0] * 6, [0.1] * 6), alternative="two-sided")
    >>> round(mean, 12), pvalue  # two of 64 patterns have all signs alike
    (0.1, 0.03125)
    """
    return _test_pairs(pairs, alternative, midp=False)


def sign_flip_midp(
    pairs: PairedScores, *, alternative: Alternative, **_options: object
) -> tuple[float, float]:
    """The sign-flip test with mid-p: patterns that tie with the observed one count half.

    The statistic is the mean difference, candidate minus baseline.

    References
    ----------
    .. [1] Lancaster (1961). Significance tests in discrete distributions. Journal of the American
       Statistical Association 56.

    Examples
    --------
    >>> pairs = PairedScores.of([3] * 6, [4, 4, 5, 4, 4, 3])  # one of 32 patterns, on both sides
    >>> sign_flip_midp(pairs, alternative="two-sided")
    (1.0, 0.03125)
    """
    return _test_pairs(pairs, alternative, midp=True)


def sign_flip_pvalue(
    differences: npt.ArrayLike,
    *,
    midp: bool | None = None,
    alternative: Alternative = "two-sided",
) -> float:
    """The p-value of the exact sign-flip test of a zero mean.

    Deterministic, with a relative error of at most 1e-3 down to p = 1e-6; exact up to rounding for
    at most 32 non-zero differences and on short lattices.

    Parameters
    ----------
    differences : array-like of shape (n,)
        Paired differences; NaN is left out, zeros do not matter.
    midp : bool, optional
        Whether patterns that tie with the observed one count half; by default if the differences
        lie on a lattice, see `is_lattice`.
    alternative : {"two-sided", "less", "greater"}
        "greater": the mean is above zero.

    Returns
    -------
    float
        Above 0, at most 1; 1 if all differences are zero.

    References
    ----------
    .. [1] Fisher (1935). The Design of Experiments, section 21.
    .. [2] Pitman (1937). Significance tests which may be applied to samples from any populations.
       Journal of the Royal Statistical Society Supplement 4.
    .. [3] Romano (1990). On the behavior of randomization tests without a group invariance
       assumption. Journal of the American Statistical Association 85.

    Examples
    --------
    >>> sign_flip_pvalue([0.2, 0.5, 0.9, 0.1, 0.7, 0.33])
    0.03125
    >>> sign_flip_pvalue([1, 1, 1, -1, 1, 1, 0, 0])  # a lattice: mid-p, as McNemar's
    0.125
    >>> sign_flip_pvalue([0.0, 0.0])
    1.0
    """
    check_alternative(alternative)
    values = finite_values(differences)
    step = lattice_step(values)
    half = step is not None if midp is None else midp
    return pvalue_on_step(values, step, midp=half, alternative=alternative)


def _test_pairs(
    pairs: PairedScores, alternative: Alternative, *, midp: bool
) -> tuple[float, float]:
    return pairs.mean, pvalue_of_pairs(pairs, alternative, midp=midp)


def pvalue_of_pairs(pairs: PairedScores, alternative: Alternative, *, midp: bool) -> float:
    """The p-value of the mean difference of pairs, computed once for a test and its interval.

    Examples
    --------
    >>> pvalue_of_pairs(PairedScores.of([0] * 6, [0.1] * 6), "two-sided", midp=False)
    0.03125
    """
    kept = (alternative, midp)
    if kept not in pairs.sign_flip_pvalues:
        pairs.sign_flip_pvalues[kept] = _pvalue_of_pairs(pairs, alternative, midp=midp)
    return pairs.sign_flip_pvalues[kept]


def _pvalue_of_pairs(pairs: PairedScores, alternative: Alternative, *, midp: bool) -> float:
    if pairs.lattice is not None:  # some differences are not zero: zeros have no step
        tail, is_above = tail_of_counts(pairs.lattice)
    elif not pairs.n_changed:
        return 1.0
    elif pairs.sums is not None:
        return pvalue_of_sums(pairs.sums, 0.0, alternative)
    else:
        tail, is_above = observed_tail(pairs.differences, pairs.step, pairs.large_sample)
    return pvalue_of_tail(tail, is_above, alternative=alternative, midp=midp)


def pvalue_of_sums(sums: PowerSums, shift: float, alternative: Alternative = "two-sided") -> float:
    """The p-value of many differences on no lattice, from their sums of powers.

    Parameters
    ----------
    sums : PowerSums
        Sums of the powers of the differences to the 26th, with a histogram.
    shift : float
        What is subtracted from each difference.
    alternative : {"two-sided", "less", "greater"}
        As in `sign_flip_pvalue`.

    Examples
    --------
    >>> differences = np.sin(np.arange(1000.0)) + 0.03
    >>> sums = PowerSums.of(differences, 26, has_bins=True)
    >>> abs(pvalue_of_sums(sums, 0.0) / sign_flip_pvalue(differences) - 1) < 1e-6
    True
    """
    total = sums.n * (sums.mean - shift)
    signs = SummedSigns.of(sums, shift)
    tail = summed_tail(signs, abs(total) / signs.unit)
    is_above = None if total == 0.0 else total > 0.0
    return pvalue_of_tail(tail, is_above, alternative=alternative, midp=False)


def pvalue_on_step(
    differences: FloatArray,
    step: float | None,
    *,
    midp: bool,
    alternative: Alternative = "two-sided",
) -> float:
    """`sign_flip_pvalue` of finite differences whose `lattice_step` is known.

    Examples
    --------
    >>> pvalue_on_step(np.array([1.0, 1.0, 1.0, -1.0, 1.0, 1.0]), 1.0, midp=True)
    0.125
    """
    if not differences.any():
        return 1.0
    return pvalue_of_tail(*observed_tail(differences, step), midp=midp, alternative=alternative)


def pvalue_of_tail(
    tail: Tail, is_above: bool | None, *, midp: bool, alternative: Alternative = "two-sided"
) -> float:
    """The p-value of what `observed_tail` gives.

    Examples
    --------
    >>> pvalue_of_tail(Tail(0.5, 0.375), False, midp=True)
    0.625
    """
    half = tail.equal / 2 if midp else 0.0
    outward = tail.at_least - half
    if alternative == "two-sided":
        pvalue = 1.0 if is_above is None else 2 * outward
    elif is_above is None or is_above == (alternative == "greater"):
        pvalue = outward
    else:  # by symmetry: all patterns but those above the mirrored sum
        pvalue = 1.0 - (tail.at_least - tail.equal) - half
    return float(min(1.0, max(pvalue, _SMALLEST)))


def pvalue_of_spread_sums(
    differences: FloatArray,
    step: float,
    alternative: Alternative = "two-sided",
    counts: FloatArray | None = None,
) -> float:
    """Mid-p of lattice differences that were shifted off the lattice.

    Each sum is spread evenly over its cell of the lattice and counts with the part beyond the
    observed sum; without a shift that part is one half. Each difference occurs once, or as often as
    its count.

    Examples
    --------
    >>> pvalue_of_spread_sums(np.array([1.0, 1.0, 1.0, -1.0, 1.0, 1.0]), 1.0)
    0.125
    >>> round(pvalue_of_spread_sums(np.array([1.0, 1, 1, -1, 1, 1]) - 0.01, 1.0), 6)
    0.128125
    """
    total = float(differences.sum()) if counts is None else sum_of_products(differences, counts)
    magnitudes = np.abs(differences)
    is_moved = magnitudes > 0
    if not is_moved.any():
        return 1.0
    moved, counts = magnitudes[is_moved], None if counts is None else counts[is_moved]
    outward = scattered_tail(moved, counts, abs(total), step).at_least
    pvalue = 2 * outward
    if alternative != "two-sided":
        pvalue = outward if (total > 0) == (alternative == "greater") else 1.0 - outward
    return float(min(1.0, max(pvalue, _SMALLEST)))


def tail_of_counts(lattice: LatticeCounts) -> tuple[Tail, bool | None]:
    """`observed_tail` of differences on a lattice, from how often each of them occurs.

    Examples
    --------
    >>> tail_of_counts(LatticeCounts(1.0, -1, np.array([2, 0, 1])))
    (Tail(at_least=0.5, equal=0.375), False)
    """
    # Whole numbers, so that ties are exact; each distinct magnitude enters once with its count.
    distinct, counts = lattice.magnitudes()
    moved = lattice.total
    tail = lattice_tail(distinct, counts.astype(np.float64), abs(moved))
    return tail, None if moved == 0 else moved > 0


def tails_of_large(samples: Sequence[LargeSample]) -> list[tuple[Tail, bool | None] | None]:
    """`observed_tail` of many large samples on no lattice; None where it is not known.

    Examples
    --------
    >>> sample = LargeSample.of(np.sin(np.arange(4000.0)) + 0.02, None, None)
    >>> [(tail, is_above)] = tails_of_large([sample])
    >>> round(tail.at_least, 6), is_above
    (0.033525, True)
    """
    observed: list[tuple[Tail, bool | None] | None] = []
    for sample, tail in zip(samples, large_tails(samples).tolist(), strict=True):
        # A mean this small is zero up to rounding: it has no direction.
        is_zero = abs(sample.mean) * math.sqrt(sample.n) <= SAME_SUM * sample.unit
        direction = None if is_zero else sample.mean > 0.0
        observed.append(None if math.isnan(tail) else (Tail(tail, 0.0), direction))
    return observed


def observed_tail(
    differences: FloatArray, step: float | None, large: LargeSample | None = None
) -> tuple[Tail, bool | None]:
    """How likely random signs make the sum at least as large as observed, and the sum's sign.

    Parameters
    ----------
    differences : ndarray of shape (n,)
        Not all zero.
    step : float, optional
        The step on whose multiples they lie.
    large : LargeSample, optional
        The same differences as sums of powers, if these are known.

    Returns
    -------
    Tail
        Of the absolute value of the sum.
    bool or None
        Whether the sum is above zero; None if it is zero.

    Examples
    --------
    >>> observed_tail(np.array([1.0, -1.0, -1.0]), 1.0)
    (Tail(at_least=0.5, equal=0.375), False)
    """
    if step is not None:
        return tail_of_counts(LatticeCounts(step, *count_multiples(differences, step)))
    if large is None and differences.size > MOST_AT_ONCE:
        large = LargeSample.of(differences, None, None)
    if large is not None:
        [observed] = tails_of_large([large])
        if observed is not None:
            return observed
    magnitudes = np.abs(differences)
    if not magnitudes.all():
        magnitudes = magnitudes[magnitudes > 0]
    total = float(differences.sum())
    # A sum this small is zero up to rounding: it has no direction.
    if abs(total) <= SAME_SUM * float(magnitudes.sum()):
        return scattered_tail(magnitudes, None, 0.0), None
    return scattered_tail(magnitudes, None, abs(total)), total > 0
