"""Crossed queries, runs and judges: which of them the noise of a mean comes from.

A score that a language model gives varies from query to query, from run to run of the pipeline and
from judge to judge. Queries, runs and judges are crossed: each judge judges each query of each run,
but for cells that are missing. An interval that counts the queries alone is too narrow, because
other runs and other judges would give another mean.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.base import TIE_TOLERANCE, Interval, check_level
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import FloatArray, IndexArray

FACTORS = ("query", "run", "judge")
RESIDUAL = "residual"

# Two sources whose patterns are this near to dependent cannot be estimated apart.
_SMALLEST_PIVOT = 1e-9


@dataclass(frozen=True, slots=True)
class NoiseSource:
    """One source of variance: a factor, a combination of factors, or what is left.

    Parameters
    ----------
    name : str
        ``query``, ``run``, ``judge``, combinations such as ``query x judge``, or ``residual``.
    factors : tuple of str
        The factors whose levels share one random effect.
    variance : float
        The variance of a single score that this source explains; 0 if the estimate is negative.
    of_mean : float
        What this source adds to the variance of the mean.
    df : float
        Degrees of freedom: how many independent differences between levels were seen.
    """

    name: str
    factors: tuple[str, ...]
    variance: float
    of_mean: float
    df: float


@dataclass(frozen=True, slots=True)
class CrossedComponents:
    """The variance of crossed scores, by source.

    Parameters
    ----------
    n : dict of str to int
        The number of levels of each factor: ``query``, ``run``, ``judge``.
    n_scores, n_missing : int
        Cells with a score, and combinations of levels without one.
    mean : float
        The mean over queries; of each query, over its scores.
    sources : tuple of NoiseSource
        In the order query, run, judge, combinations, residual.
    naive_standard_error : float
        The standard error that counts the queries alone: the standard deviation of the queries'
        means over the square root of their number.
    negative : tuple of str
        Sources whose estimate is negative, which is read as 0.
    """

    n: Mapping[str, int]
    n_scores: int
    n_missing: int
    mean: float
    sources: tuple[NoiseSource, ...]
    naive_standard_error: float
    negative: tuple[str, ...] = ()

    def variance_of(self, name: str) -> float:
        """The variance of one source; 0 if the scores cannot show it.

        Parameters
        ----------
        name : str
            The name of the source.
        """
        return next((source.variance for source in self.sources if source.name == name), 0.0)

    def counted(self, fixed: Sequence[str] = ()) -> tuple[NoiseSource, ...]:
        """The sources that move the mean if the levels of some factors stay as they are.

        Parameters
        ----------
        fixed : sequence of str
            Factors of which the reader asks about these very levels, such as the judges used.
        """
        return tuple(source for source in self.sources if not set(source.factors) <= set(fixed))

    def standard_error(self, fixed: Sequence[str] = ()) -> float:
        """The standard error of the mean, all sources counted.

        Parameters
        ----------
        fixed : sequence of str
            As in `counted`.
        """
        return math.sqrt(sum(source.of_mean for source in self.counted(fixed)))

    def degrees_of_freedom(self, fixed: Sequence[str] = ()) -> float:
        """Satterthwaite's degrees of freedom of the squared standard error.

        Parameters
        ----------
        fixed : sequence of str
            As in `counted`.

        Returns
        -------
        float
            NaN if nothing varies.
        """
        counted = self.counted(fixed)
        total = sum(source.of_mean for source in counted)
        return _satterthwaite(counted) if total > 0 else math.nan

    def interval(self, *, confidence_level: float = 0.95, fixed: Sequence[str] = ()) -> Interval:
        """The t interval of the mean, all sources counted.

        Parameters
        ----------
        confidence_level : float
            Between 0 and 1.
        fixed : sequence of str
            As in `counted`.
        """
        level = check_level(confidence_level)
        error, df = self.standard_error(fixed), self.degrees_of_freedom(fixed)
        reach = error * float(scipy.special.stdtrit(df, 0.5 + level / 2.0)) if error > 0 else 0.0
        low, high = self.mean - reach, self.mean + reach
        return Interval(self.mean, low, high, error, "crossed", level)

    def standard_error_of(self, n: Mapping[str, int], fixed: Sequence[str] = ()) -> float:
        """The standard error of a complete design with other numbers of levels.

        Parameters
        ----------
        n : mapping of str to int
            The number of levels of each factor.
        fixed : sequence of str
            As in `counted`.

        Examples
        --------
        >>> scores = [[0.9, 0.7], [0.5, 0.2], [0.8, 0.7], [0.4, 0.1]]
        >>> components = crossed_components(*as_cells(scores))
        >>> twice = components.standard_error_of({"query": 8, "run": 2, "judge": 1})
        >>> twice < components.standard_error()
        True
        """
        variance = sum(
            source.variance / math.prod(n[factor] for factor in source.factors)
            for source in self.counted(fixed)
        )
        return math.sqrt(variance)


def as_cells(scores: npt.ArrayLike) -> tuple[FloatArray, IndexArray, IndexArray, IndexArray]:
    """The cells of a table, as `crossed_components` takes them.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_runs) or (n_queries, n_runs, n_judges)
        NaN is a missing cell.

    Returns
    -------
    tuple of ndarray
        The scores, and the codes of their query, run and judge.

    Examples
    --------
    >>> values, queries, runs, judges = as_cells([[0.9, 0.7], [0.5, 0.2]])
    >>> queries.tolist(), runs.tolist(), judges.tolist()
    ([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 0])
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.ndim == 2:
        table = table[:, :, np.newaxis]
    if table.ndim != 3:
        raise DataError(
            "scores must have the shape (n_queries, n_runs) or (n_queries, n_runs, n_judges); "
            f"got {table.shape}"
        )
    queries, runs, judges = (codes.ravel() for codes in np.indices(table.shape))
    return table.ravel(), queries, runs, judges


