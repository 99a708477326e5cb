"""A judge against people: by hand, by the estimators (tested on their own), by simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, calibrate
from rageval_report.errors import AlignmentError, DataError, UnknownNameError
from rageval_report.stats import (
    JudgeErrors,
    cohen_kappa,
    gwet_ac1,
    gwet_ac2,
    krippendorff_alpha,
    mean_interval,
    ppi_mean,
    rogan_gladen,
)

NAN = float("nan")
# The judge calls 5 of 6 good ones good, 3 of 4 bad ones bad; two are without a label.
JUDGE = [1, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 0]
PEOPLE = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0]


def figures(found, part="judge and people"):
    frame = found.frame[found.frame["part"] == part]
    return frame.set_index("figure")


@pytest.fixture
def small(judged, labels):
    return calibrate(judged(JUDGE), "faithfulness", labels(PEOPLE))


def test_the_estimates_are_those_of_the_statistics(small):
    told, judge = figures(small), JUDGE[:10]
    for name, one in {
        "percent agreement": mean_interval(np.equal(judge, PEOPLE)),
        "Cohen's kappa": cohen_kappa(judge, PEOPLE),
        "Gwet's AC1": gwet_ac1(judge, PEOPLE),
        "Krippendorff's alpha": krippendorff_alpha(np.column_stack([judge, PEOPLE])),
    }.items():
        row = told.loc[name, ["estimate", "ci_low", "ci_high", "n"]]
        assert row.tolist() == pytest.approx([one.estimate, one.low, one.high, 10])
    chance = 0.6 * 0.6 + 0.4 * 0.4  # by hand
    assert told.loc["Cohen's kappa", "estimate"] == pytest.approx((0.8 - chance) / (1 - chance))
    # Each coefficient is read by its own benchmark.
    read = told.loc["Cohen's kappa", ["reading", "source"]]
    assert read.tolist() == ["moderate", "Landis & Koch 1977"]
    assert told.loc["Krippendorff's alpha", "source"] == "Krippendorff 2004"
    assert pd.isna(told.loc["percent agreement", "reading"])


def test_the_confusion_matrix_counts_every_query_that_both_rated(small):
    matrix = small.confusion().frame
    assert matrix.loc[["0", "1"]].to_numpy().tolist() == [[3, 1, 4], [1, 5, 6]]
    assert matrix.index.name == "people"
    told = figures(small, "errors of the judge")
    assert told["estimate"].tolist() == pytest.approx([5 / 6, 3 / 4])
    assert told["n"].tolist() == [6, 4]
    assert small.errors == JudgeErrors(5, 6, 3, 4)


def test_the_means_are_those_of_the_statistics(small):
    told = figures(small, "mean of all queries")
    corrected = ppi_mean(PEOPLE, JUDGE[:10], JUDGE[10:])
    shares = rogan_gladen(JUDGE[10:], JudgeErrors(5, 6, 3, 4))
    assert told["estimate"].to_dict() == pytest.approx(
        {
            "judge alone": 7 / 12,
            "people alone": 0.6,
            "corrected (PPI++)": corrected.estimate,
            "Rogan-Gladen": shares.estimate,
        }
    )
    assert told["n"].tolist() == [12, 10, 12, 2]
    assert told.loc["corrected (PPI++)", "ci_high"] <= 1.0  # cut at the bounds


def test_the_corrected_mean_holds_the_truth_as_often_as_it_says_and_the_judges_does_not(drawn):
    inside, naive = 0, 0
    for seed in range(60):
        truth, judge = drawn(800, seed, right_on_1=0.95, right_on_0=0.6)
        ids = [f"q{i}" for i in range(800)]
        run = RAGPipelineEvaluation("r", {"query_id": ids, "faithfulness": judge})
        labels = pd.Series(truth[:120], index=ids[:120])
        means = calibrate(run, "faithfulness", labels, n_resamples=1).means
        inside += means.corrected.low <= 0.7 <= means.corrected.high
        naive += means.naive.low <= 0.7 <= means.naive.high
    assert inside / 60 == pytest.approx(0.95, abs=0.085)  # three standard errors
    assert naive / 60 < 0.3


def test_errors_of_another_set_give_a_share_of_their_own(judged, labels):
    outside = JudgeErrors(45, 50, 40, 50)
    found = calibrate(judged(JUDGE), "faithfulness", labels(PEOPLE), errors=outside)
    row = figures(found, "mean of all queries").loc["Rogan-Gladen, external"]
    told = rogan_gladen(JUDGE, outside)
    assert (row["estimate"], row["ci_low"], row["n"]) == (told.estimate, told.low, 12)
    assert found.settings["external_errors"] == "45/50,40/50"


# -- steps, numbers, names, several raters


def test_steps_have_weighted_coefficients(judged, labels):
    judge, people = [1, 2, 3, 4, 4, 2, 3], [1, 2, 3, 4, 3, 2, 4]
    told = figures(calibrate(judged(judge, metric="grade"), "grade", labels(people)))["estimate"]
    assert told["Cohen's kappa, linear"] == cohen_kappa(judge, people, "linear").estimate
    assert told["Cohen's kappa, quadratic"] == cohen_kappa(judge, people, "quadratic").estimate
    assert told["Gwet's AC2, quadratic"] == gwet_ac2(judge, people).estimate
    ratings = np.column_stack([judge, people])
    assert told["Krippendorff's alpha"] == krippendorff_alpha(ratings, "ordinal").estimate


def test_numbers_have_correlations_and_no_matrix(judged, labels):
    scores = [0.11, 0.35, 0.52, 0.78, 0.93, 0.6]
    found = calibrate(judged(scores), "faithfulness", labels([0.2, 0.3, 0.5, 0.9, 0.97]))
    told = list(figures(found).index)
    assert told == [
        *("Pearson correlation", "Spearman correlation", "Kendall's tau-b"),
        "Krippendorff's alpha",
    ]
    with pytest.raises(DataError, match="no confusion matrix; calibrate with threshold="):
        found.confusion()


# -- the queries


def test_disagreements_come_largest_first_with_question_answer_and_reason(judged, labels):
    run = judged(
        [1, 3, 4, 2],
        metric="grade",
        question=["A?", "B?", "C?", "D?"],
        answer=["a", "b", "c", "d"],
        grade_reason=["so", "so", "wrong place", "nearly"],
    )
    frame = calibrate(run, "grade", labels([1, 2, 1, 2])).disagreements().frame
    assert list(frame.index) == ["q2", "q1"]
    assert frame.loc["q2"].to_dict() == {
        "people": 1.0,
        "judge": 4.0,
        "difference": 3.0,
        "question": "C?",
        "answer": "c",
        "reason": "wrong place",
    }


# -- cautions


# -- groups


def test_groups_that_make_no_sense_are_refused(judged, labels, drawn):
    truth, judge = drawn(100)
    run = judged(judge, topic=["rare"] + ["b"] * 99)
    with pytest.raises(DataError, match=r"the group 'rare' has 1 labels"):
        calibrate(run, "faithfulness", labels(truth[:40]), strata="topic")
    with pytest.raises(UnknownNameError, match="no column of the details is named 'nothing'"):
        calibrate(run, "faithfulness", labels(truth[:40]), strata="nothing")
    with pytest.raises(DataError, match="99 judged queries have no group"):
        calibrate(run, "faithfulness", labels(truth[:40]), strata={"q0": "a"})


def test_the_queries_to_label_next_are_where_the_judge_errs(judged, labels, drawn):
    # Right about all ones, wrong about half of the zeros.
    truth, judge = drawn(600, right_on_1=1.0, right_on_0=0.5)
    found = calibrate(judged(judge), "faithfulness", labels(truth[:60]))
    frame = found.to_label(50).frame
    assert len(set(frame.index)) == 50
    assert not set(frame.index) & {f"q{i}" for i in range(60)}
    # Verdicts of 0 are always right, so nearly all labels go to verdicts of 1.
    assert (frame["judge"] == 1).mean() > 0.9
    assert frame["stratum"].isin(["judge 0", "judge 1"]).all()


def test_the_queries_to_label_are_a_draw_with_a_seed(judged, labels, drawn):
    truth, judge = drawn(300)
    found = calibrate(judged(judge), "faithfulness", labels(truth[:40]))
    first, again, other = (found.to_label(30, seed=seed).frame.index for seed in (1, 1, 2))
    assert first.equals(again)
    assert not first.equals(other)
    assert "pass strata='judge' to calibrate then" in " ".join(found.to_label(30).notes)
    for n in (0, 261, 2.5, True):
        with pytest.raises(DataError, match="n must be an integer from 1 to 260"):
            found.to_label(n)
    # Numbers are grouped by quarters of the judge's scores.
    rng = np.random.default_rng(0)
    judge = rng.random(200)
    people = labels(np.clip(judge[:60] + rng.normal(0, 0.1, 60), 0, 1))
    frame = calibrate(judged(judge), "faithfulness", people).to_label(40).frame
    assert frame["stratum"].nunique() == 4


# -- how many labels


# -- as a result


# -- two pipelines


@pytest.fixture
def two(judged, drawn, labels):
    """A judge who flatters the candidate: it is other, but no better, and gets 15 of 100 more."""
    truth, old_scores = drawn(600, 3)
    turned = np.arange(600) % 12 == 0
    moved = np.where(turned, 1 - truth, truth)
    flattered = np.where(np.random.default_rng(5).random(600) < 0.15, 1.0, old_scores)
    old = calibrate(judged(old_scores, "old"), "faithfulness", labels(truth[:200]))
    new = calibrate(judged(flattered, "new"), "faithfulness", labels(moved[:200]))
    return old, new


def test_the_difference_is_corrected_using_labels_of_both(two):
    old, new = two
    told = old.difference(new)
    frame = told.frame.set_index("figure")
    corrected = frame.loc["corrected (PPI++)", ["difference", "ci_low", "ci_high"]]
    assert frame.loc["judge alone", "ci_low"] > 0
    assert abs(frame.loc["people alone", "difference"]) < 0.05
    assert corrected["ci_low"] < 0 < corrected["ci_high"]
    assert any("not confirm" in note for note in told.notes)
    gap = new.pairs["judge"] - old.pairs["judge"]  # of the first 200 queries, which have labels
    people = new.pairs["people"] - old.pairs["people"]
    every = new.evaluation.scores["faithfulness"] - old.evaluation.scores["faithfulness"]
    by_hand = ppi_mean(people, gap, every.iloc[200:])
    assert corrected.tolist() == pytest.approx([by_hand.estimate, by_hand.low, by_hand.high])
    turned = new.difference(old).frame["difference"]
    np.testing.assert_allclose(told.frame["difference"], -turned, atol=1e-12)


def test_two_pipelines_need_labels_of_both_on_the_same_queries(judged, labels):
    old = calibrate(judged([1, 0, 1, 1], "old"), "faithfulness", labels([1, 0]))
    other = pd.Series({"q2": 1.0, "q3": 0.0})
    new = calibrate(judged([1, 1, 1, 1], "new"), "faithfulness", other)
    with pytest.raises(AlignmentError, match="got 0"):
        old.difference(new)
    # Where all are labelled people's own difference stands.
    old = calibrate(judged([1, 0, 1, 1], "old"), "faithfulness", labels([1, 0, 0, 1]))
    new = calibrate(judged([1, 1, 1, 1], "new"), "faithfulness", labels([1, 1, 0, 1]))
    told = old.difference(new)
    assert list(told.frame["figure"]) == ["judge alone", "people alone"]
    assert any("needs no correction" in note for note in told.notes)
