"""The tail of a sum of random signs on a lattice of few magnitudes, from a whole period of terms.

On a lattice the characteristic function repeats itself, so no node matters beyond half a period.
Scores such as ratings or shares of five have a handful of distinct differences, and half a period a
few hundred nodes: all their terms cost less than the bounds that would show which of them matter.
"""

from __future__ import annotations

import math

import numpy as np

from rageval_report.stats.sign_flips.fourier import IntegrationLine, space_nodes
from rageval_report.stats.sign_flips.sign_sums import Cumulant, Magnitudes, Tail
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import FloatArray

# Of more distinct magnitudes, or factors of a whole period, it pays to look which terms matter.
# Half a period has more nodes than a standard deviation has steps.
MOST_DISTINCT = 64
MOST_FACTORS = 2**13
_LOG_2 = math.log(2.0)


class FewMagnitudes(Magnitudes):
    """Few distinct magnitudes that enter a sum with random signs, each as often as it is counted.

    Parameters
    ----------
    values : ndarray of shape (n,)
        The magnitudes, above zero, in a unit in which the squares of all sum up to one.
    counts : ndarray of shape (n,)
        How often each occurs.

    Examples
    --------
    >>> few = FewMagnitudes(np.array([0.5]), np.array([4.0]))
    >>> round(few.cumulant(math.log(3)).mean, 12)  # 2 tanh(c / 2)
    1.0
    """

    def __init__(self, values: FloatArray, counts: FloatArray):
        super().__init__()
        self.values = values
        self.counts = counts
        self.total = sum_of_products(values, counts)
        self.variance = 1.0
        self._pairs = list(zip(values.tolist(), counts.tolist(), strict=True))

    def _cumulant_at(self, c: float) -> Cumulant:
        value = mean = variance = 0.0
        # Of a handful of numbers a loop takes a fifth of the time of a dozen calls of NumPy.
        for magnitude, count in self._pairs:
            tilted = c * magnitude
            hyperbolic = math.tanh(tilted)
            value += count * (tilted + math.log1p(math.exp(-2.0 * tilted)) - _LOG_2)
            mean += count * magnitude * hyperbolic
            variance += count * magnitude * (1.0 - hyperbolic * hyperbolic) * magnitude
        return Cumulant(value, mean, variance)


def whole_period_tail(few: FewMagnitudes, threshold: float, line: IntegrationLine) -> Tail | None:
    """The tail from all terms of a period; None if these are too many to be computed.

    Parameters
    ----------
    few : FewMagnitudes
        Multiples of a step without a common divisor.
    threshold : float
        A possible sum, at least zero.
    line : IntegrationLine
        The line of integration, with the step.

    Examples
    --------
    >>> few = FewMagnitudes(np.array([0.1]), np.array([100.0]))
    >>> tail = whole_period_tail(few, 2.0, IntegrationLine(2.0, 0.03, 0.1))
    >>> round(tail.at_least, 8)  # 60 or more of 100 tosses: scipy.stats.binom.sf(59, 100, 0.5)
    0.02844397
    """
    distance, last, is_all = space_nodes(few, line)
    if line.step is None or not is_all or few.values.size * (last + 1) > MOST_FACTORS:
        return None
    t = distance * np.arange(last + 1)
    # Each factor cos(t v) + i tanh(c v) sin(t v) as a length and an angle.
    angles = np.multiply.outer(few.values, t)
    sines, cosines = np.sin(angles), np.cos(angles)
    hyperbolic = np.tanh(line.tilt * few.values)[:, np.newaxis]
    # No length is zero: the tilt is not, and in so short a period no magnitude is tiny.
    logs = np.log1p((hyperbolic * hyperbolic - 1.0) * (sines * sines))
    turns = np.arctan2(hyperbolic * sines, cosines)
    lengths = np.exp(np.einsum("v,vt->t", few.counts / 2, logs))
    lengths[0] *= 0.5  # the line is symmetric: each other term stands for two
    phases = np.einsum("v,vt->t", few.counts, turns) - threshold * t
    across, along = lengths * np.cos(phases), lengths * np.sin(phases)
    # The geometric series over all possible sums from the threshold on, 1 / (1 - shrinks), has the
    # numerator (1 - a cos, a sin) and this denominator.
    shrinks = math.exp(-2 * line.step * line.tilt)
    waves = 2 * line.step * t
    real, imaginary = 1.0 - shrinks * np.cos(waves), shrinks * np.sin(waves)
    scale = math.exp(few.cumulant(line.tilt).value - line.tilt * threshold)
    scale *= 2 * line.step * distance / math.pi
    ratios = (across * real + along * imaginary) / (real * real + imaginary * imaginary)
    return Tail(scale * float(ratios.sum()), scale * float(across.sum()))
