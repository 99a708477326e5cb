"""TREC runs and judgments, and BEIR's, read as rows; an error names the file and the line.

A regular file is cut into columns by NumPy. Anything else, be it a comment, a blank line or a
fault, is read line by line, which finds the line and names the fault. Blank lines and lines that
begin with # are skipped; a non-breaking space is part of an id.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from rageval_report.errors import ReaderError
from rageval_report.files.inputs import Contents, FileInput, open_input, shorten_path
from rageval_report.metrics.joining import IdRows, Ids
from rageval_report.scores.query_ids import first_named
from rageval_report.types import BoolArray, FloatArray, IntArray

Bytes = NDArray[np.uint8]

_GZIP = b"\x1f\x8b"
# Five tools keep this mark in the first query's id and lose its first judgment without a word.
_BOM = b"\xef\xbb\xbf"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")
# Bytes below the tab appear in no text file; a wrong file, such as Parquet, has them early.
_CONTROLS = bytes(range(9))
# The limits of other gzip files, see `rageval_report.files.source`.
_MAX_EXPANSION = 300
_HARMLESS = 1 << 28
# A longer word is not an id, but a line that lost its blanks.
_LONGEST = 4096
# A line is cut to the width of a terminal in messages.
_SHOWN = 80
# Bytes that are worked on at a time, with what is derived from them, stay in the processor's cache.
_CHUNK = 1 << 18
_BLANK, _NEWLINE, _HASH, _MINUS, _POINT, _ZERO, _UNDERSCORE = map(ord, " \n#-.0_")
_NINE = 9
_EXACT_DIGITS = 15  # so many digits always fit into a float
# All ASCII characters up to the blank separate words, and no other, unlike in str.split().
_BLANKS = re.compile(rb"[\x00-\x20]+")

# A header of three columns has at least one of these.
_HEADER_NAMES = (
    *("query_id", "qid", "q_id", "query", "topic", "topic_id"),
    *("corpus_id", "doc_id", "docno", "docid", "document_id", "doc", "document", "pid"),
    *("passage_id", "score", "relevance", "rel", "label", "grade", "judgment", "rank"),
)


@dataclass(frozen=True)
class LineFormat:
    """How a line is laid out: its columns, and the places of query, document and number."""

    what: str
    columns: str
    places: tuple[int, int, int]
    number: str
    by_tabs: bool = False
    advice: str = ""

    @property
    def n_columns(self) -> int:
        """How many columns a line has."""
        return len(self.columns.split())

    @property
    def is_run(self) -> bool:
        """Whether the numbers are scores, not grades."""
        return self.number == "score"


_RUN = LineFormat(
    "a TREC run",
    "query_id Q0 doc_id rank score tag",
    (0, 2, 4),
    "score",
    advice="If words follow the tag: awk '{print $1, $2, $3, $4, $5, $6}' FILE > NEW; if the tag "
    "is missing: awk '{print $0, \"run\"}' FILE > NEW; if an id contains a blank, write a table "
    "with the columns query_id, doc_id, score",
)
_QRELS = LineFormat(
    "TREC qrels",
    "query_id iteration doc_id relevance",
    (0, 2, 3),
    "relevance",
    advice="If the iteration is missing: awk '{print $1, 0, $2, $3}' FILE > NEW; if an id contains "
    "a blank, write a table with the columns query_id, doc_id, relevance",
)
_BEIR = LineFormat("BEIR qrels", "query-id corpus-id score", (0, 1, 2), "relevance", by_tabs=True)
_BEIR_RUN = LineFormat("a BEIR run", "query-id corpus-id score", (0, 1, 2), "score", by_tabs=True)


@dataclass(frozen=True, eq=False)
class Text:
    """The text of a file: its name for messages, and its bytes, UTF-8 without a mark."""

    path: str
    data: bytes

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """The lines that are not skipped, with their numbers from 1."""
        for number, line in enumerate(BytesIO(self.data), 1):
            if line.strip() and not line.startswith(b"#"):
                yield number, line.rstrip(b"\r\n")


def read_trec_run(path: FileInput | Contents | Text) -> IdRows:
    """The rows of a TREC run; scores decide the order, not the ranks nor the order of the lines."""
    return _rows(_text_of(path), _RUN)


def read_beir_run(path: FileInput | Contents | Text) -> IdRows:
    """The rows of a run in BEIR's three columns, split at tabs, with or without a header."""
    return _rows(_text_of(path), _BEIR_RUN)


def read_trec_qrels(path: FileInput | Contents | Text) -> IdRows:
    """The rows of judgments: TREC's four columns, or BEIR's three, with or without a header."""
    text = _text_of(path)
    _, line = next(text.lines(), (0, b""))
    # Three words at tabs are BEIR's form. A TREC file may use tabs too, but then has four.
    return _rows(text, _BEIR if len(line.split(b"\t")) == _BEIR.n_columns else _QRELS)


