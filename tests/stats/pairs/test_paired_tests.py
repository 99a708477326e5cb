import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from rageval_report.errors import DataError
from rageval_report.stats import TESTS, PairedScores, paired_test

ALTERNATIVES = ["two-sided", "less", "greater"]
SCIPY_ZEROS = {"wilcoxon": "wilcox", "wilcoxon-pratt": "pratt", "wilcoxon-zsplit": "zsplit"}
MINE = [
    "bootstrap",
    "mcnemar",
    "mcnemar-midp",
    "sign",
    "sign-flip-mc",
    "t",
    "wilcoxon",
    "wilcoxon-pratt",
    "wilcoxon-zsplit",
]
DRAWN = {"bootstrap", "sign-flip-mc"}


def run(test, before, after, alternative="two-sided", n_resamples=999, seed=0):
    return TESTS[test](
        PairedScores(np.asarray(before, float), np.asarray(after, float)),
        alternative=alternative,
        n_resamples=n_resamples,
        seed=seed,
    )


def table(both, wins, losses, neither):
    """Scores of 0 and 1 with the given paired table."""
    cells = [both, wins, losses, neither]
    return np.repeat([1.0, 0.0, 1.0, 0.0], cells), np.repeat([1.0, 1.0, 0.0, 0.0], cells)


def exact_flip_pvalue(differences, alternative):
    """The share of all sign patterns with a sum at least as extreme."""
    signs = np.array(list(itertools.product([-1, 1], repeat=len(differences))))
    sums, observed = signs @ differences, np.sum(differences)
    if alternative == "two-sided":
        sums, observed = np.abs(sums), abs(observed)
    return np.mean(sums <= observed + 1e-9 if alternative == "less" else sums >= observed - 1e-9)


# The paired t test


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_the_t_test_is_scipys(alternative):
    rng = np.random.default_rng(1)
    before, after = rng.random(25), rng.random(25) + 0.1
    expected = scipy_stats.ttest_rel(after, before, alternative=alternative)  # scipy 1.17.1
    statistic, pvalue = run("t", before, after, alternative)
    assert statistic == pytest.approx(expected.statistic, rel=1e-12)
    assert pvalue == pytest.approx(expected.pvalue, rel=1e-12)


def test_the_t_test_of_identical_scores_is_one_where_scipy_gives_nan():
    scores = np.array([0.2, 0.4, 0.9])
    assert run("t", scores, scores) == (0.0, 1.0)


def test_float_noise_is_no_finding_where_scipy_gives_zero():
    before, after = np.full(5, 0.1) + 0.2, np.full(5, 0.3)
    assert (before != after).all()
    assert run("t", before, after) == (0.0, 1.0)


@pytest.mark.parametrize("n", [1, 2, 5, 12])
def test_a_constant_shift_gets_the_exact_sign_flip_pvalue_not_zero(n):
    before = np.linspace(0.0, 1.0, n)
    statistic, pvalue = run("t", before, before + 0.1)  # the shifts differ in their last digits
    assert statistic == np.inf
    assert pvalue == pytest.approx(2.0 ** (1 - n), rel=1e-15)


@pytest.mark.parametrize(("alternative", "expected"), [("less", 2.0**-6), ("greater", 1.0)])
def test_a_constant_loss_is_tested_on_the_side_asked_for(alternative, expected):
    statistic, pvalue = run("t", np.full(6, 0.5), np.full(6, 0.4), alternative)
    assert (statistic, pvalue) == (-np.inf, pytest.approx(expected))


# Wilcoxon's test


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("test", SCIPY_ZEROS)
@pytest.mark.parametrize("n", [9, 60])
def test_the_signed_rank_tests_are_scipys(test, alternative, n):
    rng = np.random.default_rng(n)
    differences = rng.integers(-3, 6, n).astype(float)
    expected = scipy_stats.wilcoxon(  # scipy 1.17.1
        differences, zero_method=SCIPY_ZEROS[test], alternative=alternative
    )
    statistic, pvalue = run(test, np.zeros(n), differences, alternative)
    assert (statistic, pvalue) == (expected.statistic, pytest.approx(expected.pvalue, rel=1e-12))


