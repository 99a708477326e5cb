"""Tables of delimited text: CSV, TSV, and tables with semicolons or bars.

The delimiter and the header are found first, then pandas parses the text. pandas fills short rows
with blanks, so the rows are walked through by Python's csv where that may have happened.
"""

from __future__ import annotations

import csv
import io
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import pandas as pd
from pandas.errors import ParserWarning

from rageval_report.errors import DataError, named
from rageval_report.files.outgoing_text import restore_formula
from rageval_report.files.source import Source
from rageval_report.readers.base import (
    Reader,
    ScoreFile,
    check_no_data_in_header,
    check_unique_names,
    select_columns,
    single_pipeline,
    text_columns,
)
from rageval_report.readers.cell_values import restore_formulas, use_decimal_sign
from rageval_report.readers.described import (
    DescribedTable,
    described_file,
    description_beside,
    unused,
)
from rageval_report.scores.query_ids import QUERY_ID, QUESTION, first_named, id_column_of
from rageval_report.scores.query_rows import left_out_note, reason_of_line, rows_without_content
from rageval_report.scores.saved_tables import COMPANION, TableDescription
from rageval_report.scores.write import BLANKS

csv.field_size_limit(sys.maxsize)  # a cell may hold all contexts of a query

DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 50  # rows that are looked at to find the delimiter
_NUMBER = re.compile(r"\s*[-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?\s*")
_DECIMAL = re.compile(r"\s*[-+]?\d*\.\d+(?:[eE][-+]?\d+)?\s*")
# Excel's hint for the delimiter, as the first line of a file.
_SEPARATOR_HINT = re.compile(r"\s*\"?sep=.\"?\s*", re.IGNORECASE)

# pandas would read "None", "NA" and "null" as missing, but they can be answers. Before 3.1 it
# rounds the last digit of some numbers wrongly by default.
_PARSING: dict[str, Any] = {"index_col": False, "keep_default_na": False, "na_values": [""]}
if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
    _PARSING["float_precision"] = "round_trip"

_ERRORS = (ValueError, OverflowError, ParserWarning)  # of pandas
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")


# -- rows


class DelimitedRow(NamedTuple):
    """One record: the line where it begins, its text, and its cells."""

    line: int
    text: str
    cells: list[str]


def rows(text: str, delimiter: str, line: int = 1) -> Iterator[DelimitedRow]:
    """The records that are not blank, in order; `line` is the number of the first line."""
    raw: list[str] = []

    def lines() -> Iterator[str]:
        for each in _each_line(text):
            raw.append(each)
            yield each

    for cells in csv.reader(lines(), delimiter=delimiter):
        if len(cells) > 1 or (cells and cells[0].strip(" \t")):
            yield DelimitedRow(line, "".join(raw), cells)
        line += len(raw)
        raw.clear()


def _each_line(text: str) -> Iterator[str]:
    """The lines with their ends, one by one: of a large text only the first may be wanted."""
    return (match[0] for match in _LINE.finditer(text))


def _lines(text: str) -> list[str]:
    return list(io.StringIO(text, newline=""))


def is_cut(row: DelimitedRow, delimiter: str) -> bool:
    """Whether a quote in a row is never closed: what is added falls into its last cell."""
    [longer] = rows(row.text.rstrip("\r\n") + f"{delimiter}x", delimiter)
    return len(longer.cells) == len(row.cells)


class _LeftOut(NamedTuple):
    """A line that is not a row, and what it is."""

    line: int
    reason: str


def _start(text: str, delimiter: str) -> tuple[int, int, list[_LeftOut]]:
    """The offset of the header, its line, and the lines before it."""
    left_out: list[_LeftOut] = []
    offset = 0
    for number, line in enumerate(_each_line(text), 1):
        if line.strip():
            is_hint = not left_out and _SEPARATOR_HINT.fullmatch(line)
            reason = "the delimiter" if is_hint else reason_of_line(line.strip("\r\n"))
            is_marked_header = reason == "a comment" and _names_ids(line, delimiter)
            if not reason or is_marked_header:
                return offset, number, left_out
            left_out.append(_LeftOut(number, reason))
        offset += len(line)
    return 0, 1, []


def _names_ids(line: str, delimiter: str) -> bool:
    """Whether a line that begins with "#" is the header."""
    names = [cell.strip().lstrip("#/ ") for cell in line.split(delimiter)]
    return len(names) > 1 and (
        id_column_of(names) is not None or first_named(names, QUESTION) is not None
    )


# -- which delimiter


def _sample_of(source: Source) -> str:
    return source.sample.decode("utf-8", "surrogatepass")