def text_of(name: str, data: bytes) -> Text:
    """The text of bytes that were read elsewhere, which must be UTF-8 of printable characters."""
    # Windows' Notepad and PowerShell save UTF-16; its zero bytes would only give a riddle as an
    # error.
    if data.startswith(_WIDE_MARKS):
        raise ReaderError("expected UTF-8; got UTF-16: save the file as UTF-8", name)
    data = data.removeprefix(_BOM)
    if len(data.translate(None, _CONTROLS)) < len(data):  # ten times as fast as a pattern
        place = min(place for place in map(data.find, map(bytes, zip(_CONTROLS))) if place >= 0)
        message = f"expected text; got the byte {data[place : place + 1]!r}"
        raise ReaderError(message, name, 1 + data.count(b"\n", 0, place))
    try:
        if not data.isascii():
            data.decode("utf-8")
    except UnicodeDecodeError as exc:
        message = f"expected UTF-8; {exc.reason}. Convert the file, for example with iconv -f "
        line = 1 + data.count(b"\n", 0, exc.start)
        raise ReaderError(f"{message}cp1252 -t utf-8", name, line) from exc
    return Text(name, data)


def _text_of(path: FileInput | Contents | Text) -> Text:
    """The text of a file, plain or gzipped."""
    if isinstance(path, Text):
        return path
    opened = path if isinstance(path, Contents) else open_input(path)
    name = opened.name if isinstance(opened, Contents) else shorten_path(str(opened))
    try:
        data = opened.data if isinstance(opened, Contents) else opened.read_bytes()
        unpacked = _unpack(data) if data.startswith(_GZIP) else data
    except FileNotFoundError as exc:
        raise ReaderError("the file does not exist", name) from exc
    except (EOFError, zlib.error, gzip.BadGzipFile) as exc:
        message = f"the gzip file is damaged ({exc}); copy or download it again"
        raise ReaderError(message, name) from exc
    except (OSError, UnicodeEncodeError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        raise ReaderError(f"the file cannot be read: {reason}", name) from exc
    if unpacked is None:
        raise ReaderError(
            f"the gzip file expands to more than {_MAX_EXPANSION} times its size; unpack it first "
            "if this is intended",
            name,
        )
    return text_of(name, unpacked)


def _unpack(content: bytes) -> bytes | None:
    """The content of a gzip file; None if it expands too much."""
    limit = max(_HARMLESS, _MAX_EXPANSION * len(content))
    with gzip.GzipFile(fileobj=BytesIO(content)) as file:
        # One byte more than allowed shows that there is more, without reading it.
        unpacked = file.read(limit + 1)
    return unpacked if len(unpacked) <= limit else None


def _rows(text: Text, form: LineFormat) -> IdRows:
    rows = None if form.by_tabs else _regular_rows(text, form)
    return rows or _rows_by_line(text, form)


# -- regular files, by columns


def _regular_rows(text: Text, form: LineFormat) -> IdRows | None:
    """The rows of a file of which every line has the right number of words; None for any other."""
    data = text.data.replace(b"\r\n", b"\n") if b"\r\n" in text.data else text.data
    data = data if data.endswith(b"\n") else data + b"\n"
    parts = []
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _CHUNK) + 1 or len(data)
        part = _columns(data[start:end], form)
        if part is None:
            return None
        parts.append(part)
        start = end
    query, doc, value = (np.concatenate(column) for column in zip(*parts, strict=True))
    is_first = np.ones(len(query), dtype=bool)
    is_first[1:] = query[1:] != query[:-1]
    names = np.array([name.decode() for name in query[is_first].tolist()], dtype=object)
    lines = np.arange(1, len(query) + 1)
    queries = names[np.cumsum(is_first) - 1]
    return IdRows(queries, doc, value, form.what, text.path, lines)


def _columns(chunk: bytes, form: LineFormat) -> tuple[Ids, Ids, FloatArray] | None:
    """Queries, documents and numbers of whole lines; None unless all lines are regular."""
    text = np.frombuffer(chunk, np.uint8)
    blanks = np.flatnonzero(text <= _BLANK)
    n = form.n_columns
    n_lines, rest = divmod(len(blanks), n)
    # Each word ends in one blank, the last of a line in its newline; no word is empty.
    if rest or chunk.count(b"\n") != n_lines or not (text[blanks[n - 1 :: n]] == _NEWLINE).all():
        return None
    starts = np.empty_like(blanks)
    starts[0], starts[1:] = 0, blanks[:-1] + 1
    if not (starts < blanks).all() or (text[starts[::n]] == _HASH).any():
        return None
    query, doc, number = (_words(text, starts[place::n], blanks[place::n]) for place in form.places)
    if query is None or doc is None or number is None:
        return None
    values = _numbers(number, form)
    return None if values is None else (_as_bytes(query), _as_bytes(doc), values)


def _words(text: Bytes, starts: IntArray, ends: IntArray) -> Bytes | None:
    """Words as rows of one width, filled up with zeros; None if one is too long."""
    lengths = ends - starts
    width = int(lengths.max())
    if width > _LONGEST:
        return None
    padded = np.concatenate([text, np.zeros(width, np.uint8)])
    # A word of the widest length at every byte, as a view: each is then copied at once.
    everywhere: Ids = np.ndarray(len(text), f"S{width}", padded, strides=(1,))
    words = everywhere[starts].view(np.uint8).reshape(-1, width)
    if lengths.min() < width:
        words *= np.arange(width) < lengths[:, None]
    return words


