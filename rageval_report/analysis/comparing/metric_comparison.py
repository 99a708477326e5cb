"""One metric of two runs, tested: the numbers behind one row of a comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
import pandas as pd

from rageval_report.analysis.comparing.margin_methods import compare_with_margin
from rageval_report.analysis.comparing.pairing import (
    MissingTreatment,
    Pairing,
    extreme_differences,
    split_complete,
)
from rageval_report.analysis.comparing.rare_loss_columns import (
    LossSize,
    find_rare_losses,
    rare_loss_notes,
    rare_loss_numbers,
)
from rageval_report.analysis.comparing.verdicts import (
    CLUSTERS,
    AdjustedPvalues,
    MetricFinding,
    NeededUnits,
)
from rageval_report.analysis.sentence_parts import filled_notes, number
from rageval_report.analysis.sizes import usual_sizes
from rageval_report.scores import Metric
from rageval_report.stats import EFFECTS, PairedScores
from rageval_report.stats.base import Interval, PairedResult
from rageval_report.stats.best_of_many import gain_of_noise
from rageval_report.stats.pairs.equivalence import EquivalenceResult, MarginMethod
from rageval_report.stats.pairs.paired import (
    find_interval,
    interval_of_test,
    is_fragile,
    run_test,
    smallest_pvalue,
)
from rageval_report.stats.pairs.paired_scores import NO_RULERS, SideRulers
from rageval_report.stats.pairs.rare_losses import RareLossBound
from rageval_report.stats.pilot import PilotDifferences
from rageval_report.stats.sign_flips.together import keep_limits, keep_pvalues
from rageval_report.stats.states.cluster_sums import ClusterSums
from rageval_report.stats.states.pair_state import NO_LONE_SCORES, LoneScores, PairState
from rageval_report.stats.states.state_pairs import StatePairs
from rageval_report.stats.threads import choose_threads, map_in_threads
from rageval_report.stats.units import QUERIES, Units, fewest_units
from rageval_report.types import BoolArray, FloatArray, IntArray

# One difference that is too small to matter, or one per metric.
Margin = float | Mapping[str, float]

# From this share of dropped pairs on a note gives bounds. If a run fails on hard queries, dropping
# 10 % of the pairs makes 18.8 % false alarms at a level of 5 % (simulated).
_MANY_DROPPED = 0.05

# The tests, and intervals, of which those of many metrics are computed together.
KEPT_TESTS = ("auto", "sign-flip")

# The name of the test, and of the interval, where there are too few units for one.
UNTESTED = "none"


@dataclass(frozen=True)
class ComparisonPlan:
    """The settings that every row of a comparison shares; see `compare`.

    ``units`` are those of the rows of the baseline. ``tried`` is the number of variants of which
    the candidate is the best; 1 if nothing was chosen. ``n_jobs`` moves no number; None is as many
    threads as pay.
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
    n_jobs: int | None = None

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

    @property
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
class MetricComparison:
    """One metric of two runs, tested.

    Parameters
    ----------
    metric : Metric
        The metric as the baseline knows it.
    names : (str, str)
        The baseline and the candidate.
    baseline_rows : ndarray of int, shape (n_pairs,), optional
        The rows in the baseline of the queries that both scored; None if they are not in memory.
    lone : LoneScores
        The scores of the common queries to which the metric applies and that one side scored.
    n_not_applicable : int
        The number of common queries to which it does not apply.
    n_filled : int
        The number of missing scores, of both sides, that count as the worst possible one.
    pairs : PairedScores
        Both sides' scores of the queries that both scored.
    by_unit : PairedScores
        The same, one pair per independent unit.
    test, interval
        The test of the mean difference, and its interval.
    pilot : PilotDifferences
        How much the differences of the units vary, from which more of them are planned.
    numbers : dict of str to object
        The row of the table, without what needs the other rows.
    equivalence : EquivalenceResult, optional
        The test against the user's margin.
    rare_losses : RareLossBound, optional
        The large losses that the queries cannot exclude; None if their size is not known.
    units : Units
        The independent units of the queries that both scored.
    smallest_pvalue : float
        The smallest p-value that the test can have on as many units that differ.
    logarithms : PairedScores, optional
        The logarithms of the scores, if all are above 0 and they are not in memory.
    """

    metric: Metric
    names: tuple[str, str]
    baseline_rows: IntArray | None
    lone: LoneScores
    n_not_applicable: int
    n_filled: int
    pairs: PairedScores
    by_unit: PairedScores
    test: PairedResult
    interval: Interval
    pilot: PilotDifferences
    numbers: dict[str, object]
    equivalence: EquivalenceResult | None
    rare_losses: RareLossBound | None
    units: Units
    smallest_pvalue: float
    logarithms: PairedScores | None = None

    @property
    def differences(self) -> FloatArray:
        """Candidate minus baseline, on the queries that both scored."""
        return self.pairs.differences

    def finding(self, adjusted: AdjustedPvalues, plan: ComparisonPlan) -> MetricFinding:
        """The facts for the verdict, once the p-values are adjusted."""
        is_shown = adjusted.pvalue <= plan.alpha
        level = adjusted.level_left(plan.alpha_of_one)
        return MetricFinding(
            metric=self.metric.name,
            baseline=self.names[0],
            candidate=self.names[1],
            greater_is_better=self.metric.greater_is_better,
            test=self.test,
            interval=self.interval,
            adjusted=adjusted,
            min_detectable_difference=self.detectable(level, plan),
            needed=self.needed(level, plan),
            # Tested only where there is something to undo, because it makes two more tests.
            is_fragile=is_shown and self._is_fragile(adjusted.pvalue, plan),
            equivalence=self.equivalence,
            alpha=plan.alpha,
            unit=CLUSTERS if self.units.are_clusters else "paired queries",
            is_identical=not self.pairs.n_changed,
            fewest_units=plan.fewest_units,
            largest_difference=_widest(self.metric),
            tried=plan.tried,
            gain_of_noise=self.gain_of_noise(plan),
        )

    def detectable(self, level: float, plan: ComparisonPlan) -> float:
        """The smallest difference that these units show with 80 % power; NaN without a test."""
        if self.by_unit.n < plan.fewest_units:
            return math.nan
        return self.pilot.detectable(self.by_unit.n, alpha=level)

    def needed(self, level: float, plan: ComparisonPlan) -> tuple[NeededUnits, ...]:
        """The units that the margin needs or, without one, 5 and 2 % of the metric's range."""
        if self.by_unit.n < plan.fewest_units or not self.pilot.is_usable:
            return ()
        margin = plan.margin_of(self.metric)
        sizes = (margin,) if margin is not None else self._usual_sizes()
        counts = (self.pilot.queries(size, alpha=level) for size in sizes)
        return tuple(
            NeededUnits(size, max(n, float(plan.fewest_units)))
            for size, n in zip(sizes, counts, strict=True)
        )

    def gain_of_noise(self, plan: ComparisonPlan) -> float:
        """What noise alone gives to the best of the variants that were tried."""
        if plan.tried == 1 or not self.pilot.is_usable:
            return math.nan
        return gain_of_noise(self.pilot.sd / math.sqrt(self.by_unit.n), plan.tried)

    def _usual_sizes(self) -> tuple[float, ...]:
        return usual_sizes(self.metric, self.pairs.side_means[0], self.pilot.sd)

    def _is_fragile(self, pvalue_adjusted: float, plan: ComparisonPlan) -> bool:
        """Whether one more unit against it would undo it.

        The correction multiplied the p-value; dividing alpha by the same factor gives the error
        rate at which the uncorrected test must still hold.
        """
        share = self.test.pvalue / pvalue_adjusted if pvalue_adjusted > 0 else 1.0
        return is_fragile(self.by_unit, test=plan.test, alpha=plan.alpha * share)