def _fits_of(source: Source) -> dict[str, tuple[float, int]]:
    """For each delimiter the share of rows as wide as the header, and that width."""
    text = source.once(_sample_of)
    return {delimiter: _fit(text, delimiter) for delimiter in DELIMITERS}


def _fit(text: str, delimiter: str) -> tuple[float, int]:
    offset, _, _ = _start(text, delimiter)
    first = list(islice(rows(text[offset:], delimiter), _SAMPLE + 1))
    width = len(first[0].cells) if first else 0
    if width < 2:
        return 0.0, 0
    # Dashes, comments and footers are no rows.
    alike = [len(row.cells) == width for row in first[1:] if not reason_of_line(row.text.strip())]
    return sum(alike) / len(alike) if alike else 1.0, width


def best_delimiters(source: Source) -> list[str]:
    r"""The delimiters that fit a text best: none for a single column, several if they tie."""
    if source.sample.isspace():
        return []
    fits = source.once(_fits_of)
    best = max(fits.values())
    return [delimiter for delimiter, fit in fits.items() if fit == best and fit[1] > 1]


def _mark(source: Source, *delimiters: str) -> float:
    if not source.is_text or source.starts_like_json:
        return 0.0
    description = source.once(_description_of).description
    if description is not None:
        return 1.0 if description.delimiter in delimiters else 0.0
    best = [delimiter for delimiter in best_delimiters(source) if delimiter in delimiters]
    if not best:
        return 0.0
    agreement = source.once(_fits_of)[best[0]][0]
    # From 0.7 to 0.9 for a table, so that a framework's own reader (0.92 and more) goes first.
    return 0.5 + 0.4 * agreement if agreement >= 0.5 else 0.3


def _find_delimiter(source: Source) -> str:
    best = best_delimiters(source)
    if len(best) > 1:
        raise source.error(
            f"{named(best)} split the table equally well; choose one: delimiter={best[0]!r}"
        )
    return best[0] if best else ","


# -- the text of a table

_RULE = re.compile(r"[ \t|+:=\-]*-[ \t|+:=\-]*")
_BAR = re.compile(r"(?<!\\)\|")


def _without_bars(text: str) -> str:
    """A table of Markdown or of a database shell without outer bars, blanks and dashes."""
    if not re.match(r"\s*[|+]|[^|\n]*[ ]\|", text):
        return text
    written = io.StringIO(newline="")
    writer = csv.writer(written, delimiter="|", lineterminator="\n")
    for line in map(str.strip, _lines(text)):
        if _RULE.fullmatch(line) or not line:
            written.write("\n")
        else:
            cells = _BAR.split(line.removeprefix("|").removesuffix("|"))
            writer.writerow([cell.strip().replace("\\|", "|") for cell in cells])
    return written.getvalue()


