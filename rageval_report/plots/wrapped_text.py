"""Texts of pictures on lines of a width: long names break at their separators, never in a word."""

from __future__ import annotations

import re

from rageval_report.scores.names import cut_to_width, display_width

# Pieces that stay on one line if they fit: words; of a word that is too wide its parts; of a
# script without blanks single characters.
_WORDS = re.compile("[^ ]+ *")
_PARTS = re.compile("[^ _/=.-]+[_/=.-]* *|[_/=.-]+ *")


def wrap_text(text: str, width: int) -> str:
    """The text on lines of at most `width` columns, joined by line feeds."""
    lines, line = [], ""
    for word in _WORDS.findall(text):
        if line and display_width(line + word.rstrip()) > width:
            lines.append(line)
            line = ""
        if display_width(word.rstrip()) > width:
            *whole, word = _broken(word, width)
            lines += whole
        line += word
    return "\n".join(part.rstrip() for part in [*lines, line])


def wrap_evenly(text: str, width: int) -> str:
    """As `wrap_text`, on as few lines but of about the same length, so that no word is alone."""
    lines = wrap_text(text, width)
    n_breaks = lines.count("\n")
    low, high = width // 2, width  # `high` is always wide enough
    while n_breaks and high - low > 1:
        middle = (low + high) // 2
        narrower = wrap_text(text, middle)
        if narrower.count("\n") == n_breaks:
            lines, high = narrower, middle
        else:
            low = middle
    return lines


def _broken(word: str, width: int) -> list[str]:
    """A word on lines of its own, broken behind separators if possible."""
    lines, line = [], ""
    for part in _PARTS.findall(word):
        if line and display_width(line + part.rstrip()) > width:
            lines.append(line)
            line = ""
        line += part
        while display_width(line.rstrip()) > width:
            # At least one character, because a wide one may not fit into the width.
            piece = cut_to_width(line, width) or line[:1]
            lines.append(piece)
            line = line[len(piece) :]
    return [*lines, line]
