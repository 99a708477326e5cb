"""Reports, histories, gates and rankings of clustered queries.

Witnesses: `clustered_interval` (tested on its own), `compare` with clusters, simulation.
"""

from __future__ import annotations

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare, history, rank
from rageval_report.analysis.cluster_means import cluster_intervals
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.units import Units, clustered_interval

DOCUMENTS = np.repeat([f"d{i}" for i in range(12)], 8)


def run(name, seed, **more):
    rng = np.random.default_rng(seed)
    scores = np.repeat(rng.normal(0.6, 0.1, 12), 8) + rng.normal(0, 0.1, 96)
    return RAGPipelineEvaluation(
        name,
        {
            "query_id": [f"q{i}" for i in range(96)],
            "document": DOCUMENTS,
            "topic": ["law", "tax"] * 48,
            "faithfulness": scores.clip(0, 1),
            "exact_match": (scores > 0.6) * 1.0,
            "latency_ms": rng.uniform(100, 900, 96),
            **more,
        },
    )


OLD, NEW = run("old", 1), run("new", 2)


def test_the_intervals_of_a_report_count_clusters():
    frame = OLD.evaluation_report(clusters="document").frame.set_index("metric")
    for name in ("faithfulness", "exact_match"):
        witness = clustered_interval(OLD.scores[name], DOCUMENTS, bounds=(0, 1))
        assert (frame.loc[name, "ci_low"], frame.loc[name, "ci_high"]) == (
            witness.low,
            witness.high,
        )
    plain = OLD.evaluation_report().frame.set_index("metric")
    unchanged = ["n", "n_unscored", "mean", "std", "min", "p25", "p50", "p75", "max"]
    assert frame[unchanged].equals(plain[unchanged])
    width, narrow = (table["ci_high"] - table["ci_low"] for table in (frame, plain))
    assert width["faithfulness"] > 1.3 * narrow["faithfulness"]
    assert frame["n_clusters"].tolist() == [12, 12, 12]
    assert set(frame["ci_method"]) == {"cr2"}


def test_labels_by_query_and_a_column_are_the_same():
    labels = dict(zip(OLD.scores.index, DOCUMENTS, strict=True))
    by_label = OLD.evaluation_report(clusters=labels)
    assert by_label.frame.equals(OLD.evaluation_report(clusters="document").frame)
    assert by_label.settings["clusters"] == "given"


def test_unscored_queries_and_metrics_do_not_count():
    scores = np.where(np.arange(96) < 16, np.nan, OLD.scores["faithfulness"])
    half = run("half", 1, faithfulness=scores, exact_match=np.full(96, np.nan))
    frame = half.evaluation_report(clusters="document").frame.set_index("metric")
    assert frame.loc["faithfulness", "n_clusters"] == 10
    witness = clustered_interval(scores, DOCUMENTS, bounds=(0, 1))
    assert frame.loc["faithfulness", "ci_low"] == witness.low
    assert frame.loc["exact_match", "n_clusters"] == 0
    assert np.isnan(frame.loc["exact_match", "ci_low"])


def test_methods_for_independent_queries_are_refused():
    with pytest.raises(DataError, match='interval must be "auto" or "t" with clusters'):
        OLD.evaluation_report(clusters="document", interval="wilson")
    with pytest.raises(UnknownNameError, match="docment"):
        OLD.evaluation_report(clusters="docment")
    by_t = OLD.evaluation_report(clusters="document", interval="t").frame.iloc[0]
    witness = clustered_interval(OLD.scores["faithfulness"], DOCUMENTS)
    assert (by_t["ci_low"], by_t["ci_high"]) == (witness.low, witness.high)


def test_the_median_of_latency_has_no_interval():
    assert any("median 473, p95 873" in n for n in OLD.evaluation_report(clusters="document").notes)
    assert any("% CI" in note for note in OLD.evaluation_report().notes)


