"""Witnesses: pandas' groupby, Holm by hand, SciPy 1.17's false discovery rates, a slice alone."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import false_discovery_control

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.stats import heterogeneity_test


def run(name, scores, topics, **columns):
    ids = [f"q{i}" for i in range(len(scores))]
    data = {"query_id": ids, "recall": scores, "topic": topics, **columns}
    return RAGPipelineEvaluation(name, data)


def by_topic(result):
    return result.frame.set_index("topic")


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


def test_a_group_that_is_shown_to_go_the_other_way_has_a_sentence(opposed):
    found = compare(*opposed).slices("topic")
    assert found.reversals["topic"].tolist() == ["tax"]
    overall = (opposed[1].scores["recall"] - opposed[0].scores["recall"]).mean()
    assert found.sentences[0].endswith(f"over all queries it is {overall:+.3f}")


def test_groups_are_compared_pair_by_pair_and_corrected_by_holm(opposed):
    a, b = opposed
    frame = by_topic(compare(a, b).slices("topic"))
    differences = (b.scores["recall"] - a.scores["recall"]).groupby(a.details["topic"]).mean()
    assert frame["difference"].to_dict() == pytest.approx(differences.to_dict())
    raw = np.sort(frame["pvalue"])
    expected = [min(1, 2 * raw[0]), max(2 * raw[0], raw[1])]
    assert np.sort(frame["pvalue_adjusted"]) == pytest.approx(expected)


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
