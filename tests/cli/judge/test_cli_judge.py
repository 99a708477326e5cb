"""The commands judge and cache, against a model server on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.judges import Reply, ScriptedChat
from rageval_report.runner.judge_setup import JudgeSetup

SECRET = "sk-very-secret-0123456789"


@pytest.fixture
def server(judge_server):
    return judge_server


@pytest.fixture(autouse=True)
def records(folder, monkeypatch):
    monkeypatch.setenv("RAGEVAL_CACHE", str(folder / "judges.sqlite"))
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    for name, answers in (("new", ("Here.", "Here.")), ("old", ("Here.", "Anywhere"))):
        rows = [
            {"query_id": f"q{i}", "question": "Where?", "answer": answer, "model": "gpt-4o"}
            for i, answer in enumerate(answers)
        ]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))


@pytest.fixture
def judge(run, server):
    """Run judge on the server's model."""

    def run_it(*words: str):
        url = f"http://127.0.0.1:{server.server_port}/v1"
        return run("judge", *words, "--base-url", url, "--model", "gpt-5")

    return run_it


def test_scores_and_what_they_took_are_reported(judge, server):
    result = judge("old.jsonl", "--judge", "coherence", "--price", "1:10", "--format", "csv")
    header, row = (line.split(",") for line in result.stdout.splitlines())
    told = dict(zip(header, row, strict=True))
    assert (told["metric"], float(told["mean"])) == ("coherence", 0.625)  # (1 + 0.25) / 2
    assert "note: gpt-5 was asked 2 times" in result.stderr
    assert "0.004 USD" in result.stderr  # 2 * (1000 * 1 + 100 * 10) / 1e6
    assert "of the same family as gpt-4o (OpenAI)" in result.stderr
    assert len(server.asked) == 2


def test_a_second_run_asks_nobody(judge, server):
    for _ in range(2):
        assert judge("old.jsonl", "--judge", "coherence").exit_code == 0
    assert len(server.asked) == 2


def test_a_run_file_holds_scores_reasons_and_who_judged(judge, folder):
    judge("old.jsonl", "--judge", "coherence", "--queries", "run.json")
    document = json.loads((folder / "run.json").read_text())
    assert [one["scores"]["coherence"] for one in document["queries"]] == [1.0, 0.25]
    assert document["queries"][0]["details"]["coherence_reason"] == "as I see it"
    assert document["config"]["judge"]["judge_model"] == "gpt-5"


def test_a_dry_run_asks_nobody(judge, server):
    result = judge("old.jsonl", "--judge", "coherence", "--price", "1:10", "--dry-run")
    assert result.exit_code == 0
    assert "no request was sent" in result.stdout
    assert server.asked == []


def test_a_budget_stops_and_says_so(judge):
    result = judge(
        *("old.jsonl", "--judge", "coherence", "--price", "1:10", "--max-cost", "0.00001")
    )
    assert result.exit_code == 2
    assert "stopped before the end: the budget of 1e-05 USD" in result.stdout
    assert (
        "nothing was judged: the budget of 1e-05 USD is too small for another call" in result.stderr
    )


def test_two_pipelines_are_laid_beside_each_other(judge, server, folder):
    result = judge("new.jsonl", "--against", "old.jsonl", "--format", "csv", "--queries", "q.csv")
    header, row = (line.split(",") for line in result.stdout.splitlines())
    told = dict(zip(header, row, strict=True))
    assert (told["baseline"], told["candidate"]) == ("old", "new")
    # q0 is the same on both sides, which asks nobody; q1 is better now.
    assert (told["wins"], told["ties"], told["losses"]) == ("1", "1", "0")
    assert "position: of 2 choices 50 %" in result.stderr
    assert (folder / "q.csv").read_text().startswith("query_id,baseline_first")
    assert len(server.asked) == 2


def test_the_cache_is_counted_and_cleared(judge, run):
    def told(command):  # where lines end hangs on the length of the cache's path
        return " ".join(run(command).stdout.split())

    assert "0 answers" in told("judge cache")
    judge("old.jsonl", "--judge", "coherence", "--judge", "harmlessness", "--price", "1:10")
    assert "4 answers" in told("judge cache")
    assert "forgot 2 answers" in told("judge cache --clear --judge coherence")
    assert "forgot 2 answers" in told("judge cache --clear")


