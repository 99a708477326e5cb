"""Sums of random signs of so many magnitudes that only sums of their powers are known."""

from __future__ import annotations

import math
from typing import Self

import numpy as np

from rageval_report.stats.sign_flips.sign_sums import CumulantParts, SignSums, within_reach
from rageval_report.stats.states.power_sums import PowerSums
from rageval_report.types import FloatArray

# The last of the near nodes lies a little beyond the radius for which the power series is meant.
# The series converges there, and the characteristic function has died out.
_SLACK = 1.1
# Distances from the centre below this, relative to the values, are rounding.
_EQUAL = 1e-14


class SummedSigns(SignSums):
    """Magnitudes that enter a sum with random signs, known by the sums of their powers.

    Wherever the argument times the largest of the summed magnitudes is small, the power series has
    the same terms as in memory. Beyond that the bins of the histogram stand for the magnitudes in
    them; there the characteristic function has died out, or the bins say where it returns.

    Parameters
    ----------
    sums : PowerSums
        Sums of powers about the point from which magnitudes are counted, with a histogram.
    unit : float
        The unit of the magnitudes.

    Examples
    --------
    >>> sums = PowerSums.of(np.sin(np.arange(1000.0)), 26, has_bins=True)
    >>> signs = SummedSigns.of(sums, 0.0)
    >>> round(signs.variance, 12), round(signs.cumulant(1.0).mean, 6)
    (1.0, 0.9995)
    """

    def __init__(self, sums: PowerSums, unit: float):
        self._summed = sums
        self.unit = unit
        self._far = np.abs(sums.far - sums.centre) / unit
        near = max(sums.high - sums.centre, sums.centre - sums.low) / unit
        self._near_reach = within_reach(near)
        counted = _magnitudes_of_bins(sums)
        super().__init__(
            np.concatenate((counted[0] / unit, self._far)),
            np.concatenate((counted[1], np.ones(self._far.size))),
        )
        self.top = max(near, float(self._far.max(initial=0.0)))
        self.reach = within_reach(self.top)
        self.variance = (root_of_squares(sums) / unit) ** 2
        self._parts = self._split(self._near_reach)

    @classmethod
    def of(cls, sums: PowerSums, shift: float) -> Self:
        """The magnitudes of differences from which a shift was subtracted."""
        about = sums.about(shift)
        return cls(about, root_of_squares(about))

    def _split(self, radius: float) -> CumulantParts:
        if radius > _SLACK * self._near_reach:
            return super()._split(radius)
        even = np.arange(2, self._summed.order + 1, 2)
        scale = math.ldexp(1.0, self._summed.exponent) / self.unit
        near = self._summed.sums[even] * scale**even
        # The far values as they are: the next larger radius may need them one by one.
        return CumulantParts(_SLACK * self._near_reach, near, self._far, np.ones(self._far.size))


def root_of_squares(sums: PowerSums) -> float:
    """The root of the sum of the squares of the distances from the centre.

    Examples
    --------
    >>> root_of_squares(PowerSums.of(np.array([3.0, 4.0]), 2).about(0.0))
    5.0
    """
    near = math.ldexp(float(sums.sums[2]), 2 * sums.exponent)
    return math.sqrt(math.fsum([near, *np.square(sums.far - sums.centre).tolist()]))


def _magnitudes_of_bins(sums: PowerSums) -> tuple[FloatArray, FloatArray]:
    """The distances of the means of the bins from the centre, and the counts of the bins."""
    bins = sums.bins
    if bins is None:
        raise ValueError("these sums have no histogram")
    magnitudes, counts = np.abs(bins.means - sums.centre), bins.counts[bins.counts > 0]
    # Differences of 0 have no sign.
    is_moved = magnitudes > _EQUAL * max(abs(sums.low), abs(sums.high), abs(sums.centre))
    return magnitudes[is_moved], counts[is_moved].astype(np.float64)
