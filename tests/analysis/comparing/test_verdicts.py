"""The sentence of each row, word by word; counts by statsmodels 0.15, bounds by hand."""

import math
import re

import numpy as np
import pytest
import scipy.stats
from statsmodels.stats.power import TTestPower

from rageval_report import RAGPipelineEvaluation, compare
from rageval_report.stats import paired_interval


def verdict_of(before, after, name="recall", bounds=None, **options):
    ids = [f"q{i}" for i in range(len(before))]
    known = None if bounds is None else {name: {"bounds": bounds}}
    a = RAGPipelineEvaluation("a", {"query_id": ids, name: before}, metrics=known)
    b = RAGPipelineEvaluation("b", {"query_id": ids, name: after}, metrics=known)
    return compare(a, b, **options).sentences[0]


def rounded_up(n):
    digits = max(0, len(str(math.ceil(n))) - 2)
    return math.ceil(n / 10**digits) * 10**digits


def test_a_gain_of_a_score_is_better_and_a_loss_is_worse():
    rng = np.random.default_rng(0)
    low = rng.uniform(0.1, 0.5, 30)
    high = low + rng.uniform(0.1, 0.3, 30)
    t = scipy.stats.ttest_rel(high, low).confidence_interval(0.95)
    size = (high - low).mean()
    ends = f"(95 % CI {t.low:.3f} to {t.high:.3f}), p < 0.001, 30 paired queries"
    assert verdict_of(low, high, test="t") == f"b is better on recall by {size:.3f} {ends}"
    assert verdict_of(high, low, test="t") == f"b is worse on recall by {size:.3f} {ends}"


def test_a_gain_of_a_latency_is_worse():
    rng = np.random.default_rng(0)
    low = rng.uniform(10, 50, 30)
    high = low + rng.uniform(10, 30, 30)
    assert verdict_of(low, high, "latency_ms").startswith("b is worse on latency_ms by ")
    assert verdict_of(high, low, "latency_ms").startswith("b is better on latency_ms by ")


def test_six_queries_are_enough_for_a_test_and_five_are_not():
    before, after = [0.1] * 6, [0.2, 0.3, 0.45, 0.5, 0.66, 0.7]
    assert verdict_of(before, after).startswith("b is better on recall by ")
    few = verdict_of(before[:5], after[:5])
    assert few == "too few queries for a test on recall: 5 in common, at least 6 are needed"


def test_six_queries_that_show_nothing_are_not_too_few():
    before, after = [0.1, 0.5, 0.3, 0.7, 0.4, 0.6], [0.2, 0.3, 0.45, 0.5, 0.66, 0.7]
    assert verdict_of(before, after).startswith("no difference shown on recall; 6 queries can ")


def test_few_queries_show_no_difference_by_another_test_either():
    before, after = [0.1, 0.2, 0.3, 0.4], [0.6, 0.71, 0.8, 0.9]
    assert verdict_of(before, after, test="t").startswith("too few queries for a test on recall")


def noise(n=40, spread=0.15, shift=0.0):
    """Scores before and after, whose differences have this spread and mean."""
    rng = np.random.default_rng(4)
    before = rng.uniform(0.4, 0.6, n)
    differences = rng.uniform(-1, 1, n)
    differences -= differences.mean()
    return before, before + shift + spread * differences / differences.std(ddof=1)


def needed_by_statsmodels(size, spread=0.15, alpha=0.05):
    return rounded_up(TTestPower().solve_power(size / spread, None, alpha, 0.8))


def test_never_fewer_are_needed_than_a_test_takes():
    before, after = noise(12)
    assert math.ceil(TTestPower().solve_power(0.3 / 0.15, None, 0.05, 0.8)) < 6
    ids = [f"q{i}" for i in range(12)]
    runs = [
        RAGPipelineEvaluation(name, {"query_id": ids, "recall": scores})
        for name, scores in (("a", before), ("b", after))
    ]
    assert compare(*runs, margin=0.3).frame["n_needed"].tolist() == [6]
    frame = compare(*runs, margin=0.3, confidence_level=0.99).frame
    assert frame["n_needed"].tolist() == [8]


@pytest.mark.parametrize("shift", [0.02, -0.005, 0.0])
def test_the_queries_that_useful_differences_need_do_not_depend_on_the_observed_one(shift):
    counts = [needed_by_statsmodels(size) for size in (0.05, 0.02)]
    assert counts[0] > 40
    verdict = verdict_of(*noise(shift=shift))
    assert verdict.endswith(
        f"; to detect 0.050, ask about {counts[0]} queries, for 0.020 about {counts[1]}"
    )


def test_useful_differences_are_shares_of_the_range_of_a_metric():
    before, after = noise()
    verdict = verdict_of(1 + 4 * before, 1 + 4 * after, "context_relevancy_rating", bounds=(1, 5))
    assert "; to detect 0.200, ask about " in verdict
    assert ", for 0.080 about " in verdict


