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
from rageval_report.stats import means, pairs, sequential
from rageval_report.stats.base import TIE_TOLERANCE, Alternative, Bounds, Interval, check_integer
from rageval_report.stats.sequential import SizeBets
from rageval_report.stats.sign_flips import sign_flip_pvalue
from rageval_report.types import FloatArray

# The interval of a width rule is looked at after so many queries. A width says little about where
# the mean is, so that stopping at it does hardly any harm: the interval then contained the mean in
# 94.5 to 99 % of the evaluations of a simulation (docs/validity.md), looked at every 20 queries.
_WIDTH_LOOK = 20
# Before so many queries the sign-flip test may reject far too often if rare large losses balance
# many small gains: 33 to 38 % false alarms at 100 queries in a simulation with losses on 5 % of the
# queries. A first look earlier than this gets a warning.
ENOUGH_FOR_A_LOOK = 100
# The first looks of O'Brien and Fleming have levels that no interval needs to show.
_SMALLEST_LEVEL = 1e-9
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
    effect: float | None = None

    @property
    def scored(self) -> FloatArray:
        """The values that are there."""
        return self.values[~np.isnan(self.values)]

    def bets(self) -> SizeBets:
        """The stakes: for the expected effect, or for the number of queries that can be asked."""
        if self.effect is None or self.bounds is None:
            return SizeBets.up_to(self.n_planned)
        return SizeBets.for_effect(self.effect / (self.bounds[1] - self.bounds[0]))

    def evalues(self, alpha: float) -> FloatArray:
        """The e-value after each query, times the share; enough at 1 / alpha."""
        values, limit, side = self.values, self.limit, self.alternative
        if self.bounds is None:
            wealth = sequential.asymptotic_evalues(
                values, limit, alternative=side, planned_n=self.n_planned, alpha=alpha
            )
        else:
            own: dict[str, Any] = {"bounds": self.bounds, "alternative": side, "bets": self.bets()}
            wealth = self.share * sequential.mean_evalues(
                values, limit, alpha=self._two_sided(alpha), **own
            )
        latest: FloatArray = np.append(0.0, wealth)[np.cumsum(~np.isnan(values))]
        return latest

    def sequence(self, alpha: float) -> Interval:
        """The interval whose limit passes `limit` as soon as the e-value is enough."""
        level = 1.0 - self._two_sided(alpha)
        if self.bounds is None:
            n = self.n_planned
            return sequential.asymptotic_sequence(self.values, planned_n=n, confidence_level=level)
        return sequential.mean_sequence(
            self.values, bounds=self.bounds, bets=self.bets(), confidence_level=level
        )

    def _two_sided(self, alpha: float) -> float:
        """The error rate of an interval with two limits, one of which is what the claim needs."""
        if self.bounds is None or self.alternative == "two-sided":
            return alpha
        return min(0.5, 2.0 * self.share * alpha)

    def pvalue(self, n_queries: int) -> float:
        """The sign-flip test that the mean of the first queries is the limit; 1 without a value."""
        moved = self.values[:n_queries] - self.limit
        moved = moved[~np.isnan(moved)]
        # A value that equals the limit up to rounding carries no information.
        moved[np.abs(moved) <= TIE_TOLERANCE * max(1.0, abs(self.limit))] = 0.0
        return sign_flip_pvalue(moved, alternative=self.alternative) if moved.size else 1.0

    def interval_at_look(self, level: float) -> Interval:
        """The inversion of the sign-flip test at the level of a look."""
        two_sided = level if self.alternative == "two-sided" else 2.0 * level
        confidence_level = 1.0 - min(0.5, max(two_sided, _SMALLEST_LEVEL))
        sides = np.zeros_like(self.scored), self.scored
        if not self.scored.size:
            return Interval.unknown(math.nan, "sign-flip", confidence_level)
        return pairs.paired_interval(*sides, method="sign-flip", confidence_level=confidence_level)


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

    @property
    def scores(self) -> FloatArray:
        """The candidate's scores."""
        return arguments.scores_of(self.candidate, self.metric)

    def claim(
        self,
        limit: float,
        alternative: Alternative,
        share: float = 1.0,
        effect: float | None = None,
    ) -> MeanClaim:
        """A claim about the mean difference, candidate minus baseline."""
        twin = None if self.baseline is None else pairing.twin_of(self.metric, self.baseline)
        if self.baseline is None or twin is None:
            problem = f"the baseline has no scores of {self.metric.name}"
            self.rule.refuse(problem, self.rule.call.place)
        before = self.baseline.scores[twin.name].reindex(self.candidate.scores.index)
        values = self.scores - before.to_numpy(dtype=np.float64)
        bounds = gate_figures.difference_range(self.metric)
        return MeanClaim(values, bounds, limit, alternative, self.n_planned, share, effect)


def _difference(request: StopRequest, *, side: int) -> MeanClaim:
    """The claim that there is a difference: to the better (1), the worse (-1), or any (0)."""
    rises = (side > 0) == request.metric.greater_is_better
    alternative: Alternative = "two-sided" if side == 0 else "greater" if rises else "less"
    # As the verdicts of a comparison: two-sided, whichever side the rule names.
    share = 0.5 if side else 1.0
    return request.claim(0.0, alternative, share, request.parsed.numbers.get("effect"))


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
    return MeanClaim(request.scores, bounds, limit, side, request.n_planned, share=0.5)


