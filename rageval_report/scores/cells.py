"""Reads the cells of a metric: a number, a reason why there is none, or text that is neither.

Frameworks write scores as numbers, shares ("83 %", "4/5"), words ("pass", "C"), steps of a scale
with its range ("4 (1-5)"), or objects that hold a reason beside the number.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rageval_report.scores.states import FAILED, MISSING, NOT_APPLICABLE, SCORED

# How frameworks write that a query is unscored, and the state that each of these words means.
UNSCORED_WORDS: dict[str, str] = {
    **dict.fromkeys(("", "-", "nan", "none", "null"), MISSING),
    **dict.fromkeys(("(failed)", "error", "failed"), FAILED),
    **dict.fromkeys(("n/a", "na"), NOT_APPLICABLE),
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
_JUDGED = frozenset(("pass", "passed", "fail", "failed"))

_PERCENT = re.compile(r"\s*([-+]?\d+(?:\.\d+)?)\s*%\s*")
_FRACTION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)\s*")
_ON_A_SCALE = re.compile(
    r"\s*(-?\d+(?:\.\d+)?)\s*[(\[]\s*(-?\d+(?:\.\d+)?)\s*(?:-|–|to|\.\.)\s*(-?\d+(?:\.\d+)?)\s*[)\]]\s*"
)

# The keys under which an object holds the number, the reason, and the range of its scale.
_NUMBER_KEYS = ("score", "value")
_REASON_KEYS = ("reason", "explanation", "rationale", "feedback", "justification", "error")
_SCALE_KEYS = ("range", "scale", "bounds")

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
    """

    numbers: NDArray[np.float64]
    states: NDArray[np.object_]
    reasons: list[str | None]
    scale: tuple[float, float] | None
    unread: list[int]
    words: dict[str, float]


def read_cells(cells: Iterable[object]) -> ParsedCells:
    """Read the cells of a metric's column.

    Parameters
    ----------
    cells : iterable
        Numbers, texts, booleans, None, or objects with a score.

    Examples
    --------
    >>> parsed = read_cells([0.5, "83 %", "4/5", "(Failed)", {"score": 1, "reason": "complete"}])
    >>> parsed.numbers.tolist(), parsed.states[3], parsed.reasons[4]
    ([0.5, 0.83, 0.8, nan, 1.0], 'failed', 'complete')
    """
    values = list(cells)
    words = _scoring_words(values)
    parsed = [read_cell(value, words) for value in values]
    scales = {cell.scale for cell in parsed if cell.state == SCORED}
    used_words = {
        word: words[word]
        for value in values
        if isinstance(value, str) and (word := _find_word(value, words)) is not None
    }
    return ParsedCells(
        np.array([cell.number for cell in parsed], dtype=np.float64),
        np.array([cell.state for cell in parsed], dtype=object),
        [cell.reason for cell in parsed],
        # Only a scale that all cells share is the scale of the metric.
        scales.pop() if len(scales) == 1 else None,
        [position for position, cell in enumerate(parsed) if not cell.is_read],
        used_words,
    )


def read_cell(cell: object, words: Mapping[str, float] = WORDS) -> Cell:
    """Read one cell.

    Parameters
    ----------
    cell : object
        The cell.
    words : mapping of str to float
        The words that are scores, in lower case or all capitals.

    Examples
    --------
    >>> read_cell("4 (1-5)").scale, read_cell("no idea").is_read
    ((1.0, 5.0), False)
    """
    if isinstance(cell, str):
        return _read_text(cell, words)
    if cell is None:
        return Cell(math.nan, MISSING)
    if isinstance(cell, Real | Decimal | np.bool_):
        return _read_real(cell)
    if isinstance(cell, Mapping):
        return _read_object(cell, words)
    if type(cell).__name__ in ("NAType", "NaTType"):
        return Cell(math.nan, MISSING)
    return _unreadable_cell(cell)


def _read_real(cell: Real | Decimal | np.bool_) -> Cell:
    try:
        return _number_cell(float(cell))
    except (OverflowError, ValueError):  # an integer too large for a float, a signalling NaN
        return _unreadable_cell(cell)


def _number_cell(number: float) -> Cell:
    return Cell(number, MISSING if math.isnan(number) else SCORED)


