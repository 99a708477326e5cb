"""The page of a report against the same data written as JSON: CPU time, and size.

    python benchmarks/bench_report.py [--sizes 200 10000] [--rounds 3]

Two pipelines, ten metrics, with question, reference, answer, three contexts and a reason a query.
The peer is the standard library's `json.dumps` of the same rows (one dict a query and a pipeline),
written to a file, with and without the making of the dicts. "data" is the page's own JSON and its
escaping alone, "page" all of the page from results that are there but pictures, then with pictures;
"everything" counts the statistics too.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from timing import cpu_times, markdown, run_both_ways, score_columns, seconds

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.reports.page import data_text

NAMES = ("exact_match", "hit@5", "hit", "recall@5", "rating", "reciprocal_rank", "faithfulness")
NAMES += ("answer_relevancy", "ndcg@10", "latency_ms")
WORDS = "the fee form office permit water ferry library waste dog crown day map bin tour".split()


def sentence(rng: np.random.Generator, n_words: int) -> str:
    return " ".join(rng.choice(WORDS, n_words))


def pipeline(name: str, n: int, seed: int) -> RAGPipelineEvaluation:
    """An evaluation: the questions are the same for every seed, the answers are not."""
    question_rng, rng = np.random.default_rng(0), np.random.default_rng(seed)
    passages = [sentence(question_rng, 40) for _ in range(max(n // 5, 5))]
    columns: dict[str, object] = {
        "query_id": [f"q{row:06d}" for row in range(n)],
        "question": [sentence(question_rng, 9) for _ in range(n)],
        "reference": [sentence(question_rng, 6) for _ in range(n)],
        "topic": question_rng.choice(["ferry", "permits", "library", "water"], n),
        "answer": [sentence(rng, 12) for _ in range(n)],
        "contexts": [[passages[k] for k in rng.integers(0, len(passages), 3)] for _ in range(n)],
        "faithfulness_reason": [sentence(rng, 8) if rng.random() < 0.3 else None for _ in range(n)],
    }
    scores = dict(zip(NAMES, score_columns(n, seed), strict=True))
    return RAGPipelineEvaluation(name, {**columns, **scores})


def rows_of(*runs: RAGPipelineEvaluation) -> list[dict[str, object]]:
    return [
        {"pipeline": run.name, **row}
        for run in runs
        for row in run.to_frame().to_dict(orient="records")
    ]


def compare_formats(n: int, rounds: int, folder: Path) -> list[list[str]]:
    runs = [pipeline("bm25", n, 1), pipeline("hybrid", n, 2)]
    comparison = compare(*runs)
    plain = comparison.report(pictures=False)
    pictured = comparison.report()
    rows = rows_of(*runs)
    contenders: dict[str, Callable[[], object]] = {
        "json": lambda: (folder / "peer.json").write_text(json.dumps(rows_of(*runs))),
        "json, its rows made before": lambda: (folder / "peer.json").write_text(json.dumps(rows)),
        "data": lambda: data_text(plain.queries.document()),
        "page": lambda: plain.save(folder / "plain.html", force=True),
        "page with pictures": lambda: pictured.save(folder / "page.html", force=True),
        "everything": lambda: compare(*runs).report().save(folder / "page.html", force=True),
    }
    spent = cpu_times(contenders, rounds)
    files = {"json": "peer.json", "page": "plain.html", "page with pictures": "page.html"}
    sizes = {name: (folder / file).stat().st_size for name, file in files.items()}
    return [
        [
            f"{n:,}",
            name,
            seconds(took),
            f"{took / spent['json']:.2f} x",
            f"{sizes[name] / 1e6:.2f} MB" if name in sizes else "",
        ]
        for name, took in spent.items()
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 10_000])
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            row for n in options.sizes for row in compare_formats(n, options.rounds, Path(folder))
        ]
    print(markdown(["queries", "what", "CPU time", "against JSON", "size"], rows))


if __name__ == "__main__":
    run_both_ways(main)
