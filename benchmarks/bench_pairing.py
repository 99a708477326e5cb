"""Pairing two runs of ten metrics by text id against pandas.merge: join and mean differences.

    python benchmarks/bench_pairing.py [--sizes 10000 1000000] [--rounds 7]

CPU time, in one run and in turns. Both runs hold the same queries in the same order, or 95 % of
them each in an order of its own. Indexes are made anew for every turn, as pandas remembers what it
has looked up in one.
"""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Callable

import numpy as np
import pandas as pd
from timing import cpu_times, markdown, run_both_ways, score_columns, seconds

from rageval_report.scores.align import align

METRICS = [f"metric_{k}" for k in range(10)]
IDS: dict[str, Callable[[int], str]] = {
    "query-0000001": lambda row: f"query-{row:07d}",
    "1": str,
    "UUID": lambda row: str(uuid.UUID(int=(row + 1) * (2**100 + 12_345))),
}


def runs(n: int, name: Callable[[int], str], same_order: bool) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two frames with a column of ids; each lacks 5 % of the queries where the orders differ."""
    rng = np.random.default_rng(0)
    ids = pd.Series([name(row) for row in range(n)], dtype="str")
    frames = []
    for seed in (1, 2):
        frame = pd.DataFrame(dict(zip(METRICS, score_columns(n, seed), strict=True)))
        frame.insert(0, "query_id", ids.copy())
        kept = np.arange(n) if same_order else rng.permutation(n)[: int(0.95 * n)]
        frames.append(frame.iloc[kept].reset_index(drop=True))
    return frames[0], frames[1]


def by_merge(baseline: pd.DataFrame, candidate: pd.DataFrame) -> list[float]:
    both = baseline.merge(candidate, on="query_id", suffixes=("", "_candidate"))
    return [float((both[f"{m}_candidate"] - both[m]).mean()) for m in METRICS]


def by_subtraction(baseline: pd.DataFrame, candidate: pd.DataFrame) -> list[float]:
    difference = candidate.set_index("query_id")[METRICS] - baseline.set_index("query_id")[METRICS]
    return [float(mean) for mean in difference.mean()]


def by_get_indexer(baseline: pd.DataFrame, candidate: pd.DataFrame) -> list[float]:
    places = pd.Index(candidate["query_id"]).get_indexer(pd.Index(baseline["query_id"]))
    ours, theirs = np.flatnonzero(places >= 0), places[places >= 0]
    return [
        float((candidate[m].to_numpy().take(theirs) - baseline[m].to_numpy().take(ours)).mean())
        for m in METRICS
    ]


def by_align(baseline: pd.DataFrame, candidate: pd.DataFrame) -> list[float]:
    pair = align(pd.Index(baseline["query_id"]), pd.Index(candidate["query_id"]))
    sides = ((pair.baseline(baseline[m]), pair.candidate(candidate[m])) for m in METRICS)
    return [float((theirs - ours).mean()) for ours, theirs in sides]


CONTENDERS = {
    "pandas merge": by_merge,
    "pandas subtraction": by_subtraction,
    "pandas get_indexer": by_get_indexer,
    "ours": by_align,
}


def compare(n: int, ids: str, same_order: bool, rounds: int) -> list[list[str]]:
    frames = runs(n, IDS[ids], same_order)
    answers = [run(*frames) for run in CONTENDERS.values()]
    np.testing.assert_allclose(answers, [answers[0]] * len(answers), atol=1e-12)
    spent = cpu_times({name: lambda f=f: f(*frames) for name, f in CONTENDERS.items()}, rounds)
    order = "same" if same_order else "shuffled, 5 % missing"
    merge = spent["pandas merge"]
    return [
        [f"{n:,}", ids, order, name, seconds(each), f"{merge / each:.1f} x"]
        for name, each in spent.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--ids", nargs="+", default=list(IDS), choices=list(IDS))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rows = [
        row
        for n in options.sizes
        for ids in options.ids
        for same_order in (True, False)
        for row in compare(n, ids, same_order, options.rounds)
    ]
    print(markdown(["queries", "ids", "order", "contender", "CPU", "merge / contender"], rows))


if __name__ == "__main__":
    run_both_ways(main)
