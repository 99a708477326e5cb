"""One process joins two tables whose ids are in any order, within a stated memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import numpy as np

from rageval_report._registry import import_pyarrow
from rageval_report.errors import DataError
from rageval_report.scale import pieces
from rageval_report.scale.aligned_rows import AlignedRows, TableColumns
from rageval_report.scale.engines.base import PairedColumns
from rageval_report.scale.engines.stream import StreamEngine
from rageval_report.scale.id_buckets import (
    ScatteredSide,
    divide_rows,
    fold_aligned_bucket,
    number_of_buckets,
)
from rageval_report.scale.id_matches import ABSENT, IdMatches, match_ids
from rageval_report.scale.machine_memory import parse_size
from rageval_report.scale.mergeable import Partial, S, add_states
from rageval_report.scale.pairs import PairedRows
from rageval_report.scale.pieces import ArrowTable
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import ArrowTexts, ScoreRows
from rageval_report.scale.spilled_tables import SpilledTables
from rageval_report.scores.fingerprints import fingerprints_and_sum
from rageval_report.types import IndexArray, IntArray

# Little beside the 400 MB that Python, its packages and the states of a comparison take; a larger
# one gains hardly anything, as what is written mostly stays in the memory of the system.
MEMORY_LIMIT = "64MB"

# The rows of the second table go into buckets of at least so many rows of the first one, whose
# columns stay in the cache; more rows if there were too many buckets, but never more than that.
_FEWEST_ROWS_OF_BUCKET = 1 << 18
_MOST_ROWS_OF_BUCKET = 1 << 20
_ENOUGH_BUCKETS = 128


class JoinEngine(StreamEngine):
    """Joins by fingerprints of ids within this process; one table needs no join.

    The ids of both tables are read first, which shows the row of the first table that belongs to
    each row of the second. The rows of the second one are then brought into the order of the first
    one, through a file if they are too many, and the first one is read a second time beside them.

    Parameters
    ----------
    memory_limit : str, optional
        The memory that a join may use before it writes to disk, such as "2GB".
    scheduler : None
        There is none: everything happens in this process.
    """

    name = "join"

    def fold_pairs(
        self,
        before: ScanTable,
        after: ScanTable,
        partial: Partial[PairedRows, S],
        columns: PairedColumns,
    ) -> S | None:
        """As in `Engine`; ids may be in any order."""
        most_bytes = parse_size(self.memory_limit or MEMORY_LIMIT, "memory_limit")
        with TemporaryDirectory(prefix="rageval-report-") as name:
            folder = Path(name)
            matches = match_ids(before, after, folder, most_bytes)
            if matches.has_repeats:
                _raise_repeats(before, after)
            join = _Join(before, after, columns, matches)
            with SpilledTables(folder / "rows", 1 + join.n_buckets, most_bytes) as spilled:
                join.divide(spilled)
                state = add_states(map(partial, join.pairs(spilled)))
            join.check_sums()
            return state

    def fold_aligned(
        self,
        tables: Sequence[ScanTable],
        partial: Partial[AlignedRows, S],
        columns: Sequence[TableColumns],
    ) -> S | None:
        """As in `Engine`; the rows of all tables are divided by a hash of their ids."""
        most_bytes = parse_size(self.memory_limit or MEMORY_LIMIT, "memory_limit") // len(tables)
        sides = [
            ScatteredSide.of(table, chosen.metrics, chosen.details)
            for table, chosen in zip(tables, columns, strict=True)
        ]
        n_buckets = number_of_buckets(*tables)
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="rageval-report-")))
            divided = [
                stack.enter_context(SpilledTables(folder / str(place), n_buckets, most_bytes))
                for place in range(len(tables))
            ]
            for table, side, spilled in zip(tables, sides, divided, strict=True):
                for part in table.stored(side.metrics, side.details):
                    spilled.add([*divide_rows(part, n_buckets)])
            buckets = ([[each.pop(bucket)] for each in divided] for bucket in range(n_buckets))
            states = (fold_aligned_bucket(sides, bucket, partial) for bucket in buckets)
            return add_states(state for state in states if state is not None)


def _raise_repeats(before: ScanTable, after: ScanTable) -> NoReturn:
    before.check_ids()
    after.check_ids()
    raise DataError(
        f"two different ids of {before.name!r} and {after.name!r} have the same fingerprint, or "
        "the files changed while they were read. Run the comparison again, or use engine='duckdb'"
    )


class _Join:
    """The second pass over two tables whose ids are matched."""

    def __init__(
        self, before: ScanTable, after: ScanTable, columns: PairedColumns, matches: IdMatches
    ):
        self._before, self._after = before, after
        self._columns, self._matches = columns, matches
        self._alone_sums = [0, 0]
        enough = -(-matches.n_before // _ENOUGH_BUCKETS)
        self._size = min(max(enough, _FEWEST_ROWS_OF_BUCKET), _MOST_ROWS_OF_BUCKET)
        self.n_buckets = -(-matches.n_before // self._size)

    def divide(self, spilled: SpilledTables) -> None:
        """Divide the rows of the second table by the rows of the first one to which they belong.

        The last bucket is of those that belong to none; they keep their ids.
        """
        arrow = import_pyarrow()
        columns = (self._columns.after, self._columns.details_after)
        # A table without columns would have no rows.
        with_ids = self._matches.n_common < self._matches.n_after or not any(columns)
        n_rows = 0
        for table in self._after.stored(*columns, with_ids=with_ids):
            part = self._matches.targets.take(len(table))
            n_rows += len(table)
            if len(part) != len(table):
                break
            lone = table.slice(0, 0)
            if with_ids:
                is_lone = part == ABSENT
                lone = table.filter(arrow.array(is_lone))
                table, part = table.filter(arrow.array(~is_lone)), part[~is_lone]
                table = table.select(list(range(1, table.num_columns)))
            spilled.add([*self._by_bucket(table, part), lone])
        if n_rows != self._matches.n_after:
            _raise_repeats(self._before, self._after)

    def _by_bucket(self, table: ArrowTable, targets: IntArray) -> Iterator[ArrowTable]:
        """One table for each bucket, with the targets as its last column."""
        arrow = import_pyarrow()
        buckets = (targets // self._size).astype(np.uint16)
        order = np.argsort(buckets, kind="stable")
        table = table.append_column("target", arrow.array(targets)).take(arrow.array(order))
        ends = np.cumsum(np.bincount(buckets, minlength=self.n_buckets)).tolist()
        for first, last in zip([0, *ends[:-1]], ends, strict=True):
            yield table.slice(first, last - first)

    def pairs(self, spilled: SpilledTables) -> Iterator[PairedRows]:
        """All rows of both tables side by side."""
        rows_of_second = _RowsInOrder(self._after, self._columns, spilled, self._size)
        start = 0
        for rows in self._before.rows(self._columns.before, self._columns.details):
            # Words in cells count as unscored, as those of the second table.
            rows = replace(rows, states=None)
            while len(rows):
                n = min(len(rows), self._size - start % self._size)
                yield self._pair(rows.slice(0, n), rows_of_second, start)
                rows, start = rows.slice(n, len(rows)), start + n
        if start != self._matches.n_before:
            _raise_repeats(self._before, self._after)
        yield from self._lone_rows(spilled)

    def _pair(self, rows: ScoreRows, second: _RowsInOrder, start: int) -> PairedRows:
        places = second.places(start, len(rows))
        is_common = places != ABSENT
        if is_common.all():
            return PairedRows.complete(rows, second.take(places, rows.ids))
        common, lone = rows.take(is_common), rows.take(~is_common)
        self._alone_sums[0] += fingerprints_and_sum(lone.ids)[1]
        after = second.take(places[is_common], common.ids)
        return PairedRows(common, after, lone, after.slice(0, 0))

    def _lone_rows(self, spilled: SpilledTables) -> Iterator[PairedRows]:
        table = spilled.pop(self.n_buckets)
        if table is None:
            return
        none = ScoreRows.without_rows(self._columns.before)
        for first in range(0, len(table), pieces.ROWS_OF_PART):
            part = table.slice(first, pieces.ROWS_OF_PART)
            rows = self._after.shape.of_stored(
                part, self._columns.after, self._columns.details_after
            )
            self._alone_sums[1] += fingerprints_and_sum(rows.ids)[1]
            yield PairedRows(none, rows.slice(0, 0), none, rows)

    def check_sums(self) -> None:
        """Check that ids with equal fingerprints were equal ids."""
        before, after = (
            (every - alone) % 2**64
            for every, alone in zip(self._matches.other_sums, self._alone_sums, strict=True)
        )
        if before != after:
            _raise_repeats(self._before, self._after)


class _RowsInOrder:
    """The rows of the second table by the rows of the first one, a bucket at a time."""

    def __init__(self, table: ScanTable, columns: PairedColumns, spilled: SpilledTables, size: int):
        self._table, self._columns = table, columns
        self._spilled, self._size = spilled, size
        self._bucket = -1
        self._rows: ArrowTable | None = None
        self._places = np.full(size, ABSENT)

    def places(self, start: int, n: int) -> IndexArray:
        """The places in their bucket of the rows that belong to n rows of the first table.

        Parameters
        ----------
        start, n : int
            Rows of the first table, all in one bucket.
        """
        bucket, first = divmod(start, self._size)
        if bucket != self._bucket:
            self._bucket = bucket
            self._rows = self._spilled.pop(bucket)
            self._places.fill(ABSENT)
            if self._rows is not None:
                targets = self._rows.column("target").to_numpy() - bucket * self._size
                self._places[targets] = np.arange(len(targets))
                self._rows = self._rows.drop_columns("target")
        return self._places[first : first + n]

    def take(self, places: IndexArray, ids: ArrowTexts) -> ScoreRows:
        """The rows at some places of the bucket, with ids that are known."""
        if self._rows is None:
            return ScoreRows.without_rows(self._columns.after)
        rows: Any = self._rows.take(import_pyarrow().array(places))
        return self._table.shape.of_stored(
            rows, self._columns.after, self._columns.details_after, ids
        )
