"""Witnesses: the worked figures of the proposal, NumPy, pandas, and arithmetic by hand."""

import statistics

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.slices import slice_summary
from rageval_report.analysis.summary import aggregated_scores, evaluation_report, summarise
from rageval_report.errors import DataError, UnknownNameError, UnknownOptionError


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
    assert report.signature in text.replace("|\n", "|")  # a long signature continues on a new line


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
