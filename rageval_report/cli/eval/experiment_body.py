"""experiment: every combination is evaluated; then the leaderboard and the effects are printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from rageval_report.analysis.effects import SettingValue
from rageval_report.cli.eval.eval_body import settings_of_options
from rageval_report.cli.eval.experiment import ExperimentArguments
from rageval_report.cli.eval.overrides import check_queries, required_folder
from rageval_report.cli.group import FAILED, OK
from rageval_report.cli.notes import note
from rageval_report.cli.output import Output
from rageval_report.errors import DataError
from rageval_report.results import Result
from rageval_report.runner.experiment import Experiment, cells_of, check_grid, run_experiment, vary


def experiment(options: ExperimentArguments) -> int:
    """Evaluate every combination, and write the tables to standard output."""
    grid = check_grid({name: _values_of(text) for name, text in options.varied.items()})
    config, setup = settings_of_options(options)
    check_queries(config)
    folder = required_folder(config)
    if config.run.target_name == "callable":
        sys.path.insert(0, str(Path.cwd()))  # users keep their function in the current folder
    output = Output.to_standard_output(options.format_name, verbose=True)
    if options.dry_run:
        cells = cells_of(grid)
        if config.run.target_name != "callable":  # the user's module is not run
            for cell in cells.values():
                vary(config, cell)  # a setting that reaches no template is an error now
        note(f"{len(cells)} combinations would be evaluated in {folder}: {', '.join(cells)}")
        return OK
    tried = run_experiment(grid, config, setup, note)
    output.write(dict(_tables(tried)))
    return OK if tried.is_complete and all(run.passed for run in tried.runs.values()) else FAILED


def _values_of(text: str) -> list[SettingValue]:
    """The values in a text: numbers, true, false and null as in JSON; all others are texts.

    Examples
    --------
    >>> _values_of("5,0.5,true,null,BM25")
    [5, 0.5, True, None, 'BM25']
    """
    return [_value_of(part.strip()) for part in text.split(",")]


def _value_of(text: str) -> SettingValue:
    try:
        value: object = json.loads(text)
    except ValueError:
        return text
    if value is None or isinstance(value, str | int | float):
        return value
    return text


def _tables(tried: Experiment) -> Iterator[tuple[str, Result]]:
    yield "experiment", tried.summary()
    if len(tried.runs) > 1:
        yield "ranking", tried.rank()
    if any(len(values) > 1 for values in tried.grid.values()):
        try:
            yield "effects", tried.effects()
        except DataError as exc:  # a combination is missing; the rest is worth showing
            note(str(exc))
