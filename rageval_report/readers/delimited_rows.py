"""Delimited text: where its records begin, and whether each has as many fields as the header.

pandas fills short rows with blanks, reports a wrong line number for long rows if quoted cells
contain line ends, and takes an extra column for an index. So the rows are counted before pandas
reads them. The usual file is counted with arrays, in a fraction of the time that parsing takes. If
a quote is inside an unquoted cell, arrays cannot decide which delimiters count; such a file is
walked cell by cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, cast

import numpy as np

from rageval_report.types import BoolArray

_CHUNK = 1 << 22
_LINE_FEED, _CARRIAGE_RETURN, _QUOTE = b'\n\r"'
_BLANKS = b" \t"
_ANY = b"\n\r"


class DelimitedRow(NamedTuple):
    """One record: its first and last offset, its raw cells, and whether all quotes are closed."""

    offset: int
    stop: int
    cells: list[bytes]
    is_closed: bool


class FieldCountError(ValueError):
    """A record does not have as many fields as the header.

    Parameters
    ----------
    message : str
        The message.
    offset : int
        The offset at which the record begins.
    """

    def __init__(self, message: str, offset: int):
        self.offset = offset
        super().__init__(message)


def line_ends(text: bytes, delimiter: str) -> bytes:
    r"""The characters that end lines: "\n" alone, or carriage returns as well.

    Python's csv module and pandas do not quote a carriage return inside a cell if they end lines
    with "\n". So it is part of its cell if the header ends with "\n" and no line with "\r\n". A
    line that begins with a carriage return has mixed line ends: no program writes an id so.
    """
    if b"\r" not in text or b"\r\n" in text or b"\n\r" in text:
        return _ANY
    header = next(rows(text, delimiter), None)
    return b"\n" if header is not None and text[header.stop : header.stop + 1] == b"\n" else _ANY


def rows(text: bytes, delimiter: str, start: int = 0, ends: bytes = _ANY) -> Iterator[DelimitedRow]:
    r"""The records that are not blank, in order.

    Parameters
    ----------
    text : bytes
        UTF-8.
    delimiter : str
        One ASCII character.
    start : int
        The offset of the first record.
    ends : bytes
        The result of `line_ends`.

    Examples
    --------
    >>> [row.cells for row in rows(b'id,answer\nq1,"a\nb"\n', ",")]
    [[b'id', b'answer'], [b'q1', b'"a\nb"']]
    """
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
    """The text of a cell, without its quotes.

    Examples
    --------
    >>> cell_text(b'"Ja ""oder"" Nein"'), cell_text(b'5" disk')
    ('Ja "oder" Nein', '5" disk')
    """
    text = cell.decode("utf-8")
    if not text.startswith('"'):
        return text
    # A NUL can stand in for the doubled quote, because no text file contains one.
    quoted, _, tail = text[1:].replace('""', "\x00").partition('"')
    return quoted.replace("\x00", '"') + tail.replace("\x00", '""')


class RowCount(NamedTuple):
    """The number of records, their offsets if arrays could find them, and if one has a quote."""

    n_rows: int
    starts: np.ndarray | None = None
    has_quotes: bool = True


def count_rows(
    text: bytes, delimiter: str, n_fields: int, start: int, ends: bytes = _ANY
) -> RowCount:
    r"""The number of records after the header.

    Parameters
    ----------
    text : bytes
        UTF-8.
    delimiter : str
        One ASCII character.
    n_fields : int
        The number of fields in the header.
    start : int
        The offset of the first record after the header.
    ends : bytes
        The result of `line_ends`.

    Raises
    ------
    FieldCountError
        If a record has more or fewer fields than the header, or a quote is never closed.

    Examples
    --------
    >>> count_rows(b"id,recall\nq1,1\nq2,0\n", ",", 2, start=10).n_rows
    2
    """
    places = _record_ends(text, ord(delimiter), start, has_returns=b"\r" in ends)
    # Arrays cannot tell a quote inside an unquoted field from one that opens a field.
    if places is None:
        return RowCount(_count_one_by_one(rows(text, delimiter, start, ends), n_fields))
    return _count_with_arrays(text, places, n_fields, start, blanks=_BLANKS + ends)


def _count_one_by_one(every_row: Iterable[DelimitedRow], n_fields: int) -> int:
    n_rows = 0
    for n_rows, row in enumerate(every_row, 1):  # noqa: B007
        if not row.is_closed:
            raise FieldCountError(_OPEN_QUOTE, row.offset)
        if len(row.cells) != n_fields:
            raise FieldCountError(_wrong_count(n_fields, len(row.cells)), row.offset)
    return n_rows


_OPEN_QUOTE = "a quote in this row is never closed; is the file cut?"


def _wrong_count(n_expected: int, n_fields: int) -> str:
    return (
        f"expected {n_expected} fields, as in the header; found {n_fields}. Is a delimiter or a "
        "quote missing, or the file cut?"
    )


# -- with arrays


class _RecordEnds(NamedTuple):
    """The offsets of record ends, the number of delimiters before each, and the number of all."""

    places: np.ndarray
    separators: np.ndarray
    n_separators: int
    is_open: bool
    has_quotes: bool


def _count_with_arrays(
    text: bytes, ends: _RecordEnds, n_fields: int, start: int, *, blanks: bytes
) -> RowCount:
    starts = np.concatenate([[start], ends.places + 1])
    widths = np.diff(np.concatenate([[0], ends.separators])) + 1
    if starts[-1] < len(text):  # the last record has no line end
        n_before = int(ends.separators[-1]) if len(ends.separators) else 0
        widths = np.append(widths, ends.n_separators - n_before + 1)
    else:
        starts = starts[:-1]
    stops = np.append(starts[1:], len(text))
    unusual = np.flatnonzero(widths != n_fields) if n_fields > 1 else np.arange(len(widths))
    # Blank lines have one empty field; only rows of an unusual width need a look.
    filled = [
        row for row in unusual if widths[row] > 1 or text[starts[row] : stops[row]].strip(blanks)
    ]
    wrong = [row for row in filled if widths[row] != n_fields]
    if ends.is_open and (not wrong or wrong[0] == len(widths) - 1):
        raise FieldCountError(_OPEN_QUOTE, int(starts[-1]))
    if wrong:
        row = wrong[0]
        raise FieldCountError(_wrong_count(n_fields, int(widths[row])), int(starts[row]))
    return RowCount(len(widths) - len(unusual) + len(filled), starts, ends.has_quotes)


def _record_ends(
    content: bytes, delimiter: int, start: int, *, has_returns: bool
) -> _RecordEnds | None:
    """The ends of the records; None if a quote opens inside an unquoted field."""
    text = np.frombuffer(content, np.uint8)
    places, separators = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    n_separators, is_inside = 0, 0
    has_quotes = content.find(b'"', start) >= 0
    has_returns = has_returns and content.find(b"\r", start) >= 0
    # Chunks bound the memory: a mask of the whole text would double it.
    for begin in range(start, len(text), _CHUNK):
        chunk = text[begin : begin + _CHUNK]
        is_mark = (chunk == delimiter) | (chunk == _LINE_FEED)
        if has_quotes:
            is_mark |= chunk == _QUOTE
        if has_returns:
            is_mark |= chunk == _CARRIAGE_RETURN
        marks = np.flatnonzero(is_mark)
        kinds = chunk[marks]
        marks += begin
        if has_quotes:
            inside = _inside_quotes(kinds, is_inside)
            is_inside = int(inside[-1]) if len(inside) else is_inside
            is_quote = kinds == _QUOTE
            if _has_stray_quote(text, marks[is_quote & (inside == 1)], delimiter):
                return None
            is_outside = (inside == 0) & ~is_quote
            marks, kinds = marks[is_outside], kinds[is_outside]
        if has_returns:
            is_kept = _are_unpaired(text, marks, kinds)
            marks, kinds = marks[is_kept], kinds[is_kept]
        ends = np.flatnonzero(kinds != delimiter)
        places.append(marks[ends])
        separators.append(ends - np.arange(len(ends)) + n_separators)
        n_separators += len(marks) - len(ends)
    return _RecordEnds(
        np.concatenate(places),
        np.concatenate(separators),
        n_separators,
        is_open=bool(is_inside),
        has_quotes=has_quotes,
    )


def _inside_quotes(marks: np.ndarray, is_inside: int) -> np.ndarray:
    """1 from an opening quote to before the closing one; a doubled quote closes and opens.

    The parity of the number of quotes so far: uint8 wraps at 256, which keeps it.
    """
    parity = np.cumsum(marks == _QUOTE, dtype=np.uint8)
    parity += np.uint8(is_inside)
    parity &= np.uint8(1)
    return parity


def _has_stray_quote(text: np.ndarray, opening: np.ndarray, delimiter: int) -> bool:
    """Whether one of the quotes that open stands within a field."""
    before = text[opening[opening > 0] - 1]
    is_regular = before == _QUOTE
    for allowed in (delimiter, _LINE_FEED, _CARRIAGE_RETURN):
        is_regular |= before == allowed
    return not bool(is_regular.all())


def _are_unpaired(text: np.ndarray, marks: np.ndarray, kinds: np.ndarray) -> BoolArray:
    """Which marks are not carriage returns before a line feed; alone they end lines (old Macs)."""
    after = text[np.minimum(marks + 1, len(text) - 1)]
    is_unpaired: BoolArray = (kinds != _CARRIAGE_RETURN) | (after != _LINE_FEED)
    return is_unpaired
