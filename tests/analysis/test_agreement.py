"""Agreement of raters: forms of labels, scales, SciPy 1.17's correlations, several judges."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats import inter_rater

from rageval_report import RAGPipelineEvaluation, calibrate
from rageval_report.analysis.agreement import (
    correlation,
    judges_agreement,
    judges_disagreements,
    votes_of,
)
from rageval_report.errors import AlignmentError, DataError, UnknownNameError

NAN = float("nan")

# -- forms of labels


def rated(run, people, label=None, metric="faithfulness", **options):
    """What a calibration understood of people's labels."""
    return calibrate(run, metric, people, label, n_resamples=1, **options).ratings


@pytest.fixture
def run(judged):
    return judged([1, 0, 1, NAN])


FORMS = {
    "series": pd.Series({"q1": 1.0, "q0": 0.0}),
    "dict": {"q1": 1, "q0": 0},
    "words": {"q1": "yes", "q0": "No", "q2": ""},
    "booleans": {"q1": True, "q0": False},
    "frame": pd.DataFrame({"ann": [1, 0]}, index=["q1", "q0"]),
    "frame with ids": pd.DataFrame({"query_id": ["q1", "q0"], "ann": [1, 0]}),
    "dict of lists": {"query_id": ["q1", "q0"], "ann": [1, 0]},
    "evaluation": RAGPipelineEvaluation("p", {"query_id": ["q1", "q0"], "ann": [1, 0]}),
}


@pytest.mark.parametrize("people", FORMS.values(), ids=FORMS)
def test_every_form_of_labels_says_the_same(run, people):
    np.testing.assert_array_equal(rated(run, people).labels, [0, 1, NAN, NAN])


def test_columns_of_labels_can_be_named_and_the_label_of_several_is_their_mean(run):
    frame = pd.DataFrame({"a": [1, 1], "b": [0, None], "c": [0, None]}, index=["q0", "q1"])
    found = rated(run, frame)
    assert found.raters == ("a", "b", "c")
    np.testing.assert_allclose(found.labels, [1 / 3, 1, NAN, NAN])
    assert rated(run, frame.assign(note="x"), ["a", "b"]).raters == ("a", "b")
    with pytest.raises(UnknownNameError, match="Did you mean 'note'"):
        rated(run, frame.assign(note="x"), "notes")


def test_an_evaluation_gives_a_detail_or_the_metric_of_the_same_name_or_meaning(run):
    data = {"query_id": ["q0", "q1"], "f1": [1, 0], "verdict": ["yes", "no"]}
    people = RAGPipelineEvaluation("p", data, metrics=["f1"])
    np.testing.assert_array_equal(rated(run, people, "verdict").labels[:2], [1, 0])
    data = {"query_id": ["q0"], "Faithfulness": [0.0], "other": [1.0]}
    assert rated(run, RAGPipelineEvaluation("p", data)).raters == ("faithfulness",)
    data = {"query_id": ["q0"], "one": [0.0], "other": [1.0]}
    with pytest.raises(DataError, match=r"name the column .* one, other"):
        rated(run, RAGPipelineEvaluation("p", data))


def test_ids_are_texts_without_the_apostrophe_of_a_reviewers_sheet(run):
    found = rated(run, {"q0": 1, "x7": 1})
    assert (list(found.strangers), found.n) == (["x7"], 1)
    numbered = RAGPipelineEvaluation("r", {"query_id": [1, 2], "f1": [0.0, 1.0]})
    assert rated(numbered, pd.Series([1.0], index=[2]), metric="f1").n == 1
    quoted = RAGPipelineEvaluation("r", {"query_id": ["=1", "'x"], "f1": [0.0, 1.0]})
    assert rated(quoted, {"'=1": 1, "'x": 0}, metric="f1").labels.tolist() == [1.0, 0.0]


