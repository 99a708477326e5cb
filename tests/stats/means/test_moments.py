"""Second witness: numpy 2.4.6."""

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest

from rageval_report.errors import DataError
from rageval_report.stats.means.moments import mean_off_steps, moments, moments_off_steps
from rageval_report.stats.means.selection import BLOCK

NAN = math.nan


@pytest.mark.parametrize("n", [2, 100, BLOCK, BLOCK + 1, 5 * BLOCK + 7])
@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_the_moments_are_those_of_numpy(n, offset):
    scores = offset + np.random.default_rng(n).normal(size=n)
    scores[n // 3 :: 7] = NAN if n > 50 else scores[0]
    found = moments(scores)
    assert found.n == np.count_nonzero(~np.isnan(scores))
    assert found.mean == pytest.approx(np.nanmean(scores), rel=1e-13, abs=1e-13)
    assert found.std == pytest.approx(np.nanstd(scores, ddof=1), rel=1e-7)
    assert (found.minimum, found.maximum) == (np.nanmin(scores), np.nanmax(scores))
    assert found.standard_error == found.std / math.sqrt(found.n)


def test_the_spread_of_blocks_far_from_zero_has_all_its_digits():
    scores = 1e9 + np.random.default_rng(0).random(2 * BLOCK + 7)
    # The standard library of Python 3.11 computes with fractions.
    assert moments(scores).std == pytest.approx(statistics.stdev(scores.tolist()), rel=1e-12)


def test_a_block_without_a_score_is_passed_over():
    scores = np.concatenate((np.full(BLOCK, NAN), [1.0, 3.0]))
    assert (moments(scores).n, moments(scores).mean) == (2, 2.0)


def test_nothing_scored_has_no_moments():
    found = moments(np.full(3, NAN))
    assert found.n == 0
    assert np.isnan([found.mean, found.std, found.minimum, found.standard_error]).all()
    assert not found.is_constant


def test_scores_that_differ_by_rounding_are_constant():
    found = moments(np.array([0.1 + 0.2, 0.3, 0.3]))
    assert found.is_constant
    assert found.std == 0.0


def test_one_score_is_not_constant_but_without_spread():
    found = moments(np.array([0.4]))
    assert math.isnan(found.std)
    assert not found.is_constant


@pytest.mark.parametrize("infinite", [math.inf, -math.inf])
def test_infinite_scores_are_refused(infinite):
    with pytest.raises(DataError, match="infinite"):
        moments(np.array([0.4, NAN, infinite]))


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0, 1, 1], True),
        ([0, 0, NAN], True),
        ([1], True),
        ([0, 0.5, 1], False),
        ([0, 1, 2], False),
        ([], False),
        (np.append(np.zeros(100_000), [0.5, 1.0]), False),
    ],
)
def test_scores_are_binary_if_all_are_zero_or_one(scores, expected):
    assert moments(np.array(scores, dtype=float)).is_binary is expected


@pytest.mark.parametrize(
    "scores",
    [
        np.random.default_rng(0).beta(8, 2, 3 * BLOCK + 17),
        1e8 + np.random.default_rng(1).normal(size=500),
        np.full(500, 0.1) + 1e-17 * np.arange(500),
        1e250 * np.random.default_rng(2).normal(size=500),
    ],
    ids=["shares", "far from zero", "equal up to rounding", "huge"],
)
def test_the_mean_alone_is_that_of_all_moments_and_of_exact_fractions(scores):
    mean = mean_off_steps(scores, (float(scores.min()), float(scores.max())))
    assert mean == moments_off_steps(scores).mean
    exact = float(sum(map(Fraction, scores.tolist())) / scores.size)
    assert mean == pytest.approx(exact, rel=1e-13, abs=1e-13 * float(np.abs(scores).max()))
