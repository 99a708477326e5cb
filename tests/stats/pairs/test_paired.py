import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import PAIRED_INTERVALS, TESTS, paired_interval, paired_test
from rageval_report.stats.pairs.paired import fragile

RIGHT_OR_WRONG = ([0, 0, 0, 1, 0, 0, 1], [1, 1, 1, 0, 1, 1, 1])
ANY_SCORES = (
    [0.3141, 0.2718, 0.5772, 0.1618, 0.1414, 0.7321, 0.2236, 0.6931],
    [0.4142, 0.3819, 0.5661, 0.3345, 0.2091, 0.9003, 0.4671, 0.8127],
)
RATINGS = ([1, 3, 2, 5, 4, 2, 3, 3, 4, 1], [2, 3, 4, 5, 4, 3, 5, 2, 5, 2])


def flip_pvalues(differences):
    """The exact and the mid p-value of the mean difference, by all sign patterns."""
    signs = np.array(list(itertools.product([-1, 1], repeat=len(differences))))
    sums, observed = np.abs(signs @ differences), abs(np.sum(differences))
    ties = np.abs(sums - observed) < 1e-9
    beyond = (sums > observed) & ~ties
    return (beyond | ties).mean(), beyond.mean() + ties.mean() / 2


# The test that "auto" takes


@pytest.mark.parametrize(
    ("scores", "name"),
    [
        (RIGHT_OR_WRONG, "mcnemar-midp"),
        (ANY_SCORES, "sign-flip"),
        (RATINGS, "sign-flip-midp"),
        (([0.0, 0.5, 1.0, 0.0, 1.0], [0.5, 1.0, 1.0, 0.5, 0.5]), "sign-flip-midp"),
    ],
)
def test_the_default_test_suits_the_scores(scores, name):
    assert paired_test(*scores).test == name


def test_right_and_wrong_answers_get_mcnemars_midp():
    result = paired_test(*RIGHT_OR_WRONG)
    tosses = [math.comb(6, k) / 2**6 for k in range(7)]  # five wins, one loss
    assert result.pvalue == pytest.approx(2 * (tosses[0] + tosses[1] / 2))
    assert (result.wins, result.ties, result.losses, result.n) == (5, 1, 1, 7)
    assert result.difference == pytest.approx(4 / 7)


def test_any_scores_get_the_exact_sign_flip_pvalue():
    differences = np.subtract(ANY_SCORES[1], ANY_SCORES[0])
    result = paired_test(*ANY_SCORES)
    assert result.pvalue == pytest.approx(flip_pvalues(differences)[0], rel=1e-3)
    assert result.statistic == pytest.approx(differences.mean())


def test_ratings_get_the_sign_flip_midp():
    differences = np.subtract(RATINGS[1], RATINGS[0])
    assert paired_test(*RATINGS).pvalue == pytest.approx(flip_pvalues(differences)[1], rel=1e-3)


@pytest.mark.parametrize("name", [name for name in TESTS if "mcnemar" not in name])
def test_every_test_can_be_asked_for_by_name(name):
    result = paired_test(*RATINGS, test=name, n_resamples=99)
    assert result.test == name
    assert 0.0 < result.pvalue <= 1.0
    assert (result.wins, result.ties, result.losses) == (6, 3, 1)


@pytest.mark.parametrize("name", ["mcnemar", "mcnemar-midp"])
def test_every_test_of_right_and_wrong_answers_can_be_asked_for_by_name(name):
    assert paired_test(*RIGHT_OR_WRONG, test=name).test == name


@pytest.mark.parametrize("scores", [RIGHT_OR_WRONG, ANY_SCORES, RATINGS])
def test_exchanging_the_sides_turns_the_difference_and_the_alternative(scores):
    there = paired_test(*scores, alternative="greater")
    back = paired_test(*reversed(scores), alternative="less")
    assert there.pvalue == pytest.approx(back.pvalue, rel=1e-9)
    assert there.difference == pytest.approx(-back.difference)
    assert (there.wins, there.losses) == (back.losses, back.wins)


@pytest.mark.parametrize("scores", [RIGHT_OR_WRONG, ANY_SCORES, RATINGS])
def test_the_default_tests_draw_nothing(scores):
    assert paired_test(*scores, seed=1) == paired_test(*scores, seed=2, n_resamples=10)


