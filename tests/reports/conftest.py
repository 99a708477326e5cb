"""Two small pipelines worked out by hand, and a real browser to open their report in."""

from __future__ import annotations

from pathlib import Path

import pytest

from rageval_report import Comparison, RAGPipelineEvaluation, compare
from rageval_report.demo import write_demo_files

NAN = float("nan")
QUESTIONS = [f"What is the fee number {n}?" for n in range(1, 10)]


def pipeline(name: str, rows: slice, **columns: list) -> RAGPipelineEvaluation:
    shared = {
        "query_id": [f"q{n}" for n in range(1, 10)][rows],
        "question": QUESTIONS[rows],
        "reference": [f"{n} crowns" for n in range(1, 10)][rows],
        "topic": (["tax", "ferry"] * 5)[:9][rows],
    }
    return RAGPipelineEvaluation(name, {**shared, **columns}, config={"top_k": len(name)})


@pytest.fixture(scope="session")
def bm25() -> RAGPipelineEvaluation:
    """Queries q1 to q8; q7 failed on exact match."""
    return pipeline(
        "bm25",
        slice(0, 8),
        answer=["1 crown", "2 crowns", "it costs 7 crowns", "free", "5 crowns", "six", "", "8"],
        contexts=[[f"passage {n}", "a shared passage"] for n in range(1, 9)],
        exact_match=[1, 1, 0, 0, 1, 0, NAN, 1],
        exact_match_state=[None] * 6 + ["failed", None],
        exact_match_reason=[None] * 6 + ["the judge timed out", None],
        **{"hit@5": [1, 1, 0, 1, 1, 0, 1, 1]},
        faithfulness=[0.11, 0.22, 0.33, 0.44, 0.55, 0.66, 0.77, 0.88],
        latency_ms=[100.0, 110.0, 120.0, 130.0, 140.0, 150.0, 160.0, 170.0],
    )


@pytest.fixture(scope="session")
def hybrid() -> RAGPipelineEvaluation:
    """Queries q1 to q7 and q9."""
    columns = {
        "answer": ["1 crown", "3 crowns", "it costs 3 crowns", "4", "5 crowns", "?", "7", "", "9"],
        "contexts": [["a shared passage", f"other {n}"] for n in range(1, 10)],
        "exact_match": [1, 0, 1, 0, 1, 0, 1, NAN, 1],
        "hit@5": [1, 1, 1, 0, 1, 1, 1, NAN, 1],
        "faithfulness": [0.20, 0.12, 0.83, 0.44, 0.65, 0.76, 0.67, NAN, 0.99],
        "latency_ms": [200.0, 210.0, 220.0, 230.0, 240.0, 250.0, 260.0, NAN, 280.0],
    }
    whole = pipeline("hybrid", slice(0, 9), **columns)
    frame = whole.to_frame().query("query_id != 'q8'")
    return RAGPipelineEvaluation("hybrid", frame, config={"top_k": 6, "reranker": "none"})


@pytest.fixture(scope="session")
def comparison(bm25: RAGPipelineEvaluation, hybrid: RAGPipelineEvaluation) -> Comparison:
    return compare(bm25, hybrid)


# -- the pages


@pytest.fixture(scope="session")
def compared_page(comparison: Comparison, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = comparison.report().save(tmp_path_factory.mktemp("page") / "compared.html")
    return path


@pytest.fixture(scope="session")
def demo_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole report of the example data: two pipelines of two hundred queries."""
    folder = tmp_path_factory.mktemp("demo")
    write_demo_files(folder)
    runs = [RAGPipelineEvaluation.load(None, folder / f"{name}.csv") for name in ("bm25", "hybrid")]
    path: Path = compare(*runs).report().save(folder / "demo.html")
    return path


@pytest.fixture(scope="session")
def single_page(bm25: RAGPipelineEvaluation, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = bm25.report().save(tmp_path_factory.mktemp("page") / "single.html")
    return path