def _as_bytes(words: Bytes) -> Ids:
    return words.view(f"S{words.shape[1]}").reshape(-1)


def _numbers(words: Bytes, form: LineFormat) -> FloatArray | None:
    """The numbers of a column; None if a word is not one, or cannot be used."""
    # Python's float reads 1_000; C's strtod, which trec_eval uses, does not.
    if (words == _UNDERSCORE).any():
        return None
    values, is_plain = np.empty(len(words)), np.zeros(len(words), dtype=bool)
    if words.shape[1] <= _EXACT_DIGITS + 2:  # with a point and a minus
        values, is_plain = _plain_decimals(words)
    rows = np.flatnonzero(~is_plain)
    try:
        values[rows] = list(map(float, _as_bytes(words[rows]).tolist()))
    except ValueError:
        return None
    is_usable = ~np.isnan(values) if form.is_run else np.isfinite(values)
    return values if is_usable.all() else None


def _plain_decimals(words: Bytes) -> tuple[FloatArray, BoolArray]:
    """The numbers of digits with at most one point and a minus, and which words are such."""
    n = len(words)
    whole, n_decimals = np.zeros(n), np.zeros(n, np.int64)
    has_point = np.zeros(n, dtype=bool)
    is_negative = words[:, 0] == _MINUS
    is_plain, n_digits = np.ones(n, dtype=bool), np.zeros(n, np.int64)
    for place, column in enumerate(words.T):
        digit = column ^ _ZERO
        is_digit = digit <= _NINE
        is_point = column == _POINT
        whole = np.where(is_digit, whole * 10 + digit, whole)
        n_digits += is_digit
        n_decimals += is_digit & has_point
        is_plain &= is_digit | (is_point & ~has_point) | (column == 0)
        if not place:
            is_plain |= is_negative
        has_point |= is_point
    is_plain &= (n_digits > 0) & (n_digits <= _EXACT_DIGITS)
    values = whole / 10.0**n_decimals
    return np.where(is_negative, -values, values), is_plain


# -- any file, line by line


def _rows_by_line(text: Text, form: LineFormat) -> IdRows:
    """The rows of a file; the first line that cannot be read is an error."""
    rows: list[tuple[int, bytes, bytes, float]] = []
    for number, line in _without_header(text, form):
        separated = line.split(b"\t") if form.by_tabs else _BLANKS.split(line)
        words = [word for word in separated if word]
        fault = _fault(words, form)
        if fault:
            shown = line.decode()
            shown = repr(shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "...")
            message, advice = fault
            shown = f"{shown}. {advice}" if advice else shown
            raise ReaderError(f"{message}, in {shown}", text.path, number)
        query, doc, value = (words[place] for place in form.places)
        rows.append((number, query, doc, float(value)))
    if not rows:
        raise ReaderError(f"expected {form.what} ({form.columns}); the file has no rows", text.path)
    lines, queries, docs, values = zip(*rows, strict=True)
    names = np.array([query.decode() for query in queries], dtype=object)
    where = form.what, text.path, np.array(lines)
    return IdRows(names, np.array(docs), np.array(values), *where)


def _without_header(text: Text, form: LineFormat) -> Iterator[tuple[int, bytes]]:
    """The lines, without a header of three columns."""
    for place, (number, line) in enumerate(text.lines()):
        words = [word.decode() for word in line.split(b"\t")] if form.by_tabs else []
        # BEIR's own files have a header, others may not. A first row with a damaged number is no
        # header: it would be lost without a word.
        is_header = not place and first_named(words, _HEADER_NAMES) is not None
        if not (is_header and number_or_none(words[-1].encode()) is None):
            yield number, line


def _fault(words: list[bytes], form: LineFormat) -> tuple[str, str] | None:
    """What is wrong with a line, and what to do."""
    if len(words) != form.n_columns:
        message = f"expected {form.n_columns} columns, {form.columns}; got {len(words)}"
        return message, form.advice
    longest = max(len(words[place]) for place in form.places)
    if longest > _LONGEST:
        return f"an id or number must have at most {_LONGEST} bytes; got {longest}", ""
    word = words[form.places[-1]]
    value = number_or_none(word)
    if value is None or not (value == value if form.is_run else np.isfinite(value)):
        return (
            f"the {form.number} must be a number; got {word.decode()!r}",
            f"Correct the line, or leave it out: a document without a {form.number} is one that "
            f"was not {'retrieved' if form.is_run else 'judged'}",
        )
    return None


def number_or_none(word: bytes) -> float | None:
    """The number that a word spells, if any."""
    try:
        # Python's float reads 1_000; C's strtod, which trec_eval uses, does not.
        return None if b"_" in word else float(word)
    except ValueError:
        return None
