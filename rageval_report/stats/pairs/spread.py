"""How far scores lie apart, leaving rounding errors out of it.

Ten differences of 0.1 that were computed from floats differ in the seventeenth digit. Their
standard deviation is zero and their ranks are tied, whatever the seventeenth digit says.
"""

from __future__ import annotations

import numpy as np

from rageval_report.stats.base import TIE_TOLERANCE, largest_magnitude
from rageval_report.stats.magnitudes import unit_of
from rageval_report.types import FloatArray


def rounding_tolerance(*scores: FloatArray) -> float:
    """The difference up to which two scores of this size count as equal.

    Examples
    --------
    >>> rounding_tolerance(np.array([0.5, 1.0]), np.array([200.0]))
    2e-10
    """
    return tolerance_of(max((largest_magnitude(side) for side in scores if side.size), default=0.0))


def tolerance_of(largest: float) -> float:
    """The same, by the largest magnitude of a score.

    Examples
    --------
    >>> tolerance_of(200.0)
    2e-10
    """
    return TIE_TOLERANCE * max(1.0, largest)


def standard_deviation(values: FloatArray, tolerance: float) -> float:
    """The sample standard deviation: exactly 0 if all are equal up to rounding, NaN for one value.

    Examples
    --------
    >>> standard_deviation(np.array([0.1, 0.3 - 0.2, 0.4 - 0.3]), 1e-12)
    0.0
    >>> standard_deviation(np.array([1.0, 2.0, 3.0]), 1e-12)
    1.0
    """
    if values.size < 2:
        return float("nan")
    # Each value may be off by one tolerance, so two equal ones may lie two tolerances apart.
    low, high = float(values.min()), float(values.max())
    if high - low <= 2.0 * tolerance:
        return 0.0
    unit = unit_of(low, high)
    return float((values if unit == 1.0 else values / unit).std(ddof=1)) * unit


def tie_magnitudes(differences: FloatArray, tolerance: float) -> FloatArray:
    """The same differences, with magnitudes made equal if only rounding separates them.

    Examples
    --------
    >>> tied = tie_magnitudes(np.array([0.2, 0.1 - 0.3, 0.5]), 1e-12)
    >>> bool(tied[0] == -tied[1])
    True
    """
    magnitudes = np.abs(differences)
    order = np.argsort(magnitudes)
    ascending = magnitudes[order]
    first_of_tie = np.concatenate(([True], np.diff(ascending) > tolerance))
    tied = np.empty_like(magnitudes)
    tied[order] = ascending[first_of_tie][np.cumsum(first_of_tie) - 1]
    return np.copysign(tied, differences)
