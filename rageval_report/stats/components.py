"""Which noise a mean has: of queries, of repeated runs, of judges, and of their combinations.

`variance_components` splits repeated runs that have nothing in common. `crossed_components` splits
scores of queries, runs and judges that are crossed: each judge judges each query of each run, but
for cells that are missing. An interval that counts the queries alone is then too narrow, because
other runs and other judges would give another mean.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri, fdtrc, fdtri, stdtrit

from rageval_report.errors import DataError
from rageval_report.stats import base
from rageval_report.stats.base import Bounds, Interval
from rageval_report.stats.columns import Column, check_bounds
from rageval_report.stats.gaffke import gaffke_limits
from rageval_report.stats.units import check_labels, number_labels
from rageval_report.types import FloatArray, IndexArray

FACTORS = ("query", "run", "judge")
RESIDUAL = "residual"

# Two sources whose patterns are this near to dependent cannot be estimated apart.
_SMALLEST_PIVOT = 1e-9
# The squares of larger scores are beyond what a double can hold.
_LARGEST = 1e150


# -- repeated runs


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """The one-way random-effects analysis of queries that were run several times."""

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
        """The standard error of the mean of n queries (by default, these) with so many runs."""
        return math.sqrt((self.between + self.within / repeats) / (n or self.n))


def variance_components(
    scores: npt.ArrayLike, *, bounds: Bounds | None = None, confidence_level: float = 0.95
) -> VarianceComponents:
    """Split the variance of repeated scores into that between queries and that from run to run.

    Parameters
    ----------
    scores : array-like of shape (n, k)
        One row per query, one column per run, all of them scored.
    bounds : (float, float), optional
        The smallest and the largest possible score; if omitted, 0 and 1 for scores that are all 0
        or 1. With bounds the interval of the noise counts noisier queries that may have been
        missed.
    confidence_level : float
        The confidence level of both intervals.

    Returns
    -------
    VarianceComponents

    Raises
    ------
    DataError
        If there are fewer than two runs, no query, or a score is missing, infinite or beyond the
        bounds.

    Notes
    -----
    With the mean squares B between and W within queries, ``within`` is W, ``between`` is (B - W)/k,
    and ICC(1,1) is (B - W)/(B + (k - 1)W), whose interval assumes normal scores.

    W is a mean over queries: of the variance of each query's k scores. With bounds this variance
    has a largest possible value, so its mean has Gaffke's interval, which covers whatever the
    distribution. For k = 2 and scores of 0 and 1 that is Clopper and Pearson's interval of the
    share of queries whose scores differ. Without bounds the interval is that of the chi-square
    distribution, with degrees of freedom from how much the queries' variances vary, at most
    n (k - 1), as for normal scores of equal variance. It is too narrow if a few queries have most
    of the noise.

    References
    ----------
    .. [1] Shrout & Fleiss (1979). Intraclass correlations: uses in assessing rater reliability.
    .. [2] Satterthwaite (1946). An approximate distribution of estimates of variance components.

    Examples
    --------
    >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9],
    ...            [6, 2, 4, 7]]
    >>> icc = variance_components(ratings).icc
    >>> round(icc.estimate, 2), round(icc.low, 2), round(icc.high, 2)
    (0.17, -0.13, 0.72)
    >>> noise = variance_components([[1, 1], [0, 1], [1, 1], [1, 1], [0, 0]]).sd_within
    >>> round(noise.estimate, 2), round(noise.low, 2), round(noise.high, 2), noise.method
    (0.32, 0.05, 0.6, 'gaffke')
    """
    level, table = base.check_level(confidence_level), _check_table(scores)
    (n, k), rounding = table.shape, _rounding(table)
    if bounds is None and ((table == 0.0) | (table == 1.0)).all():
        bounds = (0.0, 1.0)
    if bounds is not None:
        check_bounds(Column.of(table.ravel()), bounds)
    variances = _without_rounding(table.var(axis=1, ddof=1), rounding)
    within, spread = float(variances.mean()), math.nan
    if n > 1:
        spread = float(_without_rounding(table.mean(axis=1).var(ddof=1), rounding))
    return VarianceComponents(
        n=n,
        k=k,
        mean=float(table.mean()),
        between=max(spread - within / k, 0.0) if n > 1 else math.nan,
        within=within,
        sd_within=_noise_interval(variances, k, bounds, level),
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


def _rounding(scores: FloatArray) -> float:
    """The largest variance that is the rounding of equal scores."""
    largest = float(np.abs(scores).max())
    if largest > _LARGEST:
        raise DataError(f"scores must lie within +-{_LARGEST:g} to have a variance; got {largest}")
    return (base.TIE_TOLERANCE * max(1.0, largest)) ** 2


def _without_rounding(variance: npt.ArrayLike, rounding: float) -> FloatArray:
    return np.where(np.asarray(variance) > rounding, variance, 0.0)


def _noise_interval(variances: FloatArray, k: int, bounds: Bounds | None, level: float) -> Interval:
    """The noise of a query's score as a standard deviation, from the variances of k scores each."""
    column, method = Column.of(variances), "chi-square"
    low = high = within = column.mean
    if base.are_finite(bounds):
        # The variance of k scores is largest if half of them are at either bound.
        most = (bounds[1] - bounds[0]) ** 2 * (k // 2) * (k - k // 2) / (k * (k - 1))
        method = "gaffke"
        low, high = gaffke_limits(Column.of(np.minimum(variances, most)), (0.0, most), level)
    elif within > 0.0:
        df = float(column.n * (k - 1))
        if column.std > 0.0:
            df = min(df, 2.0 * column.n * (within / column.std) ** 2)
        tail = (1.0 - level) / 2.0
        low, high = (df * within / float(chdtri(df, share)) for share in (tail, 1.0 - tail))
    limits = math.sqrt(min(low, within)), math.sqrt(max(high, within))
    return Interval(math.sqrt(within), *limits, math.nan, method, level)


def _icc_interval(between: float, within: float, n: int, k: int, level: float) -> Interval:
    """From mean squares; without variance from run to run the correlation is 1."""
    if n < 2 or not (between > 0 or within > 0):
        return Interval.unknown(math.nan, "f", level)
    df, df_within, upper = n - 1, n * (k - 1), (1.0 + level) / 2.0
    factors = 1.0, 1.0 / float(fdtri(df, df_within, upper)), float(fdtri(df_within, df, upper))
    squares = [(factor * between, within) for factor in factors]
    estimate, low, high = ((b - w) / (b + (k - 1) * w) for b, w in squares)
    return Interval(estimate, low, high, math.nan, "f", level)


def _run_effect_pvalue(table: FloatArray, rounding: float) -> float:
    n, k = table.shape
    if n < 2:
        return math.nan
    shifts = table.mean(axis=0) - table.mean()
    rest = table - table.mean(axis=1, keepdims=True) - shifts
    squares = float(shifts @ shifts) * n / (k - 1), float((rest**2).sum()) / ((n - 1) * (k - 1))
    of_runs, residual = _without_rounding(squares, rounding).tolist()
    # Without any noise a shift of whole runs is certain, and without a shift there is nothing to
    # test.
    if residual == 0:
        return 0.0 if of_runs > 0 else math.nan
    return float(fdtrc(k - 1, (n - 1) * (k - 1), of_runs / residual))


# -- queries, runs and judges


@dataclass(frozen=True, slots=True)
class NoiseSource:
    """One source of variance: a factor, a combination of factors, or what is left."""

    name: str
    factors: tuple[str, ...]
    variance: float
    of_mean: float
    df: float


@dataclass(frozen=True, slots=True)
class CrossedComponents:
    """The variance of crossed scores, by source."""

    n: Mapping[str, int]
    n_scores: int
    n_missing: int
    mean: float
    sources: tuple[NoiseSource, ...]
    naive_standard_error: float
    negative: tuple[str, ...] = ()

    def variance_of(self, name: str) -> float:
        """The variance of one source; 0 if the scores cannot show it."""
        return next((source.variance for source in self.sources if source.name == name), 0.0)

    def standard_error(self) -> float:
        """The standard error of the mean, all sources counted."""
        return math.sqrt(sum(source.of_mean for source in self.sources))

    def degrees_of_freedom(self) -> float:
        """Satterthwaite's degrees of freedom of the squared standard error; NaN without noise."""
        total = sum(source.of_mean for source in self.sources)
        parts = sum(source.of_mean**2 / source.df for source in self.sources)
        return total**2 / parts if total > 0 else math.nan

    def interval(self, *, confidence_level: float = 0.95) -> Interval:
        """The t interval of the mean, all sources counted."""
        level = base.check_level(confidence_level)
        error, df = self.standard_error(), self.degrees_of_freedom()
        reach = error * float(stdtrit(df, 0.5 + level / 2.0)) if error > 0 else 0.0
        return Interval(self.mean, self.mean - reach, self.mean + reach, error, "crossed", level)


def crossed_components(
    values: npt.ArrayLike,
    queries: npt.ArrayLike,
    runs: npt.ArrayLike | None = None,
    judges: npt.ArrayLike | None = None,
) -> CrossedComponents:
    """Split the variance of scores into that of queries, runs, judges and their combinations.

    Parameters
    ----------
    values : array-like of shape (n_scores,)
        One score per query, run and judge; NaN is a missing cell and is left out.
    queries, runs, judges : array-like of shape (n_scores,)
        The query, the run and the judge of each score: texts, numbers or other labels. An omitted
        factor has one level.

    Returns
    -------
    CrossedComponents

    Raises
    ------
    DataError
        If there are fewer than two queries, neither two runs nor two judges, two scores of one
        cell, an infinite score, or a pattern of missing cells in which two sources cannot be told
        apart.

    Notes
    -----
    The sources are all that the factors with two levels or more allow; the combination of all
    factors cannot be told from the residual, and is part of it.

    Method of moments (MINQUE with equal weights): for each source k, the sum of the squares of the
    sums over its groups of the centred scores has an expectation that is linear in all variances;
    these equations are solved. With no cell missing the estimates are those of the analysis of
    variance, which equal restricted maximum likelihood where none is negative. The most negative
    estimate becomes 0, and the others are estimated again without it.

    References
    ----------
    .. [1] Rao (1971). Minimum variance quadratic unbiased estimation of variance components.
           Journal of Multivariate Analysis 1:445-456.
    .. [2] Searle, Casella, McCulloch (1992). Variance components. Wiley.
    .. [3] Satterthwaite (1946). An approximate distribution of estimates of variance components.

    Examples
    --------
    >>> scores, queries, runs = [9, 7, 5, 2, 8, 7, 4, 1], list("aabbccdd"), [1, 2] * 4
    >>> components = crossed_components(scores, queries, runs)
    >>> {source.name: round(source.variance, 2) for source in components.sources}
    {'query': 7.5, 'run': 2.42, 'residual': 0.46}
    >>> round(components.naive_standard_error, 2), round(components.standard_error(), 2)
    (1.39, 1.77)
    """
    scores, codes = _check_cells(values, {"query": queries, "run": runs, "judge": judges})
    n = {factor: int(codes[factor].max(initial=-1)) + 1 for factor in FACTORS}
    if n["query"] < 2:
        raise DataError(f"expected scores of at least 2 queries; got {n['query']}")
    if n["run"] < 2 and n["judge"] < 2:
        raise DataError(
            "expected at least 2 runs or 2 judges, to measure how they differ; got one of each"
        )
    groups = _groups_of_sources(codes, n)
    variances, negative = _estimate(scores, groups)
    sizes = np.bincount(codes["query"])
    # The weight of each score in the mean over queries of each query's mean.
    weights = 1.0 / (sizes[codes["query"]] * sizes.size)
    n_missing = math.prod(n.values()) - scores.size
    noise_sources = [
        NoiseSource(
            name,
            _factors_of(name, n),
            variances[name],
            variances[name] * float((np.bincount(group, weights) ** 2).sum()),
            _degrees_of_freedom(name, n, n_missing),
        )
        for name, group in groups.items()
    ]
    means = np.bincount(codes["query"], scores) / sizes
    error = float(means.std(ddof=1)) / math.sqrt(n["query"])
    mean = float(weights @ scores)
    return CrossedComponents(n, scores.size, n_missing, mean, tuple(noise_sources), error, negative)


def _factors_of(name: str, n: Mapping[str, int]) -> tuple[str, ...]:
    """The factors of a source; those of the residual are all that have two levels or more."""
    if name == RESIDUAL:
        return tuple(factor for factor in FACTORS if n[factor] > 1)
    return tuple(name.split(" x "))


def _degrees_of_freedom(name: str, n: Mapping[str, int], n_missing: int) -> float:
    """As in a complete design; of the residual, what the scores leave."""
    complete = math.prod(n[factor] - 1 for factor in _factors_of(name, n))
    return float(max(complete - n_missing, 1) if name == RESIDUAL else complete)


def _check_cells(
    values: npt.ArrayLike, labels: Mapping[str, npt.ArrayLike | None]
) -> tuple[FloatArray, dict[str, IndexArray]]:
    """The scores of the cells that have one, and their codes of the levels of each factor."""
    scores, kept = base.finite_values(values), ~np.isnan(np.asarray(values, dtype=np.float64))
    codes = {factor: np.zeros(scores.size, dtype=np.intp) for factor in FACTORS}
    for factor, names in labels.items():
        if names is not None:
            every = check_labels(names, kept.shape, factor)
            codes[factor] = number_labels(every[kept])
    cells = np.column_stack(list(codes.values()))
    distinct, counts = np.unique(cells, axis=0, return_counts=True)
    if (counts > 1).any():
        query, run, judge = distinct[counts > 1][0].tolist()
        raise DataError(
            "each query, run and judge must have one score; several scores have query "
            f"{query}, run {run} and judge {judge} (counted from 0)"
        )
    return scores, codes


def _groups_of_sources(
    codes: Mapping[str, IndexArray], n: Mapping[str, int]
) -> dict[str, IndexArray]:
    """For each source, the number of the group of each score; the residual is last."""
    varying = [factor for factor in FACTORS if n[factor] > 1]
    groups = {
        " x ".join(factors): _joined(*(codes[factor] for factor in factors))
        for size in range(1, len(varying))
        for factors in itertools.combinations(varying, size)
    }
    return groups | {RESIDUAL: np.arange(codes["query"].size)}


def _joined(*groupings: IndexArray) -> IndexArray:
    """The number of each score's combination of groups."""
    combined = groupings[0]
    for groups in groupings[1:]:
        pairs = combined * (int(groups.max()) + 1) + groups
        combined = np.unique(pairs, return_inverse=True)[1]
    return combined


def _estimate(
    scores: FloatArray, groups: Mapping[str, IndexArray]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """The variances, and the sources whose estimate is negative, which are 0."""
    rounding, used, negative = _rounding(scores), dict(groups), list[str]()
    while True:
        estimates = _solve(scores - scores.mean(), used)
        lowest = min(estimates, key=lambda name: estimates[name])
        # The residual stays: without it there is nothing to hold the others against.
        if estimates[lowest] >= -rounding or lowest == RESIDUAL:
            break
        del used[lowest]
        negative.append(lowest)
    variances = {name: value for name, value in estimates.items() if value > rounding}
    return dict.fromkeys(groups, 0.0) | variances, tuple(negative)


def _solve(centred: FloatArray, groups: Mapping[str, IndexArray]) -> dict[str, float]:
    """The variances whose expected sums of squares are the observed ones."""
    n = centred.size
    # The size of each score's own group, source by source: K 1, with K the matrix of shared groups.
    sizes = np.array([np.bincount(group)[group] for group in groups.values()], dtype=np.float64)
    totals = sizes.sum(axis=1)
    # The number of ordered pairs of scores that share a group of both sources.
    pairs = itertools.product(groups.values(), repeat=2)
    shared = [float((np.bincount(_joined(*pair)) ** 2.0).sum()) for pair in pairs]
    matrix = np.reshape(shared, (len(groups), len(groups)))
    matrix = matrix + np.outer(totals, totals) / n**2 - 2.0 / n * (sizes @ sizes.T)
    _check_separable(matrix, list(groups))
    observed = [float((np.bincount(group, centred) ** 2).sum()) for group in groups.values()]
    return dict(zip(groups, np.linalg.solve(matrix, observed).tolist(), strict=True))


def _check_separable(matrix: FloatArray, names: Sequence[str]) -> None:
    """Refuse a pattern of cells in which two sources have the same groups, or nearly so."""
    scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
    scaled = matrix * np.outer(scale, scale)
    if float(np.linalg.eigvalsh(scaled)[0]) < _SMALLEST_PIVOT:
        # Two sources with the same groups, else all of them.
        pairs = np.argwhere(np.triu(scaled, 1) > 1.0 - _SMALLEST_PIVOT)
        alike = [names[place] for place in pairs[0]] if pairs.size else names
        raise DataError(
            f"the scores cannot tell {' and '.join(alike)} apart. Every judge must judge several "
            "runs, and every run must have several judges; score more queries with every judge in "
            "every run"
        )
