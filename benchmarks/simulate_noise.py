"""How often the interval of a mean covers the mean over all queries, runs and judges.

    OMP_NUM_THREADS=1 python benchmarks/simulate_noise.py

Prints the table of docs/noise.md; the same seed gives the same table. About a minute.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from scipy import stats
from timing import markdown

from rageval_report.stats.components import crossed_components


@dataclass(frozen=True)
class World:
    """Normal scores with these standard deviations."""

    name: str
    run: float = 0.0
    judge: float = 0.0
    query_judge: float = 0.05
    rest: float = 0.1
    query: float = 0.2


WORLDS = (
    World("queries alone"),
    World("runs shift", run=0.03),
    World("judges shift", judge=0.05),
    World("runs and judges shift", run=0.03, judge=0.05),
)
DESIGNS = ((50, 2, 2), (50, 5, 3), (200, 3, 5), (200, 10, 5))


def draw(world: World, shape: tuple[int, int, int], rng: np.random.Generator) -> np.ndarray:
    """Scores whose expected mean is 0."""
    n, runs, judges = shape
    table: np.ndarray = (
        rng.normal(0, world.query, (n, 1, 1))
        + rng.normal(0, world.run, (1, runs, 1))
        + rng.normal(0, world.judge, (1, 1, judges))
        + rng.normal(0, world.query_judge, (n, 1, judges))
        + rng.normal(0, world.rest, shape)
    )
    return table


def row(world: World, shape: tuple[int, int, int], datasets: int, seed: int) -> list[str]:
    """Coverage of the interval of all sources and of the queries alone, and their widths."""
    rng = np.random.default_rng([seed, *shape, WORLDS.index(world)])
    covered, widths = np.zeros(2), np.zeros((datasets, 2))
    quantile = stats.t.ppf(0.975, shape[0] - 1)
    for number in range(datasets):
        scores = draw(world, shape, rng)
        found = crossed_components(scores.ravel(), *np.indices(shape).reshape(3, -1))
        interval = found.interval()
        reach = quantile * found.naive_standard_error
        covered += [interval.low <= 0 <= interval.high, abs(found.mean) <= reach]
        widths[number] = interval.high - interval.low, 2 * reach
    shares, middle = 100 * covered / datasets, np.median(widths, axis=0)
    design = f"{shape[0]} x {shape[1]} x {shape[2]}"
    return [
        world.name,
        design,
        *(f"{share:.1f}" for share in shares),
        f"{middle[0] / middle[1]:.2f}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = [
        row(world, shape, options.datasets, options.seed) for world in WORLDS for shape in DESIGNS
    ]
    head = ["what varies", "queries x runs x judges", "all sources", "queries alone", "width ratio"]
    print(markdown(head, rows))


if __name__ == "__main__":
    main()
