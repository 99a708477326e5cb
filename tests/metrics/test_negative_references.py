"""Texts that an answer must not contain. Witnesses: arithmetic by hand, regular expressions."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report import score
from rageval_report.errors import DataError
from rageval_report.metrics.text import NegativeReferences, negative_reference_hit


def hit(answer, negatives, references=()):
    view = NegativeReferences([answer], [list(negatives)], [list(references)])
    return negative_reference_hit(view).item()


@pytest.mark.parametrize(
    ("answer", "negatives", "references", "expected"),
    [
        ("The capital is LYON!", ["Lyon"], [], 1.0),
        ("Lyonnais cooking", ["Lyon"], [], 0.0),  # whole words
        ("It was in  New\nYork.", ["Boston", "new york"], ["Chicago"], 1.0),
        ("York is new", ["New York"], [], 0.0),  # in a row
        ("Paris, Texas", ["Paris"], ["Paris, Texas"], 0.0),  # only as a part of what is right
        ("Paris, Texas, or Paris", ["Paris"], ["Paris, Texas"], 1.0),
        ("Paris", ["Paris"], ["Paris"], 1.0),  # the same text is right and wrong: golden check
        ("東京です", ["大阪"], ["東京"], 0.0),
        ("大阪です", ["大阪"], ["東京"], 1.0),
        ("It costs 12", ["1"], [], 0.0),
        ("", ["Lyon"], [], 0.0),
    ],
)
def test_an_answer_that_contains_a_negative_reference_is_a_hit(
    answer, negatives, references, expected
):
    assert hit(answer, negatives, references) == expected


@pytest.mark.parametrize(("answer", "negatives"), [(None, ["x"]), ("x", []), ("x", ["?", " "])])
def test_without_an_answer_or_a_negative_reference_there_is_no_score(answer, negatives):
    assert np.isnan(hit(answer, negatives))


words = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=6)


@given(words, words)
def test_without_references_it_is_a_search_for_whole_words(answer, wrong):
    pattern = rf"\b{re.escape(' '.join(wrong))}\b"
    assert hit(" ".join(answer), [" ".join(wrong)]) == bool(re.search(pattern, " ".join(answer)))


def test_there_is_nothing_to_cut_off():
    with pytest.raises(DataError, match="has no cutoff"):
        negative_reference_hit(NegativeReferences([], [], []), 5)


@pytest.mark.parametrize("column", ["negative_reference", "negative_references", "wrong_answers"])
def test_records_are_scored_and_lower_is_better(column):
    rows = [
        {"query_id": "a", "answer": "Lyon", "reference": "Paris", column: ["Lyon", "Nice"]},
        {"query_id": "b", "answer": "Paris", "reference": "Paris", column: "Lyon"},
        {"query_id": "c", "answer": "Paris", "reference": "Paris", column: None},
        {"query_id": "d", "answer": "", "reference": "x", column: ["y"], "error": "time-out"},
    ]
    evaluation = score(rows, "negative_reference_hit")
    assert evaluation.get_aggregated_scores("negative_reference_hit") == 0.5  # one of two
    assert evaluation.states["negative_reference_hit"].tolist() == [
        *("scored", "scored", "not applicable", "failed")
    ]
    metric = evaluation.metrics["negative_reference_hit"]
    assert (metric.greater_is_better, metric.kind) == (False, "binary")
