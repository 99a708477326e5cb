"""The bounds of whole batches, against the terms themselves, each computed as a product."""

import numpy as np
import pytest

from rageval_report.stats.sign_flips.far_bounds import FarRows, bound_closely, bound_far_terms
from rageval_report.stats.sign_flips.saddlepoint import LEAST_TILT
from rageval_report.stats.sign_flips.tail_batch import TailRows, smooth_tails

SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.random(n),
    "heavy tails": lambda rng, n: rng.standard_t(2, n),
    "one dominates": lambda rng, n: np.append(rng.normal(0, 0.01, n - 1), 1.0),
    "nine tenths zeros": lambda rng, n: rng.normal(size=n) * (rng.random(n) < 0.1),
    "few sizes": lambda rng, n: rng.choice([1.0, 2.718, 3.142], n),
    "nearly alike": lambda rng, n: 1.0 + 0.001 * rng.random(n),
}
LAST = 1500


def far_rows(shape, n, n_rows=3, spread=0.0):
    rng = np.random.default_rng(n)
    values = np.abs(np.stack([SHAPES[shape](rng, n) for _ in range(n_rows)]))
    values /= np.sqrt(np.square(values).sum(axis=1, keepdims=True))
    tilt = np.linspace(LEAST_TILT, 3.0, n_rows)
    first = np.full(n_rows, 17) + np.arange(n_rows)
    columns = tilt, np.full(n_rows, 0.45), np.full(n_rows, spread), first, np.full(n_rows, LAST)
    return FarRows(values, *columns)


def sum_of_terms(rows, row):
    """The moduli of all terms of one row, each divided by its point, without any table."""
    nodes = np.arange(rows.first[row], rows.last[row] + 1)
    t, tilt = rows.distance[row] * nodes, rows.tilt[row]
    logs = np.zeros(nodes.size)
    for value in rows.values[row]:
        logs += np.log(np.abs(np.cosh((tilt + 1j * t) * value)) / np.cosh(tilt * value))
    terms = np.exp(logs)
    if rows.spread[row]:
        z = rows.spread[row] * (tilt + 1j * t)
        terms *= np.abs(np.sinh(z) / z)
    return (terms / np.abs(tilt + 1j * t)).sum()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [40, 120, 250, 420])
@pytest.mark.parametrize("spread", [0.0, 0.05])
def test_no_sum_of_terms_is_above_its_bound(shape, n, spread):
    rows = far_rows(shape, n, spread=spread)
    bounds, closer = bound_far_terms(rows), bound_closely(rows)
    for row in range(3):
        terms = sum_of_terms(rows, row)
        assert terms <= bounds[row]
        assert terms <= closer[row]


@pytest.mark.parametrize("n", [60, 120, 250, 700, 1400])
def test_a_smooth_law_needs_no_far_terms(n):
    """Six digits of a p-value of 0.02 do not depend on them."""
    assert (bound_far_terms(far_rows("normal", n)) < 2e-4).all()


@pytest.mark.parametrize("n", [45, 60, 120])
def test_a_second_look_is_several_times_closer(n):
    rows = far_rows("normal", n)
    assert (bound_closely(rows) < 0.5 * bound_far_terms(rows)).all()


@pytest.mark.parametrize("n", [40, 250])
def test_a_row_has_the_same_bound_in_any_company(n):
    rows = far_rows("normal", n)
    together = bound_far_terms(rows)
    alone = np.concatenate([bound_far_terms(rows.select(np.array([row]))) for row in range(3)])
    backwards = bound_far_terms(rows.select(np.arange(3)[::-1]))[::-1]
    assert np.array_equal(together, alone)
    assert np.array_equal(together, backwards)


def test_zeros_add_nothing():
    rows = far_rows("normal", 100)
    wider = FarRows(
        np.pad(rows.values, ((0, 0), (0, 20))),
        *(rows.tilt, rows.distance, rows.spread, rows.first, rows.last),
    )
    assert (bound_far_terms(wider) >= [sum_of_terms(rows, row) for row in range(3)]).all()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [45, 300])
def test_rows_are_settled_together_as_one_by_one(shape, n):
    """A bound that is small enough only spares the search for far terms; no digit changes."""
    rows = far_rows(shape, n)
    thresholds = np.linspace(0.1, 3.0, 3)
    tails = smooth_tails(TailRows(rows.values, thresholds, np.zeros(3)))
    one_by_one = [tails.settled(row, 1000.0) for row in range(3)]
    assert np.array_equal(tails.settled_rows(1000.0), one_by_one, equal_nan=True)
