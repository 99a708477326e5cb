"""When a question is asked, and asked again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.runner.asking import Tries, Turns
from rageval_report.runner.run_config import Retries
from rageval_report.runner.replies import KINDS, TargetError


def tries(**retries):
    return Tries(Retries(**retries), jitter=lambda: 0.0)


def test_waits_double_up_to_the_longest():
    one = tries(server=9, max_wait=5.0)
    assert [one.wait_after(TargetError("", "server")) for _ in range(5)] == [1, 2, 4, 5, 5]


def test_a_failure_is_tried_again_as_often_as_its_kind_allows():
    one = tries(busy=2, server=0)
    waits = [one.wait_after(TargetError("", "busy")) for _ in range(3)]
    assert waits == [1, 2, None]
    assert tries(server=0).wait_after(TargetError("", "server")) is None


def test_each_kind_counts_for_itself():
    one = tries(busy=1, server=1)
    waits = [one.wait_after(TargetError("", kind)) for kind in ("busy", "server", "busy")]
    assert waits == [1, 2, None]
    assert one.n == 3


def test_a_server_says_how_long_to_wait():
    assert tries().wait_after(TargetError("", "busy", retry_after=7.0)) == 7.0


def test_a_server_that_asks_for_too_long_is_not_asked_again():
    assert tries(max_wait=60).wait_after(TargetError("", "busy", retry_after=61.0)) is None


@pytest.mark.parametrize("kind", ["certificate", "refused", "size", "content", "exception"])
def test_what_does_not_pass_is_final_at_once(kind):
    assert kind in KINDS
    assert tries().wait_after(TargetError("", kind)) is None


@given(st.integers(1, 50), st.floats(0.5, 100))
def test_turns_come_no_faster_than_the_rate(n, rate):
    turns = Turns(rate, clock=lambda: 10.0)
    waits = [turns.wait_for_next() for _ in range(n)]
    assert waits == pytest.approx([place / rate for place in range(n)])


def test_without_a_rate_nobody_waits():
    assert {Turns(None).wait_for_next() for _ in range(5)} == {0.0}


def test_a_turn_that_nobody_took_is_not_saved_up():
    now = [0.0]
    turns = Turns(1.0, clock=lambda: now[0])
    turns.wait_for_next()
    now[0] = 100.0
    assert [turns.wait_for_next() for _ in range(2)] == [0.0, 1.0]
