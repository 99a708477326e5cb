"""Objects that a frame's cells hold, or that somebody's `to_csv` wrote as texts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rageval_report.files.strict_json import replace_lone_surrogates
from rageval_report.readers.frameworks._told import objects_in


def values_in(cells: Iterable[object]) -> list[Any]:
    r"""The cells, with the values that JSON or Python literals in them stand for.

    Half characters in escapes, which no file can hold, become the sign for what is lost.

    Parameters
    ----------
    cells : iterable
        Of one column.

    Examples
    --------
    >>> values_in(["{'a': 'b'}", r'["\ud800"]', 0.5])
    [{'a': 'b'}, ['�'], 0.5]
    """
    whole = [replace_lone_surrogates(one)[0] if isinstance(one, str) else one for one in cells]
    return objects_in(whole)


def number_in(value: object) -> float | None:
    """A number as a float; None for anything else, NaN, and what no float can hold.

    Examples
    --------
    >>> number_in(3), number_in("3"), number_in(10**400)
    (3.0, None, None)
    """
    if not isinstance(value, int | float) or value != value:
        return None
    try:
        return float(value)
    except OverflowError:
        return None
