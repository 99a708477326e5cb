"""Means corrected using labels: ppi_python 0.2.3, SciPy, and arithmetic by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.stats.means import mean_interval
from rageval_report.stats.prediction_powered import (
    JudgeErrors,
    ppi_difference,
    ppi_mean,
    rogan_gladen,
    stratified_ppi_mean,
)


def _data():
    r = np.random.default_rng(1)
    y = (r.random(120) < 0.6).astype(float)
    f = np.where(r.random(120) < 0.85, y, 1 - y)
    truth = r.random(900) < 0.6
    return y, f, np.where(r.random(900) < 0.85, truth, ~truth).astype(float)


@pytest.mark.parametrize(
    ("lam", "estimate", "low", "high"),
    [
        (1, 0.53944444, 0.46851591, 0.61037298),
        (0.5, 0.55722222, 0.4920774, 0.62236705),
        (0, 0.575, 0.48655244, 0.66344756),
        (None, 0.55200063, 0.48858032, 0.61542093),  # tuned
    ],
)
def test_the_corrected_mean_is_that_of_ppi_python(lam, estimate, low, high):
    # Theirs divides the covariance by n and the variance by one less; ours both by one less.
    tuned = ppi_mean(*_data()).lam * 119 / 120
    found = ppi_mean(*_data(), lam=tuned if lam is None else lam)
    assert found.estimate == pytest.approx(estimate, abs=1e-8)
    # Intervals: ddof 1 and t here, ddof 0 and z there.
    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-3)


def test_the_tuned_weight_by_hand():
    y, f, others = _data()
    every = np.concatenate([f, others])
    expected = np.cov(y, f)[0, 1] / ((1 + len(y) / len(others)) * every.var(ddof=1))
    assert ppi_mean(y, f, others).lam == pytest.approx(expected, rel=1e-12)
    assert ppi_mean(y[:99], f[:99], others).lam == 1.0
    assert ppi_mean(y[:100], f[:100], others).lam < 1.0
    # Fewer other queries than labels do not help.
    assert [ppi_mean(y[:40], f[:40], others[:n]).lam for n in (40, 39)] == [1.0, 0.0]


def test_the_weight_stays_between_zero_and_one_and_few_labels_are_noted():
    rng = np.random.default_rng(4)
    judged, others = rng.random(120), rng.random(900)
    assert ppi_mean(3 * judged, judged, others).lam == 1.0  # the formula gives 3 / (1 + 120 / 900)
    assert ppi_mean(1 - judged, judged, others).lam == 0.0
    for n, notes in ((9, 1), (10, 0)):  # a judge that always gives the same score has no weight
        found = ppi_mean(judged[:n], np.full(n, 0.5), np.full(900, 0.5))
        assert (found.lam, found.estimate) == (0.0, pytest.approx(judged[:n].mean()))
        assert len(found.notes) == notes


@pytest.mark.parametrize("lam", [0, 1])
def test_the_error_of_a_fixed_weight_by_hand(lam):
    y, f, others = (side[:40] for side in _data())
    found = ppi_mean(y, f, others, lam=lam, confidence_level=0.9)
    rest = y - lam * f
    error = np.sqrt(lam**2 * others.var(ddof=1) / 40 + rest.var(ddof=1) / 40)
    reach = scipy.stats.t.ppf(0.95, 39) * error
    assert found.standard_error == pytest.approx(error)
    assert (found.low, found.high) == pytest.approx(
        (found.estimate - reach, found.estimate + reach)
    )
    assert (found.method, found.n, found.n_judged) == ("ppi" if lam else "ppi++", 40, 40)


def test_a_difference_is_the_corrected_mean_of_differences():
    y, f, others = _data()
    found = ppi_difference((y, f, others), (1 - y, f, others))
    assert found.estimate == pytest.approx(1 - 2 * y.mean())  # the judge sees none
    turned = ppi_difference((1 - y, f, others), (y, f, others))
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))


# -- bounds


def test_with_bounds_the_correction_is_bonett_and_prices_but_for_the_quantile():
    y, f = (side[:60] for side in _data()[:2])
    # A judge whose other verdicts vary little adds little, so the interval is that of the bias.
    others = np.append(np.full(10**6, 0.5), [0.4, 0.6])
    found = ppi_mean(y, f, others, lam=1, bounds=(0, 1))
    # Bonett and Price: shares of the queries that only people, only the judge call 1, one added
    # to each, of n + 2.
    won, lost = (int(((y - f) == side).sum()) + 1 for side in (1, -1))
    centre, squares = (won - lost) / 62, (won + lost) / 62 - ((won - lost) / 62) ** 2
    reach = scipy.stats.t.ppf(0.975, 59) * np.sqrt(squares / 61)  # t, and one less than n + 2
    assert (found.low, found.high) == pytest.approx((0.5 + centre - reach, 0.5 + centre + reach))
    assert found.estimate == pytest.approx(0.5 + (y - f).mean())


def test_labels_that_all_equal_the_judge_leave_room_for_errors_they_missed():
    rng = np.random.default_rng(2)
    y = (rng.random(80) < 0.5).astype(float)
    found = ppi_mean(y, y, (rng.random(500) < 0.5).astype(float), lam=1, bounds=(0, 1))
    # Clopper and Pearson's upper limit of none in 80.
    missed = scipy.stats.binomtest(0, 80).proportion_ci().high
    assert found.high >= found.estimate + missed - 1e-12
    assert found.low <= found.estimate - missed + 1e-12


def test_where_the_judge_helps_too_little_the_labels_stand_alone():
    y, f, others = _data()
    y, f = y[:20], f[:20]
    found = ppi_mean(y, f, others, bounds=(0, 1))
    alone = mean_interval(y, bounds=(0, 1))
    assert (found.estimate, found.low, found.high) == (alone.estimate, alone.low, alone.high)
    assert found.lam == 0.0
    assert found.standard_error == pytest.approx(y.std(ddof=1) / np.sqrt(20))
    corrected = ppi_mean(y, f, others, bounds=(0, 1), lam=1)
    widths = (corrected.high - corrected.low, alone.high - alone.low)
    assert widths[0] > 0.9 * widths[1]
    (note,) = found.notes
    assert all(f"{width:.3g}" in note for width in widths)


BINARY = st.lists(st.integers(0, 1).map(float), min_size=2, max_size=30)


@settings(max_examples=40)
@given(BINARY, BINARY, st.randoms(use_true_random=False), st.sampled_from(["auto", 0, 0.5, 1]))
def test_nothing_leaves_the_bounds_and_the_order_does_not_matter(labels, judge, random, lam):
    judged = [random.choice([0.0, 1.0]) for _ in labels]
    found = ppi_mean(labels, judged, judge, lam=lam, bounds=(0, 1))
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    turned = ppi_mean(labels[::-1], judged[::-1], judge[::-1], lam=lam, bounds=(0, 1))
    assert (turned.low, turned.high) == pytest.approx((found.low, found.high))


# -- groups


def test_groups_are_weighted_by_their_queries_by_hand():
    labels = [1, 0, np.nan, np.nan, np.nan, np.nan, 1, 1, np.nan, np.nan]
    judge = [1, 1, 1, 1, 0, 1, 0, 1, 1, 0]
    found = stratified_ppi_mean(labels, judge, list("aaaaaabbbb"))
    first = ppi_mean([1, 0], [1, 1], [1, 1, 0, 1])
    second = ppi_mean([1, 1], [0, 1], [1, 0])
    assert found.estimate == pytest.approx(0.6 * first.estimate + 0.4 * second.estimate)
    # Ten queries: another ten would have other shares of the groups.
    of_shares = (0.6 * (first.estimate - found.estimate) ** 2) / 10
    of_shares += (0.4 * (second.estimate - found.estimate) ** 2) / 10
    parts = np.array([0.6 * first.standard_error, 0.4 * second.standard_error]) ** 2
    parts = np.append(parts, of_shares)
    assert found.standard_error == pytest.approx(np.sqrt(parts.sum()))
    df = parts.sum() ** 2 / (parts**2 / [1, 1, 9]).sum()
    reach = scipy.stats.t.ppf(0.975, df) * found.standard_error
    assert found.high - found.estimate == pytest.approx(reach)


# -- a judge whose errors were counted elsewhere


def test_rogan_and_gladen_by_hand():
    found = rogan_gladen([1] * 62 + [0] * 38, JudgeErrors(45, 50, 40, 50))
    assert found.estimate == pytest.approx((0.62 + 0.8 - 1) / 0.7)
    variance = 0.62 * 0.38 / 100 + 0.36 * 0.09 / 50 + 0.16 * 0.16 / 50
    assert found.standard_error == pytest.approx(variance**0.5 / 0.7)


def test_a_share_beyond_0_and_1_is_cut_and_noted():
    assert np.isnan(
        [JudgeErrors(0, 0, 1, 1).sensitivity, JudgeErrors(1, 1, 0, 0).specificity]
    ).all()
    found = rogan_gladen([1.0] * 50, JudgeErrors(45, 50, 40, 50))
    assert found.estimate == found.high == 1.0
    assert found.notes[0].startswith("cut from 1.14")  # (1 + 0.8 - 1) / 0.7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ppi_mean([1], [1], [1, 0]), "two labelled"),
        (lambda: ppi_mean([1, 0], [1, 0], [1, 0], lam=2), "from 0 to 1"),
        (lambda: ppi_mean([1, 0], [1, 0], [1, 0], lam="best"), "from 0 to 1"),
        (lambda: ppi_mean([1, 0], [1, 0], [1, 0], lam=float("nan")), "from 0 to 1"),
        (lambda: ppi_mean([1, 0], [1, 0], [1, 2], bounds=(0, 1)), "bounds 0 and 1"),
        (lambda: ppi_mean([1, 0], [1, 0], [1, 0], bounds=(1, 0)), "bounds must be"),
        (lambda: ppi_mean([1, 1e300], [1, 0], [1, 0]), r"within \+-1e\+150"),
        (lambda: ppi_mean([1, float("inf")], [1, 0], [1, 0]), "infinite"),
        (
            lambda: ppi_difference(([1, 0], [1, 0], [1, 0]), ([1], [1, 0], [1, 0])),
            "same order; got 2 and 1",
        ),
        (lambda: stratified_ppi_mean([1, 0], [1, 1], ["a"]), "must be of equal length"),
        (lambda: stratified_ppi_mean([1, np.nan], [1, 1], ["a", "b"]), "'a' has 1 labels"),
        (lambda: rogan_gladen([1, 0], JudgeErrors(5, 10, 5, 10)), "not better than a guess"),
        (lambda: rogan_gladen([1, 0], JudgeErrors(5, 10, 0, 0)), "both kinds"),
        (lambda: rogan_gladen([], JudgeErrors(9, 10, 9, 10)), "got none"),
        (lambda: rogan_gladen([0.25], JudgeErrors(9, 10, 9, 10)), "0, 1 or NaN; got 0.25: apply"),
        (lambda: JudgeErrors(3, 2, 1, 1), "cannot be right more often than there are queries"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(DataError, match=message):
        call()
