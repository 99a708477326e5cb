"""Documents and chunks: which ids passages and gold carry, and at which level they are compared."""

from __future__ import annotations

import pytest

from rageval_report import score
from rageval_report.errors import DataError
from rageval_report.records import record_table
from rageval_report.records.levels import choose_level, count_levels, records_at_level
from rageval_report.records.table import note_of_table


def record(**cells):
    return record_table([{"query_id": "q", **cells}], unretrieved_citations="keep")


def both(document, chunk, **more):
    return {"document_id": document, "node_id": chunk, **more}


@pytest.mark.parametrize(
    "passage",
    [
        {"doc_id": "guide", "chunk_id": "c1"},
        {"document_id": "guide", "node_id": "c1", "content": "Rome"},
        {"ref_doc_id": "guide", "id": "c1"},
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


# -- the choice of a level


@pytest.mark.parametrize(
    ("retrieved", "relevant", "level"),
    [
        (["a"], ["a"], None),  # one id each
        ([both("a", "1")], [both("a", "1")], "chunk"),
        ([both("a", "1")], ["a"], "document"),
        ([both("a", "1")], ["elsewhere"], "chunk"),
        (["a"], [both("a", "1")], "document"),  # the server names documents only
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


def test_chunks_that_documents_number_alike_are_different_chunks():
    gold = [both("b", "0", relevance=2), both("a", "0", relevance=0)]
    row = records_at_level(
        record(retrieved=[both("a", "0"), both("b", "0")], relevant=gold), "chunk"
    ).loc["q"]
    assert len(set(row["retrieved"])) == 2
    assert [row["relevant"][name] for name in row["retrieved"]] == [0.0, 2.0]


# -- ids that stand within a passage: in its metadata, or in the object of a node


# What was retrieved, the document, the chunk, and the text.
BOTH_IDS = {
    "node with metadata": (
        {"node": {"node_id": "n1", "metadata": {"doc_id": "guide"}, "text": "Oslo"}, "score": 0.5},
        *("guide", "n1", "Oslo"),
    ),
    "node with its source": (
        {
            "node": {
                "id_": "n1",
                "metadata": {},
                "relationships": {"1": {"node_id": "guide", "node_type": "4", "metadata": {}}},
                "text": "Oslo",
            },
            "score": 0.5,
            "class_name": "NodeWithScore",
        },
        *("guide", "n1", "Oslo"),
    ),
    "langchain": (
        {"page_content": "Oslo", "metadata": {"source": "guide", "id": "n1"}},
        *("guide", "n1", "Oslo"),
    ),
    "langchain with an id of its own": (
        {"id": "n1", "metadata": {"source": "guide"}, "page_content": "Oslo", "type": "Document"},
        *("guide", "n1", "Oslo"),
    ),
    "langchain, serialised": (
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain", "schema", "document", "Document"],
            "kwargs": {"page_content": "Oslo", "metadata": {"source": "guide", "chunk_id": "n1"}},
        },
        *("guide", "n1", "Oslo"),
    ),
    "haystack, split": (
        {"content": "Oslo", "meta": {"source_id": "guide", "split_id": 3}},
        *("guide", "3", "Oslo"),
    ),
    "haystack": (
        {"id": "n1", "content": "Oslo", "meta": {"source_id": "guide", "split_id": 3}},
        *("guide", "n1", "Oslo"),
    ),
    "dify": (
        {"segment": {"id": "n1", "document_id": "guide", "content": "Oslo"}, "score": 0.5},
        *("guide", "n1", "Oslo"),
    ),
    "dify, with the object of the document": (
        {"segment": {"id": "n1", "content": "Oslo", "document": {"id": "guide", "name": "G"}}},
        *("guide", "n1", "Oslo"),
    ),
    "qdrant": (
        {"id": "n1", "score": 0.5, "payload": {"text": "Oslo", "metadata": {"docId": "guide"}}},
        *("guide", "n1", "Oslo"),
    ),
    "milvus": (
        {"id": 7, "distance": 0.5, "entity": {"text": "Oslo", "document_id": "guide"}},
        *("guide", "7", "Oslo"),
    ),
    "elasticsearch": (
        {"_id": "n1", "_source": {"content": "Oslo", "file_path": "guide"}, "_score": 0.5},
        *("guide", "n1", "Oslo"),
    ),
    "bedrock": (
        {
            "content": {"text": "Oslo"},
            "location": {"type": "S3", "s3Location": {"uri": "guide"}},
            "metadata": {"x-amz-bedrock-kb-chunk-id": "n1"},
        },
        *("guide", "n1", "Oslo"),
    ),
}


def record_of_passage_ids(**cells):
    return record_table([{"query_id": "q", **cells}], unretrieved_citations="keep")


@pytest.mark.parametrize("name", BOTH_IDS)
def test_both_ids_are_read_within_a_passage(name):
    passage, document, chunk, text = BOTH_IDS[name]
    table = record_of_passage_ids(retrieved=[passage], citations=[passage])
    row = table.loc["q"]
    assert (row["retrieved"], row["retrieved_sections"]) == ([chunk], [(document, chunk)])
    assert (row["citations"], row["cited_sections"]) == ([chunk], [(document, chunk)])
    assert row["contexts"] == [text]
    note = note_of_table(table)
    assert note.startswith("ids: of retrieved passages, ")
    assert "for the id of the document and" in note
    assert record_table(table).equals(table)
    assert note_of_table(record_table(table)) == note


@pytest.mark.parametrize(
    "passage",
    [
        {"id": "a", "text": "x", "metadata": {"page": 3, "section": "Introduction"}},
        {"node_id": "a", "id": "b", "text": "x"},
        {"id": "a", "metadata": {"source": None, "doc_id": "", "document_id": 1.5}},
        {"id": "a", "metadata": {"source": "a"}},
        {"id": "a", "source": "wiki", "url": "https://example.org"},
    ],
)
def test_a_plain_id_stays_the_only_one(passage):
    table = record_of_passage_ids(retrieved=[passage])
    assert table.loc["q", "retrieved"] == ["a"]
    assert "retrieved_sections" not in table
    assert note_of_table(table) == ""


def passages(*pairs):
    return [
        {"text": "x", "metadata": {"file_name": document, "chunk_id": chunk}}
        for document, chunk in pairs
    ]


@pytest.mark.parametrize(
    ("gold", "level", "recall"),
    [(["b.md"], "document", 1.0), (["2"], "chunk", 1.0), (["a.md", "z.md"], "document", 0.5)],
)
def test_recall_is_computed_at_the_level_of_the_gold(gold, level, recall):
    retrieved = passages(("a.md", "1"), ("b.md", "2"), ("b.md", "3"))
    rows = [{"query_id": "q", "retrieved": retrieved, "relevant": gold}]
    evaluation = score(rows, "recall@5")
    assert evaluation.get_aggregated_scores("recall@5") == recall
    assert evaluation.config["retrieval"]["level"] == level
    [note] = [note for note in evaluation.notes if note.startswith("ids: ")]
    assert "metadata.file_name is taken for the id of the document" in note
    assert "metadata.chunk_id for that of the chunk" in note


@pytest.mark.parametrize(
    ("passage", "gold"),
    [
        ({"id": "7f3a", "metadata": {"id": "c7", "source": "web"}}, "c7"),
        ({"id": "7f3a", "payload": {"chunk_id": "c7", "doc_id": "d"}}, "c7"),
        ({"node_id": "n", "metadata": {"ref_doc_id": "7f3a", "file_name": "a.md"}}, "a.md"),
        ({"id": "n", "metadata": {"file_path": "/data/a.md", "url": "x/a"}}, "x/a"),
    ],
)
def test_of_several_keys_the_one_that_meets_the_gold_is_taken(passage, gold):
    rows = [
        {"query_id": "p", "retrieved": [{**passage, "extra": 1}], "relevant": [gold]},
        {"query_id": "q", "retrieved": [passage, "z"], "relevant": ["elsewhere", gold]},
    ]
    values = score(rows, "recall@5").scores["recall@5"]
    assert values.tolist() == [1.0, 0.5]
    assert score(rows[::-1], "recall@5").scores["recall@5"].to_dict() == values.to_dict()
