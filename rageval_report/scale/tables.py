"""A scanned table: a lazy frame of files, a database or a library, with what its columns are.

The first rows are read as a file of scores is, and described as a table in memory. One pass of the
engine gives the extremes and a score of each kind of every metric; rows that have them are added as
witnesses. Every rule that looks at the scores of a column then decides as if it had seen all.
"""

from __future__ import annotations

import atexit
import math
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, TypeAlias
from uuid import uuid4

import narwhals as nw
import numpy as np
import pandas as pd

from rageval_report import errors
from rageval_report._registry import import_arrow_module, import_parquet, import_pyarrow, load
from rageval_report.analysis.tables import NO_GROUP, no_groups
from rageval_report.errors import DataError, ReaderError, UnknownNameError, named
from rageval_report.files.source import hint_for_missing
from rageval_report.scores import normalise_name
from rageval_report.scores.cells import read_cell
from rageval_report.scores.guard import CHECK_NAMES, doubts_about_scores, notes_with_doubts
from rageval_report.scores.query_ids import QUERY_ID, RepeatedIdsError
from rageval_report.scores.states import MISSING, STATE
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


_SUFFIXES = {
    ".parquet": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "json",
    ".ndjson": "json",
}
_DUCKDB_OPTIONS = {
    "parquet": "hive_partitioning = true, hive_types_autocast = false",
    "csv": "all_varchar = true, header = true, hive_partitioning = false",
    "json": "format = 'newline_delimited', hive_partitioning = false",
}


# Rows that decide what the columns are; a table with no more of them is described as in memory.
MOST_HEAD = 10_000
# Columns of no more rows are listed: no grid is finer than their scores.
MOST_LISTED_ROWS = 2**16
MOST_GROUPS = 10_000
# Rows that a person may read of a metric.
MOST_WORST = 1000
# Rows outside the bounds of their metric, and cells that are no numbers, that are looked at.
_MOST_ODD = 1000
_NUMERAL = r"^\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*$"
# The kinds of scores that `infer_metric` looks at.
_KINDS: tuple[Callable[[Any], Any], ...] = (
    lambda x: (x != 0.0) & (x != 1.0),
    lambda x: x != x.round(),
    lambda x: (x > 0.0) & (x < 1.0),
    lambda x: x == 1.0,
)

# `RAGPipelineEvaluation.load`; this room is below that of evaluations.
Load: TypeAlias = Callable[..., Any]
# Some rows as an evaluation: what analyses need of it.
Head: TypeAlias = SimpleNamespace
OF_HEAD = ("metrics", "notes", "roles", "config", "created", "correct_rule")
# Cells between the least and the largest number of a column.
MOST_CELLS = 2**16


# -- files, databases and lazy frames


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
    errors.check_choice("engine", engine, ("auto", "duckdb", "dask", "spark"))
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
    wanted, is_parquet = "duckdb" if engine == "auto" else engine, kind == "parquet"
    try:
        native = _open_files(wanted, kind, paths, memory_limit or "1GB")
        metadata = import_parquet().read_schema(files[0]).metadata if is_parquet else None
    except errors.MissingDependencyError:
        raise
    except Exception as exc:
        raise ReaderError(f"{wanted} cannot open the file: {exc}", place) from exc
    is_one = len(files) == 1 and folder == files[0].parent
    name = (files[0].name.partition(".")[0] if is_one else folder.name) or "pipeline"
    return OpenedFrame(lazy_frame(native), wanted, place, name, kind, metadata, copies)


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


def _kind_of(path: Path) -> str:
    """The kind of a file: parquet, csv or json."""
    if not path.exists():
        raise ReaderError(f"there is no such file{hint_for_missing(path)}", path)
    for suffix in path.suffixes:
        if suffix.lower() in _SUFFIXES:
            return _SUFFIXES[suffix.lower()]
    raise DataError(
        f"source must be Parquet, CSV or JSON-lines files; {path} is none of these. Read it whole "
        "with read_scores, or save it as Parquet"
    )


def _library(name: str) -> Any:
    """A library of an engine; without it, the error names the extra."""
    return load(name)


