"""The settings of eval: a file in YAML, and before it what stands on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rageval_report._registry import load
from rageval_report.cli.eval.lines import line_of
from rageval_report.cli.eval.metrics import MetricGroups
from rageval_report.cli.judge.section import JudgeSection
from rageval_report.errors import (
    DataError,
    MissingDependencyError,
    RagevalError,
    ReaderError,
    UnknownNameError,
)
from rageval_report.files.source import Source

if TYPE_CHECKING:
    from rageval_report.runner import RunConfig

# The options of the command line that say what is asked, by target and setting.
_TARGET_OPTIONS = {
    "url": ("http", "url"),
    "method": ("http", "method"),
    "headers": ("http", "headers"),
    "body": ("http", "body"),
    "health_url": ("http", "health_url"),
    "config_url": ("http", "config_url"),
    "function": ("callable", "function"),
    "line": ("command", "line"),
}
_STREAM_OPTIONS = {"stream": "text", "stream_end": "done"}
_RUN_OPTIONS = (
    *("name", "records", "concurrency", "rate", "warm_up", "samples", "seed", "table", "metrics"),
)
_WHOLE = "the configuration"


@dataclass(frozen=True)
class ObjectiveSection:
    """What an objective is made of; see `rageval_report.analysis.ranking.objectives.Objective`."""

    metrics: tuple[str, ...] | str
    group: str = ""
    statistic: str = "mean"
    worst: float | None = None
    best: float | None = None


@dataclass(frozen=True)
class _Own:
    """The keys of the file that the runner does not know."""

    datasets: tuple[str, ...] | str = ()
    split: str | None = None
    judge: JudgeSection | None = None
    weights: dict[str, float] = field(default_factory=dict)
    objectives: dict[str, Any] = field(default_factory=dict)
    runs_dir: str | None = None
    rag_server_url: str | None = None
    samples_per_dataset: int | None = None


@dataclass(frozen=True)
class EvalConfig:
    """All settings of eval.

    Parameters
    ----------
    run : RunConfig
        What is asked and how.
    datasets : tuple of str
        The data sets whose questions are asked; the file of records where there is none.
    split : str, optional
        Of the data sets.
    judge : JudgeSection, optional
        Who judges; None where the file does not say.
    groups : MetricGroups, optional
        Which groups of metrics, where the file names no metrics.
    weights, objectives : dict
        Of the weighted score.
    is_weighted : bool
        Whether there is one.
    folder : Path, optional
        Where the run is kept.
    """

    run: RunConfig
    datasets: tuple[str, ...] = ()
    split: str | None = None
    judge: JudgeSection | None = None
    groups: MetricGroups | None = None
    weights: dict[str, float] = field(default_factory=dict)
    objectives: dict[str, Any] = field(default_factory=dict)
    is_weighted: bool = False
    folder: Path | None = None


def read_eval_config(path: str | Path) -> EvalConfig:
    r"""The settings in a YAML file; what is wrong in it is told with its line.

    Parameters
    ----------
    path : str or Path
        The file. Needs the extra ``yaml``.

    Raises
    ------
    ReaderError
        If the file cannot be read, a key in it is not known, or a value of the wrong kind.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "eval.yaml"
    ...     _ = path.write_text("callable: {function: my_rag:answer}\njudge: {model: llama3.1}\n")
    ...     read_eval_config(path).judge.model
    'llama3.1'
    """
    given = load("rageval_report.runner.settings:read_yaml")(path)
    try:
        return eval_config_of(given)
    except RagevalError as exc:
        if isinstance(exc, ReaderError | MissingDependencyError):
            raise
        raise ReaderError(str(exc), path, line_of(Source(path).text, exc)) from exc


def eval_config_of(given: Mapping[str, Any]) -> EvalConfig:
    """The settings in a mapping, as a YAML file holds it.

    Raises
    ------
    UnknownNameError
        If a key is not known; it names the nearest.
    DataError
        If a value is of the wrong kind.

    Examples
    --------
    >>> config = eval_config_of({"http": {"url": "http://localhost:8001"}, "datasets": ["qasper"]})
    >>> config.run.target_name, config.datasets
    ('http', ('qasper',))
    """
    parse_settings = load("rageval_report.runner.settings:parse_settings")
    names = {one.name for one in fields(_Own)}
    _check_keys(given, names)
    mine = {key: value for key, value in given.items() if key in names}
    rest = {key: value for key, value in given.items() if key not in names}
    own: _Own = parse_settings(_Own, mine)
    groups = None
    if isinstance(rest.get("metrics"), Mapping):
        groups = parse_settings(MetricGroups, rest.pop("metrics"), "metrics")
    run: RunConfig = load("rageval_report.runner:config_from")(_as_ours(rest, own))
    return EvalConfig(
        run,
        (own.datasets,) if isinstance(own.datasets, str) else own.datasets,
        own.split,
        own.judge,
        groups,
        own.weights,
        {name: _objective(name, told) for name, told in own.objectives.items()},
        is_weighted=bool(own.weights or own.objectives),
        folder=_folder(own.runs_dir, run.name),
    )


def _check_keys(given: Mapping[str, Any], names: set[str]) -> None:
    targets = load("rageval_report.runner:TARGETS")
    run = load("rageval_report.runner:RunConfig")
    known = {*names, *targets, *(one.name for one in fields(run))} - {"settings"}
    for key in given:
        if key not in known:
            raise UnknownNameError(f"key of {_WHOLE}", str(key), known)


def _as_ours(rest: dict[str, Any], own: _Own) -> dict[str, Any]:
    """The names of ragbench's file as ours."""
    found = dict(rest)
    if own.samples_per_dataset is not None:
        found.setdefault("samples", own.samples_per_dataset)
    if own.rag_server_url is not None:
        found["http"] = {"url": own.rag_server_url, **(found.get("http") or {})}
    return found


