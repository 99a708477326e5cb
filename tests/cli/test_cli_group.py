"""What every command shares: versions, help, exit codes, one line for each error."""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Callable
from pathlib import Path

import click
import pytest

from rageval_report._version import __version__
from rageval_report.cli import rageval_report
from rageval_report.cli.group import COMMANDS
from rageval_report.errors import DataError, RagevalWarning

EVERY = ("demo", "report", "thresholds", "failures", "compare", "plot")


def test_the_version_is_told(run):
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"rageval-report {__version__}\n")


def test_the_version_is_that_of_the_distribution():
    assert importlib.metadata.version("rageval-report") == __version__


def test_help_names_every_command_with_a_whole_sentence(run):
    result = run("--help")
    assert result.exit_code == 0
    lines = [line.split(maxsplit=1) for line in result.stdout.splitlines() if line.strip()]
    told = {words[0]: words[1] for words in lines if words[0] in COMMANDS}
    assert tuple(told) == tuple(COMMANDS)
    assert all(sentence.endswith(".") and "..." not in sentence for sentence in told.values())


@pytest.mark.parametrize("command", EVERY)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_each_command_has_help_with_an_example(run, command, flag):
    result = run(command, flag)
    assert result.exit_code == 0
    assert f"  rageval-report {command} " in result.stdout + " "
    assert max(map(len, result.stdout.splitlines())) <= 100


@pytest.mark.parametrize("command", ["report", "thresholds", "failures", "compare"])
def test_each_table_can_be_had_in_eight_formats(run, command):
    told = run(command, "--help").stdout
    assert "[table|markdown|html|latex|json|csv|tsv|junit]" in told
    assert all(option in told for option in ("--output FILE", "--force", "--quiet"))


@pytest.mark.parametrize("command", ["report", "thresholds", "failures", "compare", "plot"])
def test_each_command_that_loads_has_the_options_of_loading(run, command):
    told = run(command, "--help").stdout
    options = ("--reader", "--query-id", "--lower", "--higher", "--bounds", "--duplicates")
    assert all(option in told for option in options)


def test_no_command_shows_the_help_and_counts_as_wrong_use(run):
    result = run()
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Commands:" in result.stderr


def test_an_unknown_command_is_answered_with_the_nearest(refused):
    assert "Did you mean 'report'?" in refused("reprot", "old.csv")


def test_an_unknown_option_says_where_to_look(refused):
    told = refused("report", "old.csv", "--colour")
    assert "--colour" in told
    assert "See rageval-report report --help" in told


def test_a_missing_argument_is_one_line(refused):
    assert "Missing argument 'FILE...'" in refused("report")


# -- whatever a command raises

Adder = Callable[[Callable[[], None]], None]


@pytest.fixture
def add_command(monkeypatch) -> Adder:
    """Add a command named "made" that does what it is told."""

    def add(body: Callable[[], None]) -> None:
        command = click.Command("made", callback=lambda **_: body(), params=[QUIET])
        monkeypatch.setitem(COMMANDS._entries, "made", command)

    return add


QUIET = click.Option(["--quiet"], is_flag=True)


def _raising(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


def test_bad_data_is_one_line_and_exit_code_2(add_command, refused):
    add_command(_raising(DataError("two\nlines of \x1b[31mtext")))
    assert refused("made") == "two lines of \ufffd[31mtext"


def test_a_missing_file_is_one_line_and_exit_code_2(add_command, refused, tmp_path: Path):
    add_command((tmp_path / "nowhere.csv").unlink)
    assert "No such file or directory" in refused("made")


def test_a_bug_shows_its_traceback_and_is_not_taken_for_a_failed_gate(add_command, run):
    add_command(_raising(ZeroDivisionError("by zero")))
    result = run("made")
    assert result.exit_code == 70
    assert "ZeroDivisionError: by zero" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("rageval-report: this is a bug")


def test_an_interrupt_exits_with_130_and_without_a_traceback(add_command, run):
    add_command(_raising(KeyboardInterrupt()))
    result = run("made")
    assert result.exit_code == 130
    assert result.stderr == "rageval-report: interrupted\n"


def test_an_interrupt_says_what_is_kept(add_command, run):
    add_command(_raising(KeyboardInterrupt("the answers are kept in run")))
    result = run("made")
    assert result.stderr == "rageval-report: interrupted: the answers are kept in run\n"


def _warn() -> None:
    warnings.warn("one text was split\ninto four", RagevalWarning, stacklevel=2)
    click.echo("the result")


def test_warnings_are_notes_beside_the_result(add_command, run):
    add_command(_warn)
    result = run("made")
    assert (result.stdout, result.stderr) == (
        "the result\n",
        "note: one text was split into four\n",
    )


def test_quiet_leaves_out_the_notes(add_command, run):
    add_command(_warn)
    result = run("made --quiet")
    assert (result.stdout, result.stderr) == ("the result\n", "")


def test_other_warnings_are_told_as_python_tells_them(add_command, run):
    add_command(lambda: warnings.warn("something else", UserWarning, stacklevel=1))
    with pytest.warns(UserWarning, match="something else"):
        run("made")


def test_the_arguments_can_be_run_without_exiting(folder: Path):
    with pytest.raises(DataError, match="no such file"):
        rageval_report.main(["report", "nowhere.csv"], standalone_mode=False)
