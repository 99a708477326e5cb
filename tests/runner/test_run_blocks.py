"""Records in blocks: put together they are the file, and so are their scores."""

from __future__ import annotations

import pandas as pd
import pytest

import rageval_report
from rageval_report.errors import DataError, ReaderError
from rageval_report.metrics.record_scores import score_records
from rageval_report.runner import RunConfig, collect_answers, record_blocks

METRICS = ["recall@1", "ndcg@5", "exact_match", "token_f1", "latency_ms"]


def row(n):
    """A query; which fields it has, and of which kind, changes from one to the next."""
    rest = {"topic": f"t{n}"} if n > 17 else {}
    return rest | {
        "query_id": f"q{n}",
        "question": f"[{n}] What is it?",
        "relevant": {"d1": 2.0} if n % 3 else ["d1", "d2"],
        "reference": ["Yes.", "{Indeed}."] if n % 2 else "Yes.",
        "answerable": n % 5 > 0,
        "level": n if n % 7 else 0.5,
    }


def says(question):
    if "[3]" in question:
        raise ValueError("three is too many")
    found = {"doc_id": "d1", "text": "x", "score": 0.5}
    return {"answer": '{"a": 1}', "retrieved": [found], "citations": ["d9"], "model": "[m]"}


@pytest.fixture(params=["jsonl", "parquet"])
def finished(request, tmp_path):
    rows = [row(n) for n in range(25)]
    return collect_answers(rows, says, tmp_path / "run", RunConfig(table=request.param))


@pytest.mark.parametrize("most_rows", [1, 4, 25, 1000])
def test_blocks_put_together_are_the_records(finished, most_rows):
    whole = rageval_report.read_records(finished.records, unretrieved_citations="keep")
    blocks = list(finished.blocks(most_rows=most_rows))
    assert {len(block) for block in blocks[:-1]} <= {most_rows}
    parts = pd.concat(blocks)
    # Where a block has nothing but missing texts, they are missing in another way than in the file.
    one, other = (frame.astype(object).where(frame.notna(), None) for frame in (parts, whole))
    pd.testing.assert_frame_equal(one, other, check_index_type=False)


def test_scores_of_blocks_are_the_scores_of_all(finished):
    whole = rageval_report.read_records(finished.records, unretrieved_citations="keep")
    expected = score_records(whole, METRICS)
    parts = [score_records(block, METRICS) for block in finished.blocks(most_rows=4)]
    for name in ("scores", "states"):
        found = pd.concat([getattr(part, name) for part in parts])
        if name == "states":
            # A block in which the metric applies to every query has no column of its states.
            found = found.fillna({name: "scored" for name in found if name.endswith("_state")})
            found = found.astype(object).where(found.notna(), None)
        pd.testing.assert_frame_equal(found, getattr(expected, name), check_index_type=False)


def test_blocks_of_no_rows_are_refused(finished):
    with pytest.raises(DataError, match="most_rows must be an integer >= 1; got 0"):
        next(finished.blocks(most_rows=0))


def test_a_parquet_file_that_is_cut_is_told(tmp_path):
    finished = collect_answers([row(1)], says, tmp_path / "run", RunConfig(table="parquet"))
    finished.records.write_bytes(finished.records.read_bytes()[:-9])
    with pytest.raises(ReaderError, match="damaged"):
        next(record_blocks(finished.records))
