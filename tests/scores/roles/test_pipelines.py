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


def test_a_constant_model_is_a_detail():
    evaluation = RAGPipelineEvaluation("run", grid("model", ["gpt-4o"]))
    assert list(evaluation.details) == ["model"]


def test_ids_of_runs_that_are_all_different_are_details():
    frame = grid("query_type", ["x"]).assign(run_id=["r1", "r2", "r3", "r4"])
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


def test_numbered_repeats_of_questions_are_repeats_too():
    frame = grid("trial", [1, 2], ids=False)
    with pytest.raises(DataError, match="duplicates"):
        RAGPipelineEvaluation("run", frame)
    assert RAGPipelineEvaluation("run", frame, duplicates="mean").n_queries == 4


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


def test_ids_of_half_precision_are_no_foreign_error():
    frame = pd.DataFrame({"query_id": [1.0, 2.0, 1.0, 2.0], "model": list("aabb"), "recall": 0.5})
    frame["query_id"] = frame["query_id"].astype("float16")
    assert find_pipelines(frame).columns == ("model",)


# -- doubt


@pytest.mark.parametrize("column", ["model", "experiment", "app_version"])
def test_queries_that_no_two_values_share_are_doubtful(tmp_path, column):
    path = tmp_path / "scores.csv"
    frame = grid(column, ["v-a", "v-b"]).assign(query_id=[f"q{i}" for i in range(8)])
    frame.to_csv(path, index=False)
    with pytest.raises(ReaderError) as caught:
        read_scores(path)
    message = str(caught.value)
    assert f"roles={{'{column}': 'pipeline'}}" in message
    assert f"roles={{'{column}': 'detail'}}" in message
    assert list(read_scores(path, roles={column: "pipeline"})) == ["v-a", "v-b"]


@pytest.mark.parametrize("column", ["top_k", "temperature", "chunk_size"])
def test_a_setting_that_tells_repeats_apart_is_doubtful(column):
    frame = grid(column, [3, 5, 10])
    with pytest.raises(DataError, match=f"{column}.*'pipeline'.*'detail'"):
        find_pipelines(frame)
    parts, _ = split_pipelines(frame, "x", roles={column: "pipeline"})
    assert list(parts) == ["3", "5", "10"]


def test_two_columns_that_divide_the_rows_differently_are_doubtful():
    frame = grid("model", ["a", "b", "c", "d"])
    frame["variant"] = ["x", "y", "z", "x"] * 4
    frame["retriever"] = [name for name in ("p", "q", "p", "q") for _ in range(4)]
    assert find_pipelines(frame).columns == ("model",)
    frame["variant"] = [f"v{(i + i // 4) % 4}" for i in range(16)]
    with pytest.raises(DataError, match="together"):
        find_pipelines(frame)


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


def test_the_constructor_names_the_column_and_both_ways_out():
    with pytest.raises(DataError) as caught:
        RAGPipelineEvaluation("run", grid("model", ["a", "b"]))
    message = str(caught.value)
    assert "'model'" in message
    assert "read_scores" in message
    assert "'detail'" in message


def test_a_row_without_a_pipeline_is_refused_with_its_number():
    frame = grid("pipeline", ["a", "b"])
    frame.loc[5, "pipeline"] = " "
    with pytest.raises(DataError, match="rows 5, counted from 0"):
        split_pipelines(frame, "x", roles={"pipeline": "pipeline"})


# -- what is said of pipelines


def columns_of(*names, why="its name says so", **more):
    return PipelineColumns(names, "certain", why, **more)


def test_a_row_is_labelled_by_its_cell_or_by_the_cells_of_several_columns():
    frame = pd.DataFrame({"model": ["a", "b"], "top_k": [3, 5]}, index=[7, 9])
    one = columns_of("top_k").labels(frame)
    assert (one.tolist(), one.index.tolist()) == (["3", "5"], [7, 9])
    two = columns_of("model", "top_k").labels(frame)
    assert (two.tolist(), two.index.tolist()) == (["model=a top_k=3", "model=b top_k=5"], [7, 9])


@pytest.mark.parametrize("blank", ["", "  ", None, float("nan")])
def test_blank_cells_of_any_of_the_columns_are_refused_with_what_to_pass(blank):
    frame = pd.DataFrame({"model": ["a", "b", "c"], "variant": ["x", blank, blank]})
    message = r"column 'variant' names .*; rows 1, 2, counted.*roles=\{'variant': 'detail'\}"
    with pytest.raises(DataError, match=message):
        columns_of("model", "variant").labels(frame)


