from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from rageval_report.readers import read
from rageval_report.scores import score_table

GOLDEN = Path(__file__).parents[2] / "golden" / "mlflow"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
TABLE = GOLDEN / "eval_results_table.json"
FRAMES = (GOLDEN / "result_df.csv", GOLDEN / "result_df.json")


@pytest.fixture
def read_frame(read_text):
    return lambda columns: read_text(pd.DataFrame(columns).to_csv(index=False))


def means_of(found):
    table = score_table(found.frame, known=found.metrics, only=found.metric_columns)
    return table.scores.mean()


# -- what MLflow 3.17.2 wrote


def test_means_of_the_table_are_those_that_mlflow_reports():
    means = means_of(read(TABLE)[0])
    assert means.to_dict() == {
        "agree": EXPECTED["table"]["agree/v1/mean"],
        "faithfulness": EXPECTED["table"]["faithfulness/v1/mean"],
        "length": EXPECTED["table"]["length/mean"],
    }


@pytest.mark.parametrize("path", FRAMES)
def test_means_of_the_frame_are_those_that_mlflow_reports(path):
    means = means_of(read(path)[0])
    assert means[["exact", "verdict", "judge"]].to_dict() == {
        name: EXPECTED["frame"][f"{name}/mean"] for name in ("exact", "verdict", "judge")
    }


@pytest.mark.parametrize("path", FRAMES)
def test_a_scorer_that_raised_is_failed_with_its_message(path):
    row = read(path)[0].frame.set_index("query_id").loc["q3"]
    assert pd.isna(row["judge"])
    assert (row["judge_state"], row["judge_reason"]) == ("failed", "judge timed out")


@pytest.mark.parametrize("path", FRAMES)
def test_ids_are_the_tag_and_texts_labels_and_expectations_details(path):
    [found] = read(path)
    frame = found.frame.set_index("query_id")
    assert frame.index.tolist() == ["q1", "q2", "q3", "q4"]
    assert frame["question"].tolist() == [f"Question {n}?" for n in range(1, 5)]
    assert frame["reference"].tolist() == ["a1", "a2", "a2", "a2"]
    assert frame["tone"].tolist() == ["formal", "plain", "plain", "plain"]
    assert frame["topic"].tolist() == ["x", "x", "y", "y"]
    assert "query ids are taken from the tag 'query_id'" in found.notes
    assert "kept as details, because they are labels and not scores: 'tone'" in found.notes


# -- tables of metrics


def test_marks_of_mlflow_s_judges_are_from_1_to_5_even_where_all_are_1(read_frame):
    judged = {"faithfulness/v1/score": [1, 1], "faithfulness/v1/justification": ["no", "no"]}
    found = read_frame({"inputs": ["a", "b"], **judged})
    assert found.metrics == {"faithfulness": {"kind": "ordinal", "bounds": (1.0, 5.0)}}


def test_two_versions_of_a_metric_are_two_metrics(read_frame):
    found = read_frame({"inputs": ["a"], "tone/v1/score": [1], "tone/v2/score": [0]})
    assert found.metric_columns == ("tone/v1", "tone/v2")


def test_a_judge_that_failed_says_why(read_frame):
    told = "Failed to score model on payload. Error: timeout"
    judged = {"tone/v1/score": [None, 0.5], "tone/v1/justification": [told, "half"]}
    found = read_frame({"inputs": ["a", "b"], **judged})
    assert found.frame["tone_state"].tolist() == ["failed", "scored"]
    assert found.frame["tone_reason"].tolist() == [told, "half"]


def test_latency_is_in_milliseconds(read_frame):
    found = read_frame({"inputs": ["a"], "tone/v1/score": [1], "latency": [0.25]})
    assert found.frame["latency_ms"].tolist() == [250.0]
    assert found.metric_columns == ("tone", "latency_ms")


# -- frames of scorers


def scored(**columns):
    return {"trace_id": ["t1", "t2"], "m/value": [1.0, 0.5], **columns}


def test_ids_are_never_the_traces_which_are_new_in_each_run(read_frame):
    found = read_frame(scored(request=["{'question': 'a?'}", "{'question': 'b?'}"]))
    assert "query_id" not in found.frame
    table = score_table(found.frame, only=found.metric_columns)
    assert all(one.startswith("q-") for one in table.scores.index)


def test_an_input_may_be_the_id(read_frame):
    requests = ["{'question': 'a?', 'qid': 7}", "{'question': 'b?', 'qid': 8}"]
    found = read_frame(scored(request=requests))
    assert found.frame["query_id"].tolist() == ["7", "8"]
    assert "query ids are taken from the input 'qid'" in found.notes


def test_the_client_s_request_id_is_the_id_where_there_is_no_other(read_frame):
    found = read_frame(scored(client_request_id=["r1", "r2"], request=["a?", "b?"]))
    assert found.frame["query_id"].tolist() == ["r1", "r2"]


def test_traces_of_one_query_are_repeats(read_frame):
    found = read_frame(scored(tags=["{'query_id': 'a'}", "{'query_id': 'a'}"]))
    assert found.frame[["query_id", "m", "n_repeats"]].to_numpy().tolist() == [["a", 0.75, 2]]


def test_expectations_are_known_by_name_where_no_assessment_tells(read_frame):
    given = {"expected_response/value": ["1", "2"]}
    found = read_frame(scored(request=["a?", "b?"], **given))
    assert found.metric_columns == ("m",)
    assert [str(one) for one in found.frame["reference"]] == ["1", "2"]
