"""Rows of a delimited text that vanished in a quoted cell, and a last cell that was cut."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from rageval_report.readers.delimited_rows import DelimitedRow, cell_text, rows

# The rows that show which columns hold scores, and how long the last cells are.
_SAMPLE = 500
# Fewer rows show no pattern.
_FEWEST = 5
_SCORE = re.compile(
    r"\s*(?:[-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?\s*%?|true|false|pass|fail|nan)?\s*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,](?P<decimals>\d+))?|[.,](?P<only>\d+))(?:[eE][-+]?\d+)?")
_BROKEN_NUMBER = re.compile(r"[-+]?(?:\d+[.,]?\d*|[.,]\d+)[eE][-+]?|[-+]?\d*[.]")
# If programs dropped zeros, 100 numbers with as many decimals would have a chance of 0.9**100.
_MANY, _MANY_DIGITS = 100, 4
# Of a column with few different words a cell that begins one of them, but is none, is cut.
_MOST_WORDS = 20


class DelimitedText(NamedTuple):
    """A delimited text whose rows are all as wide as its header."""

    text: bytes
    delimiter: str
    n_fields: int
    start: int
    ends: bytes
    starts: np.ndarray | None

    def rows(self) -> Iterator[DelimitedRow]:
        """The rows after the header."""
        return rows(self.text, self.delimiter, self.start, self.ends)

    def last_rows(self, n: int) -> list[DelimitedRow]:
        """The last rows."""
        if self.starts is None:
            return list(deque(self.rows(), maxlen=n))
        # Some of the starts may be of blank lines.
        start = int(self.starts[-min(len(self.starts), n)])
        return list(rows(self.text, self.delimiter, start, self.ends))


class SwallowedRows(NamedTuple):
    """The row whose quoted cell holds other rows: where it begins, and the line ends within."""

    offset: int
    n_rows: int


def find_swallowed_rows(table: DelimitedText) -> SwallowedRows | None:
    r"""The first row with a quoted cell whose lines look like rows of the table.

    Examples
    --------
    >>> text = b'a,no,1\nb,"no,0\nc,"yes",1\nd,no,0\n'
    >>> find_swallowed_rows(DelimitedText(text, ",", 3, 0, b"\n", None))
    SwallowedRows(offset=7, n_rows=1)
    """
    if b'"' not in table.text or table.n_fields < 2:
        return None
    suspects = _rows_of_several_lines(table)
    first = next(suspects, None)
    if first is None:
        return None
    shape = _score_columns(table)
    if not shape:
        return None
    for offset, stop in (first, *suspects):
        lines = re.split(rb"\r\n|\r|\n", table.text[offset:stop].rstrip(b"\r\n"))
        are_rows = len(lines) > 1 and all(_is_row(line, table, shape) for line in lines[1:])
        if are_rows and _ends_like_row(lines[0], table, shape):
            return SwallowedRows(offset, len(lines) - 1)
    return None


def _rows_of_several_lines(table: DelimitedText) -> Iterator[tuple[int, int]]:
    """The offsets of rows that span several lines."""
    text = table.text
    if table.starts is None:
        for row in table.rows():
            if b"\n" in text[row.offset : row.stop] or b"\r" in text[row.offset : row.stop]:
                yield row.offset, row.stop
        return
    mark = b"\n" if b"\n" in text else b"\r"
    # Counting is much faster than finding: usually each line is a row.
    if text.count(mark, table.start) <= len(table.starts):
        return
    marks = np.flatnonzero(np.frombuffer(text, np.uint8) == mark[0])
    bounds = np.append(table.starts, len(text))
    n_lines = np.diff(np.searchsorted(marks, bounds))
    for number in np.flatnonzero(n_lines > 1).tolist():
        yield int(bounds[number]), int(bounds[number + 1])


def _score_columns(table: DelimitedText) -> list[int]:
    """The positions of the columns that hold scores in most rows of a single line."""
    sample = [
        [cell_text(cell) for cell in row.cells]
        for row in islice(table.rows(), _SAMPLE)
        if b"\n" not in table.text[row.offset : row.stop]
    ]
    if not sample:
        return []
    return [
        position
        for position, cells in enumerate(zip(*sample, strict=True))
        if position
        and any(cell.strip() for cell in cells)
        and 10 * sum(_SCORE.fullmatch(cell) is not None for cell in cells) >= 9 * len(cells)
    ]


def _is_row(line: bytes, table: DelimitedText, shape: Sequence[int]) -> bool:
    """Whether a line has scores where the rows have them, with or without regard to quotes."""
    aware = next(rows(line, table.delimiter), None)
    plain = line.decode("utf-8", "replace").split(table.delimiter)
    splits = [plain, [cell_text(cell) for cell in aware.cells]] if aware else [plain]
    return any(_has_shape(cells, table.n_fields, shape) for cells in splits)


def _has_shape(cells: Sequence[str], n_fields: int, shape: Sequence[int]) -> bool:
    if len(cells) < n_fields or not cells[0].strip():
        return False
    scores = [cells[position] for position in shape]
    # A delimiter in an unquoted text moves the columns behind it; those at the end count from it.
    if len(cells) > n_fields:
        scores = [cells[position - n_fields] for position in _at_the_end(shape, n_fields)]
    is_filled = any(cell.strip() for cell in scores)
    return is_filled and all(_SCORE.fullmatch(cell) for cell in scores)


def _at_the_end(shape: Sequence[int], n_fields: int) -> list[int]:
    """The score columns with no other column behind them."""
    return [position for position in shape if set(range(position, n_fields)) <= set(shape)]


def _ends_like_row(line: bytes, table: DelimitedText, shape: Sequence[int]) -> bool:
    """Whether the first line, in which the quote opens, holds all cells of a row."""
    cells = line.decode("utf-8", "replace").split(table.delimiter)
    return _has_shape(cells, table.n_fields, shape)


# -- a cut last cell


class LastCell(NamedTuple):
    """A last cell that is cut, or may be."""

    offset: int
    text: str
    is_certain: bool
    evidence: str


def find_cut_cell(table: DelimitedText) -> LastCell | None:
    r"""The last cell of a text that has no line end, if it is shorter than it should be.

    Examples
    --------
    >>> rows_above = b"".join(b"q%d,0.12345%d\n" % (i, i + 1) for i in range(8))
    >>> cell = find_cut_cell(DelimitedText(rows_above + b"q8,0.8", ",", 2, 0, b"\n", None))
    >>> cell.text, cell.is_certain, cell.evidence
    ('0.8', True, 'all others have 6 decimals')
    """
    if table.text.endswith((b"\n", b"\r")):
        return None
    *others, last = table.last_rows(_SAMPLE + 1)
    if len(others) < _FEWEST or not last.is_closed:
        return None
    cell = last.cells[-1].decode("utf-8", "replace").strip()
    if cell.endswith('"'):
        return None
    evidence = _evidence_of_cut(cell, [cell_text(row.cells[-1]).strip() for row in others])
    return None if evidence is None else LastCell(last.offset, cell, *evidence)


def _evidence_of_cut(cell: str, others: Sequence[str]) -> tuple[bool, str] | None:
    """Whether it is certain that a cell is cut, and why; None if nothing speaks for it."""
    if _BROKEN_NUMBER.fullmatch(cell) and not any(map(_BROKEN_NUMBER.fullmatch, others)):
        return True, "it is the beginning of a number"
    if not cell:
        return (False, "no other one is blank") if all(others) else None
    filled = [other for other in others if other]
    if len(filled) < _FEWEST:
        return None
    numbers = [_NUMBER.fullmatch(other) for other in filled]
    number = _NUMBER.fullmatch(cell)
    if number and all(numbers):
        return _evidence_of_cut_number(cell, number, filled, [match for match in numbers if match])
    words = set(filled)
    is_beginning = any(word.startswith(cell) for word in words)
    if (
        len(words) <= _MOST_WORDS
        and 2 * len(words) <= len(filled)
        and cell not in words
        and is_beginning
    ):
        return True, f"the others are {', '.join(sorted(words)[:3])}"
    lengths = set(map(len, filled))
    is_of_ids = len(words) == len(filled)
    if is_of_ids and len(lengths) == 1 and len(cell) < min(lengths):
        return False, f"all others have {min(lengths)} characters"
    return None


def _evidence_of_cut_number(
    cell: str, number: re.Match[str], others: Sequence[str], numbers: Sequence[re.Match[str]]
) -> tuple[bool, str] | None:
    n_decimals = {_n_decimals(match) for match in numbers}
    n_missing = min(n_decimals) - _n_decimals(number)
    if len(n_decimals) == 1 and n_missing > 0 and min(n_decimals) > 1:
        # Programs that drop zeros at the end shorten one number in ten, and rarely by four digits.
        drops_no_zeros = len(others) >= _MANY or any(other.endswith("0") for other in others)
        is_certain = drops_no_zeros or n_missing >= _MANY_DIGITS
        return is_certain, f"all others have {min(n_decimals)} decimals"
    lengths = np.array([len(other) for other in others])
    if len(cell) < np.quantile(lengths, 0.02, method="lower"):
        return False, f"the others have {lengths.min()} to {lengths.max()} characters"
    return None


def _n_decimals(number: re.Match[str]) -> int:
    return len(number["decimals"] or number["only"] or "")


def swallowed_lines(swallowed: SwallowedRows, line_of: Callable[[int], int]) -> str:
    """The lines that a quote swallowed, as "lines 4 to 6"."""
    first = line_of(swallowed.offset) + 1
    n = swallowed.n_rows
    return f"line {first}" if n == 1 else f"lines {first} to {first + n - 1}"
