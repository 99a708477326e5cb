"""What servers say of a failure, in the forms in which they say it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.http import Key
from rageval_report.http import quote_beginning, server_message


@pytest.mark.parametrize(
    "document",
    [
        {"error": {"message": "no such model", "type": "invalid_request_error"}},  # OpenAI
        {"type": "error", "error": {"type": "not_found", "message": "no such model"}},  # Anthropic
        {"error": "no such model"},  # Ollama
        {"object": "error", "message": "no such model", "code": 404},  # vLLM before 0.10
        {"detail": "no such model"},  # FastAPI
        {"detail": [{"loc": ["body"], "msg": "no such model"}]},  # FastAPI, of a field
        [{"error": {"code": 404, "message": "no such model"}}],  # Gemini
        {"Message": "no such model"},  # gateways of Amazon
        "no such model",
    ],
)
def test_the_message_is_found_wherever_servers_put_it(document):
    assert server_message(json.dumps(document).encode()) == "no such model"


def test_a_document_without_a_message_is_shown():
    assert server_message(b'{"ok": false}') == '{"ok": false}'


def test_nothing_said_is_nothing():
    assert server_message(b"") == ""


def test_the_kind_of_a_failure_goes_before_its_message():
    kind = "ThrottlingException:http://internal.amazon.com/coral/"
    assert (
        server_message(b'{"message": "Slow down"}', kind=kind) == "ThrottlingException: Slow down"
    )
    assert server_message(b"", kind=kind) == "ThrottlingException"


def test_a_key_in_the_kind_of_a_failure_is_hidden_before_it_is_cut():
    assert server_message(b"no", [Key("sk:1234")], "E-sk:1234:http://x/") == "E-***: no"


def test_what_moves_a_cursor_is_not_printed():
    assert server_message(b"\x1b[31mred\r\nline\x00") == "[31mred line"


def test_a_message_nested_too_deeply_is_shown_as_it_is():
    body = b'{"error":' * 100_000
    assert server_message(body).startswith('{"error":{"error":')


@given(st.binary(max_size=2000))
def test_whatever_it_says_is_one_short_line(body):
    for line in (server_message(body), quote_beginning(body)):
        assert len(line) <= 300
        assert line.isprintable()


@given(st.text(max_size=400), st.text(max_size=400))
def test_the_key_is_not_in_it(before, after):
    body = f"{before}sk-0123456789{after}".encode("utf-8", "replace")
    assert "sk-0" not in server_message(body, [Key("sk-0123456789")]) or "sk-0" in before + after
