"""Witnesses: statsmodels 0.15.0, scikit-learn 1.9.1, irrCAC 0.4.4, krippendorff 0.9.0."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.agreement import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    krippendorff_alpha,
)

NAN = float("nan")
A = [3, 1, 2, 2, 4, 1, 3, 4, 4, 2, 1, 1, 3, 2, 4, 3, 2, 1, 4, 3]
B = [3, 1, 2, 3, 4, 1, 2, 4, 3, 2, 1, 2, 3, 2, 4, 4, 2, 1, 4, 1]
# The diagnoses of Fleiss (1971) as a common example retells them: 14 raters, 5 categories.
COUNTS = [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1]]
COUNTS += [[7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]]
# Krippendorff (2011), four observers, twelve units, missing ratings.
RATINGS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T
LEVELS = ("nominal", "ordinal", "interval", "ratio")


@pytest.mark.parametrize(
    ("weights", "kappa", "variance"),
    [
        (None, 0.6, 0.018328888888888898),
        ("linear", 0.72, 0.011762176),
        ("quadratic", 0.82, 0.008157863999999968),
    ],
)
def test_cohens_kappa_and_its_variance_are_those_of_statsmodels(weights, kappa, variance):
    found = cohen_kappa(A, B, weights)
    assert found.estimate == pytest.approx(kappa, abs=1e-12)
    assert found.standard_error**2 * 19 / 20 == pytest.approx(variance)  # n - 1 for n
    if weights is None:  # irrCAC's interval
        assert (found.low, found.high) == pytest.approx((0.309276267221231, 0.890723732778769))


@pytest.mark.parametrize(
    ("weights", "estimate", "error"),
    [
        (None, 0.600222098833981, 0.140391264440233),
        ("linear", 0.720651812437645, 0.105805478891034),
        ("quadratic", 0.820776634583472, 0.085347283106472),
    ],
)
def test_ac1_and_ac2_are_those_of_irrcac(weights, estimate, error):
    found = gwet_ac2(A, B, weights)
    assert (found.estimate, found.standard_error) == pytest.approx((estimate, error))


def test_fleiss_kappa_and_its_error_are_those_of_statsmodels_and_irrcac():
    found = fleiss_kappa(COUNTS)
    assert found.estimate == pytest.approx(0.20993070442195522)
    assert found.standard_error == pytest.approx(0.092371111606008)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=4, max_size=40))
def test_kappa_is_that_of_scikit_learn_and_does_not_depend_on_who_is_first(pairs):
    theirs = pytest.importorskip("sklearn.metrics")
    a, b = (list(side) for side in zip(*pairs, strict=True))
    found = cohen_kappa(a, b, categories=range(1, 5)).estimate
    turned = cohen_kappa(b, a, categories=range(1, 5)).estimate
    assert turned == pytest.approx(found, nan_ok=True)
    if len({*a, *b}) > 1:
        assert found == pytest.approx(theirs.cohen_kappa_score(a, b))


@pytest.mark.parametrize("nothing", [None, NAN, np.float32("nan"), pd.NA, pd.NaT, ""])
def test_queries_that_one_rater_left_out_do_not_count(nothing):
    names = dict(zip(range(1, 5), "abcd", strict=True))
    a, b = ([names[rating] for rating in side] for side in (A, B))
    assert cohen_kappa([*a, nothing, "a"], [*b, "a", nothing]) == cohen_kappa(A, B)
    table = np.array([["yes", "no", nothing], [nothing, "no", nothing]], dtype=object)
    assert krippendorff_alpha(table, n_resamples=9).notes == ("one query",)


def test_full_agreement_has_no_interval_and_one_category_shows_nothing():
    for found in (cohen_kappa(A, A), krippendorff_alpha(np.column_stack([A, A]))):
        assert (found.estimate, len(found.notes)) == (pytest.approx(1.0), 1)
        assert np.isnan([found.low, found.high]).all()
    assert cohen_kappa(A, A).standard_error == 0.0
    assert math.isnan(cohen_kappa(["yes"], ["no"], categories=["no", "yes"]).standard_error)
    assert math.isnan(cohen_kappa([1, 1], [1, 1]).estimate)
    assert math.isnan(gwet_ac1([1, 1], [1, 1]).estimate)
    assert gwet_ac1([1, 1], [1, 1], categories=(0, 1)).estimate == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cohen_kappa([1, 2], [1]), "same order"),
        (lambda: cohen_kappa([NAN], [1.0]), "rated by both"),
        (lambda: cohen_kappa([1, 3], [1, 2], categories=(1, 2)), "among the categories 1.0, 2.0"),
        (lambda: cohen_kappa([1, math.inf], [1, 2]), "finite numbers or missing; 1 are infinite"),
        (lambda: cohen_kappa(A, B, confidence_level=95), r"did you mean 0\.95"),
        (lambda: fleiss_kappa([[2, 0], [1, 2]]), "same number of raters"),
        (lambda: fleiss_kappa([3, 0]), "one row per query and one column per category"),
        (lambda: fleiss_kappa([[-1, 4]]), "integers >= 0"),
        (lambda: krippendorff_alpha([[1, NAN]]), "two ratings"),
        (lambda: krippendorff_alpha([["a", "b"]], "interval"), "needs numbers"),
        (lambda: krippendorff_alpha(np.arange(52).reshape(26, 2), "ordinal"), "52 different"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(DataError, match=message):
        call()


def test_unknown_weights_and_levels_name_the_nearest():
    with pytest.raises(UnknownNameError, match="quadratic"):
        cohen_kappa(A, B, "quadratc")
    with pytest.raises(UnknownNameError, match="ordinal"):
        krippendorff_alpha(RATINGS, "ordinl")


# -- Krippendorff's alpha


@pytest.mark.parametrize(
    ("level", "alpha"),
    [
        ("nominal", 0.743421052631579),
        ("ordinal", 0.8153875037548814),
        ("interval", 0.8491071428571428),
        ("ratio", 0.7974027747116121),
    ],
)
def test_alpha_is_krippendorffs_published_one_and_that_of_his_package(level, alpha):
    found = krippendorff_alpha(RATINGS, level, n_resamples=199)
    assert found.estimate == pytest.approx(alpha)
    assert found.low < found.estimate < found.high


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_the_interval_of_alpha_is_that_of_a_plain_bootstrap(level):
    table, rng = np.tile(RATINGS[:9], (3, 1)), np.random.default_rng(1)
    draws = [
        krippendorff_alpha(table[rng.integers(0, 27, 27)], level, n_resamples=1).estimate
        for _ in range(1000)
    ]
    found, expected = krippendorff_alpha(table, level), np.quantile(draws, (0.025, 0.975))
    # Five standard errors of a quantile of 1,000 draws near its tail.
    assert [found.low, found.high] == pytest.approx(expected, abs=5 * 0.07 * np.std(draws))


def test_resamples_without_a_difference_are_left_out_and_counted():
    ratings = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 2.0]])  # the third query has a difference
    (note,) = krippendorff_alpha(ratings, n_resamples=2700, seed=5).notes
    assert note.endswith(" resamples in which all ratings are the same are left out")
    # (2/3)**3 of the resamples leave the third query out: 800 of 2700, give or take 6 deviations.
    assert abs(int(note.split()[0]) - 800) < 6 * np.sqrt(2700 * 8 / 27 * 19 / 27)


def test_places_of_names_are_their_distances():
    grades, order = ["low", "mid", "high"], [1.0, 2.0, 3.0]
    number = dict(zip(grades, order, strict=True))
    a, b = ["low", "high", "mid", "low", "mid"], ["low", "mid", "mid", "high", "mid"]
    by_name = cohen_kappa(a, b, "quadratic", categories=grades)
    assert by_name == cohen_kappa([number[x] for x in a], [number[x] for x in b], "quadratic")
