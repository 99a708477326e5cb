"""Replies whose documents or answer are at another path: the line to type is named."""

import json

import pytest

from rageval_report import score
from rageval_report.errors import PipelineError, is_doubt
from rageval_report.runner import collect_answers
from rageval_report.runner.reply_keys import value_at
from rageval_report.runner.replies import ResponsePaths, record_fields
from rageval_report.runner.reply_keys import (
    SampledReply,
    answer_path,
    doubts_about_replies,
    id_path,
    notes_on_id_places,
)

TEXT = "Oslo is the capital of Norway, and its largest city."

LISTS = {
    "sources.*.node_id": {"sources": [{"node_id": "n1", "text": TEXT}]},
    "source_nodes.*.node.id_": {
        "source_nodes": [{"score": 0.5, "node": {"id_": "n1", "text": TEXT}}]
    },
    "result.documents.*.metadata.source": {
        "result": {"documents": [{"page_content": TEXT, "metadata": {"source": "a.md"}}]}
    },
    "hits.*.docno": {"hits": [{"docno": "d1", "rank": 1}]},
    "data.chunks.*.chunkId": {"data": {"chunks": [{"chunkId": 17, "content": TEXT}]}},
    "document_ids": {"document_ids": ["d1", "d2"]},
    "sources": {"sources": ["a.md", "b.md"]},
}

ANSWERS = {
    "response": {"response": TEXT},
    "result.answer": {"status": "ok", "result": {"answer": TEXT, "id": "r 1"}},
    "choices.0.message.content": {"choices": [{"message": {"role": "assistant", "content": TEXT}}]},
    "output.text": {"question": "Where is it?", "output": {"text": TEXT}},
    "data.outputs.text": {"data": {"outputs": {"text": TEXT}}},
    "says": {"says": TEXT, "took": 3},
}


@pytest.mark.parametrize("path", LISTS)
def test_the_path_of_the_ids_is_named(path):
    document = {"answer": TEXT, **LISTS[path]}
    (doubt,) = doubts_about_replies([SampledReply(document)] * 3, {"answer"})
    assert f"--path retrieved={path}" in doubt.advice
    assert f"ResponsePaths(retrieved='{path}'" in doubt.advice
    assert value_at(document, path)


@pytest.mark.parametrize("path", ANSWERS)
def test_the_path_of_the_answer_is_named(path):
    assert answer_path(ANSWERS[path]) == path


def test_gold_decides_between_keys():
    document = {"answer": TEXT, "sources": [{"id": "n7", "metadata": {"origin": "a.md"}}]}
    assert id_path([SampledReply(document)]) == "sources.*.id"
    reply = SampledReply(document, frozenset(["a.md"]), ("n7",))
    assert id_path([reply]) == "sources.*.metadata.origin"
    (doubt,) = doubts_about_replies([reply], {"answer", "retrieved"})
    assert "--path retrieved=sources.*.metadata.origin" in doubt.advice


@pytest.mark.parametrize(
    "document",
    [
        {"answer": TEXT},
        {"answer": TEXT, "usage": {"tokens": [1, 2]}},
        {"answer": TEXT, "messages": [{"id": "m1", "role": "user"}]},
        {"answer": TEXT, "sources": []},
        "only a text",
        None,
    ],
)
def test_nothing_is_said_where_nothing_looks_like_documents(document):
    assert doubts_about_replies([SampledReply(document)] * 3, {"answer"}) == []


def test_nothing_is_said_where_the_ids_were_read():
    reply = SampledReply({"retrieved": ["d1"], "sources": [{"id": "n1"}]}, frozenset("d1"), ("d1",))
    assert doubts_about_replies([reply], {"answer", "retrieved"}) == []


