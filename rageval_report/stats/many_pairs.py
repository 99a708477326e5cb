"""Several pipelines on the same queries: every pair tested, the family corrected, ranks.

The queries are those that all pipelines scored, so that every difference uses the same ones. The
tests are those of `rageval_report.stats.paired_test`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from rageval_report.errors import DataError
from rageval_report.stats import corrections
from rageval_report.stats.base import TIE_TOLERANCE, Alternative, PairedResult, paired_differences
from rageval_report.stats.columns import Column, difference_column
from rageval_report.stats.pairs import Pairs, paired_test
from rageval_report.stats.sign_flips import sign_flip_pvalue
from rageval_report.stats.units import QUERIES, Units
from rageval_report.types import FloatArray, IntArray

TUKEY = "tukey"
# The share of the spread of the ranks that may be lost to ties without a note.
_MOST_TIED = 0.1
_NOTE_ON_TIES = (
    "ties take {:.0%} of the spread of the ranks: Nemenyi's critical difference, made for ranks "
    "without ties, is too large; all_pairs_test compares means"
)


@dataclass(frozen=True, eq=False)
class AllPairs:
    """The tests of all pairs of columns, in the order (0, 1), (0, 2), ..., (1, 2), ..."""

    first: IntArray
    second: IntArray
    n: int
    n_units: int
    difference: FloatArray
    standard_deviation: FloatArray
    pvalue: FloatArray
    pvalue_adjusted: FloatArray
    wins: IntArray
    ties: IntArray
    losses: IntArray
    tests: tuple[str, ...]

    def matrix(self, values: npt.NDArray[np.generic], *, diagonal: object) -> np.ndarray:
        """Values of pairs as a symmetric matrix, with one row and one column per pipeline."""
        size = int(self.second.max()) + 1
        square = np.full((size, size), diagonal, dtype=values.dtype)
        square[self.first, self.second] = square[self.second, self.first] = values
        return square


def all_pairs_test(
    scores: npt.ArrayLike,
    *,
    test: str = "auto",
    correction: str = "holm",
    n_resamples: int = 9999,
    seed: int = 0,
) -> AllPairs:
    """Test the mean difference of every pair of pipelines.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_pipelines)
        One row per query; a row with a NaN is left out, for all pairs.
    test : str
        "auto" or a member of ``TESTS``, as in `paired_test`.
    correction : str
        The correction over all pairs: a member of ``CORRECTIONS``, "westfall-young" or "tukey".
        "westfall-young" flips the signs of a query for all pairs alike, and compares each
        standardised difference with the largest ones that arise, step by step. "tukey" exchanges
        the scores of a query among all pipelines, and compares each difference with the largest
        one between any two.
    n_resamples, seed : int
        Used by tests that draw, and by "westfall-young" and "tukey".

    Returns
    -------
    AllPairs

    Raises
    ------
    DataError
        If there are fewer than two pipelines, or no query that all of them scored.
    UnknownNameError
        If there is no such test or correction.

    References
    ----------
    .. [1] Carterette (2012). Multiple testing in statistical analysis of systems-based information
       retrieval experiments. ACM TOIS 30(1).
    .. [2] Westfall, Young (1993). Resampling-based multiple testing. Wiley.

    Examples
    --------
    >>> import numpy as np
    >>> from rageval_report.stats import all_pairs_test
    >>> easy = np.array([0.31, 0.52, 0.13, 0.94, 0.45, 0.26, 0.77, 0.68])
    >>> pairs = all_pairs_test(np.column_stack([easy, easy + 0.05, easy + 0.05]))
    >>> pairs.pvalue_adjusted.round(4)  # 3 times the mid-p of 8 equal steps; two are the same
    array([0.0117, 0.0117, 1.    ])
    """
    corrections.check_correction(correction, TUKEY)
    matrix = complete_rows(scores)
    drawing: dict[str, Any] = {"n_resamples": n_resamples, "seed": seed}
    pairs = run_all_tests(pairs_of_columns(matrix), test=test, **drawing)
    if correction == TUKEY:
        adjusted = corrections.tukey(matrix, **drawing)
    elif correction == corrections.WESTFALL_YOUNG:
        half = [corrections.uses_midp(name) for name in pairs.tests]
        [adjusted] = corrections.shared_flips([matrix], half_ties=half, **drawing)
    else:
        adjusted = corrections.adjust_pvalues(pairs.pvalue, correction)
    return replace(pairs, pvalue_adjusted=adjusted)


def complete_rows(scores: npt.ArrayLike) -> FloatArray:
    """The rows without a missing score, of a matrix of at least two columns."""
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] < 2:
        raise DataError(
            "expected one row per query and one column per pipeline, at least two pipelines; "
            f"got an array of shape {matrix.shape}"
        )
    if np.isinf(matrix).any():
        raise DataError(f"scores must be finite or NaN; {int(np.isinf(matrix).sum())} are infinite")
    complete = matrix[~np.isnan(matrix).any(axis=1)]
    if not len(complete):
        raise DataError(f"none of the {len(matrix)} queries has a score of every pipeline")
    return complete


# -- tests of pairs


def pairs_of_columns(matrix: FloatArray, *, units: Units = QUERIES) -> list[Pairs]:
    """All pairs of columns, in the order of `AllPairs`; no score may be missing."""
    are_clusters = units.count(len(matrix)) < len(matrix)
    sides = [(Column.of(scores), scores) for scores in np.asfortranarray(matrix).T]
    return [
        Pairs(
            baseline,
            candidate,
            difference_column(before, after),
            units.collapse(paired_differences(before, after)) if are_clusters else None,
        )
        for (baseline, before), (candidate, after) in combinations(sides, 2)
    ]


def run_all_tests(
    pairs: Sequence[Pairs],
    *,
    test: str = "auto",
    margin: float = 0.0,
    n_resamples: int = 9999,
    seed: int = 0,
) -> AllPairs:
    """The tests of all pairs of some pipelines, not corrected."""
    results = [paired_test(pair, test=test, n_resamples=n_resamples, seed=seed) for pair in pairs]
    if margin:
        tested = zip(pairs, results, strict=True)
        results = [_beyond_margin(pair, result, margin) for pair, result in tested]
    pvalue = np.array([result.pvalue for result in results])
    by_query = [pair.by_query for pair in pairs]  # of clusters the results count clusters
    first, second = np.triu_indices(round((1 + math.sqrt(1 + 8 * len(pairs))) / 2), 1)
    return AllPairs(
        first=first,
        second=second,
        n=pairs[0].differences.n,
        n_units=pairs[0].units.n,
        difference=np.array([result.difference for result in results]),
        standard_deviation=np.array([pair.units.std for pair in pairs]),
        pvalue=pvalue,
        pvalue_adjusted=pvalue,
        wins=np.array([pair.wins for pair in by_query]),
        ties=np.array([pair.ties for pair in by_query]),
        losses=np.array([pair.losses for pair in by_query]),
        tests=tuple(result.test for result in results),
    )


def _beyond_margin(pair: Pairs, result: PairedResult, margin: float) -> PairedResult:
    """The test that the means differ by more than a margin, from that without a margin."""
    if abs(pair.mean) <= margin:
        return replace(result, pvalue=1.0)
    side: Alternative = "greater" if pair.mean > 0 else "less"
    shift = math.copysign(margin, pair.mean)
    beyond = 2.0 * sign_flip_pvalue(pair.units, alternative=side, shift=shift)
    name = "sign-flip" if pair.units.step is None else "sign-flip-midp"
    return replace(result, test=name, pvalue=max(result.pvalue, min(1.0, beyond)))


# -- ranks


@dataclass(frozen=True, eq=False)
class FriedmanResult:
    """A test of whether any pipeline tends to rank before another."""

    statistic: float
    pvalue: float
    degrees_of_freedom: int
    n: int
    concordance: float
    average_ranks: FloatArray
    notes: tuple[str, ...] = ()

    def nemenyi_pvalues(self) -> FloatArray:
        """Nemenyi's p-value of each pair, in the order of `AllPairs`, which are corrected."""
        from scipy.stats import studentized_range

        ranks, k = self.average_ranks, self.average_ranks.size
        first, second = np.triu_indices(k, 1)
        apart = np.abs(ranks[second] - ranks[first]) / math.sqrt(k * (k + 1) / (12.0 * self.n))
        return np.clip(studentized_range.sf(apart, k, math.inf), 0.0, 1.0)


