import threading

import numpy as np
import pytest

from rageval_report.stats.threads import map_in_threads


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
