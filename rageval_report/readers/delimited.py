"""Tables of delimited text: CSV, TSV, and tables with semicolons or bars.

The delimiter and the first line are found first, then pandas parses the text. pandas fills short
rows with blanks and takes an extra column for an index, so the fields of the rows are counted.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import islice
from typing import Any, Literal, NamedTuple

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
from rageval_report.readers.delimited_rows import (
    DelimitedRow,
    ForeignLine,
    cell_text,
    count_regular_rows,
    foreign_lines,
    line_ends,
    overwrite,
    rows,
    table_start,
    with_bars,
    without_outer_bars,
)
from rageval_report.readers.described import (
    DescribedTable,
    described_file,
    description_beside,
    unused,
)
from rageval_report.readers.written_cells import (
    find_neutralised_formulas,
    parse_decimal_commas,
    restore_formulas,
)
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.query_rows import left_out_note, reason_of_line, rows_without_content
from rageval_report.scores.saved_tables import COMPANION, TableDescription

DELIMITERS = (",", ";", "\t", "|")
# The rows, and the bytes, that are looked at to find the delimiter.
_SAMPLE, _HEAD = 50, 1 << 16
_LONGEST_ROW = 80
_NO_ROWS = "the file has column names, but no rows"

# Before 3.1 pandas rounds the last digit of some numbers wrongly by default.
_EXACT: dict[str, Any] = (
    {"float_precision": "round_trip"}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    else {}
)


# -- recognising


class _Fit(NamedTuple):
    """How well a delimiter fits: the share of rows as wide as the header, and that width."""

    agreement: float
    width: int


def _fits_of(source: Source) -> dict[str, _Fit]:
    return {delimiter: _fit(source.sample, delimiter) for delimiter in DELIMITERS}


def _fit(text: bytes, delimiter: str) -> _Fit:
    ends = line_ends(text[:_HEAD], delimiter)
    start, _ = table_start(text, delimiter)
    sample = list(islice(rows(text, delimiter, start, ends), _SAMPLE + 1))
    if not sample or len(sample[0].cells) < 2:
        return _Fit(0.0, 0)
    width = len(sample[0].cells)
    # The line of dashes below a header and the footer of a database shell are no rows.
    alike = [
        len(row.cells) == width
        for row in sample[1:]
        if len(row.cells) > 1 or not reason_of_line(cell_text(row.cells[0]))
    ]
    return _Fit(sum(alike) / len(alike) if alike else 1.0, width)


def best_delimiters(source: Source) -> list[str]:
    r"""The delimiters that fit a text best: none for a single column, several if they tie."""
    fits = source.once(_fits_of)
    best = max(fits.values())
    return [delimiter for delimiter, fit in fits.items() if fit == best and fit.width > 1]


def _mark(source: Source, *delimiters: str) -> float:
    if not source.is_text or source.starts_like_json:
        return 0.0
    description = source.once(_description_of).description
    if description is not None:
        return 1.0 if description.delimiter in delimiters else 0.0
    best = [delimiter for delimiter in best_delimiters(source) if delimiter in delimiters]
    if not best:
        return 0.0
    agreement = source.once(_fits_of)[best[0]].agreement
    # From 0.7 to 0.9 for a table, so that a framework's own reader (0.92 and more) goes first.
    return 0.5 + 0.4 * agreement if agreement >= 0.5 else 0.3


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
    left_out: tuple[ForeignLine, ...]
    n_rows: int = 0

    @classmethod
    def of(cls, source: Source, content: bytes, delimiter: str) -> _TableText:
        """The table in the content, or the beginning of the content, of a file."""
        text = without_outer_bars(content, delimiter)
        ends = line_ends(text, delimiter)
        begin, lines = table_start(text, delimiter)
        header, first = (*islice(rows(text, delimiter, begin, ends), 2), None, None)[:2]
        if header is None:
            raise source.error("expected a header and rows; the file contains only blanks")
        line = source.line_of(header.offset)
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

    @property
    def has_rows_of_several_lines(self) -> bool:
        """Whether there are more lines than rows; blank lines count too."""
        # Counting is much faster than a walk: usually each line is a row.
        n_breaks = self.text.count(b"\n", self.start) or self.text.count(b"\r", self.start)
        return n_breaks + (not self.text.endswith((b"\n", b"\r"))) > self.n_rows

    def last_rows(self, n: int) -> list[DelimitedRow]:
        """The last rows, without a walk through the whole text if each line is a row."""
        place = len(self.text)
        for _ in range(0 if self.has_rows_of_several_lines else n):
            place = max(self.text.rfind(b"\n", self.start, place), self.start)
        start = place if place < len(self.text) else self.start
        return list(deque(rows(self.text, self.delimiter, start, self.ends), maxlen=n))

    def line_of_row(self, row: int) -> int:
        """The line of a row, which is counted from 0."""
        return self.source.line_of(next(islice(self.rows(), row, None)).offset)

    def without(self, lines: Sequence[ForeignLine]) -> _TableText:
        """The table without some lines."""
        text = overwrite(self.text, lines) if lines else self.text
        return replace(self, text=text, left_out=(*self.left_out, *lines))

    def checked(self) -> _TableText:
        """The table without comments and footers between its rows, which are counted."""
        width = len(self.header)
        n = count_regular_rows(self.text, self.delimiter, width, self.start)
        table, n = (self, n) if n is not None else self._walk()
        if not n:
            raise self.source.error(_NO_ROWS)
        return replace(table, n_rows=n)

    def _walk(self) -> tuple[_TableText, int]:
        width = len(self.header)
        foreign: list[ForeignLine] = []
        if any(len(row.cells) != width for row in self.rows()):
            foreign = foreign_lines(self.text, self.rows(), width)
        table = self.without(foreign)
        n = 0
        for row in table.rows():
            n += 1
            if not row.is_closed:
                raise self._row_error("a quote in this row is never closed; is the file cut?", row)
            if len(row.cells) != width:
                raise self._row_error(
                    f"expected {width} fields, as in the header; found {len(row.cells)}. Is a "
                    "delimiter or a quote missing, or the file cut?",
                    row,
                )
        return table, n

    def _row_error(self, message: str, row: DelimitedRow) -> ReaderError:
        is_mixed = b"\r" in self.text[row.offset : row.stop]
        hint = " It contains a carriage return: are there several kinds of line ends?"
        line = self.source.line_of(row.offset)
        return self.source.error(f"{message}{hint if is_mixed else ''}", line=line)

    def parse(self, kept: list[str], query_id: str | None) -> pd.DataFrame:
        """The columns to keep; ids and answers are texts as they are written."""
        frame = self._parsed(kept)
        # To parse columns as texts takes three times as long, and most of these are texts already.
        numbers = [
            name
            for name in text_columns(kept, query_id)
            if pd.api.types.infer_dtype(frame[name], skipna=True) != "string"
        ]
        if numbers:
            texts = self._parsed(numbers, dtype="str")
            frame = frame.assign(**{name: texts[name] for name in numbers})
        return self._without_padding(frame) if self.delimiter == "|" else frame

    def _parsed(self, kept: list[str], dtype: Literal["str"] | None = None) -> pd.DataFrame:
        """The columns as pandas parses them."""
        try:
            content = BytesIO(self.text)
            content.seek(self.start)
            frame: pd.DataFrame = pd.read_csv(
                content,
                sep=self.delimiter,
                # None lets pandas accept all three line ends; it takes only one character.
                lineterminator="\n" if self.ends == b"\n" else None,
                header=None,
                names=self.header,
                # With `usecols` pandas accepts rows that have too many fields; they are counted.
                usecols=None if len(kept) == len(self.header) else kept,
                # Otherwise pandas takes the first column for an index if every row has one more.
                index_col=False,
                dtype=dtype,
                # pandas would read "None", "NA" and "null" as missing, but they can be answers.
                keep_default_na=False,
                na_values=[""],
                # In steps of its own pandas may give one column two types.
                low_memory=False,
                encoding="utf-8",
                **_EXACT,
            )
        except (ValueError, OverflowError) as exc:
            raise self.source.error(f"the table cannot be parsed: {exc}") from exc
        # pandas joins or drops rows at a stray quote without a word.
        if len(frame) != self.n_rows and len(self.header) > 1:
            raise self.source.error(
                f"the file has {self.n_rows} rows by its line ends, but {len(frame)} by its cells; "
                "is a quote missing?"
            )
        return frame

    def _without_padding(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The cells without the blanks that align columns between bars."""
        begin, _ = table_start(self.text, self.delimiter)
        header = next(rows(self.text, self.delimiter, begin, self.ends))
        if all(cell == cell.strip() for cell in header.cells):
            return frame
        texts = {
            str(name): cells.map(lambda cell: with_bars(cell.strip()) or None, na_action="ignore")
            for name, cells in frame.items()
            if pd.api.types.infer_dtype(cells, skipna=True) == "string"
        }
        return frame.assign(**texts)

    def lines_left_out(self, frame: pd.DataFrame, query_id: str | None) -> list[ForeignLine]:
        """The rows of a frame that are headers in the middle, units or blank, as lines."""
        try:
            left_out = rows_without_content(
                frame, query_id or QUERY_ID, place=lambda row: f"line {self.line_of_row(row)}"
            )
        except DataError as exc:
            raise self.source.error(str(exc)) from exc
        reasons = {row.row: row.reason for row in left_out}
        every = enumerate(islice(self.rows(), max(reasons, default=-1) + 1))
        return [ForeignLine(row.offset, row.stop, reasons[n]) for n, row in every if n in reasons]

    def notes(self) -> list[str]:
        """What was left out, one note per reason."""
        places: dict[str, list[str]] = {}
        for line in sorted(self.left_out):
            place = f"line {self.source.line_of(line.offset)}"
            places.setdefault(line.reason, []).append(place)
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
    table = source.once(_description_of)
    description = table.description
    if (
        description is not None
        and delimiter in (None, description.delimiter)
        and decimal in (None, ".")
    ):
        return _read_described(source, description, columns, query_id)
    if delimiter is None:
        delimiter = _find_delimiter(source)
    elif len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise DataError(
            f"delimiter must be one ASCII character, such as ',' or '\\t'; got {delimiter!r}"
        )
    whole = _TableText.of(source, source.utf8, delimiter).checked()
    kept = select_columns(whole.header, columns, query_id)
    frame = whole.parse(kept, query_id)
    lines = whole.lines_left_out(frame, query_id)
    if lines:
        # Parsed again, because a single text in a column of numbers changes how all are read.
        whole = whole.without(lines).checked()
        frame = whole.parse(kept, query_id)
    notes = [*table.notes, *whole.notes(), *_check_complete(whole)]
    frame, formula_notes = find_neutralised_formulas(source.utf8, frame)
    frame, comma_notes = parse_decimal_commas(source, frame, delimiter=delimiter, decimal=decimal)
    every_note = (*notes, *formula_notes, *comma_notes)
    return single_pipeline(source, frame, every_note, whole.line_of_row)


