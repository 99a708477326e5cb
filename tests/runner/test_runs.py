"""Whole runs: every query once, whatever failed, stopped, filled up or was damaged in between."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections import Counter

import pytest

import rageval_report
from rageval_report.demo.server import ExtractiveRag, ReferenceServer, demo_documents
from rageval_report.errors import DataError, PipelineError
from rageval_report.runner import (
    RunConfig,
    collect_answers,
    target_from,
)
from rageval_report.runner.targets import HttpSettings, HttpTarget


def says_yes(question):
    return {"answer": f"{question} Yes.", "retrieved": ["d1"], "citations": ["d1"]}


# -- records


def test_the_records_are_the_queries_in_their_order_with_their_answers(tmp_path):
    rows = [
        {
            "query_id": f"q{n}",
            "question": f"What is {n}?",
            "relevant": {"d1": 2.0},
            "reference": ["Yes.", "Indeed."],
            "topic": "a" if n % 2 else None,
            "level": n,
            "answer": "an older one",
        }
        for n in range(50)
    ]
    finished = collect_answers(rows, says_yes, tmp_path, RunConfig(concurrency=8))
    assert finished.records.name == "records.jsonl"
    records = rageval_report.read_records(finished.records)
    assert records.index.tolist() == [row["query_id"] for row in rows]
    assert records["answer"].tolist() == [f"What is {n}? Yes." for n in range(50)]
    assert records["relevant"].tolist() == [{"d1": 2.0}] * 50
    assert records["reference"].tolist() == [["Yes.", "Indeed."]] * 50
    assert records["answer_given"].unique().tolist() == ["an older one"]
    assert records["level"].tolist() == list(range(50))
    assert records["topic"].isna().sum() == 25
    assert (records["latency_ms"] >= 0).all()


def test_a_sample_is_drawn_and_only_it_is_asked(tmp_path, queries, lines):
    asked = []
    config = RunConfig(samples=7, seed=1)
    finished = collect_answers(
        queries(100), lambda question: asked.append(question) or "A", tmp_path, config
    )
    assert len(asked) == finished.n == len(lines(finished.records)) == 7


# -- failures


def test_what_does_not_pass_is_kept_with_its_reason(tmp_path, queries, lines):
    def answer(question):
        if "for 3" in question:
            raise ValueError("three is too many")
        return "A"

    finished = collect_answers(queries(5), answer, tmp_path, RunConfig())
    failed = lines(finished.records)[3]
    assert failed["error"] == "exception: ValueError: three is too many"
    assert failed["error_kind"] == "exception"
    assert failed["answer"] is None
    assert finished.failures == {"exception": 1}
    assert finished.notes == ("1 of 5 have no answer: exception 1",)


def test_a_failed_query_is_failed_in_the_scores_and_not_zero(tmp_path):
    def answer(question):
        if question == "Two?":
            raise ValueError("no")
        return {"answer": "A", "retrieved": ["d1"]}

    rows = [
        {"query_id": one, "question": f"{one}?", "relevant": ["d1"], "reference": ["A"]}
        for one in ("One", "Two", "Three")
    ]
    finished = collect_answers(rows, answer, tmp_path, RunConfig())
    records = rageval_report.read_records(finished.records)
    evaluation = rageval_report.score(records, ["recall@1", "exact_match"])
    assert evaluation.states.loc["Two"].tolist() == ["failed", "failed"]
    assert evaluation.scores.loc["Two"].isna().all()
    assert evaluation.get_aggregated_scores("recall@1") == 1.0


def test_a_run_that_stopped_goes_on_where_it_was(tmp_path, queries, lines):
    asked: Counter[str] = Counter()
    is_down = [True]

    def answer(question):
        asked[question] += 1
        if is_down[0] and len(asked) > 10:
            raise ValueError("down")
        return "A"

    config = RunConfig(concurrency=1, stop_after=5)
    with pytest.raises(PipelineError):
        collect_answers(queries(30), answer, tmp_path, config)
    is_down[0] = False
    resumed = collect_answers(queries(30), answer, tmp_path, config, resume=True)
    assert (resumed.n, resumed.n_new, resumed.failures) == (30, 15, {"exception": 5})
    retried = collect_answers(queries(30), answer, tmp_path, config, retry_failed=True)
    assert (retried.n_new, retried.n_failed) == (5, 0)
    assert Counter(asked.values()) == {1: 25, 2: 5}
    assert [row["query_id"] for row in lines(retried.records)] == [f"q{n}" for n in range(30)]


def test_a_folder_that_holds_a_run_is_not_written_over(tmp_path, queries):
    collect_answers(queries(5), says_yes, tmp_path, RunConfig())
    with pytest.raises(DataError, match="already contains a run"):
        collect_answers(queries(5), says_yes, tmp_path, RunConfig())


# -- killed

KILLED = """
import os, signal, sys, threading
from rageval_report.runner import RunConfig, collect_answers

folder, at, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
lock, n = threading.Lock(), 0

def answer(question):
    global n
    with lock:
        n += 1
        with open(folder + "/asked.txt", "a") as asked:
            asked.write(question + "\\n")
        if n == at:
            os.kill(os.getpid(), signal.SIGKILL)
    return question.upper()

