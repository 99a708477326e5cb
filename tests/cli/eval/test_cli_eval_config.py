"""The file of settings of eval: its own keys, those of ragbench, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import ReaderError
from rageval_report.evaluating.config import eval_config_of, read_eval_config


def saved(folder="run"):
    return RAGPipelineEvaluation.load(None, f"{folder}/scores.json")


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("seed: 1\nweigths: {cost: 1}\n", 2, "no key of the configuration is named 'weigths'"),
        (
            "judge:\n  model: m\n  rubrcs: [coherence]\n",
            3,
            "of judge is named 'rubrcs'. Did you me",
        ),
        ("metrics:\n  recal_k_values: [5]\n", 2, "of metrics is named 'recal_k_values'. Did you"),
        (
            "http:\n  url: http://h\n  response:\n    anser: a\n",
            4,
            "of http.response is named 'anser'. Did you mean 'answer'",
        ),
        (
            "objectives:\n  latency:\n    metrics: latency_ms\n    wurst: 5\n",
            4,
            "of objectives.latency is named 'wurst'. Did you mean 'worst'",
        ),
    ],
)
def test_an_unknown_key_is_told_with_its_line_and_the_nearest(write, text, line, told):
    path = write(text, "eval.yaml")
    with pytest.raises(ReaderError) as caught:
        read_eval_config(path)
    assert str(caught.value).startswith(f"{path}, line {line}: no key ")
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("seed: 1\njudge:\n  model: m\n  max_cost: much\n", 4, "judge.max_cost: expected"),
        ("seed: 1\n\nconcurrency: 0\n", 3, "concurrency must be an integer"),
        ("retries:\n  timeout: -1\n", 2, "retries.timeout must be a number >= 0"),
        ("judge:\n  max_retries: -1\n", 2, "judge.max_retries must be an integer >= 0"),
        ("datasets:\n- qasper\n- 5\n", 3, "datasets[1]: expected a text"),
        ("judge:\n  prices:\n    gpt-5.1: cheap\n", 2, "judge.prices: the price of 'gpt-5.1'"),
        ("seed: 1\nhttp: now\n", 2, "http: expected a mapping"),
        ("callable:\n  function: a:b\n  argument: [1]\n", 3, "callable.argument: expected"),
        ("weights:\n  gpt.score: 1\n  faithful.ness: x\n", 3, "weights.faithful.ness: exp"),
        ("seed: 1\ntable: csv\n", 2, 'table: expected "parquet" or "jsonl"'),
        ("objectives:\n  latency:\n    metrics: latency_ms\n    worst: x\n", 4, "worst: exp"),
    ],
)
def test_a_wrong_value_is_told_with_its_line(write, text, line, told):
    path = write(text, "eval.yaml")
    with pytest.raises(ReaderError) as caught:
        read_eval_config(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")
    assert told in str(caught.value)


def test_a_file_of_ragbench_is_understood():
    config = eval_config_of(
        {
            "datasets": ["ragbench", "squad_v2"],
            "samples_per_dataset": 100,
            "metrics": {
                **dict.fromkeys(("retrieval", "generation", "citation"), True),
                "abstention": True,
                "performance": True,
                "recall_k_values": [1, 5],
                "precision_k_values": [3],
            },
            "judge": {
                "enabled": True,
                "provider": "anthropic",
                "model": "claude-haiku-4-5",
                "temperature": 0.0,
                "max_retries": 3,
            },
            "weights": {"accuracy": 0.3, "faithfulness": 0.2},
            "rag_server_url": "http://localhost:8001",
            "runs_dir": "data/eval_runs",
            "name": "monday",
            "seed": 42,
        }
    )
    assert (config.run.samples, config.run.seed, config.run.target_name) == (100, 42, "http")
    assert config.run.settings["http"]["url"] == "http://localhost:8001"
    assert config.datasets == ("ragbench", "squad_v2")
    assert config.folder == Path("data/eval_runs/monday")
    assert (config.judge.max_attempts, config.judge.temperature) == (4, 0.0)
    retrieval = config.groups.by_fields()[0][1]
    assert retrieval == ("recall@1", "recall@5", "precision@3", "reciprocal_rank", "ndcg@10")


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
