"""Decides which rows of a table are queries, and says of each other row what it is.

A table may hold rows that score no query: totals, the header once more, Markdown's dashes, units,
comments, blank rows, the footer of a database shell. Counted as queries they would change every
number without a word. A row is left out only if its cells show what it is; a doubtful row is kept
with a note, or refused with the option that decides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd

from rageval_report.errors import MOST_NAMED, DataError, check_choice, named
from rageval_report.scores.aggregate_rows import (
    MOST_LABELS,
    SPELLINGS,
    ColumnMatch,
    NumberColumn,
    is_certain_label,
    kinds_of_label,
    match_columns,
)
from rageval_report.scores.cells import read_cells
from rageval_report.scores.metric import normalise_name
from rageval_report.scores.query_ids import QUERY_ID, first_named, id_column_of, question_text
from rageval_report.types import BoolArray

Totals = Literal["auto", "drop", "keep"]
TOTALS: tuple[Totals, ...] = ("auto", "drop", "keep")

# Totals stand at the ends of a table; there their labels are read in any spelling.
_ENDS = 100
# The cells that show whether a column of texts holds numbers.
_SAMPLE = 200

_DASHES = re.compile(r"[\s|+:=\-_─━═]*[-=_─━═]{2,}[\s|+:=\-_─━═]*|\s*:?-:?\s*")
_COMMENT = re.compile(r"\s*(#|//|--\s|%\s)")
_FOOTER = re.compile(
    r"""\s* \(? \s*
    (?: \d[\d,]* \s+ rows? (?:\s+(?:selected|affected|returned|fetched|in\ set))?
      | rows? \s* : \s* \d[\d,]*
      | query\ ok .*
      | time \s* : \s* [\d.,]+ \s* \w* )
    \s* (?:\( [\d.,]+ \s* \w+ \))? \s* \)? [.;]? \s*""",
    re.IGNORECASE | re.VERBOSE,
)
_UNITS = frozenset(
    "% ms s sec seconds second us µs min minutes usd $ eur € tokens token unit units ratio percent "
    "percentage fraction share score scores 0-1 0..1 [0,1] 1-5 0-100 number numeric text string "
    "str int integer int64 int32 bigint float float64 float32 double real decimal varchar object "
    "bool boolean f64 f32 i64 i32 utf8 id n/a -".split()
)
_WORDS = re.compile(r"[^\W\d_]{2,}(?:[ _-][^\W\d_]+)*")
# Of a row of units at least one cell must be a unit that is not also a word for "unscored".
_UNSCORED = frozenset(("n/a", "-"))


@dataclass(frozen=True)
class LeftOutRow:
    """A row that is not a query.

    Parameters
    ----------
    row : int
        Its position, counted from 0.
    reason : str
        What it is instead.
    """

    row: int
    reason: str


@dataclass(frozen=True, eq=False)
class QueryRows:
    """The rows of a table that are queries.

    Parameters
    ----------
    left_out : tuple of LeftOutRow
        The other rows, in order.
    notes : tuple of str
        What was left out, and which rows are doubtful.
    """

    left_out: tuple[LeftOutRow, ...] = ()
    notes: tuple[str, ...] = ()

    def is_query(self, n_rows: int) -> BoolArray:
        """Whether each row of the table is a query."""
        is_query = np.ones(n_rows, dtype=bool)
        is_query[[row.row for row in self.left_out]] = False
        return is_query

    def select(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The frame with its queries only; row numbers as an index count anew."""
        if not self.left_out:
            return frame
        kept = frame[self.is_query(len(frame))]
        if isinstance(frame.index, pd.RangeIndex):
            kept = kept.reset_index(drop=True)
        # Numbers that shared their column with a text become numbers again.
        return kept.infer_objects()


# What names a row to the user: its line in a file, or its position.
PlaceOfRow = Callable[[int], str]


def position_of_row(row: int) -> str:
    """The name of a row of a table that has no lines.

    Examples
    --------
    >>> position_of_row(0)
    'row 1'
    """
    return f"row {row + 1}"


