"""Documents and chunks: which ids passages and gold carry, and at which level they are compared."""

from __future__ import annotations

import pytest

from rageval_report.errors import DataError
from rageval_report.records import record_table
from rageval_report.records.levels import choose_level, count_levels, records_at_level


def record(**cells):
    return record_table([{"query_id": "q", **cells}], unretrieved_citations="keep")


def both(document, chunk, **more):
    return {"document_id": document, "node_id": chunk, **more}


@pytest.mark.parametrize(
    "passage",
    [
        {"doc_id": "guide", "chunk_id": "c1"},
        {"document_id": "guide", "node_id": "c1", "content": "Rome"},
        {"documentId": "guide", "chunkId": "c1"},
        {"ref_doc_id": "guide", "id": "c1"},
        {"document_id": "guide", "_id": "c1"},
        {"docid": "guide", "passage_id": "c1"},
    ],
)
def test_both_ids_of_a_passage_are_kept(passage):
    row = record(retrieved=[passage], relevant=[passage], citations=[passage]).loc["q"]
    assert (row["retrieved"], row["retrieved_sections"]) == (["c1"], [("guide", "c1")])
    assert (row["relevant"], row["relevant_sections"]) == ({"c1": 1.0}, [("guide", "c1", 1.0)])
    assert (row["citations"], row["cited_sections"]) == (["c1"], [("guide", "c1")])


def test_documents_may_have_a_column_of_their_own():
    table = record(
        retrieved_chunk_ids=["c1", ("c2", 0.5)],
        retrieved_doc_ids=["guide", "notes"],
        relevant_chunk_ids={"c2": 2},
        gold_doc_ids=["notes"],
        cited_chunk_ids=["c2"],
        cited_doc_ids=["notes"],
    )
    row = table.loc["q"]
    assert row["retrieved_sections"] == [("guide", "c1"), ("notes", "c2")]
    assert row["relevant_sections"] == [("notes", "c2", 2.0)]
    assert row["cited_sections"] == [("notes", "c2")]
    assert row["retrieved_scores"] == [None, 0.5]
    assert record_table(table).equals(table)


def test_a_column_of_documents_must_fit_that_of_the_chunks():
    with pytest.raises(
        DataError,
        match=r"retrieved_doc_ids must have one document for each item of retrieved_chunk",
    ):
        record(retrieved_chunk_ids=["c1", "c2"], retrieved_doc_ids=["guide"])


def test_a_citation_by_its_place_names_both_ids_of_the_passage():
    row = record(retrieved=[both("a", "1"), both("b", "2")], citations=[{"source_index": 2}]).loc[
        "q"
    ]
    assert (row["citations"], row["cited_sections"]) == (["2"], [("b", "2")])


def test_a_source_without_a_score_keeps_its_place():
    row = record(retrieved=[("d1", 0.9), "d2", {"id": "d3", "score": None}, ["d4", 0.1]]).loc["q"]
    assert row["retrieved"] == ["d1", "d2", "d3", "d4"]
    assert row["retrieved_scores"] == [0.9, None, None, 0.1]


# -- the choice of a level


@pytest.mark.parametrize(
    ("retrieved", "relevant", "level"),
    [
        (["a"], ["a"], None),  # one id each
        ([both("a", "1")], [both("a", "1")], "chunk"),
        ([both("a", "1")], ["a"], "document"),
        ([both("a", "1")], ["1"], "chunk"),
        ([both("a", "1")], ["elsewhere"], "chunk"),
        (["a"], [both("a", "1")], "document"),  # the server names documents only
        (["1"], [both("a", "1")], "chunk"),
        ([both("a", "1"), both("b", "2")], [both("a", "1"), "b"], "document"),
        ([both("a", "1")], [both("a", "1"), {"doc_id": "z", "relevance": 0}], "chunk"),
    ],
)
def test_the_level_is_the_one_at_which_gold_and_passages_meet(retrieved, relevant, level):
    choice = choose_level(count_levels(record(retrieved=retrieved, relevant=relevant)))
    assert choice.level == level
    assert bool(choice.note) == (level is not None)
    assert choice.note.startswith("level: ") or level is None


# -- ids at a level


def test_of_several_gold_chunks_of_a_document_the_best_grade_counts():
    gold = [both("a", "1", relevance=1), both("a", "2", relevance=3), both("b", "3", relevance=0)]
    table = record(retrieved=[both("a", "1"), "z"], relevant=gold)
    at_documents = records_at_level(table, "document").loc["q"]
    assert at_documents["retrieved"] == ["a", "z"]
    assert at_documents["relevant"] == {"a": 3.0, "b": 0.0}


def test_chunks_that_documents_number_alike_are_different_chunks():
    gold = [both("b", "0", relevance=2), both("a", "0", relevance=0)]
    row = records_at_level(
        record(retrieved=[both("a", "0"), both("b", "0")], relevant=gold), "chunk"
    ).loc["q"]
    assert len(set(row["retrieved"])) == 2
    assert [row["relevant"][name] for name in row["retrieved"]] == [0.0, 2.0]
