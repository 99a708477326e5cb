"""Second witnesses: pandas 3.1.1 describe, numpy 2.4.6 percentile, statistics.quantiles."""

import math
import statistics

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.means.column_description import describe, percentiles_of

NAN = math.nan
PERCENTILES = (5, 25, 50, 75, 95)


def columns(n):
    rng = np.random.default_rng(n)
    gappy = rng.normal(size=n)
    gappy[rng.random(n) < 0.3] = NAN
    return {
        "share": rng.integers(0, 2, n).astype(float),
        "fifths": rng.integers(0, 6, n) / 5,
        "beta": rng.beta(8, 2, n),
        "heavy": rng.standard_t(1.5, n),
        "gappy": gappy,
        "sorted": np.sort(rng.random(n)),
        "far": 1e9 + rng.random(n),
    }


@pytest.mark.parametrize("n", [2, 7, 1000, 70_000, 200_001])
def test_the_numbers_are_those_of_pandas(n):
    frame = pd.DataFrame(columns(n))
    expected = frame.describe(percentiles=[p / 100 for p in PERCENTILES])
    described = describe(frame.to_numpy().T, percentiles=PERCENTILES)
    for (name, numbers), found in zip(expected.items(), described, strict=True):
        known = found.moments
        ours = [known.n, known.mean, known.std, known.minimum, *found.percentiles, known.maximum]
        assert ours == pytest.approx(numbers.to_list(), rel=1e-9, abs=1e-12, nan_ok=True), name
        assert found.n_unscored == frame[name].isna().sum()


@pytest.mark.parametrize("n", [1, 2, 3, 50, 70_000])
def test_linear_percentiles_are_those_of_numpy_to_the_last_bit(n):
    scores = np.random.default_rng(n).normal(size=n)
    wanted = np.array([0, 0.1, 5, 10, 33.3, 50, 66.6, 90, 99.9, 100])
    assert np.array_equal(percentiles_of(scores, wanted), np.percentile(scores, wanted))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 10, 101, 70_000])
def test_exclusive_percentiles_are_those_of_the_statistics_module(n):
    scores = np.random.default_rng(n).normal(size=n)
    expected = statistics.quantiles(scores.tolist(), n=100)
    found = percentiles_of(scores, np.arange(1, 100), method="exclusive")
    assert found == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("method", ["linear", "exclusive"])
def test_one_score_is_every_percentile(method):
    assert percentiles_of([0.3], (0, 25, 100), method=method).tolist() == [0.3, 0.3, 0.3]


def test_nothing_scored_is_nan_all_along():
    (found,) = describe([[NAN, NAN]])
    assert found.n_unscored == 2
    assert found.moments.n == 0
    assert np.isnan([found.moments.mean, found.moments.std, *found.percentiles]).all()


def test_an_empty_column_has_nothing_scored():
    (found,) = describe([[]])
    assert (found.moments.n, found.n_unscored) == (0, 0)


def test_one_score_has_no_spread_but_a_mean():
    (found,) = describe([[NAN, 0.4]])
    assert (found.moments.mean, found.moments.minimum, found.moments.maximum) == (0.4, 0.4, 0.4)
    assert math.isnan(found.moments.std)
    assert math.isnan(found.moments.standard_error)


def test_equal_scores_have_exactly_no_spread():
    (found,) = describe([[0.1] * 100_000])
    assert (found.moments.mean, found.moments.std) == (0.1, 0.0)


def test_the_columns_are_left_as_they_were():
    scores = np.random.default_rng(0).random(70_000)
    before = scores.copy()
    describe([scores])
    assert np.array_equal(scores, before)


def test_no_percentiles_may_be_asked_for():
    assert describe([[1.0, 2.0]], percentiles=())[0].percentiles == ()


@pytest.mark.parametrize("percentiles", [(200,), (25, -1), (NAN,)])
def test_a_percentile_that_is_none_is_refused(percentiles):
    with pytest.raises(DataError, match="between 0 and 100"):
        describe([[1.0]], percentiles=percentiles)


def test_infinite_scores_are_refused():
    with pytest.raises(DataError, match="infinite"):
        describe([[0.5, 1.0], [0.5, -math.inf]])


def test_a_column_of_several_dimensions_is_refused_by_its_number():
    with pytest.raises(DataError, match="column 1 has 2"):
        describe([[0.5], [[0.5]]])


def test_an_unknown_method_is_met_with_the_nearest():
    with pytest.raises(UnknownNameError, match="'linear'"):
        percentiles_of([1.0], method="liner")


@settings(max_examples=50)
@given(st.lists(st.floats(-100, 100), min_size=1, max_size=50), st.randoms(use_true_random=False))
def test_the_order_of_the_queries_does_not_matter(scores, random):
    shuffled = random.sample(scores, len(scores))
    one, other = (describe([order])[0] for order in (scores, shuffled))
    assert one.percentiles == other.percentiles
    assert one.moments.mean == pytest.approx(other.moments.mean, abs=1e-12)
