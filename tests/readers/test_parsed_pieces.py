from __future__ import annotations

from functools import partial
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rageval_report.errors import ReaderError
from rageval_report.files.source import Source
from rageval_report.readers import delimited, parsed_pieces
from rageval_report.readers.delimited import read_delimited
from rageval_report.readers.parsed_pieces import LineError, Lines, ParsedPieces, parse_lines

HEADER = b"query_id,answer,recall\n"
# Cells that change the type of a column, or how many fields a row seems to have.
CELLS = ["1", "-0", "0.5", "7e-5", "", '""', "None", "nan", "True", "a", '"a, b"', '"a\nb"']
CELLS += [
    '"a ""b"""',
    '5" disk',
    '"open',
    " ",
    "9007199254740993",
    "1" * 30,
    "18446744073709551615",
]


@pytest.fixture
def small_pieces(monkeypatch):
    """Two rows are a piece."""
    monkeypatch.setattr(parsed_pieces, "_PIECE", 1)
    monkeypatch.setattr(parsed_pieces, "_FEWEST_RECORDS", 2)
    monkeypatch.setattr(parsed_pieces, "_BLOCK", 7)


def outcome(text: bytes) -> pd.DataFrame | str:
    """The frame of a table with its notes, or the error."""
    try:
        [file] = read_delimited(Source(text))
    except ReaderError as exc:
        return str(exc)
    return file.frame.assign(**{f"note {k}": note for k, note in enumerate(file.notes)})


