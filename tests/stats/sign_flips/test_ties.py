import numpy as np
import pytest

from rageval_report.stats.sign_flips.ties import group_ties


def test_values_are_counted_in_ascending_order():
    values, counts = group_ties(np.array([2.0, -1.0, 2.0, 0.0, -1.0, -1.0]))
    assert (values.tolist(), counts.tolist()) == ([-1.0, 0.0, 2.0], [3.0, 1.0, 2.0])


def test_counts_of_equal_values_are_added():
    values, counts = group_ties(np.array([1.0, 3.0, 1.0]), np.array([2.0, 5.0, 4.0]))
    assert (values.tolist(), counts.tolist()) == ([1.0, 3.0], [6.0, 5.0])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rounding_does_not_make_values_distinct_but_a_millionth_does(sign):
    values = sign * np.array([0.3, 0.1 + 0.2, 0.3 * (1 + 1e-6)])
    assert group_ties(values)[0].size == 2
