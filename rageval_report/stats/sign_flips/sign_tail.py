"""The tail of a sum of random signs, by the cheapest of several exact methods.

The ladder, from the top:

1. one magnitude: the tosses of a coin;
2. whole multiples of a step: rung 3 if the step is fine, a convolution if that is short, all terms
   of a period if the magnitudes are few, else rung 4 on the lattice;
3. up to 2**32 distinct sums: two lists that meet in the middle;
4. the Fourier series along the line through the saddlepoint, which is some thirty terms and one
   pass over the data where no value dominates, and more terms where one does; of up to
   `MOST_AT_ONCE` values the terms of many sums are computed at once;
5. if the series finds that too many sums lie too close to the threshold to be distinguished:
   lists up to 2**38 sums, or else more terms, or else the signs of the values that cause it;
6. a tail below 1e-10 by the saddlepoint formula.

Some rung always answers: sums that even the fifth cannot distinguish from the threshold are counted
as tied with it. Nothing is drawn at random on any of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rageval_report.stats.pairs.discordant import binomial_cdf
from rageval_report.stats.sign_flips.few_steps import (
    MOST_DISTINCT,
    MOST_FACTORS,
    FewMagnitudes,
    whole_period_tail,
)
from rageval_report.stats.sign_flips.fourier import FAR, IntegrationLine, SeriesTail, tail_series
from rageval_report.stats.sign_flips.meet_in_the_middle import (
    SAME_SUM,
    lattice_law,
    listed_spread_tail,
    listed_tail,
    log2_sums,
)
from rageval_report.stats.sign_flips.piled_sums import TailQuestion, piled_tail
from rageval_report.stats.sign_flips.saddlepoint import (
    LEAST_TILT,
    saddlepoint_tail,
    tilt,
    tilted_tail,
)
from rageval_report.stats.sign_flips.sign_sums import Magnitudes, SignSums, Tail
from rageval_report.stats.sign_flips.tail_batch import TailRows, smooth_tails
from rageval_report.stats.sign_flips.ties import group_ties
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import FloatArray, IntArray

# Up to this many additions a convolution on the lattice is the cheapest.
_MOST_ADDITIONS = 9e6
# A call of NumPy costs as much as this many additions.
_ADDITIONS_PER_CALL = 12_000
# Of few distinct numbers, each of which occurs often, a convolution multiplies faster than that: up
# to this many products, and as many for each call.
_MOST_PRODUCTS, _PRODUCTS_PER_CALL = 4e6, 40_000
# Below this the saddlepoint formula answers: no decision depends on the third digit of 1e-10.
_FAR_TAIL = 1e-10
# The share of the tail that the series may leave undecided. Half of it is counted, so the result is
# off by half of this at most: a quarter of the promised relative error of 1e-3.
_UNDECIDED = 5e-4
# The share of the tail that terms may have which the series leaves out, in the worst case; as a
# rule they cancel each other, and a thousandth of that is left.
_LEFT_OUT = 3e-4
# How much farther the series is followed before the signs of single values are listed.
_MORE_TERMS = 8.0
_MOST_SUMS_AT_LAST = 38.0  # two lists of 2**19 take 150 ms
# Up to how many sums a search lists, as a power of two.
MOST_LISTED = 22.0
# Up to so many values tails are computed in a batch; of more, power sums are faster.
MOST_AT_ONCE = 1500.0
# Values closer than this, relative to the largest, are tied.
_TIED = 1e-11
# A large sample is searched for ties only if this many of its values show one.
_SAMPLE = 1000


@dataclass(frozen=True, slots=True)
class Effort:
    """How much work a tail may cost.

    Parameters
    ----------
    most_sums : float
        Up to how many sums are listed, as a power of two: two lists of 2**16 take some 15 ms.
    far : float
        How far out the series is followed, see `fourier.IntegrationLine`.
    second_look : bool
        Whether sums that the series cannot distinguish are counted in another way.
    """

    most_sums: float
    far: float
    second_look: bool


# Listing 2**32 sums is exact and takes as long as the series, 8 to 9 ms; 2**24 take a tenth of it.
_THOROUGH = Effort(32.0, FAR, second_look=True)
_ROUGH = Effort(MOST_LISTED, FAR / 4, second_look=False)
_COARSE = Effort(MOST_LISTED, FAR / 512, second_look=False)


def scattered_tails(values: FloatArray, thresholds: FloatArray) -> FloatArray:
    """The tail of many sums at once; NaN for those that `scattered_tail` has to compute.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_values)
        The magnitudes, at most `MOST_AT_ONCE` per row; zeros do not matter.
    thresholds : ndarray of shape (n_rows,)
        A possible sum of each row, above zero.

    Examples
    --------
    >>> values = np.sqrt(np.arange(1.0, 61.0))
    >>> scattered_tails(np.stack([values, np.ones(60)]), np.array([70.0, 10.0])).round(6)
    array([0.050989,      nan])
    """
    # In descending order, and in one piece of memory.
    ordered = np.negative(values)
    ordered.sort(axis=1)
    np.negative(ordered, out=ordered)
    least = _TIED * ordered[:, :1]
    apart = ordered[:, :-1] - ordered[:, 1:] > least
    n_distinct = np.count_nonzero(apart, axis=1) + (ordered[:, -1] > least[:, 0])
    at_least = np.full(thresholds.size, math.nan)
    # As many distinct values have more sums than are listed.
    suits = np.flatnonzero(n_distinct > _THOROUGH.most_sums)
    if suits.size:
        chosen = ordered if suits.size == len(ordered) else ordered[suits]
        rows = TailRows(chosen, thresholds[suits], np.zeros(suits.size))
        at_least[suits] = smooth_tails(rows).settled_rows(_THOROUGH.far)
    return at_least


def lattice_tail(steps: IntArray, counts: FloatArray, threshold: int) -> Tail:
    """The tail of a sum of whole numbers with random signs.

    Parameters
    ----------
    steps : ndarray of int
        The distinct magnitudes, above zero and without a common divisor.
    counts : ndarray
        How often each occurs.
    threshold : int
        A possible sum, at least zero.

    Examples
    --------
    >>> lattice_tail(np.array([1, 2]), np.array([2.0, 1.0]), 2)
    Tail(at_least=0.375, equal=0.25)
    """
    size, total = float(counts.sum()), sum_of_products(steps, counts)
    if steps.size == 1:  # rung 1
        return _coin_tail(size, (size - threshold / float(steps[0])) / 2)
    if size <= math.log2(total + 1):  # fewer patterns of signs than numbers up to the total
        return listed_tail(steps.astype(np.float64), counts, float(threshold))
    if _is_short(steps, counts, total):
        weights = lattice_law(steps, counts).weights[round(total + threshold) // 2 :]
        return Tail(float(weights.sum()), float(weights[0]))
    if threshold >= total:  # only the pattern of equal signs reaches the sum of all magnitudes
        return _one_pattern(size)
    # Rung 4, in a unit in which the squares sum up to 1.
    unit = math.sqrt(sum_of_products(np.square(steps, dtype=np.float64), counts))
    values, reached, step = steps / unit, threshold / unit, 1 / unit
    if steps.size <= min(MOST_DISTINCT, MOST_FACTORS * step):
        few = FewMagnitudes(values, counts)
        line = _line(few, reached, step)
        whole = None if line.smallest < _FAR_TAIL else whole_period_tail(few, reached, line)
        if whole is not None:
            return whole
    sums = SignSums(values, counts)
    line = _line(sums, reached, step)
    if line.smallest < _FAR_TAIL:
        return _far_tail(sums, reached, 2 * step)
    line = replace(line, threshold=reached)
    series = tail_series(sums, np.array([reached]), line)
    if _is_undecided(series):
        series = _longer_series(sums, reached, line)
    return Tail(float(series.at_least[0]), float(series.equal[0]))


def _is_short(steps: IntArray, counts: FloatArray, total: float) -> bool:
    """Whether a convolution is the cheapest way to the law of the sum."""
    size = float(counts.sum())
    if size * (total + _ADDITIONS_PER_CALL) <= _MOST_ADDITIONS:
        return True
    calls = float(np.minimum(steps, counts + 1.0).sum())
    return size * total + _PRODUCTS_PER_CALL * calls <= _MOST_PRODUCTS


def scattered_tail(
    values: FloatArray, counts: FloatArray | None, threshold: float, spread: float = 0.0
) -> Tail:
    """The tail of a sum of any magnitudes with random signs.

    Parameters
    ----------
    values : ndarray
        The magnitudes, above zero.
    counts : ndarray, optional
        How often each occurs; once by default.
    threshold : float
        A possible sum, at least zero.
    spread : float
        If above zero, a number that is uniform between -spread and spread is added to the sum, so
        that the tail is a continuous function of the threshold and nothing is equal to it. The
        largest possible sum stays where it is and counts half.

    Returns
    -------
    Tail
        Its ``equal`` leaves out the observed pattern itself where that is below 2**-32.

    Examples
    --------
    >>> scattered_tail(np.array([1.0, 2.5]), np.array([2.0, 1.0]), 2.5)
    Tail(at_least=0.375, equal=0.25)
    """
    return _tail(values, counts, threshold, spread, _THOROUGH)


def rough_tail(
    values: FloatArray, counts: FloatArray | None, threshold: float, spread: float = 0.0
) -> Tail:
    """`scattered_tail` at a fraction of the cost, for a search; good to 1e-3 if no sums pile up.

    Examples
    --------
    >>> rough_tail(np.array([1.0, 2.5]), np.array([2.0, 1.0]), 2.5)
    Tail(at_least=0.375, equal=0.25)
    """
    return _tail(values, counts, threshold, spread, _ROUGH)


def coarse_tail(
    values: FloatArray, counts: FloatArray | None, threshold: float, spread: float = 0.0
) -> Tail:
    """`scattered_tail` as if the law were smooth, to find where a search should begin.

    Examples
    --------
    >>> coarse_tail(np.array([1.0, 2.5]), np.array([2.0, 1.0]), 2.5)
    Tail(at_least=0.375, equal=0.25)
    """
    return _tail(values, counts, threshold, spread, _COARSE)


def summed_tail(sums: SignSums, threshold: float) -> Tail:
    """`scattered_tail` of many magnitudes of which sums of powers are known.

    Parameters
    ----------
    sums : SignSums
        The magnitudes, in a unit in which their squares sum up to one.
    threshold : float
        A possible sum, at least zero, in the same unit.

    Examples
    --------
    >>> values = np.sqrt(np.arange(1.0, 2001.0))
    >>> tail = summed_tail(SignSums(values / math.sqrt(values @ values)), 2.0)
    >>> round(tail.at_least, 6), round(scattered_tail(values, None, 2829.13).at_least, 6)
    (0.022744, 0.022744)
    """
    line = replace(_line(sums, threshold, None), threshold=threshold)
    if line.smallest < _FAR_TAIL:
        return _far_tail(sums, threshold, 0.0)
    series = _series(sums, threshold, line)
    if _is_undecided(series):
        series = _longer_series(sums, threshold, line)
    at_least, near = float(series.at_least[0]), abs(float(series.near[0]))
    # The series counted half of what it cannot distinguish; as ties these sums count in full.
    return Tail(at_least + near / 2, near) if _is_undecided(series) else Tail(at_least, 0.0)


def _tail(
    values: FloatArray,
    counts: FloatArray | None,
    threshold: float,
    spread: float,
    effort: Effort,
) -> Tail:
    if counts is None and _may_tie(values):
        values, counts = group_ties(values)
    if spread:
        total = float(values.sum()) if counts is None else sum_of_products(values, counts)
        if threshold >= total * (1.0 - SAME_SUM):  # all signs are alike: mid-p of one pattern
            return Tail(0.5 ** (1.0 + (values.size if counts is None else counts.sum())), 0.0)
    if counts is not None and log2_sums(counts) <= effort.most_sums:
        if spread:
            return listed_spread_tail(values, counts, threshold, spread)
        return listed_tail(values, counts, threshold)
    if counts is not None and counts.max() == 1:  # nothing is tied: the series needs no counts
        counts = None
    top = float(values.max())
    squares = values / top  # neither too small nor too large to square
    np.square(squares, out=squares)
    unit = top * math.sqrt(
        float(squares.sum()) if counts is None else sum_of_products(squares, counts)
    )
    # In the memory of the squares, because new memory costs more than the division.
    sums, reached = SignSums(np.divide(values, unit, out=squares), counts), threshold / unit
    smallest = float(sums.values.min())
    # Only the pattern of equal signs reaches the largest sum, and where one of the smallest values
    # is turned the next one: both are known exactly, however far out they lie.
    missing = (reached - (sums.total - 2 * smallest)) / sums.total
    if missing > SAME_SUM:
        return _one_pattern(sums.size)
    if missing >= -SAME_SUM:
        return _turned_patterns(sums.size, _count_of(smallest, sums))
    if sums.size <= MOST_AT_ONCE:
        tail = _smooth_tail(sums, reached, spread / unit, effort)
        if not math.isnan(tail):
            return Tail(tail, 0.0)
    line = _line(sums, reached, None)
    line = replace(line, far=effort.far, spread=spread / unit, threshold=reached)
    if line.smallest < _FAR_TAIL:
        return _far_tail(sums, reached, 0.0)
    if effort.second_look:
        return _followed_tail(sums, reached, line, unit)
    return Tail(float(_series(sums, reached, line).at_least[0]), 0.0)


def _line(sums: Magnitudes, threshold: float, step: float | None) -> IntegrationLine:
    """The line through the saddlepoint, or as close to it as the pole at zero allows."""
    # Within about two standard deviations only the order of magnitude matters: 0.02 to 0.5. There
    # the tilt need not be searched: K' rises.
    if sums.cumulant(LEAST_TILT).mean >= threshold:
        return IntegrationLine(LEAST_TILT, 0.1, step)
    c = tilt(sums, threshold)
    smallest = tilted_tail(sums, threshold, c) if c > LEAST_TILT else 0.1
    return IntegrationLine(max(c, LEAST_TILT), smallest, step)


def _smooth_tail(sums: SignSums, threshold: float, spread: float, effort: Effort) -> float:
    """Rung 4, as a batch of one row; NaN if the row is not settled there."""
    values = sums.values[::-1]  # in descending order, as in a batch
    if sums.counts is not None:
        values = np.repeat(values, sums.counts[::-1].astype(np.int64))
    tails = smooth_tails(TailRows(values[np.newaxis], np.array([threshold]), np.array([spread])))
    return tails.settled(0, effort.far)


def _followed_tail(sums: SignSums, threshold: float, line: IntegrationLine, unit: float) -> Tail:
    """Rungs 4 and 5: the series, and what to do if it cannot distinguish enough sums."""
    counts = np.ones(sums.values.size) if sums.counts is None else sums.counts
    series = _series(sums, threshold, line)
    if _is_undecided(series):
        if log2_sums(counts) <= _MOST_SUMS_AT_LAST:
            return listed_tail(sums.values, counts, threshold)
        series = _longer_series(sums, threshold, line)
    at_least, near = float(series.at_least[0]), abs(float(series.near[0]))
    if not _is_undecided(series):
        return Tail(at_least, 0.0)
    values = np.repeat(sums.values, counts.astype(np.int64)) * unit
    piled = piled_tail(TailQuestion(values, threshold * unit, line.tilt / unit, line.smallest))
    if piled is not None:
        return Tail(piled, 0.0)
    # The series counted half of what it cannot distinguish; as ties these sums count in full.
    return Tail(at_least + near / 2, near)


def _series(sums: SignSums, threshold: float, line: IntegrationLine) -> SeriesTail:
    """The series, once more with all terms if those that were left out might matter."""
    series = tail_series(sums, np.array([threshold]), line)
    if series.left_out[0] <= _LEFT_OUT * series.at_least[0]:
        return series
    return tail_series(sums, np.array([threshold]), replace(line, has_few_terms=False))


def _is_undecided(series: SeriesTail) -> bool:
    return bool(abs(series.near[0]) > _UNDECIDED * series.at_least[0])


def _longer_series(sums: SignSums, threshold: float, line: IntegrationLine) -> SeriesTail:
    longer = replace(line, far=_MORE_TERMS * line.far, has_few_terms=False)
    return tail_series(sums, np.array([threshold]), longer)


def _far_tail(sums: SignSums, threshold: float, spacing: float) -> Tail:
    at_least = saddlepoint_tail(sums, threshold, spacing)
    last = sums.total - 2 * float(sums.values.min())
    if spacing == 0.0 or threshold + spacing > last:
        return Tail(at_least, 0.0)
    return Tail(at_least, max(at_least - saddlepoint_tail(sums, threshold + spacing, spacing), 0.0))


def _coin_tail(tosses: float, tails: float) -> Tail:
    """The probability of at most this number of tails, and of exactly this number."""
    at_most, fewer = binomial_cdf([tails, tails - 1], tosses).tolist()
    return Tail(at_most, at_most - fewer)


def _one_pattern(size: float) -> Tail:
    return Tail(0.5**size, 0.5**size)


def _turned_patterns(size: float, n_smallest: float) -> Tail:
    """The pattern of equal signs, and those in which one of the smallest values is turned."""
    each = 0.5**size
    return Tail((1.0 + n_smallest) * each, n_smallest * each)


def _count_of(value: float, sums: SignSums) -> float:
    same = sums.values <= value + SAME_SUM * sums.total
    return float(same.sum() if sums.counts is None else sums.counts[same].sum())


def _may_tie(values: FloatArray) -> bool:
    """Whether to look for ties: among many values only if a sample of them has some."""
    sample = values[:: 1 + values.size // _SAMPLE]
    return values.size <= _SAMPLE or np.unique(sample).size < sample.size
