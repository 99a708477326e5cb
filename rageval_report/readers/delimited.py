"""Tables of delimited text: CSV, TSV, and tables with semicolons or bars."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from io import BytesIO
from itertools import islice
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import pandas as pd

from rageval_report.errors import DataError, ReaderError, named
from rageval_report.files.source import Source
from rageval_report.readers.base import (
    Reader,
    ScoreFile,
    check_unique_names,
    select_columns,
    single_pipeline,
    text_columns,
)
from rageval_report.readers.decimal_commas import parse_decimal_commas
from rageval_report.readers.delimited_rows import (
    FieldCountError,
    RowCount,
    cell_text,
    count_rows,
    line_ends,
    rows,
)
from rageval_report.readers.described import (
    described_files,
    description_beside,
    restored_frame,
)
from rageval_report.readers.foreign_lines import (
    ForeignLine,
    begins_with_header,
    lines_of_rows,
    misfits,
    notes_on_lines,
    overwrite,
    table_start,
    with_bars,
    without_outer_bars,
)
from rageval_report.readers.headers import check_no_data_in_header
from rageval_report.readers.line_blocks import (
    LineSurvey,
    is_read_in_slices,
    parse_blocks,
    text_slices,
)
from rageval_report.readers.neutralised_formulas import (
    find_neutralised_formulas,
    may_be_neutralised,
    restore_formulas,
)
from rageval_report.readers.parsed_pieces import (
    Lines,
    ParsedPieces,
    are_written_plainly,
    has_plain_line_ends,
    parse_lines,
    records_at_a_time,
)
from rageval_report.readers.swallowed_rows import (
    DelimitedText,
    find_cut_cell,
    find_swallowed_rows,
    swallowed_lines,
)
from rageval_report.scores.query_ids import QUERY_ID
from rageval_report.scores.query_rows import reason_of_line, rows_without_content
from rageval_report.scores.saved_tables import COMPANION, TableDescription

DELIMITERS = (",", ";", "\t", "|")
# The rows, and the bytes, that are looked at to find the delimiter.
_SAMPLE, _HEAD = 50, 1 << 16
_LONGEST_ROW = 80
# A smaller text is parsed so fast that nothing is gained by blocks.
_FEWEST_BYTES = 1 << 20

# The types of details that are parsed as numbers, because no cell of them is blank or special.
_NUMBERS = ("bool", "float64", "int64")

# Before 3.1 pandas rounds the last digit of some numbers wrongly by default.
_EXACT: dict[str, Any] = (
    {"float_precision": "round_trip"}
    if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1)
    else {}
)


class _Fit(NamedTuple):
    """How well a delimiter fits: the share of rows as wide as the header, and that width."""

    agreement: float
    width: int


_FITS: WeakKeyDictionary[Source, dict[str, _Fit]] = WeakKeyDictionary()


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


def _fits_of(source: Source) -> dict[str, _Fit]:
    """How well each delimiter fits the text of a file."""
    if source not in _FITS:  # several readers ask
        _FITS[source] = {delimiter: _fit(source.sample, delimiter) for delimiter in DELIMITERS}
    return _FITS[source]


def best_delimiters(source: Source) -> list[str]:
    r"""The delimiters that fit a text best: none for a single column, several if they tie.

    Parameters
    ----------
    source : Source
        The text.

    Examples
    --------
    >>> best_delimiters(Source(b"id;recall\nq1;0,5\n")), best_delimiters(Source(b"one column"))
    ([';'], [])
    """
    fits = _fits_of(source)
    best = max(fits.values())
    return [delimiter for delimiter, fit in fits.items() if fit == best and fit.width > 1]


def _mark(source: Source, delimiters: Iterable[str]) -> float:
    if not source.is_text or source.starts_like_json:
        return 0.0
    description = description_beside(source).description
    if description is not None:
        return 1.0 if description.delimiter in delimiters else 0.0
    best = [delimiter for delimiter in best_delimiters(source) if delimiter in delimiters]
    if not best:
        return 0.0
    agreement = _fits_of(source)[best[0]].agreement
    # From 0.7 to 0.9 for a table, so that a framework's own reader (0.92 and more) goes first.
    return 0.5 + 0.4 * agreement if agreement >= 0.5 else 0.3


def _recognise_csv(source: Source) -> float:
    return _mark(source, (",", ";", "|"))


def _recognise_tsv(source: Source) -> float:
    return _mark(source, ("\t",))


def find_misfit(source: Source) -> ReaderError | None:
    """The error about the first row that is not as wide as the header.

    Parameters
    ----------
    source : Source
        A text that is hardly a table: most of its rows have other widths than the header.

    Returns
    -------
    ReaderError or None
        None if no delimiter fits the text, or all rows have the same width.
    """
    if not source.is_text or source.starts_like_json:
        return None
    text = source.sample
    for delimiter in best_delimiters(source):
        header, *others = islice(rows(text, delimiter, ends=line_ends(text, delimiter)), _SAMPLE)
        width = len(header.cells)
        for row in others:
            if len(row.cells) != width:
                return source.error(
                    f"no reader recognises this file; split at {delimiter!r}, this row has "
                    f"{count_text(len(row.cells), 'field')}, the header has {width}. Is a "
                    "delimiter or a quote missing? If this is not a table, choose with reader=...",
                    line=source.line_of(row.offset),
                )
    return None


def count_text(n: int, what: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> count_text(1, "field"), count_text(3, "field")
    ('1 field', '3 fields')
    """
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


