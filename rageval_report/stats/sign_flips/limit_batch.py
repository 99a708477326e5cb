"""Where the p-values of many shifted samples cross a level: the limits of intervals, at once.

On the scale of z a p-value is close to a straight line in the shift, so secants from the normal
limit need three or four rounds; each round is one batch of tails for all rows. The rows end at
shifts whose tails are then followed far out. What is not settled so is NaN and is left to the
search of `inversion`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
import scipy

from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.sign_flips.tail_batch import SmoothTails, TailRows, smooth_tails
from rageval_report.stats.sign_flips.tilted_rows import sum_rows
from rageval_report.types import BoolArray, FloatArray

# How precisely a limit is computed, in half widths of the interval.
_PRECISION = 1e-6
_MOST_ROUNDS = 8
# How far the terms of the tails at the limits are followed, in tilts: a p-value near 0.025 is then
# good to a thousandth, and the limit to two ten-thousandths of the half width, at worst.
_FAR = 1000.0
# By how much the far terms may move a limit, in half widths; beyond, the slope may be another one.
_NEAR = 1e-3
_SMALLEST = float(np.finfo(np.float64).tiny)

SomeTails = TypeVar("SomeTails", bound="ManyTails")


@dataclass(frozen=True, eq=False)
class ShiftRows:
    """Differences from which a shift is subtracted, one row per sample.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_values)
        The differences; shorter rows end in zeros.
    weights : ndarray of shape (n_rows, n_values)
        How much of the shift is subtracted from each; zero where there is no difference.
    spreads : ndarray of shape (n_rows,)
        As in `tail_batch.TailRows`.
    """

    values: FloatArray
    weights: FloatArray
    spreads: FloatArray

    def tails(self, shifts: FloatArray) -> SmoothTails:
        """The one-sided p-values of the shifts."""
        left = self.values - shifts[:, np.newaxis] * self.weights
        thresholds = np.maximum(sum_rows(left), 0.0)
        np.abs(left, out=left)
        left[left <= TIE_TOLERANCE * np.abs(shifts)[:, np.newaxis]] = 0.0
        return smooth_tails(TailRows(left, thresholds, self.spreads))


def lowest_shifts(rows: ShiftRows, level: float) -> FloatArray:
    """The smallest accepted shift of each row, at a one-sided level; NaN where it is not settled.

    Examples
    --------
    >>> values = np.sin(np.arange(60.0))[np.newaxis] + 0.2
    >>> rows = ShiftRows(values, np.ones_like(values), np.zeros(1))
    >>> lowest_shifts(rows, 0.025).round(6)
    array([0.048387])
    """
    z = -float(scipy.special.ndtri(level))
    mean = sum_rows(rows.values) / sum_rows(rows.weights)
    reach = normal_reach(rows, mean, z)
    search = secants_together(rows.tails, mean, reach, z, _PRECISION)
    return _follow_far(search, z, reach)


class ManyTails(Protocol):
    """One-sided p-values, one per row."""

    @property
    def at_least(self) -> FloatArray:
        """The p-values; NaN where they are not known."""


@dataclass(frozen=True, eq=False)
class FoundShifts(Generic[SomeTails]):
    """Where a search for the limits of many rows has ended.

    Parameters
    ----------
    tails : ManyTails
        The tails at the last shifts that were tried.
    shift, slope : ndarray of shape (n_rows,)
        These shifts, and by how much the excess grows with the shift there; NaN for a row whose
        excess follows no line.
    excess : ndarray of shape (n_rows,)
        How far the p-values are above the level, on the scale of z.
    """

    tails: SomeTails
    shift: FloatArray
    slope: FloatArray
    excess: FloatArray

    @property
    def limits(self) -> FloatArray:
        """Where a straight line puts the limits."""
        return self.shift - self.excess / self.slope


def secants_together(
    tails_of: Callable[[FloatArray], SomeTails],
    mean: FloatArray,
    reach: FloatArray,
    z: float,
    precision: float,
) -> FoundShifts[SomeTails]:
    """Follow secants from the normal limits until all rows are as close as asked.

    Parameters
    ----------
    tails_of : callable
        Gives the tails after one shift per row.
    mean, reach : ndarray of shape (n_rows,)
        The mean of each row, and how far below it its limit is if the flipped sum is normal.
    z : float
        The level on the scale of z.
    precision : float
        How far, by the last slope, a limit may lie from the last shift that was tried, in reaches.
    """
    shift, slope = mean - reach, z / reach
    tails = tails_of(shift)
    last = _excess(tails.at_least, z)
    is_done = np.zeros(mean.size, dtype=bool)
    step = np.zeros_like(mean)
    for _ in range(_MOST_ROUNDS):
        step = np.where(is_done, step, -last / slope)
        is_done |= ~(np.abs(step) > precision * reach)  # also where it is NaN
        if is_done.all():
            break
        moved = np.where(is_done, shift, np.minimum(shift + step, mean))
        tails = tails_of(moved)
        now = _excess(tails.at_least, z)
        with np.errstate(invalid="ignore", divide="ignore"):
            slope = np.where(is_done, slope, (now - last) / (moved - shift))
        slope = np.where(slope > 0, slope, np.nan)
        shift, last = moved, now
    return FoundShifts(tails, shift, np.where(is_done, slope, np.nan), last)


def normal_reach(rows: ShiftRows, mean: FloatArray, z: float) -> FloatArray:
    """How far below the mean the limit is if the flipped sum is normal.

    The variance of that sum is the sum of squares after the shift, so it grows with the shift:
    ``(n r)^2 = z^2 (squares + 2 r cross + r^2 own)`` is solved for the reach r.
    """
    n = sum_rows(rows.weights)
    residuals = rows.values - mean[:, np.newaxis] * rows.weights
    own = sum_rows(np.square(rows.weights))
    cross = sum_rows(rows.weights * residuals)
    squares = sum_rows(np.square(residuals))
    # With a few heavy weights no reach is far enough; then the search begins at some reach.
    most = np.maximum(n * n - z * z * own, n)
    half = z * z * cross / most
    return np.asarray(half + np.sqrt(half * half + z * z * squares / most))


def _follow_far(search: FoundShifts[SmoothTails], z: float, reach: FloatArray) -> FloatArray:
    """The limits, from tails that include their far terms."""
    shift, slope = search.shift, search.slope
    known = np.isfinite(shift) & np.isfinite(slope)
    at_least = np.where(known, search.tails.settled_rows(_FAR), np.nan)
    step = -_excess(at_least, z) / slope
    is_near: BoolArray = np.abs(step) <= _NEAR * reach
    return np.where(is_near, shift + step, np.nan)


def _excess(at_least: FloatArray, z: float) -> FloatArray:
    """How far the p-values are above the level, on the scale of z; a p-value may underflow to 0."""
    return np.asarray(scipy.special.ndtri(np.maximum(at_least, _SMALLEST)) + z)
