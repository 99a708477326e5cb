"""Witnesses: means by pandas' groupby, Holm by hand, SciPy 1.17's false discovery rates."""

import itertools

import numpy as np
import pytest
from scipy.stats import false_discovery_control

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.slices import group_labels, slice_comparison, slice_summary
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import heterogeneity_test


def run(name, scores, topics):
    ids = [f"q{i}" for i in range(len(scores))]
    return RAGPipelineEvaluation(name, {"query_id": ids, "recall": scores, "topic": topics})


@pytest.fixture
def opposed():
    rng = np.random.default_rng(5)
    topics = ["law"] * 60 + ["tax"] * 30
    before = rng.beta(4, 4, 90)
    shift = np.r_[rng.normal(0.15, 0.05, 60), rng.normal(-0.12, 0.05, 30)]
    return run("a", before, topics), run("b", np.clip(before + shift, 0, 1), topics)


def test_each_group_has_its_own_mean_and_count(opposed):
    frame = slice_summary(opposed[0], "topic").frame.set_index("topic")
    expected = opposed[0].data.groupby("topic")["recall"].mean()
    assert frame["mean"].to_dict() == pytest.approx(expected.to_dict())
    assert frame["n"].to_dict() == {"law": 60, "tax": 30}


def test_the_largest_group_comes_first(opposed):
    assert slice_summary(opposed[0], "topic").frame["topic"].tolist() == ["law", "tax"]


def test_queries_without_a_group_keep_one_of_their_own():
    result = slice_summary(run("a", [0.1, 0.2, 0.3, 0.4], ["x", None, "x", "y"]), "topic")
    assert result.frame.set_index("topic")["n"].to_dict() == {"x": 2, "(none)": 1, "y": 1}
    assert "1 query has no topic" in result.notes


def test_groups_are_compared_pair_by_pair(opposed):
    a, b = opposed
    result = slice_comparison(compare(a, b), "topic")
    frame = result.frame.set_index("topic")
    differences = (b.scores["recall"] - a.scores["recall"]).groupby(a.details["topic"]).mean()
    assert frame["difference"].to_dict() == pytest.approx(differences.to_dict())
    raw = np.sort(frame["pvalue"])
    assert np.sort(frame["pvalue_adjusted"]) == pytest.approx(
        [min(1, 2 * raw[0]), max(2 * raw[0], raw[1])]
    )


def test_groups_that_are_shown_to_go_the_other_way_are_told_first(opposed):
    result = slice_comparison(compare(*opposed), "topic")
    assert result.frame["heterogeneity_pvalue"].iloc[0] < 1e-6
    assert result.frame["crossing_pvalue"].iloc[0] < 1e-6
    [sentence] = result.sentences
    assert sentence.startswith("where topic is tax, b is worse on recall by 0.1")
    assert "; over all queries it is +0." in sentence
    assert "and the other queries show the opposite: +0.1" in sentence


def test_groups_that_agree_have_no_verdict():
    rng = np.random.default_rng(5)
    topics = ["law", "tax"] * 40
    before = rng.beta(4, 4, 80)
    after = np.clip(before + rng.normal(0.1, 0.05, 80), 0, 1)
    result = slice_comparison(compare(run("a", before, topics), run("b", after, topics)), "topic")
    assert result.sentences == ()
    assert (result.frame["reversal_pvalue_adjusted"] == 1.0).all()


def test_a_column_that_is_not_there_is_told(opposed):
    with pytest.raises(UnknownNameError, match="Did you mean 'topic'"):
        opposed[0].slices("topics")


def test_a_column_of_all_different_values_has_no_groups():
    with pytest.raises(DataError, match="its own value"):
        run("a", [0.1, 0.2], ["x", "y"]).slices("topic")


def test_a_value_that_is_repeated_after_many_different_ones_is_found():
    topics = [f"t{i}" for i in range(1_200)]
    labels = group_labels(run("a", [0.5] * 1_201, [*topics, "t0"]), "topic")
    assert labels.tolist() == [*topics, "t0"]
    with pytest.raises(DataError, match="its own value"):
        group_labels(run("a", [0.5] * 1_200, topics), "topic")


def test_groups_of_many_metrics_stand_under_each_metric():
    ids = [f"q{i}" for i in range(4)]
    data = {"query_id": ids, "recall": [1, 0, 1, 1], "precision": [0.5, 1, 1, 0], "t": list("xxyy")}
    frame = RAGPipelineEvaluation("a", data).slices("t").frame
    assert frame["metric"].tolist() == ["recall", "recall", "precision", "precision"]


def test_a_column_named_like_one_of_the_report_keeps_the_report_whole():
    data = {"query_id": list("abcd"), "recall": [1, 0, 1, 1], "group": list("xxyy")}
    result = RAGPipelineEvaluation("a", data).slices("group")
    assert result.frame["group_slice"].tolist() == ["x", "y"]
    assert result.settings["by"] == "group_slice"


