"""The state of a pair of runs: from any split of the rows the comparison that memory makes."""

import pickle

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import DataError
from rageval_report.stats import EFFECTS
from rageval_report.stats.pairs.equivalence import run_equivalence
from rageval_report.stats.pairs.paired import find_interval, is_fragile, run_test, smallest_pvalue
from rageval_report.stats.pairs.paired_scores import PairedScores
from rageval_report.stats.pairs.rare_losses import rare_losses_of
from rageval_report.stats.pilot import PilotDifferences
from rageval_report.stats.states.column_state import FEW_VALUES, MOST_VALUES
from rageval_report.stats.states.pair_state import PairState

# Up to the last bit, and up to rounding: relative, or in half widths of an interval.
ROUNDING = 1e-12
ROUNDING_OF_PVALUES = 1e-9


def merged(baseline, candidate, seed, n_parts=7):
    """The state of all parts of shuffled rows, added as a tree of random shape."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(baseline.size)
    cuts = np.sort(rng.integers(0, baseline.size + 1, n_parts - 1))
    parts = zip(np.split(baseline[order], cuts), np.split(candidate[order], cuts), strict=True)
    states = [PairState.of(*part) for part in parts]
    while len(states) > 1:
        first = states.pop(int(rng.integers(len(states))))
        second = states.pop(int(rng.integers(len(states))))
        states.append(first + second)
    return states[0]


def changed(rng, steps, lowest, highest, share=0.3):
    """Other whole numbers than these for a share of them."""
    moved = steps + rng.integers(-2, 3, steps.size) * (rng.random(steps.size) < share)
    return np.clip(moved, lowest, highest)


def on_lattice(kind, n):
    """Both sides' scores."""
    rng = np.random.default_rng(n)
    lowest, highest, denominator = LATTICES[kind]
    before = rng.integers(lowest, highest + 1, n)
    return before / denominator, changed(rng, before, lowest, highest) / denominator


LATTICES = {
    "binary": (0, 1, 1),
    "ratings": (1, 5, 1),
    "thirds": (0, 3, 3),
    "hundredths": (0, 100, 100),
    "ten-thousandths": (-10_000, 10_000, 10_000),
    "milliseconds": (200, 40_000, 1),
}


def smooth(kind, n):
    """Both sides' scores, on no lattice."""
    rng = np.random.default_rng(n)
    before = rng.beta(5, 2, n)
    noise = rng.normal(0.0005, 0.1, n)
    return {
        "shares": (before, np.clip(before + noise, 0, 1)),
        "mostly equal": (before, np.where(rng.random(n) < 0.8, before, before + noise)),
        "latency": (1e3 * before, 1e3 * before * rng.lognormal(0.001, 0.2, n)),
        "heavy tail": (before, before + rng.standard_t(1.8, n)),
        "far from zero": (1e5 + before, 1e5 + 0.3 + before + noise),
    }[kind]


SMOOTH = ("shares", "mostly equal", "latency", "heavy tail", "far from zero")
# Those that need counts or sums alone, for scores of any kind, and of 0 and 1.
TESTS = ("auto", "sign-flip", "sign-flip-midp", "t", "sign")
INTERVALS = ("auto", "sign-flip", "t")
OF_SHARES = (("mcnemar", "mcnemar-midp"), ("bonett-price", "newcombe", "tango"))
SIZES = ("d_z", "hedges_g_z", "d_av", "paired_dominance")


@pytest.mark.parametrize("kind", LATTICES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [300, FEW_VALUES + 905, 60_000])
def test_on_a_lattice_every_number_is_that_of_memory_to_the_last_bit(kind, dtype, n):
    before, after = (side.astype(dtype) for side in on_lattice(kind, n))
    before[::41] = np.nan
    in_memory = PairedScores.of(before, after)
    pairs = merged(before, after, 4).pairs()
    binary = kind == "binary"
    for test in (*TESTS, *(OF_SHARES[0] if binary else ())):
        for alternative in ("two-sided", "less", "greater"):
            first, second = (
                run_test(each, test=test, alternative=alternative) for each in (in_memory, pairs)
            )
            assert first == second
        assert smallest_pvalue(in_memory, first.test) == smallest_pvalue(pairs, first.test)
        first, second = (PilotDifferences.of(each, first.test) for each in (in_memory, pairs))
        assert first == second
    for method in (*INTERVALS, *(OF_SHARES[1] if binary else ())):
        first, second = (find_interval(each, method=method) for each in (in_memory, pairs))
        assert first == second
    for test in ("wilcoxon", "wilcoxon-pratt", "wilcoxon-zsplit"):
        first, second = (run_test(each, test=test) for each in (in_memory, pairs))
        assert first == second
    for size in (
        *SIZES,
        "cliffs_delta",
        "rank_biserial",
        *(("risk_difference", "odds_ratio") if binary else ()),
    ):
        assert EFFECTS[size](in_memory) == EFFECTS[size](pairs)
    assert in_memory.side_moments == pairs.side_moments
    assert in_memory.side_means == pairs.side_means
    assert pairs.side_means == tuple(side.mean for side in pairs.side_moments)
    assert in_memory.side_ends == pairs.side_ends
    assert pairs.side_ends == tuple((side.minimum, side.maximum) for side in pairs.side_moments)


