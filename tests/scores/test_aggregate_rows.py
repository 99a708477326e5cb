from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from rageval_report.errors import DataError
from rageval_report.scores import score_table
from rageval_report.scores.aggregate_rows import (
    SPELLINGS,
    NumberColumn,
    is_certain_label,
    kinds_of_label,
    match_columns,
)

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
