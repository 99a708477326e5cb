"""eval: the options become settings, the pipeline is evaluated, and the tables are printed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from rageval_report.cli.eval.eval import EvalArguments
from rageval_report.cli.eval.overrides import check_queries, override_config, required_folder
from rageval_report.cli.eval.rehearsal import rehearse
from rageval_report.cli.group import INTERRUPTED, OK
from rageval_report.cli.judge.setup import judge_setup
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output
from rageval_report.errors import JudgeError
from rageval_report.runner import RunConfig, target_from
from rageval_report.runner.collecting import RUN
from rageval_report.runner.eval_config import EvalConfig, read_eval_config
from rageval_report.runner.evaluate import REPORT, SCORES, EvaluationRun, prepare, run_evaluation
from rageval_report.runner.judge_setup import JudgeSetup


def evaluate(options: EvalArguments) -> int:
    """Ask, score, judge and report; or show what would be asked."""
    config, setup = settings_of_options(options)
    check_queries(config)
    required_folder(config)
    if config.run.target_name == "callable":
        sys.path.insert(0, str(Path.cwd()))  # users keep their function in the current folder
    output = Output.to_standard_output(options.format_name, verbose=True)
    if options.dry_run:
        return _rehearse(config, setup, output)
    return _report(run_evaluation(config, setup, note), output)


def settings_of_options(options: EvalArguments) -> tuple[EvalConfig, JudgeSetup]:
    """The settings of the file, overridden by the options, and the judge."""
    file_config = (
        EvalConfig(RunConfig()) if options.config is None else read_eval_config(options.config)
    )
    config = override_config(file_config, options)
    setup = judge_setup(options, config.judge)
    if options.no_judge:
        setup = replace(setup, section=replace(setup.section, enabled=False))
    return config, setup


def _rehearse(config: EvalConfig, setup: JudgeSetup, output: Output) -> int:
    """Show what would be asked."""
    prepared = prepare(config, setup, note)
    queries, plan = prepared.queries, prepared.plan
    if config.run.target_name != "callable":  # making that one runs the user's module
        target_from(queries.run).close()  # its mistakes are found now
    folder = required_folder(config)
    output.write(rehearse(queries, folder, plan.rubrics, plan.chats, setup), what="part")
    return OK


def _report(run: EvaluationRun, output: Output) -> int:
    """Write the tables to standard output, and say which files there are."""
    output.write({run.evaluation.name: run.evaluation.evaluation_report(), **run.tables})
    folder, records = run.folder, run.record_source
    if isinstance(folder, Path) and isinstance(records, Path):
        files = (records.name, RUN, SCORES, REPORT)
        note(f"wrote {', '.join(str(folder / name) for name in files)}")
    if run.failure is not None:
        raise JudgeError(
            f"the judge failed; the answers and what was computed are kept in {folder}: go on with "
            f"--resume. The cause: {run.failure}"
        )
    if run.is_interrupted:
        return INTERRUPTED
    return OK if run.gates is None else run.gates.exit_code()
