"""Witnesses: pandas' groupby, Holm by hand, SciPy 1.17's false discovery rates, a slice alone.

Pooled means are those of `partial_pooling` (tested on its own) with the analysis of variance by
hand.
"""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.stats import adjust_pvalues, heterogeneity_test, partial_pooling
from rageval_report.stats.units import clustered_standard_error

POOLED = ["pooled_ci_low", "pooled_ci_high"]


def run(name, scores, topics, **columns):
    ids = [f"q{i}" for i in range(len(scores))]
    data = {"query_id": ids, "recall": scores, "topic": topics, **columns}
    return RAGPipelineEvaluation(name, data)


def by_topic(result):
    return result.frame.set_index("topic")


def shifted(before, change, topics):
    """The frame of a comparison by topic whose candidate differs by so much."""
    after = np.clip(before + change, 0, 1)
    return by_topic(compare(run("a", before, topics), run("b", after, topics)).slices("topic"))


@pytest.fixture
def opposed():
    rng = np.random.default_rng(5)
    topics = ["law"] * 60 + ["tax"] * 30
    before = rng.beta(4, 4, 90)
    shift = np.r_[rng.normal(0.15, 0.05, 60), rng.normal(-0.12, 0.05, 30)]
    return run("a", before, topics), run("b", np.clip(before + shift, 0, 1), topics)


# -- one pipeline


def test_each_group_has_its_own_mean_and_count_and_the_largest_comes_first(opposed):
    frame = by_topic(opposed[0].slices("topic"))
    expected = opposed[0].data.groupby("topic")["recall"].mean()
    assert frame["mean"].to_dict() == pytest.approx(expected.to_dict())
    assert frame["n"].to_dict() == {"law": 60, "tax": 30}
    assert frame.index.tolist() == ["law", "tax"]


# -- two pipelines


def test_groups_are_compared_pair_by_pair_and_corrected_by_holm(opposed):
    a, b = opposed
    frame = by_topic(compare(a, b).slices("topic"))
    differences = (b.scores["recall"] - a.scores["recall"]).groupby(a.details["topic"]).mean()
    assert frame["difference"].to_dict() == pytest.approx(differences.to_dict())
    raw = np.sort(frame["pvalue"])
    expected = [min(1, 2 * raw[0]), max(2 * raw[0], raw[1])]
    assert np.sort(frame["pvalue_adjusted"]) == pytest.approx(expected)


