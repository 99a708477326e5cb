"""`rageval-report report ... -o report.html`."""

from __future__ import annotations

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


# -- compare writes the same page


def test_compare_writes_the_page_of_a_comparison(files):
    result = run("compare bm25.csv hybrid.csv -o a.html")
    assert (result.exit_code, result.stdout) == (0, "")
    run("report bm25.csv hybrid.csv -o b.html")
    assert (files / "a.html").read_bytes() == (files / "b.html").read_bytes()
