"""Requests over real sockets: what passes is tried again, and keys are told to nobody."""

from __future__ import annotations

import gzip
import html
import json
import logging
import math
import pickle
import socket
import traceback
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.errors import DataError, RagevalError
from rageval_report.http import (
    Client,
    Key,
    RequestError,
    check_address,
    fill_keys,
    keys_named_in,
    redact_keys,
    redact_url,
    retry_after_seconds,
)

SECRET = "sk-very-secret-0123456789"


def failure_of(client, url, **options):
    with pytest.raises(RequestError) as caught:
        client.request("POST", url, json={}, **options).json()
    return caught.value


# -- what goes well


def test_headers_and_keys_are_sent(server, client, replies):
    server.will(replies.answer(200, {}))
    headers = {"authorization": Key(SECRET), "x-api-key": Key("abc", scheme=""), "x-tag": "t"}
    client.request("POST", server.url, json={}, headers=headers)
    sent = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert sent["authorization"] == f"Bearer {SECRET}"
    assert (sent["x-api-key"], sent["x-tag"]) == ("abc", "t")


# -- what passes


def test_a_server_that_is_busy_is_asked_again_after_the_time_it_says(
    server, client, waits, replies
):
    server.will(replies.answer(429, {}, retry_after="7"), replies.answer(200, {"ok": True}))
    answer = client.request("POST", server.url, json={})
    assert answer.json() == {"ok": True}
    assert len(server.requests) == 2
    (wait,) = waits
    assert 7 < wait <= 8  # a random part, lest all who were refused come back together


def test_the_time_may_be_said_as_a_date_of_the_servers_clock(server, client, waits, replies):
    headers = {
        "date": "Sun, 06 Nov 1994 08:49:37 GMT",
        "retry_after": "Sun, 06 Nov 1994 08:49:57 GMT",
    }
    server.will(replies.answer(503, {}, **headers), replies.answer(200, {}))
    client.request("POST", server.url, json={})
    assert 20 <= waits[0] <= 21


def test_without_a_time_waits_double_with_a_random_part(server, client, waits, replies):
    server.will(replies.answer(500, {"error": "oh"}))
    error = failure_of(client, server.url)
    assert len(server.requests) == 5
    for wait, least in zip(waits, (1, 2, 4, 8), strict=True):
        assert least <= wait <= least + 1
    assert any(wait % 1 for wait in waits)
    assert str(error) == f"{server.url}: answered 500: oh; given up after 5 attempts"
    assert (error.failure, error.status) == ("status", 500)


def test_a_server_that_asks_for_more_than_we_wait_is_not_asked_again(
    server, client, waits, replies
):
    server.will(replies.answer(429, {"error": {"message": "quota"}}, retry_after="3600"))
    error = failure_of(client, server.url)
    assert waits == []
    assert str(error).endswith("answered 429: quota; it asks to wait 3600 s, more than max_wait=60")
    assert error.retry_after == 3600


@pytest.mark.parametrize("fault", ["broken_off", "hung_up"])
def test_a_connection_that_breaks_off_is_tried_again(server, client, waits, replies, fault):
    server.will(getattr(replies, fault), replies.answer(200, {"ok": True}))
    assert client.request("POST", server.url, json={}).json() == {"ok": True}
    assert len(waits) == 1


def test_a_server_that_does_not_run_is_told_so(client, waits):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        error = failure_of(client, url)
    assert (error.failure, error.is_unreachable, waits) == ("connection", True, [])
    assert "cannot be reached" in str(error)
    assert str(error).endswith("is the server running?")


def test_a_server_that_went_away_is_waited_for(server, client, waits, replies, monkeypatch):
    server.will(replies.answer(200, {}, connection="close"))
    client.request("POST", server.url, json={})

    def nobody(*args, **options):
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket, "create_connection", nobody)
    error = failure_of(client, server.url)
    assert (error.is_unreachable, len(waits)) == (True, 4)


# -- what does not pass


@pytest.mark.parametrize("status", [400, 404, 408, 413, 422])
def test_any_other_refusal_is_told_at_once(server, client, waits, replies, status):
    server.will(replies.answer(status, {"error": {"message": "too long", "type": "x"}}))
    error = failure_of(client, server.url)
    assert f"answered {status}: too long" in str(error)
    assert (error.status, waits) == (status, [])
    assert isinstance(error, RagevalError)
    assert isinstance(error, RuntimeError)


def test_a_redirect_is_not_followed_with_the_key(server, client, replies):
    server.will(replies.answer(307, {}, location="http://elsewhere.example/v2?key=k"))
    error = failure_of(client, server.url, headers={"authorization": Key(SECRET)})
    assert len(server.requests) == 1
    assert "(it has moved to http://elsewhere.example/v2: use that address)" in str(error)


@pytest.mark.parametrize(
    "document",
    [
        {"type": "error", "error": {"type": "not_found", "message": "no such model"}},  # Anthropic
        {"error": "no such model"},  # Ollama
        {"detail": [{"loc": ["body"], "msg": "no such model"}]},  # FastAPI, of a field
        [{"error": {"code": 404, "message": "no such model"}}],  # Gemini
        b"no\n\x1b[31msuch \x00 model",
    ],
)
def test_the_message_is_one_line_wherever_servers_put_it(server, client, replies, document):
    server.will(replies.answer(404, document))
    error = str(failure_of(client, server.url))
    assert error.endswith("(is the address right?)")
    assert "answered 404: no such model" in error.replace("[31m", "")


