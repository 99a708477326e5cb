"""Tables in Parquet, counted by DuckDB: the report and the paired comparison against its SQL.

    python benchmarks/bench_scale.py [--sizes 1000000 10000000] [--rounds 1]
        [--workers] [--folder /tmp/scale]

Ten metrics of single precision (3 of 0 and 1, 3 of shares, 4 continuous) by ids of text, in groups
of 131,072 rows, compressed by zstd. The SQL does the same counting, written by hand: the number,
mean, standard deviation and extremes of every metric, of both sides and of the differences, and the
counts in a grid of 2^16 cells with the mean of each; and that no id is repeated. Ours are whole
reports and comparisons, with kinds of metrics, intervals, exact percentiles and p-values. Both have
a memory limit of 1 GB.

Every run is a process of its own, after a small one to load the packages; ours and the SQL take
turns. CPU time counts all threads of the process; the most memory includes Python and the packages.
With --workers the comparison is also counted by a local Dask cluster of one process per core, which
has been started before; there the wall time counts, and the memory is that of the largest worker.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from timing import markdown, run_both_ways, seconds

from rageval_report import RAGPipelineEvaluation

METRICS = [f"metric_{place}" for place in range(10)]
ROWS_OF_GROUP = 1 << 17
SMALL = 20_000


def write_table(path: Path, n: int, seed: int, *, shuffled: bool = False) -> None:
    """One table part by part; shuffled as a whole."""
    rng = np.random.default_rng(seed)
    every = rng.permutation(n) if shuffled else np.arange(n)
    writer = None
    for first in range(0, n, ROWS_OF_GROUP):
        numbers = every[first : first + ROWS_OF_GROUP]
        size = len(numbers)
        columns = [(rng.random(size) < 0.4).astype(np.float32) for _ in range(3)]
        columns += [(rng.integers(0, 6, size) / 5).astype(np.float32) for _ in range(3)]
        columns += [rng.beta(4, 2, size).astype(np.float32) for _ in range(4)]
        digits = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 9, "0")
        ids = pc.binary_join_element_wise("q", digits, "")
        table = pa.table([ids, *map(pa.array, columns)], ["query_id", *METRICS])
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()


# -- the tasks, each by two contenders


def report(first: Path, _: Path) -> None:
    RAGPipelineEvaluation.scan(first).evaluation_report()


def compare(first: Path, second: Path, **options: str) -> None:
    baseline = RAGPipelineEvaluation.scan(first, name="first", **options)
    candidate = RAGPipelineEvaluation.scan(second, name="second", **options)
    baseline.comparative_summary(candidate)


def compare_with_dask(first: Path, second: Path) -> None:
    compare(first, second, engine="dask")


def connect() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"memory_limit": "1GB"})


def count_by_sql(source: str, numbers: list[str]) -> None:
    """The moments of columns and their counts in cells, from rows that are kept once."""
    connection = connect()
    connection.execute(f"CREATE TEMP TABLE rows AS {source}")
    moments = (f"count({x}), avg({x}), stddev({x}), min({x}), max({x})" for x in numbers)
    connection.execute(f"SELECT {', '.join(moments)} FROM rows").fetchall()
    cells = " UNION ALL ".join(
        f"SELECT {place} AS place, round({x} * 65536) AS cell, count(*), avg({x}) "
        f"FROM rows WHERE {x} IS NOT NULL GROUP BY cell"
        for place, x in enumerate(numbers)
    )
    connection.sql(cells).to_arrow_table()


def check_ids_by_sql(path: Path) -> None:
    rows = f"SELECT query_id FROM read_parquet('{path}')"
    connect().execute(f"SELECT query_id FROM ({rows}) GROUP BY 1 HAVING count(*) > 1").fetchall()


def describe_by_sql(first: Path, _: Path) -> None:
    check_ids_by_sql(first)
    columns = ", ".join(f"{m}::double AS {m}" for m in METRICS)
    count_by_sql(f"SELECT {columns} FROM read_parquet('{first}')", METRICS)


def compare_by_sql(first: Path, second: Path) -> None:
    check_ids_by_sql(first)
    check_ids_by_sql(second)
    columns = [
        f"a.{m}::double AS a_{m}, b.{m}::double AS b_{m}, b.{m}::double - a.{m}::double AS d_{m}"
        for m in METRICS
    ]
    count_by_sql(
        f"SELECT {', '.join(columns)} FROM read_parquet('{first}') a "
        f"JOIN read_parquet('{second}') b USING (query_id)",
        [f"{side}_{m}" for m in METRICS for side in "abd"],
    )


CONTENDERS: dict[str, Callable[[Path, Path], None]] = {
    "report": report,
    "compare": compare,
    "dask": compare_with_dask,
    "SQL report": describe_by_sql,
    "SQL compare": compare_by_sql,
}
# The name of the task, ours, theirs, and the table beside the first one.
TASKS = (
    ("report", "report", "SQL report", "second"),
    ("compare, sorted ids", "compare", "SQL compare", "second"),
    ("compare, shuffled ids", "compare", "SQL compare", "shuffled"),
)


def run_here(contender: str, folder: Path, n: int, other: str) -> None:
    """Run a task in this process, and print what it took."""
    run = CONTENDERS[contender]
    with cluster() if contender == "dask" else nullcontext() as client:
        run(table_path(folder, "first", SMALL), table_path(folder, "second", SMALL))
        wall, cpu = time.perf_counter(), time.process_time()
        run(table_path(folder, "first", n), table_path(folder, other, n))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        peak = max(client.run(peak_memory).values()) if client else peak_memory()
    print(json.dumps([wall, cpu, peak]))


def cluster() -> Any:
    """A client of a local Dask cluster of one process per core."""
    from dask.distributed import Client  # an extra

    return Client(n_workers=os.cpu_count(), threads_per_worker=1, dashboard_address=None)


def peak_memory() -> float:
    """The most memory of this process in MiB.

    On Linux not that of `resource`, which is at least what the parent had when it started this one.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    [line] = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1024


