"""Files in three forms; those of tests/golden/ragbench are made after the framework's writers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, ReaderError
from rageval_report.readers import Source, read, recognise
from rageval_report.readers.frameworks.ragbench import RAGBENCH
from rageval_report.scores import score_table

GOLDEN = Path(__file__).parents[2] / "golden" / "ragbench"


def read_golden(name):
    [found] = read(GOLDEN / name, reader=RAGBENCH)
    return found


def document(name):
    return json.loads((GOLDEN / name).read_text())


@pytest.fixture
def read_run(write):
    """The one pipeline of the newer run, its parts changed."""

    def read_run_(change=lambda run: None, name="run.json"):
        run = document(name)
        change(run)
        [found] = read(write(json.dumps(run), "alone.json"), reader=RAGBENCH)
        return found

    return read_run_


@pytest.mark.parametrize("name", ["run.json", "run_without_ids.json", "run_samples.json"])
def test_its_files_are_recognised(name):
    assert recognise(Source(GOLDEN / name)) == "ragbench"


def test_an_export_of_the_scorecard_alone_is_none_of_its_runs(write):
    assert RAGBENCH.recognise(Source(write('{"metrics": [{"name": "a", "value": 1}]}'))) == 0.0


@pytest.mark.parametrize("place", [0, 1, 2])
def test_means_are_those_of_the_scorecard(place):
    told = document("run.json")["scorecard"]["metrics"][place]
    scores = read_golden("run.json").frame[told["name"]]
    assert scores.mean() == pytest.approx(told["value"], rel=1e-15)
    assert scores.notna().sum() == told["sample_size"]


def test_scores_stand_at_their_questions():
    found = read_golden("run.json")
    assert found.frame["query_id"].tolist() == ["q1", "q2", "q3", "q4", "q5"]
    expected = [1.0, 0.75, np.nan, 0.5, 0.9]
    assert np.array_equal(found.frame["faithfulness"], expected, equal_nan=True)


def test_a_score_that_does_not_apply_is_kept_apart_from_one_that_is_missing():
    frame = read_golden("run.json").frame
    expected = [*["scored"] * 3, *["not applicable"] * 2]
    assert frame["abstention_false_positive_rate_state"].tolist() == expected
    assert "faithfulness_state" not in frame  # it is missing, which NaN says


def test_a_metric_that_is_undefined_for_the_data_is_not_applicable():
    frame = read_golden("run.json").frame
    assert frame["citation_recall"].isna().all()
    assert set(frame["citation_recall_state"]) == {"not applicable"}


def test_null_at_a_question_is_not_applicable(read_run):
    def change(run):
        run["scorecard"]["metrics"][0]["details"]["per_question"]["q3"] = None

    frame = read_run(change).frame
    assert frame["recall_at_5_state"].tolist()[2] == "not applicable"


def test_rates_of_errors_are_better_when_lower():
    found = read_golden("run.json")
    names = list(found.metric_columns)
    table = score_table(found.frame[["query_id", *names]], known=found.metrics, only=names)
    assert not table.metrics["abstention_false_positive_rate"].greater_is_better
    assert table.metrics["recall@5"].greater_is_better


def test_one_number_for_the_whole_run_is_left_out_and_told():
    note = "left out, because the run has only their mean: 'latency_p50_ms'"
    assert note in read_golden("run.json").notes


def test_questions_that_ended_in_an_error_are_told():
    told = "1 of 6 questions ended in an error and are not in the file"
    assert told in read_golden("run.json").notes


def test_texts_come_from_the_samples_beside_the_run():
    found = read_golden("run.json")
    first = found.frame.iloc[0]
    assert (first["question"], first["answer"]) == ("What is 1?", "It is 1 [1].")
    assert first["relevant"] == {"d1:1": 1.0}
    assert first["citations"] == first["retrieved"] == ["d1:1"]
    assert "the texts come from run_samples.json" in found.notes


def test_a_run_alone_is_read_without_texts(read_run):
    assert "question" not in read_run().frame


def test_samples_that_are_broken_do_not_hide_the_scores(write):
    write("{", "run_samples.json")
    [found] = read(write(json.dumps(document("run.json")), "run.json"), reader=RAGBENCH)
    assert found.notes[0].startswith("the samples in the same folder cannot be read")
    assert len(found.frame) == 5


def test_the_pipeline_is_the_run_s_name():
    assert read_golden("run.json").pipeline == "eval-new"


def test_scores_without_ids_pair_with_no_other_run():
    found = read_golden("run_without_ids.json")
    assert found.frame["query_id"].tolist()[:2] == ["a1b2c3d4:1", "a1b2c3d4:2"]
    assert "pair with no other run" in found.notes[0]


def test_scores_of_which_it_is_not_told_whose_they_are_are_left_out():
    found = read_golden("run_without_ids.json")
    assert found.metric_columns == ("recall_at_5",)
    assert "'faithfulness', 'abstention_false_positive_rate'" in found.notes[-1]


def test_a_run_of_means_alone_says_what_to_do(read_run):
    def change(run):
        for metric in run["scorecard"]["metrics"]:
            metric.pop("details")

    with pytest.raises(ReaderError, match=r"has means but no scores.*recall_at_5 0\.55.*again"):
        read_run(change, "run_without_ids.json")


def test_samples_alone_give_what_was_measured():
    found = read_golden("run_samples.json")
    assert found.metric_columns == ("latency_ms", "prompt_tokens", "completion_tokens")
    assert found.frame["latency_ms"].tolist() == [801.0, 802.0, 803.0, 804.0, 805.0]
    assert found.frame["answerable"].tolist() == [True, True, True, False, False]


def test_samples_without_measures_name_the_file_with_the_scores(write):
    samples = document("run_samples.json")
    for one in samples["samples"]:
        one["response"] |= {"latency_ms": None, "token_usage": None}
    with pytest.raises(
        ReaderError, match="its scores are in the file of the same name without '_samples'"
    ):
        read(write(json.dumps(samples)), reader=RAGBENCH)


def test_scores_that_are_no_object_are_refused(read_run):
    def change(run):
        run["scorecard"]["metrics"][0]["details"]["per_question"] = [0.5]

    with pytest.raises(ReaderError, match="the scores of 'recall_at_5' by question must be an obj"):
        read_run(change)


def test_a_score_that_is_no_number_failed(read_run):
    def change(run):
        run["scorecard"]["metrics"][0]["details"]["per_question"]["q1"] = {"a": 1}

    first = read_run(change).frame.iloc[0]
    assert (first["recall_at_5_state"], first["recall_at_5_reason"]) == ("failed", "{'a': 1}")


@pytest.mark.parametrize("name", ["run.json", "run_without_ids.json"])
def test_in_its_own_dialect_names_and_percentiles_are_those_of_ragbench(name):
    plain = RAGPipelineEvaluation.load(None, GOLDEN / name)
    theirs = RAGPipelineEvaluation.load(None, GOLDEN / name, dialect="ragbench")
    assert theirs.scores.equals(plain.scores)
    assert "dialect:ragbench" in theirs.evaluation_report().signature
    assert "dialect" not in plain.evaluation_report().signature
    assert theirs.find_thresholds().settings["percentile_method"] == "upper"


def test_another_dialect_than_its_own_is_refused():
    with pytest.raises(DataError, match='dialect must be "ragbench", because ragbench wrote'):
        RAGPipelineEvaluation.load(None, GOLDEN / "run.json", dialect="haystack")
