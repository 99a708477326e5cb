"""A report that Giskard 2.19.2 saved, its frame, and scores by hand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

FILES = Path(__file__).parents[2] / "golden" / "giskard"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))
REPORT = FILES / "shop_agent"
PATHS = [REPORT / "metrics_results.json", FILES / "frame.csv", FILES / "frame.json"]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_correctness_is_that_of_the_report_overall_and_by_type(path):
    assert recognise(Source(path)) == "giskard"
    [evaluation] = read_scores(path).values()
    correct = evaluation.scores["correctness"]
    assert correct.mean() == EXPECTED["correctness"]
    by_type = correct.groupby(evaluation.details["question_type"]).mean()
    assert by_type.to_dict() == EXPECTED["by_question_type"]
    assert evaluation.metrics["correctness"].kind == "binary"
    assert evaluation.scores.index.tolist() == ["a1", "b2", "c3", "d4"]


def test_a_saved_folder_names_the_pipeline():
    [file] = read(REPORT / "metrics_results.json")
    assert file.pipeline == "shop_agent"
    assert file.metric_columns == ("correctness", "answer_share", "RAGAS Context Recall")
    raw = json.loads((REPORT / "metrics_results.json").read_text(encoding="utf-8"))
    assert file.frame["answer_share"].tolist() == [row["answer_share"] for row in raw.values()]


def test_a_0_for_want_of_documents_is_not_a_score():
    [file] = read(REPORT / "metrics_results.json")
    recall = "RAGAS Context Recall"
    assert file.frame[f"{recall}_state"].tolist() == ["scored", "scored", "failed", "scored"]
    assert any("without documents is not a score" in note for note in file.notes)
    [table] = read(FILES / "frame.csv")
    assert any("may mean that the answer came without documents" in note for note in table.notes)


def test_answers_of_another_number_are_not_joined(tmp_path):
    shutil.copytree(REPORT, tmp_path / "run")
    answers = json.loads((REPORT / "agent_answer.json").read_text(encoding="utf-8"))
    (tmp_path / "run" / "agent_answer.json").write_text(json.dumps(answers[:3]))
    [file] = read(tmp_path / "run" / "metrics_results.json")
    assert any("holds 3 answers to 4 questions" in note for note in file.notes)
    assert file.frame["question"].tolist()[0] == "Who wrote Emma?"


def test_a_missing_verdict_and_nan_have_failed(write):
    rows = {
        "a": {"correctness": True, "correctness_reason": "", "tone": 0.5},
        "b": {"correctness": None, "correctness_reason": "no JSON", "tone": float("nan")},
    }
    [file] = read(write(json.dumps(rows)))
    assert file.frame["correctness_state"].tolist() == ["scored", "failed"]
    assert file.frame["correctness_reason"].tolist()[1] == "no JSON"
    assert file.frame["tone_state"].tolist() == ["scored", "failed"]


def test_a_question_whose_scores_are_no_object_is_named(write):
    rows = {"a": {"correctness": True, "correctness_reason": ""}, "b": 1}
    with pytest.raises(ReaderError, match="the scores of the question 'b' must be an object"):
        read(write(json.dumps(rows)), reader="giskard")
