"""Opens the files of a table: what they are, their pieces, and the first rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, TypeAlias

from rageval_report._argument_kinds import describe_kind
from rageval_report._registry import import_arrow_module, import_parquet, import_pyarrow
from rageval_report.errors import ArgumentKindError, DataError, ReaderError, named
from rageval_report.scale.csv_pieces import open_csv_files
from rageval_report.scale.pieces import (
    ArrowTable,
    FileSchema,
    ParquetPiece,
    Piece,
    first_rows,
    read_footer,
    with_partition,
)
from rageval_report.sources.base import SourceAddress
from rageval_report.sources.fetched_files import TemporaryFolder
from rageval_report.sources.file_lists import FileList, list_files
from rageval_report.sources.opening import address_of
from rageval_report.sources.remote_files import copy_remote_files
from rageval_report.sources.table import REMOTE_SCHEMES

# What a scan takes: paths, or a frame of another library that has not been computed.
ScanSource: TypeAlias = Any

_PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True, eq=False)
class OpenedTable:
    """The files of a table before anybody has decided what its columns are.

    Parameters
    ----------
    files : FileList
        The files.
    pieces : tuple of Piece
        Their parts, in order.
    columns : tuple of str
        The names of the columns in all files, and of those that the folders state.
    head : pyarrow.Table
        The first rows.
    format : {"parquet", "csv"}
        The kind of the files.
    extremes : dict of str to (value, value)
        The smallest and the largest value of columns, where the files state them.
    stored : TemporaryFolder, optional
        What holds the files, if they were computed or copied; those of a computed frame are at its
        top.
    """

    files: FileList
    pieces: tuple[Piece, ...]
    columns: tuple[str, ...]
    head: ArrowTable
    format: Literal["parquet", "csv"]
    extremes: dict[str, tuple[Any, Any]]
    stored: TemporaryFolder | None = None

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The columns that the folders of the files state."""
        return tuple(dict.fromkeys(name for piece in self.pieces for name, _ in piece.partition))

    def place_of_row(self, row: int) -> tuple[str, int]:
        """The file of one of the first rows, and the row within it, counted from 0."""
        n_before, n_of_file = 0, Counter[str]()
        for piece in self.pieces:
            head = piece.head(piece.schema().names[:1])
            n_rows = 0 if head is None else len(head)
            if row < n_before + n_rows:
                return piece.path, row - n_before + n_of_file[piece.path]
            n_before += n_rows
            n_of_file[piece.path] += n_rows
        return self.files.name, row

    def head_file(self, more_rows: Sequence[Mapping[str, object]] = ()) -> bytes:
        """The first rows, and more rows, as a file of the same kind.

        Parameters
        ----------
        more_rows : sequence of mapping
            Values by column; a missing one is null.
        """
        arrow = import_pyarrow()
        table = self.head
        if more_rows:
            cells = [
                {
                    name: _cell_of(value, table.schema.field(name).type)
                    for name, value in row.items()
                }
                for row in more_rows
            ]
            # Only the types: the rows of pandas' index are in the metadata of the whole.
            added = arrow.Table.from_pylist(cells, schema=table.schema.remove_metadata())
            table = arrow.concat_tables(
                [table, added.replace_schema_metadata(table.schema.metadata)]
            )
        buffer = BytesIO()
        if self.format == "csv":
            import_arrow_module("csv").write_csv(table, buffer)
        else:
            import_parquet().write_table(table, buffer)
        return buffer.getvalue()

    def all_rows(self) -> ArrowTable:
        """The whole table, in memory."""
        columns = [name for name in self.columns if name not in self.partition_columns]
        parts = [
            with_partition(part, piece.partition).select(list(self.columns))
            for piece in self.pieces
            for part in piece.read(columns)
        ]
        table = import_pyarrow().concat_tables(parts, promote_options="permissive")
        return table.replace_schema_metadata(self.head.schema.metadata)

    @property
    def n_bytes(self) -> int:
        """The size of the files."""
        return sum(Path(path).stat().st_size for path in dict.fromkeys(p.path for p in self.pieces))


def open_table(source: ScanSource, *, delimiter: str | None = None) -> OpenedTable:
    """Open the files of a table.

    Parameters
    ----------
    source : str, PathLike, list of these, or a lazy frame
        A Parquet or CSV file, a folder, a glob, or a list of these; a folder of partitions
        ``key=value``; a relation of DuckDB, a LazyFrame of polars or a frame of Dask, which is
        computed once, into a temporary folder of Parquet files.
    delimiter : str, optional
        The character that separates the fields of CSV files.

    Raises
    ------
    ReaderError
        If a file is damaged, or lacks a column that the first one has.
    DataError
        If there are no rows, or the files are of different kinds.
    """
    stored = None
    address = address_of(source)
    if address is not None:
        stored, source = _copy_files(address)
    elif not _is_path_or_list(source):
        stored = _store(source)
        source = stored.path
    files = list_files(source, "source")
    kinds = {path: _is_parquet(path) for path in files.files}
    if len(set(kinds.values())) > 1:
        csv = [str(path) for path, is_parquet in kinds.items() if not is_parquet]
        raise DataError(
            f"source must be files of one kind; of {len(kinds)}, these are not Parquet: "
            f"{named(csv)}"
        )
    if all(kinds.values()):
        return _open_parquet_files(files, stored)
    pieces, head, columns = open_csv_files(files.files, delimiter)
    return OpenedTable(files, pieces, columns, head, "csv", {}, stored)


