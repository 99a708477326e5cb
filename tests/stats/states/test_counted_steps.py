"""The counts of a part of a column do not depend on what is known of the column."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.stats.pairs.paired_scores import PairedScores, keep_steps
from rageval_report.stats.states.counted_steps import (
    BLOCK,
    CountedSteps,
    StepRuler,
    count_columns,
    count_multiples_of,
    count_rows,
    ends_of_rows,
    steps_may_fit,
)

COLUMNS = {
    "binary": lambda rng: rng.integers(0, 2, 400) * 1.0,
    "fifths": lambda rng: rng.integers(0, 6, 400) / 5,
    "ranks": lambda rng: 1 / rng.integers(1, 11, 400),
    "cents": lambda rng: rng.integers(-900, 900, 400) / 100,
    "whole numbers": lambda rng: rng.integers(10**7, 10**7 + 9, 400) * 1.0,
    "so large that steps meet": lambda rng: 2.0**45 + rng.integers(0, 60, 400) / 60,
    "single precision": lambda rng: (rng.integers(0, 11, 400) / 10).astype(np.float32) * 1.0,
    "one off the lattice": lambda rng: np.append(rng.integers(0, 6, 399) / 5, 0.123456789),
    "scattered": lambda rng: rng.random(400),
}


def same(one, other):
    if one is None or other is None:
        return one is other
    fields = ("denominator", "lowest", "is_single")
    return all(getattr(one, name) == getattr(other, name) for name in fields) and np.array_equal(
        one.counts, other.counts
    )


@pytest.mark.parametrize("kind", COLUMNS)
@settings(max_examples=20)
@given(st.integers(0, 399), st.integers(1, 400), st.integers(0, 10**6))
def test_a_part_is_counted_as_it_is_alone(kind, start, size, seed):
    column = COLUMNS[kind](np.random.default_rng(seed))
    part = column[start : start + size]
    assert same(CountedSteps.of(part, next(StepRuler.fitting(column), None)), CountedSteps.of(part))


def test_pairs_with_the_rulers_of_their_columns_have_the_same_lattice():
    rng = np.random.default_rng(1)
    before, after = rng.integers(0, 6, 900) / 5, rng.integers(0, 6, 900) / 5
    rulers = tuple(next(StepRuler.fitting(side)) for side in (before, after))
    part = slice(300, 420)
    one = PairedScores(before[part], after[part], rulers=rulers)
    other = PairedScores(before[part], after[part])
    assert one.step == other.step
    assert one.mean == other.mean
    assert one.side_moments == other.side_moments


def test_a_look_at_all_parts_at_once_never_denies_a_step_that_fits_one():
    rng = np.random.default_rng(3)
    sizes = [1, 2, 5, 6, 7, 63, 64, 65, 700]
    ends = np.cumsum(sizes).tolist()
    parts = [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    scores = rng.random(ends[-1])
    for part in parts[::2]:
        scores[part] = rng.integers(0, 8, scores[part].size) / 7
    expected = [CountedSteps.of(scores[part]) is not None for part in parts]
    may_fit = steps_may_fit(scores, parts)
    assert expected == [place % 2 == 0 for place in range(len(parts))]
    assert all(may for may, fits in zip(may_fit, expected, strict=True) if fits)
    assert not all(may_fit)


def columns_of_many_kinds(size):
    rng = np.random.default_rng(size)
    columns = [make(rng)[:size] for make in COLUMNS.values()]
    return [
        *columns,
        *(column.astype(np.float32) for column in columns if abs(column).max() < 1e30),
        *(np.full(size, constant) for constant in (0.0, -0.0, 1.0, 1 / 3, 0.1234567)),
        *(scale * rng.integers(0, 2, size) for scale in (1e15, 1e16, 1e300, 1e-300)),
        rng.integers(0, 2**18, size) * 1.0,  # whole numbers, but too many of them
        np.where(np.arange(size) == size - 1, 0.25, 3.0),  # whole numbers but for one
        np.where(np.arange(size) == size // 2, 0.1234567, 3.0),
    ]


def count_by_rulers(column):
    """What `CountedSteps.of` gives, by the code for one column that is too long for a matrix."""
    by_rulers = (
        ruler.in_coarsest_steps(counts)
        for ruler in StepRuler.fitting(column)
        if (counts := ruler.count(column)) is not None
    )
    return next(by_rulers, None)


@pytest.mark.parametrize("size", [1, 2, 7, 63, 64, 65, 400])
@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_many_columns_are_counted_as_each_by_its_rulers(size, precision):
    columns = [each for each in columns_of_many_kinds(size) if each.dtype == precision]
    expected = [count_by_rulers(column) for column in columns]
    rows = np.stack(columns)
    assert all(map(same, count_rows(rows), expected))
    assert all(map(same, count_rows(rows, ends_of_rows(rows)), expected))
    assert all(map(same, count_rows(rows[::-1]), expected[::-1]))
    assert all(map(same, count_columns(columns), expected))
    assert None in expected


def test_columns_of_any_lengths_are_counted_as_alone():
    rng = np.random.default_rng(5)
    columns = [rng.integers(0, 6, n) / 5 for n in (2 * BLOCK, 2 * BLOCK, 40, BLOCK)]
    columns += [rng.random(n) for n in (1, 2, 40, 2 * BLOCK)]
    assert all(map(same, count_columns(columns), map(count_by_rulers, columns)))
    rows = np.stack(columns[:2])
    assert all(map(same, count_rows(rows), map(count_by_rulers, columns)))
    assert count_columns([]) == []


@pytest.mark.parametrize("size", [1, 300, 2 * BLOCK + 3])
def test_multiples_of_many_rows_are_those_of_each(size):
    rng = np.random.default_rng(size)
    rows = np.stack([rng.integers(-9, 9, size) / 7, rng.integers(0, 2, size) * 1e9, np.ones(size)])
    denominators = [7, 2**20, 4]
    for row, denominator, counted in zip(
        rows, denominators, count_multiples_of(rows, denominators), strict=True
    ):
        alone = CountedSteps.of_multiples(row, denominator)
        assert (counted is None) == (alone is None)
        if alone is not None and counted is not None:
            lowest, counts = counted
            multiples = np.flatnonzero(counts) + lowest
            assert np.array_equal(multiples / denominator, alone.distinct)
            assert np.array_equal(counts[counts > 0], alone.multiplicities)


@pytest.mark.parametrize("n", [1, 2, 30, 400])
def test_the_steps_of_many_samples_are_those_of_each(n):
    def samples():
        rng = np.random.default_rng(n)
        columns = [make(rng)[:n] for make in COLUMNS.values()]
        return [PairedScores(np.roll(one, 1), two) for one in columns[:5] for two in columns]

    together = samples()
    keep_steps(together)
    for kept, alone in zip(together, samples(), strict=True):
        assert "side_steps" in vars(kept)
        assert kept.side_ends == alone.side_ends
        assert np.array_equal(kept.differences, alone.differences)
        assert kept.ends == alone.ends
        for ours, theirs in zip(kept.side_steps, alone.side_steps, strict=True):
            assert same(ours, theirs)
        assert kept.step == alone.step
        if alone.lattice is not None:
            assert kept.lattice.lowest == alone.lattice.lowest
            assert np.array_equal(kept.lattice.counts, alone.lattice.counts)


def test_rounding_noise_is_zero_in_company_too():
    noise = np.array([1e-13, -1e-13, 0.5, 1e-11])
    samples = [PairedScores(np.zeros(4), noise), PairedScores(np.full(4, 1e3), 1e3 + noise)]
    keep_steps(samples)
    assert samples[0].differences.tolist() == [0.0, 0.0, 0.5, 1e-11]
    assert samples[1].differences.tolist() == [0.0, 0.0, 0.5, 0.0]  # noise grows with the scores


def test_samples_of_mixed_lengths_are_as_alone():
    rng = np.random.default_rng(8)
    sides = [(rng.integers(0, 6, n) / 5, rng.integers(0, 6, n) / 5) for n in (1, 30, 30, 31, 1)]
    together, alone = ([PairedScores(*each) for each in sides] for _ in range(2))
    keep_steps(together)
    assert [pairs.step for pairs in together] == [pairs.step for pairs in alone]
    assert [pairs.mean for pairs in together] == [pairs.mean for pairs in alone]


def test_pairs_without_scores_have_no_lattice():
    empty = PairedScores(np.zeros(0), np.zeros(0))
    keep_steps([empty, PairedScores(np.zeros(3), np.ones(3))])
    assert empty.lattice is None
