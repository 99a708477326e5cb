"""Decides which rows of a table are queries, and says of each other row what it is.

A table may hold rows that score no query: totals, the header once more, Markdown's dashes, units,
comments, blank rows, the footer of a database shell. Counted as queries they would change every
number without a word. A row is left out only if its cells show what it is; a doubtful row is kept
with a note, or refused with the option that decides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from rageval_report.errors import MOST_NAMED, DataError, check_choice, named
from rageval_report.scores.cells import read_cell, read_cells
from rageval_report.scores.metric import WORDS, normalise_name
from rageval_report.scores.query_ids import QUERY_ID, column_of_ids, id_column_of, question_text
from rageval_report.scores.roles import numbers_of
from rageval_report.types import BoolArray, FloatArray

Totals = Literal["auto", "drop", "keep"]
TOTALS: tuple[Totals, ...] = ("auto", "drop", "keep")

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
_UNITS, _CERTAIN, _BESIDE = (
    frozenset(WORDS["rows"][key].split()) for key in ("units", "certain", "beside")
)
# Of a row of units at least one cell must be a unit that is not also a word for "unscored".
_UNSCORED = frozenset(("n/a", "-"))
_DESCRIBED = frozenset(("count", "mean", "std", "min", "25%", "50%", "75%", "max"))


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
    >>> query_rows(frame).notes
    ("left out row 3: 'mean' with recall 0.75 is the mean of the other rows, not a query",)
    """
    check_choice("totals", totals, TOTALS)
    by_form = rows_without_content(frame, query_id, place=place)
    reasons: dict[str, list[str]] = {}
    for row, reason in by_form:
        reasons.setdefault(reason, []).append(place(row))
    notes = [left_out_note(places, reason) for reason, places in reasons.items()]
    labels = _label_cells(frame, query_id)
    if totals == "keep" or labels is None or not len(frame):
        return QueryRows(tuple(by_form), tuple(notes))
    table = _LabelledTable(frame, labels, [row for row, _ in by_form], place)
    by_numbers, doubts = table.total_rows(totals)
    notes += [f"left out {place(row)}: {reason}" for row, reason in by_numbers[:MOST_NAMED]]
    if len(by_numbers) > MOST_NAMED:
        others = named([place(row) for row, _ in by_numbers[MOST_NAMED:]]).replace("'", "")
        notes.append(f"left out for the same reason: {others}")
    return QueryRows(tuple(sorted((*by_form, *by_numbers))), (*notes, *doubts))


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
    """The rows that are blank, a header, dashes, units, a comment or a footer.

    Raises
    ------
    DataError
        If a header in the middle names other columns, or the columns are statistics.
    """
    labels = _label_cells(frame, query_id)
    if labels is None or not len(frame):
        return []
    if {str(name) for name in frame.columns} >= _DESCRIBED:
        raise DataError(
            "the columns are statistics (count, mean, std, ...), as describe() writes them, and "
            "the rows are metrics: expected one row per query and one column per metric"
        )
    # "#" begins a comment, unless most of the ids begin with it.
    sample = _sample(labels)
    n_comments = sum(isinstance(cell, str) and bool(_COMMENT.match(cell)) for cell in sample)
    may_be_comment = 2 * n_comments <= len(sample)
    reasons = _sparse_rows(frame, labels, may_be_comment=may_be_comment)
    # Where a column holds only numbers, no row can be a header, dashes, or units.
    if not any(_is_numeric(frame[name]) for name in frame.columns if name != labels.name):
        by_texts = _rows_of_texts(frame, labels, place, may_be_comment=may_be_comment)
        reasons = {**by_texts, **reasons} if len(by_texts) < len(frame) else reasons
    return [LeftOutRow(row, reasons[row]) for row in sorted(reasons)]


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


