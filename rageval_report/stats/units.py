"""What is independent in a comparison: a query, or a cluster of queries that belong together.

Queries about one document, turns of one conversation and repeated runs of one query are not
independent, so they count together. The clusters are resolved once into `Units`; every test,
interval and plan of a paired difference then takes the column that `Units.collapse` returns, whose
numbers are independent. Without clusters each query is a unit of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError
from rageval_report.stats.base import TIE_TOLERANCE, largest_magnitude, without_noise
from rageval_report.stats.columns import Column, merge_ties
from rageval_report.types import BoolArray, FloatArray, IndexArray, IntArray

# With n units the exact sign-flip test has no p-value below 2 ** (1 - n): from 6 units on, 0.05 is
# within reach. With half ties five equal steps would give 0.031, and with 5 clusters, 90 % of which
# gain 0.1 and 10 % lose 0.9, false alarms reached 61 % in simulations.
FEWEST_UNITS = 6

# The bits of a piece of a score: the sum of 2 ** 23 such integers is an exact double.
_PIECE = 30


def fewest_units(alpha: float) -> int:
    """The fewest units for a test at this error rate: six, or more if it could never reject.

    Examples
    --------
    >>> fewest_units(0.05), fewest_units(0.2), fewest_units(0.01)
    (6, 6, 8)
    """
    return max(FEWEST_UNITS, 1 + math.ceil(-math.log2(alpha)))


@dataclass(frozen=True, eq=False)
class Units:
    """The independent unit of each row.

    Parameters
    ----------
    codes : ndarray of int, shape (n_rows,), optional
        The number of the unit of each row; if omitted, each row is a unit of its own.

    Examples
    --------
    >>> documents = Units.of(["a", "b", "a", "c"])
    >>> documents.sums(np.array([0.5, 0.25, 0.25, 0.5])).tolist()
    [0.75, 0.25, 0.5]
    >>> QUERIES.sums(np.array([0.5, 0.25])).tolist()
    [0.5, 0.25]
    """

    codes: IndexArray | None = None

    @classmethod
    def of(cls, clusters: npt.ArrayLike) -> Self:
        """The units of rows with these labels: texts, numbers or any other plain ones.

        Raises
        ------
        DataError
            If a row has no label.
        """
        return cls(number_labels(check_labels(clusters)))

    @property
    def are_clusters(self) -> bool:
        """Whether a unit may have several rows."""
        return self.codes is not None

    @property
    def word(self) -> str:
        """What a unit is called in a sentence that counts units."""
        return "clusters" if self.are_clusters else "queries"

    def select(self, rows: BoolArray | IndexArray | slice) -> Units:
        """The units of some of the rows."""
        return self if self.codes is None else Units(self.codes[rows])

    def count(self, n_rows: int) -> int:
        """The number of units of all rows, of which there are this many."""
        return n_rows if self.codes is None else int((np.bincount(self.codes) > 0).sum())

    def sums(self, values: FloatArray | IntArray) -> FloatArray:
        """The sum of each unit's rows, for a column or for each column of a matrix.

        The order is that in which the labels first appeared.
        """
        if self.codes is None:
            return np.asarray(values)
        is_present = np.bincount(self.codes) > 0
        columns = np.atleast_2d(np.asarray(values, dtype=np.float64).T)
        sums = np.array([_sums(column, self.codes)[is_present] for column in columns])
        return np.asarray(sums.T.reshape(-1, *values.shape[1:]))

    def means(self, values: FloatArray) -> FloatArray:
        """The mean of each unit's scored rows; NaN if none of them is scored.

        Examples
        --------
        >>> Units.of(["a", "b", "a"]).means(np.array([0.5, np.nan, 1.0])).tolist()
        [0.75, nan]
        """
        if self.codes is None:
            return values
        is_scored = ~np.isnan(values)
        counts = self.sums(is_scored.astype(np.float64))
        sums = self.sums(np.where(is_scored, values, 0.0))
        means: FloatArray = np.full(sums.shape, math.nan)
        np.divide(sums, counts, out=means, where=counts > 0)
        return means

    def of_other_rows(self, rows: IndexArray | None, places: IndexArray | None, n: int) -> Units:
        """The units of the rows of another table; a row without a twin here is a unit of its own.

        Parameters
        ----------
        rows, places : ndarray of int, optional
            The rows here, and the rows there that belong to them; all of them if omitted.
        n : int
            The number of rows there.

        Examples
        --------
        >>> moved = Units.of(["a", "a", "b"]).of_other_rows(np.array([0, 1]), np.array([2, 0]), 3)
        >>> moved.codes.tolist()
        [0, 3, 0]
        """
        if self.codes is None:
            return self
        codes = np.arange(n) + self.codes.max(initial=-1) + 1
        codes[slice(None) if places is None else places] = (
            self.codes if rows is None else self.codes[rows]
        )
        return Units(codes)

    def collapse(self, differences: FloatArray) -> Column:
        """The column of the differences of units, from those of the rows; NaN is left out.

        The difference of a unit is the sum of its rows' differences, on a scale on which the mean
        over units is the mean over rows. Flipping its sign flips all rows of the unit together.

        Examples
        --------
        >>> by_document = Units.of(["a", "a", "a", "b"]).collapse(np.array([1.0, 1.0, 0.0, 1.0]))
        >>> by_document.values, by_document.weights, by_document.mean
        (array([0.5, 1. ]), array([0.5, 1.5]), 0.75)
        """
        if self.codes is None:
            return Column.of(differences)
        is_known = ~np.isnan(differences)
        known, units = differences[is_known], self.select(is_known)
        return column_of_sums(units.sums(known), units.sums(np.ones(known.size)))


QUERIES = Units()
"""Each row is a unit of its own."""


def column_of_sums(
    sums: FloatArray, sizes: npt.ArrayLike, counts: npt.ArrayLike | None = None
) -> Column:
    """The column of the differences of clusters, from their sums; see `Units.collapse`.

    Its standard deviation is that around a shift of every query: 0 if all differences are equal.

    Parameters
    ----------
    sums : ndarray of shape (n,)
        The sum of the differences of the queries of each cluster.
    sizes : array-like of shape (n,)
        The number of these queries.
    counts : array-like of shape (n,), optional
        How many clusters have this sum and this size; one each if omitted.

    Examples
    --------
    >>> column = column_of_sums(np.array([2.0, 1.0]), [3, 1], [1, 2])
    >>> column.values, column.counts, column.weights.round(2), round(column.mean, 3)
    (array([0.6, 1.2]), array([2., 1.]), array([0.6, 1.8]), 0.8)
    """
    queries = np.asarray(sizes, dtype=np.float64)
    often = np.ones(queries.size) if counts is None else np.asarray(counts, dtype=np.float64)
    if not queries.size:
        return Column.of(sums)
    size = float((queries * often).sum() / often.sum())
    values = sums / size
    largest = largest_magnitude(values)
    order = np.lexsort((queries, without_noise(values, largest)))
    values, often, weights = values[order], often[order], queries[order] / size
    if (queries == queries[0]).all():
        return Column.of_counts(*merge_ties(values, often, TIE_TOLERANCE * max(1.0, largest)))
    is_first = np.append(True, (np.diff(values) != 0.0) | (np.diff(weights) != 0.0))
    often = np.add.reduceat(often, np.flatnonzero(is_first))
    column = Column.of_counts(values[is_first], often, weights[is_first])
    centred = column.values - column.mean * (weights[is_first] - 1.0)
    order = np.argsort(centred)
    return replace(column, std=Column.of_counts(centred[order], often[order]).std)


def check_labels(clusters: npt.ArrayLike) -> npt.NDArray[Any]:
    """The labels as an array, after a check that none is missing.

    Raises
    ------
    DataError
        If a label is None, NaN or blank.
    """
    # NumPy would turn ["a", None] and ["a", nan] into arrays in which None and nan are texts.
    labels = clusters if isinstance(clusters, np.ndarray) else np.asarray(clusters, dtype=object)
    missing = np.flatnonzero(are_missing(labels.ravel()))
    if missing.size:
        raise DataError(
            f"every query needs a cluster; {missing.size} have none, the first at position "
            f"{int(missing[0])}. Give each of them a cluster of its own, or leave them out."
        )
    return labels


def are_missing(labels: npt.NDArray[Any]) -> BoolArray:
    """Whether each label is missing: None, blank text, NaN, NaT, or pandas' NA."""
    if labels.dtype.kind in "iub":
        return np.zeros(labels.shape, dtype=bool)
    return np.array([_is_missing(label) for label in labels.ravel().tolist()], dtype=bool)


