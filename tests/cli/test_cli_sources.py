"""What is named on the command line, and the small languages of its options."""

from __future__ import annotations

from pathlib import Path

import pytest

from rageval_report.cli.sources import Loading, PipelineSource, parse_source, parse_sources
from rageval_report.errors import DataError


@pytest.mark.parametrize(
    ("told", "source"),
    [
        ("a.csv", PipelineSource("a.csv")),
        ("new=a.csv", PipelineSource("a.csv", name="new")),
        ("a.json::dense", PipelineSource("a.json", pipeline="dense")),
        ("new=a.json::dense", PipelineSource("a.json", name="new", pipeline="dense")),
        ("new = runs/a.csv", PipelineSource(" runs/a.csv", name="new")),
        ("-", PipelineSource("-")),
        ("new=-", PipelineSource("-", name="new")),
        ("=a.csv", PipelineSource("=a.csv")),
        ("::dense", PipelineSource("::dense")),
        ("C:\\runs\\a.csv", PipelineSource("C:\\runs\\a.csv")),
    ],
)
def test_a_source_is_name_file_and_pipeline(told, source):
    assert parse_source(told) == source


def test_a_file_that_is_there_is_taken_as_it_is_called(folder):
    Path("k=5.csv").write_text("")
    Path("a::b.csv").write_text("")
    assert parse_source("k=5.csv") == PipelineSource("k=5.csv")
    assert parse_source("new=k=5.csv") == PipelineSource("k=5.csv", name="new")
    assert parse_source("a::b.csv") == PipelineSource("a::b.csv")


def test_files_of_one_name_are_told_apart_by_their_folders():
    names = [
        source.name for source in parse_sources(["old/run.csv.gz", "new/run.json", "other.csv"])
    ]
    assert names == ["old/run", "new/run", None]


def test_standard_input_is_read_once_only():
    with pytest.raises(DataError, match="once only"):
        parse_sources(["-", "new=-"])


def test_one_of_several_pipelines_may_be_picked_and_named(demo_folder):
    [found] = Loading().load_every(["new=promptfoo.json::gpt-4o"])
    assert found.name == "new"


def test_pipelines_of_a_named_file_carry_its_name(demo_folder):
    found = Loading().load_every(["new=promptfoo.json"])
    assert [one.name for one in found] == ["new/gpt-4o", "new/llama-3"]


def test_pipelines_of_one_name_in_two_files_carry_the_names_of_their_files(demo_folder):
    Path("later.json").write_bytes(Path("promptfoo.json").read_bytes())
    found = Loading().load_every(["promptfoo.json", "later.json"])
    assert [one.name for one in found] == [
        *("promptfoo/gpt-4o", "promptfoo/llama-3", "later/gpt-4o", "later/llama-3")
    ]


def test_two_of_one_name_are_refused_whatever_they_come_from(demo_folder):
    with pytest.raises(DataError, match="two runs are named 'old'"):
        Loading().load_every(["old.csv", "old=new.csv"])
