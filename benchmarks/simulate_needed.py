"""Whether the numbers of queries in verdicts hold, and how often the best of k is claimed.

    OMP_NUM_THREADS=1 python benchmarks/simulate_needed.py [--datasets 300] [--seed 0] [RUN ...]

The first table: of each undecided test of a comparison the queries that it has, those that 5 % of
the range need, and the power with these, in percent, of new queries drawn from its differences,
moved to that mean. RUN are files of scores, the first the baseline; without any, made-up ones.

The second table: how often the best of k equal variants is called better than the baseline, in
percent, without and with ``tried=k``.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from timing import markdown

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.stats import paired_test

QUERIES = 60


def run(name: str, columns: dict[str, np.ndarray]) -> RAGPipelineEvaluation:
    n = len(next(iter(columns.values())))
    return RAGPipelineEvaluation(name, {"query_id": [f"q{i}" for i in range(n)], **columns})


def made_up(rng: np.random.Generator) -> list[RAGPipelineEvaluation]:
    """Three equal pipelines with a score, a reciprocal rank, and one that is often the same."""
    easy = rng.uniform(0.3, 0.7, QUERIES)
    return [
        run(
            name,
            {
                "faithfulness": np.clip(easy + rng.normal(0, 0.15, QUERIES), 0, 1),
                "reciprocal_rank": 1 / rng.integers(1, 6, QUERIES),
                "answer_relevancy": np.where(rng.random(QUERIES) < 0.6, 1.0, rng.random(QUERIES)),
            },
        )
        for name in ("baseline", "first", "second")
    ]


def power_rows(
    runs: list[RAGPipelineEvaluation], datasets: int, rng: np.random.Generator
) -> Iterator[list[str]]:
    comparison = compare(*runs)
    frame = comparison.frame
    for _, row in frame[frame["pvalue_adjusted"] > 0.05].iterrows():
        differences = comparison.differences(row["metric"], row["candidate"]).to_numpy()
        n, size = int(row["n_needed"]), row["planned_difference"]
        # The spread of a pool is that of a sample, not of a population.
        spread = differences.std(ddof=1) / differences.std()
        pool = spread * (differences - differences.mean()) + size
        samples = rng.choice(pool, (datasets, n))
        shown = [paired_test(np.zeros(n), sample).pvalue <= row["level_left"] for sample in samples]
        power = f"{100 * np.mean(shown):.1f}"
        yield [row["metric"], row["candidate"], f"{row['n']}", f"{size:g}", f"{n}", power]


def claim_rows(datasets: int, rng: np.random.Generator) -> Iterator[list[str]]:
    for k in (2, 5, 20):
        claims = np.array([claims_of_the_best(k, rng) for _ in range(datasets)])
        yield [str(k), *(f"{100 * share:.1f}" for share in claims.mean(axis=0))]


def claims_of_the_best(k: int, rng: np.random.Generator) -> tuple[bool, bool]:
    easy = rng.uniform(0.3, 0.7, QUERIES)
    scores = np.clip(easy + rng.normal(0, 0.15, (k + 1, QUERIES)), 0, 1)
    best = 1 + int(scores[1:].mean(axis=1).argmax())
    pair = run("baseline", {"f1": scores[0]}), run("best", {"f1": scores[best]})
    pvalues = (compare(*pair, tried=tried).frame["pvalue_adjusted"].iloc[0] for tried in (1, k))
    alone, corrected = (bool(pvalue <= 0.05) for pvalue in pvalues)
    return alone, corrected


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path, metavar="RUN")
    parser.add_argument("--datasets", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    runs = [RAGPipelineEvaluation.load(path.stem, path) for path in options.runs] or made_up(rng)
    rows = list(power_rows(runs, options.datasets, rng))
    print(markdown(["metric", "candidate", "n", "difference", "needed", "power"], rows))
    powers = np.array([float(row[-1]) for row in rows])
    print(f"\nmean {powers.mean():.1f}, from {powers.min():.1f} to {powers.max():.1f}\n")
    claims = list(claim_rows(options.datasets, rng))
    print(markdown(["k", "without tried", "with tried=k"], claims))


if __name__ == "__main__":
    main()
