"""What the coefficients share: ratings as codes, weights of agreement, the interval."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import special

from rageval_report.errors import DataError, UnknownNameError, named
from rageval_report.stats.base import Interval
from rageval_report.types import BoolArray, FloatArray, IndexArray

WEIGHTS = ("linear", "quadratic")
NO_SPREAD = "every query counts alike here: the large-sample interval has no width, so none is told"
# Below this a standard error is the rounding of a sum.
_ROUNDING = 1e-12


# The signs of pandas for what is missing, by name: it is not loaded here.
_MISSING = ("NAType", "NaTType")


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Two raters' ratings of the queries that both rated.

    Parameters
    ----------
    a, b : ndarray of int
        The place of each rating among the categories.
    categories : ndarray
        In increasing order, or in the order that was told.
    """

    a: IndexArray
    b: IndexArray
    categories: npt.NDArray[Any]

    @property
    def n(self) -> int:
        """Queries that both rated."""
        return int(self.a.size)

    @property
    def q(self) -> int:
        """Categories."""
        return len(self.categories)

    def shares(self, codes: IndexArray) -> FloatArray:
        """How often each category was given, as shares."""
        return np.bincount(codes, minlength=self.q) / codes.size


def rated_pairs(
    a: npt.ArrayLike, b: npt.ArrayLike, categories: Iterable[object] | None = None
) -> Pairs:
    """The ratings of the queries that both rated, as codes.

    Raises
    ------
    DataError
        If the sides are of unequal length, nothing was rated by both, or a rating is no category.

    Examples
    --------
    >>> pairs = rated_pairs(["yes", "no", None], ["yes", "yes", "no"])
    >>> pairs.a.tolist(), pairs.b.tolist(), pairs.categories.tolist()
    ([1, 0], [1, 1], ['no', 'yes'])
    """
    first, second = _column(a), _column(b)
    if first.shape != second.shape:
        raise DataError(
            "expected two ratings of each query, in the same order; got "
            f"{first.size} and {second.size} ratings"
        )
    both = ~(is_missing(first) | is_missing(second))
    if not both.any():
        raise DataError("no query was rated by both; check that the ratings belong together")
    codes, known = coded(np.concatenate([first[both], second[both]]), categories)
    n = int(both.sum())
    return Pairs(codes[:n], codes[n:], known)


def _column(ratings: npt.ArrayLike) -> npt.NDArray[Any]:
    column = np.asarray(ratings)
    if column.dtype.kind not in "bifu":
        column = np.asarray(ratings, dtype=object)
    if column.ndim != 1:
        raise DataError(f"expected one rating a query; got an array of shape {column.shape}")
    if column.dtype.kind == "f" and np.isinf(column).any():
        raise DataError(f"ratings must be finite; {int(np.isinf(column).sum())} are infinite")
    return column


def coded(
    ratings: npt.NDArray[Any], categories: Iterable[object] | None
) -> tuple[IndexArray, npt.NDArray[Any]]:
    """Ratings as places among the categories, which are those that occur unless told."""
    plain = _plain(ratings)
    known = np.unique(plain) if categories is None else _plain(np.asarray(list(categories)))
    places = {category: place for place, category in enumerate(known.tolist())}
    if len(places) < len(known):
        raise DataError(f"a category is named twice: {named(known.tolist())}")
    codes = np.array([places.get(rating, -1) for rating in plain.tolist()], dtype=np.intp)
    if (codes < 0).any():
        strange = np.unique(plain[codes < 0]).tolist()
        raise DataError(f"not among the categories {named(known.tolist())}: {named(strange)}")
    return codes, known


def is_missing(ratings: npt.NDArray[Any]) -> BoolArray:
    """Where there is no rating: None, NaN, or the signs that tables have for it.

    Examples
    --------
    >>> is_missing(np.array(["yes", None, float("nan")], dtype=object)).tolist()
    [False, True, True]
    """
    if ratings.dtype.kind in "biuf":
        return np.isnan(ratings.astype(np.float64))
    told = [
        rating is None
        or type(rating).__name__ in _MISSING
        or (isinstance(rating, float | np.floating) and math.isnan(rating))
        for rating in ratings.ravel().tolist()
    ]
    return np.array(told, dtype=np.bool_).reshape(ratings.shape)


def _plain(ratings: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Numbers as floats, else texts; so that they have an order."""
    try:
        return ratings.astype(np.float64)
    except (TypeError, ValueError):
        return np.asarray([str(rating) for rating in ratings])


def agreement_weights(categories: npt.NDArray[Any], weights: str | None) -> FloatArray:
    """How far two categories agree: 1 for the same, less the further they lie apart.

    Parameters
    ----------
    categories : ndarray
        Numbers lie apart by their difference, names by their places.
    weights : {None, "linear", "quadratic"}
        None: 0 for different ones.

    Raises
    ------
    UnknownNameError
        If there are no such weights.

    Examples
    --------
    >>> agreement_weights(np.array([1.0, 2.0, 3.0]), "quadratic")[0].tolist()
    [1.0, 0.75, 0.0]
    """
    q = len(categories)
    if weights is None or q == 1:
        return np.eye(q)
    if weights not in WEIGHTS:
        raise UnknownNameError("weights of agreement", weights, WEIGHTS)
    places = categories if categories.dtype.kind == "f" else np.arange(q, dtype=np.float64)
    apart = np.abs(places[:, np.newaxis] - places) / np.ptp(places)
    weight: FloatArray = 1.0 - (apart if weights == "linear" else apart**2)
    return weight


def chance_corrected(
    observed: FloatArray, expected: FloatArray, expected_mean: float, method: str, level: float
) -> Interval:
    """(observed - expected) / (1 - expected) with its large-sample interval.

    Parameters
    ----------
    observed : ndarray of shape (n,)
        How far the raters agree on each query.
    expected : ndarray of shape (n,)
        How much each query moves the agreement by chance; the mean is 0.
    expected_mean : float
        The agreement by chance.
    method, level
        As in `Interval`.

    Notes
    -----
    The delta method: the variance of the mean of each query's influence, and Student's t.
    """
    n, room = observed.size, 1.0 - expected_mean
    if room <= _ROUNDING:
        note = "all ratings are of one category: nothing can be said of agreement beyond chance"
        return Interval(math.nan, math.nan, math.nan, math.nan, method, level, (note,))
    estimate = (float(observed.mean()) - expected_mean) / room
    influence = (observed - observed.mean() - (1.0 - estimate) * expected) / room
    if n < 2 or float(np.abs(influence).max()) <= _ROUNDING:
        error, note = (math.nan, "one query") if n < 2 else (0.0, NO_SPREAD)
        return Interval(estimate, math.nan, math.nan, error, method, level, (note,))
    error = math.sqrt(float(np.dot(influence, influence)) / (n * (n - 1)))
    reach = float(special.stdtrit(n - 1, 0.5 + level / 2.0)) * error
    low, high = max(estimate - reach, -1.0), min(estimate + reach, 1.0)
    return Interval(estimate, low, high, error, method, level)
