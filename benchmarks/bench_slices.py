"""Slices of a comparison, `rank` of many pipelines, and both beside what pandas takes to group.

    python benchmarks/bench_slices.py [--rounds 3] [--large]

CPU time, in one run and in turns. ``groupby`` computes no more than the mean difference and its
standard error in each group.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from timing import (
    cpu_times,
    in_fresh_process,
    markdown,
    run_both_ways,
    score_columns,
    seconds,
)

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.compare import Comparison

# Groups, metrics, queries.
SIZES = [(50, 10, 10_000), (1_000, 2, 100_000)]
LARGE = [(50, 10, 1_000_000)]


def evaluation(
    name: str, n_groups: int, n_metrics: int, n: int, seed: int
) -> RAGPipelineEvaluation:
    columns = score_columns(n, seed)
    # Of two metrics one is on a lattice and one is not.
    chosen = columns if n_metrics == len(columns) else [columns[3], columns[6]]
    scores = {f"metric_{number}": column for number, column in enumerate(chosen)}
    groups = np.random.default_rng(0).integers(0, n_groups, n)
    data = {"query_id": [f"q{i}" for i in range(n)], "topic": [f"topic {g}" for g in groups]}
    return RAGPipelineEvaluation(name, {**data, **scores}, metrics=list(scores))


def grouped(comparison: Comparison) -> pd.DataFrame:
    """The mean difference and its error in each group, by pandas."""
    [pairing] = comparison.pairings
    differences = pairing.candidate.scores - pairing.baseline.scores
    return differences.groupby(pairing.baseline.details["topic"].to_numpy()).agg(["mean", "sem"])


def measure(n_groups: int, n_metrics: int, n: int, rounds: int) -> list[str]:
    """A row of the table."""
    runs = [evaluation(name, n_groups, n_metrics, n, seed) for seed, name in enumerate("ab")]
    comparison = compare(*runs)
    contenders = {
        "pandas": lambda: grouped(comparison),
        "slices": lambda: comparison.slices("topic"),
    }
    spent = cpu_times(contenders, rounds)
    return [
        *(f"{n_groups:,}", f"{n_metrics}", f"{n:,}"),
        *(seconds(spent["pandas"]), seconds(spent["slices"])),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts")
    parser.add_argument("--large", action="store_true", help="a million queries as well")
    options = parser.parse_args()
    header = ["groups", "metrics", "queries", "pandas: means, errors", "slices"]
    sizes = SIZES + (LARGE if options.large else [])
    print(markdown(header, [in_fresh_process(measure, *size, options.rounds) for size in sizes]))


if __name__ == "__main__":
    run_both_ways(main)
