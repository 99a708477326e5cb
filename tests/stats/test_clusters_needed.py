"""Witnesses: one-way components of equal clusters (Shrout and Fleiss), arithmetic by hand, the test
itself on simulated clusters, and the plans for independent queries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rageval_report.errors import DataError
from rageval_report.stats.clusters_needed import (
    ClusterVariance,
    cluster_non_inferiority_power,
    cluster_power,
    clusters_needed,
    clusters_needed_of_non_inferiority,
)
from rageval_report.stats.queries_needed import (
    non_inferiority_power,
    queries_needed,
    sign_flip_power,
)
from rageval_report.stats.sign_flips.signflip import sign_flip_pvalue
from rageval_report.stats.variance_components import variance_components

EQUAL = np.full(20, 8.0)
UNEQUAL = np.arange(1.0, 16.0)


def test_equal_clusters_have_the_components_of_repeated_scores():
    table = np.random.default_rng(1).normal(0, 1, (12, 5)) + np.arange(12)[:, None] / 4
    known = ClusterVariance.of(table.ravel(), np.repeat(np.arange(12), 5))
    witness = variance_components(table)
    assert known.between == pytest.approx(witness.between)
    assert known.within == pytest.approx(witness.within)
    assert known.share_between == pytest.approx(witness.icc.estimate)
    assert (known.n, known.size) == (12, 5.0)


def test_unequal_clusters_by_hand():
    # Means 1 and 4 of 2 and 4 queries, mean of all 3: B = 2 * 4 + 4 * 1 = 12 with one degree,
    # W = (2 * 1 + 4 * 1) / 4 = 1.5, and the size that counts is 6 - 20 / 6 = 8 / 3.
    known = ClusterVariance.of([0, 2, 3, 5, 3, 5], list("aabbbb"))
    assert known.within == pytest.approx(1.5)
    assert known.between == pytest.approx((12 - 1.5) / (8 / 3))


def test_the_components_of_unequal_clusters_are_unbiased():
    rng = np.random.default_rng(3)
    sizes = np.array([1, 2, 3, 5, 8, 13])
    codes = np.repeat(np.arange(6), sizes)
    found = [
        ClusterVariance.of(rng.normal(0, 2.0, 6)[codes] + rng.normal(0, 1.0, 32), codes)
        for _ in range(1500)
    ]
    assert np.mean([known.within for known in found]) == pytest.approx(1.0, rel=0.02)
    # Cut at 0, so a little above 4.
    assert np.mean([known.between for known in found]) == pytest.approx(4.0, rel=0.08)


def test_clusters_of_one_query_are_queries():
    known = ClusterVariance.of([0.1, 0.4, 0.2, 0.9], list("abcd"))
    assert known.of_a_cluster == pytest.approx(np.var([0.1, 0.4, 0.2, 0.9], ddof=1))
    one_each = ClusterVariance(0.0, 0.25, np.ones(10))
    for n in (6, 7, 12, 50):
        assert cluster_power(0.3, one_each, n) == pytest.approx(sign_flip_power(0.6, n), abs=1e-6)
        gate = cluster_non_inferiority_power(0.3, one_each, n)
        assert gate == pytest.approx(non_inferiority_power(0.6, n))
    assert clusters_needed(0.3, one_each) == queries_needed(0.6)


def test_a_hundred_equal_queries_of_a_cluster_are_worth_one():
    all_between = ClusterVariance(0.25, 0.0, np.full(10, 100.0))
    assert clusters_needed(0.3, all_between) == queries_needed(0.6)
    none_between = ClusterVariance(0.0, 0.25, np.full(10, 100.0))
    assert clusters_needed(0.02, none_between) == queries_needed(0.02 / (0.5 / 10))


def test_the_power_where_only_equal_signs_reject_is_exact():
    known = ClusterVariance(0.5, 0.5, np.full(6, 4.0))
    effect = 4 * 1.0 / math.sqrt(16 * 0.5 + 4 * 0.5)
    both = stats.norm.cdf(effect) ** 6 + stats.norm.cdf(-effect) ** 6
    assert cluster_power(1.0, known, 6) == pytest.approx(both)
    assert cluster_power(1.0, known, 5) == 0.0


@pytest.mark.parametrize("sizes", [EQUAL, UNEQUAL], ids=["equal", "unequal"])
@pytest.mark.parametrize(("share", "difference"), [(0.1, 0.3), (0.4, 0.6), (0.8, 0.6)])
def test_at_the_clusters_needed_the_test_shows_the_difference_as_planned(sizes, share, difference):
    rng = np.random.default_rng([7, int(100 * share)])
    needed = clusters_needed(difference, ClusterVariance(share, 1.0 - share, sizes))
    shown = 0
    for _ in range(400):
        n = rng.choice(sizes, needed)
        sums = n * difference + n * rng.normal(0, math.sqrt(share), needed)
        sums += np.sqrt(n * (1.0 - share)) * rng.normal(size=needed)
        shown += sign_flip_pvalue(sums * needed / n.sum()) <= 0.05
    # Planned for 80 %; the error of the simulation is 2 points.
    assert 0.75 <= shown / 400 <= 0.87


def test_never_fewer_than_six_clusters_and_more_at_a_stricter_level():
    known = ClusterVariance(0.01, 0.01, EQUAL)
    assert clusters_needed(1.0, known) == 6
    assert clusters_needed_of_non_inferiority(1.0, known) == 6
    wide = ClusterVariance(0.4, 0.6, EQUAL)
    assert clusters_needed(0.3, wide, alpha=0.005) > clusters_needed(0.3, wide)


def test_more_spread_between_clusters_or_in_their_sizes_needs_more_clusters():
    needed = [clusters_needed(0.3, ClusterVariance(s, 1 - s, EQUAL)) for s in (0, 0.2, 0.5, 1)]
    assert needed == sorted(set(needed))
    alike = ClusterVariance(0.4, 0.6, np.full(15, 8.0))
    assert clusters_needed(0.3, ClusterVariance(0.4, 0.6, UNEQUAL)) > clusters_needed(0.3, alike)


def test_what_shows_no_spread_is_refused():
    with pytest.raises(DataError, match="clusters must be at least two"):
        ClusterVariance.of([0.1, 0.2], ["a", "a"])
    with pytest.raises(DataError, match="known must have a variance above 0"):
        clusters_needed(0.1, ClusterVariance(0.0, 0.0, EQUAL))
    with pytest.raises(DataError, match="difference"):
        clusters_needed(0.0, ClusterVariance(0.1, 0.1, EQUAL))
    assert ClusterVariance(0.0, 0.0, EQUAL).share_between == 0.0
