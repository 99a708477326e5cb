"""Numbers as people and spreadsheets write them: "1,234.5", "0,83", "85 %", "4/5", "12 ms", "$3".

One text is often not enough to know the number: "1,234" may be a little over one, or more than a
thousand. `parse_numeral` therefore keeps both readings, and `rageval_report.scores.column_scale`
chooses one for the whole column.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Literal, NamedTuple

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

# Seconds in each unit of time.
_SECONDS: dict[str, Decimal] = {
    **dict.fromkeys(("ns", "nanoseconds"), Decimal("1e-9")),
    **dict.fromkeys(("us", "µs", "microseconds"), Decimal("1e-6")),
    **dict.fromkeys(
        ("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"), Decimal("1e-3")
    ),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), Decimal(1)),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), Decimal(60)),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), Decimal(3600)),
}
SHORT_UNITS: dict[Decimal, str] = {
    Decimal("1e-9"): "ns",
    Decimal("1e-6"): "µs",
    Decimal("1e-3"): "ms",
    Decimal(1): "s",
    Decimal(60): "min",
    Decimal(3600): "h",
}
_MONEY: dict[str, str] = {
    **dict.fromkeys(("$", "us$", "usd", "dollar", "dollars"), "$"),
    **dict.fromkeys(("€", "eur", "euro", "euros"), "€"),
    **dict.fromkeys(("£", "gbp"), "£"),
    **dict.fromkeys(("¥", "jpy", "cny"), "¥"),
    "chf": "CHF",
}
_PERCENT = ("%", "percent", "per cent", "pct")
_STARS = ("★", "⭐", "star", "stars")


def _alternatives(words: Mapping[str, object] | tuple[str, ...]) -> str:
    # Longest first, so that "ms" is not read as "m" and a rest.
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


_DIGITS = r"(?:\d[\d.,' _]*|[.,]\d+)(?:[eE][-+]?\d+)?"
_NUMERAL = re.compile(
    rf"(?P<about>[~\u2248\u223c\u2243]|(?:about|approx\.?|approximately|ca\.?|circa)\s)?\s*"
    rf"(?P<limit>[<>≤≥]=?)?\s*"
    rf"(?P<sign>[-+])?(?:(?P<money>{_alternatives(_MONEY)})\s*)?(?P<inner_sign>[-+])?"
    rf"(?P<number>{_DIGITS})"
    rf"(?:\s*(?:/|\sout\s+of\s|\sof\s)\s*(?P<whole>{_DIGITS}))?"
    rf"(?:\s*(?P<unit>{_alternatives((*_SECONDS, *_MONEY, *_PERCENT, *_STARS))}))?"
    rf"\s*(?P<mark>\*{{1,4}}|[†‡])?",
    re.IGNORECASE,
)
_DRAWN_STARS = re.compile(r"([★⭐]*)\s*([☆]*)")
# As Python and pandas write a timedelta: "0:00:01.5", "1 day, 0:00:01", "0 days 00:00:01.5".
_CLOCK = re.compile(r"(?:(\d+) days?,? )?(\d{1,2}):([0-5]\d):([0-5]\d(?:\.\d+)?)")

_GROUPED_BY_SIGN = re.compile(r"\d{1,3}(?:([ '_])\d{3})(?:\1\d{3})*(?:[.,]\d*)?")
_POINT = re.compile(
    # No separator of thousands, groups of three, or as in India groups of two before the last.
    r"\d+(?:\.\d*)?|\.\d+|[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?|[1-9]\d?(?:,\d{2})+,\d{3}(?:\.\d*)?"
)
_SWAPPED = str.maketrans(".,", ",.")
# Longer texts are answers; nobody writes a score of more characters.
_LONGEST = 80


class Numeral(NamedTuple):
    """A number in a cell, with the readings that its text allows.

    Parameters
    ----------
    kind : {"number", "percent", "fraction", "time", "money", "stars"}
        What it is a number of.
    point : str or None
        The number in Python's notation if a point is the decimal sign; None if it cannot be.
    comma : str or None
        The same if a comma is the decimal sign.
    unit : str
        The unit of a time or of money, in its short form.
    whole : (str or None, str or None)
        The denominator of a fraction, in both readings.
    is_rounded : bool
        Whether the text says "about" before the number, or has a footnote's mark after it.
    is_limit : bool
        Whether the text gives a limit, such as "<0.01".
    is_clock : bool
        Whether it is written as hours, minutes and seconds.
    """

    kind: NumeralKind
    point: str | None
    comma: str | None
    unit: str = ""
    whole: tuple[str | None, str | None] = (None, None)
    is_rounded: bool = False
    is_limit: bool = False
    is_clock: bool = False

    @property
    def has_two_readings(self) -> bool:
        """Whether the number depends on the decimal sign."""
        return self.point is not None and self.comma is not None and self.point != self.comma


def plain_text(text: str) -> str:
    """The text with other forms of digits, signs and spaces replaced by the ASCII ones.

    Examples
    --------
    >>> plain_text("−１\u00a0234，5 ％")
    '-1 234,5 %'
    """
    if text.isascii():
        return text.strip()
    translated = text.translate(_ALIKE)
    return "".join(
        str(unicodedata.decimal(character)) if character.isdecimal() else character
        for character in translated
    ).strip()


def parse_numeral(text: str) -> Numeral | None:
    """The number that a text spells; None if it spells none.

    Parameters
    ----------
    text : str
        The text of a cell.

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
        return _parse_stars(plain) or _parse_clock(plain)
    sign = match["sign"] or match["inner_sign"] or ""
    if (match["sign"] and match["inner_sign"]) or (match["money"] and match["whole"]):
        return None
    point, comma = _readings(match["number"], sign)
    whole = _readings(match["whole"]) if match["whole"] else (None, None)
    if (point, comma) == (None, None) or (match["whole"] and whole == (None, None)):
        return None
    kind, unit = _kind_of(match)
    if kind is None:
        return None
    is_rounded = bool(match["about"] or match["mark"])
    return Numeral(kind, point, comma, unit, whole, is_rounded, bool(match["limit"]))


