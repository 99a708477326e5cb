"""Files in three forms; those of tests/golden/ragbench are made after the framework's writers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import ReaderError
from rageval_report.readers import read
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


def test_rates_of_errors_are_better_when_lower():
    found = read_golden("run.json")
    names = list(found.metric_columns)
    table = score_table(found.frame[["query_id", *names]], known=found.metrics, only=names)
    assert not table.metrics["abstention_false_positive_rate"].greater_is_better
    assert table.metrics["recall@5"].greater_is_better


def test_one_number_for_the_whole_run_is_left_out_and_told():
    note = "left out, because the run has only their mean: 'latency_p50_ms'"
    assert note in read_golden("run.json").notes


def test_texts_come_from_the_samples_beside_the_run():
    found = read_golden("run.json")
    first = found.frame.iloc[0]
    assert (first["question"], first["answer"]) == ("What is 1?", "It is 1 [1].")
    assert first["relevant"] == {"d1:1": 1.0}
    assert first["citations"] == first["retrieved"] == ["d1:1"]
    assert "the texts come from run_samples.json" in found.notes


def test_samples_that_are_broken_do_not_hide_the_scores(write):
    write("{", "run_samples.json")
    [found] = read(write(json.dumps(document("run.json")), "run.json"), reader=RAGBENCH)
    assert found.notes[0].startswith("the samples in the same folder cannot be read")
    assert len(found.frame) == 5


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


@pytest.mark.parametrize("name", ["run.json", "run_without_ids.json"])
def test_in_its_own_dialect_names_and_percentiles_are_those_of_ragbench(name):
    plain = RAGPipelineEvaluation.load(None, GOLDEN / name)
    theirs = RAGPipelineEvaluation.load(None, GOLDEN / name, dialect="ragbench")
    assert theirs.scores.equals(plain.scores)
    assert "dialect:ragbench" in theirs.evaluation_report().signature
    assert "dialect" not in plain.evaluation_report().signature
    assert theirs.find_thresholds().settings["percentile_method"] == "upper"
