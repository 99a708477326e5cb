"""Second witnesses: scipy 1.17.1 with many resamples, enumeration of all resamples."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from rageval_report.stats import mean_interval
from rageval_report.stats.means.bootstrap import bca, percentile, studentised

LEVEL = 0.95


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


@pytest.mark.parametrize("name", ["binary", "fifths", "beta", "lognormal"])
@pytest.mark.parametrize(("ours", "theirs"), [(percentile, "percentile"), (bca, "BCa")])
def test_the_limits_are_those_that_scipy_nears_with_many_resamples(name, ours, theirs):
    scores = sample(name)
    expected = scipy.stats.bootstrap(
        (scores,), np.mean, n_resamples=50_000, method=theirs, batch=5_000, rng=0
    ).confidence_interval
    noise = 0.05 * scores.std() / math.sqrt(scores.size)  # 50 000 resamples: 0.012 to a deviation
    step = 0.0 if name in {"beta", "lognormal"} else 0.2 / scores.size
    assert limits(ours(scores, confidence_level=LEVEL)) == pytest.approx(
        (expected.low, expected.high), abs=noise + step
    )


def test_bca_is_its_formula_over_all_resamples():
    scores = np.array([0.0, 0.2, 0.2, 0.6, 1.0])
    means = np.sort([sum(each) for each in itertools.product(scores, repeat=5)]) / 5
    tied = np.abs(means - 0.4) < 1e-9
    bias = scipy.stats.norm.ppf(np.mean(means < 0.4 - 1e-9) + tied.mean() / 2)
    jackknife = np.array([np.delete(scores, i).mean() for i in range(5)])
    pulls = jackknife.mean() - jackknife
    acceleration = np.sum(pulls**3) / (6 * np.sum(pulls**2) ** 1.5)
    expected = []
    for z in scipy.stats.norm.ppf([0.1, 0.9]):
        level = scipy.stats.norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))
        expected.append(means[int(np.ceil(level * means.size)) - 1])
    assert limits(bca(scores, confidence_level=0.8)) == pytest.approx(expected)


def test_the_studentised_interval_is_its_formula_over_all_resamples():
    scores = np.array([0.0, 1.0, 2.5, 3.1, 4.7, 9.9])
    draws = np.array(list(itertools.product(scores, repeat=6)))
    spread = draws.std(axis=1, ddof=1) / math.sqrt(6)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (draws.mean(axis=1) - scores.mean()) / spread
    low, high = np.nanquantile(ratios, [0.9, 0.1], method="inverted_cdf")
    [interval] = studentised([scores], confidence_level=0.8, n_resamples=160_000, seed=3)
    error = scipy.stats.sem(scores)
    expected = (scores.mean() - low * error, scores.mean() - high * error)
    assert limits(interval) == pytest.approx(expected, abs=0.05 * error)


def test_columns_that_share_their_resamples_have_the_intervals_that_they_have_alone():
    rng = np.random.default_rng(5)
    columns = [rng.lognormal(size=n) for n in (60, 333, 60, 60, 333, 7)] + [np.full(60, 0.4)]
    options = {"confidence_level": 0.9, "n_resamples": 2_000, "seed": 4}
    together = studentised(columns, **options)
    assert together == [studentised([column], **options)[0] for column in columns]


def test_the_studentised_interval_reaches_further_on_the_side_of_the_tail():
    scores = sample("lognormal")
    interval = mean_interval(scores, method="studentised", n_resamples=999)
    assert interval.high - interval.estimate > 1.3 * (interval.estimate - interval.low)


def test_the_same_seed_gives_the_same_limits():
    scores = sample("lognormal")
    one, two, other = (mean_interval(scores, method="studentised", seed=s) for s in (0, 0, 1))
    assert one == two
    assert limits(one) != limits(other)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_exact_limits_know_no_seed(method):
    scores = sample("beta")
    assert mean_interval(scores, method=method, seed=0) == mean_interval(
        scores, method=method, seed=1, n_resamples=1
    )


@pytest.mark.parametrize("scores", [[0.2, 0.9], [1.0, 2.0, 4.0], [0.0] * 11 + [3.7]])
def test_the_t_interval_steps_in_where_resamples_have_no_spread(scores):
    interval = mean_interval(scores, method="studentised")
    t = mean_interval(scores, method="t")
    assert (interval.method, *limits(interval)) == ("t", *limits(t))
    assert "no spread" in interval.notes[0]


def test_one_resample_is_enough_to_say_that_it_is_not_enough():
    interval = mean_interval(sample("beta"), method="studentised", n_resamples=1)
    assert interval.low == interval.high  # one ratio is every quantile of itself


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_two_scores_have_themselves_as_limits(method):
    interval = mean_interval([1.0, 4.0], method=method)  # a quarter of resamples is 1, 1
    assert limits(interval) == (1.0, 4.0)


def test_a_very_high_level_reaches_no_further_than_the_scores():
    scores = sample("lognormal", 8)
    interval = mean_interval(scores, method="bca", confidence_level=1 - 1e-9)
    assert interval.low >= scores.min()
    assert interval.high <= scores.max()
