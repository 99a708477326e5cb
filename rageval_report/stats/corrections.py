"""P-values of a family of tests, adjusted for how many there are.

Each member of ``CORRECTIONS`` takes an array of p-values without NaN, of shape (n_tests,), and
returns the adjusted ones in the same order. An adjusted value is compared with the level itself.
Corrections that draw take the scores: the signs of a query are flipped for all tests alike, or its
scores are exchanged among the pipelines, and each statistic is compared with the largest ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rageval_report._registry import Registry
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.base import TIE_TOLERANCE, check_resamples, check_seed
from rageval_report.stats.units import QUERIES, Units
from rageval_report.types import FloatArray, IndexArray

Correction: TypeAlias = Callable[[FloatArray], FloatArray]
WESTFALL_YOUNG = "westfall-young"

# Resampled statistics in memory at a time: 8 MiB.
_BLOCK = 2**20
# Statistics closer than this, relative to the largest one, are equal but for rounding.
_TIE = 1e-9


def adjust_pvalues(pvalues: npt.ArrayLike, method: str = "holm") -> FloatArray:
    """Adjust the p-values of a family for their number.

    Parameters
    ----------
    pvalues : array-like
        Of any shape; all of it is one family. NaN is a test that could not be made: it stays NaN
        and does not count.
    method : str
        A member of ``CORRECTIONS``: "holm", "hochberg" and "bonferroni" control the probability of
        a single false finding, "bh" and "by" the expected share of false ones among the findings,
        "none" nothing.

    Returns
    -------
    ndarray
        Adjusted p-values, in the shape of `pvalues`.

    Raises
    ------
    UnknownNameError
        If there is no such method.
    DataError
        If a p-value lies outside 0 to 1.

    Examples
    --------
    >>> from rageval_report.stats import adjust_pvalues
    >>> adjust_pvalues([0.01, 0.04, float("nan"), 0.03])
    array([0.03, 0.06,  nan, 0.06])
    """
    correct = CORRECTIONS[method]
    family = np.array(pvalues, dtype=np.float64)
    is_test = ~np.isnan(family)
    outside = family[is_test & ~((family >= 0.0) & (family <= 1.0))]
    if outside.size:
        raise DataError(f"p-values must lie between 0 and 1, or be NaN; got {float(outside[0])}")
    family[is_test] = correct(family[is_test])
    return family


def level_left(n_tests: int, n_shown: int, method: str = "holm", *, alpha: float = 0.05) -> float:
    """The p-value with which one more test would be shown, beside those that are."""
    place = min(n_shown, n_tests - 1)
    if place < 0:
        return alpha
    # Each correction multiplies a small p-value by a number that does not depend on it.
    probe = alpha * 1e-3 / n_tests**2
    family = np.ones(n_tests)
    family[:place], family[place] = 0.0, probe
    factor = float(adjust_pvalues(family, method)[place]) / probe
    return alpha / max(factor, 1.0)


def bonferroni(pvalues: FloatArray) -> FloatArray:
    """Each p-value times the number of tests."""
    return np.minimum(1.0, pvalues.size * pvalues)


def holm(pvalues: FloatArray) -> FloatArray:
    """Bonferroni's correction step by step (Holm 1979), under any dependence."""
    return _by_place(pvalues, np.arange(pvalues.size, 0.0, -1.0))


def hochberg(pvalues: FloatArray) -> FloatArray:
    """Holm's factors from the largest p-value down (Hochberg 1988), for positive dependence."""
    return _by_place(pvalues, np.arange(pvalues.size, 0.0, -1.0), from_largest=True)


def benjamini_hochberg(pvalues: FloatArray) -> FloatArray:
    """The false discovery rate under positive dependence (Benjamini, Hochberg 1995)."""
    n = pvalues.size
    return _by_place(pvalues, n / np.arange(1.0, n + 1.0), from_largest=True)


def benjamini_yekutieli(pvalues: FloatArray) -> FloatArray:
    """The false discovery rate under any dependence (Benjamini, Yekutieli 2001)."""
    n = pvalues.size
    shares = 1.0 / np.arange(1.0, n + 1.0)
    return _by_place(pvalues, n * shares.sum() * shares, from_largest=True)


