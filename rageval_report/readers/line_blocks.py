"""Large delimited texts in which each line is a row: read, checked and parsed block by block.

A large file is not held in memory: of each block only the parsed cells stay, and its memory serves
the next one. To read all of a file at once costs about as much for the new pages of memory as its
bytes. What is unusual (several kinds of line ends, a line end within quotes, another encoding, a
row with too few fields) raises a `LineError`; then the text is read whole, where every row can be
looked at.
"""

from __future__ import annotations

import codecs
import warnings
from collections.abc import Callable, Iterable, Iterator, Set
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd

from rageval_report.files.source import LARGE, Source
from rageval_report.readers.delimited_rows import rows
from rageval_report.readers.neutralised_formulas import may_be_neutralised
from rageval_report.readers.parsed_pieces import (
    LineError,
    Lines,
    ParsedPieces,
    are_blank_cells,
    are_written_plainly,
    missing_at_the_end,
)

# A slice stays in the cache of one core while it is checked, and while pandas splits it.
_SLICE = 1 << 18
# Of 0.5 to 16 MB the block of this size took the least time: a smaller one calls pandas more often,
# and the cells of a larger one leave the cache before they are copied.
_BLOCK = 1 << 22
_LINE_FEED = 10
# pandas before 3.0 has texts as objects; there the columns are never joined.
_TEXT = "str"


class _PandasParser(Protocol):
    """A table that pandas parses some records at a time."""

    def get_chunk(self, size: int) -> pd.DataFrame: ...


# Begins to parse an open file in pieces.
OpenParser = Callable[[Any], _PandasParser]


def is_read_in_slices(source: Source) -> bool:
    """Whether a file is so large that its text is not held in memory.

    Examples
    --------
    >>> is_read_in_slices(Source(b"id,f1"))
    False
    """
    is_plain = source.plain_path is not None and source.encoding is None
    return is_plain and source.size >= LARGE


def text_slices(source: Source, header: bytes) -> Iterator[bytes]:
    r"""The text of a file after its header; a large file is read from the disk as it is.

    Parameters
    ----------
    source : Source
        The file.
    header : bytes
        The text before the first row, as `Source.sample` has it.

    Raises
    ------
    LineError
        If the header of a large file is written in another encoding than UTF-8.

    Examples
    --------
    >>> b"".join(text_slices(Source(b"id,f1\na,1\n"), b"id,f1\n"))
    b'a,1\n'
    """
    path = source.plain_path
    if path is None or not is_read_in_slices(source):
        text = source.utf8
        yield from (text[at : at + _SLICE] for at in range(len(header), len(text), _SLICE))
        return
    mark = codecs.BOM_UTF8 if source.head.startswith(codecs.BOM_UTF8) else b""
    with path.open("rb", buffering=0) as file:
        # Of another encoding the sample is decoded, and has other offsets than the file.
        if file.read(len(mark + header)) != mark + header:
            raise LineError("the header is not UTF-8")
        while piece := file.read(_SLICE):
            yield piece


