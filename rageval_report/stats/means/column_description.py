"""The plain numbers of many columns: count, mean, spread, extremes, percentiles.

A column is swept twice in blocks that fit the cache: once for its moments, once for the few scores
around the percentiles. It is neither copied nor, if it is long, sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError, check_choice
from rageval_report.stats.base import finite_values
from rageval_report.stats.means.moments import Moments, moments
from rageval_report.stats.means.selection import order_statistics
from rageval_report.types import FloatArray, IndexArray

PercentileMethod: TypeAlias = Literal["linear", "exclusive", "upper"]
QUARTILES = (25.0, 50.0, 75.0)


@dataclass(frozen=True, slots=True)
class ColumnDescription:
    """The numbers that a report shows of one column.

    Parameters
    ----------
    moments : Moments
        Number, mean, standard deviation and extremes of the scored queries.
    n_unscored : int
        Queries whose score is NaN.
    percentiles : tuple of float
        In the order of the arguments; NaN if nothing is scored.
    """

    moments: Moments
    n_unscored: int
    percentiles: tuple[float, ...]


def describe(
    columns: Iterable[npt.ArrayLike],
    *,
    percentiles: Sequence[float] = QUARTILES,
    method: PercentileMethod = "linear",
) -> list[ColumnDescription]:
    """Describe each column.

    Parameters
    ----------
    columns : iterable of array-like of shape (n,)
        One column per metric, one score per query; NaN is unscored. Lengths may differ.
        Column-major blocks (``block.T`` of a frame's values) are read fastest.
    percentiles : sequence of float
        Which percentiles, each from 0 to 100.
    method : {"linear", "exclusive", "upper"}
        "linear" interpolates as NumPy and pandas do. "exclusive", as in `statistics.quantiles`,
        treats the scores as a sample of a wider population and may go beyond the extremes. "upper"
        takes the score at the place n * p counted from 0, as in ragbench, and interpolates nothing.

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
    shares, rule = _check_percentiles(percentiles), _choose_rule(method)
    return [
        _describe_column(_check_column(column, number), shares, rule)
        for number, column in enumerate(columns)
    ]


def percentiles_of(
    values: npt.ArrayLike,
    percentiles: Sequence[float] = QUARTILES,
    *,
    method: PercentileMethod = "linear",
) -> FloatArray:
    """Percentiles of the scores of one column.

    Parameters
    ----------
    values : array-like of shape (n,)
        The scores; NaN is unscored and is left out.
    percentiles : sequence of float
        Each from 0 to 100.
    method : {"linear", "exclusive"}
        As in `describe`. One score is every percentile of itself.

    Returns
    -------
    ndarray
        In the order of `percentiles`; NaN if nothing is scored.

    Examples
    --------
    >>> percentiles_of([1, 2, 3, 4, 5])
    array([2., 3., 4.])
    >>> percentiles_of([1, 2, 3, 4, 5], method="exclusive")
    array([1.5, 3. , 4.5])
    """
    shares, rule = _check_percentiles(percentiles), _choose_rule(method)
    scores = finite_values(values)
    return _interpolate_percentiles(
        scores.size, shares, rule, lambda ranks: order_statistics(scores, scores.size, ranks)
    )


def _check_column(column: npt.ArrayLike, number: int) -> FloatArray:
    scores = np.asarray(column, dtype=np.float64)
    if scores.ndim != 1:
        raise DataError(
            "expected columns with one score per query; "
            f"column {number} has {scores.ndim} dimensions"
        )
    return scores


def percentile_ranks(
    n: int, percentiles: Sequence[float], method: PercentileMethod = "linear"
) -> IndexArray:
    """The ranks of the scores from which percentiles of n scores are interpolated.

    Examples
    --------
    >>> percentile_ranks(11, (25.0, 50.0))
    array([2, 3, 5, 6])
    """
    shares, rule = _check_percentiles(percentiles), _choose_rule(method)
    if not n or not shares.size:
        return np.zeros(0, dtype=np.intp)
    return np.unique(_places(n, shares, rule).ranks)


def percentiles_by_rank(
    n: int,
    percentiles: Sequence[float],
    method: PercentileMethod,
    at_ranks: Callable[[IndexArray], FloatArray],
) -> FloatArray:
    """`percentiles_of` n scores, of which those at some ranks are looked up.

    Parameters
    ----------
    n : int
        The number of scores.
    percentiles, method
        As in `describe`.
    at_ranks : callable
        Gives the scores at places of the sorted scores, counted from 0.

    Examples
    --------
    >>> percentiles_by_rank(4, (50.0,), "linear", np.array([1.0, 2.0, 4.0, 8.0]).__getitem__)
    array([3.])
    """
    shares, rule = _check_percentiles(percentiles), _choose_rule(method)
    return _interpolate_percentiles(n, shares, rule, at_ranks)


def _describe_column(
    scores: FloatArray, shares: FloatArray, rule: _PercentileRule
) -> ColumnDescription:
    known = moments(scores)
    percentiles = _interpolate_percentiles(
        known.n, shares, rule, lambda ranks: order_statistics(scores, known.n, ranks)
    )
    return ColumnDescription(known, scores.size - known.n, tuple(percentiles.tolist()))


def _check_percentiles(percentiles: Sequence[float]) -> FloatArray:
    """The percentiles as shares between 0 and 1."""
    values = np.asarray(percentiles, dtype=np.float64)
    outside = values[~((values >= 0.0) & (values <= 100.0))]
    if outside.size:
        raise DataError(f"percentiles must lie between 0 and 100; got {outside[0]:g}")
    shares: FloatArray = values.ravel() / 100.0
    return shares


@dataclass(frozen=True, slots=True, eq=False)
class _Places:
    """Where percentiles lie among sorted scores: between two ranks, at a position between them."""

    ranks: IndexArray
    weight: FloatArray


def _places(n: int, shares: FloatArray, rule: _PercentileRule) -> _Places:
    position = rule(shares, n) if n > 1 else np.zeros(shares.size)
    # "exclusive" asks for places beyond the extremes; there the line through the outermost two
    # scores is continued.
    lower = np.clip(np.floor(position), 0, max(n - 2, 0)).astype(np.intp)
    return _Places(np.stack((lower, np.minimum(lower + 1, n - 1))), position - lower)


def _interpolate_percentiles(
    n: int,
    shares: FloatArray,
    rule: _PercentileRule,
    at_ranks: Callable[[IndexArray], FloatArray],
) -> FloatArray:
    """The percentiles of a column of which n are scored."""
    if not n or not shares.size:
        return np.full(shares.size, np.nan)
    places = _places(n, shares, rule)
    below, above = at_ranks(places.ranks)
    weight, step = places.weight, above - below
    # From the nearer neighbour, as in NumPy: a weight of 0 or 1 then gives a score to the last bit.
    result: FloatArray = np.where(
        weight < 0.5, below + step * weight, above - step * (1.0 - weight)
    )
    return result


# The position of a share in n sorted scores, counted from 0.
_PercentileRule: TypeAlias = Callable[[FloatArray, int], FloatArray]


def _linear(shares: FloatArray, n: int) -> FloatArray:
    return shares * (n - 1)


def _exclusive(shares: FloatArray, n: int) -> FloatArray:
    return shares * (n + 1) - 1.0


def _upper(shares: FloatArray, n: int) -> FloatArray:
    upper: FloatArray = np.minimum(np.floor(shares * n), n - 1.0)
    return upper


_RULES: dict[PercentileMethod, _PercentileRule] = {
    "exclusive": _exclusive,
    "linear": _linear,
    "upper": _upper,
}


def _choose_rule(method: PercentileMethod) -> _PercentileRule:
    check_choice("method", method, _RULES)
    return _RULES[method]
