"""Counts of all groups at once, against the pairs of each group counted on their own."""

import numpy as np
import pytest

from rageval_report.stats import PairedScores
from rageval_report.stats.states.grouped_steps import place_scores, summarise_groups
from rageval_report.stats.states.pair_state import summarise_pairs
from rageval_report.stats.states.state_pairs import StatePairs

KINDS = {
    "binary": lambda rng, n: (rng.random(n) < 0.7).astype(float),
    "shares": lambda rng, n: rng.integers(0, 6, n) / 5,
    "ratings": lambda rng, n: rng.integers(1, 6, n).astype(float),
    "reciprocal ranks": lambda rng, n: 1 / rng.integers(1, 11, n),
    "decimals": lambda rng, n: rng.integers(-50, 51, n) / 100,
}


def grouped(kinds, n=900, n_groups=4, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.append(np.arange(n_groups), rng.integers(0, n_groups, n - n_groups))
    return *(KINDS[kind](rng, n) for kind in kinds), groups.astype(np.uint8), n_groups


@pytest.mark.parametrize("before", KINDS)
@pytest.mark.parametrize("after", KINDS)
def test_a_group_has_the_counts_of_its_own_pairs(before, after):
    baseline, candidate, groups, n_groups = grouped((before, after))
    summaries = summarise_groups(baseline, candidate, groups, n_groups)
    for group, summary in enumerate(summaries):
        part = groups == group
        own = summarise_pairs(baseline[part], candidate[part])
        for ours, theirs in zip(
            (summary.baseline, summary.candidate, summary.differences),
            (own.baseline, own.candidate, own.differences),
            strict=True,
        ):
            assert ours.steps.denominator == theirs.steps.denominator
            assert ours.steps.lowest == theirs.steps.lowest
            assert np.array_equal(ours.steps.counts, theirs.steps.counts)
        assert (summary.n_lowest, summary.n_highest) == (own.n_lowest, own.n_highest)


def test_the_numbers_are_those_of_numpy():
    """numpy 2.4.6 on the scores of the group, one by one."""
    baseline, candidate, groups, n_groups = grouped(("shares", "ratings"))
    for group, summary in enumerate(summarise_groups(baseline, candidate, groups, n_groups)):
        part = groups == group
        differences = candidate[part] - baseline[part]
        pairs = StatePairs(summary)
        assert pairs.n == part.sum()
        assert pairs.mean == pytest.approx(differences.mean(), rel=1e-12)
        assert pairs.standard_deviation == pytest.approx(differences.std(ddof=1), rel=1e-12)
        assert pairs.n_positive == (differences > 1e-9).sum()
        assert pairs.n_negative == (differences < -1e-9).sum()
        sides = baseline[part], candidate[part]
        for moments, side in zip(pairs.side_moments, sides, strict=True):
            assert moments.mean == pytest.approx(side.mean(), rel=1e-12)
            assert moments.std == pytest.approx(side.std(ddof=1), rel=1e-12)
        assert pairs.lattice.total == PairedScores(*sides).lattice.total


def test_shuffled_rows_have_the_same_counts():
    baseline, candidate, groups, n_groups = grouped(("decimals", "decimals"))
    order = np.random.default_rng(1).permutation(groups.size)
    first = summarise_groups(baseline, candidate, groups, n_groups)
    second = summarise_groups(baseline[order], candidate[order], groups[order], n_groups)
    for ours, theirs in zip(first, second, strict=True):
        assert np.array_equal(ours.differences.steps.counts, theirs.differences.steps.counts)


def test_swapped_sides_have_the_opposite_differences():
    baseline, candidate, groups, n_groups = grouped(("shares", "reciprocal ranks"))
    first = summarise_groups(baseline, candidate, groups, n_groups)
    second = summarise_groups(candidate, baseline, groups, n_groups)
    for ours, theirs in zip(first, second, strict=True):
        assert StatePairs(ours).mean == -StatePairs(theirs).mean
        assert (ours.n_positive, ours.n_negative) == (theirs.n_negative, theirs.n_positive)


@pytest.mark.parametrize(
    "scores",
    [
        np.sqrt(np.arange(1.0, 41.0)),
        np.append(np.zeros(39), np.nan),
        np.append(np.zeros(39), 0.123456789),
        np.append(np.zeros(39), 2.0**53),
    ],
)
def test_scores_off_all_lattices_have_no_places(scores):
    groups = np.zeros(40, dtype=np.uint8)
    assert place_scores(scores) is None
    assert summarise_groups(scores, np.zeros(40), groups, 1) is None
    assert summarise_groups(np.zeros(40), scores, groups, 1) is None


def test_too_many_kinds_are_not_counted():
    """As many as 10,000 scores of either side: a table of all pairs would not fit."""
    rng = np.random.default_rng(0)
    sides = rng.permutation(10_000) / 10_000, rng.permutation(10_000) / 10_000
    assert summarise_groups(*sides, np.zeros(10_000, dtype=np.uint8), 1) is None
