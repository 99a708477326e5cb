"""Witnesses: SciPy 1.17 (ttest_rel, binom, permutation_test), and arithmetic by hand."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.errors import AlignmentError, DataError, UnknownNameError

COLUMNS = [
    *("metric", "baseline", "candidate", "n", "n_dropped", "baseline_mean", "candidate_mean"),
    *("difference", "ci_low", "ci_high", "test", "statistic", "pvalue", "pvalue_adjusted"),
    *("effect_size", "effect_name", "wins", "ties", "losses", "min_detectable_difference"),
    "verdict",
]


def run(name, ids=None, **columns):
    n = len(next(iter(columns.values())))
    ids = [f"q{i}" for i in range(n)] if ids is None else ids
    return RAGPipelineEvaluation(name, {"query_id": ids, **columns})


def first_row(comparison):
    """The first row, with its sentence."""
    return comparison.frame.assign(sentence=comparison.sentences).iloc[0]


@pytest.fixture
def two():
    rng = np.random.default_rng(7)
    before, noise = rng.beta(5, 2, 80), rng.normal(0.05, 0.1, 80)
    hits = rng.random(80) < 0.6
    more = np.where(rng.random(80) < 0.15, 1, hits)
    slow = rng.lognormal(6, 0.5, 80)
    a = run("a", faithfulness=before, exact_match=hits * 1, latency_ms=slow)
    b = run(
        "b",
        faithfulness=np.clip(before + noise, 0, 1),
        exact_match=more * 1,
        latency_ms=slow * rng.lognormal(0.2, 0.2, 80),
    )
    return a, b


def test_the_frame_has_the_promised_columns_first(two):
    assert list(compare(*two).frame.columns)[: len(COLUMNS)] == COLUMNS


def test_difference_is_candidate_minus_baseline_on_common_queries():
    a = run("a", ["q1", "q2", "q3"], recall=[0.1, 0.5, 0.9])
    b = run("b", ["q3", "q2", "q9"], recall=[1.0, 0.7, 0.0])
    row = compare(a, b).frame.iloc[0]
    assert row["n"] == 2
    assert row["baseline_mean"] == pytest.approx(0.7)
    assert row["difference"] == pytest.approx((0.1 + 0.2) / 2)


def test_the_default_pvalue_is_the_exact_permutation_pvalue_of_scipy():
    # SciPy 1.17 permutation_test enumerates all 2^12 sign patterns
    rng = np.random.default_rng(3)
    a, b = rng.random(12), rng.random(12)
    row = compare(run("a", recall=a), run("b", recall=b)).frame.iloc[0]
    exact = scipy.stats.permutation_test(
        (b, a), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf
    )
    assert row["test"] == "sign-flip"
    assert row["pvalue"] == pytest.approx(exact.pvalue, rel=1e-9)


def test_zero_one_metrics_are_tested_by_mcnemars_midp():
    # 9 gains, 2 losses: 2 P(X <= 2) - P(X = 2), X ~ Bin(11, 1/2), by SciPy's binomial
    a = run("a", exact_match=[0] * 9 + [1] * 2 + [1] * 9)
    b = run("b", exact_match=[1] * 9 + [0] * 2 + [1] * 9)
    row = compare(a, b).frame.iloc[0]
    coin = scipy.stats.binom(11, 0.5)
    assert row["test"] == "mcnemar-midp"
    assert row["pvalue"] == pytest.approx(2 * coin.cdf(2) - coin.pmf(2))
    assert (row["wins"], row["ties"], row["losses"]) == (9, 9, 2)
    assert row["effect_name"] == "risk_difference"
    assert row["effect_size"] == pytest.approx(7 / 20)
    assert row["odds_ratio"] == pytest.approx(9 / 2)


def test_nothing_is_drawn_at_random_by_default(two):
    one, other = compare(*two, seed=0).frame, compare(*two, seed=99).frame
    pd.testing.assert_frame_equal(one, other)


def test_holm_counts_every_row_of_the_table(two):
    a, b = two
    c = RAGPipelineEvaluation("c", a.data)
    comparison = compare(a, b, c, metrics=["faithfulness", "exact_match"])
    pvalues = comparison.frame["pvalue"].to_numpy()
    order = np.argsort(pvalues)
    by_hand = np.maximum.accumulate(pvalues[order] * (len(pvalues) - np.arange(len(pvalues))))
    assert comparison.frame["pvalue_adjusted"].to_numpy()[order] == pytest.approx(
        np.minimum(by_hand, 1)
    )
    assert comparison.settings["family_size"] == 4


def test_wins_go_by_the_direction_of_the_metric():
    a = run("a", latency_ms=[100.0, 200.0, 300.0])
    b = run("b", latency_ms=[50.0, 250.0, 100.0])
    row = compare(a, b).frame.iloc[0]
    assert (row["wins"], row["losses"]) == (2, 1)
    assert row["difference"] == pytest.approx(-200 / 3)
    assert row["improvement"] == pytest.approx(200 / 3)


def test_equivalence_is_said_only_against_a_margin():
    rng = np.random.default_rng(0)
    a = rng.random(400)
    b = np.clip(a + rng.normal(0, 0.01, 400), 0, 1)
    runs = run("a", recall=a), run("b", recall=b)
    assert "equivalent" not in compare(*runs).sentences[0]
    verdict = compare(*runs, margin=0.02).sentences[0]
    assert "equivalent on recall within ±0.020" in verdict


def test_identical_runs_have_p_one_and_difference_zero():
    row = first_row(compare(run("a", recall=[0.1, 0.3, 1.0]), run("b", recall=[0.1, 0.3, 1.0])))
    assert (row["pvalue"], row["difference"]) == (1.0, 0.0)
    assert "identical" in row["sentence"]


def test_five_queries_are_too_few_for_a_test():
    row = first_row(
        compare(
            run("a", recall=[0.1, 0.2, 0.3, 0.4, 0.5]), run("b", recall=[0.9, 0.8, 0.7, 0.95, 1.0])
        )
    )
    assert row["sentence"] == (
        "too few queries for a test on recall: 5 in common, at least 6 are needed"
    )
    untested = ["pvalue", "pvalue_adjusted", "ci_low", "ci_high", "min_detectable_difference"]
    assert row[untested].isna().all()
    assert row["difference"] == pytest.approx(0.57)
    assert (row["wins"], row["ties"], row["losses"]) == (5, 0, 0)


def test_a_metric_that_no_query_has_in_both_runs_is_not_compared():
    a = run("a", recall=[0.1, None], precision=[0.5, 0.6])
    b = run("b", recall=[None, 0.2], precision=[0.4, 0.8])
    comparison = compare(a, b)
    frame = comparison.frame.set_index("metric")
    assert np.isnan(frame.loc["recall", "pvalue"])
    assert frame.loc["recall", "n_dropped"] == 2
    assert frame.loc["recall", "verdict"] == "too few"
    assert comparison.sentences[0].startswith("not compared")


def test_missing_as_worst_needs_a_worst():
    a, b = run("a", latency_ms=[5.0, 20.0]), run("b", latency_ms=[3.0, None])
    with pytest.raises(DataError, match="no worst value"):
        compare(a, b, missing="worst")


def test_regressions_come_largest_first_with_both_sides():
    a = run("a", recall=[0.9, 0.8, 0.1], answer=["x", "y", "z"], question=["1", "2", "3"])
    b = run("b", recall=[0.8, 0.2, 0.9], answer=["x", "Y", "Z"], question=["1", "2", "3"])
    comparison = compare(a, b)
    frame = comparison.regressions("recall")
    assert frame.index.tolist() == ["q1", "q0"]
    assert list(frame.columns) == [
        *("a_recall", "b_recall", "difference", "a_answer", "b_answer", "question"),
    ]
    assert comparison.improvements("recall").index.tolist() == ["q2"]


def test_clusters_flip_together():
    # six clusters of two: 2^6 sign patterns, so p is at least 2/64 whatever the differences
    gains = [0.41, 0.5, 0.6, 0.45, 0.52, 0.61, 0.7, 0.39, 0.33, 0.57, 0.48, 0.63]
    a = run("a", recall=[0.1] * 12, document=list("uuvvwwxxyyzz"))
    b = run("b", recall=[0.1 + gain for gain in gains])
    comparison = compare(a, b, clusters="document")
    row = comparison.frame.iloc[0]
    assert row["pvalue"] == pytest.approx(2 / 64)
    assert compare(a, b).frame["pvalue"].iloc[0] < 0.001
    assert row["test"].startswith("cluster-")
    assert row["difference"] == pytest.approx(b.scores["recall"].mean() - 0.1)


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ({"confidence_level": 95}, DataError),
        ({"n_resamples": 0}, DataError),
        ({"seed": -1}, DataError),
        ({"margin": -0.1}, DataError),
        ({"test": "wilcoxn"}, UnknownNameError),
        ({"correction": "hlm"}, UnknownNameError),
        ({"missing": "zero"}, UnknownNameError),
        ({"metrics": "faithfulnes"}, UnknownNameError),
        ({"clusters": "topic"}, UnknownNameError),
    ],
)
def test_settings_that_make_no_sense_raise(two, setting, error):
    with pytest.raises(error):
        compare(*two, **setting)


def test_runs_that_share_nothing_are_refused():
    a = run("a", ["q1"], recall=[0.1])
    with pytest.raises(AlignmentError, match="share no query id"):
        compare(a, run("b", ["x1"], recall=[0.1]))
    with pytest.raises(AlignmentError, match="share no metric"):
        compare(a, run("b", ["q1"], bleu=[0.1]))


def test_runs_that_disagree_on_direction_are_refused():
    scores = {"query_id": ["q0", "q1"], "my_score": [0.1, 0.5]}
    a, b = (
        RAGPipelineEvaluation(name, scores, metrics={"my_score": way})
        for name, way in (("a", "higher"), ("b", "lower"))
    )
    with pytest.raises(DataError, match="disagree on whether higher is better"):
        compare(a, b)


scores = st.lists(st.sampled_from([0.0, 0.2, 0.25, 0.5, 0.75, 1.0]), min_size=6, max_size=25)


@settings(max_examples=40)
@given(scores, st.data())
def test_the_interval_and_the_pvalue_never_contradict_each_other(before, data):
    after = data.draw(st.lists(st.floats(0, 1), min_size=len(before), max_size=len(before)))
    row = compare(run("a", recall=before), run("b", recall=after), correction="none").frame.iloc[0]
    if row["ci_method"] == "sign-flip":
        excludes_zero = row["ci_low"] > 0 or row["ci_high"] < 0
        assert not (excludes_zero and row["pvalue"] > 0.05)
        assert not (row["ci_low"] < 0 < row["ci_high"] and row["pvalue"] <= 0.05)


def test_a_margin_can_be_told_by_metric_and_is_corrected_over_the_table():
    rng = np.random.default_rng(0)
    before, slow = rng.random(400), rng.lognormal(6, 0.5, 400)
    a = run("a", recall=before, latency_ms=slow)
    recall = np.clip(before + rng.normal(0, 0.01, 400), 0, 1)
    b = run("b", recall=recall, latency_ms=slow + rng.normal(1, 0.5, 400))
    comparison = compare(a, b, margin={"Recall": 0.02, "latency_ms": 50})
    assert "equivalent on recall within ±0.020" in comparison.sentences[0]
    assert "less than the margin of 50" in comparison.sentences[1]
    assert (comparison.frame["equivalence_pvalue_adjusted"] <= 0.05).all()


def test_without_correction_the_false_alarms_are_those_of_the_level(two):
    notes = compare(*two, correction="none", confidence_level=0.9).notes
    assert any(
        "2 quality tests without correction: expect about 0.2 false" in note for note in notes
    )


@pytest.mark.parametrize("correction", ["holm"])
def test_slices_and_rankings_know_what_their_tests_can_reach(correction):
    rng = np.random.default_rng(9)
    recall, topics = rng.uniform(0.2, 0.6, 26), ["law"] * 20 + ["tax"] * 6
    gains = np.r_[rng.uniform(0.0, 0.1, 20), [0, 0, 0, 0, 0, 0.01]]
    a, b = run("a", recall=recall, topic=topics), run("b", recall=recall + gains)
    slices = compare(a, b).slices("topic", correction=correction).frame
    factor = 2
    assert slices["pvalue_adjusted"][0] == pytest.approx(factor * slices["pvalue"][0])
    c = run("c", recall=recall, topic=topics)
    pairs = rank(a, c, b, correction=correction).pairs.frame
    # a and c are equal: one of three pairs cannot differ.
    least = pairs["pvalue"].idxmin()
    factor = 3
    expected = pytest.approx(factor * pairs["pvalue"][least])
    assert pairs["pvalue_adjusted"][least] == expected
