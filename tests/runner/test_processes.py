"""Commands that break the protocol: each ends with an answer or an error, and is gone then."""

from __future__ import annotations

import os
import select
import signal
import sys
import tracemalloc

import pytest

from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import TargetError
from rageval_report.runner.targets import processes
from rageval_report.runner.commands import CommandSettings, CommandTarget

MILLION = 1_000_000
SHORT = 0.3  # seconds; for commands that never answer
LONG = 60.0  # seconds; for commands that do, on a machine however busy

BEGINNING = """
import json, os, signal, subprocess, sys, time
def answer(line, **more):
    question = json.loads(line)["question"]
    print(json.dumps({"answer": question, "model": str(os.getpid()), **more}), flush=True)
"""


@pytest.fixture(params=["files", "sockets"])
def pipes(request, monkeypatch):
    """Both ways to serve a pipe: the one of POSIX, and the one of Windows, which works anywhere."""
    if request.param == "sockets":
        monkeypatch.setattr(
            processes,
            "open_end",
            lambda stream, *, is_input=False: processes._SocketEnd(stream, is_input=is_input),
        )
    elif os.name == "nt":
        pytest.skip("Windows cannot wait for a pipe")


@pytest.fixture
def command():
    """A command that runs this program; ended with the test."""
    made = []

    def make(program: str, timeout: float = LONG, **settings) -> CommandTarget:
        line = (sys.executable, "-c", BEGINNING + program)
        settings = {"grace_period": SHORT, **settings}
        made.append(CommandTarget(CommandSettings(line, timeout=timeout, **settings)))
        return made[-1]

    yield make
    for target in made:
        target.close()


def ask(target, question="Why?", query_id="q1"):
    return target.ask(Query(0, query_id, question, {}))


def failure_of(target, question="Why?"):
    with pytest.raises(TargetError) as caught:
        ask(target, question)
    return caught.value


def ends(pid: int, seconds: float = LONG) -> bool:
    """Whether a process ends within so many seconds; one that its parent has not asked for did."""
    try:
        number = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([number], [], [], seconds)[0])
    finally:
        os.close(number)


linux = pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")


# -- both directions at once


@pytest.mark.parametrize("n", [1, 1000, 65_535, 65_536, MILLION])
def test_a_question_of_any_length_is_answered(command, pipes, n):
    target = command("for line in sys.stdin: answer(line)")
    assert ask(target, "é" * n).fields["answer"] == "é" * n
    assert ask(target).fields["answer"] == "Why?"


def test_a_command_that_does_not_read_is_left_when_the_time_is_up(command, pipes):
    failure = failure_of(command("time.sleep(600)", SHORT), "a" * MILLION)
    assert failure.kind == "timeout"
    assert "no complete answer within timeout=0.3 seconds" in str(failure)


def test_how_much_of_a_question_was_not_read_is_stated(command):
    failure = failure_of(command("time.sleep(600)", SHORT), "a" * MILLION)
    assert "the command has not read the last 9" in str(failure)  # 900,000 and more


def test_a_command_that_writes_before_it_reads_is_no_deadlock(command, pipes):
    program = "print('x' * 1_000_000, flush=True)\nfor line in sys.stdin: answer(line)"
    failure = failure_of(command(program), "a" * MILLION)
    assert failure.kind == "content"
    assert "xxx" in str(failure)


def test_a_line_that_comes_before_the_question_was_read_is_no_answer(command):
    program = """print('{"answer": "early"}', flush=True)\ntime.sleep(600)"""
    failure = failure_of(command(program), "a" * MILLION)
    assert "wrote a line before it had read the whole question" in str(failure)
    assert "Standard output is for answers only" in str(failure)


def test_a_command_that_closes_its_input_early_is_left_when_the_time_is_up(command, pipes):
    failure = failure_of(command("sys.stdin.close(); time.sleep(600)", SHORT), "a" * MILLION)
    assert failure.kind == "timeout"


def test_a_command_that_closes_its_output_early_is_not_waited_for(command, pipes):
    failure = failure_of(command("os.close(1); time.sleep(600)"))
    assert (failure.kind, str(failure)) == ("exited", "the command closed its output")


