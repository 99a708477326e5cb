"""eval --stop-when and judge --stop-when."""

from __future__ import annotations

import json

import pytest

from rageval_report import RAGPipelineEvaluation


@pytest.fixture
def many_queries(demo_folder):
    """A hundred questions that the pipeline answers right, and a run that did not."""
    rows = [
        {
            "query_id": f"q{n}",
            "question": f"What is {n}?",
            "reference": "Paris.",
            "relevant": ["d1"],
        }
        for n in range(100)
    ]
    (demo_folder / "many.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    ids = [row["query_id"] for row in rows]
    old = RAGPipelineEvaluation("old", {"query_id": ids, "exact_match": [0.0, 1.0] * 50})
    old.save(demo_folder / "old.json")
    return demo_folder


ASK = "eval --callable my_rag:answer --records many.jsonl -o run --metric exact_match --seed 4"


def test_eval_stops_at_a_rule_and_says_what_was_saved(many_queries, run):
    words = [*ASK.split(), "--baseline", "old.json"]
    words += ["--stop-when", "worse(exact_match)", "--or", "better(exact_match)"]
    result = run(*words)
    assert result.exit_code == 0, result.stderr
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.n_queries < 100
    assert f"asked {saved.n_queries} of 100 queries in a random order (seed 4)" in result.stderr
    assert f"saved {100 - saved.n_queries} queries" in result.stderr
    assert "better(exact_match) holds after" in result.stdout
    document = json.loads((many_queries / "run" / "scores.json").read_text())
    assert document["config"]["stopping"]["rules"] == ["worse(exact_match)", "better(exact_match)"]


def test_a_rule_that_makes_no_sense_is_one_line_that_says_where(many_queries, run):
    result = run(*ASK.split(), "--stop-when", "better(exact_match)")
    assert result.exit_code == 2
    assert "better needs a baseline" in result.stderr
    rehearsed = run(*ASK.split(), "--stop-when", "better(exact_match)", "--dry-run")
    assert (rehearsed.exit_code, rehearsed.stderr) == (2, result.stderr)
