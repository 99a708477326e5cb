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


# -- which totals fit


def left_out(ids, recall, **columns):
    """The rows that `query_rows` leaves out of a table with these columns."""
    rows = query_rows(pd.DataFrame({"query_id": ids, "recall": recall, **columns}))
    return [row.row for row in rows.left_out]


def test_five_totals_are_told_in_five_notes():
    ids = [*(f"q{n}" for n in range(1, 9)), *["mean"] * 5]
    scores = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.91]
    rows = query_rows(pd.DataFrame({"query_id": ids, "recall": [*scores, *[0.46375] * 5]}))
    assert [note.partition(":")[0] for note in rows.notes] == [
        f"left out row {n}" for n in range(9, 14)
    ]


def test_a_note_shows_three_of_the_columns_that_agree():
    columns = {name: [0.0, 1.0, 0.5] for name in ("f1", "mrr", "map", "ndcg")}
    rows = query_rows(pd.DataFrame({"query_id": ["q1", "q2", "mean"], **columns}))
    assert rows.notes == (
        "left out row 3: 'mean' with f1 0.5, mrr 0.5, map 0.5 is the mean of the other rows, not "
        "a query",
    )


def test_half_of_the_columns_that_vary_must_agree():
    ids = ["q1", "q2", "mean"]
    assert left_out(ids, [0.0, 1.0, 0.5], mrr=[0.2, 0.4, 0.9]) == [2]
    with pytest.raises(DataError, match=r"row 3 .* \(recall 0\.5, mrr 0\.9, map 0\.7\) are not"):
        left_out(ids, [0.0, 1.0, 0.5], mrr=[0.2, 0.4, 0.9], map=[0.2, 0.4, 0.7])


def test_a_constant_column_agrees_with_any_total_and_decides_only_alone():
    ids = ["q1", "q2", "mean"]
    assert left_out(ids, [0.5, 0.5, 0.5]) == [2]
    with pytest.raises(DataError, match="is it a query or a total"):
        left_out(ids, [0.5, 0.5, 0.5], mrr=[0.2, 0.4, 0.9])


def test_all_columns_of_a_row_without_an_id_must_agree_and_one_must_vary():
    ids = ["q1", "q2", None]
    assert left_out(ids, [0.0, 1.0, 0.5], mrr=[0.2, 0.4, 0.3]) == [2]
    assert left_out(ids, [0.0, 1.0, 0.5], mrr=[0.2, 0.4, 0.9]) == []
    assert left_out(ids, [0.5, 0.5, 0.5]) == []


def test_the_label_of_a_total_may_be_in_another_column():
    frame = pd.DataFrame(
        {"query_id": ["q1", "q2", None], "topic": ["x", "y", "max"], "recall": [0.0, 0.75, 0.75]}
    )
    rows = query_rows(frame)
    assert rows.notes[0].startswith("left out row 3: 'max' with recall 0.75 is the maximum")


def test_a_total_of_one_query_alone_is_doubtful():
    with pytest.raises(DataError, match="row 2 is labelled 'mean'"):
        left_out(["q1", "mean", "q2", "q3"], [0.5, 0.5, 0.9, 0.3])


@pytest.mark.parametrize("dtype", [object, "string"])
def test_a_total_of_the_rows_with_the_same_text_is_left_out(dtype):
    topic = pd.Series(["x", None, "x", "x"], dtype=dtype)
    # 0.3 is the mean of 0.2 and 0.4, but not of all three.
    assert left_out(["q1", "q2", "q3", "mean"], [0.2, 0.9, 0.4, 0.3], topic=topic) == [3]


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_rows_with_a_blank_text_are_no_group(blank):
    topic = [blank, "x", blank, blank]
    with pytest.raises(DataError, match="row 4 is labelled 'mean'"):
        left_out(["q1", "q2", "q3", "mean"], [0.2, 0.9, 0.4, 0.3], topic=topic)


@pytest.mark.parametrize("text", ["Who?", "ab", "mean of two"])
def test_a_text_of_its_own_makes_a_row_a_query(text):
    assert left_out(["q1", "q2", "mean"], [0.0, 1.0, 0.5], note=["x?", "y?", text]) == []


@pytest.mark.parametrize("text", ["-", "--", "x", "x?", "all", "overall mean", "", None, {"a": 1}])
def test_dashes_labels_and_texts_of_other_rows_make_no_query(text):
    assert left_out(["q1", "q2", "mean"], [0.0, 1.0, 0.5], note=["x?", "y?", text]) == [2]


def test_an_empty_total_is_left_out_only_if_its_label_is_certain():
    rows = query_rows(pd.DataFrame({"query_id": ["q1", "q2", "max"], "recall": [0.5, 1, np.nan]}))
    assert rows.left_out == ()
    assert rows.notes == (
        "row 3 is labelled 'max': is it a query or a total? Its values (none) are not the maximum "
        'of the other rows; it counts as a query. To leave it out, pass totals="drop"',
    )
    without_id = pd.DataFrame({"query_id": ["q1", "q2", None], "recall": [0.5, 1, np.nan]})
    assert query_rows(without_id).left_out == (LeftOutRow(2, "a blank row"),)


