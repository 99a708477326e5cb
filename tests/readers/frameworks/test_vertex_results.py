"""An EvaluationResult that google-cloud-aiplatform 2.7.0 wrote, and changes of it by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

FILES = Path(__file__).parents[2] / "golden" / "vertex_results"
PATH = FILES / "evaluation_result.json"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture
def document():
    return json.loads(PATH.read_text(encoding="utf-8"))


def test_each_candidate_is_a_pipeline_with_the_means_of_the_client():
    assert recognise(Source(PATH)) == "vertex_results"
    runs = read_scores(PATH)
    assert list(runs) == ["small", "large"]
    # The client averages over the candidates, without the score that failed.
    for name, expected in EXPECTED["means_of_all_candidates"].items():
        scores = [score for run in runs.values() for score in run.scores[name].dropna()]
        assert sum(scores) / len(scores) == pytest.approx(expected, abs=1e-15)
    assert runs["small"].details["answer"].tolist() == ["Jane Austen", "It is Rome", "A cloth"]
    assert runs["small"].details["reference"].tolist()[1] == "Rome"
    assert runs["large"].details["question"].tolist()[2] == "What is RAG?"
    assert runs["small"].details["overlap_reason"].tolist()[1] == "3 words"


def test_a_metric_with_an_error_has_failed():
    small = read_scores(PATH)["small"]
    assert small.scores["exact"].isna().tolist() == [False, False, True]
    assert small.details["exact_state"].tolist()[2] == "failed"
    assert "nothing to compare" in small.details["exact_reason"].tolist()[2]


def test_cases_in_place_of_a_frame_give_ids_and_texts(document, write):
    def content(text):
        return {"parts": [{"text": text}], "role": "user"}

    cases = [
        {
            "prompt": content(f"Why {n}?"),
            "responses": [{"response": content(f"so {n}")}, {"response": content(f"no {n}")}],
            "eval_case_id": f"case-{n}",
        }
        for n in range(3)
    ]
    document["evaluation_dataset"] = [{"eval_cases": cases}]
    runs = read_scores(write(json.dumps(document)))
    assert runs["large"].scores.index.tolist() == ["case-0", "case-1", "case-2"]
    assert runs["large"].details["answer"].tolist() == ["no 0", "no 1", "no 2"]
    assert runs["small"].details["question"].tolist()[0] == "Why 0?"


def test_without_a_data_set_the_cases_are_numbered(document, write):
    document |= {"evaluation_dataset": None, "metadata": None}
    runs = read_scores(write(json.dumps(document), "eval.json"))
    assert list(runs) == ["eval 1", "eval 2"]
    assert runs["eval 1"].scores.index.tolist() == ["case 0", "case 1", "case 2"]
    document["eval_case_results"].reverse()
    again = read_scores(write(json.dumps(document), "eval.json"))
    assert again["eval 1"].scores.sort_index().equals(runs["eval 1"].scores)


def test_a_result_without_candidates_is_refused(document, write):
    for case in document["eval_case_results"]:
        case["response_candidate_results"] = []
    with pytest.raises(ReaderError, match="no case has results of a candidate"):
        read(write(json.dumps(document)))
