"""A few dozen random scenarios of spending; the script runs as many as are wanted."""

import random
from contextlib import nullcontext

import pytest
import spend_budgets
from billing import Bill
from virtual_threads import DeadlockError, VirtualCondition, VirtualThreads

from rageval_report.http import make_retrier
from rageval_report.judges import chats, sessions

N_SCENARIOS = 30


def test_no_bill_exceeds_its_budget_and_every_run_ends():
    findings = spend_budgets.spend(N_SCENARIOS, 0, seed=11)
    assert findings.wrong == []
    assert findings.seen["scenarios"] == N_SCENARIOS
    assert findings.seen["billed"] > 300
    assert findings.seen["with a cache"] > 3
    assert findings.closest > 0.9  # budgets are used, not only kept
    assert findings.most_in_flight == spend_budgets.N_THREADS
    outcomes = {name for name in findings.seen if name.startswith("outcome")}
    assert outcomes == {f"outcome {outcome}" for outcome in spend_budgets.OUTCOMES}


# 11 * 1,000,003 is odd by 1 modulo 4, so that the fourth gathers 32 requests.
def test_no_bill_exceeds_its_budget_over_a_real_socket():
    findings = spend_budgets.spend(0, 4, seed=11)
    assert findings.wrong == []
    assert findings.seen["over a socket"] == 4
    assert findings.seen["billed"] > 50
    assert findings.most_in_flight >= spend_budgets.N_THREADS


def test_a_scenario_is_the_same_every_time():
    first, second = (spend_budgets.spend(5, 0, seed=3) for _ in range(2))
    assert first.seen == second.seen
    assert first.closest == second.closest


# -- each of these mistakes would be noticed


def wrong():
    return " ".join(spend_budgets.spend(10, 0, seed=11).wrong)


def test_time_outs_that_cost_nothing_would_be_noticed(monkeypatch):
    monkeypatch.setattr(sessions, "was_not_billed", lambda exc: True)
    assert "the ledger knows of" in wrong()


def test_half_a_token_per_byte_would_be_noticed(monkeypatch):
    most = chats.max_request_tokens
    monkeypatch.setattr(sessions, "max_request_tokens", lambda *args: most(*args) // 2)
    assert "budget" in wrong()


def test_threads_that_nobody_wakes_would_be_noticed(monkeypatch):
    monkeypatch.setattr(VirtualCondition, "notify_all", lambda condition: None)
    assert "wait for each other" in wrong()


def test_retries_within_one_reservation_would_be_noticed(monkeypatch):
    def open_attempts(chat):
        retry = make_retrier(max_attempts=5, max_wait=60.0, sleep=chat.world.sleep)
        return nullcontext(lambda message, run: run(lambda: retry(lambda: chat._send(message))))

    monkeypatch.setattr(spend_budgets.VirtualChat, "open_attempts", open_attempts)
    assert "budget" in wrong()


# -- the virtual world itself


def test_threads_of_a_virtual_world_run_one_at_a_time_in_the_order_of_the_clock():
    world = VirtualThreads(seed=1)
    log = []

    def work(name, seconds):
        world.sleep(seconds)
        log.append((world.now, name))

    assert world.run([lambda: work("slow", 3600.0), lambda: work("fast", 0.5)])
    assert log == [(0.5, "fast"), (3600.0, "slow")]


def test_threads_that_wait_for_each_other_are_an_error_and_no_hang():
    world = VirtualThreads(seed=1)
    condition = world.condition()

    def wait():
        with condition:
            condition.wait()

    with pytest.raises(DeadlockError, match="wait for each other"):
        world.run([wait, wait])


def test_a_bill_counts_what_the_client_never_sees():
    rng = random.Random(1)
    bill = Bill((1.0, 2.0), {"late": 1.0}, rng)
    outcome, (sent, received), _ = bill.accept(1000, 50)
    assert outcome == "late"
    assert bill.total == sent + 2 * received
    assert sent >= 1000
    bill.weights = {"429": 1.0}
    assert bill.accept(1000, 50)[0] == "429"
    assert bill.n_billed == 1
