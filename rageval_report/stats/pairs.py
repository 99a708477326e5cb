"""Two pipelines' scores of the same queries: the pairs, their tests and their intervals.

A new test or interval is a function and a line in its table below; from outside the package:
``TESTS.add("my_test", PairedTest(my_test, interval="t"))``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import stdtr

from rageval_report._registry import Registry
from rageval_report.errors import DataError
from rageval_report.stats import base, binary
from rageval_report.stats.base import Alternative, Interval, PairedResult
from rageval_report.stats.binary import coin_pvalue
from rageval_report.stats.bootstrap import bootstrap_interval, bootstrap_means
from rageval_report.stats.bootstrap import student_t as student_t_interval
from rageval_report.stats.columns import Column, difference_column, merge_ties
from rageval_report.stats.sign_flips import sign_flip_interval, sign_flip_pvalue
from rageval_report.stats.units import Units, mean_error
from rageval_report.types import FloatArray

ZeroMethod: TypeAlias = Literal["wilcox", "pratt", "zsplit"]

# Resampled means this close to the observed one, relative to the mean magnitude, are ties. Sums of
# doubles in another order differ by about 1e-13; without a tolerance ties would be lost at random.
RESAMPLING_TOLERANCE = 1e-9
# Random signs in memory at a time: 16 MiB.
_BLOCK = 2**21


@dataclass(frozen=True, eq=False)
class Pairs:
    """Complete pairs of scores, as columns: what each paired test, interval and effect takes.

    Parameters
    ----------
    baseline, candidate : Column
        The scores of either side.
    differences : Column
        Candidate minus baseline, query by query, without rounding noise.
    clusters : Column, optional
        The differences of the clusters of queries that are not independent, see `Units.collapse`;
        if omitted, each query is independent.
    outcomes : (int, int, int), optional
        The numbers of wins, ties and losses, where the differences are known on a grid only.

    Examples
    --------
    >>> pairs = Pairs.of([1, 2, float("nan"), 4], [2, 2, 3, 3])
    >>> pairs.n, pairs.mean, pairs.std, (pairs.wins, pairs.ties, pairs.losses)
    (3, 0.0, 1.0, (1, 1, 1))
    >>> pairs.is_binary, pairs.differences.listed()
    (False, array([-1.,  0.,  1.]))
    >>> pairs.n_changed, pairs.side_means, pairs.swapped().wins, pairs.tolerance < 1e-11
    (2, (2.3333333333333335, 2.3333333333333335), 1, True)

    Two queries of one document are one unit, to which their differences add up:

    >>> pairs = Pairs.of([0, 0, 1], [1, 1, 1], clusters=["a", "a", "b"])
    >>> pairs.n, pairs.units.n, pairs.by_query.n, pairs.sizes
    (2, 2, 3, array([0.66666667, 1.33333333]))
    """

    baseline: Column
    candidate: Column
    differences: Column
    clusters: Column | None = None
    outcomes: tuple[int, int, int] | None = None

    @classmethod
    def of(
        cls,
        baseline: npt.ArrayLike | Pairs,
        candidate: npt.ArrayLike | None = None,
        clusters: npt.ArrayLike | Units | None = None,
    ) -> Pairs:
        """The pairs in which both scores are present; pairs are returned as they are.

        Parameters
        ----------
        baseline, candidate : array-like of shape (n_queries,)
            One score per query, both sides in the same order. NaN is left out, pairwise.
        clusters : array-like of shape (n_queries,) or Units, optional
            The cluster of each query.

        Raises
        ------
        DataError
            If no query has a score on both sides, a query has no cluster, the lengths differ, or a
            score is infinite.
        """
        if isinstance(baseline, Pairs):
            return baseline
        before, after = base.paired_values(baseline, candidate)
        if not before.size:
            raise DataError(
                "no query has a score on both sides; check that both pipelines scored the same "
                "queries"
            )
        columns = Column.of(before), Column.of(after), difference_column(before, after)
        if clusters is None:
            return cls(*columns)
        units = clusters
        if not isinstance(units, Units):
            units = Units.of(units, np.shape(baseline))
        if before.size < np.size(baseline):
            sides = np.array([baseline, candidate], dtype=np.float64)
            units = units.select(np.flatnonzero(~np.isnan(sides).any(axis=0)))
        if units.count(before.size) == before.size:  # no two of these queries belong together
            return cls(*columns)
        return cls(*columns, clusters=units.collapse(base.paired_differences(before, after)))

    @property
    def units(self) -> Column:
        """The differences of what is independent: of the clusters, or of the queries."""
        return self.differences if self.clusters is None else self.clusters

    @property
    def by_query(self) -> Self:
        """The same pairs as if all queries were independent: for effects and counts of queries."""
        return self if self.clusters is None else replace(self, clusters=None)

    @property
    def n(self) -> int:
        """The number of independent units."""
        return self.units.n

    @property
    def mean(self) -> float:
        """The mean difference."""
        return self.units.mean

    @property
    def std(self) -> float:
        """The standard deviation of the units' differences; 0 if only rounding separates them."""
        return self.units.std

    @property
    def sizes(self) -> FloatArray:
        """The size of the unit of each of the `units.values`, 1 on average."""
        weights = self.units.weights
        return np.ones(self.units.values.size) if weights is None else weights

    @property
    def wins(self) -> int:
        """The number of units on which the candidate's scores are larger."""
        return self._outcomes[0]

    @property
    def ties(self) -> int:
        """The number of units without a difference."""
        return self._outcomes[1]

    @property
    def losses(self) -> int:
        """The number of units on which the candidate's scores are smaller."""
        return self._outcomes[2]

    @property
    def n_changed(self) -> int:
        """The number of units with a difference."""
        return self.wins + self.losses

    @cached_property
    def _outcomes(self) -> tuple[int, int, int]:
        if self.outcomes is not None and self.clusters is None:
            return self.outcomes
        counts, values = self.units.counts, self.units.values
        wins, losses = (round(float(counts[side].sum())) for side in (values > 0, values < 0))
        return wins, self.n - wins - losses, losses

    @property
    def side_means(self) -> tuple[float, float]:
        """The mean score of the baseline and of the candidate."""
        return self.baseline.mean, self.candidate.mean

    @property
    def is_binary(self) -> bool:
        """Whether every score of both sides is 0 or 1; sums over clusters are not such scores."""
        return self.clusters is None and self.baseline.is_binary and self.candidate.is_binary

    @property
    def tolerance(self) -> float:
        """The difference up to which two scores of this size count as equal."""
        sides = (self.baseline, self.candidate)
        largest = max(max(side.maximum, -side.minimum) for side in sides)
        return base.TIE_TOLERANCE * max(1.0, largest)

    def swapped(self) -> Self:
        """The same pairs with the sides exchanged."""
        return type(self)(
            self.candidate,
            self.baseline,
            _negated(self.differences),
            None if self.clusters is None else _negated(self.clusters),
            None if self.outcomes is None else self.outcomes[::-1],
        )


