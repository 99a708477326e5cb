"""The scores of a long column as a few numbers with weights that have nearly the same integrals.

Each bin is replaced by the two points of a Gauss rule, which have the count, the mean, the variance
and the third moment of the scores in the bin. One or two different scores in a bin stay what they
are, so that lattices (0/1 scores, ratings, reciprocal ranks) lose next to nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rageval_report.errors import DataError
from rageval_report.stats.means.selection import blocks
from rageval_report.types import FloatArray, IndexArray

_BINS = 64
# Up to so many numbers are listed one by one where only their counts are known.
MOST_LISTED = 10_000_000
# A variance in a bin below this, relative to the squared width of the bin, is rounding.
_NO_SPREAD = 1e-14
# The mean of scores that are not all equal can be this close to a bound, as a share of the range.
_CLOSEST = 1e-12
# Places from either end between which the middles of the bins are interpolated.
_GRID = np.linspace(0.0, 1.0, 512, endpoint=False)


@dataclass(frozen=True, slots=True, eq=False)
class CountedScores:
    """Numbers and how often each occurs.

    Parameters
    ----------
    scores, counts : ndarray of shape (n,)
        The numbers, and their counts, which need not be whole.
    is_exact : bool
        Whether these are the scores themselves, and not numbers that stand for many of them.
    """

    scores: FloatArray
    counts: FloatArray
    is_exact: bool = True

    def listed(self, purpose: str) -> FloatArray:
        """The numbers one by one, for what needs all of them.

        Raises
        ------
        DataError
            If there are too many, or their counts are not those of single numbers.

        Examples
        --------
        >>> CountedScores(np.array([0.5, 1.0]), np.array([2.0, 1.0])).listed("the test 'wilcoxon'")
        array([0.5, 0.5, 1. ])
        """
        if not self.is_exact or self.counts.sum() > MOST_LISTED:
            raise DataError(
                f"{purpose} needs every score in memory, and of this scan only sums are known; "
                "choose another one, or bring the scores into memory with .collect()"
            )
        return np.repeat(self.scores, self.counts.astype(np.int64))


def bin_scores(
    scores: FloatArray,
    mean: float,
    bounds: tuple[float, float],
    counts: FloatArray | None = None,
) -> CountedScores:
    """At most 128 weighted numbers with nearly the same integrals of smooth functions.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Scores within the bounds, not all equal, without NaN.
    mean : float
        Their mean.
    bounds : tuple of float
        The smallest and the largest possible score.
    counts : ndarray of shape (n,), optional
        How often each score occurs; once by default.

    Examples
    --------
    >>> ratings = np.repeat([1.0, 2.0, 5.0], [300, 200, 100])
    >>> binned = bin_scores(ratings, float(ratings.mean()), (1, 5))
    >>> binned.scores, binned.counts
    (array([1., 2., 5.]), array([300., 200., 100.]))
    """
    bins = _Bins(*bounds, mean)
    edges = bins.edges()
    middles = (edges[:-1] + edges[1:]) / 2.0
    sums = np.zeros((4, _BINS))
    weights = blocks(np.ones_like(scores) if counts is None else counts)
    for block, weight in zip(blocks(scores), weights, strict=True):
        place = bins.place_of(block)
        # Around the middle of the bin, as powers of the scores themselves would lose digits.
        offset = block - middles[place]
        power = weight.copy()
        for row in sums:
            row += np.bincount(place, weights=power, minlength=_BINS)
            power *= offset
    is_used = sums[0] > 0.0
    points = _gauss_points(sums[:, is_used], np.diff(edges)[is_used])
    numbers = np.concatenate([middles[is_used] + offset for offset in points.offsets])
    in_points = points.counts.ravel()
    numbers = np.clip(numbers, scores.min(), scores.max())
    return CountedScores(numbers[in_points > 0.0], in_points[in_points > 0.0], is_exact=False)


@dataclass(frozen=True, slots=True)
class _Bins:
    """Bins that are narrow where a limit of the mean needs it: at the bounds and at the mean.

    The distance of the mean from a bound is the scale of the limit on that side: for a mean of
    0.001 the scores 0.001 and 0.002 need bins of their own. So a score is placed by a / (a + b),
    where a is its distance from a bound and b the mean's; both bounds count.
    """

    low: float
    high: float
    mean: float

    def place_of(self, scores: FloatArray) -> IndexArray:
        """The number of the bin of each score."""
        first, last = self._position(np.array([self.low, self.high]))
        places = (self._position(scores) - first) * (_BINS / (last - first))
        bins: IndexArray = np.minimum(places.astype(np.intp), _BINS - 1)
        return bins

    def edges(self) -> FloatArray:
        """The scores between the bins, nearly."""
        below, above = self._scales()
        ratio = _GRID / (1.0 - _GRID)
        grid = np.concatenate((self.low + below * ratio, self.high - above * ratio))
        grid = np.unique(np.clip(grid, self.low, self.high))
        positions = self._position(grid)
        places = np.linspace(positions[0], positions[-1], _BINS + 1)
        edges: FloatArray = np.interp(places, positions, grid)
        return edges

    def _position(self, scores: FloatArray) -> FloatArray:
        below, above = self._scales()
        from_low, from_high = scores - self.low, self.high - scores
        position: FloatArray = from_low / (from_low + below)
        position -= from_high / (from_high + above)
        return position

    def _scales(self) -> tuple[float, float]:
        """The distances of the mean from the bounds, which rounding must not make 0."""
        least = _CLOSEST * (self.high - self.low)
        return max(self.mean - self.low, least), max(self.high - self.mean, least)


@dataclass(frozen=True, slots=True, eq=False)
class _GaussPoints:
    """Two offsets from the middle of each bin, and their counts, one of which may be 0."""

    offsets: FloatArray
    counts: FloatArray


def _gauss_points(sums: FloatArray, widths: FloatArray) -> _GaussPoints:
    """The two-point rule with the given sums of the powers 0 to 3 in each bin."""
    counts = sums[0]
    first, second, third = sums[1:] / counts
    variance = second - first**2
    has_spread = variance > _NO_SPREAD * widths**2
    variance = np.where(has_spread, variance, 1.0)
    # The distances from the mean have the product -variance and the sum third moment / variance.
    half = (third - 3.0 * first * second + 2.0 * first**3) / (2.0 * variance)
    # Of the two roots the larger is computed, and the smaller from the product: no digits are lost.
    far = half + np.copysign(np.sqrt(half**2 + variance), half)
    near = -variance / far
    share = np.where(has_spread, -near / (far - near), 0.0)
    far = np.where(has_spread, far, 0.0)
    near = np.where(has_spread, near, 0.0)
    return _GaussPoints(
        np.stack((first + far, first + near)), np.stack((counts * share, counts * (1.0 - share)))
    )
