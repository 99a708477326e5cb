"""Files made with opik 2.2.122's metrics engine; ``make_opik.py`` beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report.readers import read

FILES = Path(__file__).parents[2] / "golden" / "opik"
TOLD = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))
BOTH = pytest.mark.parametrize("name", ["result.json", "test_results.jsonl"])


def one_result(item, *scores, **more):
    content = {"input": f"about {item}?", "expected_output": "so"}
    case = {
        "dataset_item_id": item,
        "task_output": {"output": "so"},
        "dataset_item_content": content,
    }
    return {"test_case": case, "score_results": list(scores), "trial_id": 0, **more}


def score(value, **more):
    return {"name": "tone", "value": value, "reason": None, "scoring_failed": False, **more}


@BOTH
def test_means_are_those_that_opik_aggregates(name):
    [evaluation] = read_scores(FILES / name).values()
    ours = evaluation.get_aggregated_scores()
    for metric, mean in TOLD["means"].items():
        assert ours[metric] == pytest.approx(mean, abs=1e-15)


@BOTH
def test_a_zero_of_a_failed_metric_is_unscored_with_its_reason(name):
    [found] = read(FILES / name)
    assert found.frame["faithfulness_state"].tolist() == ["scored", "failed", "scored"]
    assert found.frame["faithfulness_reason"].tolist()[1] == "the judge timed out"
    assert found.frame["faithfulness"].isna().sum() * 2 == TOLD["failed"]["faithfulness"]


@BOTH
def test_trials_of_a_dataset_item_become_one_row(name):
    [evaluation] = read_scores(FILES / name).values()
    assert evaluation.scores.index.tolist() == ["item0", "item1", "item2"]
    assert evaluation.details["n_repeats"].tolist() == [2, 2, 2]
    assert evaluation.scores["exact"].tolist() == [0.5, 0.5, 0.5]
    assert evaluation.scores["latency_ms"].tolist() == [250, 1250, 2250]


def test_the_experiment_names_the_pipeline():
    assert list(read_scores(FILES / "result.json")) == ["golden run"]
    assert list(read_scores(FILES / "test_results.jsonl")) == ["test_results"]


def test_several_scores_of_one_name_are_averaged_and_noted(write):
    rows = [one_result("a", score(1.0), score(0.0), score(0.0, scoring_failed=True))]
    [found] = read(write(json.dumps(rows)))
    assert found.frame["tone"].tolist() == [0.5]
    assert "averaged, because a test case has several scores of one name: 'tone'" in found.notes


def test_without_ids_of_items_the_question_is_the_id(write):
    one = one_result("a", score(1.0))
    del one["test_case"]["dataset_item_id"]
    [evaluation] = read_scores(write(json.dumps([one]))).values()
    assert evaluation.scores.index[0].startswith("q-")
