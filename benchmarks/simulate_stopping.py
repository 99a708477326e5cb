"""How often early looks mislead, how many queries they save, and how wide their intervals are.

    OMP_NUM_THREADS=1 python benchmarks/simulate_stopping.py -o benchmarks/results/stopping.md

Writes the whole page, or prints it. The same seed gives the same page. With the default of 10,000
streams it takes about half an hour.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from best_bets import Law, least_queries, least_width
from scipy import special
from scipy.optimize import brentq
from simulate_coverage import per_cent
from timing import markdown

from rageval_report.stats import mean_interval
from rageval_report.stats.sequential import (
    SizeBets,
    asymptotic_sequence,
    log_capital,
    look_levels,
)
from rageval_report.stats.sign_flips import sign_flip_pvalue

LONGEST = 2_000
PLANS = (100, 400)
EFFECTS = (1.0, 1.5, 2.0)
LOOKS = 5
# The sum of the quantiles of 97.5 % and of 80 %: a difference of this many standard errors is found
# with a probability of 80 %.
DETECTED = 2.8016
# Streams that are worked on at once.
BATCH = 200
# What the interval of bets tuned to n queries should be at most, of one for a single look.
WIDEST = 1.4

PAGE = """# Looking early: false alarms, queries saved, widths

Simulated streams of paired differences. `hedged` is `SizeBets()`, where nothing was planned;
`planned` is `SizeBets.up_to(n)`, which `evaluate(stop_when=...)` uses with the number of queries in
the file; `tuned` is `SizeBets((n,))`.
`looks` is the sign-flip test at {looks} looks with alpha spending, `peeking` a paired t test after
every tenth query that stops at p <= 0.05. The number after ± is the Monte Carlo standard error, in
percentage points.

```
{command}
```

## False alarms, in percent

In these streams the pipelines do not differ. The table shows in how many of {streams:,}
streams a rule found a difference all the same, at any look up to {longest:,} queries, at the 5 %
level. The bets are looked at after every query; the looks are planned for 100 or 400 queries, and
{tests:,} streams were used for them and for peeking. Bets keep the level by their theory, also
where rare whole losses balance many small gains: they give 5 % at most, and a larger number here is
chance. Alpha spending at 20, 40, ... 100 queries does not keep it there: the test of a mean needs
more queries than that, with early looks or without.

{alarms}

## Queries asked until a decision, as a share of the fixed design

The fixed design asks as many queries as it needs to find the planned effect with a probability of
80 %. The share of these queries that was asked, in the median over {shared:,} streams ({tests:,}
for the looks), and in brackets the percentage of streams that were decided by the time the fixed
design ends. `one-sided` is `planned` for a claim of one direction alone, which may use the whole
5 %, as `no_regression` does; all others test both directions.

{shares}

At the planned effect itself little is saved: a valid look at every query costs about as much as it
gives. The larger the effect is than the planned one, the sooner the evaluation stops.

No bets can be better than `best possible`, in one direction with half of the 5 %: these are the
stakes of a bettor who knows the distribution of the differences and aims at just this number of
queries, found by dynamic programming (`benchmarks/best_bets.py`). With 100 queries the planned bets
come close to it where the differences are small beside their bounds (normal, ratings). What costs
queries there is not the rule for the stakes but the losses that the bounds allow: after n queries
without a whole loss, 3 / n of the queries may still have one, which would undo a gain of as much.
With half of 100 queries no bets find 1.5 times the planned effect there in half of the streams, if
they look in both directions; in one direction they do. With 400 queries other stakes are further
from `best possible`, because it is the best for a single number of queries and a single effect.

## Widths of the intervals

The median width of a 95 % confidence sequence after n queries, divided by the width of the interval
for one look, 2 * 1.96 standard errors, in {width_streams:,} streams. `Gaffke, one look` is the
interval that `mean_interval` gives after n queries: it holds with rare losses too, but for a single
look. `best possible` is the width that a bettor who knows the distribution reaches in the median,
computed where `tuned` is wider than {widest:g}.

{widths}

The stakes are recalculated after each score from what is still to be won. Tuned to 400 queries, the
interval is 1.1 to 1.3 times as wide as one for a single look, but for the rarest losses. Where
`best possible` is above {widest:g}, no bets can be narrower than that: this number of queries is
too small for the normal approximation, which ignores the rare losses that the bounds allow, and
Gaffke's interval for one look is about as wide.

