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


def test_without_a_file_the_rows_go_to_standard_output(table, run):
    result = run("export run.csv")
    assert result.stdout == "query_id,question,recall\nq1,Who?,0.5\nq2,Why?,\n"


def test_a_run_file_tells_states(table, run):
    document = json.loads(run("export run.csv --to json").stdout)
    assert document["queries"][1]["states"] == {"recall": "missing"}
    assert document["name"] == "run"


def test_a_review_sheet_has_blank_columns(table, run):
    header = run("export run.csv --to review").stdout.splitlines()[0]
    assert header.endswith("answer_correct,citations_correct,faithfulness,notes")
    assert "## q1" in run("export run.csv --to review-markdown").stdout
    assert "| q1" in run("export run.csv --to markdown").stdout


def test_what_cannot_be_written_is_told_before_anything_is_read(table, refused):
    assert "choose with --to" in refused("export run.csv -o out.xyz")
    assert "Parquet is not text" in refused("export run.csv --to parquet")
    (table / "there.csv").write_text("")
    assert "exists already; replace it with --force" in refused("export run.csv -o there.csv")


def test_every_reader_is_listed_with_its_sentence(run):
    listed = json.loads(run("formats --format json").stdout)
    rows = listed["rows"] if "rows" in listed else listed["formats"]["rows"]
    assert [row["reader"] for row in rows] == list(READERS)
    assert all(row["reads"] and row["example"] for row in rows)
