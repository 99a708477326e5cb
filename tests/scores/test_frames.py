import datetime
import decimal
import io
import subprocess
import sys
import warnings
from collections import deque, namedtuple
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from rageval_report import RAGPipelineEvaluation
from rageval_report.errors import ArgumentKindError, DataError, RagevalWarning
from rageval_report.scores.frames import to_pandas

arrow_texts = pytest.mark.skipif(
    getattr(pd.Series(["a"]).dtype, "storage", None) != "pyarrow",
    reason="pandas keeps texts as Python's own",
)

ROWS = {
    "query_id": ["a", "b", "c"],
    "recall": [0.5, None, 1.0],
    "rank": [1, None, 3],
    "hit": [True, None, False],
    "share": [decimal.Decimal("0.50"), None, decimal.Decimal("0.25")],
    "contexts": [["x", "y"], [], ["z"]],
    "asked": [datetime.date(2026, 1, 2)] * 3,
    "answer": ["ja", None, "Füße 🦶"],
}


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, lambda d: pa.table(d).to_reader()])
def test_frames_of_other_libraries_keep_numbers_texts_lists_and_what_is_missing(make):
    frame = to_pandas(make(ROWS))
    assert list(frame) == list(ROWS)
    for column in ("recall", "rank", "share"):
        expected = [np.nan if cell is None else float(cell) for cell in ROWS[column]]
        np.testing.assert_array_equal(frame[column].to_numpy(), expected)
    assert frame["hit"].tolist() == [True, None, False]
    assert frame["contexts"].tolist() == [["x", "y"], [], ["z"]]
    assert frame["answer"].isna().tolist() == [False, True, False]
    assert frame["answer"].iloc[2] == "Füße 🦶"


def test_other_frames_name_the_extra_that_reads_them():
    program = """
import sys
sys.modules["narwhals"] = None
import polars
from rageval_report.scores.frames import to_pandas
try:
    to_pandas(polars.DataFrame({"a": [1]}))
except ImportError as exc:
    print(exc)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert 'install "rageval-report[frames]"' in done.stdout


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (3, "the number 3"),
        (None, "None"),
        ({"q1", "q2"}, "a set of 2 items"),
        (pd.DataFrame, "the class DataFrame"),
        ("scores.csv", r"the text 'scores.csv'. To read a file, use RAGPipelineEvaluation.load"),
        (Path("scores.csv"), "a PosixPath. To read a file, use"),
        (b"x", "1 byte. To read a file, use"),
        (io.BytesIO(b"id"), "a BytesIO. To read a file, use"),
        (pl.LazyFrame({"a": 1}), r"a LazyFrame; pass data.collect\(\)"),
        (object(), "an object"),
        (pd.Series([0.5]), "a Series"),
        (np.zeros((2, 1)), "a ndarray"),
    ],
)
def test_what_holds_no_rows_is_refused_by_its_kind(data, kind):
    with pytest.raises(ArgumentKindError, match=rf"dict of lists or a list of dicts; got {kind}"):
        to_pandas(data)


async def rows_later():
    return [{"query_id": "q1", "recall": 1}]


@dataclass
class Row:
    query_id: str
    recall: float


IDS = ["q1", "q2", "q3"]
RECALLS = [0.25, 0.5, 1.0]
PAIRS = list(zip(IDS, RECALLS, strict=True))


@pytest.mark.parametrize(
    "data",
    [
        ({"query_id": query, "recall": recall} for query, recall in PAIRS),
        map(dict, [[("query_id", query), ("recall", recall)] for query, recall in PAIRS]),
        deque([{"query_id": query, "recall": recall} for query, recall in PAIRS]),
        {query: {"query_id": query, "recall": recall} for query, recall in PAIRS}.values(),
        [Row(*pair) for pair in PAIRS],
        [namedtuple("Pair", ["query_id", "recall"])(*pair) for pair in PAIRS],
    ],
    ids=lambda data: type(data).__name__,
)
def test_every_clear_kind_of_rows_is_read(data):
    frame = to_pandas(data)
    assert frame.columns.tolist() == ["query_id", "recall"]
    assert frame["query_id"].tolist() == IDS
    assert frame["recall"].tolist() == RECALLS


def test_an_iterator_is_consumed_once():
    rows = iter([{"query_id": "q1", "recall": 1}])
    assert len(to_pandas(rows)) == 1
    with pytest.raises(DataError, match="empty list"):
        to_pandas(rows)


# -- a dict of lists


def test_a_dict_holds_lists_arrays_series_ranges_and_generators():
    columns = {
        "a": [1, 2],
        "b": np.array([0.5, 1.0]),
        "c": pd.Series([True, False]),
        "d": range(2),
        "e": (letter for letter in "xy"),
        6: ("u", "v"),
    }
    frame = to_pandas(columns)
    assert list(frame) == ["a", "b", "c", "d", "e", "6"]
    assert frame.iloc[1].tolist() == [2, 1.0, False, 1, "y", "v"]


def test_series_of_different_indexes_are_refused_because_joining_them_would_guess():
    columns = {"a": pd.Series([1, 2], index=[0, 1]), "b": pd.Series([1, 2], index=[1, 0])}
    with pytest.raises(
        DataError, match=r"Series with different indexes; make one DataFrame of them"
    ):
        to_pandas(columns)


def test_columns_of_unequal_length_are_named_with_their_lengths():
    columns = {"query_id": ["a", "b", "c"], "recall": [1.0, 0.5], "bleu": [0.1, 0.2, 0.3]}
    message = r"equal length; 'query_id' has 3, 'recall' has 2, 'bleu' has 3"
    with pytest.raises(DataError, match=message):
        to_pandas(columns)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (0.5, "the number 0.5"),
        (None, "None"),
        ({"a": 1}, "a dict of 1 key"),
        (b"abc", "3 bytes"),
        (np.array(0.5), "a ndarray"),
    ],
)
def test_a_column_that_is_no_list_is_named_with_its_kind(value, kind):
    with pytest.raises(DataError, match=rf"'recall' must be a list .* got {kind}"):
        to_pandas({"query_id": ["a"], "recall": value})


# -- one text that holds the ids


def test_one_text_that_holds_all_ids_is_split_with_a_warning(proposal):
    with pytest.warns(RagevalWarning, match=r"'query_id' is one text that holds 4 values; it was"):
        frame = to_pandas(proposal)
    assert frame["query_id"].tolist() == ["53c3b3e6", "225f87f7", "8ac473ec", "97d284ca"]


def test_the_warning_points_at_the_line_that_made_the_evaluation(proposal):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        RAGPipelineEvaluation("hybrid", proposal)
    assert [warning.filename for warning in caught] == [__file__]


def test_a_text_is_not_split_where_that_would_not_make_the_lengths_agree(proposal):
    proposal["query_id"] = ["53c3b3e6, 225f87f7, 8ac473ec"]
    with pytest.raises(DataError, match=r"equal length; 'query_id' has 1"):
        to_pandas(proposal)


# -- a list of dicts


def test_entries_that_are_no_dicts_are_named_by_position():
    message = r"entries at positions 1, 2 are not dicts, the first is a list of "
    with pytest.raises(DataError, match=message):
        to_pandas([{"query_id": "a"}, ["b", 1.0], 3])
