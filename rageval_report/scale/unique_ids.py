"""Finds ids that occur twice in a table of any size and in any order, within a small memory.

Each id becomes a 64-bit fingerprint. More than a million of them are divided by their first bits
into files, each of which fits into memory and is sorted there. Ids of equal fingerprints are then
compared as texts in a second pass, which most tables do not need.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

import numpy as np

from rageval_report.errors import ReaderError
from rageval_report.scale.score_rows import ArrowTexts
from rageval_report.scores.fingerprints import fingerprints_of
from rageval_report.scores.query_ids import RepeatedIdsError
from rageval_report.types import WordArray

REMEDY_OF_SCANS = (
    "A scan cannot average repeated rows; remove them, or load the table with read_scores and "
    'duplicates="mean"'
)
_N_FILES = 64
_WRITTEN_AT_ONCE = 1 << 20  # ids: eight megabytes
_SHIFT = np.uint64(64 - 6)  # the first six bits choose one of 64 files


def repeated_ids(read_ids: Callable[[], Iterator[ArrowTexts]]) -> list[str]:
    """The ids that occur more than once.

    Parameters
    ----------
    read_ids : callable
        Reads the ids of the table part by part; called again if fingerprints are equal.

    Examples
    --------
    >>> import pyarrow
    >>> repeated_ids(lambda: iter([pyarrow.array(["q1", "q2"]), pyarrow.array(["q3", "q1"])]))
    ['q1']
    """
    with Fingerprints() as prints:
        for ids in read_ids():
            prints.add(ids)
        suspects = prints.repeated()
    if not suspects.size:
        return []
    counts: Counter[str] = Counter()
    for ids in read_ids():
        is_suspect = np.isin(fingerprints_of(ids), suspects)
        counts.update(ids[int(row)].as_py() for row in np.flatnonzero(is_suspect))
    return [query_id for query_id, n in counts.items() if n > 1]


def raise_if_repeated(name: str, read_ids: Callable[[], Iterator[ArrowTexts]]) -> None:
    """Check that no id occurs twice.

    Parameters
    ----------
    name : str
        The name of the table.
    read_ids : callable
        As in `repeated_ids`.

    Raises
    ------
    ReaderError
        If ids occur twice: up to five of them.
    """
    repeated = repeated_ids(read_ids)
    if repeated:
        raise ReaderError(RepeatedIdsError(repeated, REMEDY_OF_SCANS).args[0], name)


class Fingerprints:
    """Fingerprints of ids: a million in memory, more in temporary files by their first bits."""

    def __init__(self) -> None:
        self._waiting: list[WordArray] = []
        self._folder: TemporaryDirectory[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, ids: ArrowTexts) -> None:
        """Add the fingerprints of some ids."""
        self._waiting.append(fingerprints_of(ids))
        if sum(map(len, self._waiting)) >= _WRITTEN_AT_ONCE:
            self._write()

    def _write(self) -> None:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="rageval-report-")
        prints = self._take_waiting()
        # Sorted, so that those of one file stand together.
        starts = np.searchsorted(prints >> _SHIFT, np.arange(_N_FILES + 1, dtype=np.uint64))
        for path, first, last in zip(_paths_in(self._folder), starts[:-1], starts[1:], strict=True):
            with path.open("ab") as file:
                prints[first:last].tofile(file)

    def _take_waiting(self) -> WordArray:
        """The fingerprints in memory, sorted."""
        prints = np.concatenate([np.empty(0, dtype=np.uint64), *self._waiting])
        self._waiting.clear()
        prints.sort()
        return prints

    def repeated(self) -> WordArray:
        """The fingerprints that occur more than once."""
        if self._folder is None:
            prints = self._take_waiting()
            self._waiting.append(prints)
            return _repeated_among(prints)
        self._write()
        repeated = [np.empty(0, dtype=np.uint64)]
        for path in _paths_in(self._folder):
            prints = np.fromfile(path, dtype=np.uint64)
            prints.sort()
            repeated.append(_repeated_among(prints))
        return np.unique(np.concatenate(repeated))

    def has_repeats(self) -> bool:
        """Whether two ids have the same fingerprint, as equal ids have."""
        return bool(self.repeated().size)


def _paths_in(folder: TemporaryDirectory[str]) -> list[Path]:
    return [Path(folder.name, str(place)) for place in range(_N_FILES)]


def _repeated_among(prints: WordArray) -> WordArray:
    """The values that occur more than once among sorted ones, each once."""
    return np.unique(prints[1:][prints[1:] == prints[:-1]])
