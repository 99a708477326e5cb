"""Which rows are one pipeline, which are several, and where nobody can know without being told."""

from __future__ import annotations

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, read_scores
from rageval_report.errors import DataError, ReaderError
from rageval_report.scores.pipelines import (
    PipelineColumns,
    PipelineDoubtError,
    find_pipelines,
    split_pipelines,
    stated_name,
)

QUESTIONS = ["Who?", "Where?", "When?", "Why?"]


def grid(column, values, *, ids=True, n=4, **more):
    """Every question once for each value of a column; the second half is 0.5 better."""
    rows = [
        {
            **({"query_id": f"q{i}"} if ids else {"question": QUESTIONS[i]}),
            column: value,
            "recall": 0.1 * i + 0.25 * place,
            **{name: cells(i, place) for name, cells in more.items()},
        }
        for place, value in enumerate(values)
        for i in range(n)
    ]
    return pd.DataFrame(rows)


# -- a column with a usual name


@pytest.mark.parametrize(
    "column",
    [
        *("pipeline", "Pipeline Name", "model", "system", "run", "variant", "experiment"),
        *("app_version", "retriever", "Model-Name", "config", "provider"),
    ],
)
@pytest.mark.parametrize("ids", [True, False])
def test_a_column_that_names_pipelines_makes_several(tmp_path, column, ids):
    frame = grid(column, ["bm25", "dense", "hybrid"], ids=ids)
    frame.to_csv(tmp_path / "scores.csv", index=False)
    evaluations = read_scores(tmp_path / "scores.csv")
    assert list(evaluations) == ["bm25", "dense", "hybrid"]
    # By hand: the mean of 0, 0.1, 0.2 and 0.3, then 0.25 more for each pipeline.
    means = [run.get_aggregated_scores("recall") for run in evaluations.values()]
    assert means == pytest.approx([0.15, 0.4, 0.65])
    ids_of_runs = [list(run.scores.index) for run in evaluations.values()]
    assert ids_of_runs[0] == ids_of_runs[1] == ids_of_runs[2]
    assert any(repr(column) in note for note in evaluations["bm25"].notes)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "json", "jsonl", "parquet"])
def test_every_kind_of_table_is_divided_alike(tmp_path, suffix):
    frame = grid("model", ["a", "b"])
    path = tmp_path / f"scores.{suffix}"
    writers = {
        "csv": lambda: frame.to_csv(path, index=False),
        "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "json": lambda: frame.to_json(path, orient="records"),
        "jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "parquet": lambda: frame.to_parquet(path),
    }
    writers[suffix]()
    assert list(read_scores(path)) == ["a", "b"]


def test_the_order_of_the_rows_changes_nothing():
    frame = grid("model", ["a", "b", "c"])
    shuffled = frame.sample(frac=1, random_state=7)
    ordered, _ = split_pipelines(frame, "x")
    parts, _ = split_pipelines(shuffled, "x")
    for name, rows in ordered.items():
        same = parts[name].sort_values("query_id").reset_index(drop=True)
        pd.testing.assert_frame_equal(same, rows)


def test_ids_that_number_the_rows_do_not_hide_that_questions_repeat(tmp_path):
    frame = grid("model", ["a", "b"], ids=False)
    frame.insert(0, "id", range(8))
    frame.to_csv(tmp_path / "scores.csv", index=False)
    first, second = read_scores(tmp_path / "scores.csv").values()
    assert list(first.scores.index) == list(second.scores.index)
    assert any("numbers the rows" in note for note in first.notes)
    assert "row_number" in first.details


def test_a_text_column_with_an_unusual_name_that_tells_repeats_apart(tmp_path):
    frame = grid("flavour", ["sweet", "sour"])
    frame.to_csv(tmp_path / "scores.csv", index=False)
    evaluations = read_scores(tmp_path / "scores.csv")
    assert list(evaluations) == ["sweet", "sour"]
    assert any("'flavour'" in note for note in evaluations["sweet"].notes)


