"""Second witnesses: SciPy 1.17 with many resamples, all resamples written out, NumPy 2."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from rageval_report.stats.bootstrap import (
    bootstrap_counts,
    bootstrap_interval,
    bootstrap_means,
    bootstrap_pvalue,
    expanded_limits,
    resampled_statistics,
    student_t,
)
from rageval_report.stats.columns import Column

METHODS = ["percentile", "bca", "studentised"]


def sample(name, n=60):
    rng = np.random.default_rng(7)
    return {
        "binary": rng.integers(0, 2, n).astype(float),
        "fifths": rng.integers(0, 6, n) / 5,
        "beta": rng.beta(8, 2, n),
        "lognormal": rng.lognormal(size=n),
    }[name]


def limits(interval):
    return interval.low, interval.high


# -- intervals


@pytest.mark.parametrize("name", ["binary", "fifths", "beta", "lognormal"])
@pytest.mark.parametrize(("ours", "theirs"), [("percentile", "percentile"), ("bca", "BCa")])
def test_the_limits_are_those_that_scipy_nears_with_many_resamples(name, ours, theirs):
    scores = sample(name)
    expected = scipy.stats.bootstrap(
        (scores,), np.mean, n_resamples=20_000, method=theirs, batch=5_000, rng=0
    ).confidence_interval
    noise = 0.1 * scores.std() / math.sqrt(scores.size)  # 20,000 resamples: 0.02 to a deviation
    step = 0.0 if name in {"beta", "lognormal"} else 0.2 / scores.size
    found = bootstrap_interval(Column.of(scores), ours, n_resamples=20_000)
    assert limits(found) == pytest.approx((expected.low, expected.high), abs=noise + step)


def test_the_studentised_interval_is_its_formula_over_all_resamples():
    scores = np.array([0.0, 1.0, 2.5, 3.1, 4.7, 9.9])
    draws = np.array(list(itertools.product(scores, repeat=6)))
    spread = draws.std(axis=1, ddof=1) / math.sqrt(6)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (draws.mean(axis=1) - scores.mean()) / spread
    low, high = np.nanquantile(ratios, [0.9, 0.1], method="inverted_cdf")
    found = bootstrap_interval(Column.of(scores), confidence_level=0.8, n_resamples=160_000, seed=3)
    error = scipy.stats.sem(scores)
    expected = (scores.mean() - low * error, scores.mean() - high * error)
    assert limits(found) == pytest.approx(expected, abs=0.05 * error)


@pytest.mark.parametrize("method", METHODS)
def test_a_seed_gives_the_same_limits_in_any_order_and_exchanged_sides_minus_them(method):
    scores = sample("lognormal")
    options = {"method": method, "n_resamples": 500}
    once = bootstrap_interval(Column.of(scores), **options)
    assert bootstrap_interval(Column.of(scores[::-1]), **options) == once
    turned = bootstrap_interval(Column.of(-scores), **options)
    assert (-turned.high, -turned.low) == pytest.approx(limits(once), rel=1e-12)
    assert bootstrap_interval(Column.of(scores), **options, seed=1) != once


@pytest.mark.parametrize("method", METHODS)
def test_counts_are_drawn_as_rows_are(method):
    # 240,000 scores in 6 values: counts are drawn. The mean is normal, so the t interval is near.
    column = Column.of_counts(np.arange(6) / 5, np.array([1, 2, 3, 8, 4, 6]) * 10_000.0)
    found, t = bootstrap_interval(column, method), student_t(column, 0.95)
    assert limits(found) == pytest.approx(limits(t), abs=0.1 * (t.high - t.low) / 2)


@pytest.mark.parametrize("scores", [[0.2, 0.9], [1.0, 2.0, 4.0], [0.0] * 11 + [3.7]])
def test_the_t_interval_steps_in_where_resamples_have_no_spread(scores):
    interval = bootstrap_interval(Column.of(scores))
    assert (interval.method, *limits(interval)) == (
        "t",
        *limits(student_t(Column.of(scores), 0.95)),
    )
    assert "no spread" in interval.notes[0]


def test_the_means_of_resamples_have_the_law_of_a_sum():
    means = bootstrap_means(Column.of([0.0] * 3 + [1.0]), n_resamples=40_000)
    for ones in range(5):  # binomial: four draws with a chance of 1/4
        share = scipy.stats.binom.pmf(ones, 4, 0.25)
        assert np.isclose(means, ones / 4).mean() == pytest.approx(share, abs=0.01)
    assert bootstrap_means(Column.of([0.5]), n_resamples=3).tolist() == [0.5] * 3


# -- resamples

RNG = np.random.default_rng(2)
SCORES = RNG.random((11, 3))
SCORES = SCORES[np.lexsort(SCORES.T)]  # the order in which rows are drawn
GAPS = np.vstack([SCORES[:9], np.full((2, 3), np.nan)])
WITNESSES = {
    None: np.mean,
    0.5: np.median,
    0.95: lambda kept, axis: np.quantile(kept, 0.95, axis=axis),
    0.125: lambda kept, axis: np.quantile(kept, 0.125, axis=axis),
}


@pytest.mark.parametrize("counts", [np.ones(30), [1.0, 9.0, 20.0], [3.0, 997.0]])
def test_a_resample_draws_as_many_numbers_as_there_are_in_their_proportion(counts):
    drawn = np.concatenate(list(bootstrap_counts(counts, 2000, seed=0)))
    total = np.sum(counts)
    assert (drawn.sum(axis=1) == total).all()
    shares = np.asarray(counts) / total
    noise = np.sqrt(total * shares * (1 - shares) / 2000)
    assert np.abs(drawn.mean(axis=0) - counts).max() < 4.5 * noise.max()


@pytest.mark.parametrize("scores", [SCORES, GAPS], ids=["complete", "with gaps"])
@pytest.mark.parametrize("name", WITNESSES)
def test_each_resample_is_what_numpy_says_of_its_rows(scores, name):
    drawn = resampled_statistics([scores, 2 * scores], [name, name], n_resamples=60, seed=4)
    [counts] = bootstrap_counts(np.ones(11), 60, 4)
    for row, count in zip(drawn, counts.astype(int), strict=True):
        kept = np.repeat(scores, count, axis=0)
        witness = WITNESSES[name](kept[~np.isnan(kept).any(axis=1)], axis=0)
        np.testing.assert_allclose(row, [witness, 2 * witness], atol=1e-12)


def test_clusters_are_drawn_whole():
    scores = np.arange(6.0)[:, np.newaxis]
    drawn = resampled_statistics([scores], [None], clusters=list("aabbbb"), n_resamples=200)
    # a alone, b alone, or one of each: (1 + 14) / 6
    assert np.unique(drawn).tolist() == [0.5, 2.5, 3.5]


# -- expanded percentiles


def test_expanded_percentiles_are_those_of_the_t_distribution():
    draws = scipy.stats.norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    for n in (6, 20, 500):
        low, high = expanded_limits(draws, n, 0.95)
        expected = scipy.stats.t.ppf(0.975, n - 1) * np.sqrt(n / (n - 1))
        assert (float(low), float(high)) == pytest.approx((-expected, expected), rel=2e-3)


@pytest.mark.parametrize("n", [6, 15, 80])
def test_the_pvalue_belongs_to_the_interval_and_rises_with_the_threshold(n):
    draws = np.random.default_rng(1).normal(1.0, 0.5, 99_999)
    low, _ = expanded_limits(draws, n, 0.95)
    thresholds = [-1.0, float(low) - 0.05, float(low) + 0.05, 1.0, 3.0]
    pvalues = [bootstrap_pvalue(draws, n, threshold) for threshold in thresholds]
    assert 0 < pvalues[0] <= pvalues[1] < 0.025 < pvalues[2] < pvalues[3] < pvalues[4] <= 1
