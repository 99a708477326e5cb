"""The plain numbers of many columns: count, mean, spread, extremes, percentiles.

A column is swept twice in blocks that fit the cache: once for its moments, once for the few scores
around the percentiles. It is neither copied nor, beyond some length, sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.base import finite_values
from rageval_report.stats.means.moments import Moments, moments
from rageval_report.stats.means.selection import order_statistics
from rageval_report.types import FloatArray

QUARTILES = (25.0, 50.0, 75.0)


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """What a report says of one column.

    Parameters
    ----------
    moments : Moments
        Scored queries: their number, mean, standard deviation and extremes.
    n_unscored : int
        Queries whose score is NaN.
    percentiles : tuple of float
        In the order in which they were asked for; NaN if nothing is scored.
    """

    moments: Moments
    n_unscored: int
    percentiles: tuple[float, ...]


def describe(
    columns: Iterable[npt.ArrayLike],
    *,
    percentiles: Sequence[float] = QUARTILES,
    method: str = "linear",
) -> list[ColumnDescription]:
    """Describe each column.

    Parameters
    ----------
    columns : iterable of array-like of shape (n,)
        A column a metric, a score a query; NaN is unscored. Lengths may differ. Column-major
        blocks (``block.T`` of a frame's values) are read fastest.
    percentiles : sequence of float
        Which percentiles, each from 0 to 100.
    method : str
        "linear", as NumPy and pandas interpolate, or "exclusive", as `statistics.quantiles` does,
        which takes the scores for a sample of something wider and so may go beyond the extremes.

    Returns
    -------
    list of ColumnDescription
        In the order of the columns.

    Raises
    ------
    DataError
        If a score is infinite or a percentile is not between 0 and 100.
    UnknownNameError
        If there is no such method.

    Examples
    --------
    >>> faithfulness, hit = describe([[0.2, 0.8, float("nan"), 0.5], [1, 0, 1, 1]])
    >>> faithfulness.moments.n, faithfulness.n_unscored, faithfulness.percentiles
    (3, 1, (0.35, 0.5, 0.65))
    >>> hit.moments.mean, hit.moments.is_binary
    (0.75, True)
    """
    shares, rule = _checked_percentiles(percentiles), _rule(method)
    return [
        _describe_one(_column(column, number), shares, rule)
        for number, column in enumerate(columns)
    ]


def percentiles_of(
    values: npt.ArrayLike, percentiles: Sequence[float] = QUARTILES, *, method: str = "linear"
) -> FloatArray:
    """Percentiles of the scores of one column.

    Parameters
    ----------
    values : array-like of shape (n,)
        The scores; NaN is unscored and is left out.
    percentiles : sequence of float
        Each from 0 to 100.
    method : str
        "linear" or "exclusive", as in `describe`. One score is every percentile of itself.

    Returns
    -------
    ndarray
        In the order asked for; NaN if nothing is scored.

    Examples
    --------
    >>> percentiles_of([1, 2, 3, 4, 5])
    array([2., 3., 4.])
    >>> percentiles_of([1, 2, 3, 4, 5], method="exclusive")
    array([1.5, 3. , 4.5])
    """
    shares, rule = _checked_percentiles(percentiles), _rule(method)
    scores = finite_values(values)
    return _read_off(scores, scores.size, shares, rule)


def _column(column: npt.ArrayLike, number: int) -> FloatArray:
    scores = np.asarray(column, dtype=np.float64)
    if scores.ndim != 1:
        raise DataError(
            f"expected columns of one score a query; column {number} has {scores.ndim} dimensions"
        )
    return scores


def _describe_one(scores: FloatArray, shares: FloatArray, rule: _Rule) -> ColumnDescription:
    known = moments(scores)
    percentiles = _read_off(scores, known.n, shares, rule)
    return ColumnDescription(known, scores.size - known.n, tuple(percentiles.tolist()))


def _checked_percentiles(percentiles: Sequence[float]) -> FloatArray:
    """The percentiles as shares between 0 and 1."""
    wanted = np.asarray(percentiles, dtype=np.float64)
    outside = wanted[~((wanted >= 0.0) & (wanted <= 100.0))]
    if outside.size:
        raise DataError(f"percentiles must lie between 0 and 100; got {outside[0]:g}")
    shares: FloatArray = wanted.ravel() / 100.0
    return shares


def _read_off(scores: FloatArray, n: int, shares: FloatArray, rule: _Rule) -> FloatArray:
    """The percentiles of a column of which n are scored."""
    if not n or not shares.size:
        return np.full(shares.size, np.nan)
    position = rule(shares, n) if n > 1 else np.zeros(shares.size)
    lower = np.clip(np.floor(position), 0, max(n - 2, 0)).astype(np.intp)
    upper = np.minimum(lower + 1, n - 1)
    below, above = order_statistics(scores, n, np.stack((lower, upper)))
    weight, step = position - lower, above - below
    # from the nearer neighbour, as NumPy does it: a weight of 0 or 1 gives a score to the last bit
    read: FloatArray = np.where(weight < 0.5, below + step * weight, above - step * (1.0 - weight))
    return read


# Where in n sorted scores, counted from 0, a share lies.
_Rule = Callable[[FloatArray, int], FloatArray]


def _linear(shares: FloatArray, n: int) -> FloatArray:
    return shares * (n - 1)


def _exclusive(shares: FloatArray, n: int) -> FloatArray:
    return shares * (n + 1) - 1.0


_RULES: dict[str, _Rule] = {"exclusive": _exclusive, "linear": _linear}


def _rule(method: str) -> _Rule:
    if method not in _RULES:
        raise UnknownNameError("percentile method", method, _RULES)
    return _RULES[method]
