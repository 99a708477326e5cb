"""One value as text: rounded, signed, cut. Nothing here knows a frame or a format."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from itertools import islice

import numpy as np
import pandas as pd

from rageval_report.render.display import ELLIPSIS, shorten

MISSING = "–"
LONGEST = 60
LONGEST_SENTENCE = 1000  # of a title, a sentence, a note

COUNTS = frozenset("count k losses n queries rank required_n rows size ties wins".split())
SIGNED = frozenset(
    "change delta difference difference_highest difference_lowest improvement mean_difference "
    "median_difference pooled_difference".split()
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
    decimals = _decimals_of_ends(low, high)
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
        return _format_of(name)(value)
    return shorten(_text_of(value), longest)


def plain(value: object) -> object:
    """The Python value of a NumPy scalar; anything else as it is."""
    return value.item() if isinstance(value, np.number | np.bool_ | np.str_) else value


def is_missing(value: object) -> bool:
    """Whether a plain value is missing: None, NaN, NA or NaT."""
    if isinstance(value, float):
        return math.isnan(value)
    return value is None or value is pd.NA or value is pd.NaT


def _format_of(name: str) -> Callable[[float], str]:
    if name.startswith("pvalue") or name.endswith("_pvalue"):
        return pvalue
    if name in SIGNED:
        return signed_number
    if name in COUNTS or name.startswith("n_"):
        return count
    return _int_or_float


def _int_or_float(value: float) -> str:
    return integer(value) if isinstance(value, int) else number(value)


def _decimals_of_ends(low: float, high: float) -> int:
    decimals = _decimals(max((abs(end) for end in (low, high) if math.isfinite(end)), default=0.0))
    if _NOISE <= high - low < _NARROW:
        return max(decimals, min(_for_two_digits(high - low), _MOST_DECIMALS))
    return decimals


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
