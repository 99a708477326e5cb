"""What can be asked of a comparison besides: differences, tests, and that nothing got worse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import pandas as pd

from rageval_report._registry import Registry
from rageval_report.analysis.comparing.metric_comparison import ComparisonLike
from rageval_report.analysis.comparing.pairing import Pairing, fill_missing
from rageval_report.analysis.gates.figures import GateFigure, Measurement, Range
from rageval_report.scores import Metric
from rageval_report.stats import equivalence_test
from rageval_report.stats.pairs.equivalence import EquivalenceResult
from rageval_report.types import FloatArray

NO_REGRESSION = "no_regression"


@dataclass(frozen=True, eq=False)
class Pair:
    """One metric of a baseline and a candidate: a row of a comparison, and what it stands on."""

    comparison: ComparisonLike
    pairing: Pairing
    metric: Metric
    twin: Metric

    @property
    def row(self) -> pd.Series:
        """The row of the comparison's table."""
        frame = self.comparison.frame
        is_ours = frame["metric"] == self.metric.name
        is_theirs = frame["candidate"] == self.pairing.candidate.name
        return frame[is_ours & is_theirs].iloc[0]

    def values(self) -> tuple[FloatArray, FloatArray]:
        """Both sides' scores, with missing ones treated as in the comparison."""
        both = self.pairing.both(self.metric, self.twin)
        return fill_missing(*both, self.metric, self.comparison.plan.missing)

    def measured(self, value: float, low: float = math.nan, high: float = math.nan) -> Measurement:
        """A value of this pair."""
        row = self.row
        return Measurement(value, low, high, int(row["n"]), int(row["n_dropped"]))


def _difference(pair: Pair) -> Measurement:
    row = pair.row
    return pair.measured(*(float(row[name]) for name in ("difference", "ci_low", "ci_high")))


def _field(name: str, pair: Pair) -> Measurement:
    row = pair.row
    return pair.measured(float(row[name]) if row["n"] else math.nan)


def _no_regression(pair: Pair, margin: float) -> Measurement:
    """The difference with the interval of the test, which is not that of the comparison."""
    test = non_inferiority(pair, margin)
    if test is None:
        return pair.measured(math.nan)
    low, high = test.low, test.high
    if not pair.metric.greater_is_better:
        low, high = -high, -low
    return pair.measured(float(pair.row["difference"]), low, high)


def non_inferiority(pair: Pair, margin: float) -> EquivalenceResult | None:
    """The test that the candidate is not worse by the margin or more; None without a pair."""
    if not pair.row["n"]:
        return None
    before, after = pair.values()
    sides = (before, after) if pair.metric.greater_is_better else (after, before)
    alpha = pair.comparison.plan.alpha
    return equivalence_test(*sides, margin, alpha=alpha, alternative="non-inferior")


def _of_a_difference(metric: Metric) -> Range | None:
    if metric.bounds is None:
        return None
    width = metric.bounds[1] - metric.bounds[0]
    return -width, width


def _pair_figure(what: str, name: str, lies: Range) -> GateFigure:
    return GateFigure(what, partial(_field, name), "pair", lies=lambda _metric: lies)


_SHARE, _COUNT = (0.0, 1.0), (0.0, math.inf)

PAIR_FIGURES: Registry[GateFigure] = Registry(
    "figure",
    {
        NO_REGRESSION: GateFigure(
            "the candidate is not worse by the margin or more (non-inferiority)",
            _no_regression,
            "pair",
            ("metric", "margin?"),
            _of_a_difference,
        ),
        "difference": GateFigure(
            "candidate minus baseline", _difference, "pair", lies=_of_a_difference
        ),
        "pvalue": _pair_figure("the p-value of the difference", "pvalue", _SHARE),
        "pvalue_adjusted": _pair_figure(
            "the same, adjusted over the comparison's table", "pvalue_adjusted", _SHARE
        ),
        "wins": _pair_figure("on how many queries the candidate is better", "wins", _COUNT),
        "losses": _pair_figure("on how many queries the candidate is worse", "losses", _COUNT),
        "ties": _pair_figure("on how many queries both are equal", "ties", _COUNT),
    },
)
"""The figures that need a baseline, by name; those of an evaluation are asked of the candidate."""