def crossed_components(
    values: npt.ArrayLike,
    queries: npt.ArrayLike,
    runs: npt.ArrayLike | None = None,
    judges: npt.ArrayLike | None = None,
    *,
    sources: Sequence[str] | None = None,
) -> CrossedComponents:
    """Split the variance of scores into that of queries, runs, judges and their combinations.

    Parameters
    ----------
    values : array-like of shape (n_scores,)
        One score per query, run and judge; NaN is a missing cell and is left out.
    queries, runs, judges : array-like of shape (n_scores,)
        The query, the run and the judge of each score: texts, numbers or other labels. An omitted
        factor has one level.
    sources : sequence of str, optional
        The sources to estimate beside the residual, such as ``["query"]`` for runs that have
        nothing in common; if omitted, all that the factors with two levels or more allow. The
        combination of all factors cannot be told from the residual, and is part of it.

    Returns
    -------
    CrossedComponents

    Raises
    ------
    DataError
        If there are fewer than two queries, neither two runs nor two judges, two scores of one
        cell, an infinite score, or a pattern of missing cells in which two sources cannot be told
        apart.
    UnknownNameError
        If a source is not known.

    Notes
    -----
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
    >>> scores = [[0.9, 0.7], [0.5, 0.2], [0.8, 0.7], [0.4, 0.1]]
    >>> components = crossed_components(*as_cells(scores))
    >>> {source.name: round(source.variance, 4) for source in components.sources}
    {'query': 0.075, 'run': 0.0242, 'residual': 0.0046}
    """
    scores = np.asarray(values, dtype=np.float64)
    labels = {"query": queries, "run": runs, "judge": judges}
    kept, codes = _check_cells(scores, labels)
    scores = scores[kept]
    n = {factor: int(codes[factor].max(initial=-1)) + 1 for factor in FACTORS}
    _check_levels(n)
    groups = _groups_of_sources(codes, n, sources)
    weights = _weights(codes["query"])
    mean = sum_of_products(weights, scores)
    variances, negative = _estimate(scores, groups)
    noise_sources = tuple(
        NoiseSource(
            name,
            factors_of(name, n),
            variances[name],
            variances[name] * float(np.square(np.bincount(group, weights)).sum()),
            _df_of(name, n, len(scores)),
        )
        for name, group in groups.items()
    )
    means = np.bincount(codes["query"], weights) ** -1 * np.bincount(
        codes["query"], weights * scores
    )
    return CrossedComponents(
        n,
        len(scores),
        math.prod(n.values()) - len(scores),
        mean,
        noise_sources,
        float(means.std(ddof=1)) / math.sqrt(n["query"]),
        negative,
    )


