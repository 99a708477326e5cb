"""One metric of two runs, tested: the numbers behind one row of a comparison."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd

from rageval_report.analysis.arguments import usual_sizes
from rageval_report.analysis.comparing.margins import compare_with_margin
from rageval_report.analysis.comparing.pairing import (
    LoneScores,
    MissingTreatment,
    Pairing,
    count_missing,
    extreme_differences,
    pairs_of,
)
from rageval_report.analysis.comparing.verdicts import (
    CLUSTERS,
    AdjustedPvalues,
    LossSize,
    MetricFinding,
    NeededUnits,
    find_rare_losses,
    rare_loss_numbers,
    size_of_loss,
)
from rageval_report.analysis.sentence_parts import filled_notes, number
from rageval_report.scores import Metric
from rageval_report.stats.base import Interval, PairedResult
from rageval_report.stats.effects import EFFECTS, RareLossBound, hidden_losses
from rageval_report.stats.equivalence import EquivalenceResult, MarginMethod
from rageval_report.stats.pairs import (
    Pairs,
    interval_of_test,
    paired_interval,
    paired_test,
)
from rageval_report.stats.planning import PlannedTest
from rageval_report.stats.pooling import gain_of_noise
from rageval_report.stats.units import QUERIES, Units, fewest_units
from rageval_report.types import BoolArray, FloatArray, IntArray

# One difference that is too small to matter, or one per metric.
Margin = float | Mapping[str, float]

# From this share of dropped pairs on a note gives bounds. If a run fails on hard queries, dropping
# 10 % of the pairs makes 18.8 % false alarms at a level of 5 % (simulated).
_MANY_DROPPED = 0.05

# The name of the test, and of the interval, where there are too few units for one.
UNTESTED = "none"


@dataclass(frozen=True)
class ComparisonPlan:
    """The settings that every row of a comparison shares; see `compare`.

    ``units`` are those of the rows of the baseline. ``tried`` is the number of variants of which
    the candidate is the best; 1 if nothing was chosen.
    """

    test: str = "auto"
    interval: str = "auto"
    confidence_level: float = 0.95
    missing: MissingTreatment = "drop"
    margin: Margin | None = None
    n_resamples: int = 9999
    seed: int = 0
    units: Units = QUERIES
    margin_method: MarginMethod = "auto"
    rare_loss: LossSize | None = None
    tried: int = 1

    @property
    def alpha(self) -> float:
        """The error rate that belongs to the confidence level."""
        # Rounded, because 1 - 0.95 is 0.050000000000000044.
        return round(1.0 - self.confidence_level, 12)

    @property
    def alpha_of_one(self) -> float:
        """The error rate of each variant that was tried, so that all of them together keep theirs.

        Bonferroni's, because it holds however alike the variants are.
        """
        return self.alpha / self.tried

    @property
    def level_of_one(self) -> float:
        """The confidence level of each variant's interval, likewise."""
        return self.confidence_level if self.tried == 1 else 1.0 - self.alpha_of_one

    @cached_property
    def fewest_units(self) -> int:
        """The fewest independent units that are tested; of fewer only estimates are given."""
        return fewest_units(self.alpha_of_one)

    @property
    def interval_method(self) -> str:
        """The chosen interval, or the one that belongs to the test."""
        if self.interval != "auto":
            return self.interval
        return interval_of_test(self.test)

    def margin_of(self, metric: Metric) -> float | None:
        """The difference in a metric that is too small to matter; None if the user gave none."""
        if isinstance(self.margin, Mapping):
            return self.margin.get(metric.name)
        return self.margin

    def settings(self) -> dict[str, object]:
        """The settings as a result and its signature show them."""
        settings: dict[str, object] = {
            "test": self.test,
            "interval": self.interval_method,
            "confidence_level": self.confidence_level,
            "missing": self.missing,
        }
        if self.margin is not None:
            settings["margin"] = self.margin
        if self.margin_method != "auto":
            settings["margin_method"] = self.margin_method
        if self.rare_loss is not None:
            settings["rare_loss"] = self.rare_loss
        if self.tried > 1:
            settings["tried"] = self.tried
        return settings | {"n_resamples": self.n_resamples, "seed": self.seed}