def _sparse_rows(frame: pd.DataFrame, labels: pd.Series, *, may_be_comment: bool) -> dict[int, str]:
    """The rows with no cell but the label: blank rows, comments, footers, dashes."""
    others = [frame[name] for name in frame.columns if name != labels.name]
    is_sparse = np.full(len(frame), bool(others))
    # Numbers first, because a column of numbers without NaN settles it in no time.
    for cells in sorted(others, key=lambda cells: not _is_numeric(cells)):
        is_blank = cells.isna().to_numpy(dtype=bool, copy=True)
        if not _is_numeric(cells) and (is_sparse & ~is_blank).any():
            is_blank |= np.array([isinstance(c, str) and not c.strip() for c in cells], dtype=bool)
        is_sparse &= is_blank
        if not is_sparse.any():
            return {}
    reasons = {}
    for row in np.flatnonzero(is_sparse).tolist():
        text = _plain_text(labels.iloc[row])
        reason = reason_of_line(text, may_be_comment=may_be_comment) if text else "a blank row"
        if reason and (not text or isinstance(labels.iloc[row], str)):
            reasons[row] = reason
    # A table of ids alone is a matter for the check of metrics.
    return reasons if len(reasons) < len(frame) else {}


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


def _rows_of_texts(
    frame: pd.DataFrame, labels: pd.Series, place: PlaceOfRow, *, may_be_comment: bool
) -> dict[int, str]:
    """The headers, dashes, units and comments of a table in which no column holds only numbers."""
    names = [str(name).strip() for name in frame.columns]
    folded = [name.casefold() for name in names]
    label = str(labels.name).strip()
    numeric = [
        position
        for position, name in enumerate(frame.columns)
        if names[position] != label and _hold_numbers(_sample(frame[name]))
    ]
    texts = labels.astype(object).map(_plain_text).astype(str)
    suspects = texts.str.casefold().isin({*folded, *_UNITS}) | (texts == "")
    suspects |= texts.str.match(r"[-=:+|─━═#%]|//")
    reasons = {}
    for row in np.flatnonzero(suspects.to_numpy(dtype=bool)).tolist():
        raw = [frame[name].iloc[row] for name in frame.columns]
        cells = [_plain_text(cell) for cell in raw]
        filled = [cell for cell in cells if cell]
        if not all(isinstance(cell, str) or _is_missing(cell) for cell in raw):
            continue
        if not filled:
            reasons[row] = "a blank row"
        elif [cell.casefold() for cell in cells] == folded:
            reasons[row] = "the header once more"
        elif all(map(_DASHES.fullmatch, filled)) and any(len(cell) > 1 for cell in filled):
            reasons[row] = "a line of dashes"
        elif numeric and not _n_numbers(cells[position] for position in numeric):
            # Texts in all columns in which most other rows have numbers.
            own = cells[names.index(label)] if label in names else ""
            are_names = {cell.casefold() for cell in filled} <= {*folded} and len(filled) > 1
            if own.casefold() == label.casefold() or are_names:
                raise DataError(
                    f"{place(row)} is another header ({', '.join(filled)}) than the first "
                    f"({', '.join(names)}): were two files with different columns joined? Read "
                    "them apart, or bring their columns into one order"
                )
            plain = {text.casefold().strip("()[] ") or text for text in filled}
            if plain - _UNSCORED and all(x in _UNITS or f"[{x}]" in _UNITS for x in plain):
                reasons[row] = "a row of units or types"
            elif may_be_comment and _COMMENT.match(filled[0]):
                reasons[row] = "a comment"
    return reasons


def _plain_text(cell: object) -> str:
    """A cell as text without blanks around it; nothing for a missing cell."""
    return "" if _is_missing(cell) else str(cell).strip()


def _is_missing(cell: object) -> bool:
    return cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell))


def _n_numbers(cells: Iterable[object]) -> int:
    return sum(not math.isnan(read_cell(cell).number) for cell in cells)


def _hold_numbers(cells: Iterable[object]) -> bool:
    """Whether at least half of the filled cells are numbers."""
    filled = [cell for cell in cells if _plain_text(cell)]
    return 2 * _n_numbers(filled) >= len(filled) > 0


# -- the labels of totals

_KIND_OF = {word: kind for kind, words in WORDS["totals"].items() for word in words.split()}
_TOKEN = re.compile(r"\d+(?:\.\d+)?%|[^\W\d_]+")
_SIZE = re.compile(r"[(\[]?\bn\s*=\s*[\d,. ]*\d[)\]]?")
_QUANTILE = re.compile(r"(\d+(?:\.\d+)?)%")
_WORD_ID = re.compile(r"[^\W\d_]{2,}(?:[ _-][^\W\d_]+)*")
_LONGEST_LABEL = 40
# At most this many labelled rows are compared; a table with more of them is one of words.
_MOST_LABELS = 200


