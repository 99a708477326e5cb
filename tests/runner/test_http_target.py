"""A server as a target: what is sent, what is measured, and every fault over a real socket."""

from __future__ import annotations

import json

import pytest

from rageval_report.errors import PipelineError
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import ResponsePaths
from rageval_report.runner.replies import TargetError
from rageval_report.runner.targets import StreamSettings

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
    assert 0 < reply.first_byte_ms <= reply.latency_ms


def test_the_body_is_filled_and_holds_no_gold(says, target):
    body = {"q": "{question}", "id": "{query_id}", "top": "{k}", "mode": "fast"}
    target(says.url, body=body).ask(QUERY)
    [(path, headers, sent)] = says.requests
    assert (path, headers["content-type"]) == ("/ask", "application/json")
    assert json.loads(sent) == {"q": QUERY.question, "id": "q1", "top": 2, "mode": "fast"}


def test_gold_cannot_be_sent(says, target):
    with pytest.raises(KeyError, match="no field that may be sent is named 'relevant'"):
        target(says.url, body={"hint": "{relevant}"}).ask(QUERY)
    assert says.requests == []


def test_a_get_carries_the_question_in_its_address(says, target):
    target(says.url + "?q={question}", method="GET").ask(Query(0, "a", "Why & how?", {}))
    [(path, _, sent)] = says.requests
    assert (path, sent) == ("/ask?q=Why%20%26%20how%3F", b"")


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


def test_settings_stand_where_the_configuration_says(says, target):
    says.body = b'{"models": {"chat": "m-1"}}'
    asked = target(says.url, config_url=says.url, config={"llm_model": "models.chat"})
    assert asked.snapshot()["llm_model"] == "m-1"


# -- events


def test_an_answer_in_pieces_is_joined_and_its_first_piece_timed(serve, target):
    reply = target(serve() + "/stream", stream=StreamSettings(done="[DONE]")).ask(QUERY)
    assert reply.fields["answer"] == ANSWER
    assert reply.fields["retrieved"][0] == "ferry-dog"
    assert 0 < reply.first_byte_ms <= reply.latency_ms


def events(*data: str) -> bytes:
    return "".join(f"data: {one}\n\n" for one in data).encode()


def test_events_of_openais_protocol_are_joined(says, target):
    piece = '{"choices": [{"delta": {"content": "%s"}}]}'
    usage = '{"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}'
    role = '{"choices": [{"delta": {"role": "assistant"}}]}'
    says.body = events(role, piece % "Par", piece % "is.", usage, "[DONE]")
    stream = StreamSettings(text="choices.0.delta.content", done="[DONE]")
    paths = ResponsePaths(answer="choices.0.message.content")
    reply = target(says.url, stream=stream, response=paths).ask(QUERY)
    assert reply.fields["answer"] == "Paris."
    assert (reply.fields["prompt_tokens"], reply.fields["completion_tokens"]) == (5, 2)


def test_the_usual_end_of_a_stream_is_no_part_of_the_answer(serve, target, says):
    assert (
        target(serve() + "/stream", stream=StreamSettings()).ask(QUERY).fields["answer"] == ANSWER
    )
    says.body = events("Par", "is.", "[DONE]")
    assert target(says.url, stream=StreamSettings()).ask(QUERY).fields["answer"] == "Paris."


def test_events_of_plain_text_are_joined(says, target):
    says.body = events("Par", "is.")
    assert target(says.url, stream=StreamSettings()).ask(QUERY).fields["answer"] == "Paris."


ENDS = {
    "a text": (b"data: END\n\n", "END"),
    "a name": (b'event: done\ndata: {"model": "m"}\n\n', "done"),
    "an object, spaced otherwise": (b'data: {"type":"end"}\n\n', '{"type": "end"}'),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_stream_may_end_by_its_own_mark(says, target, end):
    said, done = ENDS[end]
    pieces = events('{"delta": "Par"}', '{"delta": "is."}')
    says.body = pieces + said + events('{"delta": " Too late."}')
    reply = target(says.url, stream=StreamSettings(done=done)).ask(QUERY)
    assert reply.fields["answer"] == "Paris."
    assert reply.fields.get("model") == ("m" if end == "a name" else None)
    says.body = pieces
    assert "the answer ended before" in str(
        failure_of(target(says.url, stream=StreamSettings(done=done)))
    )


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (events("Par"), "ended before the event '\\[DONE\\]'"),
        (events("[DONE]"), "expected pieces of an answer"),
        (b"event: error\ndata: overloaded\n\n", "the server sent an error: overloaded"),
        (b"<html>", "ended before"),
        (b"", "ended before"),
    ],
)
def test_events_that_are_no_answer_are_a_failure_of_content(says, target, body, told):
    says.body = body
    with pytest.raises(TargetError, match=told) as caught:
        target(says.url, stream=StreamSettings(done="[DONE]")).ask(QUERY)
    assert caught.value.kind == "content"


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


def test_a_busy_server_says_how_long_to_wait(says, target):
    says.status, says.headers = 429, {"Retry-After": "7"}
    assert failure_of(target(says.url)).retry_after == 7.0


def test_a_slow_server_is_left_after_the_timeout(serve, target):
    failure = failure_of(target(serve(_slow=1.0) + "/answer", timeout=0.1))
    assert failure.kind == "timeout"


def test_ten_megabytes_are_too_large_for_an_answer_unless_more_is_allowed(serve, target):
    url = serve(huge=1.0) + "/answer"
    failure = failure_of(target(url))
    assert (failure.kind, "max_bytes=10,000,000 bytes" in str(failure)) == ("size", True)
    assert len(target(url, max_bytes=1 << 24).ask(QUERY).fields["answer"]) == 10 << 20


def test_a_refusal_is_an_answer(serve, target):
    reply = target(serve(refusal=1.0) + "/answer").ask(QUERY)
    assert reply.fields == {"answer": "I cannot answer that."}


def test_a_server_that_is_down_is_told_before_anything_is_asked(closed_port, target):
    asked = target(closed_port)
    assert failure_of(asked).kind == "connection"
    with pytest.raises(PipelineError, match=r"cannot be asked: .* is the server running\?"):
        asked.check()


def test_a_host_that_has_no_address_is_told(target):
    with pytest.raises(PipelineError, match=r"no-such-host\.invalid"):
        target("http://no-such-host.invalid/answer").check()


def test_a_certificate_that_is_not_trusted_is_told(untrusted, target):
    with pytest.raises(PipelineError, match="certificate is not trusted"):
        target(untrusted.url).check()
    assert failure_of(target(untrusted.url)).kind == "certificate"


def test_an_address_that_answers_anything_at_all_can_be_asked(serve, target):
    target(serve() + "/answer").check()  # GET is not for questions there: 404


def test_a_health_address_must_be_well(says, target):
    says.status = 503
    with pytest.raises(PipelineError, match="answered 503"):
        target(says.url, health_url=says.url + "/health").check()
