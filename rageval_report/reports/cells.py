"""One value as text: rounded, signed, cut, wrapped. Nothing here knows a frame or a format."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import islice

import numpy as np
import pandas as pd

from rageval_report.errors import is_doubt
from rageval_report.files.outgoing_text import clean as clean
from rageval_report.scores.names import ELLIPSIS as ELLIPSIS
from rageval_report.scores.names import JOINERS
from rageval_report.scores.names import cut_to_width as cut_to_width
from rageval_report.scores.names import display_width as display_width

MISSING = "–"
LONGEST = 60
LONGEST_SENTENCE = 1000  # of a title, a sentence, a note

COUNTS = frozenset("count k losses n queries rank required_n rows size ties wins".split())
SIGNED = frozenset(
    "change delta difference difference_highest difference_lowest improvement mean_difference "
    "median_difference".split()
)

_NOISE = 1e-12  # differences below this are ties everywhere in the library
_SMALL = 0.001
_NARROW = 0.01  # an interval that three decimals would not show well
_DECIMALS = ((10.0, 3), (100.0, 2), (1000.0, 1))  # below the limit, this many decimals
_MOST_DECIMALS = 7
# A double has 15 to 16 digits, so beyond this the decimals are noise.
_LARGEST_FLOAT = 1e15
_LARGEST_INTEGER = 10**20
_MOST_ITEMS = 20
_LONGEST_ITEM = 1000
_DEEPEST = 3


def number(value: float) -> str:
    """A number with three decimals; fewer if it is large, two digits if it is small."""
    return MISSING if math.isnan(value) else _format_fixed(value, _decimals(abs(value)))


def signed_number(value: float) -> str:
    """A difference: as `number`, with a plus sign if it is positive."""
    return f"+{number(value)}" if value >= _NOISE else number(value)


def pvalue(value: float) -> str:
    """A p-value: three decimals, never 0."""
    if math.isnan(value):
        return MISSING
    if value < 0.001:
        return "< 0.001"
    text = f"{value:.3f}"
    return "1" if text == "1.000" else text


def count(value: float) -> str:
    """A count: without decimals if it is a whole number."""
    is_whole = math.isfinite(value) and value == int(value)
    return integer(int(value)) if is_whole else number(value)


def integer(value: int) -> str:
    """An integer; with a power of ten if it has more than twenty digits."""
    return str(value) if abs(value) < _LARGEST_INTEGER else f"{Decimal(value):.3e}"


def interval(low: float, high: float, *, level: float | None = None) -> str:
    """Two ends with the decimals of the larger one, and more decimals if they would look equal."""
    if math.isnan(low) and math.isnan(high):
        return MISSING
    decimals = _decimals(max((abs(end) for end in (low, high) if math.isfinite(end)), default=0.0))
    if _NOISE <= high - low < _NARROW:
        decimals = max(decimals, min(_for_two_digits(high - low), _MOST_DECIMALS))
    ends = (MISSING if math.isnan(end) else _format_fixed(end, decimals) for end in (low, high))
    return ("" if level is None else f"{100 * level:g} %: ") + " to ".join(ends)


def confidence(level: object) -> str:
    """The name of an interval with that confidence level."""
    known = isinstance(level, float) and 0.0 < level < 1.0
    return f"{100 * level:g} % CI" if known else "CI"  # type: ignore[operator]


def cell(value: object, name: str = "", *, longest: int = LONGEST) -> str:
    """Any value as text on one line, in the form that its column has."""
    value = plain(value)
    if is_missing(value):
        return MISSING
    # Before the numbers, because True is an int in Python.
    if isinstance(value, bool):
        return "yes" if value else "no"
    # Such an integer may be too large to become a float.
    if isinstance(value, int) and abs(value) >= _LARGEST_INTEGER:
        return integer(value)
    if isinstance(value, int | float):
        return _format_of(name, value)(value)
    return shorten(_text_of(value), longest)


def plain(value: object) -> object:
    """The Python value of a NumPy scalar; anything else as it is."""
    return value.item() if isinstance(value, np.number | np.bool_ | np.str_) else value


def is_missing(value: object) -> bool:
    """Whether a plain value is missing: None, NaN, NA or NaT."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or value is pd.NA or value is pd.NaT


def _format_of(name: str, value: float) -> Callable[..., str]:
    if name.startswith("pvalue") or name.endswith("_pvalue"):
        return pvalue
    if name in SIGNED:
        return signed_number
    if name in COUNTS or name.startswith("n_"):
        return count
    return integer if isinstance(value, int) else number


