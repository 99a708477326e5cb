"""Files of a report: written whole or not at all, kept unless forced, each suffix its form."""

from __future__ import annotations

from pathlib import Path

import pytest

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.reports.report import FORMS


@pytest.fixture(scope="module")
def report(comparison):
    return comparison.report(pictures=False)


def test_each_suffix_gives_its_form(report, tmp_path):
    signs = {
        ".html": "<!doctype html>",
        ".htm": "<!doctype html>",
        ".md": "# hybrid against bm25",
        ".tex": r"\begin{document}",
        ".txt": "hybrid against bm25\n===",
    }
    assert set(signs) == set(FORMS)
    for suffix, sign in signs.items():
        path = report.save(tmp_path / f"report{suffix}")
        assert sign in path.read_text(encoding="utf-8")


def test_another_suffix_is_refused(report, tmp_path):
    with pytest.raises(UnknownNameError, match=r"\.doc"):
        report.save(tmp_path / "report.doc")


def test_a_file_that_is_there_is_replaced_or_kept(report, tmp_path):
    path = tmp_path / "report.txt"
    path.write_text("mine")
    with pytest.raises(DataError, match="exists already; replace it with force"):
        report.save(path, force=False)
    assert path.read_text() == "mine"
    report.save(path)
    assert path.read_text().startswith("hybrid against bm25")


def test_a_folder_is_no_file(report, tmp_path):
    (tmp_path / "x.html").mkdir()
    with pytest.raises(DataError, match="is a folder"):
        report.save(tmp_path / "x.html")


def test_a_full_disk_leaves_nothing_half_written(report, tmp_path, monkeypatch):
    def full(self, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DataError, match="No space left on device"):
        report.save(tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_may_not_be_written_to_is_told(report, tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("rageval_report.files.writing.os.open", refuse)
    with pytest.raises(DataError, match=r"report\.html cannot be written: Permission denied"):
        report.save(tmp_path / "report.html")


def test_a_folder_that_is_not_there_is_made(report, tmp_path):
    assert report.save(tmp_path / "new" / "report.txt").stat().st_size > 0


def test_its_repr_is_short(report):
    assert repr(report).startswith("Report('hybrid against bm25', 5 verdicts, ")
    assert len(repr(report)) < 100
    assert str(report) == repr(report)


def test_the_same_report_is_the_same_file(comparison):
    assert comparison.report(by=()).to_html() == comparison.report(by=()).to_html()


def test_a_limit_of_texts_must_be_a_number_above_zero(comparison):
    with pytest.raises(DataError, match="longest_text must be an integer >= 1; got 0"):
        comparison.report(longest_text=0)
