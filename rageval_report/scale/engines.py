"""The names of the engines, apart, so that help pages need no pandas."""

from __future__ import annotations

AUTO = "auto"
ENGINES = (AUTO, "duckdb", "dask", "spark")