def _by_place(
    pvalues: FloatArray, factors: FloatArray, *, from_largest: bool = False
) -> FloatArray:
    """Each p-value times the factor of its place in ascending order, at most 1."""
    order = np.argsort(pvalues, kind="stable")
    steps = factors * pvalues[order]
    if from_largest:
        steps = np.minimum.accumulate(steps[::-1])[::-1]
    return _put_back(np.minimum(1.0, steps), order)


def _put_back(steps: FloatArray, order: IndexArray) -> FloatArray:
    """Adjusted p-values at their places; no later step is more significant than an earlier one."""
    adjusted = np.empty_like(steps)
    adjusted[order] = np.maximum.accumulate(steps)
    return adjusted


CORRECTIONS: Registry[Correction] = Registry(
    "correction",
    {
        "bh": benjamini_hochberg,
        "bonferroni": bonferroni,
        "by": benjamini_yekutieli,
        "hochberg": hochberg,
        "holm": holm,
        "none": np.copy,
    },
    also={"fdr_bh": "bh", "fdr_by": "by", "simes-hochberg": "hochberg"},
)


def check_correction(correction: str, *more: str) -> str:
    """The correction, after a check that it is one for many pairs."""
    known, name = [*CORRECTIONS, WESTFALL_YOUNG, *more], CORRECTIONS.name_of(correction)
    if name not in known:
        raise UnknownNameError("correction", correction, known)
    return name


# -- resampling


def uses_midp(test: str) -> bool:
    """Whether a test counts patterns that tie with the observed one half."""
    return test.endswith("-midp")


def westfall_young(
    differences: npt.ArrayLike,
    *,
    n_resamples: int = 9999,
    seed: int = 0,
    half_ties: Sequence[bool] | None = None,
) -> FloatArray:
    """Step-down maxT adjusted p-values of the mean differences of several metrics.

    The same random flips are used for every metric of a query, so metrics that move together cost
    less than under Holm: duplicates of one metric count as one test.

    Parameters
    ----------
    differences : array-like of shape (n, k) or (n,)
        One row per independent query or unit, one column per metric; candidate minus baseline. NaN
        is a missing pair and is left out.
    n_resamples : int
        The number of random sign patterns; no adjusted p-value is below 1 / (n_resamples + 1).
    seed : int
        The seed of the random numbers.
    half_ties : sequence of bool, optional
        For each metric whether patterns that tie with the observed one count half, as in its own
        test: `uses_midp` of the test. In full for all metrics if omitted.

    Returns
    -------
    ndarray of shape (k,)
        Two-sided p-values that control the family-wise error; NaN for a metric without a pair,
        which is not a test and does not count.

    References
    ----------
    .. [1] Westfall and Young (1993). Resampling-based multiple testing. Wiley.
    .. [2] Phipson and Smyth (2010). Permutation p-values should never be zero. SAGMB 9(1).

    Examples
    --------
    >>> better = [0.3, 0.1, 0.4, 0.2, 0.3, 0.1, 0.2, 0.5]
    >>> mixed = [0.1, -0.1, 0.2, -0.2, 0.1, 0.0, 0.0, -0.1]
    >>> westfall_young(np.column_stack([better, mixed]), seed=0).round(2)
    array([0.01, 1.  ])
    """
    array = np.asarray(differences, dtype=np.float64)
    matrix = array[:, np.newaxis] if array.ndim == 1 else array
    if matrix.ndim != 2 or not matrix.size or np.isinf(matrix).any():
        raise DataError(
            "differences must be finite or NaN, one row per query and one column per metric, at "
            f"least one of each; got shape {array.shape}, {int(np.isinf(array).sum())} infinite"
        )
    # A metric is the pair of nothing and its differences.
    blocks = [np.column_stack([np.zeros(len(matrix)), each]) for each in matrix.T]
    adjusted = shared_flips(blocks, half_ties=half_ties, n_resamples=n_resamples, seed=seed)
    return np.where(np.isnan(matrix).all(axis=0), math.nan, np.concatenate(adjusted))


