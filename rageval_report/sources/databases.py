"""Tables of databases: SQLite by the standard library, DuckDB, and PostgreSQL by psycopg.

An address names a table or a query: "sqlite:///scores.db?table=scores". Connections only read.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date, time, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pandas as pd

from rageval_report._registry import load
from rageval_report.errors import did_you_mean, named
from rageval_report.files.inputs import is_file
from rageval_report.readers.base import text_columns
from rageval_report.readers.record_columns import frame_of
from rageval_report.readers.table_files import TableSource
from rageval_report.sources.base import OpenedSources, ScoreSource, SourceAddress

_PARAMETERS = ("table", "query")
_TEXTS = (date, time, timedelta, UUID)
_LONGEST_ERROR = 300

_Connect = Callable[[SourceAddress], AbstractContextManager[Any]]


def _open(connect: _Connect, tables: str, address: SourceAddress) -> OpenedSources:
    """The rows of a table or of a query."""
    query, stem = address.parameters.get("query"), "query"
    if query is not None and "table" in address.parameters:
        raise address.error("name a table or a query, not both")
    with connect(address) as connection:
        if query is None:
            stem = _table_name(address, [name for (name,) in connection.execute(tables).fetchall()])
            quoted = ".".join('"' + part.replace('"', '""') + '"' for part in stem.split("."))
            query = f"SELECT * FROM {quoted}"  # noqa: S608  the name is quoted
        # Whatever the text is, as a part of a statement it can only select.
        whole = f"SELECT * FROM (\n{query.strip().rstrip(';')}\n) AS scores"  # noqa: S608
        cursor = connection.execute(whole)
        names = [column[0] for column in cursor.description or ()]
        frame = _frame(address, names, cursor.fetchall())
    what = "a query" if "query" in address.parameters else f"table {stem!r}"
    source = TableSource(frame, address.name, stem, [f"{len(frame)} rows of {what}"])
    return OpenedSources((source,), address.name, stem)


def _table_name(address: SourceAddress, tables: Sequence[str]) -> str:
    name = address.parameters.get("table") or (tables[0] if len(tables) == 1 else None)
    listed = f"it has {named(tables, 10)}" if tables else "the database has none"
    if name is None:
        raise address.error(f"name a table, ?table=NAME, or a query, ?query=SELECT ...; {listed}")
    if name not in tables:
        hint = did_you_mean(name, tables)
        raise address.error(f"there is no table {name!r}.{hint} Tables: {listed}")
    return name


def _frame(
    address: SourceAddress, names: Sequence[str], rows: Sequence[Sequence[Any]]
) -> pd.DataFrame:
    """The rows with cells as a file would have them: no decimals, dates as texts."""
    repeated = [name for name, n in Counter(names).items() if n > 1]
    if repeated:
        raise address.error(
            f"the query returns several columns named {named(repeated)}; rename them with AS"
        )
    if not rows:
        what = "query returned" if "query" in address.parameters else "table has"
        raise address.error(f"the {what} no rows; its columns are {named(names, 12)}")
    texts = text_columns(names, None)
    columns = {}
    for name, cells in zip(names, zip(*rows, strict=True), strict=True):
        columns[name] = [_plain(cell, is_text=name in texts) for cell in cells]
    return frame_of(columns)


def _plain(cell: Any, *, is_text: bool) -> Any:
    if isinstance(cell, Decimal):
        return str(cell) if is_text else float(cell)
    return str(cell) if isinstance(cell, _TEXTS) else cell


def _error(address: SourceAddress, database: str, exc: Exception, password: str = "") -> Exception:
    message = " ".join(str(exc).split())[:_LONGEST_ERROR]
    if password:
        message = message.replace(password, "***")
    hint = ". The query must only read: one SELECT" if "query" in address.parameters else ""
    return address.error(f"{database} says: {message}{hint}")


# -- SQLite and DuckDB

_FILE_FORM = "{}:///FILE?table=NAME, or ?query=SELECT ...; four slashes before an absolute path"


def _path_of(address: SourceAddress) -> Path:
    address.check_parameters(_PARAMETERS)
    if not address.place:
        raise address.error(f"no file is named; expected {_FILE_FORM.format(address.scheme)}")
    path = Path(address.place)
    if not is_file(path):
        raise address.error(f"there is no file {str(path)!r}")
    return path


@contextmanager
def _connect_to_sqlite(address: SourceAddress) -> Iterator[sqlite3.Connection]:
    uri = f"{_path_of(address).resolve().as_uri()}?mode=ro"
    try:
        connection = sqlite3.connect(uri, uri=True)
        try:
            yield connection
        finally:
            connection.close()
    except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as exc:
        raise _error(address, "SQLite", exc) from exc


@contextmanager
def _connect_to_duckdb(address: SourceAddress) -> Iterator[Any]:
    path, duckdb = _path_of(address), load("duckdb")
    # A query may read the tables of its file, and no other file.
    settings = {"enable_external_access": "false"}
    try:
        with duckdb.connect(str(path), read_only=True, config=settings) as connection:
            yield connection
    except duckdb.Error as exc:
        raise _error(address, "DuckDB", exc) from exc


# -- PostgreSQL

_SERVER_FORM = "postgresql://USER@HOST:PORT/DATABASE?table=NAME, or ?query=SELECT ..."


@contextmanager
def _connect_to_postgresql(address: SourceAddress) -> Iterator[Any]:
    psycopg = load("psycopg")
    settings = _settings(address, psycopg)
    try:
        with psycopg.connect(**settings) as connection:
            connection.read_only = True
            connection.prepare_threshold = 0  # a prepared statement is only one
            yield connection
    except psycopg.Error as exc:
        raise _error(address, "PostgreSQL", exc, settings.get("password", "")) from None


def _settings(address: SourceAddress, psycopg: Any) -> dict[str, str]:
    """The settings of the connection, of which libpq knows the names."""
    own = {name: text for name, text in address.parameters.items() if name not in _PARAMETERS}
    for name in own:
        hint = did_you_mean(name, _PARAMETERS)
        if hint:
            raise address.error(f"no parameter is named {name!r}.{hint} Expected {_SERVER_FORM}")
    place = address.text.partition("?")[0]
    text = f"postgresql:{place.partition(':')[2]}" + (f"?{urlencode(own)}" if own else "")
    try:
        settings = psycopg.conninfo.conninfo_to_dict(text)
    except psycopg.Error:
        # The message of libpq would repeat a part of the address, which may be the password.
        raise address.error(
            f'the address is not valid; expected {_SERVER_FORM}. Write "@", ":" and "/" in a '
            'password as "%40", "%3A" and "%2F", or leave it to PGPASSWORD or ~/.pgpass'
        ) from None
    return {"connect_timeout": "10", **settings}


SQLITE = ScoreSource(
    "sqlite",
    "a table of an SQLite file",
    _FILE_FORM.format("sqlite"),
    partial(
        _open,
        _connect_to_sqlite,
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite_%'",
    ),
)
# Tables of the current schema by their names, others as "schema.table".
_TABLES = (
    "SELECT CASE WHEN table_schema = current_schema() THEN table_name "
    "ELSE table_schema || '.' || table_name END FROM information_schema.tables "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')"
)
DUCKDB = ScoreSource(
    "duckdb",
    "a table of a DuckDB file (extra duckdb)",
    _FILE_FORM.format("duckdb"),
    partial(_open, _connect_to_duckdb, _TABLES),
)
POSTGRESQL = ScoreSource(
    "postgresql",
    "a table of a PostgreSQL server (extra postgresql)",
    _SERVER_FORM,
    partial(_open, _connect_to_postgresql, _TABLES),
)
