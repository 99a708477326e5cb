"""Numbers with a second witness: SciPy 1.17, statsmodels 0.15, enumeration, arithmetic by hand."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from rageval_report import RAGPipelineEvaluation, calibrate, compare, history, rank, repeats
from rageval_report.analysis.plan import plan
from rageval_report.stats import (
    equivalence_test,
    krippendorff_alpha,
    mean_interval,
    paired_interval,
    paired_test,
)
from rageval_report.stats.planning import ClusterVariance, PlannedTest
from rageval_report.stats.units import clustered_interval

NAN = math.nan
RNG = np.random.default_rng(2)
N, SIZE = 9, 4
DOCUMENTS = np.repeat(np.arange(N), SIZE)
CLUSTERS = {f"q{i}": f"d{document}" for i, document in enumerate(DOCUMENTS)}
SIGNS = np.array(list(itertools.product([1, -1], repeat=N)))
BEFORE = RNG.uniform(0.3, 0.6, N * SIZE)
AFTER = BEFORE + RNG.normal(0.04, 0.06, N)[DOCUMENTS] + RNG.normal(0, 0.03, N * SIZE)
MEANS = (AFTER - BEFORE).reshape(N, SIZE).mean(axis=1)


def run(name, metrics=None, **columns):
    n = len(next(iter(columns.values())))
    data = {"query_id": [f"q{i}" for i in range(n)], **columns}
    return RAGPipelineEvaluation(name, data, metrics=metrics)


def row_of(before, after, metric="recall", **options):
    runs = run("a", **{metric: before}), run("b", **{metric: after})
    return compare(*runs, **options).frame.iloc[0]


def ends(row):
    return row["ci_low"], row["ci_high"]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


# -- comparisons


@pytest.mark.parametrize("metric", ["recall", "latency_ms"])
def test_the_paired_t_test_and_its_interval_are_scipys(metric):
    row = row_of(BEFORE, AFTER, metric, test="t", confidence_level=0.9)
    expected = scipy.stats.ttest_rel(AFTER, BEFORE)
    assert row["pvalue"] == pytest.approx(expected.pvalue)
    assert ends(row) == pytest.approx(tuple(expected.confidence_interval(0.9)))


def test_swapped_runs_flip_the_sign_and_a_constant_shift_has_the_smallest_pvalue(rng):
    there, back = row_of(BEFORE, AFTER), row_of(AFTER, BEFORE)
    assert back["difference"] == pytest.approx(-there["difference"])
    assert back["pvalue"] == pytest.approx(there["pvalue"])
    assert ends(back) == pytest.approx((-there["ci_high"], -there["ci_low"]))
    assert (back["wins"], back["losses"]) == (there["losses"], there["wins"])
    shifted = row_of(BEFORE[:8], BEFORE[:8] + rng.uniform(0.1, 0.2, 8))
    assert shifted["pvalue"] == pytest.approx(2.0**-7, rel=1e-9)


def test_clusters_of_one_size_are_tested_by_their_means():
    row = row_of(BEFORE, AFTER, clusters=CLUSTERS, confidence_level=0.9)
    share = np.mean(np.abs(SIGNS @ MEANS) >= abs(MEANS.sum()) * (1 - 1e-12))
    assert row["pvalue"] == pytest.approx(share, rel=1e-9)
    alone = row_of(np.zeros(N), MEANS, "my_gain", confidence_level=0.9)  # a query per cluster
    assert ends(row) == pytest.approx(ends(alone))
    by_t = row_of(BEFORE, AFTER, clusters=CLUSTERS, confidence_level=0.9, test="t")
    expected = scipy.stats.ttest_1samp(MEANS, 0)
    assert ends(by_t) == pytest.approx(tuple(expected.confidence_interval(0.9)))
    assert by_t["pvalue"] == pytest.approx(expected.pvalue)
    assert (row["n"], row["n_clusters"], row["wins"]) == (36, 9, (AFTER > BEFORE).sum())


def test_a_cluster_of_one_query_each_changes_no_number():
    alone = row_of(BEFORE, AFTER, margin=0.1)
    clustered = row_of(BEFORE, AFTER, margin=0.1, clusters={f"q{i}": i for i in range(N * SIZE)})
    named = ["test", "ci_method"]
    assert clustered.drop([*named, "n_clusters"]).equals(alone.drop(named))


def test_the_margin_is_tested_by_cluster():
    row = row_of(BEFORE, AFTER - MEANS.mean(), margin=0.08, clusters=CLUSTERS)
    gains = MEANS - MEANS.mean()
    tails = [np.mean(SIGNS @ moved >= moved.sum() - 1e-9) for moved in (gains + 0.08, 0.08 - gains)]
    assert row["equivalence_pvalue_adjusted"] == pytest.approx(max(tails))


def test_missing_scores_within_bounds_have_the_larger_pvalue_of_both_ends():
    before, after = BEFORE, np.where(np.arange(N * SIZE) < 1, NAN, AFTER + 0.2)
    row = row_of(before, after, missing="bounds")
    filled = [np.where(np.isnan(after), end, after) for end in (0.0, 1.0)]
    extremes = [paired_test(before, side).pvalue for side in filled]
    assert row["pvalue_adjusted"] == pytest.approx(max(extremes), rel=1e-9)
    assert row["pvalue"] < row["pvalue_adjusted"] <= 0.05


def test_what_is_detected_and_what_is_needed_go_by_the_level_that_the_correction_leaves(rng):
    gains = rng.normal(0, 0.15, 40)
    gains -= gains.mean()
    before = rng.uniform(0.4, 0.6, 40)
    unclear = {f"m{i}": before for i in range(3)}
    a = run("a", recall=before, **unclear)
    b = run(
        "b", recall=before + np.linspace(0.1, 0.2, 40), **dict.fromkeys(unclear, before + gains)
    )
    frame = compare(a, b, metrics=["recall", *unclear]).frame
    # One of four tests is shown, so three share the error rate.
    assert frame["level_left"].tolist() == pytest.approx([0.05 / 3] * 4)
    spread, row = gains.std(ddof=1), frame.iloc[1]
    detectable = spread * TTestPower().solve_power(None, 40, 0.05 / 3, 0.8)
    assert row["min_detectable_difference"] == pytest.approx(detectable, rel=1e-6)
    needed = [TTestPower().solve_power(size / spread, None, 0.05 / 3, 0.8) for size in (0.05, 0.02)]
    found = row[["n_needed", "n_needed_smaller"]].tolist()
    assert found == pytest.approx(np.ceil(needed).tolist(), abs=1)
    strict = row_of(before, before + gains, confidence_level=0.99)
    detectable = spread * TTestPower().solve_power(None, 40, 0.01, 0.8)
    assert strict["min_detectable_difference"] == pytest.approx(detectable, rel=1e-5)


def test_a_rounding_of_the_scores_is_a_tie_by_their_size():
    runs = run("a", latency_ms=[1e9, 5e8, 4.0]), run("b", latency_ms=[1e9 + 1e-4, 5e8 + 1.0, 4.0])
    assert compare(*runs).regressions("latency_ms").index.tolist() == ["q1"]


def test_queries_meet_by_a_text_and_metrics_by_their_meaning():
    a = run("a", mrr=[0.5, 0.25], question=["one?", "two?"])
    data = {"query_id": ["x", "y"], "reciprocal_rank": [1.0, 0.5], "question": ["two?", "one?"]}
    comparison = compare(a, RAGPipelineEvaluation("b", data), on="question")
    assert comparison.differences("reciprocal_rank").to_dict() == {"q0": 0.0, "q1": 0.75}


# -- gates

OF = run(
    "v1",
    faithfulness=[0.9, 0.2, 0.6, NAN, 1.0, 0.4, 0.7, 0.8, NAN, 0.4],
    latency_ms=np.arange(100.0, 1001.0, 100.0),
    exact_match=[1, 0, 1, 1, 1, 0, 1, 1, 1, 0],
)


@pytest.mark.parametrize(
    ("figure", "value", "options"),
    [
        ("p25(faithfulness)", 0.4, {}),
        ("p97.5(latency_ms)", 977.5, {}),
        ("min(faithfulness)", 0.2, {}),
        ("max(latency_ms)", 1000.0, {}),
        ("std(faithfulness)", scipy.stats.tstd([0.9, 0.2, 0.6, 1.0, 0.4, 0.7, 0.8, 0.4]), {}),
        ("share_below(faithfulness, threshold = 60%)", 3 / 8, {}),
        (" share_above ( metric=faithfulness,\n+8e-1 ) ", 2 / 8, {}),
        ("MEAN(Faithfulness)", 5.0 / 8, {}),
        ("mean(faithfulness)", 0.5, {"missing": "worst"}),
        ("correct", 0.7, {}),
    ],
)
def test_a_figure_is_what_arithmetic_says(figure, value, options):
    assert OF.gate(f"{figure} >= 0", **options).frame["value"][0] == pytest.approx(value)


def test_strict_claims_count_whole_losses_by_clopper_pearson():
    # 1 of 200 answers is lost: the limit of the share of losses decides.
    before, after = np.ones(200), np.repeat([0.0, 1.0], [1, 199])
    low = scipy.stats.beta(199, 2).ppf(0.05) - 1
    runs = run("a", exact_match=before), run("b", exact_match=after)
    frame = (
        compare(*runs, margin_method="strict")
        .gate(*(f"no_regression(exact_match, margin={-low + step})" for step in (1e-4, -1e-4)))
        .frame
    )
    assert frame["ci_low"].tolist() == pytest.approx([low, low], rel=1e-9)
    assert (frame["pvalue"] <= 0.05).tolist() == [True, False]
    same = compare(run("a", recall=BEFORE[:10]), run("b", recall=BEFORE[:10]))
    claim = same.gate("no_regression(recall, margin=0.05)").frame.iloc[0]
    assert claim["ci_low"] == pytest.approx(0.05**0.1 - 1, rel=1e-9)  # Gaffke's of ten zeros


@pytest.mark.parametrize("metric", ["faithfulness", "hallucination"])
def test_a_claim_is_the_equivalence_test_by_the_direction(metric):
    sides = (BEFORE, AFTER) if metric == "faithfulness" else (1 - BEFORE, 1 - AFTER)
    comparison = compare(*(run(name, **{metric: s}) for name, s in zip("ab", sides, strict=True)))
    rule = f"no_regression({metric}, margin=0.1, margin_method=strict)"
    found = comparison.gate(rule).frame.iloc[0]
    options = {"alternative": "non-inferior", "method": "strict", "bounds": (0, 1)}
    assert found["pvalue"] == pytest.approx(equivalence_test(BEFORE, AFTER, 0.1, **options).pvalue)


# -- rankings and weighted scores


def test_the_interval_of_a_weighted_score_is_that_of_clusters():
    runs = run("a", recall=BEFORE), run("b", recall=AFTER)
    weighted = rank(*runs, clusters=CLUSTERS, n_resamples=99).weighted({"recall": 1.0}).frame
    student = mean_interval(BEFORE.reshape(N, SIZE).mean(axis=1), method="t")
    row = weighted.set_index("pipeline").loc["a"]
    assert ends(row) == pytest.approx((student.low, student.high), abs=0.002)


# Expanded percentiles: t with n - 1 degrees of freedom times sqrt(n / (n - 1)) is 2.0485 for 40
# queries, of which the normal distribution has 0.020258 beyond; for 150 1.98263 and 0.023704.
@pytest.mark.parametrize(
    ("text", "quantile", "n", "tail"), [("median", 0.5, 40, 0.020258), ("p95", 0.95, 150, 0.023704)]
)
def test_the_interval_of_a_percentile_is_of_the_resamples_of_scipy(text, quantile, n, tail):
    rng = np.random.default_rng(1)
    before, after = 400 * np.exp(rng.normal(0, 0.4, (2, n))) - [[0], [150]]
    runs = run("slow", latency_ms=before), run("fast", latency_ms=after)
    told = {"time": f"{text}(latency_ms), worst=1000, best=0"}
    weighted = rank(*runs).weighted(objectives=told)
    row = weighted.frame.set_index("pipeline").loc["slow"]

    def share(latencies, axis=-1):
        return np.clip(1 - np.quantile(latencies, quantile, axis=axis) / 1000, 0, 1)

    options = {"confidence_level": 1 - 2 * tail, "method": "percentile"}
    drawn = scipy.stats.bootstrap((before,), share, n_resamples=9999, rng=rng, **options)
    assert row["score"] == pytest.approx(share(before))
    assert ends(row) == pytest.approx(tuple(drawn.confidence_interval), abs=0.012)
    assert any("paired bootstrap" in note for note in weighted.notes)


def test_missing_scores_weigh_the_others_more():
    gaps = np.where(np.arange(N * SIZE) < 10, NAN, 1.0)
    runs = [
        run(name, faithfulness=x, **{"recall@5": gaps * x})
        for name, x in (("a", BEFORE), ("b", AFTER))
    ]
    scores = rank(*runs, n_resamples=99).weighted({"faithfulness": 2, "recall@5": 1})
    by_hand = {
        name: (2 * x.mean() + x[10:].mean()) / 3 for name, x in (("a", BEFORE), ("b", AFTER))
    }
    assert scores.frame.set_index("pipeline")["score"].to_dict() == pytest.approx(by_hand)
    dear, cheap = run("dear", cost_usd=np.linspace(0.05, 0.25, 20)), np.linspace(0.0, 0.05, 20)
    scores = rank(dear, run("cheap", cost_usd=cheap)).weighted({"cost": 1}).frame["score"]
    assert scores.tolist() == pytest.approx([1 - 0.025 / 0.1, 0.0])  # dear has 0, not less


def test_a_front_by_hand():
    """Dear is best, cheap is cheapest, waste is worse than dear on quality and dearer still."""
    shops = {"dear": (0.9, 0.02, 900.0), "cheap": (0.6, 0.01, 500.0), "waste": (0.7, 0.03, 900.0)}
    runs = [
        run(n, faithfulness=[q, q - 0.1] * 6, cost_usd=[cost] * 12, latency_ms=[time] * 12)
        for n, (q, cost, time) in shops.items()
    ]
    front = rank(*runs).pareto()
    rows = front.frame.set_index("pipeline")
    assert front.front == ("dear", "cheap")
    assert rows.loc["waste", "dominated_by"] == "dear"
    assert rows["probability_on_front"].to_dict() == {"dear": 1.0, "cheap": 1.0, "waste": 0.0}


# -- one pipeline, slices, histories


def test_clusters_have_the_interval_of_cr2_in_reports_slices_gates_rankings_and_histories():
    old, new = (
        run(name, document=DOCUMENTS, topic=["law", "tax"] * 18, recall=x, latency_ms=1000 * x)
        for name, x in (("old", BEFORE), ("new", AFTER))
    )
    known = {"clusters": "document"}
    by_t = old.evaluation_report(interval="t", **known).frame.iloc[0]
    free = clustered_interval(BEFORE, DOCUMENTS)
    assert ends(by_t) == (free.low, free.high)
    law = clustered_interval(BEFORE[::2], DOCUMENTS[::2], bounds=(0, 1))
    assert old.slices("topic", "recall", **known).frame["ci_low"][0] == law.low
    time = clustered_interval(1000 * BEFORE, DOCUMENTS)
    assert old.gate("ci_high(latency_ms) <= 1000", **known).frame["value"][0] == time.high
    board = rank(old, new, metrics="latency_ms", **known).frame.set_index("pipeline")
    assert board.loc["old", "ci_low"] == pytest.approx(time.low)
    rows = history([old, new], **known).frame.set_index(["run", "metric"]).loc["new"]
    told = compare(old, new, correction="none", **known).frame.set_index("metric")
    assert rows["change_pvalue"].to_dict() == pytest.approx(told["pvalue"].to_dict())
    assert rows["change_ci_low"].to_dict() == pytest.approx(told["ci_low"].to_dict())


def test_the_tests_of_a_history_are_one_family_each_counted_once(rng):
    shifts = [0.0, 0.01, 0.0, 0.05, 0.03]
    runs = [run(f"r{i}", recall=AFTER + x + rng.normal(0, 0.03, 36)) for i, x in enumerate(shifts)]
    frame = history(runs).frame
    # The second against the first is both a step and a difference, and one test.
    raw, adjusted = (
        pd.concat([frame[f"change_{name}"].iloc[1:], frame[f"difference_{name}"].iloc[2:]])
        for name in ("pvalue", "pvalue_adjusted")
    )
    assert adjusted.tolist() == pytest.approx(multipletests(raw, method="holm")[1].tolist())
    assert len(raw) == 7


def test_the_median_of_scores_in_percent_and_of_spending_have_their_limits():
    shares = [0.61, 0.66, 0.58, 0.63, 0.7, 0.64]
    percent = [61.0, 66.0, 58.0, 63.0, 70.0, 64.0]
    frame = run("a", recall=shares, faithfulness=percent, sas=shares).evaluation_report().frame
    rows = frame.set_index("metric")
    assert ends(rows.loc["faithfulness"]) == pytest.approx(
        [100 * x for x in ends(rows.loc["recall"])]
    )
    assert rows["ci_method"].to_dict() == {
        "recall": "gaffke",
        "sas": "studentised",
        "faithfulness": "gaffke",
    }
    spent = run("a", cost_usd=[0.01, 0.02, 0.5], latency_ms=[528, 546, 1659]).evaluation_report()
    assert spent.frame["ci_low"].tolist() == [0.0, 0.0]


# -- judges and people


def figures(calibration, part):
    return calibration.frame[calibration.frame["part"] == part].set_index("figure")


def test_several_raters_show_how_far_people_agree():
    table = np.array([[1, 1, 1], [1, 0, 1], [0, 0, 0], [1, 1, 0], [0, 0, NAN]])
    people = pd.DataFrame(table, columns=list("abc"), index=[f"q{i}" for i in range(5)])
    found = calibrate(run("a", faithfulness=[1, 1, 0, 1, 1]), "faithfulness", people)
    told = figures(found, "people with each other")
    shares = [1, 1 / 3, 1, 1 / 3, 1]
    assert told.loc["percent agreement", "estimate"] == pytest.approx(np.mean(shares))
    # Of the four queries with three labels: mean agreement 2/3, shares 7/12 and 5/12.
    chance = (7 / 12) ** 2 + (5 / 12) ** 2
    assert told.loc["Fleiss' kappa", "estimate"] == pytest.approx((2 / 3 - chance) / (1 - chance))
    joined = krippendorff_alpha(np.column_stack([table, [1, 1, 0, 1, 1]]))
    assert told.loc["alpha, the judge as one more", "estimate"] == joined.estimate
    steps = pd.DataFrame([[1, 2, 4], [2, 3, NAN], [3, 3, 4.0]], index=["q0", "q1", "q2"])
    said = calibrate(run("a", grade=[1, 2, 3]), "grade", steps, n_resamples=1).pairs
    np.testing.assert_array_equal(said["people_category"], [2, NAN, 3])  # medians; none at 2.5


def test_bias_and_the_worth_of_labels_by_hand(rng):
    judge = [1.0] * 30 + [0.0] * 10
    people = {"q0": 1.0, "q1": 1, "q2": 0, "q3": 1, "q30": 0, "q31": 1, "q32": 0, "q33": 0}
    found = calibrate(run("a", faithfulness=judge), "faithfulness", people)
    told = paired_interval([1, 1, 0, 1, 0, 1, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0])
    row = figures(found, "bias").loc["judge minus people"]
    assert (row["estimate"], row["ci_low"]) == pytest.approx((0.0, told.low))
    truth = (rng.random(2000) < 0.7).astype(float)
    judged = np.where(rng.random(2000) < 0.96, truth, 1 - truth)
    labels = pd.Series(truth[:200], index=[f"q{i}" for i in range(200)])
    means = calibrate(run("a", faithfulness=judged), "faithfulness", labels).means
    alone = np.std(truth[:200], ddof=1) / math.sqrt(200)
    assert means.labels_worth == pytest.approx(200 * (alone / means.corrected.standard_error) ** 2)


# -- plans and repeats


def test_a_plan_by_a_published_deviation_and_by_clusters():
    row = plan(mean=3.9, sd=0.8, differences=0.2, correlation=0.5).frame.iloc[0]
    assert row["n_needed"] == PlannedTest(0.8).needed(0.2)
    baseline = run("a", recall=BEFORE, document=DOCUMENTS)
    row = plan(baseline, differences=0.05, correlation=0.5, clusters="document").frame.iloc[0]
    known = ClusterVariance.of(BEFORE, DOCUMENTS)
    # With a correlation of a half the differences vary as the scores do.
    test = known.planned_test(BEFORE.var(ddof=1), known.share_between)
    assert row["n_clusters_needed"] == test.needed(0.05)
    assert (row["n_needed"], row["n_clusters"]) == (SIZE * row["n_clusters_needed"], N)
    assert row["power"] == pytest.approx(test.power(0.05, N))
    assert row["n_no_regression"] == SIZE * test.needed_for_margin(0.05)


@pytest.mark.parametrize("within", [0.05, 0.2, 0.4])
def test_so_many_repeats_reach_the_tolerance_and_one_fewer_does_not(rng, within):
    skill = rng.normal(5, 0.3, 300)
    result = repeats(*(run("a", rating=skill + rng.normal(0, within, 300)) for _ in range(3)))
    worth, parts = int(result.frame["n_repeats"][0]), result.components["rating"]
    floor = math.sqrt(parts.between / parts.n)
    errors = [parts.standard_error(m) for m in (worth, max(worth - 1, 1))]
    assert errors[0] / floor - 1 <= 0.05 + 1e-9
    assert worth == 1 or errors[1] / floor - 1 > 0.05
