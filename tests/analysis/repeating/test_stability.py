"""Arithmetic by hand, after the sister scorer of a gold/trace scorer: shares, unions, medians."""

from __future__ import annotations

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.repeating.stability import stability
from rageval_report.errors import DataError, UnknownNameError

NAN = float("nan")


def runs(*columns, name="exact_match", **details):
    """A run for each list of scores, of queries q0, q1, ..."""
    return [
        RAGPipelineEvaluation(
            "hybrid",
            {
                "query_id": [f"q{i}" for i in range(len(scores))],
                name: scores,
                **{told: cells[place] for told, cells in details.items()},
            },
        )
        for place, scores in enumerate(columns)
    ]


def test_agreement_is_the_larger_share():
    frame = stability(runs([1, 1, 0], [1, 0, 0], [1, 0, 0], [1, 0, 1])).frame
    assert frame["agreement"].to_dict() == {"q0": 1.0, "q1": 0.75, "q2": 0.75}
    assert frame["share_correct"].to_dict() == {"q0": 1.0, "q1": 0.25, "q2": 0.25}


def test_flips_are_changes_from_one_run_to_the_next():
    frame = stability(runs([1, 1, 0], [1, 0, 1], [1, 1, 1], [1, 0, 1])).frame
    assert frame["flips"].to_dict() == {"q0": 0, "q1": 3, "q2": 1}


def test_the_least_stable_query_comes_first():
    assert stability(runs([1, 1], [1, 0])).frame.index.tolist() == ["q1", "q0"]


def test_how_many_queries_flip_is_said():
    rule, note = stability(runs([1, 1, 0], [1, 0, 1])).notes
    assert rule == "correct: exact_match = 1"
    assert note == "2 of 3 queries are correct in some runs and incorrect in others"


def test_unscored_runs_are_passed_over_and_not_counted():
    found = stability(runs([1, NAN], [NAN, NAN], [0, NAN]))
    assert found.frame.loc["q0", ["share_correct", "flips"]].tolist() == [0.5, 1]
    assert found.frame.loc["q1"].isna().sum() == 3
    assert found.notes[1].endswith("; 1 more are unscored in all runs")


def test_a_query_of_some_runs_only_counts_these():
    many, few = runs([1, 0], [1])
    assert stability([many, few]).frame["n_runs"].to_dict() == {"q0": 2, "q1": 1}


def test_what_is_correct_may_be_a_threshold():
    frame = stability(runs([0.9, 0.2], [0.7, 0.1], name="faithfulness"), ("faithfulness", 0.8))
    assert frame.frame["agreement"].to_dict() == {"q0": 0.5, "q1": 1.0}


def test_without_a_rule_nothing_is_called_correct():
    found = stability(runs([0.9], [0.7], name="faithfulness"))
    assert list(found.frame) == ["n_runs"]
    assert found.notes == ("it is unknown what a correct answer is; pass correct=...",)


def test_an_unknown_rule_is_an_error():
    with pytest.raises(UnknownNameError, match="faithfulness"):
        stability(runs([0.9], [0.7], name="faithfulness"), ("faithfulnes", 0.8))
    with pytest.raises(DataError):
        stability(runs([0.9], [0.7], name="faithfulness"), ("faithfulness", NAN))


def test_citations_are_compared_as_sets():
    cited = [[["a", "b"], [], ["a"]], [["b", "c"], [], ["a"]]]
    frame = stability(runs([1, 1, 1], [1, 1, 1], citations=cited)).frame
    assert frame["citation_stability"].to_dict() == {"q0": 1 / 3, "q1": 1.0, "q2": 1.0}


def test_answers_have_the_median_distance_of_all_pairs():
    answers = [["abcd"], ["abce"], ["wxyz"]]  # distances 1/4, 1, 1
    found = stability(runs([1], [1], [1], answer=answers))
    assert found.frame["answer_distance"].tolist() == [1.0]
    assert "first 5000 letters" in found.notes[-1]


def test_refusals_have_the_share_of_the_larger_class():
    refused = [[True, False], [True, True], [True, False]]
    frame = stability(runs([1, 1], [1, 1], [1, 1], refused=refused)).frame
    assert frame["refusal_agreement"].to_dict() == pytest.approx({"q0": 1.0, "q1": 2 / 3})


def test_details_that_one_run_lacks_are_not_compared():
    told, untold = runs([1], answer=[["a"]])[0], runs([1])[0]
    assert "answer_distance" not in stability([told, untold]).frame


def test_an_answer_of_one_run_alone_has_no_distance():
    answers = [["a", "x"], ["a", None]]
    frame = stability(runs([1, 1], [1, 1], answer=answers)).frame
    assert frame["answer_distance"].isna().to_dict() == {"q0": False, "q1": True}
