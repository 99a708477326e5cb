import datetime as dt
import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import clustered_standard_error
from rageval_report.stats.clusters import clustered_interval


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
    hat = design @ np.linalg.inv(design.T @ design) @ design.T
    keep = np.eye(n) - hat
    columns = []
    for label in labels:
        inside = clusters == label
        eigenvalues, vectors = np.linalg.eigh(keep[np.ix_(inside, inside)])
        inverse_root = vectors @ np.diag(eigenvalues**-0.5) @ vectors.T
        columns.append(keep[:, inside] @ inverse_root @ design[inside, 0] / n)
    form = np.column_stack(columns)
    variance = ((form.T @ (keep @ values)) ** 2).sum()
    gram = form.T @ form
    return math.sqrt(variance), np.trace(gram) ** 2 / (gram**2).sum()


# The standard error


@pytest.mark.parametrize(("kind", "corrected"), [("CR0", False), ("CR1", True)])
def test_the_plain_standard_errors_are_those_of_statsmodels(scores, kind, corrected):
    values, clusters = scores
    fit = sm.OLS(values, np.ones(60)).fit(  # statsmodels 0.15
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
    standard_error, df = general_cr2(values, clusters)
    assert found.standard_error == pytest.approx(standard_error, rel=1e-9)
    assert found.df == pytest.approx(df, rel=1e-9)


def test_clusters_of_equal_size_have_one_degree_of_freedom_less_than_their_number():
    clusters = np.repeat(np.arange(7), 4)
    found = clustered_standard_error(np.random.default_rng(0).random(28), clusters)
    assert found.df == pytest.approx(6.0, rel=1e-12)


def test_clusters_of_one_query_give_the_ordinary_standard_error():
    values = np.random.default_rng(2).random(12)
    found = clustered_standard_error(values, np.arange(12))
    assert found.standard_error == pytest.approx(scipy_stats.sem(values), rel=1e-12)  # scipy 1.17.1
    assert found.df == pytest.approx(11.0, rel=1e-12)
    assert found.design_effect == pytest.approx(1.0, rel=1e-12)


def test_repeating_every_query_does_not_make_the_mean_more_certain():
    values = np.random.default_rng(3).random(10)
    found = clustered_standard_error(np.repeat(values, 5), np.repeat(np.arange(10), 5))
    assert found.standard_error == pytest.approx(scipy_stats.sem(values), rel=1e-12)
    assert found.df == pytest.approx(9.0, rel=1e-12)
    assert found.design_effect == pytest.approx(5.0 * 49 / 45, rel=1e-12)


def test_one_cluster_has_no_standard_error():
    found = clustered_standard_error([0.1, 0.5], ["a", "a"])
    assert math.isnan(found.standard_error)
    assert (found.df, found.n_clusters, found.estimate) == (0.0, 1, 0.3)


def test_equal_scores_have_no_design_effect():
    found = clustered_standard_error(np.full(6, 0.1), np.repeat([1, 2], 3))
    assert found.standard_error == pytest.approx(0.0, abs=1e-15)
    assert math.isnan(found.design_effect)


# Labels


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "a", "b", "b", "c"],
        [7, 7, 8, 8, -9],
        np.array([0.5, 0.5, 1.5, 1.5, 2.5]),
        np.array(["doc 1", "doc 1", "doc 2", "doc 2", "doc 3"]),
        [1, 1, "1", "1", 2.5],
        np.array(
            ["2024-01-01", "2024-01-01", "2024-01-02", "2024-01-02", "2024-01-03"], "datetime64[D]"
        ),
        [dt.date(2024, 1, 1)] * 2 + [dt.date(2024, 1, 2)] * 2 + [dt.date(2024, 1, 3)],
        [True, True, False, False, "neither"],
        pd.Series(["a", "a", "b", "b", "c"]),
        pd.Series(["a", "a", "b", "b", "c"], dtype="category"),
        pd.Series([1, 1, 2, 2, 3], dtype="Int64"),
    ],
    ids=lambda labels: f"{type(labels).__name__}-{getattr(labels, 'dtype', '')}",
)
def test_labels_may_be_of_any_plain_kind(labels):
    values = [0.1, 0.4, 0.3, 0.9, 0.5]
    expected = clustered_standard_error(values, [0, 0, 1, 1, 2])
    assert clustered_standard_error(values, labels) == expected


@pytest.mark.parametrize(
    "labels",
    [
        ["a", None, "b"],
        ["a", math.nan, "b"],
        ["a", " ", "b"],
        np.array(["a", "", "b"]),
        [1.0, math.nan, 2.0],
        np.array([1.0, math.nan, 2.0]),
        np.array(["2024-01-01", "NaT", "2024-01-02"], "datetime64[ns]"),
        pd.Series(["a", pd.NA, "b"], dtype="string"),
        pd.Series([1, pd.NA, 2], dtype="Int64"),
    ],
    ids=lambda labels: f"{type(labels).__name__}-{getattr(labels, 'dtype', '')}",
)
def test_a_query_without_a_cluster_is_an_error_that_says_where(labels):
    with pytest.raises(DataError, match="1 have none, the first at position 1"):
        clustered_standard_error([0.1, 0.2, 0.3], labels)


