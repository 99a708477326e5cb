"""The name that was meant, where a file does not exist."""

from pathlib import Path

import pytest

from rageval_report.errors import ReaderError
from rageval_report.files.near_names import hint_for_missing
from rageval_report.files.source import Source


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("bm25.csv", "hybrid.csv", "hybrid.parquet", "notes.md", "runs/monday.json"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("x")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("hybird.csv", "hybrid.csv"),  # letters swapped
        ("hybrid.json", "hybrid.csv"),  # another ending: the one that sorts first
        ("BM25.csv", "bm25.csv"),
        ("bm2.csv", "bm25.csv"),
        ("runs/munday.json", "runs/monday.json"),
    ],
)
def test_a_near_name_in_the_folder_is_suggested(typed, meant):
    assert hint_for_missing(Path(typed)) == f". Did you mean '{meant}'?"
    with pytest.raises(ReaderError, match=f"there is no such file. Did you mean '{meant}'"):
        len(Source(typed).text)


def test_no_name_is_suggested_where_none_is_near():
    assert hint_for_missing(Path("reranked.csv")) == ""
    assert hint_for_missing(Path("runs/friday_late.json")) == ""


def test_a_folder_that_does_not_exist_is_said_and_a_near_one_suggested():
    assert (
        hint_for_missing(Path("elsewhere/a.csv")) == ". The folder elsewhere does not exist either."
    )
    assert hint_for_missing(Path("rnus/monday.json")) == (
        ". The folder rnus does not exist either. Did you mean 'runs'?"
    )


def test_a_path_that_cannot_be_looked_at_has_no_hint():
    assert hint_for_missing(Path("bm25.csv/a.csv")).startswith(". The folder bm25.csv does not")
    assert hint_for_missing(Path("a\0b/c.csv")) in ("", ". The folder a\0b does not exist either.")
    assert hint_for_missing(Path("x" * 5000)) == ""
