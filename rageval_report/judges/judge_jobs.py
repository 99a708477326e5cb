"""Jobs in worker threads, and a progress bar; an interruption keeps what is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Protocol, TypeVar

from tqdm import tqdm

from rageval_report.judges.spending import Meter

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")

INTERRUPTED = "interrupted"
# Two waiting jobs per thread: no thread is ever idle, and memory does not grow with all jobs.
_WAITING_PER_THREAD = 2


class Stoppable(Protocol):
    """What an interruption stops: a `Brake`, or the brakes of several judges."""

    def stop(self, reason: str) -> object:
        """Let no further call start."""


def run_jobs(
    work: Callable[[JobT], ResultT],
    jobs: Iterable[JobT],
    *,
    concurrency: int,
    brake: Stoppable,
    keep: Callable[[ResultT], None],
) -> None:
    """Run all jobs in threads, and hand over each result in this thread as it arrives.

    After an interruption (Ctrl-C) no further job starts; the running ones finish and are kept. A
    second interruption stops at once.

    Parameters
    ----------
    work : callable
        Takes a job and returns its result.
    jobs : iterable
        Consumed as threads become free.
    concurrency : int
        The number of threads.
    brake : Stoppable
        Stopped when the user interrupts.
    keep : callable
        Takes each result.
    """
    waiting: set[Future[ResultT]] = set()
    pool = ThreadPoolExecutor(concurrency, thread_name_prefix="judge")
    is_abandoned = False
    try:
        for job in jobs:
            waiting.add(pool.submit(work, job))
            if len(waiting) >= _WAITING_PER_THREAD * concurrency:
                waiting = _keep_finished(waiting, keep)
        while waiting:
            waiting = _keep_finished(waiting, keep)
    except KeyboardInterrupt:
        is_abandoned = True  # set back below, if no second interruption comes
        brake.stop(INTERRUPTED)
        # Calls in flight are paid for, so their verdicts are waited for and kept.
        running = {future for future in waiting if not future.cancel()}
        for future in wait(running).done:
            if future.exception() is None:
                keep(future.result())
        is_abandoned = False
    finally:
        # Not a with block: it would wait for calls in flight after a second interruption as well.
        pool.shutdown(wait=not is_abandoned, cancel_futures=is_abandoned)


def _keep_finished(
    waiting: set[Future[ResultT]], keep: Callable[[ResultT], None]
) -> set[Future[ResultT]]:
    """Wait for at least one job, and hand over what is finished; returns the others."""
    finished, unfinished = wait(waiting, return_when=FIRST_COMPLETED)
    for future in finished:
        keep(future.result())
    return unfinished


class Progress:
    """A progress bar on standard error, if that is a terminal: rate, failures and cost.

    Parameters
    ----------
    n_jobs : int
        The number of jobs.
    *meters : Meter
        Count failures and cost, one per judge.
    is_shown : bool
        False for no bar at all.
    """

    def __init__(self, n_jobs: int, *meters: Meter, is_shown: bool):
        self._meters = meters
        # With disable=None tqdm shows the bar on a terminal only.
        self._bar = tqdm(
            total=n_jobs, desc="judging", leave=False, disable=None if is_shown else True
        )

    def advance(self) -> None:
        """Count one finished job."""
        if self._bar.disable:
            return
        numbers: dict[str, object] = {"failed": sum(meter.n_failed for meter in self._meters)}
        costs = [None if meter.price is None else meter.cost_usd for meter in self._meters]
        if None not in costs:
            numbers["cost"] = f"{sum(cost for cost in costs if cost is not None):.4f} USD"
        self._bar.set_postfix(numbers, refresh=False)
        self._bar.update()

    def close(self) -> None:
        """Remove the bar."""
        self._bar.close()
