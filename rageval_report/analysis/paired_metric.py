"""One metric of two runs, tested: the settings of a comparison, and the numbers of its rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np

from rageval_report.analysis.arguments import (
    USUAL_SHARES,
    IntervalSettings,
    has_formal_bounds,
    scale_of,
)
from rageval_report.analysis.pairing import (
    MISSING_TREATMENTS,
    MetricPairs,
    MissingTreatment,
)
from rageval_report.errors import DataError, UnknownNameError, check_choice
from rageval_report.reports.sentences import TestWords, filled_notes, number
from rageval_report.scores import Metric
from rageval_report.stats import base, planning
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
    # The error rate of each variant that was tried (Bonferroni's, however alike they are), the
    # level of its interval, and the fewest independent units that are tested.
    alpha_of_one: float = field(init=False)
    level_of_one: float = field(init=False)
    fewest_units: int = field(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "test", TESTS.name_of(self.test))
        if self.test != "auto" and self.test not in TESTS:
            raise UnknownNameError("paired test", self.test, ["auto", *TESTS])
        check_choice("missing", self.missing, MISSING_TREATMENTS)
        check_choice("margin_method", self.margin_method, EQUIVALENCE_METHODS)
        sizes = self.margin.values() if isinstance(self.margin, Mapping) else (self.margin,)
        for size in sizes:
            if size is not None and not (math.isfinite(size) and size > 0):
                raise DataError(f"margin must be a number above 0; got {size}")
        alpha = self.alpha / base.check_integer("tried", self.tried, 1)
        level = self.confidence_level if self.tried == 1 else 1.0 - alpha
        own = {"alpha_of_one": alpha, "level_of_one": level, "fewest_units": fewest_units(alpha)}
        interval = self.interval if self.interval != "auto" else interval_of_test(self.test)
        for name, value in {**own, "interval": interval}.items():
            object.__setattr__(self, name, value)

    def margin_of(self, metric: Metric) -> float | None:
        """The difference in a metric that is too small to matter; None if the user gave none."""
        margin = self.margin.get(metric.name) if isinstance(self.margin, Mapping) else self.margin
        if margin is not None and metric.bounds and margin >= metric.bounds[1] - metric.bounds[0]:
            low, high = metric.bounds
            raise DataError(
                f"margin {margin:g}: {metric.name} is from {low:g} to {high:g}, no difference is "
                f"larger. Name the metrics of a margin: margin={{'latency_ms': {margin:g}}}"
            )
        return margin

    def words(self, correction: str, family_size: int) -> TestWords:
        """What sentences say of the tests."""
        return TestWords(correction, family_size, self.alpha, self.fewest_units, self.tried)

    def settings(self) -> dict[str, object]:
        """The settings as a result and its signature show them."""
        optional = {"margin": None, "margin_method": "auto", "tried": 1}
        return {
            "test": self.test,
            "interval": self.interval,
            "confidence_level": self.confidence_level,
            "missing": self.missing,
            **{n: getattr(self, n) for n, usual in optional.items() if getattr(self, n) != usual},
            **self.draws,
        }


DEFAULT_PLAN = ComparisonPlan()


# -- one row


@dataclass(frozen=True, eq=False)
class MetricComparison:
    """One metric of two runs, paired and tested if there are enough independent units."""

    names: tuple[str, str]
    metric: Metric
    known: MetricPairs
    plan: ComparisonPlan = DEFAULT_PLAN
    # The scores that both sides have, by unit, the largest difference that there can be, the test
    # of the mean difference, and its interval.
    pairs: Pairs = field(init=False)
    is_tested: bool = field(init=False)
    widest: float = field(init=False)
    test: base.PairedResult = field(init=False)
    interval: Interval = field(init=False)

    def __post_init__(self) -> None:
        plan, pairs, bounds = self.plan, self.known.pairs, self.metric.bounds
        widest = math.inf if bounds is None else bounds[1] - bounds[0]
        is_tested, level = pairs.n >= plan.fewest_units, plan.level_of_one
        if is_tested:
            unit = "cluster-" if self.known.units.are_clusters else ""
            test = paired_test(pairs, test=plan.test, **plan.draws)
            test = replace(test, test=f"{unit}{test.test}")
            known: dict[str, Any] = {"method": plan.interval, "confidence_level": level}
            interval = paired_interval(pairs, **known, **plan.draws)
            low, high = max(interval.low, -widest), min(interval.high, widest)
            interval = replace(interval, low=low, high=high, method=f"{unit}{interval.method}")
        else:
            # Pairs that are identical have a p-value of 1 all the same. Differences of the queries
            # of a cluster may cancel; these are not identical.
            pvalue = 1.0 if pairs.n > 0 and not pairs.by_query.n_changed else math.nan
            counts = pairs.n, pairs.wins, pairs.ties, pairs.losses
            test = base.PairedResult(pairs.mean, math.nan, pvalue, UNTESTED, *counts)
            interval = Interval(pairs.mean, math.nan, math.nan, math.nan, UNTESTED, level)
        facts = {"pairs": pairs, "is_tested": is_tested, "widest": widest}
        for name, value in {**facts, "test": test, "interval": interval}.items():
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, pairing: Any, ours: Metric, theirs: Metric, plan: ComparisonPlan) -> Self:
        """The metric of two runs, paired by the settings."""
        known = pairing.measured(ours, theirs, plan.missing, plan.units)
        return cls(pairing.names, ours, known, plan)

    @cached_property
    def bounded_pvalue(self) -> float:
        """The largest p-value that missing scores allow; 1 if they can turn the difference."""
        if not self.is_tested or self.known.extremes is None or not self.known.n_dropped:
            return self.test.pvalue
        known: dict[str, Any] = {"test": self.plan.test, **self.plan.draws}
        every = [self.test, *(paired_test(pairs, **known) for pairs in self.known.extremes)]
        signs = {np.sign(each.difference) for each in every}
        return max(each.pvalue for each in every) if len(signs) == 1 else 1.0

    @cached_property
    def claims(self) -> dict[str, EquivalenceResult]:
        """The tests against the margin, of a difference within it and of no loss by it, if any."""
        plan, margin = self.plan, self.plan.margin_of(self.metric)
        if margin is None or not self.is_tested:
            return {}
        known: dict[str, Any] = {"method": plan.margin_method, "alpha": plan.alpha_of_one}
        pairs = self.pairs if self.metric.greater_is_better else self.pairs.swapped()
        equivalent = compare_with_margin(self.pairs, self.metric, margin, **known)
        known["alternative"] = "non-inferior"
        not_worse = compare_with_margin(pairs, self.metric, margin, **known)
        return {"equivalence": equivalent, "non_inferiority": not_worse}

    def numbers(self) -> dict[str, object]:
        """The row without what needs the other rows, up to the columns of planning."""
        pairs, metric, test, interval = self.pairs, self.metric, self.test, self.interval
        by_query = pairs.by_query
        queries = by_query if metric.greater_is_better else by_query.swapped()
        name = "risk_difference" if by_query.is_binary else "d_z"
        wanted = (name, "hedges_g_z", *(["odds_ratio"] if by_query.is_binary else []))
        effects = dict.fromkeys((name, "hedges_g_z", "odds_ratio"), math.nan)
        if by_query.n > 1:
            effects |= {effect: EFFECTS[effect](by_query) for effect in wanted}
        difference = pairs.differences.mean
        row: dict[str, object] = {"metric": metric.name}
        row |= {"baseline": self.names[0], "candidate": self.names[1]}
        row |= {"n": pairs.differences.n, "n_dropped": self.known.n_dropped}
        row |= {"baseline_mean": pairs.baseline.mean, "candidate_mean": pairs.candidate.mean}
        row |= {"difference": difference, "ci_low": interval.low, "ci_high": interval.high}
        row |= {"test": test.test, "statistic": test.statistic, "pvalue": test.pvalue}
        row |= {"effect_size": effects[name], "effect_name": name}
        row |= {"wins": queries.wins, "ties": queries.ties, "losses": queries.losses}
        row |= {"improvement": difference if metric.greater_is_better else -difference}
        row |= {"ci_method": interval.method, "hedges_g_z": effects["hedges_g_z"]}
        row |= {"odds_ratio": effects["odds_ratio"], "title": metric.title, "kind": metric.kind}
        row |= {"greater_is_better": metric.greater_is_better}
        row |= {"direction_is_known": metric.direction_is_known}
        if self.plan.missing == "bounds":
            lowest, highest = self.known.extreme_differences(metric)
            row |= {"difference_lowest": lowest, "difference_highest": highest}
        return row | ({"n_clusters": pairs.n} if self.known.units.are_clusters else {})

    def planning(self, level: float) -> dict[str, float]:
        """What as many units detect, and the units that useful differences need, at a level."""
        pairs, plan, is_tested = self.pairs, self.plan, self.is_tested
        planned = planning.PlannedTest.of(pairs.units, self.test.test.removeprefix("cluster-"))
        needed = [(math.nan, math.nan)] * 2
        if is_tested and planned.is_usable:
            margin = plan.margin_of(self.metric)
            # Without a margin, 5 and 2 % of the metric's range.
            scale = scale_of(self.metric, pairs.baseline.mean, pairs.std)
            usual = [share * scale for share in USUAL_SHARES]
            for place, size in enumerate(usual if margin is None else (margin,)):
                n = planned.needed(size, alpha=level)
                needed[place] = size, max(n, float(plan.fewest_units))
        detectable = planned.detectable(pairs.n, alpha=level) if is_tested else math.nan
        return {
            "min_detectable_difference": detectable,
            "level_left": level,
            "planned_difference": needed[0][0],
            "n_needed": needed[0][1],
            "smaller_planned_difference": needed[1][0],
            "n_needed_smaller": needed[1][1],
        }

    def against_margin(self) -> dict[str, object]:
        """The margin, and the interval and the p-values of the tests against it."""
        unknown = ("margin", "equivalence_low", "equivalence_high", "equivalence_pvalue")
        adjusted = ("equivalence_pvalue_adjusted", "non_inferiority_pvalue_adjusted")
        row: dict[str, object] = dict.fromkeys((*unknown, *adjusted), math.nan)
        row |= {"margin_method": UNTESTED, "equivalence_note": ""}
        if (test := self.claims.get("equivalence")) is None:
            return row
        row |= {"margin": test.margin, "margin_method": test.method}
        row |= {"equivalence_pvalue": test.pvalue}
        if test.untestable:
            return row | {"equivalence_note": f": {test.untestable}"}
        row |= {"equivalence_low": test.low, "equivalence_high": test.high}
        return row | {"equivalence_note": "".join(f"; {text}" for text in test.notes)}

    def notes(self) -> Iterator[str]:
        """What a reader must know of the metric; a table of slices does not show it."""
        known, plan = self.known, self.plan
        common = self.pairs.differences.n + known.n_dropped
        if n := known.n_not_applicable:
            yield f"does not apply to {n} of {n + common} common queries"
        if known.n_dropped:
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
            # The ratio of geometric means: the change for a typical query.
            level = plan.level_of_one
            ratio = paired_interval(known.logarithms, method="sign-flip", confidence_level=level)
            factor, *ends = np.exp([ratio.estimate, ratio.low, ratio.high]).tolist()
            yield (
                f"{self.names[1]} typically has {number(factor)} times the value of "
                f"{self.names[0]} ({100 * level:g} % CI {' to '.join(map(number, ends))})"
            )
        yield from self._rare_loss_notes()

    def _dropped_note(self, common: int) -> str:
        known, (baseline, candidate) = self.known, self.names
        n_baseline, n_candidate = (side.n + known.n_neither for side in known.alone[::-1])
        note = (
            f"{known.n_dropped} of {common} shared queries are left out: no score in {baseline!r} "
            f"({n_baseline}) or {candidate!r} ({n_candidate})"
        )
        if known.n_dropped <= _MANY_DROPPED * common or self.metric.bounds is None:
            return note
        low, high = known.extreme_differences(self.metric)
        return (
            f"{note}; if every missing score were as bad or as good as it can be, the difference "
            f"would be {low:+.3f} or {high:+.3f}"
        )

    def _rare_loss_notes(self) -> Iterator[str]:
        """That losses too rare to be among the queries could turn an improvement into a loss."""
        sides = self.pairs if self.metric.greater_is_better else self.pairs.swapped()
        if not (sides.mean > 0 and self.test.pvalue <= self.plan.alpha_of_one):
            return
        if math.isinf(self.widest) or has_formal_bounds(self.metric):
            return
        # Losses are taken to be as large as the sample allows.
        level = self.plan.confidence_level
        bound = hidden_losses(sides, self.widest, confidence_level=level)
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
    return (
        f'margin_method "{STRICT}" needs the smallest and largest possible score of '
        f"{metric.name}; say them with metrics={{{metric.name!r}: {{'bounds': (low, high)}}}}, or "
        "choose another method"
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
