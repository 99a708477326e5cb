"""Precision and recall by cosine over all queries at once against loops over pairs and queries.

    python benchmarks/bench_similarity.py [--queries 10000] [--dim 384]

CPU time, in one run and in turns; 20 results and 10 truths a query, single precision, about a
third of the results near a truth. Every contender gives both figures. The loop over pairs takes
each norm once a query and stops at the first pair that is near. The slow contenders run on a share
of the queries, and their time is scaled up. All must agree first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

import numpy as np
from sklearn.metrics.pairwise import cosine_similarity
from timing import cpu_times, markdown, run_both_ways, seconds

from rageval_report.metrics.similarity import precision_similarity, recall_similarity, similarities

N_RETRIEVED, N_TRUTHS, THRESHOLD = 20, 10, 0.8
Stacks = Sequence[np.ndarray]


def vectors(n: int, dim: int, ragged: bool) -> tuple[Stacks, Stacks]:
    """Results and truths of n queries; some results are a truth with noise."""
    rng = np.random.default_rng(0)
    truths = rng.standard_normal((n, N_TRUTHS, dim), dtype=np.float32)
    retrieved = rng.standard_normal((n, N_RETRIEVED, dim), dtype=np.float32)
    near = rng.random((n, N_RETRIEVED)) < 1 / 3
    copied = truths[np.arange(n)[:, None], rng.integers(0, N_TRUTHS, (n, N_RETRIEVED))]
    retrieved[near] = copied[near] + 0.3 * retrieved[near]
    if not ragged:
        return retrieved, truths
    sizes = rng.integers(10, N_RETRIEVED + 1, n), rng.integers(1, N_TRUTHS + 1, n)
    return (
        [rows[:size] for rows, size in zip(retrieved, sizes[0], strict=True)],
        [rows[:size] for rows, size in zip(truths, sizes[1], strict=True)],
    )


def by_pairs(retrieved: Stacks, truths: Stacks) -> np.ndarray:
    """Each result looks for a truth and each truth for a result, up to the first that is near."""
    return np.array(
        [
            (share_near(ours, theirs), share_near(theirs, ours))
            for ours, theirs in zip(retrieved, truths, strict=True)
        ]
    )


def share_near(rows: np.ndarray, others: np.ndarray) -> float:
    lengths = [np.sqrt(other @ other) for other in others]
    near = 0
    for row in rows:
        length = np.sqrt(row @ row)
        pairs = zip(others, lengths, strict=True)
        near += any(row @ other / (length * theirs) >= THRESHOLD for other, theirs in pairs)
    return near / len(rows)


def by_queries(retrieved: Stacks, truths: Stacks) -> np.ndarray:
    """One table of scikit-learn a query."""
    tables = (cosine_similarity(*pair) >= THRESHOLD for pair in zip(retrieved, truths, strict=True))
    return np.array([(near.any(axis=1).mean(), near.any(axis=0).mean()) for near in tables])


def at_once(retrieved: Stacks, truths: Stacks) -> np.ndarray:
    view = similarities(retrieved, truths)
    metrics = (precision_similarity, recall_similarity)
    return np.stack([metric(view, threshold=THRESHOLD) for metric in metrics], axis=1)


CONTENDERS: dict[str, tuple[Callable[[Stacks, Stacks], np.ndarray], float]] = {
    "loop over pairs": (by_pairs, 0.1),
    "scikit-learn, a query at a time": (by_queries, 0.1),
    "ours": (at_once, 1.0),
}


def compare(n: int, dim: int, ragged: bool, rounds: int) -> list[list[str]]:
    retrieved, truths = vectors(n, dim, ragged)
    few = n // 10
    answers = [run(retrieved[:few], truths[:few]) for run, _ in CONTENDERS.values()]
    for answer in answers:
        np.testing.assert_array_equal(answer, answers[0])
    parts = {name: int(n * share) for name, (_, share) in CONTENDERS.items()}
    spent = cpu_times(
        {
            name: lambda run=run, size=parts[name]: run(retrieved[:size], truths[:size])
            for name, (run, _) in CONTENDERS.items()
        },
        rounds,
    )
    whole = {name: each * n / parts[name] for name, each in spent.items()}
    shape = "10-20 x 1-10" if ragged else f"{N_RETRIEVED} x {N_TRUTHS}"
    return [
        [f"{n:,}", shape, str(dim), name, seconds(each), f"{whole['loop over pairs'] / each:.1f} x"]
        for name, each in whole.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = [
        row
        for ragged in (False, True)
        for row in compare(options.queries, options.dim, ragged, options.rounds)
    ]
    header = ["queries", "results x truths", "dim", "contender", "CPU", "loop / contender"]
    print(markdown(header, rows))


if __name__ == "__main__":
    run_both_ways(main)