# -- reading


def read_delimited(
    source: Source,
    *,
    delimiter: str | None = None,
    decimal: str | None = None,
    columns: Iterable[str] | None = None,
    query_id: str | None = None,
) -> list[ScoreFile]:
    """Read a table of delimited text.

    Parameters
    ----------
    source : Source
        The file.
    delimiter : str, optional
        One character; if omitted, the one that fits best.
    decimal : {".", ","}, optional
        The decimal sign. If omitted, and the delimiter is not a comma, columns whose cells look
        like 0,83 are read as numbers.
    columns : iterable of str, optional
        The columns to read besides the ids.
    query_id : str, optional
        The column of ids.

    Raises
    ------
    ReaderError
        If a name appears twice in the header, the header looks like data, or a row has another
        number of fields.
    """
    table = description_beside(source)
    description = table.description
    if (
        description is not None
        and delimiter in (None, description.delimiter)
        and decimal in (None, ".")
    ):
        return _read_described(source, description, table.text, columns, query_id)
    delimiter = _find_delimiter(source) if delimiter is None else _check_delimiter(delimiter)
    parsed = _parse_in_blocks(source, delimiter, query_id) if columns is None else None
    parsed = parsed or _parse_whole(source, delimiter, columns, query_id)
    frame, formula_notes = (
        find_neutralised_formulas(parsed.frame) if parsed.may_be_neutralised else (parsed.frame, [])
    )
    frame, notes = parse_decimal_commas(source, frame, delimiter=delimiter, decimal=decimal)
    return single_pipeline(
        *(source, frame),
        (*table.notes, *parsed.notes, *formula_notes, *notes),
        parsed.line_of_row,
    )


class _Parsed(NamedTuple):
    """The cells of a table, what was left out, and the line of each row."""

    frame: pd.DataFrame
    notes: tuple[str, ...]
    line_of_row: Callable[[int], int]
    may_be_neutralised: bool


def _parse_whole(
    source: Source, delimiter: str, columns: Iterable[str] | None, query_id: str | None
) -> _Parsed:
    """Parse a text that is held in memory, where every row can be looked at."""
    first_table = _DelimitedTable.open(source, delimiter)
    kept = select_columns(first_table.header, columns, query_id)
    if len(kept) < len(first_table.header):  # pandas accepts rows of any width then
        first_table = first_table.with_counted_rows()
    try:
        delimited, frame = first_table.parse_queries(kept, query_id)
    except ReaderError:
        if not first_table.is_by_line:
            raise
        first_table = first_table.with_counted_rows()
        delimited, frame = first_table.parse_queries(kept, query_id)
    cut_notes = _check_complete(delimited)
    notes = (*delimited.notes(), *cut_notes)
    return _Parsed(frame, notes, delimited.line_of_row, may_be_neutralised(source.utf8))