def query_rows(
    frame: pd.DataFrame,
    query_id: str = QUERY_ID,
    *,
    totals: Totals = "auto",
    place: PlaceOfRow = position_of_row,
) -> QueryRows:
    """The rows that are queries.

    Parameters
    ----------
    frame : DataFrame
        The rows; the column names are unique texts.
    query_id : str
        The column of ids; if it is missing, the same columns are tried as for the ids.
    totals : {"auto", "drop", "keep"}
        What to do with rows whose ids name a total or another statistic: let their numbers decide,
        leave them all out, or take them all for queries.
    place : callable
        Takes the position of a row and returns its name in notes, such as "line 7".

    Raises
    ------
    DataError
        If all rows are statistics, a header in the middle has other columns, or a row may be a
        query or a total.

    Examples
    --------
    >>> frame = pd.DataFrame({"id": ["a", "b", "mean"], "recall": [1.0, 0.5, 0.75]})
    >>> rows = query_rows(frame)
    >>> rows.notes
    ("left out row 3: 'mean' with recall 0.75 is the mean of the other rows, not a query",)
    >>> rows.select(frame)["id"].tolist()
    ['a', 'b']
    """
    check_choice("totals", totals, TOTALS)
    table = _LabelledTable(frame, query_id, place)
    by_form = rows_without_content(frame, query_id, place=place)
    if totals == "keep":
        return QueryRows(tuple(by_form), _notes_of_rows(by_form, place))
    table.is_open[[row.row for row in by_form]] = False
    by_numbers, doubts = _total_rows(table, totals)
    notes = [f"left out {place(row.row)}: {row.reason}" for row in by_numbers[:MOST_NAMED]]
    if len(by_numbers) > MOST_NAMED:
        others = named([place(row.row) for row in by_numbers[MOST_NAMED:]]).replace("'", "")
        notes.append(f"left out for the same reason: {others}")
    left_out = tuple(sorted((*by_form, *by_numbers), key=lambda row: row.row))
    return QueryRows(left_out, (*_notes_of_rows(by_form, place), *notes, *doubts))


def _notes_of_rows(left_out: Sequence[LeftOutRow], place: PlaceOfRow) -> tuple[str, ...]:
    """One note per reason, with the first rows."""
    rows_of: dict[str, list[int]] = {}
    for row in left_out:
        rows_of.setdefault(row.reason, []).append(row.row)
    return tuple(left_out_note(map(place, rows), reason) for reason, rows in rows_of.items())


def left_out_note(places: Iterable[str], reason: str) -> str:
    """The note on rows that were left out for one reason.

    Examples
    --------
    >>> left_out_note(["line 3", "line 7"], "a comment")
    'left out, because they are not queries: line 3, line 7 (a comment)'
    """
    every = list(places)
    because = "it is not a query" if len(every) == 1 else "they are not queries"
    listed = ", ".join(every[:MOST_NAMED])
    more = f" and {len(every) - MOST_NAMED} more" if len(every) > MOST_NAMED else ""
    return f"left out, because {because}: {listed}{more} ({reason})"


# -- rows that hold no scores, by their form


def rows_without_content(
    frame: pd.DataFrame, query_id: str = QUERY_ID, *, place: PlaceOfRow = position_of_row
) -> list[LeftOutRow]:
    """The rows that are blank, a header, dashes, units, a comment or a footer.

    Raises
    ------
    DataError
        If a header in the middle names the columns in another order, or other columns; or if the
        columns are statistics.

    Examples
    --------
    >>> frame = pd.DataFrame({"id": ["a", "id", "b"], "recall": ["1", "recall", "0.5"]})
    >>> rows_without_content(frame)
    [LeftOutRow(row=1, reason='the header once more')]
    """
    labels = label_cells(frame, query_id)
    if labels is None or not len(frame):
        return []
    _check_columns(frame)
    rows = [*_sparse_rows(frame, labels)]
    # Where a column holds only numbers, no row can be a header, dashes, or units.
    if not any(_is_numeric(frame[name]) for name in frame.columns if name != labels.name):
        rows += _RowsOfTexts(frame, labels, place).left_out()
    unique = {row.row: row for row in reversed(rows)}
    return [unique[row] for row in sorted(unique)]


_DESCRIBED = frozenset(("count", "mean", "std", "min", "25%", "50%", "75%", "max"))


def _check_columns(frame: pd.DataFrame) -> None:
    if frame.shape[1] >= len(_DESCRIBED) and set(map(str, frame.columns)) >= _DESCRIBED:
        raise DataError(
            "the columns are statistics (count, mean, std, ...), as describe() writes them, and "
            "the rows are metrics: expected one row per query and one column per metric"
        )


