"""The threads that ask: each takes a query, asks, writes the answer down, and takes the next."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tqdm import tqdm

from rageval_report.errors import PipelineError
from rageval_report.runner.pacing import Tries, Turns
from rageval_report.runner.query_source import Query
from rageval_report.runner.run_config import RunConfig
from rageval_report.runner.run_journal import RunJournal
from rageval_report.runner.target_errors import TargetError
from rageval_report.runner.targets import Target

Sleep = Callable[[float], object]

# Seconds after which the main thread looks whether it was interrupted: a signal that another
# thread received does not wake it.
_LOOKS_UP = 0.1


class _StoppedError(Exception):
    """The run ends while a query waits to be asked."""


@dataclass(frozen=True)
class WorkerPool:
    """What all threads of a run share.

    Parameters
    ----------
    target : Target
        What is asked.
    config : RunConfig
        How fast, and what is tried again.
    sleep : callable, optional
        Waits so many seconds; by default until then or the end of the run.
    """

    target: Target
    config: RunConfig
    sleep: Sleep | None = None

    def ask_all(self, queries: Iterator[Query], journal: RunJournal, n: int) -> None:
        """Ask every query, and write down what becomes of each.

        Parameters
        ----------
        queries : iterator of Query
            Those that are to be asked.
        journal : RunJournal
            Takes each answer before its thread asks for the next.
        n : int
            How many they are, for the progress.

        Raises
        ------
        PipelineError
            If too many fail in a row.
        DataError
            If the journal cannot be written, or a query cannot be sent.
        KeyboardInterrupt
            As it came, once those in flight are written down.
        """
        with tqdm(total=n, desc="asking", leave=False, delay=2, disable=None) as bar:
            _Threads(self, queries, journal, bar).run()

    def warm_up(self, queries: Iterator[Query]) -> None:
        """Ask, and forget the answers and failures."""
        for query in queries:
            try:
                self.target.ask(query)
            except TargetError:
                continue


class _Threads:
    """One run of the threads, and what ends it."""

    def __init__(self, asking: WorkerPool, queries: Iterator[Query], journal: RunJournal, bar: Any):
        self._target, self._config = asking.target, asking.config
        self._queries, self._journal, self._bar = queries, journal, bar
        self._turns = Turns(asking.config.rate)
        self._stop = threading.Event()
        self._sleep = asking.sleep or self._stop.wait
        self._lock = threading.Lock()
        self._failed_in_a_row = self._n_failed = 0
        self._ended_by: BaseException | None = None

    def run(self) -> None:
        threads = [
            threading.Thread(target=self._work, name=f"asking {n}", daemon=True)
            for n in range(self._config.concurrency)
        ]
        try:
            for thread in threads:
                thread.start()
            _join(threads)
        except KeyboardInterrupt:
            self._stop.set()
            _join(threads)  # those in flight are kept; who cannot wait interrupts again
            raise
        if self._ended_by is not None:
            raise self._ended_by

    def _work(self) -> None:
        try:
            while (query := self._next()) is not None:
                entry = self._asked(query)
                self._journal.append(entry)
                self._note(entry)
        except _StoppedError:
            return
        except BaseException as exc:  # a thread's error is the run's: raised where it is awaited
            self._end(exc)

    def _next(self) -> Query | None:
        with self._lock:
            return None if self._stop.is_set() else next(self._queries, None)

    def _asked(self, query: Query) -> dict[str, Any]:
        """The entry of a query, asked as often as is worth it."""
        tries = Tries(self._config.retries)
        head = {"row": query.row, "query_id": query.query_id}
        while True:
            self._wait(self._turns.wait_for_next())
            asked_at = datetime.now(UTC).isoformat(timespec="milliseconds")
            try:
                reply = self._target.ask(query)
                told = {"attempts": tries.n + 1, "asked_at": asked_at}
                return {**head, **told, **reply.entry()}
            except TargetError as exc:
                wait = tries.wait_after(exc)
                if wait is None:
                    failure = {"error": f"{exc.kind}: {exc}", "error_kind": exc.kind}
                    return {**head, "attempts": tries.n, "asked_at": asked_at, **failure}
                self._wait(wait)

    def _wait(self, seconds: float) -> None:
        if seconds > 0:
            self._sleep(seconds)
        if self._stop.is_set():
            raise _StoppedError

    def _note(self, entry: dict[str, Any]) -> None:
        with self._lock:
            failed = "error" in entry
            self._failed_in_a_row = self._failed_in_a_row + 1 if failed else 0
            self._n_failed += failed
            self._bar.update()
            if failed:
                self._bar.set_postfix(failed=self._n_failed, refresh=False)
            is_down = self._failed_in_a_row == self._config.stop_after
        if is_down:
            self._end(
                PipelineError(
                    f"stopped, because {self._config.stop_after} queries failed one after the "
                    f"other, the last with {entry['error']}. What was answered is kept: resume "
                    "when the pipeline is well again"
                )
            )

    def _end(self, exc: BaseException) -> None:
        with self._lock:
            self._ended_by = self._ended_by or exc
        self._stop.set()


def _join(threads: list[threading.Thread]) -> None:
    for thread in threads:
        while thread.is_alive():
            thread.join(_LOOKS_UP)
