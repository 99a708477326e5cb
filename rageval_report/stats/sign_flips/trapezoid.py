"""How far apart the nodes of the trapezoid rule may be for the tail of a sum of random signs."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from rageval_report.types import FloatArray


def shortest_period(
    total: npt.ArrayLike,
    threshold: npt.ArrayLike,
    tilt: npt.ArrayLike,
    smallest: npt.ArrayLike,
    accuracy: float,
) -> FloatArray:
    """The shortest period at which the neighbours of a sum add next to nothing to its tail.

    With nodes 2 pi / P apart on the line through c, the trapezoid rule gives the sum over k of
    exp(ckP) P(S >= x + kP). Of the terms to the left the probability is 1 but for P(S > P - x), and
    that 1 is subtracted by the caller: 1 / (exp(cP) - 1) in all. Hoeffding bounds what is left on
    both sides by exp(-x**2/2 - P**2/2 + P d), where d is the distance of x and c; to the right it
    is 0 if no sum is that large.

    Parameters
    ----------
    total : float or array
        The largest sum, in units in which the squares of the values sum up to 1; all others too.
    threshold, tilt : float or array
        The threshold x and the tilt c.
    smallest : float or array
        Roughly the probability.
    accuracy : float
        The share of it that the neighbours may add.

    Examples
    --------
    >>> shortest_period([10.0], [2.0], [2.0], [0.02], 1e-11).round(3)
    array([7.381])
    """
    x, c = np.asarray(threshold), np.asarray(tilt)
    digits = -math.log(accuracy) - np.log(smallest)
    beside = c - x
    root = np.sqrt(np.maximum(np.square(beside) - np.square(x) + 2.0 * digits, 0.0))
    right = np.minimum(beside + root, (np.asarray(total) - x) * (1.0 + 1e-9))
    return np.asarray(np.maximum(np.maximum(right, root - beside), x))
