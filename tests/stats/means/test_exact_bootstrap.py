"""Second witnesses: enumeration of all resamples, convolution with np.convolve, simulation."""

import itertools

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rageval_report.stats.means import exact_bootstrap
from rageval_report.stats.means.exact_bootstrap import bootstrap_law, lattice_spacing

LEVELS = (0.005, 0.025, 0.05, 0.3, 0.5, 0.8, 0.95, 0.975, 0.995)


def all_means(scores):
    """The mean of every one of the n**n resamples, in order."""
    sums = [sum(resample) for resample in itertools.product(scores, repeat=len(scores))]
    return np.sort(sums) / len(scores)


def quantile_of(ordered, level):
    return ordered[int(np.ceil(level * ordered.size - 1e-9)) - 1]


def standard_error(scores):
    return np.std(scores) / np.sqrt(len(scores))


@pytest.mark.parametrize(
    "scores",
    [
        [0, 1],
        [0, 0, 1, 1, 1],
        [0.1, 0.4, 0.4, 0.8, 0.9],
        [1, 1 / 2, 1 / 3, 1 / 4, 1],
        [-3, 2, 2, 7, 11, 40],
    ],
)
def test_scores_on_a_lattice_give_the_quantiles_of_all_resamples(scores):
    law, means = bootstrap_law(np.array(scores, dtype=float)), all_means(scores)
    found = [law.quantile(level) for level in LEVELS]
    assert law.on_lattice
    assert found == pytest.approx([quantile_of(means, level) for level in LEVELS], abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_other_scores_give_the_quantiles_of_all_resamples_closely(seed):
    scores = np.random.default_rng(seed).lognormal(size=5)
    law, means = bootstrap_law(scores), all_means(scores)
    found = [law.quantile(level) for level in LEVELS]
    expected = [quantile_of(means, level) for level in LEVELS]
    assert not law.on_lattice
    assert found == pytest.approx(expected, abs=0.003 * standard_error(scores))


@pytest.mark.parametrize("scores", [[0, 0, 1, 1, 1], [0.1, 0.4, 0.4, 0.8, 0.9], [0, 1, 5, 7, 9]])
def test_the_midrank_counts_half_of_the_resamples_that_tie(scores):
    means, mean = all_means(scores), np.mean(scores)
    tied = np.abs(means - mean) < 1e-9
    expected = np.mean(means < mean - 1e-9) + tied.mean() / 2
    assert bootstrap_law(np.array(scores, dtype=float)).midrank() == pytest.approx(expected)


def test_the_midrank_of_scores_off_a_lattice_is_that_of_all_resamples_closely():
    scores = np.random.default_rng(5).random(6)
    means, mean = all_means(scores), scores.mean()
    expected = np.mean(means < mean - 1e-9) + np.mean(np.abs(means - mean) < 1e-9) / 2
    assert bootstrap_law(scores).midrank() == pytest.approx(expected, abs=2e-3)


@pytest.mark.parametrize(
    "histogram", [(3, 0, 20, 5, 0, 12), (1, 0, 0, 0, 99), (40, 20, 20, 20), (150, 50)]
)
def test_a_lattice_of_many_queries_gives_the_folded_histogram(histogram):
    counts = np.array(histogram)
    n, folded = counts.sum(), np.ones(1)
    for _ in range(n):
        folded = np.convolve(folded, counts / n)
    scores = np.repeat(np.arange(counts.size) / 5, counts)
    law, cumulative = bootstrap_law(scores), np.cumsum(folded)
    for level in LEVELS:
        expected = np.searchsorted(cumulative, level) / (5 * n)
        assert law.quantile(level) == pytest.approx(expected, abs=1e-12)


def test_shares_are_binomial():
    law = bootstrap_law(np.repeat([0.0, 1.0], [300, 99_700]))
    for level in LEVELS:
        expected = scipy.stats.binom.ppf(level, 100_000, 0.997) / 100_000
        assert law.quantile(level) == pytest.approx(expected, abs=1e-12)


def hard_columns():
    rng = np.random.default_rng(1)
    outlier = np.concatenate(([50.0], rng.random(499)))
    almost = np.concatenate(([0.32178], rng.integers(0, 2, 999)))
    return {
        "two of a thousand": np.concatenate(([0.3217, 0.8123], np.zeros(998))),
        "five of a thousand": np.concatenate((rng.random(5), np.zeros(995))),
        "one outlier": outlier,
        "shares but for one score": almost,
        "shares with noise": rng.integers(0, 2, 1000) + 1e-4 * rng.random(1000),
        "heavy tails": rng.standard_t(1.5, 800),
        "reciprocal ranks": 1 / np.minimum(rng.geometric(0.4, 1000), 10),
        "half of them one": np.where(rng.random(300) < 0.5, 1.0, rng.beta(8, 2, 300)),
    }


@pytest.mark.parametrize("name", hard_columns().keys())
def test_columns_that_are_no_bell_agree_with_a_far_finer_grid(name, monkeypatch):
    scores = hard_columns()[name]
    law = bootstrap_law(scores)
    for grid in ("GRID_POINTS", "MOST_LATTICE_POINTS"):
        monkeypatch.setattr(exact_bootstrap, grid, 2**18)
    finer = bootstrap_law(scores)
    slack = 0.005 * standard_error(scores)
    for level in LEVELS:
        assert law.quantile(level) == pytest.approx(finer.quantile(level), abs=slack)
    assert law.midrank() == pytest.approx(finer.midrank(), abs=1e-3)


@pytest.mark.parametrize("name", ["two of a thousand", "five of a thousand", "one outlier"])
def test_columns_that_are_no_bell_agree_with_simulated_resamples(name):
    scores, rng, resamples = hard_columns()[name], np.random.default_rng(0), 20_000
    distinct, counts = np.unique(scores, return_counts=True)
    weights = rng.multinomial(scores.size, counts / scores.size, size=resamples)
    means = weights @ distinct / scores.size
    law, gap = bootstrap_law(scores), 0.003 * standard_error(scores)
    for level in (0.025, 0.2, 0.5, 0.8, 0.975):
        noise = 4 * np.sqrt(level * (1 - level) / resamples)
        limit = law.quantile(level)
        assert np.mean(means <= limit - gap) <= level + noise
        assert np.mean(means <= limit + gap) >= level - noise


def test_a_smooth_column_has_the_spread_and_skewness_of_its_mean():
    scores = np.random.default_rng(2).lognormal(size=5000)
    law = bootstrap_law(scores)
    expansion = scipy.stats.skew(scores) / np.sqrt(scores.size) / 6  # Cornish and Fisher
    for level in (0.025, 0.16, 0.84, 0.975):
        z = scipy.stats.norm.ppf(level)
        expected = scores.mean() + (z + expansion * (z * z - 1)) * standard_error(scores)
        assert law.quantile(level) == pytest.approx(expected, abs=0.005 * standard_error(scores))


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([0, 1], 1),
        ([0.1, 0.3, 0.7], 0.2),
        ([0, 1 / 3, 1 / 2, 1], 1 / 6),
        ([1 / 10, 1 / 9, 1 / 8, 1 / 7, 1], 1 / 2520),
        (np.unique(np.float32([0.1, 0.2, 0.3, 0.7])).astype(float), 0.1),
        ([0.3, 0.1 + 0.2, 0.6], 0.3),
        ([-2, 4, 13], 3),
    ],
)
def test_the_step_of_a_lattice_is_found(values, step):
    assert lattice_spacing(np.unique(values)) == pytest.approx(step, rel=1e-6)


