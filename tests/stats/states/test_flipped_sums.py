"""Signs drawn from a hash of the id: fair, independent of each other, the same for any division."""

from itertools import product

import numpy as np
import pytest

from rageval_report.stats.maxt import westfall_young
from rageval_report.stats.states.flipped_sums import (
    FlippedSums,
    adjust_by_flips,
    hashed_signs,
    mix_words,
)

PRINTS = mix_words(np.arange(2000, dtype=np.uint64))


def test_words_are_those_of_the_published_generator():
    """SplitMix64 of seed 0, as in Vigna's splitmix64.c."""
    step = np.uint64(0x9E3779B97F4A7C15)
    words = mix_words(np.arange(1, 4, dtype=np.uint64) * step)
    known = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    assert [int(word) for word in words] == known


def test_signs_are_fair_and_independent():
    signs = hashed_signs(PRINTS, 0, 1000, seed=3) * 2.0 - 1.0
    n = signs.size
    assert abs(signs.mean()) < 4 / np.sqrt(n)
    for axis in (signs, signs.T):  # between queries, and between patterns
        products = axis @ axis.T / axis.shape[1]
        others = products[~np.eye(len(products), dtype=bool)]
        assert abs(others.mean()) < 1e-3
        assert others.std() == pytest.approx(1 / np.sqrt(axis.shape[1]), rel=0.02)


def test_neighbouring_hashes_and_seeds_have_other_signs():
    prints = np.arange(64, dtype=np.uint64)
    first, second = (hashed_signs(prints, 0, 640, seed=seed) for seed in (0, 1))
    assert 0.48 < (first == second).mean() < 0.52
    assert 0.48 < (first[1:] == first[:-1]).mean() < 0.52


@pytest.mark.parametrize("cuts", [[], [1], [500, 1500], list(range(1, 2000, 37))])
def test_any_division_in_any_order_has_the_same_sums(cuts):
    rng = np.random.default_rng(0)
    differences = rng.integers(-5, 6, (2000, 3)) / 8  # whose sums are exact
    options = {"n_resamples": 200, "seed": 7}
    whole = FlippedSums.of(differences, PRINTS, **options)
    order = rng.permutation(2000)
    parts = zip(np.split(differences[order], cuts), np.split(PRINTS[order], cuts), strict=True)
    total = None
    for part, prints in parts:
        state = FlippedSums.of(part, prints, **options)
        total = state if total is None else total + state
    np.testing.assert_array_equal(total.flipped, whole.flipped)
    np.testing.assert_array_equal(total.totals, whole.totals)
    np.testing.assert_array_equal(total.squares, whole.squares)


def test_sums_are_those_of_the_signs():
    differences = np.random.default_rng(1).normal(size=(2000, 2))
    found = FlippedSums.of(differences, PRINTS, n_resamples=130, seed=2)
    signs = hashed_signs(PRINTS, 0, 130, seed=2) * 2.0 - 1.0
    np.testing.assert_allclose(found.flipped, differences.T @ signs, rtol=0, atol=1e-10)


def test_pvalues_are_those_of_all_patterns_of_few_queries():
    """The second witness is the exact step-down test: all 2 ** 8 patterns, one by one."""
    better = np.array([0.3, 0.1, 0.4, -0.2, 0.3, 0.1, 0.2, 0.5])
    mixed = np.array([0.1, -0.1, 0.2, -0.2, 0.1, 0.05, 0.0, -0.1])
    differences = np.column_stack([better, mixed])
    root = np.sqrt(np.square(differences).sum(axis=0))
    every = np.array(list(product([-1.0, 1.0], repeat=8)))
    flipped = np.abs(every @ differences) / root
    observed = np.abs(differences.sum(axis=0)) / root
    first = (flipped.max(axis=1) >= observed[0] - 1e-9).mean()
    second = max(first, (flipped[:, 1] >= observed[1] - 1e-9).mean())
    state = FlippedSums.of(differences, PRINTS[:8], n_resamples=20_000, seed=0)
    found = adjust_by_flips([state], [False, False])
    np.testing.assert_allclose(found, [first, second], atol=4 * np.sqrt(0.25 / 20_000))
    np.testing.assert_allclose(
        found, westfall_young(differences, n_resamples=20_000), atol=4 * np.sqrt(0.5 / 20_000)
    )


def test_equal_columns_have_the_pvalue_of_one():
    column = np.random.default_rng(2).normal(0.05, 1, (2000, 1))
    options = {"n_resamples": 999, "seed": 0}
    [alone] = adjust_by_flips([FlippedSums.of(column, PRINTS, **options)], [False])
    state = FlippedSums.of(np.hstack([column, column, 2 * column]), PRINTS, **options)
    assert adjust_by_flips([state], [False] * 3).tolist() == [alone] * 3
    assert adjust_by_flips(state.by_column(), [False] * 3).tolist() == [alone] * 3


def test_no_difference_anywhere_is_a_pvalue_of_one():
    state = FlippedSums.of(np.zeros((2000, 1)), PRINTS, n_resamples=99, seed=0)
    assert adjust_by_flips([state], [False]).tolist() == [1.0]
