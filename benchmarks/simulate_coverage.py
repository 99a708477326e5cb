"""How often intervals contain the true mean, and tests reject a true null hypothesis.

    OMP_NUM_THREADS=1 python benchmarks/simulate_coverage.py -o docs/coverage.md

Writes the whole page, or prints it. It takes some minutes, and the same seed gives the same page.
The table of real scores needs the folder of public results that the environment variable
RAGEVAL_DATA names, or ``shared/data`` beside the repository; without it the table is left out.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from real_columns import real_section
from scipy import special
from simulate_claims import claims_section
from simulate_ties import ties_section
from timing import markdown

from rageval_report.stats import mean_interval, paired_test

SIZES = (10, 30, 100)
RESAMPLES = 999
UNIT = (0.0, 1.0)
Draw = Callable[[np.random.Generator, int], np.ndarray]
DrawPair = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]

PAGE = """# Coverage of the intervals, false positives of the tests

A 95 % interval should contain the true mean in 95 of 100 evaluations, for every distribution of
the scores. For each row below, {datasets:,} evaluations were drawn from a distribution with a
known mean. The table shows how often the interval contains this mean. `wilson` is the default for
binary metrics, `gaffke` for proportions and ordinal metrics, and `studentised` for other numbers
(here with {resamples} resamples; it falls back to t if too many resamples have no variance). The t
interval (which is also that of `scipy.stats.ttest_1samp` and of statsmodels' `DescrStatsW`) and the
percentile bootstrap, which most reports use, contain the mean much too rarely if there are few
queries and the metric is close to its maximum. Without bounds no interval can take account of
failures that are rarer than about 3 in n; so with long tails the coverage of all intervals is too
low. Gaffke's interval uses the bounds: it supposes the worst for what was not drawn, and contains
the mean often enough for every distribution that was tried.

A paired test at the 5 % level should reject in 5 of 100 comparisons of two pipelines with equal
means. The default, the sign-flip test (McNemar's mid-p test for scores of 0 and 1), rejects about
this often, or less often, if the differences are symmetric. If rare large losses balance frequent
small gains ("lopsided"), no test keeps the level with 30 queries. With 100 queries the tests of
the mean nearly keep it, but Wilcoxon's test, which does not test the mean, rejects more often the
more queries there are. The number after ± is the Monte Carlo standard error, in percentage
points.

On ratings, shares and reciprocal ranks many patterns of signs tie, and the default counts ties half
(mid-p). The interval of the difference and the tests at a margin follow the same law: each possible
sum is spread evenly over its step, so an interval excludes 0 exactly if the test rejects at its
level, and a 99 % interval contains the 95 % one.

All results are finite for scores up to 1e300, and no digit of a report, a comparison or a ranking
depends on the number of threads. Differences below 1e-12, relative to the largest score or to 1,
are rounding and count as ties.

```
{command}
```

## Coverage of 95 % intervals of one mean, in percent

{coverage}

{worst}

{real}## Rejections of a true null hypothesis at the 5 % level, in percent

{rejections}

{ties}
{claims}"""


METHODS = ("wilson", "gaffke", "bounded", "t", "percentile", "studentised")


@dataclass(frozen=True)
class Scores:
    """A metric: how its scores are drawn, their true mean, and its default interval."""

    draw: Draw
    mean: float
    default: str
    bounds: tuple[float, float] | None = UNIT

    @property
    def methods(self) -> tuple[str, ...]:
        first = {"wilson": 0, "gaffke": 1, "studentised": METHODS.index("t")}
        return METHODS[first[self.default] :]


TESTS = {"default": "auto", "paired t": "t", "Wilcoxon": "wilcoxon"}

RATINGS, RATED = np.arange(1.0, 6.0), np.array([0.05, 0.10, 0.15, 0.40, 0.30])
RECIPROCAL_RANKS = np.array([1 / rank for rank in range(1, 11)] + [0.0])
FOUND = np.append(0.4 * 0.6 ** np.arange(10), 0.6**10)


def share(p: float) -> Scores:
    return Scores(lambda rng, n: (rng.random(n) < p).astype(float), p, "wilson")


def of_values(values: np.ndarray, chances: np.ndarray) -> Scores:
    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        return rng.choice(values, size=n, p=chances)

    return Scores(draw, float(values @ chances), "gaffke", (values.min(), values.max()))


def one_inflated(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.where(rng.random(n) < 0.7, 1.0, rng.beta(4, 2, n))


def near_one(rng: np.random.Generator, n: int) -> np.ndarray:
    """Judge scores as of faithfulness: nearly all are high, and a few are 0."""
    return np.where(rng.random(n) < 0.025, 0.0, rng.uniform(0.9, 1.0, n))


METRICS: Mapping[str, Scores] = {
    "binary, p = 0.95": share(0.95),
    "binary, p = 0.5": share(0.5),
    "Beta(8, 2)": Scores(lambda rng, n: rng.beta(8, 2, n), 0.8, "gaffke"),
    "70 % ones, else Beta(4, 2)": Scores(one_inflated, 0.9, "gaffke"),
    "97.5 % near 1, else 0": Scores(near_one, 0.975 * 0.95, "gaffke"),
    "ratings 1 to 5": of_values(RATINGS, RATED),
    "reciprocal rank": of_values(RECIPROCAL_RANKS, FOUND),
    "lognormal, sigma 1": Scores(
        lambda rng, n: rng.lognormal(size=n), math.exp(0.5), "studentised", None
    ),
}


def mixed(p_gain: float, gain: tuple[float, float], loss: tuple[float, float]) -> DrawPair:
    """Three in ten queries differ: gains with a probability, uniform in a range, else losses."""

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        kind = rng.random(n)
        gained = np.where(kind < p_gain, rng.uniform(*gain, n), 0.0)
        lost = np.where((kind >= p_gain) & (kind < 0.3), rng.uniform(*loss, n), 0.0)
        return lost, gained

    return draw


def coupled(a: tuple[float, float], b: tuple[float, float]) -> DrawPair:
    """Two beta scores of a query, coupled by a normal copula of correlation 1/2."""

    def draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        common, own, other = rng.normal(size=(3, n))
        first, second = (special.ndtr((common + each) / math.sqrt(2)) for each in (own, other))
        return special.betaincinv(*a, first), special.betaincinv(*b, second)

    return draw


def discordant(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Each pipeline alone is right on a tenth of the queries, both on six tenths."""
    cell = rng.random(n)
    both = cell < 0.6
    return (both | (cell >= 0.9)).astype(float), (both | ((cell >= 0.6) & (cell < 0.7))).astype(
        float
    )


PAIRS: Mapping[str, DrawPair] = {
    "binary, 10 % won, 10 % lost": discordant,
    "70 % ties, symmetric": mixed(0.15, (0.0, 0.6), (0.0, 0.6)),
    "70 % ties, lopsided": mixed(0.24, (0.0, 0.3), (0.2, 1.0)),
    "Beta(8, 2) twice": coupled((8, 2), (8, 2)),
    "Beta(16, 4), Beta(1.6, 0.4)": coupled((16, 4), (1.6, 0.4)),
}


def coverage(metric: Scores, n: int, datasets: int, rng: np.random.Generator) -> list[str]:
    """One cell per method: the share of intervals with the true mean, and the width against t."""
    hits, width = dict.fromkeys(metric.methods, 0), dict.fromkeys(metric.methods, 0.0)
    for dataset in range(datasets):
        scores = metric.draw(rng, n)
        for method in hits:
            interval = mean_interval(
                scores, method=method, bounds=metric.bounds, n_resamples=RESAMPLES, seed=dataset
            )
            hits[method] += interval.low <= metric.mean <= interval.high
            width[method] += interval.high - interval.low
    cells = [per_cent(hits[each], datasets) if each in hits else "" for each in METHODS]
    return [*cells, f"{width[metric.default] / width['t']:.2f}"]


def rejections(draw: DrawPair, n: int, datasets: int, rng: np.random.Generator) -> list[str]:
    """One cell per test: the share of p-values <= 0.05."""
    rejected = dict.fromkeys(TESTS.values(), 0)
    for _ in range(datasets):
        baseline, candidate = draw(rng, n)
        for test in rejected:
            rejected[test] += paired_test(baseline, candidate, test=test).pvalue <= 0.05
    return [per_cent(count, datasets) for count in rejected.values()]


def per_cent(count: int, of: int) -> str:
    """A share and its standard error, from one imagined hit and miss so that it is never zero."""
    smoothed = (count + 1) / (of + 2)
    error = math.sqrt(smoothed * (1 - smoothed) / of)
    return f"{100 * count / of:.1f} ± {100 * error:.1f}"


def table(
    kinds: Mapping[str, object],
    cells: Callable[..., list[str]],
    header: Sequence[str],
    options: argparse.Namespace,
) -> str:
    """One row per kind of data and number of queries, each with its own random stream."""
    rows = []
    for number, (name, kind) in enumerate(kinds.items()):
        for n in SIZES:
            rng = np.random.default_rng([options.seed, number, n])
            rows.append([name, str(n), *cells(kind, n, options.datasets, rng)])
    return markdown(["data", "n", *header], rows)


def worst_cells(rows: str) -> str:
    """A sentence on the lowest coverage of each default in a table."""
    split = ([cell.strip() for cell in line.split("|")[1:-1]] for line in rows.splitlines())
    header, _, *lines = split
    lowest: dict[str, tuple[float, str]] = {}
    for line in lines:
        method = METRICS[line[0]].default
        share = float(line[header.index(method)].partition(" ")[0])
        lowest[method] = min(lowest.get(method, (100.0, "")), (share, f"{line[0]}, n = {line[1]}"))
    cells = [f"{share:.1f} % for `{name}` ({where})" for name, (share, where) in lowest.items()]
    return f"The worst cell of each default: {', '.join(cells[:-1])} and {cells[-1]}."


def page(options: argparse.Namespace) -> str:
    widths = [*METHODS, "width, default / t"]
    coverages = table(METRICS, coverage, widths, options)
    return PAGE.format(
        datasets=options.datasets,
        resamples=RESAMPLES,
        command=(
            "OMP_NUM_THREADS=1 python benchmarks/simulate_coverage.py "
            f"--datasets {options.datasets} --seed {options.seed} -o docs/coverage.md"
        ),
        coverage=coverages,
        worst=worst_cells(coverages),
        real=real_section(options.datasets * 3 // 10, options.seed),
        rejections=table(PAIRS, rejections, list(TESTS), options),
        ties=ties_section(options.datasets * 2, options.seed),
        claims=claims_section(options.datasets * 3 // 10, options.seed),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--datasets", type=int, default=1_000, help="data sets per cell of the tables"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "-o", "--output", type=Path, help="the file to write; if omitted, the page is printed"
    )
    options = parser.parse_args()
    text = page(options)
    if options.output is None:
        print(text)
    else:
        options.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
