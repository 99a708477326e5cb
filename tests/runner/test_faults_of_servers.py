"""Whole runs against servers, disks and folders that really fail: what is kept, what is told."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections import Counter

import pytest

from rageval_report.demo.server import ExtractiveRag, Faults, ReferenceServer, demo_documents
from rageval_report.errors import DataError, PipelineError
from rageval_report.runner import Retries, RunConfig, collect_answers, config_from, target_from
from rageval_report.runner.targets import HttpSettings, HttpTarget, StreamSettings

RAG = ExtractiveRag(demo_documents())
KEY = "sk-very-secret-1"


# -- servers

# What a query that meets the fault is kept as; a refusal is an answer like any other.
KIND_OF = {
    "500": "server",
    "429": "busy",
    "garbage": "content",
    "html": "content",
    "empty": "content",
    "drop": "connection",
    "hang-up": "connection",
    "huge": "size",
    "slow": "timeout",
    "refusal": None,
    None: None,
}


def test_every_fault_of_a_server_is_kept_with_its_kind(tmp_path, queries, lines):
    faults = dict.fromkeys([name for name in KIND_OF if name not in ("slow", None)], 0.08)
    shares = {"slow": 0.02, **faults}
    asked = queries(120)
    expected = [KIND_OF[Faults(shares).draw(row["question"])] for row in asked]
    assert set(expected) == set(KIND_OF.values())  # each is met by some query
    config = RunConfig(concurrency=16, table="jsonl", retries=Retries.none(), stop_after=None)
    with ReferenceServer(RAG, faults=Faults(shares), slow=60.0) as server:
        settings = HttpSettings(f"{server.url}/answer", timeout=4.0, max_bytes=1 << 20)
        with HttpTarget(settings) as target:
            finished = collect_answers(asked, target, tmp_path, config)
    assert [row.get("error_kind") for row in lines(finished.records)] == expected
    assert finished.failures == dict(Counter(filter(None, expected)).most_common())


def test_a_server_that_goes_down_in_between_stops_the_run_which_then_goes_on(
    tmp_path, queries, lines, waits
):
    server = ReferenceServer(RAG).__enter__()
    port = int(server.url.rpartition(":")[2])
    config = RunConfig(concurrency=2, table="jsonl", stop_after=3, retries=Retries(connection=1))
    settings = HttpSettings(f"{server.url}/answer", timeout=10.0)
    with HttpTarget(settings) as target:
        ask, n = target.ask, Counter()

        def ask_until_it_is_down(query):
            n["asked"] += 1
            if n["asked"] == 20:
                server.__exit__(None, None, None)
            return ask(query)

        target.ask = ask_until_it_is_down
        with pytest.raises(PipelineError, match="3 queries in a row failed"):
            collect_answers(queries(60), target, tmp_path, config, sleep=waits.append)
    with ReferenceServer(RAG, port=port), HttpTarget(settings) as target:
        finished = collect_answers(queries(60), target, tmp_path, config, retry_failed=True)
    assert [row["query_id"] for row in lines(finished.records)] == [f"q{n}" for n in range(60)]
    assert finished.n_failed == 0
    assert 0 < finished.n_new < 60


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (None, "is the server running"),
        ("http://no-such-host.invalid/answer", "no-such-host.invalid"),
    ],
)
def test_a_folder_is_not_taken_by_a_run_that_could_not_begin(
    tmp_path, queries, target, closed_port, url, told
):
    with pytest.raises(PipelineError, match=told):
        collect_answers(queries(3), target(url or closed_port), tmp_path / "run", RunConfig())
    finished = collect_answers(
        queries(3), lambda _: "A", tmp_path / "run", RunConfig(table="jsonl")
    )
    assert finished.n_answered == 3


def test_a_certificate_that_is_not_trusted_ends_a_run_before_it_begins(
    tmp_path, queries, target, untrusted
):
    with pytest.raises(PipelineError, match="certificate is not trusted"):
        collect_answers(queries(3), target(untrusted.url), tmp_path / "run", RunConfig())
    assert untrusted.requests == []
    assert not (tmp_path / "run" / "journal.jsonl").exists()


@pytest.mark.parametrize("deep", [201, 950, 5000])
def test_an_answer_that_is_nested_too_deeply_is_a_failure(
    tmp_path, queries, says, target, lines, monkeypatch, deep
):
    monkeypatch.setenv("MY_RAG_KEY", KEY)
    says.body = b'{"answer": "A", "x": ' + b"[" * deep + b"]" * deep + b"}"
    asked = target(says.url, headers={"Authorization": "Bearer ${MY_RAG_KEY}"})
    finished = collect_answers(queries(1), asked, tmp_path, RunConfig(table="jsonl"))
    assert lines(finished.records)[0]["error_kind"] == "content"
    assert finished.n == 1


def test_half_a_character_does_not_keep_the_records_from_being_written(tmp_path, write):
    path = write('{"query_id": "a", "question": "Why \\ud83d?"}\n', "queries.jsonl")
    for table in ("jsonl", "parquet"):
        finished = collect_answers(
            path, lambda _: "A \ud83d", tmp_path / table, RunConfig(table=table)
        )
        [block] = finished.blocks()
        assert block["question"].tolist() == ["Why \ufffd?"]
        assert block["answer"].tolist() == ["A \ufffd"]


# -- keys


def test_a_missing_key_is_named_by_its_variable_before_anything_is_written(tmp_path, monkeypatch):
    monkeypatch.delenv("MY_RAG_KEY", raising=False)
    headers = {"X-Api-Key": "${MY_RAG_KEY}"}
    config = config_from({"http": {"url": "http://localhost:1/answer", "headers": headers}})
    with pytest.raises(DataError, match="environment variable MY_RAG_KEY is not set"):
        target_from(config)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stream", [None, StreamSettings()])
@pytest.mark.parametrize("status", [200, 401])
def test_a_key_is_in_no_file_and_no_log_whatever_the_server_repeats(
    tmp_path, queries, says, target, monkeypatch, caplog, status, stream
):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("MY_RAG_KEY", KEY)
    told = f'{{"answer": "you sent {KEY}", "{KEY}": 1, "contexts": ["{KEY}"], "model": "{KEY}"}}'
    says.status, says.body = status, told.encode()
    if stream is not None:
        says.body = f'data: {{"delta": "{KEY[:4]}"}}\n\ndata: {{"delta": "{KEY[4:]}"}}\n\n'.encode()
    headers = {"Authorization": "Bearer ${MY_RAG_KEY}"}
    asked = target(says.url, headers=headers, stream=stream, config={"llm_model": "model"})
    for table in ("jsonl", "parquet"):
        collect_answers(queries(3), asked, tmp_path / table, RunConfig(table=table))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 6
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert KEY not in caplog.text
    assert all(sent["Authorization"] == f"Bearer {KEY}" for _, sent, _ in says.requests)


def test_a_key_that_the_settings_of_a_server_repeat_is_not_kept(
    tmp_path, queries, says, target, monkeypatch
):
    monkeypatch.setenv("MY_RAG_KEY", KEY)
    says.body = f'{{"answer": "A", "llm_model": "gpt with {KEY}"}}'.encode()
    headers = {"Authorization": "Bearer ${MY_RAG_KEY}"}
    asked = target(says.url, headers=headers, config_url=says.url)
    finished = collect_answers(queries(1), asked, tmp_path, RunConfig(table="jsonl"))
    assert finished.config["llm_model"] == "gpt with ***"


# -- one journal, one run

HOLDS = """
import sys
from rageval_report.runner import RunConfig, collect_answers

