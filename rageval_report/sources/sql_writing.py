"""Evaluations written to tables of databases, with their descriptions, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from rageval_report.scores import Scored
from rageval_report.scores.saved_tables import describe_table
from rageval_report.sources.base import SavedContent, SourceAddress
from rageval_report.sources.sql_tables import (
    DESCRIPTIONS,
    description_text,
    quote_name,
)


@dataclass(frozen=True)
class SqlDialect:
    """How a database writes types and parameters.

    Parameters
    ----------
    types : mapping of str to str
        The type of a column by its type in pandas.
    text : str
        The type of all other columns.
    mark : str
        The mark of a parameter, "?" or "%s".
    longest_name : int, optional
        The length in bytes to which longer names are cut by the database.
    """

    types: Mapping[str, str]
    text: str
    mark: str
    longest_name: int | None = None


@dataclass(frozen=True, eq=False)
class TableContent:
    """What is written: the rows of an evaluation, and their description.

    Parameters
    ----------
    address : SourceAddress
        With the name of the table.
    dialect : SqlDialect
        Of the database.
    name : str
        The table.
    columns : mapping of str to str
        The types by the names of the columns.
    rows : sequence of tuple
        One per query; NULL where a score is NaN.
    description : str
        With which the table reads back as the same evaluation.
    """

    address: SourceAddress
    dialect: SqlDialect
    name: str
    columns: Mapping[str, str]
    rows: Sequence[tuple[Any, ...]]
    description: str

    @classmethod
    def of(
        cls,
        evaluation: Scored,
        address: SourceAddress,
        dialect: SqlDialect,
        content: SavedContent,
    ) -> TableContent:
        """The content for an address.

        Raises
        ------
        ReaderError
            If the address names no table, or a name is too long for the database.
        """
        name = address.parameters.get("table")
        if not name:
            raise address.error("name the table to write: ?table=NAME")
        frame, document = describe_table(
            *(evaluation, "text"),
            config=content.config,
            notes=content.notes,
            created=content.created,
            correct=content.correct,
            results=content.results,
        )
        columns = {
            str(label): dialect.types.get(str(dtype), dialect.text)
            for label, dtype in frame.dtypes.items()
        }
        _check_names([name, *columns], address, dialect)
        rows = [tuple(map(_stored, cells)) for cells in zip(*_cells(frame), strict=True)]
        return cls(address, dialect, name, columns, rows, description_text(document))


def _check_names(names: Sequence[str], address: SourceAddress, dialect: SqlDialect) -> None:
    longest = dialect.longest_name
    for name in names:
        if longest is not None and len(name.encode()) > longest:
            raise address.error(
                f"the name {name!r} has more than {longest} bytes, to which the database cuts it; "
                "rename it"
            )


def _cells(frame: pd.DataFrame) -> list[list[Any]]:
    return [frame[name].tolist() for name in frame]


def _stored(cell: Any) -> Any:
    """A cell as a database takes it: NULL for NaN."""
    return None if cell is None or cell is pd.NA or cell != cell else cell


def write_table(
    cursor: Any,
    table: TableContent,
    tables: Collection[str],
    *,
    overwrite: bool,
    insert: Callable[[Any, TableContent], None] | None = None,
) -> None:
    """Write a table and its description; the caller begins and ends the transaction.

    Parameters
    ----------
    cursor : cursor of a database
        As PEP 249 has it.
    table : TableContent
        The rows.
    tables : collection of str
        The tables of the database.
    overwrite : bool
        Whether a table of that name is replaced.
    insert : callable, optional
        Inserts the rows in a faster way of the database, with the cursor and the table.

    Raises
    ------
    ReaderError
        If it exists and may not be replaced.
    """
    quoted, mark = quote_name(table.name), table.dialect.mark
    if table.name in tables:
        if not overwrite:
            raise table.address.error(
                f"the table {table.name!r} exists; pass overwrite=True to replace it"
            )
        cursor.execute(f"DROP TABLE {quoted}")
    columns = ", ".join(f"{_quote(name)} {kind}" for name, kind in table.columns.items())
    cursor.execute(f"CREATE TABLE {quoted} ({columns})")
    (insert or _insert_rows)(cursor, table)
    text = table.dialect.text
    cursor.execute(
        f"CREATE TABLE IF NOT EXISTS {DESCRIPTIONS} (table_name {text}, description {text})"
    )
    cursor.execute(f"DELETE FROM {DESCRIPTIONS} WHERE table_name = {mark}", (table.name,))  # noqa: S608
    cursor.execute(
        f"INSERT INTO {DESCRIPTIONS} VALUES ({mark}, {mark})",  # noqa: S608
        (table.name, table.description),
    )


def _insert_rows(cursor: Any, table: TableContent) -> None:
    marks = ", ".join([table.dialect.mark] * len(table.columns))
    statement = f"INSERT INTO {quote_name(table.name)} VALUES ({marks})"  # noqa: S608
    cursor.executemany(statement, table.rows)


def _quote(name: str) -> str:
    """A column, whose name may hold a dot or a percent sign."""
    return '"' + name.replace('"', '""') + '"'
