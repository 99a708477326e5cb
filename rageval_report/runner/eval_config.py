"""The settings of an evaluation: from a file in YAML or keywords, checked once at the door."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

from rageval_report.analysis.gates_file import Gates, read_gates
from rageval_report.analysis.objectives import Objective, objective_of
from rageval_report.analysis.rules import Rule, parse_rule
from rageval_report.errors import (
    DataError,
    MissingDependencyError,
    RagevalError,
    ReaderError,
    UnknownNameError,
)
from rageval_report.judges import Rubric
from rageval_report.judges.chats import Chat, chats_of
from rageval_report.metrics.performance import Prices, check_prices
from rageval_report.metrics.ranking_scores import DuplicateDocs, NoRelevant
from rageval_report.records.levels import LevelOption
from rageval_report.runner.run_config import RunConfig
from rageval_report.runner.settings import parse_settings, read_yaml
from rageval_report.runner.targets import TARGETS, place_of
from rageval_report.scores import Correct, Scored
from rageval_report.scores.catalogue.dialects import DialectName
from rageval_report.scores.correct import parse_correct

Settings: TypeAlias = str | Path | Mapping[str, Any]
_TargetSettings: TypeAlias = Mapping[str, Any]
_Names: TypeAlias = str | Sequence[str]

_GATE_FILES = (".toml", ".yaml", ".yml")
# Of these, a keyword replaces all others of its group in the file.
_ALTERNATIVES = (("queries", "records", "datasets"), ("folder", "runs_dir"))


# Of each group of ragbench's file: the fields, and the metrics besides those with cutoffs.
_GROUPS: tuple[tuple[str, str, str], ...] = (
    ("retrieval", "relevant retrieved", "reciprocal_rank ndcg@10"),
    ("generation", "reference answer", "exact_match token_f1"),
    ("generation", "negative_reference answer", "negative_reference_hit"),
    ("citation", "relevant citations", "citation_precision citation_recall section_accuracy"),
    ("abstention", "answerable answer", "unanswerable_accuracy false_refusal hallucinated_answer"),
    ("performance", "latency_ms", "latency_ms"),
    ("performance", "cost_usd", "cost_usd"),
)


@dataclass(frozen=True)
class MetricGroups:
    """Groups of metrics instead of names, as ragbench's file has them."""

    retrieval: bool = True
    generation: bool = True
    citation: bool = True
    abstention: bool = True
    performance: bool = True
    # The cutoffs of ragbench's configuration.
    recall_k_values: tuple[int, ...] = (1, 3, 5, 10)
    precision_k_values: tuple[int, ...] = (1, 3, 5)

    def by_fields(self) -> list[tuple[list[str], list[str]]]:
        """The metrics of the groups, by the fields that they need."""
        cutoffs = [f"recall@{k}" for k in self.recall_k_values]
        cutoffs += [f"precision@{k}" for k in self.precision_k_values]
        return [
            (fields.split(), [*(cutoffs if group == "retrieval" else ()), *names.split()])
            for group, fields, names in _GROUPS
            if getattr(self, group)
        ]


@dataclass(frozen=True)
class JudgeSection:
    """The section ``judge`` of a file: the rubrics, the model that judges, and how it is asked."""

    enabled: bool = True
    rubrics: tuple[str, ...] = ()
    provider: str | None = None
    model: str | None = None
    models: tuple[str, ...] = ()
    base_url: str | None = None
    api_key_env: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    timeout: float | None = None
    structured: bool = True
    extra_body: dict[str, Any] = field(default_factory=dict)
    max_retries: int | None = None  # ragbench's files count retries, not the first attempt
    concurrency: int | None = None
    n_repeats: int | None = None
    max_cost: float | None = None
    give_up_after: int | None = None
    prices: dict[str, Any] = field(default_factory=dict)
    cache: str | bool | None = None
    generator: str | None = None

    @property
    def max_attempts(self) -> int | None:
        """The largest number of attempts of one call."""
        return None if self.max_retries is None else self.max_retries + 1

    def __post_init__(self) -> None:
        if self.models and self.model is not None:
            raise DataError("judge.models names all models that judge; leave out judge.model")
        if self.max_retries is not None and self.max_retries < 0:
            raise DataError(f"judge.max_retries must be an integer >= 0; got {self.max_retries}")
        _prices(self.prices, "judge.prices")


