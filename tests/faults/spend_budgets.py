"""Budgets of judges against servers that bill every request: no bill exceeds its budget.

Usage::

    python tests/faults/spend_budgets.py --scenarios 1000 --sockets 20 --seed 1

A scenario draws prices, a budget, texts of several scripts, and how often the server is late, cuts
a body, answers 429 or 500, counts no tokens, refuses or talks nonsense. 32 threads judge records,
in one to three runs with the same cache or in one without; some runs are killed on the way.
Each run has the budget for itself.

Most scenarios run on a virtual clock (`virtual_threads`), with the sessions, the retries, the
ledger and the cache of the library, and a model of the server. ``--sockets`` of them judge over a
real socket (`billing.BillingServer`). The exit code is 1 if a bill exceeds its budget, if a run
does not end, or if a ledger knows of less than was billed.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from billing import OUTCOMES, Bill, BillingServer, completion, random_text
from virtual_threads import VirtualThreads

from rageval_report.http import RequestError, make_retrier
from rageval_report.judges import Message, Reply, Rubric, judge, openai_chat
from rageval_report.judges.procedures import judge_record
from rageval_report.judges.sessions import (
    JudgeSession,
    NotAskedError,
    NoVerdictError,
    open_sessions,
)

N_THREADS = 32
MODEL = "m"
TONE = Rubric("tone", "Is it polite?", "How polite? {question} {answer}", scale=(1, 5))
PRICES = (
    (10.0, 10.0),
    (0.15, 0.6),
    (1.25, 10.0),
    (0.07, 0.3),
    (0.0, 5.0),
    (3.0, 0.0),
    (75.1, 150.7),
)
LIMIT_SECONDS = 120  # a judging over a socket that takes longer hangs


@dataclass
class Scenario:
    """What is judged, with which budget, by which server.

    Parameters
    ----------
    rng : Random
        Draws everything.
    n_records : int
        The number of records.
    """

    rng: random.Random
    n_records: int

    def __post_init__(self) -> None:
        rng = self.rng
        self.prices = rng.choice(PRICES)
        self.max_tokens = rng.choice((1, 50, 300, 1024))
        self.texts = [random_text(rng, rng.choice((2, 20, 200))) for _ in range(self.n_records)]
        kinds = ["ok", *rng.sample(OUTCOMES[1:], rng.randint(0, len(OUTCOMES) - 1))]
        self.weights = {kind: rng.random() * (4 if kind == "ok" else 1) for kind in kinds}
        # From too small for one request to enough for all, also with every retry.
        typical = self.prices[0] * 1000 + self.prices[1] * self.max_tokens
        self.max_cost = max(1e-6, typical * 10 ** rng.uniform(-0.3, 3.0) / 1e6)
        self.max_attempts = rng.choice((1, 3, 5))
        self.bill = Bill(self.prices, self.weights, rng, rng.choice((1.0, 1.0, 3.7)))
        self.before, self.largest = Fraction(0), Fraction(0)

    @property
    def billed(self) -> Fraction:
        """What the run that goes on was billed."""
        return self.bill.total - self.before

    def end_run(self) -> None:
        """Note what the run was billed; the next one has a budget of its own."""
        self.largest = max(self.largest, self.billed)
        self.before = self.bill.total

    @property
    def options(self) -> dict[str, Any]:
        """How the model is asked."""
        return {
            "prices": {MODEL: self.prices},
            "max_cost": self.max_cost,
            "give_up_after": 10**6,
            "progress": False,
        }


@dataclass
class Findings:
    """What was wrong, and what was seen.

    Parameters
    ----------
    wrong : list of str
        One line per fault.
    seen : Counter
        Numbers of runs, requests, outcomes and reasons to stop.
    """

    wrong: list[str] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    closest: float = 0.0  # the largest share of a budget that was billed
    most_in_flight: int = 0

    def add(self, name: str, scenario: Scenario) -> None:
        """Compare the bill of a scenario with its budget."""
        bill = scenario.bill
        limit = Fraction(repr(scenario.max_cost)) * 1_000_000
        if scenario.largest > limit:
            self.wrong.append(f"{name}: billed {float(scenario.largest)}, budget {float(limit)}")
        self.seen["scenarios"] += 1
        self.seen["requests"] += bill.outcomes.total()
        self.seen["billed"] += bill.n_billed
        for outcome, n in bill.outcomes.items():
            self.seen[f"outcome {outcome}"] += n
        self.closest = max(self.closest, float(scenario.largest / limit))
        self.most_in_flight = max(self.most_in_flight, bill.most_in_flight)


# -- on a virtual clock


@dataclass
class VirtualChat:
    """A chat whose server is a model, on a virtual clock; it retries as those over HTTP do.

    Parameters
    ----------
    scenario : Scenario
        What the server does.
    world : VirtualThreads
        The clock.
    """

    scenario: Scenario
    world: VirtualThreads
    model: str = MODEL

    @property
    def max_tokens(self) -> int:
        """The maximum length of an answer."""
        return self.scenario.max_tokens

    @property
    def settings(self) -> dict[str, object]:
        """What can change an answer."""
        return {"provider": "virtual"}

    @contextmanager
    def open(self) -> Iterator[Callable[[Message], Reply]]:
        """A context for one attempt per call."""
        yield self._send

    @contextmanager
    def open_attempts(self) -> Iterator[Callable[..., Reply]]:
        """A context for calls with retries."""
        retry = make_retrier(
            max_attempts=self.scenario.max_attempts, max_wait=60.0, sleep=self.world.sleep
        )
        yield lambda message, run: retry(lambda: run(lambda: self._send(message)))

    def _send(self, message: Message) -> Reply:
        schema = "" if message.schema is None else json.dumps(message.schema, ensure_ascii=False)
        n_bytes = len((message.system + message.user + schema).encode())
        bill = self.scenario.bill
        outcome, tokens, share = bill.accept(n_bytes, self.max_tokens)
        bill.enter()
        try:
            self.world.sleep(30.0 if outcome == "late" else 5.0 * share)
        finally:
            bill.leave()
        return _reply(outcome, tokens)


def _reply(outcome: str, tokens: tuple[int, int]) -> Reply:
    """What a client makes of an outcome."""
    if outcome.isdigit():
        raise _error("status", int(outcome))
    failure = {"late": "timeout", "cut": "connection", "reset": "connection", "html": "content"}
    if outcome in failure:
        raise _error(failure[outcome])
    document = completion(outcome, tokens)["choices"][0]
    ending = outcome if outcome in ("refusal", "length") else "end"
    counts = (None, None) if outcome == "uncounted" else tokens
    return Reply(document["message"]["content"] or "No.", *counts, ending)  # type: ignore[arg-type]


def _error(failure: Any, status: int | None = None) -> RequestError:
    return RequestError("a fault", url="http://virtual", failure=failure, status=status)


def run_virtually(scenario: Scenario, seed: int, folder: Path | None) -> list[str]:
    """Judge on a virtual clock, in several runs if there is a folder for caches.

    Returns what was wrong. A run may be killed: the next one has the files of that moment.
    """
    rng = random.Random(seed)
    wrong: list[str] = []
    n_runs = 1 if folder is None else rng.randint(1, 3)
    for n in range(n_runs):
        cache = None if folder is None else folder / str(n) / "judges.sqlite"
        until = rng.uniform(1, 60) if folder is not None and rng.random() < 0.5 else float("inf")
        world = VirtualThreads(rng.randrange(10**9))
        jobs = deque(scenario.texts)

        def hand_on(cache: Path | None = cache, n: int = n) -> None:
            if folder is not None and cache is not None:
                shutil.copytree(cache.parent, folder / str(n + 1))

        with open_sessions(
            VirtualChat(scenario, world), cache=cache, concurrency=N_THREADS, **scenario.options
        ) as [session]:
            session.ledger._changed = world.condition()  # type: ignore[assignment]
            is_finished = world.run([_worker(session, jobs)] * N_THREADS, until, hand_on)
            if is_finished:
                wrong += _leftovers(scenario, session, jobs)
        scenario.end_run()
        if is_finished:
            hand_on()
    return wrong


def _worker(session: JudgeSession, jobs: deque[str]) -> Callable[[], None]:
    """Judges one record after another, as a thread of `judge` does."""
    ask = session.asker(TONE)

    def work() -> None:
        while jobs:
            record = {"question": jobs.popleft(), "answer": "Yes."}
            with suppress(NoVerdictError, NotAskedError):
                judge_record(TONE, record, ask)

    return work


def _leftovers(scenario: Scenario, session: JudgeSession, jobs: deque[str]) -> list[str]:
    """What is wrong after a run that came to its end."""
    ledger = session.ledger
    left = (len(jobs), ledger.reserved, ledger.n_in_flight)
    wrong = [] if left == (0, 0, 0) else [f"left: jobs, reserved, in flight: {left}"]
    if ledger.spent < scenario.billed:
        wrong.append(
            f"the ledger knows of {ledger.spent}, and {float(scenario.billed)} were billed"
        )
    return wrong


def run_scenario(name: str, seed: int, findings: Findings) -> None:
    """One scenario on the virtual clock, with or without a cache."""
    rng = random.Random(seed)
    scenario = Scenario(rng, rng.randint(1, 150))
    has_cache = rng.random() < 0.3
    state = random.getstate()
    random.seed(seed)  # the waits of the retries have a random part
    try:
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder) if has_cache else None
            wrong = run_virtually(scenario, seed, place)
    except AssertionError as exc:  # the threads of the virtual world wait for each other
        wrong = [f"{type(exc).__name__}: {exc}"]
    finally:
        random.setstate(state)
    findings.wrong += [f"{name}: {each}" for each in wrong]
    findings.seen["with a cache"] += has_cache
    findings.add(name, scenario)


# -- over a socket


def run_on_a_socket(name: str, seed: int, findings: Findings) -> None:
    """One scenario over a real socket; every fourth one gathers 32 requests in the server."""
    rng = random.Random(seed)
    scenario = Scenario(rng, rng.randint(40, 80))
    gather = seed % 4 == 0
    if gather:  # enough for 32 requests at the same time
        bytes_at_most = max(len(text.encode()) for text in scenario.texts) * 2 + 3000
        most = bytes_at_most * scenario.prices[0] + scenario.max_tokens * scenario.prices[1]
        scenario.max_cost = 40 * most / 1e6
        scenario.weights = {"ok": 1.0}
        scenario.bill.weights = scenario.weights
    rows = [
        {"query_id": f"q{n}", "question": f"{n} {text}", "answer": "Yes."}
        for n, text in enumerate(scenario.texts)
    ]
    outcome: list[object] = []

    def work(url: str, cache: Path) -> None:
        for _ in range(2):  # the second run asks for what the first one left
            chat = openai_chat(
                *(MODEL,),
                base_url=url,
                max_tokens=scenario.max_tokens,
                timeout=20.0 if gather else 0.5,
                max_attempts=scenario.max_attempts,
                sleep=lambda seconds: None,
            )
            judged = judge(rows, TONE, chat, cache=cache, concurrency=N_THREADS, **scenario.options)
            scenario.end_run()
            outcome.append(judged)

    with (
        tempfile.TemporaryDirectory() as folder,
        BillingServer(scenario.bill, gather=N_THREADS if gather else 0) as server,
    ):
        cache = Path(folder) / "judges.sqlite"
        thread = threading.Thread(target=work, args=(server.url, cache), daemon=True)
        thread.start()
        thread.join(LIMIT_SECONDS)
    if len(outcome) < 2:
        findings.wrong.append(f"{name}: it did not end within {LIMIT_SECONDS} seconds")
    if gather and scenario.bill.most_in_flight < N_THREADS:
        findings.wrong.append(f"{name}: only {scenario.bill.most_in_flight} were in flight")
    findings.seen["over a socket"] += 1
    findings.add(name, scenario)


def spend(n_scenarios: int, n_sockets: int, seed: int) -> Findings:
    """Run scenarios on the virtual clock and over sockets."""
    findings = Findings()
    for n in range(n_scenarios):
        run_scenario(f"scenario {n}", seed * 1_000_003 + n, findings)
    for n in range(n_sockets):
        run_on_a_socket(f"socket {n}", seed * 1_000_003 + n, findings)
    return findings


def main() -> int:
    """Run the scenarios that the command line asks for, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scenarios", type=int, default=1000)
    parser.add_argument("--sockets", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    warnings.simplefilter("error")
    started = time.monotonic()
    findings = spend(options.scenarios, options.sockets, options.seed)
    lines = [f"{name}: {n}" for name, n in sorted(findings.seen.items())]
    lines.append(f"largest share of a budget that was billed: {findings.closest:.6f}")
    lines.append(f"most requests in flight: {findings.most_in_flight}")
    lines.append(f"seconds: {time.monotonic() - started:.0f}")
    lines += [f"WRONG {line}" for line in findings.wrong]
    lines.append(f"wrong: {len(findings.wrong)}")
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if findings.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
