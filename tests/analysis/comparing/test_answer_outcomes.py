import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.breakdown import outcome_table
from rageval_report.errors import AlignmentError, DataError


def run(name, ids, exact):
    return RAGPipelineEvaluation(name, {"query_id": ids, "exact_match": exact})


def test_ids_are_paired_whatever_their_order():
    a = run("a", ["q1", "q2", "q3", "q4"], [1, 1, 0, 0])
    b = run("b", ["q4", "q3", "q2", "q1"], [0, 1, 0, 1])
    table = a.comparative_detailed_summary(b)
    assert {column: table[column].tolist() for column in table} == {
        "both_correct": ["q1"],
        "both_incorrect": ["q4"],
        "only_a_correct": ["q2"],
        "only_b_correct": ["q3"],
    }


def test_columns_are_as_long_as_the_longest_and_padded_with_none():
    a = run("a", ["q1", "q2", "q3"], [1, 1, 1])
    b = run("b", ["q1", "q2", "q3"], [0, 0, 0])
    table = a.comparative_detailed_summary(b)
    assert table["only_a_correct"].tolist() == ["q1", "q2", "q3"]
    assert table["both_correct"].tolist() == [None, None, None]


def test_missing_and_unpaired_queries_are_listed_apart():
    a = run("a", ["q1", "q2", "q3"], [1, None, 0])
    b = run("b", ["q1", "q2", "q9"], [1, 1, 0])
    table = a.comparative_detailed_summary(b)
    listed = {column: [one for one in table[column] if one is not None] for column in table}
    assert listed == {
        "both_correct": ["q1"],
        "both_incorrect": [],
        "only_a_correct": [],
        "only_b_correct": [],
        "unscored": ["q2"],
        "only_in_a": ["q3"],
        "only_in_b": ["q9"],
    }


def test_swapping_the_runs_swaps_the_columns():
    a = run("a", ["q1", "q2", "q3"], [1, 0, 0])
    b = run("b", ["q1", "q2", "q3"], [0, 1, 1])
    one, other = a.comparative_detailed_summary(b), b.comparative_detailed_summary(a)
    for column in one:
        assert one[column].tolist() == other[column].tolist()


def test_a_rule_given_here_goes_before_those_of_the_runs():
    data = {"query_id": ["q1", "q2"], "recall": [0.4, 0.9]}
    a = RAGPipelineEvaluation("a", data, correct=("recall", 0.3))
    b = RAGPipelineEvaluation("b", data, correct=("recall", 0.5))
    assert a.comparative_detailed_summary(b)["only_a_correct"].tolist() == ["q1"]
    strict = a.comparative_detailed_summary(b, correct=("recall", 0.95))
    assert strict["both_incorrect"].tolist() == ["q1", "q2"]


def test_equal_names_are_refused():
    a = run("a", ["q1"], [1])
    with pytest.raises(DataError, match="each its own name"):
        a.comparative_detailed_summary(run("a", ["q1"], [1]))


def test_runs_without_a_common_query_are_refused():
    with pytest.raises(AlignmentError, match="share no query id"):
        run("a", ["q1"], [1]).comparative_detailed_summary(run("b", ["q2"], [1]))


def test_what_is_correct_must_be_told_where_nothing_tells_it():
    a = RAGPipelineEvaluation("a", {"query_id": ["q1"], "recall": [1.0]})
    b = RAGPipelineEvaluation("b", {"query_id": ["q1"], "recall": [1.0]})
    with pytest.raises(DataError, match=r"correct=\('faithfulness', 0.8\)"):
        a.comparative_detailed_summary(b)


# -- what a correct answer is, in words


def test_a_rule_for_each_run_can_be_given():
    data = {"query_id": ["q1", "q2", "q3", "q4"], "recall": [0.4, 0.9, 0.6, 0.1]}
    a, b = RAGPipelineEvaluation("a", data), RAGPipelineEvaluation("b", data)
    table = outcome_table(a, b, ("recall", 0.5), other_correct=("recall", 0.8))
    listed = {column: [one for one in table[column] if one is not None] for column in table}
    assert listed == {
        "both_correct": ["q2"],
        "both_incorrect": ["q1", "q4"],
        "only_a_correct": ["q3"],
        "only_b_correct": [],
    }
