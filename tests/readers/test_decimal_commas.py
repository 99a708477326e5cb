from __future__ import annotations

import numpy as np
import pytest

from rageval_report.errors import ReaderError, UnknownValueError
from rageval_report.scores import score_table


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_decimal_commas_are_read_as_numbers_with_a_note(read_text, delimiter):
    text = "query_id;recall;mrr;n\nq1;0,83;1;3\nq2;-0,5e1;0,25;4\n".replace(";", delimiter)
    found = read_text(text)
    assert found.frame["recall"].tolist() == [0.83, -5.0]
    assert found.frame["mrr"].tolist() == [1.0, 0.25]
    assert found.frame["n"].dtype == np.int64
    assert found.notes == ("decimal commas are read as decimal points in 'recall', 'mrr'",)


def test_scores_of_three_decimals_are_no_thousands(frame_text):
    assert frame_text("query_id;recall\nq1;0,830\nq2;1,000\n")["recall"].tolist() == [0.83, 1.0]


def test_what_may_be_thousands_is_asked_about(read_text):
    with pytest.raises(ReaderError, match=r"'1,234' in column 'latency'.*decimal="):
        read_text("query_id;latency\nq1;1,234\nq2;2,345\nq3;12\n")


def test_the_decimal_sign_may_be_given(frame_text):
    text = "query_id;latency\nq1;1,234\nq2;2,345\n"
    assert frame_text(text, decimal=",")["latency"].tolist() == [1.234, 2.345]
    assert frame_text(text, decimal=".")["latency"].tolist() == ["1,234", "2,345"]


def test_another_decimal_sign_is_refused(read_text):
    with pytest.raises(UnknownValueError, match=r'decimal must be "\." or ","; got "'):
        read_text("query_id;recall\nq1;0,5\n", decimal="'")


def test_in_a_file_split_at_commas_a_comma_is_no_decimal_sign(frame_text):
    assert frame_text('query_id,answer,recall\nq1,"0,83",1\n')["answer"].tolist() == ["0,83"]


def test_texts_with_commas_stay_texts(frame_text):
    frame = frame_text("query_id;answer;recall\nq1;yes, no;0,5\nq2;0,5;1\n")
    assert frame["answer"].tolist() == ["yes, no", "0,5"]


def test_words_for_no_score_stand_beside_decimal_commas(read_text):
    found = read_text("query_id;recall\nq1;0,5\nq2;NA\nq3;\nq4;1\n")
    scores = score_table(found.frame).scores["recall"]
    assert np.array_equal(scores, [0.5, np.nan, np.nan, 1.0], equal_nan=True)


def test_numbers_with_points_are_left_alone(frame_text):
    assert frame_text("query_id;recall\nq1;0.5\nq2;1\n")["recall"].tolist() == [0.5, 1.0]


def test_answers_with_commas_stay_as_they_are(frame_text):
    frame = frame_text("query_id;answer;recall\nq1;1,234;0,5\nq2;0,5;1\n")
    assert frame["answer"].tolist() == ["1,234", "0,5"]
    assert frame["recall"].tolist() == [0.5, 1.0]
