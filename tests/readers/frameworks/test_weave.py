"""Calls written by hand after the fields that weave 0.54.0 gives them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report.readers import Source, read, recognise

FILES = Path(__file__).parents[2] / "golden" / "weave"
BOTH = pytest.mark.parametrize("name", ["calls.jsonl", "calls.csv"])
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


@BOTH
def test_each_model_is_a_pipeline_with_the_scores_of_its_scorers(name):
    assert recognise(Source(FILES / name)) == "weave"
    runs = read_scores(FILES / name)
    assert list(runs) == ["naive:v0", "rerank:v1"]
    first, second = (run.scores for run in runs.values())
    assert first.index.tolist() == ["q0", "q1", "q2"]
    assert first["match.correct"].tolist()[:2] == [1, 0]
    assert second["match.correct"].tolist()[:2] == [1, 1]
    assert first["overlap"].tolist()[:2] == [0.75, 1]
    assert first["latency_ms"].tolist()[:2] == [500, 250]


@BOTH
def test_a_call_with_an_exception_has_failed(name):
    [file, _] = read(FILES / name)
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


def test_references_of_rows_are_the_ids(write):
    before = "weave:///team/rag/object/Dataset:v1/attr/rows/id/"
    rows = [call({"f1": 1}, example=f"{before}{digest}") for digest in ("d1", "d2")]
    [run] = read_scores(write("\n".join(map(json.dumps, rows)))).values()
    assert run.scores.index.tolist() == ["d1", "d2"]


def test_two_evaluations_of_one_model_are_two_pipelines(write):
    rows = [call({"f1": 1}, example={"id": "a"}, parent_id=parent) for parent in ("e1", "e2")]
    assert [file.pipeline for file in read(write(json.dumps(rows)))] == ["rag:v0", "rag:v0 #2"]
