import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.weightstats import ttost_paired

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import equivalence_test, paired_interval


@pytest.fixture
def scores():
    rng = np.random.default_rng(1)
    before = rng.random(40)
    return before, before + rng.normal(0.01, 0.05, 40)


def table(both, wins, losses, neither):
    """Scores of 0 and 1 with the given paired table."""
    cells = [both, wins, losses, neither]
    return np.repeat([1.0, 0.0, 1.0, 0.0], cells), np.repeat([1.0, 1.0, 0.0, 0.0], cells)


# Any scores


@pytest.mark.parametrize("margin", [0.005, 0.02, 0.05])
def test_equivalence_by_t_is_that_of_statsmodels(scores, margin):
    expected, not_below, _ = ttost_paired(scores[1], scores[0], -margin, margin)  # statsmodels 0.15
    found = equivalence_test(*scores, margin, method="t")
    assert found.pvalue == pytest.approx(expected, rel=1e-9, abs=0.0)
    assert found.equivalent == (expected <= 0.05)
    assert found.method == "t"
    one_sided = equivalence_test(*scores, margin, alternative="non-inferior", method="t")
    assert one_sided.pvalue == pytest.approx(not_below[1], rel=1e-9, abs=0.0)


def test_the_interval_is_the_t_interval_at_one_less_two_alpha(scores):
    expected = scipy_stats.ttest_rel(scores[1], scores[0]).confidence_interval(0.98)  # scipy 1.17.1
    found = equivalence_test(*scores, 0.05, alpha=0.01, method="t")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-12)


def test_the_default_flips_the_signs_of_the_differences_from_the_margin():
    rng = np.random.default_rng(7)
    before = rng.random(11)
    after = before + rng.normal(0.01, 0.05, 11)
    signs = np.array(list(itertools.product((-1, 1), repeat=11)))
    for margin in (0.02, 0.04):
        not_below, not_above = (
            np.mean(signs @ moved >= moved.sum() - 1e-12)
            for moved in (after - before + margin, before - after + margin)
        )
        found = equivalence_test(before, after, margin)
        assert found.method == "sign-flip"
        assert found.pvalue == pytest.approx(max(not_below, not_above), rel=1e-9)
        one_sided = equivalence_test(before, after, margin, alternative="non-inferior")
        assert one_sided.pvalue == pytest.approx(not_below, rel=1e-9)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_the_interval_is_the_inversion_of_the_sign_flip_test(scores, alpha):
    expected = paired_interval(*scores, method="sign-flip", confidence_level=1 - 2 * alpha)
    found = equivalence_test(*scores, 0.05, alpha=alpha)
    assert (found.low, found.high) == (expected.low, expected.high)


@pytest.mark.parametrize("n", [20, 50])
def test_rare_large_losses_are_claimed_less_often_than_by_t(n):
    # 95 % of the queries gain 0.05 and 5 % lose 1, so the true difference is minus the margin.
    rng, n_sets = np.random.default_rng(n), 300
    by_t = by_strict = 0
    for _ in range(n_sets):
        after = np.where(rng.random(n) < 0.05, 0.0, 1.0)
        before = np.where(after > 0, 0.95, 1.0)
        # By hand, because scipy warns of equal differences; their t is infinite.
        deviation = (after - before).std(ddof=1)
        t = np.inf if deviation < 1e-9 else (np.mean(after - before) + 0.0025) / deviation * n**0.5
        by_t += scipy_stats.t.sf(t, n - 1) <= 0.05
        found = equivalence_test(
            *(before, after, 0.0025), alternative="non-inferior", method="strict", bounds=(0, 1)
        )
        by_strict += found.equivalent
    assert by_t / n_sets > 0.05
    assert by_strict == 0


# The whole difference beyond the margin


def test_an_interval_wholly_beyond_the_margin_is_recognised():
    before = np.linspace(0.3, 0.7, 20)
    noise = np.tile([-0.01, 0.01, 0.003, -0.003], 5)
    below = equivalence_test(before, before - 0.2 + noise, 0.1)
    assert (below.is_below, below.is_above, below.equivalent) == (True, False, False)
    above = equivalence_test(before, before + 0.2 + noise, 0.1)
    assert (above.is_below, above.is_above, above.equivalent) == (False, True, False)
    within = equivalence_test(before, before + noise, 0.1)
    assert (within.is_below, within.is_above, within.equivalent) == (False, False, True)


# Strict


