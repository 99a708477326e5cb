"""How often non-inferiority is claimed of a pipeline that is worse by exactly the margin.

    OMP_NUM_THREADS=1 python benchmarks/simulate_claims.py [--datasets 300] [--seed 0]

The section of ``docs/coverage.md`` that ``simulate_coverage.py`` writes.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from timing import markdown

from rageval_report.stats import equivalence_test

SIZES = (10, 20, 50, 100)
Draw = Callable[[np.random.Generator, int], np.ndarray]

SECTION = """## Claims of non-inferiority at a true difference of minus the margin, in percent

A gate such as `no_regression(faithfulness, margin=0.02)` should let a pipeline that is worse by
exactly the margin pass in at most 5 of 100 cases. Each row has {datasets:,} evaluations. `default`
subtracts the margin from the differences and flips their signs; for scores of 0 and 1 it is the
interval of Bonett and Price, and for differences that are all equal it is `strict`. `t` is the
paired t test, and `strict` is Gaffke's interval of the differences. If gains are frequent and
losses are rare and large, no method that looks only at the sampled differences keeps the level with
few queries; a claim that `strict` would not make has a note that says so.

{table}

{worst}
"""


@dataclass(frozen=True)
class Differences:
    """How differences are drawn, their true mean, which is minus the margin, and the baseline."""

    draw: Draw
    mean: float
    before_a_loss: float = 0.5
    before_a_gain: float = 0.5


def of_values(values: Sequence[float], chances: Sequence[float], *baseline: float) -> Differences:
    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.choice(values, size=n, p=chances)

    return Differences(draw, float(np.dot(values, chances)), *baseline)


DIFFERENCES: Mapping[str, Differences] = {
    "normal, sd 0.09": Differences(
        lambda rng, n: rng.normal(-0.05, 0.09, n).clip(-0.5, 0.4), -0.05
    ),
    "0/1 scores, 10 % won, 15 % lost": of_values((1.0, -1.0, 0.0), (0.10, 0.15, 0.75), 1.0, 0.0),
    "90 % ties, 10 % lose 0.5": of_values((0.0, -0.5), (0.9, 0.1)),
    "70 % ties, thirds": of_values((0.0, 1 / 3, -1 / 3), (0.7, 0.1, 0.2)),
    "95 % gain 0.05, 5 % lose 1": of_values((0.05, -1.0), (0.95, 0.05), 1.0),
}
METHODS = {"default": "auto", "t": "t", "strict": "strict"}


def claims_section(datasets: int, seed: int) -> str:
    """The part of the page on claims."""
    shares = {
        (name, n): _claimed(kind, n, datasets, np.random.default_rng([seed, 7, at, n]))
        for at, (name, kind) in enumerate(DIFFERENCES.items())
        for n in SIZES
    }
    rows = [
        [name, str(n), *(_per_cent(count, datasets) for count in counts.values())]
        for (name, n), counts in shares.items()
    ]
    worst = max(shares, key=lambda cell: shares[cell]["default"])
    return SECTION.format(
        datasets=datasets,
        table=markdown(["differences", "n", *METHODS], rows),
        worst=(
            f"The worst cell of the default: {100 * shares[worst]['default'] / datasets:.1f} % "
            f"({worst[0]}, n = {worst[1]})."
        ),
    )


def _claimed(
    kind: Differences, n: int, datasets: int, rng: np.random.Generator
) -> Mapping[str, int]:
    """How often each method claims it."""
    counts = dict.fromkeys(METHODS, 0)
    for _ in range(datasets):
        differences = kind.draw(rng, n)
        before = np.where(differences < 0.0, kind.before_a_loss, kind.before_a_gain)
        for name, method in METHODS.items():
            found = equivalence_test(
                before,
                before + differences,
                -kind.mean,
                alternative="non-inferior",
                method=method,
                bounds=(0.0, 1.0),
            )
            counts[name] += found.equivalent
    return counts


def _per_cent(count: int, of: int) -> str:
    smoothed = (count + 1) / (of + 2)
    return f"{100 * count / of:.1f} ± {100 * math.sqrt(smoothed * (1 - smoothed) / of):.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=300, help="data sets per cell")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(claims_section(options.datasets, options.seed))


if __name__ == "__main__":
    main()