def label_cells(frame: pd.DataFrame, query_id: str = QUERY_ID) -> pd.Series | None:
    """The cells that name the rows: the ids, an index of names, or the questions; else None.

    Examples
    --------
    >>> label_cells(pd.DataFrame({"qid": ["a"], "recall": [1]})).name
    'qid'
    """
    names = [str(name) for name in frame.columns]
    by_name = dict(zip(names, frame.columns, strict=True))
    column = query_id if query_id in by_name else first_named(names, (normalise_name(query_id),))
    index = frame.index
    if column is None and (
        normalise_name(str(index.name)) == QUERY_ID or id_column_of([str(index.name)]) is not None
    ):
        return index.to_series() if index.nlevels == 1 else None
    column = column or id_column_of(names)
    if column is None and index.nlevels == 1 and not pd.api.types.is_integer_dtype(index.dtype):
        return index.to_series()
    column = column or question_text(pd.DataFrame(columns=names))
    return None if column is None else frame[by_name[column]]


def _is_numeric(cells: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(cells.dtype)


def _sparse_rows(frame: pd.DataFrame, labels: pd.Series) -> list[LeftOutRow]:
    """The rows with no cell but the label: blank rows, comments, footers, dashes."""
    others = [frame[name] for name in frame.columns if name != labels.name]
    # Numbers first, because a column of numbers without NaN settles it in no time.
    is_sparse: BoolArray | None = None
    for cells in sorted(others, key=lambda cells: not _is_numeric(cells)):
        is_blank = cells.isna().to_numpy(dtype=bool)
        if not _is_numeric(cells) and (is_sparse is None or is_sparse.any()):
            is_blank = is_blank | _is_blank_text(cells)
        is_sparse = is_blank if is_sparse is None else is_sparse & is_blank
        if not is_sparse.any():
            return []
    if is_sparse is None:
        return []
    rows = []
    n_marked = _n_comments(labels)
    for row in np.flatnonzero(is_sparse).tolist():
        reason = _reason_of_label(labels.iloc[row], may_be_comment=n_marked <= len(labels) // 2)
        if reason:
            rows.append(LeftOutRow(row, reason))
    # A table of ids alone is a matter for the check of metrics.
    return rows if len(rows) < len(frame) else []


def _is_blank_text(cells: pd.Series) -> BoolArray:
    if isinstance(cells.dtype, pd.StringDtype):
        return cells.str.strip().eq("").fillna(True).to_numpy(dtype=bool)
    return np.array([isinstance(cell, str) and not cell.strip() for cell in cells], dtype=bool)


def _n_comments(labels: pd.Series) -> int:
    """The number of labels that begin like a comment, from a sample: ids may all begin with "#"."""
    sample = labels.iloc[:: math.ceil(len(labels) / _SAMPLE)]
    n_marked = sum(isinstance(cell, str) and bool(_COMMENT.match(cell)) for cell in sample)
    return n_marked * len(labels) // max(1, len(sample))


def _reason_of_label(label: object, *, may_be_comment: bool) -> str | None:
    """What a row with nothing but a label is; None if it may be a query without scores."""
    if not isinstance(label, str):
        is_missing = label is None or label is pd.NA or label != label
        return "a blank row" if is_missing else None
    if not label.strip():
        return "a blank row"
    return reason_of_line(label, may_be_comment=may_be_comment)


def reason_of_line(line: str, *, may_be_comment: bool = True) -> str | None:
    """What a line of text is that does not have the cells of a row; None if it may be a cut row.

    Examples
    --------
    >>> reason_of_line("|---|:--:|"), reason_of_line("(107 rows)"), reason_of_line("q7")
    ('a line of dashes', 'the footer of a database shell', None)
    """
    if _DASHES.fullmatch(line):
        return "a line of dashes"
    if _FOOTER.fullmatch(line):
        return "the footer of a database shell"
    return "a comment" if may_be_comment and _COMMENT.match(line) else None


@dataclass(frozen=True, eq=False)
class _RowsOfTexts:
    """The rows of a table in which no column holds only numbers."""

    frame: pd.DataFrame
    labels: pd.Series
    place: PlaceOfRow

    def left_out(self) -> list[LeftOutRow]:
        """The headers, dashes, units and comments."""
        reasons = {row: self._reason(row) for row in self._suspects()}
        rows = [LeftOutRow(row, reason) for row, reason in reasons.items() if reason]
        return rows if len(rows) < len(self.frame) else []

    def _suspects(self) -> list[int]:
        """The rows whose first look is not that of a query: the label decides."""
        labels = self.labels.astype(object).map(_plain_text).astype(str)
        lower = labels.str.casefold()
        suspects = (
            lower.isin([name.casefold() for name in self.names])
            | lower.isin(_UNITS)
            | (labels == "")
        )
        suspects |= labels.str.match(r"[-=:+|─━═#%]|//")
        return [int(row) for row in np.flatnonzero(suspects.to_numpy(dtype=bool))]

    @property
    def label(self) -> str:
        return str(self.labels.name).strip()

    @cached_property
    def names(self) -> list[str]:
        return [str(name).strip() for name in self.frame.columns]

    @cached_property
    def _numbers(self) -> list[int]:
        """The positions of the columns in which most cells are numbers."""
        positions = []
        for position, name in enumerate(self.frame.columns):
            cells = self.frame[name]
            sample = [
                cell for cell in cells.iloc[:: math.ceil(len(cells) / _SAMPLE)] if _plain_text(cell)
            ]
            is_label = self.names[position] == self.label
            if not is_label and 2 * _n_numbers(sample) >= len(sample) > 0:
                positions.append(position)
        return positions

    def _reason(self, row: int) -> str | None:
        cells = [self.frame[name].iloc[row] for name in self.frame.columns]
        if not all(isinstance(cell, str) or _is_missing(cell) for cell in cells):
            return None
        texts = [_plain_text(cell) for cell in cells]
        filled = [text for text in texts if text]
        if not filled:
            return "a blank row"
        if [text.casefold() for text in texts] == [name.casefold() for name in self.names]:
            return "the header once more"
        if all(map(_DASHES.fullmatch, filled)) and any(len(text) > 1 for text in filled):
            return "a line of dashes"
        return self._reason_by_shape(row, texts, filled)

    def _reason_by_shape(self, row: int, texts: list[str], filled: list[str]) -> str | None:
        """What a row is that has texts in all columns in which most other rows have numbers."""
        in_numbers = [texts[position] for position in self._numbers]
        if not in_numbers or _n_numbers(in_numbers):
            return None
        label = dict(zip(self.names, texts, strict=True)).get(self.label, "")
        are_names = {text.casefold() for text in filled} <= {name.casefold() for name in self.names}
        if label.casefold() == self.label.casefold() or (are_names and len(filled) > 1):
            raise DataError(
                f"{self.place(row)} is another header ({', '.join(filled)}) than the first "
                f"({', '.join(self.names)}): were two files with different columns joined? Read "
                "them apart, or bring their columns into one order"
            )
        if _are_units(filled):
            return "a row of units or types"
        may_be_comment = _n_comments(self.labels) <= len(self.labels) // 2
        return "a comment" if may_be_comment and _COMMENT.match(filled[0]) else None


def _plain_text(cell: object) -> str:
    """A cell as text without blanks around it; nothing for a missing cell."""
    return "" if _is_missing(cell) else str(cell).strip()


def _is_missing(cell: object) -> bool:
    return cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell))


