from __future__ import annotations

import json
from pathlib import Path

import pytest
from damage import EDITS, VALUES, damage_settings, edited, is_read_or_refused, places_in, with_part
from hypothesis import given
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import ReaderError
from rageval_report.readers import READERS, Source, read, recognise
from rageval_report.readers.frameworks.deepeval import DEEPEVAL
from rageval_report.scores import score_table

GOLDEN = Path(__file__).parents[2] / "golden" / "deepeval"
TOLD = json.loads((GOLDEN / "expected.json").read_text(encoding="utf-8"))
RUNS = ["test_run.json", "latest_test_run.json", "evaluation_result.json"]
METRICS = {
    "Faithfulness": "faithfulness",
    "Hallucination": "hallucination",
    "Tone (GEval)": "tone_(geval)",
    "Answer Relevancy": "answer_relevancy",
}


@pytest.fixture(autouse=True)
def in_the_table(monkeypatch):
    monkeypatch.setitem(READERS._entries, "deepeval", DEEPEVAL)


@pytest.fixture
def read_cases(write):
    """The one run of these cases."""

    def read_cases_(*cases, key="testCases", **run):
        [found] = read(write(json.dumps({key: list(cases), **run})), reader=DEEPEVAL)
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
def test_a_run_has_the_scores_that_were_reported(name):
    assert recognise(Source(GOLDEN / name)) == "deepeval"
    assert snake_rows(evaluation(GOLDEN / name)) == TOLD["values"]


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


def test_thresholds_are_told_in_a_note():
    notes = read(GOLDEN / "test_run.json")[0].notes
    told = "Faithfulness 0.5, Hallucination 0.5, Tone (GEval) 0.7, Answer Relevancy 0.5"
    assert f"thresholds stored in the file: {told}" in notes


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


def test_the_oldest_spelling_is_read(read_cases):
    metrics = [{"metric": "Bias", "score": 0.25, "minimumScore": 0.5, "success": True}]
    found = read_cases({"name": "a", "input": "Who?", "metricsMetadata": metrics})
    assert found.frame["Bias"].tolist() == [0.25]
    assert found.metrics == {"Bias": {"greater_is_better": False}}


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


def test_a_metric_that_was_not_asked_is_missing(read_cases):
    found = read_cases(case(name="a", Bias=1, Tone=0.5), case(name="b", Bias=0.5))
    table = score_table(found.frame, known=found.metrics, only=found.metric_columns)
    assert table.scores["tone"].isna().tolist() == [False, True]
    assert "Tone_state" not in found.frame


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


def test_without_questions_positions_are_better_than_nothing(read_cases):
    found = read_cases(case(None, name="test_case_0", Bias=1))
    assert found.frame["query_id"].tolist() == ["test_case_0"]


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
        read(write(json.dumps(document)), reader=DEEPEVAL)


def test_another_framework_s_test_results_are_not_taken(write):
    results = {"test_results": [{"test_case": {}, "score_results": []}]}
    assert recognise(Source(write(json.dumps(results)))) != "deepeval"


# -- files that nobody on the project wrote

BEEAI = {  # the scores that its own metricsScores list
    "exact_match": 0.5,
    "answer_llm_judge_metric": 1.0,
    "answer_relevancy": 1.0,
    "contextual_recall": 1.0,
    "faithfulness": 1.0,
    "tool_correctness": 0.5,
    "tool_usage_metric": 0.875,
    "argument_correctness": 0.0,
    "facts_similarity_metric": 0.5,
}


@pytest.mark.parametrize("name", ["latest_test_run.json", "deepeval-cache.json"])
def test_means_of_a_real_run_are_those_of_its_scores(real_data, name):
    path = real_data("deepeval_beeai") / name
    assert recognise(Source(path)) == "deepeval"
    found = evaluation(path)
    assert found.scores.mean().to_dict() == BEEAI
    assert found.n_queries == 2


def test_the_totals_of_a_real_run_are_its_own(real_data):
    path = real_data("deepeval_beeai/latest_test_run.json")
    totals = json.loads(path.read_text())["testRunData"]["metricsScores"]
    [found] = read(path)
    assert {one["metric"]: one["scores"] for one in totals} == {
        metric: found.frame[metric].tolist() for metric in found.metric_columns
    }


MEMORY = {
    "mem0": ["metrics_output_mem0_direct_llm.json", "metrics_output_mem0_human_eval.json"],
    "graphiti": [
        "metrics_output_graphiti_direct_llm.json",
        "metrics_output_graphiti_huma_eval.json",
    ],
}


@pytest.mark.parametrize("system", list(MEMORY))
def test_scores_of_deepeval_that_others_keep_nested_are_a_plain_table(real_data, system):
    folder = real_data("cognee_memory_hotpotqa") / system
    names = [f"metrics_output_{system}.json", *MEMORY[system]]
    assert {recognise(Source(folder / name)) for name in names} == {"json"}
    for kind in ("", "_direct_llm"):
        found = evaluation(folder / f"metrics_output_{system}{kind}.json")
        aggregate = json.loads((folder / f"aggregate_metrics_{system}{kind}.json").read_text())
        means = {metric.lower(): one["mean"] for metric, one in aggregate.items()}
        assert found.scores.mean().to_dict() == pytest.approx(means, rel=1e-12)
        assert found.n_queries == 50


# -- damaged files

DOCUMENTS = [json.loads((GOLDEN / name).read_text(encoding="utf-8")) for name in RUNS[1:]]
FILES = [(GOLDEN / name).read_bytes() for name in (*RUNS, "deepeval-cache.json")]
FAST = damage_settings(80)


@FAST
@given(st.sampled_from(FILES), EDITS, st.sampled_from([None, DEEPEVAL]))
def test_a_damaged_file_is_read_or_refused(tmp_path, content, edits, reader):
    path = tmp_path / "run"
    path.write_bytes(edited(content, edits))
    assert is_read_or_refused(path, reader)


PLACES = [list(places_in(document)) for document in DOCUMENTS]


@FAST
@given(st.integers(0, len(DOCUMENTS) - 1), st.data(), VALUES)
def test_a_document_with_a_changed_part_is_read_or_refused(tmp_path, number, data, part):
    place = data.draw(st.sampled_from(PLACES[number]))
    path = tmp_path / "run"
    path.write_text(json.dumps(with_part(DOCUMENTS[number], place, part)))
    assert is_read_or_refused(path, DEEPEVAL)