def test_slices_take_the_clusters_of_the_comparison():
    rng = np.random.default_rng(2)
    documents = np.repeat(np.arange(16), 5)
    before = rng.uniform(0.3, 0.6, 80)
    after = before + rng.normal(0, 0.15, 16)[documents] + rng.normal(0, 0.02, 80)
    topics = np.where(documents < 8, "law", "tax")
    a, b = run("a", before, topics), run("b", after, topics)
    clusters = {f"q{i}": document for i, document in enumerate(documents)}
    frame = compare(a, b, clusters=clusters).slices("topic").frame.set_index("topic")
    means = (after - before).reshape(16, 5).mean(axis=1)
    signs = np.array(list(itertools.product([1, -1], repeat=8)))
    for topic, of_topic in (("law", means[:8]), ("tax", means[8:])):
        share = np.mean(np.abs(signs @ of_topic) >= abs(of_topic.sum()) * (1 - 1e-9))
        assert frame.loc[topic, "pvalue"] == pytest.approx(share)
        assert frame.loc[topic, "n_clusters"] == 8
    # Clusters of one size weigh alike: Welch's test is that of their means.
    expected = heterogeneity_test([means[:8], means[8:]]).pvalue
    assert frame["heterogeneity_pvalue"].iloc[0] == pytest.approx(expected)


def test_a_metric_that_only_one_group_has_in_both_runs_is_not_tested_between_groups():
    topics = ["law"] * 6 + ["tax"] * 3
    before, after = [0.1, 0.3, 0.2, 0.5, 0.4, 0.6, None, None, None], [0.2] * 9
    frame = compare(run("a", before, topics), run("b", after, topics)).slices("topic").frame
    assert frame["n"].tolist() == [6, 0]
    assert frame["heterogeneity_pvalue"].isna().all()
    assert frame["crossing_pvalue"].isna().all()


def test_a_small_group_has_estimates_and_no_test():
    topics = ["law"] * 6 + ["tax"] * 3
    before, after = np.linspace(0.1, 0.5, 9), np.linspace(0.3, 0.9, 9)
    frame = compare(run("a", before, topics), run("b", after, topics)).slices("topic").frame
    law, tax = frame.iloc[0], frame.iloc[1]
    assert tax[["pvalue", "pvalue_adjusted", "ci_low", "ci_high"]].isna().all()
    assert tax["difference"] == pytest.approx(np.mean((after - before)[6:]))
    assert law["pvalue_adjusted"] == law["pvalue"]  # one test, so nothing to correct


def test_a_cluster_with_queries_in_several_groups_is_noted():
    topics = ["law", "tax"] * 8
    a, b = run("a", np.linspace(0.1, 0.5, 16), topics), run("b", np.linspace(0.3, 0.4, 16), topics)
    across = compare(a, b, clusters={f"q{i}": i // 4 for i in range(16)}).slices("topic")
    assert any("4 of 4 clusters have queries in several groups of topic" in n for n in across.notes)
    within = compare(a, b, clusters={f"q{i}": i % 8 for i in range(16)}).slices("topic")
    assert not any("clusters have queries in several" in note for note in within.notes)
    assert not any("clusters" in note for note in compare(a, b).slices("topic").notes)


# -- false discovery rates


def twelve_topics(n_true=6):
    rng = np.random.default_rng(8)
    topics = np.repeat([f"t{i}" for i in range(12)], 10)
    before = rng.uniform(0.3, 0.6, 120)
    shift = np.repeat([0.08] * n_true + [0.0] * (12 - n_true), 10)
    return run("a", before, topics), run("b", before + shift + rng.normal(0, 0.07, 120), topics)


@pytest.mark.parametrize("correction", ["bh", "by"])
def test_the_false_discovery_rate_over_slices_is_that_of_scipy(correction):
    frame = compare(*twelve_topics()).slices("topic", correction=correction).frame
    expected = false_discovery_control(frame["pvalue"], method=correction)
    np.testing.assert_allclose(frame["pvalue_adjusted"], expected)


def test_a_false_discovery_rate_says_how_many_findings_may_be_noise():
    result = compare(*twelve_topics()).slices("topic", correction="bh")
    n_shown = int((result.frame["pvalue_adjusted"] <= 0.05).sum())
    assert n_shown >= 3
    [note] = [note for note in result.notes if "may be noise" in note]
    assert note.startswith(
        f"of the {n_shown} slices that differ here, about one in 20 may be noise"
    )
    assert "groups without common queries" in note
    at_90 = compare(*twelve_topics(), confidence_level=0.9).slices("topic", correction="by")
    assert any("about one in 10 may be noise" in note for note in at_90.notes)


@pytest.mark.parametrize(("n_true", "correction"), [(0, "bh"), (6, "holm"), (6, "none")])
def test_no_such_note_without_a_finding_or_with_another_correction(n_true, correction):
    result = compare(*twelve_topics(n_true)).slices("topic", correction=correction)
    assert not any("may be noise" in note for note in result.notes)


def test_an_unknown_correction_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"Known: .*bh.*by.*holm"):
        compare(*twelve_topics()).slices("topic", correction="fdr")
