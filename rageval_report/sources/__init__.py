"""Where files are not files: lists, folders and globs of them, databases, trackers.

A source opens what the user named and returns files, contents or tables; readers read these, as
they read a single file. `SOURCES` is the table of all schemes; a new one is one file and one line.
"""

from __future__ import annotations

from rageval_report._registry import Registry
from rageval_report.sources.base import ScoreSource

__all__ = ["REMOTE_SCHEMES", "SOURCES"]

_HERE = __name__
# The file systems of fsspec; those of plug-ins of fsspec are one more word here.
REMOTE_SCHEMES = (
    *("abfs", "abfss", "az", "file", "ftp", "gcs", "gs", "hdfs", "hf", "http", "https", "memory"),
    *("oci", "s3", "s3a", "sftp"),
)

SOURCES: Registry[ScoreSource] = Registry(
    "score source",
    {
        "duckdb": f"{_HERE}.databases:DUCKDB",
        "mlflow": f"{_HERE}.mlflow:MLFLOW_EXPERIMENT",
        "postgres": f"{_HERE}.databases:POSTGRESQL",
        "postgresql": f"{_HERE}.databases:POSTGRESQL",
        "runs": f"{_HERE}.mlflow:MLFLOW_RUN",
        "sqlite": f"{_HERE}.databases:SQLITE",
        **dict.fromkeys(REMOTE_SCHEMES, f"{_HERE}.files:REMOTE_FILES"),
    },
    group="rageval_report.sources",
)