@dataclass(frozen=True, eq=False)
class _Table:
    """The names of the columns, the text below them, and its first line; what was left out."""

    source: Source
    delimiter: str
    header: list[str]
    body: str
    line: int
    left_out: tuple[_LeftOut, ...] = ()

    @classmethod
    def of(cls, source: Source, text: str, delimiter: str) -> _Table:
        """The table in the text, or the beginning of the text, of a file."""
        text = _without_bars(text) if delimiter == "|" else text
        offset, line, left_out = _start(text, delimiter)
        header = next(rows(text[offset:], delimiter, line), None)
        if header is None:
            raise source.error("expected a header and rows; the file contains only blanks")
        body = text[offset + len(header.text) :]
        if not body and is_cut(header, delimiter):
            raise source.error("a quote in the header is never closed; is the file cut?", line=line)
        names = [cell.strip() for cell in header.cells]
        if names[0].startswith("#") and len(names[0]) > 1 and len(names) > 1:
            names[0] = names[0].lstrip("# ") or names[0]
        unique_names = [name or f"Unnamed: {position}" for position, name in enumerate(names)]
        check_no_data_in_header(source, names, line)
        check_unique_names(source, unique_names, line)
        below = line + len(_lines(header.text))
        return cls(source, delimiter, unique_names, body, below, tuple(left_out))

    @cached_property
    def rows(self) -> list[DelimitedRow]:
        """The rows below the header."""
        return list(rows(self.body, self.delimiter, self.line))

    def line_of_row(self, row: int) -> int:
        """The line of a row, which is counted from 0."""
        return self.rows[row].line

    def without(self, reasons: dict[int, str]) -> _Table:
        """The table with blanks in place of some lines, so that the others keep their numbers."""
        if not reasons:
            return self
        lines = _lines(self.body)
        for line in reasons:
            lines[line - self.line] = re.sub(r"[^\r\n]", "", lines[line - self.line])
        left_out = [_LeftOut(*pair) for pair in reasons.items()]
        return replace(self, body="".join(lines), left_out=(*self.left_out, *left_out))

    def checked(self) -> _Table:
        """The table without comments and footers between its rows; each row is as wide as it."""
        width = len(self.header)
        wrong = [row for row in self.rows if len(row.cells) != width]
        foreign = self._foreign(wrong)
        if foreign:
            return self.without(foreign).checked()
        if wrong:
            raise self.source.error(
                f"expected {width} fields, as in the header; found {len(wrong[0].cells)}. Is a "
                "delimiter or a quote missing, or the file cut?",
                line=wrong[0].line,
            )
        if not self.rows:
            raise self.source.error("the file has column names, but no rows")
        if is_cut(self.rows[-1], self.delimiter):
            message = "a quote in this row is never closed; is the file cut?"
            raise self.source.error(message, line=self.rows[-1].line)
        self._check_no_row_is_swallowed()
        return self

    def _foreign(self, wrong: Sequence[DelimitedRow]) -> dict[int, str]:
        """The lines among rows of another width that are comments, dashes or footers."""
        reasons = {row.line: reason_of_line(row.text.strip("\r\n")) for row in wrong}
        return {
            row.line: reason
            for row in wrong
            if (reason := reasons[row.line])
            and (len(row.cells) == 1 or not any(map(_DECIMAL.fullmatch, row.cells)))
        }

    def _check_no_row_is_swallowed(self) -> None:
        """Refuse a quoted cell that begins and ends within lines that would be rows without it."""
        pattern = next((row.cells for row in self.rows if len(_lines(row.text)) == 1), [])
        numeric = [place for place, cell in enumerate(pattern) if place and _NUMBER.fullmatch(cell)]
        for row in self.rows if numeric else ():
            parts = [line.split(self.delimiter) for line in _lines(row.text)]
            if len(parts) > 1 and all(
                len(part) == len(self.header) and all(_NUMBER.fullmatch(part[n]) for n in numeric)
                for part in parts
            ):
                raise self.source.error(
                    "a quote opens in this row and closes in line "
                    f"{row.line + len(parts) - 1}; the lines in between would be lost in one cell, "
                    "but would be rows without it. Close the quote, or remove it",
                    line=row.line,
                )

    def parse(self, query_id: str | None) -> tuple[_Table, pd.DataFrame]:
        """The cells; ids and answers are texts as they are written."""
        table = self
        try:
            frame = table._parsed()
            is_doubtful = table._may_have_lost_cells(frame)
        except _ERRORS:
            is_doubtful = True
        if is_doubtful:
            table = self.checked()
            try:
                frame = table._parsed()
            except _ERRORS as exc:
                raise self.source.error(f"the table cannot be parsed: {exc}") from exc
            if len(frame) != len(table.rows) and len(self.header) > 1:
                raise self.source.error(
                    f"the file has {len(table.rows)} rows by its line ends, but {len(frame)} by "
                    "its cells; is a quote missing?"
                )
        # To parse columns as texts takes three times as long, and most of these are texts already.
        numbers = [
            name
            for name in text_columns(self.header, query_id)
            if pd.api.types.infer_dtype(frame[name], skipna=True) != "string"
        ]
        if numbers:
            texts = table._parsed(usecols=numbers, dtype="str")
            frame = frame.assign(**{name: texts[name] for name in numbers})
        return table, frame

    def _may_have_lost_cells(self, frame: pd.DataFrame) -> bool:
        """Whether a line is not one row, or the blanks of the last column may be short rows."""
        n_lines = self.body.count("\n") or self.body.count("\r")
        if n_lines + (not self.body.endswith(("\n", "\r"))) != len(frame):
            return True
        n_delimiters = len(frame) * (len(self.header) - 1)
        is_counted = '"' not in self.body and self.body.count(self.delimiter) == n_delimiters
        return bool(frame.iloc[:, -1].hasnans) and not is_counted

    def _parsed(self, **options: Any) -> pd.DataFrame:
        """The columns as pandas parses them."""
        with warnings.catch_warnings():
            warnings.simplefilter("error", ParserWarning)  # that cells are dropped
            frame: pd.DataFrame = pd.read_csv(
                io.BytesIO(self.body.encode("utf-8", "surrogatepass")),
                sep=self.delimiter,
                header=None,
                names=self.header,
                # In steps of its own pandas may give one column two types.
                low_memory=False,
                **_PARSING,
                **options,
            )
        return frame

    def with_queries_only(self, frame: pd.DataFrame, query_id: str | None) -> _Table:
        """The table without headers in the middle, units and blank rows."""
        try:
            left_out = rows_without_content(
                frame, query_id or QUERY_ID, place=lambda row: f"line {self.line_of_row(row)}"
            )
        except DataError as exc:
            raise self.source.error(str(exc)) from exc
        return self.without({self.line_of_row(each.row): each.reason for each in left_out})

    def notes(self) -> list[str]:
        """What was left out, one note per reason."""
        places: dict[str, list[str]] = {}
        for line, reason in sorted(self.left_out):
            places.setdefault(reason, []).append(f"line {line}")
        return [left_out_note(listed, reason) for reason, listed in places.items()]