def test_the_note_says_which_columns_hold_how_many_pipelines_and_why():
    assert columns_of("model").note(2) == "column 'model' holds the pipelines (2): its name says so"
    assert columns_of("model", "k", why="roles= says so", row_ids="id").note(3) == (
        "column 'model', 'k' hold the pipelines (3): roles= says so; the query ids are derived "
        "from the questions, because column 'id' numbers the rows"
    )


def test_the_rows_of_a_pipeline_count_anew_and_keep_all_columns():
    frame = grid("model", ["a", "b"], n=3)
    parts, columns = split_pipelines(frame, "x")
    assert columns == PipelineColumns(
        ("model",), "certain", "with it no 'query_id' appears twice, and its name says so"
    )
    assert parts["b"].index.tolist() == [0, 1, 2]
    assert parts["b"].columns.tolist() == ["query_id", "model", "recall"]
    assert parts["b"]["query_id"].tolist() == ["q0", "q1", "q2"]


def test_row_numbers_take_a_name_that_no_column_has():
    frame = grid("model", ["a", "b"], ids=False).assign(id=range(8), row_number=1, row_number_=2)
    parts, columns = split_pipelines(frame, "x")
    assert columns.row_ids == "id"
    assert parts["b"]["row_number__"].tolist() == [4, 5, 6, 7]
    assert "id" not in parts["b"]


def test_a_table_of_one_pipeline_is_returned_as_it_is():
    frame = grid("model", ["a"])
    parts, columns = split_pipelines(frame, "mine")
    assert parts["mine"] is frame
    assert (list(parts), columns) == (["mine"], None)


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


@pytest.mark.parametrize("numbers_rows", [True, False])
def test_stated_pipelines_show_whether_the_ids_number_the_rows(numbers_rows):
    ids = range(8) if numbers_rows else [f"q{i}" for i in (0, 1, 2, 3, 0, 1, 2, 3)]
    frame = grid("kind", ["a", "b"], ids=False).assign(id=ids)
    columns = find_pipelines(frame, roles={"kind": "pipeline"})
    assert columns.row_ids == ("id" if numbers_rows else None)
    assert (columns.columns, columns.why) == (("kind",), "roles= says so")
    # A question that appears twice in one pipeline cannot identify its query.
    repeated = frame.assign(question="Who?")
    assert find_pipelines(repeated, roles={"kind": "pipeline"}).row_ids is None
    # Questions that are all different do not say that the ids number the rows.
    different = frame.assign(question=[f"Who is {i}?" for i in range(8)])
    assert find_pipelines(different, roles={"kind": "pipeline"}).row_ids is None
    without_questions = frame.drop(columns="question")
    assert find_pipelines(without_questions, roles={"kind": "pipeline"}).row_ids is None


def test_the_ids_are_those_of_the_argument_or_of_the_stated_role():
    frame = grid("model", ["a", "b"]).rename(columns={"query_id": "key"}).assign(id=range(8))
    with pytest.raises(DataError, match="no query appears twice"):  # "id" identifies the rows
        find_pipelines(frame)
    for options in ({"query_id": "key"}, {"query_id": "Key"}, {"roles": {"key": "id"}}):
        assert find_pipelines(frame, **options).why.startswith("with it no 'key' appears twice")


def test_a_column_of_exactly_the_name_of_the_ids_goes_before_another_spelling():
    frame = grid("model", ["a", "b"]).assign(**{"Query ID": range(8)})
    frame = frame[["Query ID", "query_id", "model", "recall"]]
    assert find_pipelines(frame).columns == ("model",)


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


@pytest.mark.parametrize("blank", ["", "  ", None])
def test_blank_questions_are_no_repeated_question(blank):
    frame = grid("flavour", ["sweet", "sour"], ids=False)
    assert find_pipelines(frame).columns == ("flavour",)
    frame.loc[[0, 4], "question"] = blank
    assert find_pipelines(frame) is None


def test_questions_repeat_in_another_spelling():
    frame = grid("flavour", ["sweet", "sour"], ids=False)
    frame.loc[4:, "question"] = [f" {text}  " for text in frame["question"][4:]]
    assert find_pipelines(frame).why == "with it no 'question' appears twice"


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
    "column",
    ["answer", "created_at", "topic_id", "difficulty", "recall@5", "trial"],
)
def test_names_with_another_meaning_do_not_name_pipelines(column):
    assert find_pipelines(grid(column, ["x", "y"])) is None


@pytest.mark.parametrize("column", ["flavour", "labels", "version", "top_k"])
def test_names_without_another_meaning_may_name_pipelines(column):
    assert find_pipelines(grid(column, ["x", "y"])).columns == (column,)


def test_columns_with_a_stated_role_do_not_name_pipelines():
    frame = grid("model", ["a", "b"], flavour=lambda _, place: ["sweet", "sour"][place])
    assert find_pipelines(frame).columns == ("model",)
    assert find_pipelines(frame, roles={"model": "detail"}).columns == ("flavour",)
    assert find_pipelines(frame, roles={"model": "detail", "flavour": "detail"}) is None


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


