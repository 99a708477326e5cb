"""TREC runs and judgments, and BEIR's, read as columns; what cannot be read is named by its line.

Blank lines and lines that begin with # are passed over. A non-breaking space is part of an id.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from rageval_report.errors import ReaderError
from rageval_report.metrics._from_rows import Rows
from rageval_report.metrics.hits import Codes, Floats

_Columns = tuple[NDArray[Any], NDArray[Any], Floats, Codes]

_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")

# So much is split at a time; the places of all words of a large file would take ten times its size.
_CHUNK = 1 << 22

# A word longer than this is no id, but a line that lost its blanks.
_LONGEST = 4096

_CONTROL = re.compile(rb"[\x00-\x08]")
_OF_NUMBERS = b"0123456789+-.eEinfINFatyATY"
_SHOWN = 80


@dataclass(frozen=True)
class _Format:
    """How a line is laid out.

    Parameters
    ----------
    what : str
        What the file is, for messages.
    columns : str
        The columns in words.
    places : (int, int, int)
        Where query, document and number stand.
    number : str
        What the number is.
    by_tabs : bool
        Whether a space is part of an id.
    """

    what: str
    columns: str
    places: tuple[int, int, int]
    number: str
    by_tabs: bool = False

    @property
    def n_columns(self) -> int:
        """How many columns a line has."""
        return len(self.columns.split())


_RUN = _Format("a TREC run", "query_id Q0 doc_id rank score tag", (0, 2, 4), "score")
_QRELS = _Format("TREC qrels", "query_id iteration doc_id relevance", (0, 2, 3), "relevance")
_BEIR = _Format("BEIR qrels", "query-id corpus-id score", (0, 1, 2), "relevance", by_tabs=True)


def read_trec_run(path: str | Path) -> Rows:
    r"""The rows of a TREC run: six columns, query_id Q0 doc_id rank score tag.

    The column of ranks and the order of the lines are not asked for: scores decide.

    Parameters
    ----------
    path : str or Path
        The file, plain or gzipped.

    Raises
    ------
    ReaderError
        If it cannot be read: the file, the line, what was expected and what was found.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.txt"
    ...     _ = path.write_text("q1 Q0 d7 1 0.9 bm25\n\nq1 Q0 d8 2 0.5 bm25\n")
    ...     rows = read_trec_run(path)
    >>> rows.doc.tolist(), rows.value.tolist(), rows.line.tolist()
    ([b'd7', b'd8'], [0.9, 0.5], [1, 3])
    """
    return _read(str(path), _text_of(path), _RUN)


def read_trec_qrels(path: str | Path) -> Rows:
    r"""The rows of judgments: TREC's four columns, or BEIR's three, split at tabs, with a header.

    Parameters
    ----------
    path : str or Path
        The file, plain or gzipped.

    Raises
    ------
    ReaderError
        If it cannot be read: the file, the line, what was expected and what was found.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "test.tsv"
    ...     _ = path.write_text("query-id\tcorpus-id\tscore\nq1\td7\t2\n")
    ...     rows = read_trec_qrels(path)
    >>> rows.query.tolist(), rows.doc.tolist(), rows.value.tolist()
    ([b'q1'], [b'd7'], [2.0])
    """
    text = _text_of(path)
    words = _first_line(text).rstrip(b"\r\n").split(b"\t")
    if len(words) != len(_BEIR.places):
        return _read(str(path), text, _QRELS)
    return _read(str(path), text, _BEIR, has_header=_number_or_none(words[-1]) is None)


# -- bytes


def _text_of(path: str | Path) -> bytes:
    name = str(path)
    try:
        data = Path(path).read_bytes()
        if data.startswith(_GZIP):
            data = gzip.decompress(data)
    except FileNotFoundError as exc:
        raise ReaderError("there is no such file", name) from exc
    except (EOFError, zlib.error, gzip.BadGzipFile) as exc:
        raise ReaderError(f"the gzip file is damaged ({exc})", name) from exc
    except OSError as exc:
        raise ReaderError(f"the file cannot be read: {exc.strerror or exc}", name) from exc
    if data.startswith(_WIDE_MARKS):
        raise ReaderError("expected UTF-8; this is UTF-16, save it as UTF-8", name)
    data = data.removeprefix(_BOM)
    _refuse_other_bytes(data, name)
    return data


def _refuse_other_bytes(data: bytes, name: str) -> None:
    control = _CONTROL.search(data) if _lowest(data) < ord("\t") else None
    if control:
        line = 1 + data.count(b"\n", 0, control.start())
        raise ReaderError(f"expected text; found the byte {control[0]!r}", name, line)
    if data.isascii():
        return
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as exc:
        line = 1 + data.count(b"\n", 0, exc.start)
        raise ReaderError(f"expected UTF-8; {exc.reason}", name, line) from exc


def _lowest(data: bytes) -> int:
    return int(np.frombuffer(data, np.uint8).min(initial=255))


def _first_line(data: bytes) -> bytes:
    start = 0
    while start < len(data):
        end = data.find(b"\n", start)
        line = data[start : end if end >= 0 else len(data)]
        if line.strip() and not line.startswith(b"#"):
            return line
        start += len(line) + 1
    return b""


# -- words


def _read(name: str, data: bytes, form: _Format, *, has_header: bool = False) -> Rows:
    parts: list[_Columns] = []
    line = 1
    for start, end in _chunks(data):
        chunk = _Chunk(name, data[start:end], line, form, has_header and not parts)
        parts.append(chunk.columns())
        line = chunk.next_line
    if not any(len(part[0]) for part in parts):
        raise ReaderError(f"expected {form.what}, as {form.columns!r}; there is no line", name)
    query, doc, value, lines = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Rows(query, doc, value, form.what, name, lines)


def _chunks(data: bytes) -> Iterator[tuple[int, int]]:
    """Where to cut: at ends of lines."""
    start = 0
    while start < len(data):
        end = data.rfind(b"\n", start, start + _CHUNK) + 1
        if end == 0:
            end = (data.find(b"\n", start + _CHUNK) + 1) or len(data)
        if start + _CHUNK >= len(data):
            end = len(data)
        yield start, end
        start = end


class _Chunk:
    """Some whole lines, split into words."""

    def __init__(self, name: str, data: bytes, line: int, form: _Format, has_header: bool):
        self._name, self._form, self._line = name, form, line
        self._data = data if data.endswith(b"\n") else data + b"\n"
        self._starts, self._ends, counts = self._words()
        self.next_line = line + len(counts)
        kept = self._drop_comments(counts, has_header)
        self._refuse_other_counts(kept)
        self._lines = np.flatnonzero(kept)

    def columns(self) -> _Columns:
        """Queries, documents, numbers and lines."""
        query, doc, number = self._form.places
        return (
            self._texts(query),
            self._texts(doc),
            self._numbers(self._texts(number)),
            self._lines + self._line,
        )

    def _words(self) -> tuple[Codes, Codes, Codes]:
        """Where words start and end, and how many there are in each line."""
        buffer = np.frombuffer(self._data, np.uint8)
        blank = np.ones(len(buffer) + 1, dtype=bool)
        blank[1:] = buffer <= ord(" ")
        if self._form.by_tabs:
            blank[1:] &= buffer != ord(" ")
        edges = np.flatnonzero(blank[1:] != blank[:-1])  # the last byte is a blank: an even number
        starts, ends = edges[::2], edges[1::2]
        until = np.searchsorted(starts, np.flatnonzero(buffer == ord("\n")))
        return starts, ends, np.diff(until, prepend=0)

    def _drop_comments(self, counts: Codes, has_header: bool) -> Codes:
        """The words a line that count; those of comments and of the header are forgotten."""
        if b"#" not in self._data and not has_header:
            return counts
        buffer = np.frombuffer(self._data, np.uint8)
        ends = np.flatnonzero(buffer == ord("\n"))
        dropped = buffer[np.concatenate([[0], ends[:-1] + 1])] == ord("#")
        if has_header:
            dropped[np.flatnonzero((counts > 0) & ~dropped)[:1]] = True
        kept = np.repeat(~dropped, counts)
        self._starts, self._ends = self._starts[kept], self._ends[kept]
        return np.where(dropped, 0, counts)

    def _refuse_other_counts(self, counts: Codes) -> None:
        wrong = np.flatnonzero((counts > 0) & (counts != self._form.n_columns))
        if wrong.size:
            raise self._error(
                int(wrong[0]),
                f"expected {self._form.n_columns} columns, {self._form.columns}; "
                f"found {counts[wrong[0]]}",
            )

    def _texts(self, place: int) -> NDArray[Any]:
        """A column of words as bytes of one width."""
        n = self._form.n_columns
        starts, lengths = self._starts[place::n], self._ends[place::n] - self._starts[place::n]
        width = int(lengths.max(initial=1))
        if width > _LONGEST:
            row = int(lengths.argmax())
            raise self._error(
                int(self._lines[row]), f"a word of {width} bytes; expected at most {_LONGEST}"
            )
        padded = np.frombuffer(self._data + bytes(width), np.uint8)
        words = sliding_window_view(padded, width)[starts]
        words *= np.arange(width) < lengths[:, None]
        return words.view(f"S{width}").reshape(-1)

    def _numbers(self, words: NDArray[Any]) -> Floats:
        known = np.zeros(256, dtype=bool)
        known[[0, *_OF_NUMBERS]] = True  # a shorter word is filled up with zeros
        bad = not known[words.view(np.uint8)].all()
        try:
            values = np.fromiter([] if bad else map(float, words.tolist()), np.float64)
        except ValueError:
            bad = True
        if bad or not self._is_valid(values):
            self._name_what_is_no_number(words)
        return values

    def _is_valid(self, values: Floats) -> bool:
        """Scores may be infinite, as they only order; grades are added up."""
        return not bool((np.isnan(values) if self._form is _RUN else ~np.isfinite(values)).any())

    def _name_what_is_no_number(self, words: NDArray[Any]) -> None:
        for row, word in enumerate(words.tolist()):
            value = _number_or_none(word)
            if value is None or not self._is_valid(np.array([value])):
                raise self._error(
                    int(self._lines[row]),
                    f"the {self._form.number} must be a number; found {word.decode()!r}",
                )

    def _error(self, row: int, message: str) -> ReaderError:
        text = self._data.split(b"\n", row + 1)[row].decode().rstrip("\r")
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
        return ReaderError(f"{message}, in {shown!r}", self._name, self._line + row)


def _number_or_none(word: bytes) -> float | None:
    try:
        return None if b"_" in word else float(word)
    except ValueError:
        return None
