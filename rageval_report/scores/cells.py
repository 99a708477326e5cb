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

from rageval_report.errors import MOST_NAMED, DataError
from rageval_report.files.strict_json import load_json
from rageval_report.scores.column_scale import CellColumn, fraction_whole_of, read_numerals
from rageval_report.scores.dates import is_date
from rageval_report.scores.numerals import Numeral, numeral_of_timedelta, parse_numeral
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
    "true": 1.0,
    "false": 0.0,
    "yes": 1.0,
    "no": 0.0,
    "pass": 1.0,
    "passed": 1.0,
    "fail": 0.0,
    "correct": 1.0,
    "incorrect": 0.0,
}
# The letters of Inspect AI: correct, partially correct, incorrect, no answer. Capitals only.
LETTERS: dict[str, float] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_YES_OR_NO = {"y": 1.0, "n": 0.0}
_JUDGED = frozenset(("pass", "passed", "fail", "failed"))
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
    """The content of one cell.

    `number` is NaN if the cell holds no score, and `state` says why; `is_read` is False if the cell
    could not be interpreted. `scale` is the range that was written beside a step of a scale.
    """

    number: float
    state: str = SCORED
    reason: str | None = None
    scale: tuple[float, float] | None = None
    is_read: bool = True


class ParsedCells(NamedTuple):
    """The contents of the cells of one column, in their order.

    Parameters
    ----------
    numbers : ndarray of shape (n,)
        NaN where unscored.
    states : ndarray of str of shape (n,)
    reasons : list of str or None
        Why a score is missing, or the reason that a judge gave for it.
    scale : (float, float) or None
        The range of the scale, if all steps were written with the same range.
    unread : list of int
        The positions of the cells that hold anything else; they count as failed, with their text
        as the reason.
    words : dict of str to float
        The words that were read as scores, with their values.
    notes : list of str
        What was decided about the scale of the column.
    refused : list of int
        The positions of dates and of lists of several numbers, which are unread as well: they show
        that the column holds no scores, or was damaged; see `check_parsed`.
    other_fields : list of dict or None
        The fields of objects beside their number and reason; empty if no cell has any.
    are_shares : bool
        Whether percent or fractions were read as shares of 1.
    """

    numbers: NDArray[np.float64]
    states: NDArray[np.object_]
    reasons: list[str | None]
    scale: tuple[float, float] | None
    unread: list[int]
    words: dict[str, float]
    notes: list[str]
    refused: list[int]
    other_fields: list[dict[str, Any] | None]
    are_shares: bool


