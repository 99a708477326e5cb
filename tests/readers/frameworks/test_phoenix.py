"""Files that arize-phoenix 20.26.1 (evals 3.9.4) wrote; ``make_phoenix.py`` beside them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rageval_report import read_scores
from rageval_report.readers import read

FILES = Path(__file__).parents[2] / "golden" / "phoenix"
TOLD = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


def only(name):
    [evaluation] = read_scores(FILES / name).values()
    return evaluation


@pytest.mark.parametrize("name", ["evaluated.csv", "evaluated.json", "annotations.csv"])
@pytest.mark.parametrize("metric", ["faithfulness", "hallucination"])
def test_scores_are_those_of_evaluate_dataframe(name, metric):
    told = np.array(TOLD["evaluated"][metric], dtype=float)
    ours = only(name).scores[metric].to_numpy()
    assert np.allclose(ours, told, rtol=0, atol=1e-10, equal_nan=True)  # pandas' JSON has 10 digits


@pytest.mark.parametrize("name", ["evaluated.csv", "evaluated.json", "annotations.csv"])
def test_the_direction_is_the_one_that_is_stored(name):
    known = only(name).metrics
    assert known["faithfulness"].greater_is_better
    assert not known["hallucination"].greater_is_better


def test_a_failed_evaluator_is_a_failed_score_with_its_exception():
    details = only("evaluated.csv").details
    assert details["faithfulness_state"].tolist() == ["scored", "scored", "failed", "scored"]
    assert details["faithfulness_reason"].iloc[2] == "RuntimeError('the judge timed out')"
    assert details["faithfulness_reason"].iloc[0] == "of 'Frank Herbert'"


def test_what_did_not_run_is_missing_and_noted():
    [found] = read(FILES / "stopped.jsonl")
    assert found.frame["faithfulness_state"].tolist() == ["scored", "scored", "failed", "missing"]
    assert "1 cells of 'faithfulness' did not run, and are missing" in found.notes


@pytest.mark.parametrize("name", ["experiment.json", "experiment.csv"])
def test_means_of_an_experiment_are_those_that_phoenix_shows(name):
    told = TOLD["experiment"]["annotationSummaries"]
    ours = only(name).get_aggregated_scores()
    for one in told:
        assert ours[one["annotationName"]] == pytest.approx(one["meanScore"], abs=1e-15)


@pytest.mark.parametrize("name", ["experiment.json", "experiment.csv"])
def test_repetitions_become_one_row_an_example(name):
    evaluation = only(name)
    assert evaluation.n_queries == 4
    assert evaluation.details["n_repeats"].tolist() == [2] * 4
    assert evaluation.details["question"].tolist()[0] == "Who wrote Dune?"
    assert evaluation.scores["match"].tolist() == [0.5, 0.5, 1, 1]  # the answer doubles each time


def test_several_annotations_of_a_span_are_averaged(write):
    lines = ["span_id,annotation_name,annotator_kind,score,label,explanation"]
    lines += ["s1,tone,HUMAN,1,,good", "s1,tone,LLM,0,,bad", "s2,tone,LLM,1,,"]
    [found] = read(write("\n".join(lines)))
    assert found.frame["tone"].tolist() == [0.5, 1]
    assert found.frame["tone_reason"].tolist()[0] == "good; bad"


def test_an_evaluator_of_several_scores_tells_why_they_are_missing(write):
    row = {"question": "a", "judge_execution_details": {"status": "FAILED", "exceptions": ["X()"]}}
    rows = [row | {"tone_score": None}, {"question": "b", "tone_score": {"score": 1}}]
    [found] = read(write(json.dumps(rows)))
    assert found.frame["tone_state"].tolist() == ["failed", "scored"]
    assert found.frame["tone_reason"].tolist()[0] == "X()"
