"""The best of several variants. Witnesses: SciPy's tests, Bonferroni by hand, simulation."""

import numpy as np
import pytest
import scipy.stats

from rageval_report import RAGPipelineEvaluation, compare
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


def test_a_loss_is_not_lifted_by_noise(two):
    baseline, candidate = two
    verdict = compare(candidate, baseline, tried=20).sentences[0]
    assert verdict.endswith("; corrected for the choice of the best of 20 variants")


def test_equivalence_of_the_best_is_corrected_too(two):
    plain, best = (compare(*two, tried=k, margin=0.2).frame for k in (1, 10))
    name = "equivalence_pvalue_adjusted"
    expected = np.minimum(1, 10 * plain[name])
    assert best[name].tolist() == pytest.approx(expected.tolist())
    assert (plain[name] <= 0.05).any()


@pytest.mark.parametrize("tried", [0, -3])
def test_no_variant_at_all_is_refused(two, tried):
    with pytest.raises(DataError, match=f"tried must be an integer >= 1; got {tried}"):
        compare(*two, tried=tried)


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
