from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from rageval_report.scores.aggregate_rows import (
    SPELLINGS,
    NumberColumn,
    is_certain_label,
    kinds_of_label,
    match_columns,
)

from rageval_report.errors import DataError
from rageval_report.scores import score_table

# pandas is the second witness of every statistic here.


@pytest.mark.parametrize(
    ("label", "kinds"),
    [
        ("mean", {"mean"}),
        ("AVERAGE:", {"mean"}),
        ("**avg**", {"mean"}),
        ("Mean score (n = 1,200)", {"mean"}),
        ("macro average", {"mean"}),
        ("Mittelwert", {"mean"}),
        ("all", {"total"}),
        ("Grand Total", {"total"}),
        ("Gesamt", {"total"}),
        ("合计", {"total"}),
        ("Std. dev.", {"standard deviation"}),
        ("97.5%", {"97.5%"}),
    ],
)
def test_labels_of_totals(label, kinds):
    assert kinds_of_label(label) == kinds


@pytest.mark.parametrize(
    "label",
    ["q1", "mean 3", "all of it", "average_precision_q7", "total cost of ownership", "p95", "", 7],
)
def test_ids_that_name_no_statistic(label):
    assert not kinds_of_label(label)


def test_every_spelling_that_is_searched_for_names_a_statistic():
    assert all(map(kinds_of_label, SPELLINGS))


def test_only_some_words_hardly_name_a_query():
    assert is_certain_label("Overall")
    assert is_certain_label("50%")
    assert not is_certain_label("max")
    assert not is_certain_label("count")


@pytest.mark.parametrize(
    ("kind", "statistic"),
    [
        ("mean", pd.Series.mean),
        ("total", pd.Series.sum),
        ("median", pd.Series.median),
        ("standard deviation", pd.Series.std),
        ("variance", pd.Series.var),
        ("standard error", pd.Series.sem),
        ("minimum", pd.Series.min),
        ("maximum", pd.Series.max),
        ("count", pd.Series.count),
        ("25%", lambda scores: scores.quantile(0.25)),
        ("90%", lambda scores: scores.quantile(0.9)),
    ],
)
@pytest.mark.parametrize("n_decimals", [3, 4, 12])
def test_a_rounded_statistic_of_the_others_is_recognised(kind, statistic, n_decimals):
    scores = pd.Series(np.random.default_rng(5).random(40))
    scores[7] = math.nan
    numbers = np.append(scores, round(float(statistic(scores)), n_decimals))
    others = np.arange(41) < 40
    [match] = match_columns([NumberColumn("f1", numbers)], 40, [kind], [others])
    assert match.statistic is not None
    assert match.is_telling


def test_a_mean_with_failed_scores_as_0_is_a_mean():
    numbers = np.array([1.0, 1.0, math.nan, math.nan, 0.5])
    [match] = match_columns(
        [NumberColumn("f1", numbers)], 4, ["mean"], [np.array([True] * 4 + [False])]
    )
    assert match.statistic == "mean, unscored as 0"


@pytest.mark.parametrize("value", [0.72, 1.0, 0.0, 12.0])
def test_another_number_is_no_mean(value):
    numbers = np.array([1.0, 0.0, 1.0, 1.0, value])  # their mean is 0.75
    [match] = match_columns(
        [NumberColumn("f1", numbers)], 4, ["mean"], [np.array([True] * 4 + [False])]
    )
    assert match.statistic is None


def test_the_order_of_the_rows_does_not_matter():
    rng = np.random.default_rng(1)
    numbers = rng.random(30)
    numbers[29] = numbers[:29].mean()
    for _ in range(5):
        order = rng.permutation(30)
        row = int(np.flatnonzero(order == 29)[0])
        others = np.arange(30) != row
        [match] = match_columns([NumberColumn("f1", numbers[order])], row, ["mean"], [others])
        assert match.statistic == "mean"


def test_scores_near_the_largest_float_raise_no_warning():
    rows = {"query_id": ["a", "b", "total"], "latency_ms": [1.7e308, 1.7e308, 2.0]}
    with pytest.raises(DataError, match="total"):
        score_table(rows)


def statistic_of(scores, value, kind="mean"):
    numbers = np.array([*scores, value], dtype=float)
    others = np.arange(len(numbers)) < len(scores)
    [match] = match_columns([NumberColumn("f1", numbers)], len(scores), [kind], [others])
    return match.statistic


