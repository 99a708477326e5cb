"""The settings of an evaluation: from a file in YAML or keywords, checked once at the door."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypedDict

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
from rageval_report.files.source import Source
from rageval_report.judges import Rubric
from rageval_report.judges.chats import Chat, chats_of
from rageval_report.metrics.performance import Price, Prices, check_prices
from rageval_report.metrics.ranking_scores import DuplicateDocs, NoRelevant
from rageval_report.records.levels import LevelOption
from rageval_report.runner.run_config import RunConfig, Table, config_from
from rageval_report.runner.settings import check_value, line_of, parse_settings, read_yaml
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

    def by_fields(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """The metrics of the groups, by the fields that they need."""
        cutoffs = tuple(f"recall@{k}" for k in self.recall_k_values)
        cutoffs += tuple(f"precision@{k}" for k in self.precision_k_values)
        return [
            (tuple(fields.split()), (cutoffs if is_ranked else ()) + tuple(names.split()))
            for group, fields, names in _GROUPS
            if getattr(self, group)
            for is_ranked in (group == "retrieval",)
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
        if self.prices:
            _prices(self.prices, "judge.prices")


@dataclass(frozen=True)
class ObjectiveSection:
    """The fields of an `Objective` in a file."""

    metrics: tuple[str, ...] | str
    group: str = ""
    statistic: str = "mean"
    worst: float | None = None
    best: float | None = None


@dataclass(frozen=True)
class EvalConfig:
    """All settings of an evaluation."""

    run: RunConfig
    datasets: tuple[str, ...] = ()
    split: str | None = None
    judge: JudgeSection | None = None
    prices: dict[str, Price] = field(default_factory=dict)
    gates: Gates | None = None
    groups: MetricGroups | None = None
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
    table: object | None = None
    function: Callable[[Any], Any] | None = None
    chats: tuple[Chat, ...] = ()
    query_ids: tuple[str, ...] = ()
    rubrics: tuple[Rubric, ...] = ()
    correct: Correct | None = None
    stop_when: tuple[str, ...] = ()
    baseline: object | None = None
    looks: int | None = None


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
    match_ids: _Names
    strict: bool
    allow: _Names


# -- the keys that the runner does not know: what each must be, and what it becomes


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


def _prices(prices: Prices, where: str = "prices") -> dict[str, Price]:
    try:
        return check_prices(prices)
    except DataError as exc:
        raise DataError(f"{where}: {exc}") from exc


def _objectives(objectives: Mapping[str, Any]) -> dict[str, Objective]:
    return {name: _objective(name, value) for name, value in objectives.items()}


def _objective(name: str, value: Any) -> Objective:
    if not isinstance(value, Mapping):
        return objective_of(value)
    section = parse_settings(ObjectiveSection, value, f"objectives.{name}")
    return Objective(**{part.name: getattr(section, part.name) for part in fields(section)})


def _correct(value: object) -> Correct | None:
    """The rule for a correct answer: a name, a metric and a threshold, or several thresholds."""
    return value if callable(value) else parse_correct({"correct": value})[0]


def _names(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def _unchanged(value: Any) -> Any:
    return value


_TEXTS = tuple[str, ...] | str
_KEYS: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    **dict.fromkeys(("datasets", "query_ids", "match_ids", "allow", "stop_when"), (_TEXTS, _names)),
    **dict.fromkeys(("resume", "retry_failed", "strict"), (bool, _unchanged)),
    "split": (str | None, _unchanged),
    "judge": (JudgeSection | None, _unchanged),
    "prices": (dict[str, Any], _prices),
    "gates": (Any, gates_of),
    "weights": (dict[str, float], _unchanged),
    "objectives": (dict[str, Any], _objectives),
    "folder": (str | None, lambda folder: folder and Path(folder)),
    "level": (LevelOption | None, _unchanged),
    "duplicates": (DuplicateDocs | None, _unchanged),
    "no_relevant": (NoRelevant | None, _unchanged),
    "dialect": (DialectName | None, _unchanged),
    "correct": (Any, _correct),
    "baseline": (Any, _unchanged),
    "looks": (int | None, _unchanged),
}
# Other names of a setting, some of them those of ragbench's file.
_OTHER_KEYS: dict[str, Any] = {
    "queries": Any,
    "runs_dir": str | None,
    "rag_server_url": str | None,
    "samples_per_dataset": int | None,
}
# How a target is recognised by what names it: the target, and the key of its section.
_TARGET_FORMS: tuple[tuple[Callable[[object], bool], str, str], ...] = (
    (lambda target: isinstance(target, list | tuple), "command", "line"),
    (lambda target: isinstance(target, str) and "://" in target, "http", "url"),
    (lambda target: isinstance(target, str) and ":" in target, "callable", "function"),
)


def read_eval_config(path: str | Path) -> EvalConfig:
    """The settings in a YAML file; an error names its line."""
    document = read_yaml(path)
    try:
        return eval_config_of(document)
    except RagevalError as exc:
        if isinstance(exc, ReaderError | MissingDependencyError):
            raise
        raise ReaderError(str(exc), path, line_of(Source(path).text, exc)) from exc


def eval_config_of(document: Mapping[str, Any]) -> EvalConfig:
    """The settings in a mapping, as a YAML file or keywords have them.

    Raises
    ------
    UnknownNameError
        If a key is unknown; the nearest one is named.
    DataError
        If a value is of the wrong kind.
    """
    run_keys = {option.name for option in fields(RunConfig)} - {"settings"}
    known = {*_KEYS, *_OTHER_KEYS, *TARGETS, *run_keys}
    for key in document:
        if key not in known:
            raise UnknownNameError("key of the configuration", str(key), known)
    settings = {
        key: str(value) if isinstance(value, Path) else value for key, value in document.items()
    }
    others: dict[str, Any] = {
        key: check_value(hint, settings.pop(key), key)
        for key, hint in _OTHER_KEYS.items()
        if key in settings
    }
    objects: dict[str, Any] = {}
    if others.get("queries") is not None:
        settings["records"] = others["queries"]
    if not isinstance(settings.get("records"), str | None):
        objects["table"] = settings.pop("records")
    if others.get("samples_per_dataset") is not None:
        settings.setdefault("samples", others["samples_per_dataset"])
    if others.get("rag_server_url") is not None:
        section: Any = settings.get("http") or {}
        settings["http"] = {"url": others["rag_server_url"], **section}
    _take_target(settings, objects)
    _take_metrics(settings, objects)
    _take_judge(settings, objects)
    own = {
        key: convert(check_value(hint, settings.pop(key), key))
        for key, (hint, convert) in _KEYS.items()
        if key in settings
    }
    run = config_from(settings)
    if own.get("folder") is None and others.get("runs_dir") and run.name:
        own["folder"] = Path(others["runs_dir"], run.name)
    is_weighted = bool(own.get("weights") or own.get("objectives"))
    return EvalConfig(run, is_weighted=is_weighted, **own, **objects)


def with_target(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the section of the target that ``target`` names by a value."""
    target = settings.get("target")
    for is_form, name, key in _TARGET_FORMS:
        if is_form(target):
            section = {**(settings.get(name) or {}), key: target}
            return {**settings, "target": name, name: section}
    return dict(settings)


