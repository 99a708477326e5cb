"""The columns of a file of rankings: where its ids stand, their hashes, and its numbers.

Ids stay where they are in the text. Blank lines and lines that begin with # are passed over; a
non-breaking space is part of an id.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_report.errors import ReaderError
from rageval_report.rankings.hits import Codes, Floats
from rageval_report.rankings.trec.bytes import WORD, Bytes, Places, Text, Words
from rageval_report.rankings.trec.numbers import Flags, decimals
from rageval_report.rankings.trec.scan import Scanner, scan_for

# A word longer than this is no id, but a line that lost its blanks.
LONGEST = 4096

_MIX = np.uint64(0x9E3779B97F4A7C15)
_FOLD = np.uint64(29)
_BLANK, _NEWLINE, _HASH = ord(" "), ord("\n"), ord("#")


@dataclass(frozen=True)
class Format:
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
    may_be_infinite : bool
        Whether the number only orders; else it is added up.
    """

    what: str
    columns: str
    places: tuple[int, int, int]
    number: str
    by_tabs: bool = False
    may_be_infinite: bool = False

    @property
    def n_columns(self) -> int:
        """How many columns a line has."""
        return len(self.columns.split())


@dataclass(frozen=True, eq=False)
class Columns:
    """The rows of a file, or of a part of it.

    Parameters
    ----------
    block : ndarray of shape (n_blocks,)
        The first rows of neighbours that have one query.
    query_start, query_length : ndarray of shape (n_blocks,)
        Where the query of each block stands in the text.
    doc_start, doc_length : ndarray of shape (n,)
        Where the documents stand.
    doc_hash : ndarray of uint64
        The same for the same document, in any file.
    value : ndarray of float64
        Scores or grades; no NaN.
    """

    block: Codes
    query_start: Places
    query_length: Places
    doc_start: Places
    doc_length: Places
    doc_hash: Words
    value: Floats

    def of_documents(self) -> tuple[NDArray[Any], ...]:
        """The columns that have a row a document."""
        return self.doc_start, self.doc_length, self.doc_hash, self.value

    def first_blocks(self, n: int) -> Columns:
        """The rows of the first blocks."""
        rows = slice(self.block[n] if n < len(self.block) else None)
        blocks = self.block[:n], self.query_start[:n], self.query_length[:n]
        return Columns(*blocks, *(column[rows] for column in self.of_documents()))

    def of_rows(self, rows: Codes | slice) -> Columns:
        """The documents of some rows, without their queries."""
        none = np.zeros(0, np.int64)
        return Columns(none, none, none, *(column[rows] for column in self.of_documents()))


def columns_of(text: Text, start: int, form: Format) -> Columns:
    """The columns of a text from `start` on.

    Raises
    ------
    ReaderError
        If there is no line, or one cannot be read.
    """
    scanner = scanner_for(text.end - start, form)
    kinds: tuple[type[Any], ...] = (text.kind_of_place, np.uint16, np.uint64, np.float64)
    room = [np.empty(text.n_lines(start), kind) for kind in kinds]
    blocks, n = [], 0
    for chunk in text.chunks(start):
        part = columns_of_chunk(text, *chunk, form, scanner)
        blocks.append((part.block + n, part.query_start, part.query_length))
        rows = slice(n, n := n + len(part.value))
        for column, found in zip(room, part.of_documents(), strict=True):
            column[rows] = found
    if not n:
        raise ReaderError(f"expected {form.what}, as {form.columns!r}; there is no line", text.path)
    block, query_start, query_length = map(np.concatenate, zip(*blocks, strict=True))
    return Columns(block, query_start, query_length, *(column[:n] for column in room))


def scanner_for(n_bytes: int, form: Format) -> Scanner | None:
    """The compiled walk over lines, if there is one and the text is worth it."""
    scan = scan_for(n_bytes)
    places = (form.n_columns, *form.places)
    return Scanner(scan, places, _BLANK - form.by_tabs) if scan else None


def hashes(text: Text, starts: Places, lengths: Places) -> Words:
    """A number for each word, which equal words share; each step can be undone."""
    mixed = np.zeros(len(starts), np.uint64)
    for n_done, eight in enumerate(text.eights(starts, lengths)):
        more = (mixed ^ eight) * _MIX
        more ^= more >> _FOLD
        # a word must not know how long others are
        mixed = np.where(lengths > n_done * WORD, more, mixed) if n_done else more
    return mixed


def number_or_none(word: bytes) -> float | None:
    """The number that a word spells, if any."""
    try:
        return None if b"_" in word else float(word)
    except ValueError:
        return None


def columns_of_chunk(
    text: Text, start: int, end: int, form: Format, scanner: Scanner | None
) -> Columns:
    """The columns of whole lines; there may be none."""
    found = scanner and _scanned(scanner, text, start, end, form)
    return found or _split(text, start, end, form)  # what it refuses is named by the other way


def _scanned(scanner: Scanner, text: Text, start: int, end: int, form: Format) -> Columns | None:
    found = scanner.scanned(text, start, end)
    if found is None:
        return None
    blocks, docs, doc_hash, words, values, doubt = found
    block, query_start, query_length = blocks.T.copy()  # the scanner's room is used again
    return Columns(
        block,
        query_start,
        query_length,
        docs[:, 0].astype(text.kind_of_place),
        docs[:, 1].astype(np.uint16),
        doc_hash,
        _in_doubt_by_float(text, values, doubt, words[:, 0], words[:, 1], form),
    )


