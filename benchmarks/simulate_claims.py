"""What is claimed of a pipeline that is worse by exactly the margin, and how often intervals hold.

    OMP_NUM_THREADS=1 python benchmarks/simulate_claims.py [--datasets 300] [--seed 0]

The sections of ``results/coverage.md`` on margins and gates; ``simulate_coverage.py`` writes them.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from peer_intervals import is_installed
from peer_tests import compared_by_evalstats
from scipy import special
from timing import markdown, per_cent

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.stats import equivalence_test, paired_interval

SIZES = (10, 20, 50, 100)
DOCUMENTS = (12, 40)
UNIT = (0.0, 1.0)
Draw = Callable[[np.random.Generator, int], np.ndarray]

CLAIMS = """## Claims of non-inferiority at a true difference of minus the margin, in percent

A gate such as `no_regression(faithfulness, margin=0.02)` should let a pipeline that is worse by
exactly the margin pass in at most 5 of 100 cases. Each row has {datasets:,} evaluations. `default`
subtracts the margin from the differences and flips their signs; for scores of 0 and 1 it is
McNemar's exact test at the margin, and for differences that are all equal it is `strict`. `t` is
the paired t test of statistics packages, for which equal differences prove everything, and `strict`
is Gaffke's interval of the differences (`margin_method="strict"`). If gains are frequent and losses
are rare and large, no method that looks only at the sampled differences keeps the level with few
queries; a claim that losses too rare to be seen could turn has a note that says so.

{table}

{worst}
"""

INTERVALS = """## Coverage of 95 % intervals of a mean difference, in percent

