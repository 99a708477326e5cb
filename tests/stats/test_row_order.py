"""Shuffled rows draw the same: every function that draws at random gives the same bits.

Witness of the order itself: `numpy.lexsort` of NumPy 2.
"""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rageval_report.stats import (
    all_pairs_test,
    krippendorff_alpha,
    mean_interval,
    paired_interval,
    paired_test,
)
from rageval_report.stats.all_pairs import shared_flips
from rageval_report.stats.maxt import westfall_young
from rageval_report.stats.means.bootstrap import studentised
from rageval_report.stats.resampled import resampled_statistics
from rageval_report.stats.resampling import (
    bootstrap_means,
    bootstrap_means_of_tables,
    sign_flip_means,
)
from rageval_report.stats.row_order import canonical_order, canonical_units
from rageval_report.stats.sums import sums_by_group
from rageval_report.stats.units import Units

N, MANY = 24, {"n_resamples": 199, "seed": 3}
SCALES = {"continuous": None, "tenths": 1, "whole": 0}


def gapped(scores):
    """The same with a row in five left out."""
    return np.where(np.arange(len(scores))[:, None] % 5 == 0, np.nan, scores)


def calls_of(scores, clusters):
    """What each function draws from the columns of a matrix, whose rows are the queries."""
    before, after, third = scores.T
    gains = np.column_stack([after - before, third - before])
    units = Units.of(clusters)
    sides = (before, after)
    missing = np.where(third > 0.7, np.nan, scores.T[0])
    tests = {
        f"paired_test {test} {word}": paired_test(*sides, test=test, clusters=labels, **MANY).pvalue
        for test in ("sign-flip-mc", "bootstrap")
        for word, labels in (("queries", None), ("clusters", clusters))
    }
    return tests | {
        "mean_interval": mean_interval(before, method="studentised", **MANY),
        "studentised": studentised(list(scores.T), confidence_level=0.9, **MANY),
        "paired_interval": paired_interval(*sides, method="studentised", **MANY),
        "paired_interval of clusters": _limits(
            paired_interval(*sides, method="studentised", clusters=clusters, **MANY)
        ),
        "bootstrap_means": bootstrap_means(scores, **MANY),
        "bootstrap_means with gaps": bootstrap_means(np.column_stack([missing, after]), **MANY),
        "bootstrap_means_of_tables": bootstrap_means_of_tables([gains, gains[:, ::-1]], **MANY),
        "sign_flip_means": sign_flip_means(gains, **MANY),
        "westfall_young": westfall_young(gains, **MANY),
        "westfall_young of clusters": westfall_young(units.sums(gains), **MANY),
        "all_pairs_test": all_pairs_test(
            scores, correction="westfall-young", **MANY
        ).pvalue_adjusted,
        "shared_flips of clusters": shared_flips([scores, scores**2], units=units, **MANY),
        "resampled_statistics": resampled_statistics([scores, scores**2], ["mean", "p95"], **MANY),
        "resampled_statistics of clusters": resampled_statistics(
            [scores, np.where(third[:, None] > 0.7, np.nan, scores)],
            ["mean", "median"],
            units=units,
            **MANY,
        ),
        "krippendorff_alpha": [
            krippendorff_alpha(np.rint(2 + scores), level, **MANY)
            for level in ("nominal", "ordinal", "interval", "ratio")
        ],
    }


def _limits(interval):
    return interval.low, interval.high


def bits(result):
    """Every number of a result, to the last bit."""
    if dataclasses.is_dataclass(result):
        return [bits(getattr(result, field.name)) for field in dataclasses.fields(result)]
    if isinstance(result, list | tuple):
        return [bits(part) for part in result]
    if isinstance(result, str):
        return result
    return repr((np.asarray(result) + 0.0).tolist())  # minus zero is zero


def scores_of(seed, decimals):
    rng = np.random.default_rng(seed)
    scores = rng.normal(0.5, 0.4, (N, 3)) + rng.normal(0, 0.3, (N, 1))
    return scores if decimals is None else np.round(scores, decimals)


