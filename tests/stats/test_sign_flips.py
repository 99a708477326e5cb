"""The sign-flip test and its interval against all patterns of signs, SciPy and other arithmetic."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
import scipy

from rageval_report.errors import DataError
from rageval_report.stats.base import Alternative
from rageval_report.stats.columns import Column
from rageval_report.stats.sign_flips import sign_flip_interval, sign_flip_pvalue

FISHER = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
"""Darwin's maize: cross-fertilised minus self-fertilised, in eighths of an inch."""


def sign_flip_limits(values: np.ndarray | Column, level: float = 0.95) -> tuple[float, float]:
    interval = sign_flip_interval(values, confidence_level=level)
    return interval.low, interval.high


def patterns(n: int) -> np.ndarray:
    return np.array(list(itertools.product([1.0, -1.0], repeat=n)))


def share(values: np.ndarray, ties: float = 1.0, spread: float = 0.0) -> float:
    """The share of all patterns of signs with a sum of at least the observed one."""
    beyond = patterns(values.size) @ values - values.sum()
    if spread:
        return float(np.clip(0.5 + beyond / (2 * spread), 0.0, 1.0).mean())
    near = np.abs(beyond) < 1e-9 * np.abs(values).sum()
    return float(((beyond > 0) & ~near).mean() + ties * near.mean())


def samples(n: int, seed: int) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(seed)
    yield rng.normal(0.3, 1.0, n)
    yield rng.integers(-2, 4, n) * 0.5
    yield (rng.random(n) < 0.4) * 1.0 - (rng.random(n) < 0.2)
    yield 1 / rng.integers(1, 11, n) - 1 / rng.integers(1, 11, n)
    yield rng.lognormal(0, 1.5, n) - rng.lognormal(0, 1.5, n)


def lattice_law(steps: np.ndarray) -> tuple[np.ndarray, int]:
    """The probabilities of the sums of random signs, from minus to plus the largest sum."""
    law = np.ones(1)
    for step in np.abs(steps).tolist():
        law = 0.5 * (np.pad(law, (0, 2 * step)) + np.pad(law, (2 * step, 0)))
    return law, int(np.abs(steps).sum())


def clustered(rng: np.random.Generator, n: int) -> Column:
    sizes = rng.integers(1, 5, n)
    sums = np.array([rng.integers(-1, 3, size).sum() for size in sizes]) / sizes.mean()
    order = np.lexsort((sizes, sums))
    return Column.of_counts(sums[order], np.ones(n), (sizes / sizes.mean())[order])


SIDES: tuple[tuple[Alternative, int], ...] = (("greater", 1), ("less", -1))


@pytest.mark.parametrize("n", [2, 5, 9, 13])
@pytest.mark.parametrize("midp", [False, True])
def test_pvalues_are_shares_of_all_patterns_of_signs(n: int, midp: bool) -> None:
    for values in samples(n, seed=n):
        for alternative, sign in SIDES:
            expected = share(sign * values, 0.5 if midp else 1.0) if values.any() else 1.0
            found = sign_flip_pvalue(values, alternative=alternative, midp=midp)
            assert found == pytest.approx(expected, rel=1e-9)


def test_darwins_maize_has_fishers_pvalue() -> None:
    # Fisher (1935), The Design of Experiments, section 21: 1,726 of 32,768 patterns.
    assert sign_flip_pvalue(FISHER, midp=False) == 1726 / 32768


@pytest.mark.parametrize("n", [35, 120, 700, 3_000])
def test_lattice_tails_are_those_of_the_convolved_law(n: int) -> None:
    rng = np.random.default_rng(n)
    for centre in (0, 1):
        steps = rng.integers(-3, 4, n) + centre * (rng.random(n) < 0.3)
        law, top = lattice_law(steps)
        total = int(steps.sum())
        tail, tie = law[top + total :].sum(), law[top + total]
        for midp, ties in ((False, 0.0), (True, 0.5)):
            found = sign_flip_pvalue(steps * 0.25, alternative="greater", midp=midp)
            assert found == pytest.approx(tail - ties * tie, rel=1e-9)