def test_useful_differences_of_a_metric_without_bounds_are_shares_of_its_mean():
    before, after = noise()
    verdict = verdict_of(1000 * before / before.mean(), 1000 * after / before.mean(), "latency_ms")
    assert "; to detect 50.0, ask about " in verdict
    assert ", for 20.0 about " in verdict


def test_a_size_that_as_many_queries_show_is_not_named():
    verdict = verdict_of(*noise(n=200))  # 5 % needs 73 of them, 2 % needs 440
    assert f"; to detect 0.020, ask about {needed_by_statsmodels(0.02)} queries" in verdict
    assert "0.050" not in verdict
    assert "to detect" not in verdict_of(*noise(n=500))


def test_the_margin_is_the_size_that_matters():
    verdict = verdict_of(*noise(), margin=0.03)
    assert f"; to detect 0.030, ask about {needed_by_statsmodels(0.03)} queries; " in verdict
    assert "0.050" not in verdict


def test_what_would_show_and_what_is_needed_go_by_the_level_that_the_correction_leaves():
    before, after = noise()
    gain = np.linspace(0.1, 0.2, 40)
    ids = [f"q{i}" for i in range(40)]
    unclear = {f"m{i}": before for i in range(3)}
    a = RAGPipelineEvaluation("a", {"query_id": ids, "recall": before, **unclear})
    changed = dict.fromkeys(unclear, after[::-1])
    b = RAGPipelineEvaluation("b", {"query_id": ids, "recall": before + gain, **changed})
    comparison = compare(a, b, metrics=["recall", *unclear])
    frame = comparison.frame
    assert frame["pvalue_adjusted"].iloc[0] < 0.05
    # One of four tests is shown, so three share the error rate.
    assert frame["level_left"].tolist() == pytest.approx([0.05 / 3] * 4)
    differences = after[::-1] - before
    spread = differences.std(ddof=1)
    detectable = spread * TTestPower().solve_power(None, 40, 0.05 / 3, 0.8)
    assert frame["min_detectable_difference"].iloc[1] == pytest.approx(detectable, rel=1e-6)
    verdict = comparison.sentences[1]
    assert f"can detect only differences above about {detectable:.3f}" in verdict
    count = needed_by_statsmodels(0.05, spread, 0.05 / 3)
    assert f"; to detect 0.050, ask about {count} queries, " in verdict
    single = compare(a, b, metrics=["m0"]).frame.iloc[0]
    assert single["n_needed"] < frame["n_needed"].iloc[1]


def test_six_queries_that_cannot_be_significant_after_the_correction_say_so():
    gains = [0.11, 0.12, 0.17, 0.23, 0.29, 0.31]
    ids = [f"q{i}" for i in range(6)]
    data = {f"m{i}": [0.1, 0.2, 0.35, 0.4, 0.53, 0.6] for i in range(4)}
    a = RAGPipelineEvaluation("a", {"query_id": ids, **data})
    after = {name: np.add(data["m0"], np.roll(gains, i)) for i, name in enumerate(data)}
    b = RAGPipelineEvaluation("b", {"query_id": ids, **after})
    comparison = compare(a, b, test="sign-flip", metrics=[*data])
    frame = comparison.frame
    assert frame["pvalue"].tolist() == [2 / 2**6] * 4  # 4 times as much after correction
    assert np.isinf(frame["min_detectable_difference"]).all()
    told = comparison.sentences[0]
    assert "; 6 queries cannot detect any difference after correction; to detect " in told
    # 2**(1 - n) is at most 0.05 / 4 from 8 queries on.
    assert (frame["n_needed"] >= 8).all()


def test_a_difference_beyond_the_range_is_not_promised():
    before = [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.5]
    after = [1.0, 0.0, 1.0, 0.0, 0.9, 0.2, 0.5]
    verdict = verdict_of(before, after)
    assert verdict.startswith(
        "no difference shown on recall; 7 queries can detect hardly any difference"
    )


def test_a_smaller_difference_than_the_one_that_is_not_shown_is_not_promised():
    gains = np.array([0.41, 0.43, 0.47, 0.52, 0.39, -0.011])  # p = 4/64
    verdict = verdict_of(np.full(6, 0.2), 0.2 + gains)
    # By the spread of the gains 0.34 would show, but 0.37 did not.
    assert verdict.startswith("no difference shown on recall; to detect ")


def test_more_than_a_million_queries_are_not_counted():
    verdict = verdict_of(*noise(), margin=1e-5)
    assert "; to detect 1e-05, ask over a million queries; " in verdict
    assert "ask over a million queries; " in verdict_of(*noise(), margin=1e-9)


