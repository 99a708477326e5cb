"""Reads the cells of a metric: a number, a reason why there is none, or text that is neither.

Frameworks write scores as numbers, shares ("83 %", "4/5"), words ("pass", "C"), or objects that
hold a reason beside the number. A cell alone is often
ambiguous: "1,234" beside "873" is a thousand and more, beside "0,83" it is a little over one; "0.9"
beside "85 %" may be 0.9 or 0.009. A column has one scale; if two scales remain possible, the error
shows two cells and how to say which one is meant.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
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
    names_a_time,
    parse_numeral,
    unit_in_name,
)
from rageval_report.scores.states import FAILED, MISSING, SCORED, states_of
from rageval_report.types import FloatArray

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

# The denominators of shares such as "4/5"; other fractions may be dates.
_DENOMINATORS = frozenset((*range(1, 11), 100))

# The keys under which an object holds the number and the reason.
_NUMBER_KEYS = ("score", "value", "passed", "pass", "success")
_REASON_KEYS = ("reason", "explanation", "rationale", "feedback", "justification", "error")

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


class Cell(NamedTuple):
    """The content of one cell: its number, NaN if it holds no score, and then its state."""

    number: float = math.nan
    state: str = SCORED
    reason: str | None = None
    is_read: bool = True  # False if the cell could not be interpreted
    word: str | None = None  # that was read as the number
    numeral: Numeral | None = None  # whose number depends on the other cells of the column


_UNREAD = Cell(state=FAILED, is_read=False)


class ParsedCells(NamedTuple):
    """The contents of the cells of one column, in their order."""

    numbers: FloatArray  # NaN where unscored
    states: NDArray[np.object_]
    reasons: list[str | None]  # why a score is missing, or what a judge gave for it
    unread: Sequence[int] = ()  # the cells that hold anything else; they count as failed
    words: Mapping[str, float] = {}  # that were read as scores
    notes: Sequence[str] = ()  # what was decided about the scale of the column
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
        return ParsedCells(plain, states_of(plain), [None] * len(values))
    return _read_odd_cells(values, plain, odd_rows, column or CellColumn())


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
    texts = {row: str(inner[row]) for row in sorted(numerals)}
    scaled = _ColumnScale(column, texts, numerals, reals)
    numbers, states = scaled.numbers, states_of(scaled.numbers)
    reasons: list[str | None] = [None] * len(values)
    fields: list[dict[str, Any] | None] = [None] * len(values)
    unread: list[int] = []
    for row, content in contents.items():
        cell = _finish(content, items[row], float(numbers[row]))
        numbers[row], states[row], reasons[row] = cell.number, cell.state, cell.reason
        fields[row] = items[row].other_fields or None
        unread += [] if cell.is_read else [row]
    are_words = (r for r, c in contents.items() if c.word or isinstance(inner[r], bool | np.bool_))
    word, others = next(are_words, None), np.flatnonzero((numbers < 0) | (numbers > 1))
    if word is not None and len(others):
        _refuse_kinds(column, {row: str(inner[row]) for row in (word, int(others[0]))})
    return ParsedCells(
        *(numbers, states, reasons, unread),
        words={content.word: words[content.word] for content in contents.values() if content.word},
        notes=scaled.notes,
        other_fields=fields if any(fields) else [],
        are_shares=scaled.are_shares,
    )


def read_cell(cell: object) -> Cell:
    """Read one cell without its column; a comma in it separates thousands if it may.

    Examples
    --------
    >>> read_cell("4/5").number, read_cell("no idea").is_read
    (0.8, False)
    """
    item = _unwrap(cell)
    content = _classify(item.inner, _WORDS)
    numeral, number = content.numeral, content.number
    if numeral is not None:
        if numeral.is_clock:
            return _UNREAD._replace(reason=_text_of(cell))
        # By way of Decimal: "14.1" as a float, divided by 100, would be rounded twice.
        read = numeral.read(is_comma=False)
        number = float(read / 100 if numeral.kind == "percent" else read)
        if numeral.kind == "fraction":
            number /= float(numeral.whole)
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
    error, key = fields.get("error"), _number_key(fields)
    is_score = key is not None and not isinstance(fields[key], Mapping)
    if not is_score and (key is not None or not (isinstance(error, str) and error.strip())):
        return ScoreObject(outer)
    texts = {name: fields[name] for name in _REASON_KEYS if isinstance(fields.get(name), str)}
    reason_key = next((name for name, text in texts.items() if text.strip()), None)
    used = (key, reason_key, "error")
    # The structs of Parquet have every field in every row: None and NaN say nothing.
    others = {
        str(name): value
        for name, value in fields.items()
        if name not in used
        and not (value is None or (isinstance(value, float) and math.isnan(value)))
    }
    inner, reason = None if key is None else fields[key], texts.get(str(reason_key))
    return ScoreObject(inner, reason, bool(error), others, outer)


def _number_key(fields: Mapping[Any, Any]) -> str | None:
    """The key under which an object holds its score; None if it holds none."""
    return next((key for key in _NUMBER_KEYS if key in fields), None)


# -- one cell


def _classify(cell: object, words: Mapping[str, float]) -> Cell:
    if isinstance(cell, str):
        return _classify_text(cell, words)
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return Cell(state=MISSING)
    if isinstance(cell, timedelta):
        total = Decimal(repr(cell.total_seconds()))
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
    return _UNREAD


def _is_possible(numeral: Numeral) -> bool:
    """Whether a fraction is a share: "12/5" is a date or a count."""
    parts = [part for part in (numeral.point, numeral.comma) if part is not None]
    is_share = numeral.whole != 0 and any(0 <= part <= numeral.whole for part in parts)
    return numeral.kind != "fraction" or is_share


def _finish(content: Cell, item: ScoreObject, number: float) -> Cell:
    """A cell with its number on the scale of the column, and what its object says beside it."""
    if not content.is_read or (content.numeral is not None and math.isnan(number)):
        return _UNREAD._replace(reason=_text_of(item.inner if item.outer is None else item.outer))
    return content._replace(
        number=number if content.word is None else content.number,
        state=FAILED if content.state == MISSING and item.has_error else content.state,
        reason=item.reason or content.reason,
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

_ONE_WAY = "Write all of them in one way"


def _refuse_kinds(column: CellColumn, texts: Mapping[int, str], advice: str = _ONE_WAY) -> None:
    """Refuse cells of two kinds."""
    raise DataError(
        f"{column.title} holds numbers of two kinds: {column.list_texts(texts)}. {advice}, or name "
        "the columns that are metrics: metrics=[...]"
    )


class _ColumnScale:
    """The numbers of a column on the one scale that all its cells allow.

    `texts` and `numerals` are the cells that spell numbers, by row; `reals` the cells that are
    numbers already.
    """

    def __init__(
        self,
        column: CellColumn,
        texts: dict[int, str],
        numerals: Mapping[int, Numeral],
        reals: FloatArray,
    ):
        self.column, self.numbers = column, reals.copy()
        self.notes: list[str] = []  # what was decided, with rows
        self.are_shares = False
        are_times = names_a_time(column.name)
        self.numerals = {row: numerals[row] for row in texts}
        for row in [row for row in texts if numerals[row].is_clock and not are_times]:
            del self.numerals[row]
        self.texts = {row: texts[row] for row in self.numerals}
        self.sizes = self.read_numbers()
        kinds: dict[str, list[int]] = {}
        for row, numeral in self.numerals.items():
            kinds.setdefault(numeral.kind, []).append(row)
        for row in kinds.pop("number", ()):
            self.numbers[row] = float(self.sizes[row])
        # The plain numbers, beside which all others stand; 0 is 0 on every scale.
        self.plain = np.flatnonzero(~np.isnan(self.numbers) & (self.numbers != 0))
        shares = sorted((*kinds.pop("percent", ()), *kinds.pop("fraction", ())))
        if len(kinds) + bool(shares) > 1:
            self.refuse(*[rows[0] for rows in (*kinds.values(), shares) if rows][:2])
        if shares:
            self.read_shares(shares)
        elif "time" in kinds:
            self.read_times(kinds["time"])

    def shown(self, *rows: int) -> dict[int, str]:
        """The texts of some cells."""
        return {row: self.texts.get(row, f"{self.numbers[row]:g}") for row in rows}

    def show(self, *rows: int) -> str:
        """Some cells in a message."""
        return self.column.list_texts(self.shown(*rows))

    def refuse(self, *rows: int, advice: str = _ONE_WAY) -> None:
        """Refuse numbers of two kinds."""
        _refuse_kinds(self.column, self.shown(*rows), advice)

    # -- the decimal sign

    def read_numbers(self) -> dict[int, Decimal]:
        """The numbers of the cells by the decimal sign of the column."""
        cells = self.numerals
        by_comma = [row for row, cell in cells.items() if cell.point is None]
        by_point = [row for row, cell in cells.items() if cell.comma is None]
        unclear = [row for row, cell in cells.items() if cell.has_two_readings]
        name, is_comma = self.column.name, bool(by_comma) and not by_point
        if by_comma and by_point:
            shown = self.show(by_point[0], by_comma[0])
            if unclear:
                self.refuse_unclear(unclear[0], f", beside {shown}")
            self.notes.append(f"{name!r} has decimal points and decimal commas, such as {shown}")
        elif unclear:
            only = self.only_comma(unclear)
            is_comma = is_comma or (bool(only) and not by_point)
            sizes, other = (
                {row: abs(float(cell.read(is_comma=sign))) for row, cell in cells.items()}
                for sign in (is_comma, not is_comma)
            )
            thousands = [row for row in unclear if sizes[row] > other[row]]
            others = [size for row, size in sizes.items() if row not in thousands]
            others += np.abs(self.numbers[np.isfinite(self.numbers)]).tolist()
            least = min((sizes[row] for row in thousands), default=0.0)
            if only is None and least > _NEAR * max(others, default=0.0):
                self.refuse_unclear(thousands[0])
            if thousands:
                number = f"{cells[thousands[0]].read(is_comma=is_comma):f}"
                self.notes.append(
                    f"the {'points' if is_comma else 'commas'} in {name!r} separate thousands: "
                    f"{self.show(thousands[0])} is {number}"
                )
        if is_comma:
            self.notes.append(f"decimal commas are read as decimal points in {name!r}")
        return {row: cell.read(is_comma=is_comma) for row, cell in cells.items()}

    def refuse_unclear(self, row: int, beside: str = "") -> None:
        """Refuse a cell of which nothing shows whether its sign separates thousands."""
        cell = self.numerals[row]
        raise DataError(
            f"{self.column.title}: {self.show(row)} may be {cell.read(is_comma=False):f} or "
            f"{cell.read(is_comma=True):f}{beside}. Say which is the decimal sign when reading the "
            "file, decimal='.' or decimal=',', or write the cells as numbers"
        )

    def only_comma(self, unclear: list[int]) -> bool | None:
        """Whether the bounds of the metric allow only a comma, or only a point; None if neither."""
        low, high = self.column.bounds or self.column.known_bounds or (-math.inf, math.inf)

        def fits(row: int, *, is_comma: bool) -> bool:
            number = self.numerals[row].read(is_comma=is_comma)
            return low <= (number / 100 if self.numerals[row].kind == "percent" else number) <= high

        point, comma = (all(fits(row, is_comma=sign) for row in unclear) for sign in (False, True))
        return None if point == comma else comma

    # -- times, percent and fractions

    def read_times(self, rows: list[int]) -> None:
        """Convert times to the unit of the column's name, or to that of the cells."""
        name, in_name = self.column.name, unit_in_name(self.column.name)
        units = sorted({self.numerals[row].unit for row in rows}, key=SECONDS_IN.__getitem__)
        if in_name is None and len(self.plain):
            advice = f"Write a unit in every cell, or in the name of the column: {name + '_ms'!r}"
            self.refuse(rows[0], int(self.plain[0]), advice=advice)
        # Milliseconds, this library's unit of latency, where cells differ and the name says none.
        target = in_name or (units[0] if len(units) == 1 else "ms")
        for row in rows:
            seconds = SECONDS_IN[self.numerals[row].unit]
            self.numbers[row] = float(self.sizes[row] * seconds / SECONDS_IN[target])
        if units != [target]:
            self.notes.append(
                f"the times of {name!r} in {' and '.join(units)} are converted to {target}"
            )
        elif in_name is None:
            self.notes.append(f"the times of {name!r} are in {target}")

    def read_shares(self, rows: list[int]) -> None:
        """Read percent and fractions as shares of 1, or of the upper bound that is stated."""
        percents = [row for row in rows if self.numerals[row].kind == "percent"]
        whole = Decimal(1)
        if self.column.bounds is not None:
            # The stated bounds say where the plain numbers are; the shares follow.
            whole = max(whole, Decimal(repr(self.column.bounds[1])))
        elif len(self.plain):
            bounds = f"metrics={{{self.column.name!r}: {{'bounds': (low, high)}}}}"
            self.refuse(rows[0], int(self.plain[0]), advice=f"Say where they lie: {bounds}")
        # In decimals, so that 14.1 % is 0.141; fractions in floats, as Python divides.
        for row in rows:
            part, of = self.sizes[row], self.numerals[row].whole
            if row in percents:
                self.numbers[row] = float(part * whole / 100)
            else:
                share = float(part) / float(of) * float(whole)
                self.numbers[row] = float(part) if of == whole else share
        self.are_shares = whole == 1


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
    # Also of impossible fractions: "12/5" beside "3/5" shows that both are dates.
    texts = [item.inner for item in items if isinstance(item.inner, str)]
    parsed = [parse_numeral(t) for t in texts if "/" in t or "of" in t or not t.isascii()]
    wholes = {numeral.whole for numeral in parsed if numeral and numeral.kind == "fraction"}
    may_be_shares = len(wholes) == 1 and wholes <= _DENOMINATORS
    may_be_commas = any(map(_is_surely_decimal, texts))

    def is_score(value: object, item: ScoreObject, content: Cell) -> bool:
        """Whether a cell may be a score, or says that there is none."""
        if isinstance(value, list | tuple | np.ndarray) or isinstance(item.inner, timedelta):
            return are_durations and isinstance(item.inner, timedelta)
        if isinstance(value, Mapping) and _number_key(value) == "value":
            # Any object may have a value; a score also has a reason.
            return any(key in value for key in _REASON_KEYS)
        numeral = content.numeral
        if numeral is None:
            return content.is_read and content.word not in _AMBIGUOUS_WORDS
        if numeral.is_clock:
            return are_durations
        if numeral.kind == "fraction":
            return may_be_shares
        # "1,2" may be two of the retrieved documents.
        return numeral.point is not None or may_be_commas

    n_numbers = n_texts = 0
    for value, item in zip(values, items, strict=True):
        content = _classify(item.inner, _WORDS)
        if not is_score(value, item, content):
            n_texts += 1
        elif content.state == SCORED:
            n_numbers += 1
    return n_numbers, n_texts


def _is_surely_decimal(text: str) -> bool:
    """Whether a text with a comma is a number, and not a list of two: "0,5", "1,05", "1.234,5"."""
    numeral = parse_numeral(text) if "," in text else None
    if numeral is None or numeral.point is not None:
        return False
    whole, _, decimals = text.strip().lstrip("+-").partition(",")
    return whole in ("", "0") or "." in whole or decimals[:1] == "0" or numeral.kind != "number"


def is_single_number(cell: object) -> bool:
    """Whether a cell is a list of one number."""
    is_list = isinstance(cell, list | tuple | np.ndarray)
    return is_list and not isinstance(_unwrap(cell).inner, list | tuple)
