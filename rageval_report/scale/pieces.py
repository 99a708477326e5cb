"""The pieces of a table in files: each is read part by part, here or in another process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeAlias
from urllib.parse import unquote

from rageval_report._registry import import_parquet, import_pyarrow
from rageval_report.errors import ReaderError

# pyarrow has no types: a table, and a schema.
ArrowTable: TypeAlias = Any
ArrowSchema: TypeAlias = Any

# The rows that are in memory at once, per table: ten columns of float64 then take 10 MB, which is
# small beside Arrow's own buffers, and large enough that a part costs little Python.
ROWS_OF_PART = 1 << 17
# The rows of a piece: enough work for a task of a cluster.
_ROWS_OF_PIECE = 1 << 20
# The name that Hive, Spark and Dask give to the partition of empty values.
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"

# Names, cells and extremes decide what a column is, and these rows have enough cells.
SAMPLE_ROWS = 10_000


class Piece(Protocol):
    """Some rows of a table in a file; small, so that it can be sent to another process."""

    @property
    def path(self) -> str:
        """The file."""

    @property
    def n_rows(self) -> int | None:
        """The number of rows, if it is known without reading them."""

    @property
    def partition(self) -> tuple[tuple[str, str | None], ...]:
        """The columns that the folders of the file state, and their values."""

    @property
    def repeats(self) -> Mapping[str, int]:
        """How often keys that the table has several times occur before; see `number_repeats`."""

    def schema(self) -> ArrowSchema:
        """The names and the types of the columns of the file."""

    def read(self, columns: Sequence[str]) -> Iterator[ArrowTable]:
        """The rows part by part, with these columns of the file."""

    def head(self, columns: Sequence[str]) -> ArrowTable | None:
        """The first rows, at most `SAMPLE_ROWS`; None if there are none."""


@dataclass(frozen=True)
class ParquetPiece:
    """Some groups of rows of a Parquet file.

    Parameters
    ----------
    path : str
        The file.
    groups : tuple of int
        The positions of the groups.
    n_rows : int
        The number of their rows.
    partition : tuple of (str, str or None)
        The columns that the folders of the file state.
    repeats : mapping of str to int
        How often keys that the table has several times occur before these rows; see
        `rageval_report.scale.repeated_keys.number_repeats`.
    """

    path: str
    groups: tuple[int, ...]
    n_rows: int
    partition: tuple[tuple[str, str | None], ...] = ()
    repeats: Mapping[str, int] = field(default_factory=dict, hash=False)

    def schema(self) -> ArrowSchema:
        """The names and the types of the columns of the file."""
        return read_footer(Path(self.path)).schema

    def read(self, columns: Sequence[str]) -> Iterator[ArrowTable]:
        """The rows part by part, with these columns of the file.

        Raises
        ------
        ReaderError
            If the file is damaged, or has changed.
        """
        return self._parts(columns, ROWS_OF_PART)

    def head(self, columns: Sequence[str]) -> ArrowTable | None:
        """The first rows, at most `SAMPLE_ROWS`, without the pages of later rows.

        Raises
        ------
        ReaderError
            As `read`.
        """
        return next(self._parts(columns, SAMPLE_ROWS), None)

    def _parts(self, columns: Sequence[str], n_rows: int) -> Iterator[ArrowTable]:
        """The rows in parts of at most so many."""
        arrow = import_pyarrow()
        # Now, because a generator may be closed when Python ends and nothing can be imported.
        errors = damage_errors()
        try:
            with open_parquet(self.path) as file:
                # One thread: engines decide how many pieces are read at once.
                for batch in file.iter_batches(
                    n_rows, self.groups, list(columns), use_threads=False
                ):
                    yield arrow.Table.from_batches([batch])
        except errors as exc:
            raise damage(self.path, exc) from exc


@dataclass(frozen=True, eq=False)
class FileSchema:
    """What the footer of a Parquet file says.

    Parameters
    ----------
    path : str
        The file.
    schema : pyarrow.Schema
        The names and the types of its columns.
    metadata : pyarrow.parquet.FileMetaData
        Its groups of rows, with their statistics.
    partition : tuple of (str, str or None)
        The columns that the folders of the file state.
    """

    path: str
    schema: ArrowSchema
    metadata: Any
    partition: tuple[tuple[str, str | None], ...] = field(default=())

    def pieces(self) -> Iterator[ParquetPiece]:
        """The file in pieces of whole groups of rows."""
        groups: list[int] = []
        n_rows = 0
        for place in range(self.metadata.num_row_groups):
            groups.append(place)
            n_rows += self.metadata.row_group(place).num_rows
            if n_rows >= _ROWS_OF_PIECE:
                yield ParquetPiece(self.path, tuple(groups), n_rows, self.partition)
                groups, n_rows = [], 0
        if n_rows:
            yield ParquetPiece(self.path, tuple(groups), n_rows, self.partition)

    def extremes(self, column: str) -> tuple[Any, Any] | None:
        """The smallest and the largest value of a column, by the statistics of all its groups."""
        groups = self._statistics(column)
        if groups is None or None in groups:
            return None
        known = [pair for pair in groups if pair]
        if not known:
            return None
        return min(pair[0] for pair in known), max(pair[1] for pair in known)

    def ranges(self, column: str) -> list[tuple[Any, Any]] | None:
        """The smallest and the largest value of a column in each group, where all are stated."""
        groups = self._statistics(column)
        if groups is None or not all(groups):
            return None
        return [(pair[0], pair[1]) for pair in groups if pair]

    def _statistics(self, column: str) -> list[tuple[Any, ...] | None] | None:
        """The extremes of each group: none if it has no values, None if they are not stated."""
        if column not in self.schema.names:
            return None
        place = self._leaf(column)
        pairs: list[tuple[Any, ...] | None] = []
        for group in range(self.metadata.num_row_groups):
            chunk = self.metadata.row_group(group).column(place)
            statistics = chunk.statistics
            if statistics is not None and statistics.has_min_max:
                pairs.append((statistics.min, statistics.max))
            else:
                is_empty = statistics is not None and statistics.null_count == chunk.num_values
                pairs.append(() if is_empty else None)
        return pairs

    def _leaf(self, column: str) -> int:
        """The position of a column among the leaves of the file, which nested columns move."""
        row_group = self.metadata.schema
        names = [row_group.column(place).path for place in range(len(row_group.names))]
        return names.index(column) if column in names else self.schema.names.index(column)


def read_footer(path: Path) -> FileSchema:
    """The footer of a Parquet file.

    Raises
    ------
    ReaderError
        If the file is not a Parquet file, is damaged, or is cut.
    """
    try:
        with open_parquet(str(path)) as file:
            return FileSchema(str(path), file.schema_arrow, file.metadata, partition_of(path))
    except damage_errors() as exc:
        raise damage(str(path), exc) from exc


def open_parquet(path: str) -> Any:
    """An open Parquet file, whose pages are checked where they have a checksum."""
    return import_parquet().ParquetFile(path, page_checksum_verification=True)


def damage_errors() -> tuple[type[Exception], ...]:
    """The exceptions that pyarrow raises for damaged files."""
    return (import_pyarrow().ArrowException, OSError, ValueError, KeyError, TypeError)


def damage(path: str, exc: BaseException) -> BaseException:
    """The error for a file that cannot be read; an error that names its file already stays."""
    if isinstance(exc, ReaderError):
        return exc
    if isinstance(exc, FileNotFoundError):
        return ReaderError("the file does not exist", path=path)
    first_line = str(exc).strip().partition("\n")[0][:120]
    return ReaderError(
        f"this file is damaged or cut: {first_line.rstrip('.')}. Nothing was computed; copy the "
        "file again",
        path=path,
    )


def partition_of(path: Path) -> tuple[tuple[str, str | None], ...]:
    """The columns that the folders of a file state, such as month=2026-01.

    Examples
    --------
    >>> partition_of(Path("scores/month=2026-01/language=de/part-0.parquet"))
    (('month', '2026-01'), ('language', 'de'))
    """
    pairs = (part.partition("=") for part in path.parent.parts)
    return tuple(
        (name, None if value == _NO_VALUE else unquote(value))
        for name, sign, value in pairs
        if sign and name
    )


def first_rows(pieces: Iterable[Piece], columns: Sequence[str]) -> ArrowTable | None:
    """The first rows of all pieces, at most `SAMPLE_ROWS`, with what the folders state.

    Parameters
    ----------
    pieces : iterable of Piece
        The pieces; a small one is not the whole, as a metric may have no score in it.
    columns : sequence of str
        The columns of the files.

    Returns
    -------
    pyarrow.Table or None
        None if there are no rows. If the types of the pieces cannot be joined, the rows of the
        first one.
    """
    arrow = import_pyarrow()
    parts, n_rows, names = [], 0, None
    for piece in pieces:
        part = piece.head(columns)
        if part is None or not len(part):
            continue
        part = with_partition(part, piece.partition)
        names = names or [*columns, *(name for name in part.column_names if name not in columns)]
        if not set(names) <= set(part.column_names):
            break
        parts.append(part.select(names).slice(0, SAMPLE_ROWS - n_rows))
        n_rows += len(parts[-1])
        if n_rows == SAMPLE_ROWS:
            break
    try:
        return arrow.concat_tables(parts, promote_options="permissive") if parts else None
    except (arrow.ArrowInvalid, arrow.ArrowTypeError):
        return parts[0]


def with_partition(table: ArrowTable, partition: Sequence[tuple[str, str | None]]) -> ArrowTable:
    """A table with the columns that the folders of its file state, unless the file has them."""
    arrow = import_pyarrow()
    for name, value in partition:
        if name not in table.column_names:
            text = arrow.scalar(value, type=arrow.string())
            table = table.append_column(name, arrow.repeat(text, len(table)))
    return table