Two rows miss {widest:g} although better bets exist: whole losses on 5 % of 100 queries, with 1.49
where 1.26 is possible, and on 1 % of 400 queries, with 1.68 where 1.32 is possible. `best possible`
has other stakes for each mean that is doubted, and knows the distribution. Other stakes were tried
on 400 fresh streams, where `tuned` has 1.49 and 1.65. Stakes for the fastest growth have 1.39 and
1.54 even if they know the distribution, and 1.41 and 1.60 if they learn it from the scores. Two
rows of stakes, 0.8 and 1.2 times those of `tuned`, have 1.47 and 1.60, three rows 1.52 and 1.65,
and mixtures of constant stakes at least 1.58 and 1.76. None of them has 1.4 or less in both rows.

## Stopping at a width

`ci_width(metric) <= w` looks at Gaffke's 95 % interval after every twentieth query. How often the
interval contained the mean when it was narrow enough, in {tests:,} streams, in percent, and the
median number of queries asked.

{stopped_widths}

## Scores without bounds

The share of {tests:,} streams of lognormal scores (sigma 1) in which the asymptotic sequence always
contained the mean, up to {longest:,} scores, in percent. It should be 95; with a long tail it needs
a late first look.

{asymptotic}
"""

Draw = Callable[[np.random.Generator, tuple[int, ...], float], np.ndarray]


@dataclass(frozen=True)
class Differences:
    """A law of paired differences: how they are drawn with a shift, and their largest size."""

    draw: Draw
    width: float = 1.0

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.width, self.width


def binary(rng: np.random.Generator, shape: tuple[int, ...], shift: float) -> np.ndarray:
    """A tenth is won and a tenth is lost; the shift moves queries from lost to won."""
    cell = rng.random(shape)
    return np.where(cell < 0.1 + shift / 2, 1.0, np.where(cell < 0.2, -1.0, 0.0))


def with_ties(gain: float, largest_gain: float, loss: float, largest_loss: float) -> Draw:
    """Shares of gains and of losses, uniform up to a largest one; the shift moves both."""

    def draw(rng: np.random.Generator, shape: tuple[int, ...], shift: float) -> np.ndarray:
        cell, size = rng.random(shape), rng.random(shape)
        moved = shift / (gain + loss)
        won = np.where(cell < gain, largest_gain * size + moved, 0.0)
        lost = np.where((cell >= gain) & (cell < gain + loss), moved - largest_loss * size, 0.0)
        return np.clip(won + lost, -1.0, 1.0)

    return draw


def normal(rng: np.random.Generator, shape: tuple[int, ...], shift: float) -> np.ndarray:
    return np.clip(rng.normal(0.0, 0.2, shape) + shift, -1.0, 1.0)


def lopsided(rng: np.random.Generator, shape: tuple[int, ...], shift: float) -> np.ndarray:
    """One minus a beta score on one side, a constant on the other: a long tail of losses."""
    return np.clip(rng.beta(8, 2, shape) - 0.8 + shift, -1.0, 1.0)


def rare_losses(rng: np.random.Generator, shape: tuple[int, ...], shift: float) -> np.ndarray:
    """A gain of 0.05 on 19 of 20 queries, balanced by a loss of 0.95 on the twentieth."""
    return np.where(rng.random(shape) < 0.05, -0.95, 0.05) + shift


def rarer_losses(rng: np.random.Generator, shape: tuple[int, ...], shift: float) -> np.ndarray:
    """A gain of 0.01 on 99 of 100 queries, balanced by a loss of 0.99 on the hundredth."""
    return np.where(rng.random(shape) < 0.01, -0.99, 0.01) + shift


def ratings(rng: np.random.Generator, shape: tuple[int, ...], shift: float) -> np.ndarray:
    """Ratings of 1 to 5 that differ by one step on 40 % of the queries; the shift raises some."""
    steps = rng.integers(-1, 2, shape) * (rng.random(shape) < 0.6)
    return np.clip(steps + (rng.random(shape) < shift), -4.0, 4.0)


def lopsided_ratings(rng: np.random.Generator, shape: tuple[int, ...], shift: float) -> np.ndarray:
    """Three tenths gain one step, a tenth loses three."""
    cell = rng.random(shape)
    steps = np.where(cell < 0.3, 1.0, np.where(cell < 0.4, -3.0, 0.0))
    return np.clip(steps + (rng.random(shape) < shift), -4.0, 4.0)


def reciprocal_ranks(rng: np.random.Generator, shape: tuple[int, ...], shift: float) -> np.ndarray:
    """Two reciprocal ranks; the shift lifts some of the second to the first place."""
    first, second = (np.where(r > 10, 0.0, 1 / r) for r in rng.geometric(0.4, (2, *shape)))
    return np.where(rng.random(shape) < shift, 1.0, second) - first


NULLS: Mapping[str, Differences] = {
    "binary, 10 % won, 10 % lost": Differences(binary),
    "70 % ties, symmetric": Differences(with_ties(0.15, 0.8, 0.15, 0.8)),
    "70 % ties, lopsided": Differences(with_ties(0.24, 0.25, 0.06, 1.0)),
    "normal, sd 0.2": Differences(normal),
    "Beta(8, 2) - 0.8": Differences(lopsided),
    "0.05 gained, 5 % whole losses": Differences(rare_losses),
    "0.01 gained, 1 % whole losses": Differences(rarer_losses),
    "ratings 1 to 5": Differences(ratings, 4.0),
    "ratings, rare large losses": Differences(lopsided_ratings, 4.0),
    "reciprocal ranks": Differences(reciprocal_ranks),
}
EFFECTIVE = (
    *("binary, 10 % won, 10 % lost", "70 % ties, symmetric", "normal, sd 0.2", "ratings 1 to 5"),
)


def first_looks(
    streams: np.ndarray, bounds: tuple[float, float], bets: SizeBets, *, one_sided: bool = False
) -> np.ndarray:
    """The number of queries after which each stream is decided, at the 5 % level; else infinity.

    The e-values are those of `mean_evalues`, of many streams at once.
    """
    low, high = bounds
    scores = (streams - low) / (high - low)
    evidence = log_capital(scores, 0.5, bets, 0.05)
    if not one_sided:
        below = log_capital(1.0 - scores, 0.5, bets, 0.05)
        evidence = np.maximum(evidence, below) - math.log(2.0)
    is_enough = evidence >= math.log(20.0)
    return np.where(is_enough.any(axis=1), is_enough.argmax(axis=1) + 1.0, math.inf)


LEVELS = look_levels(np.arange(1, LOOKS + 1) / LOOKS)


def look_of(values: np.ndarray, n: int) -> float:
    for look, level in enumerate(LEVELS, 1):
        if sign_flip_pvalue(values[: n * look // LOOKS]) <= level:
            return float(n * look // LOOKS)
    return math.inf


def peeking_rejects(differences: np.ndarray) -> bool:
    """A paired t test after every tenth query, from the twentieth on."""
    count = np.arange(1, differences.size + 1)
    means = np.cumsum(differences) / count
    deviations = np.sqrt(
        np.maximum(np.cumsum(differences**2) - count * means**2, 0.0) / np.maximum(count - 1, 1)
    )
    looks = np.arange(20, differences.size + 1, 10) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = np.abs(means[looks]) / (deviations[looks] / np.sqrt(count[looks]))
    critical = special.stdtrit(count[looks] - 1.0, 0.975)
    # Differences that are all equal have no spread; such looks are left out.
    return bool((statistic > critical)[deviations[looks] > 1e-9].any())


BETS: Mapping[str, SizeBets] = {
    "hedged": SizeBets(),
    "planned, 100": SizeBets.up_to(100),
    "planned, 400": SizeBets.up_to(400),
    "tuned, 100": SizeBets((100.0,)),
}
OTHERS: Mapping[str, Callable[[np.ndarray], bool]] = {
    "looks, 100": lambda values: look_of(values, 100) < math.inf,
    "looks, 400": lambda values: look_of(values, 400) < math.inf,
    "peeking": peeking_rejects,
}


def alarms(options: argparse.Namespace) -> str:
    rows = []
    for number, (name, kind) in enumerate(NULLS.items()):
        counts = dict.fromkeys([*BETS, *OTHERS], 0)
        rng = np.random.default_rng([options.seed, 1, number])
        for start in range(0, options.streams, BATCH):
            size = min(BATCH, options.streams - start)
            streams = np.stack([kind.draw(rng, (LONGEST,), 0.0) for _ in range(size)])
            for method, bets in BETS.items():
                decided = first_looks(streams, kind.bounds, bets) < math.inf
                counts[method] += int(decided.sum())
            for method, rejects in OTHERS.items():
                tested = streams[: max(0, options.tests - start)]
                counts[method] += sum(rejects(differences) for differences in tested)
        rows.append([name, *(per_cent(counts[each], options.streams) for each in BETS)])
        rows[-1] += [per_cent(counts[each], options.tests) for each in OTHERS]
    return markdown(["data", *BETS, *OTHERS], rows)


def shift_to(kind: Differences, mean: float) -> float:
    """The shift that gives the differences this mean."""

    def miss(shift: float) -> float:
        return float(kind.draw(np.random.default_rng(1), (200_000,), shift).mean()) - mean

    return brentq(miss, 0.0, 0.9, xtol=1e-5)


def planned_effect(kind: Differences, n: int) -> float:
    """The mean difference that n queries find with a probability of 80 %."""

    def miss(mean: float) -> float:
        values = kind.draw(np.random.default_rng(2), (200_000,), shift_to(kind, mean))
        return float(values.mean() / values.std()) * math.sqrt(n) - DETECTED

    return brentq(miss, 0.001, 0.3 if kind.width == 1.0 else 0.6, xtol=1e-4)


def shares(options: argparse.Namespace) -> str:
    rows = []
    headings = [*BETS_OF_PLANS, "one-sided", "O'Brien-Fleming", "best possible"]
    for number, name in enumerate(EFFECTIVE):
        kind = NULLS[name]
        for n in PLANS:
            effect = planned_effect(kind, n)
            for multiple in EFFECTS:
                shift = shift_to(kind, multiple * effect)
                rng = np.random.default_rng([options.seed, 2, number, n, int(10 * multiple)])
                streams = np.stack([kind.draw(rng, (4 * n,), shift) for _ in range(options.shares)])
                ends = [
                    *first_looks_of_plans(streams, kind, n),
                    *looks_of_tests(streams[: options.tests], n),
                ]
                cells = [median_share(each, n) for each in ends]
                cells.append(f"{best_share(kind, shift, n):.2f}")
                rows.append([name, str(n), f"{multiple:g}", *cells])
    return markdown(["data", "fixed n", "effect / plan", *headings], rows)


BETS_OF_PLANS = ("planned", "hedged")


def first_looks_of_plans(streams: np.ndarray, kind: Differences, n: int) -> list[np.ndarray]:
    """For each of `BETS_OF_PLANS`, and for a claim of one direction with the planned bets."""
    planned = SizeBets.up_to(n)
    bets = (planned, SizeBets())
    decided = [first_looks(streams, kind.bounds, each) for each in bets]
    return [*decided, first_looks(streams, kind.bounds, planned, one_sided=True)]


def looks_of_tests(streams: np.ndarray, n: int) -> list[np.ndarray]:
    return [np.array([look_of(values, n) for values in streams])]


def law_of(kind: Differences, shift: float) -> Law:
    return Law.of(kind.draw(np.random.default_rng(3), (200_000,), shift) / kind.width)


def best_share(kind: Differences, shift: float, n: int) -> float:
    """The least median share that bets can have on one side, which may use 2.5 %."""
    return least_queries(law_of(kind, shift), 0.025, n) / n


def median_share(ends: np.ndarray, n: int) -> str:
    asked = float(np.median(ends)) / n
    decided = np.mean(ends <= n)
    return f"{asked:.2f} ({100 * decided:.0f})" if asked < 4 else f"> 4 ({100 * decided:.0f})"


def widths(options: argparse.Namespace) -> str:
    rows = []
    for number, (name, kind) in enumerate(NULLS.items()):
        for n in PLANS:
            methods: dict[str, SizeBets] = {
                "tuned": SizeBets((float(n),)),
                "planned": SizeBets.up_to(n),
                "hedged": SizeBets(),
            }
            rng = np.random.default_rng([options.seed, 3, number, n])
            streams = np.stack([kind.draw(rng, (n,), 0.0) for _ in range(options.widths)])
            # Without a rare loss there is nothing to compare with.
            streams = streams[streams.std(axis=1) > 1e-9]
            fixed = 2 * 1.96 * streams.std(axis=1, ddof=1) / math.sqrt(n)
            found = [widths_of_bets(streams, kind.bounds, bets) for bets in methods.values()]
            found.append(widths_of_gaffke(streams, kind.bounds))
            medians = [float(np.median(each / fixed)) for each in found]
            best = f"{least_width(law_of(kind, 0.0), n, 0.05):.2f}" if medians[0] > WIDEST else ""
            rows.append([name, str(n), *(f"{each:.2f}" for each in medians), best])
    headings = [*methods, "Gaffke, one look", "best possible"]
    return markdown(["data", "n", *headings], rows)


def widths_of_bets(streams: np.ndarray, bounds: tuple[float, float], bets: SizeBets) -> np.ndarray:
    """The widths that `mean_sequence` gives, of many streams at once, by halving."""
    low, high = bounds
    scores = (streams - low) / (high - low)
    lowest = [lowest_means(each, bets) for each in (scores, 1.0 - scores)]
    widths: np.ndarray = (1.0 - lowest[0] - lowest[1]) * (high - low)
    return widths


def lowest_means(scores: np.ndarray, bets: SizeBets) -> np.ndarray:
    """The lower limit of each stream."""
    excluded, kept = np.zeros((2, len(scores), 1))
    kept += 1.0
    for _ in range(24):
        middle = (excluded + kept) / 2.0
        evidence = log_capital(scores, middle, bets, 0.05).max(axis=1, keepdims=True)
        is_excluded = evidence >= math.log(40.0)
        excluded = np.where(is_excluded, middle, excluded)
        kept = np.where(is_excluded, kept, middle)
    return excluded[:, 0]


def widths_of_gaffke(streams: np.ndarray, bounds: tuple[float, float]) -> np.ndarray:
    intervals = [mean_interval(values, method="gaffke", bounds=bounds) for values in streams]
    return np.array([interval.high - interval.low for interval in intervals])


SCORES: Mapping[str, tuple[Callable[[np.random.Generator, int], np.ndarray], float]] = {
    "binary, p = 0.95": (lambda rng, n: (rng.random(n) < 0.95).astype(float), 0.95),
    "binary, p = 0.5": (lambda rng, n: (rng.random(n) < 0.5).astype(float), 0.5),
    "Beta(8, 2)": (lambda rng, n: rng.beta(8, 2, n), 0.8),
    "97.5 % in 0.9 to 1, else 0": (
        lambda rng, n: np.where(rng.random(n) < 0.975, rng.uniform(0.9, 1.0, n), 0.0),
        0.975 * 0.95,
    ),
}
WIDTHS = (0.05, 0.1, 0.2)


def stopped_at_width(scores: np.ndarray, mean: float, widest: float) -> tuple[bool, int]:
    """Whether the first interval that is narrow enough contains the mean, and after how many."""
    for n in range(20, scores.size + 1, 20):
        interval = mean_interval(scores[:n], method="gaffke", bounds=(0.0, 1.0))
        if interval.high - interval.low <= widest:
            break
    return interval.low <= mean <= interval.high, n


def stopped_widths(options: argparse.Namespace) -> str:
    rows = []
    for number, (name, (draw, mean)) in enumerate(SCORES.items()):
        cells = []
        for widest in WIDTHS:
            rng = np.random.default_rng([options.seed, 5, number, int(100 * widest)])
            ends = [
                stopped_at_width(draw(rng, LONGEST), mean, widest) for _ in range(options.tests)
            ]
            covered = per_cent(sum(is_covered for is_covered, _ in ends), options.tests)
            cells.append(f"{covered} ({np.median([n for _, n in ends]):.0f})")
        rows.append([name, *cells])
    return markdown(["scores", *(f"width {widest:g}" for widest in WIDTHS)], rows)


def asymptotic(options: argparse.Namespace) -> str:
    rows = []
    for first in (20, 50, 100, 200, 400):
        rng = np.random.default_rng([options.seed, 4])
        covered = 0
        for _ in range(options.tests):
            scores = rng.lognormal(size=LONGEST)
            interval = asymptotic_sequence(scores, first_look=first)
            covered += interval.low <= math.exp(0.5) <= interval.high
        rows.append([str(first), per_cent(covered, options.tests)])
    return markdown(["first look", "always contained"], rows)


def page(options: argparse.Namespace) -> str:
    return PAGE.format(
        command=(
            "OMP_NUM_THREADS=1 python benchmarks/simulate_stopping.py "
            f"--streams {options.streams} --shares {options.shares} --tests {options.tests} "
            f"--widths {options.widths} --seed {options.seed} -o benchmarks/results/stopping.md"
        ),
        looks=LOOKS,
        streams=options.streams,
        shared=options.shares,
        width_streams=options.widths,
        widest=WIDEST,
        tests=options.tests,
        longest=LONGEST,
        alarms=alarms(options),
        shares=shares(options),
        widths=widths(options),
        stopped_widths=stopped_widths(options),
        asymptotic=asymptotic(options),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=10_000, help="streams for false alarms")
    parser.add_argument("--shares", type=int, default=2_000, help="streams for the shares of bets")
    parser.add_argument("--tests", type=int, default=1_000, help="streams for all other tests")
    parser.add_argument("--widths", type=int, default=200, help="streams for the widths")
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
