from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, UnknownValueError
from rageval_report.scores import score_table
from rageval_report.scores.query_rows import (
    LeftOutRow,
    QueryRows,
    label_cells,
    left_out_note,
    query_rows,
    reason_of_line,
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
    assert "recall" in note


@pytest.mark.parametrize("place", [0, 13])
def test_a_total_may_stand_anywhere(scores, place):
    total = pd.DataFrame([{"query_id": "Total", **means(scores)}])
    frame = pd.concat([scores[:place], total, scores[place:]], ignore_index=True)
    assert RAGPipelineEvaluation("a", frame).n_queries == 25


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
    assert any("and 3 more" in note or "row 33" in note for note in evaluation.notes)


@pytest.mark.parametrize("as_index", [True, False])
def test_describe_alone_is_no_table_of_queries(scores, as_index):
    described = scores.describe()
    frame = described if as_index else described.reset_index(names="query_id")
    with pytest.raises(DataError, match=r"every row is a statistic.*totals=\"keep\""):
        RAGPipelineEvaluation("a", frame)


def test_describe_turned_round_is_no_table_of_queries(scores):
    turned = scores.describe().T
    turned.index.name = "id"
    with pytest.raises(DataError, match="statistics"):
        RAGPipelineEvaluation("a", turned)


def test_totals_of_groups_are_left_out(scores):
    parts = [
        with_row(part, "average", **means(part)) for part in (scores[:9], scores[9:15], scores[15:])
    ]
    frame = with_row(pd.concat(parts, ignore_index=True), "overall", **means(scores))
    evaluation = RAGPipelineEvaluation("a", frame)
    assert list(evaluation.scores.index) == scores["query_id"].tolist()


def test_totals_of_shuffled_groups_are_found_by_their_name(scores):
    topics = scores.assign(topic=["x", "y", "z", "x", "x"] * 5)
    totals = [
        {"query_id": "mean", "topic": topic, **means(part)}
        for topic, part in topics.groupby("topic")
    ]
    frame = pd.concat([topics, pd.DataFrame(totals)], ignore_index=True)
    assert RAGPipelineEvaluation("a", frame).n_queries == 25


@pytest.mark.parametrize("blank", [None, "", "  "])
def test_a_total_without_an_id_is_left_out(scores, blank):
    evaluation = RAGPipelineEvaluation("a", with_row(scores, blank, **means(scores)))
    assert evaluation.n_queries == 25
    assert any("it has no id" in note and "mean" in note for note in evaluation.notes)


def test_a_row_without_an_id_that_is_no_total_is_refused(scores):
    with pytest.raises(DataError, match="every row needs a query id"):
        RAGPipelineEvaluation("a", with_row(scores, None, recall=0.9, mrr=0.1))


@pytest.mark.parametrize("label", ["mean", "overall", "Total"])
def test_a_total_that_does_not_fit_is_refused_with_both_readings(scores, label):
    frame = with_row(scores, label, recall=0.99, mrr=0.01)
    with pytest.raises(DataError, match=r"row 26 .* is it a query or a total"):
        RAGPipelineEvaluation("a", frame)
    assert RAGPipelineEvaluation("a", frame, totals="drop").n_queries == 25
    assert RAGPipelineEvaluation("a", frame, totals="keep").n_queries == 26


@pytest.mark.parametrize("label", ["max", "count", "totale"])
def test_a_word_that_may_be_an_id_is_kept_with_a_note(scores, label):
    evaluation = RAGPipelineEvaluation("a", with_row(scores, label, recall=0.99, mrr=0.01))
    assert evaluation.n_queries == 26
    assert any("row 26" in note and 'totals="drop"' in note for note in evaluation.notes)


def test_a_query_named_total_among_words_is_kept_with_a_note():
    ids = ["revenue", "profit", "total", "net income"]
    evaluation = RAGPipelineEvaluation("a", {"query_id": ids, "recall": [0.5, 0.25, 1.0, 0.75]})
    assert evaluation.n_queries == 4
    assert any("'total'" in note for note in evaluation.notes)


def test_a_row_with_a_question_of_its_own_is_a_query():
    data = {
        "query_id": ["q1", "q2", "all"],
        "question": ["Who?", "When?", "Which of all?"],
        "recall": [0.5, 1.0, 0.75],  # the mean of the others
    }
    assert RAGPipelineEvaluation("a", data).n_queries == 3


def test_a_query_named_all_counts_for_the_mean_below():
    ids = ["red", "green", "all", "mean"]
    recall = [0.5, 1.0, 0.25, round((0.5 + 1.0 + 0.25) / 3, 4)]
    evaluation = RAGPipelineEvaluation("a", {"query_id": ids, "recall": recall})
    assert list(evaluation.scores.index) == ["red", "green", "all"]


def test_numbers_written_as_texts_are_compared_too():
    data = {"query_id": ["a1", "a2", "mean"], "recall": ["50 %", "25 %", "37.5 %"]}
    assert RAGPipelineEvaluation("a", data).n_queries == 2


@pytest.mark.parametrize("totals", ["yes", None])
def test_totals_has_three_values(scores, totals):
    with pytest.raises(UnknownValueError, match="totals must be"):
        query_rows(scores, totals=totals)


# -- rows without content


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (["query_id", "recall"], "header"),
        (["Query_ID ", " Recall"], "header"),
        (["---", ":--:"], "dashes"),
        (["====", "===="], "dashes"),
        (["", "[0,1]"], "units"),
        (["string", "float64"], "units"),
        ([None, None], "blank"),
        (["", " "], "blank"),
        (["# second run", None], "comment"),
        (["// see wiki", ""], "comment"),
        (["(3 rows)", None], "footer"),
        (["12 rows in set (0.01 sec)", ""], "footer"),
    ],
)
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_row_that_holds_no_query_is_left_out(row, reason, place):
    rows = [["q1", "0.5"], ["q2", "1"], ["q3", "0"], ["q4", "0.25"]]
    frame = pd.DataFrame([*rows[:place], row, *rows[place:]], columns=["query_id", "recall"])
    evaluation = RAGPipelineEvaluation("a", frame)
    assert evaluation.scores["recall"].tolist() == [0.5, 1, 0, 0.25]
    assert any(reason in note and f"row {place + 1}" in note for note in evaluation.notes)


