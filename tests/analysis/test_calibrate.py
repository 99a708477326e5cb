"""A judge against people: by hand, by the estimators (tested on their own), by simulation."""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, calibrate, read_scores
from rageval_report.errors import AlignmentError, DataError
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


def estimates(found, part="judge and people"):
    frame = found.frame[found.frame["part"] == part]
    return frame.set_index("figure")["estimate"]


@pytest.fixture(scope="module")
def relevance(real_data):
    """Grades of passages by people, and by a model with three prompts; a row a passage."""
    path = real_data("trulens_judges") / "gpt-4o-mini_3_prompts_results.csv"
    frame = pd.read_csv(path)  # its query ids repeat: a row is a passage, not a query
    frame.index = pd.Index([f"passage {i}" for i in range(len(frame))], name="query_id")
    return frame


@pytest.fixture(scope="module")
def umbrela(relevance):
    run = RAGPipelineEvaluation("gpt-4o-mini", relevance[["umbrela_rating"]])
    return calibrate(run, "umbrela_rating", relevance["ground_truth"])


def test_kappas_on_trulens_are_those_of_scikit_learn(umbrela, relevance):
    metrics = pytest.importorskip("sklearn.metrics")
    both = relevance.dropna(subset="umbrela_rating")
    told = estimates(umbrela)
    for name, weights in {
        "Cohen's kappa": None,
        "Cohen's kappa, linear": "linear",
        "Cohen's kappa, quadratic": "quadratic",
    }.items():
        theirs = metrics.cohen_kappa_score(
            both["umbrela_rating"], both["ground_truth"], weights=weights
        )
        assert told[name] == pytest.approx(theirs)
    theirs = metrics.confusion_matrix(both["ground_truth"], both["umbrela_rating"])
    ours = umbrela.confusion().frame.drop(columns="total")
    np.testing.assert_array_equal(ours.to_numpy(), theirs)
    # irrCAC 0.4.4 and krippendorff 0.9.0
    ac1 = umbrela.frame.set_index("figure").loc["Gwet's AC1", ["estimate", "ci_low", "ci_high"]]
    assert ac1.tolist() == pytest.approx([0.095082068974, 0.0585422006457, 0.1316219373023])
    assert told["Gwet's AC2, quadratic"] == pytest.approx(0.268590197183778)
    assert told["Krippendorff's alpha"] == pytest.approx(-0.046953448222343264)
    assert umbrela.ratings.n == 1117 - 26


@pytest.fixture(scope="module")
def hotpot(real_data):
    """Five judges' verdicts on 400 answers, and the truth: two lines of a file each."""
    found = {}
    for path in sorted((real_data("trulens_judges") / "judges").glob("*.csv")):
        with path.open(encoding="utf-8") as lines:
            judge, truth, _ = csv.reader(lines)
        name = path.stem.split("_-_")[1].removesuffix("_answer_relevance_binary_results")
        ids = [f"sample {i}" for i in range(len(judge))]
        scores = {"query_id": ids, "answer_relevance": [float(one or "nan") for one in judge]}
        run = RAGPipelineEvaluation(name, scores)
        found[name] = run, pd.Series(list(map(float, truth)), index=ids)
    return found


def test_five_judges_of_trulens_against_the_truth(hotpot):
    metrics = pytest.importorskip("sklearn.metrics")
    assert len(hotpot) == 5
    for run, truth in hotpot.values():
        found = calibrate(run, "answer_relevance", truth, threshold=0.5, n_resamples=99)
        scores = run.scores["answer_relevance"]
        there = scores.notna()
        judge, people = (scores[there] >= 0.5).astype(float), truth[there]
        told = estimates(found)
        assert told["Cohen's kappa"] == pytest.approx(metrics.cohen_kappa_score(judge, people))
        errors = found.errors
        recall = metrics.recall_score(people, judge)
        assert errors.sensitivity == pytest.approx(recall)
        assert errors.specificity == pytest.approx(metrics.recall_score(1 - people, 1 - judge))


def test_the_corrected_mean_on_trulens_is_that_of_the_formula(hotpot):
    run, truth = hotpot["gpt-4o-mini"]
    labels = truth.sample(60, random_state=1)
    found = calibrate(run, "answer_relevance", labels, n_resamples=99)
    scores = run.scores["answer_relevance"]
    rest = scores.drop(labels.index)
    by_hand = rest.mean() + (labels - scores[labels.index]).mean()  # fewer than 100: lam is 1
    assert found.means.corrected.estimate == pytest.approx(by_hand)
    assert found.means.corrected == ppi_mean(labels, scores[labels.index], rest, bounds=(0, 1))


@pytest.fixture(scope="module")
def models(real_data):
    """Three models' answers, judged by algorithms and by people."""
    folder = real_data("mtrag_human_eval")
    return read_scores(folder / "reference_subset_with_human_evaluations.json")


@pytest.fixture(scope="module")
def mtrag(models):
    """The answers of gpt-4o, and what each annotator said of their faithfulness."""
    run = models["gpt-4o"]
    said = run.details["faithfulness_annotations"]
    raters = pd.DataFrame([dict(one) for one in said], index=run.scores.index, dtype=float)
    return run, raters


def test_fleiss_kappa_on_mtrag_is_that_of_statsmodels(mtrag):
    rates = pytest.importorskip("statsmodels.stats.inter_rater")
    run, raters = mtrag
    three = raters[raters.notna().sum(axis=1) == 3]
    counts = [
        [Counter(row.dropna())[grade] for grade in (1, 2, 3, 4)] for _, row in three.iterrows()
    ]
    found = calibrate(run, "faithfulness", raters, n_resamples=99)
    told = estimates(found, "people with each other")
    assert told["Fleiss' kappa"] == pytest.approx(rates.fleiss_kappa(np.array(counts)))
    assert told["Krippendorff's alpha"] == pytest.approx(0.49320679840609016)  # krippendorff 0.9.0