DEFAULT_PLAN = ComparisonPlan()


@dataclass(frozen=True, eq=False)
class MetricPairs:
    """The pairs behind one row of a comparison.

    Parameters
    ----------
    pairs : Pairs
        The scores that both sides have, by independent unit.
    lone : LoneScores
        The scores of the common queries to which the metric applies and that one side scored.
    units : Units
        The independent units of the pairs.
    rows : ndarray of int, optional
        The rows in the baseline of the queries that both scored; None if they are not in memory.
    differences : ndarray, optional
        Candidate minus baseline by these rows.
    n_not_applicable : int
        The number of common queries to which the metric does not apply.
    n_filled : int
        The number of missing scores, of both sides, that count as the worst possible one.
    logarithms : Pairs, optional
        The logarithms of the scores of latency and cost, if all are above 0.
    """

    pairs: Pairs
    lone: LoneScores
    units: Units = QUERIES
    rows: IntArray | None = None
    differences: FloatArray | None = None
    n_not_applicable: int = 0
    n_filled: int = 0
    logarithms: Pairs | None = None


@dataclass(frozen=True, eq=False)
class MetricComparison:
    """One metric of two runs, tested.

    Parameters
    ----------
    metric : Metric
        The metric as the baseline knows it.
    names : (str, str)
        The baseline and the candidate.
    known : MetricPairs
        The pairs.
    test, interval
        The test of the mean difference, and its interval.
    planned : PlannedTest
        How much the differences of the units vary, from which more of them are planned.
    numbers : dict of str to object
        The row of the table, without what needs the other rows.
    equivalence : EquivalenceResult, optional
        The test against the user's margin.
    rare_losses : RareLossBound, optional
        The large losses that the queries cannot exclude; None if their size is not known.
    """

    metric: Metric
    names: tuple[str, str]
    known: MetricPairs
    test: PairedResult
    interval: Interval
    planned: PlannedTest
    numbers: dict[str, object]
    equivalence: EquivalenceResult | None
    rare_losses: RareLossBound | None

    @property
    def pairs(self) -> Pairs:
        """The scores that both sides have, by independent unit."""
        return self.known.pairs

    def finding(self, adjusted: AdjustedPvalues, plan: ComparisonPlan) -> MetricFinding:
        """The facts for the verdict, once the p-values are adjusted."""
        level, pairs, planned = adjusted.level_left(plan.alpha_of_one), self.pairs, self.planned
        detectable = noise = math.nan
        if pairs.n >= plan.fewest_units:
            detectable = planned.detectable(pairs.n, alpha=level)
        if plan.tried > 1 and planned.is_usable:
            noise = gain_of_noise(pairs.std / math.sqrt(pairs.n), plan.tried)
        return MetricFinding(
            metric=self.metric.name,
            baseline=self.names[0],
            candidate=self.names[1],
            greater_is_better=self.metric.greater_is_better,
            test=self.test,
            interval=self.interval,
            adjusted=adjusted,
            min_detectable_difference=detectable,
            needed=self.needed(level, plan),
            equivalence=self.equivalence,
            alpha=plan.alpha,
            unit=CLUSTERS if self.known.units.are_clusters else "paired queries",
            is_identical=not pairs.by_query.n_changed,
            fewest_units=plan.fewest_units,
            largest_difference=_widest(self.metric),
            tried=plan.tried,
            gain_of_noise=noise,
        )

    def needed(self, level: float, plan: ComparisonPlan) -> tuple[NeededUnits, ...]:
        """The units that the margin needs or, without one, 5 and 2 % of the metric's range."""
        if self.pairs.n < plan.fewest_units or not self.planned.is_usable:
            return ()
        margin = plan.margin_of(self.metric)
        sizes = (
            usual_sizes(self.metric, self.pairs.baseline.mean, self.pairs.std)
            if margin is None
            else (margin,)
        )
        counts = (self.planned.needed(size, alpha=level) for size in sizes)
        return tuple(
            NeededUnits(size, max(n, float(plan.fewest_units)))
            for size, n in zip(sizes, counts, strict=True)
        )


