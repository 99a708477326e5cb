"""One metric of two runs, tested: the settings of a comparison, and the numbers of its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from rageval_report.analysis.arguments import IntervalSettings, has_formal_bounds, usual_sizes
from rageval_report.analysis.pairing import (
    MISSING_TREATMENTS,
    MetricPairs,
    MissingTreatment,
    extreme_differences,
)
from rageval_report.errors import DataError, UnknownNameError, check_choice
from rageval_report.reports.sentences import TestWords, filled_notes, number
from rageval_report.scores import Metric
from rageval_report.stats import base, planning, pooling
from rageval_report.stats.base import Interval
from rageval_report.stats.effects import EFFECTS, hidden_losses
from rageval_report.stats.equivalence import (
    EQUIVALENCE_METHODS,
    STRICT,
    Claim,
    EquivalenceResult,
    MarginMethod,
    equivalence_test,
)
from rageval_report.stats.pairs import (
    PAIRED_INTERVALS,
    TESTS,
    Pairs,
    interval_of_test,
    paired_interval,
    paired_test,
)
from rageval_report.stats.units import QUERIES, Units, fewest_units

if TYPE_CHECKING:
    from rageval_report.analysis.compare import Comparison

# One difference that is too small to matter, or one per metric.
Margin = float | Mapping[str, float]

# From this share of dropped pairs on a note gives bounds. If a run fails on hard queries, dropping
# 10 % of the pairs makes 18.8 % false alarms at a level of 5 % (simulated).
_MANY_DROPPED = 0.05
# A `Comparison`, whose module imports the analyses that take one.
ComparisonLike: TypeAlias = "Comparison"
# The name of the test, and of the interval, where there are too few units for one.
UNTESTED = "none"
# What "auto" is against a margin; a sentence names the other methods.
_USUAL_METHODS = ("sign-flip", "mcnemar")


@dataclass(frozen=True)
class ComparisonPlan(IntervalSettings):
    """The settings that every row of a comparison shares; see `compare`."""

    test: str = "auto"
    interval: str = "auto"
    missing: MissingTreatment = "drop"
    margin: Margin | None = None
    units: Units = QUERIES
    margin_method: MarginMethod = "auto"
    tried: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        for what, name, table in (
            ("paired test", self.test, TESTS),
            ("interval of a paired difference", self.interval, PAIRED_INTERVALS),
        ):
            if name != "auto" and name not in table:
                raise UnknownNameError(what, name, ["auto", *table])
        check_choice("missing", self.missing, MISSING_TREATMENTS)
        check_choice("margin_method", self.margin_method, EQUIVALENCE_METHODS)
        sizes = self.margin.values() if isinstance(self.margin, Mapping) else (self.margin,)
        for size in sizes:
            if size is not None and not (math.isfinite(size) and size > 0):
                raise DataError(f"margin must be a number above 0; got {size}")

    @property
    def alpha_of_one(self) -> float:
        """The error rate of each variant that was tried: Bonferroni's, however alike they are."""
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
        return self.interval if self.interval != "auto" else interval_of_test(self.test)

    def margin_of(self, metric: Metric) -> float | None:
        """The difference in a metric that is too small to matter; None if the user gave none."""
        if isinstance(self.margin, Mapping):
            return self.margin.get(metric.name)
        return self.margin

    def words(self, correction: str, family_size: int) -> TestWords:
        """What sentences say of the tests."""
        return TestWords(correction, family_size, self.alpha, self.fewest_units, self.tried)

    def settings(self) -> dict[str, object]:
        """The settings as a result and its signature show them."""
        optional = {
            "margin": (self.margin, None),
            "margin_method": (self.margin_method, "auto"),
            "tried": (self.tried, 1),
        }
        return {
            "test": self.test,
            "interval": self.interval_method,
            "confidence_level": self.confidence_level,
            "missing": self.missing,
            **{name: value for name, (value, default) in optional.items() if value != default},
            **self.draws,
        }


DEFAULT_PLAN = ComparisonPlan()


# -- one row


