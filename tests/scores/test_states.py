"""The four states of a score, counted by hand."""

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.scores import score_table
from rageval_report.scores.states import (
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
