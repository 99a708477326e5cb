"""The identity of a set of queries depends on ids and references, and on nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report import RAGPipelineEvaluation
from rageval_report.scores.run_file import query_set_hash

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=20)
REFERENCES = st.one_of(st.none(), TEXTS)


def hash_of(ids, references=None):
    data = {"query_id": ids, "recall": [0.5] * len(ids)}
    if references is not None:
        data["reference"] = references
    return query_set_hash(RAGPipelineEvaluation("hybrid", data))


@given(st.dictionaries(TEXTS, REFERENCES, min_size=1, max_size=10), st.data())
def test_the_order_does_not_change_the_set(queries, data):
    shuffled = data.draw(st.permutations([*queries.items()]))
    ids, references = zip(*shuffled, strict=True)
    assert hash_of([*ids], [*references]) == hash_of([*queries], [*queries.values()])


@pytest.mark.parametrize(
    ("first", "second", "are_same"),
    [
        (["a", "b"], ["a", "b"], True),
        (["a", None], ["a", ""], False),
        ([1.0, float("nan")], [1, None], True),
        ([["x", "y"], "b"], [("x", "y"), "b"], True),
        ([["x", "y"], "b"], [["y", "x"], "b"], False),
        (["a", "b"], ["b", "a"], False),
    ],
)
def test_references_are_part_of_the_identity(first, second, are_same):
    assert (hash_of(["q1", "q2"], first) == hash_of(["q1", "q2"], second)) == are_same


def test_no_column_of_references_is_one_without_references():
    assert hash_of(["q1", "q2"], [None, None]) == hash_of(["q1", "q2"])