def shared_flips(
    blocks: Sequence[FloatArray],
    *,
    units: Units = QUERIES,
    half_ties: Sequence[bool] | None = None,
    n_resamples: int = 9999,
    seed: int = 0,
) -> list[FloatArray]:
    """Step-down adjusted p-values of all pairs of all blocks, from the same flips of sign."""
    columns = np.hstack([units.sums(_in_own_unit(block)) for block in blocks])
    columns = columns[_own_order(columns)]
    block_of = np.repeat(np.arange(len(blocks)), [block.shape[1] for block in blocks])
    first, second = np.triu_indices(block_of.size, 1)
    is_pair = block_of[first] == block_of[second]
    first, second = first[is_pair], second[is_pair]
    both = zip(first, second, strict=True)
    scale = np.array([_scale(columns[:, j] - columns[:, i]) for i, j in both])

    def statistics(sums: FloatArray) -> FloatArray:
        return np.asarray(np.abs(sums[..., second] - sums[..., first]) / scale)

    resampled = (
        statistics((2.0 * rng.integers(0, 2, (size, len(columns)), np.int8) - 1.0) @ columns)
        for rng, size in _blocks(n_resamples, max(len(columns), first.size), seed)
    )
    adjusted = _maxima_pvalues(statistics(columns.sum(axis=0)), resampled, half_ties)
    return np.split(adjusted, np.searchsorted(block_of[first], np.arange(1, len(blocks))))


def tukey(matrix: FloatArray, *, n_resamples: int = 9999, seed: int = 0) -> FloatArray:
    """Tukey's adjusted p-values: the share of exchanges with as large a difference of any two."""
    scores = _in_own_unit(matrix)
    scores = scores[_own_order(scores)]
    first, second = np.triu_indices(scores.shape[1], 1)
    total = scores.sum(axis=0)
    ranges = (
        np.ptp(rng.permuted(np.broadcast_to(scores, (size, *scores.shape)), axis=2).sum(1), axis=1)
        for rng, size in _blocks(n_resamples, scores.size, seed)
    )
    resampled = (np.repeat(each[:, np.newaxis], first.size, axis=1) for each in ranges)
    return _maxima_pvalues(np.abs(total[second] - total[first]), resampled)


def _maxima_pvalues(
    observed: FloatArray, resampled: Iterable[FloatArray], half_ties: Sequence[bool] | None = None
) -> FloatArray:
    """Each statistic, largest first, against the resampled maxima of it and all smaller ones."""
    half = np.zeros(observed.size, dtype=bool) if half_ties is None else np.asarray(half_ties)
    order = np.argsort(-observed, kind="stable")
    ranked, tie = observed[order], _TIE * observed.max(initial=1.0)
    extreme, n_resamples = np.zeros(order.size), 0
    for statistics in resampled:
        # From right to left: the largest statistic of each rank and all ranks below it.
        largest = np.maximum.accumulate(statistics[:, order[::-1]], axis=1)[:, ::-1]
        reached = (largest >= ranked - tie).sum(axis=0)
        above = (largest > ranked + tie).sum(axis=0)
        extreme += np.where(half[order], (reached + above) / 2, reached)
        n_resamples += len(statistics)
    return _put_back((1.0 + extreme) / (1.0 + n_resamples), order)


def _in_own_unit(block: FloatArray) -> FloatArray:
    """Scores over the largest one, NaN as 0, less the mean of their query."""
    known = np.where(np.isnan(block), 0.0, block)
    known = known / np.abs(known).max(initial=float(np.finfo(np.float64).smallest_subnormal))
    return np.asarray(known - known.mean(axis=1, keepdims=True))


def _scale(differences: FloatArray) -> float:
    """The root of the sum of squares; infinite without a difference, so that the statistic is 0."""
    if np.abs(differences).max(initial=0.0) <= TIE_TOLERANCE:
        return math.inf
    return float(np.linalg.norm(differences))


def _own_order(columns: FloatArray) -> IndexArray:
    """An order of the rows that depends on what they hold: shuffled rows draw the same signs."""
    sizes = np.sort(np.abs(columns).round(9), axis=1)
    return np.asarray(np.lexsort(np.hstack([columns, sizes]).T))


def _blocks(n_resamples: int, width: int, seed: int) -> Iterator[tuple[np.random.Generator, int]]:
    """The random numbers, and the numbers of resamples that are in memory at a time."""
    rng, height = np.random.default_rng(check_seed(seed)), max(1, _BLOCK // width)
    for start in range(0, check_resamples(n_resamples), height):
        yield rng, min(height, n_resamples - start)
