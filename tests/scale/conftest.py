"""The engines that hold tables, besides DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from scale_tables import Engine


def polars_frame(table: pd.DataFrame, folder: Path) -> Any:
    """A lazy frame of Polars."""
    del folder
    return pytest.importorskip("polars").from_pandas(table).lazy()


def dask_frame(table: pd.DataFrame, folder: Path) -> Any:
    """A frame of Dask, in two parts."""
    del folder
    return pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=2)


def ibis_table(table: pd.DataFrame, folder: Path) -> Any:
    """A table of Ibis over DuckDB."""
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    table.to_parquet(path)
    return pytest.importorskip("ibis").read_parquet(path)


# Ibis calls a function that DuckDB has renamed, and reads an option that pandas drops.
_RENAMED = pytest.mark.filterwarnings(
    "ignore:fetch_arrow_table:DeprecationWarning", "ignore:.*infer_string:DeprecationWarning"
)


@pytest.fixture(params=[polars_frame, dask_frame, pytest.param(ibis_table, marks=_RENAMED)])
def engine(request: pytest.FixtureRequest) -> Engine:
    """What makes a lazy frame of a table."""
    make: Engine = request.param
    return make
