"""Metrics that nuggetizer 0.0.5 computed, and the assignments behind them."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

FILES = Path(__file__).parents[2] / "golden" / "autonuggetizer"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))
SCORES = ["strict_vital_score", "strict_all_score", "vital_score", "all_score"]


def line(qid="t1", value=0.5, **fields):
    return {"qid": qid, **dict.fromkeys(SCORES, value), **fields}


@pytest.fixture
def read_lines(write):
    return lambda *rows: read(write("\n".join(map(json.dumps, rows)) + "\n"))


@pytest.mark.parametrize("name", ["runs.jsonl", "assignments.jsonl"])
def test_scores_are_those_of_the_library(name):
    path = FILES / name
    assert recognise(Source(path)) == "autonuggetizer"
    evaluations = read_scores(path)
    assert list(evaluations) == ["bm25", "dense"]
    for run, evaluation in evaluations.items():
        expected = {row.pop("qid"): row for row in map(dict, EXPECTED["scores"][run])}
        assert list(evaluation.scores) == SCORES
        for query_id, row in expected.items():
            scores = evaluation.scores.loc[query_id].to_dict()
            assert scores == pytest.approx(row, abs=1e-15)


def test_the_row_of_means_is_left_out_and_agrees():
    [evaluation] = read_scores(FILES / "bm25.metrics.jsonl").values()
    means = EXPECTED["means"]["bm25"]
    assert evaluation.n_queries == 3
    assert evaluation.scores.mean().to_dict() == pytest.approx(
        {name: means[name] for name in SCORES}
    )
    assert evaluation.metrics["vital_score"].bounds == (0, 1)
    [file] = read(FILES / "bm25.metrics.jsonl")
    assert file.notes == ("the row 'all' holds the means of all topics and is left out",)


def test_means_that_differ_are_noted(read_lines):
    [file] = read_lines(line("a", 0.5), line("b", 1), line("all", 0.5))
    assert file.frame["all_score"].tolist() == [0.5, 1]
    stated = [note for note in file.notes if "says" in note]
    assert len(stated) == len(SCORES)
    assert f"the row 'all' says vital_score 0.5; the mean of its rows is {mean([0.5, 1])}" in stated


def assigned(*labels, qid="t1"):
    nuggets = [
        {"text": "n", "importance": importance, "assignment": label} for importance, label in labels
    ]
    return {"qid": qid, "run_id": "r", "answer_text": "so", "nuggets": nuggets}


def test_a_topic_without_vital_nuggets_is_not_applicable_instead_of_0(read_lines):
    [file] = read_lines(assigned(("vital", "support")), assigned(("okay", "support"), qid="t2"))
    assert file.frame["vital_score_state"].tolist() == ["scored", "not applicable"]
    assert file.frame["all_score"].tolist() == [1, 1]


def test_an_assignment_that_failed_is_not_a_0(read_lines):
    [file] = read_lines(assigned(("vital", "failed"), ("okay", "support")), assigned(("okay", "x")))
    assert file.frame["all_score"].isna().all()
    assert file.frame["all_score_reason"].tolist()[0] == "1 of 2 nuggets are not assigned: 'failed'"


def test_only_the_means_are_refused(read_lines):
    with pytest.raises(ReaderError, match="only the means of all topics"):
        read_lines(line("all"))


def test_a_row_without_a_topic_is_named(read_lines):
    with pytest.raises(ReaderError, match="row 2 has no qid"):
        read_lines(line(), dict.fromkeys(SCORES, 1))