def _find_delimiter(source: Source) -> str:
    best = best_delimiters(source)
    if len(best) > 1:
        raise source.error(
            f"{named(best)} split the table equally well; choose one: delimiter={best[0]!r}"
        )
    return best[0] if best else ","


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


def _read_described(
    source: Source,
    description: TableDescription,
    columns: Iterable[str] | None,
    query_id: str | None,
) -> list[ScoreFile]:
    """Read a table that rageval_report wrote: the types of its columns are known."""
    numbers = ("bool", "float64", "int64")
    saved = {name: detail.dtype for name, detail in description.details.items()}
    types = {name: kind if kind in numbers else "str" for name, kind in saved.items()}
    types |= dict.fromkeys(description.metrics, "float64")
    try:
        raw = pd.read_csv(
            BytesIO(source.utf8),
            sep=description.delimiter,
            # By position, so that no name of a column is changed.
            header=0,
            names=description.columns,
            index_col=False,
            dtype={QUERY_ID: "str", **types},
            keep_default_na=False,
            na_values=[""],
            encoding="utf-8",
            **_EXACT,
        )
    except (ValueError, OverflowError) as exc:
        raise source.error(
            f"this table cannot be read by the description beside it: {exc}. Remove "
            f"{source.name}{COMPANION} to read it as any table"
        ) from exc
    if description.is_neutralised:
        raw = restore_formulas(raw)
    return described_file(source, description, raw, columns=columns, query_id=query_id)


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
_BREAK = re.compile(rb"\r\n|\r|\n")
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


