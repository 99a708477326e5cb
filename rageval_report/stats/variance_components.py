"""Repeated runs: how much of the variance lies between queries, how much between runs of one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from rageval_report.errors import DataError
from rageval_report.stats.base import TIE_TOLERANCE, Interval, check_level
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import FloatArray


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """The one-way random-effects analysis of queries that were run several times.

    Parameters
    ----------
    n, k : int
        Queries, and runs of each.
    mean : float
        The mean of all scores.
    between : float
        The variance of the queries' expected scores; 0 if the estimate is negative.
    within : float
        The variance of one query's score from run to run.
    sd_within : Interval
        The square root of `within`, with the chi-square interval.
    icc : Interval
        The intraclass correlation of a single run, ICC(1,1), with its F interval; it may be
        estimated below 0.
    run_effect_pvalue : float
        Small if whole runs are shifted against each other, which a one-way analysis does not
        model: the F test of the runs beside the queries. NaN if it cannot be computed.
    """

    n: int
    k: int
    mean: float
    between: float
    within: float
    sd_within: Interval
    icc: Interval
    run_effect_pvalue: float

    @property
    def share_between(self) -> float:
        """The share of the variance that lies between queries; NaN if nothing varies."""
        whole = self.between + self.within
        return self.between / whole if whole > 0 else math.nan

    def standard_error(self, repeats: int = 1, n: int | None = None) -> float:
        """The standard error of the mean of n queries, each run `repeats` times.

        Parameters
        ----------
        repeats : int
            Runs of each query, at least 1.
        n : int, optional
            Queries; if omitted, the number of queries analysed.
        """
        return math.sqrt((self.between + self.within / repeats) / (n or self.n))


def variance_components(
    scores: npt.ArrayLike, *, confidence_level: float = 0.95
) -> VarianceComponents:
    """Split the variance of repeated scores into that between queries and that from run to run.

    Parameters
    ----------
    scores : array-like of shape (n, k)
        One row per query, one column per run, all of them scored.
    confidence_level : float
        The confidence level of both intervals.

    Returns
    -------
    VarianceComponents

    Raises
    ------
    DataError
        If there are fewer than two runs, no query, or a score is missing or infinite.

    Notes
    -----
    With the mean squares B between and W within queries, ``within`` is W, ``between`` is (B - W)/k,
    and ICC(1,1) is (B - W)/(B + (k - 1)W). The intervals assume normal scores; for 0/1 scores
    they are rough.

    References
    ----------
    .. [1] Shrout & Fleiss (1979). Intraclass correlations: uses in assessing rater reliability.

    Examples
    --------
    >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9],
    ...            [6, 2, 4, 7]]
    >>> icc = variance_components(ratings).icc
    >>> round(icc.estimate, 2), round(icc.low, 2), round(icc.high, 2)
    (0.17, -0.13, 0.72)
    """
    level, table = check_level(confidence_level), _check_table(scores)
    n, k = table.shape
    means = table.mean(axis=1)
    # Squared, as it is compared with variances.
    rounding = (TIE_TOLERANCE * max(1.0, float(np.abs(table).max()))) ** 2
    within = _drop_rounding(float(table.var(axis=1, ddof=1).mean()), rounding)
    spread = _drop_rounding(float(means.var(ddof=1)), rounding) if n > 1 else math.nan
    return VarianceComponents(
        n=n,
        k=k,
        mean=float(table.mean()),
        between=max(spread - within / k, 0.0) if n > 1 else math.nan,
        within=within,
        sd_within=_sd_interval(within, n * (k - 1), level),
        icc=_icc_interval(k * spread, within, n, k, level),
        run_effect_pvalue=_run_effect_pvalue(table, rounding),
    )


def _check_table(scores: npt.ArrayLike) -> FloatArray:
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim != 2 or table.shape[0] < 1 or table.shape[1] < 2:
        raise DataError(
            "expected one row per query and one column per run, at least two runs; got shape "
            f"{table.shape}"
        )
    if not np.isfinite(table).all():
        raise DataError("every query must be scored in every run; leave out queries that are not")
    return table


def _drop_rounding(variance: float, rounding: float) -> float:
    return variance if variance > rounding else 0.0


def _sd_interval(variance: float, df: int, level: float) -> Interval:
    tail = (1.0 - level) / 2.0
    sd = math.sqrt(variance)
    low = sd * math.sqrt(df / float(scipy.special.chdtri(df, tail)))
    high = sd * math.sqrt(df / float(scipy.special.chdtri(df, 1.0 - tail)))
    return Interval(sd, low, high, math.nan, "chi-square", level)


def _icc_interval(between: float, within: float, n: int, k: int, level: float) -> Interval:
    """From mean squares; without variance from run to run the correlation is 1."""
    if n < 2 or not (between > 0 or within > 0):
        return Interval(math.nan, math.nan, math.nan, math.nan, "f", level)
    if within == 0:
        return Interval(1.0, 1.0, 1.0, math.nan, "f", level)
    ratio, upper = between / within, (1.0 + level) / 2.0
    df, df_within = n - 1, n * (k - 1)
    low = ratio / float(scipy.special.fdtri(df, df_within, upper))
    high = ratio * float(scipy.special.fdtri(df_within, df, upper))
    estimate, low, high = ((f - 1.0) / (f + k - 1.0) for f in (ratio, low, high))
    return Interval(estimate, low, high, math.nan, "f", level)


def _run_effect_pvalue(table: FloatArray, rounding: float) -> float:
    n, k = table.shape
    if n < 2:
        return math.nan
    shifts = table.mean(axis=0) - table.mean()
    rest = table - table.mean(axis=1, keepdims=True) - shifts
    of_runs = _drop_rounding(sum_of_products(shifts, shifts) * n / (k - 1), rounding)
    residual = _drop_rounding(float((rest**2).sum()) / ((n - 1) * (k - 1)), rounding)
    # Without any noise a shift of whole runs is certain, and without a shift there is nothing to
    # test.
    if residual == 0:
        return 0.0 if of_runs > 0 else math.nan
    return float(scipy.special.fdtrc(k - 1, (n - 1) * (k - 1), of_runs / residual))
