"""Names on a page: how wide they are, and short ones for pipelines with long names.

Grids of experiments have names such as ``detailed_all-mpnet-base-v2__top_k=3__chunk_size=128``, of
which a table that cuts at the end shows the beginning, equal in all rows. Here the parts that all
names share are dropped and said once, and a name that is still too wide is cut in its middle.
Tables of text, plots and pages take their names from here. Widths come from Python's own Unicode
tables, so that a page looks the same whatever else is installed.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

from rageval_report.files.outgoing_text import clean

ELLIPSIS = "…"
JOINERS = "\u200c\u200d"

_HANGUL_TAILS = range(0x1160, 0x1200)  # vowels and finals that are drawn into the syllable before
WIDEST = 32
"""The width to which a short name is cut, in columns of a terminal."""

JOINT = " · "

_STAYS = 24  # names up to this width are not shortened
# The first separator that divides all names into equally many parts is taken.
_SEPARATORS = tuple(map(re.compile, (r" · ", r"__|/|,\s*|\s+")))
_SETTING = re.compile(r"([^\W\d][\w .@-]*)=(.+)")
_MOST_LISTED = 30


def display_width(text: str) -> int:
    """The number of terminal columns that a text takes."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


@lru_cache(maxsize=8192)
def _columns_of(character: str) -> int:
    if character in JOINERS or ord(character) in _HANGUL_TAILS:
        return 0
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def cut_to_width(text: str, width: int) -> str:
    """The longest beginning of a text that is at most `width` columns wide."""
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
    backwards = text[len(start) :][::-1]
    end = cut_to_width(backwards, most - 1 - display_width(start))[::-1].lstrip()
    return f"{start}{ELLIPSIS}{end}"


@dataclass(frozen=True)
class NameColumn:
    """A part in which names differ: a setting such as ``top_k``, or a piece of the name."""

    heading: str  # the name of the setting; empty if the part has none
    values: tuple[str, ...]  # in each name


@dataclass(frozen=True)
class ShortNames:
    """Names and what a table shows in their place."""

    names: tuple[str, ...]  # the full names, each once
    short: tuple[str, ...]  # for each a short name; no two are equal
    marks: tuple[str, ...]  # for each an even shorter one, of the values of settings alone
    columns: tuple[NameColumn, ...] = ()  # in which the names differ, if all have the same parts
    shared: tuple[str, ...] = ()  # the parts that were dropped, because every name has them

    def of(self, name: object) -> str:
        """The short name of a full one; any other text as it is."""
        return self._by_name.get(str(name), str(name))

    def in_text(self, text: str) -> str:
        """A sentence with the short names in place of the full ones."""
        if not self.differ:
            return text
        pattern = "|".join(map(re.escape, sorted(self.names, key=len, reverse=True)))
        return re.sub(pattern, lambda match: self.of(match[0]), text)

    def mark_of(self, name: object) -> str:
        """The shortest name of a full one; any other text as it is."""
        return dict(zip(self.names, self.marks, strict=True)).get(str(name), str(name))

    @property
    def differ(self) -> bool:
        """Whether any name was shortened."""
        return self.short != self.names

    @property
    def has_settings(self) -> bool:
        """Whether a part in which the names differ is a setting with a name."""
        return any(column.heading for column in self.columns)

    @property
    def shared_sentence(self) -> str:
        """What every name has besides its short name; empty if nothing was dropped."""
        if not self.shared:
            return ""
        parts = ", ".join(f'"{part}"' for part in self.shared)
        return f"Every name contains {parts}, which is not repeated here."

    @property
    def legend(self) -> tuple[str, ...]:
        """One line per name that was shortened: the short name and the full one."""
        lines = tuple(self.full_names.values())
        more = len(lines) - _MOST_LISTED
        return (*lines[:_MOST_LISTED], f"and {more} more names") if more > 0 else lines

    @property
    def full_names(self) -> dict[str, str]:
        """The line of the legend of each short name that is not the full one."""
        pairs = [pair for pair in zip(self.short, self.names, strict=True) if pair[0] != pair[1]]
        return {short: f"{short} = {clean(name)}" for short, name in pairs}

    @property
    def _by_name(self) -> dict[str, str]:
        return dict(zip(self.names, self.short, strict=True))


