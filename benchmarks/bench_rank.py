"""Ranking 20 pipelines on 10 metrics of 5,000 queries, against SciPy's paired t-tests.

    python benchmarks/bench_rank.py [--queries 5000] [--pipelines 20]

CPU time, in one run and in turns. `rank` makes a test of every pair on every metric (1,900 exact
sign-flip tests), 200 intervals, groups and ranks; the peer makes the 190 paired t-tests of one
metric, and nothing else. The goal is a ratio below 20 against these 190 tests. Beside it stands the
ratio against 190 tests a metric (1,900), which is the same number of tests on both sides.
"""

from __future__ import annotations

import argparse
from itertools import combinations

import numpy as np
import pandas as pd
import scipy.stats
from timing import cpu_times, markdown, run_both_ways, score_columns, seconds

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.rank import rank

METRICS = 10


def pipelines(n: int, k: int) -> list[RAGPipelineEvaluation]:
    """Pipelines with the ten kinds of metrics."""
    runs = []
    for seed in range(k):
        columns = {f"metric_{i}": column for i, column in enumerate(score_columns(n, seed))}
        ids = [f"q{i}" for i in range(n)]
        frame = pd.DataFrame({"query_id": ids, **columns})
        runs.append(RAGPipelineEvaluation(f"pipeline {seed}", frame))
    return runs


def t_tests(matrices: list[np.ndarray]) -> None:
    """SciPy's test of every pair of columns."""
    for matrix in matrices:
        for i, j in combinations(range(matrix.shape[1]), 2):
            scipy.stats.ttest_rel(matrix[:, i], matrix[:, j])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=5_000)
    parser.add_argument("--pipelines", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5, help="rounds, of which the median counts")
    options = parser.parse_args()
    runs = pipelines(options.queries, options.pipelines)
    columns = [
        np.column_stack([run.scores.iloc[:, place] for run in runs]) for place in range(METRICS)
    ]
    spent = cpu_times(
        {
            "one metric": lambda: t_tests([np.asfortranarray(columns[6])]),
            "every metric": lambda: t_tests([np.asfortranarray(column) for column in columns]),
            "rank": lambda: rank(*runs),
            "weighted": lambda: rank(*runs[:2]).weighted({"metric_0": 1, "metric_6": 2}),
        },
        options.rounds,
    )
    pairs = options.pipelines * (options.pipelines - 1) // 2
    rows = [
        [f"{pairs:,} t-tests, one metric", seconds(spent["one metric"]), ""],
        [f"{pairs * METRICS:,} t-tests, every metric", seconds(spent["every metric"]), ""],
        ["rank", seconds(spent["rank"]), f"{spent['rank'] / spent['one metric']:.1f}"],
        ["rank, of every metric's tests", "", f"{spent['rank'] / spent['every metric']:.2f}"],
        ["rank of two, and weighted scores of them", seconds(spent["weighted"]), ""],
    ]
    print(markdown(["", "CPU time", "ratio to the t-tests"], rows))


if __name__ == "__main__":
    run_both_ways(main)