def test_labels_that_cannot_be_told_apart_are_an_error():
    labels = np.empty(2, dtype=object)
    labels[:] = [["a"], ["b"]]
    with pytest.raises(DataError, match="clusters must be texts, numbers or other plain labels"):
        clustered_standard_error([0.1, 0.2], labels)


def test_a_label_too_few_is_an_error():
    with pytest.raises(
        DataError, match=r"two arrays of equal length; got shapes \(3,\) and \(2,\)"
    ):
        clustered_standard_error([0.1, 0.2, 0.3], ["a", "b"])


def test_unscored_queries_are_left_out_with_their_clusters():
    found = clustered_standard_error([0.1, 0.4, math.nan, 0.9, math.nan], ["a", "a", "b", "b", "c"])
    assert found == clustered_standard_error([0.1, 0.4, 0.9], ["a", "a", "b"])


def test_nothing_scored_is_an_error():
    with pytest.raises(DataError, match="no query has a score"):
        clustered_standard_error([math.nan], ["a"])


def test_infinite_scores_are_an_error():
    with pytest.raises(DataError, match="1 are infinite"):
        clustered_standard_error([math.inf, 0.1], ["a", "b"])


def test_an_unknown_kind_answers_with_the_known_ones():
    with pytest.raises(UnknownNameError, match='kind must be "CR0", "CR1" or "CR2"; got "CR3"'):
        clustered_standard_error([0.1, 0.2], ["a", "b"], "CR3")


# The interval


def test_without_bounds_it_is_the_t_interval_on_the_degrees_of_freedom(scores):
    spread = clustered_standard_error(*scores)
    reach = scipy_stats.t.ppf(0.95, spread.df) * spread.standard_error  # scipy 1.17.1
    found = clustered_interval(*scores, confidence_level=0.9)
    expected = (spread.estimate - reach, spread.estimate + reach)
    assert (found.low, found.high) == pytest.approx(expected, rel=1e-9)
    assert (found.method, found.confidence_level) == ("cr2", 0.9)


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


def test_bounds_of_another_scale_move_the_interval_with_them():
    values, clusters = [1, 5, 4, 4, 2, 3, 5], [1, 1, 2, 2, 2, 3, 3]
    ratings = clustered_interval(values, clusters, bounds=(1, 5))
    shares = clustered_interval((np.array(values) - 1) / 4, clusters, bounds=(0, 1))
    assert (ratings.low, ratings.high) == pytest.approx((1 + 4 * shares.low, 1 + 4 * shares.high))


@settings(max_examples=40)
@given(answers=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 4)), min_size=2, max_size=20))
def test_with_bounds_it_holds_the_estimate_and_stays_within_them(answers):
    values, clusters = np.array(answers).T
    found = clustered_interval(values, clusters, bounds=(0, 1))
    if np.unique(clusters).size > 1:
        assert 0.0 <= found.low <= found.estimate <= found.high <= 1.0
        assert found.low < found.high


@pytest.mark.parametrize("score", [0.0, 0.4, 1.0])
def test_clusters_that_agree_count_once_each_and_never_give_certainty(score):
    found = clustered_interval(np.full(30, score), np.repeat(np.arange(6), 5), bounds=(0, 1))
    z2 = scipy_stats.t.ppf(0.975, 5) ** 2
    centre = (score + z2 / 12) / (1 + z2 / 6)
    reach = math.sqrt(z2 / 6 * score * (1 - score) + (z2 / 12) ** 2) / (1 + z2 / 6)
    assert found.low == pytest.approx(centre - reach, abs=1e-12)
    assert found.high == pytest.approx(centre + reach, abs=1e-12)
    assert "same mean" in found.notes[0]


def test_clusters_that_agree_have_no_width_without_bounds_and_a_note():
    found = clustered_interval([0.2, 0.4, 0.4, 0.2], [1, 1, 2, 2])
    assert found.high - found.low == pytest.approx(0.0, abs=1e-12)
    assert "same mean" in found.notes[0]


@pytest.mark.parametrize("bounds", [None, (0, 1)])
def test_one_cluster_has_no_interval(bounds):
    found = clustered_interval([0.2, 0.4], ["a", "a"], bounds=bounds)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.notes == ("one cluster: no interval",)


def test_scores_outside_the_bounds_are_an_error():
    with pytest.raises(
        DataError, match=r"must lie within the bounds 0 and 1; 1 do not, e\.g\. 1\.2"
    ):
        clustered_interval([0.1, 1.2], ["a", "b"], bounds=(0, 1))


def test_scores_outside_the_bounds_by_rounding_are_not():
    found = clustered_interval([0.1, 1.0 + 1e-12, 0.3], ["a", "b", "c"], bounds=(0, 1))
    assert found.high <= 1.0


def test_bounds_must_be_in_order():
    with pytest.raises(DataError, match=r"bounds must be the smallest and the largest score"):
        clustered_interval([0.1, 0.2], ["a", "b"], bounds=(1, 0))