def _parse_in_blocks(source: Source, delimiter: str, query_id: str | None) -> _Parsed | None:
    """Parse a large table of which each line is a row; None if it is another one."""
    if source.size < _FEWEST_BYTES or delimiter == "|":
        return None
    sample = source.sample
    try:
        if not begins_with_header(sample):
            return None
        header, start = _header(source, sample, delimiter, line_ends(sample, delimiter))
        # The sample of a large file may end before the first row.
        is_plain = has_plain_line_ends(sample[:start], 0)
        if len(header) < 2 or start == len(sample) or not is_plain:
            return None
        is_utf8 = not is_read_in_slices(source)  # it was decoded then
        survey = LineSurvey(text_slices(source, sample[:start]), is_utf8=is_utf8)
        parse = partial(
            _open_parser,
            delimiter=delimiter,
            names=header,
            # All three line ends, or one, which takes pandas less time.
            ends=b"\n\r" if survey.has_returns else b"\n",
            n_records=1,
        )
        frame = parse_blocks(
            text_slices(source, sample[:start]),
            survey,
            delimiter,
            parse,
            texts=text_columns(header, query_id),
        )
        if rows_without_content(frame, query_id or QUERY_ID):
            return None
    # Whatever is wrong is said by `_parse_whole`, which knows the row.
    except (ValueError, OverflowError, OSError):
        return None
    n_before = sample.count(b"\n", 0, start)
    notes = [] if survey.is_ended else _check_complete(_DelimitedTable.open(source, delimiter))
    return _Parsed(
        *(frame, tuple(notes), lambda row: 1 + n_before + row, survey.may_be_neutralised)
    )


def _read_described(
    source: Source,
    description: TableDescription,
    text: bytes,
    columns: Iterable[str] | None,
    query_id: str | None,
) -> list[ScoreFile]:
    """Read a table that rageval_report wrote: the types of its columns are known."""
    kept = {QUERY_ID, *select_columns(description.columns, columns, query_id)}
    details = {name: saved for name, saved in description.details.items() if name in kept}
    metrics = [name for name in description.metrics if name in kept]
    types = {name: saved.dtype for name, saved in details.items() if saved.dtype in _NUMBERS}
    types |= dict.fromkeys(metrics, "float64")
    try:
        raw = pd.read_csv(
            BytesIO(text),
            sep=description.delimiter,
            lineterminator="\n",
            # By position, so that no name of a column is changed.
            header=0,
            names=description.columns,
            usecols=list(kept),
            index_col=False,
            dtype={name: types.get(name, "str") for name in kept},
            keep_default_na=False,
            na_values=[""],
            encoding="utf-8",
            **_EXACT,
        )
        if description.is_neutralised:
            raw = restore_formulas(raw)
        frame = restored_frame(raw, details, metrics)
    except (pd.errors.ParserError, ValueError, OverflowError) as exc:
        raise source.error(
            f"this table cannot be read by the description beside it: {exc}. Remove "
            f"{source.name}{COMPANION} to read it as any table"
        ) from exc
    return described_files(
        *(source, description, frame, description.columns), columns=columns, query_id=query_id
    )


def _check_complete(table: _DelimitedTable) -> list[str]:
    """Refuse a table of which a quote swallowed rows, or whose last cell is cut.

    Returns
    -------
    list of str
        A note if the last cell may be cut.
    """
    source, physical = table.source, table.physical()
    may_span_lines = table.row_count.has_quotes and not table.is_by_line
    swallowed = find_swallowed_rows(physical) if may_span_lines else None
    if swallowed is not None:
        lines = swallowed_lines(swallowed, source.line_of)
        raise source.error(
            f"a quote opens in this row and closes {count_text(swallowed.n_rows, 'line')} below; "
            f"{lines} in between would be lost in one cell, but would be "
            f"{'a row' if swallowed.n_rows == 1 else 'rows'} without it. Close the quote, remove "
            'it, or write "" for a quote within a cell',
            line=source.line_of(swallowed.offset),
        )
    cut = find_cut_cell(physical)
    if cut is None:
        return []
    line = source.line_of(cut.offset)
    shown = (
        f"the last cell is {cut.text!r}, but {cut.evidence}, and the file ends without a line end"
    )
    if cut.is_certain:
        raise source.error(
            f"the file is cut in its last row: {shown}. Write the file again, or delete this row; "
            "if the row is whole, end it with a line end",
            line=line,
        )
    row = source.utf8[cut.offset :].decode("utf-8", "replace").strip()
    quoted = row if len(row) <= _LONGEST_ROW else f"{row[:_LONGEST_ROW]}..."
    return [f"line {line}, the last row, may be cut ({shown}): {quoted}"]


