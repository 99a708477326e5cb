"""The reference server: what it finds and says, and that it goes wrong only on purpose."""

from __future__ import annotations

import http.client
import json
import math
import socket
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.demo.server import (
    FAULTS,
    Document,
    ExtractiveRag,
    Faults,
    ReferenceServer,
    demo_documents,
    demo_queries,
    read_documents,
)
from rageval_report.demo.server.rag import REFUSAL
from rageval_report.errors import DataError

RAG = ExtractiveRag(demo_documents())


def test_scores_are_those_of_lucenes_bm25_by_hand():
    texts = ["ferry ferry dog", "ferry bin", "bin bin bin dog"]
    rag = ExtractiveRag([Document(str(n), text) for n, text in enumerate(texts)], k=9)
    found = {hit["doc_id"]: hit["score"] for hit in rag.answer("ferry")["retrieved"]}
    # Robertson's BM25 as Lucene computes it: idf ln(1 + (N - n + 0.5) / (n + 0.5)), k1 1.5, b 0.75
    idf = math.log(1 + (3 - 2 + 0.5) / (2 + 0.5))

    def by_hand(tf, length):
        return idf * tf / (tf + 1.5 * (1 - 0.75 + 0.75 * length / 3))

    assert found == pytest.approx({"0": by_hand(2, 3), "1": by_hand(1, 2)}, abs=1e-4)


def test_the_best_sentence_answers_and_its_document_is_cited():
    found = RAG.answer("Do guide dogs travel free of charge?")
    assert found["answer"] == "Guide dogs travel free of charge and need no ticket at all."
    assert found["citations"] == ["ferry-dog"]


@pytest.mark.parametrize("question", ["How tall is the lighthouse?", "", "the of and", "?!"])
def test_what_the_documents_do_not_say_is_refused(question):
    found = RAG.answer(question)
    assert (found["answer"], found["citations"]) == (REFUSAL, [])


@given(st.text(), st.booleans(), st.booleans(), st.floats(0, 1), st.integers(1, 30))
def test_any_text_is_answered_or_refused(question, synonyms, rerank, least_covered, k):
    found = RAG.answer(question, k, synonyms=synonyms, rerank=rerank, least_covered=least_covered)
    assert len(found["retrieved"]) <= k
    assert set(found["citations"]) <= {hit["doc_id"] for hit in found["retrieved"]}
    assert (found["answer"] == REFUSAL) == (not found["citations"])
    scores = [hit["score"] for hit in found["retrieved"]]
    assert scores == sorted(scores, reverse=True)


def test_words_that_mean_the_same_are_found():
    rag = ExtractiveRag(
        [Document("a", "The fee is 6 crowns."), Document("b", "The dog is black. It sleeps.")]
    )
    plain = rag.answer("What does it cost?")
    assert (plain["answer"], plain["retrieved"]) == (REFUSAL, [])
    found = rag.answer("What does it cost?", synonyms=True)
    assert (found["answer"], found["citations"]) == ("The fee is 6 crowns.", ["a"])


def test_a_reranker_puts_the_document_with_the_best_sentence_first():
    spread = "Dogs dogs dogs dogs. Tickets tickets tickets tickets."  # BM25 counts words
    together = "A dog needs one of the tickets. " + "It may sleep at the window of a cabin. " * 3
    rag = ExtractiveRag([Document("spread", spread), Document("together", together)])
    question = "Which dog has a ticket?"
    assert [hit["doc_id"] for hit in rag.answer(question, 1)["retrieved"]] == ["spread"]
    [hit] = rag.answer(question, 1, rerank=True)["retrieved"]
    # By hand: "dog" and "ticket" are the words of the question, and both are in its best sentence.
    assert (hit["doc_id"], hit["score"]) == ("together", 1.0)


def test_documents_without_words_are_refused():
    with pytest.raises(DataError, match="expected documents with words"):
        ExtractiveRag([Document("a", "the of ...")])


def test_the_shipped_questions_have_their_gold_among_the_documents():
    ids = {document.doc_id for document in demo_documents()}
    texts = " ".join(document.text for document in demo_documents())
    for query in demo_queries():
        assert set(query.get("relevant", [])) <= ids
        assert query["answerable"] == bool(query.get("relevant"))
        assert all(sentence in texts for sentence in query.get("reference", []))
    assert Counter(query["answerable"] for query in demo_queries()) == {True: 38, False: 6}


def test_a_folder_of_texts_is_read_with_places_as_ids(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.md").write_text("One.")
    (tmp_path / "b.txt").write_text("Two.")
    (tmp_path / "c.pdf").write_bytes(b"%PDF")
    assert read_documents(tmp_path) == [Document("b.txt", "Two."), Document("deep/a.md", "One.")]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ('{"doc_id": "a"}\n', "line 1: expected an object with the texts doc_id and text"),
        (
            '{"doc_id": "a", "text": "x"}\n{"doc_id": "a", "text": "y"}\n',
            "must be unique; repeated: 'a'",
        ),
        ("\n", "expected documents, e.g. .txt or .md files"),
    ],
)
def test_a_file_that_holds_no_documents_is_told(write, content, told):
    with pytest.raises(DataError, match=told):
        read_documents(write(content))


