"""The width of a text, counted in columns of a terminal.

Widths come from Python's own Unicode tables (``east_asian_width`` and the categories of combining
marks), so that a page looks the same whatever else is installed.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

ELLIPSIS = "…"
JOINERS = "\u200c\u200d"

_HANGUL_TAILS = range(0x1160, 0x1200)  # vowels and finals that are drawn into the syllable before


def display_width(text: str) -> int:
    """The number of terminal columns that a text takes.

    Parameters
    ----------
    text : str
        One line.

    Examples
    --------
    >>> [display_width(text) for text in ("recall", "再現率", "e\u0301")]
    [6, 6, 1]
    """
    return len(text) if text.isascii() else sum(map(_columns_of, text))


@lru_cache(maxsize=8192)
def _columns_of(character: str) -> int:
    if character in JOINERS or ord(character) in _HANGUL_TAILS:
        return 0
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def cut_to_width(text: str, width: int) -> str:
    """The longest beginning of a text that is at most `width` columns wide.

    Examples
    --------
    >>> cut_to_width("再現率", 5)
    '再現'
    """
    used = 0
    for place, character in enumerate(text):
        used += _columns_of(character)
        if used > width:
            return text[:place]
    return text


def cut_in_middle(text: str, most: int) -> str:
    """The text with an ellipsis in its middle if it is wider than `most` columns.

    Both ends stay, because names of pipelines tend to differ there.

    Parameters
    ----------
    text : str
        One line.
    most : int
        The largest width, at least 1.

    Examples
    --------
    >>> cut_in_middle("text-embedding-3-large-rerank", 16)
    'text-emb…-rerank'
    """
    if display_width(text) <= most:
        return text
    start = cut_to_width(text, most // 2).rstrip(f" {JOINERS}")
    end = _end_of_width(text[len(start) :], most - 1 - display_width(start))
    return f"{start}{ELLIPSIS}{end}"


def _end_of_width(text: str, width: int) -> str:
    """The longest end of a text that is at most `width` columns wide."""
    used, place = 0, len(text)
    while place and used + _columns_of(text[place - 1]) <= width:
        place -= 1
        used += _columns_of(text[place])
    # A mark of width 0 belongs to the character before it, which was cut.
    while place < len(text) and _columns_of(text[place]) == 0:
        place += 1
    return text[place:].lstrip()
