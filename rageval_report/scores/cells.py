"""Reads the cells of a metric: a number, a reason why there is none, or text that is neither.

Frameworks write scores as numbers, shares ("83 %", "4/5"), words ("pass", "C"), steps of a scale
with its range ("4 (1-5)"), or objects that hold a reason beside the number. A cell alone is often
ambiguous: "1,234" beside "873" is a thousand and more, beside "0,83" it is a little over one; "0.9"
beside "85 %" may be 0.9 or 0.009. A column has one scale; if two scales remain possible, the error
shows two cells and how to say which one is meant.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval_report.errors import MOST_NAMED, DataError
from rageval_report.files.strict_json import load_json
from rageval_report.scores.metric import WORDS
from rageval_report.scores.numerals import (
    SECONDS_IN,
    Numeral,
    is_date,
    names_a_time,
    parse_numeral,
    unit_in_name,
)
from rageval_report.scores.states import FAILED, MISSING, SCORED
from rageval_report.types import BoolArray, FloatArray

# How frameworks and spreadsheets write that a query is unscored, and the state of each word.
UNSCORED_WORDS: dict[str, str] = {
    word: state for state, words in WORDS["unscored"].items() for word in words
}

# The words that are scores. "failed" is one only in a column that also says "passed".
_WORDS: dict[str, float] = {
    **dict.fromkeys(("true", "yes", "pass", "passed", "correct"), 1.0),
    **dict.fromkeys(("false", "no", "fail", "incorrect"), 0.0),
}
# The letters of Inspect AI: correct, partially correct, incorrect, no answer. Capitals only.
LETTERS: dict[str, float] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_YES_OR_NO = {"y": 1.0, "n": 0.0}
_JUDGED = frozenset(("pass", "passed", "fail", "failed"))
# Words of a verdict: 1 is good, whatever the column is called.
VERDICT_WORDS = _JUDGED | {"correct", "incorrect"}
# Words that are scores in a known metric, but can mean anything in an unknown column.
_AMBIGUOUS_WORDS = frozenset(("yes", "no"))

_ON_A_SCALE = re.compile(
    r"\s*(-?\d+(?:\.\d+)?)\s*[(\[]\s*(-?\d+(?:\.\d+)?)\s*(?:-|–|to|\.\.)\s*(-?\d+(?:\.\d+)?)\s*[)\]]\s*"
)
# The denominators of shares such as "4/5"; other fractions may be dates.
_DENOMINATORS = frozenset((*range(1, 11), 100))

# The keys under which an object holds the number, the reason, and the range of its scale.
_NUMBER_KEYS = ("score", "value", "passed", "pass", "success")
_REASON_KEYS = ("reason", "explanation", "rationale", "feedback", "justification", "error")
_SCALE_KEYS = ("range", "scale", "bounds")

_MOST_EXACT = 2**53
_LONGEST_LITERAL = 100_000
_LONGEST_REASON = 500
# Of two readings that differ by a factor of 1,000, the one nearer to the other numbers on a
# logarithmic scale is within this factor of them.
_NEAR = math.sqrt(1000.0)

ScoreRange = tuple[float, float]


@dataclass(frozen=True)
class CellColumn:
    """What is known about a metric's column besides its cells."""

    name: str = ""
    labels: Sequence[object] | None = None  # the id of each row; if omitted, rows are counted
    bounds: ScoreRange | None = None  # that the caller or the file states
    known_bounds: ScoreRange | None = None  # of the catalogue, which rule out some readings

    @property
    def title(self) -> str:
        """The column in messages."""
        return f"metric {self.name!r}" if self.name else "the scores"

    def place(self, row: int) -> str:
        """A row in messages."""
        return f"row {row + 1}" if self.labels is None else repr(self.labels[row])

    def list_texts(self, texts: Mapping[int, str]) -> str:
        """Some cells by row, the first few with their places."""
        rows = list(texts)[:MOST_NAMED]
        more = len(texts) - len(rows)
        listed = ", ".join(f"{texts[row][:40]!r} at {self.place(row)}" for row in rows)
        return listed + (f" and {more} more" if more > 0 else "")

    def option(self, *bounds: ScoreRange) -> str:
        """The option that states the bounds."""
        return " or ".join(
            f"metrics={{{self.name!r}: {{'bounds': ({low:g}, {high:g})}}}}" for low, high in bounds
        )


class Cell(NamedTuple):
    """The content of one cell: its number, NaN if it holds no score, and then its state."""

    number: float = math.nan
    state: str = SCORED
    reason: str | None = None
    scale: ScoreRange | None = None  # that was written beside a step of a scale
    is_read: bool = True  # False if the cell could not be interpreted
    word: str | None = None  # that was read as the number
    numeral: Numeral | None = None  # whose number depends on the other cells of the column