@pytest.fixture(scope="module")
def port():
    with ReferenceServer(RAG) as server:
        yield int(server.url.rpartition(":")[2])


def asked(port, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, body, headers or {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_a_question_is_answered_over_a_socket_as_in_python(port):
    status, body = asked(port, "POST", "/answer", '{"question": "Do guide dogs pay?", "k": 2}')
    assert (status, json.loads(body)) == (200, RAG.answer("Do guide dogs pay?", 2))
    settings = {"k": 1, "synonyms": True, "rerank": True, "least_covered": 0.2}
    question = "What does it cost to send sand over?"
    body = json.dumps({"question": question, **settings})
    assert json.loads(asked(port, "POST", "/answer", body)[1]) == RAG.answer(question, **settings)


def test_pieces_join_to_the_answer(port):
    status, body = asked(port, "POST", "/stream", '{"question": "Do guide dogs travel free?"}')
    *events, done = [line.removeprefix("data: ") for line in body.decode().split("\n\n") if line]
    pieces = [json.loads(event) for event in events]
    assert (status, done) == (200, "[DONE]")
    whole = RAG.answer("Do guide dogs travel free?")
    assert "".join(piece.get("delta", "") for piece in pieces) == whole.pop("answer")
    assert pieces[-1] == whole


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/answer", "{", 400),
        ("/answer", "[]", 400),
        ("/answer", '{"question": 3}', 400),
        ("/answer", '{"question": "a", "k": 0}', 400),
        ("/answer", '{"question": "a", "k": true}', 400),
        ("/answer", '{"question": "a", "rerank": 1}', 400),
        ("/answer", '{"question": "a", "synonyms": "yes"}', 400),
        ("/answer", '{"question": "a", "least_covered": 1.5}', 400),
        ("/answer", '{"question": "a", "least_covered": NaN}', 400),
        ("/nothing", '{"question": "a"}', 404),
        ("/answer", "x" * ((1 << 20) + 1), 413),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_with_a_reason(port, path, body, status):
    try:
        found, told = asked(port, "POST", path, body)
    except (BrokenPipeError, ConnectionResetError):  # it does not read what is too large
        assert status == 413
        return
    assert found == status
    assert json.loads(told)["error"]


@pytest.mark.parametrize("name", list(FAULTS))
def test_each_fault_can_be_had(name):
    assert Faults({name: 1.0}).draw("Why?") == name


def test_faults_come_as_often_as_wanted_and_the_same_each_time():
    draws = []
    for _ in range(2):
        faults = Faults({"500": 0.1, "drop": 0.2}, seed=5)
        draws.append([faults.draw(f"question {n}") for n in range(5000)])
    assert draws[0] == draws[1]
    counts = Counter(draws[0])
    # Binomial(5000, p): five standard deviations on either side.
    assert abs(counts["500"] - 500) < 5 * math.sqrt(5000 * 0.1 * 0.9)
    assert abs(counts["drop"] - 1000) < 5 * math.sqrt(5000 * 0.2 * 0.8)


@pytest.mark.parametrize("shares", [{"500": -0.1}, {"500": 0.6, "drop": 0.6}, {"500": math.nan}])
def test_shares_that_make_no_sense_are_refused(shares):
    with pytest.raises(DataError, match="share"):
        Faults(shares)


@pytest.fixture
def impatient():
    with ReferenceServer(RAG, patience=0.2, names=["rag"]) as server:
        yield server


def send(server, *pieces: bytes) -> bytes:
    """What the server answers to these bytes, until it closes the connection."""
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        for piece in pieces:
            connection.sendall(piece)
        answer = b""
        while piece := connection.recv(1 << 16):
            answer += piece
        return answer


HEAD = b"POST /answer HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"


def test_a_request_whose_body_does_not_come_is_refused(impatient):
    answer = send(impatient, HEAD + b'{"question"')
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"nothing came for 0.2 s" in answer


def request_to(host: bytes) -> bytes:
    return b"GET /health HTTP/1.1\r\n" + host + b"Connection: close\r\n\r\n"


@pytest.mark.parametrize(
    "host",
    [b"evil.example", b"evil.example:8001", b"127.0.0.1.evil.example", b"localhost.evil", b""],
)
def test_a_request_to_another_host_is_refused(impatient, host):
    """As after DNS rebinding: the name of a page of the web leads to this machine."""
    answer = send(impatient, request_to(b"Host: " + host + b"\r\n"))
    assert answer.startswith(b"HTTP/1.1 421 ")
    assert b'"status": "ok"' not in answer