def _check_delimiter(delimiter: str) -> str:
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise DataError(
            f"delimiter must be one ASCII character, such as ',' or '\\t'; got {delimiter!r}"
        )
    return delimiter


def _find_delimiter(source: Source) -> str:
    best = best_delimiters(source)
    if len(best) > 1:
        raise source.error(
            f"{named(best)} split the table equally well; choose one: delimiter={best[0]!r}"
        )
    return best[0] if best else ","


def _header(source: Source, text: bytes, delimiter: str, ends: bytes) -> tuple[list[str], int]:
    """The names of the columns of a text, and the offset of its first row."""
    begin, _ = table_start(text, delimiter)
    first_rows = list(islice(rows(text, delimiter, begin, ends), 2))
    if not first_rows:
        raise source.error("expected a header and rows; the file contains only blanks")
    header = first_rows[0]
    line = source.line_of(header.offset)
    if not header.is_closed:
        raise source.error("a quote in the header is never closed; is the file cut?", line=line)
    names = [cell_text(cell).strip() for cell in header.cells]
    if names[0].startswith("#") and len(names[0]) > 1 and len(names) > 1:
        names[0] = names[0].lstrip("# ") or names[0]
    unique_names = [name or f"Unnamed: {position}" for position, name in enumerate(names)]
    check_no_data_in_header(source, names, line)
    check_unique_names(source, unique_names, line)
    return unique_names, first_rows[1].offset if len(first_rows) > 1 else len(text)


def header_names(source: Source) -> list[str]:
    """The names of the columns of a delimited table."""
    description = description_beside(source).description
    if description is not None:
        return description.columns
    delimiter = _find_delimiter(source)
    text = _without_box(source.sample, delimiter)
    return _header(source, text, delimiter, line_ends(text, delimiter))[0]