@dataclass(frozen=True, eq=False)
class PairedMetric:
    """One metric of two runs, paired but not yet tested.

    Parameters
    ----------
    names : (str, str)
        The baseline and the candidate.
    metric : Metric
        The metric as the baseline knows it.
    known : MetricPairs
        The pairs.
    """

    names: tuple[str, str]
    metric: Metric
    known: MetricPairs

    @classmethod
    def of(cls, pairing: Pairing, ours: Metric, theirs: Metric, plan: ComparisonPlan) -> Self:
        """The metric of the runs, paired by the settings."""
        anything: Any = pairing  # a pairing of scans counts by itself
        if not isinstance(anything, Pairing):
            names = (anything.baseline.name, anything.candidate.name)
            return cls(names, ours, anything.measured(ours))
        before, after = pairing.treated(ours, theirs, plan.missing)
        rows = pairing.alignment.baseline_rows
        return cls.of_scores(
            (pairing.baseline.name, pairing.candidate.name),
            ours,
            (before, after),
            plan.units,
            np.arange(before.size) if rows is None else rows,
            applies=(
                pairing.applies(ours, theirs)
                if np.isnan(before).any() or np.isnan(after).any()
                else None
            ),
            n_filled=(
                count_missing(*pairing.both(ours, theirs), lambda: pairing.applies(ours, theirs))
                if plan.missing == "worst"
                else 0
            ),
        )

    @classmethod
    def of_scores(
        cls,
        names: tuple[str, str],
        metric: Metric,
        scores: tuple[FloatArray, FloatArray],
        units: Units,
        rows: IntArray,
        *,
        applies: BoolArray | None = None,
        n_filled: int = 0,
    ) -> Self:
        """The metric on some queries of the runs.

        Parameters
        ----------
        names : (str, str)
            The baseline and the candidate.
        metric : Metric
            The metric as the baseline knows it.
        scores : (ndarray, ndarray)
            Both sides' scores of the queries, NaN if unscored.
        units : Units
            The units of the rows of the baseline.
        rows : ndarray of int
            The rows of the queries in the baseline.
        applies : ndarray of bool, optional
            Whether the metric applies to each query; needed only if a score is missing.
        n_filled : int
            The number of these scores that were missing and count as the worst possible one.
        """
        before, after = scores
        complete = ~(np.isnan(before) | np.isnan(after))
        # A query to which the metric does not apply is not missing: it has no unknown score.
        concerned = np.ones_like(complete) if applies is None else applies
        before_both, after_both = before[complete], after[complete]
        units = units.select(rows[complete])
        logarithms = None
        if metric.group == "performance" and (np.minimum(before_both, after_both) > 0.0).all():
            logarithms = pairs_of(np.log(before_both), np.log(after_both), units)
        known = MetricPairs(
            pairs_of(before_both, after_both, units),
            LoneScores.of(before[concerned], after[concerned]),
            units,
            rows[complete],
            after_both - before_both,
            n_not_applicable=int((~concerned).sum()),
            n_filled=n_filled,
            logarithms=logarithms,
        )
        return cls(names, metric, known)

    def tested(self, plan: ComparisonPlan) -> MetricComparison:
        """The metric, tested by the settings."""
        ours, names, known = self.metric, self.names, self.known
        pairs = known.pairs
        test, interval = _test_units(pairs, plan)
        planned = PlannedTest.of(pairs.units, test.test)
        if known.units.are_clusters and test.test != UNTESTED:
            test = replace(test, test=f"cluster-{test.test}")
            interval = replace(interval, method=f"cluster-{interval.method}")
        # No difference is larger than the range of the metric.
        widest = _widest(ours)
        interval = replace(
            interval, low=max(interval.low, -widest), high=min(interval.high, widest)
        )
        margin, equivalence = plan.margin_of(ours), None
        if margin is not None and pairs.n >= plan.fewest_units:
            equivalence = compare_with_margin(
                pairs, ours, margin, method=plan.margin_method, alpha=plan.alpha_of_one
            )
        rare_losses = find_rare_losses(pairs, ours, plan.rare_loss, plan.confidence_level)
        numbers: dict[str, object] = {
            "metric": ours.name,
            "baseline": names[0],
            "candidate": names[1],
            "n": pairs.differences.n,
            "n_dropped": known.lone.n,
            "baseline_mean": pairs.baseline.mean,
            "candidate_mean": pairs.candidate.mean,
            "difference": pairs.differences.mean,
            "ci_low": interval.low,
            "ci_high": interval.high,
            "test": test.test,
            "statistic": test.statistic,
            "pvalue": test.pvalue,
            **_query_numbers(pairs.by_query, ours),
            "improvement": pairs.differences.mean * (1 if ours.greater_is_better else -1),
            "ci_method": interval.method,
            **rare_loss_numbers(rare_losses, ours),
            "title": ours.title,
            "kind": ours.kind,
            "greater_is_better": ours.greater_is_better,
        }
        if plan.missing == "bounds":
            lowest, highest = extreme_differences(pairs, known.lone, ours)
            numbers |= {"difference_lowest": lowest, "difference_highest": highest}
        if known.units.are_clusters:
            numbers["n_clusters"] = pairs.n
        return MetricComparison(
            *(ours, names, known, test, interval, planned, numbers, equivalence, rare_losses)
        )


