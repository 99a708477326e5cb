"""Random small tables in memory and as scans: every answer is the same.

    python benchmarks/check_scans.py [--tables 2000] [--first 0]
        [--engine duckdb|polars|dask|spark|ibis|postgresql]

Each table is asked one question of report, compare, rank, slices, gate, failures and the like, in
turn; numbers must agree to nine digits, and texts and notes must be equal. PostgreSQL is that of
the address in RAGEVAL_POSTGRESQL, in which temporary tables are made.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "scale"))
from scale_tables import (
    Engine,
    check_random_table,
    dask_frame,
    ibis_table,
    polars_frame,
)


class Spark:
    """A local session of two threads."""

    def __init__(self) -> None:
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        self.session = builder.config("spark.sql.shuffle.partitions", "2").getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")

    def __call__(self, table: pd.DataFrame, _: Path) -> Any:
        return self.session.createDataFrame(table.astype(object).where(table.notna(), None))


class PostgreSQL:
    """A server, by Ibis."""

    def __init__(self) -> None:
        import ibis

        self.connection = ibis.connect(os.environ["RAGEVAL_POSTGRESQL"])
        self.n_tables = 0

    def __call__(self, table: pd.DataFrame, _: Path) -> Any:
        self.n_tables += 1
        name = f"scores_{os.getpid()}_{self.n_tables}"
        # Ibis has no type for a column of texts without any value.
        texts = [label for label in table if table[label].dtype.kind != "f"]
        empty = [label for label in texts if table[label].isna().all()]
        known = table.drop(columns=empty).reset_index(drop=True)
        return self.connection.create_table(name, known, temp=True)


def make_engine(name: str) -> Engine | None:
    if name == "dask":
        from dask.distributed import Client

        Client(n_workers=2, threads_per_worker=1, dashboard_address=None)
    makers: dict[str, Any] = {"polars": polars_frame, "dask": dask_frame, "ibis": ibis_table}
    if name == "duckdb":
        return None
    return Spark() if name == "spark" else PostgreSQL() if name == "postgresql" else makers[name]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--engine", default="duckdb")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    engine, equal, different = make_engine(arguments.engine), Counter[str](), []
    start = time.perf_counter()
    for seed in range(arguments.first, arguments.first + arguments.tables):
        with tempfile.TemporaryDirectory() as folder:
            try:
                equal[check_random_table(seed, Path(folder), engine)] += 1
            except Exception as exc:
                different.append(seed)
                print(f"seed {seed}: {type(exc).__name__}: {str(exc)[:600]}", flush=True)
    wall = time.perf_counter() - start
    print(f"{arguments.engine}: {equal.total()} tables equal, {len(different)} not; {wall:.0f} s")
    print(", ".join(f"{question} {n}" for question, n in sorted(equal.items())))
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
