"""Every kind of input of the readers: the same scores, or one line that says what to pass."""

import io
import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rageval_report import RAGPipelineEvaluation, read_records, read_scores
from rageval_report.errors import DataError, RagevalError

ROWS = [
    {"query_id": f"{i:03}", "recall": i / 8, "mrr": 1 / (i + 1), "question": f"why {i}?"}
    for i in range(8)
]
FRAME = pd.DataFrame(ROWS)
TEXT = FRAME.to_csv(index=False)
GOLDEN = Path(__file__).parent.parent / "golden"


@dataclass
class Row:
    query_id: str
    recall: float
    mrr: float
    question: str


def models_of_pydantic():
    pydantic = pytest.importorskip("pydantic")  # it comes with the oracles
    fields = {name: (type(cell), ...) for name, cell in ROWS[0].items()}
    model = pydantic.create_model("Model", **fields)
    return [model(**row) for row in ROWS]


def parquet_bytes():
    buffer = io.BytesIO()
    FRAME.to_parquet(buffer)
    return buffer.getvalue()


def excel_bytes():
    buffer = io.BytesIO()
    FRAME.to_excel(buffer, index=False)
    return buffer.getvalue()


KINDS = {
    "list of dicts": lambda: ROWS,
    "tuple of dicts": lambda: tuple(ROWS),
    "generator of dicts": lambda: (row for row in ROWS),
    "map of dicts": lambda: map(dict, ROWS),
    "dataclasses": lambda: [Row(**row) for row in ROWS],
    "iterator of dataclasses": lambda: iter([Row(**row) for row in ROWS]),
    "pydantic models": models_of_pydantic,
    "dict of lists": lambda: FRAME.to_dict("list"),
    "dict of arrays": lambda: {name: FRAME[name].to_numpy() for name in FRAME},
    "decimals": lambda: [{**row, "recall": Decimal(repr(row["recall"]))} for row in ROWS],
    "NumPy scalars": lambda: [{**row, "recall": np.float64(row["recall"])} for row in ROWS],
    "split document": lambda: json.loads(FRAME.to_json(orient="split", double_precision=15)),
    "pandas": lambda: FRAME,
    "pandas with an index": lambda: FRAME.set_index("query_id"),
    "polars": lambda: pl.DataFrame(ROWS),
    "pyarrow table": lambda: pa.Table.from_pylist(ROWS),
    "pyarrow stream": lambda: pa.Table.from_pylist(ROWS).to_reader(),
    "bytes of CSV": lambda: TEXT.encode(),
    "bytearray": lambda: bytearray(TEXT.encode()),
    "bytes of JSON": lambda: json.dumps(ROWS).encode(),
    "bytes of Parquet": parquet_bytes,
    "bytes of Excel": excel_bytes,
    "BytesIO": lambda: io.BytesIO(TEXT.encode()),
    "StringIO": lambda: io.StringIO(TEXT),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gives_the_same_scores(kind):
    [(name, evaluation)] = read_scores(KINDS[kind]()).items()
    assert (name, evaluation.name) == ("pipeline", "pipeline")
    assert evaluation.scores.index.tolist() == [row["query_id"] for row in ROWS]
    assert evaluation.scores["recall"].tolist() == [row["recall"] for row in ROWS]
    assert evaluation.scores["mrr"].tolist() == pytest.approx([row["mrr"] for row in ROWS])
    assert evaluation.details["question"].tolist() == [row["question"] for row in ROWS]


@pytest.mark.parametrize("kind", ["generator of dicts", "pydantic models", "polars", "StringIO"])
def test_load_and_read_records_take_the_same_kinds(kind):
    evaluation = RAGPipelineEvaluation.load("new", KINDS[kind]())
    assert (evaluation.name, evaluation.n_queries) == ("new", 8)
    records = read_records(KINDS[kind]())
    assert records["question"].tolist() == [row["question"] for row in ROWS]


def test_an_open_file_names_the_pipeline(tmp_path):
    path = tmp_path / "hybrid.csv"
    path.write_text(TEXT)
    with path.open("rb") as file:
        assert list(read_scores(file)) == ["hybrid"]


LONG = [
    {"query_id": query, "pipeline": pipeline, "metric": "mrr", "value": value}
    for query, pipeline, value in [("a", "x", 1.0), ("b", "x", 0.5), ("a", "y", 0.0)]
]


@pytest.mark.parametrize("kind", [list, iter, pd.DataFrame, pl.DataFrame, pa.Table.from_pylist])
def test_a_long_table_in_memory_has_its_pipelines(kind):
    evaluations = read_scores(kind(LONG))
    assert {name: one.scores["mrr"].tolist() for name, one in evaluations.items()} == {
        "x": [1.0, 0.5],
        "y": [0.0],
    }


@pytest.mark.parametrize(
    "path", ["opik/result.json", "haystack/run.json", "deepeval/test_run.json"]
)
def test_a_parsed_document_is_read_as_its_file(path):
    file = GOLDEN / path
    of_file = list(read_scores(file).values())
    of_document = list(read_scores(json.loads(file.read_text())).values())
    assert len(of_file) == len(of_document)
    for expected, actual in zip(of_file, of_document, strict=True):
        pd.testing.assert_frame_equal(actual.scores, expected.scores)


def test_a_frame_of_a_framework_is_read_as_its_file():
    file = GOLDEN / "ragas"
    [path, *_] = sorted(file.glob("*.csv"))
    expected = list(read_scores(path).values())
    actual = list(read_scores(pd.read_csv(path)).values())
    assert [list(one.scores) for one in actual] == [list(one.scores) for one in expected]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "got None"),
        (5, "got the number 5"),
        ({"q1", "q2"}, "got a set of 2 items"),
        (dict, "got the class dict"),
        (object(), "got an object"),
        (np.zeros((3, 2)), "got a ndarray"),
        (pl.LazyFrame(ROWS), r"got a LazyFrame; pass path.collect\(\)"),
        (pl.Series("recall", [0.5]), "got a Series"),
        ([], "must hold one dict per query; got a list of 0 items"),
        ([1, 2], "the entries at positions 0, 1 are not dicts, the first is the number 1"),
        ([FRAME, FRAME], "the first is a DataFrame"),
        ({"a": FRAME}, "a DataFrame"),
        ([{"query_id": "q1", "recall": {1, 2}}], "it holds a set of 2 items"),
        ([{("a", "b"): 1}], "keys must be str"),
        ("query_id,recall\nq1,1\n", r"pass bytes: text.encode\(\)"),
    ],
)
@pytest.mark.parametrize("door", [read_scores, read_records])
def test_anything_else_is_refused_in_one_line(door, value, message):
    with pytest.raises(RagevalError, match=message) as caught:
        door(value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("path")


def test_records_are_read_from_one_file():
    with pytest.raises(RagevalError, match=r"one dict per query; the entries at positions 0, 1"):
        read_records(["a.csv", Path("b.csv")])


def test_an_evaluation_is_not_read_again():
    with pytest.raises(TypeError, match="got a RAGPipelineEvaluation"):
        read_scores(RAGPipelineEvaluation("new", FRAME))


def test_a_document_that_holds_itself_is_refused():
    rows = [{"query_id": "q1", "recall": 1.0}]
    rows[0]["rows"] = rows
    with pytest.raises(DataError, match="path cannot be read as a JSON document: Circular"):
        read_scores(rows)


def test_several_pipelines_in_memory_are_named_without_the_data():
    with pytest.raises(DataError, match=r"^<DataFrame> holds 2 pipelines: 'x', 'y'; pick one"):
        RAGPipelineEvaluation.load(None, pd.DataFrame(LONG))
