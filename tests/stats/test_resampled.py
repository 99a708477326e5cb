"""Witness: the resamples written out and handed to NumPy 2's mean, median and quantile."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm, t

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import resampled
from rageval_report.stats.resampled import (
    bootstrap_counts,
    bootstrap_pvalue,
    expanded_limits,
    resampled_statistics,
)
from rageval_report.stats.row_order import canonical_order

RNG = np.random.default_rng(2)
SCORES = RNG.random((11, 3))
GAPS = SCORES.copy()
GAPS[[2, 5]] = np.nan

WITNESSES = {
    "mean": np.mean,
    "median": np.median,
    "p95": lambda kept, axis: np.quantile(kept, 0.95, axis=axis),
    "p12.5": lambda kept, axis: np.quantile(kept, 0.125, axis=axis),
}


@pytest.mark.parametrize("scores", [SCORES, GAPS], ids=["complete", "with gaps"])
@pytest.mark.parametrize("name", ["mean", "median", "p95", "p12.5"])
def test_each_resample_is_what_numpy_says_of_its_rows(scores, name):
    drawn = resampled_statistics([scores], [name], n_resamples=60, seed=4)
    [counts] = bootstrap_counts(11, 60, 4)
    scores = scores[canonical_order(scores)]
    for row, count in zip(drawn[:, 0], counts.astype(int), strict=True):
        kept = np.repeat(scores, count, axis=0)
        kept = kept[~np.isnan(kept).any(axis=1)]
        witness = WITNESSES[name](kept, axis=0)
        np.testing.assert_allclose(row, witness, atol=1e-12)


def test_all_blocks_stand_on_the_same_resamples():
    drawn = resampled_statistics([SCORES, 2 * SCORES], ["mean", "mean"], n_resamples=50)
    np.testing.assert_allclose(drawn[:, 1], 2 * drawn[:, 0])


def test_a_resample_draws_as_many_queries_as_there_are():
    for counts in bootstrap_counts(30, 100, seed=0):
        assert (counts.sum(axis=1) == 30).all()


def test_the_spread_is_that_of_a_mean():
    drawn = resampled_statistics([SCORES], ["mean"], n_resamples=20_000, seed=0)[:, 0]
    np.testing.assert_allclose(drawn.std(axis=0), SCORES.std(axis=0) / np.sqrt(11), rtol=0.03)


def test_a_resample_without_a_scored_row_is_undefined():
    block = np.full((3, 2), np.nan)
    block[0] = 1.0
    for name in ("mean", "median"):
        drawn = resampled_statistics([block], [name], n_resamples=200)[:, 0]
        undefined = np.isnan(drawn).all(axis=1)
        assert 0.2 < undefined.mean() < 0.4  # (2 / 3) ** 3 = 0.296
        assert (drawn[~undefined] == 1.0).all()


def test_the_seed_decides():
    first, again, other = (
        resampled_statistics([SCORES], ["mean"], n_resamples=9, seed=seed) for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_blocks_of_different_shapes_are_refused():
    with pytest.raises(DataError, match="blocks of one shape"):
        resampled_statistics([SCORES, SCORES[:, :2]], ["mean", "mean"])


def test_an_unknown_statistic_is_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'median'"):
        resampled_statistics([SCORES], ["medians"])
    with pytest.raises(UnknownNameError, match=r'must be "mean", "median" or "p95"; got 0\.95'):
        resampled_statistics([SCORES], [0.95])
    for percentile in ("p0", "p100", "p101"):
        with pytest.raises(DataError, match="a percentile must be between 0 and 100"):
            resampled_statistics([SCORES], [percentile])


@pytest.mark.parametrize(
    "blocks",
    [[], [np.ones((3, 2)), np.ones((3, 1))], [np.ones(3)], [np.ones((0, 2))], [np.ones((3, 0))]],
)
def test_blocks_must_have_one_shape_of_queries_and_pipelines(blocks):
    with pytest.raises(DataError, match="expected blocks of one shape"):
        resampled_statistics(blocks, ["mean"] * len(blocks), n_resamples=3)


@pytest.mark.parametrize("block", [1, 4, 11, 30, 700])
def test_the_size_of_a_block_changes_no_count(block, monkeypatch):
    [every] = bootstrap_counts(11, 60, 4)
    monkeypatch.setattr(resampled, "_BLOCK", block)
    parts = list(bootstrap_counts(11, 60, 4))
    assert np.concatenate(parts).tolist() == every.tolist()
    assert max(map(len, parts)) == max(1, min(60, block // 11))


# -- expanded percentiles


def test_expanded_percentiles_are_those_of_the_t_distribution():
    """SciPy 1.17: of normal draws, the limits are t times the factor of the sample's deviation."""
    draws = norm.ppf((np.arange(200_000) + 0.5) / 200_000)
    for n in (6, 20, 500):
        low, high = expanded_limits(draws, n, 0.95)
        expected = t.ppf(0.975, n - 1) * np.sqrt(n / (n - 1))
        assert (float(low), float(high)) == pytest.approx((-expected, expected), rel=2e-3)


@pytest.mark.parametrize("n", [6, 15, 80])
def test_the_pvalue_belongs_to_the_interval(n):
    draws = np.random.default_rng(1).normal(1.0, 0.5, 99_999)
    low, _ = expanded_limits(draws, n, 0.95)
    assert bootstrap_pvalue(draws, n, float(low) - 0.05) < 0.025
    assert bootstrap_pvalue(draws, n, float(low) + 0.05) > 0.025


def test_a_higher_threshold_is_never_easier_to_exceed():
    draws = np.random.default_rng(1).normal(1.0, 0.5, 999)
    pvalues = [bootstrap_pvalue(draws, 30, threshold) for threshold in np.linspace(-1, 3, 60)]
    assert (np.diff(pvalues) >= 0).all()
    assert 0 < min(pvalues) < max(pvalues) <= 1


def test_one_query_and_no_resamples_say_nothing():
    assert np.isnan(bootstrap_pvalue([1.0, 2.0], 1))
    assert np.isnan(bootstrap_pvalue([], 30))
    assert np.isnan(expanded_limits(np.ones((5, 2)), 1)[0]).all()
