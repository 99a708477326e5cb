"""judge --stop-when: no more records are judged once a rule holds."""

from __future__ import annotations

import json

import pytest

from rageval_report import RAGPipelineEvaluation


@pytest.fixture
def judge(folder, monkeypatch, run, judge_server):
    """Run judge on eighty records that the server's model calls coherent."""
    monkeypatch.setenv("RAGEVAL_CACHE", str(folder / "judges.sqlite"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    rows = [{"query_id": f"q{n}", "question": "Where?", "answer": "Here."} for n in range(80)]
    (folder / "many.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    url = f"http://127.0.0.1:{judge_server.server_port}/v1"
    words = ["judge", "many.jsonl", "--judge", "coherence", "--base-url", url, "--model", "m"]
    return lambda *more: run(*words, *more)


def test_judging_stops_and_says_what_was_saved(judge, judge_server):
    result = judge(
        "--stop-when", "ci_low(coherence) >= 0.6", "--seed", "3", "--queries", "out.json"
    )
    assert result.exit_code == 0, result.stderr
    judged = RAGPipelineEvaluation.load(None, "out.json")
    n = judged.n_queries
    assert n < 80
    assert f"asked {n} of 80 queries in a random order (seed 3)" in result.stderr
    assert f"saved {80 - n} queries" in result.stdout
    assert judged.config["stopping"]["rules"] == ["ci_low(coherence) >= 0.6"]
