"""Replies whose documents or answer are at another path: the line to type is named."""

import json

import pytest

from rageval_report.errors import PipelineError, is_doubt
from rageval_report.runner import collect_answers
from rageval_report.runner.paths import value_at
from rageval_report.runner.reply_keys import (
    SampledReply,
    answer_path,
    doubts_about_replies,
    id_path,
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
