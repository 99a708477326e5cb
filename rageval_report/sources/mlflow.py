"""MLflow: "mlflow:/EXPERIMENT", one evaluation per run, and "runs:/RUN_ID"; extra ``mlflow``."""

from __future__ import annotations

import os
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import pandas as pd

from rageval_report._registry import load
from rageval_report.errors import MissingDependencyError, named
from rageval_report.files.inputs import hide_password
from rageval_report.files.source import Source
from rageval_report.files.strict_json import NotJSONError, parse_json
from rageval_report.readers.table_files import TableSource
from rageval_report.scores import Scored
from rageval_report.scores.saved_tables import COMPANION
from rageval_report.sources.base import (
    OpenedSources,
    RunFacts,
    SavedContent,
    ScoreSource,
    SourceAddress,
    optional_package,
)
from rageval_report.sources.files import FetchedFile, TemporaryFolder, is_score_file

_EXPERIMENT_FORM = "mlflow:/EXPERIMENT, or mlflow:/EXPERIMENT?tracking=http://HOST:PORT"
_RUN_FORM = "runs:/RUN_ID, or runs:/RUN_ID/FOLDER/TABLE.csv; ?tracking=http://HOST:PORT"
TRACKING, _ARTIFACT, _FILTER = "tracking", "artifact", "filter"
_TRACKING_VARIABLE = "MLFLOW_TRACKING_URI"
# MLflow writes a link to standard output for each run that ends, and a bar for each file.
_SILENT = {
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}
# What mlflow-skinny lacks for a store in a database.
_OF_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
_PORTS = {"http": 80, "https": 443}
_SECONDS_TO_CONNECT, _LONGEST_ERROR, _PAGE, _MOST_NAMED, _ID_DIGITS = 10, 400, 1000, 5, 8
# What `save` writes: the scores of an evaluation, or those of both sides of a comparison; what
# mlflow.evaluate writes; and what this library logs besides.
SCORES, SCORES_FOLDER = "scores.csv", "scores"
_EVALUATION_TABLE, _NO_SCORES = "eval_results_table.json", ("results.json",)
_REQUEST_TAG = "mlflow.eval.requestId"


# -- the tracking store


@dataclass(frozen=True, repr=False)
class MlflowStore:
    """A client of a tracking store, and the address with which the user named it."""

    address: SourceAddress
    client: Any

    def experiment_id(self, name: str) -> str | None:
        """The id of an experiment by its name or id; None if there is none."""
        # Experiments of Databricks are paths from the root, whose slash an address has lost.
        for candidate in (name, f"/{name}"):
            experiment = self.client.get_experiment_by_name(candidate)
            if experiment is not None and experiment.lifecycle_stage == "active":
                return str(experiment.experiment_id)
        experiments = self.client.search_experiments(max_results=_PAGE)
        ids = {str(experiment.experiment_id) for experiment in experiments}
        return name if name in ids else None

    def files(self, run_id: str, folder: str | None = None) -> list[str]:
        """The artifacts of a run at the top or in a folder, without folders and descriptions."""
        inside = None if folder in (None, ".") else folder
        items = self.client.list_artifacts(run_id, inside)
        paths = [str(item.path) for item in items if not item.is_dir]
        return [path for path in paths if not path.endswith(COMPANION)]


