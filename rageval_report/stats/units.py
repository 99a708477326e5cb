"""What is independent in a comparison: a query, or a cluster of queries that belong together.

Queries about one document, turns of one conversation and repeated runs of one query are not
independent, so they count together. The clusters are resolved once into `Units`; every test,
interval and plan of a paired difference then takes the column that `Units.collapse` returns, whose
numbers are independent. Without clusters each query is a unit of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError, check_choice
from rageval_report.stats import base
from rageval_report.stats.base import Bounds, Interval
from rageval_report.stats.columns import Column, check_bounds, merge_ties
from rageval_report.types import BoolArray, FloatArray, IndexArray, IntArray

ClusteredErrorKind: TypeAlias = Literal["CR0", "CR1", "CR2"]

# With n units the exact sign-flip test has no p-value below 2 ** (1 - n): from 6 units on, 0.05 is
# within reach. With half ties five equal steps would give 0.031, and with 5 clusters, 90 % of which
# gain 0.1 and 10 % lose 0.9, false alarms reached 61 % in simulations.
FEWEST_UNITS = 6

# The bits of a piece of a score: the sum of 2 ** 23 such integers is an exact double.
_PIECE = 30


def fewest_units(alpha: float) -> int:
    """The fewest units for a test at this error rate: six, or more if it could never reject."""
    return max(FEWEST_UNITS, 1 + math.ceil(-math.log2(alpha)))


@dataclass(frozen=True, eq=False)
class Units:
    """The independent unit of each row."""

    codes: IndexArray | None = None

    @classmethod
    def of(cls, clusters: npt.ArrayLike, shape: tuple[int, ...] | None = None) -> Self:
        """The units of rows with these labels: texts, numbers or any other plain ones."""
        return cls(number_labels(check_labels(clusters, shape)))

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
        """The sum of each unit's rows, for a column or for each column of a matrix."""
        if self.codes is None:
            return np.asarray(values)
        is_present = np.bincount(self.codes) > 0
        columns = np.atleast_2d(np.asarray(values, dtype=np.float64).T)
        sums = np.array([_sums(column, self.codes)[is_present] for column in columns])
        return np.asarray(sums.T.reshape(-1, *values.shape[1:]))

    def means(self, values: FloatArray) -> FloatArray:
        """The mean of each unit's scored rows; NaN if none of them is scored."""
        if self.codes is None:
            return values
        is_scored = ~np.isnan(values)
        counts = self.sums(is_scored.astype(np.float64))
        sums = self.sums(np.where(is_scored, values, 0.0))
        means: FloatArray = np.full(sums.shape, math.nan)
        np.divide(sums, counts, out=means, where=counts > 0)
        return means

    def of_other_rows(self, rows: IndexArray | None, places: IndexArray | None, n: int) -> Units:
        """The units of the rows of another table; a row without a twin is a unit of its own."""
        if self.codes is None:
            return self
        codes = np.arange(n) + self.codes.max(initial=-1) + 1
        codes[slice(None) if places is None else places] = (
            self.codes if rows is None else self.codes[rows]
        )
        return Units(codes)

    def collapse(self, differences: FloatArray) -> Column:
        """The column of the differences of units, from those of the rows; NaN is left out."""
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
    """The column of the differences of clusters, from their sums; see `Units.collapse`."""
    queries = np.asarray(sizes, dtype=np.float64)
    often = np.ones(queries.size) if counts is None else np.asarray(counts, dtype=np.float64)
    if not queries.size:
        return Column.of(sums)
    size = float((queries * often).sum() / often.sum())
    values = sums / size
    largest = base.largest_magnitude(values)
    order = np.lexsort((queries, base.without_noise(values, largest)))
    values, often, weights = values[order], often[order], queries[order] / size
    if (queries == queries[0]).all():
        return Column.of_counts(*merge_ties(values, often, base.TIE_TOLERANCE * max(1.0, largest)))
    is_first = np.append(True, (np.diff(values) != 0.0) | (np.diff(weights) != 0.0))
    often = np.add.reduceat(often, np.flatnonzero(is_first))
    return Column.of_counts(values[is_first], often, weights[is_first])


