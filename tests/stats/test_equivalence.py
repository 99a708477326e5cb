"""Margins. Witnesses: all sign patterns, SciPy 1.17.1, Clopper-Pearson, arithmetic."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rageval_report.errors import DataError
from rageval_report.stats.equivalence import EQUIVALENCE_METHODS, equivalence_test
from rageval_report.stats.pairs import Pairs

RNG = np.random.default_rng(4)
BEFORE = RNG.beta(5, 3, 12)
AFTER = np.clip(BEFORE + RNG.normal(0.004, 0.03, 12), 0, 1)
SCORES = (BEFORE, AFTER)


def share_of_patterns(moved):
    """The share of sign patterns with a sum at least as large as the observed one."""
    signs = np.array(list(itertools.product([-1, 1], repeat=moved.size)))
    return (signs @ moved >= moved.sum() - 1e-12).mean()


@pytest.mark.parametrize("margin", [0.005, 0.02, 0.05])
def test_the_default_flips_the_signs_of_the_differences_from_the_margin(margin):
    moved = AFTER - BEFORE
    below, above = share_of_patterns(moved + margin), share_of_patterns(margin - moved)
    claim = equivalence_test(*SCORES, margin, alternative="non-inferior")
    assert (claim.method, claim.pvalue) == ("sign-flip", pytest.approx(below, rel=1e-9))
    assert equivalence_test(*SCORES, margin).pvalue == pytest.approx(max(below, above), rel=1e-9)


@pytest.mark.parametrize("margin", [0.005, 0.02, 0.05])
def test_equivalence_by_t_is_two_one_sided_t_tests(margin):
    moved = AFTER - BEFORE
    sides = ((-margin, "greater"), (margin, "less"))
    pvalues = [scipy_stats.ttest_1samp(moved, end, alternative=way).pvalue for end, way in sides]
    found = equivalence_test(*SCORES, margin, method="t")
    assert found.pvalue == pytest.approx(max(pvalues), rel=1e-9)
    expected = scipy_stats.ttest_1samp(moved, 0).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-9)


@pytest.mark.parametrize("method", EQUIVALENCE_METHODS)
@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_equivalence_is_shown_exactly_when_the_interval_lies_within_the_margin(method, alpha):
    for margin in (0.004, 0.01, 0.014, 0.018, 0.03, 0.1, 0.3, 0.5):
        found = equivalence_test(*SCORES, margin, alpha=alpha, method=method, bounds=(0, 1))
        within = -margin < found.low and found.high < margin
        assert found.equivalent == within == (found.pvalue <= alpha)


def test_a_worse_candidate_can_be_shown_not_inferior_but_not_equivalent():
    claims = ("non-inferior", "equivalence")
    found = [equivalence_test(BEFORE, AFTER + 0.1, 0.05, alternative=claim) for claim in claims]
    assert [claim.equivalent for claim in found] == [True, False]


# -- strict


@pytest.mark.parametrize("losses", [0, 1, 3])
@pytest.mark.parametrize("n", [10, 60])
def test_strict_on_whole_losses_is_clopper_pearson(n, losses):
    before, after = np.ones(n), np.repeat([0.0, 1.0], [losses, n - losses])
    found = equivalence_test(before, after, 0.2, method="strict", bounds=(0, 1))
    share = scipy_stats.binomtest(losses, n, alternative="less").proportion_ci(0.95, "exact").high
    assert found.low == pytest.approx(-share, abs=1e-7)
    below = equivalence_test(
        before, after, 0.2, method="strict", bounds=(0, 1), alternative="non-inferior"
    )
    assert below.pvalue == pytest.approx(scipy_stats.binom.cdf(losses, n, 0.2), rel=1e-6)


@pytest.mark.parametrize("sizes", [[4] * 12, [1, 2, 3, 4, 5, 6, 7, 8], [30, 1, 1, 1, 1, 1, 1]])
@pytest.mark.parametrize("margin", [0.02, 0.3])
def test_strict_on_clusters_that_do_not_differ_is_a_product(sizes, margin):
    labels = np.repeat(np.arange(len(sizes)), sizes)
    same, largest = np.full(sum(sizes), 0.5), max(sizes)
    found = equivalence_test(
        *(same, same, margin),
        alternative="non-inferior",
        method="strict",
        bounds=(0, 1),
        clusters=labels,
    )
    # Each residual is its size times the margin; Gaffke's test of two points per cluster.
    worst = largest * (1 - margin)
    weights = np.array(sizes) * margin / (np.array(sizes) * margin + worst)
    assert found.pvalue == pytest.approx(np.prod(1 - weights), rel=1e-6)
    if len(set(sizes)) > 1:
        assert f"the largest one here, {largest} queries" in found.notes[0]


def test_strict_needs_bounds_that_hold():
    with pytest.raises(DataError, match="needs the smallest and largest possible score"):
        equivalence_test(*SCORES, 0.1, method="strict")
    for clusters in (None, np.arange(12) // 2):
        with pytest.raises(DataError, match=r"within the bounds 0 and 0\.5; found 0"):
            equivalence_test(*SCORES, 0.1, bounds=(0, 0.5), clusters=clusters)


# -- what a claim must add


def test_a_claim_that_rare_losses_could_turn_has_a_note():
    before, after = np.full(20, 0.5), 0.5 + np.linspace(0.0, 0.02, 20)
    claim = equivalence_test(before, after, 0.05, bounds=(0, 1), alternative="non-inferior")
    assert claim.equivalent
    assert claim.notes[0].startswith(
        "20 queries can miss rare failures: up to 10.0 % of all queries"
    )
    formal = equivalence_test(
        Pairs.of(before, after), None, 0.05, bounds=(0, 1), bounds_are_formal=True
    )
    assert (formal.equivalent, formal.notes) == (True, ())
    both = equivalence_test(after, before, 0.05, bounds=(0, 1))
    assert "rare large gains could hide" in both.notes[0]


# -- little to go by


@pytest.mark.parametrize("method", ["t", "auto"])
@pytest.mark.parametrize("claim", ["equivalence", "non-inferior"])
@pytest.mark.parametrize("n", [2, 9, 200])
def test_equal_differences_without_bounds_support_no_claim_however_many_they_are(n, claim, method):
    found = equivalence_test([0.5] * n, [0.51] * n, 0.05, alternative=claim, method=method)
    assert (math.isnan(found.pvalue), found.equivalent) == (True, False)
    assert "all differences are equal" in found.untestable


@pytest.mark.parametrize(("n", "shown"), [(10, False), (29, False), (150, True)])
def test_equal_differences_within_bounds_leave_room_for_others(n, shown):
    found = equivalence_test([0.5] * n, [0.5] * n, 0.05, bounds=(0, 1))
    assert (found.method, found.equivalent, found.untestable) == ("strict", shown, "")


@pytest.mark.parametrize("n", [1, 2, 4])
def test_with_so_few_pairs_that_no_shift_can_be_rejected_nothing_is_shown(n):
    found = equivalence_test(BEFORE[:n], AFTER[:n], 0.5)
    assert (found.pvalue, found.equivalent, math.isnan(found.low)) == (1.0, False, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margin": 0.0}, "margin must be"),
        ({"margin": math.nan}, "margin must be"),
        ({"alpha": 5}, r"alpha must lie between 0 and 1; got 5; did you mean 0\.05"),
        ({"method": "tost"}, "method must be"),
        ({"alternative": "noninferior"}, "alternative must be"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        equivalence_test(*SCORES, **{"margin": 0.1, **options})
