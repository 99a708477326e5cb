"""Tables of delimited text: CSV, TSV, and tables with semicolons or bars.

The delimiter and the first line are found first, then pandas parses the text. pandas fills short
rows with blanks and takes an extra column for an index, so the fields of the rows are counted.
"""

from __future__ import annotations

import csv
import io
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, cast

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, ReaderError, named
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

DELIMITERS = (",", ";", "\t", "|")
# The rows, and the bytes, that are looked at to find the delimiter.
_SAMPLE, _HEAD = 50, 1 << 16
_ANY = b"\n\r"
_LINE = re.compile(rb"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_BREAK = re.compile(rb"\r\n|\r|\n")
_DECIMAL = re.compile(r"\s*[-+]?\d*\.\d+(?:[eE][-+]?\d+)?\s*")
# Excel's hint for the delimiter, as the first line of a file.
_SEPARATOR_HINT = re.compile(rb"\s*\"?sep=.\"?\s*", re.IGNORECASE)

# pandas would read "None", "NA" and "null" as missing, but they can be answers. Before 3.1 it
# rounds the last digit of some numbers wrongly by default.
_PARSING: dict[str, Any] = {"index_col": False, "keep_default_na": False, "na_values": [""]}
if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
    _PARSING["float_precision"] = "round_trip"


# -- rows


class DelimitedRow(NamedTuple):
    """One record: its first and last offset, its raw cells, and whether all quotes are closed."""

    offset: int
    stop: int
    cells: list[bytes]
    is_closed: bool = True


class _ForeignLine(NamedTuple):
    """A part of the text that is not a row: its offsets, and what it is."""

    offset: int
    stop: int
    reason: str


def line_ends(text: bytes, delimiter: str) -> bytes:
    r"""The characters that end lines: "\n" alone, or carriage returns as well."""
    # Python's csv module and pandas do not quote a carriage return in a cell if they end lines with
    # "\n". A line that begins with one has mixed line ends: no program writes an id so.
    if b"\r" not in text or b"\r\n" in text or b"\n\r" in text:
        return _ANY
    header = next(rows(text, delimiter), None)
    return b"\n" if header is not None and text[header.stop : header.stop + 1] == b"\n" else _ANY


def rows(text: bytes, delimiter: str, start: int = 0, ends: bytes = _ANY) -> Iterator[DelimitedRow]:
    """The records that are not blank, in order, from an offset on; `ends` is as of `line_ends`."""
    separator = delimiter.encode("ascii")
    # Possessive quantifiers: a broken quote in a file of megabytes must not make the expression try
    # again and again.
    field = re.compile(
        rb'(?:"(?:[^"]++|"")*+("|\Z))?+[^' + re.escape(ends + separator) + rb"]*+", re.DOTALL
    )
    place = start
    while place < len(text):
        offset, cells, is_closed = place, [], True
        while True:
            match = cast("re.Match[bytes]", field.match(text, place))  # empty cells match too
            cells.append(match.group())
            is_closed = is_closed and match.group(1) != b""
            place = match.end()
            if text[place : place + 1] != separator:
                break
            place += 1
        stop = place
        place += 2 if text[place : place + 2] == b"\r\n" else 1
        if len(cells) > 1 or cells[0].strip(b" \t"):
            yield DelimitedRow(offset, stop, cells, is_closed)


def cell_text(cell: bytes) -> str:
    """The text of a cell, without its quotes."""
    text = cell.decode("utf-8")
    if not text.startswith('"'):
        return text
    # A NUL can stand in for the doubled quote, because no text file contains one.
    quoted, _, tail = text[1:].replace('""', "\x00").partition('"')
    return quoted.replace("\x00", '"') + tail.replace("\x00", '""')


def count_regular_rows(text: bytes, delimiter: str, n_fields: int, start: int) -> int | None:
    """The number of records if all have this width, by arrays; None if only a walk can tell."""
    # A blank line is a record of one field; a carriage return alone may be a part of a cell.
    if n_fields < 2 or text.count(b"\r", start) != text.count(b"\r\n", start):
        return None
    characters = np.frombuffer(text, np.uint8, offset=start)
    is_end, is_separator = characters == ord("\n"), characters == ord(delimiter)
    if text.find(b'"', start) >= 0:
        is_quote = characters == ord('"')
        # The parity of the number of quotes so far; uint8 wraps at 256, which keeps it.
        is_inside = (np.cumsum(is_quote, dtype=np.uint8) & 1).view(bool)
        opening = np.flatnonzero(is_quote & is_inside)
        usual = np.frombuffer(f'"\n{delimiter}'.encode(), np.uint8)
        before = characters[opening[opening > 0] - 1]
        if is_inside[-1] or not np.isin(before, usual).all():  # a quote within an unquoted cell
            return None
        is_end, is_separator = is_end & ~is_inside, is_separator & ~is_inside
    ends = np.flatnonzero(is_end)
    if not text.endswith(b"\n"):
        ends = np.append(ends, len(characters))
    widths = np.diff(np.searchsorted(np.flatnonzero(is_separator), ends), prepend=0) + 1
    return len(widths) if bool((widths == n_fields).all()) else None


def table_start(text: bytes, delimiter: str) -> tuple[int, list[_ForeignLine]]:
    r"""The offset of the header, and the lines before it."""
    lines: list[_ForeignLine] = []
    for match in _LINE.finditer(text):
        line, offset = match[1], match.start()
        if line.strip():
            is_hint = not lines and _SEPARATOR_HINT.fullmatch(line)
            reason = "the delimiter" if is_hint else reason_of_line(line.decode("utf-8", "replace"))
            if not reason:
                is_comment = bool(lines) and lines[-1].reason == "a comment"
                if is_comment and _is_header(text, lines[-1], offset, delimiter):
                    return lines[-1].offset, lines[:-1]
                return offset, lines
            lines.append(_ForeignLine(offset, match.end(1), reason))
    return 0, []


def _is_header(text: bytes, comment: _ForeignLine, offset: int, delimiter: str) -> bool:
    """Whether a line that begins with "#" is the header of the rows that begin at an offset."""
    header = next(rows(text[comment.offset : comment.stop], delimiter), None)
    first = next(rows(text, delimiter, offset), None)
    if header is None or first is None or not 1 < len(header.cells) == len(first.cells):
        return False
    # A comment may have as many commas as the header has; known names show which is which.
    return _names_ids(header) or not _names_ids(first)


def _names_ids(row: DelimitedRow) -> bool:
    names = [cell_text(cell).strip().lstrip("#/ ") for cell in row.cells]
    return id_column_of(names) is not None or first_named(names, QUESTION) is not None


# -- which delimiter


def _fits_of(source: Source) -> dict[str, tuple[float, int]]:
    """For each delimiter the share of rows as wide as the header, and that width."""
    return {delimiter: _fit(source.sample, delimiter) for delimiter in DELIMITERS}


def _fit(text: bytes, delimiter: str) -> tuple[float, int]:
    ends = line_ends(text[:_HEAD], delimiter)
    start, _ = table_start(text, delimiter)
    header, *others = islice(rows(text, delimiter, start, ends), _SAMPLE + 1)
    width = len(header.cells)
    if width < 2:
        return 0.0, 0
    # The line of dashes below a header and the footer of a database shell are no rows.
    alike = [
        len(row.cells) == width
        for row in others
        if len(row.cells) > 1 or not reason_of_line(cell_text(row.cells[0]))
    ]
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


def find_misfit(source: Source) -> ReaderError | None:
    """The error about the first row of a text that is hardly a table; None if no delimiter fits."""
    if not source.is_text or source.starts_like_json:
        return None
    text = source.sample
    for delimiter in best_delimiters(source):
        header, *others = islice(rows(text, delimiter, ends=line_ends(text, delimiter)), _SAMPLE)
        width = len(header.cells)
        for row in others:
            n = len(row.cells)
            if n != width:
                return source.error(
                    f"no reader recognises this file; split at {delimiter!r}, this row has {n} "
                    f"field{'' if n == 1 else 's'}, the header has {width}. Is a delimiter or a "
                    "quote missing? If this is not a table, choose with reader=...",
                    line=source.line_of(row.offset),
                )
    return None


# -- tables of Markdown and of database shells

_RULE = re.compile(r"[ \t|+:=\-]*-[ \t|+:=\-]*")
_BAR = re.compile(r"(?<!\\)\|")


def _without_bars(text: bytes) -> bytes:
    """A text with bars; that of Markdown or of a database shell without outer bars and blanks."""
    start = table_start(text, "|")[0]
    header = cast("re.Match[bytes]", _LINE.match(text, start))[1].decode()
    is_box = len(header.strip()) > 2 and header.strip()[0] == header.strip()[-1] == "|"
    if not is_box and all(cell == cell.strip() for cell in header.split("|")):
        return text
    lines = re.split("(\r\n|\r|\n)", text[start:].decode())
    for place in range(0, len(lines), 2):  # every other one is a line end
        line = lines[place].strip()
        if _RULE.fullmatch(line) and (place == 2 or "--" in line):
            lines[place] = ""
        elif "|" in line:
            if is_box:
                line = line.removeprefix("|").removesuffix("|")
            cells = [cell.strip().replace("\\|", "|") for cell in _BAR.split(line)]
            written = io.StringIO()
            csv.writer(written, delimiter="|", lineterminator="").writerow(cells)
            lines[place] = written.getvalue()
    return text[:start] + "".join(lines).encode()


# -- the text of a table


@dataclass(frozen=True, eq=False)
class _TableText:
    """A text with its header; lines that are not rows are overwritten with blanks."""

    source: Source
    text: bytes
    delimiter: str
    ends: bytes
    header: list[str]
    start: int
    left_out: tuple[_ForeignLine, ...] = ()

    @classmethod
    def of(cls, source: Source, content: bytes, delimiter: str) -> _TableText:
        """The table in the content, or the beginning of the content, of a file."""
        text = _without_bars(content) if delimiter == "|" else content
        ends = line_ends(text, delimiter)
        begin, lines = table_start(text, delimiter)
        header, first = (*islice(rows(text, delimiter, begin, ends), 2), None, None)[:2]
        if header is None:
            raise source.error("expected a header and rows; the file contains only blanks")
        line = source.line_of(header.offset, text)
        if not header.is_closed:
            raise source.error("a quote in the header is never closed; is the file cut?", line=line)
        names = [cell_text(cell).strip() for cell in header.cells]
        if names[0].startswith("#") and len(names[0]) > 1 and len(names) > 1:
            names[0] = names[0].lstrip("# ") or names[0]
        unique_names = [name or f"Unnamed: {position}" for position, name in enumerate(names)]
        check_no_data_in_header(source, names, line)
        check_unique_names(source, unique_names, line)
        start = len(text) if first is None else first.offset
        return cls(source, text, delimiter, ends, unique_names, start, tuple(lines))

    def rows(self) -> Iterator[DelimitedRow]:
        """The rows after the header."""
        return rows(self.text, self.delimiter, self.start, self.ends)

    def line_of_row(self, row: int) -> int:
        """The line of a row, which is counted from 0."""
        return self.source.line_of(next(islice(self.rows(), row, None)).offset, self.text)

    def without(self, lines: Sequence[_ForeignLine]) -> _TableText:
        """The table with blanks in place of some lines, so that all offsets stay."""
        text = bytearray(self.text)
        for line in lines:
            text[line.offset : line.stop] = re.sub(rb"[^\r\n]", b" ", text[line.offset : line.stop])
        return replace(self, text=bytes(text), left_out=(*self.left_out, *lines))

    def checked(self) -> tuple[_TableText, int]:
        """The table without comments and footers between its rows, which are counted."""
        width = len(self.header)
        n = count_regular_rows(self.text, self.delimiter, width, self.start)
        if n is None:
            table = self
            if any(len(row.cells) != width for row in self.rows()):
                table = self.without(_foreign_lines(self))
            n = 0
            for row in table.rows():
                n += 1
                if not row.is_closed:
                    problem = "a quote in this row is never closed; is the file cut?"
                elif len(row.cells) != width:
                    problem = (
                        f"expected {width} fields, as in the header; found {len(row.cells)}. Is a "
                        "delimiter or a quote missing, or the file cut?"
                    )
                else:
                    continue
                hint = " It contains a carriage return: are there several kinds of line ends?"
                is_mixed = b"\r" in table.text[row.offset : row.stop]
                line = self.source.line_of(row.offset, table.text)
                raise self.source.error(f"{problem}{hint if is_mixed else ''}", line=line)
            self = table
        if not n:
            raise self.source.error("the file has column names, but no rows")
        return self, n

    def parse(self, kept: list[str], n_rows: int, query_id: str | None) -> pd.DataFrame:
        """The columns to keep; ids and answers are texts as they are written."""
        frame = self._parsed(kept, n_rows)
        # To parse columns as texts takes three times as long, and most of these are texts already.
        numbers = [
            name
            for name in text_columns(kept, query_id)
            if pd.api.types.infer_dtype(frame[name], skipna=True) != "string"
        ]
        if numbers:
            texts = self.parse_texts(numbers, n_rows)
            frame = frame.assign(**{name: texts[name] for name in numbers})
        return frame

    def parse_texts(self, kept: list[str], n_rows: int) -> pd.DataFrame:
        """Columns as texts."""
        return self._parsed(kept, n_rows, dtype="str")

    def _parsed(self, kept: list[str], n_rows: int, **options: Any) -> pd.DataFrame:
        """The columns as pandas parses them."""
        content = io.BytesIO(self.text)
        content.seek(self.start)
        try:
            frame: pd.DataFrame = pd.read_csv(
                content,
                sep=self.delimiter,
                # None lets pandas accept all three line ends; it takes only one character.
                lineterminator="\n" if self.ends == b"\n" else None,
                header=None,
                names=self.header,
                # With `usecols` pandas accepts rows that have too many fields; they are counted.
                usecols=None if len(kept) == len(self.header) else kept,
                # In steps of its own pandas may give one column two types.
                low_memory=False,
                **_PARSING,
                **options,
            )
        except (ValueError, OverflowError) as exc:
            raise self.source.error(f"the table cannot be parsed: {exc}") from exc
        # pandas joins or drops rows at a stray quote without a word.
        if len(frame) != n_rows and len(self.header) > 1:
            raise self.source.error(
                f"the file has {n_rows} rows by its line ends, but {len(frame)} by its cells; "
                "is a quote missing?"
            )
        return frame

    def lines_left_out(self, frame: pd.DataFrame, query_id: str | None) -> list[_ForeignLine]:
        """The rows of a frame that are headers in the middle, units or blank, as lines."""
        try:
            left_out = rows_without_content(
                frame, query_id or QUERY_ID, place=lambda row: f"line {self.line_of_row(row)}"
            )
        except DataError as exc:
            raise self.source.error(str(exc)) from exc
        reasons = {row.row: row.reason for row in left_out}
        every = enumerate(islice(self.rows(), max(reasons, default=-1) + 1))
        return [_ForeignLine(row.offset, row.stop, reasons[n]) for n, row in every if n in reasons]

    def notes(self) -> list[str]:
        """What was left out, one note per reason."""
        places: dict[str, list[str]] = {}
        for line in sorted(self.left_out):
            place = f"line {self.source.line_of(line.offset, self.text)}"
            places.setdefault(line.reason, []).append(place)
        return [left_out_note(listed, reason) for reason, listed in places.items()]


def _foreign_lines(table: _TableText) -> list[_ForeignLine]:
    """The lines of another width than the header that are comments, dashes or footers."""
    n_fields = len(table.header)
    n_rows = n_marked = 0
    lines = []
    for row in table.rows():
        reason = reason_of_line(table.text[row.offset : row.stop].decode("utf-8", "replace"))
        n_rows += 1
        n_marked += reason == "a comment" and len(row.cells) == n_fields
        if len(row.cells) == n_fields or not reason:
            continue
        if len(row.cells) == 1 or not any(_DECIMAL.fullmatch(cell_text(c)) for c in row.cells):
            lines.append(_ForeignLine(row.offset, row.stop, reason))
    # Where rows begin with "#" as well, such a line may be a broken row.
    if 2 * n_marked > n_rows - len(lines):
        return [line for line in lines if line.reason != "a comment"]
    return lines


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
    if (
        description is not None
        and delimiter in (None, description.delimiter)
        and decimal in (None, ".")
    ):
        raw = _described_cells(source, description)
        return described_file(source, description, raw, columns=columns, query_id=query_id)
    if delimiter is None:
        delimiter = _find_delimiter(source)
    elif len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise DataError(
            f"delimiter must be one ASCII character, such as ',' or '\\t'; got {delimiter!r}"
        )
    table, n_rows = _TableText.of(source, source.utf8, delimiter).checked()
    kept = select_columns(table.header, columns, query_id)
    frame = table.parse(kept, n_rows, query_id)
    lines = table.lines_left_out(frame, query_id)
    if lines:
        # Parsed again, because a single text in a column of numbers changes how all are read.
        table, n_rows = table.without(lines).checked()
        frame = table.parse(kept, n_rows, query_id)
    _check_complete(table, n_rows)
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
    header = next(rows(source.sample, delimiter), None) if delimiter else None
    names = [] if header is None else [restore_formula(cell_text(cell)) for cell in header.cells]
    if names != [restore_formula(name) for name in columns]:
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
    table, n_rows = _TableText.of(source, source.utf8, best_delimiters(source)[0]).checked()
    ends = [match.end() for match in _BREAK.finditer(table.text)]
    starts = [row.offset for row in table.rows()]
    for row in table.rows():
        if _BREAK.search(table.text, row.offset, row.stop):
            raise source.error(
                "a field spans several lines, so rows may be swallowed; is a quote missing?",
                line=source.line_of(row.stop, table.text),
            )
    lines = (np.searchsorted(ends, starts, side="right") + 1).tolist()
    return table.parse_texts(table.header, n_rows).fillna(""), lines


def header_names(source: Source) -> list[str]:
    """The names of the columns of a delimited table."""
    description = source.once(_description_of).description
    if description is not None:
        return description.columns
    return _TableText.of(source, source.sample, _find_delimiter(source)).header


# -- rows that vanished in a quoted cell, and a last cell that was cut

# The rows that show which columns hold scores, and how long the last cells are; fewer than the
# fewest show no pattern.
_ROWS_OF_PATTERN, _FEWEST = 500, 5
_SCORE = re.compile(
    r"\s*(?:[-+]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][-+]?\d+)?\s*%?|true|false|pass|fail|nan)?\s*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,](?P<decimals>\d+))?|[.,](?P<only>\d+))(?:[eE][-+]?\d+)?")
_BROKEN_NUMBER = re.compile(r"[-+]?(?:\d+[.,]?\d*|[.,]\d+)[eE][-+]?|[-+]?\d*[.]")
# If programs dropped zeros, 100 numbers with as many decimals would have a chance of 0.9**100.
_MANY, _MANY_DIGITS = 100, 4
# Of a column with few different words a cell that begins one of them, but is none, is cut.
_MOST_WORDS = 20


def _check_complete(table: _TableText, n_rows: int) -> None:
    """Refuse a table of which a quote swallowed rows, or whose last cell is cut for certain."""
    source, text = table.source, table.text
    is_ended = text.endswith((b"\n", b"\r"))
    if is_ended and b'"' not in text:
        return
    # Counting is much faster than a walk: usually each line is a row.
    n_lines = text.count(b"\n", table.start) or text.count(b"\r", table.start)
    has_long_rows = n_lines + (not is_ended) > n_rows
    swallowed = _swallowed_rows(table) if has_long_rows and b'"' in text else None
    if swallowed is not None:
        offset, n = swallowed
        line = source.line_of(offset, text)
        lines = f"line {line + 1}" if n == 1 else f"lines {line + 1} to {line + n}"
        raise source.error(
            f"a quote opens in this row and closes {n} line{'' if n == 1 else 's'} below; {lines} "
            f"in between would be lost in one cell, but would be {'a row' if n == 1 else 'rows'} "
            'without it. Close the quote, remove it, or write "" for a quote within a cell',
            line=line,
        )
    if is_ended:
        return
    place = len(text)
    for _ in range(0 if has_long_rows else _ROWS_OF_PATTERN + 1):
        place = max(text.rfind(b"\n", table.start, place), table.start)
    start = table.start if has_long_rows else place
    *others, last = deque(rows(text, table.delimiter, start, table.ends), _ROWS_OF_PATTERN + 1)
    cell = last.cells[-1].decode("utf-8", "replace").strip()
    evidence = _evidence_of_cut(cell, [cell_text(row.cells[-1]).strip() for row in others])
    if evidence:
        raise source.error(
            f"the file is cut in its last row: the last cell is {cell!r}, but {evidence}, and the "
            "file ends without a line end. Write the file again, or delete this row; if the row "
            "is whole, end it with a line end",
            line=source.line_of(last.offset, text),
        )


def _swallowed_rows(table: _TableText) -> tuple[int, int] | None:
    """The offset of a row whose quoted cell holds lines that look like rows, and their number."""
    text, n_fields = table.text, len(table.header)
    several: list[DelimitedRow] = []
    cells: list[list[str]] = []
    for row in table.rows():
        if _BREAK.search(text, row.offset, row.stop):
            several.append(row)
        elif len(cells) < _ROWS_OF_PATTERN:
            cells.append(list(map(cell_text, row.cells)))
    scores = [
        position
        for position, column in enumerate(zip(*cells, strict=True))
        if position
        and any(cell.strip() for cell in column)
        and 10 * sum(_SCORE.fullmatch(cell) is not None for cell in column) >= 9 * len(column)
    ]
    # A delimiter in an unquoted text moves the columns behind it; those at the end count from it.
    at_end = [place for place in scores if set(range(place, n_fields)) <= set(scores)]

    def is_row(cells: Sequence[str]) -> bool:
        if len(cells) < n_fields or not cells[0].strip():
            return False
        shown = [cells[place] for place in scores]
        if len(cells) > n_fields:
            shown = [cells[place - n_fields] for place in at_end]
        return any(cell.strip() for cell in shown) and all(map(_SCORE.fullmatch, shown))

    for row in several if scores else ():
        first, *lines = _BREAK.split(text[row.offset : row.stop])
        plain = [line.decode("utf-8", "replace").split(table.delimiter) for line in (first, *lines)]
        quoted = [next(rows(line, table.delimiter), None) for line in lines]
        if is_row(plain[0]) and all(
            is_row(split) or (aware is not None and is_row(list(map(cell_text, aware.cells))))
            for split, aware in zip(plain[1:], quoted, strict=True)
        ):
            return row.offset, len(lines)
    return None


def _evidence_of_cut(cell: str, others: Sequence[str]) -> str:
    """Why it is certain that a cell is cut; blank if it is not."""
    filled = [other for other in others if other]
    if not cell or cell.endswith('"') or len(filled) < _FEWEST:
        return ""
    if _BROKEN_NUMBER.fullmatch(cell) and not any(map(_BROKEN_NUMBER.fullmatch, others)):
        return "it is the beginning of a number"
    number, numbers = _NUMBER.fullmatch(cell), [_NUMBER.fullmatch(other) for other in filled]
    if number and all(numbers):
        decimals = {_n_decimals(match) for match in numbers if match}
        n_missing = min(decimals) - _n_decimals(number)
        # Programs that drop zeros at the end shorten one number in ten, rarely by four digits.
        drops_no_zeros = len(others) >= _MANY or any(other.endswith("0") for other in filled)
        is_cut = len(decimals) == 1 and min(decimals) > 1 and n_missing > 0
        is_certain = is_cut and (drops_no_zeros or n_missing >= _MANY_DIGITS)
        return f"all others have {min(decimals)} decimals" if is_certain else ""
    words = set(filled)
    is_beginning = cell not in words and any(word.startswith(cell) for word in words)
    if is_beginning and len(words) <= min(_MOST_WORDS, len(filled) // 2):
        return f"the others are {', '.join(sorted(words)[:3])}"
    return ""


def _n_decimals(number: re.Match[str]) -> int:
    return len(number["decimals"] or number["only"] or "")


_OPTIONS = ("columns", "decimal", "delimiter", "encoding", "query_id")
CSV = Reader(
    "csv",
    "a table of text with a header, split at commas, semicolons or bars",
    lambda source: _mark(source, ",", ";", "|"),
    read_delimited,
    _OPTIONS,
    header_names,
    "scores.csv",
    find_misfit,
)
TSV = Reader(
    "tsv",
    "a table of text with a header, split at tabs",
    lambda source: _mark(source, "\t"),
    read_delimited,
    _OPTIONS,
    header_names,
    "scores.tsv",
    find_misfit,
)