_UNREAD = Cell(state=FAILED, is_read=False)


class ParsedCells(NamedTuple):
    """The contents of the cells of one column, in their order."""

    numbers: FloatArray  # NaN where unscored
    states: NDArray[np.object_]
    reasons: list[str | None]  # why a score is missing, or what a judge gave for it
    scale: ScoreRange | None = None  # if all steps were written with the same range
    unread: Sequence[int] = ()  # the cells that hold anything else; they count as failed
    words: Mapping[str, float] = {}  # that were read as scores
    notes: Sequence[str] = ()  # what was decided about the scale of the column
    refused: Sequence[int] = ()  # those of `unread` that are dates, or lists of several numbers
    other_fields: Sequence[dict[str, Any] | None] = ()  # of objects, if any has some
    are_shares: bool = False  # whether percent or fractions were read as shares of 1


def read_cells(cells: Iterable[object], column: CellColumn | None = None) -> ParsedCells:
    """Read the cells of a metric's column, all on one scale.

    Raises
    ------
    DataError
        If two scales are possible; the message shows two cells.

    Examples
    --------
    >>> parsed = read_cells(["83 %", "4/5", "(Failed)", {"score": "9 %", "reason": "missed half"}])
    >>> parsed.numbers.tolist(), parsed.states[2], parsed.reasons[3]
    ([0.83, 0.8, nan, 0.09], 'failed', 'missed half')
    >>> read_cells(["1,234", "873"]).numbers.tolist(), read_cells(["0,25", "1"]).numbers.tolist()
    ([1234.0, 873.0], [0.25, 1.0])
    """
    values = list(cells)
    plain = np.full(len(values), math.nan)
    odd_rows = []
    for row, value in enumerate(values):
        number = plain_number(value) if isinstance(value, str) else None
        if number is not None:
            plain[row] = number
        # Booleans are left to the slower way, which checks what stands beside them.
        elif type(value) is float or (type(value) is int and abs(value) < _MOST_EXACT):
            plain[row] = value
        elif value is not None:
            odd_rows.append(row)
    if not odd_rows:
        return _parsed(plain)
    return _read_odd_cells(values, plain, odd_rows, column or CellColumn())


def _parsed(numbers: FloatArray) -> ParsedCells:
    states = np.where(np.isnan(numbers), MISSING, SCORED).astype(object)
    return ParsedCells(numbers, states, [None] * len(numbers))


def _read_odd_cells(
    values: list[Any], plain: FloatArray, rows: list[int], column: CellColumn
) -> ParsedCells:
    items = {row: _unwrap(values[row]) for row in rows}
    # A number beside words says as much to them as any number.
    has_text = any(isinstance(values[row], str) for row in np.flatnonzero(~np.isnan(plain)))
    words = _scoring_words([*(item.inner for item in items.values()), *(["0"] * has_text)])
    contents = {row: _classify(item.inner, words) for row, item in items.items()}
    inner = [items[row].inner if row in items else value for row, value in enumerate(values)]
    reals = plain.copy()
    for row, content in contents.items():
        reals[row] = math.nan if content.word is not None else content.number
    numerals = {row: content.numeral for row, content in contents.items() if content.numeral}
    if any(numeral.point is None or numeral.has_two_readings for numeral in numerals.values()):
        # Commas make the decimal sign a question, which the plain texts may answer.
        for row, value in enumerate(values):
            if row not in numerals and isinstance(value, str) and not math.isnan(reals[row]):
                numeral = parse_numeral(value)
                if numeral is not None:
                    numerals[row], reals[row] = numeral, math.nan
    written = [_Written(row, str(inner[row]), numerals[row]) for row in sorted(numerals)]
    scaled = _ColumnScale(column, written, reals)
    numbers, states, reasons, *_ = _parsed(scaled.numbers)
    fields: list[dict[str, Any] | None] = [None] * len(values)
    unread, scales = [], set()
    for row, content in contents.items():
        cell = _finish(content, items[row], float(numbers[row]))
        numbers[row], states[row], reasons[row] = cell.number, cell.state, cell.reason
        fields[row] = items[row].other_fields or None
        unread += [] if cell.is_read else [row]
        scales |= {cell.scale} if cell.state == SCORED else set()
    are_words = [
        row
        for row, content in contents.items()
        if content.word is not None or isinstance(inner[row], bool | np.bool_)
    ]
    on_other_scale = np.flatnonzero((numbers < 0) | (numbers > 1))
    if are_words and len(on_other_scale):
        word, other = are_words[0], int(on_other_scale[0])
        raise DataError(
            f"{column.title} holds words beside numbers: {str(inner[word])!r} at "
            f"{column.place(word)} and {str(inner[other])[:40]!r} at {column.place(other)}. Write "
            "all cells as numbers, or name the columns that are metrics: metrics=[...]"
        )
    # Only a scale that all cells share is the scale of the metric.
    is_shared = len(scales) == 1 and bool(np.isnan(plain).all())
    return ParsedCells(
        *(numbers, states, reasons, scaled.scale or (scales.pop() if is_shared else None)),
        unread=unread,
        words={content.word: words[content.word] for content in contents.values() if content.word},
        notes=scaled.notes,
        refused=[row for row in unread if is_date(inner[row]) or _is_list_of_numbers(inner[row])],
        other_fields=fields if any(fields) else [],
        are_shares=scaled.are_shares,
    )


