"""Two small pipelines, worked out by hand, and others of any size; figures are closed again."""

from __future__ import annotations

from collections.abc import Callable

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from rageval_report import Comparison, RAGPipelineEvaluation, calibrate, compare
from rageval_report.analysis.calibrate import Calibration
from rageval_report.analysis.history import History
from rageval_report.analysis.monitor import Monitoring
from rageval_report.analysis.rank import Ranking, rank
from rageval_report.run_history import history, monitor

mpl.use("Agg")

NAN = float("nan")
IDS = [f"q{i}" for i in range(8)]
TOPICS = ["billing"] * 4 + ["shipping"] * 3 + [None]
BM25 = {
    "recall@5": [0.0, 0.5, 0.5, 1.0, 0.0, 0.5, 1.0, 1.0],
    "faithfulness": [0.10, 0.25, 0.40, 0.55, 0.70, 0.85, NAN, NAN],
    "exact_match": [1, 0, 0, 1, 0, 0, 1, 0],
    "latency_ms": [100.0, 200.0, 300.0, 400.0, 500.0, 600.0, 700.0, 800.0],
}
HYDE = {
    "recall@5": [0.5, 1.0, 0.5, 1.0, 0.5, 0.0, 1.0, 1.0],  # 3 better, 1 worse, 4 equal
    "faithfulness": [0.20, 0.25, 0.30, 0.75, 0.90, NAN, 0.5, NAN],  # 3 better, 1 worse, 1 equal
    "exact_match": [1, 1, 1, 1, 0, 0, 1, 0],  # 2 better, 6 equal
    "latency_ms": [90.0, 180.0, 330.0, 360.0, 450.0, 540.0, 630.0, 720.0],  # 7 better, 1 worse
}


def _pipeline(name: str, columns: dict, **options) -> RAGPipelineEvaluation:
    """A pipeline of queries q0, q1, ... with these columns."""
    n = len(next(iter(columns.values())))
    ids = [f"q{i}" for i in range(n)]
    return RAGPipelineEvaluation(name, {"query_id": ids, **columns}, **options)


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def bm25() -> RAGPipelineEvaluation:
    return _pipeline("bm25", {**BM25, "topic": TOPICS})


@pytest.fixture(scope="session")
def hyde() -> RAGPipelineEvaluation:
    return _pipeline("hyde", {**HYDE, "topic": TOPICS})


@pytest.fixture(scope="session")
def comparison(bm25, hyde) -> Comparison:
    return compare(bm25, hyde)


@pytest.fixture(scope="session")
def calibration(bm25) -> Calibration:
    """The exact matches of bm25, of which people saw six, and one of them otherwise."""
    labels = dict(zip(IDS[:6], [1, 0, 1, 1, 0, 0], strict=True))
    return calibrate(bm25, "exact_match", labels, n_resamples=99)


@pytest.fixture(scope="session")
def ranking(bm25, hyde) -> Ranking:
    return rank(bm25, hyde, n_resamples=99)


@pytest.fixture(scope="session")
def past(bm25, hyde) -> History:
    """Two runs of bm25, the second with the scores of hyde."""
    return history([bm25, hyde.with_name("bm25")])


@pytest.fixture(scope="session")
def monitored(bm25, hyde) -> Monitoring:
    """A batch with the scores of hyde after the run of bm25."""
    return monitor([bm25, hyde.with_name("monday")])


@pytest.fixture(scope="session")
def pipeline() -> Callable[..., RAGPipelineEvaluation]:
    """Makes a pipeline of columns."""
    return _pipeline


@pytest.fixture(scope="session")
def many() -> Callable[[str, int, int, int], RAGPipelineEvaluation]:
    """Makes a pipeline of so many queries and metrics, from a seed."""
    return _many


@pytest.fixture(scope="session")
def texts() -> Callable[..., str]:
    """Reads all words on the Axes."""
    return _texts


def _many(name: str, n: int, n_metrics: int, seed: int) -> RAGPipelineEvaluation:
    """A pipeline of n queries and up to 12 metrics: shares, levels, 0/1, ratings, what is spent."""
    rng = np.random.default_rng(seed)
    skill = np.random.default_rng(99).normal(size=n) + 0.2 * seed
    share = 1 / (1 + np.exp(-skill - rng.normal(size=n)))
    columns = {
        "faithfulness": np.where(rng.random(n) < 0.05, NAN, share),
        "recall@5": np.round(share * 4) / 4,
        "exact_match": (share > 0.5).astype(float),
        "rating": np.round(1 + 4 * share),
        "latency_ms": np.exp(6 + rng.normal(size=n)),
        "cost_usd": rng.random(n) / 1000,
        "hallucination": 1 - share,
        "ndcg@10": share**2,
        "bleu": share**3,
        "context_recall": np.sqrt(share),
        "toxicity": share / 10,
        "rouge_l": share / 2,
    }
    kept = dict(list(columns.items())[:n_metrics])
    kept["faithfulness"][0] = 0.5
    topic = np.array(["billing", "shipping", "returns"])[np.arange(n) % 3]
    return _pipeline(name, {**kept, "topic": topic})


def _texts(ax) -> str:
    """All words on the Axes, each text on one line however it is wrapped."""
    told = [" ".join(text.get_text().split("\n")) for text in ax.texts]
    told += [ax.get_title(), ax.get_xlabel(), ax.get_ylabel()]
    told += [label.get_text() for label in (*ax.get_xticklabels(), *ax.get_yticklabels())]
    return "\n".join(told)
