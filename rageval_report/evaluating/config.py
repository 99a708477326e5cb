"""The settings of an evaluation, as a file in YAML or keywords have them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

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
from rageval_report.evaluating.config_lines import line_of
from rageval_report.evaluating.default_metrics import MetricGroups
from rageval_report.evaluating.judge_section import JudgeSection
from rageval_report.files.source import Source
from rageval_report.judges import Rubric
from rageval_report.judges.chats import Chat
from rageval_report.metrics.performance import Price, check_prices
from rageval_report.metrics.ranking_inputs import DuplicateDocs
from rageval_report.metrics.ranking_scores import NoRelevant
from rageval_report.records.levels import LevelOption
from rageval_report.runner import TARGETS, RunConfig, config_from
from rageval_report.runner.settings import parse_settings, read_yaml
from rageval_report.scores.catalogue.dialects import DialectName
from rageval_report.scores.correct import Correct, parse_correct

_WHOLE = "the configuration"


@dataclass(frozen=True)
class ObjectiveSection:
    """The fields of an `Objective` in a file."""

    metrics: tuple[str, ...] | str
    group: str = ""
    statistic: str = "mean"
    worst: float | None = None
    best: float | None = None


@dataclass(frozen=True)
class _EvalSection:
    """The keys of the file that the runner does not know."""

    datasets: tuple[str, ...] | str = ()
    split: str | None = None
    queries: str | None = None
    query_ids: tuple[str, ...] | str = ()
    prices: dict[str, Any] = field(default_factory=dict)
    judge: JudgeSection | None = None
    gates: Any = None
    folder: str | None = None
    resume: bool = False
    retry_failed: bool = False
    correct: Any = None
    stop_when: tuple[str, ...] | str = ()
    baseline: str | None = None
    looks: int | None = None
    weights: dict[str, float] = field(default_factory=dict)
    objectives: dict[str, Any] = field(default_factory=dict)
    runs_dir: str | None = None
    match_ids: tuple[str, ...] | str = ()
    strict: bool = False
    allow: tuple[str, ...] | str = ()
    rag_server_url: str | None = None
    samples_per_dataset: int | None = None
    level: LevelOption | None = None
    duplicates: DuplicateDocs | None = None
    no_relevant: NoRelevant | None = None
    dialect: DialectName | None = None


@dataclass(frozen=True)
class EvalConfig:
    """All settings of an evaluation.

    Parameters
    ----------
    run : RunConfig
        The target, and how it is asked.
    datasets : tuple of str
        The data sets whose questions are asked; if empty, the file of records.
    split : str, optional
        The split of the data sets.
    judge : JudgeSection, optional
        The judge; None if the file has no such section.
    query_ids : tuple of str
        The only queries that are asked; if empty, all of them.
    prices : dict
        US dollars per million tokens sent and received, by the model of the pipeline.
    gates : Gates, optional
        The rules that the scores must keep.
    groups : MetricGroups, optional
        The groups of metrics, if the file names no metrics.
    weights, objectives : dict
        Weights and objectives of the weighted score.
    is_weighted : bool
        Whether a weighted score is shown.
    folder : Path, optional
        The folder of the run.
    resume, retry_failed : bool
        Whether the run in the folder is continued, and its failed queries are asked again.
    level, duplicates, no_relevant, dialect : str, optional
        As for `rageval_report.score`, but a passage that a server returns twice does not cost the
        run: duplicates is "best" if neither it nor a dialect is set.
    match_ids : tuple of str
        Changes of form after which gold ids and retrieved ids are compared.
    strict : bool
        Whether a doubt about the numbers is an error.
    allow : tuple of str
        The checks whose doubts are ordinary notes.
    table : object, optional
        Queries in memory, instead of a file.
    function : callable, optional
        The pipeline, if it is a function that was handed in.
    chats : tuple of Chat
        The judges, if they are chat models that were handed in.
    rubrics : tuple of Rubric
        Rubrics that were handed in.
    correct : Correct, optional
        The rule for a correct answer; if omitted, reports choose it and say so.
    stop_when : tuple of str
        The rules at which the evaluation stops; if empty, all queries are asked.
    baseline : path or evaluation, optional
        The run that these rules compare with.
    looks : int, optional
        The number of planned looks at these rules; if omitted, they may hold at any time.
    """

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


def read_eval_config(path: str | Path) -> EvalConfig:
    r"""The settings in a YAML file; an error names its line.

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
    document = read_yaml(path)
    try:
        return eval_config_of(document)
    except RagevalError as exc:
        if isinstance(exc, ReaderError | MissingDependencyError):
            raise
        raise ReaderError(str(exc), path, line_of(Source(path).text, exc)) from exc