class LineSurvey:
    r"""What a text must be known to be before its lines can be parsed block by block.

    Parameters
    ----------
    slices : iterable of bytes
        The text.
    is_utf8 : bool
        Whether the text is known to be UTF-8 without NUL characters.

    Attributes
    ----------
    feeds : list of int
        The number of line feeds in each slice.
    n_bytes : int
        The length of the text.
    may_be_neutralised : bool
        Whether formulas in the text may have been neutralised for a spreadsheet.

    Raises
    ------
    LineError
        If the text is not UTF-8, holds NUL characters, or has several kinds of line ends.

    Examples
    --------
    >>> survey = LineSurvey([b"a,1\r", b"\nb,0"])
    >>> survey.n_lines, survey.is_ended, survey.has_returns, survey.may_be_neutralised
    (2, False, True, False)
    """

    def __init__(self, slices: Iterable[bytes], *, is_utf8: bool = False):
        self.may_be_neutralised = False
        self.feeds: list[int] = []
        self.n_bytes = 0
        self._n_returns = self._n_pairs = 0
        self._last = b""
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            for piece in slices:
                if not is_utf8:
                    _check_text(piece, decoder)
                self._add(piece)
            decoder.decode(b"", final=True)
        except UnicodeDecodeError as exc:
            raise LineError("the text is not UTF-8") from exc
        if self._n_returns and not self._n_returns == self._n_pairs == sum(self.feeds):
            raise LineError("there are several kinds of line ends")

    def _add(self, piece: bytes) -> None:
        if not self.may_be_neutralised:
            # The sign after an apostrophe may be in the next slice.
            is_open = piece.rstrip().endswith((b"'", b"'\xef"))
            self.may_be_neutralised = is_open or may_be_neutralised(piece)
        self.n_bytes += len(piece)
        # Four times as fast as bytes.count where lines are short.
        self.feeds.append(int(np.count_nonzero(np.frombuffer(piece, np.uint8) == _LINE_FEED)))
        if b"\r" in piece:
            self._n_returns += piece.count(b"\r")
            self._n_pairs += piece.count(b"\r\n")
        self._n_pairs += self._last == b"\r" and piece.startswith(b"\n")
        self._last = piece[-1:]

    @property
    def n_lines(self) -> int:
        """The number of lines, with the last one if it has no line end."""
        return sum(self.feeds) + (not self.is_ended)

    @property
    def is_ended(self) -> bool:
        """Whether the last line has a line end."""
        return self._last in (b"\n", b"")

    @property
    def has_returns(self) -> bool:
        r"""Whether every line ends with "\r\n"."""
        return self._n_returns > 0


def _check_text(piece: bytes, decoder: codecs.IncrementalDecoder) -> None:
    # The state of the decoder is a character of which the last slice had only the first bytes.
    if not piece.isascii() or decoder.getstate()[0]:
        decoder.decode(piece)
    if b"\x00" in piece:
        raise LineError("the text contains a NUL character")


class _Block:
    """Whole lines that are parsed at once."""

    def __init__(self, slices: list[bytes], n_feeds: int):
        self.slices = slices
        self.n_lines = n_feeds + (not slices[-1].endswith(b"\n"))

    @cached_property
    def text(self) -> bytes:
        """The lines in one text."""
        return b"".join(self.slices)

    def first_row_width(self, delimiter: str) -> int:
        """The number of fields of the first row."""
        # The first slice is mostly the begin of a line of which the rest is in the second one.
        begin = b"".join(self.slices[:2])
        return len(next(rows(begin if b"\n" in begin else self.text, delimiter)).cells)


def _blocks(slices: Iterable[bytes], survey: LineSurvey) -> Iterator[_Block]:
    """The lines in blocks; one that is not whole at the end of a block begins the next one."""
    kept: list[bytes] = []
    size = n_feeds = n_bytes = 0
    for piece, n_of_piece in zip(slices, survey.feeds, strict=True):
        kept.append(piece)
        size += len(piece)
        n_bytes += len(piece)
        n_feeds += n_of_piece
        if size < _BLOCK or not n_of_piece:
            continue
        end = piece.rfind(b"\n") + 1
        yield _Block([*kept[:-1], piece[:end]], n_feeds)
        kept = [piece[end:]] if end < len(piece) else []
        size, n_feeds = len(piece) - end, 0
    if n_bytes != survey.n_bytes:
        raise LineError("the text has changed")
    if kept:
        yield _Block(kept, n_feeds)


class _Feed:
    """The open file that pandas reads: the slices of one block, and then nothing.

    At the end of a block pandas must have as many rows as there are lines. If a quote is open it
    asks for more, finds the end of the file, and returns fewer.
    """

    def __init__(self) -> None:
        self.slices: Iterator[bytes] = iter(())

    def read(self, _size: int = -1) -> bytes:
        """The next slice, whatever size pandas asks for."""
        return next(self.slices, b"")

    def __iter__(self) -> Iterator[bytes]:  # by which pandas recognises an open file
        return self.slices


