"""Connections to Dask: to a running scheduler, or to one that is started on this machine."""

from __future__ import annotations

import atexit
import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

from dask.system import CPU_COUNT
from dask.utils import parse_bytes
from distributed import Client, LocalCluster
from distributed.deploy.subprocess import SubprocessCluster

from rageval_report._registry import load
from rageval_report.errors import DataError

# How long a scheduler may take to answer, in seconds.
_PATIENCE = 15
# Dask's workers give freed memory back to the system at once, from 64 KB on, glibc gets each column
# of a part anew, and Arrow's mimalloc gives its own back after some milliseconds: the workers of a
# comparison took 1.9 times the CPU time of one process, and with these settings 1.1 times. After a
# second, which is longer than a part takes, it may go: never giving it back takes 30 MiB more.
# A worker computes in one thread, so it needs one arena; those of threads shrink whatever the
# threshold is.
# The profile of every 10 ms is for a dashboard that nobody opens.
_SETTINGS_OF_WORKERS = {
    "MALLOC_TRIM_THRESHOLD_": str(1 << 28),
    "MALLOC_MMAP_THRESHOLD_": str(1 << 25),
    "MALLOC_ARENA_MAX": "1",
    "MIMALLOC_PURGE_DELAY": "1000",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
}
_PACKAGE = __name__.partition(".")[0]
_ARROW = ("pyarrow.parquet", "pyarrow.compute")
# A client of distributed, which types it in part only.
DaskClient: TypeAlias = Any

# The clients in use, each with the cluster that was started for it.
_open: dict[tuple[str | None, str | None], tuple[DaskClient, Any]] = {}


def client_of(scheduler: str | None, memory_limit: str | None = None) -> DaskClient:
    """A connection, which is kept until Python ends.

    Parameters
    ----------
    scheduler : str or None
        The address of a scheduler; None for one on this machine.
    memory_limit : str, optional
        The memory of each worker on this machine, such as "2GB".

    Raises
    ------
    DataError
        If nothing answers, or memory_limit is not a size.
    """
    key = (scheduler, memory_limit)
    client, _ = _open.get(key, (None, None))
    if client is None or client.status != "running":
        cluster = _start(memory_limit) if scheduler is None else None
        client = _connect(scheduler if cluster is None else cluster)
        _open[key] = client, cluster
        atexit.register(_close, key)
        if cluster is not None:
            _load_packages(client)
    return client


def _connect(scheduler: Any) -> DaskClient:
    connect: Any = Client
    try:
        return connect(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as exc:
        first_line = str(exc).strip().partition("\n")[0]
        raise DataError(
            "scheduler must be the address of a running Dask scheduler, such as "
            f"'tcp://127.0.0.1:8786'; got {scheduler!r} ({first_line})"
        ) from None


def _load_packages(client: DaskClient) -> None:
    """Load in each worker what this process has loaded to read files and to make states.

    Else the first table, if it is one task, leaves that to the others' first tasks.
    """
    floors = tuple(f"{_PACKAGE}.{floor}." for floor in ("scale", "evaluation"))
    modules = [name for name in sys.modules if name.startswith(floors) or name in _ARROW]
    try:
        client.wait_for_workers(CPU_COUNT, timeout=_PATIENCE)
        client.run(_load, modules)
    except (TimeoutError, ImportError):
        return  # the first task says what is missing


def _load(modules: Sequence[str]) -> None:
    for name in modules:
        load(name)


def _start(memory_limit: str | None) -> Any:
    """A scheduler and its workers on this machine."""
    options: dict[str, Any] = {
        "n_workers": CPU_COUNT,
        "threads_per_worker": 1,  # parts are computed by Python and NumPy, one at a time
        "dashboard_address": "127.0.0.1:0",  # any free port
    }
    limit = {"memory_limit": "auto" if memory_limit is None else _bytes_of(memory_limit)}
    with _environment_of_workers():
        if sys.platform == "win32":
            return LocalCluster(**options, **limit)
        # Not forked: a script needs no "if __name__ == '__main__'".
        return SubprocessCluster(**options, worker_kwargs=limit)


@contextmanager
def _environment_of_workers() -> Iterator[None]:
    """Processes that start meanwhile run this Python with the settings of workers.

    Settings that the environment has stay as they are.
    """
    kept = {name: os.environ.get(name) for name in ("PATH", *_SETTINGS_OF_WORKERS)}
    for name, value in _SETTINGS_OF_WORKERS.items():
        os.environ.setdefault(name, value)
    # Older versions of distributed start the command `dask` that they find: it must be the one of
    # this environment, which need not be activated.
    commands = sysconfig.get_path("scripts")
    os.environ["PATH"] = os.pathsep.join([commands, kept["PATH"] or os.defpath])
    try:
        yield
    finally:
        for name, before in kept.items():
            os.environ.pop(name, None)
            if before is not None:
                os.environ[name] = before


def _bytes_of(memory_limit: str) -> int:
    try:
        return int(parse_bytes(memory_limit))
    except (ValueError, TypeError, KeyError):
        raise DataError(
            f"memory_limit must be a size such as '2GB'; got {memory_limit!r}"
        ) from None


def _close(key: tuple[str | None, str | None]) -> None:
    client, cluster = _open.pop(key, (None, None))
    if client is not None:
        client.close()
    if cluster is not None:
        cluster.close()