def notes_of(row: MetricComparison, plan: ComparisonPlan) -> tuple[str, ...]:
    """The notes on one metric; not part of the row, as a table of slices does not show them."""
    return (
        *_applicability_notes(row),
        *_dropped_notes(row),
        *filled_notes(row.known.n_filled),
        *row.interval.notes,
        *_contradiction_notes(row, plan),
        *_ratio_notes(row, plan),
        *_rare_loss_notes(row, plan),
    )


def _widest(metric: Metric) -> float:
    """The largest difference that there can be."""
    return math.inf if metric.bounds is None else metric.bounds[1] - metric.bounds[0]


def _test_units(pairs: Pairs, plan: ComparisonPlan) -> tuple[PairedResult, Interval]:
    """The test of independent units, and its interval; neither if the units are too few."""
    if pairs.n < plan.fewest_units:
        return _untested(pairs, plan)
    draws: dict[str, Any] = {"n_resamples": plan.n_resamples, "seed": plan.seed}
    interval = paired_interval(
        pairs, method=plan.interval_method, confidence_level=plan.level_of_one, **draws
    )
    return paired_test(pairs, test=plan.test, **draws), interval


def _untested(pairs: Pairs, plan: ComparisonPlan) -> tuple[PairedResult, Interval]:
    """The estimates alone; pairs that are identical have a p-value of 1 all the same.

    Differences of the queries of a cluster may cancel; these are not identical.
    """
    nan = float("nan")
    is_identical = pairs.n > 0 and not pairs.by_query.n_changed
    return (
        PairedResult(
            *(pairs.mean, nan, 1.0 if is_identical else nan, UNTESTED),
            *(pairs.n, pairs.wins, pairs.ties, pairs.losses),
        ),
        Interval(pairs.mean, nan, nan, nan, UNTESTED, plan.level_of_one),
    )


def _query_numbers(pairs: Pairs, metric: Metric) -> dict[str, object]:
    """The effect sizes, and the numbers of queries on which the candidate is better, equal, worse.

    Of 0/1 scores risk difference and odds ratio, of others d_z and g_z.
    """
    binary = pairs.is_binary
    name = "risk_difference" if binary else "d_z"
    enough = pairs.n > 1
    nan = float("nan")
    sides = pairs if metric.greater_is_better else pairs.swapped()
    return {
        "effect_size": EFFECTS[name](pairs) if enough else nan,
        "effect_name": name,
        "hedges_g_z": EFFECTS["hedges_g_z"](pairs) if enough else nan,
        "odds_ratio": EFFECTS["odds_ratio"](pairs) if enough and binary else nan,
        "wins": sides.wins,
        "ties": sides.ties,
        "losses": sides.losses,
    }


def _applicability_notes(row: MetricComparison) -> tuple[str, ...]:
    n = row.known.n_not_applicable
    if not n:
        return ()
    n_common = n + row.pairs.differences.n + row.known.lone.n
    return (f"does not apply to {n} of {n_common} common queries",)


