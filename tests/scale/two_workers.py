"""A Dask cluster of two worker processes on this machine, for tests."""

from contextlib import contextmanager

import pytest


@contextmanager
def two_workers():
    """The address of a scheduler with two worker processes, as long as the block runs."""
    distributed = pytest.importorskip("distributed", reason="needs the extra 'dask'")
    dask_clients = pytest.importorskip("rageval_report.scale.engines.dask_clients")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0"
    )
    with cluster:
        yield cluster.scheduler_address
        dask_clients._close((cluster.scheduler_address, None))
