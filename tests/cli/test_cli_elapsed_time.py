"""The line that says how long a command has been working, in a real pseudo-terminal."""

from __future__ import annotations

import functools
import importlib
import io
import os
import pty
import select
import sys
import termios
import threading
import tty

import pytest
from tqdm import tqdm

from rageval_report._command_process import _Process
from rageval_report.cli import COMMANDS, command
from rageval_report.cli.command import Command, Options, option
from rageval_report.cli.elapsed_time import ElapsedLine, elapsed_time_shown


class Clock:
    """A clock that a test sets."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class Terminal:
    """A pseudo-terminal: `stream` is what the program writes to, and `read` what it shows."""

    def __init__(self):
        self.ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (24, 80))
        tty.setraw(theirs)  # so that a line break is not turned into two characters
        self.stream = os.fdopen(theirs, "w", encoding="utf-8", newline="")

    def read(self) -> str:
        self.stream.flush()
        shown = b""
        while select.select([self.ours], [], [], 0)[0]:
            shown += os.read(self.ours, 65536)
        return shown.decode()

    def read_until(self, text: str) -> str:
        shown = ""
        while text not in shown:
            assert select.select([self.ours], [], [], 60)[0], f"only this is shown: {shown!r}"
            shown += os.read(self.ours, 65536).decode()
        return shown


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    terminal = Terminal()
    yield terminal
    terminal.stream.close()
    os.close(terminal.ours)


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def line(terminal, clock):
    return ElapsedLine("compare", terminal.stream, clock)


def cleared(text: str) -> str:
    return f"\r{' ' * len(text)}\r"


def test_the_line_appears_after_one_second_and_counts(terminal, clock, line):
    line.draw()
    clock.seconds = 0.99
    line.draw()
    assert terminal.read() == ""
    clock.seconds = 1.0
    line.draw()
    line.draw()  # nothing new to say
    assert terminal.read() == "\rcompare: working for 1 s"
    clock.seconds = 61.5
    line.draw()
    assert terminal.read() == "\rcompare: working for 1 min 01 s"


def test_an_hour_covers_the_longer_text_before_it(terminal, clock, line):
    clock.seconds = 3599
    line.draw()
    clock.seconds = 3600
    line.draw()
    before, after = terminal.read().split("\r")[1:]
    assert after.rstrip() == "compare: working for 1 h 00 min"
    assert len(after) == len(before)


def test_the_line_goes_at_the_end_and_stays_away(terminal, clock, line):
    clock.seconds = 5
    line.draw()
    shown = terminal.read()
    line.end()
    line.end()
    line.draw()
    assert terminal.read() == cleared(shown.strip("\r"))


def test_a_note_takes_the_place_of_the_line_which_comes_back(terminal, clock, line):
    clock.seconds = 2
    line.draw()
    shown = terminal.read()
    line.write_beside(terminal.stream, "note: it has 3 rows\n")
    assert terminal.read() == cleared(shown.strip("\r")) + "note: it has 3 rows\n"
    line.draw()
    assert terminal.read() == shown


def test_a_question_to_the_user_keeps_its_line(terminal, clock, line):
    line.write_beside(terminal.stream, "Replace it? ")
    clock.seconds = 2
    line.draw()
    assert terminal.read() == "Replace it? "


def test_a_progress_bar_has_the_line_while_it_is_drawn(terminal, clock, monkeypatch):
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    line = None

    def keep(self, interval):
        nonlocal line
        line = self

    monkeypatch.setattr(ElapsedLine, "keep_up_to_date", keep)
    with elapsed_time_shown("judge", is_quiet=False, clock=clock, interval=0):
        clock.seconds = 3
        line.draw()
        assert terminal.read() == "\rjudge: working for 3 s"
        with tqdm(total=2, desc="asking", leave=False, disable=None) as bar:
            assert "asking:   0%" in terminal.read()
            line.draw()
            assert terminal.read() == ""
            bar.update(1)
        terminal.read()
        line.draw()
        assert terminal.read() == "\rjudge: working for 3 s"
    assert sys.stderr is terminal.stream


def test_before_output_for_a_program_the_line_goes_for_good(terminal, clock, line):
    clock.seconds = 2
    line.draw()
    terminal.read()
    pipe = io.StringIO()
    line.write_beside(pipe, "metric,mean\n")
    line.draw()
    assert pipe.getvalue() == "metric,mean\n"
    assert terminal.read().strip() == ""


def test_ctrl_c_clears_the_line_before_its_own(terminal, clock, line):
    clock.seconds = 2
    line.draw()
    shown = terminal.read().strip("\r")
    assert _Process.clearing.decode() == cleared(shown)
    line.end()
    assert _Process.clearing == b""


def test_a_terminal_that_is_gone_is_no_error(terminal, clock):
    closed = io.StringIO()
    line = ElapsedLine("compare", closed, clock)
    closed.close()
    clock.seconds = 2
    line.draw()
    line.end()
    assert closed.closed
    assert _Process.clearing == b""


@pytest.mark.parametrize(
    ("variable", "value", "is_quiet"),
    [("CI", "true", False), ("TERM", "dumb", False), ("TERM", "xterm", True)],
)
def test_nobody_is_shown_a_line_who_does_not_look(terminal, monkeypatch, variable, value, is_quiet):
    monkeypatch.setenv(variable, value)
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    with elapsed_time_shown("compare", is_quiet=is_quiet):
        assert sys.stderr is terminal.stream


def test_in_a_pipe_the_streams_are_left_alone(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    pipe = io.StringIO()
    monkeypatch.setattr(sys, "stderr", pipe)
    with elapsed_time_shown("compare", is_quiet=False):
        assert sys.stderr is pipe


# -- commands

SLOW = """\
import sys, threading

seen = threading.Event()


def work(options):
    assert seen.wait(60)
    sys.stdout.write("the result\\n")
"""


class NoOptions(Options):
    """Work for a while."""

    quiet: bool = option("--quiet", help="Write no notes.")


def test_a_command_that_takes_long_says_so_and_clears_the_line(
    folder, terminal, clock, monkeypatch
):
    (folder / "slow_work.py").write_text(SLOW)
    sys.path.insert(0, str(folder))
    seen = importlib.import_module("slow_work").seen  # now: the line may come before the import
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    monkeypatch.setattr(sys, "stdout", terminal.stream)
    times = iter([0.0])  # the start; whenever it is looked at again, 42 seconds have passed
    shown_by_clock = functools.partial(
        elapsed_time_shown, clock=lambda: next(times, 42.0), interval=0.001
    )
    monkeypatch.setattr(command, "elapsed_time_shown", shown_by_clock)
    slow = Command(NoOptions, "slow_work:work", examples=(), name="slow")
    words = {"args": [], "prog_name": "rageval-report slow", "standalone_mode": False}
    worker = threading.Thread(target=slow.main, kwargs=words)
    worker.start()
    shown = terminal.read_until("slow: working for 42 s")
    seen.set()
    worker.join()
    rest = terminal.read()
    line, everything = "\rslow: working for 42 s", shown + rest
    assert everything.count(line) == everything.count(cleared(line.strip("\r")))
    assert everything.replace(line, "").replace(cleared(line.strip("\r")), "") == "the result\n"
    assert shown == line


def test_a_server_is_not_timed():
    assert not COMMANDS["serve"].is_timed
    assert COMMANDS["compare"].is_timed