@pytest.mark.parametrize("kind", LATTICES)
@pytest.mark.parametrize("n", [300, 20_000])
def test_on_a_lattice_claims_are_those_of_memory_to_the_last_bit(kind, n):
    before, after = on_lattice(kind, n)
    in_memory, pairs = PairedScores(before, after), merged(before, after, 8).pairs()
    lowest, highest, denominator = LATTICES[kind]
    bounds = lowest / denominator, highest / denominator
    width = bounds[1] - bounds[0]
    for method in ("auto", "t", "strict"):
        for margin in (0.001 * width, 0.03 * width):
            first, second = (
                run_equivalence(each, margin, method=method, bounds=bounds, alternative=claim)
                for each in (in_memory, pairs)
                for claim in ("equivalence",)
            )
            assert first == second
    for size in (width, width / 3, width / 50):
        for sides in ((in_memory, pairs), (in_memory.swapped(), pairs.swapped())):
            first, second = (rare_losses_of(each, size) for each in sides)
            assert first.n_losses == second.n_losses
            assert first.share == second.share
            assert first.difference == pytest.approx(second.difference, rel=ROUNDING, abs=1e-15)
    assert is_fragile(in_memory) == is_fragile(pairs)


@pytest.mark.parametrize("kind", SMOOTH)
@pytest.mark.parametrize("n", [3000, MOST_VALUES - 7, 300_000])
def test_elsewhere_every_number_is_that_of_memory_up_to_rounding(kind, n):
    before, after = smooth(kind, n)
    in_memory, pairs = PairedScores(before, after), merged(before, after, 4).pairs()
    scale = in_memory.standard_deviation
    for test in TESTS:
        first, second = (run_test(each, test=test) for each in (in_memory, pairs))
        assert (first.test, first.n, first.wins, first.losses) == (
            *(second.test, second.n, second.wins, second.losses),
        )
        assert second.difference == pytest.approx(first.difference, abs=ROUNDING * scale)
        assert second.pvalue == pytest.approx(first.pvalue, rel=ROUNDING_OF_PVALUES)
    for method in INTERVALS:
        first, second = (find_interval(each, method=method) for each in (in_memory, pairs))
        half = (first.high - first.low) / 2
        assert [second.low, second.high] == pytest.approx(
            [first.low, first.high], abs=ROUNDING_OF_PVALUES * half
        )
    for size in SIZES:
        assert EFFECTS[size](pairs) == pytest.approx(EFFECTS[size](in_memory), rel=1e-9, abs=1e-12)
    assert pairs.standard_deviation == pytest.approx(scale, rel=ROUNDING)
    for first, second in zip(in_memory.side_moments, pairs.side_moments, strict=True):
        assert (first.minimum, first.maximum) == (second.minimum, second.maximum)
        assert second.mean == pytest.approx(first.mean, rel=ROUNDING)
    assert is_fragile(in_memory) == is_fragile(pairs)
    pilots = [PilotDifferences.of(each, "sign-flip") for each in (in_memory, pairs)]
    assert pilots[1].detectable(n) == pytest.approx(pilots[0].detectable(n), rel=ROUNDING)


@pytest.mark.parametrize("margin", [0.0003, 0.02])
def test_claims_about_sums_of_powers_are_those_of_memory(margin):
    before, after = smooth("shares", 250_000)
    in_memory, pairs = PairedScores(before, after), merged(before, after, 1).pairs()
    assert pairs.sums is not None
    for method, rel in (("auto", 1e-9), ("t", 1e-9), ("strict", 1e-4)):
        first, second = (
            run_equivalence(each, margin, method=method, bounds=(0, 1))
            for each in (in_memory, pairs)
        )
        assert second.pvalue == pytest.approx(first.pvalue, rel=rel, abs=1e-300)
        assert (second.equivalent, second.notes) == (first.equivalent, first.notes)
        ends = [first.low, first.high]
        assert [second.low, second.high] == pytest.approx(ends, abs=1e-7)


def test_differences_as_large_as_can_be_are_counted_among_sums():
    rng = np.random.default_rng(3)
    before, after = rng.random((2, 200_000))
    before[:30], after[:30] = 1.0, 0.0
    before[-7:], after[-7:] = 0.0, 1.0
    in_memory, pairs = PairedScores(before, after), merged(before, after, 2).pairs()
    for either_sign, n_losses in ((False, 30), (True, 37)):
        first, second = (
            rare_losses_of(each, 1.0, either_sign=either_sign) for each in (in_memory, pairs)
        )
        assert first.n_losses == second.n_losses == n_losses
        assert first.share == second.share
        assert second.difference == pytest.approx(first.difference, abs=1e-5)


def test_scores_with_a_little_noise_are_on_the_lattice_that_memory_sees():
    rng = np.random.default_rng(5)
    before, after = (side + 1e-10 * rng.random(9000) for side in on_lattice("thirds", 9000))
    in_memory, pairs = PairedScores(before, after), merged(before, after, 2).pairs()
    first, second = run_test(in_memory), run_test(pairs)
    assert first.test == second.test == "sign-flip-midp"
    assert first.pvalue == second.pvalue
    assert second.difference == pytest.approx(first.difference, rel=1e-9, abs=1e-14)