def with_decimal_point(text: str, decimal: str) -> str | None:
    """The text of a number with a decimal point and without separators of thousands.

    Parameters
    ----------
    text : str
        The text of a cell.
    decimal : {".", ","}
        The decimal sign in the text.

    Returns
    -------
    str or None
        None if the text is no number, or cannot be one with this decimal sign.

    Examples
    --------
    >>> with_decimal_point("1.234,5 ms", ","), with_decimal_point("1,234", ".")
    ('1234.5 ms', '1234')
    >>> with_decimal_point("0.5", ",") is None
    True
    """
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
    if unit in _SECONDS:
        return "time", SHORT_UNITS[_SECONDS[unit]]
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


def _parse_clock(text: str) -> Numeral | None:
    match = _CLOCK.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (Decimal(part or 0) for part in match.groups())
    total = str(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
    return Numeral("time", total, total, "s", is_clock=True)


def numeral_of_timedelta(cell: timedelta) -> Numeral:
    """A length of time in seconds.

    Examples
    --------
    >>> numeral_of_timedelta(timedelta(milliseconds=1500)).point
    '1.5'
    """
    total = repr(cell.total_seconds())
    return Numeral("time", total, total, "s")


def _readings(written: str, sign: str = "") -> tuple[str | None, str | None]:
    """A number in Python's notation, by a point and by a comma as the decimal sign."""
    digits, exponent = re.fullmatch(r"(.*?)((?:[eE][-+]?\d+)?)\s*", written).groups()  # type: ignore[union-attr]
    digits = digits.rstrip()
    if any(separator in digits for separator in " '_"):
        if _GROUPED_BY_SIGN.fullmatch(digits) is None:
            return None, None
        joined = re.sub(r"[ '_]", "", digits)
        if "," in joined:
            return None, sign + joined.replace(",", ".") + exponent
        return sign + joined + exponent, (None if "." in joined else sign + joined + exponent)
    point = digits.replace(",", "") if _POINT.fullmatch(digits) else None
    swapped = digits.translate(_SWAPPED)
    comma = swapped.replace(",", "") if _POINT.fullmatch(swapped) else None
    return (
        None if point is None else sign + point + exponent,
        None if comma is None else sign + comma + exponent,
    )


def seconds_in(unit: str) -> Decimal:
    """The number of seconds in a unit of time.

    Examples
    --------
    >>> seconds_in("ms")
    Decimal('0.001')
    """
    return _SECONDS[unit]


# The words of a column's name that give the unit of its times, and those that say that it has one.
_NAMED_UNITS = {word: SHORT_UNITS[seconds] for word, seconds in _SECONDS.items() if word != "h"}
_TIMES = frozenset("duration elapsed latency response runtime time times took".split())


def unit_in_name(name: str) -> str | None:
    """The unit of time in a column's name; None if there is none.

    Examples
    --------
    >>> unit_in_name("latency_ms"), unit_in_name("Time (seconds)"), unit_in_name("latency")
    ('ms', 's', None)
    """
    units = [_NAMED_UNITS[word] for word in _words(name) if word in _NAMED_UNITS]
    return units[-1] if units else None


def names_a_time(name: str) -> bool:
    """Whether a column's name says that it holds lengths of time.

    Examples
    --------
    >>> names_a_time("latency"), names_a_time("started")
    (True, False)
    """
    return unit_in_name(name) is not None or not _TIMES.isdisjoint(_words(name))


def _words(name: str) -> list[str]:
    return re.findall(r"[a-zµ]+", name.lower())
