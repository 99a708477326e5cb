"""Decides which rows of a table are queries, and says of each other row what it is.

A table may hold rows that score no query: totals, the header once more, Markdown's dashes,
comments, blank rows, the footer of a database shell. Counted as queries they would change every
number without a word. A row is left out with a note if its cells show what it is; a doubtful row is
refused with the option that decides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from rageval_report.errors import MOST_NAMED, DataError, check_choice, named
from rageval_report.scores.cells import read_cell
from rageval_report.scores.metric import WORDS, normalise_name
from rageval_report.scores.query_ids import QUERY_ID, column_of_ids, id_column_of, question_text
from rageval_report.scores.states import is_missing
from rageval_report.types import BoolArray

Totals = Literal["auto", "drop", "keep"]
TOTALS: tuple[Totals, ...] = ("auto", "drop", "keep")

# The cells that show whether a column of texts holds numbers.
_SAMPLE = 400

_DASHES = re.compile(r"[\s|+:=\-_─━═]*[-=_─━═]{2,}[\s|+:=\-_─━═]*|\s*:?-:?\s*")
_COMMENT = re.compile(r"\s*(#|//|--\s|%\s)")
# "(107 rows)", "12 rows in set (0.01 sec)", "Time: 3.2 ms"
_FOOTER = re.compile(r"\s*\(?\d[\d,]* rows?\b[^,;|]*|\s*time: [\d.]+ \w+\s*", re.IGNORECASE)
_CERTAIN, _BESIDE = (frozenset(WORDS["rows"][key].split()) for key in ("certain", "beside"))


class LeftOutRow(NamedTuple):
    """A row that is not a query, counted from 0, and what it is instead."""

    row: int
    reason: str


@dataclass(frozen=True, eq=False)
class QueryRows:
    """The rows of a table that are queries: the others, in order, and notes on them."""

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
    """The name of a row of a table that has no lines."""
    return f"row {row + 1}"


def query_rows(
    frame: pd.DataFrame,
    query_id: str = QUERY_ID,
    *,
    totals: Totals = "auto",
    place: PlaceOfRow = position_of_row,
) -> QueryRows:
    """The rows of a table that are queries; `place` names a row in notes, such as "line 7".

    Examples
    --------
    >>> frame = pd.DataFrame({"id": ["a", "b", "mean"], "recall": [1.0, 0.5, 0.75]})
    >>> query_rows(frame).left_out[0].row
    2
    """
    check_choice("totals", totals, TOTALS)
    left_out = rows_without_content(frame, query_id, place=place)
    labels = _label_cells(frame, query_id)
    if totals != "keep" and labels is not None and len(frame):
        is_open = np.ones(len(frame), dtype=bool)
        is_open[[row for row, _ in left_out]] = False
        left_out = sorted((*left_out, *_total_rows(frame, labels, is_open, totals, place)))
    reasons: dict[str, list[str]] = {}
    for row, reason in left_out:
        reasons.setdefault(reason, []).append(place(row))
    notes = (left_out_note(places, reason) for reason, places in reasons.items())
    return QueryRows(tuple(left_out), tuple(notes))


def left_out_note(places: Iterable[str], reason: str) -> str:
    """The note on rows that were left out for one reason."""
    every = list(places)
    because = "it is not a query" if len(every) == 1 else "they are not queries"
    more = f" and {len(every) - MOST_NAMED} more" if len(every) > MOST_NAMED else ""
    return f"left out, because {because}: {', '.join(every[:MOST_NAMED])}{more} ({reason})"


# -- rows that hold no scores, by their form


def rows_without_content(
    frame: pd.DataFrame, query_id: str = QUERY_ID, *, place: PlaceOfRow = position_of_row
) -> list[LeftOutRow]:
    """The rows that are blank, a header, dashes, a comment or a footer.

    Raises
    ------
    DataError
        If a header in the middle names other columns.
    """
    labels = _label_cells(frame, query_id)
    if labels is None or not len(frame):
        return []
    # "#" begins a comment, unless most of the ids begin with it.
    sample = _sample(labels)
    n_comments = sum(isinstance(cell, str) and bool(_COMMENT.match(cell)) for cell in sample)
    may_be_comment = 2 * n_comments <= len(sample)
    reasons = {}
    for row in np.flatnonzero(_are_sparse(frame, labels)).tolist():
        text = _plain_text(labels.iloc[row])
        reason = reason_of_line(text, may_be_comment=may_be_comment) if text else "a blank row"
        if reason and (not text or isinstance(labels.iloc[row], str)):
            reasons[row] = reason
    # Where a column holds only numbers, no row can be a header or dashes.
    if not any(_is_numeric(frame[name]) for name in frame.columns if name != labels.name):
        reasons = _lines_of_texts(frame, labels, place, may_be_comment=may_be_comment) | reasons
    # A table of ids alone is a matter for the check of metrics.
    is_some = len(reasons) < len(frame)
    return [LeftOutRow(row, reasons[row]) for row in sorted(reasons)] if is_some else []


def _label_cells(frame: pd.DataFrame, query_id: str) -> pd.Series | None:
    """The cells that name the rows: the ids, an index of names, or the questions; else None."""
    names, index = [str(name) for name in frame.columns], frame.index
    column = column_of_ids(names, query_id)
    index_name = str(index.name)
    if column is None and (normalise_name(index_name) == QUERY_ID or id_column_of([index_name])):
        return index.to_series() if index.nlevels == 1 else None
    column = column or id_column_of(names)
    if column is None and index.nlevels == 1 and not pd.api.types.is_integer_dtype(index.dtype):
        return index.to_series()
    column = column or question_text(pd.DataFrame(columns=names))
    return None if column is None else frame[frame.columns[names.index(column)]]


def _is_numeric(cells: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(cells.dtype)


def _sample(cells: pd.Series) -> list[object]:
    return cells.iloc[:: math.ceil(len(cells) / _SAMPLE)].tolist()


def _are_sparse(frame: pd.DataFrame, labels: pd.Series) -> BoolArray:
    """Whether rows have no cell but the label: blank rows, comments, footers, dashes."""
    others = [frame[name] for name in frame.columns if name != labels.name]
    are_sparse = np.full(len(frame), bool(others))
    # Numbers first, because a column of numbers without NaN settles it in no time.
    for cells in sorted(others, key=lambda cells: not _is_numeric(cells)):
        is_blank = cells.isna().to_numpy(dtype=bool, copy=True)
        if not _is_numeric(cells) and (are_sparse & ~is_blank).any():
            is_blank |= np.array([isinstance(c, str) and not c.strip() for c in cells], dtype=bool)
        are_sparse &= is_blank
        if not are_sparse.any():
            break
    return are_sparse


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


def _lines_of_texts(
    frame: pd.DataFrame, labels: pd.Series, place: PlaceOfRow, *, may_be_comment: bool
) -> dict[int, str]:
    """The headers, dashes and comments of a table in which no column holds only numbers."""
    names = [str(name).strip().casefold() for name in frame.columns]
    label = str(labels.name).strip().casefold()
    numeric = [
        position
        for position, name in enumerate(frame.columns)
        if names[position] != label and _hold_numbers(_sample(frame[name]))
    ]
    texts = labels.astype(object).map(_plain_text).astype(str)
    suspects = texts.str.casefold().isin(names) | texts.str.match(r"[-=:+|─━═#%]|//")
    reasons = {}
    for row in np.flatnonzero(suspects.to_numpy(dtype=bool)).tolist():
        cells = [_plain_text(frame[name].iloc[row]).casefold() for name in frame.columns]
        filled = [cell for cell in cells if cell]
        if cells == names:
            reasons[row] = "the header once more"
        elif all(map(_DASHES.fullmatch, filled)) and any(len(cell) > 1 for cell in filled):
            reasons[row] = "a line of dashes"
        elif numeric and filled and not _n_numbers(cells[position] for position in numeric):
            own = cells[names.index(label)] if label in names else ""
            if own == label or (len(filled) > 1 and {*filled} <= {*names}):
                raise DataError(
                    f"{place(row)} is another header ({', '.join(filled)}) than the first "
                    f"({', '.join(map(str, frame.columns))}): were two files with different "
                    "columns joined? Read them apart, or bring their columns into one order"
                )
            if may_be_comment and _COMMENT.match(filled[0]):
                reasons[row] = "a comment"
    return reasons


def _plain_text(cell: object) -> str:
    """A cell as text without blanks around it; nothing for a missing cell."""
    return "" if is_missing(cell) else str(cell).strip()


def _n_numbers(cells: Iterable[object]) -> int:
    return sum(not math.isnan(read_cell(cell).number) for cell in cells)


def _hold_numbers(cells: Iterable[object]) -> bool:
    """Whether at least half of the filled cells are numbers, and no cell is a list or an object."""
    filled = [cell for cell in cells if _plain_text(cell)]
    are_simple = all(isinstance(cell, str | int | float) for cell in filled)
    return are_simple and 2 * _n_numbers(filled) >= len(filled) > 0


# -- totals

_NAMES_OF_TOTALS = frozenset(" ".join(WORDS["totals"].values()).split())
_TOKEN = re.compile(r"\d+(?:\.\d+)?%|[^\W\d_]+")
_SIZE = re.compile(r"[(\[]?\bn\s*=\s*[\d,. ]*\d[)\]]?")
_QUANTILE = re.compile(r"\d+(?:\.\d+)?%")
_WORD_ID = re.compile(r"[^\W\d_]{2,}(?:[ _-][^\W\d_]+)*")
_LONGEST_LABEL = 40


def _statistics_in(label: object) -> frozenset[str]:
    """The words of a label that name statistics; none if other words stand beside them."""
    # Most ids end with a digit, or mix digits and letters: they name nothing.
    if not isinstance(label, str) or len(label) > _LONGEST_LABEL or label[-1:].isdigit():
        return frozenset()
    text = _SIZE.sub("", label.casefold())
    tokens = set(_TOKEN.findall(text))
    statistics = {token for token in tokens if token in _NAMES_OF_TOTALS or token[-1] == "%"}
    # Digits that belong to no percentage number something: "mean 3" is an id.
    if tokens - statistics - _BESIDE or re.search(r"\d", _QUANTILE.sub("", text)):
        return frozenset()
    return frozenset(statistics)


def _total_rows(
    frame: pd.DataFrame, labels: pd.Series, is_open: BoolArray, totals: Totals, place: PlaceOfRow
) -> list[LeftOutRow]:
    """The rows whose labels name totals; the others may be ids, such as "max", and are queries."""
    cells = [] if _is_numeric(labels) else labels.tolist()
    named_so = {
        row: statistics
        for row, cell in enumerate(cells)
        if is_open[row] and (statistics := _statistics_in(cell))
    }
    are_certain = any(not statistics.isdisjoint(_CERTAIN) for statistics in named_so.values())
    if are_certain and len(named_so) == int(is_open.sum()):
        raise DataError(
            f"every row is a statistic ({named(cells[row] for row in named_so)}), as describe() "
            "writes them, and none is a query: expected one row per query. Pass the scores of the "
            'queries, or totals="keep" if these are the ids of queries'
        )
    if totals == "auto":
        named_so = {
            row: statistics
            for row, statistics in named_so.items()
            if are_certain and not _has_own_text(frame, labels, row)
        }
    # Where most ids are words, a total may be one of them.
    sample = [str(cell) for cell in _sample(labels) if not _statistics_in(cell)]
    if named_so and totals == "auto" and 2 * sum(map(_is_word, sample)) > len(sample):
        row = next(iter(named_so))
        raise DataError(
            f"{place(row)} is labelled {cells[row]!r}: is it a query or a total? Pass "
            'totals="drop" to leave it out, or totals="keep" to count it as a query'
        )
    reason = '{!r} names a total; to count it, pass totals="keep"'
    return [LeftOutRow(row, reason.format(cells[row])) for row in named_so]


def _is_word(label: str) -> bool:
    return _WORD_ID.fullmatch(label) is not None


def _has_own_text(frame: pd.DataFrame, labels: pd.Series, row: int) -> bool:
    """Whether the row has a text that no other row has, as a question is."""
    for name in frame.columns:
        cells, cell = frame[name], frame[name].iloc[row]
        is_text = isinstance(cell, str) and len(cell.strip()) > 1 and not _statistics_in(cell)
        if name == labels.name or not is_text or not math.isnan(read_cell(cell).number):
            continue
        if not _DASHES.fullmatch(cell) and (cells == cell).sum() == 1:
            return True
    return False