def shorten_names(names: Iterable[object], *, most: int = WIDEST) -> ShortNames:
    """Short names that differ visibly from each other.

    Parameters
    ----------
    names : iterable of object
        The names, as texts; one that comes twice counts once.
    most : int
        The largest width of a short name, in columns of a terminal; at least 8.

    Returns
    -------
    ShortNames
        In the order of the names. Names of 24 columns or fewer stay as they are.

    Examples
    --------
    >>> names = ["mpnet__top_k=2__chunk_size=64", "mpnet__top_k=3__chunk_size=128"]
    >>> shortened = shorten_names(names)
    >>> shortened.short, shortened.marks, shortened.shared
    (('top_k=2 · chunk_size=64', 'top_k=3 · chunk_size=128'), ('2 · 64', '3 · 128'), ('mpnet',))
    >>> shorten_names(["bm25", "hybrid"]).short
    ('bm25', 'hybrid')
    """
    full = tuple(dict.fromkeys(str(name) for name in names))
    lines = [clean(name) for name in full]
    shared: list[str] = []
    rest = lines
    while (stripped := _without_shared(rest)) is not None:
        rest, dropped = stripped
        shared += dropped
    short = tuple(_distinct([cut_in_middle(line, most) for line in rest], most))
    columns = _columns(rest)
    return ShortNames(full, short, _marks(columns, short), columns, tuple(shared))


def _without_shared(lines: Sequence[str]) -> tuple[list[str], list[str]] | None:
    """The lines without the parts that all have, and those parts; None if there are none."""
    is_final = any(ELLIPSIS in line for line in lines)  # a name that was cut has no whole parts
    if len(lines) < 2 or is_final or all(display_width(line) <= _STAYS for line in lines):
        return None
    for separator in _SEPARATORS:
        parts = _equal_parts(lines, separator)
        if not parts:
            continue
        columns = list(zip(*parts, strict=True))
        differs = [len(set(column)) > 1 for column in columns]
        shared = [column[0] for column, own in zip(columns, differs, strict=True) if not own]
        if shared and any(differs):
            kept = [[part for part, own in zip(row, differs, strict=True) if own] for row in parts]
            return [JOINT.join(own) for own in kept], shared
        if JOINT in lines[0]:  # joined once before: a finer separator would part the joints
            return None
    return None


def _equal_parts(lines: Sequence[str], separator: re.Pattern[str]) -> list[list[str]]:
    """The parts of each line, if all have equally many, two or more; else nothing."""
    parts = [separator.split(line) for line in lines]
    sizes = {len(own) for own in parts}
    is_whole = all(part for own in parts for part in own)
    return parts if len(sizes) == 1 and sizes != {1} and is_whole else []


def _columns(lines: Sequence[str]) -> tuple[NameColumn, ...]:
    """The parts of the names side by side, with the names of settings as headings."""
    if len(lines) < 2 or any(ELLIPSIS in line for line in lines):
        return ()
    for separator in _SEPARATORS:
        parts = _equal_parts(lines, separator)
        if parts:
            return tuple(_column(values) for values in zip(*parts, strict=True))
    alone = _column(tuple(lines))
    return (alone,) if alone.heading else ()


def _column(values: tuple[str, ...]) -> NameColumn:
    settings = [_SETTING.fullmatch(value) for value in values]
    headings = {setting[1] for setting in settings if setting}
    if len(headings) == 1 and all(settings):
        return NameColumn(headings.pop(), tuple(setting[2] for setting in settings if setting))
    return NameColumn("", values)


def _marks(columns: Sequence[NameColumn], short: tuple[str, ...]) -> tuple[str, ...]:
    """The values of settings alone; the short names where values would not tell them apart."""
    if not any(column.heading for column in columns):
        return short
    varied = [column.values for column in columns if len(set(column.values)) > 1]
    marks = tuple(JOINT.join(row) for row in zip(*varied, strict=True))
    is_shorter = sum(map(display_width, marks)) < sum(map(display_width, short))
    return marks if is_shorter and len(set(marks)) == len(short) else short


def _distinct(lines: Sequence[str], most: int) -> Iterator[str]:
    """The lines; behind those that are equal a number."""
    taken = {line for line, n in Counter(lines).items() if n == 1}
    for line in lines:
        numbered = (cut_in_middle(line, most - len(f" {n}")) + f" {n}" for n in count(1))
        text = line if line in taken else next(text for text in numbered if text not in taken)
        taken.add(text)
        yield text


def short_name(name: object, most: int = WIDEST) -> str:
    """A single name on one line, cut in its middle if it is too wide."""
    return cut_in_middle(clean(str(name)), most)