def _is_list_of_numbers(cell: object) -> bool:
    is_list = isinstance(cell, list | tuple) and bool(cell)
    return is_list and all(isinstance(part, Real) for part in cell)  # type: ignore[attr-defined]


def check_parsed(parsed: ParsedCells, cells: Sequence[object], column: CellColumn) -> None:
    """Refuse dates and lists of numbers in a metric's column: a `DataError` shows the first few."""
    if not parsed.refused:
        return
    listed = column.list_texts({row: str(cells[row]) for row in parsed.refused})
    problem = (
        "is a date. Spreadsheets turn 3/5 into a date: correct these cells"
        if is_date(_unwrap(cells[parsed.refused[0]]).inner)
        else "is a list. A score is one number: take the mean of each list"
    )
    raise DataError(
        f"{column.title} must hold numbers; {listed} {problem}, or name the columns that are "
        "metrics: metrics=[...]"
    )


def read_cell(cell: object) -> Cell:
    """Read one cell without its column; a comma in it separates thousands if it may.

    Examples
    --------
    >>> read_cell("4 (1-5)").scale, read_cell("no idea").is_read
    ((1.0, 5.0), False)
    """
    item = _unwrap(cell)
    content = _classify(item.inner, _WORDS)
    numeral, number = content.numeral, content.number
    if numeral is not None:
        if numeral.is_limit or numeral.is_clock:
            return _UNREAD._replace(reason=_text_of(cell))
        text = numeral.point if numeral.point is not None else numeral.comma
        # By way of Decimal: "14.1" as a float, divided by 100, would be rounded twice.
        is_percent = numeral.kind == "percent"
        number = float(Decimal(text or "nan") / 100) if is_percent else float(text or "nan")
        if numeral.kind == "fraction":
            number /= float(_whole_of(numeral))
    return _finish(content, item, number)


def plain_number(text: str) -> float | None:
    """The number that a text spells, as Python reads it but without underscores; else None.

    An integer that no float holds is None as well. Newer versions of pandas read it from a CSV
    file as an integer, older ones as a text, and both are the same cell.

    Examples
    --------
    >>> plain_number(" 0.5 "), plain_number("1_000"), plain_number("1e400")
    (0.5, None, inf)
    """
    if "_" in text:
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    is_too_large = math.isinf(number) and text.strip().lstrip("+-").isdecimal()
    return None if is_too_large else number


# -- objects and lists


class ScoreObject(NamedTuple):
    """The cell within a cell: the score of an object or of a list, with what stands beside it."""

    inner: object  # the score as it is written
    reason: str | None = None  # the first text under a key such as "reason"
    scale: ScoreRange | None = None  # the range of the scale, if the object has it
    has_error: bool = False
    other_fields: dict[str, Any] = {}  # noqa: RUF012  # never changed
    outer: object = None  # the whole cell, for messages; None if it has no other cell within


def _unwrap(cell: object) -> ScoreObject:
    if isinstance(cell, str) and cell.lstrip().startswith("{"):
        fields = _parse_object(cell)
        return ScoreObject(cell) if fields is None else _unwrap_object(fields, cell)
    if isinstance(cell, Mapping):
        return _unwrap_object(cell, cell)
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, list | tuple) and len(cell) == 1 and not isinstance(cell[0], list | tuple):
        return _unwrap(cell[0])
    return ScoreObject(cell)


def _parse_object(text: str) -> Mapping[Any, Any] | None:
    """The object that was written as JSON or as a Python literal."""
    # JSON first; Python's literals, because frameworks write repr(dict) into CSV files.
    for parse in (load_json, ast.literal_eval) if len(text) <= _LONGEST_LITERAL else ():
        try:
            value = parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, Mapping):
            return value
    return None


