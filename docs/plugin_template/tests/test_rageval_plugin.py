"""Every member of the package, found by its name: the package must be installed."""

from __future__ import annotations

import json
import subprocess
import sys

import matplotlib as mpl
import pytest
from rageval_plugin import answer_please

from rageval_report import RAGPipelineEvaluation, read_scores, score
from rageval_report.errors import UnknownNameError
from rageval_report.judges import FunctionChat
from rageval_report.plots import PLOTS

mpl.use("Agg")

ROWS = [
    {
        "query_id": "q1",
        "question": "Where?",
        "answer": "Over there, please.",
        "reference": "There.",
    },
    {"query_id": "q2", "question": "When?", "answer": "No.", "reference": "Now."},
]


@pytest.fixture
def stars(tmp_path):
    """A file of the format that the reader understands."""
    path = tmp_path / "run.stars"
    path.write_text("STARS\nq1 ***\nq2 *****\n")
    return path


@pytest.fixture
def records(tmp_path):
    """A file of answers."""
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def command(*words):
    """Run the command line of this environment."""
    program = [sys.executable, "-m", "rageval_report", *map(str, words)]
    return subprocess.run(program, capture_output=True, text=True, check=False)


# -- through Python


def test_the_reader_recognises_its_files(stars):
    (evaluation,) = read_scores(stars).values()
    assert evaluation.get_aggregated_scores("stars") == (3 + 5) / 2
    assert RAGPipelineEvaluation.load("mine", stars).metrics["stars"].bounds == (0.0, 5.0)


def test_the_metric_is_computed_by_its_name():
    assert score(ROWS, ["answer_words"]).scores["answer_words"].tolist() == [3.0, 1.0]


def test_the_rubric_judges_by_its_name():
    judged = score(ROWS, ["politeness"], chat=FunctionChat(answer_please, "please-1"))
    assert judged.scores["politeness"].tolist() == [1.0, 0.0]  # grades 5 and 1 on a scale of 1 to 5


def test_the_plot_takes_its_own_option(stars):
    (evaluation,) = read_scores(stars).values()
    (bar,) = evaluation.plot(PLOTS["bars"], "stars", height=2.0).patches
    assert bar.get_height() == 8.0


def test_a_misspelt_name_is_answered_with_that_of_the_metric():
    with pytest.raises(UnknownNameError, match="Did you mean 'answer_words'"):
        score(ROWS, ["answer_wordz"])


# -- through the command line


def test_the_command_line_reads_scores_and_judges(stars, records):
    judge = ("judge", records, "--judge", "politeness", "--provider", "please", "--no-cache")
    for words, title in {
        ("report", stars): "Stars",
        ("score", "--records", records, "--metric", "answer_words"): "Answer Words",
        (*judge, "--model", "please-1"): "Politeness",
    }.items():
        done = command(*words)
        assert done.returncode == 0, done.stderr
        assert title in done.stdout


def test_the_command_line_draws_the_plot(stars, tmp_path):
    picture = tmp_path / "stars.png"
    done = command("plot", stars, "--kind", "bars", "-o", picture)
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_command_line_answers_a_misspelt_name(records):
    done = command("score", "--records", records, "--metric", "answer_wordz")
    assert done.returncode == 2
    assert "Did you mean 'answer_words'?" in done.stderr