def _are_units(filled: list[str]) -> bool:
    plain = [text.casefold().strip("()[] ") or text for text in filled]
    are_known = all(text in _UNITS or f"[{text}]" in _UNITS for text in plain)
    return are_known and any(text not in _UNSCORED for text in plain)


def _n_numbers(cells: Iterable[object]) -> int:
    return int((~np.isnan(read_cells(list(cells)).numbers)).sum())


# -- totals


class _LabelledTable:
    """The labels, the numbers and the texts of a table, each computed when they are needed."""

    def __init__(self, frame: pd.DataFrame, query_id: str, place: PlaceOfRow):
        self.frame = frame
        self.place = place
        self.labels = label_cells(frame, query_id)
        # The rows that may still be queries.
        self.is_open: BoolArray = np.ones(len(frame), dtype=bool)

    @cached_property
    def numbers(self) -> list[NumberColumn]:
        """The columns of numbers, also those that are written as texts."""
        label = None if self.labels is None else self.labels.name
        columns = []
        for name in self.frame.columns:
            cells = self.frame[name]
            if name == label:
                continue
            if _is_numeric(cells) and not pd.api.types.is_complex_dtype(cells.dtype):
                columns.append(NumberColumn(str(name), _to_floats(cells)))
            elif cells.dtype == object or isinstance(cells.dtype, pd.StringDtype):
                present = [cell for cell in cells.iloc[: 2 * _SAMPLE] if not _is_missing(cell)]
                simple = all(isinstance(cell, str | int | float) for cell in present)
                if present and simple and 2 * _n_numbers(present) >= len(present):
                    columns.append(NumberColumn(str(name), read_cells(cells.tolist()).numbers))
        return columns

    @cached_property
    def texts(self) -> list[pd.Series]:
        """The other columns."""
        numeric = {column.name for column in self.numbers}
        label = None if self.labels is None else self.labels.name
        return [
            self.frame[name]
            for name in self.frame.columns
            if name != label and str(name) not in numeric
        ]

    @cached_property
    def has_words(self) -> bool:
        """Whether most ids are words, so that "total" may be one of them."""
        if self.labels is None:
            return False
        cells = self.labels.iloc[:: math.ceil(len(self.labels) / _SAMPLE)]
        sample = [str(cell) for cell in cells if not kinds_of_label(cell)]
        words = [cell for cell in sample if _WORDS.fullmatch(cell)]
        return 2 * len(words) > len(sample)

    def own_text(self, row: int) -> str | None:
        """A text that only this row has, as a question is; None if there is none."""
        for cells in self.texts:
            cell = cells.iloc[row]
            if not isinstance(cell, str) or not cell.strip() or kinds_of_label(cell):
                continue
            if len(cell.strip()) > 1 and not _DASHES.fullmatch(cell) and (cells == cell).sum() == 1:
                return cell
        return None

    def other_label(self, row: int) -> str | None:
        """The label of a total in another column of a row without an id."""
        cells = [cells.iloc[row] for cells in self.texts]
        return next((cell for cell in cells if kinds_of_label(cell)), None)

    def groups(self, row: int, members: BoolArray) -> list[BoolArray]:
        """The rows that a total may summarise: all, the block before or after it, its group."""
        groups = [members]
        # A query whose id is a word would too easily fit one of many groups.
        if self.has_words:
            return groups
        before, after = _block(members, row, -1), _block(members, row, 1)
        groups += [
            block for block in (before, after) if block.sum() > 1 and (block != members).any()
        ]
        for cells in self.texts:
            cell = cells.iloc[row]
            if isinstance(cell, str) and cell.strip():
                same = (cells == cell).to_numpy(dtype=bool, na_value=False) & members
                if same.any() and (same != members).any():
                    groups.append(same)
        return groups