def _objective(name: str, told: Any) -> Any:
    if not isinstance(told, Mapping):
        return told
    section = load("rageval_report.runner.settings:parse_settings")(
        ObjectiveSection, told, f"objectives.{name}"
    )
    values = {one.name: getattr(section, one.name) for one in fields(ObjectiveSection)}
    return load("rageval_report.analysis.ranking.objectives:Objective")(**values)


def _folder(runs_dir: str | None, name: str | None) -> Path | None:
    return Path(runs_dir) / name if runs_dir and name else None


# -- the command line


def with_options(config: EvalConfig, given: Mapping[str, Any]) -> EvalConfig:
    """The settings with what stands on the command line.

    Raises
    ------
    UsageError
        If two things are asked, or queries come from two places.
    """
    if given["records"] and given["datasets"]:
        raise click.UsageError("Give one of --records and --datasets.")
    changed: dict[str, Any] = {"run": _run_with_options(config.run, given)}
    if given["records"]:
        changed["datasets"] = ()
    for name in ("datasets", "split", "folder"):
        if given[name]:
            changed[name] = given[name]
    if given["metrics"]:
        changed["groups"] = None
    if given["weights"]:
        changed["weights"] = {name: _number(name, one) for name, one in given["weights"].items()}
    if given["objectives"]:
        parts = {name: one.split(",") for name, one in given["objectives"].items()}
        changed["objectives"] = {
            **config.objectives,
            **{name: [one.strip() for one in metrics] for name, metrics in parts.items()},
        }
    asked = given["weighted"] or given["weights"] or given["objectives"]
    return replace(config, **changed, is_weighted=bool(config.is_weighted or asked))


def _number(name: str, told: str) -> float:
    try:
        return float(told)
    except ValueError:
        told = f"--weight {name}={told}: write NAME=W, as faithfulness=2."
        raise click.UsageError(told) from None


def _run_with_options(config: RunConfig, given: Mapping[str, Any]) -> RunConfig:
    told = {key: given[key] for key in _RUN_OPTIONS if given[key] not in (None, ())}
    settings = {name: dict(section) for name, section in config.settings.items()}
    for option, (target, key) in _TARGET_OPTIONS.items():
        if given[option]:
            settings.setdefault(target, {})[key] = given[option]
    _put_stream(settings, given)
    asked = [one for one in ("url", "function", "line") if given[one]]
    if len(asked) > 1:
        raise click.UsageError("Give one of --url, --callable and --command.")
    if asked:
        told["target"] = _TARGET_OPTIONS[asked[0]][0]
    config = replace(config, settings=settings, **told)
    if config.target is None and not settings:
        raise click.UsageError(
            "What is to be asked? Give --url, --callable or --command, or --config with a file "
            "that has a section http, callable or command."
        )
    _put_in_every(settings, config.target_name, given)
    return config


def _put_stream(settings: dict[str, dict[str, Any]], given: Mapping[str, Any]) -> None:
    """What is said of events goes before what the file says, key by key."""
    told = {key: given[one] for one, key in _STREAM_OPTIONS.items() if given[one] is not None}
    if told:
        section = settings.setdefault("http", {})
        section["stream"] = {**(section.get("stream") or {}), **told}


def _put_in_every(
    settings: dict[str, dict[str, Any]], target: str, given: Mapping[str, Any]
) -> None:
    """Settings that more than one target has."""
    section = settings.setdefault(target, {})
    if given["paths"]:
        section["response"] = {**section.get("response", {}), **given["paths"]}
    if given["timeout"] is not None:
        section["timeout"] = given["timeout"]


def checked_folder(config: EvalConfig) -> Path:
    """Where the run is kept.

    Raises
    ------
    UsageError
        If nothing says it.
    DataError
        If it is a file.
    """
    if config.folder is None:
        raise click.UsageError("Missing option '-o' / '--output', or runs_dir and name in a file.")
    if config.folder.is_file():
        raise DataError(f"{config.folder} is a file; name a folder")
    return config.folder
