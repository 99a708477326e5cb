"""Scores in clusters: questions about one document, turns of a conversation, repeated runs.

Such scores carry less information than independent ones. The standard error is computed from the
sum of the deviations of each cluster instead of the deviations themselves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import scipy

from rageval_report.errors import DataError, check_choice
from rageval_report.stats.base import TIE_TOLERANCE, Interval, check_level
from rageval_report.stats.magnitudes import unit_of
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.pairs.spread import rounding_tolerance, standard_deviation
from rageval_report.stats.units import check_labels, number_labels
from rageval_report.types import FloatArray, IndexArray

ClusteredErrorKind: TypeAlias = Literal["CR0", "CR1", "CR2"]
KINDS: tuple[ClusteredErrorKind, ...] = get_args(ClusteredErrorKind)

# A score this far beyond a bound, relative to the range, is still rounding.
BOUNDS_SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class ClusteredStandardError:
    """The standard error of a mean of clustered scores.

    Parameters
    ----------
    standard_error : float
        NaN if there is only one cluster.
    df : float
        Degrees of freedom of the t distribution that belongs to it; 0 if there is only one cluster.
    n_clusters : int
        Clusters with at least one score.
    kind : {"CR0", "CR1", "CR2"}
        As in `clustered_standard_error`.
    estimate : float
        The mean of the scores.
    design_effect : float
        The square of this standard error over that of as many independent scores; NaN if all
        scores are equal.
    """

    standard_error: float
    df: float
    n_clusters: int
    kind: ClusteredErrorKind
    estimate: float
    design_effect: float


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
        If there is no such kind.

    References
    ----------
    .. [1] Bell, McCaffrey (2002). Bias reduction in standard errors for linear regression with
           multi-stage samples. Survey Methodology 28:169-181.

    Examples
    --------
    >>> from rageval_report.stats import clustered_standard_error
    >>> result = clustered_standard_error([1, 1, 0, 0, 1, 0], ["a", "a", "b", "b", "c", "c"])
    >>> round(result.standard_error, 4), round(result.df, 4)
    (0.2887, 2.0)
    """
    check_choice("kind", kind, KINDS)
    scores, codes = _scores_and_codes(values, clusters)
    unit = max(1.0, unit_of(scores))
    if unit > 1.0:
        in_units = clustered_standard_error(scores / unit, codes, kind=kind)
        error, estimate = in_units.standard_error * unit, in_units.estimate * unit
        return replace(in_units, standard_error=error, estimate=estimate)
    estimate = float(scores.mean())
    return error_of_deviations(
        _sums(scores - estimate, codes),
        np.bincount(codes).astype(np.float64),
        estimate,
        standard_deviation(scores, rounding_tolerance(scores)),
        kind=kind,
    )


def error_of_deviations(
    deviations: FloatArray,
    sizes: FloatArray,
    estimate: float,
    deviation: float,
    *,
    kind: ClusteredErrorKind = "CR2",
) -> ClusteredStandardError:
    """The standard error of a mean, from what each cluster adds to it.

    Parameters
    ----------
    deviations : ndarray of shape (n_clusters,)
        The sum of the deviations of the scores of each cluster from the mean of all.
    sizes : ndarray of float64
        The number of its scores.
    estimate, deviation : float
        The mean and the standard deviation of all scores.
    kind : {"CR0", "CR1", "CR2"}
        As in `clustered_standard_error`.

    Examples
    --------
    >>> sizes = np.array([2.0, 2.0, 2.0])
    >>> result = error_of_deviations(np.array([1.0, -1.0, 0.0]), sizes, 0.5, 0.5**0.5)
    >>> round(result.standard_error, 4), round(result.df, 4)
    (0.2887, 2.0)
    """
    if sizes.size == 1:
        return ClusteredStandardError(math.nan, 0.0, 1, kind, estimate, math.nan)
    standard_error = math.sqrt(_variance(deviations, sizes, kind))
    return ClusteredStandardError(
        standard_error,
        _bell_mccaffrey(sizes) if kind == "CR2" else sizes.size - 1.0,
        sizes.size,
        kind,
        estimate,
        standard_error**2 * float(sizes.sum()) / deviation**2 if deviation > 0.0 else math.nan,
    )


