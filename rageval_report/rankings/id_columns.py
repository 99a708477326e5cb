"""Columns of ids, hashed and compared in the bytes in which they are stored, or as objects.

A hash finds ids that may be equal; whether they are is always decided by comparing them in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rageval_report.rankings.order import Objects
from rageval_report.types import BoolArray, IntArray

# Fixed-width bytes of NumPy, or an extension array of pandas' texts: no type covers both.
Ids = Any
Hashes = NDArray[np.uint64]

_WORD = 8
# 2**64 over the golden ratio, an odd number that spreads bits well (Knuth's multiplicative
# hashing), then a shift that brings high bits down. `trec.kernels.scan` computes the same hash.
_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)

# Ids hashed at a time: each step finds the result of the last one in the processor's cache.
_BLOCK = 1 << 14

# By the number of bytes that remain of an id: which of eight bytes belong to it.
_KEPT = np.array([(1 << 8 * n) - 1 for n in range(_WORD + 1)], np.uint64)

# The types of Arrow's texts, and the integers that hold their offsets.
_OFFSETS = {"string": np.int32, "large_string": np.int64}


class IdColumn(Protocol):
    """A column of ids, one per row."""

    def __len__(self) -> int:
        """The number of ids."""

    def hashes(self) -> Hashes:
        """A number for each id, the same for equal ids of both columns of a pair."""

    def are_equal(self, rows: IntArray, other: Self, other_rows: IntArray) -> BoolArray:
        """Whether ids are those of the other column, pair by pair."""

    def are_later(self, rows: IntArray, other_rows: IntArray) -> BoolArray:
        """Whether ids sort after others of this column, pair by pair."""

    def objects(self, rows: IntArray) -> Objects:
        """The ids of some rows as objects that sort as their texts do."""


@dataclass(frozen=True, eq=False)
class ByteIds:
    """Ids that are stored in one buffer, in UTF-8.

    Parameters
    ----------
    data : ndarray of uint8
        The buffer, with eight bytes of padding.
    starts, lengths : ndarray of shape (n,)
        Where the bytes of each id are.
    """

    data: NDArray[np.uint8]
    starts: IntArray
    lengths: IntArray

    def __len__(self) -> int:
        """The number of ids."""
        return len(self.starts)

    def hashes(self) -> Hashes:
        """A number for each id, the same for equal ids."""
        mixed = np.empty(len(self), np.uint64)
        for first in range(0, len(self), _BLOCK):
            block = slice(first, first + _BLOCK)
            eights = self._eights(self.starts[block], self.lengths[block])
            mixed[block] = hash_eights(eights, self.lengths[block])
        return mixed

    def are_equal(self, rows: IntArray, other: ByteIds, other_rows: IntArray) -> BoolArray:
        """Whether ids are those of the other column, pair by pair."""
        lengths = self.lengths[rows]
        # The eights of a shorter id end in zeros; without the lengths it could equal a longer id.
        equal: BoolArray = lengths == other.lengths[other_rows]
        places = np.flatnonzero(equal)
        mine = self._eights(self.starts[rows[places]], lengths[places])
        theirs = other._eights(other.starts[other_rows[places]], lengths[places])
        for my_eight, their_eight in zip(mine, theirs, strict=True):
            equal[places] &= my_eight == their_eight
        return equal

    def are_later(self, rows: IntArray, other_rows: IntArray) -> BoolArray:
        """Whether ids sort after others of this column, pair by pair."""
        return are_later(self._eights, self.starts, self.lengths, (rows, other_rows))

    def objects(self, rows: IntArray) -> Objects:
        """Ids as bytes, which sort as their texts do."""
        text = self.data.tobytes()
        starts = self.starts[rows]
        places = zip(starts.tolist(), (starts + self.lengths[rows]).tolist(), strict=True)
        return _array_of([text[start:end] for start, end in places])

    def _eights(self, starts: IntArray, lengths: IntArray, *, after: int = 0) -> Iterator[Hashes]:
        """Ids, eight bytes at a time, the first byte lowest; a shorter id ends in zeros.

        The first `after` bytes, a multiple of eight, are skipped.
        """
        # A view at every byte: ids start anywhere, and a copy to aligned places would double the
        # memory.
        every_eight = np.ndarray(len(self.data) - _WORD + 1, "<u8", self.data, strides=(1,))
        shortest, longest = int(lengths.min(initial=0)), int(lengths.max(initial=0))
        for done in range(after, longest, _WORD):
            # While all ids are long enough, nothing has to be masked away.
            if shortest >= done + _WORD:
                yield every_eight[starts + done]
                continue
            rest = np.clip(lengths - done, 0, _WORD)
            # The minimum keeps the read within an id's own end plus the padding.
            yield every_eight[starts + np.minimum(lengths, done)] & _KEPT[rest]


def hash_eights(eights: Iterable[Hashes], lengths: NDArray[np.integer]) -> Hashes:
    """A number for each word, the same for equal words, from eight bytes of all words at a time.

    A word takes part only in the steps for its own bytes, so that its hash does not depend on the
    lengths of the other words. Each step can be undone: words of up to eight bytes share no hash.
    """
    mixed = np.zeros(len(lengths), np.uint64)
    shortest = int(lengths.min()) if len(lengths) else 0
    for n_done, eight in enumerate(eights):
        more = (mixed ^ eight) * _MIX
        more ^= more >> _SHIFT
        done = n_done * _WORD
        # An id that has ended must not be mixed on: its hash would depend on the lengths of the ids
        # beside it, and a judged document would not be found.
        mixed = more if done < max(shortest, 1) else np.where(lengths > done, more, mixed)
    return mixed


class EightsOf(Protocol):
    """A function that gives words by their places, eight bytes at a time."""

    def __call__(
        self, starts: NDArray[Any], lengths: NDArray[Any], *, after: int
    ) -> Iterator[Hashes]:
        """The words without their first `after` bytes, the first byte lowest, zeros at the end."""


def are_later(
    eights_of: EightsOf,
    starts: NDArray[Any],
    lengths: NDArray[Any],
    pairs: tuple[IntArray, IntArray],
) -> BoolArray:
    """Whether words sort after others, pair by pair: by their bytes, then by their lengths.

    Parameters
    ----------
    eights_of : callable
        The words of a text.
    starts, lengths : ndarray
        Where the words lie in it.
    pairs : (ndarray, ndarray)
        Which words, and which others.
    """
    later: BoolArray = np.zeros(len(pairs[0]), dtype=bool)
    undecided = np.flatnonzero(pairs[0] != pairs[1])
    done = 0
    while undecided.size:
        words, others = (each[undecided] for each in pairs)
        none = np.zeros(len(undecided), np.uint64)
        # With the first byte highest, numbers compare as the bytes do.
        eight, other_eight = (
            next(eights_of(starts[each], lengths[each], after=done), none).byteswap()
            for each in (words, others)
        )
        is_over = np.maximum(lengths[words], lengths[others]) <= done
        # A word that ends in zero bytes has the same eights as one without them.
        later[undecided] = (eight > other_eight) | is_over & (lengths[words] > lengths[others])
        undecided = undecided[(eight == other_eight) & ~is_over]
        done += _WORD
    return later


@dataclass(frozen=True, eq=False)
class ObjectIds:
    """Ids that are objects.

    Parameters
    ----------
    ids : ndarray of objects
        The ids, texts or bytes.
    """

    ids: Objects

    def __len__(self) -> int:
        """The number of ids."""
        return len(self.ids)

    def hashes(self) -> Hashes:
        """A number for each id, the same for equal ids."""
        return np.fromiter(map(hash, self.ids.tolist()), np.int64, len(self)).view(np.uint64) * _MIX

    def are_equal(self, rows: IntArray, other: ObjectIds, other_rows: IntArray) -> BoolArray:
        """Whether ids are those of the other column, pair by pair."""
        return np.asarray(self.ids[rows] == other.ids[other_rows], dtype=bool)

    def are_later(self, rows: IntArray, other_rows: IntArray) -> BoolArray:
        """Whether ids sort after others of this column, pair by pair."""
        return np.asarray(self.ids[rows] > self.ids[other_rows], dtype=bool)

    def objects(self, rows: IntArray) -> Objects:
        """Ids as they are."""
        return self.ids[rows]


def id_columns(first: Ids, second: Ids) -> tuple[ByteIds, ByteIds] | tuple[ObjectIds, ObjectIds]:
    """Two columns of ids in one form: as bytes if both are stored so."""
    columns = _as_bytes(first), _as_bytes(second)
    # Hashes are comparable only if both columns are hashed in the same way.
    if columns[0] is not None and columns[1] is not None:
        return columns[0], columns[1]
    return ObjectIds(_array_of(texts(first))), ObjectIds(_array_of(texts(second)))


def texts(ids: Ids) -> list[str]:
    """Ids as texts."""
    if is_bytes(ids):
        return [id_.decode() for id_ in ids.tolist()]
    listed: list[str] = np.asarray(ids, dtype=object).tolist()
    return listed


def is_bytes(ids: Ids) -> bool:
    """Whether ids are fixed-width bytes."""
    return isinstance(ids, np.ndarray) and ids.dtype.kind == "S"


def block_starts(ids: Ids) -> IntArray:
    """The rows whose id differs from the one before, including the first row."""
    is_new = np.ones(len(ids), dtype=bool)
    is_new[1:] = np.asarray(ids[1:] != ids[:-1], dtype=bool)
    return np.flatnonzero(is_new)


def codes_of(first: Ids, second: Ids) -> tuple[IntArray, list[str]]:
    """Codes for two columns of ids, in order of appearance, and the id of each code."""
    columns = [
        pd.Series(texts(ids) if is_bytes(ids) else ids, dtype="str") for ids in (first, second)
    ]
    codes, names = pd.factorize(pd.concat(columns, ignore_index=True))
    return codes.astype(np.int64, copy=False), texts(names)


def _array_of(listed: list[Any]) -> Objects:
    return np.fromiter(listed, np.object_, len(listed))


def _as_bytes(ids: Ids) -> ByteIds | None:
    """The column in its own bytes; None if it is not stored in bytes."""
    if is_bytes(ids):
        width = ids.dtype.itemsize
        # Padded by a word, so that eight bytes can be read at the start of the last id too.
        data = np.frombuffer(ids.tobytes() + bytes(_WORD), np.uint8)
        lengths = np.char.str_len(ids).astype(np.int64, copy=False)
        return ByteIds(data, np.arange(len(ids)) * width, lengths)
    # pandas stores texts as Python objects where pyarrow is not installed.
    if getattr(ids.dtype, "storage", None) != "pyarrow":
        return None
    column = ids.__arrow_array__()
    chunks = [chunk for chunk in getattr(column, "chunks", [column]) if len(chunk)]
    return _from_arrow(chunks) if str(column.type) in _OFFSETS else None


def _from_arrow(chunks: list[Any]) -> ByteIds:
    """The column in Arrow's bytes, copied once to put its parts and the padding together."""
    parts, starts, lengths, n_before = [], [], [], 0
    for chunk in chunks:
        _, offset_bytes, data = chunk.buffers()
        offsets = np.frombuffer(offset_bytes, _OFFSETS[str(chunk.type)])
        # A slice of an Arrow column keeps the whole buffer and only moves its offset.
        ends = offsets[chunk.offset : chunk.offset + len(chunk) + 1].astype(np.int64)
        # Arrow lets a producer leave out a buffer of length 0.
        parts.append(np.frombuffer(data or b"", np.uint8)[ends[0] : ends[-1]])
        starts.append(ends[:-1] + (n_before - ends[0]))
        lengths.append(np.diff(ends))
        n_before += len(parts[-1])
    parts.append(np.zeros(_WORD, np.uint8))
    none = np.zeros(0, np.int64)
    return ByteIds(
        np.concatenate(parts), np.concatenate([none, *starts]), np.concatenate([none, *lengths])
    )
