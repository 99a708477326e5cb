"""The worker threads of a run: each takes a query, asks it, records the answer, takes the next."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tqdm import tqdm

from rageval_report.errors import PipelineError
from rageval_report.runner.first_answers import FirstAnswers
from rageval_report.runner.pacing import Tries, Turns
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import TargetReply
from rageval_report.runner.reply_keys import MOST_REPLIES, SampledReply, sampled_reply
from rageval_report.runner.run_config import RunConfig
from rageval_report.runner.run_journal import RunJournal
from rageval_report.runner.target_errors import TargetError
from rageval_report.runner.targets import Target
from rageval_report.types import Sleep

# The main thread waits in steps of so many seconds, because a signal that another thread received
# does not wake it.
_JOIN_STEP = 0.1


class _StoppedError(Exception):
    """The run ends while a query is waiting to be asked."""


@dataclass(frozen=True)
class WorkerPool:
    """The threads that ask the queries of a run.

    Parameters
    ----------
    target : Target
        The pipeline.
    config : RunConfig
        The speed, and what is retried.
    sleep : callable, optional
        Waits the given number of seconds; if omitted, the wait also ends with the run.
    samples : list of SampledReply
        The first replies, whose keys are looked at after the run.
    first_answers : FirstAnswers, optional
        Checks the first answers during the run.
    """

    target: Target
    config: RunConfig
    sleep: Sleep | None = None
    samples: list[SampledReply] = field(default_factory=list)
    first_answers: FirstAnswers | None = None

    def ask_all(self, queries: Iterator[Query], journal: RunJournal, n: int) -> None:
        """Ask every query, and record the answer or the failure of each.

        Parameters
        ----------
        queries : iterator of Query
            The queries to ask.
        journal : RunJournal
            Records each answer before its thread takes the next query.
        n : int
            Their number, for the progress bar.

        Raises
        ------
        PipelineError
            If too many queries in a row fail.
        DataError
            If the journal cannot be written, or a query cannot be sent.
        KeyboardInterrupt
            After the answers in flight are recorded.
        """
        # No bar for a run of two seconds, nor where standard error is not a terminal.
        with tqdm(total=n, desc="asking", leave=False, delay=2, disable=None) as bar:
            _ActiveRun(self, queries, journal, bar).ask_all()

    def warm_up(self, queries: Iterator[Query]) -> None:
        """Ask queries, and discard the answers and failures."""
        for query in queries:
            try:
                self.target.ask(query)
            except TargetError:
                continue


class _ActiveRun:
    """The state that the threads share while they work, and what ended their work."""

    def __init__(
        self, pool: WorkerPool, queries: Iterator[Query], journal: RunJournal, bar: tqdm[Any]
    ):
        self._target, self._config, self._samples = pool.target, pool.config, pool.samples
        self._first_answers = pool.first_answers
        self._queries, self._journal, self._bar = queries, journal, bar
        self._turns = Turns(pool.config.rate)
        self._stop = threading.Event()
        # An event's wait ends as soon as the run does; time.sleep would hold Ctrl-C up to a minute.
        self._sleep = pool.sleep or self._stop.wait
        self._lock = threading.Lock()
        self._failed_in_a_row = self._n_failed = 0
        self._end_cause: BaseException | None = None

    def ask_all(self) -> None:
        threads = [
            # Daemons, so that a second Ctrl-C can leave while a slow server is still being waited
            # for.
            threading.Thread(target=self._work, name=f"asking {n}", daemon=True)
            for n in range(self._config.concurrency)
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

    def _work(self) -> None:
        try:
            while (query := self._next_query()) is not None:
                entry = self._ask(query)
                self._journal.append(entry)
                self._count(entry)
                self._check_first(query, entry)
        except _StoppedError:
            return
        except (
            BaseException
        ) as exc:  # an error in a thread ends the run, and is raised in the main thread
            self._end(exc)

    def _next_query(self) -> Query | None:
        with self._lock:
            return None if self._stop.is_set() else next(self._queries, None)

    def _ask(self, query: Query) -> dict[str, Any]:
        """Ask a query, with retries, and return its journal entry."""
        tries = Tries(self._config.retries)
        head = {"row": query.row, "query_id": query.query_id}
        while True:
            # Retries take a turn as well, because a rate limit counts them.
            self._wait(self._turns.wait_for_next())
            asked_at = datetime.now(UTC).isoformat(timespec="milliseconds")
            try:
                reply = self._target.ask(query)
                self._sample(query, reply)
                timing = {"attempts": tries.n + 1, "asked_at": asked_at}
                return {**head, **timing, **reply.entry()}
            except TargetError as exc:
                wait = tries.wait_after(exc)
                if wait is None:
                    failure = {"error": f"{exc.kind}: {exc}", "error_kind": exc.kind}
                    return {**head, "attempts": tries.n, "asked_at": asked_at, **failure}
                self._wait(wait)

    def _sample(self, query: Query, reply: TargetReply) -> None:
        with self._lock:
            if len(self._samples) < MOST_REPLIES:
                self._samples.append(sampled_reply(query, reply))

    def _wait(self, seconds: float) -> None:
        if seconds > 0:
            self._sleep(seconds)
        if self._stop.is_set():
            raise _StoppedError

    def _count(self, entry: dict[str, Any]) -> None:
        with self._lock:
            failed = "error" in entry
            self._failed_in_a_row = self._failed_in_a_row + 1 if failed else 0
            self._n_failed += failed
            self._bar.update()
            if failed:
                self._bar.set_postfix(failed=self._n_failed, refresh=False)
            # Equality, not >=, so that one of several threads ends the run and the others' failures
            # do not end it again.
            is_down = self._failed_in_a_row == self._config.stop_after
        if is_down:
            self._end(
                PipelineError(
                    f"stopped, because {self._config.stop_after} queries in a row failed, the last "
                    f"with {str(entry['error']).rstrip('.')}. The answers so far are kept: resume "
                    "the run when the pipeline works again"
                )
            )

    def _check_first(self, query: Query, entry: dict[str, Any]) -> None:
        if self._first_answers is not None:
            with self._lock:
                try:
                    self._first_answers.add(query, entry)
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
