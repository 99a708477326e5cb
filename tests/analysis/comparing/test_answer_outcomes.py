import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.breakdown import outcome_table
from rageval_report.errors import AlignmentError


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


def test_swapping_the_runs_swaps_the_columns():
    a = run("a", ["q1", "q2", "q3"], [1, 0, 0])
    b = run("b", ["q1", "q2", "q3"], [0, 1, 1])
    one, other = a.comparative_detailed_summary(b), b.comparative_detailed_summary(a)
    for column in one:
        assert one[column].tolist() == other[column].tolist()


def test_runs_without_a_common_query_are_refused():
    with pytest.raises(AlignmentError, match="share no query id"):
        run("a", ["q1"], [1]).comparative_detailed_summary(run("b", ["q2"], [1]))


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
