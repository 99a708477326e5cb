"""The commands judge and cache, against a model server on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rageval_report import METRICS, RAGPipelineEvaluation
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


def test_without_a_cache_everybody_is_asked_again(judge, server, folder):
    for _ in range(2):
        judge("old.jsonl", "--judge", "coherence", "--no-cache")
    assert len(server.asked) == 4
    assert not (folder / "judges.sqlite").exists()


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


def test_a_budget_that_was_enough_for_some_is_no_failure(judge, server):
    words = ("--judge", "coherence", "--price", "1:10", "--max-cost", "0.012")
    result = judge("old.jsonl", *words, "--concurrency", "1")
    assert (result.exit_code, len(server.asked)) == (0, 1)


def words_of(result):
    return " ".join((result.stdout + result.stderr).split())


def test_a_budget_includes_earlier_runs_unless_it_is_of_one_run(judge, server):
    words = ("old.jsonl", "--judge", "coherence", "--price", "1:10", "--max-cost", "0.012")
    assert judge(*words, "--concurrency", "1").exit_code == 0
    again = judge(*words)
    assert "of it by other runs with the same cache, which --max-cost-over run" in words_of(again)
    assert len(server.asked) == 1
    assert judge(*words, "--max-cost-over", "run").exit_code == 0
    assert len(server.asked) == 2


def test_an_answer_without_a_verdict_is_asked_for_again_with_an_option(judge, server):
    words = ("old.jsonl", "--judge", "coherence")
    right = server.answer
    server.answer = lambda _: {"choices": [{"message": {"content": "<html>"}}]}
    judge(*words)
    n_asked = len(server.asked)
    server.answer = right
    result = judge(*words)
    assert (result.exit_code, len(server.asked)) == (2, n_asked)
    noted = (
        "2 answers in the cache without a verdict cost nothing again; --retry-unusable asks again"
    )
    assert noted in words_of(result)
    assert judge(*words, "--retry-unusable").exit_code == 0
    assert len(server.asked) == n_asked + 2


@pytest.mark.parametrize("words", [["--judge", "coherence"], ["--against", "new.jsonl"]])
def test_where_nobody_listens_it_is_told_at_once_and_whole(refused, words):
    told = refused("judge", "old.jsonl", *words, "--model", "m", "--base-url", "http://127.0.0.1:9")
    assert told == (
        "http://127.0.0.1:9/chat/completions: cannot be reached ([Errno 111] Connection refused); "
        "is the server running?"
    )


@pytest.mark.parametrize("words", [["--judge", "coherence"], ["--against", "new.jsonl"]])
def test_where_all_is_garbage_the_last_word_is_why(judge, server, folder, words):
    server.answer = lambda _: {"choices": [{"message": {"content": "<html>"}}]}
    result = judge("old.jsonl", *words, "--queries", "q.csv")
    assert result.exit_code == 2
    last = result.stderr.splitlines()[-1]
    assert last.startswith("rageval-report: nothing was judged; of 2 failures 2 are this: ")
    assert last.endswith("(asked twice)")
    assert (folder / "q.csv").exists()


def test_repeats_show_the_noise(judge):
    result = judge("old.jsonl", "--judge", "coherence", "--n-repeats", "2", "--format", "json")
    report, noise = json.loads(result.stdout)
    assert noise["rows"][0]["within_query_sd"] == 0.0
    assert report["rows"][0]["n"] == 2


def test_a_rubric_of_ones_own_keeps_its_direction(judge, folder):
    rubric = {"name": "vagueness_x", "question": "Is it vague?", "prompt": "How vague? {answer}"}
    told = {**rubric, "greater_is_better": False}
    (folder / "vague.json").write_text(json.dumps(told))
    judge("old.jsonl", "--rubric", "vague.json", "--queries", "run.json")
    document = json.loads((folder / "run.json").read_text())
    assert document["metrics"]["vagueness_x"]["greater_is_better"] is False
    assert "vagueness_x" not in METRICS


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

    assert "0 answers" in told("cache status")
    judge("old.jsonl", "--judge", "coherence", "--judge", "harmlessness", "--price", "1:10")
    assert "4 answers" in told("cache status")
    # 4 * (1000 * 1 + 100 * 10) / 1e6
    assert "runs with this cache have spent 0.008 USD at most" in told("cache status")
    assert "forgot 2 answers" in told("cache clear --judge coherence")
    assert "forgot 2 answers" in told("cache clear")


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


def test_a_key_where_its_variable_should_stand_is_not_printed(judge, server):
    result = judge("old.jsonl", "--judge", "coherence", "--api-key-env", SECRET)
    assert result.exit_code == 2
    assert "must be the name of the environment variable" in result.stderr
    assert SECRET not in result.output


def test_a_wrong_key_is_one_line_without_the_key(judge, server, monkeypatch):
    server.wants = "another"
    monkeypatch.setenv("MY_KEY", SECRET)
    result = judge("old.jsonl", "--judge", "coherence", "--api-key-env", "MY_KEY")
    assert result.exit_code == 2
    assert "the key was refused" in result.stderr
    assert SECRET not in result.output


def test_a_server_without_schemas_is_asked_in_words_and_it_is_said_once(judge, server, folder):
    server.keeps_schemas = False
    result = judge("old.jsonl", "--judge", "coherence", "--queries", "run.json")
    assert result.stdout.count("structured=False: the server of gpt-5 refused") == 1
    assert RAGPipelineEvaluation.load(None, "run.json").scores["coherence"].notna().all()
    document = json.loads((folder / "run.json").read_text())
    assert document["config"]["judge"]["structured"] is False


def test_with_no_schema_none_is_sent(judge, server):
    server.keeps_schemas = False
    result = judge("old.jsonl", "--judge", "coherence", "--no-schema")
    assert "structured=False: gpt-5 was sent no JSON schema" in result.stdout
    assert len(server.asked) == 2


def test_a_dry_run_of_a_preference_asks_nobody_and_counts_both_orders(judge, server):
    words = ("new.jsonl", "--against", "old.jsonl", "--price", "1:10", "--format", "csv")

    def told():
        header, row = (one.split(",") for one in judge(*words, "--dry-run").stdout.splitlines())
        return dict(zip(header, row, strict=True))

    # q0 is the same on both sides: of two queries one is asked, in both orders.
    assert [told()[name] for name in ("judge", "n_queries", "n_calls")] == ["preference", "2", "2"]
    assert float(told()["cost_usd"]) > 0
    assert server.asked == []
    judge(*words)
    assert [float(told()[name]) for name in ("n_calls", "n_cached", "cost_usd")] == [0, 2, 0]
    assert len(server.asked) == 2


def test_a_rubric_goes_by_the_names_of_other_frameworks(judge, server, folder):
    result = judge("old.jsonl", "--judge", "Answer Relevance", "--queries", "run.json")
    assert result.exit_code == 0, result.stderr
    assert list(RAGPipelineEvaluation.load(None, "run.json").metrics) == ["answer_relevancy"]


def test_what_records_lack_is_told_before_anybody_is_asked(judge, server, folder):
    rows = [json.loads(line) for line in (folder / "old.jsonl").read_text().splitlines()]
    rows[0]["reference"] = "Here."
    (folder / "gap.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = judge("gap.jsonl", "--judge", "answer_correctness", "--queries", "run.json")
    gap = "answer_correctness is not judged on 1 of 2 records: there is no reference (1)"
    assert result.stderr.startswith(f"note: {gap}")
    states = RAGPipelineEvaluation.load(None, "run.json").details["answer_correctness_state"]
    assert states.tolist() == ["scored", "not applicable"]
    assert len(server.asked) == 1


def test_a_cache_that_is_damaged_is_moved_aside_and_it_is_said(judge, server, folder):
    (folder / "judges.sqlite").write_bytes(b"no database" * 1000)
    result = judge("old.jsonl", "--judge", "coherence")
    assert result.exit_code == 0
    assert "It was renamed to judges.sqlite.aside-1" in result.stderr
    assert (folder / "judges.sqlite.aside-1").read_bytes().startswith(b"no database")
    assert judge("old.jsonl", "--judge", "coherence").exit_code == 0
    assert len(server.asked) == 2


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
        (
            "judge old.jsonl --model m --against new.jsonl --dry-run --judge coherence",
            "leave out --judge",
        ),
        ("judge old.jsonl --model m --queries new.jsonl", "exists already"),
    ],
)
def test_what_is_wrong_is_one_line(refused, monkeypatch, words, told):
    for name in ("ANTHROPIC_API_KEY", "RAG_EVAL_ANTHROPIC_API_KEY", "RAG_EVAL_OLLAMA_MODEL"):
        monkeypatch.delenv(name, raising=False)
    assert told in refused(words)


def test_the_file_of_an_earlier_call_is_replaced_with_force(judge, folder):
    words = ("old.jsonl", "--judge", "coherence", "--queries", "scores.json")
    assert judge(*words).exit_code == 0
    first = (folder / "scores.json").read_text()
    (folder / "scores.json").write_text("old")
    assert "exists already; replace it with --force" in judge(*words).stderr
    assert judge(*words, "--force").exit_code == 0
    assert (folder / "scores.json").read_text()[:200] == first[:200]


def test_what_was_judged_can_be_judged_again(judge, folder):
    judge("old.jsonl", "--judge", "coherence", "--queries", "run.jsonl")
    result = judge("run.jsonl", "--judge", "coherence", "--queries", "again.jsonl")
    assert result.exit_code == 0, result.stderr
    first, again = (
        [json.loads(line) for line in (folder / name).read_text().splitlines()]
        for name in ("run.jsonl", "again.jsonl")
    )
    # The description in the first row has the notes of each call.
    assert again[0].pop("rageval_report")["metrics"] == first[0].pop("rageval_report")["metrics"]
    assert again == first


# -- several judges


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


PANEL_PRICES = ("--judge-price", "kind=1:10", "--judge-price", "strict=2:20")


def test_several_judges_give_their_mean_their_agreement_and_where_they_differ(panel, server):
    result = panel("old.jsonl", "--format", "json", "--queries", "judged.json")
    assert result.exit_code == 0, result.stderr
    report, agreement, disagreements = json.loads(result.stdout)
    [row] = report["rows"]
    assert row["mean"] == (1.0 + (1.0 + 0.25) / 2) / 2
    means = {
        row["part"]: row["estimate"] for row in agreement["rows"] if row["figure"] == "mean score"
    }
    assert means == {"kind": 1.0, "strict": 0.625}
    [row] = disagreements["rows"]
    assert (row["query_id"], row["kind"], row["strict"]) == ("q1", 1.0, 0.25)
    assert "strict (0.25): strict says so" in row["reason"]
    assert len(server.asked) == 4
    saved = RAGPipelineEvaluation.load(None, "judged.json")
    assert saved.config["judge"]["combined_by"] == {"coherence": "mean"}
    assert saved.details["coherence_judges"].tolist()[1] == {"kind": 1.0, "strict": 0.25}


def test_the_cost_is_that_of_each_judge_and_of_all(panel):
    result = panel("old.jsonl", *PANEL_PRICES)
    # 1000 tokens sent and 100 received, twice each: 2 * 0.002 and 2 * 0.004.
    assert "kind was asked 2 times" in result.stderr + result.stdout
    shown = " ".join((result.stderr + result.stdout).split())
    assert "all judges together: 0.012 USD" in shown


def test_a_rehearsal_shows_each_judge_and_asks_none(panel, server):
    result = panel("old.jsonl", *PANEL_PRICES, "--dry-run", "--format", "json")
    told = json.loads(result.stdout)
    assert [(row["judge_model"], row["n_calls"]) for row in told["rows"]] == [
        ("kind", 2),
        ("strict", 2),
    ]
    assert any(note.startswith("all 2 judges together: 4 calls") for note in told["notes"])
    assert server.asked == []


def test_a_judge_of_another_provider_has_its_own_address(run, server, monkeypatch):
    url = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("RAG_EVAL_ANTHROPIC_BASE_URL", f"{url}/other")
    models = ("--judge-model", "gpt-5", "--judge-model", "anthropic=claude-haiku-4-5")
    words = ("judge", "old.jsonl", "--judge", "coherence", "--base-url", f"{url}/v1", *models)
    result = run(*words, "--queries", "judged.json")
    assert result.exit_code == 0, result.stderr
    saved = RAGPipelineEvaluation.load(None, "judged.json")
    judges = saved.config["judge"]["judges"]
    assert judges["gpt-5"]["provider"] == "openai"
    assert judges["claude-haiku-4-5"]["url"] == f"{url}/other/v1/messages"
    # The server speaks another protocol than this one's, so that judge failed entirely.
    assert saved.scores["coherence"].tolist() == [1.0, 0.25]
    assert any("claude-haiku-4-5 gave no score at all" in note for note in saved.notes)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--model", "m", "--judge-model", "a"), "Give --model, or --judge-model"),
        (
            ("--judge-model", "a", "--judge-model", "b", "--price", "1:1"),
            "--price is that of one judge; give --judge-price MODEL=SENT:RECEIVED for each.",
        ),
        (("--judge-model", "a", "--judge-model", "a"), "appears twice with the same settings"),
        (("--judge-model", "opnai=m", "--judge-model", "a"), "Did you mean 'openai'"),
        (
            ("--judge-model", "a", "--judge-model", "a", "--against", "new.jsonl"),
            "appears twice with the same settings",
        ),
    ],
)
def test_judges_that_make_no_sense_are_refused(refused, words, told):
    judge = () if "--against" in words else ("--judge", "coherence")
    assert told in refused("judge", "old.jsonl", *judge, *words)


@pytest.fixture
def comparing_panel(run, server):
    """Compare two pipelines by two models: "fickle" prefers whatever comes first."""

    def answer(asked):
        first = asked["messages"][-1]["content"].partition("<first>")[2].partition("</first>")[0]
        is_first = asked["model"] == "fickle" or "Here." in first
        told = json.dumps({"reasoning": "so", "better": "1" if is_first else "2"})
        return {
            "choices": [{"message": {"content": told}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1000, "completion_tokens": 100},
            "model": asked["model"],
        }

    server.answer = answer

    def run_it(*words: str):
        url = f"http://127.0.0.1:{server.server_port}/v1"
        models = ("--judge-model", "fickle", "--judge-model", "fair")
        return run(
            "judge", "new.jsonl", "--against", "old.jsonl", "--base-url", url, *models, *words
        )

    return run_it


def test_several_judges_compare_two_pipelines(comparing_panel, server, folder):
    """By hand: q0 is the same on both sides; on q1 fickle contradicts itself, fair says new."""
    result = comparing_panel("--format", "json", "--queries", "q.csv")
    assert result.exit_code == 0, result.stderr
    preference, agreement, disagreements = json.loads(result.stdout)
    counts = [(row["judge"], row["wins"], row["ties"], row["losses"]) for row in preference["rows"]]
    assert counts == [("majority of 2", 1, 1, 0), ("fickle", 0, 2, 0), ("fair", 1, 1, 0)]
    means = {
        row["part"]: row["estimate"] for row in agreement["rows"] if row["figure"] == "mean score"
    }
    assert means == {"fickle": 0.5, "fair": 0.75}
    [row] = disagreements["rows"]
    assert (row["query_id"], row["spread"], row["question"]) == ("q1", 0.5, "Where?")
    assert len(server.asked) == 4  # one pair, two orders, two judges
    assert (folder / "q.csv").read_text().startswith("query_id,preference")


def test_a_rehearsal_of_a_comparison_shows_each_judge(comparing_panel, server):
    result = comparing_panel("--dry-run", "--format", "json")
    rows = json.loads(result.stdout)["rows"]
    assert [(row["judge_model"], row["n_calls"]) for row in rows] == [("fickle", 2), ("fair", 2)]
    assert server.asked == []
