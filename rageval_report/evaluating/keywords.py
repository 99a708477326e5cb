"""The keywords of `evaluate`, which overrule a file of settings and may hold objects of Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

from rageval_report.errors import DataError
from rageval_report.evaluating.config import EvalConfig, eval_config_of, read_eval_config
from rageval_report.judges import Rubric
from rageval_report.judges.chats import chats_of
from rageval_report.runner.settings import read_yaml

if TYPE_CHECKING:
    from rageval_report.analysis.gates_file import Gates
    from rageval_report.analysis.objectives import Objective
    from rageval_report.judges.chats import Chat
    from rageval_report.metrics.performance import Prices
    from rageval_report.metrics.ranking_inputs import DuplicateDocs
    from rageval_report.metrics.ranking_scores import NoRelevant
    from rageval_report.records.levels import LevelOption
    from rageval_report.runner.run_config import (
        CallableSection,
        CommandSection,
        HttpSection,
        Table,
    )
    from rageval_report.scores import Correct, Scored
    from rageval_report.scores.catalogue.dialects import DialectName

Settings = str | Path | Mapping[str, Any]

# Of these, a keyword replaces all others of its group in the file.
_ALTERNATIVES = (("queries", "records", "datasets"), ("folder", "runs_dir"))


class EvaluateOptions(TypedDict, total=False):
    """The keywords of `rageval_report.evaluate`; the keys of a file of settings are the same."""

    queries: object
    datasets: str | Sequence[str]
    split: str | None
    query_ids: str | Sequence[str]
    target: str | Sequence[str] | Callable[[Any], Any] | None
    http: HttpSection
    callable: CallableSection
    command: CommandSection
    metrics: str | Rubric | Iterable[str | Rubric] | Mapping[str, Any]
    judge: str | bool | Chat | Callable[[str], Any] | Mapping[str, Any] | None
    prices: Prices
    correct: Correct | None
    stop_when: str | Sequence[str]
    baseline: str | Path | Scored | None
    looks: int | None
    weights: Mapping[str, float]
    objectives: Mapping[str, Objective | str | Sequence[str]]
    gates: str | Path | Gates | Sequence[str] | None
    folder: str | Path | None
    name: str | None
    samples: int | None
    seed: int
    resume: bool
    retry_failed: bool
    concurrency: int
    rate: float | None
    warm_up: int
    retries: Mapping[str, float]
    stop_after: int | None
    table: Table | None
    level: LevelOption | None
    duplicates: DuplicateDocs | None
    no_relevant: NoRelevant | None
    dialect: DialectName | None
    match_ids: str | Sequence[str]
    strict: bool
    allow: str | Sequence[str]


def settings_of(settings: Settings | EvalConfig | None, keywords: Mapping[str, Any]) -> EvalConfig:
    """The settings of a file or mapping, overruled by keywords.

    Parameters
    ----------
    settings : str, Path, mapping or EvalConfig, optional
        A file in YAML, or its content.
    keywords : mapping
        The keywords of `evaluate`; None means that a keyword was omitted.

    Raises
    ------
    ReaderError
        If the file cannot be read, or is wrong in itself.
    UnknownNameError
        If a key is not known; it names the nearest.
    DataError
        If a value is of the wrong kind.

    Examples
    --------
    >>> config = settings_of({"datasets": ["qasper"], "seed": 3}, {"queries": [], "name": "mine"})
    >>> config.datasets, config.run.seed, config.run.name
    ((), 3, 'mine')
    """
    overrides = {name: value for name, value in keywords.items() if value is not None}
    if isinstance(settings, EvalConfig):
        if overrides:
            raise DataError(f"keywords overrule files and mappings only; got {[*overrides]}")
        return settings
    document = _document_of(settings)
    for group in _ALTERNATIVES:
        if not overrides.keys().isdisjoint(group):
            document = {key: value for key, value in document.items() if key not in group}
    merged = {**document, **overrides}
    if "judge" in overrides:
        merged["judge"] = _merged_judge(document.get("judge"), overrides["judge"])
    merged, objects = _separate_objects(merged)
    return replace(eval_config_of(merged), **objects)


def _document_of(settings: Settings | None) -> dict[str, Any]:
    if settings is None:
        return {}
    if isinstance(settings, Mapping):
        return dict(settings)
    if not isinstance(settings, str | Path):
        raise DataError(
            f"settings must be a file in YAML or a mapping; got {type(settings).__name__}. "
            "Pass queries as queries=... and a pipeline as target=..."
        )
    read_eval_config(settings)  # its own mistakes are reported with their lines
    return read_yaml(settings)


def _merged_judge(in_file: object, value: object) -> object:
    """The section of the judge with the keyword: a mapping overrules it key by key."""
    section = dict(in_file) if isinstance(in_file, Mapping) else {}
    if isinstance(value, Mapping):
        return {**section, **value}
    return _JudgeOverride(section, value)


class _JudgeOverride(NamedTuple):
    """The section of the judge in a file, and the keyword that names another one."""

    section: dict[str, Any]
    judge: Any


def _separate_objects(document: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings as a file could have them, and the objects that no file can hold."""
    settings: dict[str, Any] = {
        key: str(item) if isinstance(item, Path) else item for key, item in document.items()
    }
    objects: dict[str, Any] = {}
    for name in ("queries", "records"):
        if name in settings and not isinstance(settings[name], str):
            objects["table"] = settings.pop(name)
    if settings.get("baseline") is not None and not isinstance(settings["baseline"], str):
        objects["baseline"] = settings.pop("baseline")
    target: Any = settings.get("target")
    if callable(target):
        section = {**settings.get("callable", {}), "function": _place_of(target)}
        settings |= {"target": "callable", "callable": section}
        objects["function"] = target
    _separate_metrics(settings, objects)
    _separate_judge(settings, objects)
    return settings, objects


def _separate_metrics(settings: dict[str, Any], objects: dict[str, Any]) -> None:
    metrics = settings.get("metrics")
    if metrics is None or isinstance(metrics, Mapping):
        return
    is_single = isinstance(metrics, str | Rubric)
    every = [metrics] if is_single else list(metrics)
    objects["rubrics"] = tuple(metric for metric in every if isinstance(metric, Rubric))
    settings["metrics"] = [metric for metric in every if not isinstance(metric, Rubric)]


def _separate_judge(settings: dict[str, Any], objects: dict[str, Any]) -> None:
    value = settings.get("judge")
    if value is None or isinstance(value, Mapping):
        return
    section, judge = value if isinstance(value, _JudgeOverride) else ({}, value)
    unnamed = {key: item for key, item in section.items() if key not in ("model", "models")}
    is_list = isinstance(judge, list | tuple)
    if isinstance(judge, bool):
        settings["judge"] = {**section, "enabled": judge}
    elif isinstance(judge, str):
        settings["judge"] = {**unnamed, "model": judge}
    elif is_list and judge and all(isinstance(name, str) for name in judge):
        settings["judge"] = {**unnamed, "models": list(judge)}
    else:
        settings["judge"] = unnamed
        objects["chats"] = tuple(chats_of(judge))


def _place_of(function: Callable[..., object]) -> str:
    """The name of a function, by which a run that is resumed recognises it."""
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"{getattr(function, '__module__', None) or '__main__'}:{name}"
