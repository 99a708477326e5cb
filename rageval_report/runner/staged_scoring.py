"""Stopping rules: answers are scored while others are still to be asked, until a rule holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from rageval_report.analysis.rules import find_metric
from rageval_report.analysis.stopping import (
    ENOUGH_FOR_A_LOOK,
    StopDecision,
    StopPlan,
    decide,
    parse_stop_rules,
)
from rageval_report.errors import DataError
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.judges import GrowingJudging, JudgeOptions, Rubric, growing_judging
from rageval_report.judges.chats import Chat
from rageval_report.metrics.scoring import JudgedEvaluation, score_and_judge
from rageval_report.records import record_table
from rageval_report.records.draws import draw_keys
from rageval_report.results import Result
from rageval_report.runner.collecting import FinishedRun, Stages
from rageval_report.runner.eval_config import EvalConfig
from rageval_report.runner.eval_queries import QuerySource
from rageval_report.runner.query_source import asking_order, queries_of
from rageval_report.runner.scoring import RunScorer, ScoredRun, ScoringPlan, Tell
from rageval_report.scores import Metric, Scored

SCORES = "scores.json"
# The ordinary intervals of a stopped evaluation assume that the number of queries was fixed.
NOTE_ON_ORDER = (
    "the queries were asked in a random order, and a rule decided when to stop: the intervals and "
    "p-values for one look do not allow for this; those of the stopping rules do"
)


@dataclass(frozen=True, eq=False)
class StopSetup:
    """The stopping rules of an evaluation, and the run that they compare with."""

    plan: StopPlan
    baseline: Scored | None


def stop_setup(
    config: EvalConfig, queries: QuerySource, plan: ScoringPlan, tell: Tell
) -> StopSetup | None:
    """The stopping rules that the settings name, checked before anything is asked."""
    if not config.stop_when:
        return None
    ids = [query.query_id for query in queries_of(queries.queries)]
    names = [*plan.computed, *(rubric.name for rubric in plan.rubrics)]
    n_planned = min(len(ids), queries.run.samples or len(ids))
    return _setup_of(config.stop_when, config.baseline, ids, n_planned, config.looks, names, tell)


def _setup_of(
    stop_when: Sequence[str],
    baseline: object | None,
    query_ids: Sequence[str],
    n_planned: int,
    looks: int | None,
    metrics: Sequence[str],
    tell: Tell,
) -> StopSetup:
    known = _read_baseline(baseline)
    rules = parse_stop_rules(stop_when, has_baseline=known is not None)
    plan = StopPlan(rules, n_planned, looks=looks)
    for rule in rules:
        if metrics:
            find_metric(rule.rule, rule.metric, {name: Metric(name) for name in metrics})
        if rule.kind.needs_baseline and known is not None:
            find_metric(rule.rule, rule.metric, known.metrics)
    if known is not None and set(query_ids).isdisjoint(map(str, known.scores.index)):
        raise DataError(
            f"baseline: {known.name} has none of these queries; name a run with the same ids"
        )
    if looks is not None and plan.look_sizes[0] < ENOUGH_FOR_A_LOOK:
        tell(
            f"the first look is after {plan.look_sizes[0]} queries: if rare large losses balance "
            "many small gains, a test with so few queries is often wrong; without looks it is not"
        )
    return StopSetup(plan, known)


def _read_baseline(baseline: object | None) -> Scored | None:
    """The run that rules compare with, from its file or its folder; an evaluation as it is."""
    if baseline is None or isinstance(baseline, RAGPipelineEvaluation):
        return baseline
    if not isinstance(baseline, str | Path):
        raise DataError(
            "baseline must be a run file, its folder, or an evaluation; "
            f"got {type(baseline).__name__}"
        )
    path = Path(baseline)
    return RAGPipelineEvaluation.load(None, path / SCORES if path.is_dir() else path)


@dataclass(eq=False)
class StagedScoring:
    """The scores so far of an evaluation with stopping rules; see `staged_scoring`."""

    scorer: RunScorer
    stop: StopSetup
    folder: Path
    judging: GrowingJudging | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    decision: StopDecision | None = None

    @property
    def stages(self) -> Stages:
        """The stages in which the queries are asked."""
        return Stages(self.stop.plan.look_sizes, self.watch, self._identity())

    def _identity(self) -> dict[str, Any]:
        plan, baseline = self.stop.plan, self.stop.baseline
        return {
            "rules": [rule.text for rule in plan.rules],
            "looks": plan.looks,
            "baseline": None if baseline is None else baseline.name,
        }

    def watch(self, rows: Sequence[dict[str, Any]]) -> bool:
        """Score the answers of a stage with all earlier ones; whether a rule holds."""
        self.rows += rows
        if all(row.get("error") is not None for row in self.rows):
            return False  # nothing can be scored yet
        evaluation = self._score().scored.evaluation
        self.decision = decide(self.stop.plan, evaluation, self.stop.baseline)
        is_stuck = self.judging is not None and self.judging.is_stopped
        return self.decision.may_stop or is_stuck

    def _score(self, finished: FinishedRun | None = None) -> ScoredRun:
        """The scores of all rows so far; the judge is asked about the new ones only."""
        run, n_planned = self.scorer.config.run, self.stop.plan.n_planned
        # The rows of the run file are in the order of asking.
        stopping = {
            **self._identity(),
            "order": "random",
            "seed": run.seed,
            "n_planned": n_planned,
        }
        return self.scorer.score(
            record_table(self.rows, unretrieved_citations="keep", unplaced_gold="drop"),
            self.folder,
            finished,
            ask_judge=None if self.judging is None else self.judging.judge,
            notes=(NOTE_ON_ORDER,),
            about={"stopping": stopping},
        )

    def outcome(self, finished: FinishedRun) -> ScoredRun:
        """The scores after the last stage, with what the pipeline says of itself."""
        if self.decision is None:
            raise DataError("no answer could be scored, so no stopping rule could be looked at")
        return self._score(finished)

    def result(self, costs: Result) -> Result:
        """The table of the rules, with notes on the order and on what was saved."""
        spent = costs.frame["cost_usd"].sum(min_count=1)
        seed, tell = self.scorer.config.run.seed, self.scorer.tell
        decision = cast("StopDecision", self.decision)
        return _with_end(decision, len(self.rows), self.stop.plan.n_planned, seed, spent, tell)


@contextmanager
def staged_scoring(scorer: RunScorer, stop: StopSetup, folder: Path) -> Iterator[StagedScoring]:
    """What scores the answers of an evaluation with stopping rules, stage by stage."""
    staged, plan = StagedScoring(scorer, stop, folder), scorer.plan
    if not plan.chats:
        yield staged
        return
    with growing_judging(plan.chats, **cast("dict[str, Any]", plan.how)) as judging:
        staged.judging = judging
        yield staged


def judge_until(
    records: pd.DataFrame,
    rubrics: Sequence[Rubric],
    chats: Sequence[Chat],
    stop_when: Sequence[str],
    *,
    judging: JudgeOptions,
    baseline: object | None = None,
    looks: int | None = None,
    seed: int = 0,
    name: str = "pipeline",
    tell: Tell = lambda _text: None,
) -> tuple[JudgedEvaluation, Result]:
    """Judge records in a random order until a rule holds; the scores and the table of the rules."""
    if not len(records):
        raise DataError("records must have at least one row; got none")
    names = [rubric.name for rubric in rubrics]
    ids = [str(query_id) for query_id in records.index]
    stop = _setup_of(stop_when, baseline, ids, len(records), looks, names, tell)
    shuffled = records.iloc[asking_order(draw_keys(ids), np.ones(len(ids), dtype=bool), seed)]
    rules = [rule.text for rule in stop.plan.rules]
    with growing_judging(chats, **cast("dict[str, Any]", judging)) as growing:
        for size in stop.plan.look_sizes:
            scored = score_and_judge(
                shuffled.iloc[:size],
                rubrics,
                name=name,
                ask_judge=growing.judge,
                notes=(NOTE_ON_ORDER,),
                config={"stopping": {"rules": rules, "order": "random", "seed": seed}},
            )
            decision = decide(stop.plan, scored.evaluation, stop.baseline)
            if decision.may_stop or growing.is_stopped:
                break
    spent = float("nan") if scored.judged is None else scored.judged.usage["cost_usd"].sum()
    return scored, _with_end(decision, size, len(records), seed, spent or float("nan"), tell)


def _with_end(
    decision: StopDecision, n: int, n_planned: int, seed: int, spent: float, tell: Tell
) -> Result:
    """The table with notes: the order, how many queries were not asked, what that saved."""
    notes = [f"asked {n} of {n_planned} queries in a random order (seed {seed})"]
    n_saved = n_planned - n
    if n_saved:
        money = "" if pd.isna(spent) else f", about {spent / n * n_saved:.3g} USD"
        notes.append(f"saved {n_saved} queries ({100 * n_saved / n_planned:.0f} %){money}")
    if not decision.may_stop:
        notes.append(f"no rule holds after {n} queries")
    for message in notes:
        tell(message)
    return decision.with_notes(*notes)
