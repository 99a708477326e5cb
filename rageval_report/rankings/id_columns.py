"""Columns of ids: hashed and compared in the bytes in which they lie, or else as objects.

A hash finds what may be equal; what counts as equal is always compared in full.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rageval_report.rankings.hits import Codes
from rageval_report.rankings.order import Flags, Objects

Ids = Any  # fixed-width bytes of NumPy, or pandas' texts
Words = NDArray[np.uint64]

_WORD = 8
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)

# Hashed at a time, so that every step finds what the last one wrote in the processor's cache.
_BLOCK = 1 << 14

# What is left of eight bytes if an id has only so many more.
_KEPT = np.array([(1 << 8 * n) - 1 for n in range(_WORD + 1)], np.uint64)

# Arrow's texts, and how it counts their bytes.
_OFFSETS = {"string": np.int32, "large_string": np.int64}


@dataclass(frozen=True, eq=False)
class ByteIds:
    """Ids that lie in one buffer, in UTF-8.

    Parameters
    ----------
    data : ndarray of uint8
        The buffer, with eight bytes of padding.
    starts, lengths : ndarray of shape (n,)
        Where the bytes of each id are.
    """

    data: NDArray[np.uint8]
    starts: Codes
    lengths: Codes

    def __len__(self) -> int:
        """The number of ids."""
        return len(self.starts)

    def hashes(self) -> Words:
        """A number for each id, the same for equal ones."""
        mixed = np.empty(len(self), np.uint64)
        for first in range(0, len(self), _BLOCK):
            block = slice(first, first + _BLOCK)
            mixed[block] = _hashed(self._eights(self.starts[block], self.lengths[block]))
        return mixed

    def are_equal(self, rows: Codes, other: Any, other_rows: Codes) -> Flags:
        """Whether ids are those of the other column, which has the same form, pair by pair."""
        lengths = self.lengths[rows]
        equal: Flags = lengths == other.lengths[other_rows]
        places = np.flatnonzero(equal)
        mine = self._eights(self.starts[rows[places]], lengths[places])
        theirs = other._eights(other.starts[other_rows[places]], lengths[places])
        for one, another in zip(mine, theirs, strict=True):
            equal[places] &= one == another
        return equal

    def objects(self, rows: Codes) -> Objects:
        """Ids as bytes, which sort as their texts do."""
        text = self.data.tobytes()
        starts = self.starts[rows]
        places = zip(starts.tolist(), (starts + self.lengths[rows]).tolist(), strict=True)
        return _array_of([text[start:end] for start, end in places])

    def _eights(self, starts: Codes, lengths: Codes) -> Iterator[Words]:
        """Ids, eight bytes at a time, the first byte lowest; what is behind their end is 0."""
        loaded = np.ndarray(len(self.data) - _WORD + 1, "<u8", self.data, strides=(1,))
        shortest, longest = int(lengths.min(initial=0)), int(lengths.max(initial=0))
        for done in range(0, longest, _WORD):
            if shortest >= done + _WORD:
                yield loaded[starts + done]
                continue
            rest = np.clip(lengths - done, 0, _WORD)
            yield loaded[starts + np.minimum(lengths, done)] & _KEPT[rest]


def _hashed(eights: Iterator[Words]) -> Words | np.uint64:
    mixed: Words | np.uint64 = np.uint64(0)
    for eight in eights:
        mixed = (mixed ^ eight) * _MIX
        mixed ^= mixed >> _SHIFT
    return mixed


@dataclass(frozen=True, eq=False)
class ObjectIds:
    """Ids that are objects, texts or bytes.

    Parameters
    ----------
    ids : ndarray of objects
        They themselves.
    """

    ids: Objects

    def __len__(self) -> int:
        """The number of ids."""
        return len(self.ids)

    def hashes(self) -> Words:
        """A number for each id, the same for equal ones."""
        return np.fromiter(map(hash, self.ids.tolist()), np.int64, len(self)).view(np.uint64) * _MIX

    def are_equal(self, rows: Codes, other: Any, other_rows: Codes) -> Flags:
        """Whether ids are those of the other column, which has the same form, pair by pair."""
        return np.asarray(self.ids[rows] == other.ids[other_rows], dtype=bool)

    def objects(self, rows: Codes) -> Objects:
        """Ids as they are."""
        return self.ids[rows]


IdColumn = ByteIds | ObjectIds


def id_columns(first: Ids, second: Ids) -> tuple[ByteIds, ByteIds] | tuple[ObjectIds, ObjectIds]:
    """Two columns of ids in one form."""
    one, other = _bytes_of(first), _bytes_of(second)
    if one is not None and other is not None:
        return one, other
    return ObjectIds(_array_of(texts(first))), ObjectIds(_array_of(texts(second)))


def texts(ids: Ids) -> list[str]:
    """Ids as texts."""
    if is_bytes(ids):
        return [one.decode() for one in ids.tolist()]
    listed: list[str] = np.asarray(ids, dtype=object).tolist()
    return listed


def is_bytes(ids: Ids) -> bool:
    """Whether ids are fixed-width bytes."""
    return isinstance(ids, np.ndarray) and ids.dtype.kind == "S"


def block_starts(ids: Ids) -> Codes:
    """Where an id differs from the one before, the first row counted."""
    is_new = np.ones(len(ids), dtype=bool)
    is_new[1:] = np.asarray(ids[1:] != ids[:-1], dtype=bool)
    return np.flatnonzero(is_new)


def codes_of(first: Ids, second: Ids) -> tuple[Codes, list[str]]:
    """The codes of two columns of ids, in order of appearance, and the id of each code."""
    columns = [
        pd.Series(texts(ids) if is_bytes(ids) else ids, dtype="str") for ids in (first, second)
    ]
    codes, names = pd.factorize(pd.concat(columns, ignore_index=True))
    return codes.astype(np.int64, copy=False), texts(names)


def _array_of(listed: list[Any]) -> Objects:
    return np.fromiter(listed, np.object_, len(listed))


def _bytes_of(ids: Ids) -> ByteIds | None:
    """The column in its bytes, where it lies in bytes."""
    if is_bytes(ids):
        width = ids.dtype.itemsize
        data = np.frombuffer(ids.tobytes() + bytes(_WORD), np.uint8)
        lengths = np.char.str_len(ids).astype(np.int64, copy=False)
        return ByteIds(data, np.arange(len(ids)) * width, lengths)
    if getattr(ids.dtype, "storage", None) != "pyarrow":
        return None
    column = ids.__arrow_array__()
    chunks = [chunk for chunk in getattr(column, "chunks", [column]) if len(chunk)]
    return _of_arrow(chunks) if str(column.type) in _OFFSETS else None


def _of_arrow(chunks: list[Any]) -> ByteIds:
    """The column in Arrow's own bytes, which are copied only to put parts and padding together."""
    parts, starts, lengths, n_before = [], [], [], 0
    for chunk in chunks:
        _, offset_bytes, data = chunk.buffers()
        offsets = np.frombuffer(offset_bytes, _OFFSETS[str(chunk.type)])
        ends = offsets[chunk.offset : chunk.offset + len(chunk) + 1].astype(np.int64)
        parts.append(np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]])
        starts.append(ends[:-1] + (n_before - ends[0]))
        lengths.append(np.diff(ends))
        n_before += len(parts[-1])
    parts.append(np.zeros(_WORD, np.uint8))
    none = np.zeros(0, np.int64)
    return ByteIds(
        np.concatenate(parts), np.concatenate([none, *starts]), np.concatenate([none, *lengths])
    )
