"""Stages: queries in a random order until it is enough."""

from __future__ import annotations

import numpy as np

from rageval_report.records.draws import draw_keys
from rageval_report.runner import RunConfig, collect_answers
from rageval_report.runner.collecting import Stages
from rageval_report.runner.query_source import asking_order

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
