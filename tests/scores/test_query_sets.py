"""The identity of a set of queries depends on ids and references, and on nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation
from rageval_report.scores.fingerprints import fingerprints_of_texts
from rageval_report.scores.query_sets import QuerySet, reference_words

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
REFERENCES = st.one_of(st.none(), TEXTS)


def set_of(ids, references=None):
    words = None if references is None else reference_words(references)
    return QuerySet.of(fingerprints_of_texts(ids), words)


@given(st.dictionaries(TEXTS, REFERENCES, max_size=30), st.data())
def test_neither_the_order_nor_the_parts_change_the_set(queries, data):
    shuffled = data.draw(st.permutations([*queries.items()]))
    cut = data.draw(st.integers(0, len(queries)))
    parts = [
        set_of([query_id for query_id, _ in part], [reference for _, reference in part])
        for part in (shuffled[:cut], shuffled[cut:])
    ]
    assert parts[0] + parts[1] == set_of([*queries], [*queries.values()])


def test_sets_of_numbered_ids_are_all_different():
    # Sums of numbers with a pattern would be equal for many of these: q1 and q4 for q2 and q3.
    found = {
        set_of([f"q{first}", f"q{second}"]).digits
        for first in range(150)
        for second in range(first)
    }
    assert len(found) == 150 * 149 // 2


@pytest.mark.parametrize(
    ("first", "second", "are_same"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a", None], ["a", ""], False),
        (["a", "[1]"], ["a", [1]], False),
        ([1.0, float("nan")], [1, None], True),
        ([["x", "y"], "b"], [("x", "y"), "b"], True),
        ([["x", "y"], "b"], [["y", "x"], "b"], False),
        (["a", "b"], ["b", "a"], False),
    ],
)
def test_references_are_part_of_the_identity(first, second, are_same):
    assert (set_of(["q1", "q2"], first) == set_of(["q1", "q2"], second)) == are_same


def test_no_column_of_references_is_one_without_references():
    data = {"query_id": ["q1", "q2"], "recall": [0.5, 1.0]}
    plain, empty = (
        QuerySet.of_evaluation(RAGPipelineEvaluation("hybrid", {**data, **more}))
        for more in ({}, {"reference": [None, None]})
    )
    assert plain == empty == set_of(["q1", "q2"])
