"""Coverage of intervals of a mean where real score columns are the populations.

Each column of the public results (judge scores, retrieval metrics, ratings by people) is drawn from
with replacement; its own mean is the truth.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from peer_intervals import (
    PEERS,
    RESAMPLES,
    Bounds,
    Draws,
    Limits,
    LimitsOf,
    Peer,
    bootstrap_of_scipy,
    installed,
)
from timing import markdown

from rageval_report import read_scores
from rageval_report.stats import mean_interval

SIZES = (10, 20, 50, 100)
FEWEST = 90
TOO_LOW = 93.0
FILES = (
    "haystack_aragog/detailed_*.csv",
    "haystack_aragog/comparative_scores_*.csv",
    "mtrag_human_eval/reference_subset_*.json",
    "promptfoo_retrieval/retrieval_results.json",
)

SECTION = """## Coverage on real scores, in percent

{n_columns} columns of at least {fewest} scores are the populations: judge scores, retrieval
metrics and ratings by people, whose kind is proportion or ordinal. From each, {datasets:,}
evaluations of n queries were drawn with replacement. The table shows the worst column, and in
brackets how many of the columns are below {too_low:g} %. `gaffke` is the default, `t` is an
option, and the other columns are those of the peers above, the bootstraps with {resamples}
resamples.

{table}

{worst}

"""


@dataclass(frozen=True)
class Population:
    """A column of scores and its bounds."""

    name: str
    scores: np.ndarray
    bounds: tuple[float, float]


def data_folder() -> Path:
    named = os.environ.get("RAGEVAL_DATA")
    return Path(named) if named else Path(__file__).parents[2] / "shared" / "data"


def populations() -> Iterator[Population]:
    """The columns of proportions and ordinal scores that are long enough, each once."""
    for pattern in FILES:
        for path in sorted(data_folder().glob(pattern)):
            for pipeline, evaluation in read_scores(path).items():
                for metric in evaluation.metrics.values():
                    scores = evaluation.scores[metric.name].dropna().to_numpy()
                    is_asked = metric.kind in ("proportion", "ordinal") and metric.in_family
                    if is_asked and scores.size >= FEWEST and np.ptp(scores) > 0:
                        yield Population(f"{metric.name} of {pipeline}", scores, metric.bounds)


def ours(method: str) -> LimitsOf:
    def limits(draws: Draws, bounds: Bounds) -> Limits:
        intervals = [mean_interval(draw, method=method, bounds=bounds) for draw in draws]
        low, high = np.array([(interval.low, interval.high) for interval in intervals]).T
        return low, high

    return limits


METHODS: Mapping[str, LimitsOf] = {
    "gaffke": ours("gaffke"),
    "t": ours("t"),
    **{
        name: peer.limits
        for name, peer in installed(
            {
                "scipy, percentile": Peer("scipy", bootstrap_of_scipy("percentile")),
                "scipy, BCa": PEERS["scipy, BCa"],
                "arch, studentized": PEERS["arch, studentized"],
                "evalstats": PEERS["evalstats"],
            }
        ).items()
    },
}


def real_section(datasets: int, seed: int) -> str:
    """The part of the page on real scores; nothing, with a message, if there are no files."""
    columns = list(populations())
    if not columns:
        print(f"no public results in {data_folder()}: their table is left out", file=sys.stderr)
        return ""
    cells = {
        n: [_cell(each, n, datasets, (seed, n, at)) for at, each in enumerate(columns)]
        for n in SIZES
    }
    return SECTION.format(
        n_columns=len(columns),
        fewest=FEWEST,
        datasets=datasets,
        too_low=TOO_LOW,
        resamples=RESAMPLES,
        table=_table(cells),
        worst=_worst(cells, columns),
    )


@dataclass(frozen=True)
class Cell:
    """Of one column and one n: the coverage and the mean width by method."""

    coverage: Mapping[str, float]
    width: Mapping[str, float]


def _cell(population: Population, n: int, datasets: int, seed: Sequence[int]) -> Cell:
    rng = np.random.default_rng(seed)
    draws = rng.choice(population.scores, size=(datasets, n))
    truth = population.scores.mean()
    coverage, width = {}, {}
    for name, limits_of in METHODS.items():
        low, high = limits_of(draws, population.bounds)
        # The mean of equal scores is right only up to rounding.
        covers = (low <= truth + 1e-12) & (truth - 1e-12 <= high)
        coverage[name], width[name] = 100 * covers.mean(), (high - low).mean()
    return Cell(coverage, width)


def _table(cells: Mapping[int, Sequence[Cell]]) -> str:
    rows = []
    for n, row in cells.items():
        found = [str(n)]
        for name in METHODS:
            shares = np.array([cell.coverage[name] for cell in row])
            found.append(f"{shares.min():.1f} ({(shares < TOO_LOW).sum()})")
        ratios = [cell.width["gaffke"] / cell.width["t"] for cell in row]
        rows.append([*found, f"{np.median(ratios):.2f}"])
    return markdown(["n", *METHODS, "median width, gaffke / t"], rows)


def _worst(cells: Mapping[int, Sequence[Cell]], columns: Sequence[Population]) -> str:
    share, n, name = min(
        (cell.coverage["gaffke"], n, column.name)
        for n, row in cells.items()
        for cell, column in zip(row, columns, strict=True)
    )
    return f"The worst cell of the default: {share:.1f} % ({name}, n = {n})."
