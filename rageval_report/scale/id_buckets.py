"""Rows divided by a hash of their ids, so that equal ids of tables meet in one bucket."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rageval_report._registry import import_pyarrow
from rageval_report.scale import pieces
from rageval_report.scale.aligned_rows import AlignedRows, align_rows
from rageval_report.scale.mergeable import Partial, S, add_states
from rageval_report.scale.pairs import PairedRows, match_rows
from rageval_report.scale.pieces import ArrowTable
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import ScoreRows
from rageval_report.scale.unique_ids import raise_if_repeated
from rageval_report.scores.fingerprints import fingerprints_of

# Enough that a bucket pays its task, and so few that a worker holds some buckets.
_ROWS_OF_BUCKET = 1 << 19
_MOST_BUCKETS = 256
# So many buckets if the files do not state how many rows they have.
_USUAL_BUCKETS = 32


@dataclass(frozen=True)
class ScatteredSide:
    """What is read of one of two tables.

    Parameters
    ----------
    table : ScanTable
        The table, or some pieces of it.
    metrics, details : tuple of str
        As in `ScanTable.stored`.
    kinds : tuple
        The types of `ScanTable.stored_types`, by all pieces of the table.
    """

    table: ScanTable
    metrics: tuple[str, ...]
    details: tuple[str, ...]
    kinds: tuple[Any, ...]

    @classmethod
    def of(
        cls, table: ScanTable, metrics: tuple[str, ...], details: tuple[str, ...]
    ) -> ScatteredSide:
        """Some columns of a table."""
        return cls(table, metrics, details, tuple(table.stored_types(metrics, details)))

    def bucket(self, tables: Sequence[ArrowTable | None]) -> ScoreRows:
        """The rows of a bucket in all groups of pieces, of which some have none."""
        listed = [table for table in tables if table is not None]
        return self.joined(listed) if listed else ScoreRows.without_rows(self.metrics)

    def joined(self, tables: Sequence[ArrowTable]) -> ScoreRows:
        """The rows of a bucket, whose ids are checked to occur once.

        Raises
        ------
        DataError
            If an id occurs twice.
        """
        whole = import_pyarrow().concat_tables(tables).combine_chunks()
        rows = self.table.shape.of_stored(whole, self.metrics, self.details)
        raise_if_repeated(self.table.name, lambda: iter([rows.ids]))
        return rows


def number_of_buckets(*tables: ScanTable) -> int:
    """As many buckets as two tables need.

    Examples
    --------
    >>> number_of_buckets(ScanTable("bm25", (), None))
    1
    """
    n_rows = max(table.n_rows for table in tables)
    if n_rows == float("inf"):
        return _USUAL_BUCKETS
    return min(_MOST_BUCKETS, max(1, int(-(-n_rows // _ROWS_OF_BUCKET))))


def scatter(side: ScatteredSide, n_buckets: int) -> list[ArrowTable]:
    """The rows of some pieces as one table a bucket.

    Parameters
    ----------
    side : ScatteredSide
        The pieces.
    n_buckets : int
        The number of buckets, at most 65,536.
    """
    arrow = import_pyarrow()
    parts: list[list[ArrowTable]] = [[] for _ in range(n_buckets)]
    empty = None
    for piece in side.table.pieces:
        for table in side.table.shape.stored(piece, side.metrics, side.details, side.kinds):
            empty = table.slice(0, 0)
            for listed, part in zip(parts, divide_rows(table, n_buckets), strict=True):
                listed += [part] if len(part) else []
    # A slice keeps the whole table in memory; joined parts are copies.
    return [arrow.concat_tables(listed).combine_chunks() if listed else empty for listed in parts]


def divide_rows(table: ArrowTable, n_buckets: int) -> Iterator[ArrowTable]:
    """The rows of each bucket in turn; the first column has the ids."""
    buckets = _buckets_of(table.column(0), n_buckets)
    ordered = table.take(import_pyarrow().array(np.argsort(buckets, kind="stable")))
    ends = np.cumsum(np.bincount(buckets, minlength=n_buckets)).tolist()
    for first, last in zip([0, *ends[:-1]], ends, strict=True):
        yield ordered.slice(first, last - first)


def _buckets_of(ids: Any, n_buckets: int) -> np.ndarray:
    """The bucket of each id; the high bits of a fingerprint are as random as the low ones."""
    prints = np.concatenate([fingerprints_of(chunk) for chunk in ids.chunks])
    return ((prints >> np.uint64(32)) % np.uint64(n_buckets)).astype(np.uint16)


def pick_bucket(tables: Sequence[ArrowTable], bucket: int) -> ArrowTable:
    """One bucket of some pieces."""
    return tables[bucket]


def fold_bucket(
    first: ScatteredSide,
    second: ScatteredSide,
    before: Sequence[ArrowTable],
    after: Sequence[ArrowTable],
    partial: Partial[PairedRows, S],
) -> S | None:
    """The state of one bucket of both tables; None if it has no rows.

    Parameters
    ----------
    first, second : ScatteredSide
        What was read.
    before, after : list of pyarrow.Table or None
        The bucket in each group of pieces; None if the group has no rows.
    partial : callable
        Takes `PairedRows` and returns a state.
    """
    rows = match_rows(first.bucket(before), second.bucket(after))
    return add_states(map(partial, _in_parts(rows)))


def fold_aligned_bucket(
    sides: Sequence[ScatteredSide],
    tables: Sequence[Sequence[ArrowTable]],
    partial: Partial[AlignedRows, S],
) -> S | None:
    """The state of one bucket of any number of tables, as `fold_bucket`."""
    rows = [side.bucket(parts) for side, parts in zip(sides, tables, strict=True)]
    return add_states(map(partial, align_rows(rows).parts(pieces.ROWS_OF_PART)))


def _in_parts(pairs: PairedRows) -> Any:
    """The rows in parts as large as those of files, so that a state needs no more memory."""
    most = pieces.ROWS_OF_PART
    sides = (pairs.before, pairs.after, pairs.only_before, pairs.only_after)
    for first in range(0, max(map(len, sides)), most):
        yield PairedRows(
            *(side.slice(min(first, len(side)), min(first + most, len(side))) for side in sides)
        )