def factors_of(name: str, n: Mapping[str, int]) -> tuple[str, ...]:
    """The factors of a source; those of the residual are all that have two levels or more.

    Examples
    --------
    >>> factors_of("query x judge", {"query": 9, "run": 2, "judge": 2})
    ('query', 'judge')
    """
    if name == RESIDUAL:
        return tuple(factor for factor in FACTORS if n[factor] > 1)
    return tuple(name.split(" x "))


# -- the cells


def _check_cells(
    scores: FloatArray, labels: Mapping[str, npt.ArrayLike | None]
) -> tuple[npt.NDArray[np.bool_], dict[str, IndexArray]]:
    """Which cells have a score, and the codes of the levels of these."""
    if scores.ndim != 1:
        raise DataError(f"values must be one score per cell; got the shape {scores.shape}")
    if np.isinf(scores).any():
        raise DataError(f"values must be finite or NaN; {int(np.isinf(scores).sum())} are infinite")
    kept = ~np.isnan(scores)
    codes = {factor: _codes(factor, labels[factor], scores.shape[0])[kept] for factor in FACTORS}
    codes = {factor: np.unique(code, return_inverse=True)[1] for factor, code in codes.items()}
    _check_one_score_each(codes)
    return kept, codes


def _check_one_score_each(codes: Mapping[str, IndexArray]) -> None:
    cells, counts = np.unique(
        np.column_stack([codes[factor] for factor in FACTORS]), axis=0, return_counts=True
    )
    if (counts > 1).any():
        query, run, judge = cells[counts > 1][0].tolist()
        raise DataError(
            "each query, run and judge must have one score; several scores have query "
            f"{query}, run {run} and judge {judge} (counted from 0)"
        )


def _codes(factor: str, labels: npt.ArrayLike | None, n: int) -> IndexArray:
    if labels is None:
        return np.zeros(n, dtype=np.intp)
    values = labels if isinstance(labels, np.ndarray) else np.asarray(labels, dtype=object)
    if values.shape != (n,):
        raise DataError(
            f"{factor} must have one label per score, {n} in all; got the shape {values.shape}"
        )
    missing = [label is None or label != label for label in values.tolist()]
    if any(missing):
        raise DataError(f"{factor} is missing for {sum(missing)} scores")
    numbers: dict[object, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in values.tolist()])


def _check_levels(n: Mapping[str, int]) -> None:
    if n["query"] < 2:
        raise DataError(f"expected scores of at least 2 queries; got {n['query']}")
    if n["run"] < 2 and n["judge"] < 2:
        raise DataError(
            "expected at least 2 runs or 2 judges, to measure how they differ; got one of each"
        )


def _groups_of_sources(
    codes: Mapping[str, IndexArray], n: Mapping[str, int], sources: Sequence[str] | None
) -> dict[str, IndexArray]:
    """For each source, the number of the group of each score; the residual is last."""
    varying = [factor for factor in FACTORS if n[factor] > 1]
    possible = [
        " x ".join(combination)
        for size in range(1, len(varying))
        for combination in itertools.combinations(varying, size)
    ]
    chosen = possible if sources is None else [name for name in sources if name != RESIDUAL]
    unknown = [name for name in chosen if name not in possible]
    if unknown:
        raise UnknownNameError("source of these scores", unknown[0], possible)
    groups = {name: _group(codes, factors_of(name, n)) for name in chosen}
    groups[RESIDUAL] = np.arange(len(codes["query"]))
    return groups


def _group(codes: Mapping[str, IndexArray], factors: Sequence[str]) -> IndexArray:
    """The number of each score's combination of levels."""
    combined = np.zeros_like(codes[factors[0]])
    for factor in factors:
        combined = combined * (int(codes[factor].max()) + 1) + codes[factor]
    return np.unique(combined, return_inverse=True)[1]


