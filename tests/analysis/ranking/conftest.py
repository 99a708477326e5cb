"""Pipelines to rank."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation

Runs = list[RAGPipelineEvaluation]
EASY = [0.31, 0.52, 0.13, 0.91, 0.45, 0.26, 0.77, 0.68, 0.05, 0.84]


@pytest.fixture(scope="session")
def runs_of() -> Callable[..., Runs]:
    """Pipelines of queries q0, q1, ...: a name and its columns each."""

    def make(**pipelines: dict[str, list]) -> Runs:
        runs = []
        for name, columns in pipelines.items():
            n = len(next(iter(columns.values())))
            ids = {"query_id": [f"q{i}" for i in range(n)]}
            runs.append(RAGPipelineEvaluation(name, {**ids, **columns}))
        return runs

    return make


@pytest.fixture(scope="session")
def three(runs_of) -> Runs:
    """Dense beats bm25 by 0.04 on every query; hybrid differs from dense on two only."""
    return runs_of(
        bm25={"recall": EASY, "latency_ms": [100.0 + i for i in range(10)]},
        dense={"recall": [x + 0.04 for x in EASY], "latency_ms": [120.0 + i for i in range(10)]},
        hybrid={
            "recall": [x + (0.07 if x > 0.8 else 0.04) for x in EASY],
            "latency_ms": [140.0 + i for i in range(10)],
        },
    )


@pytest.fixture(scope="session")
def noisy(runs_of) -> Runs:
    """Five pipelines, three metrics, 60 queries; some scores are missing."""
    rng = np.random.default_rng(8)
    ease = rng.normal(size=60)
    made = {}
    for i in range(5):
        share = 1 / (1 + np.exp(-ease - 0.25 * i - rng.normal(size=60)))
        gaps = np.where(rng.random(60) < 0.03, np.nan, share)
        made[f"p{i}"] = {
            "faithfulness": gaps,
            "exact_match": (share > 0.5).astype(float),
            "latency_ms": np.exp(6 + 0.1 * i + 0.5 * rng.normal(size=60)),
        }
    return runs_of(**made)
