"""Evaluations that stop when they know: the rules, and the evidence for each so far.

::

    better(metric)  worse(metric)  different(metric)     against the baseline
    no_regression(metric, margin=0.02)                   against the baseline
    ci_low(metric) >= 0.8    ci_high(metric) <= 0.7      of the mean
    ci_width(metric) <= 0.05                             of the mean

The first three take ``effect=``, the size of the difference that is expected. One more rule is one
function, which makes a `MeanClaim` or a `Width` of a `StopRequest`, and one line in ``STOP_RULES``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd

from rageval_report._registry import Registry
from rageval_report.analysis.gate_figures import difference_range
from rageval_report.analysis.pairing import twin_of
from rageval_report.analysis.rules import Rule, Word, bind_arguments, find_metric, parse_rule
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.results import Result
from rageval_report.scores import Metric, Scored
from rageval_report.scores.cluster_hint import likely_clusters
from rageval_report.stats import sequential
from rageval_report.stats.base import TIE_TOLERANCE, Alternative, Bounds, Interval, check_integer
from rageval_report.stats.means import mean_interval
from rageval_report.stats.pairs import paired_interval
from rageval_report.stats.sequential import SizeBets
from rageval_report.stats.sign_flips import sign_flip_pvalue
from rageval_report.types import FloatArray

# The interval of a width rule is looked at after so many queries. A width says little about where
# the mean is, so that stopping at it does hardly any harm: the interval then contained the mean in
# 94.5 to 99 % of the evaluations of a simulation (docs/sequential.md), looked at every 20 queries.
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
    """A statement about a mean that the scores can show.

    Parameters
    ----------
    values : ndarray of shape (n_queries,)
        Scores, or paired differences, in the order in which the queries were asked; NaN where
        unscored.
    bounds : tuple of float, optional
        The smallest and the largest possible value; None if there is none.
    limit : float
        What the mean must differ from.
    alternative : {"greater", "less", "two-sided"}
        The side on which the mean must lie.
    n_planned : int
        The number of queries that can be asked.
    share : float
        The part of alpha that the claim may use: 1/2 for one side of a two-sided statement.
    effect : float, optional
        The distance from the limit that is expected, in the unit of the values.
    """

    values: FloatArray
    bounds: Bounds | None
    limit: float
    alternative: Alternative
    n_planned: int
    share: float = 1.0
    effect: float | None = None

    @property
    def n(self) -> int:
        """The number of queries that have a value."""
        return self.scored.size

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
        """The e-value after each query, times the share; enough at 1 / alpha.

        A query without a value leaves it as it was. Values without bounds have asymptotic e-values,
        which are 0 before the first look and two-sided in themselves, so that no share is taken.
        """
        common = (self.values, self.limit)
        if self.bounds is None:
            wealth = sequential.asymptotic_evalues(
                *common, alternative=self.alternative, planned_n=self.n_planned, alpha=alpha
            )
        else:
            wealth = self.share * sequential.mean_evalues(
                *common,
                bounds=self.bounds,
                alternative=self.alternative,
                bets=self.bets(),
                alpha=self._two_sided(alpha),
            )
        latest: FloatArray = np.append(0.0, wealth)[np.cumsum(~np.isnan(self.values))]
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
        scored = self.scored
        if not scored.size:
            return Interval.unknown(math.nan, "sign-flip", confidence_level)
        return paired_interval(
            *(np.zeros_like(scored), scored), method="sign-flip", confidence_level=confidence_level
        )


@dataclass(frozen=True, eq=False)
class Width:
    """A goal for the width of the interval of a mean, which says nothing about the mean itself."""

    values: FloatArray
    bounds: Bounds
    widest: float


@dataclass(frozen=True, eq=False)
class StopRequest:
    """What a rule asks of the scores so far.

    Parameters
    ----------
    rule : Rule
        The parsed rule.
    metric : Metric
        The metric as the evaluation knows it.
    candidate : Scored
        The evaluation, its queries in the order in which they were asked.
    baseline : Scored, optional
        The earlier run that it is compared with.
    n_planned : int
        The number of queries that can be asked.
    numbers : dict of str to float
        The other arguments: margin, effect.
    """

    rule: Rule
    metric: Metric
    candidate: Scored
    baseline: Scored | None
    n_planned: int
    numbers: Mapping[str, float] = field(default_factory=dict)

    @property
    def scores(self) -> FloatArray:
        """The candidate's scores."""
        return np.asarray(self.candidate.scores[self.metric.name], dtype=np.float64)

    @property
    def differences(self) -> FloatArray:
        """Candidate minus baseline; NaN where a side has no score."""
        twin = None if self.baseline is None else twin_of(self.metric, self.baseline)
        if self.baseline is None or twin is None:
            problem = f"the baseline has no scores of {self.metric.name}"
            self.rule.refuse(problem, self.rule.call.place)
        before = self.baseline.scores[twin.name].reindex(self.candidate.scores.index)
        return self.scores - np.asarray(before, dtype=np.float64)

    @property
    def difference_bounds(self) -> Bounds | None:
        """The smallest and the largest possible difference; None without bounds."""
        return difference_range(self.metric)


