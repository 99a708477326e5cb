import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from rageval_report.errors import DataError, UnknownNameError
from rageval_report.stats import TESTS, PairedScores
from rageval_report.stats.sign_flips.signflip import (
    is_lattice,
    observed_tail,
    sign_flip,
    sign_flip_midp,
    sign_flip_pvalue,
)

ALTERNATIVES = ["two-sided", "less", "greater"]
RECIPROCALS = np.array([0.0, *(1 / np.arange(1, 11))])


def enumerated(differences, alternative, *, midp):
    """The p-value from all patterns of signs, written out."""
    d = np.asarray(differences, float)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=d.size)))
    sums, seen, same = signs @ d, d.sum(), 1e-9 * np.abs(d).sum()
    if alternative == "less":
        sums, seen = -sums, -seen
    if alternative == "two-sided":
        sums, seen = np.abs(sums), abs(seen)
    if not d.any() or (alternative == "two-sided" and seen <= same):
        return 1.0
    tied = np.abs(sums - seen) <= same
    return float(np.mean((sums > seen + same) + (0.5 if midp else 1.0) * tied))


def exact_share(steps):
    """The two-sided p-value of whole numbers, from one product of integers.

    The polynomial of the sums is evaluated at 2**bits, so its coefficients stand side by side in
    one integer; no coefficient overflows its place.
    """
    steps = [int(s) for s in steps if s]
    bits, total, seen = len(steps) + 2, sum(map(abs, steps)), abs(sum(steps))
    packed = 1
    for step in steps:
        packed += packed << (bits * abs(step))
    upper = packed >> (bits * ((total + seen) // 2))
    ties = upper % 2**bits
    patterns = upper % (2**bits - 1)  # the sum of the places
    return Fraction(2 * patterns, 2 ** len(steps)), Fraction(2 * ties, 2 ** len(steps))


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("midp", [False, True])
@settings(max_examples=100)
@given(
    st.one_of(
        st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=10),
        st.lists(st.integers(-12, 12).map(lambda k: k / 12), min_size=1, max_size=10),
        st.lists(st.floats(-1, 1).map(lambda x: round(x, 6)), min_size=1, max_size=10),
    )
)
def test_the_pvalue_is_the_share_of_enumerated_patterns(alternative, midp, differences):
    expected = enumerated(differences, alternative, midp=midp)
    found = sign_flip_pvalue(differences, midp=midp, alternative=alternative)
    assert found == pytest.approx(expected, rel=1e-12)


def test_ranks_that_repeat_a_step_count_ties_half_by_hand():
    # The smallest sum of the six is 1/10: of 64 patterns one has all signs alike, one turns 1/10.
    differences = [1 / 2, 1 / 2, 1 / 3, 2 / 3, 3 / 4, -1 / 10]
    assert sign_flip_pvalue(differences) == 2 * (1 + 1 / 2) / 64
    assert sign_flip_pvalue(differences, midp=False) == 2 * 2 / 64
    # Without a repeated size all ties count in full: here only the observed pattern itself.
    assert sign_flip_pvalue([1 / 2, 1 / 4, 1 / 3, 2 / 3, 3 / 4, -1 / 10]) == 2 * 2 / 64


@pytest.mark.parametrize("n", [7, 8, 10, 12])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_reciprocal_ranks_of_few_queries_are_half_ties_of_exact_fractions(n, alternative):
    rng = np.random.default_rng(n)
    fractions = [Fraction(0), *(Fraction(1, rank) for rank in range(1, 11))]
    before, after = np.minimum(rng.geometric(0.5, (2, n)), 10)
    exact = [fractions[b] - fractions[a] for a, b in zip(before, after, strict=True)]
    sums = [Fraction(0)]
    for difference in exact:
        sums = [total + sign * difference for total in sums for sign in (1, -1)]
    side = {"greater": 1, "less": -1}.get(alternative, 1 if sum(exact) > 0 else -1)
    seen = side * sum(exact)
    above = sum(side * total > seen for total in sums)
    ties = sum(side * total == seen for total in sums)
    expected = Fraction(2 * above + ties, 2 ** (n + 1)) * (2 if alternative == "two-sided" else 1)
    assert is_lattice(np.array(exact, dtype=float))
    found = sign_flip_pvalue([float(each) for each in exact], alternative=alternative)
    assert found == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.parametrize("kind", ["reciprocal ranks", "two decimals", "fifths"])
@pytest.mark.parametrize("n", [6, 7, 8, 10])
def test_half_ties_reject_at_most_five_and_a_half_percent_of_true_null_hypotheses(kind, n):
    """Of all patterns of signs, so that no reference to the p-value is needed."""
    rng = np.random.default_rng(n)
    values = {
        "reciprocal ranks": RECIPROCALS,
        "two decimals": np.arange(40, 101) / 100,
        "fifths": np.arange(6) / 5,
    }[kind]
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=n)))
    rejected = []
    for _ in range(150):
        d = rng.choice(values, n) - rng.choice(values, n)
        sums = np.rint(np.abs(signs @ d) * 2520)
        _, place, counts = np.unique(-sums, return_inverse=True, return_counts=True)
        weight = 1.0 - 0.5 * is_lattice(d)
        pvalues = (np.cumsum(counts) - counts + weight * counts)[place] / 2**n
        rejected.append(np.mean((pvalues <= 0.05) & (sums > 0)))
    assert np.mean(rejected) <= 0.055


