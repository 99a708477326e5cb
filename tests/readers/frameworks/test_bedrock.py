"""Output of Amazon Bedrock's evaluation jobs, written by hand after published samples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import read

FILES = Path(__file__).parents[2] / "golden" / "bedrock"


def raw_turns():
    lines = (FILES / "rag.jsonl").read_text(encoding="utf-8").splitlines()
    return [turn for line in lines for turn in json.loads(line)["conversationTurns"]]


def record(prompt="why?", model="m", *scores, **response):
    return {
        "automatedEvaluationResult": {"scores": list(scores)},
        "inputRecord": {"prompt": prompt, "referenceResponse": "so"},
        "modelResponses": [{"response": "so", "modelIdentifier": model, **response}],
    }


def score(name, result, explanation=None):
    details = [{"modelIdentifier": "judge", "explanation": explanation}] if explanation else []
    return {"metricName": name, "result": result, "evaluatorDetails": details}


@pytest.fixture
def read_lines(write):
    return lambda *rows: read(write("\n".join(map(json.dumps, rows)) + "\n"))


def test_results_of_turns_are_scores():
    [evaluation] = read_scores(FILES / "rag.jsonl").values()
    assert evaluation.name == "KB00000001, us.anthropic.claude-3-7-sonnet-20250219-v1:0"
    names = {
        "Builtin.Correctness": "correctness",
        "Builtin.Helpfulness": "helpfulness",
        "Builtin.LogicalCoherence": "logical_coherence",
        "Builtin.Harmfulness": "harmfulness",
    }
    assert list(evaluation.scores) == list(names.values())
    for bedrocks, ours in names.items():
        results = [
            result["result"]
            for turn in raw_turns()
            for result in turn["results"]
            if result["metricName"] == bedrocks and result["result"] is not None
        ]
        assert evaluation.scores[ours].mean() == pytest.approx(sum(results) / len(results))
        assert evaluation.metrics[ours].bounds == (0, 1)
    assert not evaluation.metrics["harmfulness"].greater_is_better


def test_a_result_that_is_null_has_failed_and_explanations_are_reasons():
    [evaluation] = read_scores(FILES / "rag.jsonl").values()
    assert evaluation.states["logical_coherence"].tolist() == [
        *("scored", "failed"),
        *["scored"] * 2,
    ]
    assert evaluation.details["correctness_reason"].tolist()[1] == "The number is wrong."


def test_turns_are_queries_with_their_texts():
    [file] = read(FILES / "rag.jsonl")
    questions = [turn["inputRecord"]["prompt"]["content"][0]["text"] for turn in raw_turns()]
    assert file.frame["question"].tolist() == questions
    assert file.frame["conversation"].tolist() == [1, 2, 3, 3]
    assert file.frame["contexts"].tolist()[0] == ["Wilson was born in Staunton."]
    assert any('clusters="conversation"' in note for note in file.notes)


def test_a_job_of_a_model_has_records():
    [evaluation] = read_scores(FILES / "model.jsonl").values()
    assert evaluation.name == "amazon.nova-lite-v1:0"
    assert evaluation.scores.to_numpy().tolist() == [[0.196, 17.878], [0.17, 38.69]]
    assert not evaluation.metrics["robustness"].greater_is_better
    assert "conversation" not in evaluation.details


def test_metrics_of_the_user_keep_their_names_and_scale(read_lines):
    [file] = read_lines(
        record("a", "m", score("Tone", 4, "polite")), record("b", "m", score("Tone", 1))
    )
    assert file.metric_columns == ("Tone",)
    assert file.metrics == {}
    assert file.frame["Tone_reason"].tolist()[0] == "polite"


def test_the_prompts_of_a_job_are_refused(read_lines):
    prompt = {"prompt": {"content": [{"text": "why?"}]}, "referenceResponses": []}
    with pytest.raises(ReaderError, match="the prompts of a Bedrock evaluation, without results"):
        read_lines({"conversationTurns": [prompt]})


def test_a_record_of_another_shape_is_named(read_lines):
    with pytest.raises(
        ReaderError, match="conversationTurns of record 1 must be a list of objects"
    ):
        read_lines({"conversationTurns": "none"})
