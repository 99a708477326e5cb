"""Budgets of judges against servers that bill every request: no bill exceeds its budget.

    python tests/faults/spend_budgets.py --n 1000 --seed 1

A scenario draws prices, a budget, texts of several scripts, and how often the server is late, cuts
a body, answers 429 or 500, counts no tokens, refuses or talks nonsense. 32 threads judge records,
twice with one cache: the second run asks for what the first one left, with a budget of its own. In
every fourth scenario the server answers nothing before 32 requests are in it. It is a fault if the
bill of a run exceeds its budget, or if a run does not end.
"""

from __future__ import annotations

import random
import sys
import tempfile
import threading
from fractions import Fraction
from pathlib import Path

from attack import Found, main
from servers import OUTCOMES, BillingServer

from rageval_report.judges import Rubric, judge, openai_chat

N_THREADS = 32
TONE = Rubric("tone", "Is it polite?", "How polite? {question} {answer}", scale=(1, 5))
PRICES = ((10.0, 10.0), (0.15, 0.6), (1.25, 10.0), (0.0, 5.0), (3.0, 0.0), (75.1, 150.7))
# Of each script a piece: one token per byte is the worst that a tokenizer makes of it.
SCRIPTS = ("plain words ", "漢字仮名交じり文", "ภาษาไทย", "😀👩‍👩‍👧‍👦🏳️‍🌈", 'tabs\t"quotes"\n', "ﷺ")
PATIENCE = 120  # seconds; a judging that takes longer hangs


def run_scenario(name: str, rng: random.Random, found: Found, gather: bool) -> None:
    """Judge with a budget, twice, and compare it with the bill."""
    prices, max_tokens = rng.choice(PRICES), rng.choice((1, 50, 300, 1024))
    pieces = rng.sample(SCRIPTS, 2)
    texts = ["".join(rng.choices(pieces, k=rng.choice((2, 20, 200)))) for _ in range(60)]
    kinds = ["ok", *rng.sample(OUTCOMES[1:], rng.randint(0, len(OUTCOMES) - 1))]
    weights = {kind: rng.random() * (4 if kind == "ok" else 1) for kind in kinds}
    # From too small for one request to enough for all, also with every retry.
    budget = (prices[0] * 1000 + prices[1] * max_tokens) * 10 ** rng.uniform(-0.3, 3.0) / 1e6
    if gather:
        longest = max(len(text.encode()) for text in texts) * 2 + 3000
        budget = 40 * (longest * prices[0] + max_tokens * prices[1]) / 1e6
        weights = {"ok": 1.0}
    rows = [
        {"query_id": f"q{n}", "question": f"{n} {text}", "answer": "Yes."}
        for n, text in enumerate(texts)
    ]
    max_attempts, bills = rng.choice((1, 3, 5)), []

    def work(url: str, cache: Path) -> None:
        for _ in range(2):
            chat = openai_chat(
                "m",
                base_url=f"{url}/v1",
                max_tokens=max_tokens,
                timeout=20.0 if gather else 0.5,
                max_attempts=max_attempts,
                sleep=lambda seconds: None,
            )
            costs = {"prices": {"m": prices}, "max_cost": budget, "give_up_after": 10**6}
            options = {"cache": cache, "concurrency": N_THREADS, "progress": False}
            judge(rows, TONE, chat, **costs, **options)
            bills.append(server.total - sum(bills))

    server = BillingServer(prices, weights, rng, N_THREADS if gather else 0)
    with tempfile.TemporaryDirectory() as folder, server:
        cache = Path(folder) / "judges.sqlite"
        thread = threading.Thread(target=work, args=(server.url, cache), daemon=True)
        thread.start()
        thread.join(PATIENCE)
    if len(bills) < 2:
        found.fault(f"{name}: it did not end within {PATIENCE} seconds")
        return
    limit = Fraction(repr(budget)) * 1_000_000
    if max(bills) > limit:
        found.fault(f"{name}: billed {float(max(bills))}, budget {float(limit)}")
    if gather and server.most_in_flight < N_THREADS:
        found.fault(f"{name}: only {server.most_in_flight} were in flight")
    found.counts["scenarios"] += 1
    found.counts["more than nine tenths of the budget billed"] += max(bills) > 0.9 * limit
    found.counts.update({f"outcome {name}": n for name, n in server.outcomes.items()})


def attack(n: int, seed: int) -> Found:
    """Run so many scenarios."""
    found = Found()
    for number in range(n):
        rng = random.Random(seed * 1_000_003 + number)
        run_scenario(f"scenario {number}", rng, found, gather=number % 4 == 3)
    return found


if __name__ == "__main__":
    sys.exit(main(__doc__, attack, 1000))