def test_fourteen_queries_agree_with_enumeration():
    differences = np.random.default_rng(5).normal(0.4, 1.0, 14)
    expected = enumerated(differences, "two-sided", midp=False)
    assert sign_flip_pvalue(differences, midp=False) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_the_pvalue_is_scipys_exact_permutation_test(alternative):
    before, after = np.random.default_rng(1).random((2, 11)) + np.array([[0.0], [0.2]])
    expected = scipy_stats.permutation_test(  # scipy 1.17.1
        (after, before),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        alternative=alternative,
        vectorized=True,
    )
    statistic, pvalue = sign_flip(PairedScores(before, after), alternative=alternative)
    assert statistic == pytest.approx(expected.statistic)
    assert pvalue == pytest.approx(expected.pvalue, rel=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(("wins", "losses"), [(1, 0), (9, 2), (37, 21), (1000, 1100), (90, 400)])
def test_wins_and_losses_of_one_size_are_the_binomial_test(wins, losses, alternative):
    differences = [0.25] * wins + [-0.25] * losses + [0.0] * 7
    expected = scipy_stats.binomtest(wins, wins + losses, alternative=alternative)  # scipy 1.17.1
    found = sign_flip_pvalue(differences, midp=False, alternative=alternative)
    assert found == pytest.approx(expected.pvalue, rel=1e-9, abs=0.0)


@pytest.mark.parametrize(("wins", "losses"), [(9, 2), (37, 21), (1000, 1100)])
def test_midp_on_zeros_and_ones_is_mcnemars_midp(wins, losses):
    law = scipy_stats.binom(wins + losses, 0.5)  # scipy 1.17.1
    expected = 2 * law.cdf(min(wins, losses)) - law.pmf(min(wins, losses))
    found = sign_flip_pvalue([1.0] * wins + [-1.0] * losses, midp=True)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("extra", [0, 60, 110, 160])
def test_four_hundred_ratings_agree_with_integer_arithmetic(extra):
    rng = np.random.default_rng(extra)
    steps = rng.integers(1, 6, 400) - rng.integers(1, 6, 400)
    steps[:extra] = np.abs(steps[:extra])
    expected, ties = exact_share(steps)
    assert sign_flip_pvalue(steps, midp=False) == pytest.approx(float(expected), rel=1e-9, abs=0.0)
    assert sign_flip_pvalue(steps) == pytest.approx(float(expected - ties / 2), rel=1e-9, abs=0.0)


@pytest.mark.parametrize(("n", "extra"), [(50, 10), (120, 0), (120, 40)])
def test_reciprocal_ranks_agree_with_integer_arithmetic(n, extra):
    rng = np.random.default_rng(n + extra)
    d = rng.choice(RECIPROCALS, n) - rng.choice(RECIPROCALS, n)
    d[:extra] = np.abs(d[:extra])
    expected, ties = exact_share(np.rint(d * 2520))
    assert sign_flip_pvalue(d, midp=False) == pytest.approx(float(expected), rel=1e-4)
    assert sign_flip_pvalue(d, midp=True) == pytest.approx(float(expected - ties / 2), rel=1e-4)


def test_a_long_column_of_ratings_agrees_with_the_product_of_binomial_laws():
    rng = np.random.default_rng(3)
    steps = rng.choice([-2, -1, 0, 1, 2], 5000, p=[0.1, 0.18, 0.4, 0.2, 0.12])
    ones, twos = np.count_nonzero(np.abs(steps) == 1), np.count_nonzero(np.abs(steps) == 2)
    single = scipy_stats.binom.pmf(np.arange(ones + 1), ones, 0.5)  # scipy 1.17.1
    double = np.zeros(2 * twos + 1)
    double[::2] = scipy_stats.binom.pmf(np.arange(twos + 1), twos, 0.5)
    law = np.convolve(single, double)  # of the sum of the steps that keep their sign
    reached = (ones + 2 * twos + abs(steps.sum())) // 2
    expected = 2 * law[reached:].sum()
    assert sign_flip_pvalue(steps, midp=False) == pytest.approx(expected, rel=1e-9)


def test_the_far_tail_keeps_its_digits():
    rng = np.random.default_rng(8)
    steps = rng.integers(1, 6, 300) - rng.integers(1, 6, 300)
    steps[:150] = np.abs(steps[:150])
    expected, _ = exact_share(steps)
    assert expected < Fraction(1, 10**6)
    assert sign_flip_pvalue(steps, midp=False) == pytest.approx(float(expected), rel=1e-3, abs=0.0)


@pytest.mark.parametrize("midp", [False, True])
def test_swapping_the_sides_keeps_p_and_turns_the_sign(midp):
    before, after = np.random.default_rng(2).random((2, 60))
    test = sign_flip_midp if midp else sign_flip
    sides = PairedScores(before, after), PairedScores(after, before)
    one, other = (test(pairs, alternative="two-sided") for pairs in sides)
    assert one[0] == pytest.approx(-other[0])
    assert one[1] == pytest.approx(other[1], rel=1e-9)


@pytest.mark.parametrize("n", [8, 25, 60, 700])
@pytest.mark.parametrize("whole", [True, False])
def test_order_scale_and_zeros_do_not_matter(n, whole):
    rng = np.random.default_rng(n)
    d = rng.integers(-3, 5, n).astype(float) if whole else rng.normal(0.1, 1.0, n)
    expected = sign_flip_pvalue(d)
    assert sign_flip_pvalue(rng.permutation(d)) == pytest.approx(expected, rel=1e-6, abs=0.0)
    assert sign_flip_pvalue(1e-5 * d) == pytest.approx(expected, rel=1e-6, abs=0.0)
    assert sign_flip_pvalue(np.append(d, np.zeros(9))) == pytest.approx(expected, rel=1e-6, abs=0.0)


@pytest.mark.parametrize("n", [10, 40, 300])
def test_turning_a_loss_into_a_win_lowers_p(n):
    d = np.random.default_rng(n).normal(0.0, 1.0, n)
    pvalues = []
    for loss in np.flatnonzero(d < 0)[:5]:
        d[loss] = -d[loss]
        pvalues.append(sign_flip_pvalue(d, alternative="greater"))
    assert pvalues == sorted(pvalues, reverse=True)


@pytest.mark.parametrize("n", [7, 45, 400])
def test_the_two_sides_add_up_to_one_with_half_ties(n):
    d = np.random.default_rng(n).normal(0.1, 1.0, n)
    both = [sign_flip_pvalue(d, midp=True, alternative=side) for side in ("less", "greater")]
    assert sum(both) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_identical_pipelines_have_p_one(alternative):
    scores = np.array([0.3, 0.5, 0.9])
    assert sign_flip(PairedScores(scores, scores), alternative=alternative) == (0.0, 1.0)
    assert sign_flip_midp(PairedScores(scores, scores), alternative=alternative) == (0.0, 1.0)


@pytest.mark.parametrize("n", [1, 2, 5, 12, 40, 200])
def test_a_constant_shift_of_n_queries_has_p_two_to_the_one_minus_n(n):
    assert sign_flip_pvalue(np.full(n, 0.3), midp=False) == 2.0 ** (1 - n)


@pytest.mark.parametrize("n", [10, 33, 60])
def test_differences_that_all_have_one_sign_have_one_pattern_on_either_side(n):
    d = np.random.default_rng(n).random(n) + 0.01
    assert sign_flip_pvalue(d, midp=False) == pytest.approx(2.0 ** (1 - n), rel=1e-9, abs=0.0)


def test_wins_that_balance_losses_have_p_one():
    assert sign_flip_pvalue([1.0, -1.0, 2.0, -2.0]) == 1.0
    assert sign_flip_pvalue([0.1, 0.2, -0.3, 0.0]) == 1.0  # 0.1 + 0.2 is not 0.3 in binary


def test_p_is_never_zero():
    assert 0.0 < sign_flip_pvalue(np.full(5000, 0.1)) < 1e-300


def test_rounding_noise_does_not_hide_ties():
    tenths = np.array([3, 1, -2, 2, 4, -1, 1, 2, 3, -1])
    noisy = np.array([0.1 + 0.2, 0.1, -0.2, 0.2, 0.7 - 0.3, -0.1, 0.1, 0.2, 0.3, -0.1])
    assert noisy[0] != 0.3
    for midp in (False, True):
        expected = sign_flip_pvalue(tenths, midp=midp)
        assert sign_flip_pvalue(noisy, midp=midp) == pytest.approx(expected, rel=1e-12)


def test_single_precision_scores_are_still_on_their_lattice():
    rng = np.random.default_rng(4)
    before, after = rng.integers(0, 4, (2, 80))
    rough = (after / 3).astype(np.float32).astype(float) - (before / 3).astype(np.float32)
    assert sign_flip_pvalue(rough) == pytest.approx(sign_flip_pvalue(after - before), rel=1e-9)


def test_the_same_input_gives_the_same_p_to_the_last_bit():
    d = np.random.default_rng(0).normal(0.1, 1.0, 500)
    assert sign_flip_pvalue(d) == sign_flip_pvalue(d.copy())


def test_unscored_queries_are_left_out():
    assert sign_flip_pvalue([0.2, math.nan, 0.5, 0.1]) == sign_flip_pvalue([0.2, 0.5, 0.1])


def test_ties_count_half_by_default_on_a_lattice_only():
    ratings, times = [1, 1, 2, -1, 1, 1, 1], [0.1234, 0.5511, 0.912, -0.0412, 0.713, 0.3377, 0.2]
    assert sign_flip_pvalue(ratings) == sign_flip_pvalue(ratings, midp=True)
    assert sign_flip_pvalue(times) == sign_flip_pvalue(times, midp=False)
    assert is_lattice(np.array(ratings, float))
    assert not is_lattice(np.array(times))


def test_the_observed_tail_knows_the_side():
    assert observed_tail(np.array([1.0, 2.0]), 1.0)[1] is True
    assert observed_tail(np.array([-0.31, 0.1]), None)[1] is False
    assert observed_tail(np.array([0.31, -0.31]), None)[1] is None


def test_both_tests_are_in_the_table():
    pairs = PairedScores(np.zeros(6), np.full(6, 0.1))
    options = {"alternative": "two-sided", "n_resamples": 99, "seed": 0}
    assert TESTS["sign-flip"](pairs, **options)[1] == 2 / 64
    assert TESTS["sign-flip-midp"](pairs, **options)[1] == 1 / 64


def test_an_unknown_alternative_is_refused():
    with pytest.raises(UnknownNameError, match="two-sided"):
        sign_flip_pvalue([1.0, 2.0], alternative="both")


def test_infinite_differences_are_refused():
    with pytest.raises(DataError, match="finite"):
        sign_flip_pvalue([1.0, math.inf])


@pytest.mark.parametrize("n_zeros", [1, 2, 5])
def test_zeros_take_no_part_however_many_there_are(n_zeros):
    values = np.random.default_rng(5).random(40) + 0.1
    with_zeros = np.append(values, np.zeros(n_zeros))
    assert observed_tail(with_zeros, None)[0].at_least == 0.5**40  # one pattern of 40 signs
    values[values.argmin()] *= -1
    with_zeros = np.append(np.zeros(n_zeros), values)
    assert observed_tail(with_zeros, None)[0].at_least == 2 * 0.5**40


def test_zeros_among_many_steps_do_not_count_as_patterns():
    differences = np.repeat([1.0, 2.0, 0.0], [500, 400, 5])
    tail, is_above = observed_tail(differences, 1.0)
    assert (tail.at_least, tail.equal, is_above) == (0.5**900, 0.5**900, True)
