"""Colour: the words that decide, in a terminal, unless the user does not want it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

from rageval_report.cli.output import with_colour

GATE = ["gate", "old.csv", "--rule", "mean(recall@5) >= 0.9"]


VARIABLES = ("NO_COLOR", "FORCE_COLOR", "TERM", "COLUMNS", "GITHUB_ACTIONS")


def shown_in_terminal(words, *, columns=100, **environment):
    """What a command writes to a terminal of so many columns."""
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    ours, theirs = pty.openpty()
    os.set_blocking(ours, True)
    process = subprocess.Popen(
        [sys.executable, "-m", "rageval_report", *words],
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env={**kept, "TERM": "xterm", "COLUMNS": str(columns), **environment},
    )
    os.close(theirs)
    written = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the terminal is closed
            break
        if not piece:
            break
        written += piece
    process.wait()
    os.close(ours)
    return written.decode().replace("\r\n", "\n")


def shown_in_pipe(words, **environment):
    kept = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    done = subprocess.run(
        [sys.executable, "-m", "rageval_report", *words],
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize(
    ("options", "environment", "is_coloured"),
    [
        ([], {"NO_COLOR": "1"}, False),
        ([], {"NO_COLOR": ""}, True),  # an empty variable counts as none
        ([], {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False),
        ([], {"TERM": "dumb"}, False),
        (["--no-color"], {}, False),
        (["--no-color"], {"FORCE_COLOR": "1"}, False),
    ],
)
def test_a_terminal_is_coloured_unless_it_must_not_be(folder, options, environment, is_coloured):
    assert ("\x1b[" in shown_in_terminal([*GATE, *options], **environment)) == is_coloured


def test_a_pipe_is_plain_unless_colour_is_forced(folder):
    assert "\x1b" not in shown_in_pipe(GATE)
    assert "\x1b[31mfailed\x1b[0m" in shown_in_pipe(GATE, FORCE_COLOR="1")


def test_texts_of_the_user_keep_their_colour():
    table = "query  question\n-----  --------\nq1     what is worse  than that?\nNote: b is worse\n"
    assert with_colour(table) == table
