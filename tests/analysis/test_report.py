"""Witnesses: the worked figures of the proposal, NumPy, pandas, clustered_interval, by hand."""

from __future__ import annotations

import io
import statistics

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation, compare, history, rank
from rageval_report.analysis.report import (
    aggregated_scores,
    evaluation_report,
    interval_of_clusters,
    summarise,
)
from rageval_report.analysis.slices import slice_summary
from rageval_report.errors import DataError, UnknownNameError, UnknownOptionError
from rageval_report.stats.units import clustered_interval, clustered_standard_error


def evaluated(**columns):
    n = len(next(iter(columns.values())))
    return RAGPipelineEvaluation("a", {"query_id": [f"q{i}" for i in range(n)], **columns})


def test_the_proposals_means_stand_under_its_titles(proposal):
    report = evaluation_report(proposal)
    assert dict(report) == pytest.approx(
        {
            "Reciprocal Rank": 0.476932,
            "Single Hit": 0.75,
            "Multi Hit": 0.46428375,
            "Context Relevance": 0.58177975,
            "Faithfulness": 0.40585375,
            "Semantic Answer Similarity": 0.53757075,
            "Exact Match": 0.25,
            "nr_correct_queries": 1,
            "nr_incorrect_queries": 3,
        }
    )


def test_a_query_without_the_deciding_score_is_counted_apart():
    report = evaluation_report(evaluated(exact_match=[1, 0, None]))
    counts = {key: report[key] for key in report if key.startswith("nr_")}
    assert counts == {
        "nr_correct_queries": 1,
        "nr_incorrect_queries": 1,
        "nr_unscored_queries": 1,
    }


def test_unscored_queries_are_counted_not_averaged():
    row = summarise(evaluated(faithfulness=[0.2, None, 0.6])).frame.iloc[0]
    assert (row["n"], row["n_unscored"]) == (2, 1)
    assert row["mean"] == pytest.approx(0.4)


def test_spread_and_quartiles_are_those_of_pandas_and_statistics():
    values = [0.1, 0.4, 0.4, 0.9, 1.0]
    row = summarise(evaluated(faithfulness=values)).frame.iloc[0]
    described = pd.Series(values).describe()
    assert row[["min", "p25", "p50", "p75", "max"]].tolist() == pytest.approx(
        described[["min", "25%", "50%", "75%", "max"]].tolist()
    )
    assert row["std"] == pytest.approx(statistics.stdev(values))


def test_the_kind_of_a_metric_chooses_its_interval():
    frame = summarise(
        evaluated(
            exact_match=[1, 0, 1, 1], faithfulness=[0.2, 0.7, 0.9, 0.4], latency_ms=[12, 900, 30, 5]
        )
    ).frame
    assert dict(zip(frame["metric"], frame["ci_method"], strict=True)) == {
        "exact_match": "clopper-pearson",
        "faithfulness": "gaffke",
        "latency_ms": "studentised",
    }


def test_a_proportion_that_is_always_0_or_1_is_a_proportion_all_the_same():
    frame = summarise(evaluated(faithfulness=[1, 1, 0, 1], exact_match=[1, 1, 0, 1])).frame
    assert frame["ci_method"].tolist() == ["gaffke", "clopper-pearson"]
    exact = scipy.stats.binomtest(3, 4).proportion_ci(0.95, method="exact")  # scipy 1.17.1
    for _, row in frame.iterrows():
        assert (row["ci_low"], row["ci_high"]) == pytest.approx((exact.low, exact.high), rel=1e-9)


def test_formal_bounds_do_not_make_an_interval_wide_but_percent_is_a_share():
    similar = [0.61, 0.66, 0.58, 0.63, 0.7, 0.64]
    percent = [61.0, 66.0, 58.0, 63.0, 70.0, 64.0]
    frame = summarise(evaluated(sas=similar, faithfulness=percent, recall=similar)).frame
    methods = dict(zip(frame["metric"], frame["ci_method"], strict=True))
    assert methods == {"recall": "gaffke", "sas": "studentised", "faithfulness": "gaffke"}
    shares = frame.set_index("metric")[["ci_low", "ci_high"]]
    assert shares.loc["faithfulness"].tolist() == pytest.approx(
        (100 * shares.loc["recall"]).tolist(), rel=1e-9
    )