@pytest.mark.parametrize("decimals", SCALES.values(), ids=SCALES)
@pytest.mark.parametrize("seed", range(6))
def test_shuffled_rows_give_the_same_bits(seed, decimals):
    rng = np.random.default_rng([seed, 1])
    scores, clusters = scores_of(seed, decimals), rng.integers(0, 8, N)
    order = rng.permutation(N)
    one, other = calls_of(scores, clusters), calls_of(scores[order], clusters[order])
    assert {name: bits(result) for name, result in one.items()} == {
        name: bits(result) for name, result in other.items()
    }


@pytest.mark.parametrize("seed", range(4))
def test_exchanged_sides_mirror_what_is_drawn(seed):
    before, after, _ = scores_of(seed, None).T
    one, other = (
        paired_interval(*sides, method="studentised", **MANY)
        for sides in ((before, after), (after, before))
    )
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low), rel=0.05)
    flipped = sign_flip_means(after - before, **MANY)
    assert np.array_equal(sign_flip_means(before - after, **MANY), -flipped)


@pytest.mark.parametrize("seed", range(4))
def test_columns_in_another_order_draw_the_same(seed):
    gains = scores_of(seed, None) - 0.5
    assert sign_flip_means(gains[:, [2, 0, 1]], **MANY) == pytest.approx(
        sign_flip_means(gains, **MANY)[:, [2, 0, 1]], abs=1e-12
    )


# -- the order


@settings(max_examples=60, deadline=None)
@given(arrays(np.int64, (12, 3), elements=st.integers(-3, 3)), st.permutations(range(12)))
def test_rows_in_the_order_are_sorted_rows(whole, order):
    rows = whole[np.array(order)].astype(float)
    ranked = rows[canonical_order(rows)]
    assert np.array_equal(ranked, whole[canonical_order(whole.astype(float))])
    as_sorted_by_some_columns = [
        np.lexsort((sign * whole[:, keys]).T[::-1])
        for keys in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0])
        for sign in (1, -1)
    ]
    assert any(np.array_equal(ranked, whole[each]) for each in as_sorted_by_some_columns)


def test_missing_scores_come_last_and_are_equal_to_each_other():
    column = np.array([np.nan, 0.5, np.nan, 0.25])
    assert canonical_order(column).tolist() == [3, 1, 0, 2]
    assert canonical_order(np.full(3, np.nan)).tolist() == [0, 1, 2]


def test_rounding_does_not_come_before_the_next_column():
    rounded = np.array([0.3, 0.1 + 0.2, 0.3, 0.9, 0.3])
    exact = np.array([0.3, 0.3, 0.3, 0.9, 0.3])
    for column in (rounded, exact):
        columns = np.column_stack([column, [0.04, 0.03, 0.02, 0.01, 0.05]])
        assert canonical_order(columns).tolist() == [3, 4, 0, 1, 2]


@pytest.mark.parametrize("seed", range(5))
def test_units_have_the_same_numbers_whatever_their_labels(seed):
    rng = np.random.default_rng(seed)
    rows, codes = rng.integers(0, 2, (20, 2)).astype(float), rng.integers(0, 6, 20)
    order, labels = rng.permutation(20), rng.permutation(6)
    numbers, others = (
        canonical_units(rows, codes),
        canonical_units(rows[order], labels[codes[order]]),
    )
    held = [
        sorted((number, *row) for number, row in zip(each.tolist(), which.tolist(), strict=True))
        for each, which in ((numbers, rows), (others, rows[order]))
    ]
    assert held[0] == held[1]
    assert len(set(numbers.tolist())) == len(
        set(zip(numbers.tolist(), codes.tolist(), strict=True))
    )


# -- sums of groups


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e12, 1e12).map(lambda x: round(x, 30)), min_size=1, max_size=30),
    st.randoms(use_true_random=False),
)
def test_sums_of_groups_are_exact_whatever_the_order(values, random):
    groups = [random.randrange(3) for _ in values]
    rows = list(zip(values, groups, strict=True))
    found = sums_by_group(np.array(values), np.array(groups), 3)
    random.shuffle(rows)
    shuffled = sums_by_group(np.array([v for v, _ in rows]), np.array([g for _, g in rows]), 3)
    assert np.array_equal(found, shuffled)
    expected = [math.fsum(v for v, g in rows if g == group) for group in range(3)]
    assert found == pytest.approx(expected, rel=1e-15, abs=0)