def split_object(fields: Mapping[str, Any]) -> ScoreObject | None:
    """The score of an object and what stands beside it; None if it holds neither score nor error.

    Examples
    --------
    >>> split = split_object({"score": 0.5, "explanation": "half", "model": "judge"})
    >>> split.inner, split.reason, split.other_fields
    (0.5, 'half', {'model': 'judge'})
    """
    item = _unwrap_object(fields, fields)
    return None if item.inner is fields else item


def _unwrap_object(fields: Mapping[Any, Any], outer: object) -> ScoreObject:
    error = fields.get("error")
    key = _number_key(fields)
    is_score = key is not None and not isinstance(fields[key], Mapping)
    if not is_score and (key is not None or not (isinstance(error, str) and error.strip())):
        return ScoreObject(outer)
    texts = {name: fields[name] for name in _REASON_KEYS if isinstance(fields.get(name), str)}
    reason_key = next((name for name, text in texts.items() if text.strip()), None)
    used = (key, reason_key, "error", "min", "max", *_SCALE_KEYS)
    return ScoreObject(
        None if key is None else fields[key],
        texts.get(str(reason_key)),
        _read_scale(fields),
        bool(error),
        # The structs of Parquet have every field in every row: None and NaN say nothing.
        {
            str(name): value
            for name, value in fields.items()
            if name not in used
            and value is not None
            and not (isinstance(value, float) and math.isnan(value))
        },
        outer,
    )


def _number_key(fields: Mapping[Any, Any]) -> str | None:
    """The key under which an object holds its score; None if it holds none."""
    return next((key for key in _NUMBER_KEYS if key in fields), None)


def _read_scale(fields: Mapping[Any, Any]) -> ScoreRange | None:
    written = next((fields[key] for key in _SCALE_KEYS if key in fields), None)
    ends = written if isinstance(written, list | tuple) else (fields.get("min"), fields.get("max"))
    if len(ends) != 2 or not all(isinstance(end, Real) for end in ends):
        return None
    low, high = map(float, ends)
    return (low, high) if low < high else None


# -- one cell


def _classify(cell: object, words: Mapping[str, float]) -> Cell:
    if isinstance(cell, str):
        return _classify_text(cell, words)
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return Cell(state=MISSING)
    if isinstance(cell, timedelta):
        total = repr(cell.total_seconds())
        return Cell(numeral=Numeral("time", total, total, "s"))
    if not isinstance(cell, Real | Decimal | np.bool_):
        return _UNREAD
    try:
        return _content_of(float(cell))
    except (OverflowError, ValueError):  # an integer too large for a float, a signalling NaN
        return _UNREAD


def _content_of(number: float) -> Cell:
    return Cell(number, MISSING if math.isnan(number) else SCORED)


def _classify_text(text: str, words: Mapping[str, float]) -> Cell:
    # Numbers first, because most cells are numbers.
    number = plain_number(text)
    if number is not None:
        return _content_of(number)
    stripped = text.strip()
    word = next((word for word in (stripped, stripped.lower()) if word in words), None)
    if word is not None:
        return Cell(words[word], SCORED, word=word)
    state = UNSCORED_WORDS.get(stripped.lower())
    if state is not None:
        return Cell(state=state, reason=stripped if state == FAILED else None)
    numeral = parse_numeral(text)
    if numeral is not None:
        return Cell(numeral=numeral) if _is_possible(numeral) else _UNREAD
    step = _ON_A_SCALE.fullmatch(text)
    if step is not None:
        number, low, high = map(float, step.groups())
        if low < high and low <= number <= high:
            return Cell(number, SCORED, scale=(low, high))
    return _UNREAD


def _is_possible(numeral: Numeral) -> bool:
    """Whether a fraction is a share: "12/5" is a date or a count."""
    if numeral.kind != "fraction":
        return True
    parts = [float(part) for part in (numeral.point, numeral.comma) if part is not None]
    whole = float(_whole_of(numeral))
    return whole != 0 and any(0 <= part <= whole for part in parts)


def _finish(content: Cell, item: ScoreObject, number: float) -> Cell:
    """A cell with its number on the scale of the column, and what its object says beside it."""
    if not content.is_read or (content.numeral is not None and math.isnan(number)):
        return _UNREAD._replace(reason=_text_of(item.inner if item.outer is None else item.outer))
    return content._replace(
        number=number if content.word is None else content.number,
        state=FAILED if content.state == MISSING and item.has_error else content.state,
        reason=item.reason or content.reason,
        scale=content.scale or item.scale,
    )