def _take_target(settings: dict[str, Any], objects: dict[str, Any]) -> None:
    target: Any = settings.get("target")
    if callable(target):
        settings["callable"] = {**settings.get("callable", {}), "function": place_of(target)}
        settings["target"], objects["function"] = "callable", target
    settings.update(with_target(settings))


def _take_metrics(settings: dict[str, Any], objects: dict[str, Any]) -> None:
    """Take groups and rubrics out of the metrics, so that names are left."""
    metrics = settings.get("metrics")
    if metrics is None:
        return
    if isinstance(metrics, Mapping):
        objects["groups"] = parse_settings(MetricGroups, settings.pop("metrics"), "metrics")
        return
    every = [metrics] if isinstance(metrics, str | Rubric) else list(metrics)
    objects["rubrics"] = tuple(metric for metric in every if isinstance(metric, Rubric))
    settings["metrics"] = [metric for metric in every if not isinstance(metric, Rubric)]


def _take_judge(settings: dict[str, Any], objects: dict[str, Any]) -> None:
    """Write the judge as a section, and take out chats, which no file can hold."""
    value = settings.get("judge")
    if not isinstance(value, _JudgeOverride):
        return
    section, judge = value
    unnamed = {key: item for key, item in section.items() if key not in ("model", "models")}
    is_list = isinstance(judge, list | tuple)
    if isinstance(judge, bool):
        settings["judge"] = {**section, "enabled": judge}
    elif isinstance(judge, str):
        settings["judge"] = {**unnamed, "model": judge}
    elif is_list and judge and all(isinstance(name, str) for name in judge):
        settings["judge"] = {**unnamed, "models": list(judge)}
    else:
        settings["judge"], objects["chats"] = unnamed, tuple(chats_of(judge))


class _JudgeOverride(NamedTuple):
    """The section of the judge in a file, and the keyword that names another one."""

    section: dict[str, Any]
    judge: Any


def settings_of(settings: Settings | EvalConfig | None, keywords: Mapping[str, Any]) -> EvalConfig:
    """The settings of a file or mapping, overruled by keywords.

    Raises
    ------
    UnknownNameError
        If a key is unknown.
    DataError
        If a value is of the wrong kind.
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
    if "judge" in overrides:
        in_file = document.get("judge")
        section = dict(in_file) if isinstance(in_file, Mapping) else {}
        judge = overrides["judge"]
        is_section = isinstance(judge, Mapping)
        overrides["judge"] = {**section, **judge} if is_section else _JudgeOverride(section, judge)
    merged = {**document, **overrides}
    if not isinstance(merged.get("judge"), Mapping | _JudgeOverride | None):
        merged["judge"] = _JudgeOverride({}, merged["judge"])
    return eval_config_of(merged)


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
