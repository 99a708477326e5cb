"""Scores on the scale from 0 to 1, on which bets are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats.base import finite_values, paired_differences, paired_values
from rageval_report.types import FloatArray

# Scores may leave their bounds by this share of the range: the rounding of whoever scored.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class UnitScores:
    """Scores, in the order in which they came, on the scale from 0 to 1.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Between 0 and 1.
    low, high : float
        The ends of the original scale.

    Examples
    --------
    >>> scores = UnitScores.of([1, 3, float("nan"), 5], (1, 5))
    >>> scores.values, scores.to_unit(4.0), scores.to_scale(0.5)
    (array([0. , 0.5, 1. ]), 0.75, 3.0)
    """

    values: FloatArray
    low: float
    high: float

    @classmethod
    def of(cls, values: npt.ArrayLike, bounds: tuple[float, float]) -> Self:
        """The scores that are present.

        Raises
        ------
        DataError
            If the bounds are not finite and in order, or a score lies outside them.
        """
        low, high = bounds
        if not -np.inf < low < high < np.inf:
            raise DataError(
                f"bounds must be two finite numbers, the lower one first; got {bounds}. For scores "
                "without bounds use asymptotic_sequence"
            )
        present = finite_values(values)
        scaled = (present - low) / (high - low)
        outside = (scaled < -_ROUNDING) | (scaled > 1.0 + _ROUNDING)
        if outside.any():
            place = int(np.flatnonzero(outside)[0])
            raise DataError(
                f"scores must lie within the bounds {low:g} to {high:g}; "
                f"{int(outside.sum())} do not, the first is {float(present[place])}"
            )
        return cls(np.clip(scaled, 0.0, 1.0), float(low), float(high))

    @classmethod
    def of_pairs(
        cls, baseline: npt.ArrayLike, candidate: npt.ArrayLike, bounds: tuple[float, float]
    ) -> Self:
        """The differences of the complete pairs, candidate minus baseline.

        Raises
        ------
        DataError
            If the sides differ in length, or a score lies outside the bounds.
        """
        before, after = paired_values(baseline, candidate)
        for side in (before, after):
            cls.of(side, bounds)  # a difference may be possible though a score is not
        width = bounds[1] - bounds[0]
        return cls.of(paired_differences(before, after), (-width, width))

    def to_unit(self, value: float) -> float:
        """A value of the original scale on the scale from 0 to 1."""
        return (value - self.low) / (self.high - self.low)

    def to_scale(self, value: float) -> float:
        """A value between 0 and 1 on the original scale."""
        return self.low + value * (self.high - self.low)
