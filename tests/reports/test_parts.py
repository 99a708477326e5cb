"""Verdicts and sections: the numbers are those of the analyses, or counted by hand."""

from __future__ import annotations

import pandas as pd
import pytest
from scipy.stats import binomtest

from rageval_report import DataError, RAGPipelineEvaluation, Result, UnknownNameError, compare
from rageval_report.reports import Report


def result_of(report: Report, key: str, place: int = 0) -> Result:
    [section] = [one for one in report.sections if one.key == key]
    return section.results[place]


@pytest.fixture(scope="module")
def report(comparison) -> Report:
    return comparison.report(pictures=False)


def test_the_verdicts_are_those_of_the_comparison(report, comparison):
    assert sorted(one.text for one in report.verdicts) == sorted(comparison.sentences)


def test_what_is_shown_comes_first_and_says_which_way():
    ids = [f"q{n}" for n in range(40)]
    worse, same = [1.0] * 20 + [0.0] * 20, [0.5] * 40
    old = RAGPipelineEvaluation("old", {"query_id": ids, "recall": same, "f1": [1.0] * 40})
    new = RAGPipelineEvaluation("new", {"query_id": ids, "recall": same, "f1": worse})
    verdicts = compare(old, new).report(pictures=False).verdicts
    assert [one.tone for one in verdicts] == ["worse", "neutral"]
    assert "worse on f1" in verdicts[0].text


def test_a_rise_of_what_should_be_low_is_worse():
    ids = [f"q{n}" for n in range(30)]
    old = RAGPipelineEvaluation("old", {"query_id": ids, "latency_ms": range(100, 130)})
    new = RAGPipelineEvaluation("new", {"query_id": ids, "latency_ms": range(150, 210, 2)})
    assert compare(old, new).report(pictures=False).verdicts[0].tone == "worse"


def test_the_outcomes_are_counted_with_wilson_intervals(report):
    frame = result_of(report, "outcomes").frame.set_index("outcome")
    assert frame["n"].tolist() == [2, 1, 1, 2]
    wilson = binomtest(2, 6).proportion_ci(method="wilson")  # SciPy
    assert frame.loc["both right", ["ci_low", "ci_high"]].tolist() == pytest.approx(list(wilson))


def test_what_cannot_be_told_and_what_one_run_alone_has_is_counted_apart(report):
    assert set(result_of(report, "outcomes").notes) == {
        *("1 queries cannot be told", "1 queries are only in bm25", "1 queries are only in hybrid")
    }


def test_the_set_up_is_laid_side_by_side_and_unknown_is_told(report):
    frame = result_of(report, "made", 1).frame.set_index("setting")
    assert frame.loc["top_k"].tolist() == ["4", "6", "no"]
    assert frame.loc["reranker"].tolist() == ["unknown", "none", "no"]


def test_slices_are_those_that_are_asked_for(comparison):
    report = comparison.report(by="topic", pictures=False)
    assert result_of(report, "slices").frame["topic"].unique().tolist() == ["tax", "ferry"]
    assert not [
        one for one in comparison.report(by=(), pictures=False).sections if one.key == "slices"
    ]


def test_a_column_that_is_not_there_is_refused(bm25):
    with pytest.raises(UnknownNameError, match="topik"):
        bm25.report(by="topik")


def test_a_rule_that_makes_no_sense_is_refused(bm25):
    with pytest.raises(UnknownNameError):
        bm25.report(correct=("faithfulnes", 0.5))


def test_a_cutoff_that_no_metric_tells_of_is_refused_if_it_was_asked_for(bm25):
    with pytest.raises(DataError, match="hit@7"):
        bm25.report(k=7)


def test_the_first_cutoff_there_is_serves_where_none_is_asked_for():
    data = {"query_id": ["a", "b", "c"], "exact_match": [0, 0, 1], "recall@3": [0, 1, 1]}
    report = RAGPipelineEvaluation("a", data).report(pictures=False)
    causes = result_of(report, "causes").frame.set_index("cause")["n"]
    assert (causes["retrieval"], causes["generation"], causes["fine"]) == (1, 1, 1)


def test_one_pipeline_opens_with_what_is_right_and_why_the_rest_fails(bm25):
    first, second, *_ = bm25.report(pictures=False).verdicts
    assert first.text.startswith("4 of 7 queries are answered correctly: 0.571 (95 % CI ")
    assert second.text == "2 of 3 failures are of retrieval: no gold was retrieved"


def test_a_metric_of_which_nothing_is_scored_is_told_and_not_drawn():
    data = pd.DataFrame({"query_id": ["a", "b"], "f1": [None, None], "recall": [0.5, 1.0]})
    evaluation = RAGPipelineEvaluation("a", data, metrics=["f1", "recall"])
    report = evaluation.report()
    assert "F1: nothing is scored, of 2 queries" in " ".join(one.text for one in report.verdicts)
    assert "<svg" in report.to_html()


def test_nothing_scored_at_all_still_is_a_report():
    data = pd.DataFrame({"query_id": ["a", "b"], "f1": [None, None]})
    report = RAGPipelineEvaluation("a", data, metrics=["f1"]).report()
    assert "nothing is scored" in report.to_html()


def test_several_candidates_have_outcomes_each(bm25, hybrid):
    frame = hybrid.to_frame()
    third = RAGPipelineEvaluation("third", frame)
    report = compare(bm25, hybrid, third).report(pictures=False)
    assert result_of(report, "outcomes", 1).title == "The answers of bm25 and third"
    assert report.subtitle.startswith("baseline bm25, candidates hybrid, third; 9 queries")


def test_runs_matched_by_question_have_a_report(bm25, hybrid):
    frame = hybrid.to_frame()
    renamed = RAGPipelineEvaluation("hybrid", frame.assign(query_id=frame["query_id"] + "x"))
    report = compare(bm25, renamed, on="question").report(pictures=False)
    assert result_of(report, "outcomes").frame["n"].tolist() == [2, 1, 1, 2]


def test_metrics_of_several_scales_one_of_them_unscored_are_drawn_as_far_as_they_go():
    data = {"query_id": ["a", "b", "c"], "prompt_tokens": [1, 2, 3], "cost_usd": [4.0, 5.0, 7.0]}
    frame = pd.DataFrame({**data, "f1": [None] * 3})
    report = RAGPipelineEvaluation("a", frame, metrics=list(frame.columns[1:])).report()
    assert "<svg" in report.to_html()