@pytest.mark.parametrize("ids", [["#1", "#2", "#3"], ["// a", "// b", "// c"]])
def test_ids_may_begin_like_comments(ids):
    table = score_table({"query_id": ids, "recall": [0.5, None, None]})
    assert list(table.scores.index) == ids


def test_a_query_without_scores_stays():
    table = score_table({"query_id": ["a", "b", "c"], "recall": [0.5, None, None]})
    assert len(table.scores) == 3


def test_a_failed_row_stays_and_has_failed():
    data = {"query_id": ["a", "b", "c"], "recall": [0.5, "timeout", 1], "mrr": [1, "timeout", 0]}
    table = score_table(data, unreadable="failed")
    assert table.scores["recall"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize("row", [["mrr", "query_id", "recall"], ["query_id", "mrr", "f1"]])
def test_a_header_with_other_columns_is_refused(row):
    rows = [["q1", "0.5", "1"], row, ["q2", "1", "0.25"]]
    frame = pd.DataFrame(rows, columns=["query_id", "recall", "mrr"])
    with pytest.raises(DataError, match="row 2 is another header"):
        score_table(frame)


def test_rows_of_an_index_of_numbers_keep_no_gap():
    frame = pd.DataFrame({"question": ["a?", None, "b?"], "recall": [0.5, np.nan, 1.0]})
    assert score_table(frame).scores["recall"].tolist() == [0.5, 1.0]


def test_a_plain_table_is_not_copied(scores):
    assert query_rows(scores).select(scores) is scores


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        *((line, "a line of dashes") for line in ("--", "|---|:--:|", "+--+--+", ":-:", "-")),
        *(
            (line, "the footer of a database shell")
            for line in ("(107 rows)", "1 row", "1,200 rows selected.", "Rows: 3", "Query OK, done",
                         "Time: 3.5 ms", "12 rows in set (0.01 sec)", "2 rows affected;")
        ),
        *((line, "a comment") for line in ("# note", "// note", "-- note", "% note", "  # note")),
        *((line, None) for line in ("q7", "--note", "%note", "a - b", "rows", "7", "q - -", "/ x")),
    ],
)  # fmt: skip
def test_a_line_is_named_by_its_form(line, reason):
    assert reason_of_line(line) == reason
    without = None if reason == "a comment" else reason
    assert reason_of_line(line, may_be_comment=False) == without


def test_a_note_names_five_places_and_counts_the_others():
    places = [f"line {n}" for n in range(1, 8)]
    assert left_out_note(places[:1], "x") == "left out, because it is not a query: line 1 (x)"
    assert left_out_note(places[:5], "x").endswith("line 1, line 2, line 3, line 4, line 5 (x)")
    assert left_out_note(iter(places), "x") == (
        "left out, because they are not queries: "
        "line 1, line 2, line 3, line 4, line 5 and 2 more (x)"
    )


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


