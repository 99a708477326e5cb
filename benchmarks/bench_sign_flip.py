"""The exact sign-flip test of ten metrics against scipy.stats.permutation_test, 9,999 resamples.

    OMP_NUM_THREADS=1 python benchmarks/bench_sign_flip.py [--sizes 1000 10000] [--rounds 5]

CPU time, in one run and in turns. SciPy draws fewer resamples where 9,999 would take minutes, and
its time is scaled up: the cost of resampling is linear in their number. It draws them in batches of
ten million numbers; it loops over the queries once a batch, so at a million queries, where a batch
is ten resamples, a machine with much more memory would see a fraction of the time given here. The
last columns are the interval by inversion, and what it costs in p-values.
"""

from __future__ import annotations

import argparse

import numpy as np
import scipy.stats
from timing import cpu_times, markdown, score_columns, seconds

from rageval_report.stats.sign_flips.inversion import sign_flip_interval
from rageval_report.stats.sign_flips.signflip import sign_flip_pvalue

RESAMPLES = 9_999
NUMBERS_OF_SCIPY = 10_000_000  # for each column, in one batch
SIZES = [1_000, 10_000, 100_000, 1_000_000]


def difference_of_means(after: np.ndarray, before: np.ndarray, axis: int) -> np.ndarray:
    return np.mean(after, axis=axis) - np.mean(before, axis=axis)


def scipy_tests(before: list[np.ndarray], after: list[np.ndarray], resamples: int) -> None:
    for a, b in zip(before, after, strict=True):
        scipy.stats.permutation_test(
            (b, a),
            difference_of_means,
            permutation_type="samples",
            n_resamples=resamples,
            batch=resamples,
            vectorized=True,
            rng=0,
        )


def pvalues(before: list[np.ndarray], after: list[np.ndarray]) -> list[float]:
    return [sign_flip_pvalue(b - a) for a, b in zip(before, after, strict=True)]


def intervals(before: list[np.ndarray], after: list[np.ndarray]) -> None:
    for a, b in zip(before, after, strict=True):
        sign_flip_interval(b - a)


def compare(n: int, rounds: int) -> list[str]:
    """A row of the table."""
    before, after = score_columns(n, seed=0), score_columns(n, seed=1)
    drawn = max(10, min(RESAMPLES, NUMBERS_OF_SCIPY // n))
    contenders = {
        "scipy": lambda: scipy_tests(before, after, drawn),
        "p": lambda: pvalues(before, after),
        "interval": lambda: intervals(before, after),
    }
    spent = cpu_times(contenders, rounds if n <= 100_000 else 1)
    scaled = spent["scipy"] * RESAMPLES / drawn
    return [
        f"{n:,}",
        seconds(scaled) + ("" if drawn == RESAMPLES else f" (from {drawn:,})"),
        seconds(spent["p"]),
        f"{scaled / spent['p']:,.0f}",
        seconds(spent["interval"]),
        f"{spent['interval'] / spent['p']:.1f}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="queries")
    parser.add_argument("--rounds", type=int, default=3, help="rounds, of which the median counts")
    options = parser.parse_args()
    header = ["queries", "scipy", "ten p-values", "times faster", "ten intervals", "in p-values"]
    print(markdown(header, [compare(n, options.rounds) for n in options.sizes]))


if __name__ == "__main__":
    main()