def _text_of(cell: object) -> str:
    try:
        text = str(dict(cell)) if isinstance(cell, Mapping) else str(cell)
    except ValueError:  # Python does not write an integer of thousands of digits
        text = f"an integer of {cell.bit_length()} bits" if isinstance(cell, int) else "?"
    return text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."


def _scoring_words(cells: Iterable[object]) -> dict[str, float]:
    """The words that are scores in this column: letters and "failed" depend on the other cells."""
    texts = {cell.strip() for cell in cells if isinstance(cell, str)}
    lowered = {text.lower() for text in texts} - (UNSCORED_WORDS.keys() - _JUDGED)
    words = dict(_WORDS)
    if lowered and lowered <= _JUDGED and lowered != {"failed"}:
        # Beside "passed", "failed" is a verdict on an answer; alone it says that scoring failed.
        words["failed"] = 0.0
    # All of them, because "C" alone can be an answer, a name or a grade.
    if texts and all(text in LETTERS for text in texts if text.lower() not in UNSCORED_WORDS):
        words |= LETTERS
    elif "y" in lowered and lowered <= _YES_OR_NO.keys():
        words |= _YES_OR_NO
    return words


# -- the scale of a column


class _Written(NamedTuple):
    """A numeral at its row, with the text of the cell, and its number as it was decided."""

    row: int
    text: str
    numeral: Numeral
    number: Decimal = Decimal("nan")

    def read(self, *, is_comma: bool) -> Decimal:
        """The number if the decimal sign is a comma, or a point; the other if it cannot be."""
        point, comma = self.numeral.point, self.numeral.comma
        return _decimal((comma or point) if is_comma else (point or comma))


def _decimal(text: str | None) -> Decimal:
    try:
        return Decimal(text or "nan")
    except InvalidOperation:  # an exponent beyond all bounds
        return Decimal(repr(float(text or "nan")))


def _whole_of(numeral: Numeral) -> Decimal:
    """The denominator of a fraction."""
    return _decimal(numeral.whole)