def test_labels_on_another_scale_are_moved_to_that_of_the_metric(run, judged):
    found = rated(run, {"q0": 1, "q1": 3, "q2": 5}, label_bounds=(1, 5))
    assert found.labels[:3].tolist() == [0.0, 0.5, 1.0]
    with pytest.raises(DataError, match="between 1 and 5, 'faithfulness' between 0 and 1"):
        rated(run, {"q0": 1, "q1": 5})
    with pytest.raises(DataError, match="the lower first"):
        rated(run, {"q0": 1}, label_bounds=(5, 1))
    with pytest.raises(DataError, match="has no bounds"):
        rated(judged([3.0, 17.5], metric="stars"), {"q0": 1}, metric="stars", label_bounds=(1, 5))


WRONG = {
    "word": ({"q0": "good", "q1": 1}, DataError, "'good' at 'q0'"),
    "empty": ({"q0": None, "q1": ""}, DataError, "there are no labels"),
    "other ids": ({"x": 1, "y": 0}, AlignmentError, "no labelled query is in 'hybrid'"),
    "never both": ({"q3": 1}, AlignmentError, "3 are scored, 1 labelled"),
    "infinite": ({"q0": float("inf")}, DataError, "finite"),
    "no column": (pd.DataFrame({"query_id": ["q0"]}), DataError, "no column besides the ids"),
    "twice": (pd.Series([1, 0], index=["q0", "q0"]), DataError, "more than once: 'q0'"),
}


