"""When a query is asked: at a limited rate, and again after a temporary failure."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from collections.abc import Callable

from rageval_report.runner.run_config import Retries
from rageval_report.runner.target_errors import TargetError

Clock = Callable[[], float]

_FIRST_WAIT = 1.0  # seconds; each further wait is twice as long
_JITTER = 1.0  # at most so many seconds are added, so that failed queries do not return together


class Turns:
    """At most so many turns per second, shared by all threads.

    Parameters
    ----------
    rate : float, optional
        Turns per second; unlimited if None.
    clock : callable
        Returns the time in seconds.

    Examples
    --------
    >>> turns = Turns(10.0, clock=lambda: 0.0)
    >>> [round(turns.wait_for_next(), 3) for _ in range(3)]
    [0.0, 0.1, 0.2]
    """

    def __init__(self, rate: float | None, clock: Clock = time.monotonic):
        self._step = 0.0 if rate is None else 1.0 / rate
        self._clock = clock
        self._next = 0.0
        self._lock = threading.Lock()

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
    """The failures of one query, and whether it is asked again.

    Parameters
    ----------
    retries : Retries
        How often each kind of failure is retried.
    jitter : callable, optional
        Returns a random number from 0 to 1.

    Examples
    --------
    >>> tries = Tries(Retries(server=1), jitter=lambda: 0.5)
    >>> failure = TargetError("answered 503", "server")
    >>> tries.wait_after(failure), tries.wait_after(failure), tries.n
    (1.5, None, 2)
    """

    def __init__(self, retries: Retries, jitter: Callable[[], float] = random.random):
        self._retries = retries
        self._jitter = jitter
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
