from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rageval_report.files import encoding
from rageval_report.files.encoding import NotTextError, binary_kind, decode_text

TABLE = "query_id,answer,recall\nq1,Zürich – 東京 🙂,0.5\n"


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
        (b"", "utf-8"),
    ],
)
def test_a_byte_order_mark_says_the_encoding_and_is_no_part_of_the_text(mark, encoding):
    assert decode_text(mark + TABLE.encode(encoding)) == (TABLE.encode("utf-8"), None)


def test_utf8_is_handed_on_without_a_copy():
    data = TABLE.encode("utf-8")
    assert decode_text(data).utf8 is data


def test_windows_letters_are_read_with_a_note():
    found = decode_text("id,answer\nq1,café\n".encode("cp1252"))
    assert "café" in found.utf8.decode("utf-8")
    assert "cp1252" in found.note


def test_bytes_that_windows_does_not_know_are_read_as_latin_1():
    found = decode_text(b"id,answer\nq1,caf\xe9 \x81\n")
    assert "caf\xe9 \x81" in found.utf8.decode("utf-8")
    assert "latin-1" in found.note


def test_a_given_encoding_is_used_without_a_note():
    assert decode_text("ключ".encode("koi8-r"), "koi8-r") == ("ключ".encode(), None)


def test_a_given_encoding_takes_the_byte_order_mark_off():
    assert decode_text(codecs.BOM_UTF8 + b"id", "utf-8").utf8 == b"id"


def test_an_encoding_that_does_not_fit_names_the_line():
    with pytest.raises(NotTextError, match=r"not ascii") as caught:
        decode_text("id\nq1\ncafé\n".encode(), "ascii")
    assert caught.value.line == 3


def test_an_unknown_encoding_is_refused():
    with pytest.raises(NotTextError, match=r"no encoding is named 'klingon'"):
        decode_text(b"id", "klingon")


@pytest.mark.parametrize("data", ["é".encode()[:1], codecs.BOM_UTF16_LE + b"a\x00b"])
def test_a_file_cut_within_a_character_is_called_cut(data):
    with pytest.raises(NotTextError, match=r"in the middle of a character"):
        decode_text(data)


def test_a_nul_character_is_refused_with_its_line():
    with pytest.raises(NotTextError, match=r"NUL") as caught:
        decode_text(b"id\nq\x001\n")
    assert caught.value.line == 2


def test_control_characters_in_no_known_encoding_are_binary():
    with pytest.raises(NotTextError, match=r"binary"):
        decode_text(b"\xff\xfa\x01\x02\x03 abc")


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        (b"%PDF-1.7", "a PDF"),
        (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
        (b"\x80\x04\x95", "a Python pickle, which can contain code and is not read"),
        (b"PAR1\x15\x04\x00", "a Parquet file"),
        (b"SQLite format 3\x00", "an SQLite database"),
        (b"\x01\x00\x02", "binary data, or UTF-16 without a byte order mark"),
    ],
)
def test_binary_formats_are_called_by_their_names(head, kind):
    assert binary_kind(head).startswith(kind)


@pytest.mark.parametrize("head", [b"PAR1,recall\n1,0.5", b"ORCID,recall\n", b"BZh;recall\n"])
def test_a_text_that_opens_like_a_magic_word_is_text(head):
    assert binary_kind(head) is None


@pytest.mark.parametrize(
    ("head", "kind"),
    [(b"<html>", "HTML or XML"), (b' {"a": 1}', "JSON"), (b"Dear all", "text that starts with")],
)
def test_texts_are_described(head, kind):
    assert encoding.text_kind(head).startswith(kind)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_any_text_survives_utf16(text):
    assert decode_text(codecs.BOM_UTF16_LE + text.encode("utf-16-le")).utf8.decode("utf-8") == text
