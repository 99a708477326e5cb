"""Large tables that are parsed block by block have the cells and the errors of those in memory."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rageval_report.errors import ReaderError
from rageval_report.files.source import Source
from rageval_report.readers import delimited, line_blocks
from rageval_report.readers.base import ScoreFile
from rageval_report.readers.delimited import read_delimited
from rageval_report.readers.line_blocks import LineSurvey, parse_blocks
from rageval_report.readers.parsed_pieces import LineError

HEADER = "query_id,answer,recall,latency\n"
# Cells that change the type of a column, or how many fields a row seems to have.
CELLS = ["1", "2", "-0", "007", "0.5", "7e-5", "", '""', "None", "nan", "n/a", "inf", "True", "é"]
CELLS += ['"1,5"', '"a, b"', '"a\nb"', '"a ""b"""', '5" disk', '"open', " ", "1e400", "'=1+1", "'"]
CELLS += ["9007199254740993", "1" * 30, "18446744073709551615"]


def outcome(source: Source) -> pd.DataFrame | str:
    """The frame of a table with its notes and lines, or the error."""
    try:
        [file] = read_delimited(source)
    except ReaderError as exc:
        return str(exc).replace(source.name, "FILE")
    assert file.line_of_row is not None
    lines = [file.line_of_row(row) for row in range(len(file.frame))]
    notes = {f"note {k}": note for k, note in enumerate((*source.notes, *file.notes))}
    return file.frame.assign(line=lines, **notes)


