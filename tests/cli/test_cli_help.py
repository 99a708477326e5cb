"""Help fits a screen and names what people use; every example of every page runs as it stands."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from rageval_report.cli import rageval_report
from rageval_report.cli.command import Command
from rageval_report.cli.group import COMMANDS


def commands_of(group: click.Group, *above: str) -> Iterator[tuple[tuple[str, ...], Command]]:
    """All commands with their words, those in families after the name of the family."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands_of(command, *above, name)
        else:
            assert isinstance(command, Command)
            yield (*above, name), command


EVERY = dict(commands_of(rageval_report))
EXAMPLES = [line for command in EVERY.values() for line in command.examples]


def shown(*words: str, **environment: str) -> str:
    result = CliRunner().invoke(rageval_report, words, env=environment)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_there_are_twenty_commands():
    assert len(COMMANDS.known()) == 20


@pytest.mark.parametrize("words", EVERY, ids=" ".join)
def test_help_fits_a_screen_and_help_all_has_every_option(words):
    page = shown(*words, "--help", COLUMNS="80").splitlines()
    assert len(page) <= 40
    # Examples are for copying, so they are not wrapped.
    assert max(map(len, page[: page.index("Example:")])) <= 80
    whole = shown(*words, "--help-all")
    options = [option for option in EVERY[words].params if isinstance(option, click.Option)]
    visible = [option for option in options if not option.hidden]
    assert all(max(option.opts, key=len) in whole for option in visible)
    named = [option for option in visible if option.name in EVERY[words].shown]
    assert len(named) <= 9
    assert all(max(option.opts, key=len) in "\n".join(page) for option in named)


@pytest.mark.parametrize("family", ["demo", "golden", "history", "judge", "noise", ""])
def test_the_page_of_a_family_has_a_sentence_for_each_command(family):
    page = " ".join(shown(*family.split(), "--help").split())
    for words, command in EVERY.items():
        if words[:-1] == tuple(family.split()):
            assert f"{words[-1]} {command.get_short_help_str(200)}" in page


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs(demo_folder, run, example):
    program, *words = shlex.split(example)
    assert program == "rageval-report"
    stdin = words[words.index("<") + 1] if "<" in words else None
    redirected = [place for place, word in enumerate(words) if word in ("<", ">")]
    words = words[: redirected[0]] if redirected else words
    result = run(*words, stdin=Path(stdin).read_bytes() if stdin else None)
    assert result.exit_code == 0, result.stderr
    written = [words[place + 1] for place, word in enumerate(words) if word == "-o"]
    assert all(Path(path).stat().st_size > 0 for path in written)
    assert written or "--part" in words or result.stdout


def test_help_loads_neither_pandas_nor_what_reads_files():
    code = (
        "import sys; from rageval_report.cli import rageval_report as cli\n"
        "cli.main(['--help'], standalone_mode=False)\n"
        "cli.main(['compare', '--help-all'], standalone_mode=False)\n"
        "assert not {'pandas', 'numpy', 'scipy', 'matplotlib'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
