"""Decides which rows of a table are queries, and says of each other row what it is.

A table may hold rows that score no query: totals, the header once more, Markdown's dashes,
comments, blank rows, the footer of a database shell. Counted as queries they would change every
number without a word. A row is left out only if its cells show what it is; a doubtful row is kept
with a note, or refused with the option that decides.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from rageval_report.errors import MOST_NAMED, DataError, check_choice, named
from rageval_report.scores.cells import read_cell, read_cells
from rageval_report.scores.metric import WORDS, normalise_name
from rageval_report.scores.query_ids import QUERY_ID, column_of_ids, id_column_of, question_text
from rageval_report.scores.roles import numbers_of
from rageval_report.scores.states import is_missing
from rageval_report.types import BoolArray, FloatArray

Totals = Literal["auto", "drop", "keep"]
TOTALS: tuple[Totals, ...] = ("auto", "drop", "keep")

# The cells that show whether a column of texts holds numbers.
_SAMPLE = 400

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
    is_open = np.ones(len(frame), dtype=bool)
    is_open[[row for row, _ in by_form]] = False
    by_numbers, doubts = _Totals(frame, labels, is_open, place).find(totals)
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
        reasons = _headers_and_dashes(frame, labels, place) | reasons
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


def _headers_and_dashes(
    frame: pd.DataFrame, labels: pd.Series, place: PlaceOfRow
) -> dict[int, str]:
    """The headers and dashes of a table in which no column holds only numbers."""
    names = [str(name).strip().casefold() for name in frame.columns]
    label = str(labels.name).strip().casefold()
    numeric = [
        position
        for position, name in enumerate(frame.columns)
        if names[position] != label and _hold_numbers(_sample(frame[name]))
    ]
    texts = labels.astype(object).map(_plain_text).astype(str)
    suspects = texts.str.casefold().isin(names) | texts.str.match(r"[-=:+|─━═]")
    reasons = {}
    for row in np.flatnonzero(suspects.to_numpy(dtype=bool)).tolist():
        cells = [_plain_text(frame[name].iloc[row]).casefold() for name in frame.columns]
        filled = [cell for cell in cells if cell]
        if cells == names:
            reasons[row] = "the header once more"
        elif all(map(_DASHES.fullmatch, filled)) and any(len(cell) > 1 for cell in filled):
            reasons[row] = "a line of dashes"
        elif numeric and not _n_numbers(cells[position] for position in numeric):
            own = cells[names.index(label)] if label in names else ""
            if own == label or (len(filled) > 1 and {*filled} <= {*names}):
                raise DataError(
                    f"{place(row)} is another header ({', '.join(filled)}) than the first "
                    f"({', '.join(map(str, frame.columns))}): were two files with different "
                    "columns joined? Read them apart, or bring their columns into one order"
                )
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
    # Most ids end with a digit, or mix digits and letters: they name nothing.
    if not isinstance(label, str) or len(label) > _LONGEST_LABEL or label[-1:].isdigit():
        return frozenset()
    text = _SIZE.sub("", label.casefold())
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


def _statistics(kind: str, scored: FloatArray, n_rows: int) -> dict[str, float]:
    """The numbers that a label of this kind may stand for, by their names."""
    quantile = _QUANTILE.fullmatch(kind)
    if quantile:
        return {kind: np.quantile(scored, min(float(quantile[1]) / 100, 1.0))}
    total = scored.sum()
    # Many tools count a failed score as 0.
    means = {"mean": total / len(scored), "mean, unscored as 0": total / n_rows}
    deviation = {"standard deviation": scored.std(ddof=1) if len(scored) > 1 else 0.0}
    by_kind: dict[str, dict[str, float]] = {
        "mean": means,
        "total": {**means, "sum": total},
        "median": {kind: np.median(scored)},
        "minimum": {kind: scored.min()},
        "maximum": {kind: scored.max()},
        "standard deviation": {**deviation, "deviation of a population": scored.std()},
        "count": {"count": len(scored), "number of rows": n_rows},
    }
    return by_kind[kind]


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

    text: str  # the column and its number
    statistic: str | None
    # Any statistic of a constant column is the constant, which shows nothing.
    is_telling: bool


class _Totals:
    """The rows of a table that may be totals, compared with the other rows."""

    def __init__(
        self, frame: pd.DataFrame, labels: pd.Series, is_open: BoolArray, place: PlaceOfRow
    ):
        self.frame, self.labels, self.place = frame, labels, place
        self.is_open = is_open  # whether rows may still be queries
        self.numbers: dict[str, FloatArray] = {}
        self.texts: list[pd.Series] = []
        self.has_words = False

    def find(self, totals: Totals) -> tuple[list[LeftOutRow], list[str]]:
        """The rows of totals, and notes on rows that may be some."""
        cells = self.labels.tolist() if not _is_numeric(self.labels) else []
        labelled = {
            row: cell
            for row, cell in enumerate(cells)
            if self.is_open[row] and _kinds_of_label(cell)
        }
        if len(labelled) == int(self.is_open.sum()) and any(
            map(_is_certain_label, labelled.values())
        ):
            raise DataError(
                f"every row is a statistic ({named(labelled.values())}), as describe() writes "
                "them, and none is a query: expected one row per query. Pass the scores of the "
                'queries, or totals="keep" if these are the ids of queries'
            )
        if totals == "drop":
            reason = '{!r} names a total, and totals="drop"'
            return [LeftOutRow(row, reason.format(label)) for row, label in labelled.items()], []
        if len(labelled) > _MOST_LABELS or not labelled:
            return [], []
        self.divide_columns()
        reasons: dict[int, str | None] = dict.fromkeys(labelled)
        # A query named "all" counts for the mean, so the comparison is repeated with what remained.
        for are_members in (False, True):
            others = [row for row, reason in reasons.items() if reason or not are_members]
            for row in [row for row, reason in reasons.items() if not reason]:
                members = self.is_open.copy()
                members[[row, *others]] = False
                reasons[row] = self.reason(row, labelled[row], members)
        left_out = [LeftOutRow(row, reason) for row, reason in reasons.items() if reason]
        doubts = (self.doubt(row, labelled[row]) for row, reason in reasons.items() if not reason)
        return left_out, [doubt for doubt in doubts if doubt]

    def divide_columns(self) -> None:
        """Divide the other columns into numbers, also those written as texts, and texts."""
        for name in self.frame.columns:
            cells = self.frame[name]
            if name == self.labels.name:
                continue
            if _is_numeric(cells) and not pd.api.types.is_complex_dtype(cells.dtype):
                self.numbers[str(name)] = numbers_of(cells)
            elif _hold_numbers(_sample(cells)):
                self.numbers[str(name)] = read_cells(cells.tolist()).numbers
            else:
                self.texts.append(cells)
        # Whether most ids are words, so that "total" may be one of them.
        sample = [str(cell) for cell in _sample(self.labels) if not _kinds_of_label(cell)]
        self.has_words = 2 * sum(bool(_WORD_ID.fullmatch(x)) for x in sample) > len(sample)

    def has_own_text(self, row: int) -> bool:
        """Whether the row has a text that no other row has, as a question is."""
        for cells in self.texts:
            cell = cells.iloc[row]
            is_text = isinstance(cell, str) and len(cell.strip()) > 1 and not _kinds_of_label(cell)
            if is_text and not _DASHES.fullmatch(cell) and (cells == cell).sum() == 1:
                return True
        return False

    def matches(self, row: int, label: str, members: BoolArray) -> list[_ColumnMatch]:
        """One per column in which the row has a number, for the group that fits best.

        A total may summarise all rows, or those that have a text in common with it.
        """
        kinds = sorted(_kinds_of_label(label))
        groups = [members]
        # A query whose id is a word would too easily fit one of many groups.
        for cells in [] if self.has_words else self.texts:
            cell = cells.iloc[row]
            if isinstance(cell, str) and cell.strip():
                groups.append((cells == cell).to_numpy(dtype=bool, na_value=False) & members)
        filled = {n: own for n, own in self.numbers.items() if not math.isnan(own[row])}
        by_group = [
            [_match_column(name, own[row], own[group], kinds) for name, own in filled.items()]
            for group in groups
            if group.any()
        ]
        return max(by_group, key=lambda own: sum(m.statistic is not None for m in own), default=[])

    def reason(self, row: int, label: str, members: BoolArray) -> str | None:
        """Why a row is a total; None if it is not."""
        matches, has_own_text = self.matches(row, label, members), self.has_own_text(row)
        if not matches:
            is_empty = all(math.isnan(numbers[row]) for numbers in self.numbers.values())
            if is_empty and not has_own_text and _is_certain_label(label):
                return f"{label!r} without a score is an empty total, not a query"
            return None
        # A constant column agrees with any total; it counts only where there is no other one.
        matches = [match for match in matches if match.is_telling] or matches
        agreeing = [match for match in matches if match.statistic is not None]
        if has_own_text or 2 * len(agreeing) < len(matches):
            return None
        statistic = agreeing[0].statistic
        values = ", ".join(match.text for match in agreeing[:3] if match.statistic == statistic)
        return f"{label!r} with {values} is the {statistic} of the other rows, not a query"

    def doubt(self, row: int, label: str) -> str | None:
        """A note on a row that is kept, if it may be a total."""
        if self.has_own_text(row):
            return None
        facts = (
            f"{self.place(row)} is labelled {label!r}: is it a query or a total? Its values are "
            f"not the {' or '.join(sorted(_kinds_of_label(label)))} of the other rows"
        )
        if _is_certain_label(label) and not self.has_words:
            raise DataError(
                f'{facts}. Pass totals="drop" to leave it out, or totals="keep" to count it as a '
                "query"
            )
        return f'{facts}; it counts as a query. To leave it out, pass totals="drop"'


def _match_column(name: str, value: float, cells: FloatArray, kinds: Iterable[str]) -> _ColumnMatch:
    scored, text = cells[~np.isnan(cells)], f"{name} {value:g}"
    is_telling = bool((scored != scored[:1]).any())
    found: Mapping[str, float] = {}
    # Scores near the largest float, or infinite ones, which are refused later, match no row.
    with np.errstate(over="ignore", invalid="ignore"):
        for kind in kinds if len(scored) else ():
            found = {**found, **_statistics(kind, scored, len(cells))}
    agreeing = (statistic for statistic, n in found.items() if _agrees(float(value), float(n)))
    return _ColumnMatch(text, next(agreeing, None), is_telling)
