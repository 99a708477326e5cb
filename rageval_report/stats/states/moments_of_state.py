"""Number, mean, spread and extremes of a column, whichever form its state has."""

from __future__ import annotations

from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.means.moments import Moments, moments, moments_of_steps
from rageval_report.stats.states.column_state import ColumnState
from rageval_report.stats.states.power_sums import PowerSums


def moments_of_state(state: ColumnState) -> Moments:
    """The moments of a column, by the functions that serve memory.

    Examples
    --------
    >>> import numpy as np
    >>> moments_of_state(ColumnState.of(np.array([0.5, 1.0]))).mean
    0.75
    """
    if state.steps is not None:
        return moments_of_steps(state.steps)
    if state.sums is not None:
        return _moments_of_sums(state.sums)
    return moments(state.listed())


def _moments_of_sums(sums: PowerSums) -> Moments:
    low, high = sums.minimum, sums.maximum
    # As in memory: equal scores that were computed in different ways have no spread.
    if high - low <= TIE_TOLERANCE * max(abs(low), abs(high)):
        return Moments(sums.n, low, 0.0, low, high, is_binary=False)
    mean = min(max(sums.mean, low), high)
    return Moments(sums.n, mean, sums.standard_deviation, low, high, is_binary=False)