@pytest.mark.parametrize("test", SCIPY_ZEROS)
def test_ranks_that_differ_by_rounding_are_tied(test):
    tenths = np.array([[1, 3], [2, 4], [5, 3], [0, 1], [1, 2], [7, 9], [4, 4]])
    before, after = tenths.T
    rounded = run(test, before / 10, after / 10)
    assert len(set(np.abs((after - before) / 10)[:3])) < len(
        set(np.abs(after / 10 - before / 10)[:3])
    )
    assert rounded == run(test, before, after)


@pytest.mark.parametrize("test", SCIPY_ZEROS)
def test_the_signed_rank_tests_of_identical_scores_are_one(test):
    scores = np.array([0.2, 0.4, 0.9])
    assert run(test, scores, scores) == (0.0, 1.0)


# The sign test and McNemar's


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_the_sign_test_is_the_binomial_test_of_wins(alternative):
    after = [0.3, 0.2, 0.1, -0.4, 0.0, 0.5, 0.6, 0.0]
    expected = scipy_stats.binomtest(5, 6, alternative=alternative).pvalue  # scipy 1.17.1
    assert run("sign", np.zeros(8), after, alternative) == (5.0, pytest.approx(expected, rel=1e-12))


@pytest.mark.parametrize(("wins", "losses"), [(1, 7), (6, 16), (0, 4), (5, 5)])
def test_mcnemars_exact_test_is_that_of_statsmodels(wins, losses):
    expected = statsmodels_mcnemar([[9, wins], [losses, 3]], exact=True).pvalue  # statsmodels 0.15
    pvalue = run("mcnemar", *table(9, wins, losses, 3))[1]
    assert pvalue == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("cells", "exact", "midp"),
    [
        # Fagerland, Lydersen, Laake (2013): airway hyper-responsiveness, Bentur et al. (2009)
        ((1, 1, 7, 12), 0.0703, 0.0391),
        # R package contingencytables 3.1.0: complete response, Cavo et al. (2012)
        ((59, 6, 16, 80), 0.052479, 0.034690),
    ],
)
def test_mcnemars_tests_reproduce_published_tables(cells, exact, midp):
    half_a_digit = 5e-5 if exact == 0.0703 else 5e-7
    assert run("mcnemar", *table(*cells))[1] == pytest.approx(exact, abs=half_a_digit)
    assert run("mcnemar-midp", *table(*cells))[1] == pytest.approx(midp, abs=half_a_digit)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("test", ["mcnemar", "mcnemar-midp"])
def test_mcnemars_tests_without_discordant_pairs_are_one(test, alternative):
    assert run(test, *table(5, 0, 0, 3), alternative) == (0.0, 1.0)


def test_the_two_one_sided_midps_are_complements():
    scores = table(4, 6, 2, 4)
    greater = run("mcnemar-midp", *scores, "greater")[1]
    assert greater + run("mcnemar-midp", *scores, "less")[1] == pytest.approx(1.0, rel=1e-15)
    law = scipy_stats.binom(8, 0.5)  # scipy 1.17.1
    assert greater == pytest.approx(law.sf(6) + 0.5 * law.pmf(6), rel=1e-12)


def test_as_many_wins_as_losses_have_midp_one():
    assert run("mcnemar-midp", *table(4, 6, 6, 4))[1] == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("test", ["mcnemar", "mcnemar-midp"])
def test_mcnemars_tests_refuse_scores_that_are_not_0_or_1(test):
    with pytest.raises(DataError, match=f"{test!r} needs scores of 0 and 1"):
        run(test, [0.0, 1.0], [0.5, 1.0])


