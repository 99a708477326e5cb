"""How wide a text is on a screen, and how it is made safe, cut and wrapped for one.

Widths are counted in columns of a terminal. They come from the Unicode tables of Python alone, so
that a page looks the same whatever else is installed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

ELLIPSIS = "…"

# What is not broken over two lines as long as there is room: words, the parts of a name such as
# exact_match, the settings of a signature.
WORDS = re.compile(r"\S+\s*")
NAMES = re.compile(r"[^\s_/]+[_/]*\s*|[_/]+\s*")
SETTINGS = re.compile(r"[^|,\s]+[|,\s]*|[|,\s]+")

_BLANKS = re.compile(r"\s+")
_HANGUL_TAILS = range(0x1160, 0x1200)  # vowels and finals that are drawn into the syllable before
_JOINERS = "\u200c\u200d"

# Invisible helpers (soft hyphens, zero-width blanks, direction marks, variation selectors, tags):
# terminals disagree on their width, and nobody misses them.
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u180b-\u180f\u200b\u200e\u200f\u2060-\u2065\u206a-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e0fff]"
)
# What could move the cursor, turn the rest of the line around, or not be written as UTF-8.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff]"
)
# A text this many times longer than what is shown of it is not even looked at to its end.
_LOOKED_AT = 20
_CHARACTERS_A_COLUMN = 2  # accents may be piled up without end, and take no width


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
    if character in _JOINERS or ord(character) in _HANGUL_TAILS:
        return 0
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def clean(text: str) -> str:
    r"""The text on one line, without anything that could disturb the page around it.

    Runs of blanks and line breaks become one blank; control characters, direction overrides and
    halves of characters become U+FFFD; invisible helpers are left out.

    Parameters
    ----------
    text : str
        Any text.

    Examples
    --------
    >>> clean("two\n  lines\x1b[31m and a soft\u00ad hyphen")
    'two lines�[31m and a soft hyphen'
    """
    return _UNSAFE.sub("\ufffd", _UNSEEN.sub("", _BLANKS.sub(" ", text))).strip()


def shortened(text: str, most: int) -> str:
    """The clean text, cut with an ellipsis where it is wider than `most` columns.

    Parameters
    ----------
    text : str
        Any text, however long.
    most : int
        The width that is not exceeded, at least 1.

    Examples
    --------
    >>> shortened("What is the capital of France?", 12)
    'What is the…'
    """
    looked_at = text[: _LOOKED_AT * most]
    told = clean(looked_at)
    kept = told[: _CHARACTERS_A_COLUMN * most]
    if len(looked_at) == len(text) and kept == told and display_width(told) <= most:
        return told
    return fitting(kept, most - 1).rstrip(" " + _JOINERS) + ELLIPSIS


def fitting(text: str, width: int) -> str:
    """The longest beginning of a text that is at most `width` columns wide.

    Examples
    --------
    >>> fitting("再現率", 5)
    '再現'
    """
    taken = 0
    for place, character in enumerate(text):
        taken += _columns_of(character)
        if taken > width:
            return text[:place]
    return text


def wrapped(text: str, width: int, *, hanging: int = 0, at: re.Pattern[str] = WORDS) -> list[str]:
    """The text on lines of at most `width` columns, broken at blanks where there are any.

    Parameters
    ----------
    text : str
        A clean text.
    width : int
        The width that no line exceeds.
    hanging : int
        By how many blanks all lines but the first are indented.
    at : pattern
        What may not be broken as long as it fits on a line.

    Returns
    -------
    list of str
        At least one line.

    Examples
    --------
    >>> wrapped("- hyde is better on faithfulness", 20, hanging=2)
    ['- hyde is better on', '  faithfulness']
    """
    lines, line = [], ""
    for piece in _pieces(text, width - hanging, at):
        if line.strip() and display_width((line + piece).rstrip()) > width:
            lines.append(line.rstrip())
            line = " " * hanging
        line += piece
    return [*lines, line.rstrip()]


def _pieces(text: str, room: int, at: re.Pattern[str]) -> Iterator[str]:
    """The unbreakable parts of a text; what is wider than the room is broken all the same."""
    for token in at.findall(text):
        rest = token
        while display_width(rest.rstrip()) > room:
            piece = fitting(rest, room) or rest[:1]
            yield piece
            rest = rest[len(piece) :]
        if rest:
            yield rest


def padded(text: str, width: int, *, right: bool = False) -> str:
    """The text filled up with blanks to `width` columns.

    Examples
    --------
    >>> padded("再現率", 8), padded("0.5", 6, right=True)
    ('再現率  ', '   0.5')
    """
    blanks = " " * (width - display_width(text))
    return blanks + text if right else text + blanks
