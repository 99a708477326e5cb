"""experiment: every combination of --vary is evaluated; leaderboard and effects are printed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

WORDS = "eval --callable my_rag:answer --records queries.jsonl --metric recall@5 -o tried"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_each_combination_has_its_folder_and_its_row(demo_folder, run):
    result = run(f"{WORDS} --vary top_k=1,2 --format json")
    assert result.exit_code == 0, result.stderr
    experiment, ranking, effects = json.loads(result.stdout)
    # Of the three questions d1 and d2 are the gold of two; d0 is never found.
    rows = {row["pipeline"]: row for row in experiment["rows"]}
    assert rows["top_k=1"]["recall@5"] == pytest.approx(1 / 3)
    assert rows["top_k=2"]["recall@5"] == pytest.approx(2 / 3)
    [effect] = effects["rows"]
    assert (effect["factor"], effect["reference"], effect["level"]) == ("top_k", "1", "2")
    assert effect["difference"] == pytest.approx(1 / 3)
    assert {row["pipeline"] for row in ranking["rows"]} == {"top_k=1", "top_k=2"}
    for name in rows:
        assert Path("tried", name, "report.html").stat().st_size > 0
    compared = run("compare", "tried/top_k=1/scores.json", "tried/top_k=2/scores.json")
    assert compared.exit_code == 0, compared.stderr


def test_it_goes_on_with_more_values(demo_folder, run):
    assert run(f"{WORDS} --vary top_k=1").exit_code == 0
    refused = run(f"{WORDS} --vary top_k=1,2")
    assert (refused.exit_code, "--resume" in refused.stderr) == (2, True)
    Path("my_rag.py").write_text(
        "def answer(question, top_k):\n"
        "    assert top_k == 2\n"
        "    return {'answer': 'Paris.', 'retrieved': ['d1', 'd2']}\n"
    )
    result = run(f"{WORDS} --vary top_k=1,2 --resume")
    assert result.exit_code == 0, result.stderr
    assert "top_k=2" in result.stdout


def test_a_dry_run_names_the_combinations(demo_folder, run):
    result = run(f"{WORDS} --vary top_k=1,2 --vary rerank=true,false --dry-run")
    assert result.exit_code == 0
    assert "4 combinations would be evaluated in tried: top_k=1,rerank=True, " in result.stderr
    assert not Path("tried").exists()


def test_a_dry_run_refuses_a_setting_that_reaches_nothing(demo_folder, run):
    words = "eval --url http://localhost:9/ask --records queries.jsonl -o tried --dry-run"
    body = '{"q": "{question}", "k": "{top_k}"}'
    asked = run(*words.split(), "--body", body, "--vary", "top_k=1,2")
    assert asked.exit_code == 0, asked.stderr
    refused = run(*words.split(), "--body", body, "--vary", "mode=a,b")
    assert refused.exit_code == 2
    assert "'mode' does not reach the pipeline: write {mode}" in refused.stderr


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("--vary top_k", "NAME=VALUE"),
        ("--vary topk=1,2", "grid: answer has no parameter 'topk'"),
        ("--vary question=1,2", "'question' cannot be the name of a setting"),
        ("--vary top_k=1,1", "the values of 'top_k' must differ"),
    ],
)
def test_wrong_settings_end_with_2_and_nothing_is_asked(demo_folder, run, more, told):
    result = run(f"{WORDS} {more}")
    assert result.exit_code == 2
    assert told in result.stderr
    assert not Path("tried").exists()
