"""How often the test of a difference of percentiles shows one between equal percentiles.

    OMP_NUM_THREADS=1 python benchmarks/simulate_percentiles.py

Two pipelines have log-normal latencies, correlated by query, with the same percentile. The rows are
the number of queries and the spread of the second pipeline relative to that of the first.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np

from rageval_report.analysis.objectives import quantile_of
from rageval_report.stats.bootstrap import bootstrap_pvalue

STATISTIC, LEVEL = "p95", 0.05
PAIRS, RESAMPLES = 1000, 499
SIZES, SPREADS = (40, 100, 200), (1.0, 2.0, 4.0)


def draw_pair(
    rng: np.random.Generator, n: int, quantile: float, spread: float
) -> tuple[np.ndarray, np.ndarray]:
    """The latencies of two pipelines, in units of their common percentile."""
    at_quantile = NormalDist().inv_cdf(quantile)
    shared = rng.normal(size=n)
    both = [
        np.exp(sigma * ((shared + rng.normal(size=n)) / np.sqrt(2) - at_quantile))
        for sigma in (0.3, 0.3 * spread)
    ]
    return both[0], both[1]


def share_shown(n: int, spread: float) -> float:
    """The share of pairs of which the test says that they differ."""
    rng, quantile = np.random.default_rng(0), quantile_of(STATISTIC) or 0.5
    n_shown = 0
    for _ in range(PAIRS):
        first, second = draw_pair(rng, n, quantile, spread)
        rows = rng.integers(0, n, (RESAMPLES, n))
        gains = np.quantile(second[rows], quantile, axis=1) - np.quantile(
            first[rows], quantile, axis=1
        )
        is_higher = np.quantile(second, quantile) > np.quantile(first, quantile)
        n_shown += 2.0 * bootstrap_pvalue(gains if is_higher else -gains, n) <= LEVEL
    return n_shown / PAIRS


def main() -> None:
    """Print one line per number of queries."""
    print("queries  " + "  ".join(f"spread x{spread:g}" for spread in SPREADS))
    for n in SIZES:
        shares = (f"{100 * share_shown(n, spread):8.1f} %" for spread in SPREADS)
        print(f"{n:7d}  " + "  ".join(shares))


if __name__ == "__main__":
    main()
