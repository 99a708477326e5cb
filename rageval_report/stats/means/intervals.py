"""Intervals of the mean of one pipeline's scores.

`mean_interval` chooses. The members of ``INTERVALS`` that have a closed form are in
`rageval_report.stats.means.closed_forms`, those that resample in
`rageval_report.stats.means.bootstrap`, and the default for bounded scores in
`rageval_report.stats.means.gaffke`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError, check_choice
from rageval_report.stats import INTERVALS
from rageval_report.stats._entries import (
    BatchInterval,
    Bounds,
    ClosedFormInterval,
    DrawnInterval,
)
from rageval_report.stats.base import (
    Interval,
    check_level,
    check_resamples,
    check_seed,
    finite_values,
)
from rageval_report.stats.magnitudes import unit_of
from rageval_report.stats.means.closed_forms import are_finite, interval_of_one_score
from rageval_report.stats.means.moments import Moments, moments
from rageval_report.stats.means.score_bins import CountedScores
from rageval_report.types import FloatArray

ScoreKind: TypeAlias = Literal["binary", "proportion", "ordinal", "real"]
# From here on the studentised bootstrap and the t interval of a mean differ by less than the noise
# of 9,999 resamples.
ENOUGH_FOR_T = 500
# Scores may leave their bounds by this much before it is an error: the rounding of whoever scored.
BOUNDS_TOLERANCE = 1e-9


def mean_interval(
    values: npt.ArrayLike,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    bounds: Bounds | None = None,
    kind: ScoreKind | None = None,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Interval:
    """The mean of the scores with an interval around it.

    Parameters
    ----------
    values : array-like of shape (n,)
        One score per query; NaN is unscored and is left out.
    method : str
        A member of ``INTERVALS``, or "auto", which chooses by the kind of the scores: "wilson" for
        binary ones, "gaffke" for proportions and ordinal scores, else "studentised" below 500
        scores and "t" from 500 on.
    confidence_level : float
        The nominal coverage, between 0 and 1.
    bounds : tuple of float, optional
        The range that the scores can have, e.g. (0, 1); an end may be infinite. The interval is cut
        at the bounds.
    kind : {"binary", "proportion", "ordinal", "real"}, optional
        Scores of 0 and 1, between 0 and 1, on the steps of a scale, or any numbers. If omitted,
        scores that are all 0 or 1 are binary, and others within finite bounds are proportions. For
        scores whose bounds are a formality (cosine similarities fill a small part of -1 to 1) the
        kind is "real".
    n_resamples, seed : int
        For methods that draw at random, which is "studentised" alone.

    Returns
    -------
    Interval
        With NaN limits if the scores cannot give any; one score that is not bounded has none. Its
        method may differ from `method`, and a note then says why.

    Raises
    ------
    UnknownNameError
        If there is no such method.
    DataError
        If a score is infinite or outside the bounds, or an option makes no sense.

    Examples
    --------
    >>> interval = mean_interval([1, 1, 0, 1, 1, 1, 0, 1])
    >>> interval.method, interval.estimate, round(interval.low, 3), round(interval.high, 3)
    ('wilson', 0.75, 0.409, 0.929)
    >>> interval = mean_interval([0.2, 0.9, 1.0, float("nan"), 0.7], bounds=(0, 1))
    >>> interval.method, round(interval.low, 3), round(interval.high, 3)
    ('gaffke', 0.237, 0.943)
    """
    scores = finite_values(values)
    return described_interval(
        scores,
        moments(scores),
        method=method,
        confidence_level=confidence_level,
        bounds=bounds,
        kind=kind,
        n_resamples=n_resamples,
        seed=seed,
    )


def described_interval(
    values: npt.ArrayLike,
    known: Moments,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    bounds: Bounds | None = None,
    kind: ScoreKind | None = None,
    n_resamples: int = 9999,
    seed: int = 0,
) -> Interval:
    """`mean_interval` of a column whose moments are known, so that closed forms need not read it.

    Parameters
    ----------
    values : array-like of shape (n,)
        The column itself, NaN included; read by the methods that need more than the moments.
    known : Moments
        Its moments, as `rageval_report.stats.means.column_description.describe` gives them.
    method, confidence_level, bounds, kind, n_resamples, seed
        As in `mean_interval`.

    Returns
    -------
    Interval

    Examples
    --------
    >>> column = np.array([0.2, 0.9, 1.0, 0.7])
    >>> described_interval(column, moments(column), bounds=(0, 1)).method
    'gaffke'
    """
    column = DescribedColumn(values, known, bounds, kind)
    intervals = described_intervals(
        [column],
        method=method,
        confidence_level=confidence_level,
        n_resamples=n_resamples,
        seed=seed,
    )
    return intervals[0]


@dataclass(frozen=True, slots=True, eq=False)
class DescribedColumn:
    """A column of scores whose moments are known.

    Parameters
    ----------
    values, known, bounds, kind
        As in `described_interval`; the values may also be numbers with counts.
    """

    values: npt.ArrayLike | CountedScores
    known: Moments
    bounds: Bounds | None = None
    kind: ScoreKind | None = None

    @property
    def unit(self) -> float:
        """The power of two by which very large and very small scores are divided; 1.0 as a rule."""
        ends = [end for end in self.bounds or () if math.isfinite(end)]
        return unit_of(self.known.minimum, self.known.maximum, *ends)

    def in_units(self, unit: float) -> DescribedColumn:
        """The column divided by a number, and its bounds.

        Examples
        --------
        >>> scores = np.array([2.0, 4.0])
        >>> DescribedColumn(scores, moments(scores), (0, 8)).in_units(2.0).bounds
        (0.0, 4.0)
        """
        if unit == 1.0:
            return self
        bounds = None if self.bounds is None else (self.bounds[0] / unit, self.bounds[1] / unit)
        values: npt.ArrayLike | CountedScores
        if isinstance(self.values, CountedScores):
            values = CountedScores(self.values.scores / unit, self.values.counts)
        else:
            values = np.asarray(self.values, dtype=np.float64) / unit
        return DescribedColumn(values, self.known.times(1.0 / unit), bounds, self.kind)


def described_intervals(
    columns: Sequence[DescribedColumn],
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
) -> list[Interval]:
    """The intervals of several means; together they take less time than one by one.

    Parameters
    ----------
    columns : sequence of DescribedColumn
        The columns.
    method, confidence_level, n_resamples, seed
        As in `mean_interval`.

    Returns
    -------
    list of Interval
        In the order of the columns.

    Examples
    --------
    >>> scores = np.array([0.2, 0.9, 1.0, 0.7])
    >>> columns = [DescribedColumn(scores, moments(scores), kind=kind) for kind in ("real", None)]
    >>> [interval.method for interval in described_intervals(columns, method="t")]
    ['t', 't']
    """
    options = _IntervalOptions(
        check_level(confidence_level), check_resamples(n_resamples), check_seed(seed)
    )
    units = [column.unit for column in columns]
    checked = [
        _check_column(column.in_units(unit), method)
        for column, unit in zip(columns, units, strict=True)
    ]
    places_by_batch: dict[str, list[int]] = {}
    intervals: dict[int, Interval] = {}
    for place, column in enumerate(checked):
        if _suits_batch(column):
            places_by_batch.setdefault(column.name, []).append(place)
        else:
            intervals[place] = _interval_of_one_column(column, options)
    for name, places in places_by_batch.items():
        batch = _intervals_of_batch(name, [checked[place] for place in places], options)
        intervals.update(zip(places, batch, strict=True))
    return [intervals[place].times(unit) for place, unit in enumerate(units)]


@dataclass(frozen=True, slots=True)
class _IntervalOptions:
    """What is the same for all columns."""

    level: float
    n_resamples: int
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class _CheckedColumn:
    """A column inside its bounds, and the name of its member of ``INTERVALS``."""

    column: npt.ArrayLike | CountedScores
    known: Moments
    bounds: Bounds | None
    name: str

    def counted(self) -> FloatArray | CountedScores:
        """The scores that are present, or their counts."""
        if not isinstance(self.column, CountedScores):
            return self.scores()
        return CountedScores(self._within_bounds(self.column.scores), self.column.counts)

    def scores(self) -> FloatArray:
        """The scores that are present, one by one."""
        if isinstance(self.column, CountedScores):
            return self._within_bounds(self.column.listed(f"the interval {self.name!r}"))
        return self._within_bounds(finite_values(self.column))

    def _within_bounds(self, scores: FloatArray) -> FloatArray:
        # Scores may leave their bounds by rounding.
        return scores if self.bounds is None else np.clip(scores, *self.bounds)


def _check_column(column: DescribedColumn, method: str) -> _CheckedColumn:
    bounds = _check_bounds(column.known, column.bounds)
    known = _clip_moments(column.known, bounds)
    name = _choose_method(known, bounds, column.kind) if method == "auto" else method
    return _CheckedColumn(column.values, known, bounds, name)


def _suits_batch(column: _CheckedColumn) -> bool:
    member = INTERVALS[column.name]
    if isinstance(member, DrawnInterval):
        return column.known.n > 1
    return isinstance(member, BatchInterval) and column.known.n > 0


def _intervals_of_batch(
    name: str, columns: Sequence[_CheckedColumn], options: _IntervalOptions
) -> Iterator[Interval]:
    member = INTERVALS[name]
    if isinstance(member, DrawnInterval):
        intervals = member.of_columns(
            [column.scores() for column in columns],
            confidence_level=options.level,
            n_resamples=options.n_resamples,
            seed=options.seed,
        )
    else:
        intervals = cast(BatchInterval, member).of_columns(
            [column.counted() for column in columns],
            [column.known for column in columns],
            [column.bounds for column in columns],
            options.level,
        )
    for interval, column in zip(intervals, columns, strict=True):
        yield _cut_interval(interval, column.bounds)


def _interval_of_one_column(column: _CheckedColumn, options: _IntervalOptions) -> Interval:
    known, bounds, level = column.known, column.bounds, options.level
    member = INTERVALS[column.name]
    if not known.n:
        nan = math.nan
        return Interval(nan, nan, nan, nan, column.name, level, ("nothing scored",))
    formula = member if isinstance(member, ClosedFormInterval) else None
    # All but the formulas of shares need a spread, which one score does not have.
    if known.n == 1 and not (formula and formula.has_limits_for_one_score):
        return interval_of_one_score(known, column.name, level, bounds)
    if formula:
        return _cut_interval(formula.of_moments(known, level, bounds), bounds)
    interval = member(
        column.scores(),
        confidence_level=level,
        bounds=bounds,
        n_resamples=options.n_resamples,
        seed=options.seed,
    )
    return _cut_interval(interval, bounds)


def _cut_interval(interval: Interval, bounds: Bounds | None) -> Interval:
    """The interval without values that no mean can have, e.g. a cost below 0."""
    if bounds is None:
        return interval
    low, high = max(interval.low, bounds[0]), min(interval.high, bounds[1])
    cut = [f"{end:g}" for end, was in ((low, interval.low), (high, interval.high)) if end != was]
    if not cut or math.isnan(interval.low):
        return interval
    notes = (*interval.notes, f"the interval is cut at {' and '.join(cut)}")
    return replace(interval, low=low, high=high, notes=notes)


def _choose_method(known: Moments, bounds: Bounds | None, kind: ScoreKind | None) -> str:
    """The method that "auto" stands for."""
    if kind is None:
        return _METHODS[_infer_kind(known, bounds)](known, bounds)
    check_choice("kind", kind, _METHODS)
    return _METHODS[kind](known, bounds)


def _infer_kind(known: Moments, bounds: Bounds | None) -> ScoreKind:
    if known.is_binary and bounds in (None, (0.0, 1.0)):
        return "binary"
    return "proportion" if are_finite(bounds) else "real"


def _method_of_shares(known: Moments, bounds: Bounds | None) -> str:
    # A single score of 0 or 1 does not show that there are no others.
    if known.is_binary and known.n > 1:
        return "wilson"
    return _method_within_bounds(known, bounds)


def _method_within_bounds(known: Moments, bounds: Bounds | None) -> str:
    return "gaffke" if are_finite(bounds) else _method_of_numbers(known, bounds)


def _method_of_numbers(known: Moments, bounds: Bounds | None) -> str:
    # Equal scores have no spread from which a bootstrap could say what other scores may do.
    if known.is_constant and are_finite(bounds):
        return "gaffke"
    return "studentised" if 1 < known.n < ENOUGH_FOR_T else "t"


_METHODS: Mapping[ScoreKind, Callable[[Moments, Bounds | None], str]] = {
    "binary": _method_of_shares,
    "proportion": _method_within_bounds,
    "ordinal": _method_within_bounds,
    "real": _method_of_numbers,
}


def _check_bounds(known: Moments, bounds: Bounds | None) -> Bounds | None:
    """The bounds as floats, after a check that they are a range and contain every score."""
    if bounds is None:
        return None
    low, high = float(bounds[0]), float(bounds[1])
    if not low < high:
        raise DataError(f"bounds must be the smallest and largest score, e.g. (0, 1); got {bounds}")
    outside = [
        score
        for score in (known.minimum, known.maximum)
        if score < low - BOUNDS_TOLERANCE or score > high + BOUNDS_TOLERANCE
    ]
    if outside:
        raise DataError(
            f"scores must lie within the bounds {low:g} and {high:g}; found {outside[-1]:g}: "
            "correct the score or give other bounds"
        )
    return low, high


def _clip_moments(known: Moments, bounds: Bounds | None) -> Moments:
    """The moments with mean and extremes inside the bounds, in case rounding put them outside."""
    if bounds is None or (known.minimum >= bounds[0] and known.maximum <= bounds[1]):
        return known
    mean, minimum, maximum = (
        min(max(value, bounds[0]), bounds[1])
        for value in (known.mean, known.minimum, known.maximum)
    )
    return Moments(known.n, mean, known.std, minimum, maximum, known.is_binary)