def answer(question):
    print("asked", flush=True)
    sys.stdin.readline()
    return "A"

rows = [{"query_id": f"q{n}", "question": "?"} for n in range(3)]
collect_answers(rows, answer, sys.argv[1], RunConfig(concurrency=1, table="jsonl"), resume=True)
"""


def test_two_processes_do_not_run_into_one_folder(tmp_path, lines):
    line = [sys.executable, "-c", HOLDS, str(tmp_path)]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout.readline() == "asked\n"
        second = subprocess.run(line, capture_output=True, text=True, input="\n\n\n", check=False)
        assert "another run is writing this file; wait until it ends" in second.stderr
        assert second.stdout == ""
        first.communicate("\n\n\n")
    assert first.returncode == 0
    assert [row["query_id"] for row in lines(tmp_path / "records.jsonl")] == ["q0", "q1", "q2"]


# -- a run that was stopped, and what came in between


@pytest.fixture
def stopped(tmp_path, queries):
    """The folder of a run of ten queries that went down after six."""
    asked: Counter[str] = Counter()

    def answer(question):
        asked["n"] += 1
        if asked["n"] > 6:
            raise KeyboardInterrupt
        return f"{question} A"

    with pytest.raises(KeyboardInterrupt):
        collect_answers(
            queries(10), answer, tmp_path / "run", RunConfig(concurrency=1, table="jsonl")
        )
    return tmp_path / "run"


def goes_on(folder, queries):
    """The rest of it; how many were asked anew, and the records."""

    def answer(question):
        return f"{question} A"

    answer.__qualname__ = "stopped.<locals>.answer"
    return collect_answers(queries(10), answer, folder, RunConfig(table="jsonl"), resume=True)


def test_a_folder_may_be_moved_before_a_run_goes_on(stopped, tmp_path, queries, lines):
    moved = stopped.rename(tmp_path / "another place")
    finished = goes_on(moved, queries)
    assert (finished.n, finished.n_new) == (10, 4)
    assert finished.records.parent == moved
    assert [row["query_id"] for row in lines(finished.records)] == [f"q{n}" for n in range(10)]


def test_half_a_line_is_asked_again_and_said(stopped, queries, lines):
    path = stopped / "journal.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    finished = goes_on(stopped, queries)
    assert (finished.n, finished.n_new) == (10, 5)
    assert "the journal ended in the middle of a line" in finished.notes[0]
    assert all(row["answer"].endswith(" A") for row in lines(finished.records))


def test_a_line_that_is_there_twice_is_one_record(stopped, queries, lines):
    path = stopped / "journal.jsonl"
    header, *entries = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([header, *entries, *entries[2:4]]))
    finished = goes_on(stopped, queries)
    assert (finished.n, finished.n_new) == (10, 4)
    assert [row["query_id"] for row in lines(finished.records)] == [f"q{n}" for n in range(10)]


def test_a_line_that_is_none_is_told_with_what_to_do(stopped, queries):
    path = stopped / "journal.jsonl"
    header, *entries = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([header, b"\x00" * 30 + b"\n", *entries]))
    finished = goes_on(stopped, queries)
    assert finished.n == 10
    assert any("line 2" in note for note in finished.notes), finished.notes


PLAIN = {"url": "http://localhost:1/answer", "headers": {"X-Mode": "fast"}}
LINE = {"line": "python rag.py --k 5"}


@pytest.mark.parametrize(
    ("target", "then", "now"),
    [
        ("http", PLAIN, {"url": "http://localhost:2/answer"}),
        ("http", PLAIN, {"url": "http://localhost:1/answer?k=5"}),
        ("http", PLAIN, {"body": {"question": "{question}", "k": 5}}),
        ("http", PLAIN, {"headers": {"X-Mode": "slow"}}),
        ("http", PLAIN, {"response": {"contexts": "chunks"}}),
        ("http", PLAIN, {"stream": {"text": "delta"}}),
        ("command", LINE, {"line": "python rag.py --k 10"}),
        ("command", LINE, {"response": {"answer": "text"}}),
        ("command", LINE, {"fields": ["language"]}),
        ("callable", {"function": "json:dumps"}, {"argument": "query"}),
        (
            "callable",
            {"function": "json:dumps", "argument": "query"},
            {"fields": ["language"]},
        ),
    ],
)
def test_a_pipeline_that_is_asked_otherwise_is_another(target, then, now):
    identities = [
        target_from(config_from({target: section})).identity() for section in (then, then | now)
    ]
    assert identities[0] != identities[1]


def test_how_long_is_waited_may_change_in_a_run():
    times = [{"timeout": 5.0}, {"timeout": 50.0, "max_bytes": 1000}]
    one, other = (target_from(config_from({"http": PLAIN | time})).identity() for time in times)
    assert one == other


def test_secrets_in_addresses_and_arguments_do_not_show_in_what_is_kept(monkeypatch):
    monkeypatch.setenv("MY_RAG_KEY", KEY)
    asked = {"http": PLAIN | {"url": "http://localhost:1/answer?key=${MY_RAG_KEY}"}}
    called = {"command": {"line": f"python rag.py --key {KEY}"}}
    for section in (asked, called):
        assert KEY not in str(target_from(config_from(section)).identity())


def test_a_file_of_queries_that_changes_while_it_is_asked_ends_the_run(tmp_path, write):
    text = '{"query_id": "a", "question": "?"}\n{"query_id": "b", "question": "?"}\n'
    path = write(text, "queries.jsonl")

    def answer(question):
        path.write_text('{"query_id": "b", "question": "?"}\n' * 3)
        return "A"

    with pytest.raises(DataError, match="the file changed while its queries were asked"):
        collect_answers(path, answer, tmp_path / "run", RunConfig(concurrency=1, table="jsonl"))
    assert (tmp_path / "run" / "journal.jsonl").exists()
    assert not (tmp_path / "run" / "records.jsonl").exists()
