"""What is named on the command line, and the small languages of its options."""

from __future__ import annotations

from pathlib import Path

import pytest
from rageval_report.cli.parsing import metrics_in_rule, parse_correct_rule

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


@pytest.mark.parametrize(
    ("told", "rule"),
    [
        ("exact_match", "exact_match"),
        (" is right ", "is right"),
        ("recall@5>=1", {"recall@5": 1.0}),
        ("Answer Relevancy >= .5", {"Answer Relevancy": 0.5}),
        ("a>=0.5,b<=-1e3", {"a": 0.5, "b": -1000.0}),
    ],
)
def test_a_rule_is_a_name_or_thresholds(told, rule):
    assert parse_correct_rule(told) == rule
    assert metrics_in_rule(told) == ([rule] if isinstance(rule, str) else list(rule))


@pytest.mark.parametrize("told", ["a>0.5", "a<1", "a,b", "a>=0.5,", "a>=x", ">=1", "a>="])
def test_a_rule_that_cannot_be_read_is_shown_how(told):
    with pytest.raises(DataError, match=r"faithfulness>=0\.8"):
        parse_correct_rule(told)


def test_every_pipeline_of_a_file_is_loaded(demo_folder):
    found = Loading().load_every(["promptfoo.json", "old.csv"])
    assert [one.name for one in found] == ["gpt-4o", "llama-3", "old"]


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
