"""eval: a pipeline is asked, its answers are scored, and the report is written."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from rageval_report._command_process import INTERRUPTED
from rageval_report.analysis.ranking.one_run import check_weights, weighted_score
from rageval_report.cli.eval.eval import EvalArguments
from rageval_report.cli.eval.overrides import check_queries, override_config, required_folder
from rageval_report.cli.eval.rehearsal import rehearse
from rageval_report.cli.group import OK
from rageval_report.cli.judge.setup import judge_setup
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output
from rageval_report.errors import DataError, JudgeError, UnknownNameError, is_doubt
from rageval_report.evaluating.config import EvalConfig, read_eval_config
from rageval_report.evaluating.eval_queries import QuerySource, check_gold, query_source
from rageval_report.evaluating.first_check import FirstAnswersError, first_check
from rageval_report.evaluating.judge_setup import JudgeSetup, noise_results
from rageval_report.evaluating.scoring import ScoringPlan, check_answered, score_answers, tools_of
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.judges import Rubric
from rageval_report.judges.judge_options import JudgeOptions
from rageval_report.records.id_changes import parse_changes
from rageval_report.reports.parts import Section
from rageval_report.results import Result
from rageval_report.runner import FinishedRun, RunConfig, collect_answers, target_from
from rageval_report.runner.first_answers import CheckFirst
from rageval_report.scores.guard import check_allowed
from rageval_report.scoring.compute import computable
from rageval_report.scoring.records import JudgedEvaluation, split_metrics

SCORES, REPORT = "scores.json", "report.html"

_WRITTEN = ("run.json", SCORES, REPORT)

# The option that names each kind of target.
_TARGET_FLAGS = {"http": "--url", "callable": "--callable", "command": "--command"}


def evaluate(options: EvalArguments) -> int:
    """Ask, score, judge and report; or show what would be asked."""
    file_config = (
        EvalConfig(RunConfig()) if options.config is None else read_eval_config(options.config)
    )
    config = override_config(file_config, options)
    setup = judge_setup(options, config.judge)
    # Wrong names and weights, and missing keys, are found now and not after a thousand queries.
    plan = _scoring_plan(config, setup, no_judge=options.no_judge)
    check_queries(config)
    queries, folder = query_source(config), required_folder(config)
    check_gold(plan.rubrics, queries.queries)
    if config.run.target_name == "callable":
        sys.path.insert(0, str(Path.cwd()))  # users keep their function in the current folder
    output = Output.to_standard_output(options.format_name)
    if options.dry_run:
        if config.run.target_name != "callable":  # making that one runs the user's module
            target_from(queries.run).close()  # its mistakes are found now
        output.write(rehearse(queries, folder, plan.rubrics, plan.chat, setup), what="part")
        return OK
    finished = _ask(queries, folder, options, first_check(config, plan))
    check_answered(finished, _TARGET_FLAGS.get(queries.run.target_name, "the target"))
    outcome = score_answers(finished, queries, folder, config, plan, note)
    _report(outcome.scored, folder, config, output)
    files = (finished.records.name, *_WRITTEN)
    note(f"wrote {', '.join(str(folder / name) for name in files)}")
    if outcome.failure is not None:
        raise JudgeError(
            f"the judge failed; the answers and what was computed are kept in {folder}: go on with "
            f"--resume. The cause: {outcome.failure}"
        )
    return INTERRUPTED if outcome.scored.is_interrupted else OK


def _scoring_plan(config: EvalConfig, setup: JudgeSetup, *, no_judge: bool) -> ScoringPlan:
    """What is computed and judged; checked before the pipeline is asked."""
    is_judged = setup.section.enabled and not no_judge
    names: list[str | Rubric] = [*config.run.metrics, *(setup.rubrics() if is_judged else [])]
    dialect = tools_of(config).dialect  # a contradiction is reported now
    check_allowed(config.allow)
    parse_changes(config.match_ids)
    computed: list[str] = []
    rubrics: list[Rubric] = []
    if names:
        computed, rubrics = split_metrics(names, dialect)
        if computed:
            computable(computed, dialect)
    if not is_judged and rubrics:
        note(f"not judged: {', '.join(rubric.name for rubric in rubrics)}")
        rubrics = []
    check_weights(config.weights, config.objectives, [rubric.name for rubric in rubrics])
    by_default = is_judged and config.judge is not None and not rubrics
    if config.groups is not None and not config.groups.generation:
        by_default = False
    chat = setup.chat() if rubrics or by_default else None
    how = JudgeOptions() if chat is None else setup.judge_options(chat.model)
    return ScoringPlan(tuple(computed), tuple(rubrics), by_default, chat, how)


def _ask(
    queries: QuerySource, folder: Path, options: EvalArguments, check_first: CheckFirst | None
) -> FinishedRun:
    resume = options.resume or options.retry_failed
    if (folder / "journal.jsonl").exists() and not resume:
        raise DataError(
            f"{folder} already contains a run: continue it with --resume, or choose another folder"
        )
    with target_from(queries.run) as target:
        try:
            finished = collect_answers(
                queries.queries,
                target,
                folder,
                queries.run,
                resume=options.resume,
                retry_failed=options.retry_failed,
                check_first=check_first,
            )
        except FirstAnswersError:
            note(f"stopped; what was answered is kept in {folder}: go on with --resume")
            raise
        except KeyboardInterrupt as exc:
            is_kept = (folder / "journal.jsonl").exists()
            kept = f"the answers so far are kept in {folder}; continue with --resume"
            raise KeyboardInterrupt(*[kept] * is_kept) from exc
    for message in finished.notes:
        if not is_doubt(message):  # doubts stand in the results
            note(message)
    if finished.n_failed:
        note(f"ask those again with --retry-failed -o {folder}")
    return finished


def _report(scored: JudgedEvaluation, folder: Path, config: EvalConfig, output: Output) -> None:
    """Write all of it as a page with every query, and the tables to standard output."""
    evaluation = scored.evaluation
    evaluation.save(folder / SCORES, force=True)
    more = {**noise_results(scored.judged), **_weighted_results(evaluation, config)}
    page = evaluation.report()
    sections = [Section(key, result.title, (result,)) for key, result in more.items()]
    replace(page, sections=(*page.sections, *sections)).save(folder / REPORT, force=True)
    output.write({evaluation.name: evaluation.evaluation_report(), **more})


def _weighted_results(evaluation: RAGPipelineEvaluation, config: EvalConfig) -> dict[str, Result]:
    if not config.is_weighted:
        return {}
    try:
        return {"weighted": weighted_score(evaluation, config.weights, config.objectives)}
    except (DataError, UnknownNameError) as exc:  # the scores themselves are worth keeping
        note(f"no weighted score: {exc}")
        return {}