# Monte Carlo


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_random_sign_flips_come_near_all_sign_flips(alternative):
    differences = np.array([0.31, -0.12, 0.44, 0.05, -0.2, 0.17, 0.0, 0.29, 0.08, -0.03])
    exact = exact_flip_pvalue(differences, alternative)
    statistic, pvalue = run(
        "sign-flip-mc", np.zeros(10), differences, alternative, n_resamples=20_000
    )
    assert statistic == pytest.approx(differences.mean())
    assert pvalue == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))


def test_random_sums_that_equal_the_observed_one_but_for_rounding_are_ties():
    before = np.array([0.1, 0.7, 1.3, 0.37, 0.5])
    exact = 2 / 2**5  # all five gain 0.1
    pvalue = run("sign-flip-mc", before, before + 0.1, n_resamples=20_000)[1]
    assert pvalue == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_random_redraws_come_near_all_redraws(alternative):
    differences = np.array([0.5, -0.1, 0.3, 0.2])
    means = np.array(list(itertools.product(differences - differences.mean(), repeat=4))).mean(
        axis=1
    )
    observed = differences.mean()
    extreme = {
        "two-sided": np.abs(means) >= observed - 1e-9,
        "greater": means >= observed - 1e-9,
        "less": means <= observed + 1e-9,
    }
    exact = extreme[alternative].mean()
    pvalue = run("bootstrap", np.zeros(4), differences, alternative, n_resamples=20_000)[1]
    assert pvalue == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4)


@pytest.mark.parametrize("test", sorted(DRAWN))
def test_a_pvalue_by_resampling_is_never_zero(test):
    pvalue = run(test, np.zeros(200), np.linspace(0.9, 1.1, 200), n_resamples=99)[1]
    assert pvalue == 1 / 100


@pytest.mark.parametrize("test", sorted(DRAWN))
def test_the_same_seed_gives_the_same_pvalue_and_another_seed_another(test):
    after = np.array([0.31, -0.12, 0.44, 0.05, -0.2, 0.17, 0.0, 0.29])
    runs = [run(test, np.zeros(8), after, seed=seed) for seed in (0, 0, 1)]
    assert runs[0] == runs[1] != runs[2]


# All of them

RATINGS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=7)


@pytest.mark.parametrize("test", [test for test in MINE if "mcnemar" not in test])
@settings(max_examples=15)
@given(pairs=RATINGS)
def test_a_pvalue_is_a_probability_and_the_sides_may_be_exchanged(test, pairs):
    before, after = np.array(pairs, float).T
    pvalue = run(test, before, after, "less", n_resamples=99)[1]
    mirrored = run(test, after, before, "greater", n_resamples=99)[1]
    assert 0.0 <= pvalue <= 1.0
    assert mirrored == pytest.approx(pvalue, abs=0.35 if test in DRAWN else 1e-12)


@pytest.mark.parametrize("test", [test for test in MINE if test not in DRAWN])
def test_the_order_of_the_queries_does_not_matter(test):
    before, after = table(3, 6, 2, 4)
    order = np.random.default_rng(0).permutation(before.size)
    assert run(test, before[order], after[order]) == pytest.approx(run(test, before, after))


@pytest.mark.parametrize(("wins", "losses"), [(7, 2), (2, 7), (4, 4)])
def test_one_sided_mcnemar_counts_the_side_that_is_claimed(wins, losses):
    before = [0] * wins + [1] * losses + [1, 0]
    after = [1] * wins + [0] * losses + [1, 0]
    coin = scipy_stats.binom(wins + losses, 0.5)
    for alternative, fewer in (("greater", losses), ("less", wins)):
        for test, less in (("mcnemar", 0.0), ("mcnemar-midp", coin.pmf(fewer) / 2)):
            found = paired_test(before, after, test=test, alternative=alternative)
            assert found.pvalue == pytest.approx(coin.cdf(fewer) - less)
            assert found.statistic == wins