def test_groups_stand_together_in_the_order_of_the_catalogue():
    frame = summarise(evaluated(latency_ms=[1.5, 2], faithfulness=[1, 0.5], recall=[1, 0.5])).frame
    assert frame["group"].tolist() == ["retrieval", "generation", "performance"]


def test_a_metric_with_nothing_scored_keeps_its_row():
    row = summarise(evaluated(recall=[0.5, 1], faithfulness=[None, None])).frame.set_index("metric")
    assert row.loc["faithfulness", "n"] == 0
    assert row.loc["faithfulness", "n_unscored"] == 2
    assert np.isnan(row.loc["faithfulness", "mean"])


def test_one_query_has_a_mean_and_no_spread():
    row = summarise(evaluated(faithfulness=[0.5])).frame.iloc[0]
    assert row["mean"] == 0.5
    assert np.isnan(row["std"])


def test_percentiles_name_their_columns():
    frame = summarise(evaluated(recall=[0.0, 0.5, 1.0]), percentiles=(2.5, 90)).frame
    assert {"p2.5", "p90"} <= set(frame.columns)


@pytest.mark.parametrize(
    ("setting", "error"),
    [
        ({"confidence_level": 95}, DataError),
        ({"n_resamples": 0}, DataError),
        ({"percentiles": (200,)}, DataError),
        ({"interval": "wilsn"}, UnknownNameError),
        ({"metrics": "recal"}, UnknownNameError),
    ],
)
def test_settings_that_make_no_sense_raise(setting, error):
    with pytest.raises(error):
        summarise(evaluated(recall=[0.0, 0.5, 1.0]), **setting)


def test_a_level_in_percent_is_told_what_was_meant():
    with pytest.raises(DataError, match=r"did you mean 0\.95"):
        summarise(evaluated(recall=[0.0, 0.5]), confidence_level=95)


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.randoms())
def test_the_order_of_the_queries_moves_nothing(values, random):
    shuffled = values[:]
    random.shuffle(shuffled)
    one = summarise(evaluated(recall=values)).frame.iloc[0]
    other = summarise(evaluated(recall=shuffled)).frame.iloc[0]
    for column in ("mean", "ci_low", "ci_high", "std", "p50"):
        assert one[column] == pytest.approx(other[column], abs=1e-12, nan_ok=True)


def test_the_printed_report_is_at_most_100_columns_wide(proposal):
    report = evaluation_report(proposal)
    text = str(report)
    assert max(map(len, text.splitlines())) <= 100
    for word in ("Reciprocal Rank", "95 % CI", "unscored"):
        assert word in text
    assert text.startswith("hybrid: 1 of 4 queries are correct (exact_match = 1).")
    assert report.signature not in text.replace("|\n", "|")  # it stands in files
    assert text.count("Note: ") <= 3


def test_latency_is_told_by_its_median_and_p95():
    rng = np.random.default_rng(0)
    report = evaluation_report(evaluated(latency_ms=rng.lognormal(6, 1, 200).tolist()))
    told = [note for note in report.notes if note.startswith("latency_ms: median")]
    assert len(told) == 1
    assert "p95" in told[0]


def test_aggregated_scores_leave_the_unscored_out():
    means = aggregated_scores(evaluated(recall=[0.0, 1.0, None], precision=[1, 1, 0.5]))
    assert means.to_dict() == pytest.approx({"recall": 0.5, "precision": 2.5 / 3})


def test_what_is_spent_has_no_interval_below_zero():
    result = summarise(evaluated(cost_usd=[0.01, 0.02, 0.5], latency_ms=[528, 546, 1659]))
    assert result.frame["ci_low"].tolist() == [0.0, 0.0]
    assert any(note.endswith("the interval is cut at 0") for note in result.notes)


