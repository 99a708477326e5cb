"""The object a user holds: what the wings' own tests do not see, the handing over."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rageval_report import RAGPipelineEvaluation, inspect, read_scores
from rageval_report.errors import DataError, RagevalWarning, ReaderError, UnknownNameError

# The example of the proposal from which the class comes, as printed: one text holds the four ids.
PROPOSAL = {
    "query_id": ["53c3b3e6, 225f87f7, 8ac473ec, 97d284ca"],
    "reciprocal_rank": [0.378064, 0.534964, 0.216058, 0.778642],
    "single_hit": [1, 1, 0, 1],
    "multi_hit": [0.706125, 0.454976, 0.445512, 0.250522],
    "context_relevance": [0.805466, 0.410251, 0.750070, 0.361332],
    "faithfulness": [0.135581, 0.695974, 0.749861, 0.041999],
    "semantic_answer_similarity": [0.971241, 0.159320, 0.019722, 1],
    "exact_match": [1, 0, 0, 0],
}
ROWS = {"query_id": ["q1", "q2", "q3"], "recall": [0.2, None, 0.9], "question": ["a", "b", "c"]}


@pytest.fixture
def evaluation():
    return RAGPipelineEvaluation("a", ROWS)


def test_the_proposals_example_works_as_printed():
    with pytest.warns(RagevalWarning, match="'query_id' is one text that holds 4 values"):
        evaluation = RAGPipelineEvaluation("hybrid", PROPOSAL)
    assert evaluation.n_queries == 4
    assert evaluation.get_aggregated_scores("Reciprocal Rank") == pytest.approx(0.476932)
    assert list(evaluation.evaluation_report())[-2:] == [
        "nr_correct_queries",
        "nr_incorrect_queries",
    ]


def test_classification_report_is_the_same_report():
    evaluation = RAGPipelineEvaluation("a", {"query_id": ["q"], "exact_match": [1]})
    assert evaluation.classification_report() == evaluation.evaluation_report()


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(pd.DataFrame(ROWS), id="pandas"),
        pytest.param(pl.DataFrame(ROWS), id="polars"),
        pytest.param(pa.table(ROWS), id="pyarrow"),
        pytest.param(ROWS, id="dict of lists"),
        pytest.param(pd.DataFrame(ROWS).to_dict("records"), id="list of dicts"),
    ],
)
def test_all_kinds_of_rows_make_the_same_evaluation(data, evaluation):
    other = RAGPipelineEvaluation("a", data)
    pd.testing.assert_frame_equal(other.scores, evaluation.scores)
    assert other.details["question"].tolist() == ["a", "b", "c"]


def test_what_is_taken_out_can_be_changed_without_changing_the_evaluation(evaluation):
    frame = evaluation.get_detailed_scores()
    frame.loc["q1", "recall"] = 9
    evaluation.metrics.clear()
    assert evaluation.scores.loc["q1", "recall"] == 0.2
    assert list(evaluation.metrics) == ["recall"]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (("recall", 0.5), [False, None, True]),
        ({"recall": 0.1}, [True, None, True]),
        ("ok", [True, False, True]),
        (lambda rows: rows["recall"] > 0.5, [False, False, True]),
    ],
)
def test_what_is_correct_is_a_rule(rule, expected):
    evaluation = RAGPipelineEvaluation(
        "a", ROWS | {"ok": [True, False, True]}, correct=rule, metrics=["recall"]
    )
    assert evaluation.correct.astype(object).where(evaluation.correct.notna(), None).tolist() == (
        expected
    )


def test_repeated_runs_are_averaged_on_request():
    rows = {"query_id": ["q1", "q1", "q2"], "recall": [0.2, 0.4, 1.0]}
    with pytest.raises(DataError, match="appear more than once: 'q1'"):
        RAGPipelineEvaluation("a", rows)
    evaluation = RAGPipelineEvaluation("a", rows, duplicates="mean")
    assert evaluation.scores["recall"].tolist() == pytest.approx([0.3, 1.0])
    assert "3 rows of 2 queries" in evaluation.notes[0]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".parquet"])
def test_what_is_saved_is_read_back(evaluation, tmp_path, suffix):
    path = evaluation.save(tmp_path / f"a{suffix}")
    back = RAGPipelineEvaluation.load(None, path)
    assert back.name == "a"
    pd.testing.assert_frame_equal(back.scores, evaluation.scores)
    assert back.details["question"].tolist() == ["a", "b", "c"]


def test_read_scores_gives_each_pipeline_by_its_name(evaluation, tmp_path):
    path = evaluation.save(tmp_path / "hybrid.csv")
    assert [one.name for one in read_scores(path).values()] == ["a"]
    # Without its description it is a table like any other, which is named after its file.
    (tmp_path / "hybrid.csv.meta.json").unlink()
    assert [one.name for one in read_scores(path).values()] == ["hybrid"]
    with pytest.raises(UnknownNameError, match="hybrid"):
        read_scores(path, pipeline="bm25")


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
