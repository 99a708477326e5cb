"""Paired 0 and 1. Witnesses: exact enumeration, published tables, SciPy 1.17.1."""

import math

import numpy as np
import pytest
from scipy import integrate
from scipy import stats as scipy_stats

from rageval_report.errors import DataError
from rageval_report.stats.binary import PairedTable, difference_pvalue
from rageval_report.stats.columns import Column
from rageval_report.stats.equivalence import equivalence_test
from rageval_report.stats.pairs import Pairs, paired_interval, paired_test

# Newcombe (1998), Statistics in Medicine 17:2635-2650, table III: both, wins, losses, neither and
# the limits of method 10.
NEWCOMBE_TABLE = [
    ((36, 12, 2, 0), 0.0569, 0.3404),
    ((20, 12, 2, 16), 0.0562, 0.3292),
    ((36, 14, 0, 0), 0.1528, 0.4167),
    ((2, 97, 1, 0), 0.8721, 0.9854),
    ((0, 29, 1, 0), 0.6666, 0.9882),
    ((2, 98, 0, 0), 0.9178, 0.9945),
    ((0, 30, 0, 0), 0.8395, 1.0),
    ((54, 0, 0, 0), -0.0664, 0.0664),
    ((30, 0, 0, 24), -0.0358, 0.0358),
]
SHARES = ["mcnemar-midp", "mcnemar", "bonett-price", "newcombe", "tango"]
AIRWAY = (1, 1, 7, 12)  # Fagerland, Lydersen, Laake (2013, 2014): 7 of 8 changes one way


def table(both, wins, losses, neither):
    """Pairs with the given paired table, from counts alone."""
    cells = np.array([both, wins, losses, neither], dtype=float)
    before, after, moved = np.array([1, 0, 1, 0.0]), np.array([1, 1, 0, 0.0]), [0, 1, -1, 0]
    return Pairs(*(_column(side, cells) for side in (before, after, np.array(moved, dtype=float))))


def _column(values, cells):
    present = np.unique(values[cells > 0])
    return Column.of_counts(present, [cells[values == value].sum() for value in present])


def of_counts(n, wins, losses):
    return table(n - wins - losses, wins, losses, 0)


def all_tables(n):
    return [(wins, losses) for wins in range(n + 1) for losses in range(n + 1 - wins)]


def chances(n, won, lost):
    """The chance of each of `all_tables`."""
    law = scipy_stats.multinomial(n, [won, lost, max(0.0, 1 - won - lost)])
    return law.pmf([(wins, losses, n - wins - losses) for wins, losses in all_tables(n)])


# -- tests


def test_the_published_pvalues_of_the_airway_data_are_reproduced():
    pairs = table(*AIRWAY)
    assert paired_test(pairs, test="mcnemar").pvalue == pytest.approx(0.0703, abs=5e-5)
    assert paired_test(pairs, test="mcnemar-midp").pvalue == pytest.approx(0.0391, abs=5e-5)


@pytest.mark.parametrize(("wins", "losses"), [(5, 1), (3, 3), (0, 4), (40, 25), (0, 1)])
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_mcnemars_exact_test_is_the_binomial_one_and_mid_p_counts_the_table_half(
    wins, losses, alternative
):
    pairs = of_counts(wins + losses + 7, wins, losses)
    exact = scipy_stats.binomtest(wins, wins + losses, alternative=alternative).pvalue
    assert paired_test(pairs, test="mcnemar", alternative=alternative).pvalue == pytest.approx(
        exact
    )
    observed = scipy_stats.binom.pmf(wins, wins + losses, 0.5)
    half = observed if alternative == "two-sided" else observed / 2
    midp = paired_test(pairs, alternative=alternative).pvalue
    assert midp == pytest.approx(1.0 if wins == losses and half == observed else exact - half)


# -- the default interval


@pytest.mark.parametrize(("wins", "losses", "n"), [(6, 1, 20), (3, 12, 200), (0, 2, 50), (1, 0, 9)])
@pytest.mark.parametrize("shift", [-0.3, -0.05, -0.01, 0.02, 0.4])
@pytest.mark.parametrize("ties", [0.5, 1.0])
def test_the_pvalue_at_a_difference_is_the_mean_binomial_tail(wins, losses, n, shift, ties):
    changed = wins + losses
    law = scipy_stats.beta(changed + 1, n - changed)

    def tail(share):
        chance = 0.5 + 0.5 * shift / share
        equal = scipy_stats.binom.pmf(wins, changed, chance)
        return law.pdf(share) * (scipy_stats.binom.sf(wins, changed, chance) + ties * equal)

    expected, _ = integrate.quad(tail, abs(shift), 1, points=[max(law.mean(), abs(shift))])
    if shift > 0:  # where so few pairs change that the difference cannot be as large
        expected += law.cdf(shift)
    found = difference_pvalue(PairedTable(n, wins, losses), shift, ties=ties)
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize(("method", "test"), [("auto", "auto"), ("mcnemar", "mcnemar")])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.99, 1 - 2**-5])
def test_the_interval_excludes_zero_exactly_where_its_test_rejects(method, test, level):
    for wins, losses in all_tables(11):
        pairs = of_counts(11, wins, losses)
        found = paired_interval(pairs, method=method, confidence_level=level)
        rejected = paired_test(pairs, test=test).pvalue <= 1 - level
        assert (found.low > 0 or found.high < 0) == rejected
        assert -1 <= found.low <= found.estimate <= found.high <= 1


