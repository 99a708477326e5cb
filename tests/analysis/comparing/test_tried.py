"""The best of several variants. Witnesses: SciPy's tests, Bonferroni by hand, simulation."""

import math

import numpy as np
import pytest
import scipy.stats

from rageval_report import RAGPipelineEvaluation, compare, rank
from rageval_report.errors import DataError
from rageval_report.stats import adjust_pvalues, paired_interval


def run(name, **columns):
    n = len(next(iter(columns.values())))
    return RAGPipelineEvaluation(name, {"query_id": [f"q{i}" for i in range(n)], **columns})


@pytest.fixture
def two():
    rng = np.random.default_rng(6)
    before = rng.uniform(0.2, 0.6, (40, 3))
    after = before + rng.normal([0.10, 0.07, 0.0], 0.15, (40, 3))
    names = ("recall", "faithfulness", "mrr")
    sides = (np.clip(side, 0, 1) for side in (before, after))
    return [
        run(name, **dict(zip(names, side.T, strict=True)))
        for name, side in zip("ab", sides, strict=True)
    ]


def equal_in_all_but_text(one, other):
    numbers = [name for name in other.frame.columns if other.frame[name].dtype.kind in "fib"]
    return one.frame[numbers].equals(other.frame[numbers])


def test_one_variant_changes_nothing(two):
    plain, single = compare(*two), compare(*two, tried=1)
    assert single.frame.equals(plain.frame)
    assert single.settings == plain.settings
    assert single.notes == plain.notes
    ranking, with_one = rank(*two), rank(*two, tried=1)
    assert with_one.frame.equals(ranking.frame)
    assert with_one.notes == ranking.notes
    assert with_one.settings == ranking.settings


def test_pvalues_are_multiplied_after_the_correction_for_the_metrics(two):
    plain, best = compare(*two), compare(*two, tried=5)
    expected = np.minimum(1, 5 * adjust_pvalues(plain.frame["pvalue"], "holm"))
    assert best.frame["pvalue_adjusted"].tolist() == pytest.approx(expected.tolist())
    assert best.frame["pvalue"].tolist() == plain.frame["pvalue"].tolist()
    assert best.settings["tried"] == 5


def test_intervals_have_the_error_rate_over_the_number_of_variants(two):
    best = compare(*two, tried=5).frame.iloc[0]
    sides = [evaluation.scores["recall"] for evaluation in two]
    interval = paired_interval(*sides, confidence_level=0.99)
    assert (best["ci_low"], best["ci_high"]) == pytest.approx((interval.low, interval.high))
    by_t = compare(*two, tried=5, test="t").frame.iloc[0]
    limits = scipy.stats.ttest_rel(*reversed(sides)).confidence_interval(0.99)
    assert (by_t["ci_low"], by_t["ci_high"]) == pytest.approx((limits.low, limits.high))


@pytest.mark.parametrize("correction", ["holm", "none", "bh", "westfall-young"])
def test_the_interval_and_the_pvalue_of_one_metric_agree(two, correction):
    best = compare(*two, tried=20, metrics="recall", correction=correction).frame.iloc[0]
    assert (best["ci_low"] > 0) == (best["pvalue_adjusted"] <= 0.05)


def test_the_verdict_says_what_noise_gives_to_the_best(two):
    comparison = compare(*two, tried=20)
    frame = comparison.frame
    differences = two[1].scores["recall"] - two[0].scores["recall"]
    error = differences.std(ddof=1) / math.sqrt(40)
    assert frame["gain_of_noise"].iloc[0] == pytest.approx(1.86748 * error, rel=1e-4)
    ending = (
        "; corrected for the choice of the best of 20 variants; by luck alone it would gain "
        f"{1.86748 * error:.3f}"
    )
    assert ending in comparison.sentences[0]
    assert "gain_of_noise" not in compare(*two).frame


def test_a_loss_is_not_lifted_by_noise(two):
    baseline, candidate = two
    verdict = compare(candidate, baseline, tried=20).sentences[0]
    assert verdict.endswith("; corrected for the choice of the best of 20 variants")


def test_what_would_show_goes_by_the_level_of_one_variant(two):
    plain, best = compare(*two).frame.iloc[2], compare(*two, tried=20).frame.iloc[2]
    shown = int((compare(*two, tried=20).frame["pvalue_adjusted"] <= 0.05).sum())
    assert best["level_left"] == pytest.approx(0.05 / 20 / (3 - shown))
    assert best["n_needed"] > plain["n_needed"]
    assert best["min_detectable_difference"] > plain["min_detectable_difference"]


def test_more_queries_are_needed_for_a_test_of_the_best_of_many():
    # 2**(1 - 9) is above 0.05 / 20.
    before = np.linspace(0.1, 0.5, 9)
    sides = (run("a", recall=before), run("b", recall=before + np.linspace(0.1, 0.2, 9)))
    assert compare(*sides, test="sign-flip").frame["pvalue_adjusted"].iloc[0] == 2**-8
    told = compare(*sides, tried=20).sentences[0]
    assert "9 in common, at least 10 are needed" in told


def test_equivalence_of_the_best_is_corrected_too(two):
    plain, best = (compare(*two, tried=k, margin=0.2).frame for k in (1, 10))
    name = "equivalence_pvalue_adjusted"
    expected = np.minimum(1, 10 * plain[name])
    assert best[name].tolist() == pytest.approx(expected.tolist())
    assert (plain[name] <= 0.05).any()


def test_a_gate_on_the_best_is_stricter(two):
    rule = "no_regression(recall, margin=0.02)"
    plain, best = (compare(*two, tried=k).gate(rule).frame.iloc[0] for k in (1, 20))
    assert best["ci_low"] < plain["ci_low"]


