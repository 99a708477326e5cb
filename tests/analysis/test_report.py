"""Witnesses: the worked figures of the proposal, NumPy, pandas, clustered_interval, by hand."""

from __future__ import annotations

import statistics

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.report import (
    aggregated_scores,
    evaluation_report,
    summarise,
)
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.units import clustered_interval


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


@settings(max_examples=30)
@given(st.lists(st.floats(0, 1), min_size=2, max_size=30), st.randoms())
def test_the_order_of_the_queries_moves_nothing(values, random):
    shuffled = values[:]
    random.shuffle(shuffled)
    one = summarise(evaluated(recall=values)).frame.iloc[0]
    other = summarise(evaluated(recall=shuffled)).frame.iloc[0]
    for column in ("mean", "ci_low", "ci_high", "std", "p50"):
        assert one[column] == pytest.approx(other[column], abs=1e-12, nan_ok=True)


def test_aggregated_scores_leave_the_unscored_out():
    means = aggregated_scores(evaluated(recall=[0.0, 1.0, None], precision=[1, 1, 0.5]))
    assert means.to_dict() == pytest.approx({"recall": 0.5, "precision": 2.5 / 3})


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
