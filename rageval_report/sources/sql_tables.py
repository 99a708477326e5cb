"""Tables of databases: which rows an address names, and their cells as a file would have them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pandas as pd

from rageval_report.errors import did_you_mean, named
from rageval_report.files.strict_json import NotJSONError, parse_json
from rageval_report.readers.base import text_columns
from rageval_report.readers.described import (
    DescribedTable,
    parse_description,
)
from rageval_report.readers.table_inputs import TableSource
from rageval_report.sources.base import OpenedSources, SourceAddress

# The table in which `save` keeps the descriptions of the tables that it writes.
DESCRIPTIONS = "rageval_report_tables"
PARAMETERS = ("table", "query")

_TEXTS = (date, time, timedelta, UUID)
_MOST_EXACT = 2**53

# Runs one statement and returns the names of its columns and its rows.
RunQuery = Callable[[str], tuple[list[str], list[tuple[Any, ...]]]]


@dataclass(frozen=True)
class SqlRows:
    """What an address of a database names, and how it is fetched.

    Parameters
    ----------
    address : SourceAddress
        With the parameter "table" or "query".
    tables : tuple of str
        The tables and views of the database.
    run : callable
        Runs a statement that only reads.
    """

    address: SourceAddress
    tables: tuple[str, ...]
    run: RunQuery

    def open(self) -> OpenedSources:
        """The rows as one table.

        Raises
        ------
        ReaderError
            If there is no such table, or there are no rows.
        """
        query = self.address.parameters.get("query")
        return self._open_query(query) if query is not None else self._open_table()

    def _open_query(self, query: str) -> OpenedSources:
        if "table" in self.address.parameters:
            raise self.address.error("name a table or a query, not both")
        frame = self._frame(query)
        note = f"{len(frame)} rows of a query"
        table = TableSource(frame, self.address.name, "query", [note])
        return self._opened(table, "query")

    def _open_table(self) -> OpenedSources:
        name = self.address.parameters.get("table") or self._only_table()
        own = [table for table in self.tables if table != DESCRIPTIONS]
        if name not in own:
            listed = f"it has {named(own, 10)}" if own else "the database has none"
            hint = did_you_mean(name, own)
            raise self.address.error(f"there is no table {name!r}.{hint} Tables: {listed}")
        frame = self._frame(f"SELECT * FROM {quote_name(name)}")  # noqa: S608  the name is quoted
        description = self._description_of(name)
        note = f"{len(frame)} rows of table {name!r}"
        source = TableSource(
            frame, self.address.name, name, [note, *description.notes], description.description
        )
        return self._opened(source, name)

    def _opened(self, source: TableSource, stem: str) -> OpenedSources:
        sentence, why = "rows of a database", "a database returns rows"
        return OpenedSources((source,), self.address.name, stem, why=why, sentence=sentence)

    def _only_table(self) -> str:
        own = [table for table in self.tables if table != DESCRIPTIONS]
        if len(own) == 1:
            return own[0]
        listed = f"; it has {named(own, 10)}" if own else "; it has none"
        raise self.address.error(
            f"name a table, ?table=NAME, or a query, ?query=SELECT ...{listed}"
        )

    def _frame(self, statement: str) -> pd.DataFrame:
        names, rows = self.run(statement)
        repeated = [name for name, n in Counter(names).items() if n > 1]
        if repeated:
            raise self.address.error(
                f"the query returns several columns named {named(repeated)}; rename them with AS"
            )
        if not rows:
            what = "query returned" if "query" in self.address.parameters else "table has"
            raise self.address.error(f"the {what} no rows; its columns are {named(names, 12)}")
        texts = set(text_columns(names, None))
        cells = zip(*rows, strict=True)
        return pd.DataFrame(
            {
                name: _column(column, is_text=name in texts)
                for name, column in zip(names, cells, strict=True)
            }
        )

    def _description_of(self, name: str) -> DescribedTable:
        if DESCRIPTIONS not in self.tables:
            return DescribedTable()
        _, rows = self.run(f"SELECT table_name, description FROM {DESCRIPTIONS}")  # noqa: S608
        texts = [text for table, text in rows if table == name]
        if not texts:
            return DescribedTable()
        place = f"the description of this table in {DESCRIPTIONS}"
        try:
            table = parse_description(parse_json(texts[0]), place)
        except NotJSONError as exc:
            table = parse_description(str(exc), place)
        return table


def quote_name(name: str) -> str:
    """A name as an identifier of SQL; the parts "schema.table" are quoted apart.

    Examples
    --------
    >>> quote_name('sco"res'), quote_name("rag.scores")
    ('"sco""res"', '"rag"."scores"')
    """
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def description_text(document: Mapping[str, Any]) -> str:
    """The description of a table as text."""
    return json.dumps(document, ensure_ascii=True)


def _column(cells: Sequence[Any], *, is_text: bool) -> pd.Series:
    """The cells of a column as a file would have them: no decimals, dates as texts."""
    plain = [_plain_cell(cell, is_text=is_text) for cell in cells]
    if _would_lose_digits(plain):
        return pd.Series(plain, dtype=object)
    return pd.Series(plain)


def _plain_cell(cell: Any, *, is_text: bool) -> Any:
    if isinstance(cell, Decimal):
        return str(cell) if is_text else float(cell)
    return str(cell) if isinstance(cell, _TEXTS) else cell


def _would_lose_digits(cells: Sequence[Any]) -> bool:
    """Whether pandas would turn large integers beside blanks into floats."""
    return None in cells and any(
        isinstance(cell, int) and abs(cell) > _MOST_EXACT for cell in cells
    )
