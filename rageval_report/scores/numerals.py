"""Numbers as people and spreadsheets write them: "1,234.5", "0,83", "85 %", "4/5", "12 ms", "$3".

One text is often not enough to know the number: "1,234" may be a little over one, or more than a
thousand. `parse_numeral` therefore keeps both readings, and `rageval_report.scores.column_scale`
chooses one for the whole column. Dates and times of day, which are never scores, are recognised
here too.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from rageval_report.scores.metric import extremes_of
from rageval_report.types import FloatArray

NumeralKind = Literal["number", "percent", "fraction", "time", "money", "stars"]

# Characters that other keyboards and fonts write for the ASCII ones; the Arabic decimal sign and
# separator of thousands mean what a point and a comma mean here.
_ALIKE = str.maketrans(
    {
        **dict.fromkeys("\u2212\u2012\u2013\ufe63\uff0d\u207b", "-"),
        **dict.fromkeys("\uff0b\ufe62", "+"),
        **dict.fromkeys("\uff0e\u066b", "."),
        **dict.fromkeys("\uff0c\u066c", ","),
        **dict.fromkeys("\uff05\ufe6a\u066a", "%"),
        **dict.fromkeys("\uff0f\u2044\u2215", "/"),
        **dict.fromkeys("\u2019\u2018\u02bc\u00b4`\uff07", "'"),
        **dict.fromkeys("\u00a0\u202f\u2007\u2009\u200a\u3000", " "),
        **dict.fromkeys("\u200b\ufeff\u200e\u200f\u2060"),
        "\uff0a": "*",
        "\uff04": "$",
        "\u03bc": "\u00b5",
    }
)

# Each unit of time by its short form: the seconds in it, and its other spellings.
_TIME_UNITS = {
    "ns": ("1e-9", "ns nanoseconds"),
    "µs": ("1e-6", "us µs microseconds"),
    "ms": ("1e-3", "ms msec msecs millis millisecond milliseconds"),
    "s": ("1", "s sec secs second seconds"),
    "min": ("60", "min mins minute minutes"),
    "h": ("3600", "h hr hrs hour hours"),
}
_SECONDS = {unit: Decimal(seconds) for unit, (seconds, _) in _TIME_UNITS.items()}
_TIMES = {word: unit for unit, (_, words) in _TIME_UNITS.items() for word in words.split()}
_MONEY = {
    word: sign
    for sign, words in {
        "$": "$ us$ usd dollar dollars",
        "€": "€ eur euro euros",
        "£": "£ gbp",
        "¥": "¥ jpy cny",
        "CHF": "chf",
    }.items()
    for word in words.split()
}
_PERCENT = ("%", "percent", "per cent", "pct")
_STARS = ("★", "⭐", "star", "stars")


def _alternatives(words: Iterable[str]) -> str:
    # Longest first, so that "ms" is not read as "m" and a rest.
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_DIGITS = r"(?:\d[\d.,' _]*|[.,]\d+)(?:[eE][-+]?\d+)?"
_NUMERAL = re.compile(
    rf"(?P<about>[~\u2248\u223c\u2243]|(?:about|approx\.?|approximately|ca\.?|circa)\s)?\s*"
    rf"(?P<limit>[<>≤≥]=?)?\s*"
    rf"(?P<sign>[-+])?(?:(?P<money>{_alternatives(_MONEY)})\s*)?(?P<inner_sign>[-+])?"
    rf"(?P<number>{_DIGITS})"
    rf"(?:\s*(?:/|\sout\s+of\s|\sof\s)\s*(?P<whole>{_DIGITS}))?"
    rf"(?:\s*(?P<unit>{_alternatives((*_TIMES, *_MONEY, *_PERCENT, *_STARS))}))?"
    rf"\s*(?P<mark>\*{{1,4}}|[†‡])?",
    re.IGNORECASE,
)
_DRAWN_STARS = re.compile(r"([★⭐]*)\s*([☆]*)")
# As Python and pandas write a timedelta: "0:00:01.5", "1 day, 0:00:01", "0 days 00:00:01.5".
_CLOCK = re.compile(r"(?:(\d+) days?,? )?(\d{1,2}):([0-5]\d):([0-5]\d(?:\.\d+)?)")
# As ISO 8601 writes it: "PT3.5S", "PT1M", "P1DT2H".
_ISO_DURATION = re.compile(
    r"P(?=\d|T\d)(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)
_GROUPED_BY_SIGN = re.compile(r"\d{1,3}(?:([ '_])\d{3})(?:\1\d{3})*(?:[.,]\d*)?")
_POINT = re.compile(
    # No separator of thousands, groups of three, or as in India groups of two before the last.
    r"\d+(?:\.\d*)?|\.\d+|[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?|[1-9]\d?(?:,\d{2})+,\d{3}(?:\.\d*)?"
)
_EXPONENT = re.compile(r"(.*?)((?:[eE][-+]?\d+)?)\s*")
_SWAPPED = str.maketrans(".,", ",.")
# Longer texts are answers; nobody writes a score of more characters.
_LONGEST = 80


class Numeral(NamedTuple):
    """A number in a cell, with the readings that its text allows, in Python's notation."""

    kind: NumeralKind
    point: str | None  # the number if a point is the decimal sign; None if it cannot be
    comma: str | None  # the same if a comma is the decimal sign
    unit: str = ""  # of a time or of money, in its short form
    whole: str | None = None  # the denominator of a fraction
    is_rounded: bool = False  # "about" stands before the number, or a footnote's mark after it
    is_limit: bool = False  # it is a limit, such as "<0.01"
    is_clock: bool = False  # it is written as hours, minutes and seconds

    @property
    def has_two_readings(self) -> bool:
        """Whether the number depends on the decimal sign."""
        return self.point is not None and self.comma is not None and self.point != self.comma


