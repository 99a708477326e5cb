"""The state of a metric: from any split of the rows the numbers that memory has."""

import functools
import operator
import pickle
import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.stats.means.column_description import describe
from rageval_report.stats.means.intervals import DescribedColumn, described_intervals
from rageval_report.stats.states.column_state import FEW_VALUES, MOST_VALUES
from rageval_report.stats.states.metric_state import MetricState

PERCENTILES = (0.0, 1.0, 25.0, 50.0, 75.0, 99.9, 100.0)


def parts_of(values, seed, n_parts=7):
    """The values in another order and in parts of random lengths, some of them empty."""
    rng = np.random.default_rng(seed)
    moved = rng.permutation(values)
    return np.split(moved, np.sort(rng.integers(0, values.size + 1, n_parts - 1)))


def merged(values, seed, n_parts=7):
    """The state of all parts, added as a tree of random shape."""
    states = [MetricState.of(part) for part in parts_of(values, seed, n_parts)]
    rng = np.random.default_rng(seed)
    while len(states) > 1:
        first = states.pop(int(rng.integers(len(states))))
        second = states.pop(int(rng.integers(len(states))))
        states.append(first + second)
    return states[0]


def collected(state, values, method="linear"):
    """The scores inside each bracket, as a second pass collects them part by part."""
    brackets = state.brackets(PERCENTILES, method)
    parts = parts_of(values, 99)
    return [np.concatenate([each.select(part) for part in parts]) for each in brackets]


LATTICES = {
    "binary": lambda rng, n: rng.integers(0, 2, n) * 1.0,
    "ratings": lambda rng, n: rng.integers(1, 6, n) * 1.0,
    "thirds": lambda rng, n: rng.integers(0, 4, n) / 3,
    "reciprocal ranks": lambda rng, n: 1.0 / rng.integers(1, 11, n),
    "hundredths": lambda rng, n: rng.integers(0, 101, n) / 100,
    "ten-thousandths": lambda rng, n: rng.integers(-10_000, 10_001, n) / 10_000,
    "milliseconds": lambda rng, n: rng.integers(200, 100_000, n) * 1.0,
    "equal": lambda _rng, n: np.full(n, 0.7),
}


@pytest.mark.parametrize("kind", LATTICES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [300, FEW_VALUES + 905, 60_000])
def test_scores_on_a_lattice_give_the_numbers_of_memory_to_the_last_bit(kind, dtype, n):
    rng = np.random.default_rng(n)
    values = LATTICES[kind](rng, n).astype(dtype)
    values[rng.random(n) < 0.03] = np.nan
    for method in ("linear", "exclusive", "upper"):
        (in_memory,) = describe([values], percentiles=PERCENTILES, method=method)
        for seed in range(2):
            assert merged(values, seed).describe(PERCENTILES, method) == in_memory


@pytest.mark.parametrize("kind", ["binary", "ratings", "hundredths", "ten-thousandths"])
@pytest.mark.parametrize("method", ["auto", "t", "gaffke", "percentile"])
@pytest.mark.parametrize("n", [300, 5_000])
def test_intervals_on_a_lattice_are_those_of_memory_to_the_last_bit(kind, method, n):
    rng = np.random.default_rng(n)
    values = LATTICES[kind](rng, n)
    bounds = {"ratings": (1.0, 5.0), "ten-thousandths": (-1.0, 1.0)}.get(kind, (0.0, 1.0))
    (numbers,) = describe([values])
    column = DescribedColumn(values, numbers.moments, bounds)
    of_state = merged(values, 5).column(bounds)
    first, second = described_intervals([column, of_state], method=method)
    assert first == second


SMOOTH = {
    "shares": lambda rng, n: rng.beta(5, 2, n),
    "latency": lambda rng, n: rng.lognormal(6, 1, n),
    "heavy tail": lambda rng, n: rng.pareto(1.5, n),
    "far from zero": lambda rng, n: 1e6 + rng.normal(0, 1, n),
    "many zeros": lambda rng, n: rng.beta(5, 2, n) * (rng.random(n) < 0.4),
}


@pytest.mark.parametrize("kind", SMOOTH)
@pytest.mark.parametrize("n", [3000, MOST_VALUES - 1, 250_000])
def test_other_scores_give_the_numbers_of_memory_up_to_rounding(kind, n):
    values = SMOOTH[kind](np.random.default_rng(n), n)
    values[::17] = np.nan
    (in_memory,) = describe([values], percentiles=PERCENTILES)
    state = merged(values, 3)
    numbers = state.describe(PERCENTILES, "linear", collected(state, values))
    assert numbers.n_unscored == in_memory.n_unscored
    assert numbers.percentiles == in_memory.percentiles
    for name in ("n", "minimum", "maximum", "is_binary"):
        assert getattr(numbers.moments, name) == getattr(in_memory.moments, name)
    assert numbers.moments.mean == pytest.approx(in_memory.moments.mean, rel=1e-12)
    assert numbers.moments.std == pytest.approx(in_memory.moments.std, rel=1e-12)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), st.integers(0, 40))
@settings(max_examples=60)
def test_a_split_moves_nothing(values, place):
    column = np.array(values)
    state = MetricState.of(column[:place]) + MetricState.of(column[place:])
    assert state.describe() == MetricState.of(column).describe()
    assert state.moments.mean == pytest.approx(statistics.fmean(values), rel=1e-12, abs=1e-9)


def test_a_value_off_the_lattice_turns_counts_into_sums():
    rng = np.random.default_rng(0)
    lattice, other = rng.integers(0, 101, 200_000) / 100, rng.random(200_000)
    state = MetricState.of(lattice) + MetricState.of(other)
    every = np.concatenate((lattice, other))
    assert state.scores.sums is not None
    assert state.moments.mean == pytest.approx(every.mean(), rel=1e-12)
    assert state.moments.std == pytest.approx(every.std(ddof=1), rel=1e-12)
    inside = [each.select(every) for each in state.brackets()]
    cuts = np.percentile(every, [25, 50, 75])
    assert state.describe(inside=inside).percentiles == tuple(cuts.tolist())


def test_lattices_merge_on_the_least_common_multiple():
    state = MetricState.of(np.repeat([0.5, 1 / 3], 5000)) + MetricState.of(np.repeat(0.25, 5000))
    assert state.scores.steps.denominator == 12
    assert state.moments.mean == pytest.approx((0.5 + 1 / 3 + 0.25) / 3, rel=1e-15)


def test_a_state_is_small_and_can_be_sent():
    rng = np.random.default_rng(1)
    for values in (rng.integers(0, 101, 10**6) / 100, rng.random(10**6)):
        state = MetricState.of(values)
        assert state.nbytes < 2**21
        sent = pickle.loads(pickle.dumps(state))
        assert (sent + state).describe() == functools.reduce(operator.add, [state, sent]).describe()


def test_an_infinite_score_is_an_error():
    for dtype in (np.float64, np.float32):
        with pytest.raises(DataError, match="infinite"):
            MetricState.of(np.array([0.5, np.inf], dtype=dtype))


def test_a_second_pass_over_other_data_is_an_error():
    state = MetricState.of(np.random.default_rng(2).random(200_000))
    with pytest.raises(DataError, match="Did the data change"):
        state.describe(inside=[[0.5] for _ in state.brackets()])


def test_nothing_scored_has_no_mean():
    numbers = MetricState.of(np.array([np.nan, np.nan])).describe()
    assert numbers.moments.n == 0
    assert np.isnan([numbers.moments.mean, *numbers.percentiles]).all()
    assert numbers.n_unscored == 2
