from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

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


def snake_rows(found):
    scores = found.scores.astype(object).where(found.scores.notna(), None)
    return {
        query: {metric: scores[column][query] for metric, column in METRICS.items()}
        for query in scores.index
    }


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


def test_the_cache_has_the_scores_that_did_not_fail():
    found = evaluation(GOLDEN / "deepeval-cache.json")
    by_question = {
        case["input"]: case["name"]
        for case in json.loads((GOLDEN / "test_run.json").read_text())["testCases"]
    }
    names = found.details["question"].map(by_question)
    assert dict(zip(names, snake_rows(found).values(), strict=True)) == {
        name: TOLD["values"][name] for name in names
    }
    assert any("several runs" in note for note in found.notes)


# -- spellings


def test_a_list_of_test_results_is_read(write):
    results = [{"name": "a", "input": "Who?", "metrics_data": [{"name": "Bias", "score": 0.5}]}]
    path = write(json.dumps(results))
    assert recognise(Source(path)) == "deepeval"
    assert read(path)[0].frame["Bias"].tolist() == [0.5]


def test_a_conversation_is_asked_what_its_scenario_or_its_user_says_first(read_cases):
    turns = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    metrics = [{"name": "Role Adherence", "score": 1.0}]
    cases = [{"turns": turns, "metricsData": metrics, **more} for more in ({}, {"scenario": "s"})]
    found = read_cases(*cases, key="conversationalTestCases")
    assert found.frame["question"].tolist() == ["Hello", "s"]
    assert found.frame["conversation"].tolist() == [turns, turns]


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


def test_two_metrics_of_one_name_are_told_apart(read_cases):
    given = case(name="a", Bias=1)
    given["metricsData"] *= 2
    assert read_cases(given).metric_columns == ("Bias", "Bias #2")


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
        (["test_case_0", "test_case_1"], "are positions"),
        (["conversational_test_case_0", "x"], "are positions"),
        (["test_rag", "test_rag"], "are not unique"),
    ],
)
def test_names_that_say_nothing_of_the_query_are_no_ids(read_cases, names, why):
    cases = [case(f"{row}?", name=name, Bias=1) for row, name in enumerate(names)]
    found = read_cases(*cases)
    assert "query_id" not in found.frame
    assert found.frame["name"].tolist() == names
    assert any(why in note for note in found.notes)


@pytest.mark.parametrize(("ids", "column"), [(["x", "y"], "id"), (["x", "x"], "metadata.id")])
def test_an_id_among_the_metadata_is_taken_if_it_tells_cases_apart(read_cases, ids, column):
    cases = [case(f"{row}?", Bias=1) | {"metadata": {"id": one}} for row, one in enumerate(ids)]
    assert read_cases(*cases).frame[column].tolist() == ids


def test_metadata_do_not_take_the_place_of_a_score(read_cases):
    found = read_cases(case(name="a", Bias=1) | {"additionalMetadata": {"Bias": "no", "k": 3}})
    assert found.frame["Bias"].tolist() == [1.0]
    assert (found.frame["metadata.Bias"][0], found.frame["k"][0]) == ("no", 3)


# -- bad input


@pytest.mark.parametrize(
    "document", [{}, {"testCases": []}, {"testRunLink": "x"}, [1], "x", {"testCases": {}}]
)
def test_what_is_no_run_is_refused(write, document):
    with pytest.raises(ReaderError):
        read(write(json.dumps(document)), reader="deepeval")


# -- files that nobody on the project wrote


# -- damaged files
