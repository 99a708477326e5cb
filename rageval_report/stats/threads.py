"""The same work on several samples, in threads if the caller wants them, or if they pay.

NumPy lets other threads run while it works on a large array, and not while Python calls it, so more
threads can only pay for samples of some hundred thousand pairs. The results do not depend on their
number: each sample is computed by one thread, as it would be alone.
"""

from __future__ import annotations

import contextvars
import functools
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

# Samples of fewer pairs are mostly calls of NumPy, during which no other thread runs: 50 groups of
# 20,000 pairs took two threads 1.3 times as long as one.
FEWEST_PAIRS = 100_000
# What the test, the interval and the sums of one pair take in seconds, in large samples.
_SECONDS_PER_PAIR = 6e-8
# Less work than this is done before threads gain anything that somebody would notice.
_LEAST_SECONDS = 0.5

if TYPE_CHECKING or sys.version_info >= (3, 12):
    lock_free_property = functools.cached_property
else:

    class lock_free_property(functools.cached_property):  # noqa: N801  (used as a decorator)
        """A `functools.cached_property` as Python 3.12 has it: without a lock.

        The lock of Python 3.11 is one for all objects of a class, so that threads which compute the
        same property of different samples would wait for each other.
        """

        def __get__(self, instance, owner=None):
            """The value, computed once as a rule; two threads at once give the same one."""
            if instance is None:
                return self
            if self.attrname not in instance.__dict__:
                instance.__dict__[self.attrname] = self.func(instance)
            return instance.__dict__[self.attrname]


Sample = TypeVar("Sample")
Computed = TypeVar("Computed")


def available_cores() -> int:
    """The number of cores on which this process may run.

    Examples
    --------
    >>> available_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def choose_threads(sizes: Iterable[int], n_jobs: int | None) -> int:
    """The number of threads for samples of these sizes.

    Parameters
    ----------
    sizes : iterable of int
        For each sample the number of its pairs that are in memory.
    n_jobs : int, optional
        What the caller wants. If omitted, one thread per available core, and only one if all large
        samples together take less than half a second of work.

    Examples
    --------
    >>> choose_threads([200] * 10, None), choose_threads([200] * 10, 2)
    (1, 2)
    """
    if n_jobs is not None:
        return n_jobs
    large = [size for size in sizes if size >= FEWEST_PAIRS]
    if sum(large) * _SECONDS_PER_PAIR < _LEAST_SECONDS:
        return 1
    return min(available_cores(), len(large))


def limit_threads(sizes: Iterable[int], n_jobs: int | None) -> int | None:
    """The wanted number of threads; 1 if all samples are so small that threads only cost time.

    Parameters
    ----------
    sizes : iterable of int
        For each sample the number of its pairs.
    n_jobs : int, optional
        What the caller wants; None is as many as pay.

    Examples
    --------
    >>> limit_threads([20_000] * 50, 2), limit_threads([20_000, 200_000], 2)
    (1, 2)
    """
    return n_jobs if max(sizes, default=0) >= FEWEST_PAIRS else 1


def map_in_threads(
    function: Callable[[Sample], Computed], samples: Sequence[Sample], n_jobs: int
) -> list[Computed]:
    """What a function gives for each sample, in the order of the samples.

    Parameters
    ----------
    function : callable
        Takes a sample; what it changes must belong to this sample alone.
    samples : sequence
        The samples.
    n_jobs : int
        The largest number of threads; with one nothing is started.

    Examples
    --------
    >>> map_in_threads(abs, [-2, 3, -1], 2)
    [2, 3, 1]
    """
    n_threads = min(n_jobs, len(samples))
    if n_threads < 2:
        return [function(sample) for sample in samples]
    with ThreadPoolExecutor(n_threads, thread_name_prefix="rageval") as pool:
        # With the settings of the caller's thread, such as what NumPy does about an overflow.
        waiting = [
            pool.submit(contextvars.copy_context().run, function, sample) for sample in samples
        ]
        return [future.result() for future in waiting]
