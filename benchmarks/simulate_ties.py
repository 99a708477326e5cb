"""The sign-flip test on scores whose differences tie: false alarms and power with mid-p.

    OMP_NUM_THREADS=1 python benchmarks/simulate_ties.py [--datasets 2000] [--seed 0]

The section of ``results/coverage.md`` that ``simulate_coverage.py`` writes.
The false alarms need no
test: given the sizes of the differences all patterns of signs are equally likely, so the share of
patterns that are rejected is counted, by a convolution of its own. The power is that of
`paired_test`. The same seed gives the same table.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from timing import markdown

from rageval_report.stats import paired_test
from rageval_report.stats.columns import Column

SIZES = (6, 7, 8, 10, 15, 20, 30, 50)
ALPHA = 0.05
Draw = Callable[[np.random.Generator, int, float], np.ndarray]

SECTION = """## Metrics whose differences tie: false alarms and power at the 5 % level, in percent

Ratings, shares and reciprocal ranks differ by a few steps only, so many patterns of signs give the
same sum. The default counts patterns that tie with the observed one half (mid-p) if all differences
are multiples of a step and two of them have the same size; "full" counts all of them, which is the
exact test. Each row has {datasets:,} evaluations. False alarms are the share of all patterns of
signs that are rejected, so their Monte Carlo error is below 0.2 points. With mid-p wherever there
is a step, ties or not, six queries with two decimals would have 5.8 % false alarms, with four
decimals 6.2 %. The power is that of a candidate that is better; its Monte Carlo error is at most
{error:.1f} points.

{table}

{worst}
"""


@dataclass(frozen=True)
class Metric:
    """How scores are drawn if the pipeline is this good, and of what they are multiples.

    `same` is the share of queries on which both pipelines have the same score.
    """

    draw: Draw
    denominator: int
    null: float
    better: float
    same: float = 0.0

    def differences(
        self, rng: np.random.Generator, n: int, candidate: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """The scores of both pipelines."""
        before, after = self.draw(rng, n, self.null), self.draw(rng, n, candidate)
        return before, np.where(rng.random(n) < self.same, before, after)


def reciprocal_ranks(rng: np.random.Generator, n: int, found: float) -> np.ndarray:
    ranks = rng.geometric(found, n)
    return np.where(ranks <= 10, 1.0 / ranks, 0.0)


def precision(rng: np.random.Generator, n: int, p: float) -> np.ndarray:
    return rng.binomial(5, rng.beta(4 * p, 4 * (1 - p), n)) / 5


def ratings(rng: np.random.Generator, n: int, level: float) -> np.ndarray:
    return np.clip(np.rint(rng.normal(level, 1.0, n)), 1.0, 5.0)


def right_or_wrong(rng: np.random.Generator, n: int, p: float) -> np.ndarray:
    return (rng.random(n) < p).astype(float)


def shares(rng: np.random.Generator, n: int, p: float) -> np.ndarray:
    claims = rng.integers(1, 7, n)
    return rng.binomial(claims, p) / claims


def two_decimals(rng: np.random.Generator, n: int, mean: float) -> np.ndarray:
    return np.round(rng.beta(10 * mean, 10 * (1 - mean), n), 2)


METRICS = {
    "reciprocal rank": Metric(reciprocal_ranks, 2520, 0.35, 0.6),
    "reciprocal rank, 40 % unchanged": Metric(reciprocal_ranks, 2520, 0.35, 0.6, 0.4),
    "precision@5": Metric(precision, 5, 0.4, 0.6),
    "ratings 1 to 5": Metric(ratings, 1, 3.0, 3.7),
    "0/1": Metric(right_or_wrong, 1, 0.5, 0.8),
    "shares of up to 6": Metric(shares, 60, 0.6, 0.8),
    "shares of up to 6, 40 % unchanged": Metric(shares, 60, 0.6, 0.8, 0.4),
    "two decimals": Metric(two_decimals, 100, 0.7, 0.8),
}


def rejected_share(differences: np.ndarray, denominator: int) -> tuple[float, float]:
    """The share of patterns of signs that are rejected, with ties in full and by the default."""
    steps = np.rint(np.abs(differences) * denominator).astype(int)
    steps = steps[steps > 0] // max(int(np.gcd.reduce(steps)), 1)
    law = np.ones(1)
    for step in steps.tolist():
        law = (np.pad(law, (0, step)) + np.pad(law, (step, 0))) / 2
    # law[k] is the chance that the steps with a plus sign add up to k; the middle has no direction.
    # By symmetry the lower half is enough.
    lower = law[: (law.size - 1) // 2 + 1 - law.size % 2]
    full = 2 * np.cumsum(lower)
    half = full - lower
    in_full, by_default = (2 * float(lower[p <= ALPHA].sum()) for p in (full, half))
    return in_full, by_default if Column.of(differences).step is not None else in_full


def cells(metric: Metric, n: int, datasets: int, rng: np.random.Generator) -> list[float]:
    """False alarms with ties in full and by default, then the power of both."""
    totals = np.zeros(4)
    for _ in range(datasets):
        before, after = metric.differences(rng, n, metric.null)
        totals[:2] += rejected_share(after - before, metric.denominator)
        before, after = metric.differences(rng, n, metric.better)
        for place, test in ((2, "sign-flip"), (3, "auto")):
            totals[place] += paired_test(before, after, test=test).pvalue <= ALPHA
    return (100 * totals / datasets).tolist()


def ties_section(datasets: int, seed: int) -> str:
    """The section of the coverage page."""
    rows, worst = [], (0.0, "")
    for number, (name, metric) in enumerate(METRICS.items()):
        for n in SIZES:
            shares_of = cells(metric, n, datasets, np.random.default_rng([seed, number, n]))
            rows.append([name, str(n), *(f"{share:.1f}" for share in shares_of)])
            worst = max(worst, (shares_of[1], f"{name}, n = {n}"))
    header = ["data", "n", "false alarms, full", "default", "power, full", "default"]
    sentence = f"The worst cell of the default: {worst[0]:.1f} % false alarms ({worst[1]})."
    error = 50 / datasets**0.5
    return SECTION.format(
        datasets=datasets, error=error, table=markdown(header, rows), worst=sentence
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=2_000, help="data sets per row")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(ties_section(options.datasets, options.seed))


if __name__ == "__main__":
    main()