class _DelimitedTable(NamedTuple):
    """A table whose rows are all as wide as its header; other lines are overwritten with blanks.

    If `is_by_line`, each line is taken for a row, and the table is refused when it is parsed if
    that is wrong.
    """

    source: Source
    text: bytes
    delimiter: str
    ends: bytes
    header: list[str]
    start: int
    row_count: RowCount
    left_out: tuple[ForeignLine, ...]
    is_by_line: bool = False

    @classmethod
    def open(cls, source: Source, delimiter: str) -> _DelimitedTable:
        """The table in a file, without comments, dashes and footers."""
        text = _without_box(source.utf8, delimiter)
        ends = line_ends(text, delimiter)
        header, start = _header(source, text, delimiter, ends)
        _, left_out = table_start(text, delimiter)
        is_by_line = len(header) > 1 and start < len(text) and has_plain_line_ends(text, start)
        table = cls(
            *(source, text, delimiter, ends, header, start),
            RowCount(0),
            tuple(left_out),
            is_by_line,
        )
        return table if is_by_line else table.with_counted_rows()

    def with_counted_rows(self) -> _DelimitedTable:
        """The same table after the fields of each row were counted, without lines of others."""
        text, left_out = self.text, self.left_out
        layout = (self.delimiter, len(self.header), self.start, self.ends)
        try:
            row_count = count_rows(text, *layout)
        except FieldCountError:
            lines = misfits(text, *layout)
            left_out += tuple(lines)
            text = overwrite(text, lines)
            row_count = _count(self.source, text, *layout)
        if not row_count.n_rows:
            raise self.source.error("the file has column names, but no rows")
        return self._replace(text=text, row_count=row_count, left_out=left_out, is_by_line=False)

    def parse_queries(
        self, kept: list[str], query_id: str | None
    ) -> tuple[_DelimitedTable, pd.DataFrame]:
        """The table and its columns, without headers in the middle, units and blank rows."""
        frame = self.parse(kept, query_id)
        try:
            rows_left_out = rows_without_content(
                frame, query_id or QUERY_ID, place=lambda row: f"line {self.line_of_row(row)}"
            )
        except DataError as exc:
            raise self.source.error(str(exc)) from exc
        if not rows_left_out:
            return self, frame
        reasons = {row.row: row.reason for row in rows_left_out}
        lines = lines_of_rows(self.text, self.delimiter, self.start, self.ends, reasons)
        text = overwrite(self.text, lines)
        row_count = _count(
            *(self.source, text, self.delimiter, len(self.header), self.start, self.ends)
        )
        if not row_count.n_rows:
            raise self.source.error("the file has column names, but no rows")
        # Parsed again, because a single text in a column of numbers changes how all are read.
        table = self._replace(
            text=text,
            row_count=row_count,
            left_out=(*self.left_out, *lines),
            is_by_line=False,
        )
        return table, table.parse(kept, query_id)

    def line_of_row(self, row: int) -> int:
        """The line of a row, which is counted from 0."""
        every_row = rows(self.text, self.delimiter, self.start, self.ends)
        return self.source.line_of(next(islice(every_row, row, None)).offset)

    @property
    def is_padded(self) -> bool:
        """Whether blanks align the columns between bars, as in Markdown and database shells."""
        if self.delimiter != "|":
            return False
        begin, _ = table_start(self.text, self.delimiter)
        header = next(rows(self.text, self.delimiter, begin, self.ends))
        return any(cell != cell.strip() for cell in header.cells)

    def notes(self) -> list[str]:
        """What was left out."""
        lines = sorted(self.left_out)
        return list(notes_on_lines(lines, self.source.line_of))

    def physical(self) -> DelimitedText:
        """The table as text."""
        # Of lines that are rows, nobody asks where they begin if the last one is whole.
        is_whole = self.is_by_line and self.text.endswith(b"\n")
        return DelimitedText(
            *(self.text, self.delimiter, len(self.header), self.start, self.ends),
            None if is_whole else self._starts(),
        )

    def _starts(self) -> np.ndarray | None:
        """The offsets of the rows, if they are known."""
        return Lines(self.text, self.start).starts() if self.is_by_line else self.row_count.starts

    def parse(self, kept: list[str], query_id: str | None) -> pd.DataFrame:
        """The columns to keep; ids and answers are texts as they are written."""
        frame = self._parse_with_pandas(kept)
        texts = {
            name: self._text_of(name, frame[name])
            for name in text_columns(kept, query_id)
            if not _is_text(frame[name])
        }
        whole = frame.assign(**texts) if texts else frame
        return _without_padding(whole) if self.is_padded else whole

    def _text_of(self, name: str, cells: pd.Series) -> pd.Series:
        """The cells, which pandas took for numbers, as they are written."""
        # Ids are mostly the first column and whole numbers: then arrays can check how they are
        # written, without a second pass by pandas.
        is_first_and_whole = name == self.header[0] and cells.dtype == np.int64
        starts = self._starts() if is_first_and_whole else None
        if starts is not None and are_written_plainly(
            cells.to_numpy(), self.text, starts, self.delimiter
        ):
            return cells.astype(str)
        # To parse them as texts in the first place would cost more: pandas then cannot go through
        # the file in steps.
        return self._parse_with_pandas([name], dtype=str)[name]

    def _parse_with_pandas(self, kept: list[str], dtype: type[str] | None = None) -> pd.DataFrame:
        """The columns as pandas parses them, piece by piece."""
        parse = partial(self._open_parser, kept, dtype)
        try:
            if self.is_by_line and dtype is None:
                return parse_lines(self.text, self.delimiter, self.start, parse, parse)
            n_rows = Lines(self.text, self.start).n if self.is_by_line else self.row_count.n_rows
            n_records = records_at_a_time(n_rows, len(self.text) - self.start)
            frame = ParsedPieces(n_rows, parse(n_records)).joined(parse)
        except (ValueError, OverflowError) as exc:
            raise self.source.error(f"the table cannot be parsed: {exc}") from exc
        # pandas joins or drops rows at a stray quote without a word.
        if len(frame) != n_rows and len(self.header) > 1:
            raise self.source.error(
                f"the file has {n_rows} rows by its line ends, but {len(frame)} by its cells; is a "
                "quote missing?"
            )
        return frame

    def _open_parser(
        self, kept: list[str], dtype: type[str] | None, n_records: int | None = None
    ) -> Any:
        """The whole table, or some records at a time."""
        content = BytesIO(self.text)
        content.seek(self.start)
        # With `usecols` pandas accepts rows that have too many fields.
        columns = None if len(kept) == len(self.header) else kept
        return _open_parser(
            content,
            delimiter=self.delimiter,
            names=self.header,
            ends=self.ends,
            dtype=dtype,
            n_records=n_records,
            columns=columns,
        )