def _all_pages(search: Any, **query: Any) -> Iterator[Any]:
    token = None
    while True:
        page = search(**query, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


@contextmanager
def mlflow_store(address: SourceAddress) -> Iterator[MlflowStore]:
    """The store that an address names, or else MLFLOW_TRACKING_URI, or else MLflow's own choice."""
    uri = address.parameters.get(TRACKING) or os.environ.get(_TRACKING_VARIABLE) or None
    _check_server(address, uri)
    mlflow = optional_package("mlflow")
    silent = {name: text for name, text in _SILENT.items() if name not in os.environ}
    os.environ.update(silent)
    try:
        yield MlflowStore(address, mlflow.MlflowClient(tracking_uri=uri))
    except mlflow.exceptions.MlflowException as exc:
        message = hide_password(" ".join(str(exc).split()))[:_LONGEST_ERROR]
        # MLflow's own exception may repeat a password of the address of the store.
        cause = exc if hide_password(str(exc)) == str(exc) else None
        raise address.error(f"MLflow says: {message}{_hint(uri)}") from cause
    finally:
        for name in silent:
            del os.environ[name]


def _hint(uri: str | None) -> str:
    if urlsplit(uri or "").scheme.partition("+")[0] not in _OF_DATABASES:
        return ""
    try:
        optional_package("sqlalchemy")
    except MissingDependencyError:
        return (
            ". A store in a database needs the whole package, mlflow; mlflow-skinny, of the extra "
            "mlflow, is enough for a server"
        )
    return ""


def _check_server(address: SourceAddress, uri: str | None) -> None:
    """Check that a server answers, because MLflow would try again for minutes."""
    parts = urlsplit(uri or "")
    if parts.scheme not in _PORTS or not parts.hostname or parts.scheme in getproxies():
        return
    try:
        where = (parts.hostname, parts.port or _PORTS[parts.scheme])
    except ValueError as exc:
        raise address.error(f"the address of the tracking server has no valid port: {exc}") from exc
    try:
        socket.create_connection(where, timeout=_SECONDS_TO_CONNECT).close()
    except OSError as exc:
        raise address.error(
            f"the tracking server at {where[0]}:{where[1]} cannot be reached ({exc}); is it "
            f"running? ?{TRACKING}=... or {_TRACKING_VARIABLE} names another"
        ) from exc


# -- runs


def open_experiment(address: SourceAddress) -> OpenedSources:
    """The tables of scores of all runs of an experiment, the oldest run first."""
    address.check_parameters((TRACKING, _ARTIFACT, _FILTER))
    if not address.place:
        raise address.error(f"no experiment is named; expected {_EXPERIMENT_FORM}")
    with mlflow_store(address) as store:
        experiment_id = store.experiment_id(address.place)
        if experiment_id is None:
            experiments = store.client.search_experiments(max_results=_PAGE)
            names = named((str(experiment.name) for experiment in experiments), 10)
            raise address.error(f"there is no experiment {address.place!r}; the store has {names}")
        runs = list(
            _all_pages(
                store.client.search_runs,
                experiment_ids=[experiment_id],
                filter_string=address.parameters.get(_FILTER, ""),
                max_results=_PAGE,
                order_by=["attributes.start_time ASC"],
            )
        )
        if not runs:
            of_filter = " that the filter lets pass" if _FILTER in address.parameters else ""
            raise address.error(f"the experiment has no run{of_filter}")
        return _opened(store, runs, address.parameters.get(_ARTIFACT))


def open_run(address: SourceAddress) -> OpenedSources:
    """The table of scores of a run, or the artifact that the address names after the run."""
    address.check_parameters((TRACKING, _ARTIFACT))
    run_id, _, path = address.place.partition("/")
    if not run_id:
        raise address.error(f"no run is named; expected {_RUN_FORM}")
    with mlflow_store(address) as store:
        run = store.client.get_run(run_id)
        if run.info.lifecycle_stage != "active":
            raise address.error(f"the run {run_id} is deleted")
        return _opened(store, [run], path or address.parameters.get(_ARTIFACT))


def _opened(store: MlflowStore, runs: Sequence[Any], artifact: str | None) -> OpenedSources:
    names = [str(run.info.run_name or run.info.run_id) for run in runs]
    # With the beginning of the id where two have the same.
    counts = Counter(names)
    names = [
        name if counts[name] == 1 else f"{name} {run.info.run_id[:_ID_DIGITS]}"
        for name, run in zip(names, runs, strict=True)
    ]
    sources: list[Source] = []
    facts, without = [], {}
    for run, name in zip(runs, names, strict=True):
        tables, why_none = _tables_of_run(store, run, name, artifact)
        sources += tables
        facts += [_facts_of(run)] * len(tables)
        if not tables:
            without[name] = why_none
    listed, reason = named(without, _MOST_NAMED), next(iter(without.values()), "")
    n = len(without)
    if not sources and n == 1:
        raise store.address.error(f"the run {listed} has no table of scores: {reason}")
    if not sources:
        raise store.address.error(f"none of its {n} runs has a table of scores: {listed}; {reason}")
    are, left_out = ("run has", "is left out") if n == 1 else ("runs have", "are left out")
    note = f"{n} {are} no table of scores and {left_out}: {listed}; {reason}"
    return OpenedSources(
        tuple(sources),
        store.address.name,
        names[0] if len(runs) == 1 else store.address.place,
        files="evaluations",
        notes=(note,) if without else (),
        why="each run of MLflow is an evaluation",
        sentence="a run of MLflow",
        facts=tuple(facts),
    )


def _facts_of(run: Any) -> RunFacts:
    started = run.info.start_time  # milliseconds
    created = None if started is None else datetime.fromtimestamp(started / 1000, UTC)
    return RunFacts(created, dict(run.data.params))


def _tables_of_run(
    store: MlflowStore, run: Any, name: str, artifact: str | None
) -> tuple[list[Source], str]:
    """The artifact that the user names, or else what holds scores; or what there is instead."""
    run_id = str(run.info.run_id)
    paths = store.files(run_id)
    if artifact is not None:
        path = artifact.strip("/")
        inside = [*paths, *store.files(run_id, str(PurePosixPath(path).parent))]
        why = f"there is no artifact {artifact!r}; it has {named(paths) or 'none'}"
        return ([_fetch(store, run_id, name, path)], "") if path in inside else ([], why)
    tables = [path for path in paths if is_score_file(path) and path not in _NO_SCORES]
    usual = [path for path in (SCORES, _EVALUATION_TABLE) if path in tables][:1]
    if len(tables) > 1 and not usual:
        return [], f"several artifacts may be one: {named(tables)}; ?artifact= chooses"
    folders = [item.path for item in store.client.list_artifacts(run_id) if item.is_dir]
    if not tables and SCORES_FOLDER in folders:
        inside = store.files(run_id, SCORES_FOLDER)
        tables = [path for path in inside if is_score_file(PurePosixPath(path).name)]
    if tables:
        return [_fetch(store, run_id, name, path) for path in usual or tables], ""
    traces = _table_of_traces(store, run, name)
    if traces is not None:
        return [traces], ""
    return [], f"its artifacts are {named(paths)}" if paths else "it has no artifact"


def _fetch(store: MlflowStore, run_id: str, name: str, path: str) -> Source:
    folder = TemporaryFolder()
    beside = f"{path}{COMPANION}"
    parent = str(PurePosixPath(path).parent)
    items = store.client.list_artifacts(run_id, None if parent == "." else parent)
    if any(item.path == beside for item in items):
        store.client.download_artifacts(run_id, beside, str(folder.path))
    copy = Path(store.client.download_artifacts(run_id, path, str(folder.path)))
    return FetchedFile(copy, folder, store.address, name=f"runs:/{run_id}/{path}", stem=name)


# -- the assessments of traces, which GenAI evaluations have in place of a table


def _table_of_traces(store: MlflowStore, run: Any, name: str) -> Source | None:
    traces = _all_pages(
        store.client.search_traces,
        locations=[run.info.experiment_id],
        run_id=run.info.run_id,
        max_results=_PAGE // 2,
        include_spans=False,
    )
    rows = [
        _row_of_trace(trace.info)
        for trace in traces
        if any(assessment.feedback is not None for assessment in trace.info.assessments)
    ]
    if not rows:
        return None
    note = f"the assessments of {len(rows)} traces of the run"
    return TableSource(pd.DataFrame(rows), f"runs:/{run.info.run_id}", name, [note])


def _row_of_trace(info: Any) -> dict[str, Any]:
    """A row as MLflow's own table of a GenAI evaluation has it."""
    assessments = [item for item in info.assessments if item.valid is not False]
    row: dict[str, Any] = {
        "trace_id": info.trace_id,
        # The same inputs have the same tag in every run, so that runs can be compared by it.
        "client_request_id": info.client_request_id or info.tags.get(_REQUEST_TAG),
        "state": str(getattr(info.state, "value", info.state)),
        "request_time": info.request_time,
        "execution_duration": info.execution_duration,
        "request": _parsed(info.request_preview),
        "response": _parsed(info.response_preview),
        "tags": dict(info.tags),
        "assessments": [_short_form(assessment) for assessment in assessments],
    }
    for assessment in assessments:
        row |= _cells_of(assessment)
    return row


def _parsed(preview: str | None) -> Any:
    """The value whose JSON a trace shows; the text itself if it is cut."""
    try:
        return parse_json(preview or "null")
    except NotJSONError:
        return preview


def _short_form(assessment: Any) -> dict[str, Any]:
    kind = "feedback" if assessment.feedback is not None else "expectation"
    return {"assessment_name": assessment.name, kind: True}


def _cells_of(assessment: Any) -> dict[str, Any]:
    name = assessment.name
    if assessment.feedback is None:
        return {f"{name}/value": getattr(assessment.expectation, "value", None)}
    error = assessment.feedback.error
    cells = {f"{name}/value": assessment.feedback.value}
    if assessment.rationale:
        cells[f"{name}/rationale"] = assessment.rationale
    if error is not None:
        cells[f"{name}/error_message"] = error.error_message or error.error_code
    return cells


# -- writing


def save_to_experiment(
    evaluation: Scored, address: SourceAddress, content: SavedContent, overwrite: bool
) -> str:
    """Log an evaluation as a new run of an experiment, which is created if needed."""
    # By name: what is logged is the report of the evaluation, which stands above this room.
    save = load("rageval_report.loggers:save_evaluation_run")
    return str(save(evaluation, address, content, overwrite))


MLFLOW_EXPERIMENT = ScoreSource(
    "mlflow",
    "the runs of an experiment of MLflow (extra mlflow)",
    _EXPERIMENT_FORM,
    open_experiment,
    save_to_experiment,
)
MLFLOW_RUN = ScoreSource("runs", "a run of MLflow (extra mlflow)", _RUN_FORM, open_run)