@dataclass(frozen=True, slots=True)
class StopRule:
    """A member of ``STOP_RULES``.

    Parameters
    ----------
    description : str
        What has been shown when the rule holds.
    goal : callable
        Makes a `MeanClaim` or a `Width` of a `StopRequest`.
    parameters : tuple of str
        The names of the arguments; one that ends with "?" may be omitted.
    operator : str
        The operator that the rule needs; empty if it is a claim of its own.
    needs_baseline : bool
        Whether it is about a difference from a baseline.
    """

    description: str
    goal: Callable[[StopRequest], MeanClaim | Width]
    parameters: tuple[str, ...] = ("metric",)
    operator: str = ""
    needs_baseline: bool = False


def _difference(request: StopRequest, *, side: int) -> MeanClaim:
    """The claim that there is a difference: to the better (1), the worse (-1), or any (0)."""
    rises = (side > 0) == request.metric.greater_is_better
    alternative: Alternative = "two-sided" if side == 0 else "greater" if rises else "less"
    # As the verdicts of a comparison: two-sided, whichever side the rule names.
    share, effect = (0.5 if side else 1.0), request.numbers.get("effect")
    values, bounds = request.differences, request.difference_bounds
    return MeanClaim(values, bounds, 0.0, alternative, request.n_planned, share, effect)


def _no_regression(request: StopRequest) -> MeanClaim:
    """The claim that the candidate is not worse by the margin or more; one-sided, as in gates."""
    margin, bounds, rule = request.numbers["margin"], request.difference_bounds, request.rule
    if bounds is not None and margin >= bounds[1]:
        problem = f"no difference of {request.metric.name} is larger than {bounds[1]:g}"
        rule.refuse(problem, rule.call.end - 1)
    rises = request.metric.greater_is_better
    side: Alternative = "greater" if rises else "less"
    limit = -margin if rises else margin
    return MeanClaim(request.differences, bounds, limit, side, request.n_planned)


def _mean_beyond(request: StopRequest, *, side: Alternative) -> MeanClaim:
    """The claim that the mean lies on one side of the threshold."""
    bounds, limit, name = request.metric.bounds, request.rule.threshold, request.metric.name
    if bounds is not None and not bounds[0] <= limit <= bounds[1]:
        ends = f"from {bounds[0]:g} to {bounds[1]:g}"
        problem = f"{name} is {ends}, so {limit:g} cannot be right"
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
        "ci_low": StopRule(
            "the mean is above the threshold",
            partial(_mean_beyond, side="greater"),
            operator=">=",
        ),
        "ci_high": StopRule(
            "the mean is below the threshold", partial(_mean_beyond, side="less"), operator="<="
        ),
        "ci_width": StopRule("the interval of the mean is narrow enough", _ci_width, operator="<="),
    },
)


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

    def request(self, candidate: Scored, baseline: Scored | None, n_planned: int) -> StopRequest:
        """What the rule asks of the scores so far; a `RuleError` without its metric."""
        metric = find_metric(self.rule, self.metric, candidate.metrics)
        return StopRequest(self.rule, metric, candidate, baseline, n_planned, self.numbers)


