"""What judging costs, and the budget that bounds it."""

import json
import os
import subprocess
import sys
import threading

import pandas as pd
import pytest

from rageval_report.errors import DataError, JudgeError
from rageval_report.judges import Message, Reply, Rubric, ScriptedChat, estimate, judge
from rageval_report.judges.chats import max_reply_tokens, max_request_tokens
from rageval_report.judges.ledger import Ledger, ledger_path

TONE = Rubric("tone", "Is it polite?", "How polite? {question} {answer}", scale=(1, 5))
FIVE = json.dumps({"reasoning": "so", "score": 5})
PRICES = {"m": (1.0, 10.0)}


def records(n):
    return [{"query_id": f"q{i}", "question": f"{i}?", "answer": "a"} for i in range(n)]


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_budget_is_never_exceeded_and_the_rest_is_missing(concurrency):
    chat = ScriptedChat(lambda message: Reply(FIVE, 200, 100), model="m", max_tokens=100)
    judged = judge(records(30), TONE, chat, prices=PRICES, max_cost=0.01, concurrency=concurrency)
    cost = judged.usage["cost_usd"].item()
    n = judged.scores["tone"].notna().sum()
    assert cost == pytest.approx(n * 0.0012)  # (200 * 1 + 100 * 10) / 1e6 each
    assert cost <= 0.01
    assert n >= 7  # 8 would fit; what the ninth could cost at most decides
    assert "tone_state" not in judged.states  # missing, not failed
    assert "not asked: the budget of 0.01 USD" in judged.states["tone_reason"].iloc[-1]


def test_a_budget_needs_a_price():
    with pytest.raises(DataError, match="max_cost needs the price of 'm'"):
        judge(records(1), TONE, ScriptedChat([FIVE], model="m"), max_cost=1.0)
    with pytest.raises(DataError, match="the price of 'm' must be two numbers"):
        judge(records(1), TONE, ScriptedChat([FIVE], model="m"), prices={"m": (-1, 0)})


@pytest.mark.parametrize("max_cost", [0, -1.0, float("nan"), float("inf"), True, "1"])
def test_a_budget_is_a_positive_number(max_cost):
    chat = ScriptedChat([FIVE], model="m")
    with pytest.raises(DataError, match="max_cost must be a finite number > 0"):
        judge(records(1), TONE, chat, prices=PRICES, max_cost=max_cost)
    with pytest.raises(ValueError, match='max_cost_over must be "cache" or "run"'):
        judge(records(1), TONE, chat, prices=PRICES, max_cost_over="day")
    assert chat.asked == []


# -- what an attempt costs


def spent(judged):
    """What the note on the budget says is spent."""
    [note] = [note for note in judged.notes if "of the budget of" in note]
    return float(note.split()[2])


def usage(judged):
    return judged.usage.iloc[0]


def test_an_answer_costs_what_the_server_counts(provider, chat_of, rows):
    provider.will(FIVE)  # 100 tokens sent, 20 received
    judged = judge(rows, TONE, chat_of(), prices={"toy": (10, 100)}, max_cost=1)
    assert spent(judged) == pytest.approx(3 * (100 * 10 + 20 * 100) / 1e6)
    assert usage(judged)["n_unknown"] == 0


@pytest.mark.parametrize(
    "fault",
    [
        "late",
        (408, b"too slow", {}),
        (200, b"{", {"content-length": "5000"}),
        (200, b'{"choices": []}', {}),
    ],
)
def test_an_attempt_without_a_known_outcome_costs_its_maximum(
    provider, chat_of, status, rows, fault
):
    def act(prompt):
        return provider.released.wait(10) and FIVE if fault == "late" else status(*fault)

    provider.will(act)
    chat = chat_of(timeout=0.2 if fault == "late" else 20, max_tokens=300)
    judged = judge(rows[:1], TONE, chat, prices={"toy": (0, 100)}, max_cost=1)
    provider.released.set()
    assert spent(judged) == pytest.approx(300 * 100 / 1e6)
    assert usage(judged)[["n_unknown", "max_unknown_usd"]].tolist() == [1, 300 * 100 / 1e6]
    assert any("1 attempts were not answered" in note for note in judged.notes)


def test_an_attempt_that_the_server_refuses_costs_nothing(provider, chat_of, status, rows):
    provider.will(status(429, b"slow down", {"retry-after": "1"}), status(400, b"no"), FIVE)
    chat = chat_of(max_attempts=2, sleep=lambda seconds: None, structured=False)
    judged = judge(rows[:2], TONE, chat, prices={"toy": (10, 100)}, max_cost=1, concurrency=1)
    assert len(provider.asked) == 3
    assert spent(judged) == pytest.approx((100 * 10 + 20 * 100) / 1e6)


def test_a_server_that_is_not_there_costs_nothing(chat_of, rows, tmp_path):
    chat = chat_of(base_url="http://127.0.0.1:9/v1")
    how = {"prices": {"toy": (1, 1)}, "max_cost": 1, "cache": tmp_path / "c"}
    with pytest.raises(JudgeError, match="cannot be reached"):
        judge(rows, TONE, chat, **how)
    assert Ledger(1.0, ledger_path(tmp_path / "c")).earlier == 0


def test_a_request_without_its_schema_is_an_attempt_of_its_own(provider, chat_of, rows):
    provider.keeps_schemas = False
    provider.will(FIVE)
    chat = chat_of(max_tokens=1000)
    judged = judge(rows[:1], TONE, chat, prices={"toy": (0, 10)}, max_cost=0.0105)
    assert judged.scores["tone"].item() == 1.0  # the refused one freed its reservation
    assert spent(judged) == pytest.approx(20 * 10 / 1e6)


