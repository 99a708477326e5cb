"""The figures that a rule can ask of a comparison: differences, tests, non-inferiority."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial

import pandas as pd

from rageval_report._registry import Registry
from rageval_report.analysis.gates.columns import Measurement, mark_without_spread
from rageval_report.analysis.gates.figures import GateFigure, QueriesBehind, ValueRange
from rageval_report.analysis.paired_metric import (
    ComparisonLike,
    ComparisonPlan,
    compare_with_margin,
    what_strict_lacks,
)
from rageval_report.analysis.pairing import NamedRun, Pairing
from rageval_report.scores import Metric
from rageval_report.stats.equivalence import (
    EQUIVALENCE_METHODS,
    STRICT,
    EquivalenceResult,
)
from rageval_report.stats.pairs import Pairs

NO_REGRESSION = "no_regression"
MARGIN_METHOD = "margin_method"


@dataclass(frozen=True, eq=False)
class PlannedPairing:
    """Two runs in memory, with the settings of their comparison.

    Parameters
    ----------
    pairing : Pairing
        The baseline beside the candidate.
    plan : ComparisonPlan
        The treatment of missing scores, and the independent units.
    """

    pairing: Pairing
    plan: ComparisonPlan

    @property
    def candidate(self) -> NamedRun:
        """The candidate."""
        return self.pairing.candidate

    @property
    def metrics(self) -> list[tuple[Metric, Metric]]:
        """The metrics that both have, as the baseline and as the candidate knows them."""
        return self.pairing.metrics

    def by_unit(self, metric: Metric) -> Pairs:
        """One metric, one pair per independent unit of the queries that both scored."""
        twin = next(theirs for ours, theirs in self.metrics if ours.name == metric.name)
        plan = self.plan
        return self.pairing.independent_pairs(metric, twin, plan.missing, plan.units)


@dataclass(frozen=True, eq=False)
class ComparedPair:
    """One metric of a baseline and a candidate: a row of a comparison, and its scores.

    Parameters
    ----------
    comparison : ComparisonLike
        The comparison.
    pairing : PlannedPairing
        The baseline beside this candidate.
    metric : Metric
        The metric as the baseline knows it.
    """

    comparison: ComparisonLike
    pairing: PlannedPairing
    metric: Metric

    @property
    def row(self) -> pd.Series:
        """The row of the comparison's table."""
        frame = self.comparison.frame
        is_metric = frame["metric"] == self.metric.name
        is_candidate = frame["candidate"] == self.pairing.candidate.name
        return frame[is_metric & is_candidate].iloc[0]

    @cached_property
    def by_unit(self) -> Pairs:
        """One pair per independent unit, with missing scores treated as in the comparison."""
        return self.pairing.by_unit(self.metric)

    def measurement(
        self, value: float, low: float = math.nan, high: float = math.nan
    ) -> Measurement:
        """A value of this pair, with its interval if there is one."""
        row, units = self.row, self.comparison.plan.units
        return Measurement(
            *(value, low, high, int(row["n"]), int(row["n_dropped"])),
            n_clusters=self.by_unit.n if units.are_clusters else 0,
        )

    def tested(self, measurement: Measurement) -> Measurement:
        """The same, undecidable if there are too few units for a test."""
        plan, n = self.comparison.plan, self.by_unit.n
        if n == 0 or n >= plan.fewest_units:
            return measurement
        why = f"too few {plan.units.word} for a test: {n}, at least {plan.fewest_units} are needed"
        return replace(measurement, undecidable=why)


def _difference(pair: ComparedPair) -> Measurement:
    row = pair.row
    numbers = (float(row[name]) for name in ("difference", "ci_low", "ci_high"))
    return pair.tested(mark_without_spread(pair.measurement(*numbers), "differences"))


def _pvalue(column: str, pair: ComparedPair) -> Measurement:
    return pair.tested(pair.measurement(float(pair.row[column])))


def _count(column: str, pair: ComparedPair) -> Measurement:
    row = pair.row
    # Without a pair the table counts 0 losses, and a rule such as "losses(f1) <= 5" would hold.
    return pair.measurement(float(row[column]) if row["n"] else math.nan)


def _no_regression(
    pair: ComparedPair, margin: float, margin_method: str | None = None
) -> Measurement:
    """The difference with the interval of the test, which is not that of the comparison."""
    difference = float(pair.row["difference"])
    test = non_inferiority(pair, margin, margin_method)
    if test is None:
        return pair.tested(pair.measurement(difference))
    low, high = test.low, test.high
    # Where lower is better the test exchanged the sides: its interval is baseline minus candidate.
    if not pair.metric.greater_is_better:
        low, high = -high, -low
    return replace(pair.measurement(difference, low, high), notes=test.notes)


def non_inferiority(
    pair: ComparedPair, margin: float, margin_method: str | None = None
) -> EquivalenceResult | None:
    """The test that the candidate is not worse by the margin; None if there are too few units.

    The method is that of the rule, or else that of the comparison.
    """
    plan, pairs = pair.comparison.plan, pair.by_unit
    if pairs.n < plan.fewest_units:
        return None
    # The test asks whether its second side is not lower; if lower is better, the sides swap.
    sides = pairs if pair.metric.greater_is_better else pairs.swapped()
    return compare_with_margin(
        sides,
        pair.metric,
        margin,
        method=margin_method or plan.margin_method,
        alpha=plan.alpha_of_one,
        alternative="non-inferior",
    )


def problem_of_method(metric: Metric, margin_method: str) -> str:
    """Why no_regression cannot test a metric by a method; empty if it can."""
    return what_strict_lacks(metric) if margin_method == STRICT else ""


def _difference_range(metric: Metric) -> ValueRange | None:
    if metric.bounds is None:
        return None
    width = metric.bounds[1] - metric.bounds[0]
    return -width, width


_SHARE, _COUNT = (0.0, 1.0), (0.0, math.inf)


def _pvalue_figure(description: str, column: str) -> GateFigure:
    """A p-value in the comparison's table."""
    return GateFigure(
        description,
        partial(_pvalue, column),
        of="pair",
        value_range=lambda _metric: _SHARE,
        queries="regressions",
    )


def _count_figure(
    description: str, column: str, queries: QueriesBehind | None = None
) -> GateFigure:
    """A count of queries in the comparison's table; it needs no test, so any number will do."""
    return GateFigure(
        description,
        partial(_count, column),
        of="pair",
        value_range=lambda _metric: _COUNT,
        queries=queries,
    )


PAIR_FIGURES: Registry[GateFigure] = Registry(
    "figure",
    {
        NO_REGRESSION: GateFigure(
            "the candidate is not worse by the margin or more (non-inferiority)",
            _no_regression,
            of="pair",
            parameters=("metric", "margin?", "margin_method?"),
            choices={MARGIN_METHOD: EQUIVALENCE_METHODS},
            value_range=_difference_range,
            queries="regressions",
        ),
        "difference": GateFigure(
            "candidate minus baseline",
            _difference,
            of="pair",
            value_range=_difference_range,
            queries="regressions",
        ),
        "pvalue": _pvalue_figure("the p-value of the difference", "pvalue"),
        "pvalue_adjusted": _pvalue_figure(
            "the same, adjusted over the comparison's table", "pvalue_adjusted"
        ),
        "wins": _count_figure("the number of queries on which the candidate is better", "wins"),
        "losses": _count_figure(
            "the number of queries on which the candidate is worse", "losses", "regressions"
        ),
        "ties": _count_figure("the number of queries on which both are equal", "ties"),
    },
)
"""The figures that need a baseline, by name; those of an evaluation describe the candidate."""