class _ColumnScale:
    """The numbers of a column on the one scale that all its cells allow.

    `written` are the cells that spell numbers, `reals` the cells that are numbers already.
    """

    def __init__(self, column: CellColumn, written: list[_Written], reals: FloatArray):
        self.column, self.numbers = column, reals.copy()
        self.notes: list[str] = []  # what was converted, with rows
        self.scale: ScoreRange | None = None  # if the cells show it
        self.are_shares = False
        are_times = names_a_time(column.name)
        self.written = [cell for cell in written if are_times or not cell.numeral.is_clock]
        self.texts = {cell.row: cell.text for cell in self.written}
        limits = [cell for cell in self.written if cell.numeral.is_limit]
        if limits:
            raise DataError(
                f"{column.title} must hold numbers; {self.show(*limits)} is a limit, and not "
                "a score. Write the number, or leave the cell empty if there is no score"
            )
        is_comma = self.decide_signs()
        by_kind: dict[str, list[_Written]] = {"number": []}
        for cell, comma in zip(self.written, is_comma, strict=True):
            decided = cell._replace(number=cell.read(is_comma=comma))
            by_kind.setdefault(cell.numeral.kind, []).append(decided)
        plain = by_kind.pop("number")
        is_plain = ~np.isnan(reals)
        is_plain[[cell.row for cell in plain]] = True
        self.fill(plain)
        # The rows of the plain numbers, beside which all others stand.
        self.plain = np.flatnonzero(is_plain)
        if {*by_kind} - {"percent", "fraction"} and len(by_kind) > 1:
            first, second = (cells[0] for cells in list(by_kind.values())[:2])
            self.refuse_kinds(self.show(first, second))
        if by_kind.keys() & {"percent", "fraction"}:
            self.read_shares(by_kind.get("percent", []), by_kind.get("fraction", []))
        for kind, cells in by_kind.items():
            if kind == "time":
                self.read_times(cells)
            elif kind == "money":
                self.read_money(cells)
            elif kind == "stars":
                self.read_stars(cells)
        rounded = [cell for cell in self.written if cell.numeral.is_rounded]
        if rounded:
            self.notes.append(
                f"signs for a rounded number or a footnote are ignored in {column.name!r}: "
                f"{self.show(*rounded)}"
            )

    @property
    def values(self) -> FloatArray:
        """The plain numbers."""
        values: FloatArray = self.numbers[self.plain]
        return values

    def fill(self, cells: Iterable[_Written]) -> None:
        """Write the numbers of cells into their rows."""
        for cell in cells:
            self.numbers[cell.row] = float(cell.number)

    def show(self, *cells: _Written) -> str:
        """Some cells in a message."""
        return self.column.list_texts({cell.row: cell.text for cell in cells})

    def show_plain(self, row: int) -> str:
        """A plain number as it is written, with its place."""
        text = repr(self.texts[row]) if row in self.texts else f"{self.numbers[row]:g}"
        return f"{text} at {self.column.place(row)}"

    def first_plain(self, is_wanted: BoolArray) -> int | None:
        """The first row whose plain number is wanted."""
        rows = self.plain[is_wanted]
        return int(rows[0]) if len(rows) else None

    def refuse_kinds(self, shown: str) -> None:
        """Refuse numbers of two kinds."""
        raise DataError(
            f"{self.column.title} holds numbers of two kinds: {shown}. Write all of them in one "
            "way, or name the columns that are metrics: metrics=[...]"
        )

    # -- the decimal sign

    def decide_signs(self) -> list[bool]:
        """Whether a comma is the decimal sign of each cell."""
        written, name = self.written, self.column.name
        by_comma = [cell for cell in written if cell.numeral.point is None]
        by_point = [cell for cell in written if cell.numeral.comma is None]
        unclear = [cell for cell in written if cell.numeral.has_two_readings]
        with_comma = [
            cell
            for cell in unclear
            if abs(cell.read(is_comma=False)) > abs(cell.read(is_comma=True))
        ]
        with_point = [cell for cell in unclear if cell not in with_comma]
        if not by_comma and not with_comma:  # points only, as nearly always
            return [False] * len(written)
        if by_comma and by_point:
            shown = self.show(by_point[0], by_comma[0])
            if unclear:
                raise DataError(
                    f"{self.column.title} has decimal points and decimal commas, {shown}; "
                    f"{unclear[0].text!r} at {self.column.place(unclear[0].row)} may be "
                    f"{unclear[0].read(is_comma=False)} or {unclear[0].read(is_comma=True)}. "
                    "Write all cells with one decimal sign"
                )
            self.notes.append(
                f"{name!r} has decimal points and decimal commas, such as {shown}; both are read "
                "as decimal signs"
            )
            return [cell.numeral.point is None for cell in written]
        only_comma = self.only_sign(unclear)
        if by_comma or (only_comma and not by_point):
            if by_comma:
                self.check_thousands(with_point, is_comma=True)
            why = "" if by_comma else ", because its bounds leave no other reading"
            self.notes.append(f"decimal commas are read as decimal points in {name!r}{why}")
            return [True] * len(written)
        if only_comma is not False:
            self.check_thousands(with_comma, is_comma=False)
        self.notes.append(
            f"the commas in {name!r} are read as separators of thousands: "
            f"{self.show(with_comma[0])} is {with_comma[0].read(is_comma=False):f}"
        )
        return [False] * len(written)

    def only_sign(self, unclear: list[_Written]) -> bool | None:
        """Whether the bounds of the metric allow only a comma, or only a point; None if neither."""
        bounds = self.column.bounds or self.column.known_bounds
        if bounds is None:
            return None
        fits = []
        for is_comma in (False, True):
            numbers = (
                cell.read(is_comma=is_comma) / (100 if cell.numeral.kind == "percent" else 1)
                for cell in unclear
            )
            fits.append(all(bounds[0] <= number <= bounds[1] for number in numbers))
        return None if fits[0] == fits[1] else fits[1]

    def check_thousands(self, thousands: list[_Written], *, is_comma: bool) -> None:
        """Refuse separators of thousands where other numbers are nearer to the other reading."""
        if not thousands:
            return
        of_thousands = {cell.row for cell in thousands}
        sizes = {
            cell.row: abs(cell.read(is_comma=is_comma))
            for cell in self.written
            if cell.row not in of_thousands
        }
        for row in np.flatnonzero(np.isfinite(self.numbers)).tolist():
            sizes[row] = abs(Decimal(float(self.numbers[row])))
        least = min(thousands, key=lambda cell: abs(cell.read(is_comma=is_comma)))
        beside = ""
        if sizes:
            largest = max(sizes, key=lambda row: sizes[row])
            if float(abs(least.read(is_comma=is_comma))) <= _NEAR * float(sizes[largest]):
                return
            beside = f" beside {self.show_plain(largest)}"
        readings = " or ".join(f"{least.read(is_comma=comma):f}" for comma in (False, True))
        raise DataError(
            f"{self.column.title}: {least.text!r} at {self.column.place(least.row)}{beside} may be "
            f"{readings}, as the {'point' if is_comma else 'comma'} may separate thousands or "
            "decimals. Say which is the decimal sign when reading the file, decimal='.' or "
            "decimal=',', or write the cells as numbers"
        )

    # -- stars, money and times

    def read_stars(self, stars: list[_Written]) -> None:
        """Count the stars; "★★★☆☆" shows the scale, if every cell has as many, filled or not."""
        self.fill(stars)
        drawn = [cell.text.strip() for cell in stars if cell.text.strip()[:1] in "★⭐☆"]
        is_scale = len(drawn) == len(stars) and any("☆" in text for text in drawn)
        if is_scale and len({*map(len, drawn)}) == 1 and not len(self.plain):
            self.scale = (0.0, float(len(drawn[0])))

    def read_money(self, money: list[_Written]) -> None:
        """Read sums of one currency."""
        for other in money:
            if other.numeral.unit != money[0].numeral.unit:
                raise DataError(
                    f"{self.column.title} holds two currencies: {self.show(money[0], other)}. "
                    "Convert them to one"
                )
        self.fill(money)

    def read_times(self, times: list[_Written]) -> None:
        """Convert times to the unit of the column's name, or to that of the cells."""
        name = self.column.name
        units = sorted({cell.numeral.unit for cell in times}, key=SECONDS_IN.__getitem__)
        in_name = unit_in_name(name)
        # Milliseconds, this library's unit of latency, where cells differ and the name says none.
        target = in_name or (units[0] if len(units) == 1 else "ms")
        converted = [
            cell._replace(number=cell.number * SECONDS_IN[cell.numeral.unit] / SECONDS_IN[target])
            for cell in times
        ]
        if in_name is None:
            self.check_plain_times(converted, n_units=len(units))
        if units != [target]:
            self.notes.append(
                f"the times of {name!r} in {' and '.join(units)} are converted to {target}"
            )
        elif in_name is None and len(self.plain):
            self.notes.append(
                f"numbers of {name!r} without a unit are taken as {target}, the unit of the "
                f"others: {self.show_plain(int(self.plain[0]))}"
            )
        elif in_name is None:
            self.notes.append(f"the times of {name!r} are in {target}")
        self.fill(converted)

    def check_plain_times(self, times: list[_Written], *, n_units: int) -> None:
        """Refuse a number without a unit beside two units, or too far from the others."""
        sizes = np.abs(self.values)
        largest = max(abs(float(cell.number)) for cell in times)
        is_far = (sizes > _NEAR * largest) | (n_units > 1)
        # The largest plain number decides, as single times may well be short.
        if n_units == 1 and len(sizes) and float(sizes.max()) * _NEAR < largest:
            is_far = sizes == sizes.max()
        row = self.first_plain(is_far & (sizes > 0))
        if row is not None:
            raise DataError(
                f"{self.column.title}: the unit of {self.show_plain(row)} is not known, "
                f"beside {self.show(times[0])}. Write a unit in every cell or in none, or in the "
                f"name of the column, such as {self.column.name + '_ms'!r}"
            )

    # -- percent and fractions

    def read_shares(self, percents: list[_Written], fractions: list[_Written]) -> None:
        """Read percent and fractions as shares of 1, or of the upper bound that is stated."""
        if fractions and (self.values != 0).any():
            self.notes.append(
                f"fractions stand beside plain numbers of {self.column.name!r} and are read as "
                f"shares: {self.show(*fractions)}"
            )
        whole = Decimal(1)
        if self.column.bounds is not None:
            # The stated bounds say where the plain numbers are; the shares follow.
            whole = max(whole, Decimal(repr(self.column.bounds[1])))
        elif percents:
            self.read_plain_as_percent(percents[0], fractions)
        else:
            self.check_plain_beside_fractions(fractions[0])
        # In decimals, so that 14.1 % is 0.141; fractions in floats, as Python divides.
        self.fill(cell._replace(number=cell.number * whole / 100) for cell in percents)
        for cell in fractions:
            part, of = float(cell.number), _whole_of(cell.numeral)
            self.numbers[cell.row] = part if of == whole else part / float(of) * float(whole)
        self.are_shares = whole == 1

    def read_plain_as_percent(self, percent: _Written, fractions: list[_Written]) -> None:
        """Read plain numbers over 1 as percent too; up to 1 they may be shares, an error."""
        values = self.values
        row = self.first_plain((values != 0) & (np.abs(values) <= 1))
        if row is not None:
            number = float(self.numbers[row])
            raise DataError(
                f"{self.column.title} holds percent beside plain numbers: {self.show(percent)} and "
                f"{self.show_plain(row)}, which may be {number:g} or {number:g} %. Say where the "
                f"plain numbers lie: {self.column.option((0, 1), (0, 100))}"
            )
        first = self.first_plain(values != 0)
        if first is None:
            return
        if fractions:
            row = int(self.plain[0])
            text = self.texts.get(row, f"{self.numbers[row]:g}")
            shown = {fractions[0].row: fractions[0].text, row: text}
            self.refuse_kinds(self.column.list_texts(shown))
        shown_first = self.show_plain(first)
        self.numbers[self.plain] = [float(Decimal(repr(float(v))) / 100) for v in values]
        self.notes.append(
            f"plain numbers of {self.column.name!r} stand beside percent and are read as percent: "
            f"{shown_first} is {self.numbers[first]:g}"
        )

    def check_plain_beside_fractions(self, fraction: _Written) -> None:
        """Plain numbers within 0 and 1, not all whole, are shares; others may be numerators."""
        values = self.values
        has_shares = bool(((values > 0) & (values < 1)).any())
        row = self.first_plain((values < 0) | (values > 1) if has_shares else values != 0)
        if row is None:
            return
        whole, number = float(_whole_of(fraction.numeral)), float(self.numbers[row])
        scales = [(0.0, 1.0)] if number <= 1 else []
        raise DataError(
            f"{self.column.title} holds fractions beside plain numbers: {self.show(fraction)} and "
            f"{self.show_plain(row)}, which may be {number:g} or {number:g}/{whole:g}. Say where "
            f"the plain numbers lie: {self.column.option(*scales, (0.0, whole))}"
        )


