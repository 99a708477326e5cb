"""What callers pass as a file: read in any encoding, or refused with what to do."""

import codecs
import gzip
import io
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rageval_report.errors import ArgumentKindError, DataError, ReaderError
from rageval_report.files.source import Source
from rageval_report.readers import read

TEXT = "query_id,recall\nq1,0.5\né,1\n"
TABLE = b"query_id,recall\nq1,0.5\n"


class PathOfSomeone:
    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return self.path


class OddFile:
    def read(self):
        return 5


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "hybrid.csv"
    path.write_text(TEXT, encoding="utf-8")
    return path


# -- paths, bytes, open files


@pytest.mark.parametrize("kind", [str, Path, PathOfSomeone])
def test_a_path_of_any_kind_is_opened(path, kind):
    source = Source(kind(str(path)))
    assert (source.text, source.stem, source.plain_path) == (TEXT, "hybrid", path)


@pytest.mark.parametrize("kind", [bytes, memoryview, io.BytesIO])
def test_bytes_are_contents(kind):
    source = Source(kind(TEXT.encode()))
    assert (source.text, source.stem, source.folder) == (TEXT, "pipeline", None)
    assert str(source.error("no", line=3)).startswith(f"<{kind.__name__}>, line 3: ")


def test_an_open_file_is_read_from_its_position_and_names_itself(path):
    with path.open("rb") as file:
        file.readline()
        source = Source(file)
    assert (source.text, source.stem, source.name) == ("q1,0.5\né,1\n", "hybrid", str(path))
    assert Source(io.StringIO("é"), encoding="cp1252").text == "é"  # text has no other encoding


def closed_file():
    file = io.BytesIO(b"a")
    file.close()
    return file


def file_at_its_end():
    file = io.BytesIO(b"a")
    file.read()
    return file


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (closed_file, DataError, "path: <BytesIO> cannot be read: I/O operation on closed"),
        (file_at_its_end, ReaderError, r"the file is empty; .* seek\(0\)"),
        (OddFile, ArgumentKindError, "that of <OddFile> returned the number 5"),
        (lambda: io.StringIO("\ud800"), DataError, "<StringIO> cannot be read"),
        (lambda: io.TextIOWrapper(io.BytesIO(b"\xe9"), "utf-8"), DataError, "cannot be read"),
        (lambda: None, ArgumentKindError, "path must be the path .* or an open file; got None"),
        (lambda: 5, TypeError, "got the number 5"),
        (lambda: os, TypeError, "got the module os"),
        (lambda: "", DataError, "path must be the path of a file; got an empty text"),
        (lambda: "a\0b.csv", DataError, "which contains a NUL character"),
        (lambda: TEXT, DataError, r"starts with 'query_id,recall'. .* pass bytes: text.encode"),
        (lambda: '{"q1": 1}', DataError, "If this is the contents of a file"),
        (lambda: "https://example.org/run.csv", DataError, "got the address or pattern"),
        (lambda: "runs/*.csv", DataError, "got the address or pattern"),
        (lambda: "a" * 5000, ReaderError, "the file cannot be read: File name too long"),
        (lambda: "a\ud800.csv", ReaderError, "the file cannot be read"),
    ],
)
def test_what_is_no_file_is_refused_in_one_short_line(make, error, message):
    with pytest.raises(error, match=message) as caught:
        Source(make())
    assert len(str(caught.value)) < 400
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["[old] run.csv", "what?.csv", "a*b.csv", "{x}.csv"])
def test_an_existing_file_with_an_odd_name_is_read(tmp_path, name, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(TEXT, encoding="utf-8")
    assert Source(name).text == TEXT


def test_missing_files_folders_and_empty_files_are_named(tmp_path, write):
    with pytest.raises(ReaderError, match=r"nothing\.csv: there is no such file"):
        Source(tmp_path / "nothing.csv")
    with pytest.raises(ReaderError, match=r"this is a folder"):
        Source(tmp_path)
    for content in (b"", gzip.compress(b"")):
        with pytest.raises(ReaderError, match=r"the file is empty"):
            read(write(content))


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("hybird.csv", "Did you mean 'hybrid."),
        ("BM25.csv", "Did you mean 'bm25.csv'?"),
        ("runs/munday.json", "Did you mean 'runs/monday.json'?"),
        ("rnus/monday.json", "The folder rnus does not exist either"),
        ("reranked.csv", None),
    ],
)
def test_a_near_name_in_the_folder_is_suggested(tmp_path, monkeypatch, typed, hint):
    monkeypatch.chdir(tmp_path)
    for name in ("bm25.csv", "hybrid.csv", "hybrid.parquet", "runs/monday.json"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("x")
    with pytest.raises(ReaderError) as caught:
        Source(typed)
    message = str(caught.value).split("there is no such file")[1]
    assert (hint in message) if hint else "Did you mean" not in message


# -- gzip and standard input


def test_gzip_is_known_by_content_and_no_part_of_the_name(write):
    source = Source(write(gzip.compress(TABLE), "hybrid.csv"))
    assert (source.data, source.stem, source.plain_path) == (TABLE, "hybrid", None)
    assert Source(write(TABLE, "a.csv.gz")).stem == "a"


def test_a_cut_damaged_or_huge_gzip_file_is_refused(write, monkeypatch):
    for kept in (15, 25, -1):
        with pytest.raises(ReaderError, match=r"gzip file is (cut|damaged)"):
            read(write(gzip.compress(TABLE * 10)[:kept]))
    data = bytearray(gzip.compress(bytes(range(256)) * 20))
    data[40] ^= 0xFF
    with pytest.raises(ReaderError, match=r"damaged"):
        _ = Source(bytes(data)).data
    monkeypatch.setattr("rageval_report.files.source._HARMLESS", 1 << 16)
    with pytest.raises(ReaderError, match=r"expands to more than 300 times"):
        read(write(gzip.compress(b"0" * (1 << 22))))


@pytest.mark.parametrize("content", [TABLE, gzip.compress(TABLE, mtime=0)])
def test_standard_input_is_read_once_and_named(monkeypatch, content):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    [found] = read("-")
    assert (found.pipeline, found.frame["recall"].tolist()) == ("stdin", [0.5])
    with pytest.raises(ReaderError, match=r"standard input: the file is empty"):
        read("-")


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_at_any_line_end(line_end):
    source = Source(line_end.join(["a", "b", "cd"]).encode())
    assert source.line_of(source.utf8.index(b"d")) == 3


# -- encodings

LETTERS = "query_id,answer,recall\nq1,Zürich – 東京 🙂,0.5\n"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (b"", "utf-8"),
    ],
)
def test_a_byte_order_mark_says_the_encoding_and_is_no_part_of_the_text(mark, encoding):
    source = Source(mark + LETTERS.encode(encoding))
    assert (source.text, source.notes) == (LETTERS, ())


