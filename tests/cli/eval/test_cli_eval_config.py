"""The file of settings of eval: its own keys, those of ragbench, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation


def saved(folder="run"):
    return RAGPipelineEvaluation.load(None, f"{folder}/scores.json")


@pytest.mark.parametrize(
    "judge", [{"api_key": "sk-very-secret"}, {"model": "m", "api_key_env": "sk-very-secret"}]
)
def test_a_key_in_the_file_is_refused_and_not_printed(demo_folder, run, judge):
    settings = {"callable": {"function": "my_rag:answer"}, "records": "queries.jsonl"}
    Path("keyed.yaml").write_text(json.dumps({**settings, "judge": judge}))
    result = run("eval --config keyed.yaml -o run")
    assert result.exit_code == 2
    assert "api_key_env" in result.stderr
    assert "sk-very-secret" not in result.output


@pytest.fixture
def with_judge(demo_folder, run, judge_server):
    """Write a file with this judge and run it."""

    def run_it(*words, **judge):
        url = f"http://127.0.0.1:{judge_server.server_port}/v1"
        section = {"provider": "openai", "base_url": url, "model": "gpt-5", **judge}
        settings = {"callable": {"function": "my_rag:answer"}, "records": "queries.jsonl"}
        Path("judged.yaml").write_text(json.dumps({**settings, "judge": section}))
        return run("eval", "--config", "judged.yaml", "-o", "run", *words)

    return run_it


def test_the_judge_stands_in_the_file(with_judge, judge_server):
    Path("vague.json").write_text(
        '{"name": "vagueness_z", "question": "Is it vague?", "prompt": "{question} {answer}"}'
    )
    result = with_judge(
        rubrics=["coherence", "vague.json"],
        prices={"gpt-5": [1, 10]},
        n_repeats=2,
        temperature=0.5,
        structured=False,
        cache="mine.sqlite",
        extra_body={"seed": 3},
    )
    assert result.exit_code == 0, result.stderr
    assert {"coherence", "vagueness_z"} <= set(saved().metrics)
    assert len(judge_server.asked) == 3 * 2 * 2
    first = judge_server.asked[0]
    assert (first["temperature"], first["seed"]) == (0.5, 3)
    assert "response_format" not in first
    assert Path("mine.sqlite").exists()
    # 12 calls, each 1000 tokens at 1 USD and 100 at 10 USD a million
    assert "0.024 USD" in result.stdout
    assert "Noise of the judge" in result.stdout
    assert "within_query_sd" in Path("run/report.html").read_text()


def test_the_weighted_score_is_the_mean_of_its_objectives_by_weight(demo_folder, run):
    words = "eval --callable my_rag:answer --records queries.jsonl -o run --format json"
    result = run(
        f"{words} --metric recall@1 --metric exact_match --weight recall@1=3 --weight exact_match=1"
    )
    assert result.exit_code == 0, result.stderr
    _, weighted = json.loads(result.stdout)
    rows = {row["objective"]: row for row in weighted["rows"]}
    recall, exact = (saved().get_aggregated_scores(one) for one in ("recall@1", "exact_match"))
    assert rows["weighted score"]["value"] == pytest.approx((3 * recall + exact) / 4)
    assert rows["recall@1"]["effective_weight"] == pytest.approx(0.75)
    assert rows["recall@1"]["contribution"] == pytest.approx(0.75 * recall)
