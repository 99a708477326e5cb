"""Witnesses: `partial_pooling` on means by pandas' groupby, the analysis of variance by hand."""

import math

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.slices import SliceMean, pool_slices
from rageval_report.stats import partial_pooling
from rageval_report.stats.units import clustered_standard_error

POOLED = ["pooled_ci_low", "pooled_ci_high"]


def run(name, columns, topics):
    ids = [f"q{i}" for i in range(len(topics))]
    return RAGPipelineEvaluation(name, {"query_id": ids, "topic": topics, **columns})


@pytest.fixture
def topics():
    return np.repeat(["law", "tax", "ferry", "dogs", "fish"], [40, 30, 20, 7, 3])


@pytest.fixture
def scores(topics):
    rng = np.random.default_rng(6)
    return rng.beta(4, 2, topics.size)


def within_variance(values, topics):
    groups = [group for _, group in pd.Series(values).groupby(np.asarray(topics))]
    squares = sum(((group - group.mean()) ** 2).sum() for group in groups)
    return squares / (len(values) - len(groups))


def test_means_are_pooled_with_the_variance_within_all_groups(scores, topics):
    frame = run("a", {"recall": scores}, topics).slices("topic").frame.set_index("topic")
    means = pd.Series(scores).groupby(topics).mean()
    sizes = pd.Series(topics).value_counts()[means.index]
    errors = np.sqrt(within_variance(scores, topics) / sizes)
    expected = partial_pooling(means, errors, degrees=95)
    np.testing.assert_allclose(frame.loc[means.index, "pooled_mean"], expected.estimates)
    np.testing.assert_allclose(frame.loc[means.index, "shrinkage"], expected.shrinkage)
    np.testing.assert_allclose(frame.loc[means.index, "pooled_ci_low"], expected.low)
    assert frame["shrinkage"].is_monotonic_increasing  # the smaller, the farther


def test_the_raw_columns_are_unchanged(scores, topics):
    frame = run("a", {"recall": scores}, topics).slices("topic").frame.set_index("topic")
    fish = scores[topics == "fish"]
    assert frame.loc["fish", "mean"] == pytest.approx(fish.mean())
    low, high = frame.loc["fish", ["pooled_ci_low", "pooled_ci_high"]]
    assert high - low < frame.loc["fish", "ci_high"] - frame.loc["fish", "ci_low"]


def test_differences_are_pooled_alike(scores, topics):
    after = np.clip(scores + np.random.default_rng(1).normal(0.02, 0.1, topics.size), 0, 1)
    comparison = compare(run("a", {"recall": scores}, topics), run("b", {"recall": after}, topics))
    frame = comparison.slices("topic").frame.set_index("topic")
    means = pd.Series(after - scores).groupby(topics).mean()
    sizes = pd.Series(topics).value_counts()[means.index]
    errors = np.sqrt(within_variance(after - scores, topics) / sizes)
    expected = partial_pooling(means, errors, degrees=95)
    np.testing.assert_allclose(frame.loc[means.index, "pooled_difference"], expected.estimates)
    np.testing.assert_allclose(frame.loc[means.index, POOLED[1]], expected.high)
    # The three queries on fish are too few for a test and an interval of their own.
    assert np.isnan(frame.loc["fish", "ci_low"])
    assert np.isfinite(frame.loc["fish", POOLED].to_numpy(float)).all()


def test_clusters_of_one_size_are_pooled_by_their_means(topics):
    rng = np.random.default_rng(4)
    groups, documents = np.repeat(list("vwxyz"), 20), np.repeat(np.arange(25), 4)
    before = rng.uniform(0.3, 0.6, 100)
    after = before + rng.normal(0, 0.1, 25)[documents] + rng.normal(0, 0.03, 100)
    comparison = compare(
        run("a", {"recall": before}, groups),
        run("b", {"recall": after}, groups),
        clusters={f"q{i}": f"d{document}" for i, document in enumerate(documents)},
    )
    frame = comparison.slices("topic").frame.set_index("topic")
    by_document = (after - before).reshape(25, 4).mean(axis=1)
    of_document = np.repeat(list("vwxyz"), 5)
    errors = np.full(5, math.sqrt(within_variance(by_document, of_document) / 5))
    means = pd.Series(by_document).groupby(of_document).mean()
    expected = partial_pooling(means, errors, degrees=20)
    np.testing.assert_allclose(frame.loc[means.index, "pooled_difference"], expected.estimates)
    np.testing.assert_allclose(frame.loc[means.index, "pooled_ci_low"], expected.low)


