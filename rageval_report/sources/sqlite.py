"""SQLite files, by the standard library: "sqlite:///scores.db?table=scores"."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rageval_report.files.inputs import is_file
from rageval_report.scores import Scored
from rageval_report.sources.base import OpenedSources, SavedContent, ScoreSource, SourceAddress
from rageval_report.sources.sql_tables import PARAMETERS, SqlRows
from rageval_report.sources.sql_writing import SqlDialect, TableContent, write_table

_FORM = "sqlite:///FILE?table=NAME, or ?query=SELECT ...; four slashes before an absolute path"
# What a statement that only reads may do.
_READING = {
    *(sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION),
    sqlite3.SQLITE_RECURSIVE,
}
_TABLES = (
    "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
)
# The words of SQLite for what the authorizer denies.
_REFUSALS = ("not authorized", "authorization denied", "prohibited", "readonly")
_DIALECT = SqlDialect(
    types={"float64": "REAL", "int64": "INTEGER", "bool": "INTEGER"}, text="TEXT", mark="?"
)


def open_sqlite(address: SourceAddress) -> OpenedSources:
    """The rows of a table or of a query.

    Raises
    ------
    ReaderError
        If the file is no database, the table does not exist, or the query is not valid or writes.
    """
    address.check_parameters(PARAMETERS)
    path = _path_of(address)
    if not is_file(path):
        raise address.error(f"there is no file {str(path)!r}")
    with _errors(address), _connect(path, "ro") as connection:
        tables = tuple(name for (name,) in connection.execute(_TABLES))
        connection.set_authorizer(_allow_reading)

        def run(statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
            cursor = connection.execute(statement)
            names = [column[0] for column in cursor.description or ()]
            return names, cursor.fetchall()

        return SqlRows(address, tables, run).open()


def save_sqlite(
    evaluation: Scored, address: SourceAddress, content: SavedContent, overwrite: bool
) -> str:
    """Write the rows of an evaluation to a table, in one transaction.

    Raises
    ------
    ReaderError
        If the table exists and `overwrite` is not set, or the file cannot be written.
    """
    path = _path_of(address)
    table = TableContent.of(evaluation, address, _DIALECT, content)
    existed = path.exists()
    if not path.parent.is_dir():
        raise address.error(f"the folder {str(path.parent)!r} does not exist")
    try:
        with _errors(address), _connect(path, "rwc") as connection:
            connection.execute("BEGIN IMMEDIATE")
            tables = [name for (name,) in connection.execute(_TABLES)]
            try:
                write_table(connection.cursor(), table, tables, overwrite=overwrite)
            except BaseException:
                connection.rollback()
                raise
            connection.commit()
    finally:
        if not existed and is_file(path) and not path.stat().st_size:
            path.unlink()  # nothing was written
    return address.name


@contextmanager
def _connect(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    # Transactions are begun here, so that making a table belongs to them too.
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={mode}", uri=True, isolation_level=None
    )
    try:
        yield connection
    finally:
        connection.close()


@contextmanager
def _errors(address: SourceAddress) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, UnicodeEncodeError) as exc:
        if any(word in str(exc) for word in _REFUSALS):
            raise address.error(
                "the query must only read: one SELECT, without INSERT, UPDATE, DELETE, CREATE, "
                "ATTACH or PRAGMA"
            ) from exc
        raise address.error(f"SQLite says: {exc}") from exc


def _allow_reading(action: int, *_: object) -> int:
    return sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY


def _path_of(address: SourceAddress) -> Path:
    if not address.place:
        raise address.error(f"no file is named; expected {_FORM}")
    return Path(address.place)


SQLITE = ScoreSource("sqlite", "a table of an SQLite file", _FORM, open_sqlite, save_sqlite)