@pytest.mark.parametrize(("people", "error", "told"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_with_labels_is_said(run, people, error, told):
    with pytest.raises(error, match=told):
        rated(run, people)


# -- the scale


@pytest.fixture
def found(judged, labels):
    """The calibration of these scores and labels."""

    def find(scores, people, metric="faithfulness", **options):
        told = people if isinstance(people, pd.DataFrame) else labels(people)
        return calibrate(judged(scores, metric=metric), metric, told, n_resamples=1, **options)

    return find


GUESSED = {
    "yes and no": ([1, 0, 1], [1, 1, 0], "binary"),
    "yes, no and numbers": ([0.2, 0.7, 0.9], [0, 1, 1], "binary"),
    "steps": ([1, 2, 3, 3, 4], [1, 2, 3, 4, 4], "ordinal"),
    "shares of few kinds": ([0, 0.5, 1, 0.5], [0, 0.5, 1, 1], "ordinal"),
    "numbers": ([0.11, 0.42, 0.87], [0.2, 0.4, 0.9], "continuous"),
}


@pytest.mark.parametrize(("scores", "people", "kind"), GUESSED.values(), ids=GUESSED)
def test_the_values_tell_the_scale(found, scores, people, kind):
    metric = "grade" if max(scores) > 1 else "faithfulness"
    assert found(scores, people, metric).scale.kind == kind


@pytest.mark.parametrize(
    ("people", "options", "threshold", "categories"),
    [
        # The middle of the bounds; what is correct; a threshold that is given goes before all.
        ([0, 1, 1], {}, 0.5, [0, 1, 1]),
        ([0, 1, 1], {"correct": ("faithfulness", 0.8)}, 0.8, [0, 0, 1]),
        ([0, 1, 1], {"correct": {"Faithfulness": 0.8, "f1": 0.1}}, 0.8, [0, 0, 1]),
        ([0.1, 0.6, 0.9], {"threshold": 0.6, "correct": ("faithfulness", 0.8)}, 0.6, [0, 0, 1]),
        # But for rounding.
        ([0, 1, 1], {"threshold": 0.5 + 1e-12}, 0.5 + 1e-12, [0, 1, 1]),
    ],
)
def test_a_judge_of_numbers_is_cut_at_a_threshold(found, people, options, threshold, categories):
    calibration = found([0.2, 0.5, 0.9], people, **options)
    assert (calibration.scale.kind, calibration.scale.threshold) == ("binary", threshold)
    pairs = calibration.pairs
    assert pairs["judge_category"].tolist() == categories
    assert pairs["people_category"].tolist() == [0, 1, 1]


def test_scores_between_categories_go_to_the_nearest(found):
    pairs = found([1.4, 2.6, 4.9], [1, 3, 5], "grade", categories=(1, 2, 3, 4, 5)).pairs
    assert pairs["judge_category"].tolist() == [1.0, 3.0, 5.0]


NOMINAL = {"categories": (1, 3), "scale": "nominal"}
REFUSED = {
    "label outside": ({"categories": (1, 2)}, DataError, "categories 1, 2 do not include 3.0"),
    "score outside": (NOMINAL, DataError, r"categories 1, 3 do not include 2\.0"),
    "one category": ({"categories": (1,)}, DataError, "two or more different numbers"),
    "numbers have none": ({"categories": (1, 3), "scale": "continuous"}, DataError, "no categ"),
    "steps have no cut": ({"threshold": 2, "scale": "ordinal"}, DataError, "makes ratings binary"),
    "scale": ({"scale": "ordinl"}, UnknownNameError, "Did you mean 'ordinal'"),
    "threshold": ({"threshold": NAN}, DataError, "finite number"),
}


@pytest.mark.parametrize(("options", "error", "told"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused(found, options, error, told):
    with pytest.raises(error, match=told):
        found([1, 2, 3], [1, 3, 3], "grade", **options)
    with pytest.raises(DataError, match="threshold is required"):
        found([3.0, 17.5, 25.0], [0, 1, 1], "stars")


def test_several_raters_say_what_most_of_them_say_and_of_steps_their_median(found):
    ids = ["q0", "q1", "q2", "q3"]
    table = pd.DataFrame([[1, 1, 0], [1, 0, NAN], [NAN, NAN, NAN], [0, 0, 0]], index=ids)
    said = found([1, 0, 1, 0], table).pairs["people_category"]
    np.testing.assert_array_equal(said, [1, NAN, 0])
    steps = pd.DataFrame([[1, 2, 4], [2, 3, NAN], [3, 3, 4.0]], index=ids[:3])
    said = found([1, 2, 3], steps, "grade").pairs["people_category"]
    np.testing.assert_array_equal(said, [2, NAN, 3])


# -- correlations

SCIPY = {
    "pearson": stats.pearsonr,
    "spearman": stats.spearmanr,
    "kendall": stats.kendalltau,
}


def drawn(n, seed, levels=None):
    rng = np.random.default_rng(seed)
    people = rng.normal(size=n)
    judge = people + rng.normal(size=n)
    return (judge, people) if levels is None else (np.round(judge * levels), np.round(people))


@pytest.mark.parametrize("kind", SCIPY)
@pytest.mark.parametrize(("n", "levels"), [(7, None), (250, None), (250, 1), (2000, 2)])
def test_the_estimate_is_that_of_scipy(kind, n, levels):
    judge, people = drawn(n, n, levels)
    found = correlation(judge, people, kind)
    assert found.estimate == pytest.approx(SCIPY[kind](judge, people).statistic, abs=1e-12)


def test_pearsons_interval_is_that_of_scipy():
    judge, people = drawn(60, 1)
    found = correlation(judge, people, confidence_level=0.9)
    told = stats.pearsonr(judge, people).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((told.low, told.high))


@pytest.mark.parametrize(("kind", "variance"), [("spearman", None), ("kendall", 0.437 / 56)])
def test_the_other_intervals_by_hand(kind, variance):
    judge, people = drawn(60, 2)
    found = correlation(judge, people, kind)
    variance = variance or (1 + found.estimate**2 / 2) / 57
    reach = 1.959963984540054 * math.sqrt(variance)
    assert found.low == pytest.approx(math.tanh(math.atanh(found.estimate) - reach))
    assert found.high == pytest.approx(math.tanh(math.atanh(found.estimate) + reach))


@pytest.mark.parametrize(("kind", "truth"), [("pearson", 1 / math.sqrt(2)), ("kendall", 0.5)])
def test_the_interval_holds_the_truth_as_often_as_it_says(kind, truth):
    # Of normal numbers with correlation 1/sqrt(2); tau is then 2/pi arcsin(r) = 0.5.
    inside = 0
    for seed in range(400):
        found = correlation(*drawn(50, seed), kind)
        inside += found.low <= truth <= found.high
    assert inside / 400 == pytest.approx(0.95, abs=0.033)  # three standard errors


@pytest.mark.parametrize("kind", SCIPY)
def test_a_constant_side_has_no_correlation_and_a_line_no_interval(kind):
    found = correlation(np.ones(9), np.arange(9.0), kind)
    assert math.isnan(found.estimate)
    assert "constant" in found.notes[0]
    found = correlation(np.arange(9.0), 2 * np.arange(9.0), kind)
    assert found.estimate == pytest.approx(1.0)
    assert math.isnan(found.low)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=3, max_size=40))
def test_swapping_the_sides_changes_nothing_and_turning_one_the_sign(rows):
    judge, people = np.array(rows, dtype=float).T
    for kind in SCIPY:
        found = correlation(judge, people, kind)
        swapped, turned = correlation(people, judge, kind), correlation(-judge, people, kind)
        assert swapped.estimate == pytest.approx(found.estimate, abs=1e-9, nan_ok=True)
        assert turned.estimate == pytest.approx(-found.estimate, abs=1e-9, nan_ok=True)


# -- several judges


def evaluation_of(votes, *, metric="tone", kind="proportion", combined=None):
    """An evaluation as `score` with several judges gives it, from a dict of judges' scores."""
    table = pd.DataFrame(votes, dtype=float)
    rows = {
        "query_id": [f"q{i}" for i in range(len(table))],
        "question": [f"What is {i}?" for i in range(len(table))],
        metric: table.mean(axis=1) if combined is None else combined,
        f"{metric}_judges": table.to_dict("records"),
        f"{metric}_reason": ["because"] * len(table),
    }
    about = {"kind": kind} if kind == "binary" else {"kind": kind, "bounds": (0.0, 1.0)}
    return RAGPipelineEvaluation("rag", pd.DataFrame(rows), metrics={metric: about})


def figures(evaluation, **options):
    frame = judges_agreement(evaluation, **options).frame
    return frame.set_index(["part", "figure"])


@pytest.fixture
def yes_no():
    rng = np.random.default_rng(3)
    truth = rng.random(60) < 0.6
    return {
        name: np.where(rng.random(60) < 0.8, truth, ~truth).astype(float)
        for name in ("a", "b", "c")
    }


def test_judges_have_the_kappas_of_statsmodels_and_the_alpha_of_its_definition(yes_no):
    table = figures(evaluation_of(yes_no, kind="binary"))
    for first, second in (("a", "b"), ("a", "c"), ("b", "c")):
        rows = table.loc[f"{first} and {second}", "estimate"]
        counts = pd.crosstab(yes_no[first], yes_no[second]).to_numpy()
        assert rows["Cohen's kappa"] == pytest.approx(inter_rater.cohens_kappa(counts).kappa)
        same = (yes_no[first] == yes_no[second]).mean()
        assert rows["percent agreement"] == pytest.approx(same)
    together, ratings = table.loc["all judges", "estimate"], np.column_stack([*yes_no.values()])
    counts, _ = inter_rater.aggregate_raters(ratings.astype(int))
    assert together["Fleiss' kappa"] == pytest.approx(inter_rater.fleiss_kappa(counts))
    # 1 - observed / expected disagreement, over pairs of three raters of a query and over all.
    ones, n, total = ratings.sum(axis=1), ratings.size, ratings.sum()
    observed = (ones * (3 - ones)).sum() / n
    expected = 2 * total * (n - total) / (n * (n - 1))
    assert together["Krippendorff's alpha"] == pytest.approx(1 - observed / expected)


def test_each_judge_has_its_mean_and_its_number_of_scores():
    table = figures(evaluation_of({"a": [1, 0.5, NAN], "b": [0, 0.5, 0.25]}))
    assert table.loc[("a", "mean score"), ["estimate", "n"]].tolist() == [0.75, 2]
    assert table.loc[("b", "mean score"), "n"] == 3
    assert set(table.loc["a and b", "n"]) == {2}
    assert "all judges" not in table.index.get_level_values("part")
    result = judges_agreement(evaluation_of({"a": [1, NAN], "b": [NAN, 0.5]}))
    assert "tone: no query was scored by both a and b" in result.notes
    assert set(result.frame["part"]) == {"a", "b"}
    failed = figures(evaluation_of({"a": [1, 0.5], "b": [NAN, NAN]})).loc[("b", "mean score")]
    assert failed["n"] == 0
    assert np.isnan(failed["estimate"])


def test_grades_are_steps_and_shares_are_numbers():
    grades = {"a": [0, 0.25, 0.5, 0.75, 1, 1], "b": [0, 0.5, 0.5, 0.75, 1, 0.75]}
    assert ("a and b", "Gwet's AC2, quadratic") in figures(evaluation_of(grades)).index
    rng = np.random.default_rng(0)
    shares = {"a": rng.random(30), "b": rng.random(30)}
    table = figures(evaluation_of(shares))
    expected = np.corrcoef(shares["a"], shares["b"])[0, 1]
    found = table.loc[("a and b", "Pearson correlation"), "estimate"]
    assert found == pytest.approx(expected)
    assert ("a and b", "Cohen's kappa") not in table.index
    # Judges who use only the ends of a scale do not turn it into yes and no.
    ends = {"a": [0.0, 0.25, 1.0, 1.0], "b": [0.0, 1.0, 1.0, 0.0]}
    assert ("a and b", "Cohen's kappa, linear") in figures(evaluation_of(ends)).index


# -- disagreements


def test_disagreements_begin_with_the_largest_and_leave_out_the_rest():
    votes = {"a": [1, 0.5, 0.25, 1], "b": [1, 0.75, 1, NAN], "c": [1, NAN, 0.5, NAN]}
    frame = judges_disagreements(evaluation_of(votes)).frame
    assert frame.index.tolist() == ["q2", "q1"]
    assert frame["spread"].tolist() == [0.75, 0.25]
    assert frame.loc["q2", ["a", "b", "c"]].tolist() == [0.25, 1.0, 0.5]
    assert frame.loc["q1", ["question", "reason"]].tolist() == ["What is 1?", "because"]


def test_disagreements_are_counted_among_the_queries_that_two_judges_scored():
    result = judges_disagreements(evaluation_of({"a": [1, 0.5, 1], "b": [1, 0.75, NAN]}))
    assert result.notes == ("tone: judges differ on 1 of 2 queries",)
    result = judges_disagreements(evaluation_of({"a": [1, 0.5], "b": [1, 0.5]}))
    assert len(result.frame) == 0
    assert json.loads(result.to_json())["rows"] == []


# -- where the votes come from


def test_a_metric_of_one_judge_is_refused():
    evaluation = RAGPipelineEvaluation("rag", {"query_id": ["a"], "tone": [0.5]})
    with pytest.raises(DataError, match=r"'tone' was not scored by several judges.*chat=\["):
        votes_of(evaluation, "tone")
    with pytest.raises(DataError, match="no metric of 'rag' was scored by several judges"):
        judges_agreement(evaluation)


@pytest.mark.parametrize("ending", ["json", "csv", "jsonl"])
def test_votes_survive_a_file(tmp_path, ending):
    evaluation = evaluation_of({"a": [1, 0.5, NAN], "b": [0, 0.5, 0.25]})
    path = evaluation.save(tmp_path / f"scores.{ending}")
    again = RAGPipelineEvaluation.load("rag", path)
    assert list(again.metrics) == ["tone"]
    pd.testing.assert_frame_equal(votes_of(again, "tone"), votes_of(evaluation, "tone"))


def test_the_methods_of_an_evaluation_hand_over():
    evaluation = evaluation_of({"a": [1, 0.5, 0.25], "b": [0, 0.5, 0.25]})
    ours = evaluation.judges_agreement("tone", seed=3, n_resamples=99)
    theirs = judges_agreement(evaluation, "tone", seed=3, n_resamples=99)
    assert ours.to_dict() == theirs.to_dict()
    assert evaluation.judges_disagreements().frame.index.tolist() == ["q0"]