def _to_floats(cells: pd.Series) -> np.ndarray:
    if isinstance(cells.dtype, np.dtype):
        return cells.to_numpy(dtype=np.float64)
    return cells.to_numpy(dtype=np.float64, na_value=np.nan)


def _block(members: BoolArray, row: int, step: int) -> BoolArray:
    """The members that follow each other directly before or after a row and other totals."""
    block = np.zeros(len(members), dtype=bool)
    at = row + step
    while 0 <= at < len(members) and not members[at]:
        at += step
    while 0 <= at < len(members) and members[at]:
        block[at] = True
        at += step
    return block


def _total_rows(table: _LabelledTable, totals: Totals) -> tuple[list[LeftOutRow], list[str]]:
    """The rows of totals, and notes on rows that may be some."""
    labelled = _labelled_rows(table)
    blank = _rows_without_label(table)
    if not labelled and not blank:
        return [], []
    n_open = int(table.is_open.sum())
    _check_not_only_statistics(labelled, n_open)
    if totals == "drop":
        return [
            LeftOutRow(row, f'{label!r} names a total, and totals="drop"')
            for row, label in labelled.items()
        ], []
    if len(labelled) > MOST_LABELS:
        return [], []
    left_out, doubtful = _compare_with_others(table, {**labelled, **blank})
    doubts = [_doubt(table, row, label) for row, label in doubtful.items()]
    return left_out, [doubt for doubt in doubts if doubt]


def _labelled_rows(table: _LabelledTable) -> dict[int, str]:
    """The rows whose labels name a statistic."""
    labels = table.labels
    if labels is None or _is_numeric(labels) or not len(labels):
        return {}
    # Not Series.isin, which converts all spellings for every table.
    rows = {
        row
        for row, cell in enumerate(labels.tolist())
        if isinstance(cell, str) and cell in SPELLINGS
    }
    rows |= set(_rows_at_ends(len(labels)))
    cells = dict(zip(sorted(rows), labels.iloc[sorted(rows)].tolist(), strict=True))
    return {row: cell for row, cell in cells.items() if table.is_open[row] and kinds_of_label(cell)}


