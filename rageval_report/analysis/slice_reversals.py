"""Slices whose difference is shown to have the other sign than that of all other queries.

Of a few slices one nearly always differs in the other direction, by chance. A reversal is reported
only if both directions are shown: that of the slice by its own queries, and the opposite one by all
others. Both tests must reject, so the p-value of a reversal is the larger of the two, and needs no
correction for being made of two (Berger 1982). It is corrected over all rows of the table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rageval_report.analysis.comparing.metric_comparison import ComparisonPlan, MetricComparison
from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.analysis.comparing.verdicts import AdjustedPvalues, verdict
from rageval_report.analysis.sentence_parts import correction_text, pvalue_text
from rageval_report.scores import Metric
from rageval_report.stats.base import PairedResult
from rageval_report.stats.columns import Column
from rageval_report.stats.pairs import paired_test
from rageval_report.types import FloatArray

# Of these tests Hoeffding's inequality bounds the p-value: half ties only lower it.
_BOUNDED_TESTS = frozenset({"auto", "sign-flip", "sign-flip-midp"})
# No p-value that these corrections return falls if one that they take rises.
_MONOTONE = frozenset({"none", "bonferroni", "holm", "hochberg", "bh", "by"})
# Sums of differences in another order differ by less than this, relatively.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class AllQueries:
    """All queries of a table of slices, on one metric of two runs.

    Parameters
    ----------
    pairing : Pairing
        The runs.
    metric : (Metric, Metric)
        The metric as the baseline and as the candidate knows it.
    plan : ComparisonPlan
        The settings.
    difference : float
        The mean difference of all queries.
    n, total, squares
        The number of the differences, their sum, and the sum of their squares.
    """

    pairing: Pairing
    metric: tuple[Metric, Metric]
    plan: ComparisonPlan
    difference: float
    n: int
    total: float
    squares: float

    @classmethod
    def of(
        cls,
        pairing: Pairing,
        metric: tuple[Metric, Metric],
        rows: Sequence[MetricComparison],
        plan: ComparisonPlan,
    ) -> AllQueries:
        """What all slices of a metric are together."""
        columns = [row.pairs.differences for row in rows]
        totals, squares = zip(*map(_total_and_squares, columns), strict=True)
        n, total = sum(column.n for column in columns), math.fsum(totals)
        return cls(pairing, metric, plan, total / n if n else math.nan, n, total, sum(squares))

    @property
    def are_bounded(self) -> bool:
        """Whether a p-value of some of the queries can be bounded without the test."""
        is_known = self.plan.test in _BOUNDED_TESTS and not self.plan.units.are_clusters
        return is_known and math.isfinite(self.squares)

    def test_others(self, rows: Any) -> PairedResult | None:
        """The test of all queries but those of a slice; None if they are too few."""
        plan, outside = self.plan, self.pairing.without(rows)
        pairs = outside.independent_pairs(*self.metric, plan.missing, plan.units)
        if pairs.n < plan.fewest_units:
            return None
        return paired_test(pairs, test=plan.test, n_resamples=plan.n_resamples, seed=plan.seed)


def _total_and_squares(differences: Column) -> tuple[float, float]:
    """The sum of the differences, and the sum of their squares; infinite if nothing is bounded."""
    if not differences.n:
        return 0.0, 0.0
    with np.errstate(over="ignore"):
        squares = float((np.square(differences.values) * differences.counts).sum())
    return differences.mean * differences.n, squares


@dataclass(frozen=True, eq=False)
class ComparedSlice:
    """One metric of two runs on the queries of a slice, beside all other queries.

    Parameters
    ----------
    label : str
        The value that the queries of the slice have in common.
    row : MetricComparison
        The metric on these queries.
    rows : ndarray of int, or str
        Where the queries are among the common ones, or the group of a scan.
    whole : AllQueries
        The queries of all slices.
    """

    label: str
    row: MetricComparison
    rows: Any
    whole: AllQueries

    @property
    def is_opposed(self) -> bool:
        """Whether the slice is tested, and differs in the other direction than all queries."""
        test = self.row.test
        return test.difference * self.whole.difference < 0 and math.isfinite(test.pvalue)

    @cached_property
    def others(self) -> PairedResult | None:
        """The test of the queries outside the slice; None if they are too few for one."""
        return self.whole.test_others(self.rows)

    @property
    def reversal_pvalue(self) -> float:
        """The p-value of a reversal: 1 if the directions agree, NaN if a test is missing."""
        if not self.is_opposed:
            return math.nan if math.isnan(self.row.test.pvalue) else 1.0
        return math.nan if self.others is None else max(self.row.test.pvalue, self.others.pvalue)

    @property
    def reversal_range(self) -> tuple[float, float]:
        """Two numbers between which the p-value of a reversal lies, without a further test.

        The smaller one is the p-value of the slice. The larger one is that p-value too, or a bound
        on the p-value of the other queries if this is larger (Hoeffding 1963: a sum of random signs
        reaches s with a probability of at most ``exp(-s**2 / (2 q))``, where q is the sum of
        squares).
        """
        n_others = self.whole.n - self.row.pairs.differences.n
        is_known = not self.is_opposed or n_others < self.whole.plan.fewest_units
        if is_known or not self.whole.are_bounded:
            exact = self.reversal_pvalue
            return exact, exact
        own_total, own_squares = _total_and_squares(self.row.pairs.differences)
        total = abs(self.whole.total - own_total) * (1.0 - _ROUNDING)
        squares = self.whole.squares - own_squares
        bound = 2.0 * math.exp(-((total / math.sqrt(squares)) ** 2) / 2.0) if squares > 0 else 1.0
        low = self.row.test.pvalue
        return low, max(low, min(bound, 1.0))


@dataclass(frozen=True)
class SliceTable:
    """The facts about a table of slices that its sentences need."""

    by: str
    correction: str
    family_size: int
    plan: ComparisonPlan


def adjusted_reversals(
    slices: Sequence[ComparedSlice],
    correct: Callable[[FloatArray], FloatArray],
    correction: str,
) -> FloatArray:
    """The corrected p-values of the reversals of all slices.

    The test of all queries but those of a slice costs far more than that of the slice. It is made
    only where it can matter: as long as the correction gives the same for the smallest and for the
    largest possible p-values, no more of them are needed.

    Parameters
    ----------
    slices : sequence of ComparedSlice
        The slices.
    correct : callable
        Takes the p-values of all slices and returns the corrected ones.
    correction : str
        The name of the correction.
    """
    if correction not in _MONOTONE:
        return correct(np.array([part.reversal_pvalue for part in slices], dtype=np.float64))
    low, high = np.array([part.reversal_range for part in slices], dtype=np.float64).T.copy()
    while True:
        adjusted = correct(low)
        is_open = low < high
        differs = is_open & (adjusted != correct(high))
        if not differs.any():
            # What is known may still depend on what is open.
            same = np.array_equal(adjusted, correct(high), equal_nan=True)
            differs = np.zeros_like(is_open) if same else is_open
        if not differs.any():
            return adjusted
        for place in np.flatnonzero(differs).tolist():
            low[place] = high[place] = slices[place].reversal_pvalue


def opposed_verdict(
    part: ComparedSlice, pvalue: float, reversal_pvalue: float, table: SliceTable
) -> str | None:
    """The verdict on a slice that is shown to differ in the other direction than the whole.

    Parameters
    ----------
    part : ComparedSlice
        The slice.
    pvalue, reversal_pvalue : float
        The corrected p-values of its difference, and of the reversal.
    table : SliceTable
        The table.

    Returns
    -------
    str or None
        None if the directions agree, or the slice's own difference is not shown.
    """
    if not (part.is_opposed and pvalue <= table.plan.alpha):
        return None
    adjusted = AdjustedPvalues(pvalue, math.nan, table.correction, table.family_size)
    sentence = verdict(part.row.finding(adjusted, table.plan))
    return (
        f"where {table.by} is {part.label}, {sentence}; over all queries it is "
        f"{part.whole.difference:+.3f}, and {_others_part(part, reversal_pvalue, table)}"
    )


def _others_part(part: ComparedSlice, reversal_pvalue: float, table: SliceTable) -> str:
    """Whether the other queries are shown to differ in the opposite direction."""
    if part.others is None:
        return "the other queries are too few for a test"
    difference = f"{part.others.difference:+.3f}"
    if reversal_pvalue <= table.plan.alpha:
        name = "" if table.family_size == 1 else f"{correction_text(table.correction)} "
        return (
            f"the other queries show the opposite: {difference} "
            f"({name}p {pvalue_text(reversal_pvalue)})"
        )
    return (
        f"the other queries do not show the opposite: {difference} "
        f"(p {pvalue_text(part.others.pvalue)} before correction)"
    )
