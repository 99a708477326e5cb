from __future__ import annotations

import json

import pytest

from rageval_report.readers import read
from rageval_report.scores import score_table

LIKERT = [{"value": str(step), "numeric_value": step} for step in (1, 2, 3, 4)]


def said(**values):
    """What each annotator said."""
    return {who: {"value": value} for who, value in values.items()}


def document(**changes):
    """A file of the first schema: one model, two tasks, a metric of each kind."""
    return {
        "models": [{"model_id": "gpt", "name": "GPT"}],
        "metrics": [
            {"name": "naturalness", "type": "categorical", "author": "human", "values": LIKERT},
            {"name": "RougeL", "type": "numerical", "author": "algorithm", "range": [0, 1, 0.1]},
            {"name": "errors", "type": "numerical", "range": [0, 9], "order": "descending"},
            {"name": "comment", "type": "text", "author": "human"},
        ],
        "documents": [{"document_id": "d1", "text": "one"}, {"document_id": "d2", "text": "two"}],
        "tasks": [
            {
                "task_id": "t<::>1",
                "input": [
                    {"speaker": "user", "text": "first"},
                    {"speaker": "agent", "text": "ok"},
                    {"speaker": "user", "text": "last"},
                ],
                "contexts": [{"document_id": "d2"}, {"document_id": "d1"}],
                "targets": [{"speaker": "agent", "text": "gold"}],
                "Answerability": ["ANSWERABLE"],
                "Question Type": ["Factoid", "Opinion"],
                "Multi-Turn": [],
                "# Relevant Passages": 2,
            },
            {"task_id": "t<::>2", "input": [{"speaker": "user", "text": "only"}]},
        ],
        "evaluations": [
            {
                "task_id": "t<::>1",
                "model_id": "gpt",
                "model_response": "an answer",
                "annotations": {
                    "naturalness": said(a="4", b="2", c="3"),
                    "RougeL": said(system=0.25),
                    "errors": said(system=3),
                    "comment": said(a="fine"),
                },
            },
            {
                "task_id": "t<::>2",
                "model_id": "gpt",
                "model_response": "none",
                "annotations": {"naturalness": said(a="1"), "RougeL": said(system=1.0000002)},
            },
        ],
        **changes,
    }


@pytest.fixture
def read_document(write):
    def read_document_(**changes):
        return read(write(json.dumps(document(**changes))))

    return read_document_


@pytest.fixture
def found(read_document):
    [one] = read_document()
    return one


def checked(found):
    """The table of scores, of the columns that the reader calls metrics."""
    return score_table(found.frame[["query_id", *found.metric_columns]], metrics=found.metrics)


def test_a_score_is_the_mean_over_the_annotators(found):
    assert found.frame["naturalness"].tolist() == [3.0, 1.0]
    note = "the score is the mean over several annotators for 'naturalness'"
    assert found.notes == (note,)


def test_scales_and_directions_are_those_of_the_file(found):
    metrics = checked(found).metrics
    assert metrics["naturalness"].bounds == (1.0, 4.0)
    assert metrics["naturalness"].kind == "ordinal"
    assert metrics["rougel"].kind == "proportion"
    assert metrics["errors"].bounds == (0.0, 9.0)
    assert not metrics["errors"].greater_is_better
    assert metrics["naturalness"].greater_is_better


def test_single_precision_does_not_put_a_score_outside_its_scale(found):
    assert checked(found).scores["rougel"].tolist() == [0.25, 1.0]


def test_the_second_schema_is_read(read_document):
    results = [
        {
            "task_id": one["task_id"],
            "model_id": one["model_id"],
            "output": [{"role": "assistant", "content": one["model_response"]}],
            "scores": one["annotations"],
        }
        for one in document()["evaluations"]
    ]
    [found] = read_document(evaluations=None, results=results, schema_version=2)
    assert found.frame["naturalness"].tolist() == [3.0, 1.0]
    assert found.frame["answer"].tolist() == ["an answer", "none"]


def test_a_judgement_outside_its_scale_failed_with_what_was_said(read_document):
    evaluations = document()["evaluations"]
    evaluations[0]["annotations"]["naturalness"] = said(a="very")
    [found] = read_document(evaluations=evaluations)
    first = found.frame.iloc[0]
    assert first["naturalness_state"] == "failed"
    assert first["naturalness_reason"].startswith("judged 'very', which is neither a number nor")
    assert (
        "1 judgements of 'naturalness' are neither numbers nor values of its scale" in found.notes
    )


def test_a_range_that_the_scores_leave_is_that_of_a_chart(read_document):
    evaluations = document()["evaluations"]
    evaluations[0]["annotations"]["errors"] = said(system=12)
    [found] = read_document(evaluations=evaluations)
    assert checked(found).metrics["errors"].bounds is None
    assert "scores of 'errors' go from 12 to 12; the declared range 0 to 9" in found.notes[-1]


def camel(value):
    """The keys of the tables in camel case, as the tool itself holds them."""
    names = {"task_id": "taskId", "model_id": "modelId", "document_id": "documentId"}
    names |= {"numeric_value": "numericValue", "display_name": "displayName"}
    if isinstance(value, dict):
        return {names.get(key, key): camel(one) for key, one in value.items()}
    return [camel(one) for one in value] if isinstance(value, list) else value


def test_camel_case_is_read_as_well(read_document, found):
    [other] = read_document(**camel(document()))
    assert other.frame["query_id"].tolist() == ["t<::>1", "t<::>2"]
    assert other.frame["naturalness"].tolist() == found.frame["naturalness"].tolist()
    assert other.frame["contexts"].tolist() == found.frame["contexts"].tolist()
    assert checked(other).metrics["naturalness"].bounds == (1.0, 4.0)
