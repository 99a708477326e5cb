from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise
from rageval_report.scores import score_table

GOLDEN = Path(__file__).parents[2] / "golden" / "openai_evals"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))


def spec(run="r", model="gpt"):
    return {"spec": {"completion_fns": [model], "eval_name": "toy.dev", "run_id": run}}


def event(sample_id, kind, run="r", **data):
    told = {"run_id": run, "event_id": 0, "sample_id": sample_id, "type": kind, "data": data}
    return told | {"created_by": "", "created_at": ""}


def matched(sample_id, correct, run="r"):
    return event(sample_id, "match", run, correct=correct, expected="b", picked="b")


def report(run="r", **figures):
    return {"final_report": figures, "run_id": run}


@pytest.fixture
def read_events(write):
    return lambda *events: read(write("\n".join(map(json.dumps, events)) + "\n"))


# -- what evals 3.0.1.post1 wrote


@pytest.mark.parametrize(("name", "metric"), [("match", "match"), ("graded", "score")])
def test_scores_are_those_that_the_recorder_holds_cell_by_cell(name, metric):
    path = GOLDEN / f"{name}.jsonl"
    assert recognise(Source(path)) == "openai_evals"
    [found] = read(path)
    ours = found.frame.set_index("query_id")[metric]
    theirs = {key: one for key, one in EXPECTED[name]["scores"].items() if one is not None}
    assert ours.dropna().to_dict() == theirs
    assert found.pipeline == f"sums.dev.{name}:sums/canned"


def test_the_mean_of_matches_is_the_accuracy_of_the_final_report():
    [found] = read(GOLDEN / "match.jsonl")
    table = score_table(found.frame, known=found.metrics, only=found.metric_columns)
    assert table.scores["match"].mean() == EXPECTED["match"]["report"]["accuracy"]
    assert table.metrics["match"].kind == "binary"
    assert found.notes == ()


def test_samples_stand_in_the_order_of_their_numbers_with_their_texts():
    frame = read(GOLDEN / "match.jsonl")[0].frame
    assert frame["query_id"].tolist() == [f"sums.dev.{n}" for n in range(4)]
    assert frame["question"].tolist() == [f"What is {n} + {n}?" for n in range(1, 5)]
    assert frame["answer"].tolist() == ["2", "four", "6", "8"]
    assert [str(one) for one in frame["reference"]] == ["2", "4", "6", "8"]


def test_a_grade_that_is_invalid_and_a_sample_that_raised_are_failed_with_their_reasons():
    [found] = read(GOLDEN / "graded.jsonl")
    frame = found.frame.set_index("query_id")
    assert frame["score_state"].tolist() == ["scored", "scored", "failed", "failed"]
    assert "is not one of the choices" in frame.loc["sums.dev.3", "score_reason"]
    assert frame.loc["sums.dev.4", "score_reason"] == "TimeoutError: timed out"
    assert frame.loc["sums.dev.4", "error"] == "TimeoutError: timed out"
    assert frame["choice"].tolist()[:3] == ["A", "B", "__invalid__"]
    assert "1 samples were never scored and count as failed: 'sums.dev.4'" in found.notes


# -- events by hand


def test_each_run_is_a_pipeline(read_events):
    found = read_events(
        *(spec("r", "gpt"), matched("a", True), report("r", accuracy=1.0)),
        *(spec("s", "llama"), matched("a", False, "s"), report("s", accuracy=0.0)),
    )
    assert [one.pipeline for one in found] == ["toy.dev:gpt", "toy.dev:llama"]
    assert [one.frame["match"].tolist() for one in found] == [[1.0], [0.0]]


def test_several_scores_of_a_sample_are_averaged(read_events):
    [found] = read_events(spec(), matched("a", True), matched("a", False), matched("b", True))
    assert found.frame[["query_id", "match", "n_repeats"]].to_numpy().tolist() == [
        ["a", 0.5, 2],
        ["b", 1.0, 1],
    ]


def test_a_report_that_says_something_else_is_told(read_events):
    [found] = read_events(spec(), matched("a", True), report(accuracy=0.5))
    assert found.notes == ("the final report says accuracy 0.5; the mean of 'match' here is 1",)


def test_a_sample_that_was_only_sampled_is_failed_not_wrong(read_events):
    sampled = event("b", "sampling", prompt="q?", sampled="x")
    [found] = read_events(spec(), matched("a", True), sampled, report(accuracy=1.0))
    assert found.frame["match"].isna().tolist() == [False, True]
    assert found.frame["match_reason"].tolist()[1] == "sampled, but never scored"


def test_the_first_sampling_is_the_answer_and_later_ones_are_the_grader_s(read_events):
    samplings = [event("a", "sampling", prompt=f"p{n}", sampled=f"s{n}") for n in (1, 2)]
    [found] = read_events(spec(), *samplings, event("a", "metrics", score=1, answer="label"))
    assert found.frame[["question", "answer", "metrics.answer"]].to_numpy().tolist() == [
        ["p1", "s1", "label"]
    ]


def test_a_run_without_a_score_is_refused(read_events):
    with pytest.raises(ReaderError, match=r"none of the 1 samples.*was scored"):
        read_events(spec(), event("a", "sampling", prompt="q", sampled="x"))


def test_a_record_that_is_no_event_is_told_by_its_place(read_events):
    broken = {"run_id": "r", "event_id": 1, "data": {}, "type": "match"}
    with pytest.raises(ReaderError, match="record 3 is not an event: it lacks sample_id"):
        read_events(spec(), matched("a", True), broken)
