from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report import Metric, RAGPipelineEvaluation
from rageval_report.errors import DataError, RagevalWarning, UnknownNameError
from rageval_report.scores import score_table
from rageval_report.scores.descriptions import SharedScale
from rageval_report.scores.states import (
    states_frame,
    states_of,
    unscored_reasons,
)
from rageval_report.scores.table import join_details

arrow_texts = pytest.mark.skipif(
    getattr(pd.Series(["a"]).dtype, "storage", None) != "pyarrow",
    reason="pandas keeps texts as Python's own",
)

IDS = ["a", "b", "c", "d"]


def table_of(*values, name="faithfulness", **options):
    return score_table({"query_id": IDS[: len(values)], name: list(values)}, **options)


# -- what comes out


def test_the_example_of_the_proposal_works_as_printed(proposal):
    with pytest.warns(RagevalWarning, match=r"holds 4 values; it was split at commas"):
        table = score_table(proposal)
    assert table.scores.index.tolist() == ["53c3b3e6", "225f87f7", "8ac473ec", "97d284ca"]
    assert table.scores.index.name == "query_id"
    assert [metric.title for metric in table.metrics.values()] == [
        "Reciprocal Rank",
        "Single Hit",
        "Multi Hit",
        "Context Relevance",
        "Faithfulness",
        "Semantic Answer Similarity",
        "Exact Match",
    ]
    assert table.scores["reciprocal_rank"].tolist() == proposal["reciprocal_rank"]
    assert [m.kind for m in table.metrics.values()].count("binary") == 2
    assert table.details.columns.empty


def test_scores_are_float64_with_nan_for_what_is_unscored():
    table = score_table(
        {
            "query_id": IDS,
            "exact_match": [1, 0, None, 1],
            "recall@5": [True, False, True, True],
            "bleu": [None, 0.25, math.nan, 1],
        }
    )
    assert set(table.scores.dtypes) == {np.dtype("float64")}
    assert table.scores["exact_match"].isna().tolist() == [False, False, True, False]
    assert table.scores["recall@5"].tolist() == [1.0, 0.0, 1.0, 1.0]
    assert int(table.scores["bleu"].isna().sum()) == 2


def test_the_rows_stay_as_they_were_given():
    frame = pd.DataFrame({"query_id": IDS, "Exact Match": [1, 0, 0, 1]})
    before = frame.copy()
    assert score_table(frame).data is frame
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    "make",
    [
        pd.DataFrame,
        pl.DataFrame,
        pa.table,
        dict,
        lambda columns: pd.DataFrame(columns).to_dict("records"),
        lambda columns: pd.DataFrame(columns).convert_dtypes(),
        lambda columns: pd.DataFrame(columns).convert_dtypes(dtype_backend="pyarrow"),
        lambda columns: pd.DataFrame(columns).astype(object),
        lambda columns: pd.DataFrame(columns).astype({"query_id": "category"}),
        lambda columns: pd.DataFrame(columns).astype({"query_id": "string"}),
        lambda columns: pd.DataFrame(columns).astype({"query_id": "string[python]"}),
    ],
)
def test_the_same_rows_in_any_form_make_the_same_table(make):
    columns = {
        "query_id": ["q1", "Ü2", "007"],
        "question": ["who?", "where?", "why?"],
        "exact_match": [True, False, True],
        "stars": [1, 5, 3],
        "bleu": [0.1, None, 1.0],
    }
    table = score_table(make(columns))
    expected = score_table(pd.DataFrame(columns))
    pd.testing.assert_frame_equal(table.scores, expected.scores)
    assert table.details["question"].tolist() == columns["question"]
    assert table.metrics == expected.metrics


def test_nullable_columns_hold_scores_and_missing_ones():
    frame = pd.DataFrame(
        {
            "query_id": pd.array(["a", "b"], dtype="string"),
            "hit": pd.array([True, None], dtype="boolean"),
            "stars": pd.array([4, None], dtype="Int64"),
            "bleu": pd.array([0.5, None], dtype="Float64"),
        }
    )
    scores = score_table(frame).scores
    assert scores.loc["a"].tolist() == [1.0, 4.0, 0.5]
    assert scores.loc["b"].isna().all()


@given(st.permutations(range(8)))
@settings(max_examples=20)
def test_shuffling_the_rows_moves_the_rows_and_nothing_else(order):
    frame = pd.DataFrame(
        {
            "question": [f"what is {i // 2 * 2 + i % 2}?" for i in range(8)],
            "recall": np.linspace(0, 1, 8),
            "stars": [1, 2, 3, None, 5, 4, 3, 2],
            "note": list("abcdefgh"),
        }
    )
    table, shuffled = score_table(frame), score_table(frame.iloc[list(order)])
    pd.testing.assert_frame_equal(shuffled.scores.loc[table.scores.index], table.scores)
    pd.testing.assert_frame_equal(shuffled.details.loc[table.details.index], table.details)
    assert shuffled.metrics == table.metrics


