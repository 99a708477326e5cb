"""Second witnesses: the multinomial and Poisson distributions of scipy 1.17.1, arithmetic."""

import math

import numpy as np
import pytest
import scipy.stats

from rageval_report.errors import DataError
from rageval_report.stats import resampling
from rageval_report.stats.resampling import bootstrap_means, sign_flip_means

NAN = math.nan


def is_plausible(counts, chances):
    """Whether counts could come from these chances: a chi-square p-value above 1e-4."""
    return scipy.stats.chisquare(counts, chances * counts.sum()).pvalue > 1e-4


@pytest.mark.parametrize(("ones", "n"), [(3, 9), (20, 40), (30, 600)])
def test_the_mean_of_zeros_and_ones_is_binomial(ones, n):
    scores = np.repeat([1.0, 0.0], [ones, n - ones])
    sums = np.rint(bootstrap_means(scores, n_resamples=20_000, seed=1)[:, 0] * n).astype(int)
    low, high = scipy.stats.binom.ppf([0.01, 0.99], n, ones / n).astype(int)
    binned = np.clip(sums, low, high) - low
    chances = scipy.stats.binom.pmf(np.arange(low, high + 1), n, ones / n)
    chances[0] = scipy.stats.binom.cdf(low, n, ones / n)
    chances[-1] = scipy.stats.binom.sf(high - 1, n, ones / n)
    assert is_plausible(np.bincount(binned, minlength=chances.size), chances)


@pytest.mark.parametrize("n", [3, 8, 12])
def test_the_weights_of_the_queries_are_multinomial(n):
    means = bootstrap_means(np.eye(n), n_resamples=20_000, seed=2)
    weights = np.rint(means * n)
    assert np.all(weights.sum(axis=1) == n)
    covariance = np.cov(weights, rowvar=False)
    expected = np.eye(n) - 1 / n  # n draws of chance 1/n: variance 1 - 1/n, covariance -1/n
    assert covariance == pytest.approx(expected, abs=5 * 1.5 / math.sqrt(20_000))


@pytest.mark.parametrize("rate", [0.2, 0.7, 0.97])
def test_counts_are_poisson(rate):
    counts = resampling._PoissonCounts(rate).draw(np.random.default_rng(0), 100, 5_000)
    seen = np.bincount(np.minimum(counts.ravel(), 4), minlength=5)
    chances = scipy.stats.poisson.pmf(np.arange(5), rate)
    chances[4] = scipy.stats.poisson.sf(3, rate)
    assert is_plausible(seen, chances)


def test_counts_of_rate_zero_are_zero():
    assert not resampling._PoissonCounts(0.0).draw(np.random.default_rng(0), 10, 7).any()


@pytest.mark.parametrize("rate", [0.2, 0.7, 0.97])
def test_the_two_parts_of_the_poisson_distribution_add_up_to_it(rate):
    counts = resampling._PoissonCounts(rate)
    edges = counts.edges.astype(float)
    by_bytes = np.zeros(24)
    by_bytes[: edges.size] = np.diff(edges, prepend=0.0) / 256
    left_over = (256 - edges[-1]) / 256 * np.diff(counts.rest, prepend=0.0)
    expected = scipy.stats.poisson.pmf(np.arange(24), rate)
    assert by_bytes + left_over == pytest.approx(expected, abs=1e-15)


def test_every_column_sees_the_same_resamples():
    scores = np.random.default_rng(0).random(50)
    means = bootstrap_means(np.column_stack((scores, 3 - 2 * scores)), n_resamples=50, seed=3)
    assert means[:, 1] == pytest.approx(3 - 2 * means[:, 0])


def test_the_spread_of_the_means_is_the_standard_error():
    scores = np.random.default_rng(0).lognormal(size=(2000, 2)) + 1e6
    means = bootstrap_means(scores, n_resamples=4000, seed=0)
    error = scores.std(axis=0) / math.sqrt(2000)
    assert means.mean(axis=0) == pytest.approx(scores.mean(axis=0), abs=5 * error.max() / 63)
    assert means.std(axis=0) == pytest.approx(error, rel=0.06)