def _check_complete(table: _TableText) -> list[str]:
    """Refuse a table of which a quote swallowed rows, or whose last cell is cut for certain."""
    source = table.source
    swallowed = _swallowed_rows(table)
    if swallowed is not None:
        offset, n = swallowed
        line = source.line_of(offset)
        lines = f"line {line + 1}" if n == 1 else f"lines {line + 1} to {line + n}"
        raise source.error(
            f"a quote opens in this row and closes {n} line{'' if n == 1 else 's'} below; {lines} "
            f"in between would be lost in one cell, but would be {'a row' if n == 1 else 'rows'} "
            'without it. Close the quote, remove it, or write "" for a quote within a cell',
            line=line,
        )
    if table.text.endswith((b"\n", b"\r")):
        return []
    *others, last = table.last_rows(_ROWS_OF_PATTERN + 1)
    cell = last.cells[-1].decode("utf-8", "replace").strip()
    if len(others) < _FEWEST or cell.endswith('"'):
        return []
    above = [cell_text(row.cells[-1]).strip() for row in others]
    is_certain, evidence = _evidence_of_cut(cell, above)
    if not evidence:
        return []
    line = source.line_of(last.offset)
    shown = f"the last cell is {cell!r}, but {evidence}, and the file ends without a line end"
    if is_certain:
        raise source.error(
            f"the file is cut in its last row: {shown}. Write the file again, or delete this row; "
            "if the row is whole, end it with a line end",
            line=line,
        )
    row = table.text[last.offset :].decode("utf-8", "replace").strip()
    quoted = row if len(row) <= _LONGEST_ROW else f"{row[:_LONGEST_ROW]}..."
    return [f"line {line}, the last row, may be cut ({shown}): {quoted}"]