@cache
def _connection() -> Any:
    """The connection of all that DuckDB opens, so that it can be joined."""
    connection = _library("duckdb").connect()
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
    if engine != "duckdb" and kind != "parquet":
        raise DataError(f"only Parquet files; read {kind} files with {engine} and pass the frame")
    if engine == "dask":
        return _library("dask.dataframe").read_parquet(paths)
    if engine == "spark":
        return _library("pyspark.sql").SparkSession.builder.getOrCreate().read.parquet(*paths)
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
    library = _library(engine)
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


def open_beside(opened: OpenedFrame, path: Path, name: str) -> OpenedFrame:
    """A saved evaluation as a lazy frame that can be joined with another one."""
    native: Any = opened.frame.to_native()
    saved = import_parquet().read_table(path)
    rows = saved.to_pandas(ignore_metadata=True)
    if opened.engine == "duckdb":
        beside = native.query("beside", f"select * from read_parquet({_quoted(path)})")  # noqa: S608
    elif opened.engine == "polars":
        beside = _library("polars").from_pandas(rows).lazy()
    elif opened.engine == "dask":
        beside = _library("dask.dataframe").from_pandas(rows, npartitions=1)
    elif opened.engine == "spark":
        beside = native.sparkSession.createDataFrame(rows)
    else:
        beside = _library("ibis").memtable(rows)
    metadata = saved.schema.metadata
    return OpenedFrame(lazy_frame(beside), opened.engine, "memory", name, "parquet", metadata)


# -- a table


@dataclass(frozen=True)
class Range:
    """The least and the largest number of a column."""

    low: float
    high: float

    @property
    def width(self) -> float:
        """The width of its cells: a power of two, by which numbers are divided without rounding."""
        spread = max(self.high - self.low, abs(self.low) * 2.0**-52, abs(self.high) * 2.0**-52)
        return 2.0 ** math.ceil(math.log2(spread / MOST_CELLS)) if spread > 0 else 1.0

    def difference(self, baseline: Range) -> Range:
        """Within what the differences lie, this less the baseline."""
        return Range(self.low - baseline.high, self.high - baseline.low)