@pytest.mark.parametrize("losses", [0, 1, 3])
@pytest.mark.parametrize("n", [10, 60])
def test_strict_on_whole_losses_is_clopper_pearson(n, losses):
    # Differences of -1 and 0 between -1 and 1 are a share of 0s on half of that range.
    before = np.ones(n)
    after = np.repeat([0.0, 1.0], [losses, n - losses])
    found = equivalence_test(
        *(before, after, 0.2), alternative="non-inferior", method="strict", bounds=(0, 1)
    )
    share = scipy_stats.beta(n - losses, losses + 1)  # scipy 1.17.1
    assert found.low == pytest.approx(share.ppf(0.05) - 1, rel=1e-9)
    assert found.pvalue == pytest.approx(share.cdf(0.8), rel=1e-9)
    assert found.method == "strict"


@settings(max_examples=40)
@given(
    gains=st.lists(st.integers(-10, 10), min_size=1, max_size=25),
    margin=st.floats(0.01, 0.99),
)
def test_strict_claims_exactly_when_its_interval_lies_within_the_margin(gains, margin):
    before, after = np.full(len(gains), 0.5), 0.5 + np.array(gains) / 20
    found = equivalence_test(before, after, margin, method="strict", bounds=(0, 1))
    if len(gains) > 1 and abs(found.pvalue - 0.05) > 1e-9:
        assert found.equivalent == (-margin <= found.low and found.high <= margin)
    assert len(gains) == 1 or found.low <= found.difference <= found.high


def test_a_claim_that_strict_would_not_make_has_a_note(scores):
    found = equivalence_test(*scores, 0.05, bounds=(-1, 2))
    assert found.equivalent
    share = 100 * (1 - 0.05 ** (1 / 40))
    assert found.notes == (
        f"rare large differences could hide: up to {share:.1f} % of queries could differ by 3 "
        'without one among these 40; the method "strict" counts them',
    )
    one_sided = equivalence_test(*scores, 0.05, bounds=(-1, 2), alternative="non-inferior")
    assert one_sided.notes == (
        f"rare large losses could hide: up to {share:.1f} % of queries could lose 3 without one "
        'among these 40; the method "strict" counts such losses',
    )
    assert equivalence_test(*scores, 0.05).notes == ()
    assert equivalence_test(*scores, 0.001, bounds=(-1, 2)).notes == ()  # nothing is claimed


def test_a_claim_that_strict_makes_too_has_no_note():
    rng = np.random.default_rng(0)
    before = rng.random(2000)
    found = equivalence_test(before, before + rng.normal(0, 0.01, 2000), 0.2, bounds=(-1, 2))
    assert (found.equivalent, found.notes) == (True, ())


def test_strict_without_bounds_says_what_to_give(scores):
    with pytest.raises(DataError, match="give bounds"):
        equivalence_test(*scores, 0.05, method="strict")


def test_scores_outside_the_bounds_are_named():
    with pytest.raises(DataError, match=r"found 1\.5: correct the score or give other bounds"):
        equivalence_test([0.5, 0.2], [1.5, 0.3], 0.05, bounds=(0, 1))


def test_scores_outside_the_bounds_are_named_with_clusters_too():
    with pytest.raises(DataError, match=r"found 1\.5: correct the score or give other bounds"):
        equivalence_test(
            *([0.5, 0.2, 0.1], [1.5, 0.3, 0.1], 0.05), bounds=(0, 1), clusters=["a", "a", "b"]
        )


def test_an_unknown_method_is_refused(scores):
    with pytest.raises(ValueError, match='method must be "auto", "sign-flip", "bonett-price"'):
        equivalence_test(*scores, 0.05, method="wald")


@settings(max_examples=60)
@given(
    gains=st.lists(st.integers(-5, 6), min_size=2, max_size=15),
    margin=st.floats(0.01, 0.99),  # the limits of a share end at 1, where nothing is larger
    binary=st.booleans(),
)
def test_equivalence_is_shown_exactly_when_the_interval_lies_within_the_margin(
    gains, margin, binary
):
    before = np.zeros(len(gains))
    after = np.array(gains) / 10 if not binary else (np.array(gains) > 2).astype(float)
    found = equivalence_test(before, after, margin)
    if found.low < found.high:
        assert found.equivalent == (-margin <= found.low and found.high <= margin)


def test_a_worse_candidate_can_be_shown_not_inferior_but_not_equivalent():
    before = np.full(30, 0.2)
    after = before + np.tile([0.5, 0.6], 15)
    assert equivalence_test(before, after, 0.1, alternative="non-inferior").equivalent
    assert not equivalence_test(before, after, 0.1).equivalent
    assert not equivalence_test(after, before, 0.1, alternative="non-inferior").equivalent


def test_exchanging_the_sides_changes_the_sign_and_nothing_else(scores):
    there, back = equivalence_test(*scores, 0.03), equivalence_test(*scores[::-1], 0.03)
    assert there.pvalue == pytest.approx(back.pvalue, rel=1e-12)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), rel=1e-12)
    assert there.difference == pytest.approx(-back.difference)


# Strict, with clusters


