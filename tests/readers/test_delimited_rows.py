from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from rageval_report.readers import delimited_rows
from rageval_report.readers.delimited_rows import (
    FieldCountError,
    cell_text,
    count_rows,
    rows,
)

# Texts of the characters that matter, so that quotes, delimiters and line ends meet often.
RAW = st.text(st.sampled_from('ab,"\n\r7é'), max_size=40)
CELLS = st.sampled_from(["a", "7", "é", "", " "])


def by_the_csv_module(text):
    """Python's own reader, without its blank rows: the second witness."""
    return [row for row in csv.reader(io.StringIO(text, newline="")) if row]


@settings(max_examples=400)
@given(RAW)
@example('a"b,c"\nd,e')
@example('"a"b"c,d')
def test_cells_are_those_of_the_csv_module(text):
    found = list(rows(text.encode(), ","))
    assume(all(row.is_closed for row in found))
    assert [[cell_text(cell) for cell in row.cells] for row in found] == by_the_csv_module(text)


@settings(max_examples=400)
@given(RAW, st.integers(1, 3), st.sampled_from([3, 1 << 22]))
@example('a,b\n"c\n",d\n', 2, 3)
@example("a,b\r\nc,d", 2, 3)
@example('a,"b\n', 2, 3)
def test_rows_are_counted_as_the_csv_module_counts_them(text, n_fields, chunk):
    expected = by_the_csv_module(text)
    is_closed = all(row.is_closed for row in rows(text.encode(), ","))
    kept, delimited_rows._CHUNK = delimited_rows._CHUNK, chunk
    try:
        found = count_rows(text.encode(), ",", n_fields, 0).n_rows
    except FieldCountError:
        assert not is_closed or any(len(row) != n_fields for row in expected)
    else:
        assert is_closed
        assert all(len(row) == n_fields for row in expected)
        assert found == len(expected)
    finally:
        delimited_rows._CHUNK = kept


def test_arrays_and_the_walk_agree_on_a_large_table():
    cells = np.random.default_rng(0).choice(['"a\n,b"', "c", '""', '"d ""e"" f"'], (3000, 4))
    text = "\n".join(",".join(row) for row in cells).encode()
    assert count_rows(text, ",", 4, 0).n_rows == len(by_the_csv_module(text.decode())) == 3000
    assert delimited_rows._count_one_by_one(rows(text, ","), 4) == 3000


def test_arrays_give_up_on_quotes_within_unquoted_cells():
    assert (
        delimited_rows._record_ends(b'5" disk,1\n6" disk,2\n', ord(","), 0, has_returns=True)
        is None
    )
    assert count_rows(b'5" disk,1\n6" disk,2\n', ",", 2, 0).n_rows == 2


@pytest.mark.parametrize("quote", ["", '5" ,1\n'])
def test_the_first_wrong_row_is_the_one_that_is_told(quote):
    text = f"{quote}a,1\nb\nc,3,4\n".encode()
    with pytest.raises(FieldCountError, match=r"expected 2 fields, as in the header; found 1") as e:
        count_rows(text, ",", 2, 0)
    assert text[e.value.offset :].startswith(b"b\n")


@pytest.mark.parametrize("stray", ["", '5" ,1\n'])
def test_an_open_quote_is_told_where_its_row_begins(stray):
    text = f'{stray}a,1\nb,"2\nc,3\nd,4\n'.encode()
    with pytest.raises(FieldCountError, match=r"never closed") as caught:
        count_rows(text, ",", 2, 0)
    assert text[caught.value.offset :].startswith(b'b,"2')


def test_a_very_large_cell_is_no_obstacle():
    text = b'q1,"' + b"x" * 10_000_000 + b'"\nq2,y"\n'
    assert count_rows(text, ",", 2, 0).n_rows == 2


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", "^", "]"])
def test_any_delimiter_splits(delimiter):
    [row] = rows(f"a{delimiter}b".encode(), delimiter)
    assert row.cells == [b"a", b"b"]


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        (b"a,b\nc,d\re\n", b"\n"),
        (b"a,b\rc,d\r", b"\n\r"),
        (b"a,b\r\nc,d\r\n", b"\n\r"),
        (b"a,b\nc,d\r\n", b"\n\r"),
        (b"a,b\nc,d\n", b"\n\r"),
        (b"", b"\n\r"),
    ],
)
def test_a_carriage_return_is_part_of_a_cell_only_where_all_lines_end_otherwise(text, ends):
    assert delimited_rows.line_ends(text, ",") == ends


def test_a_line_that_begins_with_a_carriage_return_has_mixed_ends():
    text = b"query_id,recall\nq1,0.5\n\rq2,1\nq3,0\n"
    found = [row.cells for row in rows(text, ",", ends=delimited_rows.line_ends(text, ","))]
    assert [cells[0] for cells in found] == [b"query_id", b"q1", b"q2", b"q3"]
