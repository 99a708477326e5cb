from __future__ import annotations

import io
import sys
from decimal import Decimal

import pandas as pd
import pytest

from rageval_report.errors import MissingDependencyError, ReaderError
from rageval_report.readers import Source, read, recognise

pytest.importorskip("pyarrow")

TABLE = pd.DataFrame(
    {
        "query_id": ["001", "null", "NA"],
        "recall": [0.5, None, 1.0],
        "mrr": [1.0, 0.0, 0.25],
        "contexts": [["a"], ["b", "c"], []],
    }
)


def parquet_bytes(frame):
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


def test_a_table_is_read_as_it_was_written(write):
    path = write(parquet_bytes(TABLE), "run.csv")
    assert recognise(Source(path)) == "parquet"
    [found] = read(path)
    assert found.frame["query_id"].tolist() == ["001", "null", "NA"]
    assert found.frame["recall"].isna().tolist() == [False, True, False]
    assert found.frame["contexts"].map(list).tolist() == [["a"], ["b", "c"], []]


def test_an_index_of_ids_is_kept(write):
    [found] = read(write(parquet_bytes(TABLE.set_index("query_id"))), columns=["mrr"])
    assert found.frame.index.name == "query_id"
    assert list(found.frame) == ["mrr"]


def test_decimals_are_numbers(write):
    table = pd.DataFrame({"query_id": ["a", "b"], "recall": [Decimal("0.5"), Decimal("0.25")]})
    assert read(write(parquet_bytes(table)))[0].frame["recall"].tolist() == [0.5, 0.25]


@pytest.mark.parametrize("kept", [8, 100, -1, -9])
def test_a_cut_file_is_called_cut(write, kept):
    with pytest.raises(ReaderError, match=r"cannot be opened; is it cut"):
        read(write(parquet_bytes(TABLE)[:kept]))


def test_a_damaged_page_is_refused(write):
    data = bytearray(parquet_bytes(pd.DataFrame({"query_id": ["a"] * 99, "x": range(99)})))
    data[4:40] = b"\x00" * 36
    with pytest.raises(ReaderError, match=r"damaged|cannot be opened"):
        read(write(bytes(data)))


def test_an_empty_table_is_refused(write):
    with pytest.raises(ReaderError, match="column names, but no rows"):
        read(write(parquet_bytes(TABLE.iloc[:0])))


def test_a_missing_pyarrow_names_the_extra(write, monkeypatch):
    path = write(parquet_bytes(TABLE))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r'install "rageval-report\[parquet\]"'):
        read(path)