@pytest.mark.parametrize(
    ("value", "is_mean"),
    [
        *((0.6667, True), (0.667, True), (0.67, True), (0.7, True)),  # rounded
        *((0.66, True), (0.666, True), (0.6666, True)),  # cut
        *((0.6, False), (0.65, False), (0.68, False), (0.665, False), (0.6668, False)),
        *((-0.67, False), (0.66666666666, True), (2.0, False)),
    ],
)
def test_a_mean_of_two_thirds_may_be_rounded_or_cut(value, is_mean):
    assert (statistic_of([1, 1, 0], value) == "mean") == is_mean


@pytest.mark.parametrize(
    ("value", "is_mean"),
    [(1234, True), (1234.4, True), (1234.0, True), (1233, False), (1235, False), (1234.3, False)],
)
def test_a_mean_of_latencies_may_be_rounded_to_a_whole_number(value, is_mean):
    assert (statistic_of([1000, 1468.8], value) == "mean") == is_mean
    assert (statistic_of([-1000, -1468.8], -value) == "mean") == is_mean


def test_a_small_whole_number_rounds_no_mean():
    assert statistic_of([8.2, 8.6], 8.0) is None  # their mean is 8.4
    assert statistic_of([9.7, 9.9], 10.0) is not None  # 9.8, and 10 may be a rounded latency
    assert statistic_of([1, 0, 1, 1], 1.0) is None


@pytest.mark.parametrize(
    ("kind", "value", "statistic"),
    [
        ("mean", 4.0, "mean"),
        ("mean", 12.0, None),
        ("total", 4.0, "mean"),
        ("total", 12.0, "sum"),
        ("median", 3.0, "median"),
        ("minimum", 2.0, "minimum"),
        ("minimum", 7.0, None),
        ("maximum", 7.0, "maximum"),
        ("count", 3.0, "count"),
        ("standard deviation", 2.6458, "standard deviation"),  # sqrt(14 / 2)
        ("standard deviation", 2.1602, "standard deviation"),  # sqrt(14 / 3)
        ("variance", 4.6667, "variance"),
        ("variance", 7.0, "variance"),
        ("variance", 14.0, None),
        ("standard error", 1.5275, "standard error"),
        ("standard error", 2.6458, None),
        ("40%", 2.8, "40%"),
        ("40%", 2.0, "40%"),
        ("40%", 3.0, "40%"),
        ("40%", 2.4, None),
        ("101%", 7.0, None),
        ("100%", 7.0, "100%"),
    ],
)
def test_each_statistic_of_two_three_and_seven_is_known(kind, value, statistic):
    assert statistic_of([2, 3, 7], value, kind) == statistic


def test_unscored_queries_count_for_some_statistics():
    scores = [2, 3, 7, math.nan]
    assert statistic_of(scores, 3.0) == "mean, unscored as 0"
    assert [statistic_of(scores, n, "count") for n in (2, 3, 4, 5)] == [
        None,
        "count",
        "count",
        None,
    ]
    assert statistic_of([math.nan] * 2, 0.0) is None
    assert statistic_of([5.0], 0.0, "standard deviation") == "standard deviation"


def test_the_group_that_fits_best_is_compared():
    columns = [
        NumberColumn("f1", np.array([1.0, 0.0, 0.5, 0.5])),
        NumberColumn("f2", np.array([0.2, 0.4, 0.9, 0.3])),
        NumberColumn("f3", np.array([0.2, 0.4, 0.9, math.nan])),
    ]
    every, two, none = (np.array(rows, bool) for rows in ([1, 1, 1, 0], [1, 1, 0, 0], [0] * 4))
    for groups in ([every, two, none], [none, two, every]):
        matches = match_columns(columns, 3, ["mean"], groups)
        # f1 agrees with both groups, f2 with the first two rows alone; f3 has no number here.
        assert [match.column for match in matches] == ["f1", "f2"]
        assert [match.statistic for match in matches] == ["mean", "mean"]
        assert [match.value for match in matches] == [0.5, 0.3]


def test_a_constant_column_tells_nothing():
    columns = [NumberColumn("f1", np.array([1.0, 1.0, 1.0]))]
    [match] = match_columns(columns, 2, ["mean"], [np.array([True, True, False])])
    assert (match.statistic, match.is_telling) == ("mean", False)
    assert match_columns(columns, 2, ["mean"], []) == []


def test_long_texts_are_no_labels():
    assert kinds_of_label("mean" + " " * 36) == {"mean"}
    assert kinds_of_label("mean" + " " * 37) == frozenset()
    assert kinds_of_label("12.5%") == {"12.5%"}
    assert kinds_of_label("mean 50%") == {"mean", "50%"}