def test_unscored_rows_are_left_out_of_a_columns_mean():
    scores = np.array([[1.0, 5.0], [3.0, NAN], [2.0, 7.0], [4.0, NAN]])
    drawn = bootstrap_means(np.hstack([np.eye(4), scores]), n_resamples=200, seed=4)
    weights, means = np.rint(drawn[:, :4] * 4), drawn[:, 4:]
    counted = weights[:, [0, 2]].sum(axis=1)
    some = counted > 0
    expected = weights[some][:, [0, 2]] @ [5.0, 7.0] / counted[some]
    assert means[:, 0] == pytest.approx(weights @ [1.0, 3.0, 2.0, 4.0] / 4)
    assert means[some, 1] == pytest.approx(expected)
    assert np.isnan(means[~some, 1]).all()
    assert 0 < np.sum(~some) < 40  # a sixteenth has no scored row


def test_a_column_without_a_score_has_no_mean():
    means = bootstrap_means([[1.0, NAN], [2.0, NAN]], n_resamples=5)
    assert np.isnan(means[:, 1]).all()


def test_one_query_is_its_own_mean():
    assert bootstrap_means([0.7], n_resamples=3) == pytest.approx(np.full((3, 1), 0.7))


@pytest.mark.parametrize("draw", [bootstrap_means, sign_flip_means])
def test_the_seed_decides(draw):
    scores = np.random.default_rng(0).random(30)
    one, two, other = (draw(scores, n_resamples=20, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


@pytest.mark.parametrize("draw", [bootstrap_means, sign_flip_means])
def test_all_resamples_come_whatever_the_size_of_a_block(draw, monkeypatch):
    monkeypatch.setattr(resampling, "_TILE", (7, 11))
    means = draw(np.random.default_rng(0).random((30, 2)), n_resamples=501)
    assert means.shape == (501, 2)
    assert np.isfinite(means).all()
    assert np.unique(means[:, 0]).size > 490


def test_sign_flips_give_every_pattern_alike():
    sums = np.rint(sign_flip_means([1.0, 2.0, 4.0], n_resamples=16_000, seed=0)[:, 0] * 3)
    seen = [np.count_nonzero(sums == total) for total in range(-7, 8, 2)]
    assert sum(seen) == 16_000
    assert is_plausible(np.array(seen), np.full(8, 1 / 8))


def test_the_flips_of_a_query_are_the_same_in_every_column():
    differences = np.random.default_rng(0).normal(size=(40, 1))
    means = sign_flip_means(differences * [1.0, -2.0], n_resamples=30)
    assert means[:, 1] == pytest.approx(-2 * means[:, 0])


def test_missing_pairs_are_left_out_of_the_flipped_mean():
    differences = np.array([[1.0, 1.0, NAN], [2.0, NAN, NAN], [4.0, 4.0, NAN]])
    means = sign_flip_means(differences, n_resamples=100)
    assert set(np.rint(2 * means[:, 1])) == {-5, -3, 3, 5}
    assert np.isnan(means[:, 2]).all()


@pytest.mark.parametrize("draw", [bootstrap_means, sign_flip_means])
@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ([], {}, "at least one"),
        (np.zeros((3, 0)), {}, "at least one"),
        (np.zeros((2, 2, 2)), {}, "one row per query"),
        ([1.0, math.inf], {}, "infinite"),
        ([1.0, 2.0], {"n_resamples": 0}, "n_resamples must be an integer >= 1"),
        ([1.0, 2.0], {"seed": -1}, "seed must be an integer >= 0"),
    ],
)
def test_what_cannot_be_resampled_is_refused(draw, columns, options, message):
    with pytest.raises(DataError, match=message):
        draw(columns, **options)


@pytest.mark.parametrize("gap", [False, True])
def test_a_large_part_that_all_scores_share_costs_no_digits(gap):
    scores = np.random.default_rng(1).random((60, 2))
    scores[7, 1] = NAN if gap else 0.5
    there = bootstrap_means(scores + 2.0**30, n_resamples=50, seed=3) - 2.0**30
    # 2**30 leaves a float of 53 bits a rounding of 2**-23 for each score.
    assert there == pytest.approx(bootstrap_means(scores, n_resamples=50, seed=3), abs=2.0**-22)
