"""The figures that a rule can ask of a comparison: differences, tests, non-inferiority."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import pandas as pd

from rageval_report._registry import Registry
from rageval_report.analysis.comparing.metric_comparison import ComparisonLike
from rageval_report.analysis.comparing.pairing import Pairing
from rageval_report.analysis.gates.figures import (
    GateFigure,
    Measurement,
    QueriesBehind,
    ValueRange,
)
from rageval_report.scores import Metric
from rageval_report.stats import equivalence_test
from rageval_report.stats.pairs.equivalence import EquivalenceResult
from rageval_report.types import FloatArray

NO_REGRESSION = "no_regression"


@dataclass(frozen=True, eq=False)
class ComparedPair:
    """One metric of a baseline and a candidate: a row of a comparison, and its scores.

    Parameters
    ----------
    comparison : ComparisonLike
        The comparison.
    pairing : Pairing
        The baseline beside this candidate.
    metric, twin : Metric
        The metric as the baseline and as the candidate knows it.
    """

    comparison: ComparisonLike
    pairing: Pairing
    metric: Metric
    twin: Metric

    @property
    def row(self) -> pd.Series:
        """The row of the comparison's table."""
        frame = self.comparison.frame
        is_metric = frame["metric"] == self.metric.name
        is_candidate = frame["candidate"] == self.pairing.candidate.name
        return frame[is_metric & is_candidate].iloc[0]

    def values(self) -> tuple[FloatArray, FloatArray]:
        """Both sides' scores, with missing ones treated as in the comparison."""
        return self.pairing.treated(self.metric, self.twin, self.comparison.plan.missing)

    def measurement(
        self, value: float, low: float = math.nan, high: float = math.nan
    ) -> Measurement:
        """A value of this pair, with its interval if there is one."""
        row = self.row
        return Measurement(value, low, high, int(row["n"]), int(row["n_dropped"]))


def _difference(pair: ComparedPair) -> Measurement:
    row = pair.row
    return pair.measurement(*(float(row[name]) for name in ("difference", "ci_low", "ci_high")))


def _table_value(column: str, pair: ComparedPair) -> Measurement:
    row = pair.row
    # Without a pair the table counts 0 losses, and a rule such as "losses(f1) <= 5" would hold.
    return pair.measurement(float(row[column]) if row["n"] else math.nan)


def _no_regression(pair: ComparedPair, margin: float) -> Measurement:
    """The difference with the interval of the test, which is not that of the comparison."""
    test = non_inferiority(pair, margin)
    if test is None:
        return pair.measurement(math.nan)
    low, high = test.low, test.high
    # Where lower is better the test exchanged the sides: its interval is baseline minus candidate.
    if not pair.metric.greater_is_better:
        low, high = -high, -low
    return pair.measurement(float(pair.row["difference"]), low, high)


def non_inferiority(pair: ComparedPair, margin: float) -> EquivalenceResult | None:
    """The test that the candidate is not worse by the margin; None if no query is paired."""
    if not pair.row["n"]:
        return None
    before, after = pair.values()
    # The test asks whether its second side is not lower; if lower is better, the sides swap.
    sides = (before, after) if pair.metric.greater_is_better else (after, before)
    alpha = pair.comparison.plan.alpha
    return equivalence_test(*sides, margin, alpha=alpha, alternative="non-inferior")


def _difference_range(metric: Metric) -> ValueRange | None:
    if metric.bounds is None:
        return None
    width = metric.bounds[1] - metric.bounds[0]
    return -width, width


_SHARE, _COUNT = (0.0, 1.0), (0.0, math.inf)


def _table_figure(
    description: str,
    column: str,
    value_range: ValueRange,
    queries: QueriesBehind | None = "regressions",
) -> GateFigure:
    """A figure that is a column of the comparison's table."""
    return GateFigure(
        description,
        partial(_table_value, column),
        of="pair",
        value_range=lambda _metric: value_range,
        queries=queries,
    )


PAIR_FIGURES: Registry[GateFigure] = Registry(
    "figure",
    {
        NO_REGRESSION: GateFigure(
            "the candidate is not worse by the margin or more (non-inferiority)",
            _no_regression,
            of="pair",
            parameters=("metric", "margin?"),
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
        "pvalue": _table_figure("the p-value of the difference", "pvalue", _SHARE),
        "pvalue_adjusted": _table_figure(
            "the same, adjusted over the comparison's table", "pvalue_adjusted", _SHARE
        ),
        "wins": _table_figure(
            "the number of queries on which the candidate is better", "wins", _COUNT, queries=None
        ),
        "losses": _table_figure(
            "the number of queries on which the candidate is worse", "losses", _COUNT
        ),
        "ties": _table_figure(
            "the number of queries on which both are equal", "ties", _COUNT, queries=None
        ),
    },
)
"""The figures that need a baseline, by name; those of an evaluation describe the candidate."""
