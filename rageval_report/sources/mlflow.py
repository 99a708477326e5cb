"""MLflow: "mlflow:/EXPERIMENT", one evaluation per run, and "runs:/RUN_ID"; extra ``mlflow``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from rageval_report._registry import load
from rageval_report.errors import named
from rageval_report.files.source import Source
from rageval_report.scores import Scored
from rageval_report.sources.base import (
    OpenedSources,
    RunFacts,
    SavedContent,
    ScoreSource,
    SourceAddress,
)
from rageval_report.sources.mlflow_store import TRACKING, MlflowStore, mlflow_store
from rageval_report.sources.mlflow_tables import RunTables, tables_of_run

_EXPERIMENT_FORM = "mlflow:/EXPERIMENT, or mlflow:/EXPERIMENT?tracking=http://HOST:PORT"
_RUN_FORM = "runs:/RUN_ID, or runs:/RUN_ID/FOLDER/TABLE.csv; ?tracking=http://HOST:PORT"
_ARTIFACT = "artifact"
_FILTER = "filter"
_MOST_NAMED = 5
_ID_DIGITS = 8


def open_experiment(address: SourceAddress) -> OpenedSources:
    """The tables of scores of all runs of an experiment, the oldest run first.

    Raises
    ------
    ReaderError
        If there is no such experiment, no run has a table, or the store cannot be reached.
    MissingDependencyError
        If MLflow is not installed.
    """
    address.check_parameters((TRACKING, _ARTIFACT, _FILTER))
    if not address.place:
        raise address.error(f"no experiment is named; expected {_EXPERIMENT_FORM}")
    with mlflow_store(address) as store:
        experiment_id = store.experiment_id(address.place)
        if experiment_id is None:
            raise store.no_experiment(address.place)
        runs = store.runs(experiment_id, address.parameters.get(_FILTER, ""))
        if not runs:
            of_filter = " that the filter lets pass" if _FILTER in address.parameters else ""
            raise address.error(f"the experiment has no run{of_filter}")
        return _opened(store, runs, address.parameters.get(_ARTIFACT))


def open_run(address: SourceAddress) -> OpenedSources:
    """The table of scores of a run, or the artifact that the address names after the run.

    Raises
    ------
    ReaderError
        If there is no such run, it has no table, or the store cannot be reached.
    MissingDependencyError
        If MLflow is not installed.
    """
    address.check_parameters((TRACKING, _ARTIFACT))
    run_id, _, path = address.place.partition("/")
    if not run_id:
        raise address.error(f"no run is named; expected {_RUN_FORM}")
    with mlflow_store(address) as store:
        return _opened(store, [store.run(run_id)], path or address.parameters.get(_ARTIFACT))


def _opened(store: MlflowStore, runs: Sequence[Any], artifact: str | None) -> OpenedSources:
    names = _names_of_runs(runs)
    tables_by_run = [
        (run, tables_of_run(store, run, name, artifact))
        for run, name in zip(runs, names, strict=True)
    ]
    facts = [_facts_of(run) for run, tables in tables_by_run for _ in tables.sources]
    sources: list[Source] = [source for _, tables in tables_by_run for source in tables.sources]
    without = {
        name: tables.why_none
        for name, (_, tables) in zip(names, tables_by_run, strict=True)
        if not tables.sources
    }
    if not sources:
        raise store.address.error(_nothing_to_read(without))
    return OpenedSources(
        tuple(sources),
        store.address.name,
        names[0] if len(runs) == 1 else store.address.place,
        files="evaluations",
        notes=_notes(without, [tables for _, tables in tables_by_run]),
        why="each run of MLflow is an evaluation",
        sentence="a run of MLflow",
        facts=tuple(facts),
    )


def _notes(without: dict[str, str], tables: Sequence[RunTables]) -> tuple[str, ...]:
    notes = [note for table in tables for note in table.notes]
    if without:
        n, reason = len(without), next(iter(without.values()))
        are = "run has" if n == 1 else "runs have"
        listed = named(without, _MOST_NAMED)
        notes.append(f"{n} {are} no table of scores and {'is' if n == 1 else 'are'} left out: "
                     f"{listed}; {reason}")  # fmt: skip
    return tuple(dict.fromkeys(notes))


def _nothing_to_read(without: dict[str, str]) -> str:
    if len(without) == 1:
        [(name, reason)] = without.items()
        return f"the run {name!r} has no table of scores: {reason}"
    first = next(iter(without.values()))
    return (
        f"none of its {len(without)} runs has a table of scores: {named(without, _MOST_NAMED)}; "
        f"{first}"
    )


def _names_of_runs(runs: Sequence[Any]) -> list[str]:
    """The names of the runs; with the beginning of the id where two have the same."""
    names = [str(run.info.run_name or run.info.run_id) for run in runs]
    counts = Counter(names)
    return [
        name if counts[name] == 1 else f"{name} {run.info.run_id[:_ID_DIGITS]}"
        for name, run in zip(names, runs, strict=True)
    ]


def _facts_of(run: Any) -> RunFacts:
    started = run.info.start_time  # milliseconds
    created = None if started is None else datetime.fromtimestamp(started / 1000, UTC)
    return RunFacts(created, dict(run.data.params))


# -- writing


def save_to_experiment(
    evaluation: Scored, address: SourceAddress, content: SavedContent, overwrite: bool
) -> str:
    """Log an evaluation as a new run of an experiment, which is created if needed.

    Raises
    ------
    ReaderError
        If `overwrite` is set, as no run is replaced, or the store refuses.
    MissingDependencyError
        If MLflow is not installed.
    """
    return _saver()(evaluation, address, content, overwrite)


def _saver() -> Callable[[Scored, SourceAddress, SavedContent, bool], str]:
    # By name: what is logged is the report of the evaluation, which stands above this room.
    saver: Callable[[Scored, SourceAddress, SavedContent, bool], str] = load(
        "rageval_report.loggers:save_evaluation_run"
    )
    return saver


MLFLOW_EXPERIMENT = ScoreSource(
    "mlflow",
    "the runs of an experiment of MLflow (extra mlflow)",
    _EXPERIMENT_FORM,
    open_experiment,
    save_to_experiment,
)
MLFLOW_RUN = ScoreSource("runs", "a run of MLflow (extra mlflow)", _RUN_FORM, open_run)