def test_clusters_of_several_sizes_have_the_standard_errors_of_cr2():
    rng = np.random.default_rng(4)
    sizes = np.tile([1, 2, 3, 6], 8)
    documents = np.repeat(np.arange(32), sizes)
    groups = np.repeat(np.repeat(list("wxyz"), 8), sizes)
    before = rng.uniform(0.3, 0.6, documents.size)
    change = rng.normal(0, 0.1, 32)[documents] + rng.normal(0, 0.03, documents.size)
    comparison = compare(
        run("a", {"recall": before}, groups),
        run("b", {"recall": before + change}, groups),
        clusters={f"q{i}": f"d{document}" for i, document in enumerate(documents)},
    )
    frame = comparison.slices("topic").frame.set_index("topic")
    own = {g: clustered_standard_error(change[groups == g], documents[groups == g]) for g in "wxyz"}
    degrees = np.array([own[g].df for g in "wxyz"])
    # Per document, of which each group has eight.
    squares = np.array([8 * own[g].standard_error ** 2 for g in "wxyz"])
    error = math.sqrt((degrees * squares).sum() / degrees.sum() / 8)
    expected = partial_pooling(
        [own[g].estimate for g in "wxyz"], [error] * 4, degrees=degrees.sum()
    )
    np.testing.assert_allclose(frame.loc[list("wxyz"), "pooled_difference"], expected.estimates)
    np.testing.assert_allclose(frame.loc[list("wxyz"), "pooled_ci_high"], expected.high)


def test_means_of_clustered_queries_are_pooled_by_cluster():
    rng = np.random.default_rng(4)
    groups, documents = np.repeat(list("vwxyz"), 20), np.repeat(np.arange(25), 4)
    scores = (rng.uniform(0.4, 0.6, 25)[documents] + rng.normal(0, 0.03, 100)).clip(0, 1)
    clusters = {f"q{i}": f"d{document}" for i, document in enumerate(documents)}
    evaluation = run("a", {"recall": scores}, groups)
    result = evaluation.slices("topic", clusters=clusters)
    by_document = scores.reshape(25, 4).mean(axis=1)
    of_document = np.repeat(list("vwxyz"), 5)
    errors = np.full(5, math.sqrt(within_variance(by_document, of_document) / 5))
    means = pd.Series(by_document).groupby(of_document).mean()
    expected = partial_pooling(means, errors, degrees=20)
    frame = result.frame.set_index("topic").loc[means.index]
    np.testing.assert_allclose(frame["pooled_mean"], expected.estimates)
    np.testing.assert_allclose(frame["pooled_ci_low"], expected.low)
    assert max(map(len, str(result).splitlines())) <= 100
    assert not any("clusters have queries in several" in note for note in result.notes)
    across = {f"q{i}": f"d{i % 10}" for i in range(100)}
    notes = evaluation.slices("topic", clusters=across).notes
    assert any("10 of 10 clusters have queries in several groups" in note for note in notes)


def test_fewer_than_four_groups_repeat_the_raw_numbers(scores):
    groups = np.resize(["law", "tax", "ferry"], scores.size)
    for by in (groups, np.full(scores.size, "law")):
        result = run("a", {"recall": scores}, by).slices("topic")
        frame = result.frame
        np.testing.assert_array_equal(frame["pooled_mean"], frame["mean"])
        np.testing.assert_array_equal(frame[POOLED], frame[["ci_low", "ci_high"]])
        assert (frame["shrinkage"] == 0).all()
        assert "pooled_mean" not in result.headline
        assert not any("pooled" in note for note in result.notes)


def test_an_unscored_group_stays_unscored_and_does_not_count(scores, topics):
    values = np.where(topics == "fish", np.nan, scores)
    frame = run("a", {"recall": values}, topics).slices("topic").frame.set_index("topic")
    assert frame.loc["fish", ["pooled_mean", *POOLED, "shrinkage"]].isna().all()
    without = run("a", {"recall": scores[:97]}, topics[:97]).slices("topic").frame
    np.testing.assert_allclose(frame["pooled_mean"].dropna(), without["pooled_mean"], rtol=1e-12)