def clustered_interval(
    values: npt.ArrayLike,
    clusters: npt.ArrayLike,
    *,
    confidence_level: float = 0.95,
    bounds: tuple[float, float] | None = None,
) -> Interval:
    """Interval of a mean whose scores come in clusters, from the CR2 standard error.

    Without bounds it is the t interval on Bell and McCaffrey's degrees of freedom. With bounds it
    is Wilson's interval for the number of independent answers that would have the same standard
    error, with the t quantile in place of the normal one; it stays within the bounds and, with few
    clusters, covers where the t interval does not.

    Parameters
    ----------
    values : array-like of shape (n_queries,)
        Scores, or paired differences; NaN is left out.
    clusters : array-like of shape (n_queries,)
        The cluster of each query: texts, numbers or any other labels.
    confidence_level : float
        Between 0 and 1.
    bounds : (float, float), optional
        The smallest and the largest possible score, e.g. (0, 1).

    Returns
    -------
    Interval
        Limits are NaN, with a note, if there is only one cluster.

    Raises
    ------
    DataError
        If a query has no cluster, none has a score, or a score lies outside the bounds.

    Examples
    --------
    >>> from rageval_report.stats.clusters import clustered_interval
    >>> answers, documents = [1, 1, 0, 0, 1, 0, 1, 1], ["a", "a", "b", "b", "c", "c", "d", "d"]
    >>> interval = clustered_interval(answers, documents, bounds=(0, 1))
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.118, 0.954)
    """
    level = check_level(confidence_level)
    if bounds is not None:
        values = _clip_to_bounds(np.asarray(values, dtype=np.float64), bounds)
    # CR2, because the normal interval on CR0 covered 70 to 94 % in simulations of 5 to 50 clusters;
    # CR2 with Bell and McCaffrey's degrees of freedom was never worse than CR1.
    return interval_of_error(clustered_standard_error(values, clusters), level, bounds)


def interval_of_error(
    spread: ClusteredStandardError, level: float, bounds: tuple[float, float] | None = None
) -> Interval:
    """The interval of `clustered_interval`, of a standard error that is known.

    Parameters
    ----------
    spread : ClusteredStandardError
        Of the kind "CR2".
    level : float
        The confidence level.
    bounds : (float, float), optional
        The smallest and the largest possible score.

    Examples
    --------
    >>> spread = clustered_standard_error([1, 1, 0, 0, 1, 0, 1, 1], list("aabbccdd"))
    >>> interval = interval_of_error(spread, 0.95, (0, 1))
    >>> round(interval.low, 3), round(interval.high, 3)
    (0.118, 0.954)
    """
    estimate, standard_error = spread.estimate, spread.standard_error
    if spread.n_clusters == 1:
        nan = math.nan
        return Interval(estimate, nan, nan, nan, "cr2", level, ("one cluster: no interval",))
    quantile = float(scipy.special.stdtrit(spread.df, 0.5 + level / 2))
    is_equal = standard_error <= TIE_TOLERANCE * max(1.0, abs(estimate))
    if bounds is None:
        low, high = estimate - quantile * standard_error, estimate + quantile * standard_error
    else:
        effective = _effective_number(spread, bounds, is_equal=is_equal)
        low, high = _wilson_limits(estimate, effective, quantile, bounds)
    notes = ("all clusters have the same mean: they show no spread",) if is_equal else ()
    return Interval(estimate, low, high, standard_error, "cr2", level, notes)


def mean_error(pairs: PairedScores) -> tuple[float, float]:
    """The standard error of a mean paired difference, and its degrees of freedom.

    Of pairs that weigh alike it is the standard deviation over the root of their number, with one
    degree less than pairs; of clusters of different sizes it is that of CR2.

    Parameters
    ----------
    pairs : PairedScores
        Independent pairs, at least two; see `rageval_report.stats.units.Units.collapse`.

    Examples
    --------
    >>> from rageval_report.stats.pairs.paired_scores import PairedScores
    >>> error, df = mean_error(PairedScores.of([0, 0, 0], [1, 2, 3]))
    >>> round(error, 4), df
    (0.5774, 2.0)
    """
    if pairs.weights is None or pairs.standard_deviation == 0.0:
        return pairs.standard_deviation / math.sqrt(pairs.n), pairs.n - 1.0
    deviations = pairs.values - float(pairs.differences.mean())
    variance = _variance(deviations, pairs.weights, "CR2")
    return math.sqrt(variance), _bell_mccaffrey(pairs.weights)