def _is_missing(label: object) -> bool:
    if label is None or (isinstance(label, str) and not label.strip()):
        return True
    try:
        return bool(label != label)
    except TypeError:  # the comparison of pandas' NA is NA, which is neither true nor false
        return True


def number_labels(labels: npt.NDArray[Any]) -> IndexArray:
    """The number of each label, in the order in which the labels first appear.

    Examples
    --------
    >>> number_labels(np.array(["b", "a", "b"])).tolist()
    [0, 1, 0]
    """
    numbers: dict[object, int] = {}
    try:
        codes = [numbers.setdefault(label, len(numbers)) for label in labels.tolist()]
    except TypeError as exc:
        raise DataError(f"clusters must be texts, numbers or other plain labels: {exc}") from exc
    return np.array(codes, dtype=np.int64)


def _sums(values: FloatArray, codes: IndexArray) -> FloatArray:
    """The sum of the rows of each code, the same to the last bit in any order of the rows."""
    exponent = math.frexp(float(np.abs(values).max(initial=0.0)))[1]
    rest, pieces = np.ldexp(values, -exponent), []
    while rest.any():
        rest, whole = np.modf(np.ldexp(rest, _PIECE))
        pieces.append(np.bincount(codes, whole))
    sums = np.zeros(int(codes.max(initial=-1)) + 1)
    for piece in reversed(pieces):  # from the last digits on, which are the least
        sums = np.ldexp(sums + piece, -_PIECE)
    return np.asarray(np.ldexp(sums, exponent))
