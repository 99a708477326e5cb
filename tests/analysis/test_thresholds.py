"""Witnesses: NumPy 2 and the statistics module, worked figures of the proposal."""

import statistics

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.report import below_threshold, failures, find_thresholds
from rageval_report.errors import DataError


def evaluated(**columns):
    n = len(next(iter(columns.values())))
    return RAGPipelineEvaluation("a", {"query_id": [f"q{i}" for i in range(n)], **columns})


def test_linear_quartiles_are_the_worked_figures(proposal):
    row = find_thresholds(proposal, "reciprocal_rank").frame.iloc[0]
    assert row[["p25", "p50", "p75"]].tolist() == pytest.approx([0.3375625, 0.456514, 0.5958835])
    assert row["mean"] == pytest.approx(0.476932)


def test_exclusive_quartiles_are_those_of_the_statistics_module(proposal):
    row = find_thresholds(proposal, "faithfulness", method="exclusive").frame.iloc[0]
    values = proposal.scores["faithfulness"].tolist()
    assert row[["p25", "p50", "p75"]].tolist() == pytest.approx(statistics.quantiles(values, n=4))
    assert row[["p25", "p50", "p75"]].tolist() == pytest.approx([0.0653945, 0.4157775, 0.73638925])


def test_below_is_strictly_below_and_worst_first(proposal):
    before = proposal.scores.copy()
    rows = below_threshold(proposal, "reciprocal_rank", 0.5)
    assert rows.index.tolist() == ["8ac473ec", "53c3b3e6"]
    exact = below_threshold(proposal, "reciprocal_rank", 0.378064)
    assert exact.index.tolist() == ["8ac473ec"]
    pd.testing.assert_frame_equal(proposal.scores, before)
    # What is unscored is never below.
    rows = below_threshold(evaluated(recall=[None, 0.2, 0.9]), "recall", 1.0)
    assert rows.index.tolist() == ["q1", "q2"]


def test_failures_show_texts_and_reasons_and_cut_nothing():
    answer = "word " * 100
    evaluation = evaluated(
        faithfulness=[0.1, 0.9],
        topic=["tax", "law"],
        question=["why?", "who?"],
        answer=[answer, "me"],
        faithfulness_reason=["claims 2 of 3 unsupported", ""],
    )
    result = failures(evaluation, "faithfulness", 0.5)
    assert list(result.frame.columns) == [
        *("faithfulness", "question", "answer", "faithfulness_reason", "topic"),
    ]
    assert result.frame.loc["q0", "answer"] == answer
    assert answer not in str(result)
    assert "claims 2 of 3" in str(result)


@pytest.mark.parametrize("find", [failures, below_threshold])
@pytest.mark.parametrize("threshold", [1.5, 7, -0.1])
def test_a_threshold_beyond_all_possible_scores_is_refused(find, threshold):
    of = evaluated(faithfulness=[0.2, 1.0], latency_ms=[100.0, 200.0])
    with pytest.raises(DataError, match=f"from 0 to 1, so a threshold of {threshold:g} decides"):
        find(of, "faithfulness", threshold)
    with pytest.raises(DataError, match=r"Did you mean 0\.7\?"):
        find(of, "faithfulness", 70)
    assert len(failures(of, "faithfulness", 1).frame) == 1
    assert len(failures(of, "latency_ms", 5000).frame) == 0  # without bounds
