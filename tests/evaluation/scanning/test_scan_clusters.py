"""Clusters move the numbers of scans as those of the same tables in memory.

The second witness is `rageval_report.stats.clusters` on the scores in memory, which has its own
tests against statsmodels and published tables.
"""

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, compare, history, rank
from rageval_report.errors import DataError
from rageval_report.stats import clustered_standard_error
from rageval_report.stats.states import label_counts
from rageval_report.stats.states.cluster_sums import ClusterSums
from rageval_report.stats.states.label_counts import LabelCounts
from tests.evaluation.scanning.conftest import scores_frame, write_parquet
from tests.evaluation.scanning.test_scan_properties import (
    COMPARED,
    LIMITS,
    assert_equal_rows,
    check_with_tables,
)

# What is computed from the errors of groups.
POOLED = [*LIMITS, "pooled_mean", "pooled_ci_low", "pooled_ci_high", "shrinkage"]
POOLED_DIFFERENCES = [
    *("pooled_difference", "pooled_ci_low", "pooled_ci_high", "shrinkage"),
    *("heterogeneity_pvalue", "crossing_pvalue", "reversal_pvalue_adjusted"),
]


@check_with_tables
def test_reports_by_clusters_are_those_of_memory(tables):
    for options in ({}, {"interval": "t", "confidence_level": 0.9}):
        found, expected = (
            each.evaluation_report(clusters="batch", **options)
            for each in (tables.scans[0], tables.memory[0])
        )
        assert found.notes == expected.notes
        assert found.headline == expected.headline
        assert {**found.settings, "engine": 0} == {**expected.settings, "engine": 0}
        assert_equal_rows(found.frame, expected.frame, LIMITS)
        pd.testing.assert_frame_equal(found.frame, expected.frame, rtol=1e-12, atol=1e-12)


@check_with_tables
def test_slices_by_clusters_are_those_of_memory(tables):
    found, expected = (
        each.slices("area", clusters="batch") for each in (tables.scans[0], tables.memory[0])
    )
    assert found.notes == expected.notes
    assert any("clusters have queries in several groups" in note for note in found.notes)
    assert found.headline == expected.headline
    assert_equal_rows(found.frame, expected.frame, POOLED)


@check_with_tables
def test_compared_slices_by_clusters_are_those_of_memory(tables):
    found, expected = (
        compare(*runs, clusters="batch").slices("area", "recall@5")
        for runs in (tables.scans[:2], tables.memory[:2])
    )
    assert found.notes == expected.notes
    searched = [name for name in COMPARED if name in expected.frame]
    assert_equal_rows(found.frame, expected.frame, [*searched, *POOLED_DIFFERENCES])


RULES = [
    *("mean(recall@5) >= 0.5", "ci_low(mean(exact_match)) >= 0.1", "mean(latency_ms) <= 900"),
    *("share_below(recall@5, 0.5) <= 0.4", "ci_high(share_above(latency_ms, 500)) <= 0.9"),
    *("unscored(recall@5) <= 0.2", "ci_high(unscored(similarity)) <= 0.5", "n(recall@5) >= 5"),
    *("median(recall@5) >= 0.2", "max(recall@5) >= 0.2", "std(recall@5) <= 0.9"),
    "correct >= 0.3",
]
NUMBERS = ["value", "ci_low", "ci_high"]


def assert_same_gates(found, expected):
    assert found.notes == expected.notes
    assert found.sentences == expected.sentences
    assert {**found.settings, "engine": 0} == {**expected.settings, "engine": 0}
    others = [name for name in expected.frame if name not in NUMBERS]
    pd.testing.assert_frame_equal(
        found.frame[others], expected.frame[others], rtol=1e-9, atol=1e-12
    )
    pd.testing.assert_frame_equal(
        found.frame[NUMBERS], expected.frame[NUMBERS], rtol=1e-12, atol=1e-12
    )
    rules = expected.frame["rule"]
    is_exact = rules.str.contains("recall|exact|correct") & ~rules.str.startswith("ci_")
    values = [each.frame.loc[is_exact, "value"].tolist() for each in (found, expected)]
    np.testing.assert_array_equal(*values)


@check_with_tables
def test_gates_by_clusters_are_those_of_memory(tables):
    for options, rules in (({}, RULES), ({"missing": "worst"}, [RULES[0], RULES[3], *RULES[5:6]])):
        assert_same_gates(
            *(
                each.gate(*rules, clusters="batch", correct=("recall@5", 0.5), **options)
                for each in (tables.scans[0], tables.memory[0])
            )
        )


