"""Units and their columns. Witnesses: pandas 3.1, `math.fsum`, arithmetic by hand."""

import datetime as dt
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.stats.units import QUERIES, Units, are_missing, column_of_sums, fewest_units

LABELS = np.repeat(list("abcdefgh"), [1, 2, 3, 4, 5, 1, 2, 6])


def numbers_of(column):
    """Each number of a column with its weight, in ascending order."""
    weights = np.ones(column.values.size) if column.weights is None else column.weights
    return np.repeat([column.values, weights], column.counts.astype(int), axis=1)


def test_sums_and_means_by_unit_are_those_of_pandas_in_order_of_appearance():
    rng = np.random.default_rng(3)
    labels, values = rng.choice(list("zyxw"), 30), rng.normal(size=(30, 2))
    groups = pd.DataFrame(values).groupby(labels, sort=False)
    units = Units.of(labels)
    assert units.sums(values) == pytest.approx(groups.sum().to_numpy())
    assert units.sums(values[:, 0]) == pytest.approx(groups.sum()[0].to_numpy())
    assert units.means(values) == pytest.approx(groups.mean().to_numpy())
    assert units.count(30) == 4


@settings(max_examples=30)
@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=30), st.randoms())
def test_a_sum_has_all_digits_and_no_order_of_the_rows_moves_it(numbers, random):
    units = Units(np.zeros(len(numbers), dtype=np.intp))
    found = units.sums(np.array(numbers))[0]
    assert found == pytest.approx(math.fsum(numbers), rel=1e-15, abs=1e285)
    random.shuffle(numbers)
    assert units.sums(np.array(numbers))[0] == found


def test_a_unit_of_which_no_row_is_left_is_gone():
    units = Units.of(["a", "b", "b", "c"]).select(np.array([False, True, True, True]))
    assert units.sums(np.array([1.0, 2.0, 4.0])).tolist() == [3.0, 4.0]
    assert units.count(3) == 2


def test_rows_of_another_table_keep_their_units():
    everywhere = Units.of(["a", "a", "b"]).of_other_rows(None, np.array([3, 1, 0]), 4)
    # The rows 3 and 1 belong together; row 2 has no twin here.
    assert everywhere.codes[3] == everywhere.codes[1]
    assert everywhere.count(4) == 3


@pytest.mark.parametrize(("alpha", "n"), [(0.5, 6), (0.05, 6), (0.03, 7), (0.01, 8), (0.001, 11)])
def test_fewer_units_than_these_never_reject(alpha, n):
    assert fewest_units(alpha) == n
    assert n == 6 or 2.0 ** (1 - n) <= alpha < 2.0 ** (2 - n)


DATES = np.array(["2024-01-01"] * 2 + ["2024-01-02"] * 2 + ["2024-01-03"], "datetime64[D]")
GOOD = [
    *(list("aabbc"), np.array(list("aabbc")), pd.Series(list("aabbc"), dtype="category")),
    *([7, 7, 8, 8, -9], np.array([0.5, 0.5, 1.5, 1.5, 2.5]), [1, 1, "1", "1", 2.5]),
    *(DATES, [dt.date(2024, 1, day) for day in (1, 1, 2, 2, 3)]),
    *([True, True, False, False, "neither"], pd.Series([1, 1, 2, 2, 3], dtype="Int64")),
]
BAD = [
    *(["a", None, "b"], ["a", math.nan, "b"], ["a", " ", "b"], np.array(["a", "", "b"])),
    *(np.array([1.0, math.nan, 2.0]), np.array(["2024-01-01", "NaT", "2024-01-02"], "M8[ns]")),
    *(pd.Series(["a", pd.NA, "b"], dtype="string"), pd.Series([1, pd.NA, 2], dtype="Int64")),
]


@pytest.mark.parametrize("labels", GOOD, ids=range(len(GOOD)))
def test_labels_may_be_of_any_plain_kind(labels):
    assert Units.of(labels).codes.tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("labels", BAD, ids=range(len(BAD)))
def test_a_row_without_a_label_is_an_error_that_says_where(labels):
    with pytest.raises(DataError, match="clusters must have a label for every score; 1 have"):
        Units.of(labels)
    assert are_missing(np.asarray(labels, dtype=object)).tolist() == [False, True, False]


# Columns of units


def test_the_mean_over_units_is_the_mean_over_queries_and_unscored_ones_are_left_out():
    differences = np.random.default_rng(1).normal(size=LABELS.size)
    differences[[3, 7]] = math.nan
    known = pd.DataFrame({"sum": differences, "label": LABELS}).dropna()
    groups = known.groupby("label")["sum"].agg(["sum", "count"])
    column = Units.of(LABELS).collapse(differences)
    values, weights = numbers_of(column)
    assert column.mean == pytest.approx(known["sum"].mean(), rel=1e-12)
    assert values == pytest.approx(np.sort(groups["sum"] / groups["count"].mean()))
    assert sorted(weights) == pytest.approx(np.sort(groups["count"] / groups["count"].mean()))


def test_clusters_of_one_size_weigh_alike_and_sums_that_rounding_separates_are_one_value():
    column = Units.of([1, 1, 2, 2, 3, 3]).collapse(np.array([0.1, 0.2, 0.3, 0.0, -0.1, 0.1]))
    assert column.weights is None
    assert column.values == pytest.approx([0.0, 0.15])
    assert column.counts.tolist() == [1.0, 2.0]
    for units in (QUERIES, Units.of(["x", "y", "z"])):  # clusters of one query are the queries
        assert units.collapse(np.array([0.3, -0.1, 0.3])).counts.tolist() == [1.0, 2.0]


def test_clusters_that_were_counted_give_the_column_of_the_clusters_one_by_one():
    sums, sizes = np.array([0.5, -1.0, 0.5, 2.0]), np.array([1, 2, 1, 3])
    one_by_one = column_of_sums(np.tile(sums, 3), np.tile(sizes, 3))
    counted = column_of_sums(sums[1:], sizes[1:], [3, 6, 3])
    assert numbers_of(counted) == pytest.approx(numbers_of(one_by_one))
    assert (counted.mean, counted.std) == pytest.approx((2.0 / 7.0, one_by_one.std))


HUGE = np.r_[1e300, -1e300, np.zeros(10)]
NEARLY_EQUAL = 1.0 + 1e-12 * np.arange(12)
