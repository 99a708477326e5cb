"""Second witnesses: Clopper-Pearson by scipy 1.17.1, weighted exponentials, and by hand."""

import numpy as np
import pytest
import scipy.stats

from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.pairs.strict_limits import strict_interval, strict_pvalue
from rageval_report.stats.units import Units


def by_document(differences, documents):
    differences = np.asarray(differences, dtype=float)
    before = np.where(differences < 0, 1.0, 0.0)
    return Units.of(documents).collapse(PairedScores(before, before + differences))


@pytest.mark.parametrize(("losses", "n"), [(0, 8), (1, 30), (30, 30), (7, 900)])
@pytest.mark.parametrize("alpha", [0.05, 0.025])
def test_whole_losses_have_the_limits_of_clopper_and_pearson(losses, n, alpha):
    pairs = PairedScores.of(np.ones(n), np.repeat([0.0, 1.0], [losses, n - losses]))
    low, _ = strict_interval(pairs, 1.0, alpha)
    share = scipy.stats.binomtest(losses, n, alternative="less").proportion_ci(1 - alpha, "exact")
    assert low == pytest.approx(-share.high, rel=1e-6, abs=1e-9)
    if losses < n:
        assert strict_pvalue(pairs, low, 1.0) == pytest.approx(alpha, rel=1e-6)


def test_clusters_that_lose_everything_have_no_lower_limit_but_the_lowest():
    pairs = by_document(-np.ones(6), [0, 0, 0, 1, 1, 2])
    low, high = strict_interval(pairs, 1.0, 0.05)
    assert low == -1.0
    # Three clusters of 3, 2 and 1 that lose all, and one of 3 that wins all: by simulation.
    draws = np.random.default_rng(1).exponential(size=(400_000, 4)) * [3, 3, 2, 1]
    ratios = draws @ [1, -1, -1, -1] / draws.sum(axis=1)
    assert np.mean(ratios <= high) == pytest.approx(0.95, abs=0.0015)


def test_exchanging_the_sides_mirrors_the_limits():
    pairs = by_document([0.5, -0.25, 0.25, 0.0, 0.75, -1.0], [0, 0, 0, 1, 1, 2])
    low, high = strict_interval(pairs, 1.0, 0.05)
    mirrored = strict_interval(pairs.swapped(), 1.0, 0.05)
    assert mirrored == pytest.approx((-high, -low), abs=1e-12)


def test_a_larger_difference_of_any_cluster_raises_both_limits():
    documents = np.repeat(np.arange(7), [1, 4, 2, 2, 5, 1, 3])
    differences = np.random.default_rng(2).uniform(-0.6, 0.6, documents.size)
    low, high = strict_interval(by_document(differences, documents), 1.0, 0.05)
    for document in range(7):
        raised = differences + 0.2 * (documents == document)
        above = strict_interval(by_document(raised, documents), 1.0, 0.05)
        assert above[0] > low
        assert above[1] > high


def test_the_limits_are_nested_in_their_level():
    pairs = by_document([0.5, -0.25, 0.25, 0.0, 0.75, -0.5], [0, 0, 0, 1, 1, 2])
    limits = [strict_interval(pairs, 1.0, alpha) for alpha in (0.2, 0.05, 0.01)]
    lows, highs = zip(*limits, strict=True)
    assert list(lows) == sorted(lows, reverse=True)
    assert list(highs) == sorted(highs)


def test_many_clusters_of_different_sizes_go_into_bins():
    rng = np.random.default_rng(3)
    documents = np.repeat(np.arange(600), rng.integers(1, 4, 600))
    differences = np.repeat(rng.uniform(-0.2, 0.3, 600), np.bincount(documents))
    pairs = by_document(differences, documents)
    low, _ = strict_interval(pairs, 1.0, 0.05)
    # 600 clusters are normal enough for the ratio's standard error, and one more changes little.
    mean, error = differences.mean(), np.std(pairs.values, ddof=1) / 600**0.5
    assert low == pytest.approx(mean - 1.645 * error, abs=0.006)
    assert strict_pvalue(pairs, low, 1.0) == pytest.approx(0.05, rel=1e-4)


def test_the_limit_holds_for_documents_of_different_sizes():
    # 5 % of the documents lose everything: the mean difference of queries is -0.05 + 0.95 * 0.05.
    rng, covered, n_sets = np.random.default_rng(4), 0, 200
    for _ in range(n_sets):
        sizes = rng.integers(1, 9, 15)
        differences = np.repeat(np.where(rng.random(15) < 0.05, -1.0, 0.05), sizes)
        low, high = strict_interval(
            by_document(differences, np.repeat(np.arange(15), sizes)), 1.0, 0.05
        )
        covered += low <= -0.0025 <= high
    assert covered >= 0.95 * n_sets
