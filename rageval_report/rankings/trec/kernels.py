"""Loops for numba, which is optional: each gives what NumPy's way beside it gives.

They are plain functions of a module, so that what numba compiles can be kept on disk. Compiling
takes seconds once, loading what was kept half a second; so they are for much work only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rageval_report._registry import load
from rageval_report.errors import MissingDependencyError

_NEWLINE, _HASH, _MINUS, _POINT = (ord(one) for one in "\n#-.")
_ZERO, _NINE, _TEN = np.uint64(ord("0")), np.uint64(9), np.uint64(10)
_MIX, _FOLD = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
_EIGHT, _WORD, _NONE = np.uint64(8), np.uint64(64), np.uint64(0)
_MOST_DIGITS, _MOST_DECIMALS, _LONGEST = 19, 19, 4096


@cache
def compiled_scan() -> Callable[..., Any] | None:
    """`scan`, compiled; None where numba is not installed."""
    return _compiled(scan)


@cache
def compiled_match() -> Callable[..., Any] | None:
    """`match`, compiled; None where numba is not installed."""
    return _compiled(match)


def _compiled(loop: Callable[..., Any]) -> Callable[..., Any] | None:
    try:
        njit = load("numba:njit")
    except MissingDependencyError:
        return None
    try:
        compiled: Callable[..., Any] = njit(cache=True, nogil=True)(loop)
    except RuntimeError:  # there is no folder that can be written to
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
    """Walk over lines once.

    Parameters
    ----------
    data : ndarray of uint8
        A text.
    start, end : int
        The part of it to walk over; the last byte is a newline.
    form : ndarray of shape (5,)
        How many columns there are, the places of query, document and number, and the last of the
        bytes, from 0, that separate words.
    blocks : ndarray of shape (n, 3)
        Filled: first row, start and length of each query that is not that of the row before.
    docs : ndarray of shape (n, 2)
        Filled: start and length of each document.
    hashes : ndarray of shape (n,)
        Filled: the hash of each document.
    numbers : ndarray of shape (n, 3)
        Filled: start and end of each number, and how many decimals it has; 32 more if it is
        negative, and -1 if it is not of the form digits, point, digits or has too many.
    spelt : ndarray of shape (n,)
        Filled: its digits as a whole number.

    Returns
    -------
    (int, int)
        The rows and the blocks; (-1, 0) if a line is not as it should be.
    """
    n_columns, query_place, doc_place, number_place, blank = form
    row, block, position = 0, 0, start
    while position < end:
        if data[position] == _HASH:
            while data[position] != _NEWLINE:
                position += 1
            position += 1
            continue
        column = 0
        while True:
            while data[position] <= blank and data[position] != _NEWLINE:
                position += 1
            first = position
            if data[position] == _NEWLINE:
                position += 1
                break
            if column == doc_place:
                mixed, word, shift = _NONE, _NONE, _NONE
                while data[position] > blank:
                    word |= np.uint64(data[position]) << shift
                    shift += _EIGHT
                    if shift == _WORD:
                        mixed = (mixed ^ word) * _MIX
                        mixed ^= mixed >> _FOLD
                        word, shift = _NONE, _NONE
                    position += 1
                if shift != _NONE:
                    mixed = (mixed ^ word) * _MIX
                    mixed ^= mixed >> _FOLD
                docs[row, 0], docs[row, 1], hashes[row] = first, position - first, mixed
            elif column == number_place:
                negative = data[position] == _MINUS
                position += negative
                whole, point, is_plain = _NONE, -1, True
                while data[position] > blank:
                    digit = np.uint64(data[position]) ^ _ZERO
                    if digit <= _NINE:
                        whole = whole * _TEN + digit
                    elif data[position] == _POINT and point < 0:
                        point = position
                    else:
                        is_plain = False
                    position += 1
                n_read = position - first - negative - (point >= 0)
                decimals = position - point - 1 if point >= 0 else 0
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
        elif column > 0:
            return -1, 0
    return row, block


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
        Where their documents stand, and their hashes; those of a list stand together.
    n_judged, n_retrieved : ndarray of shape (n_lists,)
        How many documents each list has.
    table : ndarray of int64
        Room for a hash table of any list: four times as many places as it has documents.
    judged_row, row : ndarray
        Filled: the rows of pairs; in order of the run.

    Returns
    -------
    int
        How many pairs there are; -1 if a document stands twice in a list.
    """
    n_found, judged_end, end = 0, 0, 0
    for one in range(len(n_retrieved)):
        first_judged, first = judged_end, end
        judged_end, end = first_judged + int(n_judged[one]), first + int(n_retrieved[one])
        size = 16
        while size < 2 * (judged_end - first_judged + end - first):
            size *= 2
        for empty in range(size):
            table[empty] = 0
        mask = size - 1
        for number in range(judged_end - first_judged + end - first):
            # a judged row is kept as a number above 0, a retrieved one as a number below
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
                if is_same:
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
                    if is_judged or other < 0:
                        return -1
                    judged_row[n_found], row[n_found] = other_row, this
                    n_found += 1
                    break
                slot = (slot + 1) & mask
            table[slot] = this + 1 if is_judged else -this - 1
    return n_found
