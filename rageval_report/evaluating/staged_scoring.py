"""eval --stop-when: answers are scored while others are still to be asked, until a rule holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pandas as pd

from rageval_report.analysis.rules import find_metric
from rageval_report.analysis.stopping import (
    ENOUGH_FOR_A_LOOK,
    StopDecision,
    StopPlan,
    decide,
    parse_stop_rules,
)
from rageval_report.errors import DataError, is_doubt
from rageval_report.evaluating.config import EvalConfig
from rageval_report.evaluating.eval_queries import QuerySource
from rageval_report.evaluating.evaluation_run import SCORES
from rageval_report.evaluating.scoring import (
    ScoredRun,
    ScoringPlan,
    Tell,
    generator_of,
    metrics_of_records,
    name_of_folder,
    notes_on_fields,
    priced_model,
    tools_of,
)
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.judges import GrowingJudging, growing_judging
from rageval_report.metrics.scoring import JudgedEvaluation, score_and_judge
from rageval_report.records import record_table
from rageval_report.results import Result
from rageval_report.runner import FinishedRun
from rageval_report.runner.query_source import queries_of
from rageval_report.runner.staged_asking import Stages
from rageval_report.scores import Metric, Scored
from rageval_report.scores.catalogue.dialects import dialect_of_name

# The ordinary intervals of a stopped evaluation assume that the number of queries was fixed.
NOTE_ON_ORDER = (
    "the queries were asked in a random order, and a rule decided when to stop: the intervals and "
    "p-values for one look do not allow for this; those of the stopping rules do"
)


@dataclass(frozen=True, eq=False)
class StopSetup:
    """The stopping rules of an evaluation, and the run that they compare with.

    Parameters
    ----------
    plan : StopPlan
        The rules.
    baseline : Scored, optional
        The run.
    """

    plan: StopPlan
    baseline: Scored | None


def stop_setup(
    config: EvalConfig, queries: QuerySource, plan: ScoringPlan, tell: Tell
) -> StopSetup | None:
    """The stopping rules that the settings name, checked before anything is asked.

    Parameters
    ----------
    config : EvalConfig
        The settings.
    queries : QuerySource
        The queries.
    plan : ScoringPlan
        What is computed and judged.
    tell : callable
        Is called with each note as soon as it is known.

    Raises
    ------
    RuleError
        If a rule makes no sense, or names a metric that is not computed.
    DataError
        If the baseline has none of the queries.
    """
    if not config.stop_when:
        return None
    baseline = read_baseline(config.baseline)
    ids = [query.query_id for query in queries_of(queries.queries)]
    names = [*plan.computed, *(rubric.name for rubric in plan.rubrics)]
    n_planned = min(len(ids), queries.run.samples or len(ids))
    rules = make_plan(config.stop_when, baseline, ids, n_planned, config.looks, names, tell)
    return StopSetup(rules, baseline)


@contextmanager
def staged_scoring(
    config: EvalConfig,
    queries: QuerySource,
    plan: ScoringPlan,
    stop: StopSetup,
    folder: Path,
    tell: Tell,
) -> Iterator[StagedScoring]:
    """What scores the answers of an evaluation with stopping rules, stage by stage.

    Parameters
    ----------
    config : EvalConfig
        The settings.
    queries : QuerySource
        The queries.
    plan : ScoringPlan
        What is computed and judged.
    stop : StopSetup
        The rules.
    folder : Path
        The folder of the run.
    tell : callable
        Is called with each note as soon as it is known.
    """
    staged = StagedScoring(config, queries, plan, stop.plan, stop.baseline, folder, tell)
    if not plan.chats:
        yield staged
        return
    with growing_judging(plan.chats, **cast("dict[str, Any]", plan.how)) as judging:
        staged.judging = judging
        yield staged


def read_baseline(baseline: object | None) -> Scored | None:
    """The run that rules compare with, from its file or its folder; an evaluation as it is.

    Parameters
    ----------
    baseline : path or RAGPipelineEvaluation, optional
        The run.

    Raises
    ------
    DataError
        If it is something else.
    """
    if baseline is None or isinstance(baseline, RAGPipelineEvaluation):
        return baseline
    if not isinstance(baseline, str | Path):
        raise DataError(
            "baseline must be a run file, its folder, or an evaluation; "
            f"got {type(baseline).__name__}"
        )
    path = Path(baseline)
    return RAGPipelineEvaluation.load(None, path / SCORES if path.is_dir() else path)


def make_plan(
    stop_when: Sequence[str],
    baseline: Scored | None,
    query_ids: Sequence[str],
    n_planned: int,
    looks: int | None,
    metrics: Sequence[str],
    tell: Tell,
) -> StopPlan:
    """The stopping rules, checked before anything is asked.

    Parameters
    ----------
    stop_when : sequence of str
        The rules.
    baseline : Scored, optional
        The run that they compare with.
    query_ids : sequence of str
        The ids of all queries.
    n_planned : int
        The number of queries that can be asked.
    looks : int, optional
        The number of planned looks.
    metrics : sequence of str
        The names of what will be computed and judged; empty if that is not known yet.
    tell : callable
        Is called with a warning if the first look is early.

    Raises
    ------
    RuleError
        If a rule makes no sense, or names a metric that will not be there.
    DataError
        If the baseline has none of the queries.
    """
    rules = parse_stop_rules(stop_when, has_baseline=baseline is not None)
    plan = StopPlan(rules, n_planned, looks=looks)
    for rule in rules:
        if metrics:
            find_metric(rule.rule, rule.metric, {name: Metric(name) for name in metrics})
        if rule.kind.needs_baseline and baseline is not None:
            find_metric(rule.rule, rule.metric, baseline.metrics)
    if baseline is not None and set(query_ids).isdisjoint(map(str, baseline.scores.index)):
        raise DataError(
            f"baseline: {baseline.name} has none of these queries; name a run with the same ids"
        )
    if looks is not None and plan.look_sizes[0] < ENOUGH_FOR_A_LOOK:
        tell(
            f"the first look is after {plan.look_sizes[0]} queries: if rare large losses balance "
            "many small gains, a test with so few queries is often wrong; without looks it is not"
        )
    return plan


@dataclass(eq=False)
class StagedScoring:
    """The scores so far of an evaluation with stopping rules; see `staged_scoring`.

    Parameters
    ----------
    config, queries, plan, folder, tell
        As there.
    stop_plan : StopPlan
        The rules.
    baseline : Scored, optional
        The run to compare with.
    """

    config: EvalConfig
    queries: QuerySource
    plan: ScoringPlan
    stop_plan: StopPlan
    baseline: Scored | None
    folder: Path
    tell: Tell
    judging: GrowingJudging | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    decision: StopDecision | None = None
    model: str | None = None

    @property
    def stages(self) -> Stages:
        """The stages in which the queries are asked."""
        sizes = self.stop_plan.look_sizes
        identity = {
            "rules": [rule.text for rule in self.stop_plan.rules],
            "looks": self.stop_plan.looks,
            "baseline": None if self.baseline is None else self.baseline.name,
        }
        return Stages(lambda _n: sizes, self.watch, identity)

    def watch(self, rows: Sequence[dict[str, Any]]) -> bool:
        """Score the answers of a stage with all earlier ones; whether a rule holds.

        Parameters
        ----------
        rows : sequence of dict
            The records that are new.
        """
        self.rows += rows
        if all(row.get("error") is not None for row in self.rows):
            return False  # nothing can be scored yet
        scored = self._score(strict=False)  # a doubt may vanish with more answers
        self.decision = decide(self.stop_plan, scored.evaluation, self.baseline)
        is_stuck = self.judging is not None and self.judging.is_stopped
        return self.decision.may_stop or is_stuck

    def _score(self, *, strict: bool, finished: FinishedRun | None = None) -> JudgedEvaluation:
        """The scores of all rows so far; the judge is asked about the new ones only."""
        config, judging = self.config, self.judging
        records = record_table(self.rows, unretrieved_citations="keep", unplaced_gold="drop")
        computed, rubrics = metrics_of_records(records, self.folder, config, self.plan)
        about = {} if finished is None else finished.config
        named = config.judge.generator if config.judge is not None else None
        self.model, notes = priced_model(records, config, named or generator_of(about))
        if finished is not None:
            notes = (*filter(is_doubt, finished.notes), *notes)
            for message in notes_on_fields(records, computed, dialect_of_name(config.dialect)):
                self.tell(message)
        return score_and_judge(
            records,
            [*computed, *(rubrics if judging is not None else [])],
            name=config.run.name or name_of_folder(config.folder),
            tools=replace(tools_of(config), prices=config.prices or None, model=self.model),
            lacking="unscored",
            ask_judge=None if judging is None else judging.judge,
            config={
                **self.queries.about,
                **about,
                **config.run.about,
                "stopping": self._settings(),
            },
            created=None if finished is None else finished.created,
            match_ids=config.match_ids,
            notes=(*notes, NOTE_ON_ORDER),
            strict=strict,
            allow=config.allow,
        )

    def _settings(self) -> dict[str, Any]:
        """The rules in the configuration of the run file, whose rows are in the order of asking."""
        return {
            **self.stages.identity,
            "order": "random",
            "seed": self.config.run.seed,
            "n_planned": self.stop_plan.n_planned,
        }

    def outcome(self, finished: FinishedRun) -> ScoredRun:
        """The scores after the last stage, with what the pipeline says of itself.

        Parameters
        ----------
        finished : FinishedRun
            The run.

        Raises
        ------
        DataError
            If no answer could be scored.
        """
        if self.decision is None:
            raise DataError("no answer could be scored, so no stopping rule could be looked at")
        scored = self._score(strict=self.config.strict, finished=finished)
        failure = None if scored.judged is None else scored.judged.failure
        return ScoredRun(scored, failure, self.model)

    def result(self, costs: Result) -> Result:
        """The table of the rules, with notes on the order and on what was saved.

        Parameters
        ----------
        costs : Result
            The costs of the run.
        """
        decision = cast("StopDecision", self.decision)
        spent = costs.frame["cost_usd"].sum(min_count=1)
        n_planned = self.stop_plan.n_planned
        notes = notes_on_end(decision, len(self.rows), n_planned, self.config.run.seed, spent)
        for message in notes:
            self.tell(message)
        return decision.with_notes(*notes)


def notes_on_end(
    decision: StopDecision, n: int, n_planned: int, seed: int, spent: float
) -> tuple[str, ...]:
    """In which order was asked, how many queries were not, and what these would have cost.

    Parameters
    ----------
    decision : StopDecision
        The latest look at the rules.
    n, n_planned : int
        The number of queries that were asked, and that could have been.
    seed : int
        The seed of the order.
    spent : float
        The cost of what was asked, in US dollars; NaN if unknown.

    Examples
    --------
    >>> decision = StopDecision("Stopping rules", pd.DataFrame({"holds": [True]}))
    >>> notes_on_end(decision, 40, 100, 0, 0.8)
    ('asked 40 of 100 queries in a random order (seed 0)', 'saved 60 queries (60 %), about 1.2 USD')
    """
    notes = [f"asked {n} of {n_planned} queries in a random order (seed {seed})"]
    n_saved = n_planned - n
    if n_saved:
        money = "" if pd.isna(spent) else f", about {spent / n * n_saved:.3g} USD"
        notes.append(f"saved {n_saved} queries ({100 * n_saved / n_planned:.0f} %){money}")
    if not decision.may_stop:
        notes.append(f"no rule holds after {n} queries")
    return tuple(notes)