@pytest.mark.parametrize(("share", "is_named"), [(0.9, True), (1.1, False), (1.9, False)])
def test_queries_are_counted_up_to_a_million(share, is_named):
    before = np.full(40, 0.5)
    differences = np.tile([0.125, -0.125], 20)
    # About (1.960 + 0.842)**2 / d**2 queries show d, in standard deviations.
    margin = differences.std(ddof=1) * 2.8016 / math.sqrt(share * 1e6)
    verdict = verdict_of(before, before + differences, margin=margin)
    assert ("over a million" in verdict) != is_named
    assert ("about 900000 qu" in verdict or "about 910000 qu" in verdict) == is_named


@pytest.mark.parametrize("seed", range(3))
def test_no_undecided_test_on_public_scores_needs_as_many_queries_as_it_has(real_data, seed):
    runs = [
        RAGPipelineEvaluation.load(path.stem.split("__", 1)[1], path)
        for path in sorted(real_data("haystack_aragog").glob("detailed_*.csv"))
    ]
    first, *others = np.random.default_rng(seed).permutation(len(runs)).tolist()
    comparison = compare(runs[first], *(runs[i] for i in others))
    frame = comparison.frame.assign(sentence=comparison.sentences)
    undecided = frame[frame["pvalue_adjusted"] > 0.05]
    assert len(undecided) >= 4
    assert (undecided["n_needed_smaller"] > undecided["n"]).all()
    for n, verdict in zip(undecided["n"], undecided["sentence"], strict=True):
        counts = [int(count) for count in re.findall(r"(?:ask|0\.\d+) about (\d+)", verdict)]
        assert counts
        assert min(counts) > n
    seen = undecided["difference"].abs()
    assert (undecided["min_detectable_difference"] > seen).all()


def corrected(gains, others, correction="bonferroni", **options):
    """The verdict of nine queries of which some gain, beside other metrics that gain nothing."""
    n = 20
    columns = {f"m{i}": [0.5] * (n - 1) + [0.4] for i in range(others)}
    swapped = {name: [0.5] * (n - 2) + [0.4, 0.5] for name in columns}
    ids = [f"q{i}" for i in range(n)]
    before, after = [0] * gains + [1] * (n - gains), [1] * n
    a = RAGPipelineEvaluation("a", {"query_id": ids, "exact_match": before, **columns})
    b = RAGPipelineEvaluation("b", {"query_id": ids, "exact_match": after, **swapped})
    names = ["exact_match", *columns]
    return compare(a, b, metrics=names, correction=correction, **options).sentences[0]


def test_what_the_correction_took_away_is_said():
    # Six gains: mid-p 2**-6 = 0.0156, times 4 = 0.0625
    verdict = corrected(6, 3)
    start = "no difference shown on exact_match: not significant after correcting for 4 tests "
    assert verdict.startswith(start + "(p = 0.016, Bonferroni-adjusted p = 0.062); 20 queries")


def test_the_correction_is_named_where_it_had_something_to_correct():
    assert "Holm-adjusted p = 0.0039" in corrected(9, 1, correction="holm")  # 2**-9 times 2
    assert ", p = 0.002, 20 paired" in corrected(9, 0, correction="holm")
    assert ", uncorrected p = 0.002, 20 paired" in corrected(9, 0, correction="none")


# -- equivalence


def near(n=200, spread=0.02, shift=0.0):
    rng = np.random.default_rng(9)
    before = rng.uniform(0.3, 0.6, n)
    differences = rng.normal(0, spread, n)
    return before, before + differences - differences.mean() + shift


def test_equivalence_says_its_margin_its_interval_and_its_p():
    before, after = near()
    # 200 normal differences: the t interval of scipy 1.17.1 has the same three digits.
    t = scipy.stats.ttest_rel(after, before).confidence_interval(0.9)
    low, high = (f"{value:.3f}" for value in (t.low, t.high))
    found = verdict_of(before, after, margin=0.01)
    assert found == (
        f"b and a are equivalent on recall within ±0.010 (90 % CI {low} to {high}, "
        "equivalence p < 0.001)"
    )


def test_equivalence_without_any_loss_says_that_rare_losses_could_hide():
    before = np.linspace(0.3, 0.6, 200)
    found = verdict_of(before, before + np.tile([0.001, 0.0, 0.002, 0.001], 50), margin=0.01)
    share = 100 * (1 - 0.05 ** (1 / 200))  # none of 200 queries lost 1
    assert found.endswith(
        f"rare large losses could hide: up to {share:.1f} % of queries could lose 1 without one "
        'among these 200; the method "strict" counts such losses'
    )


def test_the_level_of_the_interval_of_equivalence_follows_the_level():
    assert "(98 % CI " in verdict_of(*near(), margin=0.01, confidence_level=0.99)


