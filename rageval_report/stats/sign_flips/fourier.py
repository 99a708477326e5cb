"""The tail of a sum of random signs from its characteristic function.

The integral ``P(S >= x) = 1/(2 pi i) * integral of exp(K(z) - z x) / z`` is taken along the line
``z = c + it`` through the saddlepoint, not along the imaginary axis. All terms then have the size
of the answer, so a probability of 1e-9 has as many correct digits as one of 0.1, and the trapezoid
rule converges faster than any power. Some thirty terms are enough if the sum is close to normal.
If it is not (a few values dominate, values are tied) the characteristic function returns far out; a
bound shows where that can happen, and only there further terms are computed. For small samples the
bound is the product of the factors in single precision, for large ones it comes from one fast
Fourier transform of the histogram of the magnitudes. A fixed number of terms would be silently
wrong.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from rageval_report.stats.sign_flips.far_nodes import FarRange, FarTerms, find_far_terms
from rageval_report.stats.sign_flips.far_transform import (
    grid_spacing,
    lengths_on_grid,
    points_of_grid,
)
from rageval_report.stats.sign_flips.sign_sums import Magnitudes, SignSums
from rageval_report.stats.sign_flips.trapezoid import shortest_period
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import ComplexArray, FloatArray, IntArray

# The trapezoid rule adds the tail one period away: this bounds its relative size.
_ALIAS = 1e-11
# The same on a lattice, whose tails are else exact up to rounding.
_ALIAS_ON_STEPS = 1e-13
# Terms up to this many standard deviations of a normal characteristic function are never skipped;
# there exp(-7.5**2 / 2) is 6e-13.
_BODY = 7.5
# Terms beyond that are left out if they are below this, relative to the first.
_NEGLIGIBLE = 1e-9
# Up to this many values the product of their factors bounds the terms; then what is left out may
# add up to this share of the result.
_MOST_MULTIPLIED = 1500
_LEFT_OUT = 1e-4
# How far out the terms are followed as a rule, in tilts, and the most nodes that may take.
FAR = 4000.0
_MOST_NODES = 2**15
# Bounds on the work (factors of large values), on the memory (waves at a time), on factors that are
# computed in one piece, and on the bins of the histogram; with fewer bins or terms the series says
# what it cannot distinguish.
_MOST_FACTORS = 2 * 10**7
_MOST_WAVES = 2**20
_FEW_FACTORS = 2**15
_MOST_BINS = 2**15
_BLOCK = 2**17  # values counted at once
# Up to so many counted values each is shared between two bins, on a grid that is finer below such a
# sum of weights: there more nodes are relevant, and each of them costs more than the grid.
_FEW_VALUES, _LITTLE_WEIGHT = 2**10, 300.0
# Grid points per bin of the transform, so that the bound changes little between two of them.
_OVERSAMPLING = 8


@dataclass(frozen=True, slots=True)
class IntegrationLine:
    """The line along which the integral is taken, and how finely.

    Parameters
    ----------
    tilt : float
        Where it cuts the real axis, above zero.
    smallest : float
        Roughly the probability to compute, which sets the distance of the nodes.
    step : float, optional
        The step of which all magnitudes are multiples. Possible sums are then two steps apart.
    far : float
        How far out the terms are followed, in tilts. Sums closer to the threshold than 1 / far of
        the scale on which the tail falls are not distinguished from it.
    spread : float
        If above zero, a number that is uniform between -spread and spread is added to the sum.
    threshold : float, optional
        The threshold, if there is one alone; then fewer nodes are enough.
    has_few_terms : bool
        Whether all terms may be left out that together are at most a small share of the result;
        `SeriesTail.left_out` then says how much that is.
    """

    tilt: float
    smallest: float
    step: float | None = None
    far: float = FAR
    spread: float = 0.0
    threshold: float | None = None
    has_few_terms: bool = True


@dataclass(frozen=True, slots=True)
class Nodes:
    """Points of the line, as multiples of a distance: all near ones, and some far ones.

    No point up to ``last`` is missing that matters; if ``is_all``, none beyond matters either.
    ``left_out`` is a bound on the sum of the missing terms, each divided by its point.
    """

    distance: float
    body: IntArray
    far: IntArray
    last: int
    is_all: bool
    left_out: float = 0.0

    @property
    def multiples(self) -> IntArray:
        """The numbers of the points."""
        return np.append(self.body, self.far)

    @property
    def t(self) -> FloatArray:
        """The imaginary parts of the points."""
        return np.asarray(self.distance * self.multiples, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class SeriesTail:
    """The result of the series for each threshold.

    Parameters
    ----------
    at_least : ndarray
        The probability that the sum reaches the threshold.
    equal : ndarray
        The probability that it hits the threshold, on a lattice; else zero.
    near : ndarray
        The probability that it comes so near to the threshold, beyond that of a smooth law, that
        the series cannot say on which side it is. Half of it is counted in ``at_least``.
    left_out : ndarray
        How much the terms that were left out can change ``at_least``.
    """

    at_least: FloatArray
    equal: FloatArray
    near: FloatArray
    left_out: FloatArray


def tail_series(sums: SignSums, thresholds: FloatArray, line: IntegrationLine) -> SeriesTail:
    """The tail at each threshold.

    Parameters
    ----------
    sums : SignSums
        The magnitudes.
    thresholds : ndarray
        Any numbers; on a lattice, possible sums.
    line : IntegrationLine
        The line of integration.

    Examples
    --------
    >>> sums = SignSums(np.full(100, 0.1))
    >>> series = tail_series(sums, np.array([2.0]), IntegrationLine(2.0, 0.03, 0.1))
    >>> series.at_least.round(8)  # 60 or more of 100 tosses: scipy.stats.binom.sf(59, 100, 0.5)
    array([0.02844397])
    """
    nodes = select_nodes(sums, line)
    centre = sums.cumulant(line.tilt)
    # Near nodes need fewer factors, but of few counted values all together take least time.
    parts = [nodes.body, nodes.far]
    if sums.counts is not None and sums.values.size * nodes.multiples.size <= _FEW_FACTORS:
        parts = [nodes.multiples]
    terms = np.concatenate(
        [sums.characteristic(line.tilt, nodes.distance, part) for part in parts if part.size]
    )
    terms[0] *= 0.5  # the line is symmetric: each other term stands for two
    z = line.tilt + 1j * nodes.t
    # 1 / z integrates a smooth density; on a lattice the geometric series over all possible sums
    # from the threshold on takes its place.
    step = line.step or 0.0
    kernel = -2 * step / np.expm1(-2 * step * z) if step else 1 / z
    if line.spread:
        terms = terms * np.sinh(line.spread * z) / (line.spread * z)
    # The mean of the outer terms is zero if they have died out, else the mass that is tied.
    outer = nodes.t > nodes.distance * (nodes.last // 2)
    beyond = 0.0 if nodes.is_all else math.pi / nodes.distance / (nodes.last - nodes.last // 2)
    sums_of = np.stack([terms * kernel, terms * 2 * step, terms * outer * beyond])
    scale = np.exp(centre.value - line.tilt * thresholds) * nodes.distance / math.pi
    at_least, equal, near = scale * _waves(thresholds, nodes, sums_of)
    if line.threshold is not None:
        # One period farther left every sum reaches the threshold, and two periods, and so on.
        shrinks = math.exp(-line.tilt * 2 * math.pi / nodes.distance)
        at_least -= shrinks / (1.0 - shrinks)
    return SeriesTail(at_least, equal, near, scale * nodes.left_out)


def select_nodes(sums: SignSums, line: IntegrationLine) -> Nodes:
    """The nodes at which the terms of the series need not be negligible."""
    distance, last, is_all = space_nodes(sums, line)
    deviation = math.sqrt(sums.cumulant(line.tilt).variance)
    reach = max(_BODY / deviation, math.sqrt(max(sums.reach**2 - line.tilt**2, 0.0)))
    body = np.arange(min(last, math.ceil(reach / distance)) + 1)
    terms = FarTerms(body[:0], 0.0)
    if body.size <= last:
        terms = _far_terms(sums, line, FarRange(line.tilt, distance, body.size, last, line.spread))
    far = terms.nodes
    n_factors = sums.n_large(math.hypot(line.tilt, distance * last))
    if far.size * n_factors > _MOST_FACTORS:
        far = far[: _MOST_FACTORS // n_factors]
        last, is_all = int(np.append(body, far)[-1]), False
    return Nodes(distance, body, far, last, is_all, terms.left_out)


def _waves(thresholds: FloatArray, nodes: Nodes, terms: ComplexArray) -> FloatArray:
    """The real part of the sum over t of exp(-i t x) times each row of terms, for each x."""
    # The nodes are multiples k of a distance. With k = a * stride + b, exp(-i t x) is a product of
    # two factors, and few of each have to be computed: exp() took most of the time of a test.
    stride = math.isqrt(nodes.last) + 1
    coarse, fine = np.divmod(nodes.multiples, stride)
    turns = -1j * nodes.distance * thresholds
    block = max(1, _MOST_WAVES // coarse.size)
    parts = []
    for start in range(0, thresholds.size, block):
        some = turns[start : start + block]
        waves = np.exp(np.multiply.outer(some * stride, np.arange(coarse[-1] + 1)))[:, coarse]
        waves *= np.exp(np.multiply.outer(some, np.arange(stride)))[:, fine]
        # Not by BLAS: it would start its threads for a sum of a few thousand terms.
        parts.append(np.einsum("xt,kt->kx", waves, terms).real)
    return np.concatenate(parts, axis=1)


def space_nodes(sums: Magnitudes, line: IntegrationLine) -> tuple[float, int, bool]:
    """The distance of the nodes, the number of the last, and whether that ends a period.

    Examples
    --------
    >>> sums = SignSums(np.full(100, 0.1))
    >>> distance, last, is_all = space_nodes(sums, IntegrationLine(2.0, 0.03, 0.1))
    >>> last, is_all  # a period has 2 * 37 + 1 nodes
    (37, True)
    """
    if line.threshold is not None:
        alias = _ALIAS if line.step is None else _ALIAS_ON_STEPS
        period = float(shortest_period(sums.total, line.threshold, line.tilt, line.smallest, alias))
        period += 2 * line.spread
    else:
        # The period must be so long that its neighbours add nothing: on the left the tail grows by
        # exp(tilt x), on the right Hoeffding bounds it.
        accuracy = -math.log(_ALIAS)
        left = (accuracy - math.log(line.smallest)) / line.tilt
        period = max(left, math.sqrt(2.0 * accuracy * sums.variance))
    last = _last_node(line, period)
    if line.step is None:
        return 2 * math.pi / period, last, False
    half = math.ceil(period / (4 * line.step))  # a period has an odd number of nodes, 2 half + 1
    return math.pi / (line.step * (2 * half + 1)), min(half, last), half <= last


def _last_node(line: IntegrationLine, period: float) -> int:
    nodes = line.far * line.tilt * period / (2 * math.pi)
    return math.ceil(min(nodes, _MOST_NODES * line.far / FAR))


def _far_terms(sums: SignSums, line: IntegrationLine, far: FarRange) -> FarTerms:
    """The far nodes to compute, by the cheaper of two bounds."""
    # On a lattice the tails are exact, so no terms that matter are left out there.
    threshold = line.threshold if line.step is None else None
    if threshold is None or not line.has_few_terms or sums.size > _MOST_MULTIPLIED:
        is_few = sums.counts is not None and sums.values.size <= _FEW_VALUES
        find = _relevant_to_few if is_few else _relevant_nodes
        return FarTerms(find(sums, line, far.distance, far.first, far.last), 0.0)
    values = sums.values
    if sums.counts is not None:
        values = np.repeat(values, sums.counts.astype(np.int64))
    scale = math.exp(sums.cumulant(line.tilt).value - line.tilt * threshold)
    allowed = _LEFT_OUT * line.smallest / scale * math.pi / far.distance
    return find_far_terms(values, far, allowed)


def _relevant_nodes(
    sums: SignSums, line: IntegrationLine, distance: float, first: int, last: int
) -> IntArray:
    """The nodes from first to last at which the characteristic function may not be negligible.

    Its tilted form is a product of n factors whose squares are 1 - w (1 - cos(2 t v)) / 2, with
    weights w = 1 / cosh(tilt v)**2. They are 1 - N**2 / 2n on average, N**2 = sum of
    w (1 - cos(2 t v)), and their geometric mean is below that. N is the length of a vector, so it
    changes little between the points of a grid, and little when the magnitudes are put into bins.
    """
    bins, width = _choose_bins(sums.top, distance * last, line.step)
    counts = _count_bins(sums, width, bins)
    # A magnitude moves by half a bin at most when it is put into one; on a lattice it does not.
    moved = 0.0 if width == line.step else width / 2
    centres = np.arange(bins) * width
    # Cut at 300, because the square of cosh overflows from 355 on; such a weight is nothing.
    weights = counts / np.cosh(np.minimum(line.tilt * (centres + moved), 300.0)) ** 2
    points = 2 ** math.ceil(math.log2(_OVERSAMPLING * bins))
    spacing = math.pi / (points * width)
    end = round(distance * last / spacing) + 1
    weight = float(weights.sum())
    slope = math.sqrt(2 * sum_of_products(weights, (centres + moved) ** 2))
    length = np.sqrt(np.maximum(weight - np.fft.rfft(weights, points).real[:end], 0.0))
    # What N can change between a node and its grid point, and by the binning.
    slack = slope * spacing / 2 + math.sqrt(2 * weight) * moved * spacing * np.arange(length.size)
    needed = _needed_square(sums.size)
    dead = np.maximum(length - slack, 0.0) ** 2 >= needed
    if length.size == end and dead[round(distance * first / spacing) :].all():
        return np.zeros(0, dtype=np.int64)
    nodes = np.arange(first, last + 1)
    at = np.minimum(np.rint(distance / spacing * nodes).astype(np.intp), length.size)
    is_dead = np.append(dead, False)  # nothing is known beyond the grid, so nothing is dropped
    return np.asarray(nodes[~is_dead[at]])


def _relevant_to_few(
    sums: SignSums, line: IntegrationLine, distance: float, first: int, last: int
) -> IntArray:
    """`_relevant_nodes` for few counted magnitudes: each is shared between two bins.

    So a quarter of the bins is enough, and the transform of a row of `far_transform`.
    """
    weights = sums.counts / np.cosh(np.minimum(line.tilt * sums.values, 300.0)) ** 2
    end, weight = np.array([distance * last]), weights.sum(keepdims=True)
    finer = 4 if weight < _LITTLE_WEIGHT else 2
    [points] = (finer * points_of_grid(end, weight)).tolist()
    if points > _MOST_BINS:  # so far out the coarser of two grids is enough
        return _relevant_nodes(sums, line, distance, first, last)
    [spacing] = grid_spacing(end, points).tolist()
    [lengths] = lengths_on_grid(sums.values[np.newaxis], weights[np.newaxis], end, points)
    # N changes by no more than this from a point of the grid to the nodes that are nearest to it.
    lengths -= math.sqrt(2.0 * sum_of_products(weights, np.square(sums.values))) * spacing / 2
    is_live = np.square(np.maximum(lengths, 0.0)) < _needed_square(sums.size)
    at = np.rint(distance / spacing * np.arange(first, last + 1)).astype(np.intp)
    return np.asarray(first + np.flatnonzero(is_live[at]))


def _needed_square(size: float) -> float:
    """The N**2 from which on a term is negligible."""
    return -2 * size * math.expm1(2 * math.log(_NEGLIGIBLE) / size)


def _count_bins(sums: SignSums, width: float, bins: int) -> FloatArray | IntArray:
    """The number of magnitudes in each bin."""
    if sums.counts is not None:
        return np.bincount(np.rint(sums.values / width).astype(np.intp), sums.counts, bins)
    counts = np.zeros(bins, dtype=np.intp)
    # Not all at once: memory for a copy of a million values costs more than to count them.
    for start in range(0, sums.values.size, _BLOCK):
        places = sums.values[start : start + _BLOCK] / width
        counts += np.bincount(np.rint(places, out=places).astype(np.intp), minlength=bins)
    return counts


def _choose_bins(top: float, farthest: float, step: float | None) -> tuple[int, float]:
    """The number of bins and their width: one per step, or fine enough for the fastest wave."""
    fine = max(4 * farthest * top, 16.0)
    if step is not None and top / step < fine:
        return round(top / step) + 1, step
    bins = min(math.ceil(fine), _MOST_BINS)
    return bins, top / (bins - 1)
