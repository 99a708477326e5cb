"""Recognises dates and times, which are never scores: as texts, as objects and as numbers."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

import numpy as np
import pandas as pd

from rageval_report.scores.extremes import extremes_of
from rageval_report.types import FloatArray

_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?:\s*[AaPp][Mm])?"
_ZONE = r"(?:\s*(?:Z|UTC|GMT|[-+]\d{2}:?\d{2}))?"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|sept|oct|nov|dec)[a-z]*\.?"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?\.?"
_DATE = (
    r"\d{4}-\d{1,2}(?:-\d{1,2})?|\d{4}[/.]\d{1,2}[/.]\d{1,2}|\d{1,2}([/.-])\d{1,2}\1\d{2}(?:\d{2})?"
    # "5 March 2025", "05-Mar-25", "Mar-25" and "March 5, 2025".
    rf"|{_DAY}[\s-]*{_MONTH}(?:[\s,-]*\d{{2,4}})?|{_MONTH}[\s-]*{_DAY}(?:[\s,]+\d{{4}})?"
    rf"|{_MONTH}[\s-]*\d{{2,4}}"
)
_DATE_TEXT = re.compile(
    rf"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?(?:{_DATE})(?:(?:\s*,?\s+|T){_TIME}{_ZONE})?",
    re.IGNORECASE,
)
_TIME_TEXT = re.compile(rf"{_TIME}{_ZONE}")

# Numbers that count seconds, and their thousandths, since 1970, from 2000 to 2100.
_FIRST, _LAST = 946_684_800, 4_102_444_800
_TICKS = (1, 1_000, 1_000_000, 1_000_000_000)
# Days since 1900 in a spreadsheet, from 2000 to 2100: too small to be known without the name.
_FIRST_DAY, _LAST_DAY = 36_526, 73_050
_SAMPLE = 64
_SPREADSHEET_ZERO = datetime(1899, 12, 30, tzinfo=UTC)
_DATE_NAMES = frozenset(
    "at created date datetime day ended finished modified started timestamp updated".split()
)
# Words that say that a large number counts something else.
_COUNTS = frozenset("bytes cost duration elapsed latency price tokens".split())


def is_date(cell: object) -> bool:
    """Whether a cell is a date or a time of day, as an object or as a text.

    Examples
    --------
    >>> is_date("2025-11-03T10:00:00Z"), is_date("12/03/2025"), is_date("3/5"), is_date("0.5")
    (True, True, False, False)
    """
    if isinstance(cell, str):
        # Most cells are numbers; a date has a separator, a number of this length has none of them.
        text = cell.strip()
        return 4 <= len(text) <= 40 and (
            _DATE_TEXT.fullmatch(text) is not None or _TIME_TEXT.fullmatch(text) is not None
        )
    return isinstance(cell, date | time | np.datetime64 | pd.Period) and not _is_blank(cell)


def _is_blank(cell: object) -> bool:
    # NaT is an object of several types of dates.
    return cell is pd.NaT or (isinstance(cell, np.datetime64) and bool(np.isnat(cell)))


def date_in_numbers(name: str, numbers: FloatArray) -> str | None:
    """The first date, as text, if a column of numbers counts seconds or days, or spells dates.

    Parameters
    ----------
    name : str
        The name of the column: numbers of days are dates only if the name says so.
    numbers : ndarray of shape (n,)
        NaN where blank.

    Examples
    --------
    >>> date_in_numbers("created", np.array([1762190000.0, np.nan]))
    '2025-11-03'
    >>> date_in_numbers("score", np.array([45964.0])) is None
    True
    """
    words = set(re.findall(r"[a-z]+", name.lower()))
    if not len(numbers) or words & _COUNTS:
        return None
    # Nearly every column of scores shows by a few cells that not all of them are so large.
    if bool((numbers[:_SAMPLE] < _FIRST_DAY).any()):
        return None
    low, high = extremes_of(numbers)
    if not (low >= _FIRST_DAY and high < np.inf):  # also without any number
        return None
    first = float(numbers[~np.isnan(numbers)][0])
    for tick in _TICKS:
        if low >= _FIRST * tick and high < _LAST * tick:
            return datetime.fromtimestamp(first / tick, UTC).date().isoformat()
    if _spell_dates(numbers, low, high):
        return pd.Timestamp(f"{first:.0f}").date().isoformat()
    if words & _DATE_NAMES and low >= _FIRST_DAY and high < _LAST_DAY:
        return (_SPREADSHEET_ZERO + timedelta(days=first)).date().isoformat()
    return None


def _spell_dates(numbers: FloatArray, low: float, high: float) -> bool:
    """Whether all numbers are dates written without separators, such as 20251103."""
    if not (low >= 19_000_101 and high < 21_000_000):
        return False
    present = numbers[~np.isnan(numbers)]
    days, months = present % 100, present // 100 % 100
    is_day = (days >= 1) & (days <= 31) & (months >= 1) & (months <= 12)
    return bool((is_day & (present == np.floor(present))).all())