def test_if_all_that_were_tried_are_compared_nothing_is_added(two):
    third = run("c", **{name: two[1].scores[name][::-1].to_numpy() for name in two[1].scores})
    assert compare(*two, third, tried=2).frame.equals(compare(*two, third).frame)
    some = compare(*two, third, tried=7).frame
    alone = compare(*two, tried=7).frame
    assert some["pvalue_adjusted"].iloc[:3].tolist() == alone["pvalue_adjusted"].tolist()


@pytest.mark.parametrize("tried", [0, -3])
def test_no_variant_at_all_is_refused(two, tried):
    with pytest.raises(DataError, match=f"tried must be an integer >= 1; got {tried}"):
        compare(*two, tried=tried)
    with pytest.raises(DataError, match=f"tried must be an integer >= 1; got {tried}"):
        rank(*two, tried=tried)


def best_of_equal_variants(rng, k, n=25):
    """A baseline, and the best of k variants that are as good on average."""
    easy = rng.uniform(0.3, 0.7, n)
    scores = np.clip(easy + rng.normal(0, 0.12, (k + 1, n)), 0, 1)
    best = 1 + scores[1:].mean(axis=1).argmax()
    return run("baseline", recall=scores[0]), run("best", recall=scores[best])


def test_of_twenty_equal_variants_the_best_is_claimed_in_at_most_one_of_twenty_cases():
    rng = np.random.default_rng(1)
    claims = []
    for _ in range(120):
        pair = best_of_equal_variants(rng, 20)
        claims.append(
            [compare(*pair, tried=k).frame["pvalue_adjusted"].iloc[0] <= 0.05 for k in (1, 20)]
        )
    alone, corrected = np.mean(claims, axis=0)
    assert alone > 0.12  # 19 % for 16 variants in a larger simulation
    assert corrected <= 0.05


# -- rank


def test_the_pairs_of_all_that_were_tried_are_counted(two):
    plain, best = rank(*two, correction="bonferroni"), rank(*two, correction="bonferroni", tried=5)
    # 5 pipelines have 10 pairs.
    expected = np.minimum(1, 10 * 3 * plain.pairs.frame["pvalue"])
    assert best.pairs.frame["pvalue_adjusted"].tolist() == pytest.approx(expected.tolist())
    assert best.settings["family_size"] == 30
    assert "30 pairs of all that were tried" in best.pairs.notes[0]
    assert any("adjusted for 30 tests of the 5 pipelines tried" in note for note in best.notes)


def test_a_step_down_correction_of_a_selection_rejects_no_more_than_that_of_all():
    rng = np.random.default_rng(8)
    runs = [run(f"p{i}", recall=rng.uniform(0.2, 0.6, 30) + 0.05 * i) for i in range(5)]
    everything, some = rank(*runs), rank(*runs[2:], tried=5)
    both = some.pairs.frame.merge(everything.pairs.frame, on=["baseline", "candidate"])
    assert len(both) == 3
    assert (both["pvalue_adjusted_x"] >= both["pvalue_adjusted_y"] - 1e-12).all()


def test_the_note_says_what_noise_gives_to_the_best_of_the_ranked():
    rng = np.random.default_rng(2)
    lifts, told = [], []
    for _ in range(40):
        scores = rng.normal(0, 0.1, 20) + rng.normal(0, 0.1, (8, 20)) + 0.5
        ranking = rank(
            *(run(f"p{i}", recall=np.clip(row, 0, 1).round(2)) for i, row in enumerate(scores))
        )
        lifts.append(ranking.frame["mean"].iloc[0] - ranking.frame["mean"].mean())
        told.append(ranking.frame["gain_of_noise"].iloc[0])
    # All are equal, so the best is better than the average by chance alone.
    assert np.mean(told) == pytest.approx(np.mean(lifts), rel=0.15)
    [note] = [note for note in ranking.notes if "too favourable" in note]
    lift = f"the best of 8 equal pipelines would look better by about {told[-1]:.3f} on recall"
    assert lift in note
    assert "chosen on these queries" in note
    assert "to compare it with a baseline, use tried=8 or new queries" in note


def test_two_pipelines_need_no_advice_on_the_choice(two):
    assert not any("needs tried" in note for note in rank(*two).notes)


def test_westfall_and_young_flip_no_pipeline_that_is_not_ranked(two):
    ranking = rank(*two, correction="westfall-young", tried=4)
    assert ranking.settings["correction"] == "holm"


# -- what is made of a comparison


def test_slices_of_the_best_are_corrected_for_the_choice(two):
    topics = ["easy", "hard"] * 20
    runs = [
        RAGPipelineEvaluation(
            one.name, {"query_id": list(one.scores.index), "topic": topics, **one.scores}
        )
        for one in two
    ]
    plain, best = (compare(*runs, tried=k).slices("topic").frame for k in (1, 4))
    expected = np.minimum(1, 4 * plain["pvalue_adjusted"])
    assert best["pvalue_adjusted"].tolist() == pytest.approx(expected.tolist())
    widths = [frame["ci_high"] - frame["ci_low"] for frame in (plain, best)]
    assert (widths[1] > widths[0]).all()


def test_a_claim_of_a_gate_is_corrected_for_the_choice(two):
    rule = "no_regression(recall, margin=0.02)"
    plain, best = (compare(*two, tried=k).gate(rule) for k in (1, 20))
    expected = min(1, 20 * plain.frame["pvalue_adjusted"].iloc[0])
    assert best.frame["pvalue_adjusted"].iloc[0] == pytest.approx(expected)
    assert "corrected for the best of 20 variants" in best.notes
