"""A command as a target: real processes that answer, die, hang and talk nonsense."""

from __future__ import annotations

import sys

import pytest

from rageval_report.errors import DataError, PipelineError
from rageval_report.runner import RunConfig, collect_answers
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import TargetError
from rageval_report.runner.commands import CommandSettings, CommandTarget

QUERY = Query(0, "q1", "Why?", {"relevant": ["d1"]})
ECHO = "print(json.dumps({'answer': json.loads(line)['question'], 'model': str(os.getpid())}))"


@pytest.fixture
def command():
    """A command that does this with each line; ended with the test."""
    made = []

    def make(does: str, **settings) -> CommandTarget:
        program = f"import json, os, sys, time\nfor line in sys.stdin:\n    {does}\n"
        program += "    sys.stdout.flush()\n"
        line = (sys.executable, "-c", program)
        made.append(CommandTarget(CommandSettings(line, **{"timeout": 20.0, **settings})))
        return made[-1]

    yield make
    for one in made:
        one.close()


def failure_of(target):
    with pytest.raises(TargetError) as caught:
        target.ask(QUERY)
    return caught.value


def test_a_command_answers_line_by_line_in_one_process(command):
    target = command(ECHO)
    replies = [target.ask(QUERY) for _ in range(3)]
    assert [reply.fields["answer"] for reply in replies] == ["Why?"] * 3
    assert len({reply.fields["model"] for reply in replies}) == 1
    assert all(0 < reply.first_byte_ms <= reply.latency_ms for reply in replies)


def test_a_command_sees_no_gold(command):
    target = command("print(json.dumps({'answer': line}))")
    assert target.ask(QUERY).fields["answer"] == '{"query_id": "q1", "question": "Why?"}\n'


def test_a_command_is_told_the_fields_that_are_named_and_no_others(command):
    target = command("print(json.dumps({'answer': line}))", fields=("language",))
    query = Query(0, "q1", "Why?", {"language": "en", "tenant": "north", "relevant": ["d1"]})
    told = '{"query_id": "q1", "question": "Why?", "language": "en"}\n'
    assert target.ask(query).fields["answer"] == told


def test_an_answer_of_ten_megabytes_is_too_large_unless_more_is_allowed(command):
    says = "print(json.dumps({'answer': 'x' * 10_000_000}))"
    assert failure_of(command(says)).kind == "size"
    assert len(command(says, max_bytes=1 << 24).ask(QUERY).fields["answer"]) == 10_000_000


def test_a_command_that_ends_is_told_with_its_code_and_last_words_and_started_again(command):
    target = command("sys.stderr.write('out of memory'); sys.exit(3)")
    for _ in range(2):
        failure = failure_of(target)
        assert failure.kind == "exited"
        assert str(failure) == "the command ended with exit code 3: out of memory"


def test_a_command_that_hangs_is_ended(command):
    assert failure_of(command("time.sleep(60)", timeout=0.2)).kind == "timeout"


@pytest.mark.parametrize(
    ("does", "kind", "told"),
    [
        ("print('hello')", "content", "expected one JSON object per line; got 'hello'"),
        ("print()", "content", "expected one JSON object per line"),
        ("print('1'); print('2')", "content", "got several"),
        ("print('x' * 100000)", "size", "larger than max_bytes"),
    ],
)
def test_what_is_no_answer_is_told(command, does, kind, told):
    target = command("sys.stdout = open(1, 'w', 1 << 20, closefd=False); " + does, max_bytes=90_000)
    failure = failure_of(target)
    assert (failure.kind, told in str(failure)) == (kind, True)


def test_a_command_that_is_not_there_is_told_before_anything_is_asked():
    target = CommandTarget(CommandSettings("no-such-command --fast"))
    with pytest.raises(PipelineError, match="the command 'no-such-command' does not exist"):
        target.check()
    with pytest.raises(PipelineError, match="no-such-command cannot be started"):
        target.ask(QUERY)


@pytest.mark.parametrize("line", ["", " ", "an 'open quote"])
def test_a_line_that_is_no_command_is_refused(line):
    with pytest.raises(DataError, match="command"):
        CommandTarget(CommandSettings(line))


def test_a_run_asks_as_many_processes_as_are_wanted(command, queries, tmp_path, lines):
    config = RunConfig(concurrency=3, table="jsonl")
    finished = collect_answers(queries(30), command(ECHO), tmp_path / "run", config)
    found = lines(finished.records)
    assert [row["answer"] for row in found] == [row["question"] for row in queries(30)]
    assert len({row["model"] for row in found}) <= 3
