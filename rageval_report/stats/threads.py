"""The same work on several samples, in threads if the caller wants them.

NumPy lets other threads run while it works on a large array, and not while Python calls it, so more
threads can only pay for samples of some hundred thousand pairs. The results do not depend on their
number: each sample is computed by one thread, as it would be alone.
"""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Sample = TypeVar("Sample")
Computed = TypeVar("Computed")


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