def test_unscored_queries_are_left_out_by_pairs():
    padded = ([*RATINGS[0], math.nan, 5], [*RATINGS[1], 1, math.nan])
    assert paired_test(*padded) == paired_test(*RATINGS)


# Degenerate data


@pytest.mark.parametrize("test", ["auto", *TESTS])
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_identical_pipelines_have_p_one_by_every_test(test, alternative):
    scores = [0, 1, 1, 0, 1]
    result = paired_test(scores, scores, test=test, alternative=alternative, n_resamples=99)
    assert (result.difference, result.statistic, result.pvalue) == (0.0, 0.0, 1.0)
    assert (result.wins, result.ties, result.losses) == (0, 5, 0)


@pytest.mark.parametrize("test", ["auto", "t", "sign", "wilcoxon", "sign-flip", "sign-flip-mc"])
def test_float_noise_is_a_tie(test):
    result = paired_test(np.full(5, 0.1) + 0.2, np.full(5, 0.3), test=test)
    assert (result.difference, result.pvalue, result.ties) == (0.0, 1.0, 5)


@pytest.mark.parametrize("test", ["sign-flip", "t"])
@pytest.mark.parametrize("n", [2, 6, 11])
def test_a_constant_shift_has_the_pvalue_of_n_equal_signs(test, n):
    before = np.linspace(0.1, 0.73, n)
    result = paired_test(before, before + 0.1, test=test)
    assert result.pvalue == pytest.approx(2.0 ** (1 - n), rel=1e-3)


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_one_query_gives_a_difference_and_no_test(alternative):
    result = paired_test([0.25], [0.75], alternative=alternative)
    assert (result.difference, result.pvalue, result.n, result.wins) == (0.5, 1.0, 1, 1)
    assert math.isnan(result.statistic)


# Bad input


@pytest.mark.parametrize("call", [paired_test, paired_interval])
def test_no_scored_pair_is_an_error(call):
    with pytest.raises(DataError, match="no query has a score on both sides"):
        call([0.1, math.nan], [math.nan, 0.2])


@pytest.mark.parametrize("call", [paired_test, paired_interval])
def test_sides_of_unequal_length_are_an_error(call):
    with pytest.raises(DataError, match=r"equal length.*got shapes \(2,\) and \(3,\)"):
        call([0.1, 0.2], [0.1, 0.2, 0.3])


@pytest.mark.parametrize("call", [paired_test, paired_interval])
def test_an_infinite_score_is_an_error_that_names_the_side(call):
    with pytest.raises(DataError, match="the candidate has 1 infinite"):
        call([0.1, 0.2], [0.1, math.inf])


@pytest.mark.parametrize("call", [paired_test, paired_interval])
@pytest.mark.parametrize("wrong", [0, -5, 2.5])
def test_a_number_of_resamples_must_be_one(call, wrong):
    with pytest.raises(DataError, match="n_resamples must be an integer >= 1"):
        call(*RATINGS, n_resamples=wrong)


@pytest.mark.parametrize("call", [paired_test, paired_interval])
def test_a_seed_must_be_one(call):
    with pytest.raises(DataError, match="seed must be an integer >= 0"):
        call(*RATINGS, seed=-1)


def test_an_unknown_test_answers_with_the_nearest_one_even_without_data():
    with pytest.raises(UnknownNameError, match="Did you mean 'wilcoxon'"):
        paired_test([], [], test="wilcoxn")


def test_an_unknown_interval_answers_with_the_nearest_one_even_without_data():
    with pytest.raises(UnknownNameError, match="Did you mean 'newcombe'"):
        paired_interval([], [], method="newcomb")


def test_an_unknown_alternative_is_an_error():
    expected = 'alternative must be "two-sided", "less" or "greater"; got "bigger"'
    with pytest.raises(UnknownNameError, match=expected):
        paired_test(*RATINGS, alternative="bigger")


def test_a_confidence_level_in_percent_is_recognised():
    with pytest.raises(DataError, match=r"did you mean 0\.95"):
        paired_interval(*RATINGS, confidence_level=95)


def test_a_test_of_right_and_wrong_answers_refuses_ratings():
    with pytest.raises(DataError, match="'mcnemar' needs scores of 0 and 1"):
        paired_test(*RATINGS, test="mcnemar")


# The interval


