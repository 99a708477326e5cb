"""Many jobs at a time, in threads; what is done is kept when the user interrupts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from tqdm import tqdm

from rageval_report.errors import DataError
from rageval_report.judges.asking import Brake
from rageval_report.judges.spending import Meter

Job = TypeVar("Job")
Done = TypeVar("Done")

INTERRUPTED = "interrupted"
_AHEAD = 2  # jobs a thread that wait, so that none is idle and memory stays flat


def run_jobs(
    work: Callable[[Job], Done],
    jobs: Iterable[Job],
    *,
    concurrency: int,
    brake: Brake,
    keep: Callable[[Done], None],
) -> None:
    """Do all jobs, and hand over each result as it comes, in this thread.

    After an interruption (Ctrl-C) no job begins; those under way end and are kept. A second
    interruption ends it at once.

    Parameters
    ----------
    work : callable
        A job to its result.
    jobs : iterable
        Taken as they are needed.
    concurrency : int
        How many threads.
    brake : Brake
        Told when the user interrupts.
    keep : callable
        Takes each result.
    """
    waiting: set[Future[Done]] = set()
    with ThreadPoolExecutor(concurrency, thread_name_prefix="judge") as pool:
        try:
            for job in jobs:
                waiting.add(pool.submit(work, job))
                if len(waiting) >= _AHEAD * concurrency:
                    waiting = _kept(waiting, keep)
            while waiting:
                waiting = _kept(waiting, keep)
        except KeyboardInterrupt:
            brake.stop(INTERRUPTED)
            under_way = {one for one in waiting if not one.cancel()}
            for future in wait(under_way).done:
                if future.exception() is None:
                    keep(future.result())


def _kept(waiting: set[Future[Done]], keep: Callable[[Done], None]) -> set[Future[Done]]:
    ready, waiting_still = wait(waiting, return_when=FIRST_COMPLETED)
    for future in ready:
        keep(future.result())
    return waiting_still


def checked_concurrency(concurrency: int) -> int:
    """How many calls may be under way at once.

    Raises
    ------
    DataError
        If it is no whole number from 1 on.
    """
    if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
        raise DataError(f"concurrency must be a whole number from 1 on; got {concurrency!r}")
    return concurrency


class Progress:
    """A bar on standard error, with the rate, what failed and what it cost, where somebody looks.

    Parameters
    ----------
    n_jobs : int
        How many there are.
    meter : Meter
        What is counted.
    is_shown : bool
        Whether a bar is wanted at all.
    """

    def __init__(self, n_jobs: int, meter: Meter, *, is_shown: bool):
        self._meter = meter
        self._bar = tqdm(
            total=n_jobs, desc="judging", leave=False, disable=None if is_shown else True
        )

    def advance(self) -> None:
        """One more job is done."""
        if self._bar.disable:
            return
        cost = self._meter.cost_usd
        told = {"failed": self._meter.n_failed}
        dear = {} if cost is None or self._meter.price is None else {"cost": f"{cost:.4f} USD"}
        self._bar.set_postfix({**told, **dear}, refresh=False)
        self._bar.update()

    def close(self) -> None:
        """Take the bar away."""
        self._bar.close()
