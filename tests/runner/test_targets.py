"""What is asked: servers, functions and commands, each with its faults, and none waited for."""

from __future__ import annotations

import json
import os
import select
import sys
import tracemalloc

import pytest

from rageval_report.errors import DataError, PipelineError
from rageval_report.runner.commands import CommandSettings, CommandTarget
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import TargetError
from rageval_report.runner.targets import (
    FunctionSettings,
    FunctionTarget,
)

QUERY = Query(0, "q1", "Do guide dogs travel free of charge?", {"relevant": ["ferry-dog"], "k": 2})


ANSWER = "Guide dogs travel free of charge and need no ticket at all."


def failure_of(target, query=QUERY):
    with pytest.raises(TargetError) as caught:
        target.ask(query)
    return caught.value


# -- what goes well


def test_a_question_is_answered_and_timed(serve, target):
    reply = target(serve() + "/answer").ask(QUERY)
    assert reply.fields["answer"] == ANSWER
    assert reply.fields["retrieved"][0] == reply.fields["citations"][0] == "ferry-dog"
    assert reply.latency_ms > 0


def test_the_body_is_filled_and_holds_no_gold(says, target):
    body = {"q": "{question}", "id": "{query_id}", "top": "{k}", "mode": "fast"}
    target(says.url, body=body).ask(QUERY)
    [(path, headers, sent)] = says.requests
    assert (path, headers["content-type"]) == ("/ask", "application/json")
    assert json.loads(sent) == {"q": QUERY.question, "id": "q1", "top": 2, "mode": "fast"}


def test_a_key_comes_from_the_environment_and_shows_nowhere(says, target, monkeypatch):
    monkeypatch.setenv("MY_RAG_KEY", "sk-123456")
    says.status, says.body = 401, b'{"error": "sk-123456 is not a key"}'
    asked = target(says.url, headers={"Authorization": "Bearer ${MY_RAG_KEY}"})
    failure = failure_of(asked)
    assert says.requests[0][1]["Authorization"] == "Bearer sk-123456"
    assert "sk-123456" not in f"{failure} {failure!r} {asked.identity()}"
    assert failure.kind == "refused"


def test_settings_of_the_server_are_asked_for_and_unknown_ones_are_null(serve, target):
    url = serve()
    told = target(url + "/answer", config_url=url + "/config").snapshot()
    assert (told["llm_model"], told["retrieval_top_k"]) == ("extractive-bm25", 3)
    assert told["embedding_model"] is None
    assert set(target(url + "/answer").snapshot().values()) == {None}


# -- faults, each done by a server


@pytest.mark.parametrize(
    ("fault", "kind", "told"),
    [
        ("_500", "server", "answered 500: an internal error"),
        ("_429", "busy", "answered 429: too many requests"),
        ("garbage", "content", "expected JSON"),
        ("html", "content", "expected JSON; got text/html that starts with '<!doctype html>"),
        ("empty", "content", "expected JSON"),
        ("drop", "connection", "broke off"),
        ("hang_up", "connection", "broke off"),
    ],
)
def test_a_fault_of_the_server_is_told_by_its_kind(serve, target, fault, kind, told):
    failure = failure_of(target(serve(**{fault: 1.0}) + "/answer"))
    assert failure.kind == kind
    assert told in str(failure)


def test_a_server_that_is_down_is_told_before_anything_is_asked(closed_port, target):
    asked = target(closed_port)
    assert failure_of(asked).kind == "connection"
    with pytest.raises(PipelineError, match=r"cannot be asked: .* is the server running\?"):
        asked.check()


ASKED = Query(0, "q1", "Why?", {"relevant": ["d1"], "language": "en"})


