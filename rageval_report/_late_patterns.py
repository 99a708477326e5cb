"""Regular expressions that are compiled on their first use.

Most scripts load a table of numbers and ask for one report. Dates, totals, drawn tables and scores
written in other countries' numerals have some thirty patterns, and compiling them all takes a sixth
of the time in which this package is imported.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, AnyStr, cast

if TYPE_CHECKING:
    from re import Pattern


def late_pattern(text: AnyStr, flags: int = 0) -> Pattern[AnyStr]:
    r"""A pattern for a module, compiled when it is first used.

    Parameters
    ----------
    text : str or bytes
        The regular expression.
    flags : int
        As for `re.compile`.

    Examples
    --------
    >>> late_pattern(r"\d+").findall("3 of 12")
    ['3', '12']
    """
    return cast("Pattern[AnyStr]", _LatePattern(text, flags))


class _LatePattern:
    """Has the attributes of the compiled pattern, each kept when it has been asked for once."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, value)
        return value
