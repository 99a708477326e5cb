"""Numbers as people and spreadsheets write them: "1,234.5", "0,83", "85 %", "4/5", "12 ms", "$3".

One text is often not enough to know the number: "1,234" may be a little over one, or more than a
thousand. `parse_numeral` therefore keeps both readings, and `rageval_report.scores.cells` chooses
one for the whole column. Dates and times of day, which are never scores, are recognised here too.
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

from rageval_report.scores.metric import WORDS, extremes_of
from rageval_report.types import FloatArray

NumeralKind = Literal["number", "percent", "fraction", "time", "money", "stars"]

_ALIKE = str.maketrans(
    {other: plain for plain, others in WORDS["alike"].items() for other in others}
)
SECONDS_IN = {unit: Decimal(seconds) for unit, (_, seconds) in WORDS["times"].items()}
_TIMES = {word: unit for unit, (words, _) in WORDS["times"].items() for word in words.split()}
_MONEY = {word: sign for sign, words in WORDS["money"].items() for word in words.split()}
_KIND_OF_UNIT: dict[str, tuple[NumeralKind, str]] = {
    "": ("number", ""),
    **dict.fromkeys(("%", "percent", "per cent", "pct"), ("percent", "")),
    **dict.fromkeys(("★", "⭐", "star", "stars"), ("stars", "")),
    **{word: ("time", unit) for word, unit in _TIMES.items()},
    **{word: ("money", sign) for word, sign in _MONEY.items()},
}


def _alternatives(words: Iterable[str]) -> str:
    # Longest first, so that "ms" is not read as "m" and a rest.
    return "|".join(map(re.escape, sorted(filter(None, words), key=len, reverse=True)))


_DIGITS = r"(?:\d[\d.,' _]*|[.,]\d+)(?:[eE][-+]?\d+)?"
_NUMERAL = re.compile(
    rf"(?P<about>[~\u2248\u223c\u2243]|(?:about|approx\.?|approximately|ca\.?|circa)\s)?\s*"
    rf"(?P<limit>[<>≤≥]=?)?\s*"
    rf"(?P<sign>[-+])?(?:(?P<money>{_alternatives(_MONEY)})\s*)?(?P<inner_sign>[-+])?"
    rf"(?P<number>{_DIGITS})"
    rf"(?:\s*(?:/|\sout\s+of\s|\sof\s)\s*(?P<whole>{_DIGITS}))?"
    rf"(?:\s*(?P<unit>{_alternatives(_KIND_OF_UNIT)}))?"
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


def _with_ascii_signs(text: str) -> str:
    """The text with other forms of digits, signs and spaces replaced by the ASCII ones."""
    if text.isascii():
        return text.strip()
    characters = text.translate(_ALIKE)
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in characters).strip()


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
    plain = _with_ascii_signs(text)
    match = _NUMERAL.fullmatch(plain)
    if match is None:
        return _parse_stars_or_duration(plain)
    kind, unit = _KIND_OF_UNIT[(match["unit"] or "").lower()]
    if match["whole"]:
        # "4/5 stars" is a fraction; "4/5 ms" is nothing that a cell of scores would say.
        is_possible, kind, unit = kind in ("number", "stars") and not match["money"], "fraction", ""
    elif match["money"]:
        is_possible, kind, unit = not match["unit"], "money", _MONEY[match["money"].lower()]
    else:
        is_possible = True
    point, comma = _readings(match["number"], match["sign"] or match["inner_sign"] or "")
    wholes = _readings(match["whole"]) if match["whole"] else ("", "")
    is_signed_twice = match["sign"] and match["inner_sign"]
    if not is_possible or is_signed_twice or (None, None) in ((point, comma), wholes):
        return None
    whole = wholes[0] if wholes[0] is not None else wholes[1]
    is_rounded = bool(match["about"] or match["mark"])
    return Numeral(kind, point, comma, unit, whole or None, is_rounded, bool(match["limit"]))


def with_decimal_point(text: str, decimal: str) -> str | None:
    """A number with a decimal point and no separators; None if it cannot have this decimal sign."""
    numeral = parse_numeral(text)
    if numeral is None or (numeral.point if decimal == "." else numeral.comma) is None:
        return None
    plain = _with_ascii_signs(text)
    return plain.replace(",", "") if decimal == "." else plain.replace(".", "").replace(",", ".")


def _parse_stars_or_duration(text: str) -> Numeral | None:
    """The filled stars in a row of stars, or the seconds of a clock or an ISO 8601 duration."""
    stars = _DRAWN_STARS.fullmatch(text)
    if stars is not None and text:
        return Numeral("stars", str(len(stars[1])), str(len(stars[1])))
    clock = _CLOCK.fullmatch(text)
    match = clock or _ISO_DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (Decimal(part or 0) for part in match.groups())
    total = str(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    return Numeral("time", total, total, "s", is_clock=clock is not None)


def _readings(written: str, sign: str = "") -> tuple[str | None, str | None]:
    """A number in Python's notation, by a point and by a comma as the decimal sign."""
    match = _EXPONENT.fullmatch(written)
    digits, exponent = (match[1].rstrip(), match[2]) if match else (written, "")
    if any(separator in digits for separator in " '_"):
        if _GROUPED_BY_SIGN.fullmatch(digits) is None:
            return None, None
        digits = re.sub(r"[ '_]", "", digits)
        number = sign + digits.replace(",", ".") + exponent
        return (None if "," in digits else number), (None if "." in digits else number)
    point, comma = (
        sign + spelled.replace(",", "") + exponent if _POINT.fullmatch(spelled) else None
        for spelled in (digits, digits.translate(_SWAPPED))
    )
    return point, comma


