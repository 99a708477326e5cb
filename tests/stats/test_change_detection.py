"""Witnesses: the definition in a plain loop, exact expectations over all streams, simulation."""

import itertools
import math

import numpy as np
import pytest

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats.sequential import ChangeBets, combine_growth


def change_evalues(batches, limit, **options):
    bets = ChangeBets(limit, **options)
    return combine_growth([bets.growth(batch) for batch in batches])


def looped_evalue(batches, limit, variance, alpha=0.05):
    """The mixture by its definition: a bettor for each start, score by score."""
    stakes = np.sqrt(2 * math.log(2 / alpha) / (np.array([25, 100, 400, 1600]) * variance))
    stakes = np.minimum(stakes, 0.95 / (1 - limit))
    total = 0.0
    for start in range(len(batches)):
        wealth = np.ones(4)
        for score in itertools.chain(*batches[start:]):
            wealth = wealth * (1 + stakes * (limit - score))
        total += wealth.mean() / ((start + 1) * (start + 2))
    return total + 1 / (len(batches) + 1)


def test_the_evidence_is_that_of_a_plain_loop():
    rng = np.random.default_rng(1)
    batches = [rng.beta(6, 2, n) for n in (5, 12, 1, 9)]
    evidence = change_evalues(batches, 0.8, bounds=(0, 1), variance=0.03)
    for n in range(1, 5):
        expected = looped_evalue(batches[:n], 0.8, 0.03)
        assert evidence.evalues[n - 1] == pytest.approx(expected, rel=1e-9)


def test_the_expected_evidence_is_1_at_the_limit():
    # every stream of three batches of three scores of 0 and 1, with its probability
    expected = np.zeros(3)
    for scores in itertools.product((0.0, 1.0), repeat=9):
        probability = 0.7 ** sum(scores) * 0.3 ** (9 - sum(scores))
        batches = np.split(np.array(scores), 3)
        evidence = change_evalues(batches, 0.7, bounds=(0, 1), variance=0.21)
        expected += probability * evidence.evalues
    assert expected == pytest.approx(1.0)


def test_a_change_after_a_long_good_time_is_found_and_dated():
    rng = np.random.default_rng(2)
    shares = [0.9] * 40 + [0.7] * 10
    batches = [(rng.random(50) < share).astype(float) for share in shares]
    evidence = change_evalues(batches, 0.85, bounds=(0, 1), variance=0.09)
    assert evidence.evalues[:40].max() < 20
    assert evidence.evalues[-1] > 1e3
    assert abs(int(evidence.starts[-1]) - 40) <= 1


def test_a_limit_beyond_the_scale_is_never_crossed():
    assert change_evalues([[0.0] * 50], -0.1, bounds=(0, 1)).evalues[0] <= 1.0


def test_bad_input_is_refused():
    with pytest.raises(DataError, match=r"within the bounds 0 to 1; got 1\.5"):
        change_evalues([[1.5]], 0.5, bounds=(0, 1))
    with pytest.raises(UnknownNameError, match="less"):
        change_evalues([[0.5]], 0.5, bounds=(0, 1), alternative="two-sided")
    with pytest.raises(DataError, match="alpha must lie between 0 and 1"):
        change_evalues([[0.5]], 0.5, bounds=(0, 1), alpha=5)
