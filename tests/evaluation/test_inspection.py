"""`inspect` shows the decisions of the readers: nothing else may decide, so both are compared."""

from __future__ import annotations

import pytest

from rageval_report import inspect, read_scores
from rageval_report.errors import ReaderError

GRID = (
    b"qid,question,model,recall,my_quality,n_chunks,gold_rank,created_at\n"
    b"1,Who?,a,0.5,3,4,1,2025-01-01\n2,Where?,a,1,4,4,2,2025-01-01\n"
    b"1,Who?,b,0.25,3,5,1,2025-01-02\n2,Where?,b,0.75,5,5,1,2025-01-02\n"
)
DOUBTFUL = b"qid,model,recall\n1,a,0.5\n2,a,1\n3,b,0.25\n4,b,0.75\n"


def roles_of(inspection):
    return inspection.frame.set_index("column")["role"].to_dict()


def test_each_column_has_its_role_and_examples():
    inspection = inspect(GRID)
    assert roles_of(inspection) == {
        "qid": "id",
        "question": "detail",
        "model": "pipeline",
        "recall": "metric",
        "my_quality": "metric",
        "n_chunks": "detail",
        "gold_rank": "detail",
        "created_at": "detail",
    }
    frame = inspection.frame.set_index("column")
    assert frame.loc["recall", "examples"] == "0.5 | 1.0 | 0.25"
    assert (frame["why"].str.len() > 0).all()
    assert inspection.pipelines == ("a", "b")
    assert inspection.doubts == ()


def test_it_decides_as_reading_does():
    evaluations = read_scores(GRID)
    assert inspect(GRID).pipelines == tuple(evaluations)
    metrics = [name for name, role in roles_of(inspect(GRID)).items() if role == "metric"]
    assert all(list(run.scores) == metrics for run in evaluations.values())


def test_a_doubt_is_shown_first_and_both_ways_out_work():
    inspection = inspect(DOUBTFUL)
    [doubt] = inspection.doubts
    assert inspection.notes[0] == f"doubt: {doubt}"
    row = inspection.frame.set_index("column").loc["model"]
    assert (row["role"], row["confidence"]) == ("pipeline", "doubtful")
    with pytest.raises(ReaderError):
        read_scores(DOUBTFUL)
    for role, n_pipelines in (("pipeline", 2), ("detail", 1)):
        settled = inspect(DOUBTFUL, roles={"model": role})
        assert settled.doubts == ()
        assert (
            len(settled.pipelines)
            == n_pipelines
            == len(read_scores(DOUBTFUL, roles={"model": role}))
        )
        assert settled.frame.set_index("column").loc["model", "role"] == role


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"query_id,recall\na,0.5\na,1\n", "unique"),
        (b"query_id,question\na,Who?\nb,Where?\n", "this is a list of questions"),
        (b"query_id,recall\na,0.5\nb,7\n", "must lie between"),
    ],
)
def test_where_reading_stops_is_a_doubt(content, words):
    inspection = inspect(content)
    assert any(words in doubt for doubt in inspection.doubts)
    assert "query_id" in roles_of(inspection)
    with pytest.raises(ReaderError, match=words):
        read_scores(content)


def test_a_file_that_is_damaged_is_an_error():
    with pytest.raises(ReaderError):
        inspect(b'[{"query_id": "a", "recall": 0.5}')