# -- rows that stand there more than once


def test_repeated_runs_are_averaged_on_request_and_that_is_noted():
    table = score_table(
        {
            "query_id": ["b", "a", "b", "b"],
            "recall": [1.0, 0.5, 0.0, None],
            "exact_match": [1, 1, 0, 0],
            "question": ["x", "y", "z", "w"],
        },
        duplicates="mean",
    )
    assert table.scores.index.tolist() == ["b", "a"]
    assert table.scores["recall"].tolist() == [0.5, 0.5]
    assert table.details["question"].tolist() == ["x", "y"]
    assert table.notes[-1].startswith("4 rows of 2 queries: the score of each query is the mean")


def test_another_way_with_duplicates_is_told_with_the_known_ones():
    with pytest.raises(UnknownNameError, match=r'duplicates must be "error" or "mean"; got "avg"'):
        table_of(0.5, duplicates="avg")


# -- scores that cannot be


def test_columns_of_one_name_are_refused():
    frame = pd.DataFrame([["a", 1.0, 2.0]], columns=["query_id", "recall", "recall"])
    message = (
        r"names must be unique; these appear more than once: "
        r"'recall'"
    )
    with pytest.raises(DataError, match=message):
        score_table(frame)
    with pytest.raises(DataError, match=r"names must be unique; these appear more than once: '1'"):
        score_table(pd.DataFrame([["a", 1.0, 2.0]], columns=["query_id", 1, "1"]))


# -- what the caller says of metrics


def test_the_caller_gives_a_metric_by_any_of_its_names():
    table = table_of(0.2, name="mrr", metrics={"Reciprocal Rank": {"title": "First Hit"}})
    assert table.metrics["mrr"].title == "First Hit"


def test_a_column_that_the_caller_tells_of_is_a_metric_whatever_its_name():
    table = table_of(3, 4, name="turn", metrics={"turn": Metric("turn", title="Turns")})
    assert (list(table.scores), table.metrics["turn"].title) == (["turn"], "Turns")


def test_the_caller_cannot_tell_of_a_metric_that_is_not_there():
    with pytest.raises(UnknownNameError, match=r"named 'fathfulness'\. Did you mean 'faith"):
        table_of(1.0, metrics={"fathfulness": "lower"})


# -- what the file says of metrics


def test_what_the_file_says_holds_where_the_caller_says_nothing():
    known = {"vibes": Metric("vibes", title="Vibes!", bounds=(0, 9)), "absent": Metric("absent")}
    table = table_of(7, name="vibes", known=known)
    assert (table.metrics["vibes"].title, list(table.metrics)) == ("Vibes!", ["vibes"])


def test_the_caller_goes_before_the_file():
    known = {"vibes": Metric("vibes", title="Vibes!", greater_is_better=False)}
    metric = table_of(7, name="vibes", known=known, metrics={"vibes": "higher"}).metrics["vibes"]
    assert (metric.title, metric.greater_is_better) == ("Vibes!", True)


# -- memory


@arrow_texts
def test_the_numbers_are_copied_once():
    frame = pd.DataFrame(np.random.default_rng(0).random((30_000, 10))).add_prefix("metric_")
    frame.index = pd.Index([f"query-{i}" for i in range(30_000)], name="query_id")
    n_bytes = 30_000 * 10 * 8
    tracemalloc.start()
    table = score_table(frame)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(table.scores) == 30_000
    assert held < 1.05 * n_bytes
    assert peak < 1.9 * n_bytes


# -- what a table says of itself


def test_details_that_are_named_like_scores_get_an_ending():
    scores = pd.DataFrame({"bleu": [0.5], "mrr": [1.0]})
    details = pd.DataFrame({"note": ["x"], "mrr": ["first"]})
    joined = join_details(scores, details)
    assert joined.to_dict("list") == {
        "bleu": [0.5],
        "mrr": [1.0],
        "note": ["x"],
        "mrr_detail": ["first"],
    }


@pytest.mark.parametrize(
    ("columns", "options", "role"),
    [
        ({"query_id": ["a"]}, {}, ("query_id", "certain", "the usual name of query ids")),
        ({"qid": ["a"]}, {}, ("qid", "certain", "the usual name of query ids")),
        ({"id": ["a"]}, {}, ("id", "likely", "the usual name of query ids")),
        ({"id": ["a"]}, {"query_id": "id"}, ("id", "certain", "the usual name of query ids")),
        ({"key": ["a"]}, {"roles": {"key": "id"}}, ("key", "certain", "roles= says so")),
    ],
)
def test_the_column_of_ids_has_a_role_that_is_certain_unless_it_is_guessed(columns, options, role):
    decided = score_table({**columns, "recall": [1.0]}, **options).roles[0]
    assert (decided.column, decided.confidence, decided.why) == role
    assert decided.role == "id"