@dataclass(frozen=True, eq=False)
class ClusteredPairs:
    """The differences of one metric by cluster, from any part of the queries.

    Parameters
    ----------
    differences : ClusterSums
        Candidate minus baseline.
    logarithms : ClusterSums, optional
        The same of the logarithms of the scores.
    """

    differences: ClusterSums
    logarithms: ClusterSums | None = None

    def __add__(self, other: ClusteredPairs) -> ClusteredPairs:
        """The differences of both parts."""
        logarithms = self.logarithms
        if logarithms is not None and other.logarithms is not None:
            logarithms = logarithms + other.logarithms
        return ClusteredPairs(self.differences + other.differences, logarithms)


@dataclass(frozen=True, eq=False)
class MetricPairs:
    """The pairs behind one row of a comparison, in memory or known by counts and sums.

    Parameters
    ----------
    pairs, by_unit : PairedScores
        The scores that both sides have, and one pair per independent unit of them.
    lone : LoneScores
        The scores of common queries that only one side scored.
    units : Units
        The independent units of the pairs.
    baseline_rows : ndarray of int, optional
        Their rows in the baseline, if they are in memory.
    n_not_applicable : int
        The number of common queries to which the metric does not apply.
    n_filled : int
        The number of missing scores, of both sides, that count as the worst possible one.
    logarithms : PairedScores, optional
        The logarithms of the scores, where they cannot be taken of `pairs`.
    """

    pairs: PairedScores
    by_unit: PairedScores
    lone: LoneScores
    units: Units = QUERIES
    baseline_rows: IntArray | None = None
    n_not_applicable: int = 0
    n_filled: int = 0
    logarithms: PairedScores | None = None

    @classmethod
    def of_state(
        cls,
        state: PairState,
        *,
        n_not_applicable: int = 0,
        n_filled: int = 0,
        logarithms: PairState | None = None,
        clusters: ClusteredPairs | None = None,
    ) -> MetricPairs:
        """The pairs of a state, each an independent unit unless there are clusters.

        Parameters
        ----------
        state : PairState
            The state of all common queries.
        n_not_applicable : int
            The number of common queries to which the metric does not apply, which the state lacks.
        n_filled : int
            The number of missing scores that the state counts as the worst possible one.
        logarithms : PairState, optional
            The state of the logarithms of the scores, for the ratio of latencies and costs.
        clusters : ClusteredPairs, optional
            The same differences by cluster.

        Examples
        --------
        >>> state = PairState.of(np.array([0.5, 1.0]), np.array([1.0, float("nan")]))
        >>> known = MetricPairs.of_state(state)
        >>> known.pairs.n, known.lone.n
        (1, 1)
        """
        pairs = state.pairs()
        logs = None if logarithms is None or not logarithms.n else logarithms.pairs()
        by_unit, units = pairs, QUERIES
        if clusters is not None:
            # Each pair is one cluster, so `units` has nothing left to add up.
            by_unit = clusters.differences.pairs()
            units = Units(np.arange(by_unit.n))
            if clusters.differences.are_single:
                by_unit = pairs
            elif logs is not None and clusters.logarithms is not None:
                logs = clusters.logarithms.pairs()
        return cls(
            *(pairs, by_unit, state.lone, units),
            n_not_applicable=n_not_applicable,
            n_filled=n_filled,
            logarithms=logs,
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
        before, after = pairing.treated(ours, theirs, plan.missing)
        rows = pairing.alignment.baseline_rows
        return cls.of_scores(
            (pairing.baseline.name, pairing.candidate.name),
            ours,
            (before, after),
            plan.units,
            np.arange(before.size) if rows is None else rows,
            applies=lambda: pairing.applies(ours, theirs),
            n_filled=pairing.count_filled(ours, theirs, plan.missing),
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
        applies: Callable[[], BoolArray],
        rulers: SideRulers = NO_RULERS,
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
        applies : callable
            Gives whether the metric applies to each query; called only if a score is missing.
        rulers : (StepRuler, StepRuler), optional
            What fits the columns of which the scores are a part, see `PairedScores`.
        n_filled : int
            The number of these scores that were missing and count as the worst possible one.
        """
        complete, pairs = split_complete(*scores, rulers)
        if complete.all():
            units = units.select(rows)
            known = MetricPairs(
                *(pairs, units.collapse(pairs), NO_LONE_SCORES, units),
                baseline_rows=rows,
                n_filled=n_filled,
            )
            return cls(names, metric, known)
        units = units.select(rows[complete])
        # A query to which the metric does not apply is not missing: it has no unknown score.
        concerned = applies()
        before, after = scores
        known = MetricPairs(
            *(pairs, units.collapse(pairs), LoneScores.of(before[concerned], after[concerned])),
            units,
            baseline_rows=rows[complete],
            n_not_applicable=int((~concerned).sum()),
            n_filled=n_filled,
        )
        return cls(names, metric, known)


def compare_metric(
    pairing: Pairing,
    ours: Metric,
    theirs: Metric,
    plan: ComparisonPlan,
) -> MetricComparison:
    """Test one metric of two runs.

    Parameters
    ----------
    pairing : Pairing
        The runs.
    ours, theirs : Metric
        The metric as the baseline and as the candidate knows it.
    plan : ComparisonPlan
        The settings.
    """
    return compare_together([PairedMetric.of(pairing, ours, theirs, plan)], plan)[0]


def compare_together(
    metrics: Sequence[PairedMetric], plan: ComparisonPlan
) -> list[MetricComparison]:
    """Test many metrics of runs; the sign-flip tests and intervals of all are computed at once.

    Parameters
    ----------
    metrics : sequence of PairedMetric
        The metrics.
    plan : ComparisonPlan
        The settings.
    """
    by_unit = [metric.known.by_unit for metric in metrics]
    tested = [pairs for pairs in by_unit if pairs.n >= plan.fewest_units]
    n_threads = choose_threads(map(_size_in_memory, by_unit), plan.n_jobs)
    if n_threads > 1:  # each sample keeps its step, which all of them are asked for next
        map_in_threads(lambda pairs: pairs.step, tested, n_threads)
    if plan.test in KEPT_TESTS:
        keep_pvalues(tested)
    if plan.interval_method in KEPT_TESTS:
        keep_limits(tested, plan.level_of_one)
    return map_in_threads(
        lambda metric: compare_pairs(metric.names, metric.metric, plan, metric.known),
        metrics,
        n_threads,
    )


def _size_in_memory(pairs: PairedScores) -> int:
    """The number of pairs that are known one by one; what is counted or summed takes no time."""
    return 0 if isinstance(pairs, StatePairs) else pairs.n


def compare_pairs(
    names: tuple[str, str], ours: Metric, plan: ComparisonPlan, known: MetricPairs
) -> MetricComparison:
    """Test one metric, whether its scores are in memory or known by counts and sums.

    Parameters
    ----------
    names : (str, str)
        The baseline and the candidate.
    ours : Metric
        The metric as the baseline knows it.
    plan : ComparisonPlan
        The settings.
    known : MetricPairs
        The pairs.
    """
    pairs, by_unit, lone, units = known.pairs, known.by_unit, known.lone, known.units
    test, interval = _test_units(by_unit, pairs, plan)
    smallest = smallest_pvalue(by_unit, test.test)
    pilot = PilotDifferences.of(by_unit, test.test)
    if units.are_clusters and test.test != UNTESTED:
        test = replace(test, test=f"cluster-{test.test}")
        interval = replace(interval, method=f"cluster-{interval.method}")
    interval = _clip_to_range(interval, ours)
    equivalence = _test_equivalence(by_unit, ours, plan)
    rare_losses = find_rare_losses(by_unit, ours, plan.rare_loss, plan.confidence_level)
    return MetricComparison(
        metric=ours,
        names=names,
        baseline_rows=known.baseline_rows,
        lone=lone,
        n_not_applicable=known.n_not_applicable,
        n_filled=known.n_filled,
        pairs=pairs,
        by_unit=by_unit,
        test=test,
        interval=interval,
        pilot=pilot,
        numbers={
            "metric": ours.name,
            "baseline": names[0],
            "candidate": names[1],
            "n": pairs.n,
            "n_dropped": lone.n,
            **_mean_numbers(pairs),
            "ci_low": interval.low,
            "ci_high": interval.high,
            "test": test.test,
            "statistic": test.statistic,
            "pvalue": test.pvalue,
            **_effect_numbers(pairs),
            **_outcome_counts(pairs, ours),
            "improvement": _mean(pairs) * (1 if ours.greater_is_better else -1),
            "ci_method": interval.method,
            **rare_loss_numbers(rare_losses, ours),
            "title": ours.title,
            "kind": ours.kind,
            "greater_is_better": ours.greater_is_better,
            **_extreme_numbers(pairs, lone, ours, plan),
            **({"n_clusters": by_unit.n} if units.are_clusters else {}),
        },
        equivalence=equivalence,
        rare_losses=rare_losses,
        units=units,
        smallest_pvalue=smallest,
        logarithms=known.logarithms,
    )


def notes_of(row: MetricComparison, plan: ComparisonPlan) -> tuple[str, ...]:
    """The notes on one metric; not part of the row, as a table of slices does not show them."""
    return (
        *_applicability_notes(row),
        *_dropped_notes(row),
        *filled_notes(row.n_filled),
        *row.interval.notes,
        *_contradiction_notes(row, plan),
        *_ratio_notes(row, plan),
        *_rare_loss_notes(row, plan),
    )


def _test_equivalence(
    by_unit: PairedScores, metric: Metric, plan: ComparisonPlan
) -> EquivalenceResult | None:
    margin = plan.margin_of(metric)
    if margin is None or by_unit.n < plan.fewest_units:
        return None
    return compare_with_margin(
        by_unit, metric, margin, method=plan.margin_method, alpha=plan.alpha_of_one
    )


def _widest(metric: Metric) -> float:
    """The largest difference that there can be."""
    return math.inf if metric.bounds is None else metric.bounds[1] - metric.bounds[0]


def _clip_to_range(interval: Interval, metric: Metric) -> Interval:
    """The interval within the metric's range, as no difference is larger."""
    widest = _widest(metric)
    return replace(interval, low=max(interval.low, -widest), high=min(interval.high, widest))


def _test_units(
    by_unit: PairedScores, pairs: PairedScores, plan: ComparisonPlan
) -> tuple[PairedResult, Interval]:
    """The test of independent units, and its interval; neither if the units are too few."""
    if by_unit.n < plan.fewest_units:
        return _untested(by_unit, pairs, plan)
    test = run_test(by_unit, test=plan.test, n_resamples=plan.n_resamples, seed=plan.seed)
    interval = find_interval(
        by_unit,
        method=plan.interval_method,
        confidence_level=plan.level_of_one,
        n_resamples=plan.n_resamples,
        seed=plan.seed,
    )
    return test, interval


def _untested(
    by_unit: PairedScores, pairs: PairedScores, plan: ComparisonPlan
) -> tuple[PairedResult, Interval]:
    """The estimates alone; pairs that are identical have a p-value of 1 all the same.

    Differences of the queries of a cluster may cancel; these are not identical.
    """
    wins, losses, nan = by_unit.n_positive, by_unit.n_negative, float("nan")
    is_identical = pairs.n > 0 and not pairs.n_changed
    mean = _mean(by_unit)
    return (
        PairedResult(
            *(mean, nan, 1.0 if is_identical else nan, UNTESTED),
            *(by_unit.n, wins, by_unit.n - wins - losses, losses),
        ),
        Interval(mean, nan, nan, nan, UNTESTED, plan.level_of_one),
    )


def _mean(pairs: PairedScores) -> float:
    return pairs.mean if pairs.n else float("nan")


def _mean_numbers(pairs: PairedScores) -> dict[str, object]:
    before, after = pairs.side_means
    return {
        "baseline_mean": before,
        "candidate_mean": after,
        "difference": _mean(pairs),
    }


def _effect_numbers(pairs: PairedScores) -> dict[str, object]:
    """The effect sizes: risk difference and odds ratio of 0/1 scores, d_z and g_z of others."""
    binary = pairs.is_binary
    name = "risk_difference" if binary else "d_z"
    enough = pairs.n > 1
    nan = float("nan")
    return {
        "effect_size": EFFECTS[name](pairs) if enough else nan,
        "effect_name": name,
        "hedges_g_z": EFFECTS["hedges_g_z"](pairs) if enough else nan,
        "odds_ratio": EFFECTS["odds_ratio"](pairs) if enough and binary else nan,
    }


def _outcome_counts(pairs: PairedScores, metric: Metric) -> dict[str, object]:
    """The number of queries on which the candidate is better, equal, worse."""
    wins, losses = pairs.n_positive, pairs.n_negative
    if not metric.greater_is_better:
        wins, losses = losses, wins
    return {"wins": wins, "ties": pairs.n - wins - losses, "losses": losses}


def _extreme_numbers(
    pairs: PairedScores, lone: LoneScores, metric: Metric, plan: ComparisonPlan
) -> dict[str, object]:
    if plan.missing != "bounds":
        return {}
    lowest, highest = extreme_differences(pairs, lone, metric)
    return {"difference_lowest": lowest, "difference_highest": highest}


def _applicability_notes(row: MetricComparison) -> tuple[str, ...]:
    n = row.n_not_applicable
    if not n:
        return ()
    return (f"does not apply to {n} of {n + row.pairs.n + row.lone.n} common queries",)


def _dropped_notes(row: MetricComparison) -> tuple[str, ...]:
    lone, dropped = row.lone, row.lone.n
    if not dropped:
        return ()
    common = row.pairs.n + dropped
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
    is_spent = row.metric.group == "performance" and row.by_unit.n >= plan.fewest_units
    if not is_spent or not all(side.minimum > 0 for side in row.pairs.side_moments):
        return ()
    logarithms = row.logarithms
    if logarithms is None:
        if row.baseline_rows is None:
            return ()
        logarithms = PairedScores(np.log(row.pairs.baseline), np.log(row.pairs.candidate))
    log_ratio = find_interval(
        row.units.collapse(logarithms), method="sign-flip", confidence_level=plan.level_of_one
    )
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
    return rare_loss_notes(row.rare_losses, row.names[1])


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
