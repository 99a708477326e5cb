"""Witnesses: fronts worked out by hand, and what dominance means."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rageval_report.analysis.pareto import dominance_matrix
from rageval_report.analysis.rank import rank
from rageval_report.errors import DataError

N = 12


@pytest.fixture(scope="module")
def shops(runs_of):
    """Dear is best, cheap is cheapest, waste is worse than dear on quality and dearer still."""
    return runs_of(
        dear={"faithfulness": [0.9, 0.8] * 6, "cost_usd": [0.02] * N, "latency_ms": [900.0] * N},
        cheap={"faithfulness": [0.6, 0.5] * 6, "cost_usd": [0.01] * N, "latency_ms": [500.0] * N},
        waste={"faithfulness": [0.7, 0.6] * 6, "cost_usd": [0.03] * N, "latency_ms": [900.0] * N},
    )


def test_a_front_by_hand(shops):
    front = rank(*shops).pareto()
    assert front.front == ("dear", "cheap")
    rows = front.frame.set_index("pipeline")
    assert rows.loc["waste", "dominated_by"] == "dear"
    assert rows.loc["dear", "dominates"] == "waste"
    assert rows["probability_on_front"].to_dict() == {"dear": 1.0, "cheap": 1.0, "waste": 0.0}
    assert [axis.name for axis in front.axes] == ["faithfulness", "cost", "latency"]
    assert rows.loc["dear", ["cost", "latency"]].tolist() == pytest.approx([0.02, 900.0])
    assert front.sentences[1] == (
        "waste is dominated by dear (Holm-adjusted p < 0.001), and in 100 % of the resamples of "
        "the queries"
    )


def test_dominance_is_told_for_every_ordered_pair(shops):
    table = rank(*shops).pareto().dominance.set_index(["pipeline", "other"])
    assert len(table) == 6
    shown = table.loc[("dear", "waste")]
    assert (shown["is_ahead"], shown["dominates"], shown["probability"]) == (True, True, 1.0)
    # All 12 queries move one way, on quality and on cost: half a step of 2 ** -12 is the mid-p.
    assert shown["pvalue"] == pytest.approx(2**-13)
    assert shown["pvalue_adjusted"] == pytest.approx(6 * 2**-13)  # of six ordered pairs
    other = table.loc[("waste", "dear")]
    assert (other["is_ahead"], other["dominates"], other["probability"]) == (False, False, 0.0)


def test_equal_pipelines_do_not_dominate_each_other(runs_of):
    same = {"faithfulness": [0.5, 0.6], "cost_usd": [0.01, 0.02]}
    other = {"faithfulness": [0.1, 0.2], "cost_usd": [0.05, 0.05]}
    front = rank(*runs_of(a=same, b=same, c=other)).pareto()
    assert front.front == ("a", "b")


def test_chance_shows_in_the_probability(runs_of):
    rng = np.random.default_rng(0)
    ours = rng.random(50)
    runs = runs_of(a={"recall": ours, "f1": ours}, b={"recall": rng.permutation(ours), "f1": ours})
    table = rank(*runs).pareto(["recall", "f1"]).dominance
    assert (table["probability"] > 0.3).all()


def test_several_metrics_of_quality_stand_as_one_beside_what_is_spent(runs_of):
    runs = runs_of(
        a={"faithfulness": [0.5, 0.7], "recall@5": [0.2, 0.4], "latency_ms": [10.0, 20.0]},
        b={"faithfulness": [0.6, 0.7], "recall@5": [0.1, 0.4], "latency_ms": [11.0, 20.0]},
    )
    front = rank(*runs).pareto()
    assert [axis.name for axis in front.axes] == ["quality", "latency"]
    quality = front.frame.set_index("pipeline")["quality"]
    assert quality["a"] == pytest.approx((0.2 * 0.6 + 0.15 * 0.3) / 0.35)


def test_without_cost_and_latency_the_parts_of_quality_stand_apart(runs_of):
    runs = runs_of(
        a={"faithfulness": [0.5, 0.7], "recall@5": [0.2, 0.4]},
        b={"faithfulness": [0.6, 0.7], "recall@5": [0.1, 0.4]},
    )
    front = rank(*runs).pareto()
    assert [axis.name for axis in front.axes] == ["faithfulness", "retrieval"]
    assert set(front.front) == {"a", "b"}


def test_only_common_objectives_count_and_the_others_are_told(runs_of):
    nan = float("nan")
    runs = runs_of(
        a={"faithfulness": [0.5, 0.7], "cost_usd": [0.1, 0.1]},
        b={"faithfulness": [0.4, 0.7], "cost_usd": [nan, nan]},
    )
    front = rank(*runs).pareto()
    assert front.front == ("a",)
    assert any("cost (cost_usd is missing in b)" in note for note in front.notes)
    assert any("only one objective decides" in note for note in front.notes)


def test_an_objective_that_is_the_same_for_all_decides_nothing(runs_of):
    same = {"latency_ms": [10.0, 10.0], "faithfulness": [0.5, 0.5]}
    front = rank(*runs_of(a=same, b=same)).pareto()
    assert front.front == ("a", "b")
    assert any("equal for all pipelines" in note for note in front.notes)
    assert front.sentences == ("no objective distinguishes the pipelines: all are on the front",)


def test_no_objective_with_data_is_an_error(shops):
    with pytest.raises(DataError, match="no objective has data"):
        rank(*shops).pareto(["citation"])


@settings(max_examples=80)
@given(arrays(float, st.tuples(st.integers(2, 6), st.integers(1, 3)), elements=st.integers(0, 3)))
def test_dominance_is_a_strict_order_and_someone_is_on_the_front(values):
    found = dominance_matrix(values, np.zeros(values.shape[1]))
    assert not found.diagonal().any()
    assert not (found & found.T).any()
    steps = found.astype(int) @ found.astype(int) > 0
    assert (found | ~steps).all()
    assert (~found.any(axis=0)).any()
