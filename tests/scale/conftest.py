"""Two tables in files, in parts so small that a few hundred rows are many."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_report.scale import pieces
from rageval_report.scale.pieces import read_footer
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import TableShape


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    """Parts of 40 rows, and pieces of 100."""
    monkeypatch.setattr(pieces, "ROWS_OF_PART", 40)
    monkeypatch.setattr(pieces, "_ROWS_OF_PIECE", 100)


@pytest.fixture
def frames():
    """Two tables with most queries in common, sorted by id."""
    rng = np.random.default_rng(3)

    def frame(share):
        ids = [f"q{number:04d}" for number in range(600) if rng.random() < share]
        scores = rng.integers(0, 11, len(ids)) / 10
        return pd.DataFrame(
            {"query_id": ids, "recall": scores, "topic": rng.choice(["x", "y"], len(ids))}
        )

    return frame(0.9), frame(0.95)


@pytest.fixture
def make_table(tmp_path):
    """Writes a frame as one table of a metric and a detail."""

    def make(frame, name, rows_of_group=70):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(
            pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=rows_of_group
        )
        shape = TableShape("query_id", {"recall": "recall"}, {}, {"topic": "topic"})
        return ScanTable(name, tuple(read_footer(path).pieces()), shape)

    return make
