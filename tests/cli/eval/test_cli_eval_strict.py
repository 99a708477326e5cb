"""eval --strict stops early if a doubt is certain; eval --dialect over a socket."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation, score
from rageval_report.runner.asking import FIRST_ANSWERS
from rageval_report.runner.reply_keys import MOST_REPLIES

N = 60


class Replies(BaseHTTPRequestHandler):
    """Answers with whatever the function of the server returns for a question."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(asked["question"])
        content = json.dumps(self.server.reply(asked["question"])).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        """Tests print nothing."""


@contextmanager
def serving(reply):
    """A server on this machine, which keeps the questions that it was asked."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Replies)
    server.daemon_threads = True
    server.asked, server.reply = [], reply
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write_queries(gold, n=N):
    rows = [
        {"query_id": f"q{i}", "question": f"{i}", "relevant": gold(i), "reference": f"so {i}"}
        for i in range(n)
    ]
    Path("queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def words(server, *more):
    url = f"http://127.0.0.1:{server.server_address[1]}/answer"
    return ("eval", "--url", url, "--records", "queries.jsonl", "-o", "run", *more)


def with_documents(*names):
    """A reply with documents, whose names may hold the number of the question."""
    return lambda question: {
        "answer": f"so {question}",
        "retrieved": [name.format(question) for name in names],
    }


# Each raises a doubt that more answers cannot remove: gold, reply, its check.
CERTAIN = {
    "another case and suffix": (
        lambda i: [f"Doc{i}.md"],
        with_documents("doc{}", "x"),
        "ids_differ",
    ),
    "chunks and documents": (lambda i: [f"a{i}"], with_documents("a{}#3", "b#1"), "ids_differ"),
    "lists in one text": (lambda i: [f"d{i}; e{i + 7}"], with_documents("d{}", "x"), "joined_ids"),
    "numbers and names": (
        lambda i: [f"{i}"],
        with_documents("guide-{}.html", "b.html"),
        "ids_never_meet",
    ),
    "hashes and titles": (lambda i: [f"{i:04}-ab"], with_documents("Title {}"), "ids_never_meet"),
    "documents under another key": (
        lambda i: [f"n{i}"],
        lambda q: {"answer": f"so {q}", "sources": [{"node_id": f"n{q}", "text": "a text"}]},
        "unread_keys",
    ),
    "gold at another path": (
        lambda i: [f"n{i}"],
        lambda q: {"answer": f"so {q}", "retrieved": [f"row {q}"], "hits": [{"ref": f"n{q}"}]},
        "unread_keys",
    ),
}


@pytest.mark.parametrize("threads", ["1", "4"])
@pytest.mark.parametrize(("gold", "reply", "check"), CERTAIN.values(), ids=CERTAIN)
def test_strict_stops_after_the_first_answers(run, gold, reply, check, threads):
    write_queries(gold)
    with serving(reply) as server:
        ask = words(server, "--strict", "--concurrency", threads)
        stopped = run(*ask)
        assert stopped.exit_code == 2
        assert f"after {FIRST_ANSWERS} answers" in stopped.stderr
        assert check in stopped.stderr
        assert "go on with --resume" in stopped.stderr
        n_asked = len(server.asked)
        assert FIRST_ANSWERS <= n_asked < FIRST_ANSWERS + int(threads)
        # Resumed without a change, the answers that are there are enough; only the keys of replies
        # have to be seen again.
        again = run(*ask, "--resume")
        assert again.exit_code == 2
        n_again = len(server.asked) - n_asked
        assert n_again < MOST_REPLIES + int(threads) if check == "unread_keys" else n_again == 0
        # Resumed with the checks allowed, the others are asked, and nothing twice.
        checks = set(re.findall(r"\[(\w+)\]", stopped.stderr + again.stderr))
        allow = [word for name in checks for word in ("--allow", name)]
        done = run(*ask, "--resume", *allow)
        assert done.exit_code == 0, done.stderr
        assert sorted(server.asked, key=int) == [str(i) for i in range(N)]
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.n_queries == N
    assert any(note.startswith(f"allowed by {check}") for note in saved.notes)


def test_a_run_that_was_stopped_goes_on_with_match_ids(run):
    gold, reply, _ = CERTAIN["another case and suffix"]
    write_queries(gold)
    with serving(reply) as server:
        assert run(*words(server, "--strict")).exit_code == 2
        match = ("--match-ids", "case", "--match-ids", "extension")
        done = run(*words(server, "--strict", "--resume", *match, "--metric", "recall@5"))
        assert done.exit_code == 0, done.stderr
        assert len(server.asked) == N
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.get_aggregated_scores("recall@5") == 1


def late(question):
    """The gold is found from question 30 on, and nothing before."""
    return with_documents("d{}" if int(question) >= 30 else "d999")(question)


UNCERTAIN = {
    "a weak start, ids of one form": (lambda i: [f"d{i}"], late),
    "one id of the first meets": (
        lambda i: [f"Doc{i}"],
        lambda q: with_documents("Doc0", "doc{}")(q),
    ),
    "a late answer": (
        lambda i: [f"d{i}"],
        lambda q: {"answer": "" if int(q) < 25 else f"so {q}", "retrieved": [f"d{q}"]},
    ),
}


@pytest.mark.parametrize(("gold", "reply"), UNCERTAIN.values(), ids=UNCERTAIN)
def test_what_later_answers_may_settle_is_asked_to_the_end(run, gold, reply):
    write_queries(gold)
    with serving(reply) as server:
        result = run(*words(server, "--strict"))
        assert len(server.asked) == N
    assert f"after {FIRST_ANSWERS} answers" not in result.stderr
    assert Path("run/records.parquet").exists()


@pytest.mark.parametrize("more", [(), ("--strict", "--allow", "ids_differ")])
def test_without_strict_everything_is_asked(run, more):
    gold, reply, _ = CERTAIN["chunks and documents"]
    write_queries(gold)
    with serving(reply) as server:
        assert run(*words(server, *more)).exit_code == 0
        assert len(server.asked) == N


def test_ids_are_no_concern_of_metrics_that_do_not_need_them(run):
    gold, reply, _ = CERTAIN["chunks and documents"]
    write_queries(gold)
    with serving(reply) as server:
        result = run(*words(server, "--strict", "--metric", "exact_match"))
        assert result.exit_code == 0, result.stderr
        assert len(server.asked) == N


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--allow", "ids_difer", "Did you mean"),
        ("--allow", "everything", "allow must be"),
        ("--match-ids", "caps", "caps"),
        ("--match-ids", "cut:", "cut"),
    ],
)
def test_a_wrong_word_is_refused_before_anything_is_asked(run, option, value, message):
    write_queries(lambda i: [f"d{i}"])
    with serving(with_documents("d{}")) as server:
        refused = run(*words(server, "--strict", option, value))
        assert refused.exit_code == 2
        assert message in refused.stderr
        assert server.asked == []


# -- dialects, over a socket


def repeated(question):
    """The gold document comes second, third and fifth; the first document twice."""
    return {
        "answer": f"so {question}" if int(question) % 2 else "I do not know.",
        "retrieved": ["x", f"d{question}", f"d{question}", "x", f"d{question}"],
    }


DIALECTS = ["ragbench", "haystack", "datapizza"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_is_that_of_the_same_records_scored_in_python(run, dialect):
    write_queries(lambda i: [f"d{i}", f"e{i}"], n=12)
    with serving(repeated) as server:
        result = run(*words(server, "--dialect", dialect))
        assert result.exit_code == 0, result.stderr
        assert len(server.asked) == 12
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    rows = [json.loads(line) for line in Path("queries.jsonl").read_text().splitlines()]
    records = [{**row, **repeated(row["question"])} for row in rows]
    names = [name for name in saved.scores if name not in ("latency_ms", "latency")]
    assert names
    in_python = score(records, names, dialect=dialect)
    for name in names:
        assert saved.scores[name].tolist() == pytest.approx(
            in_python.scores[name].tolist(), nan_ok=True
        )
    assert dialect in json.dumps(saved.config)
    report = run("report", "run/scores.json", "--format", "json")
    assert dialect in report.stdout


@pytest.mark.parametrize("dialect", ["ragas", "haystak"])
def test_an_unknown_dialect_is_refused_before_anything_is_asked(run, dialect):
    write_queries(lambda i: [f"d{i}"], n=2)
    with serving(repeated) as server:
        refused = run(*words(server, "--dialect", dialect))
        assert refused.exit_code == 2
        assert "ragbench" in refused.stderr
        assert server.asked == []
