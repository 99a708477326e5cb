"""Opens files and databases with an engine, and takes the lazy frames of other libraries."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias
from uuid import uuid4

import narwhals as nw
import pandas as pd

from rageval_report import errors
from rageval_report._registry import import_parquet, load
from rageval_report.errors import DataError, MissingDependencyError, ReaderError, named
from rageval_report.files.source import hint_for_missing
from rageval_report.sources import REMOTE_SCHEMES
from rageval_report.sources.base import SourceAddress
from rageval_report.sources.files import (
    address_of,
    copy_remote_files,
    is_partition_name,
    list_files,
    name_of,
)

LazyTable: TypeAlias = nw.LazyFrame[Any]
# What a scan takes: paths, or a frame of another library that has not been computed.
ScanSource: TypeAlias = Any

AUTO = "auto"
_KINDS = {".parquet": "parquet", ".csv": "csv", ".tsv": "csv", ".jsonl": "json", ".ndjson": "json"}
_DUCKDB_OPTIONS = {
    "parquet": "hive_partitioning = true, hive_types_autocast = false",
    "csv": "all_varchar = true, header = true, hive_partitioning = false",
    "json": "format = 'newline_delimited', hive_partitioning = false",
}


@dataclass(frozen=True, eq=False)
class OpenedFrame:
    """A lazy frame before anybody has decided what its columns are.

    Parameters
    ----------
    frame : LazyFrame
        The rows.
    engine : str
        What computes it: "duckdb", "dask", "spark", "polars", "ibis" or another of narwhals.
    place, name : str
        The files, for messages; the name of the pipeline.
    kind : str
        The kind of the files: parquet, json, or csv, in which every column is text; of a database
        its scheme.
    metadata : mapping, optional
        What the first Parquet file states, such as a description of metrics.
    copies : object, optional
        Holds the copies of remote files, which last as long as this.
    """

    frame: LazyTable
    engine: str
    place: str
    name: str = "pipeline"
    kind: str = ""
    metadata: Any = None
    copies: object = None


def open_frame(source: ScanSource, engine: str, memory_limit: str | None) -> OpenedFrame:
    """Open files or a table of a database, or take a lazy frame; see `RAGPipelineEvaluation.scan`.

    Raises
    ------
    ReaderError
        If a file is missing or damaged.
    DataError
        If the files are of several kinds.
    """
    errors.check_choice("engine", engine, (AUTO, "duckdb", "dask", "spark"))
    if not isinstance(source, str | Path | list | tuple) and not hasattr(source, "__fspath__"):
        if hasattr(source, "map_partitions") and source.index.name is not None:  # ids of Dask
            source = source.reset_index()
        frame = lazy_frame(source)
        own = frame.implementation.value.replace("pyspark", "spark")
        return OpenedFrame(frame, own, f"the frame of {own}")
    address, copies = address_of(source), None
    if address is not None and address.scheme not in REMOTE_SCHEMES:
        return _open_table(address)
    if address is not None:
        copies, source = copy_remote_files(address)
    files = list_files(source, "source").files
    kinds = {_kind_of(path): path for path in files}
    if len(kinds) > 1:
        raise DataError(f"source must be files of one kind; got {named(map(str, kinds.values()))}")
    [kind], paths, folder = kinds, [str(path) for path in files], files[0].parent
    while is_partition_name(folder.name):
        folder = folder.parent
    place = paths[0] if len(paths) == 1 else f"{len(paths)} files of {folder}"
    wanted, is_parquet = "duckdb" if engine == AUTO else engine, kind == "parquet"
    try:
        native = _open_files(wanted, kind, paths, memory_limit or "1GB")
        metadata = import_parquet().read_schema(files[0]).metadata if is_parquet else None
    except MissingDependencyError:
        raise
    except Exception as exc:
        raise ReaderError(f"{wanted} cannot open the file: {exc}", place) from exc
    is_one = len(files) == 1 and folder == files[0].parent
    name = files[0].name.partition(".")[0] if is_one else folder.name
    known = name or "pipeline", kind, metadata, copies
    return OpenedFrame(lazy_frame(native), wanted, place, *known)


def lazy_frame(native: object) -> LazyTable:
    """A native lazy frame as one of narwhals."""
    with warnings.catch_warnings():
        # That its support of Dask will move into a package of its own.
        warnings.simplefilter("ignore", FutureWarning)
        frame: Any = nw.from_native(native, pass_through=True)
    if not isinstance(frame, nw.LazyFrame):
        raise errors.ArgumentKindError(
            "source must be files (a path, a list, a folder, a glob) or a lazy frame of DuckDB, "
            f"Polars, Dask, Spark or Ibis; got {errors.describe_kind(native)}. For a table in "
            "memory use RAGPipelineEvaluation(name, data)"
        )
    return frame


@contextmanager
def _errors_of(table: LazyTable) -> Iterator[None]:
    """Errors of an engine as ours, with its message."""
    try:
        yield
    except Exception as exc:
        raise DataError(f"{table.implementation.value} cannot read the table: {exc}") from exc


def collect(table: LazyTable, library: Literal["pandas", "pyarrow"] = "pandas") -> Any:
    """A lazy frame in memory, as one of pandas or pyarrow; `DataError` if the engine fails."""
    with _errors_of(table):
        native: Any = table.collect(library).to_native()
    return native.reset_index(drop=True) if library == "pandas" else native


@contextmanager
def kept_rows(rows: LazyTable) -> Iterator[LazyTable]:
    """Rows that are read several times, computed once: by DuckDB a temporary table, on disk.

    Other engines see by themselves that it is the same, or read it once.
    """
    native: Any = rows.to_native()
    if not hasattr(native, "set_alias"):  # no relation of DuckDB
        yield rows
        return
    name = f"kept_{uuid4().hex}"
    with _errors_of(rows):
        native.query("wide", f"create temp table {name} as select * from wide")  # noqa: S608
    try:
        yield lazy_frame(native.query("wide", f"select * from {name}"))  # noqa: S608
    finally:
        native.query("wide", f"drop table {name}")


def count_rows(rows: LazyTable) -> int:
    """The number of rows of a lazy frame."""
    return int(collect(rows.select(nw.len().alias("n")))["n"].iloc[0])


# -- files, databases and engines


def _kind_of(path: Path) -> str:
    """The kind of a file: parquet, csv or json."""
    if not path.exists():
        raise ReaderError(f"there is no such file{hint_for_missing(path)}", path)
    for suffix in path.suffixes:
        if suffix.lower() in _KINDS:
            return _KINDS[suffix.lower()]
    raise DataError(
        f"source must be Parquet, CSV or JSON-lines files; {path} is none of these. Read it whole "
        "with read_scores, or save it as Parquet"
    )


@cache
def _connection() -> Any:
    """The connection of all that DuckDB opens, so that it can be joined."""
    connection = load("duckdb").connect()
    connection.execute(f"set temp_directory = {_quoted(temporary_folder() / 'spilled')}")
    return connection


@cache
def temporary_folder() -> Path:
    """A folder for what engines write; it is removed when Python ends."""
    folder = Path(tempfile.mkdtemp(prefix="rageval-scan-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _quoted(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def _open_files(engine: str, kind: str, paths: list[str], memory_limit: str) -> object:
    """Files of one kind as a lazy frame of an engine; every column of CSV files is text."""
    separator = "\t" if ".tsv" in Path(paths[0]).suffixes else ","
    if engine == "dask":
        dask = load("dask.dataframe")
        if kind == "csv":
            return dask.read_csv(paths, dtype=str, sep=separator)
        return dask.read_parquet(paths) if kind == "parquet" else dask.read_json(paths, lines=True)
    if engine == "spark":
        reader = load("pyspark.sql").SparkSession.builder.getOrCreate().read
        if kind == "csv":
            return reader.option("header", True).option("sep", separator).csv(paths)
        return reader.parquet(*paths) if kind == "parquet" else reader.json(paths)
    _connection().execute(f"set memory_limit = {_quoted(memory_limit)}")
    listed = ", ".join(map(_quoted, paths))
    return _connection().sql(f"select * from read_{kind}([{listed}], {_DUCKDB_OPTIONS[kind]})")  # noqa: S608


def _open_table(address: SourceAddress) -> OpenedFrame:
    """A table of a database, which its own engine counts: DuckDB, or SQLite and others by Ibis."""
    if address.scheme not in ("duckdb", "sqlite", "postgres", "postgresql"):
        raise DataError(
            f"source: {address.name} is not a file or a database; read it whole by read_scores"
        )
    table = address.parameters.get("table")
    if table is None or len(address.parameters) > 1:
        raise address.error("a scan of a database needs ?table=NAME, and nothing else")
    engine = "duckdb" if address.scheme == "duckdb" else "ibis"
    library = load(engine)
    try:
        if engine == "duckdb":
            native = library.connect(address.place, read_only=True).table(table)
        else:
            place = address.text.partition("?")[0].replace("postgresql:", "postgres:")
            *schema, own = table.rsplit(".", 1)
            native = library.connect(place).table(own, database=next(iter(schema), None))
    except Exception as exc:
        # From nothing: the message of a driver may repeat the password of the address.
        raise address.error(f"{type(exc).__name__}: {table!r} cannot be opened") from None
    name = name_of(address.text)
    return OpenedFrame(lazy_frame(native), engine, address.name, name, address.scheme)


# -- tables in memory


def open_beside(opened: OpenedFrame, table: pd.DataFrame) -> OpenedFrame:
    """A table in memory as a lazy frame that can be joined with another one."""
    native: Any = opened.frame.to_native()
    if opened.engine == "duckdb":
        path = temporary_folder() / f"{uuid4().hex}.parquet"
        table.to_parquet(path, index=False)
        beside = native.query("beside", f"select * from read_parquet({_quoted(path)})")  # noqa: S608
    elif opened.engine == "polars":
        beside = load("polars").from_pandas(table).lazy()
    elif opened.engine == "dask":
        beside = load("dask.dataframe").from_pandas(table, npartitions=1)
    elif opened.engine == "spark":
        beside = native.sparkSession.createDataFrame(table)
    else:
        beside = load("ibis").memtable(table)
    return replace(opened, frame=lazy_frame(beside), place="a table in memory", kind="")