def _weights(queries: IndexArray) -> FloatArray:
    """The weight of each score in the mean over queries of each query's mean."""
    sizes = np.bincount(queries)
    weights: FloatArray = 1.0 / (sizes[queries] * sizes.size)
    return weights


# -- the estimate


def _estimate(
    scores: FloatArray, groups: Mapping[str, IndexArray]
) -> tuple[dict[str, float], tuple[str, ...]]:
    """The variances, and the sources whose estimate is negative, which are 0."""
    centred = scores - scores.mean()
    rounding = (TIE_TOLERANCE * max(1.0, float(np.abs(scores).max()))) ** 2
    used, negative = list(groups), list[str]()
    while True:
        chosen = {name: groups[name] for name in used}
        estimates = _solve(centred, chosen)
        lowest = min(used, key=lambda name: estimates[name])
        # The residual stays: without it there is nothing to hold the others against.
        if estimates[lowest] >= -rounding or lowest == RESIDUAL:
            break
        used.remove(lowest)
        negative.append(lowest)
    variances = dict.fromkeys(groups, 0.0)
    variances |= {name: value for name, value in estimates.items() if value > rounding}
    return variances, tuple(negative)


def _solve(centred: FloatArray, groups: Mapping[str, IndexArray]) -> dict[str, float]:
    """The variances whose expected sums of squares are the observed ones."""
    names = list(groups)
    n = centred.size
    # The size of each score's own group, source by source: K 1, with K the matrix of shared groups.
    sizes = {name: np.bincount(groups[name])[groups[name]].astype(np.float64) for name in names}
    matrix = np.array(
        [
            [
                _shared_pairs(groups[left], groups[right])
                - 2.0 / n * sum_of_products(sizes[left], sizes[right])
                + float(sizes[left].sum()) * float(sizes[right].sum()) / n**2
                for right in names
            ]
            for left in names
        ]
    )
    observed = np.array(
        [float(np.square(np.bincount(groups[name], centred)).sum()) for name in names]
    )
    _check_separable(matrix, groups)
    return dict(zip(names, np.linalg.solve(matrix, observed).tolist(), strict=True))


def _shared_pairs(left: IndexArray, right: IndexArray) -> float:
    """The number of ordered pairs of scores that share a group of both sources."""
    both = np.unique(left * (int(right.max()) + 1) + right, return_counts=True)[1]
    return float(np.square(both.astype(np.float64)).sum())


def _check_separable(matrix: FloatArray, groups: Mapping[str, IndexArray]) -> None:
    """Refuse a pattern of cells in which two sources have the same groups, or nearly so."""
    for left, right in itertools.combinations(groups, 2):
        if _are_equal(groups[left], groups[right]):
            raise DataError(
                f"the scores cannot tell {left} and {right} apart: their groups are the same. "
                "Every judge must judge several runs, and every run must have several judges; or "
                "estimate fewer sources: sources=['query']"
            )
    scale = 1.0 / np.sqrt(np.maximum(np.diag(matrix), np.finfo(float).tiny))
    if float(np.linalg.eigvalsh(matrix * np.outer(scale, scale))[0]) < _SMALLEST_PIVOT:
        raise DataError(
            f"the scores are too few to tell {', '.join(groups)} apart; score more queries with "
            "every judge in every run, or estimate fewer sources: sources=['query']"
        )


def _are_equal(left: IndexArray, right: IndexArray) -> bool:
    """Whether two groupings of the scores are the same but for the numbers of the groups."""
    pairs = np.unique(left * (int(right.max()) + 1) + right).size
    return pairs == int(left.max()) + 1 == int(right.max()) + 1


# -- degrees of freedom


def _df_of(name: str, n: Mapping[str, int], n_scores: int) -> float:
    """As in a complete design; of the residual, what the scores leave."""
    if name != RESIDUAL:
        return float(math.prod(n[factor] - 1 for factor in factors_of(name, n)))
    complete = math.prod(n.values())
    whole = math.prod(n[factor] - 1 for factor in factors_of(name, n))
    return float(max(whole - (complete - n_scores), 1))


def _satterthwaite(sources: Sequence[NoiseSource]) -> float:
    total = sum(source.of_mean for source in sources)
    return total**2 / sum(source.of_mean**2 / source.df for source in sources)
