"""The file of settings of eval: its own keys, those of ragbench, and what it refuses."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, ReaderError, UnknownNameError
from rageval_report.runner.eval_config import eval_config_of, read_eval_config

CALLABLE = "callable: {function: 'my_rag:answer'}\n"


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


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"judge": {"temperature": "warm"}},
            "judge.temperature: expected a number or null; got 'w",
        ),
        ({"judge": {"rubrics": "coherence"}}, "judge.rubrics: expected a list"),
        ({"judge": {"prices": {"m": [1]}}}, "price"),
        ({"judge": {"max_retries": -1}}, "judge.max_retries must be an integer >= 0"),
        ({"judge": "anthropic"}, "judge: expected a mapping or null"),
        ({"weights": {"cost": "much"}}, "weights.cost: expected a number"),
        ({"datasets": [5]}, r"datasets\[0\]: expected a text"),
        ({"metrics": {"retrieval": "yes"}}, "metrics.retrieval: expected true or false"),
    ],
)
def test_a_wrong_value_is_told_with_its_place(given, told):
    with pytest.raises(DataError, match=told):
        eval_config_of(given)


def test_a_key_that_nobody_knows_is_told_with_all_that_are_known():
    with pytest.raises(UnknownNameError) as caught:
        eval_config_of({"rubrics": []})
    assert {"judge", "weights", "datasets", "records", "http"} <= set(caught.value.known)


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


# -- what is computed


def test_groups_of_metrics_are_those_for_which_the_fields_are_there(demo_folder, run):
    text = CALLABLE + "records: queries.jsonl\nmetrics: {generation: false, recall_k_values: [2]}\n"
    Path("groups.yaml").write_text(text + "runs_dir: runs\nname: rag\n")
    result = run("eval --config groups.yaml")
    assert result.exit_code == 0, result.stderr
    metrics = saved("runs/rag").metrics
    assert {"recall@2", "precision@5", "ndcg@10", "citation_precision", "latency_ms"} <= set(
        metrics
    )
    assert {"exact_match", "recall@5", "false_refusal"}.isdisjoint(metrics)


def test_a_name_on_the_command_line_goes_before_groups(demo_folder, run):
    Path("groups.yaml").write_text(CALLABLE + "records: queries.jsonl\nmetrics: {citation: true}\n")
    assert run("eval --config groups.yaml --metric recall@1 -o run").exit_code == 0
    assert list(saved().metrics) == ["recall@1"]


def test_without_a_folder_it_is_asked_for(demo_folder, refused):
    told = refused("eval --callable my_rag:answer --records queries.jsonl")
    assert "Missing option '-o' / '--output'" in told


# -- the judge of the file


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


def test_options_go_before_the_judge_of_the_file(with_judge, judge_server):
    result = with_judge("--judge", "coherence", "--model", "other", rubrics=["harmlessness"])
    assert result.exit_code == 0, result.stderr
    assert {one["model"] for one in judge_server.asked} == {"other"}
    assert "coherence" in saved().metrics
    assert "harmlessness" not in saved().metrics


def test_a_judge_without_rubrics_judges_what_the_fields_allow(with_judge, judge_server):
    assert with_judge().exit_code == 0  # the pipeline gives no contexts
    metrics = list(saved().metrics)
    assert metrics[-2:] == ["answer_correctness", "answer_relevancy"]
    assert "exact_match" in metrics


@pytest.mark.parametrize(("words", "judge"), [(["--no-judge"], {}), ([], {"enabled": False})])
def test_nothing_is_judged_where_it_is_said(with_judge, judge_server, words, judge):
    result = with_judge(*words, rubrics=["coherence"], **judge)
    assert result.exit_code == 0, result.stderr
    assert judge_server.asked == []
    assert "coherence" not in saved().metrics
    assert "exact_match" in saved().metrics


def test_without_a_judge_judged_names_among_the_metrics_are_left_out_and_told(with_judge):
    result = with_judge("--no-judge", "--metric", "groundedness", "--metric", "exact_match")
    assert "note: not judged: faithfulness" in result.stderr
    assert list(saved().metrics) == ["exact_match"]


def test_a_cache_may_be_turned_off_in_the_file(with_judge, judge_server):
    for more in ((), ("--resume",)):
        assert with_judge(*more, rubrics=["coherence"], cache=False).exit_code == 0
    assert len(judge_server.asked) == 6


def test_what_the_queries_lack_is_told_before_the_pipeline_is_asked(with_judge, judge_server):
    Path("queries.jsonl").write_text('{"query_id": "a", "question": "Why?", "relevant": ["d1"]}\n')
    result = with_judge(rubrics=["answer_correctness"])
    assert result.exit_code == 2
    assert "answer_correctness cannot be judged: the queries have no reference (0 of 1)" in (
        result.stderr
    )
    assert not Path("run").exists()


def test_what_the_pipeline_does_not_give_is_told_before_the_judge_is_asked(
    with_judge, judge_server
):
    result = with_judge(rubrics=["coherence", "faithfulness"])
    assert result.exit_code == 2
    assert "faithfulness cannot be judged: the records have no contexts (0 of 3)" in result.stderr
    assert "what was computed are kept in run: go on with --resume" in result.stderr
    assert judge_server.asked == []
    assert saved().get_aggregated_scores("exact_match") == pytest.approx(2 / 3)


# -- judge and generator of one family


def test_the_generator_that_the_pipeline_names_is_compared_with_the_judge(with_judge):
    Path("o3_rag.py").write_text(
        "def answer(question):\n    return {'answer': 'P', 'model': 'o3'}\n"
    )
    told = with_judge("--callable", "o3_rag:answer", rubrics=["coherence"]).stdout
    assert "gpt-5 is of the same family as o3 (OpenAI), which wrote 3 of 3 answers" in " ".join(
        told.split()
    )


class Rag(BaseHTTPRequestHandler):
    """A pipeline that says which model it answers with in its settings alone."""

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send({"answer": "Paris."})

    def do_GET(self):
        self.send({"llm_model": "gpt-4o"})

    def send(self, document):
        content = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args):
        """Tests print nothing."""


@pytest.fixture
def rag_url(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Rag)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_the_generator_of_the_server_s_settings_is_compared_with_the_judge(with_judge, rag_url):
    told = with_judge(
        *("--url", f"{rag_url}/answer", "--config-url", f"{rag_url}/config"), rubrics=["coherence"]
    ).stdout
    assert "of the same family as gpt-4o (OpenAI), which wrote 3 of 3" in " ".join(told.split())


def test_the_generator_of_the_file_is_compared_with_the_judge(with_judge):
    told = with_judge(rubrics=["coherence"], generator="gpt-4o").stdout
    assert "of the same family as gpt-4o (OpenAI), which wrote 3 of 3" in " ".join(told.split())
    again = with_judge("--resume", rubrics=["coherence"], generator="llama3.1").stdout
    assert "of the same family as" not in again


# -- the weighted score


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


def test_an_objective_without_data_is_left_out_and_told(demo_folder, run):
    result = run("eval --callable my_rag:answer --records queries.jsonl -o run --weighted")
    told = " ".join(result.stdout.split())
    assert "Weighted score of run" in told
    assert "objectives without data, left out:" in told
    assert "cost (no metric for it)" in told


def test_the_file_says_weights_and_when_latency_is_worst(demo_folder, run):
    settings = {
        "callable": {"function": "my_rag:answer"},
        "records": "queries.jsonl",
        "metrics": ["latency_ms", "recall@1"],
        "weights": {"latency": 1, "retrieval": 1},
        "objectives": {
            "latency": {"metrics": "latency_ms", "statistic": "median", "worst": 0.0001, "best": 0}
        },
    }
    Path("weights.yaml").write_text(json.dumps(settings))
    result = run("eval --config weights.yaml -o run --format json")
    rows = {row["objective"]: row for row in json.loads(result.stdout)[1]["rows"]}
    assert rows["latency"]["value"] == 0.0  # no answer takes less than 0.1 microseconds
    half = saved().get_aggregated_scores("recall@1") / 2
    assert rows["weighted score"]["value"] == pytest.approx(half)


def test_the_file_and_the_command_line_take_a_percentile_alike(demo_folder, run):
    text = "p95(latency_ms), worst=0.0001, best=0"
    settings = {
        "callable": {"function": "my_rag:answer"},
        "records": "queries.jsonl",
        "metrics": ["latency_ms", "recall@1"],
        "weights": {"speed": 1, "retrieval": 1},
        "objectives": {"speed": text},
    }
    Path("weights.yaml").write_text(json.dumps(settings))
    of_file = run("eval --config weights.yaml -o run --format json")
    line = ("eval", "--config", "weights.yaml", "-o", "again", "--format", "json")
    of_line = run(*line, "--objective", f"speed={text}")
    for result in (of_file, of_line):
        assert result.exit_code == 0, result.stderr
        rows = {row["objective"]: row for row in json.loads(result.stdout)[1]["rows"]}
        assert rows["speed"]["made_of"] == "p95 of latency_ms"
        assert rows["speed"]["value"] == 0.0  # no answer takes less than 0.1 microseconds


def test_objectives_may_be_made_on_the_command_line(demo_folder, run):
    words = "eval --callable my_rag:answer --records queries.jsonl -o run --format json"
    result = run(f"{words} --objective quality=recall@5,exact_match")
    rows = {row["objective"]: row for row in json.loads(result.stdout)[1]["rows"]}
    values = [saved().get_aggregated_scores(one) for one in ("recall@5", "exact_match")]
    assert rows["quality"]["value"] == pytest.approx(sum(values) / 2)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("--weight acuracy=1", "Did you mean 'accuracy'"),
        ("--weight accuracy=much", "write NAME=W"),
        ("--weight accuracy=-1", "must be a number >= 0"),
        ("--weight accuracy=nan", "must be a number >= 0"),
        ("--weight accuracy=0", "are all 0"),
        ("--weight accuracy", "expected NAME=VALUE"),
    ],
)
def test_a_weight_that_makes_no_sense_is_told_before_anything_is_asked(
    demo_folder, refused, words, told
):
    asked = "eval --callable my_rag:answer --records queries.jsonl -o run"
    assert told in refused(f"{asked} {words}")
    assert not Path("run").exists()
