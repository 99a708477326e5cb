import numpy as np
import pytest

from rageval_report.errors import DataError
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

    return seen, Stages(lambda n: [5, 10, 15, n], watch, {"stop": stop_at})


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


def test_shuffled_queries_are_asked_in_the_same_order():
    chosen = np.arange(20) % 3 > 0
    shuffle = np.random.default_rng(0).permutation(20)
    order = asking_order(KEYS, chosen, seed=4)
    turned = asking_order(KEYS[shuffle], chosen[shuffle], seed=4)
    assert shuffle[turned].tolist() == order.tolist()
    assert sorted(order.tolist()) == np.flatnonzero(chosen).tolist()


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


def test_a_finished_run_is_watched_again_without_asking(tmp_path):
    _, stages = watcher(10)
    collect_answers(QUERIES, lambda q: "So.", tmp_path / "run", stages=stages)
    seen, stages = watcher(10)
    finished = collect_answers(
        QUERIES, lambda q: pytest.fail("asked"), tmp_path / "run", resume=True, stages=stages
    )
    assert (len(seen), finished.n_new) == (10, 0)


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