def strict_of_clusters(sums, sizes, margin, alpha=0.05):
    """The test of clusters whose differences have these sums, on scores between 0 and 1."""
    clusters = np.repeat(np.arange(len(sizes)), sizes)
    shares = np.repeat(np.array(sums) / sizes, sizes)
    return equivalence_test(
        *(np.where(shares < 0, 1.0, 0.0), np.where(shares < 0, 1.0 + shares, shares), margin),
        alternative="non-inferior",
        method="strict",
        bounds=(0, 1),
        clusters=clusters,
        alpha=alpha,
    )


@pytest.mark.parametrize("sizes", [[4] * 12, [1, 2, 3, 4, 5, 6, 7, 8], [30, 1, 1, 1, 1, 1, 1]])
@pytest.mark.parametrize("margin", [0.02, 0.3])
def test_strict_on_clusters_that_do_not_differ_is_a_product(sizes, margin):
    # P(-s E0 <= -m (s E0 + sum of s_j E_j)) for exponential E, s the largest size: integrate over
    # E0 and use the Laplace transform 1 / (1 + s_j c) of each s_j E_j, c = m / (s (1 - m)).
    found = strict_of_clusters(np.zeros(len(sizes)), sizes, margin)
    rate = margin / (max(sizes) * (1 - margin))
    assert found.pvalue == pytest.approx(np.prod(1 / (1 + rate * np.array(sizes))), rel=1e-9)
    assert found.method == "strict"


def test_strict_on_clusters_is_a_quantile_of_weighted_ratios():
    sizes, sums = np.array([1, 5, 2, 9, 4, 4, 3]), np.array([0.5, -2.0, 0.4, 1.5, 0.0, -0.3, 0.9])
    found = strict_of_clusters(sums, sizes, 0.2)
    draws = np.random.default_rng(3).exponential(size=(400_000, 8))
    ratios = draws @ np.append(-9.0, sums) / (draws @ np.append(9.0, sizes))
    assert found.pvalue == pytest.approx(np.mean(ratios <= -0.2), abs=0.003)
    assert np.mean(ratios <= found.low) == pytest.approx(0.05, abs=0.0015)
    mirrored = draws @ np.append(9.0, sums) / (draws @ np.append(9.0, sizes))
    assert np.mean(mirrored <= found.high) == pytest.approx(0.95, abs=0.0015)


def test_strict_on_clusters_of_one_size_is_strict_on_their_means():
    sums = np.array([0.8, -2.0, 0.4, 1.6, 0.0, -0.4, 1.2, 0.4])
    found = strict_of_clusters(sums, [4] * 8, 0.2)
    before = np.where(sums < 0, 1.0, 0.0)
    of_means = equivalence_test(
        *(before, before + sums / 4, 0.2),
        alternative="non-inferior",
        method="strict",
        bounds=(0, 1),
    )
    assert (found.pvalue, found.low, found.high) == pytest.approx(
        (of_means.pvalue, of_means.low, of_means.high), rel=1e-9
    )


@settings(max_examples=30)
@given(
    clusters=st.lists(st.tuples(st.integers(1, 6), st.integers(-4, 4)), min_size=2, max_size=12),
    margin=st.floats(0.05, 0.9),
)
def test_strict_on_clusters_claims_exactly_when_its_limit_lies_within_the_margin(clusters, margin):
    sizes = np.array([size for size, _ in clusters])
    sums = sizes * np.array([quarters / 4 for _, quarters in clusters])
    found = strict_of_clusters(sums, sizes, margin)
    assert found.low <= found.difference + 1e-12
    assert found.difference <= found.high + 1e-12
    if abs(found.pvalue - 0.05) > 1e-6:
        assert found.equivalent == (found.low > -margin)


def test_strict_says_what_it_supposes_of_clusters_of_different_sizes():
    unequal = strict_of_clusters(np.zeros(3), [2, 7, 3], 0.2)
    assert unequal.notes == (
        "it is supposed that no cluster is larger than the largest one here, 7 queries",
    )
    assert strict_of_clusters(np.zeros(3), [4] * 3, 0.2).notes == ()


def test_strict_counts_a_cluster_once_however_many_queries_it_has():
    alone = strict_of_clusters(np.zeros(8), [1] * 8, 0.2)
    eightfold = strict_of_clusters(np.zeros(8), [8] * 8, 0.2)
    assert eightfold.pvalue == pytest.approx(alone.pvalue, rel=1e-9)


# Scores of 0 and 1


@pytest.mark.parametrize("margin", [0.02, 0.08, 0.3])
def test_shares_use_the_interval_of_bonett_and_price(margin):
    pairs = table(40, 9, 5, 30)
    interval = paired_interval(*pairs, method="bonett-price", confidence_level=0.90)
    found = equivalence_test(*pairs, margin)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high), rel=1e-12)
    assert found.equivalent == (-margin < interval.low and interval.high < margin)