def test_a_command_that_ends_without_reading_says_why(command, pipes):
    program = "sys.stderr.write('no licence'); sys.stderr.flush(); os._exit(7)"
    failure = failure_of(command(program), "a" * MILLION)
    assert str(failure) == "the command ended with exit code 7: no licence"


@pytest.mark.parametrize("written", ["'x' * 1_000_000", "'{}\\n' * 100_000"])
def test_an_answer_without_end_is_given_up_at_the_limit(command, pipes, written):
    target = command(f"while True: sys.stdout.write({written})")
    tracemalloc.start()
    try:
        failure = failure_of(target)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert failure.kind in ("size", "content")
    assert peak < 40_000_000  # the limit is 10 MB, and a copy of it may exist


def test_an_answer_of_200_megabytes_is_an_error_that_names_the_limit(command):
    failure = failure_of(command("sys.stdout.write('x' * 200_000_000)"))
    assert str(failure) == "the answer is larger than max_bytes=10,000,000 bytes"


def test_messages_on_standard_error_stop_no_command(command, pipes):
    program = "for line in sys.stdin: sys.stderr.write('m' * 1_000_000); answer(line)"
    target = command(program)
    assert [ask(target).fields["answer"] for _ in range(3)] == ["Why?"] * 3


def test_a_command_that_only_writes_messages_is_left_when_the_time_is_up(command):
    assert failure_of(command("while True: sys.stderr.write('m' * 1000)", SHORT)).kind == "timeout"


# -- one answer per question


@linux
def test_a_line_that_no_question_asked_for_is_not_the_next_answer(command, tmp_path):
    goes_on, written = tmp_path / "goes on", tmp_path / "written"
    os.mkfifo(goes_on)
    os.mkfifo(written)
    program = f"""
for line in sys.stdin:
    answer(line)
    open({str(goes_on)!r}).read()
    answer('{{"question": "late"}}')
    open({str(written)!r}, "w").close()
"""
    target = command(program)
    assert ask(target).fields["answer"] == "Why?"
    goes_on.write_text("")  # these two wait for the command
    written.read_text()
    failure = failure_of(target, "How?")
    assert failure.kind == "content"
    assert 'wrote more after its answer: \'{"answer": "late"' in str(failure)


def test_a_command_that_failed_is_started_again(command):
    target = command("print('hello', flush=True)\nfor line in sys.stdin: answer(line)")
    for _ in range(2):  # the answer after "hello" is not taken for the next one
        failure = failure_of(target)
        assert failure.kind == "content"
        assert "hello" in str(failure)


def test_an_answer_to_another_question_is_refused(command):
    target = command("for line in sys.stdin: answer(line, query_id='q1')")
    assert ask(target, query_id="q1").fields["answer"] == "Why?"
    with pytest.raises(TargetError, match="the answer is for the query_id 'q1'; expected 'q2'"):
        ask(target, query_id="q2")


# -- the end


@linux
def test_a_command_that_ignores_sigterm_is_killed(command, pipes):
    program = "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nfor line in sys.stdin: answer(line)"
    program += "\ntime.sleep(600)"
    target = command(program)
    pid = int(ask(target).fields["model"])
    assert not ends(pid, 0)
    target.close()
    assert ends(pid)


CHILD = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], {options})
for line in sys.stdin:
    answer(line, contexts=[str(child.pid)])
    {afterwards}
"""


@linux
@pytest.mark.parametrize("afterwards", ["pass", "os._exit(0)"])
def test_the_processes_that_a_command_started_end_with_it(command, pipes, afterwards):
    target = command(CHILD.format(options="", afterwards=afterwards))
    child = int(ask(target).fields["contexts"][0])
    assert not ends(child, 0)
    target.close()
    assert ends(child)


@linux
def test_a_pipe_that_another_process_keeps_open_is_not_waited_for(command, pipes):
    program = CHILD.format(options="start_new_session=True", afterwards="os._exit(3)")
    target = command(program)
    child = int(ask(target).fields["contexts"][0])
    try:
        assert str(failure_of(target)) == "the command ended with exit code 3"
    finally:
        os.kill(child, signal.SIGKILL)  # in a session of its own it is beyond reach


def test_a_command_that_was_closed_is_not_started_again(command):
    target = command("for line in sys.stdin: answer(line)")
    assert ask(target).fields["answer"] == "Why?"
    target.close()
    assert str(failure_of(target)) == "the command was ended"
