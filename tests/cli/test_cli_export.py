"""Files turned into other files, and the list of what is read."""

import json

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.readers import READERS

TABLE = "query_id,question,recall\nq1,Who?,0.5\nq2,Why?,\n"


@pytest.fixture
def table(folder):
    (folder / "run.csv").write_text(TABLE)
    return folder


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_what_is_exported_reads_back_with_the_same_scores(table, run, suffix):
    assert run(f"export run.csv -o out.{suffix}").exit_code == 0
    again = RAGPipelineEvaluation.load("again", table / f"out.{suffix}")
    ours = RAGPipelineEvaluation.load("ours", table / "run.csv")
    pd.testing.assert_frame_equal(again.scores, ours.scores)


def test_a_review_sheet_has_blank_columns(table, run):
    header = run("export run.csv --to review").stdout.splitlines()[0]
    assert header.endswith("answer_correct,citations_correct,faithfulness,notes")
    assert "| q1" in run("export run.csv --to markdown").stdout


def test_what_cannot_be_written_is_told_before_anything_is_read(table, refused):
    assert "choose with --to" in refused("export run.csv -o out.xyz")
    assert "Parquet is not text" in refused("export run.csv --to parquet")
    (table / "there.csv").write_text("")
    assert "exists already; replace it with --force" in refused("export run.csv -o there.csv")


def test_every_reader_is_listed_with_its_sentence(run):
    listed = json.loads(run("inspect --formats --format json").stdout)
    rows = listed["rows"] if "rows" in listed else listed["formats"]["rows"]
    assert [row["reader"] for row in rows] == list(READERS)
    assert all(row["reads"] and row["example"] for row in rows)


def test_a_table_on_standard_output_says_what_it_lacks(table, run):
    assert "-o scores.csv writes that to a second file" in run("export run.csv").stderr
    assert run("export run.csv --to jsonl").stderr.count("second file") == 0
    assert run("export run.csv --quiet").stderr == ""


HOSTILE = (
    "query_id,question,recall@5,mrr\n"
    "=q1,\"=cmd|' /C calc'!A0\",1,0.5\n"
    "q2,\x1b[31mred\u202egrp,0,1\n"
)


@pytest.mark.parametrize("kind", ["csv", "tsv"])
def test_formulas_are_neutralised_on_request(folder, run, kind):
    (folder / "hostile.csv").write_text(HOSTILE)
    plain = run("export", "hostile.csv", "--to", kind).stdout
    assert "\n=q1" in plain
    safe = run("export", "hostile.csv", "--to", kind, "--neutralise-formulas")
    assert "\n'=q1" in safe.stdout
    assert "begin with an apostrophe" in safe.stderr
    words = ("export", "hostile.csv", "-o", f"safe.{kind}", "--neutralise-formulas")
    assert run(*words).exit_code == 0
    assert "\n'=q1" in (folder / f"safe.{kind}").read_text()


def test_no_control_character_of_the_data_reaches_the_terminal(folder, run):
    (folder / "hostile.csv").write_text(HOSTILE)
    (folder / "bad\x1b[31m.csv").write_text("x")
    for words in (
        *(
            ("failures", "hostile.csv", "--metric", "mrr"),
            ("report", "hostile.csv"),
            ("inspect", "hostile.csv"),
        ),
        *(("report", "hostile.csv", "--metric", "\x1b[31m\u202e"), ("report", "bad\x1b[31m.csv")),
        ("report", "\x1b[31mnone.csv"),
        ("report", "hostile.csv", "--\x1b[31m\u202e"),
    ):
        result = run(*words)
        told = result.stdout + result.stderr
        assert told
        assert "\x1b" not in told, words
        assert "\u202e" not in told, words
