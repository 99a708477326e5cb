"""What a statistic hands back, and the checks that every statistic shares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.types import FloatArray

# Differences this small, relative to the scores they come from, are rounding, not findings.
TIE_TOLERANCE = 1e-12


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with an interval around it.

    Parameters
    ----------
    estimate : float
        The point estimate.
    low, high : float
        The limits; NaN where the data cannot give one.
    standard_error : float
        The standard error of the estimate; NaN where it is not defined.
    method : str
        The method that was used, never "auto".
    confidence_level : float
        The nominal coverage, between 0 and 1.
    notes : tuple of str
        What a reader must know, as "two queries: the t interval, cut at the bounds".
    """

    estimate: float
    low: float
    high: float
    standard_error: float
    method: str
    confidence_level: float = 0.95
    notes: tuple[str, ...] = ()


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
        Between 0 and 1; NaN where the test cannot be made.
    test : str
        The test that was used, never "auto", as "sign-flip-midp".
    n : int
        Pairs in which both scores are present.
    wins, ties, losses : int
        Pairs in which the candidate's score is larger, equal, smaller.
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
    """The confidence level, if it is one.

    Examples
    --------
    >>> check_level(0.95)
    0.95
    """
    if not 0.0 < confidence_level < 1.0:
        hint = f"; did you mean {confidence_level / 100}?" if 1 < confidence_level < 100 else ""
        raise DataError(
            f"confidence_level must lie between 0 and 1, as 0.95; got {confidence_level}{hint}"
        )
    return float(confidence_level)


def check_resamples(n_resamples: int) -> int:
    """The number of resamples, if it is at least one."""
    if int(n_resamples) != n_resamples or n_resamples < 1:
        raise DataError(
            f"n_resamples must be a whole number of at least 1, as 9999; got {n_resamples}"
        )
    return int(n_resamples)


def check_seed(seed: int) -> int:
    """The seed, if it is a whole number of at least 0."""
    if int(seed) != seed or seed < 0:
        raise DataError(f"seed must be a whole number of at least 0; got {seed}")
    return int(seed)


def finite_values(values: npt.ArrayLike) -> FloatArray:
    """The scores that are there, a one-dimensional array; NaN are left out, infinities raise."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise DataError(
            f"expected one score a query, a one-dimensional array; got {array.ndim} dimensions"
        )
    if np.isinf(array).any():
        raise DataError(
            f"scores must be finite or NaN; {int(np.isinf(array).sum())} are infinite, "
            f"the first at position {int(np.flatnonzero(np.isinf(array))[0])}"
        )
    missing = np.isnan(array)
    return array[~missing] if missing.any() else array


def paired_values(
    baseline: npt.ArrayLike, candidate: npt.ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """Both sides of the pairs in which both scores are present."""
    a = np.asarray(baseline, dtype=np.float64)
    b = np.asarray(candidate, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape:
        raise DataError(
            "expected two arrays of one score a query, of equal length and in the same order; "
            f"got shapes {a.shape} and {b.shape}"
        )
    for name, side in (("baseline", a), ("candidate", b)):
        if np.isinf(side).any():
            raise DataError(
                f"scores must be finite or NaN; the {name} has {int(np.isinf(side).sum())} "
                f"infinite ones, the first at position {int(np.flatnonzero(np.isinf(side))[0])}"
            )
    missing = np.isnan(a) | np.isnan(b)
    return (a[~missing], b[~missing]) if missing.any() else (a, b)


def paired_differences(baseline: FloatArray, candidate: FloatArray) -> FloatArray:
    """Candidate minus baseline, with rounding noise set to exactly zero.

    Examples
    --------
    >>> paired_differences(np.array([0.3, 0.5]), np.array([0.1 + 0.2, 0.7])).round(3)
    array([0. , 0.2])
    """
    difference = candidate - baseline
    if difference.size:
        scale = max(1.0, float(np.abs(baseline).max()), float(np.abs(candidate).max()))
        difference[np.abs(difference) <= TIE_TOLERANCE * scale] = 0.0
    return difference