def test_a_group_of_one_query_borrows_the_spread_of_the_others(scores, topics):
    labels = np.where(np.arange(topics.size) == 99, "single", topics)
    frame = run("a", {"recall": scores}, labels).slices("topic").frame.set_index("topic")
    single = frame.loc["single"]
    assert single["n"] == 1
    assert np.isfinite(single[["pooled_mean", *POOLED]].to_numpy(float)).all()
    assert single["shrinkage"] == frame["shrinkage"].max()


def test_groups_without_any_spread_are_not_pooled():
    labels = np.repeat(list("abcd"), 5)
    perfect = run("a", {"exact_match": np.ones(20)}, labels).slices("topic").frame
    np.testing.assert_array_equal(perfect["pooled_mean"], 1.0)
    np.testing.assert_array_equal(perfect["pooled_ci_low"], perfect["ci_low"])
    assert (perfect["pooled_ci_low"] < 1).all()  # not an interval of zero width
    constant = np.repeat([0.1, 0.3, 0.3 - 0.2 + 0.2, 0.7], 5)
    frame = run("a", {"recall": constant}, labels).slices("topic").frame
    np.testing.assert_array_equal(frame["pooled_mean"], frame["mean"])


@pytest.mark.parametrize("seed", range(5))
def test_bounded_scores_stay_in_their_range(seed):
    rng = np.random.default_rng(seed)
    labels = np.resize(list("aaaabbbccdef"), 48)
    scores = (rng.random(48) < 0.95).astype(float)
    scores[0] = 0.0
    frame = run("a", {"exact_match": scores}, labels).slices("topic").frame
    assert (frame["shrinkage"] > 0).all()
    assert ((frame["pooled_ci_low"] >= 0) & (frame["pooled_ci_high"] <= 1)).all()
    assert (frame["pooled_ci_low"] <= frame["pooled_mean"]).all()
    assert (frame["pooled_mean"] <= frame["pooled_ci_high"]).all()


def test_seven_lucky_queries_are_no_headline():
    labels = np.repeat(["law", "tax", "ferry", "dogs", "fish"], [60, 50, 40, 30, 7])
    rng = np.random.default_rng(2)
    scores = np.r_[(rng.random(180) < 0.7).astype(float), np.ones(7)]
    frame = run("a", {"exact_match": scores}, labels).slices("topic").frame.set_index("topic")
    assert frame.loc["fish", "mean"] == 1.0
    assert frame.loc["fish", "pooled_mean"] < 0.9


def test_a_metric_that_cannot_be_pooled_is_named(scores, topics):
    result = run("a", {"recall": scores, "exact_match": np.ones(100)}, topics).slices("topic")
    assert any(note.startswith("pooled_mean is the mean of a group ") for note in result.notes)
    assert any(note.startswith("exact_match: not pooled, because") for note in result.notes)
    assert "pooled_mean" in result.headline


def test_fewer_units_than_a_test_needs_are_not_pooled():
    means = [SliceMean(0.1 * i, 0.05, 2, 1.0, math.nan, math.nan) for i in range(4)]
    limits = (-1.0, 1.0)
    enough = pool_slices(means, confidence_level=0.95, limits=limits, fewest_units=8)
    too_few = pool_slices(means, confidence_level=0.95, limits=limits, fewest_units=9)
    assert enough.are_pooled
    assert not too_few.are_pooled
    assert np.isnan(too_few.low).all()


def test_the_whole_tables_have_pooled_columns_and_the_printed_ones_fit_100_columns(scores, topics):
    after = np.clip(scores + 0.05, 0, 1)
    a, b = run("a", {"recall": scores}, topics), run("b", {"recall": after}, topics)
    for result in (a.slices("topic"), compare(a, b).slices("topic")):
        text = str(result)
        # Neither the columns nor a note on columns that are not there.
        assert "pooled" not in text
        assert max(map(len, text.splitlines())) <= 100
        assert any("pooled" in note for note in result.notes)
        assert "pooled" in result.to_markdown()
        assert "pooled" in result.to_html()
