"""Alpha spending: levels for a planned few looks with a test of one's own.

The error rate is spent bit by bit: at each look a little, and in the end all of it. What is spent
by the time a share of the queries was asked is given by a spending function; the level of each look
follows from it, because the looks share their queries. O'Brien and Fleming's form spends almost
nothing early and keeps nearly the whole power of a single test; Pocock's spends evenly, so that
large effects stop the evaluation early.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import TypeAlias

import numpy as np
import scipy

from rageval_report._registry import Registry
from rageval_report.errors import DataError
from rageval_report.stats.base import check_probability
from rageval_report.types import FloatArray

# What of `alpha` is spent when a share of the queries was asked.
Spending: TypeAlias = Callable[[float, float], float]

# Nodes of the integral over the statistic of a look. With 128 the boundaries of ten looks differ
# from those with 512 by less than 1e-10.
_NODES = 128
# No look rejects beyond this many standard errors: a level of 1e-57.
_FARTHEST = 16.0


def obrien_fleming(share: float, alpha: float) -> float:
    """Lan and DeMets' function for boundaries like those of O'Brien and Fleming.

    Parameters
    ----------
    share : float
        The share of the planned queries that was asked, above 0, at most 1.
    alpha : float
        The error rate of a two-sided test.

    Examples
    --------
    >>> [round(obrien_fleming(share, 0.05), 5) for share in (0.2, 0.6, 1.0)]
    [0.0, 0.00762, 0.05]
    """
    # Half on each side, as in the paper: 2 - 2 Phi(z / sqrt(t)) of a one-sided test at alpha / 2.
    quantile = float(scipy.special.ndtri(1.0 - alpha / 4.0))
    return 4.0 * float(scipy.special.ndtr(-quantile / math.sqrt(share)))


def pocock(share: float, alpha: float) -> float:
    """Lan and DeMets' function for boundaries like those of Pocock.

    Parameters
    ----------
    share, alpha
        As for `obrien_fleming`.

    Examples
    --------
    >>> [round(pocock(share, 0.05), 5) for share in (0.2, 0.6, 1.0)]
    [0.01477, 0.03543, 0.05]
    """
    return alpha * math.log1p((math.e - 1.0) * share)


SPENDING: Registry[Spending] = Registry(
    "spending function", {"obrien-fleming": obrien_fleming, "pocock": pocock}
)


def look_levels(
    shares: Sequence[float], *, alpha: float = 0.05, spending: str = "obrien-fleming"
) -> FloatArray:
    """The level of each look: a two-sided p-value at most this large stops the evaluation.

    Parameters
    ----------
    shares : sequence of float
        For each look the share of the planned queries that was asked, ascending, at most 1.
    alpha : float
        The probability that any look rejects a true null hypothesis. For a one-sided test at the
        rate a, take half of the levels for alpha = 2 a.
    spending : {"obrien-fleming", "pocock"}
        The spending function; a member of ``SPENDING``.

    Returns
    -------
    ndarray of shape (n_looks,)

    Raises
    ------
    DataError
        If the shares do not ascend from above 0 to at most 1.
    UnknownNameError
        If there is no such spending function.

    References
    ----------
    .. [1] Lan, DeMets (1983). Discrete sequential boundaries for clinical trials. Biometrika
           70:659-663.
    .. [2] Armitage, McPherson, Rowe (1969). Repeated significance tests on accumulating data.
           Journal of the Royal Statistical Society A 132:235-244.

    Examples
    --------
    >>> look_levels([0.5, 1.0]).round(4)
    array([0.0031, 0.049 ])
    >>> look_levels([0.5, 1.0], spending="pocock").round(4)
    array([0.031 , 0.0277])
    """
    check_probability("alpha", alpha)
    spent_by = SPENDING[spending]
    information = np.asarray(shares, dtype=np.float64)
    steps = np.diff(information, prepend=0.0)
    if not information.size or (steps <= 0.0).any() or not information[-1] <= 1.0 + 1e-12:
        raise DataError(f"shares must ascend from above 0 to at most 1; got {list(shares)}")
    spent = np.array([spent_by(min(1.0, share), alpha) for share in information.tolist()])
    increments = np.diff(spent, prepend=0.0)
    boundaries = _boundaries(tuple(information.tolist()), tuple(increments.tolist()))
    levels: FloatArray = 2.0 * scipy.special.ndtr(-np.array(boundaries))
    return levels


@lru_cache(maxsize=1_024)  # each metric asks at each look
def _boundaries(information: tuple[float, ...], increments: tuple[float, ...]) -> tuple[float, ...]:
    """The boundary of each look in standard errors, by integrating over the looks before it.

    Between looks the sum of the scores takes a normal step. `density` is that of the sum at the
    nodes, of evaluations that were not stopped before.
    """
    boundaries = []
    nodes, density = np.zeros(1), np.ones(1)  # before the first look the sum is 0
    earlier = 0.0
    points, weights = np.polynomial.legendre.leggauss(_NODES)
    for share, increment in zip(information, increments, strict=True):
        step, scale = math.sqrt(share - earlier), math.sqrt(share)

        excess = partial(_excess, nodes, density, scale, step, increment)
        # If the farthest boundary still spends too much, there is nothing to spend.
        is_spent = excess(_FARTHEST) >= 0.0
        boundary = _FARTHEST if is_spent else scipy.optimize.brentq(excess, 0.0, _FARTHEST)
        boundaries.append(boundary)
        inside = boundary * scale * points
        kernel = np.exp(-(((inside[:, np.newaxis] - nodes) / step) ** 2) / 2.0)
        arrived = kernel @ density / (step * math.sqrt(2.0 * math.pi))
        nodes, density = inside, arrived * weights * boundary * scale
        earlier = share
    return tuple(boundaries)


def _excess(
    nodes: FloatArray,
    density: FloatArray,
    scale: float,
    step: float,
    increment: float,
    boundary: float,
) -> float:
    """How much more than its part of alpha a look spends with this boundary, on both sides."""
    beyond = scipy.special.ndtr((nodes - boundary * scale) / step)
    return 2.0 * float(beyond @ density) - increment