def test_repeats_within_a_pipeline_are_averaged_within_it(tmp_path):
    frame = pd.concat([grid("model", ["a", "b"]).assign(trial=trial) for trial in (1, 2)])
    frame.to_csv(tmp_path / "scores.csv", index=False)
    evaluations = read_scores(tmp_path / "scores.csv", duplicates="mean")
    assert [run.n_queries for run in evaluations.values()] == [4, 4]


# -- one pipeline all the same


def test_a_category_of_questions_is_a_detail():
    frame = grid("query_type", ["x"]).assign(query_type=["fact", "why", "fact", "why"])
    assert find_pipelines(frame) is None


def test_a_few_repeated_questions_do_not_make_pipelines_of_their_categories():
    frame = pd.DataFrame(
        {
            "id": range(40),
            "question": [f"Question {i}?" for i in range(39)] + ["Question 3?"],
            "topic": ["a"] * 20 + ["b"] * 20,
            "recall": 0.5,
        }
    )
    assert find_pipelines(frame) is None


@pytest.mark.parametrize("counter", ["epoch", "run", "trial_no"])
def test_numbered_repeats_are_repeats(counter):
    frame = grid(counter, [1, 2])
    evaluation = RAGPipelineEvaluation("run", frame, duplicates="mean")
    assert evaluation.n_queries == 4


def test_rows_that_the_caller_keeps_together_are_one_pipeline(tmp_path):
    path = tmp_path / "scores.csv"
    frame = grid("model", ["a", "b"]).assign(query_id=[f"q{i}" for i in range(8)])
    frame.to_csv(path, index=False)
    [evaluation] = read_scores(path, roles={"model": "detail"}).values()
    assert evaluation.n_queries == 8


@pytest.mark.parametrize("column", ["query_id", "question"])
def test_ids_and_questions_that_are_lists_are_no_foreign_error(column):
    rows = [{column: [1, i], "model": name, "recall": 0.5} for i in (1, 2) for name in "ab"]
    assert find_pipelines(pd.DataFrame(rows)).columns == ("model",)


# -- doubt


@pytest.mark.parametrize("column", ["top_k", "temperature", "chunk_size"])
def test_a_setting_that_tells_repeats_apart_is_doubtful(column):
    frame = grid(column, [3, 5, 10])
    with pytest.raises(DataError, match=f"{column}.*'pipeline'.*'detail'"):
        find_pipelines(frame)
    parts, _ = split_pipelines(frame, "x", roles={column: "pipeline"})
    assert list(parts) == ["3", "5", "10"]


def test_a_grid_that_only_two_columns_explain_is_named_after_both(tmp_path):
    frame = pd.concat(
        grid("model", ["a", "b"]).assign(retriever=name) for name in ("bm25", "dense")
    )
    path = tmp_path / "scores.csv"
    frame.to_csv(path, index=False)
    with pytest.raises(ReaderError, match="together"):
        read_scores(path)
    roles = {"model": "pipeline", "retriever": "pipeline"}
    names = list(read_scores(path, roles=roles))
    assert names[0] == "model=a retriever=bm25"
    assert len(names) == 4


def test_a_row_without_a_pipeline_is_refused_with_its_number():
    frame = grid("pipeline", ["a", "b"])
    frame.loc[5, "pipeline"] = " "
    with pytest.raises(DataError, match="rows 5, counted from 0"):
        split_pipelines(frame, "x", roles={"pipeline": "pipeline"})


# -- what is said of pipelines


def columns_of(*names, why="its name says so", **more):
    return PipelineColumns(names, "certain", why, **more)


def test_the_rows_of_a_pipeline_count_anew_and_keep_all_columns():
    frame = grid("model", ["a", "b"], n=3)
    parts, columns = split_pipelines(frame, "x")
    assert columns == PipelineColumns(
        ("model",), "certain", "with it no 'query_id' appears twice, and its name says so"
    )
    assert parts["b"].index.tolist() == [0, 1, 2]
    assert parts["b"].columns.tolist() == ["query_id", "model", "recall"]
    assert parts["b"]["query_id"].tolist() == ["q0", "q1", "q2"]