@pytest.mark.parametrize(
    ("scores", "method"),
    [(RIGHT_OR_WRONG, "bonett-price"), (ANY_SCORES, "sign-flip"), (RATINGS, "sign-flip")],
)
def test_the_default_interval_suits_the_scores(scores, method):
    interval = paired_interval(*scores)
    assert interval.method == method
    assert interval.estimate == pytest.approx(paired_test(*scores).difference)
    assert interval.low < interval.estimate < interval.high


@pytest.mark.parametrize("method", PAIRED_INTERVALS)
def test_every_interval_can_be_asked_for_by_name(method):
    rng = np.random.default_rng(0)
    before, after = (rng.random((2, 40)) > 0.5).astype(float)
    interval = paired_interval(before, after, method=method, confidence_level=0.9, n_resamples=199)
    assert (interval.method, interval.confidence_level) == (method, 0.9)
    assert interval.low <= interval.estimate <= interval.high


@settings(max_examples=30)
@given(gains=st.lists(st.floats(-1.0, 1.0), min_size=6, max_size=14, unique=True))
def test_the_default_interval_excludes_zero_exactly_when_the_test_rejects(gains):
    after = np.round(gains, 6)
    result = paired_test(np.zeros(after.size), after)
    interval = paired_interval(np.zeros(after.size), after)
    if abs(result.pvalue - 0.05) > 1e-4:
        assert (interval.low > 0 or interval.high < 0) == (result.pvalue <= 0.05)


@pytest.mark.parametrize("method", ["auto", "t", "percentile"])
def test_one_query_has_no_interval(method):
    interval = paired_interval([0.25], [0.75], method=method)
    assert interval.estimate == 0.5
    assert math.isnan(interval.low)
    assert math.isnan(interval.high)
    assert interval.notes == ("one query in common: no interval",)


@pytest.mark.parametrize("scores", [[0.0, 1.0, 1.0], [0.25, 0.5, 1.0]])
@pytest.mark.parametrize("method", ["auto", "t", "percentile"])
def test_identical_scores_of_any_kind_are_noted_as_such(scores, method):
    interval = paired_interval(scores, scores, method=method)
    [note] = interval.notes
    assert note.startswith("identical on all 3 pairs")
    assert ("no width" in note) == (interval.low == interval.high)


def test_identical_right_and_wrong_answers_keep_an_interval_of_some_width():
    interval = paired_interval([0, 1, 1, 0], [0, 1, 1, 0])
    assert interval.low < 0.0 < interval.high


# The stress test


def stressed_pvalue(before, after):
    """The exact p-value with the largest difference entered once more, against the result."""
    differences = np.subtract(after, before)
    against = -np.sign(differences.mean()) * np.abs(differences).max()
    return flip_pvalues(np.append(differences, against))[0]


@settings(max_examples=40)
@given(gains=st.lists(st.floats(-0.3, 1.0), min_size=6, max_size=12, unique=True))
def test_a_result_is_fragile_if_one_more_query_against_it_would_undo_it(gains):
    before, after = np.full(len(gains), 0.3), 0.3 + np.round(gains, 6)
    plain, stressed = flip_pvalues(after - before)[0], stressed_pvalue(before, after)
    if min(abs(plain - 0.05), abs(stressed - 0.05)) > 1e-4:
        expected = plain <= 0.05 < stressed
        assert fragile(before, after, test="sign-flip") == expected
        assert fragile(after, before, test="sign-flip") == expected


@pytest.mark.parametrize(("wins", "expected"), [(4, False), (5, True), (6, True), (7, False)])
def test_a_clean_sweep_of_right_answers_is_fragile_while_one_loss_would_undo_it(wins, expected):
    plain = 2.0**-wins  # the mid-p of so many wins and no loss
    stressed = (wins + 3) / 2 ** (wins + 1)  # and of one loss more
    assert expected == (plain <= 0.05 < stressed)
    assert fragile([0] * wins, [1] * wins) == expected


def test_the_level_decides_what_is_fragile():
    assert fragile([0] * 9, [1] * 9, alpha=0.01)
    assert not fragile([0] * 9, [1] * 9, alpha=0.05)


def test_nothing_significant_is_nothing_fragile():
    assert not fragile(RATINGS[0], RATINGS[0])
    assert not fragile([0.3], [0.9])


def test_the_stress_test_refuses_a_level_in_percent():
    with pytest.raises(DataError, match=r"did you mean 0\.05"):
        fragile(*RATINGS, alpha=5)