@dataclass(frozen=True)
class EvalConfig(RunConfig):
    """All settings of an evaluation: those of the run, and of what is done with its answers."""

    queries: Any = None  # a table, or the path of a file
    datasets: tuple[str, ...] = ()
    split: str | None = None
    query_ids: tuple[str, ...] = ()
    function: Callable[[Any], Any] | None = None
    metrics: tuple[str, ...] = ()
    rubrics: tuple[Rubric, ...] = ()
    groups: MetricGroups | None = None
    judge: JudgeSection | None = None
    chats: tuple[Chat, ...] = ()
    prices: dict[str, Any] = field(default_factory=dict)
    correct: Any = None
    gates: Gates | None = None
    weights: dict[str, float] = field(default_factory=dict)
    objectives: dict[str, Any] = field(default_factory=dict)
    is_weighted: bool = False
    folder: Path | None = None
    resume: bool = False
    retry_failed: bool = False
    level: LevelOption | None = None
    duplicates: DuplicateDocs | None = None
    no_relevant: NoRelevant | None = None
    dialect: DialectName | None = None
    match_ids: tuple[str, ...] = ()
    strict: bool = False
    allow: tuple[str, ...] = ()
    stop_when: tuple[str, ...] = ()
    baseline: object | None = None


class EvaluateOptions(TypedDict, total=False):
    """The keywords of `rageval_report.evaluate`; the keys of a file of settings are the same."""

    queries: object
    datasets: _Names
    split: str | None
    query_ids: _Names
    target: str | Sequence[str] | Callable[[Any], Any] | None
    http: _TargetSettings
    callable: _TargetSettings
    command: _TargetSettings
    metrics: str | Rubric | Iterable[str | Rubric] | Mapping[str, Any]
    judge: str | bool | Chat | Callable[[str], Any] | Sequence[Any] | Mapping[str, Any] | None
    prices: Prices
    correct: Correct | None
    stop_when: _Names
    baseline: str | Path | Scored | None
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
    retries: int
    max_wait: float
    stop_after: int | None
    level: LevelOption | None
    duplicates: DuplicateDocs | None
    no_relevant: NoRelevant | None
    dialect: DialectName | None
    match_ids: _Names
    strict: bool
    allow: _Names


# -- values that are more than what a file can hold


def gates_of(gates: object) -> Gates | None:
    """The rules of a file, or those in a text or a list; None if there are none."""
    if gates is None or isinstance(gates, Gates):
        return gates
    if isinstance(gates, str | Path) and Path(gates).suffix.lower() in _GATE_FILES:
        return read_gates(gates)
    rules = [gates] if isinstance(gates, str | Rule) else gates
    if not isinstance(rules, Iterable) or isinstance(rules, Mapping):
        raise DataError(f"gates must be a file of gates, a rule, or a list of rules; got {gates!r}")
    return Gates(tuple(rule if isinstance(rule, Rule) else parse_rule(rule) for rule in rules))


def _prices(prices: Prices, where: str = "prices") -> dict[str, Any]:
    try:
        return {**check_prices(prices)}
    except DataError as exc:
        raise DataError(f"{where}: {exc}") from exc


def _objectives(objectives: Any) -> dict[str, Objective]:
    if not isinstance(objectives, Mapping):
        raise DataError(f"objectives: expected a mapping; got {objectives!r}")
    return {
        name: parse_settings(Objective, value, f"objectives.{name}")
        if isinstance(value, Mapping)
        else objective_of(value)
        for name, value in objectives.items()
    }


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    "prices": _prices,
    "gates": gates_of,
    "objectives": _objectives,
    "folder": lambda value: Path(str(value)),
    "correct": lambda value: value if callable(value) else parse_correct({"correct": value})[0],
    "baseline": lambda value: value,
    "queries": lambda value: value,
}
_LISTS = ("datasets", "query_ids", "match_ids", "allow", "stop_when")  # a text is a list of one
# Other names of a setting, some of them those of ragbench's file.
_ALIASES = ("records", "runs_dir", "rag_server_url", "samples_per_dataset")
# What no file states by itself.
_INTERNAL = {"settings", "function", "rubrics", "groups", "chats", "is_weighted"}
_KEYS = {option.name for option in fields(EvalConfig)} - _INTERNAL


def settings_of(settings: Settings | None, keywords: Mapping[str, Any]) -> EvalConfig:
    """The settings of a file or mapping, overruled by keywords.

    Raises
    ------
    UnknownNameError
        If a key is unknown; the nearest one is named.
    DataError
        If a value is of the wrong kind.
    """
    overrides = {name: value for name, value in keywords.items() if value is not None}
    if settings is not None and not isinstance(settings, str | Path | Mapping):
        raise DataError(
            f"settings must be a file in YAML or a mapping; got {type(settings).__name__}. "
            "Pass queries as queries=... and a pipeline as target=..."
        )
    document = dict(settings) if isinstance(settings, Mapping) else {}
    if isinstance(settings, str | Path):
        read_eval_config(settings)  # its own mistakes are reported with its name
        document = read_yaml(settings)
    for group in _ALTERNATIVES:
        if not overrides.keys().isdisjoint(group):
            document = {key: value for key, value in document.items() if key not in group}
    in_file = document.pop("judge", None)
    judge = overrides.pop("judge", in_file)
    section = dict(in_file) if isinstance(in_file, Mapping) else {}
    if judge is not None:
        document["judge"], chats = _judge(section, judge)
        return replace(eval_config_of({**document, **overrides}), chats=chats)
    return eval_config_of({**document, **overrides})