def plain_text(text: str) -> str:
    """The text with other forms of digits, signs and spaces replaced by the ASCII ones."""
    if text.isascii():
        return text.strip()
    translated = text.translate(_ALIKE)
    return "".join(
        str(unicodedata.decimal(character)) if character.isdecimal() else character
        for character in translated
    ).strip()


def parse_numeral(text: str) -> Numeral | None:
    """The number that a text spells; None if it spells none.

    Examples
    --------
    >>> numeral = parse_numeral("1,234")
    >>> numeral.point, numeral.comma, numeral.has_two_readings
    ('1234', '1.234', True)
    >>> parse_numeral("1.234,5 ms").comma, parse_numeral("85 %").kind, parse_numeral("v1")
    ('1234.5', 'percent', None)
    """
    if len(text) > _LONGEST:
        return None
    plain = plain_text(text)
    match = _NUMERAL.fullmatch(plain)
    if match is None:
        return _parse_stars(plain) or _parse_duration(plain)
    if (match["sign"] and match["inner_sign"]) or (match["money"] and match["whole"]):
        return None
    point, comma = _readings(match["number"], match["sign"] or match["inner_sign"] or "")
    wholes = _readings(match["whole"]) if match["whole"] else ("", "")
    kind, unit = _kind_of(match)
    if kind is None or (point, comma) == (None, None) or wholes == (None, None):
        return None
    whole = wholes[0] if wholes[0] is not None else wholes[1]
    is_rounded = bool(match["about"] or match["mark"])
    return Numeral(kind, point, comma, unit, whole or None, is_rounded, bool(match["limit"]))


def with_decimal_point(text: str, decimal: str) -> str | None:
    """A number with a decimal point and no separators; None if it cannot have this decimal sign."""
    numeral = parse_numeral(text)
    if numeral is None or (numeral.point if decimal == "." else numeral.comma) is None:
        return None
    plain = plain_text(text)
    return plain.replace(",", "") if decimal == "." else plain.replace(".", "").replace(",", ".")


def _kind_of(match: re.Match[str]) -> tuple[NumeralKind | None, str]:
    unit = (match["unit"] or "").lower()
    if match["whole"]:
        # "4/5 stars" is a fraction; "4/5 ms" is nothing that a cell of scores would say.
        return ("fraction" if not unit or unit in _STARS else None), ""
    if match["money"]:
        return (None if unit else "money"), _MONEY[match["money"].lower()]
    if unit in _TIMES:
        return "time", _TIMES[unit]
    if unit in _MONEY:
        return "money", _MONEY[unit]
    if unit in _PERCENT:
        return "percent", ""
    return ("stars" if unit in _STARS else "number"), ""


def _parse_stars(text: str) -> Numeral | None:
    """The number of filled stars in a row of stars."""
    match = _DRAWN_STARS.fullmatch(text)
    if match is None or not text:
        return None
    n_filled = str(len(match[1]))
    return Numeral("stars", n_filled, n_filled)


def _parse_duration(text: str) -> Numeral | None:
    """A length of time as a clock or as ISO 8601 writes it, in seconds."""
    clock = _CLOCK.fullmatch(text)
    match = clock or _ISO_DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (Decimal(part or 0) for part in match.groups())
    total = str(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    return Numeral("time", total, total, "s", is_clock=clock is not None)


def numeral_of_timedelta(cell: timedelta) -> Numeral:
    """A length of time in seconds."""
    total = repr(cell.total_seconds())
    return Numeral("time", total, total, "s")


def _readings(written: str, sign: str = "") -> tuple[str | None, str | None]:
    """A number in Python's notation, by a point and by a comma as the decimal sign."""
    match = _EXPONENT.fullmatch(written)
    digits, exponent = (match[1].rstrip(), match[2]) if match else (written, "")
    if any(separator in digits for separator in " '_"):
        if _GROUPED_BY_SIGN.fullmatch(digits) is None:
            return None, None
        joined = re.sub(r"[ '_]", "", digits)
        number = sign + joined.replace(",", ".") + exponent
        return (None if "," in joined else number), (None if "." in joined else number)
    swapped = digits.translate(_SWAPPED)
    point, comma = (
        sign + spelled.replace(",", "") + exponent if _POINT.fullmatch(spelled) else None
        for spelled in (digits, swapped)
    )
    return point, comma


def seconds_in(unit: str) -> Decimal:
    """The number of seconds in a unit of time."""
    return _SECONDS[unit]


# The words of a column's name that say that it holds lengths of time, or times of some kind.
_DURATION_WORDS = frozenset("duration elapsed latency runtime took".split())
_TIME_WORDS = _DURATION_WORDS | {"response", "time", "times"}


def unit_in_name(name: str) -> str | None:
    """The unit of time in a column's name; None if there is none."""
    units = [_TIMES[word] for word in _words(name) if word in _TIMES and word != "h"]
    return units[-1] if units else None


def names_a_time(name: str) -> bool:
    """Whether a column's name says that it holds times: lengths of time, or times of day."""
    return unit_in_name(name) is not None or not _TIME_WORDS.isdisjoint(_words(name))


def names_a_duration(name: str) -> bool:
    """Whether a column's name says that it holds lengths of time and nothing else."""
    return unit_in_name(name) is not None or not _DURATION_WORDS.isdisjoint(_words(name))


def _words(name: str) -> list[str]:
    return re.findall(r"[a-zµ]+", name.lower())


# -- dates

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
