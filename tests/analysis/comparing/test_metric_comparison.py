"""The numbers of one row. Witnesses: SciPy 1.17, statsmodels 0.15, enumeration, by hand."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from statsmodels.stats.power import TTestPower

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.analysis.paired_metric import ComparisonPlan
from rageval_report.errors import DataError
from rageval_report.stats import paired_test

NAN = math.nan


def run(name, ids=None, metrics=None, **columns):
    n = len(next(iter(columns.values())))
    ids = [f"q{i}" for i in range(n)] if ids is None else ids
    return RAGPipelineEvaluation(name, {"query_id": ids, **columns}, metrics=metrics)


def compared(before, after, name="recall", metrics=None, **options):
    """The first row of two runs with one metric."""
    runs = (run("a", metrics=metrics, **{name: before}), run("b", metrics=metrics, **{name: after}))
    comparison = compare(*runs, **options)
    return comparison.frame.assign(sentence=comparison.sentences).iloc[0]


def notes_of(before, after, name="recall", **options):
    return compare(run("a", **{name: before}), run("b", **{name: after}), **options).notes


def detectable_by_statsmodels(units, alpha=0.05):
    effect = TTestPower().solve_power(None, len(units), alpha, 0.8)
    return effect * np.std(units, ddof=1)


# -- what the data can show


def test_the_detectable_difference_is_that_of_statsmodels():
    rng = np.random.default_rng(5)
    before, after = rng.random(30), rng.random(30)
    row = compared(before, after)
    assert row["min_detectable_difference"] == pytest.approx(
        detectable_by_statsmodels(after - before), rel=1e-6
    )


def test_six_pairs_are_enough_to_say_what_could_be_detected():
    before, after = [0.25, 0.5, 0.1, 0.2, 0.3, 0.4], [0.5, 0.25, 0.1, 0.3, 0.2, 0.1]
    row = compared(before, after)
    units = np.subtract(after, before)
    # On a lattice the observed signs count half, so two of the 32 pairs of patterns reject.
    assert row["min_detectable_difference"] == pytest.approx(
        detectable_by_statsmodels(units, alpha=2 / 32), rel=1e-6
    )
    assert math.isnan(compared(before[:5], after[:5])["min_detectable_difference"])


def test_the_detectable_difference_goes_by_the_level():
    rng = np.random.default_rng(5)
    before, after = rng.random(30), rng.random(30)
    row = compared(before, after, confidence_level=0.99)
    assert row["min_detectable_difference"] == pytest.approx(
        detectable_by_statsmodels(after - before, alpha=0.01), rel=1e-6
    )


def test_the_units_of_clusters_are_their_sums_on_the_scale_of_a_query():
    rng = np.random.default_rng(1)
    labels = np.repeat(list("abcdefgh"), [1, 2, 3, 4, 5, 1, 2, 6])
    before = rng.random(len(labels))
    after = np.clip(before + rng.normal(0.05, 0.1, len(labels)), 0, 1)
    clusters = {f"q{i}": label for i, label in enumerate(labels)}
    row = compared(before, after, clusters=clusters)
    sums = np.array([(after - before)[labels == label].sum() for label in "abcdefgh"])
    sizes = np.array([1, 2, 3, 4, 5, 1, 2, 6])
    # 24 queries in 8 clusters, so 3 is the mean size; what the mean gives a larger cluster is no
    # spread.
    units = row["difference"] + (sums - row["difference"] * sizes) / 3
    assert units.mean() == pytest.approx(row["difference"])
    # Of 128 pairs of sign patterns of 8 clusters 6 are at most 0.05.
    assert row["min_detectable_difference"] == pytest.approx(
        detectable_by_statsmodels(units, alpha=6 / 128), rel=1e-5
    )


@pytest.mark.parametrize(
    ("before", "after"), [([0.5], [0.7]), ([0.25, 0.5], [0.5, 0.75]), ([NAN], [0.5])]
)
def test_without_a_spread_nothing_says_what_could_be_detected(before, after):
    row = compared([*before, NAN], [*after, 0.1])
    assert math.isnan(row["min_detectable_difference"])


@pytest.mark.parametrize("clusters", [None, {f"q{i}": max(i - 4, 0) for i in range(12)}])
def test_a_constant_shift_has_no_spread(clusters):
    before = np.linspace(0.1, 0.6, 12)
    row = compared(before, before + 0.1, clusters=clusters)  # rounding differs from query to query
    assert math.isnan(row["min_detectable_difference"])
    assert row["ci_low"] == pytest.approx(0.1)
    assert row["ci_high"] == pytest.approx(0.1)


# -- clusters


def test_clusters_of_one_size_are_tested_by_their_means():
    rng = np.random.default_rng(2)
    labels = np.repeat(list("abcdefg"), 4)
    before = rng.random(28)
    after = np.clip(before + rng.normal(0.1, 0.15, 28), 0, 1)
    clusters = {f"q{i}": label for i, label in enumerate(labels)}
    row = compared(before, after, clusters=clusters, confidence_level=0.9)
    means = (after - before).reshape(7, 4).mean(axis=1)
    signs = np.array(list(itertools.product([1, -1], repeat=7)))
    flipped = np.abs(signs @ means)
    exact = np.mean(flipped >= flipped[0] * (1 - 1e-12))  # all 128 patterns of signs
    assert row["pvalue"] == pytest.approx(exact, rel=1e-9)
    alone = compared(np.zeros(7), means, "my_gain", confidence_level=0.9)  # of a query each
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((alone["ci_low"], alone["ci_high"]))
    assert row["test"] == "cluster-sign-flip"
    assert row["ci_method"] == "cluster-sign-flip"
    by_t = compared(before, after, clusters=clusters, confidence_level=0.9, interval="t")
    expected = scipy.stats.ttest_1samp(means, 0).confidence_interval(0.9)
    assert (by_t["ci_low"], by_t["ci_high"]) == pytest.approx((expected.low, expected.high))
    assert row["statistic"] == row["difference"] == pytest.approx(means.mean())
    assert row["n"] == 28
    assert (row["wins"], row["losses"]) == ((after > before).sum(), (after < before).sum())


def test_the_test_of_clusters_is_the_one_that_is_asked_for():
    rng = np.random.default_rng(2)
    labels = np.repeat(list("abcdefg"), 4)
    before = rng.random(28)
    after = np.clip(before + rng.normal(0.1, 0.15, 28), 0, 1)
    clusters = {f"q{i}": label for i, label in enumerate(labels)}
    sums = (after - before).reshape(7, 4).sum(axis=1)
    by_t = compared(before, after, clusters=clusters, test="t")
    assert by_t["test"] == "cluster-t"
    assert by_t["pvalue"] == pytest.approx(scipy.stats.ttest_1samp(sums, 0).pvalue)
    drawn = compared(before, after, clusters=clusters, test="sign-flip-mc", n_resamples=99, seed=3)
    asked = {"test": "sign-flip-mc", "n_resamples": 99, "seed": 3}
    assert drawn["pvalue"] == paired_test(np.zeros(7), sums, **asked).pvalue


def test_only_clusters_with_a_pair_count():
    before = [0.1, 0.2, NAN, 0.4, 0.5, 0.3]
    after = [0.2, 0.4, 0.5, 0.6, NAN, 0.9]
    clusters = dict(zip((f"q{i}" for i in range(6)), "aabbcd", strict=True))
    row = compared(before, after, clusters=clusters)
    assert row["n"] == 4
    assert row["n_clusters"] == 3  # a, b and d
    assert "3 in common" in row["sentence"]


def test_the_margin_is_tested_by_cluster():
    rng = np.random.default_rng(0)
    before = rng.uniform(0.2, 0.8, 40)
    gains = rng.normal(0, 0.05, 10)
    after = before + np.repeat(gains - gains.mean() + 0.005, 4)
    clusters = {f"q{i}": i // 4 for i in range(40)}
    row = compared(before, after, margin=0.06, clusters=clusters)
    means = (after - before).reshape(10, 4).mean(axis=1)
    signs = np.array(list(itertools.product([1, -1], repeat=10)))
    tails = [np.mean(signs @ moved >= moved.sum() - 1e-9) for moved in (means + 0.06, 0.06 - means)]
    assert row["equivalence_pvalue_adjusted"] == pytest.approx(max(tails))
    assert "equivalent on recall within ±0.060" in row["sentence"]
    by_query = compared(before, after, margin=0.06)
    assert by_query["equivalence_pvalue_adjusted"] < row["equivalence_pvalue_adjusted"]


def test_a_cluster_of_one_query_each_changes_no_number():
    rng = np.random.default_rng(4)
    before, after = rng.random(20), rng.random(20)
    alone = compared(before, after, margin=0.1)
    clusters = {f"q{i}": i for i in range(20)}
    clustered = compared(before, after, clusters=clusters, margin=0.1)
    differing = ["test", "ci_method", "sentence"]  # these name the clusters
    assert clustered["test"] == f"cluster-{alone['test']}"
    assert clustered.drop([*differing, "n_clusters"]).equals(alone.drop(differing))


@pytest.mark.parametrize("setting", [{"test": "mcnemar"}, {"interval": "bonett-price"}])
def test_what_needs_independent_queries_refuses_clusters(setting):
    clusters = {f"q{i}": i // 2 for i in range(16)}
    with pytest.raises(DataError, match="needs independent queries, and these are clustered"):
        compared([0, 1] * 8, [1, 1, 0, 1] * 4, "exact_match", clusters=clusters, **setting)


def test_queries_that_cancel_out_within_their_clusters_are_not_identical():
    before, after = np.tile([0.5, 0.5], 6), np.tile([0.75, 0.25], 6)
    row = compared(before, after, clusters={f"q{i}": i // 2 for i in range(12)})
    assert row["pvalue"] == 1.0
    assert row["sentence"].startswith("no difference shown on recall")


# -- the interval


def test_a_gain_that_unseen_losses_could_undo_has_a_note():
    before = np.linspace(0.2, 0.7, 20)
    after = before + np.tile([0.04, 0.05, 0.06, 0.05], 5)
    share = 0.1  # 20 queries cannot exclude 13.9 %, but more than one in ten is not rare
    worse = share - (1 - share) * 0.05
    expected = (
        f"20 queries can miss rare failures: up to {100 * share:.1f} % of all queries could drop "
        f"by 1, and b would then be worse by {worse:.3f}"
    )
    assert [note for note in notes_of(before, after) if "rare" in note] == [f"recall: {expected}"]
    swapped = notes_of(1 - before, 1 - after, name="hallucination")
    assert [note for note in swapped if "rare" in note] == [f"hallucination: {expected}"]


@pytest.mark.parametrize(
    ("gain", "options"),
    [
        (0.3, {}),  # too large to be undone
        (-0.05, {}),  # no gain
        (0.05, {"name": "sas"}),  # its bounds are a formality
    ],
)
def test_other_results_have_no_note_on_rare_losses(gain, options):
    before = np.linspace(0.3, 0.6, 20)
    after = before + gain + np.tile([-0.01, 0.0, 0.01, 0.0], 5)
    assert not any("rare" in note for note in notes_of(before, after, **options))


def test_a_gain_that_unseen_losing_clusters_could_undo_has_a_note():
    before = np.linspace(0.3, 0.6, 20)
    after = before + 0.05 + np.tile([-0.01, 0.0, 0.01, 0.0], 5)
    clusters = pd.Series({f"q{i}": f"c{i // 2}" for i in range(20)})
    notes = notes_of(before, after, clusters=clusters)
    # Ten clusters cannot exclude 25.9 %, but more than one in ten is not rare.
    expected = "recall: 10 clusters can miss rare failures: up to 10.0 % of all clusters"
    assert any(note.startswith(expected) for note in notes)


def test_an_interval_does_not_leave_the_range_of_differences():
    wide = compared([0, 1] * 3, [1, 0] * 3, "my_share", test="t")  # ± 1.15 by Student's t
    assert (wide["ci_low"], wide["ci_high"]) == (-1.0, 1.0)
    rating = {"rating": {"bounds": (1, 5), "kind": "ordinal"}}
    wide = compared([1, 5] * 3, [5, 1] * 3, "rating", rating, test="t")
    assert (wide["ci_low"], wide["ci_high"]) == (-4.0, 4.0)


def test_an_interval_inside_the_range_is_left_as_it_is():
    before = np.array([0.1, 0.4, 0.5, 0.3, 0.2, 0.6])
    after = np.array([0.2, 0.6, 0.4, 0.5, 0.3, 0.8])
    row = compared(before, after, test="t")
    expected = scipy.stats.ttest_rel(after, before).confidence_interval(0.95)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((expected.low, expected.high))


def test_a_metric_without_bounds_has_the_whole_interval():
    before = np.array([100.0, 400.0, 500.0, 50.0, 30.0, 900.0])
    after = np.array([900.0, 100.0, 800.0, 60.0, 10.0, 700.0])
    row = compared(before, after, "latency_ms", test="t")
    expected = scipy.stats.ttest_rel(after, before).confidence_interval(0.95)
    assert (row["ci_low"], row["ci_high"]) == pytest.approx((expected.low, expected.high))


def test_the_interval_is_that_of_the_test_unless_another_is_asked_for():
    rng = np.random.default_rng(3)
    before, after = rng.random(20), rng.random(20)
    asked = {"n_resamples": 199, "seed": 4}
    assert compared(before, after, test="t")["ci_method"] == "t"
    assert compared(before, after, test="t", interval="percentile")["ci_method"] == "percentile"
    assert compared(before, after)["ci_method"] == "sign-flip"
    drawn = compared(before, after, interval="studentised", **asked)
    again = compared(before, after, interval="studentised", **asked)
    other = compared(before, after, interval="studentised", n_resamples=199, seed=5)
    assert (drawn["ci_low"], drawn["ci_high"]) == (again["ci_low"], again["ci_high"])
    assert drawn["ci_low"] != other["ci_low"]


def test_one_pair_has_a_difference_and_nothing_else():
    row = compared([0.25], [0.75])
    assert row["difference"] == 0.5
    absent = ("ci_low", "ci_high", "effect_size", "hedges_g_z", "odds_ratio")
    assert all(math.isnan(row[name]) for name in absent)
    assert row["n"] == 1
    one_bit = compared([0], [1], "exact_match")
    assert all(math.isnan(one_bit[name]) for name in ("effect_size", "hedges_g_z", "odds_ratio"))


def test_no_pair_at_all_is_no_test():
    row = compared([0.5, NAN], [NAN, 0.5])
    assert row["test"] == "none"
    numbers = ("pvalue", "statistic", "difference", "baseline_mean", "ci_low", "improvement")
    assert all(math.isnan(row[name]) for name in numbers)
    assert (row["n"], row["n_dropped"]) == (0, 2)
    assert (row["wins"], row["ties"], row["losses"]) == (0, 0, 0)


# -- effects


def test_effects_by_hand():
    before, after = np.array([0.1, 0.4, 0.5, 0.3, 0.2]), np.array([0.2, 0.6, 0.4, 0.5, 0.9])
    row = compared(before, after)
    differences = after - before
    d_z = differences.mean() / differences.std(ddof=1)
    assert row["effect_name"] == "d_z"
    assert row["effect_size"] == pytest.approx(d_z)
    # Hedges' factor, exactly: Gamma(df / 2) / (sqrt(df / 2) Gamma((df - 1) / 2)), df = 4
    factor = math.gamma(2) / (math.sqrt(2) * math.gamma(1.5))
    assert row["hedges_g_z"] == pytest.approx(factor * d_z)
    assert math.isnan(row["odds_ratio"])


def test_two_pairs_are_enough_for_an_effect():
    row = compared([0.1, 0.4], [0.2, 0.6])
    assert row["effect_size"] == pytest.approx(0.15 / math.sqrt(0.005))


@pytest.mark.parametrize(("before", "after"), [([0, 1, 1], [0.5, 1, 1]), ([0.5, 1, 1], [0, 1, 1])])
def test_scores_of_which_one_side_is_no_share_have_no_odds(before, after):
    row = compared(before, after)
    assert row["effect_name"] == "d_z"
    assert math.isnan(row["odds_ratio"])


def test_a_loss_in_a_cost_is_a_gain():
    row = compared([5.0, 8.0, 2.0, 4.0], [3.0, 9.0, 1.0, 4.0], "latency_ms")
    assert (row["wins"], row["ties"], row["losses"]) == (2, 1, 1)
    assert (row["difference"], row["improvement"]) == (-0.5, 0.5)


# -- missing scores


def test_up_to_a_twentieth_of_dropped_queries_needs_no_bounds():
    before, after = np.full(20, 0.5), np.full(20, 0.6)
    after[3] = NAN
    [note] = [note for note in notes_of(before, after) if "left out" in note]
    assert note.endswith("1 of 20 shared queries are left out: no score in 'a' (0) or 'b' (1)")


def test_more_dropped_queries_come_with_bounds():
    before, after = np.full(20, 0.5), np.full(20, 0.6)
    after[3] = before[4] = before[5] = NAN
    [note] = [note for note in notes_of(before, after) if "left out" in note]
    # q3 from 0 to 1 against 0.5, q4 and q5 0.6 against 1 to 0, and 17 gains of 0.1
    low, high = (17 * 0.1 - 0.5 - 0.8) / 20, (17 * 0.1 + 0.5 + 1.2) / 20
    assert "3 of 20 shared queries are left out: no score in 'a' (2) or 'b' (1); " in note
    assert note.endswith(f"the difference would be {low:+.3f} or {high:+.3f}")


def test_a_query_that_both_lack_is_dropped_once():
    row = compared([0.5, NAN, 0.5], [0.5, NAN, NAN])
    assert (row["n"], row["n_dropped"]) == (1, 2)


def test_dropped_queries_of_a_metric_without_bounds_may_bias():
    before, after = np.full(10, 5.0), np.full(10, 6.0)
    after[3] = NAN
    notes = " ".join(notes_of(before, after, "latency_ms"))
    assert "if scores are missing for a reason, the difference is biased" in notes


def test_nothing_dropped_is_not_noted():
    assert not any("left out" in note for note in notes_of([0.5, 0.6], [0.5, 0.7]))


@pytest.mark.parametrize(("direction", "worst"), [("higher", 1.0), ("lower", 5.0)])
def test_the_worst_score_goes_by_the_direction(direction, worst):
    known = {"rating": {"bounds": (1, 5), "greater_is_better": direction == "higher"}}
    row = compared([NAN, 4.0, 2.0], [2.0, NAN, 3.0], "rating", known, missing="worst")
    assert row["n"] == 3
    assert row["baseline_mean"] == pytest.approx((worst + 4 + 2) / 3)
    assert row["candidate_mean"] == pytest.approx((2 + worst + 3) / 3)


def test_bounds_are_columns_only_if_they_are_asked_for():
    assert "difference_lowest" not in compared([0.5, NAN], [0.5, 0.5])
    assert "difference_lowest" in compared([0.5, NAN], [0.5, 0.5], missing="bounds")


# -- latency and cost


def test_the_ratio_of_a_latency_is_that_of_geometric_means():
    rng = np.random.default_rng(8)
    before = rng.lognormal(6, 0.4, 50)
    after = before * rng.lognormal(0.25, 0.3, 50)
    [note] = [note for note in notes_of(before, after, "latency_ms") if "typical" in note]
    ratio = scipy.stats.gmean(after) / scipy.stats.gmean(before)
    assert f"b typically has {ratio:.3f} times the value of a " in note
    logs = np.log(after) - np.log(before)
    t = scipy.stats.ttest_1samp(logs, 0).confidence_interval(0.95)
    low, high = note.rpartition("95 % CI ")[2].rstrip(")").split(" to ")
    # by t and by the inverted sign-flip test about the same with 50 queries
    assert (float(low), float(high)) == pytest.approx((math.exp(t.low), math.exp(t.high)), abs=0.01)


@pytest.mark.parametrize(
    ("before", "after"), [([5.0, 0.0], [3.0, 2.0]), ([5.0, 1.0], [0.0, 2.0]), ([5.0], [3.0])]
)
def test_a_latency_of_zero_or_of_one_query_has_no_ratio(before, after):
    assert not any("typical" in note for note in notes_of(before, after, "latency_ms"))


def test_a_score_has_no_ratio():
    assert not any("typical" in note for note in notes_of([0.5, 0.6], [0.5, 0.7]))


# -- equivalence and fragility


def test_six_pairs_are_enough_for_a_test_of_equivalence_and_five_are_not():
    before, after = [0.5, 0.6] * 3, [0.51, 0.62] * 3
    name = "equivalence_pvalue_adjusted"
    assert math.isfinite(compared(before, after, margin=0.5)[name])
    assert math.isnan(compared(before[:5], after[:5], margin=0.5)[name])


def test_a_margin_holds_for_its_metric_alone():
    values = {"recall": [0.5, 0.6, 0.7] * 2, "mrr": [0.5, 0.6, 0.7] * 2}
    frame = compare(run("a", **values), run("b", **values), margin={"mrr": 0.1}).frame
    has_pvalue = frame.set_index("metric")["equivalence_pvalue_adjusted"].notna()
    assert has_pvalue.to_dict() == {"recall": False, "mrr": True}


# -- Westfall and Young's correction


def adjusted_by_enumeration(matrix):
    """Step-down maxT over all patterns of signs."""
    statistic = np.abs(matrix.sum(axis=0)) / np.sqrt((matrix**2).sum(axis=0))
    signs = np.array(list(itertools.product([1, -1], repeat=len(matrix))))
    flipped = np.abs(signs @ matrix) / np.sqrt((matrix**2).sum(axis=0))
    order = np.argsort(-statistic)
    adjusted, last = np.empty(len(order)), 0.0
    for place, column in enumerate(order):
        largest = flipped[:, order[place:]].max(axis=1)
        last = max(last, np.mean(largest >= statistic[column] - 1e-9))
        adjusted[column] = last
    return adjusted


def test_westfall_young_flips_a_query_in_all_metrics_at_once():
    rng = np.random.default_rng(11)
    before = rng.random((9, 3))
    after = before + rng.normal(0.12, 0.2, (9, 3))
    after[2, 1] = before[4, 2] = NAN
    names = ["one", "two", "three"]
    a = run("a", **dict(zip(names, before.T, strict=True)))
    order = rng.permutation(9)
    ids = [f"q{i}" for i in order]
    b = run("b", ids, **dict(zip(names, after[order].T, strict=True)))
    found = compare(a, b, metrics=names, correction="westfall-young", n_resamples=20_000).frame
    expected = adjusted_by_enumeration(np.nan_to_num(after - before))
    assert found["pvalue_adjusted"].tolist() == pytest.approx(expected.tolist(), abs=0.015)


def test_westfall_young_finds_the_rows_of_the_queries_that_both_have():
    rng = np.random.default_rng(12)
    before = rng.random((12, 2))
    after = before + rng.normal(0.15, 0.2, (12, 2))
    a = run("a", one=before[:, 0], two=before[:, 1])
    kept = [11, 3, 5, 7, 9, 1, 0, 8]
    b = run("b", [f"q{i}" for i in kept], one=after[kept, 0], two=after[kept, 1])
    found = compare(a, b, correction="westfall-young", n_resamples=20_000).frame
    expected = adjusted_by_enumeration((after - before)[kept])
    assert found["pvalue_adjusted"].tolist() == pytest.approx(expected.tolist(), abs=0.015)


def test_westfall_young_draws_as_often_and_from_where_it_is_told():
    rng = np.random.default_rng(11)
    before, after = rng.uniform(0, 0.6, 9), rng.uniform(0.1, 0.9, 9)
    asked = {"correction": "westfall-young", "n_resamples": 99}
    pvalues = {compared(before, after, **asked, seed=i)["pvalue_adjusted"] for i in range(12)}
    drawn = pvalues - {compared(before, after)["pvalue"]}  # no drawn one is the smaller
    assert len(drawn) > 1
    assert all(round(pvalue * 100, 9) == round(pvalue * 100) for pvalue in drawn)


def test_westfall_young_flips_a_cluster_in_all_metrics_at_once():
    rng = np.random.default_rng(13)
    labels = np.repeat(np.arange(9), [1, 2, 3, 2, 2, 1, 4, 2, 3])
    before = rng.random((20, 2))
    after = before + rng.normal(0.1, 0.1, (20, 2)) + rng.normal(0, 0.1, (9, 2))[labels]
    a = run("a", one=before[:, 0], two=before[:, 1])
    b = run("b", one=after[:, 0], two=after[:, 1])
    found = compare(
        *(a, b),
        clusters={f"q{i}": label for i, label in enumerate(labels)},
        correction="westfall-young",
        n_resamples=20_000,
    ).frame
    sums = np.zeros((9, 2))
    np.add.at(sums, labels, after - before)
    expected = np.maximum(adjusted_by_enumeration(sums), found["pvalue"])
    assert found["pvalue_adjusted"].tolist() == pytest.approx(expected.tolist(), abs=0.015)
    assert (found["pvalue_adjusted"] >= found["pvalue"]).all()


def test_a_query_without_a_cluster_is_refused():
    a, b = run("a", recall=[0.1, 0.2], topic=["x", None]), run("b", recall=[0.1, 0.3])
    with pytest.raises(DataError, match="clusters must have a label for every query; 'q1'"):
        compare(a, b, clusters="topic")
    with pytest.raises(DataError, match="clusters must have a label for every query; 'q0'"):
        compare(a, b, clusters={"q1": "x"})


# -- the settings


def test_a_plan_without_settings_is_that_of_a_comparison_without_settings():
    settings = compare(run("a", recall=[0.1, 0.4]), run("b", recall=[0.2, 0.3])).settings
    plan = ComparisonPlan().settings()
    assert plan == {name: settings[name] for name in plan}
    assert (plan["n_resamples"], plan["seed"], plan["confidence_level"]) == (9999, 0, 0.95)
