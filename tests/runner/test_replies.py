"""Answers become fields of a record, or a failure that says what was wrong with them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.records import record_table
from rageval_report.runner.reply_keys import value_at
from rageval_report.runner.replies import ResponsePaths, record_fields
from rageval_report.runner.replies import TargetError
from rageval_report.runner.templates import fill_template, fill_url

OPENAI = {
    "model": "m-1",
    "choices": [{"message": {"role": "assistant", "content": "Paris."}}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 3},
}


def test_an_answer_of_openais_protocol_is_found_by_its_paths():
    paths = ResponsePaths(answer="choices.0.message.content")
    assert record_fields(OPENAI, paths) == {
        "answer": "Paris.",
        "prompt_tokens": 9.0,
        "completion_tokens": 3.0,
        "model": "m-1",
    }


def test_results_with_ids_scores_and_texts_fill_ranking_and_contexts():
    hits = [{"id": "d1", "score": 2.5, "text": "one"}, {"id": "d2", "score": 1.0, "text": "two"}]
    found = record_fields({"answer": "A", "hits": hits}, ResponsePaths(retrieved="hits"))
    assert found["retrieved"] == ["d1", "d2"]
    assert found["retrieved_scores"] == [2.5, 1.0]
    assert found["contexts"] == ["one", "two"]


def test_each_of_a_list_is_reached_by_a_star():
    document = {"answer": "A", "sources": [{"meta": {"id": "x"}}, {"meta": {"id": "y"}}]}
    paths = ResponsePaths(retrieved="sources.*.meta.id")
    assert record_fields(document, paths)["retrieved"] == ["x", "y"]


def test_a_citation_by_place_becomes_the_id_at_that_place():
    document = {"answer": "A", "retrieved": ["x", "y"], "citations": [{"source_index": 2}]}
    assert record_fields(document, ResponsePaths())["citations"] == ["y"]


def test_what_is_not_said_is_not_invented():
    assert record_fields({"answer": ""}, ResponsePaths()) == {"answer": ""}


def test_a_text_alone_is_the_answer():
    assert record_fields("Paris.", ResponsePaths()) == {"answer": "Paris."}


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ({"text": "x"}, "expected an answer at 'answer'"),
        ({"answer": None}, "expected an answer at 'answer'"),
        ({"answer": 3}, "answer: expected a text; got 3"),
        ([], r"expected a text or an object; got \[\]"),
        (None, "expected a text or an object; got None"),
        ({"answer": "A", "contexts": [1]}, "contexts: expected a text; got 1"),
        ({"answer": "A", "retrieved": [{}]}, "retrieved: expected a result with an id"),
        ({"answer": "A", "usage": {"prompt_tokens": -1}}, "prompt_tokens: expected a number"),
        ({"answer": "A", "citations": [{}]}, "citations: expected a citation"),
    ],
)
def test_an_answer_of_the_wrong_shape_is_a_failure_of_content(document, told):
    with pytest.raises(TargetError, match=told) as caught:
        record_fields(document, ResponsePaths())
    assert caught.value.kind == "content"


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


MAY_BE_MISSING = (
    *("retrieved", "contexts", "citations", "cost_usd", "model", "usage"),
    "something else",
)


@settings(max_examples=50)
@given(st.fixed_dictionaries({"answer": JSON}, optional=dict.fromkeys(MAY_BE_MISSING, JSON)))
def test_whatever_a_server_says_becomes_a_record_or_a_failure(document):
    try:
        found = record_fields(document, ResponsePaths())
    except TargetError:
        return
    rows = [{"query_id": "a", "question": "Why?", **found}]
    table = record_table(rows, unretrieved_citations="keep")
    assert table.loc["a", "answer"] == document["answer"]


def parts_of(document):
    yield document
    if isinstance(document, dict | list):
        for part in document.values() if isinstance(document, dict) else document:
            yield from parts_of(part)


@settings(max_examples=50)
@given(JSON, st.text())
def test_a_path_never_fails(document, path):
    value = value_at(document, path)
    assert value is None or "*" in path or value in list(parts_of(document))


def test_a_template_is_filled_however_deep():
    fields = {"question": 'He said "why"?', "tags": ["a"]}
    template = {"messages": [{"role": "user", "content": "{question}"}], "k": 5, "json": "{}"}
    assert fill_template(template, fields) == {
        "messages": [{"role": "user", "content": 'He said "why"?'}],
        "k": 5,
        "json": "{}",
    }


def test_a_place_that_names_no_field_is_refused_with_the_nearest():
    with pytest.raises(KeyError, match=r"no field that may be sent is named 'qestion'.*'question'"):
        fill_template({"q": "{qestion}"}, {"question": "Why?"})


@given(st.text(alphabet=st.characters(exclude_categories=("Cs",))))
def test_a_question_in_an_address_is_escaped_whole(question):
    url = fill_url("http://host/ask?q={question}&k=1", {"question": question})
    assert url.isascii()
    assert url.count("&") == 1
    assert "#" not in url
