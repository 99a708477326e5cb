"""docs/from_other_tools.md: what it calls ours is there, and known by the names that it gives."""

import re
from pathlib import Path

import click
import pytest

import rageval_report
from rageval_report import METRICS, metrics
from rageval_report.cli import rageval_report as command_line
from rageval_report.metrics.trace_results import TraceResult
from rageval_report.scores import Catalogue
from rageval_report.scores.catalogue.dialects import DIALECTS

PAGE = (Path(__file__).parents[1] / "docs" / "from_other_tools.md").read_text(encoding="utf-8")


def cells(column):
    """The cells of one column of all tables, without their heads."""
    rows = re.findall(r"^\|(.+)\|$", PAGE, re.MULTILINE)
    split = [[cell.strip() for cell in row.split("|")] for row in rows]
    return [row[column] for row in split if row[0] != "there" and set(row[0]) != {"-"}]


def codes_of_ours():
    return sorted({code for cell in cells(1) for code in re.findall(r"`([^`]+)`", cell)})


def command_of(words):
    """The command, and the words after it."""
    command = command_line
    while words and isinstance(command, click.Group):
        if words[0].startswith("--") and (default := getattr(command, "default", None)):
            words = [default, *words]
        found = command.get_command(click.Context(command), words[0])
        assert found is not None, f"there is no command {words[0]!r}"
        command, words = found, words[1:]
    return command, words


# Words of the records and of an option's value, which are no names of the package.
FIELDS = {"relevant", "question", "answer", "retrieved", "citations", "-o report.html"}
NOT_OURS_ALONE = {'dialect="haystack"', 'metrics=["ndcg@10"]', "--match-ids"}


def is_known(code):
    if code in FIELDS | NOT_OURS_ALONE:
        return True
    if code.startswith("--dialect "):
        return code.split()[1] in DIALECTS
    if code.startswith("metrics."):
        return code.removeprefix("metrics.") in metrics.__all__
    head, _, attribute = code.partition(".")
    if head == "TraceResult":
        return hasattr(TraceResult, attribute)
    if head in rageval_report.__all__:
        return not attribute or hasattr(getattr(rageval_report, head), attribute)
    dialect_names = {name for dialect in DIALECTS.values() for name in dialect.names()}
    return Catalogue().find(code.replace("@k", "@5")) is not None or code in dialect_names


def test_the_page_has_a_table_for_each_tool():
    heads = re.findall(r"^## (.+)$", PAGE, re.MULTILINE)
    tools = ["datapizza", "WFGY", "ragbench", "ADR-013", "Haystack", "Ragas", "promptfoo", "ranx"]
    assert len(heads) == len(tools)
    for head, tool in zip(heads, tools, strict=True):
        assert tool in head
    assert len(cells(1)) > 50


@pytest.mark.parametrize("code", [c for c in codes_of_ours() if not c.startswith("rageval-report")])
def test_a_name_of_ours_exists(code):
    assert is_known(code), code


@pytest.mark.parametrize("code", [c for c in codes_of_ours() if c.startswith("rageval-report")])
def test_a_command_of_ours_exists_with_its_options(code):
    command, words = command_of(code.split()[1:])
    options = {name for parameter in command.params for name in parameter.opts}
    for word in words:
        if word.startswith("--"):
            assert word in options, f"{code}: {word}"
        elif not word.isupper():  # the value of --judge, not the place of a name
            assert word in METRICS


def test_a_name_that_is_not_there_is_noticed():
    assert not is_known("metrics.no_such_metric")
    assert not is_known("RAGPipelineEvaluation.no_such_method")
    assert not is_known("no_such_metric_at_all")
