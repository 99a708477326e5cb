"""The tail of a sum of random signs from its characteristic function.

The integral ``P(S >= x) = 1/(2 pi i) * integral of exp(K(z) - z x) / z`` is taken along the line
``z = c + it`` through the saddlepoint, not along the imaginary axis. All terms then have the size
of the answer, so a probability of 1e-9 has as many correct digits as one of 0.1, and the trapezoid
rule converges faster than any power. Some thirty terms do where the sum is close to normal. Where
it is not (a few values dominate, values are tied) the characteristic function comes back far out; a
bound from one fast Fourier transform of the histogram of the magnitudes shows where that can
happen, and only there further terms are computed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rageval_report.stats.sign_flips.sign_sums import SignSums
from rageval_report.types import ComplexArray, FloatArray, IntArray

# Relative size of what the trapezoid rule may add from a period away.
_ALIAS = 1e-11
# How many standard deviations of the characteristic function of a normal law are never skipped.
_BODY = 7.5
# Size of a term beyond that may be left out.
_NEGLIGIBLE = 1e-9
FAR = 4000.0
_MOST_NODES = 2**15
_MOST_FACTORS = 2 * 10**7
_MOST_WAVES = 2**20
_MOST_BINS = 2**15
_OVERSAMPLING = 8


@dataclass(frozen=True, slots=True)
class Line:
    """The line along which the integral is taken, and how finely.

    Parameters
    ----------
    tilt : float
        Where it cuts the real axis, above zero.
    smallest : float
        About the probability that is wanted, which sets the distance of the nodes.
    step : float, optional
        The step of which all magnitudes are multiples; possible sums are then two steps apart.
    far : float
        How far out the terms are followed, in tilts. Mass closer to the threshold than 1 / far of
        the scale on which the tail falls is not told apart.
    """

    tilt: float
    smallest: float
    step: float | None = None
    far: float = FAR


@dataclass(frozen=True, slots=True)
class Nodes:
    """Points of the line, as multiples of a distance: all up to the body's last, some far ones.

    Of all up to ``last`` none is missing that matters; ``is_all`` if none beyond matters either.
    """

    distance: float
    body: IntArray
    far: IntArray
    last: int
    is_all: bool

    @property
    def t(self) -> FloatArray:
        """The imaginary parts of the points."""
        return np.asarray(self.distance * np.append(self.body, self.far), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Series:
    """What the series gives for each threshold.

    Parameters
    ----------
    at_least : ndarray
        The probability that the sum reaches the threshold.
    equal : ndarray
        The probability that it hits the threshold, on a lattice; else zero.
    near : ndarray
        The probability that it comes so near to the threshold, beyond what a smooth law would do,
        that the series cannot say on which side it is. Half of it is counted.
    """

    at_least: FloatArray
    equal: FloatArray
    near: FloatArray


def tail_series(sums: SignSums, thresholds: FloatArray, line: Line) -> Series:
    """The tail at each threshold.

    Parameters
    ----------
    sums : SignSums
        The magnitudes.
    thresholds : ndarray
        Any numbers; on a lattice, possible sums.
    line : Line
        The line of integration.

    Examples
    --------
    >>> sums = SignSums(np.full(100, 0.1))
    >>> series = tail_series(sums, np.array([2.0]), Line(2.0, 0.03, 0.1))
    >>> series.at_least.round(8)  # 60 or more of 100 tosses: scipy.stats.binom.sf(59, 100, 0.5)
    array([0.02844397])
    """
    nodes = select_nodes(sums, line)
    centre = sums.cumulant(line.tilt)
    terms = sums.characteristic(line.tilt, nodes.distance, nodes.body)
    if nodes.far.size:
        far = sums.characteristic(line.tilt, nodes.distance, nodes.far)
        terms = np.append(terms, far)
    terms[0] *= 0.5  # the line is symmetric: each other term stands for two
    z = line.tilt + 1j * nodes.t
    step = line.step or 0.0
    kernel = -2 * step / np.expm1(-2 * step * z) if step else 1 / z
    # The mean of the outer terms is nothing if they have died out, else the mass that is tied.
    outer = nodes.t > nodes.distance * (nodes.last // 2)
    beyond = 0.0 if nodes.is_all else math.pi / nodes.distance / (nodes.last - nodes.last // 2)
    sums_of = np.stack([terms * kernel, terms * 2 * step, terms * outer * beyond], axis=1)
    scale = np.exp(centre.value - line.tilt * thresholds) * nodes.distance / math.pi
    return Series(*(scale * _waves(thresholds, nodes.t, sums_of).T))


def select_nodes(sums: SignSums, line: Line) -> Nodes:
    """The nodes at which the terms of the series need not be negligible."""
    distance, last, is_all = _spacing(sums, line)
    deviation = math.sqrt(sums.cumulant(line.tilt).variance)
    reach = max(_BODY / deviation, math.sqrt(max(sums.reach**2 - line.tilt**2, 0.0)))
    body = np.arange(min(last, math.ceil(reach / distance)) + 1)
    far = body[:0]
    if body.size <= last:
        far = _alive(sums, line, distance, body.size, last)
    n_factors = sums.n_large(math.hypot(line.tilt, distance * last))
    if far.size * n_factors > _MOST_FACTORS:
        far = far[: _MOST_FACTORS // n_factors]
        last, is_all = int(np.append(body, far)[-1]), False
    return Nodes(distance, body, far, last, is_all)


def _waves(thresholds: FloatArray, t: FloatArray, terms: ComplexArray) -> FloatArray:
    """The real part of the sum over t of exp(-i t x) times the terms, for each threshold x."""
    block = max(1, _MOST_WAVES // t.size)
    parts = [
        (np.exp(-1j * np.multiply.outer(thresholds[start : start + block], t)) @ terms).real
        for start in range(0, thresholds.size, block)
    ]
    return np.concatenate(parts)


def _spacing(sums: SignSums, line: Line) -> tuple[float, int, bool]:
    """The distance of the nodes, the number of the last, and whether it ends a period."""
    accuracy = -math.log(_ALIAS)
    left = (accuracy - math.log(line.smallest)) / line.tilt
    right = math.sqrt(2.0 * accuracy * sums.variance)  # Hoeffding's bound
    period = max(left, right)
    most = min(line.far * line.tilt * period / (2 * math.pi), _MOST_NODES * line.far / FAR)
    last = math.ceil(most)
    if line.step is None:
        return 2 * math.pi / period, last, False
    half = math.ceil(period / (4 * line.step))  # an odd number of nodes, 2 half + 1, a period
    return math.pi / (line.step * (2 * half + 1)), min(half, last), half <= last


def _alive(sums: SignSums, line: Line, distance: float, first: int, last: int) -> IntArray:
    """The nodes from first to last at which the characteristic function may not be negligible.

    The logarithm of its tilted form is at most -N**2 / 4 with N**2 = sum of w (1 - cos(2 t v)) and
    weights w = 1 / cosh(tilt v)**2. N is the length of a vector, so it changes little between the
    points of a grid, and little when the magnitudes are put into bins.
    """
    bins, width = _bins(sums.top, distance * last, line.step)
    counts = np.bincount(np.rint(sums.values / width).astype(np.intp), sums.counts, bins)
    moved = 0.0 if width == line.step else width / 2
    centres = np.arange(bins) * width
    weights = counts / np.cosh(np.minimum(line.tilt * (centres + moved), 300.0)) ** 2
    points = 2 ** math.ceil(math.log2(_OVERSAMPLING * bins))
    spacing = math.pi / (points * width)
    end = round(distance * last / spacing) + 1
    weight = float(weights.sum())
    slope = math.sqrt(2 * float(weights @ (centres + moved) ** 2))
    length = np.sqrt(np.maximum(weight - np.fft.rfft(weights, points).real[:end], 0.0))
    slack = slope * spacing / 2 + math.sqrt(2 * weight) * moved * spacing * np.arange(length.size)
    dead = np.maximum(length - slack, 0.0) ** 2 >= -4 * math.log(_NEGLIGIBLE)
    if length.size == end and dead[round(distance * first / spacing) :].all():
        return np.zeros(0, dtype=np.int64)
    nodes = np.arange(first, last + 1)
    at = np.minimum(np.rint(distance / spacing * nodes).astype(np.intp), length.size)
    dead_or_not = np.append(dead, False)  # beyond the grid nothing is known
    return np.asarray(nodes[~dead_or_not[at]])


def _bins(top: float, farthest: float, step: float | None) -> tuple[int, float]:
    """How many bins for the magnitudes, and how wide: one a step, or fine for the fastest wave."""
    fine = max(4 * farthest * top, 16.0)
    if step is not None and top / step < fine:
        return round(top / step) + 1, step
    bins = min(math.ceil(fine), _MOST_BINS)
    return bins, top / (bins - 1)
