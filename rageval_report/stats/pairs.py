"""Two pipelines' scores of the same queries: the pairs, their tests and their intervals.

A new test or interval is a function and a line in its table below; from outside the package:
``TESTS.add("my_test", PairedTest(my_test, interval="t"))``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Self, TypeAlias

import numpy as np
import numpy.typing as npt

from rageval_report._registry import Registry
from rageval_report.errors import DataError
from rageval_report.stats import base, binary, paired_tests
from rageval_report.stats.base import Alternative, Interval, PairedResult
from rageval_report.stats.columns import Column, difference_column
from rageval_report.stats.units import Units
from rageval_report.types import FloatArray


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

    @property
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
        "bootstrap": PairedTest(paired_tests.bootstrap, _MEAN, "percentile"),
        "mcnemar": PairedTest(binary.mcnemar, _WINS, "mcnemar"),
        "mcnemar-midp": PairedTest(partial(binary.mcnemar, ties=0.5), _WINS, "mcnemar-midp"),
        "sign": PairedTest(paired_tests.sign, _WINS, "auto"),
        "sign-flip": PairedTest(paired_tests.sign_flip, _MEAN, "auto"),
        "sign-flip-mc": PairedTest(paired_tests.sign_flip_mc, _MEAN, "auto"),
        "sign-flip-midp": PairedTest(partial(paired_tests.sign_flip, midp=True), _MEAN, "auto"),
        "t": PairedTest(paired_tests.student_t, "t statistic", "t"),
        "wilcoxon": PairedTest(paired_tests.signed_rank, _RANKS, "auto"),
        "wilcoxon-pratt": PairedTest(
            partial(paired_tests.signed_rank, zeros="pratt"), _RANKS, "auto"
        ),
        "wilcoxon-zsplit": PairedTest(
            partial(paired_tests.signed_rank, zeros="zsplit"), _RANKS, "auto"
        ),
    },
)

PAIRED_INTERVALS: Registry[PairedInterval] = Registry(
    "interval of a paired difference",
    {
        "bca": partial(paired_tests.bootstrapped, "bca"),
        "bonett-price": binary.bonett_price,
        "mcnemar": binary.inverted_mcnemar,
        "mcnemar-midp": partial(binary.inverted_mcnemar, ties=0.5),
        "newcombe": binary.newcombe,
        "percentile": partial(paired_tests.bootstrapped, "percentile"),
        "sign-flip": paired_tests.inverted_sign_flip,
        "studentised": partial(paired_tests.bootstrapped, "studentised"),
        "t": paired_tests.t_interval,
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
    """The interval that belongs to a test: a member of ``PAIRED_INTERVALS``, or "auto".

    Raises
    ------
    DataError
        If the entry of the test names no interval: no other test's interval stands in for it.

    Examples
    --------
    >>> interval_of_test("t"), interval_of_test("auto")
    ('t', 'auto')
    """
    if test == "auto":
        return "auto"
    interval = _entry_of(test).interval
    if interval is None:
        raise DataError(
            f"the test {test!r} has no interval of its own; choose one with interval=, "
            f'or name it in the entry: TESTS.add({test!r}, PairedTest(function, interval="t"))'
        )
    return interval