def eval_config_of(document: Mapping[str, Any]) -> EvalConfig:
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
    names = {field.name for field in fields(_EvalSection)}
    _check_keys(document, names)
    mine = {key: value for key, value in document.items() if key in names}
    rest = {key: value for key, value in document.items() if key not in names}
    own = parse_settings(_EvalSection, mine)
    groups = None
    if isinstance(rest.get("metrics"), Mapping):
        groups = parse_settings(MetricGroups, rest.pop("metrics"), "metrics")
    if own.queries is not None:
        rest["records"] = own.queries
    run = config_from(_with_ragbench_names(with_target(rest), own))
    return EvalConfig(
        run,
        (own.datasets,) if isinstance(own.datasets, str) else own.datasets,
        own.split,
        own.judge,
        _prices(own.prices),
        gates_of(own.gates),
        groups,
        own.weights,
        {name: _objective(name, value) for name, value in own.objectives.items()},
        is_weighted=bool(own.weights or own.objectives),
        folder=_folder(own, run),
        query_ids=(own.query_ids,) if isinstance(own.query_ids, str) else own.query_ids,
        resume=own.resume,
        retry_failed=own.retry_failed,
        level=own.level,
        duplicates=own.duplicates,
        no_relevant=own.no_relevant,
        dialect=own.dialect,
        match_ids=(own.match_ids,) if isinstance(own.match_ids, str) else own.match_ids,
        strict=own.strict,
        allow=(own.allow,) if isinstance(own.allow, str) else own.allow,
        correct=own.correct if callable(own.correct) else _correct(own.correct),
        stop_when=(own.stop_when,) if isinstance(own.stop_when, str) else own.stop_when,
        baseline=own.baseline,
        looks=own.looks,
    )


def _correct(value: object) -> Correct | None:
    """The rule for a correct answer: a name, a metric and a threshold, or several thresholds."""
    rule, _ = parse_correct({"correct": value})
    return rule


def _check_keys(document: Mapping[str, Any], names: set[str]) -> None:
    run_names = {field.name for field in fields(RunConfig)}
    known = {*names, *TARGETS, *run_names} - {"settings"}
    for key in document:
        if key not in known:
            raise UnknownNameError(f"key of {_WHOLE}", str(key), known)


def _with_ragbench_names(rest: dict[str, Any], own: _EvalSection) -> dict[str, Any]:
    """The settings with the names of ragbench's file replaced by ours."""
    settings = dict(rest)
    if own.samples_per_dataset is not None:
        settings.setdefault("samples", own.samples_per_dataset)
    if own.rag_server_url is not None:
        settings["http"] = {"url": own.rag_server_url, **(settings.get("http") or {})}
    return settings


# How a target is recognised by what names it: the target, and the key of its section.
_TARGET_FORMS: tuple[tuple[Callable[[object], bool], str, str], ...] = (
    (lambda target: isinstance(target, list | tuple), "command", "line"),
    (lambda target: isinstance(target, str) and "://" in target, "http", "url"),
    (lambda target: isinstance(target, str) and ":" in target, "callable", "function"),
)


def with_target(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with the section of the target that ``target`` names by a value.

    Parameters
    ----------
    settings : mapping
        ``target`` may be a URL, a list (a command and its arguments), "module:function", or, as
        always, the name of a section.

    Examples
    --------
    >>> with_target({"target": "http://localhost:8001/answer", "http": {"timeout": 5}})
    {'target': 'http', 'http': {'timeout': 5, 'url': 'http://localhost:8001/answer'}}
    """
    target = settings.get("target")
    for is_form, name, key in _TARGET_FORMS:
        if is_form(target):
            section = {**(settings.get(name) or {}), key: target}
            return {**settings, "target": name, name: section}
    return dict(settings)


_GATE_FILES = (".toml", ".yaml", ".yml")


def gates_of(gates: object) -> Gates | None:
    """The rules of a file, or those in a text or a list; None if there are none.

    Parameters
    ----------
    gates : str, Path, Gates, or list of str, optional
        A file of gates, a rule, or several rules.

    Raises
    ------
    DataError
        If it is something else.

    Examples
    --------
    >>> [rule.text for rule in gates_of(["mean(recall@5) >= 0.5"]).rules]
    ['mean(recall@5) >= 0.5']
    """
    if gates is None or isinstance(gates, Gates):
        return gates
    if isinstance(gates, str | Path) and Path(gates).suffix.lower() in _GATE_FILES:
        return read_gates(gates)
    rules = [gates] if isinstance(gates, str | Rule) else gates
    if not isinstance(rules, Iterable) or isinstance(rules, Mapping):
        raise DataError(f"gates must be a file of gates, a rule, or a list of rules; got {gates!r}")
    return Gates(tuple(rule if isinstance(rule, Rule) else parse_rule(rule) for rule in rules))


def _prices(prices: Mapping[str, Any]) -> dict[str, Price]:
    try:
        return check_prices(prices)
    except DataError as exc:
        raise DataError(f"prices: {exc}") from exc


def _folder(own: _EvalSection, run: RunConfig) -> Path | None:
    if own.folder is not None:
        return Path(own.folder)
    return Path(own.runs_dir) / run.name if own.runs_dir and run.name else None


def _objective(name: str, value: Any) -> Objective:
    if not isinstance(value, Mapping):
        return objective_of(value)
    section = parse_settings(ObjectiveSection, value, f"objectives.{name}")
    return Objective(
        metrics=section.metrics,
        group=section.group,
        statistic=section.statistic,
        worst=section.worst,
        best=section.best,
    )
