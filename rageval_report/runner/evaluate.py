"""`evaluate`: ask a pipeline, score and judge its answers, weigh, gate, and keep all of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Unpack

import numpy as np
import pandas as pd

from rageval_report.analysis.gate import GateResult
from rageval_report.analysis.weighted import weighted_score
from rageval_report.errors import DataError, UnknownNameError, is_doubt
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.judges import Judged
from rageval_report.metrics.performance import (
    Prices,
    check_prices,
    notes_on_costs,
    performance_figures,
    performance_of,
)
from rageval_report.readers.record_files import read_records
from rageval_report.reports.report import Report, Section
from rageval_report.results import Result
from rageval_report.runner.collecting import JOURNAL, FinishedRun, collect_answers, target_from
from rageval_report.runner.eval_config import (
    EvalConfig,
    EvaluateOptions,
    JudgeSection,
    Settings,
    settings_of,
)
from rageval_report.runner.eval_queries import QuerySource, check_gold, query_source
from rageval_report.runner.judge_setup import JudgeSetup, noise_results
from rageval_report.runner.scoring import SCORES as SCORES
from rageval_report.runner.scoring import (
    RunScorer,
    ScoredRun,
    ScoringPlan,
    StagedScoring,
    StopSetup,
    Tell,
    check_answered,
    read_answers,
    scoring_plan,
    staged_scoring,
    stop_setup,
)
from rageval_report.runner.settings import parse_settings
from rageval_report.runner.targets import FunctionSettings, FunctionTarget
from rageval_report.scores.write import save_scores

REPORT = "report.html"
_KEPT = ("costs", "timings", "stopping", "weighted", "gates")  # results in the run file
_COST = "cost"  # the objective
_FUNCTION = "callable"  # the target that is a function
_COLUMNS = ("part", "n", "n_known", "prompt_tokens", "completion_tokens", "cost_usd")
_AMOUNTS = ("prompt_tokens", "completion_tokens", "cost_usd")
_FIELDS = (*_AMOUNTS, "latency_ms", "model", "error")


# -- what it gives


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationRun:
    """What `rageval_report.evaluate` gave: records, scores, costs, timings, gates, weighted score.

    Parameters
    ----------
    evaluation : RAGPipelineEvaluation
        All scores, computed and judged.
    judged : Judged, optional
        The verdicts of the judge; None if nothing was judged.
    costs : Result
        One row for the pipeline and one per rubric of the judge: queries, queries of known cost,
        tokens, US dollars. Unknown costs are NaN, and a note says why.
    timings : Result
        Latencies of the pipeline, its throughput, and the seconds of each step.
    gates : GateResult, optional
        The outcome of the gates; None if there are none.
    weighted : Result, optional
        The weighted score; None without weights and objectives.
    notes : tuple of str
        What happened on the way, in order.
    folder : Path, optional
        The folder with the files of the run; None if none was named, and nothing is kept.
    failure : str, optional
        Why the judge failed. What was computed is in `evaluation` all the same.
    record_source : Path or DataFrame
        The file of records, or the records themselves.
    stopping : Result, optional
        The stopping rules: whether each holds, and the evidence; None without such rules.
    """

    evaluation: RAGPipelineEvaluation
    judged: Judged | None
    costs: Result
    timings: Result
    gates: GateResult | None
    weighted: Result | None
    notes: tuple[str, ...]
    folder: Path | None
    failure: str | None
    record_source: Path | pd.DataFrame
    stopping: Result | None = None

    @cached_property
    def records(self) -> pd.DataFrame:
        """The records: one row per query, with the answer of the pipeline; read when needed."""
        if isinstance(self.record_source, pd.DataFrame):
            return self.record_source
        return read_records(self.record_source, unretrieved_citations="keep", unplaced_gold="drop")

    @property
    def passed(self) -> bool:
        """Whether all gates hold; true without gates."""
        return self.gates is None or self.gates.passed

    @property
    def is_interrupted(self) -> bool:
        """Whether the user stopped the judging before it was complete."""
        return self.judged is not None and self.judged.is_interrupted

    @property
    def tables(self) -> dict[str, Result]:
        """The tables besides that of the scores, by name, e.g. noise, weighted, gates, costs."""
        names = ["stopping", "weighted", "gates"]
        names += ["costs"] if self.costs.frame["cost_usd"].notna().any() else []
        return {**noise_results(self.judged), **self._results(*names)}

    def _results(self, *names: str) -> dict[str, Result]:
        results = {name: getattr(self, name) for name in names}
        return {name: result for name, result in results.items() if result is not None}

    def report(self) -> Report:
        """The page of the scores, with the tables of the run after them."""
        page = self.evaluation.report()
        sections = [Section(key, result.title, (result,)) for key, result in self.tables.items()]
        return replace(page, sections=(*page.sections, *sections))

    def save(self, folder: str | Path | None = None) -> Path:
        """Write ``scores.json`` and ``report.html`` into the folder, or into the one of the run."""
        place = self.folder if folder is None else Path(folder)
        if place is None:
            raise DataError("folder must be named: this run has no folder of its own")
        place.mkdir(parents=True, exist_ok=True)
        evaluation = self.evaluation
        save_scores(
            *(evaluation, place / SCORES),
            config=evaluation.config,
            notes=evaluation.notes,
            created=evaluation.created,
            correct=evaluation.correct_rule,
            results={name: result.to_dict() for name, result in self._results(*_KEPT).items()},
        )
        self.report().save(place / REPORT)
        return place

    def __repr__(self) -> str:
        evaluation = self.evaluation
        parts = [repr(evaluation.name), f"{evaluation.n_queries} queries"]
        parts.append(f"{len(evaluation.metrics)} metrics")
        if self.gates is not None:
            state = self.gates.state
            parts.append(f"gates {state if self.gates.passed else state.upper()}")
        if self.failure is not None:
            parts.append("the judge failed")
        if self.folder is not None:
            parts.append(f"folder {str(self.folder)!r}")
        return f"EvaluationRun({', '.join(parts)})"


# -- costs and timings


def _measured_records(evaluation: RAGPipelineEvaluation) -> pd.DataFrame:
    """Latency, tokens, cost and model of each query, as the pipeline stated them."""
    details = evaluation.details
    columns = [(name, column) for name in _FIELDS for column in (name, f"{name}_given")]
    fields = {name: details[column] for name, column in columns if column in details}
    return pd.DataFrame(fields, index=evaluation.scores.index)


def _costs(
    evaluation: RAGPipelineEvaluation, judged: Judged | None, prices: Prices, model: str | None
) -> Result:
    """What the pipeline and the judge cost."""
    records = _measured_records(evaluation)
    amounts = performance_of(records, prices or None, model=model)
    known = ~np.isnan(amounts.cost_usd)
    pipeline = {"part": "pipeline", "n": len(known), "n_known": int(known.sum())}
    sums = {name: pd.Series(getattr(amounts, name)).sum(min_count=1) for name in _AMOUNTS}
    judges = []
    for row in [] if judged is None else judged.usage.to_dict("records"):
        which = f" ({row['judge_model']})" if "judge_model" in row else ""
        n_known = 0 if pd.isna(row["cost_usd"]) else row["n_calls"]
        part = {"part": f"judge: {row['judge']}{which}", "n": row["n_calls"], "n_known": n_known}
        judges.append({**part, **{name: row[name] for name in _AMOUNTS}})
    notes = [
        f"{row['part']}: the cost is unknown: the model that judges has no price"
        for row in judges
        if row["n"] and not row["n_known"]
    ]
    settings = {"prices": {name: list(price) for name, price in check_prices(prices).items()}}
    frame = pd.DataFrame([{**pipeline, **sums}, *judges], columns=list(_COLUMNS))
    all_notes = (*notes_on_costs(records, prices or None, model=model), *notes)
    return Result("Costs", frame, settings, all_notes)


def _timings(
    evaluation: RAGPipelineEvaluation,
    asking: float,
    scoring: float,
    n_new: int,
    settings: Mapping[str, object],
) -> Result:
    """Latencies and throughput of the pipeline, and the seconds of each step."""
    amounts = performance_of(_measured_records(evaluation))
    n = len(amounts.latency_ms)
    # A run that was continued has its answers from several times.
    wall = asking if n_new == n and asking > 0 else None
    figures = performance_figures(amounts, wall_seconds=wall)
    steps = pd.DataFrame(
        {"value": [asking, scoring], "n": [n_new, n], "n_unscored": [0, 0]},
        index=pd.Index(["asking_seconds", "scoring_seconds"], name="figure"),
    )
    frame = pd.concat([figures, steps]).reset_index()
    return Result("Timings", frame, dict(settings))


# -- the call


def evaluate(
    settings: Settings | None = None,
    *,
    progress: bool = True,
    tell: Callable[[str], object] | None = None,
    **keywords: Unpack[EvaluateOptions],
) -> EvaluationRun:
    """Ask a pipeline every query, score and judge its answers, weigh and gate them.

    The command ``rageval-report eval`` is this function.

    Parameters
    ----------
    settings : str, Path or mapping, optional
        A file of settings in YAML, or its content. Keywords overrule it; the keys have the same
        names.
    progress : bool
        Whether progress bars are shown if standard error is a terminal.
    tell : callable, optional
        Is called with each note as soon as it is known; the notes of the run contain all of them.
    queries : frame, dict of lists, list of dicts, or file
        One row per query: id, question, and gold such as ``reference`` and ``relevant``. The gold
        is never sent to the pipeline.
    datasets : str or list of str
        Data sets whose questions are asked, instead of `queries`: names of
        ``rageval_report.datasets.DATASETS``, NAME=PATH, or paths of golden sets.
    split : str
        The split of the data sets.
    query_ids : list of str
        The ids of the only queries that are asked; there is no sample then.
    target : callable, str or list of str
        The pipeline: a function of a question that returns the answer or a mapping with
        ``answer``, ``retrieved``, ``contexts``, ``citations``; the URL of a server; a command and
        its arguments; or "module:function".
    http, callable, command : mapping
        The settings of the target, such as ``http={"headers": ..., "body": ...}``.
    metrics : list of str and Rubric
        What is computed and judged; if omitted, what the fields of the records allow.
    judge : chat, callable, str, list of them, mapping or bool
        The chat model that judges, its name, several in a list, of which each judges every query,
        or the section ``judge`` of a file; False judges nothing. Replies of a chat that is handed
        in are kept only if the section names a cache.
    prices : mapping
        US dollars per million tokens sent and received, by the model of the pipeline, such as
        ``{"gpt-5": (1.25, 10)}``. The cost of each query is then a metric, ``cost_usd``.
    correct : str, (str, float), mapping of str to float, or callable
        What a correct answer is, as for `rageval_report.RAGPipelineEvaluation`; if omitted, reports
        choose a label, a judge or a metric, and say so.
    stop_when : str or list of str
        Rules such as "better(recall@5)", "no_regression(faithfulness, margin=0.02)" or
        "ci_low(mrr) >= 0.5". The queries are asked in a random order, and as soon as a rule holds
        no more are asked. The error rate of all rules together is 5 %, whenever one holds. See
        `rageval_report.analysis.stopping`.
    baseline : str, Path or RAGPipelineEvaluation
        The earlier run that these rules compare with, query by query.
    weights, objectives : mapping
        The weighted score; see `rageval_report.rank`.
    gates : path, str or list of str
        A file of gates, or rules such as "ci_low(recall@5) >= 0.7".
    folder : str or Path
        The folder of the run, which keeps every answer as it comes. If omitted, answers are kept in
        memory only, and a run that is stopped is lost.
    name : str
        The name of the pipeline; that of the folder if omitted.
    samples, seed : int
        The number of queries that are drawn at random, and the seed.
    resume, retry_failed : bool
        Whether the run in the folder is continued, and its failed queries are asked again.
    concurrency, retries, max_wait, stop_after
        As for `rageval_report.runner.RunConfig`.
    level, duplicates, no_relevant, dialect, match_ids, strict, allow
        As for `rageval_report.score`; but ``duplicates`` is "best" if omitted.

    Returns
    -------
    EvaluationRun
        Records, scores, costs, timings, the outcome of the gates, the weighted score.

    Raises
    ------
    UnknownNameError
        If a keyword, a metric, a data set or a weight is not known; before anything is asked.
    DataError
        If a setting is wrong, the queries are not valid, or the folder contains a run.
    PipelineError
        If the pipeline cannot be reached, or no query has an answer.
    JudgeError
        If the judge fails, and nothing was to be computed.

    Examples
    --------
    >>> queries = [
    ...     {"query_id": "q1", "question": "Capital of Norway?", "reference": "Oslo"},
    ...     {"query_id": "q2", "question": "Capital of Kenya?", "reference": "Nairobi"},
    ... ]
    >>> run = evaluate(
    ...     queries=queries,
    ...     target=lambda question: "Oslo",
    ...     metrics=["exact_match"],
    ...     gates=["mean(exact_match) >= 0.9"],
    ...     name="oslo",
    ... )
    >>> run
    EvaluationRun('oslo', 2 queries, 1 metrics, gates FAILED)
    >>> run.evaluation.get_aggregated_scores("exact_match")
    0.5
    >>> run.records["answer"].tolist()
    ['Oslo', 'Oslo']
    """
    config = settings_of(settings, keywords)
    setup = JudgeSetup(config.judge or JudgeSection(), models=config.chats, progress=progress)
    return run_evaluation(config, setup, tell)


def run_evaluation(
    config: EvalConfig, setup: JudgeSetup, tell: Tell | None = None
) -> EvaluationRun:
    """Evaluate with settings that have been read."""
    log = _Log(tell)
    prepared = prepare(config, replace(setup, tell=log), log)
    queries, plan = prepared.queries, prepared.plan
    scorer = RunScorer(config, queries, plan, log)
    with _folder_of(config) as folder, staged_scoring(scorer, prepared.stop) as staged:
        started = time.perf_counter()
        finished = _ask(config, prepared, folder, log, staged)
        check_answered(finished, config.target_name)
        answered_at = time.perf_counter()
        if staged is None:
            outcome = scorer.score(read_answers(finished), finished)
        else:
            outcome = staged.score(finished)
        seconds = answered_at - started, time.perf_counter() - answered_at
        run = _run_of(config, finished, outcome, seconds)
        if staged is not None:
            run = replace(run, stopping=staged.result(run.costs))
        return _decide(run, config, log)


@dataclass
class _Log:
    """Collects the notes, and hands each on as soon as it is known."""

    tell: Tell | None = None
    notes: list[str] = field(default_factory=list)

    def __call__(self, text: str) -> None:
        self.notes.append(text)
        if self.tell is not None:
            self.tell(text)


@dataclass(frozen=True)
class PreparedEvaluation:
    """The queries, and what is computed and judged; nothing has been asked yet."""

    queries: QuerySource
    plan: ScoringPlan
    stop: StopSetup | None = None


def prepare(config: EvalConfig, setup: JudgeSetup, tell: Tell) -> PreparedEvaluation:
    """Check the settings and read the queries, before anything is asked."""
    plan = scoring_plan(config, setup, tell)
    queries = query_source(config)
    if config.folder is not None and config.folder.is_file():
        raise DataError(f"{config.folder} is a file; name a folder")
    check_gold(plan.rubrics, queries.queries)
    return PreparedEvaluation(queries, plan, stop_setup(config, queries, plan))


@contextmanager
def _folder_of(config: EvalConfig) -> Iterator[Path]:
    """The folder of the run, or one that is removed at the end."""
    if config.folder is not None:
        yield config.folder
        return
    with TemporaryDirectory(prefix="rageval-") as folder:
        yield Path(folder, "run")


def _ask(
    config: EvalConfig,
    prepared: PreparedEvaluation,
    folder: Path,
    log: _Log,
    staged: StagedScoring | None,
) -> FinishedRun:
    run = prepared.queries.config
    if run.function is None or run.target_name != _FUNCTION:
        target = target_from(run)
    else:
        settings = parse_settings(FunctionSettings, run.sections[_FUNCTION], _FUNCTION)
        target = FunctionTarget(settings, run.function)
    with target:
        try:
            finished = collect_answers(
                prepared.queries.queries,
                target,
                folder,
                run,
                resume=config.resume,
                retry_failed=config.retry_failed,
                stages=None if staged is None else staged.stages,
            )
        except KeyboardInterrupt as exc:
            is_kept = config.folder is not None and (folder / JOURNAL).exists()
            kept = f"the answers so far are kept in {folder}; continue with resume=True"
            raise KeyboardInterrupt(*[kept] * is_kept) from exc
    for message in finished.notes:
        if not is_doubt(message):  # doubts stand in the results
            log(message)
    if finished.n_failed and config.folder is not None:
        log(f"ask those again with retry_failed=True, folder='{folder}'")
    return finished


def _run_of(
    config: EvalConfig, finished: FinishedRun, outcome: ScoredRun, seconds: tuple[float, float]
) -> EvaluationRun:
    """The run before its gates and its weighted score."""
    evaluation, judged = outcome.scored.evaluation, outcome.scored.judged
    costs = _costs(evaluation, judged, config.prices, outcome.model)
    how = {"concurrency": config.concurrency}
    timings = _timings(evaluation, *seconds, finished.n_new, how)
    # The folder of a run without one is removed.
    records = finished.records if config.folder else read_answers(finished)
    return EvaluationRun(
        *(evaluation, judged, costs, timings, None, None, ()),
        *(config.folder, outcome.failure, records),
    )


def _decide(run: EvaluationRun, config: EvalConfig, log: _Log) -> EvaluationRun:
    """The run with its rule, weighted score and gates; in its folder, everything is written."""
    evaluation = run.evaluation
    # The scores themselves are worth keeping, whatever is wrong with a rule about them.
    if config.correct is not None:
        try:
            evaluation = evaluation.with_correct(config.correct)
        except (DataError, UnknownNameError) as exc:
            log(f"the rule for a correct answer is not used: {exc}")
    weighted: Result | None = None
    if config.is_weighted:
        try:
            weighted = weighted_score(evaluation, config.weights, config.objectives)
        except (DataError, UnknownNameError) as exc:
            log(f"no weighted score: {exc}")
    if weighted is not None:
        value: Any = weighted.frame.set_index("objective")["value"].get(_COST, 0.0)
        if math.isnan(value):
            log("; ".join(["the weighted score is without the cost", *run.costs.notes[:1]]))
    run = replace(run, evaluation=evaluation, weighted=weighted)
    try:
        if config.gates is not None:
            run = replace(run, gates=config.gates.check(evaluation))
    finally:  # a rule may name a metric that is not there
        run = replace(run, notes=tuple(log.notes))
        if run.folder is not None:
            run.save()
    return run