def parse_blocks(
    slices: Iterable[bytes],
    survey: LineSurvey,
    delimiter: str,
    open_parser: OpenParser,
    *,
    texts: Iterable[str] = (),
) -> pd.DataFrame:
    r"""A text in which each line is a record with as many fields as the header.

    Parameters
    ----------
    slices : iterable of bytes
        The text.
    survey : LineSurvey
        What is known of these slices.
    delimiter : str
        One ASCII character.
    open_parser : callable
        Opens a file as `pandas.read_csv` does with ``chunksize``; what it returns must refuse a
        quote that is never closed, and a record with more fields than the one before it.
    texts : iterable of str
        The columns whose cells are kept as they are written, such as ids.

    Raises
    ------
    LineError
        If some line is not such a record, numbers are written in another way than Python's in a
        column of texts, a column has cells of other types in later blocks, or
        the text has changed since the survey. The text may be fine.

    Examples
    --------
    >>> def open_parser(file):
    ...     return pd.read_csv(file, header=None, names=["id", "recall"], chunksize=1)
    >>> slices = [b"a,1\nb,", b"0\n"]
    >>> parse_blocks(slices, LineSurvey(slices), ",", open_parser)["recall"].tolist()
    [1, 0]
    """
    with warnings.catch_warnings():
        # pandas cuts what is too long of the first record, and warns; that record is looked at.
        warnings.simplefilter("ignore", pd.errors.ParserWarning)
        blocks = _blocks(slices, survey)
        pieces = ParsedPieces(
            survey.n_lines, _parsed(blocks, delimiter, open_parser, frozenset(texts))
        )
    if pieces.n_parsed != survey.n_lines:
        raise LineError("the text has changed")
    return pieces.joined(_refuse)


def _refuse() -> pd.DataFrame:
    raise LineError("the type of a column depends on the whole text")


def _parsed(
    blocks: Iterable[_Block], delimiter: str, open_parser: OpenParser, texts: Set[str]
) -> Iterator[pd.DataFrame]:
    feed = _Feed()
    parser: _PandasParser | None = None
    types: list[str] = []
    for block in blocks:
        feed.slices = iter(block.slices)
        parser = parser or open_parser(feed)
        try:
            piece = parser.get_chunk(block.n_lines)
        except StopIteration as exc:  # blank lines only
            raise LineError("a line is not one record") from exc
        _check_rows(piece, block, delimiter)
        piece = _with_texts(piece, block, delimiter, texts)
        types_before, types = types, list(map(str, piece.dtypes))
        if not _are_joinable(types_before or types, types):
            _refuse()
        yield piece


def _check_rows(piece: pd.DataFrame, block: _Block, delimiter: str) -> None:
    """Refuse a block of which some line is not one record with all its fields."""
    # A quoted line end, a blank line, and a stray quote that joins lines all make fewer rows.
    if len(piece) != block.n_lines:
        raise LineError("a line is not one record")
    if block.first_row_width(delimiter) != piece.shape[1]:
        raise LineError("a record has another number of fields")
    n_missing = missing_at_the_end(piece)
    if n_missing is not None:
        lines = Lines(block.text, 0)
        if not are_blank_cells(block.text, delimiter, lines, n_missing):
            raise LineError("a record has too few fields")


def _with_texts(
    piece: pd.DataFrame, block: _Block, delimiter: str, texts: Set[str]
) -> pd.DataFrame:
    """A block in which the cells of some columns are texts as they are written."""
    changed = {}
    for position, (name, kind) in enumerate(piece.dtypes.items()):
        if name not in texts or kind == _TEXT:
            continue
        cells = piece[name]
        # To let pandas parse these columns as texts would take it twice as long.
        is_as_written = cells.isna().all() or (
            not position
            and kind == np.int64
            and are_written_plainly(
                cells.to_numpy(), block.text, Lines(block.text, 0).starts(), delimiter
            )
        )
        if not is_as_written:
            _refuse()
        changed[str(name)] = cells.astype(str)
    return piece.assign(**changed) if changed else piece


def _are_joinable(before: list[str], after: list[str]) -> bool:
    """Whether columns of these types may become one; found early, because all else is in vain."""
    return "object" not in after and all(
        kind == other or "str" in (kind, other) for kind, other in zip(before, after, strict=True)
    )
