"""What one cell of a metric says: a number, why there is none, or words that are neither.

Frameworks write scores as numbers, shares ("83 %", "4/5"), words ("pass", "C"), steps of a scale
with its range ("4 (1-5)"), or objects with a reason beside the number.
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

# How frameworks write that there is no score, and which of the states that is.
UNSCORED_WORDS: dict[str, str] = {
    **dict.fromkeys(("", "-", "nan", "none", "null"), MISSING),
    **dict.fromkeys(("(failed)", "error", "failed"), FAILED),
    **dict.fromkeys(("n/a", "na"), NOT_APPLICABLE),
}

# The visible table of words that are scores; "failed" is one beside "passed", else it is none.
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
# Inspect's letters: correct, partially correct, incorrect, no answer. Capitals only.
LETTERS: dict[str, float] = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
_JUDGED = frozenset(("pass", "passed", "fail", "failed"))

_PERCENT = re.compile(r"\s*([-+]?\d+(?:\.\d+)?)\s*%\s*")
_FRACTION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)\s*")
_ON_A_SCALE = re.compile(
    r"\s*(-?\d+(?:\.\d+)?)\s*[(\[]\s*(-?\d+(?:\.\d+)?)\s*(?:-|–|to|\.\.)\s*(-?\d+(?:\.\d+)?)\s*[)\]]\s*"
)

# Under which keys an object holds the number, the reason, and the range of its scale.
_NUMBER_KEYS = ("score", "value")
_REASON_KEYS = ("reason", "explanation", "rationale", "feedback", "justification", "error")
_SCALE_KEYS = ("range", "scale", "bounds")

_LONGEST_LITERAL = 100_000
_LONGEST_REASON = 500


class Cell(NamedTuple):
    """What a cell says.

    `number` is NaN where it says no score, and then `state` why; `is_read` is whether it was
    understood at all. `scale` is the range of a step that was written with it.
    """

    number: float
    state: str = SCORED
    reason: str | None = None
    scale: tuple[float, float] | None = None
    is_read: bool = True


class Cells(NamedTuple):
    """What the cells of a column say, each part in their order.

    Parameters
    ----------
    numbers : ndarray of shape (n,)
        NaN where unscored.
    states : ndarray of str of shape (n,)
    reasons : list of str or None
        Why a score is missing, or what a judge said of it.
    scale : (float, float) or None
        The range of the scale, where all steps were written with the same one.
    unread : list of int
        The places of the cells that hold anything else; they are failed, their text the reason.
    words : dict of str to float
        The words that were read as scores.
    """

    numbers: NDArray[np.float64]
    states: NDArray[np.object_]
    reasons: list[str | None]
    scale: tuple[float, float] | None
    unread: list[int]
    words: dict[str, float]


def read_cells(cells: Iterable[object]) -> Cells:
    """Read the cells of a metric.

    Parameters
    ----------
    cells : iterable
        Numbers, texts, booleans, None, objects with a score.

    Examples
    --------
    >>> read = read_cells([0.5, "83 %", "4/5", "(Failed)", {"score": 1, "reason": "all there"}])
    >>> read.numbers.tolist(), read.states[3], read.reasons[4]
    ([0.5, 0.83, 0.8, nan, 1.0], 'failed', 'all there')
    """
    given = list(cells)
    words = _words_of(given)
    read = [read_cell(cell, words) for cell in given]
    scales = {cell.scale for cell in read if cell.state == SCORED}
    used = {
        word: words[word]
        for cell in given
        if isinstance(cell, str) and (word := _word(cell, words)) is not None
    }
    return Cells(
        np.array([cell.number for cell in read], dtype=np.float64),
        np.array([cell.state for cell in read], dtype=object),
        [cell.reason for cell in read],
        scales.pop() if len(scales) == 1 else None,
        [place for place, cell in enumerate(read) if not cell.is_read],
        used,
    )


def read_cell(cell: object, words: Mapping[str, float] = WORDS) -> Cell:
    """Read one cell.

    Parameters
    ----------
    cell : object
        The cell.
    words : mapping of str to float
        The words that are scores, in lower case or capitals only.

    Examples
    --------
    >>> read_cell("4 (1-5)").scale, read_cell("no idea").is_read
    ((1.0, 5.0), False)
    """
    if isinstance(cell, str):
        return _of_text(cell, words)
    if cell is None:
        return Cell(math.nan, MISSING)
    if isinstance(cell, Real | Decimal | np.bool_):
        return _of_real(cell)
    if isinstance(cell, Mapping):
        return _of_object(cell, words)
    if type(cell).__name__ in ("NAType", "NaTType"):
        return Cell(math.nan, MISSING)
    return _unread(cell)


def _of_real(cell: Real | Decimal | np.bool_) -> Cell:
    try:
        return _of_number(float(cell))
    except (OverflowError, ValueError):  # a whole number beyond all floats, a signalling NaN
        return _unread(cell)


def _of_number(number: float) -> Cell:
    return Cell(number, MISSING if math.isnan(number) else SCORED)


def _of_text(text: str, words: Mapping[str, float]) -> Cell:
    plain = plain_number(text)
    if plain is not None:
        return _of_number(plain)
    known = _word(text, words)
    if known is not None:
        return Cell(words[known])
    state = UNSCORED_WORDS.get(text.strip().lower())
    if state is not None:
        return Cell(math.nan, state, text.strip() if state == FAILED else None)
    return _share(text) or _step(text) or _written_object(text, words) or _unread(text)


def plain_number(text: str) -> float | None:
    """The number that a text is; Python's own reading without its underscores.

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
    """Of how many parts a text like "4/5" is; None for any other.

    Examples
    --------
    >>> fraction_whole("4/5"), fraction_whole("0.8")
    (5.0, None)
    """
    fraction = _FRACTION.fullmatch(text)
    return None if fraction is None else float(fraction[2])


