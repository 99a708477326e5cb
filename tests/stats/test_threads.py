import os
import threading

import numpy as np
import pytest

from rageval_report.stats import threads
from rageval_report.stats.threads import (
    available_cores,
    choose_threads,
    limit_threads,
    lock_free_property,
    map_in_threads,
)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_answers_stand_in_the_order_of_the_items(n_jobs):
    assert map_in_threads(lambda item: item**2, range(20), n_jobs) == [k**2 for k in range(20)]


def test_one_thread_starts_none_and_two_work_at_once():
    assert (
        map_in_threads(lambda _: threading.current_thread(), [0, 1], 1)
        == [threading.current_thread()] * 2
    )
    both = threading.Barrier(2)
    # Neither goes on before the other has come, so this ends only if there are two.
    assert sorted(map_in_threads(lambda _: both.wait(timeout=60), [0, 1], 2)) == [0, 1]


def test_the_first_error_in_the_order_of_the_items_is_raised():
    def refuse(item):
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 0"):
        map_in_threads(refuse, range(4), 2)


def test_threads_have_the_settings_of_the_caller():
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        map_in_threads(lambda value: np.float64(1.0) / value, np.zeros(3), 2)


def test_no_samples_need_no_threads():
    assert map_in_threads(abs, [], 4) == []


def test_small_work_is_done_by_one_thread_however_many_samples_there_are(monkeypatch):
    monkeypatch.setattr(threads, "available_cores", lambda: 4)
    assert choose_threads([99_999] * 1000, None) == 1
    assert choose_threads([200_000] * 10, None) == 1  # an eighth of a second
    assert choose_threads([], None) == 1


def test_half_a_second_of_large_samples_takes_all_cores_but_no_more_than_there_are_samples(
    monkeypatch,
):
    monkeypatch.setattr(threads, "available_cores", lambda: 4)
    assert choose_threads([1_000_000] * 10, None) == 4
    assert choose_threads([5_000_000] * 2 + [10] * 50, None) == 2
    monkeypatch.setattr(threads, "available_cores", lambda: 1)
    assert choose_threads([1_000_000] * 10, None) == 1


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_the_caller_decides_if_a_number_is_given(n_jobs):
    assert choose_threads([10], n_jobs) == choose_threads([10**7] * 9, n_jobs) == n_jobs


def test_cores_are_those_on_which_the_process_may_run(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5}, raising=False)
    assert available_cores() == 2
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cores() == 1


class Squared:
    def __init__(self, number, wait=None):
        self.number, self.wait, self.n_computed = number, wait, 0

    @lock_free_property
    def square(self):
        """The number times itself."""
        self.n_computed += 1
        if self.wait is not None:
            self.wait()
        return self.number**2


def test_a_lock_free_property_is_computed_once_and_kept():
    squared = Squared(3)
    assert (squared.square, squared.square, squared.n_computed) == (9, 9, 1)
    assert Squared.square.__doc__ == "The number times itself."


def test_threads_compute_the_same_property_of_two_objects_at_once():
    both = threading.Barrier(2)
    pair = [Squared(number, lambda: both.wait(timeout=60)) for number in (2, 3)]
    assert map_in_threads(lambda each: each.square, pair, 2) == [4, 9]


@pytest.mark.parametrize("n_jobs", [None, 1, 3])
def test_threads_are_limited_where_all_samples_are_small(n_jobs):
    assert limit_threads([threads.FEWEST_PAIRS - 1] * 50, n_jobs) == 1
    assert limit_threads([threads.FEWEST_PAIRS, 10], n_jobs) == n_jobs
    assert limit_threads([], n_jobs) == 1
