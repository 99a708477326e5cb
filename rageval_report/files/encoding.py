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
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x1f\x8b", "a gzip file within a gzip file"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls) or a password-protected one"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"ARROW1", "a Feather or Arrow file"),
    (b"ORC", "an ORC file"),
    (b"Obj\x01", "an Avro file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"\x93NUMPY", "a NumPy array file"),
    *(
        (bytes((0x80, version)), "a Python pickle, which can contain code and is not read")
        for version in (2, 3, 4, 5)
    ),
    (b"%PDF", "a PDF"),
    (b"\x89PNG", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"\x7fELF", "a program"),
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
        # A signature of letters, such as ORC, may also begin a CSV.
        if head.startswith(magic) and not (magic.isascii() and magic.isalnum() and _is_text(head)):
            return kind
    if b"\x00" in head and encoding is None and _byte_order_mark(head) is None:
        return "binary data, or UTF-16 without a byte order mark (if so, pass encoding='utf-16-le')"
    return None


def _is_text(head: bytes) -> bool:
    """Whether bytes that start like a signature are text nevertheless, such as "ORCID,recall"."""
    return _CONTROLS.search(head) is None and head.isascii()


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


def _likely_encoding(data: bytes) -> str:
    """The encoding of a text that is not UTF-8: one of East Asia, or of Windows."""
    if _CONTROLS.search(data) is not None:
        raise NotTextError("expected text; this looks like binary data")
    east_asian = _east_asian_encoding(data)
    # cp1252 leaves five bytes undefined; Latin-1 accepts any byte.
    choices = ([east_asian] if east_asian else []) + ["cp1252"]
    can_be = (name for name in choices if _decoded_or_none(data, name) is not None)
    return next(can_be, "latin-1")


def _decoded_or_none(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError:
        return None


# Letters of the first blocks of each encoding, which have nearly all that people write.
_FREQUENT: dict[str, str | bytes] = {
    "euc_kr": r"[\uac00-\ud7a3]",
    "euc_jp": r"[\u3040-\u30ff]",
    "shift_jis": r"[\u3040-\u30ff]",
    "gb18030": rb"[\xa1-\xa3\xb0-\xd7].",
    "big5": rb"[\xa1-\xc6].",
}
# The least share of these: Japanese has kana beside its other letters.
_LEAST = {"euc_kr": 0.95, "euc_jp": 0.2, "shift_jis": 0.2, "gb18030": 0.8, "big5": 0.8}
_OF_LARGE_BYTES = ("euc_kr", "euc_jp", "gb18030")  # both bytes of a letter are over 127


def _east_asian_encoding(data: bytes) -> str | None:
    """The encoding of a Chinese, Japanese or Korean text; None for texts in other languages."""
    # Letters beyond ASCII stand alone in European texts, and have two bytes in these.
    runs = [len(run) for run in re.findall(rb"[\x80-\xff]+", data[:_CHUNK])]
    if 2 * sum(n for n in runs if n > 1) < sum(runs):
        return None
    are_pairs = 20 * sum(n % 2 for n in runs) < len(runs)
    shares = {}
    for encoding, frequent in _FREQUENT.items():
        if encoding in _OF_LARGE_BYTES and not are_pairs:
            continue
        letters = re.sub(r"[\0-\x7f]", "", (_decoded_or_none(data, encoding) or "")[:_CHUNK])
        if isinstance(frequent, str):
            share = len(re.findall(frequent, letters)) / max(len(letters), 1)
        else:
            narrow = "gb2312" if encoding == "gb18030" else encoding
            pairs = [letter.encode(narrow, "ignore") for letter in letters]
            share = sum(re.match(frequent, pair, re.DOTALL) is not None for pair in pairs)
            share /= max(len(letters), 1)
        if share >= _LEAST[encoding]:
            shares[encoding] = share
    # Korean and Japanese first: their letters are no others'.
    own = [name for name in shares if isinstance(_FREQUENT[name], str)]
    return own[0] if own else max(shares, key=shares.__getitem__, default=None)


def _check_no_nul(utf8: bytes) -> bytes:
    place = utf8.find(b"\x00")
    if place >= 0:
        line = 1 + utf8[:place].count(b"\n")
        raise NotTextError("expected text; this contains a NUL character, so it is binary", line)
    return utf8
