"""The ledger: whole numbers, and waiting that ends."""

import threading
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.judges.ledger import Ledger, cost_in_micros
from rageval_report.metrics.performance import Price

SOON = 20  # seconds after which a thread that waits is taken to hang


def budget(micros):
    return Ledger(micros / 1_000_000)


# -- amounts


@given(
    st.decimals(0, 100, places=4),
    st.decimals(0, 100, places=4),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
)
def test_a_cost_is_rounded_up_by_less_than_a_millionth_of_a_dollar(prompt, completion, sent, got):
    # The second witness: the price in whole ten-thousandths, with Python's integers.
    exact = Fraction(int(prompt * 10_000) * sent + int(completion * 10_000) * got, 10_000)
    cost = cost_in_micros(Price(float(prompt), float(completion)), sent, got)
    assert exact <= cost < exact + 1


def test_a_budget_is_rounded_down():
    assert Ledger(0.1 + 0.2).limit == 300_000  # 0.30000000000000004
    assert Ledger(0.0000019).limit == 1
    assert Ledger(0.29).limit == 290_000  # 0.29 * 1e6 is 289999.99999999994


# -- waiting


def run_all(threads):
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SOON)
    return not any(thread.is_alive() for thread in threads)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 900), st.integers(0, 100)), max_size=24), st.integers(1, 2000)
)
def test_no_order_of_calls_exceeds_a_budget_or_waits_for_ever(calls, limit):
    ledger = budget(limit)

    def call(amount, percent):
        if ledger.reserve(amount):
            ledger.settle(amount, amount * percent // 100)

    threads = [threading.Thread(target=call, args=each, daemon=True) for each in calls]
    assert run_all(threads)
    assert ledger.spent <= limit
    assert (ledger.reserved, ledger.n_in_flight) == (0, 0)


def test_all_that_wait_are_woken_when_the_last_call_ends():
    ledger = budget(1000)
    assert ledger.reserve(1000)
    waiting = threading.Semaphore(0)
    outcomes = []

    def wait(amount):
        outcomes.append(ledger.reserve(amount, waiting.release))

    # Each wants another amount, and what is left after the call is too small for all of them.
    threads = [threading.Thread(target=wait, args=(500 + n,), daemon=True) for n in range(8)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert waiting.acquire(timeout=SOON)
    ledger.settle(1000, 600)
    for thread in threads:
        thread.join(SOON)
    assert outcomes == [False] * 8


def test_a_call_that_can_never_fit_does_not_wait_for_others():
    ledger = budget(1000)
    assert ledger.reserve(900)
    assert not ledger.reserve(1001)
    ledger.settle(900, 500)
    assert ledger.reserve(100)
    assert not ledger.reserve(501)
