"""What every command shares: versions, help, exit codes, one line for each error."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import click
import pytest

from rageval_report._version import __version__
from rageval_report.cli.group import COMMANDS
from rageval_report.errors import DataError, RagevalWarning


def test_the_version_is_told(run):
    result = run("--version")
    assert (result.exit_code, result.stdout) == (0, f"rageval-report {__version__}\n")


def test_commands_of_plugins_have_a_section_of_their_own(add_command, run):
    add_command(lambda: None)
    assert "Of plug-ins:\n  made" in run("--help").stdout


def test_an_unknown_command_is_answered_with_the_nearest(refused):
    assert "Did you mean 'report'?" in refused("reprot", "old.csv")


def test_an_unknown_option_says_where_to_look(refused):
    told = refused("report", "old.csv", "--colour")
    assert "--colour" in told
    assert "See rageval-report report --help" in told


def test_a_missing_argument_is_one_line(refused):
    assert "Missing argument 'FILE...'" in refused("report")


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


def test_what_is_missing_is_shown_by_an_example(run, refused):
    told = refused("failures bm25.csv")
    example = "rageval-report failures bm25.csv --metric faithfulness --threshold 0.5"
    assert told == (
        f"Missing option '--metric'. For example: {example}. See rageval-report failures --help"
    )


def test_the_word_help_shows_the_help_of_a_command(run):
    assert run("help").stdout == run("--help").stdout
    assert run("help golden check").stdout == run("golden check --help").stdout


def test_errors_of_wrong_use_end_with_a_full_stop_and_name_the_command(refused):
    told = refused("gate x y z")
    assert told.startswith("Got unexpected extra arguments (y z). ")
    assert told.endswith(". See rageval-report gate --help")
    assert refused("demo serve --ask").endswith("See rageval-report demo serve --help")


def test_a_file_in_the_place_of_the_command_is_shown_behind_one(folder, run):
    told = run("old.csv new.csv").stderr
    assert "old.csv is a file, and the command comes first: " in told
    assert " compare old.csv new.csv." in told
    assert " report old.csv." in run("old.csv").stderr
    assert "no command is named 'nowhere.csv'" in run("nowhere.csv").stderr