# -- reading


def read_delimited(
    source: Source,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    columns: Iterable[str] | None = None,
    query_id: str | None = None,
) -> list[ScoreFile]:
    """Read a table of delimited text."""
    described = source.once(_description_of)
    description = described.description
    if description is not None and (delimiter, decimal) == (None, None):
        raw = _described_cells(source, description)
        return described_file(source, description, raw, columns=columns, query_id=query_id)
    if delimiter is None:
        delimiter = _find_delimiter(source)
    elif len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise DataError(
            f"delimiter must be one ASCII character, such as ',' or '\\t'; got {delimiter!r}"
        )
    table = _Table.of(source, source.text, delimiter)
    kept = select_columns(table.header, columns, query_id)
    table, frame = table.parse(query_id)
    if not len(frame):
        raise source.error("the file has column names, but no rows")
    queries = table.with_queries_only(frame[kept], query_id)
    if len(queries.left_out) > len(table.left_out):
        # Parsed again, because a single text in a column of numbers changes how all are read.
        table, frame = queries.parse(query_id)
    frame = frame[kept]
    if set(BLANKS) <= set(frame.columns):  # a sheet for reviewers, whose formulas are neutralised
        frame = restore_formulas(frame)
    # Where commas split the columns, an unquoted decimal comma cannot occur.
    frame, comma_notes = use_decimal_sign(source, frame, decimal, guess=delimiter != ",")
    notes = (*described.notes, *table.notes(), *comma_notes)
    return single_pipeline(source, frame, notes, table.line_of_row)


def _description_of(source: Source) -> DescribedTable:
    """The description of the table beside it, if its columns are still those of the file."""
    table = description_beside(source)
    if table.description is None:
        return table
    delimiter, columns = table.description.delimiter, table.description.columns
    header = next(rows(_sample_of(source), delimiter), None) if delimiter else None
    names = [] if header is None else list(map(restore_formula, header.cells))
    if names != list(map(restore_formula, columns)):
        return unused(f"{source.name}{COMPANION}", "its columns are not those of the file")
    return table


def _described_cells(source: Source, description: TableDescription) -> pd.DataFrame:
    """The cells of a table that rageval_report wrote: the types of its columns are known."""
    numbers = ("bool", "float64", "int64")
    saved = {name: detail.dtype for name, detail in description.details.items()}
    types = {name: kind if kind in numbers else "str" for name, kind in saved.items()}
    types |= dict.fromkeys(description.metrics, "float64")
    try:
        raw: pd.DataFrame = pd.read_csv(
            io.BytesIO(source.utf8),
            sep=description.delimiter,
            # By position, so that no name of a column is changed.
            header=0,
            names=description.columns,
            dtype={QUERY_ID: "str", **types},
            **_PARSING,
        )
    except (ValueError, OverflowError) as exc:
        raise source.error(
            f"this table cannot be read by the description beside it: {exc}. Remove "
            f"{source.name}{COMPANION} to read it as any table"
        ) from exc
    return raw


def read_as_text(source: Source) -> tuple[pd.DataFrame, list[int]]:
    """A table whose cells are all texts, without the checks of scores, and the line of each row."""
    table = _Table.of(source, source.text, best_delimiters(source)[0]).checked()
    for row in table.rows:
        if len(_lines(row.text)) > 1:
            raise source.error(
                "a field spans several lines, so rows may be swallowed; is a quote missing?",
                line=row.line + len(_lines(row.text)) - 1,
            )
    frame = pd.DataFrame([row.cells for row in table.rows], columns=table.header, dtype=object)
    return frame, [row.line for row in table.rows]


def header_names(source: Source) -> list[str]:
    """The names of the columns of a delimited table."""
    description = source.once(_description_of).description
    if description is not None:
        return description.columns
    return _Table.of(source, source.once(_sample_of), _find_delimiter(source)).header


_OPTIONS = ("columns", "decimal", "delimiter", "encoding", "query_id")
CSV = Reader(
    "csv",
    "a table of text with a header, split at commas, semicolons or bars",
    lambda source: _mark(source, ",", ";", "|"),
    read_delimited,
    _OPTIONS,
    header_names,
    "scores.csv",
)
TSV = Reader(
    "tsv",
    "a table of text with a header, split at tabs",
    lambda source: _mark(source, "\t"),
    read_delimited,
    _OPTIONS,
    header_names,
    "scores.tsv",
)
