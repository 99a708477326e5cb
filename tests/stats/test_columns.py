"""Columns with counts against NumPy and exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from rageval_report.errors import DataError
from rageval_report.stats.columns import Column, condense, difference_column

RNG = np.random.default_rng(5)


def test_a_column_has_the_moments_of_its_numbers() -> None:
    numbers = RNG.normal(0.3, 2.0, 500).round(1)
    column = Column.of(numbers)
    assert column.n == 500
    assert column.mean == pytest.approx(numbers.mean(), rel=1e-13)
    assert column.std == pytest.approx(numbers.std(ddof=1), rel=1e-13)  # NumPy 2.4
    assert column.standard_error == pytest.approx(numbers.std(ddof=1) / math.sqrt(500))
    assert (column.minimum, column.maximum) == (numbers.min(), numbers.max())
    np.testing.assert_array_equal(column.listed(), np.sort(numbers))


def test_missing_numbers_are_left_out_and_infinite_ones_are_errors() -> None:
    assert Column.of([0.5, math.nan]).n == 1
    with pytest.raises(DataError, match="finite"):
        Column.of([0.5, math.inf])
    with pytest.raises(DataError, match="one-dimensional"):
        Column.of([[0.5]])


@pytest.mark.parametrize("scale", [1e300, 1.0, 1e-300, 5e-310])
def test_huge_and_tiny_numbers_have_a_spread(scale: float) -> None:
    column = Column.of(np.array([1.0, 2.0, 4.0]) * scale)
    assert column.mean == pytest.approx(7 / 3 * scale, rel=1e-12)
    assert column.std == pytest.approx(math.sqrt(7 / 3) * scale, rel=1e-12)


def test_equal_numbers_that_were_computed_differently_do_not_vary() -> None:
    assert Column.of([0.3, 0.1 + 0.2, 0.6 - 0.3]).is_constant
    assert not Column.of([0.3, 0.3001]).is_constant
    assert not Column.of([0.3]).is_constant


def test_large_numbers_that_cancel_leave_the_mean_of_the_small_ones() -> None:
    numbers = [0.1, 0.2, 0.3, 0.7, 1e-9, 1e9, -1e9]
    exact = sum(map(Fraction, numbers)) / len(numbers)
    assert Column.of(numbers).mean == pytest.approx(float(exact), rel=1e-15)


@pytest.mark.parametrize(
    ("numbers", "step"),
    [
        ([0.5, -1.0, 0.5, 0.0], 0.5),
        ([0.1 + 0.2, -0.4, 0.2, 0.1, 0.1], 0.1),
        ([1 / 3, 0.5, -1 / 3, 1.0], 1 / 6),
        ([1.0, 0.5, 1 / 3, 0.25, 1 / 7, 0.5], 1 / 84),
        ([300.0, 120.0, -120.0], 60.0),
        ([1e300, -2e300, 1e300], 1e300),
        ([2e-310, -4e-310, 2e-310], 2e-310),
        ([float(np.float32(0.1)), float(np.float32(0.3)), -float(np.float32(0.1))], 0.1),
    ],
)
def test_the_step_is_the_largest_of_which_all_numbers_are_multiples(
    numbers: list[float], step: float
) -> None:
    assert Column.of(numbers).step == pytest.approx(step, rel=1e-6)


@pytest.mark.parametrize(
    "numbers",
    [
        [0.31, -0.123, 0.05],  # thousandths, but no two of the same size
        [1.0, 2.0, 4.0],  # eight patterns of signs, eight sums
        [0.0, 0.0],
        [math.pi, math.e, math.sqrt(2), math.pi],
        [1.0, 1.1e-5, 1.0],  # too fine
    ],
)
def test_numbers_whose_sums_do_not_tie_have_no_step(numbers: list[float]) -> None:
    assert Column.of(numbers).step is None


def test_sums_of_clusters_lie_on_the_lattice_of_the_scores() -> None:
    sizes = np.array([1.0, 2.0, 4.0])
    weights = sizes / sizes.mean()
    values = np.array([-1.0, 1.0, 2.0]) / sizes.mean()
    column = Column.of_counts(values, [2, 1, 1], weights)
    assert column.step == pytest.approx(1 / sizes.mean())
    # Differences that are all the same per query do not vary.
    assert Column.of_counts(0.25 * weights, [1, 1, 1], weights).is_constant


def test_differences_that_only_rounding_separates_are_one_value() -> None:
    column = difference_column([0.3, 0.5, 0.1, 0.2], [0.1 + 0.2, 0.7, 0.3, 0.2])
    np.testing.assert_array_equal(column.counts, [2, 2])
    assert column.values[0] == 0.0
    assert column.values[1] == pytest.approx(0.2, rel=1e-12)


@pytest.mark.parametrize("numbers", [RNG.normal(size=20_000), RNG.lognormal(0, 2, 20_000)])
def test_a_condensed_column_keeps_number_mean_and_variance(numbers: np.ndarray) -> None:
    column = Column.of(numbers)
    values, counts = condense(column.values, column.counts)
    assert values.size <= 2**12
    assert counts.sum() == 20_000
    np.testing.assert_array_equal(counts, np.rint(counts))
    mean = values @ counts / 20_000
    assert mean == pytest.approx(numbers.mean(), rel=1e-12)
    assert (values - mean) ** 2 @ counts / 20_000 == pytest.approx(numbers.var(), rel=1e-12)