def _read_text(text: str, words: Mapping[str, float]) -> Cell:
    # Numbers first, because most cells are numbers.
    number = plain_number(text)
    if number is not None:
        return _number_cell(number)
    word = _find_word(text, words)
    if word is not None:
        return Cell(words[word])
    state = UNSCORED_WORDS.get(text.strip().lower())
    if state is not None:
        return Cell(math.nan, state, text.strip() if state == FAILED else None)
    return (
        _read_share(text)
        or _read_step(text)
        or _read_written_object(text, words)
        or _unreadable_cell(text)
    )


def plain_number(text: str) -> float | None:
    """The number that a text spells, as Python reads it but without underscores; else None.

    Examples
    --------
    >>> plain_number(" 0.5 "), plain_number("1_000"), plain_number("1,5")
    (0.5, None, None)
    """
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def fraction_whole(text: str) -> float | None:
    """The denominator of a text such as "4/5"; None for any other text.

    Examples
    --------
    >>> fraction_whole("4/5"), fraction_whole("0.8")
    (5.0, None)
    """
    fraction = _FRACTION.fullmatch(text)
    return None if fraction is None else float(fraction[2])


def _read_share(text: str) -> Cell | None:
    percent = _PERCENT.fullmatch(text)
    if percent is not None:
        # By way of Decimal: "14.1" as a float, divided by 100, would be rounded twice.
        return Cell(float(Decimal(percent[1]) / 100))
    fraction = _FRACTION.fullmatch(text)
    if fraction is None:
        return None
    part, whole = float(fraction[1]), float(fraction[2])
    # "12/5" is a date or a count, not a share.
    return Cell(part / whole) if whole > 0 and part <= whole else None


def _read_step(text: str) -> Cell | None:
    step = _ON_A_SCALE.fullmatch(text)
    if step is None:
        return None
    number, low, high = (float(part) for part in step.groups())
    return Cell(number, scale=(low, high)) if low < high and low <= number <= high else None


def _read_written_object(text: str, words: Mapping[str, float]) -> Cell | None:
    """Read an object with a score that was written as JSON or as a Python literal."""
    if not text.lstrip().startswith("{") or len(text) > _LONGEST_LITERAL:
        return None
    # JSON first; Python's literals, because frameworks write repr(dict) into CSV files.
    for parse in (json.loads, ast.literal_eval):
        try:
            value = parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(value, Mapping):
            cell = _read_object(value, words)
            return cell if cell.is_read else None
    return None


def _read_object(fields: Mapping[Any, Any], words: Mapping[str, float]) -> Cell:
    key = next((key for key in _NUMBER_KEYS if key in fields), None)
    if key is None or isinstance(fields[key], Mapping):
        return _unreadable_cell(dict(fields))
    cell = read_cell(fields[key], words)
    if not cell.is_read:
        return _unreadable_cell(dict(fields))
    reasons = (fields.get(key) for key in _REASON_KEYS)
    texts = (reason for reason in reasons if isinstance(reason, str) and reason.strip())
    is_failed = cell.state == MISSING and bool(fields.get("error"))
    return cell._replace(
        state=FAILED if is_failed else cell.state,
        reason=next(texts, cell.reason),
        scale=cell.scale or _read_scale(fields),
    )


def _read_scale(fields: Mapping[Any, Any]) -> tuple[float, float] | None:
    written = next((fields[key] for key in _SCALE_KEYS if key in fields), None)
    ends = written if isinstance(written, list | tuple) else (fields.get("min"), fields.get("max"))
    if len(ends) != 2 or not all(isinstance(end, Real) for end in ends):
        return None
    low, high = (float(end) for end in ends)
    return (low, high) if low < high else None


def _unreadable_cell(cell: object) -> Cell:
    try:
        text = str(cell)
    except ValueError:  # Python does not write an integer of thousands of digits
        text = f"an integer of {cell.bit_length()} bits" if isinstance(cell, int) else "?"
    reason = text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."
    return Cell(math.nan, FAILED, reason, is_read=False)


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
    return words


def _find_word(text: str, words: Mapping[str, float]) -> str | None:
    stripped = text.strip()
    if stripped in words:
        return stripped
    lowered = stripped.lower()
    return lowered if lowered in words else None
