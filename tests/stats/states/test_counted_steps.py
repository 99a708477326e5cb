"""The counts of a part of a column do not depend on what is known of the column."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.stats.pairs.paired_scores import PairedScores, keep_steps
from rageval_report.stats.states.counted_steps import (
    CountedSteps,
    StepRuler,
    columns_may_have_steps,
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


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("size", [1, 5, 63, 400])
def test_a_column_is_counted_by_the_first_ruler_that_fits(kind, size):
    column = COLUMNS[kind](np.random.default_rng(size))[:size]
    by_rulers = (
        ruler.in_coarsest_steps(counts)
        for ruler in StepRuler.fitting(column)
        if (counts := ruler.count(column)) is not None
    )
    assert same(CountedSteps.of(column), next(by_rulers, None))


def test_a_glance_at_many_columns_drops_none_that_has_steps():
    rng = np.random.default_rng(3)
    columns = [COLUMNS[kind](rng)[: 1 + 50 * place] for place, kind in enumerate(COLUMNS)]
    may_have = columns_may_have_steps(columns)
    for column, may in zip(columns, may_have, strict=True):
        assert may or CountedSteps.of(column) is None
    assert not may_have[-1]  # the scattered ones
    assert columns_may_have_steps([]) == []


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
        for ours, theirs in zip(kept.side_steps, alone.side_steps, strict=True):
            assert same(ours, theirs)
        assert kept.step == alone.step
        if alone.lattice is not None:
            assert kept.lattice.lowest == alone.lattice.lowest
            assert np.array_equal(kept.lattice.counts, alone.lattice.counts)
