"""Files turned into other files, and the list of what is read."""

import json
from pathlib import Path

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, score_rankings
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


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet", "json"])
def test_what_is_exported_keeps_its_metrics(table, run, suffix):
    rows = {"query_id": ["a", "b"], "recall": [0.5, 1.0], "n_retrieved": [3, 5]}
    scores = RAGPipelineEvaluation("hybrid", rows, metrics=["recall"])
    scores.save("saved.jsonl")
    assert run(f"export saved.jsonl -o out.{suffix}").exit_code == 0
    again = RAGPipelineEvaluation.load(None, f"out.{suffix}")
    assert (again.name, again.metrics) == ("hybrid", scores.metrics)
    assert list(again.details) == ["n_retrieved"]


def test_a_table_on_standard_output_says_what_it_lacks(table, run):
    assert "-o scores.csv writes that to a second file" in run("export run.csv").stderr
    assert run("export run.csv --to jsonl").stderr.count("second file") == 0
    assert run("export run.csv --quiet").stderr == ""


def test_scores_of_rankings_compare_as_before_they_were_saved(folder, run):
    """Documents and judgments by hand; the p-value is that of the evaluations in memory."""
    judgments = [f"q{n} 0 d{n} 1\nq{n} 0 d{n + 1} 1" for n in range(8)]
    Path("qrels.txt").write_text("\n".join(judgments) + "\n", encoding="utf-8")
    for name, step in (("sparse", 3), ("dense", 2)):
        lines = [
            f"q{n} Q0 d{(n * step + place) % 9} {place + 1} {9 - place} t"
            for n in range(8)
            for place in range(4)
        ]
        Path(f"{name}.run").write_text("\n".join(lines) + "\n", encoding="utf-8")
        command = f"score --run {name}.run --qrels qrels.txt --metric ndcg@10 --queries {name}.csv"
        assert run(command).exit_code == 0
    document = json.loads(run("compare sparse.csv dense.csv --format json").stdout)
    runs = [score_rankings(f"{name}.run", "qrels.txt", "ndcg@10") for name in ("sparse", "dense")]
    [row] = document["rows"]
    assert row["pvalue"] == compare(*runs).frame["pvalue"].iloc[0]


def test_files_that_were_saved_under_one_name_are_named_by_file(folder, run):
    rows = {"query_id": list("abcdefg"), "recall": [0, 1, 1, 0, 1, 0.5, 1]}
    for name in ("monday", "friday"):
        RAGPipelineEvaluation("hybrid", rows).save(f"{name}.csv")
    result = run("compare monday.csv friday.csv")
    assert result.exit_code == 0
    assert result.stdout.startswith("friday and monday have the same scores on every query")
    assert run("compare monday.csv friday.csv --verbose").stdout.startswith("friday against monday")


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
    again = run("export", f"safe.{kind}", "--to", kind)
    assert again.stdout == plain


def test_tables_of_results_are_neutralised_on_request(folder, run):
    (folder / "hostile.csv").write_text(HOSTILE)
    words = ("failures", "hostile.csv", "--metric", "mrr", "--threshold", "0.9", "--format", "csv")
    assert "'=q1" not in run(*words).stdout
    assert "'=q1" in run(*words, "--neutralise-formulas").stdout
    refused = run(
        "failures", "hostile.csv", "--metric", "mrr", "--threshold", "0.9", "--neutralise-formulas"
    )
    assert refused.exit_code == 2
    assert "--neutralise-formulas is for csv and tsv" in refused.stderr


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
        *(("export", "hostile.csv", "--to", "review-markdown"), ("report", "\x1b[31mnone.csv")),
        ("report", "hostile.csv", "--\x1b[31m\u202e"),
    ):
        result = run(*words)
        told = result.stdout + result.stderr
        assert told
        assert "\x1b" not in told, words
        assert "\u202e" not in told, words
