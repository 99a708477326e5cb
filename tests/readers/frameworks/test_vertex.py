"""A metrics_table of google-cloud-aiplatform 2.7.0; ``make_vertex.py`` beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import read_scores
from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read, recognise

FILES = Path(__file__).parents[2] / "golden" / "vertex"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))
BOTH = pytest.mark.parametrize("name", ["metrics_table.csv", "metrics_table.json"])
HEADER = "prompt,response,groundedness/score,groundedness/explanation\n"


@BOTH
def test_means_are_those_that_vertex_gives(name):
    assert recognise(Source(FILES / name)) == "vertex"
    [evaluation] = read_scores(FILES / name).values()
    for metric, mean in evaluation.scores.mean().items():
        assert mean == pytest.approx(EXPECTED["means"][f"{metric}/mean"], abs=1e-15)
    assert evaluation.metrics["groundedness"].bounds == (1, 5)
    assert evaluation.metrics["overlap"].bounds == (0, 1)
    assert evaluation.details["groundedness_reason"].tolist()[0] == "because 5"


def test_a_blank_score_and_a_model_without_answer_have_failed(write):
    [file] = read(write(f"{HEADER}a,b,4,good\nc,d,,\ne,Error,1,bad\n"))
    assert file.frame["groundedness_state"].tolist() == ["scored", "failed", "failed"]


@pytest.mark.parametrize("marks", ["1,0", "1,1"])
def test_verdicts_are_not_taken_for_grades(write, marks):
    first, second = marks.split(",")
    [file] = read(write(f"{HEADER}a,b,{first},x\nc,d,{second},y\n"))
    assert file.metrics == {}


def test_choices_alone_are_refused(write):
    path = write("prompt,response,baseline_model_response,q/pairwise_choice\na,b,c,TIE\n")
    with pytest.raises(ReaderError, match="choices between two models"):
        read(path)