@pytest.mark.parametrize("values", [[0, 1, np.pi], [0, 1, 1 + 1e-5], [0, 0.5, 0.7071, 1.2345678]])
def test_values_without_a_step_have_none(values):
    assert lattice_spacing(np.array(values, dtype=float)) is None


@settings(max_examples=40)
@given(
    st.lists(st.floats(-10, 10, width=32), min_size=2, max_size=30),
    st.floats(0.001, 0.999),
    st.floats(0.1, 100),
    st.floats(-50, 50),
)
def test_the_law_moves_and_stretches_with_the_scores(scores, level, scale, shift):
    scores = np.array(scores)
    assume(np.ptp(scores) > 1e-3)
    moved = bootstrap_law(scores * scale + shift)
    assert moved.midrank() == pytest.approx(bootstrap_law(scores).midrank(), abs=5e-3)
    # a level at which the law jumps may fall on either side of the jump
    low, high = (bootstrap_law(scores).quantile(level + by) for by in (-1e-6, 1e-6))
    slack = 0.01 * standard_error(scores) * scale
    assert low * scale + shift - slack <= moved.quantile(level) <= high * scale + shift + slack


def test_the_quantiles_of_a_smooth_column_grow_with_every_level():
    law = bootstrap_law(np.random.default_rng(4).random(30))
    quantiles = [law.quantile(level) for level in np.linspace(0.4, 0.6, 4001)]
    assert min(np.diff(quantiles)) > 0.0
