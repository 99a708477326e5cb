"""`experiment`: every combination of some settings of a pipeline, each evaluated and kept."""

from __future__ import annotations

import hashlib
import math
import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial, wraps
from inspect import Parameter, signature
from itertools import product
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from rageval_report.analysis.effects import MainEffects, SettingValue, main_effects
from rageval_report.analysis.rank import Ranking, rank
from rageval_report.errors import DataError, JudgeError, PipelineError, named
from rageval_report.evaluation import RAGPipelineEvaluation
from rageval_report.results import Result
from rageval_report.runner.collecting import JOURNAL
from rageval_report.runner.eval_config import (
    EvalConfig,
    EvaluateOptions,
    JudgeSection,
    Settings,
    settings_of,
)
from rageval_report.runner.evaluate import EvaluationRun, run_evaluation
from rageval_report.runner.judge_setup import JudgeSetup
from rageval_report.runner.targets import fill_template, import_function, in_url, placeholders_in

CellSettings = dict[str, SettingValue]
Grid = dict[str, tuple[SettingValue, ...]]
TargetSection = dict[str, Any]

_NAME = re.compile(r"[A-Za-z_]\w*")
# What a query fills in; a setting of that name would hide it.
_OF_QUERIES = ("question", "query_id", "metadata")
_MOST_CELLS = 1000
_NOT_IN_FILE_NAMES = re.compile(r"[^\w.,=+-]+")
_LONGEST_NAME = 120


_IF_ANY = ("cost_usd", "gates", "error")  # columns of the summary that need a value to be shown


@dataclass(frozen=True, eq=False, repr=False)
class Experiment:
    """The evaluations of all combinations of settings; `experiment` creates it.

    Parameters
    ----------
    grid : dict of str to tuple
        The values of each setting.
    runs : dict of str to EvaluationRun
        By the name of the combination, such as "top_k=5,rerank=True".
    cells : dict of str to dict
        The settings of each combination.
    failures : dict of str to str
        Why a combination could not be evaluated.
    folder : Path
        The folder, with a folder for each combination.
    """

    grid: dict[str, tuple[SettingValue, ...]]
    runs: dict[str, EvaluationRun]
    cells: dict[str, CellSettings]
    failures: dict[str, str]
    folder: Path

    @property
    def evaluations(self) -> list[RAGPipelineEvaluation]:
        """The evaluations, in the order of the grid; their ``config`` has the settings."""
        return [run.evaluation for run in self.runs.values()]

    @property
    def is_complete(self) -> bool:
        """Whether every combination was evaluated, and no judge failed."""
        return not self.failures and all(run.failure is None for run in self.runs.values())

    def summary(self) -> Result:
        """One row per combination: its settings, the queries, the mean of each metric, the cost.

        Returns
        -------
        Result
            ``pipeline``, one column per setting, ``n``, ``n_failed``, one column per metric with
            its mean, ``cost_usd`` of pipeline and judge, ``gates``, ``error``.
        """
        rows = [self._summary_row(name) for name in self.cells]
        frame = pd.DataFrame(rows)
        # A setting or a metric without a value stays: it is there, and unknown.
        frame = frame.drop(columns=[name for name in _IF_ANY if frame[name].isna().all()])
        notes = [f"{name} was not evaluated: {why}" for name, why in self.failures.items()]
        if not self.is_complete:
            notes.append("ask again for what is missing: resume=True (--resume)")
        settings = {name: "/".join(map(str, values)) for name, values in self.grid.items()}
        return Result(f"Experiment {self.folder.name}", frame, settings, tuple(notes))

    def rank(self, metrics: str | Iterable[str] | None = None) -> Ranking:
        """The leaderboard of the combinations; all metrics if none is named."""
        return rank(*self.evaluations, metrics=metrics)

    def effects(
        self,
        metrics: str | Iterable[str] | None = None,
        *,
        test: str = "auto",
        correction: str = "holm",
        confidence_level: float = 0.95,
    ) -> MainEffects:
        """The effect of each setting, averaged over the others, query by query.

        Parameters
        ----------
        metrics, test, correction, confidence_level
            As for `rageval_report.analysis.effects.main_effects`.

        Raises
        ------
        DataError
            If a combination could not be evaluated.
        """
        if self.failures:
            raise DataError(
                f"effects need every combination; {len(self.failures)} could not be evaluated: "
                f"{named(self.failures)}. Ask again with resume=True"
            )
        varied = [name for name, values in self.grid.items() if len(values) > 1]
        options: Any = {"test": test, "correction": correction}
        options["confidence_level"] = confidence_level
        return main_effects(self.evaluations, varied, metrics=metrics, **options)

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name}: {len(values)}" for name, values in self.grid.items())
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"Experiment({len(self.runs)} runs ({sizes}){failed}, folder {str(self.folder)!r})"

    def _summary_row(self, name: str) -> dict[str, object]:
        row: dict[str, object] = {"pipeline": name, **self.cells[name]}
        run = self.runs.get(name)
        if run is None:
            return {**row, **dict.fromkeys(_IF_ANY), "error": self.failures.get(name)}
        scores = run.evaluation.scores
        return {
            **row,
            "n": len(scores),
            "n_failed": int((run.evaluation.states == "failed").any(axis="columns").sum()),
            **{str(name): float(mean) for name, mean in scores.mean().items()},
            "cost_usd": run.costs.frame["cost_usd"].sum(min_count=1),
            "gates": None if run.gates is None else run.gates.state,
            "error": None if run.failure is None else f"the judge failed: {run.failure}",
        }