def outcome_of_counted_rows(text: bytes) -> pd.DataFrame | str:
    """The same where the fields of every row are counted, and the text is parsed at once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "has_plain_line_ends", lambda text, start: False)
        patch.setattr(parsed_pieces, "_FEWEST_RECORDS", 1 << 30)
        return outcome(text)


def assert_same(found: pd.DataFrame | str, expected: pd.DataFrame | str) -> None:
    if isinstance(expected, str):
        assert found == expected
        return
    assert isinstance(found, pd.DataFrame), found
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    for name in expected.select_dtypes("float64"):
        assert found[name].to_numpy().tobytes() == expected[name].to_numpy().tobytes()


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.lists(st.sampled_from(CELLS), min_size=1, max_size=4), max_size=9),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
@example([["1", "a", "0"], ["2", "b", "-0"], ["3", "c", "1"], ["4", "d", "0.5"]], "\n", True)
@example([["a", "", "1"], ["b", "", "1"], ["c", "x", "1"]], "\n", True)
@example([["a", "x", "1"], ["b", "y"], ["c", "z", "1", "4"]], "\n", True)
@example([["a", "x", "1"], ["b", "y", "1"], ["c", "z", "1", "4"], ["d", "v"]], "\n", False)
def test_any_table_has_the_cells_and_the_errors_of_counted_rows(records, end, is_ended):
    text = end.join(",".join(record) for record in records) + (end if is_ended else "")
    content = HEADER + text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsed_pieces, "_PIECE", 1)
        patch.setattr(parsed_pieces, "_FEWEST_RECORDS", 2)
        patch.setattr(parsed_pieces, "_BLOCK", 7)
        found = outcome(content)
    assert_same(found, outcome_of_counted_rows(content))


def test_hard_decimals_are_the_nearest_floats(small_pieces):
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 0x7FE0000000000000, 4_000, dtype=np.int64).view(np.float64)
    # Halfway between two floats, and one digit beyond it.
    halves = ["9007199254740993.0", "9007199254740993.00000000000000000001", "4.9e-324", "2.5e-324"]
    texts = [repr(float(value)) for value in bits] + halves + ["0.1", "1e22", "8.5e-22"]
    lines = "".join(f"q{row},a,{text}\n" for row, text in enumerate(texts))
    frame = outcome(HEADER + lines.encode())
    assert isinstance(frame, pd.DataFrame)
    assert frame["recall"].tolist() == list(map(float, texts))


@pytest.mark.parametrize("place", [0, 1, 2, 3, 6, 7])
def test_a_row_with_too_many_fields_is_an_error_with_its_line_wherever_a_piece_begins(
    place, small_pieces
):
    rows = [f"q{row},a,0.5" for row in range(8)]
    rows[place] += ",1"
    rows[(place + 3) % 8] = "short,a"
    text = HEADER + "\n".join(rows).encode() + b"\n"
    first = min(place, (place + 3) % 8)
    with pytest.raises(ReaderError, match=f"line {first + 2}: expected 3 fields"):
        read_delimited(Source(text))


def test_unscored_cells_at_the_end_of_rows_are_no_missing_fields(small_pieces, monkeypatch):
    def count_no_rows(self):
        raise AssertionError("the fields of every row are counted")

    monkeypatch.setattr(delimited._DelimitedTable, "with_counted_rows", count_no_rows)
    for end in ("\n", "\r\n"):
        text = HEADER + end.join(["q1,a,0.5", "q2,,", 'q3,"b, c",', "q4,,1"]).encode()
        frame = outcome(text)
        assert isinstance(frame, pd.DataFrame)
        assert frame["recall"].isna().tolist() == [False, True, True, False]


def test_lines_are_counted_and_found_in_blocks(small_pieces):
    text = "".join(f"query {row},{'x' * (row % 11)}\n" for row in range(200)).encode()
    for content in (text, text[:-1]):
        lines = Lines(content, 0)
        starts = np.cumsum([0, *map(len, content.splitlines(keepends=True))])[:-1]
        assert lines.n == 200
        assert lines.starts().tolist() == starts.tolist()
        assert [lines.start_of(number) for number in range(200)] == starts.tolist()


def test_pieces_of_blank_cells_take_the_type_of_the_others(small_pieces):
    frame = outcome(HEADER + b"q1,,\nq2,,\nq3,x,\nq4,,0.5\n")
    assert isinstance(frame, pd.DataFrame)
    assert frame["answer"].tolist()[2] == "x"
    assert frame["answer"].isna().tolist() == [True, True, False, True]
    assert frame["recall"].dtype == np.float64


def test_a_quoted_line_end_is_no_line_of_a_table():
    def parse(text: bytes, n: int | None = None):
        return pd.read_csv(BytesIO(text), header=None, names=["id", "answer"], chunksize=n)

    text = b'a,"x\ny"\nb,z\n'
    with pytest.raises(LineError, match="not one record"):
        parse_lines(text, ",", 0, partial(parse, text), partial(parse, text))


def pieces_of(frame: pd.DataFrame, n: int) -> list[pd.DataFrame]:
    return [frame.iloc[start : start + n].copy() for start in range(0, len(frame), n)]


def test_neighbouring_floats_of_all_pieces_are_one_block():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.random((7, 4)), columns=list("abde"))
    frame.insert(2, "c", [f"text {row}" for row in range(7)])
    joined = ParsedPieces(7, pieces_of(frame, 3)).joined(lambda: frame.iloc[:0])
    pd.testing.assert_frame_equal(joined, frame, check_exact=True)
    for names in (["a", "b"], ["d", "e"]):
        block = joined[names].to_numpy()
        assert block.flags.f_contiguous
        assert all(np.shares_memory(block[:, k], joined[name]) for k, name in enumerate(names))


def test_floats_after_which_other_cells_come_are_parsed_as_a_whole():
    whole = pd.DataFrame({"id": ["q0", "q1", "q2", "q3"], "f1": ["0.5", "1", "none", "0"]})
    first = pd.DataFrame({"id": ["q0", "q1"], "f1": [0.5, 1.0]})
    parsed = ParsedPieces(4, [first, whole.iloc[2:]])
    assert parsed.joined(lambda: whole) is whole


@pytest.mark.parametrize("n_rows", [3, 6, 7])
def test_rows_beyond_those_expected_are_counted_and_kept(n_rows):
    frame = pd.DataFrame({"id": [f"q{row}" for row in range(8)], "f1": np.arange(8) / 8})
    parsed = ParsedPieces(n_rows, pieces_of(frame, 3))
    assert (parsed.n_parsed, parsed.n_columns) == (8, 2)
    assert len(parsed.joined(lambda: frame)) == 8
