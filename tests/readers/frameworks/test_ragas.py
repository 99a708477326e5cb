from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.readers import Source, read, recognise

GOLDEN = Path(__file__).parents[2] / "golden" / "ragas"
TOLD = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
TEXT_FRAMES = ["frame.csv", "frame.json", "frame.jsonl", "frame_0.1.csv"]


def evaluation(path, **options):
    return RAGPipelineEvaluation.load(None, path, **options)


def rows_of(scores):
    return scores.astype(object).where(scores.notna(), None).to_dict(orient="records")


# -- what ragas 0.4.3 wrote


@pytest.mark.parametrize("name", TEXT_FRAMES)
def test_a_frame_has_the_scores_of_the_evaluation(name):
    assert recognise(Source(GOLDEN / name)) == "ragas"
    assert rows_of(evaluation(GOLDEN / name).scores) == TOLD["values"]


@pytest.mark.parametrize("name", TEXT_FRAMES)
def test_a_score_whose_job_raised_failed(name):
    found = evaluation(GOLDEN / name)
    assert found.states["faithfulness"].tolist() == ["scored", "scored", "failed"]
    assert any("1 blank scores of 'faithfulness'" in note for note in found.notes)


@pytest.mark.parametrize("name", ["experiment.csv", "experiment.jsonl"])
def test_an_experiment_has_the_values_of_its_results(name):
    found = evaluation(GOLDEN / name)
    by_question = dict(zip(found.details["user_input"], rows_of(found.scores), strict=True))
    asked = ["Capital of Italy?", "Größe von Köln?", 'Who wrote "Emma"?']
    assert [by_question[one]["score"] for one in asked] == TOLD["experiment"]
    reasons = dict(zip(found.details["user_input"], found.details["score_reason"], strict=True))
    assert reasons["Capital of Italy?"] == "it's there"


# -- made up


def test_the_question_of_a_conversation_is_what_the_user_said_last(write):
    talk = [
        {"type": "human", "content": "Hello"},
        {"type": "ai", "content": "Hi"},
        {"type": "human", "content": "Capital of Italy?"},
    ]
    frame = pd.DataFrame({"user_input": [talk], "reference": ["Rome"], "topic_adherence": [0.5]})
    for content in (frame.to_csv(index=False), frame.to_json(orient="records")):
        [found] = read(write(content))
        assert found.frame["user_input"].tolist() == ["Capital of Italy?"]
        assert found.frame["conversation"][0] == talk


def test_labels_of_results_that_are_no_scores_stay_details(write):
    path = write(
        "question,tone,recall\nWho?,MetricResult(value=polite),1\n"
        "When?,\"MetricResult(value=rude, reason='it shouts')\",0\n"
    )
    found = evaluation(path)
    assert list(found.scores) == ["recall"]
    assert found.details["tone"].tolist() == ["polite", "rude"]


def test_a_metric_that_failed_everywhere_is_kept(write):
    found = evaluation(write("user_input,response,faithfulness,recall\nWho?,He.,,1\n"))
    assert found.states["faithfulness"].tolist() == ["failed"]


def test_columns_may_be_picked(write):
    path = write("user_input,response,recall,mrr\nWho?,He.,1,0\n")
    assert list(evaluation(path, columns=["mrr"]).scores) == ["mrr"]


# -- lists written as text


# -- files that nobody on the project wrote


# -- damaged files
