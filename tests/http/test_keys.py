"""A key is seen by the header alone."""

import base64
import html
import json
import pickle
import traceback
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.http import (
    fill_keys,
    Key, key_from_environment, fill_request,
    keys_named_in,
    redact_document,
    redact_keys,
)

SECRET = "sk-very-secret-0123456789"


def test_a_key_shows_itself_to_the_header_alone():
    key = Key(SECRET)
    assert key.header() == f"Bearer {SECRET}"
    assert SECRET not in f"{key} {key!r} {[key]}"


def test_a_key_is_not_written_anywhere():
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(Key(SECRET))


def test_the_line_end_of_a_file_is_dropped():
    assert Key(f" {SECRET}\n", scheme="").header() == SECRET


@pytest.mark.parametrize("value", ["", " \n", "sk a", "sk-1\nsk-2", "sk-é", "sk\x00"])
def test_what_no_header_can_carry_is_refused_and_not_printed(value):
    with pytest.raises(DataError, match="the key is empty, or contains") as caught:
        Key(value)
    assert not value.strip() or value not in "".join(traceback.format_exception(caught.value))


@given(st.text("abc012-_", min_size=1), st.text())
def test_whatever_surrounds_it_the_key_is_hidden(value, around):
    hidden = Key(value).redact(f"{around} {value} {around}")
    assert value not in hidden


def test_the_environment_holds_the_key(monkeypatch):
    monkeypatch.setenv("SOME_KEY", f"{SECRET}\n")
    assert key_from_environment("SOME_KEY", scheme="").header() == SECRET


def test_a_missing_key_names_its_variable(monkeypatch):
    monkeypatch.delenv("SOME_KEY", raising=False)
    with pytest.raises(DataError, match="no key: the environment variable SOME_KEY is not set"):
        key_from_environment("SOME_KEY")


def test_an_empty_key_names_its_variable(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "")
    with pytest.raises(DataError, match="the environment variable SOME_KEY is empty"):
        key_from_environment("SOME_KEY")


# -- templates


def test_a_template_names_its_keys_at_any_depth(monkeypatch):
    monkeypatch.setenv("SOME_KEY", SECRET)
    monkeypatch.setenv("OTHER_KEY", "a b\u00e9")
    template = {"messages": [{"content": "{question}"}], "auth": ["${SOME_KEY}", "x-${OTHER_KEY}"]}
    keys = keys_named_in(template)
    assert fill_keys(template, keys) == {
        "messages": [{"content": "{question}"}],
        "auth": [SECRET, "x-a b\u00e9"],
    }
    assert SECRET not in f"{keys} {vars(type(keys['SOME_KEY']))}"


def test_a_key_is_escaped_in_an_address(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "a/b?c#d e")
    url = "http://host/${SOME_KEY}/ask?key=${SOME_KEY}"
    filled, _, _ = fill_request(url, None)
    assert filled == "http://host/a%2Fb%3Fc%23d%20e/ask?key=a%2Fb%3Fc%23d%20e"


@pytest.mark.parametrize("name", ["question", "abc123def456", "1X"])
def test_a_name_that_may_be_the_key_is_not_shown(name):
    with pytest.raises(DataError, match="must contain the name of an environment") as caught:
        keys_named_in(f"Bearer ${{{name}}}")
    assert name not in str(caught.value).replace("{question}", "")


def test_a_key_in_a_header_must_have_a_form_that_can_be_sent(monkeypatch):
    monkeypatch.setenv("SOME_KEY", "a key")
    assert keys_named_in("${SOME_KEY}")["SOME_KEY"].text() == "a key"
    with pytest.raises(DataError, match="SOME_KEY is empty, or contains blanks"):
        keys_named_in("${SOME_KEY}", for_header=True)


@pytest.mark.parametrize("value", ['a"b/c', "a b&c", "\u00e9t\u00e9/<1>", "it's+x"])
def test_a_key_is_hidden_in_every_form_in_which_a_server_repeats_it(value):
    key = Key(value, for_header=False)
    forms = [
        *(value, json.dumps(value), json.dumps(value, ensure_ascii=False)),
        *(quote(value), quote(value, safe=""), quote_plus(value), html.escape(value), repr(value)),
        json.dumps(value).replace("/", "\\/"),
    ]
    for form in forms:
        inner = form[1:-1] if form[0] in "\"'" else form
        assert inner not in key.redact(f"you sent {form}, not a key"), form


def test_of_two_keys_the_longer_one_is_hidden_whole():
    short, long = Key("abcd1234"), Key("abcd12345678")
    assert redact_keys([short, long], "abcd12345678 abcd1234") == "*** ***"


def test_a_document_is_redacted_with_the_names_of_its_fields():
    document = {f"echo {SECRET}": [SECRET, {"n": 5, "x": None}]}
    assert redact_document([Key(SECRET)], document) == {"echo ***": ["***", {"n": 5, "x": None}]}
