from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, inspect, read_scores
from rageval_report.errors import DataError, UnknownNameError, UnknownValueError
from rageval_report.scores import resolver, score_table
from rageval_report.scores.roles import ColumnRole, count_roles


def table_of(cells, name="my_metric", **options):
    ids = [f"q{i}" for i in range(len(cells))]
    return score_table({"query_id": ids, "recall": [1.0] * len(cells), name: cells}, **options)


def test_complex_numbers_dates_and_decimals_are_told_apart():
    assert "my_metric" in table_of([1j, 2j]).details
    assert "my_metric" in table_of([pd.Timestamp("2026-01-01")] * 2).details
    assert "my_metric" in table_of(pd.to_timedelta([1, 2], unit="s")).details
    assert "my_metric" in table_of([Decimal("0.5"), Decimal("0.25")]).scores


# -- the caller names the metrics


def test_only_the_named_columns_are_metrics():
    table = table_of([1, 2], metrics=["my metric"])
    assert (list(table.scores), list(table.details)) == (["my_metric"], ["recall"])


def test_a_name_that_is_no_column_is_told_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"named 'recal'\. Did you mean 'recall'\?"):
        table_of([1, 2], metrics=["recal"])


# -- tables without metrics, and with too many


# -- names are resolved


def test_a_name_means_the_column_that_is_spelled_like_it_before_one_that_means_the_same():
    resolve = resolver(["mrr", "reciprocal_rank", "recall@5"])
    assert resolve("MRR") == "mrr"
    assert resolve("Reciprocal Rank") == "reciprocal_rank"
    assert resolve("recall_at_5") == "recall@5"


def test_a_name_that_may_mean_two_columns_is_refused():
    with pytest.raises(DataError, match=r"'rr' may mean any of 'mrr', 'document_mrr'; use one of"):
        resolver(["mrr", "document_mrr"])("rr")


# -- what is no metric


ROWS = 24


def table(**columns):
    return {"query_id": [f"q{i}" for i in range(ROWS)], "recall": [0.5] * ROWS, **columns}


def role_of(column, cells, **options):
    roles = RAGPipelineEvaluation("run", table(**{column: cells}), **options).roles
    return roles.set_index("column").loc[column]


@pytest.mark.parametrize(
    "column",
    [
        *("gold_rank", "rank", "Best Rank", "n_retrieved", "num_chunks", "doc_count", "label"),
        *("gold_label", "version", "prompt_version", "cluster", "split", "answer_length"),
        *("context_chars", "judge_tokens", "seed", "created_at", "timestamp", "start_time"),
        *("temperature", "top_k", "chunkSize", "page", "hop", "faithfulness_threshold", "year"),
    ],
)
def test_bookkeeping_is_a_detail_and_says_why(column):
    role = role_of(column, list(np.arange(ROWS) % 7 * 0.1))
    assert role["role"] == "detail"
    assert role["confidence"] == "likely"
    assert "its name says" in role["why"]


@pytest.mark.parametrize(
    "column",
    [
        "log_rank_score",
        "reciprocal_rank",
        "prompt_tokens",
        "latency_ms",
        "my_quality",
        "total_score",
    ],
)
def test_scores_with_similar_names_are_metrics(column):
    assert role_of(column, [0.25] * ROWS)["role"] == "metric"


@pytest.mark.parametrize(
    ("cells", "meaning"),
    [
        (range(ROWS), "row numbers"),
        (range(1, ROWS + 1), "row numbers"),
        ([1_760_000_000 + i * 60 for i in range(ROWS)], "above a billion"),
    ],
)
def test_cells_that_can_hardly_be_scores_are_a_detail_with_a_note(cells, meaning):
    data = table(thing=list(cells))
    evaluation = RAGPipelineEvaluation("run", data)
    assert list(evaluation.scores) == ["recall"]
    [note] = [note for note in evaluation.notes if "'thing'" in note]
    assert meaning in note
    assert "roles={'thing': 'metric'}" in note
    shuffled = pd.DataFrame(data).sample(frac=1, random_state=3)
    assert list(RAGPipelineEvaluation("run", shuffled).scores) == ["recall"]
    stated = RAGPipelineEvaluation("run", data, roles={"thing": "metric"})
    assert list(stated.scores) == ["recall", "thing"]


# -- what the caller says


def test_a_stated_role_wins_over_a_known_name():
    evaluation = RAGPipelineEvaluation("run", table(mrr=[1.0] * ROWS), roles={"mrr": "detail"})
    assert list(evaluation.scores) == ["recall"]
    assert list(evaluation.details) == ["mrr"]
    assert evaluation.roles.set_index("column").loc["mrr", "why"] == "roles= says so"


