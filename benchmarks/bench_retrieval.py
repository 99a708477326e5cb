"""Retrieval metrics against pytrec_eval and ranx: from dicts, tidy frames and TREC files.

    python benchmarks/bench_retrieval.py [--queries 10000] [--rounds 5]

CPU time, in one run and in turns, each table in a process of its own. Twelve metrics; every value
is compared with pytrec_eval's, bit for bit, before anything is measured. Documents stand in no
order; half of the judged ones are retrieved. pytrec_eval's time holds the making of its evaluator,
without which no run is scored; ranx's holds the making of its objects, but where they are kept, as
our hit table is. The values of ranx are not compared: it breaks ties in another way. Its rows are
left out where it is missing.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytrec_eval
from timing import Contenders, cpu_times, in_fresh_process, markdown, run_both_ways, seconds

from rageval_report.metrics.ranking_scores import RankedScores, metric_of, score_table_of_rankings

try:
    import ranx
except ImportError:
    ranx = None

NAMES = {
    **{f"precision@{k}": f"P_{k}" for k in (1, 3, 5, 10)},
    **{f"recall@{k}": f"recall_{k}" for k in (1, 3, 5, 10, 100)},
    "reciprocal_rank": "recip_rank",
    "ndcg@10": "ndcg_cut_10",
    "average_precision": "map",
}
THEIRS = {"P.1,3,5,10", "recall.1,3,5,10,100", "recip_rank", "ndcg_cut.10", "map"}
RANX = [{"reciprocal_rank": "mrr", "average_precision": "map"}.get(name, name) for name in NAMES]
PEERS = ("pytrec_eval", "ranx")
COLUMNS = {"q_id_col": "query_id", "doc_id_col": "doc_id"}
Table = dict[str, dict[str, float]]


def made(n: int, depth: int, judged: int, tied: bool) -> tuple[Table, Table]:
    """A ranking and judgments; scores have single precision, or two decimals."""
    rng = np.random.default_rng(0)
    run: Table = {}
    qrels: Table = {}
    for query in range(n):
        ids = [f"doc{number:07d}" for number in rng.integers(0, 10_000_000, 2 * depth).tolist()]
        scores = rng.random(depth).astype(np.float32).astype(float)
        scores = np.round(scores, 2) if tied else scores
        run[f"q{query}"] = dict(zip(ids, scores.tolist(), strict=False))
        chosen = rng.permutation(2 * depth)[:judged].tolist()
        # At least one is relevant: without any, a query has no score here and 0 in pytrec_eval.
        grades = [int(rng.integers(1, 3)), *rng.integers(0, 3, judged - 1).tolist()]
        qrels[f"q{query}"] = {ids[place]: g for place, g in zip(chosen, grades, strict=True)}
    return run, qrels


def theirs(run: Table, qrels: Table) -> dict[str, dict[str, float]]:
    return pytrec_eval.RelevanceEvaluator(qrels, THEIRS).evaluate(run)


def frame_of(table: Table, number: str) -> pd.DataFrame:
    rows = [(query, doc, x) for query, docs in table.items() for doc, x in docs.items()]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", number])


def table_of(frame: pd.DataFrame) -> Table:
    """The way from a frame to pytrec_eval: dicts, made query by query."""
    columns = (frame[name].tolist() for name in frame.columns)
    table: Table = {}
    for query, doc, number in zip(*columns, strict=True):
        table.setdefault(query, {})[doc] = number
    return table


def write(run: Table, qrels: Table, folder: Path) -> tuple[Path, Path]:
    paths = folder / "run.txt", folder / "qrels.txt"
    with paths[0].open("w") as file:
        for query, docs in run.items():
            file.writelines(f"{query} Q0 {doc} 1 {x!r} tag\n" for doc, x in docs.items())
    with paths[1].open("w") as file:
        for query, docs in qrels.items():
            file.writelines(f"{query} 0 {doc} {grade}\n" for doc, grade in docs.items())
    return paths


def from_files(run: Path, qrels: Path) -> dict[str, dict[str, float]]:
    with run.open() as file, qrels.open() as judged:
        return theirs(pytrec_eval.parse_run(file), pytrec_eval.parse_qrel(judged))


def of_ranx(run: Table, qrels: Table, frames: tuple[pd.DataFrame, pd.DataFrame]) -> Contenders:
    """ranx from dicts, from objects that are kept, and from frames, whose ids must be objects."""
    if ranx is None:
        return {}
    kept = ranx.Qrels(qrels), ranx.Run(run)
    retrieved, judged = (frame.astype(dict.fromkeys(COLUMNS.values(), object)) for frame in frames)
    return {
        "dicts, ranx": lambda: ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), RANX),
        "kept, ranx": lambda: ranx.evaluate(*kept, RANX),
        "frames, ranx": lambda: ranx.evaluate(
            ranx.Qrels.from_df(judged, score_col="relevance", **COLUMNS),
            ranx.Run.from_df(retrieved, score_col="score", **COLUMNS),
            RANX,
        ),
    }


def assert_identical(ours: RankedScores, run: Table, qrels: Table) -> None:
    expected = theirs(run, qrels)
    for name, column in NAMES.items():
        values = [expected[query][column] for query in ours.scores.index]
        assert values == ours.scores[name].tolist(), name


def compare(n: int, judged: int, tied: bool, rounds: int) -> list[list[str]]:
    run, qrels = made(n, 100, judged, tied)
    frames = frame_of(run, "score"), frame_of(qrels, "relevance")
    with tempfile.TemporaryDirectory() as folder:
        paths = write(run, qrels, Path(folder))
        kept = score_table_of_rankings(run, qrels, list(NAMES))
        for pair in ((run, qrels), frames, paths):
            assert_identical(score_table_of_rankings(*pair, list(NAMES)), run, qrels)
        functions = [metric_of(name) for name in NAMES]
        contenders: dict[str, Callable[[], object]] = {
            "dicts, pytrec_eval": lambda: theirs(run, qrels),
            "dicts, ours": lambda: score_table_of_rankings(run, qrels, list(NAMES)),
            "kept, ours": lambda: [compute(kept.joined.hits, k) for compute, k in functions],
            "frames, pytrec_eval": lambda: theirs(table_of(frames[0]), table_of(frames[1])),
            "frames, ours": lambda: score_table_of_rankings(*frames, list(NAMES)),
            "files, pytrec_eval": lambda: from_files(*paths),
            "files, ours": lambda: score_table_of_rankings(*paths, list(NAMES)),
            **of_ranx(run, qrels, frames),
        }
        spent = cpu_times(contenders, rounds)
    what = [f"{n:,} x 100", str(judged), "two decimals" if tied else "hardly any"]
    return [
        [
            *what,
            name,
            seconds(each),
            *(ratio(spent, name, peer) for peer in ("pytrec_eval", "ranx")),
        ]
        for name, each in sorted(spent.items())
    ]


def ratio(spent: dict[str, float], name: str, peer: str) -> str:
    """How many times as long the peer takes for the same."""
    same = f"{name.partition(',')[0]}, {peer}"
    return f"{spent[same] / spent[name]:.2f} x" if same in spent else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    cases = [(judged, tied) for judged in (50, 5) for tied in (False, True)]
    rows = [
        row
        for case in cases
        for row in in_fresh_process(compare, options.queries, *case, options.rounds)
    ]
    header = ["queries", "judged", "ties", "contender", "CPU"]
    print(markdown([*header, *(f"{peer} / contender" for peer in PEERS)], rows))
    if ranx is None:
        print("ranx is not installed: its rows are missing.")


if __name__ == "__main__":
    run_both_ways(main)
