"""Files of a report: written whole or not at all, kept unless forced, each suffix its form."""

from __future__ import annotations

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
