import math

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError
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


def test_without_an_exact_match_the_error_shows_how_to_say_it():
    evaluation = RAGPipelineEvaluation("dense", {"query_id": ["a"], "recall": [1.0]})
    message = r"'dense' has no metric of correct answers\. Pass .* correct=\('faithf"
    with pytest.raises(DataError, match=message):
        correctness(evaluation)


def test_a_metric_alone_asks_for_its_best_score(evaluation):
    assert told(correctness(evaluation, "hallucination")) == [True, False, False, False]
    assert told(correctness(evaluation, "Groundedness")) == [False, False, False, None]


def test_a_metric_without_a_best_score_needs_a_threshold(evaluation):
    with pytest.raises(DataError, match=r"'latency_ms' has no best score; pass a threshold"):
        correctness(evaluation, "latency_ms")


def test_several_thresholds_must_all_hold(evaluation):
    rule = {"exact_match": 1, "hallucination": 0.1}
    assert told(correctness(evaluation, rule)) == [True, False, False, True]


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


@pytest.mark.parametrize("answer", [True, [True], [], pd.Series([True] * 5)])
def test_a_function_that_gives_too_few_or_too_many_is_refused(evaluation, answer):
    with pytest.raises(
        DataError, match=r"must return one boolean per row \(4\); it returned [015]"
    ):
        correctness(evaluation, lambda rows: answer)


@pytest.mark.parametrize("threshold", [math.nan, math.inf, "0.5", None, True])
def test_a_threshold_is_a_finite_number(evaluation, threshold):
    with pytest.raises(DataError, match=r"a threshold must be a finite number; got"):
        correctness(evaluation, ("faithfulness", threshold))
    with pytest.raises(DataError, match=r"a threshold must be a finite number; got"):
        correctness(evaluation, {"faithfulness": threshold})
