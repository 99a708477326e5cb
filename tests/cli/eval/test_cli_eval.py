"""eval, serve and demo --live: a pipeline is asked, scored and reported in one go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.demo.server import (
    ExtractiveRag,
    Faults,
    ReferenceServer,
    demo_documents,
    demo_queries,
)
from rageval_report.judges import Reply, ScriptedChat
from rageval_report.runner.judge_setup import JudgeSetup

ASK = "eval --callable my_rag:answer --records queries.jsonl -o run"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server():
    with ReferenceServer(ExtractiveRag(demo_documents())) as running:
        yield running


@pytest.fixture
def live_queries(folder):
    lines = [json.dumps(query) for query in demo_queries()]
    (folder / "live.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def test_a_server_is_asked_scored_and_reported(live_queries, server, run):
    url = server.url
    words = f"eval --url {url}/answer --records live.jsonl -o run --config-url {url}/config"
    result = run(words + " --concurrency 2 --name rag")
    assert result.exit_code == 0, result.stderr
    assert "Recall@5" in result.stdout
    assert "Exact Match" in result.stdout
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert (saved.name, saved.n_queries, saved.config["retrieval_top_k"]) == ("rag", 44, 3)
    rag = ExtractiveRag(demo_documents())
    right = [rag.answer(q["question"])["answer"] in q["reference"] for q in demo_queries()[:38]]
    assert saved.get_aggregated_scores("exact_match") == pytest.approx(sum(right) / 38)
    assert (live_queries / "run" / "report.html").read_text().startswith("<!")


def test_failures_are_told_and_asked_again(live_queries, run, monkeypatch):
    rag = ExtractiveRag(demo_documents())
    words = "--records live.jsonl -o run --metric exact_match --config eval.yaml"
    with ReferenceServer(rag, faults=Faults({"html": 0.1})) as server:
        settings = {"http": {"url": server.url + "/answer"}}
        (live_queries / "eval.yaml").write_text(json.dumps(settings))
        first = run(f"eval {words}")
        assert "have no answer: content" in first.stderr
        assert "ask those again with --retry-failed -o run" in first.stderr
        for _ in range(4):
            again = run(f"eval {words} --retry-failed")
    assert again.exit_code == 0
    assert "have no answer" not in again.stderr


def test_options_go_before_the_file(demo_folder, run):
    (demo_folder / "fast.yaml").write_text(
        "records: no.jsonl\nsamples: 1\nseed: 4\ncallable: {function: 'my_rag:answer'}\n"
    )
    result = run("eval --config fast.yaml --records queries.jsonl --samples 2 -o run")
    assert result.exit_code == 0, result.stderr
    account = json.loads((demo_folder / "run" / "run.json").read_text())
    assert (account["question_count"], account["metadata"]["seed"]) == (2, 4)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--records queries.jsonl", "give --url, --callable or --command"),
        ("--callable my_rag:answer", "Missing option '--records'"),
        ("--callable my_rag:answer --url http://h --records queries.jsonl", "Give one of --url"),
        ("--callable my_rag:answr --records queries.jsonl", "the module has no function 'answr'"),
        ("--callable my_rag:answer --records no.jsonl", "no.jsonl"),
        ("--url localhost:8001 --records queries.jsonl", "expected an address"),
        ("--url http://h --body {x --records queries.jsonl", "expected JSON"),
        ("--url http://h --header Accept --records queries.jsonl", "expected NAME=VALUE"),
        ("--url http://h --path anser=a --records queries.jsonl", "Did you mean 'answer'"),
        ("--config no.yaml", "no.yaml"),
    ],
)
def test_what_cannot_be_asked_is_told_in_a_line(demo_folder, refused, words, told):
    assert told in refused(f"eval {words} -o run")


@pytest.fixture
def judged(demo_folder, run, judge_server):
    """Ask and judge; the pipeline answers "Paris." three times, and the judge gives 2 of 5."""

    def run_it(*words: str):
        url = f"http://127.0.0.1:{judge_server.server_port}/v1"
        return run(*ASK.split(), "--base-url", url, "--model", "gpt-5", *words)

    return run_it


def test_what_was_answered_is_computed_and_judged_in_one_go(judged, judge_server):
    result = judged("--judge", "coherence", "--metric", "exact_match", "--price", "1:10")
    assert result.exit_code == 0, result.stderr
    assert "gpt-5 was asked 3 times" in result.stdout
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert list(saved.metrics) == ["exact_match", "coherence"]
    assert saved.get_aggregated_scores("exact_match") == pytest.approx(2 / 3)
    assert saved.scores["coherence"].tolist() == [0.25] * 3  # 2 on a scale from 1 to 5
    assert saved.details["coherence_reason"].tolist() == ["as I see it"] * 3
    assert saved.config["judge"]["judge_model"] == "gpt-5"
    assert len(judge_server.asked) == 3


def test_a_run_that_is_resumed_asks_neither_pipeline_nor_judge_again(judged, judge_server):
    assert judged("--judge", "coherence").exit_code == 0
    assert judged("--judge", "coherence", "--resume").exit_code == 0
    assert len(judge_server.asked) == 3


def test_what_was_judged_before_ctrl_c_is_kept_and_told_by_the_exit_code(judged, monkeypatch):
    lines = [Reply('{"reasoning": "good", "score": 5}'), KeyboardInterrupt()]
    monkeypatch.setattr(JudgeSetup, "chats", lambda _: [ScriptedChat(lines)])
    result = judged("--judge", "coherence", "--judge-concurrency", "1")
    assert result.exit_code == 130
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.scores["coherence"].notna().tolist() == [True, False, False]
    assert saved.scores["exact_match"].notna().all()


def test_where_the_judge_talks_nonsense_all_is_written_and_the_cause_told(judged, judge_server):
    judge_server.answer = lambda _: {"choices": [{"message": {"content": "<html>"}}]}
    result = judged("--metric", "coherence")
    assert result.exit_code == 2
    assert "of 3 failures 3 are this: " in result.stderr
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.details["coherence_state"].tolist() == ["failed"] * 3
    assert Path("run/report.html").exists()


def test_serve_says_where_it_is_and_ends_when_told(folder, run):
    result = run("demo serve --port 0 --seconds 0")
    assert result.exit_code == 0
    assert result.stdout.startswith("24 documents at http://127.0.0.1:")


def test_the_live_demo_shows_the_whole_chain_and_can_be_run_again(folder, run):
    for _ in range(2):
        result = run("demo --live")
        assert (result.exit_code, result.stderr) == (0, "")
    assert "Evaluation of k3" in result.stdout
    assert "k3 is better than k1 on 1 of 5 metrics" in result.stdout
    lines = result.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    proposed = [line.strip() for line in lines if line.strip().startswith("rageval-report compare")]
    assert run(proposed[0].removeprefix("rageval-report ")).exit_code == 0


def test_gates_of_a_file_decide_the_exit_code(demo_folder, run):
    Path("gates.toml").write_text('rules = ["mean(exact_match) >= 0"]\n')
    held = run(f"{ASK} --metric exact_match --gates gates.toml")
    assert held.exit_code == 0, held.stderr
    assert "Gates of run" in held.stdout
    Path("gates.toml").write_text('rules = ["mean(exact_match) > 1"]\n')
    broken = run(f"{ASK} --metric exact_match --gates gates.toml --resume")
    assert broken.exit_code == 1
    assert "wrote run/records" in broken.stderr
    results = json.loads(Path("run/scores.json").read_text())["results"]
    assert results["gates"]["passed"] is False


def test_queries_are_chosen_by_id(demo_folder, run, refused):
    lines = Path("queries.jsonl").read_text().splitlines()
    ids = [json.loads(line)["query_id"] for line in lines]
    Path("ids.txt").write_text(f"{ids[2]}\n")
    result = run(f"{ASK} --metric exact_match --query {ids[0]} --query-file ids.txt")
    assert result.exit_code == 0, result.stderr
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.scores.index.tolist() == [ids[0], ids[2]]
    told = refused(f"{ASK.replace('-o run', '-o other')} --query nobody")
    assert "no query has the id 'nobody'" in told
    Path("ids.txt").write_text("\n")
    assert "expected one query id per line" in refused(f"{ASK} --query-file ids.txt")
