"""Gaffke's interval of a mean, of one and of ten, against the bootstraps of SciPy and ours.

    python benchmarks/bench_gaffke.py [--sizes 10 100 10000 1000000] [--rounds 7]

CPU time, in one run. The goals: 2 ms for a metric of up to 10,000 scores, 25 ms for ten of them,
40 ms for a metric of a million.
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.stats
from timing import cpu_times, markdown, run_both_ways, seconds

from rageval_report.stats import mean_interval

RESAMPLES = 999
# A resample of more scores than this takes seconds.
MOST_FOR_SCIPY = 10_000


def together(columns: list[np.ndarray]) -> None:
    for column in columns:
        mean_interval(column, method="gaffke", bounds=(0, 1))


def with_scipy(column: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    scipy.stats.bootstrap((column,), np.mean, n_resamples=RESAMPLES, batch=50, rng=rng)


def compare(n: int, rounds: int) -> list[list[str]]:
    rng = np.random.default_rng(0)
    columns = [rng.beta(8, 2, n) for _ in range(10)]
    contenders = {
        "gaffke, one metric": lambda: mean_interval(columns[0], method="gaffke", bounds=(0, 1)),
        "gaffke, ten metrics": lambda: together(columns),
        "BCa bootstrap, one metric": lambda: mean_interval(columns[0], method="bca"),
    }
    if n <= MOST_FOR_SCIPY:
        contenders[f"BCa of SciPy, {RESAMPLES} resamples, one metric"] = lambda: with_scipy(
            columns[0]
        )
    spent = cpu_times(contenders, rounds)
    return [[f"{n:,}", name, seconds(each)] for name, each in spent.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 10_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    rows = [row for n in options.sizes for row in compare(n, options.rounds)]
    print(markdown(["scores", "contender", "CPU"], rows))


if __name__ == "__main__":
    run_both_ways(main)
