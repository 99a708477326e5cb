"""`evaluate`: ask a pipeline, score and judge its answers, weigh, gate, and keep all of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack

from rageval_report.analysis.gate import GateResult
from rageval_report.analysis.weighted import weighted_score
from rageval_report.errors import DataError, UnknownNameError, is_doubt
from rageval_report.evaluating.amounts import StepSeconds, costs_result, timings_result
from rageval_report.evaluating.config import EvalConfig
from rageval_report.evaluating.eval_queries import QuerySource, check_gold, query_source
from rageval_report.evaluating.evaluation_run import EvaluationRun
from rageval_report.evaluating.first_check import FirstAnswersError, first_check
from rageval_report.evaluating.judge_section import JudgeSection
from rageval_report.evaluating.judge_setup import JudgeSetup
from rageval_report.evaluating.keywords import EvaluateOptions, Settings, settings_of
from rageval_report.evaluating.plan import scoring_plan
from rageval_report.evaluating.scoring import (
    ScoredRun,
    ScoringPlan,
    Tell,
    check_answered,
    read_answers,
    score_answers,
)
from rageval_report.evaluating.staged_scoring import (
    StagedScoring,
    StopSetup,
    staged_scoring,
    stop_setup,
)
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.results import Result
from rageval_report.runner import FinishedRun, RunConfig, collect_answers, target_from
from rageval_report.runner.collecting import JOURNAL
from rageval_report.runner.settings import parse_settings
from rageval_report.runner.targets import Target
from rageval_report.runner.targets import FunctionSettings, FunctionTarget

_COST = "cost"  # the objective
_FUNCTION = "callable"  # the target that is a function


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
    looks : int
        The rules are looked at so many times only, with alpha spending: this needs fewer queries if
        the effect is as planned.
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
    concurrency, rate, warm_up, retries, stop_after, table
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
    """Evaluate with settings that have been read.

    Parameters
    ----------
    config : EvalConfig
        The settings.
    setup : JudgeSetup
        The judge.
    tell : callable, optional
        Is called with each note as soon as it is known.
    """
    log = _Log(tell)
    prepared = prepare(config, replace(setup, tell=log), log)
    with _folder_of(config) as folder, _staged(config, prepared, folder, log) as staged:
        started = time.perf_counter()
        finished = _ask(config, prepared, folder, log, staged)
        check_answered(finished, prepared.queries.run.target_name)
        answered_at = time.perf_counter()
        if staged is None:
            outcome = score_answers(finished, prepared.queries, config, prepared.plan, log)
        else:
            outcome = staged.outcome(finished)
        asking, scoring = answered_at - started, time.perf_counter() - answered_at
        seconds = StepSeconds(asking, scoring, finished.n_new)
        run = _run_of(config, finished, outcome, seconds)
        if staged is not None:
            run = replace(run, stopping=staged.result(run.costs))
        run = replace(run, evaluation=_with_rule(run.evaluation, config, log))
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
    """Check the settings and read the queries, before anything is asked.

    Parameters
    ----------
    config, setup, tell
        As for `run_evaluation`.
    """
    plan = scoring_plan(config, setup, tell)
    queries = query_source(config)
    if config.folder is not None and config.folder.is_file():
        raise DataError(f"{config.folder} is a file; name a folder")
    check_gold(plan.rubrics, queries.queries)
    return PreparedEvaluation(queries, plan, stop_setup(config, queries, plan, tell))


@contextmanager
def _folder_of(config: EvalConfig) -> Iterator[Path]:
    """The folder of the run, or one that is removed at the end."""
    if config.folder is not None:
        yield config.folder
        return
    with TemporaryDirectory(prefix="rageval-") as folder:
        yield Path(folder, "run")


# -- asking


@contextmanager
def _staged(
    config: EvalConfig, prepared: PreparedEvaluation, folder: Path, log: _Log
) -> Iterator[StagedScoring | None]:
    """What scores the answers while others are still to be asked; None without stopping rules."""
    if prepared.stop is None:
        yield None
        return
    queries, plan = prepared.queries, prepared.plan
    with staged_scoring(config, queries, plan, prepared.stop, folder, log) as staged:
        yield staged


def _ask(
    config: EvalConfig,
    prepared: PreparedEvaluation,
    folder: Path,
    log: _Log,
    staged: StagedScoring | None,
) -> FinishedRun:
    queries = prepared.queries
    with _target(config, queries.run) as target:
        try:
            finished = collect_answers(
                queries.queries,
                target,
                folder,
                queries.run,
                resume=config.resume,
                retry_failed=config.retry_failed,
                check_first=first_check(config, prepared.plan),
                stages=None if staged is None else staged.stages,
            )
        except FirstAnswersError:
            if config.folder is not None:
                log(f"stopped; what was answered is kept in {folder}: go on with resume=True")
            raise
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


def _target(config: EvalConfig, run: RunConfig) -> Target:
    if config.function is None or run.target_name != _FUNCTION:
        return target_from(run)
    settings = parse_settings(FunctionSettings, run.sections[_FUNCTION], _FUNCTION)
    return FunctionTarget(settings, config.function)


# -- the result


def _run_of(
    config: EvalConfig, finished: FinishedRun, outcome: ScoredRun, seconds: StepSeconds
) -> EvaluationRun:
    """The run before its gates and its weighted score."""
    evaluation, judged = outcome.scored.evaluation, outcome.scored.judged
    return EvaluationRun(
        evaluation=evaluation,
        judged=judged,
        costs=costs_result(evaluation, judged, config.prices or None, outcome.model),
        timings=timings_result(evaluation, seconds, {"concurrency": config.run.concurrency}),
        gates=None,
        weighted=None,
        notes=(),
        folder=config.folder,
        failure=outcome.failure,
        # The folder of a run without one is removed.
        record_source=finished.records if config.folder else read_answers(finished),
    )


def _decide(run: EvaluationRun, config: EvalConfig, log: _Log) -> EvaluationRun:
    """The run with its weighted score and its gates; in its folder, everything is written."""
    run = replace(run, weighted=_weighted(run.evaluation, config, log))
    _note_missing_cost(run, log)
    try:
        run = replace(run, gates=_gates(run.evaluation, config))
    finally:  # a rule may name a metric that is not there; the scores are worth keeping
        run = replace(run, notes=tuple(log.notes))
        if run.folder is not None:
            run.save()
    return run


def _note_missing_cost(run: EvaluationRun, log: _Log) -> None:
    """Say why the cost does not count, although the weighted score has an objective for it."""
    if run.weighted is None:
        return
    value = run.weighted.frame.set_index("objective")["value"].get(_COST, 0.0)
    if math.isnan(value):
        log("; ".join(["the weighted score is without the cost", *run.costs.notes[:1]]))


def _with_rule(
    evaluation: RAGPipelineEvaluation, config: EvalConfig, log: _Log
) -> RAGPipelineEvaluation:
    """The evaluation with the rule for a correct answer that the settings name."""
    if config.correct is None:
        return evaluation
    try:
        return evaluation.with_correct(config.correct)
    except (DataError, UnknownNameError) as exc:  # the scores themselves are worth keeping
        log(f"the rule for a correct answer is not used: {exc}")
        return evaluation


def _gates(evaluation: RAGPipelineEvaluation, config: EvalConfig) -> GateResult | None:
    if config.gates is None:
        return None
    return config.gates.check(evaluation)


def _weighted(evaluation: RAGPipelineEvaluation, config: EvalConfig, log: _Log) -> Result | None:
    if not config.is_weighted:
        return None
    try:
        return weighted_score(evaluation, config.weights, config.objectives)
    except (DataError, UnknownNameError) as exc:  # the scores themselves are worth keeping
        log(f"no weighted score: {exc}")
        return None