The same differences. `default` is the inversion of the default test (the sign-flip test, for scores
of 0 and 1 McNemar's mid-p test), and `strict` is that of `margin_method="strict"`. The last column
is what it costs: the median width of `strict` divided by that of `default`. A `default` that has no
width, because all differences are equal, is not counted in it. `evalstats` is the interval of its
`compare`, which refuses fewer than 15 queries.

{table}

The worst cell of each: {worst}.
"""

GATES = """## Gates that open although the pipeline is worse by exactly the margin, in percent

`compare(...).gate("no_regression(faithfulness, margin=...)")`, with the default method of the
margin and with `strict`; {datasets:,} evaluations per row. The rows with documents have 1 to 15
questions about each, which gain or lose together, and `clusters="document"`. What neither passed
nor failed is undecided.

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
    are_documents: bool = False

    def scores(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """The scores before and after, which lie between 0 and 1."""
        differences = self.draw(rng, n)
        before = np.where(differences < 0.0, self.before_a_loss, self.before_a_gain)
        return before, before + differences


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
# Those of a gate, with queries and with whole documents that gain or lose.
GATED = {
    name: DIFFERENCES[name] for name in ("90 % ties, 10 % lose 0.5", "95 % gain 0.05, 5 % lose 1")
}
OF_DOCUMENTS: Mapping[str, Differences] = {
    f"documents, {name}": replace(kind, are_documents=True) for name, kind in GATED.items()
}
METHODS = {"default": "auto", "strict": "strict"}
FAITHFULNESS = {"faithfulness": {"kind": "proportion"}}


def claims_section(datasets: int, seed: int) -> str:
    """The parts of the page on margins: claims, intervals, gates."""
    parts = (_claims_part, _intervals_part, _gates_part)
    return "\n".join(part(datasets, seed) for part in parts)


Count = Callable[[Differences, int, np.random.Generator], Mapping[str, float]]


def _cells(
    count: Count, rows: Mapping[str, Differences], sizes: Sequence[int], datasets: int, seed: int
) -> dict[tuple[str, int], dict[str, np.ndarray]]:
    """What each data set of each cell gives, by column."""
    cells = {}
    for at, (name, kind) in enumerate(rows.items()):
        for n in sizes:
            rng = np.random.default_rng([seed, 7, at, n])
            found = [count(kind, n, rng) for _ in range(datasets)]
            cells[name, n] = {
                column: np.array([each[column] for each in found]) for column in found[0]
            }
    return cells


# -- claims


def _claims_part(datasets: int, seed: int) -> str:
    cells = _cells(_claims, DIFFERENCES, SIZES, datasets, seed)
    columns = ["default", "t", "strict"]
    rows = [
        [name, str(n), *(_per_cent(cell[column]) for column in columns)]
        for (name, n), cell in cells.items()
    ]
    return CLAIMS.format(
        datasets=datasets,
        table=markdown(["differences", "n", *columns], rows),
        worst=f"The worst cell of the default: {_worst(cells, 'default', max)}.",
    )


def _claims(kind: Differences, n: int, rng: np.random.Generator) -> Mapping[str, float]:
    """Which methods claim it."""
    before, after = kind.scores(rng, n)
    claims = {
        name: float(
            equivalence_test(
                *(before, after, -kind.mean),
                alternative="non-inferior",
                method=method,
                bounds=UNIT,
            ).equivalent
        )
        for name, method in METHODS.items()
    }
    return {**claims, "t": float(_claimed_by_t(after - before, -kind.mean))}


def _claimed_by_t(differences: np.ndarray, margin: float) -> bool:
    """Of equal differences t is infinite, so that they are said to prove it."""
    error = differences.std(ddof=1) / math.sqrt(differences.size)
    distance = float(differences.mean()) + margin
    if error < 1e-12:
        return distance > 0.0
    return bool(special.stdtr(differences.size - 1, -distance / error) <= 0.05)


# -- intervals


def _intervals_part(datasets: int, seed: int) -> str:
    cells = _cells(_covered, DIFFERENCES, SIZES, datasets, seed)
    columns = ["default", "t", "strict", *PEERS]
    rows = [
        [name, str(n), *(_per_cent(cell[column]) for column in columns), _width_ratio(cell)]
        for (name, n), cell in cells.items()
    ]
    worst = ", ".join(f"{_worst(cells, column, min)} for `{column}`" for column in columns)
    return INTERVALS.format(
        table=markdown(["differences", "n", *columns, "width, strict / default"], rows),
        worst=worst,
    )


def _limits_of_evalstats(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    found = compared_by_evalstats(before, after)
    return found.low, found.high


PEERS = {"evalstats": _limits_of_evalstats} if is_installed("evalstats") else {}


def _covered(kind: Differences, n: int, rng: np.random.Generator) -> Mapping[str, float]:
    """Which intervals contain the true mean difference, and their widths."""
    before, after = kind.scores(rng, n)
    default, by_t = (paired_interval(before, after, method=name) for name in ("auto", "t"))
    # Its interval leaves out alpha on either side.
    strict = equivalence_test(before, after, 1.0, alpha=0.025, method="strict", bounds=UNIT)
    limits = {
        "default": (default.low, default.high),
        "t": (by_t.low, by_t.high),
        "strict": (strict.low, strict.high),
        **{name: limits_of(before, after) for name, limits_of in PEERS.items()},
    }
    covered = {
        name: math.nan if math.isnan(low) else float(low - 1e-12 <= kind.mean <= high + 1e-12)
        for name, (low, high) in limits.items()
    }
    return {
        **covered,
        "default width": default.high - default.low,
        "strict width": strict.high - strict.low,
    }


def _width_ratio(cell: Mapping[str, np.ndarray]) -> str:
    has_width = cell["default width"] > 0.0
    if not has_width.any():
        return "–"
    ratio = cell["strict width"][has_width] / cell["default width"][has_width]
    return f"{np.median(ratio):.2f}"


# -- gates


def _gates_part(datasets: int, seed: int) -> str:
    cells = {
        **_cells(_gate_states, GATED, SIZES, datasets, seed),
        **_cells(_gate_states, OF_DOCUMENTS, DOCUMENTS, datasets, seed),
    }
    columns = [f"{name} {state}" for name in METHODS for state in ("passed", "failed")]
    rows = [
        [name, str(n), *(_per_cent(cell[column]) for column in columns)]
        for (name, n), cell in cells.items()
    ]
    return GATES.format(
        datasets=datasets,
        table=markdown(["differences", "queries, or documents", *columns], rows),
        worst=(
            f"The worst cell of the default: {_worst(cells, 'default passed', max)}; of `strict`: "
            f"{_worst(cells, 'strict passed', max)}."
        ),
    )


def _gate_states(kind: Differences, n: int, rng: np.random.Generator) -> Mapping[str, float]:
    """How the gate ends with each method."""
    sizes = rng.integers(1, 16, n) if kind.are_documents else np.ones(n, dtype=np.int64)
    before, after = (np.repeat(side, sizes) for side in kind.scores(rng, n))
    details = {
        "query_id": [f"q{i}" for i in range(before.size)],
        "document": np.repeat([f"d{i}" for i in range(n)], sizes),
    }
    runs = [
        RAGPipelineEvaluation(name, {**details, "faithfulness": scores}, metrics=FAITHFULNESS)
        for name, scores in (("before", before), ("after", after))
    ]
    comparison = compare(*runs, clusters="document" if kind.are_documents else None)
    rule = f"no_regression(faithfulness, margin={-kind.mean!r}"
    rules = [f"{rule}, margin_method={method})" for method in METHODS.values()]
    # One by one, because the p-values of several rules are adjusted.
    states = [comparison.gate(each).frame["state"][0] for each in rules]
    return {
        f"{name} {state}": float(found == state)
        for name, found in zip(METHODS, states, strict=True)
        for state in ("passed", "failed")
    }


def _worst(
    cells: Mapping[tuple[str, int], Mapping[str, np.ndarray]],
    column: str,
    worst: Callable[..., tuple[str, int]],
) -> str:
    known = [cell for cell in cells if not np.isnan(cells[cell][column]).all()]
    name, n = worst(known, key=lambda cell: float(cells[cell][column].mean()))
    return f"{100 * cells[name, n][column].mean():.1f} % ({name}, n = {n})"


def _per_cent(holds: np.ndarray) -> str:
    return "–" if np.isnan(holds).all() else per_cent(int(holds.sum()), holds.size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--datasets", type=int, default=300, help="data sets per cell")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(claims_section(options.datasets, options.seed))


if __name__ == "__main__":
    main()
