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


def test_the_paired_t_test_on_request_is_scipys(two):
    row = compare(*two, metrics="faithfulness", test="t").frame.iloc[0]
    a, b = (run.scores["faithfulness"].to_numpy() for run in two)
    expected = scipy.stats.ttest_rel(b, a)
    assert row["pvalue"] == pytest.approx(expected.pvalue)
    interval = expected.confidence_interval(0.95)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(interval))


def test_swapping_the_runs_flips_the_sign_and_keeps_the_pvalue(two):
    there, back = compare(*two).frame, compare(*reversed(two)).frame
    assert there["difference"].tolist() == pytest.approx((-back["difference"]).tolist())
    assert there["pvalue"].tolist() == pytest.approx(back["pvalue"].tolist())
    assert there["wins"].tolist() == back["losses"].tolist()
    assert there["ci_low"].tolist() == pytest.approx((-back["ci_high"]).tolist())


def test_shuffling_the_rows_moves_nothing(two):
    a, b = two
    shuffled = RAGPipelineEvaluation("b", b.data.sample(frac=1, random_state=1))
    one, other = compare(a, b).frame, compare(a, shuffled).frame
    numeric = one.select_dtypes("number").columns
    pd.testing.assert_frame_equal(one[numeric], other[numeric], rtol=1e-9)


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


def test_a_shown_difference_reads_as_one_sentence(two):
    verdict = compare(*two, metrics="faithfulness").sentences[0]
    assert verdict.startswith("b is better on faithfulness by 0.0")
    assert "95 % CI" in verdict
    assert verdict.endswith("80 paired queries")


def test_no_difference_shown_says_what_the_data_could_hide():
    rng = np.random.default_rng(0)
    a, b = rng.random(40), rng.random(40)
    verdict = compare(run("a", recall=a), run("b", recall=b)).sentences[0]
    assert verdict.startswith("no difference shown on recall; 40 queries can detect only ")
    assert "; to detect " in verdict


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


def test_a_constant_shift_has_the_smallest_attainable_p():
    a = np.linspace(0.1, 0.5, 8)
    row = compare(run("a", recall=a), run("b", recall=a + 0.1)).frame.iloc[0]
    assert row["pvalue"] == pytest.approx(2.0**-7, rel=1e-9) or row["test"] == "sign-flip-midp"
    assert row["wins"] == 8


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


def test_five_equal_steps_are_not_better():
    # With half ties their p-value would be 2 / 2**5 / 2 = 0.031.
    row = first_row(compare(run("a", recall=[0.5] * 5), run("b", recall=[0.75] * 5)))
    assert row["sentence"].startswith("too few queries for a test")


def test_at_a_stricter_level_more_queries_are_needed():
    # The smallest p-value of seven queries is 1/64, so no test at 0.01 could reject.
    a, b = run("a", recall=[0.1] * 7), run("b", recall=[0.2, 0.31, 0.45, 0.5, 0.66, 0.7, 0.9])
    row = first_row(compare(a, b, confidence_level=0.99))
    assert row["sentence"].endswith("7 in common, at least 8 are needed")
    assert compare(a, b).frame["pvalue"].iloc[0] == pytest.approx(1 / 64)


def test_a_metric_that_no_query_has_in_both_runs_is_not_compared():
    a = run("a", recall=[0.1, None], precision=[0.5, 0.6])
    b = run("b", recall=[None, 0.2], precision=[0.4, 0.8])
    comparison = compare(a, b)
    frame = comparison.frame.set_index("metric")
    assert np.isnan(frame.loc["recall", "pvalue"])
    assert frame.loc["recall", "n_dropped"] == 2
    assert frame.loc["recall", "verdict"] == "too few"
    assert comparison.sentences[0].startswith("not compared")


def test_dropped_queries_are_counted_and_bounded():
    rng = np.random.default_rng(2)
    a, b = rng.random(50), rng.random(50)
    b[:10] = np.nan
    comparison = compare(run("a", recall=a), run("b", recall=b))
    row = comparison.frame.iloc[0]
    assert (row["n"], row["n_dropped"]) == (40, 10)
    note = next(note for note in comparison.notes if note.startswith("recall: 10 of 50"))
    low, high = (np.r_[np.full(10, v), b[10:]].mean() - a.mean() for v in (0, 1))
    assert f"the difference would be {low:+.3f} or {high:+.3f}" in note


def test_missing_as_worst_scores_zero_for_what_failed():
    a, b = run("a", recall=[0.5, 0.5, 0.5]), run("b", recall=[0.8, None, 0.8])
    row = compare(a, b, missing="worst").frame.iloc[0]
    assert row["n"] == 3
    assert row["candidate_mean"] == pytest.approx(1.6 / 3)


def test_scores_that_count_as_the_worst_are_counted_for_each_metric():
    a = run("a", recall=[0.5, None, 0.5, None], mrr=[0.5, 0.5, 0.5, 0.5], hit=[1, 0, 1, 1])
    b = run("b", recall=[0.8, None, None, 0.8], mrr=[0.5, None, 0.5, 1.0], hit=[1, 1, 1, 0])
    notes = compare(a, b, missing="worst").notes
    assert [note for note in notes if "worst" in note] == [
        "recall: 4 missing scores count as the worst possible",
        "mrr: 1 missing score counts as the worst possible",
    ]
    assert not any("worst" in note for note in compare(a, b).notes)


def test_missing_as_bounds_says_how_far_it_could_move():
    a, b = run("a", recall=[0.5, 0.5]), run("b", recall=[0.5, None])
    row = compare(a, b, missing="bounds").frame.iloc[0]
    assert (row["difference_lowest"], row["difference_highest"]) == (-0.25, 0.25)


def test_missing_as_worst_needs_a_worst():
    a, b = run("a", latency_ms=[5.0, 20.0]), run("b", latency_ms=[3.0, None])
    with pytest.raises(DataError, match="no worst value"):
        compare(a, b, missing="worst")


def test_ids_and_metrics_of_one_run_are_listed():
    a = run("a", ["q1", "q2", "q3"], recall=[0.1, 0.2, 0.3], bleu=[0.1, 0.2, 0.3])
    b = run("b", ["q1", "q2", "q4"], recall=[0.1, 0.2, 0.3])
    notes = " ".join(compare(a, b).notes)
    assert "1 query is in 'a' only: 'q3'" in notes
    assert "1 query is in 'b' only: 'q4'" in notes
    assert "metrics in 'a' only, not compared: bleu" in notes


def test_one_metric_under_two_names_is_compared():
    a, b = run("a", mrr=[0.1, 0.5]), run("b", reciprocal_rank=[0.3, 0.5])
    assert compare(a, b).frame["metric"].tolist() == ["mrr"]


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


def test_regressions_of_a_cost_are_the_rises():
    comparison = compare(run("a", latency_ms=[1.5, 9.0]), run("b", latency_ms=[7.0, 2.0]))
    assert comparison.regressions("latency_ms").index.tolist() == ["q0"]


def test_regressions_of_several_candidates_must_say_whose():
    a, b, c = (run(name, recall=[0.1, 0.2]) for name in "abc")
    with pytest.raises(DataError, match="several candidates"):
        compare(a, b, c).regressions("recall")
    assert len(compare(a, b, c).regressions("recall", "c")) == 0


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


def test_westfall_young_is_deterministic_in_its_seed(two):
    one = compare(*two, correction="westfall-young", seed=3).frame["pvalue_adjusted"]
    other = compare(*two, correction="westfall-young", seed=3).frame["pvalue_adjusted"]
    assert one.tolist() == other.tolist()
    assert (one >= compare(*two).frame["pvalue"] - 0.02).all()


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
        ({"interval": "wald"}, UnknownNameError),
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


def test_equal_names_and_no_candidate_are_refused():
    a = run("a", recall=[0.1])
    with pytest.raises(DataError, match="each its own name"):
        compare(a, run("a", recall=[0.1]))
    with pytest.raises(DataError, match="candidates must hold at least one evaluation"):
        compare(a)


def test_a_list_of_candidates_is_told_how_to_be_handed_in():
    one = run("a", score=[0.1, 0.2])
    with pytest.raises(DataError, match=r"got a list.*compare\(baseline, \*candidates\)"):
        compare(one, [run("b", score=[0.1, 0.2])])


def test_runs_that_disagree_on_direction_are_refused():
    a = run("a", my_score=[0.1, 0.5])
    b = RAGPipelineEvaluation(
        "b", {"query_id": ["q0", "q1"], "my_score": [0.1, 0.5]}, metrics={"my_score": "lower"}
    )
    with pytest.raises(DataError, match="disagree on whether higher is better"):
        compare(a, b)


def test_the_signature_tells_the_settings(two):
    signature = compare(*two).signature
    for part in ("test:auto", "correction:holm", "confidence_level:0.95", "missing:drop"):
        assert part in signature


def test_the_printed_comparison_is_at_most_100_columns_wide(two):
    comparison = compare(*two)
    text = str(comparison)
    assert max(map(len, text.splitlines())) <= 100
    assert text.index("is better than") < text.index("verdict") < text.index("p adjusted for 2")
    assert comparison.signature not in text
    assert comparison.signature.split("|")[0] in comparison.to_markdown()


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


def test_a_difference_not_shown_to_lie_within_the_margin_is_said_not_to_be():
    rng = np.random.default_rng(1)
    before = rng.random(40)
    after = np.clip(before + rng.normal(0, 0.2, 40), 0, 1)
    told = compare(run("a", recall=before), run("b", recall=after), margin=0.02)
    interval = scipy.stats.ttest_rel(after, before).confidence_interval(0.9)  # SciPy 1.17
    ends = f"(90 % CI {interval.low:.3f} to {interval.high:.3f})"
    assert told.sentences[0].endswith(f"; not shown to lie within ±0.020 {ends}")


def test_one_margin_for_metrics_of_different_scales_is_noted():
    scores = {"recall": [0.1, 0.5, 0.9], "latency_ms": [100.0, 200.0, 300.0]}
    one, other = run("a", **scores), run("b", **scores)
    assert any("(latency_ms has no bounds)" in note for note in compare(one, other, margin=1).notes)
    by_metric = compare(one, other, margin={"recall": 0.1, "latency_ms": 50}).notes
    alone = compare(one, other, margin=1, metrics="recall").notes
    assert not any("different scales" in note for note in (*by_metric, *alone))


def test_what_holds_of_several_metrics_is_noted_once():
    nan = float("nan")
    scores = {"recall": [0.1, 0.5, nan], "mrr": [0.2, 0.3, nan], "f1": [0.5, 0.6, 0.7]}
    notes = compare(run("a", **scores), run("b", **scores)).notes
    [told] = [note for note in notes if "left out" in note]
    assert told.startswith("recall, mrr: 1 of 3 shared queries are left out")


def test_metrics_that_were_not_asked_for_are_not_said_to_be_alone(two):
    notes = " ".join(compare(*two, metrics="faithfulness").notes)
    assert "only, not compared" not in notes


def test_too_few_clusters_are_told_as_clusters():
    a = run("a", recall=[0.1] * 8, document=list("xxxxyyyy"))
    b = run("b", recall=[0.5, 0.6, 0.7, 0.55, 0.62, 0.71, 0.8, 0.49])
    row = first_row(compare(a, b, clusters="document"))
    assert row["sentence"] == (
        "too few clusters for a test on recall: 2 in common, at least 6 are needed"
    )
    assert row["n_clusters"] == 2


def test_without_correction_the_false_alarms_are_those_of_the_level(two):
    notes = compare(*two, correction="none", confidence_level=0.9).notes
    assert any(
        "2 quality tests without correction: expect about 0.2 false" in note for note in notes
    )


def test_runs_that_are_identical_to_the_last_bit_are_asked_about():
    scores = {"recall": [0.1, 0.3, 1.0], "mrr": [0.5, None, 1.0]}
    a, b = run("a", **scores), run("b", **scores)
    question = (
        "b and a are identical to the last bit on every metric: did the change reach the pipeline?"
    )
    assert question in compare(a, b).notes
    by_rounding = run("c", recall=[0.1, 0.1 + 0.2, 1.0], mrr=scores["mrr"])  # 0.30000000000000004
    notes = compare(a, b, by_rounding).notes
    assert question in notes
    assert not any("c and a are identical to the last bit" in note for note in notes)


def test_runs_without_a_pair_are_not_called_identical():
    a, b = run("a", recall=[0.1, None]), run("b", recall=[None, 0.1])
    assert not any("last bit" in note for note in compare(a, b).notes)


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


def test_differences_that_cancel_in_few_clusters_are_not_identical():
    ids, documents = list("abcdef"), list("xxyyzz")
    old, new = (
        RAGPipelineEvaluation(name, {"query_id": ids, "document": documents, "my_score": scores})
        for name, scores in (("old", [0.5] * 6), ("new", [0.25, 0.75] * 3))
    )
    row = first_row(compare(old, new, clusters="document"))
    assert np.isnan(row["pvalue"])
    assert row["sentence"].startswith("too few clusters")
    same = compare(old, old.with_name("new"), clusters="document").frame.iloc[0]
    assert same["pvalue"] == 1.0
