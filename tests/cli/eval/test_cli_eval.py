"""eval, serve and demo --live: a pipeline is asked, scored and reported in one go."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation, read_records
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


def test_the_same_is_asked_by_events(live_queries, server, run):
    result = run(f"eval --url {server.url}/stream --stream delta --records live.jsonl -o run -q")
    assert (result.exit_code, result.stderr) == (0, "")
    assert read_records("run/records.parquet")["answer"].notna().all()


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


def test_a_folder_that_holds_a_run_is_kept(demo_folder, run, refused):
    assert run(ASK).exit_code == 0
    assert refused(ASK).startswith("run already contains a run: continue it with --resume")
    assert run(ASK + " --resume").exit_code == 0


def test_options_go_before_the_file(demo_folder, run):
    (demo_folder / "fast.yaml").write_text(
        "records: no.jsonl\nsamples: 1\nseed: 4\ncallable: {function: 'my_rag:answer'}\n"
    )
    result = run("eval --config fast.yaml --records queries.jsonl --samples 2 -o run")
    assert result.exit_code == 0, result.stderr
    account = json.loads((demo_folder / "run" / "run.json").read_text())
    assert (account["question_count"], account["metadata"]["seed"]) == (2, 4)


def test_queries_of_a_table_will_do(demo_folder, run):
    (demo_folder / "q.csv").write_text("query_id,question,relevant\na,Why?,d1\nb,How?,d9\n")
    result = run("eval --callable my_rag:answer --records q.csv -o run --metric recall@1")
    assert result.exit_code == 0, result.stderr
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.get_aggregated_scores("recall@1") == 0.5


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


def test_a_server_that_is_down_is_told_in_a_line(demo_folder, refused):
    told = refused("eval --url http://127.0.0.1:9/answer --records queries.jsonl -o run")
    assert "the pipeline cannot be asked" in told
    assert "is the server running?" in told


def test_queries_without_gold_are_answered_and_timed(demo_folder, run):
    (demo_folder / "bare.jsonl").write_text('{"query_id": "a", "question": "Why?"}\n')
    result = run("eval --callable my_rag:answer --records bare.jsonl -o run")
    assert result.exit_code == 0
    assert "Latency" in result.stdout


def test_the_report_is_a_page_with_every_query(demo_folder, run):
    assert run(ASK + " --weighted").exit_code == 0
    page = Path("run/report.html").read_text()
    assert "<script" in page
    assert "<svg" in page
    assert "What is 2?" in page
    assert "Weighted score of run" in page


def test_an_address_that_nobody_serves_is_told_with_its_status(demo_folder, server, run):
    result = run(f"eval --url {server.url}/nope --records queries.jsonl -o run")
    assert result.exit_code == 2
    assert "no query has an answer, so there is nothing to score; check --url. 3 of 3: " in (
        result.stderr
    )
    first, *_, last = result.stderr.splitlines()
    assert f"3 of 3 have no answer: refused 3 ({server.url}/nope: answered 404" in first
    assert f"{server.url}/nope: answered 404" in last


def test_a_latency_among_the_queries_stands_beside_that_of_the_run(demo_folder, run):
    rows = [
        {"query_id": "a", "question": "Why?", "latency_ms": 5},
        {"query_id": "b", "question": "How?", "latency_ms": 6},
    ]
    Path("timed.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("eval --callable my_rag:answer --records timed.jsonl -o run")
    assert result.exit_code == 0, result.stderr
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.scores["latency_ms"].notna().all()
    assert saved.details["latency_ms_given"].tolist() == [5, 6]
    assert saved.details["latency_ms_given_2"].tolist() == saved.scores["latency_ms"].tolist()


@pytest.fixture
def gold_texts(demo_folder):
    """Queries whose gold is texts; the pipeline of these tests gives ids alone."""
    rows = [
        {"query_id": n, "question": f"What {n}?", "relevant_texts": [n], "reference": "Paris."}
        for n in "ab"
    ]
    Path("texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "eval --callable my_rag:answer --records texts.jsonl -o run"


def test_gold_texts_that_no_context_can_be_held_against_cost_no_answer(gold_texts, run):
    result = run(gold_texts)
    assert result.exit_code == 0, result.stderr
    assert (
        "2 of 2 answers do not have ('a', 'b'): metrics that need the gold are unscored there"
        in result.stderr
    )
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.get_aggregated_scores("exact_match") == 1.0
    assert "recall@5" not in saved.metrics


def test_a_metric_that_the_answers_cannot_give_is_not_applicable(gold_texts, run):
    words = " --metric exact_match --metric recall_similarity@5 --metric recall@5"
    result = run(gold_texts + words)
    assert result.exit_code == 0, result.stderr
    assert "recall_similarity@5: not applicable, the records have no contexts" in result.stderr
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.scores[["recall_similarity@5", "recall@5"]].isna().all(axis=None)
    assert saved.details["recall_similarity@5_state"].tolist() == ["not applicable"] * 2


# -- judged in the same go


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


def test_a_judges_name_among_the_metrics_is_judged(judged):
    assert judged("--metric", "coherence").exit_code == 0
    assert list(RAGPipelineEvaluation.load(None, "run/scores.json").metrics) == ["coherence"]


def test_with_a_judge_what_the_fields_allow_is_computed_too(judged):
    judged("--judge", "coherence")
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert {"exact_match", "recall@5", "coherence"} <= saved.metrics.keys()


def test_a_rubric_of_ones_own_keeps_its_direction(judged, demo_folder):
    rubric = {"name": "vagueness_y", "question": "Is it vague?", "prompt": "How vague? {answer}"}
    (demo_folder / "vague.json").write_text(json.dumps({**rubric, "greater_is_better": False}))
    assert judged("--rubric", "vague.json").exit_code == 0
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.metrics["vagueness_y"].greater_is_better is False


def test_a_run_that_is_resumed_asks_neither_pipeline_nor_judge_again(judged, judge_server):
    assert judged("--judge", "coherence").exit_code == 0
    assert judged("--judge", "coherence", "--resume").exit_code == 0
    assert len(judge_server.asked) == 3


def test_a_budget_stops_the_judge_and_keeps_the_rest(judged):
    words = ("--judge", "coherence", "--metric", "exact_match", "--price", "1:10")
    result = judged(*words, "--max-cost", "0.00001")
    assert result.exit_code == 2
    assert "The cause: nothing was judged: the budget of 1e-05 USD is too small" in result.stderr
    assert "stopped before the end: the budget of 1e-05 USD" in result.stdout
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.get_aggregated_scores("exact_match") == pytest.approx(2 / 3)
    assert saved.scores["coherence"].isna().all()


def test_repeats_show_the_noise_of_the_judge(judged, judge_server):
    result = judged("--judge", "coherence", "--n-repeats", "2", "--cache", "mine.sqlite")
    assert "Noise of the judge" in result.stdout
    assert len(judge_server.asked) == 6
    assert Path("mine.sqlite").exists()


def test_what_was_judged_before_ctrl_c_is_kept_and_told_by_the_exit_code(judged, monkeypatch):
    lines = [Reply('{"reasoning": "good", "score": 5}'), KeyboardInterrupt()]
    monkeypatch.setattr(JudgeSetup, "chats", lambda _: [ScriptedChat(lines)])
    result = judged("--judge", "coherence", "--judge-concurrency", "1")
    assert result.exit_code == 130
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.scores["coherence"].notna().tolist() == [True, False, False]
    assert saved.scores["exact_match"].notna().all()


def test_where_nothing_can_be_judged_the_answers_are_kept(judged, judge_server, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-very-secret-0123456789")
    judge_server.wants = "another"
    result = judged("--judge", "coherence", "--api-key-env", "MY_KEY")
    assert result.exit_code == 2
    assert "what was computed are kept in run: go on with --resume" in result.stderr
    assert "sk-very-secret" not in result.output
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.get_aggregated_scores("exact_match") == pytest.approx(2 / 3)
    monkeypatch.setenv("MY_KEY", "another")
    assert judged("--judge", "coherence", "--api-key-env", "MY_KEY", "--resume").exit_code == 0


def test_where_the_judge_is_down_what_was_computed_is_kept(demo_folder, run):
    result = run(
        *ASK.split(), *("--judge coherence --model m --base-url http://127.0.0.1:9").split()
    )
    assert result.exit_code == 2
    assert "the judge failed; the answers and what was computed are kept in run" in result.stderr
    assert "cannot be reached ([Errno 111] Connection refused)" in result.stderr
    assert "Exact Match" in result.stdout
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.get_aggregated_scores("exact_match") == pytest.approx(2 / 3)


def test_where_the_judge_talks_nonsense_all_is_written_and_the_cause_told(judged, judge_server):
    judge_server.answer = lambda _: {"choices": [{"message": {"content": "<html>"}}]}
    result = judged("--metric", "coherence")
    assert result.exit_code == 2
    assert "of 3 failures 3 are this: " in result.stderr
    saved = RAGPipelineEvaluation.load(None, "run/scores.json")
    assert saved.details["coherence_state"].tolist() == ["failed"] * 3
    assert Path("run/report.html").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--judge cohrence --model m", "Did you mean 'coherence'"),
        ("--metric exct_match", "Did you mean 'exact_match'"),
        ("--judge coherence --provider anthropic --model m", "no key: the environment variable"),
        ("--judge coherence --metric coherence --model m", "without repeats"),
    ],
)
def test_a_judge_that_cannot_be_is_told_before_the_pipeline_is_asked(
    demo_folder, refused, monkeypatch, words, told
):
    for name in ("ANTHROPIC_API_KEY", "RAG_EVAL_ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert told in refused(f"{ASK} {words}")
    assert not Path("run").exists()


# -- serve


def test_serve_says_where_it_is_and_ends_when_told(folder, run):
    result = run("serve --port 0 --seconds 0")
    assert result.exit_code == 0
    assert result.stdout.startswith("24 documents at http://127.0.0.1:")


def test_serve_answers_from_documents_of_ones_own(folder, run):
    (folder / "docs").mkdir()
    (folder / "docs" / "a.md").write_text("The lighthouse is forty metres tall.")
    result = run("serve", "--documents", "docs", "--ask", "How tall is the lighthouse?")
    assert json.loads(result.stdout)["answer"] == "The lighthouse is forty metres tall."


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--fault 501=0.1", "no fault is named '501'"),
        ("--fault 500", "expected NAME=SHARE"),
        ("--fault 500=2", "add up to at most 1"),
        ("--documents nowhere", "nowhere"),
        ("--k 0", "k must be an integer >= 1"),
    ],
)
def test_serve_refuses_what_makes_no_sense(folder, refused, words, told):
    assert told in refused(f"serve --port 0 --seconds 0 {words}")


# -- demo --live


def test_the_live_demo_shows_the_whole_chain_and_can_be_run_again(folder, run):
    for _ in range(2):
        result = run("demo --live")
        assert (result.exit_code, result.stderr) == (0, "")
    assert "Evaluation of k3" in result.stdout
    assert "k3 is better on recall@5" in result.stdout
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


def test_gates_that_cannot_be_read_are_refused_before_anything_is_asked(demo_folder, refused):
    Path("gates.toml").write_text('rules = ["mean(exact_match >= 0"]\n')
    assert "gates.toml" in refused(f"{ASK} --gates gates.toml")
    assert not Path("run").exists()


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


def test_failures_of_queries_that_are_named(demo_folder, run):
    run(f"{ASK} --metric exact_match")
    first = read_records(next(Path("run").glob("records.*"))).index[0]
    words = f"failures run/scores.json --metric exact_match --threshold 1 --query {first}"
    listed = run(f"{words} --format json")
    assert listed.exit_code == 0, listed.stderr
    assert {row["query_id"] for row in json.loads(listed.stdout)["rows"]} <= {first}
    assert "only 1 named query" in listed.stdout


def test_the_rule_for_a_correct_answer_is_an_option_and_a_key(demo_folder, run):
    (demo_folder / "eval.yaml").write_text("correct: {token_f1: 0.4}\n")
    printed = run(f"{ASK} --config eval.yaml").stdout
    assert "- correct: token_f1 >= 0.4; " in printed
    again = run(f"{ASK} --config eval.yaml --resume --correct exact_match").stdout
    assert "- correct: exact_match = 1; " in again
    page = (demo_folder / "run" / "report.html").read_text()
    assert "correct: Exact Match = 1; " in page


def test_a_threshold_on_the_wrong_side_is_refused(demo_folder, refused):
    assert "latency_ms: lower is better" in refused(f"{ASK} --correct latency_ms>=10")
