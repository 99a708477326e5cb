"""The numbers of one row. Witnesses: SciPy 1.17, statsmodels 0.15, enumeration, by hand."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from statsmodels.stats.power import TTestPower

from rageval_report import RAGPipelineEvaluation, compare

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


# -- the interval


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


def test_the_interval_is_that_of_the_test():
    rng = np.random.default_rng(3)
    before, after = rng.random(20), rng.random(20)
    asked = {"n_resamples": 199, "seed": 4}
    assert compared(before, after, test="t")["ci_method"] == "t"
    assert compared(before, after)["ci_method"] == "sign-flip"
    drawn = compared(before, after, test="bootstrap", **asked)
    again = compared(before, after, test="bootstrap", **asked)
    other = compared(before, after, test="bootstrap", n_resamples=199, seed=5)
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


# -- missing scores


def test_more_dropped_queries_come_with_bounds():
    before, after = np.full(20, 0.5), np.full(20, 0.6)
    after[3] = before[4] = before[5] = NAN
    [note] = [note for note in notes_of(before, after) if "left out" in note]
    # q3 from 0 to 1 against 0.5, q4 and q5 0.6 against 1 to 0, and 17 gains of 0.1
    low, high = (17 * 0.1 - 0.5 - 0.8) / 20, (17 * 0.1 + 0.5 + 1.2) / 20
    assert "3 of 20 shared queries are left out: no score in 'a' (2) or 'b' (1); " in note
    assert note.endswith(f"the difference would be {low:+.3f} or {high:+.3f}")


@pytest.mark.parametrize(("direction", "worst"), [("higher", 1.0), ("lower", 5.0)])
def test_the_worst_score_goes_by_the_direction(direction, worst):
    known = {"rating": {"bounds": (1, 5), "greater_is_better": direction == "higher"}}
    row = compared([NAN, 4.0, 2.0], [2.0, NAN, 3.0], "rating", known, missing="worst")
    assert row["n"] == 3
    assert row["baseline_mean"] == pytest.approx((worst + 4 + 2) / 3)
    assert row["candidate_mean"] == pytest.approx((2 + worst + 3) / 3)


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
