"""A command added from outside, by a line in Python or an entry point, is one like the others."""

from __future__ import annotations

import sys
import types
from importlib import metadata

import click
import pytest
from click.testing import CliRunner

from rageval_report import RAGPipelineEvaluation
from rageval_report.cli import rageval_report
from rageval_report.cli.command import command
from rageval_report.cli.group import COMMANDS
from rageval_report.cli.options import Options
from rageval_report.cli.output import Output

SCORES = "query_id,recall@5\na,0.5\nb,1\n"


def worst(options: Options) -> int:
    """Show the queries with the lowest scores."""
    evaluation = RAGPipelineEvaluation.load(None, options.file)
    Output.of(options).write(evaluation.failures(options.metric, "median"))
    return 3


@click.command()
@click.argument("word")
def echo(word: str) -> None:
    """Say a word again."""
    click.echo(word)


@click.command()
def broken() -> None:
    """Fail."""
    raise ZeroDivisionError("by zero")


@pytest.fixture(autouse=True)
def commands(monkeypatch):
    """The table of commands, as it is before anybody has looked for entry points."""
    monkeypatch.setattr(COMMANDS, "_entries", dict(COMMANDS._entries))
    monkeypatch.setattr(COMMANDS, "_distributions", {})
    monkeypatch.setattr(COMMANDS, "_group", "rageval_report.commands")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scores.csv").write_text(SCORES)
    return lambda *words: CliRunner().invoke(rageval_report, words)


def test_one_line_adds_it(run):
    row = {"arguments": "FILE", "shown": "metric! OUTPUT", "examples": ["worst a.csv"]}
    COMMANDS.add("worst", command("worst", **row)(worst))
    result = run("worst", "scores.csv", "--metric", "recall@5", "--format", "csv", "--quiet")
    assert result.exit_code == 3  # what its body returned
    assert [line.split(",")[0] for line in result.stdout.splitlines()] == ["query_id", "a"]
    shown = " ".join(run("--help").stdout.split())
    assert "worst Show the queries with the lowest scores." in shown
    assert "--format [table|" in run("worst", "--help-all").stdout


def test_any_command_of_click_will_do(run):
    COMMANDS.add("echo", echo)
    assert run("echo", "again").stdout == "again\n"


class FakeDistribution(metadata.Distribution):
    """As if a wheel with these entry points was installed."""

    def __init__(self, points):
        self.points = points

    def read_text(self, filename):
        if filename == "entry_points.txt":
            lines = [f"{name} = {place}" for name, place in self.points.items()]
            return "\n".join(["[rageval_report.commands]", *lines])
        return "Name: starverbs\nVersion: 1.5\n" if filename == "METADATA" else None

    def locate_file(self, path):
        return path


@pytest.fixture
def install(monkeypatch):
    def install_(**points: str) -> None:
        plugin = types.ModuleType("starverbs")
        plugin.echo, plugin.broken = echo, broken
        for verb in (echo, broken):  # as if they were written there
            monkeypatch.setitem(verb.callback.__globals__, "__name__", "starverbs")
        monkeypatch.setitem(sys.modules, "starverbs", plugin)
        distribution = FakeDistribution(points)
        real, real_points = metadata.distributions, metadata.entry_points
        monkeypatch.setattr(metadata, "distributions", lambda: [*real(), distribution])
        monkeypatch.setattr(
            metadata,
            "entry_points",
            lambda **given: (
                [*real_points(**given), *distribution.entry_points]
                if given == {"group": "rageval_report.commands"}
                else real_points(**given)
            ),
        )

    return install_


def test_an_entry_point_brings_it(run, install):
    install(echo="starverbs:echo")
    assert run("echo", "again").stdout == "again\n"
    assert "Say a word again." in run("--help").stdout


def test_what_it_raises_is_blamed_on_it_by_name(run, install):
    install(broken="starverbs:broken")
    result = run("broken")
    assert result.exit_code == 70
    assert "ZeroDivisionError: by zero" in result.stderr
    assert result.stderr.splitlines()[-1] == (
        "rageval-report: the plug-in 'broken' of starverbs 1.5 raised ZeroDivisionError; please "
        "report it to its authors with the lines above"
    )


def test_one_that_cannot_be_loaded_is_named_and_hides_no_other(run, install):
    install(echo="starverbs:echo", gone="starverbs:gone")
    result = run("gone")
    assert result.exit_code == 2
    assert "the plug-in command 'gone' of starverbs 1.5 cannot be loaded" in result.stderr
    help_page = run("--help")
    assert help_page.exit_code == 0
    assert "Say a word again." in help_page.stdout
    assert "note: the plug-in command 'gone' of starverbs 1.5" in help_page.stderr