def _rows_at_ends(n: int) -> list[int]:
    """The first and the last rows of a table."""
    return sorted({*range(min(_ENDS, n)), *range(max(0, n - _ENDS), n)})


def _rows_without_label(table: _LabelledTable) -> dict[int, str]:
    """The first and last rows without an id, with the label of a total in another column if any."""
    labels = table.labels
    if labels is None:
        return {}
    is_blank = labels.isna().to_numpy(dtype=bool) & table.is_open
    ends = [row for row in _rows_at_ends(len(labels)) if table.is_open[row]]
    for row, cell in zip(ends, labels.iloc[ends].tolist(), strict=True):
        is_blank[row] |= isinstance(cell, str) and not cell.strip()
    rows = np.flatnonzero(is_blank)
    if not len(rows) or len(rows) > MOST_LABELS or len(rows) == len(labels):
        return {}
    return {row: table.other_label(row) or "" for row in rows.tolist()}


def _check_not_only_statistics(labelled: dict[int, str], n_open: int) -> None:
    if len(labelled) < n_open or not any(map(is_certain_label, labelled.values())):
        return
    raise DataError(
        f"every row is a statistic ({named(labelled.values())}), as describe() writes them, and "
        "none is a query: expected one row per query. Pass the scores of the queries, or "
        'totals="keep" if these are the ids of queries'
    )


def _compare_with_others(
    table: _LabelledTable, suspects: dict[int, str]
) -> tuple[list[LeftOutRow], dict[int, str]]:
    """The suspects whose numbers are statistics of other rows, and the others."""
    left_out: dict[int, str] = {}
    open_suspects = dict(suspects)
    # A query named "all" counts for the mean, so the comparison is repeated with what remained.
    for with_suspects in (False, True):
        for row, label in list(open_suspects.items()):
            members = table.is_open.copy()
            members[list(left_out if with_suspects else suspects)] = False
            members[row] = False
            reason = _reason_of_total(table, row, label, members)
            if reason:
                left_out[row] = reason
        for row in left_out:
            open_suspects.pop(row, None)
        if not open_suspects:
            break
    return [LeftOutRow(row, left_out[row]) for row in sorted(left_out)], open_suspects


def _reason_of_total(table: _LabelledTable, row: int, label: str, members: BoolArray) -> str | None:
    kinds = kinds_of_label(label) or frozenset(("mean", "total"))
    matches = match_columns(table.numbers, row, sorted(kinds), table.groups(row, members))
    own_text = table.own_text(row)
    if not matches:
        is_empty = all(math.isnan(column.numbers[row]) for column in table.numbers)
        if is_empty and label and own_text is None and is_certain_label(label):
            return f"{label!r} without a score is an empty total, not a query"
        return None
    # A constant column agrees with any total; it counts only where there is no other one.
    matches = [match for match in matches if match.is_telling] or matches
    agreeing = [match for match in matches if match.statistic is not None]
    if own_text is not None or 2 * len(agreeing) < len(matches):
        return None
    if not label:
        # Without a label only the numbers speak, and all of them must.
        if len(agreeing) < len(matches) or not any(match.is_telling for match in agreeing):
            return None
        return (
            f"it has no id, and {_list_matches(agreeing)} of the other rows: a total, not a query"
        )
    return f"{label!r} with {_list_matches(agreeing)} of the other rows, not a query"


def _list_matches(matches: Sequence[ColumnMatch]) -> str:
    statistic = matches[0].statistic
    values = ", ".join(
        f"{match.column} {match.value:g}" for match in matches[:3] if match.statistic == statistic
    )
    return f"{values} is the {statistic}"


def _doubt(table: _LabelledTable, row: int, label: str) -> str | None:
    """A note on a row that is kept, if it may be a total.

    Raises
    ------
    DataError
        If its label hardly names a query.
    """
    if not label or table.own_text(row) is not None:
        return None
    values = ", ".join(
        f"{column.name} {column.numbers[row]:g}"
        for column in table.numbers[:3]
        if not math.isnan(column.numbers[row])
    )
    facts = (
        f"{table.place(row)} is labelled {label!r}: is it a query or a total? Its values "
        f"({values or 'none'}) are not the {' or '.join(sorted(kinds_of_label(label)))} of the "
        "other rows"
    )
    if is_certain_label(label) and not table.has_words:
        raise DataError(
            f'{facts}. Pass totals="drop" to leave it out, or totals="keep" to count it as a query'
        )
    return f'{facts}; it counts as a query. To leave it out, pass totals="drop"'
