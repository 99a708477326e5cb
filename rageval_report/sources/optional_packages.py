"""Packages that only some sources need; a missing one is named with its extra."""

from __future__ import annotations

from typing import Any, Literal

from rageval_report._registry import load

SourcePackage = Literal[
    "duckdb",
    "fsspec.core",
    "mlflow",
    "mlflow.entities",
    "psycopg",
    "psycopg.conninfo",
    "sqlalchemy",
]


def optional_package(name: SourcePackage) -> Any:
    """A package that has no types that this library could rely on.

    Parameters
    ----------
    name : str
        The name in an import.

    Raises
    ------
    MissingDependencyError
        If it is not installed: the extra, and the line that installs it.
    """
    return load(name)
