"""Sums of random signs that pile up: many lie too close to the threshold to be distinguished.

Three kinds of data do that without lying on a lattice. All but a few differences are multiples of
a step; or all are, but for some noise; or a few values are so large that next to them the others
hardly count. In each the signs that make the piles are listed one by one; the rest is smooth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rageval_report.stats.sign_flips.fourier import FAR, IntegrationLine, tail_series
from rageval_report.stats.sign_flips.lattice import DENOMINATORS, MOST_STEPS, NOISE
from rageval_report.stats.sign_flips.meet_in_the_middle import SAME_SUM, SumLaw, listed_law
from rageval_report.stats.sign_flips.noisy_lattice import noisy_lattice_tail
from rageval_report.stats.sign_flips.saddlepoint import LEAST_TILT
from rageval_report.stats.sign_flips.sign_sums import SignSums
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import FloatArray

# The most values off the lattice, or dominating values, whose signs are listed: 2**12 patterns.
_MOST_LISTED = 12
# A rest is smooth if its variance is at least this many times its largest square, as that of 25
# equal values is.
_ENOUGH_TO_BE_SMOOTH = 25.0
# A sum of random signs is not farther out than this many standard deviations, but for a probability
# of exp(-9**2 / 2) = 3e-18 (Hoeffding 1963).
_OUT_OF_REACH = 9.0
# The rounding error of a sum, relative to the sum of all values.
_ROUNDING = 1e-14


@dataclass(frozen=True, slots=True)
class TailQuestion:
    """A tail to compute: the magnitudes, the threshold, the tilt there, and roughly the result."""

    values: FloatArray
    threshold: float
    tilt: float
    smallest: float


def piled_tail(question: TailQuestion) -> float | None:
    """The probability to reach the threshold, if the data are of one of the three kinds.

    Examples
    --------
    >>> values = np.append(np.arange(60) % 4 + 1.0, 0.37)  # whole numbers but one
    >>> round(piled_tail(TailQuestion(values, 40.37, 0.1, 0.03)), 6)
    0.029611
    """
    tail = _tail_of_mostly_lattice(question)
    if tail is None:
        tail = noisy_lattice_tail(question.values, question.threshold, question.smallest)
    return _tail_of_dominated(question) if tail is None else tail


def _tail_of_mostly_lattice(question: TailQuestion) -> float | None:
    """All but a few are multiples of a step: list the signs of the few."""
    values = question.values
    if values.size <= _MOST_LISTED:
        return None
    top = float(np.partition(values, -_MOST_LISTED - 1)[-_MOST_LISTED - 1])
    for denominator in DENOMINATORS[DENOMINATORS * top <= MOST_STEPS].tolist():
        steps = np.rint(values * denominator)
        is_odd = np.abs(values * denominator - steps) > NOISE * top * denominator
        n_odd = np.count_nonzero(is_odd)
        if 0 < n_odd <= _MOST_LISTED:
            listed = listed_law(values[is_odd], np.ones(n_odd))
            rest = steps[~is_odd] / denominator
            return _listed_and_rest(question, listed, rest, 1 / denominator)
    return None


def _tail_of_dominated(question: TailQuestion) -> float | None:
    """A few values dwarf the rest: list their signs, largest first, until the rest is smooth."""
    values = np.sort(question.values)[::-1]
    totals = np.append(np.cumsum(values[::-1])[::-1], 0.0)
    squares = np.append(np.cumsum(np.square(values[::-1]))[::-1], 0.0)
    reach = np.minimum(totals, _OUT_OF_REACH * np.sqrt(squares))
    tolerance = SAME_SUM * totals[0]
    missing = np.array([question.threshold])  # what the rest must reach, for each listed sum
    certain = 0.0
    for i, value in enumerate(values.tolist()):
        if squares[i] >= _ENOUGH_TO_BE_SMOOTH * value**2 or missing.size > 2**_MOST_LISTED:
            listed = SumLaw(question.threshold - missing, np.full(missing.size, 0.5**i))
            rest = values[i:]
            return certain + _listed_and_rest(question, listed, rest, None) if i else None
        missing = np.concatenate([missing - value, missing + value])
        # Patterns after which the rest must reach the threshold are counted at once, and those
        # after which it cannot are dropped, so that the list stays short.
        certain += 0.5 ** (i + 1) * np.count_nonzero(missing - tolerance <= -reach[i + 1])
        missing = missing[np.abs(missing - tolerance) < reach[i + 1]]
        if not missing.size:
            break
    return certain


def _listed_and_rest(
    question: TailQuestion, listed: SumLaw, rest: FloatArray, step: float | None
) -> float:
    """The tail of a listed sum plus the sum of the rest; the rest on a lattice if it has a step."""
    missing, where = np.unique(question.threshold - listed.values, return_inverse=True)
    unit, total = math.sqrt(float(np.square(rest).sum())), float(rest.sum())
    if step is not None:  # round the threshold up to the next possible sum
        rounding = NOISE + _ROUNDING * float(question.values.sum()) / step
        missing = total + 2 * step * np.ceil((missing - total) / (2 * step) - rounding)
    tail = (missing < 0).astype(np.float64)
    reach = min(total * (1 + SAME_SUM), _OUT_OF_REACH * unit)
    inside = np.flatnonzero(np.abs(missing) <= reach)
    if inside.size:
        line = IntegrationLine(
            tilt=max(question.tilt * unit, LEAST_TILT),
            smallest=question.smallest,
            step=None if step is None else step / unit,
            far=FAR / math.sqrt(inside.size),
        )
        tail[inside] = tail_series(SignSums(rest / unit), missing[inside] / unit, line).at_least
    return sum_of_products(listed.weights, tail[where])
