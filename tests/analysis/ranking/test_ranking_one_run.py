"""The weighted score of one run; the numbers are worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rageval_report.analysis.objectives import check_weights
from rageval_report.analysis.weighted import WHOLE, weighted_score
from rageval_report.errors import DataError, UnknownNameError

COLUMNS = {"faithfulness": [1.0, 0.5], "recall@5": [0.5, 0.0], "latency_ms": [3000.0, 9000.0]}


@pytest.fixture
def rows(runs_of):
    """The rows of the weighted score of one run, by objective."""

    def make(columns=COLUMNS, **settings):
        [run] = runs_of(rag=columns)
        return weighted_score(run, **settings).frame.set_index("objective")

    return make


def test_the_whole_is_the_mean_of_the_parts_by_weight(rows):
    found = rows(weights={"faithfulness": 2, "recall@5": 1})
    assert found.loc[WHOLE, "value"] == pytest.approx((2 * 0.75 + 0.25) / 3)
    parts = found.drop(index=WHOLE)
    assert parts["contribution"].sum() == pytest.approx(found.loc[WHOLE, "value"])
    assert found.loc[WHOLE, "ci_low"] < found.loc[WHOLE, "value"] < found.loc[WHOLE, "ci_high"]


def test_an_objective_of_ones_own_stands_in_the_place_of_a_default_one(rows):
    fast = {"latency": "p75(latency_ms), worst=10000, best=0"}
    by_percentile = rows(objectives=fast, weights={"latency": 1})
    latency = np.quantile(COLUMNS["latency_ms"], 0.75)
    assert by_percentile.loc["latency", "value"] == pytest.approx(1 - latency / 10_000)
    found = rows(objectives={"retrieval": ["recall@5"]}, weights={"retrieval": 1, "latency": 1})
    assert found.loc["retrieval", "value"] == pytest.approx(0.25)
    assert found.loc["latency", "value"] == pytest.approx(1 - 6000 / 30000)


def test_an_objective_without_data_is_listed_and_weighs_nothing(rows):
    found = rows()
    assert found.loc["cost", "effective_weight"] == 0.0
    assert found["effective_weight"].sum() == pytest.approx(1.0)


def test_a_run_without_any_objective_is_refused(rows):
    with pytest.raises(DataError, match="no objective has data"):
        rows({"vagueness_q": [0.5, 0.25]})


@pytest.mark.parametrize(
    ("weights", "error", "told"),
    [
        ({"acuracy": 1}, UnknownNameError, "Did you mean 'accuracy'"),
        ({"accuracy": -1}, DataError, ">= 0"),
        ({"accuracy": float("inf")}, DataError, ">= 0"),
        ({"accuracy": 0, "cost": 0}, DataError, "are all 0"),
    ],
)
def test_weights_that_make_no_sense_are_refused_without_scores(weights, error, told):
    with pytest.raises(error, match=told):
        check_weights(weights)


def test_weights_may_name_objectives_and_rubrics_of_ones_own():
    check_weights({"speed": 1, "tone_q": 2}, {"speed": "latency_ms"}, ["tone_q"])