def test_savings_below_zero_have_no_floor():
    row = summarise(evaluated(cost_usd=[-0.01, 0.02, 0.5])).frame.iloc[0]
    assert row["ci_low"] < -0.01


def test_a_mean_that_one_score_rules_is_noted():
    seconds = [*np.linspace(900, 1500, 98), 110_531]
    [note] = [n for n in evaluation_report(evaluated(latency_ms=seconds)).notes if "p95" in n]
    assert "without the largest, 110531, the mean is 1200" in note


def test_a_mean_that_all_scores_make_has_no_such_note():
    report = evaluation_report(evaluated(latency_ms=np.linspace(900, 1500, 98)))
    assert not any("rules the mean" in note for note in report.notes)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda run: evaluation_report(run, confidence_leve=0.9), r"evaluation_report\(\)"),
        (lambda run: slice_summary(run, "topic", confidence_leve=0.9), r"slice_summary\(\)"),
    ],
)
def test_a_wrong_keyword_names_what_was_called_and_the_near_one(call, name):
    run = evaluated(recall=[0.5, 0.2, 0.3], topic=["a", "a", "b"])
    with pytest.raises(UnknownOptionError, match=rf"^{name} has no .*'confidence_level'"):
        call(run)


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
    error = clustered_standard_error(nearly_all, DOCUMENTS)
    interval = interval_of_clusters(metric, 0.0, error)
    assert 0.0 <= interval.low < interval.high <= 1.0


@pytest.fixture
def runs():
    a = RAGPipelineEvaluation(
        "a",
        {"query_id": ["q1", "q2"], "question": ["x?", "y?"], "answer": ["1", "2"], "sas": [0.5, 1]},
    )
    b = RAGPipelineEvaluation(
        "b",
        {"query_id": ["q2", "q3"], "question": ["y?", "z?"], "answer": ["3", "4"], "sas": [0.2, 0]},
    )
    return a, b


def test_aggregates_are_two_lists(runs):
    assert runs[0].aggregated_report() == {"metrics": ["sas"], "score": [0.75]}


def test_details_come_before_metrics(runs):
    assert runs[0].detailed_report() == {
        "query_id": ["q1", "q2"],
        "question": ["x?", "y?"],
        "answer": ["1", "2"],
        "sas": [0.5, 1.0],
    }


def test_rows_are_paired_by_id_and_none_is_lost(runs):
    frame = runs[0].comparative_detailed_report(runs[1], output_format="df").set_index("query_id")
    assert frame.index.tolist() == ["q1", "q2", "q3"]
    assert frame.loc["q2", ["a_sas", "b_sas"]].tolist() == [1.0, 0.2]
    assert pd.isna(frame.loc["q1", "b_sas"])
    assert pd.isna(frame.loc["q3", "a_sas"])


def test_kept_columns_are_shown_of_both(runs):
    report = runs[0].comparative_detailed_report(runs[1], keep_columns=["answer"])
    assert list(report) == [
        *("query_id", "question", "a_answer", "a_sas", "b_answer", "b_sas"),
    ]
    assert report["b_answer"][1] == "3"


def test_csv_is_text_and_a_file_on_request(runs, tmp_path):
    path = tmp_path / "detailed.csv"
    text = runs[0].detailed_report("csv", csv_file=path)
    assert path.read_text(encoding="utf-8") == text
    assert pd.read_csv(io.StringIO(text))["sas"].tolist() == [0.5, 1.0]


def test_an_unknown_format_or_column_is_named(runs):
    with pytest.raises(UnknownNameError, match='output_format must be "json"'):
        runs[0].aggregated_report("xml")
    with pytest.raises(UnknownNameError, match="anwser"):
        runs[0].comparative_detailed_report(runs[1], keep_columns=["anwser"])


def test_equal_names_are_refused(runs):
    with pytest.raises(DataError, match="each its own name"):
        runs[0].comparative_detailed_report(runs[0])


def test_a_file_in_the_place_of_a_folder_is_told(runs, tmp_path):
    (tmp_path / "none").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        runs[0].detailed_report("csv", csv_file=tmp_path / "none" / "x.csv")
