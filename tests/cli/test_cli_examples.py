"""Every example of every help page runs as it stands, in a folder with the files it names."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from rageval_report.cli import rageval_report
from rageval_report.cli.group import COMMANDS


def examples_of(*command: str) -> list[str]:
    told = CliRunner().invoke(rageval_report, [*command, "--help"]).stdout
    lines = told.partition("Examples:")[2].splitlines()
    return [line.strip() for line in lines if line.strip()]


def without_redirections(words: list[str]) -> tuple[list[str], str | None]:
    """The words of a command, and the file that a shell would hand it as standard input."""
    stdin = words[words.index("<") + 1] if "<" in words else None
    kept = [
        word
        for before, word in zip(["", *words[:-1]], words, strict=True)
        if not {before, word} & {"<", ">"}
    ]
    return kept, stdin


PAGES = [(), *((name,) for name in COMMANDS)]
EXAMPLES = list(dict.fromkeys(line for page in PAGES for line in examples_of(*page)))


def test_every_command_has_an_example():
    assert {line.split()[1] for line in EXAMPLES} == set(COMMANDS)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_runs(demo_folder, run, example):
    words, stdin = without_redirections(shlex.split(example))
    assert words[0] == "rageval-report"
    result = run(*words[1:], stdin=Path(stdin).read_bytes() if stdin else None)
    assert result.exit_code == 0, result.stderr
    written = [words[place + 1] for place, word in enumerate(words) if word == "-o"]
    assert all(Path(path).stat().st_size > 0 for path in written)
    assert written or result.stdout
