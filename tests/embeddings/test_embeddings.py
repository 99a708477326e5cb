"""Embeddings over a real socket."""

from __future__ import annotations

import functools
import json
import logging
import traceback

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rageval_report import score
from rageval_report.errors import DataError
from rageval_report.http import RequestError
from rageval_report.metrics.embeddings import (
    check_vectors,
    openai_embeddings,
)

SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def embed(model):
    """An embedder of the server; a test that waits is wrong."""
    return functools.partial(openai_embeddings, "toy", base_url=model.url, max_attempts=1)


# -- what goes well


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=25,
)
@given(st.lists(st.text("ab \n", max_size=4), max_size=12), st.integers(1, 5))
def test_any_list_in_any_batches_gives_the_row_of_each(model, embed, expected, texts, size):
    model.asked.clear()
    rows = embed(batch_size=size)(texts)
    assert rows.tolist() == [expected(text) for text in texts]
    sent = [text for asked in model.asked for text in asked["input"]]
    assert all(len(asked["input"]) <= size for asked in model.asked)
    different = {text for text in texts if text.strip()}
    assert sorted(sent) == sorted(different or ({"."} if texts else set()))


def test_rows_are_ordered_by_index_not_by_place(model, embed, expected):
    model.bend = lambda document: {**document, "data": document["data"][::-1]}
    assert embed()(["a", "b", "c"]).tolist() == [expected(text) for text in "abc"]


def test_a_blank_text_is_not_sent_and_becomes_zeros(model, embed, expected):
    rows = embed()(["", "a", " \n"])
    assert model.asked[0]["input"] == ["a"]
    assert rows.tolist() == [[0.0] * 64, expected("a"), [0.0] * 64]


def test_dimensions_and_what_else_the_server_takes_are_sent(model, embed):
    rows = embed(dimensions=8, extra_body={"truncate_prompt_tokens": 512, "model": "other"})(["a"])
    assert rows.shape == (1, 8)
    (asked,) = model.asked
    assert (asked["dimensions"], asked["truncate_prompt_tokens"]) == (8, 512)
    assert asked["model"] == "toy"


# -- through the metrics


def test_semantic_answer_similarity_comes_from_a_server(model, embed):
    rows = [
        {"query_id": "same", "answer": "the red cat", "reference": ["The red cat"]},
        {"query_id": "half", "answer": "red cat", "reference": ["blue dog", "red dog"]},
        {"query_id": "empty", "answer": "", "reference": ["a dog"]},
        {"query_id": "none", "answer": None, "reference": ["a dog"]},
    ]
    scores = score(rows, "semantic_answer_similarity", embed=embed(batch_size=2)).scores
    values = scores["semantic_answer_similarity"]
    # Vectors count words: cosines are shared words over the geometric mean of the lengths.
    assert values[["same", "half", "empty"]].tolist() == pytest.approx([1.0, 0.5, 0.0], abs=1e-6)
    assert np.isnan(values["none"])


# -- keys