def experiment(
    grid: Mapping[str, Iterable[SettingValue]],
    settings: Settings | None = None,
    *,
    progress: bool = True,
    tell: Callable[[str], object] | None = None,
    **keywords: Unpack[EvaluateOptions],
) -> Experiment:
    """Evaluate a pipeline with every combination of some of its settings.

    Parameters
    ----------
    grid : mapping of str to iterable
        The values of each setting, such as ``{"top_k": [5, 10], "rerank": [False, True]}``. A
        function gets them as keywords. A server and a command get them where ``{top_k}`` is in the
        body, a header, the address or the words of the command; without a body of your own, they
        are sent beside the question.
    settings : str, Path or mapping, optional
        As for `rageval_report.evaluate`.
    progress, tell
        As for `rageval_report.evaluate`; notes begin with the name of the combination.
    **keywords
        Those of `rageval_report.evaluate`, the same for every combination. ``folder`` is needed: it
        gets a folder for each combination. With ``resume=True`` the experiment in it goes on: what
        was answered is not asked again, and values may have been added to the grid.

    Returns
    -------
    Experiment
        ``summary()``, ``rank()``, ``effects()``, and each run. A combination whose pipeline cannot
        be asked, or whose judge fails, does not stop the others.

    Raises
    ------
    DataError
        If the grid is not valid or does not reach the pipeline, or the folder is in use.
    PipelineError, JudgeError
        If no combination could be evaluated.

    Examples
    --------
    >>> import tempfile
    >>> def pipeline(question, shout):
    ...     return "OSLO" if shout else "Oslo"
    >>> queries = [{"query_id": "q1", "question": "Capital of Norway?", "reference": "Oslo"}]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tried = experiment(
    ...         {"shout": [False, True]},
    ...         folder=folder,
    ...         queries=queries,
    ...         target=pipeline,
    ...         metrics=["exact_match"],
    ...     )
    >>> tried.summary().frame[["shout", "exact_match"]].to_dict("records")
    [{'shout': False, 'exact_match': 1.0}, {'shout': True, 'exact_match': 0.0}]
    """
    config = settings_of(settings, keywords)
    setup = JudgeSetup(config.judge or JudgeSection(), models=config.chats, progress=progress)
    return run_experiment(grid, config, setup, tell)


def run_experiment(
    grid: Mapping[str, Iterable[SettingValue]],
    config: EvalConfig,
    setup: JudgeSetup,
    tell: Callable[[str], object] | None = None,
) -> Experiment:
    """Experiment with settings that have been read."""
    checked = check_grid(grid)
    cells, folder = cells_of(checked), config.folder
    if folder is None:
        raise DataError("folder must be named: it keeps the answers of every combination")
    # All are made before the first is asked: a setting that reaches no template is found now.
    configs = {name: _cell_config(config, cell, folder / name) for name, cell in cells.items()}

    def log(name: str, text: str) -> None:
        if tell is not None:
            tell(f"{name}: {text}")

    runs: dict[str, EvaluationRun] = {}
    failures: dict[str, Exception] = {}
    for name, cell_config in configs.items():
        try:
            runs[name] = run_evaluation(cell_config, setup, partial(log, name))
        except (PipelineError, JudgeError) as exc:
            failures[name] = exc
            log(name, f"not evaluated: {exc}")
            continue
        if runs[name].is_interrupted:  # what was judged so far is kept; the others are not begun
            raise KeyboardInterrupt(
                f"the answers and marks so far are kept in {folder}; continue with resume=True"
            )
        if runs[name].failure is not None:
            log(name, f"the judge failed: {runs[name].failure}")
    if failures and not runs:
        raise next(iter(failures.values()))
    reasons = {name: str(exc) for name, exc in failures.items()}
    return Experiment(checked, runs, cells, reasons, folder)


def _cell_config(config: EvalConfig, cell: CellSettings, folder: Path) -> EvalConfig:
    """The settings of one combination, in a folder of its own."""
    is_started = (folder / JOURNAL).exists()
    return replace(
        vary(config, cell),
        folder=folder,
        # A combination that was not begun has nothing to go on with.
        resume=config.resume and is_started,
        retry_failed=config.retry_failed and is_started,
    )


# -- the grid


def check_grid(grid: Mapping[str, Iterable[SettingValue]]) -> Grid:
    """The grid with its values as tuples."""
    if not isinstance(grid, Mapping) or not grid:
        raise DataError(f'grid must be a mapping such as {{"top_k": [5, 10]}}; got {grid!r}')
    checked = {name: _values(name, values) for name, values in grid.items()}
    n_cells = math.prod(map(len, checked.values()))
    if n_cells > _MOST_CELLS:
        raise DataError(f"grid has {n_cells:,} combinations; at most {_MOST_CELLS:,} are evaluated")
    return checked


