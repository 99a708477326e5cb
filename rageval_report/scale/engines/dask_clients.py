"""Connections to Dask: to a running scheduler, or to one that is started on this machine."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from dask.system import CPU_COUNT
from dask.utils import parse_bytes
from distributed import Client, LocalCluster
from distributed.deploy.subprocess import SubprocessCluster

from rageval_report.errors import DataError

# How long a scheduler may take to answer, in seconds.
_PATIENCE = 15
# Dask's workers give freed memory back to the system at once, from 64 KB on, and glibc gets each
# column of a part anew: the workers of a comparison took 1.9 times the CPU time of one process, and
# with these settings 1.4 times.
_KEEPS_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 1 << 28, "MALLOC_MMAP_THRESHOLD_": 1 << 25}
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


def _start(memory_limit: str | None) -> Any:
    """A scheduler and its workers on this machine."""
    options: dict[str, Any] = {
        "n_workers": CPU_COUNT,
        "threads_per_worker": 1,  # parts are computed by Python and NumPy, one at a time
        "dashboard_address": "127.0.0.1:0",  # any free port
    }
    limit = {"memory_limit": "auto" if memory_limit is None else _bytes_of(memory_limit)}
    with _keeping_memory():
        if sys.platform == "win32":
            return LocalCluster(**options, **limit)
        # Not forked: a script needs no "if __name__ == '__main__'".
        return SubprocessCluster(**options, worker_kwargs=limit)


@contextmanager
def _keeping_memory() -> Iterator[None]:
    """Processes that start meanwhile keep freed memory, unless the environment says otherwise."""
    ours = {name: str(n) for name, n in _KEEPS_MEMORY.items() if name not in os.environ}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)


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