@dataclass(frozen=True, eq=False)
class ScannedTable:
    """A lazy table with what its columns are.

    Parameters
    ----------
    frame : LazyFrame
        ``query_id`` as text, the metrics as doubles (null where unscored) and the details, by the
        names that `head` has.
    head : Head
        The evaluation of the first rows; its metrics, bounds and notes are those of all rows.
    n_queries, n_scored : int, mapping of str to int
        The number of all rows, and of the scores of each metric.
    ranges : mapping of str to Range
        Within what the scores of each metric lie; of metrics that have scores.
    opened : OpenedFrame
        The frame as it was opened.
    """

    frame: LazyTable
    head: Head
    n_queries: int
    n_scored: Mapping[str, int]
    ranges: Mapping[str, Range]
    opened: OpenedFrame

    @property
    def details(self) -> list[str]:
        """The columns of the frame that are neither metrics nor ids."""
        own = self.frame.collect_schema().names()
        return [name for name in own if name not in self.head.metrics and name != QUERY_ID]

    def has_gaps(self, name: str) -> bool:
        """Whether a query has no score of a metric."""
        return self.n_scored[name] < self.n_queries

    def labels(self, by: str) -> nw.Expr:
        """The group of each query as text, "(none)" for an empty cell."""
        if by not in self.details:
            raise UnknownNameError("detail column", by, self.details)
        return nw.col(by).cast(nw.String).fill_null(NO_GROUP)

    def check_groups(self, by: str) -> None:
        """Refuse a column of too many groups, or of one for every query."""
        first = self.frame.select(self.labels(by).alias("label")).unique().head(MOST_GROUPS + 1)
        labels = collect(first)["label"]
        if len(labels) > MOST_GROUPS:
            raise DataError(f"{by!r} has more than {MOST_GROUPS} groups, too many for a table")
        if len(labels) == self.n_queries > 1:
            raise no_groups(by, str(labels.iloc[0]))

    def state_column(self, name: str) -> str | None:
        """The detail column that says why scores of a metric are missing."""
        labels = [label for label in self.details if label.endswith(STATE)]
        return next((o for o in labels if normalise_name(o.removesuffix(STATE)) == name), None)

    def first_rows(
        self, condition: nw.Expr | None, by: str | None, k: int, *, descending: bool = False
    ) -> pd.DataFrame:
        """Some rows by a column and then by id, index ``query_id``, the metrics first."""
        rows = self.frame.select(QUERY_ID, *self.head.metrics, *self.details)
        rows = rows if condition is None else rows.filter(condition)
        order = [QUERY_ID] if by is None else [by, QUERY_ID]
        rows = rows.sort(*order, descending=[descending, False][-len(order) :], nulls_last=True)
        fetched = collect(rows.head(k)).set_index(QUERY_ID)
        return fetched.astype(dict.fromkeys(self.head.metrics, np.float64))  # type: ignore[no-any-return]

    def details_of(self, ids: pd.Index) -> pd.DataFrame:
        """The details of some queries, in this order."""
        rows = self.first_rows(nw.col(QUERY_ID).is_in(ids.tolist()), None, max(1, len(ids)))
        return rows.drop(columns=list(self.head.metrics)).reindex(ids)

    def with_rows(self, rows: pd.DataFrame) -> Head:
        """Some rows, as `first_rows` gives them, as an evaluation."""
        names = list(self.head.metrics)
        own = {"scores": rows[names], "details": rows.drop(columns=names)}
        return Head(**{**vars(self.head), **own})

    def needs_memory(self, what: str) -> DataError:
        """The error for an analysis that needs every row in memory."""
        n_metrics = len(self.head.metrics)
        size = max(1, 8 * self.n_queries * (n_metrics + 1) // 10**6)
        return DataError(
            f"{what} needs every score in memory: {self.n_queries} rows with {n_metrics} "
            f"metric{'' if n_metrics == 1 else 's'}, about {size} MB. If they fit, bring them into "
            "memory: scan.collect()"
        )


# -- what the columns are


def describe_table(reader: RowReader) -> ScannedTable:
    """Decide what the columns of a lazy frame are.

    Raises
    ------
    ReaderError
        If the rows are no table with one row per query, or a cell holds no number.
    """
    opened = reader.opened
    first = collect(opened.frame.head(MOST_HEAD), "pyarrow")
    if not first.num_rows:
        raise DataError(f"{opened.place}: data must have one row per query; the table is empty")
    head = reader.read(first)
    columns = _TableColumns.of(reader, head)
    columns.check_texts()
    n_queries, facts = columns.look(head)
    if n_queries > MOST_HEAD and (rows := columns.witnesses(head, facts)):
        arrow = import_pyarrow()
        every = arrow.concat_tables([first, *rows], promote_options="permissive")
        ids = every.column(columns.id_column).to_pandas()
        head = reader.read(every.filter(arrow.array(~ids.duplicated())))
    n_scored, ranges, moved = {}, {}, []
    for name, metric in head.metrics.items():
        n_scored[name], low, high = int(facts[name][0]), *facts[name][1:3]
        if n_scored[name]:
            least, most = metric.bounds or (low, high)
            ranges[name] = Range(max(low, least), min(high, most))
            moved += [nw.col(name).clip(least, most)] if low < least or high > most else []
    frame = opened.frame.select(*columns.expressions())
    frame = frame.with_columns(*moved) if moved else frame
    # The notes and the doubts of all rows: those of the first rows count queries.
    head.notes = notes_with_doubts(
        (note for note in head.notes if "allowed by " not in note and " cells of " not in note),
        doubts_about_scores(head.scores, head.metrics, n_scored=n_scored),
        strict=reader.options["strict"],
        allow=reader.options["allow"],
        where=f"{opened.place}: ",
    )
    return ScannedTable(frame, head, n_queries, n_scored, ranges, opened)


@dataclass(frozen=True)
class RowReader:
    """Reads rows of an opened frame as files of scores are, by `RAGPipelineEvaluation.load`."""

    opened: OpenedFrame
    load: Load
    options: Mapping[str, Any]

    def collect(self) -> Any:
        """The evaluation of all rows."""
        return self._evaluation(collect(self.opened.frame, "pyarrow"), self.options)

    def read(self, rows: Any) -> Head:
        """Some rows of Arrow as an evaluation without doubts."""
        quiet = {**self.options, "strict": False, "allow": tuple(CHECK_NAMES)}
        evaluation = self._evaluation(rows, quiet)
        known = ("name", "scores", "details", *OF_HEAD)
        return Head(**{name: getattr(evaluation, name) for name in known})

    def _evaluation(self, rows: Any, options: Mapping[str, Any]) -> Any:
        opened, buffer = self.opened, BytesIO()
        if opened.kind == "csv":
            import_arrow_module("csv").write_csv(rows, buffer)
        else:
            described = rows.replace_schema_metadata(opened.metadata or {})
            import_parquet().write_table(described, buffer)
        try:
            return self.load(opened.name, buffer.getvalue(), totals="keep", **options)
        except DataError as exc:
            raise ReaderError(getattr(exc, "message", str(exc)), path=opened.place) from exc


def _is_blank(texts: nw.Expr) -> nw.Expr:
    return texts.is_null() | (texts.str.strip_chars() == "")


@dataclass(frozen=True)
class _TableColumns:
    """What the columns of an opened frame are, by what the first rows were taken for.

    `texts` are the columns of metrics that are text, `metrics` and `details` expressions by name.
    """

    opened: OpenedFrame
    id_column: str
    texts: list[str]
    metrics: dict[str, nw.Expr]
    details: dict[str, nw.Expr]

    @classmethod
    def of(cls, reader: RowReader, head: Head) -> _TableColumns:
        """The columns; an error if there is none for a metric or for the ids."""
        opened, types = reader.opened, dict(reader.opened.frame.collect_schema())
        by_role = dict(zip(head.roles["column"], head.roles["role"], strict=True))
        sources = {normalise_name(c): c for c, role in by_role.items() if role == "metric"}
        lost = [name for name in head.metrics if sources.get(name) not in types]
        ids = [column for column, role in by_role.items() if role == "id"]
        # An index of pandas is a column of the file, and has no role.
        ids = [c for c in (*ids, reader.options["query_id"] or QUERY_ID) if c in types]
        ids = ids or [column for column in types if column not in by_role]
        if lost or not ids:
            what = f"a column for each metric; {named(lost)} were made of other columns"
            raise ReaderError(
                f"a scan needs {what if lost else 'a column of query ids: query_id=...'}. Load the "
                f"table, or write the scores with save. Columns: {named(types, 12)}",
                path=opened.place,
            )
        others = [c for c, role in by_role.items() if role not in ("metric", "id") and c in types]
        labels = zip(map(str, head.details.columns), others, strict=False)
        details = {name: nw.col(c) for name, c in labels if name not in head.metrics}
        texts, metrics = [], {}
        for name in head.metrics:
            column = number = nw.col(sources[name])
            if types[sources[name]] == nw.String:
                texts.append(sources[name])
                is_numeral = column.str.contains(_NUMERAL)
                number = nw.when(is_numeral).then(column.str.strip_chars())
            number = number.cast(nw.Float64)
            # SQLite stores NaN as NULL, and has no function that tests for NaN.
            is_exact = opened.kind == "sqlite"
            metrics[name] = number if is_exact else nw.when(~number.is_nan()).then(number)
        return cls(opened, ids[0], texts, metrics, details)

    @property
    def query_id(self) -> nw.Expr:
        """The ids as text; null where a number is no id."""
        ids, kind = nw.col(self.id_column), self.opened.frame.collect_schema()[self.id_column]
        if kind.is_float():  # whole numbers, among which a cell was empty
            ids = nw.when(~ids.is_nan() & (ids == ids.round())).then(ids).cast(nw.Int64)
        return (ids if kind == nw.String else ids.cast(nw.String)).alias(QUERY_ID)

    def expressions(self) -> list[nw.Expr]:
        """The ids, the metrics and the details, by their names."""
        columns = (self.metrics | self.details).items()
        return [self.query_id, *(own.alias(name) for name, own in columns)]

    def check_texts(self) -> None:
        """Refuse texts that are no numbers, and do not say that a score is missing."""
        for column in self.texts:
            text = nw.col(column)
            odd = self.opened.frame.filter(~_is_blank(text) & ~text.str.contains(_NUMERAL))
            for cell in collect(odd.select(text).unique().sort(column).head(_MOST_ODD))[column]:
                known = read_cell(cell)
                if not known.is_read or known.state != MISSING:
                    row = collect(odd.filter(text == cell).head(1)).iloc[0]
                    raise ReaderError(
                        f"{normalise_name(column)!r} must be numbers, and empty where a query is "
                        f"unscored; got {cell!r} at {row[self.id_column]!r}. Read the table whole "
                        "with read_scores, which knows such cells",
                        self.opened.place,
                    )

    def look(self, head: Head) -> tuple[int, dict[str, list[float]]]:
        """The number of rows, and of each metric that of its scores, the extremes, and new kinds.

        The kinds are those that `infer_metric` looks at, as far as the first rows do not show them.
        Ids are counted by the way, and bad ones are refused.
        """
        facts, ids = {}, self.query_id
        for name, x in self.metrics.items():
            known = head.scores[name].dropna()
            new = [holds for holds in _KINDS if not holds(known).any()]
            facts[name] = [x.count(), x.min(), x.max(), *(nw.when(h(x)).then(x).min() for h in new)]
        looks = [nw.len(), ids.count(), ids.min(), *chain(*facts.values())]
        wanted = [each.alias(f"_{place}") for place, each in enumerate(looks)]
        n, n_ids, least, *rest = collect(self.opened.frame.select(*wanted)).iloc[0]
        # Not by n_unique, whose cast of a truth value PostgreSQL refuses.
        counts = self.opened.frame.select(ids).group_by(QUERY_ID).agg(nw.len().alias("n"))
        most = collect(counts.select(nw.col("n").max()))["n"].iloc[0]
        if n != n_ids or most > 1 or not str(least).strip():
            self._refuse_ids(counts)
        numbers = iter(np.array(rest, dtype=np.float64).tolist())
        return int(n), {name: [next(numbers) for _ in own] for name, own in facts.items()}

    def _refuse_ids(self, counts: LazyTable) -> None:
        """Name rows without an id, or ids that occur twice."""
        frame, ids = self.opened.frame, self.query_id
        blank = collect(frame.filter(_is_blank(ids)).head(1))
        if len(blank):
            what = "every row needs a query id, a text or an integer; this one has none"
            raise ReaderError(f"{what}: {blank.iloc[0].to_dict()!r:.200}", self.opened.place)
        twice = collect(counts.filter(nw.col("n") > 1).sort(QUERY_ID).head(errors.MOST_NAMED + 1))
        repeated = RepeatedIdsError(twice[QUERY_ID].tolist(), "Remove them, or load the table")
        raise ReaderError(repeated.args[0], self.opened.place)

    def witnesses(self, head: Head, facts: Mapping[str, list[float]]) -> list[Any]:
        """Rows of Arrow with the scores of each kind, and those that lie outside the bounds."""
        parts, frame = [], self.opened.frame
        for name, metric in head.metrics.items():
            x, known, (_, low, high, *kinds) = self.metrics[name], head.scores[name], facts[name]
            least, most = metric.bounds or (-math.inf, math.inf)
            is_outside = low < least or high > most
            if is_outside:
                parts.append(frame.filter((x < least) | (x > most)).head(_MOST_ODD))
            # Within bounds the extremes decide nothing, unless the first scores are all equal.
            is_settled = metric.bounds and not is_outside and known.min() < known.max()
            decide = kinds if is_settled else [low, high, *kinds]
            new = sorted({each for each in decide if not math.isnan(each)} - {*known.tolist()})
            parts += [frame.filter(x == value).head(1) for value in new]
        return [collect(nw.concat(parts), "pyarrow")] if parts else []