def _swallowed_rows(table: _TableText) -> tuple[int, int] | None:
    """The offset of a row whose quoted cell holds lines that look like rows, and their number."""
    text, n_fields = table.text, len(table.header)
    if n_fields < 2 or b'"' not in text or not table.has_rows_of_several_lines:
        return None
    single: list[DelimitedRow] = []
    several: list[DelimitedRow] = []
    for row in table.rows():
        if _BREAK.search(text, row.offset, row.stop):
            several.append(row)
        elif len(single) < _ROWS_OF_PATTERN:
            single.append(row)
    texts = [[cell_text(cell) for cell in row.cells] for row in single]
    scores = [
        position
        for position, cells in enumerate(zip(*texts, strict=True))
        if position
        and any(cell.strip() for cell in cells)
        and 10 * sum(_SCORE.fullmatch(cell) is not None for cell in cells) >= 9 * len(cells)
    ]
    for row in several if scores else ():
        first, *lines = _BREAK.split(text[row.offset : row.stop])
        splits = [_splits(line, table.delimiter) for line in lines]
        if _is_row(_splits(first, table.delimiter)[0], n_fields, scores) and all(
            any(_is_row(cells, n_fields, scores) for cells in ways) for ways in splits
        ):
            return row.offset, len(lines)
    return None


def _splits(line: bytes, delimiter: str) -> list[list[str]]:
    """The cells of a line without and with regard to quotes."""
    aware = next(rows(line, delimiter), None)
    plain = line.decode("utf-8", "replace").split(delimiter)
    return [plain] if aware is None else [plain, [cell_text(cell) for cell in aware.cells]]


def _is_row(cells: Sequence[str], n_fields: int, scores: Sequence[int]) -> bool:
    """Whether cells have scores where the rows of a table have them."""
    if len(cells) < n_fields or not cells[0].strip():
        return False
    shown = [cells[position] for position in scores]
    # A delimiter in an unquoted text moves the columns behind it; those at the end count from it.
    if len(cells) > n_fields:
        at_end = [place for place in scores if set(range(place, n_fields)) <= set(scores)]
        shown = [cells[position - n_fields] for position in at_end]
    return any(cell.strip() for cell in shown) and all(map(_SCORE.fullmatch, shown))


def _evidence_of_cut(cell: str, others: Sequence[str]) -> tuple[bool, str]:
    """Whether it is certain that a cell is cut, and why; no reason if nothing speaks for it."""
    if _BROKEN_NUMBER.fullmatch(cell) and not any(map(_BROKEN_NUMBER.fullmatch, others)):
        return True, "it is the beginning of a number"
    if not cell:
        return False, "no other one is blank" if all(others) else ""
    filled = [other for other in others if other]
    if len(filled) < _FEWEST:
        return False, ""
    number, numbers = _NUMBER.fullmatch(cell), [_NUMBER.fullmatch(other) for other in filled]
    if number and all(numbers):
        decimals = {_n_decimals(match) for match in numbers if match}
        n_missing = min(decimals) - _n_decimals(number)
        if len(decimals) == 1 and n_missing > 0 and min(decimals) > 1:
            # Programs that drop zeros at the end shorten one number in ten, rarely by four digits.
            drops_no_zeros = len(others) >= _MANY or any(other.endswith("0") for other in filled)
            is_certain = drops_no_zeros or n_missing >= _MANY_DIGITS
            return is_certain, f"all others have {min(decimals)} decimals"
        lengths = sorted(map(len, filled))
        is_short = len(cell) < lengths[len(lengths) // 50]
        return False, f"the others have {lengths[0]} to {lengths[-1]} characters" * is_short
    words = set(filled)
    if len(words) <= min(_MOST_WORDS, len(filled) // 2):
        is_beginning = cell not in words and any(word.startswith(cell) for word in words)
        return is_beginning, f"the others are {', '.join(sorted(words)[:3])}" * is_beginning
    n_characters = {len(other) for other in filled}
    if len(words) == len(filled) and len(n_characters) == 1 and len(cell) < min(n_characters):
        return False, f"all others have {min(n_characters)} characters"
    return False, ""


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
