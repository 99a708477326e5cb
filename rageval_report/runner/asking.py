"""The worker threads of a run: each takes a query, asks it, records the answer, takes the next."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tqdm import tqdm

from rageval_report.errors import PipelineError
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import (
    MOST_REPLIES,
    SampledReply,
    TargetError,
    doubts_about_replies,
    sampled_reply,
)
from rageval_report.runner.run_config import Retries, RunConfig
from rageval_report.runner.run_journal import RunJournal
from rageval_report.runner.targets import Target
from rageval_report.scores.guard import Doubt
from rageval_report.types import Sleep

# The main thread waits in steps of so many seconds, because a signal that another thread received
# does not wake it.
_JOIN_STEP = 0.1
_FIRST_WAIT = 1.0  # seconds; each further wait is twice as long
_JITTER = 1.0  # at most so many seconds are added, so that failed queries do not return together
# So many answers show the form of the ids; a chance in fewer could stop a run that is right.
FIRST_ANSWERS = 20

# Takes the records of the first answers, and the doubts about the keys of the replies.
CheckFirst = Callable[[Sequence[dict[str, Any]], Sequence[Doubt]], None]


class Turns:
    """At most so many turns per second, shared by all threads."""

    def __init__(self, rate: float | None, clock: Callable[[], float] = time.monotonic):
        self._step = 0.0 if rate is None else 1.0 / rate
        self._clock, self._next, self._lock = clock, 0.0, threading.Lock()

    def wait_for_next(self) -> float:
        """Take the next turn, and return the seconds to wait for it."""
        if not self._step:
            return 0.0
        with self._lock:
            now = self._clock()
            # Turns that nobody took are not saved up: a burst after a pause would exceed the rate.
            turn = max(now, self._next)
            self._next = turn + self._step
        # The wait itself is outside the lock, or threads would wait for each other's sleep.
        return turn - now


class Tries:
    """The failures of one query, and whether it is asked again."""

    def __init__(self, retries: Retries, jitter: Callable[[], float] = random.random):
        self._retries, self._jitter = retries, jitter
        self._failures: Counter[str] = Counter()

    @property
    def n(self) -> int:
        """The number of failures."""
        return self._failures.total()

    def wait_after(self, failure: TargetError) -> float | None:
        """Note a failure, and return the seconds before the next attempt; None if there is none."""
        self._failures[failure.kind] += 1
        longest = self._retries.max_wait
        # Each kind counts for itself: five 429s must not use up the retries of a broken connection.
        is_last = self._failures[failure.kind] > self._retries.after(failure.kind)
        if is_last or (failure.retry_after or 0.0) > longest:
            return None
        jitter = _JITTER * self._jitter()
        if failure.retry_after is not None:
            return failure.retry_after + jitter
        return min(longest, _FIRST_WAIT * 2.0 ** (self.n - 1) + jitter)


@dataclass
class FirstAnswers:
    """Collects the first records with an answer, and checks them once there are enough."""

    check: CheckFirst
    samples: list[SampledReply]
    records: list[dict[str, Any]] = field(default_factory=list)
    n_checks: int = 0  # of the ids first, and again when the keys of replies were seen

    def add(self, query: Query, entry: Mapping[str, Any]) -> None:
        """Add the entry of a query, unless it failed or enough are there, and check them."""
        if self.n_checks == 2 or "error" in entry:
            return
        if len(self.records) < FIRST_ANSWERS:
            self.records.append({**query.kept_fields(), **entry})
        # Answers of an earlier part of the run have no replies: their keys are seen a little later.
        n_due = 2 if len(self.samples) >= MOST_REPLIES else 1
        if len(self.records) == FIRST_ANSWERS and self.n_checks < n_due:
            self.n_checks = n_due
            names = {name for record in self.records for name in record}
            self.check(self.records, doubts_about_replies(self.samples, names))


class _StoppedError(Exception):
    """The run ends while a query is waiting to be asked."""


@dataclass
class WorkerPool:
    """The threads that ask the queries of a run, and what they share.

    Parameters
    ----------
    target : Target
        The pipeline.
    config : RunConfig
        The speed and the retries.
    journal : RunJournal
        Gets the answers.
    first_answers : FirstAnswers, optional
        Checks the first of them.
    sleep : callable, optional
        Waits the given number of seconds.
    samples : list of SampledReply
        Gets the first replies.
    """

    target: Target
    config: RunConfig
    journal: RunJournal
    first_answers: FirstAnswers | None = None
    sleep: Sleep | None = None
    samples: list[SampledReply] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._turns = Turns(self.config.rate)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failed_in_a_row = 0
        self._end_cause: BaseException | None = None

    def warm_up(self, queries: Iterator[Query]) -> None:
        """Ask queries, and discard the answers and failures."""
        for query in queries:
            try:
                self.target.ask(query)
            except TargetError:
                continue

    def ask_all(self, queries: Iterator[Query], n: int) -> None:
        """Ask every query, and record the answer or the failure of each."""
        # No bar for a run of two seconds, nor where standard error is not a terminal.
        with tqdm(total=n, desc="asking", leave=False, delay=2, disable=None) as bar:
            threads = [
                # Daemons, so that a second Ctrl-C can leave while a slow server is waited for.
                threading.Thread(target=self._work, args=(queries, bar), daemon=True)
                for _ in range(self.config.concurrency)
            ]
            try:
                for thread in threads:
                    thread.start()
                _join(threads)
            except KeyboardInterrupt:
                self._stop.set()
                _join(threads)  # answers in flight are recorded; a second interrupt does not wait
                raise
        if self._end_cause is not None:
            raise self._end_cause

    def _work(self, queries: Iterator[Query], bar: tqdm[Any]) -> None:
        try:
            while (query := self._next_query(queries)) is not None:
                entry = self._ask(query)
                self.journal.append(entry)
                self._count(entry, bar)
                self._check_first(query, entry)
        except _StoppedError:
            return
        # An error in a thread ends the run, and is raised in the main thread.
        except BaseException as exc:
            self._end(exc)

    def _next_query(self, queries: Iterator[Query]) -> Query | None:
        with self._lock:
            return None if self._stop.is_set() else next(queries, None)

    def _ask(self, query: Query) -> dict[str, Any]:
        """Ask a query, with retries, and return its journal entry."""
        tries = Tries(self.config.retries)
        head = {"row": query.row, "query_id": query.query_id}
        while True:
            # Retries take a turn as well, because a rate limit counts them.
            self._wait(self._turns.wait_for_next())
            asked_at = datetime.now(UTC).isoformat(timespec="milliseconds")
            try:
                reply = self.target.ask(query)
            except TargetError as exc:
                wait = tries.wait_after(exc)
                if wait is None:
                    failure = {"error": f"{exc.kind}: {exc}", "error_kind": exc.kind}
                    return {**head, "attempts": tries.n, "asked_at": asked_at, **failure}
                self._wait(wait)
                continue
            with self._lock:
                if len(self.samples) < MOST_REPLIES:
                    self.samples.append(sampled_reply(query, reply.fields, reply.document))
            timing = {"attempts": tries.n + 1, "asked_at": asked_at}
            return {**head, **timing, **reply.entry()}

    def _wait(self, seconds: float) -> None:
        if seconds > 0:
            # An event's wait ends as soon as the run does; time.sleep would hold Ctrl-C a minute.
            (self.sleep or self._stop.wait)(seconds)
        if self._stop.is_set():
            raise _StoppedError

    def _count(self, entry: dict[str, Any], bar: tqdm[Any]) -> None:
        with self._lock:
            self._failed_in_a_row = self._failed_in_a_row + 1 if "error" in entry else 0
            bar.update()
            # Equality, not >=, so that one of several threads ends the run and the others' failures
            # do not end it again.
            is_down = self._failed_in_a_row == self.config.stop_after
        if is_down:
            self._end(
                PipelineError(
                    f"stopped, because {self.config.stop_after} queries in a row failed, the last "
                    f"with {str(entry['error']).rstrip('.')}. The answers so far are kept: resume "
                    "the run when the pipeline works again"
                )
            )

    def _check_first(self, query: Query, entry: dict[str, Any]) -> None:
        if self.first_answers is not None:
            with self._lock:
                try:
                    self.first_answers.add(query, entry)
                except BaseException:
                    self._stop.set()  # while the lock is held, so that no thread takes a query
                    raise

    def _end(self, exc: BaseException) -> None:
        with self._lock:
            self._end_cause = self._end_cause or exc
        self._stop.set()


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        while thread.is_alive():
            thread.join(_JOIN_STEP)