MODULE = """
def answer(question):
    return {"answer": question.upper(), "retrieved": ["d1"]}

def whole(query):
    return sorted(query)[0] + query["question"]

async def later(question):
    return question

number = 3
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "rag_of_a_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "rag_of_a_test", raising=False)
    return "rag_of_a_test"


def test_a_function_is_found_by_its_name_and_asked(module):
    reply = FunctionTarget(FunctionSettings(f"{module}:answer")).ask(ASKED)
    assert reply.fields == {"answer": "WHY?", "retrieved": ["d1"]}
    assert reply.latency_ms > 0


def test_a_function_of_the_whole_query_sees_no_gold(module):
    settings = FunctionSettings(f"{module}:whole", argument="query", fields=("language",))
    assert FunctionTarget(settings).ask(ASKED).fields == {"answer": "languageWhy?"}
    told_nothing = FunctionSettings(f"{module}:whole", argument="query")
    assert FunctionTarget(told_nothing).ask(ASKED).fields == {"answer": "query_idWhy?"}


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("no_such_module_here:f", "no module is named 'no_such_module_here'"),
        ("rag_of_a_test:g", "the module has no function 'g'"),
        ("rag_of_a_test:number", "is not a function: it is int"),
        ("rag_of_a_test:later", "is asynchronous"),
        ("rag_of_a_test", "function must be 'module:function'"),
        (":f", "function must be 'module:function'"),
    ],
)
def test_what_is_no_function_is_told(module, place, told):
    with pytest.raises(DataError, match=told):
        FunctionTarget(FunctionSettings(place))


def test_what_a_function_raises_is_a_query_without_an_answer():
    def fails(question):
        raise ZeroDivisionError("no documents")

    with pytest.raises(TargetError, match="ZeroDivisionError: no documents") as caught:
        FunctionTarget.of(fails).ask(ASKED)
    assert caught.value.kind == "exception"


WHY = Query(0, "q1", "Why?", {"relevant": ["d1"]})


ECHO = "print(json.dumps({'answer': json.loads(line)['question'], 'model': str(os.getpid())}))"


@pytest.fixture
def filter_command():
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


def failure_of_filter(target):
    with pytest.raises(TargetError) as caught:
        target.ask(WHY)
    return caught.value


def test_a_command_answers_line_by_line_in_one_process(filter_command):
    target = filter_command(ECHO)
    replies = [target.ask(WHY) for _ in range(3)]
    assert [reply.fields["answer"] for reply in replies] == ["Why?"] * 3
    assert len({reply.fields["model"] for reply in replies}) == 1
    assert all(reply.latency_ms > 0 for reply in replies)


def test_a_command_that_ends_is_told_with_its_code_and_last_words_and_started_again(filter_command):
    target = filter_command("sys.stderr.write('out of memory'); sys.exit(3)")
    for _ in range(2):
        failure = failure_of_filter(target)
        assert failure.kind == "exited"
        assert str(failure) == "the command ended with exit code 3: out of memory"


@pytest.mark.parametrize(
    ("does", "kind", "told"),
    [
        ("print('hello')", "content", "expected one JSON object per line; got 'hello'"),
        ("print()", "content", "expected one JSON object per line"),
        ("print('1'); print('2')", "content", "got several"),
        ("print('x' * 100000)", "size", "larger than max_bytes"),
    ],
)
def test_what_is_no_answer_is_told(filter_command, does, kind, told):
    target = filter_command(
        "sys.stdout = open(1, 'w', 1 << 20, closefd=False); " + does, max_bytes=90_000
    )
    failure = failure_of_filter(target)
    assert (failure.kind, told in str(failure)) == (kind, True)


def test_a_command_that_is_not_there_is_told_before_anything_is_asked():
    target = CommandTarget(CommandSettings("no-such-command --fast"))
    with pytest.raises(PipelineError, match="the command 'no-such-command' does not exist"):
        target.check()
    with pytest.raises(PipelineError, match="no-such-command cannot be started"):
        target.ask(WHY)


SHORT = 0.3  # seconds; for commands that never answer


LONG = 60.0  # seconds; for commands that do, on a machine however busy


BEGINNING = """
import json, os, signal, subprocess, sys, time
def answer(line, **more):
    question = json.loads(line)["question"]
    print(json.dumps({"answer": question, "model": str(os.getpid()), **more}), flush=True)
"""


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


def failure_of_command(target, question="Why?"):
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


@pytest.mark.parametrize("written", ["'x' * 1_000_000", "'{}\\n' * 100_000"])
def test_an_answer_without_end_is_given_up_at_the_limit(command, written):
    target = command(f"while True: sys.stdout.write({written})")
    tracemalloc.start()
    try:
        failure = failure_of_command(target)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert failure.kind in ("size", "content")
    assert peak < 40_000_000  # the limit is 10 MB, and a copy of it may exist


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
    failure = failure_of_command(target, "How?")
    assert failure.kind == "content"
    assert 'wrote more after its answer: \'{"answer": "late"' in str(failure)


# -- the end


@linux
def test_a_command_that_ignores_sigterm_is_killed(command):
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
def test_the_processes_that_a_command_started_end_with_it(command, afterwards):
    target = command(CHILD.format(options="", afterwards=afterwards))
    child = int(ask(target).fields["contexts"][0])
    assert not ends(child, 0)
    target.close()
    assert ends(child)
