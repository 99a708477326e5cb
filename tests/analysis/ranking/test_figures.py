"""Tests of weighted scores, margins and dominance; witnesses: SciPy 1.17, arithmetic, compare."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import bootstrap, permutation_test

from rageval_report import RAGPipelineEvaluation, rank
from rageval_report.analysis.objectives import Objective
from rageval_report.errors import DataError, UnknownNameError

N = 40

WEIGHTS = {"faithfulness": 2, "recall@5": 1}


def pipeline(name, order=None, **columns):
    n = len(next(iter(columns.values())))
    rows = {"query_id": np.array([f"q{i:03}" for i in range(n)]), **columns}
    order = np.arange(n) if order is None else order
    return RAGPipelineEvaluation(name, {key: np.asarray(v)[order] for key, v in rows.items()})


def scores_of(seed, gain=0.0, n=N, lower=0.0):
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
    assert (row["n"], row["test"]) == (N, "sign-flip")


def test_a_metric_without_a_score_on_some_queries_weighs_the_others_more():
    gaps = np.where(np.arange(N) < 10, np.nan, 1.0)
    runs = [
        pipeline(
            name,
            **{"faithfulness": columns["faithfulness"], "recall@5": gaps * columns["recall@5"]},
        )
        for name, columns in (("a", scores_of(1)), ("b", scores_of(2, 0.05)))
    ]
    result = rank(*runs).weighted(WEIGHTS)
    by_hand = [
        (2 * run.scores["faithfulness"].mean() + run.scores["recall@5"].mean()) / 3 for run in runs
    ]
    scores = result.frame.set_index("pipeline")["score"]
    assert [scores["a"], scores["b"]] == pytest.approx(by_hand)
    figure = result.tests.figure
    means = figure.by_query.mean(axis=0)
    assert means[1] - means[0] == pytest.approx(by_hand[1] - by_hand[0])


def test_a_median_is_tested_on_paired_resamples():
    runs = pipeline("slow", **scores_of(1)), pipeline("fast", **scores_of(2, lower=150))
    latency = Objective("latency_ms", statistic="median", best=0.0, worst=1000.0)
    row = pair_of(rank(*runs).weighted({"latency": 1}, {"latency": latency}))
    before, after = (run.scores["latency_ms"].to_numpy() for run in runs)

    def gain(a, b, axis=-1):
        return (np.median(a, axis=axis) - np.median(b, axis=axis)) / 1000

    assert row["difference"] == pytest.approx(gain(before, after))
    assert row["test"] == "paired bootstrap"
    # Expanded percentiles: t with 39 degrees of freedom times sqrt(40 / 39) is 2.0485, of which the
    # normal distribution has 0.02026 beyond.
    low, high = bootstrap(
        (before, after),
        gain,
        paired=True,
        confidence_level=1 - 2 * 0.020258,
        method="percentile",
        n_resamples=9999,
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), abs=0.012)
    assert row["is_shown"] == (low > 0) == (row["pvalue"] <= 0.05)


def test_a_percentile_is_tested_on_paired_resamples():
    """SciPy 1.17: percentiles of its paired bootstrap, expanded as for the median above."""
    runs = (
        pipeline("slow", **scores_of(1, n=150)),
        pipeline("fast", **scores_of(2, n=150, lower=150)),
    )
    row = pair_of(rank(*runs).weighted({"p95(latency_ms), worst=2000, best=0": 1}))
    before, after = (run.scores["latency_ms"].to_numpy() for run in runs)

    def gain(a, b, axis=-1):
        return (np.quantile(a, 0.95, axis=axis) - np.quantile(b, 0.95, axis=axis)) / 2000

    assert row["difference"] == pytest.approx(gain(before, after))
    assert row["test"] == "paired bootstrap"
    # t with 149 degrees of freedom times sqrt(150 / 149) is 1.98263, of which the normal
    # distribution has 0.023704 beyond.
    low, high = bootstrap(
        (before, after),
        gain,
        paired=True,
        confidence_level=1 - 2 * 0.023704,
        method="percentile",
        n_resamples=9999,
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((low, high), abs=0.004)
    assert row["is_shown"] == (low > 0) == (row["pvalue"] <= 0.05)


def test_a_percentile_needs_five_queries_beyond_it():
    objective = {"speed": "p95(latency_ms), worst=2000, best=0"}
    for n, is_tested in ((99, False), (100, True)):
        runs = (
            pipeline("slow", **scores_of(1, n=n)),
            pipeline("fast", latency_ms=scores_of(1, n=n)["latency_ms"] / 2),
        )
        weighted = rank(*runs).weighted(objectives=objective)
        row = pair_of(weighted)
        assert row["is_shown"] == is_tested
        assert np.isnan(row["ci_low"]) != is_tested
        front = rank(*runs).pareto(objectives=objective)
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


def test_what_is_not_shown_cannot_be_told_apart():
    runs = pipeline("a", **scores_of(1)), pipeline("b", **scores_of(2))
    result = rank(*runs).weighted(WEIGHTS)
    row = pair_of(result)
    assert not row["is_shown"]
    assert row["verdict"].startswith("no difference of the weighted scores of")
    assert " may be as good: " in result.sentences[0]
    assert set(result.frame["standing"]) == {"best", "may be best"}


def test_what_is_shown_says_against_whom_and_how(two):
    better = pipeline("best", **scores_of(3, 0.2))
    result = rank(*two, better).weighted(WEIGHTS)
    assert "higher than that of new and old (Holm-adjusted p < 0.001)" in (result.sentences[0])
    assert result.frame["standing"].tolist()[0] == "best"
    assert result.pairs.frame["pvalue_adjusted"].max() >= result.pairs.frame["pvalue"].max()


def test_few_queries_show_nothing():
    runs = [pipeline(name, recall=[x] * 5) for name, x in (("a", 0.1), ("b", 0.9))]
    result = rank(*runs).weighted({"recall": 1})
    assert "too few queries for a test" in result.sentences[0]
    assert "too few queries for a test" in result.pairs.frame["verdict"][0]
    assert not result.pairs.frame["is_shown"].any()


@pytest.fixture(scope="module")
def a_millisecond():
    """The same pipeline twice; one is slower by 1 ms on every query."""
    columns = scores_of(1)
    slower = {**columns, "latency_ms": columns["latency_ms"] + 1}
    return pipeline("one", **columns), pipeline("two", **slower)


def test_a_millisecond_is_no_better_standing_beyond_a_margin(a_millisecond):
    strict = rank(*a_millisecond).of("latency_ms")
    assert strict["standing"].tolist() == ["best", "worse"]
    assert strict["letters"].tolist() == ["a", "b"]
    ranking = rank(*a_millisecond, margins={"latency_ms": 50})
    frame = ranking.of("latency_ms")
    assert frame["standing"].tolist() == ["best", "may be best"]
    assert frame["letters"].tolist() == ["a", "a"]
    assert frame[["beats", "beaten_by"]].to_numpy().tolist() == [[0, 0], [0, 0]]
    assert ranking.groups("latency_ms") == [("one", "two")]
    assert frame["verdict"][0].endswith("but two may be as good within the margin of 50.0")
    row = ranking.pairs.frame.set_index("metric").loc["latency_ms"]
    assert (row["margin"], row["pvalue"], row["is_shown"]) == (50.0, 1.0, False)
    other = ranking.pairs.frame.set_index("metric").loc["faithfulness"]
    assert other["margin"] == 0.0
    assert any(
        "margins, beyond which a difference matters: latency_ms 50" in note
        for note in ranking.notes
    )
    assert ranking.settings["margins"] == {"latency_ms": 50.0}


def test_the_leaderboard_says_of_one_metric_what_its_weighted_score_says(two):
    """A weighted score of one bounded metric is that metric, so the p-values are the same."""
    for margin in (0.001, 0.01, 0.03, 0.2):
        ranking = rank(*two, metrics="faithfulness", margins={"faithfulness": margin})
        [row] = ranking.pairs.frame.to_dict("records")
        weighted = pair_of(ranking.weighted({"faithfulness": 1}))
        assert row["pvalue"] == pytest.approx(weighted["pvalue"])
        assert row["is_shown"] == weighted["is_shown"]
        assert row["margin"] == weighted["margin"] == margin


def test_a_difference_beyond_a_margin_is_shown_and_says_so():
    low = scores_of(1)
    runs = pipeline("old", **low), pipeline("new", **scores_of(2, 0.2))
    ranking = rank(*runs, metrics="faithfulness", margins={"faithfulness": 0.05})
    row = ranking.pairs.frame.iloc[0]
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
    verdict = ranking.frame["verdict"][0]
    assert verdict.endswith("and beats old by more than 0.050")
    without = rank(*runs, metrics="faithfulness").pairs.frame.iloc[0]
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
    strict = rank(*runs, test=test).pairs.frame.iloc[0]
    some, much = (
        rank(*runs, test=test, margins={"hit": margin}).pairs.frame.iloc[0]
        for margin in (0.1, 0.995 * strict["difference"])
    )
    assert strict["pvalue"] <= some["pvalue"] <= much["pvalue"]
    assert some["pvalue"] < 0.05 < much["pvalue"]
    # A margin is tested by sign flips, whatever tests the difference itself.
    assert some["test"] == ("sign-flip-midp" if test == "mcnemar" else "sign-flip")


def test_with_margins_westfall_young_is_holm(two):
    ranking = rank(*two, correction="westfall-young", margins={"faithfulness": 0.01})
    assert ranking.settings["correction"] == "holm"
    assert rank(*two, correction="westfall-young").settings["correction"] == "westfall-young"


def test_a_millisecond_wins_nothing_beyond_a_margin(a_millisecond):
    ranking = rank(*a_millisecond)
    strict = ranking.weighted().frame.set_index("pipeline")
    assert strict.loc["one", "share_of_resamples"] == 1.0
    result = rank(*a_millisecond, margins={"latency_ms": 50}).weighted()
    frame = result.frame.set_index("pipeline")
    assert frame["share_of_resamples"].to_dict() == {"one": 0.5, "two": 0.5}
    assert frame["standing"].to_dict() == {"one": "best", "two": "may be best"}
    assert "but two may be as good within the margin" in result.sentences[0]
    # Two objectives have data, retrieval 0.15, latency 0.05 and faithfulness 0.20: 1/8 of the score
    # is latency, and 50 ms are 1/600 of its scale.
    assert result.pairs.frame["margin"][0] == pytest.approx(0.125 * 50 / 30_000)
    assert result.settings["margins"] == {"latency_ms": 50.0}


def test_a_margin_of_the_score_itself(two):
    shown = rank(*two).weighted(WEIGHTS).pairs.frame.iloc[0]
    wide = rank(*two).weighted(WEIGHTS, margins={"score": 2 * shown["difference"]})
    assert wide.pairs.frame["margin"][0] == 2 * shown["difference"]
    assert wide.pairs.frame["pvalue"][0] == 1.0


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


@settings(max_examples=15, deadline=None)
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


def test_dominance_is_shown_on_every_objective_or_not_at_all():
    """A is better on quality for sure and faster by chance: that B is slower is not shown."""
    rng = np.random.default_rng(4)
    ease = rng.random(30)
    a = pipeline("a", recall=ease * 0.5 + 0.4, latency_ms=500 + rng.normal(0, 100, 30))
    b = pipeline("b", recall=ease * 0.5, latency_ms=510 + rng.normal(0, 100, 30))
    front = rank(a, b).pareto(["recall", "latency_ms"])
    rows = front.frame.set_index("pipeline")
    assert not rows.loc["b", "on_front"]
    assert rows.loc["b", "standing"] == "may be on the front"
    assert rows.loc["b", "dominated_by"] == ""
    assert "is not shown to be better on every objective" in front.sentences[1]
    # The largest of the one-sided p-values decides; that of latency is the one of the resamples.
    table = front.dominance.set_index(["pipeline", "other"])
    assert table.loc[("a", "b"), "pvalue"] > 0.05


def test_the_share_of_weights_under_which_a_difference_is_shown():
    """A wins the first objective for sure, B the second: where they balance, nothing is shown."""
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.05, (4, 60))
    a = pipeline("a", recall=0.7 + noise[0], f1=0.3 + noise[1])
    b = pipeline("b", recall=0.5 + noise[2], f1=0.5 + noise[3])
    result = rank(a, b).weighted({"recall": 1, "f1": 1})
    frame = result.frame.set_index("pipeline")
    shown = frame["share_of_weights_shown"]
    assert (shown < frame["share_of_weights"]).all()
    assert 0.4 < shown["a"] < 0.5
    assert 0.4 < shown["b"] < 0.5
    row = pair_of(rank(a, b).weighted({"recall": 3, "f1": 1}))
    assert row["is_shown"]
    assert row["share_of_weights_shown"] == shown["a"]
    assert row["share_of_weights_reversed"] == shown["b"]


@settings(max_examples=15, deadline=None)
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