def _for_two_digits(size: float) -> int:
    return 1 - math.floor(math.log10(size))


def _decimals(size: float) -> int:
    if _NOISE <= size < _SMALL:
        return _for_two_digits(size)
    # Rounded first, so that 9.9996 is "10.00", not "10.000".
    return next((places for limit, places in _DECIMALS if round(size, places) < limit), 0)


def _format_fixed(value: float, decimals: int) -> str:
    if not math.isfinite(value):
        return f"{value:g}"
    if abs(value) >= _LARGEST_FLOAT:
        return f"{float(value):.3e}"
    if decimals > _MOST_DECIMALS:
        return f"{value:.1e}"
    text = f"{value:.{decimals}f}"
    return text.lstrip("-") if float(text) == 0.0 else text  # never "-0.000"


def _text_of(value: object, depth: int = 0) -> str:
    """Lists and dicts without quotes; nested ones in brackets."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, set | frozenset):
        # A set of texts has another order in every process; a page must not.
        value = sorted(value, key=str)
    if isinstance(value, Mapping):
        pairs = (f"{_text_of(key, _DEEPEST)}: {_item(value[key], depth)}" for key in value)
        return _join_first(pairs, len(value)) or "{}"
    if isinstance(value, list | tuple):
        return _join_first((_item(part, depth) for part in value), len(value)) or "[]"
    return str(value)


def _item(value: object, depth: int) -> str:
    value = plain(value)
    if not isinstance(value, Mapping | list | tuple | set | frozenset | np.ndarray):
        return cell(value, longest=_LONGEST_ITEM)
    return f"[{_text_of(value, depth + 1)}]" if depth < _DEEPEST else ELLIPSIS


def _join_first(parts: Iterable[str], n: int) -> str:
    return ", ".join([*islice(parts, _MOST_ITEMS), *([ELLIPSIS] if n > _MOST_ITEMS else [])])


# -- texts on a screen

# Pieces of text that are kept on one line if they fit: words, the parts of a name such as
# exact_match, recall@5 or all-minilm, the settings of a signature. A "-" that is not between two
# letters may be a sign, and stays with its number.
WORDS = re.compile(r"\S+\s*")
_HYPHEN = r"(?<=[^\W\d_])-(?=[^\W\d_])"
NAMES = re.compile(rf"(?:(?!{_HYPHEN})[^\s_/@])+(?:[_/@]|{_HYPHEN})*\s*|[_/@]+\s*")
SETTINGS = re.compile(r"[^|,\s]+[|,\s]*|[|,\s]+")

# Of a long text only this many characters per shown column are cleaned: a megabyte costs nothing.
_CLEANED_PER_COLUMN = 20
_CHARACTERS_PER_COLUMN = 2  # a limit for combining accents, which take no width


def note_line(note: str) -> str:
    """A note with the word before it that says what it is; a doubt begins with its own."""
    return note if is_doubt(note) else f"Note: {note}"


def shorten(text: str, most: int) -> str:
    """The clean text, cut with an ellipsis if it is wider than `most` columns."""
    beginning = text[: _CLEANED_PER_COLUMN * most]
    line = clean(beginning)
    limited = line[: _CHARACTERS_PER_COLUMN * most]
    if len(beginning) == len(text) and limited == line and display_width(line) <= most:
        return line
    return cut_to_width(limited, most - 1).rstrip(" " + JOINERS) + ELLIPSIS


def wrap(text: str, width: int, *, hanging: int = 0, at: re.Pattern[str] = WORDS) -> list[str]:
    """The text on lines of at most `width` columns, broken at blanks if possible."""
    lines, line = [], ""
    for piece in _pieces(text, width - hanging, at):
        if line.strip() and display_width((line + piece).rstrip()) > width:
            lines.append(line.rstrip())
            line = " " * hanging
        line += piece
    return [*lines, line.rstrip()]


def _pieces(text: str, room: int, at: re.Pattern[str]) -> Iterator[str]:
    """The pieces of a text; a piece that is wider than the room is broken."""
    for token in at.findall(text):
        rest = token
        while display_width(rest.rstrip()) > room:
            # At least one character, because a wide one does not fit into a single column.
            piece = cut_to_width(rest, room) or rest[:1]
            yield piece
            rest = rest[len(piece) :]
        if rest:
            yield rest


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text with blanks up to `width` columns."""
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks
