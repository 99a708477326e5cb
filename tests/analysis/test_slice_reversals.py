"""Witnesses: the tests of the slice and of all other queries on their own, and simulation."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis import slice_reversals
from rageval_report.analysis import slices as slices_module
from rageval_report.stats import adjust_pvalues, paired_test


def runs_of(sizes, differences, *, seed=0, spread=0.08, clusters=0, metrics=1):
    """Two runs whose slices have these sizes and true differences."""
    rng = np.random.default_rng(seed)
    topics = np.repeat(np.arange(len(sizes)), sizes)
    before = rng.uniform(0.3, 0.6, (topics.size, metrics))
    after = before + np.array(differences)[topics, np.newaxis]
    after = after + rng.normal(0, spread, after.shape)
    documents = np.arange(topics.size) // max(clusters, 1)
    if clusters:
        after += rng.normal(0, 0.1, (documents[-1] + 1, metrics))[documents]
    after = after.clip(0, 1)
    details = {
        "query_id": [f"q{i}" for i in range(topics.size)],
        "topic": [f"t{i}" for i in topics],
        "document": [f"d{i}" for i in documents],
    }
    names = ("recall", "mrr", "f1")[:metrics]
    return tuple(
        RAGPipelineEvaluation(name, details | dict(zip(names, scores.T, strict=True)))
        for name, scores in (("a", before), ("b", after))
    )


def test_the_p_value_of_a_reversal_is_the_larger_of_both_tests():
    a, b = runs_of((30, 12, 12), (0.1, -0.06, 0.05))
    frame = compare(a, b).slices("topic", correction="none").frame.set_index("topic")
    before, after = a.scores["recall"].to_numpy(), b.scores["recall"].to_numpy()
    inside = (a.details["topic"] == "t1").to_numpy()
    pvalues = [paired_test(before[rows], after[rows]).pvalue for rows in (inside, ~inside)]
    assert frame.loc["t1", "difference"] < 0 < frame["difference"].drop("t1").min()
    assert frame.loc["t1", "reversal_pvalue_adjusted"] == pytest.approx(max(pvalues))
    assert (frame.loc[["t0", "t2"], "reversal_pvalue_adjusted"] == 1.0).all()


def test_reversals_are_corrected_over_all_rows_of_the_table():
    runs = runs_of((30, 12, 12), (0.1, -0.06, -0.08), metrics=3)
    raw = compare(*runs).slices("topic", correction="none").frame["reversal_pvalue_adjusted"]
    for correction in ("holm", "bh", "bonferroni"):
        frame = compare(*runs).slices("topic", correction=correction).frame
        expected = adjust_pvalues(raw, method=correction)
        np.testing.assert_allclose(frame["reversal_pvalue_adjusted"], expected)


def test_a_reversal_that_is_shown_is_a_slice_that_is_shown():
    for seed in range(8):
        frame = compare(*runs_of((20, 10, 8), (0.05, -0.06, 0.0), seed=seed)).slices("topic").frame
        shown = frame["reversal_pvalue_adjusted"] <= 0.05
        assert (frame["pvalue_adjusted"][shown] <= 0.05).all()
        assert frame["verdict"].notna()[shown].all()


def test_a_slice_against_an_overall_difference_that_is_not_shown_is_no_reversal():
    # All queries together are just above zero, because of one group that varies much.
    rng = np.random.default_rng(4)
    topics = ["calm"] * 20 + ["wild"] * 20
    before = rng.uniform(0.4, 0.6, 40)
    change = np.r_[rng.normal(-0.05, 0.02, 20), np.resize([0.32, -0.18], 20)]
    ids = [f"q{i}" for i in range(40)]
    a, b = (
        RAGPipelineEvaluation(name, {"query_id": ids, "recall": scores, "topic": topics})
        for name, scores in (("a", before), ("b", before + change))
    )
    result = compare(a, b).slices("topic")
    frame = result.frame.set_index("topic")
    assert frame.loc["calm", "pvalue_adjusted"] <= 0.05 < frame.loc["wild", "pvalue"]
    assert frame.loc["calm", "reversal_pvalue_adjusted"] > 0.05
    [sentence] = result.sentences
    assert sentence.startswith("where topic is calm, b is worse on recall by 0.0")
    pvalue = frame.loc["wild", "pvalue"]
    assert (
        f"the other queries do not show the opposite: +0.070 (p = {pvalue:.2f} before correction)"
        in sentence
    )


def test_other_queries_that_are_too_few_are_not_tested():
    result = compare(*runs_of((12, 3), (-0.02, 0.3), spread=0.01)).slices("topic")
    frame = result.frame.set_index("topic")
    assert np.isnan(frame.loc["t0", "reversal_pvalue_adjusted"])
    assert np.isnan(frame.loc["t1", "reversal_pvalue_adjusted"])
    [sentence] = result.sentences
    assert sentence.endswith("and the other queries are too few for a test")


def test_most_queries_against_the_whole_need_a_test_too():
    # Two of three slices fall by next to nothing, and the small one rises much.
    runs = runs_of((20, 20, 10), (-0.005, -0.005, 0.2), seed=3)
    frame = compare(*runs).slices("topic").frame.set_index("topic")
    assert (frame.loc[["t0", "t1"], "difference"] < 0).any()
    assert frame["verdict"].isna().all()
    assert not any("other direction" in note for note in compare(*runs).slices("topic").notes)


def test_the_units_of_a_reversal_are_the_clusters():
    a, b = runs_of((40, 30), (0.2, -0.2), clusters=5, seed=2)
    frame = compare(a, b, clusters="document").slices("topic").frame.set_index("topic")
    before, after = a.scores["recall"].to_numpy(), b.scores["recall"].to_numpy()
    inside = (a.details["topic"] == "t1").to_numpy()
    documents = a.details["document"].to_numpy()
    pvalues = [
        paired_test(before[rows], after[rows], clusters=documents[rows]).pvalue
        for rows in (inside, ~inside)
    ]
    # Of two rows by Holm; the other one has a p-value of 1.
    assert frame.loc["t1", "reversal_pvalue_adjusted"] == pytest.approx(2 * max(pvalues))
    assert max(pvalues) >= 2**-7  # of at most eight documents a side


@pytest.mark.parametrize("clusters", [0, 5])
def test_sentences_on_slices_without_any_difference_are_rare(clusters):
    # benchmarks/simulate_slices.py has more data sets: at most 5 %.
    n_notes = 0
    for seed in range(20):
        runs = runs_of((40, 40, 40, 40), (0.0,) * 4, clusters=clusters, seed=seed)
        comparison = compare(*runs, clusters="document" if clusters else None, interval="t")
        n_notes += bool(comparison.slices("topic").sentences)
    # With 5 % of 20 one expects 1; more than 4 come in one of 390 cases.
    assert n_notes <= 4


@pytest.mark.parametrize("correction", ["none", "holm", "hochberg", "bonferroni", "bh", "by"])
@pytest.mark.parametrize("seed", range(4))
def test_tests_that_cannot_matter_are_left_out_and_change_nothing(correction, seed, monkeypatch):
    rng = np.random.default_rng(seed)
    runs = runs_of(rng.integers(3, 40, 15), rng.normal(0.01, 0.04, 15), seed=seed, metrics=3)
    comparison = compare(*runs)
    thrifty = comparison.slices("topic", correction=correction).frame
    monkeypatch.setattr(slice_reversals, "_BOUNDED_TESTS", frozenset())
    thorough = comparison.slices("topic", correction=correction).frame
    pd.testing.assert_frame_equal(thrifty, thorough, check_exact=True)


def test_few_tests_of_all_other_queries_are_made(monkeypatch):
    rng = np.random.default_rng(1)
    runs = runs_of(np.full(60, 10), rng.normal(0.0, 0.05, 60), metrics=3)
    made = []
    paired_test = slice_reversals.paired_test

    def counted(pairs, **options):
        made.append(pairs.n)
        return paired_test(pairs, **options)

    monkeypatch.setattr(slice_reversals, "paired_test", counted)
    table = compare(*runs).slices("topic")
    opposed = (table.frame["difference"] * table.frame["difference"].mean() < 0).sum()
    assert opposed > 40
    assert len(made) < 10


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(6, 60), st.sampled_from([0.1, 1.0, 3.0]))
def test_the_p_value_of_a_reversal_lies_in_its_range(seed, n, effect):
    rng = np.random.default_rng(seed)
    runs = runs_of((n, 8, 7), rng.normal(0.0, effect * 0.05, 3), seed=seed)
    comparison = compare(*runs)
    [pairing] = comparison.pairings
    asked_for = pairing.metrics, comparison.plan
    sliced = slices_module._slice_pairs(pairing, "topic", *asked_for)
    [slices] = slices_module._compare_groups(sliced, *asked_for)
    for part in slices:
        low, high = part.reversal_range
        assert low <= part.reversal_pvalue <= high