# -- the names of columns of times


def _says(name: str, *keys: str) -> bool:
    """Whether a word of a column's name is one of these lists of words."""
    return any(word in WORDS["named"][key].split() for key in keys for word in _words(name))


def _words(name: str) -> list[str]:
    return re.findall(r"[a-zµ]+", name.lower())


def unit_in_name(name: str) -> str | None:
    """The unit of time in a column's name; None if there is none."""
    units = [_TIMES[word] for word in _words(name) if word in _TIMES and word != "h"]
    return units[-1] if units else None


def names_a_time(name: str) -> bool:
    """Whether a column's name says that it holds times: lengths of time, or times of day."""
    return unit_in_name(name) is not None or _says(name, "durations", "times")


def names_a_duration(name: str) -> bool:
    """Whether a column's name says that it holds lengths of time and nothing else."""
    return unit_in_name(name) is not None or _says(name, "durations")


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
_DATE_OR_TIME = re.compile(
    rf"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,?\s+)?(?:{_DATE})(?:(?:\s*,?\s+|T){_TIME}{_ZONE})?"
    rf"|{_TIME}{_ZONE}",
    re.IGNORECASE,
)

# Numbers that count seconds, and their thousandths, since 1970, from 2000 to 2100.
_FIRST, _LAST = 946_684_800, 4_102_444_800
_TICKS = (1, 1_000, 1_000_000, 1_000_000_000)
# Days since 1900 in a spreadsheet, from 2000 to 2100: too small to be known without the name.
_FIRST_DAY, _LAST_DAY = 36_526, 73_050
_SAMPLE = 64
_SPREADSHEET_ZERO = datetime(1899, 12, 30, tzinfo=UTC)


def is_date(cell: object) -> bool:
    """Whether a cell is a date or a time of day, as an object or as a text.

    Examples
    --------
    >>> is_date("2025-11-03T10:00:00Z"), is_date("12/03/2025"), is_date("3/5"), is_date("0.5")
    (True, True, False, False)
    """
    if isinstance(cell, str):
        text = cell.strip()
        return 4 <= len(text) <= 40 and _DATE_OR_TIME.fullmatch(text) is not None
    # NaT is an object of several types of dates, and differs from itself.
    return isinstance(cell, date | time | np.datetime64 | pd.Period) and bool(cell == cell)


def date_in_numbers(name: str, numbers: FloatArray) -> str | None:
    """The first date, as text, if a column of numbers counts seconds or days, or spells dates.

    Numbers of days are dates only if the name of the column says so.

    Examples
    --------
    >>> date_in_numbers("created", np.array([1762190000.0, np.nan]))
    '2025-11-03'
    >>> date_in_numbers("score", np.array([45964.0])) is None
    True
    """
    # Nearly every column of scores shows by a few cells that not all of them are so large.
    if bool((numbers[:_SAMPLE] < _FIRST_DAY).any()) or _says(name, "counts") or not len(numbers):
        return None
    low, high = extremes_of(numbers)
    if not (low >= _FIRST_DAY and high < np.inf):  # also without any number
        return None
    present = numbers[~np.isnan(numbers)]
    first = float(present[0])
    for tick in _TICKS:
        if low >= _FIRST * tick and high < _LAST * tick:
            return datetime.fromtimestamp(first / tick, UTC).date().isoformat()
    if low >= 19_000_101 and high < 21_000_000:  # dates without separators, such as 20251103
        days, months = present % 100, present // 100 % 100
        is_day = (days >= 1) & (days <= 31) & (months >= 1) & (months <= 12)
        if (is_day & (present == np.floor(present))).all():
            return pd.Timestamp(f"{first:.0f}").date().isoformat()
    if _says(name, "dates") and high < _LAST_DAY:
        return (_SPREADSHEET_ZERO + timedelta(days=first)).date().isoformat()
    return None
