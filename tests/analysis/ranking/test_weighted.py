"""Weighted scores and fronts; witnesses: ragbench, SciPy 1.17, arithmetic, compare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import permutation_test

from rageval_report import RAGPipelineEvaluation, rank
from rageval_report.analysis.objectives import (
    OBJECTIVES,
    Objective,
    check_weights,
    objective_of,
    parse_named_objectives,
    parse_objective,
)
from rageval_report.analysis.weighted import dominance_matrix, weighted_score
from rageval_report.errors import DataError, UnknownNameError

NAN = float("nan")
WEIGHTS = {"faithfulness": 2, "recall@5": 1}
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


def pipeline(name, order=None, **columns):
    n = len(next(iter(columns.values())))
    rows = {"query_id": np.array([f"q{i:03}" for i in range(n)]), **columns}
    order = np.arange(n) if order is None else order
    return RAGPipelineEvaluation(name, {key: np.asarray(v)[order] for key, v in rows.items()})


def scores_of(seed, gain=0.0, n=40):
    rng = np.random.default_rng(seed)
    ease = np.random.default_rng(99).random(n)
    return {
        "faithfulness": np.clip(0.6 * ease + 0.2 + gain + rng.normal(0, 0.1, n), 0, 1),
        "recall@5": np.clip(0.5 * ease + 0.3 + gain + rng.normal(0, 0.1, n), 0, 1),
        "latency_ms": 400 * np.exp(rng.normal(0, 0.4, n)),
    }


@pytest.fixture(scope="module")
def two():
    return pipeline("old", **scores_of(1)), pipeline("new", **scores_of(2, 0.04))


def pvalue_of(result):
    """Of two pipelines."""
    [pvalue] = result.frame["pvalue"].dropna()
    return pvalue


def totals(weighted):
    return weighted.frame.set_index("pipeline")["score"].to_dict()


# -- what a score is made of


def test_the_worked_scores_of_the_seed(runs_of):
    # Both error rates at 1 and the accuracy of refusals at 0, as in ragbench's example.
    rates = ["abstention_false_positive_rate", "abstention_false_negative_rate"]
    wrong = {**PERFECT, "unanswerable_accuracy": [0.0] * 3, **dict.fromkeys(rates, [1.0] * 3)}
    found = totals(rank(*runs_of(perfect=PERFECT, worse=wrong)).weighted())
    assert found == pytest.approx({"perfect": 1.0, "worse": 0.82})


def test_a_mixed_scorecard_by_hand(runs_of):
    ours = {
        "faithfulness": [0.5, 0.7],
        "recall@5": [1.0, 0.5],
        "mrr": [0.5, 0.25],
        "latency_ms": [3000.0, 9000.0],
        "cost_usd": [0.01, 0.03],
    }
    weighted = rank(*runs_of(a=ours, b={**ours, "faithfulness": [0.9, 0.9]})).weighted()
    # 0.20 * 0.6 + 0.15 * mean(0.75, 0.375) + 0.10 * (1 - 0.02 / 0.10) + 0.05 * (1 - 6 / 30)
    by_hand = (0.12 + 0.15 * 0.5625 + 0.08 + 0.04) / 0.5
    assert totals(weighted)["a"] == pytest.approx(by_hand)
    parts = weighted.contributions.set_index(["objective", "pipeline"])
    assert parts.xs("a", level=1)["contribution"].sum() == pytest.approx(by_hand)
    latency = parts.loc[("latency", "a"), ["weight", "effective_weight", "value"]]
    assert latency.tolist() == pytest.approx([0.05, 0.1, 0.8])
    [told] = [note for note in weighted.notes if note.startswith("weights")]
    assert "median of latency_ms; 0 at 30000, 1 at 0)" in told
    assert "mean of recall@5, " in told
    assert any("accuracy (no metric for it)" in note for note in weighted.notes)


@pytest.mark.parametrize(
    ("weights", "objectives", "error", "told"),
    [
        ({"accuracy": -0.1}, None, DataError, ">= 0; got -0.1"),
        ({"accuracy": NAN}, None, DataError, ">= 0; got nan"),
        ({"accuracy": "much"}, None, DataError, ">= 0; got 'much'"),
        ({"accuracy": 0, "recall": 0}, None, DataError, "weights of the objectives are all 0"),
        ({}, None, DataError, "weights of the objectives are all 0"),
        ({"acuracy": 1}, None, UnknownNameError, "Did you mean 'accuracy'"),
        ({"cost": 1}, None, DataError, "no objective has data in every pipeline .cost: no metric"),
        (None, {"quality": ["recal"]}, UnknownNameError, "Did you mean 'recall'"),
        (None, {"score": ["recall"]}, DataError, "cannot be named 'score'"),
        (None, {"quality": []}, DataError, "at least one metric"),
    ],
)
def test_what_makes_no_sense_is_refused(three, weights, objectives, error, told):
    with pytest.raises(error, match=told):
        rank(*three).weighted(weights, objectives)


# -- one run


def test_the_weighted_score_of_one_run(runs_of):
    columns = {"faithfulness": [1.0, 0.5], "recall@5": [0.5, 0.0], "latency_ms": [3000.0, 9000.0]}
    [run] = runs_of(rag=columns)

    def rows(**options):
        return weighted_score(run, **options).frame.set_index("objective")

    found = rows(weights=WEIGHTS)
    whole, parts = found.loc["weighted score"], found.drop(index="weighted score")
    assert whole["value"] == pytest.approx((2 * 0.75 + 0.25) / 3)
    assert parts["contribution"].sum() == pytest.approx(whole["value"])
    assert whole["ci_low"] < whole["value"] < whole["ci_high"]
    assert rows().loc["cost", "effective_weight"] == 0.0  # without data
    assert rows()["effective_weight"].sum() == pytest.approx(1.0)
    own = {"latency": "p75(latency_ms), worst=10000, best=0", "retrieval": ["recall@5"]}
    found = rows(objectives=own, weights={"retrieval": 1, "latency": 1, "faithfulness": 1})
    latency = 1 - np.quantile(columns["latency_ms"], 0.75) / 10_000
    assert found["value"][["latency", "retrieval"]].tolist() == pytest.approx([latency, 0.25])
    assert found.loc["faithfulness", "value"] == 0.75  # beside one's own, the default ones


# -- tests of differences


def test_a_weighted_mean_is_tested_query_by_query(two):
    found = rank(*two).weighted(WEIGHTS)
    by_query = [
        (2 * run.scores["faithfulness"] + run.scores["recall@5"]).to_numpy() / 3 for run in two
    ]
    assert totals(found) == pytest.approx({"old": by_query[0].mean(), "new": by_query[1].mean()})
    witness = permutation_test(
        by_query[::-1],
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=99_999,
        vectorized=True,
        rng=np.random.default_rng(0),
    )
    assert pvalue_of(found) == pytest.approx(witness.pvalue, abs=0.004)
    assert "the score is a mean over 40 queries, tested by sign-flips" in found.notes


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_swapped_pipelines_and_shuffled_rows_move_nothing(seed):
    rng = np.random.default_rng(seed)
    columns = scores_of(seed, n=15), scores_of(seed + 1, 0.03, n=15)
    a, b = pipeline("a", **columns[0]), pipeline("b", **columns[1])

    def told(*runs):
        found = rank(*runs, metrics=list(WEIGHTS), n_resamples=49).weighted(WEIGHTS)
        frame = found.frame.set_index("pipeline").sort_index()
        return frame[["score", "ci_low", "ci_high", "pvalue"]].to_numpy()

    orders = [rng.permutation(15) for _ in range(2)]
    mixed = [
        pipeline(name, order, **one) for name, order, one in zip("ab", orders, columns, strict=True)
    ]
    for again in (told(b, a), told(*mixed)):
        np.testing.assert_allclose(again, told(a, b), rtol=1e-9)


def test_the_shares_of_resamples_add_up_and_the_best_by_far_wins_all(noisy, runs_of):
    frame = rank(*noisy, n_resamples=99).weighted().frame
    assert frame["share_of_resamples"].sum() == pytest.approx(1)
    good, bad = ({"recall@5": [x] * 5, "faithfulness": [x] * 5} for x in (0.9, 0.1))
    first = rank(*runs_of(good=good, bad=bad), n_resamples=99).weighted().frame.iloc[0]
    assert first[["pipeline", "share_of_resamples"]].tolist() == ["good", 1.0]


# -- fronts


def test_quality_is_one_axis_beside_what_is_spent_and_its_parts_stand_apart_without(runs_of):
    columns = {
        "a": {"faithfulness": [0.5, 0.7], "recall@5": [0.2, 0.4], "latency_ms": [10.0, 20.0]},
        "b": {"faithfulness": [0.6, 0.7], "recall@5": [0.1, 0.4], "latency_ms": [11.0, 20.0]},
    }
    front = rank(*runs_of(**columns)).pareto()
    assert [axis.name for axis in front.axes] == ["quality", "latency"]
    quality = front.frame.set_index("pipeline")["quality"]
    assert quality["a"] == pytest.approx((0.2 * 0.6 + 0.15 * 0.3) / 0.35)
    for own in columns.values():
        del own["latency_ms"]
    front = rank(*runs_of(**columns)).pareto()
    assert [axis.name for axis in front.axes] == ["faithfulness", "retrieval"]
    assert set(front.front) == {"a", "b"}


@settings(max_examples=80)
@given(arrays(float, st.tuples(st.integers(2, 6), st.integers(1, 3)), elements=st.integers(0, 3)))
def test_dominance_is_a_strict_order_and_someone_is_on_the_front(values):
    found = dominance_matrix(values, np.zeros(values.shape[1]))
    assert not found.diagonal().any()
    assert not (found & found.T).any()
    steps = found.astype(int) @ found.astype(int) > 0
    assert (found | ~steps).all()
    assert (~found.any(axis=0)).any()


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
        (["recall@5", "ndcg@10"], Objective(("recall@5", "ndcg@10"))),
    ],
)
def test_a_text_or_a_list_of_names_is_an_objective(text, objective):
    assert objective_of(text) == objective


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must be metrics, or one statistic of metrics"),
        ("recall@5,", "must be metrics, or one statistic"),
        ("worst=5", "must be metrics, or one statistic"),
        ("p95(latency_ms), recall@5", "one statistic of metrics"),
        ("p95()", "one statistic of metrics"),
        ("stars, best=five", "worst and best must be numbers; got 'five'"),
        ("stars, best=nan", "worst and best must be numbers"),
        ("stars, best=5, worst=5", "best and worst must differ"),
        ("p0(latency_ms)", "a percentile must be between 0 and 100"),
    ],
)
def test_another_text_is_refused(text, told):
    with pytest.raises(DataError, match=told):
        parse_objective(text)
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
    assert parse_named_objectives(["faithfulness", "cost"]) == ["faithfulness", "cost"]
    one = parse_named_objectives(["p95(latency_ms)"])
    assert one == {"p95(latency_ms)": Objective("latency_ms", statistic="p95")}
    assert parse_named_objectives([]) is None
    for text in ("=f1", "f1="):
        with pytest.raises(DataError, match="write NAME=METRIC,METRIC"):
            parse_named_objectives([text])


@pytest.mark.parametrize(
    ("weights", "error", "told"),
    [
        ({"acuracy": 1}, UnknownNameError, "Did you mean 'accuracy'"),
        ({"accuracy": float("inf")}, DataError, ">= 0"),
    ],
)
def test_weights_that_make_no_sense_are_refused_without_scores(weights, error, told):
    with pytest.raises(error, match=told):
        check_weights(weights)
    # Objectives and rubrics of one's own are known.
    check_weights({"speed": 1, "tone_q": 2}, {"speed": "latency_ms"}, ["tone_q"])
