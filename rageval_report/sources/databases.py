"""Tables of databases: SQLite by the standard library, DuckDB, and PostgreSQL by psycopg.

An address names a table or a query: "sqlite:///scores.db?table=scores". A query only reads. A table
that `save` writes has its description in the table `rageval_report_tables`, so that it reads back
as the same evaluation.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

import pandas as pd

from rageval_report.errors import did_you_mean, named
from rageval_report.files.inputs import is_file
from rageval_report.readers.base import text_columns
from rageval_report.readers.described import parse_description, unused
from rageval_report.readers.table_files import TableSource
from rageval_report.scores import Scored
from rageval_report.scores.saved_tables import describe_table
from rageval_report.sources.base import (
    OpenedSources,
    SavedContent,
    ScoreSource,
    SourceAddress,
    optional_package,
)

# The table in which `save` keeps the descriptions of the tables that it writes.
DESCRIPTIONS = "rageval_report_tables"
_PARAMETERS = ("table", "query")
_TEXTS = (date, time, timedelta, UUID)
_MOST_EXACT = 2**53
_ONLY_READ = "the query must only read: one SELECT"

# The names of the columns of an answer, and its rows.
_Answer = tuple[list[str], list[tuple[Any, ...]]]


@dataclass(frozen=True)
class _Database:
    """A kind of database."""

    connect: Callable[[SourceAddress, bool], AbstractContextManager[Any]]
    fetch: Callable[[Any, str, SourceAddress], _Answer]
    tables: str
    types: dict[str, str]  # of numbers, by the type of pandas
    text: str  # the type of all other columns
    mark: str = "?"
    longest_name: int | None = None


def quote_name(name: str) -> str:
    """A name as an identifier of SQL; the parts "schema.table" are quoted apart."""
    return ".".join(map(_quote, name.split(".")))


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# -- reading


def _open(database: _Database, address: SourceAddress) -> OpenedSources:
    """The rows of a table or of a query."""
    query = address.parameters.get("query")
    if query is not None and "table" in address.parameters:
        raise address.error("name a table or a query, not both")
    stem, description = "query", None
    with database.connect(address, False) as connection:
        if query is None:
            names = [name for (name,) in connection.execute(database.tables).fetchall()]
            stem = _table_name(address, [name for name in names if name != DESCRIPTIONS])
            if DESCRIPTIONS in names:
                statement = f"SELECT table_name, description FROM {DESCRIPTIONS}"  # noqa: S608
                texts: dict[str, str] = dict(database.fetch(connection, statement, address)[1])
                description = texts.get(stem)
            query = f"SELECT * FROM {quote_name(stem)}"  # noqa: S608  the name is quoted
        frame = _frame(address, *database.fetch(connection, query, address))
    place = f"the description of this table in {DESCRIPTIONS}"
    table = parse_description(description, place)
    if table.description is not None and not set(table.description.metrics) & set(frame):
        table = unused(place, "the table has none of its metrics")
    what = "a query" if "query" in address.parameters else f"table {stem!r}"
    notes = (f"{len(frame)} rows of {what}", *table.notes)
    source = TableSource(frame, address.name, stem, notes, table.description)
    sentence, why = "rows of a database", "a database returns rows"
    return OpenedSources((source,), address.name, stem, why=why, sentence=sentence)


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
        number_type = str if name in texts else float
        plain = [
            number_type(cell) if isinstance(cell, Decimal)
            else str(cell) if isinstance(cell, _TEXTS)
            else cell
            for cell in cells
        ]  # fmt: skip
        # pandas would turn large integers beside blanks into floats.
        is_large = any(isinstance(cell, int) and abs(cell) > _MOST_EXACT for cell in plain)
        columns[name] = pd.Series(plain, dtype=object if is_large and None in plain else None)
    return pd.DataFrame(columns)


# -- writing


def _save(
    database: _Database,
    evaluation: Scored,
    address: SourceAddress,
    content: SavedContent,
    overwrite: bool,
) -> str:
    """Write the rows of an evaluation to a table, with their description, in one transaction."""
    name = address.parameters.get("table")
    if not name:
        raise address.error("name the table to write: ?table=NAME")
    frame, document = describe_table(evaluation, "text", **vars(content))
    for label in (name, *map(str, frame)):
        longest = database.longest_name
        if longest and len(label.encode()) > longest:
            raise address.error(
                f"the name {label!r} has more than {longest} bytes, to which the database cuts it; "
                "rename it"
            )
    cells = [[None if cell != cell else cell for cell in frame[label].tolist()] for label in frame]
    types = [database.types.get(str(frame[label].dtype), database.text) for label in frame]
    columns = ", ".join(f"{_quote(str(c))} {kind}" for c, kind in zip(frame, types, strict=True))
    table, mark, text = quote_name(name), database.mark, database.text
    marks = ", ".join([mark] * frame.shape[1])
    with database.connect(address, True) as connection:
        cursor = connection.cursor()
        cursor.execute("BEGIN")
        try:
            if name in [known for (known,) in cursor.execute(database.tables).fetchall()]:
                if not overwrite:
                    raise address.error(
                        f"the table {name!r} exists; pass overwrite=True to replace it"
                    )
                cursor.execute(f"DROP TABLE {table}")
            cursor.execute(f"CREATE TABLE {table} ({columns})")
            rows = list(zip(*cells, strict=True))
            cursor.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)  # noqa: S608
            own = f"{DESCRIPTIONS} (table_name {text}, description {text})"
            cursor.execute(f"CREATE TABLE IF NOT EXISTS {own}")
            cursor.execute(f"DELETE FROM {DESCRIPTIONS} WHERE table_name = {mark}", (name,))  # noqa: S608
            row = (name, json.dumps(document))
            cursor.execute(f"INSERT INTO {DESCRIPTIONS} VALUES ({mark}, {mark})", row)  # noqa: S608
        except BaseException:
            cursor.execute("ROLLBACK")
            raise
        cursor.execute("COMMIT")
    return address.name


# -- SQLite and DuckDB

_FILE_FORM = "{}:///FILE?table=NAME, or ?query=SELECT ...; four slashes before an absolute path"
# What a statement that only reads may do, and the words of SQLite for what is refused.
_READING = {
    *(sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION),
    sqlite3.SQLITE_RECURSIVE,
}
_REFUSALS = ("not authorized", "authorization denied", "prohibited", "readonly")


def _path_of(address: SourceAddress, *, writes: bool) -> Path:
    path = Path(address.place)
    if not address.place:
        raise address.error(f"no file is named; expected {_FILE_FORM.format(address.scheme)}")
    if writes and not path.parent.is_dir():
        raise address.error(f"the folder {str(path.parent)!r} does not exist")
    if not writes:
        address.check_parameters(_PARAMETERS)
        if not is_file(path):
            raise address.error(f"there is no file {str(path)!r}")
    return path


@contextmanager
def _connect_to_sqlite(address: SourceAddress, writes: bool) -> Iterator[sqlite3.Connection]:
    path = _path_of(address, writes=writes)
    existed = path.exists()
    try:
        address_of_file = f"{path.resolve().as_uri()}?mode={'rwc' if writes else 'ro'}"
        # Transactions are begun by `_save`, so that making a table belongs to them too.
        connection = sqlite3.connect(address_of_file, uri=True, isolation_level=None)
        try:
            if not writes:
                connection.set_authorizer(
                    lambda action, *_: sqlite3.SQLITE_OK if action in _READING
                    else sqlite3.SQLITE_DENY
                )  # fmt: skip
            yield connection
        finally:
            connection.close()
    except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as exc:
        if any(word in str(exc) for word in _REFUSALS):
            raise address.error(f"{_ONLY_READ}, which changes nothing") from exc
        raise address.error(f"SQLite says: {exc}") from exc
    finally:
        if not existed and is_file(path) and not path.stat().st_size:
            path.unlink()  # nothing was written


def _fetch(connection: Any, statement: str, _: SourceAddress) -> _Answer:
    cursor = connection.execute(statement)
    return [column[0] for column in cursor.description or ()], cursor.fetchall()


@contextmanager
def _connect_to_duckdb(address: SourceAddress, writes: bool) -> Iterator[Any]:
    path = _path_of(address, writes=writes)
    duckdb = optional_package("duckdb")
    # A query may read the tables of its file, and no other file.
    options = {} if writes else {"read_only": True, "config": {"enable_external_access": "false"}}
    try:
        with duckdb.connect(str(path), **options) as connection:
            yield connection
    except duckdb.Error as exc:
        message = " ".join(str(exc).split())
        raise address.error(f"DuckDB says: {message[:300]}") from exc


def _fetch_from_duckdb(connection: Any, statement: str, address: SourceAddress) -> _Answer:
    kinds = [parsed.type.name for parsed in connection.extract_statements(statement)]
    if kinds != ["SELECT"]:
        raise address.error(f"{_ONLY_READ}; got {', '.join(kinds) or 'nothing'}")
    return _fetch(connection, statement, address)


# -- PostgreSQL

_SERVER_FORM = "postgresql://USER@HOST:PORT/DATABASE?table=NAME, or ?query=SELECT ..."


@contextmanager
def _connect_to_postgresql(address: SourceAddress, writes: bool) -> Iterator[Any]:
    psycopg = optional_package("psycopg")
    settings = _settings(address, psycopg)
    try:
        with psycopg.connect(autocommit=writes, **settings) as connection:
            if not writes:
                connection.read_only = True
            yield connection
    except psycopg.Error as exc:
        message = " ".join(str(exc).split())[:300]
        if settings.get("password"):
            message = message.replace(settings["password"], "***")
        errors = psycopg.errors
        refusals = (errors.SyntaxError, errors.ReadOnlySqlTransaction, errors.FeatureNotSupported)
        hint = f". {_ONLY_READ.capitalize()}" if isinstance(exc, refusals) else ""
        raise address.error(f"PostgreSQL says: {message}{hint}") from None


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
        settings = optional_package("psycopg.conninfo").conninfo_to_dict(text)
    except psycopg.Error:
        # The message of libpq would repeat a part of the address, which may be the password.
        raise address.error(
            f'the address is not valid; expected {_SERVER_FORM}. Write "@", ":" and "/" in a '
            'password as "%40", "%3A" and "%2F", or leave it to PGPASSWORD or ~/.pgpass'
        ) from None
    return {"connect_timeout": "10", **settings}


def _fetch_from_postgresql(connection: Any, statement: str, _: SourceAddress) -> _Answer:
    # A cursor is declared for a SELECT only, and a prepared statement is only one: so no text can
    # end the transaction, write, or copy to a file of the server.
    connection.execute(f"DECLARE scores NO SCROLL CURSOR FOR {statement}", prepare=True)
    rows = connection.execute("FETCH ALL FROM scores")
    fetched = [column.name for column in rows.description or ()], rows.fetchall()
    connection.execute("CLOSE scores")
    return fetched


def _source(scheme: str, sentence: str, form: str, database: _Database) -> ScoreSource:
    return ScoreSource(scheme, sentence, form, partial(_open, database), partial(_save, database))


SQLITE = _source(
    "sqlite",
    "a table of an SQLite file",
    _FILE_FORM.format("sqlite"),
    _Database(
        _connect_to_sqlite,
        _fetch,
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
        "AND name NOT LIKE 'sqlite_%'",
        {"float64": "REAL", "int64": "INTEGER", "bool": "INTEGER"},
        "TEXT",
    ),
)
# Tables of the current schema by their names, others as "schema.table".
DUCKDB = _source(
    "duckdb",
    "a table of a DuckDB file (extra duckdb)",
    _FILE_FORM.format("duckdb"),
    _Database(
        _connect_to_duckdb,
        _fetch_from_duckdb,
        "SELECT CASE WHEN table_schema = current_schema() THEN table_name "
        "ELSE table_schema || '.' || table_name END FROM information_schema.tables",
        {"float64": "DOUBLE", "int64": "BIGINT", "bool": "BOOLEAN"},
        "VARCHAR",
    ),
)
POSTGRESQL = _source(
    "postgresql",
    "a table of a PostgreSQL server (extra postgresql)",
    _SERVER_FORM,
    _Database(
        _connect_to_postgresql,
        _fetch_from_postgresql,
        "SELECT CASE WHEN table_schema = ANY (current_schemas(false)) THEN table_name::text "
        "ELSE table_schema || '.' || table_name END FROM information_schema.tables "
        "WHERE table_schema NOT IN ('pg_catalog', 'information_schema')",
        {"float64": "DOUBLE PRECISION", "int64": "BIGINT", "bool": "BOOLEAN"},
        "TEXT",
        mark="%s",
        longest_name=63,  # NAMEDATALEN - 1
    ),
)