def _kinds_of_label(label: object) -> frozenset[str]:
    """The statistics that a label names; none if it names no statistic."""
    if not isinstance(label, str) or len(label) > _LONGEST_LABEL:
        return frozenset()
    text = label.casefold()
    if "%" not in text and _KIND_OF.keys().isdisjoint(_TOKEN.findall(text)):  # as nearly always
        return frozenset()
    text = _SIZE.sub("", text)
    tokens = set(_TOKEN.findall(text))
    statistics = {token for token in tokens if token in _KIND_OF or _QUANTILE.fullmatch(token)}
    # Digits that belong to no percentage number something: "mean 3" is an id.
    if not statistics or tokens - statistics - _BESIDE or re.search(r"\d", _QUANTILE.sub("", text)):
        return frozenset()
    return frozenset(_KIND_OF.get(token, token) for token in statistics)


def _is_certain_label(label: str) -> bool:
    """Whether a label hardly names a query: "mean" does not, "max" may."""
    tokens = _TOKEN.findall(_SIZE.sub("", label.casefold()))
    return any(token in _CERTAIN or _QUANTILE.fullmatch(token) for token in tokens)


# -- the numbers of totals

# The power of the deviation, and the root of the number of scores that divides it.
_SPREADS = {"standard deviation": (1, 0.0), "standard error": (1, 0.5), "variance": (2, 0.0)}
_MIDDLES: dict[str, Callable[[FloatArray], float]] = {
    "median": np.median,
    "minimum": np.min,
    "maximum": np.max,
}


def _statistics(kind: str, scored: FloatArray, n_rows: int) -> list[tuple[str, float]]:
    """The numbers that a label of this kind may stand for, with their names."""
    n = len(scored)
    quantile = _QUANTILE.fullmatch(kind)
    if quantile:
        share = float(quantile[1]) / 100
        methods: tuple[Literal["linear", "lower", "higher"], ...] = ("linear", "lower", "higher")
        return [(kind, np.quantile(scored, share, method=m)) for m in methods if share <= 1]
    if kind in ("mean", "total"):
        total = scored.sum()
        # Many tools count a failed score as 0.
        means = [("mean", total / n), ("mean, unscored as 0", total / n_rows)]
        return [*means, ("sum", total)] if kind == "total" else means
    if kind in _SPREADS:
        deviations = [scored.std(ddof=degrees) for degrees in ((1, 0) if n > 1 else (0,))]
        power, root = _SPREADS[kind]
        return [(kind, deviation**power / n**root) for deviation in deviations]
    if kind == "count":
        return [(kind, n), (kind, n_rows)]
    return [(kind, float(_MIDDLES[kind](scored)))]


def _agrees(value: float, statistic: float) -> bool:
    """Whether a number is a statistic, rounded or cut to the decimals that it is written with."""
    if not math.isfinite(value) or not math.isfinite(statistic):
        return False
    n_decimals = max(0, -int(Decimal(repr(value)).as_tuple().exponent))
    # A whole number rounds a latency, but a mean of scores of 0.7 is not written as 1.
    if value.is_integer() and abs(value) >= 10:
        n_decimals = 0
    # Sums in another order differ in their last bits.
    exact = 1e-9 * max(1.0, abs(statistic))
    unit = 10.0**-n_decimals
    is_rounded = abs(value - statistic) <= unit / 2 + exact
    is_cut = n_decimals > 1 and 0 <= abs(statistic) - abs(value) < unit
    return is_rounded or (is_cut and value * statistic >= 0)


class _ColumnMatch(NamedTuple):
    """What the number of one column is, if it is a statistic of the other rows."""

    column: str
    value: float
    statistic: str | None
    # Any statistic of a constant column is the constant, which shows nothing.
    is_telling: bool


def _without_last_digit(labels: pd.Series) -> list[tuple[int, str]]:
    """The rows of labels that are texts and do not end with a digit."""
    if _is_numeric(labels):
        return []
    rows = np.arange(len(labels))
    if isinstance(labels.dtype, pd.StringDtype):  # a column at once, which is much faster
        has_digit = labels.str[-1:].str.isdigit()
        rows = np.flatnonzero(~has_digit.fillna(value=False).to_numpy(bool))
    cells = zip(rows.tolist(), labels.iloc[rows].tolist(), strict=True)
    return [(row, c) for row, c in cells if isinstance(c, str) and not c[-1:].isdigit()]


