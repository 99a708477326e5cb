"""Reads the cells of a metric: a number, a reason why there is none, or text that is neither.

Frameworks write scores as numbers, shares ("83 %", "4/5"), words ("pass", "C"), steps of a scale
with its range ("4 (1-5)"), or objects that hold a reason beside the number. On which scale the
numbers of a column are, and what its commas mean, is decided from all of its cells:
`rageval_report.scores.column_scale`.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval_report.errors import DataError
from rageval_report.files.strict_json import load_json
from rageval_report.scores.column_scale import (
    CellColumn,
    ScoreRange,
    fraction_whole_of,
    read_numerals,
)
from rageval_report.scores.numerals import Numeral, is_date, numeral_of_timedelta, parse_numeral
from rageval_report.scores.states import FAILED, MISSING, NOT_APPLICABLE, SCORED
from rageval_report.types import FloatArray

# How frameworks and spreadsheets write that a query is unscored, and the state of each word.
UNSCORED_WORDS: dict[str, str] = {
    **dict.fromkeys(("", "-", "nan", "none", "null"), MISSING),
    **dict.fromkeys(("--", "\u2013", "\u2014", "<na>", "nat", "nil", "missing", "#null!"), MISSING),
    **dict.fromkeys(("(failed)", "error", "failed", "timeout", "timed out"), FAILED),
    **dict.fromkeys(("#div/0!", "#value!", "#ref!", "#name?", "#num!"), FAILED),
    **dict.fromkeys(("n/a", "na", "n.a.", "#n/a", "not applicable", "skipped"), NOT_APPLICABLE),
}

# The words that are scores. "failed" is one only in a column that also says "passed".
WORDS: dict[str, float] = {
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


class Cell(NamedTuple):
    """The content of one cell: its number, NaN if it holds no score, and then its state."""

    number: float
    state: str = SCORED
    reason: str | None = None
    scale: ScoreRange | None = None  # that was written beside a step of a scale
    is_read: bool = True  # False if the cell could not be interpreted


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
    numbers, odd_rows = _plain_numbers(values)
    if not odd_rows:
        return _parsed(numbers)
    # The slow way is for the cells that are not plain numbers, and for their column's scale.
    return _read_odd_cells(values, numbers, odd_rows, column or CellColumn())


def _parsed(numbers: FloatArray) -> ParsedCells:
    states = np.where(np.isnan(numbers), MISSING, SCORED).astype(object)
    return ParsedCells(numbers, states, [None] * len(numbers))


def _plain_numbers(values: list[Any]) -> tuple[FloatArray, list[int]]:
    """The cells that are numbers, texts of numbers or None, and the rows of all others."""
    numbers = np.full(len(values), math.nan)
    odd_rows = []
    for row, value in enumerate(values):
        number = plain_number(value) if isinstance(value, str) else None
        if number is not None:
            numbers[row] = number
        # Booleans are left to the slower way, which checks what stands beside them.
        elif type(value) is float or (type(value) is int and abs(value) < _MOST_EXACT):
            numbers[row] = value
        elif value is not None:
            odd_rows.append(row)
    return numbers, odd_rows


def _read_odd_cells(
    values: list[Any], plain: FloatArray, rows: list[int], column: CellColumn
) -> ParsedCells:
    items = [_unwrap(values[row]) for row in rows]
    # A number beside words says as much to them as any number.
    has_text = any(isinstance(values[row], str) for row in np.flatnonzero(~np.isnan(plain)))
    words = _scoring_words([*(item.inner for item in items), *(["0"] if has_text else [])])
    contents = [_classify(item.inner, words) for item in items]
    inner, reals = list(values), plain.copy()
    numerals: list[Numeral | None] = [None] * len(values)
    for row, item, content in zip(rows, items, contents, strict=True):
        inner[row], numerals[row] = item.inner, content.numeral
        if content.word is None:
            reals[row] = content.number
    _add_plain_numerals(numerals, values, reals)
    scaled = read_numerals(inner, numerals, reals, column)
    parsed = _parsed(scaled.numbers)
    numbers, states, reasons = parsed.numbers, parsed.states, parsed.reasons
    fields: list[dict[str, Any] | None] = [None] * len(values)
    unread, scales = [], set()
    for row, item, content in zip(rows, items, contents, strict=True):
        cell = _finish(content, item, float(numbers[row]))
        numbers[row], states[row], reasons[row] = cell.number, cell.state, cell.reason
        fields[row] = item.other_fields or None
        unread += [] if cell.is_read else [row]
        scales |= {cell.scale} if cell.state == SCORED else set()
    _check_words(rows, contents, numbers, inner, column)
    # Only a scale that all cells share is the scale of the metric.
    is_shared = len(scales) == 1 and bool(np.isnan(plain).all())
    return parsed._replace(
        scale=scaled.scale or (scales.pop() if is_shared else None),
        unread=unread,
        words={content.word: words[content.word] for content in contents if content.word},
        notes=scaled.notes,
        refused=[row for row in unread if _is_refused(inner[row])],
        other_fields=fields if any(fields) else [],
        are_shares=scaled.are_shares,
    )


def check_parsed(parsed: ParsedCells, cells: Sequence[object], column: CellColumn) -> None:
    """Refuse dates and lists of numbers in a metric's column.

    Raises
    ------
    DataError
        If there are any; the message shows the first few with their rows.
    """
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


def read_cell(cell: object, words: Mapping[str, float] = WORDS) -> Cell:
    """Read one cell without its column; a comma in it separates thousands if it may.

    Examples
    --------
    >>> read_cell("4 (1-5)").scale, read_cell("no idea").is_read
    ((1.0, 5.0), False)
    """
    item = _unwrap(cell)
    content = _classify(item.inner, words)
    numeral, number = content.numeral, content.number
    if numeral is not None:
        if numeral.is_limit or numeral.is_clock:
            return _unreadable_cell(cell)
        text = numeral.point if numeral.point is not None else numeral.comma
        # By way of Decimal: "14.1" as a float, divided by 100, would be rounded twice.
        is_percent = numeral.kind == "percent"
        number = float(Decimal(text or "nan") / 100) if is_percent else float(text or "nan")
        if numeral.kind == "fraction":
            number /= float(fraction_whole_of(numeral))
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
    if len(text) > _LONGEST_LITERAL:
        return None
    # JSON first; Python's literals, because frameworks write repr(dict) into CSV files.
    for parse in (load_json, ast.literal_eval):
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
    used = (key, reason_key, "error", "min", "max", *_SCALE_KEYS)
    return ScoreObject(
        None if key is None else fields[key],
        None if reason_key is None else texts[reason_key],
        _read_scale(fields),
        bool(error),
        {str(name): value for name, value in fields.items() if name not in used and _has(value)},
        outer,
    )


def _number_key(fields: Mapping[Any, Any]) -> str | None:
    """The key under which an object holds its score; None if it holds none."""
    return next((key for key in _NUMBER_KEYS if key in fields), None)


def _has(value: object) -> bool:
    """Whether a field says anything; the structs of Parquet have every field in every row."""
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def _read_scale(fields: Mapping[Any, Any]) -> ScoreRange | None:
    written = next((fields[key] for key in _SCALE_KEYS if key in fields), None)
    ends = written if isinstance(written, list | tuple) else (fields.get("min"), fields.get("max"))
    if len(ends) != 2 or not all(isinstance(end, Real) for end in ends):
        return None
    low, high = (float(end) for end in ends)
    return (low, high) if low < high else None


# -- one cell


class _Content(NamedTuple):
    """A cell before the scale of its column is known; unread without a state and a numeral."""

    number: float = math.nan
    state: str | None = None
    numeral: Numeral | None = None
    word: str | None = None
    reason: str | None = None
    scale: ScoreRange | None = None


_UNREAD = _Content()


def _classify(cell: object, words: Mapping[str, float]) -> _Content:
    if isinstance(cell, str):
        return _classify_text(cell, words)
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return _Content(state=MISSING)
    if isinstance(cell, timedelta):
        return _Content(numeral=numeral_of_timedelta(cell))
    if not isinstance(cell, Real | Decimal | np.bool_):
        return _UNREAD
    try:
        return _content_of(float(cell))
    except (OverflowError, ValueError):  # an integer too large for a float, a signalling NaN
        return _UNREAD


def _content_of(number: float) -> _Content:
    return _Content(number, MISSING if math.isnan(number) else SCORED)


def _classify_text(text: str, words: Mapping[str, float]) -> _Content:
    # Numbers first, because most cells are numbers.
    number = plain_number(text)
    if number is not None:
        return _content_of(number)
    stripped = text.strip()
    word = next((word for word in (stripped, stripped.lower()) if word in words), None)
    if word is not None:
        return _Content(words[word], SCORED, word=word)
    state = UNSCORED_WORDS.get(stripped.lower())
    if state is not None:
        return _Content(state=state, reason=stripped if state == FAILED else None)
    numeral = parse_numeral(text)
    if numeral is not None:
        return _Content(numeral=numeral) if _is_possible(numeral) else _UNREAD
    step = _ON_A_SCALE.fullmatch(text)
    if step is None:
        return _UNREAD
    number, low, high = (float(part) for part in step.groups())
    is_on_scale = low < high and low <= number <= high
    return _Content(number, SCORED, scale=(low, high)) if is_on_scale else _UNREAD


def _is_possible(numeral: Numeral) -> bool:
    """Whether a fraction is a share: "12/5" is a date or a count."""
    if numeral.kind != "fraction":
        return True
    parts = [float(part) for part in (numeral.point, numeral.comma) if part is not None]
    whole = float(fraction_whole_of(numeral))
    return whole != 0 and any(0 <= part <= whole for part in parts)


def _add_plain_numerals(
    numerals: list[Numeral | None], cells: list[Any], reals: FloatArray
) -> None:
    """Add the numerals of plain texts, if commas in others make the decimal sign a question."""
    is_question = any(
        numeral is not None and (numeral.point is None or numeral.has_two_readings)
        for numeral in numerals
    )
    for row, cell in enumerate(cells if is_question else ()):
        if numerals[row] is None and isinstance(cell, str) and not math.isnan(reals[row]):
            numerals[row] = parse_numeral(cell)
            if numerals[row] is not None:
                reals[row] = math.nan


def _finish(content: _Content, item: ScoreObject, number: float) -> Cell:
    """A cell with its number on the scale of the column."""
    state = content.state
    if content.word is not None:
        number = content.number
    if content.numeral is not None and not math.isnan(number):
        state = SCORED
    if state is None:
        return _unreadable_cell(item.inner if item.outer is None else item.outer)
    if state == MISSING and item.has_error:
        state = FAILED
    return Cell(number, state, item.reason or content.reason, content.scale or item.scale)


def _unreadable_cell(cell: object) -> Cell:
    try:
        text = str(dict(cell)) if isinstance(cell, Mapping) else str(cell)
    except ValueError:  # Python does not write an integer of thousands of digits
        text = f"an integer of {cell.bit_length()} bits" if isinstance(cell, int) else "?"
    reason = text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."
    return Cell(math.nan, FAILED, reason, is_read=False)


def _is_refused(cell: object) -> bool:
    return is_date(cell) or (
        isinstance(cell, list | tuple) and bool(cell) and all(isinstance(x, Real) for x in cell)
    )


# -- words


def _scoring_words(cells: Iterable[object]) -> dict[str, float]:
    """The words that are scores in this column: letters and "failed" depend on the other cells."""
    texts = {cell.strip() for cell in cells if isinstance(cell, str)}
    lowered = {text.lower() for text in texts} - (UNSCORED_WORDS.keys() - _JUDGED)
    words = dict(WORDS)
    if lowered and lowered <= _JUDGED and lowered != {"failed"}:
        # Beside "passed", "failed" is the verdict on an answer; alone it says that the scoring
        # failed.
        words["failed"] = 0.0
    # All of them, because "C" alone can be an answer, a name or a grade.
    if texts and all(text in LETTERS for text in texts if text.lower() not in UNSCORED_WORDS):
        words |= LETTERS
    elif "y" in lowered and lowered <= _YES_OR_NO.keys():
        words |= _YES_OR_NO
    return words


def _check_words(
    rows: list[int],
    contents: list[_Content],
    numbers: FloatArray,
    inner: list[Any],
    column: CellColumn,
) -> None:
    """Refuse words such as "yes", which are 1 and 0, beside numbers on another scale."""
    word_rows = [
        row
        for row, content in zip(rows, contents, strict=True)
        if content.word is not None or isinstance(inner[row], bool | np.bool_)
    ]
    is_other_scale = (numbers < 0) | (numbers > 1)
    if word_rows and is_other_scale.any():
        word, number = word_rows[0], int(np.flatnonzero(is_other_scale)[0])
        raise DataError(
            f"{column.title} holds words beside numbers: {str(inner[word])!r} at "
            f"{column.place(word)} and {str(inner[number])[:40]!r} at "
            f"{column.place(number)}. Write all cells as numbers, or name the columns that are "
            "metrics: metrics=[...]"
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
    contents = [_classify(item.inner, WORDS) for item in items]
    # Also of impossible fractions: "12/5" beside "3/5" shows that both are dates.
    texts = [item.inner for item in items if isinstance(item.inner, str)]
    parsed = [parse_numeral(t) for t in texts if "/" in t or "of" in t or not t.isascii()]
    fractions = [numeral for numeral in parsed if numeral is not None and numeral.whole is not None]
    wholes = {float(fraction_whole_of(numeral)) for numeral in fractions}
    may_be_shares = len(wholes) == 1 and wholes <= _DENOMINATORS
    may_be_commas = any(isinstance(i.inner, str) and _is_surely_decimal(i.inner) for i in items)

    def is_score(value: object, item: ScoreObject, content: _Content) -> bool:
        """Whether a cell may be a score, or says that there is none."""
        if isinstance(value, list | tuple | np.ndarray) or isinstance(item.inner, timedelta):
            return are_durations and isinstance(item.inner, timedelta)
        if isinstance(value, Mapping) and not _is_score_object(value):
            return False
        numeral = content.numeral
        if numeral is None:
            return content.state is not None and content.word not in _AMBIGUOUS_WORDS
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
        elif content.state == SCORED or content.numeral is not None:
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
