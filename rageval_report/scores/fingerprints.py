"""Looks up millions of ids without making a Python string of each.

pandas keeps strings as Arrow arrays: one buffer holds all bytes, another one the end of each
string. Both are read as NumPy arrays here, each id gets a 64-bit fingerprint, and fingerprints are
looked up instead of ids. Every match is then compared as a string, so the result is exactly that of
`pandas.Index.get_indexer`, but sooner. Ids of any other type are left to pandas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report._registry import import_pyarrow
from rageval_report.types import BoolArray, IndexArray, IntArray, WordArray

# The n + 1 bounds of n texts, and their bytes.
_TextBuffers: TypeAlias = Iterator[tuple[IntArray, npt.NDArray[np.uint8]]]

ABSENT = -1

# pandas is faster below this number of ids, and strings longer than _LONGEST bytes are not ids.
FEWEST = 1000
_LONGEST = 256
# From this number on the fingerprints are sorted: NumPy sorts integers with vector instructions,
# and a hash table of so many would not fit the cache.
_MANY = 1 << 16

# With this number of ids per step every array of the step stays in the cache of one core.
_BLOCK = 16_384

# The number of ids whose buffers are cast at once, which keeps the copies small beside the ids.
_PIECE = 1 << 20

_WORD = 8
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio, made odd (Knuth)
_OTHER_MULTIPLIER = np.uint64(0xC2B2AE3D27D4EB4F)  # the second prime of xxHash
_HALF = np.uint64(32)


def all_different(ids: pd.Index) -> bool:
    """Whether no id occurs twice.

    Examples
    --------
    >>> all_different(pd.Index(["a", "b"])), all_different(pd.Index(["a", "b", "a"]))
    (True, False)
    """
    if _are_ascending(ids):
        return True
    prints = _fingerprints(ids)
    if prints is not None and _are_different(prints):
        return True
    try:
        return bool(ids.is_unique)
    except TypeError:  # lists as ids, which are refused later, are compared as texts
        return bool(ids.map(str).is_unique)


def _are_different(prints: WordArray) -> bool:
    """Whether no number occurs twice; many numbers are sorted in place."""
    if len(prints) < _MANY:
        return bool(pd.Index(prints).is_unique)
    prints.sort()
    return not bool((prints[1:] == prints[:-1]).any())


def _are_ascending(ids: pd.Index) -> bool:
    """Whether each id comes after the one before it, so that none occurs twice.

    Numbered ids such as q-000017 mostly do, and to compare neighbours takes a fraction of the time
    of fingerprints. Other lengths than 8 to 16 bytes, the same for all, count as no.
    """
    if len(ids) < FEWEST or not _are_arrow_texts(ids.dtype):
        return False
    length = len(str(ids[0]).encode())
    if not _WORD <= length <= 2 * _WORD:
        return False
    last: list[WordArray] = []
    for bounds, data in _buffers(ids):
        for first in range(0, len(bounds) - 1, _BLOCK):
            part = bounds[first : first + _BLOCK + 1]
            if (np.diff(part) != length).any():
                return False
            heads, tails = (
                _words_at(data, int(part[0]) + at, length, len(part) - 1)
                for at in (0, length - _WORD)
            )
            if last:
                heads, tails = np.append(last[0], heads), np.append(last[1], tails)
            # Where the first eight bytes are equal, so are those of them that the tails hold.
            is_after = heads[1:] > heads[:-1]
            is_after |= (heads[1:] == heads[:-1]) & (tails[1:] > tails[:-1])
            if not is_after.all():
                return False
            last = [heads[-1:], tails[-1:]]
    return True


def _words_at(data: npt.NDArray[np.uint8], first: int, step: int, n: int) -> WordArray:
    """Eight bytes at every step, as numbers in the order of texts."""
    words = np.ndarray((n,), dtype=">u8", buffer=data, offset=first, strides=(step,))
    return words.astype(np.uint64)


def find_rows(ids: pd.Index, wanted: pd.Index) -> IndexArray:
    """The row of each wanted id among unique ids; -1 if it is absent.

    Examples
    --------
    >>> find_rows(pd.Index(["a", "b", "c"]), pd.Index(["c", "x", "a"]))
    array([ 2, -1,  0])
    """
    rows = _find_by_fingerprint(ids, wanted)
    return ids.get_indexer(wanted) if rows is None else rows


def _find_by_fingerprint(ids: pd.Index, wanted: pd.Index) -> IndexArray | None:
    """The rows; None for other types of ids, and if different ids have the same fingerprint."""
    prints, wanted_prints = _fingerprints(ids), _fingerprints(wanted)
    if prints is None or wanted_prints is None:
        return None
    rows = _join_fingerprints(prints, wanted_prints)
    if rows is None:
        return None
    is_present = rows != ABSENT
    # Equal fingerprints only suggest equal ids; one collision would pair two different queries.
    return rows if ids.take(rows[is_present]).equals(wanted[is_present]) else None


def fingerprints_of_texts(texts: Sequence[str]) -> tuple[WordArray, WordArray]:
    """Two 64-bit numbers per text, each equal for equal texts.

    Examples
    --------
    >>> first, second = fingerprints_of_texts(["q1", "q2", "q1"])
    >>> bool(first[0] == first[2]), bool(first[0] == first[1])
    (True, False)
    """
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    return _joined_prints(iter([(ends, data)]))


def _joined_prints(buffers: _TextBuffers) -> tuple[WordArray, WordArray]:
    nothing = np.empty(0, dtype=np.uint64)
    blocks = [
        (nothing, nothing),
        *_prints_of_buffers(buffers, (_MULTIPLIER, _OTHER_MULTIPLIER)),
    ]
    first, second = (np.concatenate(prints) for prints in zip(*blocks, strict=True))
    return first, second


def _prints_of_buffers(
    buffers: _TextBuffers, multipliers: tuple[np.uint64, ...]
) -> Iterator[tuple[WordArray, ...]]:
    for bounds, data in buffers:
        words = _words_by_end(data)
        for first in range(0, len(bounds) - 1, _BLOCK):
            block = bounds[first : first + _BLOCK + 1]
            yield _hash_texts(block[:-1], block[1:], words, multipliers)


def rows_ending_in(texts: pd.Series, is_end: BoolArray) -> IndexArray | None:
    """The rows whose text ends in one of some bytes; None for texts that are not Arrow strings.

    Parameters
    ----------
    texts : Series
        The cells of a column.
    is_end : ndarray of bool, shape (256,)
        Whether a byte is one of them.

    Examples
    --------
    >>> is_end = np.zeros(256, dtype=bool)
    >>> is_end[ord("n")] = True
    >>> rows = rows_ending_in(pd.Series(["q1", "mean"]), is_end)
    >>> rows is None or rows.tolist() == [1]
    True
    """
    if not _are_arrow_texts(texts.dtype):
        return None
    rows_of_blocks, n_before = [np.empty(0, dtype=np.intp)], 0
    for bounds, data in _buffers(texts):
        for first in range(0, len(bounds) - 1 if len(data) else 0, _BLOCK):
            # An empty text has the last byte of the text before it, which the caller looks at.
            ends = np.maximum(bounds[first + 1 : first + _BLOCK + 1] - 1, 0)
            rows_of_blocks.append(np.flatnonzero(is_end[data[ends]]) + (n_before + first))
        n_before += len(bounds) - 1
    return np.concatenate(rows_of_blocks)


# -- looking up fingerprints


def _join_fingerprints(prints: WordArray, wanted: WordArray) -> IndexArray | None:
    """The row of each wanted fingerprint: a hash join of whole arrays.

    The first bits of a fingerprint choose its slot in a table, and the last one written stays. A
    wanted fingerprint looks at its slot, which holds it, or is empty, or holds another one. In the
    third case it is looked up again, by other bits, among those that lost their slot. None if two
    of these are equal.
    """
    n_bits = (2 * len(prints)).bit_length()  # at most half of the slots are in use
    shift = np.uint64(64 - n_bits)
    slots, all_rows = prints >> shift, np.arange(len(prints), dtype=np.int32)
    row_in_slot = np.full(2**n_bits, ABSENT, dtype=np.int32)
    row_in_slot[slots] = all_rows
    candidates = row_in_slot[wanted >> shift]
    is_match = (prints[candidates] == wanted) & (candidates != ABSENT)
    rows = np.where(is_match, candidates, ABSENT).astype(np.intp)
    unresolved = np.flatnonzero((candidates != ABSENT) & ~is_match)
    displaced = np.flatnonzero(row_in_slot[slots] != all_rows)
    if not len(unresolved) or not len(displaced):
        return rows
    # Two ids with one fingerprint would be displaced for ever.
    if (prints[row_in_slot[slots[displaced]]] == prints[displaced]).any():
        return None
    # Mixed anew, so that those that met in one slot fall into different ones.
    deeper = _join_fingerprints(_mix(prints[displaced]), _mix(wanted[unresolved]))
    if deeper is None:
        return None
    rows[unresolved] = np.where(deeper == ABSENT, ABSENT, displaced[deeper])
    return rows


# -- making fingerprints


def _fingerprints(ids: pd.Index) -> WordArray | None:
    """One 64-bit number per id, equal for equal ids and almost never equal for others.

    None for few ids, for long ones, and for ids that pandas does not keep as Arrow strings.
    """
    if len(ids) < FEWEST or not _are_arrow_texts(ids.dtype):
        return None
    prints = np.empty(len(ids), dtype=np.uint64)
    n_done = 0
    for bounds, data in _buffers(ids):
        words = _words_by_end(data)
        for first in range(0, len(bounds) - 1, _BLOCK):
            block = bounds[first : first + _BLOCK + 1]
            block_prints = _hash_block(block[:-1], block[1:], words)
            if block_prints is None:
                return None
            prints[n_done : n_done + len(block_prints)] = block_prints
            n_done += len(block_prints)
    return prints


def _are_arrow_texts(dtype: object) -> bool:
    return isinstance(dtype, pd.StringDtype) and dtype.storage.startswith("pyarrow")


def _buffers(ids: pd.Index | pd.Series) -> _TextBuffers:
    """For each piece of the ids the n + 1 bounds of its n strings, and its bytes."""
    return _buffers_of_array(import_pyarrow().array(ids.array))  # does not copy


def _buffers_of_array(array: Any) -> _TextBuffers:
    arrow = import_pyarrow()
    chunks = array.chunks if isinstance(array, arrow.ChunkedArray) else [array]
    for chunk in chunks:
        for first in range(0, len(chunk), _PIECE):
            # One width of offsets for every column: some have 32 bits, some 64.
            piece = chunk.slice(first, _PIECE).cast(arrow.large_string())
            _, offsets, data = piece.buffers()
            all_bounds = np.frombuffer(offsets, dtype=np.int64)
            bounds = all_bounds[piece.offset : piece.offset + len(piece) + 1]
            # Empty texts alone may have no bytes at all.
            text = np.frombuffer(data or b"", dtype=np.uint8)[bounds[0] : bounds[-1]]
            yield bounds - bounds[0], text


def _words_by_end(data: npt.NDArray[np.uint8]) -> WordArray:
    """At position p the eight bytes that end there; zeros precede the first byte."""
    padded = np.concatenate([np.zeros(_WORD, dtype=np.uint8), data])
    return np.ndarray((len(data) + 1,), dtype="<u8", buffer=padded, strides=(1,))


def _hash_block(starts: IntArray, ends: IntArray, words: WordArray) -> WordArray | None:
    """The fingerprints of one block: of the length, the last eight bytes, then eight at a time.

    None if a string is too long to be an id.
    """
    if int((ends - starts).max()) > _LONGEST:
        return None
    return _hash_texts(starts, ends, words, (_MULTIPLIER,))[0]


def _hash_texts(
    starts: IntArray, ends: IntArray, words: WordArray, multipliers: tuple[np.uint64, ...]
) -> tuple[WordArray, ...]:
    """The fingerprints of one block of texts of any length, by each multiplier."""
    lengths = ends - starts
    longest, shortest = int(lengths.max()), int(lengths.min())
    last = words[ends]
    if shortest < _WORD:
        last = _clear_foreign_bytes(last, lengths)
    sizes = lengths.view(np.uint64)
    prints = tuple(_mix(_mix(sizes, factor) ^ last, factor) for factor in multipliers)
    for at in range(_WORD, longest, _WORD):
        longer = slice(None) if shortest > at else np.flatnonzero(lengths > at)
        parts = words[starts[longer] + at]
        for own, factor in zip(prints, multipliers, strict=True):
            own[longer] = _mix(own[longer] ^ parts, factor)
    return prints


def _clear_foreign_bytes(last: WordArray, lengths: IntArray) -> WordArray:
    """The last eight bytes of each string, without those of the string before a short one."""
    n_foreign = np.maximum(_WORD - lengths, 0).view(np.uint64)
    own = last >> np.minimum(8 * n_foreign, 63)
    return np.where(lengths == 0, 0, own)  # a shift by all 64 bits is undefined


def _mix(words: WordArray, multiplier: np.uint64 = _MULTIPLIER) -> WordArray:
    """Another word for each word: a one-to-one mapping that spreads the bits."""
    words = words * multiplier
    words ^= words >> _HALF
    return words
