"""A few hundred mutated inputs: each is read or refused, and tables are read as others do."""

import runpy
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("openpyxl")
pytest.importorskip("polars")

SCRIPT = runpy.run_path(str(Path(__file__).parent / "fuzz_readers.py"))


def test_no_input_is_foreign_and_no_table_is_read_differently(tmp_path):
    outcomes = SCRIPT["fuzz"](250, 11, tmp_path)
    assert outcomes.is_clean, outcomes.kinds
    counts = list(outcomes.counts.values())
    assert sum(count["inputs"] for count in counts) == 250
    assert sum(count["read"] for count in counts) > 50
    assert sum(count["refused"] for count in counts) > 50
    assert sum(count["compared"] for count in counts) > 10


def test_a_wrong_reading_would_be_noticed():
    evaluation = SCRIPT["rr"].RAGPipelineEvaluation
    rows = [{"query_id": "q1", "recall": 0.5}, {"query_id": "q2", "recall": 1.0}]
    difference = SCRIPT["difference"]
    assert difference({"x": evaluation("x", rows)}, rows) is None
    other_ids = [{**row, "query_id": "q3"} for row in rows[:1]] + rows[1:]
    assert "the id 'q1' is 'q3'" in difference({"x": evaluation("x", rows)}, other_ids)
    other_scores = [{**row, "recall": 0.25} for row in rows]
    assert "recall: 0.5 is 0.25" in difference({"x": evaluation("x", rows)}, other_scores)
    assert "2 rows, not 1" in difference({"x": evaluation("x", rows)}, rows[:1])


def test_another_librarys_exception_would_be_noticed(tmp_path):
    def fail():
        raise OverflowError("too large")

    outcomes = SCRIPT["Outcomes"](tmp_path)
    SCRIPT["run_input"](SCRIPT["Input"]("csv", fail, b"x"), outcomes)
    assert not outcomes.is_clean
    assert len(list(tmp_path.iterdir())) == 2
