import io

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, UnknownNameError


@pytest.fixture
def runs():
    a = RAGPipelineEvaluation(
        "a",
        {"query_id": ["q1", "q2"], "question": ["x?", "y?"], "answer": ["1", "2"], "sas": [0.5, 1]},
    )
    b = RAGPipelineEvaluation(
        "b",
        {"query_id": ["q2", "q3"], "question": ["y?", "z?"], "answer": ["3", "4"], "sas": [0.2, 0]},
    )
    return a, b


def test_aggregates_are_two_lists(runs):
    assert runs[0].aggregated_report() == {"metrics": ["sas"], "score": [0.75]}


def test_details_come_before_metrics(runs):
    assert runs[0].detailed_report() == {
        "query_id": ["q1", "q2"],
        "question": ["x?", "y?"],
        "answer": ["1", "2"],
        "sas": [0.5, 1.0],
    }


def test_rows_are_paired_by_id_and_none_is_lost(runs):
    frame = runs[0].comparative_detailed_report(runs[1], output_format="df").set_index("query_id")
    assert frame.index.tolist() == ["q1", "q2", "q3"]
    assert frame.loc["q2", ["a_sas", "b_sas"]].tolist() == [1.0, 0.2]
    assert pd.isna(frame.loc["q1", "b_sas"])
    assert pd.isna(frame.loc["q3", "a_sas"])


def test_kept_columns_are_shown_of_both(runs):
    report = runs[0].comparative_detailed_report(runs[1], keep_columns=["answer"])
    assert list(report) == [
        *("query_id", "question", "a_answer", "a_sas", "b_answer", "b_sas"),
    ]
    assert report["b_answer"][1] == "3"


def test_csv_is_text_and_a_file_on_request(runs, tmp_path):
    path = tmp_path / "detailed.csv"
    text = runs[0].detailed_report("csv", csv_file=path)
    assert path.read_text(encoding="utf-8") == text
    assert pd.read_csv(io.StringIO(text))["sas"].tolist() == [0.5, 1.0]


def test_an_unknown_format_or_column_is_named(runs):
    with pytest.raises(UnknownNameError, match='output_format must be "json"'):
        runs[0].aggregated_report("xml")
    with pytest.raises(UnknownNameError, match="anwser"):
        runs[0].comparative_detailed_report(runs[1], keep_columns=["anwser"])


def test_equal_names_are_refused(runs):
    with pytest.raises(DataError, match="each its own name"):
        runs[0].comparative_detailed_report(runs[0])


def test_a_file_in_the_place_of_a_folder_is_told(runs, tmp_path):
    (tmp_path / "none").write_text("")
    with pytest.raises(DataError, match="cannot be written"):
        runs[0].detailed_report("csv", csv_file=tmp_path / "none" / "x.csv")
