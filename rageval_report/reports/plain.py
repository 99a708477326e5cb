"""Plain text: tables, verdicts and notes on lines of a limited width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest

from rageval_report.errors import DataError
from rageval_report.reports.cells import (
    LONGEST,
    LONGEST_SENTENCE,
    NAMES,
    SETTINGS,
    clean,
    display_width,
    note_line,
    pad,
    shorten,
    wrap,
)
from rageval_report.reports.tables import NO_ROWS, TextColumn, TextTable, table_of
from rageval_report.results import Result

INDENT = "  "
WIDTH = 100
NARROWEST = 60  # room for a label and for the longest number, whatever they are

_GAPS = ("  ", " ")  # between columns; one blank where two would split the table
_NARROWEST_LABEL, _NARROWEST_TEXT, _WIDEST_NUMBER = 12, 16, 40
_MOST_LINES = 3


@dataclass(frozen=True, slots=True)
class _TableBlock:
    """Columns side by side, with their widths."""

    columns: tuple[TextColumn, ...]
    widths: tuple[int, ...]
    gap: str

    def lines(self, cells: Sequence[Sequence[str]]) -> list[str]:
        """The lines of a row, whose cells are lists of lines."""
        return [
            self.gap.join(
                pad(text, width, right=column.is_numeric)
                for text, width, column in zip(line, self.widths, self.columns, strict=True)
            ).rstrip()
            for line in zip_longest(*cells, fillvalue="")
        ]

    def head(self) -> list[str]:
        """The headings, at the bottom of as many lines as the longest one needs, and a rule."""
        sides = zip(self.columns, self.widths, strict=True)
        headings = [wrap(column.heading, width, at=NAMES) for column, width in sides]
        highest = max(map(len, headings))
        rule = self.gap.join("-" * width for width in self.widths)
        return [*self.lines([[""] * (highest - len(own)) + own for own in headings]), rule]

    def row(self, place: int) -> list[str]:
        """The lines of one row, at most three."""
        cells = []
        for column, width in zip(self.columns, self.widths, strict=True):
            lines = wrap(column.cells[place], width, at=NAMES)
            if len(lines) > _MOST_LINES:
                rest = " ".join(lines[_MOST_LINES - 1 :])
                lines[_MOST_LINES - 1 :] = [shorten(rest, width)]
            cells.append(lines)
        return self.lines(cells)


def table_lines(table: TextTable, width: int) -> list[str]:
    """The lines of a table, none wider than `width`."""
    indent = INDENT if any(group.heading for group in table.groups) else ""
    lines: list[str] = []
    for block in _blocks(table.columns, width - len(indent)):
        lines += [""] * bool(lines)
        lines += [indent + line for line in block.head()]
        for group in table.groups:
            lines += [shorten(group.heading, width)] * bool(group.heading)
            lines += [indent + line for place in group.places for line in block.row(place)]
    return lines


def _blocks(columns: tuple[TextColumn, ...], room: int) -> Iterator[_TableBlock]:
    """All columns in one block if they fit; else in several, which all start with the first."""
    least = _least_widths(columns)
    for gap in _GAPS:
        if sum(least) + len(gap) * (len(least) - 1) <= room:
            yield _fit_widths(columns, room, gap)
            return
    gap = _GAPS[0]
    members, used = [columns[0]], least[0]
    for column, width in zip(columns[1:], least[1:], strict=True):
        # A block without a column besides the label would say nothing, however wide the column.
        if used + len(gap) + width > room and len(members) > 1:
            yield _fit_widths(tuple(members), room, gap)
            members, used = [columns[0]], least[0]
        members.append(column)
        used += len(gap) + width
    yield _fit_widths(tuple(members), room, gap)


def _fit_widths(columns: tuple[TextColumn, ...], room: int, gap: str) -> _TableBlock:
    """Each column at its full width; if that is too wide, the widest ones get narrower."""
    room_for_texts = room - len(gap) * (len(columns) - 1)
    widths = [max(_body_width(column), display_width(column.heading)) for column in columns]
    if sum(widths) > room_for_texts:
        widths = [_unbroken_width(column) for column in columns]
    least = _least_widths(columns)
    while sum(widths) > room_for_texts:
        reducible = [i for i, width in enumerate(widths) if width > least[i]]
        widths[max(reducible, key=widths.__getitem__)] -= 1
    return _TableBlock(columns, tuple(widths), gap)


def _least_widths(columns: tuple[TextColumn, ...]) -> list[int]:
    """The smallest widths: numbers stay on one line, texts and headings may be broken."""
    least = []
    for place, column in enumerate(columns):
        parts = [display_width(part.rstrip()) for part in NAMES.findall(column.heading)]
        widths = [
            _NARROWEST_TEXT if place else _NARROWEST_LABEL,
            min(_body_width(column), _WIDEST_NUMBER) if column.is_numeric else 0,
            # Where the heading is broken between words, or at the parts of a name.
            min(max(parts, default=0), _NARROWEST_TEXT),
        ]
        least.append(min(_unbroken_width(column), max(widths)))
    return least


def _unbroken_width(column: TextColumn) -> int:
    """The width at which no cell is broken, and the heading only at its blanks."""
    return max(_body_width(column), *map(display_width, column.heading.split()), 0)


def _body_width(column: TextColumn) -> int:
    return max(map(display_width, column.cells), default=0)


def render(
    result: Result,
    *,
    width: int = WIDTH,
    columns: Sequence[str] | None = None,
    max_rows: int | None = 200,
    max_columns: int | None = 40,
    longest: int = LONGEST,
    signature: bool = False,
) -> str:
    """The result as plain text: title, verdicts, table, notes; in files its signature."""
    if width < NARROWEST:
        raise DataError(f"width must be an integer >= {NARROWEST}; got {width}")
    table = table_of(
        result, columns=columns, max_rows=max_rows, max_columns=max_columns, longest=longest
    )
    body: list[str] = [] if table.has_rows else [NO_ROWS]
    if table.has_rows and table.columns:
        body = table_lines(table, width)
        body += [f"... and {table.left_out}"] if table.left_out else []
    parts = [
        _paragraphs([table.title], width),
        _paragraphs([table.summary], width),
        _paragraphs([f"- {text}" for text in table.sentences[:max_rows]], width, hanging=2),
        body,
        _paragraphs(table.names.legend, width, hanging=4),
        _paragraphs(map(note_line, result.notes), width, hanging=6),
        wrap(clean(result.signature if signature else ""), width, at=SETTINGS),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if any(lines))


render_file = partial(render, max_rows=None, max_columns=None, signature=True)


def _paragraphs(texts: Iterable[str], width: int, *, hanging: int = 0) -> list[str]:
    sentences = (shorten(text, LONGEST_SENTENCE) for text in texts)
    return [line for text in sentences for line in wrap(text, width, hanging=hanging)]
