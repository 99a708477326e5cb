"""Ids that stand within a passage: in its metadata, or in the object of a node.

The shapes are those of LlamaIndex, LangChain, Haystack, Dify, Qdrant, Milvus, Elasticsearch,
Bedrock and OpenAI's file search, each with the pair of ids that a reader of it would write down.
"""

from __future__ import annotations

import json

import pytest

from rageval_report import read_records, score
from rageval_report.errors import DataError
from rageval_report.metrics.judged_sets import evaluate_judged_set
from rageval_report.records import record_table
from rageval_report.records.table import note_of_table

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

ONE_ID = {
    "langchain, by its source": (
        {"page_content": "Oslo", "metadata": {"source": "guide"}},
        "guide",
    ),
    "the object of a document": ({"document": {"id": "guide", "content": "Oslo"}}, "guide"),
    "file search": (
        {"filename": "guide.md", "file_id": "guide", "content": [{"type": "text", "text": "Oslo"}]},
        "guide",
    ),
    "a page of the web": ({"url": "guide", "content": "Oslo", "title": "G"}, "guide"),
}


def record(**cells):
    return record_table([{"query_id": "q", **cells}], unretrieved_citations="keep")


@pytest.mark.parametrize("name", BOTH_IDS)
def test_both_ids_are_read_within_a_passage(name):
    passage, document, chunk, text = BOTH_IDS[name]
    table = record(retrieved=[passage], citations=[passage])
    row = table.loc["q"]
    assert (row["retrieved"], row["retrieved_sections"]) == ([chunk], [(document, chunk)])
    assert (row["citations"], row["cited_sections"]) == ([chunk], [(document, chunk)])
    assert row["contexts"] == [text]
    note = note_of_table(table)
    assert note.startswith("ids: of retrieved passages, ")
    assert "for the id of the document and" in note
    assert record_table(table).equals(table)
    assert note_of_table(record_table(table)) == note


@pytest.mark.parametrize("name", ONE_ID)
def test_a_passage_that_names_its_document_alone_has_that_id(name):
    passage, document = ONE_ID[name]
    table = record(retrieved=[passage])
    assert table.loc["q", "retrieved"] == [document]
    assert table.loc["q", "contexts"] == ["Oslo"]
    assert "retrieved_sections" not in table


def test_a_passage_may_be_paired_with_its_score():
    passage = {"page_content": "Oslo", "metadata": {"source": "guide", "id": "n1"}}
    row = record(retrieved=[[passage, 0.25], (passage | {"score": 0.5}, None)]).loc["q"]
    assert row["retrieved_sections"] == [("guide", "n1")] * 2
    assert (row["retrieved_scores"], row["contexts"]) == ([0.25, 0.5], ["Oslo", "Oslo"])


@pytest.mark.parametrize("name", BOTH_IDS)
def test_gold_is_read_like_a_passage(name):
    passage, document, chunk, _ = BOTH_IDS[name]
    gold = {key: value for key, value in passage.items() if key != "score"}
    row = record(relevant=[gold]).loc["q"]
    assert row["relevant"] == {chunk: 1.0}
    assert row["relevant_sections"] == [(document, chunk, 1.0)]


@pytest.mark.parametrize(
    "passage",
    [
        {"id": "a", "text": "x", "metadata": {"page": 3, "section": "Introduction"}},
        {"node_id": "a", "id": "b", "text": "x"},
        {"id": "a", "metadata": {"source": None, "doc_id": "", "document_id": 1.5}},
        {"id": "a", "metadata": {"source": "a"}},
        {"doc_id": "a", "page": 3},
        {"id": "a", "source": "wiki", "url": "https://example.org"},
        {"chunk_id": "a", "metadata": "text"},
    ],
)
def test_a_plain_id_stays_the_only_one(passage):
    table = record(retrieved=[passage])
    assert table.loc["q", "retrieved"] == ["a"]
    assert "retrieved_sections" not in table
    assert note_of_table(table) == ""


def test_a_span_goes_before_a_name_of_the_document():
    passage = {"filename": "g.md", "start": 0, "end": 9, "metadata": {"source": "web"}}
    row = record(retrieved=[passage], relevant=[passage]).loc["q"]
    assert row["relevant"] == {row["retrieved"][0]: 1.0}
    assert "web" not in row["retrieved"][0]


def test_a_source_index_goes_before_a_name_of_the_document():
    row = record(retrieved=["a", "b"], citations=[{"source_index": 2, "source": "web"}]).loc["q"]
    assert row["citations"] == ["b"]


@pytest.mark.parametrize("passage", [{"metadata": {"page": 3}}, {"text": "Oslo"}, {"node": {}}])
def test_a_passage_without_any_id_is_refused(passage):
    with pytest.raises(DataError, match="expected a result with an id or a span"):
        record(retrieved=[passage])


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


def test_the_usual_key_is_taken_if_it_meets_the_gold_as_often():
    passage = {"id": "c7", "metadata": {"id": "c7", "source": "web"}}
    row = record(retrieved=[passage], relevant=["c7"]).loc["q"]
    assert row["retrieved_sections"] == [("web", "c7")]


def test_files_of_records_have_both_ids_too(tmp_path):
    passage = BOTH_IDS["langchain"][0]
    row = {"query_id": "q", "retrieved": [passage], "relevant": ["guide"], "answer": "Oslo"}
    path = tmp_path / "records.jsonl"
    lines = [json.dumps(row), json.dumps(row | {"query_id": "r"})]
    path.write_text("\n".join(lines), encoding="utf-8")
    table = read_records(path)
    assert table.loc["q", "retrieved_sections"] == [("guide", "n1")]
    evaluation = score(table, "recall@5")
    assert evaluation.get_aggregated_scores("recall@5") == 1.0
    assert any("metadata.source is taken" in note for note in evaluation.notes)


def test_a_judged_set_says_where_the_ids_were():
    rows = [
        {
            "query_id": "q",
            "question": "?",
            "retrieved": passages(("d1", "1"), ("d2", "2")),
            "relevant": {"d2": 2},
            "reference": "Oslo",
            "answer": "Oslo",
        }
    ]
    result = evaluate_judged_set(rows, generation="exact_match")
    assert result.evaluation.get_aggregated_scores("recall@10") == 1.0
    assert any("metadata.file_name is taken" in note for note in result.evaluation.notes)
