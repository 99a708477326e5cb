"""Scores so large, or so small, that their squares are not doubles.

They are divided by a power of two, which rounds nothing, and the results are multiplied by it.
"""

from __future__ import annotations

import math

import numpy as np

from rageval_report.types import FloatArray

# Fourth powers of numbers in between, and sums of many of them, are doubles.
_LARGE, _SMALL = 2.0**240, 2.0**-240


def unit_of(*values: FloatArray | float) -> float:
    """The power of two by which to divide values before they are squared; 1.0 as a rule.

    Parameters
    ----------
    values : ndarray or float
        Finite numbers; NaN does not count.

    Examples
    --------
    >>> unit_of(np.array([0.5, 80.0])), unit_of(np.array([-1e300])) == 2.0**996
    (1.0, True)
    """
    top = max(map(_largest, values), default=0.0)
    if top == 0.0 or _SMALL <= top <= _LARGE:
        return 1.0
    return math.ldexp(1.0, math.frexp(top)[1] - 1)


def _largest(values: FloatArray | float) -> float:
    """The largest magnitude; 0 if there is none."""
    if not isinstance(values, np.ndarray):
        return 0.0 if math.isnan(values) else abs(float(values))
    if not values.size:
        return 0.0
    largest = max(
        -float(np.fmin.reduce(values, axis=None)), float(np.fmax.reduce(values, axis=None))
    )
    return 0.0 if math.isnan(largest) else largest