def _copy_files(address: SourceAddress) -> tuple[TemporaryFolder, Path]:
    """The files of another machine, copied to this one: they are read several times."""
    if address.scheme in REMOTE_SCHEMES:
        return copy_remote_files(address)
    raise DataError(
        f"source: {address.name} is no file; a scan reads files. Export the table to Parquet, or "
        "read it whole by read_scores"
    )


def _cell_of(value: object, kind: Any) -> object:
    """A number or a text as a cell of an Arrow type."""
    arrow = import_pyarrow()
    if arrow.types.is_integer(kind):
        return int(float(str(value))) if isinstance(value, float) else int(str(value))
    if arrow.types.is_boolean(kind):
        return bool(value)
    if arrow.types.is_decimal(kind):
        return Decimal(repr(value))
    return value if arrow.types.is_floating(kind) else str(value)


def _is_path_or_list(source: object) -> bool:
    return isinstance(source, str | Path | list | tuple) or hasattr(source, "__fspath__")


def _is_parquet(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == _PARQUET_MAGIC or path.suffix == ".parquet"
    except OSError as exc:
        raise ReaderError(f"the file cannot be read: {exc.strerror}", path=path) from exc


# -- Parquet


def _open_parquet_files(files: FileList, stored: TemporaryFolder | None) -> OpenedTable:
    footers = [read_footer(path) for path in files.files]
    first = footers[0]
    for footer in footers[1:]:
        _check_columns(footer, first)
    pieces = tuple(piece for footer in footers for piece in footer.pieces())
    if not pieces:
        raise DataError(f"source must have one row per query; {files.name} has no rows")
    stated = dict.fromkeys(name for footer in footers for name, _ in footer.partition)
    columns = (*first.schema.names, *(name for name in stated if name not in first.schema.names))
    head = _head_of(pieces, first)
    return OpenedTable(files, pieces, columns, head, "parquet", _extremes(footers), stored)


def _check_columns(footer: FileSchema, first: FileSchema) -> None:
    missing = [name for name in first.schema.names if name not in footer.schema.names]
    if missing:
        raise ReaderError(
            f"the columns {named(missing)} are missing, which {Path(first.path).name} has; all "
            "files of a scan have the same columns",
            path=footer.path,
        )


def _head_of(pieces: Sequence[ParquetPiece], footer: FileSchema) -> ArrowTable:
    """The first rows with what the first file states, such as a description of metrics."""
    stated: ArrowTable = first_rows(pieces, footer.schema.names)
    return stated.replace_schema_metadata(footer.schema.metadata)


def _extremes(footers: Sequence[FileSchema]) -> dict[str, tuple[Any, Any]]:
    """The extremes of the columns of numbers, where every file states them."""
    types = import_pyarrow().types
    extremes: dict[str, tuple[Any, Any]] = {}
    for field in footers[0].schema:
        kinds = [footer.schema.field(field.name).type for footer in footers]
        if not all(types.is_floating(kind) or types.is_integer(kind) for kind in kinds):
            continue
        pairs = [footer.extremes(field.name) for footer in footers if footer.metadata.num_rows]
        known = [pair for pair in pairs if pair is not None]
        if known and len(known) == len(pairs):
            extremes[field.name] = (min(p[0] for p in known), max(p[1] for p in known))
    return extremes


# -- frames that have not been computed


def _store(source: object) -> TemporaryFolder:
    """Write a lazy frame into a folder, with the writer of its own library."""
    for attribute, write in _WRITERS.items():
        if callable(getattr(source, attribute, None)):
            folder = TemporaryFolder()
            write(source, folder.path)
            return folder
    raise ArgumentKindError(
        "source must be files (a path, a list, a folder, a glob) or a lazy frame of DuckDB, polars "
        f"or Dask; got {describe_kind(source)}. For a table in memory use "
        "RAGPipelineEvaluation(name, data)"
    )


def _store_lazy_frame(source: Any, folder: Path) -> None:
    source.sink_parquet(folder / "part-0.parquet")


def _store_relation(source: Any, folder: Path) -> None:
    source.write_parquet(str(folder / "part-0.parquet"))


def _store_dask_frame(source: Any, folder: Path) -> None:
    source.to_parquet(str(folder), write_index=source.index.name is not None)


# By a method that only frames of this library have.
_WRITERS: dict[str, Callable[[Any, Path], None]] = {
    "sink_parquet": _store_lazy_frame,  # polars
    "fetch_df_chunk": _store_relation,  # DuckDB
    "map_partitions": _store_dask_frame,  # Dask
}
