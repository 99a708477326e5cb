"""The workers of a Dask cluster run the parts of a computation, and add the states as a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias
from weakref import WeakSet

from distributed import CancelledError, KilledWorker
from distributed.comm.core import CommClosedError

from rageval_report._version import __version__
from rageval_report.errors import DataError, RagevalError, ReaderError
from rageval_report.scale.aligned_rows import AlignedRows, QueryCounts, TableColumns
from rageval_report.scale.engines.base import PairedColumns
from rageval_report.scale.engines.dask_clients import client_of
from rageval_report.scale.id_buckets import (
    ScatteredSide,
    fold_aligned_bucket,
    fold_bucket,
    number_of_buckets,
    pick_bucket,
    scatter,
)
from rageval_report.scale.id_ranges import (
    IdRange,
    RowCounts,
    cut_into_ranges,
    fold_aligned_range,
    fold_range,
)
from rageval_report.scale.mergeable import Partial, S, States, add_states
from rageval_report.scale.pairs import PairedRows, UnorderedIdsError
from rageval_report.scale.scan_table import ScanTable
from rageval_report.scale.score_rows import ScoreRows

# A task adds so many states: few rounds, and few states on a worker at once.
_ADDED_AT_ONCE = 4
# The priority of adding states; that of reading parts is 0.
_SOON = 1
# The rows are divided by ids in at most so many tasks a table.
_MOST_SCATTERED = 64

# A result on a worker; distributed types its clients in part only.
Future: TypeAlias = Any


class DaskEngine:
    """Workers of a Dask cluster read the files; states are added on the way back.

    Parameters
    ----------
    memory_limit : str, optional
        The memory of each local worker, such as "2GB", beyond which it writes to disk.
    scheduler : str, optional
        The address of a running scheduler, such as "tcp://10.0.0.1:8786". If omitted, a scheduler
        and one worker per core are started on this machine, and end with Python.
    """

    name = "dask"

    def __init__(self, *, memory_limit: str | None = None, scheduler: str | None = None):
        if scheduler is not None and memory_limit is not None:
            raise DataError(
                "memory_limit is a setting of workers that are started here; those of "
                f"{scheduler!r} have theirs. Leave out memory_limit or scheduler"
            )
        self.memory_limit, self.scheduler = memory_limit, scheduler

    def fold(
        self,
        table: ScanTable,
        partial: Partial[ScoreRows, S],
        metrics: Sequence[str],
        details: Sequence[str] = (),
        *,
        with_ids: bool = True,
    ) -> S | None:
        """As in `Engine`."""
        whole = _absolute(table)
        columns = (tuple(metrics), tuple(details), with_ids)
        with self._tasks() as tasks:
            state: S | None = tasks.sum_of(
                tasks.submit(_fold_piece, (replace(whole, pieces=(piece,)), partial, *columns))
                for piece in whole.pieces
            )
        return state

    def fold_pairs(
        self,
        before: ScanTable,
        after: ScanTable,
        partial: Partial[PairedRows, S],
        columns: PairedColumns,
    ) -> S | None:
        """As in `Engine`; tables in order are cut into ranges of ids, others divided by a hash."""
        before, after = _absolute(before), _absolute(after)
        ranges = cut_into_ranges(before, after)
        if ranges is not None:
            try:
                return self._fold_ranges(ranges, (before, after), partial, columns)
            except UnorderedIdsError:
                pass
        return self._fold_buckets(before, after, partial, columns)

    def _fold_ranges(
        self,
        ranges: Sequence[IdRange],
        tables: tuple[ScanTable, ScanTable],
        partial: Partial[PairedRows, S],
        columns: PairedColumns,
    ) -> S | None:
        metrics = (columns.before, columns.after)
        details = (columns.details, columns.details_after)
        with self._tasks() as tasks:
            total: States | None = tasks.sum_of(
                tasks.submit(fold_range, (each, partial, metrics, details)) for each in ranges
            )
        if total is None:
            return None
        counts: RowCounts = total.parts[0]
        state: S = total.parts[1]
        _check_row_counts((counts.n_before, counts.n_after), tables)
        return state

    def _fold_buckets(
        self,
        before: ScanTable,
        after: ScanTable,
        partial: Partial[PairedRows, S],
        columns: PairedColumns,
    ) -> S | None:
        sides = (
            ScatteredSide.of(before, columns.before, columns.details),
            ScatteredSide.of(after, columns.after, columns.details_after),
        )
        n_buckets = number_of_buckets(before, after)
        alone = [_without_pieces(side) for side in sides]
        with self._tasks() as tasks:
            scattered = tasks.scatter(sides, n_buckets)
            state: S | None = tasks.sum_of(
                tasks.submit(fold_bucket, (*alone, *tasks.pick(scattered, bucket), partial))
                for bucket in range(n_buckets)
            )
        return state

    def fold_aligned(
        self,
        tables: Sequence[ScanTable],
        partial: Partial[AlignedRows, S],
        columns: Sequence[TableColumns],
    ) -> S | None:
        """As in `Engine`, by ranges of ids or by their hash, as `fold_pairs`."""
        tables = [_absolute(table) for table in tables]
        ranges = cut_into_ranges(*tables)
        if ranges is not None:
            try:
                return self._fold_aligned_ranges(ranges, tables, partial, columns)
            except UnorderedIdsError:
                pass
        sides = [
            ScatteredSide.of(table, chosen.metrics, chosen.details)
            for table, chosen in zip(tables, columns, strict=True)
        ]
        n_buckets = number_of_buckets(*tables)
        alone = [_without_pieces(side) for side in sides]
        with self._tasks() as tasks:
            scattered = tasks.scatter(sides, n_buckets)
            state: S | None = tasks.sum_of(
                tasks.submit(fold_aligned_bucket, (alone, tasks.pick(scattered, bucket), partial))
                for bucket in range(n_buckets)
            )
        return state

    def _fold_aligned_ranges(
        self,
        ranges: Sequence[IdRange],
        tables: Sequence[ScanTable],
        partial: Partial[AlignedRows, S],
        columns: Sequence[TableColumns],
    ) -> S | None:
        with self._tasks() as tasks:
            total: States | None = tasks.sum_of(
                tasks.submit(fold_aligned_range, (each, partial, tuple(columns))) for each in ranges
            )
        if total is None:
            return None
        counts: QueryCounts = total.parts[0]
        state: S = total.parts[1]
        _check_row_counts(counts.rows, tables)
        return state

    @contextmanager
    def _tasks(self) -> Iterator[_Tasks]:
        """Tasks on the cluster, which end with the block; errors of workers are ours."""
        with _clear_errors(self.scheduler):
            tasks = _Tasks(client_of(self.scheduler, self.memory_limit))
            try:
                yield tasks
            finally:
                tasks.end()


class _Tasks:
    """Functions that run on workers; a task whose worker dies runs again on another one."""

    def __init__(self, client: Any):
        self._client = client
        # Not kept: a worker forgets what no task needs any more, and nobody here waits for.
        self._futures: WeakSet[Future] = WeakSet()

    def submit(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], *, priority: int = 0
    ) -> Future:
        """The future result of a function; of those that can run, the highest priority runs."""
        future = self._client.submit(function, *arguments, pure=False, priority=priority)
        self._futures.add(future)
        return future

    def sum_of(self, states: Iterator[Future]) -> Any:
        """The sum of states in their order: neighbours are added on the workers, round by round.

        They are added as soon as they are there, before further parts are read: else the workers
        would hold the states of all parts at once. So each sum is asked for before the next parts
        are: a client that is slow to ask would find all parts read.
        """
        while len(first := list(islice(states, 2))) == 2:
            states = self._sums_of_neighbours(chain(first, states))
        return first[0].result() if first else None

    def _sums_of_neighbours(self, states: Iterator[Future]) -> Iterator[Future]:
        while group := list(islice(states, _ADDED_AT_ONCE)):
            yield self.submit(_add_neighbours, (group,), priority=_SOON)

    def scatter(self, sides: Sequence[ScatteredSide], n_buckets: int) -> list[list[Future]]:
        """The rows of each table, divided by a hash of their ids."""
        return [
            [self.submit(scatter, (part, n_buckets)) for part in _groups_of(side)] for side in sides
        ]

    def pick(self, scattered: Sequence[Sequence[Future]], bucket: int) -> list[list[Future]]:
        """One bucket of each table."""
        return [[self.submit(pick_bucket, (part, bucket)) for part in parts] for parts in scattered]

    def end(self) -> None:
        """Give up what has not run, and let the workers forget the rest."""
        if self._client.status == "running":
            self._client.cancel(list(self._futures), force=True)
        self._futures.clear()


def _fold_piece(
    table: ScanTable,
    partial: Partial[ScoreRows, S],
    metrics: tuple[str, ...],
    details: tuple[str, ...],
    with_ids: bool,
) -> S | None:
    return add_states(map(partial, table.rows(metrics, details, with_ids=with_ids)))


def _add_neighbours(states: Sequence[S | None]) -> S | None:
    return add_states(state for state in states if state is not None)


def _absolute(table: ScanTable) -> ScanTable:
    """The same files by their absolute paths: a worker may run in another folder."""
    pieces: list[Any] = [
        replace(piece, path=str(Path(piece.path).absolute()))  # type: ignore[type-var]
        for piece in table.pieces
    ]
    return replace(table, pieces=tuple(pieces))


def _check_row_counts(counts: Sequence[int], tables: Sequence[ScanTable]) -> None:
    """Check that ranges of ids have lost no row.

    Raises
    ------
    UnorderedIdsError
        If the statistics of a group leave out some of its ids.
    """
    if list(counts) != [table.n_rows for table in tables]:
        raise UnorderedIdsError("the statistics of the files do not state the order of the ids")


def _without_pieces(side: ScatteredSide) -> ScatteredSide:
    """What is read, which is small where it is sent."""
    return replace(side, table=replace(side.table, pieces=()))


def _groups_of(side: ScatteredSide) -> Iterator[ScatteredSide]:
    """The pieces of a table in at most so many groups as tasks shall be."""
    pieces = side.table.pieces
    size = -(-len(pieces) // _MOST_SCATTERED)
    for first in range(0, len(pieces), size or 1):
        yield replace(side, table=replace(side.table, pieces=pieces[first : first + size]))


@contextmanager
def _clear_errors(scheduler: str | None) -> Iterator[None]:
    """Errors of workers and of the network as ours, without the traceback of another machine."""
    where = "the local Dask cluster" if scheduler is None else f"the Dask cluster at {scheduler!r}"
    try:
        yield
    except ReaderError as exc:
        raise _unshared(exc).with_traceback(None) from None
    except RagevalError as exc:
        raise exc.with_traceback(None) from None
    except KilledWorker as exc:
        raise DataError(
            f"a worker of {where} died again and again on the same part of the files, mostly for "
            "lack of memory; start workers with more memory, or fewer threads"
        ) from exc
    except (CancelledError, CommClosedError, OSError) as exc:
        raise DataError(f"{where} was lost before the work was done: {_first_line(exc)}") from None
    except ImportError as exc:
        raise DataError(
            f"the workers of {where} need rageval-report {__version__} with the extra 'dask', as "
            f"this machine has it: {_first_line(exc)}"
        ) from None
    except Exception as exc:
        raise DataError(
            f"a worker of {where} failed: {type(exc).__name__}: {_first_line(exc)}"
        ) from None


def _unshared(exc: ReaderError) -> ReaderError:
    """The error of a worker that does not see a file which this machine has."""
    if exc.path is None or "does not exist" not in exc.message or not Path(exc.path).exists():
        return exc
    return ReaderError(
        "a worker of the Dask cluster cannot see this file; files of a scan must be where every "
        "worker can read them, under the same path, such as a shared file system",
        path=exc.path,
    )


def _first_line(exc: BaseException) -> str:
    return str(exc).strip().partition("\n")[0][:160]
