"""Which scale judge and people share, and into which category a rating falls."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report.analysis.agreement.rating_scale import scale_of
from rageval_report.analysis.agreement.ratings import ratings_of
from rageval_report.errors import DataError, UnknownNameError

NAN = float("nan")


@pytest.fixture
def found(judged, labels):
    """The scale of these scores and labels."""

    def find(scores, people, metric="faithfulness", **options):
        run = judged(scores, metric=metric)
        known = run.metrics[metric]
        told = people if isinstance(people, pd.DataFrame) else labels(people)
        return scale_of(ratings_of(run, known, told), known, **options)

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
    assert found(scores, people, metric).kind == kind


def test_a_judge_of_numbers_is_cut_in_the_middle_of_the_bounds(found):
    scale = found([0.2, 0.5, 0.9], [0, 1, 1])
    assert (scale.threshold, scale.bins_labels) == (0.5, False)
    assert scale.judge_categories(np.array([0.2, 0.5, NAN]))[:2].tolist() == [0.0, 1.0]


@pytest.mark.parametrize("correct", [("faithfulness", 0.8), {"Faithfulness": 0.8, "f1": 0.1}])
def test_what_is_correct_tells_the_threshold(found, correct):
    assert found([0.2, 0.5, 0.9], [0, 1, 1], correct=correct).threshold == 0.8


def test_a_threshold_that_is_given_goes_before_all(found):
    scale = found([0.2, 0.5, 0.9], [0.1, 0.6, 0.9], threshold=0.6, correct=("faithfulness", 0.8))
    assert (scale.kind, scale.threshold, scale.bins_labels) == ("binary", 0.6, True)
    assert scale.label_categories(np.array([0.1, 0.6])).tolist() == [0.0, 1.0]


def test_a_score_at_the_threshold_but_for_rounding_counts_as_1(found):
    assert found([0.2, 0.9], [0, 1], threshold=0.3).judge_categories(
        np.array([0.1 + 0.2 - 1e-12])
    ) == [1.0]


def test_without_bounds_somebody_must_say_where_yes_begins(found):
    with pytest.raises(DataError, match="threshold is required"):
        found([3.0, 17.5, 25.0], [0, 1, 1], "stars")


def test_scores_between_categories_go_to_the_nearest(found):
    scale = found([1.4, 2.6, 4.9], [1, 3, 5], "grade", categories=(1, 2, 3, 4, 5))
    assert scale.judge_categories(np.array([1.4, 2.6, 4.9])).tolist() == [1.0, 3.0, 5.0]


REFUSED = {
    "label outside": ({"categories": (1, 2)}, DataError, "categories 1, 2 do not include 3.0"),
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


def test_a_judge_of_names_must_keep_to_the_categories(found):
    with pytest.raises(DataError, match=r"categories 1, 3 do not include 2\.0"):
        found([1, 2, 3], [1, 3, 3], "grade", categories=(1, 3), scale="nominal")


def test_several_raters_say_what_most_of_them_say(found):
    table = np.array([[1, 1, 0], [1, 0, NAN], [NAN, NAN, NAN], [0, 0, 0]])
    frame = pd.DataFrame(table, index=["q0", "q1", "q2", "q3"])
    scale = found([1, 0, 1, 0], frame)
    np.testing.assert_array_equal(scale.agreed_labels(table), [1, NAN, NAN, 0])


def test_several_raters_of_steps_say_their_median(found):
    table = np.array([[1, 2, 4], [2, 3, NAN], [3, 3, 4.0]])
    frame = pd.DataFrame(table, index=["q0", "q1", "q2"])
    scale = found([1, 2, 3], frame, "grade")
    np.testing.assert_array_equal(scale.agreed_labels(table), [2, NAN, 3])