class _LabelledTable:
    """The labels, the numbers and the texts of a table, each computed when they are needed."""

    def __init__(
        self, frame: pd.DataFrame, labels: pd.Series, left_out: list[int], place: PlaceOfRow
    ):
        self.frame, self.labels, self.place = frame, labels, place
        # The rows that may still be queries.
        self.is_open: BoolArray = np.ones(len(frame), dtype=bool)
        self.is_open[left_out] = False

    @cached_property
    def numbers(self) -> dict[str, FloatArray]:
        """The columns of numbers, also those that are written as texts."""
        columns = {}
        for name in self.frame.columns:
            cells = self.frame[name]
            if name == self.labels.name or pd.api.types.is_complex_dtype(cells.dtype):
                continue
            if _is_numeric(cells):
                columns[str(name)] = numbers_of(cells)
            elif cells.dtype == object or isinstance(cells.dtype, pd.StringDtype):
                present = [cell for cell in cells.iloc[: 2 * _SAMPLE] if not _is_missing(cell)]
                are_simple = all(isinstance(cell, str | int | float) for cell in present)
                if present and are_simple and 2 * _n_numbers(present) >= len(present):
                    columns[str(name)] = read_cells(cells.tolist()).numbers
        return columns

    @cached_property
    def texts(self) -> list[pd.Series]:
        """The other columns."""
        taken = {*self.numbers, str(self.labels.name)}
        return [self.frame[name] for name in self.frame.columns if str(name) not in taken]

    @cached_property
    def has_words(self) -> bool:
        """Whether most ids are words, so that "total" may be one of them."""
        sample = [str(cell) for cell in _sample(self.labels) if not _kinds_of_label(cell)]
        return 2 * sum(bool(_WORD_ID.fullmatch(cell)) for cell in sample) > len(sample)

    def total_rows(self, totals: Totals) -> tuple[list[LeftOutRow], list[str]]:
        """The rows of totals, and notes on rows that may be some."""
        # Most ids end with a digit, or mix digits and letters: they are no words, and not blank.
        words = [
            (row, cell)
            for row, cell in _without_last_digit(self.labels)
            if (cell.isalpha() or not cell.isalnum()) and self.is_open[row]
        ]
        labelled = {row: cell for row, cell in words if _kinds_of_label(cell)}
        is_blank = self.labels.isna().to_numpy(dtype=bool, copy=True)
        is_blank[[row for row, cell in words if not cell.strip()]] = True
        without_id = np.flatnonzero(is_blank & self.is_open).tolist()
        if len(without_id) > _MOST_LABELS or len(without_id) == len(is_blank):
            without_id = []
        is_certain = any(map(_is_certain_label, labelled.values()))
        if is_certain and len(labelled) == int(self.is_open.sum()):
            raise DataError(
                f"every row is a statistic ({named(labelled.values())}), as describe() writes "
                "them, and none is a query: expected one row per query. Pass the scores of the "
                'queries, or totals="keep" if these are the ids of queries'
            )
        if totals == "drop":
            reason = '{!r} names a total, and totals="drop"'
            return [LeftOutRow(row, reason.format(label)) for row, label in labelled.items()], []
        if len(labelled) > _MOST_LABELS:
            return [], []
        suspects = {**labelled, **{row: self.other_label(row) for row in without_id}}
        left_out: dict[int, str] = {}
        # A query named "all" counts for the mean, so the comparison is repeated with what remained.
        for not_members in (suspects, left_out):
            for row in [row for row in suspects if row not in left_out]:
                members = self.is_open.copy()
                members[[row, *not_members]] = False
                reason_of_row = self.reason_of_total(row, suspects[row], members)
                if reason_of_row:
                    left_out[row] = reason_of_row
        doubts = [self.doubt(row, suspects[row]) for row in suspects if row not in left_out]
        return [LeftOutRow(row, left_out[row]) for row in sorted(left_out)], [*filter(None, doubts)]

    def other_label(self, row: int) -> str:
        """The label of a total in another column of a row without an id; empty if there is none."""
        cells = [cells.iloc[row] for cells in self.texts]
        return next((cell for cell in cells if _kinds_of_label(cell)), "")

    def has_own_text(self, row: int) -> bool:
        """Whether the row has a text that no other row has, as a question is."""
        for cells in self.texts:
            cell = cells.iloc[row]
            if not isinstance(cell, str) or len(cell.strip()) < 2 or _kinds_of_label(cell):
                continue
            if not _DASHES.fullmatch(cell) and (cells == cell).sum() == 1:
                return True
        return False

    def groups(self, row: int, members: BoolArray) -> list[BoolArray]:
        """The rows that a total may summarise: all, the block before or after it, its group."""
        # A query whose id is a word would too easily fit one of many groups.
        if self.has_words:
            return [members]
        blocks = [_block(members, row, step) for step in (-1, 1)]
        groups = [block for block in blocks if block.sum() > 1]
        for cells in self.texts:
            cell = cells.iloc[row]
            if isinstance(cell, str) and cell.strip():
                groups.append((cells == cell).to_numpy(dtype=bool, na_value=False) & members)
        return [members, *(g for g in groups if g.any() and (g != members).any())]

    def matches(self, row: int, label: str, members: BoolArray) -> list[_ColumnMatch]:
        """One per column in which the row has a number, for the group that fits best."""
        kinds = sorted(_kinds_of_label(label) or ("mean", "total"))
        best: list[_ColumnMatch] = []
        for group in self.groups(row, members) if members.any() else ():
            matches = [
                _match_column(name, float(numbers[row]), numbers[group], kinds)
                for name, numbers in self.numbers.items()
                if not math.isnan(numbers[row])
            ]
            if not best or _n_agreeing(matches) > _n_agreeing(best):
                best = matches
        return best

    def reason_of_total(self, row: int, label: str, members: BoolArray) -> str | None:
        """Why a row is a total; None if it is not."""
        matches, has_own_text = self.matches(row, label, members), self.has_own_text(row)
        if not matches:
            is_empty = all(math.isnan(numbers[row]) for numbers in self.numbers.values())
            if is_empty and label and not has_own_text and _is_certain_label(label):
                return f"{label!r} without a score is an empty total, not a query"
            return None
        # A constant column agrees with any total; it counts only where there is no other one.
        matches = [match for match in matches if match.is_telling] or matches
        agreeing = [match for match in matches if match.statistic is not None]
        if has_own_text or 2 * len(agreeing) < len(matches):
            return None
        statistic = agreeing[0].statistic
        values = ", ".join(
            f"{match.column} {match.value:g}"
            for match in agreeing[:3]
            if match.statistic == statistic
        )
        what = f"{values} is the {statistic} of the other rows"
        if label:
            return f"{label!r} with {what}, not a query"
        # Without a label only the numbers speak, and all of them must.
        is_total = len(agreeing) == len(matches) and agreeing[0].is_telling
        return f"it has no id, and {what}: a total, not a query" if is_total else None

    def doubt(self, row: int, label: str) -> str | None:
        """A note on a row that is kept, if it may be a total."""
        if not label or self.has_own_text(row):
            return None
        values = ", ".join(
            f"{name} {numbers[row]:g}"
            for name, numbers in [*self.numbers.items()][:3]
            if not math.isnan(numbers[row])
        )
        facts = (
            f"{self.place(row)} is labelled {label!r}: is it a query or a total? Its values "
            f"({values or 'none'}) are not the {' or '.join(sorted(_kinds_of_label(label)))} of "
            "the other rows"
        )
        if _is_certain_label(label) and not self.has_words:
            raise DataError(
                f'{facts}. Pass totals="drop" to leave it out, or totals="keep" to count it as a '
                "query"
            )
        return f'{facts}; it counts as a query. To leave it out, pass totals="drop"'


def _n_agreeing(matches: Iterable[_ColumnMatch]) -> int:
    return sum(match.statistic is not None for match in matches)


def _match_column(name: str, value: float, cells: FloatArray, kinds: Iterable[str]) -> _ColumnMatch:
    scored = cells[~np.isnan(cells)]
    if not len(scored):
        return _ColumnMatch(name, value, None, False)
    is_telling = bool((scored != scored[0]).any())
    # Scores near the largest float, or infinite ones, which are refused later, match no row.
    with np.errstate(over="ignore", invalid="ignore"):
        for kind in kinds:
            for statistic, number in _statistics(kind, scored, len(cells)):
                if _agrees(value, float(number)):
                    return _ColumnMatch(name, value, statistic, is_telling)
    return _ColumnMatch(name, value, None, is_telling)


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
