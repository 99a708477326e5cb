"""What judging costs, and the budget that bounds it."""

import json

import pandas as pd
import pytest

from rageval_report.errors import DataError
from rageval_report.judges import Message, Reply, Rubric, ScriptedChat, estimate, judge
from rageval_report.judges.chats import max_reply_tokens, max_request_tokens

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
    assert chat.asked == []


# -- what an attempt costs


def spent(judged):
    """What the note on the budget says is spent."""
    [note] = [note for note in judged.notes if "of the budget of" in note]
    return float(note.split()[2])


def test_an_answer_costs_what_the_server_counts(provider, chat_of, rows):
    provider.will(FIVE)  # 100 tokens sent, 20 received
    judged = judge(rows, TONE, chat_of(), prices={"toy": (10, 100)}, max_cost=1)
    assert spent(judged) == pytest.approx(3 * (100 * 10 + 20 * 100) / 1e6)


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


def test_an_attempt_that_the_server_refuses_costs_nothing(provider, chat_of, status, rows):
    provider.will(status(429, b"slow down", {"retry-after": "1"}), status(400, b"no"), FIVE)
    chat = chat_of(max_attempts=2, sleep=lambda seconds: None, structured=False)
    judged = judge(rows[:2], TONE, chat, prices={"toy": (10, 100)}, max_cost=1, concurrency=1)
    assert len(provider.asked) == 3
    assert spent(judged) == pytest.approx((100 * 10 + 20 * 100) / 1e6)


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
    assert pd.isna(judged.usage["cost_usd"].item())


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


def test_a_budget_is_that_of_one_run(tmp_path):
    chat = ScriptedChat(lambda message: Reply(FIVE, 200, 100), model="m", max_tokens=100)
    how = {"prices": PRICES, "cache": tmp_path / "c", "concurrency": 1, "max_cost": 0.01}
    for n in (7, 14):  # what is in the cache is free
        judged = judge(records(30), TONE, chat, **how)
        assert len(chat.asked) == judged.scores["tone"].notna().sum() == n
        assert spent(judged) == pytest.approx(7 * 0.0012)
