"""The table of queries: outcomes, causes, states and texts by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.reports.query_table import LETTERS, slice_columns


def read(column):
    codes = column["c"] if isinstance(column["c"], list) else map(LETTERS.index, column["c"])
    return [column["v"][code] for code in codes]


@pytest.fixture(scope="module")
def document(comparison):
    return comparison.report(pictures=False).queries.document()


def field_of(document, role):
    [found] = [one for one in document["fields"] if one["role"] == role]
    return found


def test_rows_are_the_queries_of_both_runs_the_baseline_first(document):
    assert document["ids"] == ["q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9"]


def test_the_answer_to_each_query_by_hand(document):
    ours, theirs = map(read, document["answers"])
    assert ours == [
        *("right", "right", "wrong", "wrong", "right", "wrong", "unknown", "right", "absent"),
    ]
    assert theirs == [
        *("right", "wrong", "right", "wrong", "right", "wrong", "right", "absent", "right"),
    ]


def test_the_cause_of_each_failure_by_hand(document):
    ours, theirs = map(read, document["causes"])
    assert ours == [
        *("fine", "fine", "retrieval", "generation", "fine", "retrieval", "unknown", "fine"),
        "unknown",
    ]
    assert theirs == [
        *("fine", "generation", "fine", "retrieval", "fine", "generation", "fine", "unknown"),
        "fine",
    ]


def test_scores_stand_under_the_rows_of_their_queries(document):
    [faithfulness] = [one for one in document["metrics"] if one["name"] == "faithfulness"]
    assert read(faithfulness["runs"][0])[7:] == [0.88, None]
    assert read(faithfulness["runs"][1])[6:] == [0.67, None, 0.99]


def test_a_failed_score_is_told_with_its_reason(document):
    [exact] = [one for one in document["metrics"] if one["name"] == "exact_match"]
    assert exact["runs"][0]["states"] == {"failed": [6]}
    assert document["texts"][exact["runs"][0]["reasons"][6]] == "the judge timed out"


def test_what_was_asked_is_there_once_and_what_was_answered_for_each_run(document):
    question, answer = field_of(document, "question"), field_of(document, "answer")
    assert document["texts"][question["shared"][8]] == "What is the fee number 9?"
    assert document["texts"][answer["runs"][0][1]] == "2 crowns"
    assert document["texts"][answer["runs"][1][1]] == "3 crowns"
    assert answer["runs"][1][7] == -1


def test_contexts_are_lists_and_a_passage_of_both_is_kept_once(document):
    contexts = field_of(document, "contexts")
    ours, theirs = contexts["runs"][0][0], contexts["runs"][1][0]
    assert ours[1] == theirs[0]
    assert document["texts"].count("a shared passage") == 1


def test_columns_that_tell_of_scores_are_no_details(document):
    others = [one["title"] for one in document["fields"] if one["role"] == "other"]
    assert others == ["topic"]


def test_no_text_is_lost(comparison, document):
    for pairing in comparison.pairings:
        for run in (pairing.baseline, pairing.candidate):
            for column in ("question", "reference", "answer", "topic"):
                assert set(run.details[column]) <= set(document["texts"])


def test_columns_of_a_few_values_are_offered_as_slices():
    rng = np.random.default_rng(0)
    evaluation = RAGPipelineEvaluation(
        "a",
        {
            "query_id": [f"q{n}" for n in range(100)],
            "question": [f"why {n % 3}?" for n in range(100)],
            "domain": ["x", "y"] * 50,
            "same": ["x"] * 100,
            "author": [f"author {n % 40}" for n in range(100)],
            "difficulty": [f"level {n % 5}" for n in range(100)],
            "f1": rng.random(100),
        },
    )
    assert slice_columns(evaluation) == ["domain", "difficulty"]


def test_a_query_of_the_second_candidate_alone_is_absent_from_the_first(bm25, hybrid):
    frame = hybrid.to_frame()
    other = RAGPipelineEvaluation("third", frame.assign(query_id=[*frame["query_id"][:-1], "q10"]))
    document = compare(bm25, hybrid, other).report(pictures=False).queries.document()
    assert read(document["answers"][1])[-1] == "absent"
    assert read(document["answers"][2])[-2:] == ["absent", "right"]


def test_without_a_rule_of_what_is_right_there_are_no_outcomes_and_a_note_says_so():
    evaluation = RAGPipelineEvaluation("a", {"query_id": ["q1", "q2"], "f1": [0.1, 0.4]})
    report = evaluation.report(pictures=False)
    assert report.queries.document()["answers"] == []
    assert any("correct=" in note for note in report.notes)
