"""The tail of a sum of random signs: whichever of several exact ways is the cheapest.

The ladder, from the top:

1. one magnitude: the tosses of a coin;
2. whole multiples of a step: a convolution if it is short, else rung 4 on the lattice;
3. up to 2**32 sums that are told apart: two lists that meet in the middle;
4. the Fourier series along the line through the saddlepoint, which is some thirty terms and one
   pass over the data where no value dominates, and more terms where one does;
5. where the series finds that too many sums lie too close to the threshold to be told apart:
   lists up to 2**38 sums, or else more terms, or else the signs of the values that cause it;
6. a tail below 1e-10 by the saddlepoint formula.

Some rung always answers: what even the fifth cannot tell from the threshold is taken to be tied
with it. Nothing is drawn at random on any of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from rageval_report.stats.pairs.discordant import binomial_cdf
from rageval_report.stats.sign_flips.fourier import FAR, Line, Series, tail_series
from rageval_report.stats.sign_flips.meet_in_the_middle import (
    SAME_SUM,
    lattice_law,
    listed_tail,
    log2_sums,
)
from rageval_report.stats.sign_flips.piled_sums import Question, piled_tail
from rageval_report.stats.sign_flips.saddlepoint import (
    LEAST_TILT,
    saddlepoint_tail,
    tilt,
    tilted_tail,
)
from rageval_report.stats.sign_flips.sign_sums import SignSums, Tail
from rageval_report.types import FloatArray, IntArray

_MOST_ADDITIONS = 9e6
# A call of NumPy costs as much as so many additions.
_ADDITIONS_A_CALL = 12_000
_FAR_TAIL = 1e-10
# The share of the tail that the series may leave undecided; it is off by half of that at most.
_UNDECIDED = 5e-4
_MORE_TERMS = 8.0
_MOST_SUMS_AT_LAST = 38.0  # 150 ms
# Up to how many sums a search lists, as a power of two.
MOST_LISTED = 22.0
# Values closer than this, relative to the largest, are tied.
_TIED = 1e-11
_SAMPLE = 1000


@dataclass(frozen=True, slots=True)
class Effort:
    """How hard to try.

    Parameters
    ----------
    most_sums : float
        Up to how many sums are listed, as a power of two: two lists of 2**16 take some 15 ms.
    far : float
        How far out the series is followed.
    second_look : bool
        Whether sums that the series cannot tell apart are dealt with otherwise.
    """

    most_sums: float
    far: float
    second_look: bool


_THOROUGH = Effort(32.0, FAR, second_look=True)
_ROUGH = Effort(MOST_LISTED, FAR / 4, second_look=False)
_COARSE = Effort(MOST_LISTED, FAR / 512, second_look=False)


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
    size, total = float(counts.sum()), float(steps @ counts)
    if steps.size == 1:
        return _coin_tail(size, (size - threshold / float(steps[0])) / 2)
    if size * (total + _ADDITIONS_A_CALL) <= _MOST_ADDITIONS:
        weights = lattice_law(steps, counts).weights[round(total + threshold) // 2 :]
        return Tail(float(weights.sum()), float(weights[0]))
    if threshold >= total:
        return _one_pattern(size)
    unit = math.sqrt(float(np.square(steps, dtype=np.float64) @ counts))
    sums, reached, step = SignSums(steps / unit, counts), threshold / unit, 1 / unit
    line = _line(sums, reached, step)
    if line.smallest < _FAR_TAIL:
        return _far_tail(sums, reached, 2 * step)
    series = tail_series(sums, np.array([reached]), line)
    if _is_undecided(series):
        series = _longer_series(sums, reached, line)
    return Tail(float(series.at_least[0]), float(series.equal[0]))


def scattered_tail(values: FloatArray, counts: FloatArray | None, threshold: float) -> Tail:
    """The tail of a sum of any magnitudes with random signs.

    Parameters
    ----------
    values : ndarray
        The magnitudes, above zero.
    counts : ndarray, optional
        How often each occurs; once by default.
    threshold : float
        A possible sum, at least zero.

    Returns
    -------
    Tail
        Its ``equal`` leaves out the observed pattern itself where that is below 2**-32.

    Examples
    --------
    >>> scattered_tail(np.array([1.0, 2.5]), np.array([2.0, 1.0]), 2.5)
    Tail(at_least=0.375, equal=0.25)
    """
    return _tail(values, counts, threshold, _THOROUGH)


def rough_tail(values: FloatArray, counts: FloatArray | None, threshold: float) -> Tail:
    """The same at a fraction of the cost, for a search; good to 1e-3 where no sums pile up.

    Examples
    --------
    >>> rough_tail(np.array([1.0, 2.5]), np.array([2.0, 1.0]), 2.5)
    Tail(at_least=0.375, equal=0.25)
    """
    return _tail(values, counts, threshold, _ROUGH)


def coarse_tail(values: FloatArray, counts: FloatArray | None, threshold: float) -> Tail:
    """The same as of a smooth law, to learn where a search had better begin.

    Examples
    --------
    >>> coarse_tail(np.array([1.0, 2.5]), np.array([2.0, 1.0]), 2.5)
    Tail(at_least=0.375, equal=0.25)
    """
    return _tail(values, counts, threshold, _COARSE)


def _tail(values: FloatArray, counts: FloatArray | None, threshold: float, effort: Effort) -> Tail:
    if counts is None and _may_tie(values):
        values, counts = _grouped(values)
    if counts is not None and log2_sums(counts) <= effort.most_sums:
        return listed_tail(values, counts, threshold)
    if counts is not None and counts.max() == 1:
        counts = None
    top = float(values.max())
    squares = np.square(values / top)  # neither too small nor too large to be squared
    unit = top * math.sqrt(float(squares.sum() if counts is None else squares @ counts))
    sums, reached = SignSums(values / unit, counts), threshold / unit
    last = sums.total - 2 * float(sums.values.min())
    if reached >= last - SAME_SUM * sums.total:  # the next sum is out of reach
        return _one_pattern(sums.size)
    line = replace(_line(sums, reached, None), far=effort.far)
    if line.smallest < _FAR_TAIL:
        return _far_tail(sums, reached, 0.0)
    if effort.second_look:
        return _smooth_tail(sums, reached, line, unit)
    return Tail(float(tail_series(sums, np.array([reached]), line).at_least[0]), 0.0)


def _line(sums: SignSums, threshold: float, step: float | None) -> Line:
    """The line through the saddlepoint, or as close to it as the pole at zero allows."""
    c = tilt(sums, threshold)
    smallest = tilted_tail(sums, threshold, c) if c > LEAST_TILT else 0.1
    return Line(max(c, LEAST_TILT), smallest, step)


def _smooth_tail(sums: SignSums, threshold: float, line: Line, unit: float) -> Tail:
    """The series, and what to do if it cannot tell enough sums apart."""
    counts = np.ones(sums.values.size) if sums.counts is None else sums.counts
    series = tail_series(sums, np.array([threshold]), line)
    if _is_undecided(series):
        if log2_sums(counts) <= _MOST_SUMS_AT_LAST:
            return listed_tail(sums.values, counts, threshold)
        series = _longer_series(sums, threshold, line)
    at_least, near = float(series.at_least[0]), abs(float(series.near[0]))
    if not _is_undecided(series):
        return Tail(at_least, 0.0)
    values = np.repeat(sums.values, counts.astype(np.int64)) * unit
    piled = piled_tail(Question(values, threshold * unit, line.tilt / unit, line.smallest))
    if piled is not None:
        return Tail(piled, 0.0)
    return Tail(at_least + near / 2, near)  # what cannot be told apart is tied


def _is_undecided(series: Series) -> bool:
    return bool(abs(series.near[0]) > _UNDECIDED * series.at_least[0])


def _longer_series(sums: SignSums, threshold: float, line: Line) -> Series:
    further = replace(line, far=_MORE_TERMS * line.far)
    return tail_series(sums, np.array([threshold]), further)


def _far_tail(sums: SignSums, threshold: float, spacing: float) -> Tail:
    at_least = saddlepoint_tail(sums, threshold, spacing)
    last = sums.total - 2 * float(sums.values.min())
    if spacing == 0.0 or threshold + spacing > last:
        return Tail(at_least, 0.0)
    return Tail(at_least, max(at_least - saddlepoint_tail(sums, threshold + spacing, spacing), 0.0))


def _coin_tail(tosses: float, tails: float) -> Tail:
    """At most so many tails, and exactly so many."""
    at_most, fewer = binomial_cdf([tails, tails - 1], tosses).tolist()
    return Tail(at_most, at_most - fewer)


def _one_pattern(size: float) -> Tail:
    return Tail(0.5**size, 0.5**size)


def _may_tie(values: FloatArray) -> bool:
    """Whether to look for ties: in a large sample only if a part of it has some."""
    sample = values[:: 1 + values.size // _SAMPLE]
    return values.size <= _SAMPLE or np.unique(sample).size < sample.size


def _grouped(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The distinct values and how often each occurs; rounding does not make values distinct."""
    ordered = np.sort(values)
    starts = np.flatnonzero(np.diff(ordered, prepend=-1.0) > _TIED * ordered[-1])
    return ordered[starts], np.diff(starts, append=ordered.size).astype(np.float64)
