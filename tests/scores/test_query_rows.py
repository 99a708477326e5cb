from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, UnknownValueError
from rageval_report.scores.query_rows import (
    LeftOutRow,
    query_rows,
    rows_without_content,
)


@pytest.fixture
def scores():
    rng = np.random.default_rng(3)
    ids = [f"q{i}" for i in range(25)]
    return pd.DataFrame({"query_id": ids, "recall": rng.random(25), "mrr": rng.random(25)})


def with_row(frame, label, **cells):
    return pd.concat([frame, pd.DataFrame([{"query_id": label, **cells}])], ignore_index=True)


def means(frame):
    return frame[["recall", "mrr"]].mean().round(4).to_dict()


@pytest.mark.parametrize("label", ["mean", "Average:", "ALL", "overall mean", "Moyenne", "(mean)"])
def test_a_row_of_means_is_left_out_with_a_note(scores, label):
    evaluation = RAGPipelineEvaluation("a", with_row(scores, label, **means(scores)))
    assert evaluation.n_queries == 25
    assert evaluation.scores["recall"].mean() == pytest.approx(scores["recall"].mean(), rel=1e-15)
    [note] = evaluation.notes
    assert "row 26" in note
    assert repr(label) in note


def test_shuffled_rows_give_the_same_scores(scores):
    frame = with_row(scores, "mean", **means(scores))
    shuffled = frame.sample(frac=1, random_state=4)
    [one, other] = [RAGPipelineEvaluation("a", rows).scores for rows in (frame, shuffled)]
    pd.testing.assert_frame_equal(one.sort_index(), other.sort_index())


def test_describe_below_the_rows_is_left_out(scores):
    described = scores[["recall", "mrr"]].describe()
    frame = pd.concat([scores.set_index("query_id"), described])
    frame.index.name = "query_id"
    evaluation = RAGPipelineEvaluation("a", frame)
    assert evaluation.n_queries == 25
    assert any("row 33 ('max' names a total" in note for note in evaluation.notes)


@pytest.mark.parametrize("as_index", [True, False])
def test_describe_alone_is_no_table_of_queries(scores, as_index):
    described = scores.describe()
    frame = described if as_index else described.reset_index(names="query_id")
    with pytest.raises(DataError, match=r"every row is a statistic.*totals=\"keep\""):
        RAGPipelineEvaluation("a", frame)


def test_a_row_without_an_id_that_is_no_total_is_refused(scores):
    with pytest.raises(DataError, match="every row needs a query id"):
        RAGPipelineEvaluation("a", with_row(scores, None, recall=0.9, mrr=0.1))


def test_a_total_among_ids_that_are_words_is_refused_with_both_readings():
    frame = pd.DataFrame({"query_id": ["red", "green", "all"], "recall": [0.5, 1.0, 0.75]})
    with pytest.raises(DataError, match=r"row 3 .* is it a query or a total"):
        RAGPipelineEvaluation("a", frame)
    assert RAGPipelineEvaluation("a", frame, totals="drop").n_queries == 2
    assert RAGPipelineEvaluation("a", frame, totals="keep").n_queries == 3


@pytest.mark.parametrize("label", ["max", "count", "totale", "mean 3"])
def test_a_word_that_may_be_an_id_is_a_query(scores, label):
    frame = with_row(scores, label, recall=0.99, mrr=0.01)
    assert RAGPipelineEvaluation("a", frame).n_queries == 26
    assert RAGPipelineEvaluation("a", with_row(scores, "mean"), totals="keep").n_queries == 26


def test_a_query_with_a_question_of_its_own_is_no_total(scores):
    frame = with_row(scores.assign(question="Who?"), "mean", recall=0.5, question="What is mean?")
    assert RAGPipelineEvaluation("a", frame).n_queries == 26


@pytest.mark.parametrize("totals", ["yes", None])
def test_totals_has_three_values(scores, totals):
    with pytest.raises(UnknownValueError, match="totals must be"):
        query_rows(scores, totals=totals)


# -- rows without content


def test_a_plain_table_is_not_copied(scores):
    assert query_rows(scores).select(scores) is scores


def test_what_is_left_out_is_told_in_one_note_for_each_reason():
    ids = ["q1", None, "# x", "q2", None, "q3"]
    frame = pd.DataFrame({"query_id": ids, "recall": [1, None, None, 0.5, None, 0]})
    rows = query_rows(frame)
    assert rows.left_out == (
        LeftOutRow(1, "a blank row"), LeftOutRow(2, "a comment"), LeftOutRow(4, "a blank row")
    )  # fmt: skip
    assert rows.notes == (
        "left out, because they are not queries: row 2, row 5 (a blank row)",
        "left out, because it is not a query: row 3 (a comment)",
    )
    assert query_rows(frame, totals="keep").left_out == rows.left_out


def test_more_than_five_totals_are_told_in_one_note():
    ids = [*(f"q{n}" for n in range(1, 9)), *["mean"] * 7]
    rows = query_rows(pd.DataFrame({"query_id": ids, "recall": [0.5] * 15}))
    assert [row.row for row in rows.left_out] == list(range(8, 15))
    [note] = rows.notes
    assert "row 13 and 2 more ('mean' names a total" in note


def test_single_dashes_are_missing_cells_and_no_line_of_dashes():
    frame = pd.DataFrame([["q1", "0.5"], ["-", "-"], ["q2", "1"]], columns=["query_id", "recall"])
    assert rows_without_content(frame) == []
    frame.loc[1] = ["--", "-"]
    assert rows_without_content(frame) == [LeftOutRow(1, "a line of dashes")]


def left_out(ids, recall, **columns):
    """The rows that `query_rows` leaves out of a table with these columns."""
    rows = query_rows(pd.DataFrame({"query_id": ids, "recall": recall, **columns}))
    return [row.row for row in rows.left_out]


# -- which rows are looked at


@pytest.mark.parametrize("row", [0, 100, 249])
@pytest.mark.parametrize("label", ["Mean score of all queries", "**Mean**"])
def test_a_total_is_found_wherever_it_stands(row, label):
    ids = np.insert(np.array([f"q{n}" for n in range(249)], dtype=object), row, label)
    assert left_out(ids, np.insert(np.linspace(0, 1, 249), row, 0.5)) == [row]


# -- rows without content, by their form


def texts(*rows, columns=("query_id", "recall")):
    return rows_without_content(pd.DataFrame(rows, columns=list(columns), dtype=object))


def test_a_query_may_be_named_like_a_column():
    columns = ("query_id", "recall", "mrr")
    rows = [("q1", "0.5", "1"), ("recall", None, None), ("q2", "1", "0")]
    assert texts(*rows, columns=columns) == []
    with pytest.raises(DataError, match=r"row 2 is another header \(recall, mrr\) than the first"):
        texts(rows[0], ("recall", "mrr", None), columns=columns)
    with pytest.raises(DataError, match=r"row 2 is another header \(query_id, f1\) than the first"):
        texts(rows[0], ("query_id", "f1", None), columns=columns)
    assert texts(rows[0], ("recall", "mrr", "0.5"), columns=columns) == []
