"""Verdicts and sections: the numbers are those of the analyses, or counted by hand."""

from __future__ import annotations

import pandas as pd
import pytest
from scipy.stats import binomtest

from rageval_report import RAGPipelineEvaluation, Result, compare
from rageval_report.errors import DataError, UnknownNameError
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


def test_the_outcomes_are_counted_with_exact_intervals(report):
    frame = result_of(report, "outcomes").frame.set_index("outcome")
    assert frame["n"].tolist() == [2, 1, 1, 2]
    exact = binomtest(2, 6).proportion_ci(method="exact")  # SciPy, Clopper and Pearson
    assert frame.loc["both right", ["ci_low", "ci_high"]].tolist() == pytest.approx(list(exact))


def test_what_cannot_be_told_and_what_one_run_alone_has_is_counted_apart(report):
    assert set(result_of(report, "outcomes").notes) == {
        "correct: exact_match = 1",
        *("1 queries are unknown", "1 queries are only in bm25", "1 queries are only in hybrid"),
    }


def test_the_rule_that_was_given_is_told_with_its_direction(bm25, hybrid):
    rule = {"faithfulness": 0.5, "latency_ms": 150}
    found = result_of(compare(bm25, hybrid).report(correct=rule, pictures=False), "outcomes")
    assert found.notes[0] == "correct: faithfulness >= 0.5 and latency_ms <= 150"
    assert found.settings["correct"] == "faithfulness >= 0.5 and latency_ms <= 150"


def test_a_signature_names_the_metric_that_says_what_is_right(report):
    assert result_of(report, "outcomes").settings["correct"] == "exact_match = 1"


def test_two_runs_with_rules_of_their_own_are_told_apart(bm25, hybrid):
    runs = [
        RAGPipelineEvaluation(run.name, run.to_frame(), correct=("faithfulness", threshold))
        for run, threshold in ((bm25, 0.5), (hybrid, 0.7))
    ]
    found = result_of(compare(*runs).report(pictures=False), "outcomes")
    assert found.notes[0] == "correct: faithfulness >= 0.5 (bm25), faithfulness >= 0.7 (hybrid)"


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
    assert first.text.startswith("correct: exact_match = 1; 4 of 7 queries are correct; ")
    assert second.text == "2 of 3 failures are of retrieval: no gold was retrieved"


def test_a_metric_of_which_nothing_is_scored_is_told_and_not_drawn():
    data = pd.DataFrame({"query_id": ["a", "b"], "f1": [None, None], "recall": [0.5, 1.0]})
    evaluation = RAGPipelineEvaluation("a", data, metrics=["f1", "recall"])
    report = evaluation.report()
    assert "F1: none of 2 queries is scored" in " ".join(one.text for one in report.verdicts)
    assert "<svg" in report.to_html()


def test_nothing_scored_at_all_still_is_a_report():
    data = pd.DataFrame({"query_id": ["a", "b"], "f1": [None, None]})
    report = RAGPipelineEvaluation("a", data, metrics=["f1"]).report()
    assert "none of 2 queries is scored" in report.to_html()


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
