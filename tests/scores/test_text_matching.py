"""Runs matched by what was asked: counted by hand."""

import pytest

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.errors import AlignmentError, UnknownNameError
from rageval_report.scores.align import match_queries

OURS = RAGPipelineEvaluation(
    "ours",
    {
        "query_id": ["a", "b", "c", "d"],
        "question": ["Who?", "Why so?", "Why so?", "Ｗhen?"],
        "f1": [0.0, 0.25, 0.5, 1.0],
    },
)


def theirs(questions, ids=None, column="user_input"):
    ids = ids or [f"x{i}" for i in range(len(questions))]
    scores = [1.0] * len(questions)
    return RAGPipelineEvaluation("theirs", {"id": ids, column: questions, "f1": scores})


def test_blanks_and_unicode_forms_make_no_difference_and_equal_texts_match_in_order():
    run = theirs([" Why\u00a0so? ", "When?", "Why\nso?", "Who?"])
    assert list(match_queries(run, OURS, "question").scores.index) == ["b", "d", "c", "a"]


def test_a_query_of_one_run_keeps_its_own_id_and_takes_nobody_elses():
    run = theirs(["Who?", "How?", "Where?"], ids=["b", "a", "z"])
    assert list(match_queries(run, OURS, "question").scores.index) == ["a", "theirs:a", "z"]


def test_a_comparison_on_questions_pairs_what_ids_cannot():
    run = theirs(["Who?", "How?"])
    with pytest.raises(AlignmentError, match="share no query id"):
        compare(OURS, run)
    found = compare(OURS, run, on="question")
    assert found.frame.loc[0, "n"] == 1
    assert found.frame.loc[0, "difference"] == 1.0
    assert found.settings["on"] == "question"
    assert any("1 query is in 'theirs' only: 'x1'" in note for note in found.notes)
    assert any("3 queries are in 'ours' only" in note for note in found.notes)
    assert list(found.improvements("f1").index) == ["a"]


def test_matching_by_ids_and_by_questions_agree_where_both_can():
    run = theirs(list(OURS.details["question"]), ids=list(OURS.scores.index), column="question")
    by_id, by_text = compare(OURS, run).frame, compare(OURS, run, on="question").frame
    assert by_id.equals(by_text)


def test_a_column_that_is_not_there_and_texts_that_never_meet_are_told():
    with pytest.raises(UnknownNameError, match="detail column of 'ours'"):
        compare(OURS, theirs(["Who?"]), on="topic")
    with pytest.raises(AlignmentError, match=r"on='question': .* have no text in common"):
        compare(OURS, theirs(["How?"]), on="question")