def test_a_difference_that_is_shown_and_small_is_both():
    found = verdict_of(*near(shift=0.005), margin=0.02)
    assert found.startswith("b is better on recall by 0.005 ")
    assert found.endswith(", but by less than the margin of 0.020")


def test_a_difference_that_is_shown_and_large_is_not_called_small():
    found = verdict_of(*near(shift=0.05), margin=0.02)
    assert found.startswith("b is better on recall by 0.050 ")
    assert found.endswith(", by more than the margin of 0.020")
    worse = verdict_of(*near(shift=0.05)[::-1], margin=0.02)
    assert worse.startswith("b is worse on recall by 0.050 ")
    assert worse.endswith(", by more than the margin of 0.020")


def test_beyond_the_margin_is_said_by_the_interval_that_is_shown():
    before, after = near(shift=0.0195, spread=0.03)
    limits = paired_interval(before, after, confidence_level=0.95)
    between = (limits.low + paired_interval(before, after, confidence_level=0.9).low) / 2
    assert "margin" not in verdict_of(before, after, margin=between)
    assert "by more than the margin" in verdict_of(before, after, margin=limits.low - 1e-4)


def test_a_difference_that_may_be_smaller_than_the_margin_says_nothing_of_it():
    before, after = near(shift=0.02, spread=0.03)
    found = verdict_of(before, after, margin=0.02)
    assert found.startswith("b is better on recall by 0.0")
    assert "margin" not in found


def test_equivalence_that_the_correction_took_away_is_said():
    before, after = near(n=60, spread=0.04)
    ids = [f"q{i}" for i in range(60)]
    noise = np.random.default_rng(3).normal(0, 0.2, (3, 60))
    others = {f"m{i}": np.clip(before + row, 0, 1) for i, row in enumerate(noise)}
    same = dict.fromkeys(others, before)
    a = RAGPipelineEvaluation("a", {"query_id": ids, "recall": before, **same})
    b = RAGPipelineEvaluation("b", {"query_id": ids, "recall": after, **others})
    margin = 0.011
    alone = compare(a, b, metrics="recall", margin=margin)
    single = alone.frame.iloc[0]
    p = single["equivalence_pvalue_adjusted"]
    standard_error = (after - before).std(ddof=1) / math.sqrt(60)
    by_t = scipy.stats.t.sf(margin / standard_error, 59)  # the mean difference is zero
    assert p == pytest.approx(by_t, abs=0.004)
    assert "are equivalent" in alone.sentences[0]
    assert single["verdict"] == "equivalent"
    names = ["recall", *others]
    verdict = compare(a, b, metrics=names, margin=margin, correction="bonferroni").sentences[0]
    assert "; not shown to lie within ±0.011 after correction (90 % CI " in verdict
    assert verdict.endswith(f", equivalence p = {4 * p:.2g})")


# -- identity, clusters and candidates


def test_identical_scores_are_said_with_their_number():
    assert verdict_of([0.5, 0.25], [0.5, 0.25]) == (
        "b and a are identical on recall: equal scores on all 2 paired queries"
    )


@pytest.mark.parametrize("after", [[0.5, 0.5], [0.5, 0.25 - 0.1]])
def test_one_query_that_differs_is_not_identical(after):
    assert "identical" not in verdict_of([0.5, 0.25], after)


def test_no_pair_is_not_compared():
    assert verdict_of([0.5, None], [None, 0.25]) == (
        "not compared on recall: no query is scored in both runs"
    )


def test_clusters_are_counted_as_clusters():
    rng = np.random.default_rng(0)
    before = rng.uniform(0.1, 0.4, 24)
    clusters = {f"q{i}": i // 3 for i in range(24)}
    shown = verdict_of(before, before + rng.uniform(0.1, 0.3, 24), clusters=clusters)
    assert ", 8 clusters" in shown
    unseen = verdict_of(before, before + rng.uniform(-0.1, 0.1, 24), clusters=clusters)
    assert "; 8 clusters can detect only differences" in unseen


def test_a_sentence_that_names_no_candidate_is_told_whose_it_is():
    ids = [f"q{i}" for i in range(6)]
    runs = [
        RAGPipelineEvaluation(name, {"query_id": ids, "recall": values})
        for name, values in {
            "base": [0.1, 0.5, 0.3, 0.7, 0.4, 0.6],
            "one": [0.2, 0.3, 0.45, 0.5, 0.66, 0.7],
            "two": [0.1, 0.5, 0.3, 0.7, 0.4, 0.6],
        }.items()
    ]
    both = compare(*runs).sentences
    assert both[0].startswith("one: no difference shown on recall")
    assert both[1].startswith("two and base are identical")
    assert compare(*runs[:2]).sentences[0].startswith("no difference shown")