@pytest.mark.parametrize("correction", ["holm", "bh", "none"])
def test_the_pvalue_of_a_reversal_is_the_larger_of_two_tests(correction):
    # Twelve groups, of which every third goes the other way; some of these by chance.
    rng = np.random.default_rng(3)
    topics = np.repeat([f"t{i:02}" for i in range(12)], 12)
    change = rng.normal(0.06, 0.1, 144) - 0.09 * (np.arange(144) // 12 % 3 == 0)
    before = rng.uniform(0.3, 0.6, 144)
    runs = run("a", before, topics), run("b", before + change, topics)
    frame = compare(*runs).slices("topic", correction=correction).frame
    raw = []
    for topic, own in zip(frame["topic"], frame["difference"], strict=True):
        sides = [
            RAGPipelineEvaluation(r.name, r.scores[r.details["topic"] != topic].reset_index())
            for r in runs
        ]
        others = compare(*sides).frame.iloc[0]
        is_opposed = own * change.mean() < 0
        pvalue = frame.loc[frame["topic"] == topic, "pvalue"].item()
        raw.append(max(pvalue, others["pvalue"]) if is_opposed else 1.0)
    np.testing.assert_allclose(frame["reversal_pvalue_adjusted"], adjust_pvalues(raw, correction))


def test_a_slice_has_the_numbers_of_its_queries_compared_alone():
    """Rows in another order in the candidate, queries that one run lacks, and missing scores."""
    rng = np.random.default_rng(0)
    n = 90
    scores = rng.uniform(0, 1, (2, n))
    scores[rng.random((2, n)) < 0.1] = np.nan
    ids = np.array([f"q{i}" for i in range(n)])
    topics = rng.choice(["x", "y", "z"], n)
    order = rng.permutation(n)[:80]
    baseline = pd.DataFrame({"query_id": ids, "topic": topics, "recall": scores[0]})
    candidate = pd.DataFrame({"query_id": ids[order], "recall": scores[1][order]})
    runs = RAGPipelineEvaluation("a", baseline), RAGPipelineEvaluation("b", candidate)
    table = by_topic(compare(*runs).slices("topic"))
    for topic, rows in baseline.groupby("topic"):
        inside = candidate["query_id"].isin(rows["query_id"])
        alone = compare(
            RAGPipelineEvaluation("a", rows.drop(columns="topic")),
            RAGPipelineEvaluation("b", candidate[inside]),
        ).frame.iloc[0]
        for name in ("n", "n_dropped", "difference", "ci_low", "ci_high", "pvalue", "wins"):
            assert table.loc[topic, name] == alone[name], (topic, name)


def test_slices_take_the_clusters_of_the_comparison():
    rng = np.random.default_rng(2)
    documents = np.repeat(np.arange(16), 5)
    before = rng.uniform(0.3, 0.6, 80)
    after = before + rng.normal(0, 0.15, 16)[documents] + rng.normal(0, 0.02, 80)
    topics = np.where(documents < 8, "law", "tax")
    a, b = run("a", before, topics), run("b", after, topics)
    clusters = {f"q{i}": document for i, document in enumerate(documents)}
    frame = by_topic(compare(a, b, clusters=clusters).slices("topic"))
    means = (after - before).reshape(16, 5).mean(axis=1)
    signs = np.array(list(itertools.product([1, -1], repeat=8)))
    for topic, of_topic in (("law", means[:8]), ("tax", means[8:])):
        share = np.mean(np.abs(signs @ of_topic) >= abs(of_topic.sum()) * (1 - 1e-9))
        assert frame.loc[topic, "pvalue"] == pytest.approx(share)
        assert frame.loc[topic, "n_clusters"] == 8
    # Clusters of one size weigh alike: Welch's test is that of their means.
    expected = heterogeneity_test([means[:8], means[8:]]).pvalue
    assert frame["heterogeneity_pvalue"].iloc[0] == pytest.approx(expected)


def test_a_cluster_with_queries_in_several_groups_is_noted():
    topics = ["law", "tax"] * 8
    a, b = run("a", np.linspace(0.1, 0.5, 16), topics), run("b", np.linspace(0.3, 0.4, 16), topics)
    across = compare(a, b, clusters={f"q{i}": i // 4 for i in range(16)}).slices("topic")
    assert any("4 of 4 clusters have queries in several groups of topic" in n for n in across.notes)
    within = compare(a, b, clusters={f"q{i}": i % 8 for i in range(16)}).slices("topic")
    assert not any("clusters have queries in several" in note for note in within.notes)


# -- false discovery rates


def twelve_topics(n_true=6):
    rng = np.random.default_rng(8)
    topics = np.repeat([f"t{i}" for i in range(12)], 10)
    before = rng.uniform(0.3, 0.6, 120)
    shift = np.repeat([0.08] * n_true + [0.0] * (12 - n_true), 10)
    return run("a", before, topics), run("b", before + shift + rng.normal(0, 0.07, 120), topics)


@pytest.mark.parametrize("correction", ["bh", "by"])
def test_the_false_discovery_rate_over_slices_is_that_of_scipy(correction):
    result = compare(*twelve_topics()).slices("topic", correction=correction)
    expected = false_discovery_control(result.frame["pvalue"], method=correction)
    np.testing.assert_allclose(result.frame["pvalue_adjusted"], expected)
    n_shown = int((result.frame["pvalue_adjusted"] <= 0.05).sum())
    told = f"of the {n_shown} slices that differ here, about one in 20 may be noise"
    assert any(note.startswith(told) for note in result.notes) == (n_shown > 0)


# -- partial pooling


@pytest.fixture
def topics():
    return np.repeat(["law", "tax", "ferry", "dogs", "fish"], [40, 30, 20, 7, 3])


@pytest.fixture
def scores(topics):
    return np.random.default_rng(6).beta(4, 2, topics.size)


def pooled_by_hand(values, topics):
    """The means, pooled with the variance within all groups."""
    groups = pd.Series(values).groupby(np.asarray(topics))
    squares, sizes = ((values - groups.transform("mean")) ** 2).sum(), groups.size()
    degrees = len(values) - len(sizes)
    errors = np.sqrt(squares / degrees / sizes)
    return sizes.index, partial_pooling(groups.mean(), errors, degrees=degrees)


def agrees(frame, what, groups, expected):
    for name, values in (
        (f"pooled_{what}", expected.estimates),
        ("pooled_ci_low", expected.low),
        ("pooled_ci_high", expected.high),
        ("shrinkage", expected.shrinkage),
    ):
        np.testing.assert_allclose(frame.loc[groups, name], values)


def test_means_are_pooled_with_the_variance_within_all_groups(scores, topics):
    frame = by_topic(run("a", scores, topics).slices("topic"))
    agrees(frame, "mean", *pooled_by_hand(scores, topics))
    assert frame["shrinkage"].is_monotonic_increasing  # the smaller, the farther
    fish = frame.loc["fish"]
    assert fish["mean"] == pytest.approx(scores[topics == "fish"].mean())
    assert fish["pooled_ci_high"] - fish["pooled_ci_low"] < fish["ci_high"] - fish["ci_low"]


def test_differences_are_pooled_alike(scores, topics):
    after = np.clip(scores + np.random.default_rng(1).normal(0.02, 0.1, topics.size), 0, 1)
    frame = shifted(scores, after - scores, topics)
    agrees(frame, "difference", *pooled_by_hand(after - scores, topics))
    # The three queries on fish are too few for a test and an interval of their own.
    assert np.isnan(frame.loc["fish", "ci_low"])
    assert np.isfinite(frame.loc["fish", POOLED].to_numpy(float)).all()


def test_clusters_of_several_sizes_have_the_standard_errors_of_cr2():
    rng = np.random.default_rng(4)
    sizes = np.tile([1, 2, 3, 6], 8)
    documents = np.repeat(np.arange(32), sizes)
    groups = np.repeat(np.repeat(list("wxyz"), 8), sizes)
    before = rng.uniform(0.3, 0.6, documents.size)
    change = rng.normal(0, 0.1, 32)[documents] + rng.normal(0, 0.03, documents.size)
    clusters = {f"q{i}": f"d{document}" for i, document in enumerate(documents)}
    pair = run("a", before, groups), run("b", before + change, groups)
    frame = by_topic(compare(*pair, clusters=clusters).slices("topic"))
    own = {g: clustered_standard_error(change[groups == g], documents[groups == g]) for g in "wxyz"}
    degrees = np.array([own[g].df for g in "wxyz"])
    # Per document, of which each group has eight.
    squares = np.array([8 * own[g].standard_error ** 2 for g in "wxyz"])
    error = math.sqrt((degrees * squares).sum() / degrees.sum() / 8)
    means = [own[g].estimate for g in "wxyz"]
    expected = partial_pooling(means, [error] * 4, degrees=degrees.sum())
    agrees(frame, "difference", list("wxyz"), expected)


@pytest.mark.parametrize("groups", [["law", "tax", "ferry"], ["law"]])
def test_fewer_than_four_groups_repeat_the_raw_numbers(scores, groups):
    result = run("a", scores, np.resize(groups, scores.size)).slices("topic")
    frame = result.frame
    np.testing.assert_array_equal(frame["pooled_mean"], frame["mean"])
    np.testing.assert_array_equal(frame[POOLED], frame[["ci_low", "ci_high"]])
    assert (frame["shrinkage"] == 0).all()
    assert "pooled_mean" not in result.headline
    assert not any("pooled" in note for note in result.notes)


@pytest.mark.parametrize("seed", range(5))
def test_bounded_scores_stay_in_their_range(seed):
    rng = np.random.default_rng(seed)
    scores = (rng.random(48) < 0.95).astype(float)
    scores[0] = 0.0
    frame = run("a", scores, np.resize(list("aaaabbbccdef"), 48)).slices("topic").frame
    assert (frame["shrinkage"] > 0).all()
    assert ((frame["pooled_ci_low"] >= 0) & (frame["pooled_ci_high"] <= 1)).all()
    assert (frame["pooled_ci_low"] <= frame["pooled_mean"]).all()
    assert (frame["pooled_mean"] <= frame["pooled_ci_high"]).all()