@pytest.mark.parametrize(
    ("column", "cells", "name"),
    [
        ("pipeline", ["a", "a"], "a"),
        ("System Name", ["a", "a"], "a"),
        ("model", ["a", "a"], None),
        ("pipeline", ["a", "b"], None),
        ("pipeline", ["a", None], None),
        ("pipeline", [" ", " "], None),
        ("pipeline", [1, 1], None),
        ("pipeline", [None, None], None),
    ],
)
def test_a_pipeline_is_named_by_a_column_of_one_text(column, cells, name):
    assert stated_name(pd.DataFrame({"recall": [0.5, 1.0], column: cells})) == name


# -- what identifies a query


def test_an_index_of_ids_repeats_too():
    frame = grid("model", ["a", "b"]).set_index("query_id").rename_axis(None)
    assert find_pipelines(frame).why.startswith("with it no 'index' appears twice")
    # Two names that share no id are in doubt, as they are with a column of ids.
    apart = frame.set_axis(range(10, 18))
    with pytest.raises(DataError, match="no query appears twice"):
        find_pipelines(apart)
    # The questions go before an index that has no name.
    with_questions = frame.assign(question=[f"Who is {i}?" for i in range(8)])
    with pytest.raises(DataError, match="no query appears twice"):
        find_pipelines(with_questions)


@pytest.mark.parametrize("name", ["query_id", "key", None])
def test_pipelines_of_a_frame_with_ids_as_its_index_keep_their_ids(name):
    frame = grid("model", ["a", "b"]).set_index("query_id").rename_axis(name)
    for rows in (frame, frame[::-1]):
        evaluations = read_scores(rows)
        ids = ["q0", "q1", "q2", "q3"] if rows is frame else ["q3", "q2", "q1", "q0"]
        assert [list(run.scores.index) for run in evaluations.values()] == [ids, ids]
        better = evaluations["b"].scores["recall"] - evaluations["a"].scores["recall"]
        assert better.tolist() == pytest.approx([0.25] * 4)


# -- which columns may name pipelines


@pytest.mark.parametrize(
    "values",
    [
        [1, 2],
        ["1", " 2 "],
        [True, False],
        [pd.Timestamp("2026-01-01"), pd.Timestamp("2026-01-02")],
        [["a"], ["b"]],
    ],
)
def test_numbers_and_moments_under_a_usual_name_are_repeats(values):
    assert find_pipelines(grid("model", values)) is None


# -- which of the columns decides


def test_a_usual_name_that_the_numbered_repeats_complete_is_certain():
    frame = pd.concat([grid("model", ["a", "b"]).assign(trial=trial) for trial in (1, 2)])
    columns = find_pipelines(frame.reset_index(drop=True))
    assert columns == PipelineColumns(
        ("model",), "certain", "its name says so; the rows that repeat within it are numbered"
    )
    again = pd.concat([frame, frame.iloc[:1]], ignore_index=True)  # a number that repeats
    with pytest.raises(DataError, match="'model'"):
        find_pipelines(again)


def test_ids_with_a_sure_name_are_trusted_although_questions_repeat():
    frame = grid("flavour", ["sweet", "sour"], ids=False)
    assert find_pipelines(frame.assign(id=range(8))).row_ids == "id"
    assert find_pipelines(frame.assign(query_id=range(8))) is None


def test_columns_of_unusual_names_that_divide_alike_agree_and_others_are_doubtful():
    frame = grid("flavour", ["sweet", "sour"], colour=lambda _, place: ["red", "green"][place])
    columns = find_pipelines(frame)
    assert columns == PipelineColumns(("flavour",), "likely", "with it no 'query_id' appears twice")
    crossed = frame.assign(colour=["red", "green"] * 2 + ["green", "red"] * 2)
    with pytest.raises(PipelineDoubtError) as caught:
        find_pipelines(crossed)
    assert caught.value.columns == ("flavour", "colour")
