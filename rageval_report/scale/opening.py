"""Opens files with an engine, and takes the lazy frames of other libraries as they are."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import warnings
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pandas as pd

from rageval_report._argument_kinds import describe_kind
from rageval_report._registry import import_parquet, load
from rageval_report.errors import (
    ArgumentKindError,
    DataError,
    RagevalError,
    ReaderError,
    check_choice,
    named,
)
from rageval_report.files.near_names import hint_for_missing
from rageval_report.scale.engines import AUTO, ENGINES
from rageval_report.sources.file_lists import is_partition_name, list_files
from rageval_report.sources.opening import address_of
from rageval_report.sources.remote_files import copy_remote_files
from rageval_report.sources.table import REMOTE_SCHEMES

if TYPE_CHECKING:
    from rageval_report.scale.counted import LazyTable

# What a scan takes: paths, or a frame of another library that has not been computed.
ScanSource: TypeAlias = Any

MEMORY_LIMIT = "1GB"
_KINDS = {".parquet": "parquet", ".csv": "csv", ".tsv": "csv", ".jsonl": "json"}
_KINDS[".ndjson"] = "json"
_PARQUET_MAGIC = b"PAR1"


@dataclass(frozen=True, eq=False)
class OpenedFrame:
    """A lazy frame before anybody has decided what its columns are.

    Parameters
    ----------
    frame : LazyFrame
        The rows.
    engine : str
        What computes it: "duckdb", "dask", "spark", "polars", "ibis" or another of narwhals.
    place : str
        The files, for messages.
    name : str
        The name of the pipeline, if nobody states one.
    metadata : mapping, optional
        What the first Parquet file states, such as a description of metrics.
    partitions : tuple of str
        The columns that the folders of the files state.
    has_texts : bool
        Whether every column is text, as in CSV files.
    copies : object, optional
        Holds the copies of remote files, which last as long as this.
    """

    frame: LazyTable
    engine: str
    place: str
    name: str = "pipeline"
    metadata: Any = None
    partitions: tuple[str, ...] = ()
    has_texts: bool = False
    copies: object = None


def open_frame(
    source: ScanSource,
    *,
    engine: str = AUTO,
    memory_limit: str | None = None,
    delimiter: str | None = None,
) -> OpenedFrame:
    """Open files with an engine, or take a lazy frame.

    Parameters
    ----------
    source : str, PathLike, list of these, or a lazy frame
        Parquet, CSV or JSON-lines files, a folder, a glob, or a list of these.
    engine : {"auto", "duckdb", "dask", "spark"}
        What opens the files; "auto" is DuckDB. A lazy frame has its own.
    memory_limit : str, optional
        The memory that DuckDB may use before it writes to disk; 1 GB if omitted.
    delimiter : str, optional
        The character that separates the fields of CSV files.

    Raises
    ------
    ReaderError
        If a file is missing or damaged.
    DataError
        If the files are of several kinds.
    """
    check_choice("engine", engine, ENGINES)
    address = address_of(source)
    is_path = isinstance(source, str | Path | list | tuple) or hasattr(source, "__fspath__")
    if address is None and not is_path:
        return _of_native(source)
    if address is not None and address.scheme not in REMOTE_SCHEMES:
        raise DataError(
            f"source: {address.name} is not a file; a scan reads files and lazy frames. Pass the "
            "table as a frame of Ibis, or read it whole by read_scores"
        )
    copies = None
    if address is not None:
        copies, source = copy_remote_files(address)
    files = list_files(source, "source").files
    kinds = {_kind_of(path): path for path in files}
    if len(kinds) > 1:
        raise DataError(f"source must be files of one kind; got {named(map(str, kinds.values()))}")
    kind, paths = next(iter(kinds)), [str(path) for path in files]
    wanted = "duckdb" if engine == AUTO else engine
    folder = files[0].parent
    while is_partition_name(folder.name):
        folder = folder.parent
    place = paths[0] if len(paths) == 1 else f"{len(paths)} files of {folder}"
    sign = delimiter or ("\t" if ".tsv" in files[0].suffixes else "")
    if wanted == "duckdb":
        _limit_memory(memory_limit or MEMORY_LIMIT)
    try:
        native = _OPENERS[wanted](kind, paths, sign)
    except RagevalError:
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
        has_texts=kind == "csv",
        copies=copies,
    )


def engine_library(name: str) -> Any:
    """A library that engines need, or an error with the line that installs it."""
    return load(name)


def lazy_frame(native: object) -> LazyTable:
    """A native lazy frame as one of narwhals."""
    engine_library("narwhals")
    import narwhals as nw

    with warnings.catch_warnings():
        # That its support of Dask will move into a package of its own.
        warnings.simplefilter("ignore", FutureWarning)
        frame: Any = nw.from_native(native, pass_through=True)
    if not isinstance(frame, nw.LazyFrame):
        raise ArgumentKindError(
            "source must be files (a path, a list, a folder, a glob) or a lazy frame of DuckDB, "
            f"Polars, Dask, Spark or Ibis; got {describe_kind(native)}. For a table in memory use "
            "RAGPipelineEvaluation(name, data)"
        )
    return frame


def _of_native(source: Any) -> OpenedFrame:
    """The lazy frame that a user holds."""
    if hasattr(source, "map_partitions") and source.index.name is not None:  # the ids of Dask
        source = source.reset_index()
    frame = lazy_frame(source)
    engine = frame.implementation.value.replace("pyspark", "spark")
    return OpenedFrame(frame, engine, f"the frame of {engine}")


# -- files and engines


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


@cache
def duckdb_connection() -> Any:
    """The connection of all files that DuckDB opens, so that they can be joined."""
    connection = engine_library("duckdb").connect()
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


def _limit_memory(memory_limit: str) -> None:
    try:
        duckdb_connection().execute(f"set memory_limit = {_quoted(memory_limit)}")
    except engine_library("duckdb").Error as exc:
        raise DataError(
            f"memory_limit must be a size such as 500MB or 2GB; got {memory_limit!r}"
        ) from exc


def _open_by_duckdb(kind: str, paths: list[str], delimiter: str) -> object:
    options = {
        "parquet": "hive_partitioning = true, hive_types_autocast = false",
        "csv": "all_varchar = true, header = true, hive_partitioning = false",
        "json": "format = 'newline_delimited', hive_partitioning = false",
    }
    stated = f", delim = {_quoted(delimiter)}" if delimiter and kind == "csv" else ""
    listed = ", ".join(map(_quoted, paths))
    query = f"select * from read_{kind}([{listed}], {options[kind]}{stated})"  # noqa: S608
    return duckdb_connection().sql(query)


def _open_by_dask(kind: str, paths: list[str], delimiter: str) -> object:
    dask = engine_library("dask.dataframe")
    if kind == "csv":
        return dask.read_csv(paths, dtype=str, sep=delimiter or ",")
    return dask.read_parquet(paths) if kind == "parquet" else dask.read_json(paths, lines=True)


def _open_by_spark(kind: str, paths: list[str], delimiter: str) -> object:
    reader = engine_library("pyspark.sql").SparkSession.builder.getOrCreate().read
    if kind == "csv":
        return reader.option("header", True).option("sep", delimiter or ",").csv(paths)
    return reader.parquet(*paths) if kind == "parquet" else reader.json(paths)


_OPENERS = {"duckdb": _open_by_duckdb, "dask": _open_by_dask, "spark": _open_by_spark}


# -- tables in memory


def open_beside(opened: OpenedFrame, table: pd.DataFrame) -> OpenedFrame:
    """A table in memory as a lazy frame that can be joined with another one."""
    native: Any = opened.frame.to_native()
    if opened.engine == "duckdb":
        path = temporary_folder() / f"table-{id(table)}-{len(table)}.parquet"
        table.to_parquet(path, index=False)
        query = f"select * from read_parquet({_quoted(path)})"  # noqa: S608
        beside = native.query("beside", query)
    elif opened.engine == "polars":
        beside = engine_library("polars").from_pandas(table).lazy()
    elif opened.engine == "dask":
        beside = engine_library("dask.dataframe").from_pandas(table, npartitions=1)
    elif opened.engine == "spark":
        beside = native.sparkSession.createDataFrame(table)
    else:
        beside = engine_library("ibis").memtable(table)
    return replace(opened, frame=lazy_frame(beside), place="a table in memory")


def write_rows(rows: LazyTable, path: str | Path) -> None:
    """Write rows to a Parquet file by the engine's own writer; half a file is never left behind.

    Raises
    ------
    DataError
        If the file has another suffix, or the engine writes folders only.
    """
    target = Path(path)
    if target.suffix != ".parquet":
        raise DataError(f"path must be a .parquet file; got {target.name!r}")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".") as folder:
        file = Path(folder, target.name)
        rows.sink_parquet(file)
        if not file.is_file():
            raise DataError(f"{target}: this engine writes folders only; leave out path=")
        file.replace(target)
