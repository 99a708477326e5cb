"""Files for all rows of a table, written part by part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from rageval_report._registry import import_parquet, import_pyarrow
from rageval_report.errors import DataError
from rageval_report.evaluation.scanning.cell_kinds import CellKind
from rageval_report.files.writing import write_with
from rageval_report.scale.pieces import ArrowSchema, ArrowTable

_SUFFIXES = (".parquet", ".csv")


def check_table_path(path: str | Path | None) -> Path | None:
    """The path of a file for all rows, if there is one.

    Raises
    ------
    DataError
        If it is neither a Parquet nor a CSV file.

    Examples
    --------
    >>> check_table_path("failures.parquet").name
    'failures.parquet'
    """
    if path is not None and Path(path).suffix.lower() not in _SUFFIXES:
        raise DataError(f"path must end in {' or '.join(_SUFFIXES)}; got {str(path)!r}")
    return None if path is None else Path(path)


def write_tables(target: Path, tables: Iterable[ArrowTable], schema: ArrowSchema) -> None:
    """Write parts of a table, and put the file in its place when it is whole.

    Parameters
    ----------
    target : Path
        A Parquet file or, by its ending, a CSV file.
    tables : iterable of pyarrow.Table
        The parts, of this schema.
    schema : pyarrow.Schema
        The columns.
    """
    write = _write_parquet if target.suffix.lower() == ".parquet" else _write_csv
    write_with(target, lambda temporary: write(temporary, tables, schema))


def schema_of_kinds(schema: ArrowSchema, kinds: Mapping[str, CellKind]) -> ArrowSchema:
    """The same columns, some of them of these kinds."""
    arrow = import_pyarrow()
    fields = {name: arrow.field(name, arrow.type_for_alias(kind)) for name, kind in kinds.items()}
    return arrow.schema([fields.get(name, schema.field(name)) for name in schema.names])


def _write_parquet(path: str, tables: Iterable[ArrowTable], schema: ArrowSchema) -> None:
    with import_parquet().ParquetWriter(path, schema) as writer:
        for table in tables:
            writer.write_table(table)


def _write_csv(path: str, tables: Iterable[ArrowTable], schema: ArrowSchema) -> None:
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        # As pandas writes a frame in memory, so that the text is the same.
        head = schema.empty_table().to_pandas()
        head.to_csv(file, index=False, lineterminator="\n")
        for table in tables:
            table.to_pandas().to_csv(file, index=False, header=False, lineterminator="\n")