def _open_parser(
    content: Any,
    *,
    delimiter: str,
    names: list[str],
    ends: bytes,
    n_records: int | None,
    dtype: type[str] | None = None,
    columns: list[str] | None = None,
) -> Any:
    """The rows of an open file, or some records at a time; only a blank cell is missing."""
    return pd.read_csv(
        content,
        sep=delimiter,
        # None lets pandas accept all three line ends; it takes only one character, so "\r\n"
        # cannot be named.
        lineterminator="\n" if ends == b"\n" else None,
        header=None,
        names=names,
        usecols=columns,
        # Otherwise pandas takes the first column for an index if every row has one field too many.
        index_col=False,
        dtype=dtype,
        # pandas would read "None", "NA" and "null" as missing, but they can be ids and answers.
        keep_default_na=False,
        na_values=[""],
        # In steps of its own pandas may give one column two types.
        low_memory=False,
        chunksize=n_records,
        encoding="utf-8",
        **_EXACT,
    )


def _count(
    source: Source, text: bytes, delimiter: str, n_fields: int, start: int, ends: bytes
) -> RowCount:
    try:
        return count_rows(text, delimiter, n_fields, start, ends)
    except FieldCountError as exc:
        row = next(rows(text, delimiter, exc.offset, ends), None)
        is_mixed = row is not None and b"\r" in text[row.offset : row.stop]
        hint = " It contains a carriage return: are there several kinds of line ends?"
        raise source.error(
            f"{exc}{hint if is_mixed else ''}", line=source.line_of(exc.offset)
        ) from exc


def _without_box(text: bytes, delimiter: str) -> bytes:
    """The text; a Markdown table without its outer bars."""
    if delimiter != "|":
        return text
    return without_outer_bars(text, table_start(text, delimiter)[0]) or text


def _without_padding(frame: pd.DataFrame) -> pd.DataFrame:
    """The cells without the blanks that align columns between bars."""
    texts = {
        name: frame[name].map(_unpadded, na_action="ignore")
        for name in frame.columns
        if _is_text(frame[name])
    }
    return frame.assign(**texts) if texts else frame


def _unpadded(cell: str) -> str | None:
    return with_bars(cell.strip()) or None


def _is_text(column: pd.Series) -> bool:
    return pd.api.types.infer_dtype(column, skipna=True) == "string"


_OPTIONS = ("columns", "decimal", "delimiter", "encoding", "query_id")

CSV = Reader(
    "csv",
    "a table of text with a header, split at commas, semicolons or bars",
    _recognise_csv,
    read_delimited,
    _OPTIONS,
    header_names,
    "scores.csv",
    find_misfit,
)
TSV = Reader(
    "tsv",
    "a table of text with a header, split at tabs",
    _recognise_tsv,
    read_delimited,
    _OPTIONS,
    header_names,
    "scores.tsv",
    find_misfit,
)