PAIR_RULES = ("no_regression(recall@5, margin=0.3)", "ci_low(difference(similarity)) >= -1")


@check_with_tables
def test_gates_of_a_comparison_by_clusters_are_those_of_memory(tables):
    assert_same_gates(
        *(
            compare(*runs, clusters="batch").gate(
                *RULES, *PAIR_RULES, "losses(recall@5) <= 9", correct=("recall@5", 0.5)
            )
            for runs in (tables.scans[:2], tables.memory[:2])
        )
    )


@check_with_tables
def test_histories_by_clusters_are_those_of_memory(tables):
    found, expected = (history(runs, clusters="batch") for runs in (tables.scans, tables.memory))
    assert found.notes == expected.notes
    searched = [name for name in (*COMPARED, "change_ci_low") if name in expected.frame]
    numbers = [name for name in expected.frame if expected.frame[name].dtype.kind == "f"]
    assert_equal_rows(found.frame, expected.frame, list(dict.fromkeys((*searched, *numbers))))
    means = ["metric", "mean", "n"]
    assert_equal_rows(found.frame[means], expected.frame[means])


@check_with_tables
def test_signs_of_clusters_in_rankings_are_those_of_any_division(tables):
    options = {"clusters": "batch", "correction": "westfall-young", "n_resamples": 199}
    columns = ["metric", "pvalue", "pvalue_adjusted"]
    found, expected = (rank(*scans, **options) for scans in (tables.scans, tables.whole))
    assert_equal_rows(*(each.pairs.frame[columns] for each in (found, expected)))
    assert found.notes == expected.notes


@check_with_tables
def test_labels_by_query_are_those_of_a_column(tables):
    labels = {
        query: batch
        for frame in tables.frames
        for query, batch in zip(frame["query_id"], frame["batch"], strict=True)
    }
    scan = tables.scans[0]
    by_column = scan.evaluation_report(clusters="batch")
    for clusters in (labels, pd.Series(labels)):
        by_label = scan.evaluation_report(clusters=clusters)
        pd.testing.assert_frame_equal(by_label.frame, by_column.frame, check_exact=True)
        assert by_label.settings["clusters"] == "given"
    compared = [compare(*tables.scans[:2], clusters=each) for each in (labels, "batch")]
    # DuckDB gives joined rows in any order, so that last digits of continuous scores may differ.
    if compared[0].settings["engine"] == "duckdb":
        assert_equal_rows(*(each.frame for each in compared), COMPARED)
    else:
        pd.testing.assert_frame_equal(*(each.frame for each in compared), check_exact=True)
    pd.testing.assert_frame_equal(
        rank(*tables.scans, metrics="recall@5", clusters=labels).frame,
        rank(*tables.scans, metrics="recall@5", clusters="batch").frame,
        check_exact=True,
    )


def test_labels_that_make_no_sense_are_refused(tmp_path):
    scan = RAGPipelineEvaluation.scan(write_parquet(scores_frame(), tmp_path / "a.parquet"))
    with pytest.raises(DataError, match=r"must have a label for every query; 'q00001', .* more"):
        scan.evaluation_report(clusters={"q00000": "a"})
    with pytest.raises(DataError, match="must have one label per query; 'q00000' have several"):
        scan.slices("topic", clusters=pd.Series(["a", "b"], index=["q00000", "q00000"]))
    with pytest.raises(DataError, match=r'interval must be "auto" or "t" with .*\'bca\''):
        scan.evaluation_report(clusters="topic", interval="bca")


def test_large_scores_keep_the_digits_of_their_spread():
    rng = np.random.default_rng(2)
    scores, clusters = 1e8 + rng.normal(0, 1e-3, 600), rng.integers(0, 50, 600)
    keys = clusters.astype(np.uint64)
    centre = float(np.median(scores))
    sums = ClusterSums.of(keys[:200], scores[:200] - centre)
    sums = sums + ClusterSums.of(keys[200:], scores[200:] - centre)
    found = sums.error(float(scores.mean()), float(scores.std(ddof=1)), centre=centre)
    expected = clustered_standard_error(scores, clusters)
    # A score itself is known to 1.5e-8, beside a spread of 1e-3.
    assert found.standard_error == pytest.approx(expected.standard_error, rel=1e-4)
    assert (found.df, found.n_clusters) == (pytest.approx(expected.df), expected.n_clusters)


# -- clusters that nobody named


def with_documents(frame, n_documents=40, column="document_id"):
    number = frame["query_id"].str[1:].astype(int)
    return frame.assign(**{column: [f"doc {n}" for n in number % n_documents]})


