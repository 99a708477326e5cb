"""Judges and people that nobody on the project made up; skipped where the files are absent.

Witnesses: scikit-learn 1.9.1 and statsmodels 0.15.0 where installed; figures of irrCAC 0.4.4 and
krippendorff 0.9.0, computed once from the same columns.
"""

from __future__ import annotations

import csv
from collections import Counter

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, calibrate, read_scores
from rageval_report.stats import ppi_mean


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


def test_a_few_labels_find_the_true_mean_that_the_judge_misses(hotpot):
    run, truth = hotpot["gpt-4o-mini"]
    inside = 0
    for seed in range(20):
        labels = truth.sample(100, random_state=seed)
        means = calibrate(run, "answer_relevance", labels, n_resamples=99).means
        assert not means.naive.low <= truth.mean() <= means.naive.high
        inside += means.corrected.low <= truth.mean() <= means.corrected.high
    assert inside >= 17  # 19 expected


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
    told = estimates(found, "people with each other")["Fleiss' kappa"]
    assert told == pytest.approx(rates.fleiss_kappa(np.array(counts)))


def test_two_models_of_mtrag_by_a_judge_and_by_people(models):
    labelled = models["gpt-4o"].scores.index[::2]
    old, new = (
        calibrate(
            models[name],
            "rl_f",
            models[name].scores.loc[labelled, "faithfulness"],
            label_bounds=(1, 4),
            scale="continuous",
            n_resamples=99,
        )
        for name in ("llama-3.1-405b-instruct", "gpt-4o")
    )
    frame = old.difference(new).frame.set_index("figure")
    judge = models["gpt-4o"].scores["rl_f"] - models["llama-3.1-405b-instruct"].scores["rl_f"]
    assert frame.loc["judge alone", "difference"] == pytest.approx(judge.mean())
    assert frame.loc["corrected (PPI++)", "n"] == 159