def test_one_name_that_is_not_a_number_makes_names_of_all():
    assert find_pipelines(grid("model", ["1", "2b"])).columns == ("model",)


def test_two_rows_may_be_two_pipelines_and_more_rows_need_a_name_twice():
    frame = pd.DataFrame({"query_id": ["a", "a"], "model": ["x", "y"], "recall": 0.5})
    assert find_pipelines(frame).columns == ("model",)
    four = pd.DataFrame({"query_id": list("aaab"), "model": list("xyzx"), "recall": 0.5})
    assert find_pipelines(four).columns == ("model",)
    assert find_pipelines(four.assign(model=list("wxyz"))) is None


def test_a_thousand_names_may_be_pipelines_and_one_more_may_not():
    names = [f"m{i}" for i in range(1000)]
    frame = pd.DataFrame({"query_id": "a", "model": names, "recall": 0.5})
    frame = pd.concat([frame, frame.assign(query_id="b")], ignore_index=True)
    assert find_pipelines(frame).columns == ("model",)
    more = pd.DataFrame({"query_id": ["a", "b"], "model": "m1000", "recall": 0.5})
    assert find_pipelines(pd.concat([frame, more], ignore_index=True)) is None


def test_a_column_with_an_unusual_name_needs_two_rows_for_each_value():
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "x"), ("c", "y")]
    frame = pd.DataFrame(rows, columns=["query_id", "flavour"]).assign(recall=0.5)
    assert find_pipelines(frame).columns == ("flavour",)
    assert find_pipelines(frame.assign(flavour=list("xyxyzw"))) is None


def test_numbers_with_an_unusual_name_may_be_a_score():
    assert find_pipelines(grid("grade_of_the_judge", [1, 2])) is None


# -- which of the columns decides


def test_the_surest_of_the_names_that_explain_the_repeats_is_taken():
    frame = grid("model", ["a", "b"], system=lambda _, place: "pq"[place])
    assert find_pipelines(frame).columns == ("system",)
    assert find_pipelines(frame).confidence == "certain"


def test_a_usual_name_that_the_numbered_repeats_complete_is_certain():
    frame = pd.concat([grid("model", ["a", "b"]).assign(trial=trial) for trial in (1, 2)])
    columns = find_pipelines(frame.reset_index(drop=True))
    assert columns == PipelineColumns(
        ("model",), "certain", "its name says so; the rows that repeat within it are numbered"
    )
    again = pd.concat([frame, frame.iloc[:1]], ignore_index=True)  # a number that repeats
    with pytest.raises(DataError, match="'model'"):
        find_pipelines(again)


def test_numbered_runs_do_not_complete_themselves():
    frame = pd.DataFrame(
        {"query_id": list("aaaabb"), "run": ["r1", "r1", "r2", "r2", "r1", "r2"], "recall": 0.5}
    )
    with pytest.raises(DataError, match="'run'"):
        find_pipelines(frame)


def test_a_sure_name_holds_pipelines_although_queries_repeat_within_them():
    frame = pd.concat([grid("system", ["a", "b"])] * 2, ignore_index=True)
    assert find_pipelines(frame) == PipelineColumns(("system",), "certain", "its name says so")
    with pytest.raises(PipelineDoubtError) as caught:
        find_pipelines(frame.rename(columns={"system": "model"}))
    assert caught.value.columns == ("model",)


def test_a_sure_name_holds_pipelines_that_share_no_query():
    frame = grid("system", ["a", "b"]).assign(query_id=[f"q{i}" for i in range(8)])
    assert find_pipelines(frame) == PipelineColumns(("system",), "certain", "its name says so")


def test_a_name_that_is_not_sure_is_doubtful_with_two_rows_for_each_value():
    frame = pd.DataFrame({"query_id": list("abcd"), "model": list("xyxy"), "recall": 0.5})
    with pytest.raises(PipelineDoubtError, match="no query appears twice and column 'model'"):
        find_pipelines(frame)
    assert find_pipelines(frame.assign(model=list("xyzx"))) is None


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


@pytest.mark.parametrize("finer", ["model", "variant"])
def test_one_column_that_divides_the_rows_more_finely_divides_them_differently(finer):
    columns = {"model": list("aabb"), "variant": list("xxyy")}
    columns[finer] = ["1a", "2a", "1b", "2b"]
    frame = pd.DataFrame({"query_id": list("pqpq"), **columns, "recall": 0.5})
    frame = pd.concat([frame, frame.assign(query_id=list("rsrs"))], ignore_index=True)
    with pytest.raises(PipelineDoubtError) as caught:
        find_pipelines(frame)
    assert set(caught.value.columns) == {"model", "variant"}


