"""The numbers of a report on ten metrics against pandas describe with the same percentiles.

    python benchmarks/bench_describe.py [--sizes 1000 1000000] [--rounds 7]

CPU time, in one run. Ours includes what pandas does not give: the interval of each mean.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from timing import cpu_times, markdown, run_both_ways, score_columns, seconds

from rageval_report.stats.columns import Column
from rageval_report.stats.means import mean_interval, percentiles_of

PERCENTILES = (5, 25, 50, 75, 95)
BOUNDS = [(0, 1)] * 4 + [(1, 5)] + [(0, 1)] * 4 + [None]


def report(columns: list[np.ndarray]) -> None:
    known = [Column.of(column) for column in columns]
    for column, bounds in zip(known, BOUNDS, strict=True):
        mean_interval(column, bounds=bounds)
        percentiles_of(column, PERCENTILES)


def without_intervals(columns: list[np.ndarray]) -> None:
    for column in columns:
        percentiles_of(column, PERCENTILES)


def intervals(columns: list[np.ndarray]) -> None:
    for column, bounds in zip(columns, BOUNDS, strict=True):
        mean_interval(column, bounds=bounds)


def compare(n: int, rounds: int) -> list[list[str]]:
    columns = score_columns(n)
    frame = pd.DataFrame({f"metric {k}": column for k, column in enumerate(columns)})
    shares = [percentile / 100 for percentile in PERCENTILES]
    spent = cpu_times(
        {
            "pandas describe": lambda: frame.describe(percentiles=shares),
            "ours, with intervals": lambda: report(columns),
            "ours, without": lambda: without_intervals(columns),
            "mean_interval alone": lambda: intervals(columns),
        },
        rounds,
    )
    slowest = spent["pandas describe"]
    return [
        [f"{n:,}", name, seconds(each), f"{slowest / each:.1f} x"] for name, each in spent.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 100_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    rows = [row for n in options.sizes for row in compare(n, options.rounds)]
    print(markdown(["queries", "contender", "CPU", "pandas / contender"], rows))


if __name__ == "__main__":
    run_both_ways(main)
