"""The saddlepoint: the tilt under which a rare sum becomes the usual one, and the tail from it."""

from __future__ import annotations

import math

import scipy

from rageval_report.stats.sign_flips.sign_sums import Magnitudes, SignSums

# In standard deviations. A line of integration this far from the pole at zero needs few nodes, and
# tilting a central threshold by so little costs few digits.
LEAST_TILT = 2.0
# Newton's method converges in about ten steps; the bound only guards against an endless loop.
_MOST_STEPS = 100
_CLOSE = 1e-9  # in standard deviations of the tilted sum


def tilt(sums: Magnitudes, threshold: float) -> float:
    """The c at which the sum, tilted by c, has the threshold as its mean.

    Newton's method from the left: K' is concave there, so no step goes too far.

    Examples
    --------
    >>> import numpy as np
    >>> sums = SignSums(np.full(4, 0.5))
    >>> round(tilt(sums, 1.0), 6)  # 2 tanh(c / 2) = 1
    1.098612
    """
    # Each v tanh(c v) is at most c v**2, so this start is not to the right of the solution.
    c = threshold / sums.variance
    for _ in range(_MOST_STEPS):
        cumulant = sums.cumulant(c)
        missing = threshold - cumulant.mean
        if missing <= _CLOSE * math.sqrt(cumulant.variance):
            break
        c += missing / cumulant.variance
    return c


def saddlepoint_tail(sums: SignSums, threshold: float, spacing: float = 0.0) -> float:
    """The probability to reach the threshold, by the formula of Lugannani and Rice.

    Parameters
    ----------
    sums : SignSums
        The magnitudes.
    threshold : float
        More than one standard deviation, less than the sum of all magnitudes.
    spacing : float
        The distance of possible sums, if they lie on a lattice.

    References
    ----------
    .. [1] Lugannani, Rice (1980). Saddle point approximation for the distribution of the sum of
       independent random variables. Advances in Applied Probability 12.
    .. [2] Daniels (1987). Tail probability approximations. International Statistical Review 55.

    Examples
    --------
    >>> import numpy as np
    >>> tail = saddlepoint_tail(SignSums(np.full(100, 0.1)), 6.0, 0.2)
    >>> f"{tail:.3g}"  # 80 or more of 100 tosses: scipy.stats.binom.sf(79, 100, 0.5) = 5.58e-10
    '5.58e-10'
    """
    reached = threshold - spacing / 2
    return tilted_tail(sums, reached, tilt(sums, reached), spacing)


def tilted_tail(sums: Magnitudes, reached: float, c: float, spacing: float = 0.0) -> float:
    """`saddlepoint_tail` if the tilt is known; `reached` is half a spacing below the threshold."""
    cumulant = sums.cumulant(c)
    w = math.sqrt(2.0 * max(c * reached - cumulant.value, 0.0))
    half = c * spacing / 2
    # Daniels' correction for a lattice goes with a threshold that is half a spacing lower.
    u = c * math.sqrt(cumulant.variance) * (math.sinh(half) / half if half > 0 else 1.0)
    density = math.exp(-w * w / 2) / math.sqrt(2 * math.pi)
    tail = float(scipy.special.ndtr(-w)) + density * (1 / u - 1 / w)
    return tail if tail > 0 else density / u  # far from normal: at least the order of magnitude
