"""The means of slices beside what they become when the slices are pooled partially.

Of twenty slices the best and the worst are mostly small ones, by chance. The pooled columns move
each mean towards the common one as far as chance explains the spread of the slices.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from rageval_report.stats.base import TIE_TOLERANCE
from rageval_report.stats.pooling import FEWEST_GROUPS, errors_of_common_spread, partial_pooling
from rageval_report.types import FloatArray


@dataclass(frozen=True)
class SliceMean:
    """The mean of one slice: what pooling needs of it, and its own interval.

    Parameters
    ----------
    mean : float
        The mean, or the mean difference; NaN if nothing is scored.
    standard_error : float
        By the slice's own scores; NaN for a single unit.
    n_units : int
        The number of independent units: queries, or clusters.
    degrees : float
        The degrees of freedom of the standard error.
    low, high : float
        The interval of the mean by the slice's own scores.
    """

    mean: float
    standard_error: float
    n_units: int
    degrees: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class PooledSlices:
    """The pooled means of the slices of one metric.

    Parameters
    ----------
    estimates, low, high, shrinkage : ndarray of shape (n_slices,)
        The pooled means, their intervals, and the share of the way to the common mean.
    are_pooled : bool
        Whether anything was pooled; if not, the numbers are those of the slices themselves.
    """

    estimates: FloatArray
    low: FloatArray
    high: FloatArray
    shrinkage: FloatArray
    are_pooled: bool

    def columns(self, estimate: str) -> dict[str, FloatArray]:
        """The columns of a table of slices, for ``mean`` or ``difference``."""
        return {
            f"pooled_{estimate}": self.estimates,
            "pooled_ci_low": self.low,
            "pooled_ci_high": self.high,
            "shrinkage": self.shrinkage,
        }


def pool_slices(
    slices: Sequence[SliceMean],
    *,
    confidence_level: float,
    limits: tuple[float, float] | None = None,
    fewest_units: int = 0,
) -> PooledSlices:
    """Pool the slices of one metric partially, if there are enough of them.

    Parameters
    ----------
    slices : sequence of SliceMean
        The slices.
    confidence_level : float
        Between 0 and 1.
    limits : (float, float), optional
        The smallest and the largest possible mean, to which the intervals are cut.
    fewest_units : int
        With fewer units in all slices together nothing is pooled.

    Examples
    --------
    >>> means = [(0.9, 40), (0.85, 30), (0.88, 50), (0.4, 3)]
    >>> slices = [SliceMean(m, 0.3 / n**0.5, n, n - 1, m - 0.1, m + 0.1) for m, n in means]
    >>> pool_slices(slices, confidence_level=0.95, limits=(0, 1)).estimates.round(2).tolist()
    [0.9, 0.85, 0.88, 0.46]
    """
    low, high = (-math.inf, math.inf) if limits is None else limits
    means = _column(part.mean for part in slices)
    errors, degrees = _errors_of(slices, means)
    n_units = sum(part.n_units for part in slices)
    n_groups = int((~np.isnan(means)).sum())
    if errors is None or n_groups < FEWEST_GROUPS or n_units < fewest_units:
        return _unpooled(slices)
    pooled = partial_pooling(means, errors, confidence_level=confidence_level, degrees=degrees)
    return PooledSlices(
        pooled.estimates,
        np.maximum(pooled.low, low),
        np.minimum(pooled.high, high),
        pooled.shrinkage,
        are_pooled=True,
    )


def pooling_notes(pooled: Sequence[tuple[str, PooledSlices]], estimate: str) -> list[str]:
    """What the pooled columns are, and which metrics are not pooled; nothing if none is.

    Parameters
    ----------
    pooled : sequence of (str, PooledSlices)
        The metrics by name, with their pooled slices.
    estimate : str
        "mean" or "difference".
    """
    if not any(slices.are_pooled for _, slices in pooled):
        return []
    notes = [
        f"pooled_{estimate} is the {estimate} of a group moved towards that of all groups, as far "
        "as chance explains how they spread; a group of few queries moves farther"
    ]
    others = dict.fromkeys(name for name, slices in pooled if not slices.are_pooled)
    if others:
        notes.append(
            f"{', '.join(others)}: not pooled, because fewer than {FEWEST_GROUPS} groups have "
            f"scores or no scores of a group differ; pooled_{estimate} repeats the {estimate}"
        )
    return notes


def _errors_of(slices: Sequence[SliceMean], means: FloatArray) -> tuple[FloatArray | None, float]:
    """The standard errors under one spread for all; None if no slice has any spread."""
    errors, degrees = errors_of_common_spread(
        _column(part.standard_error for part in slices),
        _column(part.n_units for part in slices),
        _column(part.degrees if math.isfinite(part.standard_error) else 0.0 for part in slices),
    )
    largest = float(np.abs(means[~np.isnan(means)]).max(initial=1.0))
    # Equal scores that were computed from floats have a spread of rounding errors.
    has_spread = degrees > 0.0 and float(errors.max()) > TIE_TOLERANCE * largest
    return (errors if has_spread else None), degrees


def _unpooled(slices: Sequence[SliceMean]) -> PooledSlices:
    means = _column(part.mean for part in slices)
    return PooledSlices(
        means,
        _column(part.low for part in slices),
        _column(part.high for part in slices),
        np.where(np.isnan(means), math.nan, 0.0),
        are_pooled=False,
    )


def _column(values: Iterable[float]) -> FloatArray:
    return np.array(list(values), dtype=np.float64)