def test_a_server_of_ones_own_gets_no_key_unless_one_is_named(model, embed, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    embed()(["a"])
    assert model.keys == [None]


def test_openai_itself_needs_its_key_at_once():
    with pytest.raises(DataError, match="the environment variable OPENAI_API_KEY is not set"):
        openai_embeddings("text-embedding-3-small")


@pytest.mark.parametrize("key", [None, SECRET])
def test_the_environment_may_route_to_another_server(model, monkeypatch, key):
    monkeypatch.setenv("OPENAI_BASE_URL", model.url)
    if key:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    openai_embeddings("toy")(["a"])
    assert model.keys == [key and f"Bearer {key}"]


def test_a_key_where_its_variable_should_stand_is_not_printed(embed):
    with pytest.raises(DataError, match="must be the name of the environment variable") as caught:
        embed(api_key_env=SECRET)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_wrong_key_is_told_and_never_printed(model, embed, monkeypatch, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    model.wants = "another"
    monkeypatch.setenv("MY_KEY", SECRET)
    with pytest.raises(RequestError, match="answered 401: Incorrect API key provided") as caught:
        embed(api_key_env="MY_KEY")(["a"])
    assert "(the key was refused)" in str(caught.value)
    told = "".join(traceback.format_exception(caught.value))
    assert SECRET not in told + caplog.text + "".join(capfd.readouterr())


# -- servers that err


def without(document, place):
    return {**document, "data": document["data"][:place]}


def with_embedding(document, embedding, place=1):
    document["data"][place]["embedding"] = embedding
    return document


def with_index(document, index, place=1):
    document["data"][place]["index"] = index
    return document


FAULTS = {
    "too few": (lambda d: without(d, 1), "expected a vector for each of 2 texts; got 1"),
    "none": (lambda d: without(d, 0), "expected a vector for each of 2 texts; got 0"),
    "one twice": (lambda d: with_index(d, 0), "expected each index from 0 to 1 once"),
    "from one": (lambda d: with_index(d, 2), "expected each index from 0 to 1 once"),
    "shorter": (lambda d: with_embedding(d, [1.0]), "the vectors must have one length"),
    "empty": (lambda d: with_embedding(with_embedding(d, []), [], 0), "array of shape (2, 0)"),
    "texts": (lambda d: with_embedding(d, ["1"] * 64), "expected 2 vectors of numbers"),
    "nulls": (lambda d: with_embedding(d, [None] * 64), "expected 2 vectors of numbers"),
    "no vector": (lambda d: with_embedding(d, None), "each item must have an 'embedding'"),
    "NaN": (lambda d: with_embedding(d, [float("nan")] * 64), "the vector of text 1 has NaN"),
    "too large": (lambda d: with_embedding(d, [1e99] * 64), "or too large a number"),
    "no data": (lambda d: {"embeddings": []}, 'expected {"data": [{"index"'),
    "a list": (lambda d: json.dumps([d]).encode(), 'expected {"data": [{"index"'),
    "bare rows": (lambda d: {"data": [[1.0], [2.0]]}, 'expected {"data": [{"index"'),
    "a page": (lambda d: b"<html>", "expected JSON; got no content type that starts with '<html>'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_an_answer_that_is_not_as_promised_is_told_with_the_address(model, embed, fault):
    model.bend, told = FAULTS[fault]
    with pytest.raises(RequestError) as caught:
        embed()(["a", "b"])
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"{model.url}/embeddings: ")
    assert caught.value.failure == "content"


# -- what is asked wrongly


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"model": ""}, "model must be the name of a model"),
        ({"model": None}, "model must be the name of a model"),
        ({"batch_size": 0}, "batch_size must be an integer >= 1; got 0"),
        ({"batch_size": 2.5}, "batch_size must be an integer >= 1"),
        ({"dimensions": 0}, "dimensions must be an integer >= 1; got 0"),
        ({"base_url": "localhost:11434"}, "expected an address such as 'https://host/path'"),
        (
            {"base_url": "http://h/v1?key=SECRET"},
            r"base_url must end before any '\?' or '#'; use http://h/v1$",
        ),
        ({"base_url": "http://me:SECRET@h/v1"}, "do not put credentials in a URL"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(options, told):
    with pytest.raises(ValueError, match=told) as caught:
        openai_embeddings(**{"model": "toy", "base_url": "http://localhost:1/v1", **options})
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([[1.0, 2.0]], "a vector for each of 2 texts; got 1"),
        ([1.0, 2.0], r"array of shape \(2,\)"),
        ([[1.0], [2.0, 3.0]], "must have one length"),
        ([[True], [False]], "type bool"),
        ([["a"], ["b"]], "type <U1"),
        ([[1.0], [np.inf]], "the vector of text 1 has NaN, infinity"),
        ([], "expected 2 vectors of numbers"),
    ],
)
def test_anything_else_is_told(rows, told):
    with pytest.raises(DataError, match=told):
        check_vectors(rows, 2)
