from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError, UnknownValueError
from rageval_report.scores import score_table
from rageval_report.scores.query_rows import query_rows


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
