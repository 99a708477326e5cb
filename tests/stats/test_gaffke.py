"""Second witnesses: Clopper-Pearson by SciPy 1.17, exact fractions, closed forms."""

import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rageval_report.stats import gaffke
from rageval_report.stats.columns import Column
from rageval_report.stats.gaffke import gaffke_limits, gaffke_pvalue

DRAWS = {
    "uniform": lambda rng, n: rng.random(n),
    "beta": lambda rng, n: rng.beta(8, 2, n),
    "near zero": lambda rng, n: rng.beta(0.05, 1, n),
    "all magnitudes": lambda rng, n: 10 ** rng.uniform(-12, 0, n),
    "one outlier": lambda rng, n: np.append(1e-6 * rng.random(n - 1), 1.0),
    "nearly equal": lambda rng, n: 0.5 + 1e-9 * rng.random(n),
    "rare": lambda rng, n: np.where(rng.random(n) < 0.99, 0.0, rng.random(n)),
    "rare zeros": lambda rng, n: np.where(rng.random(n) < 0.025, 0.0, 1 - 0.01 * rng.random(n)),
}


def limits(scores, *, bounds=(0, 1), level=0.95):
    return gaffke_limits(Column.of(scores), bounds, level)


def share_below(scores, m):
    """P(sum of D y <= m), y the scores and a 0, D uniform on the simplex: an exact fraction.

    The density of a sum with such weights is a B-spline with the knots y, whose integral is a sum
    of truncated powers (Curry and Schoenberg 1966). The scores must differ.
    """
    knots = [Fraction(0), *(Fraction(float(score)) for score in scores)]
    m = Fraction(float(m))
    beyond = Fraction(0)
    for knot in knots:
        if knot > m:
            others = math.prod(knot - other for other in knots if other != knot)
            beyond += (knot - m) ** (len(knots) - 1) / others
    return 1 - beyond


def scores_between_bounds(*, most=30):
    return st.integers(1, most).flatmap(
        lambda n: arrays(np.float64, n, elements=st.floats(0, 1, width=16))
    )


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999999])
@pytest.mark.parametrize("n", [1, 2, 10, 57, 1000, 1_000_000])
def test_zeros_and_ones_have_the_limits_of_clopper_and_pearson(n, level):
    for ones in {0, 1, n // 3, n - 1, n}:
        zeros, tail = n - ones, (1 - level) / 2
        counts = np.array([zeros, ones], dtype=float)
        column = Column.of_counts(np.flatnonzero(counts).astype(float), counts[counts > 0])
        low, high = gaffke_limits(column, (0, 1), level)
        expected = scipy.stats.beta.ppf(tail, ones, zeros + 1) if ones else 0.0
        from_high = scipy.stats.beta.ppf(tail, zeros, ones + 1) if zeros else 0.0
        assert (low, 1 - high) == pytest.approx((expected, from_high), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("n", [1, 2, 7, 400, 5000])
@pytest.mark.parametrize("score", [0.003, 0.7, 1.0])
def test_equal_scores_have_limits_in_closed_form(n, score):
    # The weight of the added bound is the smallest of n uniform numbers: 1 - (tail)^(1/n).
    low, high = limits(np.full(n, score))
    root = 0.025 ** (1 / n)
    assert low == pytest.approx(score * root, rel=1e-9)
    assert high == pytest.approx(1 - (1 - score) * root, rel=1e-9)


@pytest.mark.parametrize("level", [0.2, 0.95, 0.999999])
@pytest.mark.parametrize("n", [2, 3, 8, 20, 50])
@pytest.mark.parametrize("name", [name for name in DRAWS if "rare" not in name])
def test_the_lower_limit_is_the_exact_quantile(name, n, level):
    scores = np.unique(DRAWS[name](np.random.default_rng(n), n))
    low, _ = limits(scores, level=level)
    assert float(share_below(scores, low)) == pytest.approx((1 - level) / 2, rel=1e-7)


@pytest.mark.parametrize("name", DRAWS)
def test_bins_change_no_limit(name, monkeypatch):
    scores = DRAWS[name](np.random.default_rng(0), 6000)
    binned = limits(scores)
    monkeypatch.setattr(gaffke, "_MOST_VALUES", scores.size)
    low, high = limits(scores)
    assert binned == pytest.approx((low, high), abs=1e-6 * (high - low))


@pytest.mark.parametrize("name", DRAWS)
def test_the_pvalue_is_half_the_rest_of_the_level_at_the_limit(name):
    column = Column.of(DRAWS[name](np.random.default_rng(1), 40))
    for level in (0.6, 0.95, 0.999):
        low, _ = gaffke_limits(column, (-1, 1), level)
        assert gaffke_pvalue(column, low, (-1, 1)) == pytest.approx((1 - level) / 2, rel=1e-6)


@settings(max_examples=30)
@given(scores_between_bounds(), st.data())
def test_no_limit_falls_where_a_score_rises(scores, data):
    higher = scores.copy()
    place = data.draw(st.integers(0, scores.size - 1))
    higher[place] = data.draw(st.floats(float(scores[place]), 1.0))
    before, after = limits(scores), limits(higher)
    assert after[0] >= before[0] - 1e-9
    assert after[1] >= before[1] - 1e-9