def friedman_test(scores: npt.ArrayLike, *, greater_is_better: bool = True) -> FriedmanResult:
    """Friedman's test on ranks within queries, with the correction for ties.

    It asks about ranks, not about means: on metrics with many ties or lopsided differences the two
    need not agree. `all_pairs_test` is the one about means.

    Parameters
    ----------
    scores : array-like of shape (n_queries, n_pipelines)
        One row per query; a row with a NaN is left out.
    greater_is_better : bool
        The metric's direction; it turns the average ranks, not the test.

    Returns
    -------
    FriedmanResult

    Raises
    ------
    DataError
        If there are fewer than two pipelines, or no query that all of them scored.

    References
    ----------
    .. [1] Friedman (1937). The use of ranks to avoid the assumption of normality implicit in the
       analysis of variance. Journal of the American Statistical Association 32.
    .. [2] Conover (1999). Practical nonparametric statistics, 5.8.
    .. [3] Demsar (2006). Statistical comparisons of classifiers over multiple data sets. Journal of
       Machine Learning Research 7:1-30, for Nemenyi's critical difference.

    Examples
    --------
    >>> from rageval_report.stats import friedman_test
    >>> result = friedman_test([[0.9, 0.5, 0.1], [0.8, 0.7, 0.2], [0.6, 0.4, 0.3]])
    >>> result.statistic, round(result.pvalue, 4), result.average_ranks
    (6.0, 0.0498, array([1., 2., 3.]))
    """
    ranks = query_ranks(complete_rows(scores), greater_is_better=greater_is_better)
    # Multiples of a half: their sums are exact, in any order.
    centred = ranks - (ranks.shape[1] + 1) / 2
    return friedman_of_sums(centred.sum(axis=0), float(np.square(centred).sum()), len(ranks))