def _ci_width(request: StopRequest) -> Width:
    """The goal that the interval of the mean is narrow enough."""
    rule, metric = request.rule, request.metric
    if metric.bounds is None:
        problem = f"ci_width needs a metric with bounds, and {metric.name} has none"
        rule.refuse(problem, rule.call.place)
    if not rule.threshold > 0.0:
        rule.refuse("a width must be a number above 0", rule.threshold_word.place)
    return Width(request.scores, metric.bounds, rule.threshold)


def _against_baseline(text: str, side: int) -> StopRule:
    goal = partial(_difference, side=side)
    return StopRule(f"the candidate {text} the baseline", goal, ("metric", "effect?"), "", True)


_ABOVE, _BELOW = partial(_mean_beyond, side="greater"), partial(_mean_beyond, side="less")
_NOT_WORSE = "the candidate is not worse by the margin or more"
STOP_RULES: Registry[StopRule] = Registry(
    "stopping rule",
    {
        "better": _against_baseline("is better than", 1),
        "worse": _against_baseline("is worse than", -1),
        "different": _against_baseline("differs from", 0),
        "no_regression": StopRule(_NOT_WORSE, _no_regression, ("metric", "margin"), "", True),
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
    looks: int | None = None

    @property
    def look_sizes(self) -> list[int]:
        """The numbers of queries after which the rules are looked at."""
        if self.looks is None:
            return open_looks(self.n_planned)
        return planned_looks(self.n_planned, self.looks)


def open_looks(n_planned: int) -> list[int]:
    """The numbers of queries after which rules that hold at any time are looked at."""
    sizes, size = [], 0
    while size < n_planned:
        size = min(n_planned, size + max(10, size // 20))
        sizes.append(size)
    return sizes


def planned_looks(n_planned: int, looks: int) -> list[int]:
    """The numbers of queries of equally spaced looks, none before 100 queries if possible."""
    check_integer("looks", looks, 1)
    # The first look is late enough, and the others share what follows.
    first = -(-n_planned // looks)
    if first < ENOUGH_FOR_A_LOOK < n_planned:
        first = ENOUGH_FOR_A_LOOK
    sizes = np.linspace(first, n_planned, looks) if looks > 1 else [n_planned]
    return sorted({int(size) for size in np.ceil(np.array(sizes) - 1e-9)})


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
    at_looks = plan.looks is not None
    of_claims = iter(
        _at_looks(plan, claims, len(candidate.scores)) if at_looks else _at_any_time(plan, claims)
    )
    states = [_width(goal) if isinstance(goal, Width) else next(of_claims) for goal in goals]
    notes = []
    if (clusters := align.likely_clusters(candidate)) is not None:
        notes.append(
            f"{clusters[1]}; stopping rules assume independent queries: if these are not, ask all "
            f"of them and compare with clusters={clusters[0]!r}"
        )
    looks = plan.looks if at_looks else "at any time"
    return StopDecision(
        "Stopping rules",
        pd.DataFrame([_row(*each) for each in zip(requests, states, strict=True)]),
        {"alpha": plan.alpha, "looks": looks, "n_planned": plan.n_planned},
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


def _at_looks(plan: StopPlan, claims: Sequence[MeanClaim], n_queries: int) -> list[_State]:
    sizes = [size for size in plan.look_sizes if size <= n_queries]
    pvalues = [[claim.pvalue(size) for size in sizes] for claim in claims]
    levels, decided = rejected_at_looks(
        np.array(pvalues).reshape(len(claims), len(sizes)),
        np.array(plan.look_sizes) / plan.n_planned,
        plan.alpha,
        [0.0 if claim.alternative == "two-sided" else claim.share for claim in claims],
    )
    states: list[_State] = []
    for claim, values, level, look in zip(claims, pvalues, levels.tolist(), decided, strict=True):
        decided_at = math.nan if look is None else float(sizes[look])
        evidence, interval = values[-1] if values else math.nan, claim.interval_at_look(level)
        states.append((interval, claim.scored.size, evidence, level, decided_at))
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
    return {
        "rule": text,
        "holds": holds,
        "metric": request.metric.name,
        "n": n,
        "estimate": interval.estimate,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "confidence_level": level,
        "evidence": evidence,
        "needed": needed,
        "decided_at": decided_at,
        "verdict": verdict,
    }


def rejected_at_looks(
    pvalues: FloatArray, times: FloatArray, alpha: float, one_sided: Sequence[float]
) -> tuple[FloatArray, list[int | None]]:
    """Holm's steps over several claims, each with alpha spending over the looks."""
    n_claims, n_looks = pvalues.shape
    decided: list[int | None] = [None] * n_claims
    levels = np.zeros(n_claims)
    for look in range(n_looks):
        is_changed = True
        while is_changed:
            is_changed = False
            still_open = [claim for claim in range(n_claims) if decided[claim] is None]
            for claim in still_open:
                share = one_sided[claim]
                part = min(0.5, (2.0 * share if share else 1.0) * alpha / len(still_open))
                level = float(sequential.look_levels(times.tolist(), alpha=part)[look])
                levels[claim] = level / 2.0 if share else level
                if pvalues[claim, look] <= levels[claim]:
                    decided[claim], is_changed = look, True
                    break
    return levels, decided
