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
from rageval_report.errors import DataError, UnknownNameError
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


def test_equally_large_groups_stand_in_the_order_of_their_names():
    # Not of the rows: shuffled rows give the same table, and so does a scan in any order.
    frame = run("a", np.arange(6) / 6, list("zamamz")).slices("topic").frame
    assert frame["topic"].tolist() == ["a", "m", "z"]


def test_queries_without_a_group_keep_one_of_their_own():
    result = run("a", [0.1, 0.2, 0.3, 0.4], ["x", None, "x", "y"]).slices("topic")
    assert by_topic(result)["n"].to_dict() == {"x": 2, "(none)": 1, "y": 1}
    assert "1 query has no topic" in result.notes


def test_a_column_without_groups_or_that_is_not_there_is_an_error(opposed):
    with pytest.raises(UnknownNameError, match="Did you mean 'topic'"):
        opposed[0].slices("topics")
    topics = [f"t{i}" for i in range(1_200)]
    with pytest.raises(DataError, match="its own value"):
        run("a", [0.5] * 1_200, topics).slices("topic")
    # A value that is repeated after many different ones is found.
    repeated = run("a", [0.5] * 1_201, [*topics, "t0"]).slices("topic").frame
    assert repeated["n"].tolist()[:2] == [2, 1]


def test_groups_of_many_metrics_stand_under_each_metric():
    frame = run("a", [1, 0, 1, 1], list("xxyy"), precision=[0.5, 1, 1, 0]).slices("topic").frame
    assert frame["metric"].tolist() == ["recall", "recall", "precision", "precision"]


def test_a_column_named_like_one_of_the_report_keeps_the_report_whole():
    result = run("a", [1, 0, 1, 1], list("xxyy"), group=list("xxyy")).slices("group")
    assert result.frame["group_slice"].tolist() == ["x", "y"]
    assert result.settings["by"] == "group_slice"


# -- two pipelines


def test_groups_are_compared_pair_by_pair_and_corrected_by_holm(opposed):
    a, b = opposed
    frame = by_topic(compare(a, b).slices("topic"))
    differences = (b.scores["recall"] - a.scores["recall"]).groupby(a.details["topic"]).mean()
    assert frame["difference"].to_dict() == pytest.approx(differences.to_dict())
    raw = np.sort(frame["pvalue"])
    expected = [min(1, 2 * raw[0]), max(2 * raw[0], raw[1])]
    assert np.sort(frame["pvalue_adjusted"]) == pytest.approx(expected)


def test_groups_that_are_shown_to_go_the_other_way_are_named_first(opposed):
    result = compare(*opposed).slices("topic")
    assert (result.frame[["heterogeneity_pvalue", "crossing_pvalue"]] < 1e-6).all(axis=None)
    [sentence] = result.sentences
    assert sentence.startswith("where topic is tax, b is worse on recall by 0.1")
    assert "; over all queries it is +0." in sentence
    assert "and the other queries show the opposite: +0.1" in sentence


def test_groups_that_agree_have_no_sentence():
    rng = np.random.default_rng(5)
    before, change, topics = rng.beta(4, 4, 80), rng.normal(0.1, 0.05, 80), ["law", "tax"] * 40
    after = np.clip(before + change, 0, 1)
    result = compare(run("a", before, topics), run("b", after, topics)).slices("topic")
    assert result.sentences == ()
    assert (result.frame["reversal_pvalue_adjusted"] == 1.0).all()


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


def test_large_groups_are_counted_with_the_same_numbers():
    """Two groups of more than 4,096 queries, in which ratings move in opposite directions."""
    rng = np.random.default_rng(0)
    n = 10_000
    topics = np.where(np.arange(n) < 4_600, "law", "tax")
    rating = rng.integers(2, 5, n).astype(float)
    moved = rating + np.where(topics == "tax", 1, -1) * (rng.random(n) < 0.1)
    order, ids = rng.permutation(n), np.array([f"q{i}" for i in range(n)])
    before = {"query_id": ids, "topic": topics, "rating": rating}
    after = {"query_id": ids[order], "rating": moved[order]}
    runs = RAGPipelineEvaluation("a", before), RAGPipelineEvaluation("b", after)
    result = compare(*runs).slices("topic")
    table = by_topic(result)
    same = ["n", "baseline_mean", "candidate_mean", "difference", "pvalue", "ci_low", "ci_high"]
    for topic in ("law", "tax"):
        chosen = ids[topics == topic]
        alone = compare(
            *(RAGPipelineEvaluation(r.name, r.scores.loc[chosen].reset_index()) for r in runs)
        ).frame.iloc[0]
        for name in [*same, "wins", "ties", "losses"]:
            assert table.loc[topic, name] == alone[name], (topic, name)
    # One group gains as surely as the other loses: the smaller effect goes against all queries.
    assert table["verdict"].to_dict() == {"tax": "better", "law": "worse"}
    assert table.loc["law", "reversal_pvalue_adjusted"] < 1e-10
    [sentence] = result.sentences
    assert sentence.startswith("where topic is law, b is worse on rating by ")


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