def _sums(scores: FloatArray, codes: IndexArray) -> FloatArray:
    return np.bincount(codes, weights=scores).astype(np.float64, copy=False)


def _variance(deviations: FloatArray, sizes: FloatArray, kind: ClusteredErrorKind) -> float:
    n = sizes.sum()
    if kind == "CR2":  # each cluster pulled the mean towards itself, by its share of the queries
        return float((deviations**2 / (1.0 - sizes / n)).sum() / n**2)
    plain = float((deviations**2).sum() / n**2)
    return plain * sizes.size / (sizes.size - 1) if kind == "CR1" else plain


def _bell_mccaffrey(sizes: FloatArray) -> float:
    """Degrees of freedom of CR2: of a chi-square with the mean and variance of the estimate.

    The clusters' weights are squared sizes over one less their share; for a mean the matrix of the
    general formula has a closed form.
    """
    n = float(sizes.sum())
    weights = sizes**2 / (1.0 - sizes / n)
    crossed = float(weights.sum() ** 2 - (weights**2).sum())
    return n**2 / (float((sizes**2).sum()) + crossed / n**2)


def _effective_number(
    spread: ClusteredStandardError, bounds: tuple[float, float], *, is_equal: bool
) -> float:
    """The number of independent right or wrong answers with this standard error.

    Clusters with equal means would make it infinite; then each counts as one answer.
    """
    low, high = bounds
    share = (spread.estimate - low) / (high - low)
    if is_equal:
        return float(spread.n_clusters)
    return share * (1.0 - share) / (spread.standard_error / (high - low)) ** 2


def _wilson_limits(
    estimate: float, n: float, quantile: float, bounds: tuple[float, float]
) -> tuple[float, float]:
    low, high = bounds
    share = (estimate - low) / (high - low)
    ratio = quantile**2 / n
    centre = (share + ratio / 2) / (1 + ratio)
    reach = math.sqrt(ratio * max(0.0, share * (1 - share)) + ratio**2 / 4) / (1 + ratio)
    scale = high - low
    return low + scale * max(0.0, centre - reach), low + scale * min(1.0, centre + reach)


def _clip_to_bounds(values: FloatArray, bounds: tuple[float, float]) -> FloatArray:
    """The scores, after a check that at most rounding puts them outside the bounds."""
    low, high = bounds
    if not -math.inf < low < high < math.inf:
        raise DataError(
            f"bounds must be the smallest and the largest score, e.g. (0, 1); got {bounds}"
        )
    slack = BOUNDS_SLACK * (high - low)
    outside = values[(values < low - slack) | (values > high + slack)]
    if outside.size:
        raise DataError(
            f"scores must lie within the bounds {low} and {high}; {outside.size} do not, "
            f"e.g. {float(outside[0])}"
        )
    return np.clip(values, low, high)


def _scores_and_codes(
    values: npt.ArrayLike, clusters: npt.ArrayLike
) -> tuple[FloatArray, IndexArray]:
    """The scores that are present, and the number of their clusters by first appearance."""
    scores = np.asarray(values, dtype=np.float64)
    labels = check_labels(clusters)
    if scores.ndim != 1 or scores.shape != labels.shape:
        raise DataError(
            "expected one score and one cluster per query, two arrays of equal length; "
            f"got shapes {scores.shape} and {labels.shape}"
        )
    if np.isinf(scores).any():
        raise DataError(f"scores must be finite or NaN; {int(np.isinf(scores).sum())} are infinite")
    scored = ~np.isnan(scores)
    if not scored.any():
        raise DataError("no query has a score: there is no mean")
    return scores[scored], number_labels(labels[scored])