def test_slices_count_the_clusters_of_the_group():
    frame = OLD.slices("topic", "faithfulness", clusters="document").frame.set_index("topic")
    rows = OLD.details["topic"] == "law"
    witness = clustered_interval(OLD.scores["faithfulness"][rows], DOCUMENTS[rows], bounds=(0, 1))
    assert (frame.loc["law", "ci_low"], frame.loc["law", "n_clusters"]) == (witness.low, 12)


def test_a_report_page_counts_clusters_in_all_tables():
    page = OLD.report(clusters="document", pictures=False)
    assert page.sections[0].results[0].settings["clusters"] == "document"
    both = compare(OLD, NEW, clusters="document").report(pictures=False)
    means = next(section for section in both.sections if section.key == "pipelines").results
    assert [table.settings["clusters"] for table in means] == ["document"] * 2
    labels = dict(zip(OLD.scores.index, DOCUMENTS, strict=True))
    given = compare(OLD, NEW, clusters=labels).report(pictures=False)
    assert any("own means assume independent queries" in note for note in given.notes)


def test_a_history_tests_and_describes_clusters():
    result = history([OLD, NEW], clusters="document")
    rows = result.frame[result.frame["run"] == "new"].set_index("metric")
    compared = compare(OLD, NEW, clusters="document", correction="none").frame.set_index("metric")
    for ours, theirs in (("change", "difference"), ("change_pvalue", "pvalue")):
        assert rows[ours].to_dict() == pytest.approx(compared[theirs].to_dict())
    assert rows["change_ci_low"].to_dict() == pytest.approx(compared["ci_low"].to_dict())
    witness = clustered_interval(NEW.scores["faithfulness"], DOCUMENTS, bounds=(0, 1))
    assert rows.loc["faithfulness", "ci_low"] == witness.low
    assert result.settings["clusters"] == "document"
    assert "12 clusters" in result.sentences[0]
    hint = "96 queries come from 12 documents; if these are not independent"
    assert any(hint in note for note in history([OLD, NEW]).notes)
    assert not any(hint in note for note in result.notes)


def test_a_history_needs_the_column_in_every_run():
    other = RAGPipelineEvaluation("other", {"query_id": OLD.scores.index, "f1": [0.5, 0.6] * 48})
    with pytest.raises(UnknownNameError, match="document"):
        history([OLD, other], clusters="document")


def test_latency_in_clusters_has_an_interval_in_gates_and_rankings():
    witness = clustered_interval(OLD.scores["latency_ms"], DOCUMENTS)
    gates = OLD.gate("ci_high(mean(latency_ms)) <= 1000", clusters="document").frame.iloc[0]
    assert gates["ci_high"] == witness.high
    board = rank(OLD, NEW, metrics="latency_ms", clusters="document").frame.set_index("pipeline")
    assert board.loc["old", "ci_low"] == pytest.approx(witness.low)


def test_the_interval_covers_the_mean_of_clustered_scores_where_that_of_queries_does_not():
    rng, covered, naive = np.random.default_rng(5), 0, 0
    for seed in range(120):
        scores = np.repeat(rng.beta(6, 4, 20), 8) * 0.8 + rng.uniform(0, 0.2, 160)
        one = RAGPipelineEvaluation(
            str(seed), {"query_id": range(160), "document": np.repeat(range(20), 8), "f1": scores}
        )
        for count, clusters in ((True, "document"), (False, None)):
            row = one.evaluation_report(clusters=clusters).frame.iloc[0]
            holds = row["ci_low"] <= 0.8 * 0.6 + 0.1 <= row["ci_high"]
            covered, naive = covered + (count and holds), naive + (not count and holds)
    assert covered >= 108  # 95 % of 120 are 114; the error is 2.4
    assert naive <= 90


def test_cluster_intervals_stay_within_the_bounds():
    metric = OLD.metrics["exact_match"]
    nearly_all = np.r_[np.ones(95), 0.0]
    [interval] = cluster_intervals([metric], [nearly_all], Units.of(DOCUMENTS))
    assert 0.0 <= interval.low < interval.high <= 1.0