def parse_stop_rules(
    rules: str | Rule | Sequence[str | Rule], *, has_baseline: bool
) -> tuple[ParsedStopRule, ...]:
    """The rules, parsed and checked as far as this is possible without scores.

    Parameters
    ----------
    rules : str or sequence of str
        Such as "better(recall@5)".
    has_baseline : bool
        Whether there is a run to compare with.

    Raises
    ------
    RuleError
        If a rule makes no sense; the message points at the character.
    DataError
        If there is no rule.

    Examples
    --------
    >>> rule, *_ = parse_stop_rules("no_regression(mrr, margin=2%)", has_baseline=True)
    >>> rule.kind.description, rule.metric.text, rule.numbers
    ('the candidate is not worse by the margin or more', 'mrr', {'margin': 0.02})
    """
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
    """The rules of an evaluation, and the error rate of all of them together.

    Parameters
    ----------
    rules : tuple of ParsedStopRule
        The evaluation stops as soon as one holds.
    n_planned : int
        The number of queries that can be asked.
    alpha : float
        The probability that any claim is shown although it is false.
    looks : int, optional
        With a number, the claims are tested at so many looks with alpha spending; otherwise by
        betting, at any time.
    """

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
    """The numbers of queries after which rules that hold at any time are looked at.

    Every tenth at first, and later after each twentieth part of what was asked, so that the work of
    looking stays small. A rule that held between two looks is noticed at the next.

    Examples
    --------
    >>> open_looks(45), len(open_looks(10_000))
    ([10, 20, 30, 40, 45], 102)
    """
    sizes, size = [], 0
    while size < n_planned:
        size = min(n_planned, size + max(10, size // 20))
        sizes.append(size)
    return sizes


def planned_looks(n_planned: int, looks: int) -> list[int]:
    """The numbers of queries of equally spaced looks, none before 100 queries if there are as many.

    Examples
    --------
    >>> planned_looks(1000, 5), planned_looks(200, 5), planned_looks(60, 2)
    ([200, 400, 600, 800, 1000], [100, 125, 150, 175, 200], [30, 60])
    """
    check_integer("looks", looks, 1)
    # The first look is late enough, and the others share what follows.
    first = -(-n_planned // looks)
    if first < ENOUGH_FOR_A_LOOK < n_planned:
        first = ENOUGH_FOR_A_LOOK
    sizes = np.linspace(first, n_planned, looks) if looks > 1 else [n_planned]
    return sorted({int(size) for size in np.ceil(np.array(sizes) - 1e-9)})


@dataclass(frozen=True, eq=False)
class StopDecision:
    """Whether the evaluation may stop, and the table that says why, one row per rule."""

    result: Result

    @property
    def may_stop(self) -> bool:
        """Whether a rule holds."""
        return bool(self.result.frame["holds"].any())


def decide(plan: StopPlan, candidate: Scored, baseline: Scored | None = None) -> StopDecision:
    """Whether a rule holds with the scores so far.

    Parameters
    ----------
    plan : StopPlan
        The rules.
    candidate : Scored
        The scores so far, the queries in the random order in which they were asked.
    baseline : Scored, optional
        The run to compare with.

    Returns
    -------
    StopDecision
        Its table has one row per rule: ``rule``, ``holds``, ``metric``, ``n`` (scored queries, or
        complete pairs), ``estimate`` of the mean or of the mean difference with ``ci_low``,
        ``ci_high`` and their ``confidence_level``, ``evidence``, ``needed``, ``decided_at`` (the
        number of queries after which the rule held for the first time), ``verdict``. The evidence
        is the largest e-value so far, which must be at least what is needed; with planned looks the
        p-value at the latest look, which must be at most the level of this look; of a width the
        width, which must be at most the goal.

    Raises
    ------
    RuleError
        If a rule names a metric that is not there.

    Examples
    --------
    >>> from rageval_report.demo import demo_evaluations
    >>> bm25, hybrid = demo_evaluations()
    >>> plan = StopPlan(parse_stop_rules("better(recall@5)", has_baseline=True), 200)
    >>> decision = decide(plan, hybrid, bm25)
    >>> decision.may_stop, int(decision.result.frame["decided_at"].iloc[0])
    (True, 141)
    """
    requests = [rule.request(candidate, baseline, plan.n_planned) for rule in plan.rules]
    goals = [rule.kind.goal(request) for rule, request in zip(plan.rules, requests, strict=True)]
    claims = [goal for goal in goals if isinstance(goal, MeanClaim)]
    if plan.looks is None:
        verdicts = _at_any_time(plan, claims)
    else:
        verdicts = _at_looks(plan, claims, len(candidate.scores))
    states = iter(verdicts)
    rows = [
        _row(rule, request.metric, *(_width(g) if isinstance(g, Width) else next(states)))
        for rule, request, g in zip(plan.rules, requests, goals, strict=True)
    ]
    clusters = likely_clusters(candidate)
    notes: tuple[str, ...] = ()
    if clusters is not None:
        column, counted = clusters
        notes = (
            f"{counted}; stopping rules assume independent queries: if these are not, ask all of "
            f"them and compare with clusters={column!r}",
        )
    looks = "at any time" if plan.looks is None else plan.looks
    settings = {"alpha": plan.alpha, "looks": looks, "n_planned": plan.n_planned}
    frame = pd.DataFrame(rows)
    return StopDecision(Result("Stopping rules", frame, settings, notes, headline=_HEADLINE))


# How far a rule is: the interval, the number of scores, the evidence, what would be enough, and the
# number of queries after which it was; NaN if the rule does not hold.
_State = tuple[Interval, int, float, float, float]


def _at_any_time(plan: StopPlan, claims: Sequence[MeanClaim]) -> list[_State]:
    if not claims:
        return []
    paths, needed = [claim.evalues(plan.alpha) for claim in claims], 1.0 / plan.alpha
    states: list[_State] = []
    for claim, path in zip(claims, sequential.adjust_evalues(paths), strict=True):
        # An e-value is computed from logarithms, so that an exact 20 may be 20 minus rounding.
        is_enough = path >= needed * (1.0 - 1e-9)
        decided_at = float(is_enough.argmax() + 1) if is_enough.any() else math.nan
        evidence = float(path.max()) if path.size else 0.0
        interval, n = claim.sequence(plan.alpha), claim.n
        states.append((interval, n, evidence, needed, decided_at))
    return states


def _at_looks(plan: StopPlan, claims: Sequence[MeanClaim], n_queries: int) -> list[_State]:
    sizes = [size for size in plan.look_sizes if size <= n_queries]
    pvalues = [[claim.pvalue(size) for size in sizes] for claim in claims]
    levels, decided = rejected_at_looks(
        np.array(pvalues).reshape(len(claims), -1),
        np.array(plan.look_sizes) / plan.n_planned,
        plan.alpha,
        [2.0 * claim.share if claim.alternative != "two-sided" else 1.0 for claim in claims],
        [claim.alternative == "two-sided" for claim in claims],
    )
    states: list[_State] = []
    for claim, values, level, look in zip(claims, pvalues, levels.tolist(), decided, strict=True):
        decided_at = math.nan if look is None else float(sizes[look])
        evidence, interval = values[-1] if values else math.nan, claim.interval_at_look(level)
        states.append((interval, claim.n, evidence, level, decided_at))
    return states


def _width(goal: Width) -> _State:
    """The interval at the latest look; the rule holds if it is narrow enough there."""
    n_looked_at = len(goal.values) - len(goal.values) % _WIDTH_LOOK
    scored = goal.values[:n_looked_at]
    interval = mean_interval(scored, method="gaffke", bounds=goal.bounds)
    width, n = interval.high - interval.low, int((~np.isnan(scored)).sum())
    decided_at = float(n_looked_at) if n and width <= goal.widest else math.nan
    return interval, n, width, goal.widest, decided_at


def _row(
    rule: ParsedStopRule,
    metric: Metric,
    interval: Interval,
    n: int,
    evidence: float,
    needed: float,
    decided_at: float,
) -> dict[str, object]:
    level = interval.confidence_level
    limits = f"{100 * level:.0f} % {interval.low:.3g} to {interval.high:.3g}"
    numbers = f"{interval.estimate:.3g} ({limits})"
    verdict = f"{rule.text} is not shown with {n} scored queries: {numbers}"
    if not math.isnan(decided_at):
        after = f"after {decided_at:.0f} queries"
        verdict = f"{rule.text} holds {after}: {rule.kind.description}, {numbers}"
    return {
        "rule": rule.text,
        "holds": not math.isnan(decided_at),
        "metric": metric.name,
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
    pvalues: FloatArray,
    shares: FloatArray,
    alpha: float,
    weights: Sequence[float],
    are_two_sided: Sequence[bool],
) -> tuple[FloatArray, list[int | None]]:
    """Holm's steps over several claims, each with alpha spending over the looks.

    As long as no claim is shown each is tested at alpha over their number. Each that is shown
    leaves its part to the others, from that look on (Maurer and Bretz 2013).

    Parameters
    ----------
    pvalues : ndarray of shape (n_claims, n_looks_so_far)
        The p-values at the looks so far; one-sided for a claim about one side.
    shares : ndarray of shape (n_looks,)
        The share of the planned queries at each look.
    alpha : float
        The error rate of all claims together.
    weights : sequence of float
        For each claim, twice the part of alpha that one side may use: 1 for one side of a two-sided
        statement, 2 for a one-sided one.
    are_two_sided : sequence of bool
        Whether the p-values of a claim are two-sided.

    Returns
    -------
    levels : ndarray of shape (n_claims,)
        The level of each claim at the latest look.
    decided : list of int or None
        The look at which each claim was shown.

    References
    ----------
    .. [1] Maurer, Bretz (2013). Multiple testing in group sequential trials using graphical
           approaches. Statistics in Biopharmaceutical Research 5:311-320.

    Examples
    --------
    >>> pvalues = np.array([[0.2, 0.001], [0.04, 0.03]])
    >>> levels, decided = rejected_at_looks(
    ...     pvalues, np.array([0.5, 1.0]), 0.05, [1.0, 1.0], [True, True]
    ... )
    >>> decided, levels.round(4)
    ([1, 1], array([0.0247, 0.049 ]))
    """
    n_claims, n_looks = pvalues.shape
    decided: list[int | None] = [None] * n_claims
    levels = np.zeros(n_claims)
    for look in range(n_looks):
        is_changed = True
        while is_changed:
            is_changed = False
            still_open = [claim for claim in range(n_claims) if decided[claim] is None]
            for claim in still_open:
                part = min(0.5, weights[claim] * alpha / len(still_open))
                level = float(sequential.look_levels(shares.tolist(), alpha=part)[look])
                levels[claim] = level if are_two_sided[claim] else level / 2.0
                if pvalues[claim, look] <= levels[claim]:
                    decided[claim], is_changed = look, True
                    break
    return levels, decided