def test_a_pair_off_the_lattice_turns_counts_into_sums():
    before, after = on_lattice("hundredths", 300_000)
    before[-1] = 0.123456789
    in_memory = PairedScores(before, after)
    state = PairState.of(before[:200_000], after[:200_000])
    state += PairState.of(before[200_000:], after[200_000:])
    first, second = run_test(in_memory), run_test(state.pairs())
    assert state.pairs().sums is not None
    assert (second.test, second.wins) == (first.test, first.wins)
    assert second.difference == pytest.approx(first.difference, rel=1e-11)
    assert second.pvalue == pytest.approx(first.pvalue, rel=1e-4)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.5, 1.0, np.nan]), st.sampled_from([0.0, 1.0, np.nan])),
        min_size=1,
        max_size=40,
    ),
    st.integers(0, 40),
)
@settings(max_examples=60)
def test_a_split_moves_nothing(rows, place):
    before, after = np.array(rows).T
    whole = PairState.of(before, after)
    state = PairState.of(before[:place], after[:place]) + PairState.of(
        before[place:], after[place:]
    )
    assert (state.n, state.n_dropped) == (whole.n, whole.n_dropped)
    assert state.n == np.count_nonzero(~np.isnan(before + after))
    assert state.lone.baseline.n == np.count_nonzero(np.isnan(after) & ~np.isnan(before))
    if state.n > 1:
        assert run_test(state.pairs()) == run_test(whole.pairs())
        swapped = run_test(state.pairs().swapped())
        assert swapped.difference == -run_test(whole.pairs()).difference


@pytest.mark.parametrize(
    "make", [lambda: on_lattice("hundredths", 10**5), lambda: smooth("shares", 2 * 10**5)]
)
def test_exchanged_sides_turn_every_sign(make):
    before, after = make()
    pairs = PairState.of(before, after).pairs()
    swapped, other = pairs.swapped(), PairState.of(after, before).pairs()
    for each in (swapped, other):
        assert each.mean == pytest.approx(-pairs.mean, rel=1e-12)
        assert (each.n_positive, each.n_negative) == (pairs.n_negative, pairs.n_positive)
        assert run_test(each).pvalue == pytest.approx(run_test(pairs).pvalue, rel=1e-9)
        first, second = find_interval(each), find_interval(pairs)
        assert [first.low, first.high] == pytest.approx([-second.high, -second.low], rel=1e-8)


def test_a_state_is_small_and_can_be_sent():
    for before, after in (on_lattice("hundredths", 10**6), smooth("heavy tail", 10**6)):
        state = PairState.of(before, after)
        assert state.nbytes < 2**21
        sent = pickle.loads(pickle.dumps(state))
        assert run_test((sent + state).pairs()).n == 2 * 10**6


def test_what_needs_every_score_says_so():
    pairs = PairState.of(*smooth("shares", 200_000)).pairs()
    for test in ("bootstrap", "wilcoxon", "sign-flip-mc"):
        with pytest.raises(DataError, match=r"\.collect\(\)"):
            run_test(pairs, test=test)
    with pytest.raises(DataError, match=r"\.collect\(\)"):
        find_interval(pairs, method="bca")
    with pytest.raises(DataError, match="needs scores of 0 and 1"):
        run_test(pairs, test="mcnemar")


def test_sides_of_different_lengths_are_an_error():
    with pytest.raises(DataError, match="equal length"):
        PairState.of(np.zeros(3), np.zeros(2))


def test_single_precision_separates_no_ranks_of_wilcoxon():
    rng = np.random.default_rng(4)
    before, noise = rng.integers(0, 101, 4000) / 100, rng.integers(-2, 4, 4000) / 100
    after = np.round(before + noise, 2)
    double = run_test(PairedScores(before, after), test="wilcoxon")
    single = [side.astype(np.float32).astype(np.float64) for side in (before, after)]
    assert run_test(PairedScores(*single), test="wilcoxon").pvalue == double.pvalue
    ranked = scipy.stats.wilcoxon(np.rint(100 * noise))  # SciPy on whole numbers, which tie
    assert double.pvalue == pytest.approx(float(ranked.pvalue), rel=1e-12)


@pytest.mark.parametrize("n_few", [1, 2, 3])
def test_few_more_pairs_are_not_rounded_to_a_step_that_they_are_near_by_chance(n_few):
    rng = np.random.default_rng(5)
    before, after = rng.lognormal(8, 1, (2, 20_000))
    many = PairState.of(before[:10_000], after[:10_000])
    for start in range(10_000, 10_100):
        rows = slice(start, start + n_few)
        both = many + PairState.of(before[rows], after[rows])
        joined = np.concatenate((after[:10_000], after[rows]))
        joined -= np.concatenate((before[:10_000], before[rows]))
        assert both.pairs().mean == pytest.approx(joined.mean(), rel=1e-12)