def test_far_tails_have_full_relative_precision() -> None:
    wins, losses = 900, 100
    values = np.repeat([1.0, -1.0], [wins, losses])
    law = scipy.stats.binom(1000, 0.5)
    expected = law.sf(wins) + 0.5 * law.pmf(wins)  # 2e-162
    assert sign_flip_pvalue(values, alternative="greater") == pytest.approx(expected, rel=1e-9)
    # On no lattice: 38 of 40 values positive, and the patterns beyond can be counted.
    sizes = np.sqrt(np.arange(1.0, 41.0))
    values = np.where(np.arange(40) < 2, -sizes, sizes)
    sets = [
        chosen
        for k in range(8)
        for chosen in itertools.combinations(sizes[:12].tolist(), k)
        if sum(chosen) <= sizes[:2].sum()
    ]
    found = sign_flip_pvalue(values, alternative="greater", midp=False)
    assert found == pytest.approx(len(sets) / 2**40, rel=1e-9)


def test_a_continuous_tail_agrees_with_its_two_conditional_tails() -> None:
    # Given the sign of one value the sum of the others decides: P(S >= s) is the mean of two tails,
    # each of which is a one-sided p-value of other data with the same sizes.
    rng = np.random.default_rng(4)
    for n in (45, 200):
        values = rng.normal(0.3, 1.0, n)
        whole = sign_flip_pvalue(values, alternative="greater")
        draws = rng.choice([-1.0, 1.0], (40_000, n)) @ values
        share_drawn = float((draws >= values.sum()).mean())
        assert whole == pytest.approx(share_drawn, abs=5 * math.sqrt(whole / 40_000))


def test_many_values_are_condensed_without_a_printed_change() -> None:
    rng = np.random.default_rng(8)
    steps = rng.integers(-20_000, 20_300, 6_000)
    law_of_sum = scipy.stats.norm(0, math.sqrt(float((steps.astype(float) ** 2).sum())))
    found = sign_flip_pvalue(steps * 1.0, alternative="greater")
    assert found == pytest.approx(law_of_sum.sf(steps.sum()), rel=1e-3)  # central limit theorem
    few = Column.of(steps[:4_000] * 1.0)
    doubled = Column.of_counts(few.values, 2 * few.counts)
    twice = np.repeat(steps[:4_000], 2) + np.tile([1e-7, -1e-7], 4_000)  # 8,000 values
    assert sign_flip_pvalue(twice) == pytest.approx(sign_flip_pvalue(doubled), rel=1e-6)


def test_swapped_sides_swap_the_alternatives_and_the_limits() -> None:
    for n in (8, 40, 300):
        for values in samples(n, seed=n + 7):
            assert sign_flip_pvalue(values) == pytest.approx(sign_flip_pvalue(-values), rel=1e-9)
            greater = sign_flip_pvalue(values, alternative="greater", shift=0.1)
            less = sign_flip_pvalue(-values, alternative="less", shift=-0.1)
            assert greater == pytest.approx(less, rel=1e-9)
            low, high = sign_flip_limits(values)
            assert (-high, -low) == pytest.approx(sign_flip_limits(-values), rel=1e-6, abs=1e-6)


def test_rows_in_another_order_and_counts_of_two_change_nothing() -> None:
    rng = np.random.default_rng(2)
    for values in samples(60, seed=3):
        shuffled = rng.permutation(values)
        assert sign_flip_pvalue(values) == sign_flip_pvalue(shuffled)
        assert sign_flip_limits(values) == sign_flip_limits(shuffled)
        column = Column.of(values)
        doubled = Column.of_counts(column.values, 2 * column.counts)
        assert sign_flip_pvalue(doubled) == sign_flip_pvalue(np.repeat(values, 2))


@pytest.mark.parametrize("scale", [1e300, 1e-305, 2.0**-1040, 0.01])
def test_a_scale_changes_no_pvalue(scale: float) -> None:
    for values in (np.array([3.0, 1.0, -2.0, 5.0, 4.0, 2.0, 2.5]), np.arange(-9.0, 31.0)):
        assert sign_flip_pvalue(values * scale) == pytest.approx(sign_flip_pvalue(values), rel=1e-6)
        low, high = sign_flip_limits(values)
        assert sign_flip_limits(values * scale) == pytest.approx((low * scale, high * scale))