def read_cells(cells: Iterable[object], column: CellColumn | None = None) -> ParsedCells:
    """Read the cells of a metric's column, all on one scale.

    Parameters
    ----------
    cells : iterable
        Numbers, texts, booleans, None, objects with a score, or lists of one number.
    column : CellColumn, optional
        The name, the ids and the bounds of the column, for decisions and messages.

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
    plain = _plain_numbers(values)
    # The slow way is for the cells that are not plain numbers, and for their column's scale.
    return (
        _read_odd_cells(values, plain, column or CellColumn()) if plain.odd_rows else plain.parsed()
    )


def _read_odd_cells(values: list[Any], plain: _PlainNumbers, column: CellColumn) -> ParsedCells:
    rows = plain.odd_rows
    items = [_unwrap(values[row]) for row in rows]
    # A number beside words says as much to them as any number.
    words = _scoring_words([*(item.inner for item in items), *(["0"] if plain.has_text else [])])
    parsed = _classify_all(items, words)
    inner_cells = list(values)
    reals = plain.numbers.copy()
    numerals: list[Numeral | None] = [None] * len(values)
    for row, item, cell in zip(rows, items, parsed, strict=True):
        inner_cells[row], numerals[row] = item.inner, cell.numeral
        if cell.word is None:
            reals[row] = cell.number
    _add_plain_numerals(numerals, values, reals)
    scaled = read_numerals(inner_cells, numerals, reals, column)
    finished = [
        _finish(cell, item, number)
        for cell, item, number in zip(parsed, items, scaled.numbers[rows].tolist(), strict=True)
    ]
    whole = _PlainNumbers(scaled.numbers, [], plain.has_text).parsed()
    numbers, states, reasons = whole.numbers, whole.states, whole.reasons
    for row, read in zip(rows, finished, strict=True):
        numbers[row], states[row], reasons[row] = read.number, read.state, read.reason
    _check_words(dict(zip(rows, items, strict=True)), parsed, numbers, inner_cells, column)
    scales = {read.scale for read in finished if read.state == SCORED}
    has_plain = bool((~np.isnan(plain.numbers)).any())
    fields: list[dict[str, Any] | None] = [None] * len(values)
    for row, item in zip(rows, items, strict=True):
        fields[row] = item.other_fields or None
    unread = [row for row, read in zip(rows, finished, strict=True) if not read.is_read]
    return whole._replace(
        # Only a scale that all cells share is the scale of the metric.
        scale=scaled.scale or (scales.pop() if len(scales) == 1 and not has_plain else None),
        unread=unread,
        words={cell.word: words[cell.word] for cell in parsed if cell.word is not None},
        notes=scaled.notes,
        refused=[row for row in unread if _is_refused(inner_cells[row])],
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
    rows = parsed.refused[:MOST_NAMED]
    listed = ", ".join(f"{str(cells[row])[:40]!r} at {column.place(row)}" for row in rows)
    more = len(parsed.refused) - len(rows)
    are_dates = is_date(_unwrap(cells[rows[0]]).inner)
    problem = (
        "is a date. Spreadsheets turn 3/5 into a date: correct these cells"
        if are_dates
        else "is a list. A score is one number: take the mean of each list"
    )
    raise DataError(
        f"{column.title} must hold numbers; {listed}{f' and {more} more' if more > 0 else ''} "
        f"{problem}, or name the columns that are metrics: metrics=[...]"
    )


def read_cell(cell: object, words: Mapping[str, float] = WORDS) -> Cell:
    """Read one cell without its column.

    Parameters
    ----------
    cell : object
        The cell. If it may have a decimal comma or a separator of thousands, it is read with the
        latter, as no other cells can decide.
    words : mapping of str to float
        The words that are scores, in lower case or all capitals.

    Examples
    --------
    >>> read_cell("4 (1-5)").scale, read_cell("no idea").is_read
    ((1.0, 5.0), False)
    """
    item = _unwrap(cell)
    parsed = _classify(item.inner, words)
    number = parsed.number
    if parsed.numeral is not None:
        if parsed.numeral.is_limit or parsed.numeral.is_clock:
            return _unreadable_cell(cell)
        number = _share_or_number(parsed.numeral)
    return _finish(parsed, item, number)


def _share_or_number(numeral: Numeral) -> float:
    text = numeral.point if numeral.point is not None else numeral.comma
    if numeral.kind == "percent":
        # By way of Decimal: "14.1" as a float, divided by 100, would be rounded twice.
        return float(Decimal(text or "nan") / 100)
    number = float(text or "nan")
    return number / float(fraction_whole_of(numeral)) if numeral.kind == "fraction" else number


# -- columns of numbers


class _PlainNumbers(NamedTuple):
    """The numbers of a column, and the rows whose cells are no numbers, or not only numbers."""

    numbers: FloatArray
    odd_rows: list[int]
    has_text: bool

    def parsed(self) -> ParsedCells:
        """The column, if no row is odd."""
        states = np.where(np.isnan(self.numbers), MISSING, SCORED).astype(object)
        reasons: list[str | None] = [None] * len(self.numbers)
        return ParsedCells(self.numbers, states, reasons, None, [], {}, [], [], [], False)


def _plain_numbers(values: list[Any]) -> _PlainNumbers:
    """The cells that are numbers, texts of numbers or None; NaN in the rows of all others."""
    numbers = np.full(len(values), math.nan)
    odd_rows = []
    has_text = False
    for row, value in enumerate(values):
        if isinstance(value, str):
            number = plain_number(value)
            if number is None:
                odd_rows.append(row)
            else:
                numbers[row] = number
                has_text = has_text or number == number
        # Booleans are left to the slower way, which checks what stands beside them.
        elif type(value) is float or (type(value) is int and abs(value) < _MOST_EXACT):
            numbers[row] = value
        elif value is not None:
            odd_rows.append(row)
    return _PlainNumbers(numbers, odd_rows, has_text)


def plain_number(text: str) -> float | None:
    """The number that a text spells, as Python reads it but without underscores; else None.

    An integer that no float holds is None as well. Newer versions of pandas read it from a CSV
    file as an integer, older ones as a text, and both are the same cell.

    Examples
    --------
    >>> plain_number(" 0.5 "), plain_number("1_000"), plain_number("1,5")
    (0.5, None, None)
    >>> plain_number("1e400"), plain_number("1" + 400 * "0")
    (inf, None)
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
    """The cell within a cell: the score of an object or of a list, with what stands beside it.

    Parameters
    ----------
    inner : object
        The score as it is written.
    reason : str or None
        The first text under a key such as "reason" or "explanation".
    scale : (float, float) or None
        The range of the scale, if the object has it.
    has_error : bool
        Whether the object has an error.
    other_fields : dict
        All other fields that say anything.
    outer : object
        The whole cell, for messages; None if it has no other cell within.
    """

    inner: object
    reason: str | None = None
    scale: tuple[float, float] | None = None
    has_error: bool = False
    other_fields: dict[str, Any] = {}  # noqa: RUF012  # never changed
    outer: object = None


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
    >>> split_object({"error": "timeout"}).has_error, split_object({"text": "?"})
    (True, None)
    """
    item = _unwrap_object(fields, fields)
    return None if item.inner is fields else item


def _unwrap_object(fields: Mapping[Any, Any], outer: object) -> ScoreObject:
    error = fields.get("error")
    key = number_key(fields)
    if key is None and not (isinstance(error, str) and error.strip()):
        return ScoreObject(outer)
    if key is not None and isinstance(fields[key], Mapping):
        return ScoreObject(outer)
    reason_key = next((key for key in _REASON_KEYS if _is_filled(fields.get(key))), None)
    used = (key, reason_key, "error", "min", "max", *_SCALE_KEYS)
    return ScoreObject(
        None if key is None else fields[key],
        None if reason_key is None else fields[reason_key],
        _read_scale(fields),
        bool(error),
        {str(name): value for name, value in fields.items() if name not in used and _has(value)},
        outer,
    )


def number_key(fields: Mapping[Any, Any]) -> str | None:
    """The key under which an object holds its score; None if it holds none.

    Examples
    --------
    >>> number_key({"score": 0.5, "passed": True}), number_key({"passed": True}), number_key({})
    ('score', 'passed', None)
    """
    return next((key for key in _NUMBER_KEYS if key in fields), None)


def _is_filled(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _has(value: object) -> bool:
    """Whether a field says anything; the structs of Parquet have every field in every row."""
    return value is not None and not (isinstance(value, float) and math.isnan(value))


def _read_scale(fields: Mapping[Any, Any]) -> tuple[float, float] | None:
    written = next((fields[key] for key in _SCALE_KEYS if key in fields), None)
    ends = written if isinstance(written, list | tuple) else (fields.get("min"), fields.get("max"))
    if len(ends) != 2 or not all(isinstance(end, Real) for end in ends):
        return None
    low, high = (float(end) for end in ends)
    return (low, high) if low < high else None


# -- one cell


class _Classified(NamedTuple):
    """A cell before the scale of its column is known; unread without a state and a numeral."""

    number: float = math.nan
    state: str | None = None
    numeral: Numeral | None = None
    word: str | None = None
    reason: str | None = None
    scale: tuple[float, float] | None = None


_UNREAD = _Classified()
_BLANK = _Classified(state=MISSING)


def _classify(cell: object, words: Mapping[str, float]) -> _Classified:
    if isinstance(cell, str):
        return _classify_text(cell, words)
    if cell is None or type(cell).__name__ in ("NAType", "NaTType"):
        return _BLANK
    if isinstance(cell, timedelta):
        return _Classified(numeral=numeral_of_timedelta(cell))
    if not isinstance(cell, Real | Decimal | np.bool_):
        return _UNREAD
    try:
        return _classified_number(float(cell))
    except (OverflowError, ValueError):  # an integer too large for a float, a signalling NaN
        return _UNREAD


def _classified_number(number: float) -> _Classified:
    return _Classified(number, MISSING if math.isnan(number) else SCORED)


def _classify_text(text: str, words: Mapping[str, float]) -> _Classified:
    # Numbers first, because most cells are numbers.
    number = plain_number(text)
    if number is not None:
        return _classified_number(number)
    word = _find_word(text, words)
    if word is not None:
        return _Classified(words[word], SCORED, word=word)
    state = UNSCORED_WORDS.get(text.strip().lower())
    if state is not None:
        return _Classified(state=state, reason=text.strip() if state == FAILED else None)
    numeral = parse_numeral(text)
    if numeral is not None:
        return _Classified(numeral=numeral) if _is_possible(numeral) else _UNREAD
    return _classify_step(text)


def _is_possible(numeral: Numeral) -> bool:
    """Whether a fraction is a share: "12/5" is a date or a count."""
    if numeral.kind != "fraction":
        return True
    parts = zip((numeral.point, numeral.comma), numeral.whole, strict=True)
    return any(
        part is not None and whole is not None and 0 <= float(part) <= float(whole) != 0
        for part, whole in parts
    )


def _classify_step(text: str) -> _Classified:
    step = _ON_A_SCALE.fullmatch(text)
    if step is None:
        return _UNREAD
    number, low, high = (float(part) for part in step.groups())
    is_on_scale = low < high and low <= number <= high
    return _Classified(number, SCORED, scale=(low, high)) if is_on_scale else _UNREAD


def _classify_all(items: list[ScoreObject], words: Mapping[str, float]) -> list[_Classified]:
    """The cells of a column; a text that repeats is read once."""
    seen: dict[str, _Classified] = {}
    parsed = []
    for item in items:
        cell = item.inner
        if not isinstance(cell, str):
            parsed.append(_classify(cell, words))
            continue
        if cell not in seen:
            seen[cell] = _classify(cell, words)
        parsed.append(seen[cell])
    return parsed


def _add_plain_numerals(
    numerals: list[Numeral | None], cells: list[Any], reals: FloatArray
) -> None:
    """Add the numerals of plain texts, if commas in others make the decimal sign a question."""
    if not any(
        numeral is not None and (numeral.point is None or numeral.has_two_readings)
        for numeral in numerals
    ):
        return
    for row, cell in enumerate(cells):
        if numerals[row] is None and isinstance(cell, str) and not math.isnan(reals[row]):
            numerals[row] = parse_numeral(cell)
            if numerals[row] is not None:
                reals[row] = math.nan


def _finish(cell: _Classified, item: ScoreObject, number: float) -> Cell:
    """A cell with its number on the scale of the column."""
    if cell.word is not None:
        number = cell.number
    state = cell.state
    if cell.numeral is not None and not math.isnan(number):
        state = SCORED
    if state is None:
        return _unreadable_cell(item.inner if item.outer is None else item.outer)
    if state == MISSING and item.has_error:
        state = FAILED
    return Cell(number, state, item.reason or cell.reason, cell.scale or item.scale)


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
    lowered = {text.lower() for text in texts} - {
        word for word, state in UNSCORED_WORDS.items() if word not in _JUDGED
    }
    words = dict(WORDS)
    if lowered and lowered <= _JUDGED and lowered & {"pass", "passed", "fail"}:
        # Beside "passed", "failed" is the verdict on an answer; alone it says that the scoring
        # failed.
        words["failed"] = 0.0
    # All of them, because "C" alone can be an answer, a name or a grade.
    if texts and all(text in LETTERS for text in texts if text.lower() not in UNSCORED_WORDS):
        words |= LETTERS
    elif "y" in lowered and lowered <= _YES_OR_NO.keys():
        words |= _YES_OR_NO
    return words


def _find_word(text: str, words: Mapping[str, float]) -> str | None:
    stripped = text.strip()
    if stripped in words:
        return stripped
    lowered = stripped.lower()
    return lowered if lowered in words else None


def _check_words(
    items: Mapping[int, ScoreObject],
    parsed: list[_Classified],
    numbers: FloatArray,
    inner_cells: list[Any],
    column: CellColumn,
) -> None:
    """Refuse words such as "yes", which are 1 and 0, beside numbers on another scale."""
    word_rows = [
        row
        for (row, item), cell in zip(items.items(), parsed, strict=True)
        if cell.word is not None or isinstance(item.inner, bool | np.bool_)
    ]
    is_other_scale = (numbers < 0) | (numbers > 1)
    if word_rows and is_other_scale.any():
        word, number = word_rows[0], int(np.flatnonzero(is_other_scale)[0])
        raise DataError(
            f"{column.title} holds words beside numbers: {str(inner_cells[word])!r} at "
            f"{column.place(word)} and {str(inner_cells[number])[:40]!r} at "
            f"{column.place(number)}. Write all cells as numbers, or name the columns that are "
            "metrics: metrics=[...]"
        )


# -- guesses


def count_numbers(cells: Iterable[object]) -> tuple[int, int]:
    """The number of cells that hold scores, and of those that hold neither that nor "unscored".

    Parameters
    ----------
    cells : iterable
        The cells of a column of which nobody said that it is a metric; so "yes", dates, and lists
        of numbers such as "1,2" are not taken as scores.

    Examples
    --------
    >>> count_numbers(["0.5", "n/a", "83 %", "why?"]), count_numbers(["1,2", "3,4"])
    ((2, 1), (0, 2))
    """
    values = list(cells)
    items = [_unwrap(value) for value in values]
    wholes = {fraction_whole(item.inner) for item in items if isinstance(item.inner, str)} - {None}
    may_be_shares = len(wholes) == 1 and wholes <= _DENOMINATORS
    may_be_commas = any(
        isinstance(item.inner, str) and _is_surely_decimal(item.inner) for item in items
    )
    n_numbers = n_texts = 0
    for value, item in zip(values, items, strict=True):
        cell = _classify(item.inner, WORDS)
        if not _is_score(value, item, cell, may_be_shares, may_be_commas):
            n_texts += 1
        elif cell.state == SCORED or cell.numeral is not None:
            n_numbers += 1
    return n_numbers, n_texts


def _is_score(
    value: object, item: ScoreObject, cell: _Classified, may_be_shares: bool, may_be_commas: bool
) -> bool:
    """Whether a cell may be a score, or says that there is none."""
    if isinstance(value, list | tuple | np.ndarray) or isinstance(item.inner, timedelta):
        return False
    if isinstance(value, Mapping) and not _is_score_object(value):
        return False
    numeral = cell.numeral
    if numeral is None:
        return cell.state is not None and cell.word not in _AMBIGUOUS_WORDS
    if numeral.kind == "fraction" or numeral.is_clock or numeral.is_limit:
        return numeral.kind == "fraction" and may_be_shares
    # "1,2" may be two of the retrieved documents.
    return numeral.point is not None or may_be_commas


def _is_score_object(fields: Mapping[Any, Any]) -> bool:
    """Whether an object is a score, and not any object with a value."""
    return number_key(fields) != "value" or any(key in fields for key in _REASON_KEYS)


def _is_surely_decimal(text: str) -> bool:
    """Whether a text with a comma is a number, and not a list of two: "0,5", "1,05", "1.234,5"."""
    numeral = parse_numeral(text)
    if numeral is None or numeral.point is not None or numeral.comma is None:
        return False
    whole, _, decimals = text.strip().lstrip("+-").partition(",")
    return whole in ("", "0") or "." in whole or decimals[:1] == "0" or numeral.kind != "number"


def is_single_number(cell: object) -> bool:
    """Whether a cell is a list of one number.

    Examples
    --------
    >>> is_single_number([0.5]), is_single_number([0.5, 1.0]), is_single_number(0.5)
    (True, False, False)
    """
    return isinstance(cell, list | tuple | np.ndarray) and not isinstance(
        _unwrap(cell).inner, list | tuple
    )


def fraction_whole(text: str) -> float | None:
    """The denominator of a text such as "4/5"; None for any other text.

    Examples
    --------
    >>> fraction_whole("4/5"), fraction_whole("4 out of 5"), fraction_whole("0.8")
    (5.0, 5.0, None)
    """
    if "/" not in text and "of" not in text and text.isascii():
        return None
    numeral = parse_numeral(text)
    if numeral is None or numeral.kind != "fraction":
        return None
    return float(fraction_whole_of(numeral))
