import json
import math

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, UnknownNameError
from rageval_report.scores.write import (
    BLANKS,
    review_sheet,
    save_scores,
    scores_text,
)

ANSWERS = ['He said "no"', "a\rb", "line\r\nbreak\nend", "comma, tab\t", "🦶 ümlaut \u2028 x", None]
COLUMNS = {
    "query_id": ["001", "NA", "q 3", "q,4", 'q"5"', "query\n6"],
    "answer": ANSWERS,
    "contexts": [["x", "y, z"], [], ['"'], [{"id": 1, "text": "é"}], None, [None, math.nan]],
    "turn": [1, 2, 3, 4, 5, 6],
    "recall": [0.1 + 0.2, math.nan, 1 / 3, 5e-324, 1.0, 0.0],
    "latency_ms": [1e22, 123456.789, math.nan, 0.1, 1e-7, 2.0**53],
}


@pytest.fixture
def evaluation():
    return RAGPipelineEvaluation("hybrid", COLUMNS)


def assert_scores_are_those_of(frame, evaluation):
    for name, values in evaluation.scores.items():
        np.testing.assert_array_equal(frame[name].to_numpy(dtype=float), values.to_numpy())


@pytest.mark.parametrize(("suffix", "delimiter"), [(".csv", ","), (".tsv", "\t"), (".CSV", ",")])
def test_a_table_of_text_is_read_back_by_pandas(evaluation, tmp_path, suffix, delimiter):
    path = save_scores(evaluation, tmp_path / f"scores{suffix}")
    frame = pd.read_csv(path, sep=delimiter, dtype=str, keep_default_na=False, na_values=[""])
    assert frame["query_id"].tolist() == COLUMNS["query_id"]
    assert frame["answer"].tolist()[:5] == ANSWERS[:5]
    assert pd.isna(frame["answer"][5])
    contexts = [None if isinstance(c, float) else json.loads(c) for c in frame["contexts"]]
    assert contexts == [*COLUMNS["contexts"][:5], [None, None]]
    assert_scores_are_those_of(frame, evaluation)


def test_the_id_comes_first_then_the_details_then_the_metrics(evaluation, tmp_path):
    saved = pd.read_csv(evaluation.save(tmp_path / "scores.csv"))
    assert list(saved) == ["query_id", "answer", "contexts", "turn", "recall", "latency_ms"]


def test_cells_are_quoted_only_where_they_must_be(tmp_path):
    rows = {"query_id": ["a"], "answer": ["yes"], "recall": [0.5]}
    path = RAGPipelineEvaluation("x", rows).save(tmp_path / "scores.csv")
    assert path.read_bytes() == b"query_id,answer,recall\na,yes,0.5\n"


def test_an_unknown_suffix_is_told_with_the_known_ones(evaluation, tmp_path):
    with pytest.raises(UnknownNameError, match=r"named '\.jsn'\. Did you mean '\.json'\? Known"):
        save_scores(evaluation, tmp_path / "scores.jsn")
    with pytest.raises(UnknownNameError, match=r"named 'scores'\. Known"):
        save_scores(evaluation, "scores")


def test_formulas_are_written_as_they_are_unless_the_caller_asks(tmp_path):
    evaluation = RAGPipelineEvaluation(
        "hybrid", {"query_id": ["a"], "recall": [0.5], "answer": ["=1+1"]}
    )
    assert scores_text(evaluation, ".csv") == "query_id,answer,recall\na,=1+1,0.5\n"
    assert scores_text(evaluation, ".csv", neutralise_formulas=True) == (
        "query_id,answer,recall\na,'=1+1,0.5\n"
    )
    with pytest.raises(DataError, match=r"is for \.csv and \.tsv, which spreadsheets open; \.json"):
        scores_text(evaluation, ".jsonl", neutralise_formulas=True)


def test_a_description_that_is_left_over_is_replaced_only_if_the_caller_says_so(tmp_path):
    evaluation = RAGPipelineEvaluation("hybrid", {"query_id": ["a"], "recall": [0.5]})
    path = evaluation.save(tmp_path / "scores.csv")
    path.unlink()
    with pytest.raises(DataError, match=r"scores\.csv\.meta\.json exists already"):
        evaluation.save(path, force=False)
    assert not path.exists()
    assert evaluation.save(path, force=True).read_text() == "query_id,recall\na,0.5\n"


RUN = RAGPipelineEvaluation(
    "hybrid",
    {
        "query_id": ["007", "b"],
        "contexts": [["x", "y"], None],
        "answer": ["é", None],
        "recall": [0.1 + 0.2, math.nan],
    },
)


def test_the_pandas_frame_has_the_ids_as_a_column():
    assert list(RUN.to_frame()) == ["query_id", "contexts", "answer", "recall"]


RUN_2 = RAGPipelineEvaluation(
    "hybrid",
    {
        "query_id": ["a", "-b"],
        "user_input": ["Who?", '=HYPERLINK("x")'],
        "response": ["Ada\nLovelace", None],
        "retrieved_contexts": [["one", "two"], []],
        "citations": [["d1"], None],
        "faithfulness": [0.5, math.nan],
    },
)


def test_a_row_a_query_with_blank_columns_for_the_reviewer():
    sheet = review_sheet(RUN_2)
    assert list(sheet) == [
        *("query_id", "question", "answer", "contexts", "citations", "scored_faithfulness"),
        *BLANKS,
    ]
    assert sheet.loc[0, "contexts"] == "one\ntwo"
    assert (sheet[list(BLANKS)] == "").all(axis=None)


def test_a_text_that_a_spreadsheet_would_run_is_made_harmless():
    sheet = review_sheet(RUN_2)
    assert sheet.loc[1, "question"] == '\'=HYPERLINK("x")'
    assert sheet.loc[1, "query_id"] == "'-b"


def test_a_sheet_reads_back_without_its_apostrophes(tmp_path):
    sheet = review_sheet(RUN_2)
    sheet["faithfulness"] = [1, 0]
    sheet.to_csv(tmp_path / "sheet.csv", index=False)
    found = RAGPipelineEvaluation.load("rated", tmp_path / "sheet.csv")
    assert sorted(found.scores.index) == ["-b", "a"]
    assert found.details.loc["-b", "question"] == '=HYPERLINK("x")'
