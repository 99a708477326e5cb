"""`inspect` shows the decisions of the readers: nothing else may decide, so both are compared."""

from __future__ import annotations

import json

import pandas as pd
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


def test_metrics_are_described():
    frame = inspect(GRID).frame.set_index("column")
    recall = frame.loc["recall"]
    assert (recall["better"], recall["low"], recall["high"]) == ("higher", 0.0, 1.0)
    assert recall["n_scored"] == 4
    assert recall["in_family"] is True or recall["in_family"] == True  # noqa: E712  (numpy's bool)
    assert not frame.loc["my_quality", "in_family"]


def test_it_decides_as_reading_does():
    evaluations = read_scores(GRID)
    assert inspect(GRID).pipelines == tuple(evaluations)
    metrics = [name for name, role in roles_of(inspect(GRID)).items() if role == "metric"]
    assert all(list(run.scores) == metrics for run in evaluations.values())


def test_the_notes_say_how_the_format_was_recognised_and_how_many_rows_there_are():
    notes = " ".join(inspect(GRID).notes)
    assert "read as csv" in notes
    assert "its mark is the highest" in notes
    assert "4 rows of 2 pipelines: 'a' (2), 'b' (2)" in notes
    assert "8 columns: 1 id, 1 pipeline, 2 metrics" in notes
    chosen = " ".join(inspect(GRID, reader="csv").notes)
    assert "because reader= says so" in chosen


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


def test_roles_that_the_caller_states_are_shown():
    inspection = inspect(GRID, roles={"gold_rank": "metric", "my_quality": "detail"})
    frame = inspection.frame.set_index("column")
    assert frame.loc["gold_rank", ["role", "why"]].tolist() == ["metric", "roles= says so"]
    assert frame.loc["my_quality", "role"] == "detail"


@pytest.mark.parametrize("kind", ["frame", "records", "path", "jsonl"])
def test_whatever_read_scores_takes(tmp_path, kind):
    rows = [{"case_id": "x", "id": 1, "mrr": 0.5}, {"case_id": "y", "id": 2, "mrr": 1.0}]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    value = {
        "frame": pd.DataFrame(rows),
        "records": rows,
        "path": path,
        "jsonl": path.read_bytes(),
    }[kind]
    assert roles_of(inspect(value)) == {"case_id": "detail", "id": "id", "mrr": "metric"}


def test_it_renders_like_any_result(tmp_path):
    inspection = inspect(GRID)
    assert "gold_rank" in str(inspection)
    assert "gold_rank" in inspection.to_html()
    assert json.loads(inspection.to_json())


def test_a_name_that_all_rows_share_names_the_pipeline():
    [name] = read_scores(b"query_id,pipeline,recall\na,hyde,0.5\nb,hyde,1\n")
    assert name == "hyde"
