"""Delimited text, parsed by pandas in pieces of some megabytes.

What belongs to a piece stays in the cache of the processor, and its memory serves the next piece: a
large file takes half to two thirds of the time of one call. A column gets the type that it has if
the text is parsed whole. If each line is taken for a record, the parsed cells show whether that is
true, so that quotes need not be counted.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby

import numpy as np
import pandas as pd

from rageval_report.readers.delimited_rows import rows
from rageval_report.types import BoolArray, IndexArray

# Parses the whole text, or from its first record on some records at a time.
ParseWhole = Callable[[], pd.DataFrame]
ParsePieces = Callable[[int], Iterator[pd.DataFrame]]

_PIECE, _FEWEST_RECORDS = 1 << 21, 1_000
# A mask of so many bytes stays in the cache.
_BLOCK = 1 << 18
_LINE_FEED, _CARRIAGE_RETURN = b"\n\r"
# If all pieces of a column have one of these types, so has the column of the whole text.
_STEADY = ("int64", "bool", "str")
_POWERS_OF_TEN = 10 ** np.arange(19)


class LineError(ValueError):
    """Some line is not one record that has as many fields as the header."""


def has_plain_line_ends(text: bytes, start: int) -> bool:
    r"""Whether all lines end with "\n", or all with "\r\n", so that no cell contains "\r".

    Parameters
    ----------
    text : bytes
        The text.
    start : int
        The offset of the first line.

    Examples
    --------
    >>> has_plain_line_ends(b"q1,1\nq2,0\n", 0), has_plain_line_ends(b"q1,1\rq2,0\n", 0)
    (True, False)
    """
    if text.find(b"\r", start) < 0:
        return True
    return text.count(b"\r", start) == text.count(b"\r\n", start) == text.count(b"\n", start)


class Lines:
    r"""The number of lines of a text, and where some of them begin.

    Parameters
    ----------
    text : bytes
        A text with plain line ends.
    start : int
        The offset of the first line.

    Examples
    --------
    >>> lines = Lines(b"id,recall\nq1,1\nq2,0", 10)
    >>> lines.n, lines.start_of(1), lines.starts().tolist()
    (2, 15, [10, 15])
    """

    def __init__(self, text: bytes, start: int):
        self._bytes, self._start = np.frombuffer(text, np.uint8), start
        self._begins = range(start, len(text), _BLOCK)
        # A mask of the whole text would be written to memory, and read again.
        n_ends = [np.count_nonzero(self._is_end(begin)) for begin in self._begins]
        self._n_before = np.cumsum([0, *n_ends])
        is_cut = start < len(text) and not text.endswith(b"\n")
        self.n = int(self._n_before[-1]) + is_cut

    def _is_end(self, begin: int) -> BoolArray:
        is_end: BoolArray = self._bytes[begin : begin + _BLOCK] == _LINE_FEED
        return is_end

    def start_of(self, number: int) -> int:
        """The offset of a line, counted from 0."""
        if not number:
            return self._start
        block = int(np.searchsorted(self._n_before, number)) - 1
        ends = np.flatnonzero(self._is_end(self._begins[block]))
        return self._begins[block] + int(ends[number - 1 - self._n_before[block]]) + 1

    def starts(self) -> IndexArray:
        """The offsets of all lines."""
        ends = np.flatnonzero(self._bytes[self._start :] == _LINE_FEED) + self._start
        starts: IndexArray = np.concatenate([[self._start], ends + 1])[: self.n]
        return starts


def parse_lines(
    text: bytes, delimiter: str, start: int, parse: ParseWhole, parse_pieces: ParsePieces
) -> pd.DataFrame:
    r"""A text in which each line is a record with as many fields as the header.

    Parameters
    ----------
    text : bytes
        UTF-8 with plain line ends.
    delimiter : str
        One ASCII character.
    start : int
        The offset of the first record.
    parse, parse_pieces : callable
        Parse the text into all columns of the header: whole, and some records at a time. They must
        refuse a quote that is never closed, and a record with more fields than the one before it;
        only blank cells are missing.

    Raises
    ------
    LineError
        If some line is not such a record. The text may be fine, as with a line end within quotes.

    Examples
    --------
    >>> from functools import partial
    >>> from io import BytesIO
    >>> def table(text: bytes) -> pd.DataFrame:
    ...     def parse(records: int | None = None):
    ...         names = ["id", "recall"]
    ...         return pd.read_csv(BytesIO(text), header=None, names=names, chunksize=records)
    ...     return parse_lines(text, ",", 0, parse, parse)
    >>> table(b'"a, b",1\nc,0\n')["id"].tolist()
    ['a, b', 'c']
    >>> table(b"a,1\nb\n")
    Traceback (most recent call last):
    ...
    rageval_report.readers.parsed_pieces.LineError: a record has too few fields
    """
    lines = Lines(text, start)
    n_records = records_at_a_time(lines.n, len(text) - start)
    with warnings.catch_warnings():
        # pandas compares a record with the one before it in the same piece; of the first one it
        # cuts what is too long, and warns. Those records are looked at below.
        warnings.simplefilter("ignore", pd.errors.ParserWarning)
        pieces = ParsedPieces(lines.n, parse_pieces(n_records))
    # A quoted line end, a blank line, and a stray quote that joins lines all make fewer rows.
    if pieces.n_parsed != lines.n:
        raise LineError("a line is not one record")
    for number in range(0, lines.n, n_records):
        first = next(rows(text, delimiter, lines.start_of(number)))
        if len(first.cells) != pieces.n_columns:
            raise LineError("a record has another number of fields")
    frame = pieces.joined(parse)
    n_missing = missing_at_the_end(frame)
    if n_missing is not None and not are_blank_cells(text, delimiter, lines, n_missing):
        raise LineError("a record has too few fields")
    return frame


def records_at_a_time(n_records: int, n_bytes: int) -> int:
    """The number of records in a piece.

    Examples
    --------
    >>> records_at_a_time(1_000_000, 100 << 20)
    20000
    """
    return max(_FEWEST_RECORDS, n_records * _PIECE // max(n_bytes, 1))


class ParsedPieces:
    """The pieces of a text, which become one frame with the types that its columns have as a whole.

    Floats are copied into one block as soon as their piece is parsed: they are still in the cache,
    and the memory of the piece is used for the next one.

    Parameters
    ----------
    n_rows : int
        The number of rows that the text should have.
    pieces : iterable of DataFrame
        The parts of the text, in order.

    Examples
    --------
    >>> pieces = [pd.DataFrame({"f1": [1, 0]}), pd.DataFrame({"f1": [0, 1]})]
    >>> parsed = ParsedPieces(4, pieces)
    >>> parsed.n_parsed, parsed.n_columns, parsed.joined(lambda: pieces[0])["f1"].tolist()
    (4, 1, [1, 0, 0, 1])
    """

    def __init__(self, n_rows: int, pieces: Iterable[pd.DataFrame]):
        self._n_rows, self.n_parsed, self.n_columns = n_rows, 0, 0
        # A slice stands for cells that are in the block.
        self._parts: dict[str, list[pd.Series | slice]] = {}
        # Each column of floats in the first piece is a row of the block.
        self._row_of: dict[str, int] = {}
        self._block = np.empty((0, 0))
        self._only: pd.DataFrame | None = None
        for piece in pieces:
            if not self.n_columns:
                self._begin(piece)
            self._add(piece)

    def _begin(self, first: pd.DataFrame) -> None:
        self.n_columns = first.shape[1]
        self._parts = {str(name): [] for name in first}
        if len(first) >= self._n_rows:
            self._only = first
            return
        floats = [str(name) for name, cells in first.items() if cells.dtype == np.float64]
        self._row_of = {name: row for row, name in enumerate(floats)}
        self._block = np.empty((len(floats), self._n_rows))

    def _add(self, piece: pd.DataFrame) -> None:
        place = slice(self.n_parsed, self.n_parsed + len(piece))
        self.n_parsed = place.stop
        has_room = place.stop <= self._block.shape[1]
        for (name, parts), (_, cells) in zip(self._parts.items(), piece.items(), strict=True):
            row = self._row_of.get(name)
            if row is None or not has_room or cells.dtype != np.float64:
                parts.append(cells)
                continue
            self._block[row, place] = cells.to_numpy()
            parts.append(place)

    def joined(self, parse: ParseWhole) -> pd.DataFrame:
        """The text as one frame.

        Parameters
        ----------
        parse : callable
            Parses the whole text.
        """
        if self._only is not None and len(self._only) == self.n_parsed:
            return self._only
        frames = []
        for is_in_block, run in groupby(self._parts, self._is_in_block):
            names = list(run)
            if is_in_block:
                frames.append(self._floats(names))
                continue
            columns = [_joined(self._cells(name)) for name in names]
            if any(column is None for column in columns):
                # A single text among numbers changes how all cells of its column are read.
                return parse()
            frames.append(pd.DataFrame(dict(zip(names, columns, strict=True)), copy=False))
        return pd.concat(frames, axis=1) if len(frames) > 1 else frames[0]

    def _is_in_block(self, name: str) -> bool:
        return all(isinstance(part, slice) for part in self._parts[name])

    def _cells(self, name: str) -> list[pd.Series]:
        """The pieces of a column."""
        return [
            pd.Series(self._block[self._row_of[name], part]) if isinstance(part, slice) else part
            for part in self._parts[name]
        ]

    def _floats(self, names: list[str]) -> pd.DataFrame:
        """Neighbours of floats as one block, which an evaluation can then take as it is."""
        first, last = self._row_of[names[0]], self._row_of[names[-1]]
        return pd.DataFrame(self._block[first : last + 1].T, columns=names, copy=False)


def _joined(parts: list[pd.Series]) -> pd.Series | None:
    """The pieces of a column as one; None if the whole text must be parsed to know its type."""
    kinds = {str(part.dtype) for part in parts}
    if len(kinds) == 1 and kinds <= {*_STEADY}:
        return pd.concat(parts, ignore_index=True)
    # A piece of blank cells has the type of numbers.
    if kinds == {"str", "float64"} and all(
        part.isna().all() for part in parts if part.dtype == "float64"
    ):
        kind = next(part.dtype for part in parts if part.dtype != "float64")
        return pd.concat([part.astype(kind) for part in parts], ignore_index=True)
    return None


# -- records with too few fields


def missing_at_the_end(frame: pd.DataFrame) -> IndexArray | None:
    """The number of missing cells at the end of each row; None if there are none.

    pandas fills a record that has too few fields with missing cells.

    Examples
    --------
    >>> missing_at_the_end(pd.DataFrame({"f1": [1, None], "mrr": [None, None]})).tolist()
    [1, 2]
    """
    is_missing: BoolArray = frame.iloc[:, -1].isna().to_numpy()
    if not is_missing.any():
        return None
    n_missing = is_missing.astype(np.intp)
    for k in range(frame.shape[1] - 2, -1, -1):
        is_missing = is_missing & frame.iloc[:, k].isna().to_numpy()
        if not is_missing.any():
            break
        n_missing += is_missing
    return n_missing


def are_blank_cells(text: bytes, delimiter: str, lines: Lines, n_missing: IndexArray) -> bool:
    r"""Whether each line ends with as many delimiters as its row has missing cells at the end.

    A record without its last field has fewer: the field before the missing ones is not blank, or
    is blank and one of them. Blank cells in quotes are not recognised.

    Examples
    --------
    >>> text, n_missing = b"a,1,\nb,0\n", np.array([1, 1])
    >>> are_blank_cells(text, ",", Lines(text, 0), n_missing)
    False
    """
    every = np.frombuffer(text, np.uint8)
    stops = np.append(lines.starts()[1:], len(text) + (not text.endswith(b"\n"))) - 1
    stops -= every[stops - 1] == _CARRIAGE_RETURN
    for k in range(1, int(n_missing.max()) + 1):
        if not bool((every[stops[n_missing >= k] - k] == ord(delimiter)).all()):
            return False
    return True


# -- numbers that are names


def are_written_plainly(
    numbers: IndexArray, text: bytes, starts: IndexArray, delimiter: str
) -> bool:
    r"""Whether each row begins with its number as Python writes it, and not as 007 or +7.

    It does if the delimiter comes right after as many characters as the number has digits.

    Parameters
    ----------
    numbers : ndarray of int64
        The first cell of each row, as pandas parsed it.
    text : bytes
        The text of the rows.
    starts : ndarray of int
        The offsets at which they begin.
    delimiter : str
        One ASCII character.

    Examples
    --------
    >>> are_written_plainly(np.array([7, 12]), b"7,1\n12,0\n", np.array([0, 4]), ",")
    True
    >>> are_written_plainly(np.array([7, 12]), b"07,1\n12,0\n", np.array([0, 5]), ",")
    False
    """
    if len(starts) != len(numbers) or numbers.min() < 0:
        return False
    n_digits = np.maximum(np.searchsorted(_POWERS_OF_TEN, numbers, side="right"), 1)
    after = np.minimum(starts + n_digits, len(text) - 1)
    return bool((np.frombuffer(text, np.uint8)[after] == ord(delimiter)).all())
