"""Second witness: enumeration of all sign patterns."""

import itertools
import math

import numpy as np
import pytest

from rageval_report.stats.maxt import westfall_young
from rageval_report.stats.sign_flips.signflip import sign_flip_pvalue

NAN = math.nan


def enumerated(differences):
    """Step-down maxT over all 2**n patterns, metric by metric."""
    n, k = differences.shape
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    scale = np.sqrt((differences**2).sum(axis=0))
    flipped = np.abs(signs @ differences) / scale
    observed = np.abs(differences.sum(axis=0)) / scale
    pvalues, largest = np.empty(k), 0.0
    left = list(range(k))
    for metric in sorted(left, key=lambda j: -observed[j]):
        share = np.mean(flipped[:, left].max(axis=1) >= observed[metric] - 1e-9)
        pvalues[metric] = largest = max(largest, share)
        left.remove(metric)
    return pvalues


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_adjusted_pvalues_are_those_of_all_patterns(seed):
    rng = np.random.default_rng(seed)
    differences = rng.normal([0.9, 0.5, 0.2, 0.0], 1.0, size=(10, 4))
    noise = 4 * 0.5 / math.sqrt(20_000)
    found = westfall_young(differences, n_resamples=20_000, seed=seed)
    assert found == pytest.approx(enumerated(differences), abs=noise)


def test_tied_sums_count_as_extreme():
    differences = np.array([[0.1, 0.3], [0.2, 0.3], [0.3, -0.3], [0.1, 0.3], [0.7, 0.3]])
    found = westfall_young(differences, n_resamples=20_000)
    assert found == pytest.approx(enumerated(differences), abs=0.015)


def test_ties_of_a_metric_on_a_lattice_count_half_by_hand():
    # One metric of six steps: of 64 patterns 7 reach the sum of 4, and 6 of them tie, on each side.
    differences = np.array([1.0, 1.0, 1.0, 1.0, 1.0, -1.0])
    (full,) = westfall_young(differences, n_resamples=50_000)
    (half,) = westfall_young(differences, n_resamples=50_000, half_ties=[True])
    assert full == pytest.approx(14 / 64, abs=0.01)
    assert half == pytest.approx(sign_flip_pvalue(differences), abs=0.01)
    assert sign_flip_pvalue(differences) == 8 / 64


def test_half_ties_of_one_metric_leave_the_others_in_full():
    differences = np.random.default_rng(5).integers(-2, 4, (12, 2)).astype(float)
    differences[:, 1] += np.random.default_rng(6).normal(0.0, 0.01, 12)
    full = westfall_young(differences, n_resamples=20_000)
    half = westfall_young(differences, n_resamples=20_000, half_ties=[True, False])
    assert (half <= full).all()
    assert half[0] < full[0]


def test_a_metric_given_twice_costs_nothing():
    differences = np.random.default_rng(0).normal(0.6, 1, size=(30, 1))
    once = westfall_young(differences)
    assert westfall_young(differences * [1.0, 5.0, -2.0]) == pytest.approx(np.repeat(once, 3))


def test_the_pvalue_of_one_metric_is_that_of_the_sign_flip_test():
    differences = np.array([0.3, 0.1, 0.4, 0.2, -0.1, 0.6])
    found = westfall_young(differences, n_resamples=50_000)
    # magnitudes add up to 1.7 and the observed sum is 1.5: all plus, either 0.1 minus, mirrored
    assert found == pytest.approx([6 / 64], abs=0.006)


def test_adjusted_pvalues_never_fall_along_the_ranking():
    differences = np.random.default_rng(3).normal(0.3, 1, size=(25, 8))
    pvalues = westfall_young(differences, n_resamples=999)
    statistic = np.abs(differences.sum(axis=0)) / np.sqrt((differences**2).sum(axis=0))
    assert np.all(np.diff(pvalues[np.argsort(-statistic)]) >= 0)
    assert pvalues.min() >= 1 / 1000


def test_identical_pipelines_have_p_one():
    differences = np.column_stack((np.zeros(12), np.full(12, 0.2)))
    assert westfall_young(differences, n_resamples=999)[0] == 1.0


def test_a_metric_without_a_pair_is_no_test():
    better = np.random.default_rng(1).normal(0.7, 1, 20)
    alone = westfall_young(better)
    found = westfall_young(np.column_stack((np.full(20, NAN), better)))
    assert math.isnan(found[0])
    assert found[1] == pytest.approx(alone[0])


def test_nothing_to_test_is_nan():
    assert np.isnan(westfall_young([[NAN, NAN]])).all()


def test_missing_pairs_do_not_move_the_other_metrics():
    differences = np.random.default_rng(2).normal(0.4, 1, size=(20, 2))
    gappy = differences.copy()
    gappy[::4, 1] = NAN
    filled = differences.copy()
    filled[::4, 1] = 0.0
    assert westfall_young(gappy) == pytest.approx(westfall_young(filled))


def test_the_scale_of_a_metric_does_not_matter():
    differences = np.random.default_rng(4).normal(0.4, 1, size=(20, 3))
    assert westfall_young(differences * [1e-6, 1.0, 1e9]) == pytest.approx(
        westfall_young(differences)
    )
