"""The sentence of each row, word by word; counts by statsmodels 0.15, bounds by hand."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import scipy.stats

from rageval_report import RAGPipelineEvaluation, compare


def verdict_of(before, after, name="recall", bounds=None, **options):
    ids = [f"q{i}" for i in range(len(before))]
    known = None if bounds is None else {name: {"bounds": bounds}}
    a = RAGPipelineEvaluation("a", {"query_id": ids, name: before}, metrics=known)
    b = RAGPipelineEvaluation("b", {"query_id": ids, name: after}, metrics=known)
    return compare(a, b, **options).sentences[0]


def test_no_undecided_test_on_public_scores_needs_as_many_queries_as_it_has(real_data):
    runs = [
        RAGPipelineEvaluation.load(path.stem.split("__", 1)[1], path)
        for path in sorted(real_data("haystack_aragog").glob("detailed_*.csv"))
    ]
    comparison = compare(*runs)
    frame = comparison.frame.assign(sentence=comparison.sentences)
    undecided = frame[frame["pvalue_adjusted"] > 0.05]
    assert len(undecided) >= 4
    assert (undecided["n_needed_smaller"] > undecided["n"]).all()
    for n, verdict in zip(undecided["n"], undecided["sentence"], strict=True):
        counts = [int(count) for count in re.findall(r"(?:ask|0\.\d+) about (\d+)", verdict)]
        assert counts
        assert min(counts) > n
    seen = undecided["difference"].abs()
    assert (undecided["min_detectable_difference"] > seen).all()


# -- equivalence


def near(n=200, spread=0.02, shift=0.0):
    rng = np.random.default_rng(9)
    before = rng.uniform(0.3, 0.6, n)
    differences = rng.normal(0, spread, n)
    return before, before + differences - differences.mean() + shift


def test_equivalence_says_its_margin_its_interval_and_its_p():
    before, after = near()
    # 200 normal differences: the t interval of scipy 1.17.1 has the same three digits.
    t = scipy.stats.ttest_rel(after, before).confidence_interval(0.9)
    low, high = (f"{value:.3f}" for value in (t.low, t.high))
    found = verdict_of(before, after, margin=0.01)
    assert found == (
        f"b and a are equivalent on recall within ±0.010 (90 % CI {low} to {high}, "
        "equivalence p < 0.001)"
    )


def test_a_difference_that_is_shown_and_small_is_both():
    found = verdict_of(*near(shift=0.005), margin=0.02)
    assert found.startswith("b is better on recall by 0.005 ")
    assert found.endswith(", but by less than the margin of 0.020")


# -- identity, clusters and candidates


NAN = math.nan
APPLIES = "scored"
NOT = "not applicable"


def run(name, recall, states, config=None):
    ids = [f"q{n}" for n in range(len(recall))]
    data = {"query_id": ids, "recall": recall, "recall_state": states}
    return RAGPipelineEvaluation(name, data, config=config)


# Six scored pairs, two questions without gold, and one that the candidate did not answer.
BEFORE = [0.1, 0.5, 0.4, 0.9, 0.2, 0.3, NAN, NAN, 0.6]
AFTER = [0.2, 0.6, 0.4, 1.0, 0.5, 0.6, NAN, NAN, NAN]
ONE = run("one", BEFORE, [*[APPLIES] * 6, NOT, NOT, APPLIES])
TWO = run("two", AFTER, [*[APPLIES] * 6, NOT, NOT, "failed"])
PAIRS = list(zip(BEFORE[:6], AFTER[:6], strict=True))


def test_the_worst_score_is_for_missing_ones_only():
    [row] = compare(ONE, TWO, missing="worst").frame.to_dict("records")
    differences = [after - before for before, after in PAIRS] + [0.0 - 0.6]
    assert row["n"] == 7
    assert row["difference"] == pytest.approx(np.mean(differences), abs=1e-15)
    assert row["candidate_mean"] == pytest.approx(sum(AFTER[:6]) / 7, abs=1e-15)


def test_bounds_are_about_missing_ones_only():
    [row] = compare(ONE, TWO, missing="bounds").frame.to_dict("records")
    gains = sum(after - before for before, after in PAIRS)
    assert row["difference_lowest"] == pytest.approx((gains - 0.6) / 7, abs=1e-15)
    assert row["difference_highest"] == pytest.approx((gains + 0.4) / 7, abs=1e-15)


def test_a_gate_on_the_pair_leaves_them_out():
    result = compare(ONE, TWO, missing="worst").gate("losses(recall) <= 0", "mean(recall) >= 0.9")
    values = dict(zip(result.frame["rule"], result.frame["value"], strict=True))
    assert values["losses(recall) <= 0"] == 1
    assert values["mean(recall) >= 0.9"] == pytest.approx(sum(AFTER[:6]) / 7, abs=1e-15)
