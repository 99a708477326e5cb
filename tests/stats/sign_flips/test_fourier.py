from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rageval_report.stats.sign_flips.fourier import IntegrationLine, select_nodes, tail_series
from rageval_report.stats.sign_flips.meet_in_the_middle import lattice_law, listed_tail
from rageval_report.stats.sign_flips.saddlepoint import LEAST_TILT, saddlepoint_tail, tilt
from rageval_report.stats.sign_flips.sign_sums import SignSums

KINDS = {
    "normal": lambda rng: np.abs(rng.normal(size=36)),
    "uniform": lambda rng: rng.random(36),
    "heavy": lambda rng: np.abs(rng.standard_cauchy(36)),
    "outliers": lambda rng: rng.random(36) * np.where(np.arange(36) < 4, 100.0, 1.0),
}


def unit_sums(values, threshold):
    unit = float(np.linalg.norm(values))
    return SignSums(values / unit), threshold / unit, unit


def line_for(sums, threshold, step=None):
    c = tilt(sums, threshold)
    guess = saddlepoint_tail(sums, threshold) if c > LEAST_TILT else 0.1
    return IntegrationLine(max(c, LEAST_TILT), guess, step)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_series_agrees_with_two_lists_that_meet(kind, share):
    rng = np.random.default_rng(3)
    values = KINDS[kind](rng)
    signs = np.where(rng.random(36) < 0.5 + 0.35 * share, 1, -1)
    threshold = abs(float(signs @ values))
    expected = listed_tail(values, np.ones(36), threshold).at_least
    sums, scaled, _ = unit_sums(values, threshold)
    series = tail_series(sums, np.array([scaled]), line_for(sums, scaled))
    assert series.at_least[0] == pytest.approx(expected, rel=1e-3)
    assert abs(series.near[0]) < 1e-3 * expected


@pytest.mark.parametrize("heads", [505, 560, 620])
def test_on_a_lattice_the_series_is_the_binomial_law(heads):
    law = scipy_stats.binom(1000, 0.5)  # scipy 1.17.1
    sums, threshold, unit = unit_sums(np.ones(1000), 2.0 * heads - 1000)
    series = tail_series(sums, np.array([threshold]), line_for(sums, threshold, 1 / unit))
    assert series.at_least[0] == pytest.approx(law.sf(heads - 1), rel=1e-8, abs=0.0)
    assert series.equal[0] == pytest.approx(law.pmf(heads), rel=1e-8, abs=0.0)


def test_one_line_serves_many_thresholds():
    rng = np.random.default_rng(1)
    steps = rng.integers(1, 5, 300)
    distinct, counts = np.unique(steps, return_counts=True)
    law = lattice_law(distinct, counts.astype(float))
    unit = float(np.linalg.norm(steps))
    chosen = np.array([330, 360, 380, 420])
    expected = [law.weights[i:].sum() for i in chosen]
    line = IntegrationLine(2.0, 1e-3, 1 / unit)
    series = tail_series(SignSums(steps / unit), law.values[chosen] / unit, line)
    np.testing.assert_allclose(series.at_least, expected, rtol=1e-6, atol=1e-9)


def test_ties_off_any_lattice_are_reported_as_undecided():
    values = np.repeat([1.0, np.pi], 200)
    sums, threshold, _unit = unit_sums(values, 10 + 4 * np.pi)
    series = tail_series(sums, np.array([threshold]), line_for(sums, threshold))
    law = scipy_stats.binom(200, 0.5)  # scipy 1.17.1
    tied = law.pmf(105) * law.pmf(102)
    assert series.near[0] == pytest.approx(tied, rel=0.2)


def test_a_large_smooth_sample_needs_few_nodes():
    values = np.random.default_rng(0).random(20_000)
    sums, threshold, _ = unit_sums(values, 100.0)
    nodes = select_nodes(sums, line_for(sums, threshold))
    assert nodes.far.size == 0
    assert nodes.last > 100 * 40


def test_no_node_that_matters_is_skipped():
    """Where nodes were left out the characteristic function is indeed negligible."""
    values = np.random.default_rng(2).choice([1.0, 2.0, 3.0, 0.7], 900, p=[0.4, 0.3, 0.29, 0.01])
    sums, threshold, _ = unit_sums(values, 60.0)
    line = line_for(sums, threshold)
    nodes = select_nodes(sums, line)
    every = np.arange(nodes.last + 1)
    skipped = np.setdiff1d(every, np.append(nodes.body, nodes.far))
    left_out = sums.characteristic(line.tilt, nodes.distance, skipped)
    assert nodes.far.size
    assert np.abs(left_out).max() < 1e-8


def reciprocal_ranks(n):
    """The distinct magnitudes of differences of reciprocal ranks, in steps of 1 / 2520."""
    rng = np.random.default_rng(n)
    ranks = np.minimum(rng.geometric(0.4, (2, n)), 10)
    steps, counts = np.unique(np.abs(np.subtract(*(2520 // ranks))), return_counts=True)
    steps, counts = steps[steps > 0], counts[steps > 0].astype(float)
    unit = float(np.sqrt((np.square(steps, dtype=float) * counts).sum()))
    return steps, counts, unit


@pytest.mark.parametrize(("n", "most"), [(100, 0.7), (300, 0.5), (1000, 0.1)])
def test_no_node_of_few_counted_values_that_matters_is_skipped(n, most):
    """Against the characteristic function itself, at every node."""
    steps, counts, unit = reciprocal_ranks(n)
    sums = SignSums(steps / unit, counts)
    line = IntegrationLine(2.0, 0.05, 1 / unit, far=500.0, threshold=1.0)
    nodes = select_nodes(sums, line)
    every = np.arange(nodes.last + 1)
    factors = np.multiply.outer(steps / unit, 2.0 + 1j * nodes.distance * every)
    factors = np.cosh(factors) / np.cosh(2.0 * steps / unit)[:, np.newaxis]
    moduli = (np.abs(factors) ** counts[:, np.newaxis]).prod(axis=0)
    assert moduli[np.setdiff1d(every, nodes.multiples)].max() < 1e-9
    assert nodes.multiples.size < most * nodes.last


@pytest.mark.parametrize("deviations", [0.0, 1.0, 2.5])
def test_one_threshold_on_a_lattice_takes_fewer_nodes(deviations):
    """A shorter period, and the exact law by convolution as the witness."""
    counts = np.array([120.0, 60.0, 33.0, 9.0])
    steps = np.array([1, 2, 3, 5])
    unit = float(np.sqrt((steps**2 * counts).sum()))
    law = lattice_law(steps, counts)
    threshold = float(law.values[np.searchsorted(law.values, deviations * unit)])
    sums = SignSums(steps / unit, counts)
    line = line_for(sums, threshold / unit, 1 / unit)
    alone = replace(line, threshold=threshold / unit)
    assert select_nodes(sums, alone).body.size < select_nodes(sums, line).body.size
    series = tail_series(sums, np.array([threshold / unit]), alone)
    is_reached = law.values >= threshold
    assert series.at_least[0] == pytest.approx(law.weights[is_reached].sum(), rel=1e-13)
    assert series.equal[0] == pytest.approx(law.weights[is_reached][0], rel=1e-12)
