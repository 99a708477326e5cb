from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
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
    assert frame_text(text, decimal=".")["latency"].tolist() == [1234.0, 2345.0]


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


# -- the option, in every kind of table


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".json", ".jsonl", ".parquet", ".xlsx"])
@pytest.mark.parametrize(("decimal", "numbers"), [(",", [1.234, 0.5]), (".", [1234.0, 500.0])])
def test_every_kind_of_table_takes_the_decimal_sign(tmp_path, suffix, decimal, numbers):
    latency = ["1,234", "0,5" if decimal == "," else "500"]
    frame = pd.DataFrame({"query_id": ["q1", "q2"], "latency": latency, "answer": ["1,5", "x"]})
    path = tmp_path / f"scores{suffix}"
    write = {
        ".csv": lambda: frame.to_csv(path, index=False),
        ".tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        ".json": lambda: frame.to_json(path, orient="records"),
        ".jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        ".parquet": lambda: frame.to_parquet(path),
        ".xlsx": lambda: frame.to_excel(path, index=False),
    }
    write[suffix]()
    evaluation = RAGPipelineEvaluation.load(None, path, decimal=decimal)
    assert evaluation.scores["latency"].tolist() == numbers
    assert evaluation.details["answer"].tolist() == ["1,5", "x"]


def test_units_beside_numbers_follow_the_decimal_sign(frame_text):
    text = 'query_id,latency,cost\nq1,"1,234 ms",3\nq2,2 ms,4\n'
    assert frame_text(text, decimal=",")["latency"].tolist() == ["1.234 ms", "2 ms"]
    assert frame_text(text, decimal=".")["latency"].tolist() == ["1234 ms", "2 ms"]


def test_a_number_with_the_other_decimal_sign_is_refused(read_text):
    with pytest.raises(ReaderError, match=r"'0\.5' in column 'latency' cannot have .*decimal=','"):
        read_text('query_id,latency\nq1,"1,234"\nq2,0.5\n', decimal=",")


# -- without the option, the cells of a metric decide


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (['"1,234"', "873"], [1234.0, 873.0]),
        (['"12,345.6 ms"', "873"], [12345.6, 873.0]),
        (['"1 234,5"', "873"], [1234.5, 873.0]),
        (['"0,83"', '"1,25"'], [0.83, 1.25]),
    ],
)
def test_no_call_is_unscored_because_of_a_quoted_comma(read_text, cells, numbers):
    found = read_text("query_id,latency\n" + "".join(f"q{i},{c}\n" for i, c in enumerate(cells)))
    table = score_table(found.frame, unreadable="failed")
    assert table.scores["latency"].tolist() == numbers
    assert table.notes


def test_the_error_on_a_file_names_the_file_the_queries_and_the_option(tmp_path):
    path = tmp_path / "slow.csv"
    path.write_text('query_id,latency\nq1,"1,234"\nq2,0.5\n')
    with pytest.raises(ReaderError, match=r"slow\.csv: .*'1,234' at 'q1' beside '0\.5' at 'q2'"):
        RAGPipelineEvaluation.load(None, path)
    assert RAGPipelineEvaluation.load(None, path, decimal=".").scores["latency"].tolist() == [
        1234.0,
        0.5,
    ]