def test_a_doubt_shows_the_values_of_the_first_three_columns():
    columns = {"f1": [0, 1, 0.9], "mrr": [0, 1, np.nan], "map": [0, 1, 0.8], "ndcg": [0, 1, 0.7]}
    rows = query_rows(pd.DataFrame({"query_id": ["q1", "q2", "min"], **columns}))
    assert "Its values (f1 0.9, map 0.8) are not the minimum of" in rows.notes[0]


@pytest.mark.parametrize(
    ("ids", "is_refused"),
    [(["red", "green", "q3", "q4"], True), (["red", "green", "blue", "q4"], False)],
)
def test_a_total_is_a_query_where_most_ids_are_words(ids, is_refused):
    frame = pd.DataFrame({"query_id": [*ids, "total"], "recall": [0.1, 0.2, 0.3, 0.4, 0.9]})
    if is_refused:
        with pytest.raises(DataError, match="row 5 is labelled 'total'"):
            query_rows(frame)
    else:
        assert "row 5 is labelled 'total'" in query_rows(frame).notes[0]


def test_the_words_of_groups_are_not_compared_where_ids_are_words():
    # 0.3 is the mean of the first two rows, which the blocks of other ids would show.
    ids = ["red", "green", "mean", "blue", "black"]
    rows = query_rows(pd.DataFrame({"query_id": ids, "recall": [0.2, 0.4, 0.3, 0.9, 0.8]}))
    assert (rows.left_out, len(rows.notes)) == ((), 1)
    numbered = ["q1", "q2", "mean", "q3", "q4"]
    assert left_out(numbered, [0.2, 0.4, 0.3, 0.9, 0.8]) == [2]


def test_texts_of_which_half_are_numbers_are_compared():
    ids, cells = ["q1", "q2", "q3", "q4", "q5", "mean"], ["0.5", "1.0", "one", "two", "none at all"]
    assert left_out(ids, [*cells, "0.75"]) == [5]
    # With one word more they are texts, and a text of its own makes a row a query.
    assert left_out(["q0", *ids], ["bad", *cells, "0.75"]) == []


def test_complex_numbers_are_not_compared():
    ids = ["q1", "q2", "mean"]
    rows = query_rows(pd.DataFrame({"query_id": ids, "recall": np.array([0, 1, 0.7], complex)}))
    assert rows.notes == ("left out row 3: 'mean' without a score is an empty total, not a query",)


# -- which rows are looked at


@pytest.mark.parametrize(
    ("row", "is_seen"), [(0, True), (99, True), (100, False), (149, False), (150, True)]
)
def test_far_from_the_ends_only_usual_spellings_are_labels(row, is_seen):
    scores = np.linspace(0, 1, 249)
    for label, is_found in (("Mean score of all queries", is_seen), ("**Mean**", True)):
        ids = np.insert(np.array([f"q{n}" for n in range(249)], dtype=object), row, label)
        assert left_out(ids, np.insert(scores, row, 0.5)) == ([row] if is_found else [])


@pytest.mark.parametrize(("row", "is_seen"), [(99, True), (100, False)])
def test_far_from_the_ends_an_id_of_blanks_is_no_total(row, is_seen):
    for blank, is_found in ((" ", is_seen), (None, True)):
        ids = np.insert(np.array([f"q{n}" for n in range(249)], dtype=object), row, blank)
        found = left_out(ids, np.insert(np.linspace(0, 1, 249), row, 0.5))
        assert found == ([row] if is_found else [])


@pytest.mark.parametrize(("n_totals", "n_left_out"), [(200, 200), (201, 0)])
@pytest.mark.parametrize("label", ["mean", None])
def test_more_than_200_totals_are_no_totals(label, n_totals, n_left_out):
    ids = [*(f"q{n}" for n in range(9)), *[label] * n_totals]
    recall = [*np.linspace(0, 1, 9), *[0.5] * n_totals]
    assert len(left_out(ids, recall)) == n_left_out


def test_rows_that_may_all_be_ids_are_queries():
    assert left_out(["max", "min"], [0.5, 1.0]) == []
    with pytest.raises(DataError, match="every row is a statistic"):
        left_out(["max", "mean"], [0.5, 1.0])


def test_totals_are_dropped_with_the_reason_that_the_caller_said_so():
    frame = pd.DataFrame({"query_id": ["q1", "max", "q2"], "recall": [0.5, 0.1, 1.0]})
    rows = query_rows(frame, totals="drop")
    assert rows.left_out == (LeftOutRow(1, "'max' names a total, and totals=\"drop\""),)
    assert rows.notes == ("left out row 2: 'max' names a total, and totals=\"drop\"",)


# -- rows without content, by their form


def texts(*rows, columns=("query_id", "recall")):
    return rows_without_content(pd.DataFrame(rows, columns=list(columns), dtype=object))


