"""The exact sign-flip test of ten metrics against scipy.stats.permutation_test, 9,999 resamples.

    python benchmarks/bench_sign_flip.py [--sizes 50 200 1000 10000] [--rounds 5] [--warm] [--again]

CPU time, in one run and in turns, each row of the table in a process of its own. With `--warm` a
row is measured after both have worked on 10,000 queries: then the process has the memory that SciPy
needs already, and SciPy takes half the time at 50 queries and two thirds at 200. With `--again` the
second of two calls is measured, of both: a single call of ours comes after SciPy's resamples, which
leave nothing of ours in the caches of the processor.

SciPy gets its fastest form: one call on the differences of all ten metrics, which share their
signs. It draws fewer resamples where 9,999 would take minutes, and its time is scaled up: the cost
of resampling is linear in their number. SciPy gives p-values; the whole `compare` gives intervals,
effect sizes and verdicts as well.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import scipy.stats
from timing import (
    cpu_times,
    in_fresh_process,
    markdown,
    run_both_ways,
    score_columns,
    seconds,
)

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.stats import Pairs
from rageval_report.stats.sign_flips import sign_flip_interval, sign_flip_pvalue

RESAMPLES = 9_999
NUMBERS_OF_SCIPY = 10_000_000  # for each metric, in one batch
SIZES = [50, 200, 1_000, 10_000]
LEVEL = 0.95

Sides = tuple[np.ndarray, np.ndarray]


def continuous(n: int, rng: np.random.Generator) -> Sides:
    """Scores without ties."""
    before = rng.normal(size=(10, n))
    return before, before + rng.normal(1.75 / n**0.5, 1.0, (10, n))


def sparse(n: int, rng: np.random.Generator) -> Sides:
    """Nine of ten queries do not change."""
    before, after = continuous(n, rng)
    return before, np.where(rng.random((10, n)) < 0.1, after, before)


def lattice(n: int, rng: np.random.Generator) -> Sides:
    """Ratings from 1 to 5."""
    before = rng.integers(1, 6, (10, n)).astype(float)
    return before, rng.integers(1, 6, (10, n)).astype(float)


def usual(n: int, _rng: np.random.Generator) -> Sides:
    """Metrics as evaluations have them: 0 and 1, shares, ratings, ranks and continuous ones."""
    return np.array(score_columns(n, seed=0)), np.array(score_columns(n, seed=1))


KINDS: tuple[Callable[[int, np.random.Generator], Sides], ...] = (
    *(continuous, sparse, lattice, usual),
)


def scipy_tests(differences: np.ndarray, resamples: int) -> None:
    scipy.stats.permutation_test(
        (differences,),
        lambda values, axis: np.mean(values, axis=axis),
        permutation_type="samples",
        n_resamples=resamples,
        batch=max(1, NUMBERS_OF_SCIPY // differences.size),
        vectorized=True,
        axis=-1,
        rng=0,
    )


def samples_of(before: np.ndarray, after: np.ndarray) -> list[Pairs]:
    return [Pairs.of(*sides) for sides in zip(before, after, strict=True)]


def pvalues(before: np.ndarray, after: np.ndarray) -> list[float]:
    return [sign_flip_pvalue(pairs.units) for pairs in samples_of(before, after)]


def intervals(before: np.ndarray, after: np.ndarray) -> None:
    for pairs in samples_of(before, after):
        sign_flip_pvalue(pairs.units)
        sign_flip_interval(pairs.units, confidence_level=LEVEL)


def evaluation(name: str, columns: np.ndarray) -> RAGPipelineEvaluation:
    metrics = {f"metric_{number}": column for number, column in enumerate(columns)}
    ids = [f"q{number}" for number in range(columns.shape[1])]
    return RAGPipelineEvaluation(name, {"query_id": ids, **metrics}, metrics=list(metrics))


def measure(
    kind: Callable[[int, np.random.Generator], Sides],
    n: int,
    rounds: int,
    *,
    warm: bool,
    again: bool = False,
) -> list[str]:
    """A row of the table."""
    if warm:
        measure(kind, max(SIZES), 1, warm=False)
    before, after = kind(n, np.random.default_rng(n))
    drawn = max(10, min(RESAMPLES, NUMBERS_OF_SCIPY // n))
    runs = evaluation("baseline", before), evaluation("candidate", after)
    contenders = {
        "scipy": lambda: scipy_tests(after - before, drawn),
        "p": lambda: pvalues(before, after),
        "interval": lambda: intervals(before, after),
        "compare": lambda: compare(*runs),
    }
    spent = cpu_times(contenders, rounds, again=again)
    scaled = spent["scipy"] * RESAMPLES / drawn
    return [
        *(kind.__name__, f"{n:,}"),
        seconds(scaled) + ("" if drawn == RESAMPLES else f" (from {drawn:,})"),
        *(seconds(spent["p"]), f"{scaled / spent['p']:,.0f} x"),
        seconds(spent["interval"]),
        *(seconds(spent["compare"]), f"{spent['compare'] / scaled:.4f}"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="queries")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts")
    parser.add_argument("--warm", action="store_true", help="after larger work in the process")
    parser.add_argument("--again", action="store_true", help="the second of two calls counts")
    options = parser.parse_args()
    header = ["ten metrics", "queries", "scipy, one call", "p-values", "scipy / p-values"]
    header += ["p-values and intervals", "compare", "compare / scipy"]
    rows = [
        in_fresh_process(measure, kind, n, options.rounds, warm=options.warm, again=options.again)
        for kind in KINDS
        for n in options.sizes
    ]
    print(markdown(header, rows))


if __name__ == "__main__":
    run_both_ways(main)