def _dropped_notes(row: MetricComparison) -> tuple[str, ...]:
    lone = row.known.lone
    dropped = lone.n
    if not dropped:
        return ()
    common = row.pairs.differences.n + dropped
    note = (
        f"{dropped} of {common} common queries are left out, unscored in "
        f"{row.names[0]!r} ({lone.n_no_baseline}) or {row.names[1]!r} ({lone.n_no_candidate})"
    )
    if dropped <= _MANY_DROPPED * common:
        return (note,)
    if row.metric.bounds is None:
        return (note + "; if scores are missing for a reason, the difference is biased",)
    low, high = extreme_differences(row.pairs, lone, row.metric)
    return (
        note + "; with the missing ones as low or as high as they can be, the difference lies "
        f"between {low:+.3f} and {high:+.3f}",
    )


def _contradiction_notes(row: MetricComparison, plan: ComparisonPlan) -> tuple[str, ...]:
    """A note if the interval excludes 0 and the test shows nothing, or the other way round.

    The default interval inverts its test, or nearly so; other pairs of the two may disagree.
    """
    low, high, pvalue = row.interval.low, row.interval.high, row.test.pvalue
    if math.isnan(low + high) or math.isnan(pvalue):
        return ()
    excludes_zero = low > 0.0 or high < 0.0
    if excludes_zero == (pvalue <= plan.alpha_of_one):
        return ()
    says = "excludes 0" if excludes_zero else "includes 0"
    return (
        f"the interval ({row.interval.method}) {says}, and the test ({row.test.test}, "
        f"p = {number(pvalue)}) says otherwise; the p-value decides what is shown",
    )


def _ratio_notes(row: MetricComparison, plan: ComparisonPlan) -> tuple[str, ...]:
    """For latency and cost, the ratio of geometric means: the change for a typical query."""
    logarithms = row.known.logarithms
    if logarithms is None or row.pairs.n < plan.fewest_units:
        return ()
    log_ratio = paired_interval(logarithms, method="sign-flip", confidence_level=plan.level_of_one)
    ratio, low, high = (
        number(math.exp(value)) for value in (log_ratio.estimate, log_ratio.low, log_ratio.high)
    )
    return (
        f"a typical query takes {ratio} times {row.names[0]}'s with "
        f"{row.names[1]} (ratio of geometric means, "
        f"{100 * plan.level_of_one:g} % CI {low} to {high})",
    )


def _rare_loss_notes(row: MetricComparison, plan: ComparisonPlan) -> tuple[str, ...]:
    """That losses too rare to be among the queries could turn an improvement into a loss."""
    is_shown = row.test.pvalue <= plan.alpha_of_one
    if not is_shown or not float(str(row.numbers["improvement"])) > 0:
        return ()
    level, widest = plan.confidence_level, size_of_loss(row.metric, None)
    if plan.rare_loss is not None:
        bound = find_rare_losses(row.pairs, row.metric, plan.rare_loss, level)
    elif widest is not None:  # without a size, losses are as large as the sample allows
        sides = row.pairs if row.metric.greater_is_better else row.pairs.swapped()
        bound = hidden_losses(sides, widest, confidence_level=level)
    else:
        bound = None
    if bound is None or bound.difference > 0:
        return ()
    return (
        f"rare large losses could hide: {bound.sentence()}; {row.names[1]} would then be worse by "
        f"{number(-bound.difference)}",
    )


class ComparisonLike(Protocol):
    """What slices and gates use of a `Comparison`, whose module imports them."""

    @property
    def title(self) -> str:
        """What was compared."""

    @property
    def frame(self) -> pd.DataFrame:
        """One row per metric and candidate."""

    @property
    def settings(self) -> Mapping[str, object]:
        """The settings that can move a number."""

    @property
    def pairings(self) -> tuple[Pairing, ...]:
        """The baseline beside each candidate."""

    @property
    def plan(self) -> ComparisonPlan:
        """The settings that every row shares."""

    def regressions(self, metric: str, candidate: str | None = None) -> pd.DataFrame:
        """The queries on which the candidate is worse."""
