"""What the library advises in Python's words is told in those of the command line."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.cli.notes import complain
from rageval_report.errors import DataError
from rageval_report.readers import ScoreFile, Source, recognise

FILES = {
    "scale.csv": "query_id,faithfulness\nq1,3\nq2,5\n",
    "bare.csv": "query_id,question\nq1,a\nq2,b\n",
    "nameless.csv": "case,recall\na,0.5\nb,1\n",
    "twice.csv": "query_id,recall\nq1,0.5\nq1,1\n",
    "cost.csv": "query_id,cost_usd,recall\nq1,0.5,1\nq2,,0\n",
    "other_cost.csv": "query_id,cost_usd,recall,topic\nq1,0.5,1,a\nq2,0.25,0,b\n",
}
ADVICE = {
    "bounds": ("report scale.csv", "--bounds NAME=LOW:HIGH"),
    "no metrics": ("report bare.csv", "--metric NAME"),
    "records": ("report bare.csv", "rageval-report score --records FILE, or rageval-report judge"),
    "ids": ("report nameless.csv", "--query-id COLUMN"),
    "repeats": ("report twice.csv", "--duplicates mean"),
    "a rule of text": ("report other_cost.csv --correct topic", "--correct exact_match"),
    "no best score": ("report cost.csv --correct cost_usd", "--correct with cost_usd"),
    "missing scores": ("compare cost.csv other_cost.csv --missing worst", "--missing drop"),
    "an interval": ("report other_cost.csv --interval bounded", "--bounds NAME=0:1"),
    "one name": ("compare cost.csv cost.csv", "as NAME=FILE"),
}
PYTHON = re.compile(r"\b(?!NAME|delimiter)[a-z_]+=[\[({.'\"]")


@pytest.mark.parametrize(("command", "option"), ADVICE.values(), ids=ADVICE)
def test_advice_is_for_the_command_line(folder, refused, command, option):
    for name, text in FILES.items():
        (folder / name).write_text(text)
    told = refused(command)
    assert option in told
    assert not PYTHON.search(told), told


def told_of(error: BaseException, capsys) -> str:
    complain(str(error))
    return capsys.readouterr().err


def test_metrics_that_hold_text_are_named_by_an_option(capsys):
    with pytest.raises(DataError) as caught:
        RAGPipelineEvaluation("run", {"query_id": ["a", "b"], "recall": ["0.5 (fail)", "1"]})
    assert "--metric NAME" in told_of(caught.value, capsys)


def test_a_disagreement_on_the_direction_is_settled_by_an_option(capsys):
    data = {"query_id": ["a", "b"], "loss": [0.5, 1.0]}
    old = RAGPipelineEvaluation("old", data)
    new = RAGPipelineEvaluation("new", data, metrics={"loss": "higher"})
    with pytest.raises(DataError) as caught:
        compare(old, new)
    assert "as --lower loss" in told_of(caught.value, capsys)


def test_one_of_several_pipelines_is_picked_with_colons(capsys, monkeypatch):
    several = [ScoreFile(pd.DataFrame(), name) for name in ("dense", "sparse")]
    monkeypatch.setattr("rageval_report.evaluation.evaluation.read", lambda *_, **__: several)
    with pytest.raises(DataError) as caught:
        RAGPipelineEvaluation.load(None, "runs.json")
    assert told_of(caught.value, capsys).endswith("'dense', 'sparse'; pick one as FILE::PIPELINE\n")


def test_a_reader_is_chosen_with_an_option(capsys, folder):
    (folder / "letter.txt").write_text("Dear council,\nthere is no table here.\n")
    with pytest.raises(DataError) as caught:
        recognise(Source("letter.txt"))
    assert "--reader NAME" in told_of(caught.value, capsys)
