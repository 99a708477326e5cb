"""Files that evidently 0.7.23 wrote; ``make_evidently.py`` beside them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

FILES = Path(__file__).parents[2] / "golden" / "evidently"
TOLD = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))
BOTH = pytest.mark.parametrize("name", ["rows.csv", "rows.json"])


@BOTH
def test_means_are_those_of_evidently_s_report(name):
    [evaluation] = read_scores(FILES / name).values()
    ours = evaluation.get_aggregated_scores()
    for column, metric in (("faithfulness", "faithfulness"), ("Length", "length")):
        assert ours[metric] == pytest.approx(TOLD["means"][column], abs=1e-10)


@BOTH
def test_a_test_of_no_score_is_no_failure(name):
    """Evidently's test reads False where the score is NaN: 0.25 pass, though 1 of 3 does."""
    [found] = read(FILES / name)
    assert TOLD["means"]["faithfulness: greater or equal to 0.5"] == 0.25
    assert found.frame["faithfulness_reason"].tolist() == [
        "failed: greater or equal to 0.5",
        None,
        "passed: greater or equal to 0.5",
        "failed: greater or equal to 0.5",
    ]


@BOTH
def test_tests_and_their_summary_are_no_metrics(name):
    [evaluation] = read_scores(FILES / name).values()
    assert list(evaluation.scores) == ["faithfulness", "length", "exact"]
    assert evaluation.details["Test summary"].tolist()[2] == "True of tests"


@BOTH
def test_limits_tell_direction_and_threshold(name):
    [found] = read(FILES / name)
    assert found.metrics == {"faithfulness": "higher", "Length": "lower"}
    assert "Length: threshold 'less or equal to 10.0' stored in the file" in found.notes


def test_limits_on_both_sides_tell_no_direction(read_text):
    found = read_text("question,n,n: less than 5,n greater than 1\nwhy?,2,True,True\n")
    assert found.metrics == {}


def test_a_report_is_recognised_and_refused():
    assert recognise(Source(FILES / "report.json")) == "evidently"
    with pytest.raises(ReaderError, match=r"a report|report, which contains aggregates only"):
        read(FILES / "report.json")
