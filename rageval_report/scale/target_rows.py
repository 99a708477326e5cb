"""Numbers of rows that become known bucket by bucket, and are read in the order of the rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from rageval_report.types import IntArray


class SpilledNumbers:
    """A growing array that is written to a file when it is too large.

    Parameters
    ----------
    path : Path
        The file for what is too much; its folder is made then.
    kind : dtype
        The type of the numbers.
    most_bytes : int
        How many bytes are kept in memory.

    Examples
    --------
    >>> numbers = SpilledNumbers(Path("unused"), np.dtype(np.int32), 1000)
    >>> numbers.append(np.array([5, 7, 9]))
    >>> numbers.read(1, 2).tolist()
    [7, 9]
    """

    def __init__(self, path: Path, kind: np.dtype[Any], most_bytes: int):
        self._path, self._kind, self._most_bytes = path, kind, most_bytes
        self._waiting: list[IntArray] = []
        self._n_waiting = 0
        self._is_written = False

    def append(self, numbers: IntArray) -> None:
        """Add numbers at the end."""
        self._waiting.append(numbers.astype(self._kind, copy=False))
        self._n_waiting += len(numbers)
        if self._n_waiting * self._kind.itemsize > self._most_bytes:
            self._write()

    def _write(self) -> None:
        self._path.parent.mkdir(exist_ok=True)
        with self._path.open("ab") as file:
            for numbers in self._waiting:
                numbers.tofile(file)
        self._waiting.clear()
        self._n_waiting, self._is_written = 0, True

    def read(self, first: int, n: int) -> IntArray:
        """So many numbers from a place on; fewer where the array ends."""
        if self._is_written:
            if self._waiting:
                self._write()
            offset = first * self._kind.itemsize
            return np.fromfile(self._path, dtype=self._kind, count=n, offset=offset)
        if len(self._waiting) != 1:
            self._waiting = [np.concatenate([np.empty(0, self._kind), *self._waiting])]
        return self._waiting[0][first : first + n]


class TargetRows:
    """A number for each row of a table.

    The bucket of each row is added first, in the order of the rows; then the numbers of each
    bucket, in the order of its rows. Reading puts them back into the order of all rows. Everything
    is written and read from the first byte to the last, so that a file of any size costs no memory.

    Parameters
    ----------
    folder : Path
        Where numbers are written that are too many.
    n_buckets : int
        The number of buckets, at most 256.
    kind : dtype
        The type of the numbers.
    most_bytes : int
        How many bytes are kept in memory.

    Examples
    --------
    >>> rows = TargetRows(Path("unused"), 2, np.dtype(np.int32), 1000)
    >>> rows.add_rows(np.array([1, 0, 1], dtype=np.uint8))
    >>> rows.add_bucket(np.array([20]))
    >>> rows.add_bucket(np.array([10, 30]))
    >>> rows.take(2).tolist(), rows.take(2).tolist()
    ([10, 20], [30])
    """

    def __init__(self, folder: Path, n_buckets: int, kind: np.dtype[Any], most_bytes: int):
        share = most_bytes // (1 + kind.itemsize)
        self._buckets = SpilledNumbers(folder / "buckets", np.dtype(np.uint8), share)
        self._numbers = SpilledNumbers(folder / "numbers", kind, most_bytes - share)
        self._n_buckets, self._kind = n_buckets, kind
        self._n_added = 0
        self._n_taken = 0
        self._places: list[int] = []

    def add_rows(self, buckets: IntArray) -> None:
        """Add the buckets of the next rows."""
        self._buckets.append(buckets)

    def add_bucket(self, numbers: IntArray) -> None:
        """Add the numbers of the rows of the next bucket."""
        self._numbers.append(numbers)
        self._places.append(self._n_added)
        self._n_added += len(numbers)

    def take(self, n: int) -> IntArray:
        """The numbers of the next n rows; fewer where the table ends."""
        buckets = self._buckets.read(self._n_taken, n)
        self._n_taken += len(buckets)
        taken = np.empty(len(buckets), dtype=self._kind)
        counts = np.bincount(buckets, minlength=self._n_buckets).tolist()
        parts = map(self._numbers.read, self._places, counts)
        taken[np.argsort(buckets, kind="stable")] = np.concatenate([*parts])
        self._places = [place + n for place, n in zip(self._places, counts, strict=True)]
        return taken
