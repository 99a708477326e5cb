"""Rules at a planned few looks: which looks there are, and which claims hold at them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rageval_report.stats.base import check_integer
from rageval_report.stats.sequential import look_levels
from rageval_report.types import FloatArray

# Before so many queries the sign-flip test may reject far too often if rare large losses balance
# many small gains: 33 to 38 % false alarms at 100 queries in a simulation with losses on 5 % of the
# queries. A first look earlier than this gets a warning.
ENOUGH_FOR_A_LOOK = 100


def planned_looks(n_planned: int, looks: int) -> list[int]:
    """The numbers of queries of equally spaced looks, none before 100 queries if there are as many.

    Parameters
    ----------
    n_planned : int
        The number of queries that can be asked.
    looks : int
        The number of looks, the last one at the end included.

    Examples
    --------
    >>> planned_looks(1000, 5), planned_looks(200, 5), planned_looks(60, 2)
    ([200, 400, 600, 800, 1000], [100, 125, 150, 175, 200], [30, 60])
    """
    check_integer("looks", looks, 1)
    # The first look is late enough, and the others share what follows.
    first = -(-n_planned // looks)
    if first < ENOUGH_FOR_A_LOOK < n_planned:
        first = ENOUGH_FOR_A_LOOK
    if looks == 1:
        return [n_planned]
    sizes = np.linspace(first, n_planned, looks)
    return sorted({int(size) for size in np.ceil(sizes - 1e-9)})


def rejected_at_looks(
    pvalues: FloatArray,
    shares: FloatArray,
    alpha: float,
    weights: Sequence[float],
    are_two_sided: Sequence[bool],
) -> tuple[FloatArray, list[int | None]]:
    """Holm's steps over several claims, each with alpha spending over the looks.

    As long as no claim is shown each is tested at alpha over their number. Each that is shown
    leaves its part to the others, from that look on (Maurer and Bretz 2013).

    Parameters
    ----------
    pvalues : ndarray of shape (n_claims, n_looks_so_far)
        The p-values at the looks so far; one-sided for a claim about one side.
    shares : ndarray of shape (n_looks,)
        The share of the planned queries at each look.
    alpha : float
        The error rate of all claims together.
    weights : sequence of float
        For each claim, twice the part of alpha that one side may use: 1 for one side of a two-sided
        statement, 2 for a one-sided one.
    are_two_sided : sequence of bool
        Whether the p-values of a claim are two-sided.

    Returns
    -------
    levels : ndarray of shape (n_claims,)
        The level of each claim at the latest look.
    decided : list of int or None
        The look at which each claim was shown.

    References
    ----------
    .. [1] Maurer, Bretz (2013). Multiple testing in group sequential trials using graphical
           approaches. Statistics in Biopharmaceutical Research 5:311-320.

    Examples
    --------
    >>> pvalues = np.array([[0.2, 0.001], [0.04, 0.03]])
    >>> levels, decided = rejected_at_looks(
    ...     pvalues, np.array([0.5, 1.0]), 0.05, [1.0, 1.0], [True, True]
    ... )
    >>> decided, levels.round(4)
    ([1, 1], array([0.0247, 0.049 ]))
    """
    n_claims, n_looks = pvalues.shape
    decided: list[int | None] = [None] * n_claims
    levels = np.zeros(n_claims)
    for look in range(n_looks):
        is_changed = True
        while is_changed:
            is_changed = False
            n_open = sum(place is None for place in decided)
            for claim in range(n_claims):
                if decided[claim] is not None:
                    continue
                levels[claim] = _level(
                    shares, look, alpha / n_open, weights[claim], are_two_sided[claim]
                )
                if pvalues[claim, look] <= levels[claim]:
                    decided[claim], is_changed = look, True
                    break
    return levels, decided


def _level(shares: FloatArray, look: int, alpha: float, weight: float, is_two_sided: bool) -> float:
    """The largest p-value that shows a claim at a look."""
    level = float(look_levels(shares.tolist(), alpha=min(0.5, weight * alpha))[look])
    return level if is_two_sided else level / 2.0
