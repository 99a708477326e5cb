"""How often the corrected mean's interval covers: few labels, means near the ceiling, groups.

    OMP_NUM_THREADS=1 python benchmarks/simulate_corrected_means.py

Prints the tables of docs/coverage.md. Right and wrong answers, 1,000 of them judged but not
labelled.
"""

from __future__ import annotations

import argparse

import numpy as np
from timing import markdown

from rageval_report.analysis.agreement.strata import allocate
from rageval_report.stats import mean_interval, ppi_mean
from rageval_report.stats.agreement.prediction_powered import stratified_ppi_mean

MEANS = (0.7, 0.9, 0.95, 0.99)
JUDGES = ((0.97, 0.7), (0.9, 0.6), (0.99, 0.9))
LABELS = (20, 50, 100, 200)
OTHERS = 1000
UNIT = (0.0, 1.0)


def draw(mean: float, judge: tuple[float, float], n: int, rng: np.random.Generator) -> np.ndarray:
    """Labels and the judge's verdicts of n queries."""
    labels = (rng.random(n) < mean).astype(float)
    right = np.where(labels == 1, judge[0], judge[1])
    return np.vstack([labels, np.where(rng.random(n) < right, labels, 1 - labels)])


def random_row(
    mean: float, judge: tuple[float, float], n: int, datasets: int, rng: np.random.Generator
) -> list[str]:
    """Coverage and median width: with bounds, without, labels alone."""
    covered, widths = np.zeros(3), np.zeros((datasets, 3))
    for number in range(datasets):
        labels, verdicts = draw(mean, judge, n + OTHERS, rng)
        parts = labels[:n], verdicts[:n], verdicts[n:]
        limits = [
            ppi_mean(*parts, bounds=UNIT),
            ppi_mean(*parts),
            mean_interval(labels[:n], method="wilson"),
        ]
        ends = [(max(0.0, found.low), min(1.0, found.high)) for found in limits]
        covered += [low <= mean <= high for low, high in ends]
        widths[number] = [high - low for low, high in ends]
    pairs = zip(covered, np.median(widths, axis=0), strict=True)
    cells = [f"{100 * share / datasets:.1f} ({width:.3f})" for share, width in pairs]
    return [f"{mean:g}", f"{judge[0]:g}, {judge[1]:g}", str(n), *cells]


def grouped_row(
    mean: float, judge: tuple[float, float], n: int, datasets: int, rng: np.random.Generator
) -> list[str]:
    """Half of the labels at random, the others where they gain most, in groups by verdict."""
    covered, widths = np.zeros(2), np.zeros((datasets, 2))
    for number in range(datasets):
        labels, verdicts = draw(mean, judge, n + OTHERS, rng)
        known = np.arange(labels.size) < n // 2
        pull, state = [], []
        for verdict in (0.0, 1.0):
            group = verdicts == verdict
            rest = (labels - verdicts)[group & known]
            share = group.mean()
            spread = np.append(rest, (-1.0, 1.0)).std()
            pull.append(share * spread)
            state.append([(group & known).sum(), (group & ~known).sum()])
        more = allocate(np.array(pull), np.array(state).T, n - n // 2)
        for verdict, count in zip((0.0, 1.0), more, strict=True):
            free = np.flatnonzero((verdicts == verdict) & ~known)
            known[rng.choice(free, count, replace=False)] = True
        grouped = stratified_ppi_mean(
            np.where(known, labels, np.nan), verdicts, verdicts, bounds=UNIT
        )
        plain = ppi_mean(labels[:n], verdicts[:n], verdicts[n:], bounds=UNIT)
        ends = [(max(0.0, found.low), min(1.0, found.high)) for found in (grouped, plain)]
        covered += [low <= mean <= high for low, high in ends]
        widths[number] = [high - low for low, high in ends]
    pairs = zip(covered, np.median(widths, axis=0), strict=True)
    cells = [f"{100 * share / datasets:.1f} ({width:.3f})" for share, width in pairs]
    return [f"{mean:g}", f"{judge[0]:g}, {judge[1]:g}", str(n), *cells]


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    cells = [(mean, judge, n) for mean in MEANS for judge in JUDGES for n in LABELS]
    head = ["mean", "judge right on 1, on 0", "labels"]
    rows = [random_row(*cell, options.datasets, rng) for cell in cells]
    print(markdown([*head, "with bounds", "without bounds", "labels alone, Wilson"], rows), "\n")
    rows = [grouped_row(*cell, options.datasets, rng) for cell in cells if cell[2] >= 50]
    print(markdown([*head, "half of them where they gain most", "all at random"], rows))


if __name__ == "__main__":
    main()
