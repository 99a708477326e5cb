"""The view of answers and references."""

import numpy as np
import pytest

from rageval_report.errors import DataError
from rageval_report.metrics.text import Answers, characters_or_words


def test_the_best_of_each_query_is_taken():
    answers = Answers(["a", None, "b", "c"], [["x", "y"], ["x"], [], ["z"]])
    assert answers.pairs == [("a", "x"), ("a", "y"), ("c", "z")]
    np.testing.assert_array_equal(answers.best([0.2, 0.7, 0.1]), [0.7, np.nan, np.nan, 0.1])


def test_answers_and_references_of_different_lengths_raise():
    with pytest.raises(DataError, match="got 1 answers and 2 lists"):
        Answers(["a"], [["a"], ["b"]])


def test_one_text_for_references_raises():
    with pytest.raises(DataError, match="references of row 1 must be a list; got the text 'Rome'"):
        Answers(["a", "b"], [["a"], "Rome"])


def test_scripts_without_blanks_are_cut_into_characters_and_others_into_words():
    assert characters_or_words("Tokyo 東京タワー, ไทย Ελλάδα") == [
        *("tokyo", *"東京タワー", *"ไทย", "ελλάδα")
    ]
