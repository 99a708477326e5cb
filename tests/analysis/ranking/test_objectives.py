"""Objectives, and scores made of them; witnesses: ragbench, arithmetic by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rageval_report.analysis.objectives import (
    OBJECTIVES,
    Objective,
    check_weights,
    objective_of,
    parse_named_objectives,
    parse_objective,
)
from rageval_report.analysis.rank import rank
from rageval_report.analysis.weighted import WHOLE, simplex_shares, weighted_score, winning_shares
from rageval_report.errors import DataError, UnknownNameError

PERFECT = {
    **dict.fromkeys(["recall@1", "recall@3", "recall@5", "recall@10", "mrr", "ndcg@10"], [1.0] * 3),
    **dict.fromkeys(["precision@1", "precision@3", "precision@5"], [1.0] * 3),
    **dict.fromkeys(["citation_precision", "citation_recall", "section_accuracy"], [1.0] * 3),
    **dict.fromkeys(["faithfulness", "answer_correctness", "answer_relevancy"], [1.0] * 3),
    "unanswerable_accuracy": [1.0] * 3,
    **dict.fromkeys(
        ["abstention_false_positive_rate", "abstention_false_negative_rate"], [0.0] * 3
    ),
    "latency_ms": [0.0] * 3,
    "cost_usd": [0.0] * 3,
}

# Both error rates at 1 and the accuracy of refusals at 0, as in the seed.
REFUSES_WRONGLY = {
    **PERFECT,
    "unanswerable_accuracy": [0.0] * 3,
    **dict.fromkeys(
        ["abstention_false_positive_rate", "abstention_false_negative_rate"], [1.0] * 3
    ),
}


def scores_of(weighted):
    return weighted.frame.set_index("pipeline")["score"].to_dict()


def test_the_worked_scores_of_the_seed(runs_of):
    found = scores_of(rank(*runs_of(perfect=PERFECT, worse=REFUSES_WRONGLY)).weighted())
    assert found["perfect"] == pytest.approx(1.0)
    assert found["worse"] == pytest.approx(0.8200000000000001)


def test_a_mixed_scorecard_by_hand(runs_of):
    ours = {
        "faithfulness": [0.5, 0.7],
        "recall@5": [1.0, 0.5],
        "mrr": [0.5, 0.25],
        "latency_ms": [3000.0, 9000.0],
        "cost_usd": [0.01, 0.03],
    }
    theirs = {**ours, "faithfulness": [0.9, 0.9]}
    weighted = rank(*runs_of(a=ours, b=theirs)).weighted()
    # 0.20 * 0.6 + 0.15 * mean(0.75, 0.375) + 0.10 * (1 - 0.02 / 0.10) + 0.05 * (1 - 6 / 30)
    by_hand = (0.12 + 0.15 * 0.5625 + 0.08 + 0.04) / 0.5
    assert scores_of(weighted)["a"] == pytest.approx(by_hand)
    parts = weighted.contributions.frame
    assert parts[parts["pipeline"] == "a"]["contribution"].sum() == pytest.approx(by_hand)
    latency = parts[(parts["objective"] == "latency") & (parts["pipeline"] == "a")].iloc[0]
    assert (latency["weight"], latency["effective_weight"]) == pytest.approx((0.05, 0.1))
    assert latency["value"] == pytest.approx(0.8)
    assert any("accuracy (no metric for it)" in note for note in weighted.notes)


def test_what_the_reference_told_counts_as_accuracy(runs_of):
    ours = {"answer_relevancy": [0.8, 0.6], "exact_match": [1, 0], "token_f1": [0.9, 0.3]}
    weighted = rank(*runs_of(a=ours, b={**ours, "exact_match": [0, 0]})).weighted({"accuracy": 1})
    # The mean of the share of correct queries, 1/2 and 0, and of the relevancy, 0.7.
    assert scores_of(weighted) == pytest.approx({"a": 1.2 / 2, "b": 0.7 / 2})
    assert "mean of correct (exact_match = 1), answer_relevancy" in " ".join(weighted.notes)


def test_the_notes_say_what_counts_as_0_and_as_1_where_no_bounds_do(runs_of):
    runs = runs_of(
        a={"latency_ms": [10.0, 20.0], "recall@5": [1, 0.5]},
        b={"latency_ms": [20.0, 30.0], "recall@5": [1, 0]},
    )
    [told] = [note for note in rank(*runs).weighted().notes if note.startswith("weights")]
    assert "median of latency_ms; 0 at 30000, 1 at 0)" in told
    assert "mean of recall@5)" in told


def test_a_cost_that_is_not_known_is_missing_and_never_free(runs_of):
    nan = float("nan")
    runs = runs_of(
        a={"faithfulness": [0.5, 0.6], "cost_usd": [0.05, 0.05]},
        b={"faithfulness": [0.4, 0.5], "cost_usd": [nan, nan]},
    )
    weighted = rank(*runs).weighted()
    assert scores_of(weighted) == pytest.approx({"a": 0.55, "b": 0.45})
    assert any("cost (cost_usd is missing in b)" in note for note in weighted.notes)


def test_a_cost_of_zero_is_free(runs_of):
    runs = runs_of(a={"cost_usd": [0.0, 0.0]}, b={"cost_usd": [0.02, 0.03]})
    assert scores_of(rank(*runs).weighted()) == pytest.approx({"a": 1.0, "b": 0.75})


def test_without_its_own_metrics_an_objective_takes_those_of_its_group(runs_of):
    runs = runs_of(
        a={"recall@20": [0.5, 0.7], "bleu": [0.2, 0.4], "faithfulness": [1, 1]},
        b={"recall@20": [0.4, 0.7], "bleu": [0.2, 0.4], "faithfulness": [1, 1]},
    )
    parts = rank(*runs).weighted().contributions.frame.set_index("objective")["made_of"]
    assert parts["retrieval"].iloc[0] == "mean of recall@20"
    assert parts["accuracy"].iloc[0] == "mean of bleu"  # faithfulness is an objective of its own


def test_a_similarity_below_zero_counts_as_zero_and_grades_by_their_range(runs_of):
    runs = runs_of(a={"sas": [-0.5, -0.3]}, b={"sas": [0.5, 0.7]})
    assert scores_of(rank(*runs).weighted({"sas": 1})) == pytest.approx({"a": 0.0, "b": 0.6})
    graded = {"stars": Objective("stars", worst=1, best=5)}
    runs = runs_of(a={"stars": [1, 3]}, b={"stars": [5, 5]})
    assert scores_of(rank(*runs).weighted(objectives=graded)) == pytest.approx({"a": 0.25, "b": 1})


def test_weights_name_objectives_and_metrics_alike(three):
    weighted = rank(*three).weighted({"recall": 3, "latency_ms": 1})
    table = weighted.contributions.frame
    assert table["effective_weight"].unique().tolist() == [0.75, 0.25]
    # the median latency of bm25 is 104.5 ms; the metric takes the ends of the latency objective
    value = table.set_index(["objective", "pipeline"])["value"]["latency_ms", "bm25"]
    assert value == pytest.approx(1 - 104.5 / 30_000)


def test_an_objective_of_ones_own(three):
    weighted = rank(*three).weighted(
        objectives={"quality": ["recall"], "latency": "latency_ms"}, weights={"quality": 1}
    )
    assert scores_of(weighted)["hybrid"] == pytest.approx(0.538)


def test_shares_add_up_and_the_best_by_far_wins_everywhere(noisy, runs_of):
    frame = rank(*noisy, n_resamples=99).weighted().frame
    assert frame["share_of_resamples"].sum() == pytest.approx(1)
    assert frame["share_of_weights"].sum() == pytest.approx(1)
    runs = runs_of(
        good={"recall@5": [0.9] * 5, "faithfulness": [0.9] * 5},
        bad={"recall@5": [0.1] * 5, "faithfulness": [0.1] * 5},
    )
    first = rank(*runs).weighted(n_resamples=99).frame.iloc[0]
    assert (first["pipeline"], first["share_of_resamples"], first["share_of_weights"]) == (
        *("good", 1.0, 1.0),
    )


def test_twins_share_the_highest_score_and_unused_metrics_are_told(runs_of):
    same = {"faithfulness": [0.5, 0.6], "my_own": [0.5, 0.6]}
    weighted = rank(*runs_of(a=same, b=same)).weighted(n_resamples=9)
    assert weighted.sentences[0].startswith("a and b share the highest weighted score")
    assert "metrics in no objective: my_own" in weighted.notes


def test_two_objectives_are_weighed_exactly_as_dirichlet_weights_say():
    values = np.random.default_rng(3).random((6, 2))
    weights = np.random.default_rng(4).dirichlet([1, 1], size=200_000)
    np.testing.assert_allclose(
        simplex_shares(values), winning_shares(weights @ values.T), atol=0.005
    )


def test_twins_share_what_they_win():
    values = np.array([[0.9, 0.2], [0.9, 0.2], [0.1, 0.9]])
    shares = simplex_shares(values)  # they cross where 0.7 w + 0.2 = 0.9 - 0.8 w
    assert shares == pytest.approx([4 / 15, 4 / 15, 7 / 15])
    assert simplex_shares(np.array([[0.3], [0.5], [0.5]])).tolist() == [0.0, 0.5, 0.5]


@pytest.mark.parametrize(
    ("weights", "error", "told"),
    [
        ({"accuracy": -0.1}, DataError, ">= 0; got -0.1"),
        ({"accuracy": float("nan")}, DataError, ">= 0; got nan"),
        ({"accuracy": "much"}, DataError, ">= 0; got 'much'"),
        ({"accuracy": 0, "recall": 0}, DataError, "weights of the objectives are all 0"),
        ({}, DataError, "weights of the objectives are all 0"),
        ({"acuracy": 1}, UnknownNameError, "Did you mean 'accuracy'"),
        ({"cost": 1}, DataError, "no objective has data in every pipeline .cost: no metric"),
    ],
)
def test_weights_that_make_no_sense_are_refused(three, weights, error, told):
    with pytest.raises(error, match=told):
        rank(*three).weighted(weights)


@pytest.mark.parametrize(
    ("objectives", "error", "told"),
    [
        ({"quality": ["recal"]}, UnknownNameError, "Did you mean 'recall'"),
        ({"score": ["recall"]}, DataError, "cannot be named 'score'"),
        ({"quality": []}, DataError, "at least one metric"),
    ],
)
def test_objectives_that_make_no_sense_are_refused(three, objectives, error, told):
    with pytest.raises(error, match=told):
        rank(*three).weighted(objectives=objectives)


def test_a_metric_without_bounds_needs_its_best_value(runs_of):
    runs = runs_of(a={"stars": [1, 3.5]}, b={"stars": [7.5, 5]})
    with pytest.raises(DataError, match="has no bounds"):
        rank(*runs).weighted(objectives={"fame": "stars"})


def test_latency_and_cost_have_the_scale_of_the_default_objectives(three):
    weighted = rank(*three).weighted(objectives={"time": "p95(latency_ms)"})
    latency = three[0].scores["latency_ms"].to_numpy()
    value = weighted.contributions.frame.set_index("pipeline")["value"][three[0].name]
    assert value == pytest.approx(1 - np.quantile(latency, 0.95) / 30_000)
    assert any("0 at 30000, 1 at 0" in note for note in weighted.notes)


@pytest.mark.parametrize(
    ("text", "objective"),
    [
        ("recall@5", Objective("recall@5")),
        (" recall@5 , ndcg@10", Objective(("recall@5", "ndcg@10"))),
        ("p95(latency_ms)", Objective("latency_ms", statistic="p95")),
        ("median( f1 , recall@5 )", Objective(("f1", "recall@5"), statistic="median")),
        (
            "p99.5(latency_ms), worst=5e3, best=0",
            Objective("latency_ms", statistic="p99.5", worst=5000.0, best=0.0),
        ),
        ("stars,best=5", Objective("stars", best=5.0)),
        # Brackets in the name of a metric are no statistic.
        ("f1(macro)", Objective("f1(macro)")),
    ],
)
def test_a_text_is_an_objective(text, objective):
    assert parse_objective(text) == objective
    assert objective_of(text) == objective


@pytest.mark.parametrize(
    ("text", "error", "told"),
    [
        ("", DataError, "must be metrics, or one statistic of metrics"),
        ("recall@5,", DataError, "must be metrics, or one statistic"),
        ("worst=5", DataError, "must be metrics, or one statistic"),
        ("p95(latency_ms), recall@5", DataError, "one statistic of metrics"),
        ("p95()", DataError, "one statistic of metrics"),
        ("stars, best=five", DataError, "worst and best must be numbers; got 'five'"),
        ("stars, best=nan", DataError, "worst and best must be numbers"),
        ("stars, best=5, worst=5", DataError, "best and worst must differ"),
        ("p0(latency_ms)", DataError, "a percentile must be between 0 and 100"),
    ],
)
def test_another_text_is_refused(text, error, told):
    with pytest.raises(error, match=told):
        parse_objective(text)


def test_names_of_metrics_are_an_objective():
    assert objective_of(["recall@5", "ndcg@10"]) == Objective(("recall@5", "ndcg@10"))
    assert objective_of(["p95(latency_ms)"]) == Objective("latency_ms", statistic="p95")
    with pytest.raises(DataError, match="at least one metric"):
        objective_of([])
    with pytest.raises(UnknownNameError, match='statistic must be "mean", "median" or "p95"'):
        Objective("latency_ms", statistic="average")


def test_a_name_stands_before_the_first_equals_sign():
    assert parse_named_objectives(["speed=p95(latency_ms),worst=9,best=1", "faithfulness"]) == {
        "speed": Objective("latency_ms", statistic="p95", worst=9.0, best=1.0),
        "faithfulness": Objective("faithfulness"),
    }
    named = parse_named_objectives(["q=f1", "latency"])
    assert named == {"q": Objective("f1"), "latency": OBJECTIVES["latency"]}
    assert parse_named_objectives(["stars,worst=1,best=5"]) == {
        "stars,worst=1,best=5": Objective("stars", worst=1.0, best=5.0)
    }
    assert parse_named_objectives(["faithfulness", "p95(latency_ms)"]) == [
        "faithfulness",
        "p95(latency_ms)",
    ]
    assert parse_named_objectives([]) is None
    for text in ("=f1", "f1="):
        with pytest.raises(DataError, match="write NAME=METRIC,METRIC"):
            parse_named_objectives([text])


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
