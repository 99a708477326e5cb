from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.readers import read

GOLDEN = Path(__file__).parents[2] / "golden" / "deepeval"
TOLD = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
RUNS = ["test_run.json", "latest_test_run.json", "evaluation_result.json"]
METRICS = {
    "Faithfulness": "faithfulness",
    "Hallucination": "hallucination",
    "Tone (GEval)": "tone_(geval)",
    "Answer Relevancy": "answer_relevancy",
}


@pytest.fixture
def read_cases(write):
    """The one run of these cases."""

    def read_cases_(*cases, key="testCases", **run):
        [found] = read(write(json.dumps({key: list(cases), **run})), reader="deepeval")
        return found

    return read_cases_


def evaluation(path, **options):
    return RAGPipelineEvaluation.load(None, path, **options)


def case(asked="Who?", name=None, **scores):
    """A case with metrics as numbers, or as dicts of what stands there."""
    given = {key: one if isinstance(one, dict) else {"score": one} for key, one in scores.items()}
    metrics = [{"name": key, **one} for key, one in given.items()]
    return {"name": name, "input": asked, "actualOutput": "He.", "metricsData": metrics}


# -- what deepeval 4.3.1 wrote


@pytest.mark.parametrize("name", RUNS)
def test_an_error_of_a_metric_is_a_failed_score_with_its_reason(name):
    found = evaluation(GOLDEN / name)
    for query, errors in TOLD["errors"].items():
        for metric, column in METRICS.items():
            failed = found.states[column][query] == "failed"
            assert failed == (metric in errors)
            if failed:
                assert found.details[f"{metric}_reason"][query] == errors[metric]


@pytest.mark.parametrize("name", RUNS)
def test_directions_are_told_by_what_passed(name):
    metrics = evaluation(GOLDEN / name).metrics
    directions = {metric: metrics[column].greater_is_better for metric, column in METRICS.items()}
    assert directions == {
        "Faithfulness": True,
        "Hallucination": False,
        "Tone (GEval)": True,
        "Answer Relevancy": True,
    }


def test_a_run_has_its_identifier_hyperparameters_texts_and_costs():
    [found] = read(GOLDEN / "test_run.json")
    assert found.pipeline == "made-up run"
    assert found.config == {"model": "none", "top_k": "2"}
    first = found.frame.iloc[0]
    assert (first["question"], first["answer"], first["reference"]) == (
        "Capital of Italy?",
        "Rome",
        "Rome",
    )
    assert first["contexts"] == ["about Rome", 'a "second" one']
    assert (first["latency_ms"], first["cost_usd"]) == (250.0, 0.001)
    assert (first["topic"], first["Faithfulness_judge"]) == ("geography", "no model")


# -- spellings


# -- states


@pytest.mark.parametrize(
    ("given", "state", "reason"),
    [
        ({"score": None, "error": "timeout"}, "failed", "timeout"),
        ({"score": 0, "error": "timeout"}, "failed", "timeout"),
        ({"score": None, "reason": "empty"}, "failed", "empty"),
        ({"score": float("nan")}, "failed", "DeepEval gave neither a score nor a reason"),
        ({"score": [1, 0]}, "failed", "[1, 0]"),
        ({"score": 0.5, "reason": "half"}, "scored", "half"),
    ],
)
def test_the_state_of_a_score(read_cases, given, state, reason):
    found = read_cases(case(name="a", Bias=given), case(name="b", Bias=1))
    assert found.frame["Bias_reason"][0] == reason
    assert found.frame.get("Bias_state", ["scored"])[0] == state


@pytest.mark.parametrize(
    ("scores", "direction"),
    [
        ([(0.4, 0.5, False)], True),
        ([(0.4, 0.5, True)], False),
        ([(0.5, 0.5, True)], None),
        ([(0.4, 0.5, True), (0.3, 0.5, False)], None),
        ([(0.4, None, True)], None),
    ],
)
def test_the_direction_is_told_only_where_it_is_certain(read_cases, scores, direction):
    cases = [
        case(name=f"n{row}", Tone={"score": score, "threshold": threshold, "success": success})
        for row, (score, threshold, success) in enumerate(scores)
    ]
    told = read_cases(*cases).metrics.get("Tone", {"greater_is_better": None})
    assert told == {"greater_is_better": direction}


# -- ids


def test_names_are_the_ids(read_cases):
    found = read_cases(case(name="geo", Bias=1), case("When?", name="time", Bias=1))
    assert found.frame["query_id"].tolist() == ["geo", "time"]


@pytest.mark.parametrize(
    ("names", "why"),
    [
        (["test_case_0", "test_case_1"], "are only positions"),
        (["conversational_test_case_0", "x"], "are only positions"),
        (["test_rag", "test_rag"], "are not unique"),
    ],
)
def test_names_that_say_nothing_of_the_query_are_no_ids(read_cases, names, why):
    cases = [case(f"{row}?", name=name, Bias=1) for row, name in enumerate(names)]
    found = read_cases(*cases)
    assert "query_id" not in found.frame
    assert found.frame["name"].tolist() == names
    assert any(why in note for note in found.notes)


# -- bad input


# -- files that nobody on the project wrote


# -- damaged files
