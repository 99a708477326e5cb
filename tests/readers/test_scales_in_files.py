"""Scales, dates and objects in files of every kind; the witness is arithmetic on the cells."""

import json
import math

import numpy as np
import pandas as pd
import pytest

from rageval_report import RAGPipelineEvaluation, read_scores
from rageval_report.errors import DataError, ReaderError

OBJECTS = [
    {"score": 0.5, "reason": "half", "claims": 4},
    {"score": None, "error": "timeout"},
    {"score": 1.0, "reason": None},
]


@pytest.fixture
def write(tmp_path):
    def write_text(text, name="scores.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write_text


def records_of(values, name="accuracy"):
    return [{"query_id": f"q{i}", name: value} for i, value in enumerate(values)]


# -- objects


@pytest.mark.parametrize("name", ["accuracy", "faithfulness"])
@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".parquet", ".csv"])
def test_objects_are_scores_in_every_kind_of_file(write, tmp_path, suffix, name):
    records = records_of(OBJECTS, name)
    if suffix == ".jsonl":
        path = write("\n".join(map(json.dumps, records)), "scores.jsonl")
    elif suffix == ".json":
        path = write(json.dumps(records), "scores.json")
    else:
        path = tmp_path / f"scores{suffix}"
        frame = pd.DataFrame(records)
        # CSV holds the text of the dict, as pandas writes it.
        frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    evaluation = RAGPipelineEvaluation.load(None, path)
    np.testing.assert_array_equal(evaluation.scores[name], [0.5, math.nan, 1.0])
    assert evaluation.details[f"{name}_state"].tolist() == ["scored", "failed", "scored"]
    assert evaluation.details[f"{name}_reason"].tolist() == ["half", "timeout", None]
    assert evaluation.details[f"{name}_details"].tolist()[0]["claims"] == 4


@pytest.mark.parametrize("nest", ["metrics", "scores"])
def test_objects_one_level_down_keep_errors_reasons_and_verdicts(write, nest):
    lines = [
        {"id": "a", nest: {"f1": {"score": 0.5, "explanation": "half"}, "safe": {"passed": True}}},
        {"id": "b", nest: {"f1": {"error": "timeout"}, "safe": {"passed": False}}},
        {"id": "c", nest: {"f1": {"value": None, "error": "refused"}, "safe": {"score": 1}}},
    ]
    evaluation = RAGPipelineEvaluation.load(
        None, write("\n".join(map(json.dumps, lines)), "s.jsonl")
    )
    np.testing.assert_array_equal(evaluation.scores["f1"], [0.5, math.nan, math.nan])
    assert evaluation.scores["safe"].tolist() == [1.0, 0.0, 1.0]
    assert evaluation.details["f1_state"].tolist()[1:] == ["failed", "failed"]
    assert evaluation.details["f1_reason"].tolist() == ["half", "timeout", "refused"]


# -- tables with one row per query


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["83%", "90 %"], [0.83, 0.9]),
        (["3/5", "4/5"], [0.6, 0.8]),
        (["4 out of 5", "5 out of 5"], [0.8, 1.0]),
        (["\u22120.5", "+0.5"], [-0.5, 0.5]),
        (["1e-3", "2E+1"], [0.001, 20.0]),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_columns_in_one_convention_are_read(write, cells, numbers, suffix):
    text = (
        "query_id,accuracy\n" + "".join(f"q{i},{cell}\n" for i, cell in enumerate(cells))
        if suffix == "csv"
        else json.dumps(records_of(cells))
    )
    evaluation = RAGPipelineEvaluation.load(None, write(text, f"scores.{suffix}"))
    assert evaluation.scores["accuracy"].tolist() == numbers


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["85%", "0.9"], r"'85%' at 'q0', '0.9' at 'q1'"),
        (["3/5", "4"], r"'3/5' at 'q0', '4' at 'q1'"),
    ],
)
def test_doubts_are_errors_that_name_the_file_and_the_queries(write, cells, message):
    path = write("query_id,accuracy\n" + "".join(f"q{i},{c}\n" for i, c in enumerate(cells)))
    with pytest.raises(ReaderError, match=r"scores\.csv: metric 'accuracy' .*" + message):
        RAGPipelineEvaluation.load(None, path)


def test_a_date_that_a_workbook_made_of_a_fraction_has_failed_with_a_note(tmp_path):
    path = tmp_path / "scores.xlsx"
    cells = [0.5, pd.Timestamp("2025-03-05"), 1.0]
    pd.DataFrame(records_of(cells)).to_excel(path, index=False)
    evaluation = RAGPipelineEvaluation.load(None, path)
    assert evaluation.states["accuracy"].tolist() == ["scored", "failed", "scored"]
    assert any("1 cells of 'accuracy' hold no score" in note for note in evaluation.notes)


# -- long tables


def long_text(*values):
    rows = [f'q{i // 2},{"ab"[i % 2]},accuracy,"{value}"' for i, value in enumerate(values)]
    return "query_id,pipeline,metric,value\n" + "\n".join(rows) + "\n"


def test_all_pipelines_of_a_long_table_are_on_one_scale(write):
    # Of 'b' alone, 1,234 and 2,345 would be a doubt.
    path = write(long_text("873.5", "1,234", "91.5", "2,345").replace("accuracy", "latency"))
    runs = read_scores(path)
    assert runs["a"].scores["latency"].tolist() == [873.5, 91.5]
    assert runs["b"].scores["latency"].tolist() == [1234.0, 2345.0]


def test_the_notes_of_a_long_table_name_the_cells(write):
    path = write(long_text("873.5", "1,234", "91.5", "2,345").replace("accuracy", "latency"))
    evaluation = RAGPipelineEvaluation.load(None, path, pipeline="a")
    assert any("separate thousands: '1,234' at 'q0'" in note for note in evaluation.notes)


def test_a_doubt_in_a_long_table_is_decided_by_stated_bounds(write):
    path = write(long_text("85 %", "90 %", "0.8", "0.7"))
    with pytest.raises(DataError, match=r"'85 %' at 'q0', '0.8' at 'q1'"):
        read_scores(path)
    runs = read_scores(path, metrics={"accuracy": {"bounds": (0, 1)}})
    assert runs["a"].scores["accuracy"].tolist() == [0.85, 0.8]


def test_a_long_table_takes_the_decimal_sign(write):
    path = write(long_text("1,234", "1,5", "2,345", "2,5").replace("accuracy", "latency"))
    runs = read_scores(path, decimal=",")
    assert runs["a"].scores["latency"].tolist() == [1.234, 2.345]