@pytest.mark.parametrize("words", [["--judge", "coherence"], ["--against", "new.jsonl"]])
def test_ctrl_c_keeps_what_was_judged_and_is_told_by_the_exit_code(judge, monkeypatch, words):
    lines = [Reply('{"reasoning": "good", "score": 5, "better": "1"}'), KeyboardInterrupt()]
    monkeypatch.setattr(JudgeSetup, "chats", lambda _: [ScriptedChat(lines)])
    result = judge("old.jsonl", *words, "--concurrency", "1", "--queries", "run.csv")
    assert result.exit_code == 130
    assert "stopped before the end: interrupted" in result.stdout
    assert "not asked: interrupted" in Path("run.csv").read_text()


def test_a_missing_key_is_told_by_its_variable_before_anybody_is_asked(judge, server):
    result = judge("old.jsonl", "--judge", "coherence", "--api-key-env", "NO_SUCH_KEY")
    assert result.exit_code == 2
    assert "no key: the environment variable NO_SUCH_KEY is not set" in result.stderr
    assert server.asked == []


def test_a_wrong_key_is_one_line_without_the_key(judge, server, monkeypatch):
    server.wants = "another"
    monkeypatch.setenv("MY_KEY", SECRET)
    result = judge("old.jsonl", "--judge", "coherence", "--api-key-env", "MY_KEY")
    assert result.exit_code == 2
    assert "the key was refused" in result.stderr
    assert SECRET not in result.output


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("judge old.jsonl --provider anthropic --model m", "no key: the environment variable"),
        ("judge old.jsonl --provider ollama", "RAG_EVAL_OLLAMA_MODEL"),
        ("judge old.jsonl --provider ollama", "Name it with --model NAME or in"),
        ("judge old.jsonl --model m --judge cohrence", "Did you mean 'coherence'"),
        ("judge old.jsonl --model m --judge faithfulness", "the records have no contexts"),
        ("judge nothing.jsonl --model m", "there is no such file"),
        ("judge old.jsonl --model m --price 3", "expected SENT:RECEIVED"),
        (
            "judge old.jsonl --model m --judge coherence --max-cost 1",
            "max_cost needs the price of 'm': --price SENT:RECEIVED, in US dollars",
        ),
        ("judge old.jsonl --model m --judge preference", "--against BASELINE"),
        ("judge old.jsonl --model m --against new.jsonl --judge coherence", "leave out --judge"),
        ("judge old.jsonl --model m --judge groundednes", "Did you mean 'groundedness'"),
        ("judge old.jsonl --model m --judge completeness", "have no reference (0 of 2)"),
        ("judge old.jsonl --model m --queries new.jsonl", "exists already"),
    ],
)
def test_what_is_wrong_is_one_line(refused, monkeypatch, words, told):
    for name in ("ANTHROPIC_API_KEY", "RAG_EVAL_ANTHROPIC_API_KEY", "RAG_EVAL_OLLAMA_MODEL"):
        monkeypatch.delenv(name, raising=False)
    assert told in refused(words)


@pytest.fixture
def panel(run, server):
    """Run judge on two models of the server: "kind" gives 5 of 5 to everything."""

    def answer(asked):
        prompt = asked["messages"][-1]["content"]
        score = 5 if asked["model"] == "kind" or "Here." in prompt else 2
        told = json.dumps({"reasoning": f"{asked['model']} says so", "score": score})
        choice = {"message": {"content": told}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1000, "completion_tokens": 100}
        return {"choices": [choice], "usage": usage, "model": asked["model"]}

    server.answer = answer

    def run_it(*words: str):
        url = f"http://127.0.0.1:{server.server_port}/v1"
        models = ("--judge-model", "kind", "--judge-model", "strict")
        return run("judge", *words, "--judge", "coherence", "--base-url", url, *models)

    return run_it


def test_several_judges_give_their_mean(panel, server):
    result = panel("old.jsonl", "--format", "json", "--queries", "judged.json")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    [row] = report["rows"]
    assert row["mean"] == (1.0 + (1.0 + 0.25) / 2) / 2
    assert len(server.asked) == 4
    saved = RAGPipelineEvaluation.load(None, "judged.json")
    assert saved.config["judge"]["combined_by"] == {"coherence": "mean"}
    assert saved.details["coherence_judges"].tolist()[1] == {"kind": 1.0, "strict": 0.25}