def check_labels(
    clusters: npt.ArrayLike, shape: tuple[int, ...] | None = None, name: str = "clusters"
) -> npt.NDArray[Any]:
    """The labels as an array, after a check that none is missing."""
    # NumPy would turn ["a", None] and ["a", nan] into arrays in which None and nan are texts.
    labels = clusters if isinstance(clusters, np.ndarray) else np.asarray(clusters, dtype=object)
    missing = np.flatnonzero(are_missing(labels.ravel()))
    if missing.size:
        raise DataError(
            f"{name} must have a label for every score; {missing.size} have none, the first at "
            f"position {int(missing[0])}. Give each of them one of its own, or leave them out."
        )
    if shape not in (None, labels.shape):
        raise DataError(f"{name} must have one label per score; got {labels.shape} for {shape}")
    return labels


def are_missing(labels: npt.NDArray[Any]) -> BoolArray:
    """Whether each label is missing: None, blank text, NaN, NaT, or pandas' NA."""
    # What is missing does not equal itself: the comparison is False, or pandas' NA.
    is_missing = [
        label is None or not str(label).strip() or str(label == label) != "True"
        for label in labels.ravel().tolist()
    ]
    return np.array(is_missing, dtype=bool)


def number_labels(labels: npt.NDArray[Any]) -> IndexArray:
    """The number of each label, in the order in which the labels first appear."""
    numbers: dict[object, int] = {}
    try:
        return np.array([numbers.setdefault(x, len(numbers)) for x in labels.tolist()], np.int64)
    except TypeError as exc:
        raise DataError(f"clusters must be texts, numbers or other plain labels: {exc}") from exc


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


# -- standard errors and intervals of means of clusters


@dataclass(frozen=True, slots=True)
class ClusteredStandardError:
    """The standard error of a mean of clustered scores."""

    standard_error: float
    df: float
    n_clusters: int
    kind: ClusteredErrorKind
    estimate: float


def clustered_standard_error(
    values: npt.ArrayLike, clusters: npt.ArrayLike, kind: ClusteredErrorKind = "CR2"
) -> ClusteredStandardError:
    """Standard error of a mean whose scores come in clusters.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        Scores, or paired differences; NaN is left out.
    clusters : array-like of shape (n_queries,)
        The cluster of each query: texts, numbers or any other labels.
    kind : {"CR0", "CR1", "CR2"}
        "CR2" corrects each cluster for its weight and comes with Bell and McCaffrey's degrees of
        freedom. "CR0" is the plain sum and "CR1" scales it by G / (G - 1); both have G - 1.

    Returns
    -------
    ClusteredStandardError

    Raises
    ------
    DataError
        If a query has no cluster, or none has a score.
    UnknownNameError
        If `kind` is not "CR0", "CR1" or "CR2".

    References
    ----------
    .. [1] Bell, McCaffrey (2002). Bias reduction in standard errors for linear regression with
           multi-stage samples. Survey Methodology 28:169-181.

    Examples
    --------
    >>> result = clustered_standard_error([1, 1, 0, 0, 1, 0], ["a", "a", "b", "b", "c", "c"])
    >>> round(result.standard_error, 4), round(result.df, 4)
    (0.2887, 2.0)
    """
    every = np.asarray(values, dtype=np.float64)
    units, scores = Units.of(clusters, every.shape), base.finite_values(every)
    if not scores.size:
        raise DataError("values must not all be NaN: no query has a score")
    units, column = units.select(~np.isnan(every)), Column.of(scores)
    # Deviations keep the digits of scores that are large beside their spread.
    sums, sizes = units.sums(scores - column.mean), units.sums(np.ones(scores.size))
    return replace(error_of_sums(sums, sizes, kind=kind), estimate=column.mean)