def outcome_in_blocks(content: bytes, *, slice_size: int = 7, block_size: int = 20):
    """The outcome where a block is a few lines, for a file on the disk and for its contents."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(delimited, "_FEWEST_BYTES", 0)
        patch.setattr(line_blocks, "_SLICE", slice_size)
        patch.setattr(line_blocks, "_BLOCK", block_size)
        in_memory = outcome(Source(content))
        patch.setattr(line_blocks, "LARGE", 0)
        path = Path(folder) / "scores.csv"
        path.write_bytes(content)
        on_disk = outcome(Source(path))
    assert_same(on_disk, in_memory)
    return on_disk


def outcome_in_memory(content: bytes) -> pd.DataFrame | str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_FEWEST_BYTES", 1 << 60)
        return outcome(Source(content))


def assert_same(found: pd.DataFrame | str, expected: pd.DataFrame | str) -> None:
    if isinstance(expected, str):
        assert isinstance(found, str), expected
        assert found.replace("<bytes>", "FILE") == expected.replace("<bytes>", "FILE")
        return
    assert isinstance(found, pd.DataFrame), found
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    for name in expected.select_dtypes("float64"):
        assert found[name].to_numpy().tobytes() == expected[name].to_numpy().tobytes()


@pytest.fixture
def refuse_memory(monkeypatch):
    """An error if a table is parsed whole."""

    def refuse(*_arguments: object) -> ScoreFile:
        raise AssertionError("the table is parsed in memory")

    monkeypatch.setattr(delimited, "_parse_whole", refuse)


ROWS = st.lists(st.lists(st.sampled_from(CELLS), min_size=3, max_size=5), max_size=9)
USUAL_ROWS = st.lists(
    st.tuples(
        st.sampled_from(["a", "7", "12", "q é", '"x, y"']),
        st.sampled_from(["yes", "", "1", "it's", "'=1"]),
        st.sampled_from(["0.5", "", "1", "1e-3"]),
        st.sampled_from(["3", "4", "", "5.5"]),
    ),
    max_size=12,
)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(ROWS, USUAL_ROWS),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
    st.sampled_from(["utf-8", "utf-8-sig", "cp1252"]),
)
@example([["a", "x", "1", "1"], ["b", "y", "1"], ["c", "z", "1", "4", "5"]], "\n", True, "utf-8")
@example([["a", "x", "1", ""], ["b", "y", "1"], ["c", "z", "", ""]], "\n", False, "utf-8")
@example(
    [["a", '"x\ny"', "1", "1"], ["b", "'", "1", "1"], ["c", "=", "1", "1"]], "\n", True, "utf-8"
)
@example([["1", "", "1", "2"], ["007", "", "1", "2"], ["3", "", "1", "2"]], "\r\n", True, "utf-8")
def test_any_table_has_the_cells_and_the_errors_of_one_in_memory(records, end, is_ended, encoding):
    lines = [HEADER.rstrip("\n"), *(",".join(record) for record in records)]
    content = (end.join(lines) + (end if is_ended else "")).encode(encoding)
    assert_same(outcome_in_blocks(content), outcome_in_memory(content))


@pytest.mark.parametrize(
    "text",
    [
        "# a comment\nid,recall\na,1\nb,0\n",
        "id,recall\na,1\n\nb,0\n",
        "id,recall\na,1\nid,recall\nb,0\n",
        "id,recall\na,1\nb\n",
        "id,recall\na,1,2\nb,0\n",
        "id,recall\r\na,1\nb,0\r\n",
        "id,recall\na,1\rb,0\n",
        "id,recall\na,1\nb,\x00\n",
        "id,recall\n",
        'id,recall\n"a,1\nb,0\n',
        "id|recall\na|1\nb|0\n",
        "id;recall\na;0,5\nb;1,25\n",
        "id,recall\n" + "a,0.25\n" * 3 + "a,0.2",
    ],
)
def test_unusual_tables_have_the_outcome_of_memory(text):
    content = text.encode()
    assert_same(outcome_in_blocks(content), outcome_in_memory(content))


@pytest.mark.parametrize("encoding", ["cp1252", "utf-16", "utf-8-sig"])
def test_the_header_alone_may_show_the_encoding(encoding):
    content = "id,précision\na,1\nb,0\n".encode(encoding)
    frame = outcome_in_blocks(content)
    assert_same(frame, outcome_in_memory(content))
    assert isinstance(frame, pd.DataFrame)
    assert frame["précision"].tolist() == [1, 0]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("is_ended", [True, False])
def test_usual_tables_are_parsed_in_blocks(end, is_ended, refuse_memory):
    rows = ["1,yes,0.5,1", "2,,0.25,2", '31,"a, b",,3', "4,it's,1,4"]
    text = end.join([HEADER.rstrip("\n"), *rows]) + end * is_ended
    frame = outcome_in_blocks(text.encode())
    assert isinstance(frame, pd.DataFrame)
    assert frame["query_id"].tolist() == ["1", "2", "31", "4"]
    assert frame["latency"].tolist() == [1, 2, 3, 4]
    assert frame["line"].tolist() == [2, 3, 4, 5]
    assert frame["recall"].isna().tolist() == [False, False, True, False]


def test_missing_last_cells_do_not_need_the_whole_text(refuse_memory):
    frame = outcome_in_blocks(b"id,recall,mrr\na,1.5,\nb,,\nc,0.5,0.25\nd,,\n")
    assert isinstance(frame, pd.DataFrame)
    assert frame["mrr"].isna().tolist() == [True, True, False, True]


def test_hard_decimals_are_the_nearest_floats(refuse_memory):
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 0x7FE0000000000000, 4_000, dtype=np.int64).view(np.float64)
    # Halfway between two floats, and one digit beyond it.
    halves = ["9007199254740993.0", "9007199254740993.00000000000000000001", "4.9e-324", "2.5e-324"]
    texts = [repr(float(value)) for value in bits] + halves + ["0.1", "1e22", "8.5e-22"]
    lines = "".join(f"q{row},{text}\n" for row, text in enumerate(texts))
    frame = outcome_in_blocks(f"id,recall\n{lines}".encode(), slice_size=999, block_size=4_000)
    assert isinstance(frame, pd.DataFrame)
    assert frame["recall"].tolist() == list(map(float, texts))  # Python rounds to the nearest


def test_a_sign_in_the_next_slice_is_seen():
    assert LineSurvey([b"a,'  ", b"=1+1,1\n"]).may_be_neutralised
    assert LineSurvey([b"a,'\xef", b"\xbc\x9d1\n"]).may_be_neutralised
    assert not LineSurvey([b"a,it's ", b"=1,1\n"]).may_be_neutralised


@pytest.mark.parametrize(
    ("slices", "reason"),
    [
        ([b"a,\xc3", b"\x28\n"], "not UTF-8"),
        ([b"a,1\n", b"b,\xc3"], "not UTF-8"),
        ([b"a,1\r", b"\nb,0\n"], "several kinds"),
        ([b"a,1\n", b"b\x00,0\n"], "NUL"),
    ],
)
def test_texts_that_blocks_cannot_have_are_refused(slices, reason):
    with pytest.raises(LineError, match=reason):
        LineSurvey(slices)


def test_a_character_in_two_slices_is_whole():
    assert LineSurvey([b"a,\xc3", b"\xa9\n", b"b,1"]).n_lines == 2


def test_a_file_that_changes_between_survey_and_parser_is_refused():
    def open_parser(file):
        return pd.read_csv(file, header=None, names=["id", "f1"], chunksize=1)

    survey = LineSurvey([b"a,1\nb,0\n"])
    with pytest.raises(LineError):
        parse_blocks([b"a,1\nb,0"], survey, ",", open_parser)
    with pytest.raises(LineError):
        parse_blocks([b"a,1\nb,0\nc,1\n"], survey, ",", open_parser)
    with pytest.raises(ValueError, match="zip"):
        parse_blocks([b"a,1\nb,0\n", b"c,0\n"], survey, ",", open_parser)
