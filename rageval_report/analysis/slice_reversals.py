"""Slices whose difference is shown to have the other sign than that of all other queries.

Of a few slices one nearly always differs in the other direction, by chance. A reversal is reported
only if both directions are shown: that of the slice by its own queries, and the opposite one by all
others. Both tests must reject, so the p-value of a reversal is the larger of the two, and needs no
correction for being made of two (Berger 1982). It is corrected over all rows of the table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from rageval_report.analysis.comparing.metric_comparison import ComparisonPlan, MetricComparison
from rageval_report.analysis.comparing.verdicts import AdjustedPvalues, verdict
from rageval_report.analysis.sentence_parts import correction_text, pvalue_text
from rageval_report.stats.base import PairedResult
from rageval_report.stats.pairs.paired import run_test
from rageval_report.stats.pairs.paired_scores import PairedScores


@dataclass(frozen=True, eq=False)
class ComparedSlice:
    """One metric of two runs on the queries of a slice, beside all other queries.

    Parameters
    ----------
    label : str
        The value that the queries of the slice have in common.
    row : MetricComparison
        The metric on these queries.
    overall : float
        The mean difference of all queries.
    others : PairedResult, optional
        The test of the queries outside the slice, if the slice is opposed to the whole; None if it
        is not, or if they are too few for a test.
    """

    label: str
    row: MetricComparison
    overall: float
    others: PairedResult | None = None

    @property
    def is_opposed(self) -> bool:
        """Whether the slice is tested, and differs in the other direction than all queries."""
        return is_opposed(self.row, self.overall)

    @property
    def reversal_pvalue(self) -> float:
        """The p-value of a reversal: 1 if the directions agree, NaN if a test is missing."""
        if not self.is_opposed:
            return math.nan if math.isnan(self.row.test.pvalue) else 1.0
        return math.nan if self.others is None else max(self.row.test.pvalue, self.others.pvalue)


@dataclass(frozen=True)
class SliceTable:
    """The facts about a table of slices that its sentences need."""

    by: str
    correction: str
    family_size: int
    plan: ComparisonPlan


def is_opposed(row: MetricComparison, overall: float) -> bool:
    """Whether a slice is tested, and differs in the other direction than all queries together."""
    return row.test.difference * overall < 0 and math.isfinite(row.test.pvalue)


def test_of_others(pairs: PairedScores, plan: ComparisonPlan) -> PairedResult | None:
    """The test of the queries outside a slice, by their independent units; None if too few."""
    if pairs.n < plan.fewest_units:
        return None
    return run_test(pairs, test=plan.test, n_resamples=plan.n_resamples, seed=plan.seed)


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
        f"{part.overall:+.3f}, and {_others_part(part, reversal_pvalue, table)}"
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