def test_tokens_that_nobody_counted_cost_the_maximum(provider, chat_of, say, rows):
    provider.will(say(FIVE, tokens=None))
    chat = chat_of(max_tokens=1000)
    judged = judge(rows, TONE, chat, prices={"toy": (0, 10)}, max_cost=0.025, concurrency=1)
    assert judged.scores["tone"].notna().sum() == 2
    assert spent(judged) == pytest.approx(0.02)
    assert pd.isna(usage(judged)["cost_usd"])


def test_an_answer_that_costs_more_than_it_may_is_charged_and_stops_the_session(
    provider, chat_of, say, rows
):
    provider.will(say(FIVE, tokens=(100, 5000)))
    chat = chat_of(max_tokens=1000)
    judged = judge(rows, TONE, chat, prices={"toy": (0, 10)}, max_cost=1, concurrency=1)
    assert len(provider.asked) == 1
    assert spent(judged) == pytest.approx(0.05)
    assert judged.scores["tone"].notna().sum() == 1  # it is paid for, and counts
    assert "toy reported 100 and 5,000 tokens" in judged.notes[0]
    assert "its server does not keep to max_tokens" in judged.notes[0]


@pytest.mark.parametrize("text", ["漢字", "ไทย", "😀", "\ud83d", 'a\n"', "\x00"])
@pytest.mark.parametrize("name", ["anthropic", "bedrock", "gemini", "openai"])
def test_no_request_has_more_tokens_than_are_reserved(chat_of, name, text):
    message = Message(text * 500, text, {"type": "object", "title": text})
    chat = chat_of(name)
    n_bytes = len((text * 501).encode("utf-8", "surrogatepass"))
    assert max_request_tokens(chat, message) >= n_bytes + 200
    # An escape such as \\n has one byte more than its character, and control characters have six.
    assert max_request_tokens(chat, message) <= 6 * n_bytes + 1000


@pytest.mark.parametrize(
    ("name", "extra", "most"),
    [
        ("openai", {"max_tokens": None, "max_completion_tokens": 500}, 500),
        ("openai", {"n": 4}, 400),
        ("openai", {"max_tokens": None}, None),
        ("gemini", {"generationConfig": {"maxOutputTokens": 50, "candidateCount": 2}}, 100),
        ("gemini", {"generationConfig": {"temperature": 0}}, None),
    ],
)
def test_what_is_added_to_a_request_changes_its_limit(chat_of, rows, name, extra, most):
    chat = chat_of(name, max_tokens=100, extra_body=extra)
    assert max_reply_tokens(chat) == most
    assert estimate(rows, TONE, chat, prices={"toy": (0, 1)})["max_cost_usd"].isna().item() == (
        most is None
    )
    if most is None:
        with pytest.raises(DataError, match="max_cost needs a limit of the answers of toy"):
            judge(rows, TONE, chat, prices={"toy": (1, 1)}, max_cost=1)


# -- one budget for all


def test_a_budget_includes_what_earlier_runs_with_the_same_cache_have_spent(tmp_path):
    chat = ScriptedChat(lambda message: Reply(FIVE, 200, 100), model="m", max_tokens=100)
    how = {"prices": PRICES, "cache": tmp_path / "c", "concurrency": 1}
    judge(records(3), TONE, chat, **how)  # 0.0036 USD, without a budget of its own
    judged = judge(records(30), TONE, chat, max_cost=0.01, **how)
    assert len(chat.asked) == 7
    assert spent(judged) == pytest.approx(7 * 0.0012)
    assert "0.0036 of it by other runs with the cache" in judged.notes[-1]
    again = judge(records(30), TONE, chat, max_cost=0.01, **how)
    assert len(chat.asked) == 7
    assert again.scores["tone"].notna().sum() == 7
    assert "0.0084 USD of it by other runs with the same cache" in again.notes[0]
    judge(records(30), TONE, chat, max_cost=0.01, max_cost_over="run", **how)
    assert len(chat.asked) == 14


PROGRAM = """
import sys
from rageval_report.judges import Rubric, judge, openai_chat
tone = Rubric("tone", "Is it polite?", "How polite? {question} {answer}", scale=(1, 5))
rows = [{"query_id": f"q{i}", "question": f"{i}?", "answer": "a"} for i in range(9)]
chat = openai_chat("toy", base_url=sys.argv[1], max_tokens=1000)
judge(rows, tone, chat, cache=sys.argv[2], prices={"toy": (0, 10)}, max_cost=0.035)
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows ends processes in another way")
def test_a_killed_run_leaves_its_reservations_to_the_next_one(provider, chat_of, tmp_path):
    held = threading.Event()
    provider.will(lambda prompt: held.wait(20) and FIVE)
    words = [sys.executable, "-c", PROGRAM, provider.url("openai"), str(tmp_path / "c")]
    with subprocess.Popen(words) as process:
        for _ in range(3):  # there is no room for a fourth
            assert provider.arrived.acquire(timeout=30)
        process.kill()
    held.set()
    assert len(provider.asked) == 3
    how = {"cache": tmp_path / "c", "prices": {"toy": (0, 10)}}
    judged = judge(records(9), TONE, chat_of(max_tokens=1000), max_cost=0.035, **how)
    assert judged.failure.startswith("nothing was judged: the budget of 0.035 USD is too small")
    assert "0.03 USD of it by other runs" in judged.failure
    judged = judge(records(9), TONE, chat_of(max_tokens=1000), max_cost=0.06, **how)
    assert judged.scores["tone"].notna().all()
    assert spent(judged) == pytest.approx(0.03 + 9 * 20 * 10 / 1e6, rel=1e-3)
