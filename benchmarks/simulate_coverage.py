"""How often intervals contain the true mean, and tests reject a true null hypothesis.

    OMP_NUM_THREADS=1 python benchmarks/simulate_coverage.py -o benchmarks/results/coverage.md

Writes the whole page, or prints it. It takes about half an hour, and the same seed gives the same
page. The peers are those of the dependency group ``peers``; one that is not installed is left out,
and the page says so. The table of real scores needs the folder of public results that the
environment variable RAGEVAL_DATA names, or ``shared/data`` beside the repository; without it the
table is left out.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import peer_intervals
import peer_tests
from peer_intervals import RESAMPLES, Limits
from populations import METHODS, METRICS, PAIRS, SIZES, DrawPair, Scores
from real_columns import real_section
from scipy import stats
from simulate_claims import claims_section
from simulate_corrected_means import corrected_section
from simulate_ties import ties_section
from timing import markdown, per_cent

from rageval_report.stats import mean_interval, paired_test

PACKAGES = ("scipy", "statsmodels", "arch", "ranx", "autorank", "evalstats")
TESTS = {"default": "auto", "paired t": "t", "Wilcoxon": "wilcoxon"}
LEVEL = 0.05

PAGE = """# Coverage of the intervals, false positives of the tests

A 95 % interval should contain the true mean in 95 of 100 evaluations, for every distribution of
the scores. For each row below, {datasets:,} evaluations were drawn from a distribution with a
known mean. The table shows how often the interval contains this mean. `clopper-pearson` is the
default for binary metrics (`wilson` is an option), `gaffke` for proportions and ordinal metrics,
and `studentised` for other numbers (here with {resamples} resamples; it falls back to t if too many
resamples have no variance). The t
interval (which is also that of `scipy.stats.ttest_1samp` and of statsmodels' `DescrStatsW`) and the
percentile bootstrap, which most reports use, contain the mean much too rarely if there are few
queries and the metric is close to its maximum. Without bounds no interval can take account of
failures that are rarer than about 3 in n; so with long tails the coverage of all intervals is too
low. Gaffke's interval uses the bounds: it supposes the worst for what was not drawn, and contains
the mean often enough for every distribution that was tried.

A paired test at the 5 % level should reject in 5 of 100 comparisons of two pipelines with equal
means. The default, the sign-flip test (McNemar's mid-p test for scores of 0 and 1), rejects about
this often, or less often, if the differences are symmetric. If rare large losses balance frequent
small gains ("lopsided"), no test of the mean keeps the level with 30 queries. With 100 queries they
nearly keep it, but Wilcoxon's test, which does not test the mean, rejects more often the more
queries there are. The number after ± is the Monte Carlo standard error, in percentage
points.

On ratings, shares and reciprocal ranks many patterns of signs tie, and the default counts ties half
(mid-p). The interval of the difference and the tests at a margin follow the same law (for scores of
0 and 1 a test at a margin counts ties in full): each possible sum is spread evenly over its step,
so an interval excludes 0 exactly if the test rejects at its level, and a 99 % interval contains the
95 % one.

All results are finite for scores up to 1e300, and no digit of a report, a comparison or a ranking
depends on the number of threads. Differences below 1e-12, relative to the largest score or to 1,
are rounding and count as ties.

```
{command}
```

{versions} `pip install --group peers` installs them.

## Coverage of 95 % intervals of one mean, in percent

{ours}

The same data sets, with the intervals of other packages. `default` is ours, as above. The
bootstraps have {resamples} resamples; {block} data sets at a time are resampled with the same
indices. `statsmodels, share` is the default of its `proportion_confint`, and `evalstats` is what
its `mean_ci` chooses if it knows the bounds. If a limit is not a finite number, or there is an
error instead, the interval contains nothing; that is so for `BCa` if all scores are equal, and for
`studentized` (with the standard error of the mean as its `std_err_func`) if they are equal in one
of the resamples. On scores without rare failures, such as Beta(8, 2), the intervals of t and of
`evalstats` contain the mean often enough and are narrower than `gaffke`; a sample does not show
which case it is.

{peers}

{real}## Rejections of a true null hypothesis at the 5 % level, in percent

The peers test the first {of_peers:,} comparisons of each row. `ranx, Fisher` and `ranx, Tukey` are
two of the tests of its `compare` (the third, Student's, is `paired t`), with its 1,000
permutations. `autorank` chooses between the t test and Wilcoxon's; the latter is one-sided, in the
direction of the larger median. `evalstats` has a p-value, and says that a pipeline is better if its
interval excludes 0; it refuses fewer than 15 queries.

{rejections}

{ties}
{claims}
{corrected}
## Measured elsewhere

- [Slices](slices.md): sentences on reversals where no slice differs,
  false findings among many slices (`benchmarks/simulate_slices.py`).
- [Looking early](stopping.md): false alarms, widths and savings of evaluations that stop when
  they know (`benchmarks/simulate_stopping.py`).
- [Planning](../../docs/planning.md): the power at the number of queries that is said to be needed
  (`benchmarks/simulate_needed.py`).
- [Noise](../../docs/noise.md): the standard errors that count runs and judges
  (`benchmarks/simulate_noise.py`).
"""


@dataclass(frozen=True)
class Cell:
    """Of one metric and one n: by method, in how many data sets the mean is covered, and width."""

    covered: Mapping[str, int]
    width: Mapping[str, float]

    def coverage(self, methods: Sequence[str], datasets: int) -> list[str]:
        """In percent; empty where a method is not for such scores."""
        return [
            per_cent(self.covered[name], datasets) if name in self.covered else ""
            for name in methods
        ]


Cells = Mapping[tuple[str, int], Cell]


def mean_cells(datasets: int, seed: int) -> Cells:
    """All intervals of all metrics, from the same data sets."""
    cells = {}
    for number, (name, metric) in enumerate(METRICS.items()):
        for n in SIZES:
            rng = np.random.default_rng([seed, number, n])
            draws = np.array([metric.draw(rng, n) for _ in range(datasets)])
            cells[name, n] = _cell(metric, dict(_limits(metric, draws)))
    return cells


def _limits(metric: Scores, draws: np.ndarray) -> Iterator[tuple[str, Limits]]:
    for method in metric.methods:
        found = [
            mean_interval(
                scores, method=method, bounds=metric.bounds, n_resamples=RESAMPLES, seed=dataset
            )
            for dataset, scores in enumerate(draws)
        ]
        low, high = np.array([(interval.low, interval.high) for interval in found]).T
        yield method, (low, high)
    for name, peer in peer_intervals.installed(peer_intervals.PEERS).items():
        if not peer.only_binary or metric.default == "clopper-pearson":
            yield name, peer.limits(draws, metric.bounds)


def _cell(metric: Scores, limits: Mapping[str, Limits]) -> Cell:
    covered, width = {}, {}
    for name, (low, high) in limits.items():
        is_finite = np.isfinite(low) & np.isfinite(high)
        covered[name] = int(((low <= metric.mean) & (metric.mean <= high) & is_finite).sum())
        width[name] = float((high - low)[is_finite].mean()) if is_finite.any() else np.nan
    return Cell(covered, width)


def our_intervals(cells: Cells, datasets: int) -> str:
    """The table of our methods, and the worst cell of each default."""
    rows = []
    for (name, n), cell in cells.items():
        ratio = cell.width[METRICS[name].default] / cell.width["t"]
        rows.append([name, str(n), *cell.coverage(METHODS, datasets), f"{ratio:.2f}"])
    lowest: dict[str, tuple[float, str]] = {}
    for (name, n), cell in cells.items():
        method = METRICS[name].default
        found = (cell.covered[method] / datasets, f"{name}, n = {n}")
        lowest[method] = min(lowest.get(method, found), found)
    table = markdown(["data", "n", *METHODS, "width, default / t"], rows)
    return f"{table}\n\nThe worst cell of each default: {_sentence(lowest)}."


def peer_intervals_of_a_mean(cells: Cells, datasets: int) -> str:
    """The table of the peers beside the default, and the worst cell of each."""
    peers = list(peer_intervals.installed(peer_intervals.PEERS))
    has_evalstats = "evalstats" in peers
    rows = []
    lowest: dict[str, tuple[float, str]] = {}
    for (name, n), cell in cells.items():
        default = METRICS[name].default
        row = [name, str(n), *cell.coverage([default, *peers], datasets)]
        if has_evalstats:
            row.append(f"{cell.width[default] / cell.width['evalstats']:.2f}")
        rows.append(row)
        for peer in (each for each in peers if each in cell.covered):
            found = (cell.covered[peer] / datasets, f"{name}, n = {n}")
            lowest[peer] = min(lowest.get(peer, found), found)
    ratio = ["width, default / evalstats"] if has_evalstats else []
    table = markdown(["data", "n", "default", *peers, *ratio], rows)
    return f"{table}\n\nThe worst cell of each peer: {_sentence(lowest)}."


def _sentence(worst: Mapping[str, tuple[float, str]]) -> str:
    cells = [
        f"{100 * share:.1f} % for `{name}` ({where})" for name, (share, where) in worst.items()
    ]
    return f"{', '.join(cells[:-1])} and {cells[-1]}"


def rejections(draw: DrawPair, n: int, datasets: int, rng: np.random.Generator) -> dict[str, str]:
    """By test, the share of p-values <= 0.05; the peers see the first data sets only."""
    installed = peer_tests.installed()
    names = [*TESTS, *(column for peer in installed for column in peer.columns)]
    found: dict[str, list[bool]] = {name: [] for name in names}
    for number in range(datasets):
        baseline, candidate = draw(rng, n)
        for name in TESTS:
            found[name].append(_pvalue(name, baseline, candidate) <= LEVEL)
        for peer in installed:
            if n >= peer.fewest and number < of_peers(datasets):
                answers = peer.rejects(baseline, candidate)
                for name, rejects in zip(peer.columns, answers, strict=True):
                    found[name].append(rejects)
    return {name: per_cent(sum(each), len(each)) if each else "–" for name, each in found.items()}


def of_peers(datasets: int) -> int:
    """How many of the comparisons the peers' tests see: some of them take a fifth of a second."""
    return datasets * 3 // 10


def _pvalue(test: str, baseline: np.ndarray, candidate: np.ndarray) -> float:
    if test != "Wilcoxon":
        return paired_test(baseline, candidate, test=TESTS[test]).pvalue
    differences = candidate - baseline
    ranks = np.sign(differences) * stats.rankdata(np.abs(differences))
    return _wilcoxon_pvalue(tuple(np.sort(ranks).tolist()))


@functools.lru_cache(maxsize=4096)
def _wilcoxon_pvalue(signed_ranks: tuple[float, ...]) -> float:
    """By ranks, because evaluations of ten queries that often tie share few of them."""
    return paired_test(np.zeros(len(signed_ranks)), signed_ranks, test=TESTS["Wilcoxon"]).pvalue


def all_rejections(datasets: int, seed: int) -> str:
    """The table of rejections of a true null hypothesis, and the worst cell of each test."""
    rows, highest = [], {}
    for number, (name, draw) in enumerate(PAIRS.items()):
        for n in SIZES:
            found = rejections(draw, n, datasets, np.random.default_rng([seed, number, n]))
            rows.append([name, str(n), *found.values()])
            for test, text in found.items():
                if text != "–":
                    share = float(text.partition(" ")[0]) / 100
                    worst = (share, f"{name}, n = {n}")
                    highest[test] = max(highest.get(test, worst), worst)
    table = markdown(["data", "n", *found], rows)
    return f"{table}\n\nThe worst cell of each: {_sentence(highest)}."


def page(options: argparse.Namespace) -> str:
    cells = mean_cells(options.datasets, options.seed)
    return PAGE.format(
        datasets=options.datasets,
        of_peers=of_peers(options.datasets),
        resamples=RESAMPLES,
        block=peer_intervals.BLOCK,
        command=(
            "OMP_NUM_THREADS=1 python benchmarks/simulate_coverage.py "
            f"--datasets {options.datasets} --seed {options.seed} -o benchmarks/results/coverage.md"
        ),
        versions=peer_intervals.versions(PACKAGES),
        ours=our_intervals(cells, options.datasets),
        peers=peer_intervals_of_a_mean(cells, options.datasets),
        real=real_section(options.datasets * 3 // 10, options.seed),
        rejections=all_rejections(options.datasets, options.seed),
        ties=ties_section(options.datasets * 2, options.seed),
        claims=claims_section(options.datasets * 3 // 10, options.seed),
        corrected=corrected_section(options.datasets, options.seed),
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
