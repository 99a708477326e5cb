"""Tables in Parquet, read part by part: the report and the paired comparison against DuckDB.

    OMP_NUM_THREADS=1 python benchmarks/bench_scale.py [--sizes 1000000] [--rounds 1]

CPU time, in one run and in turns, of ten metrics of single precision (3 of 0 and 1, 3 of shares, 4
continuous) by ids of text. DuckDB computes less: means, standard deviations and approximate
quartiles of one table; means of the differences of two. Ours are whole reports, with intervals and
exact quartiles, and whole comparisons, with exact p-values and intervals. The most memory of the
process is printed after each size; it includes DuckDB's.
"""

from __future__ import annotations

import argparse
import resource
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from timing import cpu_times, markdown, seconds

from rageval_report import RAGPipelineEvaluation

METRICS = [f"metric_{place}" for place in range(10)]
ROWS_OF_GROUP = 1 << 17


def write_table(path: Path, n: int, seed: int, *, shuffled: bool = False) -> None:
    """One table part by part; shuffled within each part, and the parts in reverse."""
    rng = np.random.default_rng(seed)
    firsts = list(range(0, n, ROWS_OF_GROUP))
    writer = None
    for first in firsts[::-1] if shuffled else firsts:
        numbers = np.arange(first, min(first + ROWS_OF_GROUP, n))
        size = len(numbers)
        if shuffled:
            rng.shuffle(numbers)
        columns = [(rng.random(size) < 0.4).astype(np.float32) for _ in range(3)]
        columns += [(rng.integers(0, 6, size) / 5).astype(np.float32) for _ in range(3)]
        columns += [rng.beta(4, 2, size).astype(np.float32) for _ in range(4)]
        ids = pa.array([f"q{number:09d}" for number in numbers.tolist()])
        table = pa.table([ids, *map(pa.array, columns)], ["query_id", *METRICS])
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def connect() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"memory_limit": "1GB"})


def describe_with_duckdb(path: Path) -> None:
    columns = ", ".join(
        f"avg({m}), stddev({m}), min({m}), max({m}), approx_quantile({m}, [0.25, 0.5, 0.75])"
        for m in METRICS
    )
    connect().execute(f"SELECT {columns} FROM read_parquet('{path}')").fetchall()


def compare_with_duckdb(first: Path, second: Path) -> None:
    columns = ", ".join(f"avg(b.{m} - a.{m})" for m in METRICS)
    connect().execute(
        f"SELECT {columns} FROM read_parquet('{first}') a JOIN read_parquet('{second}') b "
        "USING (query_id)"
    ).fetchall()


def report(path: Path) -> None:
    RAGPipelineEvaluation.scan(path).evaluation_report()


def compare(first: Path, second: Path) -> None:
    baseline = RAGPipelineEvaluation.scan(first, name="first")
    baseline.comparative_summary(RAGPipelineEvaluation.scan(second, name="second"))


def measure(n: int, rounds: int) -> list[list[str]]:
    """A row a task: our time, DuckDB's, and how many times as long DuckDB takes."""
    with TemporaryDirectory() as folder:
        paths = [Path(folder, f"{name}.parquet") for name in ("first", "second", "shuffled")]
        for place, path in enumerate(paths):
            write_table(path, n, place, shuffled=place == 2)
        first, second, shuffled = paths
        tasks = {
            "report": (lambda: report(first), lambda: describe_with_duckdb(first)),
            "compare, sorted ids": (
                lambda: compare(first, second),
                lambda: compare_with_duckdb(first, second),
            ),
            "compare, shuffled ids": (
                lambda: compare(first, shuffled),
                lambda: compare_with_duckdb(first, shuffled),
            ),
        }
        rows = []
        for task, (ours, theirs) in tasks.items():
            own, peer = cpu_times({"ours": ours, "DuckDB": theirs}, rounds).values()
            rows.append([f"{n:,}", task, seconds(own), seconds(peer), f"{peer / own:.2f}"])
        return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    rows = []
    for n in arguments.sizes:
        rows += measure(n, arguments.rounds)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(f"{n:,} rows: largest memory {peak:,.0f} MiB")
    print(markdown(["rows", "task", "ours", "DuckDB", "ratio"], rows))


if __name__ == "__main__":
    main()
