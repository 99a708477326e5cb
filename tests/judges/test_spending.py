import json
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.judges import Reply, Rubric, ScriptedChat, judge
from rageval_report.judges.spending import Budget, open_budget
from rageval_report.metrics.performance import Price

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


def test_what_is_in_the_cache_costs_nothing_when_the_budget_is_spent(tmp_path):
    chat = ScriptedChat(lambda message: Reply(FIVE, 200, 100), model="m", max_tokens=100)
    judge(records(5), TONE, chat, cache=tmp_path / "c", prices=PRICES)
    again = judge(records(5), TONE, chat, cache=tmp_path / "c", prices=PRICES, max_cost=1e-9)
    assert again.scores["tone"].notna().all()
    assert again.usage["cost_usd"].item() == 0.0


def test_a_budget_needs_a_price():
    with pytest.raises(DataError, match="max_cost needs the price of 'm'"):
        open_budget(1.0, None, "m")
    with pytest.raises(DataError, match="the price of 'm' must be two numbers"):
        judge(records(1), TONE, ScriptedChat([FIVE], model="m"), prices={"m": (-1, 0)})


def test_tokens_that_nobody_counted_spend_what_was_set_aside():
    budget = open_budget(1.0, Price(1, 1), "m")
    assert budget.reserve(0.6)
    budget.settle(0.6, None)
    assert budget.spent == 0.6
    assert not budget.reserve(0.6)


@settings(deadline=None, max_examples=30)
@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(0, 1)), max_size=20), st.floats(0.1, 3))
def test_no_order_of_calls_exceeds_a_budget(calls, most):
    budget = Budget(most)
    threads = [threading.Thread(target=_call, args=(budget, *one)) for one in calls]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert budget.spent <= most + 1e-9
    assert budget.reserved == pytest.approx(0.0, abs=1e-9)


def _call(budget, at_most, share):
    if budget.reserve(at_most):
        budget.settle(at_most, at_most * share)