def test_half_of_the_ids_may_be_comments():
    assert [row.row for row in texts(("# a", None), ("b", "1"), ("# c", None), ("d", "0"))] == [
        0,
        2,
    ]
    assert texts(("# a", None), ("# b", "1"), ("# c", None), ("d", "0")) == []
    long = [("q", "1")] * 300 + [("# a", None)] * 301
    assert texts(*long) == []
    assert len(texts(*long[1:], ("q", "1"), ("q", "1"))) == 301


def test_a_comment_may_have_text_where_other_rows_have_numbers():
    rows = [("q1", "0.5"), ("# run 2", "after lunch"), ("q2", "1")]
    assert texts(*rows) == [LeftOutRow(1, "a comment")]
    marked = [("# q1", "0.5"), ("# run 2", "after lunch"), ("q2", "1")]
    assert texts(*marked) == []


@pytest.mark.parametrize("label", [None, np.nan, pd.NA, "", " "])
def test_a_row_whose_cells_are_all_missing_is_blank(label):
    assert texts(("q1", "0.5"), (label, None)) == [LeftOutRow(1, "a blank row")]
    numeric = pd.DataFrame({"query_id": ["q1", label], "recall": [0.5, np.nan]})
    assert rows_without_content(numeric) == [LeftOutRow(1, "a blank row")]


@pytest.mark.parametrize("label", [0, 7, 0.5, True, ("a",)])
def test_a_row_with_an_id_that_is_no_text_is_a_query(label):
    assert texts(("q1", "0.5"), (label, None)) == []


@pytest.mark.parametrize("dtype", [object, "string", "str"])
def test_cells_of_blanks_are_blank_in_every_type_of_text(dtype):
    frame = pd.DataFrame({"query_id": ["q1", "# x", "--"], "note": ["a", "  ", None]})
    frame["note"] = frame["note"].astype(dtype) if dtype != "str" else frame["note"]
    reasons = [LeftOutRow(1, "a comment"), LeftOutRow(2, "a line of dashes")]
    assert rows_without_content(frame) == reasons


def test_a_table_whose_rows_would_all_be_left_out_keeps_them():
    assert texts(("--", None), ("==", None)) == []
    assert texts(("query_id", "recall"), ("query_id", "recall")) == []
    assert rows_without_content(pd.DataFrame({"query_id": ["--", "a"]})) == [
        LeftOutRow(0, "a line of dashes")
    ]


def test_an_id_of_dashes_with_a_score_is_a_query():
    assert texts(("q1", "0.5"), ("--", "1"), ("=", "0")) == []


def test_half_of_the_cells_of_a_column_of_numbers_are_numbers():
    rows = [("q1", "0.5"), ("q2", "1"), ("q3", "oops"), ("string", "float64")]
    assert texts(*rows) == [LeftOutRow(3, "a row of units or types")]
    assert texts(("q0", "bad"), *rows) == []


def test_a_table_without_a_column_of_numbers_has_no_row_of_units():
    assert texts(("q1", "red"), ("string", "text"), ("q2", "blue")) == []


@pytest.mark.parametrize(
    "row", [("id", "(s)"), ("-", "[0,1]"), ("%", "%"), ("n/a", "Percent"), ("String", "[0-1]")]
)
def test_units_may_have_brackets_and_any_case(row):
    assert texts(("q1", "0.5"), row, ("q2", "1")) == [LeftOutRow(1, "a row of units or types")]


@pytest.mark.parametrize("row", [("n/a", "-"), ("-", "n/a"), ("string", "who"), ("s", "0.5")])
def test_words_for_unscored_are_no_units(row):
    assert texts(("q1", "0.5"), row, ("q2", "1")) == []


def test_a_query_may_be_named_like_a_column():
    columns = ("query_id", "recall", "mrr")
    rows = [("q1", "0.5", "1"), ("recall", None, None), ("q2", "1", "0")]
    assert texts(*rows, columns=columns) == []
    with pytest.raises(DataError, match=r"row 2 is another header \(recall, mrr\) than the first"):
        texts(rows[0], ("recall", "mrr", None), columns=columns)
    with pytest.raises(DataError, match=r"row 2 is another header \(query_id, f1\) than the first"):
        texts(rows[0], ("query_id", "f1", None), columns=columns)
    assert texts(rows[0], ("recall", "mrr", "0.5"), columns=columns) == []


@pytest.mark.parametrize("name", ["qid", "id", "query_id", "Query ID"])
def test_an_index_with_the_name_of_ids_goes_before_the_questions(name):
    index = pd.Index([1], name=name)
    assert label_cells(pd.DataFrame({"question": ["a?"]}, index=index)).name == name
    number = pd.DataFrame({"question": ["a?"]}, index=index.rename("n"))
    assert label_cells(number).name == "question"
    assert label_cells(pd.DataFrame({"question": ["a?"]}, index=["x"])).tolist() == ["x"]
