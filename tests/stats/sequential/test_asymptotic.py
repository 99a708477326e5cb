import math

import numpy as np
import pytest

from rageval_report.stats.sequential import asymptotic_evalues, asymptotic_sequence


def test_the_latest_limits_are_those_of_the_papers_formula():
    scores = np.random.default_rng(1).normal(3.0, 2.0, 400)
    interval = asymptotic_sequence(scores, planned_n=400, first_look=400)
    # Waudby-Smith et al. (2024), theorem 2.2, written out by hand
    alpha, t = 0.05, 400
    rho = math.sqrt((-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / t)
    boundary = math.sqrt(
        2 * (t * rho**2 + 1) / (t**2 * rho**2) * math.log(math.sqrt(t * rho**2 + 1) / alpha)
    )
    reach = scores.std() * boundary
    assert interval.low == pytest.approx(scores.mean() - reach)
    assert interval.high == pytest.approx(scores.mean() + reach)


def test_limits_are_those_of_ville():
    ville = pytest.importorskip("ville")  # 0.1.0
    scores = np.random.default_rng(7).lognormal(0, 0.5, 600)
    expected = ville.AsymptoticCS(t_opt=400, intersect=True).fit(scores).interval()
    interval = asymptotic_sequence(scores, planned_n=400)
    # ville finds the width of its mixture by search, and divides by n - 1
    reach = (interval.high - interval.low) / 2
    assert (interval.low, interval.high) == pytest.approx(expected, abs=0.01 * reach)


def test_there_are_no_limits_before_the_first_look():
    interval = asymptotic_sequence([1.0] * 99)
    assert (interval.low, interval.high) == (-math.inf, math.inf)
    assert interval.notes == ("no limits before 100 scores",)
    assert math.isnan(asymptotic_sequence([]).estimate)


def test_scores_far_from_zero_lose_no_digits():
    scores = np.random.default_rng(9).normal(size=300)
    near, far = asymptotic_sequence(scores), asymptotic_sequence(scores + 1e7)
    assert far.high - far.low == pytest.approx(near.high - near.low, rel=1e-6)


def test_the_limits_are_where_the_evalues_reach_20():
    scores = np.random.default_rng(3).lognormal(size=500)
    interval = asymptotic_sequence(scores, planned_n=400)
    for mean, is_excluded in (
        (interval.low - 1e-6, True),
        (interval.low + 1e-6, False),
        (interval.high - 1e-6, False),
        (interval.high + 1e-6, True),
    ):
        assert bool((asymptotic_evalues(scores, mean) >= 20).any()) == is_excluded


def test_a_one_sided_evalue_is_0_on_the_other_side_and_before_the_first_look():
    scores = np.random.default_rng(3).normal(1.0, 1.0, 200)
    greater = asymptotic_evalues(scores, 0.0, alternative="greater")
    less = asymptotic_evalues(scores, 0.0, alternative="less")
    assert not less.any()
    assert not greater[:99].any()
    assert (greater[99:] > 20).all()
    assert asymptotic_evalues([], 0.0).size == 0


def test_scores_without_spread_show_nothing():
    assert (asymptotic_evalues([2.0] * 150, 1.0)[99:] < 1.0).all()
