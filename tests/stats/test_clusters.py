"""Clustered standard errors. Witnesses: statsmodels 0.15, SciPy 1.17.1, Bell and McCaffrey's
general formula by matrices, arithmetic by hand, simulation."""

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rageval_report.errors import DataError
from rageval_report.stats.columns import Column
from rageval_report.stats.units import (
    Units,
    clustered_interval,
    clustered_standard_error,
    error_of_sums,
    interval_of_error,
    mean_error,
)


@pytest.fixture
def scores():
    rng = np.random.default_rng(1)
    clusters = rng.integers(0, 9, 60)
    return rng.random(60) + 0.2 * clusters, clusters


def general_cr2(values, clusters):
    """CR2 and its degrees of freedom by the matrices of the general linear model.

    Bell and McCaffrey (2002): residuals of a cluster times the inverse root of its block of I - H;
    degrees of freedom of the quadratic form under equal, independent errors.
    """
    n, labels = values.size, np.unique(clusters)
    design = np.ones((n, 1))
    keep = np.eye(n) - design @ design.T / n
    columns = []
    for label in labels:
        inside = clusters == label
        eigenvalues, vectors = np.linalg.eigh(keep[np.ix_(inside, inside)])
        inverse_root = vectors @ np.diag(eigenvalues**-0.5) @ vectors.T
        columns.append(keep[:, inside] @ inverse_root @ design[inside, 0] / n)
    form = np.column_stack(columns)
    gram = form.T @ form
    variance = ((form.T @ (keep @ values)) ** 2).sum()
    return math.sqrt(variance), np.trace(gram) ** 2 / (gram**2).sum()


# The standard error


@pytest.mark.parametrize(("kind", "corrected"), [("CR0", False), ("CR1", True)])
def test_the_plain_standard_errors_are_those_of_statsmodels(scores, kind, corrected):
    values, clusters = scores
    fit = sm.OLS(values, np.ones(60)).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": corrected}
    )
    found = clustered_standard_error(values, clusters, kind)
    assert found.standard_error == pytest.approx(fit.bse[0], rel=1e-12)
    assert (found.df, found.n_clusters, found.kind) == (8.0, 9, kind)


@settings(max_examples=25)
@given(sizes=st.lists(st.integers(1, 12), min_size=2, max_size=8), seed=st.integers(0, 99))
def test_cr2_is_the_general_formula_for_a_mean(sizes, seed):
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    values = np.random.default_rng(seed).random(clusters.size)
    found = clustered_standard_error(values, clusters)
    assert (found.standard_error, found.df) == pytest.approx(general_cr2(values, clusters))


def test_sums_that_were_counted_give_the_error_of_the_scores(scores):
    values, clusters = np.tile(scores[0], 2), np.concatenate([scores[1], scores[1] + 100])
    units = Units.of(scores[1])
    sums, sizes = units.sums(scores[0]), units.sums(np.ones(60))
    found = error_of_sums(sums, sizes, np.full(9, 2))
    expected = clustered_standard_error(values, clusters)
    for name in ("standard_error", "df", "n_clusters", "estimate"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)


# The error of a mean difference


def test_the_error_of_the_differences_of_units_is_cr2(scores):
    values, clusters = scores
    expected = clustered_standard_error(values, clusters)
    assert mean_error(Column.of(values)) == pytest.approx((scipy_stats.sem(values), 59.0))
    found = mean_error(Units.of(clusters).collapse(values))
    assert found == pytest.approx((expected.standard_error, expected.df), rel=1e-12)


# The interval


def test_without_bounds_it_is_the_t_interval_on_the_degrees_of_freedom(scores):
    spread = clustered_standard_error(*scores)
    reach = scipy_stats.t.ppf(0.95, spread.df) * spread.standard_error
    found = clustered_interval(*scores, confidence_level=0.9)
    expected = (spread.estimate - reach, spread.estimate + reach)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9)
    assert (found.method, found.confidence_level) == ("cr2", 0.9)
    assert found == interval_of_error(spread, 0.9)


def test_with_bounds_it_holds_the_shares_that_are_a_t_quantile_away():
    answers = np.repeat([1.0, 0.0, 1.0, 1.0, 0.0, 1.0], [3, 1, 4, 2, 3, 4])
    clusters = np.repeat(np.arange(5), [3, 3, 4, 3, 4])
    spread = clustered_standard_error(answers, clusters)
    share = spread.estimate
    n = share * (1 - share) / spread.standard_error**2
    found = clustered_interval(answers, clusters, bounds=(0, 1))
    for limit in (found.low, found.high):
        distance = (share - limit) / math.sqrt(limit * (1 - limit) / n)
        assert abs(distance) == pytest.approx(scipy_stats.t.ppf(0.975, spread.df), rel=1e-9)


@settings(max_examples=40)
@given(answers=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4)), min_size=2, max_size=20))
def test_with_bounds_it_holds_the_estimate_and_stays_within_them(answers):
    values, clusters = np.array(answers).T
    found = clustered_interval(values, clusters, bounds=(0, 1))
    turned = clustered_interval(6 - 4 * values, clusters, bounds=(2, 6))  # of another scale
    if np.unique(clusters).size > 1:
        assert 0.0 <= found.low <= found.estimate <= found.high <= 1.0
        assert found.low < found.high
        assert (6 - 4 * found.high) == pytest.approx(turned.low)


@pytest.mark.parametrize("score", [0.0, 0.4, 1.0])
def test_clusters_that_agree_count_once_each_and_never_give_certainty(score):
    found = clustered_interval(np.full(30, score), np.repeat(np.arange(6), 5), bounds=(0, 1))
    z2 = scipy_stats.t.ppf(0.975, 5) ** 2
    centre = (score + z2 / 12) / (1 + z2 / 6)
    reach = math.sqrt(z2 / 6 * score * (1 - score) + (z2 / 12) ** 2) / (1 + z2 / 6)
    assert (found.low, found.high) == pytest.approx((centre - reach, centre + reach), abs=1e-12)
    assert "same mean" in found.notes[0]
    without = clustered_interval(np.full(30, score), np.repeat(np.arange(6), 5))
    assert (without.high - without.low, without.notes) == (pytest.approx(0.0), found.notes)


@pytest.mark.parametrize("bounds", [None, (0, 1)])
def test_one_cluster_has_no_error_and_no_interval(bounds):
    found = clustered_interval([0.2, 0.4], ["a", "a"], bounds=bounds)
    assert np.isnan([found.low, found.high, found.standard_error]).all()
    assert found.notes == ("one cluster: no interval",)
    assert clustered_standard_error([0.2, 0.4], ["a", "a"]).df == 0.0


@pytest.mark.parametrize(
    ("values", "clusters", "bounds", "message"),
    [
        ([0.1, 0.2, 0.3], ["a", "b"], None, r"one label per score; got \(2,\) for \(3,\)"),
        ([0.1, 0.2], ["a", None], None, "clusters must have a label for every score"),
        ([math.nan], ["a"], None, "no query has a score"),
        ([math.inf, 0.1], ["a", "b"], None, "1 are infinite"),
        ([0.1, 1.2], ["a", "b"], (0, 1), r"within the bounds 0 and 1; found 1\.2"),
        ([0.1, 1.2], ["a", "b"], (1, 0), "bounds must be the smallest and largest score"),
        ([0.1, 1.2], ["a", "b"], (0, math.inf), "bounds must be finite"),
    ],
)
def test_what_makes_no_sense_is_refused(values, clusters, bounds, message):
    with pytest.raises(DataError, match=message):
        clustered_interval(values, clusters, bounds=bounds)
