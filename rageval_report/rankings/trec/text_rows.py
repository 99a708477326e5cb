"""The columns of a file of rankings: where its ids lie, their hashes, and its numbers.

Ids stay where they are in the text. Blank lines and lines that begin with # are skipped; a
non-breaking space is part of an id.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_report.errors import ReaderError
from rageval_report.rankings.id_columns import are_later, hash_eights
from rageval_report.rankings.order import Objects
from rageval_report.rankings.trec.bytes import WORD, Bytes, Places, Text
from rageval_report.rankings.trec.kernels import Scanner, scan_for
from rageval_report.rankings.trec.numbers import parse_decimals
from rageval_report.types import BoolArray, FloatArray, IntArray, WordArray

# A longer word is not an id, but a line that lost its blanks.
LONGEST = 4096

_BLANK, _NEWLINE, _HASH = ord(" "), ord("\n"), ord("#")


@dataclass(frozen=True)
class LineFormat:
    """How a line is laid out.

    Parameters
    ----------
    what : str
        What the file is, for messages.
    columns : str
        The columns in words.
    places : (int, int, int)
        The columns of the query, the document and the number.
    number : str
        What the number is.
    by_tabs : bool
        Whether a space is part of an id.
    may_be_infinite : bool
        Whether the number may be infinite: scores only order documents, grades are added up.
    advice : str
        What to do about a line with another number of columns.
    """

    what: str
    columns: str
    places: tuple[int, int, int]
    number: str
    by_tabs: bool = False
    may_be_infinite: bool = False
    advice: str = ""

    @property
    def n_columns(self) -> int:
        """How many columns a line has."""
        return len(self.columns.split())


@dataclass(frozen=True, eq=False)
class TextColumns:
    """The rows of a file, or of a part of it, as places in the text.

    Parameters
    ----------
    block : ndarray of shape (n_blocks,)
        The first row of each block of neighbouring rows that have one query.
    query_start, query_length : ndarray of shape (n_blocks,)
        Where the query of each block lies in the text.
    doc_start, doc_length : ndarray of shape (n,)
        Where the documents lie.
    doc_hash : ndarray of uint64
        The same for the same document, in any file.
    value : ndarray of float64
        Scores or grades; no NaN.
    """

    block: IntArray
    query_start: Places
    query_length: Places
    doc_start: Places
    doc_length: Places
    doc_hash: WordArray
    value: FloatArray

    def of_documents(self) -> tuple[NDArray[Any], ...]:
        """The columns that have one row per document."""
        return self.doc_start, self.doc_length, self.doc_hash, self.value

    def first_blocks(self, n: int) -> TextColumns:
        """The rows of the first blocks."""
        rows = slice(self.block[n] if n < len(self.block) else None)
        blocks = self.block[:n], self.query_start[:n], self.query_length[:n]
        return TextColumns(*blocks, *(column[rows] for column in self.of_documents()))

    def of_rows(self, rows: IntArray | slice) -> TextColumns:
        """The documents of some rows, without their queries."""
        none = np.zeros(0, np.int64)
        return TextColumns(none, none, none, *(column[rows] for column in self.of_documents()))


@dataclass(frozen=True, eq=False)
class TextRows:
    """The rows of a file beside its text; as a column of ids, its documents.

    Parameters
    ----------
    text : Text
        The text.
    columns : TextColumns
        The rows.
    """

    text: Text
    columns: TextColumns

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.columns.value)

    def take(self, rows: IntArray | slice) -> TextRows:
        """Some rows, without their queries."""
        return TextRows(self.text, self.columns.of_rows(rows))

    def queries(self) -> list[bytes]:
        """The query of each block."""
        return self.text.words(self.columns.query_start, self.columns.query_length)

    def docs(self, rows: IntArray) -> list[bytes]:
        """The documents of some rows."""
        return self.text.words(self.columns.doc_start[rows], self.columns.doc_length[rows])

    def eights(self, rows: IntArray, *, after: int = 0) -> Iterator[WordArray]:
        """The documents of some rows, eight bytes at a time, without the first `after` bytes."""
        places = self.columns.doc_start[rows], self.columns.doc_length[rows]
        return self.text.eights(*places, after=after)

    def hashes(self) -> WordArray:
        """The hash of each document."""
        return self.columns.doc_hash

    def are_equal(self, rows: IntArray, other: TextRows, other_rows: IntArray) -> BoolArray:
        """Whether the documents of rows are those of rows of another file, pair by pair.

        A hash has as many bits as a word of eight bytes, and no step of it loses one: if the hashes
        are equal and all words but the first, the first ones are equal too.
        """
        ours, theirs = self.columns, other.columns
        equal: BoolArray = ours.doc_length[rows] == theirs.doc_length[other_rows]
        equal &= ours.doc_hash[rows] == theirs.doc_hash[other_rows]
        words = self.eights(rows, after=WORD), other.eights(other_rows, after=WORD)
        for left, right in zip(*words, strict=False):
            equal &= left == right  # if one side has longer words, the lengths differ already
        return equal

    def are_later(self, rows: IntArray, other_rows: IntArray) -> BoolArray:
        """Whether documents sort after others of this file, pair by pair."""
        columns = self.columns
        pairs = rows, other_rows
        return are_later(self.text.eights, columns.doc_start, columns.doc_length, pairs)

    def objects(self, rows: IntArray) -> Objects:
        """The documents of some rows as bytes, which sort as their texts do."""
        return np.fromiter(self.docs(rows), np.object_, len(rows))


def read_columns(text: Text, start: int, form: LineFormat) -> TextColumns:
    """The columns of a text from `start` on.

    Raises
    ------
    ReaderError
        If there is no line, or one cannot be read.
    """
    scanner = scanner_for(text.end - start, form)
    # 16 bits hold every length, because words over 4096 bytes are refused.
    kinds: tuple[type[Any], ...] = (text.kind_of_place, np.uint16, np.uint64, np.float64)
    room = [np.empty(text.n_lines(start), kind) for kind in kinds]
    blocks, n = [], 0
    for chunk in text.chunks(start):
        part = columns_of_chunk(text, *chunk, form, scanner)
        blocks.append((part.block + n, part.query_start, part.query_length))
        rows = slice(n, n := n + len(part.value))
        for column, values in zip(room, part.of_documents(), strict=True):
            column[rows] = values
    if not n:
        raise ReaderError(f"expected {form.what} ({form.columns}); the file has no rows", text.path)
    block, query_start, query_length = map(np.concatenate, zip(*blocks, strict=True))
    return TextColumns(block, query_start, query_length, *(column[:n] for column in room))


def scanner_for(n_bytes: int, form: LineFormat) -> Scanner | None:
    """The compiled walk over lines, if there is one and the text is large enough for it."""
    scan = scan_for(n_bytes)
    places = (form.n_columns, *form.places)
    return Scanner(scan, places, _BLANK - form.by_tabs) if scan else None


def hashes(text: Text, starts: Places, lengths: Places) -> WordArray:
    """A number for each word, the same for equal words."""
    return hash_eights(text.eights(starts, lengths), lengths)


def number_or_none(word: bytes) -> float | None:
    """The number that a word spells, if any."""
    try:
        # Python's float reads 1_000; C's strtod, which trec_eval uses, does not.
        return None if b"_" in word else float(word)
    except ValueError:
        return None


def columns_of_chunk(
    text: Text, start: int, end: int, form: LineFormat, scanner: Scanner | None
) -> TextColumns:
    """The columns of whole lines; there may be none."""
    columns = _scan_chunk(scanner, text, start, end, form) if scanner else None
    # What the scanner refuses is read again without it, which finds the line for the message.
    return columns or _split_chunk(text, start, end, form)


def _scan_chunk(
    scanner: Scanner, text: Text, start: int, end: int, form: LineFormat
) -> TextColumns | None:
    scanned = scanner.scan(text, start, end)
    if scanned is None:
        return None
    blocks, docs, doc_hash, words, values, doubt = scanned
    block, query_start, query_length = blocks.T.copy()  # the scanner's room is used again
    return TextColumns(
        block,
        query_start,
        query_length,
        docs[:, 0].astype(text.kind_of_place),
        docs[:, 1].astype(np.uint16),
        doc_hash,
        _settle_by_float(text, values, doubt, words[:, 0], words[:, 1], form),
    )


def _split_chunk(text: Text, start: int, end: int, form: LineFormat) -> TextColumns:
    query, doc, number = _words(text, start, end, form)
    for column in (query, doc, number):
        _refuse_endless(text, *column)
    query_length, doc_length = query[1] - query[0], doc[1] - doc[0]
    block = _first_of_neighbours(text, query[0], query_length)
    return TextColumns(
        block,
        query[0][block],
        query_length[block],
        doc[0].astype(text.kind_of_place),
        doc_length.astype(np.uint16),
        hashes(text, doc[0], doc_length),
        _settle_by_float(text, *parse_decimals(text, *number), *number, form),
    )


# -- words


def _words(text: Text, start: int, end: int, form: LineFormat) -> list[tuple[IntArray, IntArray]]:
    """Where queries, documents and numbers start and end in the lines that are not skipped."""
    chunk = text.data[start:end]
    blank = np.empty(len(chunk) + 1, dtype=bool)
    blank[0] = True
    np.less_equal(chunk, _BLANK, out=blank[1:])
    if form.by_tabs:
        # BEIR's ids may contain blanks, so only tabs separate them.
        blank[1:] &= chunk != _BLANK
    starts, ends = _runs(blank)
    # Comments and blank lines are rare; the check of the whole chunk is cheaper than counting words
    # line by line.
    if not _is_regular(chunk, starts, ends, form.n_columns):
        starts, ends = _without_comments(text, start, end, (starts, ends), form)
    columns = (slice(place, None, form.n_columns) for place in form.places)
    return [(starts[column] + start, ends[column] + start) for column in columns]


def _runs(blank: BoolArray) -> tuple[IntArray, IntArray]:
    """Where runs without a blank start and end; the first flag, a blank, is not counted."""
    if not (blank[1:] & blank[:-1]).any():  # single blanks: half as many edges to look for
        edges = np.flatnonzero(blank)
        return edges[:-1], edges[1:] - 1
    edges = np.flatnonzero(blank[1:] != blank[:-1])  # the last is a blank: an even number
    return edges[::2], edges[1::2]


def _is_regular(chunk: Bytes, starts: IntArray, ends: IntArray, n_columns: int) -> bool:
    """Whether each line has the right number of words, and none begins with a hash."""
    n_lines, rest = divmod(len(starts), n_columns)
    if rest or np.count_nonzero(chunk == _NEWLINE) != n_lines:
        return False
    lasts_end_lines = (chunk[ends[n_columns - 1 :: n_columns]] == _NEWLINE).all()
    return bool(lasts_end_lines and (chunk[starts[::n_columns]] != _HASH).all())


def _without_comments(
    text: Text, start: int, end: int, words: tuple[IntArray, IntArray], form: LineFormat
) -> tuple[IntArray, IntArray]:
    """The words of the lines that are not comments; each line must have the right number."""
    chunk = text.data[start:end]
    newlines = np.flatnonzero(chunk == _NEWLINE)
    lines = np.concatenate([[0], newlines[:-1] + 1])
    counts = np.diff(np.searchsorted(words[0], newlines), prepend=0)
    is_comment = chunk[lines] == _HASH
    wrong = np.flatnonzero((counts > 0) & (counts != form.n_columns) & ~is_comment)
    if wrong.size:
        raise text.error(
            start + int(lines[wrong[0]]),
            f"expected {form.n_columns} columns, {form.columns}; got {counts[wrong[0]]}",
            form.advice,
        )
    in_rows = np.repeat(~is_comment, counts)
    return words[0][in_rows], words[1][in_rows]


def _refuse_endless(text: Text, starts: IntArray, ends: IntArray) -> None:
    lengths = ends - starts
    if lengths.max(initial=0) > LONGEST:
        row = int(lengths.argmax())
        raise text.error(
            int(starts[row]),
            f"an id or number must have at most {LONGEST} bytes; got {lengths[row]}",
        )


def _first_of_neighbours(text: Text, starts: IntArray, lengths: IntArray) -> IntArray:
    """The rows whose word differs from that of the row before."""
    differs = np.ones(len(starts), dtype=bool)
    differs[1:] = lengths[1:] != lengths[:-1]
    for eight in text.eights(starts, lengths):
        differs[1:] |= eight[1:] != eight[:-1]
    return np.flatnonzero(differs)


# -- numbers


def _settle_by_float(
    text: Text,
    values: FloatArray,
    doubt: BoolArray,
    starts: IntArray,
    ends: IntArray,
    form: LineFormat,
) -> FloatArray:
    """The values, those in doubt read again by `float`."""
    rows = np.flatnonzero(doubt)
    if rows.size:
        values[rows] = _parse_by_float(text, starts[rows], ends[rows], form)
    return values


def _parse_by_float(text: Text, starts: IntArray, ends: IntArray, form: LineFormat) -> FloatArray:
    """Numbers one by one; the first word that is not a number is an error."""
    base = int(starts[0])
    chunk = text.data[base : int(ends[-1])].tobytes()
    places = list(zip((starts - base).tolist(), (ends - base).tolist(), strict=True))
    numbers = [number_or_none(chunk[first:last]) for first, last in places]
    values = np.array(numbers, np.float64)  # None is NaN
    # An infinite score ranks; an infinite grade cannot be added up.
    bad = np.flatnonzero(np.isnan(values) if form.may_be_infinite else ~np.isfinite(values))
    if bad.size:
        first, last = places[bad[0]]
        raise text.error(
            base + first,
            f"the {form.number} must be a number; got {chunk[first:last].decode()!r}",
            f"Correct the line, or leave it out: a document without a {form.number} is one that "
            f"was not {'retrieved' if form.may_be_infinite else 'judged'}",
        )
    return values