@pytest.mark.parametrize("n", [5, 60, 10**9])
def test_identical_answers_leave_room_for_what_so_few_may_miss(n):
    found = paired_interval(of_counts(n, 0, 0))
    assert found.high == pytest.approx(-math.expm1(math.log(0.05) / n), rel=1e-6)
    assert found.low == -found.high
    assert "covers differences that so few may miss" in found.notes[0]


@pytest.mark.parametrize(("n", "worst", "usual"), [(10, 0.944, 0.95), (20, 0.929, 0.95)])
def test_the_default_interval_covers(n, worst, usual):
    limits = [paired_interval(of_counts(n, *cells)) for cells in all_tables(n)]
    low, high = (np.array([getattr(each, side) for each in limits]) for side in ("low", "high"))
    for difference in (0.0, 0.02, 0.05, 0.2, 0.5, 0.8):
        holds = (low <= difference) & (difference <= high)
        for changed in np.linspace(difference, 1.0, 30)[difference == 0.0 :]:
            won, lost = (changed + difference) / 2, (changed - difference) / 2
            covered = chances(n, won, lost)[holds].sum()
            assert covered >= (usual if changed <= 0.6 else worst)


# -- at a margin


@pytest.mark.parametrize(("n", "margins"), [(10, (0.02, 0.1)), (20, (0.02, 0.1))])
def test_a_pipeline_worse_by_the_margin_passes_in_at_most_five_and_a_half_percent(n, margins):
    for margin in margins:
        passes = np.array(
            [
                equivalence_test(
                    of_counts(n, *cells), None, margin, alternative="non-inferior"
                ).equivalent
                for cells in all_tables(n)
            ]
        )
        for changed in np.append(margin + (1 - margin) * np.linspace(0, 1, 40) ** 2, 1.0):
            won, lost = (changed - margin) / 2, (changed + margin) / 2
            assert chances(n, won, lost)[passes].sum() <= 0.05


@pytest.mark.parametrize(("n", "margin"), [(58, 0.05), (59, 0.05), (29, 0.1), (28, 0.1)])
def test_without_a_change_non_inferiority_is_the_product_of_not_losing(n, margin):
    found = equivalence_test(of_counts(n, 0, 0), None, margin, alternative="non-inferior")
    assert found.pvalue == pytest.approx((1 - margin) ** n, rel=1e-9)
    assert found.method == "mcnemar"


def test_what_the_interval_shows_the_claim_shows_too():
    for wins, losses in all_tables(14):
        pairs = of_counts(14, wins, losses)
        found = paired_interval(pairs)
        claim = equivalence_test(pairs, None, 0.3, alternative="non-inferior")
        assert claim.equivalent or found.low <= -0.3
        assert claim.equivalent == (claim.low >= -0.3)


# -- other intervals


@pytest.mark.parametrize(("cells", "low", "high"), NEWCOMBE_TABLE)
def test_newcombes_method_10_reproduces_his_table(cells, low, high):
    found = paired_interval(table(*cells), method="newcombe")
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


@pytest.mark.parametrize(
    ("method", "cells", "level", "low", "high", "half_a_digit"),
    [
        # R package contingencytables 3.1.0, complete response, Cavo et al. (2012)
        ("bonett-price", (59, 6, 16, 80), 0.95, -0.1195, -0.0032, 5e-5),
        ("newcombe", (59, 6, 16, 80), 0.95, -0.1186, -0.0046, 5e-5),
        ("tango", (59, 6, 16, 80), 0.95, -0.1240, -0.0054, 5e-5),
        # Fagerland, Lydersen, Laake (2014), Statistics in Medicine 33:2850, airway data
        ("tango", AIRWAY, 0.95, -0.517, -0.026, 5e-4),
        # R package PropCIs 0.3-0, scoreci.mp(25, 28, 618)
        ("tango", (300, 28, 25, 265), 0.90, -0.0148, 0.0247, 5e-5),
    ],
)
def test_published_intervals_are_reproduced(method, cells, level, low, high, half_a_digit):
    found = paired_interval(table(*cells), method=method, confidence_level=level)
    assert (found.low, found.high) == pytest.approx((low, high), abs=half_a_digit)


@pytest.mark.parametrize("method", SHARES)
def test_scores_that_are_not_0_and_1_are_refused(method):
    with pytest.raises(DataError, match=r"needs scores of 0 and 1.*candidate also has 0\.5"):
        paired_interval([0, 1, 1], [0, 0.5, 1], method=method)
    with pytest.raises(DataError, match="needs independent queries"):
        paired_interval([0, 1, 1], [0, 1, 0], method=method, clusters=["a", "a", "b"])