def test_a_column_that_is_not_there_and_a_role_that_does_not_exist_are_refused():
    with pytest.raises(UnknownNameError, match="recal"):
        RAGPipelineEvaluation("run", table(), roles={"recal": "metric"})
    with pytest.raises(UnknownValueError, match="metrik"):
        RAGPipelineEvaluation("run", table(), roles={"recall": "metrik"})
    with pytest.raises(DataError, match="mapping"):
        RAGPipelineEvaluation("run", table(), roles=["recall"])
    with pytest.raises(DataError, match="one column holds the query ids"):
        RAGPipelineEvaluation("run", table(), roles={"recall": "id", "query_id": "id"})


# -- the line at the end of a report


def test_a_report_ends_with_what_the_columns_became():
    data = table(my_quality=[0.5] * ROWS, n_chunks=[3] * ROWS, question=["?"] * ROWS)
    report = RAGPipelineEvaluation("run", data).evaluation_report()
    assert report.notes[-1] == (
        "5 columns: 1 id, 2 metrics ('my_quality' by its cells only), 2 details"
    )
    assert report.notes[-1] in str(report)


@pytest.mark.parametrize(
    ("n", "sentence"),
    [
        (1, "1 column: 1 metric ('m0' by its cells only)"),
        (5, "5 columns: 5 metrics ('m0', 'm1', 'm2', 'm3', 'm4' by their cells only)"),
        (6, "6 columns: 6 metrics ('m0', 'm1', 'm2', 'm3', 'm4' and 1 more by their cells only)"),
    ],
)
def test_five_of_the_metrics_that_are_guessed_are_named(n, sentence):
    guessed = [ColumnRole(f"m{i}", "metric", "likely", "it holds numbers") for i in range(n)]
    assert count_roles(guessed) == sentence
    certain = [ColumnRole("recall", "metric", "certain", "known"), *guessed[:0]]
    assert count_roles(certain) == "1 column: 1 metric"
    assert count_roles([ColumnRole("w", "weight", "certain", ""), *certain * 2]) == (
        "3 columns: 2 metrics, 1 weight"
    )


ROWS_2 = {"query_id": ["q1", "q2", "q3"], "recall": [0.5, 1.0, 0.0]}


def saved(frame, kind, folder):
    """The frame in a file of a kind."""
    path = folder / f"table.{kind}"
    if kind == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    elif kind == "parquet":
        frame.to_parquet(path)
    elif kind == "xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "xlsx"])
@pytest.mark.parametrize("name", ["", " ", "\t", "\xa0", "Unnamed: 0", "unnamed: 3", "---"])
def test_a_column_without_a_name_is_a_detail(name, kind, tmp_path):
    frame = pd.DataFrame({name: [10.5, 11.25, 12.0], **ROWS_2})
    [evaluation] = read_scores(saved(frame, kind, tmp_path)).values()
    assert list(evaluation.scores) == ["recall"]
    assert evaluation.scores["recall"].mean() == 0.5


@pytest.mark.parametrize("options", [{"metrics": [""]}, {"roles": {"": "metric"}}])
def test_a_metric_needs_a_name(options):
    with pytest.raises(DataError, match=r"column '' has no name that a metric can have; rename"):
        RAGPipelineEvaluation("a", {**ROWS_2, "": [0.5, 1.0, 0.5]}, **options)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "xlsx"])
@pytest.mark.parametrize("pair", [("recall", "Recall"), ("my score", " My Score"), ("MRR", "mrr")])
def test_two_metrics_that_differ_in_case_or_white_space_are_refused(pair, kind, tmp_path):
    frame = pd.DataFrame({"query_id": ["q1", "q2"], **{name: [0.5, 0.25] for name in pair}})
    with pytest.raises(DataError, match=r"both the metric|more than once"):
        read_scores(saved(frame, kind, tmp_path))


@pytest.mark.parametrize("column", ["flavour", "Index type"])
def test_pipelines_that_the_cells_show_are_likely_wherever_roles_are_shown(column):
    rows = {
        "question": [f"{word}?" for word in "why who how what".split() for _ in range(2)],
        column: ["plain", "fancy"] * 4,
        "recall": [0.5, 1.0, 0.25, 0.5, 0.0, 1.0, 0.5, 0.75],
    }
    runs = read_scores(pd.DataFrame(rows))
    assert list(runs) == ["plain", "fancy"]
    inspected = inspect(pd.DataFrame(rows)).frame.set_index("column")
    for roles in (*(run.roles.set_index("column") for run in runs.values()), inspected):
        assert roles.loc[column, ["role", "confidence"]].tolist() == ["pipeline", "likely"]
