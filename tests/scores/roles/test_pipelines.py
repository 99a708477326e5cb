"""Which rows are one pipeline, which are several, and where nobody can know without being told."""

from __future__ import annotations

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, read_scores
from rageval_report.errors import DataError, ReaderError
from rageval_report.scores.roles.pipelines import find_pipelines, split_pipelines

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