HINT = "698 queries come from 40 documents; if these are not independent, pass clusters='{}'"


@pytest.fixture
def documented(tmp_path):
    """Two tables by documents, in memory and as scans of shuffled parts."""
    frames = [
        with_documents(scores_frame(seed=seed)).drop(index=[place, 500])
        for place, seed in enumerate((0, 1))
    ]
    memory = [RAGPipelineEvaluation(name, f) for name, f in zip("ab", frames, strict=True)]
    for frame, name in zip(frames, "ab", strict=True):
        rows = frame.sample(frac=1, random_state=3)
        write_parquet(rows.iloc[:250], tmp_path / name / "first.parquet")
        write_parquet(rows.iloc[250:], tmp_path / name / "second.parquet")
    return memory, [RAGPipelineEvaluation.scan(tmp_path / name, name=name) for name in "ab"]


def test_clusters_that_nobody_named_are_pointed_to(documented):
    rule = "mean(recall@5) >= 0.5"
    for call in (
        lambda runs: runs[0].evaluation_report(),
        lambda runs: runs[0].gate(rule),
        lambda runs: compare(*runs),
        lambda runs: compare(*runs).gate(rule),
        lambda runs: history(runs),
        lambda runs: rank(*runs),
    ):
        expected, found = map(call, documented)
        assert HINT.format("document_id") in found.notes
        assert found.notes == expected.notes


def test_named_clusters_need_no_hint(documented):
    for call in (
        lambda runs: runs[0].evaluation_report(clusters="document_id"),
        lambda runs: runs[0].gate("n(recall@5) > 0", clusters="document_id"),
        lambda runs: compare(*runs, clusters="document_id"),
        lambda runs: rank(*runs, clusters="document_id"),
    ):
        expected, found = map(call, documented)
        assert found.notes == expected.notes
        assert not any("pass clusters" in note for note in found.notes)


@pytest.mark.parametrize(
    "labels",
    [
        lambda n: np.arange(n),  # each its own
        lambda n: np.arange(n) % 3,  # too few
        lambda n: np.where(np.arange(n) % 2, np.arange(n) % 40, np.nan),  # half of them
        lambda n: [["a", "b"][: number % 3] or None for number in range(n)],  # lists
        lambda n: [[str(number % 9)] for number in range(n)],
        lambda n: pd.Categorical([f"d{number % 30}" for number in range(n)]),
        lambda n: [None] * n,
    ],
)
def test_a_hint_is_that_of_memory_for_labels_of_any_kind(tmp_path, labels):
    frame = scores_frame().assign(conversation=labels(700))
    path = write_parquet(frame, tmp_path / "a.parquet")
    expected = RAGPipelineEvaluation.load("a", path).evaluation_report()
    assert RAGPipelineEvaluation.scan(path).evaluation_report().notes == expected.notes


def test_a_hint_on_a_csv_file_is_that_of_memory(tmp_path):
    frame = with_documents(scores_frame(), column="document")
    frame.loc[::7, "document"] = None
    frame.to_csv(tmp_path / "a.csv", index=False)
    expected = RAGPipelineEvaluation.load("a", tmp_path / "a.csv").evaluation_report()
    found = RAGPipelineEvaluation.scan(tmp_path / "a.csv").evaluation_report()
    assert any("600 queries come from 40 documents" in note for note in found.notes)
    assert found.notes == expected.notes


def test_very_many_labels_are_counted_by_a_sample(monkeypatch):
    monkeypatch.setattr(label_counts, "_MOST_LABELS", 1000)
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2**64, 20_000, dtype=np.uint64)
    rows = rng.permutation(np.repeat(labels, 3))

    def counts_of(parts):
        return sum(
            (LabelCounts.of(part, np.ones(part.size, int)) for part in parts[1:]),
            LabelCounts.of(parts[0], np.ones(parts[0].size, int)),
        )

    few, many = counts_of(np.array_split(rows, 3)), counts_of(np.array_split(rows[::-1], 40))
    # One sample, however the rows were divided.
    np.testing.assert_array_equal(few.keys, many.keys)
    np.testing.assert_array_equal(few.counts, many.counts)
    assert (few.n, few.level, few.n_labels) == (60_000, 5, many.n_labels)
    assert set(few.counts.tolist()) == {3}
    # A binomial sample of one in 32 labels.
    assert few.n_labels == pytest.approx(20_000, abs=4 * 32 * np.sqrt(20_000 / 32))
