"""The process of the command line: how it takes Ctrl-C, and that it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")

BEGINNING = """
import signal, sys, threading, time, weakref
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
from rageval_report import _command_process as process
process.begin()
def press(): signal.raise_signal(signal.SIGINT)
"""
LINE = "rageval-report: interrupted\n"


def run(program: str) -> tuple[int, str, str]:
    words = [sys.executable, "-c", BEGINNING + program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def test_while_it_loads_and_while_it_ends_the_process_ends_at_once():
    assert run("press(); print('not reached')") == (130, "", LINE)
    assert run("with process.raising_interrupts():\n    pass\npress()") == (130, "", LINE)
    loading = "with process.raising_interrupts(), process.loading():\n    press()"
    assert run(loading) == (130, "", LINE)


def test_while_a_command_works_it_can_keep_what_it_has():
    program = """
try:
    with process.raising_interrupts():
        press()
except KeyboardInterrupt:
    print("kept", process.was_interrupted())
process.end(130)
"""
    assert run(program) == (130, "kept True\n", "")


def test_an_interrupt_that_a_callback_swallows_comes_again():
    program = """
class Thing: pass
thing = Thing()
reference = weakref.ref(thing, lambda _: press())
try:
    with process.raising_interrupts():
        del thing
        threading.Event().wait()  # for ever, unless the interrupt wakes the waiting thread
        print("not reached")
except KeyboardInterrupt:
    print("kept")
process.end(130)
"""
    assert run(program) == (130, "kept\n", "")


def test_the_third_interrupt_ends_a_command_that_catches_all():
    program = """
with process.raising_interrupts():
    for _ in range(5):
        try:
            press()
        except KeyboardInterrupt:
            print("caught", flush=True)
"""
    assert run(program) == (130, "caught\n" * 2, LINE)


def test_a_thread_that_never_ends_does_not_keep_the_process():
    program = """
process._PATIENCE = 0.1
threading.Thread(target=time.sleep, args=(600,), name="upload").start()
print("written")
process.end(0)
"""
    line = "rageval-report: ended while this was still running: upload\n"
    assert run(program) == (0, "written\n", line)


def test_functions_of_libraries_at_the_exit_still_run():
    program = "import atexit; atexit.register(print, 'saved'); process.end(1)"
    assert run(program) == (1, "saved\n", "")


def test_an_ignored_interrupt_stays_ignored():
    program = BEGINNING.replace("default_int_handler", "SIG_IGN") + "press(); print('goes on')"
    words = [sys.executable, "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "goes on\n", "")


def test_the_library_leaves_the_signals_of_other_programs_alone():
    program = "import signal, rageval_report\nprint(signal.getsignal(signal.SIGINT).__name__)"
    words = [sys.executable, "-c", program]
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    assert (done.stdout, done.stderr) == ("default_int_handler\n", "")
