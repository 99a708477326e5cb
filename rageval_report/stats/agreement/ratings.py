"""What the coefficients of agreement share: ratings as codes, weights, the interval."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import scipy

from rageval_report.errors import DataError, check_choice, named
from rageval_report.stats.base import Interval
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import BoolArray, FloatArray, IndexArray

Weights: TypeAlias = Literal["linear", "quadratic"]
WEIGHTS: tuple[Weights, ...] = get_args(Weights)
NO_SPREAD = "all queries have the same influence, so the large-sample interval is not defined"
# A standard error below this is the rounding of a sum.
_ROUNDING = 1e-12


# The types of pandas' markers for missing values, by name, because pandas is not imported here.
_MISSING = ("NAType", "NaTType")


@dataclass(frozen=True, slots=True, eq=False)
class RatedPairs:
    """Two raters' ratings of the queries that both rated.

    Parameters
    ----------
    a, b : ndarray of int
        The place of each rating among the categories.
    categories : ndarray
        In increasing order, or in the order of the caller.
    """

    a: IndexArray
    b: IndexArray
    categories: npt.NDArray[Any]

    @property
    def n(self) -> int:
        """The number of queries that both rated."""
        return int(self.a.size)

    @property
    def q(self) -> int:
        """The number of categories."""
        return len(self.categories)

    def shares(self, codes: IndexArray) -> FloatArray:
        """The share of each category among the ratings of one rater."""
        return np.bincount(codes, minlength=self.q) / codes.size


def rated_pairs(
    a: npt.ArrayLike, b: npt.ArrayLike, categories: Iterable[object] | None = None
) -> RatedPairs:
    """The ratings of the queries that both rated, as codes.

    Raises
    ------
    DataError
        If the sides differ in length, no query was rated by both, or a rating is not a category.

    Examples
    --------
    >>> pairs = rated_pairs(["yes", "no", None], ["yes", "yes", "no"])
    >>> pairs.a.tolist(), pairs.b.tolist(), pairs.categories.tolist()
    ([1, 0], [1, 1], ['no', 'yes'])
    """
    first, second = _check_column(a), _check_column(b)
    if first.shape != second.shape:
        raise DataError(
            "expected two ratings of each query, both sides in the same order; got "
            f"{first.size} and {second.size} ratings"
        )
    both = ~(is_missing(first) | is_missing(second))
    if not both.any():
        raise DataError("no query was rated by both; check that the ratings belong together")
    codes, all_categories = encode_ratings(np.concatenate([first[both], second[both]]), categories)
    n = int(both.sum())
    return RatedPairs(codes[:n], codes[n:], all_categories)


def _check_column(ratings: npt.ArrayLike) -> npt.NDArray[Any]:
    column = np.asarray(ratings)
    # NumPy would turn None next to names into the text "None"; in an array of objects it stays
    # None.
    if column.dtype.kind not in "bifu":
        column = np.asarray(ratings, dtype=object)
    if column.ndim != 1:
        raise DataError(
            f"ratings must hold one rating per query; got an array of shape {column.shape}"
        )
    if column.dtype.kind == "f" and np.isinf(column).any():
        raise DataError(f"ratings must be finite; {int(np.isinf(column).sum())} are infinite")
    return column


def encode_ratings(
    ratings: npt.NDArray[Any], categories: Iterable[object] | None
) -> tuple[IndexArray, npt.NDArray[Any]]:
    """Ratings as places among the categories; if these are omitted, those that occur."""
    plain = _numbers_or_texts(ratings)
    if categories is None:
        known = np.unique(plain)
    else:
        known = _numbers_or_texts(np.asarray(list(categories)))
    places = {category: place for place, category in enumerate(known.tolist())}
    if len(places) < len(known):
        raise DataError(f"categories must differ; one appears twice: {named(known.tolist())}")
    codes = np.array([places.get(rating, -1) for rating in plain.tolist()], dtype=np.intp)
    if (codes < 0).any():
        unknown = np.unique(plain[codes < 0]).tolist()
        raise DataError(
            f"ratings must be among the categories {named(known.tolist())}; got {named(unknown)}"
        )
    return codes, known


def is_missing(ratings: npt.NDArray[Any]) -> BoolArray:
    """Where a rating is missing: None, NaN, or the markers of pandas.

    Examples
    --------
    >>> is_missing(np.array(["yes", None, float("nan")], dtype=object)).tolist()
    [False, True, True]
    """
    if ratings.dtype.kind in "biuf":
        return np.isnan(ratings.astype(np.float64))
    missing = [
        rating is None
        or type(rating).__name__ in _MISSING
        or (isinstance(rating, float | np.floating) and math.isnan(rating))
        for rating in ratings.ravel().tolist()
    ]
    return np.array(missing, dtype=np.bool_).reshape(ratings.shape)


def _numbers_or_texts(ratings: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The ratings as floats if all are numbers, else as texts, so that they have an order."""
    try:
        return ratings.astype(np.float64)
    except (TypeError, ValueError):
        return np.asarray([str(rating) for rating in ratings])


def agreement_weights(categories: npt.NDArray[Any], weights: Weights | None) -> FloatArray:
    """How far two categories agree: 1 for the same, less the farther they lie apart.

    Parameters
    ----------
    categories : ndarray
        The distance of two numbers is their difference, that of two names of their places.
    weights : {None, "linear", "quadratic"}
        None: different categories do not agree at all.

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
    check_choice("weights", weights, WEIGHTS)
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
        note = "all ratings are of one category: agreement beyond chance is not defined"
        return Interval(math.nan, math.nan, math.nan, math.nan, method, level, (note,))
    estimate = (float(observed.mean()) - expected_mean) / room
    influence = (observed - observed.mean() - (1.0 - estimate) * expected) / room
    if n < 2 or float(np.abs(influence).max()) <= _ROUNDING:
        error, note = (math.nan, "one query") if n < 2 else (0.0, NO_SPREAD)
        return Interval(estimate, math.nan, math.nan, error, method, level, (note,))
    error = math.sqrt(sum_of_products(influence, influence) / (n * (n - 1)))
    reach = float(scipy.special.stdtrit(n - 1, 0.5 + level / 2.0)) * error
    low, high = max(estimate - reach, -1.0), min(estimate + reach, 1.0)
    return Interval(estimate, low, high, error, method, level)
