"""Stages and pace: queries in a random order until it is enough, no faster than the rate."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.records.draws import draw_keys
from rageval_report.runner import (
    Retries,
    RunConfig,
    TargetError,
    collect_answers,
)
from rageval_report.runner.asking import Tries, Turns
from rageval_report.runner.collecting import Stages
from rageval_report.runner.query_source import asking_order
from rageval_report.runner.replies import KINDS

QUERIES = [{"query_id": f"q{n}", "question": f"Question {n}?"} for n in range(20)]
KEYS = draw_keys(query["query_id"] for query in QUERIES)


def watcher(stop_at):
    """Stages of five queries that end after a number of them, and what they saw."""
    seen = []

    def watch(records):
        seen.extend(records)
        return len(seen) >= stop_at

    return seen, Stages([5, 10, 15], watch, {"stop": stop_at})


def test_queries_are_asked_in_a_random_order_until_it_is_enough(tmp_path):
    asked = []
    seen, stages = watcher(10)
    finished = collect_answers(
        QUERIES, lambda q: asked.append(q) or "So.", tmp_path / "run", stages=stages
    )
    order = asking_order(KEYS, np.ones(20, dtype=bool), seed=0)
    assert [record["query_id"] for record in seen] == [f"q{row}" for row in order[:10]]
    assert sorted(asked) == sorted(f"Question {row}?" for row in order[:10])
    assert (finished.n, finished.n_new) == (10, 10)
    assert [record["answer"] for record in seen] == ["So."] * 10


def test_the_seed_decides_the_order_and_only_the_sample_is_asked(tmp_path):
    first, second = (asking_order(KEYS, np.ones(20, dtype=bool), seed) for seed in (0, 1))
    assert first.tolist() != second.tolist()
    seen, stages = watcher(100)
    config = RunConfig(samples=8, seed=3)
    finished = collect_answers(QUERIES, lambda q: "So.", tmp_path / "run", config, stages=stages)
    assert finished.n == len(seen) == 8


def test_a_run_that_was_stopped_by_hand_resumes_to_the_same_end(tmp_path):
    whole, stages = watcher(10)
    collect_answers(QUERIES, lambda q: "So.", tmp_path / "whole", stages=stages)
    asked, limits = [], [7, 100]

    def pipeline(question):
        if len(asked) == limits[0]:
            raise KeyboardInterrupt
        asked.append(question)
        return "So."

    options = {"config": RunConfig(concurrency=1)}
    _, stages = watcher(10)
    with pytest.raises(KeyboardInterrupt):
        collect_answers(QUERIES, pipeline, tmp_path / "run", stages=stages, **options)
    del limits[0]
    seen, stages = watcher(10)
    finished = collect_answers(
        QUERIES, pipeline, tmp_path / "run", resume=True, stages=stages, **options
    )
    assert [record["query_id"] for record in seen] == [record["query_id"] for record in whole]
    assert (finished.n, finished.n_new, len(asked)) == (10, 3, 10)


def test_other_rules_are_another_run(tmp_path):
    _, stages = watcher(10)
    collect_answers(QUERIES, lambda q: "So.", tmp_path / "run", stages=stages)
    _, others = watcher(15)
    with pytest.raises(DataError, match="different settings: the stopping rules"):
        collect_answers(QUERIES, lambda q: "So.", tmp_path / "run", resume=True, stages=others)


def test_a_query_without_an_answer_keeps_its_place(tmp_path):
    def fails_at_times(question):
        if question.endswith(("3?", "7?")):
            raise ValueError("no idea")
        return "So."

    seen, stages = watcher(20)
    collect_answers(QUERIES, fails_at_times, tmp_path / "run", stages=stages)
    failed = {record["query_id"] for record in seen if record.get("error")}
    assert len(seen) == 20
    assert failed == {"q3", "q7", "q13", "q17"}


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


@pytest.mark.parametrize("kind", ["certificate", "refused", "size", "content", "exception"])
def test_what_does_not_pass_is_final_at_once(kind):
    assert kind in KINDS
    assert tries().wait_after(TargetError("", kind)) is None


@given(st.integers(1, 50), st.floats(0.5, 100))
def test_turns_come_no_faster_than_the_rate(n, rate):
    turns = Turns(rate, clock=lambda: 10.0)
    waits = [turns.wait_for_next() for _ in range(n)]
    assert waits == pytest.approx([place / rate for place in range(n)])


def test_a_turn_that_nobody_took_is_not_saved_up():
    now = [0.0]
    turns = Turns(1.0, clock=lambda: now[0])
    turns.wait_for_next()
    now[0] = 100.0
    assert [turns.wait_for_next() for _ in range(2)] == [0.0, 1.0]
