"""Bootstrap intervals of ten means against scipy.stats.bootstrap with 10,000 resamples.

    python benchmarks/bench_bootstrap.py [--sizes 50 200 1000 10000] [--rounds 5]

CPU time, in one run and in turns. SciPy takes all ten columns in one call, whose resamples they
share, in batches of ten, where it is fastest. It draws fewer resamples where 10,000 would take
minutes, and its time is scaled up: the cost of resampling is linear in their number. BCa costs
SciPy that and a jackknife over n x n numbers, which is measured on one of the columns and not
scaled; above 10,000 queries it is left out, as its memory grows with n squared.
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.stats
from timing import cpu_times, markdown, run_both_ways, score_columns, seconds

from rageval_report.stats import mean_interval
from rageval_report.stats.bootstrap import bootstrap_means
from rageval_report.stats.columns import Column

RESAMPLES = 10_000
DRAWS_OF_SCIPY = 1_000_000  # for each column
LARGEST_BCA = 10_000


def intervals(columns: list[np.ndarray], method: str) -> None:
    for column in columns:
        mean_interval(column, method=method)


def resampled_means(columns: list[np.ndarray]) -> None:
    for column in columns:
        bootstrap_means(Column.of(column), n_resamples=RESAMPLES)


def scipy_intervals(rows: np.ndarray, method: str, resamples: int) -> None:
    scipy.stats.bootstrap(
        (rows,), np.mean, axis=-1, method=method, n_resamples=resamples, batch=10, rng=0
    )


def compare(n: int, rounds: int) -> list[list[str]]:
    """A row a contender: its time, and how many times as long SciPy takes."""
    columns = score_columns(n)
    drawn = max(10, min(RESAMPLES, DRAWS_OF_SCIPY // n))
    contenders = {
        "percentile": lambda: intervals(columns, "percentile"),
        "BCa": lambda: intervals(columns, "bca"),
        "means alone": lambda: resampled_means(columns),
    }
    rows = np.array(columns)
    peer = {"scipy": lambda: scipy_intervals(rows, "percentile", drawn)}
    spent = cpu_times(contenders | peer, rounds if n <= 10_000 else 1)
    percentile = spent.pop("scipy") * RESAMPLES / drawn
    bca = None if n > LARGEST_BCA else percentile + jackknives(columns)
    return [
        [f"{n:,}", name, seconds(ours), *_against(ours, bca if "BCa" in name else percentile)]
        for name, ours in spent.items()
    ]


def jackknives(columns: list[np.ndarray]) -> float:
    """What BCa costs SciPy beside its resamples, for ten columns."""
    few = {"BCa": lambda: scipy_intervals(np.array(columns[6:7]), "BCa", 100)}
    return 10 * cpu_times(few, rounds=1)["BCa"]


def _against(ours: float, theirs: float | None) -> list[str]:
    return ["not run", ""] if theirs is None else [seconds(theirs), f"{theirs / ours:,.0f} x"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 200, 1_000, 10_000])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = [row for n in options.sizes for row in compare(n, options.rounds)]
    print(markdown(["queries", "ten intervals", "CPU", "scipy", "scipy / ours"], rows))


if __name__ == "__main__":
    run_both_ways(main)
