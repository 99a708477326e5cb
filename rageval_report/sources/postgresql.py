"""PostgreSQL: "postgresql://user@host/database?table=scores"; needs the extra ``postgresql``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from rageval_report.errors import did_you_mean
from rageval_report.scores import Scored
from rageval_report.sources.base import OpenedSources, SavedContent, ScoreSource, SourceAddress
from rageval_report.sources.optional_packages import optional_package
from rageval_report.sources.sql_tables import PARAMETERS, SqlRows, quote_name
from rageval_report.sources.sql_writing import SqlDialect, TableContent, write_table

_FORM = "postgresql://USER@HOST:PORT/DATABASE?table=NAME, or ?query=SELECT ..."
_SECONDS_TO_CONNECT = "10"
# Tables of the search path by their names, others as "schema.table".
_TABLES = """
SELECT CASE WHEN table_schema = ANY (current_schemas(false)) THEN table_name::text
       ELSE table_schema || '.' || table_name END
FROM information_schema.tables
WHERE table_schema NOT IN ('pg_catalog', 'information_schema')
"""
_DIALECT = SqlDialect(
    types={"float64": "DOUBLE PRECISION", "int64": "BIGINT", "bool": "BOOLEAN"},
    text="TEXT",
    mark="%s",
    longest_name=63,  # NAMEDATALEN - 1: PostgreSQL cuts longer names without an error
)


def open_postgresql(address: SourceAddress) -> OpenedSources:
    """The rows of a table or of a query, read in a read-only transaction.

    Raises
    ------
    ReaderError
        If the server cannot be reached, the table does not exist, or the query is not one SELECT.
    MissingDependencyError
        If psycopg is not installed.
    """
    with _connect(address) as connection:
        connection.read_only = True
        tables = tuple(name for (name,) in connection.execute(_TABLES).fetchall())

        def run(statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
            # A cursor is declared for a SELECT only, and a prepared statement is only one: so no
            # text can end the transaction, write, or copy to a file of the server.
            connection.execute(f"DECLARE scores NO SCROLL CURSOR FOR {statement}", prepare=True)
            rows = connection.execute("FETCH ALL FROM scores")
            names = [column.name for column in rows.description or ()]
            fetched = rows.fetchall()
            connection.execute("CLOSE scores")
            return names, fetched

        return SqlRows(address, tables, run).open()


def save_postgresql(
    evaluation: Scored, address: SourceAddress, content: SavedContent, overwrite: bool
) -> str:
    """Write the rows of an evaluation to a table, in one transaction.

    Raises
    ------
    ReaderError
        If the table exists and `overwrite` is not set, or the server refuses.
    MissingDependencyError
        If psycopg is not installed.
    """
    table = TableContent.of(evaluation, address, _DIALECT, content)
    with _connect(address) as connection, connection.transaction():
        tables = [name for (name,) in connection.execute(_TABLES).fetchall()]
        cursor = connection.cursor()
        write_table(cursor, table, tables, overwrite=overwrite, insert=_copy_rows)
    return address.name


def _copy_rows(cursor: Any, table: TableContent) -> None:
    """Insert the rows by COPY, which takes a tenth of the time of INSERT."""
    with cursor.copy(f"COPY {quote_name(table.name)} FROM STDIN") as copy:
        for row in table.rows:
            copy.write_row(row)


@contextmanager
def _connect(address: SourceAddress) -> Iterator[Any]:
    psycopg = optional_package("psycopg")
    settings = _settings(address, psycopg)
    try:
        with psycopg.connect(**settings) as connection:
            yield connection
    except psycopg.Error as exc:
        message = " ".join(str(exc).split())[:300]
        if settings.get("password"):
            message = message.replace(settings["password"], "***")
        hint = _hint(exc, psycopg)
        raise address.error(f"PostgreSQL says: {message}{hint}") from None


def _hint(exc: Exception, psycopg: Any) -> str:
    errors = psycopg.errors
    refusals = (errors.SyntaxError, errors.ReadOnlySqlTransaction, errors.FeatureNotSupported)
    if isinstance(exc, refusals):
        return ". The query must only read: one SELECT"
    return ""


def _settings(address: SourceAddress, psycopg: Any) -> dict[str, str]:
    """The settings of the connection, of which libpq knows the names."""
    own = {name: text for name, text in address.parameters.items() if name not in PARAMETERS}
    for name in own:
        hint = did_you_mean(name, PARAMETERS)
        if hint:
            raise address.error(f"no parameter is named {name!r}.{hint} Expected {_FORM}")
    place = address.text.partition("?")[0]
    text = f"postgresql:{place.partition(':')[2]}" + (f"?{urlencode(own)}" if own else "")
    try:
        settings = optional_package("psycopg.conninfo").conninfo_to_dict(text)
    except psycopg.Error:
        # The message of libpq would repeat a part of the address, which may be the password.
        raise address.error(
            f'the address is not valid; expected {_FORM}. Write "@", ":" and "/" in a password as '
            '"%40", "%3A" and "%2F", or leave it to PGPASSWORD or ~/.pgpass'
        ) from None
    return {"connect_timeout": _SECONDS_TO_CONNECT, **settings}


POSTGRESQL = ScoreSource(
    "postgresql",
    "a table of a PostgreSQL server (extra postgresql)",
    _FORM,
    open_postgresql,
    save_postgresql,
)