def _negated(column: Column) -> Column:
    values, counts = 0.0 - column.values[::-1], column.counts[::-1]
    weights = None if column.weights is None else column.weights[::-1]
    return replace(column, values=values, counts=counts, mean=0.0 - column.mean, weights=weights)


# Each test below takes `Pairs` and an alternative, and returns the statistic and the p-value; each
# interval takes `Pairs` and a confidence level. Both are about differences of independent units.

# -- the sign-flip test


def sign_flip(
    pairs: Pairs, *, alternative: Alternative, midp: bool = False, **_options: object
) -> tuple[float, float]:
    """The exact sign-flip test; patterns that tie with the observed one count in full, or half."""
    return pairs.mean, sign_flip_pvalue(pairs.units, alternative=alternative, midp=midp)


def inverted_sign_flip(pairs: Pairs, *, confidence_level: float, **_options: object) -> Interval:
    """The mean differences that the default sign-flip test does not reject."""
    return sign_flip_interval(pairs.units, confidence_level=confidence_level)


def sign_flip_mc(
    pairs: Pairs, *, alternative: Alternative, n_resamples: int, seed: int
) -> tuple[float, float]:
    """Sign-flip test by Monte Carlo: the observed mean among means of randomly flipped differences.

    The p-value is (b + 1) / (n_resamples + 1) if b sign patterns are at least as extreme as the
    observed one; a mean that equals the observed one up to rounding is as extreme.

    References
    ----------
    .. [1] Phipson, Smyth (2010). Permutation p-values should never be zero. Statistical
           Applications in Genetics and Molecular Biology 9:39.
    """
    sizes, gains, losses = signed_sizes(pairs.units, pairs.tolerance)
    counts = (gains + losses).astype(np.int64)
    rng = np.random.default_rng(seed)
    rows, means = max(1, _BLOCK // sizes.size), np.empty(n_resamples)
    for start in range(0, n_resamples, rows):
        part = means[start : start + rows]
        part[:] = (2.0 * rng.binomial(counts, 0.5, (part.size, sizes.size)) - counts) @ sizes
    # The law is symmetric: mirrored draws make exchanging the sides exchange the alternatives.
    means *= (-1.0 if alternative == "less" else 1.0) / pairs.n
    return pairs.mean, _resampling_pvalue(pairs, means, alternative)


# -- the t test


def student_t(pairs: Pairs, *, alternative: Alternative, **_options: object) -> tuple[float, float]:
    """Paired t test: the mean difference over its standard error, on n - 1 degrees of freedom."""
    mean, n = pairs.mean, pairs.n
    if pairs.std == 0.0:
        wins = n if mean > 0 else 0
        return math.copysign(math.inf, mean), coin_pvalue(wins, n - wins, alternative)
    error, degrees = mean_error(pairs.units)
    t = mean / error
    tail = {"two-sided": -abs(t), "less": t, "greater": -t}[alternative]
    one_sided = float(stdtr(degrees, tail))
    return t, 2.0 * one_sided if alternative == "two-sided" else one_sided


def t_interval(pairs: Pairs, *, confidence_level: float, **_options: object) -> Interval:
    """The t interval of the mean difference, of clusters with CR2's standard error."""
    return student_t_interval(pairs.units, confidence_level)


# -- signs and ranks


def sign(pairs: Pairs, *, alternative: Alternative, **_options: object) -> tuple[float, float]:
    """Exact sign test: wins against losses, ties left out; the statistic is the number of wins."""
    return float(pairs.wins), coin_pvalue(pairs.wins, pairs.losses, alternative)


def signed_rank(
    pairs: Pairs, *, alternative: Alternative, zeros: ZeroMethod = "wilcox", **_options: object
) -> tuple[float, float]:
    """Wilcoxon's signed-rank test by SciPy; magnitudes that only rounding separates are tied."""
    from scipy import stats

    sizes, gains, losses = signed_sizes(pairs.units, pairs.tolerance)
    values, counts = np.append(-sizes[::-1], sizes), np.append(losses[::-1], gains)
    tied = replace(pairs.units, values=values, counts=counts).listed("a Wilcoxon test")
    result = stats.wilcoxon(tied, zero_method=zeros, alternative=alternative)
    return float(result.statistic), float(result.pvalue)


def signed_sizes(column: Column, tolerance: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The distinct magnitudes, and how often each is a gain, and a loss or without sign."""
    order = np.argsort(np.abs(column.values), kind="stable")
    sizes, counts = np.abs(column.values)[order], column.counts[order]
    distinct, totals = merge_ties(sizes, counts, tolerance)
    places = np.searchsorted(distinct + tolerance, sizes)
    gains = np.bincount(places, np.where(column.values[order] > 0.0, counts, 0.0), distinct.size)
    return distinct, gains.astype(np.float64), totals - gains


# -- the bootstrap


def bootstrap(
    pairs: Pairs, *, alternative: Alternative, n_resamples: int, seed: int
) -> tuple[float, float]:
    """Paired bootstrap test: the observed mean among means resampled from shifted differences.

    The differences are shifted to a mean of zero, the null hypothesis, and queries are drawn with
    replacement; the p-value counts as in `sign_flip_mc`. With a few dozen queries it rejects a true
    null hypothesis somewhat too often.

    References
    ----------
    .. [1] Efron, Tibshirani (1993). An Introduction to the Bootstrap, section 16.4.
    """
    column = _even_units(pairs)
    means = bootstrap_means(column, n_resamples=n_resamples, seed=seed) - column.mean
    return pairs.mean, _resampling_pvalue(pairs, means, alternative)


def _bootstrapped(method: str, pairs: Pairs, **options: Any) -> Interval:
    """The bootstrap interval of the mean difference, of a method of `bootstrap_interval`."""
    return bootstrap_interval(_even_units(pairs), method, **options)


def _even_units(pairs: Pairs) -> Column:
    """The units' differences, made to vary around the mean as if all units were of one size."""
    column = pairs.units
    if column.weights is None:
        return column
    values = column.values - column.mean * (column.weights - 1.0)
    order = np.argsort(values)
    return replace(column, values=values[order], counts=column.counts[order], weights=None)


def _resampling_pvalue(pairs: Pairs, means: FloatArray, alternative: Alternative) -> float:
    """The share of means at least as extreme as the observed one, which counts as one of them."""
    counts, values = pairs.units.counts, pairs.units.values
    margin = RESAMPLING_TOLERANCE * float(counts @ (np.abs(values) / pairs.n))
    outward = {"greater": np.positive, "less": np.negative, "two-sided": np.abs}[alternative]
    n_extreme = np.count_nonzero(outward(means) >= outward(pairs.mean) - margin)
    return (int(n_extreme) + 1) / (means.size + 1)


# -- what the tables hold


# Takes `Pairs`, of which at least one differs, and by keyword ``alternative``, ``n_resamples`` and
# ``seed``; returns the statistic and the p-value.
PairedTestFunction: TypeAlias = Callable[..., tuple[float, float]]
# Takes at least two `Pairs`, and by keyword ``confidence_level``, ``n_resamples`` and ``seed``.
PairedInterval: TypeAlias = Callable[..., Interval]


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A member of ``TESTS``: the function, and what its results mean.

    Parameters
    ----------
    function : callable
        Takes `Pairs` and by keyword ``alternative``, ``n_resamples`` and ``seed``; returns the
        statistic and the p-value. The differences of independent units are ``pairs.units``, a
        `Column`; ``pairs.units.listed()`` is an array of them.
    statistic : str
        What the statistic is, e.g. "mean difference".
    interval : str, optional
        The member of ``PAIRED_INTERVALS`` that belongs to the test, or "auto" for the default one,
        the inversion of the default test. If omitted, no interval belongs to the test, and whoever
        compares with it must choose one.

    Examples
    --------
    >>> TESTS["t"].interval, TESTS["t"].statistic
    ('t', 't statistic')
    """

    function: PairedTestFunction
    statistic: str = ""
    interval: str | None = None


_MEAN, _WINS, _RANKS = "mean difference", "number of wins", "signed-rank sum"

TESTS: Registry[PairedTest | PairedTestFunction] = Registry(
    "paired test",
    {
        "bootstrap": PairedTest(bootstrap, _MEAN, "percentile"),
        "mcnemar": PairedTest(binary.mcnemar, _WINS, "mcnemar"),
        "mcnemar-midp": PairedTest(partial(binary.mcnemar, ties=0.5), _WINS, "mcnemar-midp"),
        "sign": PairedTest(sign, _WINS, "auto"),
        "sign-flip": PairedTest(sign_flip, _MEAN, "auto"),
        "sign-flip-mc": PairedTest(sign_flip_mc, _MEAN, "auto"),
        "sign-flip-midp": PairedTest(partial(sign_flip, midp=True), _MEAN, "auto"),
        "t": PairedTest(student_t, "t statistic", "t"),
        "wilcoxon": PairedTest(signed_rank, _RANKS, "auto"),
        "wilcoxon-pratt": PairedTest(partial(signed_rank, zeros="pratt"), _RANKS, "auto"),
        "wilcoxon-zsplit": PairedTest(partial(signed_rank, zeros="zsplit"), _RANKS, "auto"),
    },
    also={"permutation": "sign-flip", "randomization": "sign-flip", "student": "t"},
)

PAIRED_INTERVALS: Registry[PairedInterval] = Registry(
    "interval of a paired difference",
    {
        "bca": partial(_bootstrapped, "bca"),
        "bonett-price": binary.bonett_price,
        "mcnemar": binary.inverted_mcnemar,
        "mcnemar-midp": partial(binary.inverted_mcnemar, ties=0.5),
        "newcombe": binary.newcombe,
        "percentile": partial(_bootstrapped, "percentile"),
        "sign-flip": inverted_sign_flip,
        "studentised": partial(_bootstrapped, "studentised"),
        "t": t_interval,
        "tango": binary.tango,
    },
)


# -- tests


def paired_test(
    baseline: npt.ArrayLike | Pairs,
    candidate: npt.ArrayLike | None = None,
    *,
    test: str = "auto",
    alternative: Alternative = "two-sided",
    n_resamples: int = 9999,
    seed: int = 0,
    clusters: npt.ArrayLike | None = None,
) -> PairedResult:
    """Test whether the mean paired difference, candidate minus baseline, is zero.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score per query, both sides in the same order. Queries with NaN on a side are left out.
        `Pairs` that are at hand may take the place of both.
    test : str
        A member of ``TESTS``. "auto" takes the exact sign-flip test, ties counted half if the
        differences are whole multiples of a step; for scores of 0 and 1 that is McNemar's mid-p.
    alternative : {"two-sided", "less", "greater"}
        "greater": the candidate's mean is the larger one.
    n_resamples, seed : int
        Used only by the tests that draw: "sign-flip-mc" and "bootstrap".
    clusters : array-like of shape (n_queries,), optional
        The cluster of each query, if some are not independent. The result is then of clusters:
        ``n``, ``wins``, ``ties`` and ``losses`` count them.

    Returns
    -------
    PairedResult
        With p = 1 if no query differs, and if there is only one query: then no test is made, and
        the statistic is NaN. What the statistic is says ``TESTS[test].statistic``.

    Raises
    ------
    UnknownNameError
        If there is no such test or alternative.
    DataError
        If no query has a score on both sides, or the scores do not suit the test.

    Examples
    --------
    >>> result = paired_test([0, 0, 0, 1, 0, 0], [1, 1, 1, 0, 1, 1])
    >>> result.test, result.pvalue, (result.wins, result.ties, result.losses)
    ('mcnemar-midp', 0.125, (5, 0, 1))
    >>> paired_test([0.31, 0.22, 0.17], [0.31, 0.22, 0.17]).pvalue
    1.0
    """
    base.check_alternative(alternative)
    pairs = Pairs.of(baseline, candidate, clusters)
    draws = {"n_resamples": base.check_resamples(n_resamples), "seed": base.check_seed(seed)}
    name = _default_test(pairs) if test == "auto" else test
    function = _entry_of(name).function
    # One pair has two patterns of signs, both as extreme as the one observed.
    statistic, pvalue = (math.nan if pairs.n == 1 else 0.0), 1.0
    if pairs.n > 1 and pairs.n_changed:
        statistic, pvalue = function(pairs, alternative=alternative, **draws)
    counts = pairs.n, pairs.wins, pairs.ties, pairs.losses
    return PairedResult(pairs.mean, statistic, pvalue, name, *counts)


def _entry_of(test: str) -> PairedTest:
    """The entry of a test; a function alone is one without an interval of its own."""
    entry = TESTS[test]
    return entry if isinstance(entry, PairedTest) else PairedTest(entry)


# Not the tests of ranks and signs: with lopsided differences of mean zero Wilcoxon's and the sign
# test rejected in 19 to 100 % of simulated samples of 500 queries, the sign-flip test in about 5 %.
def _default_test(pairs: Pairs) -> str:
    if pairs.is_binary:
        return "mcnemar-midp"
    return "sign-flip" if pairs.units.step is None else "sign-flip-midp"


# -- intervals


def paired_interval(
    baseline: npt.ArrayLike | Pairs,
    candidate: npt.ArrayLike | None = None,
    *,
    method: str = "auto",
    confidence_level: float = 0.95,
    n_resamples: int = 9999,
    seed: int = 0,
    clusters: npt.ArrayLike | None = None,
) -> Interval:
    """Interval of the mean paired difference, candidate minus baseline.

    Parameters
    ----------
    baseline, candidate : array-like of shape (n_queries,)
        One score per query, both sides in the same order. Queries with NaN on a side are left out.
        `Pairs` that are at hand may take the place of both.
    method : str
        A member of ``PAIRED_INTERVALS``. "auto" inverts the default test: it contains every
        difference that `paired_test` would not reject, so that it excludes 0 exactly if p is at
        most ``1 - confidence_level``.
    confidence_level : float
        Between 0 and 1.
    n_resamples, seed : int
        Used only by the methods that draw.
    clusters : array-like of shape (n_queries,), optional
        The cluster of each query, if some are not independent.

    Returns
    -------
    Interval
        Limits are NaN, with a note, if there is only one query. If no query differs, a note says
        so: scores of 0 and 1 keep an interval with a width, the interval of other scores has none.

    Raises
    ------
    UnknownNameError
        If there is no such method.
    DataError
        If no query has a score on both sides, or the scores do not suit the method.

    Examples
    --------
    >>> interval = paired_interval([0] * 20, [1] * 6 + [0] * 14)
    >>> interval.method, round(interval.low, 3), round(interval.high, 3)
    ('mcnemar-midp', 0.06, 0.517)
    """
    level, pairs = base.check_level(confidence_level), Pairs.of(baseline, candidate, clusters)
    draws = {"n_resamples": base.check_resamples(n_resamples), "seed": base.check_seed(seed)}
    if method == "auto":
        method = "mcnemar-midp" if pairs.is_binary else "sign-flip"
    function = PAIRED_INTERVALS[method]
    # With one pair there is no spread to build on, and no sign-flip test rejects anything.
    if pairs.n == 1:
        unit = "query" if pairs.clusters is None else "cluster"
        return Interval.unknown(pairs.mean, method, level, f"one {unit} in common: no interval")
    interval = function(pairs, confidence_level=level, **draws)
    if pairs.n_changed:
        return interval
    note = "without spread the interval has no width"
    if interval.high > interval.low:  # as of scores of 0 and 1
        note = "the interval covers differences that so few may miss"
    return replace(interval, notes=(f"identical on all {pairs.n} pairs: {note}",))


def interval_of_test(test: str) -> str:
    """The interval that belongs to a test: a member of ``PAIRED_INTERVALS``, or "auto"."""
    if test == "auto":
        return "auto"
    interval = _entry_of(test).interval
    if interval is None:
        raise DataError(
            f"the test {test!r} has no interval of its own; name it in the entry: "
            f'TESTS.add({test!r}, PairedTest(function, interval="t"))'
        )
    return interval
