"""The answers of a run are computed and judged, and as much as possible of it is kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pandas as pd

from rageval_report.analysis.objectives import check_weights
from rageval_report.analysis.rules import find_metric
from rageval_report.analysis.stopping import (
    StopDecision,
    StopPlan,
    decide,
    parse_stop_rules,
)
from rageval_report.errors import DataError, JudgeError, PipelineError, is_doubt
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.judges import GrowingJudging, JudgeOptions, Rubric, growing_judging
from rageval_report.judges.chats import Chat
from rageval_report.metrics.record_scores import Tools, computable, lacking_fields, tools_in_dialect
from rageval_report.metrics.scoring import (
    AskJudge,
    JudgedEvaluation,
    score_and_judge,
    split_metrics,
)
from rageval_report.readers.record_files import read_records
from rageval_report.records import record_table
from rageval_report.records.id_changes import parse_changes
from rageval_report.results import Result
from rageval_report.runner.collecting import FinishedRun, Stages
from rageval_report.runner.eval_config import EvalConfig
from rageval_report.runner.eval_queries import QuerySource, allowed_metrics, allowed_rubrics
from rageval_report.runner.judge_setup import JudgeSetup
from rageval_report.runner.query_source import queries_of
from rageval_report.scores import Metric, Scored
from rageval_report.scores.catalogue.dialects import dialect_of_name
from rageval_report.scores.guard import check_allowed

# The names under which a server's configuration may hold the model that gives the answers.
_GENERATORS = ("llm_model", "generator_model", "generation_model", "generator", "model")
COST = "cost_usd"
SCORES = "scores.json"
# Is called with each note as soon as it is known.
Tell = Callable[[str], object]


# -- the plan, made before the pipeline is asked


@dataclass(frozen=True)
class ScoringPlan:
    """What is computed and judged, and by which models."""

    computed: tuple[str, ...] = ()
    rubrics: tuple[Rubric, ...] = ()
    judges_by_default: bool = False
    chats: tuple[Chat, ...] = ()
    how: JudgeOptions = field(default_factory=JudgeOptions)


def scoring_plan(config: EvalConfig, setup: JudgeSetup, tell: Tell) -> ScoringPlan:
    """What is computed and judged; a contradiction in the settings is reported now."""
    is_judged = setup.section.enabled
    names: list[str | Rubric] = [*config.metrics, *config.rubrics]
    names += setup.rubrics() if is_judged else []
    dialect = tools_of(config).dialect
    check_allowed(config.allow)
    parse_changes(config.match_ids)
    computed, rubrics = split_metrics(names, dialect) if names else ([], [])
    if computed:
        computable(computed, dialect)
    if not is_judged and rubrics:
        tell(f"not judged: {', '.join(rubric.name for rubric in rubrics)}")
        rubrics = []
    check_weights(config.weights, config.objectives, [rubric.name for rubric in rubrics])
    by_default = is_judged and config.judge is not None and not rubrics
    if config.groups is not None and not config.groups.generation:
        by_default = False
    chats = tuple(setup.chats()) if rubrics or by_default else ()
    how = setup.judge_options(chats) if chats else JudgeOptions()
    return ScoringPlan(tuple(computed), tuple(rubrics), by_default, chats, how)


def tools_of(config: EvalConfig) -> Tools:
    """How passages are compared with the gold."""
    return tools_in_dialect(
        config.dialect,
        # A passage that a server returns twice does not cost the run.
        duplicates=config.duplicates or ("best" if config.dialect is None else None),
        level=config.level,
        no_relevant=config.no_relevant,
    )


# -- the scores


@dataclass(frozen=True)
class ScoredRun:
    """The scores of a run, why the judge failed, and the model whose price counts."""

    scored: JudgedEvaluation
    failure: str | None = None
    model: str | None = None


def read_answers(finished: FinishedRun) -> pd.DataFrame:
    """The answers; gold that does not fit them is dropped, so that it does not cost the run."""
    return read_records(finished.records, unretrieved_citations="keep", unplaced_gold="drop")


def check_answered(finished: FinishedRun, target: str) -> None:
    """Refuse a run without a single answer, with the errors of the pipeline."""
    if finished.n_answered:
        return
    records = read_answers(finished)
    pairs = zip(records["error"].map(str), records["error_kind"].map(str), strict=True)
    errors = Counter(error.removeprefix(f"{kind}: ") for error, kind in pairs)
    reasons = "; ".join(f"{n} of {finished.n}: {error}" for error, n in errors.most_common(3))
    raise PipelineError(
        f"no query has an answer, so there is nothing to score; check the {target} target. "
        f"{reasons}"
    )


@dataclass
class RunScorer:
    """Scores the records of a run: once, or part after part while the run goes on."""

    config: EvalConfig
    queries: QuerySource
    plan: ScoringPlan
    tell: Tell

    def score(
        self,
        records: pd.DataFrame,
        finished: FinishedRun | None = None,
        *,
        ask_judge: AskJudge | None = None,
        notes: tuple[str, ...] = (),
        about: Mapping[str, Any] | None = None,
    ) -> ScoredRun:
        """Compute and judge; if the judge fails, what was computed is kept.

        Parameters
        ----------
        records : DataFrame
            The records with answers.
        finished : FinishedRun, optional
            What the pipeline says of itself; None if the run goes on.
        ask_judge : callable, optional
            Judges new records only; if omitted, the models of the plan judge all.
        notes : tuple of str
            Further notes of the evaluation.
        about : mapping, optional
            Further settings of the run file.
        """
        config, plan = self.config, self.plan
        reported = {} if finished is None else finished.config
        generator = (config.judge and config.judge.generator) or _generator_of(reported)
        model, price_notes = _priced_model(records, config, generator)
        computed, rubrics = _metrics_of_records(records, config, plan)
        doubts: list[str] = []
        if finished is not None:
            doubts = [*filter(is_doubt, finished.notes)]
            for message in _notes_on_fields(records, computed, config):
                self.tell(message)
        judging: JudgeOptions = {**plan.how, "generator": generator}

        def score(metrics: Sequence[str | Rubric]) -> JudgedEvaluation:
            return score_and_judge(
                records,
                metrics,
                name=config.name or name_of_folder(config.folder),
                tools=replace(tools_of(config), prices=config.prices or None, model=model),
                lacking="unscored",
                chat=None if ask_judge else plan.chats or None,
                judging=judging if plan.how else None,
                ask_judge=ask_judge,
                config={**self.queries.about, **reported, **config.about, **(about or {})},
                created=None if finished is None else finished.created,
                match_ids=config.match_ids,
                notes=(*doubts, *price_notes, *notes),
                # A doubt may vanish with more answers.
                strict=config.strict and finished is not None,
                allow=config.allow,
            )

        try:
            scored = score([*computed, *rubrics])
        except (DataError, JudgeError) as exc:
            if rubrics and computed and ask_judge is None:
                return ScoredRun(score(computed), str(exc), model)
            if rubrics:
                kept = f"the answers are kept in {config.folder}: go on with resume=True"
                self.tell("nothing was judged" + (f"; {kept}" if config.folder is not None else ""))
            raise
        failure = None if scored.judged is None else scored.judged.failure
        return ScoredRun(scored, failure, model)


def name_of_folder(folder: Path | None) -> str:
    """The name of a pipeline whose run has this folder."""
    return "pipeline" if folder is None else folder.absolute().name


def _metrics_of_records(
    records: pd.DataFrame, config: EvalConfig, plan: ScoringPlan
) -> tuple[list[str], list[str | Rubric]]:
    """The metrics and rubrics that are named, else those that the fields allow."""
    is_named = bool(plan.computed or (plan.rubrics and (config.metrics or config.rubrics)))
    computed = [*plan.computed]
    if not is_named:
        computed = allowed_metrics(records, config.groups, config.dialect)
    # Without being named: there are prices, or it is weighed; a system has metrics of its own.
    is_stated = COST in records and records[COST].notna().any()
    has_costs = bool(config.prices or (config.is_weighted and is_stated))
    if has_costs and config.dialect is None and COST not in computed:
        computed.append(COST)
    rubrics: list[str | Rubric] = [*plan.rubrics]
    if plan.judges_by_default:
        rubrics = [*allowed_rubrics(records)]
    if not computed and not rubrics:
        fields = [str(column) for column in records if records[column].notna().any()]
        raise DataError(
            "no metric can be computed from what the answers and the queries hold "
            f"({', '.join(fields)}): recall needs relevant and retrieved, "
            "exact_match needs reference and answer; name other metrics with metrics=[...]"
        )
    return computed, rubrics


def _priced_model(
    records: pd.DataFrame, config: EvalConfig, generator: str | None
) -> tuple[str | None, tuple[str, ...]]:
    """The model of answers that do not name one, and a note if it is a guess."""
    is_named = "model" in records and records["model"].notna().any()
    if generator is not None or is_named or len(config.prices) != 1:
        return generator, ()
    [model] = config.prices
    note = f"nothing names the model of the pipeline: its tokens have the only price, of {model!r}"
    return model, (note,)


def _notes_on_fields(
    records: pd.DataFrame, computed: list[str], config: EvalConfig
) -> Iterator[str]:
    """Which metrics stay without a score, one sentence for each set of missing fields."""
    names_by_fields: dict[tuple[str, ...], list[str]] = {}
    if computed:
        missing = lacking_fields(records, computed, dialect_of_name(config.dialect))
        for name, fields in missing.items():
            names_by_fields.setdefault(fields, []).append(name)
    for fields, names in names_by_fields.items():
        yield f"{', '.join(names)}: not applicable, the records have no {' and no '.join(fields)}"


def _generator_of(config: Mapping[str, Any]) -> str | None:
    """The model that gives the answers, if the server's configuration names it."""
    values = (config.get(name) for name in _GENERATORS)
    return next((value for value in values if isinstance(value, str) and value.strip()), None)


