"""Second witnesses: the integrals of the scores themselves, by NumPy 2.4.6."""

import numpy as np
import pytest

from rageval_report.stats.means.score_bins import bin_scores

DRAWS = {
    "uniform": lambda rng, n: rng.random(n),
    "near one": lambda rng, n: rng.beta(8, 0.5, n),
    "near zero": lambda rng, n: 1e-4 * rng.exponential(size=n),
    "all magnitudes": lambda rng, n: 10 ** rng.uniform(-8, 0, n),
}


@pytest.mark.parametrize("draw", DRAWS.values(), ids=list(DRAWS))
def test_counts_means_and_third_powers_are_those_of_the_scores(draw):
    scores = np.clip(draw(np.random.default_rng(0), 100_000), 0, 1)
    binned = bin_scores(scores, float(scores.mean()), (0, 1))
    assert binned.scores.size <= 128
    assert binned.counts.sum() == pytest.approx(scores.size, rel=1e-12)
    for power in (1, 2, 3):
        expected = np.sum(scores**power)
        assert np.dot(binned.counts, binned.scores**power) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=list(DRAWS))
@pytest.mark.parametrize("factor", [0.001, 0.01, 0.1])
def test_the_sum_of_logarithms_that_a_limit_needs_is_kept(draw, factor):
    scores = np.clip(draw(np.random.default_rng(1), 5_000), 0, 1)
    mean = float(scores.mean())
    binned = bin_scores(scores, mean, (0, 1))
    z = factor / mean * (1 + 1j)  # a limit of 5,000 scores is computed around 0.03 / mean
    expected = np.sum(np.log1p(z * scores))
    assert np.dot(binned.counts, np.log1p(z * binned.scores)) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("bounds", [(0, 1), (-1, 2)])
def test_one_or_two_scores_in_a_bin_stay_what_they_are(bounds):
    scores = np.repeat([0.0, 0.2, 0.9, 1.0], [500, 3, 40, 7000])
    binned = bin_scores(scores, float(scores.mean()), bounds)
    order = np.argsort(binned.scores)
    assert binned.scores[order] == pytest.approx([0.0, 0.2, 0.9, 1.0], abs=1e-14)
    assert binned.counts[order] == pytest.approx([500, 3, 40, 7000], rel=1e-12)


def test_equal_scores_are_one_number():
    binned = bin_scores(np.full(1000, 0.3), 0.3, (0, 1))
    assert binned.scores == pytest.approx([0.3], rel=1e-15)
    assert binned.counts == pytest.approx([1000])


def test_scores_in_many_blocks_are_binned_together():
    scores = np.random.default_rng(2).beta(2, 5, 2**15 + 100)
    mean = float(scores.mean())
    whole = bin_scores(scores, mean, (0, 1))
    turned = bin_scores(scores[::-1], mean, (0, 1))
    assert turned.scores == pytest.approx(whole.scores, rel=1e-9)
    assert turned.counts == pytest.approx(whole.counts, rel=1e-9)