@pytest.mark.parametrize("body", [b"", b'{"a": ', b"\xff\xfe", b"[" * 200_000])
def test_what_is_not_json_is_told(server, client, replies, body):
    server.will(replies.answer(200, body))
    assert "expected JSON" in str(failure_of(client, server.url))


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_over_the_limit_is_not_read_to_its_end(server, replies, packed):
    body = json.dumps("x" * 10_000_000).encode()
    headers = {"content_encoding": "gzip"} if packed else {}
    server.will(replies.answer(200, gzip.compress(body) if packed else body, **headers))
    with Client(max_bytes=1_000_000) as client:
        error = failure_of(client, server.url)
    assert (error.failure, len(server.requests)) == ("size", 1)
    assert "larger than max_bytes=1,000,000" in str(error)


def test_a_certificate_that_nobody_signed_is_not_tried_again(tls_server, client, waits):
    error = failure_of(client, tls_server.url)
    assert (error.failure, waits) == ("certificate", [])
    assert "SSL_CERT_FILE" in str(error)


def test_a_certificate_of_ones_own_can_be_named(tls_server, own_certificate, monkeypatch, replies):
    monkeypatch.setenv("SSL_CERT_FILE", str(own_certificate))
    tls_server.will(replies.answer(200, {"ok": True}))
    with Client() as client:
        assert client.request("POST", tls_server.url, json={}).json() == {"ok": True}


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_a_file_of_certificates_that_cannot_be_read_is_named(
    tls_server, monkeypatch, tmp_path, content
):
    path = tmp_path / "authorities.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    with Client() as client, pytest.raises(DataError, match=r"cannot be used .*SSL_CERT_FILE"):
        client.request("POST", tls_server.url, json={})


# -- keys are told to nobody


def test_a_server_that_repeats_the_key_does_not_make_us_print_it(
    server, client, replies, caplog, capfd
):
    caplog.set_level(logging.DEBUG)
    server.will(replies.answer(401, {"error": f"Incorrect API key provided: {SECRET}."}))
    error = failure_of(client, server.url, headers={"authorization": Key(SECRET)})
    told = "".join(traceback.format_exception(error))
    assert "answered 401: Incorrect API key provided: ***. (the key was refused)" in told
    assert SECRET not in told + repr(vars(error)) + caplog.text + "".join(capfd.readouterr())


def test_a_key_that_would_be_cut_in_two_is_hidden_first(server, client, replies):
    server.will(replies.answer(400, b"x" * 290 + SECRET.encode()))
    error = failure_of(client, server.url, headers={"authorization": Key(SECRET)})
    assert "sk-" not in str(error)


def test_a_header_that_cannot_be_sent_is_refused_without_its_value(server, client):
    with pytest.raises(
        DataError, match="the header 'x-token' contains characters that cannot be sent"
    ) as caught:
        client.request("POST", server.url, json={}, headers={"x-token": f"{SECRET}\n"})
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    assert server.requests == []


# -- what is asked wrongly


@pytest.mark.parametrize(
    "url",
    [
        *("localhost:8000", "ftp://host/x", "http://", "http://host:port", "http://a b/", ""),
        *("http://[::1", "http://host:99999", "http://a..b/", "http://\N{SNOWMAN}..x/"),
        "http://host/\n",
    ],
)
def test_what_is_no_address_is_refused(client, waits, url):
    with pytest.raises(DataError):
        client.request("POST", url, json={})
    assert waits == []


@pytest.mark.parametrize(
    "limit",
    [
        *({"timeout": value} for value in (0, -1, math.inf, math.nan)),
        *({"max_attempts": 0}, {"max_bytes": -1}, {"max_wait": -1}, {"max_wait": math.nan}),
    ],
)
def test_limits_that_make_no_sense_are_refused(limit):
    (name,) = limit
    with pytest.raises(DataError, match=name):
        Client(**limit)


@pytest.mark.parametrize("value", ["", " \n", "sk a", "sk-1\nsk-2", "sk-é", "sk\x00"])
def test_what_no_header_can_carry_is_refused_and_not_printed(value):
    with pytest.raises(DataError, match="the key is empty, or contains") as caught:
        Key(value)
    assert not value.strip() or value not in "".join(traceback.format_exception(caught.value))


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


@pytest.mark.parametrize("name", ["question", "abc123def456", "1X"])
def test_a_name_that_may_be_the_key_is_not_shown(name):
    with pytest.raises(DataError, match="must contain the name of an environment") as caught:
        keys_named_in(f"Bearer ${{{name}}}")
    assert name not in str(caught.value).replace("{question}", "")


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


WORDS = st.text("abcdefghijklmnopqrstuvwxyz0123456789:@?#=&%", max_size=12)


@given(WORDS, WORDS)
def test_a_query_is_never_shown(path, query):
    assert "SECRET" not in redact_url(f"https://host/{path}?{query}SECRET")


def test_a_user_in_an_address_is_refused_and_not_printed():
    with pytest.raises(
        DataError, match="https://host/v1: do not put credentials in a URL"
    ) as caught:
        check_address("https://me:SECRET@host/v1")
    assert "SECRET" not in str(caught.value)


@given(st.text(max_size=30))
def test_whatever_stands_there_it_is_a_time_or_nothing(text):
    seconds = retry_after_seconds({"retry-after": text, "date": text})
    assert seconds is None or (seconds >= 0 and math.isfinite(seconds))


def test_an_error_travels_between_processes_whole():
    error = RequestError("busy", url="http://host", failure="status", status=429, retry_after=2.0)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "http://host: busy"
    assert vars(again) == vars(error)