def test_rows_of_two_pipelines_are_kept_together_if_the_caller_says_so():
    data = {"query_id": list("aabb"), "model": list("xyxy"), "recall": [0.5] * 4}
    together = score_table(data, is_one_pipeline=True, duplicates="mean")
    assert together.scores.index.tolist() == ["a", "b"]
    one = {**data, "query_id": list("abcd"), "model": ["x"] * 4}
    assert list(score_table(one, roles={"model": "pipeline"}).details) == ["model"]


def test_the_reasons_of_unread_cells_stand_in_the_details_where_the_table_has_none():
    data = {
        "query_id": IDS,
        "recall": ["0.5", "broken", "timeout", "n/a"],
        "recall_state": [None, None, "failed", "skipped by hand"],
    }
    table = score_table(data, unreadable="failed")
    assert table.scores["recall"].tolist()[0] == 0.5
    assert table.scores["recall"].isna().tolist() == [False, True, True, True]
    assert table.details["recall_state"].tolist()[1:] == ["failed", "failed", "skipped by hand"]
    assert table.details["recall_reason"].tolist()[1] == "broken"
    assert table.details.index.tolist() == IDS


def test_stated_bounds_go_before_the_scale_that_the_pipelines_of_a_file_share():
    scales = {"vibes": SharedScale("ordinal", (1.0, 5.0))}
    shared = table_of(2, 3, name="vibes", scales=scales).metrics["vibes"]
    assert (shared.kind, shared.bounds) == ("ordinal", (1.0, 5.0))
    stated = {"vibes": {"bounds": (0, 10)}}
    by_caller = table_of(2, 3, name="vibes", scales=scales, metrics=stated).metrics["vibes"]
    by_file = table_of(2, 3, name="vibes", scales=scales, known=stated).metrics["vibes"]
    assert by_caller.bounds == by_file.bounds == (0.0, 10.0)


def frame_of(n: int = 50, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    scores = {f"metric_{k}": rng.random(n) for k in range(4)}
    scores["metric_1"][::7] = np.nan
    ids = [f"q{row}" for row in range(n)]
    return pd.DataFrame({"query_id": ids, **scores, "topic": ["law"] * n})


def is_shared(scores: pd.DataFrame, frame: pd.DataFrame) -> bool:
    return np.shares_memory(scores.to_numpy(), frame["metric_0"].to_numpy())


def test_a_later_change_of_the_frame_changes_no_score():
    frame = frame_of()
    table = score_table(frame)
    before = table.scores.copy()
    frame.loc[3, "metric_0"] = 9.0
    frame["metric_2"] = 0.0
    frame.iloc[:, 1:5] = -1.0
    pd.testing.assert_frame_equal(table.scores, before)


def test_a_change_of_the_scores_changes_no_frame():
    frame = frame_of()
    before = frame.copy()
    scores = score_table(frame).scores
    scores.iloc[0, 0] = 9.0
    scores.loc["q1"] = 8.0
    pd.testing.assert_frame_equal(frame, before)


def test_scores_are_a_plain_frame_without_attributes_of_the_caller():
    class Table(pd.DataFrame):
        @property
        def _constructor(self) -> type[Table]:
            return Table

    frame = Table(frame_of())
    frame.attrs["source"] = "a dashboard"
    scores = score_table(frame).scores
    assert type(scores) is pd.DataFrame
    assert scores.attrs == {}
    pd.testing.assert_frame_equal(scores, score_table(frame.to_dict("list")).scores)
    before = scores.copy()
    frame.loc[0, "metric_0"] = 5.0
    pd.testing.assert_frame_equal(scores, before)


NAN = float("nan")


def table_of_2(cells, **options):
    data = {"query_id": [f"q{i}" for i in range(len(cells))], "faithfulness": cells}
    return score_table(data, unreadable="failed", **options)


def test_what_applies_to_no_query_goes_before_what_failed():
    states = states_of([1, NAN, NAN, NAN], applies=[1, 0, 1, 1], failed=[1, 1, 1, 0])
    assert states.tolist() == ["scored", "not applicable", "failed", "missing"]


def test_a_cell_of_a_file_that_is_no_score_failed_and_is_told():
    table = table_of_2(["0.5", "the judge rambled", None, "n/a"])
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
