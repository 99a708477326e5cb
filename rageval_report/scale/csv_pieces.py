"""The pieces of tables in files of delimited text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rageval_report._registry import import_arrow_module, import_pyarrow
from rageval_report.errors import DataError, ReaderError, named
from rageval_report.files.source import Source
from rageval_report.readers.delimited import best_delimiters
from rageval_report.scale.pieces import (
    ROWS_OF_PART,
    SAMPLE_ROWS,
    ArrowSchema,
    ArrowTable,
    Piece,
    damage_errors,
    first_rows,
    partition_of,
)

# The bytes that are parsed at once; a row must fit.
_BLOCK = 1 << 23
_HEAD = 1 << 18


@dataclass(frozen=True)
class CsvPiece:
    """A file of delimited text, whose cells are read as texts.

    Parameters
    ----------
    path : str
        The file, gzipped or not.
    delimiter : str
        The character between two fields.
    partition : tuple of (str, str or None)
        The columns that the folders of the file state.
    n_rows : None
        The file does not state it.
    repeats : mapping of str to int
        How often keys that the table has several times occur before this file; see
        `rageval_report.scale.repeated_keys.number_repeats`.
    """

    path: str
    delimiter: str
    partition: tuple[tuple[str, str | None], ...] = ()
    n_rows: int | None = None
    repeats: Mapping[str, int] = field(default_factory=dict, hash=False)

    def read(self, columns: Sequence[str]) -> Iterator[ArrowTable]:
        """The rows part by part, with these columns of the file; empty cells are null.

        Raises
        ------
        ReaderError
            If a row has more or fewer fields than the header, or the file is not UTF-8 text.
        """
        arrow = import_pyarrow()
        # Now, because a generator may be closed when Python ends and nothing can be imported.
        errors = damage_errors()
        try:
            with self._open(columns) as reader:
                for batch in reader:
                    for first in range(0, batch.num_rows, ROWS_OF_PART):
                        yield arrow.Table.from_batches([batch.slice(first, ROWS_OF_PART)])
        except ReaderError:
            raise
        except errors as exc:
            first_line = str(exc).strip().partition("\n")[0][:160]
            raise ReaderError(
                f"this table cannot be read in parts: {first_line}. Nothing was computed",
                path=self.path,
            ) from exc

    def head(self, columns: Sequence[str]) -> ArrowTable | None:
        """The first rows, at most `SAMPLE_ROWS`; None if there are none.

        Raises
        ------
        ReaderError
            As `read`.
        """
        part = next(self.read(columns), None)
        return None if part is None else part.slice(0, SAMPLE_ROWS)

    def schema(self) -> ArrowSchema:
        """The names of the columns, which are of texts."""
        arrow = import_pyarrow()
        return arrow.schema([(name, arrow.string()) for name in self.header()])

    def header(self) -> list[str]:
        """The names of the columns."""
        with self._open(None) as reader:
            return list(reader.schema.names)

    def _open(self, columns: Sequence[str] | None) -> Any:
        csv, arrow = import_arrow_module("csv"), import_pyarrow()
        names = [] if columns is None else list(columns)
        return csv.open_csv(
            arrow.input_stream(self.path, compression="detect"),
            csv.ReadOptions(block_size=_BLOCK, use_threads=False),
            csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            csv.ConvertOptions(
                include_columns=names,
                column_types=dict.fromkeys(names, arrow.string()),
                strings_can_be_null=True,
                null_values=[""],
            ),
        )


def open_csv_files(
    paths: Sequence[Path], delimiter: str | None = None
) -> tuple[tuple[Piece, ...], ArrowTable, tuple[str, ...]]:
    """The pieces of a table in CSV files, its first rows, and its columns.

    Parameters
    ----------
    paths : sequence of Path
        The files.
    delimiter : str, optional
        The character between two fields; found by the first rows of the first file if omitted.

    Raises
    ------
    ReaderError
        If a file is not a table of delimited text, or lacks a column that the first one has.
    """
    sign = delimiter or _delimiter_of(paths[0])
    pieces = [CsvPiece(str(path), sign, partition_of(path)) for path in paths]
    headers = [_header_of(piece) for piece in pieces]
    for piece, header in zip(pieces[1:], headers[1:], strict=True):
        missing = [name for name in headers[0] if name not in header]
        if missing:
            raise ReaderError(
                f"the columns {named(missing)} are missing, which {paths[0].name} has; all files "
                "of a scan have the same columns",
                path=piece.path,
            )
    stated = dict.fromkeys(name for piece in pieces for name, _ in piece.partition)
    columns = (*headers[0], *(name for name in stated if name not in headers[0]))
    return tuple(pieces), _head_of(pieces, headers[0]), columns


def _delimiter_of(path: Path) -> str:
    source = Source(Source(path).head[:_HEAD])
    best = best_delimiters(source) if source.is_text else []
    if not best:
        raise ReaderError(
            "a scan reads Parquet and CSV files; this is neither. Load it, or write it as Parquet",
            path=path,
        )
    return best[0]


def _header_of(piece: CsvPiece) -> list[str]:
    try:
        return piece.header()
    except damage_errors() as exc:
        first_line = str(exc).strip().partition("\n")[0][:160]
        raise ReaderError(
            f"this is not a table of delimited text: {first_line}", path=piece.path
        ) from exc


def _head_of(pieces: Sequence[CsvPiece], columns: Sequence[str]) -> ArrowTable:
    """The first rows, with the columns that folders state."""
    head = first_rows(pieces, columns)
    if head is None:
        raise DataError("source must have one row per query; the files have no rows")
    return head
