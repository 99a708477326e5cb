"""The command that asks a pipeline, then scores what it answered, and reports."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_report._registry import load
from rageval_report.cli.eval.config import (
    EvalConfig,
    checked_folder,
    read_eval_config,
    with_options,
)
from rageval_report.cli.eval.options import (
    query_options,
    result_options,
    run_options,
    target_options,
)
from rageval_report.cli.eval.queries import Asked, check_gold, queries_of_config
from rageval_report.cli.eval.rehearsal import rehearsed
from rageval_report.cli.eval.scoring import Wanted, check_answered, scored_run
from rageval_report.cli.group import INTERRUPTED, examples
from rageval_report.cli.judge.judging import Judging, judging_options, noise_results
from rageval_report.cli.judge.section import JudgeSection
from rageval_report.cli.notes import note
from rageval_report.cli.options import quiet_option
from rageval_report.cli.output import FORMATS, Output
from rageval_report.errors import DataError, JudgeError, UnknownNameError

if TYPE_CHECKING:
    from rageval_report import RAGPipelineEvaluation
    from rageval_report.judges import Rubric
    from rageval_report.results import Result
    from rageval_report.runner import FinishedRun
    from rageval_report.scoring.records import JudgedEvaluation

SCORES, REPORT = "scores.json", "report.html"

_WEIGHING = "rageval_report.analysis.ranking.one_run"
_WRITTEN = ("run.json", SCORES, REPORT)

# What of the command line says whom to ask.
_WHERE = {"http": "--url", "callable": "--callable", "command": "--command"}


@click.command(
    name="eval",
    epilog=examples(
        "rageval-report eval --callable my_rag:answer --records queries.jsonl -o run",
        "rageval-report eval --callable my_rag:answer --records queries.jsonl -o run "
        "--samples 2 --seed 7 --metric recall@5 --metric exact_match",
        "rageval-report eval --callable my_rag:answer -o run --datasets beir=nfcorpus.zip "
        "--samples 2",
        "rageval-report eval --config eval.yaml -o run --weight retrieval=2 --weight accuracy=1",
    ),
)
@click.option(
    "--config", "config_path", metavar="FILE", help="Settings in YAML; options go before."
)
@query_options
@click.option(
    "-o",
    "--output",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Where the run is kept; runs_dir and name of the file otherwise.",
)
@target_options
@run_options
@result_options
@judging_options("judge-")
@click.option(
    "--format", "format_name", type=click.Choice(list(FORMATS)), help="How the report is printed."
)
@quiet_option
def evaluate(
    config_path: str | None,
    resume: bool,
    retry_failed: bool,
    no_judge: bool,
    dry_run: bool,
    format_name: str | None,
    quiet: bool,
    judging: Judging,
    **given: Any,
) -> int:
    """Ask a pipeline every query, score its answers, and report.

    A server is asked with --url http://localhost:8001/answer. Every answer is on disk before the
    next question is asked; a run that was stopped goes on with --resume. With --judge
    faithfulness --model llama3.1 a chat model judges the answers in the same go. FOLDER then holds
    the records, run.json, scores.json for the other commands, and report.html, a page with every
    query.
    """
    del quiet  # `note` asks the context
    config = with_options(_read(config_path), given)
    judging = replace(judging, section=config.judge or JudgeSection())
    wanted = _wanted(config, judging, no_judge=no_judge)
    asked, folder = queries_of_config(config), checked_folder(config)
    check_gold(wanted.rubrics, asked.queries)
    if config.run.target_name == "callable":
        sys.path.insert(0, str(Path.cwd()))  # a function is looked for in the user's own folder
    output = Output(".txt" if format_name is None else FORMATS[format_name])
    if dry_run:
        output.write(rehearsed(asked, folder, wanted.rubrics, wanted.chat, judging), what="part")
        return 0
    _check_folder(folder, resume=resume or retry_failed)
    finished = _asked(asked, folder, resume, retry_failed)
    check_answered(finished, _WHERE.get(asked.run.target_name, "the target"))
    run = scored_run(finished, asked, folder, config, wanted)
    _report(run.found, folder, config, output)
    note(f"wrote {', '.join(str(folder / one) for one in (finished.records.name, *_WRITTEN))}")
    if run.failure is not None:
        raise JudgeError(
            f"the judge failed; the answers and what was computed are kept in {folder}: go on with "
            f"--resume. The cause: {run.failure}"
        )
    return INTERRUPTED if run.found.is_interrupted else 0


def _read(path: str | None) -> EvalConfig:
    return (
        EvalConfig(load("rageval_report.runner:RunConfig")())
        if path is None
        else read_eval_config(path)
    )


def _wanted(config: EvalConfig, judging: Judging, *, no_judge: bool) -> Wanted:
    """A wrong name, weight or a missing key is told now, not after a thousand queries."""
    is_judged = judging.section.enabled and not no_judge
    chosen = judging.chosen() if is_judged else []
    names = [*config.run.metrics, *chosen]
    computed, rubrics = _computed_and_judged(names)
    if not is_judged and rubrics:
        note(f"not judged: {', '.join(rubric.name for rubric in rubrics)}")
        rubrics = []
    load(f"{_WEIGHING}:check_weights")(
        config.weights, config.objectives, [rubric.name for rubric in rubrics]
    )
    by_default = is_judged and config.judge is not None and not rubrics
    if config.groups is not None and not config.groups.generation:
        by_default = False
    chat = judging.chat() if rubrics or by_default else None
    how = {} if chat is None else {**judging.how(chat.model), "n_repeats": judging.repeats}
    return Wanted(tuple(computed), tuple(rubrics), by_default, chat, how)


def _computed_and_judged(names: list[Any]) -> tuple[list[str], list[Rubric]]:
    if not names:
        return [], []
    found: tuple[list[str], list[Rubric]] = load("rageval_report.scoring.records:split_metrics")(
        names
    )
    return found


def _check_folder(folder: Path, *, resume: bool) -> None:
    if (folder / "journal.jsonl").exists() and not resume:
        raise DataError(
            f"{folder} holds a run already: go on with it by --resume, or choose another folder"
        )


def _asked(asked: Asked, folder: Path, resume: bool, retry_failed: bool) -> FinishedRun:
    runner = load("rageval_report.runner")
    with runner.target_from(asked.run) as target:
        try:
            finished: FinishedRun = runner.collect_answers(
                asked.queries, target, folder, asked.run, resume=resume, retry_failed=retry_failed
            )
        except KeyboardInterrupt:
            note(f"stopped; what was answered is kept in {folder}: go on with --resume")
            raise
    for told in finished.notes:
        note(told)
    if finished.n_failed:
        note(f"ask those again with --retry-failed -o {folder}")
    return finished


def _report(found: JudgedEvaluation, folder: Path, config: EvalConfig, output: Output) -> None:
    """All of it as a page with every query, and the tables on standard output."""
    evaluation = found.evaluation
    evaluation.save(folder / SCORES, force=True)
    beside = {**noise_results(found.judged), **_weighted(evaluation, config)}
    page = evaluation.report()
    section = load("rageval_report.reports.parts:Section")
    more = [section(key, one.title, (one,)) for key, one in beside.items()]
    replace(page, sections=(*page.sections, *more)).save(folder / REPORT, force=True)
    output.write({evaluation.name: evaluation.evaluation_report(), **beside})


def _weighted(evaluation: RAGPipelineEvaluation, config: EvalConfig) -> dict[str, Result]:
    if not config.is_weighted:
        return {}
    weighted_score = load(f"{_WEIGHING}:weighted_score")
    try:
        return {"weighted": weighted_score(evaluation, config.weights, config.objectives)}
    except (DataError, UnknownNameError) as exc:  # the scores are there all the same
        note(f"no weighted score: {exc}")
        return {}
