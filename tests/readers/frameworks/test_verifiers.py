"""Rollouts that verifiers 0.1.14 scored and wrote, and older ones by hand."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

FILES = Path(__file__).parents[2] / "golden" / "verifiers"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


def rollout(example=0, reward=1.0, **fields):
    messages = [{"role": "assistant", "content": "so"}]
    return {
        "example_id": example,
        "prompt": "why?",
        "completion": messages,
        "reward": reward,
    } | fields


@pytest.fixture
def read_rollouts(write):
    return lambda *rows: read(write("\n".join(map(json.dumps, rows)) + "\n"))


def test_scores_are_means_of_the_rollouts_without_an_error():
    path = FILES / "toy"
    assert recognise(Source(path / "results.jsonl")) == "verifiers"
    [evaluation] = read_scores(path / "results.jsonl").values()
    assert list(evaluation.scores) == ["reward", "exact", "contains"]
    for name in evaluation.scores:
        expected = [mean(scores) for scores in EXPECTED["scores"][name].values()]
        assert evaluation.scores[name].tolist() == pytest.approx(expected, abs=1e-15)
    assert evaluation.details["n_repeats"].tolist() == [3, 3, 3]
    assert evaluation.details["question"].tolist()[1] == "Capital of Italy?"


def test_the_run_is_named_after_its_environment_and_model():
    [file] = read(FILES / "toy" / "results.jsonl")
    assert file.pipeline == "toy:gpt-none"
    assert file.config["rollouts_per_example"] == 3
    assert "avg_reward" not in file.config
    assert "1 of 9 rollouts ended in an error; their scores do not count" in file.notes


def test_functions_of_older_versions_are_fields_of_the_rollout():
    [file] = read(FILES / "old" / "results.jsonl")
    assert file.pipeline == "old"
    assert file.metric_columns == ("reward", "exact")
    assert file.frame["exact"].tolist() == [0.5, 1]
    assert file.frame["query_id"].tolist() == ["0", "1"]


def test_what_the_environment_counts_is_a_detail(read_rollouts):
    counts = {"num_turns": 3.0, "total_tool_calls": 2.0, "search_calls": 1.0}
    [file] = read_rollouts(rollout(metrics={"exact": 1.0, **counts}), rollout(1, metrics={}))
    assert file.metric_columns == ("reward", "exact")
    assert file.frame["num_turns"].tolist()[0] == 3
    assert file.frame["exact_state"].tolist() == ["scored", "failed"]


@pytest.mark.parametrize(
    "error", ["ValueError('broken')", {"error": "E", "error_chain_repr": "E()"}]
)
def test_the_0_of_a_rollout_that_ended_in_an_error_is_not_a_score(read_rollouts, error):
    [file] = read_rollouts(rollout(), rollout(1, 0.0, error=error))
    assert file.frame["reward_state"].tolist() == ["scored", "failed"]
    assert file.frame["reward_reason"].tolist()[1] in ("ValueError('broken')", "E()")


def test_a_rollout_without_an_example_is_named(read_rollouts):
    with pytest.raises(ReaderError, match="rollout 2 has no example_id"):
        read_rollouts(rollout(), rollout(None))
