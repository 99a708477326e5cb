"""The first rows of all files say what a column is, not those of a small first file."""

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.scale import pieces
from rageval_report.scale.opening import open_table

PARTS = [
    pd.DataFrame({"query_id": ["q1"], "recall": [1.0], "faithfulness": [None]}),
    pd.DataFrame({"query_id": ["q2", "q3"], "recall": [0.0, 1.0], "faithfulness": [0.25, 0.5]}),
]


@pytest.fixture(params=["parquet", "csv"])
def folder(request, tmp_path):
    """A file of one row, in which a metric has no score, and a file of two."""
    for place, part in enumerate(PARTS):
        path = tmp_path / f"part-{place}.{request.param}"
        part.to_csv(path, index=False) if request.param == "csv" else part.to_parquet(path)
    return tmp_path


def test_a_metric_without_a_score_in_the_first_file_is_a_metric(folder):
    scan = RAGPipelineEvaluation.scan(folder)
    report = scan.evaluation_report().frame.set_index("metric")
    rows = pd.concat([part.astype({"faithfulness": float}) for part in PARTS])
    memory = RAGPipelineEvaluation("all", rows).evaluation_report().frame
    assert report["mean"].to_dict() == memory.set_index("metric")["mean"].to_dict()
    assert report["mean"].to_dict() == {"recall": 2 / 3, "faithfulness": 0.375}
    assert report.loc["faithfulness", "n_unscored"] == 1


def test_no_more_rows_are_read_than_are_enough(folder, monkeypatch):
    monkeypatch.setattr(pieces, "SAMPLE_ROWS", 2)
    assert len(open_table(folder).head) == 2


def test_types_that_cannot_be_joined_leave_the_first_file(tmp_path):
    for place, values in enumerate([[0.5], ["high"]]):
        table = pa.table({"query_id": [f"q{place}"], "recall": values})
        pq.write_table(table, tmp_path / f"part-{place}.parquet")
    assert open_table(tmp_path).head.to_pylist() == [{"query_id": "q0", "recall": 0.5}]
