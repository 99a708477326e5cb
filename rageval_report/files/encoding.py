"""Recognise bytes: text in some encoding, or a binary format."""

from __future__ import annotations

import re
from typing import NamedTuple

_CHUNK = 1 << 20

# Byte order marks. UTF-32 comes first, because its little-endian mark starts with that of UTF-16.
_MARKS: tuple[tuple[bytes, str], ...] = (
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)
_BINARY: tuple[tuple[bytes, str], ...] = (
    (b"PAR1", "a Parquet file"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x1f\x8b", "a gzip file within a gzip file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls) or a password-protected one"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"ARROW1", "a Feather or Arrow file"),
    (b"\x93NUMPY", "a NumPy array file"),
    (b"\x80", "a Python pickle, which can contain code and is not read"),
    (b"%PDF", "a PDF"),
)
# The reasons of Python's decoders for bytes that end too early.
_CUT = ("unexpected end of data", "truncated data")
# Control characters that do not occur in text; tab, line ends and form feed do.
_CONTROLS = re.compile(rb"[\x00-\x08\x0b\x0e-\x19\x1b-\x1f\x7f]")


class NotTextError(ValueError):
    """Bytes cannot be read as text."""

    def __init__(self, message: str, line: int | None = None):
        self.line = line
        super().__init__(message)


class DecodedText(NamedTuple):
    """A text as UTF-8, with a note if its encoding was guessed."""

    utf8: bytes
    note: str | None = None


def binary_kind(head: bytes, encoding: str | None = None) -> str | None:
    """The binary format of a file that starts with `head`; None if it may be text."""
    for magic, kind in _BINARY:
        if head.startswith(magic):
            return kind
    if b"\x00" in head and encoding is None and _byte_order_mark(head) is None:
        return "binary data, or UTF-16 without a byte order mark (if so, pass encoding='utf-16-le')"
    return None


def text_kind(head: bytes) -> str:
    """What a text looks like, in words for an error message."""
    text = head_text(head).lstrip()
    if text.startswith("<"):
        return "HTML or XML"
    if text.startswith(("{", "[")):
        return "JSON"
    line = text.splitlines()[0][:60] if text else ""
    return f"text that starts with {line!r}" if line else "an empty text"


def head_text(head: bytes) -> str:
    """The first bytes as text; a character that is cut at the end is replaced."""
    mark = _byte_order_mark(head)
    if mark is None:
        return head.decode("utf-8", "replace")
    magic, encoding = mark
    return head[len(magic) :].decode(encoding, "replace")


def _byte_order_mark(data: bytes) -> tuple[bytes, str] | None:
    return next((mark for mark in _MARKS if data.startswith(mark[0])), None)


def decode_text(data: bytes, encoding: str | None = None) -> DecodedText:
    """Decode the bytes of a file."""
    note = None
    if encoding is None:
        magic, encoding = _byte_order_mark(data) or (b"", "utf-8")
        data = data[len(magic) :]
        try:
            text = None if encoding == "utf-8" and data.isascii() else data.decode(encoding)
            utf8 = data if text is None or encoding == "utf-8" else text.encode()
            return DecodedText(_check_no_nul(utf8))
        except UnicodeDecodeError as exc:
            # Where only the last character is broken, the file was cut.
            if not magic and exc.reason != _CUT[0]:
                encoding = _likely_encoding(data)
                note = (
                    f"the file is not UTF-8; it was read as {encoding} (if letters look wrong, "
                    "pass encoding=)"
                )
    return DecodedText(_check_no_nul(_to_utf8(data, encoding)), note)


def _to_utf8(data: bytes, encoding: str) -> bytes:
    try:
        text = data.decode(encoding)
    except LookupError as exc:
        raise NotTextError(
            f"no encoding is named {encoding!r}; common ones are utf-8 and cp1252"
        ) from exc
    except UnicodeDecodeError as exc:
        if exc.reason in _CUT:
            raise NotTextError("the file ends in the middle of a character; it may be cut") from exc
        line = 1 + data[: exc.start].count(b"\n")
        raise NotTextError(f"this is not {encoding}: {exc.reason}", line) from exc
    # utf-16 drops its mark, utf-16-le keeps it as a character.
    return text.removeprefix("\ufeff").encode("utf-8", "surrogatepass")


# What shows an encoding: its own letters, or the most frequent words of Chinese.
_FREQUENT = {
    "euc_kr": (r"[\uac00-\ud7a3]", 0.9),
    "euc_jp": (r"[\u3040-\u30ff]", 0.2),
    "shift_jis": (r"[\u3040-\u30ff]", 0.2),
    "gb18030": (r"[的一是不了人在有我他这中大来上国个到说们为和你地]", 0.05),
    "big5": (r"[的一是不了人在有我他這中大來上國個到說們為和你地]", 0.05),
}


def _likely_encoding(data: bytes) -> str:
    """The encoding of a text that is not UTF-8: one of East Asia, or of Windows."""
    if _CONTROLS.search(data) is not None:
        raise NotTextError("expected text; this looks like binary data")
    # Letters beyond ASCII stand alone in European texts, and have two bytes in East Asian ones.
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", data[:_CHUNK])]
    if 2 * sum(n for n in runs if n > 1) >= sum(runs):
        for encoding, (frequent, least) in _FREQUENT.items():
            letters = re.sub(r"[\0-\x7f]", "", _decoded(data, encoding)[:_CHUNK])
            if len(re.findall(frequent, letters)) > least * len(letters):
                return encoding
    # cp1252 leaves five bytes undefined; Latin-1 accepts any byte.
    return "cp1252" if _decoded(data, "cp1252") else "latin-1"


def _decoded(data: bytes, encoding: str) -> str:
    """The text; blank if it cannot be in this encoding."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return ""


def _check_no_nul(utf8: bytes) -> bytes:
    place = utf8.find(b"\x00")
    if place >= 0:
        line = 1 + utf8[:place].count(b"\n")
        raise NotTextError("expected text; this contains a NUL character, so it is binary", line)
    return utf8