def test_a_group_of_few_or_unscored_queries_has_estimates_and_no_test():
    topics = ["law"] * 6 + ["tax"] * 3
    before, change = np.linspace(0.1, 0.5, 9), np.linspace(0.2, 0.4, 9)
    frame = shifted(before, change, topics)
    assert frame.loc["tax", ["pvalue", "pvalue_adjusted", "ci_low", "ci_high"]].isna().all()
    assert frame.loc["tax", "difference"] == pytest.approx(change[6:].mean())
    # One test, so nothing to correct.
    assert frame.loc["law", "pvalue_adjusted"] == frame.loc["law", "pvalue"]
    unscored = shifted(np.where(np.arange(9) < 6, before, np.nan), change, topics)
    assert unscored["n"].tolist() == [6, 0]
    assert unscored[["heterogeneity_pvalue", "crossing_pvalue"]].isna().all(axis=None)


# -- groups that the runs disagree about, in memory and in a scan


def topic_notes(before, after, tmp_path):
    pytest.importorskip("pyarrow")
    in_memory, scans = [], []
    for name, side in (("a", before), ("b", after)):
        in_memory.append(RAGPipelineEvaluation(name, side, metrics=["recall@5"]))
        path = tmp_path / f"{name}.parquet"
        side.to_parquet(path, index=False, row_group_size=5)
        scans.append(RAGPipelineEvaluation.scan(path, name=name, metrics=["recall@5"]))
    ours, theirs = (compare(*pair).slices("topic").notes for pair in (in_memory, scans))
    assert ours == theirs
    return [note for note in ours if "differs" in note]


def table_of(topics):
    ids = [f"q{i:02d}" for i in range(12)]
    return pd.DataFrame({"query_id": ids, "recall@5": np.arange(12) / 12, "topic": topics})


def test_the_queries_of_other_groups_are_counted(tmp_path):
    after = table_of(["law", "tax"] * 4 + ["tax", "law"] * 2)
    assert topic_notes(table_of(["law", "tax"] * 6), after, tmp_path) == [
        "topic of 4 of 12 common queries differs between 'a' and 'b'; groups are those of 'a'"
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (table_of(["law", "tax"] * 6), table_of(["law", "tax"] * 6).iloc[::-1]),
        (table_of(["law", "tax"] * 6), table_of(["law", None] * 6)),
        (table_of(["law", "tax"] * 6), table_of(["law", None] * 6).drop(columns="topic")),
        # A missing cell makes floats of the column.
        (table_of([1, 2] * 6), table_of([1.0, 2.0] * 5 + [np.nan, 2.0])),
    ],
)
def test_equal_and_missing_groups_need_no_note(before, after, tmp_path):
    assert topic_notes(before, after, tmp_path) == []


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


@pytest.mark.parametrize(("n_true", "correction"), [(0, "bh"), (6, "holm"), (6, "none")])
def test_no_such_note_without_a_finding_or_with_another_correction(n_true, correction):
    result = compare(*twelve_topics(n_true)).slices("topic", correction=correction)
    assert not any("may be noise" in note for note in result.notes)


def test_an_unknown_correction_lists_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"Known: .*bh.*by.*holm"):
        compare(*twelve_topics()).slices("topic", correction="fdr")


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


