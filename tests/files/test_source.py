from __future__ import annotations

import gzip
import io
from types import SimpleNamespace

import pytest

from rageval_report.errors import ReaderError
from rageval_report.readers import Source, read

TABLE = b"query_id,recall\nq1,0.5\n"


def as_standard_input(monkeypatch, content):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ReaderError, match=r"nothing\.csv: there is no such file"):
        Source(tmp_path / "nothing.csv")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ReaderError, match=r"this is a folder"):
        Source(tmp_path)


def test_an_empty_file_is_refused(write):
    with pytest.raises(ReaderError, match=r"the file is empty"):
        Source(write(b""))


def test_an_empty_gzip_file_is_refused(write):
    with pytest.raises(ReaderError, match=r"the file is empty"):
        read(write(gzip.compress(b"")))


def test_gzip_is_known_by_content_and_no_part_of_the_name(write):
    source = Source(write(gzip.compress(TABLE), "hybrid.csv"))
    assert source.data == TABLE
    assert source.stem == "hybrid"
    assert source.plain_path is None


@pytest.mark.parametrize(
    ("name", "stem"),
    [("a.csv", "a"), ("a.csv.gz", "a"), ("a.v2.jsonl", "a.v2"), ("top_k=1", "top_k=1")],
)
def test_a_pipeline_is_named_after_its_file(write, name, stem):
    assert Source(write(TABLE, name)).stem == stem


@pytest.mark.parametrize("kept", [15, 25, -1])
def test_a_cut_gzip_file_is_called_cut(write, kept):
    with pytest.raises(ReaderError, match=r"gzip file is (cut|damaged)"):
        read(write(gzip.compress(TABLE * 10)[:kept]))


def test_a_damaged_gzip_file_is_refused(write):
    data = bytearray(gzip.compress(bytes(range(256)) * 20))
    data[40] ^= 0xFF
    with pytest.raises(ReaderError, match=r"damaged"):
        _ = Source(write(bytes(data))).data


def test_a_gzip_bomb_is_refused(write, monkeypatch):
    monkeypatch.setattr("rageval_report.files.source._HARMLESS", 1 << 16)
    with pytest.raises(ReaderError, match=r"expands to more than 300 times"):
        read(write(gzip.compress(b"0" * (1 << 22))))


def test_standard_input_is_read_once_and_named(monkeypatch):
    as_standard_input(monkeypatch, TABLE)
    [found] = read("-")
    assert found.pipeline == "stdin"
    assert found.frame["recall"].tolist() == [0.5]


def test_gzip_on_standard_input_is_unpacked(monkeypatch):
    as_standard_input(monkeypatch, gzip.compress(TABLE))
    assert read("-")[0].frame.shape == (1, 2)


def test_empty_standard_input_is_refused(monkeypatch):
    as_standard_input(monkeypatch, b"")
    with pytest.raises(ReaderError, match=r"standard input: the file is empty"):
        read("-")


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_at_any_line_end(write, line_end):
    source = Source(write(line_end.join(["a", "b", "cd"])))
    assert source.line_of(source.utf8.index(b"d")) == 3


def test_what_was_guessed_of_the_encoding_is_a_note(read_text):
    found = read_text("query_id,answer,recall\nq1,café,1\n".encode("cp1252"))
    assert found.frame["answer"].tolist() == ["café"]
    assert any("not UTF-8" in note for note in found.notes)


def test_utf16_tables_are_read(frame_text):
    frame = frame_text("query_id\tanswer\trecall\r\nq1\tZürich\t1\r\n".encode("utf-16"))
    assert frame["answer"].tolist() == ["Zürich"]


def test_an_encoding_may_be_given(frame_text):
    frame = frame_text("query_id,answer,recall\nq1,ключ,1\n".encode("koi8-r"), encoding="koi8-r")
    assert frame["answer"].tolist() == ["ключ"]
