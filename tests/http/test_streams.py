"""A request whose answer is timed piece by piece."""

from __future__ import annotations

import itertools

import pytest

from rageval_report.http import RequestError
from rageval_report.http import TimedClient


@pytest.fixture
def ticking():
    """A clock that says 0, 1, 2 ... each time it is asked."""
    return itertools.count().__next__


def in_two_pieces(handler):
    handler.send_response(200)
    handler.send_header("content-length", "6")
    handler.end_headers()
    handler.wfile.write(b"abc")
    handler.wfile.flush()
    handler.server.scripted.released.wait(0.2)
    handler.wfile.write(b"def")


def test_each_piece_has_its_moment(server, ticking):
    server.will(in_two_pieces)
    with TimedClient(clock=ticking) as client:
        timed = client.ask("GET", server.url)
    assert timed.answer.body == b"abcdef"
    assert timed.moments == ((3, 1), (6, 2))
    assert (timed.first_byte_seconds, timed.seconds_at(2), timed.seconds_at(3)) == (1, 1, 2)


def test_an_empty_answer_has_no_first_byte(server, replies):
    server.will(replies.answer(200, b""))
    with TimedClient() as client:
        timed = client.ask("GET", server.url)
    assert timed.first_byte_seconds is None
    assert timed.seconds_at(0) == timed.answer.seconds


def test_a_failure_is_asked_about_once_and_told(server, replies):
    server.will(replies.answer(503, {"error": "busy"}), replies.answer(200, {}))
    with TimedClient() as client, pytest.raises(RequestError, match=r"answered 503: busy$"):
        client.ask("POST", server.url, json={})
    assert len(server.requests) == 1


def test_one_request_does_not_see_the_moments_of_another(server, replies):
    server.will(replies.answer(200, {"a": 1}))
    with TimedClient() as client:
        first, second = (client.ask("GET", server.url) for _ in range(2))
    assert len(first.moments) == len(second.moments) == 1


def test_a_connection_is_kept_for_the_next_request(server, replies):
    server.will(replies.answer(200, {"a": 1}))
    with TimedClient(timeout=5, connections=1) as client:
        assert [client.ask("GET", server.url).answer.status for _ in range(3)] == [200] * 3