# -- guesses


def count_numbers(cells: Iterable[object], *, are_durations: bool = False) -> tuple[int, int]:
    """The number of cells that hold scores, and of those that hold neither that nor "unscored".

    Nobody said that the column is a metric; so "yes", dates, and lists of numbers such as "1,2" are
    not taken as scores, and clocks are only if its name says that they are durations.

    Examples
    --------
    >>> count_numbers(["0.5", "n/a", "83 %", "why?"]), count_numbers(["1,2", "3,4"])
    ((2, 1), (0, 2))
    """
    values = list(cells)
    items = [_unwrap(value) for value in values]
    contents = [_classify(item.inner, _WORDS) for item in items]
    # Also of impossible fractions: "12/5" beside "3/5" shows that both are dates.
    texts = [item.inner for item in items if isinstance(item.inner, str)]
    parsed = [parse_numeral(t) for t in texts if "/" in t or "of" in t or not t.isascii()]
    wholes = {float(_whole_of(numeral)) for numeral in parsed if numeral and numeral.whole}
    may_be_shares = len(wholes) == 1 and wholes <= _DENOMINATORS
    may_be_commas = any(map(_is_surely_decimal, texts))

    def is_score(value: object, item: ScoreObject, content: Cell) -> bool:
        """Whether a cell may be a score, or says that there is none."""
        if isinstance(value, list | tuple | np.ndarray) or isinstance(item.inner, timedelta):
            return are_durations and isinstance(item.inner, timedelta)
        if isinstance(value, Mapping) and not _is_score_object(value):
            return False
        numeral = content.numeral
        if numeral is None:
            return content.is_read and content.word not in _AMBIGUOUS_WORDS
        if numeral.is_clock:
            return are_durations
        if numeral.kind == "fraction" or numeral.is_limit:
            return numeral.kind == "fraction" and may_be_shares
        # "1,2" may be two of the retrieved documents.
        return numeral.point is not None or may_be_commas

    n_numbers = n_texts = 0
    for value, item, content in zip(values, items, contents, strict=True):
        if not is_score(value, item, content):
            n_texts += 1
        elif content.state == SCORED:
            n_numbers += 1
    return n_numbers, n_texts


def _is_score_object(fields: Mapping[Any, Any]) -> bool:
    """Whether an object is a score, and not any object with a value."""
    return _number_key(fields) != "value" or any(key in fields for key in _REASON_KEYS)


def _is_surely_decimal(text: str) -> bool:
    """Whether a text with a comma is a number, and not a list of two: "0,5", "1,05", "1.234,5"."""
    numeral = parse_numeral(text)
    if numeral is None or numeral.point is not None or numeral.comma is None:
        return False
    whole, _, decimals = text.strip().lstrip("+-").partition(",")
    return whole in ("", "0") or "." in whole or decimals[:1] == "0" or numeral.kind != "number"


def is_single_number(cell: object) -> bool:
    """Whether a cell is a list of one number."""
    is_list = isinstance(cell, list | tuple | np.ndarray)
    return is_list and not isinstance(_unwrap(cell).inner, list | tuple)
