"""From TREC files to metrics, parsing included, against pytrec_eval and ranx.

    python benchmarks/bench_trec_files.py [--queries 10000] [--rounds 5]

CPU time, in one run and in turns, after a round that warms up. Twelve metrics; every value is
compared with pytrec_eval's, bit for bit, before anything is measured. Then each contender runs
alone in a fresh process: the CPU time of its first call, imports left out but for those that the
call makes, and its peak memory, imports and all. Scores have five decimals, or all the digits of a
single-precision number, which pytrec_eval compares as it should.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from timing import cpu_times, markdown, run_both_ways, seconds

NAMES = {
    **{f"precision@{k}": f"P_{k}" for k in (1, 3, 5, 10)},
    **{f"recall@{k}": f"recall_{k}" for k in (1, 3, 5, 10, 100)},
    "reciprocal_rank": "recip_rank",
    "ndcg@10": "ndcg_cut_10",
    "average_precision": "map",
}
THEIRS = {"P.1,3,5,10", "recall.1,3,5,10,100", "recip_rank", "ndcg_cut.10", "map"}
RANX = [*(f"precision@{k}" for k in (1, 3, 5, 10)), *(f"recall@{k}" for k in (1, 3, 5, 10, 100)),
        "mrr", "ndcg@10", "map"]  # fmt: skip
DEPTH = 100
Way = Callable[[Path, Path], object]


def write(folder: Path, n: int, judged: int, digits: str, in_order: bool) -> tuple[Path, Path]:
    """A ranking and judgments; half of the judged documents are retrieved."""
    rng = np.random.default_rng(0)
    run, qrels = folder / "run.txt", folder / "qrels.txt"
    with run.open("w") as lines, qrels.open("w") as judgments:
        for query in range(n):
            ids = [
                f"doc{number:07d}" for number in rng.choice(10_000_000, 2 * DEPTH, replace=False)
            ]
            scores = (rng.random(DEPTH) * 30).astype(np.float32).astype(float)
            scores = -np.sort(-scores) if in_order else scores
            texts = [repr(x) if digits == "all" else f"{x:.5f}" for x in scores.tolist()]
            lines.writelines(f"q{query} Q0 {ids[i]} {i + 1} {texts[i]} tag\n" for i in range(DEPTH))
            chosen = rng.permutation(2 * DEPTH)[:judged].tolist()
            judgments.writelines(f"q{query} 0 {ids[i]} {rng.integers(0, 3)}\n" for i in chosen)
    return run, qrels


# -- contenders; each imports what it needs when it is made, so that it can be alone in a process


def pytrec_eval_way() -> Way:
    import pytrec_eval

    def score(run: Path, qrels: Path) -> object:
        with run.open() as lines, qrels.open() as judgments:
            judged = pytrec_eval.parse_qrel(judgments)
            evaluator = pytrec_eval.RelevanceEvaluator(judged, THEIRS)
            return evaluator.evaluate(pytrec_eval.parse_run(lines))

    return score


def ranx_way() -> Way:
    import ranx

    def score(run: Path, qrels: Path) -> object:
        judged = ranx.Qrels.from_file(str(qrels), kind="trec")
        return ranx.evaluate(judged, ranx.Run.from_file(str(run), kind="trec"), RANX)

    return score


def our_way() -> Way:
    from rageval_report.metrics.ranking_scores import score_table_of_rankings

    return lambda run, qrels: score_table_of_rankings(run, qrels, list(NAMES))


WAYS: dict[str, tuple[str, Callable[[], Way]]] = {
    "pytrec_eval": ("pytrec_eval", pytrec_eval_way),
    "ours": ("numpy", our_way),
    "ranx": ("ranx", ranx_way),
}


def available_ways() -> dict[str, Callable[[], Way]]:
    return {name: make for name, (needs, make) in WAYS.items() if importlib.util.find_spec(needs)}


# -- what is measured


def assert_identical(run: Path, qrels: Path) -> None:
    expected = pytrec_eval_way()(run, qrels)
    ours = our_way()(run, qrels).scores
    assert list(ours.index) == list(expected)
    for mine, theirs in NAMES.items():
        values = [expected[query][theirs] for query in ours.index]
        assert values == ours[mine].tolist(), mine


def in_turns(paths: tuple[Path, Path], what: list[str], rounds: int) -> list[list[str]]:
    ways = {name: make() for name, make in available_ways().items()}
    calls = {name: lambda way=way: way(*paths) for name, way in ways.items()}
    spent = cpu_times(calls, rounds)
    rows = []
    for name in WAYS:
        if name not in spent:
            rows.append([*what, name, "not installed", "", ""])
            continue
        ratios = [
            f"{spent[peer] / spent[name]:.2f} x" if peer in spent else "not installed"
            for peer in ("pytrec_eval", "ranx")
        ]
        rows.append([*what, name, seconds(spent[name]), *ratios])
    return rows


def alone(paths: tuple[Path, Path]) -> list[list[str]]:
    measurements = []
    for name in available_ways():
        command = [sys.executable, __file__, "--alone", name, *map(str, paths)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        first, peak = map(float, done.stdout.split()[-2:])
        measurements.append((name, first, peak))
    theirs = next(peak for name, _, peak in measurements if name == "pytrec_eval")
    return [
        [name, seconds(first), f"{peak:.0f} MiB", f"{peak / theirs:.2f}"]
        for name, first, peak in measurements
    ]


def run_alone(name: str, run: str, qrels: str) -> None:
    way = WAYS[name][1]()
    start = time.process_time()
    way(Path(run), Path(qrels))
    spent = time.process_time() - start
    print(spent, peak_mib())


def peak_mib() -> float:
    """The peak memory of this process; getrusage would include the parent's (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--alone", nargs=3, metavar=("NAME", "RUN", "QRELS"))
    options = parser.parse_args()
    if options.alone:
        run_alone(*options.alone)
        return
    rows, singles = [], []
    for digits, in_order in (("five", True), ("five", False), ("all", True)):
        what = [f"{options.queries:,} x {DEPTH}", digits, "yes" if in_order else "no"]
        with tempfile.TemporaryDirectory() as folder:
            paths = write(Path(folder), options.queries, 50, digits, in_order)
            assert_identical(*paths)
            rows += in_turns(paths, what, options.rounds)
            singles += [[digits, *row] for row in alone(paths)] if in_order else []
    header = ["queries", "decimals", "in order", "contender", "CPU", "pytrec_eval /", "ranx /"]
    print(markdown(header, rows))
    print()
    print(markdown(["decimals", "contender", "CPU", "peak", "of pytrec_eval's"], singles))


if __name__ == "__main__":
    run_both_ways(main)
