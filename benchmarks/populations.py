"""The distributions of scores whose means are known, from which the coverage page draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special

SIZES = (10, 30, 100)
UNIT = (0.0, 1.0)
METHODS = ("clopper-pearson", "wilson", "gaffke", "t", "percentile", "studentised")
Draw = Callable[[np.random.Generator, int], np.ndarray]
DrawPair = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Scores:
    """A metric: how its scores are drawn, their true mean, and its default interval."""

    draw: Draw
    mean: float
    default: str
    bounds: tuple[float, float] | None = UNIT

    @property
    def methods(self) -> tuple[str, ...]:
        first = {"clopper-pearson": 0, "gaffke": 2, "studentised": METHODS.index("t")}
        return METHODS[first[self.default] :]


RATINGS, RATED = np.arange(1.0, 6.0), np.array([0.05, 0.10, 0.15, 0.40, 0.30])
RECIPROCAL_RANKS = np.array([1 / rank for rank in range(1, 11)] + [0.0])
FOUND = np.append(0.4 * 0.6 ** np.arange(10), 0.6**10)


def share(p: float) -> Scores:
    return Scores(lambda rng, n: (rng.random(n) < p).astype(float), p, "clopper-pearson")


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
