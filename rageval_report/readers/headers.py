"""The header of a table that has no other sign of one: its names must not be a row of data."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rageval_report.files.source import Source

_DECIMAL = re.compile(r"[-+]?\d*\.\d+(?:[eE][-+]?\d+)?")
_WHOLE = re.compile(r"[-+]?\d+")


def check_no_data_in_header(source: Source, names: Sequence[str], line: int | None = None) -> None:
    """Refuse a header that is a row of data, because its query would be lost.

    Parameters
    ----------
    source : Source
        The file, for the error.
    names : sequence of str
        The cells of the first row.
    line : int, optional
        The line of the first row, counted from 1.

    Raises
    ------
    ReaderError
        If a name is a decimal number, or the names are whole numbers that do not count up: columns
        named 0, 1, 2 are what pandas writes for a frame without names.

    Examples
    --------
    >>> check_no_data_in_header(Source(b"0,1,2"), ["0", "1", "2"])
    >>> check_no_data_in_header(Source(b"q1,0.5"), ["q1", "0.5"], line=1)
    Traceback (most recent call last):
        ...
    rageval_report.errors.ReaderError: <bytes>, line 1: expected names of columns; found numbers, \
such as '0.5'. Add a header.
    """
    numbers = _numbers_of_data(names)
    if numbers:
        raise source.error(
            f"expected names of columns; found numbers, such as {numbers[0]!r}. Add a header.",
            line=line,
        )


def _numbers_of_data(names: Sequence[str]) -> list[str]:
    """The numbers of a first row of data; empty for a header."""
    decimals = [name for name in names if _DECIMAL.fullmatch(name)]
    if decimals:
        return decimals
    whole = [name for name in names if _WHOLE.fullmatch(name)]
    # As floats, because Python reads no integer of more than 4,300 digits.
    counts_up = all(float(name) < float(following) for name, following in pairwise(whole))
    is_data = len(whole) > 1 and 2 * len(whole) >= len(names) - 1 and not counts_up
    return whole if is_data else []
