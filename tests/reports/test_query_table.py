"""The table of queries: outcomes, causes, states and texts by hand."""

from __future__ import annotations

import numpy as np
import pytest

from rageval_report import RAGPipelineEvaluation
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


def test_contexts_are_lists_and_a_passage_of_both_is_kept_once(document):
    contexts = field_of(document, "contexts")
    ours, theirs = contexts["runs"][0][0], contexts["runs"][1][0]
    assert ours[1] == theirs[0]
    assert document["texts"].count("a shared passage") == 1


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
