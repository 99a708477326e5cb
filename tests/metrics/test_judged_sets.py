"""A pipeline on a judged set, as ADR-013: retrieval and generation told apart, gates held last."""

from __future__ import annotations

import pytest

from rageval_report.datasets import load_dataset
from rageval_report.errors import DataError, RagevalWarning
from rageval_report.golden import highly_relevant
from rageval_report.metrics.judged_sets import evaluate_judged_set

# Found and right, found and wrong, lost and right, lost and wrong, no answer at all.
ROWS = [
    {"query_id": "q1", "relevant": {"a": 2, "z": 1}, "retrieved": ["a", "x"], "answer": "Yes."},
    {"query_id": "q2", "relevant": {"a": 2, "b": 2}, "retrieved": ["b", "a"], "answer": "Maybe."},
    {"query_id": "q3", "relevant": {"a": 2}, "retrieved": ["x", "z"], "answer": "Yes."},
    {"query_id": "q4", "relevant": {"a": 2, "b": 2}, "retrieved": ["a"], "answer": "No."},
    {"query_id": "q5", "relevant": {"a": 2}, "error": "timeout: no answer"},
    {"query_id": "q6", "relevant": {"a": 1}, "retrieved": ["a"], "answer": "Yes."},
]
RECORDS = [{"question": f"Is it {row['query_id']}?", "reference": "Yes.", **row} for row in ROWS]


def cells(found):
    columns = ["retrieval", "n", "correct", "incorrect", "unscored"]
    return [tuple(row) for row in found.table.frame[columns].to_numpy().tolist()]


def test_retrieval_and_generation_are_told_apart():
    found = evaluate_judged_set(RECORDS, generation="exact_match")
    assert cells(found) == [
        ("found", 2, 1, 1, 0),
        ("not found", 2, 1, 1, 0),
        ("not scored", 1, 0, 0, 1),
        ("all", 5, 2, 2, 1),
    ]


def test_recall_that_no_ranking_can_reach_is_said(real_data):
    """14, 15, 16, 20 and 21 expected documents, ten places: 10/14 ... 10/21 by arithmetic."""
    with pytest.warns(RagevalWarning, match="no questions"):
        records = highly_relevant(load_dataset("beir", real_data("beir_nfcorpus_qrels")))
    sizes = records["highly_relevant_count"]
    chosen = records.loc[[sizes.index[sizes == n][0] for n in (14, 15, 16, 20, 21)]]
    answered = chosen.assign(
        retrieved=[list(one) for one in chosen["relevant"]], answer="Yes.", reference="Yes."
    )
    found = evaluate_judged_set(answered, generation="exact_match")
    scores = found.evaluation.scores
    assert scores["recall@10"].round(3).tolist() == [0.714, 0.667, 0.625, 0.5, 0.476]
    assert scores["reachable_recall@10"].tolist() == [1.0] * 5
    assert cells(found)[0] == ("found", 5, 5, 0, 0)
    best = sum(10 / n for n in (14, 15, 16, 20, 21)) / 5
    assert any(f"cannot exceed {best:.3f}" in one for one in found.table.notes)


def test_ids_of_the_pipeline_are_mapped_and_what_has_none_stays_expected():
    row = {**RECORDS[1], "retrieved": ["note-7", "note-8"]}
    found = evaluate_judged_set(
        [row], generation="exact_match", mapping={"a": ["note-7", "note-9"]}
    )
    assert found.evaluation.scores["recall@10"].tolist() == [0.5]
    assert any("1 expected documents are not in the mapping" in one for one in found.table.notes)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"k": 0}, "k must be an integer >= 1"),
        ({"minimum": 0}, "minimum must be above 0"),
        ({"generation": "recall@10"}, "is a metric of retrieval"),
        ({"grade": 3}, "no query has a document of grade 3"),
        ({"generation": "answer_correct"}, "needs a judge"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options, told):
    with pytest.raises(DataError, match=told):
        evaluate_judged_set(RECORDS, **{"generation": "exact_match", **options})
