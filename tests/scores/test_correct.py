import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores import correctness

COLUMNS = {
    "query_id": ["a", "b", "c", "d"],
    "exact_match": [1, 0, None, 1],
    "faithfulness": [0.9, 0.8, 0.95, None],
    "hallucination": [0.0, 0.4, 0.2, 0.1],
    "latency_ms": [100, 900, 300, 200],
    "is_ok": pd.array([True, False, None, True], dtype="boolean"),
    "grade": ["good", "bad", "good", None],
}


@pytest.fixture
def evaluation():
    return RAGPipelineEvaluation("hybrid", COLUMNS)


def told(series):
    """The series as a list, None where it cannot be told."""
    return [None if cell is pd.NA else bool(cell) for cell in series]


def test_exact_match_tells_where_nothing_is_said(evaluation):
    assert told(correctness(evaluation)) == [True, False, None, True]


def test_exact_match_is_found_by_its_alias():
    evaluation = RAGPipelineEvaluation("x", {"query_id": ["a", "b"], "EM": [1, 0]})
    assert told(correctness(evaluation)) == [True, False]


def test_an_exact_match_of_less_than_one_is_not_correct():
    evaluation = RAGPipelineEvaluation("x", {"query_id": ["a", "b"], "exact_match": [0.99, 1.0]})
    assert told(correctness(evaluation)) == [False, True]


def test_without_an_exact_match_the_error_shows_how_to_say_it():
    evaluation = RAGPipelineEvaluation("dense", {"query_id": ["a"], "recall": [1.0]})
    message = r"'dense' has no metric of correct answers\. Pass .* correct=\('faithf"
    with pytest.raises(DataError, match=message):
        correctness(evaluation)


def test_a_metric_and_a_threshold_tell_and_the_threshold_itself_is_right(evaluation):
    assert told(correctness(evaluation, ("faithfulness", 0.9))) == [True, False, True, None]


def test_where_lower_is_better_the_threshold_is_an_upper_one(evaluation):
    assert told(correctness(evaluation, ("latency_ms", 300))) == [True, False, True, True]


def test_a_metric_alone_asks_for_its_best_score(evaluation):
    assert told(correctness(evaluation, "hallucination")) == [True, False, False, False]
    assert told(correctness(evaluation, "Groundedness")) == [False, False, False, None]


def test_a_metric_without_a_best_score_needs_a_threshold(evaluation):
    with pytest.raises(DataError, match=r"'latency_ms' has no best score; pass a threshold"):
        correctness(evaluation, "latency_ms")


def test_several_thresholds_must_all_hold(evaluation):
    rule = {"exact_match": 1, "hallucination": 0.1}
    assert told(correctness(evaluation, rule)) == [True, False, False, True]


def test_one_that_fails_decides_whatever_is_missing(evaluation):
    rule = {"exact_match": 1.0, "faithfulness": 0.97}
    assert told(correctness(evaluation, rule)) == [False, False, False, None]


def test_a_column_of_booleans_tells(evaluation):
    assert told(correctness(evaluation, "is_ok")) == [True, False, None, True]


@pytest.mark.parametrize(
    "cells", [[True, False, None], [1, 0, None], pd.array([1, 0, None], dtype="Int64")]
)
def test_a_detail_of_booleans_or_of_0_and_1_tells(cells):
    frame = pd.DataFrame({"query_id": ["a", "b", "c"], "recall": [1, 1, 1], "right_id": cells})
    evaluation = RAGPipelineEvaluation("x", frame)
    assert "right_id" in evaluation.details
    assert told(correctness(evaluation, "right_id")) == [True, False, None]


def test_a_column_of_words_does_not_tell(evaluation):
    with pytest.raises(DataError, match=r"'grade' must be true or false for each query\. Pass"):
        correctness(evaluation, "grade")


def test_an_unknown_metric_is_told_with_the_nearest(evaluation):
    with pytest.raises(UnknownNameError, match=r"'faithfulnes'\. Did you mean 'faithfulness'"):
        correctness(evaluation, ("faithfulnes", 0.5))


def test_a_function_of_the_rows_sees_scores_and_details(evaluation):
    def short_and_good(rows):
        return (rows["grade"] == "good") & (rows["latency_ms"] < 200)

    assert told(correctness(evaluation, short_and_good)) == [True, False, False, False]


def test_a_function_may_give_a_list_or_an_array(evaluation):
    assert told(correctness(evaluation, lambda rows: [True, False, None, True])) == [
        *(True, False, None, True)
    ]
    assert told(correctness(evaluation, lambda rows: np.array([1, 0, np.nan, 1]))) == [
        *(True, False, None, True)
    ]


def test_a_function_that_sorts_is_put_back_in_order_by_query(evaluation):
    def by_latency(rows):
        return rows.sort_values("latency_ms")["latency_ms"] < 250

    assert told(correctness(evaluation, by_latency)) == [True, False, False, True]


def test_a_function_that_numbers_its_rows_is_taken_by_position(evaluation):
    rule = lambda rows: (rows["latency_ms"] < 250).reset_index(drop=True)  # noqa: E731
    assert told(correctness(evaluation, rule)) == [True, False, False, True]


@pytest.mark.parametrize("answer", [True, [True], [], pd.Series([True] * 5)])
def test_a_function_that_gives_too_few_or_too_many_is_refused(evaluation, answer):
    with pytest.raises(
        DataError, match=r"must return one boolean per row \(4\); it returned [015]"
    ):
        correctness(evaluation, lambda rows: answer)


def test_a_function_that_gives_no_booleans_is_named(evaluation):
    def marks(rows):
        return ["yes", "no", "no", "yes"]

    with pytest.raises(DataError, match=r"'marks' must be true or false"):
        correctness(evaluation, marks)


@pytest.mark.parametrize("threshold", [math.nan, math.inf, "0.5", None, True])
def test_a_threshold_is_a_finite_number(evaluation, threshold):
    with pytest.raises(DataError, match=r"a threshold must be a finite number; got"):
        correctness(evaluation, ("faithfulness", threshold))
    with pytest.raises(DataError, match=r"a threshold must be a finite number; got"):
        correctness(evaluation, {"faithfulness": threshold})


@pytest.mark.parametrize("rule", [("faithfulness",), ("faithfulness", 0.5, 1), (0.5, "recall")])
def test_a_pair_is_a_metric_and_a_threshold(evaluation, rule):
    with pytest.raises(DataError, match=r"correct must be a metric and a threshold; got \("):
        correctness(evaluation, rule)


def test_no_thresholds_at_all_are_refused(evaluation):
    with pytest.raises(DataError, match=r"correct must hold at least one threshold; got none"):
        correctness(evaluation, {})


@given(
    st.lists(st.none() | st.floats(0, 1), min_size=1, max_size=20).filter(
        lambda cells: any(cell is not None for cell in cells)
    ),
    st.floats(0, 1),
)
def test_every_query_is_right_or_wrong_or_unscored(cells, threshold):
    columns = {"query_id": range(len(cells)), "faithfulness": cells}
    right = told(correctness(RAGPipelineEvaluation("x", columns), ("faithfulness", threshold)))
    assert right == [None if cell is None else cell >= threshold for cell in cells]