def run_apart(contender: str, folder: Path, n: int, other: str) -> list[float]:
    """Wall and CPU seconds, and the most memory in MiB, of a task in a process of its own."""
    arguments = ["--run", contender, "--folder", str(folder), "--sizes", str(n), "--other", other]
    done = subprocess.run(
        [sys.executable, __file__, *arguments], check=True, capture_output=True, text=True
    )
    wall, cpu, peak = json.loads(done.stdout.splitlines()[-1])
    return [wall, cpu, peak]


def table_path(folder: Path, name: str, n: int) -> Path:
    return folder / f"{name}_{n}.parquet"


def write_tables(folder: Path, n: int) -> None:
    """The tables of a size, unless they are there."""
    for seed, name in enumerate(("first", "second", "shuffled")):
        path = table_path(folder, name, n)
        if not path.exists():
            write_table(path, n, seed, shuffled=name == "shuffled")


def measure(folder: Path, n: int, rounds: int) -> list[list[str]]:
    """A row a task: ours and the SQL's, and how many times as much CPU time the SQL takes."""
    rows = []
    for task, ours, theirs, other in TASKS:
        runs: dict[str, list[list[float]]] = {ours: [], theirs: []}
        for _ in range(rounds):
            for contender, results in runs.items():
                results.append(run_apart(contender, folder, n, other))
        own, peer = (
            [statistics.median(values) for values in zip(*results, strict=True)]
            for results in runs.values()
        )
        cells = [seconds(own[1]), seconds(peer[1]), f"{peer[1] / own[1]:.2f}"]
        cells += [seconds(own[0]), seconds(peer[0]), f"{own[2]:,.0f}", f"{peer[2]:,.0f}"]
        rows.append([f"{n:,}", task, *cells])
        print("|", " | ".join(rows[-1]), "|", flush=True)
    return rows


def measure_dask(folder: Path, n: int, rounds: int) -> None:
    """The wall time of the comparison by one process and by a local cluster."""
    for _ in range(rounds):
        one, _, _ = run_apart("compare", folder, n, "second")
        several, _, peak = run_apart("dask", folder, n, "second")
        load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
        print(
            f"{n:,} rows, wall time: one process {seconds(one)}, Dask {seconds(several)}: "
            f"{several / one:.2f}; the largest worker {peak:,.0f} MiB (load {load})",
            flush=True,
        )


HEADER = ["rows", "task", "ours, CPU", "SQL, CPU", "ratio"]
HEADER += ["ours, wall", "SQL, wall", "ours, MiB", "SQL, MiB"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--workers", action="store_true", help="measure Dask as well")
    parser.add_argument("--folder", type=Path, help="keep the tables here")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    parser.add_argument("--other", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        run_here(arguments.run, arguments.folder, arguments.sizes[0], arguments.other)
        return
    with TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        write_tables(folder, SMALL)
        rows = []
        for n in arguments.sizes:
            write_tables(folder, n)
            rows += measure(folder, n, arguments.rounds)
            if arguments.workers:
                measure_dask(folder, n, arguments.rounds)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(f"\n{os.cpu_count()} cores, load at the end {load}\n")
    print(markdown(HEADER, rows))


if __name__ == "__main__":
    run_both_ways(main)
