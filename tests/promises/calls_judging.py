"""Verdicts of scripted judges; pipelines that are asked, and the files of runs."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import stubs
from promises import DATA, command
from views import attempts, evaluation, inputs, judged, looked_at

import rageval_report as rr
from rageval_report.judges import Rubric, ScriptedChat, judge, read_rubric

QUERIES = DATA / "inputs" / "queries.jsonl"
TONE = Rubric("tone", "Is it polite?", "How polite? {question} {answer}", scale=(1, 5))
SCORES = ["exact_match", "recall@2"]


def fresh(folder: str) -> str:
    """The name of a folder that is not there."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def run(**options: Any) -> Any:
    """A run of `evaluate`."""
    defaults = {"queries": QUERIES, "target": stubs.answer, "metrics": SCORES, "progress": False}
    return rr.evaluate(**{**defaults, **options})


def resumed() -> dict[str, Any]:
    """A run in a folder: refused a second time, then continued without a question."""
    keys = {"folder": fresh("kept"), "samples": 3, "seed": 1}
    again = {"first": keys, "again": keys, "resumed": {**keys, "resume": True}}
    done = attempts({name: partial(run, **options) for name, options in again.items()})()
    return {**done, "files": sorted(p.name.partition(".")[0] for p in Path("kept").iterdir())}


def saved(name: str) -> dict[str, Any]:
    """A run, saved and read again."""
    path = f"saved.{name}"
    run(name="capitals").evaluation.save(path)
    seen = evaluation(rr.RAGPipelineEvaluation.load(None, path))
    del seen["details"]["latency_ms"]
    return seen


def cached() -> dict[str, Any]:
    """Verdicts that are kept: the second judge is not asked."""
    Path("verdicts").unlink(missing_ok=True)
    rows = [{"query_id": name, "question": "?", "answer": name} for name in "abc"]
    chat = ScriptedChat([stubs.full_marks("")] * 3)
    asked = judge(rows, TONE, chat, cache="verdicts", concurrency=1)
    again = judge([*rows, {**rows[0], "query_id": "d"}], TONE, ScriptedChat([]), cache="verdicts")
    return {"first": judged(asked), "second": judged(again)}


def rubric_file() -> dict[str, Any]:
    """A rubric from a file."""
    lines = 'name = "tone"\nquestion = "Polite?"\nprompt = "{answer}"\nscale = [0, 10]\n'
    Path("tone.toml").write_text(lines, "utf-8")
    chat = ScriptedChat([json.dumps({"reasoning": "so", "score": 7})])
    rows = [{"query_id": "a", "answer": "Please."}]
    return judged(judge(rows, read_rubric("tone.toml"), chat, concurrency=1))


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The address of the small demonstration server, in a process of its own."""
    words = [
        sys.executable,
        "-m",
        "rageval_report",
        "demo",
        "serve",
        "--port",
        "0",
        "--seconds",
        "60",
    ]
    with subprocess.Popen(words, stdout=-1, stderr=subprocess.STDOUT, text=True) as process:
        try:
            said = ""
            while not (address := re.search(r"http://127\.0\.0\.1:\d+", said)):
                said = next(process.stdout)
            yield address[0]
        finally:
            process.terminate()


def over_a_socket() -> dict[str, Any]:
    """The small server, asked from Python and from the command line."""
    asked = [
        {"query_id": "a", "question": "Do guide dogs travel free of charge?"},
        {"query_id": "b", "question": "How tall is the lighthouse?", "answerable": False},
        {"query_id": "c", "question": "How quickly do I get a ticket for my dog?"},
    ]
    Path("asked.jsonl").write_text("".join(json.dumps(row) + "\n" for row in asked), "utf-8")
    keys = {"queries": asked, "metrics": ["abstention_accuracy"]}
    words = ("--records", "asked.jsonl", "--metric", "abstention_accuracy", "-o", fresh("by_url"))
    with server() as address:
        table = {
            "answers": lambda: run(target=f"{address}/answer", **keys),
            "no such page": lambda: run(target=f"{address}/nowhere", **keys),
            "command": lambda: command("eval", "--url", f"{address}/answer", *words),
        }
        return attempts(table)()


def commands() -> dict[str, Any]:
    """`eval` and `judge` on the command line: exit codes, and the scores that they write."""
    Path("gates.toml").write_text('rules = ["mean(exact_match) >= 1"]', "utf-8")
    ask = ("eval", "--records", QUERIES, "--metric", "recall@2", "--metric", "exact_match")
    known = ("--callable", "stubs:answer", "-o", fresh("one"))
    table = {
        "eval": known,
        "gate fails": (*known[:3], fresh("two"), "--gates", "gates.toml"),
        "unknown query": (*known[:3], "none", "--query", "z"),
        "unknown function": ("--callable", "stubs:nobody", "-o", "none"),
        "unknown metric": (*known[:3], "none", "--metric", "recal"),
    }
    done = {name: command(*ask, *words)["exit_code"] for name, words in table.items()}
    scores = rr.RAGPipelineEvaluation.load("one", "one/scores.json")
    return {"exit_codes": done, "scores": looked_at(scores)["scores"]}


CALLS = {
    **inputs("judging"),
    "verdicts that are kept": cached,
    "rubric in a file": rubric_file,
    "evaluate a server": over_a_socket,
    "evaluate, resumed": resumed,
    "run files": attempts({k: partial(saved, k) for k in "json csv jsonl parquet".split()}),
    "commands": commands,
}
