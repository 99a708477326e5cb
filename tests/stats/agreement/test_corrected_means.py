"""Means corrected using labels: ppi_python 0.2.3, and arithmetic by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from rageval_report.errors import DataError
from rageval_report.stats import (
    JudgeErrors,
    paired_interval,
    ppi_difference,
    ppi_mean,
    rogan_gladen,
)
from rageval_report.stats.agreement.prediction_powered import stratified_ppi_mean


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
def test_the_corrected_mean_is_that_of_ppi_py(lam, estimate, low, high):
    # Theirs divides the covariance by n and the variance by one less; ours both by one less.
    tuned = ppi_mean(*_data()).lam * 119 / 120
    found = ppi_mean(*_data(), lam=tuned if lam is None else lam)
    assert found.estimate == pytest.approx(estimate, abs=1e-8)
    # Intervals: ddof 1 and t here, ddof 0 and z there.
    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-3)


def test_below_a_hundred_labels_the_judge_is_taken_at_its_word():
    y, f, others = _data()
    assert ppi_mean(y[:99], f[:99], others).lam == 1.0
    assert ppi_mean(y[:100], f[:100], others).lam < 1.0


def test_a_difference_is_the_corrected_mean_of_differences():
    y, f, others = _data()
    found = ppi_difference((y, f, others), (1 - y, f, others))
    assert found.estimate == pytest.approx(1 - 2 * y.mean())  # the judge sees none


def test_rogan_and_gladen_by_hand():
    errors = JudgeErrors(45, 50, 40, 50)
    found = rogan_gladen([1] * 62 + [0] * 38, errors)
    assert found.estimate == pytest.approx((0.62 + 0.8 - 1) / 0.7)
    variance = 0.62 * 0.38 / 100 + 0.36 * 0.09 / 50 + 0.16 * 0.16 / 50
    assert found.standard_error == pytest.approx(variance**0.5 / 0.7)


def test_the_interval_of_lang_and_reiczigel_covers_as_it_should():
    rng, hits, runs = np.random.default_rng(0), 0, 300
    for _ in range(runs):
        truth = rng.random(400) < 0.7
        judge = np.where(truth, rng.random(400) < 0.9, rng.random(400) > 0.8).astype(float)
        errors = JudgeErrors.of(truth[:150].astype(float), judge[:150])
        found = rogan_gladen(judge[150:], errors)
        hits += found.low <= 0.7 <= found.high
    assert hits / runs >= 0.92  # 95 % less 2.4 standard errors of the simulation


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: ppi_mean([1], [1], [1, 0]), "two labelled"),
        (lambda: ppi_mean([1, 0], [1, 0], [1, 0], lam=2), "from 0 to 1"),
        (lambda: ppi_mean([1, 0], [1, 0], [1, 0], lam="best"), "from 0 to 1"),
        (lambda: rogan_gladen([1, 0], JudgeErrors(5, 10, 5, 10)), "not better than a guess"),
        (lambda: rogan_gladen([1, 0], JudgeErrors(5, 10, 0, 0)), "both kinds"),
        (lambda: rogan_gladen([0.5], JudgeErrors(9, 10, 9, 10)), "verdicts must be 0, 1 or NaN"),
        (lambda: JudgeErrors(3, 2, 1, 1), "cannot be right more often than there are queries"),
    ],
)
def test_what_cannot_be_put_right_is_refused(call, told):
    with pytest.raises(DataError, match=told):
        call()


def test_the_tuned_weight_stays_between_zero_and_one():
    rng = np.random.default_rng(4)
    judged, others = rng.random(120), rng.random(900)
    assert ppi_mean(3 * judged, judged, others).lam == 1.0  # the formula gives 3 / (1 + 120 / 900)
    assert ppi_mean(1 - judged, judged, others).lam == 0.0
    assert 0.0 < ppi_mean(0.5 * judged, judged, others).lam < 1.0


def test_the_tuned_weight_by_hand():
    y, f, others = _data()
    every = np.concatenate([f, others])
    expected = np.cov(y, f)[0, 1] / ((1 + len(y) / len(others)) * every.var(ddof=1))
    assert ppi_mean(y, f, others).lam == pytest.approx(expected, rel=1e-12)


def test_a_judge_that_says_always_the_same_has_no_weight():
    y, f, _ = _data()
    found = ppi_mean(y, np.full(len(f), 0.5), np.full(900, 0.5))
    assert found.lam == 0.0
    assert found.estimate == pytest.approx(y.mean())


@pytest.mark.parametrize("lam", [-0.1, 1.1, "most", float("nan")])
def test_a_weight_must_be_a_share(lam):
    with pytest.raises(DataError, match="lam must be a number from 0 to 1"):
        ppi_mean(*_data(), lam=lam)


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
    assert found.method == ("ppi" if lam else "ppi++")


def test_few_labels_are_noted():
    y, f, others = _data()
    assert ppi_mean(y[:9], f[:9], others).notes
    assert not ppi_mean(y[:10], f[:10], others).notes


def test_sides_of_unequal_length_are_refused():
    y, f, others = _data()
    with pytest.raises(DataError, match="got 120 and 119"):
        ppi_difference((y, f, others), (y[:-1], f, others))


def test_the_verdict_that_is_none_is_named():
    with pytest.raises(DataError, match=r"verdicts must be 0, 1 or NaN; got 0.25: apply"):
        rogan_gladen([0.0, 1.0, 0.25, 0.5], JudgeErrors(9, 10, 9, 10))


@pytest.mark.parametrize("errors", [JudgeErrors(0, 0, 5, 10), JudgeErrors(5, 10, 0, 0)])
def test_a_judge_is_calibrated_on_both_kinds(errors):
    with pytest.raises(DataError, match="errors must be counted on queries of both kinds"):
        rogan_gladen([1.0, 0.0], errors)


# -- bounds


def test_with_bounds_the_correction_is_bonett_and_prices_but_for_the_quantile():
    y, f, _ = _data()
    y, f = y[:60], f[:60]
    # A judge whose other verdicts are all 1 adds no spread, so the interval is that of the bias.
    found = ppi_mean(y, f, np.ones(500), bounds=(0, 1))
    shares = paired_interval(f, y, method="bonett-price")
    ratio = scipy.stats.t.ppf(0.975, 59) / scipy.stats.norm.ppf(0.975)
    # Theirs divides the squares by n + 2, ours by one less.
    ratio *= np.sqrt(62 / 61)
    middle = 1 + (shares.low + shares.high) / 2
    assert (found.low + found.high) / 2 == pytest.approx(middle)
    assert found.high - found.low == pytest.approx(ratio * (shares.high - shares.low))
    assert found.estimate == pytest.approx(1 + (y - f).mean())


def test_bounds_follow_the_scale_of_the_scores():
    y, f, others = _data()
    unit = ppi_mean(y[:40], f[:40], others, bounds=(0, 1))
    stars = ppi_mean(1 + 4 * y[:40], 1 + 4 * f[:40], 1 + 4 * others, bounds=(1, 5))
    assert (stars.estimate, stars.low, stars.high) == pytest.approx(
        (1 + 4 * unit.estimate, 1 + 4 * unit.low, 1 + 4 * unit.high)
    )


@pytest.mark.parametrize(("mean", "n"), [(0.95, 20), (0.95, 100), (0.99, 50), (0.9, 200)])
def test_with_bounds_the_interval_covers_near_the_ceiling(mean, n):
    rng = np.random.default_rng(n)
    covered, without = 0, 0
    for _ in range(400):
        truth = (rng.random(n + 1000) < mean).astype(float)
        right = rng.random(n + 1000) < np.where(truth == 1, 0.97, 0.7)
        judge = np.where(right, truth, 1 - truth)
        parts = truth[:n], judge[:n], judge[n:]
        found, plain = ppi_mean(*parts, bounds=(0, 1)), ppi_mean(*parts)
        covered += found.low <= mean <= found.high
        without += plain.low <= mean <= plain.high
    assert covered >= 369  # 95 % of 400 less 2.5 standard errors
    assert covered >= without


# -- groups


def test_one_group_is_the_corrected_mean():
    y, f, others = _data()
    labels = np.append(y, np.full(others.size, np.nan))
    judge = np.append(f, others)
    grouped = stratified_ppi_mean(labels, judge, np.zeros(judge.size), bounds=(0, 1))
    plain = ppi_mean(y, f, others, bounds=(0, 1))
    assert (grouped.estimate, grouped.low, grouped.high, grouped.lam) == pytest.approx(
        (plain.estimate, plain.low, plain.high, plain.lam)
    )


def test_groups_are_weighted_by_their_queries_by_hand():
    labels = [1, 0, np.nan, np.nan, np.nan, np.nan, 1, 1, np.nan, np.nan]
    judge = [1, 1, 1, 1, 0, 1, 0, 1, 1, 0]
    groups = list("aaaaaabbbb")
    found = stratified_ppi_mean(labels, judge, groups)
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


def test_groups_with_other_shares_of_labels_have_no_bias():
    rng = np.random.default_rng(6)
    found, plain = [], []
    for _ in range(300):
        hard = rng.random(1000) < 0.3
        truth = (rng.random(1000) < np.where(hard, 0.4, 0.95)).astype(float)
        judge = np.where(rng.random(1000) < np.where(hard, 0.6, 0.95), truth, 1 - truth)
        labels = np.where(rng.random(1000) < np.where(hard, 0.3, 0.05), truth, np.nan)
        found.append(stratified_ppi_mean(labels, judge, hard).estimate)
        known = ~np.isnan(labels)
        plain.append(ppi_mean(labels[known], judge[known], judge[~known]).estimate)
    expected = 0.3 * 0.4 + 0.7 * 0.95
    assert np.mean(found) == pytest.approx(expected, abs=4 * np.std(found) / np.sqrt(300))
    assert abs(np.mean(plain) - expected) > 10 * np.std(plain) / np.sqrt(300)


def test_a_group_that_is_labelled_completely_needs_no_judge():
    labels = [1, 0, 1, 1, 0, np.nan, np.nan]
    judge = [1, 1, 0, 1, 1, 1, 0]
    found = stratified_ppi_mean(labels, judge, list("aaabbbb"))
    assert found.estimate == pytest.approx(
        3 / 7 * 2 / 3 + 4 / 7 * ppi_mean([1, 0], [1, 1], [1, 0]).estimate
    )


def test_strata_of_another_length_are_refused():
    with pytest.raises(DataError, match="must be of equal length"):
        stratified_ppi_mean([1, 0], [1, 1], ["a"])
