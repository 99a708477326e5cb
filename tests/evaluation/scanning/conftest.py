"""Tables that are read part by part, in parts so small that a few hundred rows are many."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.scale import csv_pieces, pieces
from rageval_report.stats.states import block_state, pair_state
from rageval_report.stats.states.column_state import ColumnRules, ColumnState
from rageval_report.stats.states.metric_state import MetricState


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Parts of 100 rows, pieces of two groups; the first 100 rows decide what the columns are."""
    monkeypatch.setattr(pieces, "ROWS_OF_PART", 100)
    monkeypatch.setattr(csv_pieces, "ROWS_OF_PART", 100)
    monkeypatch.setattr(pieces, "_ROWS_OF_PIECE", 100)
    monkeypatch.setattr(pieces, "SAMPLE_ROWS", 100)


def scores_frame(n=700, seed=0, shift=0.0):
    """Binary, lattice, ordinal and continuous metrics with gaps, and details."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "query_id": [f"q{number:05d}" for number in range(n)],
            "exact_match": (rng.random(n) < 0.4 + shift).astype(float),
            "recall@5": rng.integers(0, 6, n) / 5,
            "groundedness": rng.integers(1, 6, n).astype(float),
            "similarity": np.clip(rng.normal(0.6 + shift, 0.2, n), -1, 1),
            "latency_ms": rng.lognormal(6, 1, n),
            "question": [f"What is {number}?" for number in range(n)],
            "topic": rng.choice(["law", "tax", "trade"], n),
        }
    )
    for name in ("exact_match", "similarity"):
        frame.loc[rng.choice(n, n // 20, replace=False), name] = np.nan
    return frame


def write_parquet(frame, path, rows_of_group=90):
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    pq.write_table(table, path, row_group_size=rows_of_group)
    return path


NAMES = ("bm25", "dense", "hybrid")


def scans_of(frames, folder, names=NAMES, **options):
    """A scan of each table, in a file of its name."""
    return [
        RAGPipelineEvaluation.scan(write_parquet(frame, folder / f"{name}.parquet"), **options)
        for frame, name in zip(frames, names, strict=False)
    ]


def memory_of(frames, names=NAMES):
    """The same tables in memory."""
    return [RAGPipelineEvaluation(name, frame) for frame, name in zip(frames, names, strict=False)]


@pytest.fixture
def frame():
    return scores_frame()


@pytest.fixture(params=["kept", "summed"])
def kept_or_summed(request, monkeypatch):
    """Scores are kept one by one, as few are, or only counts and sums, as of millions."""
    if request.param == "summed":
        rules = (ColumnRules(2, 0, 0, has_bins=True),)
        monkeypatch.setattr(ColumnState.of.__func__, "__defaults__", rules)
        monkeypatch.setattr(pair_state, "FEW_VALUES", 60)
        monkeypatch.setattr(block_state, "FEW_VALUES", 60)
        assert MetricState.of(np.array([0.123456789, 0.5])).scores.sums is not None
    return request.param
