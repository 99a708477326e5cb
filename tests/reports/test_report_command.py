"""`rageval-report report ... -o report.html`."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from rageval_report.cli import rageval_report


@pytest.fixture
def files(bm25, hybrid, tmp_path, monkeypatch):
    bm25.save(tmp_path / "bm25.csv")
    hybrid.save(tmp_path / "hybrid.csv")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(words: str):
    return CliRunner().invoke(rageval_report, words.split())


def test_one_file_is_the_report_of_one_pipeline(files):
    result = run("report bm25.csv -o report.html")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr.splitlines()[-1] == "note: wrote report.html"
    page = (files / "report.html").read_text()
    assert "<title>Evaluation of bm25</title>" in page
    assert 'id="queries"' in page


def test_of_several_files_the_first_is_the_baseline(files):
    assert run("report bm25.csv new=hybrid.csv -o report.html -q").exit_code == 0
    page = (files / "report.html").read_text()
    assert "<title>new against bm25</title>" in page
    assert "baseline bm25, candidate new" in page


def test_a_file_that_is_there_is_kept_unless_forced(files):
    (files / "report.html").write_text("mine")
    result = run("report bm25.csv -o report.html")
    assert result.exit_code == 2
    assert "exists already; replace it with --force" in result.stderr
    assert (files / "report.html").read_text() == "mine"
    assert run("report bm25.csv -o report.html --force").exit_code == 0


def test_the_settings_reach_the_page(files):
    told = "--by topic --confidence-level 0.9 --metric faithfulness --metric exact_match"
    assert run(f"report bm25.csv hybrid.csv {told} -o a.html --no-pictures").exit_code == 0
    page = (files / "a.html").read_text()
    assert "90 % CI" in page
    assert 'class="picture"' not in page
    assert "latency_ms" not in page.split("<main>")[1].split('<script type="application/json"')[0]


def test_long_texts_can_be_cut(files):
    assert run("report bm25.csv -o a.html --longest-text 5").exit_code == 0
    assert "more characters are left out" in (files / "a.html").read_text()


def test_what_belongs_to_a_page_is_refused_without_one(files):
    result = run("report bm25.csv --no-pictures")
    assert result.exit_code == 2
    assert "are for a page: -o FILE.html" in result.stderr


def test_html_on_standard_output_is_the_tables_alone(files):
    told = run("report bm25.csv hybrid.csv --format html").stdout
    assert told.count("<table") == 3  # of each pipeline, and of their comparison
    assert "<script" not in told


@pytest.mark.parametrize("suffix", ["md", "tex", "txt", "csv", "json"])
def test_other_files_hold_the_tables_one_after_the_other(files, suffix):
    assert run(f"report bm25.csv hybrid.csv -o a.{suffix}").exit_code == 0
    assert run(f"report bm25.csv hybrid.csv --format {FORMATS[suffix]} --verbose").stdout == (
        (files / f"a.{suffix}").read_bytes().decode()
    )


FORMATS = {"md": "markdown", "tex": "latex", "txt": "table", "csv": "csv", "json": "json"}


def test_files_that_share_no_query_are_refused(files):
    (files / "other.csv").write_text("query_id,recall\nx1,0.5\nx2,1\n")
    result = run("report bm25.csv other.csv -o a.html")
    assert result.exit_code == 2
    assert "share no query id" in result.stderr
    assert not (files / "a.html").exists()


def test_of_several_files_the_comparison_comes_last(files):
    told = run("report bm25.csv hybrid.csv").stdout
    alone = run("compare bm25.csv hybrid.csv").stdout
    assert told.index("bm25: 4 of 7 queries") < told.index("hybrid: 5 of 8 queries")
    answer = alone[: alone.index("\nNote: ")]
    assert told.split("hybrid: 5 of 8 queries")[1].count(answer) == 1


def test_files_that_share_no_query_are_reported_without_a_comparison(files):
    (files / "other.csv").write_text("query_id,recall\nx1,0.5\nx2,1\n")
    result = run("report bm25.csv other.csv")
    assert result.exit_code == 0
    assert "note: the pipelines are not compared: " in result.stderr
    assert "Evaluation of other" in result.stdout


def test_for_programs_there_is_one_table_per_pipeline(files):
    told = run("report bm25.csv hybrid.csv --format csv").stdout.splitlines()
    assert len(told) == 1 + 2 * 4
    assert {line.partition(",")[0] for line in told[1:]} == {"bm25", "hybrid"}


# -- compare writes the same page


def test_compare_writes_the_page_of_a_comparison(files):
    result = run("compare bm25.csv hybrid.csv -o a.html")
    assert (result.exit_code, result.stdout) == (0, "")
    run("report bm25.csv hybrid.csv -o b.html")
    assert (files / "a.html").read_bytes() == (files / "b.html").read_bytes()


def test_the_plain_table_is_asked_for_by_format(files):
    assert run("compare bm25.csv hybrid.csv -o a.html --format html").exit_code == 0
    told = run("compare bm25.csv hybrid.csv --format html").stdout
    assert (files / "a.html").read_bytes().decode() == told
    assert "<script" not in told


def test_the_settings_of_the_comparison_reach_its_page(files):
    words = "--metric faithfulness --correction bh --no-pictures --longest-text 5"
    assert run(f"compare bm25.csv hybrid.csv -o a.html {words}").exit_code == 0
    page = (files / "a.html").read_text()
    assert "correction:bh" in page.replace("<wbr>", "")
    assert 'class="picture"' not in page
    assert "more characters are left out" in page
    assert run("compare bm25.csv hybrid.csv --no-pictures").exit_code == 2


def test_the_doubts_of_a_page_are_also_on_standard_error(files):
    row = {"question": "Why?", "answer": "So.", "relevant": ["out/a.md"], "retrieved": ["a.md"]}
    lines = [json.dumps({"query_id": f"q{i}", **row}) for i in range(12)]
    (files / "answered.jsonl").write_text("\n".join(lines))
    run("score --records answered.jsonl --metric recall@2 --queries ids.json")
    doubts = [line for line in run("report ids.json").stderr.splitlines() if "doubt: " in line]
    assert doubts
    told = run("report ids.json -o a.html").stderr.splitlines()
    assert [line for line in told if "doubt: " in line] == doubts