def test_the_rows_that_stay_keep_names_but_not_numbers():
    rows = QueryRows((LeftOutRow(1, "x"),))
    assert rows.is_query(3).tolist() == [True, False, True]
    numbered = pd.DataFrame({"a": pd.Series([1, "x", 2], dtype=object)})
    assert rows.select(numbered).index.tolist() == [0, 1]
    assert rows.select(numbered)["a"].dtype == np.int64
    assert rows.select(numbered.set_axis(["p", "q", "r"])).index.tolist() == ["p", "r"]


@pytest.mark.parametrize(
    ("frame", "label"),
    [
        (pd.DataFrame(columns=["question", "QID", "recall"]), "QID"),
        (pd.DataFrame(columns=["id", "Query ID"]), "Query ID"),
        (pd.DataFrame(columns=["recall", "Question"]), "Question"),
        (pd.DataFrame({"recall": [1]}, index=pd.Index(["a"], name="qid")), "qid"),
        (pd.DataFrame({"id": ["b"]}, index=pd.Index(["a"], name="query_id")), "query_id"),
        (pd.DataFrame({"recall": [1]}, index=pd.Index(["a"], name="run")), "run"),
    ],
)
def test_rows_are_named_by_their_ids_an_index_or_the_questions(frame, label):
    assert label_cells(frame).name == label


def test_rows_may_have_no_names():
    assert label_cells(pd.DataFrame({"recall": [1.0]})) is None
    levels = pd.MultiIndex.from_tuples([("a", "b")], names=["query_id", "x"])
    assert label_cells(pd.DataFrame({"recall": [1.0]}, index=levels)) is None
    assert label_cells(pd.DataFrame({"name": ["a"], "id": ["b"]}), "name").tolist() == ["a"]
    assert rows_without_content(pd.DataFrame({"recall": ["-", "--"]})) == []


def test_more_than_five_totals_are_told_in_six_notes():
    ids = [*(f"q{n}" for n in range(1, 9)), *["mean"] * 7]
    scores = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.91]
    frame = pd.DataFrame({"query_id": ids, "recall": [*scores, *[0.46375] * 7]})
    rows = query_rows(frame)
    assert [row.row for row in rows.left_out] == list(range(8, 15))
    assert len(rows.notes) == 6
    assert rows.notes[0] == (
        "left out row 9: 'mean' with recall 0.46375 is the mean of the other rows, not a query"
    )
    assert rows.notes[5] == "left out for the same reason: row 14, row 15"


def test_an_empty_total_is_left_out():
    ids = ["q1", "q2", "mean"]
    rows = query_rows(pd.DataFrame({"query_id": ids, "recall": [0.5, 1.0, np.nan]}))
    assert [row.row for row in rows.left_out] == [2]
    assert "'mean' without a score is an empty total" in rows.notes[0]
    kept = query_rows(
        pd.DataFrame(
            {"query_id": ids, "recall": [0.5, 1.0, np.nan], "question": ["Who?", "Why?", "What?"]}
        )
    )
    assert (kept.left_out, kept.notes) == ((), ())  # a question of its own makes it a query


def test_a_total_of_the_block_before_or_after_it_is_left_out():
    ids = ["q1", "q2", "mean", "q3", "q4", "average"]
    recall = [1.0, 0.0, 0.5, 0.8, 0.6, 0.7]
    rows = query_rows(pd.DataFrame({"query_id": ids, "recall": recall}))
    assert [row.row for row in rows.left_out] == [2, 5]
    turned = query_rows(pd.DataFrame({"query_id": ids[::-1], "recall": recall[::-1]}))
    assert [row.row for row in turned.left_out] == [0, 3]


def test_rows_named_by_several_totals_of_which_one_does_not_fit_are_refused():
    frame = pd.DataFrame({"query_id": ["q1", "q2", "sum"], "recall": [1.0, 0.5, 1.5]})
    assert query_rows(frame).notes[0].startswith("left out row 3: 'sum' with recall 1.5 is the sum")
    frame.loc[2, "recall"] = 1.6
    with pytest.raises(DataError, match=r"row 3 is labelled 'sum': .* \(recall 1\.6\) are not the"):
        query_rows(frame)


def test_statistics_as_columns_are_refused_only_if_all_are_there():
    names = ["count", "mean", "std", "min", "25%", "50%", "75%", "max"]
    frame = pd.DataFrame([[1.0] * 8], columns=names).assign(id="recall")
    with pytest.raises(DataError, match="the columns are statistics"):
        rows_without_content(frame)
    assert rows_without_content(frame.drop(columns="std")) == []


def test_single_dashes_are_missing_cells_and_no_line_of_dashes():
    frame = pd.DataFrame([["q1", "0.5"], ["-", "-"], ["q2", "1"]], columns=["query_id", "recall"])
    assert rows_without_content(frame) == []
    frame.loc[1] = ["--", "-"]
    assert rows_without_content(frame) == [LeftOutRow(1, "a line of dashes")]
