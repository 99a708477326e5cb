"""Prediction-powered means: many scores of a judge, put right by the labels of a few queries."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from rageval_report.errors import DataError
from rageval_report.stats.base import (
    TIE_TOLERANCE,
    Interval,
    check_level,
    finite_values,
    paired_values,
)
from rageval_report.types import FloatArray

# With fewer labels the tuned weight of the judge is itself too uncertain: intervals fall short.
ENOUGH_TO_TUNE = 100

Side = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]


@dataclass(frozen=True, slots=True)
class PredictionPowered(Interval):
    """A mean of labels, made surer by a judge.

    Parameters
    ----------
    estimate, low, high, standard_error, method, confidence_level, notes
        As in `Interval`.
    lam : float
        The weight of the judge: 0 is the labels alone, 1 takes the judge at its word.
    n : int
        Queries with a label and a judge's score.
    n_judged : int
        Queries with a judge's score alone.
    """

    lam: float = math.nan
    n: int = 0
    n_judged: int = 0


def ppi_mean(
    labels: npt.ArrayLike,
    judge_on_labelled: npt.ArrayLike,
    judge: npt.ArrayLike,
    *,
    lam: float | str = "auto",
    confidence_level: float = 0.95,
) -> PredictionPowered:
    """The mean that people would have given to all queries, from a few labels and a judge.

    Parameters
    ----------
    labels, judge_on_labelled : array-like of shape (n,)
        People's score and the judge's of the same queries, drawn at random from all; NaN is left
        out with its partner.
    judge : array-like of shape (n_judged,)
        The judge's scores of the other queries.
    lam : float or "auto"
        The weight of the judge, 0 to 1. "auto" takes the one of least variance from 100 labels on,
        and 1 below, where it cannot be told well.
    confidence_level : float
        Of the interval.

    Returns
    -------
    PredictionPowered
        The estimate is unbiased however bad the judge; a bad judge makes it wide.

    Raises
    ------
    DataError
        If there are fewer than two labels or two other queries, or `lam` makes no sense.

    Notes
    -----
    ``lam * mean(judge) + mean(labels - lam * judge_on_labelled)``; the variance is the sum of those
    of the two means, the interval Student's t with n - 1 degrees of freedom.

    References
    ----------
    .. [1] Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023). Prediction-powered inference.
    .. [2] Angelopoulos, Duchi & Zrnic (2023). PPI++: efficient prediction-powered inference.

    Examples
    --------
    >>> found = ppi_mean([1, 0, 1, 1], [1, 1, 1, 1], [1, 1, 0, 1, 1, 1, 1, 0, 1, 1])
    >>> round(found.estimate, 2), found.lam, found.method
    (0.55, 1.0, 'ppi')
    """
    level = check_level(confidence_level)
    given, seen = paired_values(labels, judge_on_labelled)
    others = finite_values(judge)
    if given.size < 2 or others.size < 2:
        raise DataError(
            "a corrected mean needs two labelled queries and two others at least; got "
            f"{given.size} with label and judge's score, {others.size} with a judge's score alone"
        )
    weight = _tuned(given, seen, others) if lam == "auto" else _checked(lam)
    return _corrected(given, seen, others, weight, level)


def ppi_difference(
    baseline: Side,
    candidate: Side,
    *,
    lam: float | str = "auto",
    confidence_level: float = 0.95,
) -> PredictionPowered:
    """The mean paired difference that people would have seen, candidate minus baseline.

    Parameters
    ----------
    baseline, candidate : tuple of three array-likes
        Labels, judge's scores of the labelled queries, judge's scores of the others, as in
        `ppi_mean`; both pipelines' queries in the same order.
    lam, confidence_level
        As in `ppi_mean`.

    Returns
    -------
    PredictionPowered

    Raises
    ------
    DataError
        As in `ppi_mean`, or if the sides are of unequal length.

    Notes
    -----
    `ppi_mean` of the differences, query by query: what the judge gives both pipelines too much
    falls out before it costs anything.

    Examples
    --------
    >>> old = ([0, 0, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1])
    >>> new = ([1, 0, 1, 1], [1, 0, 1, 1], [1, 1, 1, 1])
    >>> ppi_difference(old, new).estimate
    0.5
    """
    parts = [_difference(old, new) for old, new in zip(baseline, candidate, strict=True)]
    labels, judge_on_labelled, judge = parts
    return ppi_mean(labels, judge_on_labelled, judge, lam=lam, confidence_level=confidence_level)


def _difference(baseline: npt.ArrayLike, candidate: npt.ArrayLike) -> FloatArray:
    old, new = np.asarray(baseline, dtype=np.float64), np.asarray(candidate, dtype=np.float64)
    if old.shape != new.shape:
        raise DataError(
            "both pipelines must have a score, or NaN, of the same queries in the same order; got "
            f"{old.size} and {new.size}"
        )
    difference: FloatArray = new - old
    return difference


def _checked(lam: float | str) -> float:
    if isinstance(lam, str) or not 0.0 <= lam <= 1.0:
        raise DataError(f'lam must be a number from 0 to 1, or "auto"; got {lam!r}')
    return float(lam)


def _tuned(labels: FloatArray, seen: FloatArray, others: FloatArray) -> float:
    """The weight of least variance; 1 where it cannot be told well."""
    n = labels.size
    if n < ENOUGH_TO_TUNE:
        return 1.0
    every = np.concatenate([seen, others])
    spread = float(every.var(ddof=1))
    if spread <= TIE_TOLERANCE * max(1.0, float(np.abs(every).max())) ** 2:
        return 0.0  # a judge that always says the same knows nothing
    together = float(np.cov(labels, seen, ddof=1)[0, 1])
    return float(np.clip(together / ((1.0 + n / others.size) * spread), 0.0, 1.0))


def _corrected(
    labels: FloatArray, seen: FloatArray, others: FloatArray, lam: float, level: float
) -> PredictionPowered:
    n, n_judged = labels.size, others.size
    rest = labels - lam * seen
    estimate = lam * float(others.mean()) + float(rest.mean())
    variance = lam**2 * float(others.var(ddof=1)) / n_judged + float(rest.var(ddof=1)) / n
    error = math.sqrt(variance)
    reach = float(special.stdtrit(n - 1, 0.5 + level / 2.0)) * error
    method = "ppi" if lam == 1.0 else "ppi++"
    few = (f"{n} labels: fewer than 10 tell little, whatever the judge",) if n < 10 else ()
    return PredictionPowered(
        estimate, estimate - reach, estimate + reach, error, method, level, few, lam, n, n_judged
    )
