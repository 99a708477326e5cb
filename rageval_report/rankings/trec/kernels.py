"""Loops for numba, which is optional: each gives what the NumPy code beside it gives.

They are plain functions of a module, so that numba can keep on disk what it compiles. Compiling
takes seconds once and loading from disk half a second, so they are used only for large files.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_report._registry import load
from rageval_report.errors import MissingDependencyError
from rageval_report.rankings.trec.bytes import Text
from rageval_report.rankings.trec.numbers import quotients
from rageval_report.types import BoolArray, FloatArray, IntArray, WordArray

_NEWLINE, _HASH, _MINUS, _POINT = (ord(character) for character in "\n#-.")
_ZERO, _NINE, _TEN = np.uint64(ord("0")), np.uint64(9), np.uint64(10)
_MIX, _FOLD = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)  # as in `id_columns.hash_eights`
_EIGHT, _WORD, _NONE = np.uint64(8), np.uint64(64), np.uint64(0)
# 19 digits always fit into 64 bits, 20 do not; a longer word than 4096 is not an id.
_MOST_DIGITS, _MOST_DECIMALS, _LONGEST = 19, 19, 4096

# From 32 MB on NumPy takes about half a second, as long as numba takes to be loaded.
WORTH_LOADING = 1 << 25

ScannedLines = tuple[IntArray, IntArray, WordArray, IntArray, FloatArray, BoolArray]


def scan_for(n_bytes: int) -> Callable[..., Any] | None:
    """`scan`, compiled, if numba is installed and the text is large enough, or it is loaded."""
    is_loaded = compiled_scan.cache_info().currsize > 0
    return compiled_scan() if is_loaded or n_bytes >= WORTH_LOADING else None


@cache
def compiled_scan() -> Callable[..., Any] | None:
    """`scan`, compiled; None if numba is not installed or not to compile."""
    return compile_loop(scan)


@cache
def compiled_match() -> Callable[..., Any] | None:
    """`match`, compiled; None if numba is not installed or not to compile."""
    return compile_loop(match)


def compile_loop(loop: Callable[..., Any]) -> Callable[..., Any] | None:
    """A loop, compiled by numba; None if numba is not installed or not to compile."""
    try:
        numba = load("numba")
    except MissingDependencyError:
        return None
    if numba.config.DISABLE_JIT:  # as loops of Python they are slow, and the sums overflow aloud
        return None
    njit = numba.njit
    try:
        # Kept on disk: numba needs seconds to compile, and every command is a new process.
        compiled: Callable[..., Any] = njit(cache=True, nogil=True)(loop)
    except RuntimeError:  # no folder is writable, so nothing can be kept on disk
        compiled = njit(nogil=True)(loop)
    return compiled


def scan(
    data: NDArray[np.uint8],
    start: int,
    end: int,
    form: NDArray[np.int64],
    blocks: NDArray[np.int64],
    docs: NDArray[np.int64],
    hashes: NDArray[np.uint64],
    numbers: NDArray[np.int64],
    spelt: NDArray[np.uint64],
) -> tuple[int, int]:
    """Read ids, hashes and numbers in one walk over the bytes of some lines.

    One branch per kind of column, in one loop: each byte is read once, and the walk, not the
    arithmetic, is what takes time.

    Parameters
    ----------
    data : ndarray of uint8
        A text.
    start, end : int
        The part of it to walk over; the last byte is a newline.
    form : ndarray of shape (5,)
        The number of columns, the columns of query, document and number, and the largest byte that
        separates words (a space, or for files split at tabs the byte before it).
    blocks : ndarray of shape (n, 3)
        Filled: first row, start and length of each query that differs from that of the row before.
    docs : ndarray of shape (n, 2)
        Filled: start and length of each document.
    hashes : ndarray of shape (n,)
        Filled: the hash of each document.
    numbers : ndarray of shape (n, 3)
        Filled: start and end of each number, and how many decimals it has, plus 32 if it is
        negative; -1 if it is not of the form digits, point, digits, or has too many digits.
    spelt : ndarray of shape (n,)
        Filled: its digits as a whole number.

    Returns
    -------
    (int, int)
        The number of rows and of blocks; (-1, 0) if a line is malformed. The NumPy code then reads
        the lines again and says which.
    """
    n_columns, query_place, doc_place, number_place, blank = form
    row, block, position = 0, 0, start
    while position < end:
        if data[position] == _HASH:  # a comment, only at the start of a line
            while data[position] != _NEWLINE:
                position += 1
            position += 1
            continue
        column = 0
        while True:  # one word per turn; the newline ends the line, so no end need be checked
            while data[position] <= blank and data[position] != _NEWLINE:
                position += 1
            first = position
            if data[position] == _NEWLINE:
                position += 1
                break
            if column == doc_place:
                # The hash of `hash_eights`, eight bytes at a time, while the end is looked for.
                mixed, word, shift = _NONE, _NONE, _NONE
                while data[position] > blank:
                    word |= np.uint64(data[position]) << shift
                    shift += _EIGHT
                    if shift == _WORD:
                        mixed = (mixed ^ word) * _MIX
                        mixed ^= mixed >> _FOLD
                        word, shift = _NONE, _NONE
                    position += 1
                if shift != _NONE:  # the last, incomplete word; zeros stand for what it lacks
                    mixed = (mixed ^ word) * _MIX
                    mixed ^= mixed >> _FOLD
                docs[row, 0], docs[row, 1], hashes[row] = first, position - first, mixed
            elif column == number_place:
                # Digits are collected as one whole number; `quotients` divides it by the power of
                # ten afterwards. What is not plain (1e5, inf, 20 digits) is left to `float`.
                negative = data[position] == _MINUS
                position += negative
                whole, point, is_plain = _NONE, -1, True
                while data[position] > blank:
                    digit = np.uint64(data[position]) ^ _ZERO
                    if digit <= _NINE:
                        whole = whole * _TEN + digit  # overflow is caught by counting digits
                    elif data[position] == _POINT and point < 0:
                        point = position
                    else:
                        is_plain = False
                    position += 1
                n_read = position - first - negative - (point >= 0)
                decimals = position - point - 1 if point >= 0 else 0
                # A leading zero, as in 0.123, takes no room in the whole number.
                n_digits = n_read - (data[first + negative] == _ZERO)
                is_plain = is_plain and n_read > 0 and n_digits <= _MOST_DIGITS
                is_plain = is_plain and decimals <= _MOST_DECIMALS
                numbers[row, 0], numbers[row, 1] = first, position
                numbers[row, 2] = decimals + 32 * negative if is_plain else -1
                spelt[row] = whole
            else:
                while data[position] > blank:
                    position += 1
                if column == query_place:
                    # A query is kept once per block. Lengths mostly settle whether it is new; only
                    # words of one length are compared byte by byte.
                    length = position - first
                    is_new = block == 0 or length != blocks[block - 1, 2]
                    if not is_new:
                        before = blocks[block - 1, 1]
                        for place in range(length):
                            if data[first + place] != data[before + place]:
                                is_new = True
                                break
                    if is_new:
                        blocks[block, 0], blocks[block, 1] = row, first
                        blocks[block, 2] = length
                        block += 1
            if position - first > _LONGEST:
                return -1, 0
            column += 1
        if column == n_columns:
            row += 1
        elif column > 0:  # no word at all is a blank line, which is skipped
            return -1, 0
    return row, block


class Scanner:
    """Calls `scan`, and owns the arrays that it fills, which are used again for the next lines.

    Parameters
    ----------
    scan : callable
        `scan`, compiled or not.
    places : (int, int, int, int)
        The number of columns, and the columns of query, document and number.
    blank : int
        The largest byte that separates words.
    """

    def __init__(self, scan: Callable[..., Any], places: tuple[int, ...], blank: int):
        self._scan, self._n_columns = scan, places[0]
        self._form = np.array([*places, blank], np.int64)
        self._room = _room(0)

    def scan(self, text: Text, start: int, end: int) -> ScannedLines | None:
        """Some lines, numbers worked out; None if a line is malformed.

        Returns
        -------
        blocks, docs, hashes : ndarray
            As `scan` fills them; blocks and docs are overwritten by the next call.
        words : ndarray of shape (n, 2)
            Where the numbers start and end; overwritten likewise.
        values, doubt : ndarray of shape (n,)
            The numbers, and which of them are left to `float`.
        """
        most = (end - start) // (2 * self._n_columns) + 2  # a word and its separator are two bytes
        if len(self._room[0]) < most:
            self._room = _room(most)
        blocks, docs, hashes, numbers, spelt = self._room
        n, n_blocks = self._scan(text.data, start, end, self._form, *self._room)
        if n < 0:
            return None
        decimals = numbers[:n, 2]
        is_odd = decimals < 0
        values, is_unsure = quotients(spelt[:n], np.where(is_odd, 0, decimals & 31))
        np.negative(values, out=values, where=decimals >= 32)
        words = numbers[:n, :2]
        return blocks[:n_blocks], docs[:n], hashes[:n].copy(), words, values, is_odd | is_unsure


def _room(n: int) -> tuple[IntArray, IntArray, WordArray, IntArray, WordArray]:
    blocks, docs, numbers = (np.empty((n, width), np.int64) for width in (3, 2, 3))
    return blocks, docs, np.empty(n, np.uint64), numbers, np.empty(n, np.uint64)


def match(
    judged_data: NDArray[np.uint8],
    judged_start: NDArray[Any],
    judged_length: NDArray[Any],
    judged_hash: NDArray[np.uint64],
    n_judged: NDArray[np.int64],
    data: NDArray[np.uint8],
    starts: NDArray[Any],
    lengths: NDArray[Any],
    hashes: NDArray[np.uint64],
    n_retrieved: NDArray[np.int64],
    table: NDArray[np.int64],
    judged_row: NDArray[np.int64],
    row: NDArray[np.int64],
) -> int:
    """Find the judged documents among the retrieved ones, list by list.

    Parameters
    ----------
    judged_data, data : ndarray of uint8
        The texts of the judgments and of the run.
    judged_start, judged_length, judged_hash, starts, lengths, hashes : ndarray
        Where their documents lie, and their hashes; those of a list stand together.
    n_judged, n_retrieved : ndarray of shape (n_lists,)
        How many documents each list has.
    table : ndarray of int64
        Room for the hash table of any list: four slots per document.
    judged_row, row : ndarray
        Filled: the rows of the pairs, in the order of the run.

    Returns
    -------
    int
        How many pairs there are; -1 if a document appears twice in a list.

    Notes
    -----
    An open-addressing hash table per list, in the shared room `table`: first the judged documents
    are put in, then the retrieved ones, which either meet their judged document or take a slot, so
    that a repeated one meets itself.
    """
    n_pairs, judged_end, end = 0, 0, 0
    for query in range(len(n_retrieved)):
        first_judged, first = judged_end, end
        judged_end, end = first_judged + int(n_judged[query]), first + int(n_retrieved[query])
        size = 16
        while size < 2 * (judged_end - first_judged + end - first):  # at most half full
            size *= 2
        for empty in range(size):
            table[empty] = 0
        # Sizes are powers of two, so that the remainder is one bit operation.
        mask = size - 1
        for number in range(judged_end - first_judged + end - first):
            # 0 is an empty slot, a number above 0 a judged row, one below 0 a retrieved row
            is_judged = number < judged_end - first_judged
            if is_judged:
                this = first_judged + number
                mixed, length = judged_hash[this], np.int64(judged_length[this])
                place = np.int64(judged_start[this])
            else:
                this = first + number - (judged_end - first_judged)
                mixed, length = hashes[this], np.int64(lengths[this])
                place = np.int64(starts[this])
            slot = np.int64(mixed) & mask
            while table[slot] != 0:
                other = table[slot]
                if other > 0:
                    other_row = other - 1
                    is_same = judged_hash[other_row] == mixed
                    is_same = is_same and judged_length[other_row] == length
                    other_place = np.int64(judged_start[other_row])
                else:
                    other_row = -other - 1
                    is_same = hashes[other_row] == mixed and lengths[other_row] == length
                    other_place = np.int64(starts[other_row])
                if is_same:  # equal hashes: the bytes decide
                    for byte in range(length):
                        mine = judged_data[place + byte] if is_judged else data[place + byte]
                        if other > 0:
                            theirs = judged_data[other_place + byte]
                        else:
                            theirs = data[other_place + byte]
                        if mine != theirs:
                            is_same = False
                            break
                if is_same:
                    if is_judged or other < 0:  # both of one side: the document appears twice
                        return -1
                    judged_row[n_pairs], row[n_pairs] = other_row, this
                    n_pairs += 1
                    break
                slot = (slot + 1) & mask
            # A retrieved document that met its judged one takes that slot: a repeat meets it there.
            table[slot] = this + 1 if is_judged else -this - 1
    return n_pairs