@pytest.mark.parametrize(
    ("data", "letters", "note"),
    [("café".encode("cp1252"), "café", "cp1252"), (b"caf\xe9 \x81", "caf\xe9 \x81", "latin-1")],
)
def test_other_letters_are_read_with_a_note(data, letters, note):
    [found] = read(b"query_id,answer,recall\nq1," + data + b",1\n")
    assert found.frame["answer"].tolist() == [letters]
    assert any(f"not UTF-8; it was read as {note}" in text for text in found.notes)


CHINESE = "问题的答案在哪里？北京是中华人民共和国的首都，也是全国的政治中心。"
TRADITIONAL = "問題的答案在哪裡？臺北是一個現代化的城市，也是政治中心。"
JAPANESE = "質問の答えはどこにありますか。東京は日本の首都です。カタカナもあります。"
KOREAN = "질문의 답은 어디에 있습니까? 서울은 대한민국의 수도입니다."


@pytest.mark.parametrize(
    ("letters", "encoding"),
    [
        (CHINESE, "gbk"),
        (TRADITIONAL, "big5"),
        (JAPANESE, "shift_jis"),
        (JAPANESE, "euc_jp"),
        (KOREAN, "euc_kr"),
    ],
)
def test_letters_of_east_asia_are_read_with_a_note(letters, encoding):
    text = f"query_id,question,recall\nq1,{letters},1\nq2,{letters[::-1]},0.5\n"
    [found] = read(text.encode(encoding))
    assert found.frame["question"].tolist() == [letters, letters[::-1]]
    assert any("the file is not UTF-8; it was read as " in note for note in found.notes)


@pytest.mark.parametrize(
    "letters", ["Größe, Übung, weiß", "más allá, ¿qué? señor", "été déjà créée", "São João: ações"]
)
def test_letters_of_europe_are_not_taken_for_those_of_east_asia(letters):
    assert Source(letters.encode("latin-1")).text == letters


def test_an_encoding_may_be_given():
    source = Source("ключ".encode("koi8-r"), encoding="koi8-r")
    assert (source.text, source.notes) == ("ключ", ())
    assert Source(codecs.BOM_UTF8 + b"id", encoding="utf-8").text == "id"


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        ("id\nq1\ncafé\n".encode(), "ascii", "line 3: this is not ascii"),
        (b"id", "klingon", "no encoding is named 'klingon'"),
        ("id é".encode()[:-1], None, "in the middle of a character"),
        (codecs.BOM_UTF16_LE + b"a\x00b", None, "in the middle of a character"),
        (b"\xff\xfa\x01\x02\x03 abc", None, "binary"),
        (b"%PDF-1.7", None, "this looks like a PDF"),
        (b"\x80\x04\x95", None, "a Python pickle, which can contain code and is not read"),
        (b"\x01\x00\x02", None, "binary data, or UTF-16 without a byte order mark"),
    ],
)
def test_what_is_no_text_is_refused_as_what_it_is(data, encoding, message):
    with pytest.raises(ReaderError, match=message):
        _ = Source(data, encoding=encoding).text


@settings(max_examples=40)
@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1))
def test_any_text_survives_utf16(text):
    assert Source(codecs.BOM_UTF16_LE + text.encode("utf-16-le")).text == text
