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
_PARQUET_MAGIC = b"PAR1"
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
        The files, for messages; the name of the pipeline, if nobody states one.
    metadata : mapping, optional
        What the first Parquet file states, such as a description of metrics.
    partitions : tuple of str
        The columns that the folders of the files state.
    kind : str
        The kind of the files: parquet, json, or csv, in which every column is text; of a database
        its scheme.
    copies : object, optional
        Holds the copies of remote files, which last as long as this.
    """

    frame: LazyTable
    engine: str
    place: str
    name: str = "pipeline"
    metadata: Any = None
    partitions: tuple[str, ...] = ()
    kind: str = ""
    copies: object = None


def open_frame(
    source: ScanSource, *, engine: str, memory_limit: str | None, delimiter: str | None
) -> OpenedFrame:
    """Open files or a table of a database, or take a lazy frame; see `RAGPipelineEvaluation.scan`.

    Raises
    ------
    ReaderError
        If a file is missing or damaged.
    DataError
        If the files are of several kinds.
    """
    errors.check_choice("engine", engine, (AUTO, "duckdb", "dask", "spark"))
    address, copies = address_of(source), None
    is_path = isinstance(source, str | Path | list | tuple) or hasattr(source, "__fspath__")
    if address is None and not is_path:
        if hasattr(source, "map_partitions") and source.index.name is not None:  # ids of Dask
            source = source.reset_index()
        frame = lazy_frame(source)
        own = frame.implementation.value.replace("pyspark", "spark")
        return OpenedFrame(frame, own, f"the frame of {own}")
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
    wanted = "duckdb" if engine == AUTO else engine
    if wanted == "duckdb":
        try:
            _connection().execute(f"set memory_limit = {_quoted(memory_limit or '1GB')}")
        except _library("duckdb").Error as exc:
            what = f"memory_limit must be a size such as 500MB or 2GB; got {memory_limit!r}"
            raise DataError(what) from exc
    separator = delimiter or ("\t" if ".tsv" in files[0].suffixes else "")
    try:
        native = _open_files(wanted, kind, paths, separator)
    except MissingDependencyError:
        raise
    except Exception as exc:
        raise ReaderError(f"{wanted} cannot open the file: {exc}", place) from exc
    stated = [part.partition("=")[0] for part in files[0].parts if is_partition_name(part)]
    is_one = len(files) == 1 and folder == files[0].parent
    return OpenedFrame(
        *(lazy_frame(native), wanted, place),
        name=(files[0].name.partition(".")[0] if is_one else folder.name) or "pipeline",
        metadata=import_parquet().read_schema(files[0]).metadata if kind == "parquet" else None,
        partitions=tuple(stated) if kind == "parquet" else (),
        kind=kind,
        copies=copies,
    )


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
    if hasattr(native, "set_alias"):  # a relation of DuckDB
        name = f"kept_{uuid4().hex}"
        with _errors_of(rows):
            native.query("wide", f"create temp table {name} as select * from wide")  # noqa: S608
        try:
            yield lazy_frame(native.query("wide", f"select * from {name}"))  # noqa: S608
        finally:
            native.query("wide", f"drop table {name}")
    else:
        yield rows


def count_rows(rows: LazyTable) -> int:
    """The number of rows of a lazy frame."""
    return int(collect(rows.select(nw.len().alias("n")))["n"].iloc[0])


# -- files, databases and engines


def _kind_of(path: Path) -> str:
    """The kind of a file: parquet, csv or json."""
    if not path.exists():
        raise ReaderError(f"there is no such file{hint_for_missing(path)}", path)
    with path.open("rb") as file:
        is_parquet = file.read(4) == _PARQUET_MAGIC
    kind = next((_KINDS[s] for s in map(str.lower, path.suffixes) if s in _KINDS), None)
    if kind == "parquet" and not is_parquet:
        raise ReaderError("the file is damaged: it does not begin as Parquet files do", path)
    if kind is None and not is_parquet:
        raise DataError(
            f"source must be Parquet, CSV or JSON-lines files; {path} is none of these. Read it "
            "whole with read_scores, or save it as Parquet"
        )
    return "parquet" if is_parquet or kind is None else kind


def _library(name: str) -> Any:
    """A library of an engine; without it, the error names the extra."""
    return load(name)


@cache
def _connection() -> Any:
    """The connection of all that DuckDB opens, so that it can be joined."""
    connection = _library("duckdb").connect()
    connection.execute(f"set temp_directory = {_quoted(_temporary_folder() / 'spilled')}")
    return connection


@cache
def _temporary_folder() -> Path:
    """A folder for what engines write; it is removed when Python ends."""
    folder = Path(tempfile.mkdtemp(prefix="rageval-scan-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _quoted(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def _open_files(engine: str, kind: str, paths: list[str], delimiter: str) -> object:
    """Files of one kind as a lazy frame of an engine; every column of CSV files is text."""
    if engine == "dask":
        dask = _library("dask.dataframe")
        if kind == "csv":
            return dask.read_csv(paths, dtype=str, sep=delimiter or ",")
        return dask.read_parquet(paths) if kind == "parquet" else dask.read_json(paths, lines=True)
    if engine == "spark":
        reader = _library("pyspark.sql").SparkSession.builder.getOrCreate().read
        if kind == "csv":
            return reader.option("header", True).option("sep", delimiter or ",").csv(paths)
        return reader.parquet(*paths) if kind == "parquet" else reader.json(paths)
    options, listed = _DUCKDB_OPTIONS[kind], ", ".join(map(_quoted, paths))
    if delimiter and kind == "csv":
        options += f", delim = {_quoted(delimiter)}"
    return _connection().sql(f"select * from read_{kind}([{listed}], {options})")  # noqa: S608


def _open_table(address: SourceAddress) -> OpenedFrame:
    """A table of a database, which its own engine counts: DuckDB, or SQLite and others by Ibis."""
    if address.scheme not in ("duckdb", "sqlite", "postgres", "postgresql"):
        raise DataError(
            f"source: {address.name} is not a file or a database; read it whole by read_scores"
        )
    table = address.parameters.get("table")
    if table is None or len(address.parameters) > 1:
        raise address.error("a scan of a database needs ?table=NAME, and nothing else")
    *schema, own = table.rsplit(".", 1)
    engine = "duckdb" if address.scheme == "duckdb" else "ibis"
    library = _library(engine)
    try:
        if engine == "duckdb":
            connection = library.connect(address.place, read_only=True)
            quoted = ".".join('"' + part.replace('"', '""') + '"' for part in (*schema, own))
            native = connection.sql(f"select * from {quoted}")  # noqa: S608
        else:
            place = address.text.partition("?")[0].replace("postgresql:", "postgres:")
            native = library.connect(place).table(own, database=next(iter(schema), None))
    except Exception as exc:
        # From nothing: the message of a driver may repeat the password of the address.
        raise address.error(f"{type(exc).__name__}: {table!r} cannot be opened") from None
    frame, name = lazy_frame(native), name_of(address.text)
    return OpenedFrame(frame, engine, address.name, name, kind=address.scheme)


# -- tables in memory


def open_beside(opened: OpenedFrame, table: pd.DataFrame) -> OpenedFrame:
    """A table in memory as a lazy frame that can be joined with another one."""
    native: Any = opened.frame.to_native()
    if opened.engine == "duckdb":
        path = _temporary_folder() / f"table-{id(table)}-{len(table)}.parquet"
        table.to_parquet(path, index=False)
        beside = native.query("beside", f"select * from read_parquet({_quoted(path)})")  # noqa: S608
    elif opened.engine == "polars":
        beside = _library("polars").from_pandas(table).lazy()
    elif opened.engine == "dask":
        beside = _library("dask.dataframe").from_pandas(table, npartitions=1)
    elif opened.engine == "spark":
        beside = native.sparkSession.createDataFrame(table)
    else:
        beside = _library("ibis").memtable(table)
    return replace(opened, frame=lazy_frame(beside), place="a table in memory")


def write_rows(rows: LazyTable, path: str | Path) -> None:
    """Write rows to a file by the engine's own writer; half a file is never left behind.

    A .parquet file is written part by part; a .csv or .jsonl file by DuckDB, or from memory.

    Raises
    ------
    DataError
        If the file has another suffix, or the engine writes folders only.
    """
    target = Path(path)
    if target.suffix not in (".parquet", ".csv", ".jsonl"):
        raise DataError(f"path must be a .parquet, .csv or .jsonl file; got {target.name!r}")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as folder:
        file = Path(folder, target.name)
        native: Any = rows.to_native()
        if target.suffix == ".parquet":
            rows.sink_parquet(file)
        elif hasattr(native, "set_alias"):  # a relation of DuckDB
            how = "format csv, header" if target.suffix == ".csv" else "format json"
            native.query("rows", f"copy rows to {_quoted(file)} ({how})")
        elif target.suffix == ".csv":
            collect(rows).to_csv(file, index=False)
        else:
            collect(rows).to_json(file, orient="records", lines=True)
        if not file.is_file():
            raise DataError(f"{target}: this engine writes folders only; leave out path=")
        file.replace(target)
