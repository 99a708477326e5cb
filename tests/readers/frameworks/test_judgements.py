from __future__ import annotations

import math
from collections import defaultdict

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.readers.frameworks.judgements import (
    Judgement,
    average_repeats,
    judgement_columns,
)
from rageval_report.readers.json_shapes import ShapeError

ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.none() | st.integers(0, 8).map(lambda n: n / 8)),
    min_size=1,
)


@given(ROWS)
def test_the_mean_of_repeats_is_the_mean_of_those_that_are_scored(rows):
    scores = defaultdict(list)
    for key, score in rows:
        scores[key].append(score)
    frame = pd.DataFrame(rows, columns=["query_id", "f1"]).astype({"f1": float})
    found, _ = average_repeats(frame, "query_id", ["f1"])
    assert found["query_id"].tolist() == list(scores)
    for mean, given_scores in zip(found["f1"], scores.values(), strict=True):
        scored = [score for score in given_scores if score is not None]
        told = math.fsum(scored) / len(scored) if scored else math.nan
        assert mean == pytest.approx(told, nan_ok=True)


def test_rows_without_repeats_stay_as_they_are():
    frame = pd.DataFrame({"query_id": ["a", "b"], "f1": [1.0, 0.5]})
    found, notes = average_repeats(frame, "query_id", ["f1"])
    assert found is frame
    assert notes == ()


def test_a_metric_with_the_name_of_the_ids_is_refused():
    frame = pd.DataFrame({"query_id": [1.0, 1.0], "f1": [1.0, 0.5]})
    with pytest.raises(ShapeError, match="'query_id'"):
        average_repeats(frame, "query_id", ["f1", "query_id"])


def test_a_query_is_scored_if_any_repeat_is_and_failed_if_none_is():
    states = ["failed", "scored", "failed", "missing"]
    frame = pd.DataFrame(
        {"query_id": list("aabb"), "f1": [None, 1.0, None, None], "f1_state": states}
    )
    found, _ = average_repeats(frame, "query_id", ["f1"])
    assert found["f1_state"].tolist() == ["scored", "failed"]


def test_reasons_of_repeats_are_told_once_each():
    frame = pd.DataFrame(
        {"query_id": list("aaa"), "f1": [1.0, None, None], "f1_reason": ["fine", "late", "late"]}
    )
    assert average_repeats(frame, "query_id", ["f1"])[0]["f1_reason"].tolist() == ["fine; late"]


def test_an_error_of_the_row_fails_what_is_unscored_and_nothing_else():
    rows = [{"f1": Judgement(1), "mrr": Judgement()}, {"f1": Judgement(0.5), "mrr": Judgement(0)}]
    found = judgement_columns(rows, ["Traceback: ...\nValueError: broken\n", None])
    assert found.columns["mrr_state"] == ["failed", "scored"]
    assert found.columns["mrr_reason"] == ["ValueError: broken", None]
    assert found.columns["f1"] == [1, 0.5]


def test_a_number_beside_a_failure_is_no_score():
    columns = judgement_columns(
        [{"f1": Judgement(0.0, None, is_failed=True)}, {"f1": Judgement(1)}]
    ).columns
    assert math.isnan(columns["f1"][0])
    assert columns["f1_reason"][0] == "failed; the file does not say why"


def test_a_word_among_scores_is_a_failure_and_noted():
    found = judgement_columns([{"f1": Judgement(0.5)}, {"f1": Judgement("unsure")}])
    assert found.columns["f1_state"] == ["scored", "failed"]
    assert found.notes == ("1 cells of 'f1' are not scores and count as failed: 'unsure'",)
