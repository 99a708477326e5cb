"""Delimited text as records: where each begins, its cells, and the lines that are not records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple, cast

import numpy as np

from rageval_report.scores.query_ids import QUESTION, first_named, id_column_of
from rageval_report.scores.query_rows import reason_of_line

_LINE_FEED, _QUOTE = b'\n"'
_BLANKS = b" \t"
_ANY = b"\n\r"
_LINE = re.compile(rb"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_DECIMAL = re.compile(r"\s*[-+]?\d*\.\d+(?:[eE][-+]?\d+)?\s*")
# Excel's hint for the delimiter, as the first line of a file.
_SEPARATOR_HINT = re.compile(rb"\s*\"?sep=.\"?\s*", re.IGNORECASE)
_FIRST_BAR = re.compile(rb"^([ \t]*)\|", re.MULTILINE)
_LAST_BAR = re.compile(rb"\|([ \t]*)(?=\r?$)", re.MULTILINE)
_RULE = re.compile(rb"[ \t|+:=\-]*-[ \t|+:=\-]*")
# Markdown's "\|" is a bar within a cell. A control character of the same length stands for it
# until the cells are split.
_ESCAPED_BAR, _STAND_IN = b"\\|", "\x81"


class DelimitedRow(NamedTuple):
    """One record: its first and last offset, its raw cells, and whether all quotes are closed."""

    offset: int
    stop: int
    cells: list[bytes]
    is_closed: bool = True


class ForeignLine(NamedTuple):
    """A part of the text that is not a row: its offsets, and what it is."""

    offset: int
    stop: int
    reason: str


def line_ends(text: bytes, delimiter: str) -> bytes:
    r"""The characters that end lines: "\n" alone, or carriage returns as well."""
    # Python's csv module and pandas do not quote a carriage return in a cell if they end lines with
    # "\n". A line that begins with one has mixed line ends: no program writes an id so.
    if b"\r" not in text or b"\r\n" in text or b"\n\r" in text:
        return _ANY
    header = next(rows(text, delimiter), None)
    return b"\n" if header is not None and text[header.stop : header.stop + 1] == b"\n" else _ANY


def rows(text: bytes, delimiter: str, start: int = 0, ends: bytes = _ANY) -> Iterator[DelimitedRow]:
    """The records that are not blank, in order, from an offset on; `ends` is as of `line_ends`."""
    separator = delimiter.encode("ascii")
    # Possessive quantifiers: a broken quote in a file of megabytes must not make the expression try
    # again and again.
    field = re.compile(
        rb'(?:"(?:[^"]++|"")*+("|\Z))?+[^' + re.escape(ends + separator) + rb"]*+", re.DOTALL
    )
    place = start
    while place < len(text):
        offset, cells, is_closed = place, [], True
        while True:
            match = cast("re.Match[bytes]", field.match(text, place))  # empty cells match too
            cells.append(match.group())
            is_closed = is_closed and match.group(1) != b""
            place = match.end()
            if text[place : place + 1] != separator:
                break
            place += 1
        stop = place
        place += 2 if text[place : place + 2] == b"\r\n" else 1
        if len(cells) > 1 or cells[0].strip(_BLANKS):
            yield DelimitedRow(offset, stop, cells, is_closed)


def cell_text(cell: bytes) -> str:
    """The text of a cell, without its quotes."""
    text = cell.decode("utf-8")
    if not text.startswith('"'):
        return text
    # A NUL can stand in for the doubled quote, because no text file contains one.
    quoted, _, tail = text[1:].replace('""', "\x00").partition('"')
    return quoted.replace("\x00", '"') + tail.replace("\x00", '""')


def count_regular_rows(text: bytes, delimiter: str, n_fields: int, start: int) -> int | None:
    """The number of records if all have this width, by arrays; None if only a walk can tell."""
    # A blank line is a record of one field; a carriage return alone may be a part of a cell.
    if n_fields < 2 or text.count(b"\r", start) != text.count(b"\r\n", start):
        return None
    characters = np.frombuffer(text, np.uint8, offset=start)
    is_end, is_separator = characters == _LINE_FEED, characters == ord(delimiter)
    if text.find(b'"', start) >= 0:
        is_quote = characters == _QUOTE
        # The parity of the number of quotes so far; uint8 wraps at 256, which keeps it.
        is_inside = (np.cumsum(is_quote, dtype=np.uint8) & 1).view(bool)
        opening = np.flatnonzero(is_quote & is_inside)
        before = characters[opening[opening > 0] - 1]
        is_usual = (before == _QUOTE) | (before == _LINE_FEED) | (before == ord(delimiter))
        if is_inside[-1] or not is_usual.all():  # a quote within an unquoted cell
            return None
        is_end, is_separator = is_end & ~is_inside, is_separator & ~is_inside
    ends = np.flatnonzero(is_end)
    if not text.endswith(b"\n"):
        ends = np.append(ends, len(characters))
    widths = np.diff(np.searchsorted(np.flatnonzero(is_separator), ends), prepend=0) + 1
    return len(widths) if bool((widths == n_fields).all()) else None


# -- lines that are not rows


def overwrite(text: bytes, lines: Iterable[ForeignLine]) -> bytes:
    """The text with blanks in place of some lines, so that all offsets stay those of the file."""
    changed = bytearray(text)
    for line in lines:
        changed[line.offset : line.stop] = re.sub(
            rb"[^\r\n]", b" ", changed[line.offset : line.stop]
        )
    return bytes(changed)


def table_start(text: bytes, delimiter: str) -> tuple[int, list[ForeignLine]]:
    r"""The offset of the header, and the lines before it."""
    lines: list[ForeignLine] = []
    for offset, line in _lines(text):
        reason = _reason_before_header(line, is_first=not lines)
        if reason is None:
            is_comment = bool(lines) and lines[-1].reason == "a comment"
            if is_comment and _is_header(text, lines[-1], offset, delimiter):
                return lines[-1].offset, lines[:-1]
            return offset, lines
        if line.strip():
            lines.append(ForeignLine(offset, offset + len(line), reason))
    return 0, []


def _lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place < len(text):
        match = cast("re.Match[bytes]", _LINE.match(text, place))
        yield place, match[1]
        place = match.end()


def _reason_before_header(line: bytes, *, is_first: bool) -> str | None:
    if not line.strip():
        return "a blank line"
    if is_first and _SEPARATOR_HINT.fullmatch(line):
        return "the delimiter"
    return reason_of_line(line.decode("utf-8", "replace"))


def _is_header(text: bytes, comment: ForeignLine, offset: int, delimiter: str) -> bool:
    """Whether a line that begins with "#" is the header of the rows that begin at an offset."""
    header = next(rows(text[comment.offset : comment.stop], delimiter), None)
    first = next(rows(text, delimiter, offset), None)
    if header is None or first is None or not 1 < len(header.cells) == len(first.cells):
        return False
    # A comment may have as many commas as the header has; known names show which is which.
    return _names_ids(header) or not _names_ids(first)


def _names_ids(row: DelimitedRow) -> bool:
    names = [cell_text(cell).strip().lstrip("#/ ") for cell in row.cells]
    return id_column_of(names) is not None or first_named(names, QUESTION) is not None


def foreign_lines(text: bytes, every: Iterable[DelimitedRow], n_fields: int) -> list[ForeignLine]:
    """The lines of another width than the header that are comments, dashes or footers."""
    n_rows = n_marked = 0
    lines = []
    for row in every:
        reason = reason_of_line(text[row.offset : row.stop].decode("utf-8", "replace"))
        n_rows += 1
        n_marked += reason == "a comment" and len(row.cells) == n_fields
        if len(row.cells) == n_fields or not reason:
            continue
        if len(row.cells) == 1 or not any(_DECIMAL.fullmatch(cell_text(c)) for c in row.cells):
            lines.append(ForeignLine(row.offset, row.stop, reason))
    # Where rows begin with "#" as well, such a line may be a broken row.
    if 2 * n_marked > n_rows - len(lines):
        return [line for line in lines if line.reason != "a comment"]
    return lines


# -- tables of Markdown and of database shells


def without_outer_bars(text: bytes, delimiter: str) -> bytes:
    r"""The text; a table of bars without its outer bars and its lines of dashes."""
    start = table_start(text, delimiter)[0] if delimiter == "|" else 0
    header = next((line.strip() for _, line in islice(_lines(text[start:]), 1)), b"")
    is_box = len(header) > 2 and header.startswith(b"|") and header.endswith(b"|")
    if delimiter != "|" or not is_box:
        return text
    body = text[start:].replace(_ESCAPED_BAR, _STAND_IN.encode())
    rules = [
        ForeignLine(offset, offset + len(line), "a line of dashes")
        for position, (offset, line) in enumerate(_lines(body))
        if _RULE.fullmatch(line) and (position == 1 or b"--" in line)
    ]
    body = overwrite(body, rules)
    return text[:start] + _LAST_BAR.sub(rb" \1", _FIRST_BAR.sub(rb"\1 ", body))


def with_bars(text: str) -> str:
    """The text of a cell of a Markdown table, with its escaped bars."""
    return text.replace(_STAND_IN, "|")
