"""The commands on golden sets and on data sets."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from rageval_report.golden import read_golden


def rows_of(result):
    return json.loads(result.stdout)["rows"]


def test_a_set_with_errors_ends_with_one_and_lists_them(demo_folder, run):
    row = {"query_id": "q9", "question": "who wrote hamlet", "answerable": True}
    with (demo_folder / "golden.jsonl").open("a") as file:
        file.write(json.dumps(row) + "\n")
    result = run("golden check golden.jsonl --format json")
    assert result.exit_code == 1
    errors = [
        (one["check"], one["query_id"]) for one in rows_of(result) if one["severity"] == "error"
    ]
    assert errors == [("fields", "q9"), ("duplicates", "q9")]


def test_warnings_end_with_one_only_where_it_is_strict(demo_folder, run):
    assert run("golden check golden.jsonl").exit_code == 0
    assert run("golden check golden.jsonl --strict").exit_code == 1


def test_the_queries_that_are_needed_are_those_of_statsmodels(demo_folder, run):
    power = pytest.importorskip("statsmodels.stats.power")  # 0.14
    result = run("golden check golden.jsonl --difference 0.05 --sd 0.4 --format json")
    [size] = [one for one in rows_of(result) if one["check"] == "size"]
    exact = power.TTestPower().solve_power(0.05 / 0.4, power=0.8, alpha=0.05)
    assert size["value"] == int(exact) + 1


def test_a_sample_goes_to_standard_output_where_no_file_is_named(demo_folder, run):
    result = run("golden sample golden.jsonl --n 4 --by query_type")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert (
        sorted(row["metadata"]["query_type"] for row in rows) == ["factoid"] * 2 + ["summary"] * 2
    )


def test_a_review_is_applied(demo_folder, run):
    words = "golden review golden.jsonl --decisions review.json --reviewer eve -o done.jsonl"
    result = run(words)
    assert "1 accept" in result.stderr
    items = {one.query_id: one for one in read_golden("done.jsonl")}
    assert set(items) == {f"q{n}" for n in range(8)} - {"q1"}
    assert items["q2"].provenance["review"] == {"decision": "accept", "reviewer": "eve"}


def test_what_is_generated_can_be_checked_and_its_rejects_are_written(demo_folder, run):
    words = (
        "golden make docs --chat my_chat:ask --factoid 3 --unanswerable 2 -o drafts.jsonl "
        "--rejected rejected.csv"
    )
    result = run(words)
    assert result.exit_code == 0, result.stderr
    items = read_golden("drafts.jsonl")
    assert [one.answerable for one in items] == [True] * 3 + [False] * 2
    assert Path("rejected.csv").read_text().startswith("kind,passage,question,reason")
    checked = run("golden check drafts.jsonl --documents docs --skip balance --difference 0.9")
    assert checked.exit_code == 0, checked.output


def test_ground_truth_of_named_queries_is_read_as_a_golden_set(demo_folder, run, refused):
    words = "golden references nfcorpus.zip --chat my_chat:ask -o truth.jsonl --query"
    assert run(f"{words} PLAIN-1").exit_code == 0
    [item] = read_golden("truth.jsonl")
    assert (item.query_id, item.references, item.relevant) == (
        *("PLAIN-1", ("It is healthy.",)),
        {"MED-1": 2.0},
    )
    assert "no query has the id 'PLAIN-9'" in refused(f"{words} PLAIN-9 --force")


def test_the_list_of_data_sets_has_licence_and_size(folder, run):
    rows = rows_of(run("datasets --format json"))
    assert {"squad_v2", "ragbench", "beir", "golden"} <= {row["dataset"] for row in rows}
    assert all(row["licence"] and row["questions"] for row in rows)


def test_a_golden_set_is_counted_by_its_path(demo_folder, run):
    rows = rows_of(run("datasets golden.jsonl --format json"))
    counts = {(row["by"], row["value"]): row["n"] for row in rows}
    assert counts["all", "questions"] == 8
    assert counts["query_type", "factoid"] == counts["query_type", "summary"] == 4


def test_an_archive_that_leads_out_is_refused_in_one_line(folder, refused):
    with zipfile.ZipFile("evil.zip", "w") as archive:
        archive.writestr("../evil.jsonl", "{}")
    assert "contains paths outside its root" in refused("datasets beir --path evil.zip")


def test_a_generated_set_is_asked_of_a_pipeline_that_names_documents(demo_folder, run):
    run("golden make docs --chat my_chat:ask --factoid 3 --unanswerable 0 -o drafts.jsonl")
    assert run("golden records drafts.jsonl --gold documents -o asked.jsonl").exit_code == 0
    (demo_folder / "my_rag.py").write_text(
        "def answer(question):\n    return {'answer': '47 miles', 'retrieved': ['4.md']}\n"
    )
    words = "eval --callable my_rag:answer --records asked.jsonl --metric recall@5 -o run"
    result = run(f"{words} --format json")
    assert result.exit_code == 0, result.output
    golds = [one.relevant_spans[0].filename for one in read_golden("drafts.jsonl")]
    [row] = rows_of(result)
    assert row["mean"] == pytest.approx(golds.count("4.md") / 3)


def test_what_is_said_of_many_questions_is_one_line_for_people(demo_folder, run):
    rows = [{"query_id": f"n{n}", "question": f"What is {n**7}?"} for n in range(9)]
    Path("bare.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    shown = run("golden check bare.jsonl --skip balance --skip leakage")
    assert shown.stdout.count("answerable is missing") == 1
    assert "9 questions" in shown.stdout
    listed = rows_of(run("golden check bare.jsonl --skip balance --format json"))
    assert [one["query_id"] for one in listed if one["check"] == "fields"] == [
        f"n{n}" for n in range(9)
    ]
