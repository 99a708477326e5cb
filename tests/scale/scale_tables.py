"""Random tables, their files, and what makes results equal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from rageval_report import RAGPipelineEvaluation
from rageval_report.results import Result

# Makes a lazy frame of an engine of a table.
Engine: TypeAlias = Callable[[pd.DataFrame, Path], Any]

KINDS = ("exact_match", "recall@5", "rating", "mrr", "latency_ms", "faithfulness")


def column_of(kind: str, n: int, rng: np.random.Generator) -> Any:
    """Scores of a metric."""
    return {
        "exact_match": lambda: rng.integers(0, 2, n).astype(float),
        "recall@5": lambda: rng.integers(0, 6, n) / 5,
        "rating": lambda: rng.integers(1, 6, n).astype(float),
        "mrr": lambda: 1 / rng.integers(1, 11, n),
        "latency_ms": lambda: rng.gamma(2, 300, n).round(3) + 1,
        "faithfulness": lambda: rng.random(n),
    }[kind]()


def random_table(
    rng: np.random.Generator,
    *,
    n: int = 40,
    kinds: Sequence[str] = KINDS,
    gaps: float = 0.0,
    like: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Scores of queries in any order; half of them those of another table, if there is one."""
    ids = [f"q{i}" for i in rng.permutation(n)]
    table = pd.DataFrame({"query_id": ids})
    for kind in kinds:
        scores = column_of(kind, n, rng)
        if like is not None:
            known = like.set_index("query_id")[kind].reindex(ids).to_numpy(float)
            scores = np.where((rng.random(n) < 0.5) & ~np.isnan(known), known, scores)
        scores[rng.random(n) < gaps] = np.nan
        table[kind] = scores
    numbers = np.array([int(query_id[1:]) for query_id in ids])
    topics, documents = np.array(["law", "tax", "trade"]), [f"d{i // 2}" for i in numbers]
    return table.assign(topic=topics[numbers % 3], document=documents)


def save_and_scan(
    tables: Mapping[str, pd.DataFrame], folder: Path
) -> tuple[list[RAGPipelineEvaluation], list[Any]]:
    """The tables in memory, and scans of their files."""
    runs, scans = [], []
    for name, table in tables.items():
        path = folder / f"{name}.parquet"
        table.to_parquet(path)
        runs.append(RAGPipelineEvaluation.load(name, path))
        scans.append(RAGPipelineEvaluation.scan(path, name=name))
    return runs, scans


def as_frame(run: RAGPipelineEvaluation) -> pd.DataFrame:
    """The rows of an evaluation."""
    return pd.concat([run.scores, run.details], axis=1).reset_index()


def assert_equal(scanned: pd.DataFrame, in_memory: pd.DataFrame) -> None:
    """That two tables hold the same numbers to nine digits, and the same texts."""
    left, right = pd.DataFrame(scanned), pd.DataFrame(in_memory)
    pd.testing.assert_frame_equal(
        left, right, rtol=1e-9, atol=1e-11, check_dtype=False, check_index_type=False
    )


def assert_same(scanned: Result, in_memory: Result) -> None:
    """That two results have the same table and the same notes."""
    assert_equal(scanned.frame, in_memory.frame)
    assert list(scanned.notes) == list(in_memory.notes)
