"""Lines of a delimited text that are not rows: comments, dashes, footers, the bars of a box.

They are overwritten with blanks, which every later step passes over, so that offsets and line
numbers stay those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from rageval_report.readers.delimited_rows import DelimitedRow, cell_text, rows
from rageval_report.scores.query_ids import QUESTION, first_named, id_column_of
from rageval_report.scores.query_rows import left_out_note, reason_of_line

_LINE = re.compile(rb"[^\r\n]*")
_BREAK = re.compile(rb"\r\n|\r|\n")
# Excel's hint for the delimiter, as the first line of a file.
_SEPARATOR_HINT = re.compile(rb"\s*\"?sep=.\"?\s*", re.IGNORECASE)
_DECIMAL = re.compile(r"\s*[-+]?\d*\.\d+(?:[eE][-+]?\d+)?\s*")
_FIRST_BAR = re.compile(rb"^([ \t]*)\|", re.MULTILINE)
_LAST_BAR = re.compile(rb"\|([ \t]*)(?=\r?$)", re.MULTILINE)
_RULE = re.compile(rb"[ \t|+:=\-]*-[ \t|+:=\-]*")
# Markdown's "\|" is a bar within a cell. A control character of the same length stands for it
# until the cells are split.
_ESCAPED_BAR, _STAND_IN = b"\\|", "\x81"


class ForeignLine(NamedTuple):
    """A part of the text that is not a row: its offsets, and what it is."""

    offset: int
    stop: int
    reason: str


def overwrite(text: bytes, lines: Iterable[ForeignLine]) -> bytes:
    r"""The text with blanks in place of some lines; their line ends stay.

    Examples
    --------
    >>> overwrite(b"id,f1\n# old\na,1\n", [ForeignLine(6, 11, "a comment")])
    b'id,f1\n     \na,1\n'
    """
    changed = bytearray(text)
    for line in lines:
        part = changed[line.offset : line.stop]
        changed[line.offset : line.stop] = re.sub(rb"[^\r\n]", b" ", part)
    return bytes(changed)


# -- before the header


def table_start(text: bytes, delimiter: str) -> tuple[int, list[ForeignLine]]:
    r"""The offset of the header, and the lines before it.

    Examples
    --------
    >>> table_start(b"# run 7\nid,recall\nq1,0.5\n", ",")[0]
    8
    >>> table_start(b"#,recall\n1,0.5\n", ",")[0]  # a column may be named "#"
    0
    """
    lines: list[ForeignLine] = []
    for offset, line in _lines(text):
        reason = _reason_before_header(line, is_first=not lines)
        if reason is None:
            if lines and _is_header(text, lines[-1], offset, delimiter):
                return lines[-1].offset, lines[:-1]
            return offset, lines
        if line.strip():
            lines.append(ForeignLine(offset, offset + len(line), reason))
    return 0, []


def begins_with_header(text: bytes) -> bool:
    r"""Whether no line stands before the header, as in most tables.

    Examples
    --------
    >>> begins_with_header(b"id,recall\nq1,0.5\n"), begins_with_header(b"# run 7\nid,recall\n")
    (True, False)
    """
    _, first = next(_lines(text), (0, b""))
    return _reason_before_header(first, is_first=True) is None


def _lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    place = 0
    while place < len(text):
        match = _LINE.match(text, place)
        line = match.group() if match else b""
        yield place, line
        end = _BREAK.match(text, place + len(line))
        place = end.end() if end else len(text)


def _reason_before_header(line: bytes, *, is_first: bool) -> str | None:
    if not line.strip():
        return "a blank line"
    if is_first and _SEPARATOR_HINT.fullmatch(line):
        return "the delimiter"
    # The usual header costs one look at its first character.
    if not line.lstrip().startswith((b"#", b"//", b"-", b"+", b"=", b"|-", b"--", b"%")):
        return None
    return reason_of_line(line.decode("utf-8", "replace"))


def _is_header(text: bytes, comment: ForeignLine, offset: int, delimiter: str) -> bool:
    """Whether a line that begins with "#" is the header of the rows that begin at an offset."""
    if comment.reason != "a comment":
        return False
    header = next(rows(text[comment.offset : comment.stop], delimiter), None)
    first = next(rows(text, delimiter, offset), None)
    if header is None or first is None:
        return False
    if len(header.cells) < 2 or len(header.cells) != len(first.cells):
        return False
    # A comment may have as many commas as the header has; known names show which is which.
    return _names_ids(header) or not _names_ids(first)


def _names_ids(row: DelimitedRow) -> bool:
    names = [cell_text(cell).strip().lstrip("#/ ") for cell in row.cells]
    return id_column_of(names) is not None or first_named(names, QUESTION) is not None


# -- between the rows


def misfits(
    text: bytes, delimiter: str, n_fields: int, start: int, ends: bytes
) -> list[ForeignLine]:
    r"""The lines that have another number of fields than the header, and are not broken rows.

    Examples
    --------
    >>> [line.reason for line in misfits(b"a,1\n# old\nb,0\n(2 rows)\n", ",", 2, 0, b"\n\r")]
    ['a comment', 'the footer of a database shell']
    """
    n_rows = n_marked = 0
    lines = []
    for row in rows(text, delimiter, start, ends):
        line = text[row.offset : row.stop].decode("utf-8", "replace")
        reason = reason_of_line(line)
        n_marked += reason == "a comment" and len(row.cells) == n_fields
        n_rows += 1
        has_score = len(row.cells) > 1 and any(
            _DECIMAL.fullmatch(cell_text(cell)) for cell in row.cells
        )
        if len(row.cells) != n_fields and reason and not has_score:
            lines.append(ForeignLine(row.offset, row.stop, reason))
    # Where rows begin with "#" as well, such a line may be a broken row.
    if 2 * n_marked > n_rows - len(lines):
        return [line for line in lines if line.reason != "a comment"]
    return lines


def lines_of_rows(
    text: bytes, delimiter: str, start: int, ends: bytes, reason_of: dict[int, str]
) -> list[ForeignLine]:
    """The places of some rows, which are counted from 0, with the reasons to leave them out."""
    last = max(reason_of)
    return [
        ForeignLine(row.offset, row.stop, reason_of[number])
        for number, row in enumerate(islice(rows(text, delimiter, start, ends), last + 1))
        if number in reason_of
    ]


def notes_on_lines(lines: Iterable[ForeignLine], line_of: Callable[[int], int]) -> Iterator[str]:
    """One note per reason."""
    places: dict[str, list[str]] = {}
    for line in lines:
        places.setdefault(line.reason, []).append(f"line {line_of(line.offset)}")
    for reason, listed in places.items():
        yield left_out_note(listed, reason)


# -- boxes of bars


def without_outer_bars(text: bytes, start: int) -> bytes | None:
    r"""A Markdown table without its outer bars and its line of dashes; None if it is none.

    Examples
    --------
    >>> without_outer_bars(b"| id | f1 |\n|----|---:|\n| a  | 1  |\n", 0)
    b'  id | f1  \n           \n  a  | 1   \n'
    """
    lines = list(islice(_lines(text[start:]), 2))
    header = lines[0][1].strip() if lines else b""
    if len(header) < 3 or not (header.startswith(b"|") and header.endswith(b"|")):
        return None
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