config = RunConfig(concurrency=threads)
collect_answers(folder + "/queries.jsonl", answer, folder + "/run", config, resume=True)
"""


def killed_at(folder, at, threads) -> int:
    line = [sys.executable, "-c", KILLED, str(folder), str(at), str(threads)]
    return subprocess.run(line, check=False).returncode


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_process_that_is_killed_loses_at_most_those_in_flight(tmp_path, queries, lines):
    n, threads = 100, 4
    text = "".join(json.dumps(row) + "\n" for row in queries(n))
    (tmp_path / "queries.jsonl").write_text(text)
    for at in (30, 40):
        before = len(asked_of(tmp_path))
        assert killed_at(tmp_path, at, threads) == -signal.SIGKILL
        asked = len(asked_of(tmp_path)) - before
        assert asked == at
        kept = {line["row"] for line in whole_lines(tmp_path / "run" / "journal.jsonl")}
        assert len(set(asked_of(tmp_path))) - len(kept) <= threads
    assert killed_at(tmp_path, 0, threads) == 0
    found = lines(tmp_path / "run" / "records.jsonl")
    assert [row["query_id"] for row in found] == [f"q{i}" for i in range(n)]
    assert all(row["answer"] == row["question"].upper() for row in found)
    assert n <= len(asked_of(tmp_path)) <= n + 2 * threads


def asked_of(folder) -> list[str]:
    path = folder / "asked.txt"
    return path.read_text().splitlines() if path.exists() else []


def whole_lines(path) -> list[dict]:
    text = path.read_text()
    rows = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]
    return [row for row in rows if "row" in row]


INTERRUPTED = """
import itertools, os, signal, sys, threading
from rageval_report.runner import RunConfig, collect_answers

calls = itertools.count(1)

def answer(question):
    # Not the first call: then nothing may be done yet when the signal arrives.
    if next(calls) == 20:
        os.kill(os.getpid(), signal.SIGINT)
    threading.Event().wait(0.01)  # as slow as a pipeline, so that there is something to interrupt
    return "kept"

rows = [{"query_id": str(n), "question": "?"} for n in range(5000)]
try:
    collect_answers(rows, answer, sys.argv[1], RunConfig(concurrency=2))
except KeyboardInterrupt:
    print("interrupted")
"""


def test_ctrl_c_keeps_what_is_done(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "interrupted\n"
    assert (tmp_path / "journal.jsonl").read_text().endswith("\n")
    assert 0 < len(whole_lines(tmp_path / "journal.jsonl")) < 5000


RAG = ExtractiveRag(demo_documents())


KEY = "sk-very-secret-1"


# -- servers


def test_a_server_that_goes_down_in_between_stops_the_run_which_then_goes_on(
    tmp_path, queries, lines, waits
):
    server = ReferenceServer(RAG).__enter__()
    port = int(server.url.rpartition(":")[2])
    config = RunConfig(concurrency=2, stop_after=3, retries=1)
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
    finished = collect_answers(queries(3), lambda _: "A", tmp_path / "run", RunConfig())
    assert finished.n_answered == 3


@pytest.mark.parametrize("status", [200, 401])
def test_a_key_is_in_no_file_and_no_log_whatever_the_server_repeats(
    tmp_path, queries, says, target, monkeypatch, caplog, status
):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("MY_RAG_KEY", KEY)
    told = f'{{"answer": "you sent {KEY}", "{KEY}": 1, "contexts": ["{KEY}"], "model": "{KEY}"}}'
    says.status, says.body = status, told.encode()
    headers = {"Authorization": "Bearer ${MY_RAG_KEY}"}
    asked = target(says.url, headers=headers, config_url=says.url if status == 200 else None)
    collect_answers(queries(3), asked, tmp_path / "run", RunConfig())
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) == 3
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
    assert KEY not in caplog.text
    assert all(sent["Authorization"] == f"Bearer {KEY}" for _, sent, _ in says.requests)


# -- one journal, one run

HOLDS = """
import sys
from rageval_report.runner import RunConfig, collect_answers

def answer(question):
    print("asked", flush=True)
    sys.stdin.readline()
    return "A"

rows = [{"query_id": f"q{n}", "question": "?"} for n in range(3)]
collect_answers(rows, answer, sys.argv[1], RunConfig(concurrency=1), resume=True)
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


PLAIN = {"url": "http://localhost:1/answer", "headers": {"X-Mode": "fast"}}


LINE = {"line": "python rag.py --k 5"}


@pytest.mark.parametrize(
    ("target", "then", "now"),
    [
        ("http", PLAIN, {"url": "http://localhost:2/answer"}),
        ("http", PLAIN, {"body": {"question": "{question}", "k": 5}}),
        ("http", PLAIN, {"headers": {"X-Mode": "slow"}}),
        ("http", PLAIN, {"response": {"contexts": "chunks"}}),
        ("command", LINE, {"line": "python rag.py --k 10"}),
        ("command", LINE, {"response": {"answer": "text"}}),
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
        target_from(RunConfig(settings={target: section})).identity()
        for section in (then, then | now)
    ]
    assert identities[0] != identities[1]
