"""Comparing two runs of ten metrics against pandas and SciPy: tests, lists, slices and files.

    python benchmarks/bench_compare.py [--sizes 10000 1000000] [--rounds 3]

CPU time, in one run and in turns. The peer of each piece of work does less: `ttest_rel` gives a t
test and no interval by inversion, no effect sizes and no verdicts, and `describe` no intervals.
Evaluations are loaded before the clock starts, unless the name of the work says otherwise.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import ttest_rel
from timing import cpu_times, markdown, run_both_ways, score_columns, seconds

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.pairing import pair_runs

METRICS = [f"metric_{k}" for k in range(10)]
N_GROUPS = 50
Work = tuple[str, Callable[[], object], Callable[[], object]]


def frame_of(n: int, seed: int) -> pd.DataFrame:
    """A table of scores with ids and a column of groups, which is the same for every seed."""
    frame = pd.DataFrame(dict(zip(METRICS, score_columns(n, seed), strict=True)))
    frame.insert(0, "query_id", [f"query-{row:07d}" for row in range(n)])
    groups = np.random.default_rng(9).integers(0, N_GROUPS, n)
    frame["group"] = pd.Series([f"group {group}" for group in range(N_GROUPS)])[groups].to_numpy()
    return frame


def by_pandas(baseline: pd.DataFrame, candidate: pd.DataFrame) -> list[float]:
    both = baseline.merge(candidate, on="query_id", suffixes=("", "_candidate"))
    return [float(ttest_rel(both[f"{m}_candidate"], both[m]).pvalue) for m in METRICS]


def worse_by_pandas(baseline: pd.DataFrame, candidate: pd.DataFrame) -> pd.DataFrame:
    both = baseline.merge(candidate, on="query_id", suffixes=("", "_candidate"))
    both["difference"] = both["metric_7_candidate"] - both["metric_7"]
    return both[both["difference"] < 0].sort_values("difference")


def groups_by_pandas(baseline: pd.DataFrame, candidate: pd.DataFrame) -> list[object]:
    both = baseline.merge(candidate, on="query_id", suffixes=("", "_candidate"))
    return [
        ttest_rel(part[f"{m}_candidate"], part[m]).pvalue
        for _, part in both.groupby("group")
        for m in METRICS
    ]


def work_on(n: int, folder: Path, *, with_slices: bool) -> list[Work]:
    """Each piece of work, as it is done here and by the peer."""
    frames = frame_of(n, 0), frame_of(n, 1)
    files = folder / "baseline.csv", folder / "candidate.csv"
    for frame, file in zip(frames, files, strict=True):
        frame.to_csv(file, index=False)
    baseline, candidate = map(RAGPipelineEvaluation, ("baseline", "candidate"), frames)
    comparison = compare(baseline, candidate)
    shuffled = frames[1].sample(frac=1, random_state=0).reset_index(drop=True)

    def paired(theirs: pd.DataFrame) -> object:
        runs = map(RAGPipelineEvaluation, ("baseline", "candidate"), (frames[0], theirs))
        return pair_runs(*runs)

    def read() -> list[pd.DataFrame]:
        return [pd.read_csv(file) for file in files]

    def evaluations() -> list[RAGPipelineEvaluation]:
        return [RAGPipelineEvaluation.load(file.stem, file) for file in files]

    slices: Work = (
        f"slices, {N_GROUPS} groups",
        lambda: comparison.slices("group"),
        lambda: groups_by_pandas(*frames),
    )
    return [
        ("compare", lambda: compare(baseline, candidate), lambda: by_pandas(*frames)),
        (
            "regressions",
            lambda: comparison.regressions("metric_7"),
            lambda: worse_by_pandas(*frames),
        ),
        *([slices] if with_slices else []),
        ("pairing of frames", lambda: paired(frames[1]), lambda: merge(*frames)),
        ("pairing, shuffled", lambda: paired(shuffled), lambda: merge(frames[0], shuffled)),
        ("compare two CSV files", lambda: compare(*evaluations()), lambda: by_pandas(*read())),
        (
            "report from CSV",
            lambda: RAGPipelineEvaluation.load("baseline", files[0]).evaluation_report(),
            lambda: pd.read_csv(files[0]).describe(),
        ),
    ]


def merge(baseline: pd.DataFrame, candidate: pd.DataFrame) -> pd.DataFrame:
    return baseline.merge(candidate, on="query_id")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-slices", action="store_true", help="leave out the slowest work")
    options = parser.parse_args()
    rows = []
    for n in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            for name, ours, peer in work_on(n, Path(folder), with_slices=not options.no_slices):
                spent = cpu_times({"ours": ours, "peer": peer}, options.rounds)
                ratio = spent["ours"] / spent["peer"]
                times = seconds(spent["ours"]), seconds(spent["peer"])
                rows.append([f"{n:,}", name, *times, f"{ratio:.2f}"])
    print(markdown(["queries", "work", "ours", "peer", "ours / peer"], rows))


if __name__ == "__main__":
    run_both_ways(main)
