"""Tails of many sums of random signs at once: one row per sum, one column per value.

It is the integral of `fourier` for samples of some hundreds of values, without its special cases:
each row has its own tilt, period and nodes, and all rows are computed in the same arrays. A row
that needs more (a law with piles, a far tail) is not settled here and goes down the ladder of
`sign_tail`. Zeros do not change a sum, so rows of fewer values end in zeros.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from rageval_report.stats.sign_flips.far_bounds import FarRows, bound_closely, bound_far_terms
from rageval_report.stats.sign_flips.far_nodes import FarRange, find_far_terms
from rageval_report.stats.sign_flips.far_transform import FEWEST_TRANSFORMED, bound_by_transform
from rageval_report.stats.sign_flips.saddlepoint import LEAST_TILT
from rageval_report.stats.sign_flips.sign_sums import product_of_powers
from rageval_report.stats.sign_flips.ties import group_ties
from rageval_report.stats.sign_flips.tilted_rows import (
    LONGEST_ADDED,
    ListedRows,
    SummedRows,
    TiltedRows,
    sum_rows,
)
from rageval_report.stats.sign_flips.trapezoid import shortest_period
from rageval_report.types import ComplexArray, FloatArray, IntArray

# The trapezoid rule may add this share of the result.
_ALIAS = 1e-11
# How far the nodes that are always computed reach, in standard deviations of a normal
# characteristic function: there exp(-7.5**2 / 2) is 6e-13.
_BODY = 7.5
# The share of a result that terms may have which are left out, in the worst case.
_LEFT_OUT = 1e-4
# The share of a result that sums may have which are not distinguished from the threshold.
_UNDECIDED = 5e-4
# With more factors of far terms than this, `fourier` is faster.
_MOST_FACTORS = 10**5
# The line of integration may miss the saddlepoint by this many standard deviations.
_CLOSE = 0.05
_MOST_STEPS = 50
# Below this, `sign_tail` has a formula that is good enough.
_SMALLEST = 1e-10
# Sums beyond this share of the largest one belong to a handful of patterns.
_OUTERMOST = 0.999
# The widths of rows that are too long for `sum_rows`, up to the longest.
_WIDTHS = (256, 384, 512, 768, 1024, 1536)


def batch_width(n_values: int) -> int:
    """The width to which a row of so many values is filled with zeros.

    NumPy adds long rows in halves, so the last digit of a sum depends on the width of its row. Rows
    of one width have the same digits in any company; up to 192 values all whole eights agree.

    Examples
    --------
    >>> batch_width(50), batch_width(129), batch_width(700)
    (56, 136, 768)
    """
    if n_values <= LONGEST_ADDED:
        return 8 * math.ceil(n_values / 8)
    return next(width for width in _WIDTHS if width >= n_values)


def fit_together(n_values: int, others: int) -> bool:
    """Whether rows of these lengths have the same digits in one batch as alone.

    Examples
    --------
    >>> fit_together(40, 120), fit_together(120, 200), fit_together(600, 700)
    (True, False, True)
    """
    if max(n_values, others) <= LONGEST_ADDED:
        return True
    return batch_width(n_values) == batch_width(others)


@dataclass(frozen=True, eq=False)
class TailRows:
    """Sums of random signs and a threshold for each.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_values)
        The magnitudes; zeros do not matter.
    thresholds : ndarray of shape (n_rows,)
        At least zero, below the sum of the row.
    spreads : ndarray of shape (n_rows,)
        A number that is uniform between -spread and spread is added to the sum; zero adds nothing.
    """

    values: FloatArray
    thresholds: FloatArray
    spreads: FloatArray


@dataclass(frozen=True, eq=False)
class SmoothTails:
    """The tails, as if the terms beyond the computed ones were zero.

    Parameters
    ----------
    at_least : ndarray of shape (n_rows,)
        The probability that the sum reaches the threshold; NaN for a row that cannot be computed.
    lines : _TiltedLines
        The lines of integration, in units in which the squares of a row sum up to 1.
    values : ndarray of shape (n_rows, n_values)
        The values in these units.
    """

    at_least: FloatArray
    lines: _TiltedLines
    values: FloatArray

    def settled_rows(self, far: float) -> FloatArray:
        """The tail of each row once its far terms are known to be few; NaN if they are not.

        Parameters
        ----------
        far : float
            As in `settled`, which answers for the rows that have far terms.
        """
        tails, lines = self.at_least.copy(), self.lines
        last = np.ceil(far * lines.tilt / lines.distance).astype(np.int64)
        followed = np.flatnonzero((tails > 0) & (last >= lines.n_body))
        if not followed.size:
            return np.where(tails > 0, tails, np.nan)
        rows = FarRows(self.values, lines.tilt, lines.distance, lines.spread, lines.n_body, last)
        if followed.size < last.size:
            rows = rows.select(followed)
        allowed = _LEFT_OUT * tails[followed] / lines.scale[followed]
        is_long = self.values.shape[1] >= FEWEST_TRANSFORMED
        for bound in (bound_by_transform if is_long else bound_far_terms, bound_closely):
            has_terms = np.flatnonzero(bound(rows) > allowed)
            followed, allowed, rows = (
                followed[has_terms],
                allowed[has_terms],
                rows.select(has_terms),
            )
            if not followed.size:
                break
        for row in followed.tolist():
            tails[row] = self.settled(row, far)
        return np.where(tails > 0, tails, np.nan)

    def settled(self, row: int, far: float) -> float:
        """The tail of a row once its far terms are known to be few; NaN if they are not.

        Parameters
        ----------
        row : int
            The row.
        far : float
            How far out the terms are followed, in tilts. Sums closer to the threshold than 1 / far
            of the scale on which the tail falls are not distinguished from it.
        """
        at_least, values, line = float(self.at_least[row]), self.values[row], self.lines.of(row)
        if not at_least > 0:
            return math.nan
        last, n_body = math.ceil(far * line.tilt / line.distance), int(self.lines.n_body[row])
        if last < n_body:
            return at_least
        moved = values[values > 0]
        points = FarRange(line.tilt, line.distance, n_body, last, line.spread)
        terms = find_far_terms(moved, points, _LEFT_OUT * at_least / line.scale)
        if terms.nodes.size * moved.size > _MOST_FACTORS:
            return math.nan
        if terms.nodes.size:
            z = np.asarray(line.tilt + 1j * line.distance * terms.nodes, dtype=np.complex128)
            # Where most queries did not change, a shift leaves most values equal.
            product = product_of_powers(*group_ties(moved), line.tilt, line.distance, terms.nodes)
            waves = line.waves(product, z)
            # The mean of the outer terms is the mass that is tied with the threshold.
            outer = waves.real[terms.nodes > last // 2].sum() * math.pi / line.distance
            if line.scale * abs(outer) / (last - last // 2) > _UNDECIDED * at_least:
                return math.nan
            at_least += line.scale * float((waves / z).real.sum())
        is_known = line.scale * terms.left_out <= 3 * _LEFT_OUT * at_least
        return at_least if is_known else math.nan


@dataclass(frozen=True, slots=True)
class _TiltedLine:
    """The line of integration of one row, and what the sum of its terms is multiplied by."""

    tilt: float
    distance: float
    spread: float
    threshold: float
    scale: float

    def waves(self, characteristic: ComplexArray, z: ComplexArray) -> ComplexArray:
        """The terms at points of the line, not yet divided by the points."""
        terms = characteristic * np.exp(-1j * z.imag * self.threshold)
        if self.spread:
            terms *= np.sinh(self.spread * z) / (self.spread * z)
        return np.asarray(terms)


@dataclass(frozen=True, eq=False)
class _TiltedLines:
    """The lines of all rows, and at how many nodes each row is computed in any case."""

    tilt: FloatArray
    distance: FloatArray
    spread: FloatArray
    threshold: FloatArray
    scale: FloatArray
    n_body: IntArray

    def of(self, row: int) -> _TiltedLine:
        """The line of one row."""
        columns = (self.tilt, self.distance, self.spread, self.threshold, self.scale)
        return _TiltedLine(*(float(column[row]) for column in columns))

    def replace_rows(self, rows: IntArray, others: _TiltedLines) -> None:
        """Put other lines in the place of some rows."""
        for field in fields(self):
            getattr(self, field.name)[rows] = getattr(others, field.name)


def smooth_tails(rows: TailRows) -> SmoothTails:
    """The tail of each row from the terms near the real axis.

    Examples
    --------
    >>> values = np.sqrt(np.arange(1.0, 61.0))[np.newaxis]
    >>> tails = smooth_tails(TailRows(values, np.array([70.0]), np.zeros(1)))
    >>> tails.at_least.round(6)
    array([0.050989])
    >>> round(tails.settled(0, 4000.0), 6)
    0.050989
    """
    n_values = rows.values.shape[1]
    filled, n_missing = rows.values, batch_width(n_values) - n_values
    if n_missing:
        filled = np.pad(filled, ((0, 0), (0, n_missing)))
    unit = np.sqrt(sum_rows(np.square(filled)))
    values = filled / unit[:, np.newaxis]
    scaled = _ScaledThresholds(sum_rows(values), rows.thresholds / unit, rows.spreads / unit)
    # Of longer rows sums of powers take less time than a pass for each number.
    if values.shape[1] <= LONGEST_ADDED:
        return SmoothTails(*_integrate(ListedRows(values), scaled), values)
    law = SummedRows.of(values)
    at_least, lines = _integrate(law, scaled)
    others = np.flatnonzero(~law.covers(lines.tilt, lines.distance * lines.n_body))
    if others.size:
        listed = _integrate(ListedRows(values[others]), scaled.select(others))
        at_least[others] = listed[0]
        lines.replace_rows(others, listed[1])
    return SmoothTails(at_least, lines, values)


@dataclass(frozen=True, eq=False)
class _ScaledThresholds:
    """The largest sum of each row, its threshold and spread, where the squares sum up to 1."""

    total: FloatArray
    threshold: FloatArray
    spread: FloatArray

    def select(self, rows: IntArray) -> _ScaledThresholds:
        """Some of the rows."""
        return _ScaledThresholds(self.total[rows], self.threshold[rows], self.spread[rows])


def _integrate(law: TiltedRows, scaled: _ScaledThresholds) -> tuple[FloatArray, _TiltedLines]:
    """The tail of each row from the terms near the real axis, and the line of its integral."""
    total, spread = scaled.total, scaled.spread
    is_inside = scaled.threshold < _OUTERMOST * total
    threshold = np.where(is_inside, scaled.threshold, 0.0)
    tilt = _tilts(law, threshold)
    log_scale = law.logs(tilt) - tilt * threshold
    deviation = np.sqrt(law.moments(tilt)[1])
    smallest = 0.1 * np.exp(log_scale) / (tilt * deviation)
    is_near = is_inside & (smallest > _SMALLEST)
    smallest = np.where(is_near, smallest, 1.0)
    period = shortest_period(total, threshold, tilt, smallest, _ALIAS)
    distance = 2 * math.pi / (period + 2 * spread)
    n_body = np.ceil(np.where(is_near, _BODY / (deviation * distance), 0.0)).astype(np.int64) + 1
    scale = np.exp(log_scale) * distance / math.pi
    lines = _TiltedLines(tilt, distance, spread, threshold, scale, n_body)
    sums = _body_sums(law, lines)
    shrinks = np.exp(-tilt * 2 * math.pi / distance)
    return np.where(is_near, scale * sums - shrinks / (1.0 - shrinks), np.nan), lines


def _tilts(law: TiltedRows, threshold: FloatArray) -> FloatArray:
    """The tilts under which the thresholds are the means, roughly; none is below the least."""
    tilt = np.clip(threshold, LEAST_TILT, law.most_tilt)
    for _ in range(_MOST_STEPS):
        mean, variance = law.moments(tilt)
        missing = threshold - mean
        is_off = (missing > _CLOSE * np.sqrt(variance)) & (tilt < law.most_tilt)
        if not is_off.any():
            break
        # Newton's method from the left, where no step goes too far.
        step = np.where(is_off, missing / np.maximum(variance, 1e-300), 0.0)
        tilt = np.minimum(tilt + step, law.most_tilt)
    return np.asarray(tilt)


def _body_sums(law: TiltedRows, lines: _TiltedLines) -> FloatArray:
    """The sum of the real parts of the terms of all near nodes, the first one half."""
    # Whole eights, because then zeros at the end of a row leave the last digit of its sum alone:
    # a row is the same in any company.
    most = 8 * math.ceil(int(lines.n_body.max()) / 8)
    terms = law.characteristic(lines.tilt, lines.distance, most)
    nodes = lines.distance[:, np.newaxis] * np.arange(most)
    z = lines.tilt[:, np.newaxis] + 1j * nodes
    terms *= np.exp(-1j * nodes * lines.threshold[:, np.newaxis]) / z
    if lines.spread.any():
        arguments = np.where(lines.spread > 0, lines.spread, 1.0)[:, np.newaxis] * z
        factor = np.sinh(arguments) / arguments
        terms *= np.where(lines.spread[:, np.newaxis] > 0, factor, 1.0)
    terms[:, 0] *= 0.5
    terms[np.arange(most) >= lines.n_body[:, np.newaxis]] = 0.0
    return np.asarray(terms.real.sum(axis=1))