@pytest.mark.parametrize("n", [7, 11])
def test_a_shift_spreads_each_sum_over_its_cell(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(6):
        values = np.append(rng.integers(-2, 4, n - 2), [-1, 2]) * 0.5
        for shift in (0.03, -0.21, 0.5, 0.74):
            for alternative, sign in SIDES:
                found = sign_flip_pvalue(values, alternative=alternative, shift=shift)
                step = Column.of(values).step
                assert step is not None
                expected = share(sign * (values - shift), spread=step)
                assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_shifted_tails_of_more_values_continue_those_of_few(weighted: bool) -> None:
    # The law of the number of steps and the weight of a random set, by a convolution in both.
    rng = np.random.default_rng(12)
    steps = rng.integers(-2, 4, 60)
    sizes = rng.integers(1, 4, 60) if weighted else np.ones(60, dtype=int)
    law = np.zeros((401, int(sizes.sum()) + 1))
    law[200, 0] = 1.0
    for step, size in zip(steps.tolist(), sizes.tolist(), strict=True):
        law = 0.5 * (law + np.roll(np.roll(law, step, axis=0), size, axis=1))
    unit = float(sizes.mean())
    order = np.lexsort((sizes, steps))
    weights = sizes[order] / unit if weighted else None
    column = Column.of_counts(steps[order] / unit, np.ones(60), weights)
    sums, weight = np.arange(-200, 201)[:, None], np.arange(law.shape[1])
    for shift in (0.003, 0.2, -0.4, steps.mean() / unit + 0.05):
        counted = np.clip(0.5 + shift * weight - sums, 0.0, 1.0)
        found = sign_flip_pvalue(column, alternative="greater", shift=shift)
        assert found == pytest.approx(float((law * counted).sum()), rel=3e-6)


@pytest.mark.parametrize("n", [6, 9, 13])
def test_continuous_limits_are_order_statistics_of_the_means_of_subsets(n: int) -> None:
    values = np.random.default_rng(n).normal(0.2, 1.0, n)
    members = (patterns(n) < 0)[1:]
    means = np.sort(members @ values / members.sum(axis=1))
    rank = math.floor(0.025 * 2**n)
    expected = means[rank - 1], means[means.size - rank]
    assert sign_flip_limits(values) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("n", [20, 45, 250, 5_000])
def test_limits_are_the_shifts_at_which_the_pvalue_passes_the_level(n: int) -> None:
    for values in samples(n, seed=n):
        column = Column.of(values)
        interval = sign_flip_interval(column, confidence_level=0.9)
        width = 1e-4 * (interval.high - interval.low)
        least = float(values.min()) + 2 * width
        if interval.low > least:
            assert sign_flip_pvalue(column, shift=interval.low - width) <= 0.1
        if interval.high < float(values.max()) - 2 * width:
            assert sign_flip_pvalue(column, shift=interval.high + width) <= 0.1
        assert sign_flip_pvalue(column, shift=interval.low + width) > 0.1
        assert sign_flip_pvalue(column, shift=interval.high - width) > 0.1


def test_the_interval_excludes_zero_exactly_if_the_test_rejects() -> None:
    rng = np.random.default_rng(21)
    for _ in range(150):
        n = int(rng.integers(6, 29))
        kind = int(rng.integers(4))
        if kind == 0:
            column = Column.of(rng.normal(rng.uniform(0, 1), 1.0, n))
        elif kind == 1:
            column = Column.of(rng.integers(-2, 4, n) * 0.25)
        elif kind == 2:
            column = Column.of((rng.random(n) < 0.4) * 1.0 - (rng.random(n) < 0.15))
        else:
            column = clustered(rng, n)
        level = float(rng.choice([0.8, 0.9, 0.95, 0.99]))
        interval = sign_flip_interval(column, confidence_level=level)
        if interval.method == "sign-flip" and column.values.any():
            is_rejected = sign_flip_pvalue(column) <= 1 - level
            assert is_rejected == (not interval.low <= 0 <= interval.high)


def test_few_differences_have_the_t_interval_and_a_note() -> None:
    values = [0.1, 0.3, 0.45, 0.62]
    interval = sign_flip_interval(values)
    expected = scipy.stats.t.interval(  # SciPy 1.17
        0.95, 3, np.mean(values), scipy.stats.sem(values)
    )
    assert (interval.low, interval.high) == pytest.approx(expected)
    assert interval.method == "t"
    assert "with 4 pairs" in interval.notes[0]


def test_differences_without_a_spread_have_a_point_as_interval() -> None:
    equal = sign_flip_interval([0.3] * 8)
    assert (equal.low, equal.high, equal.notes) == (0.3, 0.3, ("all differences are equal",))
    assert sign_flip_pvalue([0.3] * 8, midp=False) == 2**-7
    identical = sign_flip_interval(np.zeros(9))
    assert (identical.low, identical.high, identical.notes) == (0.0, 0.0, ("identical",))
    assert sign_flip_pvalue(np.zeros(9)) == 1.0
    assert math.isnan(sign_flip_interval([0.3]).low)
    assert sign_flip_pvalue([0.3]) == 1.0
    with pytest.raises(DataError, match="at least one"):
        sign_flip_interval([])


def test_bad_input_is_an_error() -> None:
    with pytest.raises(DataError, match="confidence_level must lie between 0 and 1"):
        sign_flip_interval([0.1, 0.2], confidence_level=95)
    with pytest.raises(DataError, match="finite"):
        sign_flip_pvalue([0.1, math.inf])
    with pytest.raises(KeyError, match="alternative"):
        sign_flip_pvalue([0.1, 0.2], alternative="larger")  # type: ignore[arg-type]


def test_several_dominating_differences_decide_by_their_patterns() -> None:
    rng = np.random.default_rng(3)
    others, large = rng.normal(0.0, 1.0, 500), np.array([3e5, -2e5, 7e5, 1e5, -4e5])
    beyond = patterns(5) @ large - large.sum()
    ties = np.abs(beyond) < 1
    alone = sign_flip_pvalue(others, alternative="greater")
    expected = (beyond[~ties] > 0).mean() * (~ties).mean() + alone * ties.mean()
    found = sign_flip_pvalue(np.append(others, large), alternative="greater")
    assert found == pytest.approx(expected, rel=1e-6)


def test_powers_of_two_are_the_digits_of_a_uniform_number() -> None:
    values = 2.0 ** np.arange(60) * np.where(np.arange(60) % 3, 1, -1)
    expected = 0.5 - values.sum() / 2.0**61
    found = sign_flip_pvalue(values, alternative="greater")
    assert found == pytest.approx(expected, rel=1e-6)


def test_numbers_close_to_a_lattice_keep_their_piles_of_sums() -> None:
    # All but one are multiples of a step: given the sign of that one the law is a lattice law.
    rng = np.random.default_rng(6)
    steps = rng.integers(-3, 4, 90)
    odd = math.pi / 10
    law, top = lattice_law(steps)
    total = int(steps.sum())
    # With its own sign a tie counts, with the other sign the next sum above must be reached.
    expected = 0.5 * (law[top + total :].sum() + law[top + total + 1 :].sum())
    values = np.append(steps.astype(float), odd)
    found = sign_flip_pvalue(values, alternative="greater", midp=False)
    assert found == pytest.approx(expected, rel=1e-5)


def test_differences_near_each_other_or_alike_but_for_one_are_no_trouble() -> None:
    near = 0.3 + 1e-12 * np.arange(30)
    low, high = sign_flip_limits(near)
    assert low == pytest.approx(0.3)
    assert high == pytest.approx(0.3)
    assert sign_flip_pvalue(near, midp=False) == 2.0**-29
    one = np.append(np.full(29, 0.3), 0.5)
    low, high = sign_flip_limits(one)
    assert low == 0.3
    assert 0.3 < high < 0.5
    lone = np.append(np.zeros(40), 1.0)
    assert sign_flip_pvalue(lone) == 1.0
    assert sign_flip_limits(lone)[0] == 0.0


def test_reciprocal_ranks_lie_on_a_fine_lattice() -> None:
    rng = np.random.default_rng(9)
    steps = np.rint(2520 / rng.integers(1, 11, 150) - 2520 / rng.integers(1, 11, 150)).astype(int)
    law, top = lattice_law(steps)
    total = int(steps.sum())
    expected = law[top + total :].sum() - 0.5 * law[top + total]
    found = sign_flip_pvalue(steps / 2520, alternative="greater")
    assert found == pytest.approx(expected, rel=1e-9)
