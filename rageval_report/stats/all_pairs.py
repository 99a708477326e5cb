"""Several pipelines on the same queries: every pair of them tested, the family corrected.

The queries are those that all pipelines scored, so that every difference uses the same ones. The
tests are those of `rageval_report.stats.paired_test`; "auto" does what the pairs share only once: a
lattice is searched in all scores together, and each column is checked once for scores of 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import CORRECTIONS, TESTS
from rageval_report.stats.base import TIE_TOLERANCE, check_resamples, check_seed
from rageval_report.stats.corrections import adjust_pvalues
from rageval_report.stats.magnitudes import unit_of
from rageval_report.stats.maxt import count_extreme, uses_midp
from rageval_report.stats.pairs.discordant import coin_midp, is_binary
from rageval_report.stats.pairs.paired import run_test, smallest_pvalue
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.resampling import sign_flip_means
from rageval_report.stats.sign_flips.inversion import pvalue_of_shift
from rageval_report.stats.sign_flips.lattice import lattice_step, sums_tie
from rageval_report.stats.sign_flips.sign_sums import Tail
from rageval_report.stats.sign_flips.sign_tail import lattice_tail
from rageval_report.stats.sign_flips.signflip import pvalue_of_pairs, pvalue_on_step
from rageval_report.stats.sign_flips.together import keep_pvalues
from rageval_report.stats.states.counted_steps import CountedSteps
from rageval_report.stats.units import QUERIES, Units
from rageval_report.types import BoolArray, FloatArray, IntArray

WESTFALL_YOUNG = "westfall-young"

# The most resampled statistics in memory at a time: 8 MiB.
_BLOCK = 2**20
# Of so many queries the differences of all pairs are kept until all are tested together.
_MOST_TOGETHER = 10_000
# A p-value is never zero: the observed pattern of signs is one of those counted.
_SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class AllPairs:
    """The tests of all pairs of columns, in the order (0, 1), (0, 2), ..., (1, 2), ...

    Parameters
    ----------
    first, second : ndarray of int
        The columns of each pair.
    n : int
        The rows without a missing score, which all tests use.
    n_units : int
        The independent units of these rows.
    difference : ndarray
        The difference of the means, second minus first.
    standard_deviation : ndarray
        The standard deviation of the paired differences of the units; NaN for fewer than two.
    pvalue, pvalue_adjusted : ndarray
        Before and after correction for the number of pairs.
    wins, ties, losses : ndarray of int
        Rows in which the second score is larger, equal, smaller.
    tests : tuple of str
        The test of each pair, never "auto".
    smallest : ndarray
        The smallest p-value that each test can have.
    """

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
    smallest: FloatArray

    def matrix(self, values: npt.NDArray[np.generic], *, diagonal: object) -> np.ndarray:
        """Values of pairs as a symmetric matrix, with one row and one column per pipeline."""
        size = int(self.second.max()) + 1
        square = np.full((size, size), diagonal, dtype=values.dtype)
        square[self.first, self.second] = square[self.second, self.first] = values
        return square

    def scores_in(self, matrix: FloatArray) -> list[PairedScores]:
        """The two columns of each pair, of a matrix with one column per pipeline."""
        columns = zip(self.first.tolist(), self.second.tolist(), strict=True)
        return [PairedScores(matrix[:, i], matrix[:, j]) for i, j in columns]


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
        The correction over all pairs: a member of ``CORRECTIONS``, or "westfall-young". That flips
        the signs of a query for all pairs alike, and compares each standardised difference with the
        largest ones that arise, step by step, as Tukey's test does in one step.
    n_resamples, seed : int
        Used by tests that draw, and by "westfall-young".

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
    check_correction(correction)
    matrix = complete_rows(scores)
    pairs = pair_tests(matrix, test=test, n_resamples=n_resamples, seed=seed)
    if correction == WESTFALL_YOUNG:
        half = [uses_midp(name) for name in pairs.tests]
        [adjusted] = shared_flips([matrix], half_ties=half, n_resamples=n_resamples, seed=seed)
    else:
        adjusted = adjust_pvalues(pairs.pvalue, correction, smallest=pairs.smallest)
    return replace(pairs, pvalue_adjusted=adjusted)


def check_correction(correction: str) -> str:
    """The correction, after a check that it is one for many pairs.

    Examples
    --------
    >>> check_correction("holm")
    'holm'
    """
    known = [*CORRECTIONS, WESTFALL_YOUNG]
    if correction not in known:
        raise UnknownNameError("correction", correction, known)
    return correction


def complete_rows(scores: npt.ArrayLike) -> FloatArray:
    """The rows without a missing score, of a matrix of at least two columns.

    Examples
    --------
    >>> complete_rows([[1.0, 2.0], [float("nan"), 3.0]])
    array([[1., 2.]])
    """
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] < 2:
        raise DataError(
            "expected one row per query and one column per pipeline, at least two pipelines; "
            f"got an array of shape {matrix.shape}"
        )
    if np.isinf(matrix).any():
        raise DataError(f"scores must be finite or NaN; {int(np.isinf(matrix).sum())} are infinite")
    missing = np.isnan(matrix).any(axis=1)
    complete = matrix[~missing] if missing.any() else matrix
    if not len(complete):
        raise DataError(f"none of the {len(matrix)} queries has a score of every pipeline")
    return complete


def pair_tests(
    matrix: FloatArray,
    *,
    units: Units = QUERIES,
    test: str = "auto",
    n_resamples: int = 9999,
    seed: int = 0,
) -> AllPairs:
    """The tests of all pairs, not corrected; no score may be missing.

    Parameters
    ----------
    matrix : ndarray of shape (n_queries, n_pipelines)
        The scores.
    units : Units
        The independent units of the queries.
    test, n_resamples, seed
        As in `all_pairs_test`.

    Examples
    --------
    >>> pairs = pair_tests(np.array([[0.0, 1.0]] * 6 + [[1.0, 1.0]]))
    >>> pairs.tests, pairs.pvalue.tolist(), pairs.wins.tolist()
    (('mcnemar-midp',), [0.015625], [6])
    """
    check_resamples(n_resamples), check_seed(seed)
    if test == "auto":
        return _test_by_default(np.asfortranarray(matrix), units)
    if test not in TESTS:
        raise UnknownNameError("paired test", test, ["auto", *TESTS])

    def run_on_pair(_i: int, _j: int, pairs: PairedScores) -> _TestAndPvalue:
        result = run_test(pairs, test=test, n_resamples=n_resamples, seed=seed)
        return result.test, result.pvalue

    return _test_pair_by_pair(matrix, units, run_on_pair)


def beyond_margin(
    scores: Sequence[PairedScores],
    pairs: AllPairs,
    margin: float,
    *,
    units: Units = QUERIES,
    test: str = "auto",
    n_resamples: int = 9999,
    seed: int = 0,
) -> AllPairs:
    """The tests that two columns differ by more than a margin, not corrected.

    Parameters
    ----------
    scores : sequence of PairedScores
        The columns of each pair of `pairs`, which need not be in memory, by query or by unit.
    pairs : AllPairs
        The tests without a margin.
    margin : float
        The difference of the means that is too small to matter, above 0.
    units : Units
        The independent units of the queries; omitted if `scores` are by unit already.
    test, n_resamples, seed
        As in `all_pairs_test`; McNemar's tests, which know no margin, become the default one.

    Returns
    -------
    AllPairs
        Each p-value is twice the one-sided one against the margin, and never below that without a
        margin; 1 if the difference is not larger than the margin.

    Examples
    --------
    >>> matrix = np.array([[0.0, 0.0], [0.0, 0.25], [0.0, 0.5], [0.25, 0.5]] * 4)
    >>> pairs = pair_tests(matrix)
    >>> beyond = beyond_margin(pairs.scores_in(matrix), pairs, 0.2)
    >>> pairs.pvalue.round(4), beyond.pvalue.round(4)
    (array([0.0002]), array([0.2954]))
    """
    is_default = test == "auto" or test.startswith("mcnemar")
    pvalues, tests = pairs.pvalue.tolist(), list(pairs.tests)
    for place, (difference, both) in enumerate(zip(pairs.difference, scores, strict=True)):
        if abs(difference) <= margin:
            pvalues[place] = 1.0
            continue
        gaining = both if difference > 0 else both.swapped()
        if is_default:
            gains = units.collapse(gaining)
            beyond = pvalue_of_shift(gains, margin, "greater")
            tests[place] = "sign-flip" if gains.step is None else "sign-flip-midp"
        else:
            # A pair that is a cluster of several queries takes the margin of all of them.
            shift = margin if gaining.weights is None else margin * gaining.weights
            shifted = PairedScores(gaining.baseline + shift, gaining.candidate, gaining.sizes)
            options = {"n_resamples": n_resamples, "seed": seed}
            by_unit = units.collapse(shifted)
            beyond = run_test(by_unit, test=test, alternative="greater", **options).pvalue
        pvalues[place] = max(pvalues[place], min(1.0, 2.0 * beyond))
    return replace(pairs, pvalue=np.array(pvalues), tests=tuple(tests))


def run_all_tests(
    scores: Sequence[PairedScores],
    by_unit: Sequence[PairedScores] | None = None,
    *,
    test: str = "auto",
    n_resamples: int = 9999,
    seed: int = 0,
) -> AllPairs:
    """The tests of all pairs, not corrected, of columns that need not be in memory.

    Parameters
    ----------
    scores : sequence of PairedScores
        The columns of each pair, in the order of `AllPairs`, on the same queries.
    by_unit : sequence of PairedScores, optional
        The same by independent unit, which is tested; each query is one if omitted.
    test, n_resamples, seed
        As in `all_pairs_test`.

    Examples
    --------
    >>> pairs = run_all_tests([PairedScores.of([0.0] * 6 + [1.0], [1.0] * 7)])
    >>> pairs.tests, pairs.pvalue.tolist(), pairs.wins.tolist()
    (('mcnemar-midp',), [0.015625], [6])
    """
    tested = scores if by_unit is None else by_unit
    results = [run_test(p, test=test, n_resamples=n_resamples, seed=seed) for p in tested]
    n_columns = round((1 + math.sqrt(1 + 8 * len(scores))) / 2)
    first, second = np.triu_indices(n_columns, 1)
    pvalue = np.array([result.pvalue for result in results])
    return AllPairs(
        first=first,
        second=second,
        n=scores[0].n,
        n_units=tested[0].n,
        difference=np.array([pairs.mean for pairs in scores]),
        standard_deviation=np.array([pairs.standard_deviation for pairs in tested]),
        pvalue=pvalue,
        pvalue_adjusted=pvalue,
        wins=np.array([pairs.n_positive for pairs in scores]),
        ties=np.array([pairs.n - pairs.n_changed for pairs in scores]),
        losses=np.array([pairs.n_negative for pairs in scores]),
        tests=tuple(result.test for result in results),
        smallest=np.array(
            [smallest_pvalue(p, r.test) for p, r in zip(tested, results, strict=True)]
        ),
    )


def shared_flips(
    blocks: Sequence[FloatArray],
    *,
    units: Units = QUERIES,
    half_ties: Sequence[bool] | None = None,
    n_resamples: int = 9999,
    seed: int = 0,
) -> list[FloatArray]:
    """Step-down adjusted p-values of all pairs of all blocks, from the same flips of sign.

    The flipped sum of a difference is the difference of two flipped sums, so one product of the
    signs with the pipelines' scores serves all their pairs.

    Parameters
    ----------
    blocks : sequence of ndarray of shape (n_queries, n_pipelines)
        One block per metric, with the same queries; a row that is left out is NaN throughout.
    units : Units
        The independent units of the queries, whose signs are flipped.
    half_ties : sequence of bool, optional
        For each pair of each block whether ties count half, as in `westfall_young`.
    n_resamples, seed : int
        The number of random sign patterns, and their seed.

    Returns
    -------
    list of ndarray
        For each metric one value per pair, in the order of `AllPairs`.

    Examples
    --------
    >>> easy = np.arange(12.0)
    >>> [adjusted] = shared_flips([np.column_stack([easy, easy + 1, easy + 1])], n_resamples=999)
    >>> adjusted.round(3)
    array([0.001, 0.001, 1.   ])
    """
    # Centring by query changes no difference, and the sums lose fewer digits.
    centred = [_sums_of_units(block - block.mean(axis=1, keepdims=True), units) for block in blocks]
    return adjust_flipped_columns(
        np.concatenate([np.nanmean(block, axis=0) for block in centred]),
        sign_flip_means(np.hstack(centred), n_resamples=n_resamples, seed=seed),
        [_scales(block) for block in centred],
        [block.shape[1] for block in centred],
        half_ties,
    )


def adjust_flipped_columns(
    totals: FloatArray,
    flipped: FloatArray,
    scales: Sequence[FloatArray],
    sizes: Sequence[int],
    half_ties: Sequence[bool] | None = None,
) -> list[FloatArray]:
    """Step-down adjusted p-values of all pairs of columns within each block.

    Parameters
    ----------
    totals : ndarray of shape (n_columns,)
        The sum, or the mean, of each column of all blocks.
    flipped : ndarray of shape (n_resamples, n_columns)
        The same under each pattern of signs.
    scales : sequence of ndarray
        For each block the scale of each of its pairs.
    sizes : sequence of int
        The number of columns of each block.
    half_ties : sequence of bool, optional
        For each pair of each block whether ties count half; if omitted, none do.

    Returns
    -------
    list of ndarray
        For each block one value per pair, in the order of `AllPairs`.

    Examples
    --------
    >>> flipped = np.array([[0.0, 3.0], [0.0, -0.5], [0.0, 0.5]])
    >>> adjust_flipped_columns(np.array([0.0, 2.0]), flipped, [np.ones(1)], [2])
    [array([0.5])]
    """
    places = [_pairs_of(size, int(end)) for size, end in zip(sizes, np.cumsum(sizes), strict=True)]
    first, second = (np.concatenate(side) for side in zip(*places, strict=True))
    scale = np.concatenate(scales)
    observed = np.abs(totals[second] - totals[first]) / scale
    half = np.zeros(first.size, dtype=bool) if half_ties is None else np.asarray(half_ties)
    adjusted = _adjust_step_down(observed, flipped, _FlippedPairs(first, second, scale, half))
    return np.split(adjusted, np.cumsum([len(side) for side, _ in places])[:-1])


_TestAndPvalue: TypeAlias = tuple[str, float]
# Two columns by their places, with their scores, and the same by independent units.
_PlacedPair: TypeAlias = tuple[int, int, PairedScores, PairedScores]
# A test of two columns, by their places and their scores.
_PairTest: TypeAlias = Callable[[int, int, PairedScores], _TestAndPvalue]


def _sums_of_units(block: FloatArray, units: Units) -> FloatArray:
    """One row per unit; of clusters the rows that are left out add nothing to the sums."""
    return units.sums(np.where(np.isnan(block), 0.0, block)) if units.are_clusters else block


def _pairs_of(size: int, end: int) -> tuple[IntArray, IntArray]:
    first, second = np.triu_indices(size, 1)
    return first + end - size, second + end - size


def _test_pair_by_pair(
    matrix: FloatArray, units: Units, pair_test: _PairTest, *, keeps_pvalues: bool = False
) -> AllPairs:
    """Each pair tested; if the tests ask for kept p-values, these are computed together first."""
    results: list[_TestAndPvalue] = []
    smallest: list[float] = []
    numbers: list[tuple[float, float, int, int]] = []
    columns = combinations(range(matrix.shape[1]), 2)
    steps = [CountedSteps.of(column) for column in matrix.T]
    every: Iterable[_PlacedPair] = (_place_pair(matrix, steps, units, i, j) for i, j in columns)
    if keeps_pvalues and len(matrix) <= _MOST_TOGETHER:
        every = list(every)
        keep_pvalues([by_unit for *_, by_unit in every])
    for i, j, pairs, by_unit in every:
        results.append(pair_test(i, j, by_unit))
        smallest.append(smallest_pvalue(by_unit, results[-1][0]))
        numbers.append(_difference_numbers(pairs, by_unit))
    difference, deviation, wins, losses = (np.array(part) for part in zip(*numbers, strict=True))
    first, second = np.triu_indices(matrix.shape[1], 1)
    pvalue = np.array([pvalue for _, pvalue in results])
    return AllPairs(
        first=first,
        second=second,
        n=len(matrix),
        n_units=units.count(len(matrix)),
        difference=difference,
        standard_deviation=deviation,
        pvalue=pvalue,
        pvalue_adjusted=pvalue,
        wins=wins,
        ties=len(matrix) - wins - losses,
        losses=losses,
        tests=tuple(test for test, _ in results),
        smallest=np.array(smallest),
    )


def _place_pair(
    matrix: FloatArray, steps: Sequence[CountedSteps | None], units: Units, i: int, j: int
) -> _PlacedPair:
    pairs = PairedScores.of_columns(matrix[:, i], matrix[:, j], (steps[i], steps[j]))
    return i, j, pairs, units.collapse(pairs)


def _difference_numbers(
    pairs: PairedScores, by_unit: PairedScores
) -> tuple[float, float, int, int]:
    """The mean, its spread, and on how many queries either side is ahead."""
    return pairs.mean, by_unit.standard_deviation, pairs.n_positive, pairs.n_negative


def _test_by_default(matrix: FloatArray, units: Units) -> AllPairs:
    """The same results as `paired_test` with "auto", pair by pair."""
    # One unit has two patterns of signs that are equally extreme, so p is 1 without a test.
    if units.count(len(matrix)) == 1:
        return _test_pair_by_pair(matrix, units, lambda *_: ("sign-flip", 1.0))
    binary = [is_binary(column, column) for column in matrix.T]
    steps = _common_steps(matrix)
    if steps is not None:
        steps = np.asfortranarray(np.rint(units.sums(steps)).astype(np.int64))

    def run_on_pair(i: int, j: int, pairs: PairedScores) -> _TestAndPvalue:
        if binary[i] and binary[j] and pairs.sizes is None:
            return "mcnemar-midp", _mcnemar_midp(pairs.differences)
        if steps is not None:
            return _flip_steps(steps[:, j] - steps[:, i], pairs.differences)
        return _flip_signs(pairs)

    return _test_pair_by_pair(matrix, units, run_on_pair, keeps_pvalues=steps is None)


def _flip_signs(pairs: PairedScores) -> _TestAndPvalue:
    is_tied = pairs.step is not None
    return (
        "sign-flip-midp" if is_tied else "sign-flip",
        pvalue_of_pairs(pairs, "two-sided", midp=is_tied),
    )


def _two_sided(tail: Tail, *, midp: bool) -> float:
    return min(1.0, max(2 * tail.at_least - (tail.equal if midp else 0.0), _SMALLEST))


def _mcnemar_midp(differences: FloatArray) -> float:
    wins = int(np.count_nonzero(differences > 0))
    losses = int(np.count_nonzero(differences)) - wins
    more, fewer = max(wins, losses), min(wins, losses)
    return min(1.0, 2.0 * float(coin_midp(more, fewer))) if more else 1.0


def _common_steps(matrix: FloatArray) -> IntArray | None:
    """All scores in whole steps, if one step fits them all; it then fits all differences."""
    # From the smallest score, because only the steps between scores matter for differences.
    moved = matrix - matrix.min()
    step = lattice_step(moved.ravel(order="K"))
    return None if step is None else np.asfortranarray(np.rint(moved / step).astype(np.int64))


def _flip_steps(moves: IntArray, differences: FloatArray) -> _TestAndPvalue:
    """The test of differences in whole steps, unless they are too fine for ties."""
    counts = np.bincount(np.abs(moves))
    counts[0] = 0
    distinct = np.flatnonzero(counts)
    if not distinct.size:
        return "sign-flip", 1.0
    weights = counts[distinct].astype(np.float64)
    # The step fits the scores of all pipelines; a pair's own step may be a multiple of it.
    unit = int(np.gcd.reduce(distinct))
    steps = distinct // unit
    if not sums_tie(steps, weights):
        return "sign-flip", pvalue_on_step(differences, None, midp=False)
    moved = abs(int(moves.sum())) // unit
    if moved == 0:
        return "sign-flip-midp", 1.0
    tail = lattice_tail(steps, weights, moved)
    return "sign-flip-midp", _two_sided(tail, midp=True)


def _scales(block: FloatArray) -> FloatArray:
    """For each pair the root of the sum of squared differences, over the number of queries."""
    unit = max(1.0, unit_of(block))
    filled = np.where(np.isnan(block), 0.0, block / unit)
    n = max(int((~np.isnan(block[:, 0])).sum()), 1)
    return np.asarray(pair_scales(filled.T @ filled) / n * unit)


def pair_scales(products: FloatArray) -> FloatArray:
    """For each pair of columns the root of the sum of their squared differences.

    Parameters
    ----------
    products : ndarray of shape (k, k)
        The sums of the products of the columns.

    Returns
    -------
    ndarray
        In the order of `AllPairs`. Infinite for two equal columns: a sum of differences divided by
        the scale is then 0 instead of NaN.

    Examples
    --------
    >>> columns = np.array([[0.0, 3.0, 3.0], [0.0, 4.0, 4.0]])
    >>> pair_scales(columns.T @ columns)
    array([ 5.,  5., inf])
    """
    first, second = np.triu_indices(len(products), 1)
    # One matrix product gives the squared differences of all pairs: |a - b|^2 = a.a + b.b - 2 a.b.
    squares = np.diag(products)[first] + np.diag(products)[second] - 2 * products[first, second]
    largest = float(np.abs(products).max(initial=0.0))
    squares[squares <= TIE_TOLERANCE * largest] = math.inf  # no difference: the statistic is 0
    return np.asarray(np.sqrt(squares))


@dataclass(frozen=True, slots=True, eq=False)
class _FlippedPairs:
    """The columns of each pair among the flipped ones, its scale, and whether ties count half."""

    first: IntArray
    second: IntArray
    scale: FloatArray
    half: BoolArray

    def statistics(self, flipped: FloatArray, order: IntArray) -> FloatArray:
        """The statistics of the pairs in this order."""
        moved = flipped[:, self.second[order]] - flipped[:, self.first[order]]
        return np.asarray(np.abs(moved) / self.scale[order])


def _adjust_step_down(
    observed: FloatArray, flipped: FloatArray, pairs: _FlippedPairs
) -> FloatArray:
    """Compare each statistic, largest first, with the maximum of itself and all smaller ones."""
    order = np.argsort(-observed, kind="stable")
    extreme = np.zeros(order.size)
    for block in _blocks(len(flipped), order.size):
        ranked = pairs.statistics(flipped[block], order)
        successive = np.maximum.accumulate(ranked[:, ::-1], axis=1)[:, ::-1]
        extreme += count_extreme(successive, observed[order], pairs.half[order])
    # The observed pattern counts as one more (Phipson, Smyth 2010), and no later step may be more
    # significant than an earlier one.
    adjusted = np.maximum.accumulate((1.0 + extreme) / (1.0 + len(flipped)))
    result = np.empty_like(adjusted)
    result[order] = adjusted
    return result


def _blocks(resamples: int, width: int) -> Iterator[slice]:
    height = max(1, _BLOCK // width)
    for start in range(0, resamples, height):
        yield slice(start, min(start + height, resamples))
