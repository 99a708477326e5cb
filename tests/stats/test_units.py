"""Units: sums by unit, and tests and intervals of them. Witnesses: pandas, statsmodels, by hand."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.stats import PairedScores, equivalence_test, paired_interval, paired_test
from rageval_report.stats.clusters import clustered_standard_error, mean_error
from rageval_report.stats.pairs.equivalence import run_equivalence
from rageval_report.stats.pairs.paired import find_interval, fragile, is_fragile, run_test
from rageval_report.stats.sign_flips.inversion import pvalue_of_shift
from rageval_report.stats.units import QUERIES, Units, fewest_units

LABELS = np.repeat(list("abcdefgh"), [1, 2, 3, 4, 5, 1, 2, 6])


def clustered(seed=0, labels=LABELS, shift=0.05):
    """Pairs whose differences have a part of their cluster, and the same by unit."""
    rng = np.random.default_rng(seed)
    codes = pd.factorize(labels)[0]
    before = rng.uniform(0.3, 0.6, len(labels))
    gains = shift + rng.normal(0, 0.1, len(labels)) + rng.normal(0, 0.1, codes.max() + 1)[codes]
    pairs = PairedScores(before, before + gains)
    return pairs, Units.of(labels).collapse(pairs)


def two_sided_share(sums):
    """The share of all patterns of signs whose sum is as far out."""
    flipped = np.abs(np.array(list(itertools.product([1, -1], repeat=len(sums)))) @ sums)
    return np.mean(flipped >= abs(sums.sum()) * (1 - 1e-9))


# -- sums


def test_sums_by_unit_are_those_of_pandas_in_order_of_appearance():
    rng = np.random.default_rng(3)
    labels = rng.choice(list("zyxw"), 30)
    values = rng.normal(size=(30, 2))
    expected = pd.DataFrame(values).groupby(labels, sort=False).sum()
    units = Units.of(labels)
    assert units.sums(values) == pytest.approx(expected.to_numpy())
    assert units.sums(values[:, 0]) == pytest.approx(expected[0].to_numpy())
    assert units.count(30) == len(expected)


def test_without_clusters_each_row_is_a_unit():
    values = np.array([0.5, 0.25])
    assert QUERIES.sums(values) is values
    assert QUERIES.count(7) == 7
    assert QUERIES.select(np.array([1])) is QUERIES
    assert (QUERIES.word, Units.of(["a"]).word) == ("queries", "clusters")


def test_a_unit_of_which_no_row_is_left_is_gone():
    units = Units.of(["a", "b", "b", "c"]).select(np.array([False, True, True, True]))
    assert units.sums(np.array([1.0, 2.0, 4.0])).tolist() == [3.0, 4.0]


def test_a_row_without_a_label_is_an_error():
    with pytest.raises(DataError, match="every query needs a cluster; 1 have none"):
        Units.of(["a", None])


def test_rows_of_another_table_keep_their_units():
    units = Units.of(["a", "a", "b"])
    everywhere = units.of_other_rows(None, np.array([3, 1, 0]), 4)
    # The rows 3 and 1 belong together; row 2 has no twin here.
    assert everywhere.codes[3] == everywhere.codes[1]
    assert len(set(everywhere.codes.tolist())) == 3
    assert QUERIES.of_other_rows(None, None, 4) is QUERIES


# -- independent pairs


def test_the_mean_over_units_is_the_mean_over_queries():
    pairs, by_unit = clustered()
    assert by_unit.n == 8
    assert by_unit.differences.mean() == pytest.approx(pairs.differences.mean(), rel=1e-12)
    assert by_unit.values.mean() == pytest.approx(pairs.differences.mean(), rel=1e-12)


def test_clusters_of_one_query_are_the_pairs_themselves():
    pairs = PairedScores(np.zeros(3), np.array([0.1, 0.2, 0.3]))
    assert QUERIES.collapse(pairs) is pairs
    assert Units.of(["x", "y", "z"]).collapse(pairs) is pairs


def test_a_shift_of_every_query_shifts_the_values_and_leaves_no_spread():
    pairs, by_unit = clustered()
    moved = Units.of(LABELS).collapse(PairedScores(pairs.baseline, pairs.candidate + 0.2))
    assert moved.values == pytest.approx(by_unit.values + 0.2)
    constant = Units.of(LABELS).collapse(PairedScores(pairs.baseline, pairs.baseline + 0.1))
    assert constant.standard_deviation == 0.0


def test_the_standard_error_is_cr2():
    pairs, by_unit = clustered()
    expected = clustered_standard_error(pairs.differences, LABELS)  # checked by the general formula
    assert mean_error(by_unit) == pytest.approx((expected.standard_error, expected.df))


def test_clusters_of_one_size_have_the_error_of_statsmodels():
    labels = np.repeat(np.arange(9), 4)
    pairs, by_unit = clustered(labels=labels)
    fit = sm.OLS(pairs.differences, np.ones(36)).fit(
        cov_type="cluster", cov_kwds={"groups": labels, "use_correction": False}
    )
    plain = float(fit.bse[0])  # CR0, statsmodels 0.15; CR1 and CR2 agree for one size
    error, df = mean_error(by_unit)
    assert error == pytest.approx(plain * math.sqrt(9 / 8))
    assert df == 8


# -- tests and intervals


@pytest.mark.parametrize("seed", range(4))
def test_the_test_flips_the_sums_of_clusters(seed):
    pairs, by_unit = clustered(seed)
    sums = pd.Series(pairs.differences).groupby(LABELS).sum().to_numpy()
    assert run_test(by_unit).pvalue == pytest.approx(two_sided_share(sums), rel=1e-9)
    assert run_test(by_unit).test == "sign-flip"


@pytest.mark.parametrize("size", [8, 40])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_each_limit_is_the_shift_at_which_the_test_of_clusters_turns(size, level):
    rng = np.random.default_rng(size)
    labels = np.repeat(np.arange(size), rng.integers(1, 7, size))
    pairs, by_unit = clustered(1, labels)
    interval = find_interval(by_unit, confidence_level=level)
    reach = (interval.high - interval.low) / 2
    codes = Units.of(labels)

    def pvalue_after(shift):  # subtracted from every query, before the sums are made
        moved = PairedScores(pairs.baseline, pairs.candidate - shift)
        return run_test(codes.collapse(moved), test="sign-flip").pvalue

    inside, outside = 1e-4 * reach, -1e-4 * reach
    for limit, inward in ((interval.low, 1), (interval.high, -1)):
        assert pvalue_after(limit + inward * inside) > 1 - level
        assert pvalue_after(limit + inward * outside) <= 1 - level


def test_a_shift_moves_the_interval_and_a_scale_stretches_it():
    pairs, by_unit = clustered(2, np.repeat(np.arange(30), np.arange(30) % 5 + 1))
    units = Units.of(np.repeat(np.arange(30), np.arange(30) % 5 + 1))
    here = find_interval(by_unit)
    moved = find_interval(units.collapse(PairedScores(pairs.baseline, pairs.candidate + 0.3)))
    stretched = find_interval(units.collapse(PairedScores(4 * pairs.baseline, 4 * pairs.candidate)))
    reach = here.high - here.low
    assert (moved.low, moved.high) == pytest.approx((here.low + 0.3, here.high + 0.3), abs=1e-5)
    assert (stretched.low, stretched.high) == pytest.approx(
        (4 * here.low, 4 * here.high), abs=1e-5 * reach
    )


@pytest.mark.parametrize("method", ["sign-flip", "t", "percentile", "bca"])
def test_every_interval_of_clusters_moves_with_a_shift(method):
    pairs, by_unit = clustered(4)
    moved = Units.of(LABELS).collapse(PairedScores(pairs.baseline, pairs.candidate + 0.25))
    here, there = (find_interval(side, method=method) for side in (by_unit, moved))
    assert (there.low, there.high) == pytest.approx((here.low + 0.25, here.high + 0.25), abs=1e-5)


@pytest.mark.parametrize("seed", range(12))
def test_the_t_interval_of_clusters_never_contradicts_their_t_test(seed):
    _, by_unit = clustered(seed, shift=0.09)
    result = run_test(by_unit, test="t")
    interval = find_interval(by_unit, method="t")
    assert (interval.low > 0 or interval.high < 0) == (result.pvalue <= 0.05)


def test_extremely_unequal_clusters_still_have_limits():
    # One document has most of the queries: its sum decides, and the interval is very wide.
    labels = np.concatenate([np.zeros(200, int), np.arange(1, 25)])
    pairs, by_unit = clustered(5, labels)
    interval = find_interval(by_unit)
    assert math.isfinite(interval.low)
    assert math.isfinite(interval.high)
    assert interval.low < pairs.differences.mean() < interval.high


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 8)), min_size=7, max_size=24).filter(
        lambda rows: len({label for _, label in rows}) >= 6
    )
)
@settings(max_examples=60)
def test_sums_on_a_lattice_have_half_ties_and_an_interval_that_agrees(rows):
    steps, labels = np.array(rows).T
    by_unit = Units.of(labels).collapse(PairedScores(np.zeros(len(steps)), steps / 10))
    result, interval = run_test(by_unit), find_interval(by_unit)
    rejects = result.pvalue <= 0.05
    assert (interval.low > 0 or interval.high < 0) == rejects
    if by_unit.sizes is not None and result.test == "sign-flip-midp":
        sums = pd.Series(steps).groupby(labels).sum().to_numpy()
        flipped = np.abs(np.array(list(itertools.product([1, -1], repeat=len(sums)))) @ sums)
        far, ties = np.mean(flipped > abs(sums.sum())), np.mean(flipped == abs(sums.sum()))
        expected = 1.0 if sums.sum() == 0 else far + ties / 2
        assert result.pvalue == pytest.approx(expected, rel=1e-9)


def test_the_margin_is_taken_off_every_query():
    pairs, by_unit = clustered(6, shift=0.0)
    sums = pd.Series(pairs.differences + 0.1).groupby(LABELS).sum().to_numpy()
    signs = np.array(list(itertools.product([1, -1], repeat=8)))
    expected = np.mean(signs @ sums >= sums.sum() - 1e-12)
    assert pvalue_of_shift(by_unit, -0.1, "greater") == pytest.approx(expected)
    claim = run_equivalence(by_unit, 0.1, alternative="non-inferior")
    assert claim.pvalue == pytest.approx(expected)
    assert claim.equivalent == (claim.low > -0.1)


def test_fragility_enters_one_more_cluster():
    # Six clusters gain as much each: one more against them undoes it, one more query would not.
    labels = np.repeat(np.arange(6), 4)
    pairs = PairedScores(np.zeros(24), np.full(24, 0.123))
    by_unit = Units.of(labels).collapse(pairs)
    assert run_test(by_unit).pvalue <= 0.05
    assert is_fragile(by_unit)
    assert not is_fragile(pairs)


@pytest.mark.parametrize(
    ("alpha", "expected"), [(0.05, 6), (0.1, 6), (0.5, 6), (0.03, 7), (0.01, 8), (0.001, 11)]
)
def test_fewer_units_than_these_never_reject(alpha, expected):
    assert fewest_units(alpha) == expected
    if expected > 6:
        assert 2.0 ** (1 - expected) <= alpha < 2.0 ** (2 - expected)


# -- arrays with clusters


def test_arrays_with_clusters_have_the_test_the_interval_and_the_margin_of_their_units():
    pairs, by_unit = clustered(7, shift=0.12)
    arrays = pairs.baseline, pairs.candidate
    assert paired_test(*arrays, clusters=LABELS) == run_test(by_unit)
    assert paired_interval(*arrays, clusters=LABELS) == find_interval(by_unit)
    margin = equivalence_test(*arrays, 0.3, clusters=LABELS)
    assert margin == run_equivalence(by_unit, 0.3)
    assert fragile(*arrays, clusters=LABELS) == is_fragile(by_unit)


def test_unscored_queries_leave_their_clusters():
    pairs, by_unit = clustered(8)
    before = np.r_[pairs.baseline, 0.5, math.nan]
    after = np.r_[pairs.candidate, math.nan, 0.5]
    labels = [*LABELS, "a", "another"]
    assert paired_test(before, after, clusters=labels) == run_test(by_unit)


def test_clusters_of_another_length_are_an_error():
    with pytest.raises(DataError, match="clusters must have one label per query"):
        paired_test([0.1, 0.2], [0.2, 0.3], clusters=["a"])
    with pytest.raises(DataError, match="every query needs a cluster"):
        paired_interval([0.1, 0.2], [0.2, 0.3], clusters=["a", None])
