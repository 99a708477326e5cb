"""Threads on a virtual clock: real threads, of which one runs at a time, in an order set by a seed.

A thread runs until it sleeps, waits for a condition or pauses; then another one is drawn from
those that can run. If none can, the clock jumps to the next moment at which one wakes. If none ever
wakes, the threads wait for each other: that is an error at once, not a test that hangs.
"""

from __future__ import annotations

import heapq
import itertools
import random
import threading
from collections.abc import Callable, Sequence

_HANG = 120  # real seconds after which a thread is taken to wait outside of the virtual world


class DeadlockError(AssertionError):
    """Threads wait for each other, and no moment is left at which one of them would wake."""


class _EndedError(BaseException):
    """Raised in the threads of a world that has ended, wherever they wait."""


class _Thread:
    def __init__(self, work: Callable[[], object]):
        self.work = work
        self.turn = threading.Semaphore(0)
        self.error: BaseException | None = None
        self.is_finished = False


class VirtualThreads:
    """A world of threads with a clock of its own.

    Parameters
    ----------
    seed : int
        Which thread runs when several can.

    Attributes
    ----------
    now : float
        The time in seconds.
    """

    def __init__(self, seed: int):
        self.now = 0.0
        self._random = random.Random(seed)
        self._ready: list[_Thread] = []
        self._sleeping: list[tuple[float, int, _Thread]] = []
        self._count = itertools.count()
        self._current: _Thread | None = None
        self._back = threading.Semaphore(0)
        self._is_ended = False

    def run(
        self,
        works: Sequence[Callable[[], object]],
        until: float = float("inf"),
        at_the_end: Callable[[], object] = lambda: None,
    ) -> bool:
        """Run functions, each in its thread, to their ends; False if `until` came before.

        `at_the_end` is called then, while threads still wait where they are.

        Raises
        ------
        DeadlockError
            If threads wait that nothing will ever wake.
        """
        threads = [_Thread(work) for work in works]
        real = [threading.Thread(target=self._live, args=(each,), daemon=True) for each in threads]
        self._ready = list(threads)
        for thread in real:
            thread.start()
        try:
            while not all(thread.is_finished for thread in threads):
                if not self._ready and not self._wake_sleepers(until):
                    at_the_end()
                    return False
                self._step()
                for thread in threads:
                    if thread.error is not None:
                        raise thread.error
            return True
        finally:
            self._end(threads)
            for thread in real:
                thread.join(_HANG)

    def _wake_sleepers(self, until: float) -> bool:
        if not self._sleeping:
            raise DeadlockError(f"at {self.now:.3f} s all threads wait for each other")
        if self._sleeping[0][0] > until:
            return False
        self.now, _, thread = heapq.heappop(self._sleeping)
        self._ready.append(thread)
        return True

    def _step(self) -> None:
        self._current = self._ready.pop(self._random.randrange(len(self._ready)))
        self._current.turn.release()
        if not self._back.acquire(timeout=_HANG):
            raise DeadlockError("a thread waits for something outside of the virtual world")

    def _live(self, thread: _Thread) -> None:
        thread.turn.acquire()
        try:
            if not self._is_ended:
                thread.work()
        except _EndedError:
            pass
        except BaseException as exc:
            thread.error = exc
        thread.is_finished = True
        self._back.release()

    def _end(self, threads: list[_Thread]) -> None:
        self._is_ended = True
        for thread in threads:
            if not thread.is_finished:
                thread.turn.release()
                # One after the other, as ever: what they do at their ends needs no lock then.
                self._back.acquire(timeout=_HANG)

    def _block(self) -> None:
        thread = self._current
        if self._is_ended or thread is None:
            raise _EndedError
        self._back.release()
        thread.turn.acquire()
        if self._is_ended:
            raise _EndedError

    def sleep(self, seconds: float) -> None:
        """Let this thread wait on the virtual clock."""
        entry = (self.now + max(0.0, seconds), next(self._count), self._current)
        heapq.heappush(self._sleeping, entry)
        self._block()

    def pause(self) -> None:
        """Let another thread run, or this one go on, as the seed has it."""
        if self._current is not None and not self._is_ended:
            self._ready.append(self._current)
            self._block()

    def condition(self) -> VirtualCondition:
        """What takes the place of `threading.Condition`."""
        return VirtualCondition(self)


class VirtualCondition:
    """A condition on which threads of a virtual world wait; others may run before each entry."""

    def __init__(self, world: VirtualThreads):
        self._world = world
        self._waiting: list[_Thread] = []

    def __enter__(self) -> None:
        self._world.pause()

    def __exit__(self, *exc: object) -> None:
        """Nothing is locked: a thread of this world is interrupted only where it waits."""

    def wait(self) -> None:
        """Wait for `notify_all`."""
        self._waiting.append(self._world._current)
        self._world._block()

    def notify_all(self) -> None:
        """Let all that wait run again."""
        self._world._ready += self._waiting
        self._waiting.clear()
