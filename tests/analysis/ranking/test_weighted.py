"""Weighted scores, margins and fronts; witnesses: ragbench, SciPy 1.17, arithmetic, compare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import bootstrap, permutation_test

from rageval_report import RAGPipelineEvaluation, rank
from rageval_report.analysis.objectives import Objective
from rageval_report.analysis.weighted import (
    dominance_matrix,
    simplex_shares,
    weighted_score,
    winning_shares,
)
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


def scores_of(seed, gain=0.0, n=40, lower=0.0):
    rng = np.random.default_rng(seed)
    ease = np.random.default_rng(99).random(n)
    return {
        "faithfulness": np.clip(0.6 * ease + 0.2 + gain + rng.normal(0, 0.1, n), 0, 1),
        "recall@5": np.clip(0.5 * ease + 0.3 + gain + rng.normal(0, 0.1, n), 0, 1),
        "latency_ms": 400 * np.exp(rng.normal(0, 0.4, n)) - lower,
    }


@pytest.fixture(scope="module")
def two():
    return pipeline("old", **scores_of(1)), pipeline("new", **scores_of(2, 0.04))


def pair_of(result):
    [row] = result.pairs.frame.to_dict("records")
    return row


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
    parts = weighted.contributions.frame.set_index(["objective", "pipeline"])
    assert parts.xs("a", level=1)["contribution"].sum() == pytest.approx(by_hand)
    latency = parts.loc[("latency", "a"), ["weight", "effective_weight", "value"]]
    assert latency.tolist() == pytest.approx([0.05, 0.1, 0.8])
    [told] = [note for note in weighted.notes if note.startswith("weights")]
    assert "median of latency_ms; 0 at 30000, 1 at 0)" in told
    assert "mean of recall@5, " in told
    assert any("accuracy (no metric for it)" in note for note in weighted.notes)


def test_what_the_reference_told_counts_as_accuracy(runs_of):
    ours = {"answer_relevancy": [0.8, 0.6], "exact_match": [1, 0], "token_f1": [0.9, 0.3]}
    weighted = rank(*runs_of(a=ours, b={**ours, "exact_match": [0, 0]})).weighted({"accuracy": 1})
    # The mean of the share of correct queries, 1/2 and 0, and of the relevancy, 0.7.
    assert totals(weighted) == pytest.approx({"a": 1.2 / 2, "b": 0.7 / 2})
    assert "mean of correct (exact_match = 1), answer_relevancy" in " ".join(weighted.notes)


def test_an_unknown_cost_is_missing_and_a_cost_of_zero_is_free(runs_of):
    runs = runs_of(
        a={"faithfulness": [0.5, 0.6], "cost_usd": [0.05, 0.05]},
        b={"faithfulness": [0.4, 0.5], "cost_usd": [NAN, NAN]},
    )
    weighted = rank(*runs).weighted()
    assert totals(weighted) == pytest.approx({"a": 0.55, "b": 0.45})
    assert any("cost (cost_usd is missing in b)" in note for note in weighted.notes)
    free = runs_of(a={"cost_usd": [0.0, 0.0]}, b={"cost_usd": [0.02, 0.03]})
    assert totals(rank(*free).weighted()) == pytest.approx({"a": 1.0, "b": 0.75})


def test_without_its_own_metrics_an_objective_takes_those_of_its_group(runs_of):
    columns = {"recall@20": [0.5, 0.7], "bleu": [0.2, 0.4], "faithfulness": [1, 1]}
    weighted = rank(*runs_of(a=columns, b=columns)).weighted()
    parts = weighted.contributions.frame.set_index("objective")["made_of"]
    assert parts["retrieval"].iloc[0] == "mean of recall@20"
    assert parts["accuracy"].iloc[0] == "mean of bleu"  # faithfulness is an objective of its own


def test_each_metric_has_its_own_scale(runs_of, three):
    runs = runs_of(a={"sas": [-0.5, -0.3]}, b={"sas": [0.5, 0.7]})
    assert totals(rank(*runs).weighted({"sas": 1})) == pytest.approx({"a": 0.0, "b": 0.6})
    graded = {"stars": Objective("stars", worst=1, best=5)}
    runs = runs_of(a={"stars": [1, 3]}, b={"stars": [5, 5]})
    assert totals(rank(*runs).weighted(objectives=graded)) == pytest.approx({"a": 0.25, "b": 1})
    unbounded = runs_of(a={"stars": [1, 3.5]}, b={"stars": [7.5, 5]})
    with pytest.raises(DataError, match="has no bounds"):
        rank(*unbounded).weighted(objectives={"fame": "stars"})
    # Latency and cost have the scale of the default objectives; the median of bm25 is 104.5 ms.
    parts = rank(*three).weighted({"recall": 3, "latency_ms": 1}).contributions.frame
    assert parts["effective_weight"].unique().tolist() == [0.75, 0.25]
    value = parts.set_index(["objective", "pipeline"])["value"]["latency_ms", "bm25"]
    assert value == pytest.approx(1 - 104.5 / 30_000)


def test_an_objective_of_ones_own(three):
    weighted = rank(*three).weighted(
        objectives={"quality": ["recall"], "latency": "p95(latency_ms)"}, weights={"quality": 1}
    )
    assert totals(weighted)["hybrid"] == pytest.approx(0.538)
    late = rank(*three).weighted(objectives={"time": "p95(latency_ms)"})
    share = 1 - np.quantile(three[0].scores["latency_ms"], 0.95) / 30_000
    assert totals(late)["bm25"] == pytest.approx(share)


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


def test_twins_share_the_highest_score_and_unused_metrics_are_told(runs_of):
    same = {"faithfulness": [0.5, 0.6], "my_own": [0.5, 0.6]}
    weighted = rank(*runs_of(a=same, b=same)).weighted(n_resamples=9)
    assert weighted.sentences[0].startswith("a and b share the highest weighted score")
    assert "metrics in no objective: my_own" in weighted.notes


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
    row = pair_of(rank(*two).weighted(WEIGHTS))
    by_query = [
        (2 * run.scores["faithfulness"] + run.scores["recall@5"]).to_numpy() / 3 for run in two
    ]
    gains = by_query[1] - by_query[0]
    assert row["difference"] == pytest.approx(gains.mean())
    witness = permutation_test(
        by_query[::-1],
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=99_999,
        vectorized=True,
        rng=np.random.default_rng(0),
    )
    assert row["pvalue"] == pytest.approx(witness.pvalue, abs=0.004)
    low, high = bootstrap(
        (gains,), np.mean, method="BCa", n_resamples=9999, rng=np.random.default_rng(0)
    ).confidence_interval
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), abs=0.006)
    assert (row["n"], row["test"]) == (40, "sign-flip")


def test_a_metric_without_a_score_on_some_queries_weighs_the_others_more():
    gaps = np.where(np.arange(40) < 10, NAN, 1.0)
    runs = [
        pipeline(name, **{**columns, "recall@5": gaps * columns["recall@5"]})
        for name, columns in (("a", scores_of(1)), ("b", scores_of(2, 0.05)))
    ]
    result = rank(*runs).weighted(WEIGHTS)
    by_hand = [
        (2 * run.scores["faithfulness"].mean() + run.scores["recall@5"].mean()) / 3 for run in runs
    ]
    assert [totals(result)[name] for name in "ab"] == pytest.approx(by_hand)
    row = pair_of(result)
    # The interval of the test by query is about this difference; all 40 queries contribute.
    assert (row["n"], row["test"]) == (40, "sign-flip")
    middle = (row["ci_low"] + row["ci_high"]) / 2
    assert middle == pytest.approx(by_hand[1] - by_hand[0], abs=0.003)


@pytest.mark.parametrize(
    ("text", "quantile", "n", "tail", "tolerance"),
    # Expanded percentiles: t with n - 1 degrees of freedom times sqrt(n / (n - 1)) is 2.0485 for 40
    # queries, of which the normal distribution has 0.020258 beyond; for 150 1.98263 and 0.023704.
    [("median", 0.5, 40, 0.020258, 0.012), ("p95", 0.95, 150, 0.023704, 0.008)],
)
def test_a_percentile_is_tested_on_paired_resamples(text, quantile, n, tail, tolerance):
    """SciPy 1.17: percentiles of its paired bootstrap, expanded."""
    runs = pipeline("slow", **scores_of(1, n=n)), pipeline("fast", **scores_of(2, n=n, lower=150))
    row = pair_of(rank(*runs).weighted({f"{text}(latency_ms), worst=1000, best=0": 1}))
    before, after = (run.scores["latency_ms"].to_numpy() for run in runs)

    def gain(a, b, axis=-1):
        one, other = (np.quantile(side, quantile, axis=axis) for side in (a, b))
        return np.clip(1 - other / 1000, 0, 1) - np.clip(1 - one / 1000, 0, 1)

    assert row["difference"] == pytest.approx(gain(before, after))
    assert row["test"] == "paired bootstrap"
    low, high = bootstrap(
        (before, after),
        gain,
        paired=True,
        confidence_level=1 - 2 * tail,
        method="percentile",
        n_resamples=9999,
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), abs=tolerance)
    assert row["is_shown"] == (low > 0) == (row["pvalue"] <= 0.05)


@pytest.mark.parametrize(("n", "is_tested"), [(99, False), (100, True)])
def test_a_percentile_needs_five_queries_beyond_it(n, is_tested):
    objective = {"speed": "p95(latency_ms), worst=2000, best=0"}
    slow = scores_of(1, n=n)
    ranking = rank(pipeline("slow", **slow), pipeline("fast", latency_ms=slow["latency_ms"] / 2))
    weighted, front = ranking.weighted(objectives=objective), ranking.pareto(objective)
    row = pair_of(weighted)
    assert row["is_shown"] == is_tested
    assert np.isnan(row["ci_low"]) != is_tested
    assert (front.frame["standing"].iloc[-1] == "dominated") == is_tested
    assert (weighted.frame["share_of_weights_shown"].max() > 0) == is_tested
    told = "99; at least 100 are needed for p95 of latency_ms"
    assert (told in row["verdict"]) != is_tested
    assert any(told in str(text) for text in front.frame["verdict"]) != is_tested


def test_a_mean_beyond_the_worst_that_counts_is_no_mean_over_queries():
    dear = pipeline("dear", cost_usd=np.linspace(0.05, 0.25, 20))
    cheap = pipeline("cheap", cost_usd=np.linspace(0.0, 0.05, 20))
    row = pair_of(rank(dear, cheap).weighted({"cost": 1}))
    assert row["difference"] == pytest.approx(1 - 0.025 / 0.1)  # dear has 0, not less
    assert row["test"] == "paired bootstrap"


def test_the_verdict_says_what_is_shown_against_whom_and_how(two):
    result = rank(pipeline("a", **scores_of(1)), pipeline("b", **scores_of(2))).weighted(WEIGHTS)
    assert pair_of(result)["verdict"].startswith("no difference of the weighted scores of")
    assert " may be as good: " in result.sentences[0]
    assert set(result.frame["standing"]) == {"best", "may be best"}
    result = rank(*two, pipeline("best", **scores_of(3, 0.2))).weighted(WEIGHTS)
    assert "higher than that of new and old (Holm-adjusted p < 0.001)" in result.sentences[0]
    assert result.frame["standing"].tolist() == ["best", "worse", "worse"]
    assert (result.pairs.frame["pvalue_adjusted"] >= result.pairs.frame["pvalue"]).all()
    few = [pipeline(name, recall=[x] * 5) for name, x in (("a", 0.1), ("b", 0.9))]
    result = rank(*few).weighted({"recall": 1})
    assert "too few queries for a test" in result.sentences[0]
    assert "too few queries for a test" in pair_of(result)["verdict"]


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000))
def test_swapped_pipelines_flip_the_sign_and_shuffled_rows_move_nothing(seed):
    rng = np.random.default_rng(seed)
    columns = scores_of(seed, n=15), scores_of(seed + 1, 0.03, n=15)
    a, b = pipeline("a", **columns[0]), pipeline("b", **columns[1])
    row, back = (pair_of(rank(*runs).weighted(WEIGHTS)) for runs in ((a, b), (b, a)))
    assert back["difference"] == pytest.approx(-row["difference"])
    assert (back["ci_low"], back["ci_high"]) == pytest.approx((-row["ci_high"], -row["ci_low"]))
    assert back["pvalue"] == pytest.approx(row["pvalue"])
    orders = [rng.permutation(15) for _ in range(2)]
    mixed = [
        pipeline(name, order, **one) for name, order, one in zip("ab", orders, columns, strict=True)
    ]
    again = pair_of(rank(*mixed).weighted(WEIGHTS))
    for name in ("difference", "ci_low", "ci_high", "pvalue", "pvalue_adjusted"):
        assert again[name] == pytest.approx(row[name])


# -- margins


@pytest.fixture(scope="module")
def a_millisecond():
    """The same pipeline twice; one is slower by 1 ms on every query."""
    columns = scores_of(1)
    slower = {**columns, "latency_ms": columns["latency_ms"] + 1}
    return pipeline("one", **columns), pipeline("two", **slower)


def test_a_millisecond_is_no_better_standing_beyond_a_margin(a_millisecond):
    strict = rank(*a_millisecond).of("latency_ms")
    assert strict[["standing", "letters"]].to_numpy().tolist() == [["best", "a"], ["worse", "b"]]
    ranking = rank(*a_millisecond, margins={"latency_ms": 50})
    frame = ranking.of("latency_ms")
    assert frame[["standing", "letters", "beats", "beaten_by"]].to_numpy().tolist() == [
        *(["best", "a", 0, 0], ["may be best", "a", 0, 0])
    ]
    assert ranking.groups("latency_ms") == [("one", "two")]
    assert frame["verdict"][0].endswith("but two may be as good within the margin of 50.0")
    rows = ranking.pairs.frame.set_index("metric")
    assert rows.loc["latency_ms", ["margin", "pvalue", "is_shown"]].tolist() == [50.0, 1.0, False]
    assert rows.loc["faithfulness", "margin"] == 0.0
    told = "margins, beyond which a difference matters: latency_ms 50"
    assert any(told in note for note in ranking.notes)
    assert ranking.settings["margins"] == {"latency_ms": 50.0}


def test_a_millisecond_wins_nothing_beyond_a_margin(a_millisecond):
    strict = rank(*a_millisecond).weighted().frame.set_index("pipeline")
    assert strict.loc["one", "share_of_resamples"] == 1.0
    result = rank(*a_millisecond, margins={"latency_ms": 50}).weighted()
    frame = result.frame.set_index("pipeline")
    assert frame["share_of_resamples"].to_dict() == {"one": 0.5, "two": 0.5}
    assert frame["standing"].to_dict() == {"one": "best", "two": "may be best"}
    assert "but two may be as good within the margin" in result.sentences[0]
    # Two objectives have data, retrieval 0.15, latency 0.05 and faithfulness 0.20: 1/8 of the score
    # is latency, and 50 ms are 1/600 of its scale.
    assert pair_of(result)["margin"] == pytest.approx(0.125 * 50 / 30_000)
    assert result.settings["margins"] == {"latency_ms": 50.0}


def test_a_margin_of_the_score_itself(two):
    shown = pair_of(rank(*two).weighted(WEIGHTS))
    wide = pair_of(rank(*two).weighted(WEIGHTS, margins={"score": 2 * shown["difference"]}))
    assert (wide["margin"], wide["pvalue"]) == (2 * shown["difference"], 1.0)


def test_the_leaderboard_says_of_one_metric_what_its_weighted_score_says(two):
    """A weighted score of one bounded metric is that metric, so the p-values are the same."""
    for margin in (0.001, 0.03, 0.2):
        ranking = rank(*two, metrics="faithfulness", margins={"faithfulness": margin})
        row, weighted = pair_of(ranking), pair_of(ranking.weighted({"faithfulness": 1}))
        assert row["pvalue"] == pytest.approx(weighted["pvalue"])
        assert row["is_shown"] == weighted["is_shown"]
        assert row["margin"] == weighted["margin"] == margin


def test_a_difference_beyond_a_margin_is_shown_and_says_so():
    runs = pipeline("old", **scores_of(1)), pipeline("new", **scores_of(2, 0.2))
    ranking = rank(*runs, metrics="faithfulness", margins={"faithfulness": 0.05})
    row = pair_of(ranking)
    # SciPy 1.17: the sign-flip test of the differences less the margin.
    gains = (runs[1].scores["faithfulness"] - runs[0].scores["faithfulness"] - 0.05).to_numpy()
    witness = permutation_test(
        (gains,),
        np.mean,
        permutation_type="samples",
        alternative="greater",
        n_resamples=9999,
        rng=np.random.default_rng(0),
    )
    assert row["pvalue"] == pytest.approx(2 * witness.pvalue, abs=2e-4)
    assert ranking.frame["verdict"][0].endswith("and beats old by more than 0.050")
    without = pair_of(rank(*runs, metrics="faithfulness"))
    gap = row["min_detectable_difference"] - without["min_detectable_difference"]
    assert gap == pytest.approx(0.05)


@pytest.mark.parametrize("test", ["sign-flip", "t", "wilcoxon", "sign", "mcnemar", "bootstrap"])
def test_every_test_has_a_margin(test):
    rng = np.random.default_rng(0)
    if test == "mcnemar":  # which is for scores of 0 and 1
        columns = [(rng.random(60) < share).astype(float) for share in (0.2, 0.8)]
    else:
        columns = [level + 0.1 * rng.random(60) for level in (0.1, 0.7)]
    runs = [pipeline(name, hit=column) for name, column in zip("ab", columns, strict=True)]
    strict = pair_of(rank(*runs, test=test))
    some, much = (
        pair_of(rank(*runs, test=test, margins={"hit": margin}))
        for margin in (0.1, 0.995 * strict["difference"])
    )
    assert strict["pvalue"] <= some["pvalue"] < 0.05 < much["pvalue"]
    # A margin is tested by sign flips, whatever tests the difference itself.
    assert some["test"] == ("sign-flip-midp" if test == "mcnemar" else "sign-flip")


def test_with_margins_westfall_young_is_holm(two):
    ranking = rank(*two, correction="westfall-young", margins={"faithfulness": 0.01})
    assert ranking.settings["correction"] == "holm"
    assert rank(*two, correction="westfall-young").settings["correction"] == "westfall-young"


@pytest.mark.parametrize(
    ("margins", "error", "told"),
    [
        ({"latency_ms": 0}, DataError, "margins: that of 'latency_ms' must be a number above 0"),
        ({"latency_ms": "much"}, DataError, "must be a number above 0; got 'much'"),
        ({"latncy_ms": 5}, UnknownNameError, "Did you mean 'latency_ms'"),
    ],
)
def test_margins_are_checked_at_once(two, margins, error, told):
    with pytest.raises(error, match=told):
        rank(*two, margins=margins)


# -- all weights


def test_shares_add_up_and_the_best_by_far_wins_everywhere(noisy, runs_of):
    frame = rank(*noisy, n_resamples=99).weighted().frame
    assert frame["share_of_resamples"].sum() == pytest.approx(1)
    assert frame["share_of_weights"].sum() == pytest.approx(1)
    good, bad = ({"recall@5": [x] * 5, "faithfulness": [x] * 5} for x in (0.9, 0.1))
    first = rank(*runs_of(good=good, bad=bad)).weighted(n_resamples=99).frame.iloc[0]
    shares = first[["pipeline", "share_of_resamples", "share_of_weights"]]
    assert shares.tolist() == ["good", 1.0, 1.0]


def test_the_share_of_weights_is_exact_for_two_objectives():
    values = np.random.default_rng(3).random((6, 2))
    weights = np.random.default_rng(4).dirichlet([1, 1], size=200_000)
    np.testing.assert_allclose(
        simplex_shares(values), winning_shares(weights @ values.T), atol=0.005
    )
    # Twins share what they win; they cross the third where 0.7 w + 0.2 = 0.9 - 0.8 w.
    values = np.array([[0.9, 0.2], [0.9, 0.2], [0.1, 0.9]])
    assert simplex_shares(values) == pytest.approx([4 / 15, 4 / 15, 7 / 15])
    assert simplex_shares(np.array([[0.3], [0.5], [0.5]])).tolist() == [0.0, 0.5, 0.5]


def test_the_share_of_weights_under_which_a_difference_is_shown():
    """A wins the first objective for sure, B the second: where they balance, nothing is shown."""
    noise = np.random.default_rng(0).normal(0, 0.05, (4, 60))
    a = pipeline("a", recall=0.7 + noise[0], f1=0.3 + noise[1])
    b = pipeline("b", recall=0.5 + noise[2], f1=0.5 + noise[3])
    frame = rank(a, b).weighted({"recall": 1, "f1": 1}).frame.set_index("pipeline")
    shown = frame["share_of_weights_shown"]
    assert (shown < frame["share_of_weights"]).all()
    assert shown.between(0.4, 0.5).all()
    row = pair_of(rank(a, b).weighted({"recall": 3, "f1": 1}))
    assert row["is_shown"]
    shares = row["share_of_weights_shown"], row["share_of_weights_reversed"]
    assert shares == (shown["a"], shown["b"])


# -- fronts


def test_a_front_by_hand(runs_of):
    """Dear is best, cheap is cheapest, waste is worse than dear on quality and dearer still."""
    shops = {"dear": (0.9, 0.02, 900.0), "cheap": (0.6, 0.01, 500.0), "waste": (0.7, 0.03, 900.0)}
    runs = runs_of(
        **{
            name: {
                "faithfulness": [quality, quality - 0.1] * 6,
                "cost_usd": [cost] * 12,
                "latency_ms": [latency] * 12,
            }
            for name, (quality, cost, latency) in shops.items()
        }
    )
    front = rank(*runs).pareto()
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
    table = front.dominance.set_index(["pipeline", "other"])
    assert len(table) == 6
    columns = ["is_ahead", "dominates", "probability"]
    shown, other = table.loc[("dear", "waste")], table.loc[("waste", "dear")]
    assert shown[columns].tolist() == [True, True, 1.0]
    assert other[columns].tolist() == [False, False, 0.0]
    # All 12 queries move one way, on quality and on cost: half a step of 2 ** -12 is the mid-p.
    assert shown["pvalue"] == pytest.approx(2**-13)
    assert shown["pvalue_adjusted"] == pytest.approx(6 * 2**-13)  # of six ordered pairs
    with pytest.raises(DataError, match="no objective has data"):
        rank(*runs).pareto(["citation"])


def test_equal_pipelines_do_not_dominate_each_other(runs_of):
    same = {"faithfulness": [0.5, 0.6], "cost_usd": [0.01, 0.02]}
    other = {"faithfulness": [0.1, 0.2], "cost_usd": [0.05, 0.05]}
    assert rank(*runs_of(a=same, b=same, c=other)).pareto().front == ("a", "b")
    front = rank(*runs_of(a=same, b=same)).pareto()
    assert front.front == ("a", "b")
    assert any("equal for all pipelines" in note for note in front.notes)
    assert front.sentences == ("no objective distinguishes the pipelines: all are on the front",)


def test_chance_shows_in_the_probability(runs_of):
    rng = np.random.default_rng(0)
    ours = rng.random(50)
    runs = runs_of(a={"recall": ours, "f1": ours}, b={"recall": rng.permutation(ours), "f1": ours})
    assert (rank(*runs).pareto(["recall", "f1"]).dominance["probability"] > 0.3).all()


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


def test_only_common_objectives_count_and_the_others_are_told(runs_of):
    runs = runs_of(
        a={"faithfulness": [0.5, 0.7], "cost_usd": [0.1, 0.1]},
        b={"faithfulness": [0.4, 0.7], "cost_usd": [NAN, NAN]},
    )
    front = rank(*runs).pareto()
    assert front.front == ("a",)
    assert any("cost (cost_usd is missing in b)" in note for note in front.notes)
    assert any("only one objective decides" in note for note in front.notes)


def test_dominance_is_shown_on_every_objective_or_not_at_all():
    """A is better on quality for sure and faster by chance: that B is slower is not shown."""
    rng = np.random.default_rng(4)
    ease = rng.random(30)
    a = pipeline("a", recall=ease * 0.5 + 0.4, latency_ms=500 + rng.normal(0, 100, 30))
    b = pipeline("b", recall=ease * 0.5, latency_ms=510 + rng.normal(0, 100, 30))
    front = rank(a, b).pareto(["recall", "latency_ms"])
    row = front.frame.set_index("pipeline").loc["b", ["on_front", "standing", "dominated_by"]]
    assert row.tolist() == [False, "may be on the front", ""]
    assert "is not shown to be better on every objective" in front.sentences[1]
    # The largest of the one-sided p-values decides; that of latency is the one of the resamples.
    assert front.dominance.set_index(["pipeline", "other"]).loc[("a", "b"), "pvalue"] > 0.05


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.001, 0.2), st.floats(-0.1, 0.1))
def test_a_margin_never_makes_more_dominance(seed, margin, gain):
    runs = [
        pipeline(f"p{i}", **scores_of(seed + i, gain * i, n=12, lower=40 * i)) for i in range(3)
    ]
    objectives = ["faithfulness", "recall@5"]
    ranking = rank(*runs, n_resamples=199)
    free = ranking.pareto(objectives).dominance
    bound = ranking.pareto(objectives, margins=dict.fromkeys(objectives, margin)).dominance
    assert (bound["pvalue"] >= free["pvalue"] - 1e-12).all()
    assert not (bound["dominates"] & ~free["dominates"]).any()
    assert not (free["dominates"] & ~free["is_ahead"]).any()


@settings(max_examples=80)
@given(arrays(float, st.tuples(st.integers(2, 6), st.integers(1, 3)), elements=st.integers(0, 3)))
def test_dominance_is_a_strict_order_and_someone_is_on_the_front(values):
    found = dominance_matrix(values, np.zeros(values.shape[1]))
    assert not found.diagonal().any()
    assert not (found & found.T).any()
    steps = found.astype(int) @ found.astype(int) > 0
    assert (found | ~steps).all()
    assert (~found.any(axis=0)).any()
