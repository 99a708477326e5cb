"""A run: every query once, in order, whatever failed, stopped or was killed in between."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import tracemalloc
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

import rageval_report
from rageval_report.errors import DataError, PipelineError
from rageval_report.runner import Retries, RunConfig, TargetError, collect_answers


def says_yes(question):
    return {"answer": f"{question} Yes.", "retrieved": ["d1"], "citations": ["d1"]}


# -- records


@pytest.mark.parametrize("table", ["parquet", "jsonl"])
def test_the_records_are_the_queries_in_their_order_with_their_answers(tmp_path, table):
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
    finished = collect_answers(rows, says_yes, tmp_path, RunConfig(concurrency=8, table=table))
    assert finished.records.name == f"records.{table}"
    records = rageval_report.read_records(finished.records)
    assert records.index.tolist() == [row["query_id"] for row in rows]
    assert records["answer"].tolist() == [f"What is {n}? Yes." for n in range(50)]
    assert records["relevant"].tolist() == [{"d1": 2.0}] * 50
    assert records["reference"].tolist() == [["Yes.", "Indeed."]] * 50
    assert records["answer_given"].unique().tolist() == ["an older one"]
    assert records["level"].tolist() == list(range(50))
    assert records["topic"].isna().sum() == 25
    assert (records["latency_ms"] >= 0).all()


def test_parquet_takes_columns_of_mixed_kinds(tmp_path):
    given = [1, 0.5, "text", None, {"a": 1}, ["x"], 2**70]
    rows = [{"query_id": str(n), "question": "?", "mixed": one} for n, one in enumerate(given)]
    finished = collect_answers(rows, says_yes, tmp_path, RunConfig(table="parquet"))
    written = pd.read_parquet(finished.records)["mixed"].tolist()
    assert written[:3] == ["1", "0.5", "text"]
    assert pd.isna(written[3])
    assert written[4:] == ['{"a": 1}', '["x"]', str(2**70)]


def test_the_account_of_a_run_says_what_was_asked_and_how_it_went(tmp_path, queries):
    config = RunConfig(name="mine", samples=5, seed=3, table="jsonl")
    collect_answers(queries(20), says_yes, tmp_path, config)
    account = json.loads((tmp_path / "run.json").read_text())
    assert (account["name"], account["question_count"], account["error_count"]) == ("mine", 5, 0)
    assert account["metadata"]["samples"] == 5
    assert account["target"]["function"].endswith(":says_yes")
    assert set(account["config"].values()) == {None}  # a function says nothing of itself


def test_where_the_queries_come_from_stands_in_the_account(tmp_path, queries):
    about = {"datasets": ["squad_v2"], "samples_per_dataset": 2, "seed": 7, "at": Path("a")}
    collect_answers(queries(2), says_yes, tmp_path, RunConfig(table="jsonl", about=about))
    account = json.loads((tmp_path / "run.json").read_text())
    assert account["about"] == about | {"at": "a"}


def test_a_sample_is_drawn_and_only_it_is_asked(tmp_path, queries, lines):
    asked = []
    config = RunConfig(samples=7, seed=1, table="jsonl")
    finished = collect_answers(
        queries(100), lambda question: asked.append(question) or "A", tmp_path, config
    )
    assert len(asked) == finished.n == len(lines(finished.records)) == 7


def test_a_warm_up_is_asked_and_not_kept(tmp_path, queries, lines):
    asked = []
    config = RunConfig(warm_up=3, table="jsonl")
    finished = collect_answers(
        queries(10), lambda question: asked.append(question) or "A", tmp_path, config
    )
    assert (len(asked), len(lines(finished.records))) == (13, 10)


# -- failures


def fails_first(times: int, kind: str = "server"):
    """Fails so many times on each question, then answers."""
    asked, lock = Counter(), threading.Lock()

    def answer(question):
        with lock:
            asked[question] += 1
            n = asked[question]
        if n <= times:
            raise TargetError("not yet", kind)
        return f"after {n}"

    return answer


def test_what_passes_is_asked_again(tmp_path, queries, lines, waits):
    config = RunConfig(table="jsonl")
    finished = collect_answers(queries(5), fails_first(2), tmp_path, config, sleep=waits.append)
    assert [row["answer"] for row in lines(finished.records)] == ["after 3"] * 5
    assert [row["attempts"] for row in lines(finished.records)] == [3] * 5
    assert len(waits) == 10
    assert all(1 <= wait <= 3 for wait in waits)


def test_what_does_not_pass_is_kept_with_its_reason(tmp_path, queries, lines):
    def answer(question):
        if "for 3" in question:
            raise ValueError("three is too many")
        return "A"

    finished = collect_answers(queries(5), answer, tmp_path, RunConfig(table="jsonl"))
    failed = lines(finished.records)[3]
    assert failed["error"] == "exception: ValueError: three is too many"
    assert failed["error_kind"] == "exception"
    assert "answer" not in failed
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


def test_a_pipeline_that_is_down_is_not_asked_to_the_end(tmp_path, queries):
    asked = []

    def answer(question):
        asked.append(question)
        if len(asked) > 10:
            raise ValueError("down")
        return "A"

    config = RunConfig(concurrency=1, stop_after=5, table="jsonl")
    with pytest.raises(PipelineError, match=r"5 queries in a row failed, .*down"):
        collect_answers(queries(1000), answer, tmp_path, config)
    assert len(asked) == 15


def test_a_run_that_stopped_goes_on_where_it_was(tmp_path, queries, lines):
    asked: Counter[str] = Counter()
    is_down = [True]

    def answer(question):
        asked[question] += 1
        if is_down[0] and len(asked) > 10:
            raise ValueError("down")
        return "A"

    config = RunConfig(concurrency=1, stop_after=5, table="jsonl")
    with pytest.raises(PipelineError):
        collect_answers(queries(30), answer, tmp_path, config)
    is_down[0] = False
    resumed = collect_answers(queries(30), answer, tmp_path, config, resume=True)
    assert (resumed.n, resumed.n_new, resumed.failures) == (30, 15, {"exception": 5})
    retried = collect_answers(queries(30), answer, tmp_path, config, retry_failed=True)
    assert (retried.n_new, retried.n_failed) == (5, 0)
    assert Counter(asked.values()) == {1: 25, 2: 5}
    assert [row["query_id"] for row in lines(retried.records)] == [f"q{n}" for n in range(30)]


def test_a_run_that_is_done_asks_nothing_more(tmp_path, queries):
    first = collect_answers(queries(5), says_yes, tmp_path, RunConfig())
    again = collect_answers(queries(5), says_yes, tmp_path, RunConfig(), resume=True)
    assert (again.n, again.n_new) == (5, 0)
    assert pd.read_parquet(again.records).equals(pd.read_parquet(first.records))


def test_a_folder_that_holds_a_run_is_not_written_over(tmp_path, queries):
    collect_answers(queries(5), says_yes, tmp_path, RunConfig())
    with pytest.raises(DataError, match="already contains a run"):
        collect_answers(queries(5), says_yes, tmp_path, RunConfig())


@pytest.mark.parametrize(
    ("n", "settings", "told"),
    [(6, {}, "the queries"), (5, {"samples": 2}, "samples"), (5, {"seed": 1}, "seed")],
)
def test_a_run_of_something_else_is_not_resumed(tmp_path, queries, n, settings, told):
    collect_answers(queries(5), says_yes, tmp_path, RunConfig())
    with pytest.raises(DataError, match=f"different settings: {told}"):
        collect_answers(queries(n), says_yes, tmp_path, RunConfig(**settings), resume=True)


def test_another_pace_may_be_chosen_when_a_run_is_resumed(tmp_path, queries):
    collect_answers(queries(5), says_yes, tmp_path, RunConfig())
    faster = RunConfig(concurrency=16, retries=Retries.none(), stop_after=None)
    assert collect_answers(queries(5), says_yes, tmp_path, faster, resume=True).n == 5


def test_a_setting_that_cannot_be_filled_ends_the_run(tmp_path, serve, target, queries):
    asked = target(serve() + "/answer", body={"question": "{topic}"})
    with pytest.raises(KeyError, match="no field that may be sent is named 'topic'"):
        collect_answers(queries(5), asked, tmp_path, RunConfig())


# -- over a socket, with faults


def test_none_is_lost_or_doubled_when_the_server_fails_now_and_then(
    tmp_path, serve, target, lines, waits
):
    faults = {"_500": 0.05, "_429": 0.05, "drop": 0.05, "hang_up": 0.05}
    rows = [{"query_id": f"q{n}", "question": f"Is bin {n} free?"} for n in range(200)]
    config = RunConfig(concurrency=16, table="jsonl", retries=Retries(9, 9, 9, 9))
    asked = target(serve(**faults) + "/answer")
    finished = collect_answers(rows, asked, tmp_path, config, sleep=waits.append)
    found = lines(finished.records)
    assert [row["query_id"] for row in found] == [row["query_id"] for row in rows]
    assert finished.n_failed == 0
    assert sum(row["attempts"] - 1 for row in found) == len(waits) > 20


def test_a_rate_is_kept_by_all_threads_together(tmp_path, queries, waits):
    config = RunConfig(concurrency=4, rate=0.001, table="jsonl")
    collect_answers(queries(4), says_yes, tmp_path, config, sleep=waits.append)
    assert sorted(round(wait, -3) for wait in waits) == [1000, 2000, 3000]


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

config = RunConfig(concurrency=threads, table="jsonl")
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
    collect_answers(rows, answer, sys.argv[1], RunConfig(concurrency=2, table="jsonl"))
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


# -- memory


def test_answers_are_not_held_in_memory(tmp_path, queries):
    def answer(question):
        return {"answer": "A" * 2000, "contexts": ["c" * 2000] * 5, "retrieved": list("abcde")}

    peaks = []
    tracemalloc.start()
    for n in (100, 100, 1100):  # the first is to warm up
        path = tmp_path / f"{n}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in queries(n)))
        folder = tmp_path / f"run {len(peaks)}"
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        collect_answers(path, answer, folder, RunConfig(concurrency=4, table="jsonl"))
        peaks.append(tracemalloc.get_traced_memory()[1] - before)
    tracemalloc.stop()
    # 1,000 answers more are 12 MB; what is held of them is a place in a file.
    assert peaks[2] - peaks[1] < 1_000_000


def test_of_a_query_that_is_asked_a_few_bytes_are_held(tmp_path, queries):
    def held_at_the_last_of(n):
        path = tmp_path / f"{n}.jsonl"
        path.write_text("".join(json.dumps(row | {"x": "x" * 500}) + "\n" for row in queries(n)))
        before, held = tracemalloc.get_traced_memory()[0], []

        def answer(question):
            if question == f"What is the fee for {n - 1}?":
                held.append(tracemalloc.get_traced_memory()[0] - before)
            return "A"

        collect_answers(
            path, answer, tmp_path / f"run {n}", RunConfig(concurrency=1, table="jsonl")
        )
        return held[0]

    tracemalloc.start()
    held_at_the_last_of(50)  # what is loaded and cached once
    few, many = held_at_the_last_of(200), held_at_the_last_of(2200)
    tracemalloc.stop()
    # A place in the journal (8 bytes) and three flags; its line in the file is 560 bytes.
    assert many - few < 2000 * 16