def test_clusters_of_one_size_are_pooled_by_their_means():
    rng = np.random.default_rng(4)
    groups, documents = np.repeat(list("vwxyz"), 20), np.repeat(np.arange(25), 4)
    before = (rng.uniform(0.4, 0.6, 25)[documents] + rng.normal(0, 0.03, 100)).clip(0, 1)
    after = before + rng.normal(0, 0.1, 25)[documents] + rng.normal(0, 0.03, 100)
    clusters = {f"q{i}": f"d{document}" for i, document in enumerate(documents)}
    a, b = run("a", before, groups), run("b", after, groups)
    of_document = np.repeat(list("vwxyz"), 5)
    by_document = (after - before).reshape(25, 4).mean(axis=1)
    compared = by_topic(compare(a, b, clusters=clusters).slices("topic"))
    agrees(compared, "difference", *pooled_by_hand(by_document, of_document))
    result = a.slices("topic", clusters=clusters)
    by_document = before.reshape(25, 4).mean(axis=1)
    agrees(by_topic(result), "mean", *pooled_by_hand(by_document, of_document))
    assert max(map(len, str(result).splitlines())) <= 100
    assert not any("clusters have queries in several" in note for note in result.notes)
    across = {f"q{i}": f"d{i % 10}" for i in range(100)}
    notes = a.slices("topic", clusters=across).notes
    assert any("10 of 10 clusters have queries in several groups" in note for note in notes)


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


def test_fewer_queries_than_a_test_needs_are_not_pooled():
    change = np.array([0.1, 0.2, -0.1, 0.3, 0.0, 0.2])
    for n, is_pooled in ((6, True), (5, False)):
        frame = shifted(np.full(n, 0.4), change[:n], list("aabcdd")[:n])
        assert (frame["shrinkage"] > 0).all() == is_pooled


def test_an_unscored_group_stays_unscored_and_does_not_count(scores, topics):
    values = np.where(topics == "fish", np.nan, scores)
    frame = by_topic(run("a", values, topics).slices("topic"))
    assert frame.loc["fish", ["pooled_mean", *POOLED, "shrinkage"]].isna().all()
    without = run("a", scores[:97], topics[:97]).slices("topic").frame
    np.testing.assert_allclose(frame["pooled_mean"].dropna(), without["pooled_mean"], rtol=1e-12)


def test_a_group_of_one_query_borrows_the_spread_of_the_others(scores, topics):
    labels = np.where(np.arange(topics.size) == 99, "single", topics)
    frame = by_topic(run("a", scores, labels).slices("topic"))
    single = frame.loc["single"]
    assert single["n"] == 1
    assert np.isfinite(single[["pooled_mean", *POOLED]].to_numpy(float)).all()
    assert single["shrinkage"] == frame["shrinkage"].max()


def test_groups_without_any_spread_are_not_pooled_and_named(scores, topics):
    labels = np.repeat(list("abcd"), 5)
    perfect = run("a", np.ones(20), labels).slices("topic").frame
    np.testing.assert_array_equal(perfect["pooled_mean"], 1.0)
    assert (perfect["pooled_ci_low"] < 1).all()  # not an interval of zero width
    constant = np.repeat([0.1, 0.3, 0.3 - 0.2 + 0.2, 0.7], 5)
    frame = run("a", constant, labels).slices("topic").frame
    np.testing.assert_array_equal(frame["pooled_mean"], frame["mean"])
    result = run("a", scores, topics, exact_match=np.ones(100)).slices("topic")
    assert any(note.startswith("pooled_mean is the mean of a group ") for note in result.notes)
    assert any(note.startswith("exact_match: not pooled, because") for note in result.notes)


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


def test_seven_lucky_queries_are_no_headline():
    labels = np.repeat(["law", "tax", "ferry", "dogs", "fish"], [60, 50, 40, 30, 7])
    scores = np.r_[(np.random.default_rng(2).random(180) < 0.7).astype(float), np.ones(7)]
    fish = by_topic(run("a", scores, labels).slices("topic")).loc["fish"]
    assert fish["mean"] == 1.0
    assert fish["pooled_mean"] < 0.9


def test_the_whole_tables_have_pooled_columns_and_the_printed_ones_fit_100_columns(scores, topics):
    a, b = run("a", scores, topics), run("b", np.clip(scores + 0.05, 0, 1), topics)
    for result in (a.slices("topic"), compare(a, b).slices("topic")):
        text = str(result)
        # Neither the columns nor a note on columns that are not there.
        assert "pooled" not in text
        assert max(map(len, text.splitlines())) <= 100
        assert any("pooled" in note for note in result.notes)
        assert "pooled" in result.to_markdown()
        assert "pooled" in result.to_html()
