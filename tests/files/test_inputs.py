"""What callers pass as a file: read, or refused in one line that says what to pass."""

import io
import os
import tempfile
from pathlib import Path

import numpy as np
import pytest

from rageval_report.errors import ArgumentKindError, DataError, ReaderError
from rageval_report.files.inputs import describe_kind, input_name
from rageval_report.files.source import Source

TEXT = "query_id,recall\nq1,0.5\né,1\n"


class PathOfSomeone:
    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return self.path


class FileWithoutRead(io.RawIOBase):
    """A file that is open for writing only."""


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "hybrid.csv"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.mark.parametrize("kind", [str, Path, PathOfSomeone, lambda path: PathOfSomeone(str(path))])
def test_a_path_of_any_kind_is_opened(path, kind):
    source = Source(kind(str(path)) if kind is not PathOfSomeone else PathOfSomeone(str(path)))
    assert (source.text, source.stem, source.plain_path) == (TEXT, "hybrid", path)


def test_a_path_of_bytes_from_an_object_is_opened(path):
    assert Source(PathOfSomeone(os.fsencode(path))).text == TEXT


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, io.BytesIO])
def test_bytes_are_contents(kind):
    source = Source(kind(TEXT.encode()))
    assert source.text == TEXT
    assert (source.stem, source.plain_path, source.folder) == ("pipeline", None, None)
    assert source.size == len(TEXT.encode())
    assert str(source.error("no", line=3)).startswith(f"<{kind.__name__}>, line 3: ")


@pytest.mark.parametrize("mode", ["r", "rb"])
def test_an_open_file_is_read_from_its_position_and_names_itself(path, mode):
    options = {"encoding": "utf-8"} if mode == "r" else {}
    with path.open(mode, **options) as file:
        file.readline()
        source = Source(file)
    assert source.text == "q1,0.5\né,1\n"
    assert (source.stem, source.name) == ("hybrid", str(path))


def test_text_in_memory_is_utf8_whatever_its_file_was():
    assert Source(io.StringIO("é"), encoding="cp1252").text == "é"


def test_gzipped_bytes_are_unpacked(path):
    import gzip

    assert Source(gzip.compress(TEXT.encode())).text == TEXT


def test_a_file_of_text_in_another_encoding_says_to_open_it_in_binary_mode(tmp_path):
    path = tmp_path / "old.csv"
    path.write_bytes("é".encode("cp1252"))
    with (
        path.open(encoding="utf-8") as file,
        pytest.raises(DataError, match="open it in binary mode"),
    ):
        Source(file)


def test_a_file_at_its_end_says_to_go_back():
    file = io.BytesIO(TEXT.encode())
    file.read()
    with pytest.raises(ReaderError, match=r"the file is empty; .* seek\(0\)"):
        Source(file)


def test_a_closed_file_and_one_open_for_writing_are_refused(tmp_path):
    file = io.BytesIO(b"a")
    file.close()
    with pytest.raises(DataError, match="path: <BytesIO> cannot be read: I/O operation on closed"):
        Source(file)
    with (tmp_path / "new.csv").open("w") as file, pytest.raises(DataError, match="cannot be read"):
        Source(file)


class OddFile:
    def __init__(self, content):
        self.content = content

    def read(self):
        return self.content


def test_what_reads_something_else_is_refused():
    with pytest.raises(ArgumentKindError, match="that of <OddFile> returned the number 5"):
        Source(OddFile(5))


def test_half_characters_in_an_open_text_are_refused():
    with pytest.raises(DataError, match="<StringIO> holds half characters"):
        Source(io.StringIO("query_id,recall\n\ud800,1\n"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "got an empty text"),
        ("a\0b.csv", "which contains a NUL character"),
        (TEXT, r"a text that starts with 'query_id,recall'. .* pass bytes: text.encode\(\)"),
        ('{"q1": 1}', "If this is the contents of a file"),
        ("https://example.org/run.csv", "got the address .* Download it first"),
        ("s3://bucket/run.parquet", "got the address .* Download it first"),
        ("runs/*.csv", "got the pattern .* one by one"),
        ("runs/run-?.json", "got the pattern"),
    ],
)
def test_a_text_that_is_no_path_is_refused_with_what_to_pass(text, message):
    with pytest.raises(DataError, match=message) as caught:
        Source(text)
    assert str(caught.value).startswith("path must be the path of a file; got ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["[old] run.csv", "what?.csv", "a*b.csv", "{x}.csv"])
def test_an_existing_file_with_an_odd_name_is_read(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(TEXT, encoding="utf-8")
    assert Source(name).text == TEXT


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("a" * 5000, "the file cannot be read: File name too long"),
        ("a" * 300 + ".csv", "the file cannot be read: File name too long"),
        ("a\ud800.csv", "no file can have this name"),
    ],
)
def test_a_name_that_no_file_can_have_is_refused_in_a_short_line(name, message):
    with pytest.raises(ReaderError, match=message) as caught:
        Source(name)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (None, "None"),
        (5, "the number 5"),
        (10**400, "an integer of 1329 bits"),
        (True, "True"),
        (["a.csv", "b.csv"], "a list of 2 items"),
        ({"q1": 1}, "a dict of 1 key"),
        (Path, "the class Path"),
        (os, "the module os"),
        (len, "the function len"),
        (np.zeros(2), "a ndarray"),
        (object(), "an object"),
    ],
)
def test_anything_else_is_refused_by_its_kind(value, kind):
    message = "path must be the path of a file, its contents as bytes, or an open file; got "
    with pytest.raises(TypeError) as caught:
        Source(value)
    assert str(caught.value) == message + kind
    assert describe_kind(value) == kind


def test_inputs_are_named_in_messages():
    with tempfile.NamedTemporaryFile(suffix=".csv") as file:
        assert input_name(file) == file.name
    assert input_name("-") == "standard input"
    assert len(input_name("a" * 5000)) < 300
