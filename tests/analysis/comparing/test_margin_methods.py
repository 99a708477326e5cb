"""Second witnesses: `equivalence_test`, Clopper-Pearson by scipy 1.17.1, and by hand."""

import numpy as np
import pytest
import scipy.stats

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.stats import equivalence_test


def run(name, metrics=None, **scores):
    ids = [f"q{i}" for i in range(len(next(iter(scores.values()))))]
    return RAGPipelineEvaluation(name, {"query_id": ids, **scores}, metrics=metrics)


def near(n=200):
    """Scores, and scores that differ by at most 0.03, and by 0 on average."""
    before = np.linspace(0.3, 0.6, n)
    return before, before + np.tile([-0.03, 0.01, 0.01, 0.01], n // 4)


def runs(n=200, name="recall", **options):
    before, after = near(n)
    return run("a", **{name: before}, **options), run("b", **{name: after}, **options)


def first_row(comparison):
    """The first row, with its sentence."""
    return comparison.frame.assign(sentence=comparison.sentences).iloc[0]


def test_strict_is_the_strict_equivalence_test_with_the_bounds_of_the_metric():
    row = compare(*runs(), margin=0.05, margin_method="strict").frame.iloc[0]
    found = equivalence_test(*near(), 0.05, method="strict", bounds=(0, 1))
    assert row["equivalence_pvalue_adjusted"] == pytest.approx(found.pvalue, rel=1e-12)
    assert row["margin_method"] == "strict"


def test_strict_on_whole_losses_is_clopper_pearson():
    # 2 of 60 answers are lost and none is won: differences of -1 and 0, between -1 and 1.
    before, after = np.ones(60), np.repeat([0.0, 1.0], [2, 58])
    sentence = compare(
        *(run("a", exact_match=before), run("b", exact_match=after)),
        margin=0.01,
        margin_method="strict",
    ).sentences[0]
    low = scipy.stats.beta(58, 3).ppf(0.05) - 1
    assert f"not shown to lie within ±0.010 (strict 90 % CI {low:.3f} to " in sentence


def test_a_shown_difference_within_the_margin_names_the_method_too():
    before, after = near()
    pair = run("a", recall=before), run("b", recall=after + 0.005)
    default = compare(*pair, margin=0.06).sentences[0]
    assert (
        ", but by less than the margin of 0.060; rare large differences could hide" not in default
    )
    assert default.endswith(", but by less than the margin of 0.060")
    strict = compare(*pair, margin=0.06, margin_method="strict").sentences[0]
    assert ", but by less than the margin of 0.060 (strict 90 % CI " in strict


def test_clusters_are_tested_strictly_as_clusters():
    before, after = near(48)
    documents = np.repeat(np.arange(8), [1, 3, 5, 7, 8, 8, 8, 8])
    pair = run("a", recall=before, document=documents), run("b", recall=after, document=documents)
    row = compare(*pair, margin=0.4, margin_method="strict", clusters="document").frame.iloc[0]
    found = equivalence_test(
        *(before, after, 0.4), method="strict", bounds=(0, 1), clusters=documents
    )
    assert row["equivalence_pvalue_adjusted"] == pytest.approx(found.pvalue, rel=1e-9)
    by_query = compare(*pair, margin=0.4, margin_method="strict").frame.iloc[0]
    assert by_query["equivalence_pvalue_adjusted"] < row["equivalence_pvalue_adjusted"]


def test_bounds_that_a_caller_sets_are_no_formality():
    bounded = {"sas": {"bounds": (0, 1)}}
    row = compare(*runs(name="sas", metrics=bounded), margin=0.05, margin_method="strict").frame
    assert row["margin_method"].iloc[0] == "strict"
    limited = {"latency_ms": {"bounds": (0, 1000)}}
    slow = np.linspace(200, 900, 400)
    pair = (
        run("a", latency_ms=slow, metrics=limited),
        run("b", latency_ms=slow + np.tile([-5.5, 5], 200), metrics=limited),
    )
    verdict = compare(*pair, margin=50, margin_method="strict").sentences[0]
    assert "equivalent on latency_ms within ±50.0 (strict 90 % CI " in verdict


def test_equal_differences_without_bounds_are_not_called_small():
    slow = np.linspace(200, 900, 40)
    pair = run("a", latency_ms=slow), run("b", latency_ms=slow + 1)
    row = first_row(compare(*pair, margin=50))
    assert row["sentence"].startswith("b is worse on latency_ms by 1.000 ")
    assert row["sentence"].endswith(
        "; not shown to lie within ±50.0: all differences are equal, so they do not show how much "
        'others may differ; with bounds of the scores the method "strict" counts that'
    )
    assert np.isnan(row["equivalence_pvalue_adjusted"])
