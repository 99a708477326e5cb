"""Verdicts and sections: the numbers are those of the analyses, or counted by hand."""

from __future__ import annotations

import pandas as pd
import pytest
from scipy.stats import binomtest

from rageval_report import RAGPipelineEvaluation, Result, compare
from rageval_report.reports import Report


def result_of(report: Report, key: str, place: int = 0) -> Result:
    [section] = [one for one in report.sections if one.key == key]
    return section.results[place]


@pytest.fixture(scope="module")
def report(comparison) -> Report:
    return comparison.report(pictures=False)


def test_the_verdicts_are_those_of_the_comparison(report, comparison):
    first, *verdicts = report.verdicts
    assert first.text.startswith("correct: exact_match = 1; bm25: 4 of 7 queries are correct")
    assert sorted(one.text for one in verdicts) == sorted(comparison.sentences)


def test_the_outcomes_are_counted_with_exact_intervals(report):
    frame = result_of(report, "outcomes").frame.set_index("outcome")
    assert frame["n"].tolist() == [2, 1, 1, 2]
    exact = binomtest(2, 6).proportion_ci(method="exact")  # SciPy, Clopper and Pearson
    assert frame.loc["both right", ["ci_low", "ci_high"]].tolist() == pytest.approx(list(exact))


def test_a_group_that_is_shown_to_go_the_other_way_is_among_the_first_verdicts():
    ids = [f"q{n}" for n in range(60)]
    topics = ["dates"] * 20 + ["names"] * 40
    rises = [-0.3] * 20 + [0.3] * 40
    before = [0.5 + 0.001 * n for n in range(60)]
    after = [
        one + rise + 0.002 * (n % 7)
        for n, (one, rise) in enumerate(zip(before, rises, strict=True))
    ]
    runs = [
        RAGPipelineEvaluation(name, {"query_id": ids, "topic": topics, "recall": scores})
        for name, scores in (("old", before), ("new", after))
    ]
    first, second, *_ = compare(*runs).report(by="topic", pictures=False).verdicts
    assert (first.tone, second.tone) == ("worse", "better")
    assert first.text.startswith("where topic is dates, new is worse on recall by 0.29")


def test_metrics_of_several_scales_one_of_them_unscored_are_drawn_as_far_as_they_go():
    data = {"query_id": ["a", "b", "c"], "prompt_tokens": [1, 2, 3], "cost_usd": [4.0, 5.0, 7.0]}
    frame = pd.DataFrame({**data, "f1": [None] * 3})
    report = RAGPipelineEvaluation("a", frame, metrics=list(frame.columns[1:])).report()
    assert "<svg" in report.to_html()
