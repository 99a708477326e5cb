"""MLflow: "mlflow:/EXPERIMENT", one evaluation per run, and "runs:/RUN_ID"; extra ``mlflow``."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from rageval_report._registry import load
from rageval_report.errors import named
from rageval_report.files.inputs import hide_password
from rageval_report.files.source import Source
from rageval_report.scores.saved_tables import COMPANION
from rageval_report.sources.base import OpenedSources, RunFacts, ScoreSource, SourceAddress
from rageval_report.sources.files import FetchedFile, TemporaryFolder, is_score_file

_EXPERIMENT_FORM = "mlflow:/EXPERIMENT, or mlflow:/EXPERIMENT?tracking=http://HOST:PORT"
_RUN_FORM = "runs:/RUN_ID, or runs:/RUN_ID/FOLDER/TABLE.csv; ?tracking=http://HOST:PORT"
_TRACKING, _ARTIFACT = "tracking", "artifact"
_LONGEST_ERROR, _PAGE, _MOST_NAMED, _ID_DIGITS = 400, 1000, 5, 8
# The table of an evaluation, and that which mlflow.evaluate writes; ours is not a table of scores.
_USUAL_TABLES, _NO_SCORES = ("scores.csv", "eval_results_table.json"), ("results.json",)


@dataclass(frozen=True, repr=False)
class _TrackingStore:
    """A client of a tracking store, and the address with which the user named it."""

    address: SourceAddress
    client: Any

    def files(self, run_id: str, folder: str | None = None) -> list[str]:
        """The artifacts of a run at the top or in a folder, without folders and descriptions."""
        items = self.client.list_artifacts(run_id, None if folder == "." else folder)
        paths = [str(item.path) for item in items if not item.is_dir]
        return [path for path in paths if not path.endswith(COMPANION)]


@contextmanager
def _store_at(address: SourceAddress) -> Iterator[_TrackingStore]:
    """The store that an address names, or else MLFLOW_TRACKING_URI, or else MLflow's own choice."""
    mlflow = load("mlflow")
    os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
    uri = address.parameters.get(_TRACKING)
    try:
        yield _TrackingStore(address, mlflow.MlflowClient(tracking_uri=uri))
    except mlflow.exceptions.MlflowException as exc:
        message = hide_password(" ".join(str(exc).split()))[:_LONGEST_ERROR]
        # From nothing: it may repeat a password of the address of the store.
        raise address.error(f"MLflow says: {message}") from None


def open_experiment(address: SourceAddress) -> OpenedSources:
    """The tables of scores of all runs of an experiment, the oldest run first."""
    address.check_parameters((_TRACKING, _ARTIFACT))
    name = address.place
    if not name:
        raise address.error(f"no experiment is named; expected {_EXPERIMENT_FORM}")
    with _store_at(address) as store:
        experiments = store.client.search_experiments(max_results=_PAGE)
        ids = {str(known.name): str(known.experiment_id) for known in experiments}
        # Experiments of Databricks are paths from the root, whose slash an address has lost.
        own_id = ids.get(name) or ids.get(f"/{name}") or (name if name in ids.values() else None)
        if own_id is None:
            listed = named(ids, 10)
            raise address.error(f"there is no experiment {name!r}; the store has {listed}")
        runs: list[Any] = []
        token = None
        while token or not runs:
            page = store.client.search_runs(
                [own_id],
                max_results=_PAGE,
                order_by=["attributes.start_time ASC"],
                page_token=token,
            )
            runs += page
            token = page.token
            if not token:
                break
        if not runs:
            raise address.error("the experiment has no run")
        return _opened(store, runs, address.parameters.get(_ARTIFACT))


def open_run(address: SourceAddress) -> OpenedSources:
    """The table of scores of a run, or the artifact that the address names after the run."""
    address.check_parameters((_TRACKING, _ARTIFACT))
    run_id, _, path = address.place.partition("/")
    if not run_id:
        raise address.error(f"no run is named; expected {_RUN_FORM}")
    with _store_at(address) as store:
        run = store.client.get_run(run_id)
        return _opened(store, [run], path or address.parameters.get(_ARTIFACT))


def _opened(store: _TrackingStore, runs: Sequence[Any], artifact: str | None) -> OpenedSources:
    names = [str(run.info.run_name or run.info.run_id) for run in runs]
    counts = Counter(names)
    sources: list[Source] = []
    facts, without = [], {}
    for run, plain in zip(runs, names, strict=True):
        # With the beginning of the id where two have the same.
        name = plain if counts[plain] == 1 else f"{plain} {run.info.run_id[:_ID_DIGITS]}"
        table = _table_of_run(store, run, name, artifact)
        if isinstance(table, str):
            without[name] = table
            continue
        started = datetime.fromtimestamp(run.info.start_time / 1000, UTC)
        sources.append(table)
        facts.append(RunFacts(started, dict(run.data.params)))
    listed = f"{named(without, _MOST_NAMED)}: {next(iter(without.values()), '')}"
    if not sources:
        raise store.address.error(f"no run has a table of scores: {listed}")
    return OpenedSources(
        tuple(sources),
        store.address.name,
        sources[0].stem if len(runs) == 1 else store.address.place,
        files="evaluations",
        notes=(f"{len(without)} runs without a table of scores are left out: {listed}",)
        if without
        else (),
        why="each run of MLflow is an evaluation",
        facts=tuple(facts),
    )


def _table_of_run(store: _TrackingStore, run: Any, name: str, artifact: str | None) -> Source | str:
    """The artifact that the user names, or else what holds scores; or what there is instead."""
    run_id = str(run.info.run_id)
    paths = store.files(run_id)
    if artifact is not None:
        path = artifact.strip("/")
        if path in [*paths, *store.files(run_id, str(PurePosixPath(path).parent))]:
            return _fetch(store, run_id, name, path)
        return f"there is no artifact {artifact!r}; it has {named(paths) or 'none'}"
    tables = [path for path in paths if is_score_file(path) and path not in _NO_SCORES]
    usual = [path for path in _USUAL_TABLES if path in tables]
    if len(tables) > 1 and not usual:
        return f"several artifacts may be one: {named(tables)}; ?artifact= chooses"
    if tables:
        return _fetch(store, run_id, name, (usual or tables)[0])
    return f"its artifacts are {named(paths)}" if paths else "it has no artifact"


def _fetch(store: _TrackingStore, run_id: str, name: str, path: str) -> Source:
    folder = TemporaryFolder()
    parent = str(PurePosixPath(path).parent)
    items = store.client.list_artifacts(run_id, None if parent == "." else parent)
    if any(item.path == f"{path}{COMPANION}" for item in items):
        store.client.download_artifacts(run_id, f"{path}{COMPANION}", str(folder.path))
    copy = Path(store.client.download_artifacts(run_id, path, str(folder.path)))
    return FetchedFile(copy, folder, store.address, name=f"runs:/{run_id}/{path}", stem=name)


MLFLOW_EXPERIMENT = ScoreSource(
    "mlflow",
    "the runs of an experiment of MLflow (extra mlflow)",
    _EXPERIMENT_FORM,
    open_experiment,
)
MLFLOW_RUN = ScoreSource("runs", "a run of MLflow (extra mlflow)", _RUN_FORM, open_run)
