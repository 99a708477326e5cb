"""Finds the row of each id of one table in another one, for ids in any order.

Each id becomes a 64-bit fingerprint, which is kept with the number of its row. The fingerprints
are divided by their first bits into buckets, those of both tables in one bucket are sorted
together, and equal ones then stand side by side. Sums of other fingerprints show at the end whether
ids with equal fingerprints were equal ids.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import ArrowTexts
from rageval_report.scale.target_rows import TargetRows
from rageval_report.scores.fingerprints import fingerprints_and_sum
from rageval_report.types import IndexArray, IntArray, WordArray

ABSENT = -1

# The fingerprints of so many rows are sorted at once: eight megabytes, which stay in the cache.
_ROWS_OF_BUCKET = 1 << 20
_MOST_BUCKETS = 256
# So many buckets if the files do not state how many rows they have.
_USUAL_BUCKETS = 64


@dataclass(frozen=True, eq=False)
class IdMatches:
    """Which rows of two tables have the same id.

    Parameters
    ----------
    targets : TargetRows
        For each row of the second table the row of the first one with its id; -1 if there is none.
    n_before, n_after : int
        The number of rows of the tables.
    n_common : int
        The number of the ids that both have.
    other_sums : (int, int)
        For either table the sum of other fingerprints of its ids.
    has_repeats : bool
        Whether a fingerprint occurs twice in a table: an id does, or two ids have the same one.
    """

    targets: TargetRows
    n_before: int
    n_after: int
    n_common: int
    other_sums: tuple[int, int]
    has_repeats: bool


def match_ids(before: ScanTable, after: ScanTable, folder: Path, most_bytes: int) -> IdMatches:
    """Match the ids of two tables, each of which is read once.

    Parameters
    ----------
    before, after : ScanTable
        The tables.
    folder : Path
        Where fingerprints are written that are too many.
    most_bytes : int
        How many bytes of fingerprints are kept in memory.
    """
    n_bits = _bits_of_buckets(max(before.n_rows, after.n_rows))
    n_buckets = 1 << n_bits
    first = FingerprintBuckets(folder / "before", n_bits, most_bytes // 2, before.n_rows)
    second = FingerprintBuckets(
        folder / "after", n_bits, most_bytes // 2, after.n_rows, with_rows=False
    )
    for rows in before.rows(()):
        first.add(rows.ids)
    targets = TargetRows(folder / "targets", n_buckets, first.row_type, most_bytes // 2)
    for rows in after.rows(()):
        targets.add_rows(second.add(rows.ids))
    n_common, has_repeats = 0, False
    for bucket in range(n_buckets):
        (ours, rows_of_ours), theirs = first.pop(bucket), second.pop(bucket)[0]
        lower, upper = _equal_neighbours(np.concatenate([ours, theirs]), n_bits)
        is_pair = (lower < len(ours)) & (upper >= len(ours))
        has_repeats |= not is_pair.all() or bool(np.any(lower[1:] == upper[:-1]))
        lower, upper = lower[is_pair], upper[is_pair] - len(ours)
        rows_of_theirs = np.full(len(theirs), ABSENT, dtype=first.row_type)
        rows_of_theirs[upper] = rows_of_ours[lower]
        targets.add_bucket(rows_of_theirs)
        n_common += len(lower)
    sums = first.other_sum, second.other_sum
    return IdMatches(targets, first.n_rows, second.n_rows, n_common, sums, has_repeats)


def _bits_of_buckets(n_rows: float) -> int:
    n_buckets = _USUAL_BUCKETS if math.isinf(n_rows) else 2 * n_rows / _ROWS_OF_BUCKET
    return max(0, math.ceil(math.log2(min(max(n_buckets, 1), _MOST_BUCKETS))))


def _equal_neighbours(prints: WordArray, n_known: int) -> tuple[IndexArray, IndexArray]:
    """The places of equal numbers: each with that of the next equal one.

    Parameters
    ----------
    prints : ndarray of uint64
        The numbers.
    n_known : int
        So many first bits are the same in all of them.

    Examples
    --------
    >>> _equal_neighbours(np.array([7, 5, 9, 7], dtype=np.uint64), 0)
    (array([0]), array([3]))
    """
    # The last bits make room for the places: sorting words is three times faster than sorting the
    # places by the words.
    n_bits = np.uint64(len(prints).bit_length())
    mask = (np.uint64(1) << n_bits) - np.uint64(1)
    words = prints << np.uint64(n_known)
    words &= ~mask
    words |= np.arange(len(prints), dtype=np.uint64)
    words.sort()
    heads = words >> n_bits
    at = np.flatnonzero(heads[1:] == heads[:-1])
    lower, upper = ((words[place] & mask).astype(np.intp) for place in (at, at + 1))
    if np.any(at[1:] == at[:-1] + 1) or np.any(prints[lower] != prints[upper]):
        # Different numbers share their first bits, or one occurs three times.
        order = np.argsort(prints, kind="stable")
        ordered = prints[order]
        at = np.flatnonzero(ordered[1:] == ordered[:-1])
        lower, upper = order[at], order[at + 1]
    return lower, upper


class FingerprintBuckets:
    """Fingerprints of the ids of a table with their rows, divided by their first bits.

    Parameters
    ----------
    folder : Path
        Where they are written if they are too many; it is made then.
    n_bits : int
        The number of bits that choose the bucket.
    most_bytes : int
        How many bytes are kept in memory.
    n_rows : float
        The number of the rows that will be added; infinite if it is not known.
    with_rows : bool, default True
        Whether the rows are kept; within a bucket they are in order in any case.
    """

    def __init__(
        self,
        folder: Path,
        n_bits: int,
        most_bytes: int,
        n_rows: float,
        *,
        with_rows: bool = True,
    ):
        self._folder, self._n_bits, self._most_bytes = folder, n_bits, most_bytes
        self._with_rows = with_rows
        is_small = n_rows <= np.iinfo(np.int32).max
        self.row_type = np.dtype(np.int32 if is_small else np.int64)
        self._prints: list[list[WordArray]] = [[] for _ in range(1 << n_bits)]
        self._rows: list[list[IntArray]] = [[] for _ in range(1 << n_bits)]
        self._n_bytes = 0
        self.n_rows = 0
        self.other_sum = 0

    def add(self, ids: ArrowTexts) -> IntArray:
        """Add the ids of the next rows, and return their buckets."""
        prints, other_sum = fingerprints_and_sum(ids)
        self.other_sum += other_sum
        # In two steps, because a shift by all 64 bits is not defined.
        first_bits = prints >> np.uint64(63 - self._n_bits) >> np.uint64(1)
        buckets: IntArray = first_bits.astype(np.uint8)
        order = np.argsort(buckets, kind="stable")
        ends = np.cumsum(np.bincount(buckets, minlength=1 << self._n_bits)).tolist()
        kinds: list[tuple[list[list[Any]], Any]] = [(self._prints, prints[order])]
        if self._with_rows:
            kinds.append((self._rows, (order + self.n_rows).astype(self.row_type)))
        for lists, values in kinds:
            for kept, start, end in zip(lists, [0, *ends[:-1]], ends, strict=True):
                kept.append(values[start:end])
            self._n_bytes += values.nbytes
        self.n_rows += len(prints)
        if self._n_bytes > self._most_bytes:
            self._write()
        return buckets

    def _write(self) -> None:
        self._folder.mkdir(exist_ok=True)
        kinds: dict[str, list[list[Any]]] = {"prints": self._prints, "rows": self._rows}
        for name, buckets in kinds.items():
            for bucket, parts in enumerate(buckets):
                with self._path(name, bucket).open("ab") as file:
                    for part in parts:
                        part.tofile(file)
                parts.clear()
        self._n_bytes = 0

    def pop(self, bucket: int) -> tuple[WordArray, IntArray]:
        """The fingerprints and the rows of a bucket, which are then forgotten."""
        prints = self._written("prints", bucket, np.dtype(np.uint64))
        rows = self._written("rows", bucket, self.row_type)
        popped = (
            np.concatenate([prints, *self._prints[bucket]]),
            np.concatenate([rows, *self._rows[bucket]]),
        )
        self._prints[bucket].clear()
        self._rows[bucket].clear()
        return popped

    def _written(self, name: str, bucket: int, kind: np.dtype[Any]) -> np.ndarray:
        path = self._path(name, bucket)
        if not path.exists():
            return np.empty(0, dtype=kind)
        written = np.fromfile(path, dtype=kind)
        path.unlink()
        return written

    def _path(self, name: str, bucket: int) -> Path:
        return self._folder / f"{name}_{bucket}"
