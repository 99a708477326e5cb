"""Sums of powers give what all values give, and both what all patterns of signs give."""

import itertools
import math

import numpy as np
import pytest

from rageval_report.stats.sign_flips.tail_batch import TailRows, smooth_tails
from rageval_report.stats.sign_flips.tilted_rows import ListedRows, SummedRows, sum_rows

SHAPES = {
    "normal": lambda rng, n: rng.normal(size=n),
    "skewed": lambda rng, n: rng.lognormal(size=n),
    "heavy tails": lambda rng, n: rng.standard_t(2, n),
    "two heaps": lambda rng, n: rng.beta(0.5, 0.5, n) - rng.beta(0.5, 0.5, n),
    "half zeros": lambda rng, n: rng.normal(size=n) * (rng.random(n) < 0.5),
    "one dominates": lambda rng, n: np.append(rng.normal(0, 0.01, n - 1), 1.0),
}


def unit_rows(shape, n, n_rows=4):
    rng = np.random.default_rng(n)
    values = np.abs(np.stack([SHAPES[shape](rng, n) for _ in range(n_rows)]))
    return values / np.sqrt(np.square(values).sum(axis=1, keepdims=True))


def enumerated(values, tilt, t):
    """K, mean, variance and characteristic function of the tilted sum, from all sign patterns."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=values.size)))
    sums = signs @ values
    weights = np.exp(tilt * sums)
    total = weights.sum()
    mean = (weights * sums).sum() / total
    variance = (weights * np.square(sums - mean)).sum() / total
    wave = (weights * np.exp(1j * t * sums)).sum() / total
    return math.log(total / sums.size), mean, variance, wave


@pytest.mark.parametrize("rows_of", [ListedRows, SummedRows.of])
@pytest.mark.parametrize("scale", [1.0, 0.2])
def test_ten_values_give_what_their_sign_patterns_give(rows_of, scale):
    values = scale * np.abs(np.random.default_rng(1).normal(0, 0.3, 10))
    tilt, distance = np.array([2.5]), np.array([0.7])
    rows = rows_of(values[np.newaxis])
    waves = rows.characteristic(tilt, distance, 8)[0]
    for node in range(8):
        log, mean, variance, wave = enumerated(values, 2.5, 0.7 * node)
        assert waves[node] == pytest.approx(wave, rel=1e-11)
    assert rows.logs(tilt)[0] == pytest.approx(log, rel=1e-12)
    assert [moment[0] for moment in rows.moments(tilt)] == pytest.approx(
        [mean, variance], rel=1e-12
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [150, 300, 1000])
def test_sums_of_powers_give_what_all_values_give(shape, n):
    values = unit_rows(shape, n)
    tilt, distance = np.array([2.0, 3.0, 4.0, 5.0]), np.full(4, 0.7)
    summed, listed = SummedRows.of(values), ListedRows(values)
    assert summed.covers(tilt, 12 * distance).all()
    assert summed.logs(tilt) == pytest.approx(listed.logs(tilt), rel=1e-13)
    for ours, theirs in zip(summed.moments(tilt), listed.moments(tilt), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-12)
    waves = [rows.characteristic(tilt, distance, 13) for rows in (summed, listed)]
    # A node counts next to the first one, which is 1.
    assert np.abs(waves[0] - waves[1]).max() < 1e-11


def test_what_lies_beyond_the_series_is_not_covered():
    rows = SummedRows.of(unit_rows("normal", 300))
    assert not rows.covers(np.full(4, 2.0), np.full(4, 20.0)).any()
    assert not rows.covers(np.full(4, rows.most_tilt), np.zeros(4)).any()


def midp_by_integers(values, threshold):
    """The probability to be above the threshold and half of that to hit it, in whole numbers."""
    total = int(values.sum())
    ways = [0] * (total + 1)
    ways[0] = 1
    for value in values.tolist():
        ways = [ways[k] + (ways[k - value] if k >= value else 0) for k in range(len(ways))]
    hit = (total + threshold) // 2
    return (2 * sum(ways[hit + 1 :]) + ways[hit]) / 2 ** (values.size + 1)


@pytest.mark.parametrize("n", [140, 300, 800])
def test_tails_are_those_of_whole_numbers_counted_one_by_one(n):
    """Sums two steps apart, spread over a step to either side, are mid-p at a possible sum."""
    values = np.random.default_rng(n).integers(1, 10, n)
    unit, total = math.sqrt(float(np.square(values).sum())), int(values.sum())
    shares = [0.3, 1.0, 2.0, 3.0, 4.0, 4.8]
    thresholds = np.array([round(share * unit) for share in shares])
    thresholds += (thresholds + total) % 2
    rows = TailRows(np.tile(values.astype(float), (6, 1)), thresholds.astype(float), np.ones(6))
    exact = [midp_by_integers(values, threshold) for threshold in thresholds.tolist()]
    assert exact[-1] < 2e-6
    tails = smooth_tails(rows).settled_rows(4000.0)
    assert tails == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_row_has_the_same_digits_in_any_company(shape):
    values, others = unit_rows(shape, 300), unit_rows("heavy tails", 300)
    thresholds = np.array([0.5, 1.5, 3.0, 4.5])
    alone = [
        smooth_tails(TailRows(row[np.newaxis], each[np.newaxis], np.zeros(1))).at_least[0]
        for row, each in zip(values, thresholds, strict=True)
    ]
    both = TailRows(np.concatenate([others, values]), np.tile(thresholds, 2), np.zeros(8))
    assert np.array_equal(smooth_tails(both).at_least[4:], alone, equal_nan=True)


@pytest.mark.parametrize("width", [8, 120, 128, 136, 192])
def test_zeros_behind_a_row_leave_the_last_digit_of_its_sum_alone(width):
    rows = np.random.default_rng(width).random((4, width))
    sums = sum_rows(rows)
    assert sums == pytest.approx([math.fsum(row) for row in rows.tolist()], rel=1e-15)
    for wider in range(width, 193, 8):
        assert np.array_equal(sum_rows(np.pad(rows, ((0, 0), (0, wider - width)))), sums)