def error_of_sums(
    sums: FloatArray,
    sizes: npt.ArrayLike,
    counts: npt.ArrayLike | None = None,
    *,
    kind: ClusteredErrorKind = "CR2",
) -> ClusteredStandardError:
    """`clustered_standard_error` of scores that are known by the sums of their clusters."""
    check_choice("kind", kind, get_args(ClusteredErrorKind))
    size = np.asarray(sizes, dtype=np.float64)
    often = np.ones(size.size) if counts is None else np.asarray(counts, dtype=np.float64)
    n, n_clusters = float((size * often).sum()), round(float(often.sum()))
    # A power of two, so that the squares of huge sums are doubles.
    unit = 2.0 ** max(0, math.frexp(float(np.abs(sums).max()))[1])
    estimate = float((sums / unit * often).sum()) / n
    if n_clusters == 1:
        return ClusteredStandardError(math.nan, 0.0, 1, kind, estimate * unit)
    squares = (sums / unit - size * estimate) ** 2
    df = n_clusters - 1.0
    if kind == "CR2":  # each cluster pulled the mean towards itself, by its share of the scores
        squares = squares / (1.0 - size / n)
        # Bell and McCaffrey's: those of a chi-square with the mean and variance of the estimate.
        # For a mean the matrix of the general formula has a closed form.
        pulls = size**2 / (1.0 - size / n)
        crossed = float((pulls * often).sum() ** 2 - (pulls**2 * often).sum())
        df = n**2 / (float((size**2 * often).sum()) + crossed / n**2)
    error = math.sqrt(float((squares * often).sum())) / n
    if kind == "CR1":
        error *= math.sqrt(n_clusters / (n_clusters - 1))
    return ClusteredStandardError(error * unit, df, n_clusters, kind, estimate * unit)


def clustered_interval(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    confidence_level: float = 0.95,
    bounds: Bounds | None = None,
) -> Interval:
    """Interval of a mean whose scores come in clusters, from the CR2 standard error."""
    level = base.check_level(confidence_level)
    if bounds is not None:
        scores = np.asarray(values, dtype=np.float64)
        check_bounds(Column.of(scores.ravel()), bounds)
        if not base.are_finite(bounds):
            raise DataError(f"bounds must be finite, e.g. (0, 1); got {bounds}")
        values = np.clip(scores, *bounds)
    # CR2, because the normal interval on CR0 covered 70 to 94 % in simulations of 5 to 50 clusters;
    # CR2 with Bell and McCaffrey's degrees of freedom was never worse than CR1.
    return interval_of_error(clustered_standard_error(values, clusters), level, bounds)


def interval_of_error(
    spread: ClusteredStandardError, level: float, bounds: Bounds | None = None
) -> Interval:
    """The interval of `clustered_interval`, of a standard error of the kind "CR2"."""
    from scipy.special import stdtrit

    estimate, error = spread.estimate, spread.standard_error
    if spread.n_clusters == 1:
        return Interval.unknown(estimate, "cr2", level, "one cluster: no interval")
    quantile = float(stdtrit(spread.df, 0.5 + level / 2))
    is_equal = error <= base.TIE_TOLERANCE * max(1.0, abs(estimate))
    notes = ("all clusters have the same mean: they show no spread",) if is_equal else ()
    if bounds is None:
        reach = quantile * error
        return Interval(estimate, estimate - reach, estimate + reach, error, "cr2", level, notes)
    low, range_ = bounds[0], bounds[1] - bounds[0]
    share = (estimate - low) / range_
    # The number of right or wrong answers with this error. Clusters with equal means would make it
    # infinite; then each counts as one answer.
    variance = max(0.0, share * (1.0 - share))
    n = spread.n_clusters if is_equal else variance / (error / range_) ** 2
    ratio = quantile**2 / n
    centre, reach = share + ratio / 2, math.sqrt(ratio * variance + ratio**2 / 4)
    # Rounding must not put the estimate outside its interval.
    least = min(share, max(0.0, (centre - reach) / (1 + ratio)))
    most = max(share, min(1.0, (centre + reach) / (1 + ratio)))
    low, high = low + range_ * least, low + range_ * most
    return Interval(estimate, low, high, error, "cr2", level, notes)


def mean_error(differences: Column) -> tuple[float, float]:
    """The standard error of a mean difference, and its degrees of freedom."""
    if differences.weights is None or differences.is_constant:
        return differences.standard_error, differences.n - 1.0
    spread = error_of_sums(differences.values, differences.weights, differences.counts)
    return spread.standard_error, spread.df
