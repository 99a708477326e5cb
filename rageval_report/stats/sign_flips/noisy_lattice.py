"""Whole multiples of a step plus a little noise: ties that only the noise decides.

A judge's scores that are averaged over its token probabilities are like that: 3.9998 and 4.00001.
The law of the sum is a row of narrow peaks, and the threshold lies inside one of them. What lies
above that peak is the tail of the lattice; the upper part of the peak itself follows from the joint
law of the sum of the multiples and the sum of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rageval_report.stats.sign_flips.fourier import IntegrationLine, select_nodes, tail_series
from rageval_report.stats.sign_flips.lattice import DENOMINATORS, MOST_STEPS
from rageval_report.stats.sign_flips.saddlepoint import LEAST_TILT, tilt
from rageval_report.stats.sign_flips.sign_sums import SignSums, log_cosh
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import ComplexArray, FloatArray

# The sum of the noise stays within this many standard deviations; peaks must not overlap.
_WIDTH = 9.0
# In steps. Less noise than this is rounding, which lattice.py removes; more is no lattice.
_QUIETEST, _NOISIEST = 1e-9, 0.05
# What is left out is below exp(-16) = 1e-7 of the answer.
_ACCURACY = 16.0
# More factors of the joint characteristic function than this would take too long.
_MOST_FACTORS = 10**7
_BLOCK = 2**17  # complex numbers that stay in the cache


@dataclass(frozen=True, slots=True)
class NoisySteps:
    """Magnitudes as whole numbers of a step, and the noise that remains, in steps."""

    steps: FloatArray
    noise: FloatArray


def noisy_lattice_tail(values: FloatArray, threshold: float, smallest: float) -> float | None:
    """The probability that a sum of random signs reaches the threshold; None if nothing fits.

    Parameters
    ----------
    values : ndarray
        The magnitudes.
    threshold : float
        A possible sum.
    smallest : float
        Roughly the probability, which sets the accuracy.

    Examples
    --------
    >>> from rageval_report.stats.sign_flips.meet_in_the_middle import listed_tail
    >>> values = 1.0 + np.arange(24) % 3 + 1e-6 * np.sqrt(np.arange(1, 25))
    >>> threshold = values[:17].sum() - values[17:].sum()
    >>> exact = listed_tail(values, np.ones(24), threshold, 1e-14).at_least
    >>> abs(noisy_lattice_tail(values, threshold, 0.01) / exact - 1) < 1e-3
    True
    """
    split = _split_noise(values)
    if split is None:
        return None
    noisy, step = split
    total = float(noisy.steps.sum())
    # Possible sums of the whole numbers are two steps apart; this is the one nearest the threshold.
    peak = total + 2 * round((threshold / step - total) / 2)
    beyond = threshold / step - peak
    if peak >= total:
        return None
    unit = math.sqrt(float(np.square(noisy.steps).sum()))
    sums = SignSums(noisy.steps[noisy.steps > 0] / unit)
    line = IntegrationLine(max(tilt(sums, peak / unit), LEAST_TILT), smallest, 1 / unit)
    series = tail_series(sums, np.array([peak / unit]), line)
    nodes = select_nodes(sums, line)
    t = np.asarray(nodes.t / unit)
    if t.size * values.size > _MOST_FACTORS:
        return None
    inside = _upper_part(noisy, peak, beyond, line.tilt / unit, t, nodes.distance / unit)
    return float(series.at_least[0] - series.equal[0]) + inside


def _split_noise(values: FloatArray) -> tuple[NoisySteps, float] | None:
    """The values as multiples of the first usual step that they are close to, and the step."""
    for denominator in DENOMINATORS[DENOMINATORS * values.max() <= MOST_STEPS].tolist():
        steps = np.rint(values * denominator)
        noise = values * denominator - steps
        overlap = _WIDTH * math.sqrt(float(np.square(noise).sum()))
        largest = float(np.abs(noise).max())
        if steps.any() and _QUIETEST < largest <= _NOISIEST and overlap <= 1:
            return NoisySteps(steps, noise), 1 / denominator
    return None


def _upper_part(
    noisy: NoisySteps, peak: float, beyond: float, c: float, t: FloatArray, distance: float
) -> float:
    """The probability to hit the peak with at least this much noise: a double Fourier integral."""
    slopes = np.tanh(c * noisy.steps)
    mean = sum_of_products(noisy.noise, slopes)
    deviation = math.sqrt(sum_of_products(np.square(noisy.noise), 1 - slopes**2))
    beyond = mean + float(np.clip(beyond - mean, -_WIDTH * deviation, _WIDTH * deviation))
    # Along the noise too the line of integration keeps away from the pole at zero.
    b = LEAST_TILT / deviation
    period = max(2 * _ACCURACY / b, abs(beyond - mean) + 8 * deviation)
    gap = 2 * math.pi / period
    last = math.ceil(math.sqrt(2 * _ACCURACY) / deviation / gap)
    v = gap * np.arange(-last, last + 1.0)
    terms = _joint_characteristic(noisy, c, b, t, v)
    terms[0] *= 0.5  # the line is symmetric: each other term stands for two
    waves = np.exp(-1j * t * peak) @ terms @ (np.exp(-1j * v * beyond) / (b + 1j * v))
    log_scale = float(log_cosh(np.abs(c * noisy.steps + b * noisy.noise)).sum())
    scale = math.exp(log_scale - c * peak - b * beyond)
    return float(scale * 2 * distance / math.pi * gap / (2 * math.pi) * waves.real)


def _joint_characteristic(
    noisy: NoisySteps, c: float, b: float, t: FloatArray, v: FloatArray
) -> ComplexArray:
    """The characteristic function of both sums at (t, v), tilted by (c, b)."""
    slopes = np.tanh(c * noisy.steps + b * noisy.noise)
    result = np.ones((t.size, v.size), dtype=np.complex128)
    block = max(1, _BLOCK // result.size)
    for start in range(0, slopes.size, block):
        part = slice(start, start + block)
        factors = (
            np.exp(1j * np.multiply.outer(noisy.steps[part], t))[:, :, np.newaxis]
            * np.exp(1j * np.multiply.outer(noisy.noise[part], v))[:, np.newaxis, :]
        )
        factors.imag *= slopes[part, np.newaxis, np.newaxis]
        result *= factors.prod(axis=0)
    return result