@dataclass(frozen=True, eq=False)
class MetricComparison:
    """One metric of two runs, paired, and tested when its test is first asked for."""

    names: tuple[str, str]
    metric: Metric
    known: MetricPairs
    plan: ComparisonPlan = DEFAULT_PLAN

    @classmethod
    def of(cls, pairing: Any, ours: Metric, theirs: Metric, plan: ComparisonPlan) -> Self:
        """The metric of two runs, paired by the settings."""
        known = pairing.measured(ours, theirs, plan.missing, plan.units)
        return cls(pairing.names, ours, known, plan)

    @property
    def pairs(self) -> Pairs:
        """The scores that both sides have, by independent unit."""
        return self.known.pairs

    @property
    def is_tested(self) -> bool:
        """Whether there are enough independent units for a test."""
        return self.pairs.n >= self.plan.fewest_units

    @property
    def _units(self) -> str:
        return "cluster-" if self.known.units.are_clusters else ""

    @cached_property
    def test(self) -> base.PairedResult:
        """The test of the mean difference."""
        pairs = self.pairs
        if self.is_tested:
            test = paired_test(pairs, test=self.plan.test, **self.plan.draws)
            return replace(test, test=f"{self._units}{test.test}")
        # Pairs that are identical have a p-value of 1 all the same. Differences of the queries of a
        # cluster may cancel; these are not identical.
        pvalue = 1.0 if pairs.n > 0 and not pairs.by_query.n_changed else math.nan
        counts = pairs.n, pairs.wins, pairs.ties, pairs.losses
        return base.PairedResult(pairs.mean, math.nan, pvalue, UNTESTED, *counts)

    @cached_property
    def interval(self) -> Interval:
        """The interval of the mean difference, none of which is larger than the metric's range."""
        plan, level, pairs = self.plan, self.plan.level_of_one, self.pairs
        if not self.is_tested:
            return Interval(pairs.mean, math.nan, math.nan, math.nan, UNTESTED, level)
        known: dict[str, Any] = {"method": plan.interval_method, "confidence_level": level}
        interval = paired_interval(pairs, **known, **plan.draws)
        low, high = max(interval.low, -self.widest), min(interval.high, self.widest)
        return replace(interval, low=low, high=high, method=f"{self._units}{interval.method}")

    @cached_property
    def bounded_pvalue(self) -> float:
        """The largest p-value that missing scores allow; 1 if they can turn the difference."""
        if not self.is_tested or self.known.extremes is None or not self.known.lone.n:
            return self.test.pvalue
        known: dict[str, Any] = {"test": self.plan.test, **self.plan.draws}
        every = [self.test, *(paired_test(pairs, **known) for pairs in self.known.extremes)]
        signs = {np.sign(each.difference) for each in every}
        return max(each.pvalue for each in every) if len(signs) == 1 else 1.0

    @cached_property
    def equivalence(self) -> EquivalenceResult | None:
        """The test that the difference lies within the margin; None without a margin."""
        return self._against_margin("equivalence", self.pairs)

    @cached_property
    def non_inferiority(self) -> EquivalenceResult | None:
        """The test that the candidate is not worse by the margin; None without a margin."""
        up = self.metric.greater_is_better
        return self._against_margin("non-inferior", self.pairs if up else self.pairs.swapped())

    def _against_margin(self, claim: Claim, sides: Pairs) -> EquivalenceResult | None:
        plan, margin = self.plan, self.plan.margin_of(self.metric)
        if margin is None or not self.is_tested:
            return None
        known: dict[str, Any] = {"method": plan.margin_method, "alpha": plan.alpha_of_one}
        return compare_with_margin(sides, self.metric, margin, alternative=claim, **known)

    @property
    def widest(self) -> float:
        """The largest difference that there can be."""
        bounds = self.metric.bounds
        return math.inf if bounds is None else bounds[1] - bounds[0]

    def numbers(self) -> dict[str, object]:
        """The row without what needs the other rows, up to the columns of planning."""
        pairs, metric, test = self.pairs, self.metric, self.test
        queries = pairs.by_query if metric.greater_is_better else pairs.by_query.swapped()
        name = "risk_difference" if pairs.by_query.is_binary else "d_z"
        effects = dict.fromkeys((name, "hedges_g_z", "odds_ratio"), math.nan)
        if pairs.by_query.n > 1:
            wanted = (name, "hedges_g_z", *(["odds_ratio"] if name == "risk_difference" else []))
            effects |= {effect: EFFECTS[effect](pairs.by_query) for effect in wanted}
        sign = 1 if metric.greater_is_better else -1
        numbers: dict[str, object] = {
            "metric": metric.name,
            "baseline": self.names[0],
            "candidate": self.names[1],
            "n": pairs.differences.n,
            "n_dropped": self.known.lone.n,
            "baseline_mean": pairs.baseline.mean,
            "candidate_mean": pairs.candidate.mean,
            "difference": pairs.differences.mean,
            "ci_low": self.interval.low,
            "ci_high": self.interval.high,
            "test": test.test,
            "statistic": test.statistic,
            "pvalue": test.pvalue,
            "effect_size": effects[name],
            "effect_name": name,
            "wins": queries.wins,
            "ties": queries.ties,
            "losses": queries.losses,
            "improvement": sign * pairs.differences.mean,
            "ci_method": self.interval.method,
            "hedges_g_z": effects["hedges_g_z"],
            "odds_ratio": effects["odds_ratio"],
            "title": metric.title,
            "kind": metric.kind,
            "greater_is_better": metric.greater_is_better,
            "direction_is_known": metric.direction_is_known,
        }
        if self.plan.missing == "bounds":
            lowest, highest = extreme_differences(pairs, self.known.lone, metric)
            numbers |= {"difference_lowest": lowest, "difference_highest": highest}
        if self.known.units.are_clusters:
            numbers["n_clusters"] = pairs.n
        return numbers

    def planning(self, level: float) -> dict[str, object]:
        """What as many units detect, and the units that useful differences need, at a level."""
        pairs, plan, is_tested = self.pairs, self.plan, self.is_tested
        planned = planning.PlannedTest.of(pairs.units, self.test.test.removeprefix("cluster-"))
        needed = [(math.nan, math.nan)] * 2
        if is_tested and planned.is_usable:
            margin = plan.margin_of(self.metric)
            # Without a margin, 5 and 2 % of the metric's range.
            usual = usual_sizes(self.metric, pairs.baseline.mean, pairs.std)
            for place, size in enumerate(usual if margin is None else (margin,)):
                n = planned.needed(size, alpha=level)
                needed[place] = size, max(n, float(plan.fewest_units))
        detectable = planned.detectable(pairs.n, alpha=level) if is_tested else math.nan
        columns: dict[str, object] = {
            "min_detectable_difference": detectable,
            "level_left": level,
            "planned_difference": needed[0][0],
            "n_needed": needed[0][1],
            "smaller_planned_difference": needed[1][0],
            "n_needed_smaller": needed[1][1],
        }
        if plan.tried > 1:
            noise = math.nan
            if planned.is_usable:
                noise = pooling.gain_of_noise(pairs.std / math.sqrt(pairs.n), plan.tried)
            columns["gain_of_noise"] = noise
        return columns

    def against_margin(self) -> dict[str, object]:
        """The margin, and the interval and the p-values of the tests against it."""
        test, unknown = self.equivalence, math.nan
        note, low, high = "", unknown, unknown
        if test is not None:
            note = "".join(f"; {text}" for text in test.notes)
            low, high = test.low, test.high
            if test.untestable:
                note, low, high = f": {test.untestable}", unknown, unknown
        return {
            "margin": unknown if test is None else test.margin,
            "margin_method": UNTESTED if test is None else test.method,
            "equivalence_low": low,
            "equivalence_high": high,
            "equivalence_pvalue": unknown if test is None else test.pvalue,
            "equivalence_pvalue_adjusted": unknown,
            "non_inferiority_pvalue_adjusted": unknown,
            "equivalence_note": note,
        }

    def notes(self) -> Iterator[str]:
        """What a reader must know of the metric; a table of slices does not show it."""
        known, pairs, plan = self.known, self.pairs, self.plan
        common = pairs.differences.n + known.lone.n
        if n := known.n_not_applicable:
            yield f"does not apply to {n} of {n + common} common queries"
        if known.lone.n:
            yield self._dropped_note(common)
        yield from filled_notes(known.n_filled)
        yield from self.interval.notes
        low, high, pvalue = self.interval.low, self.interval.high, self.test.pvalue
        excludes = low > 0.0 or high < 0.0
        # The default interval inverts its test; other pairs of the two may disagree.
        if not math.isnan(low + high + pvalue) and excludes != (pvalue <= plan.alpha_of_one):
            yield (
                f"the interval ({self.interval.method}) {'ex' if excludes else 'in'}cludes 0, and "
                f"the test ({self.test.test}, p = {number(pvalue)}) says otherwise; the verdict "
                "follows the p-value"
            )
        if known.logarithms is not None and self.is_tested:
            yield self._ratio_note(known.logarithms, plan.level_of_one)
        yield from self._rare_loss_notes()

    def _dropped_note(self, common: int) -> str:
        lone, (baseline, candidate) = self.known.lone, self.names
        note = (
            f"{lone.n} of {common} shared queries are left out: no score in {baseline!r} "
            f"({lone.n_no_baseline}) or {candidate!r} ({lone.n_no_candidate})"
        )
        if lone.n <= _MANY_DROPPED * common:
            return note
        if self.metric.bounds is None:
            return f"{note}; if scores are missing for a reason, the difference is biased"
        low, high = extreme_differences(self.pairs, lone, self.metric)
        return (
            f"{note}; if every missing score were as bad or as good as it can be, the difference "
            f"would be {low:+.3f} or {high:+.3f}"
        )

    def _ratio_note(self, logarithms: Pairs, level: float) -> str:
        """The ratio of geometric means: the change for a typical query."""
        ratio = paired_interval(logarithms, method="sign-flip", confidence_level=level)
        factor, low, high = map(number, np.exp([ratio.estimate, ratio.low, ratio.high]).tolist())
        return (
            f"{self.names[1]} typically has {factor} times the value of {self.names[0]} "
            f"({100 * level:g} % CI {low} to {high})"
        )

    def _rare_loss_notes(self) -> Iterator[str]:
        """That losses too rare to be among the queries could turn an improvement into a loss."""
        sides = self.pairs if self.metric.greater_is_better else self.pairs.swapped()
        plan, is_gain = self.plan, sides.mean > 0
        if not (is_gain and self.test.pvalue <= plan.alpha_of_one):
            return
        if math.isinf(self.widest) or has_formal_bounds(self.metric):
            return
        # Losses are taken to be as large as the sample allows.
        bound = hidden_losses(sides, self.widest, confidence_level=plan.confidence_level)
        if bound is not None and bound.difference <= 0:
            yield (
                f"{bound.n} {bound.unit} can miss rare failures: up to {100 * bound.share:.1f} % "
                f"of all {bound.unit} could drop by {bound.size:.3g}, and {self.names[1]} would "
                f"then be worse by {number(-bound.difference)}"
            )


