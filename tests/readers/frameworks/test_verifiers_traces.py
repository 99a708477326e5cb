"""Episodes that verifiers 0.4.0 wrote, and changes of them by hand."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

FOLDER = Path(__file__).parents[2] / "golden" / "verifiers" / "traces"
EXPECTED = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))
LINES = (FOLDER / "traces.jsonl").read_text(encoding="utf-8").splitlines()
EPISODES = [json.loads(line) for line in LINES]


@pytest.fixture
def read_episodes(write):
    return lambda *rows: read(write("\n".join(map(json.dumps, rows)) + "\n"))


def test_scores_are_means_of_the_traces_that_are_ok():
    assert recognise(Source(FOLDER / "traces.jsonl")) == "verifiers_traces"
    [evaluation] = read_scores(FOLDER / "traces.jsonl").values()
    assert list(evaluation.scores) == ["reward", "exact", "contains", "brevity"]
    for name, scores in EXPECTED["scores"].items():
        # verifiers sums the weighted rewards itself.
        assert evaluation.scores[name].tolist() == pytest.approx([*map(mean, scores)], abs=1e-15)
    assert evaluation.scores.index.tolist() == ["0", "1", "2"]
    assert evaluation.details["n_repeats"].tolist() == [2, 2, 3]
    assert evaluation.details["question"].tolist()[1] == "Capital of Italy?"
    assert evaluation.details["reference"].tolist()[1] == "Rome"
    assert evaluation.details["answer"].tolist()[0] == "Jane Austen"


def test_the_folder_is_read_and_the_run_has_the_name_of_environment_and_model():
    [file] = read(FOLDER)
    assert file.pipeline == "toy:gpt-none"
    assert "2 of 7 traces ended in an error; their scores do not count" in file.notes


def test_a_failed_trace_is_unscored_with_its_error(read_episodes):
    failed = next(episode for episode in EPISODES if not episode["ok"])
    [file] = read_episodes(EPISODES[0], failed)
    assert file.frame["exact"].isna().tolist() == [False, True]
    assert file.frame["exact_state"].tolist()[1] == "failed"
    assert "TimeoutError: the model timed out" in file.frame["exact_reason"].tolist()[1]


def test_a_trace_that_failed_with_rewards_does_not_count(read_episodes):
    failed = json.loads(json.dumps(EPISODES[1]))
    failed["task"]["data"]["idx"] = 9
    failed["traces"][0] |= {"ok": False, "stop_condition": "agent_timeout"}
    [file] = read_episodes(EPISODES[0], failed)
    assert file.frame["reward"].isna().tolist() == [False, True]
    assert file.frame["reward_reason"].tolist()[1] == "agent_timeout"


def test_each_agent_is_a_pipeline(read_episodes):
    episode = json.loads(json.dumps(EPISODES[0]))
    judge = json.loads(json.dumps(episode["traces"][0]))
    judge["agent"]["name"] = "judge"
    judge["rewards"] = {"agrees": {"score": 0.5, "weight": 2.0}}
    episode["traces"].append(judge)
    files = {file.pipeline: file.frame for file in read_episodes(episode)}
    assert list(files) == ["toy:gpt-none:agent", "toy:gpt-none:judge"]
    assert files["toy:gpt-none:judge"][["reward", "agrees"]].values.tolist() == [[1.0, 0.5]]
    assert files["toy:gpt-none:agent"]["reward"].tolist() == [1.5]


def test_an_id_of_the_task_goes_before_its_position(read_episodes):
    episode = json.loads(json.dumps(EPISODES[0]))
    episode["task"]["data"]["id"] = "emma"
    [file] = read_episodes(episode)
    assert file.frame["query_id"].tolist() == ["emma"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"traces": {}}, "traces of episode 1 must be a list"),
        ({"traces": []}, "no episode has a trace"),
        ({"task": {"data": {}}}, "the task of episode 1 has no id"),
        ({"task": "x"}, "task of episode 1"),
    ],
)
def test_other_shapes_are_refused(change, message, read_episodes):
    with pytest.raises(ReaderError, match=message):
        read_episodes(EPISODES[0] | change)