@pytest.mark.parametrize(("n", "is_divided"), [(2, False), (3, True)])
def test_two_queries_that_repeat_are_a_coincidence(n, is_divided):
    frame = grid("flavour", ["sweet", "sour"], n=n)
    assert (find_pipelines(frame) is not None) == is_divided


def test_half_of_the_values_of_each_query_are_enough():
    # Four flavours: six rows of three queries are two rows per query, half of four.
    rows = [("a", 0), ("a", 1), ("b", 2), ("b", 3), ("c", 0), ("c", 2)]
    frame = pd.DataFrame(rows, columns=["query_id", "flavour"]).assign(recall=0.5)
    frame = frame.assign(flavour=[f"f{i}" for i in frame["flavour"]])
    more = pd.DataFrame({"query_id": list("dd"), "flavour": ["f1", "f3"], "recall": 0.5})
    assert find_pipelines(pd.concat([frame, more], ignore_index=True)).columns == ("flavour",)
    single = pd.DataFrame({"query_id": ["e"], "flavour": ["f1"], "recall": 0.5})
    assert find_pipelines(pd.concat([frame, more, single], ignore_index=True)) is None


def test_three_rows_for_two_queries_are_the_fewest_that_divide():
    frame = pd.DataFrame(
        {"query_id": list("aabbcd"), "flavour": ["x", "y", "x", "y", "x", "y"], "recall": 0.5}
    )
    assert find_pipelines(frame).columns == ("flavour",)  # six rows of four queries
    more = pd.DataFrame({"query_id": ["e"], "flavour": ["x"], "recall": 0.5})
    assert find_pipelines(pd.concat([frame, more], ignore_index=True)) is None


@pytest.mark.parametrize("blank", ["", " ", None])
def test_a_blank_cell_names_no_pipeline_of_an_unusual_column(blank):
    frame = grid("flavour", ["sweet", "sour"])
    frame.loc[0, "flavour"] = blank
    assert find_pipelines(frame) is None


def test_a_grid_of_settings_is_doubtful_and_both_are_named():
    frame = pd.concat(
        [grid("top_k", [3, 5]).assign(temperature=heat) for heat in (0.0, 1.0)], ignore_index=True
    )
    with pytest.raises(PipelineDoubtError) as caught:
        find_pipelines(frame)
    assert caught.value.columns == ("top_k", "temperature")
    # Rows that even both settings do not tell apart are repeats of one pipeline.
    assert find_pipelines(pd.concat([frame, frame], ignore_index=True)) is None


def test_one_setting_that_explains_nothing_is_a_detail():
    frame = pd.concat([grid("top_k", [3, 5])] * 2, ignore_index=True)
    assert find_pipelines(frame) is None


def test_a_doubt_shows_three_values_and_what_to_type():
    frame = grid("top_k", [3, 5, 10, 20])
    with pytest.raises(PipelineDoubtError) as caught:
        find_pipelines(frame)
    assert str(caught.value) == (
        "roles: the rows may belong to one pipeline or to several, because column 'query_id' "
        "repeats and column 'top_k' ('3', '5', '10' and 1 more) may name pipelines. Say which it "
        "is: roles={'top_k': 'pipeline'} for one pipeline per value, or roles={'top_k': 'detail'} "
        "for one pipeline in all"
    )
    with pytest.raises(PipelineDoubtError, match=r"\('3', '5', '10'\) may name"):
        find_pipelines(grid("top_k", [3, 5, 10]))


def test_a_doubt_about_several_columns_offers_them_together():
    frame = pd.concat([grid("model", ["a", "b"]).assign(retriever=x) for x in ("p", "q")])
    with pytest.raises(PipelineDoubtError) as caught:
        find_pipelines(frame.reset_index(drop=True))
    assert str(caught.value).endswith(
        "columns 'model' ('a', 'b'), 'retriever' ('p', 'q') may name pipelines. Say which it is: "
        "roles={'model': 'pipeline'} for one pipeline per value, or roles={'model': 'pipeline', "
        "'retriever': 'pipeline'} together, or roles={'model': 'detail', 'retriever': 'detail'} "
        "for one pipeline in all"
    )


def test_a_doubt_shows_five_columns():
    names = ["model", "provider", "retriever", "approach", "strategy", "method"]
    frame = pd.DataFrame(
        {"query_id": list("aaab"), "recall": 0.5} | {x: list("xxyy") for x in names}
    )
    with pytest.raises(PipelineDoubtError) as caught:
        find_pipelines(frame)
    assert caught.value.columns == tuple(names)
    assert "'strategy': 'pipeline'" in str(caught.value)
    assert "'method'" not in str(caught.value)