def test_the_pvalue_of_shares_is_the_level_at_which_the_interval_touches_the_margin():
    pairs = table(40, 9, 5, 30)
    found = equivalence_test(*pairs, 0.12)
    touching = paired_interval(*pairs, method="bonett-price", confidence_level=1 - 2 * found.pvalue)
    assert max(-touching.low, touching.high) == pytest.approx(0.12, rel=1e-9)


def test_identical_shares_are_not_equivalent_until_there_are_enough_of_them():
    few, many = table(5, 0, 0, 5), table(100, 0, 0, 100)
    assert not equivalence_test(*few, 0.05).equivalent
    assert equivalence_test(*many, 0.05).equivalent


# Degenerate data


@pytest.mark.parametrize("method", ["t", "sign-flip", "auto"])
@pytest.mark.parametrize("claim", ["equivalence", "non-inferior"])
@pytest.mark.parametrize("n", [2, 9, 200])
def test_equal_differences_without_bounds_support_no_claim_however_many_they_are(n, claim, method):
    before = np.linspace(0.1, 0.7, n)
    found = equivalence_test(before, before + 0.02, 0.05, method=method, alternative=claim)
    assert not found.equivalent
    assert math.isnan(found.pvalue)
    assert math.isnan(found.low)
    assert math.isnan(found.high)
    assert found.untestable.startswith("all differences are equal, so they do not show how much")


def test_what_can_be_tested_has_no_reason_why_not(scores):
    assert equivalence_test(*scores, 0.05).untestable == ""
    before = np.linspace(0.1, 0.7, 9)
    assert equivalence_test(before, before + 0.02, 0.05, bounds=(0, 1)).untestable == ""


@pytest.mark.parametrize(("n", "shown"), [(10, False), (29, False), (150, True)])
def test_equal_differences_within_bounds_leave_room_for_others(n, shown):
    # All differences are 0, between -1 and 1: the limit 0.05^(1/n) - 1 is above -0.02 from 149 on.
    before = np.linspace(0.1, 0.7, n)
    found = equivalence_test(before, before, 0.02, bounds=(0, 1), alternative="non-inferior")
    assert (found.method, found.equivalent) == ("strict", shown)
    assert found.low == pytest.approx(0.05 ** (1 / n) - 1, rel=1e-9)
    assert found.pvalue == pytest.approx(0.98**n, rel=1e-9)


@pytest.mark.parametrize("n", [2, 4])
def test_with_so_few_pairs_that_no_shift_can_be_rejected_nothing_is_shown(n):
    before = np.linspace(0.1, 0.7, n)
    found = equivalence_test(before, before + np.linspace(0.01, 0.02, n), 0.05)
    assert (found.pvalue, found.equivalent) == (1.0, False)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


@pytest.mark.parametrize("method", ["t", "auto"])
def test_equal_differences_beyond_the_margin_are_beyond_it(method):
    before = np.linspace(0.1, 0.7, 8)
    above = equivalence_test(before, before + 0.2, 0.05, method=method)
    assert (above.pvalue, above.is_above, above.untestable) == (1.0, True, "")
    below = equivalence_test(before, before - 0.2, 0.05, method=method, alternative="non-inferior")
    assert (below.pvalue, below.is_below, below.untestable) == (1.0, True, "")


@pytest.mark.parametrize("score", [0.3, 1.0])
def test_one_query_shows_nothing(score):
    found = equivalence_test([score], [score], 0.5)
    assert (found.pvalue, found.equivalent, found.n) == (1.0, False, 1)
    assert math.isnan(found.low)


def test_unscored_queries_are_left_out_by_pairs():
    found = equivalence_test([0.1, 0.2, math.nan, 0.5], [0.2, 0.2, 0.3, math.nan], 0.2)
    assert found.n == 2
    assert found.difference == pytest.approx(0.05)


# Bad input


def test_no_scored_pair_is_an_error():
    with pytest.raises(DataError, match="no query has a score on both sides"):
        equivalence_test([math.nan], [0.2], 0.1)


@pytest.mark.parametrize("margin", [0.0, -0.1, math.nan])
def test_a_margin_must_be_above_zero(margin):
    with pytest.raises(DataError, match="margin must be a finite number > 0"):
        equivalence_test([0.1], [0.2], margin)


def test_a_level_in_percent_is_recognised():
    with pytest.raises(DataError, match=r"did you mean 0\.05"):
        equivalence_test([0.1], [0.2], 0.1, alpha=5)


def test_an_unknown_claim_answers_with_the_nearest_one():
    with pytest.raises(UnknownNameError, match="Did you mean 'non-inferior'"):
        equivalence_test([0.1], [0.2], 0.1, alternative="noninferior")
