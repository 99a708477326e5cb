"""Millions of ids, told apart and found again without making a Python text of each.

pandas keeps texts as Arrow arrays: all bytes in one buffer, and where each text ends in another.
Both are read as NumPy arrays here, every id gets a 64-bit fingerprint, and fingerprints are looked
up in place of ids. What matches is compared as text before it is believed, so the answer is that of
`pandas.Index.get_indexer`, only sooner. Ids of any other kind are left to pandas.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pandas as pd

from rageval_report._registry import load

ABSENT = -1

# Fewer ids than this are found by pandas before the buffers are laid out; longer ones are no ids.
_FEWEST = 1000
_LONGEST = 256
_MANY = 1 << 22

# So many ids at a time keep every array of a step within a core's own cache.
_BLOCK = 16_384

# So many are laid out at once, so that what is laid out stays small beside the ids themselves.
_PIECE = 1 << 20

_WORD = 8
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # 2**64 over the golden ratio, made odd (Knuth)
_HALF = np.uint64(32)

_Words = npt.NDArray[np.uint64]
_Places = npt.NDArray[np.int64]
_Rows = npt.NDArray[np.intp]


def all_different(ids: pd.Index) -> bool:
    """Whether no id is there twice.

    Examples
    --------
    >>> all_different(pd.Index(["a", "b"])), all_different(pd.Index(["a", "b", "a"]))
    (True, False)
    """
    prints = _fingerprints(ids)
    return (prints is not None and _differ(prints)) or bool(ids.is_unique)


def _differ(prints: _Words) -> bool:
    """Whether no number is there twice; many are sorted in place, as a table of them is large."""
    if len(prints) < _MANY:
        return bool(pd.Index(prints).is_unique)
    prints.sort()
    return not bool((prints[1:] == prints[:-1]).any())


def places(ids: pd.Index, wanted: pd.Index) -> _Rows:
    """Where each wanted id stands among ids that are all different; -1 where it does not.

    Examples
    --------
    >>> places(pd.Index(["a", "b", "c"]), pd.Index(["c", "x", "a"]))
    array([ 2, -1,  0])
    """
    found = _found_by_fingerprint(ids, wanted)
    return ids.get_indexer(wanted) if found is None else found


def _found_by_fingerprint(ids: pd.Index, wanted: pd.Index) -> _Rows | None:
    """The places; None for other kinds of ids, and where different ids share a fingerprint."""
    prints, wanted_prints = _fingerprints(ids), _fingerprints(wanted)
    if prints is None or wanted_prints is None:
        return None
    found = _looked_up(prints, wanted_prints)
    if found is None:
        return None
    is_there = found != ABSENT
    return found if ids.take(found[is_there]).equals(wanted[is_there]) else None


# -- fingerprints are looked up


def _looked_up(prints: _Words, wanted: _Words) -> _Rows | None:
    """Where each wanted fingerprint stands: a hash join, all rows at once.

    Each fingerprint asks for the seat that its first bits name, and the last to ask gets it. A
    wanted one looks at its seat: it sits there, or nobody does, or somebody else. In the last case
    it looks again, by other bits, among those left standing. None where two of these are equal.
    """
    n_bits = (2 * len(prints)).bit_length()
    shift = np.uint64(64 - n_bits)
    seats, rows = prints >> shift, np.arange(len(prints), dtype=np.int32)
    seated = np.full(2**n_bits, ABSENT, dtype=np.int32)
    seated[seats] = rows
    met = seated[wanted >> shift]
    same = (prints[met] == wanted) & (met != ABSENT)
    found = np.where(same, met, ABSENT).astype(np.intp)
    again = np.flatnonzero((met != ABSENT) & ~same)
    standing = np.flatnonzero(seated[seats] != rows)
    if not len(again) or not len(standing):
        return found
    if (prints[seated[seats[standing]]] == prints[standing]).any():
        return None
    deeper = _looked_up(_stirred(prints[standing]), _stirred(wanted[again]))
    if deeper is None:
        return None
    found[again] = np.where(deeper == ABSENT, ABSENT, standing[deeper])
    return found


# -- ids become fingerprints


def _fingerprints(ids: pd.Index) -> _Words | None:
    """A 64-bit number an id, equal for equal ids and almost never for others.

    None for ids that pandas does not keep as Arrow texts, for few, and for long ones.
    """
    if len(ids) < _FEWEST or not _are_arrow_texts(ids.dtype):
        return None
    prints = np.empty(len(ids), dtype=np.uint64)
    n_done = 0
    for bounds, data in _buffers(ids):
        if np.diff(bounds).max() > _LONGEST:
            return None
        words = _words_by_end(data)
        for first in range(0, len(bounds) - 1, _BLOCK):
            block = bounds[first : first + _BLOCK + 1]
            found = _prints_of(block[:-1], block[1:], words)
            prints[n_done : n_done + len(found)] = found
            n_done += len(found)
    return prints


def _are_arrow_texts(dtype: object) -> bool:
    return isinstance(dtype, pd.StringDtype) and dtype.storage.startswith("pyarrow")


def _buffers(ids: pd.Index) -> Iterator[tuple[_Places, npt.NDArray[np.uint8]]]:
    """Piece by piece where each text starts, which is where the one before it ends; the bytes."""
    arrow = load("pyarrow")
    array = arrow.array(ids.array)  # copies nothing
    chunks = array.chunks if isinstance(array, arrow.ChunkedArray) else [array]
    for chunk in chunks:
        for first in range(0, len(chunk), _PIECE):
            piece = chunk.slice(first, _PIECE).cast(arrow.large_string())
            _, offsets, data = piece.buffers()
            every = np.frombuffer(offsets, dtype=np.int64)
            bounds = every[piece.offset : piece.offset + len(piece) + 1]
            text = np.frombuffer(data, dtype=np.uint8)[bounds[0] : bounds[-1]]
            yield bounds - bounds[0], text


def _words_by_end(data: npt.NDArray[np.uint8]) -> _Words:
    """At position p the eight bytes that end there; before the first byte stand zeros."""
    padded = np.concatenate([np.zeros(_WORD, dtype=np.uint8), data])
    return np.ndarray((len(data) + 1,), dtype="<u8", buffer=padded, strides=(1,))


def _prints_of(starts: _Places, ends: _Places, words: _Words) -> _Words:
    """One block: the length is stirred, then the last eight bytes, then all others, by eights."""
    lengths = ends - starts
    longest, shortest = int(lengths.max()), int(lengths.min())
    last = words[ends]
    if shortest < _WORD:
        last = _without_foreign_bytes(last, lengths)
    prints = _stirred(_stirred(lengths.view(np.uint64)) ^ last)
    for at in range(_WORD, longest, _WORD):
        longer = slice(None) if shortest > at else np.flatnonzero(lengths > at)
        prints[longer] = _stirred(prints[longer] ^ words[starts[longer] + at])
    return prints


def _without_foreign_bytes(last: _Words, lengths: _Places) -> _Words:
    """The last words of texts, of which short ones share theirs with the texts before them."""
    n_foreign = np.maximum(_WORD - lengths, 0).view(np.uint64)
    own = last >> np.minimum(8 * n_foreign, 63)
    return np.where(lengths == 0, 0, own)  # a shift by all 64 bits has no result


def _stirred(words: _Words) -> _Words:
    """Each word as another one, no two as the same."""
    words = words * _MULTIPLIER
    words ^= words >> _HALF
    return words
