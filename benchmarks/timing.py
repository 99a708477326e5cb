"""CPU time of contenders in one process, in turns: a busy machine slows all of them alike."""

from __future__ import annotations

import math
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import ParamSpec, TypeVar

import numpy as np

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")
Contenders = Mapping[str, Callable[[], object]]

# Libraries of BLAS take the number of their threads from these variables.
THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
WAYS: Mapping[str, dict[str, str]] = {
    "BLAS with one thread": dict.fromkeys(THREAD_LIMITS, "1"),
    "BLAS with its own number of threads, as users have it": {},
}
_STARTED = "RAGEVAL_BENCHMARK_STARTED"  # set in the processes that `run_both_ways` starts


def run_both_ways(main: Callable[[], None]) -> None:
    """Run a benchmark with one thread of BLAS, then with as many as BLAS takes by itself.

    Each way is a process of its own, because NumPy asks for the number when it is imported. Where
    the number is chosen already (``OMP_NUM_THREADS=1 python ...``), the benchmark runs once.
    """
    if {"-h", "--help"} & set(sys.argv) or any(
        name in os.environ for name in (*THREAD_LIMITS, _STARTED)
    ):
        main()
        return
    for heading, limits in WAYS.items():
        print(f"\n{heading}\n", flush=True)
        environment = os.environ | limits | {_STARTED: "1"}
        status = subprocess.run([sys.executable, *sys.argv], env=environment, check=False)
        if status.returncode:
            sys.exit(status.returncode)


def in_fresh_process(
    function: Callable[Parameters, Returned], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Returned:
    """Call a function of a module in a process that measured nothing before.

    After large arrays the allocator may keep their memory, and whatever allocates some dozen
    megabytes is then up to twice as fast. So the order of the rows of a table would matter.
    """
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=spawn) as executor:
        return executor.submit(function, *args, **kwargs).result()


def cpu_times(contenders: Contenders, rounds: int, *, again: bool = False) -> dict[str, float]:
    """The median CPU seconds of each contender, all threads counted, after a round to warm up.

    With `again` each turn begins with a call that is not counted: a contender may leave nothing in
    the caches of the processor that helps the next one, which then takes longer.
    """
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds + 1):
        for name, run in contenders.items():
            if again:
                run()
            start = time.process_time()
            run()
            spent[name].append(time.process_time() - start)
    return {name: statistics.median(times[1:]) for name, times in spent.items()}


def score_columns(n: int, seed: int = 0) -> list[np.ndarray]:
    """Ten metrics as evaluations have them: three binary, three of few values, four continuous."""
    rng = np.random.default_rng(seed)
    return [
        *((rng.random(n) < share).astype(float) for share in (0.5, 0.8, 0.95)),
        rng.integers(0, 6, n) / 5,
        rng.integers(1, 6, n).astype(float),
        1 / np.minimum(rng.geometric(0.4, n), 10),
        rng.beta(8, 2, n),
        rng.beta(0.5, 0.5, n),
        np.where(rng.random(n) < 0.7, 1.0, rng.beta(4, 2, n)),
        rng.lognormal(size=n),
    ]


def seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{1000 * value:.3g} ms"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table, the first column to the left, numbers to the right."""
    rule = ["---"] + ["---:"] * (len(header) - 1)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *rows))


def per_cent(count: int, of: int) -> str:
    """A share and its standard error, from one imagined hit and miss so that it is never zero."""
    smoothed = (count + 1) / (of + 2)
    error = math.sqrt(smoothed * (1 - smoothed) / of)
    return f"{100 * count / of:.1f} ± {100 * error:.1f}"