def _split(text: Text, start: int, end: int, form: Format) -> Columns:
    query, doc, number = _words(text, start, end, form)
    for column in (query, doc, number):
        _refuse_endless(text, *column)
    query_length, doc_length = query[1] - query[0], doc[1] - doc[0]
    block = _first_of_neighbours(text, query[0], query_length)
    return Columns(
        block,
        query[0][block],
        query_length[block],
        doc[0].astype(text.kind_of_place),
        doc_length.astype(np.uint16),
        hashes(text, doc[0], doc_length),
        _in_doubt_by_float(text, *decimals(text, *number), *number, form),
    )


# -- words


def _words(text: Text, start: int, end: int, form: Format) -> list[tuple[Codes, Codes]]:
    """Where queries, documents and numbers start and end in the lines that count."""
    chunk = text.data[start:end]
    blank = np.empty(len(chunk) + 1, dtype=bool)
    blank[0] = True
    np.less_equal(chunk, _BLANK, out=blank[1:])
    if form.by_tabs:
        blank[1:] &= chunk != _BLANK
    starts, ends = _runs(blank)
    if not _is_regular(chunk, starts, ends, form.n_columns):
        starts, ends = _without_comments(text, start, end, (starts, ends), form)
    columns = (slice(place, None, form.n_columns) for place in form.places)
    return [(starts[one] + start, ends[one] + start) for one in columns]


def _runs(blank: Flags) -> tuple[Codes, Codes]:
    """Where runs without a blank start and end; the first flag, a blank, is not counted."""
    if not (blank[1:] & blank[:-1]).any():  # single blanks: half as many edges
        edges = np.flatnonzero(blank)
        return edges[:-1], edges[1:] - 1
    edges = np.flatnonzero(blank[1:] != blank[:-1])  # the last is a blank: an even number
    return edges[::2], edges[1::2]


def _is_regular(chunk: Bytes, starts: Codes, ends: Codes, n_columns: int) -> bool:
    """Whether each line has as many words as it should, and none begins with a hash."""
    n_lines, rest = divmod(len(starts), n_columns)
    if rest or np.count_nonzero(chunk == _NEWLINE) != n_lines:
        return False
    lasts_end_lines = (chunk[ends[n_columns - 1 :: n_columns]] == _NEWLINE).all()
    return bool(lasts_end_lines and (chunk[starts[::n_columns]] != _HASH).all())


def _without_comments(
    text: Text, start: int, end: int, words: tuple[Codes, Codes], form: Format
) -> tuple[Codes, Codes]:
    """The words of lines that are no comments, and each as long as it should be."""
    chunk = text.data[start:end]
    newlines = np.flatnonzero(chunk == _NEWLINE)
    lines = np.concatenate([[0], newlines[:-1] + 1])
    counts = np.diff(np.searchsorted(words[0], newlines), prepend=0)
    is_comment = chunk[lines] == _HASH
    wrong = np.flatnonzero((counts > 0) & (counts != form.n_columns) & ~is_comment)
    if wrong.size:
        raise text.error(
            start + int(lines[wrong[0]]),
            f"expected {form.n_columns} columns, {form.columns}; found {counts[wrong[0]]}",
        )
    kept = np.repeat(~is_comment, counts)
    return words[0][kept], words[1][kept]


def _refuse_endless(text: Text, starts: Codes, ends: Codes) -> None:
    lengths = ends - starts
    if lengths.max(initial=0) > LONGEST:
        row = int(lengths.argmax())
        raise text.error(
            int(starts[row]),
            f"a word of {lengths[row]} bytes; expected at most {LONGEST}",
        )


def _first_of_neighbours(text: Text, starts: Codes, lengths: Codes) -> Codes:
    """The rows whose word differs from that of the row before."""
    differs = np.ones(len(starts), dtype=bool)
    differs[1:] = lengths[1:] != lengths[:-1]
    for eight in text.eights(starts, lengths):
        differs[1:] |= eight[1:] != eight[:-1]
    return np.flatnonzero(differs)


# -- numbers


def _in_doubt_by_float(
    text: Text, values: Floats, doubt: Flags, starts: Codes, ends: Codes, form: Format
) -> Floats:
    rows = np.flatnonzero(doubt)
    if rows.size:
        values[rows] = _by_float(text, starts[rows], ends[rows], form)
    return values


def _by_float(text: Text, starts: Codes, ends: Codes, form: Format) -> NDArray[np.float64]:
    """Numbers one by one; what is none is named."""
    base = int(starts[0])
    chunk = text.data[base : int(ends[-1])].tobytes()
    places = list(zip((starts - base).tolist(), (ends - base).tolist(), strict=True))
    numbers = [number_or_none(chunk[first:last]) for first, last in places]
    values = np.array(numbers, np.float64)  # None is NaN
    bad = np.flatnonzero(np.isnan(values) if form.may_be_infinite else ~np.isfinite(values))
    if bad.size:
        first, last = places[bad[0]]
        raise text.error(
            base + first,
            f"the {form.number} must be a number; found {chunk[first:last].decode()!r}",
        )
    return values
