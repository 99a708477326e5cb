"""The client against a server on this machine that really does each fault."""

import gzip
import json
import logging
import math
import socket
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from rageval_report.errors import DataError, RagevalError
from rageval_report.http import Client, Key, RequestError

SECRET = "sk-very-secret-0123456789"


def failure_of(client, url, **options):
    with pytest.raises(RequestError) as caught:
        client.request("POST", url, json={}, **options).json()
    return caught.value


# -- what goes well


def test_json_is_sent_and_json_comes_back(server, client, replies):
    server.will(replies.answer(200, {"answer": "jawohl, ß"}))
    answer = client.request("POST", f"{server.url}/ask", json={"question": "Größe?"})
    (request,) = server.requests
    assert answer.json() == {"answer": "jawohl, ß"}
    assert json.loads(request.body) == {"question": "Größe?"}
    assert (request.method, request.path) == ("POST", "/ask")
    assert request.headers["content-type"] == "application/json"
    assert (answer.status, answer.attempts) == (200, 1)


def test_a_get_sends_nothing(server, client, replies):
    server.will(replies.answer(200, "well"))
    assert client.request("GET", f"{server.url}/health").json() == "well"
    assert server.requests[0].body == b""


def test_headers_and_keys_are_sent(server, client, replies):
    server.will(replies.answer(200, {}))
    headers = {"authorization": Key(SECRET), "x-api-key": Key("abc", scheme=""), "x-tag": "t"}
    client.request("POST", server.url, json={}, headers=headers)
    sent = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert sent["authorization"] == f"Bearer {SECRET}"
    assert (sent["x-api-key"], sent["x-tag"]) == ("abc", "t")


def test_half_a_character_can_be_sent(server, client, replies):
    server.will(replies.answer(200, {}))
    client.request("POST", server.url, json={"text": "\ud83d"})
    assert json.loads(server.requests[0].body) == {"text": "\ud83d"}


def test_a_packed_answer_is_unpacked(server, client, replies):
    packed = gzip.compress(b'{"a": 1}')
    server.will(replies.answer(200, packed, content_encoding="gzip"))
    assert client.request("POST", server.url, json={}).json() == {"a": 1}


def test_threads_share_a_client(server, client, replies):
    busy = [replies.answer(503, {})] * 4  # though one request met them all, its fifth succeeds
    server.will(*busy, replies.answer(200, {"ok": True}))
    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(client.request, "POST", server.url, json={}) for _ in range(16)]
        answers = [job.result() for job in jobs]
    assert [answer.json() for answer in answers] == [{"ok": True}] * 16
    assert sum(answer.attempts for answer in answers) == len(server.requests) == 20


# -- what passes


def test_a_server_that_is_busy_is_asked_again_after_the_time_it_says(
    server, client, waits, replies
):
    server.will(replies.answer(429, {}, retry_after="7"), replies.answer(200, {"ok": True}))
    answer = client.request("POST", server.url, json={})
    assert answer.json() == {"ok": True}
    assert answer.attempts == len(server.requests) == 2
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
    assert len(server.requests) == error.attempts == 5
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


def test_a_longest_wait_of_none_tries_again_at_once(server, waits, replies):
    server.will(replies.answer(500, {}), replies.answer(200, {}))
    with Client(max_wait=0, sleep=waits.append) as client:
        client.request("POST", server.url, json={})
    assert waits == [0.0]


@pytest.mark.parametrize("fault", ["broken_off", "hung_up"])
def test_a_connection_that_breaks_off_is_tried_again(server, client, waits, replies, fault):
    server.will(getattr(replies, fault), replies.answer(200, {"ok": True}))
    assert client.request("POST", server.url, json={}).json() == {"ok": True}
    assert len(waits) == 1


def test_one_that_always_breaks_off_is_given_up(server, client, replies):
    server.will(replies.broken_off)
    error = failure_of(client, server.url)
    assert (error.failure, error.attempts, error.status) == ("connection", 5, None)
    assert "the connection broke off" in str(error)


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
    assert (error.is_unreachable, error.attempts, len(waits)) == (True, 5, 4)


def test_a_name_that_nobody_knows_cannot_be_reached(client, monkeypatch):
    def unknown(*args, **options):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    error = failure_of(client, "http://no-such-host.example/v1")
    assert "cannot be reached ([Errno -2] Name or service not known)" in str(error)


def test_a_server_that_says_nothing_is_late(server, waits):
    server.will(server.hang)
    with Client(timeout=0.05, max_attempts=2, sleep=waits.append) as client:
        error = failure_of(client, server.url)
    assert (error.failure, error.attempts) == ("timeout", 2)
    assert "no complete answer within timeout=0.05 seconds; given up after 2 attempts" in str(error)


def test_a_server_that_trickles_is_late_too(server):
    server.will(server.trickle)
    with Client(timeout=0.1, max_attempts=1) as client:
        assert failure_of(client, server.url).failure == "timeout"


def test_an_interrupt_while_waiting_ends_it(server, replies):
    def interrupted(seconds):
        raise KeyboardInterrupt

    server.will(replies.answer(500, {}))
    with Client(sleep=interrupted) as client, pytest.raises(KeyboardInterrupt):
        client.request("POST", server.url, json={})
    assert len(server.requests) == 1


# -- what does not pass


