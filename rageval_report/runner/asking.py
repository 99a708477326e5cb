"""The worker threads of a run: each takes a query, asks it, records the answer, takes the next."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tqdm import tqdm

from rageval_report.errors import PipelineError
from rageval_report.runner.query_source import Query
from rageval_report.runner.replies import TEMPORARY, TargetError
from rageval_report.runner.run_config import RunConfig
from rageval_report.runner.run_journal import RunJournal
from rageval_report.runner.targets import Target
from rageval_report.types import Sleep

# The main thread waits in steps of so many seconds, because a signal that another thread received
# does not wake it.
_JOIN_STEP = 0.1
_FIRST_WAIT = 1.0  # seconds; each further wait is twice as long
# So many replies show the shape of all, and their texts do not fill the memory.
_MOST_REPLIES = 10


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
    sleep : callable, optional
        Waits the given number of seconds.
    replies : list
        Gets the first replies as they came.
    """

    target: Target
    config: RunConfig
    journal: RunJournal
    sleep: Sleep | None = None
    replies: list[object] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._failed_in_a_row = 0
        self._end_cause: BaseException | None = None

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
        entry: dict[str, Any] = {"row": query.row, "query_id": query.query_id, "attempts": 0}
        while not self._stop.is_set():
            entry["attempts"] += 1
            entry["asked_at"] = datetime.now(UTC).isoformat(timespec="milliseconds")
            try:
                reply = self.target.ask(query)
            except TargetError as exc:
                seconds = self._seconds_after(exc, entry["attempts"])
                if seconds is None:
                    return {**entry, "error": f"{exc.kind}: {exc}", "error_kind": exc.kind}
                # An event's wait ends as soon as the run does; time.sleep would hold Ctrl-C.
                (self.sleep or self._stop.wait)(seconds)
                continue
            with self._lock:
                if len(self.replies) < _MOST_REPLIES:
                    self.replies.append(reply.document)
            return {**entry, **reply.fields, "latency_ms": reply.latency_ms}
        raise _StoppedError

    def _seconds_after(self, failure: TargetError, attempts: int) -> float | None:
        """The seconds before the next attempt; None if there is none."""
        longest, requested = self.config.max_wait, failure.retry_after
        is_last = failure.kind not in TEMPORARY or attempts > self.config.retries
        if is_last or (requested or 0.0) > longest:
            return None
        # Up to a second is added, so that queries that failed together do not return together.
        jitter = random.random()  # noqa: S311  (no secret)
        if requested is not None:
            return requested + jitter
        return min(longest, _FIRST_WAIT * 2.0 ** (attempts - 1) + jitter)

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

    def _end(self, exc: BaseException) -> None:
        with self._lock:
            self._end_cause = self._end_cause or exc
        self._stop.set()


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        while thread.is_alive():
            thread.join(_JOIN_STEP)