# -- margins


def what_strict_lacks(metric: Metric) -> str:
    """What must be said of a metric before it can be tested strictly; empty if nothing."""
    if metric.bounds is not None and not has_formal_bounds(metric):
        return ""
    problem = f"needs the smallest and largest possible score of {metric.name}"
    if metric.bounds is not None:
        low, high = metric.bounds
        problem = (
            f"{problem}, and its bounds of {low:g} and {high:g} are a formality, with which "
            "nothing would be shown"
        )
    return (
        f'margin_method "{STRICT}" {problem}; say them with '
        f"metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}, or choose another method"
    )


def compare_with_margin(
    pairs: Pairs,
    metric: Metric,
    margin: float,
    *,
    method: str,
    alpha: float,
    alternative: Claim = "equivalence",
) -> EquivalenceResult:
    """The test of a claim about a metric, with the bounds that the metric has."""
    if method == STRICT and (problem := what_strict_lacks(metric)):
        raise DataError(problem)
    return equivalence_test(
        *(pairs, None, margin),
        alpha=alpha,
        alternative=alternative,
        method=method,
        bounds=metric.bounds,
        bounds_are_formal=has_formal_bounds(metric),
    )


def interval_name(test: EquivalenceResult, level: float) -> str:
    """What the interval of a test is called: its level, after the method if it is not a default."""
    method = "" if test.method in _USUAL_METHODS else f"{test.method} "
    return f"{method}{100 * level:g} % CI"