@pytest.mark.parametrize("status", [400, 404, 408, 413, 422])
def test_any_other_refusal_is_told_at_once(server, client, waits, replies, status):
    server.will(replies.answer(status, {"error": {"message": "too long", "type": "x"}}))
    error = failure_of(client, server.url)
    assert f"answered {status}: too long" in str(error)
    assert (error.status, error.attempts, waits) == (status, 1, [])
    assert isinstance(error, RagevalError)
    assert isinstance(error, RuntimeError)


def test_a_redirect_is_not_followed_with_the_key(server, client, replies):
    server.will(replies.answer(307, {}, location="http://elsewhere.example/v2?key=k"))
    error = failure_of(client, server.url, headers={"authorization": Key(SECRET)})
    assert len(server.requests) == 1
    assert "(it has moved to http://elsewhere.example/v2: use that address)" in str(error)


def test_a_page_instead_of_json_is_told(server, client, replies):
    page = b"<!doctype html>\n<html><title>Sign in</title>" + b"<p>" * 100
    server.will(replies.answer(200, page, content_type="text/html"))
    error = failure_of(client, server.url)
    assert "expected JSON; got text/html that starts with '<!doctype html> <html>" in str(error)
    assert len(str(error)) < 250
    assert (error.failure, error.status) == ("content", 200)


@pytest.mark.parametrize("body", [b"", b'{"a": ', b"\xff\xfe", b"[" * 200_000])
def test_what_is_not_json_is_told(server, client, replies, body):
    server.will(replies.answer(200, body))
    assert "expected JSON" in str(failure_of(client, server.url))


def test_what_cannot_be_unpacked_is_told(server, client, replies):
    server.will(replies.answer(200, b"not packed", content_encoding="gzip"))
    assert "cannot be decompressed" in str(failure_of(client, server.url))


def test_ten_megabytes_are_read(server, client, replies):
    text = "x" * 10_000_000
    server.will(replies.answer(200, {"text": text}))
    assert client.request("POST", server.url, json={}).json() == {"text": text}


@pytest.mark.parametrize("packed", [False, True])
def test_an_answer_over_the_limit_is_not_read_to_its_end(server, replies, packed):
    body = json.dumps("x" * 10_000_000).encode()
    headers = {"content_encoding": "gzip"} if packed else {}
    server.will(replies.answer(200, gzip.compress(body) if packed else body, **headers))
    with Client(max_bytes=1_000_000) as client:
        error = failure_of(client, server.url)
    assert (error.failure, error.attempts) == ("size", 1)
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
    tls_server, server, monkeypatch, replies, tmp_path, content
):
    path = tmp_path / "authorities.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(path))
    server.will(replies.answer(200, {"ok": True}))
    with Client() as client:
        with pytest.raises(DataError, match=r"SSL_CERT_FILE: .*authorities\.pem.* cannot be read"):
            client.request("POST", tls_server.url, json={})
        # An address without encryption needs no certificates.
        assert client.request("POST", server.url, json={}).json() == {"ok": True}


def test_certificates_are_read_once_and_only_for_encrypted_addresses(
    tls_server, server, own_certificate, monkeypatch, replies
):
    monkeypatch.setenv("SSL_CERT_FILE", str(own_certificate))
    read_certificates, times = httpx2.create_ssl_context, []

    def count():
        times.append(1)
        return read_certificates()

    monkeypatch.setattr(httpx2, "create_ssl_context", count)
    server.will(replies.answer(200, {"ok": True}))
    tls_server.will(*[replies.answer(200, {"ok": True})] * 2)
    with Client() as client:
        client.request("POST", server.url, json={})
        assert times == []
        for _ in range(2):
            assert client.request("POST", tls_server.url, json={}).json() == {"ok": True}
    assert times == [1]


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


def test_an_address_that_repeats_the_key_is_shown_without_it(server, client, replies):
    server.will(replies.answer(302, {}, location=f"http://elsewhere.example/{SECRET}/v2"))
    error = failure_of(client, server.url, headers={"authorization": Key(SECRET)})
    assert "it has moved to http://elsewhere.example/***/v2" in str(error)


def test_a_page_that_repeats_the_key_is_shown_without_it(server, client, replies):
    server.will(replies.answer(200, f"<p>you sent Bearer {SECRET}".encode()))
    headers = {"authorization": Key(SECRET)}
    error = failure_of(client, server.url, headers=headers)
    assert "'<p>you sent Bearer ***'" in str(error)
    answer = client.request("POST", server.url, json={}, headers=headers)
    assert SECRET not in repr(answer)
    assert SECRET not in str(answer.error(f"odd: {SECRET}"))


def test_a_refusal_without_a_key_says_that_none_was_sent(server, client, replies):
    server.will(replies.answer(401, {"detail": "Not authenticated"}))
    assert "answered 401: Not authenticated (no key was sent)" in str(
        failure_of(client, server.url)
    )


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


def test_a_method_that_is_none_is_refused(client, server, waits):
    with pytest.raises(DataError, match="cannot be sent"):
        client.request("PO ST", server.url)
    assert waits == []


@pytest.mark.parametrize("body", [{"a": object()}, {"a": float("nan")}])
def test_what_is_not_json_is_not_sent(client, server, body):
    with pytest.raises(DataError, match="cannot be written as JSON"):
        client.request("POST", server.url, json=body)


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


def test_a_closed_client_leaves_no_thread(server, replies):
    server.will(replies.answer(200, {}))
    before = threading.active_count()
    with Client() as client:
        client.request("POST", server.url, json={})
    assert threading.active_count() <= before + 1  # the server's own for this connection
