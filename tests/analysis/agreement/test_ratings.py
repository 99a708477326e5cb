"""Labels come in many forms and are laid beside the judge's scores by query id."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.analysis.agreement.ratings import ratings_of
from rageval_report.errors import AlignmentError, DataError, UnknownNameError

NAN = float("nan")


@pytest.fixture
def run(judged):
    return judged([1, 0, 1, NAN])


def rated(run, people, *args, **options):
    return ratings_of(run, run.metrics["faithfulness"], people, *args, **options)


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


def test_the_label_of_several_raters_is_their_mean(run):
    frame = pd.DataFrame({"a": [1, 1], "b": [0, None], "c": [0, None]}, index=["q0", "q1"])
    found = rated(run, frame)
    assert found.raters == ("a", "b", "c")
    np.testing.assert_allclose(found.labels, [1 / 3, 1, NAN, NAN])


def test_columns_of_labels_can_be_named(run):
    frame = pd.DataFrame({"note": ["x"], "a": [1], "b": [0]}, index=["q0"])
    assert rated(run, frame, ["a", "b"]).raters == ("a", "b")
    with pytest.raises(UnknownNameError, match="Did you mean 'note'"):
        rated(run, frame, "notes")


def test_labels_among_the_details_are_found(run):
    people = RAGPipelineEvaluation(
        "p", {"query_id": ["q0", "q1"], "f1": [1, 0], "verdict": ["yes", "no"]}, metrics=["f1"]
    )
    np.testing.assert_array_equal(rated(run, people, "verdict").labels[:2], [1, 0])


def test_an_evaluation_gives_the_metric_of_the_same_name_or_meaning(run):
    data = {"query_id": ["q0"], "Faithfulness": [0.0], "other": [1.0]}
    assert rated(run, RAGPipelineEvaluation("p", data)).raters == ("faithfulness",)
    data = {"query_id": ["q0"], "one": [0.0], "other": [1.0]}
    with pytest.raises(DataError, match=r"name the column .* one, other"):
        rated(run, RAGPipelineEvaluation("p", data))


def test_labels_of_queries_that_nobody_asked_are_kept_as_strangers(run):
    found = rated(run, {"q0": 1, "x7": 1})
    assert list(found.strangers) == ["x7"]
    assert found.n == 1


def test_whole_numbers_and_texts_are_the_same_id():
    run = RAGPipelineEvaluation("r", {"query_id": [1, 2], "f1": [0.0, 1.0]})
    assert ratings_of(run, run.metrics["f1"], pd.Series([1.0], index=[2])).n == 1


def test_the_apostrophe_of_a_reviewers_sheet_is_not_part_of_the_id():
    run = RAGPipelineEvaluation("r", {"query_id": ["=1", "'x"], "f1": [0.0, 1.0]})
    found = ratings_of(run, run.metrics["f1"], {"'=1": 1, "'x": 0})
    assert found.labels.tolist() == [1.0, 0.0]


def test_labels_on_another_scale_are_moved_to_that_of_the_metric(run):
    found = rated(run, {"q0": 1, "q1": 3, "q2": 5}, label_bounds=(1, 5))
    assert found.labels[:3].tolist() == [0.0, 0.5, 1.0]


def test_labels_outside_the_scale_of_the_metric_are_refused(run):
    with pytest.raises(DataError, match="between 1 and 5, 'faithfulness' between 0 and 1"):
        rated(run, {"q0": 1, "q1": 5})


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


def test_bounds_that_cannot_be_moved_to_are_refused(judged):
    run = judged([3.0, 17.5], metric="stars")
    with pytest.raises(DataError, match="has no bounds"):
        ratings_of(run, run.metrics["stars"], {"q0": 1}, label_bounds=(1, 5))


def test_bounds_the_wrong_way_round_are_refused(run):
    with pytest.raises(DataError, match="the lower first"):
        rated(run, {"q0": 1}, label_bounds=(5, 1))
