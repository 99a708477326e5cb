"""What a statistic returns, and the checks that the statistics share."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Literal, Self, TypeAlias, TypeGuard, get_args

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError, check_choice
from rageval_report.types import FloatArray

Alternative: TypeAlias = Literal["two-sided", "less", "greater"]
Bounds: TypeAlias = tuple[float, float]
ALTERNATIVES: tuple[Alternative, ...] = get_args(Alternative)

# Differences this small, relative to the scores they come from, are rounding. Doubles carry about
# 16 digits, so this leaves room for the thousands of operations behind a score.
TIE_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with an interval around it.

    Parameters
    ----------
    estimate : float
        The point estimate.
    low, high : float
        The limits; NaN if the data cannot give one.
    standard_error : float
        The standard error of the estimate; NaN if it is not defined.
    method : str
        The method that was used, never "auto".
    confidence_level : float
        The nominal coverage, between 0 and 1.
    notes : tuple of str
        What a reader must know, e.g. "one score: the limits are the bounds".

    Examples
    --------
    >>> interval = Interval(0.5, 0.25, 0.75, 0.1, "t")
    >>> interval.low, interval.high, interval.confidence_level
    (0.25, 0.75, 0.95)
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    method: str
    confidence_level: float = 0.95
    notes: tuple[str, ...] = ()

    @classmethod
    def unknown(cls, estimate: float, method: str, confidence_level: float, *notes: str) -> Self:
        """The interval without limits, where the data cannot give any.

        Examples
        --------
        >>> Interval.unknown(0.5, "t", 0.95, "one score has no interval").low
        nan
        """
        return cls(estimate, math.nan, math.nan, math.nan, method, confidence_level, notes)


@dataclass(frozen=True, slots=True)
class PairedResult:
    """A test of the mean paired difference, candidate minus baseline.

    Parameters
    ----------
    difference : float
        The mean of the paired differences.
    statistic : float
        The statistic of the test; for sign flips the mean difference itself.
    pvalue : float
        Between 0 and 1; NaN if the test cannot be made.
    test : str
        The test that was used, never "auto", e.g. "sign-flip-midp".
    n : int
        Pairs in which both scores are present.
    wins, ties, losses : int
        Pairs in which the candidate's score is larger, equal, smaller.

    Examples
    --------
    >>> from rageval_report.stats.pairs import paired_test
    >>> result = paired_test([0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1], test="sign-flip")
    >>> result.difference, result.pvalue, result.wins
    (1.0, 0.03125, 6)
    """

    difference: float
    statistic: float
    pvalue: float
    test: str
    n: int
    wins: int
    ties: int
    losses: int


def check_level(confidence_level: float) -> float:
    """The confidence level, checked."""
    return check_probability("confidence_level", confidence_level)


def check_probability(name: str, value: float) -> float:
    """A confidence level, an error rate or a power, which lies strictly between 0 and 1."""
    is_number = isinstance(value, Real)
    if not (is_number and 0.0 < value < 1.0):
        # 95 is a percentage; 1 % as 1 is rarer than a misplaced 1.0, so that 1 gets no hint.
        hint = f"; did you mean {value / 100}?" if is_number and 1 < value < 100 else ""
        raise DataError(f"{name} must lie between 0 and 1; got {value}{hint}")
    return float(value)


def check_positive(name: str, value: float) -> float:
    """A finite number above zero."""
    if not (isinstance(value, Real) and 0.0 < value < float("inf")):
        raise DataError(f"{name} must be a finite number > 0; got {value}")
    return float(value)


def check_resamples(n_resamples: int) -> int:
    """The number of resamples, checked."""
    return check_integer("n_resamples", n_resamples, 1)


def check_seed(seed: int) -> int:
    """The seed of the random numbers, checked."""
    return check_integer("seed", seed, 0)


def check_integer(name: str, value: int, least: int) -> int:
    """A whole number that is at least `least`."""
    if not (isinstance(value, Real) and least <= value < float("inf") and int(value) == value):
        raise DataError(f"{name} must be an integer >= {least}; got {value}")
    return int(value)


def check_alternative(alternative: str) -> None:
    """Check the alternative hypothesis, which is one of SciPy's three."""
    check_choice("alternative", alternative, ALTERNATIVES)


def are_finite(bounds: Bounds | None) -> TypeGuard[Bounds]:
    """Whether there are bounds, and both ends are finite."""
    return bounds is not None and math.isfinite(bounds[0]) and math.isfinite(bounds[1])


def finite_values(values: npt.ArrayLike) -> FloatArray:
    """The scores that are present, as a one-dimensional array; infinities raise `DataError`."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise DataError(
            f"expected one score per query in a one-dimensional array; got {array.ndim} dimensions"
        )
    _check_finite(array)
    missing = np.isnan(array)
    return array[~missing] if missing.any() else array


def _check_finite(array: FloatArray, of: str = "") -> None:
    infinite = np.flatnonzero(np.isinf(array))
    if infinite.size:
        raise DataError(
            f"scores must be finite or NaN; {infinite.size}{of} are infinite, the first at "
            f"position {int(infinite[0])}"
        )


def paired_values(
    baseline: npt.ArrayLike, candidate: npt.ArrayLike | None
) -> tuple[FloatArray, FloatArray]:
    """Both sides of the pairs in which both scores are present."""
    a = np.asarray(baseline, dtype=np.float64)
    b = np.asarray(candidate, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise DataError(
            "expected two arrays of equal length, one score per query in the same order; "
            f"got shapes {a.shape} and {b.shape}"
        )
    _check_finite(a, " of the baseline")
    _check_finite(b, " of the candidate")
    missing = np.isnan(a) | np.isnan(b)
    return (a[~missing], b[~missing]) if missing.any() else (a, b)


def largest_magnitude(values: FloatArray) -> float:
    """The largest absolute value of at least one number, without an array of absolute values."""
    return max(float(values.max()), -float(values.min()))


def paired_differences(baseline: FloatArray, candidate: FloatArray) -> FloatArray:
    """Candidate minus baseline, with rounding noise set to exactly zero."""
    largest = max(largest_magnitude(baseline), largest_magnitude(candidate))
    return without_noise(candidate - baseline, largest)


def without_noise(difference: FloatArray, largest: float | FloatArray) -> FloatArray:
    """The same array, in which differences that are rounding noise are now exactly zero."""
    tolerance = TIE_TOLERANCE * np.maximum(1.0, largest)
    difference[(difference <= tolerance) & (difference >= -tolerance)] = 0.0
    return difference
