"""`SOURCES`, the table of places that are no files: a new one is one file and one line here."""

from __future__ import annotations

from rageval_report._registry import Registry
from rageval_report.sources.base import ScoreSource

_HERE = __name__.rpartition(".")[0]
# The file systems of fsspec; those of plug-ins of fsspec are one more word here.
REMOTE_SCHEMES = (
    *("abfs", "abfss", "az", "file", "ftp", "gcs", "gs", "hdfs", "hf", "http", "https", "memory"),
    *("oci", "s3", "s3a", "sftp"),
)

SOURCES: Registry[ScoreSource] = Registry(
    "score source",
    {
        "duckdb": f"{_HERE}.databases:DUCKDB",
        "langfuse": f"{_HERE}.langfuse:LANGFUSE_SERVER",
        "langfuse+http": f"{_HERE}.langfuse:LANGFUSE_SERVER",
        "langfuse+https": f"{_HERE}.langfuse:LANGFUSE_SERVER",
        "mlflow": f"{_HERE}.mlflow:MLFLOW_EXPERIMENT",
        "phoenix": f"{_HERE}.phoenix:PHOENIX_SERVER",
        "phoenix+http": f"{_HERE}.phoenix:PHOENIX_SERVER",
        "phoenix+https": f"{_HERE}.phoenix:PHOENIX_SERVER",
        "postgres": f"{_HERE}.databases:POSTGRESQL",
        "postgresql": f"{_HERE}.databases:POSTGRESQL",
        "runs": f"{_HERE}.mlflow:MLFLOW_RUN",
        "sqlite": f"{_HERE}.databases:SQLITE",
        **dict.fromkeys(REMOTE_SCHEMES, f"{_HERE}.remote_files:REMOTE_FILES"),
    },
    group="rageval_report.sources",
)