def _share(text: str) -> Cell | None:
    percent = _PERCENT.fullmatch(text)
    if percent is not None:
        return Cell(float(Decimal(percent[1]) / 100))
    fraction = _FRACTION.fullmatch(text)
    if fraction is None:
        return None
    part, whole = float(fraction[1]), float(fraction[2])
    return Cell(part / whole) if whole > 0 and part <= whole else None


def _step(text: str) -> Cell | None:
    step = _ON_A_SCALE.fullmatch(text)
    if step is None:
        return None
    number, low, high = (float(part) for part in step.groups())
    return Cell(number, scale=(low, high)) if low < high and low <= number <= high else None


def _written_object(text: str, words: Mapping[str, float]) -> Cell | None:
    """An object with a score that a framework wrote as JSON or as a Python literal."""
    if not text.lstrip().startswith("{") or len(text) > _LONGEST_LITERAL:
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            found = parse(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        if isinstance(found, Mapping):
            cell = _of_object(found, words)
            return cell if cell.is_read else None
    return None


def _of_object(found: Mapping[Any, Any], words: Mapping[str, float]) -> Cell:
    key = next((key for key in _NUMBER_KEYS if key in found), None)
    if key is None or isinstance(found[key], Mapping):
        return _unread(dict(found))
    cell = read_cell(found[key], words)
    if not cell.is_read:
        return _unread(dict(found))
    reasons = (found.get(key) for key in _REASON_KEYS)
    reason = next((one for one in reasons if isinstance(one, str) and one.strip()), cell.reason)
    is_failed = cell.state == MISSING and bool(found.get("error"))
    state = FAILED if is_failed else cell.state
    return cell._replace(state=state, reason=reason, scale=cell.scale or _scale_in(found))


def _scale_in(found: Mapping[Any, Any]) -> tuple[float, float] | None:
    given = next((found[key] for key in _SCALE_KEYS if key in found), None)
    pair = given if isinstance(given, list | tuple) else (found.get("min"), found.get("max"))
    if len(pair) != 2 or not all(isinstance(end, Real) for end in pair):
        return None
    low, high = (float(end) for end in pair)
    return (low, high) if low < high else None


def _unread(cell: object) -> Cell:
    try:
        text = str(cell)
    except ValueError:  # Python writes out no whole number of thousands of digits
        text = f"a whole number of {cell.bit_length()} bits" if isinstance(cell, int) else "?"
    told = text if len(text) <= _LONGEST_REASON else text[: _LONGEST_REASON - 3] + "..."
    return Cell(math.nan, FAILED, told, is_read=False)


# -- words


def _words_of(cells: Iterable[object]) -> dict[str, float]:
    """The words that are scores in this column: letters and "failed" depend on their company."""
    texts = {cell.strip() for cell in cells if isinstance(cell, str)}
    spoken = {text.lower() for text in texts} - {
        word for word, state in UNSCORED_WORDS.items() if word not in _JUDGED
    }
    found = dict(WORDS)
    if spoken and spoken <= _JUDGED and spoken & {"pass", "passed", "fail"}:
        found["failed"] = 0.0
    if texts and all(text in LETTERS for text in texts if text.lower() not in UNSCORED_WORDS):
        found |= LETTERS
    return found


def _word(text: str, words: Mapping[str, float]) -> str | None:
    stripped = text.strip()
    if stripped in words:
        return stripped
    lowered = stripped.lower()
    return lowered if lowered in words else None
