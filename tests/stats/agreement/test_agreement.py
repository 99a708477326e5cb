"""Agreement against statsmodels 0.15.0, scikit-learn 1.9.1, irrCAC 0.4.4, krippendorff 0.9.0."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import (
    cohen_kappa,
    fleiss_kappa,
    gwet_ac1,
    gwet_ac2,
    krippendorff_alpha,
)
from rageval_report.stats.agreement.ratings import is_missing

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


def test_the_interval_of_kappa_is_that_of_irrcac():
    found = cohen_kappa(A, B)
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


def test_the_same_seed_gives_the_same_interval():
    one, two, other = (krippendorff_alpha(RATINGS, n_resamples=199, seed=s) for s in (3, 3, 4))
    assert one == two
    assert one != other


def test_a_rare_category_lowers_kappa_and_not_ac1():
    judge, people = [1] * 18 + [0, 1], [1] * 18 + [1, 0]
    assert cohen_kappa(judge, people).estimate == pytest.approx(-1 / 19)  # (0.9-0.905)/0.095
    assert gwet_ac1(judge, people).estimate == pytest.approx((0.9 - 0.095) / 0.905)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=4, max_size=40))
def test_kappa_is_that_of_scikit_learn_and_does_not_care_who_is_first(pairs):
    theirs = pytest.importorskip("sklearn.metrics")  # 1.9.1
    a, b = (list(side) for side in zip(*pairs, strict=True))
    found = cohen_kappa(a, b, categories=range(1, 5))
    assert cohen_kappa(b, a, categories=range(1, 5)).estimate == pytest.approx(
        found.estimate, nan_ok=True
    )
    if len({*a, *b}) > 1:
        assert found.estimate == pytest.approx(theirs.cohen_kappa_score(a, b))


def test_queries_that_one_rater_left_out_do_not_count():
    assert cohen_kappa([*A, NAN, 1], [*B, 1, NAN]) == cohen_kappa(A, B)


def test_names_do_as_well_as_numbers():
    names = dict(zip(range(1, 5), "abcd", strict=True))
    told = cohen_kappa([names[x] for x in A], [names[x] for x in B])
    assert told.estimate == pytest.approx(0.6)


def test_full_agreement_tells_no_interval():
    for found in (cohen_kappa(A, A), krippendorff_alpha(np.column_stack([A, A]))):
        assert found.estimate == pytest.approx(1.0)
        assert np.isnan([found.low, found.high]).all()
        assert found.notes


def test_one_category_tells_nothing_unless_others_could_be_given():
    assert np.isnan(cohen_kappa([1, 1], [1, 1]).estimate)
    assert np.isnan(gwet_ac1([1, 1], [1, 1]).estimate)
    assert gwet_ac1([1, 1], [1, 1], categories=(0, 1)).estimate == 1.0
    assert np.isnan(krippendorff_alpha([[1, 1], [1, 1]]).estimate)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: cohen_kappa([1, 2], [1]), "same order"),
        (lambda: cohen_kappa([NAN], [1.0]), "rated by both"),
        (
            lambda: cohen_kappa([1, 3], [1, 2], categories=(1, 2)),
            "must be among the categories 1.0, 2.0; got",
        ),
        (lambda: fleiss_kappa([[2, 0], [1, 2]]), "same number of raters"),
        (lambda: krippendorff_alpha([[1, NAN]]), "two ratings"),
        (lambda: krippendorff_alpha([["a", "b"]], "interval"), "needs numbers"),
        (lambda: krippendorff_alpha([[-1, 2]], "ratio"), "needs numbers >= 0"),
    ],
)
def test_what_cannot_be_rated_is_refused(call, told):
    with pytest.raises(DataError, match=told):
        call()


def test_unknown_weights_and_levels_name_the_nearest():
    with pytest.raises(UnknownNameError, match="quadratic"):
        cohen_kappa(A, B, "quadratc")
    with pytest.raises(UnknownNameError, match="ordinal"):
        krippendorff_alpha(RATINGS, "ordinl")


def test_a_judge_of_real_passages_agrees_with_people_as_scikit_learn_says(real_data):
    theirs = pytest.importorskip("sklearn.metrics")  # 1.9.1
    frame = pd.read_csv(real_data("trulens_judges") / "gpt-4o-mini_3_prompts_results.csv")
    both = frame.dropna(subset=["umbrela_rating"])
    found = cohen_kappa(frame["ground_truth"], frame["umbrela_rating"], "quadratic")
    told = theirs.cohen_kappa_score(
        both["ground_truth"].astype(int), both["umbrela_rating"].astype(int), weights="quadratic"
    )
    assert found.estimate == pytest.approx(told)


def alpha_by_definition(columns, distance):
    """One less the observed over the expected disagreement, pair by pair (Krippendorff 2011)."""
    units = [
        [rating for rating in unit if rating is not None] for unit in zip(*columns, strict=True)
    ]
    units = [unit for unit in units if len(unit) > 1]
    every = [rating for unit in units for rating in unit]
    n = len(every)
    seen = sum(
        distance(a, b) / (len(unit) - 1)
        for unit in units
        for i, a in enumerate(unit)
        for j, b in enumerate(unit)
        if i != j
    )
    expected = sum(
        distance(a, b) for i, a in enumerate(every) for j, b in enumerate(every) if i != j
    )
    return 1 - (n - 1) * seen / expected


RATED = (
    [0, 1, 2, 4, 0, 3, 1, None, 2],
    [0, 1, 3, 4, 1, 3, None, 2, 0],
    [0, None, 2, 3, 0, 3, 1, 2, 2],
)


@pytest.mark.parametrize(
    ("level", "distance"),
    [
        ("nominal", lambda a, b: float(a != b)),
        ("interval", lambda a, b: (a - b) ** 2),
        ("ratio", lambda a, b: ((a - b) / (a + b)) ** 2 if a + b else 0.0),
    ],
)
def test_alpha_is_its_definition_pair_by_pair(level, distance):
    ratings = np.array(RATED, dtype=float).T  # None becomes NaN; one row per query
    found = krippendorff_alpha(ratings, level, n_resamples=9)
    assert found.estimate == pytest.approx(alpha_by_definition(RATED, distance))


def test_too_many_names_are_refused():
    ratings = np.arange(2001.0)
    with pytest.raises(DataError, match=r"2001 different ratings are too many .*at most 2000"):
        krippendorff_alpha(np.column_stack([ratings, ratings]), "nominal", n_resamples=9)


@pytest.mark.parametrize("nothing", [None, float("nan")])
def test_a_missing_name_is_not_a_name(nothing):
    found = cohen_kappa(["yes", nothing, "no", "yes"], ["yes", "no", "no", "no"])
    without = cohen_kappa(["yes", "no", "yes"], ["yes", "no", "no"])
    assert found == without


def test_a_rating_that_is_no_category_is_named():
    with pytest.raises(DataError, match=r"among the categories 'no', 'yes'; got 'maybe'$"):
        cohen_kappa(["yes", "maybe", "no"], ["yes", "no", "no"], categories=["no", "yes"])


def test_two_queries_on_which_all_agree_have_no_spread():
    found = cohen_kappa(["yes", "no"], ["yes", "no"])
    assert (found.estimate, found.standard_error) == (1.0, 0.0)
    assert np.isnan([found.low, found.high]).all()
    one = cohen_kappa(["yes"], ["no"], categories=["no", "yes"])
    assert np.isnan(one.standard_error)


@pytest.mark.parametrize("counts", [[], [3, 0], [[]], [[], []], [[[2, 1]]], 3])
def test_counts_of_raters_are_a_table(counts):
    with pytest.raises(DataError, match="one row per query and one column per category; got an"):
        fleiss_kappa(counts)


@pytest.mark.parametrize("counts", [[[-1, 4], [1, 2]], [[1.5, 1.5]], [[np.inf, 1]], [[NAN, 2]]])
def test_counts_of_raters_are_whole_numbers(counts):
    with pytest.raises(DataError, match=r"counts of raters must be integers >= 0"):
        fleiss_kappa(counts)


@pytest.mark.parametrize("unit", [1e-9, 1e-6, 1e6, 1e9])
def test_alpha_does_not_depend_on_the_unit_of_the_ratings(unit):
    options = {"level": "interval", "n_resamples": 99, "seed": 1}
    here = krippendorff_alpha(RATINGS, **options)
    there = krippendorff_alpha(unit * RATINGS, **options)
    assert (there.estimate, there.low, there.high) == pytest.approx(
        (here.estimate, here.low, here.high), rel=1e-9
    )


@pytest.mark.parametrize("nothing", [None, NAN, np.float32("nan"), pd.NA, pd.NaT])
def test_ratings_are_missing_by_the_marks_of_every_library(nothing):
    ratings = np.array([["yes", nothing], [nothing, "no"]], dtype=object)
    assert is_missing(ratings).tolist() == [[False, True], [True, False]]
    assert not is_missing(np.array(["", "nan", 0, False], dtype=object)).any()


def test_numbers_among_names_are_ratings():
    ratings = np.array([["yes", 1.5], [np.float64(0.0), NAN]], dtype=object)
    assert is_missing(ratings).tolist() == [[False, False], [False, True]]


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_ratings_that_are_all_equal_tell_nothing_of_chance(level):
    found = krippendorff_alpha(np.full((2, 5), 3.0), level=level, n_resamples=9)
    assert np.isnan([found.estimate, found.low, found.high]).all()


def test_resamples_without_a_difference_are_left_out_and_counted():
    ratings = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 2.0]])  # the third query has a difference
    found = krippendorff_alpha(ratings, level="nominal", n_resamples=2700, seed=5)
    (note,) = found.notes
    assert note.endswith(" resamples in which all ratings are the same are left out")
    # (2/3)**3 of the resamples leave the third query out: 800 of 2700, give or take 6 deviations.
    assert abs(int(note.split()[0]) - 800) < 6 * np.sqrt(2700 * 8 / 27 * 19 / 27)
    assert (
        krippendorff_alpha(np.tile(RATINGS.T, (5, 1)), level="nominal", n_resamples=99).notes == ()
    )


def test_alpha_of_one_query_and_of_agreement_says_why_it_has_no_interval():
    one = krippendorff_alpha([[1.0, 2.0]], level="nominal", n_resamples=9)
    assert one.notes == ("one query",)
    two = krippendorff_alpha([[1.0, 1.0], [2.0, 2.0]], level="nominal", n_resamples=9)
    assert two.notes == ("all raters agree: a resample cannot differ",)