def friedman_of_sums(sums: FloatArray, spread: float, n: int) -> FriedmanResult:
    """`friedman_test` from each pipeline's sum of centred ranks, and the sum of all squares."""
    k = sums.size
    # Dividing by the spread of the ranks themselves, not by that of ranks without ties, is the
    # correction for ties (Conover 1999).
    statistic = (k - 1) * float(sums @ sums) / spread if spread else 0.0
    lost = 1.0 - spread / (n * k * (k * k - 1) / 12)
    return FriedmanResult(
        statistic=statistic,
        pvalue=float(chdtrc(k - 1, statistic)),
        degrees_of_freedom=k - 1,
        n=n,
        concordance=statistic / (n * (k - 1)),
        average_ranks=sums / n + (k + 1) / 2,
        notes=(_NOTE_ON_TIES.format(lost),) if lost > _MOST_TIED else (),
    )


def query_ranks(scores: FloatArray, *, greater_is_better: bool = True) -> FloatArray:
    """The rank of each pipeline on each query; 1 is best, ties share the ranks they take."""
    tie = rounding_tie(float(np.abs(scores).max(initial=0.0)))
    turned = scores if greater_is_better else -scores
    ranks = np.full_like(turned, 0.5)
    for other in turned.T:
        column = other[:, np.newaxis]
        ranks += (1.0 + (column > turned + tie) - (column < turned - tie)) / 2.0
    return ranks


def rounding_tie(largest: float) -> float:
    """The largest difference that is only rounding, of scores up to a size."""
    return TIE_TOLERANCE * max(1.0, largest)
