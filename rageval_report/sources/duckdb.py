"""DuckDB files: "duckdb:///scores.duckdb?table=scores"; needs the extra ``duckdb``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rageval_report.files.inputs import is_file
from rageval_report.scores import Scored
from rageval_report.sources.base import OpenedSources, SavedContent, ScoreSource, SourceAddress
from rageval_report.sources.optional_packages import optional_package
from rageval_report.sources.sql_tables import PARAMETERS, SqlRows
from rageval_report.sources.sql_writing import SqlDialect, TableContent, write_table

_FORM = "duckdb:///FILE?table=NAME, or ?query=SELECT ...; four slashes before an absolute path"
_TABLES = (
    "SELECT CASE WHEN table_schema = current_schema() THEN table_name "
    "ELSE table_schema || '.' || table_name END FROM information_schema.tables"
)
# A query may read the tables of its file, and no other file.
_READING = {"enable_external_access": "false"}
_DIALECT = SqlDialect(
    types={"float64": "DOUBLE", "int64": "BIGINT", "bool": "BOOLEAN"}, text="VARCHAR", mark="?"
)


def open_duckdb(address: SourceAddress) -> OpenedSources:
    """The rows of a table or of a query.

    Raises
    ------
    ReaderError
        If the file is no database, the table does not exist, or the query is not one SELECT.
    MissingDependencyError
        If DuckDB is not installed.
    """
    address.check_parameters(PARAMETERS)
    path = _path_of(address)
    if not is_file(path):
        raise address.error(f"there is no file {str(path)!r}")
    with _connect(address, path, read_only=True, config=_READING) as connection:
        tables = tuple(name for (name,) in connection.execute(_TABLES).fetchall())

        def run(statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
            kinds = [parsed.type.name for parsed in connection.extract_statements(statement)]
            if kinds != ["SELECT"]:
                raise address.error(
                    f"the query must only read: one SELECT; got {', '.join(kinds) or 'nothing'}"
                )
            cursor = connection.execute(statement)
            return [column[0] for column in cursor.description], cursor.fetchall()

        return SqlRows(address, tables, run).open()


def save_duckdb(
    evaluation: Scored, address: SourceAddress, content: SavedContent, overwrite: bool
) -> str:
    """Write the rows of an evaluation to a table, in one transaction.

    Raises
    ------
    ReaderError
        If the table exists and `overwrite` is not set, or the file cannot be written.
    MissingDependencyError
        If DuckDB is not installed.
    """
    table = TableContent.of(evaluation, address, _DIALECT, content)
    with _connect(address, _path_of(address)) as connection:
        tables = [name for (name,) in connection.execute(_TABLES).fetchall()]
        connection.begin()
        try:
            write_table(connection, table, tables, overwrite=overwrite)
        except BaseException:
            connection.rollback()
            raise
        connection.commit()
    return address.name


@contextmanager
def _connect(address: SourceAddress, path: Path, **options: object) -> Iterator[Any]:
    duckdb = optional_package("duckdb")
    try:
        with duckdb.connect(str(path), **options) as connection:
            yield connection
    except duckdb.Error as exc:
        message = " ".join(str(exc).split())
        raise address.error(f"DuckDB says: {message[:300]}") from exc


def _path_of(address: SourceAddress) -> Path:
    if not address.place:
        raise address.error(f"no file is named; expected {_FORM}")
    return Path(address.place)


DUCKDB = ScoreSource(
    "duckdb", "a table of a DuckDB file (extra duckdb)", _FORM, open_duckdb, save_duckdb
)
