"""Columns whose names are blank, or equal but for case and white space, in any kind of table."""

from __future__ import annotations

import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, inspect, read_scores
from rageval_report.errors import DataError

ROWS = {"query_id": ["q1", "q2", "q3"], "recall": [0.5, 1.0, 0.0]}


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
def test_a_column_without_a_name_is_a_detail_with_a_note(name, kind, tmp_path):
    frame = pd.DataFrame({name: [10.5, 11.25, 12.0], **ROWS})
    [evaluation] = read_scores(saved(frame, kind, tmp_path)).values()
    assert list(evaluation.scores) == ["recall"]
    assert evaluation.scores["recall"].mean() == 0.5
    [note] = [note for note in evaluation.notes if "has no name" in note]
    assert "10.5" in note
    assert "give it a name" in note


@pytest.mark.parametrize("options", [{"metrics": [""]}, {"roles": {"": "metric"}}])
def test_a_metric_needs_a_name(options):
    with pytest.raises(DataError, match=r"column '' has no name that a metric can have; rename"):
        RAGPipelineEvaluation("a", {**ROWS, "": [0.5, 1.0, 0.5]}, **options)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "xlsx"])
@pytest.mark.parametrize("pair", [("recall", "Recall"), ("my score", " My Score"), ("MRR", "mrr")])
def test_two_metrics_that_differ_in_case_or_white_space_are_refused(pair, kind, tmp_path):
    frame = pd.DataFrame({"query_id": ["q1", "q2"], **{name: [0.5, 0.25] for name in pair}})
    with pytest.raises(DataError, match=r"both the metric|more than once"):
        read_scores(saved(frame, kind, tmp_path))


@pytest.mark.parametrize("pair", [("Topic", "topic "), ("subject area", "Subject  Area")])
def test_two_details_with_similar_names_are_kept_with_a_note(pair):
    first, second = pair
    evaluation = RAGPipelineEvaluation("a", {**ROWS, first: list("abc"), second: list("xyz")})
    assert evaluation.details[first].tolist() == ["a", "b", "c"]
    assert evaluation.details[second].tolist() == ["x", "y", "z"]
    assert any("differ only in case or white space" in note for note in evaluation.notes)


@pytest.mark.parametrize("other", ["Query_ID", "query_id "])
def test_two_columns_of_ids_with_similar_names_and_other_cells_are_refused(other):
    data = {**ROWS, other: ["a", "q2", "q3"]}
    with pytest.raises(DataError, match=r"may both hold the query ids: row 0.*'q1' and 'a'"):
        RAGPipelineEvaluation("a", data)
    evaluation = RAGPipelineEvaluation("a", data, roles={other: "id"})
    assert evaluation.scores.index.tolist() == ["a", "q2", "q3"]
    alike = RAGPipelineEvaluation("a", {**ROWS, other: ROWS["query_id"]})
    assert alike.scores.index.tolist() == ROWS["query_id"]


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
