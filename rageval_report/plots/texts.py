"""Texts of pictures: lines of a width, and fonts for names in any script.

Matplotlib draws with DejaVu Sans, which has no Chinese, Japanese or Korean characters; a name of
such characters would be a row of empty boxes, so a font that has them is added where there is one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

import matplotlib as mpl
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.text import Text

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


_LAST_PLAIN = "\u024f"  # the end of the Latin letters, which every font of matplotlib has
# Words in the names of fonts for many scripts, in the order in which they are tried.
_PREFERRED = ("noto sans cjk", "noto sans", "source han", "wenquanyi", "unifont", "droid")


def add_fonts(ax: Axes) -> None:
    """Give each text of the axes a font for the characters that its own fonts do not have."""
    for text in ax.findobj(Text):
        if isinstance(text, Text) and (lacking := _lacking(text)):
            families = dict.fromkeys(filter(None, map(_family_with, lacking)))
            if families:
                text.set_fontfamily([*text.get_fontfamily(), *families])


def _lacking(text: Text) -> list[str]:
    families = tuple(text.get_fontfamily())
    return [
        character
        for character in dict.fromkeys(text.get_text())
        if _is_special(character) and not _has(families, character)
    ]


def _is_special(character: str) -> bool:
    return character > _LAST_PLAIN and character.isprintable() and not character.isspace()


def _has(families: tuple[str, ...], character: str) -> bool:
    """Whether one of the families has the character."""
    # A generic family stands for a list of families, of which matplotlib tries all.
    known = cast("Mapping[str, Any]", mpl.rcParams)
    names = (name for family in families for name in known.get(f"font.{family}", [family]))
    return any(ord(character) in _characters_of_family(name) for name in names)


@lru_cache(maxsize=256)
def _characters_of_family(name: str) -> frozenset[int]:
    try:
        properties = font_manager.FontProperties(family=[name])
        return _characters_of(font_manager.findfont(properties, fallback_to_default=False))
    except ValueError:  # it is not installed
        return frozenset()


@lru_cache(maxsize=2048)
def _characters_of(path: str) -> frozenset[int]:
    try:
        return frozenset(font_manager.get_font(path).get_charmap())
    except (OSError, RuntimeError):  # a file that is gone, or that FreeType cannot read
        return frozenset()


@lru_cache(maxsize=4096)
def _family_with(character: str) -> str | None:
    """The family of an installed font that has the character."""
    code = ord(character)
    return next((e.name for e in _entries() if code in _characters_of(e.fname)), None)


@lru_cache(maxsize=1)
def _entries() -> tuple[font_manager.FontEntry, ...]:
    """The installed fonts, upright ones of usual weight, those for many scripts first."""
    usual = (
        entry
        for entry in font_manager.fontManager.ttflist
        # A font of last resort has a box for every character.
        if entry.style == "normal" and "last resort" not in entry.name.lower()
    )
    return tuple(sorted(usual, key=_order))


def _order(entry: font_manager.FontEntry) -> tuple[int, bool, str, str]:
    name = entry.name.lower()
    place = next((i for i, words in enumerate(_PREFERRED) if words in name), len(_PREFERRED))
    return place, entry.weight not in (400, "normal", "regular"), name, entry.fname
