"""What every command shares: versions, help, exit codes, one line for each error."""

from __future__ import annotations

import importlib.metadata
import warnings
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

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
    assert "Start here:" in result.stderr


def test_help_begins_with_eight_commands_and_has_all_others_in_sections(run):
    sections = run("--help").stdout.partition("Start here:")[2].partition("Examples:")[0]
    first, *others = sections.split("\n\n")
    assert len(first.strip().splitlines()) == 8
    headings = [section.strip().splitlines()[0] for section in others if section.strip()]
    assert headings == [
        "Read:",
        "Compare and decide:",
        "Make scores:",
        "Judges and golden sets:",
        "Files and tools:",
    ]


@pytest.mark.parametrize("columns", [60, 80, 100])
def test_help_fits_the_terminal(columns):
    page = CliRunner().invoke(rageval_report, ["--help"], terminal_width=columns).stdout
    sections = page.partition("Examples:")[0]
    assert max(map(len, sections.splitlines())) <= columns
    assert "..." not in sections.partition("Start here:")[2]


def test_commands_of_plugins_have_a_section_of_their_own(add_command, run):
    add_command(lambda: None)
    assert "Of plug-ins:\n  made" in run("--help").stdout


def test_options_stand_under_headings(run):
    page = run("compare --help").stdout
    places = [
        page.index(part)
        for part in (
            "Options:",
            "--margin D",
            "Tests and intervals:",
            "--correction",
            "Reading the",
        )
    ]
    assert places == sorted(places)
    reading = page.partition("Reading the files:\n")[2].partition("\n\n")[0]
    assert all(option in reading for option in ("--reader", "--query-id", "--lower", "--strict"))


# -- names of earlier versions

RENAMED = {
    "compare --regressions": (
        "compare old.csv new.csv --regressions latency_ms --limit 2",
        "regressions old.csv new.csv --metric latency_ms --limit 2",
    ),
    "compare --improvements": (
        "compare old.csv new.csv --improvements recall@5",
        "improvements old.csv new.csv --metric recall@5",
    ),
    "compare --outcomes": (
        "compare old.csv new.csv --outcomes --correct recall@5>=1",
        "outcomes old.csv new.csv --correct recall@5>=1",
    ),
    "compare --pareto": ("compare old.csv new.csv --pareto", "pareto old.csv new.csv"),
    "rank --pareto": (
        "rank old.csv new.csv --pareto --objective recall@5 --objective latency_ms",
        "pareto old.csv new.csv --objective recall@5 --objective latency_ms",
    ),
    "stats": ("stats golden.jsonl", "datasets stats golden.jsonl"),
    "score --gold": (
        "score --gold gold.jsonl --trace trace.jsonl --k 3",
        "score-traces gold.jsonl trace.jsonl --k 3",
    ),
}


@pytest.mark.parametrize(("earlier", "now"), RENAMED.values(), ids=RENAMED)
def test_an_earlier_name_does_the_same_with_a_note(demo_folder, run, earlier, now):
    before, after = run(earlier), run(now)
    assert after.exit_code == 0, after.stderr
    assert (before.exit_code, before.stdout) == (0, after.stdout)
    [note] = [line for line in before.stderr.splitlines() if line not in after.stderr.splitlines()]
    assert "is now the command" in note
    assert now.split()[0] in note


def test_earlier_names_are_in_no_help(run):
    pages = {name: run(f"{name} --help").stdout for name in ("compare", "rank", "score")}
    assert "--regressions" not in pages["compare"]
    assert "--pareto" not in pages["compare"] + pages["rank"]
    assert "--gold" not in pages["score"]
    assert "  stats" not in run("--help").stdout


def test_datasets_without_a_command_is_the_list(run):
    assert run("datasets").stdout == run("datasets list").stdout
    assert run("datasets --format json").stdout == run("datasets list --format json").stdout


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


def test_what_is_missing_is_shown_by_an_example(run, refused):
    told = refused("failures bm25.csv")
    example = "rageval-report failures bm25.csv --metric faithfulness --threshold 0.5"
    assert told == (
        f"Missing option '--metric'. For example: {example}. See rageval-report failures --help"
    )


def test_the_word_help_shows_the_help_of_a_command(run):
    assert run("help").stdout == run("--help").stdout
    assert run("help golden check").stdout == run("golden check --help").stdout


@pytest.mark.parametrize("family", ["golden", "cache"])
def test_a_family_alone_shows_its_commands_with_whole_sentences(run, family):
    result = run(family)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == run(family, "--help").stdout
    assert "..." not in result.stderr.partition("Commands:")[2].partition("Examples:")[0]


def test_errors_of_wrong_use_end_with_a_full_stop_and_name_the_command(refused):
    assert refused("formats x") == (
        "Got unexpected extra argument (x). See rageval-report formats --help"
    )
    assert refused("serve --ask").endswith("See rageval-report serve --help")


def test_in_a_narrow_terminal_the_sentences_of_options_have_the_room(run):
    told = CliRunner().invoke(rageval_report, ["report", "--help"], terminal_width=60).stdout
    options = told.partition("Options:")[2].partition("Examples:")[0]
    assert max(map(len, options.splitlines())) <= 60
    assert "\n  --name TEXT           The name of the pipeline; if\n" in options


def test_a_file_in_the_place_of_the_command_is_shown_behind_one(folder, run):
    told = run("old.csv new.csv").stderr
    assert "old.csv is a file, and the command comes first: " in told
    assert " compare old.csv new.csv." in told
    assert " report old.csv." in run("old.csv").stderr
    assert "no command is named 'nowhere.csv'" in run("nowhere.csv").stderr
