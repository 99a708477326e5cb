"""The engines that run a computation over tables beyond memory, by name.

One more engine is one file with an `Engine` and one line in the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rageval_report._registry import Registry

if TYPE_CHECKING:  # the names are shown in help, which is light
    from rageval_report.scale.engines.base import Engine

__all__ = ["ENGINES"]

_HERE = __name__

ENGINES: Registry[type[Engine]] = Registry(
    "engine",
    {
        "stream": f"{_HERE}.stream:StreamEngine",
        "join": f"{_HERE}.join:JoinEngine",
        "duckdb": f"{_HERE}.duckdb_joins:DuckDBEngine",
        "dask": f"{_HERE}.dask_cluster:DaskEngine",
    },
)
