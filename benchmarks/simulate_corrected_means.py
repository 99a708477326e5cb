"""How often the corrected mean's interval covers: few labels, means near the ceiling.

    OMP_NUM_THREADS=1 python benchmarks/simulate_corrected_means.py [--datasets 1000] [--seed 0]

Prints all cells. ``simulate_coverage.py`` writes the section of ``results/coverage.md``, with the
worst of the three judges for each mean and number of labels. Right and wrong answers, 1,000 of them
judged but not labelled.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from timing import markdown

from rageval_report.stats import mean_interval, ppi_mean

MEANS = (0.7, 0.9, 0.95, 0.99)
JUDGES = ((0.97, 0.7), (0.9, 0.6), (0.99, 0.9))
LABELS = (20, 50, 100, 200)
OTHERS = 1000
UNIT = (0.0, 1.0)
RANDOM = ("with bounds", "without bounds", "labels alone")

SECTION = """## Coverage of 95 % intervals of a mean corrected using labels, in percent

A judge has scored all answers as right or wrong, {others:,} of them without a label; the labels
correct its mean (`calibrate`, prediction-powered inference). Three judges were tried, which are
right on 97 and 70, 90 and 60, and 99 and 90 % of the right and of the wrong answers. Each cell is
that of the judge with the lowest coverage, in brackets the median width. `with bounds` is the
default for a metric with bounds; with fewer than 100 labels it uses the judge only if that makes
the interval shorter by a tenth. `without bounds` is the interval of the papers with a t quantile,
`labels alone` the default interval of the mean of the labels.
{datasets:,} evaluations per judge and row.

{random}

{worst_random}
"""


@dataclass(frozen=True)
class Setting:
    """The true mean, how often the judge is right on 1 and on 0, and the number of labels."""

    mean: float
    judge: tuple[float, float]
    labels: int


@dataclass(frozen=True)
class Cells:
    """Coverage in percent and median width, by column."""

    coverage: np.ndarray
    width: np.ndarray

    @classmethod
    def of(cls, setting: Setting, ends: Sequence[Sequence[tuple[float, float]]]) -> Cells:
        """Of the intervals of all data sets, cut to the possible range."""
        low, high = np.moveaxis(np.clip(ends, *UNIT), -1, 0)
        covers = (low <= setting.mean) & (setting.mean <= high)
        return cls(100 * covers.mean(axis=0), np.median(high - low, axis=0))

    def texts(self) -> list[str]:
        pairs = zip(self.coverage, self.width, strict=True)
        return [f"{share:.1f} ({width:.3f})" for share, width in pairs]


SETTINGS = [Setting(mean, judge, n) for mean in MEANS for judge in JUDGES for n in LABELS]
Found = dict[Setting, Cells]


def draw(setting: Setting, n: int, rng: np.random.Generator) -> np.ndarray:
    """Labels and the judge's verdicts of n queries."""
    labels = (rng.random(n) < setting.mean).astype(float)
    right = np.where(labels == 1, *setting.judge)
    return np.vstack([labels, np.where(rng.random(n) < right, labels, 1 - labels)])


def random_labels(setting: Setting, datasets: int, rng: np.random.Generator) -> Cells:
    """With bounds, without, labels alone."""
    ends, n = [], setting.labels
    for _ in range(datasets):
        labels, verdicts = draw(setting, n + OTHERS, rng)
        parts = labels[:n], verdicts[:n], verdicts[n:]
        limits = [
            ppi_mean(*parts, bounds=UNIT),
            ppi_mean(*parts),
            mean_interval(labels[:n], bounds=UNIT),
        ]
        ends.append([(found.low, found.high) for found in limits])
    return Cells.of(setting, ends)


def simulate(datasets: int, seed: int) -> Found:
    """All cells."""
    rng = np.random.default_rng(seed)
    return {setting: random_labels(setting, datasets, rng) for setting in SETTINGS}


def corrected_section(datasets: int, seed: int) -> str:
    """The section of the coverage page."""
    at_random = simulate(datasets, seed)
    return SECTION.format(
        others=OTHERS,
        datasets=datasets,
        random=_worst_judges(at_random, RANDOM),
        worst_random=f"The worst cell of the default: {_worst(at_random)}.",
    )


def _worst_judges(found: Found, header: Sequence[str]) -> str:
    """One row per mean and number of labels, each cell that of the judge with least coverage."""
    rows = []
    for mean, n in dict.fromkeys((setting.mean, setting.labels) for setting in found):
        of_judges = [found[each] for each in found if (each.mean, each.labels) == (mean, n)]
        texts = []
        for column in range(len(header)):
            cells = min(of_judges, key=lambda cells: float(cells.coverage[column]))
            texts.append(cells.texts()[column])
        rows.append([f"{mean:g}", str(n), *texts])
    return markdown(["mean", "labels", *header], rows)


def _worst(found: Found) -> str:
    setting = min(found, key=lambda each: float(found[each].coverage[0]))
    right, wrong = setting.judge
    return (
        f"{found[setting].coverage[0]:.1f} % (mean {setting.mean:g}, {setting.labels} labels, "
        f"a judge that is right on {100 * right:g} and {100 * wrong:g} %)"
    )


def _all_cells(found: Found, header: Sequence[str]) -> str:
    rows = []
    for setting, cells in found.items():
        judge = ", ".join(f"{share:g}" for share in setting.judge)
        rows.append([f"{setting.mean:g}", judge, str(setting.labels), *cells.texts()])
    return markdown(["mean", "judge right on 1, on 0", "labels", *header], rows)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(_all_cells(simulate(options.datasets, options.seed), RANDOM))


if __name__ == "__main__":
    main()