def _values(name: object, values: Any) -> tuple[SettingValue, ...]:
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _OF_QUERIES:
        raise DataError(
            f"grid: {name!r} cannot be the name of a setting; it must be a word such as top_k, "
            f"and not one of {', '.join(_OF_QUERIES)}"
        )
    is_list = isinstance(values, Iterable) and not isinstance(values, str | bytes | Mapping)
    listed = tuple(values) if is_list else ()
    if not listed or not all(
        value is None or isinstance(value, str | int | float) for value in listed
    ):
        raise DataError(
            f"grid: the values of {name!r} must be a list of texts, numbers, True, False or None; "
            f"got {values!r}"
        )
    if len({*map(repr, listed)}) < len(listed):
        raise DataError(f"grid: the values of {name!r} must differ; got {named(listed)}")
    return listed


def cells_of(grid: Mapping[str, tuple[SettingValue, ...]]) -> dict[str, CellSettings]:
    """The combinations by name, in the order of the grid; the last setting varies fastest."""
    cells: dict[str, CellSettings] = {}
    for values in product(*grid.values()):
        cell = dict(zip(grid, values, strict=True))
        name = _folder_name(cell)
        cells[name if name not in cells else f"{name[:_LONGEST_NAME]}-{_digest(cell)}"] = cell
    return cells


def _folder_name(cell: CellSettings) -> str:
    """The settings as the name of a folder, also on systems that allow few characters."""
    text = ",".join(f"{name}={value}" for name, value in cell.items())
    safe = _NOT_IN_FILE_NAMES.sub("_", text)
    return safe if len(safe) <= _LONGEST_NAME else f"{safe[:_LONGEST_NAME]}-{_digest(cell)}"


def _digest(cell: CellSettings) -> str:
    return hashlib.sha256(repr(cell).encode()).hexdigest()[:8]


# -- how a combination reaches the pipeline


def vary(config: EvalConfig, cell: CellSettings) -> EvalConfig:
    """The settings of one combination."""
    target = config.target_name
    section = config.sections.get(target, {})
    function = config.function
    if target == "callable":
        function = _bound(function or import_function(section["function"]), cell)
        # A part of the identity of the pipeline, so that answers of two combinations never mix.
        words = ", ".join(f"{name}={value!r}" for name, value in cell.items())
        section["function"] = f"{section['function']}({words})"
    else:
        section = _FILLERS[target](section, cell)
    return replace(
        config,
        name=_folder_name(cell),
        target=target,
        function=function,
        settings={**config.sections, target: section},
        about={**config.about, **cell},
    )


def _bound(function: Callable[..., Any], cell: CellSettings) -> Callable[..., Any]:
    """The function with the settings as keywords."""
    parameters = signature(function).parameters
    kinds = {name: parameter.kind for name, parameter in parameters.items()}
    by_name = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    missing = [name for name in cell if kinds.get(name) not in by_name]
    if missing and Parameter.VAR_KEYWORD not in kinds.values():
        shown = getattr(function, "__qualname__", type(function).__name__)
        raise DataError(
            f"grid: {shown} has no parameter {named(missing)}; its parameters are "
            f"{named(parameters, 12) or 'none'}"
        )
    bound = partial(function, **cell)
    return wraps(function)(lambda question: bound(question))


def _fill_server(section: TargetSection, cell: CellSettings) -> TargetSection:
    """The address, headers and body with the settings in their places."""
    sends = str(section.get("method", "POST")).upper() not in ("GET", "HEAD")
    if "body" not in section and sends:
        elsewhere = placeholders_in([section.get("url"), section.get("headers")])
        beside = {name: f"{{{name}}}" for name in cell if name not in elsewhere}
        section = {**section, "body": {"question": "{question}", **beside}}
    names = ("url", "headers", "body")
    parts: TargetSection = {name: section[name] for name in names if name in section}
    _check_reached(cell, parts, "the body, a header or the address")
    for name, part in parts.items():
        escape = in_url if name == "url" else str
        parts[name] = fill_template(part, cell, escape=escape, leaves_others=True)
    return {**section, **parts}


def _fill_command(section: TargetSection, cell: CellSettings) -> TargetSection:
    """The words of the command with the settings in their places."""
    line = section.get("line", "")
    _check_reached(cell, line, "the words of the command")
    # A text is divided into words later.
    write = shlex.quote if isinstance(line, str) else str
    words = {name: write(str(value)) for name, value in cell.items()}
    return {**section, "line": fill_template(line, words, leaves_others=True)}


def _check_reached(cell: CellSettings, template: object, where: str) -> None:
    missing = [name for name in cell if name not in placeholders_in(template)]
    if missing:
        raise DataError(
            f"grid: {named(missing)} does not reach the pipeline: write {{{missing[0]}}} into "
            f"{where}"
        )


_FILLERS: dict[str, Callable[[TargetSection, CellSettings], TargetSection]] = {
    "http": _fill_server,
    "command": _fill_command,
}