def test_a_server_with_other_keys_is_doubted_over_a_real_socket(says, target, queries, tmp_path):
    document = {"answer": TEXT, "sources": [{"node_id": "n1", "text": TEXT}, {"node_id": "n2"}]}
    says.body = json.dumps(document).encode()
    rows = [{**row, "relevant": ["n2"]} for row in queries(4)]
    finished = collect_answers(rows, target(says.url), tmp_path / "run")
    (doubt,) = filter(is_doubt, finished.notes)
    assert "no reply has retrieved where expected, but all 4 that were looked at have" in doubt
    assert "--path retrieved=sources.*.node_id" in doubt
    # Nothing is asked again, and the doubt still holds.
    resumed = collect_answers(rows, target(says.url), tmp_path / "run", resume=True)
    assert resumed.n_new == 0
    assert doubt in resumed.notes


def test_a_missing_answer_is_an_error_that_names_its_path(says, target, queries, tmp_path):
    says.body = json.dumps({"choices": [{"message": {"content": TEXT}}]}).encode()
    with pytest.raises(PipelineError, match=r"--path answer=choices\.0\.message\.content"):
        collect_answers(queries(30), target(says.url), tmp_path / "run")


# -- ids within the passages

NODES = [{"node": {"id_": "n1", "metadata": {"file_name": "a.md"}, "text": TEXT}, "score": 0.5}]
HITS = [{"id": "n1", "payload": {"content": TEXT, "metadata": {"document_id": "a.md"}}}]


@pytest.mark.parametrize("passages", [NODES, HITS])
@pytest.mark.parametrize("gold", [["a.md"], ["n1"]])
def test_a_live_reply_keeps_both_ids_of_its_passages(tmp_path, passages, gold):
    rows = [{"query_id": "q", "question": "Where?", "relevant": gold}]
    answer = {"answer": "Oslo.", "retrieved": passages}
    finished = collect_answers(rows, lambda _: answer, tmp_path / "run")
    [table] = finished.blocks()
    assert table.loc["q", "retrieved_sections"] == [("a.md", "n1")]
    assert score(table, "recall@5").get_aggregated_scores("recall@5") == 1.0
    assert [is_doubt(note) for note in finished.notes] == [False]
    [note] = finished.notes
    place = "node.metadata.file_name" if passages is NODES else "payload.metadata.document_id"
    assert f"{place} is taken for the id of the document" in note
    assert f"--path retrieved=retrieved.*.{place}" in note
    again = collect_answers(rows, lambda _: answer, tmp_path / "run", resume=True)
    assert again.notes == finished.notes


def test_a_path_overrules_where_the_ids_are_read(tmp_path):
    path = "retrieved.*.node.metadata.file_name"
    fields = record_fields({"answer": "Oslo.", "retrieved": NODES}, ResponsePaths(retrieved=path))
    assert fields["retrieved"] == ["a.md"]
    assert "retrieved_sections" not in fields
    reply = SampledReply({"retrieved": NODES}, retrieved=("a.md",))
    assert notes_on_id_places([reply]) == []


@pytest.mark.parametrize("passages", [NODES, HITS])
def test_the_list_itself_is_named_if_its_passages_carry_both_ids(passages):
    reply = SampledReply({"answer": "Oslo.", "data": {"sources": passages}})
    [doubt] = doubts_about_replies([reply], ["answer"])
    assert "--path retrieved=data.sources " in doubt.advice
    fields = record_fields(reply.document, ResponsePaths(retrieved="data.sources"))
    assert fields["retrieved_sections"] == [("a.md", "n1")]
    assert fields["contexts"] == [TEXT]


def test_gold_that_meets_the_documents_is_no_doubt():
    reply = SampledReply(
        {"retrieved": NODES}, frozenset(["a.md"]), ("n1",), documents=frozenset(["a.md"])
    )
    assert doubts_about_replies([reply], ["answer", "retrieved"]) == []


def test_ids_beside_the_text_need_no_note():
    reply = SampledReply({"hits": [{"doc_id": "a", "chunk_id": "n1"}]}, retrieved=("n1",))
    assert notes_on_id_places([reply]) == []
