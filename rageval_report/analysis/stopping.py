"""Evaluations that stop when they know: the rules, and the evidence for each so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from rageval_report._registry import Registry
from rageval_report.analysis import arguments, gate_figures, pairing
from rageval_report.analysis.rules import Rule, Word, bind_arguments, find_metric, parse_rule
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored, align
from rageval_report.stats import means, sequential
from rageval_report.stats.base import Alternative, Bounds, Interval
from rageval_report.stats.sequential import SizeBets
from rageval_report.types import FloatArray

# The interval of a width rule is looked at after so many queries. A width says little about where
# the mean is, so that stopping at it does hardly any harm: the interval then contained the mean in
# 94.5 to 99 % of the evaluations of a simulation (docs/validity.md), looked at every 20 queries.
_WIDTH_LOOK = 20
_HEADLINE = ("rule", "holds", "n", "estimate", "ci_low", "ci_high", "evidence", "needed")


# -- what a rule claims


@dataclass(frozen=True, eq=False)
class MeanClaim:
    """A statement about a mean that the scores can show."""

    values: FloatArray
    bounds: Bounds | None
    limit: float
    alternative: Alternative
    n_planned: int
    share: float = 1.0

    @property
    def scored(self) -> FloatArray:
        """The values that are there."""
        return self.values[~np.isnan(self.values)]

    def evalues(self, alpha: float) -> FloatArray:
        """The e-value after each query, times the share; enough at 1 / alpha."""
        values, limit, side = self.values, self.limit, self.alternative
        if self.bounds is None:
            wealth = sequential.asymptotic_evalues(
                values, limit, alternative=side, planned_n=self.n_planned, alpha=alpha
            )
        else:
            bets = SizeBets.up_to(self.n_planned)
            own: dict[str, Any] = {"bounds": self.bounds, "alternative": side, "bets": bets}
            wealth = self.share * sequential.mean_evalues(
                values, limit, alpha=self._two_sided(alpha), **own
            )
        latest: FloatArray = np.append(0.0, wealth)[np.cumsum(~np.isnan(values))]
        return latest

    def sequence(self, alpha: float) -> Interval:
        """The interval whose limit passes `limit` as soon as the e-value is enough."""
        level, n = 1.0 - self._two_sided(alpha), self.n_planned
        if self.bounds is None:
            return sequential.asymptotic_sequence(self.values, planned_n=n, confidence_level=level)
        own: dict[str, Any] = {"bounds": self.bounds, "bets": SizeBets.up_to(n)}
        return sequential.mean_sequence(self.values, confidence_level=level, **own)

    def _two_sided(self, alpha: float) -> float:
        """The error rate of an interval with two limits, one of which is what the claim needs."""
        if self.bounds is None or self.alternative == "two-sided":
            return alpha
        return min(0.5, 2.0 * self.share * alpha)


@dataclass(frozen=True, eq=False)
class Width:
    """A goal for the width of the interval of a mean, which says nothing about the mean itself."""

    values: FloatArray
    bounds: Bounds
    widest: float


@dataclass(frozen=True, slots=True)
class StopRule:
    """A member of ``STOP_RULES``."""

    description: str
    goal: Callable[[StopRequest], MeanClaim | Width]
    parameters: tuple[str, ...] = ("metric",)
    operator: str = ""
    needs_baseline: bool = False


@dataclass(frozen=True, slots=True)
class ParsedStopRule:
    """A rule whose names and numbers are checked; its metric is looked up when there are scores."""

    rule: Rule
    kind: StopRule
    metric: Word
    numbers: Mapping[str, float]

    @property
    def text(self) -> str:
        """The rule with single blanks."""
        return " ".join(self.rule.text.split())


@dataclass(frozen=True, eq=False)
class StopRequest:
    """What a rule asks of the scores so far; a `RuleError` without its metric."""

    parsed: ParsedStopRule
    candidate: Scored
    baseline: Scored | None
    n_planned: int

    @property
    def rule(self) -> Rule:
        """The rule."""
        return self.parsed.rule

    @cached_property
    def metric(self) -> Metric:
        """The metric as the candidate knows it."""
        return find_metric(self.rule, self.parsed.metric, self.candidate.metrics)

    def claim(self, limit: float, alternative: Alternative, share: float = 1.0) -> MeanClaim:
        """A claim about the mean difference, candidate minus baseline."""
        twin = None if self.baseline is None else pairing.twin_of(self.metric, self.baseline)
        if self.baseline is None or twin is None:
            problem = f"the baseline has no scores of {self.metric.name}"
            self.rule.refuse(problem, self.rule.call.place)
        before = self.baseline.scores[twin.name].reindex(self.candidate.scores.index)
        scores = arguments.scores_of(self.candidate, self.metric)
        values = scores - before.to_numpy(dtype=np.float64)
        bounds = gate_figures.difference_range(self.metric)
        return MeanClaim(values, bounds, limit, alternative, self.n_planned, share)


def _difference(request: StopRequest, *, side: int) -> MeanClaim:
    """The claim that there is a difference: to the better (1), the worse (-1), or any (0)."""
    rises = (side > 0) == request.metric.greater_is_better
    alternative: Alternative = "two-sided" if side == 0 else "greater" if rises else "less"
    # As the verdicts of a comparison: two-sided, whichever side the rule names.
    return request.claim(0.0, alternative, 0.5 if side else 1.0)


def _no_regression(request: StopRequest) -> MeanClaim:
    """The claim that the candidate is not worse by the margin or more; one-sided, as in gates."""
    margin, bounds = request.parsed.numbers["margin"], gate_figures.difference_range(request.metric)
    if bounds is not None and margin >= bounds[1]:
        problem = f"no difference of {request.metric.name} is larger than {bounds[1]:g}"
        request.rule.refuse(problem, request.rule.call.end - 1)
    if request.metric.greater_is_better:
        return request.claim(-margin, "greater")
    return request.claim(margin, "less")


def _mean_beyond(request: StopRequest, *, side: Alternative) -> MeanClaim:
    """The claim that the mean lies on one side of the threshold."""
    bounds, limit = request.metric.bounds, request.rule.threshold
    if bounds is not None and not bounds[0] <= limit <= bounds[1]:
        ends = f"from {bounds[0]:g} to {bounds[1]:g}"
        problem = f"{request.metric.name} is {ends}, so {limit:g} cannot be right"
        request.rule.refuse(problem, request.rule.threshold_word.place)
    scores = arguments.scores_of(request.candidate, request.metric)
    return MeanClaim(scores, bounds, limit, side, request.n_planned, share=0.5)


def _ci_width(request: StopRequest) -> Width:
    """The goal that the interval of the mean is narrow enough."""
    rule, metric = request.rule, request.metric
    if metric.bounds is None:
        problem = f"ci_width needs a metric with bounds, and {metric.name} has none"
        rule.refuse(problem, rule.call.place)
    if not rule.threshold > 0.0:
        rule.refuse("a width must be a number above 0", rule.threshold_word.place)
    scores = arguments.scores_of(request.candidate, metric)
    return Width(scores, metric.bounds, rule.threshold)


def _against_baseline(text: str, side: int) -> StopRule:
    goal = partial(_difference, side=side)
    return StopRule(f"the candidate {text} the baseline", goal, needs_baseline=True)


_ABOVE, _BELOW = partial(_mean_beyond, side="greater"), partial(_mean_beyond, side="less")
STOP_RULES: Registry[StopRule] = Registry(
    "stopping rule",
    {
        "better": _against_baseline("is better than", 1),
        "worse": _against_baseline("is worse than", -1),
        "different": _against_baseline("differs from", 0),
        "no_regression": StopRule(
            "the candidate is not worse by the margin or more",
            _no_regression,
            ("metric", "margin"),
            needs_baseline=True,
        ),
        "ci_low": StopRule("the mean is above the threshold", _ABOVE, operator=">="),
        "ci_high": StopRule("the mean is below the threshold", _BELOW, operator="<="),
        "ci_width": StopRule("the interval of the mean is narrow enough", _ci_width, operator="<="),
    },
)


def parse_stop_rules(
    rules: str | Rule | Sequence[str | Rule], *, has_baseline: bool
) -> tuple[ParsedStopRule, ...]:
    """The rules, checked as far as possible without scores; a `RuleError` points at a mistake."""
    texts = [rules] if isinstance(rules, str | Rule) else list(rules)
    if not texts:
        raise DataError('stop_when must be a rule such as "better(recall@5)", or several; got none')
    return tuple(_checked(parse_rule(text), has_baseline) for text in texts)


def _checked(rule: Rule, has_baseline: bool) -> ParsedStopRule:
    word, name = rule.call, rule.call.text
    try:
        kind = STOP_RULES[name.lower()]
    except UnknownNameError as exc:
        raise rule.unknown(word, exc) from exc
    words = bind_arguments(rule, rule.call, kind.parameters)
    metric = words.pop("metric")
    numbers = {key: rule.number(argument) for key, argument in words.items()}
    for key, value in numbers.items():
        if not value > 0.0:
            rule.refuse(f"{key} must be a number above 0", words[key].place)
    if rule.operator != kind.operator:
        place = rule.operator_place if rule.operator else len(rule.text)
        needs = f"{name} needs {kind.operator} and a threshold"
        rule.refuse(needs if kind.operator else f"{name} is complete without an operator", place)
    if kind.needs_baseline and not has_baseline:
        rule.refuse(f"{name} needs a baseline: name an earlier run", word.place)
    return ParsedStopRule(rule, kind, metric, numbers)


# -- when it is enough


@dataclass(frozen=True)
class StopPlan:
    """The rules of an evaluation, which stops as soon as one holds."""

    rules: tuple[ParsedStopRule, ...]
    n_planned: int
    alpha: float = 0.05

    @property
    def look_sizes(self) -> list[int]:
        """The numbers of queries after which the rules, which hold at any time, are looked at."""
        sizes, size = [], 0
        while size < self.n_planned:
            size = min(self.n_planned, size + max(10, size // 20))
            sizes.append(size)
        return sizes


@dataclass(frozen=True, eq=False, repr=False)
class StopDecision(Result):
    """Whether the evaluation may stop, and why: one row per rule."""

    @property
    def may_stop(self) -> bool:
        """Whether a rule holds."""
        return bool(self.frame["holds"].any())


def decide(plan: StopPlan, candidate: Scored, baseline: Scored | None = None) -> StopDecision:
    """Whether a rule holds with the scores so far, in the random order in which they were asked."""
    requests = [StopRequest(rule, candidate, baseline, plan.n_planned) for rule in plan.rules]
    goals = [request.parsed.kind.goal(request) for request in requests]
    claims = [goal for goal in goals if isinstance(goal, MeanClaim)]
    of_claims = iter(_at_any_time(plan, claims))
    states = [_width(goal) if isinstance(goal, Width) else next(of_claims) for goal in goals]
    notes = []
    if (clusters := align.likely_clusters(candidate)) is not None:
        notes.append(
            f"{clusters[1]}; stopping rules assume independent queries: if these are not, ask all "
            f"of them and compare with clusters={clusters[0]!r}"
        )
    return StopDecision(
        "Stopping rules",
        pd.DataFrame([_row(*each) for each in zip(requests, states, strict=True)]),
        {"alpha": plan.alpha, "n_planned": plan.n_planned},
        tuple(notes),
        headline=_HEADLINE,
    )


# How far a rule is: the interval, the number of scores, the evidence, what would be enough, and the
# number of queries after which it was; NaN if the rule does not hold.
_State = tuple[Interval, int, float, float, float]


def _at_any_time(plan: StopPlan, claims: Sequence[MeanClaim]) -> list[_State]:
    needed, states = 1.0 / plan.alpha, list[_State]()
    paths = [claim.evalues(plan.alpha) for claim in claims]
    for claim, path in zip(claims, sequential.adjust_evalues(paths) if paths else (), strict=True):
        # An e-value is computed from logarithms, so that an exact 20 may be 20 minus rounding.
        is_enough = path >= needed * (1.0 - 1e-9)
        decided_at = float(is_enough.argmax() + 1) if is_enough.any() else math.nan
        interval, evidence = claim.sequence(plan.alpha), float(path.max(initial=0.0))
        states.append((interval, claim.scored.size, evidence, needed, decided_at))
    return states


def _width(goal: Width) -> _State:
    """The interval at the latest look; the rule holds if it is narrow enough there."""
    n_looked_at = len(goal.values) - len(goal.values) % _WIDTH_LOOK
    scored = goal.values[:n_looked_at]
    interval = means.mean_interval(scored, method="gaffke", bounds=goal.bounds)
    width, n = interval.high - interval.low, int((~np.isnan(scored)).sum())
    decided_at = float(n_looked_at) if n and width <= goal.widest else math.nan
    return interval, n, width, goal.widest, decided_at


def _row(request: StopRequest, state: _State) -> dict[str, object]:
    interval, n, evidence, needed, decided_at = state
    level, text, holds = interval.confidence_level, request.parsed.text, not math.isnan(decided_at)
    limits = f"{100 * level:.0f} % {interval.low:.3g} to {interval.high:.3g}"
    numbers = f"{interval.estimate:.3g} ({limits})"
    verdict = f"{text} is not shown with {n} scored queries: {numbers}"
    if holds:
        shown = request.parsed.kind.description
        verdict = f"{text} holds after {decided_at:.0f} queries: {shown}, {numbers}"
    row: dict[str, object] = {"rule": text, "holds": holds, "metric": request.metric.name, "n": n}
    row |= {"estimate": interval.estimate, "ci_low": interval.low, "ci_high": interval.high}
    row |= {"confidence_level": level, "evidence": evidence, "needed": needed}
    return row | {"decided_at": decided_at, "verdict": verdict}
