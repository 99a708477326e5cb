"""Reports of pydantic-evals 2.62.0; ``make_pydantic_evals.py`` beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

FILES = Path(__file__).parents[2] / "golden" / "pydantic_evals"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))
BOTH = pytest.mark.parametrize("name", ["report.json", "repeated.json"])


@BOTH
def test_means_are_those_that_the_library_gives(name):
    assert recognise(Source(FILES / name)) == "pydantic_evals"
    [evaluation] = read_scores(FILES / name).values()
    means = EXPECTED["means"][name]
    assert evaluation.scores["overlap"].mean() == pytest.approx(means["scores"]["overlap"])
    assert evaluation.scores["equals_expected"].mean() == pytest.approx(means["assertions"])


@BOTH
def test_what_raised_has_failed_with_its_message(name):
    [file] = read(FILES / name)
    assert file.frame["query_id"].tolist() == ["rome", "emma", "rag", "köln"]
    assert file.frame["overlap_state"].tolist() == ["scored", "scored", "failed", "failed"]
    assert file.frame["EqualsExpected_state"].tolist() == [*["scored"] * 3, "failed"]
    reasons = file.frame["overlap_reason"].tolist()
    assert reasons[0] == "1 of 1 words"
    assert reasons[2:] == [
        "ValueError: the judge gave no verdict",
        "TimeoutError: the server did not answer",
    ]


def test_repeats_of_a_case_are_one_row():
    [file] = read(FILES / "repeated.json")
    assert file.frame["n_repeats"].tolist() == [2, 2, 2, 2]


def test_several_reports_are_several_pipelines(write):
    reports = [json.loads((FILES / name).read_text(encoding="utf-8"))
               for name in ("report.json", "repeated.json")]  # fmt: skip
    assert [file.pipeline for file in read(write(json.dumps(reports)))] == ["answers", "repeated"]


def test_a_report_in_which_every_case_failed_says_so(write):
    report = json.loads((FILES / "report.json").read_text(encoding="utf-8"))
    report["cases"] = []
    with pytest.raises(ReaderError, match="has no score and no assertion"):
        read(write(json.dumps(report)))


def test_only_known_numbers_of_the_task_are_metrics(write):
    report = json.loads((FILES / "report.json").read_text(encoding="utf-8"))
    for case in report["cases"]:
        case["metrics"] = {"recall@5": 0.5, "retries": 3}
    [file] = read(write(json.dumps(report)))
    assert "recall@5" in file.metric_columns
    assert "retries" not in file.metric_columns
    assert file.frame["retries"].tolist()[:3] == [3, 3, 3]
