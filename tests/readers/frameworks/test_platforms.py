"""Platforms of experiments and traces: what each format alone does."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rageval_report import read_scores
from rageval_report.readers import Source, read, recognise
from rageval_report.scores.states import states_frame

# -- braintrust: files that the SDK braintrust 0.47.0 gave; ``make_braintrust.py`` beside them

BRAINTRUST_FILES = Path(__file__).parents[2] / "golden" / "braintrust"
EACH = pytest.mark.parametrize("name", ["experiment.json", "experiment.jsonl", "experiment.csv"])


def case(**more):
    fields = {"input": "why?", "output": "so", "expected": "so", "metadata": None, "scores": {}}
    return fields | more


@EACH
def test_scores_are_those_of_the_scorers(name):
    """The answer doubles with each trial, so that exact match holds in the first alone."""
    [evaluation] = read_scores(BRAINTRUST_FILES / name).values()
    nan = np.nan
    assert np.array_equal(evaluation.scores["exact"], [0.5, 0.5, 1, nan], equal_nan=True)
    assert np.array_equal(evaluation.scores["faithfulness"], [1 / 3, nan, nan, nan], equal_nan=True)


@EACH
def test_a_failed_scorer_a_broken_pipeline_and_none_are_told_apart(name):
    [evaluation] = read_scores(BRAINTRUST_FILES / name).values()
    states = states_frame(evaluation.scores, evaluation.details)["faithfulness"]
    assert states.tolist() == ["scored", "failed", "missing", "failed"]
    reasons = evaluation.details["faithfulness_reason"].tolist()
    assert reasons[1] == "RuntimeError: the judge timed out"
    assert evaluation.details["error"].tolist()[3] == "ValueError('the pipeline broke')"


def test_spans_within_a_case_are_left_out(write):
    root = {"span_id": "r", "root_span_id": "r"}
    rows = [case(scores={"f1": 1}, **root), case(span_id="s", root_span_id="r")]
    [found] = read(write(json.dumps(rows)))
    assert found.frame["f1"].tolist() == [1]
    assert found.notes[0] == "1 rows are inner spans of a case and are left out"


# -- langfuse: scores made with the types of langfuse 5.0.4; ``make_langfuse.py`` beside them

LANGFUSE_FILES = Path(__file__).parents[2] / "golden" / "langfuse"
LANGFUSE_BOTH = pytest.mark.parametrize("name", ["scores.json", "scores.csv"])


def langfuse_score(name, value, trace="t1", **more):
    return {"id": f"{trace}-{name}-{value}", "traceId": trace, "name": name, "value": value,
            "dataType": "NUMERIC", **more}  # fmt: skip


@LANGFUSE_BOTH
def test_one_row_per_trace_one_metric_per_name(name):
    assert recognise(Source(LANGFUSE_FILES / name)) == "langfuse"
    [evaluation] = read_scores(LANGFUSE_FILES / name).values()
    assert evaluation.scores.index.tolist() == ["t1", "t2", "t3"]
    assert evaluation.scores["faithfulness"].tolist() == [0.5, 1.0, 0.5]  # the last: of 0.25, 0.75
    assert evaluation.scores["helpful"].tolist()[:2] == [1, 0]
    assert evaluation.details["faithfulness_reason"].tolist()[0] == "half of it"


@LANGFUSE_BOTH
def test_the_number_of_a_category_is_no_score(name):
    [file] = read(LANGFUSE_FILES / name)
    assert file.metric_columns == ("faithfulness", "helpful")
    assert file.frame["tone_label"].tolist()[:2] == ["friendly", "rude"]
    assert any("categories or texts: 'tone'" in note for note in file.notes)
    assert any("averaged" in note and "'faithfulness'" in note for note in file.notes)


def test_observations_of_a_trace_are_rows_if_several_are_scored(write):
    rows = [langfuse_score("f1", at / 4, observationId=f"o{at}") for at in (1, 2)]
    [file] = read(write(json.dumps(rows)))
    assert file.frame["query_id"].tolist() == ["o1", "o2"]
    assert file.frame["f1"].tolist() == [0.25, 0.5]


# -- langsmith: files that langsmith 0.15.0 wrote; ``make_langsmith.py`` beside them

LANGSMITH_FILES = Path(__file__).parents[2] / "golden" / "langsmith"
LANGSMITH_TOLD = json.loads((LANGSMITH_FILES / "expected.json").read_text(encoding="utf-8"))
LANGSMITH_BOTH = pytest.mark.parametrize("name", ["experiment.csv", "experiment.jsonl"])


def mean_told(metric, example):
    runs = [run for run, one in LANGSMITH_TOLD["examples"].items() if one == example]
    scores = [LANGSMITH_TOLD["scores"][run].get(metric) for run in runs]
    return np.mean([np.nan if one is None else float(one) for one in scores])


@LANGSMITH_BOTH
@pytest.mark.parametrize("metric", ["exact", "faithfulness"])
def test_scores_are_the_means_of_the_library_s_repetitions(name, metric):
    [evaluation] = read_scores(LANGSMITH_FILES / name).values()
    told = [mean_told(metric, example) for example in evaluation.scores.index]
    assert np.allclose(evaluation.scores[metric], told, rtol=0, atol=1e-10, equal_nan=True)


# -- opik: files made with opik 2.2.122's metrics engine; ``make_opik.py`` beside them

OPIK_FILES = Path(__file__).parents[2] / "golden" / "opik"
OPIK_TOLD = json.loads((OPIK_FILES / "expected.json").read_text(encoding="utf-8"))
OPIK_BOTH = pytest.mark.parametrize("name", ["result.json", "test_results.jsonl"])


def one_result(item, *scores, **more):
    content = {"input": f"about {item}?", "expected_output": "so"}
    case = {
        "dataset_item_id": item,
        "task_output": {"output": "so"},
        "dataset_item_content": content,
    }
    return {"test_case": case, "score_results": list(scores), "trial_id": 0, **more}


def opik_score(value, **more):
    return {"name": "tone", "value": value, "reason": None, "scoring_failed": False, **more}


@OPIK_BOTH
def test_means_are_those_that_opik_aggregates(name):
    [evaluation] = read_scores(OPIK_FILES / name).values()
    ours = evaluation.get_aggregated_scores()
    for metric, mean in OPIK_TOLD["means"].items():
        assert ours[metric] == pytest.approx(mean, abs=1e-15)


def test_several_scores_of_one_name_are_averaged_and_noted(write):
    rows = [one_result("a", opik_score(1.0), opik_score(0.0), opik_score(0.0, scoring_failed=True))]
    [found] = read(write(json.dumps(rows)))
    assert found.frame["tone"].tolist() == [0.5]
    assert "averaged, because a row has several scores of one name: 'tone'" in found.notes


# -- phoenix: files that arize-phoenix 20.26.1 (evals 3.9.4) wrote; ``make_phoenix.py`` beside them

PHOENIX_FILES = Path(__file__).parents[2] / "golden" / "phoenix"
PHOENIX_TOLD = json.loads((PHOENIX_FILES / "expected.json").read_text(encoding="utf-8"))


def only(name):
    [evaluation] = read_scores(PHOENIX_FILES / name).values()
    return evaluation


@pytest.mark.parametrize("name", ["evaluated.csv", "evaluated.json", "annotations.csv"])
@pytest.mark.parametrize("metric", ["faithfulness", "hallucination"])
def test_scores_are_those_of_evaluate_dataframe(name, metric):
    told = np.array(PHOENIX_TOLD["evaluated"][metric], dtype=float)
    ours = only(name).scores[metric].to_numpy()
    assert np.allclose(ours, told, rtol=0, atol=1e-10, equal_nan=True)  # pandas' JSON has 10 digits


@pytest.mark.parametrize("name", ["evaluated.csv", "evaluated.json", "annotations.csv"])
def test_the_direction_is_the_one_that_is_stored(name):
    known = only(name).metrics
    assert known["faithfulness"].greater_is_better
    assert not known["hallucination"].greater_is_better


@pytest.mark.parametrize("name", ["experiment.json", "experiment.csv"])
def test_means_of_an_experiment_are_those_that_phoenix_shows(name):
    told = PHOENIX_TOLD["experiment"]["annotationSummaries"]
    ours = only(name).get_aggregated_scores()
    for one in told:
        assert ours[one["annotationName"]] == pytest.approx(one["meanScore"], abs=1e-15)


def test_several_annotations_of_a_span_are_averaged(write):
    lines = ["span_id,annotation_name,annotator_kind,score,label,explanation"]
    lines += ["s1,tone,HUMAN,1,,good", "s1,tone,LLM,0,,bad", "s2,tone,LLM,1,,"]
    [found] = read(write("\n".join(lines)))
    assert found.frame["tone"].tolist() == [0.5, 1]
    assert found.frame["tone_reason"].tolist()[0] == "good; bad"


# -- pydantic_evals: reports of pydantic-evals 2.62.0; ``make_pydantic_evals.py`` beside them

PYDANTIC_EVALS_FILES = Path(__file__).parents[2] / "golden" / "pydantic_evals"
EXPECTED = json.loads((PYDANTIC_EVALS_FILES / "expected.json").read_text(encoding="utf-8"))
PYDANTIC_EVALS_BOTH = pytest.mark.parametrize("name", ["report.json", "repeated.json"])


@PYDANTIC_EVALS_BOTH
def test_means_are_those_that_the_library_gives(name):
    assert recognise(Source(PYDANTIC_EVALS_FILES / name)) == "pydantic_evals"
    [evaluation] = read_scores(PYDANTIC_EVALS_FILES / name).values()
    means = EXPECTED["means"][name]
    assert evaluation.scores["overlap"].mean() == pytest.approx(means["scores"]["overlap"])
    assert evaluation.scores["equals_expected"].mean() == pytest.approx(means["assertions"])


# -- weave: calls written by hand after the fields that weave 0.54.0 gives them

WEAVE_FILES = Path(__file__).parents[2] / "golden" / "weave"
WEAVE_BOTH = pytest.mark.parametrize("name", ["calls.jsonl", "calls.csv"])
OP = "weave:///team/rag/op/Evaluation.predict_and_score:abc"


def call(scores, example="q", **more):
    return {
        "op_name": OP,
        "parent_id": "e1",
        "inputs": {"model": "weave:///team/rag/object/rag:v0", "example": example},
        "output": {"output": "so", "scores": scores, "model_latency": 0.5},
        "exception": None,
        **more,
    }


@WEAVE_BOTH
def test_each_model_is_a_pipeline_with_the_scores_of_its_scorers(name):
    assert recognise(Source(WEAVE_FILES / name)) == "weave"
    runs = read_scores(WEAVE_FILES / name)
    assert list(runs) == ["naive:v0", "rerank:v1"]
    first, second = (run.scores for run in runs.values())
    assert first.index.tolist() == ["q0", "q1", "q2"]
    assert first["match.correct"].tolist()[:2] == [1, 0]
    assert second["match.correct"].tolist()[:2] == [1, 1]
    assert first["overlap"].tolist()[:2] == [0.75, 1]
    assert first["latency_ms"].tolist()[:2] == [500, 250]


@WEAVE_BOTH
def test_a_call_with_an_exception_has_failed(name):
    [file, _] = read(WEAVE_FILES / name)
    assert file.frame["overlap_state"].tolist() == ["scored", "scored", "failed"]
    assert "did not answer" in file.frame["overlap_reason"].tolist()[2]
    assert file.frame["match.correct_reason"].tolist()[:2] == ["agrees", "one more word"] or (
        name == "calls.csv"
    )


def test_a_null_score_has_failed_and_trials_are_averaged(write):
    rows = [call({"f1": 0.5}), call({"f1": None}), call({"f1": 1.0}, example={"id": "b", "q": "?"})]
    rows[0]["inputs"]["example"] = rows[1]["inputs"]["example"] = {"id": "a", "q": "?"}
    [file] = read(write(json.dumps(rows)))
    assert file.frame["query_id"].tolist() == ["a", "b"]
    assert file.frame["f1"].tolist() == [0.5, 1.0]
    assert file.frame["n_repeats"].tolist() == [2, 1]
