"""The bounds by a Fourier transform, against the terms themselves, each computed as a product."""

import itertools
import math

import numpy as np
import pytest

from rageval_report.stats.sign_flips.far_bounds import FarRows
from rageval_report.stats.sign_flips.far_transform import (
    bound_by_transform,
    grid_spacing,
    lengths_on_grid,
)
from rageval_report.stats.sign_flips.tail_batch import TailRows, smooth_tails
from tests.stats.sign_flips.test_far_bounds import SHAPES, far_rows, sum_of_terms

MORE_SHAPES = {
    **SHAPES,
    "skewed": lambda rng, n: rng.lognormal(size=n),
    "two heaps": lambda rng, n: rng.beta(0.5, 0.5, n) - rng.beta(0.5, 0.5, n),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [60, 390, 1000])
@pytest.mark.parametrize("spread", [0.0, 0.05])
def test_no_sum_of_terms_is_above_its_bound(shape, n, spread):
    rows = far_rows(shape, n, spread=spread)
    bounds = bound_by_transform(rows)
    for row, bound in enumerate(bounds.tolist()):
        assert sum_of_terms(rows, row) <= bound


@pytest.mark.parametrize(
    ("shape", "n"),
    [
        *itertools.product(("normal", "uniform"), (400, 700, 1400)),
        *itertools.product(("heavy tails", "skewed", "two heaps"), (700, 1400)),
    ],
)
def test_a_smooth_law_needs_no_far_terms(shape, n):
    """Six digits of a p-value of 0.02 do not depend on them."""
    rng = np.random.default_rng(n)
    values = np.abs(np.stack([MORE_SHAPES[shape](rng, n) for _ in range(3)]))
    values /= np.sqrt(np.square(values).sum(axis=1, keepdims=True))
    tails = smooth_tails(TailRows(values, np.array([0.5, 2.0, 2.5]), np.zeros(3)))
    lines = tails.lines
    last = np.ceil(4000 * lines.tilt / lines.distance).astype(np.int64)
    rows = FarRows(values, lines.tilt, lines.distance, lines.spread, lines.n_body, last)
    assert (bound_by_transform(rows) < 1e-4 * tails.at_least / lines.scale).all()


def test_a_law_that_returns_is_not_bounded():
    assert (bound_by_transform(far_rows("nearly alike", 700)) > 1e-2).all()


@pytest.mark.parametrize("shape", MORE_SHAPES)
@pytest.mark.parametrize("n", [300, 700])
def test_rows_are_settled_together_as_one_by_one(shape, n):
    rng = np.random.default_rng(n)
    values = np.stack([np.abs(MORE_SHAPES[shape](rng, n)) for _ in range(3)])
    squares = np.sqrt(np.square(values).sum(axis=1))
    tails = smooth_tails(TailRows(values, np.linspace(0.1, 3.0, 3) * squares, np.zeros(3)))
    one_by_one = [tails.settled(row, 1000.0) for row in range(3)]
    assert np.array_equal(tails.settled_rows(1000.0), one_by_one, equal_nan=True)


def test_a_row_has_the_same_bound_in_any_company():
    rows = far_rows("normal", 500)
    alone = [bound_by_transform(rows.select(np.array([row])))[0] for row in range(3)]
    assert bound_by_transform(rows) == pytest.approx(alone, rel=1e-12)


def test_zeros_add_nothing():
    rows = far_rows("normal", 500)
    wider = FarRows(
        np.pad(rows.values, ((0, 0), (0, 100))),
        *(rows.tilt, rows.distance, rows.spread, rows.first, rows.last),
    )
    assert bound_by_transform(wider) == pytest.approx(bound_by_transform(rows), rel=1e-9)


def test_too_fine_a_grid_is_not_computed():
    rows = far_rows("normal", 500).select(np.array([0]))
    farther = FarRows(
        rows.values, rows.tilt, rows.distance, rows.spread, rows.first, rows.last * 999
    )
    assert bound_by_transform(farther).tolist() == [math.inf]


@pytest.mark.parametrize("shape", MORE_SHAPES)
def test_lengths_on_the_grid_are_below_the_exact_ones(shape):
    rng = np.random.default_rng(4)
    values = np.abs(np.stack([MORE_SHAPES[shape](rng, 50) for _ in range(3)]))
    weights, end, n_points = rng.random(values.shape), np.array([9.0, 20.0, 70.0]), 2**9
    lengths = lengths_on_grid(values, weights, end, n_points)
    t = np.arange(lengths.shape[1]) * grid_spacing(end, n_points)[:, np.newaxis]
    turns = 1.0 - np.cos(2.0 * t[:, np.newaxis] * values[:, :, np.newaxis])
    exact = np.sqrt((weights[:, :, np.newaxis] * turns).sum(axis=1))
    assert (lengths <= exact + 1e-6).all()
    assert np.median(lengths[:, 1:] / exact[:, 1:]) > 0.9
    assert (t[:, -1] >= end).all()
