"""Numbers as people and spreadsheets write them: "1,234.5", "0,83", "85 %", "4/5", "12 ms".

One text is often not enough to know the number: "1,234" may be a little over one, or more than a
thousand. `parse_numeral` therefore keeps both readings, and `rageval_report.scores.cells` chooses
one for the whole column.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import Literal, NamedTuple

from rageval_report.scores.metric import WORDS

NumeralKind = Literal["number", "percent", "fraction", "time"]

_ALIKE = str.maketrans(
    {other: plain for plain, others in WORDS["alike"].items() for other in others}
)
SECONDS_IN = {unit: Decimal(seconds) for unit, (_, seconds) in WORDS["times"].items()}
_TIMES = {word: unit for unit, (words, _) in WORDS["times"].items() for word in words.split()}
_KIND_OF_UNIT: dict[str, tuple[NumeralKind, str]] = {
    "": ("number", ""),
    **dict.fromkeys(("%", "percent", "per cent", "pct"), ("percent", "")),
    **{word: ("time", unit) for word, unit in _TIMES.items()},
}


def _alternatives(words: Iterable[str]) -> str:
    # Longest first, so that "ms" is not read as "m" and a rest.
    return "|".join(map(re.escape, sorted(filter(None, words), key=len, reverse=True)))


_DIGITS = r"(?:\d[\d.,' _]*|[.,]\d+)(?:[eE][-+]?\d+)?"
_NUMERAL = re.compile(
    rf"(?P<sign>[-+]?)(?P<number>{_DIGITS})"
    rf"(?:\s*(?:/|\sout\s+of\s|\sof\s)\s*(?P<whole>{_DIGITS}))?"
    rf"(?:\s*(?P<unit>{_alternatives(_KIND_OF_UNIT)}))?\s*",
    re.IGNORECASE,
)
# As Python and pandas write a timedelta: "0:00:01.5", "1 day, 0:00:01", "0 days 00:00:01.5".
_CLOCK = re.compile(r"(?:(\d+) days?,? )?(\d{1,2}):([0-5]\d):([0-5]\d(?:\.\d+)?)")
# As ISO 8601 writes it: "PT3.5S", "PT1M", "P1DT2H".
_ISO_DURATION = re.compile(
    r"P(?=\d|T\d)(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)
_GROUPED_BY_SIGN = re.compile(r"\d{1,3}(?:([ '_])\d{3})(?:\1\d{3})*(?:[.,]\d*)?")
# No separator of thousands, groups of three, or as in India groups of two before the last.
_POINT = re.compile(
    r"\d+(?:\.\d*)?|\.\d+|[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?|[1-9]\d?(?:,\d{2})+,\d{3}(?:\.\d*)?"
)
_EXPONENT = re.compile(r"(.*?)((?:[eE][-+]?\d+)?)\s*")
_SWAPPED = str.maketrans(".,", ",.")
# Longer texts are answers; nobody writes a score of more characters.
_LONGEST = 80


class Numeral(NamedTuple):
    """A number in a cell, with the readings that its text allows."""

    kind: NumeralKind
    point: Decimal | None  # the number if a point is the decimal sign; None if it cannot be
    comma: Decimal | None  # the same if a comma is the decimal sign
    unit: str = ""  # of a time, in its short form
    whole: Decimal = Decimal(0)  # the denominator of a fraction
    is_clock: bool = False  # it is written as hours, minutes and seconds

    @property
    def has_two_readings(self) -> bool:
        """Whether the number depends on the decimal sign."""
        return self.point is not None and self.comma is not None and self.point != self.comma

    def read(self, *, is_comma: bool) -> Decimal:
        """The number if the decimal sign is a comma, or a point; the other if it cannot be."""
        first, second = (self.comma, self.point) if is_comma else (self.point, self.comma)
        number = second if first is None else first
        return Decimal("nan") if number is None else number


def parse_numeral(text: str) -> Numeral | None:
    """The number that a text spells; None if it spells none.

    Examples
    --------
    >>> numeral = parse_numeral("1,234")
    >>> str(numeral.point), str(numeral.comma), numeral.has_two_readings
    ('1234', '1.234', True)
    >>> str(parse_numeral("1.234,5 ms").comma), parse_numeral("85 %").kind, parse_numeral("v1")
    ('1234.5', 'percent', None)
    """
    if len(text) > _LONGEST:
        return None
    plain = _with_ascii_signs(text)
    match = _NUMERAL.fullmatch(plain)
    if match is None:
        return _parse_duration(plain)
    kind, unit = _KIND_OF_UNIT[(match["unit"] or "").lower()]
    point, comma = _readings(match["number"], match["sign"])
    wholes = [whole for whole in _readings(match["whole"] or "0") if whole is not None]
    # "4/5 ms" is nothing that a cell of scores would say.
    is_possible = wholes and (kind == "number" or not match["whole"])
    if not is_possible or (point is None and comma is None):
        return None
    kind = "fraction" if match["whole"] else kind
    return Numeral(kind, point, comma, unit, wholes[0])


def with_decimal_point(text: str, decimal: str) -> str | None:
    """A number with a decimal point and no separators; None if it cannot have this decimal sign."""
    numeral = parse_numeral(text)
    if numeral is None or (numeral.point if decimal == "." else numeral.comma) is None:
        return None
    plain = _with_ascii_signs(text)
    return plain.replace(",", "") if decimal == "." else plain.replace(".", "").replace(",", ".")


def _with_ascii_signs(text: str) -> str:
    """The text with other forms of digits, signs and spaces replaced by the ASCII ones."""
    if text.isascii():
        return text.strip()
    characters = text.translate(_ALIKE)
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in characters).strip()


def _parse_duration(text: str) -> Numeral | None:
    """The seconds of a clock or of an ISO 8601 duration."""
    clock = _CLOCK.fullmatch(text)
    match = clock or _ISO_DURATION.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (Decimal(part or 0) for part in match.groups())
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return Numeral("time", total, total, "s", is_clock=clock is not None)


def _readings(written: str, sign: str = "") -> tuple[Decimal | None, Decimal | None]:
    """A number by a point and by a comma as the decimal sign."""
    match = _EXPONENT.fullmatch(written)
    digits, exponent = (match[1].rstrip(), match[2]) if match else (written, "")
    if any(separator in digits for separator in " '_"):
        if _GROUPED_BY_SIGN.fullmatch(digits) is None:
            return None, None
        digits = re.sub(r"[ '_]", "", digits)
        number = _decimal(sign + digits.replace(",", ".") + exponent)
        return (None if "," in digits else number), (None if "." in digits else number)
    point, comma = (
        _decimal(sign + spelled.replace(",", "") + exponent) if _POINT.fullmatch(spelled) else None
        for spelled in (digits, digits.translate(_SWAPPED))
    )
    return point, comma


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent beyond all bounds
        return None


# -- the names of columns of times


def unit_in_name(name: str) -> str | None:
    """The unit of time in a column's name; None if there is none."""
    units = [_TIMES[word] for word in _words(name) if word in _TIMES and word != "h"]
    return units[-1] if units else None


def names_a_time(name: str) -> bool:
    """Whether a column's name says that it holds lengths of time, or times of day."""
    return unit_in_name(name) is not None or not _TIME_WORDS.isdisjoint(_words(name))


def names_a_duration(name: str) -> bool:
    """Whether a column's name says that it holds lengths of time and nothing else."""
    return unit_in_name(name) is not None or not _DURATION_WORDS.isdisjoint(_words(name))


_DURATION_WORDS = frozenset(WORDS["named"]["durations"].split())
_TIME_WORDS = _DURATION_WORDS.union(WORDS["named"]["times"].split())


def _words(name: str) -> list[str]:
    return re.findall(r"[a-zµ]+", name.lower())
