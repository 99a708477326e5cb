"""The four states of a score, counted by hand."""

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import DataError
from rageval_report.scores import score_table
from rageval_report.scores.states import (
    state_column_kind,
    state_columns,
    states_frame,
    states_of,
    unscored_reasons,
)

NAN = float("nan")


def table_of(cells, **options):
    data = {"query_id": [f"q{i}" for i in range(len(cells))], "faithfulness": cells}
    return score_table(data, unreadable="failed", **options)


def test_what_applies_to_no_query_goes_before_what_failed():
    states = states_of([1, NAN, NAN, NAN], applies=[1, 0, 1, 1], failed=[1, 1, 1, 0])
    assert states.tolist() == ["scored", "not applicable", "failed", "missing"]


def test_a_cell_of_a_file_that_is_no_score_failed_and_is_told():
    table = table_of(["0.5", "the judge rambled", None, "n/a"])
    assert table.details["faithfulness_state"].tolist() == [
        *("scored", "failed", "missing", "not applicable")
    ]
    assert table.details["faithfulness_reason"].tolist()[1] == "the judge rambled"
    assert (
        "1 cells of 'faithfulness' hold no score and count as failed: 'the judge rambled' at 'q1'"
        in table.notes
    )


def test_where_nothing_but_blanks_is_missing_no_column_says_so():
    assert list(table_of([0.5, None]).details) == []
    assert list(table_of(["0.5", ""]).details) == []


def test_a_state_that_the_file_gives_is_kept():
    data = {
        "query_id": ["a", "b", "c"],
        "recall": [0.5, NAN, NAN],
        "recall_state": ["scored", "failed", "not applicable"],
        "recall_reason": [None, "timeout", "0.5"],
    }
    evaluation = RAGPipelineEvaluation("run", data)
    assert list(evaluation.scores) == ["recall"]
    assert evaluation.states["recall"].tolist() == ["scored", "failed", "not applicable"]
    assert "recall failed: 'timeout' 1" in evaluation.evaluation_report().notes
    assert any(
        "2 recall (1 failed, 1 not applicable)" in n for n in evaluation.evaluation_report().notes
    )


def test_an_error_of_the_row_is_the_reason_of_all_that_is_unscored():
    details = pd.DataFrame({"error": [None, "  ", "500", "500"]})
    scores = pd.DataFrame({"recall": [NAN, NAN, NAN, 1.0]})
    assert states_frame(scores, details)["recall"].tolist() == [
        *("missing", "missing", "failed", "scored")
    ]
    assert unscored_reasons(details, "recall").tolist() == [None, None, "500", "500"]


def test_a_column_that_only_ends_so_is_a_column_like_any():
    assert state_column_kind("solid_state", ["recall"]) is None
    data = {"query_id": ["a"], "recall": [1.0], "solid_state": [0.5]}
    assert list(RAGPipelineEvaluation("run", data).scores) == ["recall", "solid_state"]


def test_states_are_written_only_where_they_say_more_than_nan():
    assert state_columns("recall", ["scored", "missing"]) == {}
    assert state_columns("recall", ["failed"]) == {"recall_state": ["failed"]}


@pytest.mark.parametrize("low", [-0.0001, 1.0005])
def test_a_score_a_little_outside_its_bounds_is_moved_with_a_note(low):
    table = table_of([0.5, low])
    assert table.scores["faithfulness"].tolist() == [0.5, round(low)]
    assert any("lie slightly outside 0 to 1" in note and "'q1'" in note for note in table.notes)
    with pytest.raises(DataError, match=r"must lie between 0 and 1; got .* at 'q1'"):
        table_of([0.5, low], strict=True)


def test_a_score_just_below_its_bound_is_kept_as_it_is():
    assert table_of(["0.9999999999"]).scores["faithfulness"].tolist() == [0.9999999999]


def test_steps_with_their_range_make_a_metric_ordinal():
    table = table_of(["4 (1-5)", "2 (1-5)"])
    assert table.metrics["faithfulness"].kind == "ordinal"
    assert table.metrics["faithfulness"].bounds == (1.0, 5.0)


@pytest.mark.parametrize(
    ("cells", "is_metric"),
    [
        (["4/5", "3/5", "5/5"], True),
        (["4/5", "3/6", "5/9"], False),
        (["83 %", "7 %"], True),
        (["pass", "fail"], True),
        (["yes", "no"], False),
        (["C", "I"], False),
    ],
)
def test_an_unknown_column_is_a_metric_where_its_cells_can_be_nothing_else(cells, is_metric):
    data = {"query_id": list("abc")[: len(cells)], "recall": [1.0] * len(cells), "quality": cells}
    assert ("quality" in score_table(data).scores) == is_metric
    assert "quality" in score_table(data, metrics=["quality"]).scores


def test_words_that_became_scores_are_told():
    data = {"query_id": ["a", "b"], "verdict": ["pass", "fail"]}
    assert "'verdict': 'fail' is read as 0, 'pass' is read as 1" in score_table(data).notes


def test_each_metric_has_the_states_of_its_own_column():
    data = {
        "query_id": ["a", "b", "c"],
        "recall": [1.0, None, None],
        "mrr": [None, 1.0, None],
        "mrr_state": ["failed", None, "not applicable"],
        "Recall_state": [None, "not applicable", "failed"],
        "mrr_reason": ["timeout", None, None],
        "recall_reason": [None, "no gold", "refused"],
    }
    details = score_table(data).details
    states = details.rename(columns=str.lower)
    assert states["recall_state"].tolist()[1:] == ["not applicable", "failed"]
    assert states["mrr_state"].tolist()[::2] == ["failed", "not applicable"]
    assert states["recall_reason"].tolist()[1:] == ["no gold", "refused"]
