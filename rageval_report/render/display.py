"""Texts for a screen: their width, and how they are cleaned, cut, wrapped and padded."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rageval_report.errors import is_doubt
from rageval_report.files.outgoing_text import clean as clean
from rageval_report.scores.names import ELLIPSIS as ELLIPSIS
from rageval_report.scores.names import JOINERS
from rageval_report.scores.names import cut_to_width as cut_to_width
from rageval_report.scores.names import display_width as display_width

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
