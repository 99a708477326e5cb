"""Whether an evaluation may stop: the rules, and the evidence for each so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from rageval_report.analysis.stopping.evidence import MeanClaim
from rageval_report.analysis.stopping.looks import planned_looks, rejected_at_looks
from rageval_report.analysis.stopping.rules import ParsedStopRule, StopRequest, Width
from rageval_report.results import Result
from rageval_report.scores import Scored
from rageval_report.scores.cluster_hint import likely_clusters
from rageval_report.stats.base import Interval
from rageval_report.stats.means import mean_interval
from rageval_report.stats.sequential import adjust_evalues
from rageval_report.types import FloatArray

COLUMNS = (
    *("rule", "holds", "metric", "n", "estimate", "ci_low", "ci_high", "confidence_level"),
    *("evidence", "needed", "decided_at", "verdict"),
)
HEADLINE = ("rule", "holds", "n", "estimate", "ci_low", "ci_high", "evidence", "needed")

# The interval of a width rule is looked at after so many queries. A width says little about where
# the mean is, so that stopping at it does hardly any harm: the interval then contained the mean in
# 94.5 to 99 % of the evaluations of a simulation (docs/sequential.md), looked at every 20 queries.
WIDTH_LOOK = 20


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
        if self.looks is not None:
            return planned_looks(self.n_planned, self.looks)
        return open_looks(self.n_planned)


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


@dataclass(frozen=True, eq=False)
class StopDecision:
    """Whether the evaluation may stop, and the table that says why.

    Parameters
    ----------
    result : Result
        One row per rule.
    """

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
    >>> from rageval_report.analysis.stopping.rules import parse_stop_rules
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
    states = iter(_states_of_claims(plan, claims, len(candidate.scores)))
    rows = []
    for rule, request, goal in zip(plan.rules, requests, goals, strict=True):
        state = next(states) if isinstance(goal, MeanClaim) else _state_of_width(goal)
        rows.append(_row(rule, request, state))
    frame = pd.DataFrame(rows, columns=list(COLUMNS))
    notes = _cluster_notes(candidate)
    return StopDecision(Result("Stopping rules", frame, _settings(plan), notes, headline=HEADLINE))


def _cluster_notes(candidate: Scored) -> tuple[str, ...]:
    """That the rules assume independent queries, if the details look like clusters."""
    clusters = likely_clusters(candidate)
    if clusters is None:
        return ()
    column, counted = clusters
    return (
        f"{counted}; stopping rules assume independent queries: if these are not, ask all of them "
        f"and compare with clusters={column!r}",
    )


@dataclass(frozen=True, slots=True)
class _State:
    """How far a rule is: its interval, its evidence, and what would be enough."""

    interval: Interval
    n: int
    evidence: float
    needed: float
    decided_at: float  # NaN if the rule does not hold

    @property
    def holds(self) -> bool:
        return not math.isnan(self.decided_at)


def _states_of_claims(plan: StopPlan, claims: Sequence[MeanClaim], n_queries: int) -> list[_State]:
    if not claims:
        return []
    if plan.looks is not None:
        return _states_at_looks(plan, claims, n_queries)
    evalues = adjust_evalues([claim.evalues(plan.alpha) for claim in claims])
    needed = 1.0 / plan.alpha
    return [
        _State(
            claim.sequence(plan.alpha),
            claim.n,
            float(path.max()) if path.size else 0.0,
            needed,
            _first_place(path, needed),
        )
        for claim, path in zip(claims, evalues, strict=True)
    ]


def _first_place(path: FloatArray, needed: float) -> float:
    """The number of queries after which the evidence was enough for the first time; else NaN."""
    # An e-value is computed from logarithms, so that an exact 20 may be 20 minus rounding.
    is_enough = path >= needed * (1.0 - 1e-9)
    return float(is_enough.argmax() + 1) if is_enough.any() else math.nan


def _states_at_looks(plan: StopPlan, claims: Sequence[MeanClaim], n_queries: int) -> list[_State]:
    sizes = [size for size in plan.look_sizes if size <= n_queries]
    pvalues = [[claim.pvalue(size) for size in sizes] for claim in claims]
    shares = np.array(plan.look_sizes) / plan.n_planned
    levels, decided = rejected_at_looks(
        np.array(pvalues).reshape(len(claims), -1),
        shares,
        plan.alpha,
        [2.0 * claim.share if claim.alternative != "two-sided" else 1.0 for claim in claims],
        [claim.alternative == "two-sided" for claim in claims],
    )
    return [
        _State(
            claim.interval_at_look(float(level)),
            claim.n,
            values[-1] if values else math.nan,
            float(level),
            float(sizes[look]) if look is not None else math.nan,
        )
        for claim, values, level, look in zip(claims, pvalues, levels, decided, strict=True)
    ]


def _state_of_width(goal: Width) -> _State:
    """The interval at the latest look; the rule holds if it is narrow enough there."""
    n_looked_at = len(goal.values) - len(goal.values) % WIDTH_LOOK
    scored = goal.values[:n_looked_at]
    interval = mean_interval(scored, method="gaffke", bounds=goal.bounds)
    width = interval.high - interval.low
    n = int((~np.isnan(scored)).sum())
    decided_at = float(n_looked_at) if n and width <= goal.widest else math.nan
    return _State(interval, n, width, goal.widest, decided_at)


def _row(rule: ParsedStopRule, request: StopRequest, state: _State) -> dict[str, object]:
    interval = state.interval
    row = {
        "rule": rule.text,
        "holds": state.holds,
        "metric": request.metric.name,
        "n": state.n,
        "estimate": interval.estimate,
        "ci_low": interval.low,
        "ci_high": interval.high,
        "confidence_level": interval.confidence_level,
        "evidence": state.evidence,
        "needed": state.needed,
        "decided_at": state.decided_at,
    }
    return {**row, "verdict": _sentence(rule, state)}


def _sentence(rule: ParsedStopRule, state: _State) -> str:
    interval = state.interval
    limits = f"{interval.low:.3g} to {interval.high:.3g}"
    numbers = f"{interval.estimate:.3g} ({100 * interval.confidence_level:.0f} % {limits})"
    if state.holds:
        after = f"after {state.decided_at:.0f} queries"
        return f"{rule.text} holds {after}: {rule.kind.description}, {numbers}"
    return f"{rule.text} is not shown with {state.n} scored queries: {numbers}"


def _settings(plan: StopPlan) -> dict[str, object]:
    looks = "at any time" if plan.looks is None else plan.looks
    return {"alpha": plan.alpha, "looks": looks, "n_planned": plan.n_planned}