def _judge(section: dict[str, Any], judge: Any) -> tuple[dict[str, Any], tuple[Chat, ...]]:
    """The section of the judge that is named, and the chats, which no file can hold."""
    unnamed = {key: item for key, item in section.items() if key not in ("model", "models")}
    if isinstance(judge, Mapping):
        return {**section, **judge}, ()
    if isinstance(judge, bool):
        return {**section, "enabled": judge}, ()
    if isinstance(judge, str):
        return {**unnamed, "model": judge}, ()
    if isinstance(judge, list | tuple) and judge and all(isinstance(name, str) for name in judge):
        return {**unnamed, "models": list(judge)}, ()
    return unnamed, tuple(chats_of(judge))


def read_eval_config(path: str | Path) -> EvalConfig:
    """The settings in a YAML file."""
    try:
        return eval_config_of(read_yaml(path))
    except RagevalError as exc:
        if isinstance(exc, ReaderError | MissingDependencyError):
            raise
        raise ReaderError(str(exc), path) from exc


def eval_config_of(document: Mapping[str, Any]) -> EvalConfig:
    """The settings in a mapping, as a YAML file or keywords have them."""
    for key in document:
        if key not in _KEYS and key not in _ALIASES and key not in TARGETS:
            names = {*_KEYS, *_ALIASES, *TARGETS}
            raise UnknownNameError("key of the configuration", str(key), names)
    settings: dict[str, Any] = {
        key: [value] if key in _LISTS and isinstance(value, str) else value
        for key, value in document.items()
    }
    records, runs, url, samples = (settings.pop(alias, None) for alias in _ALIASES)
    if records is not None:
        settings.setdefault("queries", records)
    if samples is not None:
        settings.setdefault("samples", samples)
    if url is not None:
        settings["http"] = {"url": url, **(settings.get("http") or {})}
    if runs is not None and settings.get("folder") is None and settings.get("name"):
        settings["folder"] = Path(str(runs), str(settings["name"]))
    target = settings.get("target")
    objects = {**_take_metrics(settings), "function": target if callable(target) else None}
    objects["settings"] = _take_sections(settings)
    for key, convert in _CONVERTERS.items():
        value = settings.pop(key, None)
        if value is not None:
            objects[key] = convert(value)
    config = parse_settings(EvalConfig, settings)
    is_weighted = bool(config.weights or objects.get("objectives"))
    return replace(config, is_weighted=is_weighted, **objects)


def _take_sections(settings: dict[str, Any]) -> dict[str, Any]:
    """Take the sections of targets out of the settings; ``target`` may be the pipeline itself."""
    target: Any = settings.get("target")
    named: tuple[str, str, Any] | None = None
    if callable(target):
        named = "callable", "function", place_of(target)
    elif isinstance(target, list | tuple):
        named = "command", "line", target
    elif isinstance(target, str) and ":" in target:
        named = ("http", "url", target) if "://" in target else ("callable", "function", target)
    if named is not None:
        name, key, value = named
        settings["target"] = name
        settings[name] = {**(settings.get(name) or {}), key: value}
    sections = {name: settings.pop(name) for name in TARGETS if name in settings}
    for name, section in sections.items():
        if not isinstance(section, Mapping):
            raise DataError(f"{name}: expected a mapping; got {section!r}")
        # Only to check them before anything runs.
        parse_settings(TARGETS[name].settings_type, section, name)
    return sections


def _take_metrics(settings: dict[str, Any]) -> dict[str, Any]:
    """Take groups and rubrics out of the metrics, so that names are left."""
    metrics = settings.pop("metrics", None)
    if metrics is None:
        return {}
    if isinstance(metrics, Mapping):
        return {"groups": parse_settings(MetricGroups, metrics, "metrics")}
    every = [metrics] if isinstance(metrics, str | Rubric) else list(metrics)
    settings["metrics"] = [metric for metric in every if not isinstance(metric, Rubric)]
    return {"rubrics": tuple(metric for metric in every if isinstance(metric, Rubric))}
