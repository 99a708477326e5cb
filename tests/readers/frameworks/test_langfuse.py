"""Scores made with the types of langfuse 5.0.4; ``make_langfuse.py`` beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

FILES = Path(__file__).parents[2] / "golden" / "langfuse"
BOTH = pytest.mark.parametrize("name", ["scores.json", "scores.csv"])


def score(name, value, trace="t1", **more):
    return {"id": f"{trace}-{name}-{value}", "traceId": trace, "name": name, "value": value,
            "dataType": "NUMERIC", **more}  # fmt: skip


@BOTH
def test_one_row_per_trace_one_metric_per_name(name):
    assert recognise(Source(FILES / name)) == "langfuse"
    [evaluation] = read_scores(FILES / name).values()
    assert evaluation.scores.index.tolist() == ["t1", "t2", "t3"]
    assert evaluation.scores["faithfulness"].tolist() == [0.5, 1.0, 0.5]  # the last: of 0.25, 0.75
    assert evaluation.scores["helpful"].tolist()[:2] == [1, 0]
    assert evaluation.details["faithfulness_reason"].tolist()[0] == "half of it"


@BOTH
def test_the_number_of_a_category_is_no_score(name):
    [file] = read(FILES / name)
    assert file.metric_columns == ("faithfulness", "helpful")
    assert file.frame["tone_label"].tolist()[:2] == ["friendly", "rude"]
    assert any("categories or texts: 'tone'" in note for note in file.notes)
    assert any("averaged" in note and "'faithfulness'" in note for note in file.notes)


def test_names_in_snake_case_are_the_same(write):
    rows = [{"trace_id": "t1", "name": "f1", "value": 0.5, "data_type": "NUMERIC"}]
    [file] = read(write("\n".join(map(json.dumps, rows * 1))))
    assert file.frame["f1"].tolist() == [0.5]


def test_observations_of_a_trace_are_rows_if_several_are_scored(write):
    rows = [score("f1", at / 4, observationId=f"o{at}") for at in (1, 2)]
    [file] = read(write(json.dumps(rows)))
    assert file.frame["query_id"].tolist() == ["o1", "o2"]
    assert file.frame["f1"].tolist() == [0.25, 0.5]


def test_scores_of_sessions_count_and_those_of_data_set_runs_do_not(write):
    rows = [
        score("f1", 1.0, trace=None, sessionId="s1"),
        score("f1", 0.5, trace=None, datasetRunId="run"),
    ]
    [file] = read(write(json.dumps({"data": rows, "meta": {"page": 2, "totalPages": 3}})))
    assert file.frame["query_id"].tolist() == ["s1"]
    assert any("1 scores belong to no trace" in note for note in file.notes)
    assert any("page 2 of 3" in note for note in file.notes)


def test_scores_without_owner_are_refused(write):
    rows = [score("f1", 1.0, trace=None)]
    with pytest.raises(ReaderError, match="belongs to a trace"):
        read(write(json.dumps(rows)))
