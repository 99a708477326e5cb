"""The tracking store of MLflow behind an address: a server, a database or a folder."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies

from rageval_report.errors import named
from rageval_report.files.inputs import hide_password
from rageval_report.sources.base import SourceAddress
from rageval_report.sources.optional_packages import optional_package

TRACKING = "tracking"
_TRACKING_VARIABLE = "MLFLOW_TRACKING_URI"
# MLflow writes a link to standard output for each run that ends, and a bar for each file.
_SILENT = {
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}
# What mlflow-skinny lacks for a store in a database.
_OF_DATABASES = ("sqlite", "postgresql", "mysql", "mssql")
_SECONDS_TO_CONNECT = 10
_LONGEST_ERROR = 400
_PAGE = 1000
_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True, repr=False)
class MlflowStore:
    """A tracking store, and the address with which the user named it.

    Parameters
    ----------
    address : SourceAddress
        For errors.
    client : mlflow.MlflowClient
        A client of the store; the settings of the process stay as they are.
    """

    address: SourceAddress
    client: Any

    def experiment_id(self, name: str) -> str | None:
        """The id of an experiment by its name or id; None if there is none."""
        # Experiments of Databricks are paths from the root, whose slash an address has lost.
        for candidate in (name, f"/{name}"):
            experiment = self.client.get_experiment_by_name(candidate)
            if experiment is not None and experiment.lifecycle_stage == "active":
                return str(experiment.experiment_id)
        ids = {str(experiment.experiment_id) for experiment in self._experiments()}
        return name if name in ids else None

    def experiment_names(self) -> list[str]:
        """The names of all experiments."""
        return [str(experiment.name) for experiment in self._experiments()]

    def _experiments(self) -> list[Any]:
        return list(self.client.search_experiments(max_results=_PAGE))

    def runs(self, experiment_id: str, filter_string: str = "") -> list[Any]:
        """The runs of an experiment that are not deleted, the oldest first."""
        runs: list[Any] = []
        token = None
        while True:
            page = self.client.search_runs(
                [experiment_id],
                filter_string,
                max_results=_PAGE,
                order_by=["attributes.start_time ASC"],
                page_token=token,
            )
            runs += page
            token = page.token
            if not token:
                return runs

    def run(self, run_id: str) -> Any:
        """A run by its id.

        Raises
        ------
        ReaderError
            If it was deleted.
        """
        run = self.client.get_run(run_id)
        if run.info.lifecycle_stage != "active":
            raise self.address.error(f"the run {run_id} is deleted")
        return run

    def no_experiment(self, name: str) -> Exception:
        """The error that there is no experiment of that name."""
        return self.address.error(
            f"there is no experiment {name!r}; the store has {named(self.experiment_names(), 10)}"
        )


@contextmanager
def mlflow_store(address: SourceAddress) -> Iterator[MlflowStore]:
    """The store that an address names, or else MLFLOW_TRACKING_URI, or else MLflow's own choice.

    Parameters
    ----------
    address : SourceAddress
        With the parameter "tracking" or without.

    Raises
    ------
    ReaderError
        If the store cannot be reached, or refuses; also for errors inside the block.
    MissingDependencyError
        If MLflow is not installed.
    """
    uri = address.parameters.get(TRACKING) or os.environ.get(_TRACKING_VARIABLE) or None
    _check_server(address, uri)
    mlflow = optional_package("mlflow")
    try:
        with _silence():
            yield MlflowStore(address, mlflow.MlflowClient(tracking_uri=uri))
    except mlflow.exceptions.MlflowException as exc:
        message = hide_password(" ".join(str(exc).split()))[:_LONGEST_ERROR]
        # MLflow's own exception may repeat a password of the address of the store.
        cause = exc if hide_password(str(exc)) == str(exc) else None
        raise address.error(f"MLflow says: {message}{_hint(uri)}") from cause


@contextmanager
def _silence() -> Iterator[None]:
    """Keep MLflow's progress bars and links to runs out of the output of this process."""
    before = {name: os.environ.get(name) for name in _SILENT}
    os.environ.update({name: text for name, text in _SILENT.items() if before[name] is None})
    try:
        yield
    finally:
        for name in (name for name, text in before.items() if text is None):
            del os.environ[name]


def _hint(uri: str | None) -> str:
    scheme = urlsplit(uri or "").scheme.partition("+")[0]
    if scheme in _OF_DATABASES and not _can_open_databases():
        return (
            ". A store in a database needs the whole package, mlflow; mlflow-skinny, of the extra "
            "mlflow, is enough for a server"
        )
    return ""


def _can_open_databases() -> bool:
    try:
        optional_package("sqlalchemy")
    except ImportError:
        return False
    return True


def _check_server(address: SourceAddress, uri: str | None) -> None:
    """Check that a server answers, because MLflow would try again for minutes."""
    parts = urlsplit(uri or "")
    if parts.scheme not in _PORTS or not parts.hostname or parts.scheme in getproxies():
        return
    where = _port_of(address, parts)
    try:
        socket.create_connection(where, timeout=_SECONDS_TO_CONNECT).close()
    except OSError as exc:
        raise address.error(
            f"the tracking server at {where[0]}:{where[1]} cannot be reached ({exc}); is it "
            f"running? ?{TRACKING}=... or {_TRACKING_VARIABLE} names another"
        ) from exc


def _port_of(address: SourceAddress, parts: SplitResult) -> tuple[str, int]:
    try:
        return str(parts.hostname), parts.port or _PORTS[parts.scheme]
    except ValueError as exc:
        raise address.error(f"the address of the tracking server has no valid port: {exc}") from exc
