"""Pairs of columns under random signs: the p-values of the differences themselves."""

from itertools import combinations

import numpy as np
import pytest

from rageval_report.stats.states.flipped_blocks import FlippedBlocks
from rageval_report.stats.states.flipped_sums import FlippedSums, adjust_by_flips, mix_words

PRINTS = mix_words(np.arange(300, dtype=np.uint64))
OPTIONS = {"n_resamples": 400, "seed": 7}


@pytest.fixture
def blocks():
    """Two metrics: of four pipelines on a lattice, and of three with gaps."""
    rng = np.random.default_rng(4)
    shares = rng.integers(0, 6, (300, 4)) / 5
    shares[:, 3] = shares[:, 0]
    lengths = rng.normal(10.0, 3.0, (300, 3)) + np.array([0.0, 0.3, 0.6])
    lengths[::9] = np.nan
    return [shares, lengths]


def test_pairs_are_those_of_their_differences(blocks):
    columns = [b[:, j] - b[:, i] for b in blocks for i, j in combinations(range(b.shape[1]), 2)]
    half = [True, True, False, *[True] * 3, *[False] * 3]
    sums = FlippedSums.of(np.nan_to_num(np.column_stack(columns)), PRINTS, **OPTIONS)
    expected = adjust_by_flips([sums], half)
    found = FlippedBlocks.of(blocks, PRINTS, **OPTIONS).adjust([0, 1], half)
    assert [len(each) for each in found] == [6, 3]
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=0, atol=1e-12)
    assert found[0][2] == 1.0  # the first and the last pipeline are the same
    # One block is a family of its own.
    [alone] = FlippedBlocks.of(blocks, PRINTS, **OPTIONS).adjust([1], half[6:])
    expected = adjust_by_flips(sums.by_column()[6:], half[6:])
    np.testing.assert_allclose(alone, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("cuts", [[1], [50, 150], list(range(1, 300, 37))])
def test_no_division_and_no_order_moves_a_number(blocks, cuts):
    order = np.random.default_rng(0).permutation(300)
    total = None
    for rows in np.split(order, cuts):
        part = FlippedBlocks.of([block[rows] for block in blocks], PRINTS[rows], **OPTIONS)
        total = part if total is None else total + part
    whole = FlippedBlocks.of(blocks, PRINTS, **OPTIONS)
    half = [False] * 9
    for found, expected in zip(total.adjust([0, 1], half), whole.adjust([0, 1], half), strict=True):
        np.testing.assert_array_equal(found, expected)
