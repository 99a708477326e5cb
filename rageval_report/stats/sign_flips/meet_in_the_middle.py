"""Exact laws of sums of random signs: listed, convolved on a lattice, and two of them combined.

Half of the magnitudes have few enough sums to list them all, and two lists meet by binary search
(Horowitz and Sahni 1974). Magnitudes that occur more than once enter with their binomial weights,
so tied data may be much longer. Only positive numbers are added and multiplied here: the far tail
is as accurate as the middle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

from rageval_report.stats.sign_flips.sign_sums import Tail
from rageval_report.stats.sums import sum_of_products
from rageval_report.types import BoolArray, FloatArray, IntArray

# Sums closer than this, relative to the sum of all magnitudes, are equal: adding doubles in another
# order changes a sum by about 1e-13, and real differences are rarely as close as 1e-9.
SAME_SUM = 1e-9


@dataclass(frozen=True, slots=True)
class SumLaw:
    """The possible values of a sum, in any order, and their probabilities."""

    values: FloatArray
    weights: FloatArray


def log2_sums(counts: FloatArray) -> float:
    """The number of distinct sums if each value occurs this often, as a power of two.

    Examples
    --------
    >>> log2_sums(np.array([1.0, 1.0, 3.0]))  # 2 * 2 * 4
    4.0
    """
    return float(np.log2(counts + 1.0).sum())


def listed_tail(
    values: FloatArray, counts: FloatArray, threshold: float, same: float = SAME_SUM
) -> Tail:
    """The tail of the sum, by two lists; sums closer than `same`, relative to the total, are equal.

    Examples
    --------
    >>> listed_tail(np.array([1.0, 2.5]), np.array([2.0, 1.0]), 2.5)
    Tail(at_least=0.375, equal=0.25)
    """
    first = _first_half(counts)
    laws = listed_law(values[first], counts[first]), listed_law(values[~first], counts[~first])
    return combine_laws(*laws, threshold, same * sum_of_products(values, counts))


def listed_spread_tail(
    values: FloatArray, counts: FloatArray, threshold: float, spread: float
) -> Tail:
    """The tail of the sum plus a number that is uniform between -spread and spread.

    Examples
    --------
    >>> listed_spread_tail(np.array([1.0, 3.0]), np.array([2.0, 1.0]), 3.0, 1.0)
    Tail(at_least=0.25, equal=0.0)
    """
    first = _first_half(counts)
    a, b = listed_law(values[first], counts[first]), listed_law(values[~first], counts[~first])
    order = np.argsort(b.values)
    ordered, weights = b.values[order], b.weights[order]
    # Of each value of b and all above it, summed from the top: the probability, and the values.
    reach = np.append(np.cumsum(weights[::-1])[::-1], 0.0)
    moments = np.append(np.cumsum((weights * ordered)[::-1])[::-1], 0.0)
    needed = threshold - a.values
    # From the first on the number decides, from the second on nothing can pull the sum below.
    some = np.searchsorted(ordered, needed - spread)
    surely = np.searchsorted(ordered, needed + spread)
    between = (moments[some] - moments[surely]) + (spread - needed) * (reach[some] - reach[surely])
    tail = a.weights * (reach[surely] + between / (2 * spread))
    return Tail(float(tail.sum()), 0.0)


def listed_law(values: FloatArray, counts: FloatArray) -> SumLaw:
    """Every possible sum and its probability.

    Examples
    --------
    >>> listed_law(np.array([2.0]), np.array([2.0]))
    SumLaw(values=array([-4.,  0.,  4.]), weights=array([0.25, 0.5 , 0.25]))
    """
    sums, weights = np.zeros(1), np.ones(1)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        sums = np.add.outer(np.arange(-count, count + 1, 2) * value, sums).ravel()
        weights = np.multiply.outer(binomial_weights(count), weights).ravel()
    return SumLaw(sums, weights)


def lattice_law(steps: IntArray, counts: FloatArray) -> SumLaw:
    """The law of a sum of signed whole numbers, by one convolution per distinct number.

    Examples
    --------
    >>> lattice_law(np.array([1, 2]), np.array([1.0, 1.0]))
    SumLaw(values=array([-3., -1.,  1.,  3.]), weights=array([0.25, 0.25, 0.25, 0.25]))
    """
    # weights[k] is the probability that the numbers with a plus sign add up to k. Only positive
    # numbers are added, so that the far tail keeps its relative accuracy (Pagano, Tritchler 1983).
    weights = np.ones(1)
    for step, count in zip(steps.tolist(), counts.tolist(), strict=True):
        chances = _toss_chances(round(count))
        if weights.size == 1:  # nothing to convolve yet
            weights = np.zeros(step * (chances.size - 1) + 1)
            weights[::step] = chances
        else:
            weights = _add_tosses(weights, step, chances)
    return SumLaw(np.arange(1.0 - weights.size, weights.size, 2.0), weights)


@lru_cache(maxsize=256)
def _toss_chances(tosses: int) -> FloatArray:
    """`binomial_weights`, each rounded only once: the law of many numbers is a product of them."""
    chances, ways, patterns = np.empty(tosses + 1), 1, 2**tosses
    for heads in range(tosses // 2 + 1):
        chances[heads] = chances[tosses - heads] = ways / patterns
        ways = ways * (tosses - heads) // (heads + 1)
    chances.flags.writeable = False
    return chances


def _add_tosses(weights: FloatArray, step: int, chances: FloatArray) -> FloatArray:
    """The law of a sum and a number of tosses that add a step each, whose chances are known."""
    size = weights.size + step * (chances.size - 1)
    added = np.zeros(size)
    if step <= chances.size:
        # Sums with the same remainder mix only with each other.
        for rest in range(min(step, weights.size)):
            added[rest::step][: (size - rest - 1) // step + 1] = np.convolve(
                weights[rest::step], chances
            )
    else:
        for tosses, chance in enumerate(chances.tolist()):
            added[step * tosses :][: weights.size] += chance * weights
    return added


def combine_laws(a: SumLaw, b: SumLaw, threshold: float, tolerance: float) -> Tail:
    """The tail of the sum of two independent sums."""
    order = np.argsort(b.values)
    ordered = b.values[order]
    # The probability of each value of b and all above it, summed from the smallest weights up.
    reach = np.append(np.cumsum(b.weights[order][::-1])[::-1], 0.0)
    order = np.argsort(a.values)  # a search in ascending order stays in the cache
    needed, weights = threshold - a.values[order], a.weights[order]
    at_least = sum_of_products(weights, reach[np.searchsorted(ordered, needed - tolerance)])
    above = sum_of_products(
        weights, reach[np.searchsorted(ordered, needed + tolerance, side="right")]
    )
    return Tail(at_least, at_least - above)


def binomial_weights(tosses: float) -> FloatArray:
    """The probabilities of 0, 1, ... heads.

    Examples
    --------
    >>> binomial_weights(2)
    array([0.25, 0.5 , 0.25])
    """
    heads = np.arange(tosses + 1.0)
    if tosses < 1000:  # beyond, the coefficients overflow
        return np.asarray(scipy.special.binom(tosses, heads) * 0.5**tosses)
    log_choose = (
        scipy.special.gammaln(tosses + 1)
        - scipy.special.gammaln(heads + 1)
        - scipy.special.gammaln(tosses - heads + 1)
    )
    return np.asarray(np.exp(log_choose - tosses * math.log(2.0)))


def _first_half(counts: FloatArray) -> BoolArray:
    """Which values go into the first list, so that both lists become about equally long."""
    sizes = np.log2(counts + 1.0)
    first = np.zeros(counts.size, dtype=bool)
    balance = 0.0
    for i in np.argsort(-sizes).tolist():
        first[i] = balance <= 0
        balance += sizes[i] if first[i] else -sizes[i]
    return first