# -- stopping rules

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


def stop_setup(config: EvalConfig, queries: QuerySource, plan: ScoringPlan) -> StopSetup | None:
    """The stopping rules that the settings name, checked before anything is asked."""
    if not config.stop_when:
        return None
    ids = [query.query_id for query in queries_of(queries.queries)]
    n_planned = min(len(ids), queries.config.samples or len(ids))
    metrics = {name: Metric(name) for name in plan.computed}
    metrics |= {rubric.name: Metric(rubric.name) for rubric in plan.rubrics}
    known = _read_baseline(config.baseline)
    rules = parse_stop_rules(config.stop_when, has_baseline=known is not None)
    stop = StopPlan(rules, n_planned)
    for rule in rules:
        if metrics:
            find_metric(rule.rule, rule.metric, metrics)
        if rule.kind.needs_baseline and known is not None:
            find_metric(rule.rule, rule.metric, known.metrics)
    if known is not None and set(ids).isdisjoint(map(str, known.scores.index)):
        raise DataError(
            f"baseline: {known.name} has none of these queries; name a run with the same ids"
        )
    return StopSetup(stop, known)


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
            "baseline": None if baseline is None else baseline.name,
        }

    def watch(self, rows: Sequence[dict[str, Any]]) -> bool:
        """Score the answers of a stage with all earlier ones; whether a rule holds."""
        self.rows += rows
        if all(row.get("error") is not None for row in self.rows):
            return False  # nothing can be scored yet
        evaluation = self.score().scored.evaluation
        self.decision = decide(self.stop.plan, evaluation, self.stop.baseline)
        is_stuck = self.judging is not None and self.judging.is_stopped
        return self.decision.may_stop or is_stuck

    def score(self, finished: FinishedRun | None = None) -> ScoredRun:
        """The scores of all rows so far; the judge is asked about the new ones only."""
        seed, n_planned = self.scorer.config.seed, self.stop.plan.n_planned
        if finished is not None and self.decision is None:
            raise DataError("no answer could be scored, so no stopping rule could be looked at")
        # The rows of the run file are in the order of asking.
        order = {"order": "random", "seed": seed, "n_planned": n_planned}
        return self.scorer.score(
            record_table(self.rows, unretrieved_citations="keep", unplaced_gold="drop"),
            finished,
            ask_judge=None if self.judging is None else self.judging.judge,
            notes=(NOTE_ON_ORDER,),
            about={"stopping": {**self._identity(), **order}},
        )

    def result(self, costs: Result) -> Result:
        """The table of the rules, with notes on the order and on what was saved."""
        n, n_planned = len(self.rows), self.stop.plan.n_planned
        seed, decision = self.scorer.config.seed, cast("StopDecision", self.decision)
        notes = [f"asked {n} of {n_planned} queries in a random order (seed {seed})"]
        n_saved = n_planned - n
        if n_saved:
            spent = costs.frame["cost_usd"].sum(min_count=1)
            money = "" if pd.isna(spent) else f", about {spent / n * n_saved:.3g} USD"
            notes.append(f"saved {n_saved} queries ({100 * n_saved / n_planned:.0f} %){money}")
        if not decision.may_stop:
            notes.append(f"no rule holds after {n} queries")
        for message in notes:
            self.scorer.tell(message)
        return decision.with_notes(*notes)


@contextmanager
def staged_scoring(scorer: RunScorer, stop: StopSetup | None) -> Iterator[StagedScoring | None]:
    """What scores the answers while others are still to be asked; None without stopping rules."""
    plan = scorer.plan
    if stop is None or not plan.chats:
        yield None if stop is None else StagedScoring(scorer, stop)
        return
    with growing_judging(plan.chats, **cast("dict[str, Any]", plan.how)) as judging:
        yield StagedScoring(scorer, stop, judging)
