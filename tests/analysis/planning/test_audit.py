"""Witnesses: binomial sums by SciPy 1.17, its t distribution, tables by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rageval_report.analysis.plan import audit
from rageval_report.errors import DataError


def midp(won, lost):
    total, fewer = won + lost, min(won, lost)
    return min(
        1.0,
        2 * (stats.binom.cdf(fewer, total, 0.5) - 0.5 * stats.binom.pmf(fewer, total, 0.5)),
    )


def test_three_more_right_answers_of_ten_show_nothing():
    result = audit(0.70, 1.00, n=10)
    # Seven right, then ten: three won and none lost is the only table.
    assert result.frame["case"].tolist() == ["3 queries won, 0 lost (best case)"]
    assert result.frame["pvalue"][0] == pytest.approx(midp(3, 0))
    assert "no difference is shown, whatever the scores are" in result.sentences[0]


def test_the_cases_run_from_the_fewest_changes_to_the_most():
    frame = audit(0.70, 0.76, n=200).frame
    # 140 and 152 right: at most 48 of the 140 are among the candidate's 48 wrong ones.
    assert frame["case"].tolist() == [
        "12 queries won, 0 lost (best case)",
        "36 queries won, 24 lost",
        "60 queries won, 48 lost (worst case)",
    ]
    assert frame["pvalue"].tolist() == pytest.approx([midp(12, 0), midp(36, 24), midp(60, 48)])
    assert frame["is_shown"].tolist() == [True, False, False]
    assert frame["n_needed"].is_monotonic_increasing


def test_a_loss_is_the_gain_turned_round():
    gain, loss = audit(0.70, 0.76, n=200).frame, audit(0.76, 0.70, n=200).frame
    assert loss["pvalue"].tolist() == pytest.approx(gain["pvalue"].tolist())
    assert loss["ci_low"].tolist() == pytest.approx((-gain["ci_high"]).tolist())


def test_scores_by_the_t_test_of_scipy():
    frame = audit(3.9, 4.1, n=250, sd=0.8).frame
    for row, correlation in zip(frame.itertuples(), (0.9, 0.5, 0.0), strict=True):
        error = 0.8 * math.sqrt(2 * (1 - correlation)) / math.sqrt(250)
        assert row.pvalue == pytest.approx(2 * stats.t.sf(0.2 / error, 249))
        low, high = stats.t.interval(0.95, 249, 0.2, error)
        assert (row.ci_low, row.ci_high) == pytest.approx((low, high))


def test_means_that_are_not_shares_vary_as_much_as_they_can():
    result = audit(0.70, 0.85, n=6)  # 4.2 and 5.1 right answers cannot be
    assert result.frame["case"][0] == "correlation 0.9"
    spread = math.sqrt((0.7 * 0.3 + 0.85 * 0.15) / 2)
    error = spread * math.sqrt(2 * 0.1) / math.sqrt(6)
    assert result.frame["pvalue"][0] == pytest.approx(2 * stats.t.sf(0.15 / error, 5))
    assert any("not shares of 6 queries" in note for note in result.notes)


def test_fewer_than_six_queries_show_nothing():
    result = audit(0.0, 1.0, n=5)
    assert not result.frame["is_shown"].any()
    assert np.isnan(result.frame["pvalue"]).all()
    assert "too few queries for any test" in result.sentences[0]


def test_what_is_shown_in_every_case():
    (sentence,) = audit(0.2, 0.9, n=100).sentences
    assert "a difference is shown in every case" in sentence


def test_rounded_means_are_read_as_the_nearest_shares():
    assert audit(0.67, 1.0, n=9).frame["case"][0].startswith("3 queries won")  # 6 of 9 is 0.667


@pytest.mark.parametrize(
    ("means", "options", "message"),
    [
        ((0.5, 0.5), {"n": 10}, "the means are equal"),
        ((3.5, 4.0), {"n": 10}, "sd is needed for means that are not between 0 and 1"),
        ((0.5, math.inf), {"n": 10}, "candidate_mean must be a finite number"),
        ((0.5, 0.6), {"n": 1}, "n must be"),
        ((0.5, 0.6), {"n": 10, "sd": 0}, "sd"),
        ((0.5, 0.6), {"n": 10, "power": 1}, "power"),
    ],
)
def test_what_makes_no_sense_is_refused(means, options, message):
    with pytest.raises(DataError, match=message):
        audit(*means, **options)
